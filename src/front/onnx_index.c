/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_index.c - lowerings of operators that read or write by index, and of
 * those that compare indices: one-hot, triangles, the k largest.
 */
#include "front/onnx_lower.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static hull_status axis_attr(onnx_call *c, int64_t def, uint32_t *out)
{
    const type *t = onnx_type(c, c->in[0]);

    if (!t)
        return ir_status(c->m);
    return onnx_axis(c, onnx_int(c, "axis", def), t->rank, out);
}

hull_status onnx_gather(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    uint32_t axis = 0;

    TRY(axis_attr(c, 0, &axis));
    if (t->rank >= 2 && dtype_is_float(t->dtype))
        front_is_parameter(c->f, c->in[0]); /* an embedding */
    node *n = node_new(c->g, OP_gather);
    node_input(c->g, n, c->in[0]);
    node_input(c->g, n, c->in[1]);
    node_int(c->g, n, "axis", axis);
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}

hull_status onnx_gather_elements(onnx_call *c)
{
    uint32_t axis = 0;

    TRY(axis_attr(c, 0, &axis));
    node *n = node_new(c->g, OP_gather_elements);
    node_input(c->g, n, c->in[0]);
    node_input(c->g, n, c->in[1]);
    node_int(c->g, n, "axis", axis);
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}

hull_status onnx_gather_nd(onnx_call *c)
{
    node *n = node_new(c->g, OP_gather_nd);

    node_input(c->g, n, c->in[0]);
    node_input(c->g, n, c->in[1]);
    node_int(c->g, n, "batch", onnx_int(c, "batch_dims", 0));
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}

static hull_status reduction(onnx_call *c, str *out)
{
    static const char *const names[] = {"none", "add", "mul", "max", "min"};

    *out = onnx_str(c, "reduction", "none");
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (str_is(*out, names[i]))
            return HULL_OK;
    return fail(HULL_EFORMAT, "attribute 'reduction' is '%.*s', want none, "
                "add, mul, max or min", STR_ARG(*out));
}

hull_status onnx_scatter_elements(onnx_call *c)
{
    uint32_t axis = 0;
    str how;

    TRY(axis_attr(c, 0, &axis));
    TRY(reduction(c, &how));
    node *n = node_new(c->g, OP_scatter_elements);
    for (uint32_t i = 0; i < 3; i++)
        node_input(c->g, n, c->in[i]);
    node_int(c->g, n, "axis", axis);
    node_str(c->g, n, "reduce", how);
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}

hull_status onnx_scatter_nd(onnx_call *c)
{
    str how;

    TRY(reduction(c, &how));
    node *n = node_new(c->g, OP_scatter_nd);
    for (uint32_t i = 0; i < 3; i++)
        node_input(c->g, n, c->in[i]);
    node_str(c->g, n, "reduce", how);
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}

/* Element i of a vector of two, as rank 0. */
static val element(onnx_call *c, val v, int64_t i)
{
    val s = op_slice(c->g, v, 0, i, i + 1, 1);

    return op_reshape(c->g, s, NULL, 0);
}

