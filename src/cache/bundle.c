/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * bundle.c - writes and reads files of exported entries (grammar in bundle.h).
 * Nothing in one is trusted, as nothing that comes from a remote store is.
 */
#include "cache/bundle.h"
#include "cache/disk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t head_magic[8] = {0x89, 'H', 'U', 'L', 'X', '\r', '\n',
                                      0x1a};
static const uint8_t end_magic[8] = {0x89, 'H', 'U', 'L', 'Z', '\r', '\n',
                                     0x1a};

static int order(cache_kind a, const digest *x, cache_kind b, const digest *y)
{
    if (a != b)
        return a < b ? -1 : 1;
    return memcmp(x->b, y->b, sizeof x->b);
}

/* ---- export -------------------------------------------------------------- */

typedef struct exporter {
    cache *c;
    cache_want_fn *want;
    cache_reason_fn *bad;
    void *user;
    struct packed {
        cache_item item;
        char *path;
    } *p;
    size_t n, cap;
    file_writer w;
    digester d;
    uint64_t n_written;
} exporter;

static hull_status add_item(void *user, const cache_item *item)
{
    exporter *x = user;
    char *path;

    if (x->want != NULL && !x->want(x->user, item))
        return HULL_OK;
    TRY(mem_grow(&x->p, &x->cap, x->n + 1, sizeof *x->p));
    path = mem_strndup(item->path, strlen(item->path));
    if (path == NULL)
        return fail_oom(strlen(item->path));
    x->p[x->n] = (struct packed){*item, path};
    x->p[x->n++].item.path = path;
    return HULL_OK;
}

static int in_order(const void *x, const void *y)
{
    const cache_item *a = &((const struct packed *)x)->item;
    const cache_item *b = &((const struct packed *)y)->item;

    return order(a->kind, &a->key, b->kind, &b->key);
}

static hull_status put(exporter *x, const void *p, size_t n)
{
    digest_update(&x->d, p, n);
    return file_writer_put(&x->w, p, n);
}

static hull_status put_head(exporter *x)
{
    uint8_t head[BUNDLE_HEAD_SIZE] = {0};

    digest_begin(&x->d);
    memcpy(head, head_magic, sizeof head_magic);
    le_put(head + 8, BUNDLE_VERSION, 4);
    return put(x, head, sizeof head);
}

static hull_status put_end(exporter *x)
{
    uint8_t end[16];
    digest d;

    memcpy(end, end_magic, sizeof end_magic);
    le_put(end + 8, x->n_written, 8);
    TRY(put(x, end, sizeof end));
    digest_end(&x->d, &d);
    return file_writer_put(&x->w, d.b, sizeof d.b);
}

static hull_status put_entry(exporter *x, const cache_item *item,
                             const cache_entry *e)
{
    hull_status st = HULL_OK;
    buf b;

    buf_init(&b, SIZE_MAX / 2);
    TRY_OUT(envelope_pack(&b, item->kind, &item->key,
                          (bytes){e->memory->p, e->memory->n},
                          x->c->seal));
    TRY_OUT(put(x, b.p, b.n));
    x->n_written++;
out:
    buf_fini(&b);
    return st;
}

/* One that went meanwhile is no failure, and a bad one is none of ours. */
static hull_status export_one(exporter *x, const cache_item *item)
{
    cache_entry e = CACHE_ENTRY_NONE;
    hull_status st = entry_verify(&e, x->c, item);

    if (st == HULL_OK)
        st = put_entry(x, item, &e);
    else if (st != HULL_ENOMEM) {
        if (st != HULL_ENOTFOUND && x->bad != NULL)
            x->bad(x->user, item, error_text());
        st = HULL_OK;
    }
    cache_entry_close(&e);
    return st;
}

static hull_status write_bundle(exporter *x, const char *path)
{
    hull_status st = HULL_OK;

    TRY(file_writer_open(&x->w, path));
    TRY_OUT(put_head(x));
    for (size_t i = 0; i < x->n; i++)
        TRY_OUT(export_one(x, &x->p[i].item));
    TRY_OUT(put_end(x));
    st = file_writer_commit(&x->w);
out:
    file_writer_abort(&x->w);
    return st;
}

