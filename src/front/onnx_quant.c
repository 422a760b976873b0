/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_quant.c - lowerings of quantisation, per tensor, per axis and by blocks
 * of an axis (arithmetic on each element), and of products whose operands and
 * result are quantised (integers accumulate in i32, then one scale).
 */
#include "front/onnx_contrib.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Scale of operand i in f32: a number, or a vector with `after` axes of size
 * 1 behind it. */
static val scale_of(onnx_call *c, uint32_t i, uint32_t after)
{
    const type *t = onnx_type(c, c->in[i]);
    int64_t axes[HULL_MAX_RANK], size = 0;

    if (!t)
        return 0;
    front_is_parameter(c->f, c->in[i]);
    val s = op_cast(c->g, c->in[i], HULL_F32);
    if (t->rank == 0)
        return s;
    if (t->rank == 1 && dim_is_int(c->m, t->dims[0], &size) && size == 1)
        return op_reshape(c->g, s, NULL, 0);
    for (uint32_t k = 0; k < after; k++)
        axes[k] = k + 1;
    return t->rank == 1 && after > 0
               ? lower_axes_to_reshape(c->f, s, axes, after, true)
               : s;
}

static val as_scalar(onnx_call *c, val v)
{
    const type *t = onnx_type(c, v);

    return t && t->rank == 1 ? op_reshape(c->g, v, NULL, 0) : v;
}

/* round(acc * scale / y_scale) + y_zero, saturated. */
static hull_status requantize(onnx_call *c, val acc, val scale, uint32_t at)
{
    const type *z = onnx_type(c, c->in[at + 1]);

    if (!z || !acc || !scale)
        return ir_status(c->m);
    hull_dtype to = z->dtype;
    val x = op_binary(c->g, OP_mul, op_cast(c->g, acc, HULL_F32), scale);
    front_is_parameter(c->f, c->in[at]);
    front_is_parameter(c->f, c->in[at + 1]);
    node *q = node_new(c->g, OP_quantize);
    node_input(c->g, q, x);
    node_input(c->g, q, as_scalar(c, op_cast(c->g, c->in[at], HULL_F32)));
    node_input(c->g, q, as_scalar(c, c->in[at + 1]));
    node_int(c->g, q, "axis", 0);
    node_dtype(c->g, q, "to", to);
    c->out[0] = node_add(c->g, q);
    return HULL_OK;
}

/* The integer form of the operator: x, w, and their zero points. */
static hull_status integers(onnx_call *c, onnx_lower_fn *lower, val *out)
{
    val in[4] = {c->in[0], c->in[3], c->in[2], c->in[5]};
    onnx_call now = *c;

    now.in = in;
    now.n_in = 4;
    now.out = out;
    TRY(lower(&now));
    return ir_status(c->m);
}

hull_status onnx_qlinear_matmul(onnx_call *c)
{
    val acc = 0;

    TRY(integers(c, onnx_matmul_integer, &acc));
    val scale = op_binary(c->g, OP_mul, scale_of(c, 1, 1), scale_of(c, 4, 0));
    return requantize(c, acc, scale, 6);
}

hull_status onnx_qlinear_conv(onnx_call *c)
{
    const type *x = onnx_type(c, c->in[0]);
    val acc = 0;

    if (!x || x->rank < 3)
        return fail(HULL_ESHAPE, "input 0 has not rank 3 or more");
    uint32_t after = x->rank - 2;
    TRY(integers(c, onnx_conv_integer, &acc));
    if (onnx_in(c, 8)) {
        int64_t axes[HULL_MAX_RANK];

        for (uint32_t i = 0; i < after; i++)
            axes[i] = i + 1;
        front_is_parameter(c->f, c->in[8]);
        acc = op_binary(c->g, OP_add, acc,
                        lower_axes_to_reshape(c->f, c->in[8], axes, after,
                                              true));
    }
    val scale = op_binary(c->g, OP_mul, scale_of(c, 1, 0),
                          scale_of(c, 4, after));
    return requantize(c, acc, scale, 6);
}

/* ---- blocks -------------------------------------------------------------- */

