/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * tidy.c - the same values in fewer moves:
 *   transpose that only moves axes of size 1       reshape
 *   transpose(reshape that merges axes)            reshape(transpose)
 *   gather of one place, or of places in a row     slice
 *   concat of all slices of a value                the value
 *   matmul(reshape(x), w), last axis kept          reshape(matmul(x, w))
 *   reshape(matmul(reshape(x), w)), likewise       matmul(reshape(x), w)
 *   f(reshape(x)), f unary                         reshape(f(x))
 *   an operand expanded as the op would            the operand
 *   x / c, c a power of two                        x * (1 / c)
 * Reshapes cost nothing; this brings them together, where they vanish. All of
 * it is exact.
 */
#include "passes/pass.h"

#include <math.h>
#include <stdlib.h>

typedef struct tidier {
    graph *g;
    graph_facts f;
} tidier;

static const node *def_of(const tidier *t, val v, op_code op)
{
    const node *def = v != 0 ? graph_def(t->g, v) : NULL;

    return def != NULL && def->op == op ? def : NULL;
}

static bool sizes_known(const type *t)
{
    for (uint32_t i = 0; t->kind == TYPE_TENSOR && i < t->rank; i++)
        if (t->dims[i] == DIM_UNKNOWN)
            return false;
    return t->kind == TYPE_TENSOR;
}

static val as_type(tidier *t, val x, const type *y)
{
    return op_reshape(t->g, x, y->dims, y->rank);
}

/* ---- transpose ----------------------------------------------------------- */

static val transpose_of_ones(tidier *t, const node *n)
{
    const type *x = graph_type(t->g, n->in[0]);
    const type *y = graph_type(t->g, n->out[0]);
    int64_t last = -1;

    if (!sizes_known(y))
        return 0;
    for (uint32_t i = 0; i < y->rank; i++) {
        if (x->dims[perm_at(n, i)] == 1)
            continue;
        if (perm_at(n, i) < last)
            return 0;
        last = perm_at(n, i);
    }
    return as_type(t, n->in[0], y);
}

/* For a reshape that merges neighbours: the first of x's axes in each of y's;
 * start[y's rank] is x's rank. false: it does something else. */
static bool merged_axes(const ir *m, const type *x, const type *y,
                        uint32_t *start)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < y->rank; i++) {
        int64_t size, part, product = 1;

        start[i] = at;
        if (at < x->rank && dim_eq(m, x->dims[at], y->dims[i])) {
            at++;
            continue;
        }
        if (!dim_is_int(m, y->dims[i], &size) || size < 1)
            return false;
        for (; product < size; at++)
            if (at == x->rank || !dim_is_int(m, x->dims[at], &part) ||
                part < 1 || part > size)
                return false;
            else
                product *= part;
        if (product != size)
            return false;
    }
    start[y->rank] = x->rank;
    return at == x->rank;
}

/* Only where a transpose below then meets another one. */
static val transpose_of_merge(tidier *t, const node *n)
{
    const node *r = def_of(t, n->in[0], OP_reshape);
    uint32_t start[HULL_MAX_RANK + 1], k = 0;
    int64_t fine[HULL_MAX_RANK];

    if (r == NULL || def_of(t, r->in[0], OP_transpose) == NULL ||
        !sizes_known(graph_type(t->g, n->out[0])) ||
        !merged_axes(t->g->m, graph_type(t->g, r->in[0]),
                     graph_type(t->g, r->out[0]), start))
        return 0;
    for (uint32_t i = 0; i < graph_type(t->g, n->out[0])->rank; i++)
        for (uint32_t a = start[perm_at(n, i)]; a < start[perm_at(n, i) + 1];
             a++)
            fine[k++] = a;
    return as_type(t, op_transpose(t->g, r->in[0], fine, k),
                   graph_type(t->g, n->out[0]));
}

static val tidy_transpose(tidier *t, const node *n)
{
    val y = transpose_of_ones(t, n);

    return y != 0 ? y : transpose_of_merge(t, n);
}

/* ---- gather, concat ------------------------------------------------------ */

/* Literal indices that follow each other, all in range: the first. */
static bool places_in_a_row(const tidier *t, const node *n, int64_t size,
                            int64_t *first)
{
    const literal *l = value_literal(t->g, n->in[1]);

    if (l == NULL || l->numel < 1 || l->rank > 1)
        return false;
    for (uint64_t i = 0; i < l->numel; i++) {
        int64_t at = load_i64(l->dtype, l->data, i);

        if (at < -size || at >= size)
            return false;
        at = at < 0 ? at + size : at;
        if (i == 0)
            *first = at;
        if (at != *first + (int64_t)i)
            return false;
    }
    return true;
}

