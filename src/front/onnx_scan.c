/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_scan.c - lowerings of recurrences: Scan, LinearAttention, which are
 * scans of front_control.c. CausalConvWithState is here because it carries a
 * state as well.
 */
#include "front/onnx_lower.h"

#include <inttypes.h>

/* ---- Scan ---------------------------------------------------------------- */

static hull_status list(onnx_call *c, const char *name, uint32_t n,
                        int64_t **out)
{
    uint32_t k = 0;

    *out = arena_array(&c->f->a, n + 1, sizeof **out);
    if (!*out)
        return fail_oom(n * sizeof **out);
    TRY(onnx_ints(c, name, *out, n, &k));
    return k == 0 || k == n
               ? HULL_OK
               : fail(HULL_EFORMAT, "attribute '%s' has %" PRIu32
                      " values, want %" PRIu32, name, k, n);
}

/* The step of Scan is a graph of the call. */
typedef struct scan_step {
    onnx_call *c;
    uint32_t n_in, n_out;
} scan_step;

static hull_status graph_step(front *f, void *user, const val *in, val *out)
{
    const scan_step *q = user;

    (void)f;
    return onnx_subgraph(q->c, "body", in, q->n_in, out, q->n_out);
}

hull_status onnx_scan(onnx_call *c)
{
    int64_t slices = onnx_int(c, "num_scan_inputs", 0);
    int64_t *axes = NULL, *out_axes = NULL, *back = NULL, *out_back = NULL;
    scan_step step = {c, c->n_in, c->n_out};
    lower_scan s = {.step = graph_step, .user = &step};

    if (slices < 1 || slices > c->n_in || c->n_in - slices > c->n_out)
        return fail(HULL_EFORMAT, "num_scan_inputs is %" PRId64 " of %" PRIu32
                    " inputs and %" PRIu32 " outputs", slices, c->n_in,
                    c->n_out);
    s.n_slices = (uint32_t)slices;
    s.n_states = c->n_in - s.n_slices;
    s.n_results = c->n_out - s.n_states;
    TRY(list(c, "scan_input_axes", s.n_slices, &axes));
    TRY(list(c, "scan_output_axes", s.n_results, &out_axes));
    TRY(list(c, "scan_input_directions", s.n_slices, &back));
    TRY(list(c, "scan_output_directions", s.n_results, &out_back));
    for (uint32_t k = 0; k < c->n_in; k++) {
        const type *t = onnx_type(c, c->in[k]);
        uint32_t axis = 0;

        if (!t)
            return fail(HULL_EFORMAT, "input %" PRIu32 " is missing", k);
        if (k < s.n_states)
            continue;
        TRY(onnx_axis(c, axes[k - s.n_states], t->rank, &axis));
        axes[k - s.n_states] = axis;
    }
    s.states = c->in;
    s.whole = c->in + s.n_states;
    s.axes = axes;
    s.out_axes = out_axes;
    s.back = back;
    s.out_back = out_back;
    return lower_scan_add(c->f, &s, c->out);
}

/* ---- Scan of opset 8 ------------------------------------------------------
 * A batch: the first axis of every operand and result, the second one is
 * scanned. Each sequence may be shorter than the axis; then the states stand
 * still and the results are 0. It is a scan over the batch whose step is a
 * scan; that one's last slice is the number of the step. */

typedef struct batch_scan {
    onnx_call *c;
    uint32_t n_states, n_slices, n_results;
    int64_t *back;
    val length;                /* of this sequence; 0: the whole axis */
} batch_scan;

/* What a step makes, where it is one of the sequence's. */
static hull_status short_step(front *f, void *user, const val *in, val *out)
{
    const batch_scan *b = user;
    uint32_t n = b->n_states + b->n_slices;

    TRY(onnx_subgraph(b->c, "body", in, n, out, b->n_states + b->n_results));
    if (!b->length)
        return HULL_OK;
    val runs = op_binary(f->g, OP_lt, in[n],
                         op_cast(f->g, b->length, HULL_I64));
    for (uint32_t k = 0; k < b->n_states + b->n_results; k++) {
        const type *t = graph_type(f->g, out[k]);
        val rest = k < b->n_states ? in[k]
                   : t             ? op_scalar(f->g, t->dtype, 0.0)
                                   : 0;

        out[k] = op_where(f->g, runs, out[k], rest);
    }
    return ir_status(f->m);
}

