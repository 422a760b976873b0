/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_notes.c - what was measured, in the cache folder: kept, merged, damaged,
 * of another key or version, evicted, written by several at once; and that
 * tuned engines and others have keys of their own.
 */
#include "cache_unit.h"

#include "cache/bundle.h"
#include "onnx_maker.h"

#include <fcntl.h>
#include <pthread.h>

static void put_notes(cache *c, const char *key, const char *lines)
{
    cache_notes_put(c, str_of(key), str_of(lines));
}

static void expect(cache *c, const char *key, const char *want)
{
    buf b;

    buf_init(&b, NOTES_MAX);
    cache_notes_get(c, str_of(key), &b);
    assert_int_equal(buf_status(&b), HULL_OK);
    assert_true(str_is(buf_view(&b), want));
    buf_fini(&b);
}

static char *notes_path(const cache *c, const char *key)
{
    digest d = digest_of(key, strlen(key));

    return disk_path(c, &d, CACHE_NOTES);
}

/* ---- lines --------------------------------------------------------------- */

static void merged(const char *lines, const char *more, const char *want)
{
    buf b;

    buf_init(&b, 4096);
    buf_puts(&b, lines);
    notes_merge(&b, str_of(more));
    assert_true(str_is(buf_view(&b), want));
    buf_fini(&b);
}

static void lines_of_a_name_are_replaced(void **state)
{
    (void)state;
    merged("", "a 1\n", "a 1\n");
    merged("a 1\n", "", "a 1\n");
    merged("a 1\nb 2\n", "c 3\n", "a 1\nb 2\nc 3\n");
    merged("a 1\nb 2\n", "a 3\n", "b 2\na 3\n");
    merged("a 1\nab 2\n", "a 3", "ab 2\na 3\n");
    merged("a 1\n\nb", "b 4 5\n\n", "a 1\nb 4 5\n");
}

/* ---- the folder ---------------------------------------------------------- */

static void kept_and_merged(void **state)
{
    cache *c = opened("0"), *again;

    (void)state;
    expect(c, "key", "");
    put_notes(c, "key", "direct 10\n");
    put_notes(c, "other\nkey\n", "direct 99\n");
    expect(c, "key", "direct 10\n");
    put_notes(c, "key", "winograd 7\n");
    again = opened("0");
    expect(again, "key", "direct 10\nwinograd 7\n");
    put_notes(again, "key", "direct 8\n");
    expect(c, "key", "winograd 7\ndirect 8\n");
    expect(c, "other\nkey\n", "direct 99\n");
    assert_int_equal(stat_of(c, "entries"), 2);
    assert_int_equal(stat_of(c, "hits"), 0);
    assert_int_equal(stat_of(c, "misses"), 0);
    cache_unref(again);
    cache_unref(c);
}

/* Every byte of the file, and files that are too short. */
static void damage_is_set_aside(void **state)
{
    cache *c = opened("0");
    char *path = notes_path(c, "key");
    uint64_t good, bad;
    struct stat s;
    off_t i;

    (void)state;
    put_notes(c, "key", "direct 10\n");
    assert_int_equal(stat(path, &s), 0);
    for (i = 0; i < s.st_size; i++) {
        char byte;
        int fd = open(path, O_RDWR);

        assert_int_equal(pread(fd, &byte, 1, i), 1);
        byte = (char)(byte ^ 0x10); /* byte 8: another version */
        assert_int_equal(pwrite(fd, &byte, 1, i), 1);
        close(fd);
        expect(c, "key", "");
        assert_int_not_equal(access(path, F_OK), 0);
        put_notes(c, "key", "direct 10\n");
        expect(c, "key", "direct 10\n");
    }
    assert_int_equal(truncate(path, 100), 0);
    assert_int_equal(cache_verify(c, NULL, NULL, &good, &bad), HULL_OK);
    assert_int_equal(good, 0);
    assert_int_equal(bad, 1);
    put_notes(c, "key", "direct 11\n");
    expect(c, "key", "direct 11\n");
    assert_int_equal(stat_of(c, "corrupt"), s.st_size + 1);
    assert_int_equal(stat_of(c, "errors"), 0);
    mem_free(path);
    cache_unref(c);
}

/* The file of one key under the name of another one. */
static void of_another_key(void **state)
{
    cache *c = opened("0");
    char *a = notes_path(c, "a"), *b = notes_path(c, "b"), *dir = path_dir(b);
    uint64_t good, bad;

    (void)state;
    put_notes(c, "a", "x 1\n");
    assert_int_equal(dir_make(dir), HULL_OK);
    assert_int_equal(rename(a, b), 0);
    expect(c, "b", "");
    expect(c, "a", "");
    assert_int_equal(cache_verify(c, NULL, NULL, &good, &bad), HULL_OK);
    assert_int_equal(bad, 1);
    mem_free(a);
    mem_free(b);
    mem_free(dir);
    cache_unref(c);
}

