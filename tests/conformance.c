/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * conformance.c - ONNX's backend tests through the public API: every model of
 * the folders is compiled with its own weights, run on the stored inputs, and
 * its outputs compared by value, type and shape with the rule of ONNX's own
 * runner. scripts/onnx_conformance finds or unpacks the folders.
 *
 *     conformance [--bless] [--light] [--all] [--seconds N] [--only TEXT]
 *                 [--counts FILE] [--tally FILE] LIST [SET=]FOLDER...
 *
 *   LIST      the expected failures: "## REASON" and below it one name a line,
 *             SUITE/TEST, or where sets of several ages disagree
 *             SUITE/TEST@OPSET, SUITE/TEST@xDIGEST-OF-THE-MODEL. A listed test
 *             that passes fails. Names that no folder has are ignored.
 *   --bless   rewrites LIST; known names keep their reason
 *   --light   also the big models of folder light
 *   --all     prints the listed failures too
 *   --seconds tests that begin later are skipped
 *   --counts  "SET SUITE TESTS PASSING" for the named sets: what docs/support.md
 *             says. As the list is exact, those not on it pass. Another number
 *             fails; --bless rewrites the file
 *   --tally   what of the named sets runs on reference kernels: tally.h. The
 *             nets of folder light are compiled for it, and fail with any
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tally.h"

#define ATOL 1e-7
#define RTOL 1e-3
#define MAX_TENSORS 64
#define TO_SORT "to be sorted"

/* One test; name and reason live in the arena. */
typedef struct test {
    char *name, *path;
    const char *set; /* "" when its folder has none */
    int64_t opset;
    char digest[16]; /* "x" and the first digits of the model's */
    bool light, ran, ok;
} test;

/* What the models of a set, or its big ones, run on. */
typedef struct set_tally {
    char suite[64];
    tally t;
} set_tally;

/* A line of the list. */
typedef struct known {
    str name, reason;
} known;

typedef struct suite {
    arena a;
    test *tests;
    size_t n, cap;
    known *list;
    size_t n_list, cap_list;
    const char *only, *list_path, *counts_path, *tally_path;
    set_tally tallies[8];
    size_t n_tallies;
    const char *set; /* of the folder that is walked */
    bool bless, light, all;
    uint64_t deadline; /* 0 = none */
    unsigned passed, failed, skipped, expected;
} suite;

/* ---- values of .pb files ------------------------------------------------- */

/* What a declared type wraps its tensor in, from the outermost on: 's' and 'o'
 * for sequences and optionals. */
typedef struct wraps {
    char inputs[MAX_TENSORS][8], outputs[MAX_TENSORS][8];
} wraps;

typedef struct tensors {
    hull_tensor t[MAX_TENSORS];
    size_t n;
    arena a; /* all that they hold */
} tensors;

static void tensors_free(tensors *x)
{
    arena_fini(&x->a);
    x->n = 0;
}

static hull_status read_entry(hull_tensor *t, arena *a, const weights *w,
                              const weight_entry *e)
{
    *t = (hull_tensor){.rank = (int32_t)e->rank, .dtype = (int32_t)e->dtype};
    t->shape = arena_memdup(a, e->shape, sizeof e->shape);
    t->data = arena_alloc(a, e->len + 1);
    if (t->shape == NULL || t->data == NULL)
        return fail_oom(e->len);
    return weights_read(w, e, t->data);
}

/* The strings are views of b, which may go: they are copied. */
static hull_status read_text(hull_tensor *t, arena *a, bytes b)
{
    onnx_text x;
    hull_string *s;

    TRY(onnx_text_read(&x, a, b));
    s = arena_array(a, x.n + 1u, sizeof *s);
    *t = (hull_tensor){.rank = (int32_t)x.rank, .dtype = HULL_STRING,
                       .data = s};
    t->shape = arena_memdup(a, x.shape, sizeof x.shape);
    if (s == NULL || t->shape == NULL)
        return fail_oom(x.n * sizeof *s);
    for (uint32_t i = 0; i < x.n; i++) {
        s[i] = (hull_string){arena_strndup(a, x.strs[i].p, x.strs[i].n),
                             x.strs[i].n};
        if (s[i].p == NULL)
            return fail_oom(x.strs[i].n);
    }
    return HULL_OK;
}

