/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * set.c - weight sets. A new set is filled beside the current one, in parallel
 * and the largest units first; nothing of the current set changes, so a
 * failure anywhere leaves the module as it was. Slots point into the mapping of
 * a file with borrow=on, and in sets that stream (stream.c), which have no
 * memory for the others.
 */
#include "run/module.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

typedef struct filler {
    fill_task task;
    module *m;
    fill_plan *fp;
    const binding *b;
    const weight_set *current;
    weight_set *set;
    fill_job *jobs;
    size_t n_jobs;
    bool *fresh;                /* per unit: its slots are to be filled */
    _Atomic(uint32_t) *left;    /* per unit: jobs to do */
    bool borrow, stream;
    _Atomic(uint32_t) *readers; /* release_weights: per storage of b->w[0] */
    pthread_mutex_t releasing;  /* one callback of the caller's at a time */
    uint64_t shared_bytes, borrowed, copied, computed, shared, streamed;
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
        slot_memory_wasted(g->memory) || group_is_streamed(g))
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

/* Do all nodes that read the unit's one slot copy elements of it? */
static bool is_copied(const module *m, const fill_unit *u)
{
    const engine *e = m->plan->blocks[u->block].e;
    uint32_t n_inputs = e->main->body->n_params - e->prepare->body->n_results;

    return u->d->be->program_copies != NULL &&
           u->d->be->program_copies(m->mains[u->block],
                                    n_inputs + u->slots[0]);
}

static const void *borrowed_view(const filler *f, const fill_unit *u)
{
    const fill_source *s = &u->sources[0];
    const void *view;
    const weight_entry *e = source_entry(f->b, s);
    const weight_storage *st;

    if (!f->borrow || !u->identity || e == NULL || !u->d->be->reads_host)
        return NULL;
    st = weights_storage(f->b->w[s->w], e);
    if (st->memory != NULL && st->release == NULL)
        return NULL; /* the caller's memory is read during the call only */
    view = aligned_view(f->b->w[s->w], e);
    return view != NULL || !is_copied(f->m, u) ? view
                                               : weights_view(f->b->w[s->w], e);
}

/* No checkpoint changes it: all later sets share it. */
static bool is_constant(const fill_unit *u)
{
    for (uint32_t i = 0; i < u->n_sources; i++)
        if (u->sources[i].kept < 0)
            return false;
    return true;
}

