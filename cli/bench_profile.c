/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * bench_profile.c - what each kernel of a run costs. The session tells of every
 * kernel; each call is kept as an event, and the events of a node are summed up
 * afterwards: its median time, the operations and bytes that its operands and
 * results stand for, and how near that comes to the machine. One run may be
 * written as a trace that Chrome and Perfetto show.
 */
#include <inttypes.h>
#include <string.h>

#include "cli/bench.h"
#include "run/module.h"

#define EVENTS_MAX ((size_t)1 << 22)
#define ROWS_SHOWN 40

typedef struct event {
    const node *n;
    const graph *g;
    const device *d;
    uint64_t begin, end;   /* time_ns */
    double flops, bytes;
    hull_dtype dtype;      /* of the first operand */
    uint32_t order;        /* its number in its run */
} event;

/* Events of one node, summed up. */
typedef struct row {
    event first;
    double ms, calls;      /* per run */
    bool nested;           /* of a body: its owner's time has it */
} row;

typedef struct profile {
    bench *b;
    event *events;
    size_t n, cap;
    size_t last;           /* where the last run's begin */
    uint64_t run_begin;
    uint32_t n_runs;
    samples runs;
    hull_status st;
    row *rows;
    size_t n_rows;
    double ms;             /* of all rows that are not nested */
    double around;         /* ms of a run outside of nodes, mean */
    bench_peak peak;
} profile;

/* ---- operations and bytes ------------------------------------------------ */

static double numel(const tensor *t)
{
    double n = 1;

    for (uint32_t k = 0; k < t->rank; k++)
        n *= (double)t->shape[k];
    return n;
}

static double tensor_size(const tensor *t)
{
    return numel(t) * hull_dtype_bits(t->dtype) / 8;
}

static double last_dim(const tensor *t)
{
    return t->rank > 0 ? (double)t->shape[t->rank - 1] : 1;
}

static double product(const attr *a)
{
    double n = 1;

    for (uint32_t i = 0; a != NULL && i < a->u.ints.n; i++)
        n *= (double)a->u.ints.p[i];
    return n;
}

static double flops_matmul(const node *n, const tensor *in, const tensor *out)
{
    const tensor *a = &in[0];
    bool t = node_attr(n, "trans_a")->u.b;

    if (a->rank < 2)
        return 2 * numel(out) * last_dim(a);
    return 2 * numel(out) * (double)a->shape[a->rank - (t ? 2 : 1)];
}

static double flops_gemm(const node *n, const tensor *in, const tensor *out)
{
    (void)n;
    return 2 * numel(out) * last_dim(&in[0]);
}

/* Weights [out, in / groups, kernel...]. */
static double flops_conv(const node *n, const tensor *in, const tensor *out)
{
    (void)n;
    return in[1].rank > 0 && in[1].shape[0] > 0
               ? 2 * numel(out) * numel(&in[1]) / (double)in[1].shape[0] : 0;
}

/* Weights [in, out / groups, kernel...]. */
static double flops_conv_transpose(const node *n, const tensor *in,
                                   const tensor *out)
{
    (void)n;
    (void)out;
    return in[1].rank > 0 && in[1].shape[0] > 0
               ? 2 * numel(&in[0]) * numel(&in[1]) / (double)in[1].shape[0]
               : 0;
}

static double flops_conv_nhwc(const node *n, const tensor *in,
                              const tensor *out)
{
    return 2 * numel(out) * product(node_attr(n, "kernel")) *
           last_dim(&in[0]) / (double)node_attr(n, "groups")->u.i;
}

/* Panels [.., steps, tile, group] of the whole depth. */
static double flops_gemm_int(const node *n, const tensor *in,
                             const tensor *out)
{
    (void)n;
    return in[1].rank == 4
               ? 2 * numel(out) * (double)in[1].shape[1] * last_dim(&in[1])
               : 0;
}

static double flops_matmul_int(const node *n, const tensor *in,
                               const tensor *out)
{
    (void)n;
    return 2 * numel(out) * last_dim(&in[0]);
}

/* Those of the transformed tiles, which may hang over the result; an m x m one
 * has (m + 2) x (m + 2) products where the plain sum has 9 m m. */
