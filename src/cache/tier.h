/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * tier.h - what stands before and behind the folder: entries in memory, and
 * stores that other machines share. cache.c asks them in the order memory,
 * folder, stores; docs/cache.md says what each failure costs.
 */
#ifndef HULL_CACHE_TIER_H
#define HULL_CACHE_TIER_H

#include "cache/envelope.h"

#include <pthread.h>
#include <signal.h>
#include <sys/types.h>

/* ---- memory.c: entries of this process, the least recently used go ------- */

typedef struct memory memory;

/* limit: bytes of entries; 0 = nothing stays. */
hull_status memory_new(memory **out, uint64_t limit) MUST_CHECK;
void memory_free(memory *m);
bool memory_wants(const memory *m, uint64_t size);
/* A reference, NULL when there is none. */
blob *memory_get(memory *m, cache_kind kind, const digest *key);
/* Takes a reference of its own. Without room or memory nothing happens. */
void memory_put(memory *m, cache_kind kind, const digest *key, blob *b);
void memory_remove(memory *m, cache_kind kind, const digest *key);
void memory_clear(memory *m);

/* ---- remote_url.c: what the option cache_remote says of one store -------- */

#define TIER_PAUSE_MS 30000

typedef enum tier_layout {
    LAYOUT_SUBDIRS, /* URL/ab/cdef... */
    LAYOUT_FLAT,    /* URL/abcdef... */
    LAYOUT_BAZEL    /* URL/ac/abcdef... */
} tier_layout;

/*   store     := url ("|" attribute)*          stores are separated by spaces
 *   url       := scheme ":" ["//" [user [":" password] "@"] host [":" port]]
 *                path ["?" query]
 *   attribute := name ["=" value]              the rows of remote_url.c
 * Texts are NUL-terminated and live in `memory`; "" where there is none. */
typedef struct tier_config {
    arena memory;
    size_t number;     /* in the list, from 1 */
    const char *scheme, *user, *password, *host, *path, *query;
    uint32_t port;     /* 0: the scheme's */
    const char *shown; /* for logs and errors: no user, no query */
    bool read_only;
    uint64_t ttl_s;    /* 0 = for ever */
    uint64_t timeout_ms, connect_ms; /* of one call, of making a connection */
    uint64_t pause_ms; /* before a store that failed is asked again */
    uint64_t retries;
    uint64_t max_size; /* of an entry, bytes, packed and unpacked */
    tier_layout layout;
    const char *token_file, *cacert, *proxy;
    const char *headers[8];
    size_t n_headers;
} tier_config;

/* Reads one store. Errors name its number in the list and its scheme, nothing
 * else of it. */
hull_status tier_config_read(tier_config *out, str store, size_t number)
    MUST_CHECK;
void tier_config_fini(tier_config *t);
/* Any text as it may be shown: without what may be a secret. */
void url_redacted(buf *out, str url);

/* ---- remote.c: the stores ------------------------------------------------ */

/* What one call of a store did besides its outcome. */
typedef struct tier_call {
    uint64_t sent, received; /* bytes of values */
    bool timed_out;
} tier_call;

/* A kind of store. Three verbs, three outcomes: HULL_OK, HULL_ENOTFOUND for
 * none, anything else is a failure. Called by several threads at once. Names
 * are 64 hex digits, values are envelopes. */
typedef struct tier_ops {
    hull_status (*get)(void *self, tier_call *call, const char *name,
                       buf *out);
    hull_status (*put)(void *self, tier_call *call, const char *name,
                       bytes value);
    hull_status (*remove)(void *self, tier_call *call, const char *name);
    /* Is there one? */
    hull_status (*has)(void *self, tier_call *call, const char *name);
    /* A lease on building an entry, for ms: HULL_ENOTFOUND when another one
     * has it. NULL: the store has none. */
    hull_status (*lease)(void *self, tier_call *call, const char *name,
                         const char *token, uint32_t ms);
    /* HULL_ENOTFOUND: it is no longer ours. */
    hull_status (*renew)(void *self, tier_call *call, const char *name,
                         const char *token, uint32_t ms);
    hull_status (*unlease)(void *self, tier_call *call, const char *name,
                           const char *token);
    void (*close)(void *self);
} tier_ops;

/* One kind of URL; a row per scheme in remote.c. The config lives as long as
 * what is opened. */
typedef hull_status tier_open_fn(const tier_ops **out_ops, void **out,
                                 const tier_config *t);
tier_open_fn http_open, redis_open;

typedef struct remotes remotes;

hull_status remotes_open(remotes **out, str stores) MUST_CHECK;
void remotes_close(remotes *r);
/* Adds one at the end and takes self; read_only: no puts. */
hull_status remotes_add(remotes *r, const tier_ops *ops, void *self,
                        bool read_only) MUST_CHECK;

/* Is there a store that takes entries? */
bool remotes_any(const remotes *r);

/* The name of an entry in stores: hex digits of BLAKE2b-256("hull-remote 1\n"
 * kind "\n" key), so that other formats and kinds stand beside it. */
void remote_name(char out[DIGEST_HEX_SIZE], cache_kind kind,
                 const digest *key);
/* Asks store after store for a good entry; out->store is the number of the one
 * that has it. Counts all but the hit. */
bool remotes_get(cache_entry *out, cache *c, cache_kind kind,
                 const cache_key *k);
/* Sends an entry's file to all stores that take some. Counts. */
void remotes_put(cache *c, cache_kind kind, const digest *key, bytes content);
/* Takes a bad entry out of the store of that number; 0: of none. */
void remotes_remove(cache *c, size_t number, cache_kind kind,
                    const digest *key);

/* Takes a lease on building an entry, where a store has leases; waits while
 * another machine has it, but no longer than `seconds`, and not when the entry
 * has come. Builds of less than five seconds are not waited for. A thread
 * renews it until its end. */
void remotes_lease(cache_build *b, cache *c, cache_kind kind,
                   const digest *key, double seconds);
void remotes_unlease(cache_build *b);

/* ---- connection.c: what stores on the network share ---------------------- */

/* Connections that wait for the next call. Those that a process had when it
 * forked stay its own: a child forgets them. */
#define IDLE_MAX 8
typedef struct idle {
    pthread_mutex_t lock;
    void *p[IDLE_MAX];
    size_t n;
    pid_t owner;
    void (*close)(void *connection);
} idle;
void idle_init(idle *i, void (*close)(void *connection));
void idle_fini(idle *i);
void *idle_take(idle *i); /* NULL when none waits */
void idle_give(idle *i, void *connection);

/* Writing to a connection that the other end closed must not end the process.
 * Between the two SIGPIPE is held back in this thread. */
typedef struct no_sigpipe {
    bool pending;
    sigset_t old;
} no_sigpipe;
void no_sigpipe_begin(no_sigpipe *s);
void no_sigpipe_end(no_sigpipe *s);

/* Milliseconds until `end` (time_ns), 0 when it has passed. */
uint64_t ms_left(uint64_t end);
/* Sleeps for ms, half of them to one and a half, never beyond `end`. */
void pause_about(uint64_t ms, uint64_t end);

#endif
