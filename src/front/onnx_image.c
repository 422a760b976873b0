/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_image.c - lowerings of operators on images: ImageDecoder, regions
 * (RoiAlign, MaxRoiPool), Col2Im, AffineGrid, CenterCropPad. Sizes that are
 * operands are read as dims, so they may come from the sizes of other inputs.
 */
#include "front/onnx_lower.h"

#include <inttypes.h>
#include <string.h>

static hull_status dims_of(onnx_call *c, val x, dim *out, uint32_t *out_rank)
{
    const type *t = onnx_type(c, x);

    *out_rank = 0;
    if (!t)
        return fail(HULL_EFORMAT, "an input is missing");
    if (t->rank)
        memcpy(out, t->dims, t->rank * sizeof *out);
    *out_rank = t->rank;
    return HULL_OK;
}

static val scalar_of(onnx_call *c, dim d)
{
    return op_reshape(c->g, op_dims(c->g, &d, 1), NULL, 0);
}

static val iota(onnx_call *c, const dim *shape, uint32_t rank, uint32_t axis)
{
    node *n = node_new(c->g, OP_iota);

    node_dims(c->g, n, "shape", shape, rank);
    node_int(c->g, n, "axis", axis);
    return node_add(c->g, n);
}

/* ---- files --------------------------------------------------------------- */

hull_status onnx_image_decoder(onnx_call *c)
{
    static const char *const orders[][2] = {
        {"RGB", "rgb"}, {"BGR", "bgr"}, {"Grayscale", "gray"}};
    str order = onnx_str(c, "pixel_format", "RGB");
    node *n = node_new(c->g, OP_decode_image);

    node_input(c->g, n, c->in[0]);
    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        if (!str_is(order, orders[i][0]))
            continue;
        node_str(c->g, n, "order", str_of(orders[i][1]));
        c->out[0] = node_add(c->g, n);
        return HULL_OK;
    }
    return fail(HULL_EFORMAT, "attribute 'pixel_format' is '%.*s', want RGB, "
                "BGR or Grayscale", STR_ARG(order));
}

/* ---- regions ------------------------------------------------------------- */

/* Before opset 16 there was no shift by half a pixel. */
hull_status onnx_roi_align(onnx_call *c)
{
    int64_t out[2] = {onnx_int(c, "output_height", 1),
                      onnx_int(c, "output_width", 1)};
    str mode = onnx_str(c, "mode", "avg");
    str coord = onnx_str(c, "coordinate_transformation_mode",
                         c->version < 16 ? "output_half_pixel" : "half_pixel");

    if (!str_is(mode, "avg") && !str_is(mode, "max"))
        return fail(HULL_EFORMAT, "attribute 'mode' is '%.*s', want avg or max",
                    STR_ARG(mode));
    if (!str_is(coord, "half_pixel") && !str_is(coord, "output_half_pixel"))
        return fail(HULL_EFORMAT, "attribute 'coordinate_transformation_mode' "
                    "is '%.*s'", STR_ARG(coord));
    node *n = node_new(c->g, OP_roi_align);
    for (uint32_t i = 0; i < 3; i++)
        node_input(c->g, n, c->in[i]);
    node_ints(c->g, n, "out", out, 2);
    node_float(c->g, n, "scale", onnx_float(c, "spatial_scale", 1.0));
    node_int(c->g, n, "samples", onnx_int(c, "sampling_ratio", 0));
    node_bool(c->g, n, "max", str_is(mode, "max"));
    node_bool(c->g, n, "half_pixel", str_is(coord, "half_pixel"));
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}

hull_status onnx_max_roi_pool(onnx_call *c)
{
    int64_t out[2];
    uint32_t k = 0;

    TRY(onnx_ints(c, "pooled_shape", out, 2, &k));
    if (k != 2)
        return fail(HULL_EFORMAT, "attribute 'pooled_shape' has %" PRIu32
                    " values, want 2", k);
    node *n = node_new(c->g, OP_roi_pool);
    node_input(c->g, n, c->in[0]);
    node_input(c->g, n, c->in[1]);
    node_ints(c->g, n, "out", out, 2);
    node_float(c->g, n, "scale", onnx_float(c, "spatial_scale", 1.0));
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}

/* ---- Col2Im -------------------------------------------------------------- */

/* Blocks of an image of n axes, and how they lie in it. */
typedef struct blocks {
    uint32_t n;
    dim image[HULL_MAX_RANK], block[HULL_MAX_RANK];
    dim count[HULL_MAX_RANK];  /* of blocks */
    dim padded[HULL_MAX_RANK]; /* sizes of the image with its pads */
    int64_t dilation[HULL_MAX_RANK], stride[HULL_MAX_RANK];
    int64_t pad[2 * HULL_MAX_RANK];
} blocks;

