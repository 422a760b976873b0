/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_weights.c - the index itself: what may enter, views and dense copies,
 * comparison, digest, identity of places, change of files, detection.
 */
#include "weights_unit.h"

#include <fcntl.h>

static weights *fresh(void)
{
    weights *w;

    assert_int_equal(weights_new(&w, WEIGHTS_MEMORY), HULL_OK);
    return w;
}

static hull_status add(weights *w, const char *name, void *data,
                       const int64_t *shape, const int64_t *strides,
                       int32_t rank)
{
    hull_tensor t = { .data = data,
                      .shape = shape,
                      .strides = strides,
                      .rank = rank,
                      .dtype = HULL_F32 };

    return weights_add_tensor(w, str_of(name), &t, NULL, NULL);
}

static float grid[12] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };

static void memory_tensors(void **state)
{
    static const int64_t shape[] = { 3, 4 }, across[] = { 4, 3 },
                         strides[] = { 1, 4 };
    weights *w = fresh();
    const weight_entry *a, *t;
    float out[12];

    (void)state;
    assert_int_equal(add(w, "a", grid, shape, NULL, 2), HULL_OK);
    assert_int_equal(add(w, "t", grid, across, strides, 2), HULL_OK);
    assert_int_equal(weights_count(w), 2);
    assert_string_equal(weights_label(w), "memory (2 tensors)");
    assert_int_equal(weights_kind(w), WEIGHTS_MEMORY);
    a = find(w, "a");
    t = find(w, "t");
    assert_true(a->dense);
    assert_int_equal(a->strides[0], 4);
    assert_int_equal(a->len, 48);
    assert_ptr_equal(weights_view(w, a), grid);
    assert_false(t->dense);
    assert_null(weights_view(w, t));
    assert_int_equal(a->storage, t->storage);
    assert_int_equal(weights_read(w, t, out), HULL_OK);
    assert_float_equal(out[0], 0, 0);
    assert_float_equal(out[1], 4, 0);
    assert_float_equal(out[3], 1, 0);
    assert_float_equal(out[11], 11, 0);
    assert_int_equal(weights_read_part(w, a, 40, out, 8), HULL_OK);
    assert_float_equal(out[0], 10, 0);
    assert_float_equal(out[1], 11, 0);
    assert_int_equal(weights_read_part(w, a, 48, out, 0), HULL_OK);
    assert_int_equal(weights_read_part(w, a, 44, out, 8), HULL_EINTERNAL);
    assert_int_equal(weights_read_part(w, a, UINT64_MAX, out, 8),
                     HULL_EINTERNAL);
    assert_int_equal(weights_read_part(w, t, 0, out, 48), HULL_EINTERNAL);
    assert_null(weights_find(w, str_of("b")));
    assert_null(weights_at(w, 2));
    weights_unref(w);
}

static void refused_tensors(void **state)
{
    static const int64_t shape[] = { 3, 4 }, negative[] = { -4, 1 },
                         minus[] = { 3, -1 }, huge[] = { INT64_MAX, 4 };
    weights *w = fresh();
    hull_tensor t = {
        .data = grid, .shape = shape, .rank = 2, .dtype = HULL_F32
    };

    (void)state;
    assert_int_equal(add(w, "a", grid, shape, NULL, 2), HULL_OK);
    assert_int_equal(add(w, "a", grid, shape, NULL, 2), HULL_EFORMAT);
    assert_int_equal(add(w, "b", grid, shape, negative, 2), HULL_EFORMAT);
    assert_int_equal(add(w, "b", grid, minus, NULL, 2), HULL_EFORMAT);
    assert_int_equal(add(w, "b", grid, huge, NULL, 2), HULL_EFORMAT);
    assert_int_equal(add(w, "b", NULL, shape, NULL, 2), HULL_EINVAL);
    assert_int_equal(add(w, "b", grid, shape, NULL, 17), HULL_EINVAL);
    assert_int_equal(add(w, "b", grid, NULL, NULL, 1), HULL_EINVAL);
    assert_int_equal(add(w, "\xff", grid, shape, NULL, 2), HULL_EFORMAT);
    t.dtype = 99;
    assert_int_equal(weights_add_tensor(w, str_of("b"), &t, NULL, NULL),
                     HULL_EINVAL);
    t.dtype = HULL_F32;
    t.device = 1;
    assert_int_equal(weights_add_tensor(w, str_of("b"), &t, NULL, NULL),
                     HULL_EINVAL);
    assert_int_equal(weights_add_tensor(w, (str){ "x\0y", 3 }, &t, NULL, NULL),
                     HULL_EINVAL);
    assert_int_equal(weights_count(w), 1);
    weights_unref(w);
}

static void count_release(void *user)
{
    ++*(int *)user;
}

