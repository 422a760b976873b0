/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_container.c - container files: what was written is read, and nothing
 * that is damaged or made up is.
 */
#include "unit.h"

#include "container/container.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ANY UINT64_MAX
#define HEADER 64
#define ENTRY 72

static hull_status count_up(void *user, uint64_t off, void *dst, size_t n)
{
    uint8_t *p = dst;

    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)((off + i) * 7 + *(uint8_t *)user);
    return HULL_OK;
}

static hull_status refuse(void *user, uint64_t off, void *dst, size_t n)
{
    (void)user;
    memset(dst, 0, n);
    return off == 0 ? HULL_OK : fail(HULL_EIO, "no more");
}

static char zeros[5000];

/* "a": 5 raw bytes, "big": compressed, "none": empty. */
static container_writer *small_writer(void)
{
    container_writer *w;

    assert_int_equal(container_writer_new(&w, CONTAINER_ENGINE), HULL_OK);
    assert_int_equal(container_add(w, "a", "hello", 5), HULL_OK);
    assert_int_equal(container_add(w, "big", zeros, sizeof zeros), HULL_OK);
    assert_int_equal(container_add(w, "none", NULL, 0), HULL_OK);
    return w;
}

static buf small_file(void)
{
    container_writer *w = small_writer();
    buf b;

    assert_int_equal(container_write_buf(w, &b), HULL_OK);
    assert_int_equal(b.n, container_writer_size(w));
    container_writer_free(w);
    return b;
}

static bytes view(const buf *b)
{
    return (bytes){(const uint8_t *)b->p, b->n};
}

/* Everything in the small file, or the status that reading it gave. */
static hull_status read_small(bytes data)
{
    container *c = NULL;
    hull_status st = container_open(&c, data, ANY);
    bytes a = {0}, big = {0}, none = {0};

    if (st == HULL_OK)
        st = container_get(c, "a", 100, &a);
    if (st == HULL_OK)
        st = container_get(c, "big", sizeof zeros, &big);
    if (st == HULL_OK)
        st = container_get(c, "none", 0, &none);
    if (st == HULL_OK) {
        assert_int_equal(a.n, 5);
        assert_memory_equal(a.p, "hello", 5);
        assert_int_equal(big.n, sizeof zeros);
        assert_memory_equal(big.p, zeros, sizeof zeros);
        assert_int_equal(none.n, 0);
    }
    container_free(c);
    return st;
}

static void reads_what_was_written(void **state)
{
    buf b = small_file();
    uint64_t off, stored, size;
    const char *tag;
    container *c;

    (void)state;
    assert_int_equal(read_small(view(&b)), HULL_OK);
    assert_int_equal(container_open(&c, view(&b), ANY), HULL_OK);
    assert_int_equal(container_kind_of(c), CONTAINER_ENGINE);
    assert_int_equal(container_n_sections(c), 3);
    assert_int_equal(container_file_size(c), b.n);
    assert_int_equal(container_at(c, 1, &tag, &off, &stored, &size), HULL_OK);
    assert_string_equal(tag, "big");
    assert_int_equal(off, 128);
    assert_true(stored < 100);
    assert_int_equal(size, sizeof zeros);
    assert_int_equal(container_at(c, 3, &tag, &off, &stored, &size),
                     HULL_ENOTFOUND);
    assert_true(container_has(c, "none"));
    assert_false(container_has(c, "non"));
    assert_int_equal(container_place(c, "a", &off, &size), HULL_OK);
    assert_int_equal(off, 64);
    assert_int_equal(size, 5);
    assert_int_equal(container_place(c, "big", &off, &size), HULL_EFORMAT);
    container_free(c);
    buf_fini(&b);
}

