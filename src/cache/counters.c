/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * counters.c - totals over all processes that use a cache folder. They are
 * spread over 16 files, which a reader adds up; a writer takes the first one
 * that nobody else has locked and never waits. Lines of other versions' names
 * are kept. The files are not synced: after a power cut some counts may be
 * lost.
 */
#include "cache/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define SHARDS 16
#define STATS_MAX_SIZE 65536
/* How often a reader looks whether a writer is done, 0.1 ms apart. */
#define READ_TRIES 1000

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
    atomic_fetch_add(&c->mine[s], n);
}

/* ---- a file -------------------------------------------------------------- */

static char *shard_path(const cache *c, unsigned i)
{
    char name[32];

    snprintf(name, sizeof name, DISK_STATS_FOLDER "/%x", i % SHARDS);
    return disk_below(c, name);
}

/* Unknown names are no numbers of ours; malformed lines are skipped: the file
 * decides nothing. */
static bool parse_line(str *name, uint64_t *v, str line)
{
    str value;

    *name = str_split(line, ' ', &value);
    return name->n > 0 && str_to_u64(v, value);
}

static int row_of(str name)
{
    int i = 0;

    while (i < STAT_COUNT && !str_is(name, rows[i].name))
        i++;
    return i;
}

static bool read_text(buf *out, int fd)
{
    char text[4096];
    ssize_t n;
    off_t at = 0;

    while ((n = pread(fd, text, sizeof text, at)) > 0) {
        buf_put(out, text, (size_t)n);
        at += n;
    }
    return n == 0 && buf_status(out) == HULL_OK;
}

static void put_line(buf *out, str name, uint64_t v)
{
    buf_printf(out, "%.*s %020" PRIu64 "\n", STR_ARG(name), v);
}

/* The lines of old, with what is to be added; numbers have one width, so the
 * size changes with a new name only. */
static void add_to_text(buf *out, str old, const uint64_t add[STAT_COUNT])
{
    bool there[STAT_COUNT + 1] = {false};
    uint64_t v;
    str name;

    while (old.n > 0) {
        if (!parse_line(&name, &v, str_split(old, '\n', &old)))
            continue;
        int i = row_of(name);

        if (i < STAT_COUNT && there[i])
            continue;
        there[i] = true;
        put_line(out, name, v + (i < STAT_COUNT ? add[i] : 0));
    }
    for (int i = 0; i < STAT_COUNT; i++)
        if (!there[i] && add[i] != 0)
            put_line(out, str_of(rows[i].name), add[i]);
}

static bool add_to_file(int fd, const uint64_t add[STAT_COUNT])
{
    bool good = false;
    buf old, text;

    buf_init(&old, STATS_MAX_SIZE);
    buf_init(&text, STATS_MAX_SIZE);
    if (read_text(&old, fd)) {
        add_to_text(&text, buf_view(&old), add);
        good = buf_status(&text) == HULL_OK &&
               pwrite(fd, text.p, text.n, 0) == (ssize_t)text.n &&
               (text.n >= old.n || ftruncate(fd, (off_t)text.n) == 0);
    }
    buf_fini(&old);
    buf_fini(&text);
    return good;
}

/* ---- flush --------------------------------------------------------------- */

/* Does not bring a folder back that was removed. */
static int open_shard(cache *c, unsigned i)
{
    char *path = shard_path(c, i);
    int fd = -1;

    if (path != NULL) {
        fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0 && errno == ENOENT && access(c->home, F_OK) == 0 &&
            disk_create(&fd, c, path, O_RDWR) != HULL_OK)
            log_debug("cache", "%s", error_text());
    }
    mem_free(path);
    return fd;
}

/* A file that nobody else writes now, locked; -1 when there is none. */
static int lock_shard(cache *c)
{
    unsigned first = (unsigned)getpid() ^ (unsigned)(pthread_self() >> 12);

    for (unsigned i = 0; i < SHARDS; i++) {
        int fd = open_shard(c, first + i);

        if (fd < 0)
            return -1;
        if (disk_try_flock(fd) || atomic_load(&c->no_locks))
            return fd;
        close(fd);
    }
    return -1;
}

void counters_flush(cache *c)
{
    uint64_t add[STAT_COUNT];
    bool any = false, good;
    int fd;

    for (int i = 0; i < STAT_COUNT; i++)
        any = any || atomic_load(&c->pending[i]) != 0;
    if (!any || atomic_load(&c->read_only))
        return;
    fd = lock_shard(c);
    if (fd < 0) {
        log_debug("cache", "counters of '%s' stay in memory", c->path);
        return;
    }
    for (int i = 0; i < STAT_COUNT; i++)
        add[i] = atomic_exchange(&c->pending[i], 0);
    good = add_to_file(fd, add);
    disk_unlock(fd);
    for (int i = 0; !good && i < STAT_COUNT; i++)
        atomic_fetch_add(&c->pending[i], add[i]);
    if (!good)
        log_debug("cache", "counters of '%s' stay in memory", c->path);
}

/* ---- read ---------------------------------------------------------------- */

/* A writer that is stopped does not stop a reader. */
static void wait_for_writer(int fd)
{
    const struct timespec pause = {0, 100000};

    for (int i = 0; i < READ_TRIES; i++) {
        if (flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK)
            return;
        nanosleep(&pause, NULL);
    }
}

static void add_up(uint64_t out[STAT_COUNT], str text)
{
    uint64_t v;
    str name;

    while (text.n > 0) {
        if (!parse_line(&name, &v, str_split(text, '\n', &text)))
            continue;
        int i = row_of(name);

        if (i < STAT_COUNT)
            out[i] += v;
    }
}

static hull_status read_shard(uint64_t out[STAT_COUNT], const cache *c,
                              unsigned i)
{
    char *path = shard_path(c, i);
    hull_status st = HULL_OK;
    buf text;
    int fd;

    if (path == NULL)
        return fail_oom(strlen(c->home));
    buf_init(&text, STATS_MAX_SIZE);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno != ENOENT)
        st = file_fail("opening", path);
    if (fd >= 0) {
        wait_for_writer(fd);
        if (!read_text(&text, fd))
            st = file_fail("reading", path);
        disk_unlock(fd);
    }
    if (st == HULL_OK)
        add_up(out, buf_view(&text));
    buf_fini(&text);
    mem_free(path);
    return st;
}

hull_status counters_read(const cache *c, uint64_t out[STAT_COUNT])
{
    memset(out, 0, STAT_COUNT * sizeof *out);
    for (unsigned i = 0; i < SHARDS; i++)
        TRY(read_shard(out, c, i));
    for (int i = 0; i < STAT_COUNT; i++)
        out[i] += atomic_load(&c->pending[i]);
    out[STAT_entries] = out[STAT_bytes] = 0;
    return HULL_OK;
}

void counters_process(const cache *c, uint64_t out[STAT_COUNT])
{
    for (int i = 0; i < STAT_COUNT; i++)
        out[i] = atomic_load(&c->mine[i]);
}
