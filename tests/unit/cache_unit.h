/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * cache_unit.h - what the tests of the cache share: caches with options,
 * entries by number, counters.
 */
#ifndef HULL_CACHE_UNIT_H
#define HULL_CACHE_UNIT_H

/* In memory fsync is free. */
#define FOLDER_TOP (access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp")
#include "folder_unit.h"

#include "cache/space.h"

#include <pthread.h>

UNUSED static const char *file_in(const char *name, const char *text)
{
    const char *path = path_in(name);

    spill(path, text, strlen(text));
    assert_int_equal(chmod(path, 0600), 0);
    return path;
}

UNUSED static bool exists(const char *name)
{
    return access(path_in(name), F_OK) == 0;
}

/* Pairs of key and value, then NULL. */
UNUSED static hull_status try_open(cache **out, const char *name, ...)
{
    const char *key;
    hull_status st;
    options *o;
    va_list ap;

    OK(options_new(&o));
    va_start(ap, name);
    while ((key = va_arg(ap, const char *)) != NULL)
        OK(hull_options_set(o, key, va_arg(ap, const char *)));
    va_end(ap);
    st = cache_open(out, path_in(name), o);
    options_free(o);
    return st;
}

/* The cache in the folder `name`. */
#define open_cache(...) open_checked_(__VA_ARGS__, NULL)
#define open_checked_(...)                                      \
    __extension__({                                             \
        cache *opened_;                                         \
        hull_status status_ = try_open(&opened_, __VA_ARGS__);  \
                                                                \
        if (status_ != HULL_OK)                                 \
            print_error("%s\n", error_text());                  \
        assert_int_equal(status_, HULL_OK);                     \
        opened_;                                                \
    })

/* The cache in `folder` itself, with every hit from there. */
UNUSED static cache *opened(const char *limit)
{
    return open_cache("", "cache_limit", limit, "cache_memory", "0");
}

UNUSED static cache_key key_number(int i)
{
    char text[64];
    cache_key k;

    snprintf(text, sizeof text, "block number %d\n", i);
    OK(cache_key_make(&k, str_of("ref"), str_of("here"), NULL, str_of(text)));
    return k;
}

/* An entry without its last section; bytes that do not compress. */
UNUSED static container_writer *entry_number(int i, size_t size,
                                             const char *tag)
{
    uint8_t *filler = mem_alloc(size);
    cache_key k = key_number(i);
    uint32_t seed = (uint32_t)i;
    container_writer *w;

    for (size_t n = 0; n < size; n++) {
        seed = seed * 1664525 + 1013904223;
        filler[n] = (uint8_t)(seed >> 24);
    }
    OK(container_writer_new(&w, CONTAINER_ENGINE));
    OK(container_add(w, "key", k.preimage.p, k.preimage.n));
    OK(container_add(w, tag, filler, size));
    mem_free(filler);
    cache_key_fini(&k);
    return w;
}

UNUSED static void put_tagged(cache *c, int i, size_t size, const char *tag)
{
    container_writer *w = entry_number(i, size, tag);
    cache_key k = key_number(i);

    cache_put(c, CACHE_ENGINE, &k, w);
    container_writer_free(w);
    cache_key_fini(&k);
}

UNUSED static void put_number(cache *c, int i, size_t size)
{
    put_tagged(c, i, size, "main");
}

UNUSED static bool get_number(cache *c, int i)
{
    cache_key k = key_number(i);
    cache_entry e;
    bool hit;

    cache_get(&e, &hit, c, CACHE_ENGINE, &k);
    assert_int_equal(hit, e.c != NULL);
    cache_entry_close(&e);
    cache_key_fini(&k);
    return hit;
}

/* Gets entry i, which a store has, from it again and again: each allocation
 * fails in turn, and none of it is a failure of the store. */