static void streams_are_raw_and_aligned(void **state)
{
    char path[] = "/tmp/hull-test-container-XXXXXX";
    uint64_t n = (3 << 20) + 17, off, size;
    container_writer *w;
    uint8_t seed = 9, byte;
    container *c;
    bytes data;
    file f;

    (void)state;
    close(mkstemp(path));
    assert_int_equal(container_writer_new(&w, CONTAINER_MODULE), HULL_OK);
    assert_int_equal(container_add(w, "x", "1", 1), HULL_OK);
    assert_int_equal(container_add_stream(w, "s", n, count_up, &seed),
                     HULL_OK);
    assert_int_equal(container_write(w, path), HULL_OK);
    assert_int_equal(file_map(&f, path), HULL_OK);
    assert_int_equal(f.size, container_writer_size(w));
    container_writer_free(w);
    assert_int_equal(container_open(&c, (bytes){f.p, f.size}, 64), HULL_OK);
    assert_int_equal(container_place(c, "s", &off, &size), HULL_OK);
    assert_int_equal(off % 64, 0);
    assert_int_equal(size, n);
    assert_int_equal(container_get(c, "s", ANY, &data), HULL_OK);
    for (uint64_t i = 0; i < n; i += 4099) {
        assert_int_equal(count_up(&seed, i, &byte, 1), HULL_OK);
        assert_int_equal(data.p[i], byte);
    }
    container_free(c);
    file_close(&f);
    unlink(path);
}

/* A failing source leaves the old file and no other. */
static void failed_write_changes_nothing(void **state)
{
    char path[] = "/tmp/hull-test-container-XXXXXX";
    container_writer *w;
    struct stat s;
    buf b;

    (void)state;
    close(mkstemp(path));
    assert_int_equal(container_writer_new(&w, CONTAINER_MODULE), HULL_OK);
    assert_int_equal(container_add_stream(w, "s", 3 << 20, refuse, NULL),
                     HULL_OK);
    assert_int_equal(container_write(w, path), HULL_EIO);
    assert_string_equal(error_text(), "section 's': no more");
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_size, 0);
    assert_int_equal(container_write_buf(w, &b), HULL_EINVAL);
    buf_fini(&b);
    assert_int_equal(container_write(w, "/nonexistent/folder/x"),
                     HULL_ENOTFOUND);
    container_writer_free(w);
    unlink(path);
}

static void tags_are_checked(void **state)
{
    container_writer *w = small_writer();

    (void)state;
    assert_int_equal(container_add(w, "a", "x", 1), HULL_EINVAL);
    assert_int_equal(container_add(w, "", "x", 1), HULL_EINVAL);
    assert_int_equal(container_add(w, "a b", "x", 1), HULL_EINVAL);
    assert_int_equal(container_add(w, "123456789012345678901234", "x", 1),
                     HULL_EINVAL);
    assert_int_equal(container_add(w, "12345678901234567890123", "x", 1),
                     HULL_OK);
    assert_int_equal(container_add_stream(w, "s", UINT64_MAX, refuse, NULL),
                     HULL_EINVAL);
    assert_true(container_writer_has(w, "a"));
    assert_false(container_writer_has(w, "s"));
    container_writer_free(w);
}

/* On a heap block of exactly that size, so that ASan sees an over-read. */
static hull_status read_copy(const buf *b, size_t n)
{
    uint8_t *copy = mem_alloc(n);
    hull_status st;

    assert_non_null(copy);
    memcpy(copy, b->p, n);
    st = read_small((bytes){copy, n});
    mem_free(copy);
    return st;
}

static void every_truncation_is_refused(void **state)
{
    buf b = small_file();

    (void)state;
    for (size_t n = 0; n < b.n; n++)
        assert_int_equal(read_copy(&b, n), HULL_EFORMAT);
    buf_putc(&b, '\0');
    assert_int_equal(read_copy(&b, b.n), HULL_EFORMAT);
    buf_fini(&b);
}

/* Every byte of a file is covered: there is no flip that goes unnoticed. */
static void every_flip_is_refused(void **state)
{
    buf b = small_file();

    (void)state;
    for (size_t i = 0; i < b.n; i++)
        for (int bit = 0; bit < 8; bit++) {
            b.p[i] = (char)(b.p[i] ^ (1 << bit));
            assert_int_not_equal(read_copy(&b, b.n), HULL_OK);
            b.p[i] = (char)(b.p[i] ^ (1 << bit));
        }
    assert_int_equal(read_copy(&b, b.n), HULL_OK);
    buf_fini(&b);
}

/* ---- files whose checksums fit, made by somebody who means harm ---------- */

static void poke(buf *b, size_t at, uint64_t v, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        b->p[at + i] = (char)(uint8_t)(v >> (8 * i));
}

