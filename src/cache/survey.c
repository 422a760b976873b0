/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * survey.c - what looks at all entries of a folder: list, statistics, verify,
 * clear.
 */
#include "cache/disk.h"
#include "cache/nearest.h"

#include <string.h>
#include <unistd.h>

/* ---- over all entries ---------------------------------------------------- */

typedef struct lister {
    cache *c;
    cache_item_fn *fn;
    void *user;
} lister;

static hull_status list_one(void *user, const disk_file *f)
{
    const lister *l = user;
    cache_item item = {
        .size = f->size, .used_ns = f->used_ns, .path = f->path};

    return disk_key(&item.key, &item.kind, l->c, f->path)
               ? l->fn(l->user, &item) : HULL_OK;
}

hull_status cache_list(cache *c, cache_item_fn *fn, void *user)
{
    lister l = {c, fn, user};

    return disk_walk(c, DISK_ENTRY, list_one, &l);
}

typedef struct bad_lister {
    cache *c;
    cache_bad_fn *fn;
    void *user;
} bad_lister;

/* Why the file at `path` was set aside, "" when that was not written. */
static hull_status read_why(buf *out, const char *path)
{
    char *text = NULL;
    hull_status st;
    size_t n = 0;

    buf_init(out, SIZE_MAX / 2);
    buf_printf(out, "%s" DISK_WHY, path);
    st = buf_status(out);
    if (st == HULL_OK)
        ignore(file_read_all(&text, &n, out->p, 4096)); /* says nothing then */
    buf_clear(out);
    buf_put(out, text, text != NULL ? strcspn(text, "\n") : 0);
    mem_free(text);
    return st == HULL_OK ? buf_status(out) : st;
}

static hull_status list_bad(void *user, const disk_file *f)
{
    const bad_lister *l = user;
    cache_bad_item item = {.size = f->size, .path = f->path};
    hull_status st;
    buf why;

    if (!disk_bad_key(&item.key, &item.kind, l->c, f->path))
        return HULL_OK;
    st = read_why(&why, f->path);
    item.why = why.p;
    if (st == HULL_OK)
        st = l->fn(l->user, &item);
    buf_fini(&why);
    return st;
}

hull_status cache_list_bad(cache *c, cache_bad_fn *fn, void *user)
{
    bad_lister l = {c, fn, user};

    return disk_walk(c, DISK_BAD, list_bad, &l);
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

hull_status entry_verify(cache_entry *e, const cache *c,
                         const cache_item *item)
{
    bytes key;
    digest d;

    TRY(disk_read(e, item->path, false));
    TRY(entry_open(e, c, item->kind, &item->key,
                   (bytes){e->memory->p, e->memory->n}, &key));
    d = digest_of(key.p, key.n);
    if (!digest_eq(&d, &item->key))
        return fail(HULL_EFORMAT, "entry has the name of another key");
    return HULL_OK;
}

typedef struct verifier {
    cache *c;
    cache_reason_fn *fn;
    void *user;
    uint64_t good, bad;
} verifier;

static hull_status verify_one(void *user, const cache_item *item)
{
    cache_entry e = CACHE_ENTRY_NONE;
    verifier *v = user;
    hull_status st = entry_verify(&e, v->c, item);

    if (st == HULL_OK)
        v->good++;
    else if (st != HULL_ENOTFOUND) { /* evicted meanwhile */
        v->bad++;
        if (v->fn != NULL)
            v->fn(v->user, item, error_text());
        disk_note_failure(v->c, &e.f, st);
    }
    cache_entry_close(&e);
    return HULL_OK;
}

hull_status cache_verify(cache *c, cache_reason_fn *fn, void *user,
                         uint64_t *out_good, uint64_t *out_bad)
{
    verifier v = {.c = c, .fn = fn, .user = user};
    hull_status st = cache_list(c, verify_one, &v);

    memory_clear(c->memory); /* what the folder does not vouch for goes, too */
    counters_flush(c);
    *out_good = v.good;
    *out_bad = v.bad;
    return st;
}

/* ---- one key ------------------------------------------------------------- */

/* Appends why the entry was set aside; nothing when it was not. */
static void put_aside(buf *b, const cache *c, cache_kind kind,
                      const digest *key)
{
    char *path = disk_flat_path(c, DISK_BAD_FOLDER, key, kind, "");
    buf why = {0};

    if (path != NULL && access(path, F_OK) == 0) {
        buf_puts(b, "an entry of this key was damaged and set aside");
        if (read_why(&why, path) == HULL_OK && why.n > 0)
            buf_printf(b, ": %s", why.p);
    }
    buf_fini(&why);
    mem_free(path);
}

hull_status cache_state(bool *out_hit, char **out_text, cache *c,
                        cache_kind kind, const cache_key *k)
{
    cache_entry e = CACHE_ENTRY_NONE;
    hull_status st;
    buf b;

    *out_text = NULL;
    error_clear();
    *out_hit = cache_peek(&e, c, kind, k);
    cache_entry_close(&e);
    if (*out_hit)
        return HULL_OK;
    buf_init(&b, 2 * ERROR_TEXT_MAX);
    if (cache_has(c, kind, k))
        buf_printf(&b, "the entry of this key cannot be used: %s",
                   error_text()[0] != '\0' ? error_text()
                                           : "its preimage is another one");
    else
        put_aside(&b, c, kind, &k->d);
    st = buf_status(&b);
    if (b.n > 0)
        *out_text = buf_take(&b);
    buf_fini(&b);
    return st;
}

hull_status cache_clear(cache *c)
{
    if (c->read_only)
        return fail(HULL_EINVAL, "cache '%s' is read-only", c->path);
    memory_clear(c->memory);
    return disk_clear(c);
}

hull_status cache_trim(cache *c)
{
    hull_status st = c->read_only
        ? fail(HULL_EINVAL, "cache '%s' is read-only", c->path)
        : disk_trim(c);

    counters_flush(c);
    return st;
}
