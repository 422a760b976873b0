/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_loss.c - lowerings of the losses NegativeLogLikelihoodLoss and
 * SoftmaxCrossEntropyLoss: the score of each target's class, weighted by class,
 * with one class that counts for nothing.
 */
#include "front/onnx_lower.h"

#include <inttypes.h>

/* Scores [n,c,...] are logarithms; targets [n,...]. */
typedef struct loss {
    val score, target, weight;
    str reduction;
} loss;

static val take(onnx_call *c, op_code op, val x, val index, int64_t axis)
{
    node *n = node_new(c->g, op);

    node_input(c->g, n, x);
    node_input(c->g, n, index);
    node_int(c->g, n, "axis", axis);
    return node_add(c->g, n);
}

static val sum_all(onnx_call *c, val x)
{
    return onnx_reduce(c, OP_reduce_sum, x, NULL, 0, false);
}

static hull_status lower_loss(onnx_call *c, const loss *l, val *out)
{
    const type *x = onnx_type(c, l->score), *t = onnx_type(c, l->target);
    int64_t axis[1] = {1};
    val zero = 0, valid = 0, target = 0, w = 0;

    if (!x || !t)
        return ir_status(c->m);
    if (x->rank < 2 || t->rank + 1 != x->rank)
        return fail(HULL_ESHAPE, "scores of rank %" PRIu32 " and targets of "
                    "rank %" PRIu32 ", want one less", x->rank, t->rank);
    type like = *t;
    hull_dtype dt = x->dtype;
    target = op_cast(c->g, l->target, HULL_I64);
    zero = op_scalar(c->g, dt, 0.0);
    if (onnx_has(c, "ignore_index")) {
        val ignored = op_scalar_i64(c->g, HULL_I64,
                                    onnx_int(c, "ignore_index", 0));
        valid = op_binary(c->g, OP_ne, target, ignored);
        target = op_where(c->g, valid, target,
                          op_scalar_i64(c->g, HULL_I64, 0));
    }
    val index = lower_axes_to_reshape(c->f, target, axis, 1, true);
    val y = take(c, OP_gather_elements, l->score, index, 1);
    y = op_unary(c->g, OP_neg, op_reshape(c->g, y, like.dims, like.rank));
    w = l->weight ? take(c, OP_gather, l->weight, target, 0)
                  : op_expand(c->g, op_scalar(c->g, dt, 1.0), like.dims,
                              like.rank);
    if (l->weight)
        y = op_binary(c->g, OP_mul, y, w);
    if (valid) {
        y = op_where(c->g, valid, y, zero);
        w = op_where(c->g, valid, w, zero);
    }
    if (str_is(l->reduction, "none"))
        *out = y;
    else if (str_is(l->reduction, "sum"))
        *out = sum_all(c, y);
    else if (str_is(l->reduction, "mean"))
        *out = op_binary(c->g, OP_div, sum_all(c, y), sum_all(c, w));
    else
        return fail(HULL_EFORMAT, "attribute 'reduction' is '%.*s', want "
                    "none, sum or mean", STR_ARG(l->reduction));
    return HULL_OK;
}

hull_status onnx_nll_loss(onnx_call *c)
{
    loss l = {.score = c->in[0], .target = c->in[1], .weight = onnx_in(c, 2),
              .reduction = onnx_str(c, "reduction", "mean")};

    return lower_loss(c, &l, &c->out[0]);
}

hull_status onnx_softmax_loss(onnx_call *c)
{
    loss l = {.score = onnx_along(c, c->in[0], OP_log_softmax, 1),
              .target = c->in[1], .weight = onnx_in(c, 2),
              .reduction = onnx_str(c, "reduction", "mean")};

    if (onnx_wants(c, 1))
        c->out[1] = l.score;
    return lower_loss(c, &l, &c->out[0]);
}
