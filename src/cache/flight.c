/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * flight.c - single flight: who builds an entry that several want. A lock file
 * holds its owner's number; one that is free and still has a number in it was
 * left by an owner that was killed.
 */
#include "cache/disk.h"

#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

lock_outcome entry_lock(cache_build *out, cache *c, cache_kind kind,
                        const digest *key, uint32_t wait_ms)
{
    lock_outcome o = LOCK_REFUSED;

    *out = CACHE_BUILD_NONE;
    if (atomic_load(&c->read_only))
        return o;
    out->path = disk_flat_path(c, DISK_LOCK_FOLDER, key, kind, ".lock");
    if (out->path != NULL)
        o = disk_lock(&out->fd, c, out->path, pool_inside() ? 0 : wait_ms);
    if (o == LOCK_NONE) { /* as good as none */
        disk_unlock(out->fd);
        out->fd = -1;
    }
    return o;
}

/* Writes our number; true when a killed owner's was there. */
static bool take_over(int fd)
{
    struct stat s;
    bool killed = fstat(fd, &s) == 0 && s.st_size > 0;
    char text[24];
    int n = snprintf(text, sizeof text, "%ld\n", (long)getpid());

    if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)n, 0) != n)
        log_debug("cache", "a lock file has no owner's number");
    return killed;
}

/* Another machine is asked when no process here had the entry meanwhile. */
void cache_build_begin(cache_build *out, cache *c, const cache_key *k,
                       double predicted_seconds)
{
    lock_outcome o = entry_lock(out, c, CACHE_ENGINE, &k->d, c->wait_ms);

    if (o == LOCK_WAITED)
        counters_add(c, STAT_waits, 1);
    if (o == LOCK_TIMEOUT)
        counters_add(c, STAT_wait_timeouts, 1);
    if (out->fd >= 0 && take_over(out->fd))
        counters_add(c, STAT_takeovers, 1);
    if (!pool_inside() && !cache_has(c, CACHE_ENGINE, k))
        remotes_lease(out, c, CACHE_ENGINE, &k->d, predicted_seconds);
    if (out->fd < 0)
        log_info("cache", "no lock in '%s': others may build the same",
                 c->path);
}

/* The file goes while its lock is held, so that those who wait for it see that
 * they hold the lock of a name that is gone: disk_lock takes the new one. */
void cache_build_end(cache_build *b)
{
    remotes_unlease(b);
    if (b->fd >= 0)
        unlink(b->path);
    disk_unlock(b->fd);
    mem_free(b->path);
    *b = CACHE_BUILD_NONE;
}

void cache_count_timed(cache *c, bool there)
{
    counters_add(c, there ? STAT_timed_hits : STAT_timed, 1);
    counters_flush(c);
}

void cache_count_build(cache *c)
{
    counters_add(c, STAT_builds, 1);
    counters_flush(c);
}

void cache_count_direct(cache *c, bool hit)
{
    counters_add(c, hit ? STAT_direct_hits : STAT_direct_misses, 1);
    counters_flush(c);
}
