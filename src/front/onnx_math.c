/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_math.c - lowerings of pointwise operators: one IR op where there is
 * one, a few where ONNX has a composite.
 */
#include "front/onnx_lower.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

hull_status onnx_unary(onnx_call *c)
{
    c->out[0] = op_unary(c->g, (op_code)c->row->arg, c->in[0]);
    return HULL_OK;
}

hull_status onnx_identity(onnx_call *c)
{
    c->out[0] = c->in[0];
    return HULL_OK;
}

/* Ops whose attributes carry the names of ONNX's. */
hull_status onnx_activation(onnx_call *c)
{
    op_code op = (op_code)c->row->arg;
    node *n = node_new(c->g, op);

    node_input(c->g, n, c->in[0]);
    if (op == OP_leaky_relu)
        node_float(c->g, n, "alpha", onnx_float(c, "alpha", 0.01));
    else if (op == OP_elu)
        node_float(c->g, n, "alpha", onnx_float(c, "alpha", 1.0));
    else {
        node_float(c->g, n, "alpha", onnx_float(c, "alpha", 0.2));
        node_float(c->g, n, "beta", onnx_float(c, "beta", 0.5));
    }
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}

hull_status onnx_gelu(onnx_call *c)
{
    str how = onnx_str(c, "approximate", "none");
    node *n = node_new(c->g, OP_gelu);

    if (!str_is(how, "none") && !str_is(how, "tanh"))
        return fail(HULL_EFORMAT,
                    "attribute 'approximate' is '%.*s', want none or tanh",
                    STR_ARG(how));
    node_input(c->g, n, c->in[0]);
    node_bool(c->g, n, "tanh", str_is(how, "tanh"));
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}

static val elu(onnx_call *c, val x, double alpha)
{
    node *n = node_new(c->g, OP_elu);

    node_input(c->g, n, x);
    node_float(c->g, n, "alpha", alpha);
    return node_add(c->g, n);
}

static val scaled(onnx_call *c, val x, double by)
{
    return by == 1.0 ? x
                     : op_binary(c->g, OP_mul, x, onnx_scalar_like(c, x, by));
}

/* x where x > 0, else alpha (exp(x / alpha) - 1). */
hull_status onnx_celu(onnx_call *c)
{
    double alpha = onnx_float(c, "alpha", 1.0);
    val x = c->in[0];

    if (alpha == 1.0) {
        c->out[0] = elu(c, x, 1.0);
        return HULL_OK;
    }
    val low = op_binary(c->g, OP_div, x, onnx_scalar_like(c, x, alpha));
    low = scaled(c, op_unary(c->g, OP_expm1, low), alpha);
    val zero = onnx_scalar_like(c, x, 0.0);
    c->out[0] = op_binary(c->g, OP_add, op_binary(c->g, OP_max, x, zero),
                          op_binary(c->g, OP_min, low, zero));
    return HULL_OK;
}

hull_status onnx_selu(onnx_call *c)
{
    double alpha = onnx_float(c, "alpha", 1.67326319217681884765625);
    double gamma = onnx_float(c, "gamma", 1.05070102214813232421875);

    c->out[0] = scaled(c, elu(c, c->in[0], alpha), gamma);
    return HULL_OK;
}

hull_status onnx_shrink(onnx_call *c)
{
    double lambd = onnx_float(c, "lambd", 0.5);
    val x = c->in[0], bias = onnx_scalar_like(c, x, onnx_float(c, "bias", 0));
    val high = op_binary(c->g, OP_gt, x, onnx_scalar_like(c, x, lambd));
    val low = op_binary(c->g, OP_lt, x, onnx_scalar_like(c, x, -lambd));
    val rest = op_where(c->g, high, op_binary(c->g, OP_sub, x, bias),
                        onnx_scalar_like(c, x, 0.0));

    c->out[0] = op_where(c->g, low, op_binary(c->g, OP_add, x, bias), rest);
    return HULL_OK;
}

hull_status onnx_softsign(onnx_call *c)
{
    val x = c->in[0], one = onnx_scalar_like(c, x, 1.0);
    val by = op_binary(c->g, OP_add, op_unary(c->g, OP_abs, x), one);

    c->out[0] = op_binary(c->g, OP_div, x, by);
    return HULL_OK;
}

