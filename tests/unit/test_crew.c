/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_crew.c - the process's workers: how many there are and when, who gets
 * them, where they run, and what the machine is taken for.
 */
#include "unit.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/pool_private.h"

#define FAR_FUTURE_NS UINT64_C(20000000000)

static cpus machine_of(uint32_t n, uint32_t n_threads)
{
    return (cpus){.n = n, .n_threads = n_threads};
}

static int count_threads(void)
{
    DIR *d = opendir("/proc/self/task");
    int n = -2; /* . and .. */

    assert_non_null(d);
    while (readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

/* A joined thread may be seen for a moment more. */
static void expect_threads(int n)
{
    uint64_t end = time_ns() + FAR_FUTURE_NS;

    while (count_threads() > n && time_ns() < end)
        usleep(100);
    assert_int_equal(count_threads(), n);
}

static void *nothing(void *arg)
{
    return arg;
}

/* A sanitizer starts its own thread with the first one. */
static int threads_before(void)
{
    pthread_t t;

    assert_int_equal(pthread_create(&t, NULL, nothing, NULL), 0);
    pthread_join(t, NULL);
    usleep(10000);
    return count_threads();
}

/* ---- how many ------------------------------------------------------------ */

static void pools_share_workers_till_the_last_closes(void **state)
{
    const cpus machine = machine_of(16, 16);
    int before = threads_before();
    int64_t live = mem_live();
    pool *a, *b, *c;

    (void)state;
    crew_pretend(&machine);
    assert_int_equal(pool_new(&a, 3), HULL_OK);
    expect_threads(before + 2);
    assert_int_equal(pool_new(&b, 5), HULL_OK);
    assert_int_equal(pool_new(&c, 2), HULL_OK);
    expect_threads(before + 4);
    assert_int_equal(pool_threads(a), 3);
    assert_int_equal(pool_threads(b), 5);
    assert_int_equal(pool_threads(c), 2);
    pool_free(b);
    pool_free(a);
    expect_threads(before + 4);
    pool_free(c);
    expect_threads(before);
    assert_int_equal(mem_live(), live);
    assert_int_equal(pool_new(&a, 1), HULL_OK);
    expect_threads(before);
    pool_free(a);
}

static void never_more_threads_than_cpus(void **state)
{
    const cpus machine = machine_of(8, 3); /* a quota of three CPUs */
    pool *p;

    (void)state;
    crew_pretend(&machine);
    assert_int_equal(pool_new(&p, 0), HULL_OK);
    assert_int_equal(pool_threads(p), 3);
    pool_free(p);
    assert_int_equal(pool_new(&p, 5), HULL_OK); /* a quota may be exceeded */
    assert_int_equal(pool_threads(p), 5);
    pool_free(p);
    assert_int_equal(pool_new(&p, 1000), HULL_OK);
    assert_int_equal(pool_threads(p), 8);
    pool_free(p);
}

static void *on_one_cpu(void *arg)
{
    cpu_set_t set;
    pool *p = NULL;

    (void)arg;
    CPU_ZERO(&set);
    CPU_SET(sched_getcpu(), &set);
    if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0)
        return "setaffinity";
    if (pool_new(&p, 0) != HULL_OK || pool_threads(p) != 1)
        return "threads=0";
    pool_free(p);
    if (pool_new(&p, 4) != HULL_OK || pool_threads(p) != 1)
        return "threads=4";
    pool_free(p);
    return NULL;
}

static void one_cpu_is_one_thread(void **state)
{
    pthread_t t;
    void *wrong;

    (void)state;
    crew_pretend(NULL);
    assert_int_equal(pthread_create(&t, NULL, on_one_cpu, NULL), 0);
    pthread_join(t, &wrong);
    assert_null(wrong);
}

/* ---- who gets them ------------------------------------------------------- */

/* Two items that wait for each other: only two threads end such a loop. */
typedef struct meeting {
    pool *p;
    atomic_int here;
    pthread_barrier_t *all;
    pthread_t caller;
    atomic_bool left_caller;
} meeting;

static hull_status meet(void *user, size_t i)
{
    meeting *m = user;
    uint64_t end = time_ns() + FAR_FUTURE_NS;

    (void)i;
    atomic_fetch_add(&m->here, 1);
    while (atomic_load(&m->here) < 2)
        if (time_ns() > end)
            return fail(HULL_EINTERNAL, "nobody came");
    return HULL_OK;
}

static void *meet_in_a_loop(void *user)
{
    meeting *m = user;
    hull_status st;

    pool_enter(m->p);
    pthread_barrier_wait(m->all); /* all callers are counted */
    st = pool_for(m->p, 2, meet, m);
    pthread_barrier_wait(m->all);
    pool_leave(m->p);
    return st == HULL_OK ? NULL : user;
}

static hull_status stay(void *user, size_t i)
{
    meeting *m = user;

    (void)i;
    if (!pthread_equal(pthread_self(), m->caller))
        atomic_store(&m->left_caller, true);
    return HULL_OK;
}

static void *loop_often(void *user)
{
    meeting *m = user;

    m->caller = pthread_self();
    pool_enter(m->p);
    pthread_barrier_wait(m->all);
    for (int i = 0; i < 200; i++)
        ignore(pool_for(m->p, 20, stay, m)); /* items do not fail */
    pthread_barrier_wait(m->all);
    pool_leave(m->p);
    return atomic_load(&m->left_caller) ? user : NULL;
}

/* n callers at once, whose pools have so many threads; fn tells what is wrong
 * by not returning NULL. */
static void with_callers(uint32_t n, uint32_t threads, void *(*fn)(void *))
{
    pthread_barrier_t all;
    pthread_t t[8];
    meeting m[8];
    pool *p;
    void *wrong;

    memset(m, 0, sizeof m);
    pthread_barrier_init(&all, NULL, n);
    assert_int_equal(pool_new(&p, threads), HULL_OK);
    for (uint32_t i = 0; i < n; i++) {
        m[i].p = p;
        m[i].all = &all;
        assert_int_equal(pthread_create(&t[i], NULL, fn, &m[i]), 0);
    }
    for (uint32_t i = 0; i < n; i++) {
        pthread_join(t[i], &wrong);
        assert_null(wrong);
    }
    pool_free(p);
    pthread_barrier_destroy(&all);
}

static void callers_share_what_is_to_spare(void **state)
{
    const cpus machine = machine_of(8, 8);

    (void)state;
    crew_pretend(&machine);
    with_callers(1, 8, meet_in_a_loop);
    with_callers(4, 8, meet_in_a_loop); /* eight threads: two for each */
    with_callers(4, 2, meet_in_a_loop); /* more workers than one pool wants */
}

static void as_many_callers_as_cpus_work_alone(void **state)
{
    const cpus machine = machine_of(4, 4);

    (void)state;
    crew_pretend(&machine);
    with_callers(4, 4, loop_often);
    with_callers(7, 4, loop_often);
}

static void a_claim_is_a_share(void **state)
{
    static const uint32_t wanted[][4] = { /* after so many callers */
        {0}, {7, 0}, {3, 3, 0}, {2, 2, 1, 0}, {1, 1, 1, 1}, {1, 1, 1, 0},
        {1, 1, 0}, {1, 0}, {0}, {0}
    };
    const cpus machine = machine_of(8, 8);
    uint32_t threads;
    worker_set s[4];
    crew *c;

    (void)state;
    crew_pretend(&machine);
    assert_int_equal(crew_join(&c, &threads, 0), HULL_OK);
    for (uint32_t callers = 1; callers < COUNT_OF(wanted); callers++) {
        crew_caller_begins(c, threads);
        for (uint32_t i = 0; i < callers && i < 4; i++)
            assert_int_equal(crew_claim(c, &s[i], 9), wanted[callers][i]);
        for (uint32_t i = 0; i < callers && i < 4; i++)
            if (s[i].n > 0)
                crew_release(c, &s[i]);
    }
    assert_int_equal(crew_claim(c, &s[0], 9), 0);
    for (uint32_t callers = 1; callers < COUNT_OF(wanted); callers++)
        crew_caller_ends(c);
    crew_leave(c);
}

typedef struct seats {
    atomic_bool taken[8];
    atomic_int wrong, seen[8];
} seats;

static hull_status sit(void *user, size_t i)
{
    seats *s = user;
    uint32_t seat = pool_seat();

    (void)i;
    if (seat >= 5 || atomic_exchange(&s->taken[seat], true)) {
        atomic_fetch_add(&s->wrong, 1);
        return HULL_OK;
    }
    atomic_fetch_add(&s->seen[seat], 1);
    usleep(50);
    atomic_store(&s->taken[seat], false);
    return HULL_OK;
}

static void seats_are_not_shared(void **state)
{
    const cpus machine = machine_of(8, 8);
    seats s;
    pool *p;

    (void)state;
    memset(&s, 0, sizeof s);
    crew_pretend(&machine);
    assert_int_equal(pool_new(&p, 5), HULL_OK);
    for (int i = 0; i < 20; i++)
        assert_int_equal(pool_for(p, 50, sit, &s), HULL_OK);
    assert_int_equal(s.wrong, 0);
    assert_true(s.seen[0] > 0);
    assert_int_equal(pool_seat(), 0);
    pool_free(p);
}

static void *open_and_close(void *arg)
{
    uint32_t n = 2 + (uint32_t)(uintptr_t)arg % 3;

    for (int i = 0; i < 40; i++) {
        meeting m = {.caller = pthread_self()};
        pool *p;

        if (pool_new(&p, n) != HULL_OK)
            return arg;
        for (int k = 0; k < 5; k++)
            if (pool_for(p, 50, stay, &m) != HULL_OK)
                return arg;
        pool_free(p);
    }
    return NULL;
}

static void pools_come_and_go_in_parallel(void **state)
{
    const cpus machine = machine_of(6, 6);
    int64_t live = mem_live();
    pthread_t t[4];
    void *wrong;

    (void)state;
    crew_pretend(&machine);
    for (size_t i = 0; i < COUNT_OF(t); i++)
        assert_int_equal(pthread_create(&t[i], NULL, open_and_close,
                                        (void *)(uintptr_t)(i + 1)), 0);
    for (size_t i = 0; i < COUNT_OF(t); i++) {
        pthread_join(t[i], &wrong);
        assert_null(wrong);
    }
    assert_int_equal(mem_live(), live);
}

/* ---- fork ---------------------------------------------------------------- */

static bool child_works(pool *inherited)
{
    meeting m = {.p = NULL};
    pool *own;
    bool good = pool_new(&own, 2) == HULL_OK &&
                pool_for(own, 2, meet, &m) == HULL_OK;

    m.caller = pthread_self();
    good = good && pool_for(inherited, 100, stay, &m) == HULL_OK &&
           !atomic_load(&m.left_caller);
    pool_free(own);
    pool_free(inherited);
    return good;
}

static void a_child_makes_its_own_workers(void **state)
{
    const cpus machine = machine_of(4, 4);
    int status = -1;
    pool *p;
    pid_t pid;

    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* ThreadSanitizer allows no threads after fork */
#endif
    crew_pretend(&machine);
    assert_int_equal(pool_new(&p, 4), HULL_OK);
    pid = fork();
    if (pid == 0)
        _exit(child_works(p) ? 0 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    pool_free(p);
}

/* ---- where they run ------------------------------------------------------ */

static void go_anywhere(const cpus *of)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    for (uint32_t i = 0; i < of->n; i++)
        CPU_SET(of->at[i].cpu, &set);
    assert_int_equal(sched_setaffinity(0, sizeof set, &set), 0);
}

static void go_to(int cpu)
{
    const cpus one = {.n = 1, .at = {{(uint16_t)cpu, 0}}};

    go_anywhere(&one);
}

typedef struct places {
    atomic_int here, caller_cpu, worker_cpu;
} places;

static hull_status tell_place(void *user, size_t i)
{
    places *p = user;
    uint64_t end = time_ns() + FAR_FUTURE_NS;

    (void)i;
    atomic_store(pool_seat() == 0 ? &p->caller_cpu : &p->worker_cpu,
                 sched_getcpu());
    atomic_fetch_add(&p->here, 1);
    while (atomic_load(&p->here) < 2)
        if (time_ns() > end)
            return fail(HULL_EINTERNAL, "nobody came");
    return HULL_OK;
}

/* The caller goes where the worker is, time and again: the worker leaves. */
static void workers_leave_the_callers_cpu(void **state)
{
    places at;
    cpus all;
    pool *p;

    (void)state;
    cpus_read(&all);
    if (all.n < 2)
        skip();
    crew_pretend(NULL);
    assert_int_equal(pool_new(&p, 2), HULL_OK);
    atomic_store(&at.worker_cpu, all.at[0].cpu);
    for (int i = 0; i < 10; i++) {
        go_to(atomic_load(&at.worker_cpu));
        for (int k = 0; k < 20; k++) { /* it is seen there, then it moves */
            atomic_store(&at.here, 0);
            assert_int_equal(pool_for(p, 2, tell_place, &at), HULL_OK);
            if (at.worker_cpu != at.caller_cpu)
                break;
            usleep(200);
        }
        assert_int_not_equal(at.worker_cpu, at.caller_cpu);
    }
    pool_free(p);
    go_anywhere(&all);
}

typedef struct counted {
    atomic_int hits[333], far;
} counted;

static hull_status hit_once(void *user, size_t i)
{
    counted *c = user;

    atomic_fetch_add(&c->hits[i], 1);
    if (pool_seat() >= 100)
        atomic_fetch_add(&c->far, 1);
    return HULL_OK;
}

/* Two CPUs of this machine that pretend to be nodes of two CPUs each. */
static void the_nearest_workers_come_first(void **state)
{
    cpus all, machine = machine_of(4, 4);
    uint32_t threads;
    worker_set s;
    crew *c;

    (void)state;
    cpus_read(&all);
    if (all.n < 2)
        skip();
    machine.numbered = true;
    for (uint16_t i = 0; i < 4; i++)
        machine.at[i] = (cpu_place){all.at[i / 2].cpu, i / 2};
    crew_pretend(&machine);
    assert_int_equal(crew_join(&c, &threads, 4), HULL_OK);
    assert_int_equal(threads, 4);
    for (uint32_t node = 0; node < 2; node++) {
        cpu_set_t set;

        go_to(all.at[node].cpu);
        crew_caller_begins(c, 4);
        assert_int_equal(crew_claim(c, &s, 1), 1);
        assert_int_equal(s.bits[0], node == 0 ? 1 : 2);
        crew_release(c, &s);
        assert_int_equal(crew_claim(c, &s, 9), 3);
        assert_int_equal(s.bits[0], 7);
        assert_int_equal(s.start, node);
        crew_release(c, &s);
        crew_caller_ends(c);
        assert_int_equal(pthread_getaffinity_np(c->workers[node]->thread,
                                                sizeof set, &set), 0);
        assert_int_equal(CPU_COUNT(&set), 1);
        assert_true(CPU_ISSET(all.at[node].cpu, &set));
    }
    crew_leave(c);
    go_anywhere(&all);
}

static uint32_t members(const worker_set *s, uint32_t from, uint32_t to)
{
    uint32_t n = 0;

    for (uint32_t i = from; i < to; i++)
        n += s->bits[i / 64] >> (i % 64) & 1;
    return n;
}

/* A hundred threads, 70 on the first node: sets of two words, from within the
 * second one and around. */
static void claims_go_around(void **state)
{
    static counted c;
    cpus all, machine = machine_of(100, 100);
    worker_set some, rest;
    uint32_t threads;
    crew *k;
    pool *p;

    (void)state;
    cpus_read(&all);
    if (all.n < 2)
        skip();
    machine.numbered = true;
    for (uint16_t i = 0; i < 100; i++)
        machine.at[i] = (cpu_place){all.at[i / 70].cpu, i / 70};
    crew_pretend(&machine);
    assert_int_equal(pool_new(&p, 0), HULL_OK);
    go_to(all.at[1].cpu);
    memset(&c, 0, sizeof c);
    for (int i = 0; i < 20; i++)
        assert_int_equal(pool_for(p, COUNT_OF(c.hits), hit_once, &c), HULL_OK);
    for (size_t i = 0; i < COUNT_OF(c.hits); i++)
        assert_int_equal(c.hits[i], 20);
    assert_int_equal(c.far, 0);
    assert_int_equal(crew_join(&k, &threads, 0), HULL_OK);
    crew_caller_begins(k, threads);
    assert_int_equal(crew_claim(k, &some, 3), 3);
    assert_int_equal(members(&some, 69, 72), 3);
    assert_int_equal(crew_claim(k, &rest, 50), 50);
    assert_int_equal(members(&rest, 72, 99), 27);
    assert_int_equal(members(&rest, 0, 23), 23);
    crew_release(k, &some);
    crew_release(k, &rest);
    assert_int_equal(crew_claim(k, &rest, 1000), 99);
    crew_release(k, &rest);
    crew_caller_ends(k);
    crew_leave(k);
    pool_free(p);
    go_anywhere(&all);
}

/* ---- what the machine is taken for --------------------------------------- */

static char root[64];

static void put(const char *path, const char *text)
{
    char full[512];
    file_part part = {text, strlen(text)};
    char *folder;

    snprintf(full, sizeof full, "%s/%s", root, path);
    folder = path_dir(full);
    assert_non_null(folder);
    assert_int_equal(dir_make(folder), HULL_OK);
    mem_free(folder);
    assert_int_equal(file_write_atomic(full, &part, 1), HULL_OK);
}

static int new_root(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/hull_crew_XXXXXX");
    return mkdtemp(root) == NULL;
}

static int old_root(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command);
}

