/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * winograd_vec.h - the ops conv_winograd and winograd_weight. A block of tiles
 * is transformed to a * a points, each point is a product with its panels, and
 * the sums are transformed back; a block stays in L2. Too few tiles for blocks:
 * the three steps one after the other, each divided over the threads. With m
 * and the direction of a transform constant, a tile is registers and a few
 * stores to the stack.
 */
#include "backend/cpu/products.h"

#include <string.h>

#define POINTS_MAX 36
#define BLOCK_TILES (28 / MICRO_ROWS * MICRO_ROWS)
#define STRIPE 64 /* channels or columns of a tile that are one piece of work */

typedef struct winograd {
    int64_t m, a, points;
    int64_t h, w, channels, oh, ow, columns, top, left;
    int64_t th, tw, tiles;   /* per image; all */
    int64_t panels_n, parts;
    const float *x, *u, *zeros;
    float *y;
    epilogue e;
    int64_t block;           /* tiles of v and s */
    int64_t ld_v, ld_s;
    float *v, *s;            /* [points, block, ld]; per part, or for all */
    const float **rows;      /* per part */
    int64_t v_n, s_n, rows_n;
} winograd;

/* ---- transforms ---------------------------------------------------------- */

/* B^T d of one row or column. */
VEC_INLINE void turn_in(int m, const vec *d, vec *o, int step)
{
    vec e, f, g, q;

    if (m == 2) {
        o[0] = vec_sub(d[0], d[2]);
        o[step] = vec_add(d[1], d[2]);
        o[2 * step] = vec_sub(d[2], d[1]);
        o[3 * step] = vec_sub(d[1], d[3]);
        return;
    }
    e = vec_fnma(vec_set(4), d[2], d[4]);
    f = vec_fnma(vec_set(4), d[1], d[3]);
    g = vec_sub(d[4], d[2]);
    q = vec_sub(d[3], d[1]);
    q = vec_add(q, q);
    o[0] = vec_fma(vec_set(4), d[0], vec_fnma(vec_set(5), d[2], d[4]));
    o[step] = vec_add(e, f);
    o[2 * step] = vec_sub(e, f);
    o[3 * step] = vec_add(g, q);
    o[4 * step] = vec_sub(g, q);
    o[5 * step] = vec_fma(vec_set(4), d[1], vec_fnma(vec_set(5), d[3], d[5]));
}

/* A^T d. */
VEC_INLINE void turn_out(int m, const vec *d, vec *o, int step)
{
    vec p = vec_add(d[1], d[2]), q = vec_sub(d[1], d[2]), r, t;

    if (m == 2) {
        o[0] = vec_add(d[0], p);
        o[step] = vec_sub(q, d[3]);
        return;
    }
    r = vec_add(d[3], d[4]);
    t = vec_sub(d[3], d[4]);
    o[0] = vec_add(d[0], vec_add(p, r));
    o[step] = vec_fma(vec_set(2), t, q);
    o[2 * step] = vec_fma(vec_set(4), r, p);
    o[3 * step] = vec_add(d[5], vec_fma(vec_set(8), t, q));
}

/* Channels [c, c + n) of the pixels to one place of every point. */
VEC_INLINE void tile_in(int m, const winograd *w, const float *const *pixels,
                        int64_t c, int64_t n, float *v)
{
    enum { A_MAX = 6 };
    int a = m + 2;
    vec d[A_MAX], o[A_MAX], x[POINTS_MAX];

    VEC_UNROLL
    for (int j = 0; j < a; j++) {
        VEC_UNROLL
        for (int i = 0; i < a; i++)
            d[i] = n == VEC_LANES ? vec_load(pixels[i * a + j] + c)
                                  : vec_load_some(pixels[i * a + j] + c, n);
        turn_in(m, d, x + j, a);
    }
    VEC_UNROLL
    for (int i = 0; i < a; i++) {
        turn_in(m, x + i * a, o, 1);
        VEC_UNROLL
        for (int j = 0; j < a; j++)
            vec_store(v + (i * a + j) * w->block * w->ld_v + c, o[j]);
    }
}

