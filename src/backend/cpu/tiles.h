/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * tiles.h - 8 x 8 elements of 1, 2, 4 or 8 bytes, rows to columns, in
 * registers: what transposes and packing of any dtype are made of.
 */
#ifndef HULL_CPU_TILES_H
#define HULL_CPU_TILES_H

#include "backend/cpu/vec.h"

VEC_INLINE __m256i wide_of(const char *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

VEC_INLINE void put_wide(char *p, __m256 x)
{
    _mm256_storeu_ps((float *)(void *)p, x);
}

/* Rows of 8 elements of 4 bytes become columns; column i goes to dst + to[i].
 */
static void tile_4(const char *src, int64_t ld, char *dst, const int64_t *to)
{
    __m256 x[8], y[8];

    VEC_UNROLL
    for (int i = 0; i < 4; i++) { /* rows i and i + 4, by halves */
        __m256 lo = _mm256_castsi256_ps(wide_of(src + i * ld));
        __m256 hi = _mm256_castsi256_ps(wide_of(src + (i + 4) * ld));

        x[i] = _mm256_permute2f128_ps(lo, hi, 0x20);
        x[i + 4] = _mm256_permute2f128_ps(lo, hi, 0x31);
    }
    VEC_UNROLL
    for (int i = 0; i < 8; i += 4) {
        y[i] = _mm256_unpacklo_ps(x[i], x[i + 1]);
        y[i + 1] = _mm256_unpackhi_ps(x[i], x[i + 1]);
        y[i + 2] = _mm256_unpacklo_ps(x[i + 2], x[i + 3]);
        y[i + 3] = _mm256_unpackhi_ps(x[i + 2], x[i + 3]);
        put_wide(dst + to[i], _mm256_shuffle_ps(y[i], y[i + 2], 0x44));
        put_wide(dst + to[i + 1], _mm256_shuffle_ps(y[i], y[i + 2], 0xee));
        put_wide(dst + to[i + 2], _mm256_shuffle_ps(y[i + 1], y[i + 3], 0x44));
        put_wide(dst + to[i + 3], _mm256_shuffle_ps(y[i + 1], y[i + 3], 0xee));
    }
}

/* 8 bytes, 4 x 4 at a time. */
static void tile_8(const char *src, int64_t ld, char *dst, const int64_t *to)
{
    for (int r = 0; r < 8; r += 4) {
        for (int c = 0; c < 8; c += 4) {
            __m256d x[4], y[4];

            VEC_UNROLL
            for (int i = 0; i < 4; i++)
                x[i] = _mm256_castsi256_pd(
                    wide_of(src + (r + i) * ld + c * 8));
            y[0] = _mm256_unpacklo_pd(x[0], x[1]);
            y[1] = _mm256_unpackhi_pd(x[0], x[1]);
            y[2] = _mm256_unpacklo_pd(x[2], x[3]);
            y[3] = _mm256_unpackhi_pd(x[2], x[3]);
            VEC_UNROLL
            for (int i = 0; i < 2; i++) {
                put_wide(dst + to[c + i] + r * 8, _mm256_castpd_ps(
                    _mm256_permute2f128_pd(y[i], y[i + 2], 0x20)));
                put_wide(dst + to[c + i + 2] + r * 8, _mm256_castpd_ps(
                    _mm256_permute2f128_pd(y[i], y[i + 2], 0x31)));
            }
        }
    }
}

/* 2 bytes. */
static void tile_2(const char *src, int64_t ld, char *dst, const int64_t *to)
{
    __m128i x[8], y[8];

    VEC_UNROLL
    for (int i = 0; i < 8; i++)
        x[i] = _mm_loadu_si128((const __m128i *)(const void *)(src + i * ld));
    VEC_UNROLL
    for (int i = 0; i < 4; i++) { /* [columns 0-3 or 4-7][rows] */
        y[i] = _mm_unpacklo_epi16(x[2 * i], x[2 * i + 1]);
        y[i + 4] = _mm_unpackhi_epi16(x[2 * i], x[2 * i + 1]);
    }
    VEC_UNROLL
    for (int h = 0; h < 8; h += 4) {
        __m128i a = _mm_unpacklo_epi32(y[h], y[h + 1]);
        __m128i b = _mm_unpackhi_epi32(y[h], y[h + 1]);
        __m128i c = _mm_unpacklo_epi32(y[h + 2], y[h + 3]);
        __m128i d = _mm_unpackhi_epi32(y[h + 2], y[h + 3]);
        __m128i z[4] = {_mm_unpacklo_epi64(a, c), _mm_unpackhi_epi64(a, c),
                        _mm_unpacklo_epi64(b, d), _mm_unpackhi_epi64(b, d)};

        VEC_UNROLL
        for (int i = 0; i < 4; i++)
            _mm_storeu_si128((__m128i *)(void *)(dst + to[h + i]), z[i]);
    }
}

/* 1 byte. */
static void tile_1(const char *src, int64_t ld, char *dst, const int64_t *to)
{
    __m128i x[8], y[4], z[4];

    VEC_UNROLL
    for (int i = 0; i < 8; i++)
        x[i] = _mm_loadl_epi64((const __m128i *)(const void *)(src + i * ld));
    VEC_UNROLL
    for (int i = 0; i < 4; i++)
        y[i] = _mm_unpacklo_epi8(x[2 * i], x[2 * i + 1]);
    z[0] = _mm_unpacklo_epi16(y[0], y[1]);
    z[1] = _mm_unpackhi_epi16(y[0], y[1]);
    z[2] = _mm_unpacklo_epi16(y[2], y[3]);
    z[3] = _mm_unpackhi_epi16(y[2], y[3]);
    VEC_UNROLL
    for (int i = 0; i < 2; i++) { /* columns 4 i .. 4 i + 3 */
        __m128i lo = _mm_unpacklo_epi32(z[i], z[i + 2]);
        __m128i hi = _mm_unpackhi_epi32(z[i], z[i + 2]);

        _mm_storel_epi64((__m128i *)(void *)(dst + to[4 * i]), lo);
        _mm_storel_epi64((__m128i *)(void *)(dst + to[4 * i + 1]),
                         _mm_unpackhi_epi64(lo, lo));
        _mm_storel_epi64((__m128i *)(void *)(dst + to[4 * i + 2]), hi);
        _mm_storel_epi64((__m128i *)(void *)(dst + to[4 * i + 3]),
                         _mm_unpackhi_epi64(hi, hi));
    }
}

/* Rows of 8 elements, ld bytes apart, become columns: column i goes to
 * dst + to[i]. */
typedef void tile_fn(const char *src, int64_t ld, char *dst,
                     const int64_t *to);

/* NULL: no such width. */
static inline tile_fn *tile_of(int64_t width)
{
    switch (width) {
    case 1: return tile_1;
    case 2: return tile_2;
    case 4: return tile_4;
    case 8: return tile_8;
    default: return NULL;
    }
}

#endif
