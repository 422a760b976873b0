/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * tunebook.c - what tuning measures while an engine is built. Pages in memory
 * make sure that equal sites of one block are timed once, also without a cache
 * or when its folder refuses.
 */
#include "engine/engine.h"

#define PAGE_MAX ((size_t)1 << 20)

static struct tunebook_page *find_page(const tunebook *b, str key)
{
    for (size_t i = 0; i < b->n; i++)
        if (str_eq(buf_view(&b->pages[i].key), key))
            return &b->pages[i];
    return NULL;
}

static void get(void *user, str key, buf *out)
{
    const tunebook *b = user;
    const struct tunebook_page *p = find_page(b, key);

    if (p != NULL)
        buf_str(out, buf_view(&p->lines));
    else if (b->c != NULL)
        cache_notes_get(b->c, key, out);
    if (p == NULL && b->c != NULL && out->n > 0 && !b->notes.read_only)
        cache_count_timed(b->c, true);
}

static void put(void *user, str key, str lines)
{
    tunebook *b = user;
    struct tunebook_page *p = find_page(b, key);

    if (b->c != NULL) {
        cache_notes_put(b->c, key, lines);
        cache_count_timed(b->c, false);
    }
    if (p == NULL &&
        mem_grow(&b->pages, &b->cap, b->n + 1, sizeof *b->pages) == HULL_OK) {
        p = &b->pages[b->n++];
        buf_init(&p->key, PAGE_MAX);
        buf_init(&p->lines, PAGE_MAX);
        buf_str(&p->key, key);
    }
    if (p != NULL)
        notes_merge(&p->lines, lines);
}

void tunebook_open(tunebook *b, cache *c, bool read_only)
{
    *b = (tunebook){.c = c};
    b->notes = (notebook){get, put, b, read_only};
}

void tunebook_close(tunebook *b)
{
    for (size_t i = 0; i < b->n; i++) {
        buf_fini(&b->pages[i].key);
        buf_fini(&b->pages[i].lines);
    }
    mem_free(b->pages);
    *b = (tunebook){.c = NULL};
}
