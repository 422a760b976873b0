/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * control.c - if, loop, call, expect. Bodies run through eval_ctx.run_body. A
 * loop's results are its carried values, whose types do not change; two sets
 * of buffers take turns. A call is resolved by whoever runs graphs, so it has
 * no kernel.
 */
#include "ops/data.h"

#include <inttypes.h>
#include <string.h>

/* Operand i is one element of dtype dt. */
static hull_status single_infer(graph *g, node *n, uint32_t i, hull_dtype dt)
{
    const type *t;
    char what[128];
    dim numel;
    int64_t v;

    TRY(infer_tensor(&t, g, n, i));
    numel = type_numel(g->m, t);
    if (t->dtype != dt ||
        (numel != DIM_UNKNOWN && dim_is_int(g->m, numel, &v) && v != 1))
        return fail(HULL_ESHAPE, "%s: operand %u is %s of rank %u, want one %s",
                    node_what(n, what), i, hull_dtype_name(t->dtype), t->rank,
                    hull_dtype_name(dt));
    return HULL_OK;
}

static hull_status differ(graph *g, const node *n, uint32_t i, const type *a,
                          const type *b)
{
    char what[128];
    buf ta, tb;
    hull_status st;

    buf_init(&ta, 1024);
    buf_init(&tb, 1024);
    type_print(&ta, g->m, a);
    type_print(&tb, g->m, b);
    st = fail(HULL_ESHAPE, "%s: result %u is %s in one branch, %s in the other",
              node_what(n, what), i, ta.p != NULL ? ta.p : "?",
              tb.p != NULL ? tb.p : "?");
    buf_fini(&ta);
    buf_fini(&tb);
    return st;
}

/* What two branches give: sizes and ranks that they do not agree on are known
 * to a run only. */
static hull_status merge(graph *g, node *n, uint32_t i, const type *a,
                         const type *b)
{
    type t;

    if (!type_join(g->m, a, b, &t)) {
        TRY(ir_status(g->m));
        return differ(g, n, i, a, b);
    }
    value_set_type(g, n->out[i], &t);
    return ir_status(g->m);
}

static hull_status body_of(region **out, const node *n, const char *name)
{
    char what[128];

    *out = node_attr(n, name)->u.g;
    if (*out == NULL)
        return fail(HULL_EFORMAT, "%s: no body '%s'", node_what(n, what),
                    name);
    return HULL_OK;
}

static hull_status if_infer(graph *g, node *n)
{
    region *then, *other;
    char what[128];

    TRY(single_infer(g, n, 0, HULL_BOOL));
    TRY(body_of(&then, n, "then"));
    TRY(body_of(&other, n, "else"));
    if (then->n_params != 0 || other->n_params != 0 ||
        then->n_results != n->n_out || other->n_results != n->n_out)
        return fail(HULL_EFORMAT,
                    "%s: branches give %u and %u results, want %u, and take "
                    "no parameters",
                    node_what(n, what), then->n_results, other->n_results,
                    n->n_out);
    for (uint32_t i = 0; i < n->n_out; i++)
        TRY(merge(g, n, i, graph_type(g, then->results[i]),
                  graph_type(g, other->results[i])));
    return HULL_OK;
}

/* A value of type t may stand where one of type `wide` is wanted. */
static bool holds(const ir *m, const type *wide, const type *t)
{
    if (wide->kind == TYPE_OPTIONAL && t->kind != TYPE_OPTIONAL)
        wide = wide->elem;
    return type_agrees(m, wide, t);
}

/* Checks carried value i: what is given and what the body gives must be of the
 * parameter's type, which is the result's too. */
static hull_status carried_infer(graph *g, node *n, const region *body,
                                 uint32_t i)
{
    const value *param = graph_value(g, body->params[i + 2]);
    const type *inside = &param->type;
    const type *next = graph_type(g, body->results[i + 1]);
    const type *given = n->in[i + 2] != 0 ? graph_type(g, n->in[i + 2]) : NULL;
    char what[128], name[80];

    snprintf(name, sizeof(name), "carried value %u '%.*s'", i,
             (int)(param->name.n > 40 ? 40 : param->name.n),
             param->name.n > 0 ? param->name.p : "");
    if (given == NULL)
        return fail(HULL_ESHAPE, "%s: %s is missing", node_what(n, what), name);
    if (given->dtype != inside->dtype || given->dtype != next->dtype)
        return fail(HULL_ESHAPE, "%s: %s is %s, in the body %s, after it %s",
                    node_what(n, what), name, hull_dtype_name(given->dtype),
                    hull_dtype_name(inside->dtype),
                    hull_dtype_name(next->dtype));
    if (!holds(g->m, inside, given) || !holds(g->m, inside, next))
        return fail(HULL_EUNSUPPORTED,
                    "%s: %s changes its type, want one that holds in all "
                    "iterations",
                    node_what(n, what), name);
    value_set_type(g, n->out[i], inside);
    return ir_status(g->m);
}

