/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * lower_attention.c - attention that reads and writes products in place. The
 * pass merge_products leaves queries, keys and values as one product y, a
 * transpose with the parts first, a slice of each; the result is transposed
 * back. Heads are strides for the kernel, so sdpa_joined takes y itself:
 *
 *   y [b,l,3,h,d] -> transpose [3,b,h,l,d] -> three slices -> sdpa
 *                 -> transpose [b,l,h,d]
 *
 * A factor of the queries, a weight of one element, goes with it.
 */
#include "backend/cpu/lower.h"
#include "ops/family.h"

typedef struct joining {
    graph *g;
    graph_facts f;
    val turned; /* [3,(b,)h,l,d] */
    val by;     /* 0: none */
    int64_t places[3]; /* of queries, keys, values in the product */
} joining;

static bool has_perm(const node *n, const uint32_t *perm, uint32_t rank)
{
    if (n == NULL || n->op != OP_transpose ||
        node_attr(n, "perm")->u.ints.n != rank)
        return false;
    for (uint32_t i = 0; i < rank; i++)
        if (perm_at(n, i) != perm[i])
            return false;
    return true;
}

static bool is_one_weight(const joining *j, val v)
{
    const type *t = graph_type(j->g, v);

    for (uint32_t i = 0; i < t->rank; i++)
        if (t->dims[i] != 1)
            return false;
    return t->dtype == HULL_F32 && !value_is_runtime(&j->f, v);
}

/* v is a slice of one part, perhaps reshaped, of queries perhaps scaled. */
static bool is_part(joining *j, val v, uint32_t operand)
{
    for (int step = 0; step < 4 && value_has_one_use(&j->f, v); step++) {
        const node *n = graph_def(j->g, v);
        axis_cut cut;

        if (n == NULL)
            return false;
        if (n->op == OP_mul && operand == 0 && j->by == 0) {
            int side = is_one_weight(j, n->in[1]) ? 1 : 0;

            if (!is_one_weight(j, n->in[side]))
                return false;
            j->by = n->in[side];
            v = n->in[1 - side];
        } else if (n->op == OP_reshape) {
            v = n->in[0];
        } else {
            if (!slice_cut(j->g, n, &cut) || cut.axis != 0 ||
                cut.start < 0 || cut.start > 2 ||
                graph_type(j->g, v)->dims[0] != 1 ||
                (j->turned != 0 && j->turned != n->in[0]))
                return false;
            j->turned = n->in[0];
            j->places[operand] = cut.start;
            return true;
        }
    }
    return false;
}

/* The product [(b,)l,3,h,d] that the operands of an sdpa are cut from; 0: they
 * are not. */
static val joined_of(joining *j, const node *sdpa)
{
    static const uint32_t with[] = {2, 0, 3, 1, 4}, without[] = {1, 2, 0, 3};
    const type *q = graph_type(j->g, sdpa->in[0]), *t;
    const node *turn;

    j->turned = j->by = 0;
    for (uint32_t i = 0; i < 3; i++)
        if (!is_part(j, sdpa->in[i], i))
            return 0;
    t = graph_type(j->g, j->turned);
    turn = graph_def(j->g, j->turned);
    if (j->places[0] == j->places[1] || j->places[0] == j->places[2] ||
        j->places[1] == j->places[2] ||
        q->dtype != HULL_F32 || j->f.uses[j->turned] != 3 ||
        t->dims[0] != 3 || (t->rank == 4 && q->dims[0] != 1) ||
        !(has_perm(turn, with, 5) || has_perm(turn, without, 4)))
        return 0;
    for (uint32_t i = 1; i < t->rank; i++)
        if (!dim_eq(j->g->m, t->dims[i], q->dims[4 - t->rank + i]))
            return 0;
    return turn->in[0];
}

/* n turns the result of an sdpa of rank 4 back to [b,l,h,d], or a batch of one
 * to the same order of bytes. */
static const node *turned_sdpa(const joining *j, const node *n)
{
    static const uint32_t back[] = {0, 2, 1, 3}, one[] = {2, 0, 1, 3};
    const node *sdpa = n->op == OP_transpose ? graph_def(j->g, n->in[0]) : NULL;

    if (sdpa == NULL || sdpa->op != OP_sdpa ||
        !value_has_one_use(&j->f, n->in[0]))
        return NULL;
    return has_perm(n, back, 4) ||
                   (has_perm(n, one, 4) &&
                    graph_type(j->g, n->in[0])->dims[0] == 1)
               ? sdpa : NULL;
}

static void join(joining *j, const node *sdpa, const node *back, val x)
{
    const type *q = graph_type(j->g, sdpa->in[0]);
    const type *y = graph_type(j->g, back->out[0]);
    dim dims[5] = {q->dims[0], q->dims[2], 3, q->dims[1], q->dims[3]};
    node *n = node_new(j->g, OP_sdpa_joined);
    bool masked = sdpa->n_in > 3 && sdpa->in[3] != 0;

    node_input(j->g, n, op_reshape(j->g, x, dims, 5));
    if (j->by != 0 || masked)
        node_input(j->g, n, j->by);
    if (masked)
        node_input(j->g, n, sdpa->in[3]);
    node_ints(j->g, n, "parts", j->places, 3);
    node_float(j->g, n, "scale", attr_float(sdpa, "scale"));
    node_bool(j->g, n, "causal", attr_bool(sdpa, "causal"));
    node_float(j->g, n, "fill", attr_float(sdpa, "fill"));
    node_str(j->g, n, "rows", attr_str(sdpa, "rows"));
    if (n != NULL)
        n->label = sdpa->label;
    graph_replace(j->g, back->out[0],
                  op_reshape(j->g, node_add(j->g, n), y->dims, y->rank));
}

hull_status lower_attention(graph *g)
{
    joining j = {.g = g};
    node *next;

    TRY(graph_facts_get(&j.f, g));
    for (node *n = graph_first(g); n != NULL; n = next) {
        const node *sdpa;
        val x;

        next = graph_next(g, n);
        graph_rewrite_at(g, n);
        sdpa = turned_sdpa(&j, n);
        x = sdpa != NULL ? joined_of(&j, sdpa) : 0;
        if (x != 0)
            join(&j, sdpa, n, x);
        TRY(ir_status(g->m));
    }
    graph_rewrite_end(g);
    return ir_status(g->m);
}
