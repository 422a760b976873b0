/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * aten_nn.c - lowerings of layers: matrix products, convolution,
 * normalisation, attention, resampling.
 */
#include "front/aten.h"

#include <math.h>
#include <string.h>

#define SPATIAL_MAX 3

static bool is_zero(double v)
{
    return v <= 0 && v >= 0;
}

static bool is_one(double v)
{
    return v <= 1 && v >= 1;
}

/* ---- products ------------------------------------------------------------ */

void aten_linear(aten_call *c)
{
    val x = arg_tensor(c, 0), w = arg_tensor(c, 1), b = arg_optional(c, 2);

    if (c->st == HULL_OK)
        ret(c, lower_linear(c->f, x, w, b));
}

void aten_matmul_two(aten_call *c)
{
    val a = arg_tensor(c, 0), b = arg_tensor(c, 1);

    ret(c, aten_matmul(c, a, b, 0));
}

void aten_det(aten_call *c)
{
    ret(c, op_unary(c->g, OP_det, arg_tensor(c, 0)));
}

static val scaled(aten_call *c, val x, uint32_t arg)
{
    if (is_one(arg_num(c, arg)))
        return x;
    return op_binary(c->g, OP_mul, x,
                     aten_as(c, &c->args[arg], call_dtype(c, x)));
}

/* beta self + alpha (a b); with beta = 0 self is not read. */
void aten_addmm(aten_call *c)
{
    val bias = arg_tensor(c, 0), a = arg_tensor(c, 1), b = arg_tensor(c, 2);
    bool plain = is_one(arg_num(c, 3)) && is_one(arg_num(c, 4));

    if (c->st != HULL_OK)
        return;
    if (plain) {
        ret(c, aten_matmul(c, a, b, bias));
        return;
    }
    hull_dtype to = call_dtype(c, a);
    if (to == HULL_F16 || to == HULL_BF16) { /* one rounding, at the end */
        a = op_cast(c->g, a, HULL_F32);
        b = op_cast(c->g, b, HULL_F32);
        bias = op_cast(c->g, bias, HULL_F32);
    }
    val y = scaled(c, aten_matmul(c, a, b, 0), 4);
    if (!is_zero(arg_num(c, 3)))
        y = op_binary(c->g, OP_add, y, scaled(c, bias, 3));
    ret(c, op_cast(c->g, y, to));
}

/* ---- convolution --------------------------------------------------------- */

typedef struct window {
    uint32_t n;                         /* spatial axes */
    int64_t stride[SPATIAL_MAX], pad[2 * SPATIAL_MAX];
    int64_t dilation[SPATIAL_MAX], out_pad[SPATIAL_MAX];
    int64_t groups;
} window;

static val conv(aten_call *c, val x, val w, val b, const window *d,
                bool transposed)
{
    uint32_t rank = call_rank(c, w);
    bool batched = call_rank(c, x) == rank;

    if (c->st != HULL_OK)
        return 0;
    front_is_parameter(c->f, w);
    if (b)
        front_is_parameter(c->f, b);
    if (!batched)
        x = aten_insert_axis(c, x, 0);
    node *n = node_new(c->g, transposed ? OP_conv_transpose : OP_conv);
    node_input(c->g, n, x);
    node_input(c->g, n, w);
    if (b)
        node_input(c->g, n, b);
    node_ints(c->g, n, "stride", d->stride, d->n);
    node_ints(c->g, n, "pad", d->pad, 2 * d->n);
    node_ints(c->g, n, "dilation", d->dilation, d->n);
    if (transposed)
        node_ints(c->g, n, "out_pad", d->out_pad, d->n);
    node_int(c->g, n, "groups", d->groups);
    x = node_add(c->g, n);
    return batched ? x : aten_drop_axis(c, x, 0);
}

/* Number of spatial axes from the weight's rank; 0 when it does not fit. */
static uint32_t spatial(aten_call *c, val w)
{
    uint32_t rank = call_rank(c, w);

    if (rank < 3 || rank > 2 + SPATIAL_MAX)
        call_fail(c, HULL_EUNSUPPORTED, "weight of unfit rank");
    return c->st == HULL_OK ? rank - 2 : 0;
}

/* Both sides from one number per axis. */
static void read_pads(aten_call *c, uint32_t arg, window *d)
{
    arg_spatial(c, arg, d->n, 0, d->pad);
    memcpy(d->pad + d->n, d->pad, d->n * sizeof *d->pad);
}

