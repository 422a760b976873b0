/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_shards.c - checkpoints in several files by an index.json: shards of
 * safetensors, of torch.save in both forms, hostile indexes, and many of both
 * shards and names.
 */
#include <inttypes.h>

#include "weights_unit.h"

static void write_shard(const char *name, const char *tensor)
{
    static const float v[] = { 1, 2 };
    static const int64_t shape[] = { 2 };
    safetensors_item item = { str_of(tensor), HULL_F32, 1, shape, v, 8 };

    assert_int_equal(safetensors_write(at(name), &item, 1), HULL_OK);
}

static void put_index(const char *map)
{
    char text[512];
    int n =
        snprintf(text, sizeof text,
                 "{\"metadata\":{\"total_size\":16},\"weight_map\":%s}", map);

    put("model.safetensors.index.json", text, (size_t)n);
}

static void safetensors(void **state)
{
    static const struct {
        const char *map;
        hull_status st;
        const char *text;
    } bad[] = {
        { "{\"a\":\"1.safetensors\"}", HULL_OK, "" },
        { "{\"a\":\"2.safetensors\",\"b\":\"2.safetensors\"}", HULL_EFORMAT,
          "not in shard" },
        { "{\"a\":\"1.safetensors\",\"b\":\"1.safetensors\"}", HULL_EFORMAT,
          "not in shard" },
        { "{\"b\":\"1.safetensors\"}", HULL_EFORMAT, "not in the weight_map" },
        { "{\"a\":\"3.safetensors\"}", HULL_ENOTFOUND, "3.safetensors" },
        { "{\"a\":\"../1.safetensors\"}", HULL_EFORMAT, "plain file name" },
        { "{\"a\":\"/1.safetensors\"}", HULL_EFORMAT, "plain file name" },
        { "{\"a\":\"x/1.safetensors\"}", HULL_EFORMAT, "plain file name" },
        { "{\"a\":\"1.gguf\"}", HULL_EUNSUPPORTED, ".safetensors, .bin, .pt and .pth are read" },
        { "{\"a\":1}", HULL_EFORMAT, "integer" },
        { "[]", HULL_EFORMAT, "array" },
    };
    weights *w;

    (void)state;
    write_shard("1.safetensors", "a");
    write_shard("2.safetensors", "b");
    put_index("{\"a\":\"1.safetensors\",\"b\":\"2.safetensors\"}");
    w = open_ok(at("model.safetensors.index.json"));
    assert_int_equal(weights_count(w), 2);
    assert_int_equal(weights_n_files(w), 2);
    assert_int_equal(weights_kind(w), WEIGHTS_SAFETENSORS);
    assert_int_not_equal(find(w, "a")->storage, find(w, "b")->storage);
    weights_unref(w);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        put_index(bad[i].map);
        if (bad[i].st == HULL_OK)
            weights_unref(open_ok(at("model.safetensors.index.json")));
        else
            open_bad(at("model.safetensors.index.json"), bad[i].st,
                     bad[i].text);
    }
}

/* ---- torch.save ---------------------------------------------------------- */

#define GLOBAL(m, n) "c" m "\n" n "\n"
#define MAGIC "\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\x2e"
/* {name: a tensor of 2 floats in storage "0"}; `tail` ends the storage's id. */
#define TENSOR(name, tail)                                                  \
    "\x80\2}X\1\0\0\0" name GLOBAL("torch._utils", "_rebuild_tensor_v2")    \
    "((X\7\0\0\0storage" GLOBAL("torch", "FloatStorage")                    \
    "X\1\0\0\0" "0" "X\3\0\0\0cpuK\2" tail "tQK\0K\2\x85K\1\x85\x89"        \
    GLOBAL("collections", "OrderedDict") ")RtRs."
#define LEGACY(name, bool)                                                  \
    MAGIC "\x80\2M\xe9\3.\x80\2}X\x0d\0\0\0little_endian" bool "s."        \
    TENSOR(name, "N") "\x80\2]X\1\0\0\0" "0a."                              \
    "\2\0\0\0\0\0\0\0\0\0\x80\x3f\0\0\0\x40"

static void put_zip(const char *name, const char *pickle, size_t n,
                    const char *order)
{
    static const float v[] = { 1, 2 };
    zip_writer w;

    zip_writer_init(&w, (size_t)1 << 20);
    zip_writer_add(&w, str_of("archive/data.pkl"), pickle, n, 64);
    zip_writer_add(&w, str_of("archive/byteorder"), order, strlen(order), 64);
    zip_writer_add(&w, str_of("archive/data/0"), v, sizeof v, 64);
    assert_int_equal(zip_writer_end(&w), HULL_OK);
    put(name, w.out.p, w.out.n);
    zip_writer_fini(&w);
}

