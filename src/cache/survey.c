/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * survey.c - what looks at all entries of a folder: list, statistics, verify,
 * clear.
 */
#include "cache/disk.h"

/* ---- over all entries ---------------------------------------------------- */

typedef struct lister {
    cache *c;
    cache_item_fn *fn;
    void *user;
} lister;

static hull_status list_one(void *user, const char *path, const file_id *id)
{
    const lister *l = user;
    cache_item item = {
        .size = id->size, .used_ns = id->mtime_ns, .path = path};

    return disk_key(&item.key, &item.kind, l->c, path)
               ? l->fn(l->user, &item) : HULL_OK;
}

hull_status cache_list(cache *c, cache_item_fn *fn, void *user)
{
    lister l = {c, fn, user};

    return dir_walk(c->path, list_one, &l);
}

static hull_status add_item(void *user, const cache_item *item)
{
    uint64_t *v = user;

    v[STAT_entries]++;
    v[STAT_bytes] += item->size;
    return HULL_OK;
}

hull_status cache_stats(cache *c, uint64_t out[STAT_COUNT])
{
    TRY(counters_read(c, out));
    return cache_list(c, add_item, out);
}

typedef struct verifier {
    cache *c;
    uint64_t good, bad;
} verifier;

static hull_status verify_entry(cache_entry *e, const cache *c,
                                const cache_item *item)
{
    bytes key;
    digest d;

    TRY(file_map(&e->f, item->path));
    TRY(entry_open(e, c, item->kind, &item->key,
                   (bytes){e->f.p, (size_t)e->f.size}, &key));
    d = digest_of(key.p, key.n);
    if (!digest_eq(&d, &item->key))
        return fail(HULL_EFORMAT, "entry has the name of another key");
    return HULL_OK;
}

static hull_status verify_one(void *user, const cache_item *item)
{
    cache_entry e = CACHE_ENTRY_NONE;
    verifier *v = user;
    hull_status st = verify_entry(&e, v->c, item);

    if (st == HULL_OK)
        v->good++;
    else if (st != HULL_ENOTFOUND) { /* evicted meanwhile */
        v->bad++;
        disk_note_failure(v->c, &e.f, st);
    }
    cache_entry_close(&e);
    return HULL_OK;
}

hull_status cache_verify(cache *c, uint64_t *out_good, uint64_t *out_bad)
{
    verifier v = {.c = c};
    hull_status st = cache_list(c, verify_one, &v);

    memory_clear(c->memory); /* what the folder does not vouch for goes, too */
    counters_flush(c);
    *out_good = v.good;
    *out_bad = v.bad;
    return st;
}

hull_status cache_clear(cache *c)
{
    if (c->read_only)
        return fail(HULL_EINVAL, "cache '%s' is read-only", c->path);
    memory_clear(c->memory);
    return disk_clear(c);
}
