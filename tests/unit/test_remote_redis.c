/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_remote_redis.c - stores in Redis: a real server on a port and on a
 * socket, with and without a password, leases between machines (processes
 * with folders of their own), and a server that misbehaves.
 */
#include "servers.h"

#include "cache/tier.h"

#include <sys/resource.h>

static cache *redis_cache(const char *name, const char *userinfo,
                          const char *more)
{
    char text[256];

    snprintf(text, sizeof text, "redis://%s127.0.0.1:%d%s", userinfo, served.port,
             more);
    return open_cache(name, "cache_remote", text, "cache_memory", "0");
}

/* What redis-cli answers, without the line's end. */
static const char *cli(const char *command)
{
    static char line[200];
    char text[300];
    FILE *f;

    snprintf(text, sizeof text, "redis-cli -p %d %s 2>/dev/null", served.port,
             command);
    f = popen(text, "r");
    assert_non_null(f);
    if (fgets(line, sizeof line, f) == NULL)
        line[0] = '\0';
    pclose(f);
    line[strcspn(line, "\n")] = '\0';
    return line;
}

/* The same about the value, or with "lease:" the lease, of entry i. */
static const char *cli_of(const char *word, const char *what, int i,
                          const char *rest)
{
    char name[DIGEST_HEX_SIZE], text[200];
    cache_key k = key_number(i);

    remote_name(name, CACHE_ENGINE, &k.d);
    snprintf(text, sizeof text, "%s hull:%s%s %s", word, what, name, rest);
    cache_key_fini(&k);
    return cli(text);
}

static void check_pair(cache *a, cache *b)
{
    assert_false(get_number(a, 1));
    put_number(a, 1, 30000);
    assert_true(get_number(b, 1));
    expect_stats(a, "misses", 1, "misses_remote", 1, "stores", 1,
                 "remote_stores", 1);
    expect_stats(b, "hits", 1, "hits_remote", 1);
    cache_unref(a);
    cache_unref(b);
}

/* ---- a real server ------------------------------------------------------- */

static void entries_go_around(void **state)
{
    char text[200];

    (void)state;
    serve_redis("");
    check_pair(redis_cache("a", "", ""), redis_cache("b", "", "/0"));
    assert_string_equal(cli("dbsize"), "1");
    cli("flushall");
    check_pair(redis_cache("c", "", "/3"), redis_cache("d", "", "/3"));
    cli("flushall");
    snprintf(text, sizeof text, "redis+unix:%s/redis.sock?db=3", folder);
    check_pair(open_cache("e", "cache_remote", text),
               redis_cache("f", "", "/3"));
    snprintf(text, sizeof text, "redis+unix://%s/redis.sock", folder);
    check_pair(open_cache("g", "cache_remote", text),
               redis_cache("h", "", "/0"));
}

static void databases_are_apart(void **state)
{
    cache *a, *b;

    (void)state;
    serve_redis("");
    a = redis_cache("a", "", "/1");
    b = redis_cache("b", "", "/2");
    put_number(a, 1, 100);
    assert_false(get_number(b, 1));
    expect_stats(b, "misses", 1, "misses_remote", 1);
    cache_unref(a);
    cache_unref(b);
    a = redis_cache("c", "", "/999999"); /* the server has fewer */
    assert_false(get_number(a, 1));
    expect_stats(a, "misses", 1, "remote_errors", 1);
    cache_unref(a);
}

static void passwords_are_needed(void **state)
{
    cache *c;

    (void)state;
    serve_redis("s3cret/@");
    check_pair(redis_cache("a", ":s3cret%2F%40@", ""),
               redis_cache("b", "default:s3cret%2f%40@", ""));
    c = redis_cache("c", "", "");
    assert_false(get_number(c, 1));
    expect_stats(c, "misses", 1, "remote_errors", 1);
    cache_unref(c);
    c = redis_cache("d", ":s3cret@", "");
    put_number(c, 1, 100);
    assert_int_equal(stat_of(c, "remote_errors"), 1);
    assert_int_equal(stat_of(c, "remote_stores"), 0);
    cache_unref(c);
}

