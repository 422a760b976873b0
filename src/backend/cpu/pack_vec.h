/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pack_vec.h - weights in panels, one pass at the speed of memory: squares of
 * registers turn rows into columns, and whole lines of the panels are written
 * past the caches, since nobody reads them soon.
 */
#include "backend/cpu/cpu.h"
#include "backend/cpu/tiles.h"
#include "backend/cpu/transpose.h"
#include "ops/family.h"

#include <string.h>

#define LINE 64 /* bytes of the cache */
#define SOME_ROWS 32 /* of x at a time, packed by columns */

typedef struct packing {
    pack_walk w;
    int64_t width, depth;
    const char *x;
    const float *scale; /* of each row, or NULL */
    char *y;
    bool lines;      /* rows of a panel are whole lines */
} packing;

VEC_INLINE void put_line(char *to, const char *from)
{
#if VEC_LANES == 16
    _mm512_stream_si512((__m512i *)(void *)to,
                        _mm512_loadu_si512((const void *)from));
#else
    const __m256i *v = (const __m256i *)(const void *)from;

    _mm256_stream_si256((__m256i *)(void *)to, _mm256_loadu_si256(v));
    _mm256_stream_si256((__m256i *)(void *)(to + 32),
                        _mm256_loadu_si256(v + 1));
#endif
}

/* Row k of x, [ch][tap], as a row of a panel, [tap][ch]. */
VEC_INLINE int64_t panel_row(const pack_walk *w, int64_t k)
{
    return w->taps == 1 ? k : k % w->taps * w->channels + k / w->taps;
}

/* ---- rows of x are columns of panels ------------------------------------- */

#define LINE_FLOATS 16
#define VECS (LINE_FLOATS / VEC_LANES)

/* A line of columns of rows [k, k + n) of floats. */
VEC_INLINE void turn_floats(const packing *p, const float *x, int64_t have,
                            int64_t k, int64_t n, const vec *scale,
                            float *panel)
{
    vec r[VECS][VEC_LANES];

    VEC_UNROLL
    for (int h = 0; h < VECS; h++) {
        VEC_UNROLL
        for (int i = 0; i < VEC_LANES; i++) {
            int64_t c = h * VEC_LANES + i;
            const float *row = x + c * p->depth + k;

            r[h][i] = c >= have        ? vec_set(0.0f)
                      : n == VEC_LANES ? vec_load(row)
                                       : vec_load_some(row, n);
        }
        vec_transpose(r[h]);
    }
    VEC_UNROLL
    for (int i = 0; i < VEC_LANES; i++) {
        float *to = panel + panel_row(&p->w, k + i) * p->w.tile;

        if (i >= n)
            continue;
        VEC_UNROLL
        for (int h = 0; h < VECS; h++)
            vec_stream(to + h * VEC_LANES, scale == NULL
                                               ? r[h][i]
                                               : vec_mul(r[h][i], scale[h]));
    }
}

/* Factors of the columns of a line; 0 where there is none. */
VEC_INLINE void line_scale(vec *to, const float *scale, int64_t have)
{
    VEC_UNROLL
    for (int h = 0; h < VECS; h++) {
        int64_t n = have - h * VEC_LANES;

        n = n < 0 ? 0 : n < VEC_LANES ? n : VEC_LANES;
        to[h] = vec_load_some(scale + h * VEC_LANES, n);
    }
}

VEC_INLINE void pack_line(const packing *p, const float *x, int64_t have,
                          const vec *scale, float *panel)
{
    int64_t k = 0;

    for (; k + VEC_LANES <= p->depth; k += VEC_LANES)
        turn_floats(p, x, have, k, VEC_LANES, scale, panel);
    if (k < p->depth)
        turn_floats(p, x, have, k, p->depth - k, scale, panel);
}

/* `have` rows of x as one panel of whole lines. */
static void pack_floats(const packing *p, const float *x, int64_t have,
                        const float *scale, float *panel)
{
    vec factors[VECS];

    for (int64_t c = 0; c < p->w.tile; c += LINE_FLOATS) {
        if (scale == NULL) {
            pack_line(p, x + c * p->depth, have - c, NULL, panel + c);
            continue;
        }
        line_scale(factors, scale + c, have - c);
        pack_line(p, x + c * p->depth, have - c, factors, panel + c);
    }
}

static void pack_one(const packing *p, const char *x, char *panel, int64_t c,
                     int64_t k)
{
    memcpy(panel + (panel_row(&p->w, k) * p->w.tile + c) * p->width,
           x + (c * p->depth + k) * p->width, (size_t)p->width);
}

