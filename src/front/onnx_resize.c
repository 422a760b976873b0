/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_resize.c - lowerings of Resize (opset 10, 11 and 18) and Upsample: size
 * from scales or sizes, coordinate and rounding modes, regions, leading axes
 * that do not change left alone.
 */
#include "front/onnx_lower.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The axes that a resize names, all of them by default. */
typedef struct target {
    uint32_t rank, n;
    uint32_t axes[HULL_MAX_RANK];
    dim in[HULL_MAX_RANK];
    dim size[HULL_MAX_RANK];     /* for every axis of the operand */
    double scale[HULL_MAX_RANK]; /* 0 = size_out / size_in */
    val scales;                  /* of every axis, when a run decides them */
} target;

static hull_status open_target(onnx_call *c, target *t)
{
    const type *x = onnx_type(c, c->in[0]);
    int64_t axes[HULL_MAX_RANK];
    uint32_t n = 0;

    memset(t, 0, sizeof *t);
    if (!x)
        return ir_status(c->m);
    t->rank = x->rank;
    for (uint32_t i = 0; i < x->rank; i++) {
        t->in[i] = t->size[i] = x->dims[i];
        t->axes[i] = i;
    }
    t->n = x->rank;
    TRY(onnx_ints(c, "axes", axes, HULL_MAX_RANK, &n));
    if (!onnx_has(c, "axes"))
        return HULL_OK;
    t->n = n;
    for (uint32_t i = 0; i < n; i++)
        TRY(onnx_axis(c, axes[i], x->rank, &t->axes[i]));
    return HULL_OK;
}

/* Numbers of the named axes, `parts` times, as numbers of all axes; the others
 * have fill[part]. */
static hull_status spread(onnx_call *c, const target *t, val v,
                          const float *fill, uint32_t parts, val *out)
{
    val all[2 * HULL_MAX_RANK];
    const type *x = onnx_type(c, v);
    int64_t one[1] = {1}, count = 0;
    bool same = t->n == t->rank;

    if (!x || x->rank != 1 || (dim_is_int(c->m, x->dims[0], &count) &&
                               count != (int64_t)(parts * t->n)))
        return fail(HULL_ESHAPE, "%" PRId64 " numbers, want %" PRIu32
                    " for each of %" PRIu32 " axes", count, parts, t->n);
    for (uint32_t i = 0; i < t->n; i++)
        same = same && t->axes[i] == i;
    v = op_cast(c->g, v, HULL_F32);
    for (uint32_t p = 0; !same && p < parts; p++) {
        for (uint32_t i = 0; i < t->rank; i++)
            all[p * t->rank + i] = op_const(c->g, HULL_F32, one, 1, &fill[p]);
        for (uint32_t i = 0; i < t->n; i++) {
            uint32_t at = p * t->n + i;

            all[p * t->rank + t->axes[i]] = op_slice(c->g, v, 0, at, at + 1, 1);
        }
    }
    *out = same ? v : op_concat(c->g, all, parts * t->rank, 0);
    return ir_status(c->m);
}

/* ---- what a run decides -------------------------------------------------- */

/* Sizes of the named axes as f32, i64 to begin with. */
static val sizes_in(onnx_call *c, const target *t)
{
    dim d[HULL_MAX_RANK];

    for (uint32_t i = 0; i < t->n; i++)
        d[i] = t->in[t->axes[i]];
    return op_cast(c->g, op_dims(c->g, d, t->n), HULL_F32);
}

/* floor(size * scale + more), in f32 as the scales are. */
static hull_status bind_sizes(onnx_call *c, target *t, val scales, double more)
{
    static const float ones[1] = {1};
    const dim n[1] = {t->n};
    dim d[HULL_MAX_RANK];
    uint32_t k = 0;
    val size;

    scales = op_expand(c->g, op_cast(c->g, scales, HULL_F32), n, 1);
    size = op_binary(c->g, OP_mul, sizes_in(c, t), scales);
    if (more != 0)
        size = op_binary(c->g, OP_add, size,
                         op_scalar(c->g, HULL_F32, more));
    size = op_cast(c->g, op_unary(c->g, OP_floor, size), HULL_I64);
    TRY(front_bind(c->f, size, true, d, HULL_MAX_RANK, &k));
    for (uint32_t i = 0; i < k && i < t->n; i++)
        t->size[t->axes[i]] = d[i];
    return spread(c, t, scales, ones, 1, &t->scales);
}

