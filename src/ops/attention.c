/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * attention.c - scaled dot product attention: softmax(q k^T scale + mask) v in
 * double. Keys and values may have fewer heads than queries (axis -3), each
 * shared by a run of queries' heads, and their batch dims may be 1. Keys that a
 * bool mask leaves out have the score `fill`. `rows`:
 *   zero     a row whose scores are all -inf gives zeros, and values of keys
 *            with the score -inf are not looked at
 *   softmax  as softmax and matmul: such a row is NaN, 0 times inf is NaN
 *   safe     as that, with weights 0 in place of NaN
 */
#include "ops/data.h"
#include "ops/family.h"

#include <inttypes.h>
#include <math.h>

attention_rows attention_rows_of(const node *n)
{
    static const char *const names[ATTENTION_RULES] = { "zero", "softmax",
                                                        "safe" };
    int i = 0;

    while (i < ATTENTION_RULES && !str_is(attr_str(n, "rows"), names[i]))
        i++;
    return (attention_rows)i;
}

/* Heads of k or v against heads of q: a divisor. */
static hull_status heads_infer(graph *g, const node *n, uint32_t i, dim q,
                               dim kv)
{
    char what[128];
    int64_t a, b;

    if (q != DIM_UNKNOWN && kv != DIM_UNKNOWN && dim_is_int(g->m, q, &a) &&
        dim_is_int(g->m, kv, &b) && (b < 1 ? a != b : a % b != 0))
        return fail(HULL_ESHAPE,
                    "%s: operand %u has %" PRId64 " heads, want a divisor of %"
                    PRId64,
                    node_what(n, what), i, b, a);
    return HULL_OK;
}

static hull_status key_infer(graph *g, const node *n, uint32_t i,
                             const type *q, const type *x)
{
    char what[128];
    dim same;

    if (x->dtype != q->dtype || x->rank != q->rank)
        return fail(HULL_ESHAPE,
                    "%s: operand %u is %s of rank %u, the query is %s of rank "
                    "%u",
                    node_what(n, what), i, hull_dtype_name(x->dtype), x->rank,
                    hull_dtype_name(q->dtype), q->rank);
    for (uint32_t a = 0; a + 3 < q->rank; a++) {
        if (x->dims[a] != 1)
            TRY(data_agree(&same, g, n, "a batch dim", q->dims[a],
                           x->dims[a]));
    }
    return q->rank < 3 ? HULL_OK
                       : heads_infer(g, n, i, q->dims[q->rank - 3],
                                     x->dims[q->rank - 3]);
}

static hull_status mask_infer(graph *g, node *n, const type *q, dim keys)
{
    const type *mask;
    char what[128];
    dim same;

    TRY(infer_tensor(&mask, g, n, 3));
    if (mask->dtype != HULL_BOOL && !dtype_is_float(mask->dtype))
        return fail(HULL_ESHAPE, "%s: mask is %s, want bool or a float type",
                    node_what(n, what), hull_dtype_name(mask->dtype));
    if (mask->rank > q->rank)
        return fail(HULL_ESHAPE, "%s: mask has rank %u, the query %u",
                    node_what(n, what), mask->rank, q->rank);
    for (uint32_t i = 1; i <= mask->rank; i++) {
        dim want = i == 1 ? keys : q->dims[q->rank - i];

        if (mask->dims[mask->rank - i] != 1)
            TRY(data_agree(&same, g, n, "a mask dim", want,
                           mask->dims[mask->rank - i]));
    }
    return HULL_OK;
}

hull_status attention_infer(graph *g, node *n)
{
    const type *q, *k, *v;
    char what[128];
    dim dims[HULL_MAX_RANK], same;

    TRY(infer_tensor(&q, g, n, 0));
    TRY(infer_tensor(&k, g, n, 1));
    TRY(infer_tensor(&v, g, n, 2));
    if (!dtype_is_float(q->dtype) || q->rank < 2)
        return fail(HULL_ESHAPE,
                    "%s: query is %s of rank %u, want a float type and rank 2 "
                    "or more",
                    node_what(n, what), hull_dtype_name(q->dtype), q->rank);
    TRY(key_infer(g, n, 1, q, k));
    TRY(key_infer(g, n, 2, q, v));
    TRY(data_agree(&same, g, n, "the width of queries and keys",
                   q->dims[q->rank - 1], k->dims[q->rank - 1]));
    TRY(data_agree(&same, g, n, "the number of keys and values",
                   k->dims[q->rank - 2], v->dims[q->rank - 2]));
    if (node_has(n, 3))
        TRY(mask_infer(g, n, q, same));
    if (attention_rows_of(n) == ATTENTION_RULES)
        return fail(HULL_EINVAL, "%s: rows '%.*s' is not known",
                    node_what(n, what), STR_ARG(attr_str(n, "rows")));
    for (uint32_t i = 0; i + 1 < q->rank; i++)
        dims[i] = q->dims[i];
    dims[q->rank - 1] = v->dims[q->rank - 1];
    return infer_out(g, n, 0, q->dtype, dims, q->rank);
}

