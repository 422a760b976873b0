/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * aten_bag.c - lowerings of embedding bags and of distances between rows.
 */
#include "front/aten.h"

#include <math.h>
#include <string.h>

static val binary(aten_call *c, op_code op, val a, val b)
{
    return op_binary(c->g, op, a, b);
}

/* ---- embedding bags ------------------------------------------------------ */

enum { BAG_SUM, BAG_MEAN, BAG_MAX };

typedef struct bags {
    val rows;    /* [l, d]: what is put into bags */
    val of;      /* [l, 1] the bag of each row */
    val counted; /* [l, 1] bool: not padding; 0 = all are */
    dim n, d;
    int64_t mode;
} bags;

/* Row i belongs to the last bag that starts at or before it. */
static val bag_of_rows(aten_call *c, val offsets, dim rows)
{
    int64_t axis = 1;
    val i = aten_insert_axis(c, aten_iota(c, rows, HULL_I64), 1);
    val started = binary(c, OP_le, op_cast(c->g, offsets, HULL_I64), i);
    val n = aten_reduce(c, OP_reduce_sum, op_cast(c->g, started, HULL_I64),
                        &axis, 1, true);

    return binary(c, OP_sub, n, aten_int(c, 1));
}

static val fill_bags(aten_call *c, const bags *b, val what, dim d,
                     double start, const char *reduce)
{
    dim rows = call_dims(c, what)[0];
    dim shape[] = {b->n, d}, each[] = {rows, d};
    val empty = aten_full(c, aten_number(c, call_dtype(c, what), start), shape,
                          2);

    return aten_put_elements(c, empty, aten_broadcast(c, b->of, each, 2),
                             aten_broadcast(c, what, each, 2), 0, reduce);
}

static val bag_result(aten_call *c, const bags *b)
{
    hull_dtype dt = call_dtype(c, b->rows);
    bool max = b->mode == BAG_MAX;
    double fill = max ? -HUGE_VAL : 0;
    val rows = b->rows;

    if (b->counted)
        rows = aten_where(c, b->counted, rows, aten_number(c, dt, fill));
    val y = fill_bags(c, b, rows, b->d, fill, max ? "max" : "add");
    if (b->mode == BAG_SUM)
        return y;
    dim one[] = {call_dims(c, rows)[0], 1};
    val ones = b->counted ? op_cast(c->g, b->counted, dt)
                          : aten_full(c, aten_number(c, dt, 1), one, 2);
    val n = fill_bags(c, b, ones, 1, 0, "add");
    if (max) /* an empty bag is 0 */
        return aten_where(c, binary(c, OP_gt, n, aten_number(c, dt, 0)), y,
                          aten_number(c, dt, 0));
    return binary(c, OP_div, y, aten_clamp(c, n, 1, HUGE_VAL));
}

/* (weight, indices, offsets, scale_grad, mode, sparse, per_sample_weights,
 * include_last_offset, padding_idx) */
void aten_embedding_bag(aten_call *c)
{
    static const char *const unread =
        "what embedding_bag saves for its gradient is not computed";
    val w = arg_tensor(c, 0), at = arg_tensor(c, 1), offsets = arg_tensor(c, 2);
    val per = arg_optional(c, 6);
    hull_dtype to = call_dtype(c, w), dt = to;
    int64_t padding = arg_none(c, 8) ? -1 : arg_int(c, 8);
    bags b = {.mode = arg_int(c, 4)};

    if (call_rank(c, w) != 2 || call_rank(c, at) != 1 ||
        call_rank(c, offsets) != 1)
        call_fail(c, HULL_EFORMAT, "operands of unfit rank");
    if (b.mode < BAG_SUM || b.mode > BAG_MAX || (per && b.mode != BAG_SUM))
        call_fail(c, HULL_EFORMAT, "mode of a bag");
    if (c->st != HULL_OK)
        return;
    front_is_parameter(c->f, w);
    if (dt == HULL_F16 || dt == HULL_BF16)
        dt = HULL_F32;
    b.n = call_dims(c, offsets)[0];
    b.d = call_dims(c, w)[1];
    if (arg_bool(c, 7)) {
        b.n = dim_sub(c->m, b.n, 1);
        offsets = aten_slice1(c, offsets, 0, 0, b.n);
    }
    dim rows = call_dims(c, at)[0];
    b.of = bag_of_rows(c, offsets, rows);
    b.rows = op_cast(c->g, aten_take(c, w, at, 0), dt);
    if (per)
        b.rows = binary(c, OP_mul, b.rows,
                        aten_insert_axis(c, op_cast(c->g, per, dt), 1));
    if (padding >= 0)
        b.counted = aten_insert_axis(
            c, binary(c, OP_ne, op_cast(c->g, at, HULL_I64),
                      aten_int(c, padding)), 1);
    ret(c, op_cast(c->g, bag_result(c, &b), to));
    for (int i = 0; i < 3; i++)
        ret_unread(c, unread);
}

/* ---- distances ----------------------------------------------------------- */

