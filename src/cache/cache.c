/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * cache.c - the verbs of the engine cache on disk: get, put, verify, list,
 * clear. What the system refuses is logged and counted; no caller of get or
 * put can fail because of it. The public hull_cache_* stand at the end.
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
    *e = (cache_entry){.f = {.fd = -1}};
}

typedef enum found {
    FOUND, ABSENT, DAMAGED, COLLIDES, REFUSED
} found;

hull_status disk_open_entry(cache_entry *out, bytes *out_key, cache_kind kind,
                            const char *path)
{
    container_kind want = kind == CACHE_NOTES ? CONTAINER_NOTES
                                              : CONTAINER_ENGINE;

    TRY(file_map(&out->f, path));
    file_count_read(out->f.size);
    TRY(container_open(&out->c, (bytes){out->f.p, (size_t)out->f.size},
                       UINT64_MAX));
    if (container_kind_of(out->c) != want)
        return fail(HULL_EFORMAT, "entry is no %s",
                    kind == CACHE_NOTES ? "notes" : "engine");
    if (kind == CACHE_NOTES && !container_has(out->c, "notes"))
        return fail(HULL_EFORMAT, "entry has no section 'notes'");
    if (container_has(out->c, "slots") || container_has(out->c, "sources"))
        return fail(HULL_EFORMAT, "entry holds weights");
    return container_get(out->c, "key", KEY_PREIMAGE_MAX, out_key);
}

static bool is_damage(hull_status st)
{
    return st == HULL_EFORMAT || st == HULL_EVERSION;
}

