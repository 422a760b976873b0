/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * split.c - one graph becomes the two programs of an engine. What depends on
 * weights and literals alone goes to prepare; the values that main reads of it
 * are the slots. The cut does not grow: a slot made by a node that makes more
 * bytes than it reads (expand, iota, an up-cast) stays in main, and its
 * operands become slots instead.
 */
#include "passes/pass.h"

#include <string.h>

typedef struct splitter {
    graph *g;         /* a private copy, values numbered densely */
    bool *runtime;    /* computed in main */
    val *slots;       /* in order of first use in main */
    uint32_t n_slots;
    bool *is_slot;
    bool changed;
} splitter;

static bool is_const(const graph *g, val v)
{
    const node *def = graph_def(g, v);

    return def != NULL && def->op == OP_const;
}

/* Calls fn for each value that main reads: operands of runtime nodes (bodies
 * included), results of the graph. */
static void each_main_read(splitter *s, void (*fn)(splitter *s, val v))
{
    graph *g = s->g;

    for (node *n = graph_first(g); n != NULL; n = graph_next(g, n)) {
        bool in_main = n->parent != g->body || n->n_out == 0 ||
                       s->runtime[n->out[0]];

        for (uint32_t i = 0; in_main && i < n->n_in; i++)
            if (n->in[i] != 0)
                fn(s, n->in[i]);
        for (uint32_t a = 0; a < op_get(n->op)->n_attrs; a++) {
            const region *body = n->attrs[a].u.g;

            if (op_get(n->op)->attrs[a].kind != ATTR_GRAPH || body == NULL)
                continue;
            for (uint32_t i = 0; i < body->n_results; i++)
                fn(s, body->results[i]);
        }
    }
    for (uint32_t i = 0; i < g->body->n_results; i++)
        fn(s, g->body->results[i]);
}

static void keep_growing_in_main(splitter *s, val v)
{
    const node *def = graph_def(s->g, v);

    if (s->runtime[v] || def == NULL || !node_grows(s->g, def))
        return;
    for (uint32_t i = 0; i < def->n_out; i++)
        s->runtime[def->out[i]] = true;
    s->changed = true;
}

static void collect_slot(splitter *s, val v)
{
    if (s->runtime[v] || s->is_slot[v] || is_const(s->g, v))
        return;
    s->is_slot[v] = true;
    s->slots[s->n_slots++] = v;
}

static hull_status find_slots(splitter *s)
{
    graph *g = s->g;
    graph_facts f;

    TRY(graph_facts_get(&f, g));
    s->runtime = f.runtime;
    s->slots = arena_array(&g->m->a, g->n_values, sizeof *s->slots);
    s->is_slot = arena_array(&g->m->a, g->n_values, sizeof *s->is_slot);
    if (s->slots == NULL || s->is_slot == NULL)
        return fail_oom(g->n_values * sizeof *s->slots);
    do {
        s->changed = false;
        each_main_read(s, keep_growing_in_main);
    } while (s->changed);
    each_main_read(s, collect_slot);
    return HULL_OK;
}

/* Value of each weight by its name. */
static hull_status index_weights(strmap *out, const graph *g)
{
    for (const node *n = g->body->first; n != NULL; n = n->next)
        if (n->op == OP_weight)
            TRY(strmap_set(out, attr_str(n, "name"), n->out[0]));
    return HULL_OK;
}

/* Parameters: the holes of `key` in canonical order. */
static hull_status add_holes(graph *g, graph *key, const strmap *in_key,
                             const strmap *here)
{
    uint32_t n_holes;
    const str *holes = graph_holes(key, &n_holes);

    TRY(ir_status(key->m));
    for (uint32_t i = 0; i < n_holes; i++) {
        uint32_t v;
        type t;
        val p;

        if (!strmap_get(in_key, holes[i], &v))
            return fail(HULL_EUNSUPPORTED,
                        "hole '%.*s' starts a state, which a block cannot have",
                        STR_ARG(holes[i]));
        t = type_copy(g->m, key->m, graph_type(key, v));
        p = graph_param(g, str_of(""), &t);
        if (strmap_get(here, holes[i], &v))
            graph_replace(g, v, p);
    }
    return HULL_OK;
}

/* Parameters: the holes of `key`; results: the slots. */
static hull_status make_prepare(ir *out, const splitter *s, graph *key)
{
    graph *g = graph_copy(s->g->m, s->g, str_of("prepare"));
    strmap in_key = {0}, here = {0};
    hull_status st = HULL_OK;

    if (g == NULL)
        return ir_status(s->g->m);
    g->body->n_params = 0;
    TRY_OUT(index_weights(&in_key, key));
    TRY_OUT(index_weights(&here, g));
    TRY_OUT(add_holes(g, key, &in_key, &here));
    g->body->n_results = 0;
    g->n_states = 0;
    for (uint32_t i = 0; i < s->n_slots; i++)
        graph_result(g, s->slots[i]);
    graph_settle(g);
    graph_remove_dead(g);
    TRY_OUT(ir_status(g->m));
    graph_copy(out, g, str_of("prepare"));
    st = ir_status(out);
out:
    strmap_fini(&in_key);
    strmap_fini(&here);
    return st;
}

/* Parameters: the block's, then the slots. */
static hull_status make_main(ir *out, const splitter *s)
{
    graph *g = graph_copy(s->g->m, s->g, str_of("main"));

    if (g == NULL)
        return ir_status(s->g->m);
    for (uint32_t i = 0; i < s->n_slots; i++)
        graph_replace(g, s->slots[i],
                      graph_param(g, str_of(""),
                                  graph_type(g, s->slots[i])));
    graph_settle(g);
    graph_remove_dead(g);
    TRY(ir_status(g->m));
    graph_copy(out, g, str_of("main"));
    return ir_status(out);
}

/* Names mean nothing in an engine: nodes and values lose theirs. */
static void drop_names(ir *m)
{
    for (uint32_t i = 0; i < m->n_graphs; i++) {
        graph *g = m->graphs[i];

        for (uint32_t v = 0; v < g->n_values; v++)
            g->values[v]->name = (str){0};
        for (node *n = graph_first(g); n != NULL; n = graph_next(g, n))
            n->label = (str){0};
    }
}

hull_status split_programs(ir **out, graph *g, graph *key)
{
    hull_status st = HULL_OK;
    splitter s = {0};
    ir *m = NULL;

    *out = NULL;
    graph_canonical_order(g);
    TRY(ir_status(g->m));
    s.g = graph_copy(g->m, g, str_of("split")); /* dense value numbers */
    if (s.g == NULL)
        return ir_status(g->m);
    TRY(find_slots(&s));
    TRY(ir_new(&m));
    TRY_OUT(make_prepare(m, &s, key));
    TRY_OUT(make_main(m, &s));
    drop_names(m);
    TRY_OUT(ir_verify(m));
    *out = m;
    m = NULL;
out:
    ir_free(m);
    return st;
}