static void quotas_of_version_2(void **state)
{
    (void)state;
    assert_int_equal(cpus_quota(root), UINT32_MAX); /* nothing there */
    put("proc/self/cgroup", "0::/pod/web\n");
    assert_int_equal(cpus_quota(root), UINT32_MAX);
    put("sys/fs/cgroup/pod/web/cpu.max", "max 100000\n");
    assert_int_equal(cpus_quota(root), UINT32_MAX);
    put("sys/fs/cgroup/pod/web/cpu.max", "400000 100000\n");
    assert_int_equal(cpus_quota(root), 4);
    put("sys/fs/cgroup/pod/cpu.max", "350000 100000\n"); /* those around it */
    assert_int_equal(cpus_quota(root), 3);
    put("sys/fs/cgroup/pod/web/cpu.max", "50000 100000\n");
    assert_int_equal(cpus_quota(root), 1);
    put("sys/fs/cgroup/pod/web/cpu.max", "7 0\n");
    put("sys/fs/cgroup/pod/cpu.max", "much 100000\n");
    assert_int_equal(cpus_quota(root), UINT32_MAX);
    /* A container sees its own group as the root. */
    put("sys/fs/cgroup/cpu.max", "250000 100000");
    put("proc/self/cgroup", "0::/not/visible/here\n");
    assert_int_equal(cpus_quota(root), 2);
    put("proc/self/cgroup", "0::/../elsewhere\n");
    assert_int_equal(cpus_quota(root), UINT32_MAX);
}

