/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * matmul.c - [.., m, k] x [.., k, n] by numpy's rules, vectors included, with
 * an optional bias that broadcasts to the result. A flag transposes the last
 * two axes of an operand of rank 2 or more. Integers accumulate in 64 bits.
 */
#include "ops/family.h"

#include <inttypes.h>
#include <string.h>

typedef struct transposed {
    bool a, b;
} transposed;

static transposed flags_of(const node *n, uint32_t rank_a, uint32_t rank_b)
{
    return (transposed){rank_a >= 2 &&
                            attr_index(n->op, str_of("trans_a")) >= 0 &&
                            attr_bool(n, "trans_a"),
                        rank_b >= 2 && attr_bool(n, "trans_b")};
}

/* Shape of the product; out has room for HULL_MAX_RANK. */
static hull_status product_dims(graph *g, const node *n, const type *a,
                                const type *b, dim *out, uint32_t *out_rank)
{
    transposed tr = flags_of(n, a->rank, b->rank);
    type batch_a = *a, batch_b = *b;
    char what[128];
    dim ka, kb;

    if (a->rank == 0 || b->rank == 0)
        return fail(HULL_ESHAPE, "%s: operand of rank 0, wanted 1 or more",
                    node_what(n, what));
    batch_a.rank = a->rank >= 2 ? a->rank - 2 : 0;
    batch_b.rank = b->rank >= 2 ? b->rank - 2 : 0;
    ka = a->dims[tr.a ? a->rank - 2 : a->rank - 1];
    kb = b->dims[b->rank == 1 ? 0 : tr.b ? b->rank - 1 : b->rank - 2];
    TRY(infer_equal(g, n, ka, kb, "inner sizes"));
    TRY(infer_broadcast(g, n, &batch_a, &batch_b, out, out_rank));
    if (a->rank >= 2)
        out[(*out_rank)++] = a->dims[tr.a ? a->rank - 1 : a->rank - 2];
    if (b->rank >= 2)
        out[(*out_rank)++] = b->dims[tr.b ? b->rank - 2 : b->rank - 1];
    return HULL_OK;
}

hull_status matmul_infer(graph *g, node *n)
{
    const type *a = NULL, *b = NULL, *bias = NULL;
    dim dims[HULL_MAX_RANK + 2], both[HULL_MAX_RANK];
    uint32_t rank = 0, rank_both = 0;
    char what[128];

    TRY(infer_tensor(&a, g, n, 0));
    TRY(infer_tensor(&b, g, n, 1));
    TRY(infer_same(n, a, b));
    TRY(infer_want(n, a, WANT_FLOAT | WANT_INT));
    TRY(product_dims(g, n, a, b, dims, &rank));
    TRY(infer_out(g, n, 0, a->dtype, dims, rank));
    if (n->n_in < 3 || n->in[2] == 0)
        return HULL_OK;
    TRY(infer_tensor(&bias, g, n, 2));
    TRY(infer_same(n, a, bias));
    TRY(infer_broadcast(g, n, graph_type(g, n->out[0]), bias, both,
                        &rank_both));
    for (uint32_t i = 0; rank_both == rank && i < rank; i++)
        TRY(infer_equal(g, n, dims[i], both[i], "sizes of result and bias"));
    if (rank_both != rank)
        return fail(HULL_ESHAPE, "%s: bias of rank %" PRIu32
                    ", result of rank %" PRIu32, node_what(n, what),
                    bias->rank, rank);
    return HULL_OK;
}

/* One product; a is [m, k], b is [k, n], both dense. */
typedef struct sizes {
    int64_t m, k, n;
} sizes;

/* dst [rows, cols] from element `at` of t, which holds [cols, rows] when it is
 * transposed. Integers keep their 64 bits in the doubles' storage. */
static void pack(void *dst, const tensor *t, int64_t at, int64_t rows,
                 int64_t cols, bool trans)
{
    double *f = dst;
    int64_t *u = dst;
    bool is_float = dtype_is_float(t->dtype);

    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < cols; c++) {
            uint64_t from = (uint64_t)(at + (trans ? c * rows + r
                                                   : r * cols + c));

            if (is_float)
                f[r * cols + c] = load_f64(t->dtype, t->data, from);
            else
                u[r * cols + c] = load_i64(t->dtype, t->data, from);
        }
    }
}

static void row_f64(double *restrict acc, const double *restrict a,
                    const double *restrict b, sizes s)
{
    memset(acc, 0, (size_t)s.n * sizeof(*acc));
    for (int64_t k = 0; k < s.k; k++) {
        const double v = a[k], *row = b + k * s.n;

        for (int64_t j = 0; j < s.n; j++)
            acc[j] += v * row[j];
    }
}

static void row_u64(uint64_t *restrict acc, const uint64_t *restrict a,
                    const uint64_t *restrict b, sizes s)
{
    memset(acc, 0, (size_t)s.n * sizeof(*acc));
    for (int64_t k = 0; k < s.k; k++) {
        const uint64_t v = a[k], *row = b + k * s.n;

        for (int64_t j = 0; j < s.n; j++)
            acc[j] += v * row[j];
    }
}

