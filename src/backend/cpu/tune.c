/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * tune.c - ways of lowering a node, timed (tune=on). A site is written as a
 * small graph of the node alone, with its sizes; that text, with target, CPU
 * and threads, is the key under which times are kept, so that another model
 * with the same site need not time it. Each way is lowered, run on made-up
 * numbers in turns with the others, weights and operands out of the caches as
 * in a model, and the least median wins. A failure costs the predicted choice.
 */
#include "backend/cpu/choice.h"
#include "passes/pass.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 9         /* of samples; the first one warms up */
#define LIMIT_NS 400000000.0 /* that a way may take in all */
#define TRIALS 4         /* rounds for everybody; after them */
#define HOPELESS 3.0     /* whoever takes so many times the least is out */
#define FLUSH_MIN ((uint64_t)8 << 20)
#define FLUSH_MAX ((uint64_t)64 << 20)
#define WAYS_MAX 16

/* ---- the site as a graph ------------------------------------------------- */

static void put_list(buf *b, const char *name, const int64_t *v, uint32_t n,
                     const int64_t *more)
{
    buf_printf(b, "%s=[", name);
    for (uint32_t i = 0; i < (more != NULL ? 2 * n : n); i++)
        buf_printf(b, "%s%" PRId64, i > 0 ? "," : "",
                   i < n ? v[i] : more[i - n]);
    buf_puts(b, "]");
}

static void put_sizes(buf *b, const int64_t *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        buf_printf(b, ",%" PRId64, v[i]);
    buf_puts(b, "]");
}

static void conv_text(buf *b, const cpu_site *s)
{
    buf_printf(b, "graph @site(%%0: f32[%" PRId64 ",%" PRId64, s->batch,
               s->channels);
    put_sizes(b, s->in, s->axes);
    buf_printf(b, ") {\n  %%1 = weight \"w\" : %s[%" PRId64 ",%" PRId64,
               hull_dtype_name(s->dtype), s->columns,
               s->channels / s->groups);
    put_sizes(b, s->kernel, s->axes);
    buf_puts(b, "\n  %2 = conv %0, %1 {");
    put_list(b, "stride", s->w.stride, s->axes, NULL);
    put_list(b, ", pad", s->w.before, s->axes, s->w.after);
    put_list(b, ", dilation", s->w.dilation, s->axes, NULL);
    buf_printf(b, ", groups=%" PRId64 "}\n  return %%2\n}\n", s->groups);
}

static void product_text(buf *b, const cpu_site *s)
{
    int64_t first = s->as_stored ? s->columns : s->depth;
    bool narrow = s->dtype != HULL_F32;
    bool scaled = narrow && !dtype_is_float(s->dtype);

    buf_printf(b, "graph @site(%%0: f32[%" PRId64 ",%" PRId64 "]) {\n"
               "  %%1 = weight \"w\" : %s[%" PRId64 ",%" PRId64 "]\n",
               s->rows, s->depth, hull_dtype_name(s->dtype), first,
               s->as_stored ? s->depth : s->columns);
    if (scaled)
        buf_puts(b, "  %4 = weight \"s\" : f32[]\n"
                    "  %2 = dequantize %1, %4\n");
    else if (narrow)
        buf_puts(b, "  %2 = cast %1 {to=f32}\n");
    buf_printf(b, "  %%3 = matmul %%0, %%%d {trans_b=%s}\n  return %%3\n}\n",
               narrow ? 2 : 1, s->as_stored ? "true" : "false");
}

static void site_text(buf *b, const cpu_site *s)
{
    if (s->ask == ASK_CONV)
        conv_text(b, s);
    else
        product_text(b, s);
}

hull_status cpu_tune_key(buf *out, device *d, const cpu_site *s)
{
    const cpu_device *c = (const cpu_device *)(const void *)d;

    buf_puts(out, CPU_TUNE_FORMAT "\ntarget ");
    d->be->target(out, d);
    buf_printf(out, "\ncpu %s\nthreads %" PRIu32 "\n\n", c->has.brand,
               pool_threads(d->pool));
    site_text(out, s);
    return buf_status(out);
}

/* ---- one way, ready to run ----------------------------------------------- */

