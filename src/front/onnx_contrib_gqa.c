/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_contrib_gqa.c - lowering of GroupQueryAttention. Each batch entry b has
 * total[b] keys once the new ones are in its cache, which stand behind the
 * past[b] = total[b] - s old ones; the first prompt has no old ones, whatever
 * its length.
 */
#include "front/onnx_contrib.h"

#include <inttypes.h>
#include <math.h>

typedef struct gqa {
    int64_t heads, kv_heads, width;
    hull_dtype dt;
    dim batch, queries, cached, keys; /* sizes: b, s, of the cache, after */
    val past, total;                  /* i64 [b] */
    val q, k, v;                      /* [b,h,s,d] */
} gqa;

static hull_status check(onnx_call *c)
{
    static const char *const zero[] = {"sliding_window_cache", "qk_output"};
    static const char *const types[] = {"k_quant_type", "v_quant_type"};
    static const char *const late[] = {"k_scale", "v_scale", "q_norm_weight",
                                       "k_norm_weight", "query_seqlens"};

    TRY(contrib_present(c, (const uint32_t[]){5, 6}, 2));
    for (size_t i = 0; i < COUNT_OF(zero); i++)
        TRY(contrib_want(c, zero[i], 0));
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        str s = onnx_str(c, types[i], "NONE");
        if (!str_is(s, "NONE"))
            return fail(HULL_EUNSUPPORTED, "attribute '%s' is '%.*s', want "
                        "NONE", types[i], STR_ARG(s));
    }
    for (uint32_t i = 0; i < COUNT_OF(late); i++)
        TRY(contrib_absent(c, 12 + i, late[i]));
    if (!onnx_in(c, 3) != !onnx_in(c, 4))
        return fail(HULL_EFORMAT, "past_key without past_value, or past_value "
                    "without past_key");
    return HULL_OK;
}

/* q, k and v, packed in one operand or not. */
static hull_status read_heads(onnx_call *c, gqa *p)
{
    const type *t = onnx_type(c, c->in[0]);
    int64_t all = 0, at = 0;
    val x[3] = {c->in[0], onnx_in(c, 1), onnx_in(c, 2)};

    p->heads = onnx_int(c, "num_heads", 0);
    p->kv_heads = onnx_int(c, "kv_num_heads", 0);
    if (!t)
        return ir_status(c->m);
    int64_t parts = p->heads + (x[1] ? 0 : 2 * p->kv_heads);
    if (p->heads < 1 || p->kv_heads < 1 || p->heads > INT32_MAX ||
        p->kv_heads > INT32_MAX || p->heads % p->kv_heads != 0 ||
        t->rank != 3 || !dim_is_int(c->m, t->dims[2], &all) ||
        all % parts != 0)
        return fail(HULL_EFORMAT, "num_heads %" PRId64 " and kv_num_heads %"
                    PRId64 " for a query of rank %" PRIu32 " and width %"
                    PRId64, p->heads, p->kv_heads, t->rank, all);
    p->width = all / parts;
    p->dt = t->dtype;
    p->batch = t->dims[0];
    p->queries = t->dims[1];
    for (uint32_t i = 0; i < 3 && !onnx_in(c, 1); i++) {
        int64_t n = (i ? p->kv_heads : p->heads) * p->width;

        x[i] = op_slice(c->g, c->in[0], 2, at, at + n, 1);
        at += n;
    }
    for (uint32_t i = 1; i < 3; i++) {
        const type *kv = onnx_type(c, x[i]);

        if (!kv || kv->rank != 3)
            return fail(HULL_ESHAPE, "input %" PRIu32 " has not rank 3", i);
    }
    p->q = onnx_heads_apart(c, x[0], p->heads);
    p->k = onnx_heads_apart(c, x[1], p->kv_heads);
    p->v = onnx_heads_apart(c, x[2], p->kv_heads);
    return ir_status(c->m);
}

/* The size of the cache after this step, and whether there was nothing in it
 * before. A total that is data is taken as old plus new, and checked. */
