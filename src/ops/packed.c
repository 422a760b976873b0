/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * packed.c - the ops that backends lower matmul, conv and pools to: weights in
 * panels of `tile` columns, images channels last, and an epilogue:
 *
 *   y = act(x w + bias + residual)
 *
 * gemm        x [.., k], w [ceil(n / tile), k, tile], or [n, k] with tile 1, or
 *             groups along k, [ceil(n / tile), ceil(k / group), tile, group];
 *             w may be f16, bf16, i8 or u8 where x is f32
 * conv_nhwc   x [b, *, c], w [groups * ceil(n / groups / tile),
 *             taps * c / groups, tile], taps in row-major order; or, when
 *             groups = c = n, w [taps, c]
 * Columns from n on are not looked at.
 *
 * winograd_weight  w [n, c, 3, 3] -> u [a a, ceil(n / tile), c, tile]: G w G^T,
 *                  w first times a scale [n] where there is one. With
 *                  attribute panels p >= that number, w is the first rows of
 *                  more: u is [a a, p, c, tile], and the panels behind w's are
 *                  left as they are (run/fill.c makes slots in parts)
 * conv_winograd    x [b, h, w, c], u: a 3x3 convolution of stride 1, for every
 *                  m x m places y = A^T (sum over c of (B^T x B) * u) A
 * with a = m + 2 and the matrices of F(m x m, 3 x 3) by Lavin and Gray. An
 * element outside the image is 0, also where a tile hangs over the result. A
 * zero of a matrix meets no value, so what Inf and NaN reach is defined: most
 * of the tile, where the plain sum would keep them to 3x3 places.
 */
#include "ops/family.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- epilogues ----------------------------------------------------------- */

static const char *const act_names[PACKED_ACTS] = {
    "none", "relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh",
    "hard_swish", "clamp"};

packed_act packed_act_of(const node *n)
{
    str act = attr_str(n, "act");
    int i = 0;

    while (i < PACKED_ACTS && !str_is(act, act_names[i]))
        i++;
    return (packed_act)i;
}

double packed_act_apply(packed_act act, const node *n, double x)
{
    switch (act) {
    case PACKED_RELU:
        return x > 0 || isnan(x) ? x : 0;
    case PACKED_GELU:
        return 0.5 * x * erfc(-x * 0.70710678118654752440);
    case PACKED_GELU_TANH:
        return 0.5 * x * (1 + tanh(0.79788456080286535588 *
                                   (x + 0.044715 * x * x * x)));
    case PACKED_SILU:
        return x / (1 + exp(-x));
    case PACKED_SIGMOID:
        return 1 / (1 + exp(-x));
    case PACKED_TANH:
        return tanh(x);
    case PACKED_HARD_SWISH: {
        double gate = x / 6 + 0.5;

        return x * (gate < 0 ? 0 : gate > 1 ? 1 : gate);
    }
    case PACKED_CLAMP: {
        double low = attr_float(n, "low"), high = attr_float(n, "high");

        return x < low ? low : x > high ? high : x;
    }
    default:
        return x;
    }
}

hull_status packed_infer_epilogue(graph *g, node *n, const type *x,
                                  dim columns, const dim *dims, uint32_t rank)
{
    const type *t;
    char what[128];

    if (packed_act_of(n) == PACKED_ACTS)
        return fail(HULL_EINVAL, "%s: act '%.*s' is not known",
                    node_what(n, what), STR_ARG(attr_str(n, "act")));
    if (n->n_in > 2 && n->in[2] != 0) {
        TRY(infer_tensor(&t, g, n, 2));
        TRY(infer_same(n, x, t));
        if (t->rank != 1)
            return fail(HULL_ESHAPE, "%s: bias of rank %" PRIu32 ", wanted 1",
                        node_what(n, what), t->rank);
        TRY(infer_equal(g, n, t->dims[0], columns, "sizes of bias and result"));
    }
    if (n->n_in > 3 && n->in[3] != 0) {
        TRY(infer_tensor(&t, g, n, 3));
        TRY(infer_same(n, x, t));
        if (t->rank != rank)
            return fail(HULL_ESHAPE, "%s: residual of rank %" PRIu32
                        ", wanted %" PRIu32, node_what(n, what), t->rank,
                        rank);
        for (uint32_t i = 0; i < rank; i++)
            TRY(infer_equal(g, n, t->dims[i], dims[i],
                            "sizes of residual and result"));
    }
    return infer_out(g, n, 0, x->dtype, dims, rank);
}

