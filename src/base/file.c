/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * file.c - the only place that opens files. Reading maps regular files and
 * keeps the descriptor, so that a change can be seen later. Writing goes to
 * ".hull-<pid>-<time>-<count>.tmp" in the target's folder, which is synced,
 * renamed over the target, and made durable by syncing the folder; a crash
 * leaves at most such a temp file behind. errno is turned into our codes in
 * fail_errno() only.
 */
#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_WALK_DEPTH 64
#define WRITE_MODE 0666 /* before the umask */

static _Atomic uint64_t bytes_read;

static hull_status fail_errno(int err, const char *doing, const char *path)
{
    hull_status code = err == ENOENT || err == ENOTDIR ? HULL_ENOTFOUND
                       : err == ENOMEM                 ? HULL_ENOMEM
                                                       : HULL_EIO;
    char room[128];

    return fail(code, "%s '%s': %s", doing, path,
                strerror_r(err, room, sizeof(room)));
}

static file_id id_of(const struct stat *s)
{
    return (file_id){
        .dev = (uint64_t)s->st_dev,
        .ino = (uint64_t)s->st_ino,
        .size = (uint64_t)s->st_size,
        .mtime_ns =
            (int64_t)s->st_mtim.tv_sec * 1000000000 + s->st_mtim.tv_nsec,
        .ctime_ns =
            (int64_t)s->st_ctim.tv_sec * 1000000000 + s->st_ctim.tv_nsec,
    };
}

/* Opens a regular file for reading, `name` in folder `at`; O_NONBLOCK, so that
 * a pipe in its place is refused instead of waited for. */
static hull_status open_regular(int *out_fd, file_id *out_id, int at,
                                const char *name, const char *path,
                                bool follow)
{
    struct stat s;
    int fd, err;

    *out_fd = -1;
    memset(out_id, 0, sizeof(*out_id));
    fd = openat(at, name,
                O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY |
                    (follow ? 0 : O_NOFOLLOW));
    if (fd < 0)
        return fail_errno(errno, "opening", path);
    if (fstat(fd, &s) != 0) {
        err = errno;
        close(fd);
        return fail_errno(err, "looking at", path);
    }
    if (!S_ISREG(s.st_mode)) {
        close(fd);
        return fail(HULL_EIO, "opening '%s': it is %s, wanted a regular file",
                    path, S_ISDIR(s.st_mode) ? "a folder" : "a special file");
    }
    *out_fd = fd;
    *out_id = id_of(&s);
    return HULL_OK;
}

/* Makes *out of what fd is open on, or closes it. */
static hull_status take_opened(file *out, int fd, const file_id *id,
                               const char *path)
{
    out->path = mem_strndup(path, strlen(path));
    if (out->path == NULL) {
        close(fd);
        return fail_oom(strlen(path) + 1);
    }
    out->fd = fd;
    out->id = *id;
    out->size = id->size;
    return HULL_OK;
}

static void init(file *out)
{
    memset(out, 0, sizeof(*out));
    out->fd = -1;
}

hull_status file_open(file *out, const char *path, bool follow)
{
    file_id id;
    int fd;

    init(out);
    if (path == NULL)
        return fail(HULL_EINVAL, "path is NULL, wanted a file's path");
    TRY(open_regular(&fd, &id, AT_FDCWD, path, path, follow));
    return take_opened(out, fd, &id, path);
}

/* Maps an open file; on failure it is closed. */
static hull_status map_opened(file *f)
{
    hull_status st = HULL_OK;
    void *p;

    if (f->size == 0)
        return HULL_OK;
    if (f->size > SIZE_MAX)
        TRY_OUT(fail(HULL_ENOMEM,
                     "mapping '%s': %" PRIu64 " bytes do not fit the address "
                     "space",
                     f->path, f->size));
    p = mmap(NULL, (size_t)f->size, PROT_READ, MAP_PRIVATE, f->fd, 0);
    if (p == MAP_FAILED)
        TRY_OUT(fail_errno(errno, "mapping", f->path));
    f->p = p;
    return HULL_OK;
out:
    file_close(f);
    return st;
}

hull_status file_map(file *out, const char *path)
{
    TRY(file_open(out, path, true));
    return map_opened(out);
}

/* What of `path` lies below `folder`, both resolved; NULL: it is elsewhere. */
static const char *below(const char *path, const char *folder)
{
    size_t n = strcmp(folder, "/") == 0 ? 0 : strlen(folder);

    return strncmp(path, folder, n) == 0 && path[n] == '/' ? path + n + 1
                                                           : NULL;
}

/* Which of the two allowed folders holds `real`, which was resolved: dir, the
 * owner's as it was given, or the one where the owner itself really lies. The
 * result is what follows *folder (room for a path) in real, or NULL. */
