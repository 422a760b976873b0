/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * binders.c - which node gives a symbol its value. The node `bind` defines
 * symbols as others define values, so a node whose attributes mention such a
 * symbol reads the bind node's result, though it is no operand. Everything
 * that orders, keeps or moves nodes asks here.
 */
#include "ir/ir.h"

hull_status binders_get(binders *out, const graph *g)
{
    *out = (binders){0};
    for (node *n = graph_first(g); n != NULL; n = graph_next(g, n)) {
        const attr *a;

        if (n->op != OP_bind)
            continue;
        if (out->of == NULL) {
            out->n = dim_n_nodes(g->m);
            out->of = mem_calloc((size_t)out->n + 1, sizeof(*out->of));
            if (out->of == NULL)
                return fail_oom(out->n * sizeof(*out->of));
        }
        a = node_attr(n, "symbols");
        for (uint32_t i = 0; i < a->u.dims.n; i++)
            if (dim_is_symbol(g->m, a->u.dims.p[i]))
                out->of[-2 - a->u.dims.p[i]] = n;
    }
    return HULL_OK;
}

void binders_fini(binders *b)
{
    mem_free(b->of);
    *b = (binders){0};
}

static void each_of_dim(const binders *b, const ir *m, dim d, binder_fn *fn,
                        void *user)
{
    const dim_node *n = dim_get(m, d);

    if (n == NULL || n->op == DIM_INT)
        return;
    if (n->op != DIM_SYM) {
        each_of_dim(b, m, n->a, fn, user);
        each_of_dim(b, m, n->b, fn, user);
        return;
    }
    if ((uint64_t)(-2 - d) < b->n && b->of[-2 - d] != NULL)
        fn(user, b->of[-2 - d]->out[0]);
}

void binders_each(const binders *b, const graph *g, const node *n,
                  binder_fn *fn, void *user)
{
    const op_info *info = op_get(n->op);

    if (b->of == NULL || n->op == OP_bind)
        return;
    for (uint32_t i = 0; i < info->n_attrs; i++) {
        const attr *a = &n->attrs[i];

        if (!a->set)
            continue;
        if (info->attrs[i].kind == ATTR_DIM)
            each_of_dim(b, g->m, a->u.d, fn, user);
        for (uint32_t k = 0;
             info->attrs[i].kind == ATTR_DIMS && k < a->u.dims.n; k++)
            each_of_dim(b, g->m, a->u.dims.p[k], fn, user);
    }
}

/* ---- what only a run can size -------------------------------------------- */

static bool has_unknown_size(const type *t)
{
    if (t->kind != TYPE_TENSOR)
        return true;
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->dims[i] == DIM_UNKNOWN)
            return true;
    return false;
}

static bool type_needs_run(const type *t)
{
    return has_unknown_size(t) || t->dtype == HULL_STRING;
}

static bool any_needs_run(const graph *g, const val *p, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (p[i] != 0 && type_needs_run(graph_type(g, p[i])))
            return true;
    return false;
}

bool node_is_dynamic(const graph *g, const node *n)
{
    const op_info *info = op_get(n->op);

    if (n->op == OP_bind || (info->traits & OP_DYNAMIC) != 0 ||
        any_needs_run(g, n->in, n->n_in) || any_needs_run(g, n->out, n->n_out))
        return true;
    for (uint32_t i = 0; i < info->n_attrs; i++) {
        const region *r = info->attrs[i].kind == ATTR_GRAPH
                              ? n->attrs[i].u.g : NULL;

        if (r == NULL)
            continue;
        if (any_needs_run(g, r->params, r->n_params))
            return true;
        for (const node *x = r->first; x != NULL; x = x->next)
            if (node_is_dynamic(g, x))
                return true;
    }
    return false;
}

bool graph_is_dynamic(const graph *g)
{
    if (any_needs_run(g, g->body->params, g->body->n_params))
        return true;
    for (const node *n = g->body->first; n != NULL; n = n->next)
        if (node_is_dynamic(g, n))
            return true;
    return false;
}

/* Kernels rely on the sizes that their shape rules know; a few look for
 * themselves. */
static bool looks_for_sizes(const node *n)
{
    return n->op == OP_reshape || n->op == OP_shape ||
           (op_get(n->op)->traits & (OP_DYNAMIC | OP_CONTROL)) != 0;
}

hull_status node_check_sizes(const graph *g, const node *n)
{
    bool unknown = false;

    for (uint32_t i = 0; i < n->n_in && !looks_for_sizes(n); i++)
        unknown = unknown ||
                  (n->in[i] != 0 && has_unknown_size(graph_type(g, n->in[i])));
    for (uint32_t i = 0;
         i < n->n_out && (op_get(n->op)->traits & (OP_DYNAMIC | OP_CONTROL)) ==
                             0; i++)
        unknown = unknown || has_unknown_size(graph_type(g, n->out[i]));
    if (!unknown)
        return HULL_OK;
    return fail(HULL_EUNSUPPORTED, "op '%s' (%.*s): the sizes of an operand or "
                "result depend on data", op_get(n->op)->name,
                STR_ARG(n->label));
}
