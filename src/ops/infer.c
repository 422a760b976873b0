/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * infer.c - what shape rules share: operand types, result types, broadcasting
 * of symbolic shapes, axes, and the way a node is named in messages.
 */
#include "ops/op.h"

#include <inttypes.h>
#include <stdio.h>

const char *node_what(const node *n, char out[128])
{
    const char *name = op_get(n->op)->name;

    if (n->label.n > 0)
        snprintf(out, 128, "op '%s' (%.*s)", name,
                 n->label.n > 90 ? 90 : (int)n->label.n, n->label.p);
    else
        snprintf(out, 128, "op '%s'", name);
    return out;
}

hull_status infer_tensor(const type **out, graph *g, const node *n, uint32_t i)
{
    char what[128];
    const type *t = NULL;

    *out = NULL;
    if (i >= n->n_in || n->in[i] == 0)
        return fail(HULL_ESHAPE, "%s: operand %" PRIu32 " is missing",
                    node_what(n, what), i);
    t = graph_type(g, n->in[i]);
    if (t && t->kind == TYPE_UNRANKED)
        return fail(HULL_EUNSUPPORTED, "%s: the rank of operand %" PRIu32
                    " is known to a run only", node_what(n, what), i);
    if (!t || t->kind != TYPE_TENSOR)
        return fail(HULL_ESHAPE, "%s: operand %" PRIu32 " is not a tensor",
                    node_what(n, what), i);
    *out = t;
    return HULL_OK;
}

hull_status infer_out(graph *g, node *n, uint32_t i, hull_dtype dt,
                      const dim *dims, uint32_t rank)
{
    char what[128];
    type t;

    if (i >= n->n_out)
        return fail(HULL_EINTERNAL, "%s has no result %" PRIu32,
                    node_what(n, what), i);
    if (rank > HULL_MAX_RANK)
        return fail(HULL_EUNSUPPORTED, "%s: rank %" PRIu32 " is above %d",
                    node_what(n, what), rank, HULL_MAX_RANK);
    t = type_tensor(g->m, dt, dims, rank);
    if (t.kind != TYPE_TENSOR)
        return ir_status(g->m);
    value_set_type(g, n->out[i], &t);
    return HULL_OK;
}

/* Broadcast of two dims; false when it can never fit. */
static bool broadcast_dim(ir *m, dim a, dim b, dim *out)
{
    int64_t va = 0, vb = 0;
    bool ka = dim_is_int(m, a, &va), kb = dim_is_int(m, b, &vb);

    if (ka && va == 1)
        *out = b;
    else if (kb && vb == 1)
        *out = a;
    else if (ka && kb && va != vb)
        return false;
    else if (ka)
        *out = a;
    else if (kb)
        *out = b;
    else if (dim_eq(m, a, b))
        *out = a;
    else
        *out = dim_bcast(m, a, b);
    return true;
}

static hull_status fail_broadcast(graph *g, const node *n, const type *a,
                                  const type *b)
{
    char what[128];
    buf ta, tb;
    hull_status st;

    buf_init(&ta, 4096);
    buf_init(&tb, 4096);
    type_print(&ta, g->m, a);
    type_print(&tb, g->m, b);
    st = fail(HULL_ESHAPE, "%s: shapes %s and %s do not broadcast",
              node_what(n, what), ta.p ? ta.p : "?", tb.p ? tb.p : "?");
    buf_fini(&ta);
    buf_fini(&tb);
    return st;
}

hull_status infer_broadcast(graph *g, const node *n, const type *a,
                            const type *b, dim *out, uint32_t *out_rank)
{
    uint32_t rank = a->rank > b->rank ? a->rank : b->rank;

    *out_rank = 0;
    for (uint32_t i = 0; i < rank; i++) {
        /* i counts from the last axis. */
        dim da = i < a->rank ? a->dims[a->rank - 1 - i] : 1;
        dim db = i < b->rank ? b->dims[b->rank - 1 - i] : 1;

        if (!broadcast_dim(g->m, da, db, &out[rank - 1 - i]))
            return fail_broadcast(g, n, a, b);
    }
    *out_rank = rank;
    return HULL_OK;
}

hull_status infer_axis(uint32_t *out, const node *n, int64_t axis,
                       uint32_t rank)
{
    char what[128];

    *out = 0;
    if (axis < -(int64_t)rank || axis >= (int64_t)rank)
        return fail(HULL_ESHAPE,
                    "%s: axis %" PRId64 " does not exist in rank %" PRIu32,
                    node_what(n, what), axis, rank);
    *out = (uint32_t)(axis < 0 ? axis + rank : axis);
    return HULL_OK;
}
