/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_direct.c - direct mode of the cache. Whatever the folder holds, a compile
 * through it must give what one without it gives: the same answers, bit for bit,
 * the same description and the same file. Counters tell which way it went.
 */
#include "unit.h"

#include <dirent.h>
#include <ftw.h>
#include <sys/stat.h>

#include "../fixture_io.h"
#include "onnx_maker.h"
#include "cache/cache.h"
#include "compile/compile.h"

#define stop(...)                  \
    do {                           \
        print_error(__VA_ARGS__);  \
        print_error("\n");         \
        _fail(__FILE__, __LINE__); \
    } while (0)

#define OK(e)                                 \
    do {                                      \
        if ((e) != HULL_OK)                   \
            stop("%s: %s", #e, error_text()); \
    } while (0)

/* ---- a folder, in memory where that is possible: nothing is synced there -- */

static char folder[64];

static const char *at(const char *name)
{
    static char text[8][256];
    static unsigned turn;
    char *p = text[turn++ % 8];

    snprintf(p, sizeof text[0], "%s/%s", folder, name);
    return p;
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/dev/shm/hull-direct-XXXXXX");
    if (mkdtemp(folder) != NULL)
        return 0;
    snprintf(folder, sizeof folder, "/tmp/hull-direct-XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *s, int kind,
                      struct FTW *f)
{
    (void)s;
    (void)kind;
    (void)f;
    return remove(path);
}

static int remove_folder(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Without entries in memory: what lies in the folder counts. */
static cache *open_cache(void)
{
    hull_options *o;
    cache *c;

    OK(hull_options_new(&o));
    OK(hull_options_set(o, "cache_memory", "0"));
    OK(cache_open(&c, at("cache"), o));
    hull_options_free(o);
    return c;
}

static uint64_t stat_of(cache *c, const char *name)
{
    uint64_t v;

    OK(hull_cache_stat(c, name, &v));
    return v;
}

static void spill(const char *path, const void *p, size_t n)
{
    file_part part = {p, n};

    OK(file_write_atomic(path, &part, 1));
}

static buf slurp(const char *path)
{
    size_t n;
    char *p;
    buf b;

    OK(file_read_all(&p, &n, path, (size_t)1 << 28));
    b = (buf){.p = p, .n = n, .cap = n + 1, .max = SIZE_MAX};
    return b;
}

/* ---- one model, in variants ---------------------------------------------- */

enum { FLOAT = 1, INT64 = 7, BOOL = 9 };

typedef struct variant {
    int64_t width;    /* Reshape to [-1, width]: a literal */
    float weight;     /* of the product */
    float bias;       /* in the branch of an If */
    float alpha;      /* an attribute */
    int64_t row;      /* in a table that is a kept constant */
    const char *name; /* of the weight */
} variant;

#define ROWS 70 /* more than an import looks at */

static buf branch(const char *name, float first)
{
    float v[6] = {first, 1, 2, 3, 4, 5};
    int64_t six = 6;
    buf g = new_buf();

    put_node(&g, "Add", "p b", name, NULL);
    put_text(&g, 2, name);
    put_stored(&g, "b", FLOAT, &six, 1, v, sizeof v);
    put_value(&g, 12, name, FLOAT, (const int64_t[]){-1, 6}, 2);
    return g;
}

/* x[N,4] -> reshape -> product -> leaky relu -> an If that adds; and a table of
 * rows of the weight. */
static void write_model(const char *path, const variant *v)
{
    const int64_t to[2] = {-1, v->width}, wd[2] = {v->width, 6}, rows = ROWS;
    maker m = maker_new(17);
    float w[24];
    int64_t table[ROWS];
    buf attrs = new_buf(), yes = branch("yes", v->bias),
        no = branch("no", -v->bias);
    char in[64];

    for (int i = 0; i < 24; i++)
        w[i] = v->weight + (float)i * 0.25f;
    for (int i = 0; i < ROWS; i++)
        table[i] = i % 2;
    table[3] = v->row;
    put_value(&m.graph, 11, "x", FLOAT, (const int64_t[]){-1, 4}, 2);
    put_value(&m.graph, 11, "c", BOOL, NULL, 0);
    put_value(&m.graph, 12, "y", FLOAT, (const int64_t[]){-1, 6}, 2);
    put_value(&m.graph, 12, "t", FLOAT, (const int64_t[]){ROWS, 6}, 2);
    put_i64s(&m.graph, "shape", to, 2);
    put_stored(&m.graph, v->name, FLOAT, wd, 2, w,
               (size_t)v->width * 6 * sizeof *w);
    put_stored(&m.graph, "table", INT64, &rows, 1, table, sizeof table);
    put_node(&m.graph, "Reshape", "x shape", "r", NULL);
    snprintf(in, sizeof in, "r %s", v->name);
    put_node(&m.graph, "MatMul", in, "q", NULL);
    attr_float_put(&attrs, "alpha", v->alpha);
    put_node(&m.graph, "LeakyRelu", "q", "p", &attrs);
    attrs = new_buf();
    attr_graph_put(&attrs, "then_branch", &yes);
    attr_graph_put(&attrs, "else_branch", &no);
    put_node(&m.graph, "If", "c", "y", &attrs);
    snprintf(in, sizeof in, "%s table", v->name);
    put_node(&m.graph, "Gather", in, "t", NULL);
    put_message(&m.model, 7, &m.graph);
    spill(path, m.model.p, m.model.n);
    buf_fini(&m.model);
}

static const variant usual = {4, 1.0f, 0.5f, 0.1f, 1, "w"};

/* ---- compile and compare ------------------------------------------------- */

typedef struct outcome {
    hull_status st;
    hull_module *m;
    buf file;      /* saved with its prepared slots */
    char *facts;   /* without times, and without what the cache did */
    bool direct;
    uint64_t read; /* bytes of files */
} outcome;

static void outcome_fini(outcome *x)
{
    hull_module_unref(x->m);
    buf_fini(&x->file);
    hull_free(x->facts);
}

/* Cuts `"key":...,` out of a JSON text. */
static void cut(char *text, const char *key)
{
    char *p, *end;

    while ((p = strstr(text, key)) != NULL) {
        end = p + strcspn(p, ",}");
        end += *end == ',';
        memmove(p, end, strlen(end) + 1);
    }
}

static outcome compile(const char *path, hull_weights *w, cache *c,
                       const hull_options *o)
{
    static const char *const passing[] = {
        "\"hit\":", "\"cache\":", "\"direct\":", "\"build_seconds\":",
        "\"import_seconds\":", "\"compile_seconds\":",
    };
    outcome x = {.m = NULL};
    uint64_t before = file_bytes_read();

    x.st = hull_compile(&x.m, path, w, c, o);
    x.read = file_bytes_read() - before;
    if (x.st != HULL_OK)
        return x;
    OK(hull_module_describe(&x.facts, x.m));
    x.direct = strstr(x.facts, "\"direct\":true") != NULL;
    for (size_t i = 0; i < COUNT_OF(passing); i++)
        cut(x.facts, passing[i]);
    OK(hull_module_save(x.m, at("saved.hull"),
                        option_on(o, OPT_strip_weights) ? 0
                                                        : HULL_SAVE_PREPARED));
    x.file = slurp(at("saved.hull"));
    return x;
}

/* Runs the model of write_model. */
static void run(float y[12], float t[ROWS * 6], hull_module *m)
{
    static float x[8] = {1, -2, 3, -4, 5, 6, -7, 8};
    static bool yes = true;
    const int64_t dims[2] = {2, 4};
    hull_tensor in[2] = {{.data = x, .shape = dims, .rank = 2,
                          .dtype = HULL_F32},
                         {.data = &yes, .dtype = HULL_BOOL}};
    hull_tensor out[2] = {{0}};
    hull_session *s;

    OK(hull_session_new(&s, m, NULL));
    OK(hull_session_run(s, in, 2, out, 2));
    memcpy(y, out[0].data, 12 * sizeof *y);
    memcpy(t, out[1].data, ROWS * 6 * sizeof *t);
    hull_session_free(s);
}

static void same(const outcome *a, const outcome *b, const char *what)
{
    if (a->st != b->st)
        stop("%s: status %d, without a cache %d", what, a->st, b->st);
    if (a->st != HULL_OK)
        return;
    if (strcmp(a->facts, b->facts) != 0)
        stop("%s: described as %s, without a cache %s", what, a->facts,
             b->facts);
    if (a->file.n != b->file.n ||
        memcmp(a->file.p, b->file.p, a->file.n) != 0)
        stop("%s: another module file", what);
}

/* Compiles through the cache and past it; both must agree. The engines of both
 * come from the folder, so that files can be compared. */
static bool direct_or_not(const char *path, hull_weights *w, cache *c,
                          const char *key, const char *to, const char *what)
{
    hull_options *o, *off;
    outcome a, b;
    bool hit;

    OK(hull_options_new(&o));
    if (key != NULL)
        OK(hull_options_set(o, key, to));
    OK(options_copy(&off, o));
    OK(hull_options_set(off, "cache_direct", "off"));
    a = compile(path, w, c, o);
    b = compile(path, w, c, off);
    same(&a, &b, what);
    assert_false(b.direct);
    hit = a.direct;
    outcome_fini(&a);
    outcome_fini(&b);
    options_free(o);
    options_free(off);
    return hit;
}

/* The same for a variant, which is run too. */
static bool try_variant(cache *c, const variant *v, const char *what)
{
    float y[2][12], t[2][ROWS * 6];
    bool hit;
    outcome a, b;

    write_model(at("model.onnx"), v);
    hit = direct_or_not(at("model.onnx"), NULL, c, NULL, NULL, what);
    a = compile(at("model.onnx"), NULL, c, NULL);
    b = compile(at("model.onnx"), NULL, NULL, NULL);
    assert_int_equal(a.st, HULL_OK);
    assert_true(a.direct); /* by now */
    run(y[0], t[0], a.m);
    run(y[1], t[1], b.m);
    if (memcmp(y[0], y[1], sizeof y[0]) != 0 ||
        memcmp(t[0], t[1], sizeof t[0]) != 0)
        stop("%s: another answer", what);
    outcome_fini(&a);
    outcome_fini(&b);
    return hit;
}

/* ---- what hits and what misses ------------------------------------------- */

static void test_variants(void **state)
{
    cache *c = open_cache();
    variant v = usual;

    (void)state;
    assert_false(try_variant(c, &v, "first"));
    assert_int_equal(stat_of(c, "direct_misses"), 1);
    assert_int_equal(stat_of(c, "direct_hits"), 1);
    assert_true(try_variant(c, &v, "second"));
    v.weight = 2;
    assert_true(try_variant(c, &v, "another weight"));
    v.row = 0;
    assert_true(try_variant(c, &v, "another kept constant"));
    v = usual;
    v.bias = 0.75f; /* tensors of branches are part of the skeleton */
    assert_false(try_variant(c, &v, "another weight in a branch"));
    v = usual;
    v.alpha = 0.2f;
    assert_false(try_variant(c, &v, "another attribute"));
    v = usual;
    v.name = "v";
    assert_false(try_variant(c, &v, "another name"));
    assert_true(try_variant(c, &usual, "as before"));
    assert_int_equal(stat_of(c, "corrupt"), 0);
    cache_unref(c);
}

/* A value that became structure: same size, another program. */
static void test_literal(void **state)
{
    cache *c = open_cache();
    buf b;
    uint8_t *at_shape;
    int64_t wide[2] = {-1, 4}, tall[2] = {0, 4};

    (void)state;
    assert_false(try_variant(c, &usual, "first"));
    b = slurp(at("model.onnx"));
    at_shape = memmem(b.p, b.n, wide, sizeof wide);
    assert_non_null(at_shape);
    memcpy(at_shape, tall, sizeof tall);
    spill(at("other.onnx"), b.p, b.n);
    assert_false(direct_or_not(at("other.onnx"), NULL, c, NULL, NULL,
                               "another literal"));
    assert_true(direct_or_not(at("other.onnx"), NULL, c, NULL, NULL,
                              "another literal, again"));
    assert_true(direct_or_not(at("model.onnx"), NULL, c, NULL, NULL,
                              "the first literal"));
    buf_fini(&b);
    cache_unref(c);
}

static buf flat(const char *name, int64_t width)
{
    const int64_t to[2] = {-1, width};
    buf g = new_buf();

    put_node(&g, "Reshape", "x to", name, NULL);
    put_text(&g, 2, name);
    put_i64s(&g, "to", to, 2);
    put_value(&g, 12, name, FLOAT, (const int64_t[]){-1, -1}, 2);
    return g;
}

/* A value that decides what else is read: two sets of places, one skeleton. */
static void test_sets(void **state)
{
    cache *c = open_cache();
    uint64_t entries[2] = {0};

    (void)state;
    for (int i = 0; i < 4; i++) {
        bool yes = i % 2 == 0;
        maker m = maker_new(17);
        buf attrs = new_buf(), a = flat("a", 2), b = flat("b", 4);

        put_value(&m.graph, 11, "x", FLOAT, (const int64_t[]){-1, 8}, 2);
        put_value(&m.graph, 12, "y", FLOAT, (const int64_t[]){-1, -1}, 2);
        put_stored(&m.graph, "c", BOOL, NULL, 0, &yes, 1);
        attr_graph_put(&attrs, "then_branch", &a);
        attr_graph_put(&attrs, "else_branch", &b);
        put_node(&m.graph, "If", "c", "y", &attrs);
        put_message(&m.model, 7, &m.graph);
        spill(at("model.onnx"), m.model.p, m.model.n);
        buf_fini(&m.model);
        assert_int_equal(direct_or_not(at("model.onnx"), NULL, c, NULL, NULL,
                                       yes ? "then" : "else"), i >= 2);
        if (i < 2)
            entries[i] = stat_of(c, "entries");
    }
    assert_int_equal(entries[0], 3);
    assert_int_equal(entries[1], 6); /* engine, plan, set of places */
    cache_unref(c);
}

/* An option is in the key exactly when a plan depends on it. */
static void test_options(void **state)
{
    static const struct {
        const char *key, *value;
    } other[] = {
        {"backends", "sim,cpu"}, {"target", "none"}, {"min_block", "2"},
        {"fallback", "relu"}, {"require_full", "on"}, {"fuse", "off"},
        {"winograd", "off"}, {"tune", "on"}, {"tile", "4"},
        {"strip_weights", "on"}, {"keep", "w"}, {"ignore", "z"},
        {"map", ""}, {"checkpoint_key", ""}, {"learn", "on"},
        {"allow_missing", "on"}, {"narrow", "on"}, {"borrow", "on"}, {"fill", "late"},
        {"keep_sources", "off"}, {"keep_previous", "on"}, {"spare", "on"},
        {"release_weights", "on"}, {"seed", "7"}, {"threads", "2"},
        {"cache_direct", "on"},
    };
    cache *c = open_cache();
    hull_option_info info;
    size_t n = 0, tried = 0;

    (void)state;
    write_model(at("model.onnx"), &usual);
    assert_false(direct_or_not(at("model.onnx"), NULL, c, NULL, NULL, "first"));
    while (hull_options_describe(n++, &info) == HULL_OK) {
        size_t i = 0;
        bool decides = strcmp(info.effect, "RUN") != 0 ||
                       strcmp(info.key, "keep") == 0;

        while (i < COUNT_OF(other) && strcmp(other[i].key, info.key) != 0)
            i++;
        if (i == COUNT_OF(other) && str_starts(str_of(info.key), "cache_"))
            continue; /* of hull_cache_open */
        if (i == COUNT_OF(other))
            stop("option %s has no other value here", info.key);
        if (direct_or_not(at("model.onnx"), NULL, c, info.key, other[i].value,
                          info.key) == decides)
            stop("option %s: %s", info.key, decides ? "hit" : "miss");
        assert_true(direct_or_not(at("model.onnx"), NULL, c, info.key,
                                  other[i].value, info.key));
        tried++;
    }
    assert_int_equal(tried, COUNT_OF(other));
    cache_unref(c);
}

/* A direct hit reads what describes the tensors, not what they hold. */
static void test_reads(void **state)
{
    const int64_t dims[2] = {256, 256}, x[2] = {-1, 256};
    const uint64_t payload = 256 * 256 * 4;
    maker m = maker_new(17);
    float *w = mem_calloc(256 * 256, sizeof *w);
    cache *c = open_cache();
    hull_options *o;
    uint64_t read[2];

    (void)state;
    put_value(&m.graph, 11, "x", FLOAT, x, 2);
    put_value(&m.graph, 12, "y", FLOAT, x, 2);
    put_stored(&m.graph, "w", FLOAT, dims, 2, w, payload);
    put_node(&m.graph, "MatMul", "x w", "y", NULL);
    put_message(&m.model, 7, &m.graph);
    spill(at("model.onnx"), m.model.p, m.model.n);
    OK(hull_options_new(&o));
    OK(hull_options_set(o, "strip_weights", "on"));
    for (int i = 0; i < 2; i++) {
        outcome r = compile(at("model.onnx"), NULL, c, o);

        assert_int_equal(r.direct, i == 1);
        read[i] = r.read;
        outcome_fini(&r);
    }
    assert_true(read[0] < payload && read[1] < payload);
    options_free(o);
    cache_unref(c);
    buf_fini(&m.model);
    mem_free(w);
}

/* Names of a checkpoint decide whether a lone number is a weight. */
static void test_names(void **state)
{
    const int64_t x[1] = {-1};
    float two = 2;
    hull_tensor t = {.data = &two, .dtype = HULL_F32};
    maker m = maker_new(17);
    cache *c = open_cache();
    hull_weights *w;
    outcome r;

    (void)state;
    put_value(&m.graph, 11, "x", FLOAT, x, 1);
    put_value(&m.graph, 12, "y", FLOAT, x, 1);
    put_scalar_f32(&m.graph, "s", 3);
    put_node(&m.graph, "Mul", "x s", "y", NULL);
    put_message(&m.model, 7, &m.graph);
    spill(at("model.onnx"), m.model.p, m.model.n);
    OK(hull_weights_new(&w));
    OK(hull_weights_add(w, "s", &t, NULL, NULL));
    assert_false(direct_or_not(at("model.onnx"), NULL, c, NULL, NULL, "none"));
    assert_false(direct_or_not(at("model.onnx"), w, c, NULL, NULL, "named"));
    assert_true(direct_or_not(at("model.onnx"), NULL, c, NULL, NULL, "none"));
    assert_true(direct_or_not(at("model.onnx"), w, c, NULL, NULL, "named"));
    r = compile(at("model.onnx"), w, c, NULL);
    assert_true(r.direct);
    assert_non_null(strstr(r.facts, "\"holes\":1"));
    outcome_fini(&r);
    hull_weights_unref(w);
    buf_fini(&m.model);
    cache_unref(c);
}

/* ---- any other file is another file -------------------------------------- */

static bool in_payload(const weights *w, size_t i)
{
    for (size_t k = 0; k < weights_count(w); k++) {
        const weight_storage *s = weights_storage(w, weights_at(w, k));

        if (s->file == 0 && i >= s->off && i - s->off < s->len)
            return true;
    }
    return false;
}

/* Each byte of a small model is changed in turn, and some of its payload, in one
 * folder: what was cached for one file is never taken for another. */
static void test_each_byte(void **state)
{
    cache *c = open_cache();
    unsigned hits = 0, tried = 0;
    weights *w;
    buf b;

    (void)state;
    write_model(at("model.onnx"), &usual);
    assert_false(direct_or_not(at("model.onnx"), NULL, c, NULL, NULL, "first"));
    OK(weights_open(&w, at("model.onnx"), NULL));
    b = slurp(at("model.onnx"));
    OK(log_configure("all:error"));
    for (size_t i = 0; i < b.n; i++) {
        char was = b.p[i], what[32];

        if (in_payload(w, i) && i % 5 != 0)
            continue;
        b.p[i] = (char)(was ^ 1 << i % 7);
        spill(at("other.onnx"), b.p, b.n);
        snprintf(what, sizeof what, "byte %zu", i);
        tried++;
        hits += direct_or_not(at("other.onnx"), NULL, c, NULL, NULL, what);
        b.p[i] = was;
    }
    OK(log_configure(""));
    print_message("%u files, %u direct hits, %" PRIu64 " had a miss\n", tried,
                  hits, stat_of(c, "direct_misses"));
    assert_in_range(hits, 24 * 4 / 5, (24 * 4 + ROWS * 8) / 5 + 1);
    assert_true(stat_of(c, "entries") > 100); /* many were models, too */
    assert_int_equal(stat_of(c, "corrupt"), 0);
    weights_unref(w);
    buf_fini(&b);
    cache_unref(c);
}

/* What was carried to another machine's folder hits there as well. */
static void test_carried(void **state)
{
    cache *c = open_cache(), *other;
    uint64_t n, added, refused;

    (void)state;
    write_model(at("model.onnx"), &usual);
    assert_false(direct_or_not(at("model.onnx"), NULL, c, NULL, NULL, "here"));
    OK(hull_cache_export(c, at("all.pack"), &n));
    assert_int_equal(n, 3);
    OK(cache_open(&other, at("other"), NULL));
    OK(hull_cache_import(other, at("all.pack"), &added, &refused));
    assert_int_equal(added, 3);
    assert_true(direct_or_not(at("model.onnx"), NULL, other, NULL, NULL,
                              "there"));
    assert_int_equal(stat_of(other, "builds"), 0);
    cache_unref(other);
    cache_unref(c);
}

/* ---- the skeleton -------------------------------------------------------- */

static bool skeleton_of(digest *out, const char *path)
{
    weights *w;
    bool whole;

    if (weights_open(&w, path, NULL) != HULL_OK)
        return false;
    OK(weights_skeleton(&whole, out, w, weights_n_storages(w)));
    weights_unref(w);
    return whole;
}

static void test_skeleton(void **state)
{
    digest whole, other;
    unsigned inside = 0;
    weights *w;
    buf b;

    (void)state;
    write_model(at("model.onnx"), &usual);
    assert_true(skeleton_of(&whole, at("model.onnx")));
    OK(weights_open(&w, at("model.onnx"), NULL));
    b = slurp(at("model.onnx"));
    for (size_t i = 0; i < b.n; i++) {
        b.p[i] = (char)(b.p[i] ^ 2);
        spill(at("other.onnx"), b.p, b.n);
        if (skeleton_of(&other, at("other.onnx"))) {
            if (digest_eq(&whole, &other) != in_payload(w, i))
                stop("byte %zu is %s", i, in_payload(w, i) ? "in" : "out");
            inside += in_payload(w, i);
        }
        b.p[i] = (char)(b.p[i] ^ 2);
    }
    assert_int_equal(inside, 2 * 8 + 24 * 4 + ROWS * 8);
    buf_fini(&b);
    weights_unref(w);
}

/* External data that is the model file itself is no payload: it may be any
 * part of it. */
static void test_own_data(void **state)
{
    const int64_t dims[1] = {4};
    maker m = maker_new(17);
    buf t = new_buf(), e;
    static const char *const pairs[2][2] = {{"location", "own.onnx"},
                                            {"length", "16"}};
    digest first, other;
    uint8_t *op;
    buf b;

    (void)state;
    put_value(&m.graph, 11, "x", FLOAT, dims, 1);
    put_value(&m.graph, 12, "y", FLOAT, dims, 1);
    put_int(&t, 1, 4);
    put_int(&t, 2, FLOAT);
    put_text(&t, 8, "w");
    for (int i = 0; i < 2; i++) {
        e = new_buf();
        put_text(&e, 1, pairs[i][0]);
        put_text(&e, 2, pairs[i][1]);
        put_message(&t, 13, &e);
    }
    put_int(&t, 14, 1);
    put_message(&m.graph, 5, &t);
    put_node(&m.graph, "Add", "x w", "y", NULL);
    put_message(&m.model, 7, &m.graph);
    spill(at("own.onnx"), m.model.p, m.model.n);
    assert_true(skeleton_of(&first, at("own.onnx")));
    b = slurp(at("own.onnx"));
    op = memmem(b.p, 16, "\x08\x08", 2); /* ir_version 8 */
    assert_non_null(op);
    op[1] = 7;
    spill(at("own.onnx"), b.p, b.n);
    assert_true(skeleton_of(&other, at("own.onnx")));
    assert_false(digest_eq(&first, &other));
    buf_fini(&b);
    buf_fini(&m.model);
}

/* ---- damage -------------------------------------------------------------- */

static char found[256];

static int find_plan_file(const char *path, const struct stat *s, int kind,
                          struct FTW *f)
{
    (void)s;
    (void)kind;
    (void)f;
    if (str_ends(str_of(path), found) && !str_contains(str_of(path), "/bad/")) {
        snprintf(found, sizeof found, "%s", path);
        return 1;
    }
    return 0;
}

/* The one entry with that suffix. */
static const char *entry(const char *suffix)
{
    snprintf(found, sizeof found, "%s", suffix);
    assert_int_equal(nftw(at("cache"), find_plan_file, 16, FTW_PHYS), 1);
    return found;
}

static void hurt(cache *c, const char *suffix, size_t step)
{
    char path[256];
    buf b;

    snprintf(path, sizeof path, "%s", entry(suffix));
    b = slurp(path);
    for (size_t i = 0; i < 2 * b.n; i += step) {
        uint64_t corrupt = stat_of(c, "corrupt");
        size_t k = i / 2;

        if (i % 2 == 0) {
            b.p[k] = (char)(b.p[k] ^ 1 << k % 8);
            spill(path, b.p, b.n);
            b.p[k] = (char)(b.p[k] ^ 1 << k % 8);
        } else {
            spill(path, b.p, k);
        }
        if (direct_or_not(at("model.onnx"), NULL, c, NULL, NULL, suffix))
            stop("%s: hit with a damaged entry, byte %zu", suffix, k);
        assert_int_equal(stat_of(c, "corrupt"), corrupt + 1);
        assert_true(direct_or_not(at("model.onnx"), NULL, c, NULL, NULL,
                                  suffix));
    }
    buf_fini(&b);
}

static void test_damage(void **state)
{
    cache *c = open_cache();

    (void)state;
    write_model(at("model.onnx"), &usual);
    assert_false(direct_or_not(at("model.onnx"), NULL, c, NULL, NULL, "first"));
    OK(log_configure("all:error"));
    hurt(c, ".plan", 101);
    hurt(c, ".manifest", 19);
    OK(log_configure(""));
    cache_unref(c);
}

/* Every single bit of the plan's entry, without the folder. */
static void test_each_bit(void **state)
{
    cache *c = open_cache();
    devices ds;
    weights *native;
    buf b;

    (void)state;
    write_model(at("model.onnx"), &usual);
    assert_false(direct_or_not(at("model.onnx"), NULL, c, NULL, NULL, "first"));
    OK(devices_open(&ds, NULL));
    b = slurp(entry(".plan"));
    for (size_t i = 0; i < 8 * b.n; i++) {
        container *k = NULL;
        plan *p = NULL;

        b.p[i / 8] = (char)(b.p[i / 8] ^ 1 << i % 8);
        if (container_open(&k, (bytes){(uint8_t *)b.p, b.n}, UINT64_MAX) ==
            HULL_OK) {
            OK(weights_open(&native, at("model.onnx"), NULL));
            if (plan_read_frame(&p, k, &ds, c, native) == HULL_OK)
                stop("bit %zu is not checked", i);
            weights_unref(native);
        }
        container_free(k);
        b.p[i / 8] = (char)(b.p[i / 8] ^ 1 << i % 8);
    }
    buf_fini(&b);
    devices_close(&ds);
    cache_unref(c);
}

/* An entry with good checksums that says another thing of the model. */
static void test_untrue_plan(void **state)
{
    static const struct {
        const char *tag, *from, *to;
    } lies[] = {
        {"module", "\"shape\":[4,6]", "\"shape\":[6,4]"},
        {"module", "\"f32\"", "\"f16\""},
        {"module", "\"name\":\"w\"", "\"name\":\"u\""},
        {"module", "\"backends\":[\"cpu\"", "\"backends\":[\"gpu\""},
        {"module", "\"kept\":false", "\"kept\":77777"},
        {"late", "t 0 ", "u 0 "}, {"late", "t 0 ", "t 0 x"},
        {"main", "@b0", "@b9"}, {"block.0", "matmul", "matmal"},
    };
    cache *c = open_cache();

    (void)state;
    write_model(at("model.onnx"), &usual);
    assert_false(direct_or_not(at("model.onnx"), NULL, c, NULL, NULL, "first"));
    OK(log_configure("all:error"));
    for (size_t i = 0; i < COUNT_OF(lies); i++) {
        char path[256];
        container_writer *w;
        container *k;
        bool told = false;
        buf b;

        snprintf(path, sizeof path, "%s", entry(".plan"));
        b = slurp(path);
        OK(container_open(&k, (bytes){(uint8_t *)b.p, b.n}, UINT64_MAX));
        OK(container_writer_new(&w, CONTAINER_PLAN));
        for (size_t n = 0; n < container_n_sections(k); n++) {
            uint64_t off, stored, size;
            const char *tag;
            bytes data;
            buf text;
            char *at_lie;

            OK(container_at(k, n, &tag, &off, &stored, &size));
            OK(container_get(k, tag, UINT64_MAX, &data));
            buf_init(&text, SIZE_MAX / 2);
            buf_put(&text, data.p, data.n);
            at_lie = strcmp(tag, lies[i].tag) == 0
                         ? memmem(text.p, text.n, lies[i].from,
                                  strlen(lies[i].from))
                         : NULL;
            if (at_lie != NULL)
                memcpy(at_lie, lies[i].to, strlen(lies[i].to));
            told = told || at_lie != NULL;
            OK(container_add(w, tag, text.p ? text.p : "", text.n));
            buf_fini(&text);
        }
        if (!told)
            stop("no '%s' in section %s", lies[i].from, lies[i].tag);
        OK(container_write(w, path));
        container_writer_free(w);
        container_free(k);
        buf_fini(&b);
        if (direct_or_not(at("model.onnx"), NULL, c, NULL, NULL, lies[i].to))
            stop("'%s' was believed", lies[i].to);
        assert_int_equal(stat_of(c, "corrupt"), i + 1);
        assert_true(direct_or_not(at("model.onnx"), NULL, c, NULL, NULL,
                                  "stored again"));
    }
    OK(log_configure(""));
    cache_unref(c);
}

/* A manifest from somebody else: lines that say nothing true. */
static void test_hostile_manifest(void **state)
{
    static const char *const lines[] = {
        "", " ", "x", "0:0:0", "0:0:1", "9:0:1", "0:1", "0:0:1 0:0:1 ",
        "0:18446744073709551615:8", "0:8:18446744073709551615",
        "4294967296:0:1", "-1:0:1", "0:0:1 0:0:1 x", "0:0:1  0:0:1",
        "0:0:99999999 0:0:99999999",
    };
    cache *c = open_cache();
    devices ds;
    weights *native;
    direct d = {.c = c};
    plan *p;

    (void)state;
    write_model(at("model.onnx"), &usual);
    OK(devices_open(&ds, NULL));
    OK(weights_open(&native, at("model.onnx"), NULL));
    d.ds = &ds;
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        OK(direct_try(&p, &d, native, str_of(lines[i])));
        assert_null(p);
    }
    weights_unref(native);
    devices_close(&ds);
    cache_unref(c);
}

/* ---- a file that changes meanwhile --------------------------------------- */

/* Changes a byte of the weight, in place: the skeleton stays what it was. */
static void touch_weight(const char *path)
{
    const float first[2] = {usual.weight, usual.weight + 0.25f};
    buf b = slurp(path);
    char *p = memmem(b.p, b.n, first, sizeof first);
    FILE *f = fopen(path, "r+b");

    assert_true(f != NULL && p != NULL);
    assert_int_equal(fseek(f, p - b.p, SEEK_SET), 0);
    assert_int_not_equal(fputc(p[0] ^ 1, f), EOF);
    assert_int_equal(fclose(f), 0);
    buf_fini(&b);
}

/* As module_compile, with something in between; entries of the folder. */
static uint64_t put_after(cache *c, const devices *ds, bool touch, bool other)
{
    front_model *fm;
    weights *native;
    direct d;
    plan *p;

    OK(cache_clear(c));
    write_model(at("model.onnx"), &usual);
    OK(weights_open(&native, at("model.onnx"), NULL));
    direct_find(&p, &d, &native, NULL, ds, c);
    assert_null(p);
    direct_watch(&d, native);
    OK(front_import_index(&fm, native, "model", NULL));
    direct_unwatch(&d, native);
    OK(plan_compile(&p, fm, ds, c));
    if (touch)
        touch_weight(at("model.onnx"));
    if (other)
        d.skeleton.b[0] ^= 1; /* the file was another one before the import */
    direct_put(&d, native, p);
    direct_end(&d);
    front_free(fm);
    weights_unref(native);
    plan_free(p);
    return stat_of(c, "entries");
}

static void test_changed(void **state)
{
    cache *c = open_cache();
    weights *native;
    devices ds;
    direct d;
    plan *p;

    (void)state;
    OK(devices_open(&ds, NULL));
    assert_int_equal(put_after(c, &ds, false, true), 1); /* the engine */
    assert_int_equal(put_after(c, &ds, true, false), 1);
    assert_int_equal(put_after(c, &ds, false, false), 3);
    for (int i = 0; i < 2; i++) {
        OK(weights_open(&native, at("model.onnx"), NULL));
        if (i == 1)
            touch_weight(at("model.onnx"));
        direct_find(&p, &d, &native, NULL, &ds, c);
        assert_int_equal(p != NULL, i == 0);
        direct_end(&d);
        plan_free(p);
        weights_unref(native);
    }
    devices_close(&ds);
    cache_unref(c);
}

/* ---- every fixture ------------------------------------------------------- */

static const char *shared_folder(void)
{
    const char *dir = getenv("HULL_SHARED");

    return dir != NULL ? dir : "../shared";
}

static void same_answers(hull_module *a, hull_module *b, const char *path)
{
    hull_module *both[2] = {a, b};
    char io_path[512];
    hull_tensor out[2][MAX_TENSORS] = {{{0}}};
    hull_session *s[2];
    size_t n = hull_module_n_outputs(a);
    weights *w;
    io in;

    snprintf(io_path, sizeof io_path, "%.*sio_a.safetensors",
             (int)(path_base(path) - path), path);
    if (weights_open(&w, io_path, NULL) != HULL_OK)
        return; /* a model without example inputs */
    OK(io_read(&in, w, "input", ""));
    for (int i = 0; i < 2; i++) {
        OK(hull_session_new(&s[i], both[i], NULL));
        OK(hull_session_run(s[i], in.t, in.n, out[i], n));
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t len = hull_dtype_bits((hull_dtype)out[0][i].dtype) / 8;

        for (int32_t k = 0; k < out[0][i].rank; k++)
            len *= (uint64_t)out[0][i].shape[k];
        if (memcmp(out[0][i].data, out[1][i].data, len) != 0)
            stop("%s: output %zu differs", path, i);
    }
    hull_session_free(s[0]);
    hull_session_free(s[1]);
    io_free(&in);
    weights_unref(w);
}

static void one_model(cache *c, const char *path)
{
    outcome cold = compile(path, NULL, c, NULL), past, hit;
    hull_options *off;

    if (cold.st != HULL_OK) /* its weights are fake */
        return;
    OK(hull_options_new(&off));
    OK(hull_options_set(off, "cache_direct", "off"));
    past = compile(path, NULL, c, off);
    hit = compile(path, NULL, c, NULL);
    if (!hit.direct)
        stop("%s: no direct hit", path);
    assert_false(past.direct);
    same(&hit, &past, path);
    same_answers(hit.m, past.m, path);
    OK(hull_refit_model(hit.m, path, NULL, NULL));
    options_free(off);
    outcome_fini(&cold);
    outcome_fini(&past);
    outcome_fini(&hit);
}

static unsigned all_models(cache *c, const char *kind)
{
    char dir[256], path[1024];
    struct dirent *sub, *e;
    unsigned n = 0;
    DIR *top, *d;

    snprintf(dir, sizeof dir, "%s/%s", shared_folder(), kind);
    top = opendir(dir);
    while (top != NULL && (sub = readdir(top)) != NULL) {
        snprintf(path, sizeof path, "%s/%s", dir, sub->d_name);
        if (sub->d_name[0] == '.' || (d = opendir(path)) == NULL)
            continue;
        while ((e = readdir(d)) != NULL) {
            str name = str_of(e->d_name);

            if (!str_ends(name, ".onnx") && !str_ends(name, ".pt2"))
                continue;
            snprintf(path, sizeof path, "%s/%s/%s", dir, sub->d_name,
                     e->d_name);
            one_model(c, path);
            n++;
        }
        closedir(d);
    }
    if (top != NULL)
        closedir(top);
    return n;
}

static void test_fixtures(void **state)
{
    cache *c = open_cache();
    unsigned n = all_models(c, "fixtures");

    (void)state;
    if (n == 0) {
        print_message("skipped: no fixtures in %s\n", shared_folder());
        cache_unref(c);
        skip();
    }
    print_message("%u models\n", n);
    assert_true(stat_of(c, "direct_hits") >= n);
    assert_true(stat_of(c, "direct_misses") <= n);
    assert_int_equal(stat_of(c, "corrupt"), 0);
    cache_unref(c);
}

static void test_models(void **state)
{
    cache *c = open_cache();
    unsigned n = all_models(c, "models");

    (void)state;
    if (n == 0) {
        print_message("skipped: no models in %s\n", shared_folder());
        cache_unref(c);
        skip();
    }
    print_message("%u models\n", n);
    assert_true(stat_of(c, "direct_hits") >= n);
    cache_unref(c);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_variants), TEST(test_literal), TEST(test_sets),
        TEST(test_options),
        TEST(test_reads), TEST(test_names), TEST(test_carried),
        TEST(test_each_byte),
        TEST(test_skeleton), TEST(test_own_data), TEST(test_damage),
        TEST(test_each_bit), TEST(test_untrue_plan),
        TEST(test_hostile_manifest), TEST(test_changed),
        TEST(test_fixtures), TEST(test_models),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
