/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * conv_vec.h - the op conv_nhwc. A tile is MICRO_ROWS output places; its rows
 * are pointers, one per where and tap, to a pixel's channels or to zeros, so
 * nothing is copied (the indirection of XNNPACK's convolutions). An image of
 * few channels is copied once with its padding, and a row of the kernel is then
 * one tap. A deep 1x1 convolution is a gemm. Depthwise: vectors of channels.
 */
#include "backend/cpu/products.h"

#include <string.h>

MICRO_EACH(MICRO_DEFINE_POINTERS)
#define NAME(r) micro_pointers_##r,
static micro_fn *const pointer_tiles[] = {NULL, MICRO_EACH(NAME)};
#undef NAME

#define CONV_AXES 3
#define FEW_CHANNELS 8    /* below: the padded copy */
#define DEEP_CHANNELS 1024 /* from here on rows of a 1x1 would fall into the
                            * same sets of the cache: gemm packs them */

/* All axes as three: rank 3 and 4 have sizes 1 in front. */
typedef struct conv {
    int64_t batch, channels, columns;
    int64_t in[CONV_AXES], out[CONV_AXES], kernel[CONV_AXES];
    int64_t stride[CONV_AXES], before[CONV_AXES], dilation[CONV_AXES];
    int64_t taps, depth; /* of the pointers: depth floats each */
    int64_t places;      /* batch * out */
    const float *x, *w, *zeros;
    float *y;
    epilogue e;
    int64_t parts, panels_n, block;
    bool by_places;
    void *scratch;       /* per part: pointers, then one tile */
    int64_t scratch_bytes;
    int64_t *offsets;    /* per tap, from the first one, in floats */
} conv;

static hull_status conv_open(conv *c, const node *n, const tensor *in,
                             tensor *out)
{
    uint32_t axes = in[0].rank - 2, lead = CONV_AXES - axes;
    int64_t kernel[SPATIAL_MAX];
    window w;

    TRY(window_ints(kernel, n, "kernel", axes, 1, 0));
    TRY(window_read(&w, n, axes));
    *c = (conv){.batch = in[0].shape[0],
                .channels = in[0].shape[in[0].rank - 1],
                .columns = attr_int(n, "n"), .taps = 1, .x = in[0].data,
                .w = in[1].data, .y = out->data, .e = epilogue_of(n, in)};
    c->places = c->batch;
    for (uint32_t i = 0; i < CONV_AXES; i++) {
        bool real = i >= lead;
        uint32_t k = real ? i - lead : 0;

        c->in[i] = real ? in[0].shape[1 + k] : 1;
        c->out[i] = real ? out->shape[1 + k] : 1;
        c->kernel[i] = real ? kernel[k] : 1;
        c->stride[i] = real ? w.stride[k] : 1;
        c->dilation[i] = real ? w.dilation[k] : 1;
        c->before[i] = real ? w.before[k] : 0;
        c->taps *= c->kernel[i];
        c->places *= c->out[i];
    }
    c->depth = c->channels;
    return HULL_OK;
}

/* ---- pointers ------------------------------------------------------------ */

/* The where's window: where its first tap is, and whether all taps are inside
 * the image. */
typedef struct spot {
    int64_t image, at[CONV_AXES];
    bool inside;
} spot;

static spot spot_of(const conv *c, int64_t where)
{
    spot s = {.inside = true};

    for (int i = CONV_AXES; i-- > 0; where /= c->out[i]) {
        int64_t reach = (c->kernel[i] - 1) * c->dilation[i];

        s.at[i] = where % c->out[i] * c->stride[i] - c->before[i];
        s.inside = s.inside && s.at[i] >= 0 && s.at[i] + reach < c->in[i];
    }
    s.image = where;
    return s;
}

static const float *pixel(const conv *c, const spot *s, int64_t a, int64_t b,
                          int64_t d)
{
    int64_t p[CONV_AXES] = {s->at[0] + a * c->dilation[0],
                            s->at[1] + b * c->dilation[1],
                            s->at[2] + d * c->dilation[2]};
    int64_t at = s->image;

    for (int i = 0; i < CONV_AXES; i++) {
        if (p[i] < 0 || p[i] >= c->in[i])
            return c->zeros;
        at = at * c->in[i] + p[i];
    }
    return c->x + at * c->channels;
}

static void point_row(const conv *c, int64_t where, int64_t i,
                      const float **rows)
{
    spot s = spot_of(c, where);
    int64_t t = 0;

    if (s.inside) {
        const float *first = pixel(c, &s, 0, 0, 0);

        for (; t < c->taps; t++)
            rows[t * MICRO_ROWS + i] = first + c->offsets[t];
        return;
    }
    for (int64_t a = 0; a < c->kernel[0]; a++)
        for (int64_t b = 0; b < c->kernel[1]; b++)
            for (int64_t d = 0; d < c->kernel[2]; d++)
                rows[t++ * MICRO_ROWS + i] = pixel(c, &s, a, b, d);
}

static hull_status make_offsets(conv *c, eval_ctx *cx)
{
    float *zeros = arena_array(cx->scratch, (size_t)c->depth + 16,
                               sizeof *zeros);
    int64_t t = 0;

    c->zeros = zeros;
    c->offsets = arena_array(cx->scratch, (size_t)c->taps,
                             sizeof *c->offsets);
    if (zeros == NULL || c->offsets == NULL)
        return fail_oom((size_t)c->depth * sizeof *zeros);
    memset(zeros, 0, ((size_t)c->depth + 16) * sizeof *zeros);
    for (int64_t a = 0; a < c->kernel[0]; a++)
        for (int64_t b = 0; b < c->kernel[1]; b++)
            for (int64_t d = 0; d < c->kernel[2]; d++)
                c->offsets[t++] = ((a * c->dilation[0] * c->in[1] +
                                    b * c->dilation[1]) * c->in[2] +
                                   d * c->dilation[2]) * c->channels;
    return HULL_OK;
}

/* ---- few channels -------------------------------------------------------- */

/* x with its padding written out; a row of the kernel becomes one tap. */
static hull_status copy_padded(conv *c, eval_ctx *cx)
{
    int64_t width = (c->out[2] - 1) * c->stride[2] + c->kernel[2];
    int64_t rows = c->batch * c->in[0] * c->in[1], have = c->in[2];
    int64_t skip = c->before[2];
    float *copy = arena_array(cx->scratch,
                              (size_t)(rows * width * c->channels) + 64,
                              sizeof *copy);

    if (copy == NULL)
        return fail_oom((size_t)(rows * width * c->channels) * sizeof *copy);
    have = have < width - skip ? have : width - skip;
    for (int64_t r = 0; r < rows; r++) {
        float *to = copy + r * width * c->channels;
        const float *from = c->x + r * c->in[2] * c->channels;
        int64_t lead = skip * c->channels, n = have * c->channels;

        memset(to, 0, (size_t)lead * sizeof *to);
        memcpy(to + lead, from, (size_t)n * sizeof *to);
        memset(to + lead + n, 0,
               (size_t)(width * c->channels - lead - n) * sizeof *to);
    }
    c->x = copy;
    c->in[2] = width;
    c->before[2] = 0;
    c->depth = c->kernel[2] * c->channels;
    c->taps /= c->kernel[2];
    c->kernel[2] = 1;
    return HULL_OK;
}

/* ---- tiles --------------------------------------------------------------- */

static void conv_activate(const conv *c, float *y, int64_t ld, int64_t r)
{
    if (c->e.act == PACKED_NONE)
        return;
    for (int64_t i = 0; i < r; i++, y += ld) {
        vec_store(y, epilogue_apply(&c->e, vec_load(y)));
        vec_store(y + VEC_LANES,
                  epilogue_apply(&c->e, vec_load(y + VEC_LANES)));
    }
}

static void conv_tile(const conv *c, micro *m, int64_t p, int64_t where,
                      int64_t r, float *side)
{
    int64_t at = where * c->columns + p * MICRO_COLS;
    int64_t width = c->columns - p * MICRO_COLS;
    size_t some = (size_t)width * sizeof(float);
    float bias[MICRO_COLS];

    m->bias = c->e.bias != NULL ? c->e.bias + p * MICRO_COLS : NULL;
    m->start = c->e.residual != NULL ? c->e.residual + at : NULL;
    m->c = c->y + at;
    m->ldc = m->ld_start = c->columns;
    if (width >= MICRO_COLS) {
        pointer_tiles[r](m);
        conv_activate(c, m->c, m->ldc, r);
        return;
    }
    if (m->bias != NULL)
        m->bias = memcpy(bias, m->bias, some);
    for (int64_t i = 0; m->start != NULL && i < r; i++)
        memcpy(side + i * MICRO_COLS, c->e.residual + at + i * c->columns,
               some);
    m->start = m->start != NULL ? side : NULL;
    m->c = side;
    m->ldc = m->ld_start = MICRO_COLS;
    pointer_tiles[r](m);
    conv_activate(c, side, MICRO_COLS, r);
    for (int64_t i = 0; i < r; i++)
        memcpy(c->y + at + i * c->columns, side + i * MICRO_COLS, some);
}

static int64_t n_tiles(const conv *c)
{
    return (c->places + MICRO_ROWS - 1) / MICRO_ROWS;
}

/* Tiles [t0, t1) by panels [p0, p1), a block of tiles at a time: their rows
 * stay in L2 while the panels pass. */
static void conv_range(const conv *c, int64_t t0, int64_t t1, int64_t p0,
                       int64_t p1, const float **rows, float *side)
{
    int64_t all = n_tiles(c), per_tile = c->taps * MICRO_ROWS;
    int64_t panel_n = c->taps * c->depth * MICRO_COLS;

    for (int64_t b = t0; b < t1; b += c->block) {
        int64_t end = b + c->block < t1 ? b + c->block : t1;

        for (int64_t t = b; t < end; t++) {
            int64_t from = c->places * t / all;
            int64_t to = c->places * (t + 1) / all;

            for (int64_t i = from; i < to; i++)
                point_row(c, i, i - from, rows + (t - b) * per_tile);
        }
        for (int64_t p = p0; p < p1; p++) {
            const float *panel = c->w + p * panel_n;
            const float *next = end - b > 1 && p + 1 < p1 ? panel + panel_n
                                                          : panel;
            int64_t off = 0, step = c->taps * c->depth * 32;

            for (int64_t t = b; t < end; t++) {
                int64_t from = c->places * t / all;
                micro m = {.taps = c->taps, .depth = c->depth,
                           .rows = rows + (t - b) * per_tile, .panel = panel,
                           .ahead = (const char *)next + off};

                conv_tile(c, &m, p, from, c->places * (t + 1) / all - from,
                          side);
                off += step;
                if (off + step > panel_n * 4)
                    off = 0;
            }
        }
    }
}

static hull_status conv_part(void *user, size_t i)
{
    const conv *c = user;
    int64_t part = (int64_t)i, tiles = n_tiles(c);
    char *mine = (char *)c->scratch + part * c->scratch_bytes;
    float *side = (float *)(void *)mine;
    const float **rows =
        (const float **)(void *)(side + MICRO_ROWS * MICRO_COLS);

    if (c->by_places)
        conv_range(c, tiles * part / c->parts, tiles * (part + 1) / c->parts,
                   0, c->panels_n, rows, side);
    else
        conv_range(c, 0, tiles, c->panels_n * part / c->parts,
                   c->panels_n * (part + 1) / c->parts, rows, side);
    return HULL_OK;
}

static hull_status conv_dense(conv *c, eval_ctx *cx)
{
    int64_t tiles, work_per_tile;

    if (c->channels < FEW_CHANNELS && c->dilation[2] == 1 && c->kernel[2] > 1)
        TRY(copy_padded(c, cx));
    TRY(make_offsets(c, cx));
    tiles = n_tiles(c);
    c->panels_n = (c->columns + MICRO_COLS - 1) / MICRO_COLS;
    work_per_tile = MICRO_ROWS * c->taps * c->depth * c->columns;
    c->parts = pool_threads(cx->pool);
    if ((double)tiles * (double)work_per_tile < 5e5)
        c->parts = 1;
    c->by_places = tiles >= 16 * c->parts || c->panels_n < 2 * c->parts;
    c->block = c->panels_n <= 8
                   ? 1 : 1 + 131072 / (c->taps * c->depth) / MICRO_ROWS;
    c->block = c->block < tiles ? c->block : tiles;
    c->scratch_bytes = (int64_t)round_up(
        (uint64_t)(MICRO_ROWS * MICRO_COLS * (int64_t)sizeof(float) +
                   c->block * c->taps * MICRO_ROWS *
                       (int64_t)sizeof(float *)), 64);
    c->scratch = arena_array(cx->scratch, (size_t)c->parts,
                             (size_t)c->scratch_bytes);
    if (c->scratch == NULL)
        return fail_oom((size_t)(c->parts * c->scratch_bytes));
    return pool_for(cx->pool, (size_t)c->parts, conv_part, c);
}

/* ---- depthwise ----------------------------------------------------------- */

/* One output where, channels [from, from + n). */
VEC_INLINE void single_place(const conv *c, const spot *s, int64_t to,
                             int64_t from, int64_t n)
{
    bool whole = n == VEC_LANES;
    vec sum = vec_set(0.0f);
    int64_t t = 0;

    if (c->e.bias != NULL)
        sum = whole ? vec_load(c->e.bias + from)
                    : vec_load_some(c->e.bias + from, n);
    for (int64_t a = 0; a < c->kernel[0]; a++)
        for (int64_t b = 0; b < c->kernel[1]; b++)
            for (int64_t d = 0; d < c->kernel[2]; d++, t++) {
                const float *x = s->inside
                                     ? c->x + s->image + c->offsets[t]
                                     : pixel(c, s, a, b, d);
                const float *w = c->w + t * c->channels + from;

                if (x == c->zeros)
                    continue;
                sum = whole ? vec_fma(vec_load(x + from), vec_load(w), sum)
                            : vec_fma(vec_load_some(x + from, n),
                                      vec_load_some(w, n), sum);
            }
    if (c->e.residual != NULL)
        sum = vec_add(sum, vec_load_some(c->e.residual + to + from, n));
    sum = epilogue_apply(&c->e, sum);
    if (whole)
        vec_store(c->y + to + from, sum);
    else
        vec_store_some(c->y + to + from, sum, n);
}

static void single_range(void *user, int64_t begin, int64_t end)
{
    const conv *c = user;

    for (int64_t where = begin; where < end; where++) {
        spot s = spot_of(c, where);
        int64_t from = 0;

        if (s.inside) /* from here on: where the first tap is */
            s.image = pixel(c, &s, 0, 0, 0) - c->x;
        for (; from + VEC_LANES <= c->channels; from += VEC_LANES)
            single_place(c, &s, where * c->channels, from, VEC_LANES);
        if (from < c->channels)
            single_place(c, &s, where * c->channels, from,
                         c->channels - from);
    }
}

hull_status VEC_NAME(cpu_conv)(eval_ctx *cx, const node *n, const tensor *in,
                               tensor *out)
{
    conv c;
    bool plain = true;

    TRY(conv_open(&c, n, in, out));
    if (c.places == 0)
        return HULL_OK;
    if (attr_int(n, "groups") != 1) {
        TRY(make_offsets(&c, cx));
        cpu_parallel(cx, c.places, c.out[2],
                     (double)(c.taps * c.channels) * 0.1, single_range, &c);
        return HULL_OK;
    }
    for (int i = 0; i < CONV_AXES; i++)
        plain = plain && c.kernel[i] == 1 && c.stride[i] == 1 &&
                c.in[i] == c.out[i];
    if (plain && c.channels >= DEEP_CHANNELS)
        return VEC_NAME(gemm_run)(cx, c.places, c.columns, c.channels, c.x,
                                  c.w, c.y, &c.e);
    return conv_dense(&c, cx);
}