/* |d| over the last axis. */
static val p_norm(aten_call *c, val d, double p)
{
    int64_t axis = call_rank(c, d) - 1;
    hull_dtype dt = call_dtype(c, d);
    val a = op_unary(c->g, OP_abs, d);

    if (p <= 0) {
        val some = binary(c, OP_ne, d, aten_number(c, dt, 0));

        return aten_reduce(c, OP_reduce_sum, op_cast(c->g, some, dt), &axis, 1,
                           false);
    }
    if (isinf(p)) { /* of no elements 0 */
        if (call_dims(c, d)[axis] == 0)
            return aten_reduce(c, OP_reduce_sum, a, &axis, 1, false);
        return aten_reduce(c, OP_reduce_max, a, &axis, 1, false);
    }
    if (p <= 1 && p >= 1)
        return aten_reduce(c, OP_reduce_sum, a, &axis, 1, false);
    bool two = p <= 2 && p >= 2;
    val s = two ? binary(c, OP_mul, d, d)
                : binary(c, OP_pow, a, aten_number(c, dt, p));
    s = aten_reduce(c, OP_reduce_sum, s, &axis, 1, false);
    return two ? op_unary(c->g, OP_sqrt, s)
               : binary(c, OP_pow, s, aten_number(c, dt, 1 / p));
}

static val wide(aten_call *c, val x)
{
    hull_dtype dt = call_dtype(c, x);

    return dt == HULL_F16 || dt == HULL_BF16 ? op_cast(c->g, x, HULL_F32) : x;
}

/* Distances of all pairs of rows: (x1, x2, p, mode) */
void aten_cdist(aten_call *c)
{
    val a = arg_tensor(c, 0), b = arg_tensor(c, 1);
    uint32_t ra = call_rank(c, a), rb = call_rank(c, b);
    double p = arg_num(c, 2);
    hull_dtype dt = call_dtype(c, a);

    if (ra < 2 || rb < 2)
        call_fail(c, HULL_EFORMAT, "operand of rank below 2");
    if (!(p >= 0))
        call_fail(c, HULL_EFORMAT, "p is negative");
    if (c->st != HULL_OK)
        return;
    val d = binary(c, OP_sub, aten_insert_axis(c, wide(c, a), ra - 1),
                   aten_insert_axis(c, wide(c, b), rb - 2));
    ret(c, op_cast(c->g, p_norm(c, d, p), dt));
}

/* pdist(self, p): every pair of rows i < j. */
void aten_pdist(aten_call *c)
{
    val x = arg_tensor(c, 0);
    double p = arg_num(c, 1);
    int64_t n = 0, count = 0;

    if (call_rank(c, x) != 2 || !(p >= 0))
        call_fail(c, HULL_EFORMAT, "operand is no matrix, or p is negative");
    if (c->st != HULL_OK)
        return;
    if (!dim_is_int(c->m, call_dims(c, x)[0], &n) || n > 2048) {
        call_missing(c, "of a symbolic number of rows, or more than 2048");
        return;
    }
    int64_t *at = arena_array(&c->f->a, (size_t)(n * n + 1), sizeof *at);
    if (!at) {
        call_fail(c, HULL_ENOMEM, "pairs");
        return;
    }
    for (int side = 0; side < 2; side++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = i + 1; j < n; j++)
                at[count++] = side ? j : i;
    uint32_t half = (uint32_t)(count / 2);
    val a = aten_take(c, wide(c, x), aten_ints(c, at, half), 0);
    val b = aten_take(c, wide(c, x), aten_ints(c, at + half, half), 0);
    ret(c, op_cast(c->g, p_norm(c, binary(c, OP_sub, a, b), p),
                   call_dtype(c, x)));
}

/* pairwise_distance(x1, x2, p, eps, keepdim) */
void aten_pairwise_distance(aten_call *c)
{
    const aten_value *x[] = {&c->args[0], &c->args[1]};
    hull_dtype dt = aten_promote(c, x, 2);
    val d = binary(c, OP_sub, wide(c, aten_as(c, x[0], dt)),
                   wide(c, aten_as(c, x[1], dt)));
    double p = arg_num(c, 2), eps = arg_num(c, 3);
    bool keep = arg_bool(c, 4);
    uint32_t rank = call_rank(c, d);

    if (rank == 0 || !(p >= 0))
        call_fail(c, HULL_EUNSUPPORTED, "operand of rank 0 or negative p");
    if (c->st != HULL_OK)
        return;
    d = binary(c, OP_add, d, aten_number(c, call_dtype(c, d), eps));
    d = op_cast(c->g, p_norm(c, d, p), dt);
    ret(c, keep ? aten_insert_axis(c, d, rank - 1) : d);
}

/* dist(self, other, p): of everything. */
void aten_dist(aten_call *c)
{
    const aten_value *x[] = {&c->args[0], &c->args[1]};
    hull_dtype dt = aten_promote(c, x, 2);
    double p = arg_num(c, 2);
    val d = binary(c, OP_sub, wide(c, aten_as(c, x[0], dt)),
                   wide(c, aten_as(c, x[1], dt)));

    if (!(p >= 0))
        call_fail(c, HULL_EUNSUPPORTED, "negative p");
    if (c->st == HULL_OK)
        ret(c, op_cast(c->g, p_norm(c, aten_flat(c, d), p), dt));
}
