/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_json.c - strict parsing, typed look-ups, jansson's own memory.
 */
#include "unit.h"

#include <jansson.h>
#include <string.h>

static hull_status parse(json_t **out, const char *text)
{
    return json_parse(out, text, strlen(text), "doc");
}

static void documents_parse(void **state)
{
    json_t *j, *v;
    int64_t i;
    str s;

    (void)state;
    assert_int_equal(parse(&j, "{\"o\":{},\"a\":[1],\"s\":\"x\\u0000y\","
                               "\"i\":-9223372036854775808}"),
                     HULL_OK);
    assert_int_equal(json_want_object(&v, j, "o", "doc"), HULL_OK);
    assert_string_equal(json_kind(v), "object");
    assert_int_equal(json_want_array(&v, j, "a", "doc"), HULL_OK);
    assert_int_equal(json_array_size(v), 1);
    assert_int_equal(json_want_string(&s, j, "s", "doc"), HULL_OK);
    assert_int_equal(s.n, 3);
    assert_memory_equal(s.p, "x\0y", 3);
    assert_int_equal(json_want_int(&i, j, "i", "doc"), HULL_OK);
    assert_true(i == INT64_MIN);
    json_free(j);
    json_free(NULL);
}

static void lookups_name_what_is_wrong(void **state)
{
    json_t *j, *v;
    int64_t i;
    str s;

    (void)state;
    assert_int_equal(parse(&j, "{\"r\":1.5,\"n\":null,\"b\":true}"), HULL_OK);
    assert_int_equal(json_want_int(&i, j, "r", "doc"), HULL_EFORMAT);
    assert_string_equal(error_text(),
                        "doc: key 'r' is of kind real, wanted integer");
    assert_int_equal(json_want_string(&s, j, "absent", "doc"), HULL_EFORMAT);
    assert_string_equal(error_text(),
                        "doc lacks key 'absent', wanted kind string");
    assert_int_equal(s.n, 0);
    assert_int_equal(json_want_array(&v, j, "n", "doc"), HULL_EFORMAT);
    assert_null(v);
    assert_int_equal(json_want_object(&v, json_object_get(j, "b"), "k", "doc"),
                     HULL_EFORMAT);
    assert_non_null(strstr(error_text(), "boolean"));
    assert_int_equal(json_want_object(&v, NULL, "k", "doc"), HULL_EFORMAT);
    json_free(j);
}

static void bad_documents_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        " ",
        "{",
        "[1,]",
        "{\"a\":1,\"a\":2}",
        "{} x",
        "[1] [2]",
        "{\"a\\u0000b\":1}",
        "{'a':1}",
        "[01]",
        "[1e999]",
        "[9223372036854775808]",
        "[\"\xff\"]",
        "[\"\\ud800\"]",
        "[\"a\nb\"]",
        "nul",
        "[NaN]",
        "{\"a\"}",
        "\xef\xbb\xbf{}",
        "[\"",
    };
    json_t *j;
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(parse(&j, bad[i]), HULL_EFORMAT);
        assert_null(j);
        assert_non_null(strstr(error_text(), "doc: line "));
    }
    assert_int_equal(json_parse(&j, "[1]\0", 4, "doc"), HULL_EFORMAT);
    assert_int_equal(json_parse(&j, NULL, 0, "doc"), HULL_EFORMAT);
    assert_int_equal(json_parse(&j, "[1][", 3, "doc"), HULL_OK);
    json_free(j);
}

/* Each value costs far more memory than its three bytes of text. */
static void values_are_bounded(void **state)
{
    const size_t most = (size_t)1 << 23, n = 3 * most + 3;
    char *text = mem_alloc(n);
    json_t *j;

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < n; i += 3)
        memcpy(text + i, "[],", 3);
    text[0] = '[';
    text[n - 1] = ']';
    assert_int_equal(json_parse(&j, text, n, "doc"), HULL_EFORMAT);
    assert_non_null(strstr(error_text(), "values, wanted at most 8388608"));
    memset(text, ',', n); /* in a text, commas are nothing */
    memcpy(text, "[\"", 2);
    memcpy(text + n - 2, "\"]", 2);
    assert_int_equal(json_parse(&j, text, n, "doc"), HULL_OK);
    json_free(j);
    mem_free(text);
}

static void nesting_is_bounded(void **state)
{
    static char text[200000];
    json_t *j;

    (void)state;
    memset(text, '[', 128);
    memset(text + 128, ']', 128);
    assert_int_equal(json_parse(&j, text, 256, "doc"), HULL_OK);
    json_free(j);
    memset(text, '[', 129);
    memset(text + 129, ']', 129);
    assert_int_equal(json_parse(&j, text, 258, "doc"), HULL_EFORMAT);
    memset(text, '[', sizeof(text));
    assert_int_equal(json_parse(&j, text, sizeof(text), "doc"), HULL_EFORMAT);
    memset(text, '{', sizeof(text));
    assert_int_equal(json_parse(&j, text, sizeof(text), "doc"), HULL_EFORMAT);
    text[0] = '[';
    text[1] = '"';
    text[sizeof(text) - 2] = '"';
    text[sizeof(text) - 1] = ']';
    assert_int_equal(json_parse(&j, text, sizeof(text), "doc"), HULL_OK);
    json_free(j);
}

/* A failed allocation would corrupt jansson's lexer: see json.c. */
static void jansson_is_out_of_reach_of_the_hook(void **state)
{
    static const char text[] =
        "{\"a_long_key_that_makes_the_lexer_grow_its_buffer\":"
        "[123456789012345678, 1.234567890123456789e10, true]}";
    uint64_t count = mem_count();
    hull_status st;
    json_t *j;

    (void)state;
    mem_fail_at(1, false);
    st = parse(&j, text);
    mem_fail_at(0, false);
    assert_int_equal(st, HULL_OK);
    assert_true(mem_count() == count);
    json_free(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_parse),
        cmocka_unit_test(lookups_name_what_is_wrong),
        cmocka_unit_test(bad_documents_are_refused),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(values_are_bounded),
        cmocka_unit_test(jansson_is_out_of_reach_of_the_hook),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
