/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * disk.c - the verbs of the folder: get, has, touch, put, set aside, clear. A
 * store reserves its room first (space.h), writes a file in tmp/, syncs it,
 * gives it the entry's name in one step and syncs the shard; whatever stops it
 * in between leaves no entry, or the whole one.
 */
#include "cache/space.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- get ----------------------------------------------------------------- */

/* Has another process cut it meanwhile? That is damage, no refusal. */
static bool was_cut(const file *f)
{
    struct stat s;

    return fstat(f->fd, &s) == 0 && (uint64_t)s.st_size < f->size;
}

/* No mapping: what another process does to the file later, or a disk that
 * fails then, would be a signal. */
hull_status disk_read(cache_entry *out, const char *path, bool follow)
{
    hull_status st;
    size_t size;

    *out = CACHE_ENTRY_NONE;
    TRY(file_open(&out->f, path, follow));
    if (out->f.size > DISK_ENTRY_MAX)
        return fail(HULL_EFORMAT, "'%s' has more bytes than an entry may have",
                    path);
    size = (size_t)out->f.size;
    out->memory = blob_new(size);
    if (out->memory == NULL)
        return fail_oom(size);
    st = file_read_at(&out->f, 0, out->memory->p, size);
    return st != HULL_OK && was_cut(&out->f)
               ? fail(HULL_EFORMAT, "'%s' was cut while it was read", path)
               : st;
}

hull_status disk_read_key(cache_entry *out, bytes *out_key, const char *path,
                          bool follow)
{
    *out_key = (bytes){0};
    TRY(disk_read(out, path, follow));
    TRY(container_open(&out->c, (bytes){out->memory->p, out->memory->n}, 0));
    return container_get(out->c, "key", KEY_PREIMAGE_MAX, out_key);
}

hull_status disk_get(cache_entry *out, const cache *c, cache_kind kind,
                     const digest *key)
{
    char *path = disk_path(c, key, kind);
    hull_status st;

    *out = CACHE_ENTRY_NONE;
    if (path == NULL)
        return fail_oom(DIGEST_HEX_SIZE);
    st = disk_read(out, path, false);
    mem_free(path);
    return st;
}

bool disk_has(const cache *c, cache_kind kind, const digest *key)
{
    char *path = disk_path(c, key, kind);
    bool has = path != NULL && access(path, R_OK) == 0;

    mem_free(path);
    return has;
}

/* The owner's time is exact to the nanosecond; to others the system grants its
 * own clock only, which is some milliseconds coarser. path is of `at`, or NULL:
 * the file is open as `at`. */
static bool set_used_now(int at, const char *path)
{
    struct timespec now[2];

    clock_gettime(CLOCK_REALTIME, &now[0]);
    now[1] = now[0];
    if (path == NULL)
        return futimens(at, now) == 0 ||
               (errno == EPERM && futimens(at, NULL) == 0);
    return utimensat(at, path, now, 0) == 0 ||
           (errno == EPERM && utimensat(at, path, NULL, 0) == 0);
}

void disk_touch(const cache *c, const file *f)
{
    if (!atomic_load(&c->read_only) && !set_used_now(f->fd, NULL))
        log_debug("cache", "cannot touch '%s'", f->path);
}

void disk_touch_key(const cache *c, cache_kind kind, const digest *key)
{
    char *path = atomic_load(&c->read_only) ? NULL : disk_path(c, key, kind);

    if (path != NULL && !set_used_now(AT_FDCWD, path))
        log_debug("cache", "cannot touch '%s'", path);
    mem_free(path);
}

/* ---- put: room ----------------------------------------------------------- */

/* Others may take the room that was made: then again. */
#define ROUNDS 1000

static hull_status count_if_needed(space *s)
{
    hull_status st = s->counted ? HULL_OK : space_count(s);

    if (st == HULL_OK || s->c->limit > 0)
        return st;
    log_info("cache", "the size of '%s' is not known: %s", s->c->path,
             error_text());
    s->counted = false; /* and without a limit nobody minds */
    return HULL_OK;
}

/* One round: room and a file in it, or entries on their way out. */
static hull_status try_reserve(temp *out, doomed *d, cache *c, uint64_t size)
{
    hull_status st;
    space s;

    TRY_OUT(space_lock(&s, c));
    TRY_OUT(count_if_needed(&s));
    st = c->limit > 0 && s.u.bytes + size > c->limit
             ? doom_entries(d, &s, size) : temp_make(out, &s, size);
out:
    space_unlock(&s);
    return st;
}

