/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * set.c - weight sets. A new set is filled beside the current one, in parallel
 * and the largest units first; nothing of the current set changes, so a
 * failure anywhere leaves the module as it was. Files are read with pread,
 * never through the mapping, so a file that is truncated meanwhile is an error
 * and not a signal; only borrow=on points into the mapping. The caller's memory
 * is read where it lies.
 */
#include "run/module.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What one worker does at a time: a computed unit, some rows of one, or a part
 * of a slot that is its source unchanged. */
typedef struct job {
    uint32_t unit;
    uint64_t begin, count; /* bytes, or rows where the unit has a step */
    uint64_t size;         /* bytes of slots */
} job;

typedef struct filler {
    const plan *p;
    fill_plan *fp;
    const binding *b;
    const devices *ds;
    const weight_set *current;
    fill_memory *memory;
    weight_set *set;
    job *jobs;
    size_t n_jobs;
    bool *fresh;                /* per unit: its slots are to be filled */
    _Atomic(uint32_t) *left;    /* per unit: jobs to do */
    bool borrow;
    _Atomic(uint32_t) *readers; /* release_weights: per storage of b->w[0] */
    pthread_mutex_t releasing;  /* one callback of the caller's at a time */
    _Atomic(uint64_t) read, written, shared_bytes;
    _Atomic(uint64_t) borrowed, copied, computed, shared;
} filler;

/* ---- groups -------------------------------------------------------------- */

static slot_group *group_new(const fill_unit *u)
{
    slot_group *g = mem_calloc(1, sizeof *g);

    if (g == NULL)
        return NULL;
    g->slots = mem_calloc(u->n_slots, sizeof *g->slots);
    if (g->slots == NULL) {
        mem_free(g);
        return NULL;
    }
    atomic_init(&g->refs, 1);
    g->be = u->d->be;
    g->n_slots = u->n_slots;
    return g;
}

static void group_unref(slot_group *g)
{
    if (g == NULL || atomic_fetch_sub(&g->refs, 1) != 1)
        return;
    for (uint32_t i = 0; g->memory == NULL && i < g->n_slots; i++)
        g->be->buffer_free(g->slots[i].buffer);
    slot_memory_unref(g->memory, g->bytes);
    weights_unref(g->borrowed);
    mem_free(g->slots);
    mem_free(g);
}

/* ---- one unit ------------------------------------------------------------ */

static const weight_entry *source_entry(const binding *b,
                                        const fill_source *s)
{
    return s->kept >= 0 ? NULL : weights_find(b->w[s->w], s->name);
}

/* upload_reader: pieces of one source's bytes. */
typedef struct source_reader {
    const filler *f;
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
        TRY(weights_read(r->f->b->w[r->s->w], r->e, r->whole));
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
        return weights_read(r->f->b->w[r->s->w], r->e, dst);
    if (r->e != NULL && !r->e->dense)
        return read_strided(r, off, dst, n);
    if (r->e != NULL)
        return weights_read_part(r->f->b->w[r->s->w], r->e, off, dst, n);
    h = &r->f->p->holes[r->s->kept];
    memcpy(dst, (const char *)h->kept_value + off, n);
    return HULL_OK;
}

/* Bytes [off, off + dst.size) of a source: into a slot, or for a program. */
static hull_status upload_source(filler *f, stream *st, place dst,
                                 const fill_unit *u, const fill_source *s,
                                 uint64_t off, bool slot)
{
    source_reader r = {f, s, source_entry(f->b, s), off, NULL};
    hull_status done;

    if (s->kept < 0 && r.e == NULL)
        return fail(HULL_EINTERNAL, "'%.*s' is not in the checkpoint",
                    STR_ARG(s->name));
    if (r.e != NULL && r.e->len != s->n_bytes)
        return fail(HULL_EINTERNAL, "'%.*s' changed its size",
                    STR_ARG(s->name));
    f->read += dst.size;
    done = u->d->be->upload_from(st, dst, read_source, &r, slot);
    mem_free(r.whole);
    return done;
}

/* The bytes of e in place, NULL: kernels cannot read them there. */
static const void *aligned_view(const weights *w, const weight_entry *e)
{
    const void *view = weights_view(w, e);
    size_t align = hull_dtype_bits(e->dtype) / 8;

    return view == NULL || align < 2 || (uintptr_t)view % align == 0 ? view
                                                                     : NULL;
}

