/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_direct.c - direct mode of the cache. Whatever the folder holds, a compile
 * through it must give what one without it gives: the same answers, bit for bit,
 * the same description and the same file. Counters tell which way it went.
 */
#include "direct_unit.h"

#include <dirent.h>

#include "../fixture_io.h"

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
    cache *c = direct_cache();
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
    cache *c = direct_cache();
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
    cache *c = direct_cache();
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
    cache *c = direct_cache();
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
    cache *c = direct_cache();
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
    cache *c = direct_cache();
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

/* What was carried to another machine's folder hits there as well. */
static void test_carried(void **state)
{
    cache *c = direct_cache(), *other;
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
    cache *c = direct_cache();
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
    cache *c = direct_cache();
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_variants), TEST(test_literal), TEST(test_sets),
        TEST(test_options), TEST(test_reads), TEST(test_names),
        TEST(test_carried), TEST(test_fixtures), TEST(test_models),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