/* out->fd is -1 when the entry is larger than the whole limit. */
static hull_status reserve(temp *out, cache *c, uint64_t size)
{
    hull_status st = HULL_OK;

    *out = TEMP_NONE;
    if (c->limit > 0 && size > c->limit) {
        log_info("cache", "an entry of %llu bytes is not stored: cache_limit "
                 "is %llu", (unsigned long long)size,
                 (unsigned long long)c->limit);
        counters_add(c, STAT_oversize, 1);
        return HULL_OK;
    }
    for (int i = 0; i < ROUNDS && st == HULL_OK && out->fd < 0; i++) {
        doomed d = {0};

        st = try_reserve(out, &d, c, size);
        doomed_remove(&d, c);
    }
    if (st == HULL_OK && out->fd < 0)
        st = fail(HULL_EIO, "'%s': others take all room that is made",
                  c->path);
    return st;
}

/* ---- put: write ---------------------------------------------------------- */

static hull_status write_all(const temp *t, bytes content)
{
    size_t done = 0;

    while (done < content.n) {
        ssize_t n = write(t->fd, content.p + done, content.n - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return file_fail("writing", t->path);
        done += (size_t)n;
    }
    if (!set_used_now(t->fd, NULL)) /* then it has the time of the write */
        log_debug("cache", "cannot touch '%s'", t->path);
    return fsync(t->fd) == 0 || errno == EINVAL ? HULL_OK
                                                : file_fail("syncing", t->path);
}

/* Takes the temp's name away: it is the entry now. */
static void became_entry(temp *t)
{
    mem_free(t->path);
    t->path = NULL;
}

/* First one wins. A file system without RENAME_NOREPLACE: all who rename hold
 * the lock, so a look at the name will do. */
static hull_status name_new(bool *out_stored, temp *t, const char *path)
{
    int rc = renameat2(AT_FDCWD, t->path, AT_FDCWD, path, RENAME_NOREPLACE);

    if (rc != 0 && errno == EEXIST)
        return HULL_OK;
    if (rc != 0 && (errno == EINVAL || errno == ENOSYS)) {
        if (access(path, F_OK) == 0)
            return HULL_OK;
        rc = rename(t->path, path);
    }
    if (rc != 0)
        return file_fail("storing", path);
    became_entry(t);
    *out_stored = true;
    return HULL_OK;
}

/* Last one wins: the two change names, so that the old one's size is given
 * back by whoever removes it. */
static hull_status name_over(bool *out_stored, temp *t, space *s,
                             const char *path)
{
    struct stat old;
    bool has_old;

    if (renameat2(AT_FDCWD, t->path, AT_FDCWD, path, RENAME_EXCHANGE) == 0) {
        *out_stored = true;
        t->size = lstat(t->path, &old) == 0 ? (uint64_t)old.st_size : 0;
        return HULL_OK;
    }
    if (errno == ENOENT)
        return name_new(out_stored, t, path);
    if (errno != EINVAL && errno != ENOSYS)
        return file_fail("storing", path);
    has_old = lstat(path, &old) == 0; /* one without RENAME_EXCHANGE */
    if (rename(t->path, path) != 0)
        return file_fail("storing", path);
    became_entry(t);
    *out_stored = true;
    return has_old ? space_give_back(s, (uint64_t)old.st_size) : HULL_OK;
}

static hull_status publish(bool *out_stored, cache *c, temp *t,
                           const char *path, bool replace)
{
    hull_status st;
    space s;

    TRY(disk_make_above(c, path));
    st = space_lock(&s, c);
    if (st == HULL_OK) {
        st = replace ? name_over(out_stored, t, &s, path)
                     : name_new(out_stored, t, path);
        t->generation = s.u.generation; /* what is in tmp/ now is in usage */
    }
    space_unlock(&s);
    return st;
}

/* Makes the name durable; some file systems cannot. */
static hull_status sync_above(const char *path)
{
    char *folder = path_dir(path);
    hull_status st = HULL_OK;
    int fd = -1;

    if (folder == NULL)
        return fail_oom(strlen(path));
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL))
        st = file_fail("syncing", folder);
    if (fd >= 0)
        close(fd);
    mem_free(folder);
    return st;
}

