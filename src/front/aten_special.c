/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * aten_special.c - lowerings of pointwise functions without an op of their own:
 * error functions, signs, logarithms of sums, comparisons with a tolerance.
 */
#include "front/aten.h"

#include <math.h>

#define PI 3.14159265358979323846

static val binary(aten_call *c, op_code op, val a, val b)
{
    return op_binary(c->g, op, a, b);
}

static val unary(aten_call *c, op_code op, val x)
{
    return op_unary(c->g, op, x);
}

static val like(aten_call *c, val x, double v)
{
    return aten_number(c, call_dtype(c, x), v);
}

/* Operands 0 and 1 in their common type; as floats when `real`. */
static hull_dtype two(aten_call *c, bool real, val *a, val *b)
{
    const aten_value *x[] = {&c->args[0], &c->args[1]};
    hull_dtype dt = aten_promote(c, x, 2);

    if (real && !dtype_is_float(dt))
        dt = HULL_F32;
    *a = aten_as(c, x[0], dt);
    *b = aten_as(c, x[1], dt);
    return dt;
}

/* ---- one operand --------------------------------------------------------- */

/* param: the base's number, raised to the operand. */
void aten_exp_base(aten_call *c)
{
    val x = aten_float(c, arg_tensor(c, 0));

    ret(c, binary(c, OP_pow, like(c, x, c->row->param), x));
}

void aten_frac(aten_call *c)
{
    val x = arg_tensor(c, 0);

    ret(c, binary(c, OP_sub, x, unary(c, OP_trunc, x)));
}

/* The sign is the top bit: of -0.0 and NaN as well. */
static val sign_bit(aten_call *c, val x)
{
    hull_dtype dt = call_dtype(c, x);
    hull_dtype bits = dt == HULL_F64 ? HULL_I64
                      : dt == HULL_F32 ? HULL_I32 : HULL_I16;

    if (dt == HULL_BOOL)
        return binary(c, OP_ne, x, x);
    if (!dtype_is_float(dt))
        return binary(c, OP_lt, x, op_scalar_i64(c->g, dt, 0));
    node *n = node_new(c->g, OP_bitcast);
    node_input(c->g, n, x);
    node_dtype(c->g, n, "to", bits);
    return binary(c, OP_lt, node_add(c->g, n),
                  op_scalar_i64(c->g, bits, 0));
}

void aten_signbit(aten_call *c)
{
    ret(c, sign_bit(c, arg_tensor(c, 0)));
}

/* param: 1 = degrees from radians. */
void aten_degrees(aten_call *c)
{
    val x = aten_float(c, arg_tensor(c, 0));

    ret(c, binary(c, OP_mul, x, like(c, x, c->row->param ? 180 / PI
                                                         : PI / 180)));
}

/* param: 1 = of the positive infinity. */
void aten_is_one_inf(aten_call *c)
{
    node *n = node_new(c->g, OP_is_inf);

    node_input(c->g, n, aten_float(c, arg_tensor(c, 0)));
    node_bool(c->g, n, "negative", !c->row->param);
    node_bool(c->g, n, "positive", c->row->param != 0);
    ret(c, node_add(c->g, n));
}

void aten_sinc(aten_call *c)
{
    val x = aten_float(c, arg_tensor(c, 0));
    val t = binary(c, OP_mul, x, like(c, x, PI));
    val y = binary(c, OP_div, unary(c, OP_sin, t), t);

    ret(c, aten_where(c, binary(c, OP_eq, x, like(c, x, 0)), like(c, x, 1),
                      y));
}

/* a[0] + a[1] z + a[2] z^2 .. */
static val polynomial(aten_call *c, const double *a, int n, val z)
{
    val y = like(c, z, a[n - 1]);

    for (int i = n - 2; i >= 0; i--)
        y = binary(c, OP_add, binary(c, OP_mul, y, z), like(c, z, a[i]));
    return y;
}

/* Winitzki's start, then Newton's steps on erf in double; at the ends of the
 * interval and outside it the values are known. */
