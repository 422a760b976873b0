/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * cse.c - common subexpressions. Two pure nodes of one region with the same
 * op, operands, attributes and result types compute the same values; the
 * earlier one stands for both. Operands of commutative ops are not sorted.
 */
#include "passes/pass.h"

#include <inttypes.h>

static void put_u64(buf *b, uint64_t v)
{
    buf_put(b, &v, sizeof v);
}

static void attr_bytes(buf *b, attr_kind kind, const attr *a)
{
    put_u64(b, a->set);
    switch (kind) {
    case ATTR_INT: put_u64(b, (uint64_t)a->u.i); break;
    case ATTR_FLOAT: buf_put(b, &a->u.f, sizeof a->u.f); break;
    case ATTR_BOOL: put_u64(b, a->u.b); break;
    case ATTR_DTYPE: put_u64(b, (uint64_t)a->u.dt); break;
    case ATTR_DIM: put_u64(b, (uint64_t)a->u.d); break;
    case ATTR_STR:
        put_u64(b, a->u.s.n);
        buf_str(b, a->u.s);
        break;
    case ATTR_INTS:
        put_u64(b, a->u.ints.n);
        buf_put(b, a->u.ints.p, a->u.ints.n * sizeof *a->u.ints.p);
        break;
    case ATTR_FLOATS:
        put_u64(b, a->u.floats.n);
        buf_put(b, a->u.floats.p, a->u.floats.n * sizeof *a->u.floats.p);
        break;
    case ATTR_DIMS:
        put_u64(b, a->u.dims.n);
        buf_put(b, a->u.dims.p, a->u.dims.n * sizeof *a->u.dims.p);
        break;
    case ATTR_STRS:
        put_u64(b, a->u.strs.n);
        for (uint32_t i = 0; i < a->u.strs.n; i++) {
            put_u64(b, a->u.strs.p[i].n);
            buf_str(b, a->u.strs.p[i]);
        }
        break;
    case ATTR_TENSOR:
        if (a->u.t == NULL)
            break;
        put_u64(b, (uint64_t)a->u.t->dtype);
        put_u64(b, a->u.t->rank);
        buf_put(b, a->u.t->shape, a->u.t->rank * sizeof *a->u.t->shape);
        buf_put(b, a->u.t->data, a->u.t->n_bytes);
        break;
    case ATTR_GRAPH: /* nodes with bodies are not pure */
        break;
    }
}

static bool has_unknown_dims(const graph *g, const node *n)
{
    const type *t = graph_type(g, n->out[0]);

    for (uint32_t i = 0; t->kind == TYPE_TENSOR && i < t->rank; i++)
        if (t->dims[i] == DIM_UNKNOWN)
            return true;
    return false;
}

static hull_status node_bytes(buf *b, const graph *g, const node *n)
{
    const op_info *info = op_get(n->op);

    buf_clear(b);
    put_u64(b, n->op);
    buf_put(b, &n->parent, sizeof n->parent);
    for (uint32_t i = 0; i < n->n_in; i++)
        put_u64(b, graph_resolve(g, n->in[i]));
    for (uint32_t i = 0; i < info->n_attrs; i++)
        attr_bytes(b, info->attrs[i].kind, &n->attrs[i]);
    for (uint32_t i = 0; i < n->n_out; i++)
        type_print(b, g->m, graph_type(g, n->out[i]));
    return buf_status(b);
}

hull_status pass_cse(graph *g)
{
    hull_status st = HULL_OK;
    strmap seen = {0};
    buf key;
    node *next;

    buf_init(&key, SIZE_MAX / 2);
    for (node *n = graph_first(g); n != NULL; n = next) {
        uint32_t first = 0;

        next = graph_next(g, n);
        if ((op_get(n->op)->traits & OP_PURE) == 0 || n->n_out == 0 ||
            has_unknown_dims(g, n))
            continue;
        TRY_OUT(node_bytes(&key, g, n));
        if (!strmap_get(&seen, buf_view(&key), &first)) {
            TRY_OUT(strmap_set(&seen, buf_view(&key), n->out[0]));
            continue;
        }
        for (uint32_t i = 0; i < n->n_out; i++)
            graph_replace(g, n->out[i], g->values[first]->def->out[i]);
    }
out:
    strmap_fini(&seen);
    buf_fini(&key);
    return st;
}
