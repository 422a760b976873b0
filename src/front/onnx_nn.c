/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_nn.c - lowerings of convolutions and pools: defaults of the window's
 * attributes, auto_pad, and the shapes they imply.
 */
#include "front/onnx_lower.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Window of a convolution or pool over n spatial axes. */
typedef struct window {
    uint32_t n;
    int64_t kernel[HULL_MAX_RANK], stride[HULL_MAX_RANK];
    int64_t dilation[HULL_MAX_RANK], pad[2 * HULL_MAX_RANK];
} window;

/* SAME: as many outputs as ceil(input / stride). */
static hull_status same_pads(onnx_call *c, window *w, const dim *spatial,
                             bool upper)
{
    for (uint32_t i = 0; i < w->n; i++) {
        int64_t size = 0, reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
        int64_t total = reach - 1;

        if (w->stride[i] != 1) {
            if (!dim_is_int(c->m, spatial[i], &size))
                return fail(HULL_EUNSUPPORTED,
                            "auto_pad with stride %" PRId64 " on an axis "
                            "whose size is not fixed", w->stride[i]);
            int64_t out = (size + w->stride[i] - 1) / w->stride[i];
            total = (out - 1) * w->stride[i] + reach - size;
        }
        total = total < 0 ? 0 : total;
        int64_t small = total / 2;
        w->pad[i] = upper ? small : total - small;
        w->pad[w->n + i] = total - w->pad[i];
    }
    return HULL_OK;
}

static hull_status read_pads(onnx_call *c, window *w, const dim *spatial)
{
    str how = onnx_str(c, "auto_pad", "NOTSET");

    if (str_is(how, "NOTSET"))
        return onnx_ints_or(c, "pads", w->pad, 2 * w->n, 0, 0);
    memset(w->pad, 0, sizeof w->pad);
    if (str_is(how, "VALID"))
        return HULL_OK;
    if (!str_is(how, "SAME_UPPER") && !str_is(how, "SAME_LOWER"))
        return fail(HULL_EFORMAT, "attribute 'auto_pad' is '%.*s', want "
                    "NOTSET, VALID, SAME_UPPER or SAME_LOWER", STR_ARG(how));
    return same_pads(c, w, spatial, str_is(how, "SAME_UPPER"));
}

/* Window of operand 0; the kernel's size from the weights when given. */
static hull_status read_window(onnx_call *c, window *w, const type *weight,
                               bool pads)
{
    const type *x = onnx_type(c, c->in[0]);

    memset(w, 0, sizeof *w);
    if (!x)
        return ir_status(c->m);
    if (x->rank < 3 || (weight && weight->rank != x->rank))
        return fail(HULL_ESHAPE,
                    "input 0 has rank %" PRIu32 ", want the weight's and at "
                    "least 3", x->rank);
    w->n = x->rank - 2;
    if (!weight && !onnx_has(c, "kernel_shape"))
        return fail(HULL_EFORMAT, "attribute 'kernel_shape' is missing");
    TRY(onnx_ints_or(c, "kernel_shape", w->kernel, w->n, 1, 1));
    for (uint32_t i = 0; weight && i < w->n; i++) {
        int64_t size = 0;

        if (!dim_is_int(c->m, weight->dims[2 + i], &size))
            return fail(HULL_EUNSUPPORTED, "the kernel's size is not fixed");
        if (onnx_has(c, "kernel_shape") && size != w->kernel[i])
            return fail(HULL_ESHAPE, "kernel_shape %" PRId64 " on axis "
                        "%" PRIu32 ", the weight has %" PRId64, w->kernel[i],
                        i, size);
        w->kernel[i] = size;
    }
    TRY(onnx_ints_or(c, "strides", w->stride, w->n, 1, 1));
    TRY(onnx_ints_or(c, "dilations", w->dilation, w->n, 1, 1));
    return pads ? read_pads(c, w, x->dims + 2) : HULL_OK;
}