/* The sequence from its last element on, `count` being 0, 1, ..; without a
 * length the scan itself goes backwards. */
static val turned(front *f, const batch_scan *b, val x, val count)
{
    val n = op_cast(f->g, b->length, HULL_I64);
    val last = op_binary(f->g, OP_sub, n, op_scalar_i64(f->g, HULL_I64, 1));
    val at = op_where(f->g, op_binary(f->g, OP_lt, count, n),
                      op_binary(f->g, OP_sub, last, count), count);
    node *g = node_new(f->g, OP_gather);

    node_input(f->g, g, x);
    node_input(f->g, g, at);
    return node_add(f->g, g);
}

static hull_status batch_step(front *f, void *user, const val *in, val *out)
{
    batch_scan *b = user;
    const val *rest = in + b->n_states;
    val *whole = arena_array(&f->a, b->n_slices + 1, sizeof *whole);
    const type *t = graph_type(f->g, rest[0]);

    if (!whole)
        return fail_oom((b->n_slices + 1) * sizeof *whole);
    if (!t || t->rank == 0)
        return fail(HULL_ESHAPE, "a scanned input has rank 1, want 2 or more");
    node *n = node_new(f->g, OP_iota);
    node_dims(f->g, n, "shape", t->dims, 1);
    whole[b->n_slices] = node_add(f->g, n);
    b->length = onnx_in(b->c, 0) ? rest[b->n_slices] : 0;
    for (uint32_t k = 0; k < b->n_slices; k++)
        whole[k] = b->length && b->back[k]
                       ? turned(f, b, rest[k], whole[b->n_slices])
                       : rest[k];
    lower_scan s = {.n_states = b->n_states, .n_slices = b->n_slices + 1,
                    .n_results = b->n_results, .states = in, .whole = whole,
                    .back = b->length ? NULL : b->back, .step = short_step,
                    .user = b};
    return lower_scan_add(f, &s, out);
}

hull_status onnx_scan_old(onnx_call *c)
{
    int64_t slices = onnx_int(c, "num_scan_inputs", 0);
    uint32_t n = c->n_in > 0 ? c->n_in - 1 : 0;
    val *whole = arena_array(&c->f->a, n + 1, sizeof *whole);
    batch_scan b = {.c = c};

    if (!whole)
        return fail_oom(n * sizeof *whole);
    if (slices < 1 || slices > n || n - slices > c->n_out)
        return fail(HULL_EFORMAT, "num_scan_inputs is %" PRId64 " of %" PRIu32
                    " inputs and %" PRIu32 " outputs", slices, n, c->n_out);
    b.n_slices = (uint32_t)slices;
    b.n_states = n - b.n_slices;
    b.n_results = c->n_out - b.n_states;
    TRY(list(c, "directions", b.n_slices, &b.back)); /* one more, of count */
    for (uint32_t k = 0; k < n; k++) {
        const type *t = onnx_type(c, c->in[k + 1]);

        whole[k] = c->in[k + 1];
        if (!t || t->rank == 0)
            return fail(HULL_EFORMAT, "input %" PRIu32 " is missing or has no "
                        "batch axis", k + 1);
    }
    if (onnx_in(c, 0))
        whole[n++] = c->in[0];
    lower_scan s = {.n_slices = n, .n_results = c->n_out, .whole = whole,
                    .step = batch_step, .user = &b};
    return lower_scan_add(c->f, &s, c->out);
}

/* ---- LinearAttention ----------------------------------------------------- */

/* How a step changes the state S [b,h,dk,dv] with k [b,h,1,dk], v [b,h,1,dv]:
 *   S = exp(decay) S                 when gated
 *   S = S + k' (beta (v - k S))      delta; otherwise S + k' v
 *   y = scale q S                    q [b,h,g,dk]: g query heads share a head
 */
