/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_cache.c - the cache folder: keys, hits and misses, damage, collisions,
 * eviction, several processes at once, folders that refuse.
 */
#include "cache_unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

/* Bytes [off, off+1) of entry i become another value. */
static void damage(int i, off_t off)
{
    char path[256], byte;
    int fd;

    path_of(path, i);
    fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, off), 1);
    byte = (char)(byte ^ 0x10);
    assert_int_equal(pwrite(fd, &byte, 1, off), 1);
    close(fd);
}

/* ---- keys ---------------------------------------------------------------- */

static digest key_digest(const char *backend, const char *target,
                         const options *o, const char *text)
{
    cache_key k;
    digest d;

    assert_int_equal(cache_key_make(&k, str_of(backend), str_of(target), o,
                                    str_of(text)), HULL_OK);
    d = k.d;
    cache_key_fini(&k);
    return d;
}

static void each_field_is_in_the_key(void **state)
{
    digest d[5], again;
    options *o;

    (void)state;
    d[0] = key_digest("ref", "here", NULL, "text");
    d[1] = key_digest("sim", "here", NULL, "text");
    d[2] = key_digest("ref", "there", NULL, "text");
    d[3] = key_digest("ref", "here", NULL, "text ");
    assert_int_equal(options_new(&o), HULL_OK);
    again = key_digest("ref", "here", o, "text");
    assert_true(digest_eq(&again, &d[0]));
    assert_int_equal(hull_options_set(o, "threads", "3"), HULL_OK);
    again = key_digest("ref", "here", o, "text");
    assert_true(digest_eq(&again, &d[0]));
    assert_int_equal(hull_options_set(o, "tile", "9"), HULL_OK);
    d[4] = key_digest("ref", "here", o, "text");
    options_free(o);
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < i; k++)
            assert_false(digest_eq(&d[i], &d[k]));
}

static void preimage_is_text(void **state)
{
    cache_key k;
    digest d;

    (void)state;
    assert_int_equal(cache_key_make(&k, str_of("ref"), str_of("x y"), NULL,
                                    str_of("graph\n")), HULL_OK);
    assert_string_equal(k.preimage.p, "hull-key 1\nbackend ref\ntarget x y\n"
                                      "fuse=1\nwinograd=1\ntune=0\ntile=8\n\n"
                                      "graph\n");
    d = digest_of(k.preimage.p, k.preimage.n);
    assert_true(digest_eq(&d, &k.d));
    cache_key_fini(&k);
    /* A target cannot pass for an option. */
    assert_int_equal(cache_key_make(&k, str_of("ref"), str_of("x\nfuse=0"),
                                    NULL, str_of("")), HULL_EINVAL);
    assert_null(k.preimage.p);
}

/* ---- verbs --------------------------------------------------------------- */

static void miss_store_hit(void **state)
{
    cache *c = opened("0"), *other;
    cache_key k = key_number(1);
    struct stat s;
    char path[256];

    (void)state;
    assert_string_equal(cache_path(c), folder);
    assert_false(get_number(c, 1));
    assert_false(cache_has(c, CACHE_ENGINE, &k));
    cache_count_build(c);
    put_number(c, 1, 3000);
    assert_true(cache_has(c, CACHE_ENGINE, &k));
    assert_true(get_number(c, 1));
    assert_false(get_number(c, 2));
    cache_unref(c);
    path_of(path, 1);
    assert_int_equal(stat(path, &s), 0);
    other = opened("0"); /* another process, later */
    assert_true(get_number(other, 1));
    assert_int_equal(stat_of(other, "hits"), 2);
    assert_int_equal(stat_of(other, "misses"), 2);
    assert_int_equal(stat_of(other, "builds"), 1);
    assert_int_equal(stat_of(other, "stores"), 1);
    assert_int_equal(stat_of(other, "entries"), 1);
    assert_int_equal(stat_of(other, "bytes"), s.st_size);
    assert_int_equal(stat_of(other, "errors"), 0);
    cache_unref(other);
    cache_key_fini(&k);
    snprintf(path, sizeof path, "%s/CACHEDIR.TAG", folder);
    assert_int_equal(access(path, R_OK), 0);
}

