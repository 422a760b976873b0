/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * rnn.h - what kernels of lstm, gru, rnn and their ops *_steps share: where the
 * operands are, the functions of the gates, the checks of one run.
 */
#ifndef HULL_RNN_H
#define HULL_RNN_H

#include "ops/op.h"

typedef struct rnn_kind {
    op_code op; /* lstm, gru or rnn */
    bool steps; /* op is that of *_steps */
    int64_t gates;
    uint32_t r, bias, h0;       /* operand places */
    uint32_t c0, lengths, peep; /* 0: has none */
    uint32_t acts;              /* functions per direction */
} rnn_kind;

typedef enum rnn_act_kind {
    ACT_SIGMOID, ACT_TANH, ACT_RELU, ACT_AFFINE, ACT_LEAKY, ACT_THRESHOLD,
    ACT_SCALED_TANH, ACT_HARD_SIGMOID, ACT_ELU, ACT_SOFTSIGN, ACT_SOFTPLUS,
    RNN_ACT_KINDS
} rnn_act_kind;

typedef struct rnn_act {
    rnn_act_kind kind;
    double alpha, beta;
} rnn_act;

#define RNN_ACTS_MAX 6 /* of both directions */

/* One run. Missing operands are NULL. */
typedef struct rnn_run {
    rnn_kind kind;
    const tensor *x, *w, *r, *bias, *h0, *c0, *lengths, *peep;
    tensor *out;
    int64_t t, b, in, h;   /* steps, sequences, inputs, hidden */
    int64_t n_dir, tile;
    bool reset_after, coupled;
    double clip;
    rnn_act acts[RNN_ACTS_MAX];
} rnn_run;

rnn_kind rnn_kind_of(const node *n);
/* 1 or 2; 0: no such direction. */
int64_t rnn_directions(const node *n);
/* HULL_ESHAPE when the operands of a run do not fit each other. */
hull_status rnn_open(rnn_run *out, const node *n, const tensor *in,
                     tensor *result) MUST_CHECK;
/* Steps of sequence b; HULL_EINVAL when there are not so many. */
hull_status rnn_length(int64_t *out, const rnn_run *c, const node *n,
                       int64_t b) MUST_CHECK;
/* Direction d goes backwards. */
bool rnn_is_reverse(const node *n, int64_t d);

#endif
