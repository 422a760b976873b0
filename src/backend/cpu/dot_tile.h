/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * dot_tile.h - the register tile of narrow products: rows of x times a panel of
 * two vectors of columns, in steps of 32 bits of x for each row: 4 bytes, 2 of
 * 16 bits. Who includes it has said what a step is:
 *
 *   dot_one(flag, sum, x, w)  sum + the products of a step, w one vector's
 *   dot_join(a, b)            the sum of two sums
 *   DOT_ROWS                  rows of the largest tile
 *   DOT_HALF                  bytes of w for one vector
 */
#include "backend/cpu/quantiser.h"

#define DOT_COLS (2 * VEC_LANES)

typedef struct dot_tile {
    int64_t steps;
    const char *const *rows;
    const uint8_t *panel;    /* [steps][2 DOT_HALF] */
    const char *ahead;       /* what will be read next: into L2 */
    int32_t *c;              /* sums [r][DOT_COLS] */
} dot_tile;

VEC_INLINE ivec dot_spread(const char *row, int64_t step)
{
    int32_t v;

    memcpy(&v, row + step * 4, sizeof v);
    return ivec_set(v);
}

/* r, ways and flag are constant after inlining. Few rows take turns in `ways`
 * sums, so that an addition does not wait for the one before. */
VEC_INLINE void dot_tile_run(int r, int ways, bool flag, const dot_tile *t)
{
    const uint8_t *w = t->panel;
    const char *ahead = t->ahead;
    ivec s[2 * DOT_ROWS];
    int64_t k = 0;

    VEC_UNROLL
    for (int i = 0; i < 2 * r * ways; i++)
        s[i] = ivec_set(0);
    for (; k + 4 <= t->steps; k += 4) {
        _mm_prefetch(ahead, _MM_HINT_T1);
        _mm_prefetch(ahead + 64, _MM_HINT_T1);
        ahead += 128;
        VEC_UNROLL
        for (int u = 0; u < 4; u++) {
            VEC_UNROLL
            for (int i = 0; i < r; i++) {
                ivec x = dot_spread(t->rows[i], k + u);
                int to = 2 * (u % ways * r + i);

                s[to] = dot_one(flag, s[to], x, w);
                s[to + 1] = dot_one(flag, s[to + 1], x, w + DOT_HALF);
            }
            w += 2 * DOT_HALF;
        }
    }
    for (; k < t->steps; k++) {
        VEC_UNROLL
        for (int i = 0; i < r; i++) {
            ivec x = dot_spread(t->rows[i], k);

            s[2 * i] = dot_one(flag, s[2 * i], x, w);
            s[2 * i + 1] = dot_one(flag, s[2 * i + 1], x, w + DOT_HALF);
        }
        w += 2 * DOT_HALF;
    }
    VEC_UNROLL
    for (int j = 1; j < ways; j++) {
        VEC_UNROLL
        for (int i = 0; i < 2 * r; i++)
            s[i] = dot_join(s[i], s[2 * r * j + i]);
    }
    VEC_UNROLL
    for (int i = 0; i < 2 * r; i++)
        ivec_store(t->c + i * VEC_LANES, s[i]);
}

#define DOT_DEFINE(r, ways)                         \
    static void dot_yes_##r(const dot_tile *t)      \
    {                                               \
        dot_tile_run(r, ways, true, t);             \
    }                                               \
    static void dot_no_##r(const dot_tile *t)       \
    {                                               \
        dot_tile_run(r, ways, false, t);            \
    }
#if DOT_ROWS == 14
#define DOT_EACH(f)                                                         \
    f(1, 4) f(2, 2) f(3, 2) f(4, 2) f(5, 1) f(6, 1) f(7, 1) f(8, 1) f(9, 1) \
    f(10, 1) f(11, 1) f(12, 1) f(13, 1) f(14, 1)
#else
#define DOT_EACH(f) f(1, 4) f(2, 2) f(3, 2) f(4, 1) f(5, 1) f(6, 1)
#endif
DOT_EACH(DOT_DEFINE)

typedef void dot_tile_fn(const dot_tile *t);
#define NAME(r, ways) {dot_no_##r, dot_yes_##r},
/* By the number of rows and the flag. */
static dot_tile_fn *const dot_tiles[][2] = {{NULL, NULL}, DOT_EACH(NAME)};
#undef NAME