static hull_status loop_infer(graph *g, node *n)
{
    region *body;
    const type *cond;
    char what[128];
    uint32_t carried = n->n_in - 2;
    dim numel;
    int64_t v;

    if (n->in[0] != 0)
        TRY(single_infer(g, n, 0, HULL_I64));
    if (n->in[1] != 0)
        TRY(single_infer(g, n, 1, HULL_BOOL));
    TRY(body_of(&body, n, "body"));
    if (body->n_params != carried + 2 || body->n_results != carried + 1)
        return fail(HULL_EUNSUPPORTED,
                    "%s: body takes %u and gives %u, want %u and %u for %u "
                    "carried values",
                    node_what(n, what), body->n_params, body->n_results,
                    carried + 2, carried + 1, carried);
    if (n->n_out != carried)
        return fail(HULL_EUNSUPPORTED,
                    "%s: %u results for %u carried values",
                    node_what(n, what), n->n_out, carried);
    cond = graph_type(g, body->results[0]);
    if (cond->kind != TYPE_TENSOR || cond->dtype != HULL_BOOL)
        return fail(HULL_ESHAPE, "%s: the body's condition is not bool",
                    node_what(n, what));
    numel = type_numel(g->m, cond);
    if (numel != DIM_UNKNOWN && dim_is_int(g->m, numel, &v) && v != 1)
        return fail(HULL_ESHAPE,
                    "%s: the body's condition has %" PRId64 " elements, want 1",
                    node_what(n, what), v);
    for (uint32_t i = 0; i < carried; i++)
        TRY(carried_infer(g, n, body, i));
    return HULL_OK;
}

static hull_status call_infer(graph *g, node *n)
{
    char what[128];

    for (uint32_t i = 0; i < n->n_out; i++) {
        if (graph_type(g, n->out[i])->kind == TYPE_NONE)
            return fail(HULL_ESHAPE, "%s: result %u has no declared type",
                        node_what(n, what), i);
    }
    return HULL_OK;
}

static hull_status expect_infer(graph *g, node *n)
{
    const literal *want = node_attr(n, "value")->u.t;
    const type *x;
    char what[128];
    dim dims[HULL_MAX_RANK], known[LITERAL_TEXT_MAX];

    TRY(infer_tensor(&x, g, n, 0));
    if (x->dtype != want->dtype || x->rank != want->rank)
        return fail(HULL_ESHAPE,
                    "%s: operand is %s of rank %u, expected %s of rank %u",
                    node_what(n, what), hull_dtype_name(x->dtype), x->rank,
                    hull_dtype_name(want->dtype), want->rank);
    for (uint32_t i = 0; i < x->rank; i++)
        TRY(data_agree(&dims[i], g, n, "an expected dim", want->shape[i],
                       x->dims[i]));
    TRY(infer_out(g, n, 0, x->dtype, want->shape, x->rank));
    if (want->rank > 1 || want->numel > LITERAL_TEXT_MAX ||
        !dtype_is_int(want->dtype))
        return HULL_OK;
    for (uint32_t i = 0; i < want->numel; i++)
        known[i] = dim_int(g->m, load_i64(want->dtype, want->data, i));
    value_set_known(g, n->out[0], known, (uint32_t)want->numel);
    return HULL_OK;
}

hull_status control_infer(graph *g, node *n)
{
    switch (n->op) {
    case OP_if: return if_infer(g, n);
    case OP_loop: return loop_infer(g, n);
    case OP_call: return call_infer(g, n);
    default: return expect_infer(g, n);
    }
}

static hull_status single_eval(bool *out, const node *n, const tensor *t)
{
    *out = false;
    TRY(data_want_numel(n, t, 1));
    *out = load_i64(t->dtype, t->data, 0) != 0;
    return HULL_OK;
}

static hull_status if_eval(eval_ctx *cx, const node *n, const tensor *in,
                           tensor *out)
{
    region *body;
    bool yes;

    TRY(single_eval(&yes, n, &in[0]));
    TRY(body_of(&body, n, yes ? "then" : "else"));
    return cx->run_body(cx, body, NULL, out);
}

/* Room for a body's results: the condition and the carried values. */
static hull_status loop_room(eval_ctx *cx, const node *n, const region *body,
                             const tensor *out, tensor *next)
{
    const type *cond = graph_type(body->graph, body->results[0]);

    TRY(tensor_of_type(&next[0], cx->env, cond));
    TRY(data_want_numel(n, &next[0], 1));
    TRY(eval_temp(cx, &next[0], HULL_BOOL, next[0].shape, next[0].rank));
    for (uint32_t i = 0; i < n->n_out; i++)
        TRY(eval_temp(cx, &next[i + 1], out[i].dtype, out[i].shape,
                      out[i].rank));
    return HULL_OK;
}