typedef struct attention {
    const tensor *q, *k, *v, *mask;
    tensor *out;
    int64_t l, s, d, e;
    double scale, fill;
    bool causal;
    attention_rows rows;
    int64_t mask_strides[HULL_MAX_RANK];
    double *p; /* s scores, then weights */
    double *sum; /* e sums */
} attention;

/* Which matrix of t belongs to the query's batch index. */
static int64_t matrix_of(const tensor *q, const tensor *t,
                         const int64_t *index)
{
    int64_t at = 0;

    for (uint32_t i = 0; i + 2 < t->rank; i++) {
        int64_t k = t->shape[i] == 1 ? 0 : index[i];

        if (i + 3 == t->rank && t->shape[i] > 0)
            k = index[i] / (q->shape[i] / t->shape[i]);
        at = at * t->shape[i] + k;
    }
    return at;
}

/* Scores of one row into a->p, -inf where masked; the largest one. */
static double row_scores(attention *a, int64_t row, int64_t keys, int64_t i,
                         int64_t mask_at)
{
    uint32_t rank = a->q->rank;
    double top = -INFINITY;

    for (int64_t j = 0; j < a->s; j++) {
        int64_t at = mask_at + i * a->mask_strides[rank - 2] +
                     j * a->mask_strides[rank - 1];
        double dot = 0.0;

        a->p[j] = -INFINITY;
        if (a->causal && j > i)
            continue;
        for (int64_t c = 0; c < a->d; c++)
            dot += load_f64(a->q->dtype, a->q->data,
                            (uint64_t)(row * a->d + c)) *
                   load_f64(a->k->dtype, a->k->data,
                            (uint64_t)((keys * a->s + j) * a->d + c));
        dot *= a->scale;
        if (a->mask != NULL && a->mask->dtype == HULL_BOOL &&
            load_i64(HULL_BOOL, a->mask->data, (uint64_t)at) == 0)
            dot = a->fill;
        if (a->mask != NULL && a->mask->dtype != HULL_BOOL)
            dot += load_f64(a->mask->dtype, a->mask->data, (uint64_t)at);
        a->p[j] = dot;
        if (isnan(dot) || dot > top)
            top = dot;
        if (isnan(top))
            break;
    }
    return top;
}

/* exp(p - top), NaN where the scores have one. */
static double weight_of(const attention *a, int64_t j, double top)
{
    if (isnan(top))
        return top;
    if (top == -INFINITY && a->rows == ATTENTION_ZERO)
        return 0.0;
    return exp(a->p[j] - top);
}

static void row_out(attention *a, int64_t row, int64_t values, double top)
{
    bool zero = a->rows == ATTENTION_ZERO, all;
    double total = 0.0;

    for (int64_t j = 0; j < a->s; j++)
        total += weight_of(a, j, top);
    all = isnan(total) && a->rows != ATTENTION_SAFE;
    for (int64_t c = 0; c < a->e; c++)
        a->sum[c] = all ? total : 0.0;
    for (int64_t j = 0; j < a->s && !all; j++) {
        double w = isnan(total) ? 0.0 : weight_of(a, j, top);

        if (zero && a->p[j] == -INFINITY)
            continue;
        for (int64_t c = 0; c < a->e; c++)
            a->sum[c] += w * load_f64(a->v->dtype, a->v->data,
                                      (uint64_t)((values * a->s + j) * a->e +
                                                 c));
    }
    for (int64_t c = 0; c < a->e; c++)
        store_f64(a->out->dtype, a->out->data, (uint64_t)(row * a->e + c),
                  total > 0.0 ? a->sum[c] / total : a->sum[c]);
}

