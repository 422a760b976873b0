/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * fuse_linear.c - what a matmul or convolution kernel does on the side:
 *   matmul(x, transpose(w))      -> matmul(x, w) with trans_b flipped
 *   add(matmul(x, w), b)         -> matmul(x, w, b)      b: [n] or [1.., n]
 *   add(conv(x, w), b)           -> conv(x, w, b)        b: [c, 1..]
 *   mul(matmul(x, w, b), s)      -> matmul(x, w s, b s)  s: [n]; conv likewise
 * conv may be a transposed one. w, b and s depend on weights alone, and the
 * product has no other reader.
 */
#include "passes/pass.h"

typedef struct fuse_cx {
    graph *g;
    graph_facts facts;
} fuse_cx;

static node *copy_node(fuse_cx *cx, const node *from, uint32_t n_in)
{
    node *n = node_new(cx->g, from->op);
    const op_info *info = op_get(from->op);

    for (uint32_t i = 0; i < n_in; i++)
        node_input(cx->g, n, from->in[i]);
    for (uint32_t i = 0; n != NULL && i < info->n_attrs; i++)
        n->attrs[i] = from->attrs[i];
    if (n != NULL)
        n->label = from->label;
    return n;
}

/* Only the last two axes are swapped. */
static bool swaps_last_two(const node *t)
{
    const attr *perm = node_attr(t, "perm");
    uint32_t n = perm->u.ints.n;

    if (n < 2)
        return false;
    for (uint32_t i = 0; i + 2 < n; i++)
        if (perm->u.ints.p[i] != i)
            return false;
    return perm->u.ints.p[n - 2] == n - 1 && perm->u.ints.p[n - 1] == n - 2;
}

static void fuse_transpose(fuse_cx *cx, node *n)
{
    const node *t = graph_def(cx->g, n->in[1]);
    node *fused;

    if (t == NULL || t->op != OP_transpose || !swaps_last_two(t) ||
        value_is_runtime(&cx->facts, t->in[0]))
        return;
    fused = copy_node(cx, n, n->n_in);
    if (fused == NULL)
        return;
    fused->in[1] = t->in[0];
    node_bool(cx->g, fused, "trans_b", !attr_bool(n, "trans_b"));
    graph_replace(cx->g, n->out[0], node_add(cx->g, fused));
}

/* Length of the only axis longer than one, when that axis is `from_end` axes
 * before the last one; -1 otherwise. */
static dim vector_at(const type *t, uint32_t from_end)
{
    if (t->rank <= from_end)
        return -1;
    for (uint32_t i = 0; i < t->rank; i++)
        if (i != t->rank - 1 - from_end && t->dims[i] != 1)
            return -1;
    return t->dims[t->rank - 1 - from_end];
}

/* The bias `b` fits the op's result: channels at `from_end`, same dtype. */
static bool is_bias(const fuse_cx *cx, const node *op, val b,
                    uint32_t from_end)
{
    const type *y = graph_type(cx->g, op->out[0]);
    const type *t = graph_type(cx->g, b);

    return !value_is_runtime(&cx->facts, b) && t->dtype == y->dtype &&
           t->rank <= y->rank && y->rank > from_end &&
           vector_at(t, from_end) >= 0 &&
           dim_eq(cx->g->m, vector_at(t, from_end),
                  y->dims[y->rank - 1 - from_end]);
}

static bool is_conv(const node *op)
{
    return op->op == OP_conv || op->op == OP_conv_transpose;
}

/* A product of `reader` alone, with a constant weight. */
static bool is_product(const fuse_cx *cx, const node *op, const node *reader)
{
    return op != NULL && (op->op == OP_matmul || is_conv(op)) &&
           op->parent == reader->parent &&
           value_has_one_use(&cx->facts, op->out[0]) &&
           !value_is_runtime(&cx->facts, op->in[1]);
}

