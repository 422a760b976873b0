/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_engine.c - engines are built, written and read; both backends compute
 * what the block says; the file of an engine may hold anything.
 */
#include "unit.h"

#include "engine/engine.h"
#include "passes/pass.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define fault(...)                \
    do {                          \
        print_error(__VA_ARGS__); \
        assert_true(false);       \
    } while (0)

/* Two linear layers, the second one transposed, a norm of weights alone. */
static const char block_text[] =
    "graph @b(%x: f32[N,2,5]) where N=1..8 {\n"
    "  %w = weight \"w\" : f32[5,11]\n"
    "  %b = weight \"b\" : f32[11]\n"
    "  %u = weight \"u\" : f32[3,11]\n"
    "  %s = weight \"s\" : f32[3]\n"
    "  %1 = matmul %x, %w, %b : f32[N,2,11]\n"
    "  %2 = relu %1 : f32[N,2,11]\n"
    "  %3 = matmul %2, %u {trans_b=true} : f32[N,2,3]\n"
    "  %4 = exp %s : f32[3]\n"
    "  %5 = max %3, %4 : f32[N,2,3]\n"
    "  return %5, %1\n"
    "}\n";

static ir *parsed(const char *text)
{
    ir *m;

    if (ir_parse(&m, str_of(text), NULL) != HULL_OK)
        fault("%s\n", error_text());
    return m;
}

static device *opened(const char *name)
{
    device *d;

    assert_int_equal(backend_find(str_of(name))->open(&d, NULL, NULL),
                     HULL_OK);
    return d;
}

static cache_key key_of(graph *g, device *d, const options *o)
{
    cache_key k;
    buf text, target;

    buf_init(&text, 1 << 20);
    buf_init(&target, 1 << 20);
    assert_int_equal(graph_canonical_text(&text, g), HULL_OK);
    d->be->target(&target, d);
    assert_int_equal(cache_key_make(&k, str_of(d->be->name),
                                    buf_view(&target), o, buf_view(&text)),
                     HULL_OK);
    buf_fini(&text);
    buf_fini(&target);
    return k;
}

static engine *built(const char *text, const char *backend_name,
                     const options *o)
{
    device *d = opened(backend_name);
    ir *m = parsed(text);
    cache_key k = key_of(m->graphs[0], d, o);
    engine *e;

    if (engine_build(&e, m->graphs[0], &k, d, o, NULL) != HULL_OK)
        fault("%s\n", error_text());
    assert_memory_equal(&e->key, &k.d, sizeof k.d);
    cache_key_fini(&k);
    ir_free(m);
    d->be->close(d);
    return e;
}

static char *printed(const engine *e)
{
    buf b;

    buf_init(&b, 1 << 24);
    graph_print(&b, e->prepare);
    graph_print(&b, e->main);
    assert_int_equal(buf_status(&b), HULL_OK);
    return buf_take(&b);
}

static buf file_of(const engine *e)
{
    container_writer *w;
    buf b;

    assert_int_equal(engine_write(&w, e), HULL_OK);
    assert_int_equal(container_write_buf(w, &b), HULL_OK);
    container_writer_free(w);
    return b;
}

static hull_status read_bytes(engine **out, const void *p, size_t n)
{
    container *c = NULL;
    hull_status st;

    *out = NULL;
    st = container_open(&c, (bytes){p, n}, UINT64_MAX);
    if (st == HULL_OK)
        st = engine_read(out, c);
    container_free(c);
    return st;
}

/* ---- running an engine --------------------------------------------------- */

#define MAX_VALUES 16

typedef struct values {
    uint32_t n;
    shape shapes[MAX_VALUES];
    place places[MAX_VALUES];
} values;

static uint64_t bytes_of(const shape *s)
{
    uint64_t n = 4;

    for (uint32_t i = 0; i < s->rank; i++)
        n *= (uint64_t)s->dims[i];
    return n;
}

static void add_value(values *v, device *d, const shape *s)
{
    place *at = &v->places[v->n];

    assert_true(v->n < MAX_VALUES);
    v->shapes[v->n++] = *s;
    *at = (place){.size = bytes_of(s)};
    assert_int_equal(d->be->buffer_new(&at->buffer, d, at->size), HULL_OK);
}

static void values_free(values *v, device *d)
{
    for (uint32_t i = 0; i < v->n; i++)
        d->be->buffer_free(v->places[i].buffer);
}