/* Two tuned builds of one key: the first one stays. */
static void first_one_stored_wins(void **state)
{
    cache *c = opened("0");
    char path[256];
    struct stat s, t;

    (void)state;
    put_number(c, 1, 3000);
    path_of(path, 1);
    assert_int_equal(stat(path, &s), 0);
    put_number(c, 1, 4000);
    assert_int_equal(stat(path, &t), 0);
    assert_int_equal(s.st_ino, t.st_ino);
    assert_int_equal(stat_of(c, "stores"), 1);
    assert_int_equal(stat_of(c, "errors"), 0);
    cache_unref(c);
}

static void damaged_entry_is_a_miss_and_set_aside(void **state)
{
    cache *c = opened("0");
    char path[256];

    (void)state;
    put_number(c, 1, 3000);
    damage(1, 700);
    assert_false(get_number(c, 1));
    path_of(path, 1);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_false(get_number(c, 1));
    assert_int_equal(stat_of(c, "corrupt"), 1);
    assert_int_equal(stat_of(c, "misses"), 2);
    put_number(c, 1, 3000); /* heals */
    assert_true(get_number(c, 1));
    assert_int_equal(truncate(path, 100), 0);
    assert_false(get_number(c, 1));
    put_number(c, 1, 3000);
    assert_int_equal(truncate(path, 0), 0);
    assert_false(get_number(c, 1));
    assert_int_equal(stat_of(c, "corrupt"), 3);
    assert_int_equal(stat_of(c, "errors"), 0);
    cache_unref(c);
}

/* Every byte of an entry that another writer could have left behind. */
static void no_damage_goes_unnoticed(void **state)
{
    cache *c = opened("0");
    char path[256];
    struct stat s;

    (void)state;
    put_number(c, 1, 100);
    path_of(path, 1);
    assert_int_equal(stat(path, &s), 0);
    for (off_t i = 0; i < s.st_size; i++) {
        damage(1, i);
        assert_false(get_number(c, 1));
        put_number(c, 1, 100);
    }
    assert_true(get_number(c, 1));
    assert_int_equal(stat_of(c, "corrupt"), s.st_size);
    cache_unref(c);
}

static void another_preimage_is_a_collision(void **state)
{
    cache *c = opened("0");
    cache_key a = key_number(1), b = key_number(2);
    cache_entry e;
    bool hit = true;

    (void)state;
    put_number(c, 1, 100);
    b.d = a.d; /* as if BLAKE2b had collided */
    cache_get(&e, &hit, c, CACHE_ENGINE, &b);
    assert_false(hit);
    assert_int_equal(stat_of(c, "collisions"), 1);
    assert_int_equal(stat_of(c, "misses"), 1);
    assert_true(get_number(c, 1)); /* the entry stays */
    cache_key_fini(&a);
    cache_key_fini(&b);
    cache_unref(c);
}

static void a_hit_can_be_taken_back(void **state)
{
    cache *c = opened("0");
    cache_key k = key_number(1);
    cache_entry e;
    bool hit;

    (void)state;
    put_number(c, 1, 100);
    cache_get(&e, &hit, c, CACHE_ENGINE, &k);
    assert_true(hit);
    ignore(fail(HULL_EFORMAT, "not a program")); /* what engine_read says */
    cache_reject(c, &e, CACHE_ENGINE, &k);
    assert_null(e.c);
    assert_false(get_number(c, 1));
    assert_int_equal(stat_of(c, "corrupt"), 1);
    cache_key_fini(&k);
    cache_unref(c);
}

static void weights_do_not_enter(void **state)
{
    cache *c = opened("0");
    cache_key k = key_number(1);
    container_writer *w = entry_number(1, 10, "main");
    char path[256];

    (void)state;
    assert_int_equal(container_add(w, "slots", "1234", 4), HULL_OK);
    cache_put(c, CACHE_ENGINE, &k, w);
    assert_false(cache_has(c, CACHE_ENGINE, &k));
    assert_int_equal(stat_of(c, "errors"), 1);
    /* Somebody else put one there. */
    put_number(c, 1, 10);
    path_of(path, 1);
    assert_int_equal(container_write(w, path), HULL_OK);
    assert_false(get_number(c, 1));
    assert_int_equal(stat_of(c, "corrupt"), 1);
    container_writer_free(w);
    cache_key_fini(&k);
    cache_unref(c);
}