/* Channels [c0, c1) of tile t, place `at` of v. */
VEC_INLINE void winograd_in(int m, const winograd *w, int64_t t, int64_t at,
                            int64_t c0, int64_t c1, float *v)
{
    int a = m + 2;
    int64_t of = t % (w->th * w->tw), image = t / (w->th * w->tw);
    int64_t y0 = of / w->tw * m - w->top, x0 = of % w->tw * m - w->left;
    const float *pixels[POINTS_MAX];
    int64_t c = c0;

    for (int i = 0; i < a; i++)
        for (int j = 0; j < a; j++) {
            int64_t y = y0 + i, x = x0 + j;
            bool inside = y >= 0 && y < w->h && x >= 0 && x < w->w;

            pixels[i * a + j] =
                inside ? w->x + ((image * w->h + y) * w->w + x) * w->channels
                       : w->zeros;
        }
    v += at * w->ld_v;
    for (; c + VEC_LANES <= c1; c += VEC_LANES)
        tile_in(m, w, pixels, c, VEC_LANES, v);
    if (c < c1)
        tile_in(m, w, pixels, c, c1 - c, v);
}

/* What the epilogue does to columns [k, k + n) of the result at y. */
VEC_INLINE void place_out(const winograd *w, vec sum, int64_t at, int64_t k,
                          int64_t n)
{
    if (n == VEC_LANES) {
        if (w->e.bias != NULL)
            sum = vec_add(sum, vec_load(w->e.bias + k));
        if (w->e.residual != NULL)
            sum = vec_add(sum, vec_load(w->e.residual + at + k));
        vec_store(w->y + at + k, epilogue_apply(&w->e, sum));
        return;
    }
    if (w->e.bias != NULL)
        sum = vec_add(sum, vec_load_some(w->e.bias + k, n));
    if (w->e.residual != NULL)
        sum = vec_add(sum, vec_load_some(w->e.residual + at + k, n));
    vec_store_some(w->y + at + k, epilogue_apply(&w->e, sum), n);
}

/* Columns [k0, k1) of tile t, place `at` of s. */
VEC_INLINE void winograd_out(int m, const winograd *w, int64_t t, int64_t at,
                             int64_t k0, int64_t k1, const float *s)
{
    enum { A_MAX = 6, M_MAX = 4 };
    int a = m + 2;
    int64_t of = t % (w->th * w->tw), image = t / (w->th * w->tw);
    int64_t y0 = of / w->tw * m, x0 = of % w->tw * m;
    int64_t ny = w->oh - y0 < m ? w->oh - y0 : m;
    int64_t nx = w->ow - x0 < m ? w->ow - x0 : m;
    int64_t first = ((image * w->oh + y0) * w->ow + x0) * w->columns;
    bool simple = ny == m && nx == m &&
                  (w->e.act == PACKED_NONE || w->e.act == PACKED_RELU);
    float out[M_MAX * M_MAX * VEC_LANES];

    s += at * w->ld_s;
    for (int64_t k = k0; k < k1; k += VEC_LANES) {
        int64_t n = k1 - k < VEC_LANES ? k1 - k : VEC_LANES;
        bool direct = simple && n == VEC_LANES;
        vec d[A_MAX], o[M_MAX], x[M_MAX * A_MAX], bias = vec_set(0.0f);

        if (direct && w->e.bias != NULL)
            bias = vec_load(w->e.bias + k);
        VEC_UNROLL
        for (int j = 0; j < a; j++) {
            VEC_UNROLL
            for (int i = 0; i < a; i++)
                d[i] = vec_load(s + (i * a + j) * w->block * w->ld_s + k);
            turn_out(m, d, x + j, a);
        }
        VEC_UNROLL
        for (int i = 0; i < m; i++) {
            turn_out(m, x + i * a, o, 1);
            VEC_UNROLL
            for (int j = 0; j < m; j++) {
                int64_t to = first + (i * w->ow + j) * w->columns + k;

                if (!direct) {
                    vec_store(out + (i * m + j) * VEC_LANES, o[j]);
                    continue;
                }
                o[j] = vec_add(o[j], bias);
                if (w->e.residual != NULL)
                    o[j] = vec_add(o[j], vec_load(w->e.residual + to));
                vec_store(w->y + to, w->e.act == PACKED_RELU ? vec_relu(o[j])
                                                             : o[j]);
            }
        }
        for (int64_t i = 0; !direct && i < ny; i++)
            for (int64_t j = 0; j < nx; j++)
                place_out(w, vec_load(out + (i * m + j) * VEC_LANES),
                          first + (i * w->ow + j) * w->columns, k, n);
    }
}