/* "same": the total is dilation (k - 1), the odd one at the end. */
static void pads_by_name(aten_call *c, uint32_t arg, val w, window *d)
{
    str mode = arg_str(c, arg);

    for (uint32_t i = 0; i < d->n && str_is(mode, "same"); i++) {
        int64_t k = 0, total = 0;

        if (!dim_is_int(c->m, call_dims(c, w)[2 + i], &k) ||
            !mul_i64(&total, d->dilation[i], k - 1))
            call_fail(c, HULL_EUNSUPPORTED, "kernel size");
        d->pad[i] = total / 2;
        d->pad[d->n + i] = total - total / 2;
    }
    if (!str_is(mode, "same") && !str_is(mode, "valid"))
        call_fail(c, HULL_EUNSUPPORTED, "padding mode");
}

/* conv1d, conv2d, conv3d and their .padding forms */
void aten_conv(aten_call *c)
{
    val x = arg_tensor(c, 0), w = arg_tensor(c, 1), b = arg_optional(c, 2);
    window d = {.n = spatial(c, w)};

    arg_spatial(c, 3, d.n, 1, d.stride);
    arg_spatial(c, 5, d.n, 1, d.dilation);
    d.groups = arg_int(c, 6);
    if (c->args[4].kind == ATEN_STR)
        pads_by_name(c, 4, w, &d);
    else
        read_pads(c, 4, &d);
    ret(c, conv(c, x, w, b, &d, false));
}

/* (input, weight, bias, stride, padding, output_padding, groups, dilation) */
void aten_conv_transpose(aten_call *c)
{
    val x = arg_tensor(c, 0), w = arg_tensor(c, 1), b = arg_optional(c, 2);
    window d = {.n = spatial(c, w)};

    arg_spatial(c, 3, d.n, 1, d.stride);
    read_pads(c, 4, &d);
    arg_spatial(c, 5, d.n, 0, d.out_pad);
    d.groups = arg_int(c, 6);
    arg_spatial(c, 7, d.n, 1, d.dilation);
    ret(c, conv(c, x, w, b, &d, true));
}

/* (input, weight, bias, stride, padding, dilation, transposed,
 * output_padding, groups) */
void aten_convolution(aten_call *c)
{
    val x = arg_tensor(c, 0), w = arg_tensor(c, 1), b = arg_optional(c, 2);
    window d = {.n = spatial(c, w)};

    arg_spatial(c, 3, d.n, 1, d.stride);
    read_pads(c, 4, &d);
    arg_spatial(c, 5, d.n, 1, d.dilation);
    arg_spatial(c, 7, d.n, 0, d.out_pad);
    d.groups = arg_int(c, 8);
    ret(c, conv(c, x, w, b, &d, arg_bool(c, 6)));
}

/* ---- normalisation ------------------------------------------------------- */

static val parameter_or(aten_call *c, uint32_t i, double fill, dim n,
                        hull_dtype dt)
{
    val v = arg_optional(c, i);

    if (v) {
        front_is_parameter(c->f, v);
        return v;
    }
    return aten_full(c, aten_number(c, dt, fill), &n, 1);
}

/* Statistics of x over `axes`, kept with size 1. */
typedef struct statistics {
    val centred, mean, rstd;
} statistics;

static statistics statistics_of(aten_call *c, val x, const int64_t *axes,
                                uint32_t n, double eps)
{
    hull_dtype dt = call_dtype(c, x);
    statistics s = {.mean = aten_reduce(c, OP_reduce_mean, x, axes, n, true)};

    s.centred = op_binary(c->g, OP_sub, x, s.mean);
    val var = aten_reduce(c, OP_reduce_mean,
                          op_binary(c->g, OP_mul, s.centred, s.centred), axes,
                          n, true);
    s.rstd = op_unary(c->g, OP_rsqrt,
                      op_binary(c->g, OP_add, var, aten_number(c, dt, eps)));
    return s;
}

static val wide(aten_call *c, val x)
{
    hull_dtype dt = call_dtype(c, x);

    return dt == HULL_F16 || dt == HULL_BF16 ? op_cast(c->g, x, HULL_F32) : x;
}

/* The saved mean and 1/sqrt(var + eps) as results of shape d. They are f32 for
 * halves, or x's type when `narrow`. Nodes that nobody reads go away. */
