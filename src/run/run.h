/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * run.h - modules, weight sets, refits, sessions.
 *
 *   module   a plan, its devices, its programs, and the current weight set
 *   set      all slots, filled from one checkpoint or left to runs (stream.c);
 *            immutable, counted
 *   unit     a piece of a prepare program with its own slots: refit works unit
 *            by unit, in parallel, and shares units whose sources are the same
 *   session  one caller's buffers; pins a set from start to end of a run
 */
#ifndef HULL_RUN_H
#define HULL_RUN_H

#include <pthread.h>
#include <stdatomic.h>

#include "compile/compile.h"

typedef struct hull_module module;
typedef struct hull_session session;
typedef struct weight_set weight_set;

/* ---- fill.c: units and how a binding fills them -------------------------- */

/* A tensor that a unit reads: of one of the binding's checkpoints, or a kept
 * constant of the plan. */
typedef struct fill_source {
    int32_t kept;        /* the hole whose kept value it is; -1 = none */
    uint32_t w;          /* index into the binding's checkpoints */
    str name;            /* in that checkpoint */
    uint64_t n_bytes;
    shape shape;
} fill_source;

/* One unit of one block, composed with the recipes of a binding. */
typedef struct fill_unit {
    uint32_t block;
    uint32_t *slots;     /* numbers of the block's slots */
    uint64_t *slot_bytes;
    uint32_t n_slots;
    fill_source *sources; /* parameters of the program, in order */
    uint32_t n_sources;
    uint32_t first_source; /* its number among those of all units */
    bool identity;       /* one slot, its one source unchanged */
    int64_t step, rows;  /* step > 0: all sources have so many rows, and any of
                          * them from a multiple of `step` on make their part
                          * of the one slot */
    uint64_t across;     /* > 0: that part lies in pieces, the first so many
                          * bytes a row from the slot's begin; 0: together */
    device *d;
    program *prog;       /* NULL for an identity */
    digest id;           /* units with equal ids make the same slots of the
                          * same bytes, whatever the checkpoint calls them */
} fill_unit;

/* All units of a module for one way of binding: which recipes over which names,
 * dtypes and checkpoints. The module keeps it while that stays the same. */
typedef struct fill_plan {
    _Atomic(uint32_t) refs;
    digest signature;
    ir *m;
    fill_unit *units;    /* in m's arena */
    uint32_t n_units, n_sources;
    uint64_t bytes;      /* of all slots */
} fill_plan;

hull_status fill_plan_make(fill_plan **out, const plan *p, const binding *b,
                           const devices *ds) MUST_CHECK;
fill_plan *fill_plan_ref(fill_plan *fp);
void fill_plan_unref(fill_plan *fp);
/* What a fill plan depends on. Equal signatures: the plan can be reused. */
hull_status binding_signature(digest *out, const plan *p, const binding *b)
    MUST_CHECK;

/* ---- fill_memory.c: the memory of slots, and what fills compute in ------- */

typedef struct slot_memory slot_memory;
typedef struct fill_room fill_room;

/* One per module. */
typedef struct fill_memory {
    pthread_mutex_t lock;
    bool keep;           /* spare=on in the last fill */
    slot_memory *slots;  /* that nobody uses, at most one per device */
    fill_room *rooms;    /* that nobody uses */
} fill_memory;

/* A buffer with the slots of one fill; every group of slots holds a reference.
 * Written only before the set of that fill is published. */
struct slot_memory {
    _Atomic(uint32_t) refs;
    _Atomic(uint64_t) used; /* bytes of the groups that live */
    device *d;
    device_buffer *buffer;
    uint64_t size;
    fill_memory *home;
    slot_memory *next;
};

/* One worker's stream and memory. */
struct fill_room {
    device *d;
    stream *s;
    place params, scratch;
    fill_room *next;
};

void fill_memory_init(fill_memory *fm);
void fill_memory_fini(fill_memory *fm);
/* keep: what is not used any more stays for the next fill, else it goes, now
 * and later. */
void fill_memory_keep(fill_memory *fm, bool keep);
/* At least `size` bytes of d, with one reference. */
hull_status slot_memory_new(slot_memory **out, fill_memory *fm, device *d,
                            uint64_t size) MUST_CHECK;
/* For a group of so many bytes; 0: for nobody's. */
slot_memory *slot_memory_ref(slot_memory *sm, uint64_t n_bytes);
void slot_memory_unref(slot_memory *sm, uint64_t n_bytes);
/* Mostly bytes of groups that are gone: better filled again than shared, so
 * that a module's slots take at most twice their bytes. */
bool slot_memory_wasted(slot_memory *sm);
hull_status fill_room_take(fill_room **out, fill_memory *fm, device *d)
    MUST_CHECK;
void fill_room_give(fill_memory *fm, fill_room *r);
/* At least `size` bytes; what was there is lost. */
hull_status fill_room_grow(device *d, place *p, uint64_t size) MUST_CHECK;

