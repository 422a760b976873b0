/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * fill_unit.c - a unit's sources into its slots, job by job: what one worker
 * does at a time. Files are read with pread and not through the mapping, so a
 * file that is truncated meanwhile is an error and not a signal; only a run
 * that makes its slots (windows) reads the mapping where it is aligned. The
 * caller's memory is read where it lies.
 */
#include "run/module.h"

#include <stdlib.h>
#include <string.h>

/* What is read or written at a time where that can be chosen: it stays in a
 * core's cache. Bytes. */
#define PART ((uint64_t)1 << 20)

/* ---- sources ------------------------------------------------------------- */

const weight_entry *source_entry(const binding *b, const fill_source *s)
{
    return s->kept >= 0 ? NULL : weights_find(b->w[s->w], s->name);
}

/* upload_reader: pieces of one source's bytes. */
typedef struct source_reader {
    const fill_task *t;
    const fill_source *s;
    const weight_entry *e;
    uint64_t begin;    /* of the part that is asked for */
    void *whole;       /* all bytes of a strided tensor read in pieces */
} source_reader;

static hull_status read_strided(source_reader *r, uint64_t off, void *dst,
                                uint64_t n)
{
    if (r->whole == NULL) {
        r->whole = mem_alloc(r->s->n_bytes);
        if (r->whole == NULL)
            return fail_oom(r->s->n_bytes);
        TRY(weights_read(r->t->b->w[r->s->w], r->e, r->whole));
    }
    memcpy(dst, (const char *)r->whole + off, n);
    return HULL_OK;
}

static hull_status read_source(void *user, uint64_t off, void *dst, uint64_t n)
{
    source_reader *r = user;
    const plan_hole *h;

    off += r->begin;
    if (r->e != NULL && off == 0 && n == r->s->n_bytes)
        return weights_read(r->t->b->w[r->s->w], r->e, dst);
    if (r->e != NULL && !r->e->dense)
        return read_strided(r, off, dst, n);
    if (r->e != NULL)
        return weights_read_part(r->t->b->w[r->s->w], r->e, off, dst, n);
    h = &r->t->m->plan->holes[r->s->kept];
    memcpy(dst, (const char *)h->kept_value + off, n);
    return HULL_OK;
}

/* Bytes [off, off + dst.size) of a source: into a slot, or for a program. */
static hull_status upload_source(fill_task *t, stream *st, place dst,
                                 const fill_unit *u, const fill_source *s,
                                 uint64_t off, bool cold)
{
    source_reader r = {t, s, source_entry(t->b, s), off, NULL};
    hull_status done;

    if (s->kept < 0 && r.e == NULL)
        return fail(HULL_EINTERNAL, "'%.*s' is not in the checkpoint",
                    STR_ARG(s->name));
    if (r.e != NULL && r.e->len != s->n_bytes)
        return fail(HULL_EINTERNAL, "'%.*s' changed its size",
                    STR_ARG(s->name));
    t->read += dst.size;
    done = u->d->be->upload_from(st, dst, read_source, &r, cold);
    mem_free(r.whole);
    return done;
}

const void *aligned_view(const weights *w, const weight_entry *e)
{
    const void *view = weights_view(w, e);
    size_t align = hull_dtype_bits(e->dtype) / 8;

    return view == NULL || align < 2 || (uintptr_t)view % align == 0 ? view
                                                                     : NULL;
}

/* Where a source can be read in place for the time of the fill: the caller's
 * memory, and the mapping of a file where a run reads its weights. */
static const void *source_in_memory(const fill_task *t, const fill_unit *u,
                                    const fill_source *s)
{
    const weight_entry *e = source_entry(t->b, s);

    if (e == NULL || e->len != s->n_bytes || !u->d->be->reads_host ||
        (weights_storage(t->b->w[s->w], e)->file >= 0 && t->windows == NULL))
        return NULL;
    return aligned_view(t->b->w[s->w], e);
}

/* Buffers of one computed unit. */
typedef struct unit_run {
    place *params;       /* in the room, or wrapped */
    place *slots;
    device_buffer **wrapped;
    shape *shapes, *result_shapes;
    program_plan *plan;
} unit_run;

static void unit_run_fini(unit_run *r, const fill_unit *u)
{
    const backend *be = u->d->be;

    for (uint32_t i = 0; r->wrapped != NULL && i < u->n_sources; i++)
        be->buffer_free(r->wrapped[i]);
    if (r->plan != NULL)
        be->plan_free(r->plan);
    mem_free(r->params);
    mem_free(r->slots);
    mem_free(r->wrapped);
    mem_free(r->shapes);
    mem_free(r->result_shapes);
}