/* ---- shape rules --------------------------------------------------------- */

static hull_status panel_counts(const node *n, int64_t *columns, int64_t *tile)
{
    char what[128];

    *columns = attr_int(n, "n");
    *tile = attr_int(n, "tile");
    if (*columns < 1 || *columns > INT32_MAX || *tile < 1 || *tile > 4096)
        return fail(HULL_EINVAL, "%s: n is %" PRId64 ", tile is %" PRId64,
                    node_what(n, what), *columns, *tile);
    return HULL_OK;
}

/* w is [groups * ceil(n / groups / tile), depth, tile]. */
static hull_status want_panels(graph *g, const node *n, const type *w,
                               dim depth, int64_t groups)
{
    int64_t columns, tile, panels;
    char what[128];

    TRY(panel_counts(n, &columns, &tile));
    if (groups < 1 || columns % groups != 0)
        return fail(HULL_ESHAPE, "%s: %" PRId64 " columns in %" PRId64
                    " groups", node_what(n, what), columns, groups);
    panels = (columns / groups + tile - 1) / tile * groups;
    if (w->rank != 3)
        return fail(HULL_ESHAPE, "%s: panels of rank %" PRIu32 ", wanted 3",
                    node_what(n, what), w->rank);
    TRY(infer_equal(g, n, w->dims[0], panels, "numbers of panels"));
    TRY(infer_equal(g, n, w->dims[1], depth, "depths of panels and operand"));
    return infer_equal(g, n, w->dims[2], tile, "columns of a panel");
}

static hull_status gemm_infer(graph *g, node *n, const type *x, const type *w)
{
    dim dims[HULL_MAX_RANK];
    int64_t columns, tile; /* tile == 1 and rank 2: rows as they are */
    char what[128];

    if (x->rank == 0)
        return fail(HULL_ESHAPE, "%s: operand of rank 0", node_what(n, what));
    TRY(panel_counts(n, &columns, &tile));
    if (w->rank == 4 && w->dims[3] >= 1 && w->dims[3] <= 16) {
        TRY(infer_equal(g, n, w->dims[0], (columns + tile - 1) / tile,
                        "numbers of panels"));
        TRY(infer_equal(g, n, w->dims[1],
                        dim_ceil_div(g->m, x->dims[x->rank - 1], w->dims[3]),
                        "depths of panels and operand"));
        TRY(infer_equal(g, n, w->dims[2], tile, "columns of a panel"));
    } else if (w->rank == 2 && tile == 1) {
        TRY(infer_equal(g, n, w->dims[0], columns, "rows of the weight"));
        TRY(infer_equal(g, n, w->dims[1], x->dims[x->rank - 1], "depths"));
    } else {
        TRY(want_panels(g, n, w, x->dims[x->rank - 1], 1));
    }
    for (uint32_t i = 0; i < x->rank; i++)
        dims[i] = x->dims[i];
    dims[x->rank - 1] = attr_int(n, "n");
    return packed_infer_epilogue(g, n, x, attr_int(n, "n"), dims, x->rank);
}

static hull_status conv_nhwc_infer(graph *g, node *n, const type *x,
                                   const type *w)
{
    const attr *kernel = node_attr(n, "kernel");
    int64_t columns = attr_int(n, "n"), taps = 1, sizes[SPATIAL_MAX], size;
    int64_t groups = attr_int(n, "groups"), size_c;
    dim dims[HULL_MAX_RANK], channels;
    char what[128];
    window win;

    if (x->rank < 3 || kernel->u.ints.n != x->rank - 2)
        return fail(HULL_ESHAPE, "%s: rank %" PRIu32 " and %" PRIu32
                    " kernel sizes", node_what(n, what), x->rank,
                    kernel->u.ints.n);
    TRY(window_ints(sizes, n, "kernel", x->rank - 2, 1, 0));
    TRY(window_read(&win, n, x->rank - 2));
    channels = x->dims[x->rank - 1];
    dims[0] = x->dims[0];
    dims[x->rank - 1] = columns;
    for (uint32_t i = 0; i < win.n; i++) {
        if (!mul_i64(&taps, taps, sizes[i]) || taps > INT32_MAX)
            return fail(HULL_EINVAL, "%s: too many taps", node_what(n, what));
        dims[1 + i] = window_size(g->m, &win, i, x->dims[1 + i], sizes[i]);
        if (dim_is_int(g->m, dims[1 + i], &size) && size < 1)
            return fail(HULL_ESHAPE, "%s: spatial axis %" PRIu32
                        " would have size %" PRId64, node_what(n, what), i,
                        size);
    }
    if (w->rank != 2) {
        if (groups < 1 || (dim_is_int(g->m, channels, &size_c) &&
                           size_c % groups != 0))
            return fail(HULL_ESHAPE, "%s: channels in %" PRId64 " groups",
                        node_what(n, what), groups);
        channels = dim_div(g->m, channels, groups);
        TRY(want_panels(g, n, w, dim_mul(g->m, taps, channels), groups));
    } else {
        TRY(infer_equal(g, n, channels, groups,
                        "groups and channels"));
        TRY(infer_equal(g, n, channels, columns, "n and channels"));
        TRY(infer_equal(g, n, w->dims[0], taps, "taps"));
        TRY(infer_equal(g, n, w->dims[1], channels, "channels of the weight"));
    }
    return packed_infer_epilogue(g, n, x, columns, dims, x->rank);
}

