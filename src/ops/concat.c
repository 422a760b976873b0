/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * concat.c - joins tensors of one dtype along an axis; their other sizes are
 * equal.
 */
#include "ops/data.h"

#include <inttypes.h>

hull_status concat_infer(graph *g, node *n)
{
    const type *first, *x;
    char what[128];
    dim dims[HULL_MAX_RANK];
    uint32_t axis;

    TRY(infer_tensor(&first, g, n, 0));
    TRY(infer_axis(&axis, n, attr_int(n, "axis"), first->rank));
    for (uint32_t i = 0; i < first->rank; i++)
        dims[i] = first->dims[i];
    for (uint32_t k = 1; k < n->n_in; k++) {
        TRY(infer_tensor(&x, g, n, k));
        if (x->dtype != first->dtype || x->rank != first->rank)
            return fail(HULL_ESHAPE,
                        "%s: operand %u is %s of rank %u, operand 0 is %s of "
                        "rank %u",
                        node_what(n, what), k, hull_dtype_name(x->dtype),
                        x->rank, hull_dtype_name(first->dtype), first->rank);
        for (uint32_t i = 0; i < x->rank; i++) {
            if (i == axis)
                dims[i] = dim_add(g->m, dims[i], x->dims[i]);
            else
                TRY(data_agree(&dims[i], g, n, "a joined dim", dims[i],
                               x->dims[i]));
        }
    }
    return infer_out(g, n, 0, first->dtype, dims, first->rank);
}

hull_status concat_eval(eval_ctx *cx, const node *n, const tensor *in,
                        tensor *out)
{
    int64_t shape[HULL_MAX_RANK], at = 0;
    side dst = data_side(out);
    uint32_t axis;

    (void)cx;
    TRY(infer_axis(&axis, n, attr_int(n, "axis"), out->rank));
    for (uint32_t i = 0; i < out->rank; i++)
        shape[i] = in[0].shape[i];
    shape[axis] = 0;
    for (uint32_t k = 0; k < n->n_in; k++)
        shape[axis] += in[k].shape[axis];
    TRY(data_want_shape(n, out, shape, in[0].rank));
    for (uint32_t k = 0; k < n->n_in; k++) {
        side src = data_side(&in[k]);

        shape[axis] = in[k].shape[axis];
        TRY(data_want_shape(n, &in[k], shape, out->rank));
        dst.off = at * dst.strides[axis];
        data_strided(out->dtype, shape, out->rank, &dst, &src);
        at += shape[axis];
    }
    return HULL_OK;
}