static values run_program(device *d, stream *s, const graph *g,
                          const values *in)
{
    shape results[MAX_VALUES];
    values out = {0};
    place scratch = {0};
    program_plan *pl;
    program *p;

    assert_int_equal(d->be->program_load(&p, d, g), HULL_OK);
    if (d->be->program_plan(&pl, p, in->shapes, in->n, results,
                            &scratch.size) != HULL_OK)
        fault("%s\n", error_text());
    assert_int_equal(d->be->buffer_new(&scratch.buffer, d, scratch.size),
                     HULL_OK);
    for (uint32_t i = 0; i < g->body->n_results; i++)
        add_value(&out, d, &results[i]);
    assert_int_equal(d->be->program_run(s, p, pl, in->places, out.places,
                                        scratch), HULL_OK);
    if (d->be->stream_sync(s) != HULL_OK)
        fault("%s\n", error_text());
    d->be->plan_free(pl);
    d->be->program_free(p);
    d->be->buffer_free(scratch.buffer);
    return out;
}

static float number(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return (float)(int32_t)(*seed >> 8) / (1 << 22) - 2;
}

static void add_random(values *v, device *d, stream *s, const shape *sh,
                       uint32_t *seed)
{
    size_t n = bytes_of(sh) / 4;
    float *p = mem_alloc(n * 4);

    for (size_t i = 0; i < n; i++)
        p[i] = number(seed);
    add_value(v, d, sh);
    assert_int_equal(d->be->upload(s, v->places[v->n - 1], p), HULL_OK);
    assert_int_equal(d->be->stream_sync(s), HULL_OK);
    mem_free(p);
}

static shape shape_of(const graph *g, val v, int64_t n)
{
    const type *t = graph_type(g, v);
    shape s = {.rank = t->rank};

    for (uint32_t i = 0; i < t->rank; i++)
        s.dims[i] = t->dims[i] >= 0 ? t->dims[i] : n;
    return s;
}

/* All outputs for random weights and inputs with N = 3. */
static float *answers(const engine *e, const char *backend_name, size_t *out_n)
{
    device *d = opened(backend_name);
    values holes = {0}, in = {0}, slots, out;
    uint32_t seed = 7;
    float *all = mem_calloc(1, 4096);
    shape x = shape_of(e->main, e->main->body->params[0], 3);
    size_t at = 0;
    stream *s;

    assert_int_equal(d->be->stream_new(&s, d), HULL_OK);
    add_random(&in, d, s, &x, &seed);
    for (uint32_t i = 0; i < e->prepare->body->n_params; i++) {
        shape h = shape_of(e->prepare, e->prepare->body->params[i], 0);

        add_random(&holes, d, s, &h, &seed);
    }
    slots = run_program(d, s, e->prepare, &holes);
    for (uint32_t i = 0; i < slots.n; i++) {
        in.shapes[in.n] = slots.shapes[i];
        in.places[in.n++] = slots.places[i];
    }
    out = run_program(d, s, e->main, &in);
    for (uint32_t i = 0; i < out.n; i++) {
        assert_true(at + out.places[i].size <= 4096);
        assert_int_equal(d->be->download(s, (char *)all + at, out.places[i]),
                         HULL_OK);
        at += out.places[i].size;
    }
    assert_int_equal(d->be->stream_sync(s), HULL_OK);
    d->be->stream_free(s);
    values_free(&in, d); /* the slots as well */
    values_free(&holes, d);
    values_free(&out, d);
    d->be->close(d);
    *out_n = at / 4;
    return all;
}

/* ---- tests --------------------------------------------------------------- */

static void builds_two_programs(void **state)
{
    engine *e = built(block_text, "ref", NULL);
    char *text = printed(e);

    (void)state;
    assert_string_equal(
        text,
        "graph @prepare(%0: f32[5,11], %1: f32[11], %2: f32[3,11], "
        "%3: f32[3]) {\n"
        "  %4 = exp %3 : f32[3]\n"
        "  return %0, %1, %2, %4\n"
        "}\n"
        "graph @main(%0: f32[N,2,5], %1: f32[5,11], %2: f32[11], "
        "%3: f32[3,11], %4: f32[3]) where N=1..8 {\n"
        "  %5 = matmul %0, %1, %2 : f32[N,2,11]\n"
        "  %6 = relu %5 : f32[N,2,11]\n"
        "  %7 = matmul %6, %3 {trans_b=true} : f32[N,2,3]\n"
        "  %8 = max %7, %4 : f32[N,2,3]\n"
        "  return %8, %5\n"
        "}\n");
    assert_true(str_is(e->backend, "ref"));
    assert_true(e->build_seconds > 0);
    mem_free(text);
    engine_unref(e);
}

