/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_zip.c - stored zips: our writer and reader against each other, against
 * libzip (loaded at run time, because it has functions of the same names), on
 * PyTorch's files, and on damaged ones.
 */
#include "unit.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOCAL_SIZE 30
#define CENTRAL_SIZE 46
#define END_SIZE 22

static void set16(char *p, uint32_t v)
{
    p[0] = (char)(v & 0xff);
    p[1] = (char)(v >> 8 & 0xff);
}

static void set32(char *p, uint32_t v)
{
    set16(p, v & 0xffff);
    set16(p + 2, v >> 16);
}

static uint32_t get32(const char *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof(v));
    return v;
}

static bytes bytes_of(const buf *b)
{
    return (bytes){ (const uint8_t *)b->p, b->n };
}

/* Two entries: "a" with 5 bytes, "b/c" with 100, at a multiple of 64. */
static void make_small(zip_writer *w)
{
    char payload[100];

    memset(payload, 'p', sizeof(payload));
    zip_writer_init(w, SIZE_MAX);
    zip_writer_add(w, str_of("a"), "hello", 5, 1);
    zip_writer_add(w, str_of("b/c"), payload, sizeof(payload), 64);
    assert_int_equal(zip_writer_end(w), HULL_OK);
}

/* The n-th central record of a finished zip without end64. */
static char *central(zip_writer *w, int n)
{
    char *p = w->out.p + get32(w->out.p + w->out.n - END_SIZE + 16);

    for (; n > 0; n--)
        p += CENTRAL_SIZE + (get32(p + 28) & 0xffff) + (get32(p + 28) >> 16);
    return p;
}

static void opens(zip_writer *w, hull_status want, const char *text)
{
    /* An exact copy, so that a sanitizer sees every byte too many. */
    uint8_t *copy = malloc(w->out.n);
    zip z;

    assert_non_null(copy);
    memcpy(copy, w->out.p, w->out.n);
    assert_int_equal(zip_open(&z, (bytes){ copy, w->out.n }), want);
    if (want != HULL_OK && strstr(error_text(), text) == NULL)
        assert_string_equal(error_text(), text);
    zip_close(&z);
    free(copy);
}

static void what_is_written_reads(void **state)
{
    const zip_entry *e;
    zip_writer w;
    bytes b;
    zip z;

    (void)state;
    make_small(&w);
    assert_int_equal(zip_open(&z, bytes_of(&w.out)), HULL_OK);
    assert_int_equal(z.n, 2);
    assert_true(str_is(z.entries[0].name, "a"));
    e = zip_find(&z, str_of("b/c"));
    assert_non_null(e);
    assert_int_equal(e->off % 64, 0);
    b = zip_bytes(&z, e);
    assert_int_equal(b.n, 100);
    assert_int_equal(b.p[99], 'p');
    assert_int_equal(zip_check_crc(&z, e), HULL_OK);
    assert_null(zip_find(&z, str_of("b")));
    w.out.p[e->off] = 'q';
    assert_int_equal(zip_check_crc(&z, e), HULL_EFORMAT);
    zip_close(&z);
    zip_close(&z);
    zip_close(NULL);
    zip_writer_fini(&w);
    zip_writer_fini(NULL);
}

static void alignment_holds(void **state)
{
    char name[80];
    zip_writer w;
    size_t i;
    zip z;

    (void)state;
    zip_writer_init(&w, SIZE_MAX);
    memset(name, 'n', sizeof(name));
    for (i = 1; i < sizeof(name); i++)
        zip_writer_add(&w, (str){ name, i }, name, i, 64);
    assert_int_equal(zip_writer_end(&w), HULL_OK);
    assert_int_equal(zip_open(&z, bytes_of(&w.out)), HULL_OK);
    assert_int_equal(z.n, sizeof(name) - 1);
    for (i = 0; i < z.n; i++) {
        assert_int_equal(z.entries[i].off % 64, 0);
        assert_int_equal(zip_check_crc(&z, &z.entries[i]), HULL_OK);
    }
    zip_close(&z);
    zip_writer_fini(&w);
}

