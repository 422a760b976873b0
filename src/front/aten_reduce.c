/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * aten_reduce.c - lowerings that reduce axes: sums, extremes, variances, norms.
 */
#include "front/aten.h"

#include <math.h>
#include <string.h>

static val binary(aten_call *c, op_code op, val a, val b)
{
    return op_binary(c->g, op, a, b);
}

/* Sums and products of integers and bools are i64. */
static val widened(aten_call *c, val x, hull_dtype dt)
{
    if (dt != HULL_NONE)
        return op_cast(c->g, x, dt);
    return dtype_is_float(call_dtype(c, x)) ? x : op_cast(c->g, x, HULL_I64);
}

static val reduce_all(aten_call *c, op_code op, val x)
{
    int64_t axes[HULL_MAX_RANK];
    uint32_t n = call_rank(c, x);

    for (uint32_t i = 0; i < n; i++)
        axes[i] = i;
    return aten_reduce(c, op, x, axes, n, false);
}

/* Sums and means of complex elements go by their parts. */
static bool complex_sum(aten_call *c, op_code op, val x, const int64_t *axes,
                        uint32_t n, bool keep)
{
    if (!aten_is_complex(c, x))
        return false;
    if (op != OP_reduce_sum && op != OP_reduce_mean)
        call_fail(c, HULL_EUNSUPPORTED, "operand is complex");
    if (c->st != HULL_OK)
        return true;
    if (n)
        x = aten_from_parts(c, aten_reduce(c, op, aten_parts(c, x), axes, n,
                                           keep));
    ret(c, x);
    return true;
}

/* (self, dtype): sum, prod, mean over everything. */
void aten_reduce_all(aten_call *c)
{
    op_code op = (op_code)c->row->param;
    val x = arg_tensor(c, 0);
    int64_t axes[HULL_MAX_RANK];

    for (uint32_t i = 0; i < call_rank(c, x); i++)
        axes[i] = i;
    if (complex_sum(c, op, x, axes, call_rank(c, x), false))
        return;
    hull_dtype dt = c->n_args > 1 ? arg_dtype(c, 1, HULL_NONE) : HULL_NONE;

    if (op == OP_reduce_sum || op == OP_reduce_prod || dt != HULL_NONE)
        x = widened(c, x, dt);
    ret(c, reduce_all(c, op, x));
}

/* (self, dim, keepdim, dtype); amax and amin have no dtype. */
void aten_reduce_dims(aten_call *c)
{
    op_code op = (op_code)c->row->param;
    val x = arg_tensor(c, 0);
    int64_t axes[HULL_MAX_RANK];
    uint32_t n = arg_axes(c, 1, call_rank(c, x), axes);

    if (complex_sum(c, op, x, axes, n, arg_bool(c, 2)))
        return;
    hull_dtype dt = c->n_args > 3 ? arg_dtype(c, 3, HULL_NONE) : HULL_NONE;

    if (op == OP_reduce_sum || op == OP_reduce_prod || dt != HULL_NONE)
        x = widened(c, x, dt);
    ret(c, aten_reduce(c, op, x, axes, n, arg_bool(c, 2)));
}

/* any, all: param 1 = all, which is not(any(not x)). Bytes give bytes; an empty
 * list of dims reduces nothing, none all of them. */
void aten_any_all(aten_call *c)
{
    val in = arg_tensor(c, 0), x = op_cast(c->g, in, HULL_BOOL);
    hull_dtype dt = call_dtype(c, in) == HULL_U8 ? HULL_U8 : HULL_BOOL;
    int64_t axes[HULL_MAX_RANK];
    uint32_t rank = call_rank(c, x), n = rank;
    bool all = c->row->param != 0, keep = false;

    for (uint32_t i = 0; i < rank; i++)
        axes[i] = i;
    if (c->n_args > 1) {
        n = arg_empty(c, 1) ? 0 : arg_axes(c, 1, rank, axes);
        keep = arg_bool(c, 2);
    }
    if (n == 0) {
        ret(c, op_cast(c->g, x, dt));
        return;
    }
    if (all)
        x = op_unary(c->g, OP_not, x);
    x = aten_reduce(c, OP_reduce_any, x, axes, n, keep);
    ret(c, op_cast(c->g, all ? op_unary(c->g, OP_not, x) : x, dt));
}