/* m of a Winograd op: 2 or 4. */
static hull_status winograd_m(int64_t *out, const node *n)
{
    char what[128];

    *out = attr_int(n, "m");
    if (*out == 2 || *out == 4)
        return HULL_OK;
    return fail(HULL_EINVAL, "%s: m is %" PRId64 ", wanted 2 or 4",
                node_what(n, what), *out);
}

static hull_status winograd_weight_infer(graph *g, node *n, const type *w)
{
    int64_t m, tile = attr_int(n, "tile"), panels = attr_int(n, "panels");
    char what[128];
    dim dims[4];

    TRY(winograd_m(&m, n));
    if (tile < 1 || tile > 4096 || panels < 0)
        return fail(HULL_EINVAL, "%s: tile is %" PRId64 ", panels is %" PRId64,
                    node_what(n, what), tile, panels);
    if (w->rank != 4)
        return fail(HULL_ESHAPE, "%s: weight of rank %" PRIu32 ", wanted 4",
                    node_what(n, what), w->rank);
    TRY(infer_scale(g, n, w));
    TRY(infer_equal(g, n, w->dims[2], 3, "kernel and 3"));
    TRY(infer_equal(g, n, w->dims[3], 3, "kernel and 3"));
    dims[0] = (m + 2) * (m + 2);
    dims[1] = dim_div(g->m, dim_add(g->m, w->dims[0], tile - 1), tile);
    if (panels > 0)
        dims[1] = panels;
    dims[2] = w->dims[1];
    dims[3] = tile;
    return infer_out(g, n, 0, w->dtype, dims, 4);
}

/* pad: begins, then ends; each 0 or 1. */
static hull_status winograd_pad(int64_t pad[4], const node *n)
{
    char what[128];

    TRY(window_ints(pad, n, "pad", 4, 0, 0));
    for (int i = 0; i < 4; i++)
        if (pad[i] > 1)
            return fail(HULL_EINVAL, "%s: pad of %" PRId64 ", wanted 0 or 1",
                        node_what(n, what), pad[i]);
    return HULL_OK;
}

static hull_status conv_winograd_infer(graph *g, node *n, const type *x,
                                       const type *u)
{
    int64_t m, pad[4], columns, tile, size;
    char what[128];
    dim dims[4];

    TRY(winograd_m(&m, n));
    TRY(winograd_pad(pad, n));
    TRY(panel_counts(n, &columns, &tile));
    if (x->rank != 4 || u->rank != 4)
        return fail(HULL_ESHAPE, "%s: ranks %" PRIu32 " and %" PRIu32
                    ", wanted 4", node_what(n, what), x->rank, u->rank);
    TRY(infer_equal(g, n, u->dims[0], (m + 2) * (m + 2), "points"));
    TRY(infer_equal(g, n, u->dims[1], (columns + tile - 1) / tile,
                    "numbers of panels"));
    TRY(infer_equal(g, n, u->dims[2], x->dims[3],
                    "depths of panels and operand"));
    TRY(infer_equal(g, n, u->dims[3], tile, "columns of a panel"));
    dims[0] = x->dims[0];
    dims[3] = columns;
    for (uint32_t i = 0; i < 2; i++) {
        dims[1 + i] = dim_add(g->m, x->dims[1 + i],
                              dim_int(g->m, pad[i] + pad[2 + i] - 2));
        if (dim_is_int(g->m, dims[1 + i], &size) && size < 1)
            return fail(HULL_ESHAPE, "%s: spatial axis %" PRIu32
                        " would have size %" PRId64, node_what(n, what), i,
                        size);
    }
    return packed_infer_epilogue(g, n, x, columns, dims, 4);
}

