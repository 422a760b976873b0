/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * aten_math.c - lowerings of arithmetic, comparison, logic and selection: what
 * broadcasts two or three operands after type promotion.
 */
#include "front/aten.h"

#include <math.h>

/* Operands 0 and 1 of the call as tensors of their common dtype. */
static hull_dtype two(aten_call *c, val *a, val *b)
{
    const aten_value *x[] = {&c->args[0], &c->args[1]};
    hull_dtype dt = aten_promote(c, x, 2);

    *a = aten_as(c, x[0], dt);
    *b = aten_as(c, x[1], dt);
    return dt;
}

/* The same as floats: integers do not pass through their common type. */
static hull_dtype two_floats(aten_call *c, val *a, val *b)
{
    const aten_value *x[] = {&c->args[0], &c->args[1]};
    hull_dtype dt = aten_promote(c, x, 2);

    if (!dtype_is_float(dt) && !dtype_is_complex(dt))
        dt = HULL_F32;
    *a = aten_as(c, x[0], dt);
    *b = aten_as(c, x[1], dt);
    return dt;
}

static val binary(aten_call *c, op_code op, val a, val b)
{
    if (dtype_is_complex(call_dtype(c, a)))
        return aten_complex_binary(c, op, a, b);
    return op_binary(c->g, op, a, b);
}

static val unary(aten_call *c, op_code op, val x)
{
    if (dtype_is_complex(call_dtype(c, x)))
        return aten_complex_unary(c, op, x);
    return op_unary(c->g, op, x);
}

void aten_unary_float(aten_call *c)
{
    val x = aten_float(c, arg_tensor(c, 0));

    ret(c, unary(c, (op_code)c->row->param, x));
}

/* Integers stay what they are. */
void aten_unary_same(aten_call *c)
{
    ret(c, unary(c, (op_code)c->row->param, arg_tensor(c, 0)));
}

/* The sign of NaN is 0, of a bool the bool. */
void aten_sign(aten_call *c)
{
    val x = arg_tensor(c, 0);
    hull_dtype dt = call_dtype(c, x);

    if (dt == HULL_BOOL) {
        ret(c, x);
        return;
    }
    val y = op_unary(c->g, OP_sign, x);
    if (dtype_is_float(dt))
        y = aten_where(c, op_unary(c->g, OP_is_nan, x), aten_number(c, dt, 0),
                       y);
    ret(c, y);
}

/* floor, ceil, round, trunc: nothing to do for integers. */
void aten_unary_round(aten_call *c)
{
    val x = arg_tensor(c, 0);

    ret(c, dtype_is_float(call_dtype(c, x))
               ? op_unary(c->g, (op_code)c->row->param, x)
               : x);
}

void aten_bitwise_not(aten_call *c)
{
    val x = arg_tensor(c, 0);
    bool logical = call_dtype(c, x) == HULL_BOOL;

    ret(c, op_unary(c->g, logical ? OP_not : OP_bit_not, x));
}

void aten_logical_not(aten_call *c)
{
    ret(c, op_unary(c->g, OP_not, op_cast(c->g, arg_tensor(c, 0), HULL_BOOL)));
}

/* Integers hold no such values. */
void aten_is_special(aten_call *c)
{
    ret(c, op_unary(c->g, (op_code)c->row->param,
                    aten_float(c, arg_tensor(c, 0))));
}

void aten_isfinite(aten_call *c)
{
    val x = aten_float(c, arg_tensor(c, 0));
    val bad = binary(c, OP_or, op_unary(c->g, OP_is_nan, x),
                     op_unary(c->g, OP_is_inf, x));

    ret(c, op_unary(c->g, OP_not, bad));
}

/* log2, log10: param is the base. */
void aten_log_base(aten_call *c)
{
    val x = op_unary(c->g, OP_log, aten_float(c, arg_tensor(c, 0)));
    hull_dtype dt = call_dtype(c, x);

    ret(c, binary(c, OP_mul, x,
                  aten_number(c, dt, 1 / log((double)c->row->param))));
}

void aten_square(aten_call *c)
{
    val x = arg_tensor(c, 0);

    if (call_dtype(c, x) == HULL_BOOL)
        x = op_cast(c->g, x, HULL_I64);
    ret(c, binary(c, OP_mul, x, x));
}

void aten_nan_to_num(aten_call *c)
{
    val x = arg_tensor(c, 0);
    hull_dtype dt = call_dtype(c, x);
    double most = dt == HULL_F16 ? 65504.0
                  : dt == HULL_BF16 ? 3.3895313892515355e38
                  : dt == HULL_F64 ? 1.7976931348623157e308
                                   : 3.4028234663852886e38;

    if (!dtype_is_float(dt)) {
        ret(c, x);
        return;
    }
    double nan_is = arg_none(c, 1) ? 0 : arg_num(c, 1);
    double pos_is = arg_none(c, 2) ? most : arg_num(c, 2);
    double neg_is = arg_none(c, 3) ? -most : arg_num(c, 3);
    val pos = aten_number(c, dt, HUGE_VAL), neg = aten_number(c, dt, -HUGE_VAL);
    val y = aten_where(c, binary(c, OP_eq, x, pos), aten_number(c, dt, pos_is),
                       x);
    y = aten_where(c, binary(c, OP_eq, x, neg), aten_number(c, dt, neg_is), y);
    ret(c, aten_where(c, op_unary(c->g, OP_is_nan, x),
                      aten_number(c, dt, nan_is), y));
}

