/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * key_edits.c - no two programs have one key, no program has two. Over the
 * blocks of all models at hand (the project's own, the shared fixtures and real
 * models) and the graphs of the golden files, which have every op:
 *
 *   - HULL_KEY_EDITS single random edits. An edit counts when the shape rules
 *     and the verifier take the result and graph_difference(), which knows no
 *     canonical text, says that it is another graph (names and the order of
 *     independent nodes are none; operands of a commutative op are not turned).
 *     Its key must differ from its original's and from those of all other
 *     edits and originals, unless graph_difference() says that those are the
 *     same graph for the same backend, target and options. And its text, parsed,
 *     must be that graph again, so that a text stands for one graph only.
 *   - HULL_KEY_SAMES disguises (keys_disguise.c): the key stays.
 *
 *     key_edits            HULL_KEY_SEED, HULL_KEY_ONE=number: that edit alone
 */
#include "keys.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_EDITS 10000
#define N_SAMES 1000
#define DRAWS_MAX 4000

/* Beside those of graphs: edits of the other fields of a key. */
enum { KEY_BACKEND = EDIT_COUNT, KEY_TARGET, KEY_OPTION, KINDS };

typedef struct base {
    char *name;
    ir *m;
    graph *g;
    buf text;
} base;

/* One key and what it was made of. */
typedef struct subject {
    const base *of;
    ir *m;           /* NULL: of->g as it is */
    graph *g;
    char backend[16];
    char target[64];
    hull_options *o;
    char option[48]; /* what o sets; "" = nothing */
    const char *what;
} subject;

typedef struct world {
    devices ds;
    base *bases;
    size_t n, cap;
    size_t n_blocks; /* of models; golden graphs follow */
    strmap seen;     /* texts of bases, by digest */
    uint64_t seed;
    strmap keys;     /* digest -> number of the edit, or of a base + n_edits */
    uint64_t n_edits;
    unsigned passed[KINDS], draws[KINDS], failed, models, absent;
} world;

/* Of a copy: the canonical order may not repair, or damage, what a comparison
 * looks at afterwards. */
static hull_status text_of(buf *out, const graph *g)
{
    hull_status st = HULL_OK;
    graph *c;
    ir *m;

    TRY(ir_new(&m));
    c = graph_copy(m, g, str_of("main"));
    TRY_OUT(ir_status(m));
    TRY_OUT(graph_canonical_text(out, c));
out:
    ir_free(m);
    return st;
}

/* ---- graphs to start from ------------------------------------------------ */

static hull_status add_base(world *w, const char *name, const graph *g)
{
    hull_status st = HULL_OK;
    base b = { .name = strdup(name) };
    uint32_t at;
    digest d;

    buf_init(&b.text, SIZE_MAX / 2);
    TRY_OUT(ir_new(&b.m));
    b.g = graph_copy(b.m, g, str_of("main"));
    TRY_OUT(ir_status(b.m));
    TRY_OUT(text_of(&b.text, b.g));
    d = digest_of(b.text.p, b.text.n);
    if (strmap_get(&w->seen, (str){ (const char *)d.b, sizeof d.b }, &at))
        goto out;
    TRY_OUT(mem_grow(&w->bases, &w->cap, w->n + 1, sizeof *w->bases));
    TRY_OUT(strmap_set(&w->seen, (str){ (const char *)d.b, sizeof d.b },
                       (uint32_t)w->n));
    w->bases[w->n++] = b;
    return HULL_OK;
out:
    buf_fini(&b.text);
    ir_free(b.m);
    free(b.name);
    return st;
}

static hull_status add_model(void *user, const char *path)
{
    world *w = user;
    hull_status st = HULL_OK;
    key_model k;

    TRY(key_model_open(&k, path, NULL, &w->ds));
    w->models++;
    for (uint32_t i = 0; i < k.n && st == HULL_OK; i++)
        st = add_base(w, path, k.g[i]);
    if (k.fm->g->n_states > 0 && st == HULL_OK) /* blocks have none */
        st = add_base(w, path, k.fm->g);
    key_model_close(&k);
    return st;
}

