/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_norm.c - lowerings of normalisations.
 */
#include "front/onnx_lower.h"

#include <inttypes.h>
#include <string.h>

static void mark_inputs(onnx_call *c)
{
    for (uint32_t i = 1; i < c->n_in; i++)
        if (c->in[i])
            front_is_parameter(c->f, c->in[i]);
}

/* old * momentum + new * (1 - momentum) */
static val blend(onnx_call *c, val old, val new, double momentum)
{
    val a = op_binary(c->g, OP_mul, old, onnx_scalar_like(c, old, momentum));
    val b = op_binary(c->g, OP_mul, op_cast(c->g, new, graph_type(c->g, old)
                                                           ->dtype),
                      onnx_scalar_like(c, old, 1.0 - momentum));

    return op_binary(c->g, OP_add, a, b);
}

/* Training: the statistics of this batch, and running ones as outputs. */
static hull_status batch_statistics(onnx_call *c, val *mean, val *var)
{
    const type *t = onnx_type(c, c->in[0]);
    double momentum = onnx_float(c, "momentum", 0.9);
    int64_t axes[HULL_MAX_RANK];
    uint32_t n = 0;

    if (!t || c->version < 14 || t->rank < 2)
        return fail(HULL_EUNSUPPORTED, "training_mode before opset 14 or of "
                    "rank below 2");
    for (uint32_t i = 0; i < t->rank; i++)
        if (i != 1)
            axes[n++] = i;
    val x = c->in[0], wide = onnx_reduce(c, OP_reduce_mean, x, axes, n, true);
    val d = op_binary(c->g, OP_sub, x, wide);
    *mean = onnx_reduce(c, OP_reduce_mean, x, axes, n, false);
    *var = onnx_reduce(c, OP_reduce_mean, op_binary(c->g, OP_mul, d, d), axes,
                       n, false);
    TRY(ir_status(c->m));
    if (onnx_wants(c, 1))
        c->out[1] = blend(c, c->in[3], *mean, momentum);
    if (onnx_wants(c, 2))
        c->out[2] = blend(c, c->in[4], *var, momentum);
    return ir_status(c->m);
}

hull_status onnx_batch_norm(onnx_call *c)
{
    val mean = c->in[3], var = c->in[4];

    if (onnx_int(c, "training_mode", 0) != 0)
        TRY(batch_statistics(c, &mean, &var));
    if (c->version < 7 && onnx_int(c, "is_test", 0) == 0)
        return fail(HULL_EUNSUPPORTED, "is_test is 0");
    if (onnx_int(c, "spatial", 1) != 1)
        return fail(HULL_EUNSUPPORTED, "spatial is 0");
    mark_inputs(c);
    node *n = node_new(c->g, OP_batch_norm);
    for (uint32_t i = 0; i < 3; i++)
        node_input(c->g, n, c->in[i]);
    node_input(c->g, n, mean);
    node_input(c->g, n, var);
    node_float(c->g, n, "eps", onnx_float(c, "epsilon", 1e-5));
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}

static val add_group_norm(onnx_call *c, val scale, val bias, int64_t groups)
{
    node *n = node_new(c->g, OP_group_norm);

    node_input(c->g, n, c->in[0]);
    node_input(c->g, n, scale);
    node_input(c->g, n, bias);
    node_int(c->g, n, "groups", groups);
    node_float(c->g, n, "eps", onnx_float(c, "epsilon", 1e-5));
    return node_add(c->g, n);
}

static hull_status channels(onnx_call *c, int64_t *out)
{
    const type *t = onnx_type(c, c->in[0]);

    *out = 0;
    if (!t)
        return ir_status(c->m);
    if (t->rank < 2 || !dim_is_int(c->m, t->dims[1], out))
        return fail(HULL_EUNSUPPORTED, "the number of channels is not fixed");
    return HULL_OK;
}

hull_status onnx_instance_norm(onnx_call *c)
{
    int64_t n = 0;

    TRY(channels(c, &n));
    mark_inputs(c);
    c->out[0] = add_group_norm(c, c->in[1], c->in[2], n);
    return HULL_OK;
}

