/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_remote_http.c - stores over HTTP: nginx with DAV, and a server that
 * misbehaves in every way that we could think of. Whatever it does, a look-up
 * is a counted miss within its time, and the log holds no secret.
 */
#include "servers.h"

#include "cache/tier.h"

static const char *url(const char *path)
{
    static char text[4][256];
    static unsigned turn;
    char *out = text[turn++ % 4];

    snprintf(out, 256, "http://127.0.0.1:%d/%s", served.port, path);
    return out;
}

static cache *remote_cache(const char *name, const char *path)
{
    return open_cache(name, "cache_remote", url(path), "cache_memory", "0");
}

static uint64_t elapsed_ms(uint64_t start)
{
    return (time_ns() - start) / 1000000;
}

/* ---- nginx --------------------------------------------------------------- */

static void check_layout(const char *folders, const char *layout)
{
    char name[DIGEST_HEX_SIZE], path[200], store[100], other[20];
    cache_key k = key_number(1);
    cache *a, *b;

    snprintf(store, sizeof store, "%s|layout=%s", layout, layout);
    a = remote_cache(layout, store);
    snprintf(other, sizeof other, "%s_b", layout);
    b = remote_cache(other, store);
    assert_false(get_number(a, 1));
    put_number(a, 1, 30000);
    put_number(a, 1, 30000); /* the folder has it */
    assert_true(get_number(b, 1));
    expect_stats(a, "misses", 1, "misses_remote", 1, "stores", 1,
                 "remote_stores", 1);
    expect_stats(b, "hits", 1, "hits_remote", 1);
    assert_true(stat_of(b, "bytes_received") > 30000);
    remote_name(name, CACHE_ENGINE, &k.d);
    if (strcmp(layout, "subdirs") == 0)
        snprintf(path, sizeof path, "www/%s/%.2s/%s", folders, name, name + 2);
    else
        snprintf(path, sizeof path, "www/%s/%s", folders, name);
    assert_int_equal(access(path_in(path), R_OK), 0);
    cache_unref(a);
    cache_unref(b);
    cache_key_fini(&k);
}

static void entries_go_around(void **state)
{
    (void)state;
    serve_nginx();
    check_layout("subdirs", "subdirs");
    check_layout("flat", "flat");
    check_layout("bazel/ac", "bazel");
}

/* Two machines built the same: the first one's stays. A bad one does not. */
static void first_one_stays_unless_bad(void **state)
{
    char name[DIGEST_HEX_SIZE], path[200];
    cache_key k = key_number(1);
    cache *a, *b, *c;
    struct stat s, t;

    (void)state;
    serve_nginx();
    a = remote_cache("a", "x|layout=flat");
    b = remote_cache("b", "x|layout=flat");
    c = remote_cache("c", "x|layout=flat");
    remote_name(name, CACHE_ENGINE, &k.d);
    snprintf(path, sizeof path, "www/x/%s", name);
    put_number(a, 1, 3000);
    assert_int_equal(stat(path_in(path), &s), 0);
    put_number(b, 1, 4000);
    assert_int_equal(stat(path_in(path), &t), 0);
    assert_int_equal(s.st_ino, t.st_ino);
    expect_stats(b, "stores", 1);
    assert_int_equal(truncate(path_in(path), 500), 0);
    assert_false(get_number(c, 1));
    put_number(c, 1, 5000);
    assert_int_equal(stat(path_in(path), &t), 0);
    assert_true(t.st_size > 5000);
    expect_stats(c, "misses", 1, "remote_corrupt", 1, "stores", 1,
                 "remote_stores", 1);
    cache_key_fini(&k);
    cache_unref(a);
    cache_unref(b);
    cache_unref(c);
}

static void read_only_store_gets_nothing(void **state)
{
    cache *c;

    (void)state;
    serve_nginx();
    c = remote_cache("a", "x|read-only");
    put_number(c, 1, 100);
    assert_false(get_number(c, 2));
    expect_stats(c, "misses", 1, "misses_remote", 1, "stores", 1);
    assert_int_not_equal(access(path_in("www/x"), F_OK), 0);
    cache_unref(c);
}