/* Notes are no engine and engines are no notes, whatever a file is called. */
static void kinds_do_not_mix(void **state)
{
    cache *c = opened("0");
    char *notes = notes_path(c, "key"), *engine;
    cache_key k = {.d = digest_of("key", 3)};
    cache_entry e;
    bool hit;

    (void)state;
    buf_init(&k.preimage, 16);
    buf_puts(&k.preimage, "key");
    put_notes(c, "key", "x 1\n");
    engine = disk_path(c, &k.d, CACHE_ENGINE);
    assert_int_equal(rename(notes, engine), 0);
    assert_false(cache_peek(&e, c, CACHE_ENGINE, &k));
    assert_int_equal(stat_of(c, "corrupt"), 0);
    cache_get(&e, &hit, c, CACHE_ENGINE, &k);
    assert_false(hit);
    assert_int_equal(stat_of(c, "corrupt"), 1);
    cache_key_fini(&k);
    mem_free(notes);
    mem_free(engine);
    cache_unref(c);
}

static void trimmed_and_cleared(void **state)
{
    cache *c = opened("2000");

    (void)state;
    for (int i = 0; i < 20; i++) {
        char key[16];

        snprintf(key, sizeof key, "key %d", i);
        put_notes(c, key, "x 1\n");
    }
    assert_in_range(stat_of(c, "entries"), 1, 8);
    assert_in_range(stat_of(c, "bytes"), 1, 2000);
    assert_int_equal(cache_clear(c), HULL_OK);
    assert_int_equal(stat_of(c, "entries"), 0);
    cache_unref(c);
}

static void refusals_are_counted(void **state)
{
    cache *c = opened("0");
    char *path = notes_path(c, "key"), *dir = path_dir(path);
    int fd = open(dir, O_WRONLY | O_CREAT, 0600); /* a file in its place */

    (void)state;
    close(fd);
    put_notes(c, "key", "x 1\n");
    assert_int_equal(stat_of(c, "errors"), 1);
    expect(c, "key", "");
    mem_free(path);
    mem_free(dir);
    cache_unref(c);
}

/* ---- several writers ----------------------------------------------------- */

#define WRITERS 4
#define LINES 25

static void *write_lines(void *user)
{
    const int *number = user;
    cache *c = opened("0");

    for (int i = 0; i < LINES; i++) {
        char line[32];

        snprintf(line, sizeof line, "w%d.%d 1\n", *number, i);
        put_notes(c, "key", line);
    }
    cache_unref(c);
    return NULL;
}

static void writers_lose_no_line(void **state)
{
    int numbers[WRITERS];
    pthread_t threads[WRITERS];
    cache *c = opened("0");
    size_t lines = 0;
    str rest;
    buf b;

    (void)state;
    for (int i = 0; i < WRITERS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, write_lines,
                                        &numbers[i]), 0);
    }
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    buf_init(&b, NOTES_MAX);
    cache_notes_get(c, str_of("key"), &b);
    rest = buf_view(&b);
    while (rest.n > 0)
        lines += str_split(rest, '\n', &rest).n > 0;
    assert_int_equal(lines, WRITERS * LINES);
    buf_fini(&b);
    cache_unref(c);
}

/* ---- engines ------------------------------------------------------------- */

#define MODEL "demo/digits.onnx"

static uint64_t builds_after(cache *c, const char *tune)
{
    hull_options *o;
    hull_module *m;

    assert_int_equal(hull_options_new(&o), HULL_OK);
    assert_int_equal(hull_options_set(o, "tune", tune), HULL_OK);
    assert_int_equal(hull_compile(&m, MODEL, NULL, c, o), HULL_OK);
    hull_module_unref(m);
    hull_options_free(o);
    return stat_of(c, "builds");
}

static void tuned_engines_have_keys_of_their_own(void **state)
{
    cache *c = opened("0");
    uint64_t engines;

    (void)state;
    assert_int_equal(builds_after(c, "off"), 1);
    engines = stat_of(c, "entries");
    assert_int_equal(builds_after(c, "on"), 2);
    assert_true(stat_of(c, "entries") > engines); /* and times, on a cpu */
    assert_int_equal(builds_after(c, "off"), 2);
    assert_int_equal(builds_after(c, "on"), 2);
    assert_int_equal(stat_of(c, "hits"), 2);
    cache_unref(c);
}

/* ---- times --------------------------------------------------------------- */