static void reads_what_it_wrote(void **state)
{
    engine *e = built(block_text, "sim", NULL), *again;
    buf f = file_of(e), g;
    char *a = printed(e), *b;

    (void)state;
    assert_int_equal(e->n_bytes, f.n);
    if (read_bytes(&again, f.p, f.n) != HULL_OK)
        fault("%s\n", error_text());
    b = printed(again);
    assert_string_equal(a, b);
    assert_memory_equal(&e->key, &again->key, sizeof e->key);
    assert_true(str_eq(e->backend, again->backend));
    assert_true(str_eq(e->target, again->target));
    assert_int_equal(again->n_bytes, f.n);
    g = file_of(again);
    assert_int_equal(f.n, g.n);
    assert_memory_equal(f.p, g.p, f.n);
    mem_free(a);
    mem_free(b);
    buf_fini(&f);
    buf_fini(&g);
    engine_unref(engine_ref(again));
    engine_unref(again);
    engine_unref(e);
}

static options *with_tile(const char *tile)
{
    options *o;

    assert_int_equal(options_new(&o), HULL_OK);
    assert_int_equal(hull_options_set(o, "tile", tile), HULL_OK);
    return o;
}

/* sim packs: other slots, the same answers, for every tile. */
static void sim_computes_what_ref_computes(void **state)
{
    const char *const tiles[] = {"1", "3", "8", "11", "64"};
    engine *ref = built(block_text, "ref", NULL);
    size_t n, m;
    float *want = answers(ref, "ref", &n), *got;

    (void)state;
    assert_int_equal(n, 3 * 2 * 3 + 3 * 2 * 11);
    for (size_t i = 0; i < COUNT_OF(tiles); i++) {
        options *o = with_tile(tiles[i]);
        engine *e = built(block_text, "sim", o);

        got = answers(e, "sim", &m);
        assert_int_equal(n, m);
        assert_memory_equal(want, got, n * 4);
        assert_false(digest_eq(&e->key, &ref->key));
        mem_free(got);
        engine_unref(e);
        options_free(o);
    }
    mem_free(want);
    engine_unref(ref);
}

/* Slots of sim are packed: padded to the tile, panels first. */
static void sim_packs_in_prepare(void **state)
{
    engine *e = built(block_text, "sim", NULL);
    const region *p = e->prepare->body;
    shape w = shape_of(e->prepare, p->results[0], 0);
    const node *n;

    (void)state;
    assert_int_equal(w.rank, 3);
    assert_int_equal(w.dims[0], 2);
    assert_int_equal(w.dims[1], 5);
    assert_int_equal(w.dims[2], 8);
    for (n = graph_first(e->main); n != NULL; n = graph_next(e->main, n))
        assert_int_not_equal(n->op, OP_pad);
    engine_unref(e);
}

/* The outcome of tuning is content of an engine, not part of its key. */
static void tuning_is_not_in_the_key(void **state)
{
    engine *a = built(block_text, "sim", NULL), *b;
    char *x = printed(a), *y;

    (void)state;
    setenv("HULL_SIM_TUNE", "1", 1);
    b = built(block_text, "sim", NULL);
    unsetenv("HULL_SIM_TUNE");
    y = printed(b);
    assert_true(digest_eq(&a->key, &b->key));
    assert_string_not_equal(x, y);
    mem_free(x);
    mem_free(y);
    engine_unref(a);
    engine_unref(b);
}

static void fuse_off_leaves_the_block(void **state)
{
    static const char text[] = "graph @b(%x: f32[2,5]) {\n"
                               "  %w = weight \"w\" : f32[5,3]\n"
                               "  %b = weight \"b\" : f32[3]\n"
                               "  %1 = matmul %x, %w : f32[2,3]\n"
                               "  %2 = add %1, %b : f32[2,3]\n"
                               "  return %2\n"
                               "}\n";
    engine *on, *off;
    options *o;

    (void)state;
    assert_int_equal(options_new(&o), HULL_OK);
    on = built(text, "ref", o);
    assert_int_equal(hull_options_set(o, "fuse", "off"), HULL_OK);
    off = built(text, "ref", o);
    assert_int_equal(graph_n_nodes(on->main), 1);
    assert_int_equal(graph_n_nodes(off->main), 2);
    assert_false(digest_eq(&on->key, &off->key));
    engine_unref(on);
    engine_unref(off);
    options_free(o);
}

