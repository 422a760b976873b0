/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_space.c - the room that a cache folder takes: usage is the truth, the
 * limit holds for all processes, what goes is what was used least recently and
 * nobody looks at all entries for it; and folders that are shared by a group,
 * read-only or full.
 */
#include "cache_unit.h"
#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>

/* What the file says; UINT64_MAX when it says nothing. */
static uint64_t said_bytes(cache *c)
{
    uint64_t n;
    space s;

    OK(space_lock(&s, c));
    n = s.counted ? s.u.bytes : UINT64_MAX;
    space_unlock(&s);
    return n;
}

#define TRUE_USAGE(c) assert_int_equal(said_bytes(c), true_bytes(c))

static void damage(int i)
{
    char path[256];

    path_of(path, i);
    assert_int_equal(truncate(path, 200), 0);
}

static void flip(int i)
{
    char path[256], byte;
    int fd;

    path_of(path, i);
    fd = open(path, O_RDWR);
    assert_int_equal(pread(fd, &byte, 1, 300), 1);
    byte = (char)(byte ^ 1);
    assert_int_equal(pwrite(fd, &byte, 1, 300), 1);
    close(fd);
}

static void notes(cache *c, const char *key, int n)
{
    buf b;

    buf_init(&b, NOTES_MAX);
    for (int i = 0; i < n; i++)
        buf_printf(&b, "line%d-of-%d %d\n", i, n, i * 7919);
    cache_notes_put(c, str_of(key), buf_view(&b));
    buf_fini(&b);
}

/* ---- usage --------------------------------------------------------------- */

static void usage_is_the_truth(void **state)
{
    cache *c = opened("0"), *limited;

    (void)state;
    for (int i = 0; i < 20; i++)
        put_number(c, i, 1000 + (size_t)i);
    TRUE_USAGE(c);
    put_number(c, 3, 900); /* is there */
    TRUE_USAGE(c);
    notes(c, "a", 3);
    notes(c, "a", 200); /* grows */
    TRUE_USAGE(c);
    damage(4);
    assert_false(get_number(c, 4)); /* what the truncation gave back stays
                                     * counted until the next count */
    assert_true(said_bytes(c) > true_bytes(c));
    OK(cache_trim(c));
    TRUE_USAGE(c);
    put_number(c, 4, 1004);
    damage(4);
    OK(cache_trim(c));
    assert_false(get_number(c, 4)); /* replaces the one in bad/ */
    TRUE_USAGE(c);
    limited = opened("8000");
    put_number(limited, 30, 1000);
    TRUE_USAGE(c);
    assert_in_range(true_bytes(c), 1000, 8000);
    assert_int_equal(stat_of(c, "stores"), 22);
    OK(cache_clear(c));
    assert_int_equal(true_bytes(c), 0);
    TRUE_USAGE(c);
    cache_unref(limited);
    cache_unref(c);
}

/* A line that is damaged, gone or from before the machine's start. */
static void bad_usage_is_counted_anew(void **state)
{
    const struct timespec old[2] = {{1000, 0}, {1000, 0}};
    cache *c = opened("6000");

    (void)state;
    for (int i = 0; i < 3; i++)
        put_number(c, i, 1000);
    assert_int_equal(stat_of(c, "scans"), 1); /* of the empty folder */
    file_in("v2/usage", "hull-usage 1 00000000000000000000 no\n");
    assert_int_equal(said_bytes(c), UINT64_MAX);
    put_number(c, 3, 1000);
    TRUE_USAGE(c);
    assert_int_equal(stat_of(c, "scans"), 2);
    assert_int_equal(unlink(path_in("v2/usage")), 0);
    put_number(c, 4, 1000);
    TRUE_USAGE(c);
    assert_int_equal(stat_of(c, "scans"), 3);
    assert_int_equal(utimensat(AT_FDCWD, path_in("v2/usage"), old, 0), 0);
    assert_int_equal(said_bytes(c), UINT64_MAX);
    put_number(c, 5, 1000);
    TRUE_USAGE(c);
    assert_int_equal(stat_of(c, "scans"), 4);
    assert_in_range(true_bytes(c), 1, 6000);
    cache_unref(c);
}

