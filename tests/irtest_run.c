/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * irtest_run.c - the mode `run` of irtest: each graph is compiled for every
 * backend that takes its nodes (passes of `pass=`, lower, split), both programs
 * run, and the results are compared. Rows in the text give the values:
 *   // input: %x = [1, nan, inf]      a parameter; flat, shape from its type
 *   // input: %x = [2,3] [1, ...]     the same with a shape, for symbolic types
 *   // input: %x = ["a", "b\n"]        strings, with \" \\ \n \t and \xHH
 *   // input: "w" = seed=3 min=0 max=1  random; a weight. The default of every
 *                                     parameter and weight without a row
 *   // expect: %y = [..]              one row per result, in order
 *   // error: TEXT                    the run is refused
 * Without `expect` rows the results are compared with those of ref before any
 * pass. tol=DTYPE:T: |found - wanted| <= T + T * |wanted|; 0 where not given.
 * Zeros, infinities and NaN are what they are, whatever the tolerance.
 */
#include "irtest.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "ops/box.h"
#include "ops/op.h"
#include "passes/pass.h"

#define MAX_VALUES 64

/* The values of one program's parameters or results. */
typedef struct tensors {
    tensor t[MAX_VALUES];
    uint32_t n;
} tensors;

typedef struct trial {
    run *r;
    str text;
    ir *m;
    arena a;
    tensors params, holes; /* in the order of the graph before any pass */
    const str *names;      /* of the holes */
    tensors want;
} trial;

static hull_status tensor_memory(trial *c, tensor *t)
{
    t->data = arena_alloc(&c->a, tensor_bytes(t) + 1);
    return t->data != NULL ? HULL_OK : fail_oom(1);
}

/* ---- rows ---------------------------------------------------------------- */

/* The text behind "// KIND: NAME = ", false when there is no such row; name
 * NULL: the i-th row of the kind. */
static bool find_row(str text, const char *kind, const char *name, uint32_t i,
                     str *out)
{
    char mark[16];

    snprintf(mark, sizeof(mark), "// %s: ", kind);
    while (text.n > 0) {
        str line = str_trim(next_line(&text)), set;

        if (!str_starts(line, mark))
            continue;
        line.p += strlen(mark);
        line.n -= strlen(mark);
        if (name != NULL
                ? !str_is(str_trim(str_split(line, '=', &set)), name)
                : i-- > 0)
            continue;
        str_split(line, '=', &set);
        *out = str_trim(set);
        return true;
    }
    return false;
}

/* Complex elements are two numbers. */
static hull_dtype part_dtype(hull_dtype dt)
{
    return dt == HULL_C64 ? HULL_F32 : dt == HULL_C128 ? HULL_F64 : dt;
}

static uint64_t n_parts(const tensor *t)
{
    return (uint64_t)tensor_numel(t) << (part_dtype(t->dtype) != t->dtype);
}

static hull_status put_number(tensor *t, uint64_t i, str s)
{
    hull_dtype dt = part_dtype(t->dtype);
    double f;
    int64_t k;
    uint64_t u;

    if (str_is(s, "true") || str_is(s, "false"))
        store_i64(dt, t->data, i, s.n == 4);
    else if (dtype_is_float(dt) && str_to_f64(&f, s))
        store_f64(dt, t->data, i, f);
    else if (!dtype_is_float(dt) && str_to_i64(&k, s))
        store_i64(dt, t->data, i, k);
    else if (dt == HULL_U64 && str_to_u64(&u, s))
        store_i64(dt, t->data, i, (int64_t)u);
    else
        return fail(HULL_EFORMAT, "'%.*s' is no %s", STR_ARG(s),
                    hull_dtype_name(dt));
    return HULL_OK;
}