static hull_status unit_run_init(unit_run *r, const fill_unit *u)
{
    r->params = mem_calloc(u->n_sources + 1, sizeof *r->params);
    r->slots = mem_calloc(u->n_slots, sizeof *r->slots);
    r->wrapped = mem_calloc(u->n_sources + 1, sizeof(*r->wrapped));
    r->shapes = mem_calloc(u->n_sources + 1, sizeof *r->shapes);
    r->result_shapes = mem_calloc(u->n_slots, sizeof *r->result_shapes);
    if (r->params == NULL || r->slots == NULL || r->wrapped == NULL ||
        r->shapes == NULL || r->result_shapes == NULL)
        return fail_oom(u->n_sources * sizeof *r->params);
    return HULL_OK;
}

/* Bytes of the source that the job reads, and where they begin. */
static uint64_t source_part(const fill_unit *u, const fill_job *j,
                            const fill_source *s, uint64_t *out_off)
{
    uint64_t row = u->step > 0 ? s->n_bytes / (uint64_t)u->rows : 0;

    *out_off = row * j->begin;
    return u->step > 0 ? row * j->count : s->n_bytes;
}

/* A source that several workers read into one place. */
typedef struct shared_read {
    fill_task *t;
    const fill_unit *u;
    const fill_source *s;
    place to;
    uint64_t off;
} shared_read;

static hull_status read_piece(void *user, size_t i)
{
    const shared_read *r = user;
    uint64_t begin = i * PART, left = r->to.size - begin;
    place to = r->to;
    fill_room *room;
    hull_status st, synced;

    to.off += begin;
    to.size = left < PART ? left : PART;
    TRY(fill_room_take(&room, &r->t->m->memory, r->u->d));
    st = upload_source(r->t, room->s, to, r->u, r->s, r->off + begin, false);
    synced = r->u->d->be->stream_sync(room->s); /* another stream reads it */
    fill_room_give(&r->t->m->memory, room);
    return st != HULL_OK ? st : synced;
}

static hull_status bring_source(fill_task *t, const fill_unit *u,
                                const fill_source *s, place to, uint64_t off,
                                fill_room *room)
{
    const weight_entry *e = source_entry(t->b, s);
    shared_read r = {t, u, s, to, off};

    if (to.size < 2 * PART || (e != NULL && !e->dense))
        return upload_source(t, room->s, to, u, s, off, false);
    return pool_for(t->m->devices.pool, (size_t)((to.size + PART - 1) / PART),
                    read_piece, &r);
}

/* Every source as a parameter: where it lies, or read into the room. */
static hull_status bring_sources(fill_task *t, const fill_unit *u,
                                 const fill_job *j, fill_room *room,
                                 unit_run *r)
{
    uint64_t size = 0, off;

    for (uint32_t i = 0; i < u->n_sources; i++) {
        const fill_source *s = &u->sources[i];
        const char *view = source_in_memory(t, u, s);
        uint64_t n = source_part(u, j, s, &off);

        r->shapes[i] = s->shape;
        if (u->step > 0)
            r->shapes[i].dims[0] = (int64_t)j->count;
        r->params[i] = (place){NULL, view == NULL ? size : 0, n};
        if (view == NULL)
            size += round_up(n, PLACE_ALIGN);
        else
            TRY(u->d->be->buffer_wrap(&r->wrapped[i], u->d, view + off, n));
    }
    TRY(fill_room_grow(u->d, &room->params, size));
    for (uint32_t i = 0; i < u->n_sources; i++) {
        (void)source_part(u, j, &u->sources[i], &off);
        r->params[i].buffer = r->wrapped[i];
        if (r->wrapped[i] != NULL) {
            t->read += r->params[i].size;
            continue;
        }
        r->params[i].buffer = room->params.buffer;
        TRY(bring_source(t, u, &u->sources[i], r->params[i], off, room));
    }
    return HULL_OK;
}

/* Where slot k of a unit lies: in memory of its own, or in a window. */
static place slot_place(const fill_task *t, uint32_t unit, uint32_t k)
{
    place at = t->groups[unit]->slots[k];

    if (at.buffer == NULL)
        at.buffer =
            t->windows[device_index(t->m, t->fp->units[unit].d)].buffer;
    return at;
}

