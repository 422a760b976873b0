/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_buf.c - growable bytes: limits, quoting, shortest float text.
 */
#include "unit.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void puts_add_up(void **state)
{
    buf b;

    (void)state;
    buf_init(&b, SIZE_MAX);
    assert_string_equal(buf_view(&b).p, "");
    buf_puts(&b, "ab");
    buf_putc(&b, 'c');
    buf_str(&b, (str){ "defg", 2 });
    buf_put(&b, NULL, 0);
    buf_printf(&b, "-%d-%s", 7, "x");
    assert_string_equal(b.p, "abcde-7-x");
    assert_int_equal(b.n, 9);
    buf_align(&b, 8);
    assert_int_equal(b.n, 16);
    buf_align(&b, 8);
    assert_int_equal(b.n, 16);
    assert_int_equal(b.p[15], 0);
    assert_int_equal(buf_status(&b), HULL_OK);
    buf_clear(&b);
    assert_string_equal(buf_view(&b).p, "");
    buf_fini(&b);
    buf_fini(&b);
    buf_fini(NULL);
}

static void long_prints_fit(void **state)
{
    char big[2000];
    int n;
    buf b;

    (void)state;
    memset(big, 'q', sizeof(big));
    buf_init(&b, SIZE_MAX);
    for (n = 250; n < 260; n++) {
        buf_clear(&b);
        buf_printf(&b, "%.*s|", n, big);
        assert_int_equal(b.n, n + 1);
        assert_int_equal(b.p[n], '|');
        assert_int_equal(b.p[n + 1], 0);
    }
    buf_fini(&b);
}

static void limit_is_exact_and_sticky(void **state)
{
    buf b;

    (void)state;
    buf_init(&b, 5);
    buf_puts(&b, "12345");
    assert_int_equal(buf_status(&b), HULL_OK);
    assert_true(b.cap <= 6);
    buf_putc(&b, '6');
    assert_int_equal(buf_status(&b), HULL_ENOMEM);
    assert_string_equal(b.p, "12345");
    buf_clear(&b);
    buf_putc(&b, 'x');
    assert_int_equal(b.n, 0);
    assert_int_equal(buf_status(&b), HULL_ENOMEM);
    assert_null(buf_take(&b));
    assert_int_equal(buf_status(&b), HULL_OK);
    buf_fini(&b);
}

static void allocation_failure_is_sticky(void **state)
{
    buf b;

    (void)state;
    buf_init(&b, SIZE_MAX);
    mem_fail_at(1, true);
    buf_puts(&b, "x");
    mem_fail_at(0, false);
    buf_puts(&b, "y");
    assert_int_equal(buf_status(&b), HULL_ENOMEM);
    buf_fini(&b);
}

static void take_hands_over(void **state)
{
    char *p;
    buf b;

    (void)state;
    buf_init(&b, 100);
    p = buf_take(&b);
    assert_string_equal(p, "");
    mem_free(p);
    buf_puts(&b, "text");
    p = buf_take(&b);
    assert_string_equal(p, "text");
    assert_null(b.p);
    assert_int_equal(b.n, 0);
    mem_free(p);
}

static void ints_as_printf_has_them(void **state)
{
    const int64_t v[] = {0, 1, -1, 9, 10, -10, 99, 100, 4294967296, INT64_MAX,
                         INT64_MIN};
    char want[32];
    buf b;

    (void)state;
    buf_init(&b, 64);
    for (size_t i = 0; i < COUNT_OF(v); i++) {
        buf_clear(&b);
        buf_int(&b, v[i]);
        snprintf(want, sizeof(want), "%" PRId64, v[i]);
        assert_string_equal(b.p, want);
        assert_int_equal(b.n, strlen(want));
    }
    buf_fini(&b);
}

