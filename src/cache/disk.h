/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * disk.h - the folder under a cache, shared by cache.c (the verbs), disk.c
 * (names, moving aside, trimming) and counters.c (the stats file).
 *
 *   CACHEDIR.TAG            backup programs skip the folder
 *   ab/cdef...89.engine     one entry: 2 + 62 hex digits of its key
 *   ab/cdef...89.notes      lines of text under a key of their own
 *   bad/KEY.engine, .notes  damaged entries that were set aside
 *   stats                   text, one line "name value" per counter
 *   lock                    flock of whoever adds to stats or to notes
 *   ab/lock                 flock of whoever builds one of these entries
 *   .hull-*.tmp             being written, in any of these folders
 */
#ifndef HULL_CACHE_DISK_H
#define HULL_CACHE_DISK_H

#include "cache/cache.h"

#include <stdatomic.h>

struct hull_cache {
    _Atomic(uint32_t) refs;
    char *path;
    uint64_t limit;                      /* bytes; 0 = none */
    _Atomic(uint64_t) pending[STAT_COUNT]; /* not in the stats file yet */
};

/* ---- disk.c -------------------------------------------------------------- */

/* Makes the folder and its tag, removes temp files that nobody finishes. */
hull_status disk_open(cache *c) MUST_CHECK;
/* NULL when memory is out. Free with mem_free. */
char *disk_path(const cache *c, const digest *key, cache_kind kind);
/* The key of an entry's path; false when the path is none of an entry. */
bool disk_key(digest *out, cache_kind *kind, const cache *c,
              const char *path);
bool disk_is_bad(const cache *c, const char *path);
/* Moves an entry into bad/ unless it has been replaced since `id`. */
hull_status disk_set_aside(const cache *c, const char *path,
                           const file_id *id) MUST_CHECK;
/* Writes w under path. The first one stored wins: *out_stored is false when
 * there was an entry already. */
hull_status disk_store(bool *out_stored, const char *path,
                       container_writer *w) MUST_CHECK;
/* Removes the least recently used until the limit holds; damaged ones first.
 * *out_n counts what went. */
hull_status disk_trim(uint64_t *out_n, cache *c) MUST_CHECK;
/* Removes entries, damaged ones, temp files that nobody finishes. */
hull_status disk_clear(cache *c) MUST_CHECK;

/* Locks the file at path, made when it is absent: a descriptor, or -1 when the
 * system refuses or others hold it all the time. It dies with its owner. */
int disk_lock(const char *path, uint32_t wait_ms);
void disk_unlock(int fd); /* accepts -1 */

/* ---- cache.c, for notes.c ------------------------------------------------ */

/* An entry of that kind, its sections "key" and, of notes, "notes" there.
 * HULL_EFORMAT, HULL_EVERSION, or what the system says. */
hull_status disk_open_entry(cache_entry *out, bytes *out_key, cache_kind kind,
                            const char *path) MUST_CHECK;
/* Logs and counts what disk_open_entry said of a file that cannot be used:
 * damage is set aside. */
void disk_note_failure(cache *c, const char *path, const file_id *id,
                       hull_status st);

/* ---- counters.c ---------------------------------------------------------- */

/* Counts in memory; counters_flush adds that to the stats file. When the
 * system refuses, it stays in memory until the next flush. */
void counters_add(cache *c, cache_stat s, uint64_t n);
void counters_flush(cache *c);
/* The descriptor of the folder's lock, -1 when it cannot be had soon; given
 * back with disk_unlock. */
int counters_lock(const cache *c);
/* The file's totals plus what is pending; entries and bytes stay 0. */
hull_status counters_read(const cache *c, uint64_t out[STAT_COUNT]) MUST_CHECK;

#endif