static void credentials_are_sent(void **state)
{
    char store[300];
    cache *a, *b, *c;

    (void)state;
    serve_nginx();
    file_in("good", "t0ken\n");
    snprintf(store, sizeof store, "%s|token-file=%s", url("token"),
             path_in("good"));
    a = open_cache("a", "cache_remote", store);
    put_number(a, 1, 100);
    expect_stats(a, "stores", 1, "remote_stores", 1, "misses_remote", 0);
    /* Exchanged while the cache is open. */
    file_in("good", "t0ken-of-yesterday");
    put_number(a, 2, 100);
    assert_int_equal(stat_of(a, "remote_errors"), 1);
    file_in("good", "t0ken");
    put_number(a, 3, 100);
    assert_int_equal(stat_of(a, "remote_stores"), 2);
    cache_unref(a);

    snprintf(store, sizeof store, "http://u:p@127.0.0.1:%d/basic", served.port);
    b = open_cache("b", "cache_remote", store);
    put_number(b, 1, 100);
    expect_stats(b, "stores", 1, "remote_stores", 1);
    snprintf(store, sizeof store, "http://u:s3cret@127.0.0.1:%d/basic",
             served.port);
    c = open_cache("c", "cache_remote", store);
    assert_false(get_number(c, 1));
    expect_stats(c, "misses", 1, "remote_errors", 1);
    cache_unref(b);
    cache_unref(c);
}

static void redirects_are_followed(void **state)
{
    cache *a, *b;

    (void)state;
    serve_nginx();
    a = remote_cache("a", "moved/x");
    b = remote_cache("b", "x");
    put_number(a, 1, 3000);
    assert_true(get_number(b, 1));
    OK(hull_cache_clear(a));
    assert_true(get_number(a, 1));
    expect_stats(a, "hits", 1, "hits_remote", 1, "stores", 1,
                 "remote_stores", 1);
    cache_unref(a);
    cache_unref(b);
}

/* A certificate that nobody vouches for is no store, nor is one of another
 * host; with `cacert` it is one. From there no redirect leads to a server
 * without TLS. */
static void tls_is_checked(void **state)
{
    static const char *const paths[] = {"x", "x", "moved/x", "plain/x", "x"};
    char at[COUNT_OF(paths)][300];
    cache *a, *b, *c, *d, *e;

    (void)state;
    NEED("nginx");
    NEED("openssl");
    served = start_nginx_tls();
    for (size_t i = 0; i < COUNT_OF(paths); i++)
        snprintf(at[i], sizeof at[i], "https://%s:%d/%s%s%s",
                 i == 4 ? "localhost" : "127.0.0.1", served.second_port,
                 paths[i], i == 0 ? "" : "|cacert=",
                 i == 0 ? "" : path_in("cert.pem"));
    a = open_cache("a", "cache_remote", at[1], "cache_memory", "0");
    put_number(a, 1, 3000);
    expect_stats(a, "stores", 1, "remote_stores", 1);
    b = open_cache("b", "cache_remote", at[0], "cache_memory", "0");
    assert_false(get_number(b, 1));
    expect_stats(b, "misses", 1, "remote_errors", 1);
    c = open_cache("c", "cache_remote", at[2], "cache_memory", "0");
    assert_true(get_number(c, 1));
    expect_stats(c, "hits", 1, "hits_remote", 1);
    d = open_cache("d", "cache_remote", at[3], "cache_memory", "0");
    assert_false(get_number(d, 1));
    expect_stats(d, "misses", 1, "remote_errors", 1);
    e = open_cache("e", "cache_remote", at[4], "cache_memory", "0");
    assert_false(get_number(e, 1));
    expect_stats(e, "misses", 1, "remote_errors", 1);
    cache_unref(a);
    cache_unref(b);
    cache_unref(c);
    cache_unref(d);
    cache_unref(e);
}

/* Each call tries three times; three calls in a row, and no more are made,
 * by whichever cache of the process. */