static void entries_run_out(void **state)
{
    cache *c;

    (void)state;
    serve_redis("");
    c = redis_cache("a", "", "|ttl=1000");
    put_number(c, 1, 100);
    assert_in_range(atoi(cli_of("ttl", "", 1, "")), 900, 1000);
    cache_unref(c);
    c = redis_cache("b", "", "");
    put_number(c, 2, 100);
    assert_string_equal(cli_of("ttl", "", 2, ""), "-1");
    cache_unref(c);
}

/* A connection that died while it waited is made anew, without a word. */
static void server_may_restart(void **state)
{
    int port;
    cache *c;

    (void)state;
    serve_redis("");
    port = served.port;
    c = redis_cache("a", "", "|timeout=20000");
    put_number(c, 1, 100);
    stop_server(&served);
    served = start_redis_on(port, "");
    assert_false(get_number(c, 2));
    put_number(c, 2, 100);
    expect_stats(c, "stores", 2, "remote_stores", 2, "misses", 1,
                 "misses_remote", 1);
    stop_server(&served);
    for (int i = 0; i < 4; i++)
        assert_false(get_number(c, 3));
    expect_stats(c, "stores", 2, "remote_stores", 2, "misses", 5,
                 "misses_remote", 1, "remote_errors", 3, "tier_disabled", 1);
    cache_unref(c);
}

/* Three failures, then one a pause; the pauses grow, until it answers. */
static void failed_store_is_asked_again(void **state)
{
    int port, tries = 20000;
    uint64_t start;
    cache *c;

    (void)state;
    serve_redis("");
    port = served.port;
    c = redis_cache("a", "", "|timeout=20000|retries=0|pause=40");
    put_number(c, 1, 100);
    stop_server(&served);
    start = time_ns();
    for (; tries > 0 && stat_of(c, "tier_disabled") < 4; tries--) {
        assert_false(get_number(c, 2));
        usleep(1000);
    }
    assert_true((time_ns() - start) / 1000000 >= 40 + 80 + 160);
    assert_int_equal(stat_of(c, "remote_errors"), 6);
    served = start_redis_on(port, "");
    for (; tries > 0 && stat_of(c, "misses_remote") == 0; tries--) {
        assert_false(get_number(c, 2));
        usleep(1000);
    }
    assert_int_equal(stat_of(c, "remote_errors"), 6);
    put_number(c, 2, 100);
    assert_int_equal(stat_of(c, "remote_stores"), 2);
    stop_server(&served); /* and three are in a row again */
    for (int i = 0; i < 2; i++)
        assert_false(get_number(c, 3));
    assert_int_equal(stat_of(c, "remote_errors"), 8);
    assert_int_equal(stat_of(c, "tier_disabled"), 4);
    cache_unref(c);
}

static void own_memory_is_not_the_stores(void **state)
{
    (void)state;
    serve_redis("");
    check_own_memory(redis_cache("a", "", ""),
                     redis_cache("b", "", "|read-only"));
}

static void rejected_entry_is_deleted(void **state)
{
    cache_key k = key_number(1);
    cache_entry e;
    cache *a, *b;
    bool hit;

    (void)state;
    serve_redis("");
    a = redis_cache("a", "", "");
    b = redis_cache("b", "", "");
    put_number(a, 1, 100);
    cache_get(&e, &hit, b, CACHE_ENGINE, &k);
    assert_true(hit);
    ignore(fail(HULL_EFORMAT, "not a program"));
    cache_reject(b, &e, CACHE_ENGINE, &k);
    assert_string_equal(cli("dbsize"), "0");
    cache_key_fini(&k);
    cache_unref(a);
    cache_unref(b);
}

/* ---- leases -------------------------------------------------------------- */

