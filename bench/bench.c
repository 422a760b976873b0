/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * bench.c - what the four steps of a model's life cost on this machine:
 *
 *     hull_bench CACHE_FOLDER MODEL FIRST.safetensors SECOND.safetensors
 *
 * compile with an empty cache, compile with the engine in it, refit from one
 * checkpoint to the other, run. Least and median of the repetitions; public
 * API only. The model has one f32 input; symbolic dims are 1.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hull.h"

#define ELEMENTS_MAX (1 << 22)
#define REPEAT 201

static float input[ELEMENTS_MAX];

static void check(hull_status st)
{
    if (st == HULL_OK)
        return;
    fprintf(stderr, "hull_bench: %s\n", hull_last_error());
    exit(1);
}

static double now_ms(void)
{
    struct timespec t;

    if (clock_gettime(CLOCK_MONOTONIC, &t) != 0)
        exit(1);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void report(const char *what, double *ms, size_t n)
{
    qsort(ms, n, sizeof(*ms), by_value);
    printf("%-26s %12.3f %12.3f %8zu\n", what, ms[0], ms[n / 2], n);
}

static void bench_compile(const char *model, hull_weights *w, hull_cache *c,
                          bool empty)
{
    double ms[11];
    size_t n = sizeof(ms) / sizeof(*ms);

    for (size_t i = 0; i < n; i++) {
        hull_module *m;

        if (empty)
            check(hull_cache_clear(c));
        ms[i] = now_ms();
        check(hull_compile(&m, model, w, c, NULL));
        ms[i] = now_ms() - ms[i];
        hull_module_unref(m);
    }
    report(empty ? "compile, cache empty" : "compile, cache hit", ms, n);
}

static hull_tensor make_input(const hull_module *m, int64_t *shape)
{
    hull_tensor_info info;
    int64_t n = 1;

    check(hull_module_input(m, 0, &info));
    for (int32_t i = 0; i < info.rank; i++) {
        shape[i] = info.shape[i] < 0 ? 1 : info.shape[i];
        n *= shape[i];
    }
    if (info.dtype != HULL_F32 || n > ELEMENTS_MAX) {
        fprintf(stderr, "hull_bench: the input is %s\n", info.type_text);
        exit(1);
    }
    for (int64_t i = 0; i < n; i++)
        input[i] = (float)(i % 17) / 16.0F;
    return (hull_tensor){ .data = input, .shape = shape, .rank = info.rank,
                          .dtype = HULL_F32 };
}

static void bench_module(hull_module *m, hull_weights *const w[2])
{
    static double ms[REPEAT];
    int64_t shape[HULL_MAX_RANK];
    hull_tensor in = make_input(m, shape);
    hull_session *s;

    for (size_t i = 0; i < REPEAT; i++) {
        ms[i] = now_ms();
        check(hull_refit(m, w[i % 2], NULL, NULL));
        ms[i] = now_ms() - ms[i];
    }
    report("refit", ms, REPEAT);
    check(hull_session_new(&s, m, NULL));
    for (size_t i = 0; i < REPEAT; i++) {
        hull_tensor out = { 0 };

        ms[i] = now_ms();
        check(hull_session_run(s, &in, 1, &out, 1));
        ms[i] = now_ms() - ms[i];
    }
    report("run, one item", ms, REPEAT);
    hull_session_free(s);
}

int main(int argc, char **argv)
{
    hull_weights *w[2];
    hull_cache *cache;
    hull_module *m;

    if (argc != 5) {
        fprintf(stderr, "usage: hull_bench CACHE MODEL FIRST SECOND\n");
        return 2;
    }
    check(hull_weights_open(&w[0], argv[3]));
    check(hull_weights_open(&w[1], argv[4]));
    check(hull_cache_open(&cache, argv[1], NULL));
    printf("%-26s %12s %12s %8s\n", "milliseconds", "least", "median",
           "times");
    bench_compile(argv[2], w[0], cache, true);
    bench_compile(argv[2], w[0], cache, false);
    check(hull_compile(&m, argv[2], w[0], cache, NULL));
    bench_module(m, w);
    hull_module_unref(m);
    hull_cache_unref(cache);
    hull_weights_unref(w[0]);
    hull_weights_unref(w[1]);
    return 0;
}