typedef struct linear {
    bool gated, delta;
    double scale;
} linear;

static hull_status linear_step(front *f, void *user, const val *in, val *out)
{
    const linear *l = user;
    val state = in[0], q = in[1], k = in[2], row = in[3];
    val beta = in[l->gated ? 5 : 4];

    if (l->gated)
        state = op_binary(f->g, OP_mul, state,
                          op_unary(f->g, OP_exp, in[4]));
    if (l->delta) {
        row = op_binary(f->g, OP_sub, row,
                        op_binary(f->g, OP_matmul, k, state));
        row = op_binary(f->g, OP_mul, row, beta);
    }
    node *n = node_new(f->g, OP_matmul);
    node_input(f->g, n, k);
    node_input(f->g, n, row);
    node_bool(f->g, n, "trans_a", true);
    out[0] = op_binary(f->g, OP_add, state, node_add(f->g, n));
    val y = op_binary(f->g, OP_matmul, q, out[0]);
    out[1] = op_binary(f->g, OP_mul, y, op_scalar(f->g, HULL_F32, l->scale));
    return ir_status(f->m);
}

/* x [b,t,n] as f32 [b,t,a,.,.]: the rest of n becomes the axis `rest`. */
static val apart(onnx_call *c, val x, dim a, uint32_t rest, dim other)
{
    const type *t = onnx_type(c, x);

    if (!t || t->rank != 3)
        return 0;
    dim size = dim_div(c->m, t->dims[2], dim_mul(c->m, a, other));
    dim d[5] = {t->dims[0], t->dims[1], a, rest == 3 ? size : other,
                rest == 4 ? size : other};
    return op_reshape(c->g, op_cast(c->g, x, HULL_F32), d, 5);
}

static hull_status linear_rule(onnx_call *c, linear *l)
{
    str rule = onnx_str(c, "update_rule", "gated_delta");

    l->delta = str_is(rule, "delta") || str_is(rule, "gated_delta");
    l->gated = str_is(rule, "gated") || str_is(rule, "gated_delta");
    if (!l->gated && !l->delta && !str_is(rule, "linear"))
        return fail(HULL_EFORMAT, "attribute 'update_rule' is '%.*s', want "
                    "linear, gated, delta or gated_delta", STR_ARG(rule));
    if ((l->gated && !onnx_in(c, 4)) || (l->delta && !onnx_in(c, 5)))
        return fail(HULL_EFORMAT, "update_rule '%.*s' without its decay or "
                    "beta", STR_ARG(rule));
    return HULL_OK;
}

hull_status onnx_linear_attention(onnx_call *c)
{
    static const int64_t axes[5] = {1, 1, 1, 1, 1};
    int64_t heads = onnx_int(c, "q_num_heads", 0), width = 0;
    int64_t kv = onnx_int(c, "kv_num_heads", 0);
    const type *t = onnx_type(c, c->in[0]), *v = onnx_type(c, c->in[2]);
    linear l = {.scale = onnx_float(c, "scale", 0.0)};
    val whole[5] = {0}, results[2] = {0};
    uint32_t n = 3;

    TRY(linear_rule(c, &l));
    if (!t || !v)
        return ir_status(c->m);
    if (heads < 1 || kv < 1 || heads % kv != 0 || t->rank != 3 ||
        v->rank != 3 || !dim_is_int(c->m, t->dims[2], &width) || width < heads)
        return fail(HULL_EFORMAT, "%" PRId64 " query heads and %" PRId64
                    " others for a query of rank %" PRIu32 " and width %"
                    PRId64, heads, kv, t->rank, width);
    hull_dtype dt = t->dtype;
    dim wide = dim_div(c->m, v->dims[2], kv);
    dim state[4] = {t->dims[0], kv, width / heads, wide};
    dim flat[3] = {t->dims[0], t->dims[1], dim_mul(c->m, wide, heads)};
    if (l.scale == 0.0)
        l.scale = 1.0 / __builtin_sqrt((double)(width / heads));
    whole[0] = apart(c, c->in[0], kv, 4, heads / kv);
    whole[1] = apart(c, c->in[1], kv, 4, 1);
    whole[2] = apart(c, c->in[2], kv, 4, 1);
    if (l.gated)
        whole[n++] = apart(c, c->in[4], kv, 3, 1);
    if (l.delta) { /* one per head, or one for all */
        const type *b = onnx_type(c, c->in[5]);
        whole[n++] = apart(c, c->in[5], b && b->rank == 3 ? b->dims[2] : 1, 3,
                           1);
    }
    for (uint32_t i = 0; i < n; i++)
        if (!whole[i])
            return fail(HULL_ESHAPE, "operand %" PRIu32 " has not rank 3", i);
    val first = onnx_in(c, 3) ? op_cast(c->g, c->in[3], HULL_F32)
                              : op_expand(c->g,
                                          op_scalar(c->g, HULL_F32, 0.0),
                                          state, 4);
    lower_scan s = {.n_states = 1, .n_slices = n, .n_results = 1,
                    .states = &first, .whole = whole, .axes = axes,
                    .out_axes = axes, .step = linear_step, .user = &l};
    TRY(lower_scan_add(c->f, &s, results));
    c->out[0] = op_reshape(c->g, op_cast(c->g, results[1], dt), flat, 3);
    if (onnx_wants(c, 1))
        c->out[1] = op_cast(c->g, results[0], dt);
    return HULL_OK;
}