static hull_status put_numbers(tensor *t, str list)
{
    uint64_t n = 0, wanted = n_parts(t);
    str inner = str_split(list, ']', &list);

    inner.p++;
    inner.n--;
    while (str_trim(inner).n > 0) {
        str one = str_trim(str_split(inner, ',', &inner));

        if (n == wanted)
            return fail(HULL_EFORMAT, "more than %" PRIu64 " elements",
                        wanted);
        TRY(put_number(t, n++, one));
    }
    if (n != wanted)
        return fail(HULL_EFORMAT, "%" PRIu64 " elements, wanted %" PRIu64, n,
                    wanted);
    return HULL_OK;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The text up to the closing quote, in memory of c; *row moves behind it. */
static hull_status take_text(trial *c, hull_string *out, str *row)
{
    char *to = arena_alloc(&c->a, row->n + 1);
    size_t i = 0;

    *out = (hull_string){ to, 0 };
    if (to == NULL)
        return fail_oom(row->n);
    for (; i < row->n && row->p[i] != '"'; i++) {
        char v = row->p[i];

        if (v == '\\' && i + 3 < row->n && row->p[i + 1] == 'x') {
            v = (char)(hex_digit(row->p[i + 2]) << 4 |
                       hex_digit(row->p[i + 3]));
            i += 3;
        } else if (v == '\\' && i + 1 < row->n) {
            v = row->p[++i];
            v = v == 'n' ? '\n' : v == 't' ? '\t' : v;
        }
        to[out->n++] = v;
    }
    if (i == row->n)
        return fail(HULL_EFORMAT, "a text without its end");
    row->p += i + 1;
    row->n -= i + 1;
    return HULL_OK;
}

static hull_status put_texts(trial *c, tensor *t, str row)
{
    uint64_t n = 0, wanted = (uint64_t)tensor_numel(t);
    hull_string *texts = t->data;

    for (; row.n > 0; row.p++, row.n--) {
        if (*row.p != '"')
            continue;
        row.p++;
        row.n--;
        if (n == wanted)
            return fail(HULL_EFORMAT, "more than %" PRIu64 " texts", wanted);
        TRY(take_text(c, &texts[n++], &row));
        row.p--; /* the loop steps */
        row.n++;
    }
    return n == wanted ? HULL_OK
                       : fail(HULL_EFORMAT, "%" PRIu64 " texts, wanted %"
                              PRIu64, n, wanted);
}

/* The elements of a row that begins with '['. */
static hull_status put_row(trial *c, tensor *t, str row)
{
    return t->dtype == HULL_STRING ? put_texts(c, t, row)
                                   : put_numbers(t, row);
}

static double arg_number(str args, const char *key, double def)
{
    str s = find_arg(args, key);
    double v;

    return s.n > 0 && str_to_f64(&v, s) ? v : def;
}

static void put_random(tensor *t, str args, const char *name)
{
    hull_dtype dt = part_dtype(t->dtype);
    bool is_float = dtype_is_float(dt);
    uint64_t seed = hash64(name, strlen(name));
    double min = arg_number(args, "min", is_float ? -1 : 0);
    double max = arg_number(args, "max", is_float ? 1 : 2);

    seed = (uint64_t)arg_number(args, "seed", (double)(seed >> 20));
    for (uint64_t i = 0; i < n_parts(t); i++) {
        uint64_t key[2] = { seed, i };
        double v = (double)(hash64(key, sizeof(key)) >> 11) * 0x1p-53;

        v = min + v * (max - min);
        if (is_float)
            store_f64(dt, t->data, i, v);
        else
            store_i64(dt, t->data, i, (int64_t)floor(v));
    }
}

/* A shape in front of the values, "[2,3] ..."; *row moves behind it. */
static hull_status read_shape(tensor *t, str *row)
{
    str rest, dims = str_split(*row, ']', &rest);
    uint32_t rank = 0;

    rest = str_trim(rest);
    if (!str_starts(*row, "[") || str_starts(*row, "[\"") || rest.n == 0)
        return HULL_OK;
    *row = rest;
    dims.p++;
    dims.n--;
    while (str_trim(dims).n > 0)
        if (rank >= t->rank ||
            !str_to_i64(&t->shape[rank++], str_trim(str_split(dims, ',',
                                                              &dims))))
            return fail(HULL_EFORMAT, "bad shape in a row");
    return rank == t->rank ? HULL_OK
                           : fail(HULL_EFORMAT, "a shape of another rank");
}

/* The value of a parameter or hole of type ty. */
static hull_status give(trial *c, tensors *out, const char *name,
                        const type *ty)
{
    tensor *t = &out->t[out->n];
    str row = { "", 0 };

    if (out->n == MAX_VALUES)
        return fail(HULL_EUNSUPPORTED, "more than %d values", MAX_VALUES);
    find_row(c->text, "input", name, 0, &row);
    *t = (tensor){ .dtype = ty->dtype, .rank = ty->rank };
    for (uint32_t i = 0; i < ty->rank; i++)
        t->shape[i] = ty->dims[i];
    TRY(note(read_shape(t, &row), "%s", name));
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->shape[i] < 0)
            return fail(HULL_EFORMAT, "%s needs a row with its shape", name);
    TRY(tensor_memory(c, t));
    out->n++;
    if (str_starts(row, "["))
        return note(put_row(c, t, row), "%s", name);
    if (t->dtype == HULL_STRING)
        return fail(HULL_EFORMAT, "%s needs a row with its texts", name);
    put_random(t, row, name);
    return HULL_OK;
}

