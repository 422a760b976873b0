/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_cpu_choice.c - which way the cpu backend lowers a node: predictions are
 * the same everywhere and never take what does not fit; timed choices follow
 * the times that are stored, and are timed once per site.
 */
#include "unit.h"

#include "backend/cpu/choice.h"
#include "cache/cache.h"

#include <stdlib.h>
#include <string.h>

#define CONV(c, n, hw, more)                                                  \
    "graph @b(%x: f32[1," #c "," #hw "," #hw "]) {\n"                         \
    "  %w = weight \"w\" : f32[" #n "," #c ",3,3]\n"                          \
    "  %0 = conv %x, %w {stride=[1,1], pad=[1,1,1,1], dilation=[1,1]}\n"      \
    more "}\n"

/* ---- a device and a book in memory --------------------------------------- */

typedef struct book {
    struct {
        buf key, lines;
    } page[16];
    size_t n, n_put;
} book;

static void book_get(void *user, str key, buf *out)
{
    const book *b = user;

    for (size_t i = 0; i < b->n; i++)
        if (str_eq(buf_view(&b->page[i].key), key))
            buf_str(out, buf_view(&b->page[i].lines));
}

static void book_put(void *user, str key, str lines)
{
    book *b = user;

    b->n_put++;
    for (size_t i = 0; i < b->n; i++) {
        if (!str_eq(buf_view(&b->page[i].key), key))
            continue;
        notes_merge(&b->page[i].lines, lines);
        return;
    }
    assert_true(b->n < COUNT_OF(b->page));
    buf_init(&b->page[b->n].key, 65536);
    buf_init(&b->page[b->n].lines, 65536);
    buf_str(&b->page[b->n].key, key);
    buf_str(&b->page[b->n++].lines, lines);
}

static void book_fini(book *b)
{
    for (size_t i = 0; i < b->n; i++) {
        buf_fini(&b->page[i].key);
        buf_fini(&b->page[i].lines);
    }
}

typedef struct bed {
    pool *pool;
    device *d;
    options *o;
    book book;
    notebook notes;
} bed;

static void bed_open(bed *b)
{
    memset(b, 0, sizeof *b);
    b->notes = (notebook){book_get, book_put, &b->book, false};
    assert_int_equal(options_new(&b->o), HULL_OK);
    assert_int_equal(pool_new(&b->pool, 1), HULL_OK);
    assert_int_equal(backend_cpu.open(&b->d, b->o, b->pool), HULL_OK);
}

static void bed_close(bed *b)
{
    backend_cpu.close(b->d);
    pool_free(b->pool);
    options_free(b->o);
    book_fini(&b->book);
}

static ir *parsed(const char *text)
{
    ir *m;

    if (ir_parse(&m, str_of(text), NULL) != HULL_OK)
        print_error("%s\n", error_text());
    assert_non_null(m);
    return m;
}

static const node *find(const graph *g, op_code op)
{
    for (const node *n = graph_first(g); n != NULL; n = graph_next(g, n))
        if (n->op == op)
            return n;
    return NULL;
}

static ir *lowered(const bed *b, const char *text, const notebook *notes)
{
    ir *m = parsed(text);

    assert_int_equal(cpu_lower(b->d, m->graphs[0], b->o, notes), HULL_OK);
    assert_int_equal(graph_verify(m->graphs[0]), HULL_OK);
    return m;
}

/* ---- predictions --------------------------------------------------------- */

static uint64_t seed;

static int64_t draw(int64_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(seed >> 33) % n;
}

static cpu_site conv_site(cpu_level level, int64_t c, int64_t n, int64_t hw)
{
    return (cpu_site){.ask = ASK_CONV, .level = level, .dtype = HULL_F32,
                      .axes = 2, .batch = 1, .channels = c, .columns = n,
                      .groups = 1, .in = {hw, hw}, .out = {hw, hw},
                      .kernel = {3, 3}, .winograd = true,
                      .w = {.n = 2, .stride = {1, 1}, .dilation = {1, 1},
                            .before = {1, 1}, .after = {1, 1}}};
}

static cpu_site strided(cpu_site s, int64_t stride)
{
    for (uint32_t i = 0; i < 2; i++) {
        s.w.stride[i] = stride;
        s.out[i] = (s.in[i] - 1) / stride + 1;
    }
    return s;
}

static cpu_site product_site(cpu_level level, int64_t rows, bool as_stored)
{
    return (cpu_site){.ask = ASK_WEIGHT, .level = level, .dtype = HULL_F32,
                      .rows = rows, .depth = 768, .columns = 3072,
                      .fixed_rows = true, .as_stored = as_stored};
}

