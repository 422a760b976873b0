/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_window.c - lowerings of what makes windows and filter banks: HannWindow,
 * HammingWindow, BlackmanWindow, MelWeightMatrix. Their sizes are operands,
 * read as dims. They are computed in f64 and then cast.
 */
#include "front/onnx_lower.h"

#include <inttypes.h>

#define TAU 6.283185307179586476925286766559

static val scalar_of(onnx_call *c, dim d)
{
    return op_reshape(c->g, op_dims(c->g, &d, 1), NULL, 0);
}

static val number(onnx_call *c, double v)
{
    return op_scalar(c->g, HULL_F64, v);
}

static hull_status output_type(onnx_call *c, hull_dtype *out)
{
    int64_t code = onnx_int(c, "output_datatype", 1);

    *out = onnx_dtype(code);
    if (*out == HULL_NONE)
        return fail(HULL_EUNSUPPORTED, "attribute 'output_datatype' is %" PRId64
                    ", not a numeric type", code);
    return HULL_OK;
}

static hull_status one_dim(onnx_call *c, uint32_t i, dim *out)
{
    uint32_t n = 0;
    int64_t v = 0;

    TRY(onnx_dims_at(c, i, out, 1, &n));
    if (n != 1)
        return fail(HULL_EFORMAT, "operand %" PRIu32 " has %" PRIu32
                    " elements, want 1", i, n);
    if (dim_is_int(c->m, *out, &v) && v < 0)
        return fail(HULL_ESHAPE, "operand %" PRIu32 " is %" PRId64, i, v);
    return HULL_OK;
}

static val count(onnx_call *c, const dim *shape, uint32_t rank, uint32_t axis)
{
    node *n = node_new(c->g, OP_iota);

    node_dims(c->g, n, "shape", shape, rank);
    node_int(c->g, n, "axis", axis);
    return node_add(c->g, n);
}

/* ---- windows ------------------------------------------------------------- */

/* a[0] - a[1] cos(t) + a[2] cos(2 t), t = tau i / n; n is the size, or one less
 * without `periodic`. */
hull_status onnx_window(onnx_call *c)
{
    static const double parts[3][3] = {
        {0.5, 0.5, 0},
        {25.0 / 46.0, 21.0 / 46.0, 0},
        {0.42, 0.5, 0.08},
    };
    const double *a = parts[c->row->arg];
    bool periodic = onnx_int(c, "periodic", 1) != 0;
    hull_dtype dt;
    dim size = 0;

    TRY(output_type(c, &dt));
    TRY(one_dim(c, 0, &size));
    val n = scalar_of(c, periodic ? size : dim_sub(c->m, size, 1));
    val at = op_cast(c->g, count(c, &size, 1, 0), HULL_F64);
    at = op_binary(c->g, OP_mul, at, number(c, TAU));
    at = op_binary(c->g, OP_div, at, op_cast(c->g, n, HULL_F64));
    val y = op_binary(c->g, OP_mul, op_unary(c->g, OP_cos, at),
                      number(c, a[1]));
    y = op_binary(c->g, OP_sub, number(c, a[0]), y);
    if (a[2] != 0) {
        val twice = op_binary(c->g, OP_mul, at, number(c, 2));
        val more = op_binary(c->g, OP_mul, op_unary(c->g, OP_cos, twice),
                             number(c, a[2]));

        y = op_binary(c->g, OP_add, y, more);
    }
    c->out[0] = op_cast(c->g, y, dt);
    return HULL_OK;
}

/* ---- MelWeightMatrix ----------------------------------------------------- */

/* 2595 log10(1 + f / 700) of a number that is an operand. */
static val to_mel(onnx_call *c, val f)
{
    val x = op_reshape(c->g, op_cast(c->g, f, HULL_F64), NULL, 0);

    x = op_unary(c->g, OP_log1p, op_binary(c->g, OP_div, x, number(c, 700)));
    return op_binary(c->g, OP_mul, x, number(c, 2595 / 2.302585092994045684));
}

static val floor_of(onnx_call *c, val a, val b)
{
    return op_unary(c->g, OP_floor, op_binary(c->g, OP_div, a, b));
}

/* The place in the spectrum where mel bin i + `by` is, [1, bins] as f64. */
static val bin_edge(onnx_call *c, val low, val step, dim bins, int64_t by,
                    dim length)
{
    dim shape[2] = {1, bins};
    val i = op_binary(c->g, OP_add, count(c, shape, 2, 1),
                      op_scalar_i64(c->g, HULL_I64, by));
    val mel = op_binary(c->g, OP_mul, op_cast(c->g, i, HULL_F64), step);
    val size = scalar_of(c, dim_add(c->m, length, 1));
    val rate = op_reshape(c->g, op_cast(c->g, c->in[2], HULL_F64), NULL, 0);

    mel = op_binary(c->g, OP_add, mel, low);
    mel = op_binary(c->g, OP_mul, mel, number(c, 2.302585092994045684 / 2595));
    val hertz = op_binary(c->g, OP_mul, op_unary(c->g, OP_expm1, mel),
                          number(c, 700));
    hertz = op_binary(c->g, OP_mul, hertz, op_cast(c->g, size, HULL_F64));
    return floor_of(c, hertz, rate);
}

/* (j - a) / (b - a) where a <= j <= b, else (d - j) / (d - b) where b < j < d;
 * at j = b it is 1. Neither division is of use where its width is 0. */
hull_status onnx_mel_weights(onnx_call *c)
{
    hull_dtype dt;
    dim bins = 0, length = 0;

    TRY(output_type(c, &dt));
    TRY(one_dim(c, 0, &bins));
    TRY(one_dim(c, 1, &length));
    dim shape[2] = {dim_add(c->m, dim_div(c->m, length, 2), 1), 1};
    val low = to_mel(c, c->in[3]), high = to_mel(c, c->in[4]);
    val steps = op_cast(c->g, scalar_of(c, dim_add(c->m, bins, 2)), HULL_F64);
    val step = op_binary(c->g, OP_div, op_binary(c->g, OP_sub, high, low),
                         steps);
    val a = bin_edge(c, low, step, bins, 0, length);
    val b = bin_edge(c, low, step, bins, 1, length);
    val d = bin_edge(c, low, step, bins, 2, length);
    val j = op_cast(c->g, count(c, shape, 2, 0), HULL_F64);
    val one = number(c, 1);
    val up = op_binary(c->g, OP_div, op_binary(c->g, OP_sub, j, a),
                       op_binary(c->g, OP_max, op_binary(c->g, OP_sub, b, a),
                                 one));
    val down = op_binary(c->g, OP_div, op_binary(c->g, OP_sub, d, j),
                         op_binary(c->g, OP_max, op_binary(c->g, OP_sub, d, b),
                                   one));
    val y = op_where(c->g, op_binary(c->g, OP_lt, j, b), up, down);
    y = op_where(c->g, op_binary(c->g, OP_eq, j, b), one, y);
    y = op_binary(c->g, OP_max, y, number(c, 0));
    c->out[0] = op_cast(c->g, y, dt);
    return HULL_OK;
}
