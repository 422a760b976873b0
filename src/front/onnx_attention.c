/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_attention.c - lowerings of Attention and RotaryEmbedding. Operands of
 * rank 3 hold the heads side by side; they are cut apart, and joined again at
 * the end. A causal mask that a cache moves becomes part of the mask.
 */
#include "front/onnx_contrib.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const int64_t swap_heads[4] = {0, 2, 1, 3};

val onnx_heads_apart(onnx_call *c, val x, dim heads)
{
    const type *t = onnx_type(c, x);

    if (!t)
        return 0;
    dim d[4] = {t->dims[0], t->dims[1], heads,
                dim_div(c->m, t->dims[2], heads)};
    return op_transpose(c->g, op_reshape(c->g, x, d, 4), swap_heads, 4);
}

/* Rank 4 is apart already. */
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
    *x = onnx_heads_apart(c, *x, heads);
    return HULL_OK;
}

val onnx_heads_together(onnx_call *c, val y)
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
    return op_where(c->g, causal, mask, op_scalar(c->g, dt, -INFINITY));
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

static hull_status check_scale(onnx_call *c)
{
    double scale = onnx_float(c, "scale", 1.0);

    if (scale > 0.0 || !onnx_has(c, "scale"))
        return HULL_OK;
    return fail(HULL_EUNSUPPORTED, "scale is %g, want more than 0", scale);
}

static hull_status check_attention(onnx_call *c)
{
    int64_t mode = onnx_int(c, "qk_matmul_output_mode", 0);

    TRY(check_scale(c));
    if (mode < 0 || mode > 3)
        return fail(HULL_EFORMAT, "qk_matmul_output_mode is %" PRId64
                    ", want 0 to 3", mode);
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

/* One operation does not tell what is between the products: they are apart
 * when a cap, the scores, or a length per batch is wanted. */
static bool wants_parts(const onnx_call *c, double softcap)
{
    return softcap != 0.0 || onnx_wants(c, 3) || onnx_in(c, 6);
}

/* Masks of the keys that a batch has, and of causality from its end. */
static val length_masks(onnx_call *c, val mask, dim queries, dim keys,
                        bool causal)
{
    int64_t axes[3] = {1, 2, 3};
    val n = op_cast(c->g, c->in[6], HULL_I64), col = count(c, keys, 1);

    n = lower_axes_to_reshape(c->f, n, axes, 3, true);
    if (causal) {
        val by = op_reshape(c->g, op_dims(c->g, &queries, 1), NULL, 0);
        val row = op_binary(c->g, OP_add, count(c, queries, 0),
                            op_binary(c->g, OP_sub, n, by));
        mask = both_masks(c, mask, op_binary(c->g, OP_le, col, row));
    }
    return both_masks(c, mask, op_binary(c->g, OP_lt, col, n));
}

val onnx_repeat_heads(onnx_call *c, val x, dim heads)
{
    const type *t = onnx_type(c, x);
    int64_t axis[1] = {2};

    if (!t || t->rank != 4 || dim_eq(c->m, t->dims[1], heads))
        return x; /* the matmul refuses another rank */
    dim wide[5] = {t->dims[0], t->dims[1], dim_div(c->m, heads, t->dims[1]),
                   t->dims[2], t->dims[3]};
    dim flat[4] = {t->dims[0], heads, t->dims[2], t->dims[3]};
    x = lower_axes_to_reshape(c->f, x, axis, 1, true);
    return op_reshape(c->g, op_expand(c->g, x, wide, 5), flat, 4);
}

/* root of the scale, for q and k each. */
static val scale_root(onnx_call *c, hull_dtype dt, dim width)
{
    double scale = onnx_float(c, "scale", 0.0);

    if (scale > 0.0)
        return op_scalar(c->g, dt, sqrt(scale));
    val w = op_reshape(c->g, op_dims(c->g, &width, 1), NULL, 0);
    w = op_unary(c->g, OP_sqrt, op_unary(c->g, OP_rsqrt,
                                         op_cast(c->g, w, HULL_F64)));
    return op_cast(c->g, w, dt);
}

static val masked(onnx_call *c, val scores, val mask)
{
    const type *t = onnx_type(c, mask), *s = onnx_type(c, scores);

    if (!t || !s)
        return scores;
    hull_dtype dt = s->dtype;
    if (t->dtype != HULL_BOOL)
        return op_binary(c->g, OP_add, scores, op_cast(c->g, mask, dt));
    return op_where(c->g, mask, scores, op_scalar(c->g, dt, -INFINITY));
}

/* Softmax whose rows are zeros where every key is masked. */
static val weights_of(onnx_call *c, val scores)
{
    int64_t last[1] = {3};
    val top = onnx_reduce(c, OP_reduce_max, scores, last, 1, true);
    val masked = op_binary(c->g, OP_eq, top,
                           onnx_scalar_like(c, top, -INFINITY));

    return op_where(c->g, masked, onnx_scalar_like(c, top, 0.0),
                    onnx_along(c, scores, OP_softmax, 3));
}

/* The definition: cap(scale q k') + mask, softmax, v. */
static val attention_parts(onnx_call *c, val q, val k, val v, val mask,
                           double softcap)
{
    const type *t = onnx_type(c, q);
    val stage[4];

    if (!t)
        return 0;
    dim heads = t->dims[1];
    val root = scale_root(c, t->dtype, t->dims[3]);
    k = onnx_repeat_heads(c, k, heads);
    v = onnx_repeat_heads(c, v, heads);
    node *n = node_new(c->g, OP_matmul);
    node_input(c->g, n, op_binary(c->g, OP_mul, q, root));
    node_input(c->g, n, op_binary(c->g, OP_mul, k, root));
    node_bool(c->g, n, "trans_b", true);
    stage[0] = stage[1] = node_add(c->g, n);
    if (softcap != 0.0) {
        val cap = onnx_scalar_like(c, stage[0], softcap);
        val x = op_binary(c->g, OP_div, stage[0], cap);
        stage[1] = op_binary(c->g, OP_mul, op_unary(c->g, OP_tanh, x), cap);
    }
    stage[2] = mask ? masked(c, stage[1], mask) : stage[1];
    stage[3] = weights_of(c, stage[2]);
    if (onnx_wants(c, 3))
        c->out[3] = stage[onnx_int(c, "qk_matmul_output_mode", 0)];
    return op_binary(c->g, OP_matmul, stage[3], v);
}

static val add_sdpa(onnx_call *c, val q, val k, val v, val mask, bool causal)
{
    node *n = node_new(c->g, OP_sdpa);

    node_input(c->g, n, q);
    node_input(c->g, n, k);
    node_input(c->g, n, v);
    if (mask)
        node_input(c->g, n, mask);
    node_float(c->g, n, "scale", onnx_float(c, "scale", 0.0));
    node_bool(c->g, n, "causal", causal);
    return node_add(c->g, n);
}

hull_status onnx_attention(onnx_call *c)
{
    double softcap = onnx_float(c, "softcap", 0.0);
    bool parts = wants_parts(c, softcap);
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
    if (onnx_in(c, 6)) {
        mask = length_masks(c, mask, queries, keys, causal);
        causal = false;
    }
    if (causal && (past != 0 || mask || parts)) {
        mask = both_masks(c, mask, causal_mask(c, queries, keys, past));
        causal = false;
    }
    val y = parts ? attention_parts(c, q, k, v, mask, softcap)
                  : add_sdpa(c, q, k, v, mask, causal);
    c->out[0] = flat ? onnx_heads_together(c, y) : y;
    if (onnx_wants(c, 1))
        c->out[1] = k;
    if (onnx_wants(c, 2))
        c->out[2] = v;
    return HULL_OK;
}

/* A graph attribute applied to a value of the same type; none = x. */
static hull_status modified(onnx_call *c, const char *name, val *x)
{
    val in[1] = {*x};

    return onnx_has(c, name) ? onnx_subgraph(c, name, in, 1, x, 1) : HULL_OK;
}

/* softmax(score_mod(scale q k')), prob_mod, v; the model writes the mods. */
hull_status onnx_flex_attention(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]), *kt = onnx_type(c, c->in[1]);

    if (!t || !kt)
        return ir_status(c->m);
    TRY(check_scale(c));
    if (t->rank != 4 || kt->rank != 4)
        return fail(HULL_ESHAPE, "query of rank %" PRIu32 " and key of rank %"
                    PRIu32 ", want 4", t->rank, kt->rank);
    dim heads = t->dims[1];
    hull_dtype dt = t->dtype;
    val root = scale_root(c, dt, t->dims[3]);
    val k = onnx_repeat_heads(c, c->in[1], heads);
    val v = onnx_repeat_heads(c, c->in[2], heads);
    node *n = node_new(c->g, OP_matmul);
    node_input(c->g, n, op_binary(c->g, OP_mul, c->in[0], root));
    node_input(c->g, n, op_binary(c->g, OP_mul, k, root));
    node_bool(c->g, n, "trans_b", true);
    val x = node_add(c->g, n);
    TRY(ir_status(c->m));
    int64_t wide = onnx_int(c, "softmax_precision", 1);
    if (onnx_dtype(wide) != HULL_NONE && dt != HULL_F64)
        x = op_cast(c->g, x, onnx_dtype(wide));
    TRY(modified(c, "score_mod", &x));
    x = weights_of(c, x);
    TRY(modified(c, "prob_mod", &x));
    c->out[0] = op_binary(c->g, OP_matmul, op_cast(c->g, x, dt), v);
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

