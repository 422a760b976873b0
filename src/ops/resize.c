/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * resize.c - interpolation of the last axes, one axis at a time. Every output
 * place of an axis is a weighted sum of input places (taps): one for nearest,
 * two for linear, four for cubic, more where antialiasing widens the filter.
 */
#include "ops/data.h"
#include "ops/family.h"
#include "ops/resize.h"

#include <inttypes.h>
#include <math.h>

typedef enum coord_kind {
    HALF_PIXEL, PYTORCH_HALF_PIXEL, ASYMMETRIC, ALIGN_CORNERS,
    HALF_PIXEL_SYMMETRIC, TF_HALF_PIXEL, TF_CROP
} coord_kind;

typedef enum mode_kind { NEAREST, LINEAR, CUBIC } mode_kind;

typedef enum round_kind {
    ROUND_FLOOR, ROUND_CEIL, PREFER_FLOOR, PREFER_CEIL
} round_kind;

typedef struct options {
    int coord, mode, round;
    bool antialias, exclude_outside;
    double cubic_a, extrapolation;
} options;

static const char *const coord_names[] = {
    "half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners",
    "half_pixel_symmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"};
static const char *const mode_names[] = {"nearest", "linear", "cubic"};
static const char *const round_names[] = {"floor", "ceil", "prefer_floor",
                                          "prefer_ceil"};

static hull_status pick(int *out, const node *n, const char *name,
                        const char *const *names, size_t count)
{
    str s = attr_str(n, name);
    char what[128];

    for (size_t i = 0; i < count; i++) {
        if (str_is(s, names[i])) {
            *out = (int)i;
            return HULL_OK;
        }
    }
    return fail(HULL_EINVAL, "%s: '%s' is '%.*s', which is not known",
                node_what(n, what), name, STR_ARG(s));
}

static hull_status read_options(options *o, const node *n)
{
    *o = (options){.antialias = attr_bool(n, "antialias"),
                   .exclude_outside = attr_bool(n, "exclude_outside"),
                   .cubic_a = attr_float(n, "cubic_a"),
                   .extrapolation = attr_float(n, "extrapolation")};
    TRY(pick(&o->coord, n, "coord", coord_names, COUNT_OF(coord_names)));
    TRY(pick(&o->mode, n, "mode", mode_names, COUNT_OF(mode_names)));
    return pick(&o->round, n, "round", round_names, COUNT_OF(round_names));
}

static bool has_roi(const node *n)
{
    return n->n_in > 1 && n->in[1] != 0;
}

static bool has_scales(const node *n)
{
    return n->n_in > 2 && n->in[2] != 0;
}

/* Operand i is a vector of `count` floats. */
static hull_status vector_infer(graph *g, node *n, uint32_t i, int64_t count)
{
    const type *t = NULL;
    int64_t have = count;
    char what[128];

    TRY(infer_tensor(&t, g, n, i));
    TRY(infer_want(n, t, WANT_FLOAT));
    if (t->rank == 1 && (!dim_is_int(g->m, t->dims[0], &have) ||
                         have == count))
        return HULL_OK;
    return fail(HULL_ESHAPE, "%s: operand %" PRIu32 " of rank %" PRIu32
                " with %" PRId64 " elements, want rank 1 and %" PRId64,
                node_what(n, what), i, t->rank, have, count);
}

/* The region is there exactly where coordinates need it. */
static hull_status operands_infer(graph *g, node *n, const options *o)
{
    int64_t n_axes = node_attr(n, "size")->u.dims.n;
    char what[128];

    if (has_roi(n) != (o->coord == TF_CROP))
        return fail(HULL_EINVAL, "%s: a region goes with tf_crop_and_resize",
                    node_what(n, what));
    if (has_roi(n))
        TRY(vector_infer(g, n, 1, 2 * n_axes));
    if (has_scales(n) && node_attr(n, "scales")->set)
        return fail(HULL_EINVAL, "%s: scales twice", node_what(n, what));
    return has_scales(n) ? vector_infer(g, n, 2, n_axes) : HULL_OK;
}