/* The unit's slots, or the rows' part of the only one. */
static void find_slots(place *out, const fill_task *t, const fill_job *j)
{
    const fill_unit *u = &t->fp->units[j->unit];

    for (uint32_t k = 0; k < u->n_slots; k++)
        out[k] = slot_place(t, j->unit, k);
    if (u->step == 0)
        return;
    if (u->across > 0) {
        out->off += j->begin * u->across;
        out->size -= j->begin * u->across;
        return;
    }
    out->off += j->begin / (uint64_t)u->step *
                (out->size / (uint64_t)((u->rows + u->step - 1) / u->step));
    out->size = j->size;
}

static hull_status compute_unit(fill_task *t, const fill_job *j,
                                fill_room *room, unit_run *r)
{
    const fill_unit *u = &t->fp->units[j->unit];
    const backend *be = u->d->be;
    uint64_t scratch;

    TRY(unit_run_init(r, u));
    TRY(bring_sources(t, u, j, room, r));
    TRY(be->program_plan(&r->plan, u->prog, r->shapes, u->n_sources,
                         r->result_shapes, &scratch));
    TRY(fill_room_grow(u->d, &room->scratch, scratch));
    find_slots(r->slots, t, j);
    TRY(be->program_run(room->s, u->prog, r->plan, r->params, r->slots,
                        room->scratch));
    t->written += j->size;
    return HULL_OK;
}

static hull_status fill_computed(fill_task *t, const fill_job *j,
                                 fill_room *room)
{
    const fill_unit *u = &t->fp->units[j->unit];
    unit_run r = {0};
    hull_status st = compute_unit(t, j, room, &r), synced;

    synced = u->d->be->stream_sync(room->s); /* before its buffers go */
    unit_run_fini(&r, u);
    return st != HULL_OK ? st : synced;
}

/* ---- jobs ---------------------------------------------------------------- */

/* Can parts of the unit's sources be read alone? */
static bool has_parts(const binding *b, const fill_unit *u)
{
    for (uint32_t i = 0; i < u->n_sources; i++) {
        const weight_entry *e = source_entry(b, &u->sources[i]);

        if (e != NULL && !e->dense)
            return false;
    }
    return u->identity || u->step > 0;
}

size_t unit_jobs(fill_job *out, const binding *b, const fill_plan *fp,
                 uint32_t unit)
{
    const fill_unit *u = &fp->units[unit];
    uint64_t size = 0, all, each, row = 1, begin = 0;
    size_t n_jobs = 0;

    for (uint32_t k = 0; k < u->n_slots; k++)
        size += u->slot_bytes[k];
    all = each = u->step > 0 ? (uint64_t)u->rows : size;
    if (u->step > 0) /* bytes of a row, without those of padding */
        row = size / ((uint64_t)(u->rows + u->step - 1) / (uint64_t)u->step *
                      (uint64_t)u->step);
    if (has_parts(b, u) && size > PART)
        each = u->step > 0 ? round_up(PART / (row + 1) + 1, (uint64_t)u->step)
                           : PART;
    do {
        uint64_t n = all - begin < each ? all - begin : each;
        uint64_t end = begin + n, bytes_of = n * row;

        if (u->step > 0 && end == all)
            bytes_of = size - begin * row;
        if (out != NULL)
            out[n_jobs] = (fill_job){unit, begin, n, bytes_of};
        n_jobs++;
        begin = end;
    } while (begin < all);
    return n_jobs;
}

/* The largest first, so that the last ones end together. */
static int by_size(const void *a, const void *b)
{
    const fill_job *x = a, *y = b;

    if (x->size != y->size)
        return x->size < y->size ? 1 : -1;
    if (x->unit != y->unit)
        return x->unit < y->unit ? -1 : 1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

void fill_jobs_sort(fill_job *jobs, size_t n)
{
    qsort(jobs, n, sizeof *jobs, by_size);
}

static hull_status fill_part(fill_task *t, const fill_job *j, fill_room *room)
{
    const fill_unit *u = &t->fp->units[j->unit];
    place to = slot_place(t, j->unit, 0);
    hull_status st, synced;

    to.off += j->begin;
    to.size = j->size;
    st = upload_source(t, room->s, to, u, &u->sources[0], j->begin,
                       t->windows == NULL);
    t->written += j->size;
    synced = u->d->be->stream_sync(room->s);
    return st != HULL_OK ? st : synced;
}

hull_status fill_job_do(fill_task *t, const fill_job *j)
{
    const fill_unit *u = &t->fp->units[j->unit];
    fill_room *room;
    hull_status st;

    TRY(fill_room_take(&room, &t->m->memory, u->d));
    st = u->identity ? fill_part(t, j, room) : fill_computed(t, j, room);
    fill_room_give(&t->m->memory, room);
    return st;
}
