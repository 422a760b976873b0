/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_cache_faults.c - each n-th system call of stores, hits, evictions and
 * merges fails, or is the process's last one: whatever happens, the next
 * reader sees whole entries or none, the folder keeps its limit, and usage is
 * not below the truth.
 */
#include "cache_unit.h"
#include "cache/nearest.h"
#include "fault.h"

#include <signal.h>
#include <sys/wait.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STEP 7 /* forks are slow there */
#else
#define STEP 1
#endif
#define LIMIT 9000
#define ENTRY 1300 /* and its key */
#define ENTRY_MOST 2500

/* ---- the truth ----------------------------------------------------------- */

static void check_folder(cache *c, uint64_t most)
{
    uint64_t truth = true_bytes(c);
    space s;

    assert_in_range(truth, 0, most);
    OK(space_lock(&s, c));
    if (s.counted)
        assert_in_range(s.u.bytes, truth, UINT64_MAX / 2);
    space_unlock(&s);
}

/* ---- what is done -------------------------------------------------------- */

static void damage(int i)
{
    char path[256];

    path_of(path, i);
    assert_int_equal(truncate(path, 700), 0);
}

/* A folder that is nearly full, with a damaged entry set aside and another one
 * that nobody knows of yet, and notes. */
static void fill(void)
{
    cache *c = opened("9000");

    for (int i = 1; i <= 5; i++)
        put_number(c, i, ENTRY);
    damage(1);
    assert_false(get_number(c, 1));
    damage(2);
    cache_notes_put(c, str_of("key"), str_of("a 1\n"));
    cache_unref(c);
}

static void work(void)
{
    cache *c = opened("9000");

    put_number(c, 6, ENTRY); /* the damaged one makes room */
    get_number(c, 2);        /* set aside */
    get_number(c, 3);
    cache_notes_put(c, str_of("key"), str_of("b 2\n"));
    put_number(c, 7, ENTRY);
    put_number(c, 8, ENTRY);
    get_number(c, 8);
    cache_unref(c);
}

/* In a child; false when the n-th call did not come. */
static bool with_fault(uint64_t n, fault_how how)
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        bool met;

        fault_arm(n, how);
        work();
        met = fault_calls() >= n;
        fault_arm(0, FAULT_NONE);
        _exit(met);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status)) {
        assert_int_equal(WTERMSIG(status), SIGKILL);
        return true;
    }
    assert_in_range(WEXITSTATUS(status), 0, 1);
    return WEXITSTATUS(status) == 1;
}

/* Everything that is left is good, and the work can be done. The damaged entry
 * that the fault kept from being set aside is no news. */
static void check_after(void)
{
    uint64_t good, bad;
    cache *c = opened("9000");
    buf notes;

    check_folder(c, LIMIT + ENTRY_MOST);
    get_number(c, 2);
    OK(hull_cache_verify(c, &good, &bad));
    assert_int_equal(bad, 0);
    put_number(c, 8, ENTRY);
    assert_true(get_number(c, 8));
    put_number(c, 9, ENTRY);
    assert_true(get_number(c, 9));
    cache_notes_put(c, str_of("key"), str_of("c 3\n"));
    buf_init(&notes, NOTES_MAX);
    cache_notes_get(c, str_of("key"), &notes);
    assert_true(str_contains(buf_view(&notes), "c 3\n"));
    buf_fini(&notes);
    check_folder(c, LIMIT);
    cache_unref(c);
}

static void walk(fault_how how)
{
    uint64_t n = 1;
    bool met = true;

    for (; met; n += STEP) {
        assert_int_equal(make_folder(NULL), 0);
        fill();
        met = with_fault(n, how);
        check_after();
        assert_int_equal(remove_folder(NULL), 0);
    }
    assert_in_range(n, 100, 2000); /* it was a long way */
}

#define WALK(name, how)              \
    static void name(void **state)   \
    {                                \
        (void)state;                 \
        walk(how);                   \
    }