static void seal(buf *b)
{
    size_t table = b->n - 3 * ENTRY - 16;
    checksum s = checksum_of(b->p, HEADER - 16);

    poke(b, HEADER - 16, s.lo, 8);
    poke(b, HEADER - 8, s.hi, 8);
    s = checksum_of(b->p + table, 3 * ENTRY);
    poke(b, b->n - 16, s.lo, 8);
    poke(b, b->n - 8, s.hi, 8);
}

/* Reads a small file with n bytes at `at` (from the table's begin when
 * in_table) set to v and all checksums made right again. */
static hull_status read_forged(bool in_table, size_t at, uint64_t v, unsigned n)
{
    buf b = small_file();
    hull_status st;

    poke(&b, at + (in_table ? b.n - 3 * ENTRY - 16 : 0), v, n);
    seal(&b);
    st = read_copy(&b, b.n);
    buf_fini(&b);
    return st;
}

enum { AT_OFF = 24, AT_STORED = 32, AT_SIZE = 40, AT_CODEC = 48, AT_ZERO = 52 };

static void versions(void **state)
{
    (void)state;
    assert_int_equal(read_forged(false, 8, CONTAINER_MAJOR, 2), HULL_OK);
    assert_int_equal(read_forged(false, 8, CONTAINER_MAJOR + 1, 2),
                     HULL_EVERSION);
    assert_int_equal(read_forged(false, 8, 0, 2), HULL_EVERSION);
    assert_int_equal(read_forged(false, 10, CONTAINER_MINOR + 1, 2),
                     HULL_EVERSION);
    assert_non_null(strstr(error_text(), "1.1"));
}

static void forged_headers(void **state)
{
    (void)state;
    assert_int_equal(read_forged(false, 12, CONTAINER_PLAN + 1, 4), HULL_EFORMAT);
    assert_int_equal(read_forged(false, 16, UINT32_MAX, 4), HULL_EFORMAT);
    assert_int_equal(read_forged(false, 16, 2, 4), HULL_EFORMAT);
    assert_int_equal(read_forged(false, 16, 0, 4), HULL_EFORMAT);
    assert_int_equal(read_forged(false, 20, 1, 4), HULL_EFORMAT);
    assert_int_equal(read_forged(false, 24, UINT64_MAX, 8), HULL_EFORMAT);
    assert_int_equal(read_forged(false, 24, 64, 8), HULL_EFORMAT);
    assert_int_equal(read_forged(false, 32, UINT64_MAX, 8), HULL_EFORMAT);
    assert_int_equal(read_forged(false, 40, 1, 8), HULL_EFORMAT);
}

static void forged_entries(void **state)
{
    const uint64_t off[] = {0, 63, 65, 128, 1, UINT64_MAX, UINT64_MAX - 63};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(off); i++)
        assert_int_equal(read_forged(true, AT_OFF, off[i], 8), HULL_EFORMAT);
    /* Overlap: the second section where the first one is. */
    assert_int_equal(read_forged(true, ENTRY + AT_OFF, 64, 8), HULL_EFORMAT);
    assert_int_equal(read_forged(true, AT_STORED, UINT64_MAX, 8),
                     HULL_EFORMAT);
    assert_int_equal(read_forged(true, AT_STORED, 65, 8), HULL_EFORMAT);
    assert_int_equal(read_forged(true, AT_SIZE, 6, 8), HULL_EFORMAT);
    assert_int_equal(read_forged(true, AT_CODEC, 2, 4), HULL_EFORMAT);
    assert_int_equal(read_forged(true, AT_CODEC, CODEC_ZSTD, 4),
                     HULL_EFORMAT);
    assert_int_equal(read_forged(true, AT_ZERO, 1, 4), HULL_EFORMAT);
    assert_int_equal(read_forged(true, 0, 0, 1), HULL_EFORMAT);
    assert_int_equal(read_forged(true, 0, '\n', 1), HULL_EFORMAT);
    assert_int_equal(read_forged(true, 5, 'x', 1), HULL_EFORMAT);
    assert_int_equal(read_forged(true, 23, 'x', 1), HULL_EFORMAT);
    /* "none" becomes a second "a". */
    assert_int_equal(read_forged(true, 2 * ENTRY, 'a', 8), HULL_EFORMAT);
}

/* A frame that claims a gigabyte in 16 bytes, and a table that agrees: no
 * memory is taken for it. */
