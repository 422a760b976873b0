/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * Element types: every code of the small formats, rounding, limits, packing,
 * and which type holds which.
 */
#include "unit.h"

#include "ir/ir.h"

#include <math.h>
#include <string.h>

#define fault(...)                \
    do {                          \
        print_error(__VA_ARGS__); \
        assert_true(false);       \
    } while (0)

static const hull_dtype small_floats[] = { HULL_F16,      HULL_BF16,
                                           HULL_F8E4M3FN, HULL_F8E4M3FNUZ,
                                           HULL_F8E5M2,   HULL_F8E5M2FNUZ,
                                           HULL_F8E8M0,   HULL_F4E2M1 };

static uint64_t code_of(hull_dtype dt, double v)
{
    uint64_t u = 0;

    store_f64(dt, &u, 0, v);
    return u;
}

static double value_of(hull_dtype dt, uint64_t code)
{
    return load_f64(dt, &code, 0);
}

static void names(void **state)
{
    (void)state;
    for (int i = HULL_F64; i <= HULL_U2; i++) {
        hull_dtype dt = (hull_dtype)i;

        assert_int_equal(dtype_from_name(str_of(hull_dtype_name(dt))), dt);
        assert_true(hull_dtype_bits(dt) >= 2);
    }
    assert_int_equal(dtype_from_name(str_of("f33")), HULL_NONE);
    assert_int_equal(dtype_from_name(str_of("none")), HULL_NONE);
    assert_int_equal(dtype_from_name(str_of("")), HULL_NONE);
    assert_int_equal(hull_dtype_bits((hull_dtype)99), 0);
    assert_int_equal(hull_dtype_bits((hull_dtype)-1), 0);
    assert_non_null(hull_dtype_name((hull_dtype)-5));
}

static void every_code_survives(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(small_floats); k++) {
        hull_dtype dt = small_floats[k];
        uint64_t n = UINT64_C(1) << hull_dtype_bits(dt);
        uint32_t nans = 0;

        for (uint64_t c = 0; c < n; c++) {
            double v = value_of(dt, c);

            nans += isnan(v) != 0;
            /* e4m3fn's and the others' NaN codes keep sign and payload */
            if (code_of(dt, v) != c)
                fault("%s: code %#llx came back as %#llx", hull_dtype_name(dt),
                      (unsigned long long)c,
                      (unsigned long long)code_of(dt, v));
        }
        if (dt == HULL_F8E4M3FN)
            assert_int_equal(nans, 2);
        if (dt == HULL_F8E4M3FNUZ || dt == HULL_F8E5M2FNUZ || dt == HULL_F8E8M0)
            assert_int_equal(nans, 1);
        if (dt == HULL_F8E5M2)
            assert_int_equal(nans, 6);
        if (dt == HULL_F4E2M1)
            assert_int_equal(nans, 0);
    }
}

/* Between two neighbours: below the middle down, above up, the middle to the
 * even code. */
static void rounds_to_nearest_even(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(small_floats); k++) {
        hull_dtype dt = small_floats[k];
        uint64_t n = UINT64_C(1) << (hull_dtype_bits(dt) - 1);

        if (dt == HULL_F8E8M0)
            n *= 2;
        for (uint64_t c = 0; c + 1 < n; c++) {
            double a = value_of(dt, c), b = value_of(dt, c + 1), mid;

            if (!isfinite(a) || !isfinite(b))
                break;
            mid = a / 2 + b / 2;
            assert_int_equal(code_of(dt, mid), c + (c & 1));
            assert_int_equal(code_of(dt, nextafter(mid, a)), c);
            assert_int_equal(code_of(dt, nextafter(mid, b)), c + 1);
        }
    }
}