static hull_status read_tensor(hull_tensor *t, arena *a, bytes b)
{
    weights *w = NULL;
    bool text;
    hull_status st = onnx_is_text(&text, b);

    if (st == HULL_OK && text)
        return read_text(t, a, b);
    if (st == HULL_OK)
        st = weights_new(&w, WEIGHTS_ONNX);
    if (st == HULL_OK)
        st = onnx_tensor_add(w, str_of("t"), b, -1, "", false);
    if (st == HULL_OK)
        st = read_entry(t, a, w, weights_at(w, 0));
    weights_unref(w);
    return st;
}

/* Field `number`, and the n-th of those that there are; false: no such. */
static bool field_at(bytes b, uint32_t number, uint32_t other, int64_t n,
                     pb_field *f)
{
    pb r = pb_of(b, b.p, "value");
    bool more = true;

    while (pb_next(&r, f, &more) == HULL_OK && more)
        if ((f->number == number || f->number == other) && n-- == 0)
            return true;
    return false;
}

/* TensorProto, SequenceProto (3: tensors, 5: sequences), OptionalProto (2: its
 * kind, 0 = empty). */
static hull_status read_value(hull_tensor *t, arena *a, bytes b,
                              const char *kinds)
{
    hull_tensor *items;
    int64_t *size, n = 0;
    pb_field f;

    *t = (hull_tensor){.rank = 0};
    if (*kinds == '\0')
        return read_tensor(t, a, b);
    if (*kinds == 'o' && field_at(b, 3, 5, 0, &f))
        return read_value(t, a, f.b, kinds + 1);
    if (*kinds == 'o')
        return HULL_OK;
    while (field_at(b, 3, 5, n, &f))
        n++;
    items = arena_array(a, (size_t)n + 1, sizeof *items);
    size = arena_alloc(a, sizeof *size);
    if (items == NULL || size == NULL)
        return fail_oom(sizeof *items);
    *size = n;
    *t = (hull_tensor){.rank = 1, .dtype = HULL_SEQUENCE, .data = items,
                       .shape = size};
    for (int64_t i = 0; field_at(b, 3, 5, i, &f); i++)
        TRY(read_value(&items[i], a, f.b, kinds + 1));
    return HULL_OK;
}

/* Adds the value of a file; *out_found is false when there is none. */
static hull_status add_file(tensors *out, const char *path, const char *kinds,
                            bool *out_found)
{
    char *p = NULL;
    size_t n = 0;
    hull_status st = file_read_all(&p, &n, path, SIZE_MAX / 4);

    *out_found = st == HULL_OK;
    if (st == HULL_ENOTFOUND)
        return HULL_OK;
    TRY(st);
    st = note(read_value(&out->t[out->n++], &out->a,
                         (bytes){(const uint8_t *)p, n}, kinds), "%s",
              path_base(path));
    mem_free(p);
    return st;
}

static hull_status add_files(tensors *out, const char *dir, const char *what,
                             char kinds[MAX_TENSORS][8])
{
    bool found = true;
    char path[4200];

    for (unsigned i = 0; found; i++) {
        if (i == MAX_TENSORS)
            return fail(HULL_EUNSUPPORTED, "more than %d values", MAX_TENSORS);
        snprintf(path, sizeof path, "%s/%s_%u.pb", dir, what, i);
        TRY(add_file(out, path, kinds[i], &found));
    }
    return HULL_OK;
}

/* The wraps of a ValueInfoProto (2: TypeProto; there 4: sequence, 9: optional,
 * each with a TypeProto 1). */
static void read_wraps(char out[8], bytes info)
{
    pb_field f;

    if (!field_at(info, 2, 2, 0, &f))
        return;
    for (size_t n = 0; n < 7 && field_at(f.b, 4, 9, 0, &f); n++) {
        out[n] = f.number == 4 ? 's' : 'o';
        if (!field_at(f.b, 1, 1, 0, &f))
            return;
    }
}

