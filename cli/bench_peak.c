/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * bench_peak.c - what the machine could do: fused multiply-adds in registers,
 * and bytes read from memory, by as many threads as a run has. One loop per
 * instruction set, the one that the cpu backend may use.
 */
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <pthread.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "cli/bench.h"

#define TRIES 5
#define FMA_STEPS 20000000
#define READ_BYTES ((size_t)256 << 20)
#define THREADS_MAX 256

/* What a loop gets: a piece of memory to read, or none. */
typedef struct work {
    const float *p;
    size_t n;             /* floats, a multiple of 64 */
    float sum;            /* keeps the compiler from leaving the loop out */
} work;
typedef void loop_fn(work *w);

/* ---- the loops ----------------------------------------------------------- */

/* Twelve sums hide the latency of four cycles at two per cycle. */
static void fma_any(work *w)
{
    float s[12] = { 0 }, a = w->sum + 0.5F, b = w->sum + 1.0F;

    for (int i = 0; i < FMA_STEPS / 8; i++)
        for (int k = 0; k < 12; k++)
            s[k] = s[k] * a + b;
    for (int k = 0; k < 12; k++)
        w->sum += s[k];
}

static void read_any(work *w)
{
    float s[16] = { 0 };

    for (size_t i = 0; i < w->n; i += 16)
        for (int k = 0; k < 16; k++)
            s[k] += w->p[i + k];
    for (int k = 0; k < 16; k++)
        w->sum += s[k];
}

#if defined(__x86_64__)
#define REPEAT_12(x) x(0) x(1) x(2) x(3) x(4) x(5) x(6) x(7) x(8) x(9) x(10) \
    x(11)

/* The same two loops for a vector of `width` floats. Sums are variables of
 * their own so that they stay in registers. The reader follows four streams. */
#define LOOPS(level, features, vec, width, op)                               \
    __attribute__((target(features))) static void fma_##level(work *w)       \
    {                                                                        \
        vec a = op##_set1_ps(w->sum + 0.5F), b = op##_set1_ps(1.0F);         \
        vec REPEAT_12(DECLARE) end = b;                                      \
        float out[width];                                                    \
                                                                             \
        REPEAT_12(COPY)                                                      \
        for (int i = 0; i < FMA_STEPS; i++) {                                \
            REPEAT_12(op##_STEP)                                             \
        }                                                                    \
        REPEAT_12(op##_ADD)                                                  \
        op##_storeu_ps(out, end);                                            \
        for (int i = 0; i < width; i++)                                      \
            w->sum += out[i];                                                \
    }                                                                        \
    __attribute__((target(features))) static void read_##level(work *w)      \
    {                                                                        \
        vec s0 = op##_set1_ps(0), s1 = s0, s2 = s0, s3 = s0;                 \
        size_t n = w->n / 4;                                                 \
        float out[width];                                                    \
                                                                             \
        for (size_t i = 0; i < n; i += width) {                              \
            s0 = op##_add_ps(s0, op##_loadu_ps(w->p + i));                   \
            s1 = op##_add_ps(s1, op##_loadu_ps(w->p + n + i));               \
            s2 = op##_add_ps(s2, op##_loadu_ps(w->p + 2 * n + i));           \
            s3 = op##_add_ps(s3, op##_loadu_ps(w->p + 3 * n + i));           \
        }                                                                    \
        s0 = op##_add_ps(op##_add_ps(s0, s1), op##_add_ps(s2, s3));          \
        op##_storeu_ps(out, s0);                                             \
        for (int i = 0; i < width; i++)                                      \
            w->sum += out[i];                                                \
    }

#define DECLARE(k) r##k,
#define COPY(k) r##k = b;
#define _mm256_STEP(k) r##k = _mm256_fmadd_ps(r##k, a, b);
#define _mm512_STEP(k) r##k = _mm512_fmadd_ps(r##k, a, b);
#define _mm256_ADD(k) end = _mm256_add_ps(end, r##k);
#define _mm512_ADD(k) end = _mm512_add_ps(end, r##k);

LOOPS(avx2, "avx2,fma", __m256, 8, _mm256)
LOOPS(avx512, "avx512f", __m512, 16, _mm512)
#endif

typedef struct loops {
    loop_fn *fma, *read;
    double flops;        /* of one call of fma */
} loops;

static const loops loops_of[CPU_LEVELS] = {
    [CPU_ANY] = { fma_any, read_any, 2.0 * 12 * (FMA_STEPS / 8) },
#if defined(__x86_64__)
    [CPU_AVX2] = { fma_avx2, read_avx2, 2.0 * 12 * 8 * FMA_STEPS },
    [CPU_AVX512] = { fma_avx512, read_avx512, 2.0 * 12 * 16 * FMA_STEPS },
#endif
};

/* ---- threads ------------------------------------------------------------- */

typedef struct worker {
    pthread_t thread;
    work w;
    loop_fn *fn;
} worker;

static void *work_through(void *user)
{
    worker *k = user;

    k->fn(&k->w);
    return NULL;
}

/* Seconds of n threads that each call fn once; starting them is nothing beside
 * the tens of milliseconds of a call. */
static hull_status time_threads(double *out, worker *ws, uint32_t n,
                                loop_fn *fn)
{
    uint64_t begin = time_ns();
    uint32_t made = 1;

    for (uint32_t i = 0; i < n; i++)
        ws[i].fn = fn;
    while (made < n && pthread_create(&ws[made].thread, NULL, work_through,
                                      &ws[made]) == 0)
        made++;
    work_through(&ws[0]);
    for (uint32_t i = 1; i < made; i++)
        pthread_join(ws[i].thread, NULL);
    *out = (double)(time_ns() - begin) * 1e-9;
    if (made < n)
        return fail(HULL_EIO, "the system gives %u threads of %u", made, n);
    return HULL_OK;
}

static hull_status best_of(double *out_seconds, worker *ws, uint32_t n,
                           loop_fn *fn)
{
    for (int i = 0; i < TRIES; i++) {
        double seconds;

        TRY(time_threads(&seconds, ws, n, fn));
        if (i == 0 || seconds < *out_seconds)
            *out_seconds = seconds;
    }
    return HULL_OK;
}

hull_status bench_peak_measure(bench_peak *out, uint32_t n)
{
    static worker ws[THREADS_MAX];
    cpu_features has;
    const loops *l;
    float *p;
    double seconds = 0;
    hull_status st = HULL_OK;

    memset(out, 0, sizeof *out);
    TRY(cpu_features_get(&has));
    l = &loops_of[has.level];
    n = n > THREADS_MAX ? THREADS_MAX : n;
    p = mem_alloc_aligned((size_t)2 << 20, READ_BYTES);
    if (p == NULL)
        return fail_oom(READ_BYTES);
    memset(p, 0, READ_BYTES);
    for (uint32_t i = 0; i < n; i++) {
        size_t piece = READ_BYTES / sizeof *p / n / 64 * 64;

        ws[i].w = (work){ .p = p + i * piece, .n = piece };
    }
    TRY_OUT(best_of(&seconds, ws, n, l->fma));
    out->gflops = l->flops * n / seconds * 1e-9;
    TRY_OUT(best_of(&seconds, ws, n, l->read));
    out->gbps = (double)(ws[0].w.n * n * sizeof *p) / seconds * 1e-9;
out:
    mem_free(p);
    return st;
}

const char *bench_isa(void)
{
    cpu_features has;

    return cpu_features_get(&has) == HULL_OK ? cpu_level_name(has.level)
                                             : "unknown";
}
