/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * folder.c - where the files of a cache lie (disk.h has the picture), what
 * their names are, who may use them, and the walk over all of them. Opening a
 * cache costs the same however many entries there are: it looks at ROOT and at
 * tmp/, never into a shard.
 */
#include "cache/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char tag_text[] =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This folder is a cache of Hull; it may be removed at any time.\n";

/* ---- names --------------------------------------------------------------- */

char *disk_below(const cache *c, const char *name)
{
    return path_join(c->home, name);
}

char *disk_path(const cache *c, const digest *key, cache_kind kind)
{
    char hex[DIGEST_HEX_SIZE], name[DIGEST_HEX_SIZE + 16];

    digest_hex(key, hex);
    snprintf(name, sizeof name, "%.2s/%s%s", hex, hex + 2,
             cache_kinds[kind].suffix);
    return disk_below(c, name);
}

char *disk_flat_path(const cache *c, const char *folder, const digest *key,
                     cache_kind kind, const char *more)
{
    char hex[DIGEST_HEX_SIZE], name[DIGEST_HEX_SIZE + 64];

    digest_hex(key, hex);
    snprintf(name, sizeof name, "%s/%s%s%s", folder, hex,
             cache_kinds[kind].suffix, more);
    return disk_below(c, name);
}

/* Path relative to the folder of this format, "" when it is outside. */
static str inside(const cache *c, const char *path)
{
    size_t n = strlen(c->home);

    if (strncmp(path, c->home, n) != 0)
        return (str){"", 0};
    while (path[n] == '/')
        n++;
    return str_of(path + n);
}

/* "HEX.KIND", HEX the key without what `head` has of it. */
static bool parse_name(digest *out, cache_kind *kind, str head, str name)
{
    char hex[DIGEST_HEX_SIZE];
    size_t n, rest = sizeof hex - 1 - head.n;
    int k = 0;

    while (k < CACHE_KINDS && !str_ends(name, cache_kinds[k].suffix))
        k++;
    if (k == CACHE_KINDS)
        return false;
    *kind = (cache_kind)k;
    n = strlen(cache_kinds[k].suffix);
    if (name.n != rest + n)
        return false;
    memcpy(hex, head.p, head.n);
    memcpy(hex + head.n, name.p, rest);
    return digest_from_hex(out, (str){hex, sizeof hex - 1});
}

bool disk_key(digest *out, cache_kind *kind, const cache *c, const char *path)
{
    str rest, s = inside(c, path);
    str shard = str_split(s, '/', &rest);

    return shard.n == 2 && parse_name(out, kind, shard, rest);
}

bool disk_bad_key(digest *out, cache_kind *kind, const cache *c,
                  const char *path)
{
    str rest, s = inside(c, path);
    str folder = str_split(s, '/', &rest);

    return str_is(folder, DISK_BAD_FOLDER) &&
           parse_name(out, kind, (str){"", 0}, rest);
}

/* An entry of this format, perhaps of a kind that a later Hull added. */
static bool is_entry_name(const char *name)
{
    size_t n = strspn(name, "0123456789abcdef");
    size_t more = strlen(name + n);

    return n == DIGEST_HEX_SIZE - 3 && name[n] == '.' && more > 1 &&
           more <= DISK_SUFFIX_MAX;
}

static bool is_shard_name(const char *name)
{
    return strlen(name) == 2 && strspn(name, "0123456789abcdef") == 2;
}

/* ---- who may use them ---------------------------------------------------- */

/* Group and others may do with what Hull makes what they may do with ROOT. */
static hull_status look_at_root(cache *c)
{
    struct stat s;

    if (stat(c->path, &s) != 0)
        return file_fail("looking at", c->path);
    c->folder_mode = (s.st_mode & (S_ISGID | 077)) | 0700;
    c->file_mode = (s.st_mode & 066) | 0600;
    c->group = s.st_gid;
    return HULL_OK;
}

/* What somebody else made is theirs to set. A refusal (the group is none of
 * ours) leaves what the umask gave. */
static void adopt(const cache *c, int fd, mode_t mode)
{
    struct stat s;

    if (fstat(fd, &s) != 0 || s.st_uid != geteuid())
        return;
    if (s.st_gid != c->group && fchown(fd, (uid_t)-1, c->group) != 0)
        log_debug("cache", "a new file keeps its group: %s",
                  strerror(errno));
    if ((s.st_mode & 0777) != (mode & 0777) && fchmod(fd, mode) != 0)
        log_debug("cache", "a new file keeps its mode: %s", strerror(errno));
}

/* Makes one folder; true when it is there, whatever mkdir says. */
static bool make_folder(const cache *c, const char *path)
{
    struct stat s;
    int fd, err;

    if (mkdir(path, 0777) != 0) {
        err = errno;
        if (err == EEXIST || (stat(path, &s) == 0 && S_ISDIR(s.st_mode)))
            return true;
        errno = err;
        return false;
    }
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return true;
    adopt(c, fd, c->folder_mode);
    close(fd);
    return true;
}

hull_status disk_make_above(const cache *c, const char *path)
{
    char *folder = path_dir(path);
    hull_status st = HULL_OK;
    bool made;

    if (folder == NULL)
        return fail_oom(strlen(path));
    made = make_folder(c, folder);
    if (!made && errno == ENOENT) { /* all was removed since it was opened */
        TRY_OUT(dir_make(c->path));
        made = make_folder(c, c->home) && make_folder(c, folder);
    }
    if (!made)
        st = file_fail("making folder", folder);
out:
    mem_free(folder);
    return st;
}

