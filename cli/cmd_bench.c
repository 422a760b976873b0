/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * cmd_bench.c - `hull bench`: what a module costs here. Compile to first
 * answer, latency in rounds, throughput of sessions in parallel, refits beside
 * a memcpy of what they wrote, and the peak of memory.
 */
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "cli/bench.h"
#include "run/module.h"

#define SESSIONS_MAX 64
#define COUNTS_MAX 8
#define MIN_RUNS 3

static const struct argp_option bench_options[] = {
    { "weights", KEY_WEIGHTS, "CHECKPOINT", 0, "Run with these weights", 0 },
    { "input", KEY_INPUT, "FILE", 0,
      ".npy, .npz or .safetensors; without one the inputs are random", 0 },
    { "size", KEY_SIZE, "NAME=N", 0,
      "A symbolic size of random inputs (default: what the model is tuned "
      "for, else the least); may be given several times", 0 },
    { "threads", KEY_THREADS, "N", 0, "Threads of a run: --set threads=N", 0 },
    { "rounds", KEY_ROUNDS, "N", 0, "Rounds of latency (default: 5)", 0 },
    { "seconds", KEY_SECONDS, "NUMBER", 0,
      "Seconds of each round and of each other measurement (default: 0.5)",
      0 },
    { "sessions", KEY_SESSIONS, "N,...", 0,
      "Throughput of so many sessions in parallel, one after the other", 0 },
    { "refit", KEY_REFIT, "CHECKPOINT", 0,
      "Refit to this checkpoint and back", 0 },
    { "profile", KEY_PROFILE, NULL, 0, "Time of each node", 0 },
    { "roofline", KEY_ROOFLINE, NULL, 0,
      "Measure what the machine can do, and show each node's part of it: of "
      "the multiply-adds or of the bytes, whichever takes longer", 0 },
    { "save-profile", KEY_SAVE_PROFILE, NULL, 0,
      "Keep the time of each node in the cache, where `hull explain` with the "
      "same options finds it", 0 },
    { "trace", KEY_TRACE, "FILE", 0,
      "Write the nodes of a run as a trace for Chrome or Perfetto", 0 },
    { "serve", KEY_SERVE, NULL, 0,
      "Answer commands on standard input with a line of JSON each: "
      "docs/cli.md", 0 },
    { 0 },
};

/* ---- samples ------------------------------------------------------------- */

hull_status samples_add(samples *s, double ms)
{
    TRY(mem_grow(&s->ms, &s->cap, s->n + 1, sizeof *s->ms));
    s->ms[s->n++] = ms;
    return HULL_OK;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void samples_sort(samples *s)
{
    if (s->n > 0)
        qsort(s->ms, s->n, sizeof *s->ms, by_value);
}

double samples_at(const samples *s, double q)
{
    size_t i = (size_t)(q * (double)s->n);

    if (s->n == 0)
        return 0;
    return s->ms[i < s->n ? i : s->n - 1];
}

void samples_fini(samples *s)
{
    mem_free(s->ms);
    memset(s, 0, sizeof *s);
}

/* ---- memory -------------------------------------------------------------- */

/* A line of /proc/self/status in bytes; 0 where there is none. getrusage would
 * tell the peak of the program that started this one, too. */
static uint64_t status_bytes(const char *key)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    uint64_t kib = 0;

    while (f && kib == 0 && fgets(line, sizeof line, f)) {
        str number, s = str_of(line);

        if (!str_starts(s, key))
            continue;
        str_split(s, ':', &number);
        number = str_split(str_trim(number), ' ', &(str){ 0 });
        if (!str_to_u64(&kib, number))
            break;
    }
    if (f)
        fclose(f);
    return kib * 1024;
}

/* ---- runs ---------------------------------------------------------------- */

static hull_status run_into(const bench *b, hull_session *s,
                            hull_tensor *outputs, double *out_ms)
{
    uint64_t begin;
    hull_status st;

    memset(outputs, 0, b->n_out * sizeof *outputs);
    begin = time_ns();
    st = hull_session_run(s, b->in.views, b->in.n, outputs, b->n_out);
    *out_ms = (double)(time_ns() - begin) * 1e-6;
    return st;
}