/* argmax, argmin (self, dim, keepdim); dim none = of the flattened tensor. */
void aten_arg_reduce(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t rank = call_rank(c, x);
    bool keep = arg_bool(c, 2), flat = arg_none(c, 1) || rank == 0;
    int64_t axis = 0;

    if (flat) {
        dim n = type_numel(c->m, call_type(c, x));
        x = op_reshape(c->g, x, &n, 1);
    } else {
        axis = arg_axis(c, 1, rank);
    }
    if (c->st != HULL_OK)
        return;
    x = aten_reduce(c, (op_code)c->row->param, x, &axis, 1, keep && !flat);
    if (flat && keep) {
        dim ones[HULL_MAX_RANK];

        for (uint32_t i = 0; i < rank; i++)
            ones[i] = 1;
        x = op_reshape(c->g, x, ones, rank);
    }
    ret(c, x);
}

/* max.dim, min.dim: values and first indices. param 1 = max. */
void aten_extreme_dim(aten_call *c)
{
    val x = arg_tensor(c, 0);
    bool keep = arg_bool(c, 2), most = c->row->param != 0;

    if (call_rank(c, x) == 0) {
        x = aten_insert_axis(c, x, 0);
        keep = false;
    }
    int64_t axis = arg_axis(c, 1, call_rank(c, x));
    if (c->st != HULL_OK)
        return;
    ret(c, aten_reduce(c, most ? OP_reduce_max : OP_reduce_min, x, &axis, 1,
                       keep));
    ret(c, aten_reduce(c, most ? OP_arg_max : OP_arg_min, x, &axis, 1, keep));
}

/* ---- variance ------------------------------------------------------------ */

/* Number of elements that one result is made of, as a float tensor. */
static val count_of(aten_call *c, val x, const int64_t *axes, uint32_t n)
{
    dim d = 1;
    int64_t v = 0;

    for (uint32_t i = 0; i < n; i++)
        d = dim_mul(c->m, d, call_dims(c, x)[axes[i]]);
    if (dim_is_int(c->m, d, &v))
        return aten_number(c, call_dtype(c, x), (double)v);
    return aten_dim_value(c, d, call_dtype(c, x));
}

/* sum((x - mean)^2) / max(n - correction, 0) */
static val variance(aten_call *c, val x, const int64_t *axes, uint32_t n,
                    double correction, bool keep)
{
    hull_dtype dt = call_dtype(c, x);
    val mean = aten_reduce(c, OP_reduce_mean, x, axes, n, true);
    val d = binary(c, OP_sub, x, mean);
    val sum = aten_reduce(c, OP_reduce_sum, binary(c, OP_mul, d, d), axes, n,
                          keep);
    val count = binary(c, OP_sub, count_of(c, x, axes, n),
                       aten_number(c, dt, correction));

    return binary(c, OP_div, sum, aten_clamp(c, count, 0, HUGE_VAL));
}

#define VAR_ROOT 1 /* std */
#define VAR_MEAN 2 /* a second result: the mean */
#define VAR_BOOL 4 /* (self, dim, unbiased, keepdim) */
#define VAR_ALL 8  /* (self, unbiased) */

/* (self, dim, correction, keepdim); param: the bits above. */
void aten_var(aten_call *c)
{
    bool all = (c->row->param & VAR_ALL) != 0;
    uint32_t at = all ? 1 : 2, n = 0;
    val x = aten_float(c, arg_tensor(c, 0));
    int64_t axes[HULL_MAX_RANK];
    bool keep = !all && arg_bool(c, 3);
    double correction = 1;

    if (!all)
        n = arg_axes(c, 1, call_rank(c, x), axes);
    for (uint32_t i = 0; all && i < call_rank(c, x); i++)
        axes[n++] = i;
    if (c->row->param & (VAR_BOOL | VAR_ALL))
        correction = arg_bool(c, at);
    else if (!arg_none(c, at))
        correction = arg_num(c, at);
    if (c->st != HULL_OK)
        return;
    val v = variance(c, x, axes, n, correction, keep);
    ret(c, c->row->param & VAR_ROOT ? op_unary(c->g, OP_sqrt, v) : v);
    if (c->row->param & VAR_MEAN)
        ret(c, aten_reduce(c, OP_reduce_mean, x, axes, n, keep));
}

/* ---- norms and logs ------------------------------------------------------ */

static bool equals(double a, double b)
{
    return a >= b && a <= b;
}

