/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * disk.c - the folder of a cache (layout in disk.h). Every change of a name is
 * one rename or unlink, so several processes need no lock here: whoever comes
 * second finds the work done.
 */
#include "cache/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TEMP_PREFIX ".hull-"
#define TEMP_SUFFIX ".tmp"
#define TEMP_MAX_AGE_NS (INT64_C(3600) * 1000000000)

static const char tag_text[] =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This folder is a cache of Hull; it may be removed at any time.\n";

static hull_status fail_system(const char *doing, const char *path)
{
    int err = errno;

    return fail(HULL_EIO, "%s '%s': %s", doing, path, strerror(err));
}

/* ---- names --------------------------------------------------------------- */

char *disk_path(const cache *c, const digest *key, cache_kind kind)
{
    char hex[DIGEST_HEX_SIZE], name[DIGEST_HEX_SIZE + 16];

    digest_hex(key, hex);
    snprintf(name, sizeof name, "%.2s/%s%s", hex, hex + 2,
             cache_kinds[kind].suffix);
    return path_join(c->path, name);
}

/* Path relative to the folder, "" when it is outside. */
static str inside(const cache *c, const char *path)
{
    size_t n = strlen(c->path);

    if (strncmp(path, c->path, n) != 0)
        return (str){"", 0};
    while (path[n] == '/')
        n++;
    return str_of(path + n);
}

bool disk_key(digest *out, cache_kind *kind, const cache *c, const char *path)
{
    char hex[DIGEST_HEX_SIZE];
    str rest, s = inside(c, path);
    str shard = str_split(s, '/', &rest);
    size_t n;
    int k = 0;

    while (k < CACHE_KINDS && !str_ends(rest, cache_kinds[k].suffix))
        k++;
    if (k == CACHE_KINDS)
        return false;
    *kind = (cache_kind)k;
    n = strlen(cache_kinds[k].suffix);
    if (shard.n != 2 || rest.n != sizeof hex - 3 + n)
        return false;
    memcpy(hex, shard.p, 2);
    memcpy(hex + 2, rest.p, rest.n - n);
    return digest_from_hex(out, (str){hex, sizeof hex - 1});
}

bool disk_is_bad(const cache *c, const char *path)
{
    return str_starts(inside(c, path), "bad/");
}

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool is_dead_temp(const char *path, const file_id *id)
{
    str name = str_of(path_base(path));

    return str_starts(name, TEMP_PREFIX) && str_ends(name, TEMP_SUFFIX) &&
           id->mtime_ns < now_ns() - TEMP_MAX_AGE_NS;
}

/* ---- open ---------------------------------------------------------------- */

static hull_status clean_temp(void *user, const char *path, const file_id *id)
{
    (void)user;
    if (is_dead_temp(path, id) && unlink(path) == 0)
        log_info("cache", "removed '%s', which nobody finished", path);
    return HULL_OK;
}

/* A cleaning that the system refuses leaves only dead bytes behind. */
static void clean_temps(const char *folder)
{
    if (dir_walk(folder, clean_temp, NULL) != HULL_OK)
        log_debug("cache", "%s", error_text());
}

static void write_tag(const cache *c)
{
    char *path = path_join(c->path, "CACHEDIR.TAG");
    file_part part = {tag_text, sizeof tag_text - 1};

    if (path != NULL && access(path, F_OK) != 0 &&
        file_write_atomic(path, &part, 1) != HULL_OK)
        log_info("cache", "%s", error_text());
    mem_free(path);
}

hull_status disk_open(cache *c)
{
    if (c->read_only)
        return access(c->path, R_OK | X_OK) == 0
                   ? HULL_OK : fail_system("reading", c->path);
    TRY(dir_make(c->path));
    write_tag(c);
    clean_temps(c->path);
    return HULL_OK;
}

/* ---- entries ------------------------------------------------------------- */

static char *bad_path(const cache *c, const char *path)
{
    char hex[DIGEST_HEX_SIZE], name[DIGEST_HEX_SIZE + 16];
    cache_kind kind;
    digest key;

    if (!disk_key(&key, &kind, c, path))
        return NULL;
    digest_hex(&key, hex);
    snprintf(name, sizeof name, "bad/%s%s", hex, cache_kinds[kind].suffix);
    return path_join(c->path, name);
}