static const void *borrowed_view(const filler *f, const fill_unit *u)
{
    const fill_source *s = &u->sources[0];
    const weight_entry *e = source_entry(f->b, s);
    const weight_storage *st;

    if (!f->borrow || !u->identity || e == NULL || !u->d->be->reads_host)
        return NULL;
    st = weights_storage(f->b->w[s->w], e);
    if (st->memory != NULL && st->release == NULL)
        return NULL; /* the caller's memory is read during the call only */
    return aligned_view(f->b->w[s->w], e);
}

/* A source in memory, for the time of the fill. */
static const void *source_in_memory(const filler *f, const fill_unit *u,
                                    const fill_source *s)
{
    const weight_entry *e = source_entry(f->b, s);

    if (e == NULL || e->len != s->n_bytes || !u->d->be->reads_host ||
        weights_storage(f->b->w[s->w], e)->file >= 0)
        return NULL;
    return aligned_view(f->b->w[s->w], e);
}

/* Buffers of one computed unit. */
typedef struct unit_run {
    place *params;       /* in the room, or wrapped */
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
    mem_free(r->wrapped);
    mem_free(r->shapes);
    mem_free(r->result_shapes);
}

static hull_status unit_run_init(unit_run *r, const fill_unit *u)
{
    r->params = mem_calloc(u->n_sources + 1, sizeof *r->params);
    r->wrapped = mem_calloc(u->n_sources + 1, sizeof(*r->wrapped));
    r->shapes = mem_calloc(u->n_sources + 1, sizeof *r->shapes);
    r->result_shapes = mem_calloc(u->n_slots, sizeof *r->result_shapes);
    if (r->params == NULL || r->wrapped == NULL || r->shapes == NULL ||
        r->result_shapes == NULL)
        return fail_oom(u->n_sources * sizeof *r->params);
    return HULL_OK;
}

/* Bytes of the source that the job reads, and where they begin. */
static uint64_t source_part(const fill_unit *u, const job *j,
                            const fill_source *s, uint64_t *out_off)
{
    uint64_t row = u->step > 0 ? s->n_bytes / (uint64_t)u->rows : 0;

    *out_off = row * j->begin;
    return u->step > 0 ? row * j->count : s->n_bytes;
}

/* Every source as a parameter: where it lies, or read into the room. */
static hull_status bring_sources(filler *f, const fill_unit *u, const job *j,
                                 fill_room *room, unit_run *r)
{
    uint64_t size = 0, off;

    for (uint32_t i = 0; i < u->n_sources; i++) {
        const fill_source *s = &u->sources[i];
        const char *view = source_in_memory(f, u, s);
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
            f->read += r->params[i].size;
            continue;
        }
        r->params[i].buffer = room->params.buffer;
        TRY(upload_source(f, room->s, r->params[i], u, &u->sources[i], off,
                          false));
    }
    return HULL_OK;
}

/* The slots, or the rows' part of the only one. */
static const place *job_slots(const fill_unit *u, const job *j,
                              const slot_group *g, place *part)
{
    if (u->step == 0)
        return g->slots;
    *part = g->slots[0];
    part->off += j->begin / (uint64_t)u->step *
                 (part->size / (uint64_t)((u->rows + u->step - 1) / u->step));
    part->size = j->size;
    return part;
}

static hull_status compute_unit(filler *f, const fill_unit *u, const job *j,
                                const slot_group *g, fill_room *room,
                                unit_run *r)
{
    const backend *be = u->d->be;
    uint64_t scratch;
    place part;

    TRY(unit_run_init(r, u));
    TRY(bring_sources(f, u, j, room, r));
    TRY(be->program_plan(&r->plan, u->prog, r->shapes, u->n_sources,
                         r->result_shapes, &scratch));
    TRY(fill_room_grow(u->d, &room->scratch, scratch));
    TRY(be->program_run(room->s, u->prog, r->plan, r->params,
                        job_slots(u, j, g, &part), room->scratch));
    f->written += j->size;
    return HULL_OK;
}

static hull_status fill_computed(filler *f, const fill_unit *u, const job *j,
                                 const slot_group *g, fill_room *room)
{
    unit_run r = {0};
    hull_status st = compute_unit(f, u, j, g, room, &r), synced;

    synced = u->d->be->stream_sync(room->s); /* before its buffers go */
    unit_run_fini(&r, u);
    return st != HULL_OK ? st : synced;
}

