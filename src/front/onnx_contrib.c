/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_contrib.c - lowerings of domain com.microsoft, ONNX Runtime's own
 * operators: products and convolutions with an activation behind them,
 * activations with a bias in front, transforms. And the short forms that all
 * lowerings of the domain use.
 */
#include "front/onnx_contrib.h"

#include <inttypes.h>
#include <math.h>

/* ---- shared -------------------------------------------------------------- */

hull_status contrib_want(onnx_call *c, const char *name, int64_t def)
{
    int64_t v = onnx_int(c, name, def);

    if (v == def)
        return HULL_OK;
    return fail(HULL_EUNSUPPORTED, "attribute '%s' is %" PRId64 ", want %"
                PRId64, name, v, def);
}

hull_status contrib_absent(const onnx_call *c, uint32_t i, const char *what)
{
    if (onnx_in(c, i) == 0)
        return HULL_OK;
    return fail(HULL_EUNSUPPORTED, "input %" PRIu32 " (%s) is given", i, what);
}

hull_status contrib_present(const onnx_call *c, const uint32_t *at, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (onnx_in(c, at[i]) == 0)
            return fail(HULL_EFORMAT, "input %" PRIu32 " is missing", at[i]);
    return HULL_OK;
}

void contrib_parameters(onnx_call *c, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        if (onnx_in(c, i))
            front_is_parameter(c->f, c->in[i]);
}

val contrib_matmul(onnx_call *c, val a, val b, bool trans_a, bool trans_b)
{
    node *n = node_new(c->g, OP_matmul);

    node_input(c->g, n, a);
    node_input(c->g, n, b);
    node_bool(c->g, n, "trans_a", trans_a);
    node_bool(c->g, n, "trans_b", trans_b);
    return node_add(c->g, n);
}

val contrib_clamp(onnx_call *c, val x, double lo, double hi)
{
    node *n = node_new(c->g, OP_clamp);

    node_input(c->g, n, x);
    node_float(c->g, n, "min", lo);
    node_float(c->g, n, "max", hi);
    return node_add(c->g, n);
}

val contrib_gelu(onnx_call *c, val x, bool by_tanh)
{
    node *n = node_new(c->g, OP_gelu);

    node_input(c->g, n, x);
    node_bool(c->g, n, "tanh", by_tanh);
    return node_add(c->g, n);
}

val contrib_scaled(onnx_call *c, val x, double by)
{
    return by == 1.0 ? x
                     : op_binary(c->g, OP_mul, x, onnx_scalar_like(c, x, by));
}

val contrib_gather(onnx_call *c, val x, val index, int64_t axis)
{
    node *n = node_new(c->g, OP_gather);

    node_input(c->g, n, x);
    node_input(c->g, n, index);
    node_int(c->g, n, "axis", axis);
    return node_add(c->g, n);
}

val contrib_count(onnx_call *c, dim size, uint32_t axis, uint32_t rank)
{
    dim shape[HULL_MAX_RANK];
    node *n = node_new(c->g, OP_iota);

    for (uint32_t i = 0; i < rank; i++)
        shape[i] = i == axis ? size : 1;
    node_dims(c->g, n, "shape", shape, rank);
    node_int(c->g, n, "axis", axis);
    return node_add(c->g, n);
}

val contrib_size(onnx_call *c, dim d)
{
    return op_reshape(c->g, op_dims(c->g, &d, 1), NULL, 0);
}

val contrib_channels(onnx_call *c, val x, bool first)
{
    const type *t = onnx_type(c, x);
    int64_t perm[HULL_MAX_RANK] = {0};

    if (!t || t->rank < 3)
        return x;
    for (uint32_t i = 1; i < t->rank; i++)
        perm[i] = first ? (i == 1 ? t->rank - 1 : i - 1)
                        : (i + 1 == t->rank ? 1 : i + 1);
    return op_transpose(c->g, x, perm, t->rank);
}

/* ---- activations --------------------------------------------------------- */

/* One operator of the default domain with a value in place of its operand. */
static hull_status other(onnx_call *c, onnx_lower_fn *lower, val *x)
{
    onnx_node bare = *c->n;
    onnx_call now = *c;

    bare.n_attrs = 0; /* those are of the product */
    now.n = &bare;
    now.in = x;
    now.n_in = 1;
    now.n_out = 1;
    now.out = x;
    return lower(&now);
}