static void ret_statistics(aten_call *c, val x, const int64_t *axes, uint32_t n,
                           double eps, const dim *d, uint32_t rank, bool narrow)
{
    statistics s = statistics_of(c, wide(c, x), axes, n, eps);
    hull_dtype dt = narrow ? call_dtype(c, x) : call_dtype(c, s.mean);

    ret(c, op_reshape(c->g, op_cast(c->g, s.mean, dt), d, rank));
    ret(c, op_reshape(c->g, op_cast(c->g, s.rstd, dt), d, rank));
}

/* x normalised over `axes` with its own statistics, then scaled per channel. */
static val own_statistics(aten_call *c, val x, const int64_t *axes, uint32_t n,
                          val w, val b, double eps)
{
    uint32_t rank = call_rank(c, x);
    hull_dtype to = call_dtype(c, x);
    dim d[HULL_MAX_RANK];

    for (uint32_t i = 0; i < rank; i++)
        d[i] = i == 1 ? call_dims(c, x)[1] : 1;
    statistics s = statistics_of(c, wide(c, x), axes, n, eps);
    x = op_binary(c->g, OP_mul, s.centred, s.rstd);
    if (w)
        x = op_binary(c->g, OP_mul, x,
                      wide(c, op_reshape(c->g, w, d, rank)));
    if (b)
        x = op_binary(c->g, OP_add, x,
                      wide(c, op_reshape(c->g, b, d, rank)));
    return op_cast(c->g, x, to);
}

static uint32_t axes_but_channels(aten_call *c, val x, int64_t *axes)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < call_rank(c, x); i++)
        if (i != 1)
            axes[n++] = i;
    return n;
}

static void batch_statistics(aten_call *c, val x, uint32_t w, double eps)
{
    int64_t axes[HULL_MAX_RANK];
    uint32_t n = axes_but_channels(c, x, axes);

    ret(c, own_statistics(c, x, axes, n, arg_optional(c, w),
                          arg_optional(c, w + 1), eps));
}

static void batch_norm(aten_call *c, bool training, double eps)
{
    val x = arg_tensor(c, 0);
    bool running = !arg_none(c, 3) && !arg_none(c, 4);

    if (call_rank(c, x) < 2)
        call_fail(c, HULL_EFORMAT, "operand of rank below 2");
    if (training && running)
        call_fail(c, HULL_EUNSUPPORTED,
                  "exported in training mode; call model.eval() before export");
    if (!training && !running)
        call_fail(c, HULL_EFORMAT, "no running statistics to evaluate with");
    if (c->st != HULL_OK)
        return;
    if (!running) {
        batch_statistics(c, x, 1, eps);
        return;
    }
    dim channels = call_dims(c, x)[1];
    hull_dtype dt = call_dtype(c, x);
    val w = parameter_or(c, 1, 1, channels, dt);
    val b = parameter_or(c, 2, 0, channels, dt);
    val mean = parameter_or(c, 3, 0, channels, dt);
    val var = parameter_or(c, 4, 1, channels, dt);
    node *n = node_new(c->g, OP_batch_norm);
    node_input(c->g, n, x);
    node_input(c->g, n, w);
    node_input(c->g, n, b);
    node_input(c->g, n, mean);
    node_input(c->g, n, var);
    node_float(c->g, n, "eps", eps);
    ret(c, node_add(c->g, n));
}

/* (input, weight, bias, mean, var, [training,] momentum, eps, ...); param:
 * position of eps, negative where there is no `training`. Three results but
 * for batch_norm itself. */
void aten_batch_norm(aten_call *c)
{
    bool no_flag = c->row->param < 0;
    uint32_t eps = (uint32_t)(no_flag ? -c->row->param : c->row->param);

    batch_norm(c, !no_flag && arg_bool(c, 5), arg_num(c, eps));
    if (!str_is(str_of(c->row->name), "batch_norm") && c->st == HULL_OK) {
        dim none = 0; /* nothing is saved when evaluating */
        val empty = aten_full(c, aten_number(c, call_dtype(c, c->args[0].v), 0),
                              &none, 1);

        ret(c, empty);
        ret(c, empty);
    }
}

/* _native_batch_norm_legit.no_stats(input, weight, bias, training, momentum,
 * eps) */