static double flops_winograd(const node *n, const tensor *in,
                             const tensor *out)
{
    int64_t m = node_attr(n, "m")->u.i;
    double tiles = (double)out->shape[0];

    for (int i = 1; i < 3; i++)
        tiles *= (double)((out->shape[i] + m - 1) / m);
    return 2 * tiles * (double)((m + 2) * (m + 2)) * last_dim(&in[0]) *
           last_dim(out);
}

/* Scores and their product with the values, where the mask by position lets
 * them be. */
static double flops_sdpa(const node *n, const tensor *in, const tensor *out)
{
    const tensor *q = &in[0], *k = &in[1];
    double rows, keys, pairs;

    if (q->rank < 2 || k->rank < 2)
        return 0;
    rows = (double)q->shape[q->rank - 2];
    keys = (double)k->shape[k->rank - 2];
    pairs = rows * keys;
    if (node_attr(n, "causal")->u.b)
        pairs = rows <= keys ? rows * (rows + 1) / 2
                             : keys * (keys + 1) / 2 + (rows - keys) * keys;
    return rows > 0 ? 2 * (numel(q) + numel(out)) / rows * pairs : 0;
}

typedef double flops_fn(const node *n, const tensor *in, const tensor *out);

static const struct {
    op_code op;
    flops_fn *fn;
} flops_of[] = {
    { OP_matmul, flops_matmul },
    { OP_gemm, flops_gemm },
    { OP_gemm_q4, flops_gemm },
    { OP_gemm_int, flops_gemm_int },
    { OP_matmul_int, flops_matmul_int },
    { OP_conv, flops_conv },
    { OP_conv_transpose, flops_conv_transpose },
    { OP_conv_nhwc, flops_conv_nhwc },
    { OP_conv_winograd, flops_winograd },
    { OP_sdpa, flops_sdpa },
};

static double flops(const node *n, const tensor *in, const tensor *out)
{
    for (size_t i = 0; i < COUNT_OF(flops_of); i++)
        if (flops_of[i].op == n->op)
            return flops_of[i].fn(n, in, out);
    return 0;
}

/* Ops that read of their first operand no more than they write. */
static bool picks(op_code op)
{
    static const op_code ops[] = { OP_gather, OP_gather_elements,
                                   OP_gather_nd, OP_slice };

    for (size_t i = 0; i < COUNT_OF(ops); i++)
        if (ops[i] == op)
            return true;
    return false;
}

/* Bytes of operands and results. */
static double traffic(const node *n, const tensor *in, const tensor *out)
{
    double read = 0, written = 0;

    for (uint32_t i = 0; i < n->n_out; i++)
        written += tensor_size(&out[i]);
    for (uint32_t i = 0; i < n->n_in; i++) {
        double size = in[i].dtype != HULL_NONE ? tensor_size(&in[i]) : 0;

        read += i == 0 && picks(n->op) && size > written ? written : size;
    }
    return read + written;
}

/* ---- events -------------------------------------------------------------- */

static void note_event(void *user, const device *d, const graph *g,
                       const node *n, const tensor *in, const tensor *out,
                       uint64_t begin, uint64_t end)
{
    profile *p = user;
    event e = { .n = n, .g = g, .d = d, .begin = begin, .end = end,
                .dtype = n->n_in > 0 ? in[0].dtype : HULL_NONE,
                .order = (uint32_t)(p->n - p->last) };

    if (p->st == HULL_OK)
        p->st = mem_grow(&p->events, &p->cap, p->n + 1, sizeof *p->events);
    if (p->st != HULL_OK)
        return;
    e.bytes = traffic(n, in, out);
    e.flops = flops(n, in, out);
    p->events[p->n++] = e;
}

static hull_status take_events(profile *p, hull_session *s)
{
    const profiler how = { note_event, p };
    double ms, total = 0;
    hull_status st = HULL_OK;

    TRY(bench_run_once(p->b, s, &ms));
    session_profile(s, &how);
    do {
        p->last = p->n;
        p->run_begin = time_ns();
        TRY_OUT(bench_run_once(p->b, s, &ms));
        TRY_OUT(p->st);
        TRY_OUT(samples_add(&p->runs, ms));
        p->n_runs++;
        total += ms * 1e-3;
    } while ((total < p->b->c->seconds || p->n_runs < 3) &&
             p->n < EVENTS_MAX);
    samples_sort(&p->runs);
out:
    session_profile(s, NULL);
    return st;
}