static void claims(void **state)
{
    static const uint8_t frame[] = { 0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0,
                                     0x40, 0,    0,    0,    0,    1, 0, 0 };
    buf b = small_file();
    size_t entry = b.n - 3 * ENTRY - 16 + ENTRY;
    uint64_t off = 0, stored = 0;
    container *c;
    checksum s;
    bytes data;

    (void)state;
    memcpy(&off, b.p + entry + AT_OFF, 8);
    memcpy(&stored, b.p + entry + AT_STORED, 8);
    assert_true(stored >= sizeof frame);
    memcpy(b.p + off, frame, sizeof frame);
    s = checksum_of(b.p + off, stored);
    poke(&b, entry + ENTRY - 16, s.lo, 8);
    poke(&b, entry + ENTRY - 8, s.hi, 8);
    poke(&b, entry + AT_SIZE, (uint64_t)1 << 30, 8);
    seal(&b);
    assert_int_equal(container_open(&c, view(&b), ANY), HULL_OK);
    assert_int_equal(container_get(c, "big", ANY, &data), HULL_EFORMAT);
    assert_non_null(strstr(error_text(), "claims 1073741824 bytes of"));
    container_free(c);
    buf_fini(&b);
}

/* A compressed section that claims more than is allowed, or than it holds. */
static void bombs(void **state)
{
    buf b = small_file();
    container *c;
    bytes data;

    (void)state;
    assert_int_equal(container_open(&c, view(&b), ANY), HULL_OK);
    assert_int_equal(container_get(c, "big", sizeof zeros - 1, &data),
                     HULL_EFORMAT);
    container_free(c);
    buf_fini(&b);
    assert_int_equal(read_forged(true, ENTRY + AT_SIZE, 1, 8), HULL_EFORMAT);
    assert_int_equal(read_forged(true, ENTRY + AT_SIZE, 4999, 8),
                     HULL_EFORMAT);
    assert_int_equal(read_forged(true, ENTRY + AT_SIZE, UINT64_MAX, 8),
                     HULL_EFORMAT);
}

static void large_sections_are_checked_when_asked_for(void **state)
{
    buf b = small_file();
    container *c;
    bytes data;

    (void)state;
    b.p[64] = 'j';
    assert_int_equal(container_open(&c, view(&b), ANY), HULL_EFORMAT);
    assert_int_equal(container_open(&c, view(&b), 4), HULL_OK);
    assert_int_equal(container_get(c, "a", 5, &data), HULL_EFORMAT);
    assert_non_null(strstr(error_text(), "'a' at byte 64"));
    assert_int_equal(container_get(c, "zz", 5, &data), HULL_EFORMAT);
    container_free(c);
    buf_fini(&b);
}

static hull_status write_and_read(void)
{
    hull_status st = HULL_OK;
    container_writer *w = NULL;
    container *c = NULL;
    buf b = {0};
    bytes data;

    TRY_OUT(container_writer_new(&w, CONTAINER_ENGINE));
    TRY_OUT(container_add(w, "a", "hello", 5));
    TRY_OUT(container_add(w, "big", zeros, sizeof zeros));
    TRY_OUT(container_write_buf(w, &b));
    TRY_OUT(container_open(&c, view(&b), ANY));
    TRY_OUT(container_get(c, "big", ANY, &data));
out:
    container_free(c);
    container_writer_free(w);
    buf_fini(&b);
    return st;
}

static void every_allocation_may_fail(void **state)
{
    hull_status st = HULL_ENOMEM;
    int64_t live = mem_live();

    (void)state;
    for (uint64_t n = 1; st != HULL_OK; n++) {
        assert_true(n < 1000);
        mem_fail_at(n, false);
        st = write_and_read();
        mem_fail_at(0, false);
        assert_true(st == HULL_OK || st == HULL_ENOMEM);
        assert_int_equal(mem_live(), live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_was_written),
        cmocka_unit_test(streams_are_raw_and_aligned),
        cmocka_unit_test(failed_write_changes_nothing),
        cmocka_unit_test(tags_are_checked),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(every_flip_is_refused),
        cmocka_unit_test(versions),
        cmocka_unit_test(forged_headers),
        cmocka_unit_test(forged_entries),
        cmocka_unit_test(bombs),
        cmocka_unit_test(claims),
        cmocka_unit_test(large_sections_are_checked_when_asked_for),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