static void device_refuses_what_it_says(void **state)
{
    static const char text[] =
        "graph @b(%x: f32[4], %y: f64[4]) {\n"
        "  %1, %2 = topk %x {k=2} : f32[2], i64[2]\n"
        "  %3 = relu %x : f32[4]\n"
        "  %4 = exp %y : f64[4]\n"
        "  return %1, %2, %3, %4\n"
        "}\n";
    device *d = opened("sim");
    ir *m = parsed(text);
    graph *g = m->graphs[0];

    (void)state;
    for (node *n = graph_first(g); n != NULL; n = graph_next(g, n)) {
        const char *why = d->be->why_not(d, g, n);

        if (n->op == OP_relu)
            assert_null(why);
        else
            assert_non_null(why);
    }
    ir_free(m);
    d->be->close(d);
}

/* Errors of queued work come out at the sync, once. */
static void sim_errors_surface_at_sync(void **state)
{
    device *d = opened("sim");
    char data[256] = {1}, back[256] = {0};
    place at = {.size = 100};
    stream *s;

    (void)state;
    assert_int_equal(d->be->buffer_new(&at.buffer, d, 100), HULL_OK);
    assert_int_equal(d->be->stream_new(&s, d), HULL_OK);
    assert_int_equal(d->be->upload(s, at, data), HULL_OK);
    at.off = 60;
    assert_int_equal(d->be->upload(s, at, data), HULL_OK);
    at.off = 0;
    assert_int_equal(d->be->download(s, back, at), HULL_OK);
    assert_int_equal(d->be->stream_sync(s), HULL_EDEVICE);
    assert_non_null(strstr(error_text(), "100 bytes at 60"));
    assert_int_equal(back[0], 0);
    assert_int_equal(d->be->stream_sync(s), HULL_OK);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(d->be->download(s, back, at), HULL_OK);
    assert_int_equal(d->be->stream_sync(s), HULL_OK);
    assert_int_equal(back[0], 1);
    d->be->stream_free(s);
    d->be->buffer_free(at.buffer);
    d->be->close(d);
}

/* ---- damaged and forged files -------------------------------------------- */

static void damage_is_refused(void **state)
{
    engine *e = built(block_text, "ref", NULL), *again;
    buf f = file_of(e);
    char *copy = mem_alloc(f.n);

    (void)state;
    for (size_t n = 0; n < f.n; n++) {
        char *cut = mem_alloc(n);

        memcpy(cut, f.p, n);
        assert_int_equal(read_bytes(&again, cut, n), HULL_EFORMAT);
        mem_free(cut);
    }
    for (size_t i = 0; i < f.n; i++) {
        memcpy(copy, f.p, f.n);
        copy[i] = (char)(copy[i] ^ (1 + (int)(i % 255)));
        assert_int_not_equal(read_bytes(&again, copy, f.n), HULL_OK);
    }
    mem_free(copy);
    buf_fini(&f);
    engine_unref(e);
}

static const char *const tags[] = {"key",     "backend", "target",
                                   "prepare", "main",    "pins"};

/* An engine whose section `tag` is `text` (NULL: left out), sums fitting. */
static hull_status read_with(const engine *e, const char *tag, const char *text,
                             size_t n)
{
    buf f = file_of(e), g;
    container_writer *w;
    container *c;
    engine *out;
    hull_status st;
    bytes b;

    assert_int_equal(container_open(&c, (bytes){(uint8_t *)f.p, f.n}, 0),
                     HULL_OK);
    assert_int_equal(container_writer_new(&w, CONTAINER_ENGINE), HULL_OK);
    for (size_t i = 0; i < COUNT_OF(tags); i++) {
        bool forged = strcmp(tags[i], tag) == 0;

        if (forged && text == NULL)
            continue;
        assert_int_equal(container_get(c, tags[i], UINT64_MAX, &b), HULL_OK);
        assert_int_equal(container_add(w, tags[i], forged ? text
                                                   : (const char *)b.p,
                                       forged ? n : b.n), HULL_OK);
    }
    assert_int_equal(container_write_buf(w, &g), HULL_OK);
    st = read_bytes(&out, g.p, g.n);
    engine_unref(out);
    container_free(c);
    container_writer_free(w);
    buf_fini(&f);
    buf_fini(&g);
    return st;
}

