/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * aten_dynamic.c - lowerings of operators whose results have as many elements
 * as the data say. Their sizes are symbols that the run binds.
 */
#include "front/aten.h"

#include <string.h>

/* Coordinates of the elements that are not 0: i64[rank, n]. */
static val places(aten_call *c, val x)
{
    return front_settle(c->f, op_unary(c->g, OP_nonzero, x));
}

/* Row i of [rank, n] as a vector. */
static val row_of(aten_call *c, val at, uint32_t i)
{
    return aten_drop_axis(c, aten_slice1(c, at, 0, i, (dim)i + 1), 0);
}

uint32_t aten_mask_rows(aten_call *c, val mask, val *out)
{
    uint32_t rank = call_rank(c, mask);

    if (rank == 0) {
        call_missing(c, "a mask of rank 0 as index");
        return 0;
    }
    val at = places(c, mask);
    for (uint32_t i = 0; i < rank; i++)
        out[i] = row_of(c, at, i);
    return ir_status(c->m) == HULL_OK ? rank : 0;
}

/* nonzero, argwhere: [n, rank]; nonzero_numpy: rank vectors (param 1) */
void aten_nonzero(aten_call *c)
{
    static const int64_t order[] = {1, 0};
    val x = arg_tensor(c, 0), rows[HULL_MAX_RANK];

    if (c->st != HULL_OK)
        return;
    if (call_rank(c, x) == 0) {
        call_missing(c, "of one number");
        return;
    }
    if (c->row->param == 0) {
        ret(c, op_transpose(c->g, places(c, x), order, 2));
        return;
    }
    uint32_t n = aten_mask_rows(c, x, rows);
    val *list = arena_memdup(&c->f->a, rows, (n + 1) * sizeof *list);
    if (c->st == HULL_OK && list)
        ret_list(c, list, n);
}

static val flat(aten_call *c, val x, const dim *d, uint32_t rank)
{
    dim n = dim_product(c->m, d, rank);

    return op_reshape(c->g, aten_broadcast(c, x, d, rank), &n, 1);
}

static val take(aten_call *c, val x, val at, uint32_t axis)
{
    node *n = node_new(c->g, OP_gather);

    node_input(c->g, n, x);
    node_input(c->g, n, at);
    node_int(c->g, n, "axis", axis);
    return node_add(c->g, n);
}

/* (self, mask), broadcast */
void aten_masked_select(aten_call *c)
{
    val x = arg_tensor(c, 0), mask = arg_tensor(c, 1), row[HULL_MAX_RANK];
    dim d[HULL_MAX_RANK];

    if (c->st != HULL_OK)
        return;
    uint32_t a = call_rank(c, x), b = call_rank(c, mask);
    uint32_t rank = a > b ? a : b;
    for (uint32_t i = 0; i < rank; i++) { /* from the last axis on */
        dim da = i < a ? call_dims(c, x)[a - 1 - i] : 1;
        dim db = i < b ? call_dims(c, mask)[b - 1 - i] : 1;

        d[rank - 1 - i] = dim_bcast(c->m, da, db);
    }
    x = flat(c, x, d, rank);
    if (aten_mask_rows(c, flat(c, mask, d, rank), row) == 1)
        ret(c, take(c, x, row[0], 0));
}

/* Element i as often as repeats[i] says: how many of the running sums each
 * place has behind it. */
static val repeated(aten_call *c, val repeats)
{
    const int64_t axis = 1;
    node *sum = node_new(c->g, OP_cumsum);
    uint32_t n_out = 0;
    dim n = 0;

    repeats = op_cast(c->g, repeats, HULL_I64);
    node_input(c->g, sum, repeats);
    node_int(c->g, sum, "axis", 0);
    val ends = node_add(c->g, sum);
    val total = aten_reduce(c, OP_reduce_sum, repeats, NULL, 0, false);
    hull_status st = front_bind(c->f, total, true, &n, 1, &n_out);
    if (st != HULL_OK) {
        call_fail(c, st, "the sum of repeats");
        return 0;
    }
    val at = aten_insert_axis(c, aten_iota(c, n, HULL_I64), 1);
    val passed = op_binary(c->g, OP_le, aten_insert_axis(c, ends, 0), at);
    return aten_reduce(c, OP_reduce_sum, op_cast(c->g, passed, HULL_I64),
                       &axis, 1, false);
}

/* repeat_interleave.Tensor(repeats) */
void aten_repeat_counts(aten_call *c)
{
    val repeats = arg_tensor(c, 0);

    if (c->st == HULL_OK && call_rank(c, repeats) != 1)
        call_fail(c, HULL_EFORMAT, "repeats of a rank that is not 1");
    if (c->st != HULL_OK)
        return;
    val at = repeated(c, repeats);
    if (c->st == HULL_OK)
        ret(c, at);
}

/* repeat_interleave.self_Tensor(self, repeats, dim) */
void aten_repeat_each(aten_call *c)
{
    val x = arg_tensor(c, 0), repeats = arg_tensor(c, 1);
    uint32_t axis = 0;

    if (arg_none(c, 2))
        x = flat(c, x, call_dims(c, x), call_rank(c, x));
    else
        axis = arg_axis(c, 2, call_rank(c, x));
    if (c->st != HULL_OK || call_rank(c, x) == 0)
        return;
    val at = repeated(c, flat(c, repeats, &call_dims(c, x)[axis], 1));
    if (c->st == HULL_OK)
        ret(c, take(c, x, at, axis));
}

/* _unique2(self, sorted, return_inverse, return_counts), unique_dim with the
 * axis as argument 1: param 1 */
void aten_unique(aten_call *c)
{
    uint32_t with_axis = c->row->param != 0 ? 1 : 0;
    val x = arg_tensor(c, 0);
    node *n = node_new(c->g, OP_unique);

    if (c->st != HULL_OK)
        return;
    if (dtype_is_float(call_dtype(c, x))) { /* NaNs would be one, not many */
        call_missing(c, "of floats");
        return;
    }
    node_input(c->g, n, x);
    if (with_axis)
        node_int(c->g, n, "axis", arg_axis(c, 1, call_rank(c, x)));
    if (c->st != HULL_OK || !node_add(c->g, n))
        return;
    ret(c, n->out[0]);
    if (!arg_bool(c, 2 + with_axis))
        ret_unread(c, "the inverse of unique was not asked for");
    else if (with_axis)
        ret(c, n->out[2]);
    else
        ret(c, op_reshape(c->g, n->out[2], call_dims(c, x), call_rank(c, x)));
    if (arg_bool(c, 3 + with_axis))
        ret(c, n->out[3]);
    else
        ret_unread(c, "counts of unique were not asked for");
}
