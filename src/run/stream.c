/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * stream.c - weight sets whose slots are made by each run (option fill). A
 * block is run in steps of some consecutive nodes; the slots that a step is the
 * first to read are made just before it, in a window of memory that the next
 * steps use again. So a first answer waits neither for all slots nor for fresh
 * pages, and a run needs little memory; each run reads the checkpoint, through
 * its mapping where kernels can.
 */
#include "run/module.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of slots that one step makes, where no node reads more: a part of all,
 * since fresh memory takes longer than the slots, and few enough to stay in the
 * last level of caches. */
#define STEPS 6
#define LEAST_STEP ((uint64_t)64 << 10)
#define MOST_STEP ((uint64_t)16 << 20)

typedef struct step {
    node_range nodes;
    size_t first_job, n_jobs;
} step;

typedef struct stream_block {
    step *steps;
    uint32_t n_steps;    /* 0: nothing of it streams */
} stream_block;

struct slot_stream {
    arena a;
    stream_block *blocks;
    fill_job *jobs;
    uint64_t *windows;   /* per device: bytes */
};

/* ---- what streams -------------------------------------------------------- */

hull_status fill_mode_of(fill_mode *out, const options *o)
{
    static const char *const names[] = {
        [FILL_NOW] = "now", [FILL_LATE] = "late", [FILL_RUN] = "run"};
    str name = option_str(o, OPT_fill);

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (str_eq(name, str_of(names[i]))) {
            *out = (fill_mode)i;
            return HULL_OK;
        }
    return fail(HULL_EINVAL, "option fill is '%.*s', wanted now, late or run",
                STR_ARG(name));
}

bool block_streams(const module *m, uint32_t block)
{
    const device *d = module_device(m, block);

    return d->be->program_run_part != NULL &&
           !graph_is_dynamic(m->plan->blocks[block].e->main);
}

bool group_is_streamed(const slot_group *g)
{
    return g->n_slots > 0 && g->slots[0].buffer == NULL;
}

/* ---- steps --------------------------------------------------------------- */

/* A unit of the block that is being cut, and the nodes that read its slots. */
typedef struct reader {
    uint32_t unit;
    node_range nodes;
    uint64_t bytes;
} reader;

typedef struct cutter {
    const module *m;
    const fill_plan *fp;
    const binding *b;
    slot_group **groups;
    slot_stream *ss;
    reader *readers;     /* in order of the first node */
    size_t n_readers, n_jobs;
    slab window;
    uint32_t block;
    uint64_t step;       /* bytes */
} cutter;

static node_range joined(node_range a, node_range b)
{
    if (a.begin == a.end || b.begin == b.end)
        return a.begin == a.end ? b : a;
    return (node_range){a.begin < b.begin ? a.begin : b.begin,
                        a.end > b.end ? a.end : b.end};
}

static int by_first_node(const void *a, const void *b)
{
    const reader *x = a, *y = b;

    if (x->nodes.begin != y->nodes.begin)
        return x->nodes.begin < y->nodes.begin ? -1 : 1;
    return (x->unit > y->unit) - (x->unit < y->unit);
}

static void find_readers(cutter *c)
{
    const backend *be = module_device(c->m, c->block)->be;
    const engine *e = c->m->plan->blocks[c->block].e;
    uint32_t first = e->main->body->n_params - e->prepare->body->n_results;

    c->n_readers = 0;
    c->step = 0;
    for (uint32_t i = 0; i < c->fp->n_units; i++) {
        const fill_unit *u = &c->fp->units[i];
        reader r = {.unit = i};

        if (u->block != c->block || !group_is_streamed(c->groups[i]))
            continue;
        for (uint32_t k = 0; k < u->n_slots; k++) {
            r.nodes = joined(r.nodes,
                             be->program_reads(c->m->mains[c->block],
                                               first + u->slots[k]));
            r.bytes += round_up(u->slot_bytes[k], PLACE_ALIGN);
        }
        c->readers[c->n_readers++] = r;
        c->step += r.bytes / STEPS;
    }
    if (c->step < LEAST_STEP || c->step > MOST_STEP)
        c->step = c->step < LEAST_STEP ? LEAST_STEP : MOST_STEP;
    qsort(c->readers, c->n_readers, sizeof *c->readers, by_first_node);
}

/* How many of the readers from `at` on begin within one step, which begins with
 * the first of them. Those of one node stay together. */
static size_t step_length(const cutter *c, size_t at)
{
    uint64_t size = 0;
    size_t n = 0;

    while (at + n < c->n_readers) {
        const reader *r = &c->readers[at + n];
        uint64_t group = 0;
        size_t k = 0;

        while (at + n + k < c->n_readers &&
               r[k].nodes.begin == r->nodes.begin)
            group += r[k++].bytes;
        if (n > 0 && size + group > c->step)
            break;
        size += group;
        n += k;
    }
    return n;
}

/* The places of what no node from number `first` on reads are free again. */
static void give_read(cutter *c, size_t before, uint32_t first)
{
    for (size_t i = 0; i < before; i++) {
        reader *r = &c->readers[i];
        slot_group *g = c->groups[r->unit];

        if (r->bytes == 0 || r->nodes.end > first)
            continue;
        r->bytes = 0; /* given */
        for (uint32_t k = 0; k < g->n_slots; k++)
            slab_give(&c->window, g->slots[k].off);
    }
}

static hull_status take_places(cutter *c, size_t at, size_t n)
{
    for (size_t i = at; i < at + n; i++) {
        slot_group *g = c->groups[c->readers[i].unit];

        for (uint32_t k = 0; k < g->n_slots; k++)
            TRY(slab_take(&c->window, g->slots[k].size, &g->slots[k].off));
    }
    return HULL_OK;
}