hull_status onnx_thresholded_relu(onnx_call *c)
{
    val x = c->in[0];
    val above = op_binary(c->g, OP_gt, x,
                          onnx_scalar_like(c, x, onnx_float(c, "alpha", 1.0)));

    c->out[0] = op_where(c->g, above, x, onnx_scalar_like(c, x, 0.0));
    return HULL_OK;
}

hull_status onnx_swish(onnx_call *c)
{
    double alpha = onnx_float(c, "alpha", 1.0);
    val x = c->in[0];

    if (alpha == 1.0)
        c->out[0] = op_unary(c->g, OP_silu, x);
    else
        c->out[0] = op_binary(c->g, OP_mul, x,
                              op_unary(c->g, OP_sigmoid, scaled(c, x, alpha)));
    return HULL_OK;
}

/* swish(a) b */
hull_status onnx_swiglu(onnx_call *c)
{
    TRY(onnx_swish(c));
    c->out[0] = op_binary(c->g, OP_mul, c->out[0], c->in[1]);
    return HULL_OK;
}

hull_status onnx_hard_swish(onnx_call *c)
{
    node *n = node_new(c->g, OP_hard_sigmoid);

    node_input(c->g, n, c->in[0]);
    node_float(c->g, n, "alpha", 1.0 / 6.0);
    node_float(c->g, n, "beta", 0.5);
    c->out[0] = op_binary(c->g, OP_mul, c->in[0], node_add(c->g, n));
    return HULL_OK;
}

hull_status onnx_mish(onnx_call *c)
{
    val t = op_unary(c->g, OP_tanh, op_unary(c->g, OP_softplus, c->in[0]));

    c->out[0] = op_binary(c->g, OP_mul, c->in[0], t);
    return HULL_OK;
}

hull_status onnx_prelu(onnx_call *c)
{
    val x = c->in[0];
    val below = op_binary(c->g, OP_lt, x, onnx_scalar_like(c, x, 0.0));

    front_is_parameter(c->f, c->in[1]);
    c->out[0] = op_where(c->g, below, op_binary(c->g, OP_mul, x, c->in[1]), x);
    return HULL_OK;
}

hull_status onnx_is_inf(onnx_call *c)
{
    node *n = node_new(c->g, OP_is_inf);

    node_input(c->g, n, c->in[0]);
    node_bool(c->g, n, "negative", onnx_int(c, "detect_negative", 1) != 0);
    node_bool(c->g, n, "positive", onnx_int(c, "detect_positive", 1) != 0);
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}

/* Clip: stored bounds are literals of a clamp, others are max and min. */
hull_status onnx_clip(onnx_call *c)
{
    double lo = onnx_float(c, "min", -INFINITY);
    double hi = onnx_float(c, "max", INFINITY);
    val x = c->in[0], vlo = onnx_in(c, 1), vhi = onnx_in(c, 2);

    double bound = 0;
    if (vlo && front_scalar(c->f, vlo, &bound)) {
        lo = bound;
        vlo = 0;
    }
    if (vhi && front_scalar(c->f, vhi, &bound)) {
        hi = bound;
        vhi = 0;
    }
    if (isfinite(lo) || isfinite(hi) || isnan(lo) || isnan(hi)) {
        node *n = node_new(c->g, OP_clamp);

        node_input(c->g, n, x);
        node_float(c->g, n, "min", lo);
        node_float(c->g, n, "max", hi);
        x = node_add(c->g, n);
    }
    if (vlo)
        x = op_binary(c->g, OP_max, x, vlo);
    if (vhi)
        x = op_binary(c->g, OP_min, x, vhi);
    c->out[0] = x;
    return HULL_OK;
}

/* A stored vector added to a product is a bias. */
static void mark_bias(onnx_call *c)
{
    for (uint32_t i = 0; i < 2; i++) {
        const node *by = graph_def(c->g, c->in[1 - i]);
        const type *t = onnx_type(c, c->in[i]);

        if (by && (by->op == OP_matmul || by->op == OP_conv ||
                   by->op == OP_conv_transpose) &&
            t && t->rank > 0 && dtype_is_float(t->dtype))
            front_is_parameter(c->f, c->in[i]);
    }
}

hull_status onnx_binary(onnx_call *c)
{
    if (c->row->arg == OP_add)
        mark_bias(c);
    c->out[0] = op_binary(c->g, (op_code)c->row->arg, c->in[0], c->in[1]);
    return HULL_OK;
}

