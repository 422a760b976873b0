/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * fuse_bn.c - batch norm behind a convolution becomes part of its weights:
 *   s = gamma / sqrt(var + eps),  w' = w * s,  b' = (b - mean) * s + beta
 * All of it is nodes that depend on weights alone, so the split moves it into
 * the prepare program: nothing is folded into bytes, every refit redoes it.
 * decompose.c uses the same scale and shift for a batch norm that stays alone.
 */
#include "passes/pass.h"

/* gamma / sqrt(var + eps) of a batch_norm node: [c]. */
val bn_scale(graph *g, const node *bn)
{
    const type *t = graph_type(g, bn->in[4]);
    val eps = op_scalar(g, t->dtype, attr_float(bn, "eps"));
    val root = op_unary(g, OP_sqrt, op_binary(g, OP_add, bn->in[4], eps));

    return op_binary(g, OP_div, bn->in[1], root);
}

/* beta + (bias - mean) * s; bias 0 = none: [c]. */
val bn_shift(graph *g, const node *bn, val bias, val s)
{
    val centred = bias != 0 ? op_binary(g, OP_sub, bias, bn->in[3])
                            : op_unary(g, OP_neg, bn->in[3]);

    return op_binary(g, OP_add, op_binary(g, OP_mul, centred, s), bn->in[2]);
}

/* [c] as [1.., c, 1..] with c at `axis` of `rank`, leading ones left out. */
val bn_at_axis(graph *g, val v, uint32_t axis, uint32_t rank)
{
    dim dims[HULL_MAX_RANK];

    if (v == 0 || rank - axis == 1) /* 0: the ir has failed */
        return v;
    dims[0] = graph_type(g, v)->dims[0];
    for (uint32_t i = 1; i < rank - axis; i++)
        dims[i] = 1;
    return op_reshape(g, v, dims, rank - axis);
}

bool bn_is_foldable(const graph_facts *f, const node *bn, const char **out_why)
{
    hull_dtype dt = graph_type(f->g, bn->in[0])->dtype;

    *out_why = NULL;
    if (dt != HULL_F32 && dt != HULL_F64)
        *out_why = "statistics of a narrow dtype are not folded";
    if (bn->parent != f->g->body)
        *out_why = "a body would fold its statistics in every run";
    for (uint32_t i = 1; *out_why == NULL && i < bn->n_in; i++) {
        const type *t = graph_type(f->g, bn->in[i]);

        if (t->dtype != dt || t->rank != 1)
            *out_why = "statistics of another dtype or rank";
        else if (value_is_runtime(f, bn->in[i]))
            *out_why = "parameters depend on an input";
    }
    return *out_why == NULL;
}

/* NULL, or why this batch norm cannot go into its operand. */
static const char *why_not_fused(const graph_facts *f, const node *bn,
                                 const node *conv)
{
    const char *why;

    if (!bn_is_foldable(f, bn, &why))
        return why;
    if (conv == NULL ||
        (conv->op != OP_conv && conv->op != OP_conv_transpose))
        return "operand is no convolution";
    if (conv->op == OP_conv_transpose && attr_int(conv, "groups") != 1)
        return "transposed convolution has groups";
    if (conv->parent != bn->parent || !value_has_one_use(f, conv->out[0]))
        return "convolution has other readers";
    if (value_is_runtime(f, conv->in[1]) ||
        (conv->n_in > 2 && conv->in[2] != 0 &&
         value_is_runtime(f, conv->in[2])))
        return "convolution's weights depend on an input";
    return NULL;
}

/* The same convolution with other weights. */
static val rebuild_conv(graph *g, const node *conv, val w, val b)
{
    const op_info *info = op_get(conv->op);
    node *n = node_new(g, conv->op);

    node_input(g, n, conv->in[0]);
    node_input(g, n, w);
    node_input(g, n, b);
    for (uint32_t i = 0; n != NULL && i < info->n_attrs; i++)
        n->attrs[i] = conv->attrs[i];
    if (n != NULL)
        n->label = conv->label;
    return node_add(g, n);
}

static void fuse(graph *g, node *bn, const node *conv)
{
    uint32_t rank = graph_type(g, conv->in[1])->rank;
    val bias = conv->n_in > 2 ? conv->in[2] : 0, s, w, b;

    g->insert_before = bn;
    g->insert_in = bn->parent;
    s = bn_scale(g, bn);
    w = op_binary(g, OP_mul, conv->in[1],
                  bn_at_axis(g, s, conv->op == OP_conv ? 0 : 1, rank));
    b = bn_shift(g, bn, bias, s);
    graph_replace(g, bn->out[0], rebuild_conv(g, conv, w, b));
}

hull_status pass_fuse_bn(graph *g)
{
    graph_facts f;
    node *next;

    TRY(fuse_biases(g)); /* so that no addition stands in between */
    TRY(graph_facts_get(&f, g));
    for (node *n = graph_first(g); n != NULL; n = next) {
        const node *conv;
        const char *why;

        next = graph_next(g, n);
        if (n->op != OP_batch_norm)
            continue;
        conv = graph_def(g, n->in[0]);
        why = why_not_fused(&f, n, conv);
        if (why == NULL)
            fuse(g, n, conv);
        else
            log_debug("passes", "batch_norm '%.*s' not fused: %s",
                      STR_ARG(n->label), why);
        TRY(ir_status(g->m));
    }
    return HULL_OK;
}
