/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_safetensors.c - the format's rules, each with files that break it; the
 * writer; shards; that opening reads the header alone.
 */
#include "weights_unit.h"

#include <fcntl.h>

/* Header text plus payload of so many bytes. */
static const char *file_of(const char *header, size_t n_header, size_t payload)
{
    static char b[1 << 16];

    assert_true(8 + n_header + payload <= sizeof b);
    memset(b, 0, sizeof b);
    for (int i = 0; i < 8; i++)
        b[i] = (char)((uint64_t)n_header >> (8 * i));
    memcpy(b + 8, header, n_header);
    return put("x.safetensors", b, 8 + n_header + payload);
}

#define T(dtype, shape, offsets) \
    "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"
#define ONE T("I32", "[2,2]", "[0,16]")

static void invalid_headers(void **state)
{
    /* clang-format off */
    static const struct {
        const char *header;
        size_t payload;
        const char *text;
    } bad[] = {
        {"\xff", 0, "utf-8"},
        {"{", 0, "byte 9"},
        {"[]", 0, "object"},
        {"null", 0, "object"},
        {"{\"a\":" T("I32", "[2,2]", "[0,4]") "}", 4, "wants 16"},
        {"{\"a\":" T("I32", "[2,18446744073709551614]", "[0,16]") "}", 16,
            "overflow"},
        {"{\"a\":" T("I32", "[2,9223372036854775807]", "[0,16]") "}", 16,
            "2^63-1"},
        {"{\"a\":" T("I32", "[2,99999999999999999999]", "[0,16]") "}", 16,
            "2^64-1"},
        {"{\"a\":" T("F64", "[4611686018427387904]", "[0,16]") "}", 16,
            "2^64 bits"},
        {"{\"a\":" ONE ",\"b\":" ONE ",\"c\":" ONE "}", 16, "before ends"},
        {"{\"a\":" T("I32", "[1]", "[0,4]") ",\"b\":" T("I32", "[1]", "[8,12]")
            "}", 12, "before ends"},
        {"{\"a\":" T("I32", "[1]", "[4,0]") "}", 4, "begins"},
        {"{\"a\":" T("I32", "[1]", "[4,8]") "}", 8, "begins"},
        {"{\"a\":" ONE "}", 17, "cover"},
        {"{\"a\":" ONE "}", 14, "cover"},
        {"{\"a\":" T("F4", "[1]", "[0,1]") "}", 1, "inside a byte"},
        {"{\"a\":" ONE ",\"a\":" T("I32", "[1]", "[16,20]") "}", 20,
            "two tensors"},
        {"{\"a\":" ONE ",\"\\u0061\":" T("I32", "[1]", "[16,20]") "}", 20,
            "two tensors"},
        {"{\"a\":{\"dtype\":\"I8\",\"dtype\":\"I8\",\"shape\":[1],"
            "\"data_offsets\":[0,1]}}", 1, "twice"},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "twice"},
        {"{\"__metadata__\":{\"a\":1}}", 0, "text to text"},
        {"{\"__metadata__\":{\"a\":{}}}", 0, "text to text"},
        {"{\"__metadata__\":{\"a\":\"\",\"a\":\"\"}}", 0, "twice"},
        {"{\"__metadata__\":[]}", 0, "object"},
        {"{\"a\":" T("I32", "[1]", "[0,4.0]") "}", 4, "whole number"},
        {"{\"a\":" T("I32", "[1]", "[0,\"4\"]") "}", 4, "number"},
        {"{\"a\":" T("I32", "[1]", "[0]") "}", 4, "two numbers"},
        {"{\"a\":" T("I32", "[1]", "[0,4,8]") "}", 4, "two numbers"},
        {"{\"a\":" T("I32", "[1]", "[-4,0]") "}", 4, "number from 0"},
        {"{\"a\":" T("I32", "[1e0]", "[0,4]") "}", 4, "whole number"},
        {"{\"a\":" T("I32", "[01]", "[0,4]") "}", 4, "leading zero"},
        {"{\"a\":" T("I32", "1", "[0,4]") "}", 4, "list"},
        {"{\"a\":{\"dtype\":\"I8\",\"shape\":[1]}}", 1, "data_offsets"},
        {"{\"a\":{\"shape\":[1],\"data_offsets\":[0,1]}}", 1, "dtype"},
        {"{\"a\":[]}", 0, "object"},
        {"{\"a\":" ONE "} x", 16, "after"},
        {"{\"a\":" ONE ",}", 16, "text"},
        {"{\"a\\u0000\":" ONE "}", 16, "zero byte"},
        {"{\"\\ud800\":" ONE "}", 16, "surrogate"},
        {"{\"\\x\":" ONE "}", 16, "escape"},
        {"{\"a\n\":" ONE "}", 16, "control"},
        {"{\"a\":{\"q\":[1,],\"dtype\":\"I8\"}}", 0, "value"},
        {"{\"a\":{\"q\":[tru],\"dtype\":\"I8\"}}", 0, "value"},
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        open_bad(file_of(bad[i].header, strlen(bad[i].header), bad[i].payload),
                 HULL_EFORMAT, bad[i].text);
}

