/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_pb.c - the protobuf wire reader, on real and on hostile bytes.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

/* The ONNX backend test "test_relu", complete. */
static const uint8_t relu[] =
    "\x08\x07\x12\x0c"
    "backend-test"
    "\x3a\x4b"
    "\x0a\x0c\x0a\x01x\x12\x01y\x22\x04Relu"
    "\x12\x09test_relu"
    "\x5a\x17\x0a\x01x\x12\x12\x0a\x10\x08\x01\x12\x0c"
    "\x0a\x02\x08\x03\x0a\x02\x08\x04\x0a\x02\x08\x05"
    "\x62\x17\x0a\x01y\x12\x12\x0a\x10\x08\x01\x12\x0c"
    "\x0a\x02\x08\x03\x0a\x02\x08\x04\x0a\x02\x08\x05"
    "\x42\x04\x0a\x00\x10\x0e";
#define RELU_SIZE (sizeof(relu) - 1)

/* Finds the first field with the number; the message must have it. */
static pb_field find(bytes b, uint32_t number, uint8_t wire)
{
    pb r = pb_of(b, NULL, "message");
    pb_field f;
    bool more;

    do {
        assert_int_equal(pb_next(&r, &f, &more), HULL_OK);
        assert_true(more);
    } while (f.number != number);
    assert_int_equal(pb_want(&r, &f, wire), HULL_OK);
    return f;
}

static void a_model_reads(void **state)
{
    bytes all = { relu, RELU_SIZE }, graph, dims, opset;
    pb_field f;
    pb r;
    bool more;
    int64_t want = 3;

    (void)state;
    assert_int_equal(RELU_SIZE, 99);
    assert_int_equal(find(all, 1, 0).u, 7);
    f = find(all, 2, 2);
    assert_true(str_is(pb_str(&f), "backend-test"));
    graph = find(all, 7, 2).b;
    assert_int_equal(graph.n, 75);
    f = find(find(graph, 1, 2).b, 4, 2);
    assert_true(str_is(pb_str(&f), "Relu"));
    dims = find(find(find(find(graph, 11, 2).b, 2, 2).b, 1, 2).b, 2, 2).b;
    r = pb_of(dims, relu, "shape");
    for (;;) {
        assert_int_equal(pb_next(&r, &f, &more), HULL_OK);
        if (!more)
            break;
        assert_int_equal(find(f.b, 1, 0).u, want++);
    }
    assert_int_equal(want, 6);
    opset = find(all, 8, 2).b;
    assert_int_equal(find(opset, 2, 0).u, 14);
    f = find(opset, 1, 2);
    assert_int_equal(pb_str(&f).n, 0);
}

static void tensor_dims_are_unpacked(void **state)
{
    static const uint8_t head[] = "\x08\x03\x08\x04\x08\x05\x10\x01\x42\x01x"
                                  "\x4a\x04"
                                  "data";
    pb r = pb_of((bytes){ head, sizeof(head) - 1 }, head, "tensor");
    size_t n = 0, cap = 0;
    int64_t *dims = NULL;
    pb_field f;
    bool more;

    (void)state;
    for (;;) {
        assert_int_equal(pb_next(&r, &f, &more), HULL_OK);
        if (!more)
            break;
        if (f.number == 1)
            assert_int_equal(pb_i64s(&r, &f, &dims, &n, &cap), HULL_OK);
    }
    assert_int_equal(n, 3);
    assert_true(dims[0] == 3 && dims[1] == 4 && dims[2] == 5);
    mem_free(dims);
}

static hull_status first(pb_field *f, bool *more, const void *p, size_t n)
{
    pb r = pb_of((bytes){ p, n }, p, "message");

    return pb_next(&r, f, more);
}

static void all_wire_types(void **state)
{
    pb_field f;
    bool more;

    (void)state;
    assert_int_equal(first(&f, &more, "\x09\1\2\3\4\5\6\7\x88", 9), HULL_OK);
    assert_true(more && f.wire == 1 && f.u == 0x8807060504030201u);
    assert_int_equal(first(&f, &more, "\x15\0\0\xc0\x3f", 5), HULL_OK);
    assert_true(more && f.wire == 5 && pb_f32(&f) == 1.5f);
    assert_int_equal(
        first(&f, &more, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11),
        HULL_OK);
    assert_true(more && f.u == UINT64_MAX);
    assert_int_equal(first(&f, &more, "\xf8\xff\xff\xff\x0f\x00", 6), HULL_OK);
    assert_true(more && f.number == 0x1fffffff);
    assert_int_equal(first(&f, &more, NULL, 0), HULL_OK);
    assert_false(more);
}