static hull_status read_with_text(const engine *e, const char *tag,
                                  const char *text)
{
    return read_with(e, tag, text, strlen(text));
}

#define MAIN_HEAD "graph @main(%0: f32[N,2,5], %1: f32[5,11], %2: f32[11], "

static void forgeries_are_refused(void **state)
{
    static const char *const bad_prepare[] = {
        "", "junk",
        "graph @other(%0: f32[3]) {\n  return %0\n}\n",
        "graph @prepare() {\n  return\n}\ngraph @x() {\n  return\n}\n",
        "graph @prepare() {\n  %w = weight \"w\" : f32[3]\n  return %w\n}\n",
        "graph @prepare(%0: f32[M]) {\n  return %0, %0, %0, %0\n}\n",
        "graph @prepare(%0: string[3]) {\n  return %0, %0, %0, %0\n}\n",
        ("graph @prepare(%0: f32[3]) {\n"
         "  %1 = cast %0 {to=string} : string[3]\n"
         "  return %1, %1, %1, %1\n}\n"),
    };
    static const char *const bad_main[] = {
        "", "graph @main() {\n  return\n}\n",
        /* a slot of another type */
        MAIN_HEAD "%3: f32[3,11], %4: f32[4]) {\n  return %0\n}\n",
        /* a weight */
        MAIN_HEAD "%3: f32[3,11], %4: f32[3]) {\n"
                  "  %w = weight \"w\" : f32[3]\n  return %w\n}\n",
        /* a type that its op does not give */
        MAIN_HEAD "%3: f32[3,11], %4: f32[3]) {\n"
                  "  %5 = exp %4 : f32[4]\n  return %5\n}\n",
    };
    engine *e = built(block_text, "ref", NULL);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(tags); i++)
        assert_int_equal(read_with(e, tags[i], NULL, 0), HULL_EFORMAT);
    for (size_t i = 0; i < COUNT_OF(bad_prepare); i++)
        assert_int_not_equal(read_with_text(e, "prepare", bad_prepare[i]),
                             HULL_OK);
    for (size_t i = 0; i < COUNT_OF(bad_main); i++)
        assert_int_not_equal(read_with_text(e, "main", bad_main[i]), HULL_OK);
    assert_int_equal(read_with_text(e, "main", MAIN_HEAD
                                    "%3: f32[3,11], %4: f32[3]) {\n"
                                    "  return %0\n}\n"), HULL_OK);
    assert_int_equal(read_with_text(e, "target", "another"), HULL_EFORMAT);
    assert_int_equal(read_with_text(e, "backend", "sim"), HULL_EFORMAT);
    assert_int_equal(read_with_text(e, "key", "hull-key 1\n"), HULL_EFORMAT);
    engine_unref(e);
}

/* ---- pins ---------------------------------------------------------------- */

static ir *with_pins(void)
{
    const int64_t square[] = {10, 10}, longer[] = {77};
    double f[100];
    ir *m;
    graph *g;

    for (int i = 0; i < 100; i++)
        f[i] = i / 3.0;
    assert_int_equal(ir_new(&m), HULL_OK);
    g = graph_new(m, str_of("main"));
    graph_result(g, op_const(g, HULL_F64, square, 2, f));
    graph_result(g, op_const(g, HULL_U8, longer, 1, f));
    assert_int_equal(ir_status(m), HULL_OK);
    assert_int_equal(m->n_pinned, 2);
    return m;
}

static hull_status read_pins(const void *p, size_t n)
{
    uint8_t *copy = mem_alloc(n);
    hull_status st;
    ir *m;

    memcpy(copy, p, n);
    assert_int_equal(ir_new(&m), HULL_OK);
    st = pins_read(m, (bytes){copy, n});
    ir_free(m);
    mem_free(copy);
    return st;
}

