/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * cache.c - the verbs of the engine cache: open, get, put, reject, over its
 * tiers in their order. What the system or a store refuses is logged and
 * counted; no caller of get or put can fail because of it. The public
 * hull_cache_* stand at the end.
 */
#include "cache/disk.h"

#include <stdlib.h>
#include <string.h>

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

/* The option, else the variable; "none" is neither. */
static str setting(const options *o, option_id id, const char *variable)
{
    str v = option_str(o, id);

    if (v.n == 0)
        v = str_of(getenv(variable));
    return str_is(v, "none") ? (str){"", 0} : v;
}

static hull_status open_secret(cache *c, str path)
{
    hull_status st;
    char *z;

    if (path.n == 0)
        return HULL_OK;
    z = mem_strndup(path.p, path.n);
    if (z == NULL)
        return fail_oom(path.n);
    st = seal_open(&c->seal, z);
    mem_free(z);
    return st;
}

static hull_status open_tiers(cache *c, const options *o)
{
    c->limit = (uint64_t)option_int(o, OPT_cache_limit);
    c->wait_ms = (uint32_t)option_int(o, OPT_cache_wait) * 1000;
    atomic_init(&c->read_only, option_on(o, OPT_cache_read_only));
    TRY(open_secret(c, setting(o, OPT_cache_secret,
                               "HULL_CACHE_SECRET_FILE")));
    TRY(memory_new(&c->memory, (uint64_t)option_int(o, OPT_cache_memory)));
    TRY(disk_open(c));
    return remotes_open(&c->remotes, setting(o, OPT_cache_remote,
                                             "HULL_CACHE_REMOTE"));
}

hull_status cache_open(cache **out, const char *path, const options *o)
{
    hull_status st = HULL_OK;
    cache *c = mem_calloc(1, sizeof *c);

    *out = NULL;
    if (c == NULL)
        return fail_oom(sizeof *c);
    atomic_init(&c->refs, 1);
    TRY_OUT(path != NULL ? given_path(&c->path, path)
                         : default_path(&c->path));
    TRY_OUT(note(open_tiers(c, o), "opening the cache"));
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
    if (c->home != NULL)
        counters_flush(c);
    remotes_close(c->remotes);
    memory_free(c->memory);
    seal_close(c->seal);
    mem_free(c->home);
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
    FOUND, ABSENT, DAMAGED, UNSIGNED, COLLIDES, REFUSED
} found;

static bool is_damage(hull_status st)
{
    return st == HULL_EFORMAT || st == HULL_EVERSION;
}

static found found_of(hull_status st)
{
    return st == HULL_OK           ? FOUND
           : st == HULL_ENOTFOUND  ? ABSENT
           : st == HULL_EMISMATCH  ? UNSIGNED
           : is_damage(st)         ? DAMAGED
                                   : REFUSED;
}

/* The MAC comes first: nothing of a forged entry is unpacked. */
hull_status entry_open(cache_entry *out, const cache *c, cache_kind kind,
                       const digest *key, bytes content, bytes *out_key)
{
    TRY(container_open(&out->c, content, UINT64_MAX));
    if (c->seal != NULL)
        TRY(seal_check(c->seal, out->c, kind, key));
    return entry_check(out->c, kind, out_key);
}

static bool same_text(bytes key, const cache_key *k)
{
    return key.n == k->preimage.n && memcmp(key.p, k->preimage.p, key.n) == 0;
}

/* An entry of that many bytes may stay in memory. One that a later one replaces
 * does not: another process may do that. */
static bool stays(const cache *c, cache_kind kind, uint64_t size)
{
    return !cache_kinds[kind].replaced && memory_wants(c->memory, size);
}

static hull_status open_found(cache_entry *out, const cache *c,
                              cache_kind kind, const cache_key *k, bytes *key)
{
    return entry_open(out, c, kind, &k->d,
                      (bytes){out->memory->p, out->memory->n}, key);
}

/* Reads the folder. */
static found look_up(cache_entry *out, const cache *c, cache_kind kind,
                     const cache_key *k)
{
    hull_status st = disk_get(out, c, kind, &k->d);
    bytes key = {0};

    if (st == HULL_OK)
        st = open_found(out, c, kind, k, &key);
    if (st == HULL_OK && !same_text(key, k))
        return COLLIDES;
    return found_of(st);
}