static int by_node(const void *a, const void *b)
{
    const event *x = a, *y = b;

    if (x->n != y->n)
        return (uintptr_t)x->n < (uintptr_t)y->n ? -1 : 1;
    if (x->end - x->begin != y->end - y->begin)
        return x->end - x->begin < y->end - y->begin ? -1 : 1;
    return 0;
}

static int by_order(const void *a, const void *b)
{
    const row *x = a, *y = b;

    return (x->first.order > y->first.order) -
           (x->first.order < y->first.order);
}

static int by_time(const void *a, const void *b)
{
    const row *x = a, *y = b;

    return (x->ms < y->ms) - (x->ms > y->ms);
}

/* One row of n events of one node, sorted by time. Median times calls. */
static row make_row(const event *e, size_t n, uint32_t n_runs)
{
    row r = { .first = e[0], .nested = e->n->parent->owner != NULL,
              .calls = (double)n / n_runs };

    r.ms = (double)(e[n / 2].end - e[n / 2].begin) * 1e-6 * r.calls;
    for (size_t i = 1; i < n; i++)
        if (e[i].order < r.first.order)
            r.first.order = e[i].order;
    return r;
}

/* What runs took beyond their nodes. */
static double time_around(const profile *p)
{
    double ms = 0;

    for (size_t i = 0; i < p->runs.n; i++)
        ms += p->runs.ms[i];
    for (size_t i = 0; i < p->n; i++)
        if (p->events[i].n->parent->owner == NULL)
            ms -= (double)(p->events[i].end - p->events[i].begin) * 1e-6;
    return ms / p->n_runs;
}

static hull_status sum_up(profile *p)
{
    p->around = time_around(p);
    p->rows = mem_calloc(p->n + 1, sizeof *p->rows);
    if (p->rows == NULL)
        return fail_oom(p->n * sizeof *p->rows);
    qsort(p->events, p->n, sizeof *p->events, by_node);
    for (size_t i = 0, k; i < p->n; i = k) {
        row *r = &p->rows[p->n_rows++];

        for (k = i + 1; k < p->n && p->events[k].n == p->events[i].n;)
            k++;
        *r = make_row(&p->events[i], k - i, p->n_runs);
        if (!r->nested)
            p->ms += r->ms;
    }
    qsort(p->rows, p->n_rows, sizeof *p->rows, by_order);
    return HULL_OK;
}

/* ---- trace --------------------------------------------------------------- */

/* The node's name in the model, or its place in the program: "%12", or
 * "%12:f32[1,64]" with the type of its first result. */
static json_t *label_of(const event *e, bool with_type)
{
    val v = e->n->n_out > 0 ? e->n->out[0] : 0;
    json_t *o = NULL;
    buf b;

    buf_init(&b, 4096);
    if (e->n->label.n > 0)
        buf_str(&b, e->n->label);
    else
        buf_printf(&b, "%%%u", v);
    if (with_type && v != 0) {
        buf_putc(&b, ':');
        type_print(&b, e->g->m, graph_type(e->g, v));
    }
    if (buf_status(&b) == HULL_OK)
        o = json_str(buf_view(&b));
    buf_fini(&b);
    return o;
}

static hull_status add_trace(json_t *list, const profile *p, const event *e)
{
    double us = (double)(e->end - e->begin) * 1e-3;

    return answer_item(
        list, json_pack("{s:o, s:s, s:s, s:f, s:f, s:i, s:i, s:{s:s, s:f, "
                        "s:f}}", "name", label_of(e, false), "cat",
                        op_get(e->n->op)->name, "ph", "X", "ts",
                        (double)(e->begin - p->run_begin) * 1e-3, "dur", us,
                        "pid", 1, "tid", 1, "args", "kernel",
                        node_kernel_name(e->d, e->g, e->n), "gflops",
                        e->flops / (us + 1e-9) * 1e-3, "gbps",
                        e->bytes / (us + 1e-9) * 1e-3));
}

static int put_trace(const char *text, size_t n, void *user)
{
    return file_writer_put(user, text, n) == HULL_OK ? 0 : -1;
}

