/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * aten_shape.c - lowerings that give the same elements another shape or order,
 * or a part of them: views, slices, splits.
 */
#include "front/aten.h"

#include <string.h>

static bool is_int(const aten_call *c, dim d, int64_t want)
{
    int64_t v = 0;

    return dim_is_int(c->m, d, &v) && v == want;
}

/* The size that is -1 becomes what is left of `numel`. */
static void fill_size(aten_call *c, dim numel, dim *d, uint32_t n)
{
    dim rest = 1;
    uint32_t open = n;
    int64_t v = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (!is_int(c, d[i], -1))
            rest = dim_mul(c->m, rest, d[i]);
        else if (open != n)
            call_fail(c, HULL_EFORMAT, "two sizes are -1");
        else
            open = i;
    }
    if (open == n || c->st != HULL_OK)
        return;
    if (dim_is_int(c->m, rest, &v) && v <= 0)
        call_fail(c, HULL_EFORMAT, "a size of -1 among sizes of no elements");
    else
        d[open] = dim_div(c->m, numel, rest);
}

static val reshape(aten_call *c, val x, const dim *d, uint32_t n)
{
    const type *t = call_type(c, x);
    bool same = t->rank == n;

    if (c->st != HULL_OK)
        return 0;
    for (uint32_t i = 0; same && i < n; i++)
        same = t->dims[i] != DIM_UNKNOWN && t->dims[i] == d[i];
    return same ? x : op_reshape(c->g, x, d, n);
}

void aten_reshape(aten_call *c)
{
    val x = arg_tensor(c, 0);
    dim d[HULL_MAX_RANK];
    uint32_t n = arg_dims(c, 1, d, HULL_MAX_RANK);

    fill_size(c, type_numel(c->m, call_type(c, x)), d, n);
    ret(c, reshape(c, x, d, n));
}

void aten_reshape_as(aten_call *c)
{
    val x = arg_tensor(c, 0), y = arg_tensor(c, 1);

    ret(c, reshape(c, x, call_dims(c, y), call_rank(c, y)));
}

void aten_flatten(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t rank = call_rank(c, x), n = 0;
    dim d[HULL_MAX_RANK], one = 1;

    if (rank == 0) {
        ret(c, reshape(c, x, &one, 1));
        return;
    }
    uint32_t from = arg_axis(c, 1, rank), to = arg_axis(c, 2, rank);
    for (uint32_t i = 0; i < rank; i++) {
        dim size = call_dims(c, x)[i];

        if (i > from && i <= to)
            d[n - 1] = dim_mul(c->m, d[n - 1], size);
        else
            d[n++] = size;
    }
    ret(c, reshape(c, x, d, n));
}

void aten_unflatten(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t rank = call_rank(c, x), axis = arg_axis(c, 1, rank), n = 0;
    dim d[2 * HULL_MAX_RANK], part[HULL_MAX_RANK];
    uint32_t n_part = arg_dims(c, 2, part, HULL_MAX_RANK);

    if (c->st != HULL_OK)
        return;
    fill_size(c, call_dims(c, x)[axis], part, n_part);
    for (uint32_t i = 0; i < rank; i++) {
        if (i != axis) {
            d[n++] = call_dims(c, x)[i];
            continue;
        }
        memcpy(d + n, part, n_part * sizeof *d);
        n += n_part;
    }
    if (n > HULL_MAX_RANK)
        call_fail(c, HULL_EUNSUPPORTED, "the rank becomes too large");
    ret(c, reshape(c, x, d, n));
}

/* Axes of size 1 go. A symbolic size is none: exporters specialise 1. */
static void squeeze(aten_call *c, const int64_t *axes, uint32_t n)
{
    val x = arg_tensor(c, 0);
    uint32_t rank = call_rank(c, x), left = 0;
    dim d[HULL_MAX_RANK];

    for (uint32_t i = 0; i < rank; i++) {
        bool named = false;

        for (uint32_t k = 0; k < n; k++)
            named |= axes[k] == i;
        if (!named || !is_int(c, call_dims(c, x)[i], 1))
            d[left++] = call_dims(c, x)[i];
    }
    ret(c, reshape(c, x, d, left));
}