static void set_window(onnx_call *c, node *n, const window *w)
{
    node_ints(c->g, n, "stride", w->stride, w->n);
    node_ints(c->g, n, "pad", w->pad, 2 * w->n);
    node_ints(c->g, n, "dilation", w->dilation, w->n);
}

/* ---- convolutions -------------------------------------------------------- */

static val add_conv(onnx_call *c, val x, val weight, val bias, const window *w)
{
    node *n = node_new(c->g, OP_conv);

    node_input(c->g, n, x);
    node_input(c->g, n, weight);
    if (bias)
        node_input(c->g, n, bias);
    set_window(c, n, w);
    node_int(c->g, n, "groups", onnx_int(c, "group", 1));
    return node_add(c->g, n);
}

hull_status onnx_conv(onnx_call *c)
{
    window w;
    const type *t = onnx_type(c, c->in[1]);

    if (!t)
        return ir_status(c->m);
    front_is_parameter(c->f, c->in[1]);
    if (onnx_in(c, 2))
        front_is_parameter(c->f, c->in[2]);
    TRY(read_window(c, &w, t, true));
    c->out[0] = add_conv(c, c->in[0], c->in[1], onnx_in(c, 2), &w);
    return HULL_OK;
}

/* Convolution of integers minus their zero points, in i32. */
hull_status onnx_conv_integer(onnx_call *c)
{
    window w;
    val v[2];
    const type *t = onnx_type(c, c->in[1]);

    if (!t)
        return ir_status(c->m);
    uint32_t rank = t->rank;
    front_is_parameter(c->f, c->in[1]);
    TRY(read_window(c, &w, t, true));
    for (uint32_t i = 0; i < 2; i++) {
        val zero = onnx_in(c, 2 + i);
        const type *z = onnx_type(c, zero);

        v[i] = op_cast(c->g, c->in[i], HULL_I32);
        if (!zero || !z)
            continue;
        front_is_parameter(c->f, zero);
        uint32_t zero_rank = z->rank;
        zero = op_cast(c->g, zero, HULL_I32);
        if (zero_rank == 1) { /* one per output channel */
            int64_t axes[HULL_MAX_RANK];
            for (uint32_t k = 1; k < rank; k++)
                axes[k - 1] = k;
            zero = lower_axes_to_reshape(c->f, zero, axes, rank - 1, true);
        }
        v[i] = op_binary(c->g, OP_sub, v[i], zero);
    }
    c->out[0] = add_conv(c, v[0], v[1], 0, &w);
    return HULL_OK;
}

/* Pads that make a transposed convolution give output_shape, or SAME. */
static hull_status transpose_pads(onnx_call *c, window *w, int64_t *out_pad)
{
    int64_t want[HULL_MAX_RANK];
    uint32_t n = 0;
    const type *x = onnx_type(c, c->in[0]);
    str how = onnx_str(c, "auto_pad", "NOTSET");
    bool same = str_starts(how, "SAME_");

    TRY(onnx_ints(c, "output_shape", want, HULL_MAX_RANK, &n));
    if (same && !str_is(how, "SAME_UPPER") && !str_is(how, "SAME_LOWER"))
        return fail(HULL_EFORMAT, "attribute 'auto_pad' is '%.*s'",
                    STR_ARG(how));
    if (n == 0 && !same)
        return read_pads(c, w, x->dims + 2);
    if (n != 0 && n != w->n)
        return fail(HULL_ESHAPE, "output_shape has %" PRIu32 " values, want "
                    "%" PRIu32, n, w->n);
    for (uint32_t i = 0; i < w->n; i++) {
        int64_t size = 0, reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
        /* SAME: the output is the input times the stride, so the input's
         * size cancels out of the total. */
        int64_t total = reach + out_pad[i] - w->stride[i];

        if (n) {
            if (!dim_is_int(c->m, x->dims[2 + i], &size))
                return fail(HULL_EUNSUPPORTED, "output_shape with an input "
                            "whose size is not fixed");
            total = w->stride[i] * (size - 1) + out_pad[i] + reach - want[i];
        }
        if (total < 0) { /* more outputs than the window reaches */
            out_pad[i] -= total;
            total = 0;
        }
        int64_t small = total / 2;
        bool upper = str_is(how, "SAME_UPPER");
        w->pad[i] = upper ? small : total - small;
        w->pad[w->n + i] = total - w->pad[i];
    }
    return HULL_OK;
}

