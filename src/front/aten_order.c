/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * aten_order.c - lowerings that put elements in order or look them up in
 * ordered ones: topk, sort, medians, modes, buckets, sets; and the scans.
 * Where equal elements leave PyTorch's index open, it is the first one.
 */
#include "front/aten.h"

#include <math.h>

static val binary(aten_call *c, op_code op, val a, val b)
{
    return op_binary(c->g, op, a, b);
}

/* Argument 0 with an axis to work along, and that axis. Rank 0 counts as one
 * element of rank 1; *added tells to drop the axis again. */
static val along(aten_call *c, uint32_t arg, uint32_t *axis, bool *added)
{
    val x = arg_tensor(c, 0);

    *added = call_rank(c, x) == 0;
    if (*added)
        x = aten_insert_axis(c, x, 0);
    *axis = arg_axis(c, arg, call_rank(c, x));
    return x;
}

static void ret_without(aten_call *c, val x, bool drop, uint32_t axis)
{
    if (c->st == HULL_OK)
        ret(c, drop ? aten_drop_axis(c, x, axis) : x);
}

static val number_of(aten_call *c, val x, uint32_t axis)
{
    return aten_dim_value(c, call_dims(c, x)[axis], HULL_I64);
}

/* ---- order --------------------------------------------------------------- */

/* (self, k, dim, largest, sorted) */
void aten_topk(aten_call *c)
{
    uint32_t axis;
    bool added;
    val x = along(c, 2, &axis, &added), at = 0;
    dim k = arg_dim(c, 1);

    if (c->st != HULL_OK)
        return;
    if (added && k != 1) {
        call_fail(c, HULL_EFORMAT, "k of a scalar is not 1");
        return;
    }
    x = aten_sorted(c, x, k, axis, arg_bool(c, 3), &at);
    ret_without(c, x, added, axis);
    ret_without(c, at, added, axis);
}

/* sort(self, dim, descending), sort.stable(self, stable, dim, descending),
 * argsort: param is the position of dim, negative: indices only. */
void aten_sort(aten_call *c)
{
    bool values = c->row->param > 0, added;
    uint32_t arg = (uint32_t)(values ? c->row->param : -c->row->param), axis;
    val x = along(c, arg, &axis, &added), at = 0;

    if (c->st != HULL_OK)
        return;
    x = aten_sorted(c, x, call_dims(c, x)[axis], axis, arg_bool(c, arg + 1),
                    &at);
    if (values)
        ret_without(c, x, added, axis);
    ret_without(c, at, added, axis);
}

/* msort(self): along the first axis. */
void aten_msort(aten_call *c)
{
    val x = arg_tensor(c, 0);

    ret(c, call_rank(c, x) == 0 ? x
           : aten_sorted(c, x, call_dims(c, x)[0], 0, false, NULL));
}

/* Element `place` (an index of size 1 along the axis) of values and indices. */
static void ret_place(aten_call *c, val x, val at, val place, uint32_t axis,
                      bool keep)
{
    ret_without(c, aten_take_elements(c, x, place, axis), !keep, axis);
    ret_without(c, aten_take_elements(c, at, place, axis), !keep, axis);
}

/* kthvalue(self, k, dim, keepdim): the k-th smallest, counted from 1. */
void aten_kthvalue(aten_call *c)
{
    uint32_t axis;
    bool added, keep = arg_bool(c, 3);
    val x = along(c, 2, &axis, &added), at = 0;
    dim k = arg_dim(c, 1);

    if (c->st != HULL_OK)
        return;
    x = aten_sorted(c, x, k, axis, false, &at);
    dim from = dim_sub(c->m, k, 1);
    x = aten_slice1(c, x, axis, from, k);
    at = aten_slice1(c, at, axis, from, k);
    ret_without(c, x, added || !keep, axis);
    ret_without(c, at, added || !keep, axis);
}

/* The lower median's place among the sorted elements that are numbers; with
 * `nan_wins`, of the first NaN where there is one. */