void aten_batch_norm_no_stats(aten_call *c)
{
    val x = arg_tensor(c, 0);

    if (!arg_bool(c, 3))
        call_fail(c, HULL_EFORMAT, "no running statistics to evaluate with");
    int64_t axes[HULL_MAX_RANK];
    uint32_t n = axes_but_channels(c, x, axes);
    double eps = arg_num(c, 5);
    if (call_rank(c, x) < 2)
        call_fail(c, HULL_EFORMAT, "operand of rank below 2");
    if (c->st != HULL_OK)
        return;
    dim channels = call_dims(c, x)[1];
    batch_statistics(c, x, 1, eps);
    ret_statistics(c, x, axes, n, eps, &channels, 1, true);
}

/* (input, weight, bias, mean, var, use_input_stats, momentum, eps, ...) */
void aten_instance_norm(aten_call *c)
{
    val x = arg_tensor(c, 0);
    int64_t axes[HULL_MAX_RANK];
    uint32_t n = 0, rank = call_rank(c, x);

    if (!arg_bool(c, 5)) {
        batch_norm(c, false, arg_num(c, 7));
        return;
    }
    for (uint32_t i = 2; i < rank; i++)
        axes[n++] = i;
    if (n == 0)
        call_fail(c, HULL_EFORMAT, "operand of rank below 3");
    if (c->st == HULL_OK)
        ret(c, own_statistics(c, x, axes, n, arg_optional(c, 1),
                              arg_optional(c, 2), arg_num(c, 7)));
}

static node *norm_node(aten_call *c, op_code op, uint32_t w, uint32_t b)
{
    node *n = node_new(c->g, op);
    val weight = arg_optional(c, w), bias = b ? arg_optional(c, b) : 0;

    node_input(c->g, n, arg_tensor(c, 0));
    if (weight)
        front_is_parameter(c->f, weight);
    if (bias)
        front_is_parameter(c->f, bias);
    if (weight || bias)
        node_input(c->g, n, weight);
    if (bias)
        node_input(c->g, n, bias);
    return n;
}

/* The first axis of normalized_shape, argument 1: x must end with it. */
static uint32_t normalized_axis(aten_call *c, val x)
{
    uint32_t rank = call_rank(c, x);
    dim d[HULL_MAX_RANK];
    uint32_t n = arg_dims(c, 1, d, HULL_MAX_RANK);
    bool fits = n > 0 && n <= rank;
    int64_t have = 0, want = 0;

    for (uint32_t i = 0; fits && i < n; i++)
        fits = !dim_is_int(c->m, call_dims(c, x)[rank - n + i], &have) ||
               !dim_is_int(c->m, d[i], &want) || have == want;
    if (!fits)
        call_fail(c, HULL_EFORMAT, "normalized_shape does not fit");
    return fits ? rank - n : 0;
}

/* layer_norm and native_layer_norm (input, shape, weight, bias, eps); param:
 * 1 = with saved statistics */
void aten_layer_norm(aten_call *c)
{
    uint32_t axis = normalized_axis(c, arg_tensor(c, 0));
    double eps = arg_num(c, 4);

    if (c->st != HULL_OK)
        return;
    node *d = norm_node(c, OP_layer_norm, 2, 3);
    node_int(c->g, d, "axis", axis);
    node_float(c->g, d, "eps", eps);
    ret(c, node_add(c->g, d));
    if (c->row->param) {
        val x = c->args[0].v;
        int64_t axes[HULL_MAX_RANK];
        uint32_t rank = call_rank(c, x), n = 0;
        dim shape[HULL_MAX_RANK];

        for (uint32_t i = 0; i < rank; i++) {
            shape[i] = i < axis ? call_dims(c, x)[i] : 1;
            if (i >= axis)
                axes[n++] = i;
        }
        ret_statistics(c, x, axes, n, eps, shape, rank, true);
    }
}

/* (input, shape, weight, eps); without eps: the f32 epsilon for types up to
 * f32, because halves are computed in f32. */
void aten_rms_norm(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t axis = normalized_axis(c, x);
    double eps = call_dtype(c, x) == HULL_F64 ? 2.220446049250313e-16
                                              : 1.1920928955078125e-07;

    if (!arg_none(c, 3))
        eps = arg_num(c, 3);
    if (c->st != HULL_OK)
        return;
    node *d = norm_node(c, OP_rms_norm, 2, 0);
    node_int(c->g, d, "axis", axis);
    node_float(c->g, d, "eps", eps);
    ret(c, node_add(c->g, d));
}

