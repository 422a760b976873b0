/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * flight.c - single flight: who builds an entry that several want.
 */
#include "cache/disk.h"

#include <limits.h>
#include <unistd.h>

/* Longer than any build that somebody waits for; then two build. */
#define BUILD_WAIT_MS 300000

void entry_lock(cache_build *out, const cache *c, cache_kind kind,
                const digest *key, uint32_t wait_ms)
{
    char *entry = disk_path(c, key, kind), *folder = NULL;
    buf path;

    *out = CACHE_BUILD_NONE;
    buf_init(&path, PATH_MAX);
    if (c->read_only || entry == NULL || (folder = path_dir(entry)) == NULL)
        goto out;
    buf_printf(&path, "%s.lock", entry);
    out->path = buf_take(&path);
    if (out->path != NULL && dir_make(folder) == HULL_OK)
        out->fd = disk_lock(out->path, wait_ms);
out:
    buf_fini(&path);
    mem_free(folder);
    mem_free(entry);
}

void cache_build_begin(cache_build *out, cache *c, const cache_key *k)
{
    entry_lock(out, c, CACHE_ENGINE, &k->d, BUILD_WAIT_MS);
    if (out->fd < 0)
        log_info("cache", "no lock in '%s': others may build the same",
                 c->path);
}

/* The file goes while its lock is held, so that those who wait for it see that
 * they hold the lock of a name that is gone: disk_lock takes the new one. */
void cache_build_end(cache_build *b)
{
    if (b->fd >= 0)
        unlink(b->path);
    disk_unlock(b->fd);
    mem_free(b->path);
    *b = CACHE_BUILD_NONE;
}

void cache_count_build(cache *c)
{
    counters_add(c, STAT_builds, 1);
    counters_flush(c);
}