/* Opset 18 to 20: one scale per group; repeated for each of its channels. */
static val per_channel(onnx_call *c, val v, int64_t groups, int64_t n)
{
    dim one[2] = {groups, 1}, wide[2] = {groups, n / groups}, flat[1] = {n};

    v = op_expand(c->g, op_reshape(c->g, v, one, 2), wide, 2);
    return op_reshape(c->g, v, flat, 1);
}

/* All statistics are wider than f32; less is not what a model may ask for. */
static hull_status want_stash(onnx_call *c)
{
    int64_t code = onnx_int(c, "stash_type", 1);

    if (code == 1)
        return HULL_OK;
    return fail(HULL_EUNSUPPORTED, "stash_type is %" PRId64 ", want 1", code);
}

hull_status onnx_group_norm(onnx_call *c)
{
    int64_t n = 0, groups = onnx_int(c, "num_groups", 0);
    val scale = c->in[1], bias = c->in[2];

    TRY(channels(c, &n));
    TRY(want_stash(c));
    if (groups < 1 || n % groups != 0)
        return fail(HULL_EFORMAT, "num_groups is %" PRId64 " for %" PRId64
                    " channels", groups, n);
    mark_inputs(c);
    if (c->version < 21) {
        scale = per_channel(c, scale, groups, n);
        bias = per_channel(c, bias, groups, n);
    }
    c->out[0] = add_group_norm(c, scale, bias, groups);
    return HULL_OK;
}

/* The optional outputs Mean and InvStdDev, from the definition. */
static hull_status statistics(onnx_call *c, uint32_t axis, uint32_t rank,
                              double eps)
{
    int64_t axes[HULL_MAX_RANK];
    uint32_t n = rank - axis;

    for (uint32_t i = 0; i < n; i++)
        axes[i] = axis + i;
    val x = op_cast(c->g, c->in[0], HULL_F32);
    val mean = onnx_reduce(c, OP_reduce_mean, x, axes, n, true);
    val d = op_binary(c->g, OP_sub, x, mean);
    val var = onnx_reduce(c, OP_reduce_mean, op_binary(c->g, OP_mul, d, d),
                          axes, n, true);
    var = op_binary(c->g, OP_add, var, onnx_scalar_like(c, var, eps));
    if (onnx_wants(c, 1))
        c->out[1] = mean;
    if (onnx_wants(c, 2))
        c->out[2] = op_unary(c->g, OP_rsqrt, var);
    return HULL_OK;
}

static hull_status norm_axis(onnx_call *c, uint32_t *axis, uint32_t *rank)
{
    const type *t = onnx_type(c, c->in[0]);

    if (!t)
        return ir_status(c->m);
    *rank = t->rank;
    return onnx_axis(c, onnx_int(c, "axis", -1), t->rank, axis);
}

hull_status onnx_layer_norm(onnx_call *c)
{
    double eps = onnx_float(c, "epsilon", 1e-5);
    uint32_t axis = 0, rank = 0;

    TRY(norm_axis(c, &axis, &rank));
    TRY(want_stash(c));
    mark_inputs(c);
    node *n = node_new(c->g, OP_layer_norm);
    node_input(c->g, n, c->in[0]);
    node_input(c->g, n, c->in[1]);
    if (onnx_in(c, 2))
        node_input(c->g, n, c->in[2]);
    node_int(c->g, n, "axis", axis);
    node_float(c->g, n, "eps", eps);
    c->out[0] = node_add(c->g, n);
    if (onnx_wants(c, 1) || onnx_wants(c, 2))
        return statistics(c, axis, rank, eps);
    return HULL_OK;
}

hull_status onnx_rms_norm(onnx_call *c)
{
    uint32_t axis = 0, rank = 0;

    TRY(norm_axis(c, &axis, &rank));
    TRY(want_stash(c));
    mark_inputs(c);
    node *n = node_new(c->g, OP_rms_norm);
    node_input(c->g, n, c->in[0]);
    node_input(c->g, n, c->in[1]);
    node_int(c->g, n, "axis", axis);
    node_float(c->g, n, "eps", onnx_float(c, "epsilon", 1e-5));
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}

