/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * unary.c - y = f(x): floats in double, integers in 64 bits. The attributes of
 * an op are read once per call, into two parameters.
 */
#include "ops/family.h"

#include <math.h>

static unsigned wanted(op_code op)
{
    switch (op) {
    case OP_neg:
    case OP_abs:
    case OP_sign:
    case OP_relu:
    case OP_clamp:
    case OP_floor:
    case OP_ceil:
    case OP_round:
    case OP_trunc:
        return WANT_FLOAT | WANT_INT;
    case OP_not:
    case OP_is_nan:
    case OP_is_inf:
        return WANT_REAL;
    case OP_bit_not:
        return WANT_INT | WANT_BOOL;
    default:
        return WANT_FLOAT;
    }
}

static bool gives_bool(op_code op)
{
    return op == OP_not || op == OP_is_nan || op == OP_is_inf;
}

hull_status unary_infer(graph *g, node *n)
{
    const type *t = NULL;

    TRY(infer_tensor(&t, g, n, 0));
    TRY(infer_want(n, t, wanted(n->op)));
    return infer_out(g, n, 0, gives_bool(n->op) ? HULL_BOOL : t->dtype,
                     t->dims, t->rank);
}

/* ---- floats -------------------------------------------------------------- */

typedef struct params {
    double a, b;
} params;

static params params_of(const node *n)
{
    params p = {0, 0};

    switch (n->op) {
    case OP_is_inf:
        p.a = attr_bool(n, "negative");
        p.b = attr_bool(n, "positive");
        break;
    case OP_gelu:
        p.a = attr_bool(n, "tanh");
        break;
    case OP_softplus:
        p.a = attr_float(n, "beta");
        p.b = attr_float(n, "threshold");
        break;
    case OP_elu:
    case OP_leaky_relu:
        p.a = attr_float(n, "alpha");
        break;
    case OP_hard_sigmoid:
        p.a = attr_float(n, "alpha");
        p.b = attr_float(n, "beta");
        break;
    case OP_clamp:
        p.a = attr_float(n, "min");
        p.b = attr_float(n, "max");
        break;
    default:
        break;
    }
    return p;
}

/* NaN passes, also that of a bound; when low > high the result is high. */
static double clamp(double x, double low, double high)
{
    if (isnan(low) || isnan(high))
        return (double)NAN;
    if (x < low)
        x = low;
    return x > high ? high : x;
}

static double gelu(double x, bool use_tanh)
{
    const double root = 0.70710678118654752440;  /* sqrt(1/2) */
    const double scale = 0.79788456080286535588; /* sqrt(2/pi) */

    if (use_tanh)
        return 0.5 * x * (1 + tanh(scale * (x + 0.044715 * x * x * x)));
    return 0.5 * x * erfc(-x * root);
}

static double softplus(double x, double beta, double threshold)
{
    double bx = beta * x;

    if (bx > threshold)
        return x;
    return (bx > 0 ? bx + log1p(exp(-bx)) : log1p(exp(bx))) / beta;
}

static double sign(double x)
{
    if (isnan(x))
        return x;
    return x > 0 ? 1 : x < 0 ? -1 : 0;
}

static double activation(op_code op, params p, double x)
{
    switch (op) {
    case OP_relu:
        return x < 0 ? 0 : x;
    case OP_sigmoid:
        return 1 / (1 + exp(-x));
    case OP_silu:
        return x / (1 + exp(-x));
    case OP_gelu:
        return gelu(x, p.a != 0);
    case OP_softplus:
        return softplus(x, p.a, p.b);
    case OP_elu:
        return x > 0 ? x : p.a * expm1(x);
    case OP_leaky_relu:
        return x > 0 ? x : p.a * x;
    case OP_hard_sigmoid:
        return clamp(p.a * x + p.b, 0, 1);
    default: /* clamp */
        return clamp(x, p.a, p.b);
    }
}

