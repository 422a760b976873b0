/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * cache.h - weightless engines in memory, on disk and in stores of other
 * machines. docs/cache.md has the key recipe and the layout. Three verbs, three
 * outcomes: hit, miss, failure; a failure is logged and counted, never fatal.
 * Only weightless engines enter.
 */
#ifndef HULL_CACHE_H
#define HULL_CACHE_H

#include "base/base.h"
#include "container/container.h"
#include "options/options.h"

/* ---- key.c: the recipe, field by field, in one function ------------------ */

#define KEY_FORMAT "hull-key 1"
#define KEY_PREIMAGE_MAX ((size_t)1 << 28)

typedef struct cache_key {
    digest d;        /* of the preimage */
    buf preimage;    /* text; stored in the entry and compared on a hit */
} cache_key;

/* A text of the caller's that says which format it is of: the preimage. */
hull_status cache_key_text(cache_key *out, str text) MUST_CHECK;
/* key = BLAKE2b-256(key format, target, CODE options, canonical block text). */
hull_status cache_key_make(cache_key *out, str backend, str target,
                           const options *o, str canonical_text) MUST_CHECK;
void cache_key_fini(cache_key *k);

/* ---- cache.c ------------------------------------------------------------- */

typedef struct hull_cache cache;

#define STAT(id, help) STAT_##id,
typedef enum cache_stat {
#include "cache/stats.def"
    STAT_COUNT
} cache_stat;
#undef STAT

/* path NULL: $HULL_CACHE_DIR, $XDG_CACHE_HOME/hull, ~/.cache/hull. */
hull_status cache_open(cache **out, const char *path, const options *o)
    MUST_CHECK;
void cache_unref(cache *c);
const char *cache_path(const cache *c);

/* What an entry is; one row per kind in kind.c. */
typedef enum cache_kind {
    CACHE_ENGINE, /* a weightless engine */
    CACHE_NOTES,  /* lines of text: notes.c */
    CACHE_PLAN,   /* a weightless plan without engines */
    CACHE_MANIFEST, /* a line of text: what a plan depends on */
    CACHE_KINDS
} cache_kind;
const char *cache_kind_name(cache_kind kind);

/* Bytes that several hold (memory.c). */
typedef struct blob {
    _Atomic(uint32_t) refs;
    size_t n;
    _Alignas(64) uint8_t p[];
} blob;
blob *blob_new(size_t n) MUST_CHECK; /* NULL: out of memory; one reference */
blob *blob_copy(bytes from) MUST_CHECK;
blob *blob_ref(blob *b);
void blob_unref(blob *b);

/* An entry that was found: its bytes and their container. A file of the folder
 * is read, not mapped: no later damage to it can stop the process. */
typedef struct cache_entry {
    file f;       /* of the folder; closed when it came from elsewhere */
    blob *memory;
    size_t store; /* number of the store that it came from; 0 = none */
    container *c;
} cache_entry;
#define CACHE_ENTRY_NONE ((cache_entry){.f = {.fd = -1}})
void cache_entry_close(cache_entry *e);

/* Asks memory, folder and stores; what a store has is written to the folder.
 * *out_hit false is a miss: absent everywhere, another preimage under the same
 * digest, damaged (then it is moved aside into bad/ and counted as corrupt) or
 * without the MAC that a secret asks for. Failures of the system and of stores
 * are misses too, counted as errors. */
void cache_get(cache_entry *out, bool *out_hit, cache *c, cache_kind kind,
               const cache_key *k);
/* Takes a hit back: its programs do not parse. The entry is closed, set aside
 * and counted as corrupt and as a miss. Text: this thread's error. */
void cache_reject(cache *c, cache_entry *e, cache_kind kind,
                  const cache_key *k);
/* Is there an entry in the folder (no read, no counters)? For `explain`. */
bool cache_has(cache *c, cache_kind kind, const cache_key *k);
/* As cache_get from the folder, but nothing is counted, touched or set
 * aside. */
bool cache_peek(cache_entry *out, const cache *c, cache_kind kind,
                const cache_key *k);
/* Stores the container under the key, in all tiers; it must have a section
 * "key" with the preimage and none called "slots", "sources" or "mac"; with a
 * secret it gets the latter. A failure is counted and logged. Of kinds that are
 * replaced the last one stays, else the first one. Applies cache_limit: least
 * recently used entries go. */
void cache_put(cache *c, cache_kind kind, const cache_key *k,
               container_writer *w);