/* ---- CausalConvWithState ------------------------------------------------- */

/* A depthwise convolution over the last k - 1 places of the run before and the
 * places of this one; the last k - 1 of both are the new state. */
hull_status onnx_causal_conv(onnx_call *c)
{
    const type *x = onnx_type(c, c->in[0]), *w = onnx_type(c, c->in[1]);
    str act = onnx_str(c, "activation", "none");
    int64_t k = 0, channels = 0, one[1] = {1}, none[2] = {0, 0};
    val past = onnx_in(c, 3);

    if (!x || !w)
        return ir_status(c->m);
    if (onnx_int(c, "ndim", 1) != 1)
        return fail(HULL_EUNSUPPORTED, "ndim is %" PRId64 ", want 1",
                    onnx_int(c, "ndim", 1));
    if (x->rank != 3 || w->rank != 3 || !dim_is_int(c->m, w->dims[2], &k) ||
        !dim_is_int(c->m, x->dims[1], &channels) || k < 1)
        return fail(HULL_EUNSUPPORTED, "input or weight has not rank 3, or "
                    "the kernel's size or the channels are not fixed");
    if (!str_is(act, "none") && !str_is(act, "silu") && !str_is(act, "swish"))
        return fail(HULL_EFORMAT, "attribute 'activation' is '%.*s', want "
                    "none, silu or swish", STR_ARG(act));
    dim state[3] = {x->dims[0], x->dims[1], k - 1};
    dim size = dim_add(c->m, x->dims[2], k - 1);
    hull_dtype dt = x->dtype;
    if (!past)
        past = op_expand(c->g, op_scalar(c->g, dt, 0.0), state, 3);
    val both[2] = {past, c->in[0]};
    val line = op_concat(c->g, both, 2, 2);
    front_is_parameter(c->f, c->in[1]);
    node *n = node_new(c->g, OP_conv);
    node_input(c->g, n, line);
    node_input(c->g, n, c->in[1]);
    if (onnx_in(c, 2)) {
        front_is_parameter(c->f, c->in[2]);
        node_input(c->g, n, c->in[2]);
    }
    node_ints(c->g, n, "stride", one, 1);
    node_ints(c->g, n, "pad", none, 2);
    node_ints(c->g, n, "dilation", one, 1);
    node_int(c->g, n, "groups", channels);
    val y = node_add(c->g, n);
    c->out[0] = str_is(act, "none") ? y : op_unary(c->g, OP_silu, y);
    if (onnx_wants(c, 1))
        c->out[1] = op_slice(c->g, line, 2, dim_sub(c->m, size, k - 1), size,
                             1);
    return HULL_OK;
}