/* The last run: events are still in order. */
static hull_status write_trace(const profile *p, const char *path)
{
    json_t *list = json_array(), *all = NULL;
    file_writer w = { 0 };
    hull_status st = HULL_OK;

    if (list == NULL)
        return fail_oom(0);
    for (size_t i = p->last; i < p->n; i++)
        TRY_OUT(add_trace(list, p, &p->events[i]));
    all = json_pack("{s:O, s:s}", "traceEvents", list, "displayTimeUnit",
                    "ms");
    if (all == NULL)
        TRY_OUT(fail_oom(0));
    TRY_OUT(file_writer_open(&w, path));
    if (json_dump_callback(all, put_trace, &w,
                           JSON_INDENT(1) | JSON_REAL_PRECISION(6)) != 0)
        TRY_OUT(fail(HULL_EIO, "%s cannot be written", path));
    st = file_writer_commit(&w);
out:
    file_writer_abort(&w);
    json_decref(all);
    json_decref(list);
    return st;
}

/* ---- times for explain --------------------------------------------------- */

/* ns of a node; 0 when it was not run. */
static double node_ns(const profile *p, const node *n)
{
    for (size_t i = 0; i < p->n_rows; i++)
        if (p->rows[i].first.n == n)
            return p->rows[i].ms * 1e6;
    return 0;
}

static hull_status save_block(const profile *p, cache *k, const engine *e)
{
    hull_status st = HULL_OK;
    uint32_t number = 0;
    buf key, lines;

    buf_init(&key, 65536);
    buf_init(&lines, NOTES_MAX);
    TRY_OUT(engine_profile_key(&key, e));
    for (const node *n = graph_first(e->main); n != NULL;
         n = graph_next(e->main, n), number++) {
        double ns = node_ns(p, n);

        if (ns > 0)
            buf_printf(&lines, "%u %.0f\n", number, ns < 1 ? 1 : ns);
    }
    TRY_OUT(buf_status(&lines));
    if (lines.n > 0)
        cache_notes_put(k, buf_view(&key), buf_view(&lines));
out:
    buf_fini(&key);
    buf_fini(&lines);
    return st;
}

static hull_status save_times(const profile *p)
{
    const plan *pl = p->b->m->plan;
    cache *k = NULL;
    hull_status st = HULL_OK;

    TRY(open_cache(p->b->c, &k));
    if (k == NULL)
        return fail(HULL_EINVAL, "--save-profile needs a cache");
    for (uint32_t i = 0; i < pl->n_blocks; i++)
        TRY_OUT(save_block(p, k, pl->blocks[i].e));
out:
    cache_unref(k);
    return st;
}

/* ---- report -------------------------------------------------------------- */

static double peak_flops(const bench_peak *k, hull_dtype dt)
{
    return dt == HULL_BF16                   ? k->bf16_gflops
           : dt == HULL_U8 || dt == HULL_I8 ? k->int8_gflops
                                            : k->gflops;
}

/* The time that the machine would need, as a part of the time it took. */
static double roofline(const profile *p, const row *r)
{
    double ms, of_bytes;

    if (p->peak.gflops <= 0 || r->ms <= 0)
        return 0;
    ms = r->first.flops / peak_flops(&p->peak, r->first.dtype) * 1e-6;
    of_bytes = bench_peak_ms(&p->peak, r->first.bytes);
    return 100 * (ms > of_bytes ? ms : of_bytes) * r->calls / r->ms;
}

static double rate(double amount, double ms)
{
    return ms > 0 ? amount / ms * 1e-6 : 0;
}

static hull_status row_json(const profile *p, const row *r, json_t *list)
{
    const event *e = &r->first;
    json_t *o = json_pack(
        "{s:o, s:s, s:s, s:f, s:f, s:b}", "name", label_of(e, true), "op",
        op_get(e->n->op)->name, "kernel",
        node_kernel_name(e->d, e->g, e->n), "ms", r->ms, "percent",
        p->ms > 0 ? 100 * r->ms / p->ms : 0.0, "nested", r->nested);
    hull_status st = HULL_OK;

    if (o == NULL || json_array_append(list, o) != 0)
        TRY_OUT(fail_oom(0));
    if (e->flops > 0)
        TRY_OUT(answer(o, "gflops",
                       json_real(rate(e->flops * r->calls, r->ms))));
    TRY_OUT(answer(o, "gbps",
                   json_real(rate(e->bytes * r->calls, r->ms))));
    if (p->b->c->roofline)
        TRY_OUT(answer(o, "roofline_percent", json_real(roofline(p, r))));
out:
    json_decref(o);
    return st;
}