hull_status packed_infer(graph *g, node *n)
{
    const type *x, *w;

    TRY(infer_tensor(&x, g, n, 0));
    TRY(infer_want(n, x, WANT_FLOAT));
    if (n->op == OP_winograd_weight)
        return winograd_weight_infer(g, n, x);
    TRY(infer_tensor(&w, g, n, 1));
    if (n->op != OP_gemm || x->dtype != HULL_F32 ||
        (w->dtype != HULL_F16 && w->dtype != HULL_BF16 &&
         w->dtype != HULL_I8 && w->dtype != HULL_U8))
        TRY(infer_same(n, x, w));
    if (n->op == OP_conv_winograd)
        return conv_winograd_infer(g, n, x, w);
    return n->op == OP_gemm ? gemm_infer(g, n, x, w)
                            : conv_nhwc_infer(g, n, x, w);
}

/* ---- kernels ------------------------------------------------------------- */

static double load_at(const tensor *t, int64_t i)
{
    return load_f64(t->dtype, t->data, (uint64_t)i);
}

void packed_finish(const node *n, const tensor *in, tensor *out, int64_t at,
                   int64_t column, double v)
{
    if (tensor_given(in, n, 2))
        v += load_at(&in[2], column);
    if (tensor_given(in, n, 3))
        v += load_at(&in[3], at);
    store_f64(out->dtype, out->data, (uint64_t)at,
              packed_act_apply(packed_act_of(n), n, v));
}

/* Element [k, column] of panels whose depth is `depth`. */
static double panel_at(const tensor *w, int64_t depth, int64_t tile, int64_t k,
                       int64_t column)
{
    return load_at(w, (column / tile * depth + k) * tile + column % tile);
}

/* The same of panels of groups. */
static double group_at(const tensor *w, int64_t k, int64_t column)
{
    int64_t steps = w->shape[1], tile = w->shape[2], group = w->shape[3];

    return load_at(w, ((column / tile * steps + k / group) * tile +
                       column % tile) * group + k % group);
}

static hull_status gemm_eval(const node *n, const tensor *in, tensor *out)
{
    int64_t columns = attr_int(n, "n"), tile = attr_int(n, "tile");
    int64_t depth = in[0].shape[in[0].rank - 1], numel = tensor_numel(out);

    for (int64_t at = 0; at < numel; at++) {
        int64_t row = at / columns, column = at % columns;
        double sum = 0;

        for (int64_t k = 0; k < depth; k++)
            sum += load_at(&in[0], row * depth + k) *
                   (in[1].rank == 4
                        ? group_at(&in[1], k, column)
                        : panel_at(&in[1], depth, tile, k, column));
        packed_finish(n, in, out, at, column, sum);
    }
    return HULL_OK;
}

/* One output place: the sum over taps inside the image and channels. */
typedef struct conv_walk {
    window w;
    int64_t kernel[SPATIAL_MAX], taps;
    const tensor *x, *k;
    int64_t channels, groups, columns, tile; /* columns: of a group */
    bool single; /* depthwise */
} conv_walk;

/* Offset of the pixel under a tap, in pixels; -1 outside. */
static int64_t pixel_at(const conv_walk *c, int64_t image, const int64_t *place,
                        int64_t tap)
{
    int64_t at = image;
    int64_t offs[SPATIAL_MAX];

    for (uint32_t i = c->w.n; i-- > 0; tap /= c->kernel[i])
        offs[i] = tap % c->kernel[i];
    for (uint32_t i = 0; i < c->w.n; i++) {
        int64_t p = place[i] * c->w.stride[i] - c->w.before[i] +
                    offs[i] * c->w.dilation[i];

        if (p < 0 || p >= c->x->shape[1 + i])
            return -1;
        at = at * c->x->shape[1 + i] + p;
    }
    return at;
}

static double sum_at(const conv_walk *c, int64_t image, const int64_t *place,
                     int64_t column)
{
    int64_t depth = c->channels / c->groups, group = column / c->columns;
    int64_t panels = (c->columns + c->tile - 1) / c->tile;
    double sum = 0;

    for (int64_t tap = 0; tap < c->taps; tap++) {
        int64_t pixel = pixel_at(c, image, place, tap);

        if (pixel < 0)
            continue;
        if (c->single) {
            sum += load_at(c->x, pixel * c->channels + column) *
                   load_at(c->k, tap * c->channels + column);
            continue;
        }
        for (int64_t ch = 0; ch < depth; ch++)
            sum += load_at(c->x, pixel * c->channels + group * depth + ch) *
                   panel_at(c->k, c->taps * depth, c->tile, tap * depth + ch,
                            group * panels * c->tile + column % c->columns);
    }
    return sum;
}

