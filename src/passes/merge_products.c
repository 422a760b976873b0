/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * merge_products.c - the products that feed attention: queries, keys and values
 * of one x by constant weights, y = x w + b. This pass owns them, whoever wrote
 * them down.
 *
 *   slices behind reshapes and transposes of y     slices of y's columns
 *   columns that few rows are read of              a product of those rows,
 *                                                  and one of the other columns
 *   the parts of y, each reshape [.., h, d] and    one reshape to all of these,
 *   transpose                                      one transpose, parts first,
 *                                                  and slices of that
 *   products of one x, each with such a reshape    one product of the weights
 *   and transpose                                  side by side, then the same
 *
 * Slices of the first axis are views, so that the last two move no more bytes
 * than before and read x once. Parts that are read otherwise (a gate and its
 * product) stay: slices of columns would be copies.
 */
#include "passes/pass.h"

#include <stdlib.h>

#define MAX_PARTS 8
#define MAX_CHAIN 8
#define FEW_ROWS 16
#define MAX_READERS 64 /* of x that are looked at for each product */

/* A reader of a value, in the list of all of them. */
typedef struct edge {
    node *reader;
    uint32_t next; /* number + 1 */
} edge;

typedef struct merger {
    graph *g;
    graph_facts f;
    uint32_t *first; /* by value: number + 1 of the first edge */
    edge *edges;
    uint32_t n_edges;
    bool changed;
} merger;

/* Columns of a product, read as heads. */
typedef struct part {
    node *slice;     /* NULL: all columns */
    node *reshape, *transpose;
    int64_t start, size;
} part;

/* ---- facts --------------------------------------------------------------- */

static hull_status facts(merger *m)
{
    size_t n = 0;

    TRY(graph_facts_get(&m->f, m->g));
    for (node *r = m->g->body->first; r != NULL; r = r->next)
        n += r->n_in;
    m->first = arena_array(&m->g->m->a, m->f.n, sizeof *m->first);
    m->edges = arena_array(&m->g->m->a, n + 1, sizeof *m->edges);
    m->n_edges = 0;
    if (m->first == NULL || m->edges == NULL)
        return ir_fail(m->g->m, fail_oom(n * sizeof *m->edges));
    for (node *r = m->g->body->first; r != NULL; r = r->next)
        for (uint32_t i = 0; i < r->n_in; i++) {
            if (r->in[i] == 0)
                continue;
            m->edges[m->n_edges] = (edge){r, m->first[r->in[i]]};
            m->first[r->in[i]] = ++m->n_edges;
        }
    return HULL_OK;
}

/* v's readers; false: more than `max`, or some that are not in the body. */
static bool readers_of(const merger *m, val v, node **out, uint32_t max,
                       uint32_t *n)
{
    *n = 0;
    for (uint32_t e = m->first[v]; e != 0; e = m->edges[e - 1].next) {
        if (*n == max)
            return false;
        out[(*n)++] = m->edges[e - 1].reader;
    }
    return *n == m->f.uses[v];
}

static node *only_reader(const merger *m, val v, op_code op)
{
    node *r;
    uint32_t n;

    return readers_of(m, v, &r, 1, &n) && n == 1 && r->op == op ? r : NULL;
}

static val bias_of(const node *product)
{
    return product->n_in > 2 ? product->in[2] : 0;
}

/* x w + b with a constant matrix and row, and a plain number of columns. */
static bool is_product(const merger *m, const node *n, int64_t *columns)
{
    const type *y;

    if (n == NULL || n->op != OP_matmul || n->parent != m->g->body)
        return false;
    y = graph_type(m->g, n->out[0]);
    return !attr_bool(n, "trans_a") && y->rank >= 2 &&
           graph_type(m->g, n->in[0])->rank == y->rank &&
           graph_type(m->g, n->in[1])->rank == 2 &&
           !value_is_runtime(&m->f, n->in[1]) &&
           value_is_runtime(&m->f, n->in[0]) &&
           (bias_of(n) == 0 ||
            (graph_type(m->g, bias_of(n))->rank == 1 &&
             !value_is_runtime(&m->f, bias_of(n)))) &&
           dim_is_int(m->g->m, y->dims[y->rank - 1], columns) && *columns > 0;
}

static void insert_before(merger *m, node *n)
{
    m->g->insert_in = n->parent;
    m->g->insert_before = n;
}

/* A slice of plain columns or rows: its bounds as positions. */
static bool plain_cut(const merger *m, const node *n, axis_cut *c,
                      int64_t *start, int64_t *size)
{
    return slice_cut(m->g, n, c) && c->step == 1 && c->start >= 0 &&
           dim_is_int(m->g->m, c->start, start) &&
           dim_is_int(m->g->m, graph_type(m->g, n->out[0])->dims[c->axis],
                      size);
}

