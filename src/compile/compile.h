/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * compile.h - from a model file to a plan: the immutable part of a module.
 *
 *   import (front) -> passes -> partition -> for each distinct block:
 *   key -> cache, or lower and split -> engine
 *
 * A plan holds no weight. What it knows of them is the binding table: for each
 * hole, the checkpoint names that are its value, or recipes that make it.
 */
#ifndef HULL_COMPILE_H
#define HULL_COMPILE_H

#include <stdatomic.h>

#include "engine/engine.h"
#include "front/front.h"
#include "passes/pass.h"

/* ---- devices.c: the backends of one module, opened ----------------------- */

typedef struct devices {
    device **d;          /* in order of preference; the last one is ref */
    uint32_t n;
    pool *pool;
    options *options;    /* a copy */
} devices;
/* HULL_EINVAL when the list (option backends) names one that is unknown. */
hull_status backends_check(str list) MUST_CHECK;
hull_status devices_open(devices *out, const options *o) MUST_CHECK;
void devices_close(devices *ds);
/* NULL when the backend is not among them. */
device *devices_find(const devices *ds, str backend);
/* Text of a device's target. */
hull_status device_target(buf *out, const device *d) MUST_CHECK;

/* ---- the plan ------------------------------------------------------------ */

/* One hole of the module. Strings and graphs live in the plan's ir. */
typedef struct plan_hole {
    str name;
    hull_dtype dtype;
    uint32_t rank;
    int64_t shape[HULL_MAX_RANK];
    uint64_t n_bytes;
    str *names;          /* the tie: all must hold equal bytes */
    uint32_t n_names;
    graph **recipes;     /* in plan->recipes */
    uint8_t *tiers;
    uint32_t n_recipes;
    bool derived;        /* never bind by name alone */
    bool kept;           /* may keep kept_value when a checkpoint lacks it */
    const void *kept_value; /* n_bytes; NULL = the module has no value */
    str reason;
} plan_hole;

/* A tensor of the model file that became a literal. A checkpoint that has the
 * name must hold the same bytes: another value is another program. */
typedef struct plan_literal {
    str name, value, reason; /* value: short text, for messages */
    hull_dtype dtype;
    uint32_t rank;
    int64_t shape[HULL_MAX_RANK];
    digest bytes;
} plan_literal;

/* One call of an engine. */
typedef struct plan_block {
    str backend;
    str text;            /* canonical */
    engine *e;           /* shared between blocks with equal keys */
    uint32_t *holes;     /* the engine's hole i is the module's holes[i] */
    uint32_t n_holes;
    uint32_t n_nodes;
    bool hit;            /* came out of the cache */
    bool rebuilt;        /* loaded module: its target was absent here */
} plan_block;

/* Why a node runs on a less preferred backend. */
typedef struct plan_fallback {
    str node, op, reason;
} plan_fallback;

typedef struct plan {
    ir *m;               /* its pins: large literals of the blocks' texts */
    graph *main;         /* @main: only `call @b<i>` nodes, one per block */
    str imported;        /* canonical text before any pass */
    ir *recipes;
    plan_hole *holes;
    uint32_t n_holes;
    plan_literal *literals;
    uint32_t n_literals;
    plan_block *blocks;
    uint32_t n_blocks;
    str *unread;         /* names a checkpoint may have and nobody reads */
    uint32_t n_unread;
    str *inputs, *outputs; /* names; counts as main's params and results */
    hull_tensor_info *input_info, *output_info; /* for the public API */
    plan_fallback *fallbacks;
    uint32_t n_fallbacks;
    str format, producer;
    bool asked_cache;    /* a cache was consulted */
    bool direct;         /* came out of it without an import: direct.c */
    double import_seconds, compile_seconds;
} plan;

/* ---- compile.c: the driver ----------------------------------------------- */

/* Compiles an imported model. cache may be NULL. fm is not changed, but its
 * kept constants are read. */
hull_status plan_compile(plan **out, const front_model *fm, const devices *ds,
                         cache *c) MUST_CHECK;