/* Indices outside [-depth, depth) give a row of "off", as ONNX says. */
hull_status onnx_one_hot(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    dim depth = 0, shape[HULL_MAX_RANK];
    uint32_t n = 0, axis = 0;
    bool known = false;
    double real = 0;

    if (!t || t->rank + 1 > HULL_MAX_RANK)
        return fail(HULL_EUNSUPPORTED, "indices of too high a rank");
    uint32_t rank = t->rank + 1;
    TRY(front_structure(c->f, c->in[1], &depth, 1, &n, &known));
    if (!known && front_scalar(c->f, c->in[1], &real) && real >= 0 &&
        real < 1e12)
        depth = (dim)real;
    else if (!known)
        TRY(front_bind(c->f, op_cast(c->g, c->in[1], HULL_I64), true, &depth,
                       1, &n));
    if (n > 1)
        return fail(HULL_EFORMAT, "depth has %" PRIu32 " elements", n);
    TRY(onnx_axis(c, onnx_int(c, "axis", -1), rank, &axis));
    for (uint32_t i = 0; i < rank; i++)
        shape[i] = i == axis ? depth : 1;
    int64_t axes[1] = {axis};
    val idx = op_cast(c->g, c->in[0], HULL_I64);
    idx = lower_axes_to_reshape(c->f, idx, axes, 1, true);
    val size = op_reshape(c->g, op_dims(c->g, &depth, 1), NULL, 0);
    val neg = op_binary(c->g, OP_lt, idx, op_scalar_i64(c->g, HULL_I64, 0));
    idx = op_where(c->g, neg, op_binary(c->g, OP_add, idx, size), idx);
    node *i = node_new(c->g, OP_iota);
    node_dims(c->g, i, "shape", shape, rank);
    node_int(c->g, i, "axis", axis);
    val hot = op_binary(c->g, OP_eq, idx, node_add(c->g, i));
    c->out[0] = op_where(c->g, hot, element(c, c->in[2], 1),
                         element(c, c->in[2], 0));
    return HULL_OK;
}

hull_status onnx_topk(onnx_call *c)
{
    uint32_t axis = 0, n = 0;
    dim k = 0;

    TRY(axis_attr(c, -1, &axis));
    if (onnx_has(c, "k"))
        k = dim_int(c->m, onnx_int(c, "k", 0));
    else if (onnx_in(c, 1))
        TRY(onnx_dims_at(c, 1, &k, 1, &n));
    else
        return fail(HULL_EFORMAT, "k is missing");
    int64_t v = 0;
    if (dim_is_int(c->m, k, &v) && v < 0)
        return fail(HULL_EFORMAT, "k is %" PRId64, v);
    node *t = node_new(c->g, OP_topk);
    node_input(c->g, t, c->in[0]);
    node_dim(c->g, t, "k", k);
    node_int(c->g, t, "axis", axis);
    node_bool(c->g, t, "largest", onnx_int(c, "largest", 1) != 0);
    if (!node_add(c->g, t))
        return ir_status(c->m);
    c->out[0] = t->out[0];
    if (c->n_out > 1)
        c->out[1] = t->out[1];
    return HULL_OK;
}

/* upper keeps column - row >= k, lower keeps column - row <= k. */
hull_status onnx_trilu(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    bool upper = onnx_int(c, "upper", 1) != 0;

    if (!t)
        return ir_status(c->m);
    if (t->rank < 2)
        return fail(HULL_ESHAPE, "rank is %" PRIu32 ", want 2 or more",
                    t->rank);
    dim rows[2] = {t->dims[t->rank - 2], 1};
    dim cols[2] = {1, t->dims[t->rank - 1]};
    hull_dtype dt = t->dtype;
    node *i = node_new(c->g, OP_iota);
    node_dims(c->g, i, "shape", rows, 2);
    node_int(c->g, i, "axis", 0);
    val row = node_add(c->g, i);
    node *j = node_new(c->g, OP_iota);
    node_dims(c->g, j, "shape", cols, 2);
    node_int(c->g, j, "axis", 1);
    val col = node_add(c->g, j);
    if (onnx_in(c, 1)) {
        double k = 0;
        val by = c->in[1];
        if (front_scalar(c->f, by, &k)) {
            if (isnan(k))
                return fail(HULL_EFORMAT, "k is not a number");
            /* Far beyond every size is as good as the largest integer. */
            k = k > 0x1p53 ? 0x1p53 : k < -0x1p53 ? -0x1p53 : k;
            by = op_scalar_i64(c->g, HULL_I64, (int64_t)k);
        } else {
            by = op_reshape(c->g, by, NULL, 0);
        }
        row = op_binary(c->g, OP_add, row, by);
    }
    val keep = op_binary(c->g, upper ? OP_ge : OP_le, col, row);
    c->out[0] = op_where(c->g, keep, c->in[0], op_scalar(c->g, dt, 0.0));
    return HULL_OK;
}

