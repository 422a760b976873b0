/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_deform.c - lowering of DeformConv over two spatial axes: the places that
 * the taps read are a grid; what is read there is one matrix product away from
 * the result.
 */
#include "front/onnx_lower.h"

#include <inttypes.h>

typedef struct deform {
    int64_t stride[2], pad[4], dilation[2], kernel[2];
    int64_t groups, offset_groups;
    dim n, channels, size[2], out[2]; /* of x and of the result */
    int64_t filters;
} deform;

static hull_status numbers(onnx_call *c, const char *name, int64_t *out,
                           uint32_t want, int64_t fill)
{
    uint32_t n = 0;

    TRY(onnx_ints(c, name, out, want, &n));
    if (n != 0 && n != want)
        return fail(HULL_ESHAPE, "attribute '%s' has %" PRIu32
                    " values, want %" PRIu32, name, n, want);
    for (; n < want; n++)
        out[n] = fill;
    for (uint32_t i = 0; i < want; i++)
        if (out[i] < fill || out[i] > INT32_MAX)
            return fail(HULL_EFORMAT, "attribute '%s' holds %" PRId64, name,
                        out[i]);
    return HULL_OK;
}

static hull_status read_deform(onnx_call *c, deform *d)
{
    const type *x = onnx_type(c, c->in[0]), *w = onnx_type(c, c->in[1]);
    const type *offset = onnx_type(c, c->in[2]);

    if (!x || !w || !offset)
        return ir_status(c->m);
    if (x->rank != 4 || w->rank != 4 || offset->rank != 4)
        return fail(HULL_EUNSUPPORTED, "rank %" PRIu32 ", want 4", x->rank);
    d->groups = onnx_int(c, "group", 1);
    d->offset_groups = onnx_int(c, "offset_group", 1);
    if (d->groups < 1 || d->offset_groups < 1 ||
        !dim_is_int(c->m, w->dims[0], &d->filters) ||
        d->filters % d->groups != 0)
        return fail(HULL_EFORMAT, "group %" PRId64 ", offset_group %" PRId64
                    ", %" PRId64 " filters", d->groups, d->offset_groups,
                    d->filters);
    d->n = x->dims[0];
    d->channels = x->dims[1];
    for (uint32_t i = 0; i < 2; i++) {
        d->size[i] = x->dims[2 + i];
        d->out[i] = offset->dims[2 + i];
        if (!dim_is_int(c->m, w->dims[2 + i], &d->kernel[i]) ||
            d->kernel[i] < 1 || d->kernel[i] > 1 << 16)
            return fail(HULL_EUNSUPPORTED, "the kernel's size is not fixed");
    }
    TRY(numbers(c, "strides", d->stride, 2, 1));
    TRY(numbers(c, "dilations", d->dilation, 2, 1));
    return numbers(c, "pads", d->pad, 4, 0);
}

static val count(onnx_call *c, const dim *shape, uint32_t axis)
{
    node *i = node_new(c->g, OP_iota);

    node_dims(c->g, i, "shape", shape, 5);
    node_int(c->g, i, "axis", axis);
    node_dtype(c->g, i, "dtype", HULL_F64);
    return node_add(c->g, i);
}

static val times_plus(onnx_call *c, val x, double by, double plus)
{
    x = op_binary(c->g, OP_mul, x, onnx_scalar_like(c, x, by));
    return op_binary(c->g, OP_add, x, onnx_scalar_like(c, x, plus));
}

/* Where the taps read on spatial axis i, in [-1, 1]: [n*og,ky,kx,oh,ow,1].
 * offset is [n*og,ky*kx,2,oh*ow]. */
static val places(onnx_call *c, const deform *d, val offset, uint32_t i)
{
    int64_t last[1] = {5};
    dim taps[5] = {1, 1, 1, 1, 1}, outs[5] = {1, 1, 1, 1, 1};
    dim full[5] = {dim_mul(c->m, d->n, d->offset_groups), d->kernel[0],
                   d->kernel[1], d->out[0], d->out[1]};

    taps[1 + i] = d->kernel[i];
    outs[3 + i] = d->out[i];
    val at = op_reshape(c->g, op_slice(c->g, offset, 2, i, i + 1, 1), full, 5);
    at = op_binary(c->g, OP_add, at,
                   times_plus(c, count(c, taps, 1 + i),
                              (double)d->dilation[i], 0));
    at = op_binary(c->g, OP_add, at,
                   times_plus(c, count(c, outs, 3 + i), (double)d->stride[i],
                              -(double)d->pad[i]));
    val size = op_reshape(c->g, op_dims(c->g, &d->size[i], 1), NULL, 0);
    size = op_cast(c->g, size, HULL_F64);
    at = op_binary(c->g, OP_div, times_plus(c, at, 2, 1), size);
    return lower_axes_to_reshape(c->f, times_plus(c, at, 1, -1), last, 1,
                                 true);
}

/* What the taps read: [n,c,ky*kx*oh*ow]. */
static val read_taps(onnx_call *c, const deform *d, hull_dtype dt)
{
    int64_t taps = d->kernel[0] * d->kernel[1];
    dim n = dim_mul(c->m, d->n, d->offset_groups);
    dim area = dim_mul(c->m, d->out[0], d->out[1]);
    dim offs[4] = {n, taps, 2, area};
    dim grid[4] = {n, taps, area, 2};
    dim xs[4] = {n, dim_div(c->m, d->channels, d->offset_groups), d->size[0],
                 d->size[1]};
    dim mask[4] = {n, 1, taps, area};
    val offset = op_reshape(c->g, op_cast(c->g, c->in[2], HULL_F64), offs, 4);
    val yx[2] = {places(c, d, offset, 1), places(c, d, offset, 0)};
    node *s = node_new(c->g, OP_grid_sample);

    node_input(c->g, s, op_reshape(c->g, c->in[0], xs, 4));
    node_input(c->g, s,
               op_reshape(c->g, op_concat(c->g, yx, 2, 5), grid, 4));
    val y = node_add(c->g, s);
    if (onnx_in(c, 4))
        y = op_binary(c->g, OP_mul, y,
                      op_reshape(c->g, op_cast(c->g, c->in[4], dt), mask, 4));
    return y;
}

hull_status onnx_deform_conv(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    int64_t axes[2] = {1, 2};
    deform d;

    if (!t)
        return ir_status(c->m);
    hull_dtype dt = t->dtype;
    TRY(read_deform(c, &d));
    dim deep = dim_mul(c->m, dim_div(c->m, d.channels, d.groups),
                       d.kernel[0] * d.kernel[1]);
    dim cols[4] = {d.n, d.groups, deep, dim_mul(c->m, d.out[0], d.out[1])};
    dim rows[3] = {d.groups, d.filters / d.groups, deep};
    dim out[4] = {d.n, d.filters, d.out[0], d.out[1]};
    front_is_parameter(c->f, c->in[1]);
    val x = op_reshape(c->g, read_taps(c, &d, dt), cols, 4);
    val y = op_binary(c->g, OP_matmul,
                      op_reshape(c->g, c->in[1], rows, 3), x);
    y = op_reshape(c->g, y, out, 4);
    if (onnx_in(c, 3)) {
        front_is_parameter(c->f, c->in[3]);
        y = op_binary(c->g, OP_add, y,
                      lower_axes_to_reshape(c->f, c->in[3], axes, 2, true));
    }
    c->out[0] = y;
    return HULL_OK;
}
