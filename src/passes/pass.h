/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pass.h - rewrites of a graph. passes.def lists them in pipeline order; after
 * each one the graph is verified, and HULL_DUMP=before:NAME,after:NAME writes
 * texts that `hull opt` reads back. An identity must hold for every value, -0,
 * Inf and NaN included; the fusions fuse_* and decompose may round otherwise,
 * as the same sum in another order does. No pass can read a hole.
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

/* ---- shared facts (facts.c) ---------------------------------------------- */

/* Facts about the values that exist when they are taken. A value made later is
 * counted as runtime with several uses, so that rules leave it alone. */
typedef struct graph_facts {
    const graph *g;
    uint32_t n;      /* values at that time */
    bool *runtime;   /* arena arrays of n */
    uint32_t *uses;
} graph_facts;
hull_status graph_facts_get(graph_facts *out, graph *g) MUST_CHECK;
/* Depends on a parameter, comes out of an impure node, or has a type that is
 * not static. A value that is not can move to prepare. */
bool value_is_runtime(const graph_facts *f, val v);
/* Every dim is a number from 1 to INT32_MAX. */
bool has_plain_sizes(const type *t);
bool value_has_one_use(const graph_facts *f, val v);
/* An attribute holds a symbolic dim: the value depends on input shapes. */
bool node_has_symbols(const graph *g, const node *n);
/* The node makes more bytes than it reads: G trait, or a widening cast. */
bool node_grows(const graph *g, const node *n);
/* v is a const node's result: its literal, else NULL. */
const literal *value_literal(const graph *g, val v);
/* The attribute "axis", counted from the front in the first operand. */
uint32_t node_axis(const graph *g, const node *n);
/* Axis i of a transpose's result is this one of its operand. */
uint32_t perm_at(const node *transpose, uint32_t i);
/* A new node with n's op, label and attributes, for node_add. */
node *node_again(graph *g, const node *n, const val *in, uint32_t n_in);

/* ---- fuse_bn.c: shared with decompose.c ---------------------------------- */

/* Statistics of f32 or f64 in the dtype of the data, all of them weights. */
bool bn_is_foldable(const graph_facts *f, const node *bn, const char **out_why);
val bn_scale(graph *g, const node *bn); /* gamma / sqrt(var + eps): [c] */
/* (bias - mean) * scale + beta, bias 0 = none: [c]. */
val bn_shift(graph *g, const node *bn, val bias, val scale);
/* [c] as [c, 1, ..] so that c is axis `axis` of a tensor of rank `rank`. */
val bn_at_axis(graph *g, val v, uint32_t axis, uint32_t rank);

/* ---- fuse_linear.c: a bias in front of a batch norm --------------------- */

/* add(product, bias) becomes the product with a bias. */
hull_status fuse_biases(graph *g) MUST_CHECK;

/* ---- narrow.c: shared with merge_products.c ------------------------------ */

/* A slice along one axis, with the bounds as written: plain numbers, negative
 * ones from the end. */
typedef struct axis_cut {
    uint32_t axis;
    dim start, end;
    int64_t step;
} axis_cut;
/* n is such a slice. */
bool slice_cut(const graph *g, const node *n, axis_cut *out);
val cut_value(graph *g, val v, const axis_cut *c);
/* Of a reshape or transpose: the cut of its operand that gives this one of its
 * result. false: there is none, or it is another op. */
bool cut_of_operand(const graph *g, const node *n, const axis_cut *c,
                    axis_cut *out);

/* ---- for a backend's lowering: ops of ops/packed.c ----------------------- */

/* Products of quantised values become gemm_int, with constant weights in panels
 * of `tile` columns and groups of `group` along the depth, or matmul_int
 * (int_products.c). */
hull_status int_products(graph *g, int64_t tile, int64_t group) MUST_CHECK;
/* w [k, n], or [n, k] when transposed, as [ceil(n / tile), ceil(k / group),
 * tile, group]; what is missing is 0. */
val pack_groups(graph *g, val w, bool trans, int64_t tile, int64_t group);
/* Products with weights that are expanded from 4 bits in blocks become gemm_q4,
 * which reads them as they are (group_products.c). */
hull_status group_products(graph *g) MUST_CHECK;
/* w [n, k], or [k, n] unless trans, is such a weight. */
bool is_group_weight(const graph *g, val w, bool trans);
/* Their scales, biases, activations and quantisers (int_epilogue.c). */
hull_status int_epilogues(graph *g) MUST_CHECK;
/* Transposes sink towards the results and cancel (layout.c). */
hull_status layout_sink(graph *g) MUST_CHECK;
/* Biases, residuals and activations go into lowered products. */
hull_status fuse_epilogue(graph *g) MUST_CHECK;
/* Pointwise nodes of f32 that are each other's only readers become one node
 * `chain` (fuse_chains.c). */
hull_status fuse_chains(graph *g) MUST_CHECK;

/* ---- split.c ------------------------------------------------------------- */

/* The two programs of an engine, graphs @prepare and @main of a new ir.
 *   key      the block before it was lowered: its holes in canonical order are
 *            prepare's parameters, all of them, used or not
 *   prepare  holes -> slots
 *   main     the block's parameters, then the slots -> the block's results
 * Names are gone. g is put in canonical order and keeps its meaning. */
hull_status split_programs(ir **out, graph *g, graph *key) MUST_CHECK;

#endif