/* ---- two operands -------------------------------------------------------- */

void aten_binary(aten_call *c)
{
    op_code op = (op_code)c->row->param;
    val a, b;

    /* Products and minima of bools are logic. */
    if (two(c, &a, &b) == HULL_BOOL)
        op = op == OP_mul || op == OP_min ? OP_and : op == OP_max ? OP_or : op;
    ret(c, binary(c, op, a, b));
}

static bool equals(double a, double b)
{
    return a <= b && a >= b;
}

/* pow(self, exponent): roots as such. */
void aten_pow(aten_call *c)
{
    val a, b;
    hull_dtype dt = two(c, &a, &b);

    if (c->args[1].kind == ATEN_FLOAT && dtype_is_float(dt) &&
        equals(fabs(c->args[1].f), 0.5)) {
        ret(c, op_unary(c->g, c->args[1].f > 0 ? OP_sqrt : OP_rsqrt, a));
        return;
    }
    if (dt == HULL_BOOL) { /* PyTorch's result of two bools */
        a = op_cast(c->g, a, HULL_I64);
        b = op_cast(c->g, b, HULL_I64);
    }
    ret(c, binary(c, OP_pow, a, b));
}

static bool is_one(aten_call *c, uint32_t i)
{
    double v = arg_num(c, i);

    return v >= 1 && v <= 1;
}

/* self + alpha other, self - alpha other; rsub swaps the two. */
static void add_scaled(aten_call *c, op_code op, bool swapped)
{
    val a, b;
    hull_dtype dt = two(c, &a, &b);

    if (swapped) {
        val t = a;
        a = b;
        b = t;
    }
    if (!is_one(c, 2))
        b = binary(c, OP_mul, b, aten_as(c, &c->args[2], dt));
    if (dt == HULL_BOOL && op == OP_add)
        op = OP_or;
    ret(c, binary(c, op, a, b));
}

void aten_add(aten_call *c)
{
    add_scaled(c, (op_code)c->row->param, false);
}

void aten_rsub(aten_call *c)
{
    add_scaled(c, OP_sub, true);
}

static val divide(aten_call *c, val a, val b, str mode)
{
    node *n = node_new(c->g, OP_div);

    node_input(c->g, n, a);
    node_input(c->g, n, b);
    node_str(c->g, n, "round", mode);
    return node_add(c->g, n);
}

/* True division: of integers too. */
void aten_div(aten_call *c)
{
    val a, b;

    (void)two_floats(c, &a, &b);
    ret(c, binary(c, OP_div, a, b));
}

void aten_div_mode(aten_call *c)
{
    val a, b;

    if (arg_none(c, 2)) {
        aten_div(c);
        return;
    }
    (void)two(c, &a, &b);
    ret(c, divide(c, a, b, arg_str(c, 2)));
}

void aten_floor_divide(aten_call *c)
{
    val a, b;

    (void)two(c, &a, &b);
    ret(c, divide(c, a, b, str_of("floor")));
}

/* param: 1 = the sign of the divisor (remainder), 0 = of the dividend. */
void aten_mod(aten_call *c)
{
    val a, b;

    (void)two(c, &a, &b);
    node *n = node_new(c->g, OP_mod);
    node_input(c->g, n, a);
    node_input(c->g, n, b);
    node_bool(c->g, n, "floor", c->row->param != 0);
    ret(c, node_add(c->g, n));
}

/* Trigonometry of two operands is of floats. */
void aten_binary_float(aten_call *c)
{
    val a, b;

    (void)two_floats(c, &a, &b);
    ret(c, binary(c, (op_code)c->row->param, a, b));
}

void aten_logical(aten_call *c)
{
    val a = op_cast(c->g, arg_tensor(c, 0), HULL_BOOL);
    val b = op_cast(c->g, arg_tensor(c, 1), HULL_BOOL);

    ret(c, binary(c, (op_code)c->row->param, a, b));
}

void aten_outer(aten_call *c)
{
    val a, b;

    (void)two(c, &a, &b);
    ret(c, binary(c, OP_mul, aten_insert_axis(c, a, 1),
                  aten_insert_axis(c, b, 0)));
}

/* ---- three operands ------------------------------------------------------ */

void aten_where_self(aten_call *c)
{
    const aten_value *x[] = {&c->args[1], &c->args[2]};
    hull_dtype dt = aten_promote(c, x, 2);
    val cond = op_cast(c->g, arg_tensor(c, 0), HULL_BOOL);

    ret(c, aten_where(c, cond, aten_as(c, x[0], dt), aten_as(c, x[1], dt)));
}

void aten_masked_fill(aten_call *c)
{
    val x = arg_tensor(c, 0);
    val mask = op_cast(c->g, arg_tensor(c, 1), HULL_BOOL);

    ret(c, aten_where(c, mask, aten_as(c, &c->args[2], call_dtype(c, x)), x));
}