static void broken_store_is_left_alone(void **state)
{
    cache *a, *b;
    size_t n, lines = 0;
    char *text;

    (void)state;
    serve_nginx();
    a = remote_cache("a", "broken");
    for (int i = 0; i < 5; i++)
        assert_false(get_number(a, i));
    expect_stats(a, "misses", 5, "remote_errors", 3, "tier_disabled", 1);
    b = remote_cache("b", "broken");
    assert_false(get_number(b, 1));
    put_number(b, 1, 100);
    expect_stats(b, "misses", 1, "stores", 1);
    for (int i = 0; i < 200 && lines < 9; i++) { /* written after an answer */
        usleep(10000);
        OK(file_read_all(&text, &n, path_in("access.log"), 1 << 20));
        lines = 0;
        for (size_t k = 0; k < n; k++)
            lines += text[k] == '\n';
        mem_free(text);
    }
    assert_int_equal(lines, 9);
    cache_unref(a);
    cache_unref(b);
}

/* Nobody listens, and no such host. */
static void absent_servers_are_misses(void **state)
{
    server none = {.port = free_port()};
    cache *a, *b;

    (void)state;
    served = none;
    a = remote_cache("a", "x");
    for (int i = 0; i < 4; i++)
        assert_false(get_number(a, 1));
    expect_stats(a, "misses", 4, "remote_errors", 3, "tier_disabled", 1);
    b = open_cache("b", "cache_remote", "http://no-such-host.invalid/x");
    assert_false(get_number(b, 1));
    assert_int_equal(stat_of(b, "remote_errors"), 1);
    cache_unref(a);
    cache_unref(b);
}

static void own_memory_is_not_the_stores(void **state)
{
    (void)state;
    serve_nginx();
    check_own_memory(remote_cache("a", "x"),
                     remote_cache("b", "x|read-only"));
}

static void threads_share_a_store(void **state)
{
    cache *a, *b;

    (void)state;
    serve_nginx();
    a = remote_cache("a", "x");
    b = remote_cache("b", "x");
    share_by_threads(a, b, 20, 5000);
    assert_int_equal(stat_of(a, "remote_errors") +
                     stat_of(b, "remote_errors"), 0);
    assert_int_equal(stat_of(a, "remote_corrupt") +
                     stat_of(b, "remote_corrupt"), 0);
    assert_int_equal(stat_of(a, "hits") + stat_of(a, "misses"), 40);
    cache_unref(a);
    cache_unref(b);
}

/* A child has the parent's connections open, and uses none of them. */
static void forks_share_a_store(void **state)
{
    int status;
    cache *c;
    pid_t pid;

    (void)state;
    serve_nginx();
    c = remote_cache("a", "x");
    put_number(c, 1, 3000);
    put_number(c, 2, 3000);
    OK(hull_cache_clear(c));
    pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 20; i++)
            if (hull_cache_clear(c) != HULL_OK || !get_number(c, 1))
                _exit(1);
        _exit(0);
    }
    for (int i = 0; i < 20; i++)
        assert_true(get_number(c, 2));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(stat_of(c, "remote_errors"), 0);
    cache_unref(c);
}

/* ---- the server that misbehaves ------------------------------------------ */

/* Short where a call is to end for time, else long enough for any machine. */
#define LIMITS "|timeout=60000|connect-timeout=60000|max-size=64KiB|layout=flat"
#define SHORT "|timeout=300|connect-timeout=300|max-size=64KiB|layout=flat"
#define PATIENCE_MS 50000

typedef struct outcome {
    const char *mode;
    bool hit;
    int errors, timeouts, corrupt, misses;
    int requests; /* 0: any number */
} outcome;