static hull_status add_packed(void *user, const char *path)
{
    world *w = user;
    hull_status st;
    char to[64];

    snprintf(to, sizeof to, "/tmp/hull-keys-%ld.pt2", (long)getpid());
    TRY(key_unpack(path, to));
    st = add_model(w, to);
    remove(to);
    return note(st, "%s", path);
}

/* *out_ok: it parses. */
static hull_status add_text(world *w, const char *name, str text, bool *out_ok)
{
    hull_status st = HULL_OK;
    ir *m;

    *out_ok = ir_parse(&m, text, NULL) == HULL_OK;
    error_clear();
    for (uint32_t i = 0; *out_ok && i < m->n_graphs && st == HULL_OK; i++)
        st = add_base(w, name, m->graphs[i]);
    ir_free(m);
    return st;
}

/* A golden file, as a whole or, where some graphs are there to be refused,
 * each graph by itself. */
static hull_status add_golden(void *user, const char *path)
{
    world *w = user;
    char *text, *at, *end;
    hull_status st;
    bool ok;
    size_t n;

    TRY(file_read_all(&text, &n, path, (size_t)1 << 26));
    st = add_text(w, path, (str){ text, n }, &ok);
    for (at = ok ? NULL : text; at != NULL && st == HULL_OK; at = end) {
        end = strstr(at + 1, "\ngraph @");
        n = end != NULL ? (size_t)(end - at) : strlen(at);
        st = add_text(w, path, (str){ at, n }, &ok);
    }
    mem_free(text);
    return st;
}

static hull_status add_shared(world *w)
{
    static const char *const folders[] = { "fixtures", "models" };

    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        const char *path = key_shared(folders[i]);

        if (path == NULL) {
            printf("skip  no shared %s\n", folders[i]);
            w->absent++;
            continue;
        }
        TRY(key_each_file(path, ".onnx", add_model, w));
        path = key_shared(folders[i]);
        TRY(key_each_file(path, ".pt2", add_model, w));
    }
    return HULL_OK;
}

/* No model at hand has literals so large that the text has their digest. */
static hull_status add_large(world *w)
{
    static const hull_dtype types[] = { HULL_F32, HULL_F16, HULL_I64, HULL_U8,
                                        HULL_BOOL };
    static const int64_t dims[2] = { 13, 7 };
    static const char zeros[13 * 7 * 8];
    hull_status st;
    graph *g;
    ir *m;

    TRY(ir_new(&m));
    g = graph_new(m, str_of("main"));
    for (size_t i = 0; i < COUNT_OF(types); i++)
        graph_result(g, op_const(g, types[i], dims, 2, zeros));
    st = ir_status(m);
    if (st == HULL_OK)
        st = add_base(w, "large literals", g);
    ir_free(m);
    return st;
}

static hull_status add_all(world *w)
{
    static const char *const own[] = {
        "demo/digits.onnx", "demo/digits.pt2", "tests/data/state.pt2",
        "tests/data/random.pt2",
    };

    TRY(add_large(w));
    for (size_t i = 0; i < COUNT_OF(own); i++)
        TRY(add_model(w, own[i]));
    TRY(key_each_file("tests/data/onnx_contrib", ".onnx", add_model, w));
    TRY(key_each_file("tests/data/pt2", ".gz", add_packed, w));
    TRY(add_shared(w));
    w->n_blocks = w->n;
    TRY(key_each_file("tests/print", ".ir", add_golden, w));
    TRY(key_each_file("tests/passes", ".ir", add_golden, w));
    return key_each_file("tests/ops", ".ir", add_golden, w);
}

