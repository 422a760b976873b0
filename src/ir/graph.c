/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * graph.c - the structure: irs, graphs, regions, the value table with its
 * aliases, walking, uses and removal. Nodes, regions and types live in the
 * ir's arena; a graph's value table and state list are heap arrays, because
 * they grow. node.c makes nodes, copy.c copies graphs.
 */
#include "ir/ir_private.h"

#include <string.h>

/* ---- ir ------------------------------------------------------------------ */

hull_status ir_new(ir **out)
{
    ir *m = mem_calloc(1, sizeof(*m));

    *out = NULL;
    if (m == NULL)
        return fail_oom(sizeof(*m));
    m->error = mem_calloc(1, sizeof(*m->error));
    if (m->error == NULL || dims_init(m) != HULL_OK) {
        ir_free(m);
        return fail_oom(sizeof(*m->error));
    }
    *out = m;
    return HULL_OK;
}

void ir_free(ir *m)
{
    if (m == NULL)
        return;
    for (uint32_t i = 0; i < m->n_graphs; i++) {
        mem_free(m->graphs[i]->values);
        mem_free(m->graphs[i]->states);
    }
    mem_free(m->graphs);
    mem_free(m->pinned);
    dims_fini(m);
    arena_fini(&m->a);
    mem_free(m->error);
    mem_free(m);
}

hull_status ir_status(const ir *m)
{
    return m->status == HULL_OK ? HULL_OK : error_put(m->error);
}

hull_status ir_fail(ir *m, hull_status st)
{
    if (st != HULL_OK && m->status == HULL_OK) {
        error_take(m->error);
        m->error->status = st;
        m->status = st;
    }
    return st;
}

hull_status ir_oom(ir *m, size_t size)
{
    return ir_fail(m, fail_oom(size));
}

str ir_str(ir *m, str s)
{
    char *p;

    if (s.n == 0)
        return (str){ "", 0 };
    p = arena_strndup(&m->a, s.p, s.n);
    if (p == NULL) {
        ignore(ir_oom(m, s.n)); /* sticky in the ir */
        return (str){ "", 0 };
    }
    return (str){ p, s.n };
}

graph *ir_find(const ir *m, str name)
{
    for (uint32_t i = 0; i < m->n_graphs; i++)
        if (str_eq(m->graphs[i]->name, name))
            return m->graphs[i];
    return NULL;
}

/* ---- graphs, regions, values --------------------------------------------- */

region *region_new(graph *g, node *owner)
{
    region *r = arena_alloc(&g->m->a, sizeof(*r));

    if (r == NULL) {
        ignore(ir_oom(g->m, sizeof(*r))); /* sticky in the ir */
        return NULL;
    }
    r->graph = g;
    r->owner = owner;
    return r;
}

graph *graph_new(ir *m, str name)
{
    graph *g;
    value *none;

    if (m->status != HULL_OK)
        return NULL;
    g = arena_alloc(&m->a, sizeof(*g));
    if (g == NULL) {
        ignore(ir_oom(m, sizeof(*g))); /* sticky in the ir */
        return NULL;
    }
    g->m = m;
    g->name = ir_str(m, name);
    g->backend = (str){ "", 0 };
    g->body = region_new(g, NULL);
    g->n_values = 1; /* the none value */
    g->verified = UINT64_MAX; /* never */
    none = arena_alloc(&m->a, sizeof(*none));
    if (none == NULL)
        ignore(ir_oom(m, sizeof(*none))); /* sticky in the ir */
    if (m->status != HULL_OK)
        return NULL;
    if (mem_grow(&g->values, &g->cap_values, 8, sizeof(value *)) != HULL_OK ||
        mem_grow(&m->graphs, &m->cap_graphs, (size_t)m->n_graphs + 1,
                 sizeof(graph *)) != HULL_OK) {
        mem_free(g->values);
        ignore(ir_oom(m, sizeof(value *) * 8)); /* sticky in the ir */
        return NULL;
    }
    g->values[0] = none;
    m->graphs[m->n_graphs++] = g;
    return g;
}

val value_new(graph *g, node *def, region *scope, uint32_t index, str name)
{
    value *v;

    if (g->m->status != HULL_OK)
        return 0;
    g->m->edits++;
    v = arena_alloc(&g->m->a, sizeof(*v));
    if (v == NULL || g->n_values == UINT32_MAX ||
        mem_grow(&g->values, &g->cap_values, (size_t)g->n_values + 1,
                 sizeof(value *)) != HULL_OK) {
        ignore(ir_oom(g->m, sizeof(value *) * g->n_values)); /* sticky */
        return 0;
    }
    *v = (value){ .def = def, .scope = scope, .index = index };
    v->name = ir_str(g->m, name);
    g->values[g->n_values] = v;
    return g->n_values++;
}

