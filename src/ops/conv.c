/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * conv.c - convolution and its transpose over any number of spatial axes:
 * x [n, c, *], w [m, c/g, *] (transpose: [c, m/g, *]), bias [m]. Both kernels
 * work on one padded image in double: conv reads it, conv_transpose fills it.
 * Integers keep their 64 bits in the doubles' storage and wrap.
 */
#include "ops/family.h"

#include <inttypes.h>
#include <string.h>

/* What a convolution has besides its window. */
typedef struct conv {
    window w;
    int64_t groups, out_pad[SPATIAL_MAX];
} conv;

static hull_status conv_read(conv *out, const node *n, uint32_t n_axes)
{
    char what[128];

    *out = (conv){.groups = attr_int(n, "groups")};
    if (out->groups < 1 || out->groups > INT32_MAX)
        return fail(HULL_EINVAL, "%s: groups is %" PRId64,
                    node_what(n, what), out->groups);
    if (n->op == OP_conv_transpose)
        TRY(window_ints(out->out_pad, n, "out_pad", n_axes, 0, 0));
    return window_read(&out->w, n, n_axes);
}

/* ---- shapes -------------------------------------------------------------- */

dim window_size(ir *m, const window *w, uint32_t i, dim in, dim kernel)
{
    dim reach = dim_mul(m, w->dilation[i], dim_sub(m, kernel, 1));
    dim more = dim_int(m, w->before[i] + w->after[i] - 1);
    dim last = dim_sub(m, dim_add(m, in, more), reach);

    return dim_add(m, dim_div(m, last, w->stride[i]), 1);
}

static dim transpose_size(ir *m, const conv *c, uint32_t i, dim in, dim kernel)
{
    const window *w = &c->w;
    dim reach = dim_mul(m, w->dilation[i], dim_sub(m, kernel, 1));
    dim size = dim_mul(m, dim_sub(m, in, 1), w->stride[i]);
    dim trim = dim_int(m, 1 + c->out_pad[i] - w->before[i] - w->after[i]);

    return dim_add(m, dim_add(m, size, reach), trim);
}

static hull_status check_channels(graph *g, const node *n, const conv *c,
                                  const type *x, const type *k)
{
    bool trans = n->op == OP_conv_transpose;
    dim in = trans ? k->dims[0] : dim_mul(g->m, k->dims[1], c->groups);
    dim split_dim = k->dims[0];
    char what[128];
    int64_t v = 0;

    TRY(infer_equal(g, n, x->dims[1], in, "channels of input and weight"));
    if (dim_is_int(g->m, split_dim, &v) && v % c->groups != 0)
        return fail(HULL_ESHAPE, "%s: %" PRId64 " channels in %" PRId64
                    " groups", node_what(n, what), v, c->groups);
    return HULL_OK;
}

static hull_status infer_bias(graph *g, const node *n, const type *x,
                              dim channels)
{
    const type *bias = NULL;
    char what[128];

    if (n->n_in < 3 || n->in[2] == 0)
        return HULL_OK;
    TRY(infer_tensor(&bias, g, n, 2));
    TRY(infer_same(n, x, bias));
    if (bias->rank != 1)
        return fail(HULL_ESHAPE, "%s: bias of rank %" PRIu32 ", wanted 1",
                    node_what(n, what), bias->rank);
    return infer_equal(g, n, bias->dims[0], channels,
                       "sizes of bias and output channels");
}