/* ---- slices of moved columns become slices of columns -------------------- */

/* From the slice up to the product: the nodes in between and the cut of each
 * one's result; cuts[n] is the product's. */
typedef struct chain {
    const node *product;
    const node *nodes[MAX_CHAIN];
    axis_cut cuts[MAX_CHAIN + 1];
    uint32_t n;
} chain;

static bool find_chain(const merger *m, const node *slice, chain *c)
{
    val v = slice->in[0];
    int64_t columns, start, size;

    c->n = 0;
    if (!plain_cut(m, slice, &c->cuts[0], &start, &size))
        return false;
    c->cuts[0].end = start + size;
    for (;;) {
        const node *def = graph_def(m->g, v);

        if (is_product(m, def, &columns)) {
            c->product = def;
            return c->n > 0 &&
                   c->cuts[c->n].axis + 1 == graph_type(m->g, v)->rank;
        }
        if (def == NULL || c->n == MAX_CHAIN || def->parent != m->g->body ||
            (c->n > 0 && m->f.uses[v] != 1) ||
            !cut_of_operand(m->g, def, &c->cuts[c->n], &c->cuts[c->n + 1]))
            return false;
        c->nodes[c->n++] = def;
        v = def->in[0];
    }
}

/* The product's columns, moved as the chain does. */
static val cut_chain(merger *m, const chain *c)
{
    val v = cut_value(m->g, c->product->out[0], &c->cuts[c->n]);

    for (uint32_t i = c->n; i-- > 0;) {
        const type *y = graph_type(m->g, c->nodes[i]->out[0]);
        node *n = node_again(m->g, c->nodes[i], &v, 1);
        dim dims[HULL_MAX_RANK];

        for (uint32_t k = 0; k < y->rank; k++)
            dims[k] = y->dims[k];
        dims[c->cuts[i].axis] = c->cuts[i].end - c->cuts[i].start;
        if (n != NULL && n->op == OP_reshape)
            node_dims(m->g, n, "shape", dims, y->rank);
        v = node_add(m->g, n);
    }
    return v;
}

/* All readers of v are slices of columns: they are taken from the product. */
static void pull_slices(merger *m, const node *moved)
{
    chain chains[MAX_PARTS];
    node *readers[MAX_PARTS];
    uint32_t n;

    if ((moved->op != OP_reshape && moved->op != OP_transpose) ||
        !readers_of(m, moved->out[0], readers, MAX_PARTS, &n) || n == 0)
        return;
    for (uint32_t i = 0; i < n; i++)
        if (!find_chain(m, readers[i], &chains[i]) ||
            m->f.uses[chains[i].product->out[0]] != 1)
            return;
    for (uint32_t i = 0; i < n; i++) {
        insert_before(m, readers[i]);
        graph_replace(m->g, readers[i]->out[0],
                      cut_chain(m, &chains[i]));
    }
    m->changed = true;
}

/* ---- columns of few rows ------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
    int64_t x = ((const part *)a)->start, y = ((const part *)b)->start;

    return x < y ? -1 : x > y;
}

/* The slices of y's columns that are all its readers: in order, no gaps. */
static bool find_parts(const merger *m, const node *product, int64_t columns,
                       part *parts, uint32_t *n)
{
    node *readers[MAX_PARTS];
    int64_t at = 0;
    axis_cut c;

    if (!readers_of(m, product->out[0], readers, MAX_PARTS, n) || *n < 2)
        return false;
    for (uint32_t i = 0; i < *n; i++) {
        parts[i] = (part){.slice = readers[i]};
        if (!plain_cut(m, readers[i], &c, &parts[i].start, &parts[i].size) ||
            c.axis + 1 != graph_type(m->g, product->out[0])->rank)
            return false;
    }
    qsort(parts, *n, sizeof *parts, by_start);
    for (uint32_t i = 0; i < *n; i++) {
        if (parts[i].start != at)
            return false;
        at += parts[i].size;
    }
    return at == columns;
}

/* x times some columns of the product's weights. */
static val columns_of(merger *m, const node *product, val x, int64_t start,
                      int64_t size)
{
    dim end = start + size;
    axis_cut c = {attr_bool(product, "trans_b") ? 0 : 1, start, end, 1};
    axis_cut of_bias = {0, start, end, 1};
    val in[3] = {x};

    in[1] = cut_value(m->g, product->in[1], &c);
    if (bias_of(product) != 0)
        in[2] = cut_value(m->g, bias_of(product), &of_bias);
    return node_add(m->g, node_again(m->g, product, in, product->n_in));
}

