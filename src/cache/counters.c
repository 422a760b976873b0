/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * counters.c - totals over all processes that use a cache folder. The file
 * "stats" is replaced as a whole, under a lock on the file "lock"; readers need
 * no lock. It is not synced: after a power cut some counts may be lost.
 */
#include "cache/disk.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define STATS_MAX_SIZE 65536
/* How long an operation may wait for the others. */
#define LOCK_WAIT_MS 1000

#define STAT(id, help) {#id, help},
static const struct {
    const char *name, *help;
} rows[STAT_COUNT] = {
#include "cache/stats.def"
};
#undef STAT

const char *cache_stat_name(cache_stat s)
{
    return rows[s].name;
}

const char *cache_stat_help(cache_stat s)
{
    return rows[s].help;
}

void counters_add(cache *c, cache_stat s, uint64_t n)
{
    atomic_fetch_add(&c->pending[s], n);
}

static int counters_lock(const cache *c)
{
    char *path = path_join(c->path, "lock");
    int fd = path != NULL ? disk_lock(path, LOCK_WAIT_MS) : -1;

    mem_free(path);
    return fd;
}

/* ---- the file ------------------------------------------------------------ */

/* Unknown names and malformed lines are skipped: the file decides nothing. */
static void parse_line(uint64_t out[STAT_COUNT], str line)
{
    str value;
    str name = str_split(line, ' ', &value);
    uint64_t v;

    for (int i = 0; i < STAT_COUNT; i++)
        if (str_is(name, rows[i].name) && str_to_u64(&v, value))
            out[i] = v;
}

static hull_status read_stats(const cache *c, uint64_t out[STAT_COUNT])
{
    char *path = path_join(c->path, "stats"), *text;
    hull_status st;
    size_t n;
    str rest;

    memset(out, 0, STAT_COUNT * sizeof *out);
    if (path == NULL)
        return fail_oom(strlen(c->path));
    st = file_read_all(&text, &n, path, STATS_MAX_SIZE);
    mem_free(path);
    if (st == HULL_ENOTFOUND)
        return HULL_OK;
    TRY(st);
    rest = (str){text, n};
    while (rest.n > 0)
        parse_line(out, str_split(rest, '\n', &rest));
    mem_free(text);
    return HULL_OK;
}

static bool write_file(const char *path, const buf *b)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                  0666);
    bool good;

    if (fd < 0)
        return false;
    good = write(fd, b->p, b->n) == (ssize_t)b->n;
    return close(fd) == 0 && good;
}

/* The lock is held, so the temp name is nobody else's. */
static bool write_stats(const cache *c, const uint64_t v[STAT_COUNT])
{
    char *tmp = path_join(c->path, ".hull-stats.tmp");
    char *path = path_join(c->path, "stats");
    bool good = false;
    buf b;

    buf_init(&b, STATS_MAX_SIZE);
    for (int i = 0; i < STAT_COUNT; i++)
        if (i != STAT_entries && i != STAT_bytes)
            buf_printf(&b, "%s %" PRIu64 "\n", rows[i].name, v[i]);
    if (tmp != NULL && path != NULL && buf_status(&b) == HULL_OK) {
        good = write_file(tmp, &b) && rename(tmp, path) == 0;
        if (!good)
            unlink(tmp);
    }
    buf_fini(&b);
    mem_free(tmp);
    mem_free(path);
    return good;
}

static bool add_to_stats(const cache *c, const uint64_t add[STAT_COUNT])
{
    uint64_t v[STAT_COUNT];

    if (read_stats(c, v) != HULL_OK)
        return false;
    for (int i = 0; i < STAT_COUNT; i++)
        v[i] += add[i];
    return write_stats(c, v);
}

void counters_flush(cache *c)
{
    uint64_t add[STAT_COUNT];
    bool any = false, good;
    int fd;

    for (int i = 0; i < STAT_COUNT; i++)
        any = any || atomic_load(&c->pending[i]) != 0;
    if (!any || c->read_only)
        return;
    fd = counters_lock(c);
    if (fd < 0) {
        log_debug("cache", "counters of '%s' stay in memory: no lock", c->path);
        return;
    }
    for (int i = 0; i < STAT_COUNT; i++)
        add[i] = atomic_exchange(&c->pending[i], 0);
    good = add_to_stats(c, add);
    disk_unlock(fd);
    for (int i = 0; !good && i < STAT_COUNT; i++)
        counters_add(c, (cache_stat)i, add[i]);
    if (!good)
        log_debug("cache", "counters of '%s' stay in memory", c->path);
}

hull_status counters_read(const cache *c, uint64_t out[STAT_COUNT])
{
    TRY(read_stats(c, out));
    for (int i = 0; i < STAT_COUNT; i++)
        out[i] += atomic_load(&c->pending[i]);
    out[STAT_entries] = out[STAT_bytes] = 0;
    return HULL_OK;
}
