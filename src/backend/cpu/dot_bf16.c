/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * dot_bf16.c - the op gemm wholly of bf16, by the instruction that adds two
 * products of bf16 to a sum of f32. It takes subnormal values for 0 and rounds
 * as it likes; the sum becomes bf16 at the end, once. Panels: [steps][32][2].
 */
#include "backend/cpu/cpu.h"
#include "backend/cpu/epilogue.h"
#include "backend/cpu/quantiser.h"

VEC_INLINE ivec dot_one(bool flag, ivec sum, ivec x, const uint8_t *w)
{
    (void)flag;
    return _mm512_castps_si512(
        _mm512_dpbf16_ps(_mm512_castsi512_ps(sum), (__m512bh)x,
                         (__m512bh)_mm512_loadu_si512(w)));
}

VEC_INLINE ivec dot_join(ivec a, ivec b)
{
    return _mm512_castps_si512(
        _mm512_add_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)));
}

#define DOT_ROWS 14
#define DOT_HALF 64
#include "backend/cpu/dot_tile.h"

#define STEP (2 * DOT_HALF)
#define BLOCK (192 << 10) /* bytes of x that meet a panel */

typedef struct dots {
    int64_t rows, columns, depth, steps, panels_n;
    const uint16_t *x, *panels, *bias, *residual;
    epilogue act;
    uint16_t *y;
    bool by_rows;
    int64_t parts, block;    /* block: rows at a time */
    const char **at;         /* [parts][block] */
    uint16_t *gathered;      /* [parts][block][2 steps], where depth is odd */
    int32_t *c;              /* [parts][DOT_ROWS][DOT_COLS] */
} dots;

VEC_INLINE vec widen(const uint16_t *p, int64_t n)
{
    __m256i v = _mm256_maskz_loadu_epi16((__mmask16)((1u << n) - 1), p);

    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(v), 16));
}

/* To the nearest, ties to even; NaN stays NaN. */
VEC_INLINE void narrow(uint16_t *p, vec v, int64_t n)
{
    __m512i i = _mm512_castps_si512(v);
    __m512i odd = _mm512_and_si512(_mm512_srli_epi32(i, 16), ivec_set(1));
    __m512i r = _mm512_add_epi32(i, _mm512_add_epi32(odd, ivec_set(0x7fff)));

    r = _mm512_mask_mov_epi32(r, vec_is_nan(v), ivec_set(0x7fc00000));
    _mm256_mask_storeu_epi16(p, (__mmask16)((1u << n) - 1),
                             _mm512_cvtepi32_epi16(_mm512_srli_epi32(r, 16)));
}

static void store(const dots *d, const int32_t *c, int64_t row, int64_t r,
                  int64_t column)
{
    int64_t width = d->columns - column;

    for (int64_t k = 0; k < DOT_COLS && k < width; k += VEC_LANES) {
        int64_t n = width - k < VEC_LANES ? width - k : VEC_LANES;

        for (int64_t i = 0; i < r; i++) {
            int64_t at = (row + i) * d->columns + column + k;
            vec v = _mm512_castsi512_ps(ivec_load(c + i * DOT_COLS + k));

            if (d->bias != NULL)
                v = vec_add(v, widen(d->bias + column + k, n));
            if (d->residual != NULL)
                v = vec_add(v, widen(d->residual + at, n));
            narrow(d->y + at, epilogue_apply(&d->act, v), n);
        }
    }
}

/* Pointers to n rows from `first` on. */
static void load_rows(const dots *d, int64_t part, int64_t first, int64_t n)
{
    const char **at = d->at + part * d->block;

    for (int64_t i = 0; i < n; i++) {
        const uint16_t *x = d->x + (first + i) * d->depth;
        uint16_t *to = d->gathered;

        at[i] = (const char *)x;
        if (d->depth % 2 == 0)
            continue;
        to += (part * d->block + i) * 2 * d->steps;
        memcpy(to, x, (size_t)d->depth * sizeof *x);
        to[d->depth] = 0;
        at[i] = (const char *)to;
    }
}