hull_status bench_run_once(bench *b, hull_session *s, double *out_ms)
{
    return run_into(b, s, b->outputs, out_ms);
}

hull_status bench_run_for(bench *b, hull_session *s, double seconds,
                          size_t min, samples *out)
{
    double ms, total = 0;

    for (size_t i = 0; i < min || total < seconds * 1e3; i++) {
        TRY(bench_run_once(b, s, &ms));
        TRY(samples_add(out, ms));
        total += ms;
    }
    return HULL_OK;
}

/* ---- compile to first answer --------------------------------------------- */

static hull_status start(bench *b, hull_session **s)
{
    uint64_t begin = time_ns(), then;
    double ms;

    b->rss_before = status_bytes("VmRSS");
    b->peak_before = status_bytes("VmHWM");
    TRY(open_module(b->c, &b->m, b->c->args[0]));
    b->compile_seconds = (double)(time_ns() - begin) * 1e-9;
    TRY(bench_inputs_make(&b->in, b->c, b->m));
    b->n_out = hull_module_n_outputs(b->m);
    b->outputs = mem_calloc(b->n_out + 1, sizeof *b->outputs);
    if (!b->outputs)
        return fail_oom(b->n_out * sizeof *b->outputs);
    then = time_ns();
    TRY(hull_session_new(s, b->m, b->c->options));
    TRY(bench_run_once(b, *s, &ms));
    b->first_seconds = (double)(time_ns() - then) * 1e-9;
    b->peak = status_bytes("VmHWM");
    b->rss_own = status_bytes("RssAnon");
    b->rss_mapped = status_bytes("RssFile");
    return HULL_OK;
}

hull_status bench_start_facts(const bench *b, json_t *to)
{
    json_t *inputs = json_array();

    TRY(answer(to, "inputs", inputs));
    for (size_t i = 0; i < b->in.n; i++) {
        hull_tensor_info info;
        const hull_tensor *t = &b->in.views[i];
        buf text;

        TRY(hull_module_input(b->m, i, &info));
        buf_init(&text, 4096);
        print_type(&text, (hull_dtype)t->dtype, (uint32_t)t->rank, t->shape);
        if (buf_status(&text) == HULL_OK)
            ignore(answer_item(inputs, json_pack(
                "{s:o, s:o}", "name", json_str(str_of(info.name)), "type",
                json_str(buf_view(&text)))));
        buf_fini(&text);
    }
    TRY(answer(to, "version", json_string(hull_version())));
    TRY(answer(to, "isa", json_string(bench_isa())));
    TRY(answer(to, "threads", json_integer(b->threads)));
    TRY(answer(to, "compile_seconds", json_real(b->compile_seconds)));
    TRY(answer(to, "first_run_seconds", json_real(b->first_seconds)));
    return answer(to, "memory", json_pack(
        "{s:I, s:I, s:I, s:I, s:I}", "before_bytes",
        (json_int_t)b->rss_before, "peak_before_bytes",
        (json_int_t)b->peak_before, "peak_bytes", (json_int_t)b->peak,
        "own_bytes", (json_int_t)b->rss_own, "mapped_bytes",
        (json_int_t)b->rss_mapped));
}

static void print_start(const bench *b)
{
    printf("compile %.3f s, first run %.3f s, peak %.1f MiB (%.1f before)\n",
           b->compile_seconds, b->first_seconds,
           (double)b->peak / 1048576, (double)b->rss_before / 1048576);
}

/* ---- latency ------------------------------------------------------------- */