static void malformed_fields_are_refused(void **state)
{
    static const struct {
        const char *p;
        size_t n;
    } bad[] = {
        { "\x00", 1 },               /* field 0 */
        { "\x02\x00", 2 },           /* field 0, bytes */
        { "\x0b", 1 },               /* group */
        { "\x0c", 1 },               /* end of group */
        { "\x0e\x00", 2 },           /* wire 6 */
        { "\x0f\x00", 2 },           /* wire 7 */
        { "\x08", 1 },               /* no value */
        { "\x08\x80", 2 },           /* no end */
        { "\x80", 1 },               /* tag without end */
        { "\x09\1\2\3\4\5\6\7", 8 }, /* 7 of 8 bytes */
        { "\x0d\1\2\3", 4 },         /* 3 of 4 bytes */
        { "\x0a", 1 },               /* no length */
        { "\x0a\x05xxxx", 6 },       /* 4 of 5 bytes */
        { "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x", 12 },
        { "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12 },
        { "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11 },
        { "\x80\x80\x80\x80\x10\x00", 6 }, /* field 2^29 */
    };
    pb_field f;
    bool more;
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(bad); i++) {
        uint8_t *exact = malloc(bad[i].n);

        assert_non_null(exact);
        memcpy(exact, bad[i].p, bad[i].n);
        assert_int_equal(first(&f, &more, exact, bad[i].n), HULL_EFORMAT);
        assert_false(more);
        assert_non_null(strstr(error_text(), "message: "));
        assert_non_null(strstr(error_text(), "byte "));
        free(exact);
    }
}

static void errors_give_the_offset_in_the_file(void **state)
{
    pb_field f;
    bool more;
    pb r = pb_of((bytes){ relu + 6, 93 }, relu, "model");

    (void)state;
    r.end = r.p + 1; /* "c" of backend: field 12, wire 3 */
    assert_int_equal(pb_next(&r, &f, &more), HULL_EFORMAT);
    assert_non_null(strstr(error_text(), "byte 6"));
}

static void packed_numbers(void **state)
{
    static const uint8_t text[] = "\x3a\x0c\x00\x01\xff\xff\xff\xff\xff\xff"
                                  "\xff\xff\xff\x01";
    pb r = pb_of((bytes){ text, sizeof(text) - 1 }, text, "ints");
    size_t n = 0, cap = 0;
    int64_t *v = NULL;
    pb_field f;
    bool more;

    (void)state;
    assert_int_equal(pb_next(&r, &f, &more), HULL_OK);
    assert_int_equal(pb_i64s(&r, &f, &v, &n, &cap), HULL_OK);
    assert_int_equal(pb_i64s(&r, &f, &v, &n, &cap), HULL_OK);
    assert_int_equal(n, 6);
    assert_true(v[0] == 0 && v[1] == 1 && v[2] == -1 && v[5] == -1);
    f.b.n--; /* the last varint has no end */
    assert_int_equal(pb_i64s(&r, &f, &v, &n, &cap), HULL_EFORMAT);
    assert_int_equal(n, 6);
    f.b.n = 0;
    assert_int_equal(pb_i64s(&r, &f, &v, &n, &cap), HULL_OK);
    f.wire = 5;
    assert_int_equal(pb_i64s(&r, &f, &v, &n, &cap), HULL_EFORMAT);
    assert_int_equal(n, 6);
    mem_free(v);
}

static void packed_floats(void **state)
{
    static const uint8_t text[] = "\x22\x08\0\0\x80\x3f\0\0\0\xc0"
                                  "\x25\0\0\0\x3f\x20\x01";
    pb r = pb_of((bytes){ text, sizeof(text) - 1 }, text, "floats");
    size_t n = 0, cap = 0;
    float *v = NULL;
    pb_field f;
    bool more;

    (void)state;
    assert_int_equal(pb_next(&r, &f, &more), HULL_OK);
    assert_int_equal(pb_f32s(&r, &f, &v, &n, &cap), HULL_OK);
    f.b.n = 7;
    assert_int_equal(pb_f32s(&r, &f, &v, &n, &cap), HULL_EFORMAT);
    assert_int_equal(pb_next(&r, &f, &more), HULL_OK);
    assert_int_equal(pb_f32s(&r, &f, &v, &n, &cap), HULL_OK);
    assert_int_equal(n, 3);
    assert_true(v[0] == 1 && v[1] == -2 && v[2] == 0.5f);
    assert_int_equal(pb_next(&r, &f, &more), HULL_OK);
    assert_int_equal(pb_f32s(&r, &f, &v, &n, &cap), HULL_EFORMAT);
    assert_int_equal(pb_want(&r, &f, 2), HULL_EFORMAT);
    mem_free(v);
}

/* Walks a message and everything that might be one. */
static void walk(bytes b, const uint8_t *base, int depth)
{
    pb r = pb_of(b, base, "message");
    pb_field f;
    bool more;

    while (depth < 8 && pb_next(&r, &f, &more) == HULL_OK && more) {
        assert_true(r.p > b.p && r.p <= b.p + b.n);
        if (f.wire == 2) {
            assert_true(f.b.p >= b.p && f.b.n <= (size_t)(r.p - f.b.p));
            walk(f.b, base, depth + 1);
        }
    }
}

static void damage_never_leaves_the_bytes(void **state)
{
    static const uint8_t values[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
    size_t n, i, k;

    (void)state;
    for (n = 0; n <= RELU_SIZE; n++) {
        uint8_t *p = malloc(n + (n == 0));

        assert_non_null(p);
        memcpy(p, relu, n);
        walk((bytes){ p, n }, p, 0);
        for (i = 0; n == RELU_SIZE && i < n; i++) {
            for (k = 0; k < COUNT_OF(values); k++) {
                p[i] = values[k];
                walk((bytes){ p, n }, p, 0);
            }
            p[i] = relu[i];
        }
        free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_reads),
        cmocka_unit_test(tensor_dims_are_unpacked),
        cmocka_unit_test(all_wire_types),
        cmocka_unit_test(malformed_fields_are_refused),
        cmocka_unit_test(errors_give_the_offset_in_the_file),
        cmocka_unit_test(packed_numbers),
        cmocka_unit_test(packed_floats),
        cmocka_unit_test(damage_never_leaves_the_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