static void fuse_add(fuse_cx *cx, node *add)
{
    for (uint32_t i = 0; i < 2; i++) {
        const node *op = graph_def(cx->g, add->in[i]);
        val b = add->in[1 - i];
        uint32_t from_end = 0;
        node *fused;

        if (!is_product(cx, op, add) || (op->n_in > 2 && op->in[2] != 0))
            continue;
        if (is_conv(op))
            from_end = graph_type(cx->g, op->out[0])->rank - 2;
        if (!is_bias(cx, op, b, from_end))
            continue;
        if (graph_type(cx->g, b)->rank != 1) {
            dim n = vector_at(graph_type(cx->g, b), from_end);

            b = op_reshape(cx->g, b, &n, 1);
        }
        fused = copy_node(cx, op, 2);
        node_input(cx->g, fused, b);
        graph_replace(cx->g, add->out[0], node_add(cx->g, fused));
        return;
    }
}

/* c, of one axis, as axis `axis` of a tensor of rank `rank`. */
static val along(graph *g, val c, dim n, uint32_t axis, uint32_t rank)
{
    dim dims[HULL_MAX_RANK];

    for (uint32_t i = 0; i < rank; i++)
        dims[i] = i == axis ? n : 1;
    return op_reshape(g, c, dims, rank);
}

/* Kernels read weights of narrow types as they are. */
static bool is_widened(const fuse_cx *cx, const node *op)
{
    const node *def = graph_def(cx->g, op->in[1]);

    return (def != NULL && def->op == OP_cast) ||
           (op->op == OP_matmul &&
            is_group_weight(cx->g, op->in[1], attr_bool(op, "trans_b")));
}

static void fuse_mul(fuse_cx *cx, node *mul)
{
    for (uint32_t i = 0; i < 2; i++) {
        const node *op = graph_def(cx->g, mul->in[i]);
        val s = mul->in[1 - i], w;
        uint32_t from_end = 0, rank, axis = 0;
        const type *t;
        node *fused;
        dim n;

        if (!is_product(cx, op, mul) || is_widened(cx, op) ||
            (op->n_in > 2 && op->in[2] != 0 &&
             (value_is_runtime(&cx->facts, op->in[2]) ||
              graph_type(cx->g, op->in[2])->rank != 1)))
            continue;
        rank = graph_type(cx->g, op->in[1])->rank;
        if (is_conv(op))
            from_end = graph_type(cx->g, op->out[0])->rank - 2;
        else if (rank < 2 || graph_type(cx->g, op->in[0])->rank < 2)
            continue;
        else
            axis = attr_bool(op, "trans_b") ? rank - 2 : rank - 1;
        if (op->op == OP_conv_transpose) {
            if (attr_int(op, "groups") != 1)
                continue;
            axis = 1;
        }
        if (!is_bias(cx, op, s, from_end))
            continue;
        n = vector_at(graph_type(cx->g, s), from_end);
        t = graph_type(cx->g, op->in[1]);
        if (n < 2 || !dim_eq(cx->g->m, t->dims[axis], n))
            continue;
        w = op_binary(cx->g, OP_mul, op->in[1],
                      along(cx->g, s, n, axis, rank));
        fused = copy_node(cx, op, 2);
        if (fused == NULL)
            return;
        fused->in[1] = w;
        if (op->n_in > 2 && op->in[2] != 0)
            node_input(cx->g, fused,
                       op_binary(cx->g, OP_mul, op->in[2],
                                 along(cx->g, s, n, 0, 1)));
        graph_replace(cx->g, mul->out[0], node_add(cx->g, fused));
        return;
    }
}

static hull_status each(graph *g, op_code op,
                        void (*rule)(fuse_cx *cx, node *n))
{
    fuse_cx cx = {.g = g};
    node *next;

    TRY(graph_facts_get(&cx.facts, g));
    for (node *n = graph_first(g); n != NULL; n = next) {
        next = graph_next(g, n);
        if (n->op != op)
            continue;
        g->insert_before = n;
        g->insert_in = n->parent;
        rule(&cx, n);
        TRY(ir_status(g->m));
    }
    graph_settle(g);
    graph_remove_dead(g);
    return ir_status(g->m);
}

hull_status fuse_biases(graph *g)
{
    return each(g, OP_add, fuse_add);
}

hull_status pass_fuse_linear(graph *g)
{
    TRY(each(g, OP_matmul, fuse_transpose));
    TRY(fuse_biases(g));
    return each(g, OP_mul, fuse_mul);
}