static void invalid_lengths(void **state)
{
    static const char huge[] = "\x3c\0\0\0\0\0\xff\xff",
                      beyond[] = "<\0\0\0\0\0\0";
    static const uint8_t over[] = { 0x01, 0xe1, 0xf5, 0x05, 0, 0, 0, 0, '{' };
    const char *path;

    (void)state;
    for (size_t n = 0; n < 8; n++)
        open_bad(put("x.safetensors", "\1\0\0\0\0\0\0", n), HULL_EFORMAT,
                 "too small");
    open_bad(put("x.safetensors", beyond, 8), HULL_EFORMAT, "file has");
    open_bad(put("x.safetensors", huge, 8), HULL_EFORMAT, "too large");
    open_bad(file_of("", 0, 4), HULL_EFORMAT, "0 bytes");
    path = put("x.safetensors", over, sizeof over);
    assert_int_equal(truncate(path, 100000100), 0); /* sparse */
    open_bad(path, HULL_EFORMAT, "too large");
}

/* 99 MB of opening brackets, as a tensor's unknown member. */
static void deep_nesting(void **state)
{
    size_t n = 99000000;
    char *p = mem_alloc(n + 8);

    (void)state;
    assert_non_null(p);
    memset(p, '[', n + 8);
    for (int i = 0; i < 8; i++)
        p[i] = (char)((uint64_t)n >> (8 * i));
    open_bad(put("x.safetensors", p, n + 8), HULL_EFORMAT, "object");
    memcpy(p + 8, "{\"a\":{\"q\":", 10);
    open_bad(put("x.safetensors", p, n + 8), HULL_EFORMAT, "deeper than 64");
    mem_free(p);
}

static void accepted(void **state)
{
    /* clang-format off */
    static const char plain[] =
        "{\"s\":" T("F32", "[]", "[0,4]") "," "\"\":" T("U8", "[0,7]", "[4,4]")
        "," "\"\\u00e4\\ud83d\\ude00/\":" T("BF16", "[1]", "[4,6]") ","
        "\"__metadata__\":{\"format\":\"pt\"}}";
    /* clang-format on */
    /* clang-format off */
    static const char spaces[] =
        " \t\r\n{ } \n ";
    /* clang-format on */
    /* clang-format off */
    static const char unknown[] =
        "{\"a\":{\"q\":{\"x\":[1.5e3,-2,[],{}]},"
        "\"dtype\":\"F6_E2M3\",\"shape\":[4],\"data_offsets\":[0,3]},"
        "\"b\":" T("Z9", "[5]", "[3,9]") "}";
    /* clang-format on */
    weights *w;

    (void)state;
    w = open_ok(file_of(plain, sizeof plain - 1, 6));
    assert_int_equal(weights_count(w), 3);
    assert_int_equal(find(w, "s")->rank, 0);
    assert_int_equal(find(w, "")->len, 0);
    assert_int_equal(find(w, "\xc3\xa4\xf0\x9f\x98\x80/")->dtype, HULL_BF16);
    weights_unref(w);
    w = open_ok(file_of(spaces, sizeof spaces - 1, 0));
    assert_int_equal(weights_count(w), 0);
    weights_unref(w);
    assert_int_equal(log_configure("all:error"), HULL_OK);
    w = open_ok(file_of(unknown, sizeof unknown - 1, 9));
    assert_int_equal(log_configure(""), HULL_OK);
    assert_int_equal(find(w, "a")->dtype, HULL_NONE);
    assert_int_equal(find(w, "a")->len, 3);
    assert_int_equal(find(w, "b")->len, 6);
    weights_unref(w);
}