hull_status disk_set_aside(const cache *c, const char *path,
                           const file_id *id)
{
    char *to = bad_path(c, path), *folder = NULL;
    hull_status st = HULL_OK;
    struct stat now;

    if (to == NULL || (folder = path_dir(to)) == NULL)
        TRY_OUT(fail_oom(strlen(path)));
    if (stat(path, &now) != 0 || now.st_ino != id->ino)
        goto out; /* another process was faster */
    TRY_OUT(dir_make(folder));
    if (rename(path, to) != 0 && errno != ENOENT)
        TRY_OUT(fail_system("moving aside", path));
out:
    mem_free(to);
    mem_free(folder);
    return st;
}

static hull_status new_temp(char **out, const char *folder)
{
    static _Atomic(uint32_t) count;
    char name[96];

    snprintf(name, sizeof name,
             TEMP_PREFIX "put-%ld-%" PRIx64 "-%u" TEMP_SUFFIX, (long)getpid(),
             time_ns(), atomic_fetch_add(&count, 1));
    *out = path_join(folder, name);
    return *out != NULL ? HULL_OK : fail_oom(strlen(folder));
}

/* Gives a finished file its name; *out_stored false: the name is taken. */
static hull_status publish(bool *out_stored, const char *tmp, const char *path)
{
    *out_stored = renameat2(AT_FDCWD, tmp, AT_FDCWD, path,
                            RENAME_NOREPLACE) == 0;
    if (*out_stored || errno == EEXIST)
        return HULL_OK;
    if (errno != EINVAL && errno != ENOSYS)
        return fail_system("storing", path);
    /* A file system without it: then the last one wins. */
    *out_stored = rename(tmp, path) == 0;
    return *out_stored ? HULL_OK : fail_system("storing", path);
}

static hull_status write_entry(bool *out_stored, const char *path,
                               bytes content, bool replace)
{
    const file_part part = {content.p, content.n};
    char *folder = path_dir(path), *tmp = NULL;
    hull_status st = HULL_OK;

    if (folder == NULL)
        return fail_oom(strlen(path));
    TRY_OUT(dir_make(folder));
    clean_temps(folder);
    if (replace) {
        *out_stored = true;
        TRY_OUT(file_write_atomic(path, &part, 1));
        goto out;
    }
    TRY_OUT(new_temp(&tmp, folder));
    TRY_OUT(file_write_atomic(tmp, &part, 1));
    st = publish(out_stored, tmp, path);
    if (!*out_stored)
        unlink(tmp);
out:
    mem_free(tmp);
    mem_free(folder);
    return st;
}

static hull_status trim(cache *c);

hull_status disk_put(bool *out_stored, cache *c, cache_kind kind,
                     const digest *key, bytes content, bool replace)
{
    char *path = disk_path(c, key, kind);
    hull_status st = HULL_OK;

    *out_stored = false;
    if (path == NULL)
        return fail_oom(DIGEST_HEX_SIZE);
    if (!replace && access(path, F_OK) == 0)
        goto out;
    TRY_OUT(write_entry(out_stored, path, content, replace));
    if (*out_stored)
        st = trim(c);
out:
    mem_free(path);
    return st;
}

hull_status disk_get(file *out, const cache *c, cache_kind kind,
                     const digest *key)
{
    char *path = disk_path(c, key, kind);
    hull_status st;

    *out = (file){.fd = -1};
    if (path == NULL)
        return fail_oom(DIGEST_HEX_SIZE);
    st = file_map(out, path);
    mem_free(path);
    if (st == HULL_OK)
        file_count_read(out->size);
    return st;
}

bool disk_has(const cache *c, cache_kind kind, const digest *key)
{
    char *path = disk_path(c, key, kind);
    bool has = path != NULL && access(path, R_OK) == 0;

    mem_free(path);
    return has;
}

void disk_touch(const cache *c, const file *f)
{
    if (!c->read_only && futimens(f->fd, NULL) != 0)
        log_debug("cache", "cannot touch '%s'", f->path);
}

void disk_touch_key(const cache *c, cache_kind kind, const digest *key)
{
    char *path = c->read_only ? NULL : disk_path(c, key, kind);

    if (path != NULL && utimensat(AT_FDCWD, path, NULL, 0) != 0)
        log_debug("cache", "cannot touch '%s'", path);
    mem_free(path);
}