/* Of the model's graph (7): inputs 11, outputs 12. */
static hull_status read_signature(wraps *out, const char *path)
{
    char *p = NULL;
    size_t n = 0;
    pb_field g, f;

    memset(out, 0, sizeof *out);
    TRY(file_read_all(&p, &n, path, SIZE_MAX / 4));
    if (field_at((bytes){(const uint8_t *)p, n}, 7, 7, 0, &g)) {
        for (int64_t i = 0; i < MAX_TENSORS &&
                            field_at(g.b, 11, 11, i, &f); i++)
            read_wraps(out->inputs[i], f.b);
        for (int64_t i = 0; i < MAX_TENSORS &&
                            field_at(g.b, 12, 12, i, &f); i++)
            read_wraps(out->outputs[i], f.b);
    }
    mem_free(p);
    return HULL_OK;
}

/* ---- comparison ---------------------------------------------------------- */

static bool close_enough(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    return a == b || fabs(a - b) <= ATOL + RTOL * fabs(b);
}

static hull_status same_type(const hull_tensor *got, const hull_tensor *want,
                             size_t i, uint64_t *out_n)
{
    if (got->dtype != want->dtype || got->rank != want->rank)
        return fail(HULL_EMISMATCH, "output %zu is %s of rank %d, want %s of "
                    "rank %d", i, hull_dtype_name((hull_dtype)got->dtype),
                    got->rank, hull_dtype_name((hull_dtype)want->dtype),
                    want->rank);
    *out_n = 1;
    for (int32_t k = 0; k < want->rank; k++) {
        if (got->shape[k] != want->shape[k])
            return fail(HULL_EMISMATCH, "output %zu dim %d is %" PRId64
                        ", want %" PRId64, i, k, got->shape[k],
                        want->shape[k]);
        *out_n *= (uint64_t)want->shape[k];
    }
    return HULL_OK;
}

static hull_status same_strings(const hull_string *got,
                                const hull_string *want, uint64_t n, size_t i)
{
    for (uint64_t k = 0; k < n; k++)
        if (!str_eq((str){got[k].p, got[k].n}, (str){want[k].p, want[k].n}))
            return fail(HULL_EMISMATCH, "output %zu element %" PRIu64 " is "
                        "'%.*s', want '%.*s'", i, k, (int)got[k].n, got[k].p,
                        (int)want[k].n, want[k].p);
    return HULL_OK;
}

static hull_status same_values(const hull_tensor *got, const hull_tensor *want,
                               size_t i);

static hull_status same_items(const hull_tensor *got, const hull_tensor *want,
                              uint64_t n, size_t i)
{
    const hull_tensor *a = got->data, *b = want->data;

    for (uint64_t k = 0; k < n; k++)
        TRY(note(same_values(&a[k], &b[k], i), "item %" PRIu64, k));
    return HULL_OK;
}

static hull_status same_values(const hull_tensor *got, const hull_tensor *want,
                               size_t i)
{
    hull_dtype dt = (hull_dtype)want->dtype;
    uint64_t n = 0;

    TRY(same_type(got, want, i, &n));
    if (dt == HULL_SEQUENCE)
        return same_items(got, want, n, i);
    if (dt == HULL_STRING)
        return same_strings(got->data, want->data, n, i);
    if (dt == HULL_NONE)
        return HULL_OK;
    if (dtype_is_complex(dt)) {
        dt = dt == HULL_C64 ? HULL_F32 : HULL_F64;
        n *= 2;
    }
    for (uint64_t k = 0; k < n; k++) {
        if (dtype_is_float(dt)) {
            double a = load_f64(dt, got->data, k);
            double b = load_f64(dt, want->data, k);

            if (!close_enough(a, b))
                return fail(HULL_EMISMATCH, "output %zu element %" PRIu64
                            " is %.9g, want %.9g", i, k, a, b);
        } else if (load_i64(dt, got->data, k) != load_i64(dt, want->data, k)) {
            return fail(HULL_EMISMATCH, "output %zu element %" PRIu64 " is "
                        "%" PRId64 ", want %" PRId64, i, k,
                        load_i64(dt, got->data, k),
                        load_i64(dt, want->data, k));
        }
    }
    return HULL_OK;
}

/* ---- one test ------------------------------------------------------------ */