static hull_status give_values(trial *c, graph *g)
{
    uint32_t n;
    char name[256];

    for (uint32_t i = 0; i < g->body->n_params; i++) {
        val v = g->body->params[i];

        snprintf(name, sizeof(name), "%%%.*s",
                 STR_ARG(graph_value(g, v)->name));
        TRY(give(c, &c->params, name, graph_type(g, v)));
    }
    c->names = graph_holes(g, &n);
    TRY(ir_status(g->m));
    for (uint32_t i = 0; i < n; i++) {
        const node *w = g->body->first;

        while (w != NULL && (w->op != OP_weight ||
                             !str_eq(attr_str(w, "name"), c->names[i])))
            w = w->next;
        if (w == NULL)
            return fail(HULL_EUNSUPPORTED, "a state");
        snprintf(name, sizeof(name), "\"%.*s\"", STR_ARG(c->names[i]));
        TRY(give(c, &c->holes, name, graph_type(g, w->out[0])));
    }
    return HULL_OK;
}

/* ---- running ------------------------------------------------------------- */

/* One program on one device. */
typedef struct launch {
    device *d;
    stream *s;
    program *p;
    program_plan *pl;
    place in[MAX_VALUES], out[MAX_VALUES], scratch;
    shape shapes[MAX_VALUES], results[MAX_VALUES];
    random_state random;
} launch;

static hull_status make_place(launch *l, place *out, uint64_t size)
{
    out->size = size;
    return l->d->be->buffer_new(&out->buffer, l->d, size > 0 ? size : 1);
}

/* A result of a run that decides sizes itself; plain tensors only. */
static hull_status take_box(trial *c, tensor *out, const box *b)
{
    const void *data = b->t.data;

    *out = b->t;
    if (b->t.dtype == HULL_NONE || hull_dtype_bits(b->t.dtype) == 0)
        return fail(HULL_EUNSUPPORTED, "a result is no plain tensor");
    TRY(tensor_memory(c, out));
    if (tensor_bytes(out) > 0)
        memcpy(out->data, data, (size_t)tensor_bytes(out));
    return HULL_OK;
}

static hull_status launch_boxes(trial *c, launch *l, tensors *out)
{
    box *none[MAX_VALUES] = { NULL }, *made[MAX_VALUES] = { NULL };
    hull_status st = l->d->be->program_run_boxes(l->s, l->p, l->shapes, l->in,
                                                 none, made, &c->a);

    for (uint32_t i = 0; i < out->n; i++) {
        if (st == HULL_OK)
            st = take_box(c, &out->t[i], made[i]);
        box_unref(made[i]);
    }
    return st;
}