static hull_status latency(bench *b, hull_session *s)
{
    const cli *c = b->c;
    json_t *facts = json_object(), *rounds = json_array();
    samples all = { 0 }, one = { 0 };
    hull_status st = HULL_OK;

    TRY_OUT(answer(c->result, "latency", facts));
    TRY_OUT(answer(facts, "round_median_ms", rounds));
    for (uint64_t i = 0; i < c->rounds; i++) {
        samples_fini(&one);
        TRY_OUT(bench_run_for(b, s, c->seconds, MIN_RUNS, &one));
        for (size_t k = 0; k < one.n; k++)
            TRY_OUT(samples_add(&all, one.ms[k]));
        samples_sort(&one);
        TRY_OUT(answer_item(rounds, json_real(samples_at(&one, 0.5))));
    }
    samples_sort(&all);
    TRY_OUT(answer(facts, "runs", json_integer((json_int_t)all.n)));
    TRY_OUT(answer(facts, "median_ms", json_real(samples_at(&all, 0.5))));
    TRY_OUT(answer(facts, "p95_ms", json_real(samples_at(&all, 0.95))));
    TRY_OUT(answer(facts, "min_ms", json_real(samples_at(&all, 0))));
    if (!c->json)
        printf("latency: median %.3f ms, p95 %.3f ms, least %.3f ms "
               "(%zu runs in %" PRIu64 " rounds)\n", samples_at(&all, 0.5),
               samples_at(&all, 0.95), samples_at(&all, 0), all.n, c->rounds);
out:
    samples_fini(&all);
    samples_fini(&one);
    return st;
}

/* ---- throughput ---------------------------------------------------------- */

/* One session with a thread of its own. */
typedef struct server {
    const bench *b;
    hull_session *s;
    hull_tensor *outputs;
    pthread_t thread;
    uint64_t end;        /* time_ns */
    uint64_t n_runs;
    hull_status st;
    char error[ERROR_TEXT_MAX];
} server;

static void *serve_runs(void *user)
{
    server *v = user;
    double ms;

    do {
        v->st = run_into(v->b, v->s, v->outputs, &ms);
        v->n_runs++;
    } while (v->st == HULL_OK && time_ns() < v->end);
    if (v->st != HULL_OK)
        snprintf(v->error, sizeof v->error, "%s", error_text());
    return NULL;
}

static hull_status new_servers(bench *b, server *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double ms;

        v[i].b = b;
        v[i].outputs = mem_calloc(b->n_out + 1, sizeof *v[i].outputs);
        if (!v[i].outputs)
            return fail_oom(b->n_out * sizeof *v[i].outputs);
        TRY(hull_session_new(&v[i].s, b->m, b->c->options));
        TRY(run_into(b, v[i].s, v[i].outputs, &ms));
    }
    return HULL_OK;
}

/* Starts n threads, waits for them, and tells the first failure. */
static hull_status run_servers(server *v, size_t n)
{
    size_t made = 0;

    while (made < n && pthread_create(&v[made].thread, NULL, serve_runs,
                                      &v[made]) == 0)
        made++;
    for (size_t i = 0; i < made; i++)
        pthread_join(v[i].thread, NULL);
    if (made < n)
        return fail(HULL_EIO, "the system gives %zu threads of %zu", made, n);
    for (size_t i = 0; i < n; i++)
        if (v[i].st != HULL_OK)
            return fail(v[i].st, "%s", v[i].error);
    return HULL_OK;
}

static hull_status throughput_of(bench *b, size_t n, json_t *list)
{
    server *v = mem_calloc(n, sizeof *v);
    uint64_t begin, runs = 0;
    double rate;
    hull_status st = HULL_OK;

    if (!v)
        return fail_oom(n * sizeof *v);
    TRY_OUT(new_servers(b, v, n));
    begin = time_ns();
    for (size_t i = 0; i < n; i++)
        v[i].end = begin + (uint64_t)(b->c->seconds * 1e9);
    TRY_OUT(run_servers(v, n));
    for (size_t i = 0; i < n; i++)
        runs += v[i].n_runs;
    rate = (double)runs * 1e9 / (double)(time_ns() - begin);
    TRY_OUT(answer_item(list, json_pack("{s:i, s:f}", "sessions", (int)n,
                                        "runs_per_second", rate)));
    if (!b->c->json)
        printf("throughput: %zu sessions, %.2f runs/s\n", n, rate);
out:
    for (size_t i = 0; i < n; i++) {
        hull_session_free(v[i].s);
        mem_free(v[i].outputs);
    }
    mem_free(v);
    return st;
}