hull_status cache_export(cache *c, const char *path, cache_want_fn *want,
                         cache_reason_fn *bad, void *user, uint64_t *out_n)
{
    exporter x = {.c = c, .want = want, .bad = bad, .user = user};
    hull_status st = HULL_OK;

    *out_n = 0;
    TRY_OUT(cache_list(c, add_item, &x));
    if (x.n > 0)
        qsort(x.p, x.n, sizeof *x.p, in_order);
    TRY_OUT(write_bundle(&x, path));
    *out_n = x.n_written;
out:
    for (size_t i = 0; i < x.n; i++)
        mem_free(x.p[i].path);
    mem_free(x.p);
    return st;
}

/* ---- the frame of a file ------------------------------------------------- */

static hull_status check_head(bytes data)
{
    if (data.n < BUNDLE_HEAD_SIZE + BUNDLE_END_SIZE)
        return fail(HULL_EFORMAT, "file of entries has %zu bytes, the least "
                    "is %d", data.n, BUNDLE_HEAD_SIZE + BUNDLE_END_SIZE);
    if (memcmp(data.p, head_magic, sizeof head_magic) != 0)
        return fail(HULL_EFORMAT, "byte 0: no magic number of a file of "
                    "entries");
    if (le_get(data.p + 8, 4) != BUNDLE_VERSION)
        return fail(HULL_EVERSION, "file of entries is of format %" PRIu64
                    ", this build reads %d", le_get(data.p + 8, 4),
                    BUNDLE_VERSION);
    if (le_get(data.p + 12, 4) != 0)
        return fail(HULL_EFORMAT, "byte 12: reserved field is not zero");
    return HULL_OK;
}

static hull_status check_end(bytes data)
{
    const uint8_t *end = data.p + data.n - BUNDLE_END_SIZE;
    digest d = digest_of(data.p, data.n - sizeof d.b);

    if (memcmp(end, end_magic, sizeof end_magic) != 0)
        return fail(HULL_EFORMAT, "byte %zu: file of entries has no end, it "
                    "was cut", data.n - BUNDLE_END_SIZE);
    if (memcmp(end + 16, d.b, sizeof d.b) != 0)
        return fail(HULL_EFORMAT, "file of entries does not have its digest");
    return HULL_OK;
}

/* The envelope at *at, which moves behind it. */
static hull_status next_envelope(envelope *out, size_t *at, bytes data)
{
    size_t end = data.n - BUNDLE_END_SIZE;

    TRY(note(envelope_open(out, (bytes){data.p + *at, end - *at}), "byte %zu",
             *at));
    *at += out->n;
    return HULL_OK;
}

hull_status bundle_check(uint64_t *out_n, bytes data)
{
    size_t at = BUNDLE_HEAD_SIZE, end;
    uint64_t n = 0, stated;
    envelope e = {0}, last;

    *out_n = 0;
    TRY(check_head(data));
    TRY(check_end(data));
    end = data.n - BUNDLE_END_SIZE;
    stated = le_get(data.p + end + 8, 8);
    while (at < end) {
        size_t from = at;

        last = e;
        TRY(next_envelope(&e, &at, data));
        if (n > 0 && order(last.kind, &last.key, e.kind, &e.key) >= 0)
            return fail(HULL_EFORMAT, "byte %zu: an entry is not behind the "
                        "one before it in order", from);
        n++;
    }
    if (n != stated)
        return fail(HULL_EFORMAT, "file has %" PRIu64 " entries, its end says "
                    "%" PRIu64, n, stated);
    *out_n = n;
    return HULL_OK;
}

/* ---- import -------------------------------------------------------------- */