static hull_status launch_run(trial *c, launch *l, const graph *g,
                              const tensors *in, tensors *out)
{
    const backend *be = l->d->be;
    uint64_t scratch = 0;

    out->n = g->body->n_results;
    if (out->n > MAX_VALUES || g->body->n_params != in->n)
        return fail(HULL_EINTERNAL, "%u parameters, %u values",
                    g->body->n_params, in->n);
    for (uint32_t i = 0; i < in->n; i++) {
        l->shapes[i].rank = in->t[i].rank;
        memcpy(l->shapes[i].dims, in->t[i].shape, sizeof(l->shapes[i].dims));
    }
    TRY(be->stream_new(&l->s, l->d));
    l->random = (random_state){ .seed = 7 };
    if (be->stream_random != NULL)
        be->stream_random(l->s, &l->random);
    TRY(be->program_load(&l->p, l->d, g));
    for (uint32_t i = 0; i < in->n; i++) {
        TRY(make_place(l, &l->in[i], tensor_bytes(&in->t[i])));
        TRY(be->upload(l->s, l->in[i], in->t[i].data));
    }
    if (graph_is_dynamic(g))
        return launch_boxes(c, l, out);
    TRY(be->program_plan(&l->pl, l->p, l->shapes, in->n, l->results,
                         &scratch));
    TRY(make_place(l, &l->scratch, scratch));
    for (uint32_t i = 0; i < out->n; i++) {
        tensor *t = &out->t[i];

        *t = (tensor){ .rank = l->results[i].rank };
        t->dtype = graph_type(g, g->body->results[i])->dtype;
        memcpy(t->shape, l->results[i].dims, sizeof(t->shape));
        TRY(tensor_memory(c, t));
        TRY(make_place(l, &l->out[i], tensor_bytes(t)));
    }
    TRY(be->program_run(l->s, l->p, l->pl, l->in, l->out, l->scratch));
    for (uint32_t i = 0; i < out->n; i++)
        TRY(be->download(l->s, out->t[i].data, l->out[i]));
    return be->stream_sync(l->s);
}

static hull_status run_graph(trial *c, device *d, const graph *g,
                             const tensors *in, tensors *out)
{
    launch *l = arena_alloc(&c->a, sizeof(*l));
    const backend *be = d->be;
    hull_status st;

    if (l == NULL)
        return fail_oom(sizeof(*l));
    l->d = d;
    st = launch_run(c, l, g, in, out);
    if (l->s != NULL && be->stream_sync(l->s) != HULL_OK && st == HULL_OK)
        st = fail(HULL_EINTERNAL, "a failure came after the run");
    be->plan_free(l->pl);
    be->program_free(l->p);
    be->stream_free(l->s);
    be->buffer_free(l->scratch.buffer);
    for (uint32_t i = 0; i < MAX_VALUES; i++) {
        be->buffer_free(l->in[i].buffer);
        be->buffer_free(l->out[i].buffer);
    }
    return st;
}

/* Both programs: holes -> slots, parameters and slots -> results. */
static hull_status run_split(trial *c, device *d, ir *two, tensors *out)
{
    tensors *slots = arena_alloc(&c->a, sizeof(*slots));
    tensors *in = arena_alloc(&c->a, sizeof(*in));

    if (slots == NULL || in == NULL)
        return fail_oom(sizeof(*in));
    TRY(note(run_graph(c, d, ir_find(two, str_of("prepare")), &c->holes,
                       slots), "prepare"));
    *in = c->params;
    for (uint32_t i = 0; i < slots->n && in->n < MAX_VALUES; i++)
        in->t[in->n++] = slots->t[i];
    return run_graph(c, d, ir_find(two, str_of("main")), in, out);
}