/* Its slots have a size and no place: each run makes them in its window. */
static hull_status begin_streamed(filler *f, const fill_unit *u, slot_group *g)
{
    f->streamed += u->n_slots;
    for (uint32_t k = 0; k < u->n_slots; k++)
        g->slots[k].size = u->slot_bytes[k];
    return HULL_OK;
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
    if (f->stream && !is_constant(u) && block_streams(f->m, u->block))
        return begin_streamed(f, u, g);
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
    TRY(slot_memory_new(&sm, &f->m->memory, d, size));
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

static hull_status make_jobs(filler *f)
{
    for (uint32_t i = 0; i < f->fp->n_units; i++)
        if (f->fresh[i])
            f->n_jobs += unit_jobs(NULL, f->b, f->fp, i);
    f->jobs = mem_calloc(f->n_jobs + 1, sizeof *f->jobs);
    if (f->jobs == NULL)
        return fail_oom(f->n_jobs * sizeof *f->jobs);
    f->n_jobs = 0;
    for (uint32_t i = 0; i < f->fp->n_units; i++) {
        size_t n = f->fresh[i]
                       ? unit_jobs(f->jobs + f->n_jobs, f->b, f->fp, i) : 0;

        f->left[i] = (uint32_t)n;
        f->n_jobs += n;
    }
    fill_jobs_sort(f->jobs, f->n_jobs);
    return HULL_OK;
}

static hull_status do_job(void *user, size_t i)
{
    filler *f = user;
    const fill_job *j = &f->jobs[i];

    TRY(fill_job_do(&f->task, j));
    if (atomic_fetch_sub(&f->left[j->unit], 1) == 1)
        release_sources(f, &f->fp->units[j->unit], f->set->groups[j->unit]);
    return HULL_OK;
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
    s->block_slots = mem_calloc(f->m->plan->n_blocks + 1,
                                sizeof(*s->block_slots));
    if (s->groups == NULL || s->block_slots == NULL)
        return fail_oom(n_units * sizeof *s->groups);
    s->n_groups = n_units;
    s->n_blocks = f->m->plan->n_blocks;
    s->stamps = mem_calloc(stamps + 1, sizeof *s->stamps);
    s->label = mem_strndup(weights_label(f->b->w[0]),
                           strlen(weights_label(f->b->w[0])));
    if (s->stamps == NULL || s->label == NULL)
        return fail_oom(stamps * sizeof *s->stamps);
    for (uint32_t i = 0; i < f->m->plan->n_blocks; i++) {
        uint32_t n = f->m->plan->blocks[i].e->prepare->body->n_results;

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
    r->bytes_read += f->task.read;
    r->bytes_written += f->task.written;
    r->bytes_shared += f->shared_bytes;
    r->slots_borrowed += f->borrowed;
    r->slots_copied += f->copied;
    r->slots_computed += f->computed;
    r->slots_shared += f->shared;
    r->slots_streamed += f->streamed;
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

static hull_status want_mode(filler *f, const options *o)
{
    fill_mode mode;

    TRY(fill_mode_of(&mode, o));
    if (mode == FILL_LATE && f->fp->bytes < f->m->late_least)
        mode = FILL_NOW;
    f->stream = mode != FILL_NOW;
    f->borrow = f->stream || option_on(o, OPT_borrow);
    f->set->settles = mode == FILL_LATE;
    if (!f->stream)
        return HULL_OK;
    if (option_on(o, OPT_release_weights))
        return fail(HULL_EINVAL, "release_weights=on gives the checkpoint's "
                    "memory back, which fill=%.*s reads again with runs",
                    STR_ARG(option_str(o, OPT_fill)));
    if (!may_keep(f->b))
        return fail(HULL_EINVAL, "fill=%.*s reads the checkpoint with runs, "
                    "but %s is memory of the caller's without a release "
                    "callback, read during the call only",
                    STR_ARG(option_str(o, OPT_fill)),
                    weights_label(f->b->w[0]));
    TRY(options_copy(&f->set->options, o));
    return hull_options_set(f->set->options, "fill", "now");
}

static hull_status fill_slots(filler *f)
{
    for (uint32_t i = 0; i < f->fp->n_units; i++) {
        stamp_sources(f->set->stamps, &f->fp->units[i], f->b);
        TRY(begin_unit(f, i));
    }
    for (uint32_t i = 0; i < f->m->devices.n; i++)
        TRY(place_groups(f, f->m->devices.d[i]));
    TRY(make_jobs(f));
    f->task = (fill_task){.m = f->m, .fp = f->fp, .b = f->b,
                          .groups = f->set->groups};
    TRY(pool_for(f->m->devices.pool, f->n_jobs, do_job, f));
    TRY(check_files(f));
    if (f->stream && f->streamed + f->borrowed > 0)
        TRY(stream_new(&f->set->stream, f->m, f->fp, f->b, f->set->groups));
    place_slots(f);
    for (uint32_t i = 0; i < f->set->n_groups; i++)
        f->set->borrows = f->set->borrows ||
                          f->set->groups[i]->borrowed != NULL;
    return HULL_OK;
}

hull_status set_fill(weight_set **out, module *m, fill_plan *fp, binding *b,
                     const weight_set *current, const options *o,
                     hull_refit_report *report)
{
    filler f = {.m = m, .fp = fp, .b = b, .current = current};
    hull_status st = HULL_OK;

    *out = NULL;
    pthread_mutex_init(&f.releasing, NULL);
    TRY_OUT(set_new(&f));
    TRY_OUT(want_mode(&f, o));
    if (option_on(o, OPT_release_weights))
        TRY_OUT(count_readers(&f));
    TRY_OUT(fill_slots(&f));
    add_to_report(&f, report);
    if (f.set->borrows || f.set->stream != NULL ||
        (option_on(o, OPT_keep_sources) && may_keep(b))) {
        f.set->bound = b;
        b = NULL;
    }
    *out = f.set;
    f.set = NULL;
out:
    set_free(f.set);
    binding_unref(b);
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

    for (uint32_t i = 0; s->stream != NULL && i < s->bound->n_w; i++)
        TRY(weights_unchanged(s->bound->w[i]));
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
    stream_free(s->stream);
    options_free(s->options);
    binding_unref(s->bound);
    mem_free(s);
}