/* ---- set.c: weight sets -------------------------------------------------- */

/* The filled slots of one unit; shared between sets with equal sources. */
typedef struct slot_group {
    _Atomic(uint32_t) refs;
    const backend *be;
    place *slots;
    uint32_t n_slots;
    uint64_t bytes;      /* in `memory` */
    slot_memory *memory; /* NULL: each slot has a buffer of its own */
    weights *borrowed;   /* the index whose bytes the slots point into */
} slot_group;

/* Where the bytes of one source were, when the set was filled. */
typedef struct source_stamp {
    bool known;          /* files have an identity, the caller's memory not */
    weight_identity id;
} source_stamp;

struct weight_set {
    _Atomic(uint32_t) refs;
    uint64_t version;
    fill_plan *fill;     /* whose units the groups are; NULL: slots that were
                          * loaded without their sources */
    slot_group **groups; /* per unit */
    uint32_t n_groups;
    source_stamp *stamps; /* per source of each unit, in order */
    place **block_slots; /* per block: its slots in order */
    uint32_t n_blocks;
    bool borrows;        /* a changed file stops this set */
    binding *bound;      /* keep_sources, borrowed, streams; else NULL */
    struct slot_stream *stream; /* NULL: every slot is filled, or lies where
                          * the caller asked for (borrow=on) */
    bool settles;        /* streams until a run has shown that it is used */
    _Atomic(bool) settling; /* it was asked for */
    options *options;    /* streams: of the fill, with fill=now */
    char *label;         /* of the checkpoint */
};

/* Fills a new set of m. Units whose sources have the same identity as in
 * `current` (may be NULL) are shared with it. Takes b in every case. The
 * report's counters are added to. */
hull_status set_fill(weight_set **out, module *m, fill_plan *fp, binding *b,
                     const weight_set *current, const options *o,
                     hull_refit_report *report) MUST_CHECK;
/* HULL_ESTALE when the set reads a file that changed: it borrows or
 * streams. */
hull_status set_fresh(const weight_set *s) MUST_CHECK;
weight_set *set_ref(weight_set *s);
bool set_unref_last(weight_set *s); /* true: the caller frees it */
void set_free(weight_set *s);

/* ---- module.c ------------------------------------------------------------ */

/* Takes the plan and the devices, also on failure. */
hull_status module_new(module **out, plan *p, devices *ds) MUST_CHECK;
module *module_ref(module *m);
void module_unref(module *m);
const plan *module_plan(const module *m);
/* The current set with a reference: load and reference are one step under a
 * short lock. HULL_EUNBOUND names the holes without a value; HULL_ESTALE when
 * the set borrows from a file that changed. */
hull_status module_pin(weight_set **out, module *m) MUST_CHECK;
/* The last one hands the set to the module's reclaimer thread. */
void module_unpin(module *m, weight_set *s);
uint64_t module_version(module *m);

/* ---- refit.c ------------------------------------------------------------- */

hull_status module_refit(module *m, weights *w, const options *o,
                         hull_refit_report *report) MUST_CHECK;
/* The regular refit: another model file of the same architecture. */
hull_status module_refit_model(module *m, const char *path, const options *o,
                               hull_refit_report *report) MUST_CHECK;
/* Fills from a model's own tensors, bound by position: `names` in hole order,
 * or NULL for the module's own model. */
hull_status module_fill_native(module *m, weights *native, const str *names,
                               const options *o, hull_refit_report *report)
    MUST_CHECK;
/* First fill with a checkpoint; with learn=on the model's values decide. With
 * strip_weights=on it is bound only, so that headers suffice. */
hull_status module_fill(module *m, const weights *native, weights *w,
                        const options *o) MUST_CHECK;
hull_status module_rollback(module *m) MUST_CHECK;

/* ---- module_compile.c ---------------------------------------------------- */

/* Import, compile, fill: see hull_compile. */
hull_status module_compile(module **out, const char *path, weights *w,
                           cache *c, const options *o) MUST_CHECK;

/* ---- module_file.c ------------------------------------------------------- */

hull_status module_save(module *m, const char *path, unsigned flags)
    MUST_CHECK;
hull_status module_load(module **out, const char *path, weights *linked,
                        cache *c, const options *o) MUST_CHECK;
hull_status module_describe(buf *out, module *m) MUST_CHECK;

/* ---- session.c ----------------------------------------------------------- */

hull_status session_new(session **out, module *m, const options *o)
    MUST_CHECK;
hull_status session_run(session *s, const hull_tensor *inputs,
                        size_t n_inputs, hull_tensor *outputs,
                        size_t n_outputs) MUST_CHECK;
/* p is told of the kernels of later runs; it must outlive them. NULL: no more.
 * Costs nothing while it is NULL. */
void session_profile(session *s, const profiler *p);
uint64_t session_version(const session *s);
hull_status session_reset(session *s) MUST_CHECK;
void session_free(session *s);

#endif
