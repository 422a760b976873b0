/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_reduce.c - lowerings of operators that run along axes: Reduce*, Arg*,
 * softmax old (flattened to two axes) and new (one axis), cumulative sums,
 * matrix products.
 */
#include "front/onnx_contrib.h"

#include <inttypes.h>
#include <string.h>

/* ---- reductions ---------------------------------------------------------- */

typedef struct axes_of {
    int64_t axes[HULL_MAX_RANK];
    uint32_t n;
    bool keep, none; /* none: empty axes that mean "do nothing" */
    val at;          /* in place of axes and n: axes that are data */
} axes_of;

static hull_status reduce_axes(onnx_call *c, axes_of *a)
{
    const type *t = onnx_type(c, c->in[0]);
    bool seen[HULL_MAX_RANK] = {false};

    *a = (axes_of){0};
    if (!t)
        return ir_status(c->m);
    a->keep = onnx_int(c, "keepdims", 1) != 0;
    if (onnx_in(c, 1) && !onnx_is_fixed(c, 1)) {
        a->at = c->in[1];
        return HULL_OK;
    }
    TRY(onnx_ints_at(c, "axes", 1, a->axes, HULL_MAX_RANK, &a->n));
    a->none = a->n == 0 && onnx_int(c, "noop_with_empty_axes", 0) != 0;
    for (uint32_t i = 0; i < a->n; i++) {
        uint32_t axis = 0;

        TRY(onnx_axis(c, a->axes[i], t->rank, &axis));
        if (seen[axis])
            return fail(HULL_ESHAPE, "axis %" PRIu32 " is reduced twice",
                        axis);
        seen[axis] = true;
        a->axes[i] = axis;
    }
    /* Ascending, so that the order in the file does not matter. */
    a->n = 0;
    for (uint32_t i = 0; i < t->rank; i++)
        if (seen[i])
            a->axes[a->n++] = i;
    return HULL_OK;
}

/* Along axes that are data; a mean is a sum over a count. */
static val reduced_at(onnx_call *c, const axes_of *a, op_code op, val x,
                      bool keep)
{
    const type *t = onnx_type(c, x);
    val y = 0, count = 0;
    hull_status st;

    if (op != OP_reduce_mean) {
        st = front_reduce_at(c->f, op, x, a->at, keep, false, &y);
    } else {
        hull_dtype dt = t->dtype;

        count = op_expand(c->g, op_scalar(c->g, HULL_F64, 1.0), t->dims,
                          t->rank);
        st = front_reduce_at(c->f, OP_reduce_sum,
                             op_cast(c->g, x, HULL_F64), a->at, keep, false,
                             &y);
        if (st == HULL_OK)
            st = front_reduce_at(c->f, OP_reduce_sum, count, a->at, keep,
                                 false, &count);
        y = op_cast(c->g, op_binary(c->g, OP_div, y, count), dt);
    }
    if (st != HULL_OK)
        (void)ir_fail(c->m, st);
    return y;
}

static val reduced_as(onnx_call *c, const axes_of *a, op_code op, val x,
                      bool keep)
{
    if (a->at)
        return reduced_at(c, a, op, x, keep);
    return a->none ? x : onnx_reduce(c, op, x, a->axes, a->n, keep);
}

static val reduced(onnx_call *c, const axes_of *a, op_code op, val x)
{
    return reduced_as(c, a, op, x, a->keep);
}

/* Max and min of bool are any and all. */
static val reduce_bool(onnx_call *c, const axes_of *a, op_code op)
{
    if (op == OP_reduce_max)
        return reduced(c, a, OP_reduce_any, c->in[0]);
    val v = op_unary(c->g, OP_not, c->in[0]);
    return op_unary(c->g, OP_not, reduced(c, a, OP_reduce_any, v));
}

hull_status onnx_reduce_plain(onnx_call *c)
{
    op_code op = (op_code)c->row->arg;
    axes_of a;

    TRY(reduce_axes(c, &a));
    const type *t = onnx_type(c, c->in[0]);
    if (t && t->dtype == HULL_BOOL &&
        (op == OP_reduce_max || op == OP_reduce_min))
        c->out[0] = reduce_bool(c, &a, op);
    else
        c->out[0] = reduced(c, &a, op, c->in[0]);
    return HULL_OK;
}