static hull_status conv_nhwc_eval(const node *n, const tensor *in, tensor *out)
{
    conv_walk c = {.taps = 1, .x = &in[0], .k = &in[1],
                   .channels = in[0].shape[in[0].rank - 1],
                   .groups = attr_int(n, "groups"),
                   .tile = attr_int(n, "tile"), .single = in[1].rank == 2};
    int64_t place[HULL_MAX_RANK] = {0}, at = 0;

    c.columns = attr_int(n, "n") / c.groups;
    TRY(window_ints(c.kernel, n, "kernel", in[0].rank - 2, 1, 0));
    TRY(window_read(&c.w, n, in[0].rank - 2));
    for (uint32_t i = 0; i < c.w.n; i++)
        c.taps *= c.kernel[i];
    if (tensor_numel(out) == 0)
        return HULL_OK;
    do { /* place: image, spatial axes, column */
        int64_t column = place[out->rank - 1];

        packed_finish(n, in, out, at, column, sum_at(&c, place[0], place + 1,
                                              column));
        at++;
    } while (index_next(place, out->shape, out->rank));
    return HULL_OK;
}

/* ---- Winograd ------------------------------------------------------------ */

#define POINTS_MAX 36 /* (4 + 2)^2 */

/* Matrices of F(2x2, 3x3) and F(4x4, 3x3), row by row: G [a, 3], B^T [a, a],
 * A^T [m, a]. */
static const double g_2[] = {1, 0, 0, 0.5, 0.5, 0.5, 0.5, -0.5, 0.5, 0, 0, 1};
static const double b_2[] = {1, 0, -1, 0, 0, 1, 1, 0, 0, -1, 1, 0, 0, 1, 0, -1};
static const double a_2[] = {1, 1, 1, 0, 0, 1, -1, -1};
static const double g_4[] = {
    1.0 / 4,  0,         0,       -1.0 / 6, -1.0 / 6,  -1.0 / 6,
    -1.0 / 6, 1.0 / 6,   -1.0 / 6, 1.0 / 24, 1.0 / 12, 1.0 / 6,
    1.0 / 24, -1.0 / 12, 1.0 / 6,  0,        0,        1};
static const double b_4[] = {4, 0, -5, 0,  1,  0, 0, -4, -4, 1, 1, 0,
                             0, 4, -4, -1, 1,  0, 0, -2, -1, 2, 1, 0,
                             0, 2, -1, -2, 1,  0, 0, 4,  0, -5, 0, 1};
static const double a_4[] = {1, 1, 1, 1, 1, 0, 0, 1, -1, 2, -2, 0,
                             0, 1, 1, 4, 4, 0, 0, 1, -1, 8, -8, 1};

/* y [r, r] = m x m^T for m [r, k]. */
static void sandwich(double *y, const double *m, int r, int k, const double *x)
{
    double t[POINTS_MAX];

    for (int i = 0; i < r; i++)
        for (int j = 0; j < k; j++) {
            t[i * k + j] = 0;
            for (int l = 0; l < k; l++)
                if (m[i * k + l] != 0)
                    t[i * k + j] += m[i * k + l] * x[l * k + j];
        }
    for (int i = 0; i < r; i++)
        for (int j = 0; j < r; j++) {
            y[i * r + j] = 0;
            for (int l = 0; l < k; l++)
                if (m[j * k + l] != 0)
                    y[i * r + j] += t[i * k + l] * m[j * k + l];
        }
}

hull_status winograd_panels(int64_t *own, const tensor *in, const tensor *out)
{
    int64_t tile = out->shape[3];

    *own = (in->shape[0] + tile - 1) / tile;
    if (*own <= out->shape[1])
        return HULL_OK;
    return fail(HULL_ESHAPE, "winograd_weight: %" PRId64 " panels, panels is %"
                PRId64, *own, out->shape[1]);
}

