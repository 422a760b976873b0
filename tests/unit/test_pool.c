/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_pool.c - loops over threads: coverage, errors, nesting, fork.
 */
#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/pool_private.h"

#define N 1000

static const cpus machine = {.n = 8, .n_threads = 8};

typedef struct counts {
    pool *p;
    atomic_int hits[N];
} counts;

static hull_status hit(void *user, size_t i)
{
    counts *c = user;

    atomic_fetch_add(&c->hits[i], 1);
    return HULL_OK;
}

static void every_item_runs_once(void **state)
{
    static counts c;
    uint32_t threads;
    int round, i;
    pool *p;

    (void)state;
    for (threads = 1; threads <= 5; threads++) {
        assert_int_equal(pool_new(&p, threads), HULL_OK);
        memset(&c, 0, sizeof(c));
        for (round = 0; round < 50; round++)
            assert_int_equal(pool_for(p, N, hit, &c), HULL_OK);
        for (i = 0; i < N; i++)
            assert_int_equal(c.hits[i], 50);
        pool_free(p);
    }
}

static void edges(void **state)
{
    static counts c;
    pool *p;

    (void)state;
    assert_int_equal(pool_for(NULL, N, hit, &c), HULL_OK);
    assert_int_equal(c.hits[N - 1], 1);
    assert_int_equal(pool_new(&p, 0), HULL_OK);
    assert_int_equal(pool_for(p, 0, hit, NULL), HULL_OK);
    pool_free(p);
    pool_free(NULL);
    assert_int_equal(pool_new(&p, 100000), HULL_EINVAL);
    assert_null(p);
}

static hull_status fail_some(void *user, size_t i)
{
    counts *c = user;

    atomic_fetch_add(&c->hits[i], 1);
    if (i == 0)
        usleep(200); /* meanwhile others begin, which end after the lowest */
    if (i < 40 || i % 7 != 3)
        return HULL_OK;
    if (i > 45)
        usleep(1000);
    return fail(HULL_ESHAPE, "item %zu", i);
}

static void the_lowest_failure_wins(void **state)
{
    static counts c;
    int round, i;
    pool *p;

    (void)state;
    assert_int_equal(pool_new(&p, 4), HULL_OK);
    for (round = 0; round < 200; round++) {
        memset(&c, 0, sizeof(c));
        assert_int_equal(pool_for(p, N, fail_some, &c), HULL_ESHAPE);
        assert_string_equal(error_text(), "item 45");
        for (i = 0; i <= 45; i++)
            assert_int_equal(c.hits[i], 1);
    }
    assert_int_equal(pool_for(NULL, N, fail_some, &c), HULL_ESHAPE);
    assert_string_equal(error_text(), "item 45");
    error_clear();
    assert_int_equal(pool_for(p, 40, fail_some, &c), HULL_OK);
    assert_string_equal(error_text(), "");
    pool_free(p);
}

static hull_status nest(void *user, size_t i)
{
    counts *c = user;
    pthread_t self = pthread_self();

    (void)i;
    TRY(pool_for(c->p, N, hit, c));
    return pthread_equal(self, pthread_self()) ? HULL_OK : HULL_EINTERNAL;
}

static void nested_loops_run(void **state)
{
    static counts c;
    int i;

    (void)state;
    memset(&c, 0, sizeof(c));
    assert_int_equal(pool_new(&c.p, 3), HULL_OK);
    assert_int_equal(pool_for(c.p, 8, nest, &c), HULL_OK);
    for (i = 0; i < N; i++)
        assert_int_equal(c.hits[i], 8);
    pool_free(c.p);
}

static void *loop_often(void *arg)
{
    counts *c = arg;
    int i;

    for (i = 0; i < 50; i++) {
        if (pool_for(c->p, N, hit, c) != HULL_OK)
            return arg;
    }
    return NULL;
}

static void callers_share_a_pool(void **state)
{
    static counts c;
    pthread_t t[3];
    void *result;
    size_t i;

    (void)state;
    memset(&c, 0, sizeof(c));
    assert_int_equal(pool_new(&c.p, 3), HULL_OK);
    for (i = 0; i < COUNT_OF(t); i++)
        assert_int_equal(pthread_create(&t[i], NULL, loop_often, &c), 0);
    for (i = 0; i < COUNT_OF(t); i++) {
        pthread_join(t[i], &result);
        assert_null(result);
    }
    for (i = 0; i < N; i++)
        assert_int_equal(c.hits[i], 150);
    pool_free(c.p);
}

static void a_child_process_works_alone(void **state)
{
    static counts c;
    int status = -1;
    pid_t pid;
    pool *p;

    (void)state;
    memset(&c, 0, sizeof(c));
    assert_int_equal(pool_new(&p, 4), HULL_OK);
    assert_int_equal(pool_for(p, N, hit, &c), HULL_OK);
    pid = fork();
    if (pid == 0) {
        bool good = pool_for(p, N, hit, &c) == HULL_OK && c.hits[N - 1] == 2;

        pool_free(p);
        _exit(good ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(pool_for(p, N, hit, &c), HULL_OK);
    pool_free(p);
}

static void failed_allocations_leak_nothing(void **state)
{
    int64_t live = mem_live();
    uint64_t n;
    pool *p;

    (void)state;
    for (n = 1;; n++) {
        hull_status st;

        mem_fail_at(n, false);
        st = pool_new(&p, 2);
        mem_fail_at(0, false);
        if (st == HULL_OK)
            break;
        assert_int_equal(st, HULL_ENOMEM);
        assert_int_equal(mem_live(), live);
    }
    assert_int_equal(n, 3 + machine.n - 1); /* a worker each */
    pool_free(p);
    assert_int_equal(mem_live(), live);
}

static void time_moves_on(void **state)
{
    uint64_t before = time_ns();

    (void)state;
    usleep(2000);
    assert_true(time_ns() - before >= 2000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_runs_once),
        cmocka_unit_test(edges),
        cmocka_unit_test(the_lowest_failure_wins),
        cmocka_unit_test(nested_loops_run),
        cmocka_unit_test(callers_share_a_pool),
        cmocka_unit_test(a_child_process_works_alone),
        cmocka_unit_test(failed_allocations_leak_nothing),
        cmocka_unit_test(time_moves_on),
    };

    crew_pretend(&machine); /* or there would be no more threads than CPUs */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