hull_status onnx_conv_transpose(onnx_call *c)
{
    window w;
    int64_t out_pad[2 * HULL_MAX_RANK];
    const type *t = onnx_type(c, c->in[1]);

    if (!t)
        return ir_status(c->m);
    front_is_parameter(c->f, c->in[1]);
    if (onnx_in(c, 2))
        front_is_parameter(c->f, c->in[2]);
    TRY(read_window(c, &w, t, false));
    TRY(onnx_ints_or(c, "output_padding", out_pad, w.n, 0, 0));
    TRY(transpose_pads(c, &w, out_pad));
    node *n = node_new(c->g, OP_conv_transpose);
    for (uint32_t i = 0; i < 2 + (onnx_in(c, 2) != 0); i++)
        node_input(c->g, n, c->in[i]);
    set_window(c, n, &w);
    node_ints(c->g, n, "out_pad", out_pad, w.n);
    node_int(c->g, n, "groups", onnx_int(c, "group", 1));
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}

/* ---- pools --------------------------------------------------------------- */

static val add_max_pool(onnx_call *c, op_code op, const window *w)
{
    node *n = node_new(c->g, op);

    node_input(c->g, n, c->in[0]);
    node_ints(c->g, n, "kernel", w->kernel, w->n);
    set_window(c, n, w);
    node_bool(c->g, n, "ceil", onnx_int(c, "ceil_mode", 0) != 0);
    return node_add(c->g, n);
}

static val div_floor(onnx_call *c, val a, val b)
{
    node *n = node_new(c->g, OP_div);

    node_input(c->g, n, a);
    node_input(c->g, n, b);
    node_str(c->g, n, "round", str_of("floor"));
    return node_add(c->g, n);
}

/* Indices that count each plane of two axes column by column. */
static hull_status by_columns(onnx_call *c, val *at)
{
    const type *x = onnx_type(c, c->in[0]);

    if (!x || x->rank != 4)
        return fail(HULL_EUNSUPPORTED, "storage_order 1 of rank %" PRIu32
                    ", want 4", x ? x->rank : 0);
    dim d[3] = {x->dims[2], x->dims[3],
                dim_mul(c->m, x->dims[2], x->dims[3])};
    val v[3];
    for (int i = 0; i < 3; i++)
        v[i] = op_reshape(c->g, op_dims(c->g, &d[i], 1), NULL, 0);
    val in = op_binary(c->g, OP_mod, *at, v[2]);
    val plane = op_binary(c->g, OP_sub, *at, in);
    val column = op_binary(c->g, OP_mul, op_binary(c->g, OP_mod, in, v[1]),
                           v[0]);
    *at = op_binary(c->g, OP_add, plane,
                    op_binary(c->g, OP_add, column, div_floor(c, in, v[1])));
    return HULL_OK;
}

hull_status onnx_max_pool(onnx_call *c)
{
    window w;

    TRY(read_window(c, &w, NULL, true));
    c->out[0] = add_max_pool(c, OP_max_pool, &w);
    if (!onnx_wants(c, 1))
        return HULL_OK;
    c->out[1] = add_max_pool(c, OP_max_pool_index, &w);
    return onnx_int(c, "storage_order", 0) != 0 ? by_columns(c, &c->out[1])
                                                : HULL_OK;
}

/* The result padded at its ends to output_shape, which indices do not count
 * in. */
