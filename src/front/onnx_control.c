/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_control.c - lowerings of If and Loop. A condition that is known decides
 * at import; otherwise the branches become bodies, which see outer values as
 * ONNX's graphs do.
 */
#include "front/onnx_lower.h"

#include <inttypes.h>
#include <string.h>

/* ---- If ------------------------------------------------------------------ */

static hull_status then_branch(front *f, void *user, const val *in, val *out)
{
    onnx_call *c = user;

    (void)f;
    (void)in;
    return onnx_subgraph(c, "then_branch", NULL, 0, out, c->n_out);
}

static hull_status else_branch(front *f, void *user, const val *in, val *out)
{
    onnx_call *c = user;

    (void)f;
    (void)in;
    return onnx_subgraph(c, "else_branch", NULL, 0, out, c->n_out);
}

/* The graph holds one node of kind `op`, and constants. */
static hull_status is_only(onnx_call *c, const char *name, const char *op,
                           bool *out)
{
    onnx_graph g;
    uint32_t n = 0;

    *out = false;
    TRY(onnx_graph_attr(c, name, &g));
    for (uint32_t i = 0; i < g.n_nodes; i++) {
        if (str_is(g.nodes[i].op, "Constant"))
            continue;
        if (!str_is(g.nodes[i].op, op))
            return HULL_OK;
        n++;
    }
    *out = n == 1;
    return HULL_OK;
}

/* torch's squeeze(axis): "if the size is 1, Squeeze, else Identity". A result
 * has one rank, so the size is taken to be 1; the reshape that Squeeze becomes
 * refuses any other in a run, because the element counts differ. */
static hull_status is_squeeze(onnx_call *c, bool *out)
{
    bool identity = false;

    TRY(is_only(c, "then_branch", "Squeeze", out));
    TRY(is_only(c, "else_branch", "Identity", &identity));
    *out = *out && identity;
    return HULL_OK;
}

hull_status onnx_if(onnx_call *c)
{
    dim d = 0;
    uint32_t n_known = 0;
    bool known = false, squeeze = false;
    int64_t v = 0;

    TRY(front_structure(c->f, c->in[0], &d, 1, &n_known, &known));
    if (known && n_known == 1 && dim_is_int(c->m, d, &v))
        return onnx_subgraph(c, v ? "then_branch" : "else_branch", NULL, 0,
                             c->out, c->n_out);
    TRY(is_squeeze(c, &squeeze));
    if (squeeze)
        return onnx_subgraph(c, "then_branch", NULL, 0, c->out, c->n_out);
    return lower_if(c->f, c->in[0], then_branch, else_branch, c, c->n_out,
                    c->out);
}

/* ---- Loop ---------------------------------------------------------------- */

/* One Loop while it is built. Results that are collected over iterations are
 * one value more to carry each: a buffer whose first axis is the iteration
 * where its type is known beforehand, else a sequence. */
typedef struct looping {
    onnx_call *c;
    uint32_t carried, collected; /* collected: that the graph gives */
    bool buffers;
    val *results;                /* scratch of one lowering of the body */
} looping;

/* The caller wants collected result k. */
static bool wants(const looping *l, uint32_t k)
{
    return onnx_wants(l->c, l->carried + k);
}

static val put_at(onnx_call *c, val buffer, val at, val y)
{
    static const dim one[2] = {1, 1};
    const type *t = onnx_type(c, y);
    dim d[HULL_MAX_RANK] = {1};

    if (!t)
        return 0;
    memcpy(d + 1, t->dims, t->rank * sizeof *d);
    val update = op_reshape(c->g, y, d, t->rank + 1);
    node *n = node_new(c->g, OP_scatter_nd);
    node_input(c->g, n, buffer);
    node_input(c->g, n, op_reshape(c->g, at, one, 2));
    node_input(c->g, n, update);
    return node_add(c->g, n);
}

static val append(onnx_call *c, val sequence, val y)
{
    node *n = node_new(c->g, sequence ? OP_seq_insert : OP_seq_new);

    if (sequence)
        node_input(c->g, n, sequence);
    node_input(c->g, n, y);
    return node_add(c->g, n);
}

