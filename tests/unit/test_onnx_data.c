/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_onnx_data.c - initializers and Constant nodes of ONNX models built here
 * field by field: every data field, external data and its attacks, damage; and
 * the exported fixtures against the checkpoints they were exported from.
 */
#include "weights_unit.h"

#include <sys/stat.h>

/* ---- building messages --------------------------------------------------- */

static void varint(buf *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        buf_putc(b, (char)(v | 0x80));
    buf_putc(b, (char)v);
}

static void num(buf *b, uint32_t field, int64_t v)
{
    varint(b, field << 3);
    varint(b, (uint64_t)v);
}

static void raw(buf *b, uint32_t field, const void *p, size_t n)
{
    varint(b, field << 3 | 2);
    varint(b, n);
    buf_put(b, p, n);
}

static void txt(buf *b, uint32_t field, const char *z)
{
    raw(b, field, z, strlen(z));
}

static buf fresh(void)
{
    buf b;

    buf_init(&b, (size_t)1 << 24);
    return b;
}

static void sub(buf *b, uint32_t field, buf *message)
{
    raw(b, field, message->p, message->n);
    buf_fini(message);
    *message = fresh();
}

/* TensorProto of dims [n] (n < 0: scalar) without data. */
static buf tensor(const char *name, int type, int64_t n)
{
    buf b = fresh();

    if (n >= 0)
        num(&b, 1, n);
    num(&b, 2, type);
    txt(&b, 8, name);
    return b;
}

/* Writes a model of this graph, which it frees. */
static const char *model(buf *graph)
{
    buf m = fresh();
    const char *path;

    num(&m, 1, 10);
    sub(&m, 7, graph);
    assert_int_equal(buf_status(&m), HULL_OK);
    path = put("m.onnx", m.p, m.n);
    buf_fini(&m);
    return path;
}

static const char *model_of(buf *t)
{
    buf g = fresh();

    sub(&g, 5, t);
    return model(&g);
}

static void read_all(const weights *w, const char *name, hull_dtype dtype,
                     const void *want, size_t n)
{
    const weight_entry *e = find(w, name);
    uint8_t out[256];

    assert_int_equal(e->dtype, dtype);
    assert_int_equal(e->len, n);
    assert_true(n <= sizeof out);
    assert_int_equal(weights_read(w, e, out), HULL_OK);
    assert_memory_equal(out, want, n);
}

/* ---- data fields --------------------------------------------------------- */

static const float floats[] = { 1.5f, -2, 3 };
static const double doubles[] = { 1.5, -2 };

static void plain_bytes(void **state)
{
    buf g = fresh(), t;
    weights *w;

    (void)state;
    t = tensor("raw", 1, 3);
    raw(&t, 9, floats, 12);
    sub(&g, 5, &t);
    t = tensor("packed", 1, 3);
    raw(&t, 4, floats, 12);
    sub(&g, 5, &t);
    t = tensor("double", 11, 2);
    raw(&t, 10, doubles, 16);
    sub(&g, 5, &t);
    t = tensor("complex", 14, 1);
    raw(&t, 4, floats, 8);
    sub(&g, 5, &t);
    t = tensor("none", 1, 0);
    sub(&g, 5, &t);
    t = tensor("scalar", 7, -1);
    raw(&t, 9, "\1\2\3\4\5\6\7\x80", 8);
    sub(&g, 5, &t);
    w = open_ok(model(&g));
    assert_int_equal(weights_count(w), 6);
    read_all(w, "raw", HULL_F32, floats, 12);
    read_all(w, "packed", HULL_F32, floats, 12);
    read_all(w, "double", HULL_F64, doubles, 16);
    read_all(w, "complex", HULL_C64, floats, 8);
    read_all(w, "scalar", HULL_I64, "\1\2\3\4\5\6\7\x80", 8);
    assert_int_equal(find(w, "scalar")->rank, 0);
    assert_int_equal(find(w, "none")->len, 0);
    assert_true(weights_storage(w, find(w, "raw"))->file >= 0);
    assert_true(weights_storage(w, find(w, "packed"))->file >= 0);
    assert_false(find(w, "raw")->inline_value);
    assert_true(weights_outlives_call(w)); /* nobody owns nothing */
    weights_unref(w);
    survive_no_memory(at("m.onnx"));
}

