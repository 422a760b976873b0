/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * binary.c - arithmetic and logic of two operands of one dtype, broadcast.
 * Floats are computed in double, integers in 64 bits and cut to their width.
 */
#include "ops/family.h"

#include <math.h>

static unsigned wanted(op_code op)
{
    switch (op) {
    case OP_atan2:
        return WANT_FLOAT;
    case OP_and:
    case OP_or:
    case OP_xor:
        return WANT_INT | WANT_BOOL;
    case OP_shift_left:
    case OP_shift_right:
        return WANT_INT;
    case OP_add:
    case OP_mul:
    case OP_min:
    case OP_max:
        return WANT_REAL;
    default:
        return WANT_FLOAT | WANT_INT;
    }
}

typedef enum rounding { ROUND_NONE, ROUND_TRUNC, ROUND_FLOOR } rounding;

static hull_status rounding_of(rounding *out, const node *n)
{
    char what[128];
    str s = attr_str(n, "round");

    if (str_is(s, "none"))
        *out = ROUND_NONE;
    else if (str_is(s, "trunc"))
        *out = ROUND_TRUNC;
    else if (str_is(s, "floor"))
        *out = ROUND_FLOOR;
    else
        return fail(HULL_EINVAL,
                    "%s: round '%.*s' is none of none, trunc, floor",
                    node_what(n, what), STR_ARG(s));
    return HULL_OK;
}

hull_status binary_infer(graph *g, node *n)
{
    const type *a = NULL, *b = NULL;
    dim dims[HULL_MAX_RANK];
    uint32_t rank = 0;
    rounding r;

    TRY(infer_tensor(&a, g, n, 0));
    TRY(infer_tensor(&b, g, n, 1));
    TRY(infer_same(n, a, b));
    TRY(infer_want(n, a, wanted(n->op)));
    if (n->op == OP_div)
        TRY(rounding_of(&r, n));
    TRY(infer_broadcast(g, n, a, b, dims, &rank));
    return infer_out(g, n, 0, a->dtype, dims, rank);
}

/* ---- floats -------------------------------------------------------------- */

/* Remainder with the sign of the divisor. */
static double floor_mod(double a, double b)
{
    double m = fmod(a, b);

    if (m != 0 && (b < 0) != (m < 0))
        m += b;
    return m;
}

/* floor(a / b), exact where the rounded quotient would cross an integer. */
static double floor_div(double a, double b)
{
    double m = 0, q = 0, f = 0;

    if (b == 0)
        return a / b;
    m = fmod(a, b);
    q = (a - m) / b;
    if (m != 0 && (b < 0) != (m < 0))
        q -= 1;
    if (q == 0)
        return copysign(0.0, a / b);
    f = floor(q);
    return q - f > 0.5 ? f + 1 : f;
}

/* NaN wins; of the zeros -0 is the smaller one, so the operands commute. */
static double float_min(double a, double b)
{
    if (a == b)
        return signbit(a) ? a : b;
    return isnan(a) || a < b ? a : b;
}

static double float_max(double a, double b)
{
    if (a == b)
        return signbit(a) ? b : a;
    return isnan(a) || a > b ? a : b;
}

typedef struct mode {
    op_code op;
    rounding round;
    bool floor;
    hull_dtype dtype;
} mode;

static double float_op(const mode *m, double a, double b)
{
    switch (m->op) {
    case OP_add:
        return a + b;
    case OP_sub:
        return a - b;
    case OP_mul:
        return a * b;
    case OP_div:
        return m->round == ROUND_NONE    ? a / b
               : m->round == ROUND_TRUNC ? trunc(a / b)
                                         : floor_div(a, b);
    case OP_mod:
        return m->floor ? floor_mod(a, b) : fmod(a, b);
    case OP_pow:
        return pow(a, b);
    case OP_min:
        return float_min(a, b);
    case OP_max:
        return float_max(a, b);
    default:
        return atan2(a, b);
    }
}

/* ---- integers ------------------------------------------------------------ */

/* Negative exponents give 0 but for the bases 1 and -1. */
static int64_t int_pow(int64_t base, int64_t exponent, bool is_unsigned)
{
    uint64_t result = 1, b = (uint64_t)base, e = (uint64_t)exponent;

    if (!is_unsigned && exponent < 0) {
        if (base == 1)
            return 1;
        return base == -1 ? (exponent % 2 ? -1 : 1) : 0;
    }
    for (; e > 0; e >>= 1) {
        if (e & 1)
            result *= b;
        b *= b;
    }
    return (int64_t)result;
}

/* Amounts outside [0, bits) shift everything out. */
static int64_t shift(const mode *m, int64_t a, int64_t amount)
{
    bool all = amount < 0 || amount >= (int64_t)hull_dtype_bits(m->dtype);

    if (m->op == OP_shift_left)
        return all ? 0 : (int64_t)((uint64_t)a << amount);
    if (m->dtype == HULL_U64)
        return all ? 0 : (int64_t)((uint64_t)a >> amount);
    if (all)
        return a < 0 ? -1 : 0;
    return a >> amount;
}