hull_status onnx_rotate(onnx_call *c, val x, val cos, val sin, val positions,
                        int64_t r, bool inter, val *out)
{
    const type *t = NULL;
    int64_t width = 0;

    x = op_transpose(c->g, x, swap_heads, 4); /* [b,s,h,d] */
    t = onnx_type(c, x);
    if (!t || !dim_is_int(c->m, t->dims[3], &width))
        return fail(HULL_EUNSUPPORTED, "the size of a head is not fixed");
    r = r ? r : width;
    if (r < 2 || r > width || r % 2 != 0)
        return fail(HULL_EFORMAT, "rotary_embedding_dim is %" PRId64
                    " for heads of %" PRId64, r, width);
    val co = angles(c, cos, positions), si = angles(c, sin, positions);
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
    *out = op_transpose(c->g, y[0], swap_heads, 4);
    return HULL_OK;
}

hull_status onnx_rotary(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    val x = c->in[0];

    if (!t)
        return ir_status(c->m);
    bool flat = t->rank == 3;
    TRY(heads_apart(c, &x, "num_heads"));
    TRY(onnx_rotate(c, x, c->in[1], c->in[2], onnx_in(c, 3),
                    onnx_int(c, "rotary_embedding_dim", 0),
                    onnx_int(c, "interleaved", 0) != 0, &x));
    c->out[0] = flat ? onnx_heads_together(c, x) : x;
    return HULL_OK;
}