void aten_erfinv(aten_call *c)
{
    static const double one_minus_square[] = {1, 0, -1};
    val in = aten_float(c, arg_tensor(c, 0));
    hull_dtype dt = call_dtype(c, in);
    val y = op_cast(c->g, in, HULL_F64);
    const double a = 0.147;
    val l = unary(c, OP_log, polynomial(c, one_minus_square, 3, y));
    val t = binary(c, OP_add, like(c, y, 2 / (PI * a)),
                   binary(c, OP_mul, l, like(c, y, 0.5)));
    val root = unary(c, OP_sqrt,
                     binary(c, OP_sub, binary(c, OP_mul, t, t),
                            binary(c, OP_mul, l, like(c, y, 1 / a))));
    val x = binary(c, OP_mul, unary(c, OP_sign, y),
                   unary(c, OP_sqrt, binary(c, OP_sub, root, t)));

    for (int i = 0; i < 4; i++) {
        val slope = unary(c, OP_exp, binary(c, OP_mul, x, x));
        val step = binary(c, OP_mul, slope,
                          binary(c, OP_sub, unary(c, OP_erf, x), y));

        x = binary(c, OP_sub, x,
                   binary(c, OP_mul, step, like(c, y, sqrt(PI) / 2)));
    }
    val size = unary(c, OP_abs, y), one = like(c, y, 1);
    val end = binary(c, OP_mul, unary(c, OP_sign, y), like(c, y, HUGE_VAL));
    x = aten_where(c, binary(c, OP_lt, size, one), x,
                   aten_where(c, binary(c, OP_eq, size, one), end,
                              like(c, y, (double)NAN)));
    ret(c, op_cast(c->g, x, dt));
}

/* ---- two operands -------------------------------------------------------- */

/* The other one where one is NaN; param: the op. */
void aten_fmax(aten_call *c)
{
    op_code op = (op_code)c->row->param;
    val a, b;
    hull_dtype dt = two(c, false, &a, &b);

    if (dt == HULL_BOOL)
        op = op == OP_max ? OP_or : OP_and;
    val y = binary(c, op, a, b);
    if (dtype_is_float(dt)) {
        y = aten_where(c, unary(c, OP_is_nan, b), a, y);
        y = aten_where(c, unary(c, OP_is_nan, a), b, y);
    }
    ret(c, y);
}

void aten_hypot(aten_call *c)
{
    val a, b;
    hull_dtype dt = two(c, true, &a, &b);
    val inf = binary(c, OP_or, unary(c, OP_is_inf, a), unary(c, OP_is_inf, b));
    val x = unary(c, OP_abs, op_cast(c->g, a, HULL_F64));
    val y = unary(c, OP_abs, op_cast(c->g, b, HULL_F64));
    val most = binary(c, OP_max, x, y), least = binary(c, OP_min, x, y);
    val r = binary(c, OP_div, least,
                   binary(c, OP_max, most, like(c, x, 1e-300)));

    r = binary(c, OP_add, binary(c, OP_mul, r, r), like(c, x, 1));
    r = binary(c, OP_mul, most, unary(c, OP_sqrt, r));
    ret(c, aten_where(c, inf, aten_number(c, dt, HUGE_VAL),
                      op_cast(c->g, r, dt)));
}

void aten_copysign(aten_call *c)
{
    val a, b;

    (void)two(c, true, &a, &b);
    a = unary(c, OP_abs, a);
    ret(c, aten_where(c, sign_bit(c, b), unary(c, OP_neg, a), a));
}

/* x log(y), 0 where x is 0; param: 1 = log1p. */
void aten_xlogy(aten_call *c)
{
    val x, y;

    (void)two(c, true, &x, &y);
    val p = binary(c, OP_mul, x,
                   unary(c, c->row->param ? OP_log1p : OP_log, y));
    p = aten_where(c, binary(c, OP_eq, x, like(c, x, 0)), like(c, x, 0), p);
    ret(c, aten_where(c, unary(c, OP_is_nan, y), y, p));
}