static val median_place(aten_call *c, val x, uint32_t axis, bool nan_wins)
{
    int64_t ax = axis;
    val n = number_of(c, x, axis), one = aten_int(c, 1), two = aten_int(c, 2);
    val half = aten_div_to(c, binary(c, OP_sub, n, one), two, "floor");
    dim d[HULL_MAX_RANK];

    for (uint32_t i = 0; i < call_rank(c, x); i++)
        d[i] = i == axis ? 1 : call_dims(c, x)[i];
    if (!dtype_is_float(call_dtype(c, x)))
        return aten_broadcast(c, half, d, call_rank(c, x));
    val is = op_cast(c->g, op_unary(c->g, OP_is_nan, x), HULL_I64);
    val nans = aten_reduce(c, OP_reduce_sum, is, &ax, 1, true);
    val numbers = binary(c, OP_sub, n, nans); /* they stand in front */
    if (nan_wins)
        return aten_where(c, binary(c, OP_gt, nans, aten_int(c, 0)), numbers,
                          half);
    half = aten_div_to(c, binary(c, OP_sub, numbers, one), two, "floor");
    return binary(c, OP_max, half, aten_int(c, 0));
}

/* median.dim, nanmedian.dim (self, dim, keepdim): param 1 = NaN wins */
void aten_median_dim(aten_call *c)
{
    uint32_t axis;
    bool added, keep = arg_bool(c, 2);
    val x = along(c, 1, &axis, &added), at = 0;

    if (c->st != HULL_OK)
        return;
    val place = median_place(c, x, axis, c->row->param != 0);
    x = aten_sorted(c, x, call_dims(c, x)[axis], axis, false, &at);
    ret_place(c, x, at, place, axis, keep && !added);
}

/* median, nanmedian of all elements */
void aten_median(aten_call *c)
{
    val x = aten_flat(c, arg_tensor(c, 0));

    if (c->st != HULL_OK)
        return;
    if (call_dims(c, x)[0] == 0 && dtype_is_float(call_dtype(c, x))) {
        ret(c, aten_number(c, call_dtype(c, x), (double)NAN));
        return;
    }
    val place = median_place(c, x, 0, c->row->param != 0);
    x = aten_sorted(c, x, call_dims(c, x)[0], 0, false, NULL);
    ret(c, aten_drop_axis(c, aten_take_elements(c, x, place, 0), 0));
}

/* mode(self, dim, keepdim): of the sorted elements the first run of the
 * greatest length; the index is that of the run's last one. */
void aten_mode(aten_call *c)
{
    uint32_t axis;
    bool added, keep = arg_bool(c, 2);
    val x = along(c, 1, &axis, &added), at = 0;

    if (c->st != HULL_OK)
        return;
    uint32_t rank = call_rank(c, x);
    int64_t last = rank, ax = rank - 1;
    x = aten_swap(c, x, axis, rank - 1);
    x = aten_sorted(c, x, call_dims(c, x)[rank - 1], rank - 1, false, &at);
    val same = binary(c, OP_eq, aten_insert_axis(c, x, rank),
                      aten_insert_axis(c, x, rank - 1));
    val length = aten_reduce(c, OP_reduce_sum, op_cast(c->g, same, HULL_I64),
                             &last, 1, false);
    val start = aten_reduce(c, OP_arg_max, length, &ax, 1, true);
    val most = aten_reduce(c, OP_reduce_max, length, &ax, 1, true);
    most = binary(c, OP_max, most, aten_int(c, 1)); /* NaN equals nothing */
    val place = binary(c, OP_sub, binary(c, OP_add, start, most),
                       aten_int(c, 1));
    x = aten_swap(c, aten_take_elements(c, x, place, rank - 1), axis, rank - 1);
    at = aten_swap(c, aten_take_elements(c, at, place, rank - 1), axis,
                   rank - 1);
    ret_without(c, x, added || !keep, axis);
    ret_without(c, at, added || !keep, axis);
}

/* ---- look-ups in ordered elements ---------------------------------------- */

/* How many edges [.., m] come before each value [.., k]. A NaN comes behind
 * all, as a binary search finds it. */
static val count_before(aten_call *c, val edges, val values, bool right,
                        hull_dtype dt)
{
    int64_t last = call_rank(c, values);
    val v = aten_insert_axis(c, values, (uint32_t)last);
    uint32_t rank = call_rank(c, edges);

    if (rank > 1)
        edges = aten_insert_axis(c, edges, rank - 1);
    val behind = binary(c, right ? OP_gt : OP_ge, edges, v);
    val n = op_cast(c->g, op_unary(c->g, OP_not, behind), HULL_I64);
    return op_cast(c->g, aten_reduce(c, OP_reduce_sum, n, &last, 1, false),
                   dt);
}