static void add_step_jobs(cutter *c, step *s, size_t at, size_t n)
{
    s->first_job = c->n_jobs;
    for (size_t i = at; i < at + n; i++)
        c->n_jobs += unit_jobs(c->ss->jobs + c->n_jobs, c->b, c->fp,
                               c->readers[i].unit);
    s->n_jobs = c->n_jobs - s->first_job;
    fill_jobs_sort(c->ss->jobs + s->first_job, s->n_jobs);
}

/* The first step begins with node 0, the last one has no end. */
static hull_status cut_block(cutter *c)
{
    stream_block *sb = &c->ss->blocks[c->block];
    uint64_t *window =
        &c->ss->windows[device_index(c->m, module_device(c->m, c->block))];
    size_t n;

    find_readers(c);
    sb->steps = arena_array(&c->ss->a, c->n_readers + 1, sizeof *sb->steps);
    if (sb->steps == NULL)
        return fail_oom(c->n_readers * sizeof *sb->steps);
    for (size_t at = 0; at < c->n_readers; at += n) {
        uint32_t begin = at > 0 ? c->readers[at].nodes.begin : 0;
        step *s = &sb->steps[sb->n_steps++];

        n = step_length(c, at);
        if (at > 0)
            s[-1].nodes.end = begin;
        s->nodes = (node_range){begin, UINT32_MAX};
        give_read(c, at, begin);
        TRY(take_places(c, at, n));
        add_step_jobs(c, s, at, n);
    }
    if (c->window.high > *window)
        *window = c->window.high;
    slab_fini(&c->window);
    c->window = (slab){0};
    return HULL_OK;
}

static hull_status cut_all(cutter *c)
{
    const plan *p = c->m->plan;
    size_t n_jobs = 0;

    for (uint32_t i = 0; i < c->fp->n_units; i++)
        n_jobs += unit_jobs(NULL, c->b, c->fp, i);
    c->readers = mem_calloc(c->fp->n_units + 1, sizeof *c->readers);
    c->ss->blocks = arena_array(&c->ss->a, p->n_blocks, sizeof *c->ss->blocks);
    c->ss->jobs = arena_array(&c->ss->a, n_jobs + 1, sizeof *c->ss->jobs);
    c->ss->windows = arena_array(&c->ss->a, c->m->devices.n,
                                 sizeof *c->ss->windows);
    if (c->readers == NULL || c->ss->blocks == NULL || c->ss->jobs == NULL ||
        c->ss->windows == NULL)
        return fail_oom(n_jobs * sizeof *c->ss->jobs);
    for (c->block = 0; c->block < p->n_blocks; c->block++)
        if (block_streams(c->m, c->block))
            TRY(cut_block(c));
    return HULL_OK;
}

hull_status stream_new(slot_stream **out, const module *m, const fill_plan *fp,
                       const binding *b, slot_group **groups)
{
    cutter c = {.m = m, .fp = fp, .b = b, .groups = groups};
    hull_status st;

    *out = NULL;
    c.ss = mem_calloc(1, sizeof *c.ss);
    if (c.ss == NULL)
        return fail_oom(sizeof *c.ss);
    st = cut_all(&c);
    slab_fini(&c.window);
    mem_free(c.readers);
    if (st == HULL_OK)
        *out = c.ss;
    else
        stream_free(c.ss);
    return st;
}

void stream_free(slot_stream *ss)
{
    if (ss == NULL)
        return;
    arena_fini(&ss->a);
    mem_free(ss);
}

uint64_t stream_window(const slot_stream *ss, uint32_t d)
{
    return ss->windows[d];
}

/* ---- a run --------------------------------------------------------------- */

typedef struct step_fill {
    fill_task task;
    const fill_job *jobs;
} step_fill;

static hull_status do_job(void *user, size_t i)
{
    step_fill *f = user;

    return fill_job_do(&f->task, &f->jobs[i]);
}

static hull_status want_windows(const module *m, const slot_stream *ss,
                                block_run *r, uint32_t block)
{
    uint32_t d = device_index(m, module_device(m, block));
    const engine *e = m->plan->blocks[block].e;
    uint32_t n = e->main->body->n_params;

    TRY(fill_room_grow(m->devices.d[d], &r->windows[d], ss->windows[d]));
    for (uint32_t i = n - e->prepare->body->n_results; i < n; i++)
        if (r->params[i].buffer == NULL)
            r->params[i].buffer = r->windows[d].buffer;
    return HULL_OK;
}

hull_status stream_run(module *m, const weight_set *set, uint32_t block,
                       block_run *r)
{
    const backend *be = module_device(m, block)->be;
    const stream_block *sb = &set->stream->blocks[block];
    step_fill f = {.task = {.m = m, .fp = set->fill, .b = set->bound,
                            .groups = set->groups, .windows = r->windows}};

    if (sb->n_steps == 0)
        return be->program_run(r->s, m->mains[block], r->plan, r->params,
                               r->results, r->scratch);
    TRY(want_windows(m, set->stream, r, block));
    for (uint32_t i = 0; i < sb->n_steps; i++) {
        const step *s = &sb->steps[i];

        f.jobs = set->stream->jobs + s->first_job;
        TRY(pool_for(m->devices.pool, s->n_jobs, do_job, &f));
        TRY(be->program_run_part(r->s, m->mains[block], r->plan, r->params,
                                 r->results, r->scratch, s->nodes));
    }
    return HULL_OK;
}