/* ---- release_weights: the caller's memory goes as soon as it was read ---- */

static const weight_entry *releasable(const filler *f, const fill_source *s)
{
    const weight_entry *e =
        f->readers != NULL && s->w == 0 ? source_entry(f->b, s) : NULL;

    return e != NULL && weights_storage(f->b->w[0], e)->release != NULL ? e
                                                                        : NULL;
}

static hull_status count_readers(filler *f)
{
    weights *w = f->b->w[0];
    size_t n = weights_n_storages(w);

    f->readers = mem_calloc(n + 1, sizeof *f->readers);
    if (f->readers == NULL)
        return fail_oom(n * sizeof *f->readers);
    for (uint32_t i = 0; i < f->fp->n_units; i++)
        for (uint32_t k = 0; k < f->fp->units[i].n_sources; k++) {
            const weight_entry *e =
                releasable(f, &f->fp->units[i].sources[k]);

            if (e != NULL)
                f->readers[e->storage]++;
        }
    for (uint32_t i = 0; i < n; i++)
        if (f->readers[i] == 0)
            weights_release(w, i); /* no block reads it */
    return HULL_OK;
}

static void release_sources(filler *f, const fill_unit *u,
                            const slot_group *g)
{
    if (f->readers == NULL || g->borrowed != NULL)
        return; /* what a slot borrows is never released */
    for (uint32_t k = 0; k < u->n_sources; k++) {
        const weight_entry *e = releasable(f, &u->sources[k]);

        if (e == NULL || atomic_fetch_sub(&f->readers[e->storage], 1) != 1)
            continue;
        pthread_mutex_lock(&f->releasing);
        weights_release(f->b->w[0], e->storage);
        pthread_mutex_unlock(&f->releasing);
    }
}

/* The unit of the current set that makes the same slots in the same way;
 * NULL = none. In a partial refit other units may come before it. */
static const fill_unit *same_unit(const filler *f, uint32_t unit)
{
    const fill_plan *old = f->current != NULL ? f->current->fill : NULL;
    const digest *id = &f->fp->units[unit].id;

    if (old == NULL)
        return NULL;
    if (unit < old->n_units && digest_eq(&old->units[unit].id, id))
        return &old->units[unit];
    for (uint32_t i = 0; i < old->n_units; i++)
        if (digest_eq(&old->units[i].id, id))
            return &old->units[i];
    return NULL;
}

/* The current set's group for the unit, when every source is where it was
 * when that set was filled; NULL = fill anew. */
static slot_group *same_sources(const filler *f, uint32_t unit)
{
    const fill_unit *u = &f->fp->units[unit], *old = same_unit(f, unit);
    slot_group *g;

    if (old == NULL)
        return NULL;
    g = f->current->groups[old - f->current->fill->units];
    if ((f->borrow != (g->borrowed != NULL) && u->identity) ||
        slot_memory_wasted(g->memory))
        return NULL;
    for (uint32_t i = 0; i < u->n_sources; i++) {
        const source_stamp *a = &f->set->stamps[u->first_source + i];
        const source_stamp *b = &f->current->stamps[old->first_source + i];

        if (u->sources[i].kept >= 0)
            continue;
        if (!a->known || !b->known || !file_id_eq(&a->id.file, &b->id.file) ||
            a->id.off != b->id.off || a->id.len != b->id.len)
            return NULL;
    }
    return g;
}

/* File times advance in ticks, and a second write within the tick of the first
 * leaves the same identity: it proves nothing before the tick is over. Whole
 * seconds look like a file system that counts no finer. */
static bool is_settled(const file_id *id)
{
    int64_t tick = id->mtime_ns % 1000000000 == 0 ? 2000000000 : 20000000;
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec - id->mtime_ns > tick;
}

void stamp_sources(source_stamp *stamps, const fill_unit *u,
                   const binding *b)
{
    for (uint32_t i = 0; i < u->n_sources; i++) {
        source_stamp *s = &stamps[u->first_source + i];
        const weight_entry *e = source_entry(b, &u->sources[i]);

        s->known = e != NULL &&
                   weights_identity(b->w[u->sources[i].w], e, &s->id) &&
                   is_settled(&s->id.file);
    }
}

/* ---- where each unit's slots come from ----------------------------------- */

