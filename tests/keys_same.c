/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * keys_same.c - are two graphs one computation? The walk starts from the
 * results and pairs what it meets; a graph's results and operands are ordered,
 * so no choice is ever made and nothing is searched for. It shares no code
 * with the canonical text, and what the text leaves out is looked at here:
 * bits of numbers, all bytes of large literals, who binds a symbol.
 */
#include "keys.h"

#include <string.h>

typedef struct pairs {
    const graph *a, *b;
    val *to_b, *to_a;          /* by value; 0 = not met */
    dim *sym_b, *sym_a;        /* by entry of the table; 0 = not met */
    strmap hole_b, hole_a;     /* name -> number of the pair */
    uint32_t n_holes;
    const region **region_a, **region_b;
    size_t n_regions;
    const node **todo_a, **todo_b;
    size_t n_todo;
    binders bind_a, bind_b;
    const char *why;           /* the first difference */
} pairs;

static bool differ(pairs *p, const char *why)
{
    if (p->why == NULL)
        p->why = why;
    return false;
}

/* ---- regions, values ----------------------------------------------------- */

static bool regions_are_paired(const pairs *p, const region *a,
                               const region *b)
{
    for (size_t i = 0; i < p->n_regions; i++)
        if (p->region_a[i] == a || p->region_b[i] == b)
            return p->region_a[i] == a && p->region_b[i] == b;
    return false;
}

static bool pair_values(pairs *p, val a, val b)
{
    const node *na, *nb;

    a = a != 0 ? graph_resolve(p->a, a) : 0;
    b = b != 0 ? graph_resolve(p->b, b) : 0;
    if (a == 0 || b == 0)
        return a == b || differ(p, "a missing operand");
    if (p->to_b[a] != 0 || p->to_a[b] != 0)
        return (p->to_b[a] == b && p->to_a[b] == a) ||
               differ(p, "which value is used");
    na = graph_def(p->a, a);
    nb = graph_def(p->b, b);
    if (na == NULL || nb == NULL)
        return differ(p, "a parameter");
    if (na->op != nb->op || na->n_out != nb->n_out ||
        graph_value(p->a, a)->index != graph_value(p->b, b)->index)
        return differ(p, "the operation");
    if (!regions_are_paired(p, na->parent, nb->parent))
        return differ(p, "the body a node is in");
    for (uint32_t i = 0; i < na->n_out; i++) {
        if (p->to_b[na->out[i]] != 0 || p->to_a[nb->out[i]] != 0)
            return differ(p, "which node is used");
        p->to_b[na->out[i]] = nb->out[i];
        p->to_a[nb->out[i]] = na->out[i];
    }
    p->todo_a[p->n_todo] = na;
    p->todo_b[p->n_todo++] = nb;
    return true;
}

/* ---- symbols, types ------------------------------------------------------ */

static bool pair_symbols(pairs *p, dim a, dim b, const dim_node *x,
                         const dim_node *y)
{
    uint32_t i = (uint32_t)(-2 - a), k = (uint32_t)(-2 - b);
    const node *bind_a = i < p->bind_a.n && p->bind_a.of != NULL
                             ? p->bind_a.of[i] : NULL;
    const node *bind_b = k < p->bind_b.n && p->bind_b.of != NULL
                             ? p->bind_b.of[k] : NULL;

    if (p->sym_b[i] != 0 || p->sym_a[k] != 0)
        return (p->sym_b[i] == b && p->sym_a[k] == a) ||
               differ(p, "which symbol is used");
    if (x->min != y->min || x->max != y->max || x->opt != y->opt)
        return differ(p, "a symbol's range");
    p->sym_b[i] = b;
    p->sym_a[k] = a;
    if ((bind_a == NULL) != (bind_b == NULL))
        return differ(p, "what binds a symbol");
    return bind_a == NULL || pair_values(p, bind_a->out[0], bind_b->out[0]);
}

static bool pair_dims(pairs *p, dim a, dim b)
{
    const dim_node *x = dim_get(p->a->m, a), *y = dim_get(p->b->m, b);

    if (x == NULL || y == NULL)
        return (x == y && a == b) || differ(p, "a size");
    if (x->op != y->op)
        return differ(p, "an expression of sizes");
    if (x->op == DIM_SYM)
        return pair_symbols(p, a, b, x, y);
    if (x->op == DIM_INT)
        return x->value == y->value || differ(p, "a number");
    return pair_dims(p, x->a, y->a) && pair_dims(p, x->b, y->b);
}