void plan_free(plan *p);
hull_status plan_new(plan **out) MUST_CHECK; /* empty, with its two irs */
/* Fills input_info and output_info from main and the names. */
hull_status plan_describe_interface(plan *p) MUST_CHECK;
/* HULL_EINVAL when the option keep names what is no hole. */
hull_status plan_check_keep(const plan *p, const options *o) MUST_CHECK;
str plan_str(plan *p, str s); /* copies into the plan's ir */
/* A kept constant's bytes stay with the plan, with a stripped module too.
 * h->kept tells whether the model file has them. */
hull_status plan_keep_value(plan *p, plan_hole *h, const weights *native)
    MUST_CHECK;
/* Without the buffers that a run mutates: they are parameters and results of
 * main after the user's, and the session carries them. */
uint32_t plan_n_inputs(const plan *p);
uint32_t plan_n_outputs(const plan *p);
/* The hole that state i starts from. */
const plan_hole *plan_state_hole(const plan *p, uint32_t i);
/* An engine for a block's canonical text: from the cache, or built. `pins`
 * holds the large literals that the text names. */
hull_status plan_engine(engine **out, bool *out_hit, str text, const ir *pins,
                        device *d, const devices *ds, cache *c) MUST_CHECK;

/* ---- keys.c -------------------------------------------------------------- */

/* Passes and partition of a copy of the imported graph; the caller frees both
 * irs, also after a failure. p takes the fallbacks. */
hull_status plan_cut(plan *p, ir **out_work, ir **out_blocks,
                     const front_model *fm, const devices *ds) MUST_CHECK;
/* Key of a block; target and text, both for the caller to free, are parts. */
hull_status block_key(cache_key *out, buf *target, buf *text, graph *g,
                      const devices *ds) MUST_CHECK;
/* Calls fn for every block in order; equal ones have equal keys. */
typedef hull_status plan_key_fn(void *user, const graph *g,
                                const cache_key *k);
hull_status plan_keys(const front_model *fm, const devices *ds,
                      plan_key_fn *fn, void *user) MUST_CHECK;

/* ---- plan_check.c -------------------------------------------------------- */

/* The parts of a plan fit each other: calls, engines, holes, states. Engines
 * come out of files, so a plan is checked wherever it was made. HULL_EFORMAT.
 */
hull_status plan_check(const plan *p) MUST_CHECK;
/* The type of a hole, exactly. */
bool plan_type_is_hole(const ir *m, const type *t, const plan_hole *h);

/* ---- partition.c --------------------------------------------------------- */

/* Cuts a graph into blocks by why_not, minimum size and forced fallback.
 * Fills *out with graphs @b0.. (holes named as in g) and @main in one new ir;
 * fallbacks go to p. HULL_EUNSUPPORTED with require_full lists the nodes. */
hull_status partition(plan *p, ir **out, graph *g, const devices *ds)
    MUST_CHECK;

/* ---- plan_file.c: the plan's sections of a module file ------------------- */

hull_status plan_write(container_writer *w, const plan *p) MUST_CHECK;
/* Engines whose target is absent here are rebuilt from their text, through the
 * cache; plan_block.rebuilt tells. Everything is parsed and checked. */
hull_status plan_read(plan **out, container *c, const devices *ds, cache *ch)
    MUST_CHECK;
/* The same for an entry of the cache, which has neither engines nor kept
 * values: those come from the cache or are built, these from the model file. */
hull_status plan_write_frame(container_writer *w, const plan *p) MUST_CHECK;
hull_status plan_read_frame(plan **out, container *c, const devices *ds,
                            cache *ch, const weights *native) MUST_CHECK;

/* ---- direct.c: from a model file to its plan without an import ----------- */

typedef struct direct {
    cache *c;            /* NULL: not tried */
    const devices *ds;
    buf key;             /* of all that decides an import but the values read */
    buf manifest;        /* a line per set of places that imports read */
    uint32_t n_sets;     /* lines; the first entry that is absent */
    digest skeleton;
    weight_reads reads;
} direct;
/* *out is the plan, or NULL: import *native, and put. *native is NULL when the
 * file must be opened again. cache may be NULL; no failure but this. */