static void quoting_escapes(void **state)
{
    buf b;

    (void)state;
    buf_init(&b, 1000);
    buf_quoted(&b, (str){ "a\"b\\c\n\r\t\0\x1f\x7f\xc3\xa9", 14 - 1 });
    assert_string_equal(b.p, "\"a\\\"b\\\\c\\n\\r\\t\\x00\\x1f\\x7f\xc3\xa9\"");
    buf_fini(&b);
}

static void check_f64(double v, const char *want)
{
    buf b;

    buf_init(&b, 1000);
    buf_f64(&b, v);
    assert_string_equal(buf_view(&b).p, want);
    buf_fini(&b);
}

static void check_f32(float v, const char *want)
{
    buf b;

    buf_init(&b, 1000);
    buf_f32(&b, v);
    assert_string_equal(buf_view(&b).p, want);
    buf_fini(&b);
}

static void floats_are_short(void **state)
{
    (void)state;
    check_f64(0.1, "0.1");
    check_f64(1, "1.0");
    check_f64(-0.0, "-0.0");
    check_f64(100, "100.0");
    check_f64(-150, "-150.0");
    check_f64(1e5, "1e+05");
    check_f64(2048, "2048.0");
    check_f64(2147483647, "2147483647.0");
    check_f64(1e-5, "1e-05");
    check_f64(1e300, "1e+300");
    check_f64(5e-324, "5e-324");
    check_f64(0.30000000000000004, "0.30000000000000004");
    check_f64((double)NAN, "nan");
    check_f64(-(double)INFINITY, "-inf");
    check_f32(0.1f, "0.1");
    check_f32(3.0f, "3.0");
    check_f32(16777216.0f, "16777216.0");
    check_f32(3.4028235e38f, "3.4028235e+38");
    check_f32(1e-45f, "1e-45");
    check_f32(INFINITY, "inf");
}

/* xorshift: the bit patterns need no better randomness. */
static uint64_t next_random(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

static void floats_read_back(void **state)
{
    uint64_t seed = 88172645463325252u, bits;
    int i;
    buf b;

    (void)state;
    buf_init(&b, 1000);
    for (i = 0; i < 20000; i++) {
        double v, back;
        float f;

        bits = next_random(&seed);
        memcpy(&v, &bits, sizeof(v));
        memcpy(&f, &bits, sizeof(f));
        if (isfinite(v)) {
            buf_clear(&b);
            buf_f64(&b, v);
            assert_true(str_to_f64(&back, buf_view(&b)));
            assert_memory_equal(&back, &v, sizeof(v));
            assert_non_null(strpbrk(b.p, ".e"));
        }
        if (isfinite(f)) {
            float f_back;

            buf_clear(&b);
            buf_f32(&b, f);
            f_back = strtof(b.p, NULL);
            assert_memory_equal(&f_back, &f, sizeof(f));
            assert_non_null(strpbrk(b.p, ".e"));
        }
    }
    buf_fini(&b);
}

/* Needs a locale with a decimal comma; without one there is nothing to see. */
static void locale_does_not_matter(void **state)
{
    static const char *const names[] = { "de_DE.UTF-8", "de_DE",
                                         "fr_FR.UTF-8" };
    double v;
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(names); i++) {
        if (setlocale(LC_ALL, names[i]) != NULL)
            break;
    }
    if (i == COUNT_OF(names)) {
        skip();
    }
    check_f64(0.5, "0.5");
    check_f32(1.5f, "1.5");
    assert_true(str_to_f64(&v, str_of("0.25")));
    assert_true(v == 0.25);
    setlocale(LC_ALL, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(puts_add_up),
        cmocka_unit_test(long_prints_fit),
        cmocka_unit_test(limit_is_exact_and_sticky),
        cmocka_unit_test(allocation_failure_is_sticky),
        cmocka_unit_test(take_hands_over),
        cmocka_unit_test(ints_as_printf_has_them),
        cmocka_unit_test(quoting_escapes),
        cmocka_unit_test(floats_are_short),
        cmocka_unit_test(floats_read_back),
        cmocka_unit_test(locale_does_not_matter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
