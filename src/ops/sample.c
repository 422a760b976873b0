/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * sample.c - grid_sample: x [n,c,*in] read at the places that a grid [n,*out,k]
 * names, k coordinates in [-1, 1] with the last axis first. Every axis of a
 * place gives a few taps (index and weight); the value is the weighted sum over
 * their combinations. Places outside are zeros, the border, or a reflection.
 */
#include "ops/data.h"

#include <inttypes.h>
#include <math.h>

#define TAPS_MAX 4

typedef enum sample_mode { SAMPLE_NEAREST, SAMPLE_LINEAR, SAMPLE_CUBIC }
    sample_mode;
typedef enum sample_edge { EDGE_ZEROS, EDGE_BORDER, EDGE_REFLECTION }
    sample_edge;

typedef struct sampler {
    int mode, edge;
    bool align, taps;
} sampler;

/* What one axis contributes: indices (-1 = a zero) and their weights. */
typedef struct taps {
    int64_t n, at[TAPS_MAX];
    double weight[TAPS_MAX];
} taps;

static hull_status pick(int *out, const node *n, const char *name,
                        const char *const names[3])
{
    str s = attr_str(n, name);
    char what[128];

    for (*out = 0; *out < 3; ++*out)
        if (str_is(s, names[*out]))
            return HULL_OK;
    return fail(HULL_EINVAL, "%s: '%s' is '%.*s', want %s, %s or %s",
                node_what(n, what), name, STR_ARG(s), names[0], names[1],
                names[2]);
}

static hull_status read_sampler(sampler *s, const node *n)
{
    static const char *const modes[3] = {"nearest", "linear", "cubic"};
    static const char *const edges[3] = {"zeros", "border", "reflection"};

    s->align = attr_bool(n, "align");
    s->taps = attr_bool(n, "taps");
    TRY(pick(&s->mode, n, "mode", modes));
    return pick(&s->edge, n, "edge", edges);
}

hull_status sample_infer(graph *g, node *n)
{
    const type *x, *grid;
    dim dims[HULL_MAX_RANK], same;
    int64_t k = 0;
    char what[128];
    sampler s;

    TRY(infer_tensor(&x, g, n, 0));
    TRY(infer_tensor(&grid, g, n, 1));
    TRY(read_sampler(&s, n));
    if (!dtype_is_float(x->dtype) || !dtype_is_float(grid->dtype) ||
        x->rank < 3 || grid->rank != x->rank ||
        (dim_is_int(g->m, grid->dims[x->rank - 1], &k) && k != x->rank - 2))
        return fail(HULL_ESHAPE,
                    "%s: %s of rank %" PRIu32 " and grid %s of rank %" PRIu32
                    " with %" PRId64 " coordinates, want floats of one rank, "
                    "two more than coordinates",
                    node_what(n, what), hull_dtype_name(x->dtype), x->rank,
                    hull_dtype_name(grid->dtype), grid->rank, k);
    TRY(data_agree(&same, g, n, "the batch", x->dims[0], grid->dims[0]));
    dims[0] = same;
    dims[1] = x->dims[1];
    for (uint32_t i = 2; i < x->rank; i++)
        dims[i] = grid->dims[i - 1];
    return infer_out(g, n, 0, x->dtype, dims, x->rank);
}

/* ---- one axis ------------------------------------------------------------ */

/* Mirrors v at the ends low and high until it is between them. */
static double reflect(double v, double low, double high)
{
    double span = high - low, d;

    if (!(span > 0))
        return low;
    d = fmod(fabs(v - low), 2 * span);
    return d > span ? high - (d - span) : low + d;
}

/* The place of a coordinate, moved inside where the edge says so. */
static double place_of(const sampler *s, double v, int64_t size)
{
    double low = s->align ? 0 : -0.5;
    double high = s->align ? (double)size - 1 : (double)size - 0.5;

    v = s->align ? (v + 1) / 2 * ((double)size - 1)
                 : ((v + 1) * (double)size - 1) / 2;
    if (s->mode == SAMPLE_NEAREST)
        v = rint(v);
    if (s->taps || (v >= low && v <= high))
        return v;
    if (s->edge == EDGE_BORDER)
        return fmin(fmax(v, 0), (double)size - 1);
    return s->edge == EDGE_REFLECTION ? reflect(v, low, high) : v;
}