/* What is here stays; *out_added when there was something new. */
static hull_status add_notes(bool *out_added, cache *c, const cache_entry *e,
                             bytes key)
{
    str k = {(const char *)key.p, key.n};
    hull_status st = HULL_OK;
    buf here, all;
    bytes lines;

    buf_init(&here, NOTES_MAX);
    buf_init(&all, NOTES_MAX);
    TRY_OUT(container_get(e->c, "notes", NOTES_MAX, &lines));
    cache_notes_get(c, k, &here);
    buf_put(&all, lines.p, lines.n);
    notes_merge(&all, buf_view(&here));
    TRY_OUT(buf_status(&all));
    /* Merged, lines of both are there once: equal sizes say nothing new. */
    *out_added = all.n != here.n;
    if (*out_added)
        cache_notes_put(c, k, buf_view(&all));
out:
    buf_fini(&here);
    buf_fini(&all);
    return st;
}

static hull_status add_entry(bool *out_added, cache *c, const envelope *e,
                             const cache_entry *entry, bytes key)
{
    if (e->kind == CACHE_NOTES)
        return add_notes(out_added, c, entry, key);
    return disk_put(out_added, c, e->kind, &e->key,
                    (bytes){entry->memory->p, entry->memory->n}, false);
}

static bool is_refusal(hull_status st)
{
    return st == HULL_EFORMAT || st == HULL_EVERSION ||
           st == HULL_EMISMATCH || st == HULL_EUNSUPPORTED;
}

/* An entry that is refused stops no other one; a folder that is full does. */
static hull_status import_one(cache_imported *n, cache *c, const envelope *e)
{
    cache_entry entry;
    hull_status st;
    bool added = false;
    bytes key;

    st = entry_arrived(&entry, &key, c, e, BUNDLE_ENTRY_MAX);
    n->refused += is_refusal(st);
    if (st == HULL_OK)
        st = add_entry(&added, c, e, &entry, key);
    if (st == HULL_OK && added)
        n->added++;
    else if (st == HULL_OK)
        n->present++;
    cache_entry_close(&entry);
    return st;
}

static hull_status import_all(cache_imported *out, cache *c, const file *f,
                              cache_reason_fn *bad, void *user)
{
    bytes data = {f->p, (size_t)f->size};
    size_t at = BUNDLE_HEAD_SIZE;
    uint64_t n;

    TRY(bundle_check(&n, data));
    for (; n > 0; n--) {
        envelope e;
        hull_status st;

        TRY(next_envelope(&e, &at, data));
        st = import_one(out, c, &e);
        if (!is_refusal(st)) {
            TRY(st);
        } else if (bad != NULL) {
            cache_item item = {.kind = e.kind, .key = e.key, .size = e.size,
                               .path = f->path};

            bad(user, &item, error_text());
        }
    }
    return HULL_OK;
}

hull_status cache_import(cache_imported *out, cache *c, const char *path,
                         cache_reason_fn *bad, void *user)
{
    hull_status st = HULL_OK;
    file f;

    *out = (cache_imported){0};
    TRY(file_map(&f, path));
    file_count_read(f.size);
    st = note_path(import_all(out, c, &f, bad, user), path);
    file_close(&f);
    return st;
}

/* ---- hull.h -------------------------------------------------------------- */

hull_status hull_cache_export(hull_cache *c, const char *path,
                              uint64_t *out_n)
{
    uint64_t n = 0;
    hull_status st;

    if (out_n != NULL)
        *out_n = 0;
    if (c == NULL || path == NULL)
        return fail(HULL_EINVAL, "cache and path must not be NULL");
    st = cache_export(c, path, NULL, NULL, NULL, &n);
    if (out_n != NULL)
        *out_n = n;
    return st;
}

hull_status hull_cache_import(hull_cache *c, const char *path,
                              uint64_t *out_added, uint64_t *out_refused)
{
    cache_imported n = {0};
    hull_status st;

    if (out_added != NULL)
        *out_added = 0;
    if (out_refused != NULL)
        *out_refused = 0;
    if (c == NULL || path == NULL)
        return fail(HULL_EINVAL, "cache and path must not be NULL");
    st = cache_import(&n, c, path, NULL, NULL);
    if (out_added != NULL)
        *out_added = n.added;
    if (out_refused != NULL)
        *out_refused = n.refused;
    return st;
}
