/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * disk.h - what the files of this folder share: the cache, the kinds of
 * entries, the folder on disk, the counters.
 *
 *   CACHEDIR.TAG            backup programs skip the folder
 *   ab/cdef...89.KIND       one entry: 2 + 62 hex digits of its key
 *   ab/cdef...89.KIND.lock  flock of whoever builds or merges that entry
 *   bad/KEY.KIND            damaged entries that were set aside
 *   stats                   text, one line "name value" per counter
 *   lock                    flock of whoever adds to stats
 *   .hull-*.tmp             being written, in any of these folders
 */
#ifndef HULL_CACHE_DISK_H
#define HULL_CACHE_DISK_H

#include "cache/tier.h"

#include <stdatomic.h>

struct hull_cache {
    _Atomic(uint32_t) refs;
    char *path;
    bool read_only;                      /* of the folder */
    seal *seal;                          /* NULL: no secret */
    memory *memory;
    remotes *remotes;
    uint64_t limit;                      /* bytes; 0 = none */
    _Atomic(uint64_t) pending[STAT_COUNT]; /* not in the stats file yet */
};

/* ---- kind.c -------------------------------------------------------------- */

typedef struct kind_row {
    const char *name, *suffix;
    container_kind container;
    const char *section; /* that it must have besides "key"; NULL = none */
    bool replaced;       /* by a later one; else the first one stays */
    bool local;          /* never sent to a store nor asked from one */
} kind_row;
extern const kind_row cache_kinds[CACHE_KINDS];

/* HULL_EFORMAT unless c is an entry of that kind; *out_key is its preimage. */
hull_status entry_check(container *c, cache_kind kind, bytes *out_key)
    MUST_CHECK;
hull_status entry_check_writer(const container_writer *w) MUST_CHECK;

/* ---- cache.c ------------------------------------------------------------- */

/* Opens and checks an entry's bytes, which must outlive it. HULL_EMISMATCH: it
 * does not have the MAC that a secret asks for. */
hull_status entry_open(cache_entry *out, const cache *c, cache_kind kind,
                       const digest *key, bytes content, bytes *out_key)
    MUST_CHECK;
/* Logs and counts what was said of an entry's file that cannot be used: damage
 * is set aside. */
void disk_note_failure(cache *c, const file *f, hull_status st);

/* ---- disk.c -------------------------------------------------------------- */

/* Makes the folder and its tag, removes temp files that nobody finishes. */
hull_status disk_open(cache *c) MUST_CHECK;
/* NULL when memory is out. Free with mem_free. */
char *disk_path(const cache *c, const digest *key, cache_kind kind);
/* The key of an entry's path; false when the path is none of an entry. */
bool disk_key(digest *out, cache_kind *kind, const cache *c,
              const char *path);
bool disk_is_bad(const cache *c, const char *path);

/* Maps an entry's file, unchecked. HULL_ENOTFOUND: there is none. */
hull_status disk_get(file *out, const cache *c, cache_kind kind,
                     const digest *key) MUST_CHECK;
bool disk_has(const cache *c, cache_kind kind, const digest *key);
/* Its time is the order of eviction; a refusal is no failure. */
void disk_touch(const cache *c, const file *f);
void disk_touch_key(const cache *c, cache_kind kind, const digest *key);
/* Writes an entry, after making room for it. *out_stored is false when there
 * was one already that is not to be replaced. */
hull_status disk_put(bool *out_stored, cache *c, cache_kind kind,
                     const digest *key, bytes content, bool replace)
    MUST_CHECK;
/* Moves an entry into bad/ unless it has been replaced since `id`. */
hull_status disk_set_aside(const cache *c, const char *path,
                           const file_id *id) MUST_CHECK;
/* Removes entries, damaged ones, temp files that nobody finishes. */
hull_status disk_clear(cache *c) MUST_CHECK;

/* Locks the file at path, made when it is absent: a descriptor, or -1 when the
 * system refuses or others hold it all the time. It dies with its owner. */
int disk_lock(const char *path, uint32_t wait_ms);
void disk_unlock(int fd); /* accepts -1 */

/* ---- flight.c ------------------------------------------------------------ */

/* The lock of one entry; *out.fd is -1 when it cannot be had in that time. */
void entry_lock(cache_build *out, const cache *c, cache_kind kind,
                const digest *key, uint32_t wait_ms);

/* ---- counters.c ---------------------------------------------------------- */

/* Counts in memory; counters_flush adds that to the stats file. When the
 * system refuses, it stays in memory until the next flush. */
void counters_add(cache *c, cache_stat s, uint64_t n);
void counters_flush(cache *c);
/* The file's totals plus what is pending; entries and bytes stay 0. */
hull_status counters_read(const cache *c, uint64_t out[STAT_COUNT]) MUST_CHECK;

#endif