hull_status disk_put(bool *out_stored, cache *c, cache_kind kind,
                     const digest *key, bytes content, bool replace)
{
    char *path = disk_path(c, key, kind);
    hull_status st = HULL_OK;
    temp t = TEMP_NONE;

    *out_stored = false;
    if (path == NULL)
        return fail_oom(DIGEST_HEX_SIZE);
    if (atomic_load(&c->read_only) || (!replace && access(path, F_OK) == 0))
        goto out;
    TRY_OUT(reserve(&t, c, content.n));
    if (t.fd < 0)
        goto out;
    TRY_OUT(write_all(&t, content));
    TRY_OUT(publish(out_stored, c, &t, path, replace));
    if (!*out_stored)
        goto out;
    counters_add(c, STAT_bytes_written, content.n);
    st = sync_above(path);
out:
    temp_close(&t, c);
    mem_free(path);
    return st;
}

/* ---- set aside ----------------------------------------------------------- */

#define WHY_MAX 512

static uint64_t size_at(const char *path)
{
    struct stat s;

    return lstat(path, &s) == 0 ? (uint64_t)s.st_size : 0;
}

/* One line: when, who, what was wrong. Says nothing when there is no room. */
static hull_status write_why(space *s, const char *path, const char *why)
{
    char text[WHY_MAX], when[32] = "";
    time_t now = time(NULL);
    uint64_t old = size_at(path);
    hull_status st;
    struct tm tm;
    size_t n;
    int fd;

    if (gmtime_r(&now, &tm) != NULL)
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &tm);
    snprintf(text, sizeof text - 1, "%s pid %ld: %s", when, (long)getpid(),
             why);
    n = strlen(text);
    text[n++] = '\n';
    if (s->c->limit > 0 && s->u.bytes + n > s->c->limit)
        return HULL_OK;
    TRY(space_take(s, n));
    TRY(disk_create(&fd, s->c, path, O_WRONLY | O_TRUNC));
    st = write(fd, text, n) == (ssize_t)n ? HULL_OK
                                          : file_fail("writing", path);
    close(fd);
    return st == HULL_OK ? space_give_back(s, old) : st;
}

static hull_status move_aside(space *s, const char *path, const file_id *id,
                              const char *to)
{
    uint64_t old = size_at(to);
    struct stat now;

    if (stat(path, &now) != 0 || now.st_ino != id->ino)
        return HULL_ENOTFOUND; /* another process was faster */
    s->u.bad++;
    TRY(space_take(s, 0)); /* first said, then done */
    if (rename(path, to) != 0)
        return errno == ENOENT ? HULL_ENOTFOUND
                               : file_fail("moving aside", path);
    return space_give_back(s, old);
}

hull_status disk_set_aside(cache *c, const char *path, const file_id *id,
                           const char *why)
{
    hull_status st = HULL_OK;
    char *to = NULL, *reason = NULL;
    space s = {.fd = -1};
    cache_kind kind;
    digest key;

    if (atomic_load(&c->read_only) || !disk_key(&key, &kind, c, path))
        return HULL_OK;
    to = disk_flat_path(c, DISK_BAD_FOLDER, &key, kind, "");
    reason = disk_flat_path(c, DISK_BAD_FOLDER, &key, kind, DISK_WHY);
    if (to == NULL || reason == NULL)
        TRY_OUT(fail_oom(strlen(path)));
    TRY_OUT(disk_make_above(c, to));
    TRY_OUT(space_lock(&s, c));
    st = move_aside(&s, path, id, to);
    if (st == HULL_OK)
        st = write_why(&s, reason, why);
    if (st == HULL_ENOTFOUND)
        st = HULL_OK;
out:
    space_unlock(&s);
    mem_free(to);
    mem_free(reason);
    return st;
}

/* ---- clear, trim --------------------------------------------------------- */

static hull_status remove_one(void *user, const disk_file *f)
{
    (void)user;
    return unlink(f->path) == 0 || errno == ENOENT
               ? HULL_OK : file_fail("removing", f->path);
}

static hull_status recount(cache *c)
{
    hull_status st;
    space s;

    st = space_lock(&s, c);
    if (st == HULL_OK)
        st = space_count(&s);
    space_unlock(&s);
    return st;
}

hull_status disk_clear(cache *c)
{
    TRY(disk_walk(c, DISK_ENTRY | DISK_BAD, remove_one, NULL));
    temps_purge(c);
    return recount(c);
}

hull_status disk_trim(cache *c)
{
    hull_status st = HULL_OK;
    bool fits = c->limit == 0;

    temps_purge(c);
    TRY(recount(c));
    for (int i = 0; i < ROUNDS && !fits && st == HULL_OK; i++) {
        doomed d = {0};
        space s;

        st = space_lock(&s, c);
        fits = st != HULL_OK || s.u.bytes <= c->limit;
        if (!fits)
            st = doom_entries(&d, &s, 0);
        space_unlock(&s);
        doomed_remove(&d, c);
    }
    return st;
}