static void check_outcome(const outcome *o)
{
    char path[100], line[100];
    uint64_t start;
    cache *a, *b;

    snprintf(path, sizeof path, "good" LIMITS);
    a = remote_cache(o->mode, path);
    put_number(a, 1, 3000);
    snprintf(path, sizeof path, "%s%s", o->mode,
             o->timeouts > 0 ? SHORT : LIMITS);
    snprintf(line, sizeof line, "%s_b", o->mode);
    b = remote_cache(line, path);
    start = time_ns();
    if (get_number(b, 1) != o->hit)
        print_error("mode '%s' is a %s\n", o->mode, o->hit ? "miss" : "hit");
    assert_true(elapsed_ms(start) < PATIENCE_MS);
    expect_stats(b, "hits", o->hit, "hits_remote", o->hit, "misses", !o->hit,
                 "remote_errors", o->errors, "remote_timeouts", o->timeouts,
                 "remote_corrupt", o->corrupt, "misses_remote", o->misses,
                 "tier_disabled", o->timeouts);
    if (!o->hit) { /* the build goes on */
        put_number(b, 1, 3000);
        assert_true(get_number(b, 1));
    }
    snprintf(line, sizeof line, "GET /%s/", o->mode);
    if (o->requests > 0)
        assert_int_equal(logged(line), o->requests);
    cache_unref(a);
    cache_unref(b);
}

static void hostile_answers_are_misses(void **state)
{
    static const outcome outcomes[] = {
        /* mode, hit, errors, timeouts, corrupt, misses, requests */
        {"good", true, 0, 0, 0, 0, 1},
        {"cut", false, 1, 0, 0, 0, 3},
        {"short", false, 0, 0, 1, 0, 1},
        {"longer", false, 0, 0, 1, 0, 1},
        {"lies", false, 0, 0, 1, 0, 1},
        {"huge", false, 1, 0, 0, 0, 1},
        {"endless", false, 1, 0, 0, 0, 1},
        {"garbage", false, 0, 0, 1, 0, 1},
        {"nohttp", false, 1, 0, 0, 0, 0},
        {"empty", false, 0, 0, 1, 0, 1},
        {"loop", false, 1, 0, 0, 0, 4},
        {"file", false, 1, 0, 0, 0, 1},
        {"user", false, 1, 0, 0, 0, 1},
        {"near", true, 0, 0, 0, 0, 1},
        {"far", true, 0, 0, 0, 0, 1},
        {"silent", false, 1, 1, 0, 0, 1},
        {"slow", false, 1, 1, 0, 0, 1},
        {"hang", false, 1, 1, 0, 0, 1},
        {"steady", false, 1, 1, 0, 0, 1}, /* fast enough, without end */
        {"error", false, 1, 0, 0, 0, 3},
        {"busy", true, 0, 0, 0, 0, 3},
        {"drop", true, 0, 0, 0, 0, 2},
        {"denied", false, 1, 0, 0, 0, 1},
        {"flood", false, 1, 0, 0, 0, 1},
        {"absent", false, 0, 0, 0, 1, 1},
    };

    (void)state;
    serve_hostile();
    for (size_t i = 0; i < COUNT_OF(outcomes); i++)
        check_outcome(&outcomes[i]);
}

/* Headers without end: libcurl's own bound, or the time. */
static void headers_have_an_end(void **state)
{
    static const char *const modes[] = {"headers", "early"};

    (void)state;
    serve_hostile();
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        char path[100];
        uint64_t start = time_ns();
        cache *c;

        snprintf(path, sizeof path, "%s" SHORT, modes[i]);
        c = remote_cache(modes[i], path);
        assert_false(get_number(c, 1));
        assert_true(elapsed_ms(start) < PATIENCE_MS);
        assert_int_equal(stat_of(c, "remote_errors"), 1);
        cache_unref(c);
    }
}

/* A PUT that is redirected to a GET would lose its body. */
static void writes_are_not_turned_into_reads(void **state)
{
    cache *c;

    (void)state;
    serve_hostile();
    c = remote_cache("a", "putmoved" LIMITS);
    put_number(c, 1, 100);
    expect_stats(c, "stores", 1, "misses_remote", 0, "remote_errors", 1);
    assert_int_equal(logged("PUT /putmoved/"), 1);
    assert_int_equal(logged("/good/x"), 0);
    cache_unref(c);
}