static found look_up(cache_entry *out, const char *path, const cache_key *k)
{
    bytes key;
    hull_status st = disk_open_entry(out, &key, CACHE_ENGINE, path);

    if (st != HULL_OK)
        return st == HULL_ENOTFOUND ? ABSENT
               : is_damage(st)      ? DAMAGED
                                    : REFUSED;
    return key.n == k->preimage.n && memcmp(key.p, k->preimage.p, key.n) == 0
               ? FOUND
               : COLLIDES;
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

void disk_note_failure(cache *c, const char *path, const file_id *id,
                       hull_status st)
{
    if (is_damage(st))
        set_aside(c, path, id);
    else
        count_refusal(c);
}

static void count_lookup(cache *c, found f, const char *path,
                         const cache_entry *e)
{
    switch (f) {
    case FOUND:
        counters_add(c, STAT_hits, 1);
        /* Its time is the order of eviction; without it the entry is only
         * taken for older than it is. */
        if (futimens(e->f.fd, NULL) != 0)
            log_debug("cache", "cannot touch '%s'", path);
        return;
    case ABSENT:
        break;
    case DAMAGED:
        set_aside(c, path, &e->f.id);
        break;
    case COLLIDES:
        log_warn("cache", "entry '%s' is of another key", path);
        counters_add(c, STAT_collisions, 1);
        break;
    case REFUSED:
        count_refusal(c);
        break;
    }
    counters_add(c, STAT_misses, 1);
}

void cache_get(cache_entry *out, bool *out_hit, cache *c, const cache_key *k)
{
    char *path = disk_path(c, &k->d, CACHE_ENGINE);
    found f = REFUSED;

    *out = (cache_entry){.f = {.fd = -1}};
    if (path != NULL)
        f = look_up(out, path, k);
    else
        ignore(fail_oom(DIGEST_HEX_SIZE)); /* count_lookup logs it */
    count_lookup(c, f, path, out);
    *out_hit = f == FOUND;
    if (!*out_hit)
        cache_entry_close(out);
    counters_flush(c);
    mem_free(path);
}

void cache_reject(cache *c, cache_entry *e)
{
    set_aside(c, e->f.path, &e->f.id);
    counters_add(c, STAT_misses, 1);
    counters_flush(c);
    cache_entry_close(e);
}

bool cache_peek(cache_entry *out, const cache *c, const cache_key *k)
{
    char *path = disk_path(c, &k->d, CACHE_ENGINE);
    bool hit;

    *out = (cache_entry){.f = {.fd = -1}};
    hit = path != NULL && look_up(out, path, k) == FOUND;
    if (!hit)
        cache_entry_close(out);
    mem_free(path);
    return hit;
}

bool cache_has(cache *c, const cache_key *k)
{
    char *path = disk_path(c, &k->d, CACHE_ENGINE);
    bool has = path != NULL && access(path, R_OK) == 0;

    mem_free(path);
    return has;
}

/* ---- single flight ------------------------------------------------------- */

/* Longer than any build that somebody waits for; then two build. */
#define BUILD_WAIT_MS 300000

void cache_build_begin(cache_build *out, cache *c, const cache_key *k)
{
    char *path = disk_path(c, &k->d, CACHE_ENGINE);
    char *folder = NULL, *lock = NULL;

    out->fd = -1;
    if (path != NULL)
        folder = path_dir(path);
    if (folder != NULL)
        lock = path_join(folder, "lock");
    if (lock != NULL && dir_make(folder) == HULL_OK)
        out->fd = disk_lock(lock, BUILD_WAIT_MS);
    if (out->fd < 0)
        log_info("cache", "no lock in '%s': others may build the same",
                 c->path);
    mem_free(path);
    mem_free(folder);
    mem_free(lock);
}

void cache_build_end(cache_build *b)
{
    disk_unlock(b->fd);
    b->fd = -1;
}

/* ---- put ----------------------------------------------------------------- */

static hull_status check_writer(const container_writer *w)
{
    if (!container_writer_has(w, "key"))
        return fail(HULL_EINVAL, "an entry needs a section 'key'");
    if (container_writer_has(w, "slots") || container_writer_has(w, "sources"))
        return fail(HULL_EINVAL, "an entry with weights is not stored");
    return HULL_OK;
}

static hull_status put(cache *c, const cache_key *k, container_writer *w)
{
    char *path = disk_path(c, &k->d, CACHE_ENGINE);
    hull_status st = HULL_OK;
    uint64_t evicted;
    bool stored;

    if (path == NULL)
        return fail_oom(DIGEST_HEX_SIZE);
    TRY_OUT(check_writer(w));
    TRY_OUT(disk_store(&stored, path, w));
    if (!stored) {
        log_debug("cache", "'%s' was there before", path);
        goto out;
    }
    counters_add(c, STAT_stores, 1);
    st = disk_trim(&evicted, c);
    counters_add(c, STAT_evicted, evicted);
out:
    mem_free(path);
    return st;
}

void cache_put(cache *c, const cache_key *k, container_writer *w)
{
    if (put(c, k, w) != HULL_OK)
        count_refusal(c);
    counters_flush(c);
}

void cache_count_build(cache *c)
{
    counters_add(c, STAT_builds, 1);
    counters_flush(c);
}

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

static hull_status verify_entry(cache_entry *e, const cache_item *item)
{
    bytes key;
    digest d;

    TRY(disk_open_entry(e, &key, item->kind, item->path));
    d = digest_of(key.p, key.n);
    if (!digest_eq(&d, &item->key))
        return fail(HULL_EFORMAT, "entry has the name of another key");
    return HULL_OK;
}

static hull_status verify_one(void *user, const cache_item *item)
{
    cache_entry e = {.f = {.fd = -1}};
    verifier *v = user;
    hull_status st = verify_entry(&e, item);

    if (st == HULL_OK)
        v->good++;
    else if (st != HULL_ENOTFOUND) /* evicted meanwhile */
        v->bad++;
    if (st != HULL_OK && st != HULL_ENOTFOUND)
        disk_note_failure(v->c, item->path, &e.f.id, st);
    cache_entry_close(&e);
    return HULL_OK;
}

hull_status cache_verify(cache *c, uint64_t *out_good, uint64_t *out_bad)
{
    verifier v = {.c = c};
    hull_status st = cache_list(c, verify_one, &v);

    counters_flush(c);
    *out_good = v.good;
    *out_bad = v.bad;
    return st;
}

hull_status cache_clear(cache *c)
{
    return disk_clear(c);
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
