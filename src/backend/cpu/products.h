/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * products.h - what the kernels of gemm, gemm_q4, conv_nhwc and conv_winograd
 * share at one level.
 */
#ifndef HULL_CPU_PRODUCTS_H
#define HULL_CPU_PRODUCTS_H

#include "backend/cpu/cpu.h"
#include "backend/cpu/epilogue.h"
#include "backend/cpu/micro.h"
#include "backend/cpu/quantiser.h"

/* Nanoseconds that a multiplication and addition take about. */
#define PRODUCT_NS (0.3 / VEC_LANES)

/* y [rows, columns] = act(x [rows, depth] panels + bias + residual). */
hull_status VEC_NAME(gemm_run)(eval_ctx *cx, int64_t rows, int64_t columns,
                               int64_t depth, const float *x,
                               const float *panels, float *y,
                               const epilogue *e);

/* Bytes of an element; dt is constant after inlining here and below. */
VEC_INLINE int64_t width_of(hull_dtype dt)
{
    return dt == HULL_F32 ? 4 : dt == HULL_F16 || dt == HULL_BF16 ? 2 : 1;
}

VEC_INLINE vec widen(hull_dtype dt, const char *p)
{
    if (dt == HULL_F32)
        return vec_load((const float *)(const void *)p);
    if (width_of(dt) == 1)
        return vec_load_bytes((const uint8_t *)p, dt == HULL_I8);
#if VEC_LANES == 16
    {
        __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)p);

        if (dt == HULL_F16)
            return _mm512_cvtph_ps(v);
        return _mm512_castsi512_ps(
            _mm512_slli_epi32(_mm512_cvtepu16_epi32(v), 16));
    }
#else
    {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);

        if (dt == HULL_F16)
            return _mm256_cvtph_ps(v);
        return _mm256_castsi256_ps(
            _mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
    }
#endif
}

/* The first n lanes, n < VEC_LANES; the others are 0. */
VEC_INLINE vec widen_some(hull_dtype dt, const char *p, int64_t n)
{
    char lanes[VEC_LANES * sizeof(float)] = {0};

    memcpy(lanes, p, (size_t)(n * width_of(dt)));
    return widen(dt, lanes);
}

/* y = act(x w + bias + residual) for a weight that is widened where it is
 * needed: `widen` makes panel p's rows [k0, k0 + depth) and returns what will
 * be read next. k0 is a multiple of NARROW_DEEP, depth at most that.
 * gemv_vec.h */
#define NARROW_DEEP 512
typedef const char *narrow_widen_fn(const void *user, int64_t p, int64_t k0,
                                    int64_t depth, float *to);
typedef struct narrow {
    int64_t rows, n, depth;
    const float *x;
    float *y;
    epilogue e;
    narrow_widen_fn *widen;
    const void *user;
} narrow;
hull_status VEC_NAME(narrow_run)(eval_ctx *cx, const narrow *g);

/* Into how many parts a product of few rows or a narrow one is divided. */
static inline int64_t narrow_parts(const eval_ctx *cx, int64_t rows, int64_t n,
                                   int64_t depth, int64_t units)
{
    int64_t threads = pool_threads(cx->pool);

    if ((double)rows * (double)n * (double)depth < 2e5)
        return 1;
    return threads < units ? threads : units;
}

/* y[row][column + j * apart] from sums[j], n of them. gemv_vec.h */
#define COLUMNS_MOST 4
void VEC_NAME(columns_store)(const epilogue *e, float *y, int64_t columns,
                             int64_t row, int64_t column, int64_t n,
                             int64_t apart, const float *sums);

/* By the number of rows: tiles whose rows are pointers. conv_vec.h */
extern micro_fn *const VEC_NAME(pointer_tiles)[MICRO_ROWS + 1];

#endif