hull_status conv_infer(graph *g, node *n)
{
    const type *x = NULL, *k = NULL;
    bool trans = n->op == OP_conv_transpose;
    dim dims[HULL_MAX_RANK];
    char what[128];
    conv c;

    TRY(infer_tensor(&x, g, n, 0));
    TRY(infer_tensor(&k, g, n, 1));
    TRY(infer_same(n, x, k));
    TRY(infer_want(n, x, WANT_FLOAT | WANT_INT));
    if (x->rank < 3 || k->rank != x->rank)
        return fail(HULL_ESHAPE, "%s: ranks %" PRIu32 " and %" PRIu32
                    ", wanted equal and 3 or more", node_what(n, what),
                    x->rank, k->rank);
    TRY(conv_read(&c, n, x->rank - 2));
    TRY(check_channels(g, n, &c, x, k));
    dims[0] = x->dims[0];
    dims[1] = trans ? dim_mul(g->m, k->dims[1], c.groups) : k->dims[0];
    for (uint32_t i = 0; i < c.w.n; i++) {
        int64_t size = 0;
        dim *d = &dims[2 + i];

        *d = trans ? transpose_size(g->m, &c, i, x->dims[2 + i], k->dims[2 + i])
                   : window_size(g->m, &c.w, i, x->dims[2 + i],
                                 k->dims[2 + i]);
        if (dim_is_int(g->m, *d, &size) && size < 1)
            return fail(HULL_ESHAPE, "%s: spatial axis %" PRIu32
                        " would have size %" PRId64, node_what(n, what), i,
                        size);
    }
    TRY(infer_bias(g, n, x, dims[1]));
    return infer_out(g, n, 0, x->dtype, dims, x->rank);
}

/* ---- kernels ------------------------------------------------------------- */

/* Concrete sizes. `image` is the padded one: conv's input, the transpose's
 * output; `grid` is the other side: conv's output, the transpose's input. */
typedef struct sizes {
    uint32_t n;
    int64_t c, m, cg, mg, taps, grid_numel, image_numel;
    int64_t kernel[SPATIAL_MAX], grid[SPATIAL_MAX], image[SPATIAL_MAX];
    int64_t image_stride[SPATIAL_MAX];
    bool ints;
} sizes;

/* Size, stride and reach of axis i; false when they do not fit together. */
static bool read_axis(sizes *s, const window *w, uint32_t i)
{
    int64_t reach, taps;

    s->image_stride[i] = s->image_numel;
    if (!mul_i64(&s->taps, s->taps, s->kernel[i]) ||
        !mul_i64(&s->grid_numel, s->grid_numel, s->grid[i]) ||
        !mul_i64(&s->image_numel, s->image_numel, s->image[i]))
        return false;
    return s->grid[i] == 0 ||
           (mul_i64(&reach, s->grid[i] - 1, w->stride[i]) &&
            mul_i64(&taps, s->kernel[i] - 1, w->dilation[i]) &&
            add_i64(&reach, reach, taps) && reach < s->image[i]);
}

static hull_status read_sizes(sizes *s, const conv *c, const node *n,
                              const tensor *x, const tensor *k,
                              const tensor *out)
{
    bool trans = n->op == OP_conv_transpose;
    const tensor *grid = trans ? x : out, *image = trans ? out : x;
    const window *w = &c->w;
    char what[128];
    bool fits;

    *s = (sizes){.n = w->n, .c = x->shape[1], .m = out->shape[1], .taps = 1,
                 .grid_numel = 1, .image_numel = 1,
                 .ints = !dtype_is_float(x->dtype)};
    s->cg = s->c / c->groups;
    s->mg = s->m / c->groups;
    fits = s->cg * c->groups == s->c && s->mg * c->groups == s->m &&
           k->shape[0] == (trans ? s->c : s->m) &&
           k->shape[1] == (trans ? s->mg : s->cg);
    for (uint32_t i = w->n; fits && i-- > 0;) {
        s->kernel[i] = k->shape[2 + i];
        s->grid[i] = grid->shape[2 + i];
        fits = add_i64(&s->image[i], image->shape[2 + i],
                       w->before[i] + w->after[i]) &&
               read_axis(s, w, i);
    }
    if (!fits)
        return fail(HULL_ESHAPE, "%s: weight, groups and window do not fit the "
                    "input's shape", node_what(n, what));
    return HULL_OK;
}

hull_status conv_check(const node *n, const tensor *in, const tensor *out)
{
    conv c;
    sizes s;

    TRY(conv_read(&c, n, in[0].rank - 2));
    return read_sizes(&s, &c, n, &in[0], &in[1], out);
}

/* n elements of t, from element `from` on, as the kernels hold them. */
static void load_row(double *dst, const tensor *t, int64_t from, int64_t n)
{
    int64_t *ints = (int64_t *)(void *)dst;

    if (dtype_is_float(t->dtype)) {
        for (int64_t j = 0; j < n; j++)
            dst[j] = load_f64(t->dtype, t->data, (uint64_t)(from + j));
    } else {
        for (int64_t j = 0; j < n; j++)
            ints[j] = load_i64(t->dtype, t->data, (uint64_t)(from + j));
    }
}