static const char *find_below(char *folder, const char *real, const char *dir,
                              const char *owner)
{
    const char *rest = realpath(dir, folder) ? below(real, folder) : NULL;
    char *slash;

    if (rest != NULL || realpath(owner, folder) == NULL)
        return rest;
    slash = strrchr(folder, '/');
    slash[slash == folder] = '\0';
    return below(real, folder);
}

/* Opens part by part and follows no link: there was none when the path was
 * resolved, so one that is there now was put there in between. */
static hull_status open_below(file *out, const char *folder, const char *rest,
                              const char *path)
{
    int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC), parent, err;
    char name[NAME_MAX + 1];
    const char *slash;
    hull_status st;
    file_id id;

    while (fd >= 0 && (slash = strchr(rest, '/')) != NULL) {
        snprintf(name, sizeof(name), "%.*s", (int)(slash - rest), rest);
        parent = fd;
        fd = openat(parent, name,
                    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        err = errno;
        close(parent);
        errno = err;
        rest = slash + 1;
    }
    if (fd < 0)
        return fail_errno(errno, "opening", path);
    parent = fd;
    st = open_regular(&fd, &id, parent, rest, path, false);
    close(parent);
    return st == HULL_OK ? take_opened(out, fd, &id, path) : st;
}

hull_status file_map_below(file *out, const char *path, const char *owner)
{
    char real[PATH_MAX], folder[PATH_MAX];
    hull_status st = HULL_OK;
    char *dir = path_dir(owner);
    const char *rest;

    init(out);
    if (dir == NULL)
        return fail_oom(strlen(owner) + 1);
    if (realpath(path, real) == NULL)
        TRY_OUT(fail_errno(errno, "opening", path));
    rest = find_below(folder, real, dir, owner);
    if (rest == NULL)
        TRY_OUT(fail(HULL_EFORMAT,
                     "'%s', its links followed, is not below the folder of "
                     "'%s'",
                     path, owner));
    TRY_OUT(open_below(out, folder, rest, path));
    st = map_opened(out);
out:
    mem_free(dir);
    return st;
}

void file_close(file *f)
{
    if (f == NULL)
        return;
    if (f->p != NULL)
        munmap((void *)(uintptr_t)f->p, (size_t)f->size);
    if (f->path != NULL && f->fd >= 0) /* a zeroed file does not own fd 0 */
        close(f->fd);
    mem_free(f->path);
    memset(f, 0, sizeof(*f));
    f->fd = -1;
}

void file_drop_pages(const file *f)
{
    if (f->p != NULL)
        (void)madvise((void *)(uintptr_t)f->p, (size_t)f->size, MADV_DONTNEED);
}

