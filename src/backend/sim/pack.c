/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pack.c - the layout that sim's matmuls want. A weight [k, n] becomes panels
 * of `tile` columns, [n/tile, k, tile] (or, transposed, [n/tile, tile, k]),
 * padded with zeros; its bias becomes [n/tile, 1, tile]. Pad, reshape and
 * transpose depend on weights alone, so they land in the prepare program. Main
 * multiplies by all panels at once and puts the columns side by side:
 *
 *   x [.., m, k] -> [.., 1, m, k] x panels -> [.., p, m, tile]
 *     -> [.., m, p, tile] -> [.., m, p * tile] -> [.., m, n]
 *
 * Every output element is the same sum in the same order as before.
 */
#include "backend/sim/sim.h"
#include "passes/pass.h"

#include <stdlib.h>
#include <string.h>

/* The kernel choice: columns per panel. The option is in the key. The
 * environment is not: it stands for the outcome of tuning, which is content of
 * an engine and never part of its key. */
static int64_t panel_columns(const options *o)
{
    int64_t tile = option_int(o, OPT_tile);

    return str_is(str_of(getenv("HULL_SIM_TUNE")), "1") ? 2 * tile : tile;
}

typedef struct packer {
    graph *g;
    graph_facts facts;
    int64_t tile;
} packer;

/* x as the last axis of `rank` axes, padded from n to a multiple of tile. */
static val pad_axis(packer *p, val x, uint32_t axis, int64_t n)
{
    uint32_t rank = graph_type(p->g, x)->rank;
    int64_t rest = (int64_t)round_up((uint64_t)n, (uint64_t)p->tile) - n;
    dim pads[4] = {0};
    node *pad;

    if (rest == 0)
        return x;
    pads[rank + axis] = rest;
    pad = node_new(p->g, OP_pad);
    node_input(p->g, pad, x);
    node_dims(p->g, pad, "pads", pads, 2 * rank);
    return node_add(p->g, pad);
}

static int64_t n_panels(const packer *p, int64_t n)
{
    return (n + p->tile - 1) / p->tile;
}

/* w [k, n] as panels [p, k, tile]; transposed, [n, k] as [p, tile, k]. */
static val pack_weight(packer *p, val w, bool trans)
{
    static const int64_t perm[] = {1, 0, 2};
    const type *t = graph_type(p->g, w);
    int64_t n = t->dims[trans ? 0 : 1], k = t->dims[trans ? 1 : 0];
    dim apart[3] = {k, n_panels(p, n), p->tile};

    w = pad_axis(p, w, trans ? 0 : 1, n);
    if (trans) {
        dim panels[3] = {n_panels(p, n), p->tile, k};

        return op_reshape(p->g, w, panels, 3);
    }
    return op_transpose(p->g, op_reshape(p->g, w, apart, 3), perm, 3);
}

static val pack_bias(packer *p, val bias, int64_t n)
{
    dim panels[3] = {n_panels(p, n), 1, p->tile};

    return op_reshape(p->g, pad_axis(p, bias, 0, n), panels, 3);
}

/* x [.., m, k] with an axis of 1 in front of the matrix. */
static val add_axis(packer *p, val x)
{
    const type *t = graph_type(p->g, x);
    dim dims[HULL_MAX_RANK];
    uint32_t rank = t->rank, lead = rank - 2;

    for (uint32_t i = 0; i < lead; i++)
        dims[i] = t->dims[i];
    dims[lead] = 1;
    dims[lead + 1] = t->dims[rank - 2];
    dims[lead + 2] = t->dims[rank - 1];
    return op_reshape(p->g, x, dims, rank + 1);
}

/* y [.., p, m, tile] as [.., m, n]. */
static val join_panels(packer *p, val y, int64_t n)
{
    const type *t = graph_type(p->g, y);
    uint32_t rank = t->rank;
    int64_t perm[HULL_MAX_RANK], all = n_panels(p, n) * p->tile;
    dim dims[HULL_MAX_RANK];

    for (uint32_t i = 0; i < rank; i++)
        perm[i] = i;
    perm[rank - 3] = rank - 2;
    perm[rank - 2] = rank - 3;
    for (uint32_t i = 0; i + 3 < rank; i++)
        dims[i] = t->dims[i];
    dims[rank - 3] = t->dims[rank - 2];
    dims[rank - 2] = all;
    y = op_transpose(p->g, y, perm, rank);
    y = op_reshape(p->g, y, dims, rank - 1);
    return all == n ? y : op_slice(p->g, y, rank - 2, 0, n, 1);
}

static bool known_dims(const type *t)
{
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->dims[i] == DIM_UNKNOWN)
            return false;
    return true;
}

/* Holes only: a literal is in main anyway. Small ones are worth nothing, but
 * sim is there to make slots differ from their sources. */
static bool is_packable_weight(const packer *p, val w)
{
    const type *t = graph_type(p->g, w);

    return !value_is_runtime(&p->facts, w) && value_literal(p->g, w) == NULL &&
           t->rank == 2 && t->dims[0] > 0 && t->dims[1] > 0 &&
           t->dims[0] < INT32_MAX && t->dims[1] < INT32_MAX;
}

static bool is_packable(const packer *p, const node *n)
{
    val bias = n->n_in > 2 ? n->in[2] : 0;
    const type *x = graph_type(p->g, n->in[0]);
    const type *w = graph_type(p->g, n->in[1]);

    if (!value_is_runtime(&p->facts, n->in[0]) ||
        x->rank < 2 || x->rank >= HULL_MAX_RANK || !known_dims(x) ||
        !is_packable_weight(p, n->in[1]))
        return false;
    if (bias == 0)
        return true;
    return !value_is_runtime(&p->facts, bias) &&
           value_literal(p->g, bias) == NULL &&
           graph_type(p->g, bias)->rank == 1 &&
           graph_type(p->g, bias)->dims[0] ==
               w->dims[attr_bool(n, "trans_b") ? 0 : 1];
}

static void pack(packer *p, node *n)
{
    bool trans = attr_bool(n, "trans_b");
    int64_t columns = graph_type(p->g, n->in[1])->dims[trans ? 0 : 1];
    node *m = node_new(p->g, OP_matmul);
    val y;

    node_input(p->g, m, add_axis(p, n->in[0]));
    node_input(p->g, m, pack_weight(p, n->in[1], trans));
    if (n->n_in > 2 && n->in[2] != 0)
        node_input(p->g, m, pack_bias(p, n->in[2], columns));
    node_bool(p->g, m, "trans_a", attr_bool(n, "trans_a"));
    node_bool(p->g, m, "trans_b", trans);
    if (m != NULL)
        m->label = n->label;
    y = node_add(p->g, m);
    if (y != 0)
        graph_replace(p->g, n->out[0], join_panels(p, y, columns));
}

hull_status sim_lower(device *d, graph *g, const options *o,
                      const notebook *notes)
{
    packer p = {.g = g, .tile = panel_columns(o)};
    node *next;

    (void)d;
    (void)notes;
    TRY(graph_facts_get(&p.facts, g));
    for (node *n = graph_first(g); n != NULL; n = next) {
        next = graph_next(g, n);
        if (n->op != OP_matmul || !is_packable(&p, n))
            continue;
        g->insert_before = n;
        g->insert_in = n->parent;
        pack(&p, n);
        TRY(ir_status(g->m));
    }
    return ir_status(g->m);
}