static void decoded(void **state)
{
    /* clang-format off */
    static const struct {
        int type;
        uint32_t field;
        int64_t v[2];
        hull_dtype dtype;
        const char *want;
        size_t n;
        int64_t dim;
    } t[] = {
        {2, 5, {1, 255}, HULL_U8, "\1\xff", 2, 2},
        {3, 5, {1, -1}, HULL_I8, "\1\xff", 2, 2},
        {4, 5, {1, 65535}, HULL_U16, "\1\0\xff\xff", 4, 2},
        {5, 5, {1, -2}, HULL_I16, "\1\0\xfe\xff", 4, 2},
        {6, 5, {1, -2}, HULL_I32, "\1\0\0\0\xfe\xff\xff\xff", 8, 2},
        {7, 7, {1, -2}, HULL_I64, "\1\0\0\0\0\0\0\0\xfe\xff\xff\xff\xff\xff"
            "\xff\xff", 16, 2},
        {9, 5, {1, 0}, HULL_BOOL, "\1\0", 2, 2},
        {10, 5, {0x3c00, 0xbc00}, HULL_F16, "\0\x3c\0\xbc", 4, 2},
        {12, 11, {1, 0xffffffff}, HULL_U32, "\1\0\0\0\xff\xff\xff\xff", 8, 2},
        {13, 11, {1, -1}, HULL_U64, "\1\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff"
            "\xff\xff", 16, 2},
        {16, 5, {0x3f80, 0xbf80}, HULL_BF16, "\x80\x3f\x80\xbf", 4, 2},
        {17, 5, {0x38, 0xb8}, HULL_F8E4M3FN, "\x38\xb8", 2, 2},
        {24, 5, {0x7f, 0xff}, HULL_F8E8M0, "\x7f\xff", 2, 2},
        {21, 5, {0x21, 0x03}, HULL_U4, "\x21\x03", 2, 3},
        {22, 5, {0xf1, 0x0f}, HULL_I4, "\xf1\x0f", 2, 3},
        {23, 5, {0x21, 0x43}, HULL_F4E2M1, "\x21\x43", 2, 4},
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < COUNT_OF(t); i++) {
        for (int packed = 0; packed < 2; packed++) {
            buf p = fresh(), b = tensor("x", t[i].type, t[i].dim);
            weights *w;

            varint(&p, (uint64_t)t[i].v[0]);
            varint(&p, (uint64_t)t[i].v[1]);
            if (packed) {
                sub(&b, t[i].field, &p);
            } else {
                num(&b, t[i].field, t[i].v[0]);
                num(&b, t[i].field, t[i].v[1]);
                buf_fini(&p);
            }
            w = open_ok(model_of(&b));
            read_all(w, "x", t[i].dtype, t[i].want, t[i].n);
            weights_unref(w);
        }
    }
}

/* float_data in several lists and single values. */
static void split_lists(void **state)
{
    buf b = tensor("x", 1, 3);
    weights *w;

    (void)state;
    raw(&b, 4, floats, 4);
    varint(&b, 4 << 3 | 5);
    buf_put(&b, floats + 1, 4);
    raw(&b, 4, floats + 2, 4);
    w = open_ok(model_of(&b));
    read_all(w, "x", HULL_F32, floats, 12);
    assert_int_equal(weights_storage(w, find(w, "x"))->file, -1);
    weights_unref(w);
}

static void refused(void **state)
{
    buf b;

    (void)state;
    b = tensor("x", 1, 3);
    raw(&b, 9, floats, 8);
    open_bad(model_of(&b), HULL_EFORMAT, "wants 12");
    b = tensor("x", 1, 3);
    open_bad(model_of(&b), HULL_EFORMAT, "has 0 bytes");
    b = tensor("x", 1, 3);
    raw(&b, 9, floats, 12);
    raw(&b, 4, floats, 12);
    open_bad(model_of(&b), HULL_EFORMAT, "two data fields");
    b = tensor("x", 1, 2);
    num(&b, 7, 1);
    num(&b, 7, 1);
    open_bad(model_of(&b), HULL_EFORMAT, "wrong field");
    b = tensor("x", 2, 1);
    num(&b, 5, 256);
    open_bad(model_of(&b), HULL_EFORMAT, "value 256");
    b = tensor("x", 2, 2);
    num(&b, 5, 1);
    open_bad(model_of(&b), HULL_EFORMAT, "has 1 values");
    b = tensor("x", 1, -1);
    num(&b, 1, -4);
    open_bad(model_of(&b), HULL_EFORMAT, "dim 0");
    b = tensor("x", 1, INT64_MAX);
    num(&b, 1, 4);
    open_bad(model_of(&b), HULL_EFORMAT, "2^63-1");
    b = tensor("x", 1, INT64_MAX / 2);
    raw(&b, 9, floats, 12);
    open_bad(model_of(&b), HULL_EFORMAT, "2^64 bits");
    b = tensor("x", 99, 1);
    open_bad(model_of(&b), HULL_EFORMAT, "data_type 99");
    b = tensor("", 1, 3);
    raw(&b, 9, floats, 12);
    open_bad(model_of(&b), HULL_EFORMAT, "no name");
    b = tensor("x", 1, 3);
    raw(&b, 9, floats, 12);
    raw(&b, 3, "", 0);
    open_bad(model_of(&b), HULL_EUNSUPPORTED, "segment");
    b = tensor("x", 1, 1);
    for (int i = 0; i < 20; i++)
        num(&b, 1, 1);
    raw(&b, 9, floats, 4);
    open_bad(model_of(&b), HULL_EUNSUPPORTED, "rank 21");
}

