/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * compare.c - eq ne lt le gt ge: floats in double, integers exactly; eq and
 * ne of strings, byte by byte.
 */
#include "ops/family.h"

#include <string.h>

hull_status compare_infer(graph *g, node *n)
{
    const type *a = NULL, *b = NULL;
    dim dims[HULL_MAX_RANK];
    uint32_t rank = 0;

    TRY(infer_tensor(&a, g, n, 0));
    TRY(infer_tensor(&b, g, n, 1));
    TRY(infer_same(n, a, b));
    if (a->dtype != HULL_STRING) /* of which only eq and ne get any */
        TRY(infer_want(n, a, WANT_REAL));
    TRY(infer_broadcast(g, n, a, b, dims, &rank));
    return infer_out(g, n, 0, HULL_BOOL, dims, rank);
}

/* From "is below", "is equal", "is above"; all false for NaN. */
static bool holds(op_code op, bool lt, bool eq, bool gt)
{
    switch (op) {
    case OP_eq:
        return eq;
    case OP_ne:
        return !eq;
    case OP_lt:
        return lt;
    case OP_le:
        return lt || eq;
    case OP_gt:
        return gt;
    default:
        return gt || eq;
    }
}

static bool same_string(const hull_string *a, const hull_string *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->p, b->p, a->n) == 0);
}

static bool compare_element(op_code op, hull_dtype dt, const void *left,
                            int64_t ia, const void *right, int64_t ib)
{
    if (dt == HULL_STRING)
        return holds(op, false,
                     same_string((const hull_string *)left + ia,
                                 (const hull_string *)right + ib), false);
    if (dtype_is_float(dt)) {
        double a = load_f64(dt, left, (uint64_t)ia);
        double b = load_f64(dt, right, (uint64_t)ib);

        return holds(op, a < b, a == b, a > b);
    }
    int64_t a = load_i64(dt, left, (uint64_t)ia);
    int64_t b = load_i64(dt, right, (uint64_t)ib);

    if (dt == HULL_U64)
        return holds(op, (uint64_t)a < (uint64_t)b, a == b,
                     (uint64_t)a > (uint64_t)b);
    return holds(op, a < b, a == b, a > b);
}

hull_status compare_eval(eval_ctx *cx, const node *n, const tensor *in,
                         tensor *out)
{
    walk w;

    (void)cx;
    TRY(walk_begin(&w, n, in, 2, out));
    for (; w.more; walk_next(&w)) {
        for (int64_t i = 0; i < w.row; i++)
            store_i64(HULL_BOOL, out->data, (uint64_t)(w.at_out + i),
                      compare_element(n->op, in[0].dtype, in[0].data,
                                      w.at[0] + i * w.step[0], in[1].data,
                                      w.at[1] + i * w.step[1]));
    }
    return HULL_OK;
}
