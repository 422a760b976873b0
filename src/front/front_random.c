/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * front_random.c - random operators of both formats, from uniform and normal
 * numbers of the session's generator.
 */
#include "front/front.h"

val front_random(front *f, bool normal, hull_dtype dt, const dim *d,
                 uint32_t rank, const int64_t *seed)
{
    node *n = node_new(f->g, OP_random);

    node_dims(f->g, n, "shape", d, rank);
    node_dtype(f->g, n, "dtype", dt);
    node_bool(f->g, n, "normal", normal);
    if (seed != NULL)
        node_int(f->g, n, "seed", *seed);
    return node_add(f->g, n);
}

val front_scaled(front *f, val x, double scale, double offset)
{
    hull_dtype dt = x != 0 ? graph_type(f->g, x)->dtype : HULL_F32;

    if (scale != 1.0)
        x = op_binary(f->g, OP_mul, x, op_scalar(f->g, dt, scale));
    if (offset != 0.0)
        x = op_binary(f->g, OP_add, x, op_scalar(f->g, dt, offset));
    return x;
}

val front_bernoulli(front *f, val p, const int64_t *seed)
{
    const type *t = p != 0 ? graph_type(f->g, p) : NULL;

    if (t == NULL)
        return 0;
    return op_binary(f->g, OP_lt,
                     front_random(f, false, t->dtype, t->dims, t->rank, seed),
                     p);
}

/* Kept elements grow by 1 / (1 - ratio); with ratio 1 nothing is kept. */
val front_dropout(front *f, val x, val ratio, const int64_t *seed,
                  val *out_mask)
{
    const type *t = x != 0 ? graph_type(f->g, x) : NULL;
    val u, kept, one, zero;
    hull_dtype dt;

    *out_mask = 0;
    if (t == NULL)
        return 0;
    dt = t->dtype;
    u = front_random(f, false, HULL_F32, t->dims, t->rank, seed);
    ratio = op_cast(f->g, ratio, HULL_F32);
    *out_mask = op_binary(f->g, OP_ge, u, ratio);
    one = op_scalar(f->g, HULL_F32, 1.0);
    kept = op_binary(f->g, OP_sub, one, ratio);
    kept = op_cast(f->g, op_binary(f->g, OP_div, one, kept), dt);
    zero = op_scalar(f->g, dt, 0.0);
    return op_where(f->g, *out_mask, op_binary(f->g, OP_mul, x, kept), zero);
}

/* The running sums of softmax(logits) [.., k]; a draw falls behind as many of
 * them as it is not below. */
val front_multinomial(front *f, val logits, dim samples, const int64_t *seed)
{
    const type *t = logits != 0 ? graph_type(f->g, logits) : NULL;
    dim d[HULL_MAX_RANK];
    const int64_t last[1] = {-1};
    int64_t grow[1];
    node *n;
    val sums, u, below;

    if (t == NULL || t->rank == 0 || t->rank + 1 > HULL_MAX_RANK) {
        (void)ir_fail(f->m, fail(HULL_ESHAPE, "probabilities of rank %u",
                                 t != NULL ? t->rank : 0));
        return 0;
    }
    uint32_t rank = t->rank;
    for (uint32_t i = 0; i < rank; i++)
        d[i] = t->dims[i];
    d[rank - 1] = samples;
    logits = op_cast(f->g, logits, HULL_F64);
    n = node_new(f->g, OP_softmax);
    node_input(f->g, n, logits);
    node_int(f->g, n, "axis", -1);
    sums = node_add(f->g, n);
    n = node_new(f->g, OP_cumsum);
    node_input(f->g, n, sums);
    node_int(f->g, n, "axis", rank - 1);
    sums = node_add(f->g, n);
    u = front_random(f, false, HULL_F64, d, rank, seed);
    grow[0] = rank;
    u = lower_axes_to_reshape(f, u, grow, 1, true);       /* [.., s, 1] */
    grow[0] = rank - 1;
    sums = lower_axes_to_reshape(f, sums, grow, 1, true); /* [.., 1, k] */
    below = op_cast(f->g, op_binary(f->g, OP_le, sums, u), HULL_I64);
    n = node_new(f->g, OP_reduce_sum);
    node_input(f->g, n, below);
    node_ints(f->g, n, "axes", last, 1);
    below = node_add(f->g, n);
    /* Rounding may leave the last sum below 1. */
    t = graph_type(f->g, logits);
    return op_binary(f->g, OP_min, below,
                     op_reshape(f->g,
                                op_dims(f->g, (dim[1]){
                                    dim_sub(f->m, t->dims[rank - 1], 1)}, 1),
                                NULL, 0));
}