static cpu_site any_site(void)
{
    cpu_site s = draw(2) ? conv_site(CPU_ANY, 1 + draw(300), 1 + draw(300),
                                     draw(60))
                         : product_site(CPU_ANY, draw(40), draw(2));

    s.level = (cpu_level)draw(CPU_LEVELS);
    if (draw(2)) {
        s.channels = 16 * (1 + draw(40));
        s.columns = 16 * (1 + draw(40));
    }
    s.winograd = draw(4) > 0;
    s.kernel[draw(2)] += draw(3) == 0;
    s.w.stride[draw(2)] += draw(4) == 0;
    s.fixed_rows = draw(4) > 0;
    s.dtype = draw(3) ? HULL_F32 : HULL_F16;
    return s;
}

/* What is taken fits and has the least cost; twice the same. */
static void choices_fit_and_are_the_least(void **state)
{
    (void)state;
    seed = 1;
    for (int i = 0; i < 20000; i++) {
        cpu_site s = any_site();
        const cpu_choice *c = cpu_choose(&s);

        assert_non_null(c);
        assert_true(c->fits(&s));
        assert_int_equal(c->ask, s.ask);
        assert_ptr_equal(c, cpu_choose(&s));
        for (size_t k = 0; k < cpu_n_choices; k++) {
            const cpu_choice *other = &cpu_choices[k];

            if (other->ask == s.ask && other->fits(&s))
                assert_true(c->cost(&s) * c->favour(&s) <=
                            other->cost(&s) * other->favour(&s));
        }
    }
}

static void every_question_has_an_answer(void **state)
{
    bool first[ASK_QUESTIONS] = {false};

    (void)state;
    for (size_t i = 0; i < cpu_n_choices; i++) {
        const cpu_choice *c = &cpu_choices[i];

        for (size_t k = 0; k < i; k++)
            assert_true(strcmp(c->name, cpu_choices[k].name) != 0 &&
                        (c->ask != cpu_choices[k].ask ||
                         c->value != cpu_choices[k].value));
        if (first[c->ask])
            continue;
        first[c->ask] = true; /* the first row always fits */
        seed = i;
        for (int k = 0; k < 1000; k++) {
            cpu_site s = any_site();

            assert_true(s.ask != c->ask || c->fits(&s));
        }
    }
    for (int i = 0; i < ASK_QUESTIONS; i++)
        assert_true(first[i]);
}

/* Decisions that were measured; a figure of the model that moves one of them
 * must be measured again. */
static void measured_decisions_stay(void **state)
{
    static const struct {
        int64_t c, n, hw;
        const char *name;
    } convs[] = {{64, 64, 56, "winograd4"},   {128, 128, 28, "winograd4"},
                 {32, 32, 112, "winograd4"},  {256, 256, 14, "winograd2"},
                 {512, 512, 7, "winograd2"},  {1024, 1024, 7, "winograd2"},
                 {512, 512, 14, "winograd2"}, {3, 64, 224, "direct"},
                 {20, 64, 56, "direct"},      {64, 1, 56, "planes"},
                 {16, 3, 128, "planes"},      {3, 8, 128, "planes"},
                 {64, 64, 4, "direct"}};

    (void)state;
    for (cpu_level l = CPU_AVX2; l < CPU_LEVELS; l++) {
        cpu_site s;

        for (size_t i = 0; i < COUNT_OF(convs); i++) {
            s = conv_site(l, convs[i].c, convs[i].n, convs[i].hw);
            assert_string_equal(cpu_choose(&s)->name, convs[i].name);
            if (strcmp(convs[i].name, "planes") != 0) {
                s.winograd = false;
                assert_string_equal(cpu_choose(&s)->name, "direct");
            }
            s = strided(s, 2);
            assert_string_equal(cpu_choose(&s)->name, "direct");
        }
        for (int64_t rows = 1; rows <= 20; rows++) {
            s = product_site(l, rows, true);
            assert_string_equal(cpu_choose(&s)->name,
                                rows <= 4 ? "plain" : "panels");
            s.as_stored = false;
            assert_string_equal(cpu_choose(&s)->name, "panels");
            s.as_stored = true;
            s.fixed_rows = false;
            assert_string_equal(cpu_choose(&s)->name, "panels");
        }
    }
}

/* ---- sites --------------------------------------------------------------- */

/* The site that explain reads out of a lowered node is the one that lowering
 * asked about. */