UNUSED static void each_allocation_fails(cache *c, int i)
{
    cache_key k = key_number(i);
    bool failed = true;

    for (uint64_t n = 1; failed; n++) {
        uint64_t count = mem_count(), v;
        cache_entry e;
        bool hit;

        OK(hull_cache_clear(c));
        mem_fail_at(n, true);
        cache_get(&e, &hit, c, CACHE_ENGINE, &k);
        failed = mem_count() - count >= n;
        mem_fail_at(0, false);
        cache_entry_close(&e);
        assert_true(failed || hit);
        OK(hull_cache_stat(c, "remote_errors", &v));
        assert_int_equal(v, 0);
        OK(hull_cache_stat(c, "remote_corrupt", &v));
        assert_int_equal(v, 0);
    }
    cache_key_fini(&k);
}

static hull_status add_size(void *user, const disk_file *f)
{
    *(uint64_t *)user += f->size;
    return HULL_OK;
}

/* What the folder takes, whatever `usage` says. */
UNUSED static uint64_t true_bytes(const cache *c)
{
    uint64_t n = 0;

    OK(disk_walk(c, DISK_TEMP | DISK_ENTRY | DISK_BAD, add_size, &n));
    return n;
}

/* Of the file of entry i. */
UNUSED static void path_of(char out[256], int i)
{
    cache_key k = key_number(i);
    char hex[DIGEST_HEX_SIZE];

    digest_hex(&k.d, hex);
    snprintf(out, 256, "%s/" DISK_FORMAT "/%.2s/%s.engine", folder, hex,
             hex + 2);
    cache_key_fini(&k);
}

typedef struct sharer {
    cache *c;
    int seed, rounds;
    size_t size;
} sharer;

static void *run_sharer(void *user)
{
    const sharer *w = user;

    for (int i = 0; i < w->rounds; i++) {
        int n = (i * 7 + w->seed) % 10;

        if (!get_number(w->c, n))
            put_number(w->c, n, w->size);
    }
    return NULL;
}

/* Two threads use each cache; all want the same ten entries. */
UNUSED static void share_by_threads(cache *a, cache *b, int rounds,
                                    size_t size)
{
    pthread_t threads[4];
    sharer sharers[4];

    for (int i = 0; i < 4; i++) {
        sharers[i] = (sharer){i % 2 == 0 ? a : b, i, rounds, size};
        assert_int_equal(pthread_create(&threads[i], NULL, run_sharer,
                                        &sharers[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

UNUSED static uint64_t stat_of(cache *c, const char *name)
{
    uint64_t v;

    OK(hull_cache_stat(c, name, &v));
    return v;
}

/* Names and values, then NULL; all counters that are not named are 0, but
 * entries and bytes. */
UNUSED static void expect_stats_(cache *c, ...)
{
    uint64_t want[STAT_COUNT] = {0}, got[STAT_COUNT];
    const char *name;
    va_list ap;

    va_start(ap, c);
    while ((name = va_arg(ap, const char *)) != NULL) {
        int i = 0;

        while (i < STAT_COUNT &&
               strcmp(name, cache_stat_name((cache_stat)i)) != 0)
            i++;
        assert_in_range(i, 0, STAT_COUNT - 1);
        want[i] = (uint64_t)va_arg(ap, int);
    }
    va_end(ap);
    OK(cache_stats(c, got));
    for (int i = 0; i < STAT_COUNT; i++) {
        if (i == STAT_entries || i == STAT_bytes || i == STAT_bytes_sent ||
            i == STAT_bytes_received || i == STAT_bytes_read ||
            i == STAT_bytes_written || i == STAT_scans || got[i] == want[i])
            continue;
        print_error("%s: %d, wanted %d\n", cache_stat_name((cache_stat)i),
                    (int)got[i], (int)want[i]);
        assert_int_equal(got[i], want[i]);
    }
}
#define expect_stats(...) expect_stats_(__VA_ARGS__, (char *)NULL)

#endif