hull_status onnx_div(onnx_call *c)
{
    node *n = node_new(c->g, OP_div);
    const type *t = onnx_type(c, c->in[0]);

    node_input(c->g, n, c->in[0]);
    node_input(c->g, n, c->in[1]);
    if (t && dtype_is_int(t->dtype))
        node_str(c->g, n, "round", str_of("trunc"));
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}

/* Before opset 7: broadcasting must be asked for, and `axis` says where the
 * second operand's shape begins in the first one's. */
static hull_status align_old(onnx_call *c, val *y)
{
    const type *a = onnx_type(c, c->in[0]), *b = onnx_type(c, *y);
    int64_t axes[HULL_MAX_RANK];
    uint32_t n = 0, axis = 0;

    if (!a || !b)
        return ir_status(c->m);
    if (onnx_int(c, "broadcast", 0) == 0) {
        if (a->rank != b->rank)
            return fail(HULL_ESHAPE, "ranks %" PRIu32 " and %" PRIu32
                        " without broadcast", a->rank, b->rank);
        return HULL_OK;
    }
    if (!onnx_has(c, "axis") || b->rank == 0)
        return HULL_OK;
    TRY(onnx_axis(c, onnx_int(c, "axis", 0), a->rank, &axis));
    for (uint32_t i = axis + b->rank; i < a->rank; i++)
        axes[n++] = i - axis;
    if (n > 0)
        *y = lower_axes_to_reshape(c->f, *y, axes, n, true);
    return HULL_OK;
}

hull_status onnx_binary_old(onnx_call *c)
{
    val in[2] = {c->in[0], c->in[1]};
    onnx_call now = *c;

    TRY(align_old(c, &in[1]));
    now.in = in;
    if (c->row->arg == OP_div)
        return onnx_div(&now);
    return c->row->arg == OP_pow ? onnx_pow(&now) : onnx_binary(&now);
}

/* Before opset 7 a vector of slopes runs along the channels. */
hull_status onnx_prelu_old(onnx_call *c)
{
    const type *x = onnx_type(c, c->in[0]), *s = onnx_type(c, c->in[1]);
    val in[2] = {c->in[0], c->in[1]};
    int64_t axes[HULL_MAX_RANK];
    onnx_call now = *c;

    if (!x || !s)
        return ir_status(c->m);
    front_is_parameter(c->f, c->in[1]);
    if (s->rank == 1 && x->rank > 2) {
        uint32_t n = x->rank - 2;

        for (uint32_t i = 0; i < n; i++)
            axes[i] = i + 1;
        in[1] = lower_axes_to_reshape(c->f, in[1], axes, n, true);
    }
    now.in = in;
    return onnx_prelu(&now);
}

/* The exponent may have another dtype; the result has the base's. */
hull_status onnx_pow(onnx_call *c)
{
    const type *a = onnx_type(c, c->in[0]), *b = onnx_type(c, c->in[1]);
    val x = c->in[0], y = c->in[1];

    if (!a || !b)
        return ir_status(c->m);
    hull_dtype to = a->dtype;
    if (dtype_is_int(a->dtype) && dtype_is_float(b->dtype)) {
        x = op_cast(c->g, x, HULL_F64);
        y = op_cast(c->g, y, HULL_F64);
        c->out[0] = op_cast(c->g, op_binary(c->g, OP_pow, x, y), to);
    } else {
        c->out[0] = op_binary(c->g, OP_pow, x, op_cast(c->g, y, to));
    }
    return HULL_OK;
}

hull_status onnx_mod(onnx_call *c)
{
    node *n = node_new(c->g, OP_mod);
    bool fmod_rule = onnx_int(c, "fmod", 0) != 0;

    node_input(c->g, n, c->in[0]);
    node_input(c->g, n, c->in[1]);
    node_bool(c->g, n, "floor", !fmod_rule);
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}

hull_status onnx_shift(onnx_call *c)
{
    str way = onnx_str(c, "direction", "");
    bool left = str_is(way, "LEFT");

    if (!left && !str_is(way, "RIGHT"))
        return fail(HULL_EFORMAT,
                    "attribute 'direction' is '%.*s', want LEFT or RIGHT",
                    STR_ARG(way));
    c->out[0] = op_binary(c->g, left ? OP_shift_left : OP_shift_right,
                          c->in[0], c->in[1]);
    return HULL_OK;
}

