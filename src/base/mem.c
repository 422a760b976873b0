/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * mem.c - the only place that calls malloc. Without a caller's allocator the
 * blocks are libc's own, so sanitizers see their exact bounds. With one, each
 * block carries a header of 16 bytes in front, because the caller's interface
 * has no realloc and does not tell sizes:
 *
 *     raw ... [ size | distance from raw ] payload
 */
#include "base/base.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MIN_ALIGN 16

typedef struct header {
    uint64_t size;
    uint64_t distance;
} header;

static struct {
    hull_allocator custom; /* written once, before the first allocation */
    atomic_bool has_custom;
    _Atomic uint64_t count;
    _Atomic int64_t live;
    atomic_bool fail_armed, fail_once;
    _Atomic int64_t fail_left;
} mem;

/* Counts one allocation; true when the test hook wants it to fail. */
static bool counted_fails(void)
{
    int64_t left;

    atomic_fetch_add_explicit(&mem.count, 1, memory_order_relaxed);
    if (!atomic_load_explicit(&mem.fail_armed, memory_order_acquire))
        return false;
    left = atomic_fetch_sub(&mem.fail_left, 1);
    return left == 1 || (left < 1 && !atomic_load(&mem.fail_once));
}

static void *counted_live(void *p)
{
    if (p != NULL)
        atomic_fetch_add_explicit(&mem.live, 1, memory_order_relaxed);
    return p;
}

static header *header_of(void *p)
{
    return (header *)(void *)((char *)p - sizeof(header));
}

static void *custom_alloc(size_t align, size_t size)
{
    size_t front = align < MIN_ALIGN ? MIN_ALIGN : align, total;
    char *raw;

    if (__builtin_add_overflow(size, front, &total))
        return NULL;
    raw = mem.custom.alloc(mem.custom.user, front, total);
    if (raw == NULL)
        return NULL;
    raw += front;
    *header_of(raw) = (header){ size, front };
    return raw;
}

static void custom_free(void *p)
{
    mem.custom.free(mem.custom.user, (char *)p - header_of(p)->distance);
}

bool mem_has_allocator(void)
{
    return atomic_load_explicit(&mem.has_custom, memory_order_acquire);
}

void *mem_alloc(size_t size)
{
    if (counted_fails())
        return NULL;
    if (size == 0)
        size = 1;
    if (mem_has_allocator())
        return counted_live(custom_alloc(MIN_ALIGN, size));
    return counted_live(malloc(size));
}

void *mem_calloc(size_t count, size_t size)
{
    size_t total;
    void *p;

    if (counted_fails() || __builtin_mul_overflow(count, size, &total))
        return NULL;
    if (total == 0)
        total = 1;
    if (!mem_has_allocator())
        return counted_live(calloc(1, total));
    p = custom_alloc(MIN_ALIGN, total);
    if (p != NULL)
        memset(p, 0, total);
    return counted_live(p);
}

static void *custom_realloc(void *p, size_t size)
{
    size_t old = (size_t)header_of(p)->size;
    void *moved = custom_alloc(MIN_ALIGN, size);

    if (moved == NULL)
        return NULL;
    memcpy(moved, p, old < size ? old : size);
    custom_free(p);
    return moved;
}

void *mem_realloc(void *p, size_t size)
{
    if (p == NULL)
        return mem_alloc(size);
    if (counted_fails())
        return NULL;
    if (size == 0)
        size = 1;
    return mem_has_allocator() ? custom_realloc(p, size) : realloc(p, size);
}

void *mem_alloc_aligned(size_t align, size_t size)
{
    void *p = NULL;

    if (counted_fails())
        return NULL;
    if (align < MIN_ALIGN)
        align = MIN_ALIGN;
    if ((align & (align - 1)) != 0)
        return NULL;
    if (size == 0)
        size = 1;
    if (mem_has_allocator())
        return counted_live(custom_alloc(align, size));
    if (posix_memalign(&p, align, size) != 0)
        return NULL;
    return counted_live(p);
}

void mem_free(void *p)
{
    if (p == NULL)
        return;
    atomic_fetch_sub_explicit(&mem.live, 1, memory_order_relaxed);
    if (mem_has_allocator())
        custom_free(p);
    else
        free(p);
}

char *mem_strndup(const char *s, size_t n)
{
    char *copy = n == SIZE_MAX ? NULL : mem_alloc(n + 1);

    if (copy == NULL)
        return NULL;
    if (n > 0)
        memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}

void mem_fail_at(uint64_t n, bool once)
{
    atomic_store(&mem.fail_armed, false);
    atomic_store(&mem.fail_once, once);
    atomic_store(&mem.fail_left, n > INT64_MAX ? INT64_MAX : (int64_t)n);
    atomic_store_explicit(&mem.fail_armed, n != 0, memory_order_release);
}

uint64_t mem_count(void)
{
    return atomic_load(&mem.count);
}

int64_t mem_live(void)
{
    return atomic_load(&mem.live);
}

hull_status mem_set_allocator(const hull_allocator *a)
{
    if (a == NULL || a->alloc == NULL || a->free == NULL)
        return fail(HULL_EINVAL, "allocator lacks a function, wanted alloc "
                                 "and free");
    if (mem_count() != 0)
        return fail(HULL_EINVAL,
                    "allocator comes after %llu allocations, wanted before "
                    "the first",
                    (unsigned long long)mem_count());
    if (mem_has_allocator())
        return fail(HULL_EINVAL, "allocator is already set, wanted one call");
    mem.custom = *a;
    atomic_store_explicit(&mem.has_custom, true, memory_order_release);
    return HULL_OK;
}