static void print_row(const profile *p, const row *r)
{
    const event *e = &r->first;
    json_t *name = label_of(e, true);

    printf("%9.3f %6.1f ", r->ms, p->ms > 0 ? 100 * r->ms / p->ms : 0.0);
    if (e->flops > 0)
        printf("%8.1f", rate(e->flops * r->calls, r->ms));
    else
        printf("%8s", "-");
    printf(" %8.1f", rate(e->bytes * r->calls, r->ms));
    if (p->b->c->roofline)
        printf(" %6.0f", roofline(p, r));
    printf("  %-16s %-20s %s%.60s\n", op_get(e->n->op)->name,
           node_kernel_name(e->d, e->g, e->n), r->nested ? "(in a body) " : "",
           name ? json_string_value(name) : "");
    json_decref(name);
}

/* The slowest first; the rest is summed up. */
static void print_rows(profile *p)
{
    double rest = 0;

    qsort(p->rows, p->n_rows, sizeof *p->rows, by_time);
    printf("profile: %.3f ms in %zu nodes, %.3f ms around them\n", p->ms,
           p->n_rows, p->around);
    printf("%9s %6s %8s %8s", "ms", "%", "GFLOP/s", "GB/s");
    if (p->b->c->roofline)
        printf(" %6s", "roof %");
    printf("  %-16s %-20s %s\n", "op", "kernel", "node");
    for (size_t i = 0; i < p->n_rows && i < ROWS_SHOWN; i++)
        print_row(p, &p->rows[i]);
    for (size_t i = ROWS_SHOWN; i < p->n_rows; i++)
        rest += p->rows[i].nested ? 0 : p->rows[i].ms;
    if (p->n_rows > ROWS_SHOWN)
        printf("%9.3f %6.1f in %zu other nodes\n", rest, 100 * rest / p->ms,
               p->n_rows - ROWS_SHOWN);
}

static json_t *peak_json(const profile *p)
{
    const bench_peak *k = &p->peak;

    return json_pack("{s:f, s:f, s:f, s:f, s:[f,f,f], s:i}", "gflops",
                     k->gflops, "bf16_gflops", k->bf16_gflops, "int8_gops",
                     k->int8_gflops, "gbps", k->gbps[BENCH_LEVELS - 1],
                     "cache_gbps", k->gbps[0], k->gbps[1], k->gbps[2],
                     "threads", (int)p->b->threads);
}

static void print_peak(const profile *p)
{
    const bench_peak *k = &p->peak;

    printf("peak of %u threads: %.1f GFLOP/s f32, %.1f bf16, %.1f int8; GB/s "
           "read from L1 %.0f, L2 %.0f, L3 %.0f, memory %.1f\n",
           p->b->threads, k->gflops, k->bf16_gflops, k->int8_gflops,
           k->gbps[0], k->gbps[1], k->gbps[2], k->gbps[3]);
}

static hull_status report(profile *p, json_t *to)
{
    const cli *c = p->b->c;
    json_t *facts = json_object(), *list = json_array();

    TRY(answer(to, "profile", facts));
    TRY(answer(facts, "nodes", list));
    TRY(answer(facts, "runs", json_integer(p->n_runs)));
    TRY(answer(facts, "run_ms", json_real(samples_at(&p->runs, 0.5))));
    TRY(answer(facts, "nodes_ms", json_real(p->ms)));
    TRY(answer(facts, "around_ms", json_real(p->around)));
    if (c->roofline)
        TRY(answer(facts, "peak", peak_json(p)));
    for (size_t i = 0; i < p->n_rows; i++)
        TRY(row_json(p, &p->rows[i], list));
    if (c->json)
        return HULL_OK;
    if (c->roofline)
        print_peak(p);
    if (c->profile || c->roofline)
        print_rows(p);
    return HULL_OK;
}

hull_status bench_profile_run(bench *b, json_t *to)
{
    profile p = { .b = b };
    hull_session *s = NULL;
    hull_status st = HULL_OK;

    if (b->c->roofline)
        TRY_OUT(bench_peak_measure(&p.peak, b->threads));
    TRY_OUT(hull_session_new(&s, b->m, b->c->options));
    TRY_OUT(take_events(&p, s));
    if (b->c->trace != NULL)
        TRY_OUT(write_trace(&p, b->c->trace));
    TRY_OUT(sum_up(&p));
    if (b->c->save_profile)
        TRY_OUT(save_times(&p));
    TRY_OUT(report(&p, to));
out:
    hull_session_free(s);
    samples_fini(&p.runs);
    mem_free(p.events);
    mem_free(p.rows);
    return st;
}