hull_status resize_infer(graph *g, node *n)
{
    const attr *size = node_attr(n, "size"), *scales = node_attr(n, "scales");
    const type *x = NULL;
    dim dims[HULL_MAX_RANK];
    char what[128];
    uint32_t first;
    options o;

    TRY(infer_tensor(&x, g, n, 0));
    TRY(infer_want(n, x, WANT_REAL));
    TRY(read_options(&o, n));
    if (size->u.dims.n > x->rank ||
        (scales->set && scales->u.floats.n != size->u.dims.n))
        return fail(HULL_ESHAPE, "%s: %" PRIu32 " sizes and %" PRIu32
                    " scales for rank %" PRIu32, node_what(n, what),
                    size->u.dims.n, scales->u.floats.n, x->rank);
    TRY(operands_infer(g, n, &o));
    first = x->rank - size->u.dims.n;
    for (uint32_t i = 0; i < x->rank; i++) {
        int64_t v = 0;

        dims[i] = i < first ? x->dims[i] : size->u.dims.p[i - first];
        if (dim_is_int(g->m, dims[i], &v) && v < 0)
            return fail(HULL_EINVAL, "%s: size %" PRId64, node_what(n, what),
                        v);
    }
    return infer_out(g, n, 0, x->dtype, dims, x->rank);
}

/* ---- taps of one axis ---------------------------------------------------- */

typedef struct axis {
    int64_t in, out;
    double scale; /* out / in, or what the model says */
    bool given;   /* the model says */
    double start, end; /* of the region, in parts of the axis */
} axis;

/* Place of output o between the input places. Without a given scale the
 * product comes before the division, so exact ratios stay exact. */
static double source(const options *o, const axis *a, int64_t at)
{
    double x = (double)at, in = (double)a->in, out = (double)a->out;
    bool half = o->coord != ASYMMETRIC && o->coord != ALIGN_CORNERS;
    double place = half ? x + 0.5 : x, whole = a->scale * in;

    if (o->coord == ALIGN_CORNERS) {
        double last = (a->given ? whole : out) - 1;

        return a->out == 1 || last == 0 ? 0 : x * (in - 1) / last;
    }
    if (o->coord == TF_CROP) {
        if (a->out == 1)
            return 0.5 * (a->start + a->end) * (in - 1);
        return a->start * (in - 1) +
               x * ((a->end - a->start) * (in - 1) / (out - 1));
    }
    if (o->coord == PYTORCH_HALF_PIXEL && a->out == 1)
        return 0;
    place = a->given ? place / a->scale : place * in / out;
    if (o->coord == HALF_PIXEL_SYMMETRIC)
        place += in / 2 * (1 - out / whole);
    return half && o->coord != TF_HALF_PIXEL ? place - 0.5 : place;
}

static int64_t clamp_place(double at, int64_t n)
{
    if (!(at > 0))
        return 0;
    return at > (double)(n - 1) ? n - 1 : (int64_t)at;
}

static double nearest(const options *o, double x)
{
    switch (o->round) {
    case ROUND_FLOOR:
        return floor(x);
    case ROUND_CEIL:
        return ceil(x);
    case PREFER_FLOOR:
        return ceil(x - 0.5);
    default:
        return floor(x + 0.5);
    }
}