static void release_is_called_once(void **state)
{
    static const int64_t shape[] = { 12 };
    weights *w = fresh();
    int n = 0;
    hull_tensor t = {
        .data = grid, .shape = shape, .rank = 1, .dtype = HULL_F32
    };

    (void)state;
    assert_int_equal(weights_add_tensor(w, str_of("a"), &t, count_release, &n),
                     HULL_OK);
    assert_int_equal(weights_add_tensor(w, str_of("a"), &t, count_release, &n),
                     HULL_EFORMAT);
    weights_unref(weights_ref(w));
    assert_int_equal(n, 0);
    weights_unref(w);
    assert_int_equal(n, 1);
    weights_unref(NULL);
}

static void empty_and_scalar(void **state)
{
    static const int64_t shape[] = { 0, 5 };
    weights *w = fresh();
    weight_identity id;
    float out = 0;

    (void)state;
    assert_int_equal(add(w, "none", NULL, shape, NULL, 2), HULL_OK);
    assert_int_equal(add(w, "one", grid + 7, NULL, NULL, 0), HULL_OK);
    assert_int_equal(find(w, "none")->len, 0);
    assert_non_null(weights_view(w, find(w, "none")));
    assert_int_equal(weights_read(w, find(w, "none"), &out), HULL_OK);
    assert_int_equal(weights_read(w, find(w, "one"), &out), HULL_OK);
    assert_float_equal(out, 7, 0);
    assert_false(weights_identity(w, find(w, "one"), &id));
    weights_unref(w);
}

/* The rule of strided views: the last element lies inside the storage. */
static void views_stay_inside(void **state)
{
    weights *w = fresh();
    weight_storage s = { .file = -1, .memory = grid, .len = sizeof grid };
    weight_entry e = { .name = str_of("a"),
                       .dtype = HULL_F32,
                       .rank = 2,
                       .shape = { 3, 3 },
                       .strides = { 4, 1 },
                       .off = 4 };

    (void)state;
    assert_int_equal(weights_add_storage(w, &s, &e.storage), HULL_OK);
    assert_int_equal(weights_add(w, &e, true), HULL_OK);
    e.name = str_of("b");
    e.off = 8;
    assert_int_equal(weights_add(w, &e, true), HULL_EFORMAT);
    e.off = UINT64_MAX;
    assert_int_equal(weights_add(w, &e, true), HULL_EFORMAT);
    e.off = 0;
    e.strides[0] = INT64_MAX;
    assert_int_equal(weights_add(w, &e, true), HULL_EFORMAT);
    e.strides[0] = 0; /* expanded: smaller than its elements */
    assert_int_equal(weights_add(w, &e, true), HULL_OK);
    e.name = str_of("bomb");
    e.shape[0] = (int64_t)1 << 40;
    assert_int_equal(weights_add(w, &e, true), HULL_EUNSUPPORTED);
    e.shape[0] = 3;
    e.storage = 7;
    assert_int_equal(weights_add(w, &e, true), HULL_EINTERNAL);
    e.storage = 0;
    e.rank = 17;
    assert_int_equal(weights_add(w, &e, true), HULL_EUNSUPPORTED);
    weights_unref(w);
}

/* Order of adding and layout in memory do not enter a digest. */
static void digests(void **state)
{
    static const int64_t shape[] = { 3, 4 }, column[] = { 1, 3 };
    float turned[12];
    weights *a = fresh(), *b = fresh(), *c = fresh();
    digest da, db, dc;
    bool equal;

    (void)state;
    for (int i = 0; i < 12; i++)
        turned[i % 4 * 3 + i / 4] = grid[i];
    assert_int_equal(add(a, "x", grid, shape, NULL, 2), HULL_OK);
    assert_int_equal(add(a, "y", grid, shape + 1, NULL, 1), HULL_OK);
    assert_int_equal(add(b, "y", grid, shape + 1, NULL, 1), HULL_OK);
    assert_int_equal(add(b, "x", turned, shape, column, 2), HULL_OK);
    assert_int_equal(add(c, "z", grid, shape, NULL, 2), HULL_OK);
    assert_int_equal(add(c, "y", grid, shape + 1, NULL, 1), HULL_OK);
    assert_int_equal(weights_digest(a, &da), HULL_OK);
    assert_int_equal(weights_digest(b, &db), HULL_OK);
    assert_int_equal(weights_digest(c, &dc), HULL_OK);
    assert_true(digest_eq(&da, &db));
    assert_false(digest_eq(&da, &dc));
    assert_int_equal(weights_equal(&equal, a, find(a, "x"), b, find(b, "x")),
                     HULL_OK);
    assert_true(equal);
    turned[5] = 99;
    assert_int_equal(weights_digest(b, &db), HULL_OK);
    assert_false(digest_eq(&da, &db));
    assert_int_equal(weights_equal(&equal, a, find(a, "x"), b, find(b, "x")),
                     HULL_OK);
    assert_false(equal);
    assert_int_equal(weights_equal(&equal, a, find(a, "x"), b, find(b, "y")),
                     HULL_OK);
    assert_false(equal);
    weights_unref(a);
    weights_unref(b);
    weights_unref(c);
}

