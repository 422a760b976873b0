/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * victims.c - which entries go when a store needs room. A count of the folder
 * lists the K least recently used entries in the file "victims", oldest first;
 * stores take from its front. An entry that was used since is newer than all
 * that are listed, and so is every new one: skipping those, the list's order
 * is the exact order of use until it ends. Then the folder is counted again,
 * which is one look at N entries for K evictions.
 */
#include "cache/space.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Entries that a count lists: the larger of this and an eighth of all. */
#define LISTED 4096
#define LISTED_SHARE 8
#define BATCH 32

/* A record of the file; it never leaves the machine's byte order: on another
 * machine no time fits, all are skipped and the folder is counted. */
typedef struct victim {
    int64_t used_ns;
    digest key;
    char suffix[DISK_SUFFIX_MAX + 1];
} victim;

/* ---- from a name to tmp/ ------------------------------------------------- */

static hull_status doom(doomed *d, const cache *c, const char *path,
                        uint64_t size)
{
    char *to;

    TRY(mem_grow(&d->p, &d->cap, d->n + 1, sizeof *d->p));
    to = temp_name(c, "gone");
    if (to == NULL)
        return fail_oom(strlen(path));
    if (rename(path, to) != 0) {
        int err = errno;

        mem_free(to);
        errno = err;
        return err == ENOENT ? HULL_OK : file_fail("removing", path);
    }
    d->p[d->n++] = (struct doomed_file){to, size, -1};
    d->bytes += size;
    return HULL_OK;
}

/* Takes the victim unless it was used after it was listed. */
static hull_status doom_victim(doomed *d, const cache *c, const victim *v)
{
    char hex[DIGEST_HEX_SIZE], name[DIGEST_HEX_SIZE + sizeof v->suffix + 1];
    hull_status st = HULL_OK;
    size_t before = d->n;
    struct stat s;
    char *path;

    digest_hex(&v->key, hex);
    snprintf(name, sizeof name, "%.2s/%s%.*s", hex, hex + 2,
             (int)sizeof v->suffix - 1, v->suffix);
    if (strchr(name + 3, '/') != NULL) /* no name of an entry */
        return HULL_OK;
    path = disk_below(c, name);
    if (path == NULL)
        return fail_oom(sizeof name);
    if (lstat(path, &s) == 0 && S_ISREG(s.st_mode) &&
        disk_ns(&s.st_mtim) == v->used_ns)
        st = doom(d, c, path, (uint64_t)s.st_size);
    d->entries += d->n - before;
    mem_free(path);
    return st;
}

/* ---- damaged entries ----------------------------------------------------- */

typedef struct bad_taker {
    doomed *d;
    const cache *c;
    uint64_t need;
} bad_taker;

static hull_status take_bad(void *user, const disk_file *f)
{
    const bad_taker *x = user;
    size_t before = x->d->n;

    if (x->d->bytes >= x->need)
        return HULL_OK;
    TRY(doom(x->d, x->c, f->path, f->size));
    if (!str_ends(str_of(f->path), DISK_WHY))
        x->d->entries += x->d->n - before;
    return HULL_OK;
}

static hull_status doom_bad(doomed *d, space *s, uint64_t need)
{
    bad_taker x = {d, s->c, need};

    if (s->u.bad == 0 || d->bytes >= need)
        return HULL_OK;
    TRY(disk_walk(s->c, DISK_BAD, take_bad, &x));
    if (d->bytes < need)
        s->u.bad = 0;
    return HULL_OK;
}

/* ---- the list ------------------------------------------------------------ */

static int open_list(const space *s, int flags)
{
    char *path = disk_below(s->c, "victims");
    int fd = -1;

    if (path != NULL && (flags & O_CREAT) == 0)
        fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW);
    else if (path != NULL && disk_create(&fd, s->c, path, flags) != HULL_OK)
        log_debug("cache", "%s", error_text());
    mem_free(path);
    return fd;
}

/* Takes from the file's front; a list that cannot be read has ended. */
static hull_status doom_listed(doomed *d, space *s, uint64_t need)
{
    victim batch[BATCH];
    hull_status st = HULL_OK;
    int fd;

    if (d->bytes >= need || s->u.next >= s->u.count)
        return HULL_OK;
    fd = open_list(s, O_RDONLY);
    while (st == HULL_OK && d->bytes < need && s->u.next < s->u.count) {
        uint64_t left = s->u.count - s->u.next;
        size_t n = left < BATCH ? (size_t)left : BATCH;
        ssize_t got = fd < 0 ? -1
                             : pread(fd, batch, n * sizeof *batch,
                                     (off_t)(s->u.next * sizeof *batch));

        if (got < (ssize_t)sizeof *batch) {
            s->u.next = s->u.count = 0;
            break;
        }
        n = (size_t)got / sizeof *batch;
        for (size_t i = 0; i < n && st == HULL_OK && d->bytes < need; i++) {
            st = doom_victim(d, s->c, &batch[i]);
            s->u.next++;
        }
    }
    if (fd >= 0)
        close(fd);
    return st;
}

