/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * memory.c - counted bytes, and the entries that one open cache keeps in
 * memory. Keys are digests, so their first bytes are the hash.
 */
#include "cache/tier.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* ---- blobs --------------------------------------------------------------- */

#define BLOB_ALIGN 64 /* of sections in a container */

blob *blob_new(size_t n)
{
    size_t size;
    blob *b;

    if (__builtin_add_overflow(sizeof *b, n, &size))
        return NULL;
    b = mem_alloc_aligned(BLOB_ALIGN, size);
    if (b == NULL)
        return NULL;
    atomic_init(&b->refs, 1);
    b->n = n;
    return b;
}

blob *blob_copy(bytes from)
{
    blob *b = blob_new(from.n);

    if (b != NULL && from.n > 0)
        memcpy(b->p, from.p, from.n);
    return b;
}

blob *blob_ref(blob *b)
{
    atomic_fetch_add(&b->refs, 1);
    return b;
}

void blob_unref(blob *b)
{
    if (b != NULL && atomic_fetch_sub(&b->refs, 1) == 1)
        mem_free(b);
}

/* ---- the tier ------------------------------------------------------------ */

#define BUCKETS 1024

typedef struct held held;
struct held {
    held *next;          /* of its bucket */
    held *newer, *older; /* by use */
    cache_kind kind;
    digest key;
    blob *b;
};

struct memory {
    pthread_mutex_t lock;
    uint64_t limit, bytes;
    held *newest, *oldest;
    held *buckets[BUCKETS];
};

hull_status memory_new(memory **out, uint64_t limit)
{
    memory *m = mem_calloc(1, sizeof *m);

    *out = m;
    if (m == NULL)
        return fail_oom(sizeof *m);
    pthread_mutex_init(&m->lock, NULL);
    m->limit = limit;
    return HULL_OK;
}

static held **place_of(memory *m, cache_kind kind, const digest *key)
{
    held **at = &m->buckets[(key->b[0] << 8 | key->b[1]) % BUCKETS];

    while (*at != NULL &&
           ((*at)->kind != kind || !digest_eq(&(*at)->key, key)))
        at = &(*at)->next;
    return at;
}

static void unchain(memory *m, held *h)
{
    *(h->newer != NULL ? &h->newer->older : &m->newest) = h->older;
    *(h->older != NULL ? &h->older->newer : &m->oldest) = h->newer;
}

static void chain(memory *m, held *h)
{
    h->newer = NULL;
    h->older = m->newest;
    *(m->newest != NULL ? &m->newest->newer : &m->oldest) = h;
    m->newest = h;
}

static void drop(memory *m, held **at)
{
    held *h = *at;

    *at = h->next;
    unchain(m, h);
    m->bytes -= h->b->n;
    blob_unref(h->b);
    mem_free(h);
}

bool memory_wants(const memory *m, uint64_t size)
{
    return size <= m->limit;
}

blob *memory_get(memory *m, cache_kind kind, const digest *key)
{
    blob *b = NULL;
    held *h;

    pthread_mutex_lock(&m->lock);
    h = *place_of(m, kind, key);
    if (h != NULL) {
        b = blob_ref(h->b);
        unchain(m, h);
        chain(m, h);
    }
    pthread_mutex_unlock(&m->lock);
    return b;
}

static void add(memory *m, cache_kind kind, const digest *key, blob *b)
{
    held *h = mem_calloc(1, sizeof *h), **at;

    if (h == NULL)
        return;
    *h = (held){.kind = kind, .key = *key, .b = blob_ref(b)};
    while (m->bytes > m->limit - b->n)
        drop(m, place_of(m, m->oldest->kind, &m->oldest->key));
    m->bytes += b->n;
    at = place_of(m, kind, key);
    *at = h;
    chain(m, h);
}

void memory_put(memory *m, cache_kind kind, const digest *key, blob *b)
{
    held **at;

    if (!memory_wants(m, b->n))
        return;
    pthread_mutex_lock(&m->lock);
    at = place_of(m, kind, key);
    if (*at != NULL)
        drop(m, at);
    add(m, kind, key, b);
    pthread_mutex_unlock(&m->lock);
}

void memory_remove(memory *m, cache_kind kind, const digest *key)
{
    held **at;

    pthread_mutex_lock(&m->lock);
    at = place_of(m, kind, key);
    if (*at != NULL)
        drop(m, at);
    pthread_mutex_unlock(&m->lock);
}

void memory_clear(memory *m)
{
    pthread_mutex_lock(&m->lock);
    while (m->oldest != NULL)
        drop(m, place_of(m, m->oldest->kind, &m->oldest->key));
    pthread_mutex_unlock(&m->lock);
}

void memory_free(memory *m)
{
    if (m == NULL)
        return;
    memory_clear(m);
    pthread_mutex_destroy(&m->lock);
    mem_free(m);
}