/* The one scale of a policy: the smallest or largest of the ratios. */
static hull_status bind_policy(onnx_call *c, target *t, const dim *sizes,
                               bool larger)
{
    const int64_t axes[1] = {0};
    val want = op_cast(c->g, op_dims(c->g, sizes, t->n), HULL_F32);
    val ratio = op_binary(c->g, OP_div, want, sizes_in(c, t));

    return bind_sizes(c, t, onnx_reduce(c, larger ? OP_reduce_max
                                                  : OP_reduce_min,
                                        ratio, axes, 1, true), 0.5);
}

/* floor(in * scale); symbolic sizes take scales that are ratios of small
 * integers, and *done is false for others. */
static hull_status scaled_size(onnx_call *c, dim in, double s, dim *out,
                               bool *done)
{
    int64_t v = 0;

    *done = true;

    if (!(s > 0) || s > 1e6)
        return fail(HULL_EFORMAT, "a scale is %g, want a positive number", s);
    if (dim_is_int(c->m, in, &v)) {
        double r = floor((double)v * s);

        if (!(r < 1e15))
            return fail(HULL_EUNSUPPORTED, "scale %g of size %" PRId64, s, v);
        *out = (dim)r;
        return HULL_OK;
    }
    for (int64_t by = 1; by <= 64; by++) {
        double up = s * (double)by;

        if (fabs(up - nearbyint(up)) > 1e-9)
            continue;
        *out = dim_mul(c->m, in, (dim)nearbyint(up));
        *out = by == 1 ? *out : dim_div(c->m, *out, by);
        return HULL_OK;
    }
    *done = false;
    return HULL_OK;
}

static hull_status apply_scales(onnx_call *c, target *t, const double *s,
                                uint32_t n)
{
    bool done = true;

    if (n != t->n)
        return fail(HULL_ESHAPE, "%" PRIu32 " scales for %" PRIu32 " axes", n,
                    t->n);
    for (uint32_t i = 0; i < n && done; i++) {
        uint32_t axis = t->axes[i];

        if (s[i] == 1.0)
            continue;
        TRY(scaled_size(c, t->in[axis], s[i], &t->size[axis], &done));
        t->scale[axis] = s[i];
    }
    if (done)
        return HULL_OK;
    float f[HULL_MAX_RANK];
    const int64_t shape[1] = {n};
    for (uint32_t i = 0; i < n; i++)
        f[i] = (float)s[i];
    return bind_sizes(c, t, op_const(c->g, HULL_F32, shape, 1, f), 0);
}

/* keep_aspect_ratio_policy: one scale for all named axes. */
static hull_status apply_policy(onnx_call *c, target *t, const dim *sizes,
                                str policy)
{
    bool larger = str_is(policy, "not_smaller");
    double best = 0;

    if (!larger && !str_is(policy, "not_larger"))
        return fail(HULL_EFORMAT, "attribute 'keep_aspect_ratio_policy' is "
                    "'%.*s'", STR_ARG(policy));
    for (uint32_t i = 0; i < t->n; i++) {
        int64_t in = 0, out = 0;

        if (!dim_is_int(c->m, t->in[t->axes[i]], &in) ||
            !dim_is_int(c->m, t->size[t->axes[i]], &out))
            return bind_policy(c, t, sizes, larger);
        if (in == 0)
            return fail(HULL_ESHAPE, "an axis of size 0");
        double s = (double)out / (double)in;
        if (i == 0 || (larger ? s > best : s < best))
            best = s;
    }
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t axis = t->axes[i];
        double r = floor((double)t->in[axis] * best + 0.5);

        if (!(r >= 0 && r < 1e15))
            return fail(HULL_EUNSUPPORTED, "scale %g of size %" PRId64, best,
                        t->in[axis]);
        t->size[axis] = (dim)r;
        t->scale[axis] = best;
    }
    return HULL_OK;
}