/* No checkpoint changes it: all later sets share it. */
static bool is_constant(const fill_unit *u)
{
    for (uint32_t i = 0; i < u->n_sources; i++)
        if (u->sources[i].kept < 0)
            return false;
    return true;
}

static hull_status begin_unit(filler *f, uint32_t i)
{
    const fill_unit *u = &f->fp->units[i];
    slot_group *g = same_sources(f, i);
    const void *view;

    if (g != NULL) {
        atomic_fetch_add(&g->refs, 1);
        f->set->groups[i] = g;
        f->shared += g->n_slots;
        for (uint32_t k = 0; k < u->n_slots; k++)
            f->shared_bytes += u->slot_bytes[k];
        return HULL_OK;
    }
    g = group_new(u);
    if (g == NULL)
        return fail_oom(sizeof *g);
    f->set->groups[i] = g;
    view = borrowed_view(f, u);
    if (view != NULL) {
        g->borrowed = weights_ref(f->b->w[u->sources[0].w]);
        f->borrowed++;
        g->slots[0].size = u->slot_bytes[0];
        return u->d->be->buffer_wrap(&g->slots[0].buffer, u->d, view,
                                     g->slots[0].size);
    }
    f->fresh[i] = true;
    if (u->identity)
        f->copied += u->n_slots;
    else
        f->computed += u->n_slots;
    for (uint32_t k = 0; k < u->n_slots; k++) {
        g->slots[k] = (place){NULL, g->bytes, u->slot_bytes[k]};
        if (is_constant(u)) { /* or it would hold the memory of all others */
            g->slots[k].off = 0;
            TRY(u->d->be->buffer_new(&g->slots[k].buffer, u->d,
                                     u->slot_bytes[k]));
            continue;
        }
        if (g->slots[k].size > INT64_MAX ||
            !add_u64(&g->bytes, g->bytes,
                     round_up(g->slots[k].size, PLACE_ALIGN)))
            return fail_oom(u->slot_bytes[k]);
    }
    return HULL_OK;
}

/* Has unit i slots to be filled that wait for memory on d? */
static bool is_homeless(const filler *f, uint32_t i, const device *d)
{
    return f->fresh[i] && f->fp->units[i].d == d &&
           f->set->groups[i]->slots[0].buffer == NULL;
}

/* The slots of one device that are to be filled, one after the other. */
static hull_status place_groups(filler *f, device *d)
{
    uint64_t size = 0;
    slot_memory *sm;
    uint32_t n = 0;

    for (uint32_t i = 0; i < f->fp->n_units; i++) {
        if (!is_homeless(f, i, d))
            continue;
        n++;
        if (!add_u64(&size, size, f->set->groups[i]->bytes))
            return fail_oom(SIZE_MAX);
    }
    if (n == 0)
        return HULL_OK;
    TRY(slot_memory_new(&sm, f->memory, d, size));
    size = 0;
    for (uint32_t i = 0; i < f->fp->n_units; i++) {
        slot_group *g = f->set->groups[i];

        if (!is_homeless(f, i, d))
            continue;
        g->memory = slot_memory_ref(sm, g->bytes);
        for (uint32_t k = 0; k < g->n_slots; k++) {
            g->slots[k].buffer = sm->buffer;
            g->slots[k].off += size;
        }
        size += g->bytes;
    }
    slot_memory_unref(sm, 0);
    return HULL_OK;
}

/* ---- jobs ---------------------------------------------------------------- */

#define PART ((uint64_t)1 << 20) /* bytes of slots */

/* Can parts of the unit's sources be read alone? */
static bool has_parts(const filler *f, const fill_unit *u)
{
    for (uint32_t i = 0; i < u->n_sources; i++) {
        const weight_entry *e = source_entry(f->b, &u->sources[i]);

        if (e != NULL && !e->dense)
            return false;
    }
    return u->identity || u->step > 0;
}

static void add_jobs(filler *f, uint32_t i)
{
    const fill_unit *u = &f->fp->units[i];
    uint64_t size = 0, all, each, unit = 1, begin = 0;

    for (uint32_t k = 0; k < u->n_slots; k++)
        size += u->slot_bytes[k];
    all = each = u->step > 0 ? (uint64_t)u->rows : size;
    if (u->step > 0) /* bytes of a row, without those of padding */
        unit = size / ((uint64_t)(u->rows + u->step - 1) / (uint64_t)u->step *
                       (uint64_t)u->step);
    if (has_parts(f, u) && size > PART)
        each = u->step > 0 ? round_up(PART / (unit + 1) + 1, (uint64_t)u->step)
                           : PART;
    do {
        uint64_t n = all - begin < each ? all - begin : each;
        uint64_t end = begin + n, bytes_of = n * unit;

        if (u->step > 0 && end == all)
            bytes_of = size - begin * unit;
        if (f->jobs != NULL)
            f->jobs[f->n_jobs] = (job){i, begin, n, bytes_of};
        f->n_jobs++;
        f->left[i]++;
        begin = end;
    } while (begin < all);
}

