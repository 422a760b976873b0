/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * vec.h - one vector of floats at the level of the file that includes this:
 * 16 lanes when it is compiled for AVX-512, 8 for AVX2. Kernels are written
 * once over `vec`; X_avx2.c and X_avx512.c include the same X_vec.h.
 *
 * The functions behave as the C library's for NaN, infinities and signed zeros
 * unless they say otherwise.
 */
#ifndef HULL_CPU_VEC_H
#define HULL_CPU_VEC_H

#include <immintrin.h>
#include <stdint.h>

#define VEC_INLINE static inline __attribute__((always_inline))
/* Every loop over registers must be unrolled completely, or the compiler keeps
 * them in memory. */
#if defined(__clang__)
#define VEC_UNROLL _Pragma("clang loop unroll(full)")
#else
#define VEC_UNROLL _Pragma("GCC unroll 36")
#endif

#if defined(__AVX512F__)

#define VEC_LANES 16
#define VEC_NAME(x) x##_avx512
typedef __m512 vec;
typedef __mmask16 vec_mask;

VEC_INLINE vec vec_set(float x) { return _mm512_set1_ps(x); }
VEC_INLINE vec vec_load(const float *p) { return _mm512_loadu_ps(p); }
VEC_INLINE void vec_store(float *p, vec x) { _mm512_storeu_ps(p, x); }
VEC_INLINE vec vec_add(vec a, vec b) { return _mm512_add_ps(a, b); }
VEC_INLINE vec vec_sub(vec a, vec b) { return _mm512_sub_ps(a, b); }
VEC_INLINE vec vec_mul(vec a, vec b) { return _mm512_mul_ps(a, b); }
VEC_INLINE vec vec_div(vec a, vec b) { return _mm512_div_ps(a, b); }
VEC_INLINE vec vec_sqrt(vec a) { return _mm512_sqrt_ps(a); }
/* a b + c, rounded once; c - a b. */
VEC_INLINE vec vec_fma(vec a, vec b, vec c)
{
    return _mm512_fmadd_ps(a, b, c);
}
VEC_INLINE vec vec_fnma(vec a, vec b, vec c)
{
    return _mm512_fnmadd_ps(a, b, c);
}
/* When one is NaN, or both are zeros: b. */
VEC_INLINE vec vec_max(vec a, vec b) { return _mm512_max_ps(a, b); }
VEC_INLINE vec vec_min(vec a, vec b) { return _mm512_min_ps(a, b); }
VEC_INLINE vec vec_abs(vec a) { return _mm512_abs_ps(a); }
VEC_INLINE vec vec_and(vec a, vec b) { return _mm512_and_ps(a, b); }
VEC_INLINE vec vec_or(vec a, vec b) { return _mm512_or_ps(a, b); }
VEC_INLINE vec vec_round(vec a) /* to even */
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT |
                                       _MM_FROUND_NO_EXC);
}
VEC_INLINE vec vec_floor(vec a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
VEC_INLINE vec vec_ceil(vec a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}
/* a 2^n for integral n */
VEC_INLINE vec vec_scale(vec a, vec n) { return _mm512_scalef_ps(a, n); }
VEC_INLINE vec vec_pick(vec_mask m, vec yes, vec no)
{
    return _mm512_mask_blend_ps(m, no, yes);
}
VEC_INLINE vec_mask vec_lt(vec a, vec b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
VEC_INLINE vec_mask vec_is_nan(vec a)
{
    return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
}
/* The first n lanes, 0 <= n <= VEC_LANES; the others read as 0. */
VEC_INLINE vec_mask vec_first(int64_t n)
{
    return (vec_mask)((1u << n) - 1);
}
VEC_INLINE vec vec_load_some(const float *p, int64_t n)
{
    return _mm512_maskz_loadu_ps(vec_first(n), p);
}
VEC_INLINE void vec_store_some(float *p, vec x, int64_t n)
{
    _mm512_mask_storeu_ps(p, vec_first(n), x);
}
VEC_INLINE float vec_sum(vec a) { return _mm512_reduce_add_ps(a); }
VEC_INLINE float vec_top(vec a) { return _mm512_reduce_max_ps(a); }

#elif defined(__AVX2__)

#define VEC_LANES 8
#define VEC_NAME(x) x##_avx2
typedef __m256 vec;
typedef __m256 vec_mask;

VEC_INLINE vec vec_set(float x) { return _mm256_set1_ps(x); }
VEC_INLINE vec vec_load(const float *p) { return _mm256_loadu_ps(p); }
VEC_INLINE void vec_store(float *p, vec x) { _mm256_storeu_ps(p, x); }
VEC_INLINE vec vec_add(vec a, vec b) { return _mm256_add_ps(a, b); }
VEC_INLINE vec vec_sub(vec a, vec b) { return _mm256_sub_ps(a, b); }
VEC_INLINE vec vec_mul(vec a, vec b) { return _mm256_mul_ps(a, b); }
VEC_INLINE vec vec_div(vec a, vec b) { return _mm256_div_ps(a, b); }
VEC_INLINE vec vec_sqrt(vec a) { return _mm256_sqrt_ps(a); }
VEC_INLINE vec vec_fma(vec a, vec b, vec c)
{
    return _mm256_fmadd_ps(a, b, c);
}
VEC_INLINE vec vec_fnma(vec a, vec b, vec c)
{
    return _mm256_fnmadd_ps(a, b, c);
}
VEC_INLINE vec vec_max(vec a, vec b) { return _mm256_max_ps(a, b); }
VEC_INLINE vec vec_min(vec a, vec b) { return _mm256_min_ps(a, b); }
VEC_INLINE vec vec_and(vec a, vec b) { return _mm256_and_ps(a, b); }
VEC_INLINE vec vec_or(vec a, vec b) { return _mm256_or_ps(a, b); }
VEC_INLINE vec vec_abs(vec a)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}
VEC_INLINE vec vec_round(vec a)
{
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
VEC_INLINE vec vec_floor(vec a) { return _mm256_floor_ps(a); }
VEC_INLINE vec vec_ceil(vec a) { return _mm256_ceil_ps(a); }
VEC_INLINE vec vec_power_of_2(__m256i n)
{
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}
/* In two steps, so that results below and above the normal range come out
 * right: |n| <= 252. NaN stays NaN. */
VEC_INLINE vec vec_scale(vec a, vec n)
{
    __m256i k = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(k, 1);

    return vec_mul(vec_mul(a, vec_power_of_2(half)),
                   vec_power_of_2(_mm256_sub_epi32(k, half)));
}
VEC_INLINE vec vec_pick(vec_mask m, vec yes, vec no)
{
    return _mm256_blendv_ps(no, yes, m);
}
VEC_INLINE vec_mask vec_lt(vec a, vec b)
{
    return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}
VEC_INLINE vec_mask vec_is_nan(vec a)
{
    return _mm256_cmp_ps(a, a, _CMP_UNORD_Q);
}
VEC_INLINE __m256i vec_first(int64_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
VEC_INLINE vec vec_load_some(const float *p, int64_t n)
{
    return _mm256_maskload_ps(p, vec_first(n));
}
VEC_INLINE void vec_store_some(float *p, vec x, int64_t n)
{
    _mm256_maskstore_ps(p, vec_first(n), x);
}
VEC_INLINE float vec_sum(vec a)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(a),
                          _mm256_extractf128_ps(a, 1));

    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
VEC_INLINE float vec_top(vec a)
{
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(a),
                          _mm256_extractf128_ps(a, 1));

    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

#else
#error "vec.h is for files compiled for AVX2 or AVX-512"
#endif

/* Polynomial c[0] x^(n-1) + ... + c[n-1]. */
VEC_INLINE vec vec_poly(vec x, const float *c, int n)
{
    vec p = vec_set(c[0]);

    VEC_UNROLL
    for (int i = 1; i < n; i++)
        p = vec_fma(p, x, vec_set(c[i]));
    return p;
}

/* 2^k e^r with |r| <= ln 2 / 2: within 1 ulp. Coefficients: Cephes expf. */
VEC_INLINE vec vec_exp(vec x)
{
    static const float c[] = {1.9875691500e-4f, 1.3981999507e-3f,
                              8.3334519073e-3f, 4.1665795894e-2f,
                              1.6666665459e-1f, 5.0000001201e-1f};
    vec k, r;

    x = vec_max(vec_set(-105.0f), x); /* NaN stays */
    x = vec_min(vec_set(90.0f), x);
    k = vec_round(vec_mul(x, vec_set(1.44269504f)));
    r = vec_fnma(k, vec_set(0.693359375f), x);
    r = vec_fnma(k, vec_set(-2.12194440e-4f), r);
    return vec_scale(vec_fma(vec_poly(r, c, 6), vec_mul(r, r),
                             vec_add(r, vec_set(1.0f))), k);
}

VEC_INLINE vec vec_sigmoid(vec x)
{
    vec e = vec_exp(vec_sub(vec_set(0.0f), x));

    return vec_div(vec_set(1.0f), vec_add(vec_set(1.0f), e));
}

/* e^2x - 1 over e^2x + 1; near 0 the series. */
VEC_INLINE vec vec_tanh(vec x)
{
    static const float c[] = {-5.70498872745e-3f, 2.06390887954e-2f,
                              -5.37397155531e-2f, 1.33314422036e-1f,
                              -3.33332819422e-1f};
    vec a = vec_abs(x), s = vec_mul(x, x);
    vec sign = vec_and(x, vec_set(-0.0f));
    vec e = vec_exp(vec_add(a, a));
    vec far = vec_sub(vec_set(1.0f),
                      vec_div(vec_set(2.0f), vec_add(e, vec_set(1.0f))));
    vec near = vec_fma(vec_mul(vec_poly(s, c, 5), s), x, x);

    return vec_pick(vec_lt(a, vec_set(0.625f)), near, vec_or(far, sign));
}

/* Abramowitz and Stegun 7.1.26: within 2e-7. */
VEC_INLINE vec vec_erf(vec x)
{
    static const float c[] = {1.061405429f, -1.453152027f, 1.421413741f,
                              -0.284496736f, 0.254829592f};
    vec a = vec_abs(x), one = vec_set(1.0f);
    vec t = vec_div(one, vec_fma(a, vec_set(0.3275911f), one));
    vec p = vec_mul(vec_poly(t, c, 5), t);
    vec e = vec_exp(vec_sub(vec_set(0.0f), vec_mul(a, a)));

    return vec_or(vec_fnma(p, e, one), vec_and(x, vec_set(-0.0f)));
}

VEC_INLINE vec vec_gelu(vec x)
{
    vec half = vec_mul(x, vec_set(0.5f));

    return vec_fma(half, vec_erf(vec_mul(x, vec_set(0.70710678f))), half);
}

/* x sigmoid(1.5957... (x + 0.044715 x^3)), the same as with tanh. */
VEC_INLINE vec vec_gelu_tanh(vec x)
{
    vec u = vec_fma(vec_mul(x, x), vec_set(0.044715f), vec_set(1.0f));

    return vec_mul(x, vec_sigmoid(vec_mul(vec_mul(x, vec_set(1.59576912f)),
                                          u)));
}

/* NaN stays, -0 becomes 0. */
VEC_INLINE vec vec_relu(vec x)
{
    return vec_add(vec_max(vec_set(0.0f), x), vec_set(0.0f));
}

VEC_INLINE vec vec_clamp(vec x, vec low, vec high)
{
    return vec_min(high, vec_max(low, x));
}

#endif
