/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * lower_half.c - nodes of f16 and bf16. A product of bf16 with a constant
 * weight stays one where the CPU multiplies bf16; every other node without a
 * kernel of its own, whose op has one for f32, is computed in f32 between
 * casts: its result is rounded to 16 bits as before, from an f32 instead of
 * the reference's double.
 */
#include "backend/cpu/lower.h"

#define OUT_MAX 4
#define IN_MAX 16

/* Does the node read or make a tensor of 16 bits? */
static bool has_half(const graph *g, const node *n)
{
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i] != 0 && dtype_is_half(graph_type(g, n->in[i])->dtype))
            return true;
    for (uint32_t i = 0; i < n->n_out; i++)
        if (dtype_is_half(graph_type(g, n->out[i])->dtype))
            return true;
    return false;
}

/* Ops that lower.c makes others of when they are of f32. */
static bool is_lowered(op_code op)
{
    static const op_code ops[] = {OP_matmul, OP_conv, OP_conv_transpose,
                                  OP_adaptive_avg_pool, OP_lstm, OP_gru,
                                  OP_rnn};

    for (size_t i = 0; i < COUNT_OF(ops); i++)
        if (ops[i] == op)
            return true;
    return false;
}

static void widen(const device *d, graph *g, const node *n)
{
    node *c = node_new(g, n->op);
    val y[OUT_MAX];

    if (c == NULL)
        return;
    c->label = n->label;
    for (uint32_t i = 0; i < n->n_in; i++)
        node_input(g, c, n->in[i] != 0 &&
                                 dtype_is_half(graph_type(g, n->in[i])->dtype)
                             ? op_cast(g, n->in[i], HULL_F32)
                             : n->in[i]);
    for (uint32_t i = 0; i < op_get(n->op)->n_attrs; i++)
        c->attrs[i] = n->attrs[i];
    if (node_add(g, c) == 0)
        return;
    if (!is_lowered(n->op) && backend_cpu.kernel(d, g, c) == NULL)
        return; /* dead: it goes with its casts */
    for (uint32_t i = 0; i < n->n_out; i++) {
        hull_dtype dt = graph_type(g, n->out[i])->dtype;

        y[i] = dtype_is_half(dt) ? op_cast(g, c->out[i], dt) : c->out[i];
    }
    for (uint32_t i = 0; i < n->n_out; i++)
        if (y[i] != 0)
            graph_replace(g, n->out[i], y[i]);
}

/* matmul of bf16 and a constant weight, for gemm_bf16. */
static bool lower_dot(lowering *l, node *n)
{
    const type *w = graph_type(l->g, n->in[1]);
    bool trans = attr_bool(n, "trans_b");
    val bias = n->n_in > 2 ? n->in[2] : 0, panels, y;
    node *m, *top = n;
    int64_t columns;

    if (attr_bool(n, "trans_a") || w->rank != 2 || w->dtype != HULL_BF16 ||
        graph_type(l->g, n->in[0])->rank < 1 ||
        value_is_runtime(&l->f, n->in[1]))
        return false;
    for (uint32_t i = 0; i < 2; i++)
        if (w->dims[i] < 1 || w->dims[i] > INT32_MAX)
            return false;
    columns = w->dims[trans ? 0 : 1];
    while (top->parent != l->g->body)
        top = top->parent->owner;
    l->g->insert_before = top;
    l->g->insert_in = top->parent;
    panels = pack_groups(l->g, n->in[1], trans, 32, 2);
    l->g->insert_before = n;
    l->g->insert_in = n->parent;
    m = node_new(l->g, OP_gemm);
    node_input(l->g, m, n->in[0]);
    node_input(l->g, m, panels);
    if (bias != 0 && graph_type(l->g, bias)->rank == 1 &&
        graph_type(l->g, bias)->dims[0] == columns) {
        node_input(l->g, m, bias);
        bias = 0;
    }
    node_int(l->g, m, "n", columns);
    node_int(l->g, m, "tile", 32);
    if (m != NULL)
        m->label = n->label;
    y = node_add(l->g, m);
    if (bias != 0)
        y = op_binary(l->g, OP_add, y, bias);
    graph_replace(l->g, n->out[0], y);
    return true;
}

static bool is_widened(const lowering *l, const device *d, const node *n)
{
    uint32_t traits = op_get(n->op)->traits;

    return (traits & OP_PURE) != 0 &&
           (traits & (OP_LEAF | OP_VIEW | OP_CONTROL | OP_DYNAMIC)) == 0 &&
           n->op != OP_cast && n->op != OP_bitcast && n->op != OP_expect &&
           n->op != OP_chain && /* which rounds at each step */
           n->n_out >= 1 && n->n_out <= OUT_MAX && n->n_in <= IN_MAX &&
           value_is_runtime(&l->f, n->out[0]) &&
           has_half(l->g, n) && backend_cpu.kernel(d, l->g, n) == NULL;
}

static hull_status each_node(lowering *l, const device *d, bool dots)
{
    node *next;

    TRY(graph_facts_get(&l->f, l->g));
    for (node *n = graph_first(l->g); n != NULL; n = next) {
        next = graph_next(l->g, n);
        l->g->insert_before = n;
        l->g->insert_in = n->parent;
        for (uint32_t i = 0; i < n->n_in; i++)
            n->in[i] = graph_resolve(l->g, n->in[i]);
        if (dots)
            (void)(n->op == OP_matmul && lower_dot(l, n));
        else if (is_widened(l, d, n))
            widen(d, l->g, n);
        TRY(ir_status(l->g->m));
    }
    l->g->insert_before = NULL;
    l->g->insert_in = NULL;
    graph_settle(l->g);
    graph_remove_dead(l->g);
    return ir_status(l->g->m);
}

hull_status lower_half(graph *g, const cpu_device *d)
{
    lowering l = {.g = g};

    if (d->has.bf16) {
        TRY(each_node(&l, &d->d, true));
        TRY(fuse_epilogue(g)); /* while activations are still of bf16 */
    }
    return each_node(&l, &d->d, false);
}