/* Has b what an edit of that kind changes? */
static bool is_place(const base *b, unsigned kind)
{
    op_code op = kind == EDIT_literal                        ? OP_const
                 : kind == EDIT_hole || kind == EDIT_sharing ? OP_weight
                                                             : OP_none;
    bool found = op == OP_none;

    if (kind == EDIT_state)
        return b->g->n_states > 0;
    if (kind == EDIT_symbol)
        return dim_n_nodes(b->m) > 0;
    for (const node *n = graph_first(b->g); !found && n != NULL;
         n = graph_next(b->g, n))
        found = n->op == op;
    return found;
}

/* One of the blocks or, as often, of the golden graphs. */
static const base *any_base(const world *w, unsigned kind, rng *r)
{
    bool block = rng_below(r, 2) == 0;
    size_t first = block ? 0 : w->n_blocks;
    size_t n = block ? w->n_blocks : w->n - w->n_blocks;
    size_t at = rng_below(r, n);

    if (kind == EDIT_literal && rng_below(r, 8) == 0)
        return &w->bases[0]; /* large ones */
    for (size_t i = 0; i < n; i++)
        if (is_place(&w->bases[first + (at + i) % n], kind))
            return &w->bases[first + (at + i) % n];
    return &w->bases[first + at];
}

/* ---- one key ------------------------------------------------------------- */

static void subject_fini(subject *s)
{
    ir_free(s->m);
    hull_options_free(s->o);
    *s = (subject){ 0 };
}

static void subject_init(subject *s, const base *b)
{
    static const char target[] = "avx2 generic 0123456789abcdef";

    *s = (subject){ .of = b, .g = b->g, .backend = "cpu", .what = "" };
    memcpy(s->target, target, sizeof target);
}

static bool edit_target(subject *s, rng *r)
{
    size_t n = strlen(s->target), i = rng_below(r, n);

    s->what = "target";
    if (rng_below(r, 3) == 0) {
        memmove(s->target + i, s->target + i + 1, n - i);
        return true;
    }
    s->target[i] = (char)(' ' + (s->target[i] - ' ' + 1 +
                                 (int)rng_below(r, 90)) % 95);
    return true;
}

static bool edit_backend(subject *s, rng *r)
{
    static const char *const names[] = { "ref", "sim", "cpu2", "cp", "" };
    const char *name = names[rng_below(r, COUNT_OF(names))];

    s->what = "backend";
    memcpy(s->backend, name, strlen(name) + 1);
    return true;
}

static bool edit_option(subject *s, rng *r)
{
    hull_option_info info;
    uint32_t n = 0;
    char v[16];

    while (hull_options_describe(n, &info) == HULL_OK)
        n++;
    error_clear();
    if (hull_options_describe(rng_below(r, n), &info) != HULL_OK ||
        strcmp(info.effect, "CODE") != 0 || options_new(&s->o) != HULL_OK)
        return false;
    s->what = info.key;
    snprintf(v, sizeof v, "%u", 1 + rng_below(r, 64));
    if (strcmp(info.default_value, "on") == 0)
        memcpy(v, "off", 4);
    else if (strcmp(info.default_value, "off") == 0)
        memcpy(v, "on", 3);
    snprintf(s->option, sizeof s->option, "%s=%s", info.key, v);
    return strcmp(v, info.default_value) != 0 &&
           hull_options_set(s->o, info.key, v) == HULL_OK;
}

static bool edit_copy(subject *s, edit_kind kind, rng *r)
{
    if (ir_new(&s->m) != HULL_OK)
        return false;
    s->g = graph_copy(s->m, s->of->g, str_of("main"));
    return s->g != NULL && edit_graph(s->g, kind, r, &s->what) &&
           graph_difference(s->of->g, s->g) != NULL;
}

static bool edit_subject(subject *s, unsigned kind, rng *r)
{
    if (kind == KEY_BACKEND)
        return edit_backend(s, r);
    if (kind == KEY_TARGET)
        return edit_target(s, r);
    if (kind == KEY_OPTION)
        return edit_option(s, r);
    return edit_copy(s, (edit_kind)kind, r);
}

