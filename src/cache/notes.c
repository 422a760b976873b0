/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * notes.c - texts beside the engines: what was measured once and need not be
 * measured again. An entry is a container of two sections, the key's text and
 * the lines, under the digest of the key; it is replaced as a whole, under the
 * folder's lock, so that two writers lose no line of each other's.
 */
#include "cache/disk.h"

#include <string.h>
#include <sys/stat.h>

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

/* ---- get ----------------------------------------------------------------- */

/* HULL_ENOTFOUND: there are none. */
static hull_status read_lines(buf *out, cache_entry *e, str key,
                              const char *path)
{
    bytes found, lines;

    TRY(disk_open_entry(e, &found, CACHE_NOTES, path));
    if (found.n != key.n || memcmp(found.p, key.p, key.n) != 0)
        return fail(HULL_ENOTFOUND, "notes '%s' are of another key", path);
    TRY(container_get(e->c, "notes", NOTES_MAX, &lines));
    buf_put(out, lines.p, lines.n);
    return buf_status(out);
}

static char *path_of(const cache *c, str key)
{
    digest d = digest_of(key.p, key.n);

    return disk_path(c, &d, CACHE_NOTES);
}

/* Damage is counted, not written yet: the caller may hold the lock. */
static void get_lines(cache *c, str key, buf *out)
{
    cache_entry e = {.f = {.fd = -1}};
    char *path = path_of(c, key);
    hull_status st;

    if (path == NULL)
        return;
    st = read_lines(out, &e, key, path);
    if (st == HULL_OK && futimens(e.f.fd, NULL) != 0)
        log_debug("cache", "cannot touch '%s'", path);
    if (st != HULL_OK && st != HULL_ENOTFOUND)
        disk_note_failure(c, path, &e.f.id, st);
    cache_entry_close(&e);
    mem_free(path);
}

void cache_notes_get(cache *c, str key, buf *out)
{
    get_lines(c, key, out);
    counters_flush(c);
}

/* ---- put ----------------------------------------------------------------- */

static hull_status write_lines(const char *path, str key, const buf *lines)
{
    container_writer *w;
    hull_status st = HULL_OK;
    char *folder = path_dir(path);

    if (folder == NULL)
        return fail_oom(strlen(path));
    TRY_OUT(dir_make(folder));
    TRY_OUT(container_writer_new(&w, CONTAINER_NOTES));
    st = container_add(w, "key", key.p, key.n);
    if (st == HULL_OK)
        st = container_add(w, "notes", lines->p, lines->n);
    if (st == HULL_OK)
        st = container_write(w, path);
    container_writer_free(w);
out:
    mem_free(folder);
    return st;
}

static hull_status put_lines(cache *c, str key, str lines)
{
    char *path = path_of(c, key);
    int fd = counters_lock(c); /* without it a line may be lost */
    hull_status st = HULL_OK;
    buf all;

    buf_init(&all, NOTES_MAX);
    if (path == NULL)
        TRY_OUT(fail_oom(key.n));
    get_lines(c, key, &all);
    notes_merge(&all, lines);
    TRY_OUT(buf_status(&all));
    st = write_lines(path, key, &all);
out:
    disk_unlock(fd);
    buf_fini(&all);
    mem_free(path);
    return st;
}

void cache_notes_put(cache *c, str key, str lines)
{
    uint64_t evicted = 0;
    hull_status st = put_lines(c, key, lines);

    if (st == HULL_OK) {
        st = disk_trim(&evicted, c);
        counters_add(c, STAT_evicted, evicted);
    }
    if (st != HULL_OK) {
        log_warn("cache", "%s", error_text());
        counters_add(c, STAT_errors, 1);
    }
    counters_flush(c);
}
