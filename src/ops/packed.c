/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * packed.c - the ops that backends lower matmul, conv and pools to: weights in
 * panels of `tile` columns, images channels last, and an epilogue:
 *
 *   y = act(x w + bias + residual)
 *
 * gemm        x [.., k], w [ceil(n / tile), k, tile]
 * conv_nhwc   x [b, *, c], w [ceil(n / tile), taps * c, tile], taps in row-major
 *             order; or, when groups = c = n, w [taps, c]
 * Columns from n on are not looked at. The kernels here undo the layout and
 * call those of the plain ops.
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

static double apply(packed_act act, const node *n, double x)
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

/* Operands 2 and 3. */
static hull_status infer_epilogue(graph *g, node *n, const type *x, dim columns,
                                  const dim *dims, uint32_t rank)
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

/* w is [ceil(n / tile), depth, tile]. */
static hull_status want_panels(graph *g, const node *n, const type *w,
                               dim depth)
{
    int64_t columns, tile;
    char what[128];

    TRY(panel_counts(n, &columns, &tile));
    if (w->rank != 3)
        return fail(HULL_ESHAPE, "%s: panels of rank %" PRIu32 ", wanted 3",
                    node_what(n, what), w->rank);
    TRY(infer_equal(g, n, w->dims[0], (columns + tile - 1) / tile,
                    "numbers of panels"));
    TRY(infer_equal(g, n, w->dims[1], depth, "depths of panels and operand"));
    return infer_equal(g, n, w->dims[2], tile, "columns of a panel");
}

static hull_status gemm_infer(graph *g, node *n, const type *x, const type *w)
{
    dim dims[HULL_MAX_RANK];
    char what[128];

    if (x->rank == 0)
        return fail(HULL_ESHAPE, "%s: operand of rank 0", node_what(n, what));
    TRY(want_panels(g, n, w, x->dims[x->rank - 1]));
    for (uint32_t i = 0; i < x->rank; i++)
        dims[i] = x->dims[i];
    dims[x->rank - 1] = attr_int(n, "n");
    return infer_epilogue(g, n, x, attr_int(n, "n"), dims, x->rank);
}

static hull_status conv_nhwc_infer(graph *g, node *n, const type *x,
                                   const type *w)
{
    const attr *kernel = node_attr(n, "kernel");
    int64_t columns = attr_int(n, "n"), taps = 1, sizes[SPATIAL_MAX], size;
    bool single = attr_int(n, "groups") != 1;
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
    if (!single) {
        TRY(want_panels(g, n, w, dim_mul(g->m, taps, channels)));
    } else {
        if (w->rank != 2)
            return fail(HULL_ESHAPE, "%s: depthwise weight of rank %" PRIu32
                        ", wanted 2", node_what(n, what), w->rank);
        TRY(infer_equal(g, n, channels, attr_int(n, "groups"),
                        "groups and channels"));
        TRY(infer_equal(g, n, channels, columns, "n and channels"));
        TRY(infer_equal(g, n, w->dims[0], taps, "taps"));
        TRY(infer_equal(g, n, w->dims[1], channels, "channels of the weight"));
    }
    return infer_epilogue(g, n, x, columns, dims, x->rank);
}

hull_status packed_infer(graph *g, node *n)
{
    const type *x, *w;

    TRY(infer_tensor(&x, g, n, 0));
    TRY(infer_tensor(&w, g, n, 1));
    TRY(infer_want(n, x, WANT_FLOAT));
    TRY(infer_same(n, x, w));
    return n->op == OP_gemm ? gemm_infer(g, n, x, w)
                            : conv_nhwc_infer(g, n, x, w);
}

/* ---- kernels ------------------------------------------------------------- */

static double load_at(const tensor *t, int64_t i)
{
    return load_f64(t->dtype, t->data, (uint64_t)i);
}

static void finish(const node *n, const tensor *in, tensor *out, int64_t at,
                   int64_t column, double v)
{
    if (tensor_given(in, n, 2))
        v += load_at(&in[2], column);
    if (tensor_given(in, n, 3))
        v += load_at(&in[3], at);
    store_f64(out->dtype, out->data, (uint64_t)at,
              apply(packed_act_of(n), n, v));
}

/* Element [k, column] of panels whose depth is `depth`. */
static double panel_at(const tensor *w, int64_t depth, int64_t tile, int64_t k,
                       int64_t column)
{
    return load_at(w, (column / tile * depth + k) * tile + column % tile);
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
                   panel_at(&in[1], depth, tile, k, column);
        finish(n, in, out, at, column, sum);
    }
    return HULL_OK;
}

/* One output place: the sum over taps inside the image and channels. */
typedef struct conv_walk {
    window w;
    int64_t kernel[SPATIAL_MAX], taps;
    const tensor *x, *k;
    int64_t channels, columns, tile;
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
        for (int64_t ch = 0; ch < c->channels; ch++)
            sum += load_at(c->x, pixel * c->channels + ch) *
                   panel_at(c->k, c->taps * c->channels, c->tile,
                            tap * c->channels + ch, column);
    }
    return sum;
}

static hull_status conv_nhwc_eval(const node *n, const tensor *in, tensor *out)
{
    conv_walk c = {.taps = 1, .x = &in[0], .k = &in[1],
                   .channels = in[0].shape[in[0].rank - 1],
                   .columns = attr_int(n, "n"), .tile = attr_int(n, "tile"),
                   .single = attr_int(n, "groups") != 1};
    int64_t place[HULL_MAX_RANK] = {0}, at = 0;

    TRY(window_ints(c.kernel, n, "kernel", in[0].rank - 2, 1, 0));
    TRY(window_read(&c.w, n, in[0].rank - 2));
    for (uint32_t i = 0; i < c.w.n; i++)
        c.taps *= c.kernel[i];
    if (tensor_numel(out) == 0)
        return HULL_OK;
    do { /* place: image, spatial axes, column */
        int64_t column = place[out->rank - 1];

        finish(n, in, out, at, column, sum_at(&c, place[0], place + 1,
                                              column));
        at++;
    } while (index_next(place, out->shape, out->rank));
    return HULL_OK;
}

hull_status packed_eval(eval_ctx *cx, const node *n, const tensor *in,
                        tensor *out)
{
    (void)cx;
    return n->op == OP_gemm ? gemm_eval(n, in, out)
                            : conv_nhwc_eval(n, in, out);
}