/* _fused_rms_norm(input, shape, weight, eps): 1/rms, of halves in f32, is a
 * second result. */
void aten_fused_rms_norm(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t rank = call_rank(c, x), axis = normalized_axis(c, x), n = 0;
    int64_t axes[HULL_MAX_RANK];
    double eps = call_dtype(c, x) == HULL_F64 ? 2.220446049250313e-16
                                              : 1.1920928955078125e-07;

    if (!arg_none(c, 3))
        eps = arg_num(c, 3);
    aten_rms_norm(c);
    if (c->st != HULL_OK)
        return;
    for (uint32_t i = axis; i < rank; i++)
        axes[n++] = i;
    val w = wide(c, x);
    w = aten_reduce(c, OP_reduce_mean, op_binary(c->g, OP_mul, w, w), axes, n,
                    true);
    w = op_binary(c->g, OP_add, w, aten_number(c, call_dtype(c, w), eps));
    ret(c, op_unary(c->g, OP_rsqrt, w));
}

static void group_norm(aten_call *c, uint32_t w, uint32_t b, int64_t groups,
                       double eps)
{
    if (c->st != HULL_OK)
        return;
    node *d = norm_node(c, OP_group_norm, w, b);
    node_int(c->g, d, "groups", groups);
    node_float(c->g, d, "eps", eps);
    ret(c, node_add(c->g, d));
}

/* (input, groups, weight, bias, eps, ...) */
void aten_group_norm(aten_call *c)
{
    group_norm(c, 2, 3, arg_int(c, 1), arg_num(c, 4));
}

/* (input, weight, bias, N, C, HxW, group, eps) */
void aten_native_group_norm(aten_call *c)
{
    static const int64_t last = 2;
    int64_t groups = arg_int(c, 6);
    double eps = arg_num(c, 7);
    val x = arg_tensor(c, 0);

    group_norm(c, 1, 2, groups, eps);
    if (call_rank(c, x) < 2 || groups < 1)
        call_fail(c, HULL_EFORMAT, "operand of unfit rank or groups");
    if (c->st != HULL_OK)
        return;
    dim all = type_numel(c->m, call_type(c, x)), n = call_dims(c, x)[0];
    dim d[] = {n, groups, 0};
    int64_t zero = 0;
    bool empty = dim_is_int(c->m, all, &zero) && zero == 0;
    d[2] = empty ? 0 : dim_div(c->m, all, dim_mul(c->m, n, groups));
    ret_statistics(c, op_reshape(c->g, x, d, 3), &last, 1, eps, d, 2, true);
}

/* ---- attention ----------------------------------------------------------- */

/* (query, key, value, mask, dropout, causal, scale, enable_gqa): the op lets
 * kv heads divide q heads without being told. */
void aten_sdpa(aten_call *c)
{
    val q = arg_tensor(c, 0), k = arg_tensor(c, 1), v = arg_tensor(c, 2);
    val mask = arg_optional(c, 3);
    double scale = arg_none(c, 6) ? 0 : arg_num(c, 6);
    bool causal = arg_bool(c, 5);

    if (!is_zero(arg_num(c, 4)))
        call_fail(c, HULL_EUNSUPPORTED,
                  "exported in training mode; call model.eval() before export");
    if (mask && causal)
        call_fail(c, HULL_EFORMAT, "a mask and is_causal");
    if (c->st != HULL_OK)
        return;
    if (!arg_none(c, 6) && is_zero(scale)) { /* to the op 0 is the default */
        q = op_binary(c->g, OP_mul, q, aten_number(c, call_dtype(c, q), 0));
        scale = 1;
    }
    node *n = node_new(c->g, OP_sdpa);
    node_input(c->g, n, q);
    node_input(c->g, n, k);
    node_input(c->g, n, v);
    if (mask)
        node_input(c->g, n, call_dtype(c, mask) == HULL_BOOL
                                ? mask
                                : op_cast(c->g, mask, call_dtype(c, q)));
    node_float(c->g, n, "scale", scale);
    node_bool(c->g, n, "causal", causal);
    ret(c, node_add(c->g, n));
}

/* ---- resampling ---------------------------------------------------------- */