/* Back, with the bias of channel m added. */
static void store_row(tensor *out, int64_t to, const double *src, int64_t n,
                      const tensor *bias, int64_t m)
{
    const int64_t *ints = (const int64_t *)(const void *)src;
    hull_dtype dt = out->dtype;

    if (dtype_is_float(dt)) {
        double add = bias ? load_f64(dt, bias->data, (uint64_t)m) : 0;

        for (int64_t j = 0; j < n; j++)
            store_f64(dt, out->data, (uint64_t)(to + j), src[j] + add);
    } else {
        int64_t add = bias ? load_i64(dt, bias->data, (uint64_t)m) : 0;

        for (int64_t j = 0; j < n; j++)
            store_i64(dt, out->data, (uint64_t)(to + j),
                      (int64_t)((uint64_t)ints[j] + (uint64_t)add));
    }
}

/* Copies dense rows between a tensor's channel and the padded image. */
static void load_image(double *image, const sizes *s, const window *w,
                       const tensor *x, int64_t from)
{
    int64_t index[SPATIAL_MAX] = {0};
    int64_t row = x->shape[x->rank - 1];
    uint32_t last = s->n - 1;

    do {
        double *dst = image + w->before[last];

        for (uint32_t i = 0; i < last; i++)
            dst += (index[i] + w->before[i]) * s->image_stride[i];
        load_row(dst, x, from, row);
        from += row;
    } while (index_next(index, x->shape + 2, last));
}

static void store_image(const double *image, const sizes *s, const window *w,
                        tensor *out, int64_t to, const tensor *bias,
                        int64_t m)
{
    int64_t index[SPATIAL_MAX] = {0};
    int64_t row = out->shape[out->rank - 1];
    uint32_t last = s->n - 1;

    do {
        const double *src = image + w->before[last];

        for (uint32_t i = 0; i < last; i++)
            src += (index[i] + w->before[i]) * s->image_stride[i];
        store_row(out, to, src, row, bias, m);
        to += row;
    } while (index_next(index, out->shape + 2, last));
}

static void tap_conv(double *restrict acc, const double *restrict image,
                     double v, int64_t n, int64_t stride)
{
    if (stride == 1) {
        for (int64_t j = 0; j < n; j++)
            acc[j] += v * image[j];
    } else {
        for (int64_t j = 0; j < n; j++)
            acc[j] += v * image[j * stride];
    }
}

static void tap_transpose(double *restrict image, const double *restrict grid,
                          double v, int64_t n, int64_t stride)
{
    for (int64_t j = 0; j < n; j++)
        image[j * stride] += v * grid[j];
}

/* Both of them for integers. */
static void tap_ints(double *grid, double *image, const double *tap,
                     int64_t n, int64_t stride, bool trans)
{
    uint64_t *g = (uint64_t *)(void *)grid, *p = (uint64_t *)(void *)image;
    const uint64_t v = *(const uint64_t *)(const void *)tap;

    for (int64_t j = 0; j < n; j++) {
        if (trans)
            p[j * stride] += v * g[j];
        else
            g[j] += v * p[j * stride];
    }
}

/* One channel of the image against one of the grid, all taps. */
static void plane(const sizes *s, const window *w, double *grid, double *image,
                  const double *taps, bool trans)
{
    int64_t tap[SPATIAL_MAX] = {0};
    uint32_t last = s->n - 1;
    int64_t row = s->grid[last];

    if (s->taps == 0 || s->grid_numel == 0)
        return;
    for (int64_t t = 0; t < s->taps; t++) {
        int64_t index[SPATIAL_MAX] = {0};
        double *g = grid;

        do {
            double *at = image;

            for (uint32_t i = 0; i < last; i++)
                at += (tap[i] * w->dilation[i] + index[i] * w->stride[i]) *
                      s->image_stride[i];
            at += tap[last] * w->dilation[last];
            if (s->ints)
                tap_ints(g, at, &taps[t], row, w->stride[last], trans);
            else if (trans)
                tap_transpose(at, g, taps[t], row, w->stride[last]);
            else
                tap_conv(g, at, taps[t], row, w->stride[last]);
            g += row;
        } while (index_next(index, s->grid, last));
        index_next(tap, s->kernel, s->n);
    }
}

