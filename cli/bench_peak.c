/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * bench_peak.c - what the machine could do: multiply-adds in registers, and
 * bytes read from each cache and from memory, by as many threads as a run has.
 * One loop per instruction set, the one that the cpu backend may use. Sums
 * start from values that a compiler cannot know to be equal: it folds equal
 * chains into one, and the peak is a multiple of the true one.
 */
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <pthread.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "cli/bench.h"

#define TRIES 5
#define STEPS 10000000
#define MEMORY_BYTES ((uint64_t)256 << 20)
#define READ_BYTES ((uint64_t)64 << 20) /* by one call of a reader, or more */
#define THREADS_MAX 256

/* What a loop gets: a piece of memory to read so often, or none. */
typedef struct work {
    const float *p;
    size_t n;             /* floats, a multiple of 64 */
    size_t times;
    float sum;            /* keeps the compiler from leaving the loop out */
} work;
typedef void loop_fn(work *w);

/* ---- the loops ----------------------------------------------------------- */

#define CHAINS 12 /* hide the latency of four cycles at two per cycle */

/* Where the chains start. */
static const volatile float starts[CHAINS] = {
    0.1F, 0.2F, 0.3F, 0.4F, 0.5F, 0.6F, 0.7F, 0.8F, 0.9F, 1.0F, 1.1F, 1.2F};

static void fma_any(work *w)
{
    float s[CHAINS], a = starts[4], b = starts[9];

    for (int k = 0; k < CHAINS; k++)
        s[k] = starts[k];
    for (int i = 0; i < STEPS / 8; i++)
        for (int k = 0; k < CHAINS; k++)
            s[k] = s[k] * a + b;
    for (int k = 0; k < CHAINS; k++)
        w->sum += s[k];
}

static void read_any(work *w)
{
    float s[16] = { 0 };

    for (size_t t = 0; t < w->times; t++)
        for (size_t i = 0; i < w->n; i += 16)
            for (int k = 0; k < 16; k++)
                s[k] += w->p[i + k];
    for (int k = 0; k < 16; k++)
        w->sum += s[k];
}

#if defined(__x86_64__)
#define REPEAT_12(x) x(0) x(1) x(2) x(3) x(4) x(5) x(6) x(7) x(8) x(9) x(10) \
    x(11)

/* Chains of one instruction; s<k> are the sums, a and b its operands. */
#define CHAIN_LOOP(name, features, vec, op, step)                            \
    __attribute__((target(features))) static void name(work *w)              \
    {                                                                        \
        vec a = op##_set1_ps(starts[4]), b = op##_set1_ps(starts[9]);        \
        vec REPEAT_12(DECLARE) end = b;                                      \
        float out[sizeof(vec) / sizeof(float)];                              \
                                                                             \
        REPEAT_12(op##_START)                                                \
        for (int i = 0; i < STEPS; i++) {                                    \
            REPEAT_12(step)                                                  \
        }                                                                    \
        REPEAT_12(op##_ADD)                                                  \
        op##_storeu_ps(out, end);                                            \
        for (size_t i = 0; i < COUNT_OF(out); i++)                           \
            w->sum += out[i];                                                \
    }
/* The reader follows four streams. */
#define READ_LOOP(name, features, vec, op)                                   \
    __attribute__((target(features))) static void name(work *w)              \
    {                                                                        \
        const size_t n = w->n / 4, width = sizeof(vec) / sizeof(float);      \
        vec s0 = op##_set1_ps(0), s1 = s0, s2 = s0, s3 = s0;                 \
        float out[sizeof(vec) / sizeof(float)];                              \
                                                                             \
        for (size_t t = 0; t < w->times; t++)                                \
            for (size_t i = 0; i < n; i += width) {                          \
                s0 = op##_add_ps(s0, op##_loadu_ps(w->p + i));               \
                s1 = op##_add_ps(s1, op##_loadu_ps(w->p + n + i));           \
                s2 = op##_add_ps(s2, op##_loadu_ps(w->p + 2 * n + i));       \
                s3 = op##_add_ps(s3, op##_loadu_ps(w->p + 3 * n + i));       \
            }                                                                \
        s0 = op##_add_ps(op##_add_ps(s0, s1), op##_add_ps(s2, s3));          \
        op##_storeu_ps(out, s0);                                             \
        for (size_t i = 0; i < width; i++)                                   \
            w->sum += out[i];                                                \
    }

#define DECLARE(k) s##k,
#define _mm256_START(k) s##k = _mm256_set1_ps(starts[k]);
#define _mm512_START(k) s##k = _mm512_set1_ps(starts[k]);
#define _mm256_ADD(k) end = _mm256_add_ps(end, s##k);
#define _mm512_ADD(k) end = _mm512_add_ps(end, s##k);
#define FMA_256(k) s##k = _mm256_fmadd_ps(s##k, a, b);
#define FMA_512(k) s##k = _mm512_fmadd_ps(s##k, a, b);
#define BF16_512(k) \
    s##k = _mm512_dpbf16_ps(s##k, (__m512bh)a, (__m512bh)b);
#define INT8_512(k)                                                      \
    s##k = _mm512_castsi512_ps(_mm512_dpbusd_epi32(                      \
        _mm512_castps_si512(s##k), _mm512_castps_si512(a),               \
        _mm512_castps_si512(b)));

/* Products of 16 bits, two of a lane at once. */
#define INT8_256(k)                                                      \
    s##k = _mm256_castsi256_ps(_mm256_add_epi32(                         \
        _mm256_madd_epi16(_mm256_castps_si256(s##k),                     \
                          _mm256_castps_si256(a)),                       \
        _mm256_castps_si256(b)));