/* The first or last part of y is read in few rows only. */
static bool split_rows(merger *m, node *product, const part *parts, uint32_t n,
                       uint32_t at)
{
    const type *y = graph_type(m->g, product->out[0]);
    const part *p = &parts[at];
    node *rows = only_reader(m, p->slice->out[0], OP_slice);
    int64_t start, size, all, from = at == 0 ? p->size : 0;
    val x, rest;
    axis_cut c;

    if (rows == NULL || !plain_cut(m, rows, &c, &start, &size) ||
        c.axis + 1 == y->rank || !dim_is_int(m->g->m, y->dims[c.axis], &all) ||
        2 * size > all)
        return false;
    insert_before(m, product);
    x = cut_value(m->g, product->in[0], &c);
    graph_replace(m->g, rows->out[0],
                  columns_of(m, product, x, p->start, p->size));
    rest = columns_of(m, product, product->in[0], from,
                      parts[n - 1].start + parts[n - 1].size - p->size);
    for (uint32_t i = 0; i < n; i++) {
        axis_cut columns = {y->rank - 1, parts[i].start - from,
                       parts[i].start - from + parts[i].size, 1};

        if (i != at)
            graph_replace(m->g, parts[i].slice->out[0],
                          cut_value(m->g, rest, &columns));
    }
    m->changed = true;
    return true;
}

/* ---- parts as heads ------------------------------------------------------ */

/* What reads the part: reshape to [.., h, d], then transpose. */
static bool find_heads(const merger *m, val v, part *p)
{
    const type *t;
    int64_t h, d;

    p->reshape = only_reader(m, v, OP_reshape);
    p->transpose = p->reshape != NULL
                       ? only_reader(m, p->reshape->out[0], OP_transpose)
                       : NULL;
    if (p->transpose == NULL)
        return false;
    t = graph_type(m->g, p->reshape->out[0]);
    return t->rank >= 2 && t->rank < HULL_MAX_RANK &&
           dim_is_int(m->g->m, t->dims[t->rank - 2], &h) &&
           dim_is_int(m->g->m, t->dims[t->rank - 1], &d) && h > 0 &&
           d > 0 && h <= p->size && h * d == p->size;
}

static bool same_heads(const merger *m, const part *a, const part *b)
{
    const type *x = graph_type(m->g, a->reshape->out[0]);
    const type *y = graph_type(m->g, b->reshape->out[0]);

    if (x->rank != y->rank)
        return false;
    for (uint32_t i = 0; i < x->rank; i++)
        if (!dim_eq(m->g->m, x->dims[i], y->dims[i]) ||
            perm_at(a->transpose, i) != perm_at(b->transpose, i))
            return false;
    return true;
}

/* One transpose for all parts of y, the parts first. */
static void join_heads(merger *m, val y, const part *parts, uint32_t n)
{
    const type *t = graph_type(m->g, parts[0].reshape->out[0]);
    uint32_t k = t->rank;
    dim dims[HULL_MAX_RANK];
    int64_t perm[HULL_MAX_RANK];
    val all;

    perm[0] = k - 2;
    for (uint32_t i = 0; i < k; i++) {
        uint32_t at = perm_at(parts[0].transpose, i);

        dims[i < k - 2 ? i : i + 1] = t->dims[i];
        perm[i + 1] = at < k - 2 ? at : at + 1;
    }
    dims[k - 2] = n;
    all = op_transpose(m->g, op_reshape(m->g, y, dims, k + 1), perm, k + 1);
    for (uint32_t i = 0; i < n; i++) {
        const type *u = graph_type(m->g, parts[i].transpose->out[0]);
        val one = op_slice(m->g, all, 0, i, i + 1, 1);

        graph_replace(m->g, parts[i].transpose->out[0],
                      op_reshape(m->g, one, u->dims, u->rank));
    }
    m->changed = true;
}

static bool one_product(merger *m, node *product, int64_t columns)
{
    part parts[MAX_PARTS];
    uint32_t n;

    if (!find_parts(m, product, columns, parts, &n))
        return false;
    if (split_rows(m, product, parts, n, 0) ||
        split_rows(m, product, parts, n, n - 1))
        return true;
    for (uint32_t i = 0; i < n; i++)
        if (parts[i].size != parts[0].size ||
            !find_heads(m, parts[i].slice->out[0], &parts[i]) ||
            !same_heads(m, &parts[0], &parts[i]))
            return false;
    insert_before(m, product->next);
    join_heads(m, product->out[0], parts, n);
    return true;
}