static val with_float(onnx_call *c, op_code op, val x, const char *name,
                      double v)
{
    node *n = node_new(c->g, op);

    node_input(c->g, n, x);
    node_float(c->g, n, name, v);
    return node_add(c->g, n);
}

/* *x = name(*x); parameters p[0], p[1] where have says they are given. */
static hull_status activate(onnx_call *c, str name, const double *p,
                            uint32_t have, val *x)
{
    static const struct {
        const char *name;
        op_code op;
    } plain[] = {{"Relu", OP_relu}, {"Tanh", OP_tanh}, {"Gelu", OP_gelu},
                 {"Sigmoid", OP_sigmoid}, {"Softplus", OP_softplus}};

    for (size_t i = 0; i < COUNT_OF(plain); i++) {
        if (!str_is(name, plain[i].name))
            continue;
        *x = op_unary(c->g, plain[i].op, *x);
        return HULL_OK;
    }
    if (str_is(name, "LeakyRelu")) {
        *x = with_float(c, OP_leaky_relu, *x, "alpha", have ? p[0] : 0.01);
    } else if (str_is(name, "Elu")) {
        *x = with_float(c, OP_elu, *x, "alpha", have ? p[0] : 1.0);
    } else if (str_is(name, "Clip")) {
        *x = contrib_clamp(c, *x, have ? p[0] : -INFINITY,
                           have > 1 ? p[1] : INFINITY);
    } else if (str_is(name, "HardSigmoid")) {
        node *n = node_new(c->g, OP_hard_sigmoid);
        node_input(c->g, n, *x);
        node_float(c->g, n, "alpha", have ? p[0] : 0.2);
        node_float(c->g, n, "beta", have > 1 ? p[1] : 0.5);
        *x = node_add(c->g, n);
    } else if (str_is(name, "ThresholdedRelu")) {
        val a = onnx_scalar_like(c, *x, have ? p[0] : 1.0);
        *x = op_where(c->g, op_binary(c->g, OP_gt, *x, a), *x,
                      onnx_scalar_like(c, *x, 0.0));
    } else if (str_is(name, "Softsign")) {
        return other(c, onnx_softsign, x);
    } else if (str_is(name, "HardSwish")) {
        return other(c, onnx_hard_swish, x);
    } else {
        return fail(HULL_EUNSUPPORTED, "attribute 'activation' is '%.*s', "
                    "which has no lowering", STR_ARG(name));
    }
    return HULL_OK;
}

/* ---- products ------------------------------------------------------------ */

/* The first axis to the place before the matrix. */
static val move_batch(onnx_call *c, val x)
{
    const type *t = onnx_type(c, x);
    int64_t perm[HULL_MAX_RANK];

    if (!t || t->rank < 3)
        return x;
    for (uint32_t i = 0; i + 2 < t->rank; i++)
        perm[i] = i + 1;
    perm[t->rank - 2] = 0;
    perm[t->rank - 1] = t->rank - 1;
    return op_transpose(c->g, x, perm, t->rank);
}

hull_status onnx_fused_matmul(onnx_call *c)
{
    val x[2] = {c->in[0], c->in[1]};

    contrib_parameters(c, 1, 2);
    if (onnx_int(c, "transBatchA", 0) != 0)
        x[0] = move_batch(c, x[0]);
    if (onnx_int(c, "transBatchB", 0) != 0)
        x[1] = move_batch(c, x[1]);
    val y = contrib_matmul(c, x[0], x[1], onnx_int(c, "transA", 0) != 0,
                           onnx_int(c, "transB", 0) != 0);
    c->out[0] = contrib_scaled(c, y, onnx_float(c, "alpha", 1.0));
    return HULL_OK;
}

hull_status onnx_fused_gemm(onnx_call *c)
{
    double p[2] = {onnx_float(c, "activation_alpha", 0.0),
                   onnx_float(c, "activation_beta", 0.0)};
    uint32_t have = onnx_has(c, "activation_beta")    ? 2
                    : onnx_has(c, "activation_alpha") ? 1
                                                      : 0;

    TRY(onnx_gemm(c));
    if (!onnx_has(c, "activation"))
        return HULL_OK;
    return activate(c, onnx_str(c, "activation", ""), p, have, &c->out[0]);
}