static void pins_round_trip(void **state)
{
    ir *m = with_pins(), *n;
    buf b, c;

    (void)state;
    buf_init(&b, 1 << 20);
    buf_init(&c, 1 << 20);
    assert_int_equal(pins_write(&b, m), HULL_OK);
    assert_int_equal(ir_new(&n), HULL_OK);
    assert_int_equal(pins_read(n, (bytes){(uint8_t *)b.p, b.n}), HULL_OK);
    assert_int_equal(n->n_pinned, 2);
    assert_non_null(ir_pinned(n, &m->pinned[0]->digest));
    assert_int_equal(pins_write(&c, n), HULL_OK);
    assert_int_equal(b.n, c.n);
    assert_memory_equal(b.p, c.p, b.n);
    for (size_t i = 0; i < b.n; i++)
        assert_int_equal(read_pins(b.p, i), HULL_EFORMAT);
    for (size_t i = 0; i < b.n; i++) {
        b.p[i] ^= 0x41;
        if (memcmp(b.p, c.p, b.n - 3) != 0) /* all but the last padding */
            assert_int_equal(read_pins(b.p, b.n), HULL_EFORMAT);
        b.p[i] ^= 0x41;
    }
    buf_fini(&b);
    buf_fini(&c);
    ir_free(m);
    ir_free(n);
}

/* A block with a large table that main reads: it travels with the engine. */
static void engines_carry_their_pins(void **state)
{
    ir *m = with_pins();
    device *d = opened("ref");
    cache_key k = key_of(m->graphs[0], d, NULL);
    engine *e, *again;
    char *a, *b;
    buf f;

    (void)state;
    if (engine_build(&e, m->graphs[0], &k, d, NULL, NULL) != HULL_OK)
        fault("%s\n", error_text());
    assert_int_equal(e->m->n_pinned, 2);
    f = file_of(e);
    if (read_bytes(&again, f.p, f.n) != HULL_OK)
        fault("%s\n", error_text());
    a = printed(e);
    b = printed(again);
    assert_string_equal(a, b);
    assert_int_equal(again->m->n_pinned, 2);
    assert_int_equal(read_with(e, "pins", "\0\0\0\0\0\0\0\0", 8),
                     HULL_EFORMAT);
    mem_free(a);
    mem_free(b);
    buf_fini(&f);
    engine_unref(e);
    engine_unref(again);
    cache_key_fini(&k);
    d->be->close(d);
    ir_free(m);
}

static void every_allocation_may_fail(void **state)
{
    device *d = opened("sim");
    hull_status st = HULL_ENOMEM;
    ir *m = parsed(block_text);
    cache_key k = key_of(m->graphs[0], d, NULL);
    int64_t live;
    engine *e;
    buf f;

    (void)state;
    live = mem_live();
    for (uint64_t n = 1; st != HULL_OK; n++) {
        ir *own = parsed(block_text);

        mem_fail_at(n, false);
        st = engine_build(&e, own->graphs[0], &k, d, NULL, NULL);
        mem_fail_at(0, false);
        assert_true(st == HULL_OK || (st == HULL_ENOMEM && e == NULL));
        ir_free(own);
        if (st != HULL_OK)
            assert_int_equal(mem_live(), live);
    }
    f = file_of(e);
    engine_unref(e);
    live = mem_live();
    st = HULL_ENOMEM;
    for (uint64_t n = 1; st != HULL_OK; n++) {
        mem_fail_at(n, false);
        st = read_bytes(&e, f.p, f.n);
        mem_fail_at(0, false);
        assert_true(st == HULL_OK || st == HULL_ENOMEM);
        engine_unref(e);
        assert_int_equal(mem_live(), live);
    }
    buf_fini(&f);
    cache_key_fini(&k);
    ir_free(m);
    d->be->close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builds_two_programs),
        cmocka_unit_test(reads_what_it_wrote),
        cmocka_unit_test(sim_computes_what_ref_computes),
        cmocka_unit_test(sim_packs_in_prepare),
        cmocka_unit_test(tuning_is_not_in_the_key),
        cmocka_unit_test(fuse_off_leaves_the_block),
        cmocka_unit_test(device_refuses_what_it_says),
        cmocka_unit_test(sim_errors_surface_at_sync),
        cmocka_unit_test(damage_is_refused),
        cmocka_unit_test(forgeries_are_refused),
        cmocka_unit_test(pins_round_trip),
        cmocka_unit_test(engines_carry_their_pins),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