static void two_of_a_name(void **state)
{
    buf g = fresh(), t;

    (void)state;
    for (int i = 0; i < 2; i++) {
        t = tensor("x", 1, 3);
        raw(&t, 9, floats, 12);
        sub(&g, 5, &t);
    }
    open_bad(model(&g), HULL_EFORMAT, "two tensors");
}

/* Text cannot enter a graph of ours: left out, with a warning. */
static void text_is_left_out(void **state)
{
    buf b = tensor("x", 8, 1);
    weights *w;

    (void)state;
    txt(&b, 6, "label");
    assert_int_equal(log_configure("all:error"), HULL_OK);
    w = open_ok(model_of(&b));
    assert_int_equal(log_configure(""), HULL_OK);
    assert_int_equal(weights_count(w), 0);
    weights_unref(w);
}

static void models(void **state)
{
    static const uint8_t relu[] =
        "\x08\x07\x12\x0c"
        "backend-test\x3a\x4b\x0a\x0c\x0a\x01x\x12\x01y\x22"
        "\x04Relu\x12\x09test_relu\x5a\x17\x0a\x01x\x12\x12\x0a\x10\x08\x01\x12"
        "\x0c\x0a\x02\x08\x03\x0a\x02\x08\x04\x0a\x02\x08\x05\x62\x17\x0a\x01y"
        "\x12\x12\x0a\x10\x08\x01\x12\x0c\x0a\x02\x08\x03\x0a\x02\x08\x04\x0a"
        "\x02\x08\x05\x42\x04\x0a\x00\x10\x0e";
    weights *w = open_ok(put("r", relu, sizeof relu - 1));
    buf m = fresh();

    (void)state;
    assert_int_equal(sizeof relu - 1, 99);
    assert_int_equal(weights_count(w), 0);
    assert_int_equal(weights_kind(w), WEIGHTS_ONNX);
    weights_unref(w);
    for (size_t n = 0; n < 93; n++) /* the last field may be absent */
        assert_int_not_equal(weights_open(&w, put("r", relu, n), NULL),
                             HULL_OK);
    num(&m, 1, 10);
    open_bad(put("m.onnx", m.p, m.n), HULL_EFORMAT, "no graph");
    raw(&m, 7, "", 0);
    weights_unref(open_ok(put("m.onnx", m.p, m.n)));
    raw(&m, 7, "", 0);
    open_bad(put("m.onnx", m.p, m.n), HULL_EFORMAT, "two graphs");
    buf_fini(&m);
    open_bad(put("m.onnx", "\x3a\0", 2), HULL_EFORMAT, "no ir_version");
    open_bad(put("m.onnx", "\x0b", 1), HULL_EFORMAT, "ModelProto");
}

/* ---- Constant nodes ------------------------------------------------------ */

/* Opens a node of op_type Constant with one attribute. */
static void node(buf *g, const char *output, const char *attribute, buf *body)
{
    buf n = fresh(), a = fresh();

    if (attribute) {
        txt(&a, 1, attribute);
        buf_put(&a, body->p, body->n);
        sub(&n, 5, &a);
    }
    buf_fini(body);
    *body = fresh();
    txt(&n, 2, output);
    txt(&n, 4, "Constant");
    sub(g, 1, &n);
}