/* Appends v to an arena array of a region. */
static bool push_val(ir *m, val **p, uint32_t *n, size_t *cap, val v)
{
    if (*n == *cap) {
        size_t want = *cap == 0 ? 4 : *cap * 2;
        val *q = arena_array(&m->a, want, sizeof(**p));

        if (q == NULL) {
            ignore(ir_oom(m, want * sizeof(**p))); /* sticky in the ir */
            return false;
        }
        if (*n > 0)
            memcpy(q, *p, *n * sizeof(**p));
        *p = q;
        *cap = want;
    }
    (*p)[(*n)++] = v;
    return true;
}

static region *current(graph *g)
{
    return g->insert_in == NULL ? g->body : g->insert_in;
}

val graph_param(graph *g, str name, const type *t)
{
    /* t may be a value's own. */
    type copy = t != NULL ? *t : (type){0};
    region *r;
    val v;

    if (g == NULL || g->m->status != HULL_OK)
        return 0;
    r = current(g);
    v = value_new(g, NULL, r, r->n_params, name);
    if (v == 0 || !push_val(g->m, &r->params, &r->n_params, &r->cap_params, v))
        return 0;
    value_set_type(g, v, &copy);
    return v;
}

void graph_result(graph *g, val v)
{
    region *r;

    if (g == NULL || g->m->status != HULL_OK)
        return;
    r = current(g);
    if (v == 0 || v >= g->n_values) {
        ir_fail(g->m, fail(HULL_EINVAL,
                           "result %u of graph '%.*s' is value %u "
                           "of %u",
                           r->n_results, STR_ARG(g->name), v, g->n_values));
        return;
    }
    g->m->edits++;
    push_val(g->m, &r->results, &r->n_results, &r->cap_results, v);
}

void graph_set_state(graph *g, uint32_t param, uint32_t result, str initial)
{
    if (g == NULL || g->m->status != HULL_OK)
        return;
    if (mem_grow(&g->states, &g->cap_states, (size_t)g->n_states + 1,
                 sizeof(*g->states)) != HULL_OK) {
        ignore(ir_oom(g->m, sizeof(*g->states))); /* sticky in the ir */
        return;
    }
    g->m->edits++;
    g->states[g->n_states].param = param;
    g->states[g->n_states].result = result;
    g->states[g->n_states++].initial = ir_str(g->m, initial);
}

uint32_t region_depth(const region *r)
{
    uint32_t depth = 0;

    for (; r->owner != NULL; r = r->owner->parent)
        depth++;
    return depth;
}

bool region_inside(const region *r, const region *outer)
{
    while (r != outer && r->owner != NULL)
        r = r->owner->parent;
    return r == outer;
}

/* ---- values -------------------------------------------------------------- */

val graph_resolve(const graph *g, val v)
{
    while (v < g->n_values && g->values[v]->alias != 0)
        v = g->values[v]->alias;
    return v < g->n_values ? v : 0;
}

const value *graph_value(const graph *g, val v)
{
    return g->values[graph_resolve(g, v)];
}

const type *graph_type(const graph *g, val v)
{
    return &graph_value(g, v)->type;
}

node *graph_def(const graph *g, val v)
{
    return graph_value(g, v)->def;
}

void value_set_type(graph *g, val v, const type *t)
{
    v = graph_resolve(g, v);
    g->m->edits++;
    if (v != 0)
        g->values[v]->type = *t;
}

void value_set_known(graph *g, val v, const dim *d, uint32_t n)
{
    const dim *copy;

    v = graph_resolve(g, v);
    if (v == 0 || g->m->status != HULL_OK)
        return;
    g->values[v]->known = NULL;
    g->values[v]->n_known = 0;
    if (d == NULL || n > KNOWN_MAX)
        return;
    copy = arena_memdup(&g->m->a, d, n * sizeof(*d));
    if (copy == NULL) {
        ignore(ir_oom(g->m, n * sizeof(*d))); /* sticky in the ir */
        return;
    }
    g->values[v]->known = copy;
    g->values[v]->n_known = n;
}

void value_set_name(graph *g, val v, str name)
{
    if (v != 0 && v < g->n_values)
        g->values[v]->name = ir_str(g->m, name);
}

void graph_replace(graph *g, val from, val to)
{
    from = graph_resolve(g, from);
    to = graph_resolve(g, to);
    g->m->edits++;
    if (from != 0 && to != 0 && from != to)
        g->values[from]->alias = to;
}

/* ---- nodes in regions ---------------------------------------------------- */

