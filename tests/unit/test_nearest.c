/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_nearest.c - in which lines preimages differ, whatever numbers their
 * values have; and which entry of a folder is the nearest one.
 */
#include "folder_unit.h"

#include "cache/nearest.h"

#include <fcntl.h>

/* ---- lines --------------------------------------------------------------- */

/* The difference as text: "-2 line", "+3 line". */
static void differ(const char *a, const char *b, const char *want)
{
    text_lines x, y;
    line_diff d;
    buf text;

    assert_int_equal(text_lines_get(&x, str_of(a)), HULL_OK);
    assert_int_equal(text_lines_get(&y, str_of(b)), HULL_OK);
    assert_int_equal(lines_diff(&d, &x, &y), HULL_OK);
    assert_false(d.far);
    assert_true(lines_bound(&x, &y) <= d.n);
    buf_init(&text, 1 << 20);
    for (size_t i = 0; i < d.n; i++)
        buf_printf(&text, "%c%u %.*s\n", d.lines[i].sign, d.lines[i].number,
                   STR_ARG(d.lines[i].text));
    assert_string_equal(text.p != NULL ? text.p : "", want);
    buf_fini(&text);
    line_diff_fini(&d);
    text_lines_fini(&x);
    text_lines_fini(&y);
}

static void lines_are_found(void **state)
{
    (void)state;
    differ("", "", "");
    differ("a\n", "a\n", "");
    differ("a\nb\nc\n", "a\nc\n", "-2 b\n");
    differ("a\nc\n", "a\nb\nc\n", "+2 b\n");
    differ("a\nb\nc\n", "a\nx\nc\n", "-2 b\n+2 x\n");
    differ("a\n", "", "-1 a\n");
    differ("", "a\nb", "+1 a\n+2 b\n");
    differ("a\nb\nc\nd\n", "b\nc\nx\nd\ny\n", "-1 a\n+3 x\n+5 y\n");
    differ("a\na\na\n", "a\n", "-2 a\n-3 a\n");
}

#define HEAD "graph @b(%0: f32[d0,8]) {\n"

/* One node more renumbers what follows: that is no difference. */
static void numbers_are_followed(void **state)
{
    (void)state;
    differ(HEAD "  %1 = relu %0 : f32[d0,8]\n  %2 = exp %1 : f32[d0,8]\n"
                "  %3 = add %1, %2 : f32[d0,8]\n  return %3\n}\n",
           HEAD "  %1 = neg %0 : f32[d0,8]\n  %2 = relu %1 : f32[d0,8]\n"
                "  %3 = exp %2 : f32[d0,8]\n  %4 = add %2, %3 : f32[d0,8]\n"
                "  return %4\n}\n",
           "+2   %1 = neg %0 : f32[d0,8]\n");
    differ(HEAD "  %1 = weight \"0\" : f32[8]\n  %2 = weight \"1\" : f32[9]\n",
           HEAD "  %1 = weight \"0\" : f32[9]\n",
           "-2   %1 = weight \"0\" : f32[8]\n");
    /* Equal lines but for the wiring: a difference. */
    differ(HEAD "  %1 = exp %0 : f32[d0,8]\n  %2 = sub %0, %1 : f32[d0,8]\n",
           HEAD "  %1 = exp %0 : f32[d0,8]\n  %2 = sub %1, %0 : f32[d0,8]\n",
           "-3   %2 = sub %0, %1 : f32[d0,8]\n"
           "+3   %2 = sub %1, %0 : f32[d0,8]\n");
    /* Two that use one value where the other uses two. */
    differ("graph @b(%0: f32[1], %1: f32[1]) {\n  %2 = add %0, %1 : f32[1]\n",
           "graph @b(%0: f32[1], %1: f32[1]) {\n  %2 = add %1, %1 : f32[1]\n",
           "-2   %2 = add %0, %1 : f32[1]\n+2   %2 = add %1, %1 : f32[1]\n");
    /* Numbers that no reader should trust. */
    differ("  %4294967295 = x %99999999999999999999 : f\n",
           "  %4294967295 = x %99999999999999999999 : f\n", "");
    differ("%1\n%2\n\"3\"\n\"4x\"\n%\n", "%1\n%2\n\"5\"\n\"6x\"\n%\n",
           "-4 \"4x\"\n+4 \"6x\"\n");
}

/* Against a table of all pairs: the least number of lines, on random texts of
 * few letters. */
static uint32_t least(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    uint32_t t[32][32];

    for (size_t i = 0; i <= n; i++)
        for (size_t k = 0; k <= m; k++) {
            if (i == 0 || k == 0)
                t[i][k] = (uint32_t)(i + k);
            else if (a[i - 1] == b[k - 1])
                t[i][k] = t[i - 1][k - 1];
            else
                t[i][k] = 1 + (t[i - 1][k] < t[i][k - 1] ? t[i - 1][k]
                                                         : t[i][k - 1]);
        }
    return t[n][m];
}

