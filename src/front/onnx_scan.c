/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_scan.c - lowerings of recurrences: Scan, LinearAttention. A scan is a
 * loop that carries the states and one buffer per collected result; each step
 * reads its slices by index and writes its results into the buffers. The types
 * of the results come from a first lowering of the step whose nodes nobody
 * reads. CausalConvWithState is here because it carries a state as well.
 */
#include "front/onnx_lower.h"

#include <inttypes.h>
#include <string.h>

/* One step: states and slices in, new states and results out. */
typedef hull_status step_fn(onnx_call *c, void *user, const val *in, val *out);

typedef struct scan {
    uint32_t n_states, n_slices, n_results;
    const val *states, *whole;      /* initial states; what is sliced */
    const int64_t *axes, *out_axes; /* of `whole` and of the results */
    const int64_t *back, *out_back; /* 1 = from the end */
    step_fn *step;
    void *user;
    dim trips;
    val *in, *out, *carried;        /* scratch of one step */
    type *types;                    /* of the results */
} scan;

static val gather_at(onnx_call *c, val x, val index, int64_t axis)
{
    node *n = node_new(c->g, OP_gather);

    node_input(c->g, n, x);
    node_input(c->g, n, index);
    node_int(c->g, n, "axis", axis);
    return node_add(c->g, n);
}

/* The step's number i, or what is left after it. */
static val place_of(onnx_call *c, const scan *s, val i, bool back)
{
    dim last = dim_sub(c->m, s->trips, 1);

    if (!back)
        return i;
    val top = op_reshape(c->g, op_dims(c->g, &last, 1), NULL, 0);
    return op_binary(c->g, OP_sub, top, i);
}

/* Puts y at place `at` of the first axis of a buffer. */
static val put_at(onnx_call *c, val buffer, val at, val y)
{
    static const dim one[2] = {1, 1};
    const type *t = onnx_type(c, y);
    dim d[HULL_MAX_RANK] = {1};

    if (!t)
        return 0;
    for (uint32_t i = 0; i < t->rank; i++)
        d[i + 1] = t->dims[i];
    uint32_t rank = t->rank + 1;
    val update = op_reshape(c->g, y, d, rank);
    node *n = node_new(c->g, OP_scatter_nd);
    node_input(c->g, n, buffer);
    node_input(c->g, n, op_reshape(c->g, at, one, 2));
    node_input(c->g, n, update);
    return node_add(c->g, n);
}

static hull_status take_step(onnx_call *c, const scan *s, const val *states,
                             val i)
{
    for (uint32_t k = 0; k < s->n_states; k++)
        s->in[k] = states[k];
    for (uint32_t k = 0; k < s->n_slices; k++)
        s->in[s->n_states + k] =
            gather_at(c, s->whole[k], place_of(c, s, i, s->back[k] != 0),
                      s->axes[k]);
    TRY(ir_status(c->m));
    TRY(s->step(c, s->user, s->in, s->out));
    return ir_status(c->m);
}

/* Zeroed buffers for the results, the step's number as first axis. */
static hull_status add_buffers(onnx_call *c, const scan *s)
{
    for (uint32_t k = 0; k < s->n_results; k++) {
        const type *t = onnx_type(c, s->out[s->n_states + k]);
        dim d[HULL_MAX_RANK] = {s->trips};

        if (!t || t->rank == HULL_MAX_RANK)
            return fail(HULL_EUNSUPPORTED, "a result of too high a rank");
        s->types[k] = *t;
        for (uint32_t i = 0; i < t->rank; i++)
            d[i + 1] = t->dims[i];
        val zero = t->dtype == HULL_BOOL || dtype_is_int(t->dtype)
                       ? op_scalar_i64(c->g, t->dtype, 0)
                       : op_scalar(c->g, t->dtype, 0.0);
        s->carried[s->n_states + k] =
            op_expand(c->g, zero, d, s->types[k].rank + 1);
    }
    return ir_status(c->m);
}

static hull_status fill_body(onnx_call *c, const scan *s)
{
    uint32_t n = s->n_states + s->n_results;
    type counter = type_tensor(c->m, HULL_I64, NULL, 0);
    type flag = type_tensor(c->m, HULL_BOOL, NULL, 0);
    val i = graph_param(c->g, str_of("iteration"), &counter);
    val go = graph_param(c->g, str_of("condition"), &flag);

    for (uint32_t k = 0; k < n; k++) {
        const type *x = onnx_type(c, s->carried[k]);
        type t = x ? *x : counter;

        s->carried[k] = graph_param(c->g, str_of("carried"), &t);
    }
    TRY(ir_status(c->m));
    TRY(take_step(c, s, s->carried, i));
    for (uint32_t k = 0; k < s->n_results; k++)
        s->out[s->n_states + k] =
            put_at(c, s->carried[s->n_states + k],
                   place_of(c, s, i, s->out_back[k] != 0),
                   s->out[s->n_states + k]);
    graph_result(c->g, go);
    for (uint32_t k = 0; k < n; k++)
        graph_result(c->g, s->out[k]);
    return ir_status(c->m);
}

