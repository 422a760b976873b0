/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * keys_disguise.c - a graph in disguise: all names are others (values, nodes,
 * holes, states, symbols, the graph), symbols and nodes come in another order,
 * with nodes in between that nobody uses. What it computes is the same.
 */
#include "keys.h"

#include <string.h>

typedef struct disguise {
    ir *m;
    graph *g;
    rng *r;
    uint32_t count;  /* of names given */
    strmap holes;    /* old name -> number of the new one */
    binders binders;
    node **order;    /* of one region */
    uint32_t n;
    region *at;
    bool failed;
} disguise;

/* A name that nothing else has; some are no identifiers. */
static str new_name(disguise *d)
{
    static const char *const forms[] = {
        "%08x%u", "a.%08x.%u", "layer/%08x:%u", "\xc3\xa9 %08x \"%u\"",
        "d%08x_%u", "%%%08x,%u", "]%08x\n%u",
    };
    char text[64];
    int n;

    n = snprintf(text, sizeof text, forms[rng_below(d->r, COUNT_OF(forms))],
                 (unsigned)rng_next(d->r), d->count++);
    return (str){ arena_strndup(&d->m->a, text, (size_t)n), (size_t)n };
}

static str new_hole(disguise *d, str was, str *names, uint32_t *n)
{
    uint32_t i;

    if (strmap_get(&d->holes, was, &i))
        return names[i];
    names[*n] = new_name(d);
    if (strmap_set(&d->holes, was, *n) != HULL_OK)
        d->failed = true;
    return names[(*n)++];
}

static hull_status rename_all(disguise *d)
{
    graph *g = d->g;
    uint32_t n = 0;
    size_t room = (size_t)graph_n_nodes(g) + g->n_states + 1;
    str *names = arena_array(&d->m->a, room, sizeof *names);

    if (names == NULL)
        return fail_oom(room);
    g->name = new_name(d);
    for (val v = 1; v < g->n_values; v++)
        value_set_name(g, v, rng_below(d->r, 4) > 0 ? new_name(d)
                                                    : str_of("x"));
    for (node *x = graph_first(g); x != NULL; x = graph_next(g, x)) {
        x->label = new_name(d);
        if (x->op == OP_weight)
            node_str(g, x, "name",
                     new_hole(d, attr_str(x, "name"), names, &n));
    }
    for (uint32_t i = 0; i < g->n_states; i++)
        g->states[i].initial =
            new_hole(d, g->states[i].initial, names, &n);
    return d->failed ? fail_oom(room) : ir_status(d->m);
}

/* ---- symbols ------------------------------------------------------------- */

/* Symbols of `from` under new names, first made in `to` in another order, so
 * that the two tables of sizes have nothing in common. */
static hull_status rename_symbols(disguise *d, ir *to)
{
    uint32_t n = dim_n_nodes(d->m), shift = rng_below(d->r, n);

    for (uint32_t i = 0; i < n; i++) {
        dim s = -2 - (dim)((i + shift) % n);
        const dim_node *x = dim_get(d->m, s);
        dim y;

        if (x == NULL || x->op != DIM_SYM)
            continue;
        ((dim_node *)(uintptr_t)x)->name = new_name(d);
        y = dim_sym(to, x->name);
        if (rng_below(d->r, 4) == 0) /* and an expression that nobody needs */
            ignore(dim_add(to, dim_mul(to, y, 3), 1) < 0 ? HULL_OK : HULL_OK);
    }
    return ir_status(to);
}

/* ---- order --------------------------------------------------------------- */

static void visit(disguise *d, node *n);

/* The node of d->at that has to come before a reader of v, if there is one. */
static void visit_value(disguise *d, val v)
{
    node *n = v != 0 ? graph_def(d->g, v) : NULL;

    while (n != NULL && n->parent != d->at)
        n = n->parent->owner;
    if (n != NULL)
        visit(d, n);
}

static void visit_binder(void *user, val v)
{
    visit_value(user, v);
}

/* What n and its bodies read. */
static void visit_reads(disguise *d, const node *n)
{
    const op_info *info = op_get(n->op);

    for (uint32_t i = 0; i < n->n_in; i++)
        visit_value(d, n->in[i]);
    binders_each(&d->binders, d->g, n, visit_binder, d);
    for (uint32_t i = 0; i < info->n_attrs; i++) {
        const region *b = info->attrs[i].kind == ATTR_GRAPH && n->attrs[i].set
                              ? n->attrs[i].u.g : NULL;

        if (b == NULL)
            continue;
        for (const node *x = b->first; x != NULL; x = x->next)
            visit_reads(d, x);
        for (uint32_t k = 0; k < b->n_results; k++)
            visit_value(d, b->results[k]);
    }
}

