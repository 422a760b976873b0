/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_contrib_attention.c - lowerings of domain com.microsoft: Attention,
 * MultiHeadAttention and their kin. What a mask excludes gets
 * mask_filter_value added to its score, as ONNX Runtime does, so a row whose
 * keys are all masked is still a mean of them.
 */
#include "front/onnx_contrib.h"

#include <float.h>
#include <inttypes.h>

/* q, k, v are [b,h,s,d]; what is added to the scores, or says which ones count
 * (bool), broadcasts to [b,h,s,t]. */
typedef struct parts {
    val q, k, v, add;
    dim batch, queries, keys, past;
    bool causal;
} parts;

/* ---- masks --------------------------------------------------------------- */

/* 0 where keep holds, `low` elsewhere. */
static val penalty(onnx_call *c, val keep, hull_dtype dt, double low)
{
    return op_where(c->g, keep, op_scalar(c->g, dt, 0.0),
                    op_scalar(c->g, dt, low));
}

static val plus(onnx_call *c, val a, val b)
{
    return !a ? b : !b ? a : op_binary(c->g, OP_add, a, b);
}

/* Row r of a vector of rows of length `batch`, as [b,1,1,1]. */
static val ends(onnx_call *c, val mask, const parts *p, int64_t r)
{
    dim each[4] = {p->batch, 1, 1, 1}, from = dim_mul(c->m, p->batch, r);
    val v = op_slice(c->g, mask, 0, from, dim_add(c->m, from, p->batch), 1);

    return op_reshape(c->g, op_cast(c->g, v, HULL_I64), each, 4);
}

/* Lengths [b]; or ends, then starts [2b]. */
static hull_status keep_lengths(onnx_call *c, val mask, const parts *p,
                                val *out)
{
    dim size = onnx_type(c, mask)->dims[0];
    val at = contrib_count(c, p->keys, 3, 4);
    bool one = dim_eq(c->m, size, p->batch);

    if (!one && !dim_eq(c->m, size, dim_mul(c->m, p->batch, 2)))
        return fail(HULL_EUNSUPPORTED, "a mask of rank 1 has neither one nor "
                    "two elements per batch");
    *out = op_binary(c->g, OP_lt, at, ends(c, mask, p, 0));
    if (!one)
        *out = op_binary(c->g, OP_and, *out,
                         op_binary(c->g, OP_ge, at, ends(c, mask, p, 1)));
    return HULL_OK;
}

/* Which keys a mask keeps: [b] or [2b], [b,t], [b,s,t]. */
static hull_status keep_mask(onnx_call *c, val mask, const parts *p, val *out)
{
    const type *t = onnx_type(c, mask);
    int64_t axes[2] = {1, 2};

    if (!t)
        return ir_status(c->m);
    if (t->rank == 1)
        return keep_lengths(c, mask, p, out);
    if (t->rank != 2 && t->rank != 3)
        return fail(HULL_EUNSUPPORTED, "a mask of rank %" PRIu32
                    ", want 1 to 3", t->rank);
    mask = lower_axes_to_reshape(c->f, mask, axes, t->rank == 2 ? 2 : 1, true);
    *out = op_binary(c->g, OP_gt, mask, onnx_scalar_like(c, mask, 0.0));
    return HULL_OK;
}

/* Everything that is added to the scores. */
static hull_status add_masks(onnx_call *c, parts *p, val mask, val bias)
{
    const type *t = onnx_type(c, p->q);
    double filter = onnx_float(c, "mask_filter_value", -10000.0);
    val keep = 0;

    if (!t)
        return ir_status(c->m);
    hull_dtype dt = t->dtype;
    if (mask) {
        TRY(keep_mask(c, mask, p, &keep));
        p->add = penalty(c, keep, dt, filter);
    }
    if (p->causal) {
        val row = contrib_count(c, p->queries, 0, 2);
        val by = contrib_size(c, p->past);

        keep = op_binary(c->g, OP_le, contrib_count(c, p->keys, 1, 2),
                         op_binary(c->g, OP_add, row, by));
        double low = dt == HULL_F32 ? -FLT_MAX : -65504.0;
        p->add = p->add ? op_where(c->g, keep, p->add,
                                   op_scalar(c->g, dt, low))
                        : penalty(c, keep, dt, low);
    }
    p->add = plus(c, p->add, bias ? op_cast(c->g, bias, dt) : 0);
    return ir_status(c->m);
}