static void torch(void **state)
{
    static const char a[] = TENSOR("a", ""), b[] = LEGACY("b", "\x88");
    static const char c[] = LEGACY("c", "\x89");
    static const char system[] =
        "\x80\2" GLOBAL("os", "system") "X\4\0\0\0true\x85R.";
    static const char nested[] =
        "\x80\2}X\1\0\0\0p}s.";
    static const struct {
        const char *map;
        hull_status st;
        const char *text;
    } bad[] = {
        { "{\"a\":\"1.bin\",\"c\":\"3.bin\"}", HULL_EUNSUPPORTED,
          "big-endian" },
        { "{\"a\":\"4.bin\"}", HULL_EUNSUPPORTED, "'big'" },
        { "{\"a\":\"5.bin\"}", HULL_EUNSUPPORTED, "os.system" },
        { "{\"a\":\"6.bin\"}", HULL_EFORMAT, "shard 6.bin" },
        { "{\"a\":\"7.bin\"}", HULL_EFORMAT, "shard 7.bin" },
        { "{\"a\":\"8.bin\"}", HULL_ENOTFOUND, "holds no tensor" },
        { "{\"a\":\"1.bin\",\"b\":\"1.bin\"}", HULL_EFORMAT,
          "'b' of the weight_map" },
        { "{\"a\":\"2.bin\"}", HULL_EFORMAT, "not in the weight_map" },
        { "{\"a\":\"1.bin\",\"s\":\"s.safetensors\"}", HULL_EFORMAT,
          "another kind" },
    };
    float v[2];
    weights *w, *other;
    weights_options key = { .key = str_of("model") };

    (void)state;
    put_zip("1.bin", a, sizeof a - 1, "little");
    put("2.bin", b, sizeof b - 1);
    put("3.bin", c, sizeof c - 1);
    put_zip("4.bin", a, sizeof a - 1, "big");
    put_zip("5.bin", system, sizeof system - 1, "little");
    put("6.bin", "PK\3\4 no zip", 11);
    put("7.bin", "", 0);
    put_zip("8.bin", nested, sizeof nested - 1, "little");
    write_shard("s.safetensors", "s");
    put_index("{\"a\":\"1.bin\",\"b\":\"2.bin\"}");
    w = open_ok(at("model.safetensors.index.json"));
    assert_int_equal(weights_count(w), 2);
    assert_int_equal(weights_n_files(w), 2);
    assert_int_equal(weights_kind(w), WEIGHTS_TORCH);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(weights_read(w, find(w, i ? "b" : "a"), v), HULL_OK);
        assert_true(v[0] == 1 && v[1] == 2);
    }
    assert_int_equal(weights_choose(&other, w, key.key), HULL_EINVAL);
    assert_int_equal(weights_choose(&other, w, str_of("")), HULL_OK);
    assert_ptr_equal(other, w);
    weights_unref(other);
    weights_unref(w);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        put_index(bad[i].map);
        open_bad(at("model.safetensors.index.json"), bad[i].st, bad[i].text);
    }
    put_index("{\"a\":\"1.bin\",\"b\":\"2.bin\"}");
    survive_no_memory(at("model.safetensors.index.json"));
}

/* ---- many ---------------------------------------------------------------- */

#define SHARDS 60
#define NAMES 20000

static void many(void **state)
{
    static char names[NAMES][48];
    static safetensors_item items[NAMES];
    static const float v = 1;
    char *text = malloc(NAMES * 100), file_name[64];
    size_t n = 0, first = 0;
    uint64_t start, took;
    weights *w;

    (void)state;
    assert_non_null(text);
    n += (size_t)sprintf(text, "{\"weight_map\":{");
    for (size_t i = 0; i < NAMES; i++) {
        size_t shard = i * SHARDS / NAMES;

        snprintf(names[i], sizeof names[0], "model.layers.%zu.part.weight", i);
        items[i] = (safetensors_item){ str_of(names[i]), HULL_F32, 0, NULL, &v,
                                       4 };
        n += (size_t)snprintf(text + n, 100, "%s\"%s\":\"s%02zu.safetensors\"",
                              i ? "," : "", names[i], shard);
        if (i + 1 < NAMES && (i + 1) * SHARDS / NAMES == shard)
            continue;
        snprintf(file_name, sizeof file_name, "s%02zu.safetensors", shard);
        assert_int_equal(safetensors_write(at(file_name), items + first,
                                           i + 1 - first), HULL_OK);
        first = i + 1;
    }
    n += (size_t)sprintf(text + n, "}}");
    put("many.index.json", text, n);
    free(text);
    start = time_ns();
    w = open_ok(at("many.index.json"));
    took = time_ns() - start;
    print_message("%d names in %d shards: %" PRIu64 " us\n", NAMES, SHARDS,
                  took / 1000);
    assert_int_equal(weights_count(w), NAMES);
    assert_int_equal(weights_n_files(w), SHARDS);
    assert_true(took < 2000000000); /* milliseconds; tests share machines */
    weights_unref(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(safetensors),
        cmocka_unit_test(torch),
        cmocka_unit_test(many),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