hull_status disk_create(int *out, cache *c, const char *path, int flags)
{
    const int all = flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW;

    *out = open(path, all, 0666);
    if (*out < 0 && errno == ENOENT) {
        TRY(disk_make_above(c, path));
        *out = open(path, all, 0666);
    }
    if (*out < 0 && errno == EROFS)
        disk_set_read_only(c);
    if (*out < 0)
        return file_fail("making", path);
    adopt(c, *out, c->file_mode);
    return HULL_OK;
}

/* ---- open ---------------------------------------------------------------- */

static void write_tag(cache *c)
{
    char *path = path_join(c->path, "CACHEDIR.TAG");
    int fd;

    if (path != NULL && access(path, F_OK) != 0 &&
        disk_create(&fd, c, path, O_WRONLY | O_EXCL) == HULL_OK) {
        if (write(fd, tag_text, sizeof tag_text - 1) < 0)
            log_info("cache", "'%s' stays empty: %s", path, strerror(errno));
        close(fd);
    }
    mem_free(path);
}

static bool refuses_writes(int err)
{
    return err == EROFS || err == EACCES || err == EPERM;
}

/* Once per process and folder: then nothing more is tried. */
void disk_set_read_only(cache *c)
{
    if (atomic_exchange(&c->read_only, true))
        return;
    log_warn("cache", "'%s' is read-only: its entries are used, nothing is "
             "stored", c->path);
    counters_add(c, STAT_errors, 1);
}

hull_status disk_open(cache *c)
{
    c->home = path_join(c->path, DISK_FORMAT);
    if (c->home == NULL)
        return fail_oom(strlen(c->path));
    if (atomic_load(&c->read_only))
        return access(c->path, R_OK | X_OK) == 0
                   ? HULL_OK : file_fail("reading", c->path);
    TRY(dir_make(c->path));
    TRY(look_at_root(c));
    if (!make_folder(c, c->home))
        return file_fail("making folder", c->home);
    if (faccessat(AT_FDCWD, c->home, W_OK, AT_EACCESS) != 0 &&
        refuses_writes(errno)) {
        disk_set_read_only(c);
        return HULL_OK;
    }
    write_tag(c);
    temps_purge(c);
    return HULL_OK;
}

/* ---- the walk ------------------------------------------------------------ */

typedef struct walker {
    disk_file_fn *fn;
    void *user;
    disk_place place;
    char path[PATH_MAX];
} walker;

int64_t disk_ns(const struct timespec *t)
{
    return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

/* One name of a folder. What another process removed meanwhile is skipped, and
 * so is what no Hull makes. */
static hull_status visit(walker *w, int dir, const char *name)
{
    size_t n = strlen(w->path);
    hull_status st = HULL_OK;
    struct stat s;
    int more;

    if (name[0] == '.' || (w->place == DISK_ENTRY && !is_entry_name(name)))
        return HULL_OK;
    more = snprintf(w->path + n, sizeof w->path - n, "/%s", name);
    if (more < 0 || (size_t)more >= sizeof w->path - n)
        return HULL_OK;
    if (fstatat(dir, name, &s, AT_SYMLINK_NOFOLLOW) != 0)
        st = errno == ENOENT ? HULL_OK : file_fail("looking at", w->path);
    else if (S_ISREG(s.st_mode))
        st = w->fn(w->user, &(disk_file){.place = w->place,
                                         .path = w->path,
                                         .size = (uint64_t)s.st_size,
                                         .ino = (uint64_t)s.st_ino,
                                         .used_ns = disk_ns(&s.st_mtim)});
    w->path[n] = '\0';
    return st;
}

typedef hull_status name_fn(walker *w, int dir, const char *name);

/* All names of the folder w->path; none when it is not there. */
static hull_status each_name(walker *w, name_fn *fn)
{
    hull_status st = HULL_OK;
    DIR *d = opendir(w->path);
    struct dirent *e;

    if (d == NULL)
        return errno == ENOENT || errno == ENOTDIR
                   ? HULL_OK : file_fail("opening", w->path);
    while (st == HULL_OK) {
        errno = 0;
        e = readdir(d);
        if (e == NULL) {
            st = errno == 0 ? HULL_OK : file_fail("reading", w->path);
            break;
        }
        st = fn(w, dirfd(d), e->d_name);
    }
    closedir(d);
    return st;
}

static hull_status visit_shard(walker *w, int dir, const char *name)
{
    size_t n = strlen(w->path);
    hull_status st;

    (void)dir;
    if (!is_shard_name(name) || n + 4 > sizeof w->path)
        return HULL_OK;
    snprintf(w->path + n, sizeof w->path - n, "/%s", name);
    st = each_name(w, visit);
    w->path[n] = '\0';
    return st;
}

static hull_status walk_folder(const cache *c, walker *w, disk_place place,
                               const char *name)
{
    int n = snprintf(w->path, sizeof w->path, "%s%s%s", c->home,
                     name[0] != '\0' ? "/" : "", name);

    if (n < 0 || (size_t)n >= sizeof w->path)
        return fail(HULL_EINVAL, "path of the cache is too long");
    w->place = place;
    return each_name(w, place == DISK_ENTRY ? visit_shard : visit);
}

hull_status disk_walk(const cache *c, unsigned places, disk_file_fn *fn,
                      void *user)
{
    walker w = {.fn = fn, .user = user};

    if (access(c->path, F_OK) != 0)
        return file_fail("opening", c->path);
    if (places & DISK_TEMP)
        TRY(walk_folder(c, &w, DISK_TEMP, DISK_TEMP_FOLDER));
    if (places & DISK_ENTRY)
        TRY(walk_folder(c, &w, DISK_ENTRY, ""));
    if (places & DISK_BAD)
        TRY(walk_folder(c, &w, DISK_BAD, DISK_BAD_FOLDER));
    return HULL_OK;
}
