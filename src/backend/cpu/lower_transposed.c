/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * lower_transposed.c - a transposed convolution as a plain one. With stride s,
 * places u = q s + r of its image (before padding is cut off) with the same r
 * see the same taps, r, r + s, ..: a convolution of stride 1 with s as many
 * columns makes all r of a place q, and these are put side by side:
 *
 *   w [c, m, k]   -> taps padded to j s, in reverse order -> [s m, c, j]
 *   x [n, c, h]   -> conv, j - 1 zeros on either side     -> [n, s m, q]
 *                 -> [n, m, q s], of which the result is a piece
 *
 * All of the weights' part is prepared. Where stride and kernel are the same
 * and nothing is cut off, lower.c has a product instead.
 */
#include "backend/cpu/lower.h"
#include "ops/family.h"

typedef struct unfolding {
    graph *g;
    const node *n;
    uint32_t axes;      /* spatial */
    window w;
    int64_t out_pad[SPATIAL_MAX], taps[SPATIAL_MAX]; /* taps: j */
    int64_t groups, c, m; /* c, m: of a group */
    int64_t all;          /* product of strides */
} unfolding;

#define UNFOLD_AXES 3

static bool unfolding_open(unfolding *u, graph *g, const graph_facts *f,
                           const node *n)
{
    const type *w = graph_type(g, n->in[1]), *x = graph_type(g, n->in[0]);
    bool product = w->rank == 4 && attr_int(n, "groups") == 1;

    *u = (unfolding){.g = g, .n = n, .axes = w->rank - 2, .all = 1,
                     .groups = attr_int(n, "groups")};
    if (x->dtype != HULL_F32 || w->rank < 3 || u->axes > UNFOLD_AXES ||
        value_is_runtime(f, n->in[1]) || !value_is_runtime(f, n->in[0]) ||
        u->groups < 1 ||
        window_read(&u->w, n, u->axes) != HULL_OK ||
        window_ints(u->out_pad, n, "out_pad", u->axes, 0, 0) != HULL_OK)
        return false;
    for (uint32_t i = 0; i < w->rank; i++)
        if (w->dims[i] < 1 || w->dims[i] > INT32_MAX)
            return false;
    if (w->dims[0] % u->groups != 0 || x->dims[1] != w->dims[0])
        return false;
    u->c = w->dims[0] / u->groups;
    u->m = w->dims[1];
    for (uint32_t i = 0; i < u->axes; i++) {
        int64_t s = u->w.stride[i], k = w->dims[2 + i];

        if (u->w.dilation[i] != 1 || s > 64 || u->w.before[i] > INT32_MAX ||
            u->out_pad[i] > INT32_MAX)
            return false;
        product = product && s == k && u->w.before[i] == 0 &&
                  u->w.after[i] == 0 && u->out_pad[i] == 0;
        u->taps[i] = (k + s - 1) / s;
        u->all *= s;
    }
    return !product && u->all <= 4096;
}

/* [g c, m, k..] as [g s.. m, c, j..]. */
static val unfold_weight(const unfolding *u)
{
    const type *t = graph_type(u->g, u->n->in[1]);
    uint32_t axes = u->axes, rank = 3 + 2 * axes, k = 0;
    dim pads[2 * (2 + UNFOLD_AXES)] = {0}, apart[3 + 2 * UNFOLD_AXES];
    dim conv[2 + UNFOLD_AXES];
    int64_t perm[3 + 2 * UNFOLD_AXES];
    node *p = node_new(u->g, OP_pad);
    val w;

    for (uint32_t i = 0; i < axes; i++)
        pads[2 + axes + 2 + i] = u->taps[i] * u->w.stride[i] - t->dims[2 + i];
    node_input(u->g, p, u->n->in[1]);
    node_dims(u->g, p, "pads", pads, 2 * (2 + axes));
    apart[0] = u->groups;
    apart[1] = u->c;
    apart[2] = u->m;
    for (uint32_t i = 0; i < axes; i++) {
        apart[3 + 2 * i] = u->taps[i];
        apart[4 + 2 * i] = u->w.stride[i];
    }
    w = op_reshape(u->g, node_add(u->g, p), apart, rank);
    for (uint32_t i = 0; i < axes; i++)
        if (u->taps[i] > 1)
            w = op_slice(u->g, w, 3 + 2 * i, dim_int(u->g->m, -1),
                         dim_int(u->g->m, INT64_MIN), -1);
    perm[k++] = 0;
    for (uint32_t i = 0; i < axes; i++)
        perm[k++] = 4 + 2 * i;
    perm[k++] = 2;
    perm[k++] = 1;
    for (uint32_t i = 0; i < axes; i++)
        perm[k++] = 3 + 2 * i;
    conv[0] = u->groups * u->all * u->m;
    conv[1] = u->c;
    for (uint32_t i = 0; i < axes; i++)
        conv[2 + i] = u->taps[i];
    return op_reshape(u->g, op_transpose(u->g, w, perm, rank), conv, 2 + axes);
}

