/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * fold.c - constant folding. A pure node whose operands are all literals is
 * run by its reference kernel, so folding cannot disagree with the oracle.
 * Results above LITERAL_TEXT_MAX elements stay nodes: they cost nothing at run
 * time (they are prepare work) and text never carries megabytes. Weights are
 * not literals, so nothing here can read one.
 */
#include "passes/pass.h"

#include <string.h>

#define FOLD_MAX_OUT 4

static bool small_tensor(tensor *out, const graph *g, val v)
{
    const type *t = graph_type(g, v);
    int64_t numel = 1;

    if (t->kind != TYPE_TENSOR || dtype_is_complex(t->dtype))
        return false;
    *out = (tensor){.dtype = t->dtype, .rank = t->rank};
    for (uint32_t i = 0; i < t->rank; i++) {
        if (t->dims[i] < 0 || !mul_i64(&numel, numel, t->dims[i]) ||
            numel > LITERAL_TEXT_MAX)
            return false;
        out->shape[i] = t->dims[i];
    }
    return true;
}

static bool literal_operand(tensor *out, const graph *g, val v)
{
    const literal *l = value_literal(g, v);
    union { const void *in; void *out; } drop_const;

    *out = (tensor){0};
    if (v == 0)
        return true;
    if (l == NULL)
        return false;
    drop_const.in = l->data;
    out->dtype = l->dtype;
    out->rank = l->rank;
    memcpy(out->shape, l->shape, sizeof out->shape);
    out->data = drop_const.out; /* kernels only read operands */
    return true;
}

/* A small integer tensor whose elements the shape rules know already: part of
 * the arithmetic on shapes that ended in plain sizes. */
static bool fold_known(graph *g, node *n)
{
    const value *v = graph_value(g, n->out[0]);
    int64_t elem[LITERAL_TEXT_MAX], dims[1];
    char data[16 * LITERAL_TEXT_MAX];

    if (n->n_out != 1 || v->known == NULL || n->op == OP_expect ||
        v->n_known > LITERAL_TEXT_MAX || v->type.rank > 1)
        return false;
    for (uint32_t i = 0; i < v->n_known; i++) {
        if (!dim_is_int(g->m, v->known[i], &elem[i]))
            return false;
        store_i64(v->type.dtype, data, i, elem[i]);
    }
    dims[0] = v->n_known;
    g->insert_before = n;
    g->insert_in = n->parent;
    graph_replace(g, n->out[0],
                  op_const(g, v->type.dtype, dims, v->type.rank, data));
    return true;
}

/* Replaces n by constants when everything it needs is known and small. */
static hull_status fold_node(graph *g, node *n, arena *scratch)
{
    const op_info *info = op_get(n->op);
    tensor in[16], out[FOLD_MAX_OUT];
    dim_env env = {0};
    eval_ctx cx = {.env = &env, .scratch = scratch};
    hull_status st;

    if ((info->traits & OP_PURE) == 0 || n->op == OP_const ||
        n->op == OP_weight || n->op == OP_expect || n->n_in > COUNT_OF(in) ||
        n->n_out > FOLD_MAX_OUT || info->eval == NULL)
        return HULL_OK;
    if (fold_known(g, n) || node_has_symbols(g, n))
        return ir_status(g->m);
    for (uint32_t i = 0; i < n->n_in; i++)
        if (!literal_operand(&in[i], g, n->in[i]))
            return HULL_OK;
    for (uint32_t i = 0; i < n->n_out; i++) {
        if (!small_tensor(&out[i], g, n->out[i]))
            return HULL_OK;
        out[i].data = arena_alloc(scratch, 16 * LITERAL_TEXT_MAX);
        if (out[i].data == NULL)
            return fail_oom(16 * LITERAL_TEXT_MAX);
    }
    TRY(dim_env_init(&env, g->m));
    st = info->eval(&cx, n, in, out);
    dim_env_fini(&env);
    if (st == HULL_ENOMEM)
        return st;
    if (st != HULL_OK) { /* it fails at run time, with its place named */
        error_clear();
        return HULL_OK;
    }
    g->insert_before = n;
    g->insert_in = n->parent;
    for (uint32_t i = 0; i < n->n_out; i++)
        graph_replace(g, n->out[i],
                      op_const(g, out[i].dtype, out[i].shape, out[i].rank,
                               out[i].data));
    return ir_status(g->m);
}

hull_status pass_fold(graph *g)
{
    arena scratch = {0};
    hull_status st = HULL_OK;
    node *next;

    for (node *n = graph_first(g); n != NULL && st == HULL_OK; n = next) {
        next = graph_next(g, n);
        st = fold_node(g, n, &scratch);
        arena_reset(&scratch);
    }
    arena_fini(&scratch);
    return st;
}