static hull_status winograd_weight_eval(const node *n, const tensor *in,
                                        tensor *out)
{
    int a = (int)attr_int(n, "m") + 2;
    int64_t columns = in[0].shape[0], channels = in[0].shape[1];
    int64_t tile = out->shape[3], panels = out->shape[1], own;
    const tensor *scale = tensor_given(in, n, 1) ? &in[1] : NULL;

    TRY(winograd_panels(&own, &in[0], out));
    for (int64_t at = 0; at < own * channels * tile; at++) {
        int64_t column = at / (channels * tile) * tile + at % tile;
        int64_t channel = at / tile % channels;
        double w[9], u[POINTS_MAX] = {0};

        for (int i = 0; column < columns && i < 9; i++)
            w[i] = scaled_at(&in[0], scale, column,
                             (column * channels + channel) * 9 + i);
        if (column < columns)
            sandwich(u, a == 4 ? g_2 : g_4, a, 3, w);
        for (int i = 0; i < a * a; i++)
            store_f64(out->dtype, out->data,
                      (uint64_t)(i * panels * channels * tile + at), u[i]);
    }
    return HULL_OK;
}

typedef struct winograd {
    int m, a;
    int64_t pad[4], tile, places[3]; /* image, row, column of the first place */
    double *v;                       /* [c, a, a] of one tile */
} winograd;

static void winograd_input(const winograd *w, const tensor *x)
{
    int64_t channels = x->shape[3];
    double d[POINTS_MAX];

    for (int64_t ch = 0; ch < channels; ch++) {
        for (int i = 0; i < w->a * w->a; i++) {
            int64_t r = w->places[1] - w->pad[0] + i / w->a;
            int64_t c = w->places[2] - w->pad[1] + i % w->a;
            bool inside = r >= 0 && r < x->shape[1] && c >= 0 &&
                          c < x->shape[2];

            d[i] = !inside ? 0
                           : load_at(x, ((w->places[0] * x->shape[1] + r) *
                                             x->shape[2] + c) * channels + ch);
        }
        sandwich(w->v + ch * w->a * w->a, w->m == 2 ? b_2 : b_4, w->a, w->a, d);
    }
}

static void winograd_output(const winograd *w, const node *n, const tensor *in,
                            tensor *out, int64_t column)
{
    int64_t channels = in[0].shape[3], columns = out->shape[3];
    int64_t panel = in[1].shape[1] * channels * w->tile;
    int a = w->a, points = a * a;
    double s[POINTS_MAX], y[16];

    for (int i = 0; i < points; i++) {
        s[i] = 0;
        for (int64_t ch = 0; ch < channels; ch++)
            s[i] += w->v[ch * points + i] *
                    load_at(&in[1], i * panel + (column / w->tile * channels +
                                                 ch) * w->tile +
                                        column % w->tile);
    }
    sandwich(y, w->m == 2 ? a_2 : a_4, w->m, a, s);
    for (int i = 0; i < w->m * w->m; i++) {
        int64_t r = w->places[1] + i / w->m, c = w->places[2] + i % w->m;

        if (r < out->shape[1] && c < out->shape[2])
            packed_finish(n, in, out,
                   ((w->places[0] * out->shape[1] + r) * out->shape[2] + c) *
                           columns + column, column, y[i]);
    }
}

static hull_status conv_winograd_eval(eval_ctx *cx, const node *n,
                                      const tensor *in, tensor *out)
{
    int64_t m, columns;
    winograd w;

    TRY(panel_counts(n, &columns, &w.tile));
    TRY(winograd_m(&m, n));
    TRY(winograd_pad(w.pad, n));
    w.m = (int)m;
    w.a = w.m + 2;
    TRY(eval_scratch(&w.v, cx, in[0].shape[3] * w.a * w.a));
    for (w.places[0] = 0; w.places[0] < out->shape[0]; w.places[0]++)
        for (w.places[1] = 0; w.places[1] < out->shape[1]; w.places[1] += m)
            for (w.places[2] = 0; w.places[2] < out->shape[2];
                 w.places[2] += m) {
                winograd_input(&w, &in[0]);
                for (int64_t k = 0; k < columns; k++)
                    winograd_output(&w, n, in, out, k);
            }
    return HULL_OK;
}

hull_status packed_eval(eval_ctx *cx, const node *n, const tensor *in,
                        tensor *out)
{
    switch (n->op) {
    case OP_gemm: return gemm_eval(n, in, out);
    case OP_conv_nhwc: return conv_nhwc_eval(n, in, out);
    case OP_winograd_weight: return winograd_weight_eval(n, in, out);
    default: return conv_winograd_eval(cx, n, in, out);
    }
}
