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
#include <stdbool.h>
#include <stdint.h>

#define VEC_INLINE static inline __attribute__((always_inline))
/* Every loop over registers must be unrolled completely, or the compiler keeps
 * them in memory. */
#if defined(__clang__)
#define VEC_CALL __attribute__((noinline)) /* one copy, whatever the caller */
#define VEC_UNROLL _Pragma("clang loop unroll(full)")
#define VEC_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define VEC_CALL __attribute__((noipa))
#define VEC_UNROLL _Pragma("GCC unroll 36")
#define VEC_ROLLED _Pragma("GCC unroll 1") /* short loops in cold code */
#endif

#if defined(__AVX512F__)

#define VEC_LANES 16
#define VEC_NAME(x) x##_avx512
typedef __m512 vec;
typedef __mmask16 vec_mask;

VEC_INLINE vec vec_set(float x) { return _mm512_set1_ps(x); }
VEC_INLINE vec vec_load(const float *p) { return _mm512_loadu_ps(p); }
VEC_INLINE void vec_store(float *p, vec x) { _mm512_storeu_ps(p, x); }
/* Past the caches; p is aligned to the vector. Ends with an sfence. */
VEC_INLINE void vec_stream(float *p, vec x) { _mm512_stream_ps(p, x); }
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
VEC_INLINE vec vec_trunc(vec a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
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
/* x = m 2^k, m in [2/3, 4/3), for x positive and normal. */
VEC_INLINE vec vec_split(vec x, vec *k)
{
    __m512i i = _mm512_castps_si512(x);
    __m512i e = _mm512_srai_epi32(
        _mm512_sub_epi32(i, _mm512_set1_epi32(0x3f2aaaab)), 23);

    *k = _mm512_cvtepi32_ps(e);
    return _mm512_castsi512_ps(_mm512_sub_epi32(i, _mm512_slli_epi32(e, 23)));
}
VEC_INLINE int vec_any(vec_mask m) { return m != 0; }
VEC_INLINE int vec_all(vec_mask m) { return m == 0xffff; }
/* Lane i of the result is lane[i] of x. */
VEC_INLINE vec vec_permute(vec x, const int32_t lane[VEC_LANES])
{
    return _mm512_permutexvar_ps(_mm512_loadu_si512(lane), x);
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
VEC_INLINE void vec_stream(float *p, vec x) { _mm256_stream_ps(p, x); }
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
VEC_INLINE vec vec_trunc(vec a)
{
    return _mm256_round_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
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
VEC_INLINE vec vec_split(vec x, vec *k)
{
    __m256i i = _mm256_castps_si256(x);
    __m256i e = _mm256_srai_epi32(
        _mm256_sub_epi32(i, _mm256_set1_epi32(0x3f2aaaab)), 23);

    *k = _mm256_cvtepi32_ps(e);
    return _mm256_castsi256_ps(_mm256_sub_epi32(i, _mm256_slli_epi32(e, 23)));
}
VEC_INLINE int vec_any(vec_mask m) { return _mm256_movemask_ps(m) != 0; }
VEC_INLINE int vec_all(vec_mask m) { return _mm256_movemask_ps(m) == 0xff; }
VEC_INLINE vec vec_permute(vec x, const int32_t lane[VEC_LANES])
{
    return _mm256_permutevar8x32_ps(
        x, _mm256_loadu_si256((const __m256i *)(const void *)lane));
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

/* The same where most calls have all lanes: AVX2's masks are slow on some
 * CPUs. */
VEC_INLINE vec vec_take(const float *p, int64_t n)
{
    bool whole = VEC_LANES == 16 ? __builtin_constant_p(n == VEC_LANES) &&
                                       n == VEC_LANES
                                 : n == VEC_LANES;

    return whole ? vec_load(p) : vec_load_some(p, n);
}
VEC_INLINE void vec_put(float *p, vec x, int64_t n)
{
    bool whole = VEC_LANES == 16 ? __builtin_constant_p(n == VEC_LANES) &&
                                       n == VEC_LANES
                                 : n == VEC_LANES;

    if (whole)
        vec_store(p, x);
    else
        vec_store_some(p, x, n);
}

/* Polynomial c[0] x^(n-1) + ... + c[n-1]. */
VEC_INLINE vec vec_poly(vec x, const float *c, int n)
{
    vec p = vec_set(c[0]);

    VEC_UNROLL
    for (int i = 1; i < n; i++)
        p = vec_fma(p, x, vec_set(c[i]));
    return p;
}

/* x = k ln 2 + r, |r| <= ln 2 / 2; x cut to [-105, 90], NaN stays. */
VEC_INLINE vec vec_exp_split(vec x, vec *k)
{
    vec r;

    x = vec_min(vec_set(90.0f), vec_max(vec_set(-105.0f), x));
    *k = vec_round(vec_mul(x, vec_set(1.44269504f)));
    r = vec_fnma(*k, vec_set(0.693359375f), x);
    return vec_fnma(*k, vec_set(-2.12194440e-4f), r);
}

/* (e^r - 1 - r) / r^2 */
VEC_INLINE vec vec_exp_rest(vec r)
{
    static const float c[] = {1.99139522e-4f, 1.394129087e-3f, 8.333273512e-3f,
                              4.166635120e-2f, 1.666666681e-1f,
                              5.000000047e-1f};

    return vec_poly(r, c, 6);
}

VEC_INLINE vec vec_exp(vec x)
{
    vec k, r = vec_exp_split(x, &k);

    return vec_scale(vec_fma(vec_exp_rest(r), vec_mul(r, r),
                             vec_add(r, vec_set(1.0f))), k);
}

/* 2 (2^(k-1) (e^r - 1) + (2^(k-1) - 1/2)), with the sign of x. */
VEC_INLINE vec vec_expm1(vec x)
{
    vec k, r = vec_exp_split(vec_min(vec_set(88.8f), x), &k);
    vec p = vec_fma(vec_exp_rest(r), vec_mul(r, r), r);
    vec t = vec_scale(vec_set(1.0f), vec_sub(k, vec_set(1.0f)));

    p = vec_fma(t, p, vec_sub(t, vec_set(0.5f)));
    return vec_or(vec_add(p, p), vec_and(x, vec_set(-0.0f)));
}

VEC_INLINE vec vec_log(vec x)
{
    static const float c[] = {
        1.235786243e-1f, -1.284714916e-1f, 1.066140335e-1f, -1.219527787e-1f,
        1.431283480e-1f, -1.667961624e-1f, 1.999930611e-1f, -2.499981938e-1f,
        3.333333874e-1f};
    const vec zero = vec_set(0.0f);
    vec_mask tiny = vec_lt(x, vec_set(1.17549435e-38f));
    vec k, f = vec_split(vec_pick(tiny, vec_mul(x, vec_set(8388608.0f)), x),
                         &k);
    vec s, t;

    k = vec_pick(tiny, vec_sub(k, vec_set(23.0f)), k);
    f = vec_sub(f, vec_set(1.0f));
    s = vec_mul(f, f);
    t = vec_mul(vec_mul(s, f), vec_poly(f, c, 9));
    t = vec_fma(k, vec_set(-2.12194440e-4f), vec_fma(s, vec_set(-0.5f), t));
    t = vec_fma(k, vec_set(0.693359375f), vec_add(f, t));
    t = vec_pick(vec_lt(x, vec_set(__builtin_inff())), t, x);
    t = vec_pick(vec_lt(x, vec_set(1e-45f)), vec_set(-__builtin_inff()), t);
    return vec_pick(vec_lt(x, zero), vec_set(__builtin_nanf("")), t);
}

/* log(1 + x) for x in [0, 1] */
VEC_INLINE vec vec_log1p_unit(vec x)
{
    vec u = vec_add(x, vec_set(1.0f));
    vec lost = vec_sub(x, vec_sub(u, vec_set(1.0f)));

    return vec_add(vec_log(u), vec_div(lost, u));
}

/* Beyond this, in absolute value, vec_turn has no digits left. */
#define VEC_TURN_MAX 1e5f
/* sin(x + quarters pi / 2); quarters is 0 or 1. */
VEC_INLINE vec vec_turn(vec x, float quarters)
{
    static const float cs[] = {2.718302543e-6f, -1.983933391e-4f,
                               8.333329383e-3f, -1.666666664e-1f};
    static const float cc[] = {-2.721015288e-7f, 2.479951898e-5f,
                               -1.388888375e-3f, 4.166666662e-2f};
    const vec half = vec_set(0.5f), zero = vec_set(0.0f);
    vec k = vec_round(vec_mul(x, vec_set(0.636619772f)));
    vec r = vec_fnma(k, vec_set(1.57079637f), x);
    vec s, sine, cosine, h, y;

    r = vec_fnma(k, vec_set(-4.37113883e-8f), r);
    r = vec_fnma(k, vec_set(-1.71512449e-15f), r);
    s = vec_mul(r, r);
    sine = vec_fma(vec_mul(vec_poly(s, cs, 4), s), r, r);
    cosine = vec_fma(vec_mul(vec_poly(s, cc, 4), s), s,
                     vec_fnma(s, half, vec_set(1.0f)));
    k = vec_add(k, vec_set(quarters));
    h = vec_floor(vec_mul(k, half));
    y = vec_pick(vec_lt(zero, vec_fnma(h, vec_set(2.0f), k)), cosine, sine);
    h = vec_fnma(vec_floor(vec_mul(h, half)), vec_set(2.0f), h);
    return vec_pick(vec_lt(zero, h), vec_sub(zero, y), y);
}

VEC_INLINE vec vec_cos(vec x)
{
    return vec_turn(x, 1.0f);
}

VEC_INLINE vec vec_sin(vec x)
{
    return vec_pick(vec_lt(vec_abs(x), vec_set(1e-4f)), x, vec_turn(x, 0.0f));
}

VEC_INLINE vec vec_sigmoid(vec x)
{
    vec one = vec_set(1.0f), e = vec_exp(vec_or(x, vec_set(-0.0f)));

    return vec_div(vec_pick(vec_lt(x, vec_set(0.0f)), e, one),
                   vec_add(one, e));
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

    return vec_or(vec_pick(vec_lt(a, vec_set(0.625f)), near, far), sign);
}

/* Near 0 the series, else 1 - e^p(|x|). */
VEC_INLINE vec vec_erf(vec x)
{
    static const float near[] = {8.362306789e-5f, -8.141480215e-4f,
                                 5.200989966e-3f, -2.685941348e-2f,
                                 1.128369650e-1f, -3.761263386e-1f,
                                 1.283791667e-1f};
    static const float far[] = {-2.116190634e-5f, 4.352188841e-4f,
                                -4.174643011e-3f, 2.512862457e-2f,
                                -1.082939466e-1f, -6.333346530e-1f,
                                -1.295208230e-1f, 1.758745601e-4f};
    vec a = vec_min(vec_set(4.0f), vec_abs(x)), s = vec_mul(a, a);
    vec n = vec_fma(vec_poly(s, near, 7), a, a);
    vec p = vec_sub(vec_poly(a, far, 8), a);
    vec f = vec_sub(vec_set(1.0f), vec_exp(p));

    return vec_or(vec_pick(vec_lt(a, vec_set(0.92f)), n, f),
                  vec_and(x, vec_set(-0.0f)));
}

/* x times the normal distribution, whose tail below -t is e^(-t^2/2) u P(u),
 * u = 1 / (1 + 0.35 t): small values keep their digits. */
VEC_INLINE vec vec_gelu(vec x)
{
    static const float c[] = {-2.915788571e-2f, 1.440309192e-1f,
                              -2.558390029e-1f, 1.593196938e-1f,
                              -2.321235202e-2f, 1.055525015e-1f,
                              1.198212879e-1f, 1.398635154e-1f,
                              1.396213068e-1f};
    vec t = vec_abs(x), one = vec_set(1.0f);
    vec u = vec_div(one, vec_fma(t, vec_set(0.35f), one));
    vec e = vec_exp(vec_mul(vec_mul(t, vec_set(-0.5f)), t));
    vec tail = vec_mul(vec_mul(vec_poly(u, c, 9), u), e);

    return vec_mul(x, vec_pick(vec_lt(x, vec_set(0.0f)), tail,
                               vec_sub(one, tail)));
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