static void limits(void **state)
{
    (void)state;
    assert_true(value_of(HULL_F16, 0x7bff) == 65504.0);
    assert_true(isinf(value_of(HULL_F16, code_of(HULL_F16, 65520.0))));
    assert_int_equal(code_of(HULL_F16, 65519.99), 0x7bff);
    assert_true(value_of(HULL_F8E4M3FN, 0x7e) == 448.0);
    assert_int_equal(code_of(HULL_F8E4M3FN, 464.0), 0x7e);
    assert_int_equal(code_of(HULL_F8E4M3FN, 464.1), 0x7f);
    assert_int_equal(code_of(HULL_F8E4M3FN, -HUGE_VAL), 0xff);
    assert_true(value_of(HULL_F8E4M3FNUZ, 0x7f) == 240.0);
    assert_int_equal(code_of(HULL_F8E4M3FNUZ, 1e9), 0x80);
    assert_int_equal(code_of(HULL_F8E4M3FNUZ, -0.0), 0);
    assert_int_equal(code_of(HULL_F8E4M3FNUZ, -1e-30), 0);
    assert_true(value_of(HULL_F8E5M2, 0x7b) == 57344.0);
    assert_int_equal(code_of(HULL_F8E5M2, 1e9), 0x7c);
    assert_true(value_of(HULL_F8E5M2FNUZ, 0x7f) == 57344.0);
    assert_int_equal(code_of(HULL_F8E5M2FNUZ, (double)NAN), 0x80);
    assert_true(value_of(HULL_F8E8M0, 0) == 0x1p-127);
    assert_true(value_of(HULL_F8E8M0, 0xfe) == 0x1p127);
    assert_int_equal(code_of(HULL_F8E8M0, 0.0), 0);
    assert_int_equal(code_of(HULL_F8E8M0, -1.0), 0xff);
    assert_int_equal(code_of(HULL_F8E8M0, 0x1p128), 0xff);
    assert_true(value_of(HULL_F4E2M1, 7) == 6.0);
    assert_true(value_of(HULL_F4E2M1, 1) == 0.5);
    assert_int_equal(code_of(HULL_F4E2M1, 1e9), 7);
    assert_int_equal(code_of(HULL_F4E2M1, -1e9), 15);
    assert_int_equal(code_of(HULL_F32, -0.0), 0x80000000u);
    assert_true(isinf(value_of(HULL_F32, code_of(HULL_F32, 1e300))));
    assert_int_equal(code_of(HULL_BF16, 1.0), 0x3f80);
}

static void f32_nans_keep_their_bits(void **state)
{
    static const uint32_t bits[] = { 0x7fc00000u, 0x7f800001u, 0xffc12345u,
                                     0xffbfffffu };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bits); i++) {
        double v = value_of(HULL_F32, bits[i]);

        assert_true(isnan(v));
        assert_int_equal(code_of(HULL_F32, v), bits[i]);
    }
}

static void integers(void **state)
{
    (void)state;
    assert_int_equal(code_of(HULL_I8, 300.0), 0x7f);
    assert_int_equal(code_of(HULL_I8, -300.0), 0x80);
    assert_int_equal(code_of(HULL_I8, -1.9), 0xff);
    assert_int_equal(code_of(HULL_U8, -5.0), 0);
    assert_int_equal(code_of(HULL_U8, 300.0), 0xff);
    assert_int_equal(code_of(HULL_I32, (double)NAN), 0);
    assert_int_equal(code_of(HULL_I64, 1e30), INT64_MAX);
    assert_int_equal(code_of(HULL_I64, -HUGE_VAL), (uint64_t)INT64_MIN);
    assert_true(code_of(HULL_U64, 1e30) == UINT64_MAX);
    assert_int_equal(code_of(HULL_I4, 100.0), 7);
    assert_int_equal(code_of(HULL_U4, 100.0), 15);
    assert_int_equal(code_of(HULL_BOOL, 0.5), 1);
    assert_int_equal(code_of(HULL_BOOL, -0.0), 0);
    assert_true(value_of(HULL_U64, UINT64_MAX) == 0x1p64);
    assert_true(value_of(HULL_I4, 0x8) == -8.0);
    for (int dt = HULL_I64; dt <= HULL_U4; dt++) {
        uint64_t u = 0;

        store_i64((hull_dtype)dt, &u, 0, -1);
        assert_int_equal(load_i64((hull_dtype)dt, &u, 0),
                         !dtype_is_unsigned((hull_dtype)dt) ? -1
                         : dt == HULL_U64
                             ? -1
                             : (INT64_C(1) << hull_dtype_bits((hull_dtype)dt)) -
                                   1);
    }
}

/* One rounding from 64-bit integers, not two. */
static void integers_to_floats(void **state)
{
    uint64_t u = 0;
    int64_t just_above = (INT64_C(1) << 60) + (INT64_C(1) << 36) + 1;

    (void)state;
    store_i64(HULL_F32, &u, 0, just_above);
    assert_int_equal(u, 0x5d800001u);
    store_i64(HULL_F32, &u, 0, just_above - 1);
    assert_int_equal(u, 0x5d800000u);
    u = 0;
    store_i64(HULL_F64, &u, 0, INT64_MIN);
    assert_true(value_of(HULL_F64, u) == -0x1p63);
    u = 0;
    store_i64(HULL_BF16, &u, 0, INT64_MIN);
    assert_true(value_of(HULL_BF16, u) == -0x1p63);
}

