/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * resize.h - what kernels of resize and pad share: which elements of an axis a
 * place of the result shows, and with what weights.
 */
#ifndef HULL_RESIZE_H
#define HULL_RESIZE_H

#include "ops/op.h"

/* How one axis is resized: place p of the result is the sum of n inputs, at[p n
 * + k] with weight[p n + k]; what has weight 0 is not looked at. */
typedef struct resize_axis {
    bool same;        /* the axis stays as it is; there is nothing else */
    int64_t in, out, n;
    int64_t *at;
    double *weight;
} resize_axis;

/* One for each axis; arrays are scratch memory. For nodes without a region
 * (operand 1); no size of the result is 0. */
hull_status resize_axes(resize_axis *axes, eval_ctx *cx, const node *n,
                        const tensor *in, const tensor *out) MUST_CHECK;
/* Places [from, to) of an axis that pad n fills: the element of its operand, of
 * `size`, that each shows, at[p]; the first is at `begin`. Not for
 * constants. */
void pad_shown(int64_t *at, const node *n, int64_t from, int64_t to,
               int64_t begin, int64_t size);

#endif