static val vector_norm(aten_call *c, val x, double ord, const int64_t *axes,
                       uint32_t n, bool keep)
{
    hull_dtype dt = call_dtype(c, x);
    val a = op_unary(c->g, OP_abs, x);

    if (equals(ord, 2)) {
        val s = aten_reduce(c, OP_reduce_sum, binary(c, OP_mul, x, x), axes, n,
                            keep);
        return op_unary(c->g, OP_sqrt, s);
    }
    if (equals(ord, 1))
        return aten_reduce(c, OP_reduce_sum, a, axes, n, keep);
    if (isinf(ord))
        return aten_reduce(c, ord > 0 ? OP_reduce_max : OP_reduce_min, a, axes,
                           n, keep);
    if (equals(ord, 0)) {
        val some = binary(c, OP_ne, x, aten_number(c, dt, 0));
        return aten_reduce(c, OP_reduce_sum, op_cast(c->g, some, dt), axes, n,
                           keep);
    }
    val s = binary(c, OP_pow, a, aten_number(c, dt, ord));
    s = aten_reduce(c, OP_reduce_sum, s, axes, n, keep);
    return binary(c, OP_pow, s, aten_number(c, dt, 1 / ord));
}

/* (self, ord, dim, keepdim, dtype); norm.ScalarOpt_dim has no dtype. */
void aten_vector_norm(aten_call *c)
{
    val x = aten_float(c, arg_tensor(c, 0));
    int64_t axes[HULL_MAX_RANK];
    uint32_t n = arg_axes(c, 2, call_rank(c, x), axes);
    double ord = arg_none(c, 1) ? 2 : arg_num(c, 1);

    if (c->n_args > 4)
        x = op_cast(c->g, x, arg_dtype(c, 4, call_dtype(c, x)));
    if (c->st == HULL_OK)
        ret(c, vector_norm(c, x, ord, axes, n, arg_bool(c, 3)));
}

/* norm.Scalar(self, p): over everything. */
void aten_norm_all(aten_call *c)
{
    val x = aten_float(c, arg_tensor(c, 0));
    int64_t axes[HULL_MAX_RANK];
    uint32_t n = call_rank(c, x);
    double p = arg_none(c, 1) ? 2 : arg_num(c, 1);

    for (uint32_t i = 0; i < n; i++)
        axes[i] = i;
    if (c->st == HULL_OK)
        ret(c, vector_norm(c, x, p, axes, n, false));
}

/* frobenius_norm.dim(self, dim, keepdim) */
void aten_frobenius(aten_call *c)
{
    val x = aten_float(c, arg_tensor(c, 0));
    int64_t axes[HULL_MAX_RANK];
    uint32_t n = arg_axes(c, 1, call_rank(c, x), axes);

    if (c->st == HULL_OK)
        ret(c, vector_norm(c, x, 2, axes, n, arg_bool(c, 2)));
}

/* Both broadcast to their common shape. */
static void to_one_shape(aten_call *c, val *a, val *b)
{
    uint32_t ra = call_rank(c, *a), rb = call_rank(c, *b);
    uint32_t rank = ra > rb ? ra : rb;
    dim d[HULL_MAX_RANK];

    for (uint32_t i = 0; i < rank; i++) {
        dim da = i + ra < rank ? 1 : call_dims(c, *a)[i + ra - rank];
        dim db = i + rb < rank ? 1 : call_dims(c, *b)[i + rb - rank];

        d[i] = dim_bcast(c->m, da, db);
    }
    *a = aten_broadcast(c, *a, d, rank);
    *b = aten_broadcast(c, *b, d, rank);
}

/* x1.x2 / (max(|x1|, eps) max(|x2|, eps)), of halves in f32 */
void aten_cosine_similarity(aten_call *c)
{
    const aten_value *x[] = {&c->args[0], &c->args[1]};
    hull_dtype to = aten_promote(c, x, 2), dt = to;
    double eps = arg_num(c, 3);

    if (dt == HULL_F16 || dt == HULL_BF16)
        dt = HULL_F32;
    val a = aten_as(c, x[0], dt), b = aten_as(c, x[1], dt);
    to_one_shape(c, &a, &b);
    int64_t axis = arg_axis(c, 2, call_rank(c, a));
    if (c->st != HULL_OK)
        return;
    val na = vector_norm(c, a, 2, &axis, 1, true);
    val nb = vector_norm(c, b, 2, &axis, 1, true);
    a = binary(c, OP_div, a, aten_clamp(c, na, eps, HUGE_VAL));
    b = binary(c, OP_div, b, aten_clamp(c, nb, eps, HUGE_VAL));
    ret(c, op_cast(c->g, aten_reduce(c, OP_reduce_sum,
                                     binary(c, OP_mul, a, b), &axis, 1, false),
                   to));
}

