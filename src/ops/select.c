/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * select.c - where: one of two operands, element by element.
 */
#include "ops/family.h"

#include <string.h>

hull_status select_infer(graph *g, node *n)
{
    const type *c = NULL, *a = NULL, *b = NULL;
    dim dims[HULL_MAX_RANK], all[HULL_MAX_RANK];
    type both = {.kind = TYPE_TENSOR, .dims = dims};
    uint32_t rank = 0;

    TRY(infer_tensor(&c, g, n, 0));
    TRY(infer_tensor(&a, g, n, 1));
    TRY(infer_tensor(&b, g, n, 2));
    TRY(infer_want(n, c, WANT_BOOL));
    TRY(infer_same(n, a, b));
    TRY(infer_broadcast(g, n, a, b, dims, &both.rank));
    both.dtype = a->dtype;
    TRY(infer_broadcast(g, n, c, &both, all, &rank));
    return infer_out(g, n, 0, a->dtype, all, rank);
}

/* Exact for every dtype: bytes where elements are bytes. */
static void copy_element(const tensor *out, int64_t to, const tensor *from,
                         int64_t at)
{
    size_t size = hull_dtype_bits(out->dtype) / 8;

    if (size > 0)
        memcpy((char *)out->data + (size_t)to * size,
               (const char *)from->data + (size_t)at * size, size);
    else if (dtype_is_float(out->dtype))
        store_f64(out->dtype, out->data, (uint64_t)to,
                  load_f64(from->dtype, from->data, (uint64_t)at));
    else
        store_i64(out->dtype, out->data, (uint64_t)to,
                  load_i64(from->dtype, from->data, (uint64_t)at));
}

hull_status select_eval(eval_ctx *cx, const node *n, const tensor *in,
                        tensor *out)
{
    walk w;

    (void)cx;
    TRY(walk_begin(&w, n, in, 3, out));
    for (; w.more; walk_next(&w)) {
        for (int64_t i = 0; i < w.row; i++) {
            int64_t at = w.at[0] + i * w.step[0];
            int k = load_i64(in[0].dtype, in[0].data, (uint64_t)at) ? 1 : 2;

            copy_element(out, w.at_out + i, &in[k], w.at[k] + i * w.step[k]);
        }
    }
    return HULL_OK;
}