static void empty_and_limits(void **state)
{
    zip_writer w;
    zip z;

    (void)state;
    zip_writer_init(&w, SIZE_MAX);
    assert_int_equal(zip_writer_end(&w), HULL_OK);
    assert_int_equal(w.out.n, END_SIZE);
    assert_int_equal(zip_open(&z, bytes_of(&w.out)), HULL_OK);
    assert_int_equal(z.n, 0);
    assert_null(zip_find(&z, str_of("a")));
    zip_close(&z);
    zip_writer_fini(&w);
    zip_writer_init(&w, 50);
    zip_writer_add(&w, str_of("a"), "0123456789012345678901234567890", 31, 1);
    assert_int_equal(zip_writer_end(&w), HULL_ENOMEM);
    zip_writer_fini(&w);
    assert_int_equal(zip_open(&z, (bytes){ NULL, 0 }), HULL_EFORMAT);
    assert_int_equal(zip_open(&z, (bytes){ (const uint8_t *)"PK\5\6", 4 }),
                     HULL_EFORMAT);
}

/* Each patch damages one value of a good zip. */
static void wrong_values_are_refused(void **state)
{
    static const struct {
        int base; /* 0 local header, 1 central of "a", 2 of "b/c", 3 end */
        int off, size;
        uint32_t value;
        hull_status want;
        const char *text;
    } patches[] = {
        { 1, 8, 2, 0x0801, HULL_EUNSUPPORTED, "encrypted" },
        { 1, 8, 2, 0x0840, HULL_EUNSUPPORTED, "encrypted" },
        { 1, 8, 2, 0x2800, HULL_EUNSUPPORTED, "encrypted" },
        { 1, 10, 2, 8, HULL_EUNSUPPORTED, "method 8" },
        { 1, 20, 4, 4, HULL_EFORMAT, "sizes" },
        { 1, 24, 4, 0xfffffff0, HULL_EFORMAT, "sizes" },
        { 1, 20, 4, 0xffffffff, HULL_EFORMAT, "no 64-bit sizes" },
        { 1, 42, 4, 1, HULL_EFORMAT, "no local header" },
        { 1, 42, 4, 0x7fffffff, HULL_EFORMAT, "reaches into the directory" },
        { 1, 42, 4, 0xffffffff, HULL_EFORMAT, "no 64-bit sizes" },
        { 1, 34, 2, 1, HULL_EUNSUPPORTED, "several disks" },
        { 1, 46, 1, '/', HULL_EFORMAT, "unsafe name" },
        { 1, 46, 1, '\\', HULL_EFORMAT, "unsafe name" },
        { 1, 46, 1, 0, HULL_EFORMAT, "unsafe name" },
        { 1, 46, 1, 'z', HULL_EFORMAT, "is named 'a'" },
        { 1, 0, 1, 'Q', HULL_EFORMAT, "no entry at byte" },
        { 1, 28, 2, 0xffff, HULL_EFORMAT, "left" },
        { 1, 30, 2, 0xffff, HULL_EFORMAT, "left" },
        { 1, 32, 2, 0xffff, HULL_EFORMAT, "left" },
        { 2, 42, 4, 0, HULL_EFORMAT, "is named 'a'" },
        { 0, 8, 2, 8, HULL_EFORMAT, "differs in method" },
        { 0, 6, 2, 1, HULL_EFORMAT, "differs in method" },
        { 0, 22, 4, 4, HULL_EFORMAT, "has 4 bytes in its local" },
        { 0, 28, 2, 0xffff, HULL_EFORMAT, "reaches into the directory" },
        { 3, 4, 2, 1, HULL_EUNSUPPORTED, "several disks" },
        { 3, 8, 2, 1, HULL_EUNSUPPORTED, "several disks" },
        { 3, 12, 4, 0x7fffffff, HULL_EFORMAT, "reaches into the end" },
        { 3, 16, 4, 0xffffffff, HULL_EFORMAT, "reaches into the end" },
        { 3, 20, 2, 1, HULL_EFORMAT, "no end record" },
    };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(patches); i++) {
        zip_writer w;
        char *p;

        make_small(&w);
        p = patches[i].base == 0   ? w.out.p
            : patches[i].base == 3 ? w.out.p + w.out.n - END_SIZE
                                   : central(&w, patches[i].base - 1);
        p += patches[i].off;
        if (patches[i].size == 4)
            set32(p, patches[i].value);
        else if (patches[i].size == 2)
            set16(p, patches[i].value);
        else
            *p = (char)patches[i].value;
        opens(&w, patches[i].want, patches[i].text);
        zip_writer_fini(&w);
    }
}