/* ---- the products -------------------------------------------------------- */

/* softmax(scale q k' + add) v as [b,s,h*d]; *scores: scale q k' + add. */
static val attend(onnx_call *c, const parts *p, val *scores)
{
    double scale = onnx_float(c, "scale", 0.0);

    if (scores) {
        const type *t = onnx_type(c, p->q);
        int64_t width = 0;

        if (!t || !dim_is_int(c->m, t->dims[3], &width) || width < 1) {
            (void)ir_fail(c->m, fail(HULL_EUNSUPPORTED, "the size of a head "
                                     "is not fixed"));
            return 0;
        }
        if (scale == 0.0)
            scale = 1.0 / __builtin_sqrt((double)width);
        val s = contrib_matmul(c, p->q, p->k, false, true);
        *scores = plus(c, contrib_scaled(c, s, scale), p->add);
    }
    node *n = node_new(c->g, OP_sdpa);
    node_input(c->g, n, p->q);
    node_input(c->g, n, p->k);
    node_input(c->g, n, p->v);
    if (p->add)
        node_input(c->g, n, p->add);
    node_float(c->g, n, "scale", scale);
    return onnx_heads_together(c, node_add(c->g, n));
}

static void measure(onnx_call *c, parts *p, dim past)
{
    const type *q = onnx_type(c, p->q), *k = onnx_type(c, p->k);

    if (!q || !k)
        return;
    p->batch = q->dims[0];
    p->queries = q->dims[2];
    p->keys = k->dims[2];
    p->past = past;
}

static hull_status heads_of(onnx_call *c, int64_t *out)
{
    *out = onnx_int(c, "num_heads", 0);
    if (*out >= 1)
        return HULL_OK;
    return fail(HULL_EFORMAT, "attribute 'num_heads' is %" PRId64
                ", want at least 1", *out);
}

/* ---- Attention ----------------------------------------------------------- */

/* Part i of past [2,b,h,p,d]. */
static val past_part(onnx_call *c, val past, int64_t i)
{
    int64_t axis[1] = {0};

    return lower_axes_to_reshape(c->f, op_slice(c->g, past, 0, i, i + 1, 1),
                                 axis, 1, false);
}

/* Widths of q, k and v in the last axis of the projection. */
static hull_status widths(onnx_call *c, dim all, dim *out)
{
    int64_t v[3];
    uint32_t n = 0;

    TRY(onnx_ints(c, "qkv_hidden_sizes", v, 3, &n));
    if (n != 0 && n != 3)
        return fail(HULL_EFORMAT, "attribute 'qkv_hidden_sizes' has %" PRIu32
                    " values, want 3", n);
    for (uint32_t i = 0; i < 3; i++)
        out[i] = n == 3 ? v[i] : dim_div(c->m, all, 3);
    return HULL_OK;
}

static hull_status check_self(onnx_call *c, int64_t *heads)
{
    TRY(heads_of(c, heads));
    TRY(contrib_want(c, "do_rotary", 0));
    return contrib_want(c, "past_present_share_buffer", 0);
}

hull_status contrib_attention(onnx_call *c, val qkv, val mask, val past,
                              val bias)
{
    const type *t = onnx_type(c, qkv), *pt = onnx_type(c, past);
    int64_t heads = 0, axis[1] = {0};
    dim width[3], at = 0, length = 0;
    val x[3];

    if (!t)
        return ir_status(c->m);
    TRY(check_self(c, &heads));
    if (t->rank != 3 || (pt && pt->rank != 5))
        return fail(HULL_ESHAPE, "input of rank %" PRIu32 " and past of rank %"
                    PRIu32 ", want 3 and 5", t->rank, pt ? pt->rank : 5);
    if (pt)
        length = pt->dims[3];
    TRY(widths(c, t->dims[2], width));
    for (uint32_t i = 0; i < 3; i++) {
        dim end = dim_add(c->m, at, width[i]);

        x[i] = onnx_heads_apart(c, op_slice(c->g, qkv, 2, at, end, 1), heads);
        at = end;
    }
    for (uint32_t i = 1; i < 3 && past; i++) {
        val both[2] = {past_part(c, past, i - 1), x[i]};
        x[i] = op_concat(c->g, both, 2, 2);
    }
    TRY(ir_status(c->m));
    parts p = {.q = x[0], .k = x[1], .v = x[2],
               .causal = onnx_int(c, "unidirectional", 0) != 0};
    measure(c, &p, length);
    TRY(add_masks(c, &p, mask, bias));
    c->out[0] = attend(c, &p, NULL);
    if (onnx_wants(c, 1)) {
        val both[2] = {lower_axes_to_reshape(c->f, p.k, axis, 1, true),
                       lower_axes_to_reshape(c->f, p.v, axis, 1, true)};
        c->out[1] = op_concat(c->g, both, 2, 0);
    }
    return HULL_OK;
}

