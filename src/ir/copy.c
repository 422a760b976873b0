/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * copy.c - deep copy of a graph, within an ir or into another one. Values are
 * renumbered densely in the order of their definition, aliases are resolved,
 * types are carried over as they are (no shape rule runs). Recursion is over
 * bodies, which nest at most IR_MAX_DEPTH deep.
 */
#include "ir/ir_private.h"

#include <string.h>

typedef struct copier {
    graph *to;
    const graph *from;
    val *map; /* old id -> new id */
} copier;

static val copy_value(copier *c, val old, node *def, region *scope,
                      uint32_t index)
{
    ir *m = c->to->m;
    const ir *src = c->from->m;
    const value *v = c->from->values[old];
    val id = value_new(c->to, def, scope, index, v->name);
    dim known[KNOWN_MAX];
    type t;

    if (id == 0)
        return 0;
    t = type_copy(m, src, &v->type);
    value_set_type(c->to, id, &t);
    if (v->known != NULL) {
        for (uint32_t i = 0; i < v->n_known; i++)
            known[i] = dim_copy(m, src, v->known[i]);
        value_set_known(c->to, id, known, v->n_known);
    }
    c->map[old] = id;
    return id;
}

static val mapped(copier *c, val old)
{
    val v = c->map[graph_resolve(c->from, old)];

    if (v == 0 && old != 0 && c->to->m->status == HULL_OK)
        ir_fail(c->to->m, fail(HULL_EINTERNAL,
                               "value %u of graph '%.*s' is "
                               "used before its definition",
                               old, STR_ARG(c->from->name)));
    return v;
}

static const void *dup_words(ir *m, const void *p, size_t n)
{
    void *q;

    if (n == 0)
        return NULL;
    q = arena_memdup(&m->a, p, n);
    if (q == NULL)
        ignore(ir_oom(m, n)); /* sticky in the ir */
    return q;
}

static const literal *copy_literal(ir *m, const literal *l)
{
    literal *q;

    if (l->numel > LITERAL_TEXT_MAX)
        return ir_pin(m, l);
    q = arena_memdup(&m->a, l, sizeof(*l));
    if (q == NULL) {
        ignore(ir_oom(m, sizeof(*l))); /* sticky in the ir */
        return NULL;
    }
    q->data = dup_words(m, l->data, (size_t)l->n_bytes);
    return q;
}

static region *copy_region(copier *c, const region *r, node *owner);

static void copy_attr(copier *c, attr *to, const attr *from, attr_kind kind,
                      node *owner)
{
    ir *m = c->to->m;
    dim *d;
    str *s;

    *to = *from;
    if (!from->set)
        return;
    switch (kind) {
    case ATTR_INT:
    case ATTR_FLOAT:
    case ATTR_BOOL:
    case ATTR_DTYPE:
        break;
    case ATTR_STR:
        to->u.s = ir_str(m, from->u.s);
        break;
    case ATTR_DIM:
        to->u.d = dim_copy(m, c->from->m, from->u.d);
        break;
    case ATTR_INTS:
        to->u.ints.p =
            dup_words(m, from->u.ints.p, from->u.ints.n * sizeof(int64_t));
        break;
    case ATTR_FLOATS:
        to->u.floats.p =
            dup_words(m, from->u.floats.p, from->u.floats.n * sizeof(double));
        break;
    case ATTR_STRS:
        s = arena_array(&m->a, from->u.strs.n, sizeof(*s));
        if (s == NULL)
            ignore(ir_oom(m, from->u.strs.n * sizeof(*s))); /* sticky */
        for (uint32_t i = 0; s != NULL && i < from->u.strs.n; i++)
            s[i] = ir_str(m, from->u.strs.p[i]);
        to->u.strs.p = s;
        break;
    case ATTR_DIMS:
        d = arena_array(&m->a, from->u.dims.n, sizeof(*d));
        if (d == NULL)
            ignore(ir_oom(m, from->u.dims.n * sizeof(*d))); /* sticky */
        for (uint32_t i = 0; d != NULL && i < from->u.dims.n; i++)
            d[i] = dim_copy(m, c->from->m, from->u.dims.p[i]);
        to->u.dims.p = d;
        break;
    case ATTR_TENSOR:
        to->u.t = from->u.t == NULL ? NULL : copy_literal(m, from->u.t);
        break;
    case ATTR_GRAPH:
        to->u.g = from->u.g == NULL ? NULL : copy_region(c, from->u.g, owner);
        break;
    }
}

