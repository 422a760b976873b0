/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * module.h - the inside of a module, shared by the files of src/run only.
 */
#ifndef HULL_RUN_MODULE_H
#define HULL_RUN_MODULE_H

#include "run/run.h"

struct hull_module {
    _Atomic(uint32_t) refs;
    plan *plan;
    devices devices;
    program **mains;       /* per block, on its device */

    pthread_mutex_t lock;  /* current, previous, version: held for an instant */
    weight_set *current, *previous;
    uint64_t version;

    pthread_mutex_t refit; /* refits are serial; held for a whole one */
    fill_plan *fill;
    fill_memory memory;
    uint64_t late_least;   /* bytes of slots; fill=late makes fewer at once */

    /* The reclaimer frees sets that nobody pins, so that no request does. */
    pthread_t reclaimer;
    bool has_reclaimer, closing;
    bool unsettled;        /* module_settle is to be called */
    pthread_mutex_t retired_lock;
    pthread_cond_t retired_some;
    weight_set **retired;
    size_t n_retired, cap_retired;
};

/* ---- fill_unit.c: sources into slots, job by job ------------------------- */

/* What one worker does at a time: a computed unit, some rows of one, or a part
 * of a slot that is its source unchanged. */
typedef struct fill_job {
    uint32_t unit;
    uint64_t begin, count; /* bytes, or rows where the unit has a step */
    uint64_t size;         /* bytes of slots */
} fill_job;

/* From where to where. */
typedef struct fill_task {
    module *m;
    const fill_plan *fp;
    const binding *b;
    slot_group *const *groups;     /* per unit */
    const place *windows;          /* per device of m: where slots of groups
                                    * that stream lie; else NULL */
    _Atomic(uint64_t) read, written; /* bytes */
} fill_task;

/* NULL: a kept constant. */
const weight_entry *source_entry(const binding *b, const fill_source *s);
/* The bytes of e in place; NULL: kernels cannot read them there. */
const void *aligned_view(const weights *w, const weight_entry *e);
/* How many jobs the unit is; writes them where out is not NULL. */
size_t unit_jobs(fill_job *out, const binding *b, const fill_plan *fp,
                 uint32_t unit);
/* The largest first, so that the last ones end together. */
void fill_jobs_sort(fill_job *jobs, size_t n);
hull_status fill_job_do(fill_task *t, const fill_job *j) MUST_CHECK;

/* ---- stream.c: sets whose slots are made by each run --------------------- */

typedef enum fill_mode { FILL_NOW, FILL_LATE, FILL_RUN } fill_mode;
typedef struct slot_stream slot_stream;

/* HULL_EINVAL: option fill has another value. */
hull_status fill_mode_of(fill_mode *out, const options *o) MUST_CHECK;
/* Can the block run in parts, its slots made in between? */
bool block_streams(const module *m, uint32_t block);
bool group_is_streamed(const slot_group *g);
/* Places the slots of groups that stream in windows and cuts each block's run
 * into steps. */
hull_status stream_new(slot_stream **out, const module *m, const fill_plan *fp,
                       const binding *b, slot_group **groups) MUST_CHECK;
void stream_free(slot_stream *ss);
/* Bytes that each session needs on a device of the module. */
uint64_t stream_window(const slot_stream *ss, uint32_t d);

/* Where a run of one block takes place. */
typedef struct block_run {
    stream *s;
    const program_plan *plan;
    place *params;       /* slots without a buffer get their window */
    const place *results;
    place scratch;
    place *windows;      /* per device of the module; grown on demand */
} block_run;
/* Runs a block of a set that streams. */
hull_status stream_run(module *m, const weight_set *set, uint32_t block,
                       block_run *r) MUST_CHECK;

/* ---- module.c and refit.c ------------------------------------------------ */

uint32_t device_index(const module *m, const device *d);
/* Asks for a set with every slot filled in place of s, which a run has used. */
void module_want_settled(module *m, weight_set *s);
/* Fills the current set in place of one that streams and settles. */
void module_settle(module *m);
/* All slots of s, which streams, filled; the version of s. */
hull_status module_filled(weight_set **out, module *m, const weight_set *s)
    MUST_CHECK;
/* s, of the same weights, takes the place and the version of `old`, if that is
 * still the current set. Takes s. */
void module_replace(module *m, const weight_set *old, weight_set *s);

/* Publishes s (takes it) as the current set with the next version number. The
 * set before stays for a rollback, or none does. Seconds that readers could
 * have waited for. */
double module_publish(module *m, weight_set *s, bool keep_previous);
/* With m->refit held: frees what the reclaimer has not come to, so that a fill
 * finds its memory. */
void module_reclaim(module *m);
device *module_device(const module *m, uint32_t block);
/* Where the unit's sources are now, into its places in a set's stamps. */
void stamp_sources(source_stamp *stamps, const fill_unit *u,
                   const binding *b);
/* Bytes of a value of fixed shape, 0 when it has none. */
uint64_t static_bytes(const type *t);
/* Fills and publishes the first set of a loaded module. Takes b. */
hull_status module_fill_bound(module *m, binding *b, const options *o)
    MUST_CHECK;

#endif