static void in_2(const winograd *w, int64_t t, int64_t at, int64_t c0,
                 int64_t c1, float *v)
{
    winograd_in(2, w, t, at, c0, c1, v);
}

static void in_4(const winograd *w, int64_t t, int64_t at, int64_t c0,
                 int64_t c1, float *v)
{
    winograd_in(4, w, t, at, c0, c1, v);
}

static void out_2(const winograd *w, int64_t t, int64_t at, int64_t k0,
                  int64_t k1, const float *s)
{
    winograd_out(2, w, t, at, k0, k1, s);
}

static void out_4(const winograd *w, int64_t t, int64_t at, int64_t k0,
                  int64_t k1, const float *s)
{
    winograd_out(4, w, t, at, k0, k1, s);
}

/* ---- products ------------------------------------------------------------ */

/* Products [from, to) of points and panels, the panel running faster, for n
 * tiles. */
static void winograd_products(const winograd *w, int64_t n, int64_t from,
                              int64_t to, const float *v, float *s,
                              const float **rows)
{
    int64_t tiles = (n + MICRO_ROWS - 1) / MICRO_ROWS, pointed = -1;
    int64_t panel_n = w->channels * MICRO_COLS;

    for (int64_t i = from; i < to; i++) {
        int64_t point = i / w->panels_n, p = i % w->panels_n, off = 0;
        const float *panel = w->u + i * panel_n;
        const char *next = (const char *)(i + 1 < to ? panel + panel_n
                                                     : panel);

        for (int64_t t = 0; t < tiles; t++) {
            int64_t first = n * t / tiles, r = n * (t + 1) / tiles - first;
            const float **mine = rows + t * MICRO_ROWS;
            micro m = {.taps = 1, .depth = w->channels, .rows = mine,
                       .panel = panel, .ldc = w->ld_s, .ahead = next + off};

            for (int64_t k = 0; point != pointed && k < r; k++)
                mine[k] = v + (point * w->block + first + k) * w->ld_v;
            m.c = s + (point * w->block + first) * w->ld_s + p * MICRO_COLS;
            VEC_NAME(pointer_tiles)[r](&m);
            off += w->channels * 32;
            if (off + w->channels * 32 > panel_n * 4)
                off = 0;
        }
        pointed = point;
    }
}

static hull_status winograd_blocks(void *user, size_t i)
{
    const winograd *w = user;
    int64_t part = (int64_t)i, all = (w->tiles + w->block - 1) / w->block;
    float *v = w->v + part * w->v_n, *s = w->s + part * w->s_n;

    for (int64_t b = all * part / w->parts; b < all * (part + 1) / w->parts;
         b++) {
        int64_t t0 = w->tiles * b / all, n = w->tiles * (b + 1) / all - t0;

        for (int64_t t = 0; t < n; t++)
            (w->m == 2 ? in_2 : in_4)(w, t0 + t, t, 0, w->channels, v);
        winograd_products(w, n, 0, w->points * w->panels_n, v, s,
                          w->rows + part * w->rows_n);
        for (int64_t t = 0; t < n; t++)
            (w->m == 2 ? out_2 : out_4)(w, t0 + t, t, 0, w->columns, s);
    }
    return HULL_OK;
}

/* ---- few tiles: steps of their own --------------------------------------- */

static hull_status step_in(void *user, size_t i)
{
    const winograd *w = user;
    int64_t part = (int64_t)i, stripes = (w->channels + STRIPE - 1) / STRIPE;
    int64_t all = w->tiles * stripes, end = all * (part + 1) / w->parts;

    for (int64_t k = all * part / w->parts; k < end; k++) {
        int64_t t = k / stripes, c0 = k % stripes * STRIPE;
        int64_t c1 = c0 + STRIPE < w->channels ? c0 + STRIPE : w->channels;

        (w->m == 2 ? in_2 : in_4)(w, t, t, c0, c1, w->v);
    }
    return HULL_OK;
}

