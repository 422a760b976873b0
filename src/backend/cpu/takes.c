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

bool takes_sdpa(const graph *g, const node *n)
{
    for (uint32_t i = 0; i < 3; i++)
        if (graph_type(g, n->in[i])->dtype != HULL_F32)
            return false;
    return n->n_in < 4 || n->in[3] == 0 ||
           graph_type(g, n->in[3])->dtype == HULL_F32 ||
           graph_type(g, n->in[3])->dtype == HULL_BOOL;
}