hull_status onnx_contrib_self_attention(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    int64_t heads = 0;

    TRY(check_self(c, &heads));
    if (t && t->rank != 3)
        return fail(HULL_ESHAPE, "input 0 has rank %" PRIu32 ", want 3",
                    t->rank);
    TRY(contrib_absent(c, 6, "past_sequence_length"));
    contrib_parameters(c, 1, 3);
    val qkv = contrib_matmul(c, c->in[0], c->in[1], false, false);
    if (onnx_in(c, 2))
        qkv = op_binary(c->g, OP_add, qkv, c->in[2]);
    return contrib_attention(c, qkv, onnx_in(c, 3), onnx_in(c, 4),
                             onnx_in(c, 5));
}

/* ---- PackedAttention ----------------------------------------------------- */

/* Which sequence each of the tokens belongs to: how many end before it. */
static val sequences(onnx_call *c, val ends, dim tokens)
{
    int64_t axes[1] = {1}, first[1] = {0};
    val at = op_cast(c->g, ends, HULL_I64);

    at = lower_axes_to_reshape(c->f, at, axes, 1, true);
    val past = op_binary(c->g, OP_le, at, contrib_count(c, tokens, 1, 2));
    return onnx_reduce(c, OP_reduce_sum, op_cast(c->g, past, HULL_I64), first,
                       1, false);
}

/* The tokens of all sequences in one: each sees those of its own. */
hull_status onnx_packed_attention(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]), *ends = onnx_type(c, c->in[4]);
    int64_t heads = 0, front_axis[1] = {0}, row[1] = {1};
    dim width[3], at = 0;
    val x[3];

    TRY(heads_of(c, &heads));
    TRY(contrib_absent(c, 5, "attention_bias"));
    if (!t || !ends)
        return ir_status(c->m);
    if (t->rank != 2 || ends->rank != 1)
        return fail(HULL_ESHAPE, "input of rank %" PRIu32 " and lengths of "
                    "rank %" PRIu32 ", want 2 and 1", t->rank, ends->rank);
    dim tokens = t->dims[0];
    contrib_parameters(c, 1, 3);
    val qkv = contrib_matmul(c, c->in[0], c->in[1], false, false);
    qkv = op_binary(c->g, OP_add, qkv, c->in[2]);
    qkv = lower_axes_to_reshape(c->f, qkv, front_axis, 1, true);
    TRY(ir_status(c->m));
    TRY(widths(c, onnx_type(c, qkv)->dims[2], width));
    for (uint32_t i = 0; i < 3; i++) {
        dim end = dim_add(c->m, at, width[i]);

        x[i] = onnx_heads_apart(c, op_slice(c->g, qkv, 2, at, end, 1), heads);
        at = end;
    }
    val of = sequences(c, c->in[4], tokens);
    parts p = {.q = x[0], .k = x[1], .v = x[2]};
    p.add = op_binary(c->g, OP_eq,
                      lower_axes_to_reshape(c->f, of, row, 1, true), of);
    val y = attend(c, &p, NULL);
    c->out[0] = lower_axes_to_reshape(c->f, y, front_axis, 1, false);
    return HULL_OK;
}

/* ---- MultiHeadAttention -------------------------------------------------- */