static hull_status throughput(bench *b)
{
    json_t *list = json_array();
    str rest = str_of(b->c->sessions), word;

    TRY(answer(b->c->result, "throughput", list));
    for (int i = 0; rest.n > 0 && i < COUNTS_MAX; i++) {
        uint64_t n = 0;

        word = str_split(rest, ',', &rest);
        if (!str_to_u64(&n, word) || n == 0 || n > SESSIONS_MAX) {
            b->c->usage = true;
            return fail(HULL_EINVAL, "--sessions %s, want counts from 1 to %d",
                        b->c->sessions, SESSIONS_MAX);
        }
        TRY(throughput_of(b, (size_t)n, list));
    }
    return HULL_OK;
}

/* ---- refit --------------------------------------------------------------- */

/* Two pieces of memory as large as what a refit writes. */
typedef struct copy {
    char *from, *to;
    uint64_t n;
} copy;

static hull_status copy_init(copy *k, uint64_t n)
{
    if (k->n >= n)
        return HULL_OK;
    mem_free(k->from);
    mem_free(k->to);
    *k = (copy){ .n = n };
    k->from = mem_alloc_aligned((size_t)2 << 20, n);
    k->to = mem_alloc_aligned((size_t)2 << 20, n);
    if (!k->from || !k->to)
        return fail_oom(n);
    memset(k->from, 1, n);
    memset(k->to, 2, n);
    return HULL_OK;
}

static double copy_ms(const copy *k, uint64_t n)
{
    uint64_t begin = time_ns();

    if (n > 0)
        memcpy(k->to, k->from, n);
    return (double)(time_ns() - begin) * 1e-6;
}

static hull_status open_weights(bench *b)
{
    const cli *c = b->c;

    if (b->w[1])
        return HULL_OK;
    TRY(hull_weights_open(&b->w[1], c->refit));
    return hull_weights_open(&b->w[0], c->weights ? c->weights : c->args[0]);
}

/* What the refits of a measurement took. */
typedef struct refit_times {
    samples ms, copies, publish_us;
    double first_ms;
} refit_times;

static hull_status refit_once(bench *b, copy *k, size_t i, refit_times *t,
                              hull_refit_report *r)
{
    uint64_t begin = time_ns();

    memset(r, 0, sizeof *r);
    TRY(hull_refit(b->m, b->w[(i + 1) % 2], b->c->options, r));
    TRY(samples_add(&t->ms, (double)(time_ns() - begin) * 1e-6));
    TRY(samples_add(&t->publish_us, r->publish_seconds * 1e6));
    TRY(copy_init(k, r->bytes_written));
    return samples_add(&t->copies, copy_ms(k, r->bytes_written));
}

static json_t *refit_json(const refit_times *t, const hull_refit_report *r)
{
    const samples *ms = &t->ms;
    double median = samples_at(ms, 0.5), copied = samples_at(&t->copies, 0.5);
    uint64_t slots = r->slots_borrowed + r->slots_copied + r->slots_computed +
                     r->slots_shared + r->slots_streamed;

    return json_pack(
        "{s:I, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, "
        "s:f, s:f, s:f}",
        "refits", (json_int_t)(ms->n + 1), "first_ms", t->first_ms, "median_ms",
        median, "min_ms", samples_at(ms, 0), "p95_ms", samples_at(ms, 0.95),
        "bytes_read", (json_int_t)r->bytes_read, "bytes_written",
        (json_int_t)r->bytes_written, "slots", (json_int_t)slots,
        "slots_borrowed", (json_int_t)r->slots_borrowed, "slots_copied",
        (json_int_t)r->slots_copied, "slots_computed",
        (json_int_t)r->slots_computed, "gigabytes_per_second",
        median > 0 ? (double)r->bytes_read / median * 1e-6 : 0.0,
        "memcpy_ms", copied, "memcpy_ratio",
        copied > 0 ? median / copied : 0.0, "publish_us",
        samples_at(&t->publish_us, 0.5), "publish_most_us",
        samples_at(&t->publish_us, 1));
}

/* The first two touch memory that is new, with spare=on the last time. */
#define WARM_UP 2

