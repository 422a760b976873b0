/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * products.h - what the kernels of gemm and conv_nhwc share at one level.
 */
#ifndef HULL_CPU_PRODUCTS_H
#define HULL_CPU_PRODUCTS_H

#include "backend/cpu/cpu.h"
#include "backend/cpu/epilogue.h"
#include "backend/cpu/micro.h"

/* y [rows, columns] = act(x [rows, depth] panels + bias + residual). */
hull_status VEC_NAME(gemm_run)(eval_ctx *cx, int64_t rows, int64_t columns,
                               int64_t depth, const float *x,
                               const float *panels, float *y,
                               const epilogue *e);

#endif