static hull_status apply_sizes(onnx_call *c, target *t, const dim *s,
                               uint32_t n)
{
    str policy = onnx_str(c, "keep_aspect_ratio_policy", "stretch");

    if (n != t->n)
        return fail(HULL_ESHAPE, "%" PRIu32 " sizes for %" PRIu32 " axes", n,
                    t->n);
    for (uint32_t i = 0; i < n; i++)
        t->size[t->axes[i]] = s[i];
    return str_is(policy, "stretch") ? HULL_OK : apply_policy(c, t, s, policy);
}

static bool is_empty(onnx_call *c, val v)
{
    const type *t = onnx_type(c, v);

    return !t || (t->rank == 1 && t->dims[0] == 0);
}

typedef struct modes {
    str mode, coord, round;
    double cubic_a, extrapolation;
    bool antialias, exclude;
    val roi;               /* of tf_crop_and_resize */
} modes;

static hull_status check_modes(modes *m)
{
    static const char *const coords[] = {
        "half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners",
        "half_pixel_symmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"};
    static const char *const rounds[] = {
        "round_prefer_floor", "prefer_floor", "round_prefer_ceil",
        "prefer_ceil", "floor", "floor", "ceil", "ceil"};
    bool ok = false;

    if (!str_is(m->mode, "nearest") && !str_is(m->mode, "linear") &&
        !str_is(m->mode, "cubic"))
        return fail(HULL_EUNSUPPORTED, "attribute 'mode' is '%.*s', want "
                    "nearest, linear or cubic", STR_ARG(m->mode));
    for (size_t i = 0; i < COUNT_OF(coords); i++)
        ok = ok || str_is(m->coord, coords[i]);
    if (!ok)
        return fail(HULL_EUNSUPPORTED, "attribute "
                    "'coordinate_transformation_mode' is '%.*s'",
                    STR_ARG(m->coord));
    for (size_t i = 0; i < COUNT_OF(rounds); i += 2)
        if (str_is(m->round, rounds[i])) {
            m->round = str_of(rounds[i + 1]);
            return HULL_OK;
        }
    return fail(HULL_EFORMAT, "attribute 'nearest_mode' is '%.*s'",
                STR_ARG(m->round));
}

/* Trailing axes from the first one that changes. */
static hull_status add_resize(onnx_call *c, const target *t, modes m)
{
    uint32_t first = 0;

    TRY(check_modes(&m));
    while (!m.roi && !t->scales && first < t->rank && t->scale[first] == 0 &&
           dim_eq(c->m, t->size[first], t->in[first]))
        first++;
    if (first == t->rank) {
        c->out[0] = c->in[0];
        return HULL_OK;
    }
    node *n = node_new(c->g, OP_resize);
    node_input(c->g, n, c->in[0]);
    if (m.roi || t->scales)
        node_input(c->g, n, m.roi);
    if (t->scales && !m.roi)
        node_input(c->g, n, t->scales);
    node_dims(c->g, n, "size", t->size + first, t->rank - first);
    if (m.roi) /* the region says how large a step is */
        node_float(c->g, n, "extrapolation", m.extrapolation);
    else if (!t->scales)
        node_floats(c->g, n, "scales", t->scale + first, t->rank - first);
    node_str(c->g, n, "mode", m.mode);
    node_str(c->g, n, "coord", m.coord);
    node_str(c->g, n, "round", m.round);
    node_float(c->g, n, "cubic_a", m.cubic_a);
    node_bool(c->g, n, "antialias", m.antialias);
    node_bool(c->g, n, "exclude_outside", m.exclude);
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}

static hull_status want_scales(onnx_call *c, uint32_t i, target *t)
{
    double s[HULL_MAX_RANK];
    uint32_t n = 0;
    bool known = false;

    TRY(front_floats(c->f, c->in[i], s, HULL_MAX_RANK, &n, &known));
    if (!known)
        return bind_sizes(c, t, c->in[i], 0);
    for (uint32_t k = 0; k < n; k++)
        s[k] = onnx_f32(c, (float)s[k]);
    TRY(ir_status(c->m));
    return apply_scales(c, t, s, n);
}

