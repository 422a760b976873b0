/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * quantiser.h - quantised values at one level: vectors of i32 and bytes, and
 * the op quantize to the bit.
 */
#ifndef HULL_CPU_QUANTISER_H
#define HULL_CPU_QUANTISER_H

#include "backend/cpu/vec.h"

#include <stdbool.h>
#include <string.h>

/* ---- vectors ------------------------------------------------------------- */

#if VEC_LANES == 16
typedef __m512i ivec;
VEC_INLINE ivec ivec_set(int32_t v) { return _mm512_set1_epi32(v); }
VEC_INLINE ivec ivec_load(const int32_t *p) { return _mm512_loadu_si512(p); }
VEC_INLINE void ivec_store(int32_t *p, ivec v) { _mm512_storeu_si512(p, v); }
VEC_INLINE ivec ivec_add(ivec a, ivec b) { return _mm512_add_epi32(a, b); }
VEC_INLINE ivec ivec_sub(ivec a, ivec b) { return _mm512_sub_epi32(a, b); }
VEC_INLINE ivec ivec_mul(ivec a, ivec b) { return _mm512_mullo_epi32(a, b); }
VEC_INLINE vec ivec_to_float(ivec v) { return _mm512_cvtepi32_ps(v); }
/* The integers of v, each within a byte, as VEC_LANES bytes. */
VEC_INLINE void vec_store_bytes(uint8_t *p, vec v, bool is_signed)
{
    (void)is_signed;
    _mm_storeu_si128((__m128i *)(void *)p,
                     _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v)));
}
VEC_INLINE vec vec_load_bytes(const uint8_t *p, bool is_signed)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);

    return _mm512_cvtepi32_ps(is_signed ? _mm512_cvtepi8_epi32(v)
                                        : _mm512_cvtepu8_epi32(v));
}
#else
typedef __m256i ivec;
VEC_INLINE ivec ivec_set(int32_t v) { return _mm256_set1_epi32(v); }
VEC_INLINE ivec ivec_load(const int32_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}
VEC_INLINE void ivec_store(int32_t *p, ivec v)
{
    _mm256_storeu_si256((__m256i *)(void *)p, v);
}
VEC_INLINE ivec ivec_add(ivec a, ivec b) { return _mm256_add_epi32(a, b); }
VEC_INLINE ivec ivec_sub(ivec a, ivec b) { return _mm256_sub_epi32(a, b); }
VEC_INLINE ivec ivec_mul(ivec a, ivec b) { return _mm256_mullo_epi32(a, b); }
VEC_INLINE vec ivec_to_float(ivec v) { return _mm256_cvtepi32_ps(v); }
VEC_INLINE void vec_store_bytes(uint8_t *p, vec v, bool is_signed)
{
    __m256i i = _mm256_cvtps_epi32(v);
    __m128i w = _mm_packs_epi32(_mm256_castsi256_si128(i),
                                _mm256_extracti128_si256(i, 1));

    w = is_signed ? _mm_packs_epi16(w, w) : _mm_packus_epi16(w, w);
    _mm_storel_epi64((__m128i *)(void *)p, w);
}
VEC_INLINE vec vec_load_bytes(const uint8_t *p, bool is_signed)
{
    __m128i v = _mm_loadl_epi64((const __m128i *)(const void *)p);

    return _mm256_cvtepi32_ps(is_signed ? _mm256_cvtepi8_epi32(v)
                                        : _mm256_cvtepu8_epi32(v));
}
#endif

VEC_INLINE void vec_put_bytes(uint8_t *p, vec v, bool is_signed, int64_t n)
{
    uint8_t some[VEC_LANES];

    if (n == VEC_LANES) {
        vec_store_bytes(p, v, is_signed);
        return;
    }
    vec_store_bytes(some, v, is_signed);
    memcpy(p, some, (size_t)n);
}

VEC_INLINE vec vec_take_bytes(const uint8_t *p, bool is_signed, int64_t n)
{
    uint8_t some[VEC_LANES] = {0};

    if (n == VEC_LANES)
        return vec_load_bytes(p, is_signed);
    memcpy(some, p, (size_t)n);
    return vec_load_bytes(some, is_signed);
}

/* ---- quantisers ---------------------------------------------------------- */

typedef struct quantiser {
    vec scale, inverse, zero, low, high;
    bool is_signed;
} quantiser;

VEC_INLINE quantiser quantiser_of(float scale, int32_t zero, bool is_signed)
{
    return (quantiser){vec_set(scale), vec_set(1.0f / scale),
                       vec_set((float)zero), vec_set(is_signed ? -128 : 0),
                       vec_set(is_signed ? 127 : 255), is_signed};
}

/* round(v / scale) + zero, saturated; NaN gives 0. The quotient rounded to f32
 * decides: v times the inverse is within 2 ulp of it, which matters near a half
 * and beyond what floats hold. There, and for a NaN, the lanes are divided. */
VEC_INLINE vec vec_quantise(const quantiser *q, vec v)
{
    vec t = vec_mul(v, q->inverse), r = vec_round(t);
    vec off = vec_abs(vec_sub(t, r)); /* NaN for Inf and NaN */
    vec_mask sure = vec_lt(off, vec_set(0.4998f));
    vec_mask big = vec_lt(vec_set(600.0f), vec_abs(t));

    if (!vec_all(sure) || vec_any(big)) {
        t = vec_div(v, q->scale);
        r = vec_round(t);
        r = vec_add(r, q->zero);
        return vec_pick(vec_is_nan(r), vec_set(0.0f),
                        vec_clamp(r, q->low, q->high));
    }
    return vec_clamp(vec_add(r, q->zero), q->low, q->high);
}

VEC_INLINE vec vec_dequantise(const quantiser *q, vec v)
{
    return vec_mul(vec_sub(v, q->zero), q->scale);
}

#endif
