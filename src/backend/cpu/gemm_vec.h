/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * gemm_vec.h - the op gemm: y = act(x w + bias + residual) with w in panels.
 * Rows are split evenly into tiles, packed once per block of rows and depth,
 * and meet the panels one after the other, the next one already on its way to
 * L2. A depth above GEMM_DEEP is summed in pieces that wait in y. One row is a
 * product of its own: four panels at once, as fast as memory gives them.
 * Blocking and constants: docs/performance.md.
 */
#include "backend/cpu/products.h"
#include "backend/cpu/transpose.h"

MICRO_EACH(MICRO_DEFINE)
#define NAME(r) micro_packed_##r,
static micro_fn *const packed_tiles[] = {NULL, MICRO_EACH(NAME)};
#undef NAME
#define NAME(r) micro_stream_##r,
static micro_fn *const stream_tiles[] = {NULL, MICRO_EACH(NAME)};
#undef NAME

#define GEMM_ROWS 252 /* of x at a time: whole tiles of 14 and of 6 */
#if VEC_LANES == 16
#define GEMM_DEEP 3072
#define GEMM_PIECE 1536
#else
#define GEMM_DEEP 512
#define GEMM_PIECE 256
#endif

typedef struct gemm {
    int64_t rows, columns, depth;
    const float *x, *panels;
    float *y;
    epilogue e;
    bool by_rows;      /* how the work is divided */
    int64_t parts, panels_n;
    float *scratch;    /* per part: packed rows */
    int64_t scratch_n;
} gemm;

/* A block of rows by a range of panels, for one piece of the depth. */
typedef struct gemm_block {
    int64_t m0, m1, p0, p1, k0, depth;
    bool first, last;   /* piece of the depth */
    float *packed;
} gemm_block;

static void gemm_tile(const gemm *g, const gemm_block *b, micro *m, int64_t p,
                      int64_t row)
{
    int64_t at = row * g->columns + p * MICRO_COLS;
    int64_t width = g->columns - p * MICRO_COLS;

    m->bias = b->first && g->e.bias != NULL ? g->e.bias + p * MICRO_COLS
                                            : NULL;
    m->start = !b->first                ? g->y + at
               : g->e.residual != NULL ? g->e.residual + at : NULL;
    m->c = g->y + at;
    m->ldc = m->ld_start = g->columns;
    m->columns = width < MICRO_COLS ? width : 0;
}

static void gemm_piece(const gemm *g, const gemm_block *b)
{
    int64_t rows = b->m1 - b->m0;
    int64_t tiles = (rows + MICRO_ROWS - 1) / MICRO_ROWS;
    micro_fn *const *fns = tiles == 1 ? stream_tiles : packed_tiles;
    float *at = b->packed;

    for (int64_t i = 0; i < tiles; i++) {
        int64_t from = rows * i / tiles, r = rows * (i + 1) / tiles - from;

        rows_interleave(g->x + (b->m0 + from) * g->depth + b->k0, g->depth, r,
                        b->depth, at);
        at += r * b->depth;
    }
    for (int64_t p = b->p0; p < b->p1; p++) {
        const float *panel = g->panels + (p * g->depth + b->k0) * MICRO_COLS;
        const float *next = p + 1 < b->p1 ? panel + g->depth * MICRO_COLS
                                          : panel;
        int64_t size = b->depth * MICRO_COLS * (int64_t)sizeof *panel, off = 0;
        micro m = {.taps = 1, .depth = b->depth, .panel = panel,
                   .e = b->last ? &g->e : NULL};

        m.packed = b->packed;
        for (int64_t i = 0; i < tiles; i++) {
            int64_t from = rows * i / tiles, r = rows * (i + 1) / tiles - from;

            m.ahead = (const char *)next + off;
            gemm_tile(g, b, &m, p, b->m0 + from);
            fns[r](&m);
            m.packed += r * b->depth;
            off += b->depth * 16;
            if (off + b->depth * 16 > size)
                off = 0;
        }
    }
}

static hull_status gemm_part(void *user, size_t i)
{
    const gemm *g = user;
    int64_t part = (int64_t)i, units = (g->rows + MICRO_ROWS - 1) / MICRO_ROWS;
    int64_t m0 = 0, m1 = g->rows;
    int64_t piece = g->depth <= GEMM_DEEP ? g->depth : GEMM_PIECE;
    gemm_block b = {.p0 = 0, .p1 = g->panels_n,
                    .packed = g->scratch + part * g->scratch_n};

    if (g->by_rows) {
        m0 = units * part / g->parts * MICRO_ROWS;
        m1 = units * (part + 1) / g->parts * MICRO_ROWS;
        m1 = m1 < g->rows ? m1 : g->rows;
    } else {
        b.p0 = g->panels_n * part / g->parts;
        b.p1 = g->panels_n * (part + 1) / g->parts;
    }
    for (; m0 < m1; m0 += GEMM_ROWS) {
        b.m0 = m0;
        b.m1 = m0 + GEMM_ROWS < m1 ? m0 + GEMM_ROWS : m1;
        for (b.k0 = 0; b.k0 < g->depth || b.k0 == 0; b.k0 += piece) {
            b.depth = b.k0 + piece < g->depth ? piece : g->depth - b.k0;
            b.first = b.k0 == 0;
            b.last = b.k0 + b.depth == g->depth;
            gemm_piece(g, &b);
            if (piece == 0)
                break;
        }
    }
    return HULL_OK;
}