static hull_status run_and_compare(hull_session *s, const tensors *in,
                                   const tensors *want)
{
    hull_tensor out[MAX_TENSORS] = {0};

    TRY(hull_session_run(s, in->t, in->n, out, want->n));
    for (size_t i = 0; i < want->n; i++)
        TRY(same_values(&out[i], &want->t[i], i));
    return HULL_OK;
}

typedef hull_status info_fn(const hull_module *m, size_t i,
                            hull_tensor_info *out);

/* Sets made with onnx 1.12 and before store bf16 as u16, since numpy has no
 * such type. The bits are the same. */
static void as_declared(tensors *x, const hull_module *m, info_fn *info_of)
{
    hull_tensor_info info;

    for (size_t i = 0; i < x->n; i++)
        if (x->t[i].dtype == HULL_U16 && info_of(m, i, &info) == HULL_OK &&
            info.dtype == HULL_BF16)
            x->t[i].dtype = HULL_BF16;
}

static hull_status run_set(hull_session *s, const hull_module *m, wraps *w,
                           const char *dir)
{
    tensors in = {.n = 0}, want = {.n = 0};
    hull_status st;

    TRY_OUT(add_files(&in, dir, "input", w->inputs));
    TRY_OUT(add_files(&want, dir, "output", w->outputs));
    as_declared(&in, m, hull_module_input);
    as_declared(&want, m, hull_module_output);
    TRY_OUT(run_and_compare(s, &in, &want));
out:
    tensors_free(&in);
    tensors_free(&want);
    return st;
}

/* The models of folder light: the input is arange(n) / n. */
static hull_status run_light(hull_session *s, const hull_module *m,
                             const char *path)
{
    static const int64_t dims[4] = {1, 3, 224, 224};
    const uint64_t n = 3 * 224 * 224;
    tensors in = {.n = 0}, want = {.n = 0};
    char pb_path[4096];
    bool found = false;
    hull_status st = HULL_OK;
    float *p = mem_alloc(n * sizeof *p);

    if (p == NULL)
        return fail_oom(n * sizeof *p);
    for (uint64_t i = 0; i < n; i++)
        p[i] = (float)((double)i / (double)n);
    in.t[0] = (hull_tensor){.data = p, .shape = dims, .rank = 4,
                            .dtype = HULL_F32};
    in.n = 1;
    if (hull_module_n_inputs(m) != 1)
        TRY_OUT(fail(HULL_EFORMAT, "%zu inputs, want 1",
                     hull_module_n_inputs(m)));
    snprintf(pb_path, sizeof pb_path, "%.*s_output_0.pb", (int)strlen(path) - 5,
             path);
    TRY_OUT(add_file(&want, pb_path, "", &found));
    TRY_OUT(run_and_compare(s, &in, &want));
out:
    tensors_free(&in);
    tensors_free(&want);
    return st;
}

static bool is_folder_of_data(const char *dir)
{
    static const char *const files[] = {"input_0.pb", "output_0.pb"};
    char path[4200];

    for (size_t i = 0; i < COUNT_OF(files); i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        FILE *f = fopen(path, "rb");
        if (f != NULL) {
            fclose(f);
            return true;
        }
    }
    return false;
}

/* The data sets WHAT_0, WHAT_1 ... beside the model. */
static hull_status run_sets(hull_session *s, const hull_module *m,
                            wraps *w, const test *t, const char *what)
{
    char dir[4096];

    for (unsigned i = 0;; i++) {
        snprintf(dir, sizeof dir, "%.*s/%s_%u",
                 (int)(strlen(t->path) - strlen("/model.onnx")), t->path, what,
                 i);
        if (is_folder_of_data(dir))
            TRY(run_set(s, m, w, dir));
        else
            return i > 0 ? HULL_OK : fail(HULL_ENOTFOUND, "no %s", dir);
    }
}

static hull_status refit_from(hull_module *m, const char *path)
{
    hull_weights *w = NULL;
    hull_status st;

    TRY_OUT(hull_weights_open(&w, path));
    TRY_OUT(hull_refit(m, w, NULL, NULL));
out:
    hull_weights_unref(w);
    return st;
}