static void constant_nodes(void **state)
{
    static const int64_t ints[] = { 3, -1 }, five = 5;
    buf g = fresh(), b = fresh(), t = tensor("ignored", 1, 3);
    weights *w;

    (void)state;
    raw(&t, 9, floats, 12);
    sub(&b, 5, &t);
    node(&g, "value", "value", &b);
    varint(&b, 2 << 3 | 5);
    buf_put(&b, floats, 4);
    node(&g, "float", "value_float", &b);
    num(&b, 3, 5);
    node(&g, "int", "value_int", &b);
    raw(&b, 7, floats, 12);
    node(&g, "floats", "value_floats", &b);
    num(&b, 8, 3);
    num(&b, 8, -1);
    node(&g, "ints", "value_ints", &b);
    node(&g, "no ints", "value_ints", &b);
    num(&b, 3, 5);
    node(&g, "", "value_int", &b);
    w = open_ok(model(&g));
    assert_int_equal(weights_count(w), 6);
    read_all(w, "value", HULL_F32, floats, 12);
    read_all(w, "float", HULL_F32, floats, 4);
    read_all(w, "int", HULL_I64, &five, 8);
    read_all(w, "floats", HULL_F32, floats, 12);
    read_all(w, "ints", HULL_I64, ints, 16);
    assert_int_equal(find(w, "no ints")->len, 0);
    assert_int_equal(find(w, "int")->rank, 0);
    assert_int_equal(find(w, "ints")->rank, 1);
    for (size_t i = 0; i < weights_count(w); i++)
        assert_true(weights_at(w, i)->inline_value);
    assert_true(weights_storage(w, find(w, "value"))->file >= 0);
    weights_unref(w);
    survive_no_memory(at("m.onnx"));

    node(&g, "x", NULL, &b);
    open_bad(model(&g), HULL_EFORMAT, "0 values");
    node(&g, "x", "value", &b);
    open_bad(model(&g), HULL_EFORMAT, "no tensor");
}

/* ---- external data ------------------------------------------------------- */

static void pair(buf *t, const char *key, const char *value)
{
    buf b = fresh();

    txt(&b, 1, key);
    txt(&b, 2, value);
    sub(t, 13, &b);
}

static const char *external(const char *location, const char *offset,
                            const char *length)
{
    buf b = tensor("x", 1, 3);

    if (location)
        pair(&b, "location", location);
    if (offset)
        pair(&b, "offset", offset);
    if (length)
        pair(&b, "length", length);
    num(&b, 14, 1);
    return model_of(&b);
}

static void external_data(void **state)
{
    weights *w;
    buf b;

    (void)state;
    put("data", "abcdefghijklmnop", 16);
    w = open_ok(external("data", NULL, NULL));
    read_all(w, "x", HULL_F32, "abcdefghijkl", 12);
    assert_int_equal(weights_n_files(w), 2);
    assert_int_equal(weights_unchanged(w), HULL_OK);
    put("data", "abcdefghijklmnopq", 17);
    assert_int_equal(weights_unchanged(w), HULL_OK); /* a new file */
    weights_unref(w);
    w = open_ok(external("data", "3", "12"));
    read_all(w, "x", HULL_F32, "defghijklmno", 12);
    assert_int_equal(truncate(at("data"), 5), 0);
    assert_int_equal(weights_unchanged(w), HULL_ESTALE);
    weights_unref(w);

    b = tensor("x", 1, 3);
    raw(&b, 9, floats, 12);
    pair(&b, "location", "data");
    num(&b, 14, 1);
    open_bad(model_of(&b), HULL_EFORMAT, "and a data field");
}

static void external_attacks(void **state)
{
    (void)state;
    put("data", "abcdefghijklmnop", 16);
    open_bad(external(NULL, NULL, NULL), HULL_EFORMAT, "without a location");
    open_bad(external("", NULL, NULL), HULL_EFORMAT, "not a relative path");
    open_bad(external("../data", NULL, NULL), HULL_EFORMAT, "relative path");
    open_bad(external("a/../../data", NULL, NULL), HULL_EFORMAT, "relative");
    open_bad(external("/etc/passwd", NULL, NULL), HULL_EFORMAT, "relative");
    open_bad(external("none", NULL, NULL), HULL_ENOTFOUND, "No such file");
    open_bad(external("data/x", NULL, NULL), HULL_ENOTFOUND, "Not a directory");
    open_bad(external("data", "-1", NULL), HULL_EFORMAT, "offset '-1'");
    open_bad(external("data", "1e3", NULL), HULL_EFORMAT, "offset '1e3'");
    open_bad(external("data", "18446744073709551616", NULL), HULL_EFORMAT,
             "offset");
    open_bad(external("data", "18446744073709551615", NULL), HULL_EFORMAT,
             "has 16");
    open_bad(external("data", "5", NULL), HULL_EFORMAT, "has 16");
    open_bad(external("data", "0", "11"), HULL_EFORMAT, "wants 12");
    open_bad(external("data", "0", "x"), HULL_EFORMAT, "length 'x'");
}