static hull_status conv_activation(onnx_call *c)
{
    const onnx_attr *a = onnx_attr_of(c, "activation_params");
    double p[2] = {0};
    uint32_t have = 0;

    if (a && (a->type != ONNX_FLOATS || a->n_floats > 2))
        return fail(HULL_EFORMAT, "attribute 'activation_params' is not a "
                    "list of at most 2 floats");
    for (; a && have < a->n_floats; have++)
        p[have] = onnx_f32(c, a->floats[have]);
    if (!onnx_has(c, "activation"))
        return HULL_OK;
    return activate(c, onnx_str(c, "activation", ""), p, have, &c->out[0]);
}

/* activation(conv(x, w) + b + z); the argument 1: channels are last. */
hull_status onnx_fused_conv(onnx_call *c)
{
    bool last = c->row->arg != 0;
    val in[3] = {last ? contrib_channels(c, c->in[0], true) : c->in[0],
                 c->in[1], onnx_in(c, 2)};
    onnx_call now = *c;

    now.in = in;
    now.n_in = 3;
    TRY(onnx_conv(&now));
    if (last)
        c->out[0] = contrib_channels(c, c->out[0], false);
    if (onnx_in(c, 3))
        c->out[0] = op_binary(c->g, OP_add, c->out[0], c->in[3]);
    return conv_activation(c);
}

hull_status onnx_nhwc_max_pool(onnx_call *c)
{
    val in[1] = {contrib_channels(c, c->in[0], true)};
    onnx_call now = *c;

    now.in = in;
    TRY(onnx_max_pool(&now));
    c->out[0] = contrib_channels(c, c->out[0], false);
    return HULL_OK;
}

/* ---- a bias, then ... ---------------------------------------------------- */

/* gelu(x + bias); the argument 1: by tanh. */
hull_status onnx_bias_gelu(onnx_call *c)
{
    val x = c->in[0];

    contrib_parameters(c, 1, 2);
    if (onnx_in(c, 1))
        x = op_binary(c->g, OP_add, x, c->in[1]);
    c->out[0] = contrib_gelu(c, x, c->row->arg != 0);
    return HULL_OK;
}

hull_status onnx_gemm_fast_gelu(onnx_call *c)
{
    val y = contrib_matmul(c, c->in[0], c->in[1], false, false);

    contrib_parameters(c, 1, 3);
    if (onnx_in(c, 2))
        y = op_binary(c->g, OP_add, y, c->in[2]);
    c->out[0] = contrib_gelu(c, y, true);
    return HULL_OK;
}

hull_status onnx_bias_add(onnx_call *c)
{
    contrib_parameters(c, 1, 2);
    val y = op_binary(c->g, OP_add, c->in[0], c->in[1]);
    c->out[0] = op_binary(c->g, OP_add, y, c->in[2]);
    return HULL_OK;
}

/* Inference: data + bias + residual, and a mask of true. */
hull_status onnx_bias_dropout(onnx_call *c)
{
    double training = 0;
    val x = op_binary(c->g, OP_add, c->in[0], c->in[1]);
    const type *t = onnx_type(c, x);

    contrib_parameters(c, 1, 2);
    if (onnx_in(c, 4) &&
        (!front_scalar(c->f, c->in[4], &training) || training != 0))
        return fail(HULL_EUNSUPPORTED, "training_mode is not constant false");
    if (onnx_in(c, 2))
        x = op_binary(c->g, OP_add, x, c->in[2]);
    c->out[0] = x;
    if (onnx_wants(c, 1) && t) {
        type like = *t;
        c->out[1] = op_expand(c->g, op_scalar_i64(c->g, HULL_BOOL, 1),
                              like.dims, like.rank);
    }
    return HULL_OK;
}

/* softmax(data + bias) over the axes from `axis` on. How the bias broadcasts
 * its shape says as well. */
hull_status onnx_bias_softmax(onnx_call *c)
{
    val in[1] = {op_binary(c->g, OP_add, c->in[0], c->in[1])};
    onnx_call now = *c;

    TRY(ir_status(c->m));
    now.in = in;
    now.n_in = 1;
    return onnx_softmax_old(&now);
}

/* Halves of the last axis of x. */
static hull_status halves(onnx_call *c, val x, val *out)
{
    const type *t = onnx_type(c, x);

    if (!t)
        return ir_status(c->m);
    if (t->rank == 0)
        return fail(HULL_ESHAPE, "input 0 has rank 0, want 1 or more");
    uint32_t last = t->rank - 1;
    dim all = t->dims[last], part = dim_div(c->m, all, 2);
    out[0] = op_slice(c->g, x, last, 0, part, 1);
    out[1] = op_slice(c->g, x, last, part, all, 1);
    return HULL_OK;
}