/* Part i of [b,s,h,parts,d] as [b,s,h*d]. */
static val unpack(onnx_call *c, val x, int64_t i)
{
    const type *t = onnx_type(c, x);

    if (!t || t->rank != 5)
        return x;
    dim d[3] = {t->dims[0], t->dims[1], dim_mul(c->m, t->dims[2], t->dims[4])};
    return op_reshape(c->g, op_slice(c->g, x, 3, i, i + 1, 1), d, 3);
}

/* The operands as [b,s,w], apart from k and v that are [b,h,s,d] already. */
static hull_status unpacked(onnx_call *c, val *x)
{
    const type *q = onnx_type(c, x[0]), *k = onnx_type(c, x[1]);

    if (!q)
        return ir_status(c->m);
    if (q->rank == 5) {
        val all = x[0];
        for (uint32_t i = 0; i < 3; i++)
            x[i] = unpack(c, all, i);
    } else if (k && k->rank == 5) {
        val both = x[1];
        x[1] = unpack(c, both, 0);
        x[2] = unpack(c, both, 1);
    }
    for (uint32_t i = 0; i < 3; i++) {
        const type *t = onnx_type(c, x[i]);

        if (!t)
            return fail(HULL_EUNSUPPORTED, "input %" PRIu32 " is missing", i);
        if (t->rank != 3 && (t->rank != 4 || i == 0))
            return fail(HULL_ESHAPE, "input %" PRIu32 " has rank %" PRIu32
                        ", want 3", i, t->rank);
    }
    return HULL_OK;
}

/* Adds to each its part of the bias, cuts the heads apart, and puts the cache
 * in front of k and v. */
static hull_status prepare(onnx_call *c, val *x, val bias, const val *past,
                           dim *length)
{
    int64_t heads = 0;
    dim at = 0;

    TRY(heads_of(c, &heads));
    for (uint32_t i = 0; i < 3; i++) {
        const type *t = onnx_type(c, x[i]);

        if (!t)
            return ir_status(c->m);
        if (t->rank == 4)
            continue;
        dim end = dim_add(c->m, at, t->dims[2]);
        if (bias)
            x[i] = op_binary(c->g, OP_add, x[i],
                             op_slice(c->g, bias, 0, at, end, 1));
        x[i] = onnx_heads_apart(c, x[i], heads);
        at = end;
    }
    *length = 0;
    for (uint32_t i = 1; i < 3; i++) {
        const type *t = onnx_type(c, past[i - 1]);

        if (!t)
            continue;
        if (t->rank != 4)
            return fail(HULL_ESHAPE, "past has rank %" PRIu32 ", want 4",
                        t->rank);
        *length = t->dims[2];
        val both[2] = {past[i - 1], x[i]};
        x[i] = op_concat(c->g, both, 2, 2);
    }
    return ir_status(c->m);
}

static hull_status multi_head(onnx_call *c, val *x, val bias, val mask,
                              val added, const val *past)
{
    dim length = 0;

    TRY(unpacked(c, x));
    TRY(prepare(c, x, bias, past, &length));
    parts p = {.q = x[0], .k = x[1], .v = x[2],
               .causal = onnx_int(c, "unidirectional", 0) != 0};
    measure(c, &p, length);
    TRY(add_masks(c, &p, mask, added));
    c->out[0] = attend(c, &p, onnx_wants(c, 3) ? &c->out[3] : NULL);
    if (onnx_wants(c, 1))
        c->out[1] = p.k;
    if (onnx_wants(c, 2))
        c->out[2] = p.v;
    return ir_status(c->m);
}

hull_status onnx_multi_head(onnx_call *c)
{
    val x[3] = {c->in[0], onnx_in(c, 1), onnx_in(c, 2)};
    const val past[2] = {onnx_in(c, 6), onnx_in(c, 7)};

    TRY(contrib_absent(c, 8, "past_sequence_length"));
    TRY(contrib_absent(c, 9, "cache_indirection"));
    contrib_parameters(c, 3, 4);
    return multi_head(c, x, onnx_in(c, 3), onnx_in(c, 4), onnx_in(c, 5), past);
}