static hull_status step_products(void *user, size_t i)
{
    const winograd *w = user;
    int64_t part = (int64_t)i, all = w->points * w->panels_n;

    winograd_products(w, w->tiles, all * part / w->parts,
                      all * (part + 1) / w->parts, w->v, w->s,
                      w->rows + part * w->rows_n);
    return HULL_OK;
}

static hull_status step_out(void *user, size_t i)
{
    const winograd *w = user;
    int64_t part = (int64_t)i, stripes = (w->columns + STRIPE - 1) / STRIPE;
    int64_t all = w->tiles * stripes, end = all * (part + 1) / w->parts;

    for (int64_t k = all * part / w->parts; k < end; k++) {
        int64_t t = k / stripes, k0 = k % stripes * STRIPE;
        int64_t k1 = k0 + STRIPE < w->columns ? k0 + STRIPE : w->columns;

        (w->m == 2 ? out_2 : out_4)(w, t, t, k0, k1, w->s);
    }
    return HULL_OK;
}

/* ---- the op -------------------------------------------------------------- */

static hull_status winograd_open(winograd *w, const node *n, const tensor *in,
                                 tensor *out)
{
    int64_t pad[4];

    TRY(window_ints(pad, n, "pad", 4, 0, 0));
    *w = (winograd){.m = attr_int(n, "m"), .h = in[0].shape[1],
                    .w = in[0].shape[2], .channels = in[0].shape[3],
                    .oh = out->shape[1], .ow = out->shape[2],
                    .columns = out->shape[3], .top = pad[0], .left = pad[1],
                    .x = in[0].data, .u = in[1].data, .y = out->data,
                    .e = epilogue_of(n, in)};
    w->a = w->m + 2;
    w->points = w->a * w->a;
    w->th = (w->oh + w->m - 1) / w->m;
    w->tw = (w->ow + w->m - 1) / w->m;
    w->tiles = in[0].shape[0] * w->th * w->tw;
    w->panels_n = (w->columns + MICRO_COLS - 1) / MICRO_COLS;
    return HULL_OK;
}

/* Room for `shares` times v and s, lines of the cache each on its own, and
 * rows of pointers for each part. */
static hull_status winograd_room(winograd *w, eval_ctx *cx, int64_t shares)
{
    uintptr_t line = 64;
    int64_t tiles = (w->block + MICRO_ROWS - 1) / MICRO_ROWS, all;
    float *p;

    /* 16 more: rows do not fall into the same sets of L1. */
    w->ld_v = (w->channels + 15) / 16 * 16 + 16;
    w->ld_s = w->panels_n * MICRO_COLS + 16;
    w->v_n = w->points * w->block * w->ld_v;
    w->s_n = w->points * w->block * w->ld_s;
    w->rows_n = tiles * MICRO_ROWS;
    all = shares * (w->v_n + w->s_n) + w->channels + 64;
    p = arena_raw(cx->scratch, (size_t)all, sizeof *p);
    w->rows = arena_raw(cx->scratch, (size_t)(w->rows_n * w->parts),
                        sizeof *w->rows);
    if (p == NULL || w->rows == NULL)
        return fail_oom((size_t)all * sizeof *p);
    p += (line - (uintptr_t)p % line) % line / sizeof *p;
    w->v = p;
    w->s = w->v + shares * w->v_n;
    w->zeros = w->s + shares * w->s_n;
    memset(w->s + shares * w->s_n, 0,
           (size_t)(w->channels + 16) * sizeof *p);
    return HULL_OK;
}

hull_status VEC_NAME(cpu_conv_winograd)(eval_ctx *cx, const node *n,
                                        const tensor *in, tensor *out)
{
    winograd w;
    int64_t blocks;

    TRY(winograd_open(&w, n, in, out));
    if (w.tiles == 0)
        return HULL_OK;
    w.parts = pool_threads(cx->pool);
    if ((double)w.tiles * (double)w.points * (double)w.channels *
            (double)w.columns < 5e5)
        w.parts = 1;
    blocks = (w.tiles + BLOCK_TILES - 1) / BLOCK_TILES;
    if (blocks > 4 && blocks >= w.parts) {
        w.block = BLOCK_TILES;
        TRY(winograd_room(&w, cx, w.parts));
        return pool_for(cx->pool, (size_t)w.parts, winograd_blocks, &w);
    }
    w.block = w.tiles;
    TRY(winograd_room(&w, cx, 1));
    TRY(pool_for(cx->pool, (size_t)w.parts, step_in, &w));
    TRY(pool_for(cx->pool, (size_t)w.parts, step_products, &w));
    return pool_for(cx->pool, (size_t)w.parts, step_out, &w);
}