/* Index of a tap; -1 outside when that reads as zero. NaN is outside. */
static int64_t tap_index(const sampler *s, double v, int64_t size)
{
    double top = (double)size - 1;

    if (!(v >= 0 && v <= top)) {
        if (s->edge == EDGE_ZEROS || isnan(v))
            return -1;
        if (s->edge == EDGE_REFLECTION)
            v = s->align ? reflect(v, 0, top)
                         : trunc(reflect(v, -0.5, top + 0.5));
        v = fmin(fmax(v, 0), top);
    }
    return (int64_t)v;
}

static void cubic_weights(double t, double out[4])
{
    const double a = -0.75;
    double u = 1 - t, far = t + 1, other = 2 - t;

    out[0] = ((a * far - 5 * a) * far + 8 * a) * far - 4 * a;
    out[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
    out[2] = ((a + 2) * u - (a + 3)) * u * u + 1;
    out[3] = ((a * other - 5 * a) * other + 8 * a) * other - 4 * a;
}

static taps taps_of(const sampler *s, double coordinate, int64_t size)
{
    double v = place_of(s, coordinate, size), base = floor(v);
    taps t = {.n = 1, .weight = {1}};

    if (s->mode == SAMPLE_NEAREST) {
        t.at[0] = tap_index(s, v, size);
        return t;
    }
    if (s->mode == SAMPLE_LINEAR) {
        t.n = 2;
        t.weight[0] = 1 - (v - base);
        t.weight[1] = v - base;
    } else {
        t.n = 4;
        cubic_weights(v - base, t.weight);
        base -= 1;
    }
    for (int64_t i = 0; i < t.n; i++)
        t.at[i] = tap_index(s, base + (double)i, size);
    return t;
}

/* ---- kernel -------------------------------------------------------------- */

/* Sum over all combinations of taps of the `k` axes, in plane `base`. */
static double sum_taps(const tensor *x, const taps *t, uint32_t k,
                       const int64_t *strides, int64_t base)
{
    int64_t index[HULL_MAX_RANK] = {0}, counts[HULL_MAX_RANK];
    double sum = 0;

    for (uint32_t a = 0; a < k; a++)
        counts[a] = t[a].n;
    do {
        int64_t at = base;
        double w = 1;
        bool inside = true;

        for (uint32_t a = 0; a < k; a++) {
            int64_t place = t[a].at[index[a]];

            w *= t[a].weight[index[a]];
            inside = inside && place >= 0;
            at += inside ? place * strides[a] : 0;
        }
        if (inside)
            sum += w * load_f64(x->dtype, x->data, (uint64_t)at);
        else if (isnan(w))
            sum = w;
    } while (index_next(index, counts, k));
    return sum;
}

hull_status sample_eval(eval_ctx *cx, const node *n, const tensor *in,
                        tensor *out)
{
    const tensor *x = &in[0], *grid = &in[1];
    uint32_t k = x->rank - 2;
    int64_t shape[HULL_MAX_RANK], strides[HULL_MAX_RANK], plane = 1;
    taps t[HULL_MAX_RANK];
    sampler s;

    (void)cx;
    TRY(read_sampler(&s, n));
    shape[0] = x->shape[0];
    shape[1] = x->shape[1];
    for (uint32_t i = 2; i < x->rank; i++)
        shape[i] = grid->shape[i - 1];
    TRY(data_want_shape(n, out, shape, x->rank));
    TRY(data_want_numel(n, grid, shape[0] * (int64_t)k *
                                     data_product(shape, 2, x->rank)));
    if (tensor_numel(out) == 0)
        return HULL_OK;
    for (uint32_t i = k; i-- > 0; plane *= x->shape[2 + i])
        strides[i] = plane;
    int64_t places = data_product(shape, 2, x->rank);
    for (int64_t i = 0; i < shape[0] * places; i++) {
        int64_t batch = i / places;

        for (uint32_t a = 0; a < k; a++) {
            uint64_t at = (uint64_t)(i * k + (k - 1 - a));

            t[a] = taps_of(&s, load_f64(grid->dtype, grid->data, at),
                           x->shape[2 + a]);
        }
        for (int64_t c = 0; c < shape[1]; c++) {
            int64_t line = batch * shape[1] + c;

            store_f64(out->dtype, out->data,
                      (uint64_t)(line * places + i % places),
                      sum_taps(x, t, k, strides, line * plane));
        }
    }
    return HULL_OK;
}