static hull_status read_blocks(onnx_call *c, blocks *b)
{
    uint32_t n = 0;

    TRY(onnx_dims_at(c, 1, b->image, HULL_MAX_RANK - 2, &b->n));
    TRY(onnx_dims_at(c, 2, b->block, HULL_MAX_RANK - 2, &n));
    if (n != b->n || n == 0)
        return fail(HULL_ESHAPE, "image_shape has %" PRIu32 " sizes, "
                    "block_shape has %" PRIu32, b->n, n);
    TRY(onnx_ints_or(c, "dilations", b->dilation, n, 1, 1));
    TRY(onnx_ints_or(c, "strides", b->stride, n, 1, 1));
    TRY(onnx_ints_or(c, "pads", b->pad, 2 * n, 0, 0));
    for (uint32_t i = 0; i < n; i++) {
        /* padded - dilation (block - 1) - 1 places for a block's start */
        dim reach = dim_mul(c->m, dim_sub(c->m, b->block[i], 1),
                            b->dilation[i]);
        dim slack;
        int64_t low = 0, high = 0;

        b->padded[i] = dim_add(c->m, b->image[i], b->pad[i] + b->pad[n + i]);
        slack = dim_sub(c->m, dim_sub(c->m, b->padded[i], reach), 1);
        if (dim_is_int(c->m, b->block[i], &low) && low < 1)
            return fail(HULL_ESHAPE, "block size %" PRId64, low);
        if (dim_is_int(c->m, slack, &high) && high < 0)
            return fail(HULL_ESHAPE, "a block does not fit into axis %" PRIu32
                        " of the image", i);
        b->count[i] = dim_add(c->m, dim_div(c->m, slack, b->stride[i]), 1);
    }
    return HULL_OK;
}

/* Where each element of a column goes: [block .., count ..] flat places in the
 * padded image. */
static val places(onnx_call *c, const blocks *b)
{
    dim shape[2 * HULL_MAX_RANK], one[2 * HULL_MAX_RANK], below = 1;
    uint32_t rank = 2 * b->n;
    val sum = 0;

    for (uint32_t i = 0; i < b->n; i++) {
        shape[i] = b->block[i];
        shape[b->n + i] = b->count[i];
    }
    for (uint32_t i = b->n; i-- > 0;) {
        for (uint32_t part = 0; part < 2; part++) {
            uint32_t axis = i + part * b->n;
            int64_t step = part ? b->stride[i] : b->dilation[i];
            dim by = dim_mul(c->m, below, step);

            for (uint32_t k = 0; k < rank; k++)
                one[k] = k == axis ? shape[k] : 1;
            val at = op_binary(c->g, OP_mul, iota(c, one, rank, axis),
                               scalar_of(c, by));
            sum = sum ? op_binary(c->g, OP_add, sum, at) : at;
        }
        below = dim_mul(c->m, below, b->padded[i]);
    }
    return sum;
}

/* Every element is added to its place in an image with pads, which then lose
 * the pads. */
hull_status onnx_col2im(onnx_call *c)
{
    dim x[HULL_MAX_RANK], out[HULL_MAX_RANK];
    uint32_t rank = 0;
    blocks b = {.n = 0};

    TRY(dims_of(c, c->in[0], x, &rank));
    TRY(read_blocks(c, &b));
    if (rank != 3 || 2 * b.n > HULL_MAX_RANK)
        return fail(HULL_ESHAPE, "input of rank %" PRIu32 " and %" PRIu32
                    " image axes, want rank 3", rank, b.n);
    dim size = dim_product(c->m, b.block, b.n);
    dim channels = dim_div(c->m, x[1], size);
    dim flat[2] = {dim_mul(c->m, x[0], channels),
                   dim_mul(c->m, size, dim_product(c->m, b.count, b.n))};
    dim whole[2] = {flat[0], dim_product(c->m, b.padded, b.n)};
    dim row[2] = {1, flat[1]};
    val at = op_reshape(c->g, places(c, &b), row, 2);
    node *n = node_new(c->g, OP_scatter_elements);
    node_input(c->g, n, op_expand(c->g, onnx_scalar_like(c, c->in[0], 0.0),
                                  whole, 2));
    node_input(c->g, n, op_expand(c->g, at, flat, 2));
    node_input(c->g, n, op_reshape(c->g, c->in[0], flat, 2));
    node_int(c->g, n, "axis", 1);
    node_str(c->g, n, "reduce", str_of("add"));
    out[0] = x[0];
    out[1] = channels;
    memcpy(out + 2, b.padded, b.n * sizeof *out);
    val y = op_reshape(c->g, node_add(c->g, n), out, b.n + 2);
    for (uint32_t i = 0; i < b.n; i++)
        if (b.pad[i] || b.pad[b.n + i])
            y = op_slice(c->g, y, 2 + i, b.pad[i],
                         dim_add(c->m, b.image[i], b.pad[i]), 1);
    c->out[0] = y;
    return HULL_OK;
}

/* ---- AffineGrid ---------------------------------------------------------- */

/* Coordinates of `size` places from -1 to 1, along `axis` of [.., 1]. */
static val coordinates(onnx_call *c, const dim *shape, uint32_t rank,
                       uint32_t axis, bool align, hull_dtype dt)
{
    val at = op_cast(c->g, iota(c, shape, rank, axis), dt);
    val size = op_cast(c->g, scalar_of(c, shape[axis]), dt);
    val one = op_scalar(c->g, dt, 1.0), two = op_scalar(c->g, dt, 2.0);

    /* (2 i - (n - 1)) / n, or / (n - 1), which a single place has no use of */
    val last = op_binary(c->g, OP_sub, size, one);
    at = op_binary(c->g, OP_sub, op_binary(c->g, OP_mul, at, two), last);
    if (align)
        size = op_binary(c->g, OP_max, last, one);
    return op_binary(c->g, OP_div, at, size);
}

