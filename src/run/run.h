/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * run.h - modules, weight sets, refits, sessions.
 *
 *   module   a plan, its devices, its programs, and the current weight set
 *   set      all slots filled from one checkpoint; immutable, counted, versioned
 *   unit     a piece of a prepare program with its own slots: refit works unit
 *            by unit, in parallel, and shares units whose sources are the same
 *   session  buffers for one caller's runs; pins a set from start to end of a run
 */
#ifndef HULL_RUN_H
#define HULL_RUN_H

#include "compile/compile.h"

typedef struct hull_module module;
typedef struct hull_session session;
typedef struct weight_set weight_set;

/* ---- fill.c: units and how a binding fills them ------------------------------ */

/* A tensor of the checkpoint that a unit reads. */
typedef struct fill_source {
    str name;            /* in the checkpoint */
    uint64_t n_bytes;
} fill_source;

/* One unit of one block, composed with the recipes of a binding. */
typedef struct fill_unit {
    uint32_t block;
    uint32_t *slots;     /* numbers of the block's slots, as computed */
    uint32_t n_slots;
    bool identity;       /* one slot, its one source unchanged */
    fill_source *sources; /* parameters of the program, in order */
    uint32_t n_sources;
    int32_t *kept;       /* per source: the hole whose kept value it is, or -1 */
    graph *g;            /* parameters = sources, results = slots; NULL for
                          * an identity */
    device *d;
    program *prog;
    program_plan *plan;
    uint64_t *slot_bytes; /* per slot */
    uint64_t scratch;
} fill_unit;

/* All units of a module for one shape of binding (which recipes over which
 * names and dtypes). Kept by the module and reused while that is unchanged. */
typedef struct fill_plan {
    digest signature;
    ir *m;
    fill_unit *units;
    uint32_t n_units;
    uint64_t bytes;      /* of all slots */
} fill_plan;

hull_status fill_plan_make(fill_plan **out, const plan *p, const binding *b,
                           const devices *ds) MUST_CHECK;
void fill_plan_free(fill_plan *fp);
/* What a fill plan depends on. Equal signatures: the plan can be reused. */
digest binding_signature(const plan *p, const binding *b);

/* ---- set.c: weight sets -------------------------------------------------------- */

/* The filled slots of one unit; shared between sets with equal sources. */
typedef struct slot_group {
    _Atomic(uint32_t) refs;
    const backend *be;
    device_buffer **slots;
    uint32_t n_slots;
    weights *borrowed;   /* the index whose mapping the slots point into */
    bool filled;
} slot_group;

struct weight_set {
    _Atomic(uint32_t) refs;
    uint64_t version;
    weights *source;     /* keep_sources, or borrowed; else NULL */
    bool borrows;        /* a changed file stops this set */
    char *label;         /* of the checkpoint */
    slot_group **groups; /* per unit of the fill plan */
    uint32_t n_groups;
    uint64_t fill_id;    /* which fill plan the groups belong to */
    place **block_slots; /* per block: its slots in order */
    uint32_t n_blocks;
    weight_identity *identities; /* per source of each unit, in order */
    bool *has_identity;
    uint32_t n_identities;
    binding *bound;      /* keep_sources: for partial refits and saving */
};

/* ---- module.c ------------------------------------------------------------------ */

/* Takes the plan. */
hull_status module_new(module **out, plan *p, devices *ds) MUST_CHECK;
module *module_ref(module *m);
void module_unref(module *m);
const plan *module_plan(const module *m);
/* The current set with a reference, NULL when there is none. One short lock:
 * load and reference are one step. */
weight_set *module_pin(module *m);
/* The last one hands the set to the module's reclaimer. */
void module_unpin(module *m, weight_set *s);
/* HULL_EUNBOUND naming the holes that have no value. */
hull_status module_unbound(const module *m) MUST_CHECK;

/* ---- refit.c ---------------------------------------------------------------------- */

typedef hull_refit_report refit_report;

hull_status module_refit(module *m, weights *w, const options *o,
                         const bind_options *how, refit_report *report)
    MUST_CHECK;
/* The regular refit: another model file of the same architecture. */
hull_status module_refit_model(module *m, const char *path, const options *o,
                               refit_report *report) MUST_CHECK;
hull_status module_rollback(module *m) MUST_CHECK;

/* ---- module_file.c ----------------------------------------------------------------- */

hull_status module_save(module *m, const char *path, unsigned flags)
    MUST_CHECK;
hull_status module_load(module **out, const char *path, weights *linked,
                        cache *c, const options *o) MUST_CHECK;
hull_status module_describe(buf *out, const module *m) MUST_CHECK;

/* ---- session.c ---------------------------------------------------------------------- */

hull_status session_new(session **out, module *m, const options *o)
    MUST_CHECK;
hull_status session_run(session *s, const hull_tensor *inputs,
                        size_t n_inputs, hull_tensor *outputs,
                        size_t n_outputs) MUST_CHECK;
uint64_t session_version(const session *s);
hull_status session_reset(session *s) MUST_CHECK;
void session_free(session *s);

#endif
