/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * cpus.c - what this process may use of the machine: the CPUs of its affinity
 * mask, the quota of its cgroup and of those around it, the NUMA node of each
 * CPU. Whatever cannot be read limits nothing.
 *
 * A quota is CPU time per period, in version 2
 *     cpu.max              "max 100000" or "150000 100000"
 * and in version 1
 *     cpu.cfs_quota_us     "-1" or "150000"
 *     cpu.cfs_period_us    "100000"
 * /proc/self/cgroup names the groups, a line "number:controllers:path" each; a
 * container may see its own group as the root, so all folders on the path
 * upward are read and missing ones are passed over.
 */
#include "base/pool_private.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX 8192
#define PATH_MAX_BYTES 1024

/* The text of a small file, trimmed; false when there is none. */
static bool read_text(char *out, str *out_text, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t n = 0;
    ssize_t got;

    if (fd < 0)
        return false;
    do {
        got = read(fd, out + n, TEXT_MAX - n);
        n += got > 0 ? (size_t)got : 0;
    } while ((got > 0 && n < TEXT_MAX) || (got < 0 && errno == EINTR));
    close(fd);
    *out_text = str_trim((str){out, n});
    return n > 0 && got >= 0;
}

/* root + base + path + "/" + name, or false when that is too long. */
static bool read_in(char *out, str *out_text, const char *root,
                    const char *base, str path, const char *name)
{
    char full[PATH_MAX_BYTES];
    int n = snprintf(full, sizeof full, "%s%s%.*s/%s", root, base,
                     (int)path.n, path.p, name);

    return n > 0 && (size_t)n < sizeof full && read_text(out, out_text, full);
}

/* Whole CPUs of a quota, at least 1: with more threads than that all of them
 * would stand still together for the rest of each period. */
static uint32_t whole_cpus(str quota, str period)
{
    uint64_t q, p;

    if (!str_to_u64(&q, quota) || !str_to_u64(&p, period) || p == 0)
        return UINT32_MAX;
    if (q / p >= UINT32_MAX)
        return UINT32_MAX;
    return q / p < 1 ? 1 : (uint32_t)(q / p);
}

static uint32_t group_quota(const char *root, const char *base, str path,
                            bool v2)
{
    char a[TEXT_MAX], b[TEXT_MAX];
    str quota, period;

    if (v2) {
        if (!read_in(a, &quota, root, base, path, "cpu.max"))
            return UINT32_MAX;
        quota = str_split(quota, ' ', &period);
    } else if (!read_in(a, &quota, root, base, path, "cpu.cfs_quota_us") ||
               !read_in(b, &period, root, base, path, "cpu.cfs_period_us")) {
        return UINT32_MAX;
    }
    return whole_cpus(quota, period);
}

/* Least quota of the group at `path` and of those around it. */
static uint32_t path_quota(const char *root, const char *base, str path,
                           bool v2)
{
    uint32_t least = UINT32_MAX;

    for (;;) {
        uint32_t q;

        while (path.n > 0 && path.p[path.n - 1] == '/')
            path.n--;
        q = group_quota(root, base, path, v2);
        least = q < least ? q : least;
        if (path.n == 0)
            return least;
        while (path.n > 0 && path.p[path.n - 1] != '/')
            path.n--;
    }
}

static bool lists(str all, const char *word)
{
    while (all.n > 0)
        if (str_is(str_split(all, ',', &all), word))
            return true;
    return false;
}

uint32_t cpus_quota(const char *root)
{
    static const char *const bases[][2] = {
        {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"},
        {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"},
    };
    char text[TEXT_MAX];
    uint32_t least = UINT32_MAX;
    str rest;

    if (!read_in(text, &rest, root, "/proc/self", (str){0}, "cgroup"))
        return UINT32_MAX;
    while (rest.n > 0) {
        str path, line = str_split(rest, '\n', &rest), names;
        bool v2;

        str_split(line, ':', &path);
        names = str_split(path, ':', &path);
        v2 = names.n == 0;
        if ((!v2 && !lists(names, "cpu")) || str_contains(path, ".."))
            continue;
        for (size_t i = 0; i < 2; i++) {
            uint32_t q = path_quota(root, bases[v2][i], path, v2);

            least = q < least ? q : least;
        }
    }
    return least;
}

/* ---- nodes --------------------------------------------------------------- */

/* The next "3" or "0-3" of a list with commas. */
static bool next_range(str *list, uint64_t *low, uint64_t *high)
{
    str part, last;

    if (list->n == 0)
        return false;
    part = str_split(*list, ',', list);
    part = str_split(part, '-', &last);
    if (!str_to_u64(low, part))
        return false;
    *high = *low;
    return last.n == 0 || str_to_u64(high, last);
}

static void set_node(cpus *c, uint16_t node, str list)
{
    uint64_t low, high;

    while (next_range(&list, &low, &high))
        for (uint32_t i = 0; i < c->n; i++)
            if (c->at[i].cpu >= low && c->at[i].cpu <= high)
                c->at[i].node = node;
}

static int by_node(const void *a, const void *b)
{
    const cpu_place *x = a, *y = b;

    return x->node != y->node ? (x->node > y->node) - (x->node < y->node)
                              : (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

void cpus_sort(cpus *c, const char *root)
{
    static const char base[] = "/sys/devices/system/node";
    char nodes[TEXT_MAX], text[TEXT_MAX], name[64];
    uint64_t low, high;
    str list, members;

    if (!read_in(nodes, &list, root, base, (str){0}, "online"))
        return;
    while (next_range(&list, &low, &high))
        for (uint64_t i = low; i <= high && i < UINT16_MAX; i++) {
            snprintf(name, sizeof name, "node%u/cpulist", (unsigned)i);
            if (read_in(text, &members, root, base, (str){0}, name))
                set_node(c, (uint16_t)i, members);
        }
    qsort(c->at, c->n, sizeof *c->at, by_node);
}

/* ---- all of it ----------------------------------------------------------- */

static void read_affinity(cpus *c)
{
#if defined(__linux__)
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        for (int i = 0; i < CPU_SETSIZE && c->n < POOL_MAX_THREADS; i++)
            if (CPU_ISSET(i, &set))
                c->at[c->n++].cpu = (uint16_t)i;
        c->numbered = true;
    }
#endif
    if (c->n == 0) {
        long online = sysconf(_SC_NPROCESSORS_ONLN);

        c->n = online < 1                  ? 1
               : online > POOL_MAX_THREADS ? POOL_MAX_THREADS
                                           : (uint32_t)online;
        c->numbered = false;
    }
}

void cpus_read(cpus *out)
{
    uint32_t quota = cpus_quota("");

    memset(out, 0, sizeof *out);
    read_affinity(out);
    if (out->numbered)
        cpus_sort(out, "");
    out->n_threads = quota < out->n ? quota : out->n;
}