/* A bound that a double does not hold, or NaN, which is the result then. */
static val clamp_exactly(aten_call *c, val x, const aten_value *lo,
                         const aten_value *hi)
{
    hull_dtype dt = call_dtype(c, x);

    if (lo)
        x = binary(c, OP_max, x, aten_as(c, lo, dt));
    return hi ? binary(c, OP_min, x, aten_as(c, hi, dt)) : x;
}

static bool is_plain_bound(aten_call *c, uint32_t i, double *out)
{
    double most = (double)((int64_t)1 << 53);

    *out = arg_num(c, i);
    return !isnan(*out) && (c->args[i].kind == ATEN_FLOAT ||
                            call_dtype(c, c->args[0].v) != HULL_I64 ||
                            (*out < most && *out > -most));
}

static void clamp_numbers(aten_call *c, uint32_t lo, uint32_t hi)
{
    const aten_value *x[3] = {&c->args[0]}, *low = NULL, *high = NULL;
    double min = -HUGE_VAL, max = HUGE_VAL;
    bool plain = true;
    uint32_t n = 1;

    if (lo && !arg_none(c, lo)) {
        low = x[n++] = &c->args[lo];
        plain &= is_plain_bound(c, lo, &min);
    }
    if (hi && !arg_none(c, hi)) {
        high = x[n++] = &c->args[hi];
        plain &= is_plain_bound(c, hi, &max);
    }
    hull_dtype dt = aten_promote(c, x, n);
    val y = aten_as(c, x[0], dt);
    ret(c, plain ? aten_clamp(c, y, min, max)
                 : clamp_exactly(c, y, low, high));
}

void aten_clamp_both(aten_call *c)
{
    clamp_numbers(c, 1, 2);
}

/* param: 1 = the number is the lower bound, 0 = the upper one. */
void aten_clamp_one(aten_call *c)
{
    clamp_numbers(c, c->row->param ? 1 : 0, c->row->param ? 0 : 1);
}

/* clamp_max.Tensor(self, max) */
void aten_clamp_max_tensor(aten_call *c)
{
    const aten_value *x[] = {&c->args[0], &c->args[1]};
    hull_dtype dt = aten_promote(c, x, 2);

    ret(c, binary(c, OP_min, aten_as(c, x[0], dt), aten_as(c, x[1], dt)));
}

void aten_clamp_tensor(aten_call *c)
{
    const aten_value *x[3] = {&c->args[0]};
    uint32_t n = 1;

    for (uint32_t i = 1; i < 3; i++)
        if (!arg_none(c, i))
            x[n++] = &c->args[i];
    hull_dtype dt = aten_promote(c, x, n);
    val y = aten_as(c, x[0], dt);
    if (!arg_none(c, 1))
        y = binary(c, OP_max, y, aten_as(c, &c->args[1], dt));
    if (!arg_none(c, 2))
        y = binary(c, OP_min, y, aten_as(c, &c->args[2], dt));
    ret(c, y);
}

/* Halves are computed in f32 where several roundings would add up. */
static hull_dtype computed_in(hull_dtype dt)
{
    return dt == HULL_F16 || dt == HULL_BF16 ? HULL_F32 : dt;
}

/* self + value t1 t2, self + value t1 / t2. */
void aten_addc(aten_call *c)
{
    const aten_value *x[] = {&c->args[0], &c->args[1], &c->args[2]};
    hull_dtype to = aten_promote(c, x, 3), dt = computed_in(to);
    val y = binary(c, (op_code)c->row->param, aten_as(c, x[1], dt),
                   aten_as(c, x[2], dt));

    if (!is_one(c, 3))
        y = binary(c, OP_mul, y, aten_as(c, &c->args[3], dt));
    ret(c, op_cast(c->g, binary(c, OP_add, aten_as(c, x[0], dt), y), to));
}

void aten_lerp(aten_call *c)
{
    const aten_value *x[] = {&c->args[0], &c->args[1], &c->args[2]};
    hull_dtype to = aten_promote(c, x, 3), dt = computed_in(to);
    val a = aten_as(c, x[0], dt), b = aten_as(c, x[1], dt);
    val d = binary(c, OP_mul, aten_as(c, x[2], dt), binary(c, OP_sub, b, a));

    ret(c, op_cast(c->g, binary(c, OP_add, a, d), to));
}

/* (equation, tensors, path) */
void aten_einsum(aten_call *c)
{
    const aten_value *x = &c->args[1];
    str equation = arg_str(c, 0);
    val v = 0;

    if (x->kind != ATEN_TENSORS || x->n == 0)
        call_fail(c, HULL_EFORMAT, "no operands");
    if (c->st == HULL_OK)
        c->st = note(lower_einsum(c->f, equation, x->vals, x->n, &v),
                     "aten.einsum");
    ret(c, v);
}

void aten_identity(aten_call *c)
{
    c->may_copy = c->row->param != 0;
    ret(c, arg_tensor(c, 0));
}

/* An assertion that the exporter checked: no result. */
void aten_nothing(aten_call *c)
{
    (void)c;
}
