/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * packed_q4.c - products with weights of 4 bits that share a scale and a zero
 * point by blocks along the depth, in the layout of ONNX's MatMulNBits:
 *
 *   gemm_q4   y = act(x w + bias + residual), w[j, i] = (q - zero) scale
 *             x [.., k]; q u8 [n, ceil(k / b), b / 2], two values to a byte,
 *             the first one in the low bits; b a power of two, 16 to 256;
 *             scale [n, ceil(k / b)]; zero u8 [n, ceil(ceil(k / b) / 2)] packed
 *             the same way, or f32 [n, ceil(k / b)]
 *   pack_q4   w [k, n] (axis 0) or [n, k] (axis 1) of u4, or of i4 plus 8 ->
 *             u8 [n, ceil(k / block), block / 2]; what is missing is 0
 */
#include "ops/data.h"
#include "ops/family.h"

#include <inttypes.h>
#include <string.h>

/* ---- shape rules --------------------------------------------------------- */

static hull_status want_scales(graph *g, const node *n, const type *q,
                               dim blocks)
{
    const type *s, *z;
    char what[128];

    if (!node_has(n, Q4_SCALE))
        return fail(HULL_EINVAL, "%s: no scale", node_what(n, what));
    TRY(infer_tensor(&s, g, n, Q4_SCALE));
    TRY(infer_want(n, s, WANT_FLOAT));
    if (s->rank != 2)
        return fail(HULL_ESHAPE, "%s: scale of rank %" PRIu32 ", wanted 2",
                    node_what(n, what), s->rank);
    TRY(infer_equal(g, n, s->dims[0], q->dims[0], "rows of scale and weight"));
    TRY(infer_equal(g, n, s->dims[1], blocks, "blocks of scale and weight"));
    if (!node_has(n, Q4_ZERO))
        return HULL_OK;
    TRY(infer_tensor(&z, g, n, Q4_ZERO));
    if (z->rank != 2 || (z->dtype != HULL_U8 && z->dtype != HULL_F32))
        return fail(HULL_ESHAPE, "%s: zero points are %s of rank %" PRIu32
                    ", wanted u8 or f32 of rank 2", node_what(n, what),
                    hull_dtype_name(z->dtype), z->rank);
    TRY(infer_equal(g, n, z->dims[0], q->dims[0], "rows of zero and weight"));
    return infer_equal(g, n, z->dims[1],
                       z->dtype == HULL_U8 ? dim_ceil_div(g->m, blocks, 2)
                                           : blocks,
                       "blocks of zero and weight");
}

static hull_status gemm_q4_infer(graph *g, node *n, const type *x)
{
    int64_t half, blocks, zero = attr_int(n, "zero");
    dim dims[HULL_MAX_RANK];
    const type *q;
    char what[128];

    TRY(infer_tensor(&q, g, n, 1));
    TRY(infer_want(n, x, WANT_FLOAT));
    if (x->rank == 0 || q->rank != 3 || q->dtype != HULL_U8)
        return fail(HULL_ESHAPE, "%s: ranks %" PRIu32 " and %" PRIu32 ", a "
                    "weight of %s; wanted 1 or more, 3 and u8",
                    node_what(n, what), x->rank, q->rank,
                    hull_dtype_name(q->dtype));
    if (!dim_is_int(g->m, q->dims[1], &blocks) ||
        !dim_is_int(g->m, q->dims[2], &half) || half < 8 || half > 128 ||
        (half & (half - 1)) != 0 || blocks > Q4_LINE_MOST / half)
        return fail(HULL_ESHAPE, "%s: blocks are no power of two from 16 to "
                    "256, or too many", node_what(n, what));
    if (zero < 0 || zero > 15)
        return fail(HULL_EINVAL, "%s: zero is %" PRId64 ", wanted 0 to 15",
                    node_what(n, what), zero);
    TRY(infer_equal(g, n, blocks,
                    dim_ceil_div(g->m, x->dims[x->rank - 1], 2 * half),
                    "blocks of weight and operand"));
    TRY(want_scales(g, n, q, q->dims[1]));
    for (uint32_t i = 0; i < x->rank; i++)
        dims[i] = x->dims[i];
    dims[x->rank - 1] = q->dims[0];
    return packed_infer_epilogue(g, n, x, q->dims[0], dims, x->rank);
}