static hull_status read_sizes(onnx_call *c, gqa *p)
{
    const type *t = onnx_type(c, onnx_in(c, 3));
    int64_t zero = 0;
    dim total[1], one[1] = {p->batch};
    uint32_t n = 0;
    bool known = false;
    val first;

    if (t && t->rank != 4)
        return fail(HULL_ESHAPE, "past_key has rank %" PRIu32 ", want 4",
                    t->rank);
    p->cached = t ? t->dims[2] : 0;
    TRY(front_structure(c->f, c->in[6], total, 1, &n, &known));
    if (known && n == 1) {
        p->keys = dim_max(c->m, p->cached, total[0]);
        first = op_binary(c->g, OP_eq, contrib_size(c, total[0]),
                          contrib_size(c, p->queries));
    } else {
        p->keys = dim_add(c->m, p->cached, p->queries);
        val v = op_reshape(c->g, op_cast(c->g, c->in[6], HULL_I64), NULL, 0);
        node *e = node_new(c->g, OP_expect);
        node_input(c->g, e, op_binary(c->g, OP_sub, v,
                                      contrib_size(c, p->keys)));
        node_literal(c->g, e, "value", HULL_I64, NULL, 0, &zero);
        node_str(c->g, e, "what", str_of("total_sequence_length less the "
                                         "sizes of past_key and query"));
        first = op_binary(c->g, OP_eq, node_add(c->g, e),
                          contrib_size(c, p->cached));
    }
    val last = op_cast(c->g, op_reshape(c->g, c->in[5], one, 1), HULL_I64);
    p->total = op_binary(c->g, OP_add, last,
                         op_scalar_i64(c->g, HULL_I64, 1));
    p->past = op_where(c->g, first, op_scalar_i64(c->g, HULL_I64, 0),
                       op_binary(c->g, OP_sub, p->total,
                                 contrib_size(c, p->queries)));
    return ir_status(c->m);
}

/* [b] as [b,1] or [b,1,1,1] */
static val spread(onnx_call *c, val v, uint32_t n)
{
    int64_t axes[3] = {1, 2, 3};

    return lower_axes_to_reshape(c->f, v, axes, n, true);
}

/* Turns q and k by their positions. */
static hull_status turn(onnx_call *c, gqa *p)
{
    bool inter = onnx_int(c, "rotary_interleaved", 0) != 0;
    const type *t = onnx_type(c, onnx_in(c, 7));
    int64_t half = 0;
    val at = onnx_in(c, 9);

    if (onnx_int(c, "do_rotary", 0) == 0)
        return HULL_OK;
    if (!t || !onnx_in(c, 8) || t->rank != 2 ||
        !dim_is_int(c->m, t->dims[1], &half))
        return fail(HULL_EUNSUPPORTED, "do_rotary without caches of rank 2 "
                    "and a fixed width");
    if (!at)
        at = op_binary(c->g, OP_add, spread(c, p->past, 1),
                       contrib_count(c, p->queries, 1, 2));
    contrib_parameters(c, 7, 9);
    TRY(onnx_rotate(c, p->q, c->in[7], c->in[8], at, 2 * half, inter, &p->q));
    return onnx_rotate(c, p->k, c->in[7], c->in[8], at, 2 * half, inter,
                       &p->k);
}

/* The new rows x [b,h,s,d] behind the old ones that each entry has; zeros
 * behind those. */
static val append(onnx_call *c, const gqa *p, val old, val x)
{
    static const int64_t rows_first[4] = {0, 2, 1, 3};
    int64_t last[1] = {2};
    val at = contrib_count(c, p->keys, 1, 2), past = spread(c, p->past, 1);

    if (!old && dim_eq(c->m, p->keys, p->queries))
        return x;
    if (old) {
        val both[2] = {old, x};
        x = op_concat(c->g, both, 2, 2);
    }
    val new = op_binary(c->g, OP_sub, at, past);
    val end = contrib_size(c, dim_sub(c->m, p->queries, 1));
    val zero = op_scalar_i64(c->g, HULL_I64, 0);
    val from = op_binary(c->g, OP_max, op_binary(c->g, OP_min, new, end),
                         zero);
    from = op_binary(c->g, OP_add, from, contrib_size(c, p->cached));
    val is_old = op_binary(c->g, OP_lt, at, past);
    from = op_where(c->g, is_old, at, from);
    node *n = node_new(c->g, OP_gather_nd);
    node_input(c->g, n, op_transpose(c->g, x, rows_first, 4));
    node_input(c->g, n, lower_axes_to_reshape(c->f, from, last, 1, true));
    node_int(c->g, n, "batch", 1);
    val y = op_transpose(c->g, node_add(c->g, n), rows_first, 4);
    val row = contrib_count(c, p->keys, 2, 4);
    val has = op_binary(c->g, OP_lt, row,
                        op_binary(c->g, OP_add, spread(c, p->past, 3),
                                  contrib_size(c, p->queries)));
    return op_where(c->g, has, y, onnx_scalar_like(c, y, 0.0));
}