static void quotas_of_version_1(void **state)
{
    (void)state;
    put("proc/self/cgroup", "11:memory:/m\n4:cpu,cpuacct:/a/b\n0::/\n");
    put("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n");
    assert_int_equal(cpus_quota(root), UINT32_MAX);
    put("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "600000\n");
    assert_int_equal(cpus_quota(root), 6);
    put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "100000\n");
    put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "50000\n");
    assert_int_equal(cpus_quota(root), 2);
    put("proc/self/cgroup", "4:cpuset:/a/b\n");
    assert_int_equal(cpus_quota(root), UINT32_MAX);
}

static void nodes_come_from_the_system(void **state)
{
    static const uint16_t sorted[] = {0, 1, 8, 9, 2, 3, 11};
    cpus c = machine_of(7, 7);

    (void)state;
    for (uint16_t i = 0; i < 4; i++)
        c.at[i].cpu = i;
    c.at[4].cpu = 8;
    c.at[5].cpu = 9;
    c.at[6].cpu = 11;
    cpus_sort(&c, root); /* nothing there: one node */
    for (uint32_t i = 0; i < 7; i++)
        assert_int_equal(c.at[i].node, 0);
    put("sys/devices/system/node/online", "0,2-3\n");
    put("sys/devices/system/node/node0/cpulist", "0-1,8-9\n");
    put("sys/devices/system/node/node2/cpulist", "2-7,10-15\n");
    put("sys/devices/system/node/node3/cpulist", "\n");
    cpus_sort(&c, root);
    for (uint32_t i = 0; i < 7; i++) {
        assert_int_equal(c.at[i].cpu, sorted[i]);
        assert_int_equal(c.at[i].node, i < 4 ? 0 : 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pools_share_workers_till_the_last_closes),
        cmocka_unit_test(never_more_threads_than_cpus),
        cmocka_unit_test(one_cpu_is_one_thread),
        cmocka_unit_test(callers_share_what_is_to_spare),
        cmocka_unit_test(as_many_callers_as_cpus_work_alone),
        cmocka_unit_test(a_claim_is_a_share),
        cmocka_unit_test(seats_are_not_shared),
        cmocka_unit_test(pools_come_and_go_in_parallel),
        cmocka_unit_test(a_child_makes_its_own_workers),
        cmocka_unit_test(workers_leave_the_callers_cpu),
        cmocka_unit_test(the_nearest_workers_come_first),
        cmocka_unit_test(claims_go_around),
        cmocka_unit_test_setup_teardown(quotas_of_version_2, new_root,
                                        old_root),
        cmocka_unit_test_setup_teardown(quotas_of_version_1, new_root,
                                        old_root),
        cmocka_unit_test_setup_teardown(nodes_come_from_the_system, new_root,
                                        old_root),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