static void site_before_is_site_after(void **state)
{
    static const char *const texts[] = {
        CONV(64, 32, 14, "  return %0\n"),
        CONV(5, 7, 9, "  return %0\n"),
        "graph @b(%x: f32[2,12,9,8,7]) {\n"
        "  %w = weight \"w\" : f32[6,4,3,2,1]\n"
        "  %0 = conv %x, %w {stride=[2,1,1], pad=[0,1,2,1,0,2], "
        "dilation=[1,2,1], groups=3}\n"
        "  return %0\n}\n",
        "graph @b(%x: f32[2,3,40]) {\n"
        "  %w = weight \"w\" : f32[40,70]\n"
        "  %0 = matmul %x, %w\n"
        "  return %0\n}\n",
        "graph @b(%x: f32[1,3,40]) {\n"
        "  %w = weight \"w\" : f32[70,40]\n"
        "  %0 = matmul %x, %w {trans_b=true}\n"
        "  return %0\n}\n",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        dim_env typical;
        cpu_site s;
        int64_t answer;
        ir *m;
        bed b;
        buf key;

        bed_open(&b);
        ir_free(lowered(&b, texts[i], &b.notes));
        if (b.book.n > 0) { /* a site with one way is not timed */
            bool found = false;

            m = lowered(&b, texts[i], &b.notes);
            assert_int_equal(cpu_typical_sizes(&typical, m->graphs[0]),
                             HULL_OK);
            for (const node *n = graph_first(m->graphs[0]); n != NULL;
                 n = graph_next(m->graphs[0], n)) {
                if (!cpu_site_lowered(&s, &answer, &typical, m->graphs[0], n,
                                      ((cpu_device *)(void *)b.d)->has.level,
                                      true))
                    continue;
                /* The checkpoint's layout is lost in panels. */
                s.as_stored = s.ask == ASK_WEIGHT;
                buf_init(&key, 65536);
                assert_int_equal(cpu_tune_key(&key, b.d, &s), HULL_OK);
                found = str_eq(buf_view(&key), buf_view(&b.book.page[0].key));
                buf_fini(&key);
            }
            assert_true(found);
            dim_env_fini(&typical);
            ir_free(m);
        }
        assert_int_equal(b.book.n, i == 0 || i == 4);
        bed_close(&b);
    }
}

static void sizes_without_a_hint(void **state)
{
    ir *m = parsed("graph @b(%x: f32[N,S,T,U]) {\n"
                   "  %0 = relu %x\n"
                   "  return %0\n}\n");
    const type *t = graph_type(m->graphs[0], 1);
    const int64_t want[] = {1, 64, 100, 300};
    dim_env typical;
    int64_t size;

    (void)state;
    dim_set_range(m, t->dims[2], 100, INT64_MAX);
    dim_set_opt(m, t->dims[3], 300);
    assert_int_equal(cpu_typical_sizes(&typical, m->graphs[0]), HULL_OK);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(dim_eval(&size, &typical, t->dims[i]), HULL_OK);
        assert_int_equal(size, want[i]);
    }
    dim_env_fini(&typical);
    ir_free(m);
}

/* ---- timed choices ------------------------------------------------------- */

#define RETURN "  return %0\n"
static const char small[] = CONV(16, 16, 6, RETURN);

/* Times for the one site of `small`. */
static void seed_book(bed *b, const char *lines)
{
    cpu_site s = conv_site(((cpu_device *)(void *)b->d)->has.level, 16, 16, 6);
    buf key;

    buf_init(&key, 65536);
    assert_int_equal(cpu_tune_key(&key, b->d, &s), HULL_OK);
    book_put(&b->book, buf_view(&key), str_of(lines));
    b->book.n_put = 0;
    buf_fini(&key);
}

static int64_t tile_of(const bed *b, const notebook *notes)
{
    ir *m = lowered(b, small, notes);
    const node *n = find(m->graphs[0], OP_conv_winograd);
    int64_t tile = n != NULL ? attr_int(n, "m") : 0;

    assert_true(n != NULL || find(m->graphs[0], OP_conv_nhwc) != NULL);
    ir_free(m);
    return tile;
}

static void stored_times_decide(void **state)
{
    static const struct {
        const char *lines;
        int64_t m;
    } rows[] = {{"direct 10\nwinograd2 20\nwinograd4 30\n", 0},
                {"direct 30\nwinograd2 20\nwinograd4 30\n", 2},
                {"winograd4 1\nwinograd2 20\nother 0\ndirect 30\n", 4}};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bed b;

        bed_open(&b);
        seed_book(&b, rows[i].lines);
        assert_int_equal(tile_of(&b, &b.notes), rows[i].m);
        assert_int_equal(b.book.n_put, 0);
        bed_close(&b);
    }
}

