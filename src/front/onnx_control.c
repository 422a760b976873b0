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

/* Where nodes are put, so that a body can be built and left again. */
typedef struct place {
    region *in;
    node *before;
} place;

static place enter_body(onnx_call *c, node *n, const char *where)
{
    place p = {c->g->insert_in, c->g->insert_before};

    c->g->insert_in = node_body(c->g, n, where);
    c->g->insert_before = NULL;
    return p;
}

static void leave_body(onnx_call *c, place p)
{
    c->g->insert_in = p.in;
    c->g->insert_before = p.before;
}

static val rank0(onnx_call *c, val v)
{
    const type *t = onnx_type(c, v);

    return t && t->rank > 0 ? op_reshape(c->g, v, NULL, 0) : v;
}

static hull_status branch(onnx_call *c, node *n, const char *where,
                          const char *name)
{
    val *results = arena_array(&c->f->a, c->n_out, sizeof *results);

    if (!results)
        return fail_oom(c->n_out * sizeof *results);
    place p = enter_body(c, n, where);
    hull_status st = ir_status(c->m);
    if (st == HULL_OK)
        st = onnx_subgraph(c, name, NULL, 0, results, c->n_out);
    for (uint32_t i = 0; st == HULL_OK && i < c->n_out; i++)
        graph_result(c->g, results[i]);
    leave_body(c, p);
    return st == HULL_OK ? ir_status(c->m) : st;
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
    val cond = rank0(c, c->in[0]);
    node *n = node_new(c->g, OP_if);
    node_input(c->g, n, cond);
    TRY(ir_status(c->m));
    TRY(branch(c, n, "then", "then_branch"));
    TRY(branch(c, n, "else", "else_branch"));
    node_outputs(c->g, n, c->n_out);
    if (!node_add(c->g, n))
        return ir_status(c->m);
    for (uint32_t i = 0; i < c->n_out; i++)
        c->out[i] = n->out[i];
    return HULL_OK;
}

/* Parameters iteration, condition, carried; results condition, carried. */
static hull_status loop_body(onnx_call *c, node *n, uint32_t carried)
{
    val *params = arena_array(&c->f->a, carried + 2, sizeof *params);
    val *results = arena_array(&c->f->a, carried + 1, sizeof *results);
    type counter = type_tensor(c->m, HULL_I64, NULL, 0);
    type flag = type_tensor(c->m, HULL_BOOL, NULL, 0);

    if (!params || !results)
        return fail_oom(carried * sizeof *params);
    place p = enter_body(c, n, "body");
    params[0] = graph_param(c->g, str_of("iteration"), &counter);
    params[1] = graph_param(c->g, str_of("condition"), &flag);
    for (uint32_t i = 0; i < carried; i++) {
        const type *x = onnx_type(c, c->in[2 + i]);
        type t = x ? *x : counter;

        params[2 + i] = graph_param(c->g, str_of("carried"), &t);
    }
    hull_status st = ir_status(c->m);
    if (st == HULL_OK)
        st = onnx_subgraph(c, "body", params, carried + 2, results,
                           carried + 1);
    if (st == HULL_OK)
        results[0] = rank0(c, results[0]);
    for (uint32_t i = 0; st == HULL_OK && i <= carried; i++)
        graph_result(c->g, results[i]);
    leave_body(c, p);
    return st == HULL_OK ? ir_status(c->m) : st;
}

hull_status onnx_loop(onnx_call *c)
{
    uint32_t carried = c->n_in > 2 ? c->n_in - 2 : 0;

    for (uint32_t i = 2; i < c->n_in; i++)
        if (!c->in[i])
            return fail(HULL_EFORMAT, "input %" PRIu32 " is missing", i);
    if (c->n_out > carried)
        return fail(HULL_EUNSUPPORTED,
                    "%" PRIu32 " outputs are collected over iterations, only "
                    "carried values are supported", c->n_out - carried);
    val trips = onnx_in(c, 0) ? rank0(c, c->in[0])
                              : op_scalar_i64(c->g, HULL_I64, INT64_MAX);
    val cond = onnx_in(c, 1) ? rank0(c, c->in[1])
                             : op_scalar_i64(c->g, HULL_BOOL, 1);
    node *n = node_new(c->g, OP_loop);
    node_input(c->g, n, trips);
    node_input(c->g, n, cond);
    for (uint32_t i = 0; i < carried; i++)
        node_input(c->g, n, c->in[2 + i]);
    TRY(ir_status(c->m));
    TRY(loop_body(c, n, carried));
    node_outputs(c->g, n, carried);
    if (!node_add(c->g, n) && carried)
        return ir_status(c->m);
    for (uint32_t i = 0; i < c->n_out; i++)
        c->out[i] = n->out[i];
    return HULL_OK;
}
