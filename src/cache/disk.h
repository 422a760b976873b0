/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * disk.h - what the files of this folder share: the cache, the kinds of
 * entries, the folder on disk, the counters.
 *
 *   ROOT/CACHEDIR.TAG      backup programs skip the folder
 *   ROOT/v2/                all of this format, so that two versions of Hull
 *                           share a folder
 *     ab/cdef...89.KIND     one entry: 2 + 62 hex digits of its key
 *     tmp/WHAT-PID-...      being written, or on its way out
 *     bad/KEY.KIND          damaged entries that were set aside
 *     bad/KEY.KIND.why      one line: when, by whom, why
 *     locks/KEY.KIND.lock   flock of whoever builds or merges that entry
 *     usage                 bytes of all of these (space.h); its flock is held
 *                           whenever a name above changes
 *     victims               what goes next (victims.c)
 *     stats/0 ... stats/f   counters, lines "NAME NUMBER", to be added up
 */
#ifndef HULL_CACHE_DISK_H
#define HULL_CACHE_DISK_H

#include "cache/tier.h"

#include <stdatomic.h>
#include <sys/types.h>

/* Raised with the layout, the container's major version and whatever else
 * makes older entries useless: a Hull sees entries of its own format only. */
#define DISK_FORMAT "v2"
#define DISK_TEMP_FOLDER "tmp"
#define DISK_BAD_FOLDER "bad"
#define DISK_LOCK_FOLDER "locks"
#define DISK_STATS_FOLDER "stats"
#define DISK_WHY ".why"
#define DISK_SUFFIX_MAX 15
#define DISK_ENTRY_MAX ((uint64_t)1 << 32) /* bytes */
_Static_assert(CONTAINER_MAJOR == 1, "another container, another DISK_FORMAT");