hull_status hull_set_allocator(const hull_allocator *a)
{
    return mem_set_allocator(a);
}

hull_status mem_grow(void *p, size_t *cap, size_t need, size_t elem_size)
{
    size_t next = *cap < 4 ? 4 : *cap, total;
    void *old, *grown;

    if (need <= *cap)
        return HULL_OK;
    if (__builtin_mul_overflow(next, (size_t)2, &next) || next < need)
        next = need;
    if (__builtin_mul_overflow(next, elem_size, &total))
        return fail_oom(SIZE_MAX);
    memcpy(&old, p, sizeof(old));
    grown = mem_realloc(old, total);
    if (grown == NULL)
        return fail_oom(total);
    memset((char *)grown + *cap * elem_size, 0, total - *cap * elem_size);
    memcpy(p, &grown, sizeof(grown));
    *cap = next;
    return HULL_OK;
}

/* ---- arena --------------------------------------------------------------- */

#define CHUNK_MIN ((size_t)4096)
#define CHUNK_MAX ((size_t)1 << 20)

struct arena_chunk {
    struct arena_chunk *next;
    size_t used, size; /* bytes after the header */
    size_t dirty;      /* bytes up to here may be other than 0 */
};

#define CHUNK_HEADER ((sizeof(struct arena_chunk) + 15) / 16 * 16)

/* A chunk for at least `size` bytes goes to the front, unless it serves one
 * large object only: then the roomier front chunk stays in front. */
static struct arena_chunk *arena_add_chunk(arena *a, size_t size)
{
    struct arena_chunk *front = a->chunk, *c;
    size_t want = front == NULL ? CHUNK_MIN : front->size * 2;

    if (want > CHUNK_MAX)
        want = CHUNK_MAX;
    if (want < size)
        want = size;
    if (want > SIZE_MAX - CHUNK_HEADER)
        return NULL;
    c = mem_calloc(1, CHUNK_HEADER + want);
    if (c == NULL)
        return NULL;
    c->size = want;
    if (front != NULL && front->size - front->used > want - size) {
        c->next = front->next;
        front->next = c;
    } else {
        c->next = front;
        a->chunk = c;
    }
    return c;
}

static void *arena_take(arena *a, size_t size, bool zeros)
{
    struct arena_chunk *c = a->chunk;
    size_t rounded;
    char *p;

    if (a->failed)
        return NULL;
    if (size > SIZE_MAX - 16)
        goto broken;
    rounded = size == 0 ? 16 : (size + 15) / 16 * 16;
    if (a->max != 0 && (a->used > a->max || rounded > a->max - a->used))
        goto broken;
    if (c == NULL || rounded > c->size - c->used) {
        c = arena_add_chunk(a, rounded);
        if (c == NULL)
            goto broken;
    }
    p = (char *)c + CHUNK_HEADER + c->used;
    if (zeros && c->used < c->dirty)
        memset(p, 0, rounded < c->dirty - c->used ? rounded
                                                  : c->dirty - c->used);
    c->used += rounded;
    a->used += rounded;
    return p;
broken:
    a->failed = true;
    return NULL;
}

void *arena_alloc(arena *a, size_t size)
{
    return arena_take(a, size, true);
}

void *arena_raw(arena *a, size_t count, size_t elem_size)
{
    size_t total;

    if (__builtin_mul_overflow(count, elem_size, &total)) {
        a->failed = true;
        return NULL;
    }
    return arena_take(a, total, false);
}

void *arena_array(arena *a, size_t count, size_t elem_size)
{
    size_t total;

    if (__builtin_mul_overflow(count, elem_size, &total)) {
        a->failed = true;
        return NULL;
    }
    return arena_alloc(a, total);
}

char *arena_strndup(arena *a, const char *s, size_t n)
{
    char *p = arena_alloc(a, n == SIZE_MAX ? n : n + 1);

    if (p != NULL && n > 0)
        memcpy(p, s, n); /* the arena's zeros end it */
    return p;
}

void *arena_memdup(arena *a, const void *src, size_t n)
{
    void *p = arena_alloc(a, n);

    if (p != NULL && n > 0)
        memcpy(p, src, n);
    return p;
}

void arena_reset(arena *a)
{
    struct arena_chunk *c = a->chunk;
    size_t total = 0;

    if (c != NULL && c->next == NULL && !a->failed) {
        c->dirty = c->used > c->dirty ? c->used : c->dirty;
        c->used = 0;
        a->used = 0;
        return;
    }
    for (; c != NULL; c = c->next)
        total += c->size;
    {
        size_t max = a->max;

        arena_fini(a);
        a->max = max;
    }
    if (total > 0)
        ignore(arena_add_chunk(a, total) == NULL ? HULL_ENOMEM : HULL_OK);
    /* a failure here shows at the next arena_alloc */
}

void arena_fini(arena *a)
{
    struct arena_chunk *c, *next;

    if (a == NULL)
        return;
    for (c = a->chunk; c != NULL; c = next) {
        next = c->next;
        mem_free(c);
    }
    memset(a, 0, sizeof(*a));
}
