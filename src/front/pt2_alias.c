/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pt2_alias.c - writes in place. Cells that view one storage form a group,
 * whose root is the whole. The way from the root to a view is a chain of
 * reshapes, transposes, slices and expands; a view that is read after a write
 * is made again from the new root, and a write into a view becomes a new root:
 * the chain backwards, each step put into what it was taken from. Where the
 * chain cannot tell (a reshape that may have copied), old views stay unread.
 */
#include "front/pt2.h"

#include <inttypes.h>
#include <string.h>

#define CHAIN_MAX 64

typedef struct chain {
    const node *steps[CHAIN_MAX]; /* from the root on */
    uint32_t n;
} chain;

/* False when `to` was not made from `from` by views alone. */
static bool find_chain(pt2 *p, val from, val to, chain *out)
{
    uint32_t n = 0;

    from = graph_resolve(p->g, from);
    for (val at = graph_resolve(p->g, to); at != from; n++) {
        const node *d = graph_def(p->g, at);

        if (!d || n == CHAIN_MAX ||
            (d->op != OP_reshape && d->op != OP_transpose &&
             d->op != OP_slice && d->op != OP_expand))
            return false;
        out->steps[n] = d;
        at = graph_resolve(p->g, d->in[0]);
    }
    out->n = n;
    for (uint32_t i = 0; i < n / 2; i++) {
        const node *t = out->steps[i];

        out->steps[i] = out->steps[n - 1 - i];
        out->steps[n - 1 - i] = t;
    }
    return true;
}

/* The step on another operand of the same type. */
static val replay(pt2 *p, const node *step, val x)
{
    node *n = node_new(p->g, step->op);

    if (ir_status(p->m) != HULL_OK)
        return 0;
    node_input(p->g, n, x);
    memcpy(n->attrs, step->attrs, op_get(step->op)->n_attrs * sizeof(attr));
    return node_add(p->g, n);
}

/* ---- backwards ----------------------------------------------------------- */

static val put_slice(pt2 *p, const node *step, val x, val w)
{
    const attr *axes = node_attr(step, "axes");
    const attr *starts = node_attr(step, "starts");
    const attr *steps = node_attr(step, "steps");
    int64_t axis = axes->u.ints.p[0], by = 1;

    if (axes->u.ints.n != 1)
        return 0;
    if (axis < 0)
        axis += graph_type(p->g, x)->rank;
    if (attr_is_set(step, "steps") && steps->u.ints.n == 1)
        by = steps->u.ints.p[0];
    return lower_put_slice(p->f, x, w, (uint32_t)axis, starts->u.dims.p[0],
                           by);
}

/* x, of which `step` gave a part, with w in the part's place; 0: no way. */
static val put_back(pt2 *p, const node *step, val x, val w)
{
    const type *t = graph_type(p->g, x), *of_w = graph_type(p->g, w);
    int64_t back[HULL_MAX_RANK];
    const attr *perm;

    switch (step->op) {
    case OP_reshape:
        return op_reshape(p->g, w, t->dims, t->rank);
    case OP_transpose:
        perm = node_attr(step, "perm");
        for (uint32_t i = 0; i < perm->u.ints.n; i++)
            back[perm->u.ints.p[i]] = i;
        return op_transpose(p->g, w, back, perm->u.ints.n);
    case OP_slice:
        return put_slice(p, step, x, w);
    default: /* an expand: many places of the view are one of the storage */
        return type_eq(p->m, t, of_w) ? w : 0;
    }
}

/* ---- cells --------------------------------------------------------------- */

void pt2_join(pt2 *p, uint32_t cell, uint32_t source, bool unsure)
{
    pt2_cell *c = &p->cells[cell];
    const pt2_cell *s = &p->cells[source];

    c->group = s->group;
    c->version = s->version;
    c->unsure = s->unsure || unsure;
    c->from = p->cells[p->groups[c->group].root].value.v;
    c->to = c->value.v;
}

hull_status pt2_refresh(pt2 *p, uint32_t cell, str name)
{
    pt2_cell *c = &p->cells[cell];
    const pt2_group *g = &p->groups[c->group];
    chain way;

    if (c->version == g->version)
        return HULL_OK;
    if (g->lost || c->unsure || g->root == cell ||
        !find_chain(p, c->from, c->to, &way))
        return fail(HULL_EUNSUPPORTED,
                    "value '%.*s' is a view of a tensor that is changed in "
                    "place before the view is read; call "
                    "run_decompositions() before saving",
                    STR_ARG(name));
    val v = p->cells[g->root].value.v;
    for (uint32_t i = 0; i < way.n; i++)
        v = replay(p, way.steps[i], v);
    TRY(ir_status(p->m));
    c->value.v = v;
    c->version = g->version;
    return HULL_OK;
}

/* The root's new value when v is written through the chain; 0: no way. */
static val new_root(pt2 *p, const chain *way, val root, val v)
{
    val at[CHAIN_MAX + 1];

    at[0] = root;
    for (uint32_t i = 0; i < way->n; i++)
        at[i + 1] = replay(p, way->steps[i], at[i]);
    for (uint32_t i = way->n; i > 0 && v != 0; i--) {
        if (ir_status(p->m) != HULL_OK)
            return 0;
        v = put_back(p, way->steps[i - 1], at[i - 1], v);
    }
    return v;
}

hull_status pt2_write(pt2 *p, uint32_t cell, val v)
{
    pt2_cell *c = &p->cells[cell];
    pt2_group *g = &p->groups[c->group];
    pt2_cell *root = &p->cells[g->root];
    chain way;
    val whole = 0;

    g->version++;
    if (c == root) {
        c->value.v = v;
        c->version = g->version;
        return HULL_OK;
    }
    if (!g->lost && !c->unsure && find_chain(p, c->from, c->to, &way))
        whole = new_root(p, &way, root->value.v, v);
    TRY(ir_status(p->m));
    if (whole == 0) { /* nothing but this view may be read from here on */
        g->lost = true;
        c->value.v = v;
        c->version = g->version;
        return HULL_OK;
    }
    root->value.v = whole;
    root->version = g->version;
    return pt2_refresh(p, cell, str_of("")); /* as a part of the new root */
}