static hull_status enlarge(onnx_call *c, const dim *have, uint32_t rank)
{
    dim want[HULL_MAX_RANK], pads[2 * HULL_MAX_RANK] = {0};
    uint32_t n = 0;
    int64_t v = 0;

    TRY(onnx_dims_at(c, 2, want, HULL_MAX_RANK, &n));
    if (n != rank)
        return fail(HULL_ESHAPE, "output_shape has %" PRIu32 " sizes, want %"
                    PRIu32, n, rank);
    for (uint32_t i = 0; i < rank; i++) {
        pads[rank + i] = dim_sub(c->m, want[i], have[i]);
        if (dim_is_int(c->m, pads[rank + i], &v) && v < 0)
            return fail(HULL_ESHAPE, "output_shape is smaller than what the "
                        "window gives on axis %" PRIu32, i);
    }
    node *p = node_new(c->g, OP_pad);
    node_input(c->g, p, c->out[0]);
    node_dims(c->g, p, "pads", pads, 2 * rank);
    c->out[0] = node_add(c->g, p);
    return HULL_OK;
}

/* Values at their indices, zeros elsewhere. */
hull_status onnx_max_unpool(onnx_call *c)
{
    window w;
    const type *x = onnx_type(c, c->in[0]);
    dim out[HULL_MAX_RANK], flat[1], whole[1];

    TRY(read_window(c, &w, NULL, true));
    type t = *x;
    for (uint32_t i = 0; i < t.rank; i++) {
        out[i] = t.dims[i];
        if (i < 2)
            continue;
        int64_t more = w.kernel[i - 2] - w.stride[i - 2] - w.pad[i - 2] -
                       w.pad[w.n + i - 2];
        out[i] = dim_add(c->m, dim_mul(c->m, out[i], w.stride[i - 2]),
                         dim_int(c->m, more));
    }
    flat[0] = dim_product(c->m, t.dims, t.rank);
    whole[0] = dim_product(c->m, out, t.rank);
    val zero = op_expand(c->g, onnx_scalar_like(c, c->in[0], 0.0), whole, 1);
    node *n = node_new(c->g, OP_scatter_elements);
    node_input(c->g, n, zero);
    node_input(c->g, n, op_reshape(c->g, c->in[1], flat, 1));
    node_input(c->g, n, op_reshape(c->g, c->in[0], flat, 1));
    c->out[0] = op_reshape(c->g, node_add(c->g, n), out, t.rank);
    return onnx_in(c, 2) ? enlarge(c, out, t.rank) : HULL_OK;
}

static val add_avg_pool(onnx_call *c, val x, const window *w, bool count_pad)
{
    node *n = node_new(c->g, OP_avg_pool);

    node_input(c->g, n, x);
    node_ints(c->g, n, "kernel", w->kernel, w->n);
    set_window(c, n, w);
    node_bool(c->g, n, "ceil", onnx_int(c, "ceil_mode", 0) != 0);
    node_bool(c->g, n, "count_pad", count_pad);
    return node_add(c->g, n);
}

hull_status onnx_avg_pool(onnx_call *c)
{
    window w;

    TRY(read_window(c, &w, NULL, true));
    c->out[0] = add_avg_pool(c, c->in[0], &w,
                             onnx_int(c, "count_include_pad", 0) != 0);
    return HULL_OK;
}

/* With sizes rounded up: zeros at the ends as if they were pads, and windows
 * that start beyond the input and its first pad cut off. */
