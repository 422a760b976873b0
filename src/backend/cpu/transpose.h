/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * transpose.h - squares of VEC_LANES x VEC_LANES floats transposed in
 * registers, and rows laid out as a panel of micro.h with them.
 */
#ifndef HULL_CPU_TRANSPOSE_H
#define HULL_CPU_TRANSPOSE_H

#include "backend/cpu/micro.h"

#if VEC_LANES == 16

/* Quarters q of x[0..3], one register each: y[q * step]. */
VEC_INLINE void vec_quarters(const vec x[4], vec *y, int step)
{
    vec even0 = _mm512_shuffle_f32x4(x[0], x[1], 0x88);
    vec even1 = _mm512_shuffle_f32x4(x[2], x[3], 0x88);
    vec odd0 = _mm512_shuffle_f32x4(x[0], x[1], 0xdd);
    vec odd1 = _mm512_shuffle_f32x4(x[2], x[3], 0xdd);

    y[0] = _mm512_shuffle_f32x4(even0, even1, 0x88);
    y[step] = _mm512_shuffle_f32x4(odd0, odd1, 0x88);
    y[2 * step] = _mm512_shuffle_f32x4(even0, even1, 0xdd);
    y[3 * step] = _mm512_shuffle_f32x4(odd0, odd1, 0xdd);
}

/* Each quarter of r[0..3] is a square of 4 x 4. */
VEC_INLINE void vec_small_squares(const vec *r, vec *y)
{
    __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps(r[0], r[1]));
    __m512d b = _mm512_castps_pd(_mm512_unpackhi_ps(r[0], r[1]));
    __m512d c = _mm512_castps_pd(_mm512_unpacklo_ps(r[2], r[3]));
    __m512d d = _mm512_castps_pd(_mm512_unpackhi_ps(r[2], r[3]));

    y[0] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
    y[1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
    y[2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
    y[3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
}

VEC_INLINE void vec_transpose(vec r[VEC_LANES])
{
    vec y[VEC_LANES], x[4];

    VEC_UNROLL
    for (int i = 0; i < 4; i++)
        vec_small_squares(r + 4 * i, y + 4 * i);
    VEC_UNROLL
    for (int i = 0; i < 4; i++) {
        x[0] = y[i];
        x[1] = y[4 + i];
        x[2] = y[8 + i];
        x[3] = y[12 + i];
        vec_quarters(x, r + i, 4);
    }
}

#else

/* Each half of r[0..3] is a square of 4 x 4. */
VEC_INLINE void vec_small_squares(const vec *r, vec *y)
{
    __m256d a = _mm256_castps_pd(_mm256_unpacklo_ps(r[0], r[1]));
    __m256d b = _mm256_castps_pd(_mm256_unpackhi_ps(r[0], r[1]));
    __m256d c = _mm256_castps_pd(_mm256_unpacklo_ps(r[2], r[3]));
    __m256d d = _mm256_castps_pd(_mm256_unpackhi_ps(r[2], r[3]));

    y[0] = _mm256_castpd_ps(_mm256_unpacklo_pd(a, c));
    y[1] = _mm256_castpd_ps(_mm256_unpackhi_pd(a, c));
    y[2] = _mm256_castpd_ps(_mm256_unpacklo_pd(b, d));
    y[3] = _mm256_castpd_ps(_mm256_unpackhi_pd(b, d));
}

VEC_INLINE void vec_transpose(vec r[VEC_LANES])
{
    vec y[VEC_LANES];

    vec_small_squares(r, y);
    vec_small_squares(r + 4, y + 4);
    VEC_UNROLL
    for (int i = 0; i < 4; i++) {
        r[i] = _mm256_permute2f128_ps(y[i], y[4 + i], 0x20);
        r[4 + i] = _mm256_permute2f128_ps(y[i], y[4 + i], 0x31);
    }
}

#endif

/* n rows of x, at most MICRO_COLS, as the columns of a panel [depth]
 * [MICRO_COLS], times `scale`; columns from n on are 0. */
static inline void rows_to_panel(const float *x, int64_t ld, int64_t n,
                                 int64_t depth, float scale, float *panel)
{
    vec r[VEC_LANES], by = vec_set(scale);

    for (int64_t c = 0; c < MICRO_COLS; c += VEC_LANES) {
        for (int64_t k = 0; k < depth; k += VEC_LANES) {
            int64_t w = depth - k < VEC_LANES ? depth - k : VEC_LANES;

            VEC_UNROLL
            for (int i = 0; i < VEC_LANES; i++) {
                const float *row = x + (c + i) * ld + k;

                r[i] = c + i >= n ? vec_set(0.0f)
                       : w == VEC_LANES ? vec_load(row)
                                        : vec_load_some(row, w);
            }
            vec_transpose(r);
            VEC_UNROLL
            for (int i = 0; i < VEC_LANES; i++)
                if (i < w)
                    vec_store(panel + (k + i) * MICRO_COLS + c,
                              vec_mul(r[i], by));
        }
    }
}

/* n rows of x, at most VEC_LANES, as [depth][n]. Nothing behind it is written:
 * other threads write there. */
static inline void rows_interleave(const float *x, int64_t ld, int64_t n,
                                   int64_t depth, float *out)
{
    vec r[VEC_LANES];

    for (int64_t k = 0; k < depth; k += VEC_LANES) {
        int64_t w = depth - k < VEC_LANES ? depth - k : VEC_LANES;

        VEC_UNROLL
        for (int i = 0; i < VEC_LANES; i++)
            r[i] = i >= n             ? vec_set(0.0f)
                   : w == VEC_LANES ? vec_load(x + i * ld + k)
                                    : vec_load_some(x + i * ld + k, w);
        vec_transpose(r);
        VEC_UNROLL
        for (int i = 0; i < VEC_LANES; i++)
            if (i < w)
                vec_put(out + (k + i) * n, r[i],
                        (depth - k - i) * n < VEC_LANES ? n : VEC_LANES);
    }
}

#endif