/* log(exp(a) + exp(b)); param 2: to the base 2. */
void aten_logaddexp(aten_call *c)
{
    double scale = c->row->param == 2 ? log(2) : 1;
    val a, b;

    (void)two(c, true, &a, &b);
    val same = binary(c, OP_and, binary(c, OP_eq, a, b),
                      unary(c, OP_is_inf, a));
    val far = unary(c, OP_neg, unary(c, OP_abs, binary(c, OP_sub, a, b)));
    val e = unary(c, OP_exp, binary(c, OP_mul, far, like(c, a, scale)));
    val l = binary(c, OP_mul, unary(c, OP_log1p, e), like(c, a, 1 / scale));

    ret(c, aten_where(c, same, a, binary(c, OP_add, binary(c, OP_max, a, b),
                                         l)));
}

void aten_heaviside(aten_call *c)
{
    val x, v;
    hull_dtype dt = two(c, false, &x, &v);
    val zero = aten_number(c, dt, 0);

    if (dt == HULL_BOOL) {
        ret(c, binary(c, OP_or, x, v));
        return;
    }
    val up = op_cast(c->g, binary(c, OP_gt, x, zero), dt);
    ret(c, aten_where(c, binary(c, OP_eq, x, zero), v, up));
}

void aten_ldexp(aten_call *c)
{
    val x, e;

    (void)two(c, true, &x, &e);
    ret(c, binary(c, OP_mul, x, binary(c, OP_pow, like(c, x, 2), e)));
}

/* |a - b| <= atol + rtol |b|, or equal: (self, other, rtol, atol, equal_nan) */
void aten_isclose(aten_call *c)
{
    double rtol = arg_num(c, 2), atol = arg_num(c, 3);
    bool nan_too = arg_bool(c, 4);
    val a, b;
    hull_dtype dt = two(c, false, &a, &b);
    val same = binary(c, OP_eq, a, b);

    if (nan_too && dtype_is_float(dt))
        same = binary(c, OP_or, same,
                      binary(c, OP_and, unary(c, OP_is_nan, a),
                             unary(c, OP_is_nan, b)));
    if (dt != HULL_F64)
        dt = dtype_is_float(dt) ? HULL_F32 : HULL_F64;
    a = op_cast(c->g, a, dt);
    b = op_cast(c->g, b, dt);
    val far = unary(c, OP_abs, binary(c, OP_sub, a, b));
    val room = binary(c, OP_mul, unary(c, OP_abs, b),
                      aten_number(c, dt, rtol));
    room = binary(c, OP_add, room, aten_number(c, dt, atol));
    val near = binary(c, OP_and, binary(c, OP_le, far, room),
                      binary(c, OP_lt, far, aten_number(c, dt, HUGE_VAL)));
    ret(c, binary(c, OP_or, same, near));
}

/* round(self, decimals): x 10^d rounded, over 10^d. */
void aten_round_decimals(aten_call *c)
{
    val x = arg_tensor(c, 0);
    int64_t d = arg_int(c, 1);

    if (c->st != HULL_OK)
        return;
    if (!dtype_is_float(call_dtype(c, x)) || d == 0) {
        ret(c, dtype_is_float(call_dtype(c, x)) ? unary(c, OP_round, x) : x);
        return;
    }
    val ten = like(c, x, pow(10, fabs((double)d)));
    x = binary(c, d > 0 ? OP_mul : OP_div, x, ten);
    ret(c, binary(c, d > 0 ? OP_div : OP_mul, unary(c, OP_round, x), ten));
}

/* rrelu(self, lower, upper, training): the mean slope. */
void aten_rrelu(aten_call *c)
{
    double slope = (arg_num(c, 1) + arg_num(c, 2)) / 2;
    node *n = node_new(c->g, OP_leaky_relu);

    if (arg_bool(c, 3))
        call_fail(c, HULL_EUNSUPPORTED,
                  "exported in training mode; call model.eval() before export");
    node_input(c->g, n, arg_tensor(c, 0));
    node_float(c->g, n, "alpha", slope);
    ret(c, node_add(c->g, n));
}