void aten_squeeze(aten_call *c)
{
    int64_t axes[HULL_MAX_RANK];
    uint32_t rank = call_rank(c, arg_tensor(c, 0)), n;

    if (c->n_args == 1) {
        for (n = 0; n < rank; n++)
            axes[n] = n;
    } else { /* no dims: nothing goes */
        n = arg_empty(c, 1) ? 0 : arg_axes(c, 1, rank, axes);
    }
    if (c->st == HULL_OK)
        squeeze(c, axes, n);
}

void aten_unsqueeze(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t axis = arg_axis(c, 1, call_rank(c, x) + 1);

    if (c->st == HULL_OK)
        ret(c, aten_insert_axis(c, x, axis));
}

static val permute(aten_call *c, val x, const int64_t *perm, uint32_t n)
{
    bool same = true;

    for (uint32_t i = 0; i < n; i++)
        same &= perm[i] == i;
    return same ? x : op_transpose(c->g, x, perm, n);
}

void aten_permute(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t rank = call_rank(c, x);
    int64_t perm[HULL_MAX_RANK];
    uint32_t n = arg_ints(c, 1, perm, HULL_MAX_RANK);

    if (n != rank)
        call_fail(c, HULL_EFORMAT, "dims do not fit the rank");
    for (uint32_t i = 0; i < n; i++)
        if (perm[i] < 0)
            perm[i] += rank;
    if (c->st == HULL_OK)
        ret(c, permute(c, x, perm, n));
}

void aten_transpose(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t rank = call_rank(c, x);

    if (rank == 0) {
        ret(c, x);
        return;
    }
    uint32_t a = arg_axis(c, 1, rank), b = arg_axis(c, 2, rank);
    if (c->st == HULL_OK)
        ret(c, aten_swap(c, x, a, b));
}

/* t, mT: the last two axes. */
void aten_matrix_transpose(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t rank = call_rank(c, x);

    ret(c, rank < 2 ? x : aten_swap(c, x, rank - 2, rank - 1));
}

void aten_reverse_axes(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t rank = call_rank(c, x);
    int64_t perm[HULL_MAX_RANK];

    for (uint32_t i = 0; i < rank; i++)
        perm[i] = rank - 1 - i;
    ret(c, permute(c, x, perm, rank));
}

void aten_movedim(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t rank = call_rank(c, x);
    uint32_t from = arg_axis(c, 1, rank), to = arg_axis(c, 2, rank), at = 0;
    int64_t perm[HULL_MAX_RANK];

    if (c->st != HULL_OK)
        return;
    for (uint32_t i = 0; i < rank; i++) {
        if (i == to) {
            perm[i] = from;
            continue;
        }
        at += at == from;
        perm[i] = at++;
    }
    ret(c, permute(c, x, perm, rank));
}

static void expand(aten_call *c, val x, dim *d, uint32_t n)
{
    uint32_t rank = call_rank(c, x);

    if (n < rank)
        call_fail(c, HULL_EFORMAT, "fewer sizes than the operand's rank");
    if (c->st != HULL_OK)
        return;
    for (uint32_t i = 0; i < rank; i++)
        if (is_int(c, d[n - rank + i], -1))
            d[n - rank + i] = call_dims(c, x)[i];
    ret(c, aten_broadcast(c, x, d, n));
}

void aten_expand(aten_call *c)
{
    val x = arg_tensor(c, 0);
    dim d[HULL_MAX_RANK];

    expand(c, x, d, arg_dims(c, 1, d, HULL_MAX_RANK));
}

void aten_expand_as(aten_call *c)
{
    val x = arg_tensor(c, 0), y = arg_tensor(c, 1);
    dim d[HULL_MAX_RANK];
    uint32_t n = call_rank(c, y);

    if (n)
        memcpy(d, call_dims(c, y), n * sizeof *d);
    expand(c, x, d, n);
}

/* ---- parts --------------------------------------------------------------- */

/* [start, end) of an axis; bounds as Python's. */
static val take_range(aten_call *c, val x, uint32_t axis, dim start, dim end,
                      int64_t step)
{
    dim size = call_dims(c, x)[axis];
    int64_t s = 0, e = 0, n = 0;

    if (is_int(c, end, INT64_MAX))
        end = size;
    if (dim_is_int(c->m, size, &n) && dim_is_int(c->m, start, &s) &&
        dim_is_int(c->m, end, &e)) {
        s = s < 0 ? s + n : s;
        e = e < 0 ? e + n : e;
        s = s < 0 ? 0 : s > n ? n : s;
        e = e < s ? s : e > n ? n : e;
        start = s;
        end = e;
    }
    if (step == 1)
        return aten_slice1(c, x, axis, start, end);
    return op_slice(c->g, x, axis, start, end, step);
}

