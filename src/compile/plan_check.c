/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * plan_check.c - do the parts of a plan fit each other? Engines come from cache
 * folders and module files, which anybody may have written: the calls, the
 * engines' parameters and results, the holes and the states must agree before
 * anything runs.
 */
#include "compile/compile.h"

bool plan_type_is_hole(const ir *m, const type *t, const plan_hole *h)
{
    if (t->kind != TYPE_TENSOR || t->dtype != h->dtype || t->rank != h->rank)
        return false;
    for (uint32_t i = 0; i < t->rank; i++) {
        int64_t size;

        if (!dim_is_int(m, t->dims[i], &size) || size != h->shape[i])
            return false;
    }
    return true;
}

/* Same dtype and rank; sizes that both know are equal. The symbols of the two
 * graphs have different names. */
static bool types_meet(const ir *ma, const type *a, const ir *mb,
                       const type *b)
{
    while (a->kind == b->kind &&
           (a->kind == TYPE_SEQUENCE || a->kind == TYPE_OPTIONAL)) {
        a = a->elem;
        b = b->elem;
    }
    if (a->kind != b->kind || a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (uint32_t i = 0; i < a->rank; i++) {
        int64_t x, y;

        if (dim_is_int(ma, a->dims[i], &x) && dim_is_int(mb, b->dims[i], &y) &&
            x != y)
            return false;
    }
    return true;
}

/* What a dynamic block makes has no place on a device: main alone gives it
 * away. */
static hull_status check_sources(const plan *p, const node *call, uint32_t i)
{
    for (uint32_t k = 0; k < call->n_in; k++) {
        const node *def = graph_def(p->main, call->in[k]);
        uint32_t from = 0;

        for (const node *n = p->main->body->first; n != NULL && n != def;
             n = n->next)
            from++;
        if (def != NULL && graph_is_dynamic(p->blocks[from].e->main))
            return fail(HULL_EFORMAT, "call %u reads what block %u makes, "
                        "whose sizes depend on data", i, from);
    }
    return HULL_OK;
}

/* Call number i is of block i and has what the block's engine takes. */
static hull_status check_call(const plan *p, const node *call, uint32_t i)
{
    const graph *g = p->main, *to;
    char name[32];
    uint32_t n_slots;

    snprintf(name, sizeof name, "b%u", i);
    if (call->op != OP_call || i >= p->n_blocks ||
        !str_is(attr_str(call, "callee"), name))
        return fail(HULL_EFORMAT, "node %u of main is no call of block %u of "
                    "%u", i, i, p->n_blocks);
    to = p->blocks[i].e->main;
    n_slots = p->blocks[i].e->prepare->body->n_results;
    if (call->n_in != to->body->n_params - n_slots ||
        call->n_out != to->body->n_results)
        return fail(HULL_EFORMAT, "call %u has %u operands and %u results, "
                    "the engine takes %u and gives %u", i, call->n_in,
                    call->n_out, to->body->n_params - n_slots,
                    to->body->n_results);
    for (uint32_t k = 0; k < call->n_in; k++)
        if (call->in[k] == 0 ||
            !types_meet(g->m, graph_type(g, call->in[k]), to->m,
                        graph_type(to, to->body->params[k])))
            return fail(HULL_EFORMAT, "operand %u of call %u has another type "
                        "than the engine's", k, i);
    for (uint32_t k = 0; k < call->n_out; k++)
        if (to->body->results[k] == 0 ||
            !types_meet(g->m, graph_type(g, call->out[k]), to->m,
                        graph_type(to, to->body->results[k])))
            return fail(HULL_EFORMAT, "result %u of call %u has another type "
                        "than the engine's", k, i);
    return HULL_OK;
}

/* Prepare's parameters are the block's holes. */
static hull_status check_holes(const plan *p, const plan_block *b, uint32_t i)
{
    const graph *prep = b->e->prepare;

    if (b->n_holes != prep->body->n_params)
        return fail(HULL_EFORMAT, "block %u has %u holes, its engine %u", i,
                    b->n_holes, prep->body->n_params);
    for (uint32_t k = 0; k < b->n_holes; k++)
        if (!plan_type_is_hole(prep->m,
                               graph_type(prep, prep->body->params[k]),
                               &p->holes[b->holes[k]]))
            return fail(HULL_EFORMAT, "hole '%.*s' has another type in the "
                        "engine of block %u",
                        STR_ARG(p->holes[b->holes[k]].name), i);
    return HULL_OK;
}

static hull_status check_calls(const plan *p)
{
    const graph *g = p->main;
    uint32_t n = 0;

    if (g->n_states > g->body->n_params || g->n_states > g->body->n_results)
        return fail(HULL_EFORMAT, "main has %u parameters, %u results and %u "
                    "states", g->body->n_params, g->body->n_results,
                    g->n_states);
    for (uint32_t i = 0; i < g->body->n_params; i++)
        if (graph_type(g, g->body->params[i])->kind == TYPE_NONE)
            return fail(HULL_EFORMAT, "input %u has no type", i);
    for (uint32_t i = 0; i < g->body->n_results; i++)
        if (g->body->results[i] == 0 ||
            graph_type(g, g->body->results[i])->kind == TYPE_NONE)
            return fail(HULL_EFORMAT, "output %u has no type", i);
    for (const node *call = g->body->first; call != NULL; call = call->next)
        TRY(check_call(p, call, n++));
    if (n != p->n_blocks)
        return fail(HULL_EFORMAT, "main calls %u blocks of %u", n,
                    p->n_blocks);
    n = 0;
    for (const node *call = g->body->first; call != NULL; call = call->next)
        TRY(check_sources(p, call, n++));
    return HULL_OK;
}

static hull_status check_states(const plan *p)
{
    const graph *g = p->main;

    for (uint32_t i = 0; i < g->n_states; i++) {
        const graph_state *s = &g->states[i];
        const plan_hole *h = plan_state_hole(p, i);
        const type *t;

        if (s->param != plan_n_inputs(p) + i ||
            s->result != plan_n_outputs(p) + i || h == NULL)
            return fail(HULL_EFORMAT, "state %u, '%.*s', is no parameter and "
                        "result after the user's with a hole", i,
                        STR_ARG(s->initial));
        t = graph_type(g, g->body->params[s->param]);
        if (t->kind != TYPE_TENSOR || t->dtype != h->dtype ||
            t->rank != h->rank ||
            !type_eq(p->m, t, graph_type(g, g->body->results[s->result])))
            return fail(HULL_EFORMAT, "state '%.*s' changes its type",
                        STR_ARG(s->initial));
        for (uint32_t k = 0; k < t->rank; k++)
            if (t->dims[k] != h->shape[k])
                return fail(HULL_EFORMAT, "state '%.*s' changes its shape",
                            STR_ARG(s->initial));
    }
    return HULL_OK;
}

hull_status plan_check(const plan *p)
{
    for (uint32_t i = 0; i < p->n_blocks; i++)
        TRY(check_holes(p, &p->blocks[i], i));
    TRY(check_calls(p));
    return check_states(p);
}