static hull_status pack_q4_infer(graph *g, node *n, const type *w)
{
    int64_t axis = attr_int(n, "axis"), block = attr_int(n, "block");
    char what[128];
    dim dims[3];

    if (axis < 0 || axis > 1 || block < 2 || block % 2 != 0 ||
        block > INT32_MAX)
        return fail(HULL_EINVAL, "%s: axis is %" PRId64 ", block is %" PRId64,
                    node_what(n, what), axis, block);
    if (w->rank != 2 || (w->dtype != HULL_I4 && w->dtype != HULL_U4))
        return fail(HULL_ESHAPE, "%s: operand is %s of rank %" PRIu32
                    ", wanted i4 or u4 of rank 2", node_what(n, what),
                    hull_dtype_name(w->dtype), w->rank);
    dims[0] = w->dims[1 - axis];
    dims[1] = dim_ceil_div(g->m, w->dims[axis], block);
    dims[2] = block / 2;
    return infer_out(g, n, 0, HULL_U8, dims, 3);
}

hull_status packed_q4_infer(graph *g, node *n)
{
    const type *x;

    TRY(infer_tensor(&x, g, n, 0));
    return n->op == OP_pack_q4 ? pack_q4_infer(g, n, x)
                               : gemm_q4_infer(g, n, x);
}

/* ---- kernels ------------------------------------------------------------- */

static int64_t nibble(const tensor *t, int64_t i)
{
    return load_i64(HULL_U4, t->data, (uint64_t)i);
}

static hull_status gemm_q4_eval(const node *n, const tensor *in, tensor *out)
{
    const tensor *x = &in[0], *s = &in[Q4_SCALE], *z = &in[Q4_ZERO];
    int64_t columns = in[1].shape[0], block = 2 * in[1].shape[2];
    int64_t blocks = in[1].shape[1], depth = x->shape[x->rank - 1];
    bool zeros = tensor_given(in, n, Q4_ZERO);

    for (int64_t at = 0; at < tensor_numel(out); at++) {
        int64_t row = at / columns, column = at % columns;
        double sum = 0;

        for (int64_t k = 0; k < depth; k++) {
            int64_t b = column * blocks + k / block;
            double zero = (double)attr_int(n, "zero");

            if (zeros && z->dtype == HULL_U8)
                zero = (double)nibble(z, column * 2 * z->shape[1] + k / block);
            else if (zeros)
                zero = load_f64(z->dtype, z->data, (uint64_t)b);
            sum += load_f64(x->dtype, x->data, (uint64_t)(row * depth + k)) *
                   (((double)nibble(&in[1], b * block + k % block) - zero) *
                    load_f64(s->dtype, s->data, (uint64_t)b));
        }
        packed_finish(n, in, out, at, column, sum);
    }
    return HULL_OK;
}

static hull_status pack_q4_eval(const node *n, const tensor *in, tensor *out)
{
    int64_t axis = attr_int(n, "axis"), line = out->shape[1] * out->shape[2];
    int64_t depth = in->shape[axis], columns = in->shape[1 - axis];

    if (tensor_numel(out) == 0)
        return HULL_OK;
    memset(out->data, 0, tensor_bytes(out));
    for (int64_t j = 0; j < columns; j++)
        for (int64_t k = 0; k < depth; k++) {
            int64_t from = axis == 0 ? k * columns + j : j * depth + k;

            store_i64(HULL_U4, out->data, (uint64_t)(2 * j * line + k),
                      nibble(in, from) ^ (in->dtype == HULL_I4 ? 8 : 0));
        }
    return HULL_OK;
}

hull_status packed_q4_eval(eval_ctx *cx, const node *n, const tensor *in,
                           tensor *out)
{
    (void)cx;
    return n->op == OP_pack_q4 ? pack_q4_eval(n, in, out)
                               : gemm_q4_eval(n, in, out);
}
