/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_damage.c - an entry with any one bit turned, or cut anywhere: a miss,
 * set aside with a reason, built again, and the answer is right.
 */
#include "cache_unit.h"

#include "onnx_maker.h"

#include <fcntl.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STEP 29
#else
#define STEP 1
#endif
#define F32 1

static void make_model(char path[64])
{
    int64_t shape = 2;
    maker m = maker_new(17);

    put_value(&m.graph, 11, "x", F32, &shape, 1);
    put_node(&m.graph, "Relu", "x", "r", NULL);
    put_node(&m.graph, "Sub", "r x", "y", NULL);
    put_value(&m.graph, 12, "y", F32, &shape, 1);
    maker_write(&m, path);
    assert_true(path[0] != 0);
}

static void answer_is_right(cache *c, const char *model)
{
    const float x[2] = {-2.5f, 3.0f};
    const int64_t shape[1] = {2};
    hull_tensor in = {.data = (void *)(uintptr_t)x, .shape = shape, .rank = 1,
                      .dtype = HULL_F32}, out = {0};
    hull_session *s;
    hull_module *m;

    OK(hull_compile(&m, model, NULL, c, NULL));
    OK(hull_session_new(&s, m, NULL));
    OK(hull_session_run(s, &in, 1, &out, 1));
    assert_true(((const float *)out.data)[0] == 2.5f);
    assert_true(((const float *)out.data)[1] == 0.0f);
    hull_session_free(s);
    hull_module_unref(m);
}

static hull_status find_engine(void *user, const cache_item *item)
{
    if (item->kind == CACHE_ENGINE)
        snprintf(user, 256, "%s", item->path);
    return HULL_OK;
}

static void write_file(const char *path, const char *p, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_int_equal(write(fd, p, n), (ssize_t)n);
    close(fd);
}

static hull_status has_reason(void *user, const cache_bad_item *item)
{
    assert_int_equal(item->kind, CACHE_ENGINE);
    assert_non_null(strstr(item->why, " pid "));
    assert_non_null(strstr(item->why, ": "));
    ++*(int *)user;
    return HULL_OK;
}

/* The n bytes stand in the entry's place. */
static void try_damaged(cache *c, const char *model, const char *path,
                        const char *p, size_t n)
{
    uint64_t corrupt, builds;
    int reasons = 0;

    OK(hull_cache_stat_process(c, "corrupt", &corrupt));
    OK(hull_cache_stat_process(c, "builds", &builds));
    write_file(path, p, n);
    answer_is_right(c, model);
    corrupt++;
    assert_int_equal(stat_of(c, "corrupt"), corrupt);
    assert_int_equal(stat_of(c, "builds"), builds + 1);
    OK(cache_list_bad(c, has_reason, &reasons));
    assert_int_equal(reasons, 1);
}

static void damage_costs_a_build(void **state)
{
    cache *c = opened("0");
    char model[64], path[256] = "", *text;
    size_t n;

    (void)state;
    make_model(model);
    answer_is_right(c, model);
    OK(cache_list(c, find_engine, path));
    OK(file_read_all(&text, &n, path, 1 << 20));
    for (size_t i = 0; i < n; i += STEP) {
        text[i] = (char)(text[i] ^ (1 << i % 8));
        try_damaged(c, model, path, text, n);
        text[i] = (char)(text[i] ^ (1 << i % 8));
    }
    for (size_t i = 0; i < n; i += STEP)
        try_damaged(c, model, path, text, i);
    assert_int_equal(stat_of(c, "errors"), 0);
    mem_free(text);
    unlink(model);
    cache_unref(c);
}

/* The same without a compile: every bit. */
static void no_bit_goes_unnoticed(void **state)
{
    cache *c = opened("0");
    char path[256], *text;
    uint64_t n_bad = 0;
    size_t n;

    (void)state;
    put_number(c, 1, 100);
    path_of(path, 1);
    OK(file_read_all(&text, &n, path, 1 << 20));
    for (size_t i = 0; i < n * 8; i += STEP, n_bad++) {
        text[i / 8] = (char)(text[i / 8] ^ (1 << i % 8));
        write_file(path, text, n);
        text[i / 8] = (char)(text[i / 8] ^ (1 << i % 8));
        assert_false(get_number(c, 1));
        assert_int_not_equal(access(path, F_OK), 0);
    }
    for (size_t i = 0; i < n; i += STEP, n_bad++) {
        write_file(path, text, i);
        assert_false(get_number(c, 1));
        assert_int_not_equal(access(path, F_OK), 0);
    }
    write_file(path, text, n);
    assert_true(get_number(c, 1));
    assert_int_equal(stat_of(c, "corrupt"), n_bad);
    mem_free(text);
    cache_unref(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(damage_costs_a_build),
        TEST(no_bit_goes_unnoticed),
    };

    ignore(log_configure("all:error")); /* a word that it knows */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
