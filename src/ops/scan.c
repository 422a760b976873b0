/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * scan.c - cumsum, cumprod, cum_max, cum_min and cum_logsumexp along one axis,
 * in double or in 64 bits. A NaN stays the extreme once it is.
 */
#include "ops/family.h"

#include <math.h>

static bool is_extreme(op_code op)
{
    return op == OP_cum_max || op == OP_cum_min;
}

hull_status scan_infer(graph *g, node *n)
{
    const type *t = NULL;
    uint32_t axis = 0;

    TRY(infer_tensor(&t, g, n, 0));
    TRY(infer_want(n, t, n->op == OP_cum_logsumexp ? WANT_FLOAT
                                                   : WANT_FLOAT | WANT_INT));
    TRY(infer_axis(&axis, n, attr_int(n, "axis"), t->rank));
    if (is_extreme(n->op))
        TRY(infer_out(g, n, 1, HULL_I64, t->dims, t->rank));
    return infer_out(g, n, 0, t->dtype, t->dims, t->rank);
}

/* One line of `len` elements from `base`, `inner` apart. */
static void scan_line(const node *n, const tensor *in, tensor *out,
                      int64_t base, split s)
{
    bool exclusive = attr_bool(n, "exclusive");
    bool reverse = attr_bool(n, "reverse");
    hull_dtype dt = out->dtype;
    bool prod = n->op == OP_cumprod;
    double f = prod ? 1 : 0;
    uint64_t u = prod ? 1 : 0;

    for (int64_t k = 0; k < s.len; k++) {
        int64_t step = reverse ? s.len - 1 - k : k;
        uint64_t at = (uint64_t)(base + step * s.inner);
        double f_before = f;
        uint64_t u_before = u;

        if (dtype_is_float(dt)) {
            double x = load_f64(dt, in->data, at);

            f = prod ? f * x : f + x;
            store_f64(dt, out->data, at, exclusive ? f_before : f);
        } else {
            uint64_t x = (uint64_t)load_i64(dt, in->data, at);

            u = prod ? u * x : u + x;
            store_i64(dt, out->data, at,
                      (int64_t)(exclusive ? u_before : u));
        }
    }
}

/* b takes the place of a. */
static bool wins(const node *n, const tensor *in, uint64_t a, uint64_t b)
{
    bool most = n->op == OP_cum_max;
    hull_dtype dt = in->dtype;

    if (dtype_is_float(dt)) {
        double x = load_f64(dt, in->data, a), y = load_f64(dt, in->data, b);

        return isnan(y) || (!isnan(x) && (most ? y >= x : y <= x));
    }
    int64_t x = load_i64(dt, in->data, a), y = load_i64(dt, in->data, b);
    if (dt == HULL_U64)
        return most ? (uint64_t)y >= (uint64_t)x : (uint64_t)y <= (uint64_t)x;
    return most ? y >= x : y <= x;
}

static void extreme_line(const node *n, const tensor *in, tensor *out,
                         int64_t base, split s)
{
    int64_t best = 0;

    for (int64_t k = 0; k < s.len; k++) {
        uint64_t at = (uint64_t)(base + k * s.inner);
        uint64_t held = (uint64_t)(base + best * s.inner);

        if (wins(n, in, held, at)) {
            best = k;
            held = at;
        }
        if (dtype_is_float(in->dtype))
            store_f64(in->dtype, out[0].data, at,
                      load_f64(in->dtype, in->data, held));
        else
            store_i64(in->dtype, out[0].data, at,
                      load_i64(in->dtype, in->data, held));
        store_i64(HULL_I64, out[1].data, at, best);
    }
}

/* log(exp(a) + exp(b)) */
static double log_add(double a, double b)
{
    double most = a > b ? a : b, least = a > b ? b : a;

    if (isnan(a) || isnan(b))
        return a + b;
    if (isinf(most) || isinf(least)) /* also of one sign */
        return most;
    return most + log1p(exp(least - most));
}

static void log_line(const tensor *in, tensor *out, int64_t base, split s)
{
    double sum = -HUGE_VAL;

    for (int64_t k = 0; k < s.len; k++) {
        uint64_t at = (uint64_t)(base + k * s.inner);

        sum = log_add(sum, load_f64(in->dtype, in->data, at));
        store_f64(out->dtype, out->data, at, sum);
    }
}

hull_status scan_eval(eval_ctx *cx, const node *n, const tensor *in,
                      tensor *out)
{
    uint32_t axis = 0;
    split s;

    (void)cx;
    if (tensor_numel(out) == 0)
        return HULL_OK; /* however large the other sizes are */
    TRY(infer_axis(&axis, n, attr_int(n, "axis"), in[0].rank));
    s = split_at(&in[0], axis);
    for (int64_t o = 0; o < s.outer; o++) {
        for (int64_t i = 0; i < s.inner; i++) {
            int64_t base = o * s.len * s.inner + i;

            if (is_extreme(n->op))
                extreme_line(n, &in[0], out, base, s);
            else if (n->op == OP_cum_logsumexp)
                log_line(&in[0], out, base, s);
            else
                scan_line(n, &in[0], out, base, s);
        }
    }
    return HULL_OK;
}
