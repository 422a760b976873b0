/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * gather.c - gather (numpy take), gather_elements (take_along_axis),
 * gather_nd. Every index is checked in every run.
 */
#include "ops/data.h"

#include <inttypes.h>

static hull_status want_rank(const node *n, uint32_t rank)
{
    char what[128];

    if (rank > HULL_MAX_RANK)
        return fail(HULL_ESHAPE, "%s: result of rank %u, at most %u",
                    node_what(n, what), rank, (unsigned)HULL_MAX_RANK);
    return HULL_OK;
}

static hull_status take_infer(graph *g, node *n, const type *x,
                              const type *idx)
{
    dim dims[HULL_MAX_RANK];
    uint32_t axis, rank = 0;

    TRY(infer_axis(&axis, n, attr_int(n, "axis"), x->rank));
    TRY(want_rank(n, x->rank - 1 + idx->rank));
    for (uint32_t i = 0; i < axis; i++)
        dims[rank++] = x->dims[i];
    for (uint32_t i = 0; i < idx->rank; i++)
        dims[rank++] = idx->dims[i];
    for (uint32_t i = axis + 1; i < x->rank; i++)
        dims[rank++] = x->dims[i];
    return infer_out(g, n, 0, x->dtype, dims, rank);
}

static hull_status elements_infer(graph *g, node *n, const type *x,
                                  const type *idx)
{
    char what[128];
    uint32_t axis;

    TRY(infer_axis(&axis, n, attr_int(n, "axis"), x->rank));
    if (idx->rank != x->rank)
        return fail(HULL_ESHAPE, "%s: indices of rank %u, operand of rank %u",
                    node_what(n, what), idx->rank, x->rank);
    TRY(data_elements_infer(g, n, x, idx, axis));
    return infer_out(g, n, 0, x->dtype, idx->dims, x->rank);
}

static hull_status nd_infer(graph *g, node *n, const type *x, const type *idx)
{
    char what[128];
    dim dims[HULL_MAX_RANK];
    int64_t batch = attr_int(n, "batch"), depth = 0;
    uint32_t rank = 0;

    if (batch < 0 || batch >= idx->rank || batch > x->rank ||
        !dim_is_int(g->m, idx->dims[idx->rank - 1], &depth) || depth < 0 ||
        depth > x->rank - batch)
        return fail(HULL_ESHAPE,
                    "%s: %" PRId64 " batch dims and indices of rank %u with a "
                    "last dim of %" PRId64 " do not fit an operand of rank %u",
                    node_what(n, what), batch, idx->rank, depth, x->rank);
    TRY(want_rank(n, idx->rank - 1 + x->rank - (uint32_t)(batch + depth)));
    for (uint32_t i = 0; i + 1 < idx->rank; i++) {
        dims[rank] = idx->dims[i];
        if (i < batch)
            TRY(data_agree(&dims[rank], g, n, "a batch dim", dims[rank],
                           x->dims[i]));
        rank++;
    }
    for (uint32_t i = (uint32_t)(batch + depth); i < x->rank; i++)
        dims[rank++] = x->dims[i];
    return infer_out(g, n, 0, x->dtype, dims, rank);
}

hull_status gather_infer(graph *g, node *n)
{
    const type *x, *idx;

    TRY(infer_tensor(&x, g, n, 0));
    TRY(data_index_type(&idx, g, n, 1));
    if (n->op == OP_gather)
        return take_infer(g, n, x, idx);
    return n->op == OP_gather_elements ? elements_infer(g, n, x, idx)
                                       : nd_infer(g, n, x, idx);
}

static hull_status take_eval(const node *n, const tensor *x, const tensor *idx,
                             tensor *out)
{
    int64_t outer, inner, count = tensor_numel(idx), size, at = 0;
    uint32_t axis;

    TRY(infer_axis(&axis, n, attr_int(n, "axis"), x->rank));
    size = x->shape[axis];
    outer = data_product(x->shape, 0, axis);
    inner = data_product(x->shape, axis + 1, x->rank);
    if (inner == 0 || count == 0)
        outer = 0; /* nothing to move, however large it claims to be */
    TRY(data_want_numel(n, out, outer * count * inner));
    /* All indices are checked, also when there is nothing to move. */
    for (int64_t i = 0; i < count; i++) {
        int64_t k;

        TRY(data_index(&k, n, idx, i, size));
        for (int64_t o = 0; o < outer; o++) {
            at = (o * count + i) * inner;
            data_copy_run(x->dtype, out->data, at, x->data,
                          (o * size + k) * inner, inner);
        }
    }
    return HULL_OK;
}

static hull_status elements_eval(const node *n, const tensor *x,
                                 const tensor *idx, tensor *out)
{
    side src = data_side(x);
    int64_t index[HULL_MAX_RANK] = { 0 }, at = 0;
    uint32_t axis;

    TRY(infer_axis(&axis, n, attr_int(n, "axis"), x->rank));
    TRY(data_want_shape(n, out, idx->shape, x->rank));
    if (tensor_numel(idx) == 0)
        return HULL_OK;
    TRY(data_elements_check(n, x, idx, axis));
    do {
        int64_t k;

        TRY(data_index(&k, n, idx, at, x->shape[axis]));
        data_copy(x->dtype, out->data, at++, x->data,
                  data_element(&src, index, x->rank, axis, k));
    } while (index_next(index, idx->shape, idx->rank));
    return HULL_OK;
}

static hull_status nd_eval(const node *n, const tensor *x, const tensor *idx,
                           tensor *out)
{
    side src = data_side(x);
    uint32_t batch = (uint32_t)attr_int(n, "batch");
    int64_t depth = idx->shape[idx->rank - 1];
    int64_t outer = data_product(idx->shape, 0, batch);
    int64_t per = data_product(idx->shape, batch, idx->rank - 1);
    int64_t run = data_product(x->shape, batch + (uint32_t)depth, x->rank);
    int64_t block = data_product(x->shape, batch, x->rank);

    char what[128];

    for (uint32_t i = 0; i < batch; i++) {
        if (x->shape[i] != idx->shape[i])
            return fail(HULL_ESHAPE,
                        "%s: batch dim %u is %" PRId64 " and %" PRId64,
                        node_what(n, what), i, x->shape[i], idx->shape[i]);
    }
    if (run == 0 && depth == 0)
        return data_want_numel(n, out, 0);
    TRY(data_want_numel(n, out, outer * per * run));
    for (int64_t i = 0; i < outer * per; i++) {
        int64_t from = i / per * block, k;

        for (uint32_t j = 0; j < depth; j++) {
            TRY(data_index(&k, n, idx, i * depth + j, x->shape[batch + j]));
            from += k * src.strides[batch + j];
        }
        data_copy_run(x->dtype, out->data, i * run, x->data, from, run);
    }
    return HULL_OK;
}

hull_status gather_eval(eval_ctx *cx, const node *n, const tensor *in,
                        tensor *out)
{
    (void)cx;
    if (n->op == OP_gather)
        return take_eval(n, &in[0], &in[1], out);
    return n->op == OP_gather_elements
               ? elements_eval(n, &in[0], &in[1], out)
               : nd_eval(n, &in[0], &in[1], out);
}
