/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * module_unit.h - a small model made by hand, its checkpoints, and a folder of
 * their own, for the tests of module files.
 */
#ifndef HULL_MODULE_UNIT_H
#define HULL_MODULE_UNIT_H

#include "folder_unit.h"

#include <inttypes.h>
#include <jansson.h>

#include "run/module_file.h"

#define at(name) path_in(name)

static inline char *slurp(const char *path, size_t *n)
{
    char *p;

    OK(file_read_all(&p, n, path, (size_t)1 << 26));
    return p;
}

/* ---- a model, made by hand ----------------------------------------------- */

/* One hole by recipe, one tie, one kept constant, a literal that the text
 * names by digest, and a node that the simulated device leaves to ref. */
static const char model_head[] =
    "graph @main(%x: f32[N,5]) where N=1..8 {\n"
    "  %w = weight \"w\" : f32[5,11]\n"
    "  %b = weight \"b\" : f32[11]\n"
    "  %u = weight \"u\" : f32[3,11]\n"
    "  %k = weight \"k\" : f32[3]\n"
    "  %c = const {value=[";
static const char model_tail[] =
    "]} : f32[11,11]\n"
    "  %1 = matmul %x, %w, %b : f32[N,11]\n"
    "  %2 = relu %1 : f32[N,11]\n"
    "  %3 = matmul %2, %c : f32[N,11]\n"
    "  %4 = matmul %3, %u {trans_b=true} : f32[N,3]\n"
    "  %5 = max %4, %k : f32[N,3]\n"
    "  %v, %i = topk %5 {k=2, axis=1} : f32[N,2], i64[N,2]\n"
    "  %6 = neg %5 : f32[N,3]\n"
    "  %7 = exp %6 : f32[N,3]\n"
    "  %8 = add %7, %5 : f32[N,3]\n"
    "  return %v, %8\n"
    "}\n";
static const char recipe_text[] =
    "graph @t() {\n"
    "  %w = weight \"fc1.weight\" : f32[11,5]\n"
    "  %1 = transpose %w {perm=[1,0]} : f32[5,11]\n"
    "  return %1\n"
    "}\n";

typedef struct model {
    front_model fm;
    ir *m, *recipes;
    front_hole holes[4];
    float kept[3];
} model;

static inline ir *parsed(const char *text)
{
    ir *m;

    OK(ir_parse(&m, str_of(text), NULL));
    return m;
}

static inline void model_init(model *md)
{
    static const str fc2[] = {{"fc2.weight", 10}, {"head.weight", 11}};
    static const str fc1b[] = {{"fc1.bias", 8}};
    static const str unread[] = {{"steps", 5}};
    static const char *const names[] = {"w", "b", "u", "k"};
    static const uint8_t tiers[] = {0};
    static const int64_t three = 3;
    uint32_t n;
    buf text;

    memset(md, 0, sizeof *md);
    buf_init(&text, 1 << 20);
    buf_puts(&text, model_head);
    for (int i = 0; i < 121; i++)
        buf_printf(&text, "%s%d.0", i > 0 ? "," : "", i % 7 - 3);
    buf_puts(&text, model_tail);
    OK(buf_status(&text));
    md->m = parsed(text.p);
    buf_fini(&text);
    md->recipes = parsed(recipe_text);
    md->fm = (front_model){.m = md->m, .g = md->m->graphs[0],
                           .recipes = md->recipes, .holes = md->holes,
                           .n_holes = 4, .unread = unread, .n_unread = 1,
                           .format = "onnx", .producer = {"a test", 6}};
    OK(weights_new(&md->fm.native, WEIGHTS_MEMORY));
    for (int i = 0; i < 3; i++)
        md->kept[i] = 0.5f * (float)(i + 1);
    OK(weights_add_tensor(md->fm.native, str_of("k"),
                          &(hull_tensor){.data = md->kept, .shape = &three,
                                         .rank = 1, .dtype = HULL_F32},
                          NULL, NULL));
    for (node *d = graph_first(md->fm.g); d != NULL;
         d = graph_next(md->fm.g, d))
        for (n = 0; d->op == OP_weight && n < 4; n++)
            if (str_is(attr_str(d, "name"), names[n]))
                md->holes[n].type = *graph_type(md->fm.g, d->out[0]);
    for (n = 0; n < 4; n++) {
        md->holes[n].name = str_of(names[n]);
        md->holes[n].reason = "initializer";
    }
    md->holes[0].recipes = md->recipes->graphs;
    md->holes[0].tiers = tiers;
    md->holes[0].n_recipes = 1;
    md->holes[1].names = fc1b;
    md->holes[1].n_names = 1;
    md->holes[2].names = fc2;
    md->holes[2].n_names = 2;
    md->holes[3].kept = true;
}

static inline void model_fini(model *md)
{
    weights_unref(md->fm.native);
    ir_free(md->m);
    ir_free(md->recipes);
}