/* Which keys j a query i sees: bool [b,1,s,t]. */
static hull_status visible(onnx_call *c, const gqa *p, val *out)
{
    int64_t window = onnx_int(c, "local_window_size", -1);
    val key = contrib_count(c, p->keys, 3, 4);
    val at = op_binary(c->g, OP_add, contrib_count(c, p->queries, 2, 4),
                       spread(c, p->past, 3));

    if (onnx_int(c, "causal", 1) == 0) {
        if (window >= 0)
            return fail(HULL_EFORMAT, "local_window_size is %" PRId64
                        " where causal is 0", window);
        *out = op_binary(c->g, OP_lt, key, spread(c, p->total, 3));
        return HULL_OK;
    }
    *out = op_binary(c->g, OP_le, key, at);
    if (window >= 0) {
        val low = op_binary(c->g, OP_sub, at,
                            op_scalar_i64(c->g, HULL_I64, window));
        *out = op_binary(c->g, OP_and, *out,
                         op_binary(c->g, OP_gt, key, low));
    }
    return HULL_OK;
}

/* softmax over the keys and one more place, whose score is the sink's. */
static val with_sink(onnx_call *c, const gqa *p, val scores)
{
    dim one[4] = {1, p->heads, 1, 1};
    dim column[4] = {p->batch, p->heads, p->queries, 1};
    val sink = op_scalar(c->g, p->dt, 0.0);

    if (onnx_in(c, 11)) {
        contrib_parameters(c, 11, 12);
        sink = op_reshape(c->g, op_cast(c->g, c->in[11], p->dt), one, 4);
    }
    val both[2] = {scores, op_expand(c->g, sink, column, 4)};
    val y = onnx_along(c, op_concat(c->g, both, 2, 3), OP_softmax, 3);
    return op_slice(c->g, y, 3, 0, p->keys, 1);
}

/* What one op cannot say: a cap on the scores, or a sink. */
static val attend_apart(onnx_call *c, const gqa *p, val mask, double scale,
                        double cap, bool sink)
{
    val k = onnx_repeat_heads(c, p->k, p->heads);
    val v = onnx_repeat_heads(c, p->v, p->heads);
    val s = contrib_scaled(c, contrib_matmul(c, p->q, k, false, true), scale);

    if (cap != 0.0) {
        val by = onnx_scalar_like(c, s, cap);
        s = op_unary(c->g, OP_tanh, op_binary(c->g, OP_div, s, by));
        s = op_binary(c->g, OP_mul, s, by);
    }
    if (onnx_in(c, 10))
        s = op_binary(c->g, OP_add, s, op_cast(c->g, c->in[10], p->dt));
    s = op_where(c->g, mask, s, op_scalar(c->g, p->dt, -INFINITY));
    s = sink ? with_sink(c, p, s) : onnx_along(c, s, OP_softmax, 3);
    return op_binary(c->g, OP_matmul, s, v);
}

static val attend(onnx_call *c, const gqa *p, val mask)
{
    double scale = onnx_float(c, "scale", 0.0);
    double cap = onnx_float(c, "softcap", 0.0);
    bool sink = onnx_in(c, 11) || onnx_int(c, "smooth_softmax", 0) > 0;

    if (scale == 0.0)
        scale = 1.0 / sqrt((double)p->width);
    if (cap != 0.0 || sink)
        return attend_apart(c, p, mask, scale, cap, sink);
    if (onnx_in(c, 10))
        mask = op_where(c->g, mask, op_cast(c->g, c->in[10], p->dt),
                        op_scalar(c->g, p->dt, -INFINITY));
    node *n = node_new(c->g, OP_sdpa);
    node_input(c->g, n, p->q);
    node_input(c->g, n, p->k);
    node_input(c->g, n, p->v);
    node_input(c->g, n, mask);
    node_float(c->g, n, "scale", scale);
    return node_add(c->g, n);
}

hull_status onnx_group_query(onnx_call *c)
{
    gqa p = {0};
    val mask = 0;

    TRY(check(c));
    TRY(read_heads(c, &p));
    TRY(read_sizes(c, &p));
    TRY(turn(c, &p));
    p.k = append(c, &p, onnx_in(c, 3), p.k);
    p.v = append(c, &p, onnx_in(c, 4), p.v);
    TRY(visible(c, &p, &mask));
    TRY(ir_status(c->m));
    c->out[0] = onnx_heads_together(c, attend(c, &p, mask));
    if (onnx_wants(c, 1))
        c->out[1] = p.k;
    if (onnx_wants(c, 2))
        c->out[2] = p.v;
    return ir_status(c->m);
}
