/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * slab.c - first-fit offsets for values with overlapping lifetimes. The caller
 * takes and gives in execution order, so two values that are alive at once
 * never overlap and `high` is the memory that the whole run needs.
 */
#include "backend/backend.h"

#include <string.h>

hull_status slab_take(slab *s, uint64_t size, uint64_t *out_off)
{
    uint64_t need, off = 0, end;
    size_t at = 0;

    *out_off = 0;
    if (size > UINT64_MAX / 2)
        return fail(HULL_ENOMEM, "a value of %llu bytes is too large",
                    (unsigned long long)size);
    need = round_up(size == 0 ? 1 : size, PLACE_ALIGN);
    for (; at < s->n; at++) {
        if (s->live[at].off - off >= need)
            break;
        off = s->live[at].off + s->live[at].size;
    }
    if (!add_u64(&end, off, need))
        return fail(HULL_ENOMEM, "the values of one run exceed 2^64 bytes");
    TRY(mem_grow(&s->live, &s->cap, s->n + 1, sizeof *s->live));
    memmove(s->live + at + 1, s->live + at, (s->n - at) * sizeof *s->live);
    s->live[at] = (slab_range){off, need};
    s->n++;
    if (end > s->high)
        s->high = end;
    *out_off = off;
    return HULL_OK;
}

void slab_give(slab *s, uint64_t off)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->live[i].off != off)
            continue;
        memmove(s->live + i, s->live + i + 1,
                (s->n - i - 1) * sizeof *s->live);
        s->n--;
        return;
    }
}

void slab_fini(slab *s)
{
    if (s == NULL)
        return;
    mem_free(s->live);
    *s = (slab){0};
}