/* ---- weights ------------------------------------------------------------- */

/* Half a vector of floats as doubles. */
#define WIDE (VEC_LANES / 2)
#if VEC_LANES == 16
typedef __m512d wide;
#define WIDE_OP(name) _mm512_##name
typedef __m256 wide_floats;
VEC_INLINE wide_floats wide_scale(const float *p)
{
    return _mm256_loadu_ps(p);
}
VEC_INLINE wide wide_load(const float *p, wide_floats scale)
{
    return _mm512_cvtps_pd(_mm256_mul_ps(_mm256_loadu_ps(p), scale));
}
VEC_INLINE void wide_store(float *p, wide x)
{
    _mm256_storeu_ps(p, _mm512_cvtpd_ps(x));
}
#else
typedef __m256d wide;
#define WIDE_OP(name) _mm256_##name
typedef __m128 wide_floats;
VEC_INLINE wide_floats wide_scale(const float *p)
{
    return _mm_loadu_ps(p);
}
VEC_INLINE wide wide_load(const float *p, wide_floats scale)
{
    return _mm256_cvtps_pd(_mm_mul_ps(_mm_loadu_ps(p), scale));
}
VEC_INLINE void wide_store(float *p, wide x)
{
    _mm_storeu_ps(p, _mm256_cvtpd_ps(x));
}
#endif

VEC_INLINE wide wide_times(double k, wide x)
{
    return WIDE_OP(mul_pd)(WIDE_OP(set1_pd)(k), x);
}

/* G d of three. */
VEC_INLINE void turn_weight(int m, const wide *d, wide *o, int step)
{
    wide ends = WIDE_OP(add_pd)(d[0], d[2]), e, f;

    if (m == 2) {
        o[0] = d[0];
        o[step] = wide_times(0.5, WIDE_OP(add_pd)(ends, d[1]));
        o[2 * step] = wide_times(0.5, WIDE_OP(sub_pd)(ends, d[1]));
        o[3 * step] = d[2];
        return;
    }
    e = WIDE_OP(add_pd)(wide_times(1.0 / 24, d[0]), wide_times(1.0 / 6, d[2]));
    f = wide_times(1.0 / 12, d[1]);
    o[0] = wide_times(0.25, d[0]);
    o[step] = wide_times(-1.0 / 6, WIDE_OP(add_pd)(ends, d[1]));
    o[2 * step] = wide_times(-1.0 / 6, WIDE_OP(sub_pd)(ends, d[1]));
    o[3 * step] = WIDE_OP(add_pd)(e, f);
    o[4 * step] = WIDE_OP(sub_pd)(e, f);
    o[5 * step] = d[2];
}

/* WIDE columns of one channel: w [9][MICRO_COLS] times their scale to u
 * [points][MICRO_COLS]. */
VEC_INLINE void weight_points(int m, const float *w, wide_floats scale,
                              float *u)
{
    int a = m + 2;
    wide d[3], o[6], x[18];

    VEC_UNROLL
    for (int j = 0; j < 3; j++) {
        VEC_UNROLL
        for (int i = 0; i < 3; i++)
            d[i] = wide_load(w + (i * 3 + j) * MICRO_COLS, scale);
        turn_weight(m, d, x + j, 3);
    }
    VEC_UNROLL
    for (int i = 0; i < a; i++) {
        turn_weight(m, x + i * 3, o, 1);
        VEC_UNROLL
        for (int j = 0; j < a; j++)
            wide_store(u + (i * a + j) * MICRO_COLS, o[j]);
    }
}

#define SOME_CHANNELS 16

typedef struct weights_job {
    int64_t m, n, channels, chunks, panels_n;
    const float *w, *scale;
    float *u;
    bool lines; /* u is aligned */
} weights_job;