static void counts_must_fit(void **state)
{
    zip_writer w;
    char *end;

    (void)state;
    make_small(&w);
    end = w.out.p + w.out.n - END_SIZE;
    set16(end + 8, 1);
    set16(end + 10, 1);
    opens(&w, HULL_EFORMAT, "after its last entry");
    set16(end + 8, 3);
    set16(end + 10, 3);
    opens(&w, HULL_EFORMAT, "3 entries");
    zip_writer_fini(&w);
}

static void duplicates_and_overlaps_are_refused(void **state)
{
    zip_writer inner, w;
    uint32_t inner_at;

    (void)state;
    zip_writer_init(&w, SIZE_MAX);
    zip_writer_add(&w, str_of("same"), "1", 1, 1);
    zip_writer_add(&w, str_of("same"), "2", 1, 1);
    assert_int_equal(zip_writer_end(&w), HULL_OK);
    opens(&w, HULL_EFORMAT, "two entries named 'same'");
    zip_writer_fini(&w);

    zip_writer_init(&inner, SIZE_MAX);
    zip_writer_add(&inner, str_of("b"), "evil", 4, 1);
    zip_writer_init(&w, SIZE_MAX);
    zip_writer_add(&w, str_of("a"), inner.out.p, inner.out.n, 1);
    inner_at = LOCAL_SIZE + 1;
    zip_writer_add(&w, str_of("b"), "good", 4, 1);
    assert_int_equal(zip_writer_end(&w), HULL_OK);
    opens(&w, HULL_OK, "");
    set32(central(&w, 1) + 42, inner_at);
    opens(&w, HULL_EFORMAT, "overlaps");
    zip_writer_fini(&inner);
    zip_writer_fini(&w);
}

static void folders_of_other_tools_are_skipped(void **state)
{
    zip_writer w;
    zip z;

    (void)state;
    zip_writer_init(&w, SIZE_MAX);
    zip_writer_add(&w, str_of("dir/"), NULL, 0, 1);
    zip_writer_add(&w, str_of("dir/x"), "1", 1, 1);
    assert_int_equal(zip_writer_end(&w), HULL_OK);
    assert_int_equal(zip_open(&z, bytes_of(&w.out)), HULL_OK);
    assert_int_equal(z.n, 1);
    zip_close(&z);
    zip_writer_fini(&w);
    zip_writer_init(&w, SIZE_MAX);
    zip_writer_add(&w, str_of("dir/"), "1", 1, 1);
    assert_int_equal(zip_writer_end(&w), HULL_OK);
    opens(&w, HULL_EFORMAT, "unsafe name");
    zip_writer_fini(&w);
}

/* Sizes and offset of "a" move into a ZIP64 field of n bytes. */
static void make_wide(zip_writer *w, uint32_t n)
{
    char field[28] = { 1, 0, (char)n, 0 };

    zip_writer_init(w, SIZE_MAX);
    zip_writer_add(w, str_of("a"), "hello", 5, 1);
    set32(w->directory.p + 20, 0xffffffff);
    set32(w->directory.p + 24, 0xffffffff);
    set32(w->directory.p + 42, 0xffffffff);
    set16(w->directory.p + 30, n + 4);
    set32(field + 4, 5);
    set32(field + 12, 5);
    buf_put(&w->directory, field, n + 4);
    assert_int_equal(zip_writer_end(w), HULL_OK);
}