/* The i-th edit, always the same one; beyond the edits, a base as it is. */
static hull_status make_subject(subject *s, world *w, uint64_t i)
{
    unsigned kind = (unsigned)(i % KINDS);
    rng r = { w->seed + i * UINT64_C(0xd1342543de82ef95) };

    if (i >= w->n_edits) {
        subject_init(s, &w->bases[i - w->n_edits]);
        return HULL_OK;
    }
    for (unsigned k = 0; k < DRAWS_MAX; k++) {
        subject_init(s, any_base(w, kind, &r));
        w->draws[kind]++;
        if (edit_subject(s, kind, &r))
            return HULL_OK;
        subject_fini(s);
    }
    return fail(HULL_EINTERNAL, "%u draws found no edit", DRAWS_MAX);
}

static hull_status key_of(digest *out, buf *text, const subject *s)
{
    cache_key k;

    TRY(text_of(text, s->g));
    TRY(cache_key_make(&k, str_of(s->backend), str_of(s->target), s->o,
                       buf_view(text)));
    *out = k.d;
    cache_key_fini(&k);
    return HULL_OK;
}

/* ---- properties ---------------------------------------------------------- */

/* The text alone gives the graph back. */
static hull_status check_text(const subject *s, str text)
{
    const char *why;
    ir *m;

    TRY(note(ir_parse(&m, text, s->g->m), "the canonical text"));
    why = graph_difference(s->g, m->graphs[0]);
    ir_free(m);
    return why == NULL ? HULL_OK
                       : fail(HULL_EMISMATCH, "parsed, the text differs in %s",
                              why);
}

/* Two subjects with one key must be one program. */
static hull_status check_equal(world *w, const subject *s, uint64_t other)
{
    const char *why;
    subject t;

    TRY(make_subject(&t, w, other));
    why = graph_difference(s->g, t.g);
    if (why == NULL && strcmp(s->backend, t.backend) != 0)
        why = "the backend";
    if (why == NULL && strcmp(s->target, t.target) != 0)
        why = "the target";
    if (why == NULL && strcmp(s->option, t.option) != 0)
        why = "options";
    subject_fini(&t);
    return why == NULL ? HULL_OK
                       : fail(HULL_EMISMATCH, "one key with edit %llu, which "
                              "differs in %s", (unsigned long long)other, why);
}

static hull_status check_key(world *w, const subject *s, uint64_t i,
                             const digest *d)
{
    str key = { (const char *)d->b, sizeof d->b };
    uint32_t other;

    if (strmap_get(&w->keys, key, &other))
        return check_equal(w, s, other);
    return strmap_set(&w->keys, key, (uint32_t)i);
}

static hull_status check_subject(world *w, const subject *s, uint64_t i)
{
    hull_status st = HULL_OK;
    digest d;
    buf text;

    buf_init(&text, SIZE_MAX / 2);
    TRY_OUT(key_of(&d, &text, s));
    if (s->m != NULL && str_eq(buf_view(&text), buf_view(&s->of->text)))
        TRY_OUT(fail(HULL_EMISMATCH, "the text is the original's"));
    TRY_OUT(check_text(s, buf_view(&text)));
    TRY_OUT(check_key(w, s, i, &d));
out:
    buf_fini(&text);
    return st;
}

static void check_edit(world *w, uint64_t i)
{
    unsigned kind = (unsigned)(i % KINDS);
    subject s = { 0 };
    hull_status st = make_subject(&s, w, i);

    if (st == HULL_OK)
        st = check_subject(w, &s, i);
    if (st == HULL_OK) {
        w->passed[kind] += i < w->n_edits;
    } else {
        w->failed++;
        printf("FAIL  edit %llu of %s: %s of %s: %s\n", (unsigned long long)i,
               s.of != NULL ? s.of->name : "nothing",
               i >= w->n_edits     ? "none"
               : kind < EDIT_COUNT ? edit_name((edit_kind)kind)
                                   : "the key",
               s.what != NULL ? s.what : "", error_text());
    }
    subject_fini(&s);
}

