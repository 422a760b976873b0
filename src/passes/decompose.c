/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * decompose.c - composite ops that no kernel wants whole. A batch norm that
 * stays alone becomes x * scale + shift; both vectors are prepare work.
 */
#include "passes/pass.h"

hull_status pass_decompose(graph *g)
{
    graph_facts f;
    node *next;

    TRY(graph_facts_get(&f, g));
    for (node *n = graph_first(g); n != NULL; n = next) {
        val s, scaled, shift;
        const char *why;
        uint32_t rank;

        next = graph_next(g, n);
        if (n->op != OP_batch_norm || !bn_is_foldable(&f, n, &why))
            continue;
        g->insert_before = n;
        g->insert_in = n->parent;
        rank = graph_type(g, n->in[0])->rank;
        s = bn_scale(g, n);
        shift = bn_at_axis(g, bn_shift(g, n, 0, s), 1, rank);
        scaled = op_binary(g, OP_mul, n->in[0], bn_at_axis(g, s, 1, rank));
        graph_replace(g, n->out[0],
                      op_binary(g, OP_add, scaled, shift));
        TRY(ir_status(g->m));
    }
    return HULL_OK;
}
