/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * set.c - weight sets. A new set is filled beside the current one, unit by
 * unit and in parallel; nothing of the current set changes, so a failure
 * anywhere leaves the module as it was. Files are read with pread, never
 * through the mapping, so a file that is truncated meanwhile is an error and
 * not a signal; only borrow=on points into the mapping.
 */
#include "run/module.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

typedef struct filler {
    const plan *p;
    fill_plan *fp;
    const binding *b;
    const devices *ds;
    const weight_set *current;
    weight_set *set;
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
    g->slots = mem_calloc(u->n_slots, sizeof(*g->slots));
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
    for (uint32_t i = 0; i < g->n_slots; i++)
        g->be->buffer_free(g->slots[i]);
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

static hull_status upload_source(filler *f, stream *st, place dst,
                                 const fill_unit *u, const fill_source *s)
{
    source_reader r = {f, s, source_entry(f->b, s), NULL};
    hull_status done;

    if (s->kept < 0 && r.e == NULL)
        return fail(HULL_EINTERNAL, "'%.*s' is not in the checkpoint",
                    STR_ARG(s->name));
    if (r.e != NULL && r.e->len != s->n_bytes)
        return fail(HULL_EINTERNAL, "'%.*s' changed its size",
                    STR_ARG(s->name));
    f->read += s->n_bytes;
    done = u->d->be->upload_from(st, dst, read_source, &r);
    mem_free(r.whole);
    return done;
}

static bool can_borrow(const filler *f, const fill_unit *u,
                       const weight_entry *e, const void **out_view)
{
    const weight_storage *s;
    size_t align;

    if (!f->borrow || e == NULL || !u->d->be->reads_host)
        return false;
    s = weights_storage(f->b->w[u->sources[0].w], e);
    if (s->memory != NULL && s->release == NULL)
        return false; /* the caller's memory is read during the call only */
    *out_view = weights_view(f->b->w[u->sources[0].w], e);
    align = hull_dtype_bits(e->dtype) / 8;
    return *out_view != NULL &&
           (align < 2 || (uintptr_t)*out_view % align == 0);
}

static hull_status fill_identity(filler *f, const fill_unit *u,
                                 slot_group *g, stream *st)
{
    const fill_source *s = &u->sources[0];
    const weight_entry *e = source_entry(f->b, s);
    const void *view = NULL;

    if (can_borrow(f, u, e, &view)) {
        g->borrowed = weights_ref(f->b->w[s->w]);
        f->borrowed++;
        return u->d->be->buffer_wrap(&g->slots[0], u->d, view, s->n_bytes);
    }
    TRY(u->d->be->buffer_new(&g->slots[0], u->d, s->n_bytes));
    TRY(upload_source(f, st, (place){g->slots[0], 0, s->n_bytes}, u, s));
    f->copied++;
    f->written += s->n_bytes;
    return HULL_OK;
}

/* Buffers of one computed unit; freed when it is filled. */
typedef struct unit_run {
    place *params, *results;
    place scratch;
    shape *shapes, *result_shapes;
    program_plan *plan;
} unit_run;

static void unit_run_fini(unit_run *r, const fill_unit *u)
{
    const backend *be = u->d->be;

    for (uint32_t i = 0; r->params != NULL && i < u->n_sources; i++)
        be->buffer_free(r->params[i].buffer);
    be->buffer_free(r->scratch.buffer);
    if (r->plan != NULL)
        be->plan_free(r->plan);
    mem_free(r->params);
    mem_free(r->results);
    mem_free(r->shapes);
    mem_free(r->result_shapes);
}

static hull_status compute_unit(filler *f, const fill_unit *u, slot_group *g,
                                stream *s, unit_run *r)
{
    const backend *be = u->d->be;
    uint64_t scratch;

    r->params = mem_calloc(u->n_sources + 1, sizeof *r->params);
    r->results = mem_calloc(u->n_slots, sizeof *r->results);
    r->shapes = mem_calloc(u->n_sources + 1, sizeof *r->shapes);
    r->result_shapes = mem_calloc(u->n_slots, sizeof *r->result_shapes);
    if (r->params == NULL || r->results == NULL || r->shapes == NULL ||
        r->result_shapes == NULL)
        return fail_oom(u->n_sources * sizeof *r->params);
    for (uint32_t i = 0; i < u->n_sources; i++) {
        place *at = &r->params[i];

        r->shapes[i] = u->sources[i].shape;
        at->size = u->sources[i].n_bytes;
        TRY(be->buffer_new(&at->buffer, u->d, at->size));
        TRY(upload_source(f, s, *at, u, &u->sources[i]));
    }
    TRY(be->program_plan(&r->plan, u->prog, r->shapes, u->n_sources,
                         r->result_shapes, &scratch));
    r->scratch.size = scratch;
    TRY(be->buffer_new(&r->scratch.buffer, u->d, scratch));
    for (uint32_t i = 0; i < u->n_slots; i++) {
        TRY(be->buffer_new(&g->slots[i], u->d, u->slot_bytes[i]));
        r->results[i] = (place){g->slots[i], 0, u->slot_bytes[i]};
        f->written += u->slot_bytes[i];
    }
    TRY(be->program_run(s, u->prog, r->plan, r->params, r->results,
                        r->scratch));
    f->computed += u->n_slots;
    return HULL_OK;
}

static hull_status fill_computed(filler *f, const fill_unit *u, slot_group *g,
                                 stream *s)
{
    unit_run r = {0};
    hull_status st = compute_unit(f, u, g, s, &r), synced;

    synced = u->d->be->stream_sync(s); /* before its buffers go */
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
    if (f->borrow != (g->borrowed != NULL) && u->identity)
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

static hull_status fill_one(void *user, size_t i)
{
    filler *f = user;
    const fill_unit *u = &f->fp->units[i];
    slot_group *g;
    stream *s = NULL;
    hull_status st;

    stamp_sources(f->set->stamps, u, f->b);
    g = same_sources(f, (uint32_t)i);
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
    TRY(u->d->be->stream_new(&s, u->d));
    st = u->identity ? fill_identity(f, u, g, s) : fill_computed(f, u, g, s);
    if (st == HULL_OK)
        st = u->d->be->stream_sync(s);
    u->d->be->stream_free(s);
    if (st == HULL_OK)
        release_sources(f, u, g);
    return st;
}

/* ---- the set ------------------------------------------------------------- */

static hull_status set_new(filler *f)
{
    weight_set *s = mem_calloc(1, sizeof *s);
    uint32_t stamps = f->fp->n_sources;

    if (s == NULL)
        return fail_oom(sizeof *s);
    f->set = s;
    atomic_init(&s->refs, 1);
    s->fill = fill_plan_ref(f->fp);
    s->groups = mem_calloc(f->fp->n_units + 1, sizeof(*s->groups));
    s->block_slots = mem_calloc(f->p->n_blocks + 1, sizeof(*s->block_slots));
    if (s->groups == NULL || s->block_slots == NULL)
        return fail_oom(f->fp->n_units * sizeof *s->groups);
    s->n_groups = f->fp->n_units;
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
            f->set->block_slots[u->block][u->slots[k]] = (place){
                f->set->groups[i]->slots[k], 0, u->slot_bytes[k]};
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

hull_status set_fill(weight_set **out, const plan *p, fill_plan *fp,
                     binding *b, const weight_set *current,
                     const devices *ds, const options *o,
                     hull_refit_report *report)
{
    filler f = {.p = p, .fp = fp, .b = b, .ds = ds, .current = current};
    hull_status st = HULL_OK;

    *out = NULL;
    pthread_mutex_init(&f.releasing, NULL);
    f.borrow = option_on(o, OPT_borrow);
    TRY_OUT(set_new(&f));
    if (option_on(o, OPT_release_weights))
        TRY_OUT(count_readers(&f));
    TRY_OUT(pool_for(ds->pool, fp->n_units, fill_one, &f));
    TRY_OUT(check_files(&f));
    place_slots(&f);
    for (uint32_t i = 0; i < f.set->n_groups; i++)
        f.set->borrows = f.set->borrows || f.set->groups[i]->borrowed != NULL;
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