/* Max, Min, Sum, Mean of any number of operands. */
hull_status onnx_variadic(onnx_call *c)
{
    bool mean = c->row->arg == OP_reduce_mean;
    op_code op = mean ? OP_add : (op_code)c->row->arg;
    val x = c->in[0];

    for (uint32_t i = 1; i < c->n_in; i++) {
        if (!c->in[i])
            return fail(HULL_EFORMAT, "input %" PRIu32 " is missing", i);
        x = op_binary(c->g, op, x, c->in[i]);
    }
    if (mean && c->n_in > 1)
        x = op_binary(c->g, OP_div, x, onnx_scalar_like(c, x, c->n_in));
    c->out[0] = x;
    return HULL_OK;
}

hull_status onnx_where(onnx_call *c)
{
    c->out[0] = op_where(c->g, c->in[0], c->in[1], c->in[2]);
    return HULL_OK;
}

/* A power of two: x as it is, or the next one away from or towards 0. */
static hull_status to_power(onnx_call *c, val *x)
{
    str mode = onnx_str(c, "round_mode", "up");
    bool up = str_is(mode, "up");
    val v = op_cast(c->g, *x, HULL_F32);

    if (str_is(mode, "nearest"))
        return HULL_OK;
    if (!up && !str_is(mode, "down"))
        return fail(HULL_EFORMAT, "attribute 'round_mode' is '%.*s', want up, "
                    "down or nearest", STR_ARG(mode));
    node *n = node_new(c->g, OP_bitcast);
    node_input(c->g, n, v);
    node_dtype(c->g, n, "to", HULL_I32);
    val bits = node_add(c->g, n); /* a carry out of the fraction: one up */
    if (up)
        bits = op_binary(c->g, OP_add, bits,
                         op_scalar_i64(c->g, HULL_I32, 0x7fffff));
    bits = op_binary(c->g, OP_and, bits,
                     op_scalar_i64(c->g, HULL_I32, -0x800000));
    n = node_new(c->g, OP_bitcast);
    node_input(c->g, n, bits);
    node_dtype(c->g, n, "to", HULL_F32);
    val power = node_add(c->g, n);
    *x = op_where(c->g, op_unary(c->g, OP_is_nan, v), v, power);
    return HULL_OK;
}

static hull_status cast_to(onnx_call *c, hull_dtype to)
{
    const type *t = onnx_type(c, c->in[0]);
    val x = c->in[0];
    node *n = NULL;

    if (t && t->dtype == to) {
        c->out[0] = c->in[0];
        return HULL_OK;
    }
    if (to == HULL_F8E8M0)
        TRY(to_power(c, &x));
    n = node_new(c->g, OP_cast);
    node_input(c->g, n, x);
    node_dtype(c->g, n, "to", to);
    node_bool(c->g, n, "saturate", onnx_int(c, "saturate", 1) != 0);
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}

hull_status onnx_cast(onnx_call *c)
{
    int64_t code = onnx_int(c, "to", 0);
    hull_dtype to = onnx_value_dtype(code);

    if (to == HULL_NONE)
        return fail(HULL_EUNSUPPORTED, "attribute 'to' is %" PRId64
                    ", not a known type", code);
    return cast_to(c, to);
}

hull_status onnx_bitcast(onnx_call *c)
{
    int64_t code = onnx_int(c, "to", 0);
    node *n = node_new(c->g, OP_bitcast);

    if (onnx_dtype(code) == HULL_NONE)
        return fail(HULL_EUNSUPPORTED, "attribute 'to' is %" PRId64
                    ", not a numeric type", code);
    node_input(c->g, n, c->in[0]);
    node_dtype(c->g, n, "to", onnx_dtype(code));
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}

hull_status onnx_cast_like(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[1]);

    return t ? cast_to(c, t->dtype) : ir_status(c->m);
}

hull_status onnx_einsum(onnx_call *c)
{
    str equation = onnx_str(c, "equation", "");

    for (uint32_t i = 0; i < c->n_in; i++) {
        const type *t = onnx_type(c, c->in[i]);

        if (t && t->rank >= 2)
            front_is_parameter(c->f, c->in[i]);
    }
    return lower_einsum(c->f, equation, c->in, c->n_in, &c->out[0]);
}