void region_insert(region *r, node *n, node *at)
{
    n->parent = r;
    n->next = at;
    n->prev = at == NULL ? r->last : at->prev;
    *(n->prev == NULL ? &r->first : &n->prev->next) = n;
    *(at == NULL ? &r->last : &at->prev) = n;
}

void region_unlink(node *n)
{
    region *r = n->parent;

    *(n->prev == NULL ? &r->first : &n->prev->next) = n->next;
    *(n->next == NULL ? &r->last : &n->next->prev) = n->prev;
    n->prev = n->next = NULL;
    n->parent = NULL;
}

void node_remove(graph *g, node *n)
{
    if (n->parent == NULL)
        return;
    g->m->edits++;
    if (g->insert_before == n)
        g->insert_before = n->next;
    region_unlink(n);
}

region *node_body_at(const node *n, uint32_t i)
{
    const op_info *info = op_get(n->op);

    if (!(info->traits & OP_CONTROL))
        return NULL;
    for (uint32_t k = 0; k < info->n_attrs; k++)
        if (info->attrs[k].kind == ATTR_GRAPH && n->attrs[k].set &&
            n->attrs[k].u.g != NULL && i-- == 0)
            return n->attrs[k].u.g;
    return NULL;
}

/* The first node of the walk in r and, when r is empty, NULL. */
static node *descend(const region *r)
{
    node *n = r->first;

    for (;;) {
        node *inner = NULL;
        region *b;

        if (n == NULL)
            return NULL;
        for (uint32_t i = 0; inner == NULL; i++) {
            b = node_body_at(n, i);
            if (b == NULL)
                break;
            inner = b->first;
        }
        if (inner == NULL)
            return n;
        n = inner;
    }
}

node *graph_first(const graph *g)
{
    return descend(g->body);
}

/* The walk's first node in a body of `owner` after the body r, else owner. */
static node *after_body(node *owner, const region *r)
{
    bool seen = false;
    region *b;

    for (uint32_t i = 0; (b = node_body_at(owner, i)) != NULL; i++) {
        if (seen && b->first != NULL)
            return descend(b);
        seen = seen || b == r;
    }
    return owner;
}

/* n itself, or the first node inside it. */
static node *enter(node *n)
{
    region *b;

    for (uint32_t i = 0; (b = node_body_at(n, i)) != NULL; i++)
        if (b->first != NULL)
            return descend(b);
    return n;
}

node *graph_next(const graph *g, const node *n)
{
    (void)g;
    if (n->next != NULL)
        return enter(n->next);
    if (n->parent == NULL || n->parent->owner == NULL)
        return NULL;
    return after_body(n->parent->owner, n->parent);
}

uint32_t graph_n_nodes(const graph *g)
{
    uint32_t n = 0;

    for (const node *x = graph_first(g); x != NULL; x = graph_next(g, x))
        n++;
    return n;
}

/* ---- whole-graph rewrites ------------------------------------------------ */

static void settle_vals(const graph *g, val *p, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        p[i] = graph_resolve(g, p[i]);
}

static void settle_bodies(const graph *g, const node *n)
{
    region *b;

    for (uint32_t i = 0; (b = node_body_at(n, i)) != NULL; i++)
        settle_vals(g, b->results, b->n_results);
}

void graph_settle(graph *g)
{
    /* Shorten the chains first, so that each is walked once. */
    for (val v = 1; v < g->n_values; v++) {
        val root = graph_resolve(g, v), next;

        for (val x = v; x != root; x = next) {
            next = g->values[x]->alias;
            g->values[x]->alias = root;
        }
    }
    for (node *n = graph_first(g); n != NULL; n = graph_next(g, n)) {
        settle_vals(g, n->in, n->n_in);
        settle_bodies(g, n);
    }
    settle_vals(g, g->body->results, g->body->n_results);
}

static void count_vals(const graph *g, uint32_t *uses, const val *p, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        uses[graph_resolve(g, p[i])]++;
}

/* Value arrays that a walk over binders marks. */
typedef struct marks {
    const graph *g;
    uint32_t *uses;
    uint8_t *needed;
} marks;

static void count_binder(void *user, val v)
{
    marks *k = user;

    k->uses[graph_resolve(k->g, v)]++;
}

static void need_binder(void *user, val v)
{
    marks *k = user;

    k->needed[graph_resolve(k->g, v)] = 1;
}