/* One machine: builds, or waits and hits. It says when it has the lease, and
 * builds when it may. */
static void machine(int i, double predicted, int say, int may)
{
    cache_build b = CACHE_BUILD_NONE;
    cache_key k = key_number(1);
    char name[16], byte = 'x';
    cache *c;

    snprintf(name, sizeof name, "m%d", i);
    c = redis_cache(name, "", "");
    cache_build_begin(&b, c, &k, predicted);
    if (say >= 0 && write(say, &byte, 1) != 1)
        _exit(1);
    if (!get_number(c, 1)) {
        if (may >= 0 && read(may, &byte, 1) != 1)
            _exit(1);
        cache_count_build(c);
        put_number(c, 1, 2000);
    }
    cache_build_end(&b);
    cache_key_fini(&k);
    cache_unref(c);
}

static pid_t machine_process(int i, double predicted, int say, int may)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        machine(i, predicted, say, may);
        _exit(0);
    }
    return pid;
}

static void join(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static uint64_t sum_of(int n, const char *counter)
{
    uint64_t sum = 0;

    for (int i = 0; i < n; i++) {
        char name[16];
        cache *c;

        snprintf(name, sizeof name, "m%d", i);
        c = redis_cache(name, "", "");
        sum += stat_of(c, counter);
        cache_unref(c);
    }
    return sum;
}

#define MACHINES 4

static void one_machine_builds(void **state)
{
    int say[2], may[2];
    pid_t pids[MACHINES];
    char byte;

    (void)state;
    serve_redis("");
    assert_int_equal(pipe(say), 0);
    assert_int_equal(pipe(may), 0);
    pids[0] = machine_process(0, 60, say[1], may[0]);
    assert_int_equal(read(say[0], &byte, 1), 1);
    assert_string_equal(cli("dbsize"), "1"); /* the lease */
    for (int i = 1; i < MACHINES; i++)
        pids[i] = machine_process(i, 60, -1, -1);
    usleep(300000); /* they wait; nothing but counters depends on it */
    assert_int_equal(write(may[1], "x", 1), 1);
    for (int i = 0; i < MACHINES; i++)
        join(pids[i]);
    assert_int_equal(sum_of(MACHINES, "builds"), 1);
    assert_int_equal(sum_of(MACHINES, "hits_remote"), MACHINES - 1);
    assert_int_equal(sum_of(MACHINES, "misses"), 1);
    assert_in_range(sum_of(MACHINES, "remote_waits"), 1, MACHINES - 1);
    assert_string_equal(cli("dbsize"), "1"); /* the entry; the lease is over */
    close(say[0]);
    close(say[1]);
    close(may[0]);
    close(may[1]);
}

/* A dead owner's lease runs out; then the next one has it. */
static void dead_owner_is_waited_for_no_longer(void **state)
{
    int say[2], may[2];
    pid_t a, b;
    char byte;

    (void)state;
    serve_redis("");
    assert_int_equal(pipe(say), 0);
    assert_int_equal(pipe(may), 0);
    a = machine_process(0, 60, say[1], may[0]);
    assert_int_equal(read(say[0], &byte, 1), 1);
    assert_in_range(atoi(cli_of("pttl", "lease:", 1, "")), 1, 30000);
    assert_int_equal(kill(a, SIGKILL), 0);
    waitpid(a, NULL, 0);
    b = machine_process(1, 60, say[1], -1);
    usleep(100000);
    /* As if its time had passed. */
    cli_of("pexpire", "lease:", 1, "1");
    assert_int_equal(read(say[0], &byte, 1), 1);
    join(b);
    assert_int_equal(sum_of(2, "builds"), 1);
    close(say[0]);
    close(say[1]);
    close(may[0]);
    close(may[1]);
}

/* The wait is never longer than the prediction. */
static void wait_ends_with_the_prediction(void **state)
{
    uint64_t start = time_ns();

    (void)state;
    serve_redis("");
    cli_of("set", "lease:", 1, "another");
    machine(0, 5.0, -1, -1);
    assert_in_range((time_ns() - start) / 1000000, 4900, 15000);
    assert_int_equal(sum_of(1, "builds"), 1);
    assert_int_equal(sum_of(1, "remote_waits"), 1);
    /* Another one's lease is not ended. */
    assert_string_equal(cli_of("get", "lease:", 1, ""), "another");
}

static void short_builds_wait_for_nobody(void **state)
{
    (void)state;
    serve_redis("");
    cli_of("set", "lease:", 1, "another");
    machine(0, 4.9, -1, -1);
    assert_int_equal(sum_of(1, "builds"), 1);
    assert_int_equal(sum_of(1, "remote_waits"), 0);
}

/* A build that takes longer than its lease keeps it. */
static void lease_is_renewed(void **state)
{
    cache_build b = CACHE_BUILD_NONE;
    cache_key k = key_number(1);
    bool renewed = false;
    cache *c;

    (void)state;
    serve_redis("");
    c = redis_cache("a", "", "");
    cache_build_begin(&b, c, &k, 5);
    assert_string_equal(cli_of("pexpire", "lease:", 1, "600000"), "1");
    for (int i = 0; i < 2000 && !renewed; i++) {
        usleep(10000);
        renewed = atoi(cli_of("pttl", "lease:", 1, "")) <= 5000;
    }
    assert_true(renewed);
    assert_int_equal(cli_of("pttl", "lease:", 1, "")[0] == '-', 0);
    cache_build_end(&b);
    assert_string_equal(cli_of("exists", "lease:", 1, ""), "0");
    assert_int_equal(stat_of(c, "remote_errors"), 0);
    cache_key_fini(&k);
    cache_unref(c);
}

/* The lease ran out and is another one's: it stays his. */
static void lost_lease_is_not_given_back(void **state)
{
    static const char evals[] = "info commandstats | grep -c cmdstat_eval";
    cache_build b = CACHE_BUILD_NONE;
    cache_key k = key_number(1);
    cache *c;

    (void)state;
    serve_redis("");
    c = redis_cache("a", "", "");
    cache_build_begin(&b, c, &k, 5);
    assert_string_equal(cli_of("set", "lease:", 1, "another"), "OK");
    for (int i = 0; i < 2000 && atoi(cli(evals)) == 0; i++)
        usleep(10000);
    assert_string_equal(cli(evals), "1"); /* it tried to renew it */
    assert_string_equal(cli_of("pttl", "lease:", 1, ""), "-1");
    cache_build_end(&b);
    assert_string_equal(cli_of("get", "lease:", 1, ""), "another");
    cache_key_fini(&k);
    cache_unref(c);
}

/* ---- the server that misbehaves ------------------------------------------ */

#define PATIENCE_MS 50000

static void hostile_answers_are_misses(void **state)
{
    static const struct {
        int number;
        const char *counter; /* that counts it; NULL: only the miss is sure */
    } cases[] = {
        {1, "misses_remote"}, {2, "remote_errors"}, {3, "remote_errors"},
        {4, "remote_errors"}, {5, "remote_errors"}, {6, "remote_errors"},
        {7, "remote_errors"}, {8, "remote_errors"}, {9, "remote_errors"},
        {10, NULL}, {11, "remote_errors"}, {12, "remote_corrupt"},
        {13, "remote_timeouts"}, {14, "remote_errors"}};
    struct rusage before, after;

    (void)state;
    serve_hostile();
    served.port = served.second_port;
    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char more[80], name[16];
        uint64_t start = time_ns();
        cache *c;

        snprintf(more, sizeof more, "/%d|timeout=%d|max-size=64KiB",
                 cases[i].number, cases[i].number == 3 ||
                                  cases[i].number == 13 ? 300 : 60000);
        snprintf(name, sizeof name, "c%d", cases[i].number);
        c = redis_cache(name, "", more);
        assert_false(get_number(c, 1));
        assert_true((time_ns() - start) / 1000000 < PATIENCE_MS);
        put_number(c, 1, 100); /* the build goes on */
        assert_true(get_number(c, 1));
        if (cases[i].counter != NULL &&
            stat_of(c, cases[i].counter) == 0)
            print_error("case %d\n", cases[i].number);
        if (cases[i].counter != NULL)
            assert_true(stat_of(c, cases[i].counter) > 0);
        assert_int_equal(stat_of(c, "misses"), 1);
        cache_unref(c);
    }
    /* Far less than the 500 MB that case 14 sends. */
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    assert_true(after.ru_maxrss - before.ru_maxrss < 200000);
}