/* ---- eviction, verify, clear --------------------------------------------- */

static void used_at(int i, time_t t)
{
    struct timespec times[2] = {{t, 0}, {t, 0}};
    char path[256];

    path_of(path, i);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void least_recently_used_go(void **state)
{
    cache *c = opened("8KiB");

    (void)state;
    put_number(c, 1, 3000);
    put_number(c, 2, 3000);
    assert_int_equal(stat_of(c, "evicted"), 0);
    used_at(1, 1000);
    used_at(2, 2000);
    assert_true(get_number(c, 1)); /* now the newest */
    put_number(c, 3, 3000);
    assert_true(get_number(c, 1));
    assert_false(get_number(c, 2));
    assert_true(get_number(c, 3));
    assert_int_equal(stat_of(c, "evicted"), 1);
    assert_true(stat_of(c, "bytes") <= 8192);
    /* Damaged ones go before any good one. */
    damage(1, 300);
    assert_false(get_number(c, 1));
    put_number(c, 4, 3000);
    assert_true(get_number(c, 3));
    assert_true(get_number(c, 4));
    assert_int_equal(stat_of(c, "evicted"), 2);
    /* One that is larger than the limit is not stored, and costs no other. */
    put_number(c, 5, 20000);
    assert_false(get_number(c, 5));
    assert_int_equal(stat_of(c, "oversize"), 1);
    assert_int_equal(stat_of(c, "entries"), 2);
    assert_int_equal(stat_of(c, "errors"), 0);
    cache_unref(c);
}

static void verify_finds_the_bad(void **state)
{
    cache *c = opened("0");
    char path[256], other[256];
    uint64_t good, bad;

    (void)state;
    for (int i = 0; i < 6; i++)
        put_number(c, i, 500);
    damage(2, 300);
    path_of(path, 3);
    path_of(other, 4); /* entry 3 under the name of 4 */
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(hull_cache_verify(c, &good, &bad), HULL_OK);
    assert_int_equal(good, 3);
    assert_int_equal(bad, 2);
    assert_int_equal(hull_cache_verify(c, &good, &bad), HULL_OK);
    assert_int_equal(good, 3);
    assert_int_equal(bad, 0);
    assert_int_equal(stat_of(c, "corrupt"), 2);
    assert_int_equal(hull_cache_clear(c), HULL_OK);
    assert_int_equal(stat_of(c, "entries"), 0);
    assert_false(get_number(c, 1));
    cache_unref(c);
}

static hull_status count_item(void *user, const cache_item *item)
{
    cache_key k = key_number(7);

    if (digest_eq(&item->key, &k.d) && item->size > 500 && item->used_ns > 0)
        ++*(int *)user;
    cache_key_fini(&k);
    return HULL_OK;
}

static void list_gives_keys(void **state)
{
    cache *c = opened("0");
    int n = 0;

    (void)state;
    put_number(c, 7, 500);
    assert_int_equal(cache_list(c, count_item, &n), HULL_OK);
    assert_int_equal(n, 1);
    cache_unref(c);
}

static void make_file(const char *name, time_t age)
{
    struct timespec times[2] = {{time(NULL) - age, 0}, {time(NULL) - age, 0}};
    char path[256];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    close(open(path, O_CREAT | O_WRONLY, 0666));
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* A file in tmp/ that nobody has locked belongs to a dead process; what a
 * living one writes stays, and so does what is none of Hull's. */
static void dead_temp_files_go(void **state)
{
    cache *c = opened("0"), *other;
    char path[256];
    int fd;

    (void)state;
    put_number(c, 1, 100);
    make_file("v2/tmp/put-1-2-3", 0);
    make_file("v2/tmp/put-1-2-4", 9999);
    make_file("mine.tmp", 9999);
    snprintf(path, sizeof path, "%s/v2/tmp/put-1-2-4", folder);
    fd = open(path, O_RDWR);
    assert_true(disk_try_flock(fd));
    other = opened("0");
    assert_false(exists("v2/tmp/put-1-2-3"));
    assert_true(exists("v2/tmp/put-1-2-4"));
    assert_true(exists("mine.tmp"));
    cache_unref(other);
    close(fd);
    other = opened("0");
    assert_false(exists("v2/tmp/put-1-2-4"));
    assert_true(get_number(other, 1));
    cache_unref(other);
    cache_unref(c);
}

/* What of a file of counters is nonsense is skipped; a name of another version
 * stays. */
static void counters_survive_nonsense(void **state)
{
    cache *c = opened("0");
    file_part part = {"hits 41\nmisses -3\nwhat 7\n\0\nstores\n", 34};
    char path[256], *text;
    size_t n;

    (void)state;
    put_number(c, 1, 10);
    assert_true(get_number(c, 1));
    for (int i = 0; i < 16; i++) {
        snprintf(path, sizeof path, "%s/v2/stats/%x", folder, i);
        if (i == 0 || access(path, F_OK) == 0)
            assert_int_equal(file_write_atomic(path, &part, 1), HULL_OK);
    }
    assert_true(get_number(c, 1));
    assert_true(stat_of(c, "hits") % 41 == 1);
    assert_int_equal(stat_of(c, "misses"), 0);
    assert_int_equal(stat_of(c, "stores"), 0);
    for (int i = 0; i < 16; i++) {
        snprintf(path, sizeof path, "%s/v2/stats/%x", folder, i);
        if (access(path, F_OK) != 0)
            continue;
        assert_int_equal(file_read_all(&text, &n, path, 65536), HULL_OK);
        assert_non_null(strstr(text, "what "));
        mem_free(text);
    }
    cache_unref(c);
}

/* ---- several at once ----------------------------------------------------- */

#define WORKERS 4
#define ROUNDS 60

static void run_workers(void (*fn)(int worker))
{
    pid_t pids[WORKERS];
    int status;

    for (int i = 0; i < WORKERS; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0) {
            fn(i);
            _exit(0);
        }
    }
    for (int i = 0; i < WORKERS; i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

/* Gets ten keys in turns and stores what is missing. */
static void hammer(cache *c, int worker)
{
    for (int i = 0; i < ROUNDS; i++) {
        int k = (i * 7 + worker) % 10;

        if (!get_number(c, k)) {
            cache_count_build(c);
            put_number(c, k, 2000);
        }
    }
}

static void check_after_hammer(uint64_t gets)
{
    cache *c = opened("0");
    uint64_t good, bad;

    assert_int_equal(stat_of(c, "hits") + stat_of(c, "misses"), gets);
    assert_int_equal(stat_of(c, "builds"), stat_of(c, "misses"));
    assert_int_equal(stat_of(c, "stores"), 10);
    assert_int_equal(stat_of(c, "corrupt"), 0);
    assert_int_equal(stat_of(c, "errors"), 0);
    assert_int_equal(hull_cache_verify(c, &good, &bad), HULL_OK);
    assert_int_equal(good, 10);
    assert_int_equal(bad, 0);
    cache_unref(c);
}

static void hammer_alone(int worker)
{
    cache *c = opened("0");

    hammer(c, worker);
    cache_unref(c);
}

static void processes_share_a_folder(void **state)
{
    (void)state;
    run_workers(hammer_alone);
    check_after_hammer(WORKERS * ROUNDS);
}

typedef struct thread_arg {
    cache *c;
    int worker;
} thread_arg;

static void *hammer_thread(void *user)
{
    thread_arg *a = user;

    hammer(a->c, a->worker);
    return NULL;
}

static void threads_share_a_cache(void **state)
{
    pthread_t threads[WORKERS];
    thread_arg args[WORKERS];
    cache *c = opened("0");

    (void)state;
    for (int i = 0; i < WORKERS; i++) {
        args[i] = (thread_arg){c, i};
        assert_int_equal(pthread_create(&threads[i], NULL, hammer_thread,
                                        &args[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    cache_unref(c);
    check_after_hammer(WORKERS * ROUNDS);
}

/* One cold key, several processes: one build, the others wait and hit. */
static void build_or_wait(int worker)
{
    cache *c = opened("0");
    cache_build b = CACHE_BUILD_NONE;
    cache_key k = key_number(1);

    (void)worker;
    if (!cache_has(c, CACHE_ENGINE, &k))
        cache_build_begin(&b, c, &k, 1.0);
    if (!get_number(c, 1)) {
        cache_count_build(c);
        usleep(50000);
        put_number(c, 1, 2000);
    }
    cache_build_end(&b);
    cache_key_fini(&k);
    cache_unref(c);
}

static void one_process_builds(void **state)
{
    cache *c;

    (void)state;
    run_workers(build_or_wait);
    c = opened("0");
    assert_int_equal(stat_of(c, "builds"), 1);
    assert_int_equal(stat_of(c, "misses"), 1);
    assert_int_equal(stat_of(c, "hits"), WORKERS - 1);
    cache_unref(c);
}

/* The lock of a builder that was killed is free. */
static void killed_builder_is_no_obstacle(void **state)
{
    cache *c = opened("0");
    cache_build b = CACHE_BUILD_NONE;
    cache_key k = key_number(1);
    int pipe_fds[2], status;
    char byte;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe(pipe_fds), 0);
    pid = fork();
    if (pid == 0) {
        cache_build_begin(&b, c, &k, 1.0);
        ignore(write(pipe_fds[1], "x", 1) == 1 ? HULL_OK : HULL_EIO);
        pause();
        _exit(1);
    }
    assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    cache_build_begin(&b, c, &k, 1.0);
    assert_true(b.fd >= 0);
    cache_build_end(&b);
    cache_build_end(&b); /* a no-op */
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    cache_key_fini(&k);
    cache_unref(c);
}

/* ---- folders that refuse ------------------------------------------------- */

/* Something in the way of the shard folder: as a full disk would, it refuses
 * every store, and nothing fails. */
static void refused_store_is_counted(void **state)
{
    cache *c = opened("0");
    cache_key k = key_number(1);
    char name[8];

    (void)state;
    snprintf(name, sizeof name, "v2/%02x", k.d.b[0]);
    make_file(name, 0);
    assert_false(get_number(c, 1));
    put_number(c, 1, 100);
    assert_false(get_number(c, 1));
    assert_true(stat_of(c, "errors") >= 1);
    assert_int_equal(stat_of(c, "stores"), 0);
    assert_int_equal(stat_of(c, "misses"), 2);
    cache_key_fini(&k);
    cache_unref(c);
}

/* Root may write everywhere, so the folder itself goes away instead. */
static void vanished_folder_stops_nothing(void **state)
{
    cache *c = opened("0");
    uint64_t v;

    (void)state;
    put_number(c, 1, 100);
    assert_int_equal(remove_folder(NULL), 0);
    assert_false(get_number(c, 1));
    cache_count_build(c);
    /* Counters do not look at the entries, these two do. */
    assert_int_equal(hull_cache_stat(c, "hits", &v), HULL_OK);
    assert_int_equal(hull_cache_stat(c, "entries", &v), HULL_ENOTFOUND);
    assert_int_equal(hull_cache_stat(c, "bytes", &v), HULL_ENOTFOUND);
    cache_unref(c);
    assert_int_equal(mkdir(folder, 0700), 0);
}

static void open_says_why_not(void **state)
{
    char path[256];
    cache *c;

    (void)state;
    make_file("plain", 0);
    snprintf(path, sizeof path, "%s/plain/below", folder);
    assert_int_equal(cache_open(&c, path, NULL), HULL_EIO);
    assert_null(c);
    assert_non_null(strstr(error_text(), "plain"));
    assert_int_equal(cache_open(&c, "", NULL), HULL_EINVAL);
}

static void opens_the_default_folder(void **state)
{
    char path[256];
    cache *c;

    (void)state;
    unsetenv("HULL_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", folder, 1);
    snprintf(path, sizeof path, "%s/.cache/hull", folder);
    assert_int_equal(cache_open(&c, NULL, NULL), HULL_OK);
    assert_string_equal(cache_path(c), path);
    cache_unref(c);
    setenv("XDG_CACHE_HOME", "relative", 1);
    assert_int_equal(cache_open(&c, NULL, NULL), HULL_OK);
    assert_string_equal(cache_path(c), path);
    cache_unref(c);
    setenv("XDG_CACHE_HOME", folder, 1);
    snprintf(path, sizeof path, "%s/hull", folder);
    assert_int_equal(cache_open(&c, NULL, NULL), HULL_OK);
    assert_string_equal(cache_path(c), path);
    cache_unref(c);
    snprintf(path, sizeof path, "%s/mine", folder);
    setenv("HULL_CACHE_DIR", path, 1);
    assert_int_equal(cache_open(&c, NULL, NULL), HULL_OK);
    assert_string_equal(cache_path(c), path);
    cache_unref(c);
    unsetenv("HULL_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
}

static void public_functions_check_arguments(void **state)
{
    cache *c = opened("0");
    uint64_t v = 1, w = 1;

    (void)state;
    assert_int_equal(hull_cache_open(NULL, folder, NULL), HULL_EINVAL);
    assert_int_equal(hull_cache_stat(NULL, "hits", &v), HULL_EINVAL);
    assert_int_equal(hull_cache_stat(c, NULL, &v), HULL_EINVAL);
    assert_int_equal(hull_cache_stat(c, "hits", NULL), HULL_EINVAL);
    assert_int_equal(hull_cache_stat(c, "hit", &v), HULL_ENOTFOUND);
    assert_int_equal(v, 0);
    assert_int_equal(hull_cache_verify(c, &v, NULL), HULL_EINVAL);
    assert_int_equal(hull_cache_verify(NULL, &v, &w), HULL_EINVAL);
    assert_int_equal(hull_cache_clear(NULL), HULL_EINVAL);
    hull_cache_unref(NULL);
    hull_cache_unref(c);
}

/* No allocation that fails may do more than cost a hit. */
static void every_allocation_may_fail(void **state)
{
    cache *c = opened("0");
    int64_t live;

    (void)state;
    put_number(c, 1, 3000);
    assert_true(get_number(c, 1));
    live = mem_live();
    for (uint64_t n = 1; n < 60; n++) {
        cache_key k = key_number(1);
        cache_entry e;
        bool hit;

        mem_fail_at(n, false);
        cache_get(&e, &hit, c, CACHE_ENGINE, &k);
        mem_fail_at(0, false);
        cache_entry_close(&e);
        cache_key_fini(&k);
        assert_int_equal(mem_live(), live);
    }
    assert_true(get_number(c, 1));
    assert_int_equal(stat_of(c, "corrupt"), 0);
    for (uint64_t n = 1; n < 60; n++) {
        cache_key k = key_number(100 + (int)n);
        container_writer *w = entry_number(100 + (int)n, 100, "main");

        mem_fail_at(n, false);
        cache_put(c, CACHE_ENGINE, &k, w);
        mem_fail_at(0, false);
        container_writer_free(w);
        cache_key_fini(&k);
        assert_int_equal(mem_live(), live);
    }
    cache_unref(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_field_is_in_the_key),
        cmocka_unit_test(preimage_is_text),
        TEST(miss_store_hit),
        TEST(first_one_stored_wins),
        TEST(damaged_entry_is_a_miss_and_set_aside),
        TEST(no_damage_goes_unnoticed),
        TEST(another_preimage_is_a_collision),
        TEST(a_hit_can_be_taken_back),
        TEST(weights_do_not_enter),
        TEST(least_recently_used_go),
        TEST(verify_finds_the_bad),
        TEST(list_gives_keys),
        TEST(dead_temp_files_go),
        TEST(counters_survive_nonsense),
        TEST(processes_share_a_folder),
        TEST(threads_share_a_cache),
        TEST(one_process_builds),
        TEST(killed_builder_is_no_obstacle),
        TEST(refused_store_is_counted),
        TEST(vanished_folder_stops_nothing),
        TEST(open_says_why_not),
        TEST(opens_the_default_folder),
        TEST(public_functions_check_arguments),
        TEST(every_allocation_may_fail),
    };

    ignore(log_configure("all:error")); /* a word that it knows */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