static found look_up_memory(cache_entry *out, const cache *c, cache_kind kind,
                            const cache_key *k)
{
    hull_status st;
    bytes key;

    out->memory = memory_get(c->memory, kind, &k->d);
    if (out->memory == NULL)
        return ABSENT;
    st = open_found(out, c, kind, k, &key);
    return st == HULL_OK && same_text(key, k) ? FOUND : ABSENT;
}

static void count_refusal(cache *c)
{
    log_warn("cache", "%s", error_text());
    counters_add(c, STAT_errors, 1);
}

static void set_aside(cache *c, const char *path, const file_id *id)
{
    log_warn("cache", "damaged entry '%s'%s: %s", path,
             c->read_only ? "" : " is set aside", error_text());
    counters_add(c, STAT_corrupt, 1);
    if (disk_set_aside(c, path, id, error_text()) != HULL_OK)
        count_refusal(c);
}

void disk_note_failure(cache *c, const file *f, hull_status st)
{
    if (is_damage(st) && f->path != NULL) {
        set_aside(c, f->path, &f->id);
    } else if (st == HULL_EMISMATCH) {
        log_warn("cache", "entry '%s': %s", f->path, error_text());
        counters_add(c, STAT_mac_failures, 1);
    } else {
        count_refusal(c);
    }
}

/* What a look-up in the folder means besides its outcome. An entry that is not
 * of our secret may be another one's, who shares the folder: it stays until
 * ours replaces it. */