static void zip64_fields_are_read(void **state)
{
    zip_writer w;

    (void)state;
    make_wide(&w, 24);
    opens(&w, HULL_OK, "");
    w.out.p[w.out.n - END_SIZE - 1] = 1; /* offset 2^56 */
    opens(&w, HULL_EFORMAT, "reaches into the directory");
    zip_writer_fini(&w);
    make_wide(&w, 24);
    w.out.p[w.out.n - END_SIZE - 17] = (char)0xff;
    opens(&w, HULL_EFORMAT, "stored with sizes");
    w.out.p[w.out.n - END_SIZE - 9] = (char)0xff; /* size near 2^64 */
    opens(&w, HULL_EFORMAT, "reaches into the directory");
    zip_writer_fini(&w);
    make_wide(&w, 16);
    opens(&w, HULL_EFORMAT, "short field");
    zip_writer_fini(&w);
    make_wide(&w, 24);
    set16(w.out.p + w.out.n - END_SIZE - 26, 25);
    opens(&w, HULL_EFORMAT, "no 64-bit sizes");
    zip_writer_fini(&w);
}

static void many_entries_need_zip64(void **state)
{
    const uint32_t n = 70000;
    char name[16];
    zip_writer w;
    uint32_t i;
    char *end64;
    zip z;

    (void)state;
    zip_writer_init(&w, SIZE_MAX);
    for (i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "%u", i);
        zip_writer_add(&w, str_of(name), NULL, 0, 1);
    }
    assert_int_equal(zip_writer_end(&w), HULL_OK);
    assert_int_equal(zip_open(&z, bytes_of(&w.out)), HULL_OK);
    assert_int_equal(z.n, n);
    assert_non_null(zip_find(&z, str_of("69999")));
    zip_close(&z);
    end64 = w.out.p + w.out.n - END_SIZE - 20 - 56;
    set32(end64 + 24, 5);
    set32(end64 + 32, 5);
    opens(&w, HULL_EFORMAT, "after its last entry");
    set32(w.out.p + w.out.n - END_SIZE + 12, 1);
    opens(&w, HULL_EFORMAT, "disagree");
    set32(end64 + 24, n + 1);
    opens(&w, HULL_EUNSUPPORTED, "several disks");
    set32(w.out.p + w.out.n - END_SIZE - 20 + 8, 0x7fffffff);
    opens(&w, HULL_EFORMAT, "where no end record is");
    zip_writer_fini(&w);
}

static void try_open(const uint8_t *p, size_t n)
{
    size_t i;
    zip z;

    if (zip_open(&z, (bytes){ p, n }) != HULL_OK)
        return;
    for (i = 0; i < z.n; i++) {
        bytes b = zip_bytes(&z, &z.entries[i]);

        assert_true(b.p >= p && b.n <= (size_t)(p + n - b.p));
        ignore(zip_check_crc(&z, &z.entries[i])); /* may differ: damaged */
    }
    zip_close(&z);
}

