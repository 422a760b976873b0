/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * temps.c - the folder tmp/: files that are being written, each locked by its
 * writer, and files that are on their way out. One that nobody holds belongs
 * to a process that died; whoever finds it removes it.
 */
#include "cache/space.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Of a folder that has no locks: a file of that age is nobody's. */
#define DEAD_AGE_NS (INT64_C(3600) * 1000000000)
/* Dead files that one call takes, each with a descriptor. */
#define DEAD_AT_ONCE 64

char *temp_name(const cache *c, const char *what)
{
    static _Atomic(uint32_t) count;
    char name[96];

    snprintf(name, sizeof name, DISK_TEMP_FOLDER "/%s-%ld-%" PRIx64 "-%u",
             what, (long)getpid(), time_ns(), atomic_fetch_add(&count, 1));
    return disk_below(c, name);
}

/* ---- make, close --------------------------------------------------------- */

/* The disk's room is taken here, where the file system can do that. */
static hull_status set_size(int fd, uint64_t size, const char *path)
{
    int rc;

    do
        rc = fallocate(fd, 0, 0, (off_t)size);
    while (rc != 0 && errno == EINTR);
    if (rc != 0 && (errno == EOPNOTSUPP || errno == ENOSYS))
        rc = ftruncate(fd, (off_t)size);
    return rc == 0 ? HULL_OK : file_fail("making room for", path);
}

static hull_status make_file(temp *t, cache *c)
{
    t->path = temp_name(c, "put");
    if (t->path == NULL)
        return fail_oom(strlen(c->home));
    TRY(disk_create(&t->fd, c, t->path, O_RDWR | O_EXCL));
    /* Nobody else can have it: they look for it under the lock. A folder that
     * has no locks is as good without. */
    if (!disk_try_flock(t->fd))
        log_debug("cache", "'%s' is not locked", t->path);
    return set_size(t->fd, t->size, t->path);
}

/* True when there is no such file. */
static bool remove_file(temp *t)
{
    bool gone = t->fd < 0 || unlink(t->path) == 0;

    if (t->fd >= 0)
        close(t->fd);
    mem_free(t->path);
    *t = TEMP_NONE;
    return gone;
}

hull_status temp_make(temp *out, space *s, uint64_t size)
{
    hull_status st;

    *out = TEMP_NONE;
    out->size = size;
    out->generation = s->u.generation;
    TRY(space_take(s, size));
    st = make_file(out, s->c);
    if (st == HULL_OK)
        return HULL_OK;
    if (remove_file(out)) /* else usage keeps it; a failure: until a count */
        ignore(space_give_back(s, size));
    return st;
}

void temp_close(temp *t, cache *c)
{
    bool gone = t->path != NULL && unlink(t->path) == 0;

    if (t->fd >= 0)
        close(t->fd);
    if (gone)
        space_credit(c, t->generation, t->size);
    mem_free(t->path);
    *t = TEMP_NONE;
}

/* ---- of dead processes --------------------------------------------------- */

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The descriptor with the lock, or -1: somebody has it, or it is not ours to
 * open. */
static int take_dead(const cache *c, const disk_file *f)
{
    int fd = open(f->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0)
        return -1;
    if (atomic_load(&c->no_locks) ? f->used_ns < now_ns() - DEAD_AGE_NS
                                  : disk_try_flock(fd))
        return fd;
    close(fd);
    return -1;
}

typedef struct finder {
    doomed *d;
    const cache *c;
} finder;

static hull_status find_dead(void *user, const disk_file *f)
{
    const finder *x = user;
    doomed *d = x->d;
    char *path;
    int fd;

    if (d->n >= DEAD_AT_ONCE)
        return HULL_OK;
    TRY(mem_grow(&d->p, &d->cap, d->n + 1, sizeof *d->p));
    path = mem_strndup(f->path, strlen(f->path));
    if (path == NULL)
        return fail_oom(strlen(f->path));
    fd = take_dead(x->c, f);
    if (fd < 0) {
        mem_free(path);
        return HULL_OK;
    }
    d->p[d->n++] = (struct doomed_file){path, f->size, fd};
    d->bytes += f->size;
    return HULL_OK;
}

hull_status doom_temps(doomed *d, const space *s)
{
    finder x = {d, s->c};

    d->generation = s->u.generation;
    return disk_walk(s->c, DISK_TEMP, find_dead, &x);
}

void doomed_remove(doomed *d, cache *c)
{
    uint64_t gone = 0;

    for (size_t i = 0; i < d->n; i++) {
        if (unlink(d->p[i].path) == 0)
            gone += d->p[i].size;
        else if (errno != ENOENT)
            log_debug("cache", "'%s' stays: %s", d->p[i].path,
                      strerror(errno));
        if (d->p[i].fd >= 0)
            close(d->p[i].fd);
        mem_free(d->p[i].path);
    }
    mem_free(d->p);
    space_credit(c, d->generation, gone);
    counters_add(c, STAT_evicted, d->entries);
    *d = (doomed){0};
}

static hull_status is_any(void *user, const disk_file *f)
{
    (void)f;
    *(bool *)user = true;
    return HULL_OK;
}

/* Files that stay cost room, no more. */
void temps_purge(cache *c)
{
    doomed d = {0};
    bool any = false;
    hull_status st = disk_walk(c, DISK_TEMP, is_any, &any);
    space s;

    if (st == HULL_OK && any) {
        st = space_lock(&s, c);
        if (st == HULL_OK)
            st = doom_temps(&d, &s);
        space_unlock(&s);
    }
    if (d.n > 0)
        log_info("cache", "%zu files in '%s' that nobody finished go", d.n,
                 c->home);
    if (st != HULL_OK)
        log_debug("cache", "%s", error_text());
    doomed_remove(&d, c);
}
