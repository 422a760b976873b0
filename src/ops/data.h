/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * data.h - what the families that move elements share (view, slice, concat,
 * pad, gather, scatter, control): copies that do not look at the dtype, checked
 * indices, and the agreement of two sizes.
 */
#ifndef HULL_OPS_DATA_H
#define HULL_OPS_DATA_H

#include "ops/op.h"

/* One side of a strided copy, in elements. */
typedef struct side {
    void *p;
    int64_t off;
    int64_t strides[HULL_MAX_RANK];
} side;

/* All of a dense tensor. */
side data_side(const tensor *t);
/* Element si of src to element di of dst, any dtype. */
void data_copy(hull_dtype dt, void *dst, int64_t di, const void *src,
               int64_t si);
/* n elements in order. */
void data_copy_run(hull_dtype dt, void *dst, int64_t di, const void *src,
                   int64_t si, int64_t n);
/* All bytes; nothing when both are the same memory. */
hull_status data_copy_all(const node *n, tensor *dst, const tensor *src)
    MUST_CHECK;
/* Every element of `shape`, from src's place to dst's. */
void data_strided(hull_dtype dt, const int64_t *shape, uint32_t rank,
                  const side *dst, const side *src);
/* Product of shape[from..to). */
int64_t data_product(const int64_t *shape, uint32_t from, uint32_t to);

/* Element i of an index tensor as an index into `size`; negative counts from
 * the end; HULL_EINVAL names node, index and size. */
hull_status data_index(int64_t *out, const node *n, const tensor *idx,
                       int64_t i, int64_t size) MUST_CHECK;
/* Concrete value of a dim that may be a negative constant. */
hull_status data_dim(int64_t *out, const eval_ctx *cx, dim d) MUST_CHECK;
/* HULL_ESHAPE when out's shape is not what the kernel computed. */
hull_status data_want_shape(const node *n, const tensor *out,
                            const int64_t *shape, uint32_t rank) MUST_CHECK;

/* HULL_ESHAPE when t does not have `numel` elements. */
hull_status data_want_numel(const node *n, const tensor *t, int64_t numel)
    MUST_CHECK;

/* The size that two dims agree on; HULL_ESHAPE when they are different
 * constants. Sizes that may be equal are checked when the op runs. */
hull_status data_agree(dim *out, graph *g, const node *n, const char *what,
                       dim a, dim b) MUST_CHECK;
/* Operand i is an integer tensor, not bool. */
hull_status data_index_type(const type **out, graph *g, const node *n,
                            uint32_t i) MUST_CHECK;
/* gather_elements and scatter_elements: but for the axis, no dim of the
 * indices may be larger than the operand's (both of one rank). */
hull_status data_elements_infer(graph *g, const node *n, const type *x,
                                const type *idx, uint32_t axis) MUST_CHECK;
hull_status data_elements_check(const node *n, const tensor *x,
                                const tensor *idx, uint32_t axis) MUST_CHECK;
/* Their element of x at `index` with k for the axis. */
int64_t data_element(const side *x, const int64_t *index, uint32_t rank,
                     uint32_t axis, int64_t k);
/* What a slice reads of x, and the shape of that. */
hull_status slice_side(side *src, int64_t *shape, eval_ctx *cx, const node *n,
                       const tensor *x) MUST_CHECK;
/* Elements in front of every axis, negative when some go; out's shape fits.
 * pad_put stores the attribute `value` as element i. */
hull_status pad_sizes(eval_ctx *cx, const node *n, const tensor *in,
                      const tensor *out, int64_t *begin) MUST_CHECK;
void pad_put(const node *n, tensor *out, int64_t i);
/* Half to even, whatever the rounding mode of the thread is. quant.c */
double data_round_even(double v);
bool node_has(const node *n, uint32_t i); /* operand i is present */

#endif
