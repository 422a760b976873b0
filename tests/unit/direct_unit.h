/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * direct_unit.h - what the tests of direct mode share: a model in variants, and
 * compiles through the cache and past it, which must agree.
 */
#ifndef HULL_DIRECT_UNIT_H
#define HULL_DIRECT_UNIT_H

#include "cache_unit.h"
#include "onnx_maker.h"

#include "compile/compile.h"

#define at(name) path_in(name)

/* Without entries in memory: what lies in the folder counts. */
UNUSED static cache *direct_cache(void)
{
    return open_cache("cache", "cache_memory", "0");
}

UNUSED static buf slurp(const char *path)
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

#endif