/* The shapes that the loops rely on. */
hull_status attention_check(const node *n, const tensor in[3],
                            const tensor *mask, const tensor *out)
{
    const tensor *q = &in[0];
    int64_t s = in[1].shape[q->rank - 2], d = q->shape[q->rank - 1];
    int64_t e = in[2].shape[q->rank - 1];
    int64_t shape[HULL_MAX_RANK];
    char what[128];

    for (uint32_t i = 0; i < q->rank; i++)
        shape[i] = q->shape[i];
    shape[q->rank - 1] = e;
    TRY(data_want_shape(n, out, shape, q->rank));
    for (int t = 0; t < 2; t++) {
        const tensor *x = &in[1 + t];

        for (uint32_t i = 0; i < q->rank; i++) {
            bool head = i + 3 == q->rank && x->shape[i] > 0 &&
                        q->shape[i] % x->shape[i] == 0;
            int64_t want = i + 2 < q->rank   ? q->shape[i]
                           : i + 2 == q->rank ? s
                           : t == 0           ? d
                                              : e;

            if (x->shape[i] != want && !head &&
                !(i + 2 < q->rank && x->shape[i] == 1))
                return fail(HULL_ESHAPE,
                            "%s: dim %u of operand %d is %" PRId64
                            ", want %" PRId64,
                            node_what(n, what), i, t + 1, x->shape[i], want);
        }
    }
    shape[q->rank - 1] = s;
    for (uint32_t i = 1; mask != NULL && i <= mask->rank; i++) {
        int64_t have = mask->shape[mask->rank - i];

        if (have != 1 && have != shape[q->rank - i])
            return fail(HULL_ESHAPE,
                        "%s: mask has a dim of %" PRId64 ", want 1 or %" PRId64,
                        node_what(n, what), have, shape[q->rank - i]);
    }
    return HULL_OK;
}

hull_status attention_run(eval_ctx *cx, const node *n, const tensor in[3],
                          const tensor *mask, tensor *out)
{
    const tensor *q = &in[0];
    uint32_t rank = q->rank;
    attention a = { .q = q, .k = &in[1], .v = &in[2], .out = out,
                    .mask = mask,
                    .l = q->shape[rank - 2], .d = q->shape[rank - 1],
                    .s = in[1].shape[rank - 2], .e = in[2].shape[rank - 1],
                    .scale = attr_float(n, "scale"),
                    .fill = attr_float(n, "fill"),
                    .rows = attention_rows_of(n),
                    .causal = attr_bool(n, "causal") };
    int64_t index[HULL_MAX_RANK] = { 0 }, shape[HULL_MAX_RANK], matrix = 0;

    TRY(attention_check(n, in, mask, out));
    if (tensor_numel(out) == 0)
        return HULL_OK;
    if (a.scale == 0.0)
        a.scale = a.d > 0 ? 1.0 / sqrt((double)a.d) : 0.0;
    for (uint32_t i = 0; i < rank; i++)
        shape[i] = q->shape[i];
    shape[rank - 1] = a.s;
    if (a.mask != NULL)
        tensor_broadcast_strides(a.mask, shape, rank, a.mask_strides);
    a.p = arena_array(cx->scratch, (size_t)a.s + 1, sizeof(double));
    a.sum = arena_array(cx->scratch, (size_t)a.e + 1, sizeof(double));
    if (a.p == NULL || a.sum == NULL)
        return fail_oom((size_t)(a.s + a.e) * sizeof(double));
    do {
        int64_t keys = matrix_of(q, a.k, index);
        int64_t values = matrix_of(q, a.v, index), mask_at = 0;

        for (uint32_t i = 0; i + 2 < rank; i++)
            mask_at += index[i] * a.mask_strides[i];
        for (int64_t i = 0; i < a.l; i++) {
            int64_t row = matrix * a.l + i;

            row_out(&a, row, values, row_scores(&a, row, keys, i, mask_at));
        }
        matrix++;
    } while (index_next(index, q->shape, rank - 2));
    return HULL_OK;
}

hull_status attention_eval(eval_ctx *cx, const node *n, const tensor *in,
                           tensor *out)
{
    return attention_run(cx, n, in, node_has(n, 3) ? &in[3] : NULL, out);
}
