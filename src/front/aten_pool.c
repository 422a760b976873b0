/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * aten_pool.c - lowerings of pooling. What the ops do not say (a divisor, means
 * of integers, cells of different sizes) is written with look-ups of windows
 * and a reduction. Windows of a maximum's index count within one plane.
 */
#include "front/aten.h"

#include <string.h>

#define SPATIAL_MAX 3

/* ---- pooling ------------------------------------------------------------- */

/* Pooling takes [n, c, *]; [c, *] gets a batch of one around it. */
static val with_batch(aten_call *c, val x, uint32_t n, bool *added)
{
    *added = call_rank(c, x) == n + 1;
    if (call_rank(c, x) != n + 1 && call_rank(c, x) != n + 2)
        call_fail(c, HULL_EFORMAT, "operand of unfit rank");
    return *added && c->st == HULL_OK ? aten_insert_axis(c, x, 0) : x;
}

static node *pool_node(aten_call *c, op_code op, val x, uint32_t n,
                       bool has_dilation, bool ceil_mode)
{
    int64_t kernel[SPATIAL_MAX], stride[SPATIAL_MAX], dilation[SPATIAL_MAX];
    int64_t pad[2 * SPATIAL_MAX];

    arg_spatial(c, 1, n, 1, kernel);
    if (c->args[2].kind == ATEN_INTS && c->args[2].n == 0)
        memcpy(stride, kernel, n * sizeof *stride);
    else if (arg_none(c, 2))
        memcpy(stride, kernel, n * sizeof *stride);
    else
        arg_spatial(c, 2, n, 1, stride);
    arg_spatial(c, 3, n, 0, pad);
    memcpy(pad + n, pad, n * sizeof *pad);
    for (uint32_t i = 0; i < n; i++)
        dilation[i] = 1;
    if (has_dilation)
        arg_spatial(c, 4, n, 1, dilation);
    node *d = node_new(c->g, op);
    node_input(c->g, d, x);
    node_ints(c->g, d, "kernel", kernel, n);
    node_ints(c->g, d, "stride", stride, n);
    node_ints(c->g, d, "pad", pad, 2 * n);
    node_ints(c->g, d, "dilation", dilation, n);
    node_bool(c->g, d, "ceil", ceil_mode);
    return d;
}

/* Places in the whole operand as places in their plane of `n` axes. */
static val in_plane(aten_call *c, val at, val x, uint32_t n)
{
    uint32_t rank = call_rank(c, x);
    dim plane = dim_product(c->m, call_dims(c, x) + rank - n, n);

    return aten_mod_to(c, at, aten_dim_value(c, plane, HULL_I64));
}

/* max_pool*d (param: axes), with a second result where param is negative. */
void aten_max_pool(aten_call *c)
{
    bool indices = c->row->param < 0, added;
    uint32_t n = (uint32_t)(indices ? -c->row->param : c->row->param);
    val x = with_batch(c, arg_tensor(c, 0), n, &added);
    node *d = pool_node(c, OP_max_pool, x, n, true, arg_bool(c, 5));

    if (c->st != HULL_OK)
        return;
    val y = node_add(c->g, d);
    ret(c, added ? aten_drop_axis(c, y, 0) : y);
    if (!indices || !y)
        return;
    d = pool_node(c, OP_max_pool_index, x, n, true, arg_bool(c, 5));
    val at = in_plane(c, node_add(c->g, d), x, n);
    ret(c, added ? aten_drop_axis(c, at, 0) : at);
}

/* ---- sums of windows ----------------------------------------------------- */

/* Size after pooling as PyTorch counts it: a window that is cut off starts
 * inside the input or its left padding. */
static dim pooled(aten_call *c, dim in, int64_t kernel, int64_t stride,
                  int64_t pad, bool ceil_mode)
{
    dim room = dim_add(c->m, in, dim_int(c->m, 2 * pad - kernel));
    dim n = dim_add(c->m, dim_div(c->m, room, stride), 1);

    if (!ceil_mode)
        return n;
    return dim_min(c->m, dim_add(c->m, dim_ceil_div(c->m, room, stride), 1),
                   dim_ceil_div(c->m, dim_add(c->m, in, pad), stride));
}

typedef struct box {
    uint32_t n;
    int64_t kernel[SPATIAL_MAX], stride[SPATIAL_MAX], pad[SPATIAL_MAX];
    bool ceil_mode;
} box;