static val tidy_gather(tidier *t, const node *n)
{
    const type *x = graph_type(t->g, n->in[0]);
    const type *y = graph_type(t->g, n->out[0]);
    uint32_t axis = node_axis(t->g, n);
    int64_t size, first = 0;
    const literal *l;
    val s;

    if (!sizes_known(y) || !dim_is_int(t->g->m, x->dims[axis], &size) ||
        !places_in_a_row(t, n, size, &first))
        return 0;
    l = value_literal(t->g, n->in[1]);
    s = op_slice(t->g, n->in[0], axis, dim_int(t->g->m, first),
                 dim_int(t->g->m, first + (int64_t)l->numel), 1);
    return l->rank == 1 ? s : as_type(t, s, y);
}

/* A slice along one axis with plain bounds and step 1. */
static bool plain_slice(const tidier *t, const node *s, uint32_t *axis,
                        int64_t *start, int64_t *end)
{
    const attr *axes = node_attr(s, "axes"), *steps = node_attr(s, "steps");
    int64_t size, a;

    if (axes->u.ints.n != 1 || (steps->set && steps->u.ints.p[0] != 1) ||
        !dim_is_int(t->g->m, node_attr(s, "starts")->u.dims.p[0], start))
        return false;
    a = axes->u.ints.p[0];
    *axis = (uint32_t)(a < 0 ? a + graph_type(t->g, s->in[0])->rank : a);
    if (*start < 0 ||
        !dim_is_int(t->g->m, graph_type(t->g, s->out[0])->dims[*axis], &size))
        return false;
    *end = *start + size;
    return true;
}

static val tidy_concat(tidier *t, const node *n)
{
    int64_t at = 0, start, end, size;
    uint32_t axis = node_axis(t->g, n), a;
    val x = 0;

    for (uint32_t i = 0; i < n->n_in; i++) {
        const node *s = def_of(t, n->in[i], OP_slice);

        if (s == NULL || !plain_slice(t, s, &a, &start, &end) || a != axis ||
            start != at || (i > 0 && graph_resolve(t->g, s->in[0]) != x))
            return 0;
        x = graph_resolve(t->g, s->in[0]);
        at = end;
    }
    return dim_is_int(t->g->m, graph_type(t->g, x)->dims[axis], &size) &&
                   size == at
               ? x
               : 0;
}

/* ---- reshape and matmul -------------------------------------------------- */

/* The reshape keeps the last axis. */
static bool keeps_rows(const tidier *t, const node *r)
{
    const type *x = graph_type(t->g, r->in[0]);
    const type *y = graph_type(t->g, r->out[0]);

    return x->rank >= 2 && y->rank >= 2 && sizes_known(x) && sizes_known(y) &&
           dim_eq(t->g->m, x->dims[x->rank - 1], y->dims[y->rank - 1]);
}

/* Every row of the first operand by itself: w is a matrix, the bias a row. */
static bool is_by_rows(const tidier *t, const node *n)
{
    return n != NULL && n->op == OP_matmul && !attr_bool(n, "trans_a") &&
           graph_type(t->g, n->in[0])->rank >= 2 &&
           graph_type(t->g, n->in[1])->rank == 2 &&
           (n->n_in < 3 || n->in[2] == 0 ||
            graph_type(t->g, n->in[2])->rank == 1);
}

static val matmul_of(tidier *t, const node *n, val x)
{
    val in[3] = {x, n->in[1], n->n_in > 2 ? n->in[2] : 0};

    return node_add(t->g, node_again(t->g, n, in, n->n_in));
}

static val tidy_matmul(tidier *t, const node *n)
{
    const node *r = def_of(t, n->in[0], OP_reshape);

    if (r == NULL || !is_by_rows(t, n) || !keeps_rows(t, r) ||
        !sizes_known(graph_type(t->g, n->out[0])))
        return 0;
    return as_type(t, matmul_of(t, n, r->in[0]),
                   graph_type(t->g, n->out[0]));
}

static val tidy_reshape(tidier *t, const node *n)
{
    const node *m = graph_def(t->g, n->in[0]), *r;
    const type *y = graph_type(t->g, n->out[0]), *x;
    dim dims[HULL_MAX_RANK];

    if (!is_by_rows(t, m) || !keeps_rows(t, n) || m->parent != n->parent ||
        !value_has_one_use(&t->f, m->out[0]))
        return 0;
    r = def_of(t, m->in[0], OP_reshape);
    if (r == NULL || keeps_rows(t, r))
        return 0;
    x = graph_type(t->g, r->out[0]);
    for (uint32_t i = 0; i + 1 < y->rank; i++)
        dims[i] = y->dims[i];
    dims[y->rank - 1] = x->dims[x->rank - 1];
    return matmul_of(t, m, op_reshape(t->g, r->in[0], dims, y->rank));
}

