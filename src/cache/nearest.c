/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * nearest.c - the entry that is most like a key that missed: one walk over the
 * folder, of each engine the section "key" alone. Most entries are ruled out
 * by counting lines, the others are compared line by line.
 */
#include "cache/disk.h"
#include "cache/nearest.h"

typedef struct scan {
    cache *c;
    cache_near *q;
    size_t n;
    bool others;          /* of other backends; else of the key's */
    uint64_t n_read, n_unread;
} scan;

/* The second line says the backend. */
static str backend_line(str preimage)
{
    str rest;

    str_split(preimage, '\n', &rest);
    return str_split(rest, '\n', &rest);
}

/* Fewer lines win, then the later use; a difference that is too large to be
 * found is as large as it is at least. */
static bool is_nearer(const cache_near *q, const line_diff *d,
                      const cache_item *item)
{
    return !q->found || d->n < q->diff.n ||
           (d->n == q->diff.n && item->used_ns > q->used_ns);
}

static hull_status take(cache_near *q, str text, const cache_item *item,
                        uint64_t n, bool far)
{
    buf_clear(&q->preimage);
    buf_str(&q->preimage, text);
    q->found = true;
    q->d = item->key;
    q->used_ns = item->used_ns;
    q->diff.n = n;
    q->diff.far = far;
    return buf_status(&q->preimage);
}

static hull_status compare(scan *s, cache_near *q, const text_lines *there,
                           str text, const cache_item *item)
{
    uint64_t bound = lines_bound(there, &q->here);
    line_diff d = {.n = bound};
    hull_status st = HULL_OK;

    if (str_eq(backend_line(text), backend_line(buf_view(&q->key->preimage)))
            == s->others || digest_eq(&item->key, &q->key->d))
        return HULL_OK;
    if (!is_nearer(q, &d, item))
        return HULL_OK;
    TRY(lines_diff(&d, there, &q->here));
    if (d.far && d.n < bound)
        d.n = bound;
    if (is_nearer(q, &d, item))
        st = take(q, text, item, d.n, d.far);
    line_diff_fini(&d);
    return st;
}

static hull_status compare_all(scan *s, str text, const cache_item *item)
{
    text_lines there;
    hull_status st;

    TRY(text_lines_get(&there, text));
    st = HULL_OK;
    for (size_t i = 0; st == HULL_OK && i < s->n; i++)
        if (!s->others || !s->q[i].found)
            st = compare(s, &s->q[i], &there, text, item);
    text_lines_fini(&there);
    return st;
}

static hull_status scan_one(void *user, const cache_item *item)
{
    scan *s = user;
    hull_status st;
    cache_entry e;
    bytes text;

    if (item->kind != CACHE_ENGINE)
        return HULL_OK;
    st = disk_read_key(&e, &text, item->path, false);
    if (st == HULL_OK) {
        s->n_read++;
        st = compare_all(s, (str){(const char *)text.p, text.n}, item);
    } else if (st != HULL_ENOMEM) {
        s->n_unread++;
        st = HULL_OK;
    }
    cache_entry_close(&e);
    return st;
}

/* Once more for the nearest one, now with its lines. */
static hull_status finish(cache_near *q)
{
    uint64_t n = q->diff.n;

    if (!q->found)
        return HULL_OK;
    TRY(text_lines_get(&q->there, buf_view(&q->preimage)));
    TRY(lines_diff(&q->diff, &q->there, &q->here));
    if (q->diff.far)
        q->diff.n = n;
    return HULL_OK;
}

hull_status cache_nearest(cache_near *q, size_t n, cache *c, uint64_t *out_n,
                          uint64_t *out_unread)
{
    scan s = {.c = c, .q = q, .n = n};
    bool missing = false;

    for (size_t i = 0; i < n; i++) {
        buf_init(&q[i].preimage, KEY_PREIMAGE_MAX);
        TRY(text_lines_get(&q[i].here, buf_view(&q[i].key->preimage)));
    }
    TRY(cache_list(c, scan_one, &s));
    *out_n = s.n_read;
    *out_unread = s.n_unread;
    for (size_t i = 0; i < n; i++)
        missing = missing || !q[i].found;
    s.others = true;
    if (missing && s.n_read > 0)
        TRY(cache_list(c, scan_one, &s));
    for (size_t i = 0; i < n; i++)
        TRY(finish(&q[i]));
    return HULL_OK;
}

void cache_near_fini(cache_near *q)
{
    text_lines_fini(&q->here);
    text_lines_fini(&q->there);
    line_diff_fini(&q->diff);
    buf_fini(&q->preimage);
    *q = (cache_near){0};
}