/* The sum over every window of [n, c, *]; zeros stand outside. */
static val window_sum(aten_call *c, val x, const box *b)
{
    dim pads[2 * HULL_MAX_RANK] = {0}, size[SPATIAL_MAX];
    uint32_t rank = call_rank(c, x), first = rank - b->n;

    for (uint32_t i = 0; i < b->n; i++) {
        dim in = call_dims(c, x)[first + i];
        size[i] = pooled(c, in, b->kernel[i], b->stride[i], b->pad[i],
                         b->ceil_mode);
        dim reach = dim_mul(c->m, dim_sub(c->m, size[i], 1), b->stride[i]);
        reach = dim_add(c->m, reach, b->kernel[i]);
        dim have = dim_add(c->m, in, b->pad[i]);
        pads[first + i] = b->pad[i];
        pads[rank + first + i] = dim_max(c->m, dim_sub(c->m, reach, have), 0);
    }
    x = aten_pads(c, x, pads, "constant", 0);
    for (uint32_t i = 0; i < b->n; i++) {
        dim shape[] = {size[i], b->kernel[i]}, steps[] = {b->stride[i], 1};
        int64_t axis = first + i + 1;
        val at = aten_lattice(c, shape, steps, 2, 0);

        x = aten_take(c, x, at, first + i);
        x = aten_reduce(c, OP_reduce_sum, x, &axis, 1, false);
    }
    return x;
}

static void read_box(aten_call *c, box *b)
{
    arg_spatial(c, 1, b->n, 1, b->kernel);
    if (arg_none(c, 2) || arg_empty(c, 2))
        memcpy(b->stride, b->kernel, b->n * sizeof *b->stride);
    else
        arg_spatial(c, 2, b->n, 1, b->stride);
    arg_spatial(c, 3, b->n, 0, b->pad);
    b->ceil_mode = arg_bool(c, 4);
    for (uint32_t i = 0; i < b->n; i++)
        if (b->kernel[i] < 1 || b->kernel[i] > 65536 || b->stride[i] < 1 ||
            b->pad[i] < 0 || b->pad[i] > b->kernel[i])
            call_fail(c, HULL_EFORMAT, "window out of range");
}

/* How many places a mean counts: padding as well with `count_pad`, but never
 * what is cut off behind the right padding. */
static val window_count(aten_call *c, val x, const box *b, bool count_pad)
{
    uint32_t rank = call_rank(c, x), first = rank - b->n;
    dim d[HULL_MAX_RANK];
    box inner = *b;

    for (uint32_t i = 0; i < rank; i++) {
        d[i] = i < first ? 1 : call_dims(c, x)[i];
        if (i >= first && count_pad)
            d[i] = dim_add(c->m, d[i], 2 * b->pad[i - first]);
    }
    for (uint32_t i = 0; i < b->n && count_pad; i++)
        inner.pad[i] = 0;
    val ones = aten_full(c, aten_int(c, 1), d, rank);
    if (!count_pad || !b->ceil_mode)
        return window_sum(c, ones, &inner);
    /* The number of windows is that of the operand, not of the padded one. */
    val n = window_sum(c, ones, &inner);
    for (uint32_t i = 0; i < b->n; i++)
        n = aten_slice1(c, n, first + i, 0,
                        pooled(c, call_dims(c, x)[first + i], b->kernel[i],
                               b->stride[i], b->pad[i], true));
    return n;
}

/* With a divisor of its own, or of integers, where the quotient is cut. */
static void avg_pool_by_sum(aten_call *c, val x, uint32_t n)
{
    hull_dtype dt = call_dtype(c, x), in = dt;
    bool own = c->n_args > 6 && !arg_none(c, 6);
    box b = {.n = n};

    read_box(c, &b);
    bool count_pad = arg_bool(c, 5);
    if (own && arg_int(c, 6) == 0)
        call_fail(c, HULL_EFORMAT, "the divisor is 0");
    if (c->st != HULL_OK)
        return;
    if (dt == HULL_F16 || dt == HULL_BF16)
        in = HULL_F32;
    val by = own ? aten_int(c, arg_int(c, 6))
                 : window_count(c, x, &b, count_pad);
    val sum = window_sum(c, op_cast(c->g, x, in), &b);
    by = op_cast(c->g, by, in);
    x = dtype_is_float(in) ? op_binary(c->g, OP_div, sum, by)
                           : aten_div_to(c, sum, by, "trunc");
    ret(c, op_cast(c->g, x, dt));
}