/* Every single bit of the line. */
static void no_bit_of_usage_lies(void **state)
{
    cache *c = opened("0");
    char text[200];
    int fd;
    ssize_t n;

    (void)state;
    put_number(c, 1, 1000);
    fd = open(path_in("v2/usage"), O_RDWR);
    n = pread(fd, text, sizeof text, 0);
    assert_in_range(n, 100, 199);
    for (ssize_t i = 0; i < n * 8; i++) {
        text[i / 8] = (char)(text[i / 8] ^ (1 << i % 8));
        assert_int_equal(pwrite(fd, text, (size_t)n, 0), n);
        assert_int_equal(said_bytes(c), UINT64_MAX);
        text[i / 8] = (char)(text[i / 8] ^ (1 << i % 8));
    }
    assert_int_equal(pwrite(fd, text, (size_t)n, 0), n);
    TRUE_USAGE(c);
    close(fd);
    cache_unref(c);
}

/* ---- who goes ------------------------------------------------------------ */

#define KEYS 60
#define ROUNDS 600
#define ROOM 20

/* A list of keys, the least recently used first. */
typedef struct order {
    int keys[KEYS], n;
} order;

static bool use(order *o, int key)
{
    int i = 0;

    while (i < o->n && o->keys[i] != key)
        i++;
    if (i == o->n)
        return false;
    memmove(&o->keys[i], &o->keys[i + 1], sizeof(int) * (size_t)(o->n - i - 1));
    o->keys[o->n - 1] = key;
    return true;
}

static void add(order *o, int key)
{
    if (o->n == ROOM)
        memmove(o->keys, &o->keys[1], sizeof(int) * (size_t)--o->n);
    o->keys[o->n++] = key;
}

/* Two handles, as two processes, against a list that knows the order. */
static void order_of_use_is_exact(void **state)
{
    cache *both[2], *c;
    char limit[32];
    order o = {.n = 0};
    uint32_t seed = 7;

    (void)state;
    c = opened("0");
    put_number(c, 0, 1000);
    snprintf(limit, sizeof limit, "%d", (int)true_bytes(c) * ROOM);
    OK(cache_clear(c));
    cache_unref(c);
    both[0] = opened(limit);
    both[1] = opened(limit);
    for (int i = 0; i < ROUNDS; i++) {
        int key;

        seed = seed * 1664525 + 1013904223;
        key = 100 + (int)(seed >> 8) % KEYS;
        c = both[seed >> 31];
        if (use(&o, key)) {
            assert_true(get_number(c, key));
            continue;
        }
        assert_false(get_number(c, key));
        put_number(c, key, 1000 - 2); /* its name has two digits more */
        add(&o, key);
    }
    assert_true(stat_of(both[0], "evicted") > 100);
    cache_unref(both[0]);
    cache_unref(both[1]);
}

/* Looking at what is there costs the same for 10 and 1000 entries: opening, a
 * hit, a store, and a store that makes room. */
static void count_calls(uint64_t out[4][3], int entries)
{
    char limit[32];
    cache *c = opened("0");

    for (int i = 0; i < entries; i++)
        put_number(c, 10 + i, 100);
    snprintf(limit, sizeof limit, "%d", (int)true_bytes(c));
    cache_unref(c);
    c = opened(limit);
    put_number(c, 0, 90); /* counts the folder and lists what goes */
    put_number(c, 1, 90);
    cache_unref(c);
    for (int step = 0; step < 4; step++) {
        fault_arm(0, FAULT_NONE);
        if (step == 0)
            c = opened(limit);
        else if (step == 1)
            assert_true(get_number(c, 1));
        else
            put_number(c, step, step == 2 ? 20 : 90);
        out[step][0] = fault_count(CALL_OPENDIR);
        out[step][1] = fault_count(CALL_FSTATAT);
        out[step][2] = fault_calls();
    }
    assert_true(stat_of(c, "evicted") >= 2);
    assert_int_equal(stat_of(c, "scans"), 2);
    cache_unref(c);
    assert_int_equal(remove_folder(NULL), 0);
    assert_int_equal(mkdir(folder, 0700), 0);
}

static void nothing_depends_on_the_count(void **state)
{
    uint64_t few[4][3], many[4][3];

    (void)state;
    count_calls(few, 10);
    count_calls(many, 1000);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(few[i][0], many[i][0]);
        assert_int_equal(few[i][1], many[i][1]);
        assert_in_range(many[i][2], 1, few[i][2] + 2); /* shards to make */
    }
    assert_int_equal(many[1][0], 0); /* a hit looks at no folder */
}