/* A file other.onnx is the model with other weights: a refit from it gives
 * what folder other_set has, a refit back the model's own. */
static hull_status run_other(hull_session *s, hull_module *m, wraps *w,
                             const test *t)
{
    char path[4096];
    FILE *f;

    snprintf(path, sizeof path, "%.*s/other.onnx",
             (int)(strlen(t->path) - strlen("/model.onnx")), t->path);
    f = fopen(path, "rb");
    if (f == NULL)
        return HULL_OK;
    fclose(f);
    TRY(refit_from(m, path));
    TRY(run_sets(s, m, w, t, "other_set"));
    TRY(refit_from(m, t->path));
    return run_sets(s, m, w, t, "test_data_set");
}

/* The tally that the test belongs to; NULL: none. */
static tally *tally_of(suite *s, const test *t)
{
    char name[64];
    size_t i = 0;

    if (s->tally_path == NULL || t->set[0] == '\0')
        return NULL;
    snprintf(name, sizeof name, "%s%s", t->set, t->light ? "_light" : "");
    while (i < s->n_tallies && strcmp(s->tallies[i].suite, name) != 0)
        i++;
    if (i == COUNT_OF(s->tallies))
        return NULL;
    if (i == s->n_tallies) {
        if (tally_begin(&s->tallies[i].t) != HULL_OK)
            return NULL;
        memcpy(s->tallies[i].suite, name, sizeof name);
        s->n_tallies++;
    }
    return &s->tallies[i].t;
}

static hull_status count_kernels(suite *s, const test *t, const module *m)
{
    tally *all = tally_of(s, t);
    uint32_t ref = 0;

    if (all == NULL)
        return HULL_OK;
    TRY(tally_add(all, m, &ref));
    if (t->light && ref > 0 && !all->off)
        return fail(HULL_EMISMATCH, "%" PRIu32 " nodes on reference kernels: "
                    "%s", ref, all->why);
    return HULL_OK;
}

static hull_status run_test(suite *all, const test *t, bool compile_only)
{
    hull_options *o = NULL;
    hull_module *m = NULL;
    hull_session *s = NULL;
    wraps *w = NULL;
    hull_status st;

    TRY_OUT(hull_options_new(&o));
    TRY_OUT(hull_options_set(o, "threads", "1"));
    TRY_OUT(hull_compile(&m, t->path, NULL, NULL, o));
    TRY_OUT(count_kernels(all, t, m));
    if (compile_only)
        goto out;
    TRY_OUT(hull_session_new(&s, m, o));
    if (t->light) {
        TRY_OUT(run_light(s, m, t->path));
        goto out;
    }
    w = mem_alloc(sizeof *w);
    if (w == NULL)
        TRY_OUT(fail_oom(sizeof *w));
    TRY_OUT(read_signature(w, t->path));
    TRY_OUT(run_sets(s, m, w, t, "test_data_set"));
    TRY_OUT(run_other(s, m, w, t));
out:
    mem_free(w);
    hull_session_free(s);
    hull_module_unref(m);
    hull_options_free(o);
    return st;
}

/* ---- the folders --------------------------------------------------------- */

/* Version of the default domain, 0 when the file does not say; and digest. */
static void read_model(test *t)
{
    char *p = NULL, hex[DIGEST_HEX_SIZE];
    size_t n = 0;
    pb_field f, g;
    bool more = true;
    digest d;

    if (file_read_all(&p, &n, t->path, SIZE_MAX / 4) != HULL_OK)
        return;
    d = digest_of(p, n);
    digest_hex(&d, hex);
    snprintf(t->digest, sizeof t->digest, "x%.8s", hex);
    pb r = pb_of((bytes){(const uint8_t *)p, n}, (const uint8_t *)p, "model");
    while (pb_next(&r, &f, &more) == HULL_OK && more) {
        str domain = {"", 0};
        int64_t v = 0;
        bool inside = true;

        if (f.number != 8 || f.wire != 2)
            continue;
        pb q = pb_of(f.b, (const uint8_t *)p, "opset");
        while (pb_next(&q, &g, &inside) == HULL_OK && inside) {
            if (g.number == 1)
                domain = pb_str(&g);
            else if (g.number == 2)
                v = (int64_t)g.u;
        }
        if (domain.n == 0)
            t->opset = v;
    }
    mem_free(p);
}