/* The buffer's first axis to where the result wants it. */
static hull_status move_axis(onnx_call *c, val v, int64_t axis, val *out)
{
    const type *t = onnx_type(c, v);
    int64_t perm[HULL_MAX_RANK];
    uint32_t to = 0;

    if (!t)
        return ir_status(c->m);
    TRY(onnx_axis(c, axis, t->rank, &to));
    for (uint32_t i = 0; i < t->rank; i++)
        perm[i] = i < to ? i + 1 : i == to ? 0 : i;
    *out = to == 0 ? v : op_transpose(c->g, v, perm, t->rank);
    return HULL_OK;
}

/* Final states and results to `results`. */
static hull_status run_scan(onnx_call *c, scan *s, val *results)
{
    uint32_t n = s->n_states + s->n_results;
    const type *x = onnx_type(c, s->whole[0]);
    region *in = c->g->insert_in;
    node *before = c->g->insert_before;

    s->in = arena_array(&c->f->a, s->n_states + s->n_slices, sizeof(val));
    s->out = arena_array(&c->f->a, n + 1, sizeof(val));
    s->carried = arena_array(&c->f->a, n + 1, sizeof(val));
    s->types = arena_array(&c->f->a, s->n_results + 1, sizeof(type));
    if (!s->in || !s->out || !s->carried || !s->types)
        return fail_oom(n * sizeof(val));
    if (!x)
        return ir_status(c->m);
    s->trips = x->dims[s->axes[0]];
    TRY(take_step(c, s, s->states, op_scalar_i64(c->g, HULL_I64, 0)));
    for (uint32_t k = 0; k < s->n_states; k++)
        s->carried[k] = s->states[k];
    TRY(add_buffers(c, s));
    val trips = op_reshape(c->g, op_dims(c->g, &s->trips, 1), NULL, 0);
    val go = op_scalar_i64(c->g, HULL_BOOL, 1);
    node *l = node_new(c->g, OP_loop);
    node_input(c->g, l, trips);
    node_input(c->g, l, go);
    for (uint32_t k = 0; k < n; k++)
        node_input(c->g, l, s->carried[k]);
    c->g->insert_in = node_body(c->g, l, "body");
    c->g->insert_before = NULL;
    hull_status st = ir_status(c->m);
    if (st == HULL_OK)
        st = fill_body(c, s);
    c->g->insert_in = in;
    c->g->insert_before = before;
    TRY(st);
    node_outputs(c->g, l, n);
    if (!node_add(c->g, l))
        return ir_status(c->m);
    for (uint32_t k = 0; k < n; k++) {
        results[k] = l->out[k];
        if (k >= s->n_states)
            TRY(move_axis(c, l->out[k], s->out_axes[k - s->n_states],
                          &results[k]));
    }
    return ir_status(c->m);
}

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

static hull_status graph_step(onnx_call *c, void *user, const val *in,
                              val *out)
{
    const scan *s = user;

    return onnx_subgraph(c, "body", in, s->n_states + s->n_slices, out,
                         s->n_states + s->n_results);
}

hull_status onnx_scan(onnx_call *c)
{
    int64_t slices = onnx_int(c, "num_scan_inputs", 0);
    int64_t *axes = NULL, *out_axes = NULL, *back = NULL, *out_back = NULL;
    scan s = {.step = graph_step, .user = &s};

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
    return run_scan(c, &s, c->out);
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

static hull_status linear_step(onnx_call *c, void *user, const val *in,
                               val *out)
{
    const linear *l = user;
    val state = in[0], q = in[1], k = in[2], row = in[3];
    val beta = in[l->gated ? 5 : 4];

    if (l->gated)
        state = op_binary(c->g, OP_mul, state,
                          op_unary(c->g, OP_exp, in[4]));
    if (l->delta) {
        row = op_binary(c->g, OP_sub, row,
                        op_binary(c->g, OP_matmul, k, state));
        row = op_binary(c->g, OP_mul, row, beta);
    }
    node *n = node_new(c->g, OP_matmul);
    node_input(c->g, n, k);
    node_input(c->g, n, row);
    node_bool(c->g, n, "trans_a", true);
    out[0] = op_binary(c->g, OP_add, state, node_add(c->g, n));
    val y = op_binary(c->g, OP_matmul, q, out[0]);
    out[1] = op_binary(c->g, OP_mul, y, op_scalar(c->g, HULL_F32, l->scale));
    return ir_status(c->m);
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
    static const int64_t axes[5] = {1, 1, 1, 1, 1}, none[5] = {0};
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
    scan s = {.n_states = 1, .n_slices = n, .n_results = 1, .states = &first,
              .whole = whole, .axes = axes, .out_axes = axes, .back = none,
              .out_back = none, .step = linear_step, .user = &l};
    TRY(run_scan(c, &s, results));
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