/* (self, kernel, stride, padding, ceil, count_include_pad, divisor) */
void aten_avg_pool(aten_call *c)
{
    uint32_t n = (uint32_t)c->row->param;
    bool added;
    val x = with_batch(c, arg_tensor(c, 0), n, &added);

    if (c->st != HULL_OK)
        return;
    if (!dtype_is_float(call_dtype(c, x)) ||
        (c->n_args > 6 && !arg_none(c, 6))) {
        avg_pool_by_sum(c, x, n);
        if (added && c->st == HULL_OK && c->n_out)
            c->out[0].v = aten_drop_axis(c, c->out[0].v, 0);
        return;
    }
    node *d = pool_node(c, OP_avg_pool, x, n, false, arg_bool(c, 4));
    node_bool(c->g, d, "count_pad", arg_bool(c, 5));
    if (c->st != HULL_OK)
        return;
    x = node_add(c->g, d);
    ret(c, added ? aten_drop_axis(c, x, 0) : x);
}

/* One cell is the mean over the spatial axes. */
void aten_adaptive_avg_pool(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t n = (uint32_t)c->row->param, rank = call_rank(c, x);
    int64_t out[SPATIAL_MAX], axes[SPATIAL_MAX];
    bool one = true, added;

    arg_spatial(c, 1, n, 1, out);
    x = with_batch(c, x, n, &added);
    if (c->st != HULL_OK)
        return;
    rank += added;
    for (uint32_t i = 0; i < n; i++) {
        axes[i] = rank - n + i;
        one &= out[i] == 1;
    }
    if (one) {
        x = aten_reduce(c, OP_reduce_mean, x, axes, n, true);
    } else {
        node *d = node_new(c->g, OP_adaptive_avg_pool);

        node_input(c->g, d, x);
        node_ints(c->g, d, "out", out, n);
        x = node_add(c->g, d);
    }
    ret(c, added ? aten_drop_axis(c, x, 0) : x);
}

/* Where the cells of an axis read: cell i takes [floor(i in / out),
 * ceil((i + 1) in / out)), the shorter ones their last place again. */
static val cell_index(aten_call *c, int64_t in, int64_t out, int64_t *most)
{
    int64_t *at, n = 0;

    *most = 1;
    for (int64_t i = 0; i < out; i++) {
        int64_t size = ((i + 1) * in + out - 1) / out - i * in / out;
        *most = size > *most ? size : *most;
    }
    if (out * *most > 1 << 22) {
        call_fail(c, HULL_EUNSUPPORTED, "more than 2^22 places in cells");
        return 0;
    }
    at = arena_array(&c->f->a, (size_t)(out * *most), sizeof *at);
    if (!at) {
        call_fail(c, HULL_ENOMEM, "cells");
        return 0;
    }
    for (int64_t i = 0; i < out; i++)
        for (int64_t k = 0; k < *most; k++) {
            int64_t end = ((i + 1) * in + out - 1) / out;
            int64_t place = i * in / out + k;

            at[n++] = place < end ? place : end - 1;
        }
    return aten_ints(c, at, (uint32_t)n);
}

/* A place of the cells' plane as one of the operand's plane. */
static val place_back(aten_call *c, val at, val cells, val x, const val *index,
                      uint32_t n)
{
    uint32_t rank = call_rank(c, x);
    val sum = aten_int(c, 0);
    dim step = 1;

    for (uint32_t i = n; i-- > 0;) {
        uint32_t axis = rank - n + i;
        dim size = call_dims(c, cells)[axis];
        val k = aten_mod_to(c, at, aten_dim_value(c, size, HULL_I64));

        at = aten_div_to(c, at, aten_dim_value(c, size, HULL_I64), "floor");
        k = op_binary(c->g, OP_mul, aten_take(c, index[i], k, 0),
                      aten_dim_value(c, step, HULL_I64));
        sum = op_binary(c->g, OP_add, sum, k);
        step = dim_mul(c->m, step, call_dims(c, x)[axis]);
    }
    return sum;
}

