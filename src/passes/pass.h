/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pass.h - rewrites of a graph. passes.def lists them in pipeline order; after
 * each one the graph is verified, and HULL_DUMP=before:NAME,after:NAME writes
 * texts that `hull opt` reads back. An identity must hold for every value, -0,
 * Inf and NaN included. No pass can read a hole.
 */
#ifndef HULL_PASS_H
#define HULL_PASS_H

#include "ir/ir.h"

typedef hull_status pass_fn(graph *g);

/* GRAPH passes run on the imported graph, before partition and key; LOWER
 * passes run on one block, after its key is known. */
typedef enum pass_stage { STAGE_GRAPH, STAGE_LOWER } pass_stage;

typedef struct pass_row {
    const char *name;
    pass_stage stage;
    pass_fn *run;
    const char *help;
} pass_row;

const pass_row *pass_table(size_t *out_n);
const pass_row *pass_find(str name); /* NULL when absent */
/* One pass: dump, run, settle, remove dead nodes, verify, dump. */
hull_status pass_run(const pass_row *row, graph *g) MUST_CHECK;
/* All rows of a stage in order. */
hull_status passes_run(pass_stage stage, graph *g) MUST_CHECK;

#define PASS(name, stage, help) pass_fn pass_##name;
#include "passes/passes.def"
#undef PASS

/* ---- shared facts (facts.c) ----------------------------------------------- */

/* Per value id: depends on a parameter, on data outside pure nodes, or has a
 * type that is not static. Arena array of n_values; NULL when failed. Values
 * with false can move to prepare. */
bool *graph_runtime_values(graph *g);
/* The node makes more bytes than it reads: G trait, or a widening cast. */
bool node_grows(const graph *g, const node *n);
/* v is a const node's result: its literal, else NULL. */
const literal *value_literal(const graph *g, val v);

/* ---- split.c --------------------------------------------------------------- */

/* The two programs of an engine. `prepare`: parameters are the holes in
 * canonical order (all n_holes of them, used or not), results are the slots.
 * `main`: parameters are the block's parameters, then the slots. Both are new
 * graphs in a new ir; g is not changed. Names are gone. */
hull_status split(ir **out, graph *g) MUST_CHECK;

#endif