static hull_status check_disguise(const base *b, rng *r)
{
    const char *why;
    hull_status st = HULL_OK;
    graph *g;
    buf text;
    ir *m;

    TRY(disguise_graph(&m, &g, b->g, r));
    buf_init(&text, SIZE_MAX / 2);
    why = graph_difference(b->g, g);
    if (why != NULL) /* the test's own fault */
        TRY_OUT(fail(HULL_EINTERNAL, "the disguise differs in %s", why));
    TRY_OUT(text_of(&text, g));
    if (!str_eq(buf_view(&text), buf_view(&b->text)))
        TRY_OUT(fail(HULL_EMISMATCH, "another text:\n%.*s\n%.*s",
                     STR_ARG(buf_view(&b->text)), STR_ARG(buf_view(&text))));
out:
    buf_fini(&text);
    ir_free(m);
    return st;
}

static unsigned check_disguises(world *w, uint64_t n)
{
    unsigned passed = 0;

    for (uint64_t i = 0; i < n; i++) {
        rng r = { w->seed ^ (i * UINT64_C(0xda942042e4dd58b5)) };
        const base *b = any_base(w, EDIT_attribute, &r);

        if (check_disguise(b, &r) == HULL_OK) {
            passed++;
            continue;
        }
        w->failed++;
        printf("FAIL  disguise %llu of %s: %s\n", (unsigned long long)i,
               b->name, error_text());
    }
    return passed;
}

/* ---- the whole ----------------------------------------------------------- */

static void check_all(world *w)
{
    uint64_t one = key_setting("HULL_KEY_ONE", UINT64_MAX);

    for (uint64_t i = w->n_edits; i < w->n_edits + w->n; i++)
        check_edit(w, i); /* the originals among themselves */
    for (uint64_t i = 0; i < w->n_edits; i++)
        if (one == UINT64_MAX || one == i)
            check_edit(w, i);
}

static void world_fini(world *w)
{
    for (size_t i = 0; i < w->n; i++) {
        buf_fini(&w->bases[i].text);
        ir_free(w->bases[i].m);
        free(w->bases[i].name);
    }
    mem_free(w->bases);
    strmap_fini(&w->seen);
    strmap_fini(&w->keys);
    devices_close(&w->ds);
}

int main(void)
{
    world w = { .seed = key_setting("HULL_KEY_SEED", 20260601),
                .n_edits = key_setting("HULL_KEY_EDITS", N_EDITS) };
    uint64_t n_sames = key_setting("HULL_KEY_SAMES", N_SAMES);
    unsigned sames, kinds = 0;

    if (devices_open(&w.ds, NULL) != HULL_OK || add_all(&w) != HULL_OK) {
        printf("FAIL  %s\n0 passed, 1 failed, 0 skipped\n", error_text());
        return 1;
    }
    printf("seed %llu: %zu blocks of %u models, %zu graphs of golden files\n",
           (unsigned long long)w.seed, w.n_blocks, w.models,
           w.n - w.n_blocks);
    check_all(&w);
    sames = check_disguises(&w, n_sames);
    for (unsigned k = 0; k < KINDS; k++) {
        printf("%-14s %5u edits, %6u draws\n",
               k < EDIT_COUNT ? edit_name((edit_kind)k)
               : k == KEY_BACKEND ? "backend"
               : k == KEY_TARGET ? "target" : "option",
               w.passed[k], w.draws[k]);
        kinds += w.passed[k] > 0;
    }
    printf("%-14s %5u\n", "disguise", sames);
    printf("%u passed, %u failed, %u skipped\n", kinds + (sames > 0),
           w.failed, w.absent);
    world_fini(&w);
    return w.failed != 0;
}
