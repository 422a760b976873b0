/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * bench.h - for the files of `hull bench` only.
 *
 *   cmd_bench.c      the command: compile, latency, refit, throughput, report
 *   bench_inputs.c   tensors for the inputs, from a file or random
 *   bench_profile.c  what each kernel of a run costs
 *   bench_peak.c     what the machine could do
 *   bench_serve.c    the same by commands on standard input, for scripts
 */
#ifndef HULL_CLI_BENCH_H
#define HULL_CLI_BENCH_H

#include "cli/cli.h"
#include "run/run.h"

/* ---- bench_inputs.c ------------------------------------------------------ */

typedef struct bench_inputs {
    tensor_file file;  /* what the views point into */
    hull_tensor *views; /* one per input */
    size_t n;
} bench_inputs;

/* From c->input, else random ones by the module's types and c->sizes: floats
 * in [-1, 1), integers 0 and 1, always the same. */
hull_status bench_inputs_make(bench_inputs *out, cli *c, hull_module *m)
    MUST_CHECK;
void bench_inputs_fini(bench_inputs *in);

/* ---- cmd_bench.c --------------------------------------------------------- */

/* Milliseconds of runs, in order; sorted by samples_sort. */
typedef struct samples {
    double *ms;
    size_t n, cap;
} samples;
hull_status samples_add(samples *s, double ms) MUST_CHECK;
void samples_sort(samples *s);
/* Of sorted samples; 0 of none. q in [0, 1]. */
double samples_at(const samples *s, double q);
void samples_fini(samples *s);

typedef struct bench {
    cli *c;
    hull_module *m;
    bench_inputs in;
    hull_tensor *outputs;  /* of the last run */
    size_t n_out;
    uint32_t threads;      /* that a run may use */
    double compile_seconds, first_seconds; /* module; session and first run */
    uint64_t rss_before, peak_before; /* bytes */
    uint64_t peak, rss_own, rss_mapped; /* after the first run */
    hull_weights *w[2];    /* the first checkpoint, that of --refit */
} bench;

hull_status bench_run_once(bench *b, hull_session *s, double *out_ms)
    MUST_CHECK;
/* Runs for that long, and at least min times. */
hull_status bench_run_for(bench *b, hull_session *s, double seconds,
                          size_t min, samples *out) MUST_CHECK;
/* Facts of the compile and the first run as JSON. */
hull_status bench_start_facts(const bench *b, json_t *to) MUST_CHECK;
/* Refits in turn to the second and the first checkpoint, each followed by one
 * memcpy of what it wrote; an object of facts. */
hull_status bench_refits(bench *b, double seconds, json_t **out) MUST_CHECK;

/* ---- bench_peak.c -------------------------------------------------------- */

/* Caches of the threads together, the last one shared, then memory. */
#define BENCH_LEVELS 4

typedef struct bench_peak {
    double gflops;       /* f32 fused multiply-adds in registers */
    double bf16_gflops, int8_gflops; /* as f32 where there is no bf16 */
    uint64_t bytes[BENCH_LEVELS];    /* that level i holds; memory: no end */
    double gbps[BENCH_LEVELS];       /* 1e9 bytes read per second from it */
} bench_peak;
/* Best of a few tries by n threads, with the instructions that the cpu backend
 * may use (HULL_CPU_ISA). */
hull_status bench_peak_measure(bench_peak *out, uint32_t n) MUST_CHECK;
/* The least time for so many bytes, if each cache held as many as fit. */
double bench_peak_ms(const bench_peak *k, double n_bytes);
const char *bench_isa(void);

/* ---- bench_profile.c ----------------------------------------------------- */

/* Runs with a profiler and reports each node; writes c->trace. */
hull_status bench_profile_run(bench *b, json_t *to) MUST_CHECK;

/* ---- bench_serve.c ------------------------------------------------------- */

hull_status bench_serve(bench *b, hull_session *s) MUST_CHECK;

#endif