typedef struct contender {
    const cpu_choice *way;
    device *d;
    ir *m;
    program *p;
    program_plan *pl;
    stream *s;
    device_buffer *memory;
    place *params, *result, scratch;
    double node_ns;            /* of the run that goes on */
    double samples[ROUNDS], all_ns;
    uint32_t n;
    bool out;                  /* of the race */
} contender;

/* Only the products: what is around them is there either way. */
static void note_node(void *user, const device *d, const graph *g,
                      const node *n, const tensor *in, const tensor *out,
                      uint64_t begin, uint64_t end)
{
    contender *c = user;

    (void)d;
    (void)g;
    (void)in;
    (void)out;
    if (n->op == OP_gemm || n->op == OP_conv || n->op == OP_conv_nhwc ||
        n->op == OP_conv_winograd)
        c->node_ns += (double)(end - begin);
}

#define PATTERN 4096
/* The same numbers again and again, in -1 .. 1 and none of them 0. */
static hull_status read_pattern(void *user, uint64_t off, void *dst,
                                uint64_t n)
{
    hull_dtype dt = *(const hull_dtype *)user;
    uint64_t size = hull_dtype_bits(dt) / 8;

    for (uint64_t i = 0; i < n / size; i++)
        if (i < PATTERN)
            store_f64(dt, dst, i,
                      ((double)((off / size + i) * 7919 % 1000) - 499.5) /
                          500);
        else
            memcpy((char *)dst + i * size, (char *)dst + (i - PATTERN) * size,
                   size);
    return HULL_OK;
}

/* Static shapes: graphs of sites have no others. */
static hull_status shape_of(shape *out, uint64_t *n_bytes, const graph *g,
                            val v)
{
    const type *t = graph_type(g, v);
    uint64_t n = 1;

    out->rank = t->rank;
    for (uint32_t i = 0; i < t->rank; i++) {
        out->dims[i] = t->dims[i];
        if (t->dims[i] < 0 || !mul_u64(&n, n, (uint64_t)t->dims[i]))
            return fail(HULL_EINTERNAL, "a site has an open size");
    }
    return dtype_bytes(n_bytes, t->dtype, n)
               ? HULL_OK : fail(HULL_ESHAPE, "a site is too large");
}

static place take_place(uint64_t *at, uint64_t size)
{
    place p = {.off = *at, .size = size};

    *at += round_up(size > 0 ? size : 1, PLACE_ALIGN);
    return p;
}

static hull_status fill(contender *c, const graph *g, const place *params,
                        uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        hull_dtype dt = graph_type(g, g->body->params[i])->dtype;

        TRY(c->d->be->upload_from(c->s, params[i], read_pattern, &dt, false));
    }
    return HULL_OK;
}

static hull_status load(contender *c)
{
    const backend *be = c->d->be;
    const graph *g = ir_find(c->m, str_of("main"));
    uint32_t n = g->body->n_params;
    uint64_t at = 0, size, scratch;
    shape *shapes = arena_array(&c->m->a, n + 1, sizeof *shapes);
    shape result;

    c->params = arena_array(&c->m->a, n + 1, sizeof *c->params);
    if (shapes == NULL || c->params == NULL)
        return fail_oom(n * sizeof *shapes);
    TRY(be->program_load(&c->p, c->d, g));
    for (uint32_t i = 0; i < n; i++) {
        TRY(shape_of(&shapes[i], &size, g, g->body->params[i]));
        c->params[i] = take_place(&at, size);
    }
    TRY(be->program_plan(&c->pl, c->p, shapes, n, &result, &scratch));
    TRY(shape_of(&result, &size, g, g->body->results[0]));
    c->result = &c->params[n];
    *c->result = take_place(&at, size);
    c->scratch = take_place(&at, scratch);
    TRY(be->buffer_new(&c->memory, c->d, at));
    for (uint32_t i = 0; i <= n; i++)
        c->params[i].buffer = c->memory;
    c->scratch.buffer = c->memory;
    TRY(be->stream_new(&c->s, c->d));
    return fill(c, g, c->params, n);
}

