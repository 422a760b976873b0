/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_file.c - mapping, change detection, atomic writing, folders.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static char folder[64];

static char *at(const char *name)
{
    char *p = path_join(folder, name);

    assert_non_null(p);
    return p;
}

static int make_folder(void **state)
{
    (void)state;
    memcpy(folder, "/tmp/hull-test-file-XXXXXX", 27);
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static hull_status count_one(void *user, const char *path, const file_id *id)
{
    (void)path;
    *(uint64_t *)user += 1 + id->size * 1000;
    return HULL_OK;
}

static hull_status remove_one(void *user, const char *path, const file_id *id)
{
    (void)user;
    (void)id;
    return unlink(path) == 0 ? HULL_OK : fail(HULL_EIO, "%s", path);
}

static int remove_folder(void **state)
{
    char *p;

    (void)state;
    if (dir_walk(folder, remove_one, NULL) != HULL_OK)
        return -1;
    p = at("sub/deep");
    rmdir(p);
    mem_free(p);
    p = at("sub");
    rmdir(p);
    mem_free(p);
    return rmdir(folder);
}

static void write_text(const char *path, const char *text)
{
    file_part part = { text, strlen(text) };

    assert_int_equal(file_write_atomic(path, &part, 1), HULL_OK);
}

static void map_shows_the_bytes(void **state)
{
    char *path = at("map");
    file f;

    (void)state;
    write_text(path, "hello");
    assert_int_equal(file_map(&f, path), HULL_OK);
    assert_int_equal(f.size, 5);
    assert_memory_equal(f.p, "hello", 5);
    assert_string_equal(f.path, path);
    assert_memory_equal(f.p, "hello", 5);
    file_close(&f);
    file_close(&f);
    write_text(path, "");
    assert_int_equal(file_map(&f, path), HULL_OK);
    assert_null(f.p);
    assert_int_equal(f.size, 0);
    file_close(&f);
    mem_free(path);
}

static void closing_a_zeroed_file_keeps_stdin(void **state)
{
    struct stat s;
    file f;

    (void)state;
    memset(&f, 0, sizeof(f));
    file_close(&f);
    file_close(NULL);
    assert_int_equal(fstat(0, &s), 0);
}

static void map_refuses_what_is_no_file(void **state)
{
    char *path = at("absent"), *fifo = at("fifo");
    file f;

    (void)state;
    assert_int_equal(file_map(&f, path), HULL_ENOTFOUND);
    assert_non_null(strstr(error_text(), path));
    assert_int_equal(f.fd, -1);
    assert_int_equal(file_map(&f, folder), HULL_EIO);
    assert_int_equal(file_map(&f, NULL), HULL_EINVAL);
    assert_int_equal(file_map(&f, ""), HULL_ENOTFOUND);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(file_map(&f, fifo), HULL_EIO);
    unlink(fifo);
    mem_free(path);
    mem_free(fifo);
}

static void set_mtime(const char *path, long seconds)
{
    struct timeval t[2] = { { seconds, 0 }, { seconds, 0 } };

    assert_int_equal(utimes(path, t), 0);
}

static void changes_are_seen(void **state)
{
    char *path = at("change"), *moved = at("moved");
    char room[8];
    FILE *raw;
    file f;

    (void)state;
    write_text(path, "12345678");
    set_mtime(path, 1000);
    assert_int_equal(file_map(&f, path), HULL_OK);
    assert_int_equal(file_unchanged(&f), HULL_OK);
    assert_int_equal(rename(path, moved), 0);
    write_text(path, "another file");
    assert_int_equal(file_unchanged(&f), HULL_OK);
    raw = fopen(moved, "r+");
    assert_non_null(raw);
    fputs("x", raw);
    fclose(raw);
    assert_int_equal(file_unchanged(&f), HULL_EIO);
    assert_non_null(strstr(error_text(), path));
    set_mtime(moved, 1000);
    assert_int_equal(file_unchanged(&f), HULL_OK);
    assert_int_equal(truncate(moved, 4), 0);
    assert_int_equal(file_unchanged(&f), HULL_EIO);
    assert_int_equal(file_read_at(&f, 0, room, 8), HULL_EIO);
    assert_non_null(strstr(error_text(), "truncated"));
    file_close(&f);
    mem_free(path);
    mem_free(moved);
}

static void read_at_checks_and_counts(void **state)
{
    char *path = at("read"), room[8] = { 0 };
    uint64_t before;
    file f;

    (void)state;
    write_text(path, "12345678");
    assert_int_equal(file_map(&f, path), HULL_OK);
    before = file_bytes_read();
    assert_int_equal(file_read_at(&f, 2, room, 3), HULL_OK);
    assert_string_equal(room, "345");
    assert_int_equal(file_bytes_read(), before + 3);
    file_count_read(10);
    assert_int_equal(file_bytes_read(), before + 13);
    assert_int_equal(file_read_at(&f, 8, room, 0), HULL_OK);
    assert_int_equal(file_read_at(&f, 8, room, 1), HULL_EIO);
    assert_int_equal(file_read_at(&f, UINT64_MAX, room, 2), HULL_EIO);
    assert_int_equal(file_read_at(&f, 2, room, UINT64_MAX), HULL_EIO);
    file_close(&f);
    mem_free(path);
}

static void identities_compare_all_fields(void **state)
{
    file_id a = { 1, 2, 3, 4, 5 }, b = a;

    (void)state;
    assert_true(file_id_eq(&a, &b));
    b.ctime_ns = 6;
    assert_false(file_id_eq(&a, &b));
    b = a;
    b.ino = 9;
    assert_false(file_id_eq(&a, &b));
}

static void read_all_has_a_limit(void **state)
{
    char *path = at("all"), *text;
    size_t n;

    (void)state;
    write_text(path, "12345");
    assert_int_equal(file_read_all(&text, &n, path, 5), HULL_OK);
    assert_int_equal(n, 5);
    assert_string_equal(text, "12345");
    mem_free(text);
    assert_int_equal(file_read_all(&text, &n, path, 4), HULL_ENOMEM);
    assert_null(text);
    assert_int_equal(file_read_all(&text, &n, folder, 4), HULL_EIO);
    write_text(path, "");
    assert_int_equal(file_read_all(&text, &n, path, 0), HULL_OK);
    assert_string_equal(text, "");
    mem_free(text);
    mem_free(path);
}

static uint64_t count_files(void)
{
    uint64_t n = 0;

    assert_int_equal(dir_walk(folder, count_one, &n), HULL_OK);
    return n;
}

static void failed_writes_leave_nothing(void **state)
{
    char *path = at("old"), *text, *sub = at("sub");
    file_part part = { "new", 3 };
    file_writer w;
    uint64_t before, n;
    size_t size;

    (void)state;
    write_text(path, "old");
    before = count_files();
    for (n = 1;; n++) {
        hull_status st;

        mem_fail_at(n, false);
        st = file_write_atomic(path, &part, 1);
        mem_fail_at(0, false);
        if (st == HULL_OK)
            break;
        assert_int_equal(st, HULL_ENOMEM);
        assert_int_equal(count_files(), before);
        assert_int_equal(file_read_all(&text, &size, path, 9), HULL_OK);
        assert_string_equal(text, "old");
        mem_free(text);
    }
    assert_true(n > 3);
    assert_int_equal(file_writer_open(&w, path), HULL_OK);
    assert_int_equal(file_writer_put(&w, "half", 4), HULL_OK);
    assert_int_equal(w.written, 4);
    file_writer_abort(&w);
    file_writer_abort(&w);
    assert_int_equal(file_writer_commit(&w), HULL_EINVAL);
    assert_int_equal(count_files(), before);
    assert_int_equal(file_read_all(&text, &size, path, 9), HULL_OK);
    assert_string_equal(text, "new");
    mem_free(text);
    assert_int_equal(dir_make(sub), HULL_OK);
    assert_int_equal(file_write_atomic(sub, &part, 1), HULL_EIO);
    assert_int_equal(count_files(), before);
    assert_int_equal(file_write_atomic("", &part, 1), HULL_EINVAL);
    assert_int_equal(file_write_atomic("/nonexistent/x", &part, 1),
                     HULL_ENOTFOUND);
    mem_free(path);
    mem_free(sub);
}

static void folders_are_made_and_walked(void **state)
{
    char *deep = at("sub/deep/"), *inside = at("sub/deep/f");
    char *link = at("link");
    uint64_t before = count_files();

    (void)state;
    assert_int_equal(dir_make(deep), HULL_OK);
    assert_int_equal(dir_make(deep), HULL_OK);
    write_text(inside, "12");
    assert_int_equal(symlink("sub", link), 0);
    assert_int_equal(count_files(), before + 2001);
    unlink(link);
    assert_int_equal(dir_make(inside), HULL_EIO);
    assert_int_equal(dir_walk("/nonexistent", count_one, &before),
                     HULL_ENOTFOUND);
    mem_free(deep);
    mem_free(inside);
    mem_free(link);
}

static void check_path(char *got, const char *want)
{
    assert_string_equal(got, want);
    mem_free(got);
}

static void paths(void **state)
{
    (void)state;
    check_path(path_join("a", "b"), "a/b");
    check_path(path_join("a/", "b"), "a/b");
    check_path(path_join("a", "/b"), "/b");
    check_path(path_join("", "b"), "b");
    check_path(path_join("a", ""), "a");
    check_path(path_dir("a/b"), "a");
    check_path(path_dir("b"), ".");
    check_path(path_dir("/b"), "/");
    check_path(path_dir("a//b"), "a");
    assert_string_equal(path_base("a/b.c"), "b.c");
    assert_string_equal(path_base("b"), "b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(map_shows_the_bytes),
        cmocka_unit_test(closing_a_zeroed_file_keeps_stdin),
        cmocka_unit_test(map_refuses_what_is_no_file),
        cmocka_unit_test(changes_are_seen),
        cmocka_unit_test(read_at_checks_and_counts),
        cmocka_unit_test(identities_compare_all_fields),
        cmocka_unit_test(read_all_has_a_limit),
        cmocka_unit_test(failed_writes_leave_nothing),
        cmocka_unit_test(folders_are_made_and_walked),
        cmocka_unit_test(paths),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