/* Cells of different sizes are made equal by look-ups, then pooled. */
static void pool_cells(aten_call *c, val x, const int64_t *out, uint32_t n,
                       bool added)
{
    uint32_t rank = call_rank(c, x);
    int64_t kernel[SPATIAL_MAX], pad[2 * SPATIAL_MAX] = {0};
    int64_t dilation[SPATIAL_MAX] = {1, 1, 1}, size = 0;
    val index[SPATIAL_MAX], cells = x, y[2];

    for (uint32_t i = 0; i < n; i++) {
        uint32_t axis = rank - n + i;

        (void)dim_is_int(c->m, call_dims(c, x)[axis], &size);
        index[i] = cell_index(c, size, out[i], &kernel[i]);
        if (c->st != HULL_OK)
            return;
        cells = aten_take(c, cells, index[i], axis);
    }
    for (uint32_t k = 0; k < 2; k++) {
        node *d = node_new(c->g, k ? OP_max_pool_index : OP_max_pool);

        node_input(c->g, d, cells);
        node_ints(c->g, d, "kernel", kernel, n);
        node_ints(c->g, d, "stride", kernel, n);
        node_ints(c->g, d, "pad", pad, 2 * n);
        node_ints(c->g, d, "dilation", dilation, n);
        y[k] = node_add(c->g, d);
    }
    y[1] = in_plane(c, y[1], cells, n);
    y[1] = place_back(c, y[1], cells, x, index, n);
    for (uint32_t k = 0; k < 2; k++)
        ret(c, added ? aten_drop_axis(c, y[k], 0) : y[k]);
}

/* One cell: the maximum of the plane and where it is. */
static void pool_plane(aten_call *c, val x, uint32_t n, bool added)
{
    uint32_t rank = call_rank(c, x), first = rank - n;
    dim d[HULL_MAX_RANK];
    int64_t axis = first;
    val y[2];

    memcpy(d, call_dims(c, x), first * sizeof *d);
    d[first] = dim_product(c->m, call_dims(c, x) + first, n);
    x = op_reshape(c->g, x, d, first + 1);
    for (uint32_t i = 0; i < n; i++)
        d[first + i] = 1;
    y[0] = aten_reduce(c, OP_reduce_max, x, &axis, 1, false);
    y[1] = aten_reduce(c, OP_arg_max, x, &axis, 1, false);
    for (uint32_t k = 0; k < 2; k++) {
        y[k] = op_reshape(c->g, y[k], d, rank);
        ret(c, added ? aten_drop_axis(c, y[k], 0) : y[k]);
    }
}

/* adaptive_max_pool*d (self, output_size): values and places */
void aten_adaptive_max_pool(aten_call *c)
{
    uint32_t n = (uint32_t)c->row->param;
    bool added, one = true, known = true;
    val x = with_batch(c, arg_tensor(c, 0), n, &added);
    int64_t out[SPATIAL_MAX], size = 0;

    arg_spatial(c, 1, n, 1, out);
    for (uint32_t i = 0; i < n && c->st == HULL_OK; i++) {
        if (out[i] < 1 || out[i] > 65536)
            call_fail(c, HULL_EFORMAT, "output size out of range");
        one &= out[i] == 1;
        known &= dim_is_int(c->m, call_dims(c, x)[2 + i], &size) && size > 0 &&
                 size < 1 << 24;
    }
    if (c->st != HULL_OK)
        return;
    if (one)
        pool_plane(c, x, n, added);
    else if (known)
        pool_cells(c, x, out, n, added);
    else
        call_missing(c, "of a symbolic size");
}

/* max_unpool*d (self, indices, output_size, ..): zeros but for the places. */
void aten_max_unpool(aten_call *c)
{
    val x = arg_tensor(c, 0), at = arg_tensor(c, 1);
    uint32_t n = (uint32_t)c->row->param, rank = call_rank(c, x);
    dim out[SPATIAL_MAX], d[HULL_MAX_RANK], flat[HULL_MAX_RANK];

    if (arg_dims(c, 2, out, n) != n || rank < n || call_rank(c, at) != rank)
        call_fail(c, HULL_EFORMAT, "operands of unfit rank");
    if (c->st != HULL_OK)
        return;
    uint32_t first = rank - n;
    memcpy(d, call_dims(c, x), rank * sizeof *d);
    memcpy(flat, d, first * sizeof *d);
    flat[first] = dim_product(c->m, d + first, n);
    x = op_reshape(c->g, x, flat, first + 1);
    at = op_reshape(c->g, at, flat, first + 1);
    memcpy(d + first, out, n * sizeof *d);
    flat[first] = dim_product(c->m, out, n);
    val zero = aten_full(c, aten_number(c, call_dtype(c, x), 0), flat,
                         first + 1);
    ret(c, op_reshape(c->g, aten_put_elements(c, zero, at, x, first, "none"), d,
                      rank));
}