/* The frontend's entry: a tensor in memory, no folder. */
static void tensor_in_memory(void **state)
{
    buf b = tensor("ignored", 1, 3), e = tensor("x", 1, 3);
    weights *w;

    (void)state;
    raw(&b, 9, floats, 12);
    pair(&e, "location", "data");
    num(&e, 14, 1);
    assert_int_equal(weights_new(&w, WEIGHTS_ONNX), HULL_OK);
    assert_int_equal(onnx_tensor_add(w, str_of("mine"),
                                     (bytes){ (uint8_t *)b.p, b.n }, -1, "",
                                     true),
                     HULL_OK);
    read_all(w, "mine", HULL_F32, floats, 12);
    assert_int_equal(onnx_tensor_add(w, str_of("other"),
                                     (bytes){ (uint8_t *)e.p, e.n }, -1, "",
                                     true),
                     HULL_EUNSUPPORTED);
    assert_int_equal(onnx_dtype(16), HULL_BF16);
    assert_int_equal(onnx_dtype(8), HULL_NONE);
    assert_int_equal(onnx_dtype(-1), HULL_NONE);
    assert_int_equal(onnx_dtype(1000), HULL_NONE);
    weights_unref(w);
    buf_fini(&b);
    buf_fini(&e);
}

/* ---- fixtures ------------------------------------------------------------ */

/* Initializers that carry a checkpoint's name have its bytes. */
static size_t compare(const weights *o, const weights *a)
{
    size_t n = 0;

    for (size_t i = 0; i < weights_count(o); i++) {
        const weight_entry *eo = weights_at(o, i);
        const weight_entry *ea = weights_find(a, eo->name);
        bool equal = false;

        if (!ea || ea->rank != eo->rank ||
            memcmp(ea->shape, eo->shape, ea->rank * sizeof ea->shape[0]) != 0)
            continue;
        assert_int_equal(ea->dtype, eo->dtype);
        assert_int_equal(weights_equal(&equal, o, eo, a, ea), HULL_OK);
        n += equal;
    }
    return n;
}

static void fixtures(void **state)
{
    static const struct {
        const char *name;
        bool legacy;
        size_t equal; /* tensors with name and bytes in dynamo.onnx, by onnx's
                         own reader */
    } nets[] = {
        { "bert", true, 25 },     { "cnn", true, 2 },
        { "convnext", true, 74 }, { "efficientnet", true, 10 },
        { "gpt2", false, 27 },    { "llama", false, 6 },
        { "lstm", true, 2 },      { "mlp", true, 6 },
        { "resnet", true, 2 },    { "unet", false, 11 },
        { "vit", true, 55 },
    };
    char rel[64];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(nets); i++) {
        weights *a, *o;

        snprintf(rel, sizeof rel, "fixtures/%s/a.safetensors", nets[i].name);
        a = open_ok(shared(rel));
        snprintf(rel, sizeof rel, "fixtures/%s/dynamo.onnx", nets[i].name);
        o = open_ok(shared(rel));
        if (compare(o, a) != nets[i].equal)
            stop("%s: %zu tensors of the checkpoint, wanted %zu", nets[i].name,
                 compare(o, a), nets[i].equal);
        weights_unref(o);
        snprintf(rel, sizeof rel, "fixtures/%s/legacy.onnx", nets[i].name);
        if (nets[i].legacy)
            weights_unref(open_ok(shared(rel)));
        weights_unref(a);
    }
    survive_damage(shared("fixtures/cnn/legacy.onnx"), 1500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_bytes),      cmocka_unit_test(decoded),
        cmocka_unit_test(split_lists),      cmocka_unit_test(refused),
        cmocka_unit_test(two_of_a_name),    cmocka_unit_test(text_is_left_out),
        cmocka_unit_test(models),           cmocka_unit_test(constant_nodes),
        cmocka_unit_test(external_data),    cmocka_unit_test(external_attacks),
        cmocka_unit_test(tensor_in_memory), cmocka_unit_test(fixtures),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
