/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_tolerance.c - tolerances of `hull run --expect`: floats, infinities,
 * NaN, integers, complex numbers.
 */
#include "unit.h"

#include <math.h>

#include "cli/cli.h"

static difference compare(hull_dtype dt, int64_t n, const void *a,
                          const void *b, double atol, double rtol)
{
    named_tensor x = { .name = (char *)"x", .dtype = dt, .rank = 1,
                       .shape = { n }, .data = (void *)a };
    named_tensor y = x;
    difference d;

    y.data = (void *)b;
    compare_tensors(&d, &x, &y, atol, rtol);
    assert_int_equal(d.n, n);
    return d;
}

static void floats_use_both_tolerances(void **state)
{
    float a[] = { 1.0f, 100.5f, 0.25f }, b[] = { 1.25f, 100.0f, 0.0f };
    difference d = compare(HULL_F32, 3, a, b, 0.25, 0.0025);

    (void)state;
    assert_int_equal(d.n_beyond, 0);
    assert_true(d.max_abs == 0.5);
    assert_true(d.max_rel == 0.2);
    d = compare(HULL_F32, 3, a, b, 0.25, 0.002);
    assert_int_equal(d.n_beyond, 1);
    assert_int_equal(d.first, 1);
    d = compare(HULL_F32, 3, a, b, 0, 0);
    assert_int_equal(d.n_beyond, 3);
    assert_int_equal(d.first, 0);
}

static void nan_equals_nan_only(void **state)
{
    float a[] = { NAN, INFINITY, -INFINITY }, b[] = { NAN, INFINITY, 1.0f };
    difference d = compare(HULL_F32, 2, a, b, 0, 0);

    (void)state;
    assert_int_equal(d.n_beyond, 0);
    assert_true(d.max_abs == 0);
    d = compare(HULL_F32, 3, a, b, 1e30, 1e30);
    assert_int_equal(d.n_beyond, 1);
    assert_int_equal(d.first, 2);
    assert_true(isinf(d.max_abs));
    a[0] = 0;
    d = compare(HULL_F32, 1, a, b, 1e30, 1e30);
    assert_int_equal(d.n_beyond, 1);
    d = compare(HULL_F32, 1, b, a, 1e30, 1e30);
    assert_int_equal(d.n_beyond, 1);
}

static void integers_ignore_rtol(void **state)
{
    int64_t a[] = { 50000, INT64_MAX }, b[] = { 50001, INT64_MAX - 1 };
    int64_t low = INT64_MIN, high = INT64_MAX;
    difference d = compare(HULL_I64, 2, a, b, 0, 1);

    (void)state;
    assert_int_equal(d.n_beyond, 2);
    assert_true(d.max_abs == 1);
    d = compare(HULL_I64, 2, a, b, 1, 0);
    assert_int_equal(d.n_beyond, 0);
    d = compare(HULL_I64, 1, &low, &high, 1, 0);
    assert_true(d.max_abs == 0x1p64);
}

static void complex_parts_count_once(void **state)
{
    float a[] = { 1, 2, 3, 4 }, b[] = { 1, 2, 4, 5 };
    difference d = compare(HULL_C64, 2, a, b, 0, 0);

    (void)state;
    assert_int_equal(d.n_beyond, 1);
    assert_int_equal(d.first, 1);
}

static void half_precision_is_decoded(void **state)
{
    uint16_t a[] = { 0x3c00 }, b[] = { 0x3c01 }; /* 1, 1 + 2^-10 */
    difference d = compare(HULL_F16, 1, a, b, 0x1p-10, 0);

    (void)state;
    assert_int_equal(d.n_beyond, 0);
    assert_true(d.max_abs == 0x1p-10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_use_both_tolerances),
        cmocka_unit_test(nan_equals_nan_only),
        cmocka_unit_test(integers_ignore_rtol),
        cmocka_unit_test(complex_parts_count_once),
        cmocka_unit_test(half_precision_is_decoded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