static double trigonometric(op_code op, double x)
{
    switch (op) {
    case OP_sin:
        return sin(x);
    case OP_cos:
        return cos(x);
    case OP_tan:
        return tan(x);
    case OP_asin:
        return asin(x);
    case OP_acos:
        return acos(x);
    case OP_atan:
        return atan(x);
    case OP_sinh:
        return sinh(x);
    case OP_cosh:
        return cosh(x);
    case OP_tanh:
        return tanh(x);
    case OP_asinh:
        return asinh(x);
    case OP_acosh:
        return acosh(x);
    default: /* atanh */
        return atanh(x);
    }
}

static double float_op(op_code op, params p, double x)
{
    switch (op) {
    case OP_neg:
        return -x;
    case OP_abs:
        return fabs(x);
    case OP_sign:
        return sign(x);
    case OP_exp:
        return exp(x);
    case OP_expm1:
        return expm1(x);
    case OP_log:
        return log(x);
    case OP_log1p:
        return log1p(x);
    case OP_sqrt:
        return sqrt(x);
    case OP_rsqrt:
        return 1 / sqrt(x);
    case OP_reciprocal:
        return 1 / x;
    case OP_erf:
        return erf(x);
    case OP_floor:
        return floor(x);
    case OP_ceil:
        return ceil(x);
    case OP_round:
        return rint(x); /* half to even */
    case OP_trunc:
        return trunc(x);
    default:
        return op >= OP_sin && op <= OP_atanh ? trigonometric(op, x)
                                              : activation(op, p, x);
    }
}

static bool test(op_code op, params p, double x)
{
    if (op == OP_not)
        return x == 0;
    if (op == OP_is_nan)
        return isnan(x);
    return isinf(x) && (x < 0 ? p.a != 0 : p.b != 0);
}

/* ---- integers ------------------------------------------------------------ */

/* A float bound as an integer of the type: inside [low, high], exact. */
static int64_t clamp_int(hull_dtype dt, int64_t x, params p)
{
    const double two63 = 9223372036854775808.0;
    double low = ceil(p.a), high = floor(p.b);

    if (dt == HULL_U64) {
        uint64_t u = (uint64_t)x;

        if (low > 0 && (low >= 2 * two63 || u < (uint64_t)low))
            u = low >= 2 * two63 ? UINT64_MAX : (uint64_t)low;
        if (high < 0 || (high < 2 * two63 && u > (uint64_t)high))
            u = high < 0 ? 0 : (uint64_t)high;
        return (int64_t)u;
    }
    if (low >= two63)
        x = INT64_MAX;
    else if (low > -two63 && x < (int64_t)low)
        x = (int64_t)low;
    if (high < -two63)
        x = INT64_MIN;
    else if (high < two63 && x > (int64_t)high)
        x = (int64_t)high;
    return x;
}

static int64_t int_op(op_code op, hull_dtype dt, params p, int64_t x)
{
    bool positive = dtype_is_unsigned(dt) || x >= 0;

    switch (op) {
    case OP_neg:
        return (int64_t)(0 - (uint64_t)x);
    case OP_abs:
        return positive ? x : (int64_t)(0 - (uint64_t)x);
    case OP_sign:
        return x == 0 ? 0 : positive ? 1 : -1;
    case OP_relu:
        return positive ? x : 0;
    case OP_bit_not:
        return dt == HULL_BOOL ? x == 0 : ~x;
    case OP_clamp:
        return clamp_int(dt, x, p);
    case OP_not:
        return x == 0;
    case OP_is_nan:
    case OP_is_inf:
        return 0;
    default: /* floor, ceil, round, trunc */
        return x;
    }
}

hull_status unary_eval(eval_ctx *cx, const node *n, const tensor *in,
                       tensor *out)
{
    uint64_t numel = (uint64_t)tensor_numel(out);
    hull_dtype from = in[0].dtype, to = out->dtype;
    params p = params_of(n);
    bool is_float = dtype_is_float(from), bools = gives_bool(n->op);

    (void)cx;
    for (uint64_t i = 0; i < numel; i++) {
        if (!is_float)
            store_i64(to, out->data, i,
                      int_op(n->op, from, p, load_i64(from, in[0].data, i)));
        else if (bools)
            store_i64(to, out->data, i,
                      test(n->op, p, load_f64(from, in[0].data, i)));
        else
            store_f64(to, out->data, i,
                      float_op(n->op, p, load_f64(from, in[0].data, i)));
    }
    return HULL_OK;
}
