/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * op.h - helpers shared by the op families. A family is one file with
 * <family>_infer (shape rule) and <family>_eval (reference kernel); the rows
 * of ir/ops.def name it. Adding an op: one row, one line or file here, one
 * test tests/ops/<op>.ir.
 */
#ifndef HULL_OP_H
#define HULL_OP_H

#include "ir/ir.h"

/* ---- for shape rules (infer.c) ------------------------------------------- */

/* Operand type; HULL_ESHAPE naming node and operand when it is not a tensor. */
hull_status infer_tensor(const type **out, graph *g, const node *n, uint32_t i)
    MUST_CHECK;
/* Sets result i to a tensor type. */
hull_status infer_out(graph *g, node *n, uint32_t i, hull_dtype dt,
                      const dim *dims, uint32_t rank) MUST_CHECK;
/* Numpy broadcast of two shapes; out has room for HULL_MAX_RANK. */
hull_status infer_broadcast(graph *g, const node *n, const type *a,
                            const type *b, dim *out, uint32_t *out_rank)
    MUST_CHECK;
/* Axis in [-rank, rank) to [0, rank). */
hull_status infer_axis(uint32_t *out, const node *n, int64_t axis,
                       uint32_t rank) MUST_CHECK;
/* "op 'conv' (node label)": for messages. */
const char *node_what(const node *n, char out[128]);
/* Known small-integer values of results (known.c): shape, arithmetic,
 * gather, slice, concat, cast, reshape ... on values that are known. Called by
 * node_infer after the shape rule. */
void infer_known(graph *g, node *n);

/* ---- for kernels (tensor.c) ---------------------------------------------- */

int64_t tensor_numel(const tensor *t);
uint64_t tensor_bytes(const tensor *t);
/* Strides in elements of t broadcast to a shape of `rank` dims (0 where it is
 * repeated). */
void tensor_broadcast_strides(const tensor *t, const int64_t *shape,
                              uint32_t rank, int64_t *out);
/* Steps a multi-index; false after the last one. */
bool index_next(int64_t *index, const int64_t *shape, uint32_t rank);
/* Concrete values of a dims attribute. */
hull_status eval_dims(eval_ctx *cx, const node *n, const char *attr,
                      int64_t *out, uint32_t max, uint32_t *out_n) MUST_CHECK;
/* Makes room for a temporary in the scratch arena: shape copied, data set. */
hull_status eval_temp(eval_ctx *cx, tensor *out, hull_dtype dt,
                      const int64_t *shape, uint32_t rank) MUST_CHECK;
/* Concrete tensor shape of a value's type under the environment. */
hull_status tensor_of_type(tensor *out, const dim_env *env, const type *t)
    MUST_CHECK;

/* Philox4x32-10 (random.c): four words for one seed, draw and place. */
void random_words(uint32_t out[4], uint64_t seed, uint64_t draw, uint64_t at);

/* ---- prototypes of all families, from the table -------------------------- */

#define OP(name, family, in_min, in_max, out, attrs, traits) \
    op_infer_fn family##_infer;                              \
    op_eval_fn family##_eval;
#include "ir/ops.def"
#undef OP

#endif