static void wrong_stores_are_refused(void **state)
{
    static const char *const bad[] = {
        "redis://", "redis:///3", "redis://h/x", "redis://h/-1",
        "redis://h/1/2", "redis://h/3?x=1", "redis+unix:", "redis+unix:x",
        "redis+unix:/x?y=1", "redis+unix:/x?db=1000001",
        "redis://h|layout=flat", "redis://h|header=A:b",
        "redis://h|token-file=/x", "redis://h|proxy=x", "redis://h|cacert=/x",
        "redis://s3cret@h"};
    hull_status st;
    cache *c;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(try_open(&c, "a", "cache_remote", bad[i], NULL),
                         HULL_EINVAL);
        assert_null(c);
        assert_null(strstr(error_text(), "s3cret"));
    }
    st = try_open(&c, "a", "cache_remote", "rediss://h", NULL);
#ifdef HULL_HIREDIS_SSL
    assert_int_equal(st, HULL_EINVAL);
    assert_non_null(strstr(error_text(), "cacert"));
#else
    assert_int_equal(st, HULL_EUNSUPPORTED);
    assert_non_null(strstr(error_text(), "hiredis_ssl"));
#endif
}

#ifdef HULL_HIREDIS_SSL
static cache *tls_cache(const char *name, const char *cacert)
{
    char store[300];

    snprintf(store, sizeof store, "rediss://127.0.0.1:%d|cacert=%s", served.port,
             cacert);
    return open_cache(name, "cache_remote", store, "cache_memory", "0");
}

