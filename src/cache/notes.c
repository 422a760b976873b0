/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * notes.c - texts beside the engines: what was measured once and need not be
 * measured again. An entry is a container of two sections, the key's text and
 * the lines, under the digest of the key; it is replaced as a whole, under the
 * folder's lock, so that two writers lose no line of each other's.
 */
#include "cache/disk.h"


/* ---- lines --------------------------------------------------------------- */

static str name_of(str line)
{
    str rest;

    return str_split(line, ' ', &rest);
}

static bool has_name(str lines, str name)
{
    while (lines.n > 0)
        if (str_eq(name_of(str_split(lines, '\n', &lines)), name))
            return true;
    return false;
}

void notes_merge(buf *lines, str more)
{
    str old = buf_view(lines), line;
    buf kept;

    buf_init(&kept, NOTES_MAX);
    while (old.n > 0) {
        line = str_split(old, '\n', &old);
        if (line.n == 0 || has_name(more, name_of(line)))
            continue;
        buf_str(&kept, line);
        buf_putc(&kept, '\n');
    }
    while (more.n > 0) {
        line = str_split(more, '\n', &more);
        if (line.n == 0)
            continue;
        buf_str(&kept, line);
        buf_putc(&kept, '\n');
    }
    buf_clear(lines);
    buf_str(lines, buf_view(&kept));
    buf_fini(&kept);
}

/* ---- get, put ------------------------------------------------------------ */

static void get_lines(cache *c, const cache_key *k, buf *out)
{
    cache_entry e;
    bytes lines;
    bool hit;

    cache_get(&e, &hit, c, CACHE_NOTES, k);
    if (!hit)
        return;
    if (container_get(e.c, "notes", NOTES_MAX, &lines) == HULL_OK)
        buf_put(out, lines.p, lines.n);
    else
        cache_reject(c, &e, CACHE_NOTES, k);
    cache_entry_close(&e);
}

void cache_notes_get(cache *c, str key, buf *out)
{
    cache_key k;

    if (cache_key_text(&k, key) == HULL_OK)
        get_lines(c, &k, out);
    cache_key_fini(&k);
}

static hull_status make_entry(container_writer **out, const cache_key *k,
                              const buf *lines)
{
    container_writer *w;
    hull_status st;

    TRY(container_writer_new(&w, CONTAINER_NOTES));
    st = container_add(w, "key", k->preimage.p, k->preimage.n);
    if (st == HULL_OK)
        st = container_add(w, "notes", lines->p, lines->n);
    if (st != HULL_OK) {
        container_writer_free(w);
        w = NULL;
    }
    *out = w;
    return st;
}

/* How long a writer waits for the others; then a line may be lost. */
#define MERGE_WAIT_MS 10000

static hull_status put_lines(cache *c, const cache_key *k, str lines)
{
    hull_status st = HULL_OK;
    container_writer *w;
    cache_build lock;
    buf all;

    buf_init(&all, NOTES_MAX);
    entry_lock(&lock, c, CACHE_NOTES, &k->d, MERGE_WAIT_MS);
    get_lines(c, k, &all);
    notes_merge(&all, lines);
    TRY_OUT(buf_status(&all));
    TRY_OUT(make_entry(&w, k, &all));
    cache_put(c, CACHE_NOTES, k, w);
    container_writer_free(w);
out:
    cache_build_end(&lock);
    buf_fini(&all);
    return st;
}

void cache_notes_put(cache *c, str key, str lines)
{
    cache_key k;
    hull_status st = cache_key_text(&k, key);

    if (st == HULL_OK)
        st = put_lines(c, &k, lines);
    if (st != HULL_OK) {
        log_warn("cache", "%s", error_text());
        counters_add(c, STAT_errors, 1);
        counters_flush(c);
    }
    cache_key_fini(&k);
}
