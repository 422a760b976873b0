/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * fault.c - stands in front of functions of the C library (fault.h). Each does
 * its system call itself, or fails on demand.
 */
#include "fault.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic uint64_t calls, counts[CALLS];
static uint64_t armed;
static fault_how armed_how;

void fault_arm(uint64_t n, fault_how how)
{
    for (int i = 0; i < CALLS; i++)
        atomic_store(&counts[i], 0);
    atomic_store(&calls, 0);
    armed = n;
    armed_how = how;
}

uint64_t fault_calls(void)
{
    return atomic_load(&calls);
}

uint64_t fault_count(fault_call call)
{
    return atomic_load(&counts[call]);
}

static void die(void)
{
    syscall(SYS_kill, getpid(), SIGKILL);
}

/* What becomes of this call; dies here when that comes before it. */
static fault_how next(fault_call call, bool needs_room)
{
    uint64_t n = atomic_fetch_add(&calls, 1) + 1;

    atomic_fetch_add(&counts[call], 1);
    if (armed_how == FAULT_OLD && call == CALL_RENAMEAT2)
        return FAULT_OLD;
    if (armed_how == FAULT_FULL && armed != 0 && n > armed && needs_room)
        return FAULT_ENOSPC;
    if (n != armed)
        return FAULT_NONE;
    if (armed_how == FAULT_DIES)
        die();
    if (armed_how == FAULT_FULL)
        return needs_room ? FAULT_ENOSPC : FAULT_NONE;
    return armed_how == FAULT_OLD ? FAULT_EIO : armed_how;
}

static bool fails(fault_how how)
{
    errno = how == FAULT_EIO ? EIO : how == FAULT_OLD ? EINVAL : ENOSPC;
    return how == FAULT_EIO || how == FAULT_ENOSPC || how == FAULT_OLD;
}

static bool dies_after(fault_how how)
{
    return how == FAULT_TORN || how == FAULT_DONE;
}

#define AROUND(call, needs_room, number, ...)         \
    fault_how how = next(call, needs_room);           \
    long rc;                                          \
                                                      \
    if (fails(how))                                   \
        return -1;                                    \
    rc = syscall(number, __VA_ARGS__);                \
    if (dies_after(how))                              \
        die();

int open(const char *path, int flags, ...)
{
    unsigned mode = 0;
    va_list ap;

    va_start(ap, flags);
    if (flags & O_CREAT)
        mode = va_arg(ap, unsigned);
    va_end(ap);
    AROUND(CALL_OPEN, (flags & O_CREAT) != 0 && access(path, F_OK) != 0,
           SYS_openat, AT_FDCWD, path, flags, mode)
    return (int)rc;
}

int openat(int at, const char *path, int flags, ...)
{
    AROUND(CALL_OPEN, false, SYS_openat, at, path, flags)
    return (int)rc;
}

static void cut(int fd)
{
    char path[32];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    syscall(SYS_truncate, path, 0L);
}

ssize_t pread(int fd, void *p, size_t n, off_t off)
{
    fault_how how = next(CALL_PREAD, false);
    long rc;

    if (fails(how))
        return -1;
    if (how == FAULT_CUT)
        cut(fd);
    rc = syscall(SYS_pread64, fd, p, n, off);
    if (dies_after(how))
        die();
    return rc;
}

static size_t part(fault_how how, size_t n)
{
    return how == FAULT_SHORT || how == FAULT_TORN ? n / 2 : n;
}

ssize_t write(int fd, const void *p, size_t n)
{
    AROUND(CALL_WRITE, true, SYS_write, fd, p, part(how, n))
    return rc;
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t off)
{
    AROUND(CALL_PWRITE, true, SYS_pwrite64, fd, p, part(how, n), off)
    return rc;
}

int fsync(int fd)
{
    AROUND(CALL_FSYNC, false, SYS_fsync, fd)
    return (int)rc;
}

int rename(const char *from, const char *to)
{
    AROUND(CALL_RENAME, false, SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0)
    return (int)rc;
}

int renameat2(int a, const char *from, int b, const char *to, unsigned flags)
{
    AROUND(CALL_RENAMEAT2, false, SYS_renameat2, a, from, b, to, flags)
    return (int)rc;
}

int ftruncate(int fd, off_t n)
{
    AROUND(CALL_FTRUNCATE, true, SYS_ftruncate, fd, n)
    return (int)rc;
}

int fallocate(int fd, int mode, off_t off, off_t n)
{
    AROUND(CALL_FALLOCATE, true, SYS_fallocate, fd, mode, off, n)
    return (int)rc;
}

int unlink(const char *path)
{
    AROUND(CALL_UNLINK, false, SYS_unlinkat, AT_FDCWD, path, 0)
    return (int)rc;
}

int mkdir(const char *path, mode_t mode)
{
    AROUND(CALL_MKDIR, access(path, F_OK) != 0, SYS_mkdirat, AT_FDCWD, path,
           mode)
    return (int)rc;
}

int futimens(int fd, const struct timespec times[2])
{
    AROUND(CALL_FUTIMENS, false, SYS_utimensat, fd, NULL, times, 0)
    return (int)rc;
}

int fstatat(int at, const char *path, struct stat *out, int flags)
{
    atomic_fetch_add(&counts[CALL_FSTATAT], 1);
    return (int)syscall(SYS_newfstatat, at, path, out, flags);
}

void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
    if (fd >= 0)
        atomic_fetch_add(&counts[CALL_MMAP], 1);
    return (void *)syscall(SYS_mmap, at, n, prot, flags, fd, off);
}

DIR *opendir(const char *path)
{
    DIR *(*real)(const char *);

    *(void **)&real = dlsym(RTLD_NEXT, "opendir");
    atomic_fetch_add(&counts[CALL_OPENDIR], 1);
    return real(path);
}