hull_status onnx_reduce_l1(onnx_call *c)
{
    axes_of a;

    TRY(reduce_axes(c, &a));
    c->out[0] = reduced(c, &a, OP_reduce_sum,
                        op_unary(c->g, OP_abs, c->in[0]));
    return HULL_OK;
}

static hull_status sum_square(onnx_call *c, val *out)
{
    axes_of a;

    TRY(reduce_axes(c, &a));
    *out = reduced(c, &a, OP_reduce_sum,
                   op_binary(c->g, OP_mul, c->in[0], c->in[0]));
    return HULL_OK;
}

hull_status onnx_reduce_sum_square(onnx_call *c)
{
    return sum_square(c, &c->out[0]);
}

hull_status onnx_reduce_l2(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    hull_dtype dt = t ? t->dtype : HULL_NONE;
    val v = 0;

    TRY(sum_square(c, &v));
    if (dtype_is_int(dt)) {
        v = op_unary(c->g, OP_sqrt, op_cast(c->g, v, HULL_F64));
        c->out[0] = op_cast(c->g, v, dt);
    } else {
        c->out[0] = op_unary(c->g, OP_sqrt, v);
    }
    return HULL_OK;
}

hull_status onnx_reduce_log_sum(onnx_call *c)
{
    axes_of a;

    TRY(reduce_axes(c, &a));
    c->out[0] = op_unary(c->g, OP_log,
                         reduced(c, &a, OP_reduce_sum, c->in[0]));
    return HULL_OK;
}

/* max + log(sum(exp(x - max))), with a max that is finite: sums of infinities
 * must not become NaN. */
hull_status onnx_reduce_log_sum_exp(onnx_call *c)
{
    axes_of a;
    val x = c->in[0];

    TRY(reduce_axes(c, &a));
    if (a.none) {
        c->out[0] = op_unary(c->g, OP_log, op_unary(c->g, OP_exp, x));
        return HULL_OK;
    }
    val top = reduced_as(c, &a, OP_reduce_max, x, true);
    node *n = node_new(c->g, OP_clamp);
    node_input(c->g, n, top);
    node_float(c->g, n, "min", -3.4028234663852886e+38);
    node_float(c->g, n, "max", 3.4028234663852886e+38);
    top = node_add(c->g, n);
    val e = op_unary(c->g, OP_exp, op_binary(c->g, OP_sub, x, top));
    val sum = reduced_as(c, &a, OP_reduce_sum, e, true);
    val y = op_binary(c->g, OP_add, op_unary(c->g, OP_log, sum), top);
    /* The size-1 axes go last: sums over them change nothing. */
    c->out[0] = a.keep ? y : reduced_as(c, &a, OP_reduce_sum, y, false);
    return HULL_OK;
}

hull_status onnx_arg(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    uint32_t axis = 0;

    if (!t)
        return ir_status(c->m);
    TRY(onnx_axis(c, onnx_int(c, "axis", 0), t->rank, &axis));
    node *n = node_new(c->g, (op_code)c->row->arg);
    int64_t axes[1] = {axis};
    node_input(c->g, n, c->in[0]);
    node_ints(c->g, n, "axes", axes, 1);
    node_bool(c->g, n, "keep", onnx_int(c, "keepdims", 1) != 0);
    node_bool(c->g, n, "last", onnx_int(c, "select_last_index", 0) != 0);
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}

static val accumulate(onnx_call *c, int64_t axis)
{
    node *s = node_new(c->g, (op_code)c->row->arg);

    node_input(c->g, s, c->in[0]);
    node_int(c->g, s, "axis", axis);
    node_bool(c->g, s, "exclusive", onnx_int(c, "exclusive", 0) != 0);
    node_bool(c->g, s, "reverse", onnx_int(c, "reverse", 0) != 0);
    return node_add(c->g, s);
}