static void damage_never_leaves_the_bytes(void **state)
{
    static const uint8_t values[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
    zip_writer w;
    size_t n, i, k;

    (void)state;
    make_small(&w);
    for (n = 0; n <= w.out.n; n++) {
        uint8_t *p = malloc(n + (n == 0));

        assert_non_null(p);
        if (n > 0)
            memcpy(p, w.out.p, n);
        try_open(p, n);
        for (i = 0; n == w.out.n && i < n; i++) {
            uint8_t kept = p[i];

            for (k = 0; k < COUNT_OF(values); k++) {
                p[i] = values[k];
                try_open(p, n);
            }
            p[i] = kept;
        }
        free(p);
    }
    zip_writer_fini(&w);
}

static void failed_allocations_leak_nothing(void **state)
{
    int64_t live = mem_live();
    hull_status st;
    uint64_t n;

    (void)state;
    for (n = 1;; n++) {
        zip_writer w;
        zip z = { 0 };

        mem_fail_at(n, true);
        zip_writer_init(&w, SIZE_MAX);
        zip_writer_add(&w, str_of("a"), "hello", 5, 64);
        st = zip_writer_end(&w);
        if (st == HULL_OK)
            st = zip_open(&z, bytes_of(&w.out));
        mem_fail_at(0, false);
        zip_close(&z);
        zip_writer_fini(&w);
        assert_int_equal(mem_live(), live);
        if (st == HULL_OK)
            break;
        assert_int_equal(st, HULL_ENOMEM);
    }
    assert_true(n > 5);
}

/* ---- libzip -------------------------------------------------------------- */

typedef struct libzip {
    void *handle;
    void *(*open)(const char *path, int flags, int *err);
    int (*close)(void *z);
    int64_t (*count)(void *z, uint32_t flags);
    const char *(*name)(void *z, uint64_t i, uint32_t flags);
    void *(*fopen)(void *z, uint64_t i, uint32_t flags);
    int64_t (*fread)(void *f, void *dst, uint64_t n);
    int (*fclose)(void *f);
    void *(*source)(void *z, const void *p, uint64_t n, int freep);
    int64_t (*add)(void *z, const char *name, void *source, uint32_t flags);
    int (*method)(void *z, uint64_t i, int32_t method, uint32_t flags);
} libzip;

static void load(libzip *l, void *to, const char *name)
{
    void *p = dlsym(l->handle, name);

    assert_non_null(p);
    memcpy(to, &p, sizeof(p));
}

static bool libzip_load(libzip *l)
{
    static const char *const names[] = { "libzip.so.4", "libzip.so.5",
                                         "libzip.so" };
    size_t i;

    memset(l, 0, sizeof(*l));
    for (i = 0; i < COUNT_OF(names) && l->handle == NULL; i++)
        l->handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (l->handle == NULL) {
        print_message("skipped: libzip is not installed\n");
        return false;
    }
    load(l, &l->open, "zip_open");
    load(l, &l->close, "zip_close");
    load(l, &l->count, "zip_get_num_entries");
    load(l, &l->name, "zip_get_name");
    load(l, &l->fopen, "zip_fopen_index");
    load(l, &l->fread, "zip_fread");
    load(l, &l->fclose, "zip_fclose");
    load(l, &l->source, "zip_source_buffer");
    load(l, &l->add, "zip_file_add");
    load(l, &l->method, "zip_set_file_compression");
    return true;
}

/* libzip must see the same names and bytes as we do. */
static void compare(const libzip *l, const char *path)
{
    void *theirs;
    size_t i;
    file f;
    zip z;

    assert_int_equal(file_map(&f, path), HULL_OK);
    if (zip_open(&z, (bytes){ f.p, f.size }) != HULL_OK)
        assert_string_equal(error_text(), path);
    theirs = l->open(path, 16 /* read only */, NULL);
    assert_non_null(theirs);
    assert_int_equal(l->count(theirs, 0), z.n);
    for (i = 0; i < z.n; i++) {
        bytes b = zip_bytes(&z, &z.entries[i]);
        uint8_t *room = malloc(b.n + 1);
        void *e = l->fopen(theirs, i, 0);

        assert_non_null(room);
        assert_non_null(e);
        assert_true(str_is(z.entries[i].name, l->name(theirs, i, 0)));
        assert_true(zip_find(&z, z.entries[i].name) == &z.entries[i]);
        assert_int_equal(l->fread(e, room, b.n + 1), b.n);
        assert_memory_equal(room, b.p, b.n);
        assert_int_equal(zip_check_crc(&z, &z.entries[i]), HULL_OK);
        l->fclose(e);
        free(room);
    }
    l->close(theirs);
    zip_close(&z);
    file_close(&f);
}

static void temp_path(char path[32])
{
    int fd;

    memcpy(path, "/tmp/hull-test-zip-XXXXXX", 26);
    fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
}

static void libzip_reads_what_we_write(void **state)
{
    file_part part;
    char path[32];
    zip_writer w;
    libzip l;

    (void)state;
    if (!libzip_load(&l))
        skip();
    temp_path(path);
    make_small(&w);
    part = (file_part){ w.out.p, w.out.n };
    assert_int_equal(file_write_atomic(path, &part, 1), HULL_OK);
    compare(&l, path);
    unlink(path);
    zip_writer_fini(&w);
    dlclose(l.handle);
}

static void libzip_write(const libzip *l, const char *path, int32_t method)
{
    static char text[3000];
    int64_t i;
    void *z;

    unlink(path);
    memset(text, 't', sizeof(text));
    z = l->open(path, 1 /* create */, NULL);
    assert_non_null(z);
    i = l->add(z, "x/first", l->source(z, text, sizeof(text), 0), 0);
    assert_int_equal(i, 0);
    assert_int_equal(l->method(z, 0, 0, 0), 0);
    i = l->add(z, "second", l->source(z, text, 100, 0), 0);
    assert_int_equal(i, 1);
    assert_int_equal(l->method(z, 1, method, 0), 0);
    assert_int_equal(l->close(z), 0);
}

static void we_read_what_libzip_writes(void **state)
{
    char path[32];
    libzip l;
    file f;
    zip z;

    (void)state;
    if (!libzip_load(&l))
        skip();
    temp_path(path);
    libzip_write(&l, path, 0);
    compare(&l, path);
    libzip_write(&l, path, 8);
    assert_int_equal(file_map(&f, path), HULL_OK);
    assert_int_equal(zip_open(&z, (bytes){ f.p, f.size }), HULL_EUNSUPPORTED);
    assert_non_null(strstr(error_text(), "'second' is compressed"));
    file_close(&f);
    unlink(path);
    dlclose(l.handle);
}

typedef struct visit {
    libzip l;
    int n;
} visit;

static hull_status compare_one(void *user, const char *path, const file_id *id)
{
    static const char *const ends[] = { ".pt2", ".pt", ".pth", ".npz" };
    visit *v = user;
    char magic[4];
    bool fits = false;
    size_t i;
    file f;

    for (i = 0; i < COUNT_OF(ends); i++)
        fits = fits || str_ends(str_of(path), ends[i]);
    if (!fits || id->size < 4 || id->size > (uint64_t)64 << 20)
        return HULL_OK;
    TRY(file_map(&f, path));
    memcpy(magic, f.p, sizeof(magic));
    file_close(&f);
    if (memcmp(magic, "PK\3\4", 4) == 0 && !str_ends(str_of(path), ".npz")) {
        compare(&v->l, path);
        v->n++;
    }
    return HULL_OK;
}

static void pytorch_files_agree_with_libzip(void **state)
{
    const char *shared = getenv("HULL_SHARED");
    char *path = path_join(shared == NULL ? "../shared" : shared, "fixtures");
    visit v = { .n = 0 };

    (void)state;
    assert_non_null(path);
    if (access(path, R_OK) != 0) {
        print_message("skipped: no fixtures at %s\n", path);
        mem_free(path);
        skip();
    }
    if (!libzip_load(&v.l)) {
        mem_free(path);
        skip();
    }
    assert_int_equal(dir_walk(path, compare_one, &v), HULL_OK);
    print_message("%d files compared\n", v.n);
    assert_true(v.n > 0);
    dlclose(v.l.handle);
    mem_free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_reads),
        cmocka_unit_test(alignment_holds),
        cmocka_unit_test(empty_and_limits),
        cmocka_unit_test(wrong_values_are_refused),
        cmocka_unit_test(counts_must_fit),
        cmocka_unit_test(duplicates_and_overlaps_are_refused),
        cmocka_unit_test(folders_of_other_tools_are_skipped),
        cmocka_unit_test(zip64_fields_are_read),
        cmocka_unit_test(many_entries_need_zip64),
        cmocka_unit_test(damage_never_leaves_the_bytes),
        cmocka_unit_test(failed_allocations_leak_nothing),
        cmocka_unit_test(libzip_reads_what_we_write),
        cmocka_unit_test(we_read_what_libzip_writes),
        cmocka_unit_test(pytorch_files_agree_with_libzip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
