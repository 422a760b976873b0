/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * cache_bench.c - what a large cache folder costs: FOLDER is filled with N
 * small entries, then opening, hits, misses, stores and stores that make room
 * are timed one by one.
 *
 *   hull_bench_cache FOLDER [N]       N 200000; FOLDER must not exist
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cache/disk.h"

#define ENTRY 256 /* bytes, and a key */
#define TIMES 2000

static void stop(const char *what)
{
    fprintf(stderr, "hull_bench_cache: %s: %s\n", what, hull_last_error());
    exit(1);
}

static cache *open_limited(const char *path, uint64_t limit)
{
    char text[32];
    options *o;
    cache *c;

    snprintf(text, sizeof text, "%" PRIu64, limit);
    if (options_new(&o) != HULL_OK ||
        hull_options_set(o, "cache_limit", text) != HULL_OK ||
        hull_options_set(o, "cache_memory", "0") != HULL_OK ||
        cache_open(&c, path, o) != HULL_OK)
        stop(path);
    options_free(o);
    return c;
}

static cache_key key_number(uint64_t i)
{
    char text[64];
    cache_key k;

    snprintf(text, sizeof text, "block number %" PRIu64 "\n", i);
    if (cache_key_make(&k, str_of("ref"), str_of("here"), NULL,
                       str_of(text)) != HULL_OK)
        stop("key");
    return k;
}

static container_writer *entry_of(const cache_key *k)
{
    static const char filler[ENTRY];
    container_writer *w;

    if (container_writer_new(&w, CONTAINER_ENGINE) != HULL_OK ||
        container_add(w, "key", k->preimage.p, k->preimage.n) != HULL_OK ||
        container_add(w, "main", filler, sizeof filler) != HULL_OK)
        stop("entry");
    return w;
}

static void put(cache *c, uint64_t i)
{
    cache_key k = key_number(i);
    container_writer *w = entry_of(&k);

    cache_put(c, CACHE_ENGINE, &k, w);
    container_writer_free(w);
    cache_key_fini(&k);
}

static void get(cache *c, uint64_t i)
{
    cache_key k = key_number(i);
    cache_entry e;
    bool hit;

    cache_get(&e, &hit, c, CACHE_ENGINE, &k);
    cache_entry_close(&e);
    cache_key_fini(&k);
}

/* Without a sync for each: the benchmark is of what comes after. */
static void fill(const cache *c, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        cache_key k = key_number(i);
        container_writer *w = entry_of(&k);
        char *path = disk_path(c, &k.d, CACHE_ENGINE);
        FILE *f;
        buf b;

        if (path == NULL || disk_make_above(c, path) != HULL_OK ||
            container_write_buf(w, &b) != HULL_OK)
            stop("filling");
        f = fopen(path, "wb");
        if (f == NULL || fwrite(b.p, 1, b.n, f) != b.n || fclose(f) != 0)
            stop("writing an entry");
        buf_fini(&b);
        mem_free(path);
        container_writer_free(w);
        cache_key_fini(&k);
    }
}

/* ---- timing -------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void show(const char *what, uint64_t *ns, size_t n)
{
    qsort(ns, n, sizeof *ns, by_time);
    printf("%-34s %9.1f %9.1f %9.1f\n", what, (double)ns[n / 2] / 1e3,
           (double)ns[n - 1 - n / 100] / 1e3, (double)ns[n - 1] / 1e3);
}

typedef void step_fn(cache *c, uint64_t i);

static void time_steps(const char *what, cache *c, step_fn *fn, uint64_t from,
                       uint64_t stride, uint64_t modulo)
{
    static uint64_t ns[TIMES];

    for (uint64_t i = 0; i < TIMES; i++) {
        uint64_t key = from + i * stride % modulo, start = time_ns();

        fn(c, key);
        ns[i] = time_ns() - start;
    }
    show(what, ns, TIMES);
}

static void time_opening(const char *path)
{
    static uint64_t ns[TIMES];

    for (size_t i = 0; i < TIMES; i++) {
        uint64_t start = time_ns();
        cache *c = open_limited(path, 0);

        ns[i] = time_ns() - start;
        cache_unref(c);
    }
    show("open", ns, TIMES);
}

/* The file system's part of a store: the same bytes, synced the same way. */
static void time_bare_writes(const char *path)
{
    static uint64_t ns[TIMES];
    char name[4096], bytes_of_entry[ENTRY * 2] = {0};
    file_part part = {bytes_of_entry, sizeof bytes_of_entry};

    for (size_t i = 0; i < TIMES; i++) {
        uint64_t start = time_ns();

        snprintf(name, sizeof name, "%s/bare%zu", path, i);
        if (file_write_atomic(name, &part, 1) != HULL_OK)
            stop(name);
        ns[i] = time_ns() - start;
        remove(name);
    }
    show("a synced write of that size, bare", ns, TIMES);
}

int main(int argc, char **argv)
{
    uint64_t n = 200000, v[STAT_COUNT], start;
    struct stat s;
    cache *c;

    if (argc < 2 || argc > 3 || stat(argv[1], &s) == 0 ||
        (argc == 3 && (!str_to_u64(&n, str_of(argv[2])) || n < TIMES))) {
        fprintf(stderr, "usage: hull_bench_cache NEW-FOLDER [N >= %d]\n",
                TIMES);
        return 1;
    }
    c = open_limited(argv[1], 0);
    start = time_ns();
    fill(c, n);
    printf("%" PRIu64 " entries, made in %.1f s\n", n,
           (double)(time_ns() - start) / 1e9);
    printf("%-34s %9s %9s %9s\n", "microseconds", "median", "99 %", "most");
    start = time_ns();
    put(c, n); /* the first one counts the folder */
    printf("%-34s %9.1f\n", "first store, counts the folder",
           (double)(time_ns() - start) / 1e3);
    cache_unref(c);
    time_opening(argv[1]);
    c = open_limited(argv[1], 0);
    time_steps("hit", c, get, 0, 7919, n);
    time_steps("miss", c, get, 2 * n, 1, TIMES);
    time_bare_writes(argv[1]);
    time_steps("store", c, put, 3 * n, 1, TIMES);
    if (cache_stats(c, v) != HULL_OK)
        stop("counters");
    cache_unref(c);
    c = open_limited(argv[1], v[STAT_bytes]);
    time_steps("store that makes room", c, put, 4 * n, 1, TIMES);
    if (cache_stats(c, v) != HULL_OK)
        stop("counters");
    printf("evicted %" PRIu64 ", counts of the folder %" PRIu64 ", errors %"
           PRIu64 "\n", v[STAT_evicted], v[STAT_scans], v[STAT_errors]);
    cache_unref(c);
    return 0;
}