/* bias_at: where the bias of this product begins. */
static void product(const product_plan *p, const void *a, const void *b,
                    void *acc, int64_t bias_at, tensor *out, int64_t at)
{
    const sizes s = {p->m, p->k, p->n};
    const tensor *bias = p->bias;
    bool is_float = dtype_is_float(out->dtype);

    for (int64_t i = 0; i < s.m; i++) {
        const double *f = acc;
        const int64_t *u = acc;

        if (is_float)
            row_f64(acc, (const double *)a + i * s.k, b, s);
        else
            row_u64(acc, (const uint64_t *)a + i * s.k, b, s);
        for (int64_t j = 0; j < s.n; j++) {
            uint64_t to = (uint64_t)(at + i * s.n + j);
            uint64_t from = (uint64_t)(bias_at + i * p->bias_m +
                                       j * p->bias_n);

            if (is_float)
                store_f64(out->dtype, out->data, to,
                          f[j] + (bias != NULL ? load_f64(bias->dtype,
                                                          bias->data, from)
                                               : 0));
            else
                store_i64(out->dtype, out->data, to,
                          (int64_t)((uint64_t)u[j] +
                                    (uint64_t)(bias != NULL
                                                   ? load_i64(bias->dtype,
                                                              bias->data, from)
                                                   : 0)));
        }
    }
}

/* Strides of a tensor's leading axes over the batch. */
static hull_status batch_strides(int64_t *out, const node *n, const tensor *t,
                                 uint32_t matrix_rank,
                                 const product_plan *p)
{
    tensor lead = *t;
    int64_t matrix = 1;
    char what[128];

    lead.rank = t->rank > matrix_rank ? t->rank - matrix_rank : 0;
    for (uint32_t i = lead.rank; i < t->rank; i++)
        matrix *= t->shape[i];
    for (uint32_t i = 0; i < lead.rank; i++) {
        int64_t size = p->batch[p->batch_rank - lead.rank + i];

        if (t->shape[i] != 1 && t->shape[i] != size)
            return fail(HULL_ESHAPE, "%s: batch sizes %" PRId64 " and %" PRId64
                        " do not broadcast", node_what(n, what), t->shape[i],
                        size);
    }
    tensor_broadcast_strides(&lead, p->batch, p->batch_rank, out);
    for (uint32_t i = 0; i < p->batch_rank; i++)
        out[i] *= matrix;
    return HULL_OK;
}

static hull_status plan_bias(product_plan *p, const node *n,
                             const tensor *bias, const tensor *a,
                             const tensor *b, const tensor *out)
{
    int64_t strides[HULL_MAX_RANK];
    uint32_t at = out->rank;
    walk fits;

    TRY(walk_begin(&fits, n, bias, 1, out));
    tensor_broadcast_strides(bias, out->shape, out->rank, strides);
    p->bias = bias;
    if (b->rank >= 2)
        p->bias_n = strides[--at];
    if (a->rank >= 2)
        p->bias_m = strides[--at];
    for (uint32_t i = 0; i < p->batch_rank; i++)
        p->stride_bias[i] = strides[i];
    return HULL_OK;
}

hull_status product_plan_get(product_plan *p, const node *n, const tensor *in,
                             const tensor *out)
{
    const tensor *a = &in[0], *b = &in[1];
    transposed tr = flags_of(n, a->rank, b->rank);
    int64_t kb = 0;
    char what[128];

    *p = (product_plan){.trans_a = tr.a, .trans_b = tr.b, .m = 1, .n = 1};
    p->k = a->shape[p->trans_a ? a->rank - 2 : a->rank - 1];
    kb = b->shape[b->rank == 1 ? 0 : p->trans_b ? b->rank - 1 : b->rank - 2];
    if (p->k != kb)
        return fail(HULL_ESHAPE, "%s: inner sizes %" PRId64 " and %" PRId64
                    " differ", node_what(n, what), p->k, kb);
    if (a->rank >= 2)
        p->m = a->shape[p->trans_a ? a->rank - 1 : a->rank - 2];
    if (b->rank >= 2)
        p->n = b->shape[p->trans_b ? b->rank - 2 : b->rank - 1];
    p->batch_rank = out->rank - (a->rank >= 2) - (b->rank >= 2);
    for (uint32_t i = 0; i < p->batch_rank; i++)
        p->batch[i] = out->shape[i];
    TRY(batch_strides(p->stride_a, n, a, 2, p));
    TRY(batch_strides(p->stride_b, n, b, 2, p));
    if (tensor_given(in, n, 2))
        return plan_bias(p, n, &in[2], a, b, out);
    return HULL_OK;
}

hull_status matmul_eval(eval_ctx *cx, const node *n, const tensor *in,
                        tensor *out)
{
    int64_t index[HULL_MAX_RANK] = {0}, at = 0, b_now = -1;
    double *a = NULL, *b = NULL, *acc = NULL;
    product_plan p;

    TRY(product_plan_get(&p, n, in, out));
    if (tensor_numel(out) == 0)
        return HULL_OK;
    TRY(eval_scratch(&a, cx, p.m * p.k));
    TRY(eval_scratch(&b, cx, p.k * p.n));
    TRY(eval_scratch(&acc, cx, p.n));
    do {
        int64_t at_a = 0, at_b = 0, at_bias = 0;

        for (uint32_t i = 0; i < p.batch_rank; i++) {
            at_a += index[i] * p.stride_a[i];
            at_b += index[i] * p.stride_b[i];
            at_bias += index[i] * p.stride_bias[i];
        }
        pack(a, &in[0], at_a, p.m, p.k, p.trans_a);
        if (at_b != b_now)
            pack(b, &in[1], at_b, p.k, p.n, p.trans_b);
        b_now = at_b;
        product(&p, a, b, acc, at_bias, out, at);
        at += p.m * p.n;
    } while (index_next(index, p.batch, p.batch_rank));
    return HULL_OK;
}
