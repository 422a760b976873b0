/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * softmax.c - softmax and log_softmax along one axis, in double with the
 * maximum subtracted. A line of -inf alone gives NaN.
 */
#include "ops/family.h"

#include <math.h>

hull_status softmax_infer(graph *g, node *n)
{
    const type *t = NULL;
    uint32_t axis = 0;

    TRY(infer_tensor(&t, g, n, 0));
    TRY(infer_want(n, t, WANT_FLOAT));
    TRY(infer_axis(&axis, n, attr_int(n, "axis"), t->rank));
    return infer_out(g, n, 0, t->dtype, t->dims, t->rank);
}

/* In place. */
static void softmax_line(double *x, int64_t n, bool logarithm)
{
    double max = -INFINITY, sum = 0;

    for (int64_t i = 0; i < n; i++) {
        if (x[i] > max || isnan(x[i]))
            max = x[i];
    }
    for (int64_t i = 0; i < n; i++) {
        x[i] -= max;
        sum += exp(x[i]);
    }
    for (int64_t i = 0; i < n; i++)
        x[i] = logarithm ? x[i] - log(sum) : exp(x[i]) / sum;
}

hull_status softmax_eval(eval_ctx *cx, const node *n, const tensor *in,
                         tensor *out)
{
    uint32_t axis = 0;
    hull_dtype dt = out->dtype;
    double *line = NULL;
    split s;

    if (tensor_numel(out) == 0)
        return HULL_OK; /* however large the other sizes are */
    TRY(infer_axis(&axis, n, attr_int(n, "axis"), in[0].rank));
    s = split_at(&in[0], axis);
    TRY(eval_scratch(&line, cx, s.len));
    for (int64_t o = 0; o < s.outer * s.inner; o++) {
        int64_t base = o / s.inner * s.len * s.inner + o % s.inner;

        for (int64_t k = 0; k < s.len; k++)
            line[k] = load_f64(dt, in[0].data, (uint64_t)(base + k * s.inner));
        softmax_line(line, s.len, n->op == OP_log_softmax);
        for (int64_t k = 0; k < s.len; k++)
            store_f64(dt, out->data, (uint64_t)(base + k * s.inner), line[k]);
    }
    return HULL_OK;
}