static hull_status run_on(trial *c, device *d, str passes, tensors *out)
{
    ir *m = NULL, *key = NULL, *two = NULL;
    hull_status st = HULL_OK;
    graph *g, *k;

    TRY_OUT(ir_new(&m));
    TRY_OUT(ir_new(&key));
    g = graph_copy(m, c->m->graphs[0], str_of("main"));
    k = graph_copy(key, c->m->graphs[0], str_of("main"));
    TRY_OUT(ir_status(m));
    TRY_OUT(ir_status(key));
    TRY_OUT(run_passes(m, passes));
    TRY_OUT(d->be->lower(d, g, NULL, NULL));
    g->insert_before = NULL;
    g->insert_in = NULL;
    graph_settle(g);
    graph_remove_dead(g);
    TRY_OUT(ir_verify(m));
    TRY_OUT(split_programs(&two, g, k));
    TRY_OUT(run_split(c, d, two, out));
out:
    ir_free(m);
    ir_free(key);
    ir_free(two);
    return st;
}

/* ---- comparing ----------------------------------------------------------- */

static double tolerance(const trial *c, hull_dtype dt)
{
    str list = find_arg(c->r->args, "tol");
    double v = 0;

    while (list.n > 0) {
        str t, one = str_split(list, ',', &list);

        if (str_is(str_split(one, ':', &t), hull_dtype_name(dt)) &&
            str_to_f64(&v, t))
            return v;
    }
    return 0;
}

