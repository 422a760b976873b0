/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_hash.c - published digests, checksums, the map from text.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

/* BLAKE2b with 32 bytes of output, from an independent implementation. */
#define EMPTY_HEX \
    "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"
#define ABC_HEX \
    "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319"

static void digests_are_blake2b_256(void **state)
{
    char hex[DIGEST_HEX_SIZE];
    digest d = digest_of(NULL, 0), back;

    (void)state;
    digest_hex(&d, hex);
    assert_string_equal(hex, EMPTY_HEX);
    d = digest_of("abc", 3);
    digest_hex(&d, hex);
    assert_string_equal(hex, ABC_HEX);
    assert_true(digest_from_hex(&back, str_of(hex)));
    assert_true(digest_eq(&back, &d));
    back.b[31] ^= 1;
    assert_false(digest_eq(&back, &d));
}

static void digests_do_not_see_the_pieces(void **state)
{
    unsigned char data[1000];
    digest whole, pieces;
    digester d;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)(i * 7);
    whole = digest_of(data, sizeof(data));
    digest_begin(&d);
    for (i = 0; i < sizeof(data); i += 37) {
        size_t left = sizeof(data) - i;

        digest_update(&d, data + i, left < 37 ? left : 37);
    }
    digest_update(&d, NULL, 0);
    digest_end(&d, &pieces);
    assert_true(digest_eq(&whole, &pieces));
}

static void hex_is_strict(void **state)
{
    char hex[] = ABC_HEX;
    digest d;

    (void)state;
    assert_false(digest_from_hex(&d, (str){ hex, 63 }));
    hex[5] = 'A';
    assert_false(digest_from_hex(&d, str_of(hex)));
    hex[5] = 'g';
    assert_false(digest_from_hex(&d, str_of(hex)));
    assert_false(digest_from_hex(&d, str_of("")));
}

/* Values of the published XXH3 for the empty input, seed 0. */
static void checksums_are_xxh3(void **state)
{
    checksum empty = checksum_of(NULL, 0), a = checksum_of("abc", 3);
    checksum b = checksum_of("abd", 3);

    (void)state;
    assert_true(hash64(NULL, 0) == 0x2d06800538d394c2u);
    assert_true(hash64_keyed("abc", 3) == hash64_keyed("abc", 3));
    assert_true(hash64_keyed("abc", 3) != hash64("abc", 3)); /* it has a key */
    assert_true(empty.hi == 0x99aa06d3014798d8u);
    assert_true(empty.lo == 0x6001c324468d497fu);
    assert_false(a.lo == b.lo && a.hi == b.hi);
}

static void map_keeps_many(void **state)
{
    strmap m = { 0 };
    char key[32];
    uint32_t i, v;

    (void)state;
    assert_false(strmap_get(&m, str_of("x"), &v));
    for (i = 0; i < 5000; i++) {
        snprintf(key, sizeof(key), "key.%u", i);
        assert_int_equal(strmap_set(&m, str_of(key), i), HULL_OK);
    }
    memset(key, 0, sizeof(key)); /* the map has copies */
    assert_int_equal(m.n, 5000);
    for (i = 0; i < 5000; i++) {
        snprintf(key, sizeof(key), "key.%u", i);
        assert_true(strmap_get(&m, str_of(key), &v));
        assert_int_equal(v, i);
    }
    assert_false(strmap_get(&m, str_of("key.5000"), &v));
    assert_int_equal(v, 0);
    assert_int_equal(strmap_set(&m, str_of("key.7"), 70), HULL_OK);
    assert_int_equal(m.n, 5000);
    assert_true(strmap_get(&m, str_of("key.7"), &v));
    assert_int_equal(v, 70);
    strmap_fini(&m);
    strmap_fini(&m);
    strmap_fini(NULL);
}

static void map_keys_are_bytes(void **state)
{
    strmap m = { 0 };
    uint32_t v;

    (void)state;
    assert_int_equal(strmap_set(&m, (str){ NULL, 0 }, 1), HULL_OK);
    assert_int_equal(strmap_set(&m, (str){ "a\0b", 3 }, 2), HULL_OK);
    assert_int_equal(strmap_set(&m, str_of("a"), 3), HULL_OK);
    assert_true(strmap_get(&m, str_of(""), &v) && v == 1);
    assert_true(strmap_get(&m, (str){ "a\0b", 3 }, &v) && v == 2);
    assert_false(strmap_get(&m, (str){ "a\0c", 3 }, &v));
    strmap_fini(&m);
}

static void map_survives_failure(void **state)
{
    int64_t live = mem_live();
    uint64_t n;

    (void)state;
    for (n = 1;; n++) {
        hull_status st = HULL_OK;
        strmap m = { 0 };
        char key[16];
        uint32_t i, v;

        mem_fail_at(n, true);
        for (i = 0; i < 100 && st == HULL_OK; i++) {
            snprintf(key, sizeof(key), "%u", i);
            st = strmap_set(&m, str_of(key), i);
        }
        mem_fail_at(0, false);
        if (st != HULL_OK) {
            assert_int_equal(st, HULL_ENOMEM);
            assert_false(strmap_get(&m, str_of(key), &v));
            assert_int_equal(m.n, i - 1);
        }
        strmap_fini(&m);
        assert_int_equal(mem_live(), live);
        if (st == HULL_OK)
            break;
    }
    assert_true(n > 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_are_blake2b_256),
        cmocka_unit_test(digests_do_not_see_the_pieces),
        cmocka_unit_test(hex_is_strict),
        cmocka_unit_test(checksums_are_xxh3),
        cmocka_unit_test(map_keeps_many),
        cmocka_unit_test(map_keys_are_bytes),
        cmocka_unit_test(map_survives_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
