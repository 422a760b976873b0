/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * aten_act.c - lowerings of activations: those without an op of their own are
 * written with simpler ones, as PyTorch defines them.
 */
#include "front/aten.h"

#include <math.h>

static val unary_float(aten_call *c, op_code op, const char *name, double v)
{
    node *n = node_new(c->g, op);

    node_input(c->g, n, arg_tensor(c, 0));
    node_float(c->g, n, name, v);
    return node_add(c->g, n);
}

static val binary(aten_call *c, op_code op, val a, val b)
{
    return op_binary(c->g, op, a, b);
}

static val number_like(aten_call *c, val x, double v)
{
    return aten_number(c, call_dtype(c, x), v);
}

static val scale(aten_call *c, val x, double v)
{
    return v >= 1 && v <= 1 ? x : binary(c, OP_mul, x, number_like(c, x, v));
}

static bool is_one(double v)
{
    return v >= 1 && v <= 1;
}

void aten_gelu(aten_call *c)
{
    node *n = node_new(c->g, OP_gelu);
    str mode = arg_str(c, 1);

    if (!str_is(mode, "none") && !str_is(mode, "tanh"))
        call_fail(c, HULL_EUNSUPPORTED, "approximation");
    node_input(c->g, n, arg_tensor(c, 0));
    node_bool(c->g, n, "tanh", str_is(mode, "tanh"));
    ret(c, node_add(c->g, n));
}

void aten_leaky_relu(aten_call *c)
{
    ret(c, unary_float(c, OP_leaky_relu, "alpha", arg_num(c, 1)));
}

static val hard_sigmoid(aten_call *c, val x)
{
    node *n = node_new(c->g, OP_hard_sigmoid);

    node_input(c->g, n, x);
    node_float(c->g, n, "alpha", 1.0 / 6);
    node_float(c->g, n, "beta", 0.5);
    return node_add(c->g, n);
}

void aten_hardsigmoid(aten_call *c)
{
    ret(c, hard_sigmoid(c, arg_tensor(c, 0)));
}

void aten_hardswish(aten_call *c)
{
    val x = arg_tensor(c, 0);

    ret(c, binary(c, OP_mul, x, hard_sigmoid(c, x)));
}

void aten_hardtanh(aten_call *c)
{
    ret(c, aten_clamp(c, arg_tensor(c, 0), arg_num(c, 1), arg_num(c, 2)));
}

void aten_relu6(aten_call *c)
{
    ret(c, aten_clamp(c, arg_tensor(c, 0), 0, 6));
}

static val softplus(aten_call *c, val x, double beta, double threshold)
{
    node *n = node_new(c->g, OP_softplus);

    node_input(c->g, n, x);
    node_float(c->g, n, "beta", beta);
    node_float(c->g, n, "threshold", threshold);
    return node_add(c->g, n);
}

void aten_softplus(aten_call *c)
{
    ret(c, softplus(c, arg_tensor(c, 0), arg_num(c, 1), arg_num(c, 2)));
}

void aten_mish(aten_call *c)
{
    val x = arg_tensor(c, 0);
    val t = op_unary(c->g, OP_tanh, softplus(c, x, 1, HUGE_VAL));

    ret(c, binary(c, OP_mul, x, t));
}

/* param: 1 = with a buffer that only the gradient reads. */
void aten_log_sigmoid(aten_call *c)
{
    val x = op_unary(c->g, OP_neg, arg_tensor(c, 0));

    ret(c, op_unary(c->g, OP_neg, softplus(c, x, 1, HUGE_VAL)));
    if (c->row->param)
        ret_unread(c, "the buffer of log_sigmoid_forward is not computed");
}

/* scale (x > 0 ? x : alpha (exp(x input_scale) - 1)) */
static val elu(aten_call *c, double alpha, double outer, double inner)
{
    val x = arg_tensor(c, 0);

    if (is_one(inner))
        return scale(c, unary_float(c, OP_elu, "alpha", alpha), outer);
    val low = op_unary(c->g, OP_expm1, scale(c, x, inner));
    val y = aten_where(c, binary(c, OP_gt, x, number_like(c, x, 0)), x,
                       scale(c, low, alpha));
    return scale(c, y, outer);
}

void aten_elu(aten_call *c)
{
    double alpha = arg_num(c, 1), outer = arg_num(c, 2), inner = arg_num(c, 3);

    ret(c, elu(c, alpha, outer, inner));
}

void aten_celu(aten_call *c)
{
    double alpha = arg_num(c, 1);

    if (!(alpha > 0 || alpha < 0))
        call_fail(c, HULL_EFORMAT, "alpha is 0");
    else
        ret(c, elu(c, alpha, 1, 1 / alpha));
}

void aten_selu(aten_call *c)
{
    ret(c, elu(c, 1.6732632423543772, 1.0507009873554805, 1));
}

