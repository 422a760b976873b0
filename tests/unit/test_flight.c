/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_flight.c - of several processes that want one absent entry, one builds
 * and the others wait and hit; one that is killed is no obstacle, whenever that
 * happens; a wait has an end, and inside a loop of the pool there is none.
 */
#include "cache_unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#define PROCESSES 8
#define KILLS 50

/* As the driver does it; the build takes a while. */
static void want(cache *c, int key, useconds_t build_us)
{
    cache_build b = CACHE_BUILD_NONE;
    cache_key k = key_number(key);

    if (!cache_has(c, CACHE_ENGINE, &k))
        cache_build_begin(&b, c, &k, 1.0);
    if (!get_number(c, key)) {
        cache_count_build(c);
        usleep(build_us);
        put_number(c, key, 2000);
    }
    cache_build_end(&b);
    cache_key_fini(&k);
}

/* All start when the pipe's other end is closed. */
static pid_t start(int gate[2], useconds_t build_us)
{
    pid_t pid = fork();
    char byte;

    assert_true(pid >= 0);
    if (pid == 0) {
        cache *c = opened("0");

        close(gate[1]);
        if (read(gate[0], &byte, 1) == 0)
            want(c, 1, build_us);
        cache_unref(c);
        _exit(0);
    }
    return pid;
}

static void finish(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void one_builds_the_others_hit(void **state)
{
    pid_t pids[PROCESSES];
    int gate[2];
    cache *c;

    (void)state;
    assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
    for (int i = 0; i < PROCESSES; i++)
        pids[i] = start(gate, 800000);
    close(gate[0]);
    close(gate[1]);
    for (int i = 0; i < PROCESSES; i++)
        finish(pids[i]);
    c = opened("0");
    expect_stats(c, "builds", 1, "misses", 1, "stores", 1, "waits",
                 PROCESSES - 1, "hits", PROCESSES - 1, "hits_disk",
                 PROCESSES - 1);
    assert_int_equal(stat_of(c, "entries"), 1);
    assert_int_equal(rmdir(path_in("v2/locks")), 0); /* none is left */
    cache_unref(c);
}

/* The owner is killed at any moment of its work, another one waits for it. */
static void killed_owners_are_no_obstacle(void **state)
{
    uint64_t good, bad, takeovers = 0;
    uint32_t seed = 3;

    (void)state;
    for (int i = 0; i < KILLS; i++) {
        int gate[2];
        pid_t owner, other;
        cache *c;

        assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
        owner = start(gate, 3000);
        close(gate[0]);
        close(gate[1]);
        seed = seed * 1664525 + 1013904223;
        usleep((seed >> 8) % 6000);
        assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
        other = start(gate, 100);
        assert_int_equal(kill(owner, SIGKILL), 0);
        close(gate[0]);
        close(gate[1]);
        assert_int_equal(waitpid(owner, NULL, 0), owner);
        finish(other);
        c = opened("0");
        assert_int_equal(stat_of(c, "entries"), 1);
        OK(hull_cache_verify(c, &good, &bad));
        assert_int_equal(good, 1);
        assert_int_equal(bad, 0);
        assert_int_equal(rmdir(path_in("v2/tmp")), 0); /* no file in it */
        assert_int_equal(stat_of(c, "wait_timeouts"), 0);
        takeovers += stat_of(c, "takeovers");
        cache_unref(c);
        assert_int_equal(remove_folder(NULL), 0);
        assert_int_equal(mkdir(folder, 0700), 0);
    }
    assert_in_range(takeovers, 1, KILLS);
}

/* A killed owner is counted when its lock is taken over; one that ended is
 * not. */
static void takeovers_are_counted(void **state)
{
    cache *c = opened("0");
    cache_key k = key_number(1);
    cache_build b;
    int ready[2], status;
    char byte;
    pid_t pid;

    (void)state;
    cache_build_begin(&b, c, &k, 1.0);
    cache_build_end(&b);
    cache_build_begin(&b, c, &k, 1.0);
    cache_build_end(&b);
    assert_int_equal(stat_of(c, "takeovers"), 0);
    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        cache_build_begin(&b, c, &k, 1.0);
        if (write(ready[1], "x", 1) == 1)
            pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    cache_build_begin(&b, c, &k, 1.0);
    assert_true(b.fd >= 0);
    assert_true(fcntl(b.fd, F_GETFD) & FD_CLOEXEC);
    cache_build_end(&b);
    expect_stats(c, "takeovers", 1);
    close(ready[0]);
    close(ready[1]);
    cache_key_fini(&k);
    cache_unref(c);
}

static void a_wait_has_an_end(void **state)
{
    cache *c = opened("0"), *hasty;
    cache_key k = key_number(1);
    cache_build b, second;

    (void)state;
    hasty = open_cache("", "cache_wait", "0");
    cache_build_begin(&b, c, &k, 1.0);
    assert_true(b.fd >= 0);
    cache_build_begin(&second, hasty, &k, 1.0);
    assert_true(second.fd < 0);
    cache_build_end(&second);
    assert_int_equal(stat_of(hasty, "wait_timeouts"), 1);
    cache_build_end(&b);
    cache_build_begin(&second, hasty, &k, 1.0);
    assert_true(second.fd >= 0);
    cache_build_end(&second);
    assert_int_equal(stat_of(hasty, "wait_timeouts"), 1);
    cache_key_fini(&k);
    cache_unref(hasty);
    cache_unref(c);
}

static hull_status begin_in_loop(void *user, size_t i)
{
    cache_key k = key_number(1);
    cache_build b;

    (void)i;
    cache_build_begin(&b, user, &k, 1.0); /* a wait would be of 300 s */
    assert_true(b.fd < 0);
    cache_build_end(&b);
    cache_key_fini(&k);
    return HULL_OK;
}

static void no_worker_waits(void **state)
{
    cache *c = opened("0");
    cache_key k = key_number(1);
    cache_build b;
    pool *p;

    (void)state;
    cache_build_begin(&b, c, &k, 1.0);
    OK(pool_new(&p, 2));
    OK(pool_for(p, 8, begin_in_loop, c));
    pool_free(p);
    assert_int_equal(stat_of(c, "wait_timeouts"), 8);
    cache_build_end(&b);
    cache_key_fini(&k);
    cache_unref(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_builds_the_others_hit),
        TEST(killed_owners_are_no_obstacle),
        TEST(takeovers_are_counted),
        TEST(a_wait_has_an_end),
        TEST(no_worker_waits),
    };

    ignore(log_configure("all:error")); /* a word that it knows */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