/* Rows of `n` floats, MICRO_COLS of them `ld` apart, the first `have` of which
 * exist, as columns. */
static void turn_rows(const float *w, int64_t ld, int64_t have, int64_t n,
                      float *out)
{
    static const float none[4 + SOME_CHANNELS * 9];
    int64_t k = 0;

    for (int64_t i = 0; i < MICRO_COLS; i += 4) {
        const float *row[4];

        for (int64_t r = 0; r < 4; r++)
            row[r] = i + r < have ? w + (i + r) * ld : none;
        for (k = 0; k + 4 <= n; k += 4) {
            __m128 a = _mm_loadu_ps(row[0] + k), b = _mm_loadu_ps(row[1] + k);
            __m128 c = _mm_loadu_ps(row[2] + k), d = _mm_loadu_ps(row[3] + k);

            _MM_TRANSPOSE4_PS(a, b, c, d);
            _mm_storeu_ps(out + k * MICRO_COLS + i, a);
            _mm_storeu_ps(out + (k + 1) * MICRO_COLS + i, b);
            _mm_storeu_ps(out + (k + 2) * MICRO_COLS + i, c);
            _mm_storeu_ps(out + (k + 3) * MICRO_COLS + i, d);
        }
        for (; k < n; k++)
            for (int64_t r = 0; r < 4; r++)
                out[k * MICRO_COLS + i + r] = row[r][k];
    }
}

/* All points of one channel, each written as whole lines past the caches. */
static void weight_channel(const weights_job *j, const float *w,
                           const float *scale, float *u)
{
    int64_t point = j->panels_n * j->channels * MICRO_COLS;
    int64_t n = (j->m + 2) * (j->m + 2);
    float points[POINTS_MAX * MICRO_COLS];

    for (int k = 0; k < MICRO_COLS; k += WIDE) {
        wide_floats s = wide_scale(scale + k);

        if (j->m == 2)
            weight_points(2, w + k, s, points + k);
        else
            weight_points(4, w + k, s, points + k);
    }
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < MICRO_COLS; k += VEC_LANES) {
            vec v = vec_load(points + i * MICRO_COLS + k);

            if (j->lines)
                vec_stream(u + i * point + k, v);
            else
                vec_store(u + i * point + k, v);
        }
}

static void weight_range(void *user, int64_t begin, int64_t end)
{
    const weights_job *j = user;
    float turned[SOME_CHANNELS * 9 * MICRO_COLS], scale[MICRO_COLS];

    for (int64_t i = begin; i < end; i++) {
        int64_t p = i / j->chunks, c0 = i % j->chunks * SOME_CHANNELS;
        int64_t left = j->channels - c0, have = j->n - p * MICRO_COLS;
        float *u = j->u + (p * j->channels + c0) * MICRO_COLS;

        left = left < SOME_CHANNELS ? left : SOME_CHANNELS;
        for (int k = 0; k < MICRO_COLS; k++)
            scale[k] = j->scale == NULL ? 1.0f
                       : k < have ? j->scale[p * MICRO_COLS + k]
                                  : 0.0f;
        turn_rows(j->w + (p * MICRO_COLS * j->channels + c0) * 9,
                  j->channels * 9, have, left * 9, turned);
        for (int64_t c = 0; c < left; c++)
            weight_channel(j, turned + c * 9 * MICRO_COLS, scale,
                           u + c * MICRO_COLS);
    }
    _mm_sfence();
}

hull_status VEC_NAME(cpu_winograd_weight)(eval_ctx *cx, const node *n,
                                          const tensor *in, tensor *out)
{
    weights_job j = {.m = attr_int(n, "m"), .n = in[0].shape[0],
                     .channels = in[0].shape[1], .panels_n = out->shape[1],
                     .w = in[0].data, .u = out->data,
                     .scale = tensor_given(in, n, 1) ? in[1].data : NULL};
    int64_t own;

    TRY(winograd_panels(&own, &in[0], out));
    j.lines = (uintptr_t)j.u % 64 == 0;
    j.chunks = (j.channels + SOME_CHANNELS - 1) / SOME_CHANNELS;
    cpu_parallel(cx, own * j.chunks, 1, SOME_CHANNELS * MICRO_COLS * 4,
                 weight_range, &j);
    return HULL_OK;
}