/* The left half times the gelu of the right one. */
hull_status onnx_bias_split_gelu(onnx_call *c)
{
    val part[2] = {0};

    contrib_parameters(c, 1, 2);
    TRY(halves(c, op_binary(c->g, OP_add, c->in[0], c->in[1]), part));
    c->out[0] = op_binary(c->g, OP_mul, part[0],
                          contrib_gelu(c, part[1], false));
    return HULL_OK;
}

/* ---- activations alone --------------------------------------------------- */

/* x sigmoid(alpha x) */
hull_status onnx_quick_gelu(onnx_call *c)
{
    double alpha = onnx_float(c, "alpha", 1.702);
    val by = op_unary(c->g, OP_sigmoid, contrib_scaled(c, c->in[0], alpha));

    c->out[0] = op_binary(c->g, OP_mul, c->in[0], by);
    return HULL_OK;
}

/* silu(scale x): the scale is an operand or alpha. */
hull_status onnx_scaled_silu(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    val x = c->in[0];

    if (!t)
        return ir_status(c->m);
    if (onnx_in(c, 1))
        x = op_binary(c->g, OP_mul, x, op_cast(c->g, c->in[1], t->dtype));
    else
        x = contrib_scaled(c, x, onnx_float(c, "alpha", 1.0));
    c->out[0] = op_unary(c->g, OP_silu, x);
    return HULL_OK;
}

/* g sigmoid(alpha g) (l + beta), both clamped by the limit; without a second
 * operand the first one holds both. */
hull_status onnx_clamped_swiglu(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    double limit = onnx_float(c, "limit", 0.0);
    val part[2] = {c->in[0], onnx_in(c, 1)};

    if (!t)
        return ir_status(c->m);
    hull_dtype dt = t->dtype;
    if (!part[1])
        TRY(halves(c, c->in[0], part));
    for (uint32_t i = 0; i < 2; i++) {
        part[i] = op_cast(c->g, part[i], HULL_F32);
        if (limit > 0.0)
            part[i] = contrib_clamp(c, part[i], i ? -limit : -INFINITY, limit);
    }
    val by = contrib_scaled(c, part[0],
                            onnx_float(c, "activation_alpha", 1.0));
    val g = op_binary(c->g, OP_mul, part[0], op_unary(c->g, OP_sigmoid, by));
    if (onnx_int(c, "round_activation", 0) != 0)
        g = op_cast(c->g, op_cast(c->g, g, dt), HULL_F32);
    double beta = onnx_float(c, "activation_beta", 0.0);
    if (beta != 0.0)
        part[1] = op_binary(c->g, OP_add, part[1],
                            onnx_scalar_like(c, part[1], beta));
    c->out[0] = op_cast(c->g, op_binary(c->g, OP_mul, g, part[1]), dt);
    return HULL_OK;
}

/* x + y gate */
hull_status onnx_gated_add(onnx_call *c)
{
    TRY(contrib_absent(c, 3, "gate_weight"));
    c->out[0] = op_binary(c->g, OP_add, c->in[0],
                          op_binary(c->g, OP_mul, c->in[1], c->in[2]));
    return HULL_OK;
}

/* ---- transforms ---------------------------------------------------------- */

/* Distances of the rows of a [m,n] from those of b [k,n]. */
hull_status onnx_cdist(onnx_call *c)
{
    str metric = onnx_str(c, "metric", "sqeuclidean");
    int64_t one[1] = {1}, zero[1] = {0}, last[1] = {2};

    for (uint32_t i = 0; i < 2; i++) {
        const type *t = onnx_type(c, c->in[i]);

        if (t && t->rank != 2)
            return fail(HULL_ESHAPE, "input %" PRIu32 " has rank %" PRIu32
                        ", want 2", i, t->rank);
    }
    if (!str_is(metric, "sqeuclidean") && !str_is(metric, "euclidean"))
        return fail(HULL_EUNSUPPORTED, "attribute 'metric' is '%.*s', want "
                    "euclidean or sqeuclidean", STR_ARG(metric));
    val a = lower_axes_to_reshape(c->f, c->in[0], one, 1, true);
    val b = lower_axes_to_reshape(c->f, c->in[1], zero, 1, true);
    val d = op_binary(c->g, OP_sub, a, b);
    d = onnx_reduce(c, OP_reduce_sum, op_binary(c->g, OP_mul, d, d), last, 1,
                    false);
    c->out[0] = str_is(metric, "euclidean") ? op_unary(c->g, OP_sqrt, d) : d;
    return HULL_OK;
}

