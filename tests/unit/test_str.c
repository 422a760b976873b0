/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_str.c - views of text: splitting, UTF-8, numbers, safe paths.
 */
#include "unit.h"

#include <math.h>
#include <string.h>

static void comparing(void **state)
{
    (void)state;
    assert_true(str_eq(str_of(NULL), str_of("")));
    assert_true(str_is(str_of("abc"), "abc"));
    assert_false(str_is(str_of("abc"), "ab"));
    assert_false(str_is((str){ "ab\0", 3 }, "ab"));
    assert_true(str_cmp(str_of("a"), str_of("b")) < 0);
    assert_true(str_cmp(str_of("ab"), str_of("a")) > 0);
    assert_true(str_cmp(str_of("\xff"), str_of("a")) > 0);
    assert_true(str_cmp((str){ NULL, 0 }, str_of("")) == 0);
    assert_true(str_starts(str_of("prefix"), "pre"));
    assert_false(str_starts(str_of("pr"), "pre"));
    assert_true(str_ends(str_of("a.onnx"), ".onnx"));
    assert_false(str_ends(str_of("nnx"), ".onnx"));
    assert_true(str_contains(str_of("a.b.c"), ".b."));
    assert_false(str_contains(str_of("abc"), "cb"));
    assert_true(str_contains((str){ NULL, 0 }, ""));
}

static void splitting_and_trimming(void **state)
{
    str rest;

    (void)state;
    assert_true(str_is(str_split(str_of("a,b,c"), ',', &rest), "a"));
    assert_true(str_is(rest, "b,c"));
    assert_true(str_is(str_split(str_of("abc"), ',', &rest), "abc"));
    assert_true(str_is(rest, ""));
    assert_true(str_is(str_split(str_of(",x"), ',', &rest), ""));
    assert_true(str_is(rest, "x"));
    rest = str_of("p:q");
    assert_true(str_is(str_split(rest, ':', &rest), "p"));
    assert_true(str_is(rest, "q"));
    assert_true(str_is(str_trim(str_of(" \t a b\n")), "a b"));
    assert_true(str_is(str_trim(str_of("  ")), ""));
}

static void utf8(void **state)
{
    static const char *const good[] = {
        "",
        "abc",
        "\xc3\xa9",
        "\xe2\x82\xac",
        "\xf0\x9f\x98\x80",
        "\xf4\x8f\xbf\xbf",
        "\xed\x9f\xbf",
        "\xee\x80\x80",
        "\xc2\x80",
    };
    static const char *const bad[] = {
        "\x80",
        "\xc0\x80",
        "\xc1\xbf",
        "\xe0\x80\x80",
        "\xed\xa0\x80",
        "\xf0\x80\x80\x80",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xff",
        "\xc3",
        "\xe2\x82",
        "\xf0\x9f\x98",
        "\xc3(",
        "a\xe2\x28\xa1",
    };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(good); i++)
        assert_true(str_valid_utf8(str_of(good[i])));
    for (i = 0; i < COUNT_OF(bad); i++)
        assert_false(str_valid_utf8(str_of(bad[i])));
}

static void integers(void **state)
{
    static const char *const bad[] = {
        "",
        "-",
        "+1",
        " 1",
        "1 ",
        "1x",
        "0x10",
        "1.0",
        "--1",
        "9223372036854775808",
        "-9223372036854775809",
        "99999999999999999999999999",
    };
    uint64_t u;
    int64_t v;
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(bad); i++)
        assert_false(str_to_i64(&v, str_of(bad[i])));
    assert_true(str_to_i64(&v, str_of("9223372036854775807")));
    assert_true(v == INT64_MAX);
    assert_true(str_to_i64(&v, str_of("-9223372036854775808")));
    assert_true(v == INT64_MIN);
    assert_true(str_to_i64(&v, str_of("-0")));
    assert_true(v == 0);
    assert_true(str_to_i64(&v, (str){ "1234", 2 }));
    assert_true(v == 12);
    assert_true(str_to_u64(&u, str_of("18446744073709551615")));
    assert_true(u == UINT64_MAX);
    assert_false(str_to_u64(&u, str_of("18446744073709551616")));
    assert_false(str_to_u64(&u, str_of("-1")));
}