static hull_status loop_body(front *f, void *user, const val *in, val *out)
{
    const looping *l = user;
    const val *kept = in + 2 + l->carried;
    val *to = out + 1 + l->carried;

    TRY(onnx_subgraph(l->c, "body", in, l->carried + 2, l->results,
                      1 + l->carried + l->collected));
    memcpy(out, l->results, (1 + l->carried) * sizeof *out);
    for (uint32_t k = 0, i = 0; k < l->collected; k++) {
        val y = l->results[1 + l->carried + k];

        if (!wants(l, k))
            continue;
        to[i] = l->buffers ? put_at(l->c, kept[i], in[0], y)
                           : append(l->c, kept[i], y);
        i++;
    }
    return ir_status(f->m);
}

/* Stacks what was collected. */
static hull_status give_collected(const looping *l, const val *made)
{
    onnx_call *c = l->c;

    for (uint32_t k = 0, i = 0; k < l->collected; k++) {
        if (!wants(l, k))
            continue;
        val y = made[i++];

        if (!l->buffers) {
            node *n = node_new(c->g, OP_seq_concat);
            node_input(c->g, n, y);
            node_int(c->g, n, "axis", 0);
            node_bool(c->g, n, "new_axis", true);
            y = node_add(c->g, n);
        }
        c->out[l->carried + k] = y;
    }
    return ir_status(c->m);
}

/* The symbols of d are older than `limit`. */
static bool is_older(const ir *m, dim d, dim limit)
{
    const dim_node *n = dim_get(m, d);

    if (!n || n->op == DIM_INT)
        return d != DIM_UNKNOWN;
    if (n->op == DIM_SYM)
        return d > limit; /* entries count downwards */
    return is_older(m, n->a, limit) && is_older(m, n->b, limit);
}

/* The condition is true whatever the body computes. */
static hull_status always_true(onnx_call *c, val given, val param, val result,
                               bool *out)
{
    val v[2] = {given, result};
    int64_t x = 0;

    *out = true;
    for (int i = 0; i < 2 && *out; i++) {
        dim d = 0;
        uint32_t n = 0;
        bool known = false;

        if (!v[i] || (i == 1 && graph_resolve(c->g, result) == param))
            continue;
        TRY(front_structure(c->f, v[i], &d, 1, &n, &known));
        *out = known && n == 1 && dim_is_int(c->m, d, &x) && x != 0;
    }
    return HULL_OK;
}

/* Lowers the body into a node that is thrown away, for the types. `carried`
 * values keep theirs? */
static hull_status try_body(looping *l, val given, bool *out_fixed)
{
    onnx_call *c = l->c;
    graph *g = c->g;
    region *in = g->insert_in;
    node *before = g->insert_before;
    val *params = arena_array(&c->f->a, l->carried + 2, sizeof *params);
    type counter = type_tensor(c->m, HULL_I64, NULL, 0);
    type flag = type_tensor(c->m, HULL_BOOL, NULL, 0);

    if (!params)
        return fail_oom(l->carried * sizeof *params);
    g->insert_in = node_body(g, node_new(g, OP_loop), "body");
    g->insert_before = NULL;
    params[0] = graph_param(g, str_of("iteration"), &counter);
    params[1] = graph_param(g, str_of("condition"), &flag);
    for (uint32_t k = 0; k < l->carried; k++)
        params[2 + k] = graph_param(g, str_of("carried"),
                                    onnx_type(c, c->in[2 + k]));
    hull_status st = ir_status(c->m);
    if (st == HULL_OK)
        st = onnx_subgraph(c, "body", params, l->carried + 2, l->results,
                           1 + l->carried + l->collected);
    if (st == HULL_OK)
        st = always_true(c, given, params[1], l->results[0], out_fixed);
    g->insert_in = in;
    g->insert_before = before;
    TRY(st);
    for (uint32_t k = 0; *out_fixed && k < l->carried; k++)
        *out_fixed = type_eq(c->m, onnx_type(c, c->in[2 + k]),
                             onnx_type(c, l->results[1 + k]));
    return ir_status(c->m);
}

/* The buffer of a collected result of type t; 0: no zeros of that type, or a
 * size is the body's own. */
