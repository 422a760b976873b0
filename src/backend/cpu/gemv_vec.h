/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * gemv_vec.h - the op gemm on weights that are read where they lie or are
 * narrower than x:
 *
 *   plain   w [n, k] of f32, f16, bf16, i8 or u8, few rows of x: four rows of
 *           w at once, as fast as memory gives them, each value widened in a
 *           register
 *   narrow  panels of those but f32 and many rows: a piece of a panel is
 *           widened into the cache and meets all rows of x
 */
#include "backend/cpu/products.h"
#include "backend/cpu/quantiser.h"

#include <string.h>

#define GEMV_ROWS 4 /* of w at a time */
#define NARROW_DEEP 512

typedef struct plain {
    int64_t rows, n, depth;
    const float *x;
    const char *w;
    hull_dtype dtype;
    float *y;
    epilogue e;
    int64_t parts;
    float *scratch; /* narrow: a piece of a panel and a tile per part */
} plain;

#define NARROW_SCRATCH (NARROW_DEEP * MICRO_COLS + MICRO_ROWS * MICRO_COLS)

/* Bytes of an element; dt is constant after inlining here and below. */
VEC_INLINE int64_t width_of(hull_dtype dt)
{
    return dt == HULL_F32 ? 4 : dt == HULL_F16 || dt == HULL_BF16 ? 2 : 1;
}

VEC_INLINE vec widen(hull_dtype dt, const char *p)
{
    if (dt == HULL_F32)
        return vec_load((const float *)(const void *)p);
    if (width_of(dt) == 1)
        return vec_load_bytes((const uint8_t *)p, dt == HULL_I8);
#if VEC_LANES == 16
    {
        __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)p);

        if (dt == HULL_F16)
            return _mm512_cvtph_ps(v);
        return _mm512_castsi512_ps(
            _mm512_slli_epi32(_mm512_cvtepu16_epi32(v), 16));
    }
#else
    {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);

        if (dt == HULL_F16)
            return _mm256_cvtph_ps(v);
        return _mm256_castsi256_ps(
            _mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
    }
#endif
}

/* The first n lanes, n < VEC_LANES; the others are 0. */
VEC_INLINE vec widen_some(hull_dtype dt, const char *p, int64_t n)
{
    char lanes[VEC_LANES * sizeof(float)] = {0};

    memcpy(lanes, p, (size_t)(n * width_of(dt)));
    return widen(dt, lanes);
}

/* ---- plain --------------------------------------------------------------- */

/* n rows of w, `apart` rows from each other, times r of x; dt, n and r are
 * constant after inlining. Sums go to out[row of x][row of w]. */
VEC_INLINE void plain_tile(hull_dtype dt, int n, int r, const plain *g,
                           const float *x, const char *w, int64_t apart,
                           float out[][GEMV_ROWS])
{
    const int64_t size = width_of(dt), line = apart * g->depth * size;
    vec s[2 * GEMV_ROWS];
    int64_t k = 0;

    VEC_UNROLL
    for (int i = 0; i < 2 * n; i++)
        s[i] = vec_set(0.0f);
    /* with one row of x the second half of s takes every other vector */
    for (; k + 2 * VEC_LANES <= g->depth; k += 2 * VEC_LANES) {
        VEC_UNROLL
        for (int u = 0; u < 2; u++) {
            vec v[2];

            VEC_UNROLL
            for (int i = 0; i < r; i++)
                v[i] = vec_load(x + i * g->depth + k + u * VEC_LANES);
            VEC_UNROLL
            for (int j = 0; j < n; j++) {
                vec b = widen(dt, w + j * line + (k + u * VEC_LANES) * size);

                VEC_UNROLL
                for (int i = 0; i < r; i++) {
                    int to = (r == 1 ? u : i) * n + j;

                    s[to] = vec_fma(v[i], b, s[to]);
                }
            }
        }
    }
    for (; k < g->depth; k += VEC_LANES) {
        int64_t left = g->depth - k;

        VEC_UNROLL
        for (int j = 0; j < n; j++) {
            vec b = left >= VEC_LANES
                        ? widen(dt, w + j * line + k * size)
                        : widen_some(dt, w + j * line + k * size, left);

            VEC_UNROLL
            for (int i = 0; i < r; i++)
                s[i * n + j] = vec_fma(
                    left >= VEC_LANES
                        ? vec_load(x + i * g->depth + k)
                        : vec_load_some(x + i * g->depth + k, left),
                    b, s[i * n + j]);
        }
    }
    VEC_UNROLL
    for (int j = 0; j < n; j++) {
        out[0][j] = vec_sum(r == 1 ? vec_add(s[j], s[n + j]) : s[j]);
        if (r == 2)
            out[1][j] = vec_sum(s[n + j]);
    }
}