/* Real signals in the last axis to half of their transform, or back (the
 * argument 1). */
hull_status onnx_rfft(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    bool back = c->row->arg != 0;
    int64_t axes[1] = {-1};
    val x = c->in[0];

    if (!t)
        return ir_status(c->m);
    TRY(contrib_want(c, "normalized", 0));
    TRY(contrib_want(c, "onesided", 1));
    TRY(contrib_want(c, "signal_ndim", 1));
    if (t->rank < 1u + back)
        return fail(HULL_ESHAPE, "input 0 has rank %" PRIu32 ", want %d or "
                    "more", t->rank, 1 + back);
    uint32_t axis = t->rank - 1 - back;
    dim size = t->dims[axis];
    if (back)
        size = dim_mul(c->m, dim_sub(c->m, size, 1), 2);
    else
        x = lower_axes_to_reshape(c->f, x, axes, 1, true);
    node *n = node_new(c->g, OP_dft);
    node_input(c->g, n, x);
    node_int(c->g, n, "axis", axis);
    node_dim(c->g, n, "size", size);
    node_bool(c->g, n, "inverse", back);
    node_bool(c->g, n, "onesided", true);
    x = node_add(c->g, n);
    c->out[0] = back ? lower_axes_to_reshape(c->f, x, axes, 1, false) : x;
    return HULL_OK;
}

/* Complex numbers in pairs; the argument 1: times the conjugate of b. */
hull_status onnx_complex_mul(onnx_call *c)
{
    bool conj = c->row->arg != 0;
    val p[2][2] = {{0}}, parts[2];

    for (uint32_t i = 0; i < 2; i++) {
        const type *t = onnx_type(c, c->in[i]);
        int64_t two = 0;

        if (!t)
            return ir_status(c->m);
        if (t->rank < 1 || !dim_is_int(c->m, t->dims[t->rank - 1], &two) ||
            two != 2)
            return fail(HULL_ESHAPE, "the last axis of input %" PRIu32
                        " has not size 2", i);
        uint32_t last = t->rank - 1;
        for (uint32_t k = 0; k < 2; k++)
            p[i][k] = op_slice(c->g, c->in[i], last, k, k + 1, 1);
    }
    graph *g = c->g;
    val rr = op_binary(g, OP_mul, p[0][0], p[1][0]);
    val ii = op_binary(g, OP_mul, p[0][1], p[1][1]);
    val ri = op_binary(g, OP_mul, p[0][0], p[1][1]);
    val im = op_binary(g, OP_mul, p[0][1], p[1][0]);
    parts[0] = op_binary(g, conj ? OP_add : OP_sub, rr, ii);
    parts[1] = op_binary(g, conj ? OP_sub : OP_add, im, ri);
    c->out[0] = op_concat(g, parts, 2, -1);
    return HULL_OK;
}

/* A new axis at a place that the file says. */
hull_status onnx_expand_dims(onnx_call *c)
{
    int64_t axis[1] = {0};
    uint32_t n = 0;

    TRY(front_ints(c->f, c->in[1], axis, 1, &n, "axis"));
    if (n != 1)
        return fail(HULL_EFORMAT, "axis has %" PRIu32 " elements, want 1", n);
    c->out[0] = lower_axes_to_reshape(c->f, c->in[0], axis, 1, true);
    return HULL_OK;
}

/* Rows of a table. */
hull_status onnx_torch_embedding(onnx_call *c)
{
    contrib_parameters(c, 0, 1);
    c->out[0] = contrib_gather(c, c->in[0], c->in[1], 0);
    return HULL_OK;
}

