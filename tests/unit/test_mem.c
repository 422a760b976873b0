/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_mem.c - allocation, its failure hook, growth and arenas. The first
 * test runs before any allocation and installs an allocator of its own in a
 * child process, because the choice lasts as long as the process.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* AddressSanitizer asks for this: absurd sizes are tested on purpose. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

typedef struct tally {
    int allocs, frees;
} tally;

static void *tally_alloc(void *user, size_t align, size_t size)
{
    tally *t = user;
    void *p = NULL;

    t->allocs++;
    if (align < sizeof(void *) || posix_memalign(&p, align, size) != 0)
        return NULL;
    memset(p, 0xa5, size);
    return p;
}

static void tally_free(void *user, void *p)
{
    tally *t = user;

    t->frees++;
    free(p);
}

/* Works with the custom allocator; returns the number of the failing step. */
static int use_custom(void)
{
    tally t = { 0, 0 };
    hull_allocator a = { tally_alloc, tally_free, &t };
    unsigned char *p, *q;
    size_t align, i;

    if (mem_has_allocator() || hull_set_allocator(&a) != HULL_OK)
        return 1;
    if (!mem_has_allocator() || hull_set_allocator(&a) != HULL_EINVAL)
        return 2;
    for (align = 1; align <= 8192; align *= 2) {
        p = mem_alloc_aligned(align, 100);
        if (p == NULL || (uintptr_t)p % align != 0)
            return 3;
        memset(p, 1, 100);
        mem_free(p);
    }
    p = mem_calloc(10, 10);
    for (i = 0; i < 100; i++) {
        if (p[i] != 0)
            return 4;
    }
    memset(p, 7, 100);
    q = mem_realloc(p, 5000);
    if (q == NULL || q[0] != 7 || q[99] != 7)
        return 5;
    q = mem_realloc(q, 10);
    if (q == NULL || q[9] != 7)
        return 6;
    mem_free(q);
    if (mem_alloc(SIZE_MAX) != NULL || mem_alloc(SIZE_MAX - 8) != NULL)
        return 7;
    return t.allocs > 0 && t.allocs == t.frees && mem_live() == 0 ? 0 : 8;
}