/* b is not 0. Quotient or remainder. */
static int64_t int_div(const mode *m, int64_t a, int64_t b)
{
    bool down = m->op == OP_div ? m->round == ROUND_FLOOR : m->floor;
    int64_t q = 0, r = 0;

    if (m->dtype == HULL_U64)
        return (int64_t)(m->op == OP_div ? (uint64_t)a / (uint64_t)b
                                         : (uint64_t)a % (uint64_t)b);
    if (b == -1) /* INT64_MIN / -1 wraps */
        return m->op == OP_div ? (int64_t)(0 - (uint64_t)a) : 0;
    q = a / b;
    r = a % b;
    if (down && r != 0 && (r < 0) != (b < 0)) {
        q--;
        r += b;
    }
    return m->op == OP_div ? q : r;
}

static int64_t int_op(const mode *m, int64_t a, int64_t b)
{
    bool less = m->dtype == HULL_U64 ? (uint64_t)a < (uint64_t)b : a < b;

    switch (m->op) {
    case OP_add:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case OP_sub:
        return (int64_t)((uint64_t)a - (uint64_t)b);
    case OP_mul:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case OP_div:
    case OP_mod:
        return int_div(m, a, b);
    case OP_pow:
        return int_pow(a, b, dtype_is_unsigned(m->dtype));
    case OP_min:
        return less ? a : b;
    case OP_max:
        return less ? b : a;
    case OP_and:
        return a & b;
    case OP_or:
        return a | b;
    case OP_xor:
        return a ^ b;
    default:
        return shift(m, a, b);
    }
}

static hull_status int_row(const walk *w, const mode *m, const node *n,
                           const tensor *in, tensor *out)
{
    char what[128];
    bool divides = m->op == OP_div || m->op == OP_mod;

    for (int64_t i = 0; i < w->row; i++) {
        int64_t a = load_i64(m->dtype, in[0].data,
                             (uint64_t)(w->at[0] + i * w->step[0]));
        int64_t b = load_i64(m->dtype, in[1].data,
                             (uint64_t)(w->at[1] + i * w->step[1]));

        if (divides && b == 0)
            return fail(HULL_EINVAL, "%s: integer division by zero",
                        node_what(n, what));
        store_i64(m->dtype, out->data, (uint64_t)(w->at_out + i),
                  int_op(m, a, b));
    }
    return HULL_OK;
}

/* The four operations that a double computes and rounds to f32 exactly as f32
 * arithmetic does (a double has more than twice the bits): one loop each. */
static bool f32_row(const walk *w, const mode *m, const tensor *in,
                    tensor *out)
{
    const float *a = in[0].data, *b = in[1].data;
    float *y = out->data;
    int64_t sa = w->step[0], sb = w->step[1];

    if (m->dtype != HULL_F32 || (m->op == OP_div && m->round != ROUND_NONE))
        return false;
    a += w->at[0];
    b += w->at[1];
    y += w->at_out;
    switch (m->op) {
    case OP_add:
        for (int64_t i = 0; i < w->row; i++)
            y[i] = a[i * sa] + b[i * sb];
        return true;
    case OP_sub:
        for (int64_t i = 0; i < w->row; i++)
            y[i] = a[i * sa] - b[i * sb];
        return true;
    case OP_mul:
        for (int64_t i = 0; i < w->row; i++)
            y[i] = a[i * sa] * b[i * sb];
        return true;
    case OP_div:
        for (int64_t i = 0; i < w->row; i++)
            y[i] = a[i * sa] / b[i * sb];
        return true;
    default:
        return false;
    }
}

static void float_row(const walk *w, const mode *m, const tensor *in,
                      tensor *out)
{
    for (int64_t i = 0; i < w->row; i++) {
        double a = load_f64(m->dtype, in[0].data,
                            (uint64_t)(w->at[0] + i * w->step[0]));
        double b = load_f64(m->dtype, in[1].data,
                            (uint64_t)(w->at[1] + i * w->step[1]));

        store_f64(m->dtype, out->data, (uint64_t)(w->at_out + i),
                  float_op(m, a, b));
    }
}

hull_status binary_eval(eval_ctx *cx, const node *n, const tensor *in,
                        tensor *out)
{
    mode m = {.op = n->op, .dtype = out->dtype};
    walk w;

    (void)cx;
    if (n->op == OP_div)
        TRY(rounding_of(&m.round, n));
    if (n->op == OP_mod)
        m.floor = attr_bool(n, "floor");
    TRY(walk_begin(&w, n, in, 2, out));
    for (; w.more; walk_next(&w)) {
        if (f32_row(&w, &m, in, out))
            continue;
        if (dtype_is_float(m.dtype))
            float_row(&w, &m, in, out);
        else
            TRY(int_row(&w, &m, n, in, out));
    }
    return HULL_OK;
}
