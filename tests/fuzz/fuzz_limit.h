/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * fuzz_limit.h - an allocator that refuses what goes beyond LIMIT, as a small
 * machine would: a model may honestly want more, a test may not.
 */
#ifndef HULL_FUZZ_LIMIT_H
#define HULL_FUZZ_LIMIT_H

#include <malloc.h>
#include <stdlib.h>

#include "hull.h"

#define LIMIT ((size_t)64 << 20)

static _Atomic size_t live;

static void *limited_alloc(void *user, size_t align, size_t size)
{
    void *p;

    (void)user;
    if (size > LIMIT || live > LIMIT)
        return NULL;
    if (align < sizeof(void *))
        align = sizeof(void *);
    if (posix_memalign(&p, align, size ? size : 1) != 0)
        return NULL;
    live += malloc_usable_size(p);
    return p;
}

static void limited_free(void *user, void *p)
{
    (void)user;
    if (p)
        live -= malloc_usable_size(p);
    free(p);
}

__attribute__((constructor)) static void set_limit(void)
{
    static const hull_allocator limited = { limited_alloc, limited_free, NULL };

    if (hull_set_allocator(&limited) != HULL_OK)
        abort();
}

#endif