/* All windows of `size` on an axis, `step` apart, as a new last axis. */
hull_status onnx_unfold_tensor(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    int64_t size = onnx_int(c, "size", 0), by = onnx_int(c, "step", 1);
    int64_t perm[HULL_MAX_RANK];
    uint32_t axis = 0, k = 0;

    if (!t)
        return ir_status(c->m);
    TRY(onnx_axis(c, onnx_int(c, "dim", -1), t->rank, &axis));
    if (size < 1 || by < 1 || size > INT32_MAX || by > INT32_MAX ||
        t->rank == HULL_MAX_RANK)
        return fail(HULL_EFORMAT, "size %" PRId64 " and step %" PRId64
                    " in rank %" PRIu32 ", want at least 1", size, by,
                    t->rank);
    uint32_t rank = t->rank;
    dim n = dim_add(c->m, dim_div(c->m, dim_sub(c->m, t->dims[axis], size),
                                  by), 1);
    val at = op_binary(c->g, OP_mul, contrib_count(c, n, 0, 2),
                       op_scalar_i64(c->g, HULL_I64, by));
    at = op_binary(c->g, OP_add, at, contrib_count(c, size, 1, 2));
    for (uint32_t i = 0; i <= rank; i++)
        if (i != axis + 1)
            perm[k++] = i;
    perm[k] = axis + 1;
    c->out[0] = op_transpose(c->g, contrib_gather(c, c->in[0], at, axis),
                             perm, rank + 1);
    return HULL_OK;
}

/* ---- inverse ------------------------------------------------------------- */

typedef struct inverse {
    onnx_call *c;
    uint32_t rank; /* of the matrices */
    dim n;
} inverse;

/* [..] at place k of axis `axis`, which stays with size 1. */
static val line_at(onnx_call *c, val x, val k, int64_t axis)
{
    int64_t axes[1] = {axis};

    return lower_axes_to_reshape(c->f, contrib_gather(c, x, k, axis), axes, 1,
                                 true);
}

/* One column of Gauss and Jordan on [a | 1], in [..,n,2n]: the row with the
 * largest pivot changes places with row k, and the column is cleared. */
static hull_status clear_column(front *f, void *user, const val *in, val *out)
{
    const inverse *p = user;
    onnx_call *c = p->c;
    graph *g = f->g;
    int64_t rows = p->rank - 2, cols = p->rank - 1;
    val m = in[0], k = in[1];
    val row = contrib_count(c, p->n, p->rank - 2, p->rank);
    val size = op_unary(g, OP_abs, line_at(c, m, k, cols));

    size = op_where(g, op_binary(g, OP_ge, row, k), size,
                    onnx_scalar_like(c, size, -1.0));
    val best = onnx_reduce(c, OP_arg_max, size, &rows, 1, true);
    val is_best = op_binary(g, OP_eq, row, best);
    val pivot = onnx_reduce(c, OP_reduce_sum,
                            op_where(g, is_best, m,
                                     onnx_scalar_like(c, m, 0.0)),
                            &rows, 1, true);
    m = op_where(g, is_best, line_at(c, m, k, rows), m);
    pivot = op_binary(g, OP_div, pivot, line_at(c, pivot, k, cols));
    val rest = op_binary(g, OP_mul, line_at(c, m, k, cols), pivot);
    out[0] = op_where(g, op_binary(g, OP_eq, row, k), pivot,
                      op_binary(g, OP_sub, m, rest));
    return ir_status(f->m);
}

/* Of the matrices in the last two axes, in f64. */
hull_status onnx_inverse(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    dim one[2], d[HULL_MAX_RANK];

    if (!t)
        return ir_status(c->m);
    if (t->rank < 2)
        return fail(HULL_ESHAPE, "input 0 has rank %" PRIu32 ", want 2 or "
                    "more", t->rank);
    uint32_t rank = t->rank;
    hull_dtype dt = t->dtype;
    inverse p = {c, rank, t->dims[rank - 1]};
    for (uint32_t i = 0; i < rank; i++)
        d[i] = t->dims[i];
    one[0] = one[1] = p.n;
    val is = op_binary(c->g, OP_eq, contrib_count(c, p.n, 0, 2),
                       contrib_count(c, p.n, 1, 2));
    is = op_expand(c->g, op_cast(c->g, is, HULL_F64), one, 2);
    val both[2] = {op_cast(c->g, c->in[0], HULL_F64),
                   op_expand(c->g, is, d, rank)};
    val m = op_concat(c->g, both, 2, rank - 1), out = 0;
    val steps = contrib_count(c, p.n, 0, 1);
    lower_scan s = {.n_states = 1, .n_slices = 1, .states = &m,
                    .whole = &steps, .step = clear_column, .user = &p};
    TRY(ir_status(c->m));
    TRY(lower_scan_add(c->f, &s, &out));
    out = op_slice(c->g, out, rank - 1, p.n, dim_mul(c->m, p.n, 2), 1);
    c->out[0] = op_cast(c->g, out, dt);
    return HULL_OK;
}
