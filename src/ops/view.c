/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * view.c - reshape, transpose, expand. A reshape may leave one size open (-1);
 * its shape rule writes the size it finds back into the attribute, so that
 * equal reshapes have equal text.
 */
#include "ops/data.h"

#include <inttypes.h>

static bool is_open(const ir *m, dim d)
{
    int64_t v;

    return d == DIM_UNKNOWN || (dim_is_int(m, d, &v) && v == -1);
}

/* Divides the operand's size by the known sizes of `shape`. Sizes that occur
 * on both sides cancel, so symbols need no division. */
static hull_status open_size(dim *out, graph *g, const node *n, const type *x,
                             const dim *shape, uint32_t rank, uint32_t open)
{
    char what[128];
    bool used[HULL_MAX_RANK] = { false };
    dim left = 1, by = 1;
    int64_t a, b;

    for (uint32_t i = 0; i < rank; i++) {
        uint32_t j = 0;

        if (i == open)
            continue;
        while (j < x->rank && (used[j] || x->dims[j] == DIM_UNKNOWN ||
                               x->dims[j] == 0 ||
                               !dim_eq(g->m, x->dims[j], shape[i])))
            j++;
        if (j < x->rank)
            used[j] = true;
        else
            by = dim_mul(g->m, by, shape[i]);
    }
    for (uint32_t j = 0; j < x->rank; j++) {
        if (!used[j])
            left = dim_mul(g->m, left, x->dims[j]);
    }
    if (by == 0)
        return fail(HULL_ESHAPE, "%s: size -1 beside a size 0 has no answer",
                    node_what(n, what));
    if (left != DIM_UNKNOWN && dim_is_int(g->m, left, &a) &&
        dim_is_int(g->m, by, &b) && a % b != 0)
        return fail(HULL_ESHAPE,
                    "%s: %" PRId64 " elements do not divide by %" PRId64,
                    node_what(n, what), a, b);
    *out = dim_div(g->m, left, by);
    return HULL_OK;
}

static hull_status reshape_infer(graph *g, node *n, const type *x)
{
    const attr *a = node_attr(n, "shape");
    char what[128];
    dim shape[HULL_MAX_RANK], total;
    uint32_t rank = a->u.dims.n, open = UINT32_MAX;
    int64_t v, from, to;

    if (rank > HULL_MAX_RANK)
        return fail(HULL_ESHAPE, "%s: rank %u, at most %u",
                    node_what(n, what), rank, (unsigned)HULL_MAX_RANK);
    for (uint32_t i = 0; i < rank; i++) {
        shape[i] = a->u.dims.p[i];
        if (is_open(g->m, shape[i])) {
            if (open != UINT32_MAX)
                return fail(HULL_ESHAPE, "%s: sizes %u and %u are both -1",
                            node_what(n, what), open, i);
            open = i;
        } else if (dim_is_int(g->m, shape[i], &v) && v < 0) {
            return fail(HULL_ESHAPE, "%s: size %u is %" PRId64,
                        node_what(n, what), i, v);
        }
    }
    if (open != UINT32_MAX) {
        TRY(open_size(&shape[open], g, n, x, shape, rank, open));
        node_dims(g, n, "shape", shape, rank);
    }
    total = dim_product(g->m, shape, rank);
    if (total != DIM_UNKNOWN && dim_is_int(g->m, total, &to)) {
        total = type_numel(g->m, x);
        if (total != DIM_UNKNOWN && dim_is_int(g->m, total, &from) &&
            from != to)
            return fail(HULL_ESHAPE,
                        "%s: %" PRId64 " elements reshaped to %" PRId64,
                        node_what(n, what), from, to);
    }
    return infer_out(g, n, 0, x->dtype, shape, rank);
}