static bool pair_types(pairs *p, const type *a, const type *b)
{
    if (a->kind != b->kind)
        return differ(p, "the kind of a type");
    if (a->kind == TYPE_SEQUENCE || a->kind == TYPE_OPTIONAL)
        return pair_types(p, a->elem, b->elem);
    if (a->dtype != b->dtype)
        return differ(p, "an element type");
    if (a->kind != TYPE_TENSOR)
        return true;
    if (a->rank != b->rank)
        return differ(p, "a rank");
    for (uint32_t i = 0; i < a->rank; i++)
        if (!pair_dims(p, a->dims[i], b->dims[i]))
            return false;
    return true;
}

/* ---- attributes ---------------------------------------------------------- */

static bool pair_holes(pairs *p, str a, str b)
{
    uint32_t i = 0, k = 0;
    bool has_a = strmap_get(&p->hole_b, a, &i);
    bool has_b = strmap_get(&p->hole_a, b, &k);

    if (has_a || has_b)
        return (has_a && has_b && i == k) || differ(p, "which hole is used");
    if (strmap_set(&p->hole_b, a, p->n_holes) != HULL_OK ||
        strmap_set(&p->hole_a, b, p->n_holes) != HULL_OK)
        return differ(p, "no memory");
    p->n_holes++;
    return true;
}

static bool same_literal(const literal *a, const literal *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           a->n_bytes == b->n_bytes &&
           (a->rank == 0 ||
            memcmp(a->shape, b->shape, a->rank * sizeof a->shape[0]) == 0) &&
           (a->n_bytes == 0 ||
            memcmp(a->data, b->data, (size_t)a->n_bytes) == 0);
}

static bool pair_regions(pairs *p, const region *a, const region *b)
{
    if (a->n_params != b->n_params || a->n_results != b->n_results)
        return differ(p, "the parameters or results of a body");
    p->region_a[p->n_regions] = a;
    p->region_b[p->n_regions++] = b;
    for (uint32_t i = 0; i < a->n_params; i++) {
        p->to_b[a->params[i]] = b->params[i];
        p->to_a[b->params[i]] = a->params[i];
        if (!pair_types(p, graph_type(p->a, a->params[i]),
                        graph_type(p->b, b->params[i])))
            return false;
    }
    for (uint32_t i = 0; i < a->n_results; i++)
        if (!pair_values(p, a->results[i], b->results[i]))
            return false;
    return true;
}

static bool same_words(const void *a, uint32_t n, const void *b, uint32_t m,
                       size_t size)
{
    return n == m && (n == 0 || memcmp(a, b, n * size) == 0);
}

static bool pair_lists(pairs *p, attr_kind kind, const attr *a, const attr *b)
{
    if (kind == ATTR_INTS)
        return same_words(a->u.ints.p, a->u.ints.n, b->u.ints.p, b->u.ints.n,
                          sizeof(int64_t));
    if (kind == ATTR_FLOATS)
        return same_words(a->u.floats.p, a->u.floats.n, b->u.floats.p,
                          b->u.floats.n, sizeof(double));
    if (kind == ATTR_STRS) {
        bool same = a->u.strs.n == b->u.strs.n;

        for (uint32_t i = 0; same && i < a->u.strs.n; i++)
            same = str_eq(a->u.strs.p[i], b->u.strs.p[i]);
        return same;
    }
    if (a->u.dims.n != b->u.dims.n)
        return false;
    for (uint32_t i = 0; i < a->u.dims.n; i++)
        if (!pair_dims(p, a->u.dims.p[i], b->u.dims.p[i]))
            return false;
    return true;
}

static bool pair_attr(pairs *p, attr_kind kind, const attr *a, const attr *b)
{
    switch (kind) {
    case ATTR_INT:
        return a->u.i == b->u.i;
    case ATTR_FLOAT:
        return memcmp(&a->u.f, &b->u.f, sizeof a->u.f) == 0;
    case ATTR_BOOL:
        return a->u.b == b->u.b;
    case ATTR_DTYPE:
        return a->u.dt == b->u.dt;
    case ATTR_STR:
        return str_eq(a->u.s, b->u.s);
    case ATTR_DIM:
        return pair_dims(p, a->u.d, b->u.d);
    case ATTR_TENSOR:
        return a->u.t == NULL || b->u.t == NULL
                   ? a->u.t == b->u.t : same_literal(a->u.t, b->u.t);
    case ATTR_GRAPH:
        return a->u.g == NULL || b->u.g == NULL
                   ? a->u.g == b->u.g : pair_regions(p, a->u.g, b->u.g);
    case ATTR_INTS:
    case ATTR_FLOATS:
    case ATTR_STRS:
    case ATTR_DIMS:
        break;
    }
    return pair_lists(p, kind, a, b);
}