hull_status bench_refits(bench *b, double seconds, json_t **out)
{
    refit_times t = { 0 };
    hull_refit_report r;
    copy k = { 0 };
    uint64_t begin;
    hull_status st = HULL_OK;

    *out = NULL;
    TRY(open_weights(b));
    for (size_t i = 0; i < WARM_UP; i++)
        TRY_OUT(refit_once(b, &k, i, &t, &r));
    t.first_ms = t.ms.ms[0];
    t.ms.n = t.copies.n = t.publish_us.n = 0;
    begin = time_ns();
    for (size_t i = WARM_UP; i < 2 * MIN_RUNS + WARM_UP || i % 2 == 1 ||
                       (double)(time_ns() - begin) < seconds * 1e9; i++)
        TRY_OUT(refit_once(b, &k, i, &t, &r));
    samples_sort(&t.ms);
    samples_sort(&t.copies);
    samples_sort(&t.publish_us);
    *out = refit_json(&t, &r);
    if (!*out)
        st = fail_oom(0);
out:
    samples_fini(&t.ms);
    samples_fini(&t.copies);
    samples_fini(&t.publish_us);
    mem_free(k.from);
    mem_free(k.to);
    return st;
}

static double number_of(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

static hull_status refits(bench *b)
{
    json_t *o;

    TRY(bench_refits(b, b->c->seconds, &o));
    TRY(answer(b->c->result, "refit", o));
    if (!b->c->json)
        printf("refit: median %.3f ms, least %.3f ms, first %.3f ms, %.1f "
               "GB/s; published in %.1f us (most: %.1f); %.0f of %.0f slots "
               "borrowed; memcpy of what it wrote %.3f ms\n",
               number_of(o, "median_ms"), number_of(o, "min_ms"),
               number_of(o, "first_ms"), number_of(o, "gigabytes_per_second"),
               number_of(o, "publish_us"), number_of(o, "publish_most_us"),
               number_of(o, "slots_borrowed"), number_of(o, "slots"),
               number_of(o, "memcpy_ms"));
    return HULL_OK;
}

/* ---- the command --------------------------------------------------------- */

static hull_status measure(bench *b, hull_session *s)
{
    const cli *c = b->c;

    TRY(bench_start_facts(b, c->result));
    if (!c->json)
        print_start(b);
    TRY(latency(b, s));
    if (c->sessions)
        TRY(throughput(b));
    if (c->profile || c->roofline || c->trace || c->save_profile)
        TRY(bench_profile_run(b, c->result));
    return c->refit ? refits(b) : HULL_OK;
}

static hull_status run_bench(cli *c)
{
    bench b = { .c = c };
    hull_session *s = NULL;
    hull_status st = HULL_OK;

    TRY_OUT(start(&b, &s));
    b.threads = pool_threads(b.m->devices.pool);
    st = c->serve ? bench_serve(&b, s) : measure(&b, s);
out:
    hull_session_free(s);
    hull_module_unref(b.m);
    hull_weights_unref(b.w[0]);
    hull_weights_unref(b.w[1]);
    bench_inputs_fini(&b.in);
    mem_free(b.outputs);
    return st;
}

const command command_bench = {
    .name = "bench", .arguments = "MODULE|MODEL",
    .summary = "measure what a module costs on this machine",
    .doc = "Compiles a model, or loads a module, and measures it: the time to "
           "the first answer and the peak of memory until then, the latency "
           "of runs, and what the options ask for. Inputs come from FILE by "
           "the names of `hull run`, or are random.\v"
           "Times are medians unless they say otherwise. Other work on the "
           "machine shows in them; repeat before you believe a difference of "
           "a few percent. With --json the report is one object. With "
           "--set tune=on the first compile also times the ways that there "
           "are for convolutions and products. docs/cli.md says what each "
           "measurement is.\n\n"
           "  hull bench model.onnx --threads 2 --sessions 1,2,4\n"
           "  hull bench model.onnx --roofline --trace run.json\n"
           "  hull bench model.hull --refit epoch2.safetensors\n"
           "  hull bench model.onnx --save-profile; hull explain model.onnx"
           "\n\n" EXIT_DOC,
    .options = bench_options,
    .shared = SHARED_SET | SHARED_CACHE | SHARED_NAMES,
    .min_args = 1, .max_args = 1, .run = run_bench,
};