/* ---- flight.c ------------------------------------------------------------ */

/* Single flight: of several processes and threads that want one absent entry,
 * one builds and the others wait for it and hit; and of several machines, when
 * a store has leases and the build is predicted to take five seconds or more:
 * nobody waits for another machine for longer than that prediction. Use:
 *     if (!cache_has(c, kind, k)) cache_build_begin(&b, c, k, s);   // waits
 *     cache_get(...);  on a miss: build, cache_put(...)
 *     cache_build_end(&b);                                 // b.fd -1: a no-op
 * The lock dies with its owner. Without it (the system refuses) everybody
 * builds. Never from two keys at once in one thread. */
typedef struct cache_build {
    int fd;
    char *path; /* of the lock file */
    struct lease *lease; /* of a store; NULL = none */
} cache_build;
#define CACHE_BUILD_NONE ((cache_build){.fd = -1})
void cache_build_begin(cache_build *out, cache *c, const cache_key *k,
                       double predicted_seconds);
void cache_build_end(cache_build *b);
/* Counts an engine that had to be built. */
void cache_count_build(cache *c);
/* Counts a node that tuning timed, or whose times were there. */
void cache_count_timed(cache *c, bool there);
/* Counts a compile that asked for a whole plan. */
void cache_count_direct(cache *c, bool hit);

/* ---- survey.c: over all entries ------------------------------------------ */

/* Totals over all processes (the counters file is locked while it is added
 * to). */
hull_status cache_stats(cache *c, uint64_t out[STAT_COUNT]) MUST_CHECK;
/* What this process did through c, written to the folder or not. */
void counters_process(const cache *c, uint64_t out[STAT_COUNT]);
const char *cache_stat_name(cache_stat s);
const char *cache_stat_help(cache_stat s);

typedef struct cache_item {
    cache_kind kind;
    digest key;
    uint64_t size;       /* bytes */
    int64_t used_ns;     /* last hit or store */
    const char *path;    /* valid during the callback */
} cache_item;
typedef hull_status cache_item_fn(void *user, const cache_item *item);
hull_status cache_list(cache *c, cache_item_fn *fn, void *user) MUST_CHECK;
/* fn, which may be NULL, is told of every bad entry and why; it is set aside
 * then. */
typedef void cache_reason_fn(void *user, const cache_item *item,
                          const char *reason);
hull_status cache_verify(cache *c, cache_reason_fn *fn, void *user,
                         uint64_t *out_good, uint64_t *out_bad) MUST_CHECK;
hull_status cache_clear(cache *c) MUST_CHECK;
/* Counts the folder anew, removes what dead processes left and what is beyond
 * cache_limit. */
hull_status cache_trim(cache *c) MUST_CHECK;

/* What a collection removed, and what is left. */
typedef struct cache_gc {
    uint64_t bad, old, evicted; /* entries: damaged, unused, beyond the limit */
    uint64_t others;            /* files of other formats */
    uint64_t bytes;             /* of all of these */
    uint64_t left, bytes_left;  /* entries */
} cache_gc;
/* Removes what was set aside, entries that nobody used since before_ns (0:
 * none), then what is beyond the limit; with other_formats, folders of other
 * formats of which no file is younger. */
hull_status cache_collect(cache_gc *out, cache *c, int64_t before_ns,
                          bool other_formats) MUST_CHECK;

/* An entry that was set aside. */
typedef struct cache_bad_item {
    cache_kind kind;
    digest key;
    uint64_t size;
    const char *path, *why; /* valid during the callback; why: one line with
                             * time and process, "" when it was not written */
} cache_bad_item;
typedef hull_status cache_bad_fn(void *user, const cache_bad_item *item);
hull_status cache_list_bad(cache *c, cache_bad_fn *fn, void *user) MUST_CHECK;

/* ---- notes.c: what was measured, in lines "NAME REST" -------------------- */

#define NOTES_MAX ((uint64_t)16 << 20) /* bytes under one key */

/* Appends the lines under a key; nothing when there are none, or when they are
 * damaged (then they are moved into bad/) or cannot be read. */
void cache_notes_get(cache *c, str key, buf *out);
/* Adds lines; those of the same names are replaced. A failure is counted and
 * logged. */
void cache_notes_put(cache *c, str key, str lines);
/* The same for texts in memory: `more` into `lines`. */
void notes_merge(buf *lines, str more);

#endif