static void absent_bytes(void **state)
{
    weights *w = fresh();
    weight_storage s = { .file = -1, .absent = true };
    weight_entry e = {
        .name = str_of("a"), .dtype = HULL_F32, .rank = 1, .shape = { 12 }
    };
    digest d;
    bool equal;
    float out[12];

    (void)state;
    assert_int_equal(weights_add_storage(w, &s, &e.storage), HULL_OK);
    assert_int_equal(weights_add(w, &e, false), HULL_OK);
    assert_null(weights_view(w, find(w, "a")));
    assert_int_equal(weights_read(w, find(w, "a"), out), HULL_EUNBOUND);
    assert_int_equal(weights_digest(w, &d), HULL_EUNBOUND);
    assert_int_equal(weights_equal(&equal, w, find(w, "a"), w, find(w, "a")),
                     HULL_EUNBOUND);
    weights_unref(w);
}

static const char *two_tensors(const char *name)
{
    static const int64_t shape[] = { 3, 4 };
    safetensors_item items[2] = {
        { str_of("a"), HULL_F32, 2, shape, grid, sizeof grid },
        { str_of("b"), HULL_F32, 2, shape, grid, sizeof grid },
    };

    assert_int_equal(safetensors_write(at(name), items, 2), HULL_OK);
    return at(name);
}

static void places_and_staleness(void **state)
{
    weights *w = open_ok(two_tensors("m.safetensors"));
    weights *v = open_ok(at("m.safetensors"));
    weight_identity ia, ib, ic;
    float out[12];
    uint64_t before;
    bool equal;

    (void)state;
    assert_string_equal(weights_label(w),
                        "safetensors m.safetensors (2 tensors)");
    assert_true(weights_identity(w, find(w, "a"), &ia));
    assert_true(weights_identity(w, find(w, "b"), &ib));
    assert_true(weights_identity(v, find(v, "a"), &ic));
    assert_true(file_id_eq(&ia.file, &ic.file));
    assert_int_equal(ia.off, ic.off);
    assert_int_equal(ia.len, 48);
    assert_int_not_equal(ia.off, ib.off);
    before = file_bytes_read();
    assert_int_equal(weights_equal(&equal, w, find(w, "a"), v, find(v, "a")),
                     HULL_OK);
    assert_true(equal);
    assert_int_equal(file_bytes_read(), before);
    assert_int_equal(weights_equal(&equal, w, find(w, "a"), v, find(v, "b")),
                     HULL_OK);
    assert_true(equal);
    assert_int_equal(file_bytes_read(), before + 96);
    assert_int_equal(weights_unchanged(w), HULL_OK);
    assert_memory_equal(weights_view(w, find(w, "b")), grid, sizeof grid);
    assert_int_equal(weights_read_part(w, find(w, "b"), 4, out, 44), HULL_OK);
    assert_memory_equal(out, (const char *)grid + 4, 44);

    assert_int_equal(truncate(at("m.safetensors"), 130), 0);
    assert_int_equal(weights_unchanged(w), HULL_ESTALE);
    assert_non_null(strstr(error_text(), "m.safetensors"));
    assert_int_equal(weights_read(w, find(w, "b"), out), HULL_EIO);
    weights_unref(w);
    weights_unref(v);
}

static void detection(void **state)
{
    static const char tar[512] = { [257] = 'u', 's', 't', 'a', 'r' };
    static const char lite[] = "\x1c\0\0\0TFL3";
    weights_options key = { .key = str_of("model") };
    weights *w;

    (void)state;
    open_bad(at("absent"), HULL_ENOTFOUND, "absent");
    open_bad(folder, HULL_EIO, folder);
    open_bad(put("x", tar, sizeof tar), HULL_EUNSUPPORTED, "tar");
    open_bad(put("x", lite, sizeof lite), HULL_EUNSUPPORTED, "Lite");
    open_bad(put("x", "GGUF\3\0\0\0", 8), HULL_EUNSUPPORTED, "GGUF");
    open_bad(put("x", "PYTORCH1", 8), HULL_EUNSUPPORTED, "preview");
    open_bad(put("x", "PK\5\6", 4), HULL_EFORMAT, "neither");
    open_bad(put("x", "", 0), HULL_EFORMAT, "neither");
    open_bad(put("x", "hello, world", 12), HULL_EFORMAT, "neither");
    assert_int_equal(weights_open(&w, two_tensors("k"), &key), HULL_EINVAL);
    assert_null(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_tensors),
        cmocka_unit_test(refused_tensors),
        cmocka_unit_test(release_is_called_once),
        cmocka_unit_test(empty_and_scalar),
        cmocka_unit_test(views_stay_inside),
        cmocka_unit_test(digests),
        cmocka_unit_test(absent_bytes),
        cmocka_unit_test(places_and_staleness),
        cmocka_unit_test(detection),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
