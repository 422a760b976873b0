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

#include <string.h>

#define GEMV_ROWS COLUMNS_MOST /* of w at a time */

typedef struct plain {
    int64_t rows, n, depth;
    const float *x;
    const char *w;
    hull_dtype dtype;
    float *y;
    epilogue e;
    int64_t parts;
} plain;

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

VEC_CALL void
VEC_NAME(columns_store)(const epilogue *e, float *y, int64_t columns,
                        int64_t row, int64_t column, int64_t n, int64_t apart,
                        const float *sums)
{
    float some[COLUMNS_MOST] = {0};

    for (int64_t j = 0; j < n; j++) {
        int64_t c = column + j * apart;

        some[j] = sums[j] + (e->bias != NULL ? e->bias[c] : 0.0f);
        if (e->residual != NULL)
            some[j] += e->residual[row * columns + c];
        __asm__ volatile("" : : : "memory"); /* a vector is not worth it */
    }
    vec_store_some(some, epilogue_apply(e, vec_load_some(some, n)), n);
    for (int64_t j = 0; j < n; j++) {
        y[row * columns + column + j * apart] = some[j];
        __asm__ volatile("" : : : "memory");
    }
}

/* Rows of w from j on, `apart` rows from each other, for all rows of x; with 0
 * it is one row of w each time, and stored once. */
VEC_INLINE void plain_columns(hull_dtype dt, const plain *g, int64_t j,
                              int64_t apart)
{
    const char *w = g->w + j * g->depth * width_of(dt);
    int64_t n = apart > 0 ? GEMV_ROWS : 1, i = 0;
    float sums[2][GEMV_ROWS];

    for (; i + 2 <= g->rows; i += 2) {
        plain_tile(dt, GEMV_ROWS, 2, g, g->x + i * g->depth, w, apart, sums);
        VEC_NAME(columns_store)(&g->e, g->y, g->n, i, j, n, apart, sums[0]);
        VEC_NAME(columns_store)(&g->e, g->y, g->n, i + 1, j, n, apart,
                                sums[1]);
    }
    if (i < g->rows) {
        plain_tile(dt, GEMV_ROWS, 1, g, g->x + i * g->depth, w, apart, sums);
        VEC_NAME(columns_store)(&g->e, g->y, g->n, i, j, n, apart, sums[0]);
    }
}

/* Rows are taken from as many places far apart as fit the registers: each is
 * then one long stream for the prefetchers, whatever the length of a row. What
 * is left over is taken one by one. */
VEC_INLINE void plain_range(hull_dtype dt, const plain *g, int64_t j,
                            int64_t end)
{
    int64_t apart = (end - j) / GEMV_ROWS, stop = j + apart;

    while (j < end) {
        plain_columns(dt, g, j, j < stop ? apart : 0);
        if (++j == stop)
            j += apart * (GEMV_ROWS - 1);
    }
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

static const char *widen_panel(const void *user, int64_t p, int64_t k0,
                               int64_t depth, float *to)
{
    const plain *g = user;
    int64_t n = depth * MICRO_COLS, size = width_of(g->dtype);
    const char *w = g->w + (p * g->depth + k0) * MICRO_COLS * size;

    switch (g->dtype) {
    case HULL_F16: widen_all(HULL_F16, w, n, to); break;
    case HULL_BF16: widen_all(HULL_BF16, w, n, to); break;
    case HULL_I8: widen_all(HULL_I8, w, n, to); break;
    default: widen_all(HULL_U8, w, n, to); break;
    }
    return w + n * size;
}

#define NARROW_SCRATCH (NARROW_DEEP * MICRO_COLS + MICRO_ROWS * MICRO_COLS)

typedef struct narrow_work {
    const narrow *g;
    int64_t parts;
    float *scratch; /* a piece of a panel and a tile per part */
} narrow_work;

/* Sums of r rows become y, through the epilogue at the end of the depth. */
static void narrow_store(const narrow *g, int64_t row, int64_t r,
                         int64_t column, const float *side, bool last)
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

static void narrow_tile(const narrow *g, micro *m, int64_t row, int64_t r,
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
    const narrow_work *work = user;
    const narrow *g = work->g;
    int64_t panels = (g->n + MICRO_COLS - 1) / MICRO_COLS, i = (int64_t)part;
    int64_t p = panels * i / work->parts, end = panels * (i + 1) / work->parts;
    int64_t tiles = (g->rows + MICRO_ROWS - 1) / MICRO_ROWS;
    float *panel = work->scratch + i * NARROW_SCRATCH;

    for (; p < end; p++) {
        int64_t k0 = 0;

        do {
            micro m = {.taps = 1, .panel = panel};

            m.depth = g->depth - k0 < NARROW_DEEP ? g->depth - k0 : NARROW_DEEP;
            m.ahead = g->widen(g->user, p, k0, m.depth, panel);
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

hull_status VEC_NAME(narrow_run)(eval_ctx *cx, const narrow *g)
{
    narrow_work work = {.g = g};
    int64_t room;

    work.parts = narrow_parts(cx, g->rows, g->n, g->depth,
                              (g->n + MICRO_COLS - 1) / MICRO_COLS);
    room = work.parts * NARROW_SCRATCH;
    work.scratch = arena_raw(cx->scratch, (size_t)room, sizeof *work.scratch);
    if (work.scratch == NULL)
        return fail_oom((size_t)room * sizeof *work.scratch);
    return pool_for(cx->pool, (size_t)work.parts, narrow_part, &work);
}

/* ---- the op -------------------------------------------------------------- */

hull_status VEC_NAME(cpu_gemm_plain)(eval_ctx *cx, const node *n,
                                     const tensor *in, tensor *out)
{
    plain g = {.n = attr_int(n, "n"), .depth = in[0].shape[in[0].rank - 1],
               .x = in[0].data, .w = in[1].data, .dtype = in[1].dtype,
               .y = out->data, .e = epilogue_of(n, in)};
    narrow wide = {.n = g.n, .depth = g.depth, .x = g.x, .y = g.y, .e = g.e,
                   .widen = widen_panel, .user = &g};

    g.rows = wide.rows = tensor_numel(out) / g.n;
    if (g.rows == 0)
        return HULL_OK;
    if (attr_int(n, "tile") != 1)
        return VEC_NAME(narrow_run)(cx, &wide);
    g.parts = narrow_parts(cx, g.rows, g.n, g.depth,
                           (g.n + GEMV_ROWS - 1) / GEMV_ROWS);
    return pool_for(cx->pool, (size_t)g.parts, plain_part, &g);
}
