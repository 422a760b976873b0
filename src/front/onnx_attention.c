/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_attention.c - lowerings of Attention and RotaryEmbedding. Operands of
 * rank 3 hold the heads side by side; they are cut apart, and joined again at
 * the end. A causal mask that a cache moves becomes part of the mask.
 */
#include "front/onnx_lower.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const int64_t swap_heads[4] = {0, 2, 1, 3};

/* [b,s,h*d] -> [b,h,s,d]; rank 4 is that already. */
static hull_status heads_apart(onnx_call *c, val *x, const char *attr_name)
{
    const type *t = onnx_type(c, *x);
    int64_t heads = onnx_int(c, attr_name, 0);

    if (!t)
        return ir_status(c->m);
    if (t->rank == 4)
        return HULL_OK;
    if (t->rank != 3 || heads < 1)
        return fail(HULL_ESHAPE, "rank %" PRIu32 " and %s %" PRId64 ", want "
                    "rank 4, or rank 3 and a number of heads", t->rank,
                    attr_name, heads);
    dim d[4] = {t->dims[0], t->dims[1], heads,
                dim_div(c->m, t->dims[2], heads)};
    *x = op_transpose(c->g, op_reshape(c->g, *x, d, 4), swap_heads, 4);
    return HULL_OK;
}

/* [b,h,s,d] -> [b,s,h*d] */
static val heads_together(onnx_call *c, val y)
{
    const type *t = onnx_type(c, y);

    if (!t)
        return 0;
    dim d[3] = {t->dims[0], t->dims[2], dim_mul(c->m, t->dims[1], t->dims[3])};
    return op_reshape(c->g, op_transpose(c->g, y, swap_heads, 4), d, 3);
}

static val count(onnx_call *c, dim n, int64_t axis)
{
    dim shape[2] = {axis == 0 ? n : 1, axis == 1 ? n : 1};
    node *i = node_new(c->g, OP_iota);

    node_dims(c->g, i, "shape", shape, 2);
    node_int(c->g, i, "axis", axis);
    return node_add(c->g, i);
}

/* bool [queries, keys]: key j of query i where j <= i + past. */
static val causal_mask(onnx_call *c, dim queries, dim keys, dim past)
{
    val row = count(c, queries, 0), col = count(c, keys, 1);
    val by = op_reshape(c->g, op_dims(c->g, &past, 1), NULL, 0);

    return op_binary(c->g, OP_le, col, op_binary(c->g, OP_add, row, by));
}

/* Both masks: bool ones intersect, an added one gets -inf. */
static val both_masks(onnx_call *c, val mask, val causal)
{
    const type *t = onnx_type(c, mask);

    if (!mask || !t)
        return causal;
    if (t->dtype == HULL_BOOL)
        return op_binary(c->g, OP_and, mask, causal);
    hull_dtype dt = t->dtype;
    node *w = node_new(c->g, OP_where);
    node_input(c->g, w, causal);
    node_input(c->g, w, mask);
    node_input(c->g, w, op_scalar(c->g, dt, -INFINITY));
    return node_add(c->g, w);
}

/* A mask that names fewer keys than there are excludes the rest. */
static val whole_mask(onnx_call *c, val mask, dim keys)
{
    const type *t = onnx_type(c, mask);
    dim pads[2 * HULL_MAX_RANK] = {0};
    int64_t have = 0, want = 0;

    if (!t || t->rank == 0 ||
        !dim_is_int(c->m, t->dims[t->rank - 1], &have) ||
        !dim_is_int(c->m, keys, &want) || have == 1 || have >= want)
        return mask;
    pads[2 * t->rank - 1] = want - have;
    node *n = node_new(c->g, OP_pad);
    node_input(c->g, n, mask);
    node_dims(c->g, n, "pads", pads, 2 * t->rank);
    node_float(c->g, n, "value", t->dtype == HULL_BOOL ? 0.0 : -INFINITY);
    return node_add(c->g, n);
}

static hull_status check_attention(onnx_call *c)
{
    if (onnx_float(c, "softcap", 0.0) != 0.0)
        return fail(HULL_EUNSUPPORTED, "softcap is not 0");
    if (onnx_in(c, 6))
        return fail(HULL_EUNSUPPORTED, "nonpad_kv_seqlen is given");
    if (onnx_wants(c, 3))
        return fail(HULL_EUNSUPPORTED, "the product of queries and keys is an "
                    "output");
    if (onnx_int(c, "left_window_size", -1) >= 0 ||
        onnx_int(c, "right_window_size", -1) >= 0)
        return fail(HULL_EUNSUPPORTED, "a window is given");
    return HULL_OK;
}

/* Keys and values behind those of the cache. */
static hull_status append_past(onnx_call *c, val *x, uint32_t i, dim *past)
{
    const type *t = onnx_type(c, onnx_in(c, i));

    if (!t)
        return HULL_OK;
    if (t->rank != 4)
        return fail(HULL_ESHAPE, "input %" PRIu32 " has rank %" PRIu32
                    ", want 4", i, t->rank);
    *past = t->dims[2];
    val both[2] = {c->in[i], *x};
    *x = op_concat(c->g, both, 2, 2);
    return HULL_OK;
}