/* The largest first, so that the last ones end together. */
static int by_size(const void *a, const void *b)
{
    const job *x = a, *y = b;

    if (x->size != y->size)
        return x->size < y->size ? 1 : -1;
    if (x->unit != y->unit)
        return x->unit < y->unit ? -1 : 1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static hull_status make_jobs(filler *f)
{
    for (uint32_t i = 0; i < f->fp->n_units; i++)
        if (f->fresh[i])
            add_jobs(f, i);
    f->jobs = mem_calloc(f->n_jobs + 1, sizeof *f->jobs);
    if (f->jobs == NULL)
        return fail_oom(f->n_jobs * sizeof *f->jobs);
    f->n_jobs = 0;
    for (uint32_t i = 0; i < f->fp->n_units; i++) {
        f->left[i] = 0;
        if (f->fresh[i])
            add_jobs(f, i);
    }
    qsort(f->jobs, f->n_jobs, sizeof *f->jobs, by_size);
    return HULL_OK;
}

static hull_status fill_part(filler *f, const job *j, fill_room *room)
{
    const fill_unit *u = &f->fp->units[j->unit];
    place to = f->set->groups[j->unit]->slots[0];
    hull_status st, synced;

    to.off += j->begin;
    to.size = j->size;
    st = upload_source(f, room->s, to, u, &u->sources[0], j->begin, true);
    f->written += j->size;
    synced = u->d->be->stream_sync(room->s);
    return st != HULL_OK ? st : synced;
}

static hull_status do_job(void *user, size_t i)
{
    filler *f = user;
    const job *j = &f->jobs[i];
    const fill_unit *u = &f->fp->units[j->unit];
    const slot_group *g = f->set->groups[j->unit];
    fill_room *room;
    hull_status st;

    TRY(fill_room_take(&room, f->memory, u->d));
    st = u->identity ? fill_part(f, j, room)
                     : fill_computed(f, u, j, g, room);
    fill_room_give(f->memory, room);
    if (st == HULL_OK && atomic_fetch_sub(&f->left[j->unit], 1) == 1)
        release_sources(f, u, g);
    return st;
}

/* ---- the set ------------------------------------------------------------- */

static hull_status set_new(filler *f)
{
    weight_set *s = mem_calloc(1, sizeof *s);
    uint32_t stamps = f->fp->n_sources, n_units = f->fp->n_units;

    f->fresh = mem_calloc(n_units + 1, sizeof *f->fresh);
    f->left = mem_calloc(n_units + 1, sizeof *f->left);
    if (s == NULL || f->fresh == NULL || f->left == NULL) {
        mem_free(s);
        return fail_oom(n_units * sizeof *f->left);
    }
    f->set = s;
    atomic_init(&s->refs, 1);
    s->fill = fill_plan_ref(f->fp);
    s->groups = mem_calloc(n_units + 1, sizeof(*s->groups));
    s->block_slots = mem_calloc(f->p->n_blocks + 1, sizeof(*s->block_slots));
    if (s->groups == NULL || s->block_slots == NULL)
        return fail_oom(n_units * sizeof *s->groups);
    s->n_groups = n_units;
    s->n_blocks = f->p->n_blocks;
    s->stamps = mem_calloc(stamps + 1, sizeof *s->stamps);
    s->label = mem_strndup(weights_label(f->b->w[0]),
                           strlen(weights_label(f->b->w[0])));
    if (s->stamps == NULL || s->label == NULL)
        return fail_oom(stamps * sizeof *s->stamps);
    for (uint32_t i = 0; i < f->p->n_blocks; i++) {
        uint32_t n = f->p->blocks[i].e->prepare->body->n_results;

        s->block_slots[i] = mem_calloc(n + 1, sizeof(place));
        if (s->block_slots[i] == NULL)
            return fail_oom(n * sizeof(place));
    }
    return HULL_OK;
}

static void place_slots(filler *f)
{
    for (uint32_t i = 0; i < f->fp->n_units; i++) {
        const fill_unit *u = &f->fp->units[i];

        for (uint32_t k = 0; k < u->n_slots; k++)
            f->set->block_slots[u->block][u->slots[k]] =
                f->set->groups[i]->slots[k];
    }
}

/* A file that was written during the fill fails the refit. */
static hull_status check_files(const filler *f)
{
    for (uint32_t i = 0; i < f->b->n_w; i++)
        TRY(weights_unchanged(f->b->w[i]));
    return HULL_OK;
}

static void add_to_report(const filler *f, hull_refit_report *r)
{
    r->bytes_read += f->read;
    r->bytes_written += f->written;
    r->bytes_shared += f->shared_bytes;
    r->slots_borrowed += f->borrowed;
    r->slots_copied += f->copied;
    r->slots_computed += f->computed;
    r->slots_shared += f->shared;
    r->kept += f->b->n_kept;
}

/* The caller's memory without a release callback is read during the call. */
static bool may_keep(const binding *b)
{
    for (uint32_t i = 0; i < b->n_w; i++)
        if (!weights_outlives_call(b->w[i]))
            return false;
    return true;
}

static hull_status fill_slots(filler *f)
{
    for (uint32_t i = 0; i < f->fp->n_units; i++) {
        stamp_sources(f->set->stamps, &f->fp->units[i], f->b);
        TRY(begin_unit(f, i));
    }
    for (uint32_t i = 0; i < f->ds->n; i++)
        TRY(place_groups(f, f->ds->d[i]));
    TRY(make_jobs(f));
    TRY(pool_for(f->ds->pool, f->n_jobs, do_job, f));
    TRY(check_files(f));
    place_slots(f);
    for (uint32_t i = 0; i < f->set->n_groups; i++)
        f->set->borrows = f->set->borrows ||
                          f->set->groups[i]->borrowed != NULL;
    return HULL_OK;
}

hull_status set_fill(weight_set **out, const plan *p, fill_plan *fp,
                     binding *b, const weight_set *current,
                     const devices *ds, fill_memory *fm, const options *o,
                     hull_refit_report *report)
{
    filler f = {.p = p, .fp = fp, .b = b, .ds = ds, .current = current,
                .memory = fm};
    hull_status st = HULL_OK;

    *out = NULL;
    pthread_mutex_init(&f.releasing, NULL);
    f.borrow = option_on(o, OPT_borrow);
    TRY_OUT(set_new(&f));
    if (option_on(o, OPT_release_weights))
        TRY_OUT(count_readers(&f));
    TRY_OUT(fill_slots(&f));
    add_to_report(&f, report);
    if (f.set->borrows || (option_on(o, OPT_keep_sources) && may_keep(b))) {
        f.set->bound = b;
        b = NULL;
    }
    *out = f.set;
    f.set = NULL;
out:
    set_free(f.set);
    binding_free(b);
    mem_free(f.jobs);
    mem_free(f.fresh);
    mem_free(f.left);
    mem_free(f.readers);
    pthread_mutex_destroy(&f.releasing);
    return st;
}

hull_status set_fresh(const weight_set *s)
{
    const weights *last = NULL;

    for (uint32_t i = 0; s->borrows && i < s->n_groups; i++) {
        const weights *w = s->groups[i]->borrowed;

        if (w != NULL && w != last)
            TRY(weights_unchanged(w));
        last = w != NULL ? w : last;
    }
    return HULL_OK;
}

weight_set *set_ref(weight_set *s)
{
    atomic_fetch_add(&s->refs, 1);
    return s;
}

bool set_unref_last(weight_set *s)
{
    return s != NULL && atomic_fetch_sub(&s->refs, 1) == 1;
}

void set_free(weight_set *s)
{
    if (s == NULL)
        return;
    for (uint32_t i = 0; s->groups != NULL && i < s->n_groups; i++)
        group_unref(s->groups[i]);
    for (uint32_t i = 0; s->block_slots != NULL && i < s->n_blocks; i++)
        mem_free(s->block_slots[i]);
    mem_free(s->groups);
    mem_free(s->block_slots);
    mem_free(s->stamps);
    mem_free(s->label);
    fill_plan_unref(s->fill);
    binding_free(s->bound);
    mem_free(s);
}