static val pad_to_ceil(onnx_call *c, val x, window *w, dim *sizes)
{
    const type *t = onnx_type(c, x);
    dim pads[2 * HULL_MAX_RANK] = {0};

    if (!t)
        return 0;
    for (uint32_t i = 0; i < w->n; i++) {
        int64_t end = w->pad[w->n + i] + w->stride[i] - 1;
        int64_t reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
        dim started = dim_add(c->m, t->dims[2 + i], w->pad[i]);
        dim full = dim_add(c->m, started, dim_int(c->m, end - reach));

        pads[2 + i] = w->pad[i];
        pads[t->rank + 2 + i] = end;
        w->pad[i] = w->pad[w->n + i] = 0;
        full = dim_add(c->m, dim_div(c->m, full, w->stride[i]), 1);
        sizes[i] = dim_min(c->m, full,
                           dim_ceil_div(c->m, started, w->stride[i]));
    }
    node *n = node_new(c->g, OP_pad);
    node_input(c->g, n, x);
    node_dims(c->g, n, "pads", pads, 2 * t->rank);
    return node_add(c->g, n);
}

/* Sums of windows: the mean times the window's size. */
static val sum_pool(onnx_call *c, val x, window *w)
{
    dim sizes[HULL_MAX_RANK];
    double count = 1;
    bool ceil_mode = onnx_int(c, "ceil_mode", 0) != 0;

    for (uint32_t i = 0; i < w->n; i++)
        count *= (double)w->kernel[i];
    if (ceil_mode)
        x = pad_to_ceil(c, x, w, sizes);
    node *n = node_new(c->g, OP_avg_pool);
    node_input(c->g, n, x);
    node_ints(c->g, n, "kernel", w->kernel, w->n);
    set_window(c, n, w);
    node_bool(c->g, n, "count_pad", true);
    x = node_add(c->g, n);
    for (uint32_t i = 0; ceil_mode && i < w->n; i++)
        x = op_slice(c->g, x, 2 + i, 0, sizes[i], 1);
    return op_binary(c->g, OP_mul, x, onnx_scalar_like(c, x, count));
}

/* p was a float in the first opset. */
static hull_status read_p(onnx_call *c, double *out)
{
    *out = c->version < 2 ? onnx_float(c, "p", 2.0)
                          : (double)onnx_int(c, "p", 2);
    if (!(*out > 0))
        return fail(HULL_EFORMAT, "attribute 'p' is %g, want more than 0",
                    *out);
    return ir_status(c->m);
}

/* |x|^p, and its inverse. */
static val to_power(onnx_call *c, val x, double p)
{
    return op_binary(c->g, OP_pow, x, onnx_scalar_like(c, x, p));
}

/* (sum |x|^p)^(1/p) */
hull_status onnx_lp_pool(onnx_call *c)
{
    window w;
    double p = 0;

    TRY(read_window(c, &w, NULL, true));
    TRY(read_p(c, &p));
    val x = to_power(c, op_unary(c->g, OP_abs, c->in[0]), p);
    c->out[0] = to_power(c, sum_pool(c, x, &w), 1.0 / p);
    return HULL_OK;
}

hull_status onnx_global_lp_pool(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    int64_t axes[HULL_MAX_RANK];
    uint32_t n = 0;
    double p = 0;

    TRY(read_p(c, &p));
    if (!t || t->rank < 2)
        return fail(HULL_ESHAPE, "rank is %" PRIu32 ", want 2 or more",
                    t ? t->rank : 0);
    for (; n + 2 < t->rank; n++)
        axes[n] = n + 2;
    val x = to_power(c, op_unary(c->g, OP_abs, c->in[0]), p);
    if (n)
        x = onnx_reduce(c, OP_reduce_sum, x, axes, n, true);
    c->out[0] = to_power(c, x, 1.0 / p);
    return HULL_OK;
}

hull_status onnx_global_pool(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    int64_t axes[HULL_MAX_RANK];

    if (!t)
        return ir_status(c->m);
    if (t->rank < 2)
        return fail(HULL_ESHAPE, "rank is %" PRIu32 ", want 2 or more",
                    t->rank);
    uint32_t n = t->rank - 2;
    for (uint32_t i = 0; i < n; i++)
        axes[i] = i + 2;
    c->out[0] = n ? onnx_reduce(c, (op_code)c->row->arg, c->in[0], axes, n,
                                true)
                  : c->in[0];
    return HULL_OK;
}