void aten_prelu(aten_call *c)
{
    val x = arg_tensor(c, 0), w = arg_tensor(c, 1);
    uint32_t rank = call_rank(c, x);
    dim d[HULL_MAX_RANK];

    front_is_parameter(c->f, w);
    if (rank == 0 && call_rank(c, w) == 1) {
        w = op_reshape(c->g, w, NULL, 0);
    } else if (rank >= 2 && call_rank(c, w) == 1) {
        for (uint32_t i = 0; i < rank; i++)
            d[i] = i == 1 ? call_dims(c, w)[0] : 1;
        w = op_reshape(c->g, w, d, rank);
    }
    val low = binary(c, OP_mul, x, w);
    ret(c, aten_where(c, binary(c, OP_gt, x, number_like(c, x, 0)), x, low));
}

void aten_glu(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t axis = arg_axis(c, 1, call_rank(c, x));

    if (c->st != HULL_OK)
        return;
    dim size = call_dims(c, x)[axis], half = dim_div(c->m, size, 2);
    val a = aten_slice1(c, x, axis, 0, half);
    val b = aten_slice1(c, x, axis, half, size);
    ret(c, binary(c, OP_mul, a, op_unary(c->g, OP_sigmoid, b)));
}

void aten_hardshrink(aten_call *c)
{
    val x = arg_tensor(c, 0), limit = number_like(c, x, arg_num(c, 1));
    val small = binary(c, OP_le, op_unary(c->g, OP_abs, x), limit);

    ret(c, aten_where(c, small, number_like(c, x, 0), x));
}

void aten_softshrink(aten_call *c)
{
    val x = arg_tensor(c, 0), limit = number_like(c, x, arg_num(c, 1));
    val minus = op_unary(c->g, OP_neg, limit), zero = number_like(c, x, 0);
    val y = aten_where(c, binary(c, OP_lt, x, minus),
                       binary(c, OP_add, x, limit), zero);

    y = aten_where(c, binary(c, OP_gt, x, limit), binary(c, OP_sub, x, limit),
                   y);
    ret(c, aten_where(c, op_unary(c->g, OP_is_nan, x), x, y));
}

void aten_threshold(aten_call *c)
{
    val x = arg_tensor(c, 0);
    val low = binary(c, OP_le, x, number_like(c, x, arg_num(c, 1)));

    ret(c, aten_where(c, low, number_like(c, x, arg_num(c, 2)), x));
}

void aten_logit(aten_call *c)
{
    val x = aten_float(c, arg_tensor(c, 0));

    if (!arg_none(c, 1)) {
        double eps = arg_num(c, 1);
        x = aten_clamp(c, x, eps, 1 - eps);
    }
    val rest = binary(c, OP_sub, number_like(c, x, 1), x);
    ret(c, op_unary(c->g, OP_log, binary(c, OP_div, x, rest)));
}

/* _softmax(x, dim, half_to_float), softmax.int(x, dim, dtype): param is the
 * op. Results in a wider type are computed in it. */
void aten_softmax(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t rank = call_rank(c, x), axis = rank ? arg_axis(c, 1, rank) : 0;

    if (c->args[2].kind == ATEN_BOOL) {
        if (c->args[2].b)
            x = op_cast(c->g, x, HULL_F32);
    } else {
        x = op_cast(c->g, x, arg_dtype(c, 2, call_dtype(c, x)));
    }
    if (rank == 0)
        x = aten_insert_axis(c, x, 0);
    node *n = node_new(c->g, (op_code)c->row->param);
    node_input(c->g, n, x);
    node_int(c->g, n, "axis", axis);
    x = node_add(c->g, n);
    ret(c, rank ? x : aten_drop_axis(c, x, 0));
}

static bool refuse_training(aten_call *c, uint32_t i)
{
    if (!arg_none(c, i) && arg_bool(c, i))
        call_fail(c, HULL_EUNSUPPORTED,
                  "exported in training mode; call model.eval() before export");
    return c->st != HULL_OK;
}

/* What is dropped is drawn by the session: the result, and the mask. */
static val drop(aten_call *c, val *mask)
{
    val x = arg_tensor(c, 0), ratio = aten_number(c, HULL_F32, arg_num(c, 1));

    *mask = 0;
    return c->st == HULL_OK ? front_dropout(c->f, x, ratio, NULL, mask) : 0;
}

/* param 1: the plain one, which may be in training mode. */
void aten_dropout(aten_call *c)
{
    val mask;

    if (c->row->param == 1 && !arg_none(c, 2) && arg_bool(c, 2))
        ret(c, drop(c, &mask));
    else if (!refuse_training(c, 2))
        ret(c, arg_tensor(c, 0));
}

void aten_native_dropout(aten_call *c)
{
    val x = arg_tensor(c, 0), mask;

    if (!arg_none(c, 2) && arg_bool(c, 2)) {
        ret(c, drop(c, &mask));
        ret(c, mask);
        return;
    }
    ret(c, x);
    ret(c, aten_full(c, op_scalar_i64(c->g, HULL_BOOL, 1), call_dims(c, x),
                     call_rank(c, x)));
}