static hull_status prepare(contender *c, device *d, const options *o,
                           const cpu_choice *way, str text)
{
    hull_status st = HULL_OK;
    ir *m = NULL, *key = NULL;

    c->d = d;
    c->way = way;
    TRY_OUT(ir_parse(&m, text, NULL));
    TRY_OUT(ir_parse(&key, text, NULL));
    TRY_OUT(cpu_lower_as(d, m->graphs[0], o, way));
    TRY_OUT(graph_verify(m->graphs[0]));
    TRY_OUT(split_programs(&c->m, m->graphs[0], key->graphs[0]));
    st = load(c);
out:
    ir_free(m);
    ir_free(key);
    return st;
}

static void forget(contender *c)
{
    if (c->d == NULL)
        return;
    c->d->be->plan_free(c->pl);
    c->d->be->program_free(c->p);
    c->d->be->stream_free(c->s);
    c->d->be->buffer_free(c->memory);
    ir_free(c->m);
}

/* ---- the race ------------------------------------------------------------ */

typedef struct race {
    contender c[WAYS_MAX];
    uint32_t n;
    volatile char *flush;   /* larger than the caches */
    uint64_t flush_n;
} race;

static void empty_caches(race *r)
{
    for (uint64_t i = 0; i < r->flush_n; i += 64)
        r->flush[i]++;
}

static hull_status sample(race *r, contender *c)
{
    const profiler how = {note_node, c};
    uint64_t begin = time_ns();

    c->node_ns = 0;
    empty_caches(r);
    c->d->be->stream_profile(c->s, &how);
    TRY(c->d->be->program_run(c->s, c->p, c->pl, c->params, c->result,
                              c->scratch));
    TRY(c->d->be->stream_sync(c->s));
    c->all_ns += (double)(time_ns() - begin);
    c->samples[c->n++] = c->node_ns;
    return HULL_OK;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Without the first one, unless it is alone. */
static double median(contender *c)
{
    uint32_t skip = c->n > 1;

    qsort(c->samples + skip, c->n - skip, sizeof *c->samples, by_value);
    return c->samples[skip + (c->n - skip) / 2];
}

static double least(const contender *c)
{
    double ns = c->samples[0];

    for (uint32_t i = 1; i < c->n; i++)
        ns = c->samples[i] < ns ? c->samples[i] : ns;
    return ns;
}

static void drop_hopeless(race *r)
{
    double best = least(&r->c[0]);

    for (uint32_t i = 1; i < r->n; i++)
        best = least(&r->c[i]) < best ? least(&r->c[i]) : best;
    for (uint32_t i = 0; i < r->n; i++)
        r->c[i].out = r->c[i].out || least(&r->c[i]) > HOPELESS * best;
}

static hull_status run_race(race *r, double *ns)
{
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < r->n; i++) {
            contender *c = &r->c[i];

            if (!c->out)
                TRY(sample(r, c));
            c->out = c->out || (c->all_ns > LIMIT_NS && c->n >= 3);
        }
        if (round + 1 == TRIALS)
            drop_hopeless(r);
    }
    for (uint32_t i = 0; i < r->n; i++)
        ns[i] = median(&r->c[i]);
    return HULL_OK;
}

/* Times all ways of a site: ns[i] of ways[i]. */
static hull_status time_ways(double *ns, device *d, const options *o,
                             const cpu_choice *const *ways, uint32_t n,
                             str text)
{
    const cpu_device *c = (const cpu_device *)(const void *)d;
    uint64_t size = 2 * c->has.l3;
    race *r = mem_calloc(1, sizeof *r);
    void *flush = NULL;
    hull_status st = HULL_OK;

    if (r == NULL)
        return fail_oom(sizeof *r);
    r->flush_n = size < FLUSH_MIN ? FLUSH_MIN
                 : size > FLUSH_MAX ? FLUSH_MAX : size;
    flush = mem_calloc(1, r->flush_n);
    if (flush == NULL)
        TRY_OUT(fail_oom(r->flush_n));
    r->flush = flush;
    for (; r->n < n; r->n++)
        TRY_OUT(prepare(&r->c[r->n], d, o, ways[r->n], text));
    st = run_race(r, ns);
out:
    for (uint32_t i = 0; i < WAYS_MAX; i++)
        forget(&r->c[i]);
    mem_free(flush);
    mem_free(r);
    return st;
}

/* ---- stored times -------------------------------------------------------- */

