/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * cast.c - dtype conversion. Integers wrap, floats become integers by
 * truncation with saturation (types below 8 bits: wrapping, as ONNX's do) and
 * NaN as 0, anything but 0 is true. `saturate`
 * concerns 8-bit floats and less: the largest value instead of NaN or infinity.
 * bitcast gives the same bytes another type, with an axis more or less where
 * the widths differ. text_number.c has strings.
 */
#include "ops/text.h"

#include <math.h>
#include <string.h>

#include "ops/family.h"

/* [..] of a wider type is [.., ratio] of a narrower one, and back. */
static hull_status bitcast_infer(graph *g, node *n, const type *t,
                                 hull_dtype to)
{
    uint32_t from_bits = hull_dtype_bits(t->dtype);
    uint32_t to_bits = hull_dtype_bits(to), rank = t->rank;
    bool wider = to_bits > from_bits;
    uint32_t ratio = wider ? to_bits / from_bits : from_bits / to_bits;
    uint32_t most = wider ? to_bits : from_bits;
    bool fits = ratio * (wider ? from_bits : to_bits) == most;
    dim d[HULL_MAX_RANK];
    int64_t last = 0;
    char what[128];

    if (ratio > 1)
        fits = fits && from_bits >= 8 && to_bits >= 8 &&
               (wider ? rank > 0 &&
                            dim_is_int(g->m, t->dims[rank - 1], &last) &&
                            last == ratio
                      : rank < HULL_MAX_RANK);
    if (!fits || (to == HULL_BOOL && t->dtype != HULL_BOOL))
        return fail(HULL_ESHAPE, "%s: from %s to %s, want types of one width, "
                    "or an axis that makes up for it, and not to bool",
                    node_what(n, what), hull_dtype_name(t->dtype),
                    hull_dtype_name(to));
    for (uint32_t i = 0; i < rank; i++)
        d[i] = t->dims[i];
    if (ratio > 1 && wider)
        rank--;
    else if (ratio > 1)
        d[rank++] = ratio;
    return infer_out(g, n, 0, to, d, rank);
}

hull_status cast_infer(graph *g, node *n)
{
    const type *t = NULL;
    hull_dtype to = attr_dtype(n, "to");
    char what[128];

    TRY(infer_tensor(&t, g, n, 0));
    if (hull_dtype_bits(to) == 0)
        return fail(HULL_ESHAPE, "%s: no target dtype", node_what(n, what));
    if (n->op == OP_bitcast)
        return bitcast_infer(g, n, t, to);
    if (t->dtype != to && (dtype_is_complex(t->dtype) || dtype_is_complex(to)))
        return fail(HULL_EUNSUPPORTED, "%s: from %s to %s", node_what(n, what),
                    hull_dtype_name(t->dtype), hull_dtype_name(to));
    return infer_out(g, n, 0, to, t->dims, t->rank);
}

static void cast_element(const tensor *in, tensor *out, uint64_t i, double max)
{
    double v = 0;

    if (!dtype_is_float(in->dtype)) {
        int64_t k = load_i64(in->dtype, in->data, i);

        if (!dtype_is_float(out->dtype)) {
            store_i64(out->dtype, out->data, i, k);
            return;
        }
        v = load_f64(in->dtype, in->data, i);
        if (out->dtype == HULL_F32) /* one rounding, not two */
            v = in->dtype == HULL_U64 ? (double)(float)(uint64_t)k
                                      : (double)(float)k;
    } else {
        v = load_f64(in->dtype, in->data, i);
    }
    if (max > 0 && fabs(v) > max) /* false for NaN */
        v = copysign(max, v);
    if (hull_dtype_bits(out->dtype) < 8 && dtype_is_int(out->dtype)) {
        store_i64(out->dtype, out->data, i, load_i64(in->dtype, in->data, i));
        return;
    }
    store_real(out->dtype, out->data, i, v);
}

hull_status cast_eval(eval_ctx *cx, const node *n, const tensor *in,
                      tensor *out)
{
    uint64_t numel = (uint64_t)tensor_numel(out);
    double max = n->op == OP_cast && attr_bool(n, "saturate")
                     ? narrow_max(out->dtype)
                     : 0;

    if (in[0].dtype == out->dtype || n->op == OP_bitcast) {
        if (numel > 0)
            memcpy(out->data, in[0].data, tensor_bytes(out));
        return HULL_OK;
    }
    if (in[0].dtype == HULL_STRING || out->dtype == HULL_STRING)
        return text_cast(cx, n, &in[0], out);
    for (uint64_t i = 0; i < numel; i++)
        cast_element(&in[0], out, i, max);
    return HULL_OK;
}
