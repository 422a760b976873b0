/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * micro.h - the register tile of all products: R rows of x times one weight
 * panel of MICRO_COLS columns. With 14 x 2 vectors (6 x 2 for AVX2), two of the
 * panel and one broadcast, the registers are full. Rows come packed, [k][R], or
 * as one pointer per row and tap.
 */
#ifndef HULL_CPU_MICRO_H
#define HULL_CPU_MICRO_H

#include "backend/cpu/epilogue.h"

#if VEC_LANES == 16
#define MICRO_ROWS 14
#else
#define MICRO_ROWS 6
#endif
#define MICRO_COLS (2 * VEC_LANES)

typedef struct micro {
    int64_t taps, depth;      /* sums of taps * depth products */
    const float *packed;      /* [depth][R]; taps is 1 */
    const float *const *rows; /* or rows[tap * MICRO_ROWS + i], depth long */
    const float *panel;       /* [taps * depth][MICRO_COLS] */
    const float *bias;        /* MICRO_COLS values, or NULL */
    const float *start;       /* added to the sums, or NULL */
    int64_t ld_start;
    float *c;
    int64_t ldc;
    int64_t columns;          /* that exist, of the panel's; 0: all */
    const char *ahead;        /* what will be read next: into L2 */
    const epilogue *e;        /* its activation, or NULL */
} micro;

/* How the rows come, and what is prefetched. */
enum micro_kind {
    MICRO_PACKED, /* `ahead`, a line per 4 steps */
    MICRO_STREAM, /* packed, the panel is read once: itself, 8 KiB ahead */
    MICRO_POINTERS /* `ahead`, two lines per 4 steps */
};

/* cols: 2, or 1 where the panel's second half is empty. */
VEC_INLINE void micro_step(int r, int cols, enum micro_kind kind,
                           const float *const *rows, int64_t k, const float *a,
                           const float *b, vec x[2 * MICRO_ROWS])
{
    vec w0 = vec_load(b), w1 = cols == 2 ? vec_load(b + VEC_LANES) : w0;

    VEC_UNROLL
    for (int i = 0; i < r; i++) {
        vec v = vec_set(kind == MICRO_POINTERS ? rows[i][k] : a[i]);

        x[i * cols] = vec_fma(v, w0, x[i * cols]);
        if (cols == 2)
            x[i * cols + 1] = vec_fma(v, w1, x[i * cols + 1]);
    }
}

VEC_INLINE void micro_prefetch(enum micro_kind kind, const char **ahead,
                               const float *b)
{
    if (kind == MICRO_STREAM) {
        VEC_UNROLL
        for (int u = 0; u < 4 * MICRO_COLS / 16; u++)
            _mm_prefetch((const char *)b + 8192 + 64 * u, _MM_HINT_T0);
        return;
    }
    _mm_prefetch(*ahead, _MM_HINT_T1);
    *ahead += 64;
    if (kind == MICRO_POINTERS) {
        _mm_prefetch(*ahead, _MM_HINT_T1);
        *ahead += 64;
    }
}

/* Of n columns, those of vector j. */
VEC_INLINE int64_t micro_columns(int64_t n, int j)
{
    n -= j * VEC_LANES;
    return n < 0 ? 0 : n < VEC_LANES ? n : VEC_LANES;
}

/* What the sums start from. */
VEC_INLINE void micro_begin(int r, int cols, int64_t columns, const micro *m,
                            vec x[2 * MICRO_ROWS])
{
    VEC_UNROLL
    for (int j = 0; j < cols; j++) {
        int64_t n = micro_columns(columns, j), at = j * VEC_LANES;
        vec bias = m->bias != NULL ? vec_take(m->bias + at, n) : vec_set(0.0f);

        VEC_UNROLL
        for (int i = 0; i < r; i++)
            x[i * cols + j] = bias;
        if (m->start == NULL)
            continue;
        VEC_UNROLL
        for (int i = 0; i < r; i++)
            x[i * cols + j] =
                vec_add(bias, vec_take(m->start + i * m->ld_start + at, n));
    }
}