/* Another host gets neither the credentials nor our headers. */
static void secrets_stay_at_the_origin(void **state)
{
    char store[300];
    cache *a, *b;

    (void)state;
    serve_hostile();
    a = remote_cache("a", "good" LIMITS);
    put_number(a, 1, 100);
    file_in("token", "t0ken");
    snprintf(store, sizeof store, "%s|header=X-Key:%%20s3cret|token-file=%s",
             url("near" LIMITS), path_in("token"));
    b = open_cache("b", "cache_remote", store);
    assert_true(get_number(b, 1));
    assert_int_equal(logged("Bearer t0ken s3cret"), 2); /* near, then good */
    cache_unref(b);
    snprintf(store, sizeof store, "%s|header=X-Key:%%20s3cret|token-file=%s",
             url("far" LIMITS), path_in("token"));
    b = open_cache("c", "cache_remote", store);
    assert_true(get_number(b, 1));
    assert_int_equal(logged("Bearer t0ken s3cret"), 3); /* and far */
    assert_int_equal(logged(" - -\n"), 3); /* has, put, the other host */
    cache_unref(a);
    cache_unref(b);
}

static void rejected_entry_is_deleted(void **state)
{
    cache_key k = key_number(1);
    cache_entry e;
    cache *a, *b;
    bool hit;

    (void)state;
    serve_hostile();
    a = remote_cache("a", "good" LIMITS);
    b = remote_cache("b", "good" LIMITS);
    put_number(a, 1, 100);
    cache_get(&e, &hit, b, CACHE_ENGINE, &k);
    assert_true(hit);
    ignore(fail(HULL_EFORMAT, "not a program"));
    cache_reject(b, &e, CACHE_ENGINE, &k);
    assert_int_equal(logged("DELETE /good/"), 1);
    assert_false(get_number(b, 1));
    expect_stats(b, "hits", 1, "hits_remote", 1, "misses", 2,
                 "misses_remote", 1, "corrupt", 1);
    cache_key_fini(&k);
    cache_unref(a);
    cache_unref(b);
}

/* http_proxy is the program's environment, not ours. */
static void environment_names_no_proxy(void **state)
{
    cache *a;

    (void)state;
    serve_hostile();
    setenv("http_proxy", "http://127.0.0.1:1/", 1);
    setenv("ALL_PROXY", "http://127.0.0.1:1/", 1);
    a = remote_cache("a", "good" LIMITS);
    put_number(a, 1, 100);
    expect_stats(a, "stores", 1, "remote_stores", 1, "misses_remote", 0);
    cache_unref(a);
    unsetenv("http_proxy");
    unsetenv("ALL_PROXY");
    a = open_cache("b", "cache_remote",
                   "http://elsewhere.invalid/good|proxy=http://127.0.0.1:1");
    assert_false(get_number(a, 1));
    assert_int_equal(stat_of(a, "remote_errors"), 1);
    cache_unref(a);
}

static void wrong_stores_are_refused(void **state)
{
    static const char *const bad[] = {
        "http://", "http:///x", "http://h|ttl=3", "https://",
        "http://u:s3cret@h|token-file=/x"};
    cache *c;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(try_open(&c, "a", "cache_remote", bad[i], NULL),
                         HULL_EINVAL);
        assert_null(c);
        assert_null(strstr(error_text(), "s3cret"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVED(entries_go_around),
        SERVED(first_one_stays_unless_bad),
        SERVED(read_only_store_gets_nothing),
        SERVED(credentials_are_sent),
        SERVED(redirects_are_followed),
        SERVED(tls_is_checked),
        SERVED(broken_store_is_left_alone),
        SERVED(absent_servers_are_misses),
        SERVED(own_memory_is_not_the_stores),
        SERVED(threads_share_a_store),
        SERVED(forks_share_a_store),
        SERVED(hostile_answers_are_misses),
        SERVED(headers_have_an_end),
        SERVED(writes_are_not_turned_into_reads),
        SERVED(secrets_stay_at_the_origin),
        SERVED(rejected_entry_is_deleted),
        SERVED(environment_names_no_proxy),
        SERVED(wrong_stores_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