/* "SUITE/TEST" of ".../SUITE/TEST/model.onnx" and ".../light/X.onnx". */
static hull_status add_test(void *user, const char *path, const file_id *id)
{
    suite *s = user;
    str p = str_of(path);
    bool light = str_contains(p, "/light/");
    size_t end, slash;

    (void)id;
    if (!str_ends(p, light ? ".onnx" : "/model.onnx"))
        return HULL_OK;
    end = p.n - strlen(light ? ".onnx" : "/model.onnx");
    slash = end;
    for (int parts = 0; slash > 0; slash--)
        if (p.p[slash - 1] == '/' && ++parts == 2)
            break;
    TRY(mem_grow(&s->tests, &s->cap, s->n + 1, sizeof *s->tests));
    s->tests[s->n] = (test){
        .name = arena_strndup(&s->a, path + slash, end - slash),
        .path = arena_strndup(&s->a, path, p.n),
        .set = s->set,
        .light = light,
    };
    if (s->tests[s->n].name == NULL || s->tests[s->n].path == NULL)
        return fail_oom(p.n);
    read_model(&s->tests[s->n++]);
    return HULL_OK;
}

static int by_name(const void *a, const void *b)
{
    const test *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    return order != 0 ? order : strcmp(x->path, y->path);
}

/* ---- the list ------------------------------------------------------------ */

static hull_status add_known(suite *s, str name, str reason)
{
    TRY(mem_grow(&s->list, &s->cap_list, s->n_list + 1, sizeof *s->list));
    s->list[s->n_list++] = (known){name, reason};
    return HULL_OK;
}

static hull_status read_list(suite *s)
{
    char *p = NULL;
    size_t n = 0;
    str reason = str_of(TO_SORT), text;
    hull_status st = file_read_all(&p, &n, s->list_path, SIZE_MAX / 4);

    if (st == HULL_ENOTFOUND && s->bless)
        return HULL_OK;
    TRY(st);
    text.p = arena_strndup(&s->a, p, n);
    text.n = n;
    mem_free(p);
    if (text.p == NULL)
        return fail_oom(n);
    while (text.n > 0) {
        str line = str_trim(str_split(text, '\n', &text));

        if (str_starts(line, "## "))
            reason = (str){line.p + 3, line.n - 3};
        else if (line.n > 0 && line.p[0] != '#')
            TRY(add_known(s, line, reason));
    }
    return HULL_OK;
}

/* Is this the test's name, for every set or for its own? */
static bool is_name_of(str name, const test *t)
{
    str rest, plain = str_split(name, '@', &rest);
    int64_t opset = 0;

    return str_is(plain, t->name) &&
           (rest.n == 0 || str_is(rest, t->digest) ||
            (str_to_i64(&opset, rest) && opset == t->opset));
}

static known *find_known(suite *s, const test *t)
{
    for (size_t i = 0; i < s->n_list; i++)
        if (is_name_of(s->list[i].name, t))
            return &s->list[i];
    return NULL;
}

static int by_reason(const void *a, const void *b)
{
    const known *x = a, *y = b;
    int order = str_cmp(x->reason, y->reason);

    return order != 0 ? order : str_cmp(x->name, y->name);
}

/* Is there a test of this name (and opset) that passed? */
static bool passes_elsewhere(const suite *s, const test *t, bool same_opset)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->tests[i].ran && s->tests[i].ok &&
            strcmp(s->tests[i].name, t->name) == 0 &&
            (!same_opset || s->tests[i].opset == t->opset))
            return true;
    return false;
}

static bool was_run(const suite *s, str name)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->tests[i].ran && is_name_of(name, &s->tests[i]))
            return true;
    return false;
}

