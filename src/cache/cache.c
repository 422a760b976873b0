/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * cache.c - the verbs of the engine cache: open, get, put, reject. What the
 * system refuses is logged and counted; no caller of get or put can fail
 * because of it. The public hull_cache_* stand at the end.
 */
#include "cache/disk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- open and close ------------------------------------------------------ */

static const char *get_env(const char *name)
{
    const char *v = getenv(name);

    return v != NULL && v[0] != '\0' ? v : NULL;
}

/* $HULL_CACHE_DIR, $XDG_CACHE_HOME/hull, ~/.cache/hull. A relative
 * XDG_CACHE_HOME does not count, its specification says. */
static hull_status default_path(char **out)
{
    const char *dir = get_env("HULL_CACHE_DIR"), *below = "";

    if (dir == NULL && (dir = get_env("XDG_CACHE_HOME")) != NULL) {
        below = "hull";
        dir = dir[0] == '/' ? dir : NULL;
    }
    if (dir == NULL && (dir = get_env("HOME")) != NULL)
        below = ".cache/hull";
    if (dir == NULL)
        return fail(HULL_ENOTFOUND, "no folder for the cache: HULL_CACHE_DIR, "
                    "XDG_CACHE_HOME and HOME are not set");
    *out = path_join(dir, below);
    return *out != NULL ? HULL_OK : fail_oom(strlen(dir));
}

static hull_status given_path(char **out, const char *path)
{
    size_t n = strlen(path);

    if (n == 0)
        return fail(HULL_EINVAL, "path of the cache is empty");
    while (n > 1 && path[n - 1] == '/')
        n--;
    *out = mem_strndup(path, n);
    return *out != NULL ? HULL_OK : fail_oom(n);
}

hull_status cache_open(cache **out, const char *path, const options *o)
{
    hull_status st = HULL_OK;
    cache *c = mem_calloc(1, sizeof *c);

    *out = NULL;
    if (c == NULL)
        return fail_oom(sizeof *c);
    atomic_init(&c->refs, 1);
    c->limit = (uint64_t)option_int(o, OPT_cache_limit);
    TRY_OUT(path != NULL ? given_path(&c->path, path)
                         : default_path(&c->path));
    TRY_OUT(note(disk_open(c), "opening the cache"));
    *out = c;
    c = NULL;
out:
    cache_unref(c);
    return st;
}

void cache_unref(cache *c)
{
    if (c == NULL || atomic_fetch_sub(&c->refs, 1) != 1)
        return;
    if (c->path != NULL)
        counters_flush(c);
    mem_free(c->path);
    mem_free(c);
}

const char *cache_path(const cache *c)
{
    return c->path;
}

/* ---- get ----------------------------------------------------------------- */

void cache_entry_close(cache_entry *e)
{
    if (e == NULL)
        return;
    container_free(e->c);
    file_close(&e->f);
    blob_unref(e->memory);
    *e = CACHE_ENTRY_NONE;
}

typedef enum found {
    FOUND, ABSENT, DAMAGED, COLLIDES, REFUSED
} found;

static bool is_damage(hull_status st)
{
    return st == HULL_EFORMAT || st == HULL_EVERSION;
}

static found found_of(hull_status st)
{
    return st == HULL_OK         ? FOUND
           : st == HULL_ENOTFOUND ? ABSENT
           : is_damage(st)       ? DAMAGED
                                 : REFUSED;
}

hull_status entry_open(cache_entry *out, cache_kind kind, bytes content,
                       bytes *out_key)
{
    TRY(container_open(&out->c, content, UINT64_MAX));
    return entry_check(out->c, kind, out_key);
}

static bool same_text(bytes key, const cache_key *k)
{
    return key.n == k->preimage.n && memcmp(key.p, k->preimage.p, key.n) == 0;
}

/* Reads the folder. */
static found look_up(cache_entry *out, const cache *c, cache_kind kind,
                     const cache_key *k)
{
    bytes key = {0};
    hull_status st = disk_get(&out->f, c, kind, &k->d);

    if (st == HULL_OK)
        st = entry_open(out, kind, (bytes){out->f.p, (size_t)out->f.size},
                        &key);
    if (st == HULL_OK && !same_text(key, k))
        return COLLIDES;
    return found_of(st);
}

static void count_refusal(cache *c)
{
    log_warn("cache", "%s", error_text());
    counters_add(c, STAT_errors, 1);
}

static void set_aside(cache *c, const char *path, const file_id *id)
{
    log_warn("cache", "damaged entry '%s' is set aside: %s", path,
             error_text());
    counters_add(c, STAT_corrupt, 1);
    if (disk_set_aside(c, path, id) != HULL_OK)
        count_refusal(c);
}

