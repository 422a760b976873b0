/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * scan.c - cumsum and cumprod along one axis, in double or in 64 bits.
 */
#include "ops/family.h"

hull_status scan_infer(graph *g, node *n)
{
    const type *t = NULL;
    uint32_t axis = 0;

    TRY(infer_tensor(&t, g, n, 0));
    TRY(infer_want(n, t, WANT_FLOAT | WANT_INT));
    TRY(infer_axis(&axis, n, attr_int(n, "axis"), t->rank));
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
        for (int64_t i = 0; i < s.inner; i++)
            scan_line(n, &in[0], out, o * s.len * s.inner + i, s);
    }
    return HULL_OK;
}