/* now: iteration, condition, carried; next: condition, carried. */
static hull_status loop_run(eval_ctx *cx, const node *n, const region *body,
                            int64_t trips, bool go, tensor *now, tensor *next)
{
    for (int64_t i = 0; go && i < trips; i++) {
        store_i64(HULL_I64, now[0].data, 0, i);
        store_i64(HULL_BOOL, now[1].data, 0, go);
        TRY(cx->run_body(cx, body, now, next));
        TRY(single_eval(&go, n, &next[0]));
        for (uint32_t k = 0; k < n->n_out; k++) {
            tensor t = now[k + 2];

            now[k + 2] = next[k + 1];
            next[k + 1] = t;
        }
    }
    return HULL_OK;
}

static hull_status loop_eval(eval_ctx *cx, const node *n, const tensor *in,
                             tensor *out)
{
    region *body;
    tensor *now, *next;
    int64_t trips = INT64_MAX;
    bool go = true;

    TRY(body_of(&body, n, "body"));
    if (n->in[0] != 0) {
        TRY(data_want_numel(n, &in[0], 1));
        trips = load_i64(HULL_I64, in[0].data, 0);
    }
    if (n->in[1] != 0)
        TRY(single_eval(&go, n, &in[1]));
    now = arena_array(cx->scratch, (size_t)n->n_out + 2, sizeof(*now));
    next = arena_array(cx->scratch, (size_t)n->n_out + 1, sizeof(*next));
    if (now == NULL || next == NULL)
        return fail_oom(((size_t)n->n_out + 2) * sizeof(*now));
    TRY(eval_temp(cx, &now[0], HULL_I64, NULL, 0));
    TRY(eval_temp(cx, &now[1], HULL_BOOL, NULL, 0));
    TRY(loop_room(cx, n, body, out, next));
    for (uint32_t i = 0; i < n->n_out; i++) {
        TRY(eval_temp(cx, &now[i + 2], out[i].dtype, out[i].shape,
                      out[i].rank));
        TRY(data_want_shape(n, &in[i + 2], out[i].shape, out[i].rank));
        TRY(data_copy_all(n, &now[i + 2], &in[i + 2]));
    }
    TRY(loop_run(cx, n, body, trips, go, now, next));
    for (uint32_t i = 0; i < n->n_out; i++)
        TRY(data_copy_all(n, &out[i], &now[i + 2]));
    return HULL_OK;
}

static void put_element(char out[64], hull_dtype dt, const void *p,
                        uint64_t i)
{
    if (dtype_is_complex(dt)) {
        hull_dtype part = dt == HULL_C64 ? HULL_F32 : HULL_F64;

        snprintf(out, 64, "%.9g%+.9gi", load_f64(part, p, 2 * i),
                 load_f64(part, p, 2 * i + 1));
    } else if (dtype_is_float(dt)) {
        snprintf(out, 64, "%.9g", load_f64(dt, p, i));
    } else if (dt == HULL_U64) {
        snprintf(out, 64, "%" PRIu64, (uint64_t)load_i64(dt, p, i));
    } else {
        snprintf(out, 64, "%" PRId64, load_i64(dt, p, i));
    }
}

/* Bytes of one element; unused bits are 0. */
static void element_bytes(uint8_t out[16], hull_dtype dt, const void *p,
                          uint64_t i)
{
    memset(out, 0, 16);
    data_copy(dt, out, 0, p, (int64_t)i);
}

static hull_status expect_eval(const node *n, const tensor *x, tensor *out)
{
    const literal *want = node_attr(n, "value")->u.t;
    str what = attr_str(n, "what");
    uint8_t a[16], b[16];
    char found[64], wanted[64];

    TRY(data_want_shape(n, x, want->shape, want->rank));
    for (uint64_t i = 0; i < want->numel; i++) {
        element_bytes(a, x->dtype, x->data, i);
        element_bytes(b, want->dtype, want->data, i);
        if (memcmp(a, b, sizeof(a)) == 0)
            continue;
        put_element(found, x->dtype, x->data, i);
        put_element(wanted, want->dtype, want->data, i);
        return fail(HULL_EBIND,
                    "%.*s: element %" PRIu64 " is %s, the module needs %s",
                    STR_ARG(what), i, found, wanted);
    }
    return data_copy_all(n, out, x);
}

hull_status control_eval(eval_ctx *cx, const node *n, const tensor *in,
                         tensor *out)
{
    char what[128];

    switch (n->op) {
    case OP_if: return if_eval(cx, n, in, out);
    case OP_loop: return loop_eval(cx, n, in, out);
    case OP_expect: return expect_eval(n, &in[0], out);
    default:
        return fail(HULL_EINTERNAL, "%s: has no kernel", node_what(n, what));
    }
}