void aten_slice(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t axis = arg_axis(c, 1, call_rank(c, x));
    dim start = arg_none(c, 2) ? 0 : arg_dim(c, 2);
    dim end = arg_none(c, 3) ? INT64_MAX : arg_dim(c, 3);
    int64_t step = arg_int(c, 4);

    if (step < 1)
        call_fail(c, HULL_EFORMAT, "step is not positive");
    if (c->st == HULL_OK)
        ret(c, take_range(c, x, axis, start, end, step));
}

static val select_at(aten_call *c, val x, uint32_t axis, dim index)
{
    int64_t v = 0;

    if (dim_is_int(c->m, index, &v) && v < 0)
        index = dim_add(c->m, call_dims(c, x)[axis], index);
    val s = op_slice(c->g, x, axis, index, dim_add(c->m, index, 1), 1);
    return aten_drop_axis(c, s, axis);
}

void aten_select(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t axis = arg_axis(c, 1, call_rank(c, x));
    dim index = arg_dim(c, 2);

    if (c->st == HULL_OK)
        ret(c, select_at(c, x, axis, index));
}

void aten_narrow(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t axis = arg_axis(c, 1, call_rank(c, x));
    dim start = arg_dim(c, 2), length = arg_dim(c, 3);
    int64_t v = 0;

    if (c->st != HULL_OK)
        return;
    if (dim_is_int(c->m, start, &v) && v < 0)
        start = dim_add(c->m, call_dims(c, x)[axis], start);
    ret(c, aten_slice1(c, x, axis, start, dim_add(c->m, start, length)));
}

static val *parts_room(aten_call *c, int64_t n)
{
    val *v = n >= 0 && n <= 65536
                 ? arena_array(&c->f->a, (size_t)n + 1, sizeof *v) : NULL;

    if (!v)
        call_fail(c, HULL_EUNSUPPORTED, "too many parts");
    return v;
}

/* n parts of `each` elements, the last one shorter. */
static void split_even(aten_call *c, val x, uint32_t axis, int64_t n, dim each)
{
    val *v = parts_room(c, n);
    dim size, at = 0;

    if (c->st != HULL_OK)
        return;
    size = call_dims(c, x)[axis];
    for (int64_t i = 0; i < n; i++) {
        dim end = i == n - 1 ? size : dim_add(c->m, at, each);

        v[i] = aten_slice1(c, x, axis, at, end);
        at = end;
    }
    ret_list(c, v, (uint32_t)n);
}

/* param: 0 = size of a part, 1 = number of parts (chunk). */
void aten_split(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t axis = arg_axis(c, 2, call_rank(c, x));
    dim each = arg_dim(c, 1), count;
    int64_t n = 0;

    if (c->st != HULL_OK)
        return;
    if (each <= 0) {
        call_fail(c, HULL_EFORMAT, "parts of no elements");
        return;
    }
    dim size = call_dims(c, x)[axis];
    if (c->row->param)
        each = dim_ceil_div(c->m, size, each);
    count = each == 0 ? 1 : dim_ceil_div(c->m, size, each);
    if (is_int(c, size, 0))
        count = c->row->param ? arg_dim(c, 1) : 1;
    if (!dim_is_int(c->m, count, &n))
        call_missing(c, "number of parts depends on a size");
    else
        split_even(c, x, axis, n, each);
}

void aten_split_sizes(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t axis = arg_axis(c, 2, call_rank(c, x));
    const aten_value *sizes = &c->args[1];
    dim at = 0;

    if (sizes->kind != ATEN_INTS || c->st != HULL_OK) {
        call_fail(c, HULL_EFORMAT, "split sizes are no list");
        return;
    }
    val *v = parts_room(c, sizes->n);
    for (uint32_t i = 0; i < sizes->n && c->st == HULL_OK; i++) {
        dim end = dim_add(c->m, at, sizes->dims[i]);

        v[i] = aten_slice1(c, x, axis, at, end);
        at = end;
    }
    if (c->st == HULL_OK)
        ret_list(c, v, sizes->n);
}