struct hull_cache {
    _Atomic(uint32_t) refs;
    char *path;         /* ROOT */
    char *home;         /* ROOT/v2 */
    seal *seal;         /* NULL: no secret */
    memory *memory;
    remotes *remotes;
    uint64_t limit;     /* bytes; 0 = none */
    uint32_t wait_ms;   /* for another one's build */
    mode_t folder_mode, file_mode; /* of what is made here, and */
    gid_t group;
    _Atomic(bool) read_only; /* the folder, on demand or as it was found */
    _Atomic(bool) no_locks;  /* its file system has none */
    _Atomic(uint64_t) pending[STAT_COUNT]; /* not in stats/ yet */
    _Atomic(uint64_t) mine[STAT_COUNT];    /* of this handle */
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

/* ---- folder.c ------------------------------------------------------------ */

/* Makes the folder and its tag, removes what dead processes left in tmp/. A
 * folder that may only be read is good, too. */
hull_status disk_open(cache *c) MUST_CHECK;
/* Paths: NULL when memory is out; mem_free. */
char *disk_below(const cache *c, const char *name);
char *disk_path(const cache *c, const digest *key, cache_kind kind);
/* FOLDER/KEY.KIND and what follows */
char *disk_flat_path(const cache *c, const char *folder, const digest *key,
                     cache_kind kind, const char *more);
/* The key of an entry's path; false when the path is none of an entry. */
bool disk_key(digest *out, cache_kind *kind, const cache *c,
              const char *path);
/* The same for one that was set aside. */
bool disk_bad_key(digest *out, cache_kind *kind, const cache *c,
                  const char *path);

/* Opens a file, which it makes when it is absent, its folder too, with the
 * permissions of ROOT. */
hull_status disk_create(int *out, cache *c, const char *path, int flags)
    MUST_CHECK;
hull_status disk_make_above(const cache *c, const char *path) MUST_CHECK;
void disk_set_read_only(cache *c); /* said and counted once */

typedef enum disk_place {
    DISK_TEMP = 1, DISK_ENTRY = 2, DISK_BAD = 4
} disk_place;
typedef struct disk_file {
    disk_place place;
    const char *path;
    uint64_t size, ino;
    int64_t used_ns;
} disk_file;
/* Calls fn for every file of these places; its error stops the walk. An entry
 * may be of a kind that this Hull does not know. */
typedef hull_status disk_file_fn(void *user, const disk_file *f);
hull_status disk_walk(const cache *c, unsigned places, disk_file_fn *fn,
                      void *user) MUST_CHECK;
int64_t disk_ns(const struct timespec *t);

/* ---- temps.c ------------------------------------------------------------- */

/* Removes temp files of processes that died. */
void temps_purge(cache *c);

/* ---- disk.c -------------------------------------------------------------- */

/* Reads an entry's file into out->memory, unchecked; out->f is open on it and
 * names it, unless it cannot be opened. HULL_ENOTFOUND: there is none. */
hull_status disk_get(cache_entry *out, const cache *c, cache_kind kind,
                     const digest *key) MUST_CHECK;
hull_status disk_read(cache_entry *out, const char *path, bool follow)
    MUST_CHECK;
/* The same, with its preimage, which lives as long; of the sections that alone
 * is checked. */
hull_status disk_read_key(cache_entry *out, bytes *out_key, const char *path,
                          bool follow) MUST_CHECK;
bool disk_has(const cache *c, cache_kind kind, const digest *key);
/* Its time is the order of eviction; a refusal is no failure. */
void disk_touch(const cache *c, const file *f);
void disk_touch_key(const cache *c, cache_kind kind, const digest *key);
/* Writes an entry, after making room for it. *out_stored is false when there
 * was one already that is not to be replaced, when it is larger than the limit
 * (counted), and when the folder is read-only. */
hull_status disk_put(bool *out_stored, cache *c, cache_kind kind,
                     const digest *key, bytes content, bool replace)
    MUST_CHECK;
/* Moves an entry into bad/ unless it has been replaced since `id`. */
hull_status disk_set_aside(cache *c, const char *path, const file_id *id,
                           const char *why) MUST_CHECK;
/* Removes entries, damaged ones, temp files of dead processes. */
hull_status disk_clear(cache *c) MUST_CHECK;
/* Counts the folder anew and makes it fit the limit. */
hull_status disk_trim(cache *c) MUST_CHECK;

/* ---- locks.c ------------------------------------------------------------- */

typedef enum lock_outcome {
    LOCK_AT_ONCE,
    LOCK_WAITED,  /* had, after somebody else */
    LOCK_TIMEOUT, /* others had it all the time */
    LOCK_NONE,    /* the file system has no locks: the file is open */
    LOCK_REFUSED  /* the system refuses the file: this thread's error */
} lock_outcome;
/* Locks the file at path, made when it is absent; *out is its descriptor or
 * -1. The lock dies with its owner. */
lock_outcome disk_lock(int *out, cache *c, const char *path,
                       uint32_t wait_ms);
bool disk_try_flock(int fd);
void disk_unlock(int fd); /* accepts -1 */

/* ---- flight.c ------------------------------------------------------------ */

/* The lock of one entry; out->fd is -1 when it cannot be had in that time.
 * Inside a loop of the pool it does not wait. */
lock_outcome entry_lock(cache_build *out, cache *c, cache_kind kind,
                        const digest *key, uint32_t wait_ms);

/* ---- survey.c ------------------------------------------------------------ */

/* Reads an entry of the folder whole and checks all of it; *e is it, or what
 * could be opened of it. Nothing is counted, touched or set aside. */
hull_status entry_verify(cache_entry *e, const cache *c,
                         const cache_item *item) MUST_CHECK;

/* ---- counters.c ---------------------------------------------------------- */

/* Counts in memory; counters_flush adds that to a file of stats/. When the
 * system refuses, it stays in memory until the next flush. */
void counters_add(cache *c, cache_stat s, uint64_t n);
void counters_flush(cache *c);
/* The files' totals plus what is pending; entries and bytes stay 0. */
hull_status counters_read(const cache *c, uint64_t out[STAT_COUNT]) MUST_CHECK;

#endif
