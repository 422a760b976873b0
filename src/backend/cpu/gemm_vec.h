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

#define PACK_NS 0.05  /* an element */
#define WEIGHT_NS 0.15 /* one that is read for one row of x */
#define GEMM_ROWS 252 /* of x at a time: whole tiles of 14 and of 6 */
#if VEC_LANES == 16
#define GEMM_DEEP 3072
#define GEMM_PIECE 1536
#else
#define GEMM_DEEP 512
#define GEMM_PIECE 256
#endif

typedef struct gemm {
    int64_t rows, columns, depth, panels_n;
    const float *x, *panels;
    float *y;
    epilogue e;
    int64_t parts;
    bool by_rows;       /* how a block's work is divided */
    /* The block that is multiplied: rows [m0, m1), steps of the depth [k0, k0 +
     * steps), packed tile by tile. */
    int64_t m0, m1, k0, steps, tiles;
    bool first, last;   /* piece of the depth */
    float *packed;
} gemm;

/* Where tile i of the block begins, rows from m0 on. */
static int64_t tile_row(const gemm *g, int64_t i)
{
    return (g->m1 - g->m0) * i / g->tiles;
}

static void gemm_pack(void *user, int64_t begin, int64_t end)
{
    const gemm *g = user;

    for (; begin < end; begin++) {
        int64_t from = tile_row(g, begin), r = tile_row(g, begin + 1) - from;

        rows_interleave(g->x + (g->m0 + from) * g->depth + g->k0, g->depth, r,
                        g->steps, g->packed + from * g->steps);
    }
}

static void gemm_tile(const gemm *g, micro *m, int64_t p, int64_t from)
{
    int64_t at = (g->m0 + from) * g->columns + p * MICRO_COLS;
    int64_t width = g->columns - p * MICRO_COLS;

    m->packed = g->packed + from * g->steps;
    m->bias = g->first && g->e.bias != NULL ? g->e.bias + p * MICRO_COLS
                                            : NULL;
    m->start = !g->first               ? g->y + at
               : g->e.residual != NULL ? g->e.residual + at : NULL;
    m->c = g->y + at;
    m->ldc = m->ld_start = g->columns;
    m->columns = width < MICRO_COLS ? width : 0;
}

/* Tiles [t0, t1) by panels [p0, p1). */
static void gemm_range(const gemm *g, int64_t t0, int64_t t1, int64_t p0,
                       int64_t p1)
{
    micro_fn *const *fns = g->tiles == 1 ? stream_tiles : packed_tiles;

    for (int64_t p = p0; p < p1; p++) {
        const float *panel = g->panels + (p * g->depth + g->k0) * MICRO_COLS;
        const float *next = p + 1 < g->panels_n ? panel + g->depth * MICRO_COLS
                                                : panel;
        int64_t size = g->steps * MICRO_COLS * (int64_t)sizeof *panel, off = 0;
        micro m = {.taps = 1, .depth = g->steps, .panel = panel,
                   .e = g->last ? &g->e : NULL};

        for (int64_t i = t0; i < t1; i++) {
            int64_t from = tile_row(g, i);

            m.ahead = (const char *)next + off;
            gemm_tile(g, &m, p, from);
            fns[tile_row(g, i + 1) - from](&m);
            off += g->steps * 16;
            if (off + g->steps * 16 > size)
                off = 0;
        }
    }
}

static hull_status gemm_part(void *user, size_t part)
{
    const gemm *g = user;
    int64_t i = (int64_t)part;

    if (g->by_rows)
        gemm_range(g, g->tiles * i / g->parts, g->tiles * (i + 1) / g->parts,
                   0, g->panels_n);
    else
        gemm_range(g, 0, g->tiles, g->panels_n * i / g->parts,
                   g->panels_n * (i + 1) / g->parts);
    return HULL_OK;
}

/* All pieces of the depth for one block of rows. */
static hull_status gemm_rows(gemm *g, eval_ctx *cx)
{
    int64_t piece = g->depth <= GEMM_DEEP ? g->depth : GEMM_PIECE;

    g->tiles = (g->m1 - g->m0 + MICRO_ROWS - 1) / MICRO_ROWS;
    g->k0 = 0;
    do {
        g->steps = g->k0 + piece < g->depth ? piece : g->depth - g->k0;
        g->first = g->k0 == 0;
        g->last = g->k0 + g->steps == g->depth;
        g->parts = cpu_pieces(cx, g->by_rows ? g->tiles : g->panels_n,
                              (double)(g->m1 - g->m0) * (double)g->steps *
                                  (double)g->columns * PRODUCT_NS);
        cpu_parallel(cx, g->tiles, 1,
                     (double)(MICRO_ROWS * g->steps) * PACK_NS, gemm_pack, g);
        TRY(pool_for(cx->pool, (size_t)g->parts, gemm_part, g));
        g->k0 += g->steps;
    } while (g->k0 < g->depth);
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
    int64_t threads = pool_threads(cx->pool), block, room;
    gemm g = {.rows = rows, .columns = columns, .depth = depth, .x = x,
              .panels = panels, .y = y, .e = *e};

    g.panels_n = (columns + MICRO_COLS - 1) / MICRO_COLS;
    if (rows == 0)
        return HULL_OK;
    if (rows == 1) {
        g.parts = cpu_pieces(cx, g.panels_n,
                             (double)depth * (double)columns * WEIGHT_NS);
        return pool_for(cx->pool, (size_t)g.parts, row_part, &g);
    }
    g.by_rows = rows >= 8 * g.panels_n * threads || g.panels_n < 2 * threads;
    block = g.by_rows ? GEMM_ROWS * threads : GEMM_ROWS;
    block = block < rows ? block : rows;
    room = block * (depth <= GEMM_DEEP ? depth : GEMM_PIECE);
    g.packed = arena_raw(cx->scratch, (size_t)room, sizeof *g.packed);
    if (g.packed == NULL)
        return fail_oom((size_t)room * sizeof *g.packed);
    for (; g.m0 < rows; g.m0 = g.m1) {
        g.m1 = g.m0 + block < rows ? g.m0 + block : rows;
        TRY(gemm_rows(&g, cx));
    }
    return HULL_OK;
}

hull_status VEC_NAME(cpu_gemm)(eval_ctx *cx, const node *n, const tensor *in,
                               tensor *out)
{
    int64_t columns = attr_int(n, "n"), depth = in[0].shape[in[0].rank - 1];
    epilogue e = epilogue_of(n, in);

    return VEC_NAME(gemm_run)(cx, tensor_numel(out) / columns, columns, depth,
                              in[0].data, in[1].data, out->data, &e);
}