static void round_trip(void **state)
{
    static const int64_t shape[] = { 2, 3 };
    static const uint16_t half[] = { 1, 2, 3, 4, 5, 0x7e00 };
    static const uint8_t nibbles[] = { 0x21, 0x43, 0x65 };
    safetensors_item items[] = {
        { str_of("z\"\\\n"), HULL_F16, 2, shape, half, 12 },
        { str_of("a"), HULL_F4E2M1, 2, shape, nibbles, 3 },
        { str_of("none"), HULL_I64, 0, NULL, half, 8 },
    };
    weights *w;
    uint8_t out[12];

    (void)state;
    assert_int_equal(safetensors_write(at("w.safetensors"), items, 3), HULL_OK);
    w = open_ok(at("w.safetensors"));
    assert_true(str_eq(weights_at(w, 0)->name, items[0].name));
    assert_int_equal(weights_read(w, find(w, "a"), out), HULL_OK);
    assert_memory_equal(out, nibbles, 3);
    assert_memory_equal(weights_view(w, weights_at(w, 0)), half, 12);
    assert_int_equal(weights_storage(w, find(w, "a"))->off % 4, 0);
    weights_unref(w);
    survive_no_memory(at("w.safetensors"));
    items[2].len = 7;
    assert_int_equal(safetensors_write(at("w.safetensors"), items, 3),
                     HULL_EINVAL);
    items[2].len = 8;
    items[2].name = items[1].name;
    assert_int_equal(safetensors_write(at("w.safetensors"), items, 3),
                     HULL_EINVAL);
    items[2].name = str_of("__metadata__");
    assert_int_equal(safetensors_write(at("w.safetensors"), items, 3),
                     HULL_EINVAL);
    items[2].dtype = HULL_I4;
    assert_int_equal(safetensors_write(at("w.safetensors"), items, 3),
                     HULL_EUNSUPPORTED);
    weights_unref(open_ok(at("w.safetensors"))); /* the first one remains */
}

static void dtype_names(void **state)
{
    (void)state;
    for (int i = 1; i <= HULL_C128; i++) {
        const char *name = safetensors_dtype_name((hull_dtype)i);

        if (name)
            assert_int_equal(safetensors_dtype(str_of(name)), i);
    }
    assert_null(safetensors_dtype_name(HULL_NONE));
    assert_int_equal(safetensors_dtype(str_of("F6_E2M3")), HULL_NONE);
    assert_int_equal(safetensors_dtype(str_of("f32")), HULL_NONE);
}

/* A file of 10 GB opens by its header. */
static void reads_headers_only(void **state)
{
    static const char header[] =
        "{\"a\":" T("F32", "[2500000000]", "[0,10000000000]") "}";
    size_t n = sizeof header - 1;
    uint64_t before;
    const char *path;
    weights *w;

    (void)state;
    path = file_of(header, n, 0);
    if (truncate(path, (off_t)(8 + n) + 10000000000) != 0) {
        print_message("skipped: no sparse files in %s\n", folder);
        skip();
    }
    before = file_bytes_read();
    w = open_ok(path);
    assert_true(file_bytes_read() - before == 8 + n);
    assert_int_equal(find(w, "a")->len, 10000000000);
    weights_unref(w);
    assert_int_equal(unlink(path), 0);
}

static void fixtures(void **state)
{
    static const char *const names[] = {
        "bert", "cnn", "convnext", "efficientnet", "gpt2", "llama",
        "lstm", "mlp", "resnet",   "unet",         "vit",
    };
    char rel[64];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        weights *a, *b;

        snprintf(rel, sizeof rel, "fixtures/%s/a.safetensors", names[i]);
        a = open_ok(shared(rel));
        snprintf(rel, sizeof rel, "fixtures/%s/b.safetensors", names[i]);
        b = open_ok(shared(rel));
        assert_int_equal(weights_count(a), weights_count(b));
        assert_true(weights_count(a) >= 6);
        weights_unref(a);
        weights_unref(b);
    }
    survive_damage(shared("fixtures/mlp/a.safetensors"), 1500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_headers),    cmocka_unit_test(invalid_lengths),
        cmocka_unit_test(deep_nesting),       cmocka_unit_test(accepted),
        cmocka_unit_test(round_trip),         cmocka_unit_test(dtype_names),
        cmocka_unit_test(reads_headers_only), cmocka_unit_test(fixtures),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