/* theta [n, k, k + 1] times (x, y, .., 1) at each place of the grid. */
hull_status onnx_affine_grid(onnx_call *c)
{
    bool align = onnx_int(c, "align_corners", 0) != 0;
    const type *t = onnx_type(c, c->in[0]);
    dim size[HULL_MAX_RANK], grid[HULL_MAX_RANK], one[HULL_MAX_RANK];
    val parts[4] = {0};
    uint32_t n = 0;

    TRY(onnx_dims_at(c, 1, size, HULL_MAX_RANK, &n));
    if (!t || t->rank != 3 || (n != 4 && n != 5))
        return fail(HULL_ESHAPE, "theta of rank %" PRIu32 " and %" PRIu32
                    " sizes, want rank 3 and 4 or 5 sizes", t ? t->rank : 0, n);
    hull_dtype dt = t->dtype;
    dim batch = t->dims[0];
    uint32_t k = n - 2;
    for (uint32_t i = 0; i < k; i++)
        grid[i] = size[2 + i];
    grid[k] = 1;
    for (uint32_t i = 0; i < k; i++) { /* the last axis is x */
        uint32_t axis = k - 1 - i;

        for (uint32_t a = 0; a <= k; a++)
            one[a] = a == axis ? grid[a] : 1;
        parts[i] = op_expand(c->g, coordinates(c, one, k + 1, axis, align, dt),
                             grid, k + 1);
    }
    parts[k] = op_expand(c->g, op_scalar(c->g, dt, 1.0), grid, k + 1);
    dim flat[2] = {dim_product(c->m, grid, k), k + 1};
    val base = op_reshape(c->g, op_concat(c->g, parts, k + 1, k), flat, 2);
    node *m = node_new(c->g, OP_matmul);
    node_input(c->g, m, base);
    node_input(c->g, m, c->in[0]);
    node_bool(c->g, m, "trans_b", true);
    dim out[6] = {batch};
    memcpy(out + 1, grid, k * sizeof *out);
    out[k + 1] = k;
    c->out[0] = op_reshape(c->g, node_add(c->g, m), out, k + 2);
    return HULL_OK;
}

/* ---- CenterCropPad ------------------------------------------------------- */

/* Axis `axis` cut to the wanted size, or padded with zeros to it; the first
 * half rounded down. */
static val fit_axis(onnx_call *c, val x, uint32_t axis, uint32_t rank,
                    dim have, dim want)
{
    dim pads[2 * HULL_MAX_RANK] = {0};
    int64_t a = 0, b = 0;
    bool known = dim_is_int(c->m, have, &a) && dim_is_int(c->m, want, &b);
    /* How much is too much, and how much too little; one of them is 0. */
    dim over = dim_max(c->m, dim_sub(c->m, have, want), 0);
    dim under = dim_max(c->m, dim_sub(c->m, want, have), 0);

    if (dim_eq(c->m, have, want))
        return x;
    if (!known || a > b) {
        dim first = dim_div(c->m, over, 2);

        x = op_slice(c->g, x, axis, first,
                     dim_add(c->m, first, dim_min(c->m, have, want)), 1);
    }
    if (known && a > b)
        return x;
    pads[axis] = dim_div(c->m, under, 2);
    pads[rank + axis] = dim_sub(c->m, under, pads[axis]);
    node *n = node_new(c->g, OP_pad);
    node_input(c->g, n, x);
    node_dims(c->g, n, "pads", pads, 2 * rank);
    return node_add(c->g, n);
}

hull_status onnx_center_crop_pad(onnx_call *c)
{
    dim x[HULL_MAX_RANK], want[HULL_MAX_RANK];
    int64_t axes[HULL_MAX_RANK], v = 0;
    uint32_t rank = 0, n = 0, n_axes = 0;
    val y = c->in[0];

    TRY(dims_of(c, y, x, &rank));
    TRY(onnx_dims_at(c, 1, want, HULL_MAX_RANK, &n));
    TRY(onnx_ints(c, "axes", axes, HULL_MAX_RANK, &n_axes));
    if (!onnx_has(c, "axes"))
        for (; n_axes < rank; n_axes++)
            axes[n_axes] = n_axes;
    if (n != n_axes)
        return fail(HULL_ESHAPE, "%" PRIu32 " sizes for %" PRIu32 " axes", n,
                    n_axes);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t axis = 0;

        TRY(onnx_axis(c, axes[i], rank, &axis));
        if (dim_is_int(c->m, want[i], &v) && v < 0)
            return fail(HULL_ESHAPE, "size %" PRIu32 " is %" PRId64, i, v);
        y = fit_axis(c, y, axis, rank, x[axis], want[i]);
        x[axis] = want[i];
    }
    c->out[0] = y;
    return HULL_OK;
}
