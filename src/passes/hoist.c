/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * hoist.c - what depends on weights and literals alone leaves the bodies of If
 * and Loop: in front of their owner it is prepared like any other weight, for
 * the branch that is not taken too. What may refuse its data stays.
 */
#include "passes/pass.h"

typedef struct hoister {
    graph *g;
    graph_facts f;
    bool *out; /* by value: it left its body */
} hoister;

static node *top_owner(const graph *g, node *n)
{
    while (n->parent != g->body)
        n = n->parent->owner;
    return n;
}

static bool can_leave(const hoister *h, const node *n)
{
    uint32_t traits = op_get(n->op)->traits;

    if (n->parent == h->g->body || (traits & OP_PURE) == 0 ||
        (traits & (OP_CAN_FAIL | OP_CONTROL)) != 0 ||
        node_has_symbols(h->g, n) || node_is_dynamic(h->g, n))
        return false;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i] != 0 && !h->out[n->in[i]] &&
            (graph_value(h->g, n->in[i])->scope != h->g->body ||
             value_is_runtime(&h->f, n->in[i])))
            return false;
    for (uint32_t i = 0; i < n->n_out; i++)
        if (!type_is_static(h->g->m, graph_type(h->g, n->out[i])))
            return false;
    return true;
}

static void leave(hoister *h, node *n)
{
    node *c = node_again(h->g, n, n->in, n->n_in);

    if (c == NULL)
        return;
    h->g->insert_before = top_owner(h->g, n);
    h->g->insert_in = h->g->body;
    for (uint32_t i = 0; i < n->n_in; i++)
        c->in[i] = graph_resolve(h->g, c->in[i]);
    if (node_add(h->g, c) == 0)
        return;
    for (uint32_t i = 0; i < n->n_out; i++) {
        h->out[n->out[i]] = true;
        graph_replace(h->g, n->out[i], c->out[i]);
    }
}

hull_status pass_hoist(graph *g)
{
    hoister h = {.g = g};

    graph_settle(g);
    TRY(graph_facts_get(&h.f, g));
    h.out = arena_array(&g->m->a, g->n_values, sizeof *h.out);
    if (h.out == NULL)
        return ir_fail(g->m, fail_oom(g->n_values));
    for (node *n = graph_first(g); n != NULL; n = graph_next(g, n)) {
        if (can_leave(&h, n))
            leave(&h, n);
        TRY(ir_status(g->m));
    }
    graph_rewrite_end(g);
    return ir_status(g->m);
}
