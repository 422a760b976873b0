/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_module_file.c - modules that are saved run as before when they are
 * loaded, from sources, from slots or from a linked checkpoint; foreign ones
 * are rebuilt; a file may hold anything and fails without a trace.
 */
#include "unit.h"

#include <ftw.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/module_file.h"

#define stop(...)                  \
    do {                           \
        print_error(__VA_ARGS__);  \
        print_error("\n");         \
        _fail(__FILE__, __LINE__); \
    } while (0)

#define OK(e)                                        \
    do {                                             \
        if ((e) != HULL_OK)                          \
            stop("%s: %s", #e, error_text());        \
    } while (0)

/* ---- files --------------------------------------------------------------- */

static char folder[64];

/* folder/name; the last four results stay valid. */
static const char *at(const char *name)
{
    static char text[4][256];
    static unsigned turn;
    char *p = text[turn++ % 4];

    snprintf(p, sizeof text[0], "%s/%s", folder, name);
    return p;
}

static int make_folder(void **state)
{
    (void)state;
    memcpy(folder, "/tmp/hull-test-module-XXXXXX", 29);
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

static char *slurp(const char *path, size_t *n)
{
    char *p;

    OK(file_read_all(&p, n, path, (size_t)1 << 26));
    return p;
}

static void spill(const char *path, const void *p, size_t n)
{
    file_part part = {p, n};

    OK(file_write_atomic(path, &part, 1));
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
    "  %5 = mul %4, %k : f32[N,3]\n"
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

static ir *parsed(const char *text)
{
    ir *m;

    OK(ir_parse(&m, str_of(text), NULL));
    return m;
}

static void model_init(model *md)
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

static void model_fini(model *md)
{
    weights_unref(md->fm.native);
    ir_free(md->m);
    ir_free(md->recipes);
}

/* A checkpoint; prefix in front of every name; parts: 1 fc1, 2 fc2. */
static void write_checkpoint(const char *name, float scale, const char *prefix,
                             int parts)
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

static options *options_of(const char *text)
{
    options *o;

    OK(options_new(&o));
    while (*text != '\0') {
        char key[64], text_of[64];
        int n = 0;

        assert_int_equal(sscanf(text, "%63[^=]=%63[^ ] %n", key, text_of, &n),
                         2);
        OK(hull_options_set(o, key, text_of));
        text += n;
    }
    return o;
}

static module *compiled(const char *set)
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

static hull_status refit_with(module *m, const char *name, const char *set,
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
static module *filled(void)
{
    module *m = compiled("backends=sim,ref");

    assert_true(module_plan(m)->n_blocks >= 2);
    OK(refit_with(m, "a.safetensors", "", NULL));
    return m;
}

static hull_status load_with(module **out, const char *path, const char *ckpt,
                             const char *set)
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

static hull_status run_module(answer *out, module *m)
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

static answer answer_of(module *m)
{
    answer a;

    OK(run_module(&a, m));
    return a;
}

static void same(const answer *a, const answer *b)
{
    assert_memory_equal(a, b, sizeof *a);
}

static json_t *facts_of(module *m)
{
    json_t *j;
    buf b;

    buf_init(&b, 1 << 24);
    OK(module_describe(&b, m));
    OK(json_parse(&j, b.p, b.n, "facts"));
    buf_fini(&b);
    return j;
}

static const char *fact(const json_t *j, const char *key)
{
    return json_string_value(json_object_get(j, key));
}

static int log_lines;

static void count_log(void *user, const char *subsystem, int level,
                      const char *text)
{
    (void)user;
    (void)level;
    (void)text;
    log_lines += strcmp(subsystem, "module") == 0;
}

/* ---- saved and loaded ---------------------------------------------------- */

static void check_round_trip(unsigned flags, const char *ckpt)
{
    module *m = filled(), *loaded, *again;
    answer before = answer_of(m), after;

    OK(module_save(m, at("m.hull"), flags));
    module_unref(m);
    OK(load_with(&loaded, at("m.hull"), ckpt, ""));
    assert_int_equal(module_version(loaded), 1);
    after = answer_of(loaded);
    same(&before, &after);
    if ((flags & HULL_SAVE_LINK) == 0) { /* over the file that it maps */
        OK(module_save(loaded, at("m.hull"), flags));
        OK(load_with(&again, at("m.hull"), NULL, ""));
        after = answer_of(again);
        same(&before, &after);
        module_unref(again);
    }
    after = answer_of(loaded);
    same(&before, &after);
    OK(refit_with(loaded, "b.safetensors", "", NULL));
    after = answer_of(loaded);
    assert_memory_not_equal(&before, &after, sizeof before);
    OK(refit_with(loaded, "a.safetensors", "", NULL));
    after = answer_of(loaded);
    same(&before, &after);
    module_unref(loaded);
}

static void test_round_trips(void **state)
{
    (void)state;
    check_round_trip(HULL_SAVE_SOURCES, NULL);
    check_round_trip(HULL_SAVE_PREPARED, NULL);
    check_round_trip(HULL_SAVE_SOURCES | HULL_SAVE_PREPARED, NULL);
    check_round_trip(HULL_SAVE_LINK, "a.safetensors");
    check_round_trip(HULL_SAVE_LINK | HULL_SAVE_PREPARED, "a.safetensors");
    check_round_trip(HULL_SAVE_LINK | HULL_SAVE_PREPARED | HULL_SAVE_SOURCES,
                     "a.safetensors");
}

static void test_plan_survives(void **state)
{
    module *m = filled(), *l;
    const plan *p, *q;

    (void)state;
    OK(module_save(m, at("m.hull"), 0));
    OK(load_with(&l, at("m.hull"), NULL, ""));
    p = module_plan(m);
    q = module_plan(l);
    assert_int_equal(p->n_blocks, q->n_blocks);
    assert_true(str_eq(p->imported, q->imported));
    assert_true(str_eq(p->producer, q->producer));
    assert_string_equal(p->input_info[0].type_text,
                        q->input_info[0].type_text);
    assert_string_equal(q->input_info[0].name, "x");
    assert_int_equal(p->n_fallbacks, q->n_fallbacks);
    assert_true(p->n_fallbacks > 0);
    assert_true(str_is(q->unread[0], "steps"));
    for (uint32_t i = 0; i < p->n_blocks; i++) {
        assert_true(str_eq(p->blocks[i].text, q->blocks[i].text));
        assert_true(str_eq(p->blocks[i].backend, q->blocks[i].backend));
        assert_true(digest_eq(&p->blocks[i].e->key, &q->blocks[i].e->key));
        assert_false(q->blocks[i].rebuilt);
    }
    assert_int_equal(q->holes[0].n_recipes, 1);
    assert_int_equal(q->holes[2].n_names, 2);
    for (uint32_t i = 0; i < q->n_holes; i++)
        if (str_is(q->holes[i].name, "k"))
            assert_memory_equal(q->holes[i].kept_value,
                                ((const float[]){0.5f, 1, 1.5f}), 12);
    module_unref(m);
    module_unref(l);
}

static void test_stripped(void **state)
{
    module *m = filled(), *l;
    const plan *p = module_plan(m);
    uint64_t texts = p->imported.n + 12;
    answer before = answer_of(m), after;
    size_t n;

    (void)state;
    for (uint32_t i = 0; i < p->n_blocks; i++)
        texts += p->blocks[i].text.n;
    OK(module_save(m, at("m.hull"), 0));
    mem_free(slurp(at("m.hull"), &n));
    assert_true(n <= texts + 64 * 1024);
    module_unref(m);
    OK(load_with(&l, at("m.hull"), NULL, ""));
    assert_int_equal(module_version(l), 0);
    assert_int_equal(run_module(&after, l), HULL_EUNBOUND);
    assert_non_null(strstr(error_text(), "fc1.bias"));
    assert_int_equal(module_save(l, at("n.hull"), HULL_SAVE_SOURCES),
                     HULL_EUNBOUND);
    assert_int_equal(module_save(l, at("n.hull"), 64), HULL_EINVAL);
    OK(refit_with(l, "a.safetensors", "", NULL));
    after = answer_of(l);
    same(&before, &after);
    module_unref(l);
    OK(load_with(&l, at("m.hull"), "a.safetensors", "")); /* nothing linked */
    after = answer_of(l);
    same(&before, &after);
    module_unref(l);
}

static void test_link(void **state)
{
    module *m = filled(), *l;
    answer a;

    (void)state;
    OK(module_save(m, at("m.hull"), HULL_SAVE_LINK));
    assert_int_equal(load_with(&l, at("m.hull"), "b.safetensors", ""),
                     HULL_EBIND);
    assert_null(l);
    assert_non_null(strstr(error_text(), "a.safetensors"));
    log_lines = 0;
    OK(load_with(&l, at("m.hull"), NULL, ""));
    assert_int_equal(log_lines, 1);
    assert_int_equal(run_module(&a, l), HULL_EUNBOUND);
    module_unref(l);
    /* Sources that lie in a module file are no checkpoint. */
    OK(module_save(m, at("m.hull"), HULL_SAVE_SOURCES));
    OK(load_with(&l, at("m.hull"), NULL, ""));
    assert_int_equal(module_save(l, at("n.hull"), HULL_SAVE_LINK),
                     HULL_EINVAL);
    module_unref(l);
    module_unref(m);
}

static void test_no_sources(void **state)
{
    module *m = compiled(""), *l;
    answer before, after;

    (void)state;
    OK(refit_with(m, "a.safetensors", "keep_sources=off", NULL));
    before = answer_of(m);
    assert_int_equal(module_save(m, at("n.hull"), HULL_SAVE_SOURCES),
                     HULL_EINVAL);
    assert_non_null(strstr(error_text(), "keep_sources=on"));
    assert_int_equal(access(at("n.hull"), F_OK), -1);
    OK(module_save(m, at("m.hull"), HULL_SAVE_PREPARED));
    OK(load_with(&l, at("m.hull"), NULL, ""));
    after = answer_of(l);
    same(&before, &after);
    /* Nothing to take the missing half from. */
    assert_int_equal(refit_with(l, "half.safetensors", "allow_missing=on",
                                NULL), HULL_EBIND);
    module_unref(l);
    module_unref(m);
}

/* A caller's tensors are gone once the refit is over. */
static void test_lent_memory(void **state)
{
    static const int64_t s1[] = {11, 5}, s2[] = {11}, s3[] = {3, 11};
    static float data[55];
    const struct { const char *name; const int64_t *shape; int32_t rank; }
        t[] = {{"fc1.weight", s1, 2}, {"fc1.bias", s2, 1},
               {"fc2.weight", s3, 2}};
    module *m = compiled("");
    weights *w;

    (void)state;
    OK(weights_new(&w, WEIGHTS_MEMORY));
    for (size_t i = 0; i < COUNT_OF(t); i++)
        OK(weights_add_tensor(w, str_of(t[i].name),
                              &(hull_tensor){.data = data,
                                             .shape = t[i].shape,
                                             .rank = t[i].rank,
                                             .dtype = HULL_F32}, NULL, NULL));
    OK(module_refit(m, w, NULL, NULL));
    weights_unref(w);
    assert_int_equal(module_save(m, at("n.hull"), HULL_SAVE_SOURCES),
                     HULL_EINVAL);
    assert_int_equal(module_save(m, at("n.hull"), HULL_SAVE_LINK),
                     HULL_EINVAL);
    OK(module_save(m, at("m.hull"), HULL_SAVE_PREPARED));
    module_unref(m);
}

/* Names with a prefix, a tie, and weights of two checkpoints come back. */
static void test_sources_index(void **state)
{
    module *m = compiled(""), *l;
    answer before, after;
    weights *w;
    const weight_entry *a, *b;

    (void)state;
    OK(refit_with(m, "prefixed.safetensors", "", NULL));
    OK(module_save(m, at("m.hull"), HULL_SAVE_SOURCES));
    before = answer_of(m);
    OK(load_with(&l, at("m.hull"), NULL, ""));
    after = answer_of(l);
    same(&before, &after);
    w = l->current->bound->w[0];
    assert_int_equal(weights_kind(w), WEIGHTS_HULL);
    assert_int_equal(weights_count(w), 4);
    a = weights_find(w, str_of("module.fc2.weight"));
    b = weights_find(w, str_of("module.head.weight"));
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal(a->storage, b->storage);
    assert_int_equal(a->len, b->len);
    module_unref(l);
    OK(refit_with(m, "a.safetensors", "", NULL));
    OK(refit_with(m, "half.safetensors", "allow_missing=on", NULL));
    before = answer_of(m);
    OK(module_save(m, at("m.hull"), HULL_SAVE_SOURCES));
    assert_int_equal(module_save(m, at("n.hull"), HULL_SAVE_LINK),
                     HULL_EINVAL);
    OK(load_with(&l, at("m.hull"), NULL, ""));
    after = answer_of(l);
    same(&before, &after);
    module_unref(l);
    module_unref(m);
}

/* A partial refit of a loaded module takes the rest from the file. */
static void test_partial_refit(void **state)
{
    static const unsigned flags[] = {HULL_SAVE_SOURCES, HULL_SAVE_SOURCES |
                                                        HULL_SAVE_PREPARED};
    module *m = filled(), *l;
    answer want, got;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        OK(module_save(m, at(i == 0 ? "s.hull" : "p.hull"), flags[i]));
    OK(refit_with(m, "half.safetensors", "allow_missing=on", NULL));
    want = answer_of(m);
    module_unref(m);
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        hull_refit_report report;

        OK(load_with(&l, at(i == 0 ? "s.hull" : "p.hull"), NULL, ""));
        OK(refit_with(l, "half.safetensors", "allow_missing=on", &report));
        got = answer_of(l);
        same(&want, &got);
        module_unref(l);
    }
}

/* ---- other targets ------------------------------------------------------- */

static void test_foreign_target(void **state)
{
    module *m = compiled("backends=sim,ref target=elsewhere"), *l;
    answer before, after;
    json_t *facts;
    cache *c;

    (void)state;
    OK(refit_with(m, "a.safetensors", "", NULL));
    before = answer_of(m);
    OK(module_save(m, at("s.hull"), HULL_SAVE_SOURCES | HULL_SAVE_PREPARED));
    OK(module_save(m, at("p.hull"), HULL_SAVE_PREPARED));
    module_unref(m);
    OK(cache_open(&c, at("cache"), NULL));
    for (int i = 0; i < 2; i++) {
        log_lines = 0;
        OK(module_load(&l, at("s.hull"), NULL, c, NULL));
        assert_int_equal(log_lines, module_plan(l)->n_blocks);
        assert_true(module_plan(l)->blocks[0].rebuilt);
        assert_null(l->current->groups[0]->borrowed);
        facts = facts_of(l);
        assert_string_equal(fact(facts, "cache"), i == 0 ? "miss" : "hit");
        json_free(facts);
        after = answer_of(l);
        same(&before, &after);
        module_unref(l);
    }
    OK(module_load(&l, at("p.hull"), NULL, c, NULL));
    assert_int_equal(module_version(l), 0);
    module_unref(l);
    OK(load_with(&l, at("p.hull"), NULL, "target=elsewhere"));
    assert_false(module_plan(l)->blocks[0].rebuilt);
    assert_int_equal(module_version(l), 1);
    module_unref(l);
    cache_unref(c);
}

static void test_stale_slots(void **state)
{
    module *m = compiled(""), *l;
    answer a;
    FILE *f;

    (void)state;
    OK(refit_with(m, "a.safetensors", "", NULL));
    OK(module_save(m, at("m.hull"), HULL_SAVE_PREPARED));
    module_unref(m);
    OK(load_with(&l, at("m.hull"), NULL, ""));
    assert_non_null(l->current->groups[0]->borrowed);
    OK(run_module(&a, l));
    f = fopen(at("m.hull"), "ab");
    assert_non_null(f);
    fputc(0, f);
    fclose(f);
    assert_int_equal(run_module(&a, l), HULL_ESTALE);
    module_unref(l);
}

static void test_describe(void **state)
{
    module *m = filled();
    json_t *j = facts_of(m), *b;

    (void)state;
    assert_string_equal(fact(j, "format"), "onnx");
    assert_string_equal(fact(j, "producer"), "a test");
    assert_string_equal(fact(j, "cache"), "none");
    assert_non_null(strstr(fact(j, "label"), "a.safetensors"));
    assert_int_equal(json_integer_value(json_object_get(j, "version")), 1);
    assert_int_equal(json_integer_value(json_object_get(j, "holes")), 4);
    assert_int_equal(json_integer_value(json_object_get(j, "kept")), 1);
    assert_true(json_integer_value(json_object_get(j, "slots")) >= 4);
    assert_true(json_integer_value(json_object_get(j, "slot_bytes")) >=
                (55 + 11 + 33 + 3) * 4);
    assert_true(json_integer_value(json_object_get(j, "engine_bytes")) > 0);
    assert_true(json_array_size(json_object_get(j, "fallbacks")) > 0);
    assert_string_equal(
        fact(json_array_get(json_object_get(j, "inputs"), 0), "type"),
        "f32[N,5]");
    b = json_array_get(json_object_get(j, "blocks"), 0);
    assert_int_equal(strlen(fact(b, "key")), 64);
    assert_true(json_is_false(json_object_get(b, "rebuilt")));
    json_free(j);
    module_unref(m);
}

/* ---- hostile files ------------------------------------------------------- */

#define ALL_FLAGS (HULL_SAVE_SOURCES | HULL_SAVE_PREPARED)

/* Damage is found when the file is opened, before anything is read; some are
 * loaded from disk as well. */
static void must_fail(const char *p, size_t n, bool load, const options *o)
{
    module *l = NULL;
    container *c;
    FILE *f;

    if (container_open(&c, (bytes){(const uint8_t *)p, n}, UINT64_MAX) ==
        HULL_OK)
        stop("a damaged file of %zu bytes is opened", n);
    if (!load)
        return;
    f = fopen(at("t.hull"), "wb");
    assert_non_null(f);
    fwrite(p, 1, n, f);
    fclose(f);
    assert_int_not_equal(module_load(&l, at("t.hull"), NULL, NULL, o),
                         HULL_OK);
    assert_null(l);
}

static void test_damaged(void **state)
{
    module *m = filled();
    options *o = options_of("threads=1");
    size_t n;
    char *p;

    (void)state;
    OK(module_save(m, at("m.hull"), ALL_FLAGS));
    module_unref(m);
    p = slurp(at("m.hull"), &n);
    for (size_t i = 0; i < n; i++) {
        must_fail(p, i, i % 97 == 0, o);
        p[i] ^= (char)(1 << i % 8);
        must_fail(p, n, i % 97 == 0, o);
        p[i] ^= (char)(1 << i % 8);
    }
    mem_free(p);
    options_free(o);
}

/* The file with one section's bytes replaced; checksums are right. */
static void rewrite(const char *to, const char *p, size_t n, const char *tag,
                    const void *bytes_in, size_t n_in)
{
    container *c;
    container_writer *cw;

    OK(container_open(&c, (bytes){(const uint8_t *)p, n}, UINT64_MAX));
    OK(container_writer_new(&cw, CONTAINER_MODULE));
    for (size_t i = 0; i < container_n_sections(c); i++) {
        uint64_t off, stored, size;
        const char *name;
        bytes b;

        OK(container_at(c, i, &name, &off, &stored, &size));
        OK(container_get(c, name, UINT64_MAX, &b));
        if (strcmp(name, tag) == 0)
            b = (bytes){bytes_in, n_in};
        if (b.p != NULL)
            OK(container_add(cw, name, b.p, b.n));
    }
    OK(container_write(cw, to));
    container_writer_free(cw);
    container_free(c);
}

static uint32_t random_of(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Tokens that change meaning without breaking the syntax. */
static void mutate(char *p, size_t n, uint32_t *seed)
{
    static const char letters[] = "0123456789-\"{}[],:%@ abefknrstuw.#";
    size_t at_byte = random_of(seed) % n;

    for (size_t k = 0; k < n && random_of(seed) % 4 != 0; k++) {
        size_t i = (at_byte + k) % n;

        if (p[i] >= '0' && p[i] <= '9') {
            p[i] = (char)('0' + random_of(seed) % 10);
            return;
        }
    }
    p[at_byte] = letters[random_of(seed) % (sizeof letters - 1)];
}

/* Whatever loads must also run, save and go away. */
static void try_file(const char *path, const options *o)
{
    module *l = NULL;
    answer a;

    if (module_load(&l, path, NULL, NULL, o) != HULL_OK) {
        assert_null(l);
        return;
    }
    if (module_plan(l)->main->body->n_params == 1)
        ignore(run_module(&a, l)); /* an error will do as well */
    module_unref(l);
}

static void test_hostile_sections(void **state)
{
    module *m = filled();
    options *o = options_of("threads=1");
    uint32_t seed = 7;
    container *c;
    size_t n;
    char *p;

    (void)state;
    OK(module_save(m, at("m.hull"), ALL_FLAGS));
    module_unref(m);
    p = slurp(at("m.hull"), &n);
    OK(container_open(&c, (bytes){(uint8_t *)p, n}, UINT64_MAX));
    for (size_t i = 0; i < container_n_sections(c); i++) {
        uint64_t off, stored, size;
        const char *tag;
        bytes b;

        OK(container_at(c, i, &tag, &off, &stored, &size));
        OK(container_get(c, tag, UINT64_MAX, &b));
        rewrite(at("t.hull"), p, n, tag, NULL, 0); /* missing */
        try_file(at("t.hull"), o);
        for (int k = 0; k < 60 && size > 0; k++) {
            char *copy = malloc(size);
            size_t keep = size;

            assert_non_null(copy);
            memcpy(copy, b.p, size);
            mutate(copy, size, &seed);
            if (k % 16 == 15)
                keep = random_of(&seed) % size;
            rewrite(at("t.hull"), p, n, tag, copy, keep);
            try_file(at("t.hull"), o);
            free(copy);
        }
    }
    container_free(c);
    mem_free(p);
    options_free(o);
}

/* Replaces the first `from` in a section; the module must be refused. */
static void refused(const char *p, size_t n, const char *tag, const char *from,
                    const char *to)
{
    module *l = NULL;
    container *c;
    char *found, *copy;
    bytes b;
    buf out;

    OK(container_open(&c, (bytes){(const uint8_t *)p, n}, UINT64_MAX));
    OK(container_get(c, tag, UINT64_MAX, &b));
    copy = mem_strndup((const char *)b.p, b.n);
    found = strstr(copy, from);
    if (found == NULL)
        stop("section '%s' has no '%s': %s", tag, from, copy);
    buf_init(&out, 1 << 24);
    buf_put(&out, copy, (size_t)(found - copy));
    buf_puts(&out, to);
    buf_puts(&out, found + strlen(from));
    rewrite(at("t.hull"), p, n, tag, out.p, out.n);
    if (module_load(&l, at("t.hull"), NULL, NULL, NULL) == HULL_OK)
        stop("section '%s' with '%s' for '%s' is loaded", tag, to, from);
    buf_fini(&out);
    mem_free(copy);
    container_free(c);
}

static void test_wrong_facts(void **state)
{
    module *m = filled();
    size_t n;
    char *p;

    (void)state;
    OK(module_save(m, at("m.hull"), ALL_FLAGS));
    module_unref(m);
    p = slurp(at("m.hull"), &n);
    refused(p, n, "module", "\"shape\":[5,11]", "\"shape\":[11,5]");
    refused(p, n, "module", "\"shape\":[5,11]", "\"shape\":[5,-11]");
    refused(p, n, "module", "\"dtype\":\"f32\"", "\"dtype\":\"f16\"");
    refused(p, n, "module", "\"dtype\":\"f32\"", "\"dtype\":\"f33\"");
    refused(p, n, "module", "\"engine\":0", "\"engine\":9");
    refused(p, n, "module", "\"engine\":0", "\"engine\":1");
    refused(p, n, "module", "\"backend\":\"sim\"", "\"backend\":\"ref\"");
    refused(p, n, "module", "\"graph\":0", "\"graph\":1");
    refused(p, n, "module", "\"tier\":0", "\"tier\":16");
    refused(p, n, "module", "\"value\":0", "\"value\":8");
    refused(p, n, "module", "\"kept\":true", "\"kept\":false");
    refused(p, n, "module", "\"inputs\":[\"x\"]", "\"inputs\":[]");
    refused(p, n, "main", "@b0", "@b1");
    refused(p, n, "main", "f32[N,5]", "f32[N,6]");
    refused(p, n, "main", "f32[N,5]", "f64[N,5]");
    refused(p, n, "recipes", "[1,0]", "[0,1]");
    refused(p, n, "binding", "\"graph\":0", "\"graph\":5");
    refused(p, n, "binding", "fc1.bias", "fc2.weight");
    refused(p, n, "binding.graphs", "fc1.weight", "fc1.height");
    refused(p, n, "sources.index", "\"offset\":0", "\"offset\":1");
    refused(p, n, "sources.index", "\"offset\":0", "\"offset\":4096000");
    refused(p, n, "sources.index", "[11,5]", "[5,11]");
    refused(p, n, "slots.index", "\"offsets\":[0", "\"offsets\":[4096000");
    refused(p, n, "slots.index", "\"offsets\":[0", "\"offsets\":[1");
    refused(p, n, "slots.index", "\"offsets\":[0", "\"offsets\":[0,0");
    mem_free(p);
}

static void test_wrong_kind(void **state)
{
    module *m = filled(), *l;
    container_writer *cw;

    (void)state;
    OK(engine_write(&cw, module_plan(m)->blocks[0].e));
    OK(container_write(cw, at("e.hull")));
    container_writer_free(cw);
    assert_int_equal(load_with(&l, at("e.hull"), NULL, ""), HULL_EFORMAT);
    assert_int_equal(load_with(&l, at("absent.hull"), NULL, ""),
                     HULL_ENOTFOUND);
    spill(at("empty.hull"), "", 0);
    assert_int_equal(load_with(&l, at("empty.hull"), NULL, ""),
                     HULL_EFORMAT);
    module_unref(m);
}

/* ---- no memory ----------------------------------------------------------- */

static void test_out_of_memory(void **state)
{
    module *m = compiled("threads=1"), *l;
    options *o = options_of("threads=1");
    answer before, after;
    hull_status st = HULL_ENOMEM;
    int64_t live;

    (void)state;
    OK(refit_with(m, "a.safetensors", "", NULL));
    before = answer_of(m);
    live = mem_live();
    for (uint64_t i = 1; st != HULL_OK; i++) {
        mem_fail_at(i, true);
        st = module_save(m, at("m.hull"), ALL_FLAGS | HULL_SAVE_LINK);
        mem_fail_at(0, false);
        assert_true(st == HULL_OK || st == HULL_ENOMEM);
        assert_int_equal(mem_live(), live);
    }
    after = answer_of(m);
    same(&before, &after);
    module_unref(m);
    for (unsigned k = 0; k < 2; k++) {
        const char *path = at(k == 0 ? "m.hull" : "s.hull");

        if (k == 1) {
            OK(module_load(&l, at("m.hull"), NULL, NULL, o));
            OK(module_save(l, path, HULL_SAVE_SOURCES));
            module_unref(l);
        }
        live = mem_live();
        st = HULL_ENOMEM;
        for (uint64_t i = 1; st != HULL_OK; i++) {
            mem_fail_at(i, true);
            st = module_load(&l, path, NULL, NULL, o);
            mem_fail_at(0, false);
            assert_true(st == HULL_OK || st == HULL_ENOMEM);
            if (st != HULL_OK)
                assert_int_equal(mem_live(), live);
        }
        after = answer_of(l);
        same(&before, &after);
        module_unref(l);
        assert_int_equal(mem_live(), live);
    }
    options_free(o);
}

static int set_up(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_plan_survives),
        cmocka_unit_test(test_stripped),
        cmocka_unit_test(test_link),
        cmocka_unit_test(test_no_sources),
        cmocka_unit_test(test_lent_memory),
        cmocka_unit_test(test_sources_index),
        cmocka_unit_test(test_partial_refit),
        cmocka_unit_test(test_foreign_target),
        cmocka_unit_test(test_stale_slots),
        cmocka_unit_test(test_describe),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_hostile_sections),
        cmocka_unit_test(test_wrong_facts),
        cmocka_unit_test(test_wrong_kind),
        cmocka_unit_test(test_out_of_memory),
    };

    return cmocka_run_group_tests(tests, set_up, remove_folder);
}