/* ---- several products of one x ------------------------------------------- */

typedef struct family {
    node *products[MAX_PARTS];
    part parts[MAX_PARTS];
    uint32_t n;
} family;

/* Side by side, weights are copied: not those that kernels read in place, for
 * few rows, or widen as they go. */
static bool may_stand_together(const merger *m, const node *product)
{
    const type *x = graph_type(m->g, product->in[0]);
    const node *w = graph_def(m->g, product->in[1]);
    int64_t rows = 1, n;

    for (uint32_t i = 0; i + 1 < x->rank; i++)
        if (!dim_is_int(m->g->m, x->dims[i], &n) || n > FEW_ROWS)
            rows = FEW_ROWS + 1;
        else if (rows <= FEW_ROWS)
            rows *= n;
    return rows > FEW_ROWS && (w == NULL || w->op != OP_cast) &&
           !is_group_weight(m->g, product->in[1],
                            attr_bool(product, "trans_b"));
}

/* Those that are read as the first one is. */
static void find_family(const merger *m, node *first, int64_t columns,
                        family *f)
{
    f->n = 0;
    f->parts[0] = (part){.size = columns};
    if (!find_heads(m, first->out[0], &f->parts[0]))
        return;
    f->products[f->n++] = first;
    for (uint32_t e = m->first[first->in[0]], seen = 0;
         e != 0 && seen < MAX_READERS; e = m->edges[e - 1].next, seen++) {
        node *p = m->edges[e - 1].reader;
        part *at = &f->parts[f->n];
        int64_t n;

        if (f->n == MAX_PARTS)
            return;
        *at = (part){.size = columns};
        if (p == first || !is_product(m, p, &n) || n != columns ||
            p->in[0] != first->in[0] || p->number != 0 ||
            !may_stand_together(m, p) ||
            attr_bool(p, "trans_b") != attr_bool(first, "trans_b") ||
            (bias_of(p) == 0) != (bias_of(first) == 0) ||
            !find_heads(m, p->out[0], at) || !same_heads(m, &f->parts[0], at))
            continue;
        f->products[f->n++] = p;
    }
}

static bool several_products(merger *m, node *first, int64_t columns)
{
    family f;
    val w[MAX_PARTS], b[MAX_PARTS], in[3] = {first->in[0]};

    if (first->number != 0 || !may_stand_together(m, first))
        return false; /* number: is in a family already */
    find_family(m, first, columns, &f);
    if (f.n < 2)
        return false;
    for (uint32_t i = 0; i < f.n; i++) {
        f.products[i]->number = 1;
        w[i] = f.products[i]->in[1];
        b[i] = bias_of(f.products[i]);
    }
    insert_before(m, first);
    in[1] = op_concat(m->g, w, f.n, attr_bool(first, "trans_b") ? 0 : 1);
    if (b[0] != 0)
        in[2] = op_concat(m->g, b, f.n, 0);
    join_heads(m, node_add(m->g, node_again(m->g, first, in, first->n_in)),
               f.parts, f.n);
    return true;
}

/* ---- pass ---------------------------------------------------------------- */

static hull_status finish(merger *m)
{
    m->g->insert_before = NULL;
    m->g->insert_in = NULL;
    TRY(ir_status(m->g->m));
    graph_settle(m->g);
    graph_remove_dead(m->g);
    if (m->changed) /* weights may stand behind the product of all */
        graph_canonical_order(m->g);
    return ir_status(m->g->m);
}

hull_status pass_merge_products(graph *g)
{
    merger m = {.g = g};
    node *next;

    TRY(facts(&m));
    for (node *n = g->body->first; n != NULL; n = next) {
        next = n->next;
        if (n->n_out == 1 && n->out[0] < m.f.n)
            pull_slices(&m, n);
    }
    TRY(finish(&m));
    if (m.changed) {
        TRY(pass_tidy(g));
        TRY(pass_narrow(g));
    }
    for (int round = 0; round < 2; round++) { /* rows first, then heads */
        m.changed = false;
        TRY(facts(&m));
        for (node *n = g->body->first; n != NULL; n = n->next)
            n->number = 0;
        for (node *n = g->body->first; n != NULL; n = next) {
            int64_t columns;

            next = n->next;
            if (n->n_out == 1 && n->out[0] < m.f.n &&
                is_product(&m, n, &columns) && !one_product(&m, n, columns))
                several_products(&m, n, columns);
        }
        TRY(finish(&m));
    }
    return HULL_OK;
}