bool file_id_eq(const file_id *a, const file_id *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
           a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

/* ctime is left out: renaming or linking the file moves it, and neither
 * touches the bytes behind our descriptor. */
hull_status file_unchanged(const file *f)
{
    struct stat s;
    file_id now;

    if (fstat(f->fd, &s) != 0)
        return fail_errno(errno, "looking at", f->path);
    now = id_of(&s);
    now.ctime_ns = f->id.ctime_ns;
    if (file_id_eq(&now, &f->id))
        return HULL_OK;
    return fail(HULL_EIO,
                "file '%s' changed: %" PRIu64 " bytes of time %" PRId64
                ", wanted %" PRIu64 " bytes of time %" PRId64,
                f->path, now.size, now.mtime_ns, f->id.size, f->id.mtime_ns);
}

hull_status file_read_at(const file *f, uint64_t off, void *dst, uint64_t n)
{
    uint64_t done = 0, end;

    if (!add_u64(&end, off, n) || end > f->size)
        return fail(HULL_EIO,
                    "reading '%s': %" PRIu64 " bytes at %" PRIu64
                    " are wanted, the file has %" PRIu64,
                    f->path, n, off, f->size);
    while (done < n) {
        uint64_t left = n - done;
        size_t step = left > ((size_t)1 << 30) ? (size_t)1 << 30 : (size_t)left;
        ssize_t got =
            pread(f->fd, (char *)dst + done, step, (off_t)(off + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_errno(errno, "reading", f->path);
        if (got == 0)
            return fail(HULL_EIO,
                        "reading '%s': it was truncated to %" PRIu64
                        " bytes or fewer, wanted %" PRIu64,
                        f->path, off + done, f->size);
        done += (uint64_t)got;
        file_count_read((uint64_t)got);
    }
    return HULL_OK;
}

uint64_t file_bytes_read(void)
{
    return atomic_load(&bytes_read);
}

void file_count_read(uint64_t n)
{
    atomic_fetch_add_explicit(&bytes_read, n, memory_order_relaxed);
}

/* Reads up to the end of the file, which may grow or shrink meanwhile. */
static hull_status read_fd(buf *b, int fd, size_t max, const char *path)
{
    char room[16384];

    for (;;) {
        ssize_t got = read(fd, room, sizeof(room));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_errno(errno, "reading", path);
        if (got == 0)
            return HULL_OK;
        if ((size_t)got > max - b->n)
            return fail(HULL_ENOMEM,
                        "reading '%s': it has more than the "
                        "%zu bytes allowed",
                        path, max);
        buf_put(b, room, (size_t)got);
        TRY(buf_status(b));
    }
}

hull_status file_read_all(char **out, size_t *out_n, const char *path,
                          size_t max)
{
    hull_status st = HULL_OK;
    file_id id;
    buf b;
    int fd;

    *out = NULL;
    *out_n = 0;
    if (path == NULL)
        return fail(HULL_EINVAL, "path is NULL, wanted a file's path");
    TRY(open_regular(&fd, &id, AT_FDCWD, path, path, true));
    buf_init(&b, max);
    TRY_OUT(read_fd(&b, fd, max, path));
    *out_n = b.n;
    *out = buf_take(&b);
    if (*out == NULL) {
        *out_n = 0;
        st = fail_oom(1);
    }
out:
    buf_fini(&b);
    close(fd);
    return st;
}

/* ---- writing ------------------------------------------------------------- */

static hull_status temp_name(char **out, const char *folder)
{
    static _Atomic uint32_t count;
    char name[80];

    snprintf(name, sizeof(name), ".hull-%ld-%" PRIx64 "-%" PRIu32 ".tmp",
             (long)getpid(), time_ns(), atomic_fetch_add(&count, 1));
    *out = path_join(folder, name);
    return *out == NULL ? fail_oom(strlen(folder) + sizeof(name)) : HULL_OK;
}

hull_status file_writer_open(file_writer *out, const char *path)
{
    file_writer w = { .fd = -1 };
    hull_status st = HULL_OK;
    char *folder = NULL;
    int tries, err;

    memset(out, 0, sizeof(*out));
    out->fd = -1;
    if (path == NULL || path[0] == '\0')
        return fail(HULL_EINVAL, "path is empty, wanted a file's path");
    folder = path_dir(path);
    w.path = mem_strndup(path, strlen(path));
    if (folder == NULL || w.path == NULL) {
        st = fail_oom(strlen(path) + 1);
        goto out;
    }
    for (tries = 0; w.fd < 0; tries++) {
        TRY_OUT(temp_name(&w.tmp, folder));
        w.fd = open(w.tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, WRITE_MODE);
        if (w.fd >= 0)
            break;
        err = errno;
        mem_free(w.tmp); /* not ours: nothing to remove */
        w.tmp = NULL;
        if (err != EEXIST || tries == 16) {
            st = fail_errno(err, "writing", path);
            goto out;
        }
    }
    *out = w;
    memset(&w, 0, sizeof(w));
out:
    file_writer_abort(&w);
    mem_free(folder);
    return st;
}

hull_status file_writer_put(file_writer *w, const void *p, size_t n)
{
    const char *at = p;

    while (n > 0) {
        ssize_t put = write(w->fd, at, n > ((size_t)1 << 30) ? 1 << 30 : n);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return fail_errno(errno, "writing", w->path);
        at += put;
        n -= (size_t)put;
        w->written += (uint64_t)put;
    }
    return HULL_OK;
}

/* Makes the names of a folder durable. File systems that cannot sync a folder
 * say EINVAL; there is nothing more to do there. */
static hull_status sync_folder(int fd, const char *path)
{
    if (fsync(fd) != 0 && errno != EINVAL && errno != EROFS)
        return fail_errno(errno, "syncing the folder of", path);
    return HULL_OK;
}

static hull_status commit(file_writer *w, const char *folder)
{
    hull_status st = HULL_OK;
    int dir, fd;

    dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return fail_errno(errno, "opening the folder of", w->path);
    if (fsync(w->fd) != 0) {
        st = fail_errno(errno, "syncing", w->path);
        goto out;
    }
    fd = w->fd;
    w->fd = -1;
    if (close(fd) != 0 && errno != EINTR) {
        st = fail_errno(errno, "closing", w->path);
        goto out;
    }
    if (rename(w->tmp, w->path) != 0) {
        st = fail_errno(errno, "renaming onto", w->path);
        goto out;
    }
    mem_free(w->tmp);
    w->tmp = NULL;
    st = sync_folder(dir, w->path);
out:
    close(dir);
    return st;
}

hull_status file_writer_commit(file_writer *w)
{
    hull_status st;
    char *folder;

    if (w->path == NULL || w->tmp == NULL)
        return fail(HULL_EINVAL, "file writer is closed, wanted an open one");
    folder = path_dir(w->path);
    st = folder == NULL ? fail_oom(strlen(w->path)) : commit(w, folder);
    mem_free(folder);
    file_writer_abort(w);
    return st;
}

void file_writer_abort(file_writer *w)
{
    if (w == NULL)
        return;
    if (w->tmp != NULL) {
        if (w->fd >= 0)
            close(w->fd);
        unlink(w->tmp);
    }
    mem_free(w->tmp);
    mem_free(w->path);
    w->tmp = NULL;
    w->path = NULL;
    w->fd = -1;
}

hull_status file_write_atomic(const char *path, const file_part *parts,
                              size_t n_parts)
{
    hull_status st = HULL_OK;
    file_writer w;
    size_t i;

    TRY(file_writer_open(&w, path));
    for (i = 0; i < n_parts; i++)
        TRY_OUT(file_writer_put(&w, parts[i].p, parts[i].n));
    TRY_OUT(file_writer_commit(&w));
out:
    file_writer_abort(&w);
    return st;
}

/* ---- folders and paths --------------------------------------------------- */

hull_status file_fail(const char *doing, const char *path)
{
    return fail_errno(errno, doing, path);
}

static hull_status make_one(const char *path)
{
    struct stat s;
    int err;

    if (mkdir(path, 0777) == 0)
        return HULL_OK;
    err = errno;
    if (stat(path, &s) == 0 && S_ISDIR(s.st_mode))
        return HULL_OK;
    return fail_errno(err, "making folder", path);
}

hull_status dir_make(const char *path)
{
    hull_status st = HULL_OK;
    char *copy, *p;

    if (path == NULL || path[0] == '\0')
        return fail(HULL_EINVAL, "path is empty, wanted a folder's path");
    copy = mem_strndup(path, strlen(path));
    if (copy == NULL)
        return fail_oom(strlen(path) + 1);
    for (p = copy + 1; *p != '\0'; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        TRY_OUT(make_one(copy));
        *p = '/';
    }
    TRY_OUT(make_one(copy));
out:
    mem_free(copy);
    return st;
}

static hull_status walk(const char *path, dir_fn *fn, void *user, int depth);

/* One entry of a folder. What another process removed meanwhile is skipped,
 * links and special files too. */
static hull_status visit(const char *folder, const char *name, dir_fn *fn,
                         void *user, int depth)
{
    char *path = path_join(folder, name);
    hull_status st = HULL_OK;
    struct stat s;
    file_id id;

    if (path == NULL)
        return fail_oom(strlen(folder) + strlen(name) + 2);
    if (lstat(path, &s) != 0) {
        if (errno != ENOENT)
            st = fail_errno(errno, "looking at", path);
    } else if (S_ISDIR(s.st_mode)) {
        st = walk(path, fn, user, depth + 1);
    } else if (S_ISREG(s.st_mode)) {
        id = id_of(&s);
        st = fn(user, path, &id);
    }
    mem_free(path);
    return st;
}

static hull_status walk(const char *path, dir_fn *fn, void *user, int depth)
{
    hull_status st = HULL_OK;
    struct dirent *e;
    DIR *d;

    if (depth > MAX_WALK_DEPTH)
        return fail(HULL_EIO, "folder '%s' nests deeper than %d", path,
                    MAX_WALK_DEPTH);
    d = opendir(path);
    if (d == NULL) {
        if (errno == ENOENT && depth > 0)
            return HULL_OK;
        return fail_errno(errno, "opening folder", path);
    }
    while (st == HULL_OK) {
        errno = 0;
        e = readdir(d);
        if (e == NULL) {
            if (errno != 0)
                st = fail_errno(errno, "reading folder", path);
            break;
        }
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            st = visit(path, e->d_name, fn, user, depth);
    }
    closedir(d);
    return st;
}

hull_status dir_walk(const char *path, dir_fn *fn, void *user)
{
    if (path == NULL)
        return fail(HULL_EINVAL, "path is NULL, wanted a folder's path");
    return walk(path, fn, user, 0);
}

char *path_join(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b), at = 0;
    char *p = mem_alloc(n + m + 2);

    if (p == NULL)
        return NULL;
    if (b[0] != '/' && n > 0) {
        memcpy(p, a, n);
        at = n;
        if (a[n - 1] != '/' && m > 0)
            p[at++] = '/';
    }
    memcpy(p + at, b, m);
    p[at + m] = '\0';
    return p;
}

const char *path_base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

char *path_dir(const char *path)
{
    size_t n = (size_t)(path_base(path) - path);

    if (n == 0)
        return mem_strndup(".", 1);
    while (n > 1 && path[n - 1] == '/')
        n--;
    return mem_strndup(path, n);
}
