/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * source.c - leaves: weight, const, dims, iota.
 */
#include "ops/family.h"

#include <inttypes.h>
#include <string.h>

static hull_status const_infer(graph *g, node *n)
{
    const literal *l = node_attr(n, "value")->u.t;
    char what[128];
    dim dims[HULL_MAX_RANK];

    if (!l || l->rank > HULL_MAX_RANK)
        return fail(HULL_ESHAPE, "%s has no value", node_what(n, what));
    for (uint32_t i = 0; i < l->rank; i++)
        dims[i] = l->shape[i];
    return infer_out(g, n, 0, l->dtype, dims, l->rank);
}

static hull_status iota_infer(graph *g, node *n)
{
    const attr *shape = node_attr(n, "shape");
    char what[128];
    hull_dtype dt = attr_dtype(n, "dtype");
    uint32_t axis = 0;

    if (!dtype_is_float(dt) && !dtype_is_int(dt))
        return fail(HULL_ESHAPE, "%s: dtype %s does not count",
                    node_what(n, what), hull_dtype_name(dt));
    TRY(infer_axis(&axis, n, attr_int(n, "axis"), shape->u.dims.n));
    return infer_out(g, n, 0, dt, shape->u.dims.p, shape->u.dims.n);
}

hull_status source_infer(graph *g, node *n)
{
    const attr *a = NULL;
    char what[128];
    dim count;

    switch (n->op) {
    case OP_const:
        return const_infer(g, n);
    case OP_dims:
        a = node_attr(n, "value");
        count = a->u.dims.n;
        return infer_out(g, n, 0, HULL_I64, &count, 1);
    case OP_iota:
        return iota_infer(g, n);
    default:
        if (graph_type(g, n->out[0])->kind != TYPE_TENSOR ||
            graph_type(g, n->out[0])->dtype == HULL_STRING)
            return fail(HULL_ESHAPE, "%s: its type is no tensor of numbers",
                        node_what(n, what));
        return HULL_OK;
    }
}

static hull_status iota_eval(const node *n, tensor *out)
{
    uint32_t axis = 0;
    int64_t numel = tensor_numel(out);
    split s;

    TRY(infer_axis(&axis, n, attr_int(n, "axis"), out->rank));
    s = split_at(out, axis);
    for (int64_t i = 0; i < numel; i++) {
        int64_t at = i / s.inner % s.len;

        if (dtype_is_float(out->dtype))
            store_f64(out->dtype, out->data, (uint64_t)i, (double)at);
        else
            store_i64(out->dtype, out->data, (uint64_t)i, at);
    }
    return HULL_OK;
}

hull_status source_eval(eval_ctx *cx, const node *n, const tensor *in,
                        tensor *out)
{
    const literal *l = NULL;
    uint32_t count = 0;

    (void)in;
    switch (n->op) {
    case OP_const:
        l = node_attr(n, "value")->u.t;
        if (l->n_bytes > 0)
            memcpy(out->data, l->data, l->n_bytes);
        return HULL_OK;
    case OP_dims:
        return eval_dims(cx, n, "value", out->data,
                         (uint32_t)tensor_numel(out), &count);
    case OP_iota:
        return iota_eval(n, out);
    default:
        return fail(HULL_EUNBOUND, "weight '%.*s' has no value",
                    STR_ARG(attr_str(n, "name")));
    }
}