CHAIN_LOOP(fma_avx2, "avx2,fma", __m256, _mm256, FMA_256)
CHAIN_LOOP(int8_avx2, "avx2,fma", __m256, _mm256, INT8_256)
CHAIN_LOOP(fma_avx512, "avx512f", __m512, _mm512, FMA_512)
CHAIN_LOOP(bf16_avx512, "avx512f,avx512bf16", __m512, _mm512, BF16_512)
CHAIN_LOOP(int8_avx512, "avx512f,avx512vnni", __m512, _mm512, INT8_512)
READ_LOOP(read_avx2, "avx2,fma", __m256, _mm256)
READ_LOOP(read_avx512, "avx512f", __m512, _mm512)
#endif

typedef struct loops {
    loop_fn *fma, *read;
    double flops;        /* of one call of fma */
} loops;

static const loops loops_of[CPU_LEVELS] = {
    [CPU_ANY] = { fma_any, read_any, 2.0 * CHAINS * (STEPS / 8) },
#if defined(__x86_64__)
    [CPU_AVX2] = { fma_avx2, read_avx2, 2.0 * CHAINS * 8 * STEPS },
    [CPU_AVX512] = { fma_avx512, read_avx512, 2.0 * CHAINS * 16 * STEPS },
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
 * the milliseconds of a call. */
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

/* Bytes per second from a working set of so many bytes at p, times 1e-9. */
static hull_status read_rate(double *out, worker *ws, uint32_t n,
                             loop_fn *fn, const float *p, uint64_t set)
{
    size_t piece = set / sizeof *p / n / 64 * 64;
    uint64_t n_bytes;
    double seconds = 0;

    piece = piece > 64 ? piece : 64;
    n_bytes = (uint64_t)piece * sizeof *p;
    for (uint32_t i = 0; i < n; i++)
        ws[i].w = (work){ .p = p + i * piece, .n = piece,
                          .times = (READ_BYTES + n_bytes - 1) / n_bytes };
    TRY(best_of(&seconds, ws, n, fn));
    *out = (double)(ws[0].w.times * n_bytes * n) / seconds * 1e-9;
    return HULL_OK;
}

static hull_status measure_flops(bench_peak *out, worker *ws, uint32_t n,
                                 const cpu_features *has)
{
    const loops *l = &loops_of[has->level];
    double seconds = 0;

    TRY(best_of(&seconds, ws, n, l->fma));
    out->gflops = l->flops * n / seconds * 1e-9;
    out->bf16_gflops = out->int8_gflops = out->gflops;
#if defined(__x86_64__)
    if (has->bf16) {
        TRY(best_of(&seconds, ws, n, bf16_avx512));
        out->bf16_gflops = 2 * l->flops * n / seconds * 1e-9;
    }
    if (has->vnni) {
        TRY(best_of(&seconds, ws, n, int8_avx512));
        out->int8_gflops = 4 * l->flops * n / seconds * 1e-9;
    } else if (has->level >= CPU_AVX2) {
        TRY(best_of(&seconds, ws, n, int8_avx2));
        out->int8_gflops = 2 * loops_of[CPU_AVX2].flops * n / seconds * 1e-9;
    }
#endif
    return HULL_OK;
}

hull_status bench_peak_measure(bench_peak *out, uint32_t n)
{
    static worker ws[THREADS_MAX];
    cpu_features has;
    uint64_t sizes[BENCH_LEVELS];
    loop_fn *read;
    float *p;
    hull_status st = HULL_OK;

    memset(out, 0, sizeof *out);
    TRY(cpu_features_get(&has));
    read = loops_of[has.level].read;
    n = n > THREADS_MAX ? THREADS_MAX : n;
    sizes[0] = has.l1 * n;
    sizes[1] = has.l2 * n;
    sizes[2] = has.l3;
    sizes[3] = MEMORY_BYTES;
    p = mem_alloc_aligned((size_t)2 << 20, MEMORY_BYTES);
    if (p == NULL)
        return fail_oom(MEMORY_BYTES);
    memset(p, 0, MEMORY_BYTES);
    TRY_OUT(measure_flops(out, ws, n, &has));
    for (int i = 0; i < BENCH_LEVELS; i++) {
        bool memory = i == BENCH_LEVELS - 1;
        /* Others may use the last level as well. */
        uint64_t set = memory ? sizes[i] : sizes[i] / (i == 2 ? 8 : 2);

        out->bytes[i] = memory ? UINT64_MAX : sizes[i];
        TRY_OUT(read_rate(&out->gbps[i], ws, n, read, p,
                          set < MEMORY_BYTES ? set : MEMORY_BYTES));
    }
out:
    mem_free(p);
    return st;
}

double bench_peak_ms(const bench_peak *k, double n_bytes)
{
    double ms = 0, before = 0;

    for (int i = 0; i < BENCH_LEVELS && before < n_bytes; i++) {
        double upto = (double)k->bytes[i] < n_bytes ? (double)k->bytes[i]
                                                  : n_bytes;

        if (upto <= before)
            continue; /* no larger than the level before */
        ms += (upto - before) / k->gbps[i] * 1e-6;
        before = upto;
    }
    return ms;
}

const char *bench_isa(void)
{
    cpu_features has;

    return cpu_features_get(&has) == HULL_OK ? cpu_level_name(has.level)
                                             : "unknown";
}
