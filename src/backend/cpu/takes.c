/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * takes.c - which nodes the kernels of kernels.def run: types and attributes.
 */
#include "backend/cpu/cpu.h"

bool takes_gemm_32(const graph *g, const node *n)
{
    return cpu_all_dtype(g, n, HULL_F32) && attr_int(n, "tile") == 32;
}

bool takes_gemm_16(const graph *g, const node *n)
{
    return cpu_all_dtype(g, n, HULL_F32) && attr_int(n, "tile") == 16;
}