/* ---- one row ------------------------------------------------------------- */

/* n panels from p on; n is constant after inlining. */
VEC_INLINE void row_times_panels(const gemm *g, int64_t p, int n)
{
    vec sum[8];
    const float *w = g->panels + p * g->depth * MICRO_COLS;
    int64_t each = g->depth * MICRO_COLS;

    VEC_UNROLL
    for (int i = 0; i < 2 * n; i++)
        sum[i] = vec_set(0.0f);
    for (int64_t k = 0; k < g->depth; k++, w += MICRO_COLS) {
        vec x = vec_set(g->x[k]);

        VEC_UNROLL
        for (int i = 0; i < n; i++) {
            sum[2 * i] = vec_fma(x, vec_load(w + i * each), sum[2 * i]);
            sum[2 * i + 1] = vec_fma(x, vec_load(w + i * each + VEC_LANES),
                                     sum[2 * i + 1]);
        }
    }
    VEC_UNROLL
    for (int i = 0; i < 2 * n; i++) {
        int64_t at = p * MICRO_COLS + i * VEC_LANES, left = g->columns - at;

        if (left <= 0)
            break;
        left = left < VEC_LANES ? left : VEC_LANES;
        if (g->e.bias != NULL)
            sum[i] = vec_add(sum[i], vec_load_some(g->e.bias + at, left));
        if (g->e.residual != NULL)
            sum[i] = vec_add(sum[i], vec_load_some(g->e.residual + at, left));
        vec_store_some(g->y + at, epilogue_apply(&g->e, sum[i]), left);
    }
}

static hull_status row_part(void *user, size_t i)
{
    const gemm *g = user;
    int64_t p = g->panels_n * (int64_t)i / g->parts;
    int64_t end = g->panels_n * ((int64_t)i + 1) / g->parts;

    for (; p + 4 <= end; p += 4)
        row_times_panels(g, p, 4);
    for (; p < end; p++)
        row_times_panels(g, p, 1);
    return HULL_OK;
}

hull_status VEC_NAME(gemm_run)(eval_ctx *cx, int64_t rows, int64_t columns,
                               int64_t depth, const float *x,
                               const float *panels, float *y,
                               const epilogue *e)
{
    gemm g = {.rows = rows, .columns = columns, .depth = depth, .x = x,
              .panels = panels, .y = y, .e = *e,
              .parts = pool_threads(cx->pool)};

    g.panels_n = (columns + MICRO_COLS - 1) / MICRO_COLS;
    if (rows == 0)
        return HULL_OK;
    if (2.0 * (double)rows * (double)columns * (double)depth < 1e6)
        g.parts = 1;
    if (rows == 1) {
        g.parts = g.parts < g.panels_n ? g.parts : g.panels_n;
        return pool_for(cx->pool, (size_t)g.parts, row_part, &g);
    }
    g.by_rows = rows >= 8 * g.panels_n * g.parts || g.panels_n < 2 * g.parts;
    g.scratch_n = (rows < GEMM_ROWS ? rows : GEMM_ROWS) *
                      (depth <= GEMM_DEEP ? depth : GEMM_PIECE) +
                  4 * VEC_LANES; /* which rows_interleave may write */
    g.scratch = arena_raw(cx->scratch, (size_t)(g.scratch_n * g.parts),
                          sizeof *g.scratch);
    if (g.scratch == NULL)
        return fail_oom((size_t)(g.scratch_n * g.parts) * sizeof *g.scratch);
    return pool_for(cx->pool, (size_t)g.parts, gemm_part, &g);
}

hull_status VEC_NAME(cpu_gemm)(eval_ctx *cx, const node *n, const tensor *in,
                               tensor *out)
{
    int64_t columns = attr_int(n, "n"), depth = in[0].shape[in[0].rank - 1];
    epilogue e = epilogue_of(n, in);

    return VEC_NAME(gemm_run)(cx, tensor_numel(out) / columns, columns, depth,
                              in[0].data, in[1].data, out->data, &e);
}