/* More evictions than a list holds: counted again, once for a list. */
static void a_list_lasts(void **state)
{
    cache *c = opened("0");
    const int n = 5000;
    char limit[32];

    (void)state;
    for (int i = 0; i < n; i++)
        put_number(c, i, 1);
    snprintf(limit, sizeof limit, "%d", (int)true_bytes(c));
    cache_unref(c);
    c = opened(limit);
    for (int i = 0; i < n; i++)
        put_number(c, n + i, 1);
    assert_in_range(stat_of(c, "evicted"), n - 100, n + 100);
    assert_in_range(stat_of(c, "scans"), 2, 4);
    assert_false(get_number(c, 0));
    assert_true(get_number(c, 2 * n - 1));
    cache_unref(c);
}

static void damaged_ones_go_first(void **state)
{
    cache *c = opened("0");
    char limit[32];

    (void)state;
    for (int i = 0; i < 6; i++)
        put_number(c, i, 1000);
    snprintf(limit, sizeof limit, "%d", (int)true_bytes(c));
    cache_unref(c);
    c = opened(limit);
    put_number(c, 6, 900); /* 0 goes; there is a list now */
    assert_false(get_number(c, 0));
    flip(5);
    assert_false(get_number(c, 5)); /* aside, after the list was made */
    put_number(c, 7, 100);
    for (int i = 1; i < 5; i++)
        assert_true(get_number(c, i));
    cache_unref(c);
}

/* ---- several processes --------------------------------------------------- */

#define WORKERS 6

static void hammer(int worker, const char *limit)
{
    cache *c = opened(limit);
    char path[256];

    for (int i = 0; i < 150; i++) {
        int key = (i * 7 + worker * 13) % 50;

        if (!get_number(c, key))
            put_number(c, key, 500 + (size_t)key * 40);
        if (i % 10 == 0)
            notes(c, key % 2 ? "a" : "b", i % 40 + 1);
        path_of(path, key);
        if (i % 25 == 3 && truncate(path, 200) != 0)
            assert_int_equal(errno, ENOENT); /* another one removed it */
    }
    cache_unref(c);
}

/* Watched all the time: never more than the limit, not even by one entry. */
static void limit_holds_for_all(void **state)
{
    pid_t pids[WORKERS];
    uint64_t most = 0;
    int left = WORKERS, status;
    cache *c = opened("20000");

    (void)state;
    for (int i = 0; i < WORKERS; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            hammer(i, "20000");
            _exit(0);
        }
    }
    while (left > 0) {
        space s;

        OK(space_lock(&s, c)); /* so that no file has two names */
        if (true_bytes(c) > most)
            most = true_bytes(c);
        space_unlock(&s);
        for (int i = 0; i < WORKERS; i++)
            if (pids[i] > 0 && waitpid(pids[i], &status, WNOHANG) > 0) {
                assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
                pids[i] = 0;
                left--;
            }
        usleep(1000);
    }
    assert_in_range(most, 10000, 20000);
    assert_in_range(said_bytes(c), true_bytes(c), 20000);
    assert_int_equal(stat_of(c, "errors"), 0);
    OK(cache_trim(c));
    TRUE_USAGE(c);
    cache_unref(c);
}

/* ---- folders of others --------------------------------------------------- */

static void group_may_do_what_it_may_in_root(void **state)
{
    const char *made[] = {"v2", "v2/tmp", "v2/locks", "v2/stats", "v2/bad"};
    cache_build b = CACHE_BUILD_NONE;
    cache_key k = key_number(1);
    mode_t mask = umask(077);
    gid_t group = geteuid() == 0 ? 12345 : getegid();
    char path[256];
    struct stat s;
    cache *c;

    (void)state;
    assert_int_equal(chown(folder, (uid_t)-1, group), 0);
    assert_int_equal(chmod(folder, 02770), 0);
    c = opened("0");
    cache_build_begin(&b, c, &k, 1.0);
    assert_int_equal(stat(b.path, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0660);
    cache_build_end(&b);
    put_number(c, 1, 100);
    damage(1);
    assert_false(get_number(c, 1));
    put_number(c, 1, 100);
    for (size_t i = 0; i < COUNT_OF(made); i++) {
        assert_int_equal(stat(path_in(made[i]), &s), 0);
        assert_int_equal(s.st_mode & 07777, 02770);
        assert_int_equal(s.st_gid, group);
    }
    path_of(path, 1);
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0660);
    assert_int_equal(s.st_gid, group);
    assert_int_equal(stat(path_in("v2/usage"), &s), 0);
    assert_int_equal(s.st_mode & 0777, 0660);
    umask(mask);
    cache_unref(c);
    cache_key_fini(&k);
}