double cpu_tuned_ns(str lines, const char *name)
{
    str line, rest;
    uint64_t ns = 0;

    while (lines.n > 0) {
        line = str_split(lines, '\n', &lines);
        if (str_is(str_split(line, ' ', &rest), name) &&
            str_to_u64(&ns, rest))
            return (double)ns;
    }
    return 0;
}

/* Ways that fit, and what is known of each. */
typedef struct ways {
    const cpu_choice *c[WAYS_MAX];
    double ns[WAYS_MAX];     /* 0: not timed */
    uint32_t n, n_timed;
} ways;

static void find_ways(ways *w, const cpu_site *s, str known)
{
    *w = (ways){.n = 0};
    for (size_t i = 0; i < cpu_n_choices && w->n < WAYS_MAX; i++) {
        const cpu_choice *c = &cpu_choices[i];

        if (c->ask != s->ask || !c->fits(s))
            continue;
        w->c[w->n] = c;
        w->ns[w->n] = cpu_tuned_ns(known, c->name);
        w->n_timed += w->ns[w->n] > 0;
        w->n++;
    }
}

/* Names and times in one line, for the log. */
static void log_ways(const ways *w, str text)
{
    buf b;

    buf_init(&b, 4096);
    for (uint32_t i = 0; i < w->n; i++)
        buf_printf(&b, "%s%s %.3f ms", i > 0 ? ", " : "", w->c[i]->name,
                   w->ns[i] * 1e-6);
    log_info("tune", "%.*s: %.*s", STR_ARG(buf_view(&b)), STR_ARG(text));
    buf_fini(&b);
}

/* Times them all again, though some may be known: only times of one race can
 * be compared. */
static hull_status time_and_store(ways *w, device *d, const options *o,
                                  const notebook *notes, const cpu_site *s,
                                  str key)
{
    hull_status st = HULL_OK;
    buf text, lines;

    buf_init(&text, 65536);
    buf_init(&lines, 65536);
    site_text(&text, s);
    TRY_OUT(buf_status(&text));
    TRY_OUT(time_ways(w->ns, d, o, w->c, w->n, buf_view(&text)));
    for (uint32_t i = 0; i < w->n; i++)
        buf_printf(&lines, "%s %.0f\n", w->c[i]->name,
                   w->ns[i] < 1 ? 1 : w->ns[i]);
    TRY_OUT(buf_status(&lines));
    log_ways(w, buf_view(&text));
    notes->put(notes->user, key, buf_view(&lines));
    w->n_timed = w->n;
out:
    buf_fini(&text);
    buf_fini(&lines);
    return st;
}

static hull_status tuned(const cpu_choice **out, device *d, const options *o,
                         const notebook *notes, const cpu_site *s)
{
    hull_status st = HULL_OK;
    buf key, known;
    double best = 0;
    ways w;

    buf_init(&key, 65536);
    buf_init(&known, 65536);
    TRY_OUT(cpu_tune_key(&key, d, s));
    notes->get(notes->user, buf_view(&key), &known);
    find_ways(&w, s, buf_view(&known));
    if (w.n > 1 && w.n_timed < w.n && !notes->read_only)
        TRY_OUT(time_and_store(&w, d, o, notes, s, buf_view(&key)));
    for (uint32_t i = 0; i < w.n && w.n_timed == w.n; i++) {
        if (*out == NULL || w.ns[i] < best) {
            *out = w.c[i];
            best = w.ns[i];
        }
    }
out:
    buf_fini(&key);
    buf_fini(&known);
    return st;
}

/* Nothing to time. */
static bool is_empty(const cpu_site *s)
{
    if (s->ask == ASK_WEIGHT)
        return s->rows < 1 || s->depth < 1;
    for (uint32_t i = 0; i < s->axes; i++)
        if (s->out[i] < 1)
            return true;
    return s->batch < 1 || s->channels < 1;
}

const cpu_choice *cpu_tuned(device *d, const options *o, const notebook *notes,
                            const cpu_site *s)
{
    const cpu_choice *c = NULL;

    if (notes == NULL || is_empty(s))
        return cpu_choose(s);
    if (tuned(&c, d, o, notes, s) != HULL_OK)
        log_warn("tune", "a choice is predicted, not timed: %s", error_text());
    return c != NULL ? c : cpu_choose(s);
}
