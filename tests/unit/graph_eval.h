/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * graph_eval.h - evaluates a graph in a test, node by node, with the ops' own
 * reference kernels: no plan, no threads, bodies included. Weight nodes read
 * from an index of tensors.
 */
#ifndef TEST_GRAPH_EVAL_H
#define TEST_GRAPH_EVAL_H

#include <inttypes.h>
#include <string.h>

#include "ir/ir.h"
#include "ops/op.h"
#include "weights/weights.h"

typedef struct graph_run {
    const graph *g;
    const weights *w;
    str star;     /* what '*' in weight names stands for; p NULL: itself */
    dim_env env;
    arena a;
    tensor *vals; /* by value id */
    eval_ctx cx;
} graph_run;

static hull_status run_region(graph_run *r, const region *body);

/* The tensor that a weight node's name means, NULL when there is none. */
static const weight_entry *named_tensor(const weights *w, str name, str star)
{
    char text[512];
    size_t k = 0;

    if (!star.p)
        return weights_find(w, name);
    for (size_t i = 0; i < name.n && k + star.n + 1 < sizeof text; i++) {
        if (name.p[i] == '*') {
            memcpy(text + k, star.p, star.n);
            k += star.n;
        } else {
            text[k++] = name.p[i];
        }
    }
    return weights_find(w, (str){text, k});
}

static hull_status run_weight(graph_run *r, const node *n, tensor *out)
{
    str name = attr_str(n, "name");
    const weight_entry *e = named_tensor(r->w, name, r->star);

    if (!e)
        return fail(HULL_ENOTFOUND, "no tensor '%.*s'", STR_ARG(name));
    if (e->len != tensor_bytes(out))
        return fail(HULL_ESHAPE, "tensor '%.*s' has another size",
                    STR_ARG(name));
    return weights_read(r->w, e, out->data);
}

static hull_status run_node(graph_run *r, const node *n)
{
    tensor *in = arena_array(&r->a, n->n_in + 1, sizeof *in);
    tensor *out = arena_array(&r->a, n->n_out + 1, sizeof *out);

    if (!in || !out)
        return fail_oom(1);
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i])
            in[i] = r->vals[graph_resolve(r->g, n->in[i])];
    for (uint32_t i = 0; i < n->n_out; i++) {
        const type *t = graph_type(r->g, n->out[i]);

        TRY(note(tensor_of_type(&out[i], &r->env, t), "%s",
                 op_get(n->op)->name));
        out[i].data = arena_alloc(&r->a, tensor_bytes(&out[i]) + 1);
        if (!out[i].data)
            return fail_oom(1);
    }
    if (n->op == OP_weight)
        TRY(run_weight(r, n, &out[0]));
    else
        TRY(note(op_get(n->op)->eval(&r->cx, n, in, out), "%s '%.*s'",
                 op_get(n->op)->name, STR_ARG(n->label)));
    for (uint32_t i = 0; i < n->n_out; i++)
        r->vals[n->out[i]] = out[i];
    return HULL_OK;
}

static hull_status run_region(graph_run *r, const region *body)
{
    for (const node *n = body->first; n; n = n->next)
        TRY(run_node(r, n));
    return HULL_OK;
}

static hull_status run_body(eval_ctx *cx, const region *body,
                            const tensor *params, tensor *results)
{
    graph_run *r = cx->user;

    for (uint32_t i = 0; i < body->n_params; i++)
        r->vals[body->params[i]] = params[i];
    TRY(run_region(r, body));
    for (uint32_t i = 0; i < body->n_results; i++)
        results[i] = r->vals[graph_resolve(r->g, body->results[i])];
    return HULL_OK;
}

static void graph_run_fini(graph_run *r)
{
    dim_env_fini(&r->env);
    arena_fini(&r->a);
}

/* Runs g on `inputs`; *r keeps the memory of results until graph_run_fini. The
 * caller sets r->star, or zeroes *r. */
static hull_status graph_run_eval(graph_run *r, const graph *g,
                                  const weights *w, const tensor *inputs,
                                  tensor *results)
{
    *r = (graph_run){.g = g, .w = w, .star = r->star};
    TRY(dim_env_init(&r->env, g->m));
    r->vals = arena_array(&r->a, g->n_values, sizeof *r->vals);
    if (!r->vals)
        return fail_oom(1);
    r->cx = (eval_ctx){.env = &r->env,
                       .scratch = &r->a,
                       .run_body = run_body,
                       .user = r};
    for (uint32_t i = 0; i < g->body->n_params; i++) {
        const type *t = graph_type(g, g->body->params[i]);

        if (t->rank != inputs[i].rank || t->dtype != inputs[i].dtype)
            return fail(HULL_ESHAPE, "input %" PRIu32 " has another type", i);
        for (uint32_t d = 0; d < t->rank; d++)
            TRY(dim_bind(&r->env, t->dims[d], inputs[i].shape[d], "input"));
        r->vals[g->body->params[i]] = inputs[i];
    }
    TRY(run_region(r, g->body));
    for (uint32_t i = 0; i < g->body->n_results; i++)
        results[i] = r->vals[graph_resolve(g, g->body->results[i])];
    return HULL_OK;
}

#endif