static void look_up(aten_call *c, const aten_value *edges,
                    const aten_value *values, bool right, bool small)
{
    const aten_value *x[] = {edges, values};
    hull_dtype dt = aten_promote(c, x, 2);
    val e = aten_as(c, edges, dt), v = aten_as(c, values, dt);
    uint32_t rank = call_rank(c, e);

    if (rank == 0 || (rank > 1 && rank != call_rank(c, v)))
        call_fail(c, HULL_EFORMAT, "boundaries of unfit rank");
    if (c->st == HULL_OK)
        ret(c, count_before(c, e, v, right, small ? HULL_I32 : HULL_I64));
}

/* bucketize(self, boundaries, out_int32, right) */
void aten_bucketize(aten_call *c)
{
    bool small = arg_bool(c, 2), right = arg_bool(c, 3);

    if (c->st == HULL_OK)
        look_up(c, &c->args[1], &c->args[0], right, small);
}

/* searchsorted(sequence, self, out_int32, right, side, sorter) */
void aten_searchsorted(aten_call *c)
{
    bool small = arg_bool(c, 2), right = arg_bool(c, 3);
    aten_value edges = c->args[0];

    if (!arg_none(c, 4))
        right = str_is(arg_str(c, 4), "right");
    if (!arg_none(c, 5) && call_rank(c, arg_tensor(c, 0)) > 0) {
        val x = arg_tensor(c, 0);

        edges.v = aten_take_elements(c, x, arg_tensor(c, 5),
                                     call_rank(c, x) - 1);
    }
    if (c->st == HULL_OK)
        look_up(c, &edges, &c->args[1], right, small);
}

/* isin(elements, test, assume_unique, invert) */
void aten_isin(aten_call *c)
{
    const aten_value *x[] = {&c->args[0], &c->args[1]};
    hull_dtype dt = aten_promote(c, x, 2);
    val a = aten_as(c, x[0], dt), b = aten_flat(c, aten_as(c, x[1], dt));
    int64_t last = call_rank(c, a);
    bool invert = arg_bool(c, 3);

    if (c->st != HULL_OK)
        return;
    val same = binary(c, OP_eq, aten_insert_axis(c, a, (uint32_t)last), b);
    val is = aten_reduce(c, OP_reduce_any, same, &last, 1, false);
    ret(c, invert ? op_unary(c->g, OP_not, is) : is);
}

/* ---- scans --------------------------------------------------------------- */

static node *scan_node(aten_call *c, op_code op, val x, uint32_t axis)
{
    node *n = node_new(c->g, op);

    node_input(c->g, n, x);
    node_int(c->g, n, "axis", axis);
    return n;
}

/* cumsum, cumprod (self, dim, dtype): of integers in 64 bits */
void aten_cumulate(aten_call *c)
{
    uint32_t axis;
    bool added;
    val x = along(c, 1, &axis, &added);
    hull_dtype dt = call_dtype(c, x);

    dt = arg_dtype(c, 2, dtype_is_float(dt) ? dt : HULL_I64);
    x = op_cast(c->g, x, dt);
    if (c->st != HULL_OK)
        return;
    bool flag = dt == HULL_BOOL; /* in place: the sum is a bool again */
    x = flag ? op_cast(c->g, x, HULL_I64) : x;
    x = node_add(c->g, scan_node(c, (op_code)c->row->param, x, axis));
    ret_without(c, flag ? op_cast(c->g, x, dt) : x, added, axis);
}

/* cummax, cummin (self, dim) */
void aten_cum_extreme(aten_call *c)
{
    uint32_t axis;
    bool added;
    val x = along(c, 1, &axis, &added);
    hull_dtype dt = call_dtype(c, x);

    if (c->st != HULL_OK)
        return;
    bool flag = dt == HULL_BOOL;
    node *n = scan_node(c, (op_code)c->row->param,
                        flag ? op_cast(c->g, x, HULL_U8) : x, axis);
    val y = node_add(c->g, n);
    if (y) {
        ret_without(c, flag ? op_cast(c->g, y, dt) : y, added, axis);
        ret_without(c, n->out[1], added, axis);
    }
}

void aten_logcumsumexp(aten_call *c)
{
    uint32_t axis;
    bool added;
    val x = along(c, 1, &axis, &added);

    if (c->st == HULL_OK)
        ret_without(c, node_add(c->g, scan_node(c, OP_cum_logsumexp, x, axis)),
                    added, axis);
}