/* A kernel of one tap without stride or padding sees no rows: one long one. */
static void flatten(sizes *s, window *w)
{
    for (uint32_t i = 0; i < s->n; i++) {
        if (w->stride[i] != 1 || s->image[i] != s->grid[i] || s->taps != 1)
            return;
    }
    s->n = w->n = 1;
    s->kernel[0] = 1;
    s->grid[0] = s->image[0] = s->grid_numel;
    s->image_stride[0] = 1;
}

typedef struct buffers {
    double *k, *image, *grid;
} buffers;

/* One image of the batch. */
static void run_conv(const sizes *s, const window *w, const buffers *b,
                     const tensor *x, const tensor *bias, int64_t batch,
                     tensor *out)
{
    sizes f = *s;
    window fw = *w;

    flatten(&f, &fw);
    for (int64_t c = 0; x->data && c < s->c; c++) {
        int64_t plane_numel = tensor_numel(x) / x->shape[0] / s->c;

        if (plane_numel > 0)
            load_image(b->image + c * s->image_numel, s, w, x,
                       (batch * s->c + c) * plane_numel);
    }
    for (int64_t m = 0; m < s->m; m++) {
        int64_t group = m / s->mg;

        memset(b->grid, 0, (size_t)s->grid_numel * sizeof(double));
        for (int64_t c = 0; c < s->cg; c++)
            plane(&f, &fw, b->grid,
                  b->image + (group * s->cg + c) * s->image_numel,
                  b->k + (m * s->cg + c) * s->taps, false);
        store_row(out, (batch * s->m + m) * s->grid_numel, b->grid,
                  s->grid_numel, bias, m);
    }
}

static void run_transpose(const sizes *s, const window *w, const buffers *b,
                          const tensor *x, const tensor *bias, int64_t batch,
                          tensor *out)
{
    int64_t numel = s->c * s->grid_numel;
    int64_t out_plane = tensor_numel(out) / out->shape[0] / s->m;

    load_row(b->grid, x, batch * numel, numel);
    for (int64_t m = 0; m < s->m; m++) {
        int64_t group = m / s->mg;

        memset(b->image, 0, (size_t)s->image_numel * sizeof(double));
        for (int64_t c = group * s->cg; c < (group + 1) * s->cg; c++)
            plane(s, w, b->grid + c * s->grid_numel, b->image,
                  b->k + (c * s->mg + m % s->mg) * s->taps, true);
        store_image(b->image, s, w, out, (batch * s->m + m) * out_plane,
                    bias, m);
    }
}

hull_status conv_eval(eval_ctx *cx, const node *n, const tensor *in,
                      tensor *out)
{
    bool trans = n->op == OP_conv_transpose;
    const tensor *bias = tensor_given(in, n, 2) ? &in[2] : NULL;
    buffers b = {0};
    char what[128];
    int64_t image, grid;
    conv c;
    sizes s;

    TRY(conv_read(&c, n, in[0].rank - 2));
    TRY(read_sizes(&s, &c, n, &in[0], &in[1], out));
    if (bias && bias->shape[0] != s.m)
        return fail(HULL_ESHAPE, "%s: bias of %" PRId64 ", wanted %" PRId64,
                    node_what(n, what), bias->shape[0], s.m);
    if (tensor_numel(out) == 0)
        return HULL_OK;
    TRY(eval_scratch(&b.k, cx, tensor_numel(&in[1])));
    load_row(b.k, &in[1], 0, tensor_numel(&in[1]));
    if (!mul_i64(&image, s.image_numel, trans ? 1 : s.c) ||
        !mul_i64(&grid, s.grid_numel, trans ? s.c : 1))
        return fail(HULL_ENOMEM, "%s: the padded image is too large",
                    node_what(n, what));
    TRY(eval_scratch(&b.image, cx, image));
    TRY(eval_scratch(&b.grid, cx, grid));
    for (int64_t i = 0; i < in[0].shape[0]; i++) {
        if (trans)
            run_transpose(&s, &c.w, &b, &in[0], bias, i, out);
        else
            run_conv(&s, &c.w, &b, &in[0], bias, i, out);
    }
    return HULL_OK;
}
