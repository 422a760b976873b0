/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * Tensor files of the command line. tests/data/npy was written by NumPy;
 * everything hostile is made from those files by editing bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/npy.h"

#include <cmocka.h> /* last: it has a macro named fail */

#define DATA "tests/data/npy/"

static bytes slurp(const char *path, char **owner)
{
    size_t n = 0;

    assert_int_equal(file_read_all(owner, &n, path, 1 << 24), HULL_OK);
    return (bytes){ (const uint8_t *)*owner, n };
}

static void temp_name(char *out, size_t size, const char *suffix)
{
    const char *dir = getenv("TMPDIR");

    snprintf(out, size, "%s/hull_test_npy_%ld%s", dir ? dir : "/tmp",
             (long)getpid(), suffix);
}

static void check_ramp(const named_tensor *t)
{
    const float *p = t->data;

    assert_int_equal(t->dtype, HULL_F32);
    assert_int_equal(t->rank, 3);
    assert_int_equal(t->shape[0], 2);
    assert_int_equal(t->shape[1], 3);
    assert_int_equal(t->shape[2], 4);
    for (int i = 0; i < 24; i++)
        assert_true(p[i] == (float)i);
}

static void deflated_archive(void **state)
{
    tensor_file f;
    const named_tensor *t;

    (void)state;
    assert_int_equal(tensor_file_read(&f, DATA "deflated.npz"), HULL_OK);
    assert_int_equal(f.n, 3);
    check_ramp(tensor_file_find(&f, "x"));
    t = tensor_file_find(&f, "/layer/y");
    assert_non_null(t);
    assert_int_equal(((const int64_t *)t->data)[4], 4);
    t = tensor_file_find(&f, "flag");
    assert_int_equal(t->dtype, HULL_BOOL);
    assert_int_equal(t->rank, 0);
    assert_int_equal(*(const uint8_t *)t->data, 1);
    assert_null(tensor_file_find(&f, "z"));
    tensor_file_fini(&f);
}

static void stored_archive(void **state)
{
    tensor_file f;
    const named_tensor *t;

    (void)state;
    assert_int_equal(tensor_file_read(&f, "demo/test.npz"), HULL_OK);
    assert_int_equal(f.n, 2);
    t = tensor_file_find(&f, "label");
    assert_int_equal(t->dtype, HULL_I64);
    assert_int_equal(t->shape[0], 400);
    t = tensor_file_find(&f, "image");
    assert_int_equal(t->rank, 4);
    assert_int_equal((uintptr_t)t->data % 64, 0);
    tensor_file_fini(&f);
}

static void single_arrays(void **state)
{
    tensor_file f;

    (void)state;
    assert_int_equal(tensor_file_read(&f, DATA "fortran.npy"), HULL_OK);
    assert_string_equal(f.items[0].name, "");
    check_ramp(&f.items[0]);
    tensor_file_fini(&f);
    assert_int_equal(tensor_file_read(&f, DATA "scalar.npy"), HULL_OK);
    assert_int_equal(f.items[0].dtype, HULL_I16);
    assert_int_equal(*(const int16_t *)f.items[0].data, -3);
    tensor_file_fini(&f);
}

static void refused(void **state)
{
    tensor_file f;

    (void)state;
    assert_int_equal(tensor_file_read(&f, DATA "big.npy"), HULL_EUNSUPPORTED);
    assert_non_null(strstr(error_text(), "big-endian"));
    assert_null(f.items);
    assert_int_equal(tensor_file_read(&f, DATA "records.npy"),
                     HULL_EUNSUPPORTED);
    assert_non_null(strstr(error_text(), "records"));
    assert_int_equal(tensor_file_read(&f, DATA "absent.npy"), HULL_ENOTFOUND);
    assert_int_equal(tensor_file_read(&f, "LICENSE"), HULL_EFORMAT);
}

/* A .npy of version 1 with this header and n zero bytes of elements. */
static hull_status parse_text(const char *header, size_t n)
{
    tensor_file f = { 0 };
    uint8_t raw[512] = "\x93NUMPY\x01";
    size_t len = strlen(header);
    hull_status st;

    assert_true(10 + len + n <= sizeof(raw));
    raw[8] = (uint8_t)len;
    memcpy(raw + 10, header, len);
    st = npy_parse(&f, str_of("x"), (bytes){ raw, 10 + len + n });
    tensor_file_fini(&f);
    return st;
}

static void hostile_headers(void **state)
{
    static const char *const bad[] = {
        "", "{", "{}", "{'descr'", "{'descr': ", "{'descr': '<f4'",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
        "{'descr': '<f4', 'descr': '<f4', 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (0,)}",
        "{'descr': '<f4', 'fortran_order': False, "
        "'shape': (4611686018427387904, 4, 0)}",
        "{'descr': '<f4', 'fortran_order': False, "
        "'shape': (99999999999999999999,)}",
        "{'descr': '<f4\\'', 'fortran_order': False, 'shape': (1,)}",
        "{'other': '<f4', 'fortran_order': False, 'shape': (1,)}",
    };
    static const char *const beyond[] = {
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '|V2', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '|f4', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '', 'fortran_order': False, 'shape': (1,)}",
        ("{'descr': '<f4', 'fortran_order': False, 'shape': "
         "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}"),
    };

    (void)state;
    assert_int_equal(parse_text("{'descr': '<f4', 'fortran_order': False, "
                                "'shape': (1,)}", 4), HULL_OK);
    assert_int_equal(parse_text("{\"shape\":(2,0),'fortran_order':True,"
                                "'descr':'<i8',}\n", 0), HULL_OK);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(parse_text(bad[i], 4), HULL_EFORMAT);
    for (size_t i = 0; i < COUNT_OF(beyond); i++)
        assert_int_equal(parse_text(beyond[i], 4), HULL_EUNSUPPORTED);
}