/* y[row][column], `apart` columns from each other, from n sums. */
static void plain_store(const plain *g, int64_t row, int64_t column, int64_t n,
                        int64_t apart, const float *sums)
{
    float some[GEMV_ROWS];

    for (int64_t j = 0; j < n; j++) {
        int64_t c = column + j * apart;

        some[j] = sums[j] + (g->e.bias != NULL ? g->e.bias[c] : 0.0f);
        if (g->e.residual != NULL)
            some[j] += g->e.residual[row * g->n + c];
    }
    vec_store_some(some, epilogue_apply(&g->e, vec_load_some(some, n)), n);
    for (int64_t j = 0; j < n; j++)
        g->y[row * g->n + column + j * apart] = some[j];
}

/* n rows of w from j on, `apart` rows from each other, for all rows of x. */
VEC_INLINE void plain_columns(hull_dtype dt, int n, const plain *g, int64_t j,
                              int64_t apart)
{
    const char *w = g->w + j * g->depth * width_of(dt);
    float sums[2][GEMV_ROWS];
    int64_t i = 0;

    for (; i + 2 <= g->rows; i += 2) {
        plain_tile(dt, n, 2, g, g->x + i * g->depth, w, apart, sums);
        plain_store(g, i, j, n, apart, sums[0]);
        plain_store(g, i + 1, j, n, apart, sums[1]);
    }
    if (i < g->rows) {
        plain_tile(dt, n, 1, g, g->x + i * g->depth, w, apart, sums);
        plain_store(g, i, j, n, apart, sums[0]);
    }
}

/* Rows are taken from as many places far apart as fit the registers: each is
 * then one long stream for the prefetchers, whatever the length of a row. */
VEC_INLINE void plain_range(hull_dtype dt, const plain *g, int64_t j,
                            int64_t end)
{
    int64_t apart = (end - j) / GEMV_ROWS, next = j + apart * GEMV_ROWS;

    for (int64_t i = 0; i < apart; i++)
        plain_columns(dt, GEMV_ROWS, g, j + i, apart);
    for (; next < end; next++)
        plain_columns(dt, 1, g, next, 1);
}

static hull_status plain_part(void *user, size_t part)
{
    const plain *g = user;
    int64_t units = (g->n + GEMV_ROWS - 1) / GEMV_ROWS, i = (int64_t)part;
    int64_t from = units * i / g->parts * GEMV_ROWS;
    int64_t to = units * (i + 1) / g->parts * GEMV_ROWS;

    to = to < g->n ? to : g->n;
    switch (g->dtype) {
    case HULL_F32: plain_range(HULL_F32, g, from, to); break;
    case HULL_F16: plain_range(HULL_F16, g, from, to); break;
    case HULL_BF16: plain_range(HULL_BF16, g, from, to); break;
    case HULL_I8: plain_range(HULL_I8, g, from, to); break;
    default: plain_range(HULL_U8, g, from, to); break;
    }
    return HULL_OK;
}

/* ---- narrow panels ------------------------------------------------------- */

VEC_INLINE void widen_all(hull_dtype dt, const char *w, int64_t n, float *to)
{
    for (int64_t i = 0; i < n; i += VEC_LANES)
        vec_store(to + i, widen(dt, w + i * width_of(dt)));
}

static void widen_panel(hull_dtype dt, const char *w, int64_t depth, float *to)
{
    int64_t n = depth * MICRO_COLS;

    switch (dt) {
    case HULL_F16: widen_all(HULL_F16, w, n, to); break;
    case HULL_BF16: widen_all(HULL_BF16, w, n, to); break;
    case HULL_I8: widen_all(HULL_I8, w, n, to); break;
    default: widen_all(HULL_U8, w, n, to); break;
    }
}