/* Cut points of an axis: indices, or `sections` parts of nearly equal size. */
void aten_tensor_split(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t axis = arg_axis(c, 2, call_rank(c, x)), n = 0;
    int64_t cuts[64], size = 0, at = 0;

    if (c->st != HULL_OK)
        return;
    if (!dim_is_int(c->m, call_dims(c, x)[axis], &size)) {
        call_missing(c, "of a symbolic size");
        return;
    }
    if (c->row->param) { /* sections */
        int64_t parts = arg_int(c, 1), end = 0;

        if (parts < 1 || parts > (int64_t)COUNT_OF(cuts)) {
            call_fail(c, HULL_EUNSUPPORTED, "number of sections");
            return;
        }
        for (int64_t i = 0; i + 1 < parts; i++)
            cuts[n++] = end += size / parts + (i < size % parts);
    } else {
        n = arg_ints(c, 1, cuts, (uint32_t)COUNT_OF(cuts));
    }
    val v[COUNT_OF(cuts) + 1];
    for (uint32_t i = 0; i <= n && c->st == HULL_OK; i++) {
        int64_t end = i == n ? size : cuts[i] < 0 ? cuts[i] + size : cuts[i];

        v[i] = take_range(c, x, axis, at, end < at ? at : end, 1);
        at = end;
    }
    if (c->st == HULL_OK)
        ret_list(c, v, n + 1);
}

void aten_unbind(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t axis = arg_axis(c, 1, call_rank(c, x));
    int64_t n = 0;

    if (c->st != HULL_OK)
        return;
    if (!dim_is_int(c->m, call_dims(c, x)[axis], &n)) {
        call_missing(c, "of a symbolic size");
        return;
    }
    val *v = parts_room(c, n);
    for (int64_t i = 0; i < n && c->st == HULL_OK; i++)
        v[i] = select_at(c, x, axis, i);
    if (c->st == HULL_OK)
        ret_list(c, v, (uint32_t)n);
}

/* ---- writes into a part, as values --------------------------------------- */

/* x with [start, end) of the axis replaced by src. */
static val put_range(aten_call *c, val x, val src, uint32_t axis, dim start,
                     dim end)
{
    dim size = call_dims(c, x)[axis], d[HULL_MAX_RANK];
    uint32_t rank = call_rank(c, x), n = 0;
    val parts[3];

    memcpy(d, call_dims(c, x), rank * sizeof *d);
    d[axis] = dim_sub(c->m, end, start);
    if (start != 0)
        parts[n++] = aten_slice1(c, x, axis, 0, start);
    parts[n++] = aten_broadcast(c, op_cast(c->g, src, call_dtype(c, x)), d,
                                rank);
    if (!dim_eq(c->m, end, size))
        parts[n++] = aten_slice1(c, x, axis, end, size);
    return n == 1 ? parts[0] : op_concat(c->g, parts, n, axis);
}

void aten_select_scatter(aten_call *c)
{
    val x = arg_tensor(c, 0), src = arg_tensor(c, 1);
    uint32_t axis = arg_axis(c, 2, call_rank(c, x));
    dim index = arg_dim(c, 3);
    int64_t v = 0;

    if (c->st != HULL_OK)
        return;
    if (dim_is_int(c->m, index, &v) && v < 0)
        index = dim_add(c->m, call_dims(c, x)[axis], index);
    if (call_rank(c, src) + 1 != call_rank(c, x)) {
        call_fail(c, HULL_EFORMAT, "source of unfit rank");
        return;
    }
    ret(c, put_range(c, x, aten_insert_axis(c, src, axis), axis, index,
                     dim_add(c->m, index, 1)));
}

void aten_slice_scatter(aten_call *c)
{
    val x = arg_tensor(c, 0), src = arg_tensor(c, 1);
    uint32_t axis = arg_axis(c, 2, call_rank(c, x));
    dim start = arg_none(c, 3) ? 0 : arg_dim(c, 3);
    int64_t step = arg_int(c, 5);

    if (c->st != HULL_OK)
        return;
    val v = lower_put_slice(c->f, x, op_cast(c->g, src, call_dtype(c, x)),
                            axis, start, step);
    if (v == 0 && ir_status(c->m) == HULL_OK)
        call_missing(c, "from a place that depends on data");
    else
        ret(c, v);
}

void aten_flat_identity(aten_call *c)
{
    ret(c, aten_flat(c, arg_tensor(c, 0)));
}