static val buffer_of(onnx_call *c, const type *t, dim trips, dim limit)
{
    dim d[HULL_MAX_RANK] = {trips};
    val zero;

    if (t->kind != TYPE_TENSOR || t->rank >= HULL_MAX_RANK ||
        dtype_is_complex(t->dtype) || t->dtype == HULL_STRING)
        return 0;
    for (uint32_t i = 0; i < t->rank; i++) {
        if (!is_older(c->m, t->dims[i], limit))
            return 0;
        d[i + 1] = t->dims[i];
    }
    zero = dtype_is_float(t->dtype) ? op_scalar(c->g, t->dtype, 0.0)
                                    : op_scalar_i64(c->g, t->dtype, 0);
    return op_expand(c->g, zero, d, t->rank + 1);
}

/* Whether the trip count may be known at import; if not, no body is lowered in
 * vain. */
static bool may_be_known(onnx_call *c, val trips)
{
    const node *def = graph_def(c->g, trips);

    return graph_value(c->g, trips)->known || (def && def->op == OP_weight);
}

/* Buffers for what is collected, when the number of iterations is known and no
 * size changes; else out[] is left 0. */
static hull_status try_buffers(looping *l, val given, val *out)
{
    onnx_call *c = l->c;
    dim trips = 0, limit = -2 - (dim)dim_n_nodes(c->m);
    uint32_t n = 0, i = 0;
    int64_t least, most;
    bool known = true;

    if (l->collected == 0 || !onnx_in(c, 0) || !may_be_known(c, c->in[0]))
        return HULL_OK;
    TRY(try_body(l, given, &known));
    if (known)
        TRY(front_structure(c->f, c->in[0], &trips, 1, &n, &known));
    if (!known || n != 1)
        return HULL_OK;
    dim_range(c->m, trips, &least, &most);
    for (uint32_t k = 0; known && k < l->collected; k++) {
        const type *t = onnx_type(c, l->results[1 + l->carried + k]);
        val b = t && least >= 0 ? buffer_of(c, t, trips, limit) : 0;

        known = b != 0;
        if (wants(l, k))
            out[i++] = b;
    }
    for (l->buffers = known; !known && i > 0;)
        out[--i] = 0;
    return ir_status(c->m);
}

hull_status onnx_loop(onnx_call *c)
{
    looping l = {.c = c, .carried = c->n_in > 2 ? c->n_in - 2 : 0};
    uint32_t n = l.carried;
    onnx_graph g;

    for (uint32_t i = 2; i < c->n_in; i++)
        if (!c->in[i])
            return fail(HULL_EFORMAT, "input %" PRIu32 " is missing", i);
    TRY(onnx_graph_attr(c, "body", &g));
    if (g.n_outputs < 1 + l.carried ||
        c->n_out > g.n_outputs - 1)
        return fail(HULL_EFORMAT, "%" PRIu32 " outputs, its graph has %" PRIu32
                    ", of which one is the condition and %" PRIu32
                    " are carried", c->n_out, g.n_outputs, l.carried);
    l.collected = g.n_outputs - 1 - l.carried;
    l.results = arena_array(&c->f->a, g.n_outputs, sizeof(val));
    val *carried = arena_array(&c->f->a, g.n_outputs, sizeof(val));
    val *made = arena_array(&c->f->a, g.n_outputs, sizeof(val));
    if (!l.results || !carried || !made)
        return fail_oom(g.n_outputs * sizeof(val));
    memcpy(carried, c->in + 2, l.carried * sizeof(val));
    TRY(try_buffers(&l, onnx_in(c, 1), carried + l.carried));
    for (uint32_t k = 0; k < l.collected; k++)
        n += wants(&l, k);
    TRY(lower_loop(c->f, onnx_in(c, 0) ? c->in[0]
                             : op_scalar_i64(c->g, HULL_I64, INT64_MAX),
                   onnx_in(c, 1) ? c->in[1]
                                 : op_scalar_i64(c->g, HULL_BOOL, 1),
                   carried, n, loop_body, &l, made));
    for (uint32_t i = 0; i < l.carried && i < c->n_out; i++)
        c->out[i] = made[i];
    return give_collected(&l, made + l.carried);
}