/* Sums of r rows become y, through the epilogue at the end of the depth. */
static void narrow_store(const plain *g, int64_t row, int64_t r, int64_t column,
                         const float *side, bool last)
{
    int64_t width = g->n - column;

    for (int64_t i = 0; i < r; i++, side += MICRO_COLS) {
        for (int64_t c = 0; c < MICRO_COLS && c < width; c += VEC_LANES) {
            int64_t w = width - c < VEC_LANES ? width - c : VEC_LANES;
            int64_t at = (row + i) * g->n + column + c;
            vec y = vec_load(side + c);

            if (last && g->e.bias != NULL)
                y = vec_add(y, vec_load_some(g->e.bias + column + c, w));
            if (last && g->e.residual != NULL)
                y = vec_add(y, vec_load_some(g->e.residual + at, w));
            vec_store_some(g->y + at, last ? epilogue_apply(&g->e, y) : y, w);
        }
    }
}

static void narrow_tile(const plain *g, micro *m, int64_t row, int64_t r,
                        int64_t column, int64_t k0, float *side)
{
    const float *rows[MICRO_ROWS];
    int64_t width = g->n - column;

    width = width < MICRO_COLS ? width : MICRO_COLS;
    for (int64_t i = 0; i < r; i++)
        rows[i] = g->x + (row + i) * g->depth + k0;
    for (int64_t i = 0; k0 > 0 && i < r; i++)
        memcpy(side + i * MICRO_COLS, g->y + (row + i) * g->n + column,
               (size_t)width * sizeof *side);
    m->rows = rows;
    m->start = k0 > 0 ? side : NULL;
    m->c = side;
    m->ldc = m->ld_start = MICRO_COLS;
    VEC_NAME(pointer_tiles)[r](m);
    narrow_store(g, row, r, column, side, k0 + m->depth == g->depth);
}

static hull_status narrow_part(void *user, size_t part)
{
    const plain *g = user;
    int64_t panels = (g->n + MICRO_COLS - 1) / MICRO_COLS, i = (int64_t)part;
    int64_t p = panels * i / g->parts, end = panels * (i + 1) / g->parts;
    int64_t tiles = (g->rows + MICRO_ROWS - 1) / MICRO_ROWS;
    float *panel = g->scratch + i * NARROW_SCRATCH;
    int64_t line = MICRO_COLS * width_of(g->dtype);

    for (; p < end; p++) {
        int64_t k0 = 0;

        do {
            const char *w = g->w + (p * g->depth + k0) * line;
            micro m = {.taps = 1, .panel = panel};

            m.depth = g->depth - k0 < NARROW_DEEP ? g->depth - k0 : NARROW_DEEP;
            widen_panel(g->dtype, w, m.depth, panel);
            m.ahead = w + m.depth * line;
            for (int64_t t = 0; t < tiles; t++) {
                int64_t row = g->rows * t / tiles;

                narrow_tile(g, &m, row, g->rows * (t + 1) / tiles - row,
                            p * MICRO_COLS, k0, panel + NARROW_DEEP *
                                                        MICRO_COLS);
            }
            k0 += m.depth;
        } while (k0 < g->depth);
    }
    return HULL_OK;
}

/* ---- the op -------------------------------------------------------------- */

hull_status VEC_NAME(cpu_gemm_plain)(eval_ctx *cx, const node *n,
                                     const tensor *in, tensor *out)
{
    plain g = {.n = attr_int(n, "n"), .depth = in[0].shape[in[0].rank - 1],
               .x = in[0].data, .w = in[1].data, .dtype = in[1].dtype,
               .y = out->data, .e = epilogue_of(n, in),
               .parts = pool_threads(cx->pool)};
    bool in_panels = attr_int(n, "tile") != 1;
    int64_t units = (g.n + GEMV_ROWS - 1) / GEMV_ROWS;

    g.rows = tensor_numel(out) / g.n;
    if (g.rows == 0)
        return HULL_OK;
    if (in_panels)
        units = (g.n + MICRO_COLS - 1) / MICRO_COLS;
    g.parts = g.parts < units ? g.parts : units;
    if ((double)g.rows * (double)g.n * (double)g.depth < 2e5)
        g.parts = 1;
    if (!in_panels)
        return pool_for(cx->pool, (size_t)g.parts, plain_part, &g);
    g.scratch = arena_array(cx->scratch, (size_t)(g.parts * NARROW_SCRATCH),
                            sizeof *g.scratch);
    if (g.scratch == NULL)
        return fail_oom((size_t)(g.parts * NARROW_SCRATCH) * sizeof *g.scratch);
    return pool_for(cx->pool, (size_t)g.parts, narrow_part, &g);
}