/* The list as this run found it; what was not run stays. */
static hull_status renew_list(suite *s)
{
    suite new = {.a = s->a, .list = NULL};
    hull_status st = HULL_OK;

    for (size_t i = 0; i < s->n_list; i++)
        if (!was_run(s, s->list[i].name))
            TRY_OUT(add_known(&new, s->list[i].name, s->list[i].reason));
    for (size_t i = 0; i < s->n; i++) {
        const test *t = &s->tests[i];
        const known *k = find_known(s, t);
        char name[512];

        if (!t->ran || t->ok)
            continue;
        snprintf(name, sizeof name, "%s", t->name);
        if (passes_elsewhere(s, t, true))
            snprintf(name, sizeof name, "%s@%s", t->name, t->digest);
        else if (passes_elsewhere(s, t, false))
            snprintf(name, sizeof name, "%s@%" PRId64, t->name, t->opset);
        char *kept = arena_strndup(&new.a, name, strlen(name));
        if (kept == NULL)
            TRY_OUT(fail_oom(strlen(name)));
        TRY_OUT(add_known(&new, str_of(kept),
                          k != NULL ? k->reason : str_of(TO_SORT)));
    }
out:
    mem_free(s->list);
    s->list = new.list;
    s->n_list = new.n_list;
    s->cap_list = new.cap_list;
    s->a = new.a;
    return st;
}

static hull_status write_list(suite *s)
{
    buf b;
    hull_status st;
    str reason = {"", 0};

    buf_init(&b, 1 << 24);
    buf_puts(&b, "# Expected failures of ONNX's backend tests, by reason; read "
                 "by tests/conformance.c.\n# scripts/onnx_conformance --bless "
                 "rewrites the names and keeps the reasons.\n");
    if (s->n_list > 0)
        qsort(s->list, s->n_list, sizeof *s->list, by_reason);
    for (size_t i = 0; i < s->n_list; i++) {
        const known *k = &s->list[i];

        if (i > 0 && str_eq(k->name, k[-1].name))
            continue;
        if (!str_eq(k->reason, reason))
            buf_printf(&b, "\n## %.*s\n", STR_ARG(k->reason));
        reason = k->reason;
        buf_printf(&b, "%.*s\n", STR_ARG(k->name));
    }
    st = buf_status(&b);
    if (st == HULL_OK)
        st = file_write_atomic(s->list_path, &(file_part){b.p, b.n}, 1);
    buf_fini(&b);
    return st;
}

/* ---- the numbers --------------------------------------------------------- */

static bool same_group(const test *a, const test *b)
{
    str rest, x = str_split(str_of(a->name), '/', &rest);
    str y = str_split(str_of(b->name), '/', &rest);

    return strcmp(a->set, b->set) == 0 && str_eq(x, y);
}

/* A line for every set and suite; the tests are sorted by name, so a suite's
 * are together. */
static void put_counts(buf *b, suite *s)
{
    buf_puts(b, "# Tests of ONNX's sets and how many of them pass; written by "
                "tests/conformance.c.\n");
    for (size_t i = 0; i < s->n; i++) {
        unsigned tests = 0, passing = 0;
        str rest, name = str_split(str_of(s->tests[i].name), '/', &rest);
        bool first = s->tests[i].set[0] != 0;

        for (size_t k = 0; first && k < i; k++)
            first = !same_group(&s->tests[k], &s->tests[i]);
        for (size_t k = i; first && k < s->n; k++) {
            if (!same_group(&s->tests[k], &s->tests[i]))
                continue;
            tests++;
            passing += find_known(s, &s->tests[k]) == NULL;
        }
        if (first)
            buf_printf(b, "%s %.*s %u %u\n", s->tests[i].set, STR_ARG(name),
                       tests, passing);
    }
}

static hull_status check_counts(suite *s)
{
    buf b;
    hull_status st;

    if (s->counts_path == NULL)
        return HULL_OK;
    buf_init(&b, 1 << 16);
    put_counts(&b, s);
    st = buf_status(&b);
    if (st == HULL_OK)
        st = lines_settle(&b, s->counts_path, s->bless, &s->failed);
    buf_fini(&b);
    return st;
}