static bool close_enough(double found, double wanted, double tol)
{
    if (isnan(wanted) || isnan(found))
        return isnan(wanted) && isnan(found);
    if (isinf(wanted) || isinf(found))
        return found == wanted;
    if (found == wanted)
        return found != 0 || signbit(found) == signbit(wanted);
    return fabs(found - wanted) <= tol + tol * fabs(wanted);
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool element_is(const tensor *found, const tensor *want, uint64_t i,
                       double tol, char *text, size_t size)
{
    hull_dtype dt = part_dtype(found->dtype);

    if (dt == HULL_STRING) {
        hull_string a = ((const hull_string *)found->data)[i];
        hull_string b = ((const hull_string *)want->data)[i];

        snprintf(text, size, "'%.*s', wanted '%.*s'", (int)min_size(a.n, 40),
                 a.p, (int)min_size(b.n, 40), b.p);
        return str_eq((str){ a.p, a.n }, (str){ b.p, b.n });
    }
    if (!dtype_is_float(dt)) {
        int64_t a = load_i64(dt, found->data, i);
        int64_t b = load_i64(dt, want->data, i);

        snprintf(text, size, "%" PRId64 ", wanted %" PRId64, a, b);
        return a == b;
    }
    snprintf(text, size, "%.9g, wanted %.9g", load_f64(dt, found->data, i),
             load_f64(dt, want->data, i));
    return close_enough(load_f64(dt, found->data, i),
                        load_f64(dt, want->data, i), tol);
}

static hull_status compare(const trial *c, const tensors *found,
                           const tensors *want)
{
    char text[120];

    if (found->n != want->n)
        return fail(HULL_EMISMATCH, "%u results, wanted %u", found->n,
                    want->n);
    for (uint32_t k = 0; k < found->n; k++) {
        const tensor *f = &found->t[k], *w = &want->t[k];

        if (f->dtype != w->dtype || f->rank != w->rank ||
            memcmp(f->shape, w->shape, f->rank * sizeof(f->shape[0])) != 0)
            return fail(HULL_EMISMATCH, "result %u has another shape", k);
        for (uint64_t i = 0; i < n_parts(f); i++)
            if (!element_is(f, w, i, tolerance(c, f->dtype), text,
                            sizeof(text)))
                return fail(HULL_EMISMATCH,
                            "result %u, element %" PRIu64 ": %s", k, i, text);
    }
    return HULL_OK;
}

/* The expected results; their shapes are the row's or those found. */
static hull_status read_expected(trial *c, const tensors *found)
{
    str row;

    for (c->want.n = 0; find_row(c->text, "expect", NULL, c->want.n, &row);
         c->want.n++) {
        tensor *t = &c->want.t[c->want.n];

        if (c->want.n == found->n || found->n > MAX_VALUES)
            return fail(HULL_EFORMAT, "more expect rows than results");
        *t = found->t[c->want.n];
        TRY(read_shape(t, &row));
        TRY(tensor_memory(c, t));
        TRY(note(put_row(c, t, row), "expect row %u", c->want.n));
    }
    return HULL_OK;
}

/* ---- one graph ----------------------------------------------------------- */

static bool takes(const device *d, const graph *g)
{
    if (graph_is_dynamic(g) && d->be->program_run_boxes == NULL)
        return false;
    for (const node *n = g->body->first; n != NULL; n = n->next)
        if ((op_get(n->op)->traits & OP_LEAF) == 0 &&
            d->be->why_not(d, g, n) != NULL)
            return false;
    return true;
}

static hull_status try_device(trial *c, device *d)
{
    str passes = find_arg(c->r->args, "pass"), row;
    tensors *found = arena_alloc(&c->a, sizeof(*found));

    if (found == NULL)
        return fail_oom(sizeof(*found));
    TRY(run_on(c, d, passes, found));
    if (wants_error(c->text))
        return HULL_OK;
    if (find_row(c->text, "expect", NULL, 0, &row))
        TRY(read_expected(c, found));
    return compare(c, found, &c->want);
}

/* What is refused must be refused by every backend that takes it. */
static hull_status try_backends(trial *c)
{
    hull_status refused = HULL_OK;
    str row;

    for (size_t i = 0; backend_at(i) != NULL; i++) {
        const backend *be = backend_at(i);
        device *d = NULL;
        hull_status st = HULL_OK;
        bool tried;

        TRY(be->open(&d, NULL, NULL));
        tried = strcmp(be->name, "ref") == 0 || takes(d, c->m->graphs[0]);
        if (tried)
            st = note(try_device(c, d), "%s", be->name);
        be->close(d);
        if (!wants_error(c->text))
            TRY(st);
        else if (tried && st == HULL_OK)
            return fail(HULL_EMISMATCH, "%s runs it", be->name);
        else if (tried)
            refused = st;
    }
    TRY(refused);
    if (wants_error(c->text) || find_row(c->text, "expect", NULL, 0, &row))
        return HULL_OK;
    return c->want.n > 0 ? HULL_OK : fail(HULL_EFORMAT, "nothing to compare");
}

/* What ref says before any pass. */
static hull_status run_base(trial *c)
{
    device *d = NULL;
    hull_status st;

    TRY(backend_ref.open(&d, NULL, NULL));
    st = run_on(c, d, (str){ 0 }, &c->want);
    backend_ref.close(d);
    return st;
}

static void test_graph(run *r, str text)
{
    trial *c = mem_calloc(1, sizeof(*c));
    hull_status st = HULL_OK;
    str row;

    if (c == NULL) {
        failed(r, r->line, "out of memory", "");
        return;
    }
    c->r = r;
    c->text = text;
    TRY_OUT(ir_parse(&c->m, text, NULL));
    TRY_OUT(give_values(c, c->m->graphs[0]));
    if (!wants_error(text) && !find_row(text, "expect", NULL, 0, &row))
        TRY_OUT(note(run_base(c), "before any pass"));
    TRY_OUT(try_backends(c));
out:
    expect_error(r, text, st);
    ir_free(c->m);
    arena_fini(&c->a);
    mem_free(c);
}

/* Cuts text in front of the second line that starts with "graph ". */
static str cut_graph(str *rest, uint32_t *out_lines)
{
    str all = *rest;
    bool begun = false;

    for (*out_lines = 0; rest->n > 0; ++*out_lines) {
        str before = *rest, line = next_line(rest);

        if (!str_starts(line, "graph "))
            continue;
        if (begun) {
            *rest = before;
            return (str){ all.p, (size_t)(before.p - all.p) };
        }
        begun = true;
    }
    return all;
}

void test_run(run *r, str text)
{
    buf_str(&r->blessed, text);
    while (str_trim(text).n > 0) {
        uint32_t lines;
        str one = cut_graph(&text, &lines);

        test_graph(r, one);
        r->line += lines;
    }
}