/* Writes the list and says how much of it is there. */
static void write_list(space *s, const victim *p, size_t n)
{
    const char *from = (const char *)p;
    size_t done = 0, size = n * sizeof *p;
    int fd = open_list(s, O_WRONLY | O_CREAT | O_TRUNC);

    while (fd >= 0 && done < size) {
        ssize_t put = write(fd, from + done, size - done);

        if (put <= 0 && errno != EINTR)
            break;
        done += put > 0 ? (size_t)put : 0;
    }
    if (fd >= 0)
        close(fd);
    s->u.next = 0;
    s->u.count = done / sizeof *p;
}

/* ---- counting ------------------------------------------------------------ */

typedef struct census {
    victim *p;
    size_t n, cap;
    uint64_t bytes, bad;
} census;

static hull_status count_one(void *user, const disk_file *f)
{
    const char *name = path_base(f->path);
    char hex[DIGEST_HEX_SIZE];
    census *x = user;
    victim *v;

    x->bytes += f->size;
    x->bad += f->place == DISK_BAD;
    if (f->place != DISK_ENTRY)
        return HULL_OK;
    TRY(mem_grow(&x->p, &x->cap, x->n + 1, sizeof *x->p));
    v = &x->p[x->n];
    memcpy(hex, name - 3, 2);
    memcpy(hex + 2, name, DIGEST_HEX_SIZE - 3);
    if (!digest_from_hex(&v->key, (str){hex, DIGEST_HEX_SIZE - 1}))
        return HULL_OK;
    v->used_ns = f->used_ns;
    memset(v->suffix, 0, sizeof v->suffix);
    name += DIGEST_HEX_SIZE - 3;
    memcpy(v->suffix, name, strnlen(name, DISK_SUFFIX_MAX));
    x->n++;
    return HULL_OK;
}

static int older_first(const void *a, const void *b)
{
    const victim *x = a, *y = b;

    if (x->used_ns != y->used_ns)
        return x->used_ns < y->used_ns ? -1 : 1;
    return memcmp(&x->key, &y->key, sizeof x->key);
}

/* Never the same twice, nor 0. */
static uint64_t new_generation(uint64_t old)
{
    uint64_t now = time_ns() ^ ((uint64_t)getpid() << 40);

    return now != 0 && now != old ? now : old + 1;
}

/* Counts the folder; *x has all entries, in the order of their use. */
static hull_status take_census(census *x, space *s)
{
    counters_add(s->c, STAT_scans, 1);
    TRY(disk_walk(s->c, DISK_TEMP | DISK_ENTRY | DISK_BAD, count_one, x));
    if (x->n > 1)
        qsort(x->p, x->n, sizeof *x->p, older_first);
    s->u = (usage){.bytes = x->bytes,
                   .bad = x->bad,
                   .generation = new_generation(s->u.generation)};
    s->counted = true;
    return HULL_OK;
}

/* Lists what comes after the first `taken`. */
static hull_status list_census(const census *x, space *s, size_t taken)
{
    size_t n = x->n / LISTED_SHARE;

    n = n > LISTED ? n : LISTED;
    n = n < x->n - taken ? n : x->n - taken;
    /* Killed in between: no list, rather than a list read from its middle. */
    TRY(space_write(s));
    if (n == 0)
        return HULL_OK;
    write_list(s, x->p + taken, n);
    return space_write(s);
}

hull_status space_count(space *s)
{
    census x = {0};
    hull_status st = take_census(&x, s);

    if (st == HULL_OK)
        st = list_census(&x, s, 0);
    mem_free(x.p);
    return st;
}

/* ---- making room --------------------------------------------------------- */

static uint64_t missing(const space *s, uint64_t room)
{
    uint64_t want = s->u.bytes + room;

    return want > s->c->limit ? want - s->c->limit : 0;
}

/* The list has ended: a new one, whose first ones go at once, so that a disk
 * that is too full for a list does not stop this. */
static hull_status count_and_doom(doomed *d, space *s, uint64_t room)
{
    hull_status st;
    census x = {0};
    size_t taken = 0;
    uint64_t need;

    TRY_OUT(take_census(&x, s));
    d->generation = s->u.generation;
    need = missing(s, room);
    TRY_OUT(doom_bad(d, s, need));
    while (taken < x.n && d->bytes < need)
        TRY_OUT(doom_victim(d, s->c, &x.p[taken++]));
    if (need > 0 && d->n == 0)
        TRY_OUT(fail(HULL_EIO, "'%s' has no room: others are writing",
                     s->c->home));
    st = list_census(&x, s, taken);
out:
    mem_free(x.p);
    return st;
}

hull_status doom_entries(doomed *d, space *s, uint64_t room)
{
    uint64_t need = missing(s, room);

    TRY(doom_temps(d, s));
    TRY(doom_bad(d, s, need));
    TRY(doom_listed(d, s, need));
    return d->n > 0 ? space_write(s) : count_and_doom(d, s, room);
}