#define RESIZE_AXES 3      /* low two bits of param: number of axes */
#define RESIZE_NEAREST 4
#define RESIZE_EXACT 8     /* nearest at half pixels */
#define RESIZE_LINEAR 16
#define RESIZE_CUBIC 32
#define RESIZE_AA 64
#define RESIZE_PLAIN 128   /* (self, output_size, align, scales_h, scales_w) */

/* floor(size * scale), for a symbolic size where scale is a small fraction. */
static dim scaled_size(aten_call *c, dim size, double scale)
{
    int64_t v = 0;

    if (dim_is_int(c->m, size, &v)) {
        double r = floor((double)v * scale);

        if (r >= 0 && r < 1e15)
            return (dim)r;
    } else if (scale > 0 && scale < 1e6) {
        for (int64_t q = 1; q <= 64; q++) {
            double p = scale * (double)q;

            if (p <= floor(p))
                return dim_div(c->m, dim_mul(c->m, size, (dim)p), q);
        }
    }
    call_fail(c, HULL_EUNSUPPORTED, "scale of a size");
    return 0;
}

/* PyTorch takes the same size, and for nearest twice the size, as such. */
static bool scale_is_left_out(aten_call *c, dim in, dim out)
{
    int32_t p = c->row->param;

    bool nearest2d = (p & RESIZE_NEAREST) && (p & RESIZE_AXES) == 2;

    if ((nearest2d || (p & RESIZE_LINEAR)) && !(p & RESIZE_AA) &&
        dim_eq(c->m, in, out))
        return true;
    return nearest2d && dim_eq(c->m, dim_mul(c->m, in, 2), out);
}

/* Target sizes and the scales that the coordinate map uses (0 = sizes). */
static bool resize_sizes(aten_call *c, val x, uint32_t n, bool has_align,
                         dim *size, double *scale)
{
    uint32_t at = has_align ? 3 : 2, rank = call_rank(c, x);
    bool given = false;

    if (rank != n + 2)
        call_fail(c, HULL_EFORMAT, "operand of unfit rank");
    if (!arg_none(c, 1) && arg_dims(c, 1, size, n) != n)
        call_fail(c, HULL_EFORMAT, "number of output sizes");
    for (uint32_t i = 0; i < n && c->st == HULL_OK; i++) {
        const aten_value *list = &c->args[at];

        scale[i] = 0;
        if (c->row->param & RESIZE_PLAIN) {
            if (!arg_none(c, at + i))
                scale[i] = arg_num(c, at + i);
        } else if (list->kind == ATEN_FLOATS && list->n == n) {
            scale[i] = list->floats[i];
        }
        dim in = call_dims(c, x)[2 + i];
        if (arg_none(c, 1))
            size[i] = scaled_size(c, in, scale[i]);
        if (scale_is_left_out(c, in, size[i]))
            scale[i] = 0;
        given |= scale[i] > 0;
    }
    return given;
}

void aten_resize(aten_call *c)
{
    int32_t p = c->row->param;
    uint32_t n = (uint32_t)(p & RESIZE_AXES);
    bool nearest = (p & (RESIZE_NEAREST | RESIZE_EXACT)) != 0;
    bool align = !nearest && arg_bool(c, 2);
    val x = arg_tensor(c, 0);
    dim size[SPATIAL_MAX];
    double scale[SPATIAL_MAX];
    bool scales = resize_sizes(c, x, n, !nearest, size, scale);

    if (align && (p & RESIZE_AA)) {
        call_missing(c, "of aligned corners with antialiasing");
        return;
    }
    if (c->st != HULL_OK)
        return;
    node *d = node_new(c->g, OP_resize);
    node_input(c->g, d, x);
    node_dims(c->g, d, "size", size, n);
    if (scales && !align)
        node_floats(c->g, d, "scales", scale, n);
    node_str(c->g, d, "mode", str_of(nearest ? "nearest"
                                     : p & RESIZE_CUBIC ? "cubic" : "linear"));
    node_str(c->g, d, "coord", str_of(align ? "align_corners"
                                      : p & RESIZE_NEAREST ? "asymmetric"
                                                           : "half_pixel"));
    if (nearest)
        node_str(c->g, d, "round", str_of(p & RESIZE_EXACT ? "prefer_ceil"
                                                           : "floor"));
    if (p & RESIZE_AA) {
        node_bool(c->g, d, "antialias", true);
        node_bool(c->g, d, "exclude_outside", true);
        node_float(c->g, d, "cubic_a", -0.5);
    }
    ret(c, node_add(c->g, d));
}