/* One value per block of the axis becomes one per element. */
static hull_status spread(onnx_call *c, val *v)
{
    const type *x = onnx_type(c, c->in[0]), *s = onnx_type(c, *v);
    int64_t block = onnx_int(c, "block_size", 0), one[1];
    dim wide[HULL_MAX_RANK], flat[HULL_MAX_RANK];
    uint32_t axis = 0;

    if (!x || !s)
        return ir_status(c->m);
    TRY(onnx_axis(c, onnx_int(c, "axis", 1), x->rank, &axis));
    if (block < 1 || block > INT32_MAX || s->rank != x->rank ||
        s->rank == HULL_MAX_RANK)
        return fail(HULL_EFORMAT, "block_size is %" PRId64 ", scale has rank "
                    "%" PRIu32 ", want at least 1 and rank %" PRIu32, block,
                    s->rank, x->rank);
    dim size = x->dims[axis], full = dim_mul(c->m, s->dims[axis], block);
    uint32_t rank = s->rank;
    for (uint32_t i = 0; i < rank; i++) {
        flat[i] = i == axis ? full : s->dims[i];
        wide[i + (i > axis)] = s->dims[i];
    }
    wide[axis + 1] = block;
    one[0] = axis + 1;
    *v = lower_axes_to_reshape(c->f, *v, one, 1, true);
    *v = op_reshape(c->g, op_expand(c->g, *v, wide, rank + 1), flat, rank);
    if (!dim_eq(c->m, full, size))
        *v = op_slice(c->g, *v, axis, 0, size, 1);
    return ir_status(c->m);
}

static hull_status read_blocks(onnx_call *c, val *scale, val *zero)
{
    for (uint32_t i = 0; i < c->n_in; i++)
        if (c->in[i])
            front_is_parameter(c->f, c->in[i]);
    *scale = op_cast(c->g, c->in[1], HULL_F32);
    *zero = onnx_in(c, 2) ? op_cast(c->g, c->in[2], HULL_F32) : 0;
    TRY(spread(c, scale));
    return *zero ? spread(c, zero) : HULL_OK;
}

static hull_status dequantize_blocks(onnx_call *c)
{
    const type *s = onnx_type(c, c->in[1]);
    val scale = 0, zero = 0, x = op_cast(c->g, c->in[0], HULL_F32);

    if (!s)
        return ir_status(c->m);
    hull_dtype dt = s->dtype;
    TRY(read_blocks(c, &scale, &zero));
    if (zero)
        x = op_binary(c->g, OP_sub, x, zero);
    c->out[0] = op_cast(c->g, op_binary(c->g, OP_mul, x, scale), dt);
    return HULL_OK;
}

static hull_status quantize_blocks(onnx_call *c, hull_dtype to)
{
    val scale = 0, zero = 0, x = op_cast(c->g, c->in[0], HULL_F32);

    TRY(read_blocks(c, &scale, &zero));
    x = op_binary(c->g, OP_div, x, scale);
    if (dtype_is_int(to)) {
        int bits = (int)hull_dtype_bits(to), sign = !dtype_is_unsigned(to);
        double top = ldexp(1.0, bits - sign) - 1.0;

        if (bits > 16)
            return fail(HULL_EUNSUPPORTED, "blocks of %s",
                        hull_dtype_name(to));
        x = op_unary(c->g, OP_round, x);
        if (zero)
            x = op_binary(c->g, OP_add, x, zero);
        node *n = node_new(c->g, OP_clamp);
        node_input(c->g, n, x);
        node_float(c->g, n, "min", sign ? -top - 1.0 : 0.0);
        node_float(c->g, n, "max", top);
        x = node_add(c->g, n);
    }
    c->out[0] = op_cast(c->g, x, to);
    return HULL_OK;
}

/* ---- QuantizeLinear and its kin ------------------------------------------ */

/* Axis of the scales, and scale and zero point as the IR wants them: one
 * element is per tensor, whatever its rank. */
static hull_status quant_axis(onnx_call *c, uint32_t *axis, val *sz)
{
    const type *x = onnx_type(c, c->in[0]), *s = onnx_type(c, c->in[1]);

    *axis = 0;
    sz[0] = c->in[1];
    sz[1] = onnx_in(c, 2);
    if (!x || !s)
        return ir_status(c->m);
    for (uint32_t i = 0; i < c->n_in; i++)
        if (c->in[i])
            front_is_parameter(c->f, c->in[i]);
    if (s->rank == 0)
        return HULL_OK; /* the axis says nothing */
    if (s->rank == 1 && s->dims[0] == 1) {
        sz[0] = op_reshape(c->g, sz[0], NULL, 0);
        sz[1] = sz[1] ? op_reshape(c->g, sz[1], NULL, 0) : 0;
        return HULL_OK;
    }
    return onnx_axis(c, onnx_int(c, "axis", 1), x->rank, axis);
}

