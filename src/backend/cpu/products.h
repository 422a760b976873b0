/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * products.h - what the kernels of gemm, conv_nhwc and conv_winograd share at
 * one level.
 */
#ifndef HULL_CPU_PRODUCTS_H
#define HULL_CPU_PRODUCTS_H

#include "backend/cpu/cpu.h"
#include "backend/cpu/epilogue.h"
#include "backend/cpu/micro.h"

/* Nanoseconds that a multiplication and addition take about. */
#define PRODUCT_NS (0.3 / VEC_LANES)

/* y [rows, columns] = act(x [rows, depth] panels + bias + residual). */
hull_status VEC_NAME(gemm_run)(eval_ctx *cx, int64_t rows, int64_t columns,
                               int64_t depth, const float *x,
                               const float *panels, float *y,
                               const epilogue *e);

/* By the number of rows: tiles whose rows are pointers. conv_vec.h */
extern micro_fn *const VEC_NAME(pointer_tiles)[MICRO_ROWS + 1];

#endif
