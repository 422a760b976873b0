/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * lower_rnn.c - recurrent layers for this CPU. The inputs of all steps and
 * directions meet their weights in one product in front; what a step computes
 * of the state is lstm_steps, gru_steps or rnn_steps, whose weights lie so that
 * the gates of an element come together.
 */
#include "backend/cpu/lower.h"
#include "ops/rnn.h"

/* r [d, gates h, h] as panels [d ceil(h / tile), h, gates tile]. */
static val pack_gates(lowering *l, val r, int64_t gates, int64_t tile)
{
    static const int64_t perm[] = {0, 2, 4, 1, 3};
    const type *t = graph_type(l->g, r);
    int64_t d = t->dims[0], h = t->dims[2], n = (h + tile - 1) / tile;
    dim apart[4] = {d, gates, h, h}, tiles[5] = {d, gates, n, tile, h};
    dim panels[3] = {d * n, h, gates * tile};
    dim pads[8] = {0};

    r = op_reshape(l->g, r, apart, 4);
    if (n * tile != h) {
        node *p = node_new(l->g, OP_pad);

        pads[4 + 2] = n * tile - h;
        node_input(l->g, p, r);
        node_dims(l->g, p, "pads", pads, 8);
        r = node_add(l->g, p);
    }
    r = op_transpose(l->g, op_reshape(l->g, r, tiles, 5), perm, 5);
    return op_reshape(l->g, r, panels, 3);
}

static op_code steps_of(op_code op)
{
    return op == OP_lstm  ? OP_lstm_steps
           : op == OP_gru ? OP_gru_steps
                          : OP_rnn_steps;
}

/* Half of the bias [d, 2 gates h]: the inputs' part, or the state's. */
static val half_bias(lowering *l, val bias, int64_t rows, bool state)
{
    return op_slice(l->g, bias, 1, state ? rows : 0, state ? 2 * rows : rows,
                    1);
}

static node *steps_node(lowering *l, const node *n, rnn_kind kind, val ax)
{
    const op_info *from = op_get(n->op);
    node *s = node_new(l->g, steps_of(n->op));
    int64_t rows = kind.gates * attr_int(n, "hidden");
    int64_t tile = l->tile / 2; /* a panel of a product has two vectors */

    if (s == NULL)
        return NULL;
    node_input(l->g, s, ax);
    node_input(l->g, s, pack_gates(l, n->in[kind.r], kind.gates, tile));
    for (uint32_t i = kind.bias; i < n->n_in; i++)
        node_input(l->g, s,
                   i == kind.bias && n->in[i] != 0
                       ? half_bias(l, n->in[i], rows, true) : n->in[i]);
    for (uint32_t i = 0; i < from->n_attrs; i++) {
        int at = attr_index(s->op, str_of(from->attrs[i].name));

        if (at >= 0)
            s->attrs[at] = n->attrs[i];
    }
    node_int(l->g, s, "tile", tile);
    s->label = n->label;
    return s;
}

void lower_rnn(lowering *l, node *n)
{
    rnn_kind kind = rnn_kind_of(n);
    int64_t h = attr_int(n, "hidden"), dirs = rnn_directions(n);
    const type *w = graph_type(l->g, n->in[1]);
    dim matrix[2], flat[1] = {dirs * kind.gates * h};
    val bias = kind.bias < n->n_in ? n->in[kind.bias] : 0, ax;
    node *s;

    if (graph_type(l->g, n->in[0])->dtype != HULL_F32 ||
        !value_is_runtime(&l->f, n->in[0]) || !lower_is_weight(l, n->in[1]) ||
        !lower_is_weight(l, n->in[kind.r]))
        return;
    matrix[0] = flat[0];
    matrix[1] = w->dims[2];
    if (bias != 0)
        bias = op_reshape(l->g, half_bias(l, bias, kind.gates * h, false),
                          flat, 1);
    ax = lower_product(l, n->in[0], op_reshape(l->g, n->in[1], matrix, 2), true,
                       bias, n->label);
    s = steps_node(l, n, kind, ax);
    ignore(node_add(l->g, s));
    for (uint32_t i = 0; s != NULL && i < n->n_out; i++)
        graph_replace(l->g, n->out[i], s->out[i]);
}