/* What comes before or after the loop must not shape its use of registers. */
VEC_INLINE void micro_settle(int n, vec *x)
{
    VEC_UNROLL
    for (int i = 0; i < n; i++)
        __asm__ volatile("" : "+v"(x[i]));
}

VEC_INLINE void micro_store(int r, int cols, int64_t columns, const micro *m,
                            const vec x[2 * MICRO_ROWS])
{
    VEC_UNROLL
    for (int i = 0; i < r; i++) {
        VEC_UNROLL
        for (int j = 0; j < cols; j++)
            vec_put(m->c + i * m->ldc + j * VEC_LANES, x[i * cols + j],
                    micro_columns(columns, j));
    }
}

/* An activation of many instructions, on a tile that is in the cache. */
static __attribute__((noinline, unused)) void
micro_activate(const epilogue *e, float *c, int64_t ldc, int64_t r,
               int64_t columns)
{
    for (int64_t i = 0; i < r; i++)
        for (int64_t j = 0; j < columns; j += VEC_LANES) {
            int64_t n = columns - j < VEC_LANES ? columns - j : VEC_LANES;
            float *y = c + i * ldc + j;

            vec_put(y, epilogue_apply(e, vec_take(y, n)), n);
        }
}

VEC_INLINE void micro_run(int r, int cols, enum micro_kind kind,
                          const micro *m)
{
    vec x[2 * MICRO_ROWS]; /* [r][cols] */
    const float *a = m->packed, *b = m->panel;
    const float *const *rows = m->rows;
    const char *ahead = m->ahead;
    int64_t all = cols * VEC_LANES;
    int64_t columns = m->columns == 0 || m->columns > all ? all : m->columns;
    /* AVX-512's masks cost nothing, so code without them is saved. */
    bool whole = VEC_LANES == 8 && columns == all, done;

    if (whole)
        micro_begin(r, cols, all, m, x);
    else
        micro_begin(r, cols, columns, m, x);
    micro_settle(r * cols, x);
    for (int64_t t = 0; t < m->taps; t++, rows += MICRO_ROWS) {
        int64_t k = 0;

        for (; k + 4 <= m->depth; k += 4) {
            micro_prefetch(kind, &ahead, b);
            VEC_UNROLL
            for (int u = 0; u < 4; u++) {
                micro_step(r, cols, kind, rows, k + u, a, b, x);
                a += kind == MICRO_POINTERS ? 0 : r;
                b += MICRO_COLS;
            }
            micro_settle(r * cols, x);
        }
        for (; k < m->depth; k++) {
            micro_step(r, cols, kind, rows, k, a, b, x);
            a += kind == MICRO_POINTERS ? 0 : r;
            b += MICRO_COLS;
        }
        if (kind != MICRO_POINTERS)
            break;
    }
    micro_settle(r * cols, x);
    done = m->e == NULL ||
           (kind == MICRO_POINTERS && epilogue_in_registers(r * cols, m->e, x));
    if (whole)
        micro_store(r, cols, all, m, x);
    else
        micro_store(r, cols, columns, m, x);
    if (!done)
        micro_activate(m->e, m->c, m->ldc, r, columns);
}

typedef void micro_fn(const micro *m);

#define MICRO_DEFINE(r)                                  \
    static void micro_packed_##r(const micro *m)         \
    {                                                    \
        micro_run(r, 2, MICRO_PACKED, m);                 \
    }                                                    \
    static void micro_stream_##r(const micro *m)         \
    {                                                    \
        micro_run(r, 2, MICRO_STREAM, m);                 \
    }
#define MICRO_DEFINE_POINTERS(r)                         \
    static void micro_pointers_##r(const micro *m)       \
    {                                                    \
        micro_run(r, 2, MICRO_POINTERS, m);              \
    }                                                    \
    static void micro_half_##r(const micro *m)           \
    {                                                    \
        micro_run(r, 1, MICRO_POINTERS, m);              \
    }
#if VEC_LANES == 16
#define MICRO_EACH(f) \
    f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11) f(12) f(13) f(14)
#else
#define MICRO_EACH(f) f(1) f(2) f(3) f(4) f(5) f(6)
#endif

#endif