/* In a child whose rights or mounts are its own. */
static void in_child(bool (*prepare)(void), void (*work)(void))
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        if (!prepare())
            _exit(77);
        work();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("neither another user nor a mount can be had here\n");
        skip();
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#define WANT(x)                                                  \
    do {                                                         \
        if (!(x)) {                                              \
            print_error("%s:%d: %s\n", __FILE__, __LINE__, #x);  \
            _exit(1);                                            \
        }                                                        \
    } while (0)

static bool become_nobody(void)
{
    return geteuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0);
}

static bool remount_read_only(void)
{
    return geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
           mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount(folder, folder, NULL, MS_BIND, NULL) == 0 &&
           mount(NULL, folder, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY,
                 NULL) == 0;
}

/* Hits, a miss, a store that is none, a damaged entry that stays. */
static void read_only_work(void)
{
    cache *c = opened("0");
    cache_build b;
    cache_key k = key_number(9);
    uint64_t v;

    WANT(get_number(c, 1));
    WANT(!get_number(c, 2));
    WANT(!get_number(c, 3));
    cache_build_begin(&b, c, &k, 1.0);
    WANT(b.fd < 0);
    cache_build_end(&b);
    put_number(c, 3, 100);
    put_number(c, 4, 100);
    WANT(!get_number(c, 3));
    WANT(hull_cache_stat_process(c, "errors", &v) == HULL_OK && v == 1);
    WANT(hull_cache_stat_process(c, "hits", &v) == HULL_OK && v == 1);
    WANT(hull_cache_stat_process(c, "misses", &v) == HULL_OK && v == 3);
    WANT(hull_cache_stat(c, "corrupt", &v) == HULL_OK && v == 1);
    cache_key_fini(&k);
    cache_unref(c);
}

static void read_only(bool (*prepare)(void))
{
    cache *c = opened("0");
    char command[200];
    uint64_t before;

    put_number(c, 1, 100);
    put_number(c, 2, 100);
    damage(2);
    before = true_bytes(c);
    snprintf(command, sizeof command, "chmod -R a+rX '%s'", folder);
    assert_int_equal(system(command), 0);
    if (geteuid() != 0)
        assert_int_equal(chmod(path_in("v2"), 0555), 0);
    in_child(prepare, read_only_work);
    assert_int_equal(true_bytes(c), before);
    assert_int_equal(stat_of(c, "hits"), 0); /* nobody could say so */
    chmod(path_in("v2"), 0700);
    cache_unref(c);
}

static void folder_of_another_user(void **state)
{
    (void)state;
    read_only(become_nobody);
}

static void folder_on_a_read_only_mount(void **state)
{
    (void)state;
    read_only(remount_read_only);
}

static bool mount_small(void)
{
    return geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
           mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", folder, "tmpfs", 0, "size=64k") == 0;
}

/* Until nothing fits; what is there stays good, and when room comes back so do
 * the stores. */
static void fill_the_disk(void)
{
    cache *c = opened("0");
    uint64_t stored, v, good, bad;

    for (int i = 0; i < 30; i++)
        put_number(c, i, 3000);
    WANT(hull_cache_stat_process(c, "stores", &stored) == HULL_OK);
    WANT(stored > 2 && stored < 16);
    WANT(hull_cache_stat_process(c, "errors", &v) == HULL_OK);
    WANT(v == 30 - stored);
    WANT(hull_cache_verify(c, &good, &bad) == HULL_OK);
    WANT(good == stored && bad == 0);
    for (int i = 0; i < (int)stored; i++)
        WANT(get_number(c, i));
    OK(cache_clear(c));
    put_number(c, 50, 3000);
    WANT(get_number(c, 50));
    cache_unref(c);
}

static void full_disk_costs_hits_only(void **state)
{
    (void)state;
    in_child(mount_small, fill_the_disk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(usage_is_the_truth),
        TEST(bad_usage_is_counted_anew),
        TEST(no_bit_of_usage_lies),
        TEST(order_of_use_is_exact),
        TEST(nothing_depends_on_the_count),
        TEST(a_list_lasts),
        TEST(damaged_ones_go_first),
        TEST(limit_holds_for_all),
        TEST(group_may_do_what_it_may_in_root),
        TEST(folder_of_another_user),
        TEST(folder_on_a_read_only_mount),
        TEST(full_disk_costs_hits_only),
    };

    ignore(log_configure("all:error")); /* a word that it knows */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