static void packs_nibbles(void **state)
{
    uint8_t b[2] = { 0xff, 0xff };

    (void)state;
    store_i64(HULL_U4, b, 0, 3);
    store_i64(HULL_U4, b, 1, 12);
    store_i64(HULL_U4, b, 2, 5);
    assert_int_equal(b[0], 0xc3);
    assert_int_equal(b[1], 0xf5);
    assert_int_equal(load_i64(HULL_U4, b, 1), 12);
    assert_int_equal(load_i64(HULL_I4, b, 1), -4);
    for (uint64_t i = 0; i < 5; i++)
        store_i64(HULL_U2, b, i, (int64_t)i + 1);
    assert_int_equal(b[0], 0x39);
    assert_int_equal(b[1] & 3, 1);
    assert_int_equal(load_i64(HULL_U2, b, 2), 3);
    assert_int_equal(load_i64(HULL_I2, b, 2), -1);
    store_f64(HULL_I2, b, 0, -7.5);
    assert_int_equal(load_i64(HULL_I2, b, 0), -2);
}

static void sizes(void **state)
{
    uint64_t n;

    (void)state;
    assert_true(dtype_bytes(&n, HULL_F32, 3));
    assert_int_equal(n, 12);
    assert_true(dtype_bytes(&n, HULL_I4, 3));
    assert_int_equal(n, 2);
    assert_true(dtype_bytes(&n, HULL_U2, 5));
    assert_int_equal(n, 2);
    assert_true(dtype_bytes(&n, HULL_I4, UINT64_MAX));
    assert_true(n == UINT64_C(1) << 63);
    assert_true(dtype_bytes(&n, HULL_C128, 2));
    assert_int_equal(n, 32);
    assert_false(dtype_bytes(&n, HULL_F64, UINT64_MAX / 4));
    assert_false(dtype_bytes(&n, HULL_NONE, 1));
}

/* dtype_widens against a walk over all values of the small types. */
static void widens(void **state)
{
    static const hull_dtype all[] = {
        HULL_F16,    HULL_BF16,       HULL_F8E4M3FN, HULL_F8E4M3FNUZ,
        HULL_F8E5M2, HULL_F8E5M2FNUZ, HULL_F8E8M0,   HULL_F4E2M1,
        HULL_I8,     HULL_I4,         HULL_U8,       HULL_U4,
        HULL_F32,    HULL_F64,        HULL_I32,      HULL_U16,
        HULL_I16
    };

    (void)state;
    for (size_t a = 0; a < COUNT_OF(all); a++) {
        if (hull_dtype_bits(all[a]) > 16)
            continue;
        for (size_t b = 0; b < COUNT_OF(all); b++) {
            uint64_t n = UINT64_C(1) << hull_dtype_bits(all[a]);
            bool fits = true;

            for (uint64_t c = 0; c < n && fits; c++) {
                double v = value_of(all[a], c);
                double w = value_of(all[b], code_of(all[b], v));

                fits = isnan(v) ? isnan(w) != 0
                                : v == w && signbit(v) == signbit(w);
                if (!dtype_is_float(all[b]) && isnan(v))
                    fits = false;
            }
            if (fits != dtype_widens(all[a], all[b]))
                fault("%s to %s: %d", hull_dtype_name(all[a]),
                      hull_dtype_name(all[b]), fits);
        }
    }
    assert_true(dtype_widens(HULL_F32, HULL_C64));
    assert_false(dtype_widens(HULL_F64, HULL_C64));
    assert_true(dtype_widens(HULL_C64, HULL_C128));
    assert_false(dtype_widens(HULL_I64, HULL_F64));
    assert_true(dtype_widens(HULL_I32, HULL_F64));
    assert_false(dtype_widens(HULL_U64, HULL_I64));
    assert_true(dtype_widens(HULL_BOOL, HULL_I8));
    assert_false(dtype_widens(HULL_I8, HULL_BOOL));
    assert_false(dtype_widens(HULL_NONE, HULL_F32));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(every_code_survives),
        cmocka_unit_test(rounds_to_nearest_even),
        cmocka_unit_test(limits),
        cmocka_unit_test(f32_nans_keep_their_bits),
        cmocka_unit_test(integers),
        cmocka_unit_test(integers_to_floats),
        cmocka_unit_test(packs_nibbles),
        cmocka_unit_test(sizes),
        cmocka_unit_test(widens),
    };

    return cmocka_run_group_tests_name("dtype", tests, NULL, NULL);
}