hull_status onnx_attention(onnx_call *c)
{
    val q = c->in[0], k = c->in[1], v = c->in[2], mask = onnx_in(c, 3);
    const type *t = onnx_type(c, q);
    bool flat = t && t->rank == 3, causal = onnx_int(c, "is_causal", 0) != 0;
    dim past = 0;

    TRY(check_attention(c));
    TRY(heads_apart(c, &q, "q_num_heads"));
    TRY(heads_apart(c, &k, "kv_num_heads"));
    TRY(heads_apart(c, &v, "kv_num_heads"));
    TRY(append_past(c, &v, 5, &past));
    TRY(append_past(c, &k, 4, &past));
    TRY(ir_status(c->m));
    dim queries = onnx_type(c, q)->dims[2], keys = onnx_type(c, k)->dims[2];
    if (mask)
        mask = whole_mask(c, mask, keys);
    if (causal && (past != 0 || mask)) {
        mask = both_masks(c, mask, causal_mask(c, queries, keys, past));
        causal = false;
    }
    node *n = node_new(c->g, OP_sdpa);
    node_input(c->g, n, q);
    node_input(c->g, n, k);
    node_input(c->g, n, v);
    if (mask)
        node_input(c->g, n, mask);
    node_float(c->g, n, "scale", onnx_float(c, "scale", 0.0));
    node_bool(c->g, n, "causal", causal);
    val y = node_add(c->g, n);
    c->out[0] = flat ? heads_together(c, y) : y;
    if (onnx_wants(c, 1))
        c->out[1] = k;
    if (onnx_wants(c, 2))
        c->out[2] = v;
    return HULL_OK;
}

/* ---- rotary positions ---------------------------------------------------- */

/* cos or sin as [b,s,1,r/2], by position where positions are given. */
static val angles(onnx_call *c, val cache, val positions)
{
    int64_t two[1] = {2};

    if (positions) {
        node *n = node_new(c->g, OP_gather);
        node_input(c->g, n, cache);
        node_input(c->g, n, positions);
        cache = node_add(c->g, n);
    }
    return lower_axes_to_reshape(c->f, cache, two, 1, true);
}

/* Halves of the last axis (of size r): the front and the back, or the even
 * and the odd elements. */
static val half(onnx_call *c, val x, int64_t r, bool odd, bool interleaved)
{
    if (interleaved)
        return op_slice(c->g, x, 3, odd, r, 2);
    return op_slice(c->g, x, 3, odd ? r / 2 : 0, odd ? r : r / 2, 1);
}

static val join_halves(onnx_call *c, val a, val b, bool interleaved, dim r)
{
    val parts[2] = {a, b};
    int64_t last[1] = {4};
    const type *t = onnx_type(c, a);

    if (!t || !interleaved)
        return op_concat(c->g, parts, 2, 3);
    dim d[4] = {t->dims[0], t->dims[1], t->dims[2], r};
    for (int i = 0; i < 2; i++)
        parts[i] = lower_axes_to_reshape(c->f, parts[i], last, 1, true);
    return op_reshape(c->g, op_concat(c->g, parts, 2, 4), d, 4);
}

hull_status onnx_rotary(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    bool inter = onnx_int(c, "interleaved", 0) != 0;
    int64_t width = 0, r = onnx_int(c, "rotary_embedding_dim", 0);
    val x = c->in[0];

    if (!t)
        return ir_status(c->m);
    bool flat = t->rank == 3;
    TRY(heads_apart(c, &x, "num_heads"));
    x = op_transpose(c->g, x, swap_heads, 4); /* [b,s,h,d] */
    t = onnx_type(c, x);
    if (!t || !dim_is_int(c->m, t->dims[3], &width))
        return fail(HULL_EUNSUPPORTED, "the size of a head is not fixed");
    r = r ? r : width;
    if (r < 2 || r > width || r % 2 != 0)
        return fail(HULL_EFORMAT, "rotary_embedding_dim is %" PRId64
                    " for heads of %" PRId64, r, width);
    val co = angles(c, c->in[1], onnx_in(c, 3));
    val si = angles(c, c->in[2], onnx_in(c, 3));
    val turn = r < width ? op_slice(c->g, x, 3, 0, r, 1) : x;
    val a = half(c, turn, r, false, inter), b = half(c, turn, r, true, inter);
    val re = op_binary(c->g, OP_sub, op_binary(c->g, OP_mul, co, a),
                       op_binary(c->g, OP_mul, si, b));
    val im = op_binary(c->g, OP_add, op_binary(c->g, OP_mul, si, a),
                       op_binary(c->g, OP_mul, co, b));
    val y[2] = {join_halves(c, re, im, inter, r), 0};
    if (r < width) {
        y[1] = op_slice(c->g, x, 3, r, width, 1);
        y[0] = op_concat(c->g, y, 2, 3);
    }
    y[0] = op_transpose(c->g, y[0], swap_heads, 4);
    c->out[0] = flat ? heads_together(c, y[0]) : y[0];
    return HULL_OK;
}