static void custom_allocator_serves_all(void **state)
{
    int status = -1;
    pid_t pid;

    (void)state;
    assert_int_equal(mem_count(), 0);
    pid = fork();
    if (pid == 0)
        _exit(use_custom());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void allocator_must_come_first(void **state)
{
    hull_allocator a = { tally_alloc, tally_free, NULL };

    (void)state;
    assert_int_equal(hull_set_allocator(NULL), HULL_EINVAL);
    mem_free(mem_alloc(1));
    assert_int_equal(mem_set_allocator(&a), HULL_EINVAL);
    assert_false(mem_has_allocator());
}

static void zero_sizes_are_valid(void **state)
{
    int64_t live = mem_live();
    void *p = mem_alloc(0), *q = mem_calloc(0, 8);
    char *s = mem_strndup(NULL, 0);

    (void)state;
    assert_non_null(p);
    assert_non_null(q);
    assert_string_equal(s, "");
    assert_int_equal(mem_live(), live + 3);
    p = mem_realloc(p, 0);
    assert_non_null(p);
    mem_free(p);
    mem_free(q);
    mem_free(s);
    mem_free(NULL);
    assert_int_equal(mem_live(), live);
}

static void absurd_sizes_give_null(void **state)
{
    int64_t live = mem_live();
    volatile size_t most = SIZE_MAX;

    (void)state;
    assert_null(mem_alloc(most));
    assert_null(mem_calloc(most / 2, 3));
    assert_null(mem_calloc((size_t)1 << 32, (size_t)1 << 32));
    assert_null(mem_alloc_aligned(64, most));
    assert_null(mem_alloc_aligned(48, 10));
    assert_null(mem_strndup("x", most));
    assert_int_equal(mem_live(), live);
}

static void aligned_memory_is_aligned(void **state)
{
    size_t align;

    (void)state;
    for (align = 1; align <= 65536; align *= 2) {
        void *p = mem_alloc_aligned(align, 3);

        assert_non_null(p);
        assert_int_equal((uintptr_t)p % align, 0);
        mem_free(p);
    }
}

static void hook_fails_from_the_nth_on(void **state)
{
    uint64_t before = mem_count();
    void *p;

    (void)state;
    mem_fail_at(2, false);
    p = mem_alloc(1);
    assert_non_null(p);
    assert_null(mem_alloc(1));
    assert_null(mem_calloc(1, 1));
    assert_null(mem_realloc(p, 2));
    mem_fail_at(0, false);
    assert_int_equal(mem_count(), before + 4);
    mem_free(p);
    p = mem_alloc(1);
    assert_non_null(p);
    mem_free(p);
}

static void hook_fails_once(void **state)
{
    void *p;

    (void)state;
    mem_fail_at(1, true);
    assert_null(mem_alloc(1));
    p = mem_alloc(1);
    mem_fail_at(0, false);
    assert_non_null(p);
    mem_free(p);
}

static void grow_zeroes_and_survives_failure(void **state)
{
    int *p = NULL;
    size_t cap = 0, old, i;

    (void)state;
    assert_int_equal(mem_grow(&p, &cap, 0, sizeof(*p)), HULL_OK);
    assert_null(p);
    assert_int_equal(mem_grow(&p, &cap, 1, sizeof(*p)), HULL_OK);
    assert_true(cap >= 1);
    for (i = 0; i < cap; i++)
        p[i] = 5;
    old = cap;
    mem_fail_at(1, false);
    assert_int_equal(mem_grow(&p, &cap, cap + 1, sizeof(*p)), HULL_ENOMEM);
    mem_fail_at(0, false);
    assert_int_equal(cap, old);
    assert_int_equal(p[old - 1], 5);
    assert_int_equal(mem_grow(&p, &cap, cap + 1, sizeof(*p)), HULL_OK);
    assert_int_equal(cap, old * 2);
    assert_int_equal(p[old - 1], 5);
    for (i = old; i < cap; i++)
        assert_int_equal(p[i], 0);
    assert_int_equal(mem_grow(&p, &cap, SIZE_MAX / 2, sizeof(*p)), HULL_ENOMEM);
    assert_int_equal(cap, old * 2);
    mem_free(p);
}

static void arena_is_zeroed_and_aligned(void **state)
{
    int64_t live = mem_live();
    arena a = { 0 };
    size_t size;

    (void)state;
    for (size = 0; size < 20000; size = size * 3 / 2 + 1) {
        unsigned char *p = arena_alloc(&a, size);
        size_t i;

        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (i = 0; i < size; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xff, size);
    }
    assert_string_equal(arena_strndup(&a, "hello", 4), "hell");
    assert_string_equal(arena_strndup(&a, NULL, 0), "");
    assert_memory_equal(arena_memdup(&a, "abc", 3), "abc", 3);
    arena_fini(&a);
    arena_fini(&a);
    arena_fini(NULL);
    assert_int_equal(mem_live(), live);
}

static void arena_failure_sticks(void **state)
{
    arena a = { .max = 64 };

    (void)state;
    assert_non_null(arena_alloc(&a, 48));
    assert_non_null(arena_alloc(&a, 1));
    assert_int_equal(a.used, 64);
    assert_null(arena_alloc(&a, 1));
    assert_true(a.failed);
    arena_fini(&a);
    assert_null(arena_array(&a, SIZE_MAX / 2, 3));
    assert_true(a.failed);
    assert_null(arena_alloc(&a, 1));
    arena_fini(&a);
    assert_null(arena_alloc(&a, SIZE_MAX - 20));
    arena_fini(&a);
    mem_fail_at(1, true);
    assert_null(arena_alloc(&a, 1));
    mem_fail_at(0, false);
    assert_null(arena_alloc(&a, 1));
    arena_fini(&a);
}

/* What was scratch once is zero again, unless nobody asks for that. */
static void arena_zeroes_used_memory(void **state)
{
    (void)state;
    for (int round = 0; round < 6; round++) {
        static arena a;
        size_t n = 1000 + 5000 * (size_t)(round % 3);
        unsigned char *raw = arena_raw(&a, n, 3), *p = arena_alloc(&a, n);

        assert_non_null(raw);
        assert_non_null(p);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(p[i], 0);
        memset(raw, 0xff, 3 * n);
        memset(p, 0xff, n);
        arena_reset(&a);
        p = arena_alloc(&a, 4 * n + 500);
        for (size_t i = 0; i < 4 * n + 500; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xff, 4 * n + 500);
        if (round % 2 == 1)
            arena_reset(&a);
        assert_null(round == 5 ? arena_raw(&a, SIZE_MAX / 2, 3) : NULL);
        assert_true(round < 5 || a.failed);
        if (round == 5)
            arena_fini(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(custom_allocator_serves_all),
        cmocka_unit_test(allocator_must_come_first),
        cmocka_unit_test(zero_sizes_are_valid),
        cmocka_unit_test(absurd_sizes_give_null),
        cmocka_unit_test(aligned_memory_is_aligned),
        cmocka_unit_test(hook_fails_from_the_nth_on),
        cmocka_unit_test(hook_fails_once),
        cmocka_unit_test(grow_zeroes_and_survives_failure),
        cmocka_unit_test(arena_is_zeroed_and_aligned),
        cmocka_unit_test(arena_failure_sticks),
        cmocka_unit_test(arena_zeroes_used_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
