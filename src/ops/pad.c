/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pad.c - pad by a constant, the edge, a reflection or a wrap. Negative pads
 * crop. A reflection longer than the operand goes on to and fro, as numpy's.
 */
#include "ops/data.h"
#include "ops/resize.h"

#include <inttypes.h>

/* Places stay within 64 bits: a crop may be longer than its axis. */
#define PAD_MOST (INT64_MAX / 2)

typedef enum pad_mode {
    PAD_CONSTANT, PAD_EDGE, PAD_REFLECT, PAD_WRAP, PAD_MODES
} pad_mode;

static pad_mode mode_of(const node *n)
{
    static const char *const names[PAD_MODES] = { "constant", "edge",
                                                  "reflect", "wrap" };
    str mode = attr_str(n, "mode");
    int m = 0;

    while (m < PAD_MODES && !str_is(mode, names[m]))
        m++;
    return (pad_mode)m;
}

hull_status pad_infer(graph *g, node *n)
{
    const type *x;
    const attr *pads = node_attr(n, "pads");
    char what[128];
    dim dims[HULL_MAX_RANK];
    int64_t v;

    TRY(infer_tensor(&x, g, n, 0));
    if (pads->u.dims.n != 2 * x->rank)
        return fail(HULL_ESHAPE, "%s: %u pads on an operand of rank %u",
                    node_what(n, what), pads->u.dims.n, x->rank);
    if (mode_of(n) == PAD_MODES)
        return fail(HULL_EINVAL,
                    "%s: mode '%.*s', want constant, edge, reflect or wrap",
                    node_what(n, what), STR_ARG(attr_str(n, "mode")));
    for (uint32_t i = 0; i < x->rank; i++) {
        dim begin = pads->u.dims.p[i], end = pads->u.dims.p[x->rank + i];

        dims[i] = dim_add(g->m, dim_add(g->m, x->dims[i], begin), end);
        if (dims[i] != DIM_UNKNOWN && dim_is_int(g->m, dims[i], &v) && v < 0)
            return fail(HULL_ESHAPE, "%s: pads make dim %u %" PRId64,
                        node_what(n, what), i, v);
    }
    if (node_has(n, 1)) {
        const type *v0;

        TRY(infer_tensor(&v0, g, n, 1));
        if (v0->dtype != x->dtype || v0->rank != 0)
            return fail(HULL_ESHAPE, "%s: the value is %s of rank %u, want %s "
                        "of rank 0", node_what(n, what),
                        hull_dtype_name(v0->dtype), v0->rank,
                        hull_dtype_name(x->dtype));
    }
    return infer_out(g, n, 0, x->dtype, dims, x->rank);
}

/* Place in an axis of `size` that position i (from its first element, may be
 * outside) shows; -1: the constant. */
static int64_t shown(pad_mode mode, int64_t i, int64_t size)
{
    int64_t period = size > 1 ? 2 * (size - 1) : 1;

    if (i >= 0 && i < size)
        return i;
    switch (mode) {
    case PAD_EDGE:
        return i < 0 ? 0 : size - 1;
    case PAD_REFLECT:
        i = (i % period + period) % period;
        return i < size ? i : period - i;
    case PAD_WRAP:
        return (i % size + size) % size;
    default:
        return -1;
    }
}

void pad_shown(int64_t *at, const node *n, int64_t from, int64_t to,
               int64_t begin, int64_t size)
{
    pad_mode mode = mode_of(n);

    for (int64_t p = from; p < to; p++)
        at[p] = shown(mode, p - begin, size);
}

void pad_put(const node *n, tensor *out, int64_t i)
{
    double v = attr_float(n, "value");

    if (dtype_is_complex(out->dtype)) {
        hull_dtype part = out->dtype == HULL_C64 ? HULL_F32 : HULL_F64;

        store_f64(part, out->data, 2 * (uint64_t)i, v);
        store_f64(part, out->data, 2 * (uint64_t)i + 1, 0.0);
    } else if (out->dtype == HULL_BOOL) {
        store_i64(out->dtype, out->data, (uint64_t)i, v != 0.0);
    } else {
        store_f64(out->dtype, out->data, (uint64_t)i, v);
    }
}

hull_status pad_sizes(eval_ctx *cx, const node *n, const tensor *in,
                      const tensor *out, int64_t *begin)
{
    const attr *pads = node_attr(n, "pads");
    int64_t shape[HULL_MAX_RANK];
    char what[128];

    for (uint32_t i = 0; i < in->rank; i++) {
        int64_t end;

        TRY(data_dim(&begin[i], cx, pads->u.dims.p[i]));
        TRY(data_dim(&end, cx, pads->u.dims.p[in->rank + i]));
        if (begin[i] < -PAD_MOST || begin[i] > PAD_MOST || end < -PAD_MOST ||
            end > PAD_MOST || !add_i64(&shape[i], in->shape[i], begin[i]) ||
            !add_i64(&shape[i], shape[i], end))
            return fail(HULL_ESHAPE, "%s: pads of dim %u are %" PRId64
                        " and %" PRId64 ", want at most 2^62",
                        node_what(n, what), i, begin[i], end);
        if (mode_of(n) != PAD_CONSTANT && in->shape[i] == 0 && shape[i] > 0)
            return fail(HULL_EINVAL,
                        "%s: dim %u is empty, nothing to fill %" PRId64
                        " elements from",
                        node_what(n, what), i, shape[i]);
    }
    return data_want_shape(n, out, shape, in->rank);
}

hull_status pad_eval(eval_ctx *cx, const node *n, const tensor *in,
                     tensor *out)
{
    pad_mode mode = mode_of(n);
    side src = data_side(in);
    int64_t begin[HULL_MAX_RANK] = { 0 }, index[HULL_MAX_RANK] = { 0 };
    int64_t at = 0;

    TRY(pad_sizes(cx, n, in, out, begin));
    if (tensor_numel(out) == 0)
        return HULL_OK;
    do {
        int64_t from = 0;

        for (uint32_t i = 0; i < in->rank && from >= 0; i++) {
            int64_t k = shown(mode, index[i] - begin[i], in->shape[i]);

            from = k < 0 ? -1 : from + k * src.strides[i];
        }
        if (from < 0 && node_has(n, 1))
            data_copy(out->dtype, out->data, at, in[1].data, 0);
        else if (from < 0)
            pad_put(n, out, at);
        else
            data_copy(out->dtype, out->data, at, in->data, from);
        at++;
    } while (index_next(index, out->shape, out->rank));
    return HULL_OK;
}
