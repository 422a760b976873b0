/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * fill_memory.c - the memory that fills use. The slots that one fill writes lie
 * in one buffer per device, so that they lie on large pages; it is counted by
 * the groups of slots inside it, and nobody writes it again before the last of
 * them is gone. A room is what one worker computes units in. With spare=on one
 * buffer of slots and the rooms stay for the next fill, which then touches no
 * fresh page.
 */
#include "run/module.h"

#include <string.h>

/* Less than this is no waste to talk about, bytes. */
#define SMALL ((uint64_t)4 << 20)

void fill_memory_init(fill_memory *fm)
{
    memset(fm, 0, sizeof *fm);
    pthread_mutex_init(&fm->lock, NULL);
}

/* ---- slots --------------------------------------------------------------- */

static void slot_memory_free(slot_memory *sm)
{
    if (sm == NULL)
        return;
    sm->d->be->buffer_free(sm->buffer);
    mem_free(sm);
}

/* Takes the spare buffer out of the list that serves `size` bytes of d; one
 * that is too small goes. */
static slot_memory *take_spare(fill_memory *fm, const device *d, uint64_t size)
{
    slot_memory **at = &fm->slots, *sm, *small = NULL;

    pthread_mutex_lock(&fm->lock);
    while (*at != NULL && (*at)->d != d)
        at = &(*at)->next;
    sm = *at;
    if (sm != NULL && sm->size < size) {
        small = sm;
        *at = sm->next;
        sm = NULL;
    } else if (sm != NULL && sm->size > SMALL && sm->size / 2 > size) {
        sm = NULL; /* for a fill of everything */
    } else if (sm != NULL) {
        *at = sm->next;
    }
    pthread_mutex_unlock(&fm->lock);
    slot_memory_free(small);
    return sm;
}

hull_status slot_memory_new(slot_memory **out, fill_memory *fm, device *d,
                            uint64_t size)
{
    slot_memory *sm = take_spare(fm, d, size);
    hull_status st;

    *out = NULL;
    if (sm == NULL) {
        sm = mem_calloc(1, sizeof *sm);
        if (sm == NULL)
            return fail_oom(sizeof *sm);
        sm->d = d;
        sm->size = size;
        sm->home = fm;
        st = d->be->buffer_new(&sm->buffer, d, size);
        if (st != HULL_OK) {
            mem_free(sm);
            return st;
        }
    }
    atomic_init(&sm->refs, 1);
    atomic_init(&sm->used, 0);
    sm->next = NULL;
    *out = sm;
    return HULL_OK;
}

slot_memory *slot_memory_ref(slot_memory *sm, uint64_t n_bytes)
{
    atomic_fetch_add(&sm->refs, 1);
    atomic_fetch_add(&sm->used, n_bytes);
    return sm;
}

/* Into the list, where it replaces a smaller one of its device. */
static void give_spare(fill_memory *fm, slot_memory *sm)
{
    slot_memory **at = &fm->slots;

    pthread_mutex_lock(&fm->lock);
    while (*at != NULL && (*at)->d != sm->d)
        at = &(*at)->next;
    if (fm->keep && (*at == NULL || (*at)->size < sm->size)) {
        slot_memory *old = *at;

        sm->next = old != NULL ? old->next : NULL;
        *at = sm;
        sm = old;
    }
    pthread_mutex_unlock(&fm->lock);
    slot_memory_free(sm);
}

void slot_memory_unref(slot_memory *sm, uint64_t n_bytes)
{
    if (sm == NULL)
        return;
    atomic_fetch_sub(&sm->used, n_bytes);
    if (atomic_fetch_sub(&sm->refs, 1) == 1)
        give_spare(sm->home, sm);
}

bool slot_memory_wasted(slot_memory *sm)
{
    return sm != NULL && sm->size > SMALL &&
           atomic_load(&sm->used) < sm->size / 2;
}

/* ---- rooms --------------------------------------------------------------- */

static void room_free(fill_room *r)
{
    const backend *be = r->d->be;

    be->buffer_free(r->params.buffer);
    be->buffer_free(r->scratch.buffer);
    be->stream_free(r->s);
    mem_free(r);
}

hull_status fill_room_take(fill_room **out, fill_memory *fm, device *d)
{
    fill_room **at = &fm->rooms, *r;
    hull_status st;

    pthread_mutex_lock(&fm->lock);
    while (*at != NULL && (*at)->d != d)
        at = &(*at)->next;
    r = *at;
    if (r != NULL)
        *at = r->next;
    pthread_mutex_unlock(&fm->lock);
    *out = r;
    if (r != NULL)
        return HULL_OK;
    r = mem_calloc(1, sizeof *r);
    if (r == NULL)
        return fail_oom(sizeof *r);
    r->d = d;
    st = d->be->stream_new(&r->s, d);
    if (st != HULL_OK)
        mem_free(r);
    else
        *out = r;
    return st;
}

void fill_room_give(fill_memory *fm, fill_room *r)
{
    pthread_mutex_lock(&fm->lock);
    r->next = fm->rooms;
    fm->rooms = r;
    pthread_mutex_unlock(&fm->lock);
}

hull_status fill_room_grow(device *d, place *p, uint64_t size)
{
    if (p->size >= size)
        return HULL_OK;
    d->be->buffer_free(p->buffer);
    *p = (place){0};
    TRY(d->be->buffer_new(&p->buffer, d, size));
    p->size = size;
    return HULL_OK;
}

/* ---- what outlives a fill ------------------------------------------------ */

void fill_memory_keep(fill_memory *fm, bool keep)
{
    slot_memory *slots = NULL;
    fill_room *rooms = NULL;

    pthread_mutex_lock(&fm->lock);
    fm->keep = keep;
    if (!keep) {
        slots = fm->slots;
        fm->slots = NULL;
        rooms = fm->rooms;
        fm->rooms = NULL;
    }
    pthread_mutex_unlock(&fm->lock);
    while (slots != NULL) {
        slot_memory *next = slots->next;

        slot_memory_free(slots);
        slots = next;
    }
    while (rooms != NULL) {
        fill_room *next = rooms->next;

        room_free(rooms);
        rooms = next;
    }
}

void fill_memory_fini(fill_memory *fm)
{
    fill_memory_keep(fm, false);
    pthread_mutex_destroy(&fm->lock);
}
