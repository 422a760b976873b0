/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * ir_private.h - what the files of src/ir share and nobody else needs.
 */
#ifndef HULL_IR_PRIVATE_H
#define HULL_IR_PRIVATE_H

#include "ir/ir.h"

/* Deepest nesting of bodies, of types and of dim text. Everything that
 * recurses over an ir recurses at most this deep. */
#define IR_MAX_DEPTH 64

/* dims.c: the table of an ir. */
hull_status dims_init(ir *m) MUST_CHECK;
void dims_fini(ir *m);

/* How a printer writes a symbol. */
typedef void dim_sym_fn(void *user, buf *b, dim d, const dim_node *n);
/* dim_print with symbols written by fn (NULL: by name). */
void dim_print_with(buf *b, const ir *m, dim d, dim_sym_fn *fn, void *user);
void type_print_with(buf *b, const ir *m, const type *t, dim_sym_fn *fn,
                     void *user);

/* [A-Za-z_][A-Za-z0-9_.]* */
bool is_ident(str s);

/* text.c: the canonical form of graph_print. `holes` maps a weight's name to
 * its number. */
void graph_print_canonical(buf *out, const graph *g, const strmap *holes);

/* graph.c */
region *region_new(graph *g, node *owner);
uint32_t region_depth(const region *r);
/* Is `outer` r itself or a region around it? */
bool region_inside(const region *r, const region *outer);
val value_new(graph *g, node *def, region *scope, uint32_t index, str name);
/* Bodies of n: the i-th graph attribute that is set, NULL past the last. */
region *node_body_at(const node *n, uint32_t i);
/* Appends n to r before `at` (NULL: at the end). */
void region_insert(region *r, node *n, node *at);
void region_unlink(node *n);
/* A view copied into the ir's arena. */
str ir_str(ir *m, str s);
/* ir_fail(m, fail(...)) for "out of memory". */
hull_status ir_oom(ir *m, size_t size);

#endif