WALK(each_call_may_fail, FAULT_EIO)
WALK(each_call_may_meet_a_full_disk_once, FAULT_ENOSPC)
WALK(each_call_may_find_the_disk_full, FAULT_FULL)
WALK(each_write_may_be_short, FAULT_SHORT)
WALK(killed_before_each_call, FAULT_DIES)
WALK(killed_in_each_write, FAULT_TORN)
WALK(killed_after_each_call, FAULT_DONE)
WALK(each_call_may_fail_without_renameat2, FAULT_OLD)

/* Every call that the walks are about is among those of the work. */
static void all_calls_are_met(void **state)
{
    (void)state;
    assert_int_equal(make_folder(NULL), 0);
    fill();
    fault_arm(0, FAULT_NONE);
    work();
    for (int i = 0; i < CALLS; i++)
        if (i != CALL_FTRUNCATE && i != CALL_MMAP)
            /* a lock's and a file without fallocate; nothing maps a file */
            assert_true(fault_count((fault_call)i) > 0);
    assert_int_equal(remove_folder(NULL), 0);
}

/* ---- how entries are read ------------------------------------------------ */

static hull_status count_item(void *user, const cache_item *item)
{
    cache_entry e;
    bytes key;

    OK(disk_read_key(&e, &key, item->path, true));
    assert_true(key.n > 0 && e.f.p == NULL);
    cache_entry_close(&e);
    ++*(int *)user;
    return HULL_OK;
}

/* A mapped file that somebody cuts, or whose disk fails, is a signal. */
static void no_entry_is_mapped(void **state)
{
    cache *c = opened("0");
    cache_key k = key_number(2);
    cache_near q = {.key = &k};
    uint64_t good, bad, n, unread;
    int items = 0;

    (void)state;
    put_number(c, 1, ENTRY);
    cache_notes_put(c, str_of("key"), str_of("a 1\n"));
    fault_arm(0, FAULT_NONE);
    assert_true(get_number(c, 1));
    OK(cache_list(c, count_item, &items));
    assert_int_equal(items, 2);
    OK(hull_cache_verify(c, &good, &bad));
    assert_int_equal(good, 2);
    OK(cache_nearest(&q, 1, c, &n, &unread));
    assert_true(q.found);
    assert_int_equal(n, 1);
    OK(hull_cache_export(c, path_in("bundle"), &n));
    assert_int_equal(n, 2);
    assert_true(fault_count(CALL_PREAD) >= 5);
    assert_int_equal(fault_count(CALL_MMAP), 0);
    OK(hull_cache_import(c, path_in("bundle"), &n, &unread));
    assert_int_equal(fault_count(CALL_MMAP), 1); /* it would be seen */
    cache_near_fini(&q);
    cache_key_fini(&k);
    cache_unref(c);
}

/* Between the look at its size and the read: damage, as if it had been so. */
static void entry_may_be_cut_while_it_is_read(void **state)
{
    cache *c = opened("0");
    bool cut = false;

    (void)state;
    for (uint64_t n = 1; !cut; n++) {
        put_number(c, 1, ENTRY);
        fault_arm(n, FAULT_CUT);
        cut = !get_number(c, 1);
        assert_true(cut || fault_calls() > n);
        fault_arm(0, FAULT_NONE);
    }
    assert_int_equal(stat_of(c, "corrupt"), 1);
    assert_int_equal(stat_of(c, "errors"), 0);
    cache_unref(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_calls_are_met),
        cmocka_unit_test(each_call_may_fail),
        cmocka_unit_test(each_call_may_meet_a_full_disk_once),
        cmocka_unit_test(each_call_may_find_the_disk_full),
        cmocka_unit_test(each_write_may_be_short),
        cmocka_unit_test(killed_before_each_call),
        cmocka_unit_test(killed_in_each_write),
        cmocka_unit_test(killed_after_each_call),
        cmocka_unit_test(each_call_may_fail_without_renameat2),
        TEST(no_entry_is_mapped),
        TEST(entry_may_be_cut_while_it_is_read),
    };

    ignore(log_configure("all:error")); /* a word that it knows */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