static val count(onnx_call *c, const dim *shape, uint32_t rank, uint32_t axis)
{
    node *i = node_new(c->g, OP_iota);

    node_dims(c->g, i, "shape", shape, rank);
    node_int(c->g, i, "axis", axis);
    return node_add(c->g, i);
}

/* v [b] as i64 with its axis at `axis` of `rank`. */
static val along_axis(onnx_call *c, val v, uint32_t axis, uint32_t rank)
{
    int64_t axes[HULL_MAX_RANK];
    uint32_t n = 0;

    for (uint32_t i = 0; i < rank; i++)
        if (i != axis)
            axes[n++] = i;
    return lower_axes_to_reshape(c->f, op_cast(c->g, v, HULL_I64), axes, n,
                                 true);
}

/* Place i of the first n becomes place n - 1 - i, the rest stays. */
hull_status onnx_reverse_sequence(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    uint32_t time = 0, batch = 0;
    dim shape[HULL_MAX_RANK];

    if (!t)
        return ir_status(c->m);
    TRY(onnx_axis(c, onnx_int(c, "time_axis", 0), t->rank, &time));
    TRY(onnx_axis(c, onnx_int(c, "batch_axis", 1), t->rank, &batch));
    if (time == batch)
        return fail(HULL_EFORMAT, "time_axis and batch_axis are both %" PRIu32,
                    time);
    type x = *t;
    for (uint32_t i = 0; i < x.rank; i++)
        shape[i] = i == time ? x.dims[i] : 1;
    val i = count(c, shape, x.rank, time);
    val n = along_axis(c, c->in[1], batch, x.rank);
    val last = op_binary(c->g, OP_sub, n, op_scalar_i64(c->g, HULL_I64, 1));
    val at = op_where(c->g, op_binary(c->g, OP_lt, i, n),
                      op_binary(c->g, OP_sub, last, i), i);
    node *g = node_new(c->g, OP_gather_elements);
    node_input(c->g, g, c->in[0]);
    node_input(c->g, g, op_expand(c->g, at, x.dims, x.rank));
    node_int(c->g, g, "axis", time);
    c->out[0] = node_add(c->g, g);
    return HULL_OK;
}

/* Writes the update behind place write_indices[b] of the cache's axis. */
hull_status onnx_tensor_scatter(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]), *u = onnx_type(c, c->in[1]);
    str mode = onnx_str(c, "mode", "linear");
    uint32_t axis = 0;
    dim shape[HULL_MAX_RANK];

    if (!t || !u)
        return ir_status(c->m);
    TRY(onnx_axis(c, onnx_int(c, "axis", -2), t->rank, &axis));
    if (axis == 0 || u->rank != t->rank)
        return fail(HULL_EFORMAT, "axis 0, or an update of rank %" PRIu32
                    " for a cache of rank %" PRIu32, u->rank, t->rank);
    if (!str_is(mode, "linear") && !str_is(mode, "circular"))
        return fail(HULL_EFORMAT, "attribute 'mode' is '%.*s', want linear or "
                    "circular", STR_ARG(mode));
    type x = *u;
    dim size = t->dims[axis];
    for (uint32_t i = 0; i < x.rank; i++)
        shape[i] = i == axis ? x.dims[i] : 1;
    val at = count(c, shape, x.rank, axis);
    if (onnx_in(c, 2))
        at = op_binary(c->g, OP_add, at,
                       along_axis(c, c->in[2], 0, x.rank));
    if (str_is(mode, "circular")) {
        val by = op_reshape(c->g, op_dims(c->g, &size, 1), NULL, 0);
        at = op_binary(c->g, OP_mod, at, by);
    }
    node *n = node_new(c->g, OP_scatter_elements);
    node_input(c->g, n, c->in[0]);
    node_input(c->g, n, op_expand(c->g, at, x.dims, x.rank));
    node_input(c->g, n, c->in[1]);
    node_int(c->g, n, "axis", axis);
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}
