/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_direct_hostile.c - direct mode against files that are nearly the same,
 * entries that are damaged or say what is not true, and a model file that
 * changes while it is read: none of it is ever a hit.
 */
#include "direct_unit.h"

#include <inttypes.h>

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
    cache *c = direct_cache();
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
    cache *c = direct_cache();

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
    cache *c = direct_cache();
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
    cache *c = direct_cache();

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
    cache *c = direct_cache();
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
    cache *c = direct_cache();
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_each_byte), TEST(test_skeleton), TEST(test_own_data),
        TEST(test_damage), TEST(test_each_bit), TEST(test_untrue_plan),
        TEST(test_hostile_manifest), TEST(test_changed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