/* The axis is data: the sums along each, and the wanted ones chosen. */
static val accumulate_any(onnx_call *c, uint32_t rank)
{
    val axis = op_reshape(c->g, op_cast(c->g, c->in[1], HULL_I64), NULL, 0);
    val size = op_scalar_i64(c->g, HULL_I64, rank);
    node *m = node_new(c->g, OP_mod); /* negative ones count from the end */
    val y = accumulate(c, 0);

    node_input(c->g, m, axis);
    node_input(c->g, m, size);
    axis = node_add(c->g, m);
    for (uint32_t i = 1; i < rank; i++) {
        val is = op_binary(c->g, OP_eq, axis,
                           op_scalar_i64(c->g, HULL_I64, i));

        y = op_where(c->g, is, accumulate(c, i), y);
    }
    return y;
}

hull_status onnx_cumsum(onnx_call *c)
{
    uint32_t n = 0, at = 0;
    bool known = false;
    dim axis = 0;
    int64_t v = 0;
    const type *t = onnx_type(c, c->in[0]);

    if (!t)
        return ir_status(c->m);
    uint32_t rank = t->rank;
    TRY(front_structure(c->f, c->in[1], &axis, 1, &n, &known));
    if (!known && rank > 0) {
        c->out[0] = accumulate_any(c, rank);
        return HULL_OK;
    }
    if (n != 1 || !dim_is_int(c->m, axis, &v))
        return fail(HULL_EFORMAT, "axis has %" PRIu32 " elements or is a "
                    "size, want 1 constant", n);
    TRY(onnx_axis(c, v, rank, &at));
    c->out[0] = accumulate(c, at);
    return HULL_OK;
}

/* ---- softmax family ------------------------------------------------------ */

hull_status onnx_softmax(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    uint32_t axis = 0;

    if (!t)
        return ir_status(c->m);
    TRY(onnx_axis(c, onnx_int(c, "axis", -1), t->rank, &axis));
    c->out[0] = onnx_along(c, c->in[0], (op_code)c->row->arg, axis);
    return HULL_OK;
}

/* Before opset 13: the axes from `axis` on are one axis. */
hull_status onnx_softmax_old(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    int64_t axis = onnx_int(c, "axis", 1);
    dim two[2], dims[HULL_MAX_RANK];

    if (!t)
        return ir_status(c->m);
    uint32_t rank = t->rank;
    if (axis < -(int64_t)rank || axis > (int64_t)rank)
        return fail(HULL_ESHAPE,
                    "axis %" PRId64 " does not exist in rank %" PRIu32, axis,
                    rank);
    axis += axis < 0 ? rank : 0;
    op_code op = (op_code)c->row->arg;
    if (axis + 1 == rank) {
        c->out[0] = onnx_along(c, c->in[0], op, axis);
        return HULL_OK;
    }
    if (rank > 0)
        memcpy(dims, t->dims, rank * sizeof *dims);
    two[0] = dim_product(c->m, dims, (uint32_t)axis);
    two[1] = dim_product(c->m, dims + axis, rank - (uint32_t)axis);
    val x = op_reshape(c->g, c->in[0], two, 2);
    c->out[0] = op_reshape(c->g, onnx_along(c, x, op, 1), dims, rank);
    return HULL_OK;
}

/* One-hot of the first largest element along an axis. */
hull_status onnx_hardmax(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    uint32_t axis = 0;
    dim shape[HULL_MAX_RANK];

    if (!t)
        return ir_status(c->m);
    if (c->version < 13 && onnx_int(c, "axis", 1) + 1 != t->rank)
        return fail(HULL_EUNSUPPORTED,
                    "Hardmax before opset 13 over more than the last axis");
    TRY(onnx_axis(c, onnx_int(c, "axis", c->version < 13 ? 1 : -1), t->rank,
                  &axis));
    hull_dtype dt = t->dtype;
    uint32_t rank = t->rank;
    for (uint32_t i = 0; i < rank; i++)
        shape[i] = i == axis ? t->dims[i] : 1;
    int64_t axes[1] = {axis};
    node *a = node_new(c->g, OP_arg_max);
    node_input(c->g, a, c->in[0]);
    node_ints(c->g, a, "axes", axes, 1);
    node_bool(c->g, a, "keep", true);
    val top = node_add(c->g, a);
    node *i = node_new(c->g, OP_iota);
    node_dims(c->g, i, "shape", shape, rank);
    node_int(c->g, i, "axis", axis);
    val hot = op_binary(c->g, OP_eq, top, node_add(c->g, i));
    c->out[0] = op_cast(c->g, hot, dt);
    return HULL_OK;
}