/* x / (bias + alpha * mean of squares over `size` channels)^beta. */
hull_status onnx_lrn(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    int64_t size = onnx_int(c, "size", 0);
    double alpha = onnx_float(c, "alpha", 1e-4);
    double beta = onnx_float(c, "beta", 0.75);
    double bias = onnx_float(c, "bias", 1.0);

    if (!t)
        return ir_status(c->m);
    if (size < 1 || size > INT32_MAX || t->rank < 3)
        return fail(HULL_EFORMAT, "size %" PRId64 " and rank %" PRIu32
                    ", want at least 1 and 3", size, t->rank);
    type x = *t;
    dim flat[4] = {x.dims[0], 1, x.dims[1],
                   dim_product(c->m, x.dims + 2, x.rank - 2)};
    int64_t kernel[2] = {size, 1}, ones[2] = {1, 1};
    int64_t pad[4] = {(size - 1) / 2, 0, size / 2, 0};
    val y = op_binary(c->g, OP_mul, c->in[0], c->in[0]);
    node *n = node_new(c->g, OP_avg_pool);
    node_input(c->g, n, op_reshape(c->g, y, flat, 4));
    node_ints(c->g, n, "kernel", kernel, 2);
    node_ints(c->g, n, "stride", ones, 2);
    node_ints(c->g, n, "pad", pad, 4);
    node_ints(c->g, n, "dilation", ones, 2);
    node_bool(c->g, n, "count_pad", true);
    y = op_reshape(c->g, node_add(c->g, n), x.dims, x.rank);
    y = op_binary(c->g, OP_mul, y, onnx_scalar_like(c, y, alpha));
    y = op_binary(c->g, OP_add, y, onnx_scalar_like(c, y, bias));
    y = op_binary(c->g, OP_pow, y, onnx_scalar_like(c, y, beta));
    c->out[0] = op_binary(c->g, OP_div, c->in[0], y);
    return HULL_OK;
}

hull_status onnx_lp_norm(onnx_call *c)
{
    uint32_t axis = 0, rank = 0;
    int64_t p = onnx_int(c, "p", 2);
    val x = c->in[0], y = 0;

    TRY(norm_axis(c, &axis, &rank));
    if (p != 1 && p != 2)
        return fail(HULL_EFORMAT, "p is %" PRId64 ", want 1 or 2", p);
    int64_t axes[1] = {axis};
    if (p == 1) {
        y = onnx_reduce(c, OP_reduce_sum, op_unary(c->g, OP_abs, x), axes, 1,
                        true);
    } else {
        y = onnx_reduce(c, OP_reduce_sum, op_binary(c->g, OP_mul, x, x), axes,
                        1, true);
        y = op_unary(c->g, OP_sqrt, y);
    }
    /* 0 / 0 is 0 here. */
    val zero = onnx_scalar_like(c, y, 0.0);
    val by = op_where(c->g, op_binary(c->g, OP_eq, y, zero),
                      onnx_scalar_like(c, y, 1.0), y);

    c->out[0] = op_binary(c->g, OP_div, x, by);
    return HULL_OK;
}

hull_status onnx_mean_variance_norm(onnx_call *c)
{
    int64_t axes[HULL_MAX_RANK] = {0, 2, 3};
    uint32_t n = 3;
    const type *t = onnx_type(c, c->in[0]);

    if (onnx_has(c, "axes"))
        TRY(onnx_ints(c, "axes", axes, HULL_MAX_RANK, &n));
    for (uint32_t i = 0; t && i < n; i++) {
        uint32_t at = 0;
        TRY(onnx_axis(c, axes[i], t->rank, &at));
        axes[i] = at;
    }
    val x = c->in[0];
    val d = op_binary(c->g, OP_sub, x,
                      onnx_reduce(c, OP_reduce_mean, x, axes, n, true));
    val var = onnx_reduce(c, OP_reduce_mean, op_binary(c->g, OP_mul, d, d),
                          axes, n, true);
    val by = op_unary(c->g, OP_sqrt, var);
    by = op_binary(c->g, OP_add, by, onnx_scalar_like(c, by, 1e-9));
    c->out[0] = op_binary(c->g, OP_div, d, by);
    return HULL_OK;
}