static double filter(const options *o, double x)
{
    double a = o->cubic_a;

    x = fabs(x);
    if (o->mode == LINEAR)
        return x < 1 ? 1 - x : 0;
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Taps of all output places, n_taps each. */
typedef struct taps {
    int64_t n;
    int64_t *at;
    double *weight;
} taps;

/* How much the filter is stretched: 1, or scale when that is below 1. */
static double stretch(const options *o, const axis *a)
{
    return o->antialias && a->scale < 1 ? a->scale : 1;
}

static void place_taps(const options *o, const axis *a, int64_t at, taps *t)
{
    double x = source(o, a, at), squeeze = stretch(o, a), sum = 0;
    double radius = o->mode == CUBIC ? 2 : 1, first;
    int64_t *to = t->at + at * t->n;
    double *weight = t->weight + at * t->n;

    if (o->mode == NEAREST) {
        to[0] = clamp_place(nearest(o, x), a->in);
        weight[0] = 1;
        return;
    }
    first = floor(x - radius / squeeze) + 1;
    for (int64_t k = 0; k < t->n; k++) {
        double place = first + (double)k;
        bool inside = place >= 0 && place < (double)a->in;

        to[k] = clamp_place(place, a->in);
        weight[k] = inside || !o->exclude_outside
                        ? filter(o, (place - x) * squeeze)
                        : 0;
        sum += weight[k];
    }
    for (int64_t k = 0; sum != 0 && k < t->n; k++)
        weight[k] /= sum;
}

static hull_status make_taps(taps *t, eval_ctx *cx, const node *n,
                             const options *o, const axis *a)
{
    double radius = o->mode == CUBIC ? 2 : 1;
    char what[128];
    int64_t count = 0;

    *t = (taps){.n = 1};
    if (o->mode != NEAREST && 2 * radius / stretch(o, a) < INT32_MAX)
        t->n = 1 + (int64_t)ceil(2 * radius / stretch(o, a));
    else if (o->mode != NEAREST)
        t->n = INT32_MAX;
    /* A scale that goes with the sizes needs about 4 * in + out taps. */
    if (a->in > INT32_MAX || a->out > INT32_MAX ||
        !mul_i64(&count, t->n, a->out) || count > 64 + 16 * (a->in + a->out))
        return fail(HULL_ENOMEM, "%s: from size %" PRId64 " to %" PRId64
                    " is too much", node_what(n, what), a->in, a->out);
    t->at = arena_array(cx->scratch, (size_t)count + 1, sizeof(int64_t));
    if (!t->at)
        return fail_oom((size_t)count * sizeof(int64_t));
    TRY(eval_scratch(&t->weight, cx, count));
    for (int64_t i = 0; i < a->out; i++)
        place_taps(o, a, i, t);
    return HULL_OK;
}

/* ---- applying them ------------------------------------------------------- */

/* dst [outer, out, inner] from src [outer, in, inner]. */
static void apply(double *restrict dst, const double *restrict src,
                  const taps *t, const axis *a, int64_t outer, int64_t inner)
{
    for (int64_t o = 0; o < outer; o++, src += a->in * inner) {
        for (int64_t p = 0; p < a->out; p++, dst += inner) {
            for (int64_t i = 0; i < inner; i++)
                dst[i] = 0;
            for (int64_t k = 0; k < t->n; k++) {
                const double w = t->weight[p * t->n + k];
                const double *row = src + t->at[p * t->n + k] * inner;

                if (w == 0) /* outside or beyond the filter's reach */
                    continue;
                for (int64_t i = 0; i < inner; i++)
                    dst[i] += w * row[i];
            }
        }
    }
}

static hull_status read_axis(axis *a, const node *n, const tensor *in,
                             const tensor *out, uint32_t i)
{
    const attr *scales = node_attr(n, "scales");
    uint32_t first = in->rank - node_attr(n, "size")->u.dims.n;
    double given = scales->set ? scales->u.floats.p[i - first] : 0;
    char what[128];

    *a = (axis){.in = in->shape[i], .out = out->shape[i], .end = 1};
    if (has_roi(n)) {
        uint64_t k = i - first;

        a->start = load_f64(in[1].dtype, in[1].data, k);
        a->end = load_f64(in[1].dtype, in[1].data, k + in->rank - first);
    }
    if (a->in == 0)
        return fail(HULL_ESHAPE, "%s: axis %" PRIu32 " is empty",
                    node_what(n, what), i);
    a->scale = (double)a->out / (double)a->in;
    if (has_scales(n)) {
        given = load_f64(in[2].dtype, in[2].data, i - first);
        if ((float)given == (float)a->scale) /* as exact as it was meant */
            given = 0;
    }
    if (given == 0)
        return HULL_OK;
    /* The size must come from the scale, whichever way it was rounded. */
    if (!(given > 0) || fabs(given * (double)a->in - (double)a->out) > 1.001)
        return fail(HULL_EINVAL, "%s: scale %g does not lead from size %" PRId64
                    " to %" PRId64, node_what(n, what), given, a->in, a->out);
    a->scale = given;
    a->given = true;
    return HULL_OK;
}

/* The axis stays as it is. */
static bool is_same(const axis *a)
{
    return a->in == a->out && a->scale == 1 && a->start == 0 && a->end == 1;
}

/* Integers truncate, but what a sum of weights missed by rounding counts. */
static void store_pixel(tensor *out, int64_t i, double v)
{
    if (!dtype_is_float(out->dtype) && fabs(v - rint(v)) < 1e-6)
        v = rint(v);
    store_real(out->dtype, out->data, (uint64_t)i, v);
}

/* Nearest moves elements: every type stays what it is, to the bit. */
static hull_status nearest_eval(eval_ctx *cx, const node *n, const options *o,
                                const tensor *in, tensor *out, uint32_t first)
{
    int64_t index[HULL_MAX_RANK] = {0}, to = 0, *from[HULL_MAX_RANK];
    side src = data_side(in);

    for (uint32_t i = 0; i < in->rank; i++) {
        taps t = {.n = 1};
        axis a = {.in = in->shape[i], .out = out->shape[i], .scale = 1,
                  .end = 1};

        if (i >= first)
            TRY(read_axis(&a, n, in, out, i));
        if (!is_same(&a)) {
            TRY(make_taps(&t, cx, n, o, &a));
        } else {
            t.at = arena_array(cx->scratch, (size_t)a.out, sizeof(int64_t));
            if (!t.at)
                return fail_oom((size_t)a.out * sizeof(int64_t));
            for (int64_t k = 0; k < a.out; k++)
                t.at[k] = k;
        }
        from[i] = t.at;
    }
    do {
        int64_t at = 0;

        for (uint32_t i = 0; i < in->rank; i++)
            at += from[i][index[i]] * src.strides[i];
        data_copy(in->dtype, out->data, to++, in->data, at);
    } while (index_next(index, out->shape, out->rank));
    return HULL_OK;
}

/* What lies outside the operand, by any axis, is the extrapolation value. */
static hull_status extrapolate(const node *n, const options *o,
                               const tensor *in, tensor *out, uint32_t first)
{
    for (uint32_t i = first; i < in->rank; i++) {
        split s = split_at(out, i);
        axis a;

        TRY(read_axis(&a, n, in, out, i));
        for (int64_t p = 0; p < s.len; p++) {
            double x = source(o, &a, p);

            if (x >= 0 && x <= (double)(a.in - 1))
                continue;
            for (int64_t k = 0; k < s.outer * s.inner; k++)
                store_real(out->dtype, out->data,
                           (uint64_t)((k / s.inner * s.len + p) * s.inner +
                                      k % s.inner), o->extrapolation);
        }
    }
    return HULL_OK;
}

static hull_status resize_values(eval_ctx *cx, const node *n, const options *o,
                                 const tensor *in, tensor *out, uint32_t first)
{
    int64_t numel = tensor_numel(out);
    tensor shape = in[0];
    double *now = NULL;

    TRY(eval_doubles(&now, cx, &in[0]));
    for (uint32_t i = first; i < in[0].rank; i++) {
        double *next = NULL;
        split s = split_at(&shape, i);
        axis a;
        taps t;

        TRY(read_axis(&a, n, &in[0], out, i));
        if (is_same(&a))
            continue;
        TRY(make_taps(&t, cx, n, o, &a));
        TRY(eval_scratch(&next, cx, s.outer * a.out * s.inner));
        apply(next, now, &t, &a, s.outer, s.inner);
        shape.shape[i] = a.out;
        now = next;
    }
    for (int64_t i = 0; i < numel; i++)
        store_pixel(out, i, now[i]);
    return HULL_OK;
}

hull_status resize_axes(resize_axis *axes, eval_ctx *cx, const node *n,
                        const tensor *in, const tensor *out)
{
    uint32_t n_axes = node_attr(n, "size")->u.dims.n;
    options o;

    TRY(read_options(&o, n));
    if (has_scales(n))
        TRY(data_want_numel(n, &in[2], n_axes));
    for (uint32_t i = 0; i < in->rank; i++) {
        axis a;
        taps t;

        axes[i] = (resize_axis){.same = true, .in = in->shape[i],
                                .out = out->shape[i]};
        if (i < in->rank - n_axes)
            continue;
        TRY(read_axis(&a, n, in, out, i));
        axes[i].same = is_same(&a);
        if (axes[i].same)
            continue;
        TRY(make_taps(&t, cx, n, &o, &a));
        axes[i].n = t.n;
        axes[i].at = t.at;
        axes[i].weight = t.weight;
    }
    return HULL_OK;
}

hull_status resize_eval(eval_ctx *cx, const node *n, const tensor *in,
                        tensor *out)
{
    uint32_t n_axes = node_attr(n, "size")->u.dims.n;
    uint32_t first = in[0].rank - n_axes;
    options o;

    TRY(read_options(&o, n));
    if (has_roi(n))
        TRY(data_want_numel(n, &in[1], 2 * (int64_t)n_axes));
    if (has_scales(n))
        TRY(data_want_numel(n, &in[2], n_axes));
    if (tensor_numel(out) == 0)
        return HULL_OK;
    if (o.mode == NEAREST)
        TRY(nearest_eval(cx, n, &o, in, out, first));
    else
        TRY(resize_values(cx, n, &o, in, out, first));
    return has_roi(n) ? extrapolate(n, &o, in, out, first) : HULL_OK;
}
