/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * collect.c - what `hull cache gc` removes: damaged entries, entries that
 * nobody used for long, folders of other formats, and what is beyond the
 * limit. The folder is counted anew at the end, so files may go one by one.
 */
#include "cache/disk.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct collector {
    cache *c;
    int64_t before_ns;
    cache_gc *out;
} collector;

static hull_status fail_remove(const char *path)
{
    return fail(HULL_EIO, "removing '%s': %s", path, strerror(errno));
}

/* *out counts it when it was there. */
static hull_status remove_file(uint64_t *out, uint64_t *out_bytes,
                               const char *path, uint64_t size)
{
    if (unlink(path) != 0)
        return errno == ENOENT ? HULL_OK : fail_remove(path);
    ++*out;
    *out_bytes += size;
    return HULL_OK;
}

static hull_status remove_bad(void *user, const disk_file *f)
{
    const collector *x = user;
    uint64_t reasons = 0;

    return remove_file(str_ends(str_of(f->path), DISK_WHY) ? &reasons
                                                           : &x->out->bad,
                       &x->out->bytes, f->path, f->size);
}

/* One that was used since it was listed stays. */
static hull_status remove_old(void *user, const cache_item *item)
{
    const collector *x = user;
    struct stat s;

    if (item->used_ns >= x->before_ns)
        return HULL_OK;
    if (stat(item->path, &s) != 0 || disk_ns(&s.st_mtim) >= x->before_ns)
        return HULL_OK;
    return remove_file(&x->out->old, &x->out->bytes, item->path, item->size);
}

/* ---- other formats ------------------------------------------------------- */

/* Deeper than any format of ours. */
#define DEPTH_MAX 4

typedef struct tree {
    uint64_t n, bytes;
    int64_t newest_ns;
    bool remove;
} tree;

static hull_status look_at(tree *t, const char *path, int depth);

static hull_status look_into(tree *t, const char *path, int depth)
{
    DIR *d = opendir(path);
    hull_status st = HULL_OK;
    struct dirent *e;

    if (d == NULL)
        return errno == ENOENT ? HULL_OK
                               : fail(HULL_EIO, "reading '%s': %s", path,
                                      strerror(errno));
    while (st == HULL_OK && (e = readdir(d)) != NULL) {
        char *below;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        below = path_join(path, e->d_name);
        st = below != NULL ? look_at(t, below, depth + 1) : fail_oom(0);
        mem_free(below);
    }
    closedir(d);
    return st;
}

/* Links are not followed. */
static hull_status look_at(tree *t, const char *path, int depth)
{
    struct stat s;
    bool folder;

    if (lstat(path, &s) != 0)
        return errno == ENOENT ? HULL_OK : fail_remove(path);
    folder = S_ISDIR(s.st_mode);
    if (folder && depth == DEPTH_MAX)
        return fail(HULL_EIO, "'%s' is deeper than a cache is", path);
    if (folder)
        TRY(look_into(t, path, depth));
    if (!t->remove) {
        int64_t ns = disk_ns(&s.st_mtim);

        t->newest_ns = !folder && ns > t->newest_ns ? ns : t->newest_ns;
        return HULL_OK;
    }
    if (!folder)
        return remove_file(&t->n, &t->bytes, path, (uint64_t)s.st_size);
    return rmdir(path) == 0 || errno == ENOENT ? HULL_OK : fail_remove(path);
}

/* "v3", and what lay in ROOT itself in the first format. */
static bool is_other_format(const char *name)
{
    size_t n = strlen(name);

    if (name[0] == 'v' && n > 1 && n < 8 &&
        strspn(name + 1, "0123456789") == n - 1)
        return strcmp(name, DISK_FORMAT) != 0;
    return (n == 2 && strspn(name, "0123456789abcdef") == 2) ||
           strcmp(name, "bad") == 0 || strcmp(name, "stats") == 0 ||
           strcmp(name, "lock") == 0;
}

static hull_status remove_format(collector *x, const char *path)
{
    tree t = {.newest_ns = INT64_MIN};

    TRY(look_at(&t, path, 0));
    if (t.newest_ns >= x->before_ns)
        return HULL_OK;
    t.remove = true;
    TRY(look_at(&t, path, 0));
    x->out->others += t.n;
    x->out->bytes += t.bytes;
    return HULL_OK;
}

static hull_status remove_formats(collector *x)
{
    DIR *d = opendir(x->c->path);
    hull_status st = HULL_OK;
    struct dirent *e;

    if (d == NULL)
        return fail(HULL_EIO, "reading '%s': %s", x->c->path,
                    strerror(errno));
    while (st == HULL_OK && (e = readdir(d)) != NULL) {
        char *below;

        if (!is_other_format(e->d_name))
            continue;
        below = path_join(x->c->path, e->d_name);
        st = below != NULL ? remove_format(x, below) : fail_oom(0);
        mem_free(below);
    }
    closedir(d);
    return st;
}

/* ---- the whole ----------------------------------------------------------- */

hull_status cache_collect(cache_gc *out, cache *c, int64_t before_ns,
                          bool other_formats)
{
    collector x = {c, before_ns, out};
    uint64_t before[STAT_COUNT], after[STAT_COUNT];

    *out = (cache_gc){0};
    TRY(disk_walk(c, DISK_BAD, remove_bad, &x));
    if (before_ns > 0)
        TRY(cache_list(c, remove_old, &x));
    if (before_ns > 0 && other_formats)
        TRY(remove_formats(&x));
    TRY(cache_stats(c, before));
    TRY(cache_trim(c));
    TRY(cache_stats(c, after));
    if (before[STAT_entries] > after[STAT_entries])
        out->evicted = before[STAT_entries] - after[STAT_entries];
    if (before[STAT_bytes] > after[STAT_bytes])
        out->bytes += before[STAT_bytes] - after[STAT_bytes];
    out->left = after[STAT_entries];
    out->bytes_left = after[STAT_bytes];
    return HULL_OK;
}