/* Any dtype and tile. */
static void pack_any(const packing *p, const char *x, int64_t have, char *panel)
{
    tile_fn *tile = tile_of(p->width);
    int64_t row = p->w.tile * p->width, ld = p->depth * p->width, c = 0;

    for (; c + 8 <= have; c += 8) {
        int64_t k = 0, to[8];

        for (; k + 8 <= p->depth; k += 8) {
            for (int64_t i = 0; i < 8; i++)
                to[i] = panel_row(&p->w, k + i) * row;
            tile(x + c * ld + k * p->width, ld, panel + c * p->width, to);
        }
        for (; k < p->depth; k++)
            for (int64_t i = 0; i < 8; i++)
                pack_one(p, x, panel, c + i, k);
    }
    for (; c < have; c++)
        for (int64_t k = 0; k < p->depth; k++)
            pack_one(p, x, panel, c, k);
    for (int64_t k = 0; have < p->w.tile && k < p->depth; k++)
        memset(panel + k * row + have * p->width, 0,
               (size_t)((p->w.tile - have) * p->width));
}

/* Floats of a panel that pack_any has made. */
static void scale_panel(const packing *p, const float *scale, int64_t have,
                        float *panel)
{
    for (int64_t k = 0; k < p->depth; k++)
        for (int64_t c = 0; c < have; c++)
            panel[k * p->w.tile + c] *= scale[c];
}

static void pack_panels(void *user, int64_t begin, int64_t end)
{
    const packing *p = user;

    for (int64_t i = begin; i < end; i++) {
        int64_t c = i % p->w.panels * p->w.tile;
        int64_t have = p->w.columns - c;
        int64_t row = i / p->w.panels * p->w.columns + c;
        const char *x = p->x + row * p->depth * p->width;
        const float *scale = p->scale != NULL ? p->scale + row : NULL;
        char *panel = p->y + i * p->depth * p->w.tile * p->width;

        have = have < p->w.tile ? have : p->w.tile;
        if (p->width == 4 && p->lines) {
            pack_floats(p, (const float *)(const void *)x, have, scale,
                        (float *)(void *)panel);
            continue;
        }
        pack_any(p, x, have, panel);
        if (scale != NULL)
            scale_panel(p, scale, have, (float *)(void *)panel);
    }
    _mm_sfence();
}

/* ---- columns of x stay columns ------------------------------------------- */

/* `n` bytes of a row of a panel that is `all` long. */
VEC_INLINE void put_row(char *to, const char *from, int64_t n, int64_t all,
                        bool lines)
{
    if (lines && n == all) {
        for (int64_t i = 0; i < all; i += LINE)
            put_line(to + i, from + i);
        return;
    }
    memcpy(to, from, (size_t)n);
    memset(to + n, 0, (size_t)(all - n));
}

/* Blocks of SOME_ROWS rows, panel by panel. */
static void pack_blocks(void *user, int64_t begin, int64_t end)
{
    const packing *p = user;
    int64_t all = p->w.tile * p->width, ld = p->w.columns * p->width;

    for (int64_t b = begin; b < end; b++) {
        int64_t k0 = b * SOME_ROWS, k1 = k0 + SOME_ROWS;

        k1 = k1 < p->depth ? k1 : p->depth;
        for (int64_t i = 0; i < p->w.panels; i++) {
            int64_t n = ld - i * all < all ? ld - i * all : all;

            for (int64_t k = k0; k < k1; k++)
                put_row(p->y + (i * p->w.depth + k) * all,
                        p->x + k * ld + i * all, n, all, p->lines);
        }
    }
    _mm_sfence();
}

hull_status VEC_NAME(cpu_pack)(eval_ctx *cx, const node *n, const tensor *in,
                               tensor *out)
{
    packing p = {.x = in->data, .y = out->data,
                 .width = hull_dtype_bits(out->dtype) / 8};
    int64_t row, blocks;

    TRY(pack_walk_open(&p.w, n, in, out));
    if (tensor_numel(out) == 0)
        return HULL_OK;
    p.depth = p.w.taps * p.w.channels;
    p.scale = tensor_given(in, n, 1) ? in[1].data : NULL;
    row = p.w.tile * p.width;
    p.lines = row % LINE == 0 && (uintptr_t)p.y % LINE == 0;
    blocks = (p.depth + SOME_ROWS - 1) / SOME_ROWS;
    if (p.w.axis == 0)
        cpu_parallel(cx, p.w.groups * p.w.panels, 1,
                     0.1 * (double)(p.depth * row), pack_panels, &p);
    else
        cpu_parallel(cx, blocks, 1,
                     0.1 * (double)(SOME_ROWS * p.w.panels * row),
                     pack_blocks, &p);
    return HULL_OK;
}