static bool pair_attrs(pairs *p, const node *a, const node *b)
{
    const op_info *info = op_get(a->op);

    for (uint32_t i = 0; i < info->n_attrs; i++) {
        const attr_schema *s = &info->attrs[i];
        const attr *x = a->attrs[i].set ? &a->attrs[i] : &s->def;
        const attr *y = b->attrs[i].set ? &b->attrs[i] : &s->def;

        if (a->op == OP_weight && strcmp(s->name, "name") == 0) {
            if (!pair_holes(p, x->u.s, y->u.s))
                return false;
        } else if (x->set != y->set ||
                   (x->set && !pair_attr(p, s->kind, x, y))) {
            return differ(p, s->name);
        }
    }
    return true;
}

static bool pair_nodes(pairs *p, const node *a, const node *b)
{
    if (a->n_in != b->n_in)
        return differ(p, "the number of operands");
    for (uint32_t i = 0; i < a->n_in; i++)
        if (!pair_values(p, a->in[i], b->in[i]))
            return false;
    if (!pair_attrs(p, a, b))
        return false;
    for (uint32_t i = 0; i < a->n_out; i++)
        if (!pair_types(p, graph_type(p->a, a->out[i]),
                        graph_type(p->b, b->out[i])))
            return false;
    return true;
}

/* ---- states -------------------------------------------------------------- */

static const graph_state *state_of(const graph *g, uint32_t param)
{
    for (uint32_t i = 0; i < g->n_states; i++)
        if (g->states[i].param == param)
            return &g->states[i];
    return NULL;
}

static bool pair_states(pairs *p)
{
    if (p->a->n_states != p->b->n_states)
        return differ(p, "the number of states");
    for (uint32_t i = 0; i < p->a->body->n_params; i++) {
        const graph_state *x = state_of(p->a, i), *y = state_of(p->b, i);

        if ((x == NULL) != (y == NULL))
            return differ(p, "which parameter is a state");
        if (x == NULL)
            continue;
        if (x->result != y->result)
            return differ(p, "which result is a state");
        if (!pair_holes(p, x->initial, y->initial))
            return false;
    }
    return true;
}

static bool walk(pairs *p)
{
    if (p->a->body->n_params != p->b->body->n_params)
        return differ(p, "the number of parameters");
    if (!pair_states(p) || !pair_regions(p, p->a->body, p->b->body))
        return false;
    while (p->n_todo > 0) {
        p->n_todo--;
        if (!pair_nodes(p, p->todo_a[p->n_todo], p->todo_b[p->n_todo]))
            return false;
    }
    return true;
}

static void pairs_fini(pairs *p)
{
    mem_free(p->to_a);
    mem_free(p->to_b);
    mem_free(p->sym_a);
    mem_free(p->sym_b);
    mem_free((void *)p->region_a);
    mem_free((void *)p->region_b);
    mem_free((void *)p->todo_a);
    mem_free((void *)p->todo_b);
    strmap_fini(&p->hole_a);
    strmap_fini(&p->hole_b);
    binders_fini(&p->bind_a);
    binders_fini(&p->bind_b);
}

/* Every node on the list has a result, and at most two bodies. */
static bool pairs_init(pairs *p)
{
    size_t n = (size_t)p->a->n_values + 1;

    p->to_b = mem_calloc(n, sizeof *p->to_b);
    p->to_a = mem_calloc(p->b->n_values + 1, sizeof *p->to_a);
    p->sym_b = mem_calloc(dim_n_nodes(p->a->m) + 1, sizeof *p->sym_b);
    p->sym_a = mem_calloc(dim_n_nodes(p->b->m) + 1, sizeof *p->sym_a);
    p->region_a = mem_calloc(2 * n, sizeof *p->region_a);
    p->region_b = mem_calloc(2 * n, sizeof *p->region_b);
    p->todo_a = mem_calloc(n, sizeof *p->todo_a);
    p->todo_b = mem_calloc(n, sizeof *p->todo_b);
    if (p->to_b == NULL || p->to_a == NULL || p->sym_b == NULL ||
        p->sym_a == NULL || p->region_a == NULL || p->region_b == NULL ||
        p->todo_a == NULL || p->todo_b == NULL ||
        binders_get(&p->bind_a, p->a) != HULL_OK ||
        binders_get(&p->bind_b, p->b) != HULL_OK)
        return differ(p, "no memory");
    return true;
}

const char *graph_difference(const graph *a, const graph *b)
{
    pairs p = { .a = a, .b = b };
    bool same = pairs_init(&p) && walk(&p);

    if (!same)
        same = differ(&p, "something"); /* whatever was found first stays */
    pairs_fini(&p);
    return p.why;
}