/* Without all times the site is timed once; whoever only looks predicts. */
static void missing_times_are_made_once(void **state)
{
    static const char *const known[] = {
        NULL, "direct 10\nwinograd2 20\n", "direct x\nwinograd2 2\nwinograd4",
        "direct 0\nwinograd2 1\nwinograd4 1\n"};
    int64_t predicted;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        str lines;
        bed b;

        bed_open(&b);
        predicted = tile_of(&b, NULL);
        if (known[i] != NULL)
            seed_book(&b, known[i]);
        b.notes.read_only = true;
        assert_int_equal(tile_of(&b, &b.notes), predicted);
        assert_int_equal(b.book.n_put, 0);
        b.notes.read_only = false;
        tile_of(&b, &b.notes);
        assert_int_equal(b.book.n_put, 1);
        assert_int_equal(b.book.n, 1);
        lines = buf_view(&b.book.page[0].lines);
        assert_true(cpu_tuned_ns(lines, "direct") > 0);
        assert_true(cpu_tuned_ns(lines, "winograd2") > 0);
        assert_true(cpu_tuned_ns(lines, "winograd4") > 0);
        assert_true(cpu_tuned_ns(lines, "winograd") == 0);
        tile_of(&b, &b.notes);
        assert_int_equal(b.book.n_put, 1);
        bed_close(&b);
    }
}

/* The text of a site lowers to the node that the site is about, with the
 * weight as narrow as it is, whichever way is taken. */
static void narrow_sites_stay_narrow(void **state)
{
    static const hull_dtype dtypes[] = {HULL_F32, HULL_F16, HULL_BF16, HULL_I8,
                                        HULL_U8};

    (void)state;
    for (size_t i = 0; i < 2 * COUNT_OF(dtypes); i++) {
        cpu_site s = product_site(CPU_ANY, 2, i % 2 == 0);
        const char *text;
        const node *n;
        buf key;
        bed b;
        ir *m;

        bed_open(&b);
        s.dtype = dtypes[i / 2];
        s.level = ((cpu_device *)(void *)b.d)->has.level;
        buf_init(&key, 65536);
        assert_int_equal(cpu_tune_key(&key, b.d, &s), HULL_OK);
        buf_putc(&key, '\0');
        text = strstr(key.p, "graph @site");
        assert_non_null(text);
        for (size_t k = 0; k < cpu_n_choices; k++) {
            if (cpu_choices[k].ask != ASK_WEIGHT || !cpu_choices[k].fits(&s))
                continue;
            m = parsed(text);
            assert_int_equal(cpu_lower_as(b.d, m->graphs[0], b.o,
                                          &cpu_choices[k]), HULL_OK);
            n = find(m->graphs[0], OP_gemm);
            assert_non_null(n);
            assert_int_equal(graph_type(m->graphs[0], n->in[1])->dtype,
                             s.dtype);
            assert_int_equal(attr_int(n, "tile") == 1,
                             cpu_choices[k].value == 1);
            ir_free(m);
        }
        buf_fini(&key);
        bed_close(&b);
    }
}

/* Another model with the same layer, whatever is around it and whatever its
 * weights are called, needs no timing. */
static void another_model_reuses_times(void **state)
{
    static const char other[] =
        "graph @c(%a: f32[1,16,6,6], %b: f32[3]) {\n"
        "  %v = weight \"v\" : f32[16,16,3,3]\n"
        "  %r = relu %a\n"
        "  %1 = conv %r, %v {stride=[1,1], pad=[1,1,1,1], dilation=[1,1]}\n"
        "  %2 = relu %1\n"
        "  return %2, %b\n}\n";
    bed b;

    (void)state;
    bed_open(&b);
    ir_free(lowered(&b, small, &b.notes));
    assert_int_equal(b.book.n_put, 1);
    ir_free(lowered(&b, other, &b.notes));
    assert_int_equal(b.book.n_put, 1);
    bed_close(&b);
}

/* The key of the times has what they depend on. */
static void times_belong_to_a_machine(void **state)
{
    bed b;
    str key;

    (void)state;
    bed_open(&b);
    seed_book(&b, "direct 1\n");
    key = buf_view(&b.book.page[0].key);
    assert_true(str_starts(key, CPU_TUNE_FORMAT "\ntarget cpu "));
    assert_non_null(strstr(key.p, "\ncpu "));
    assert_non_null(strstr(key.p, "\nthreads 1\n"));
    bed_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choices_fit_and_are_the_least),
        cmocka_unit_test(every_question_has_an_answer),
        cmocka_unit_test(measured_decisions_stay),
        cmocka_unit_test(site_before_is_site_after),
        cmocka_unit_test(sizes_without_a_hint),
        cmocka_unit_test(stored_times_decide),
        cmocka_unit_test(missing_times_are_made_once),
        cmocka_unit_test(narrow_sites_stay_narrow),
        cmocka_unit_test(another_model_reuses_times),
        cmocka_unit_test(times_belong_to_a_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