/* [g m] for every r: [g s.. m]. */
static val unfold_bias(const unfolding *u)
{
    dim apart[3] = {u->groups, 1, u->m}, each[3] = {u->groups, u->all, u->m};
    dim flat[1] = {u->groups * u->all * u->m};
    val b = u->n->n_in > 2 ? u->n->in[2] : 0;

    if (b == 0)
        return 0;
    b = op_expand(u->g, op_reshape(u->g, b, apart, 3), each, 3);
    return op_reshape(u->g, b, flat, 1);
}

/* y [n, g s.. m, q..] as [n, g m, q s ..], cut to the result. On the way
 * channels are last, so that whole lines of them move. */
static val put_side_by_side(const unfolding *u, val y)
{
    const type *t = graph_type(u->g, y), *to = graph_type(u->g, u->n->out[0]);
    uint32_t axes = u->axes, rank = 3 + 2 * axes, k = 0;
    dim apart[3 + 2 * UNFOLD_AXES], image[2 + UNFOLD_AXES];
    int64_t last[2 + UNFOLD_AXES], back[2 + UNFOLD_AXES];
    int64_t perm[3 + 2 * UNFOLD_AXES];

    apart[0] = image[0] = t->dims[0];
    apart[1 + axes] = u->groups;
    apart[rank - 1] = u->m;
    image[1 + axes] = u->groups * u->m;
    last[0] = back[0] = 0;
    last[1 + axes] = 1;
    back[1] = 1 + axes;
    perm[k++] = 0;
    for (uint32_t i = 0; i < axes; i++) {
        apart[1 + i] = t->dims[2 + i];
        apart[2 + axes + i] = u->w.stride[i];
        image[1 + i] = dim_mul(u->g->m, t->dims[2 + i], u->w.stride[i]);
        last[1 + i] = 2 + i;
        back[2 + i] = 1 + i;
        perm[k++] = 1 + i;
        perm[k++] = 2 + axes + i;
    }
    perm[k++] = 1 + axes;
    perm[k++] = rank - 1;
    y = op_transpose(u->g, y, last, 2 + axes);
    y = op_transpose(u->g, op_reshape(u->g, y, apart, rank), perm, rank);
    y = op_reshape(u->g, y, image, 2 + axes);
    for (uint32_t i = 0; i < axes; i++) {
        dim first = u->w.before[i];

        y = op_slice(u->g, y, 1 + i, first,
                     dim_add(u->g->m, first, to->dims[2 + i]), 1);
    }
    return op_transpose(u->g, y, back, 2 + axes);
}

static void unfold(const unfolding *u)
{
    int64_t pad[2 * UNFOLD_AXES], ones[UNFOLD_AXES];
    node *c = node_new(u->g, OP_conv);
    const type *w = graph_type(u->g, u->n->in[1]);

    for (uint32_t i = 0; i < u->axes; i++) {
        int64_t s = u->w.stride[i];
        /* of the result beyond what x and the taps reach */
        int64_t more = w->dims[2 + i] - u->taps[i] * s - u->w.after[i] +
                       u->out_pad[i];

        ones[i] = 1;
        pad[i] = u->taps[i] - 1;
        pad[u->axes + i] = pad[i] + (more > 0 ? (more + s - 1) / s : 0);
    }
    node_input(u->g, c, u->n->in[0]);
    node_input(u->g, c, unfold_weight(u));
    node_input(u->g, c, unfold_bias(u));
    node_ints(u->g, c, "stride", ones, u->axes);
    node_ints(u->g, c, "dilation", ones, u->axes);
    node_ints(u->g, c, "pad", pad, 2 * u->axes);
    node_int(u->g, c, "groups", u->groups);
    if (c != NULL)
        c->label = u->n->label;
    graph_replace(u->g, u->n->out[0],
                  put_side_by_side(u, node_add(u->g, c)));
}

hull_status lower_transposed(graph *g)
{
    graph_facts f;
    node *next;

    TRY(graph_facts_get(&f, g));
    for (node *n = graph_first(g); n != NULL; n = next) {
        unfolding u;

        next = graph_next(g, n);
        if (n->op != OP_conv_transpose)
            continue;
        graph_rewrite_at(g, n);
        if (unfolding_open(&u, g, &f, n))
            unfold(&u);
        TRY(ir_status(g->m));
    }
    graph_rewrite_end(g);
    return ir_status(g->m);
}