/* A checkpoint; prefix in front of every name; parts: 1 fc1, 2 fc2. */
static inline void write_checkpoint(const char *name, float scale,
                                    const char *prefix, int parts)
{
    static const int64_t s1[] = {11, 5}, s2[] = {11}, s3[] = {3, 11};
    float w[55], b[11], u[33];
    char n1[64], n2[64], n3[64], n4[64];
    safetensors_item items[4];
    size_t n = 0;

    for (int i = 0; i < 55; i++)
        w[i] = scale * (float)(i % 9 - 4) * 0.25f;
    for (int i = 0; i < 11; i++)
        b[i] = scale * (float)(i - 5) * 0.125f;
    for (int i = 0; i < 33; i++)
        u[i] = scale * (float)(i % 5 - 2) * 0.0625f;
    snprintf(n1, sizeof n1, "%sfc1.weight", prefix);
    snprintf(n2, sizeof n2, "%sfc1.bias", prefix);
    snprintf(n3, sizeof n3, "%sfc2.weight", prefix);
    snprintf(n4, sizeof n4, "%shead.weight", prefix);
    if ((parts & 1) != 0) {
        items[n++] = (safetensors_item){str_of(n1), HULL_F32, 2, s1, w,
                                        sizeof w};
        items[n++] = (safetensors_item){str_of(n2), HULL_F32, 1, s2, b,
                                        sizeof b};
    }
    if ((parts & 2) != 0) {
        items[n++] = (safetensors_item){str_of(n3), HULL_F32, 2, s3, u,
                                        sizeof u};
        items[n++] = (safetensors_item){str_of(n4), HULL_F32, 2, s3, u,
                                        sizeof u};
    }
    OK(safetensors_write(at(name), items, n));
}

static inline options *options_of(const char *text)
{
    options *o;

    OK(options_new(&o));
    OK(hull_options_set(o, "backends", "ref")); /* slots as the test counts */
    while (*text != '\0') {
        char key[64], setting[256];
        int n = 0;

        assert_int_equal(sscanf(text, "%63[^=]=%255[^ ] %n", key, setting, &n),
                         2);
        OK(hull_options_set(o, key, setting));
        text += n;
    }
    return o;
}

static inline module *compiled(const char *set)
{
    options *o = options_of(set);
    devices ds;
    module *m;
    model md;
    plan *p;

    model_init(&md);
    OK(devices_open(&ds, o));
    OK(plan_compile(&p, &md.fm, &ds, NULL));
    OK(module_new(&m, p, &ds));
    model_fini(&md);
    options_free(o);
    return m;
}

static inline hull_status refit_with(module *m, const char *name,
                                     const char *set,
                                     hull_refit_report *report)
{
    options *o = options_of(set);
    hull_status st;
    weights *w;

    OK(weights_open(&w, at(name), NULL));
    st = module_refit(m, w, o, report);
    weights_unref(w);
    options_free(o);
    return st;
}

/* A module of two backends, filled from a.safetensors. */
static inline module *filled(void)
{
    module *m = compiled("backends=sim,ref");

    assert_true(module_plan(m)->n_blocks >= 2);
    OK(refit_with(m, "a.safetensors", "", NULL));
    return m;
}

static inline hull_status load_with(module **out, const char *path,
                                    const char *ckpt, const char *set)
{
    options *o = options_of(set);
    weights *w = NULL;
    hull_status st;

    if (ckpt != NULL)
        OK(weights_open(&w, at(ckpt), NULL));
    st = module_load(out, path, w, NULL, o);
    weights_unref(w);
    options_free(o);
    return st;
}

typedef struct answer {
    float top[4], all[6];
} answer;

static inline hull_status run_module(answer *out, module *m)
{
    static const int64_t in_shape[] = {2, 5}, top[] = {2, 2}, all[] = {2, 3};
    float x[10];
    hull_tensor in = {.data = x, .shape = in_shape, .rank = 2,
                      .dtype = HULL_F32};
    hull_tensor outs[2] = {
        {.data = out->top, .shape = top, .rank = 2, .dtype = HULL_F32},
        {.data = out->all, .shape = all, .rank = 2, .dtype = HULL_F32}};
    hull_status st;
    session *s;

    memset(out, 0, sizeof *out);
    for (int i = 0; i < 10; i++)
        x[i] = (float)(i - 4) * 0.5f;
    TRY(session_new(&s, m, NULL));
    st = session_run(s, &in, 1, outs, 2);
    session_free(s);
    return st;
}

static inline answer answer_of(module *m)
{
    answer a;

    OK(run_module(&a, m));
    return a;
}

static inline void same(const answer *a, const answer *b)
{
    assert_memory_equal(a, b, sizeof *a);
}

static inline json_t *facts_of(module *m)
{
    json_t *j;
    buf b;

    buf_init(&b, 1 << 24);
    OK(module_describe(&b, m));
    OK(json_parse(&j, b.p, b.n, "facts"));
    buf_fini(&b);
    return j;
}

static inline const char *fact(const json_t *j, const char *key)
{
    return json_string_value(json_object_get(j, key));
}

static int log_lines;

static inline void count_log(void *user, const char *subsystem, int level,
                             const char *text)
{
    (void)user;
    (void)level;
    (void)text;
    log_lines += strcmp(subsystem, "module") == 0;
}

/* For a group of tests. */
static inline int set_up(void **state)
{
    if (make_folder(state) != 0)
        return -1;
    hull_set_log(count_log, NULL);
    write_checkpoint("a.safetensors", 1, "", 3);
    write_checkpoint("b.safetensors", -2, "", 3);
    write_checkpoint("half.safetensors", 3, "", 1);
    write_checkpoint("prefixed.safetensors", 1, "module.", 3);
    return 0;
}

#endif