hull_status onnx_quantize(onnx_call *c)
{
    uint32_t axis = 0;
    val sz[2];
    int64_t code = onnx_int(c, "output_dtype", 0);
    const type *z = onnx_type(c, onnx_in(c, 2));
    hull_dtype to = z ? z->dtype : code ? onnx_dtype(code) : HULL_U8;

    if (to == HULL_NONE || (code && onnx_dtype(code) != to))
        return fail(HULL_EUNSUPPORTED, "output_dtype is %" PRId64, code);
    if (onnx_int(c, "saturate", 1) != 1 || onnx_int(c, "precision", 0) > 1)
        return fail(HULL_EUNSUPPORTED, "saturate 0 or another precision");
    if (onnx_int(c, "block_size", 0) != 0)
        return quantize_blocks(c, to);
    TRY(quant_axis(c, &axis, sz));
    node *n = node_new(c->g, OP_quantize);
    node_input(c->g, n, c->in[0]);
    node_input(c->g, n, sz[0]);
    if (sz[1])
        node_input(c->g, n, sz[1]);
    node_int(c->g, n, "axis", axis);
    node_dtype(c->g, n, "to", to);
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}

static hull_status dequantize(onnx_call *c)
{
    uint32_t axis = 0;
    val sz[2];

    TRY(quant_axis(c, &axis, sz));
    node *n = node_new(c->g, OP_dequantize);
    node_input(c->g, n, c->in[0]);
    node_input(c->g, n, sz[0]);
    if (sz[1])
        node_input(c->g, n, sz[1]);
    node_int(c->g, n, "axis", axis);
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}

/* Of the scale's dtype, unless the model names another. */
hull_status onnx_dequantize(onnx_call *c)
{
    int64_t code = onnx_int(c, "output_dtype", 0);

    if (code && !dtype_is_float(onnx_dtype(code)))
        return fail(HULL_EUNSUPPORTED, "output_dtype is %" PRId64, code);
    TRY(onnx_int(c, "block_size", 0) != 0 ? dequantize_blocks(c)
                                          : dequantize(c));
    if (code)
        c->out[0] = op_cast(c->g, c->out[0], onnx_dtype(code));
    return HULL_OK;
}

/* scale = (max(x, 0) - min(x, 0)) / 255, zero = clamp(round(-min / scale)). */
void onnx_quantize_dynamic(onnx_call *c, val x, val *out)
{
    val zero = op_scalar(c->g, HULL_F32, 0.0);
    val top = onnx_reduce(c, OP_reduce_max, x, NULL, 0, false);
    val low = onnx_reduce(c, OP_reduce_min, x, NULL, 0, false);
    node *n = node_new(c->g, OP_clamp);

    top = op_binary(c->g, OP_max, top, zero);
    low = op_binary(c->g, OP_min, low, zero);
    val scale = op_binary(c->g, OP_div, op_binary(c->g, OP_sub, top, low),
                          op_scalar(c->g, HULL_F32, 255.0));
    val z = op_binary(c->g, OP_div, op_unary(c->g, OP_neg, low), scale);
    node_input(c->g, n, op_unary(c->g, OP_round, z));
    node_float(c->g, n, "min", 0.0);
    node_float(c->g, n, "max", 255.0);
    z = op_cast(c->g, node_add(c->g, n), HULL_U8);
    node *q = node_new(c->g, OP_quantize);
    node_input(c->g, q, x);
    node_input(c->g, q, scale);
    node_input(c->g, q, z);
    node_int(c->g, q, "axis", 0);
    node_dtype(c->g, q, "to", HULL_U8);
    out[0] = node_add(c->g, q);
    out[1] = scale;
    out[2] = z;
}

hull_status onnx_dynamic_quantize(onnx_call *c)
{
    val out[3];

    onnx_quantize_dynamic(c, c->in[0], out);
    for (uint32_t i = 0; i < c->n_out && i < 3; i++)
        c->out[i] = out[i];
    return HULL_OK;
}
