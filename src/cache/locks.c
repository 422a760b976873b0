/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * locks.c - locks on files: flock, which dies with its owner. A lock's file may
 * be removed by whoever holds it, so one that was waited for counts only when
 * its name still leads to it.
 */
#include "cache/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FIRST_PAUSE_NS 50000
#define LAST_PAUSE_NS 2000000

static bool is_at(int fd, const char *path)
{
    struct stat mine, named;

    return fstat(fd, &mine) == 0 && stat(path, &named) == 0 &&
           mine.st_ino == named.st_ino && mine.st_dev == named.st_dev;
}

static bool has_no_locks(int err)
{
    return err == ENOLCK || err == EOPNOTSUPP || err == ENOSYS ||
           err == EINVAL;
}

/* LOCK_WAITED: somebody else has it now. */
static lock_outcome try_lock(int *out, cache *c, const char *path)
{
    int err;

    if (disk_create(out, c, path, O_RDWR) != HULL_OK)
        return LOCK_REFUSED;
    if (flock(*out, LOCK_EX | LOCK_NB) == 0) {
        if (is_at(*out, path))
            return LOCK_AT_ONCE;
        err = EWOULDBLOCK;
    } else {
        err = errno;
    }
    if (has_no_locks(err))
        return LOCK_NONE;
    close(*out);
    *out = -1;
    if (err == EWOULDBLOCK || err == EINTR)
        return LOCK_WAITED;
    errno = err;
    ignore(file_fail("locking", path)); /* the caller's text */
    return LOCK_REFUSED;
}

lock_outcome disk_lock(int *out, cache *c, const char *path, uint32_t wait_ms)
{
    uint64_t end = time_ns() + (uint64_t)wait_ms * 1000000;
    struct timespec pause = {0, FIRST_PAUSE_NS};
    bool waited = false;

    for (;;) {
        lock_outcome o = try_lock(out, c, path);

        if (o == LOCK_AT_ONCE && waited)
            return LOCK_WAITED;
        if (o != LOCK_WAITED)
            return o;
        if (time_ns() >= end)
            return LOCK_TIMEOUT;
        waited = true;
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < LAST_PAUSE_NS)
            pause.tv_nsec *= 2;
    }
}

bool disk_try_flock(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) == 0;
}

/* Unlocked first: a process forked meanwhile has the descriptor as well. */
void disk_unlock(int fd)
{
    if (fd < 0)
        return;
    flock(fd, LOCK_UN);
    close(fd);
}