static void tls_is_checked(void **state)
{
    char own[128];
    cache *c;

    (void)state;
    NEED("redis-server");
    NEED("openssl");
    served = start_redis_tls();
    snprintf(own, sizeof own, "%s/cert.pem", folder);
    check_pair(tls_cache("a", own), tls_cache("b", own));
    c = redis_cache("d", "", "|timeout=1000"); /* without TLS */
    assert_false(get_number(c, 1));
    assert_int_equal(stat_of(c, "remote_errors"), 1);
    cache_unref(c);
    make_certificate(); /* another one, which does not vouch for the server */
    c = tls_cache("c", own);
    assert_false(get_number(c, 1));
    expect_stats(c, "misses", 1, "remote_errors", 1);
    cache_unref(c);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVED(entries_go_around),
        SERVED(databases_are_apart),
        SERVED(passwords_are_needed),
        SERVED(entries_run_out),
        SERVED(server_may_restart),
        SERVED(failed_store_is_asked_again),
        SERVED(own_memory_is_not_the_stores),
        SERVED(rejected_entry_is_deleted),
        SERVED(one_machine_builds),
        SERVED(dead_owner_is_waited_for_no_longer),
        SERVED(wait_ends_with_the_prediction),
        SERVED(short_builds_wait_for_nobody),
        SERVED(lease_is_renewed),
        SERVED(lost_lease_is_not_given_back),
        SERVED(hostile_answers_are_misses),
        SERVED(wrong_stores_are_refused),
#ifdef HULL_HIREDIS_SSL
        SERVED(tls_is_checked),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