uint32_t *graph_uses(graph *g)
{
    uint32_t *uses;
    region *b;
    binders bs;

    if (g->m->status != HULL_OK)
        return NULL;
    uses = arena_array(&g->m->a, g->n_values, sizeof(*uses));
    if (uses == NULL) {
        ignore(ir_oom(g->m, g->n_values * sizeof(*uses))); /* sticky */
        return NULL;
    }
    if (binders_get(&bs, g) != HULL_OK) {
        ir_fail(g->m, HULL_ENOMEM);
        return NULL;
    }
    for (node *n = graph_first(g); n != NULL; n = graph_next(g, n)) {
        count_vals(g, uses, n->in, n->n_in);
        for (uint32_t i = 0; (b = node_body_at(n, i)) != NULL; i++)
            count_vals(g, uses, b->results, b->n_results);
        binders_each(&bs, g, n, count_binder, &(marks){ .g = g, .uses = uses });
    }
    binders_fini(&bs);
    count_vals(g, uses, g->body->results, g->body->n_results);
    uses[0] = 0;
    return uses;
}

static void need_vals(const graph *g, uint8_t *needed, const val *p, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        needed[graph_resolve(g, p[i])] = 1;
}

static bool is_needed(const uint8_t *needed, const node *n)
{
    for (uint32_t i = 0; i < n->n_out; i++)
        if (needed[n->out[i]])
            return true;
    return false;
}

/* Backwards, so that all uses of a value were seen before its definition. */
static void remove_dead_in(graph *g, const binders *bs, uint8_t *needed,
                           region *r)
{
    node *prev;
    region *b;

    need_vals(g, needed, r->results, r->n_results);
    for (node *n = r->last; n != NULL; n = prev) {
        prev = n->prev;
        if (!is_needed(needed, n)) {
            node_remove(g, n);
            continue;
        }
        need_vals(g, needed, n->in, n->n_in);
        binders_each(bs, g, n, need_binder,
                     &(marks){ .g = g, .needed = needed });
        for (uint32_t i = 0; (b = node_body_at(n, i)) != NULL; i++)
            remove_dead_in(g, bs, needed, b);
    }
}

void graph_remove_dead(graph *g)
{
    uint8_t *needed;
    binders bs;

    if (g->m->status != HULL_OK)
        return;
    needed = mem_calloc(g->n_values, 1);
    if (needed == NULL || binders_get(&bs, g) != HULL_OK) {
        ignore(ir_oom(g->m, g->n_values)); /* sticky in the ir */
        mem_free(needed);
        return;
    }
    remove_dead_in(g, &bs, needed, g->body);
    binders_fini(&bs);
    mem_free(needed);
}

void graph_rewrite_at(graph *g, node *n)
{
    g->insert_before = n;
    g->insert_in = n->parent;
    for (uint32_t i = 0; i < n->n_in; i++)
        n->in[i] = graph_resolve(g, n->in[i]);
}

void graph_rewrite_end(graph *g)
{
    g->insert_before = NULL;
    g->insert_in = NULL;
    graph_settle(g);
    graph_remove_dead(g);
}

/* ---- literals ------------------------------------------------------------ */

bool literal_finish(literal *l)
{
    uint64_t n = 1;
    digester d;
    uint32_t head[2] = { (uint32_t)l->dtype, l->rank };

    for (uint32_t i = 0; i < l->rank; i++)
        if (l->shape[i] < 0 || !mul_u64(&n, n, (uint64_t)l->shape[i]))
            return false;
    if (!dtype_bytes(&l->n_bytes, l->dtype, n) || l->n_bytes > SIZE_MAX / 2)
        return false;
    l->numel = n;
    if (n <= LITERAL_TEXT_MAX)
        return true;
    digest_begin(&d);
    digest_update(&d, head, sizeof(head));
    digest_update(&d, l->shape, l->rank * sizeof(l->shape[0]));
    digest_update(&d, l->data, (size_t)l->n_bytes);
    digest_end(&d, &l->digest);
    return true;
}

const literal *ir_pinned(const ir *m, const digest *d)
{
    for (uint32_t i = 0; i < m->n_pinned; i++)
        if (digest_eq(&m->pinned[i]->digest, d))
            return m->pinned[i];
    return NULL;
}

const literal *ir_pin(ir *m, const literal *l)
{
    const literal *found = ir_pinned(m, &l->digest);
    literal *copy;

    if (found != NULL || m->status != HULL_OK)
        return found;
    copy = arena_memdup(&m->a, l, sizeof(*l));
    if (copy == NULL ||
        (copy->data = arena_memdup(&m->a, l->data, (size_t)l->n_bytes)) ==
            NULL ||
        mem_grow(&m->pinned, &m->cap_pinned, (size_t)m->n_pinned + 1,
                 sizeof(*m->pinned)) != HULL_OK) {
        ignore(ir_oom(m, (size_t)l->n_bytes)); /* sticky in the ir */
        return NULL;
    }
    m->pinned[m->n_pinned++] = copy;
    return copy;
}