static void note_found(cache *c, found f, cache_kind kind, const cache_key *k,
                       const cache_entry *e)
{
    switch (f) {
    case FOUND:
        disk_touch(c, &e->f);
        counters_add(c, STAT_bytes_read, e->memory->n);
        if (stays(c, kind, e->memory->n))
            memory_put(c->memory, kind, &k->d, e->memory);
        break;
    case ABSENT:
        break;
    case DAMAGED:
        disk_note_failure(c, &e->f, HULL_EFORMAT);
        break;
    case UNSIGNED:
        disk_note_failure(c, &e->f, HULL_EMISMATCH);
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
static void count_outcome(cache *c, cache_kind kind, cache_stat tier)
{
    if (kind != CACHE_ENGINE)
        return;
    counters_add(c, tier == STAT_misses ? STAT_misses : STAT_hits, 1);
    if (tier != STAT_misses)
        counters_add(c, tier, 1);
}

static hull_status keep(bool *out_stored, cache *c, cache_kind kind,
                        const cache_key *k, bytes content);

/* What a store had is here from now on. */
static void keep_remote(cache *c, cache_kind kind, const cache_key *k,
                        const cache_entry *e)
{
    bool stored;

    if (keep(&stored, c, kind, k, (bytes){e->memory->p, e->memory->n}) !=
        HULL_OK)
        count_refusal(c);
    if (stays(c, kind, e->memory->n))
        memory_put(c->memory, kind, &k->d, e->memory);
}

/* The tier that has it, STAT_misses when none has. */
static cache_stat ask_tiers(cache_entry *out, cache *c, cache_kind kind,
                            const cache_key *k)
{
    found f;

    if (look_up_memory(out, c, kind, k) == FOUND) {
        disk_touch_key(c, kind, &k->d);
        return STAT_hits_memory;
    }
    cache_entry_close(out);
    f = look_up(out, c, kind, k);
    note_found(c, f, kind, k, out);
    if (f == FOUND)
        return STAT_hits_disk;
    cache_entry_close(out);
    if (remotes_get(out, c, kind, k)) {
        keep_remote(c, kind, k, out);
        return STAT_hits_remote;
    }
    cache_entry_close(out);
    return STAT_misses;
}

void cache_get(cache_entry *out, bool *out_hit, cache *c, cache_kind kind,
               const cache_key *k)
{
    cache_stat tier;

    *out = CACHE_ENTRY_NONE;
    tier = ask_tiers(out, c, kind, k);
    *out_hit = tier != STAT_misses;
    count_outcome(c, kind, tier);
    counters_flush(c);
}

/* The folder's file is the one that the entry came from, or its copy. */
static void reject_file(cache *c, cache_kind kind, const cache_key *k)
{
    cache_entry e;

    if (disk_get(&e, c, kind, &k->d) == HULL_OK)
        disk_note_failure(c, &e.f, HULL_EFORMAT);
    else
        counters_add(c, STAT_corrupt, 1);
    cache_entry_close(&e);
}

void cache_reject(cache *c, cache_entry *e, cache_kind kind,
                  const cache_key *k)
{
    memory_remove(c->memory, kind, &k->d);
    if (e->f.path != NULL)
        disk_note_failure(c, &e->f, HULL_EFORMAT);
    else
        reject_file(c, kind, k);
    remotes_remove(c, e->store, kind, &k->d);
    count_outcome(c, kind, STAT_misses);
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

/* Into the folder. One that is there stays if it is as good as this one: whole,
 * and with a secret signed by it. */
static hull_status keep(bool *out_stored, cache *c, cache_kind kind,
                        const cache_key *k, bytes content)
{
    bool replace = cache_kinds[kind].replaced;
    cache_entry e = CACHE_ENTRY_NONE;

    *out_stored = false;
    if (c->read_only)
        return HULL_OK;
    if (!replace && c->seal != NULL) {
        replace = look_up(&e, c, kind, k) == UNSIGNED;
        cache_entry_close(&e);
    }
    return disk_put(out_stored, c, kind, &k->d, content, replace);
}

static void put_memory(cache *c, cache_kind kind, const cache_key *k,
                       bytes content)
{
    blob *b = stays(c, kind, content.n) ? blob_copy(content) : NULL;

    if (b != NULL)
        memory_put(c->memory, kind, &k->d, b);
    blob_unref(b);
}

/* Into all tiers, unless the folder has one already. */
static void put_tiers(cache *c, cache_kind kind, const cache_key *k,
                      bytes content, bool has_code)
{
    bool stored;
    hull_status st = keep(&stored, c, kind, k, content);

    if (st != HULL_OK)
        count_refusal(c);
    else if (stored && kind == CACHE_ENGINE)
        counters_add(c, STAT_stores, 1);
    if (st == HULL_OK && !stored && !c->read_only)
        return;
    put_memory(c, kind, k, content);
    if (has_code && c->seal == NULL && remotes_any(c->remotes))
        counters_add(c, STAT_unsigned_code, 1);
    else
        remotes_put(c, kind, &k->d, content);
}

static hull_status put(cache *c, cache_kind kind, const cache_key *k,
                       container_writer *w)
{
    bool has_code = container_writer_has_code(w);
    hull_status st = HULL_OK;
    buf content = {0};

    TRY(entry_check_writer(w));
    if (c->seal != NULL)
        TRY(seal_add(c->seal, w, kind, &k->d));
    TRY_OUT(container_write_buf(w, &content));
    put_tiers(c, kind, k, (bytes){(const uint8_t *)content.p, content.n},
              has_code);
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

static hull_status find_counter(cache_stat *out, const hull_cache *c,
                                const char *counter, uint64_t *value)
{
    int i = 0;

    if (value != NULL)
        *value = 0;
    if (c == NULL || counter == NULL || value == NULL)
        return fail(HULL_EINVAL, "cache, counter and out must not be NULL");
    while (i < STAT_COUNT &&
           strcmp(cache_stat_name((cache_stat)i), counter) != 0)
        i++;
    *out = (cache_stat)i;
    return i < STAT_COUNT ? HULL_OK
                          : fail(HULL_ENOTFOUND, "a cache has no counter '%s'",
                                 counter);
}

hull_status hull_cache_stat(hull_cache *c, const char *counter, uint64_t *out)
{
    uint64_t v[STAT_COUNT];
    cache_stat i;

    TRY(find_counter(&i, c, counter, out));
    /* Only these two look at the entries. */
    if (i == STAT_entries || i == STAT_bytes)
        TRY(cache_stats(c, v));
    else
        TRY(counters_read(c, v));
    *out = v[i];
    return HULL_OK;
}

hull_status hull_cache_stat_process(hull_cache *c, const char *counter,
                                    uint64_t *out)
{
    uint64_t v[STAT_COUNT];
    cache_stat i;

    TRY(find_counter(&i, c, counter, out));
    counters_process(c, v);
    *out = v[i];
    return HULL_OK;
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
    return cache_verify(c, NULL, NULL, out_good, out_bad);
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
