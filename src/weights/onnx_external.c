/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_external.c - opens the file that a TensorProto names as its location.
 * The name is hostile: it must be relative, stay below the model's folder, and
 * no part of it may be a symbolic link; what it names must be a regular file.
 * Each file is mapped once per index.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weights/onnx_data.h"

static hull_status fail_open(str location)
{
    if (errno == ENOENT || errno == ENOTDIR)
        return fail(HULL_ENOTFOUND, "external data '%.*s' does not exist",
                    STR_ARG(location));
    if (errno == ELOOP)
        return fail(HULL_EFORMAT,
                    "external data '%.*s' goes through a symbolic link",
                    STR_ARG(location));
    return fail(HULL_EIO, "external data '%.*s': %s", STR_ARG(location),
                strerror(errno));
}

/* Opens part by part below dir, following no link. */
static hull_status open_below(int *out, const char *dir, str location)
{
    str rest = location;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    *out = -1;
    if (fd < 0)
        return fail_open(str_of(dir));
    while (rest.n) {
        str part = str_split(rest, '/', &rest);
        int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC;
        char name[256];
        int next;

        if (part.n == 0 || part.n >= sizeof name || str_is(part, ".")) {
            close(fd);
            return fail(HULL_EFORMAT,
                        "external data '%.*s' has an unusable part",
                        STR_ARG(location));
        }
        memcpy(name, part.p, part.n);
        name[part.n] = 0;
        flags |= rest.n ? O_DIRECTORY : O_NONBLOCK;
        next = openat(fd, name, flags);
        if (next < 0 && rest.n && errno == ENOTDIR) {
            struct stat s; /* O_DIRECTORY hides that it is a link */

            if (fstatat(fd, name, &s, AT_SYMLINK_NOFOLLOW) == 0 &&
                S_ISLNK(s.st_mode))
                errno = ELOOP;
            else
                errno = ENOTDIR;
        }
        if (next < 0) {
            hull_status st = fail_open(location);

            close(fd);
            return st;
        }
        close(fd);
        fd = next;
    }
    *out = fd;
    return HULL_OK;
}

static int64_t nanoseconds(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Takes fd and path, on failure too. */
static hull_status map_fd(file *out, int fd, char *path, str location)
{
    struct stat s;
    void *p = NULL;

    *out = (file){ .fd = fd, .path = path };
    if (fstat(fd, &s) != 0)
        return fail_open(location);
    if (!S_ISREG(s.st_mode))
        return fail(HULL_EFORMAT, "external data '%.*s' is not a regular file",
                    STR_ARG(location));
    if (s.st_nlink > 1)
        log_warn("weights", "external data '%.*s' has %llu hard links",
                 STR_ARG(location), (unsigned long long)s.st_nlink);
    out->size = (uint64_t)s.st_size;
    out->id = (file_id){ .dev = s.st_dev,
                         .ino = s.st_ino,
                         .size = out->size,
                         .mtime_ns = nanoseconds(s.st_mtim),
                         .ctime_ns = nanoseconds(s.st_ctim) };
    if (out->size == 0)
        return HULL_OK;
    p = mmap(NULL, out->size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) {
        out->size = 0;
        return fail_open(location);
    }
    out->p = p;
    return HULL_OK;
}

hull_status onnx_external_file(int32_t *out, weights *w, const char *dir,
                               str location)
{
    file f = { .fd = -1 };
    hull_status st;
    char *z, *path;
    int fd;

    *out = -1;
    if (!str_is_safe_path(location))
        return fail(HULL_EFORMAT,
                    "external data '%.*s' is not a relative path below the "
                    "model's folder",
                    STR_ARG(location));
    z = mem_strndup(location.p, location.n);
    path = z ? path_join(dir, z) : NULL;
    mem_free(z);
    if (!path)
        return fail_oom(location.n);
    for (size_t i = w->n_files; i-- > 0;) {
        if (strcmp(w->files[i].path, path) == 0) {
            mem_free(path);
            *out = (int32_t)i;
            return HULL_OK;
        }
    }
    st = open_below(&fd, dir, location);
    if (st != HULL_OK) {
        mem_free(path);
        return st;
    }
    st = map_fd(&f, fd, path, location);
    if (st == HULL_OK)
        st = weights_take_file(w, &f, out);
    file_close(&f);
    return st;
}