/* x[4,64] times a weight [64,48], then what makes it another architecture. */
static void write_model(char path[64], const char *op, bool twice)
{
    static const int64_t in[2] = {4, 64}, out[2] = {4, 48}, w[2] = {64, 48};
    static float values[64 * 48];
    maker m = maker_new(17);

    for (int i = 0; i < 64 * 48; i++)
        values[i] = (float)(i % 7) - 3;
    put_value(&m.graph, 11, "x", 1, in, 2);
    put_value(&m.graph, 12, "y", 1, out, 2);
    put_stored(&m.graph, "w", 1, w, 2, values, sizeof values);
    put_node(&m.graph, "MatMul", "x w", "a", NULL);
    put_node(&m.graph, op, "a", twice ? "b" : "y", NULL);
    if (twice)
        put_node(&m.graph, op, "b", "y", NULL);
    maker_write(&m, path);
}

static void compile_tuned(cache *c, const char *op, bool twice)
{
    hull_options *o;
    hull_module *m;
    char path[64];

    write_model(path, op, twice);
    assert_int_equal(hull_options_new(&o), HULL_OK);
    assert_int_equal(hull_options_set(o, "tune", "on"), HULL_OK);
    assert_int_equal(hull_options_set(o, "cache_direct", "off"), HULL_OK);
    assert_int_equal(hull_compile(&m, path, NULL, c, o), HULL_OK);
    hull_module_unref(m);
    hull_options_free(o);
    unlink(path);
}

/* Another architecture with an equal node times nothing; in another folder it
 * does, unless the times were carried there. */
static void equal_nodes_are_timed_once(void **state)
{
    cache *c = opened("0"), *other;
    char pack[128], place[128];
    uint64_t timed, exported, refused;

    (void)state;
    compile_tuned(c, "Tanh", false);
    timed = stat_of(c, "timed");
    assert_int_equal(stat_of(c, "timed_hits"), 0);
    compile_tuned(c, "Sin", true);
    assert_int_equal(stat_of(c, "builds"), 2);
    assert_int_equal(stat_of(c, "timed"), timed);
    assert_int_equal(stat_of(c, "timed_hits"), timed);
    snprintf(pack, sizeof pack, "%s/all.pack", folder);
    snprintf(place, sizeof place, "%s/other", folder);
    assert_int_equal(hull_cache_export(c, pack, &exported), HULL_OK);
    assert_int_equal(exported, 2 + timed);
    assert_int_equal(hull_cache_export(c, NULL, NULL), HULL_EINVAL);
    assert_int_equal(hull_cache_export(NULL, pack, NULL), HULL_EINVAL);
    cache_unref(c);

    assert_int_equal(cache_open(&other, place, NULL), HULL_OK);
    assert_int_equal(hull_cache_import(other, pack, &exported, &refused),
                     HULL_OK);
    assert_int_equal(exported, 2 + timed);
    assert_int_equal(refused, 0);
    assert_int_equal(hull_cache_import(other, NULL, NULL, NULL), HULL_EINVAL);
    assert_int_equal(hull_cache_import(NULL, pack, NULL, NULL), HULL_EINVAL);
    assert_int_equal(hull_cache_import(other, MODEL, NULL, NULL),
                     HULL_EFORMAT);
    compile_tuned(other, "Cos", false);
    assert_int_equal(stat_of(other, "builds"), 1);
    assert_int_equal(stat_of(other, "timed"), 0);
    assert_int_equal(stat_of(other, "timed_hits"), timed);
    cache_unref(other);
    if (timed == 0)
        skip(); /* no two ways at this level */
}

/* Lines that an import brings are added to those that are there, which win. */
static void imports_add_lines(void **state)
{
    cache *c = opened("0"), *other;
    char pack[128], place[128];
    cache_imported n;
    uint64_t exported;

    (void)state;
    snprintf(pack, sizeof pack, "%s/all.pack", folder);
    snprintf(place, sizeof place, "%s/other", folder);
    put_notes(c, "key", "a 1\nb 2\n");
    assert_int_equal(cache_export(c, pack, NULL, NULL, NULL, &exported),
                     HULL_OK);
    cache_unref(c);
    assert_int_equal(cache_open(&other, place, NULL), HULL_OK);
    put_notes(other, "key", "b 9\nc 3\n");
    assert_int_equal(cache_import(&n, other, pack, NULL, NULL), HULL_OK);
    assert_int_equal(n.added, 1);
    expect(other, "key", "a 1\nb 9\nc 3\n");
    assert_int_equal(cache_import(&n, other, pack, NULL, NULL), HULL_OK);
    assert_int_equal(n.added, 0);
    assert_int_equal(n.present, 1);
    cache_unref(other);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_a_name_are_replaced),
        TEST(kept_and_merged),
        TEST(damage_is_set_aside),
        TEST(of_another_key),
        TEST(kinds_do_not_mix),
        TEST(trimmed_and_cleared),
        TEST(refusals_are_counted),
        TEST(writers_lose_no_line),
        TEST(tuned_engines_have_keys_of_their_own),
        TEST(equal_nodes_are_timed_once),
        TEST(imports_add_lines),
    };

    ignore(log_configure("all:error")); /* a word that it knows */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