hull_status onnx_resize(onnx_call *c)
{
    target t;
    bool v10 = c->version < 11;
    uint32_t at = v10 ? 1 : 2;

    TRY(open_target(c, &t));
    if (onnx_in(c, at) && !is_empty(c, c->in[at])) {
        TRY(want_scales(c, at, &t));
    } else if (!v10 && onnx_in(c, 3)) {
        dim s[HULL_MAX_RANK];
        uint32_t n = 0;

        TRY(onnx_dims_at(c, 3, s, HULL_MAX_RANK, &n));
        TRY(apply_sizes(c, &t, s, n));
    } else {
        return fail(HULL_EFORMAT, "it has neither scales nor sizes");
    }
    modes m = {
        .mode = onnx_str(c, "mode", "nearest"),
        .coord = onnx_str(c, "coordinate_transformation_mode",
                          v10 ? "asymmetric" : "half_pixel"),
        .round = onnx_str(c, "nearest_mode",
                          v10 ? "floor" : "round_prefer_floor"),
        .cubic_a = onnx_float(c, "cubic_coeff_a", -0.75),
        .antialias = onnx_int(c, "antialias", 0) != 0,
        .exclude = onnx_int(c, "exclude_outside", 0) != 0,
        .extrapolation = onnx_float(c, "extrapolation_value", 0.0),
    };
    if (str_is(m.coord, "tf_crop_and_resize")) {
        static const float unit[2] = {0, 1};

        if (!onnx_in(c, 1))
            return fail(HULL_EFORMAT, "tf_crop_and_resize without a roi");
        TRY(spread(c, &t, c->in[1], unit, 2, &m.roi));
    }
    return add_resize(c, &t, m);
}

/* Two scales by name, for the last two of four axes. */
static hull_status upsample_old(onnx_call *c, target *t)
{
    double s[4] = {1, 1, onnx_float(c, "height_scale", 0),
                   onnx_float(c, "width_scale", 0)};

    TRY(ir_status(c->m));
    return apply_scales(c, t, s, 4);
}

hull_status onnx_upsample(onnx_call *c)
{
    target t;
    modes m = {.mode = onnx_str(c, "mode", "nearest"),
               .coord = str_of("asymmetric"),
               .round = str_of("floor"),
               .cubic_a = -0.75};

    if (str_is(m.mode, "bilinear"))
        m.mode = str_of("linear");
    TRY(open_target(c, &t));
    const onnx_attr *a = onnx_attr_of(c, "scales");
    if (onnx_has(c, "height_scale")) {
        TRY(upsample_old(c, &t));
    } else if (a) {
        double s[HULL_MAX_RANK];

        if (a->type != ONNX_FLOATS || a->n_floats > HULL_MAX_RANK)
            return fail(HULL_EFORMAT, "attribute 'scales' is not a list of at "
                        "most %d floats", HULL_MAX_RANK);
        for (uint32_t i = 0; i < a->n_floats; i++)
            s[i] = onnx_f32(c, a->floats[i]);
        TRY(ir_status(c->m));
        TRY(apply_scales(c, &t, s, a->n_floats));
    } else if (onnx_in(c, 1)) {
        TRY(want_scales(c, 1, &t));
    } else {
        return fail(HULL_EFORMAT, "scales are missing");
    }
    return add_resize(c, &t, m);
}

/* Before opset 20 the modes were bilinear, nearest and bicubic. */
hull_status onnx_grid_sample(onnx_call *c)
{
    str mode = onnx_str(c, "mode", c->version < 20 ? "bilinear" : "linear");
    node *n = node_new(c->g, OP_grid_sample);

    if (c->version < 20 && str_starts(mode, "bi")) {
        mode.p += 2;
        mode.n -= 2;
    }
    node_input(c->g, n, c->in[0]);
    node_input(c->g, n, c->in[1]);
    node_str(c->g, n, "mode", mode);
    node_str(c->g, n, "edge", onnx_str(c, "padding_mode", "zeros"));
    node_bool(c->g, n, "align", onnx_int(c, "align_corners", 0) != 0);
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}