void direct_find(plan **out, direct *d, weights **native,
                 const weights *checkpoint, const devices *ds, cache *c);
/* The plan of an import that read the places of one line; NULL without one. */
hull_status direct_try(plan **out, const direct *d, weights *native, str line)
    MUST_CHECK;
/* Import *native between these two; end also without an import. */
void direct_watch(direct *d, weights *native);
void direct_unwatch(direct *d, weights *native);
/* Stores what was compiled. Before anything is learnt from a checkpoint. */
void direct_put(direct *d, const weights *native, const plan *p);
void direct_end(direct *d);

/* ---- explain.c ----------------------------------------------------------- */

hull_status plan_explain(buf *out, const front_model *fm, const devices *ds,
                         cache *c, bool json) MUST_CHECK;
/* Under what the cache keeps the measured times of an engine's nodes: lines
 * "NUMBER NS", numbers in walk order of main. explain_nodes.c */
hull_status engine_profile_key(buf *out, const engine *e) MUST_CHECK;

/* ---- bind.c: a checkpoint's tensors for the holes ------------------------ */

typedef enum bound_kind {
    BOUND_NONE,
    BOUND_ENTRY,         /* the tensor is the value */
    BOUND_RECIPE,        /* a recipe makes it */
    BOUND_KEPT           /* the module's kept constant */
} bound_kind;

typedef struct bound_hole {
    bound_kind kind;
    uint32_t source;     /* index into the binding's checkpoints */
    const weight_entry *entry; /* BOUND_ENTRY; owned by the index */
    graph *recipe;       /* BOUND_RECIPE: leaves are names of the checkpoint */
} bound_hole;

/* Immutable once made, counted. */
typedef struct binding {
    _Atomic(uint32_t) refs;
    weights **w;         /* checkpoints, a reference each; w[0] is the one that
                          * was bound, others hold what it lacked */
    uint32_t n_w;
    bound_hole *holes;   /* plan->n_holes */
    uint32_t n;
    ir *recipes;         /* expanded recipes; may be NULL */
    uint32_t n_kept;
    str add, cut;        /* prefixes that it has, and lacks */
    digest map;          /* of the rules that named the tensors; or zero */
    str *unread;         /* allow_unread: names that no hole uses; views */
    uint32_t n_unread;
    struct bound_tie {   /* allow_unread: names of what an exporter stored */
        uint32_t hole;   /* under another name: equal here, so a tie */
        str name;
    } *tied;
    uint32_t n_tied;
} binding;

typedef struct bind_options {
    const options *o;
    const struct binding *previous; /* allow_missing takes what is missing from
                          * here; NULL = nothing to take */
    bool native;         /* w is the index of the model file itself: holes bind
                          * by their own names */
    const str *by_position; /* with native: w's names in hole order (n_holes);
                          * NULL = the plan's own names */
    const weights *model; /* learn: the model's own values; else NULL */
    bool allow_unread;   /* the checkpoint of the compile: names that no hole
                          * uses are listed, not refused */
} bind_options;

/* Strict. HULL_EBIND lists all missing, unexpected, wrong-shape, wrong-dtype,
 * ambiguous and untied tensors together. */
hull_status bind_weights(binding **out, const plan *p, weights *w,
                         const bind_options *bo) MUST_CHECK;
binding *binding_ref(binding *b);
void binding_unref(binding *b);
/* A hole's value as the binding gives it: h->n_bytes into dst. */
hull_status binding_value(void *dst, const plan *p, const binding *b,
                          const plan_hole *h) MUST_CHECK;
/* Recipes that a binding settled by equal bytes become the plan's only ones. */
hull_status plan_learn(plan *p, const binding *b) MUST_CHECK;
/* The binding's unread names are known to be unread from now on, and its tied
 * ones to belong to their holes. */
hull_status plan_add_unread(plan *p, const binding *b) MUST_CHECK;

#endif
