/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * linalg.c - det: determinants of the matrices in the last two axes, by
 * elimination with row exchanges, in double.
 */
#include "ops/family.h"

#include <math.h>

hull_status linalg_infer(graph *g, node *n)
{
    const type *x = NULL;
    char what[128];

    TRY(infer_tensor(&x, g, n, 0));
    TRY(infer_want(n, x, WANT_FLOAT));
    if (x->rank < 2)
        return fail(HULL_ESHAPE, "%s: operand of rank %u, want 2 or more",
                    node_what(n, what), x->rank);
    TRY(infer_equal(g, n, x->dims[x->rank - 2], x->dims[x->rank - 1],
                    "the sizes of a square matrix"));
    return infer_out(g, n, 0, x->dtype, x->dims, x->rank - 2);
}

/* Destroys a [n,n]. */
static double determinant(double *a, int64_t n)
{
    double det = 1;

    for (int64_t k = 0; k < n; k++) {
        int64_t top = k;

        for (int64_t i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[top * n + k]))
                top = i;
        if (top != k)
            det = -det;
        for (int64_t j = k; j < n; j++) {
            double swap = a[k * n + j];

            a[k * n + j] = a[top * n + j];
            a[top * n + j] = swap;
        }
        det *= a[k * n + k];
        if (a[k * n + k] == 0)
            continue; /* the column is done; a NaN may follow */
        for (int64_t i = k + 1; i < n; i++) {
            double f = a[i * n + k] / a[k * n + k];

            for (int64_t j = k + 1; j < n; j++)
                a[i * n + j] -= f * a[k * n + j];
        }
    }
    return det;
}

hull_status linalg_eval(eval_ctx *cx, const node *n, const tensor *in,
                        tensor *out)
{
    const tensor *x = &in[0];
    int64_t size = x->shape[x->rank - 1], count = tensor_numel(out), area;
    double *a = NULL;
    char what[128];

    if (x->shape[x->rank - 2] != size || !mul_i64(&area, size, size))
        return fail(HULL_ESHAPE, "%s: a matrix is not square",
                    node_what(n, what));
    TRY(eval_scratch(&a, cx, area));
    for (int64_t k = 0; k < count; k++) {
        for (int64_t i = 0; i < area; i++)
            a[i] = load_f64(x->dtype, x->data, (uint64_t)(k * area + i));
        store_f64(out->dtype, out->data, (uint64_t)k, determinant(a, size));
    }
    return HULL_OK;
}
