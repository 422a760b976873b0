/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * canon.c - canonical order and text. The order is a depth-first walk from the
 * results: a node comes after its operands in written order and after the
 * outer values that its bodies use, in the order in which the bodies, walked
 * first, meet them, and after the bind nodes whose symbols it mentions. The
 * walk keeps its own stack within a region; recursion is over bodies only.
 */
#include "ir/ir_private.h"

#include <string.h>

enum mark { MARK_NEW, MARK_OPEN, MARK_DONE };

typedef struct list {
    val *p;
    uint32_t n;
    size_t cap;
} list;

/* A node on the stack and its next operand. For a node with bodies, the outer
 * values they use follow its operands, from captures.p[first_capture]. */
typedef struct frame {
    node *n;
    uint32_t next, first_capture, n_captures;
} frame;

/* One region in work. */
typedef struct walker {
    graph *g;
    const binders *binders;
    region *r;
    list *outer; /* values of regions around r that r uses */
    list captures;
    frame *stack;
    size_t depth, cap;
} walker;

static bool push(ir *m, list *l, val v)
{
    if (mem_grow(&l->p, &l->cap, (size_t)l->n + 1, sizeof(*l->p)) != HULL_OK) {
        ignore(ir_oom(m, sizeof(*l->p))); /* sticky in the ir */
        return false;
    }
    l->p[l->n++] = v;
    return true;
}

static bool order_region(graph *g, const binders *bs, region *r, list *outer);

static void push_binder(void *user, val v)
{
    walker *w = user;

    ignore(push(w->g->m, &w->captures, v) ? HULL_OK : HULL_ENOMEM); /* sticky */
}

static bool push_node(walker *w, node *n)
{
    frame *f;
    region *b;

    if (mem_grow(&w->stack, &w->cap, w->depth + 1, sizeof(*f)) != HULL_OK) {
        ignore(ir_oom(w->g->m, sizeof(*f))); /* sticky in the ir */
        return false;
    }
    n->number = MARK_OPEN;
    f = &w->stack[w->depth++];
    *f = (frame){ .n = n, .first_capture = w->captures.n };
    for (uint32_t i = 0; (b = node_body_at(n, i)) != NULL; i++)
        if (!order_region(w->g, w->binders, b, &w->captures))
            return false;
    binders_each(w->binders, w->g, n, push_binder, w);
    if (w->g->m->status != HULL_OK)
        return false;
    f->n_captures = w->captures.n - f->first_capture;
    return true;
}

/* The node of w->r that has to come before the user of v, if there is one. */
static bool need(walker *w, val v, node **out)
{
    const value *x;

    *out = NULL;
    v = graph_resolve(w->g, v);
    if (v == 0)
        return true;
    x = graph_value(w->g, v);
    if (x->scope != w->r)
        return push(w->g->m, w->outer, v);
    if (x->def != NULL && x->def->number == MARK_NEW)
        *out = x->def;
    return true;
}

/* Puts the top of the stack behind what is already ordered. */
static void finish(walker *w)
{
    node *n = w->stack[--w->depth].n;

    n->number = MARK_DONE;
    region_insert(w->r, n, NULL);
}

static bool walk_from(walker *w, val v)
{
    node *n;

    if (!need(w, v, &n) || (n != NULL && !push_node(w, n)))
        return false;
    while (w->depth > 0) {
        frame *f = &w->stack[w->depth - 1];
        uint32_t i = f->next++;

        if (i < f->n->n_in)
            v = f->n->in[i];
        else if (i - f->n->n_in < f->n_captures)
            v = w->captures.p[f->first_capture + (i - f->n->n_in)];
        else {
            finish(w);
            continue;
        }
        if (!need(w, v, &n) || (n != NULL && !push_node(w, n)))
            return false;
    }
    return true;
}