/* ---- locks --------------------------------------------------------------- */

#define LOCK_PAUSE_MS 2

/* Whoever unlocks may have removed the name: then the lock is of nothing. */
static bool is_at(int fd, const char *path)
{
    struct stat mine, named;

    return fstat(fd, &mine) == 0 && stat(path, &named) == 0 &&
           mine.st_ino == named.st_ino && mine.st_dev == named.st_dev;
}

/* The descriptor, -1 with *out_refused when it can never be had. */
static int try_lock(bool *out_refused, const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);

    *out_refused = fd < 0;
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && is_at(fd, path))
        return fd;
    *out_refused = *out_refused || (errno != EWOULDBLOCK && errno != EINTR &&
                                    errno != ENOENT);
    if (fd >= 0)
        close(fd);
    return -1;
}

int disk_lock(const char *path, uint32_t wait_ms)
{
    const struct timespec pause = {0, LOCK_PAUSE_MS * 1000000L};

    for (uint32_t ms = 0;; ms += LOCK_PAUSE_MS) {
        bool refused;
        int fd = try_lock(&refused, path);

        if (fd >= 0 || refused || ms >= wait_ms)
            return fd;
        nanosleep(&pause, NULL);
    }
}

/* Unlocked first: a process forked meanwhile has the descriptor as well. */
void disk_unlock(int fd)
{
    if (fd < 0)
        return;
    flock(fd, LOCK_UN);
    close(fd);
}

/* ---- trim, clear --------------------------------------------------------- */

typedef struct item {
    char *path;
    uint64_t size;
    int64_t used_ns; /* INT64_MIN: damaged */
} item;

typedef struct items {
    cache *c;
    item *p;
    size_t n, cap;
    uint64_t bytes;
} items;

static hull_status collect(void *user, const char *path, const file_id *id)
{
    items *all = user;
    bool bad = disk_is_bad(all->c, path);
    cache_kind kind;
    digest key;
    char *copy;

    if (!bad && !disk_key(&key, &kind, all->c, path))
        return clean_temp(NULL, path, id);
    TRY(mem_grow(&all->p, &all->cap, all->n + 1, sizeof *all->p));
    copy = mem_strndup(path, strlen(path));
    if (copy == NULL)
        return fail_oom(strlen(path));
    all->p[all->n++] = (item){copy, id->size, bad ? INT64_MIN : id->mtime_ns};
    all->bytes += id->size;
    return HULL_OK;
}

static void items_fini(items *all)
{
    for (size_t i = 0; i < all->n; i++)
        mem_free(all->p[i].path);
    mem_free(all->p);
}

static int older_first(const void *x, const void *y)
{
    const item *a = x, *b = y;

    if (a->used_ns != b->used_ns)
        return a->used_ns < b->used_ns ? -1 : 1;
    return strcmp(a->path, b->path);
}

/* Removes one; *out_n counts it when it was there. */
static hull_status remove_item(uint64_t *out_n, const item *it)
{
    if (unlink(it->path) == 0)
        ++*out_n;
    else if (errno != ENOENT)
        return fail_system("removing", it->path);
    return HULL_OK;
}

static hull_status trim(cache *c)
{
    hull_status st = HULL_OK;
    items all = {.c = c};
    uint64_t n = 0;

    if (c->limit == 0)
        return HULL_OK;
    TRY_OUT(dir_walk(c->path, collect, &all));
    if (all.n > 0)
        qsort(all.p, all.n, sizeof *all.p, older_first);
    for (size_t i = 0; i < all.n && all.bytes > c->limit; i++) {
        TRY_OUT(remove_item(&n, &all.p[i]));
        all.bytes -= all.p[i].size;
    }
out:
    counters_add(c, STAT_evicted, n);
    items_fini(&all);
    return st;
}

hull_status disk_clear(cache *c)
{
    hull_status st = HULL_OK;
    items all = {.c = c};
    uint64_t n = 0;

    TRY_OUT(dir_walk(c->path, collect, &all));
    for (size_t i = 0; i < all.n; i++)
        TRY_OUT(remove_item(&n, &all.p[i]));
out:
    items_fini(&all);
    return st;
}