static val tidy_unary(tidier *t, const node *n)
{
    const node *r = def_of(t, n->in[0], OP_reshape);
    val in;

    if (r == NULL || !sizes_known(graph_type(t->g, n->out[0])) ||
        !sizes_known(graph_type(t->g, r->in[0])) ||
        !value_has_one_use(&t->f, r->out[0]))
        return 0;
    in = r->in[0];
    return as_type(t, node_add(t->g, node_again(t->g, n, &in, 1)),
                   graph_type(t->g, n->out[0]));
}

/* ---- expand -------------------------------------------------------------- */

static bool same_dims(const tidier *t, const type *a, const type *b)
{
    bool same = a->rank == b->rank;

    for (uint32_t i = 0; same && i < a->rank; i++)
        same = dim_eq(t->g->m, a->dims[i], b->dims[i]);
    return same;
}

/* Another operand has the result's shape, so this one need not. */
static val tidy_pointwise(tidier *t, const node *n)
{
    const type *y = graph_type(t->g, n->out[0]);

    for (uint32_t i = 0; i < n->n_in; i++) {
        const node *e = def_of(t, n->in[i], OP_expand);
        val in[3] = {0};
        bool full = false;

        for (uint32_t k = 0; k < n->n_in; k++) {
            in[k] = k == i && e != NULL ? e->in[0] : n->in[k];
            full = full ||
                   (k != i && same_dims(t, graph_type(t->g, n->in[k]), y));
        }
        if (e != NULL && full && sizes_known(y))
            return node_add(t->g, node_again(t->g, n, in, n->n_in));
    }
    return 0;
}

/* The mask of sdpa broadcasts. */
static val tidy_sdpa(tidier *t, const node *n)
{
    const node *e = n->n_in > 3 ? def_of(t, n->in[3], OP_expand) : NULL;
    val in[4] = {n->in[0], n->in[1], n->in[2], e != NULL ? e->in[0] : 0};

    return e != NULL ? node_add(t->g, node_again(t->g, n, in, 4)) : 0;
}

/* ---- div ----------------------------------------------------------------- */

/* Both a number and one over it are exact. */
static val tidy_div(tidier *t, const node *n)
{
    const literal *l = value_literal(t->g, n->in[1]);
    hull_dtype dt = graph_type(t->g, n->out[0])->dtype;
    double v;
    int exponent;
    val c;

    if (l == NULL || l->numel != 1 || (dt != HULL_F32 && dt != HULL_F64) ||
        l->dtype != dt || !str_is(attr_str(n, "round"), "none"))
        return tidy_pointwise(t, n);
    v = load_f64(dt, l->data, 0);
    if (fabs(frexp(v, &exponent)) != 0.5 || abs(exponent) > 100)
        return 0;
    v = 1 / v;
    if (l->rank == 0)
        c = op_scalar(t->g, dt, v);
    else {
        float f = (float)v;

        c = op_const(t->g, dt, l->shape, l->rank,
                     dt == HULL_F32 ? (const void *)&f : &v);
    }
    return op_binary(t->g, OP_mul, n->in[0], c);
}

static val rewrite(tidier *t, const node *n)
{
    uint32_t traits = op_get(n->op)->traits;

    switch (n->op) {
    case OP_transpose: return tidy_transpose(t, n);
    case OP_gather: return tidy_gather(t, n);
    case OP_concat: return tidy_concat(t, n);
    case OP_matmul: return tidy_matmul(t, n);
    case OP_reshape: return tidy_reshape(t, n);
    case OP_sdpa: return tidy_sdpa(t, n);
    case OP_div: return tidy_div(t, n);
    default: break;
    }
    if ((traits & OP_POINTWISE) == 0)
        return 0;
    return n->n_in == 1 ? tidy_unary(t, n) : tidy_pointwise(t, n);
}

static hull_status one_round(tidier *t, bool *changed)
{
    node *next;

    TRY(graph_facts_get(&t->f, t->g));
    for (node *n = graph_first(t->g); n != NULL; n = next) {
        val y;

        next = graph_next(t->g, n);
        if (n->n_out != 1 || !value_is_runtime(&t->f, n->out[0]) ||
            node_is_dynamic(t->g, n))
            continue;
        for (uint32_t i = 0; i < n->n_in; i++)
            n->in[i] = graph_resolve(t->g, n->in[i]);
        t->g->insert_before = n;
        t->g->insert_in = n->parent;
        y = rewrite(t, n);
        TRY(ir_status(t->g->m));
        if (y == 0)
            continue;
        graph_replace(t->g, n->out[0], y);
        *changed = true;
    }
    t->g->insert_before = NULL;
    t->g->insert_in = NULL;
    return pass_simplify(t->g);
}

hull_status pass_tidy(graph *g)
{
    tidier t = {.g = g};
    bool changed = true;

    for (int i = 0; changed && i < 8; i++) {
        changed = false;
        TRY(one_round(&t, &changed));
    }
    return HULL_OK;
}