/* v g / |v|, the norm over every dim but `dim`. */
void aten_weight_norm(aten_call *c)
{
    val v = arg_tensor(c, 0), w = arg_tensor(c, 1);
    uint32_t rank = call_rank(c, v), n = 0;
    uint32_t dim_at = arg_axis(c, 2, rank);
    int64_t axes[HULL_MAX_RANK];

    front_is_parameter(c->f, v);
    front_is_parameter(c->f, w);
    for (uint32_t i = 0; i < rank; i++)
        if (i != dim_at)
            axes[n++] = i;
    if (c->st != HULL_OK)
        return;
    hull_dtype dt = call_dtype(c, v);
    if (dt == HULL_F16 || dt == HULL_BF16) {
        v = op_cast(c->g, v, HULL_F32);
        w = op_cast(c->g, w, HULL_F32);
    }
    val norm = n ? vector_norm(c, v, 2, axes, n, true)
                 : op_unary(c->g, OP_abs, v);
    val y = binary(c, OP_mul, v, binary(c, OP_div, w, norm));
    ret(c, op_cast(c->g, y, dt));
    if (c->row->param)
        ret(c, norm);
}

static bool is_empty(aten_call *c, val x)
{
    for (uint32_t i = 0; i < call_rank(c, x); i++)
        if (call_dims(c, x)[i] == 0)
            return true;
    return false;
}

/* m + log(sum(exp(x - m))), where an infinite m counts as 0. */
void aten_logsumexp(aten_call *c)
{
    val x = aten_float(c, arg_tensor(c, 0));
    int64_t axes[HULL_MAX_RANK];
    uint32_t n = arg_axes(c, 1, call_rank(c, x), axes);
    bool keep = arg_bool(c, 2);

    if (c->st != HULL_OK)
        return;
    if (n && is_empty(c, x)) { /* there is no largest element */
        val e = op_unary(c->g, OP_exp, x);

        ret(c, op_unary(c->g, OP_log, aten_reduce(c, OP_reduce_sum, e, axes, n,
                                                  keep)));
        return;
    }
    val m = aten_reduce(c, OP_reduce_max, x, axes, n, true);
    m = aten_where(c, op_unary(c->g, OP_is_inf, m),
                   aten_number(c, call_dtype(c, x), 0), m);
    val e = op_unary(c->g, OP_exp, binary(c, OP_sub, x, m));
    val s = aten_reduce(c, OP_reduce_sum, e, axes, n, true);
    s = binary(c, OP_add, op_unary(c->g, OP_log, s), m);
    if (!keep && n) {
        dim d[HULL_MAX_RANK];
        uint32_t left = 0, rank = call_rank(c, x);

        for (uint32_t i = 0, k = 0; i < rank; i++) {
            if (k < n && axes[k] == i)
                k++;
            else
                d[left++] = call_dims(c, x)[i];
        }
        s = op_reshape(c->g, s, d, left);
    }
    ret(c, s);
}

/* aminmax(self, dim, keepdim): one axis, or all of them. */
void aten_aminmax(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t rank = call_rank(c, x), n = 0;
    bool all = arg_none(c, 1) || rank == 0, keep = arg_bool(c, 2);
    int64_t axes[HULL_MAX_RANK];

    if (!all)
        axes[n++] = arg_axis(c, 1, rank);
    for (uint32_t i = 0; all && i < rank; i++)
        axes[n++] = i;
    if (c->st != HULL_OK)
        return;
    ret(c, aten_reduce(c, OP_reduce_min, x, axes, n, keep));
    ret(c, aten_reduce(c, OP_reduce_max, x, axes, n, keep));
}

/* (self, dim, keepdim, dtype) */
void aten_nansum(aten_call *c)
{
    val x = arg_tensor(c, 0);
    int64_t axes[HULL_MAX_RANK];
    uint32_t n = arg_axes(c, 1, call_rank(c, x), axes);

    if (dtype_is_float(call_dtype(c, x)))
        x = aten_where(c, op_unary(c->g, OP_is_nan, x),
                       aten_number(c, call_dtype(c, x), 0), x);
    x = widened(c, x, arg_dtype(c, 3, HULL_NONE));
    ret(c, aten_reduce(c, OP_reduce_sum, x, axes, n, arg_bool(c, 2)));
}

/* (self, dim) */
void aten_count_nonzero(aten_call *c)
{
    val x = op_cast(c->g, op_cast(c->g, arg_tensor(c, 0), HULL_BOOL), HULL_I64);
    int64_t axes[HULL_MAX_RANK];
    uint32_t n = arg_axes(c, 1, call_rank(c, x), axes);

    ret(c, aten_reduce(c, OP_reduce_sum, x, axes, n, false));
}