/* Every truncation is refused; every flipped bit is refused or harmless. */
static void damaged_archives(void **state)
{
    char *owner = NULL;
    bytes d = slurp(DATA "deflated.npz", &owner);
    size_t accepted = 0;

    (void)state;
    for (size_t n = 0; n < d.n; n++) {
        char *copy = mem_strndup(owner, n); /* exact size: ASan sees more */
        tensor_file f = { 0 };

        memcpy(copy, owner, n);
        assert_int_not_equal(npz_parse(&f, (bytes){ (uint8_t *)copy, n }),
                             HULL_OK);
        tensor_file_fini(&f);
        mem_free(copy);
    }
    for (size_t i = 0; i < d.n * 8; i++) {
        tensor_file f = { 0 };

        owner[i / 8] = (char)(owner[i / 8] ^ (1 << i % 8));
        accepted += npz_parse(&f, d) == HULL_OK;
        tensor_file_fini(&f);
        owner[i / 8] = (char)(owner[i / 8] ^ (1 << i % 8));
    }
    /* Times, versions and attributes carry no meaning; elements do. */
    assert_in_range(accepted, 1, d.n * 4);
    mem_free(owner);
}

static void lying_sizes(void **state)
{
    char *owner = NULL;
    bytes d = slurp(DATA "deflated.npz", &owner);
    tensor_file f = { 0 };
    uint8_t *p = (uint8_t *)owner;
    size_t at = 0;

    (void)state;
    while (memcmp(p + at, "PK\1\2", 4) != 0)
        at++;
    memset(p + at + 24, 0x7f, 4); /* inflates to 2 GB */
    assert_int_equal(npz_parse(&f, d), HULL_EFORMAT);
    assert_non_null(strstr(error_text(), "cannot inflate"));
    tensor_file_fini(&f);
    mem_free(owner);
}

static void round_trips(void **state)
{
    static const char *const suffixes[] = { ".npz", ".safetensors" };
    char path[256];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
        tensor_file a, b;

        temp_name(path, sizeof(path), suffixes[i]);
        assert_int_equal(tensor_file_read(&a, DATA "deflated.npz"), HULL_OK);
        assert_int_equal(tensor_file_write(path, a.items, a.n), HULL_OK);
        assert_int_equal(tensor_file_read(&b, path), HULL_OK);
        assert_int_equal(b.n, a.n);
        for (size_t k = 0; k < a.n; k++) {
            const named_tensor *t = tensor_file_find(&b, a.items[k].name);

            assert_non_null(t);
            assert_int_equal(t->dtype, a.items[k].dtype);
            assert_int_equal(t->rank, a.items[k].rank);
            assert_int_equal(t->n_bytes, a.items[k].n_bytes);
            assert_memory_equal(t->data, a.items[k].data, t->n_bytes);
        }
        tensor_file_fini(&a);
        tensor_file_fini(&b);
        unlink(path);
    }
}

static void writing_one(void **state)
{
    tensor_file a = { 0 }, b;
    named_tensor *t;
    int64_t shape[HULL_MAX_RANK];
    char path[256];

    (void)state;
    for (int i = 0; i < HULL_MAX_RANK; i++)
        shape[i] = 1;
    temp_name(path, sizeof(path), ".npy");
    assert_int_equal(tensor_file_add(&a, &t, str_of("x"), HULL_U8,
                                     HULL_MAX_RANK, shape), HULL_OK);
    *(uint8_t *)t->data = 200;
    assert_int_equal(tensor_file_write(path, a.items, 1), HULL_OK);
    assert_int_equal(tensor_file_read(&b, path), HULL_OK);
    assert_int_equal(b.items[0].rank, HULL_MAX_RANK);
    assert_int_equal(*(uint8_t *)b.items[0].data, 200);
    tensor_file_fini(&b);
    unlink(path);
    assert_int_equal(tensor_file_write(path, a.items, 0), HULL_EINVAL);
    assert_int_equal(tensor_file_write("x.txt", a.items, 1), HULL_EINVAL);
    assert_int_equal(tensor_file_add(&a, &t, str_of("h"), HULL_BF16, 1, shape),
                     HULL_OK);
    assert_int_equal(tensor_file_write(path, t, 1), HULL_EUNSUPPORTED);
    assert_int_equal(access(path, F_OK), -1);
    tensor_file_fini(&a);
}

static void every_allocation_fails(void **state)
{
    int64_t live = mem_live();
    uint64_t n = 1;

    (void)state;
    for (;; n++) {
        tensor_file f;
        hull_status st;

        mem_fail_at(n, true);
        st = tensor_file_read(&f, DATA "deflated.npz");
        mem_fail_at(0, false);
        tensor_file_fini(&f);
        assert_int_equal(mem_live(), live);
        if (st == HULL_OK)
            break;
        assert_int_equal(st, HULL_ENOMEM);
    }
    assert_true(n > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deflated_archive),
        cmocka_unit_test(stored_archive),
        cmocka_unit_test(single_arrays),
        cmocka_unit_test(refused),
        cmocka_unit_test(hostile_headers),
        cmocka_unit_test(damaged_archives),
        cmocka_unit_test(lying_sizes),
        cmocka_unit_test(round_trips),
        cmocka_unit_test(writing_one),
        cmocka_unit_test(every_allocation_fails),
    };

    return cmocka_run_group_tests_name("npy", tests, NULL, NULL);
}