static void visit(disguise *d, node *n)
{
    if (n->number != 0)
        return;
    n->number = 1;
    visit_reads(d, n);
    d->order[d->n++] = n;
}

/* Depth first from the nodes in a random order. */
static hull_status reorder(disguise *d, region *r)
{
    hull_status st = HULL_OK;
    node **all = NULL;
    uint32_t n = 0, k = 0;

    for (node *x = r->first; x != NULL; x = x->next)
        n++;
    all = mem_calloc(n + 1, sizeof(node *));
    d->order = mem_calloc(n + 1, sizeof(node *));
    if (all == NULL || d->order == NULL)
        TRY_OUT(fail_oom(n));
    d->n = 0;
    d->at = r;
    for (node *x = r->first; x != NULL; x = x->next) {
        uint32_t at = rng_below(d->r, k + 1);

        x->number = 0;
        all[k++] = all[at];
        all[at] = x;
    }
    for (uint32_t i = 0; i < n; i++)
        visit(d, all[i]);
    r->first = n > 0 ? d->order[0] : NULL;
    r->last = n > 0 ? d->order[n - 1] : NULL;
    for (uint32_t i = 0; i < n; i++) {
        d->order[i]->prev = i > 0 ? d->order[i - 1] : NULL;
        d->order[i]->next = i + 1 < n ? d->order[i + 1] : NULL;
    }
out:
    mem_free(all);
    mem_free(d->order);
    return st;
}

static hull_status reorder_all(disguise *d)
{
    node **owners;
    uint32_t n = 0;
    hull_status st;

    TRY(binders_get(&d->binders, d->g));
    owners = mem_calloc(graph_n_nodes(d->g) + 1, sizeof(node *));
    st = owners == NULL ? fail_oom(0) : reorder(d, d->g->body);
    for (node *x = graph_first(d->g); st == HULL_OK && x != NULL;
         x = graph_next(d->g, x))
        if ((op_get(x->op)->traits & OP_CONTROL) != 0)
            owners[n++] = x;
    for (uint32_t i = 0; st == HULL_OK && i < n; i++) {
        const op_info *info = op_get(owners[i]->op);

        for (uint32_t k = 0; k < info->n_attrs && st == HULL_OK; k++)
            if (info->attrs[k].kind == ATTR_GRAPH && owners[i]->attrs[k].set)
                st = reorder(d, owners[i]->attrs[k].u.g);
    }
    mem_free(owners);
    binders_fini(&d->binders);
    return st;
}

/* ---- dead nodes ---------------------------------------------------------- */

static void add_dead(disguise *d)
{
    graph *g = d->g;
    uint32_t n = g->n_values, start = rng_below(d->r, n);

    for (uint32_t i = 0; i < n; i++) {
        val v = (start + i) % n;
        const value *x = v != 0 ? graph_value(g, v) : NULL;

        if (x == NULL || x->type.kind != TYPE_TENSOR ||
            !dtype_is_float(x->type.dtype) || x->alias != 0)
            continue;
        g->insert_in = x->scope;
        ignore(op_unary(g, OP_neg, v) != 0 ? HULL_OK : g->m->status);
        g->insert_in = NULL;
        return;
    }
}

hull_status disguise_graph(ir **out, graph **out_g, const graph *g, rng *r)
{
    disguise d = { .r = r };
    hull_status st = HULL_OK;
    ir *to = NULL;

    *out = NULL;
    *out_g = NULL;
    TRY_OUT(ir_new(&d.m));
    TRY_OUT(ir_new(&to));
    d.g = graph_copy(d.m, g, str_of("main"));
    TRY_OUT(ir_status(d.m));
    TRY_OUT(rename_all(&d));
    for (uint32_t i = rng_below(r, 4); i > 0; i--)
        add_dead(&d);
    TRY_OUT(reorder_all(&d));
    TRY_OUT(rename_symbols(&d, to));
    *out_g = graph_copy(to, d.g, d.g->name);
    TRY_OUT(ir_status(to));
    TRY_OUT(graph_verify(*out_g));
    *out = to;
    to = NULL;
out:
    strmap_fini(&d.holes);
    ir_free(d.m);
    ir_free(to);
    return st;
}