static void copy_node(copier *c, const node *n, region *r, node *before)
{
    graph *g = c->to;
    node *x = node_new(g, n->op);
    const op_info *info = op_get(n->op);

    if (x == NULL)
        return;
    x->parent = r;
    x->label = ir_str(g->m, n->label);
    x->number = n->number;
    x->reason = n->reason;
    for (uint32_t i = 0; i < n->n_in; i++)
        node_input(g, x, mapped(c, n->in[i]));
    for (uint32_t i = 0; i < info->n_attrs; i++)
        copy_attr(c, &x->attrs[i], &n->attrs[i], info->attrs[i].kind, x);
    if (g->m->status != HULL_OK)
        return;
    if (n->n_out > 0) {
        x->out = arena_array(&g->m->a, n->n_out, sizeof(*x->out));
        if (x->out == NULL) {
            ignore(ir_oom(g->m, n->n_out * sizeof(*x->out))); /* sticky */
            return;
        }
    }
    for (uint32_t i = 0; i < n->n_out; i++)
        x->out[x->n_out++] = copy_value(c, n->out[i], x, r, i);
    region_insert(r, x, before);
}

static void fill_region(copier *c, const region *from, region *r)
{
    graph *g = c->to;
    region *in = g->insert_in;

    r->params = arena_array(&g->m->a, from->n_params, sizeof(val));
    r->results = arena_array(&g->m->a, from->n_results, sizeof(val));
    if (r->params == NULL || r->results == NULL) {
        ignore(ir_oom(g->m, from->n_params * sizeof(val))); /* sticky */
        return;
    }
    r->cap_params = r->n_params = from->n_params;
    r->cap_results = r->n_results = from->n_results;
    for (uint32_t i = 0; i < from->n_params; i++)
        r->params[i] = copy_value(c, from->params[i], NULL, r, i);
    g->insert_in = r;
    for (const node *n = from->first; n != NULL; n = n->next)
        copy_node(c, n, r, NULL);
    g->insert_in = in;
    for (uint32_t i = 0; i < from->n_results; i++)
        r->results[i] = mapped(c, from->results[i]);
}

static region *copy_region(copier *c, const region *from, node *owner)
{
    region *r = region_new(c->to, owner);

    if (r != NULL)
        fill_region(c, from, r);
    return r;
}

graph *graph_copy(ir *to, const graph *g, str name)
{
    copier c = { .from = g };

    c.to = graph_new(to, name);
    if (c.to == NULL)
        return NULL;
    c.map = mem_calloc(g->n_values, sizeof(*c.map));
    if (c.map == NULL) {
        ignore(ir_oom(to, g->n_values * sizeof(*c.map))); /* sticky */
        return NULL;
    }
    c.to->backend = ir_str(to, g->backend);
    fill_region(&c, g->body, c.to->body);
    for (uint32_t i = 0; i < g->n_states; i++)
        graph_set_state(c.to, g->states[i].param, g->states[i].result,
                        g->states[i].initial);
    mem_free(c.map);
    return to->status == HULL_OK ? c.to : NULL;
}

void graph_copy_node(graph *to, const graph *from, const node *n, val *map)
{
    copier c = { to, from, map };
    region *r = to->insert_in != NULL ? to->insert_in : to->body;

    copy_node(&c, n, r, to->insert_before);
}

void graph_inline(graph *to, const graph *from, const val *args, val *results)
{
    val *map = mem_calloc(from->n_values, sizeof(*map));
    copier c = { to, from, map };

    if (map == NULL) {
        ignore(ir_oom(to->m, from->n_values * sizeof(*map))); /* sticky */
        return;
    }
    for (uint32_t i = 0; i < from->body->n_params; i++)
        map[from->body->params[i]] = args[i];
    for (const node *n = from->body->first; n != NULL; n = n->next)
        graph_copy_node(to, from, n, map);
    for (uint32_t i = 0; i < from->body->n_results; i++)
        results[i] = mapped(&c, from->body->results[i]);
    mem_free(map);
}