/* One query: MultiHeadAttention with its operands in another order. */
hull_status onnx_masked_multi_head(onnx_call *c)
{
    val x[3] = {c->in[0], onnx_in(c, 1), onnx_in(c, 2)};
    const val past[2] = {onnx_in(c, 5), onnx_in(c, 6)};

    TRY(contrib_want(c, "past_present_share_buffer", 0));
    TRY(contrib_absent(c, 7, "past_sequence_length"));
    TRY(contrib_absent(c, 8, "beam_width"));
    TRY(contrib_absent(c, 9, "cache_indirection"));
    contrib_parameters(c, 10, 11);
    return multi_head(c, x, onnx_in(c, 10), onnx_in(c, 3), onnx_in(c, 4),
                      past);
}

/* ---- rotary positions ---------------------------------------------------- */

/* x [b,s,w] or [b,h,s,d]; positions [b,s], or one that the first has. */
hull_status onnx_contrib_rotary(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]), *p = onnx_type(c, c->in[1]);
    const type *co = onnx_type(c, c->in[2]);
    int64_t r = onnx_int(c, "rotary_embedding_dim", 0), half = 0;
    val x = c->in[0], at = c->in[1];

    if (!t || !p || !co)
        return ir_status(c->m);
    bool flat = t->rank == 3;
    TRY(contrib_want(c, "is_packed_batching", 0));
    if (onnx_float(c, "scale", 1.0) != 1.0)
        return fail(HULL_EUNSUPPORTED, "attribute 'scale' is %g, want 1",
                    onnx_float(c, "scale", 1.0));
    if ((t->rank != 3 && t->rank != 4) || co->rank != 2 ||
        !dim_is_int(c->m, co->dims[1], &half) || half < 1)
        return fail(HULL_EUNSUPPORTED, "input of rank %" PRIu32 " and cache of "
                    "rank %" PRIu32 ", want 3 or 4, and 2 of a fixed width",
                    t->rank, co->rank);
    dim length = t->dims[flat ? 1 : 2], batch = t->dims[0];
    uint32_t rank = p->rank;
    if (flat) {
        dim heads = onnx_int(c, "num_heads", 0);
        if (heads < 1) /* a head is as wide as the angles say */
            heads = dim_div(c->m, t->dims[2], 2 * half);
        x = onnx_heads_apart(c, x, heads);
    }
    if (rank == 1) {
        dim shape[2] = {batch, length};
        at = op_binary(c->g, OP_add, op_cast(c->g, at, HULL_I64),
                       contrib_count(c, length, 1, 2));
        at = op_expand(c->g, at, shape, 2);
    }
    TRY(onnx_rotate(c, x, c->in[2], c->in[3], at, r ? r : 2 * half,
                    onnx_int(c, "interleaved", 0) != 0, &x));
    c->out[0] = flat ? onnx_heads_together(c, x) : x;
    return HULL_OK;
}

/* Both states turned by the angles of `emb`. */
hull_status onnx_gemma_rotary(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[1]);
    int64_t one[1] = {1};

    if (!t)
        return ir_status(c->m);
    hull_dtype dt = t->dtype;
    val s = op_cast(c->g, op_unary(c->g, OP_sin, c->in[0]), dt);
    val co = op_cast(c->g, op_unary(c->g, OP_cos, c->in[0]), dt);
    s = lower_axes_to_reshape(c->f, s, one, 1, true);
    co = lower_axes_to_reshape(c->f, co, one, 1, true);
    for (uint32_t i = 0; i < 2 && i < c->n_out; i++)
        c->out[i] = op_binary(c->g, OP_add,
                              op_binary(c->g, OP_mul, c->in[1 + 2 * i], co),
                              op_binary(c->g, OP_mul, c->in[2 + 2 * i], s));
    return HULL_OK;
}

/* ---- recurrences that ONNX has as well ----------------------------------- */

/* LinearAttention and CausalConvWithState (the argument 1), without what ONNX
 * Runtime has more. */
hull_status onnx_contrib_recurrence(onnx_call *c)
{
    static const struct {
        const char *name;
        int64_t def;
    } more[] = {{"channels_last", 0}, {"dilation", 1},
                {"input_channel_offset", 0}, {"input_channels", 0},
                {"state_channels_last", -1}, {"state_length", 0},
                {"state_update_capacity", 0}, {"state_window", 0}};

    for (size_t i = 0; i < COUNT_OF(more); i++)
        TRY(contrib_want(c, more[i].name, more[i].def));
    return c->row->arg ? onnx_causal_conv(c) : onnx_linear_attention(c);
}