static void block_of_rows(const dots *d, int64_t part, int64_t first, int64_t n,
                          int64_t p0, int64_t p1)
{
    int64_t tiles = (n + DOT_ROWS - 1) / DOT_ROWS;
    dot_tile t = {.steps = d->steps,
                  .c = d->c + part * DOT_ROWS * DOT_COLS};

    load_rows(d, part, first, n);
    for (; p0 < p1; p0++) {
        int64_t size = d->steps * STEP, off = 0;
        const char *next;

        t.panel = (const uint8_t *)d->panels + p0 * size;
        next = (const char *)t.panel + (p0 + 1 < p1 ? size : 0);
        for (int64_t i = 0; i < tiles; i++) {
            int64_t at = n * i / tiles, r = n * (i + 1) / tiles - at;

            t.rows = d->at + part * d->block + at;
            t.ahead = next + off;
            dot_tiles[r][0](&t);
            store(d, t.c, first + at, r, p0 * DOT_COLS);
            off += d->steps * 32;
            if (off + d->steps * 32 > size)
                off = 0;
        }
    }
}

static hull_status dots_part(void *user, size_t i)
{
    const dots *d = user;
    int64_t part = (int64_t)i, units = (d->rows + DOT_ROWS - 1) / DOT_ROWS;
    int64_t m0 = 0, m1 = d->rows, p0 = 0, p1 = d->panels_n;

    if (d->by_rows) {
        m0 = units * part / d->parts * DOT_ROWS;
        m1 = units * (part + 1) / d->parts * DOT_ROWS;
        m1 = m1 < d->rows ? m1 : d->rows;
    } else {
        p0 = d->panels_n * part / d->parts;
        p1 = d->panels_n * (part + 1) / d->parts;
    }
    for (; m0 < m1; m0 += d->block)
        block_of_rows(d, part, m0, m1 - m0 < d->block ? m1 - m0 : d->block, p0,
                      p1);
    return HULL_OK;
}

static hull_status dots_scratch(dots *d, arena *a)
{
    size_t rows = (size_t)(d->parts * d->block);
    size_t line = d->depth % 2 == 0 ? 0 : (size_t)(2 * d->steps);

    d->at = arena_raw(a, rows, sizeof *d->at);
    d->gathered = arena_raw(a, rows * line + 1, sizeof *d->gathered);
    d->c = arena_raw(a, (size_t)d->parts * DOT_ROWS * DOT_COLS, sizeof *d->c);
    if (d->at == NULL || d->gathered == NULL || d->c == NULL)
        return fail_oom(rows * (line + sizeof *d->at));
    return HULL_OK;
}

hull_status cpu_gemm_bf16(eval_ctx *cx, const node *n, const tensor *in,
                          tensor *out)
{
    int64_t depth = in[0].shape[in[0].rank - 1];
    dots d = {.columns = attr_int(n, "n"), .depth = depth,
              .steps = (depth + 1) / 2, .x = in[0].data, .panels = in[1].data,
              .bias = tensor_given(in, n, 2) ? in[2].data : NULL,
              .residual = tensor_given(in, n, 3) ? in[3].data : NULL,
              .y = out->data, .parts = pool_threads(cx->pool)};

    d.act = (epilogue){.act = packed_act_of(n),
                       .low = (float)attr_float(n, "low"),
                       .high = (float)attr_float(n, "high")};
    d.rows = tensor_numel(out) / d.columns;
    d.panels_n = (d.columns + DOT_COLS - 1) / DOT_COLS;
    if (d.rows == 0)
        return HULL_OK;
    if ((double)d.rows * (double)d.columns * (double)depth < 1e6)
        d.parts = 1;
    d.by_rows = d.rows >= 8 * d.panels_n * d.parts || d.panels_n < 2 * d.parts;
    d.block = BLOCK / (4 * d.steps + 1) / DOT_ROWS * DOT_ROWS;
    d.block = d.block < DOT_ROWS ? DOT_ROWS : d.block;
    d.block = d.block < d.rows ? d.block : d.rows;
    TRY(dots_scratch(&d, cx->scratch));
    return pool_for(cx->pool, (size_t)d.parts, dots_part, &d);
}