/* Against the file, unless some tests were left out. */
static hull_status check_tallies(suite *s)
{
    hull_status st = HULL_OK;
    buf b;

    if (s->tally_path == NULL || s->only != NULL)
        return HULL_OK;
    buf_init(&b, 1 << 20);
    buf_puts(&b, TALLY_HEAD);
    for (size_t i = 0; i < s->n_tallies; i++)
        if (!s->tallies[i].t.off)
            tally_print(&b, &s->tallies[i].t, s->tallies[i].suite);
    st = lines_settle(&b, s->tally_path, s->bless, &s->failed);
    buf_fini(&b);
    return st;
}

/* ---- all of them --------------------------------------------------------- */

static void judge(suite *s, const test *t)
{
    bool ok = t->ok, listed = s->bless ? !ok : find_known(s, t) != NULL;

    if (!ok && (s->all || !listed))
        printf("%s %s@%" PRId64 ": %s\n", listed ? "expected" : "FAIL",
               t->name, t->opset, hull_last_error());
    if (ok && listed)
        printf("FAIL %s@%" PRId64 ": passes, but %s lists it\n", t->name,
               t->opset, path_base(s->list_path));
    fflush(stdout);
    s->passed += ok && !listed;
    s->expected += !ok && listed;
    s->failed += ok == listed;
}

static void run_all(suite *s)
{
    for (size_t i = 0; i < s->n; i++) {
        test *t = &s->tests[i];

        if (s->only != NULL && !str_contains(str_of(t->name), s->only))
            continue;
        if (s->deadline != 0 && time_ns() > s->deadline) {
            s->skipped++;
            s->tally_path = NULL; /* it lacks some */
            continue;
        }
        if (t->light && !s->light) {
            if (run_test(s, t, true) != HULL_OK) {
                printf("FAIL %s: %s\n", t->name, hull_last_error());
                s->failed++;
            }
            s->skipped++;
            continue;
        }
        t->ran = true;
        t->ok = run_test(s, t, false) == HULL_OK;
        judge(s, t);
    }
}

static hull_status run_suite(suite *s, int argc, char **argv)
{
    int i = 1;
    int64_t seconds = 0;

    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        if (strcmp(argv[i], "--bless") == 0)
            s->bless = true;
        else if (strcmp(argv[i], "--light") == 0)
            s->light = true;
        else if (strcmp(argv[i], "--all") == 0)
            s->all = true;
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            s->only = argv[++i];
        else if (strcmp(argv[i], "--counts") == 0 && i + 1 < argc)
            s->counts_path = argv[++i];
        else if (strcmp(argv[i], "--tally") == 0 && i + 1 < argc)
            s->tally_path = argv[++i];
        else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc &&
                 str_to_i64(&seconds, str_of(argv[i + 1])))
            i++;
        else
            return fail(HULL_EINVAL, "unknown argument '%s'", argv[i]);
    }
    if (argc - i < 2)
        return fail(HULL_EINVAL, "want LIST FOLDER...");
    s->list_path = argv[i++];
    if (seconds > 0)
        s->deadline = time_ns() + (uint64_t)seconds * UINT64_C(1000000000);
    TRY(read_list(s));
    for (; i < argc; i++) {
        str folder, set = str_split(str_of(argv[i]), '=', &folder);

        s->set = folder.n > 0 ? arena_strndup(&s->a, set.p, set.n) : "";
        if (s->set == NULL)
            return fail_oom(set.n);
        TRY(dir_walk(folder.n > 0 ? folder.p : argv[i], add_test, s));
    }
    if (s->n == 0)
        return fail(HULL_ENOTFOUND, "no model.onnx in the folders");
    qsort(s->tests, s->n, sizeof *s->tests, by_name);
    run_all(s);
    if (s->bless) {
        TRY(renew_list(s));
        TRY(write_list(s));
    }
    TRY(check_counts(s));
    return check_tallies(s);
}

int main(int argc, char **argv)
{
    suite s = {.n = 0};
    hull_status st = run_suite(&s, argc, argv);

    if (st != HULL_OK)
        printf("%s\n", hull_last_error());
    printf("%u expected failures\n", s.expected);
    printf("%u passed, %u failed, %u skipped\n", s.passed, s.failed,
           s.skipped);
    mem_free(s.tests);
    mem_free(s.list);
    arena_fini(&s.a);
    return st == HULL_OK && s.failed == 0 ? 0 : 1;
}