/* ---- products ------------------------------------------------------------ */

/* A stored matrix (or stack of them) in a product is a weight. */
static void mark_matrix(onnx_call *c, val v)
{
    const type *t = onnx_type(c, v);

    if (t && t->rank >= 2)
        front_is_parameter(c->f, v);
}

hull_status onnx_matmul(onnx_call *c)
{
    mark_matrix(c, c->in[0]);
    mark_matrix(c, c->in[1]);
    c->out[0] = op_binary(c->g, OP_matmul, c->in[0], c->in[1]);
    return HULL_OK;
}

static val times(onnx_call *c, val x, double by)
{
    return by == 1.0 ? x
                     : op_binary(c->g, OP_mul, x, onnx_scalar_like(c, x, by));
}

/* alpha A' B' + beta C, A and B two-dimensional. */
hull_status onnx_gemm(onnx_call *c)
{
    double alpha = onnx_float(c, "alpha", 1.0);
    double beta = onnx_float(c, "beta", 1.0);
    val bias = onnx_in(c, 2);

    for (uint32_t i = 0; i < 2; i++) {
        const type *t = onnx_type(c, c->in[i]);

        if (t && t->rank != 2)
            return fail(HULL_ESHAPE,
                        "input %" PRIu32 " has rank %" PRIu32 ", want 2", i,
                        t->rank);
        mark_matrix(c, c->in[i]);
    }
    if (bias)
        front_is_parameter(c->f, bias);
    node *n = node_new(c->g, OP_matmul);
    node_input(c->g, n, c->in[0]);
    node_input(c->g, n, c->in[1]);
    if (bias && alpha == 1.0 && beta == 1.0)
        node_input(c->g, n, bias);
    node_bool(c->g, n, "trans_a", onnx_int(c, "transA", 0) != 0);
    node_bool(c->g, n, "trans_b", onnx_int(c, "transB", 0) != 0);
    val y = times(c, node_add(c->g, n), alpha);
    if (bias && !(alpha == 1.0 && beta == 1.0) && beta != 0.0)
        y = op_binary(c->g, OP_add, y, times(c, bias, beta));
    c->out[0] = y;
    return HULL_OK;
}

/* x - zero point in i32; a vector of zero points runs along rows or columns. */
static val centred(onnx_call *c, val x, val zero, bool rows)
{
    val y = op_cast(c->g, x, HULL_I32);
    const type *t = onnx_type(c, zero);

    if (!zero || !t)
        return y;
    uint32_t rank = t->rank;
    int64_t size = 0;
    bool one = rank == 0 || (rank == 1 && dim_is_int(c->m, t->dims[0], &size) &&
                             size == 1);
    val z = op_cast(c->g, zero, HULL_I32);
    front_is_parameter(c->f, zero);
    if (rows && rank == 1 && !one) {
        int64_t last[1] = {-1};
        z = lower_axes_to_reshape(c->f, z, last, 1, true);
    }
    return op_binary(c->g, OP_sub, y, z);
}

val onnx_integer_product(onnx_call *c, val x, val w, val zero, val w_zero)
{
    val a = centred(c, x, zero, true), b = centred(c, w, w_zero, false);

    mark_matrix(c, w);
    return op_binary(c->g, OP_matmul, a, b);
}

hull_status onnx_matmul_integer(onnx_call *c)
{
    c->out[0] = onnx_integer_product(c, c->in[0], c->in[1], onnx_in(c, 2),
                                     onnx_in(c, 3));
    return HULL_OK;
}