static hull_status transpose_infer(graph *g, node *n, const type *x)
{
    const attr *perm = node_attr(n, "perm");
    char what[128];
    dim dims[HULL_MAX_RANK];
    bool seen[HULL_MAX_RANK] = { false };

    if (perm->u.ints.n != x->rank)
        return fail(HULL_ESHAPE, "%s: perm has %u axes, operand has rank %u",
                    node_what(n, what), perm->u.ints.n, x->rank);
    for (uint32_t i = 0; i < x->rank; i++) {
        int64_t p = perm->u.ints.p[i];

        if (p < 0 || p >= x->rank || seen[p])
            return fail(HULL_ESHAPE,
                        "%s: perm entry %u is %" PRId64
                        ", want every axis below %u once",
                        node_what(n, what), i, p, x->rank);
        seen[p] = true;
        dims[i] = x->dims[p];
    }
    return infer_out(g, n, 0, x->dtype, dims, x->rank);
}

static hull_status expand_infer(graph *g, node *n, const type *x)
{
    const attr *a = node_attr(n, "shape");
    char what[128];
    dim shape[HULL_MAX_RANK];
    uint32_t rank = a->u.dims.n, skip;
    bool resolved = false;

    if (rank > HULL_MAX_RANK || rank < x->rank)
        return fail(HULL_ESHAPE, "%s: rank %u expanded to rank %u, at most %u",
                    node_what(n, what), x->rank, rank,
                    (unsigned)HULL_MAX_RANK);
    skip = rank - x->rank;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t v;

        shape[i] = a->u.dims.p[i];
        if (is_open(g->m, shape[i]) && i >= skip) {
            shape[i] = x->dims[i - skip];
            resolved = true;
        } else if (shape[i] == DIM_UNKNOWN ||
                   (dim_is_int(g->m, shape[i], &v) && v < 0)) {
            return fail(HULL_ESHAPE, "%s: size %u is negative or unknown",
                        node_what(n, what), i);
        } else if (i >= skip && x->dims[i - skip] != 1) {
            dim same;

            TRY(data_agree(&same, g, n, "an expanded dim", x->dims[i - skip],
                           shape[i]));
        }
    }
    if (resolved)
        node_dims(g, n, "shape", shape, rank);
    return infer_out(g, n, 0, x->dtype, shape, rank);
}

hull_status view_infer(graph *g, node *n)
{
    const type *x;

    TRY(infer_tensor(&x, g, n, 0));
    if (n->op == OP_reshape)
        return reshape_infer(g, n, x);
    return n->op == OP_transpose ? transpose_infer(g, n, x)
                                 : expand_infer(g, n, x);
}

static hull_status transpose_eval(const node *n, const tensor *in, tensor *out)
{
    const int64_t *perm = node_attr(n, "perm")->u.ints.p;
    int64_t shape[HULL_MAX_RANK];
    side from = data_side(in), src = from, dst = data_side(out);

    for (uint32_t i = 0; i < in->rank; i++) {
        shape[i] = in->shape[perm[i]];
        src.strides[i] = from.strides[perm[i]];
    }
    TRY(data_want_shape(n, out, shape, in->rank));
    data_strided(in->dtype, shape, in->rank, &dst, &src);
    return HULL_OK;
}

static hull_status expand_eval(const node *n, const tensor *in, tensor *out)
{
    char what[128];
    side src = { .p = in->data }, dst = data_side(out);
    uint32_t skip = out->rank - in->rank;

    for (uint32_t i = 0; i < in->rank; i++) {
        if (in->shape[i] != 1 && in->shape[i] != out->shape[skip + i])
            return fail(HULL_ESHAPE,
                        "%s: size %" PRId64 " does not expand to %" PRId64,
                        node_what(n, what), in->shape[i],
                        out->shape[skip + i]);
    }
    tensor_broadcast_strides(in, out->shape, out->rank, src.strides);
    data_strided(in->dtype, out->shape, out->rank, &dst, &src);
    return HULL_OK;
}

hull_status view_eval(eval_ctx *cx, const node *n, const tensor *in,
                      tensor *out)
{
    (void)cx;
    if (n->op == OP_transpose)
        return transpose_eval(n, in, out);
    if (n->op == OP_expand)
        return expand_eval(n, in, out);
    return data_copy_all(n, out, in);
}