/* Takes all nodes out of r and puts back, in order, those that are needed. */
static bool order_region(graph *g, const binders *bs, region *r, list *outer)
{
    walker w = { .g = g, .binders = bs, .r = r, .outer = outer };
    bool ok = true;

    for (node *n = r->first; n != NULL; n = n->next) {
        n->number = MARK_NEW;
        n->parent = NULL; /* what stays so is not part of the graph */
    }
    r->first = r->last = NULL;
    for (uint32_t i = 0; ok && i < r->n_results; i++)
        ok = walk_from(&w, r->results[i]);
    mem_free(w.stack);
    mem_free(w.captures.p);
    return ok;
}

void graph_canonical_order(graph *g)
{
    list outer = { 0 };
    binders bs;

    if (g->m->status != HULL_OK)
        return;
    graph_settle(g);
    if (binders_get(&bs, g) != HULL_OK) {
        ignore(ir_oom(g->m, g->n_values)); /* sticky in the ir */
        return;
    }
    if (order_region(g, &bs, g->body, &outer) && outer.n > 0)
        ir_fail(g->m, fail(HULL_EINTERNAL,
                           "graph '%.*s' uses a value of no "
                           "region around it",
                           STR_ARG(g->name)));
    binders_fini(&bs);
    mem_free(outer.p);
    g->insert_before = NULL;
    g->insert_in = NULL;
}

/* ---- holes --------------------------------------------------------------- */

typedef struct holes {
    strmap numbers;
    str *names;
    uint32_t n;
    size_t cap;
} holes;

static hull_status add_hole(holes *h, str name)
{
    uint32_t seen;

    if (strmap_get(&h->numbers, name, &seen))
        return HULL_OK;
    TRY(mem_grow(&h->names, &h->cap, (size_t)h->n + 1, sizeof(*h->names)));
    TRY(strmap_set(&h->numbers, name, h->n));
    h->names[h->n++] = name;
    return HULL_OK;
}

/* The initial values of states, in the order of their parameters. */
static hull_status collect_states(holes *h, const graph *g)
{
    uint32_t *state_of = mem_calloc(g->body->n_params, sizeof(*state_of));
    hull_status st = HULL_OK;

    if (state_of == NULL)
        return fail_oom(g->body->n_params * sizeof(*state_of));
    for (uint32_t k = 0; k < g->n_states; k++)
        if (g->states[k].param < g->body->n_params)
            state_of[g->states[k].param] = k + 1;
    for (uint32_t i = 0; i < g->body->n_params && st == HULL_OK; i++)
        if (state_of[i] != 0)
            st = add_hole(h, g->states[state_of[i] - 1].initial);
    mem_free(state_of);
    return st;
}

/* Textual order: a node's bodies come where the node is, and a node that has
 * bodies is no hole, so the walk (bodies first) meets holes in that order. */
static hull_status collect_holes(holes *h, const graph *g)
{
    TRY(collect_states(h, g));
    for (const node *n = graph_first(g); n != NULL; n = graph_next(g, n))
        if (n->op == OP_weight)
            TRY(add_hole(h, attr_str(n, "name")));
    return HULL_OK;
}

static void holes_fini(holes *h)
{
    strmap_fini(&h->numbers);
    mem_free(h->names);
}

const str *graph_holes(graph *g, uint32_t *out_n)
{
    holes h = { 0 };
    str *p = NULL;
    hull_status st;

    *out_n = 0;
    graph_canonical_order(g);
    if (g->m->status != HULL_OK)
        return NULL;
    st = collect_holes(&h, g);
    if (st == HULL_OK) {
        p = arena_array(&g->m->a, h.n, sizeof(*p));
        if (p == NULL)
            st = fail_oom(h.n * sizeof(*p));
    }
    if (st != HULL_OK) {
        ir_fail(g->m, st);
        p = NULL;
    } else {
        if (h.n > 0)
            memcpy(p, h.names, h.n * sizeof(*p));
        *out_n = h.n;
    }
    holes_fini(&h);
    return p;
}

hull_status graph_canonical_text(buf *out, graph *g)
{
    holes h = { 0 };
    hull_status st;

    graph_canonical_order(g);
    TRY_OUT(ir_status(g->m));
    TRY_OUT(collect_holes(&h, g));
    graph_print_canonical(out, g, &h.numbers);
    TRY_OUT(buf_status(out));
out:
    holes_fini(&h);
    return st;
}