static void floats(void **state)
{
    static const char *const bad[] = {
        "",      "-",        ".",   "e5",    "1e", "1e+", "1.2.3", " 1",   "1 ",
        "0x1p3", "infinity", "NaN", "1e999", "+1", "1f",  "1,5",   "-nan",
    };
    char many[600];
    double v;
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(bad); i++)
        assert_false(str_to_f64(&v, str_of(bad[i])));
    assert_true(str_to_f64(&v, str_of("1.5e3")) && v == 1500);
    assert_true(str_to_f64(&v, str_of("-.5")) && v == -0.5);
    assert_true(str_to_f64(&v, str_of("5.")) && v == 5);
    assert_true(str_to_f64(&v, str_of("1e-999")) && v == 0);
    assert_true(str_to_f64(&v, (str){ "1.25999", 4 }) && v == 1.25);
    assert_true(str_to_f64(&v, str_of("nan")) && isnan(v));
    assert_true(str_to_f64(&v, str_of("-inf")) && isinf(v) && v < 0);
    memset(many, '1', sizeof(many));
    assert_false(str_to_f64(&v, (str){ many, sizeof(many) }));
    assert_true(str_to_f64(&v, (str){ many, 300 }));
}

static void sizes(void **state)
{
    uint64_t v;

    (void)state;
    assert_true(str_to_size(&v, str_of("64")) && v == 64);
    assert_true(str_to_size(&v, str_of("64B")) && v == 64);
    assert_true(str_to_size(&v, str_of("64KiB")) && v == 65536);
    assert_true(str_to_size(&v, str_of("2MiB")) && v == 2097152);
    assert_true(str_to_size(&v, str_of("1GiB")) && v == 1073741824);
    assert_false(str_to_size(&v, str_of("KiB")));
    assert_false(str_to_size(&v, str_of("1KB")));
    assert_false(str_to_size(&v, str_of("1 KiB")));
    assert_false(str_to_size(&v, str_of("-1KiB")));
    assert_false(str_to_size(&v, str_of("18014398509481984KiB")));
}

static void safe_paths(void **state)
{
    static const char *const good[] = {
        "a", "a/b", "model/.data/version", "a..b", "...", "\xc3\xa9/x y",
    };
    static const char *const bad[] = {
        "",       "/a",   "a/",  "a//b", "..",   "../a", "a/..",
        "a/../b", "a\\b", "C:x", "c:/x", "a\nb", "\x7f", "\xff",
    };
    char big[5000];
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(good); i++)
        assert_true(str_is_safe_path(str_of(good[i])));
    for (i = 0; i < COUNT_OF(bad); i++)
        assert_false(str_is_safe_path(str_of(bad[i])));
    assert_false(str_is_safe_path((str){ "a\0b", 3 }));
    memset(big, 'a', sizeof(big));
    assert_false(str_is_safe_path((str){ big, sizeof(big) }));
}

static size_t distance(const char *a, const char *b)
{
    return str_distance(str_of(a), str_of(b));
}

static void distances(void **state)
{
    char big[64];

    (void)state;
    assert_int_equal(distance("", ""), 0);
    assert_int_equal(distance("tile", "tile"), 0);
    assert_int_equal(distance("", "tile"), 4);
    assert_int_equal(distance("tile", ""), 4);
    assert_int_equal(distance("bakend", "backends"), 2);
    assert_int_equal(distance("thread", "threads"), 1);
    assert_int_equal(distance("wieghts", "weights"), 2);
    assert_int_equal(distance("kitten", "sitting"), 3);
    memset(big, 'a', sizeof(big));
    assert_int_equal(str_distance((str){ big, 63 }, (str){ big, 62 }), 1);
    assert_true(str_distance((str){ big, 64 }, str_of("a")) == SIZE_MAX);
    assert_true(str_distance(str_of("a"), (str){ big, 64 }) == SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparing),  cmocka_unit_test(splitting_and_trimming),
        cmocka_unit_test(utf8),       cmocka_unit_test(integers),
        cmocka_unit_test(floats),     cmocka_unit_test(sizes),
        cmocka_unit_test(safe_paths), cmocka_unit_test(distances),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
