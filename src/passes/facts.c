/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * facts.c - questions that several passes ask about values and nodes.
 */
#include "passes/pass.h"

bool node_has_symbols(const graph *g, const node *n)
{
    const op_info *info = op_get(n->op);
    int64_t plain;

    for (uint32_t i = 0; i < info->n_attrs; i++) {
        const attr *a = &n->attrs[i];

        if (info->attrs[i].kind == ATTR_DIM && a->set &&
            !dim_is_int(g->m, a->u.d, &plain))
            return true;
        for (uint32_t k = 0;
             info->attrs[i].kind == ATTR_DIMS && a->set && k < a->u.dims.n;
             k++)
            if (!dim_is_int(g->m, a->u.dims.p[k], &plain))
                return true;
    }
    return false;
}

static bool node_is_runtime(const graph *g, const node *n, const bool *runtime)
{
    uint32_t traits = op_get(n->op)->traits;

    if (n->parent != g->body || (traits & OP_CONTROL) != 0 ||
        (traits & OP_PURE) == 0 || node_has_symbols(g, n) ||
        node_is_dynamic(g, n))
        return true;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i] != 0 && runtime[graph_resolve(g, n->in[i])])
            return true;
    for (uint32_t i = 0; i < n->n_out; i++)
        if (!type_is_static(g->m, graph_type(g, n->out[i])))
            return true;
    return false;
}

static bool *runtime_array(graph *g)
{
    bool *runtime = arena_array(&g->m->a, g->n_values, sizeof *runtime);

    if (runtime == NULL)
        return NULL;
    for (uint32_t v = 1; v < g->n_values; v++)
        runtime[v] = g->values[v]->def == NULL && g->values[v]->alias == 0;
    for (node *n = graph_first(g); n != NULL; n = graph_next(g, n)) {
        bool is = node_is_runtime(g, n, runtime);

        for (uint32_t i = 0; i < n->n_out; i++)
            runtime[n->out[i]] = is;
    }
    return runtime;
}

hull_status graph_facts_get(graph_facts *out, graph *g)
{
    *out = (graph_facts){.g = g, .n = g->n_values};
    out->runtime = runtime_array(g);
    out->uses = graph_uses(g);
    if (out->runtime == NULL || out->uses == NULL)
        return ir_fail(g->m, fail_oom(g->n_values));
    return HULL_OK;
}

bool value_is_runtime(const graph_facts *f, val v)
{
    v = graph_resolve(f->g, v);
    return v >= f->n || f->runtime[v];
}

bool value_has_one_use(const graph_facts *f, val v)
{
    return v < f->n && f->uses[v] == 1;
}

static uint64_t type_bytes(const type *t)
{
    uint64_t numel = 1, size = 0;

    if (t->kind != TYPE_TENSOR)
        return 0;
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->dims[i] < 0 || !mul_u64(&numel, numel, (uint64_t)t->dims[i]))
            return 0;
    return dtype_bytes(&size, t->dtype, numel) ? size : 0;
}

bool node_grows(const graph *g, const node *n)
{
    uint64_t read = 0, made = 0;

    if ((op_get(n->op)->traits & OP_GROWS) == 0 && n->op != OP_cast)
        return false;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i] != 0)
            read += type_bytes(graph_type(g, n->in[i]));
    for (uint32_t i = 0; i < n->n_out; i++)
        made += type_bytes(graph_type(g, n->out[i]));
    return made > read;
}

const literal *value_literal(const graph *g, val v)
{
    const node *def = v != 0 ? graph_def(g, v) : NULL;

    return def != NULL && def->op == OP_const ? node_attr(def, "value")->u.t
                                              : NULL;
}

node *node_again(graph *g, const node *n, const val *in, uint32_t n_in)
{
    node *c = node_new(g, n->op);
    const op_info *info = op_get(n->op);

    if (c == NULL)
        return NULL;
    c->label = n->label;
    for (uint32_t i = 0; i < n_in; i++)
        node_input(g, c, in[i]);
    for (uint32_t i = 0; i < info->n_attrs; i++)
        c->attrs[i] = n->attrs[i];
    return c;
}

uint32_t node_axis(const graph *g, const node *n)
{
    int64_t axis = attr_int(n, "axis");

    return (uint32_t)(axis < 0 ? axis + graph_type(g, n->in[0])->rank : axis);
}

bool has_plain_sizes(const type *t)
{
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->dims[i] < 1 || t->dims[i] > INT32_MAX)
            return false;
    return true;
}

uint32_t perm_at(const node *transpose, uint32_t i)
{
    const attr *perm = node_attr(transpose, "perm");
    int64_t at = perm->u.ints.p[i];

    return (uint32_t)(at < 0 ? at + perm->u.ints.n : at);
}