void disk_note_failure(cache *c, const file *f, hull_status st)
{
    if (is_damage(st) && f->path != NULL)
        set_aside(c, f->path, &f->id);
    else
        count_refusal(c);
}

/* What a look-up in the folder means besides its outcome. */
static void note_found(cache *c, found f, const cache_entry *e)
{
    switch (f) {
    case FOUND:
        disk_touch(c, &e->f);
        break;
    case ABSENT:
        break;
    case DAMAGED:
        disk_note_failure(c, &e->f, HULL_EFORMAT);
        break;
    case COLLIDES:
        log_warn("cache", "entry '%s' is of another key", e->f.path);
        counters_add(c, STAT_collisions, 1);
        break;
    case REFUSED:
        count_refusal(c);
        break;
    }
}

/* Notes decide nothing, so they are neither hits nor misses. */
static void count_outcome(cache *c, cache_kind kind, bool hit)
{
    if (kind == CACHE_ENGINE)
        counters_add(c, hit ? STAT_hits : STAT_misses, 1);
}

void cache_get(cache_entry *out, bool *out_hit, cache *c, cache_kind kind,
               const cache_key *k)
{
    found f;

    *out = CACHE_ENTRY_NONE;
    f = look_up(out, c, kind, k);
    note_found(c, f, out);
    *out_hit = f == FOUND;
    count_outcome(c, kind, *out_hit);
    if (!*out_hit)
        cache_entry_close(out);
    counters_flush(c);
}

void cache_reject(cache *c, cache_entry *e, cache_kind kind,
                  const cache_key *k)
{
    (void)k;
    disk_note_failure(c, &e->f, HULL_EFORMAT);
    count_outcome(c, kind, false);
    counters_flush(c);
    cache_entry_close(e);
}

bool cache_peek(cache_entry *out, const cache *c, cache_kind kind,
                const cache_key *k)
{
    bool hit;

    *out = CACHE_ENTRY_NONE;
    hit = look_up(out, c, kind, k) == FOUND;
    if (!hit)
        cache_entry_close(out);
    return hit;
}

bool cache_has(cache *c, cache_kind kind, const cache_key *k)
{
    return disk_has(c, kind, &k->d);
}

/* ---- put ----------------------------------------------------------------- */

static hull_status put(cache *c, cache_kind kind, const cache_key *k,
                       container_writer *w)
{
    hull_status st = HULL_OK;
    bool stored;
    buf content;

    TRY(entry_check_writer(w));
    TRY_OUT(container_write_buf(w, &content));
    TRY_OUT(disk_put(&stored, c, kind, &k->d,
                     (bytes){(const uint8_t *)content.p, content.n}));
    if (stored && kind == CACHE_ENGINE)
        counters_add(c, STAT_stores, 1);
out:
    buf_fini(&content);
    return st;
}

void cache_put(cache *c, cache_kind kind, const cache_key *k,
               container_writer *w)
{
    if (put(c, kind, k, w) != HULL_OK)
        count_refusal(c);
    counters_flush(c);
}

/* ---- hull.h -------------------------------------------------------------- */

hull_status hull_cache_open(hull_cache **out, const char *path,
                            const hull_options *o)
{
    if (out == NULL)
        return fail(HULL_EINVAL, "out must not be NULL");
    return cache_open(out, path, o);
}

hull_status hull_cache_stat(hull_cache *c, const char *counter, uint64_t *out)
{
    uint64_t v[STAT_COUNT];

    if (out != NULL)
        *out = 0;
    if (c == NULL || counter == NULL || out == NULL)
        return fail(HULL_EINVAL, "cache, counter and out must not be NULL");
    for (int i = 0; i < STAT_COUNT; i++) {
        if (strcmp(cache_stat_name((cache_stat)i), counter) != 0)
            continue;
        TRY(cache_stats(c, v));
        *out = v[i];
        return HULL_OK;
    }
    return fail(HULL_ENOTFOUND, "a cache has no counter '%s'", counter);
}

hull_status hull_cache_verify(hull_cache *c, uint64_t *out_good,
                              uint64_t *out_bad)
{
    if (out_good != NULL)
        *out_good = 0;
    if (out_bad != NULL)
        *out_bad = 0;
    if (c == NULL || out_good == NULL || out_bad == NULL)
        return fail(HULL_EINVAL, "cache, out_good and out_bad must not be "
                    "NULL");
    return cache_verify(c, out_good, out_bad);
}

hull_status hull_cache_clear(hull_cache *c)
{
    if (c == NULL)
        return fail(HULL_EINVAL, "cache must not be NULL");
    return cache_clear(c);
}

void hull_cache_unref(hull_cache *c)
{
    cache_unref(c);
}
