/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * usage.c - the line of text that says how much room the entries take (space.h
 * has its rules): numbers of fixed width and a checksum, so that a line that
 * was written in part is no line.
 */
#include "cache/space.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK_WAIT_MS 10000
#define LINE_MAX_SIZE 192
#define HEAD "hull-usage 1 "

/* ---- the line ------------------------------------------------------------ */

static size_t print_line(char out[LINE_MAX_SIZE], const usage *u)
{
    digest d;
    char hex[DIGEST_HEX_SIZE];
    int n = snprintf(out, LINE_MAX_SIZE,
                     HEAD "%020" PRIu64 " %020" PRIu64 " %020" PRIu64
                     " %020" PRIu64 " %020" PRIu64 " ",
                     u->bytes, u->bad, u->generation, u->next, u->count);

    d = digest_of(out, (size_t)n);
    digest_hex(&d, hex);
    snprintf(out + n, LINE_MAX_SIZE - (size_t)n, "%.16s\n", hex);
    return (size_t)n + 17;
}

/* Whatever does not print as it was read is no line. */
static bool parse_line(usage *out, str line)
{
    uint64_t *const fields[] = {&out->bytes, &out->bad, &out->generation,
                                &out->next, &out->count};
    char again[LINE_MAX_SIZE];
    str rest;

    if (!str_starts(line, HEAD))
        return false;
    rest = (str){line.p + sizeof HEAD - 1, line.n - (sizeof HEAD - 1)};
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (!str_to_u64(fields[i], str_split(rest, ' ', &rest)))
            return false;
    return print_line(again, out) == line.n &&
           memcmp(again, line.p, line.n) == 0;
}

/* After a power cut the line may be older than the entries. */
static bool is_of_this_boot(int fd)
{
    struct timespec now, up;
    struct stat s;

    return fstat(fd, &s) == 0 && clock_gettime(CLOCK_REALTIME, &now) == 0 &&
           clock_gettime(CLOCK_BOOTTIME, &up) == 0 &&
           s.st_mtim.tv_sec >= now.tv_sec - up.tv_sec;
}

static hull_status read_line(space *s)
{
    char text[LINE_MAX_SIZE];
    ssize_t n = pread(s->fd, text, sizeof text, 0);

    if (n < 0)
        return file_fail("reading the file 'usage' of", s->c->home);
    s->counted = parse_line(&s->u, (str){text, (size_t)n}) &&
                 is_of_this_boot(s->fd);
    if (!s->counted)
        s->u = (usage){0};
    return HULL_OK;
}

/* ---- the lock ------------------------------------------------------------ */

hull_status space_lock(space *out, cache *c)
{
    char *path = disk_below(c, "usage");
    lock_outcome o;

    *out = (space){.c = c, .fd = -1};
    if (path == NULL)
        return fail_oom(strlen(c->home));
    o = disk_lock(&out->fd, c, path, LOCK_WAIT_MS);
    mem_free(path);
    if (o == LOCK_REFUSED)
        return HULL_EIO; /* its text is there */
    if (o == LOCK_TIMEOUT)
        return fail(HULL_EIO, "'%s': its file 'usage' was locked for %d ms",
                    c->home, LOCK_WAIT_MS);
    if (o == LOCK_NONE && !atomic_exchange(&c->no_locks, true))
        log_warn("cache", "'%s' has no file locks: its size is a guess when "
                 "several processes store", c->path);
    return read_line(out);
}

hull_status space_write(const space *s)
{
    char text[LINE_MAX_SIZE];
    size_t n = print_line(text, &s->u), done = 0;

    while (done < n) {
        ssize_t put = pwrite(s->fd, text + done, n - done, (off_t)done);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return file_fail("writing the file 'usage' of", s->c->home);
        done += (size_t)put;
    }
    return HULL_OK;
}

/* What nobody counts must not stay beside a line that somebody believes. */
hull_status space_take(space *s, uint64_t n)
{
    if (!s->counted)
        return ftruncate(s->fd, 0) == 0
                   ? HULL_OK : file_fail("emptying 'usage' of", s->c->home);
    if (!add_u64(&s->u.bytes, s->u.bytes, n))
        return fail(HULL_EIO, "the cache has too many bytes");
    return space_write(s);
}

hull_status space_give_back(space *s, uint64_t n)
{
    s->u.bytes -= n < s->u.bytes ? n : s->u.bytes;
    return s->counted ? space_write(s) : HULL_OK;
}

void space_unlock(space *s)
{
    disk_unlock(s->fd);
    s->fd = -1;
}

/* A failure leaves usage too large, until the next count. */
void space_credit(cache *c, uint64_t generation, uint64_t n)
{
    hull_status st;
    space s;

    if (n == 0)
        return;
    st = space_lock(&s, c);
    if (st == HULL_OK && s.u.generation == generation)
        st = space_give_back(&s, n);
    space_unlock(&s);
    if (st != HULL_OK)
        log_debug("cache", "%s", error_text());
}