static void fewest_lines(void **state)
{
    uint32_t seed = 7;

    (void)state;
    for (int round = 0; round < 3000; round++) {
        char word[2][32], text[2][64];
        text_lines x, y;
        line_diff d;

        for (int w = 0; w < 2; w++) {
            size_t n;

            seed = seed * 1664525 + 1013904223;
            n = (seed >> 20) % 20;
            for (size_t i = 0; i < n; i++) {
                seed = seed * 1664525 + 1013904223;
                word[w][i] = (char)('a' + (seed >> 24) % 3);
                text[w][2 * i] = word[w][i];
                text[w][2 * i + 1] = '\n';
            }
            word[w][n] = text[w][2 * n] = '\0';
        }
        assert_int_equal(text_lines_get(&x, str_of(text[0])), HULL_OK);
        assert_int_equal(text_lines_get(&y, str_of(text[1])), HULL_OK);
        assert_int_equal(lines_diff(&d, &x, &y), HULL_OK);
        assert_int_equal(d.n, least(word[0], word[1]));
        line_diff_fini(&d);
        text_lines_fini(&x);
        text_lines_fini(&y);
    }
}

static char *many_lines(int n, int every, const char *other)
{
    buf b;

    buf_init(&b, 1 << 24);
    for (int i = 0; i < n; i++)
        buf_printf(&b, "line %d%s\n", i, i % every == 1 ? other : "");
    return buf_take(&b);
}

/* Large texts: exact below the limit, counted beyond it. */
static void large_texts(void **state)
{
    char *a = many_lines(10000, 100, ""), *b = many_lines(10000, 100, "!");
    char *c = many_lines(10000, 2, "?");
    text_lines x, y, z;
    line_diff d;

    (void)state;
    assert_int_equal(text_lines_get(&x, str_of(a)), HULL_OK);
    assert_int_equal(text_lines_get(&y, str_of(b)), HULL_OK);
    assert_int_equal(text_lines_get(&z, str_of(c)), HULL_OK);
    assert_int_equal(lines_diff(&d, &x, &y), HULL_OK);
    assert_false(d.far);
    assert_int_equal(d.n, 200);
    line_diff_fini(&d);
    assert_int_equal(lines_diff(&d, &x, &z), HULL_OK);
    assert_true(d.far);
    assert_null(d.lines);
    assert_int_equal(d.n, 10000);
    line_diff_fini(&d);
    text_lines_fini(&x);
    text_lines_fini(&y);
    text_lines_fini(&z);
    mem_free(a);
    mem_free(b);
    mem_free(c);
}

/* ---- entries ------------------------------------------------------------- */

static cache_key key_of(const char *backend, const char *text)
{
    cache_key k;

    assert_int_equal(cache_key_make(&k, str_of(backend), str_of("here"), NULL,
                                    str_of(text)), HULL_OK);
    return k;
}

static hull_status set_time(void *user, const cache_item *item)
{
    static time_t seconds = 1000;
    const struct timespec t[2] = {{seconds, 0}, {seconds, 0}};

    if (!digest_eq(&item->key, user))
        return HULL_OK;
    seconds++;
    assert_int_equal(utimensat(AT_FDCWD, item->path, t, 0), 0);
    return HULL_OK;
}

/* Every one is used later than those before. */
static void put(cache *c, const char *backend, const char *text)
{
    cache_key k = key_of(backend, text);
    container_writer *w;

    assert_int_equal(container_writer_new(&w, CONTAINER_ENGINE), HULL_OK);
    assert_int_equal(container_add(w, "key", k.preimage.p, k.preimage.n),
                     HULL_OK);
    assert_int_equal(container_add(w, "main", "x", 1), HULL_OK);
    cache_put(c, CACHE_ENGINE, &k, w);
    assert_int_equal(cache_list(c, set_time, &k.d), HULL_OK);
    container_writer_free(w);
    cache_key_fini(&k);
}

static void nearest_is(cache *c, const char *backend, const char *text,
                       const char *want, uint64_t differ)
{
    cache_key k = key_of(backend, text);
    cache_near q = {.key = &k};
    uint64_t n, unread;

    assert_int_equal(cache_nearest(&q, 1, c, &n, &unread), HULL_OK);
    assert_int_equal(unread, 0);
    assert_int_equal(q.found, want != NULL);
    if (want != NULL)
        assert_true(str_ends(buf_view(&q.preimage), want));
    assert_int_equal(q.diff.n, differ);
    cache_near_fini(&q);
    cache_key_fini(&k);
}

static void nearest_entry(void **state)
{
    cache *c;

    (void)state;
    assert_int_equal(cache_open(&c, folder, NULL), HULL_OK);
    nearest_is(c, "ref", "a\nb\nc\n", NULL, 0);
    put(c, "sim", "a\nb\nc\n");
    nearest_is(c, "ref", "a\nb\nc\n", "a\nb\nc\n", 2); /* backend's lines */
    put(c, "ref", "x\ny\nz\n");
    nearest_is(c, "ref", "a\nb\nc\n", "x\ny\nz\n", 6); /* its backend first */
    put(c, "ref", "a\nb\nd\n");
    put(c, "ref", "a\nd\nd\n");
    nearest_is(c, "ref", "a\nb\nc\n", "a\nb\nd\n", 2);
    nearest_is(c, "ref", "a\nq\nd\n", "a\nd\nd\n", 2); /* the later use */
    cache_notes_put(c, str_of("hull-key 1\nbackend ref\na\nb\nc\n"),
                    str_of("x 1\n"));
    nearest_is(c, "ref", "a\nb\nc\n", "a\nb\nd\n", 2); /* notes are none */
    cache_unref(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_found),
        cmocka_unit_test(numbers_are_followed),
        cmocka_unit_test(fewest_lines),
        cmocka_unit_test(large_texts),
        TEST(nearest_entry),
    };

    ignore(log_configure("all:error")); /* a word that it knows */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
