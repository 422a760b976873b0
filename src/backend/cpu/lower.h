/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * lower.h - inside the lowering of a block for this CPU: lower.c, lower_*.c.
 */
#ifndef HULL_CPU_LOWER_H
#define HULL_CPU_LOWER_H

#include "backend/cpu/choice.h"
#include "passes/pass.h"

typedef struct lowering {
    graph *g;
    graph_facts f;
    int64_t tile;   /* columns of a panel */
    cpu_level level;
    dim_env typical;
    const cpu_choice *way; /* answers its question; NULL: times do */
    device *d;
    const options *o;
    const notebook *notes;
} lowering;

/* A constant of the dtype that kernels take, with plain sizes above 0. */
bool lower_is_weight(const lowering *l, val w);
/* x w + bias by a gemm; w [k, n], or [n, k] when trans, is a weight. bias may
 * be 0. */
val lower_product(lowering *l, val x, val w, bool trans, val bias, str label);

/* Nodes of f16 and bf16: products by gemm_bf16, others in f32. lower_half.c */
hull_status lower_half(graph *g, const cpu_device *d) MUST_CHECK;

/* Transposed convolutions become plain ones. lower_transposed.c */
hull_status lower_transposed(graph *g) MUST_CHECK;
/* Attention takes merged products as they are. lower_attention.c */
hull_status lower_attention(graph *g) MUST_CHECK;
/* lstm, gru and rnn: one product for all inputs, then steps. lower_rnn.c */
void lower_rnn(lowering *l, node *n);

#endif
