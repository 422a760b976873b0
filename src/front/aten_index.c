/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * aten_index.c - lowerings of look-ups and writes by index.
 */
#include "front/aten.h"

#include <string.h>

static val axis_node(aten_call *c, op_code op, const val *in, uint32_t n,
                     uint32_t axis)
{
    node *d = node_new(c->g, op);

    for (uint32_t i = 0; i < n; i++)
        node_input(c->g, d, in[i]);
    node_int(c->g, d, "axis", axis);
    return node_add(c->g, d);
}

void aten_embedding(aten_call *c)
{
    val in[] = {arg_tensor(c, 0), arg_tensor(c, 1)};

    front_is_parameter(c->f, in[0]);
    ret(c, axis_node(c, OP_gather, in, 2, 0));
}

/* Rank-0 indices give one element, torch keeps the axis. */
void aten_index_select(aten_call *c)
{
    val x = arg_tensor(c, 0), at = arg_tensor(c, 2);
    uint32_t axis = arg_axis(c, 1, call_rank(c, x));

    if (call_rank(c, at) == 0)
        at = aten_insert_axis(c, at, 0);
    val in[] = {x, at};
    if (c->st == HULL_OK)
        ret(c, axis_node(c, OP_gather, in, 2, axis));
}

/* gather(self, dim, index), take_along_dim(self, index, dim): param 1 */
void aten_gather(aten_call *c)
{
    bool along = c->row->param != 0;
    val in[] = {arg_tensor(c, 0), arg_tensor(c, along ? 1 : 2)};

    if (along && arg_none(c, 2)) {
        call_missing(c, "of the flattened tensor");
        return;
    }
    uint32_t axis = arg_axis(c, along ? 2 : 1, call_rank(c, in[0]));
    if (c->st == HULL_OK)
        ret(c, axis_node(c, OP_gather_elements, in, 2, axis));
}

/* The first elements of src along every axis, as many as the indices have. */
static val like_index(aten_call *c, val src, val index)
{
    uint32_t rank = call_rank(c, index);

    if (call_rank(c, src) == 0)
        return aten_broadcast(c, src, call_dims(c, index), rank);
    for (uint32_t i = 0; i < rank && i < call_rank(c, src); i++)
        if (!dim_eq(c->m, call_dims(c, src)[i], call_dims(c, index)[i]))
            src = aten_slice1(c, src, i, 0, call_dims(c, index)[i]);
    return src;
}

static val scatter(aten_call *c, val x, val index, val src, uint32_t axis,
                   const char *reduce)
{
    node *d = node_new(c->g, OP_scatter_elements);

    src = like_index(c, op_cast(c->g, src, call_dtype(c, x)), index);
    node_input(c->g, d, x);
    node_input(c->g, d, index);
    node_input(c->g, d, src);
    node_int(c->g, d, "axis", axis);
    node_str(c->g, d, "reduce", str_of(reduce));
    return node_add(c->g, d);
}

/* scatter.src, scatter.value, scatter_add: param 1 = add */
void aten_scatter(aten_call *c)
{
    val x = arg_tensor(c, 0), index = arg_tensor(c, 2), src = arg_tensor(c, 3);
    uint32_t axis = arg_axis(c, 1, call_rank(c, x));

    if (c->st == HULL_OK)
        ret(c, scatter(c, x, index, src, axis, c->row->param ? "add" : "none"));
}

/* scatter_reduce.two(self, dim, index, src, reduce, include_self) */
void aten_scatter_reduce(aten_call *c)
{
    static const char *const names[][2] = {
        {"sum", "add"}, {"prod", "mul"}, {"amax", "max"}, {"amin", "min"}};
    val x = arg_tensor(c, 0), index = arg_tensor(c, 2), src = arg_tensor(c, 3);
    uint32_t axis = arg_axis(c, 1, call_rank(c, x));
    str mode = arg_str(c, 4);

    if (c->st != HULL_OK)
        return;
    for (size_t i = 0; i < COUNT_OF(names) && arg_bool(c, 5); i++)
        if (str_is(mode, names[i][0])) {
            ret(c, scatter(c, x, index, src, axis, names[i][1]));
            return;
        }
    call_missing(c, "mean, or without self");
}

/* A 1-d index along `axis` as indices of the shape of x or src. */
static val spread_index(aten_call *c, val index, val shape_of, uint32_t axis)
{
    uint32_t rank = call_rank(c, shape_of);
    dim d[HULL_MAX_RANK], full[HULL_MAX_RANK];
    dim n = type_numel(c->m, call_type(c, index));

    for (uint32_t i = 0; i < rank; i++) {
        d[i] = i == axis ? n : 1;
        full[i] = i == axis ? n : call_dims(c, shape_of)[i];
    }
    index = op_reshape(c->g, index, d, rank);
    return aten_broadcast(c, index, full, rank);
}

/* index_add, index_copy (self, dim, index, source), index_fill (self, dim,
 * index, value): param 0 add, 1 copy, 2 fill */
void aten_index_write(aten_call *c)
{
    val x = arg_tensor(c, 0), index = arg_tensor(c, 2), src = arg_tensor(c, 3);
    uint32_t axis = arg_axis(c, 1, call_rank(c, x));
    bool adds = c->row->param == 0;

    if (c->st != HULL_OK)
        return;
    if (c->row->param != 2 && call_rank(c, src) != call_rank(c, x)) {
        call_fail(c, HULL_EFORMAT, "source of unfit rank");
        return;
    }
    if (adds && !(arg_num(c, 4) >= 1 && arg_num(c, 4) <= 1))
        src = op_binary(c->g, OP_mul, src,
                        aten_as(c, &c->args[4], call_dtype(c, src)));
    index = spread_index(c, index, x, axis);
    ret(c, scatter(c, x, index, src, axis, adds ? "add" : "none"));
}

/* ---- advanced indexing --------------------------------------------------- */

typedef struct indexing {
    uint32_t n;                      /* index tensors */
    uint32_t axes[HULL_MAX_RANK];    /* what they index, ascending */
    val at[HULL_MAX_RANK];
    bool adjacent;
    dim shape[HULL_MAX_RANK];        /* their common shape */
    uint32_t rank;
} indexing;

static void common_shape(aten_call *c, indexing *d)
{
    for (uint32_t k = 0; k < d->n; k++)
        if (call_rank(c, d->at[k]) > d->rank)
            d->rank = call_rank(c, d->at[k]);
    for (uint32_t i = 0; i < d->rank; i++)
        d->shape[i] = 1;
    for (uint32_t k = 0; k < d->n; k++) {
        uint32_t r = call_rank(c, d->at[k]), lead = d->rank - r;

        for (uint32_t i = 0; i < r; i++)
            d->shape[lead + i] = dim_bcast(c->m, d->shape[lead + i],
                                           call_dims(c, d->at[k])[i]);
    }
}

static void add_index(aten_call *c, indexing *d, uint32_t axis, uint32_t rank,
                      val at)
{
    if (axis >= rank) {
        call_fail(c, HULL_EFORMAT, "indices do not fit the rank");
        return;
    }
    d->adjacent &= d->n == 0 || d->axes[d->n - 1] + 1 == axis;
    d->axes[d->n] = axis;
    d->at[d->n++] = at;
}

/* Reads list argument 1; false when this form has no lowering. A mask counts
 * as the places where it is true, one vector for each of its axes. */
static bool read_indices(aten_call *c, val x, indexing *d)
{
    const aten_value *list = &c->args[1];
    uint32_t axis = 0, rank = call_rank(c, x);

    *d = (indexing){.adjacent = true};
    if (list->kind != ATEN_TENSORS || list->n > rank) {
        call_fail(c, HULL_EFORMAT, "indices do not fit the rank");
        return false;
    }
    for (uint32_t i = 0; i < list->n && c->st == HULL_OK; i++) {
        val at = list->vals[i], rows[HULL_MAX_RANK] = {0};
        hull_dtype dt = at ? call_dtype(c, at) : HULL_NONE;
        uint32_t n = 1;

        if (!at) {
            axis++;
            continue;
        }
        if (dt == HULL_BOOL || dt == HULL_U8)
            n = aten_mask_rows(c, at, rows);
        else
            rows[0] = op_cast(c->g, at, HULL_I64);
        for (uint32_t k = 0; k < n; k++)
            add_index(c, d, axis++, rank, rows[k]);
    }
    if (c->st != HULL_OK || c->missing)
        return false;
    common_shape(c, d);
    if (d->rank + rank - d->n >= HULL_MAX_RANK) {
        call_fail(c, HULL_EUNSUPPORTED, "the rank becomes too large");
        return false;
    }
    return d->n > 0;
}

/* Indexed axes first, the others in order. */
static uint32_t axes_first(const indexing *d, uint32_t rank, int64_t *perm)
{
    uint32_t n = 0;
    bool used[HULL_MAX_RANK] = {false};

    for (uint32_t k = 0; k < d->n; k++) {
        perm[n++] = d->axes[k];
        used[d->axes[k]] = true;
    }
    for (uint32_t i = 0; i < rank; i++)
        if (!used[i])
            perm[n++] = i;
    return n;
}

static val reorder(aten_call *c, val x, const int64_t *perm, uint32_t n)
{
    bool same = true;

    for (uint32_t i = 0; i < n; i++)
        same &= perm[i] == i;
    return same ? x : op_transpose(c->g, x, perm, n);
}

/* [.., n]: one row of n coordinates per place of the common shape. */
static val coordinates(aten_call *c, const indexing *d)
{
    val parts[HULL_MAX_RANK];

    for (uint32_t k = 0; k < d->n; k++) {
        val at = aten_broadcast(c, d->at[k], d->shape, d->rank);

        parts[k] = aten_insert_axis(c, at, d->rank);
    }
    return d->n == 1 ? parts[0] : op_concat(c->g, parts, d->n, d->rank);
}

/* Where the common shape stands in the result: at the first indexed axis when
 * the indexed axes are adjacent, else in front. perm: from [common, rest] to
 * the result. */
static uint32_t result_order(const indexing *d, uint32_t rank, int64_t *perm)
{
    uint32_t lead = d->adjacent ? d->axes[0] : 0, n = 0;
    uint32_t rest = rank - d->n;

    for (uint32_t i = 0; i < lead; i++)
        perm[n++] = d->rank + i;
    for (uint32_t i = 0; i < d->rank; i++)
        perm[n++] = i;
    for (uint32_t i = lead; i < rest; i++)
        perm[n++] = d->rank + i;
    return n;
}

void aten_index(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t rank = call_rank(c, x), n;
    int64_t perm[HULL_MAX_RANK];
    indexing d;

    if (!read_indices(c, x, &d)) {
        if (c->st == HULL_OK && !c->missing)
            ret(c, x);
        return;
    }
    if (d.n == 1) {
        val in[] = {x, d.at[0]};

        ret(c, axis_node(c, OP_gather, in, 2, d.axes[0]));
        return;
    }
    n = axes_first(&d, rank, perm);
    node *g = node_new(c->g, OP_gather_nd);
    node_input(c->g, g, reorder(c, x, perm, n));
    node_input(c->g, g, coordinates(c, &d));
    val y = node_add(c->g, g);
    n = result_order(&d, rank, perm);
    ret(c, reorder(c, y, perm, n));
}

static void invert(const int64_t *perm, uint32_t n, int64_t *out)
{
    for (uint32_t i = 0; i < n; i++)
        out[perm[i]] = i;
}

/* (self, indices, values, accumulate) */
void aten_index_put(aten_call *c)
{
    val x = arg_tensor(c, 0), src = arg_tensor(c, 2);
    uint32_t rank = call_rank(c, x), n, m;
    int64_t perm[HULL_MAX_RANK], order[HULL_MAX_RANK], back[HULL_MAX_RANK];
    dim d[HULL_MAX_RANK];
    indexing at;

    if (c->args[1].kind == ATEN_TENSORS && c->args[1].n == 1 &&
        c->args[1].vals[0] &&
        call_dtype(c, c->args[1].vals[0]) == HULL_BOOL &&
        call_rank(c, c->args[1].vals[0]) == rank && !arg_bool(c, 3) &&
        call_rank(c, src) == 0) { /* x[mask] = number */
        ret(c, aten_where(c, c->args[1].vals[0],
                          op_cast(c->g, src, call_dtype(c, x)), x));
        return;
    }
    if (!read_indices(c, x, &at)) {
        if (c->st == HULL_OK && !c->missing)
            call_missing(c, "without indices");
        return;
    }
    n = axes_first(&at, rank, perm);
    m = result_order(&at, rank, order);
    /* The shape that values broadcast to, then in the order of the update. */
    for (uint32_t i = 0; i < m; i++) {
        uint32_t k = (uint32_t)order[i];

        d[i] = k < at.rank ? at.shape[k]
                           : call_dims(c, x)[perm[k - at.rank + at.n]];
    }
    src = aten_broadcast(c, op_cast(c->g, src, call_dtype(c, x)), d, m);
    invert(order, m, back);
    src = reorder(c, src, back, m);
    node *g = node_new(c->g, OP_scatter_nd);
    node_input(c->g, g, reorder(c, x, perm, n));
    node_input(c->g, g, coordinates(c, &at));
    node_input(c->g, g, src);
    node_str(c->g, g, "reduce", str_of(arg_bool(c, 3) ? "add" : "none"));
    val y = node_add(c->g, g);
    invert(perm, n, back);
    ret(c, reorder(c, y, back, n));
}

/* ---- regular patterns of indices ----------------------------------------- */

/* start + i step, i < n */
static val progression(aten_call *c, dim n, int64_t start, int64_t step)
{
    val i = aten_iota(c, n, HULL_I64);

    if (step != 1)
        i = op_binary(c->g, OP_mul, i, op_scalar_i64(c->g, HULL_I64, step));
    if (start != 0)
        i = op_binary(c->g, OP_add, i, op_scalar_i64(c->g, HULL_I64, start));
    return i;
}

/* (self, offset, dim1, dim2): the two axes go, their diagonal comes last. */
void aten_diagonal(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t rank = call_rank(c, x), n = 0;
    int64_t offset = arg_int(c, 1), perm[HULL_MAX_RANK], rows, cols;
    uint32_t a = arg_axis(c, 2, rank), b = arg_axis(c, 3, rank);
    dim d[HULL_MAX_RANK];

    if (c->st != HULL_OK)
        return;
    if (a == b || !dim_is_int(c->m, call_dims(c, x)[a], &rows) ||
        !dim_is_int(c->m, call_dims(c, x)[b], &cols)) {
        call_missing(c, "of a symbolic size");
        return;
    }
    int64_t first = offset;
    if (offset <= -rows || offset >= cols ||
        (offset < 0 && !mul_i64(&first, -offset, cols))) {
        call_missing(c, "outside the matrix");
        return;
    }
    for (uint32_t i = 0; i < rank; i++)
        if (i != a && i != b) {
            d[n] = call_dims(c, x)[i];
            perm[n++] = i;
        }
    perm[n] = a;
    perm[n + 1] = b;
    d[n] = dim_mul(c->m, rows, cols);
    int64_t down = offset >= 0 ? rows : rows + offset;
    int64_t right = offset >= 0 ? cols - offset : cols;
    val in[] = {op_reshape(c->g, reorder(c, x, perm, rank), d, n + 1),
                progression(c, down < right ? down : right, first, cols + 1)};
    ret(c, axis_node(c, OP_gather, in, 2, n));
}

/* Window starts and offsets of one axis: indices [kernel, places]. */
static val window_index(aten_call *c, dim size, int64_t kernel, int64_t step,
                        int64_t dilation)
{
    dim reach = dim_int(c->m, dilation * (kernel - 1) + 1);
    dim n = dim_add(c->m, dim_div(c->m, dim_sub(c->m, size, reach), step), 1);
    val at = progression(c, n, 0, step);

    return op_binary(c->g, OP_add,
                     aten_insert_axis(c, progression(c, kernel, 0, dilation),
                                      1), at);
}

/* (self, kernel, dilation, padding, stride): columns of windows, from [n, c,
 * h, w] over [n, c, kh, oh, kw, ow] to [n, c kh kw, oh ow]. */
void aten_im2col(aten_call *c)
{
    static const int64_t order[] = {0, 1, 2, 4, 3, 5};
    val x = arg_tensor(c, 0);
    int64_t kernel[2], dilation[2], pad[2], stride[2];

    arg_spatial(c, 1, 2, 1, kernel);
    arg_spatial(c, 2, 2, 1, dilation);
    arg_spatial(c, 3, 2, 0, pad);
    arg_spatial(c, 4, 2, 1, stride);
    if (call_rank(c, x) != 4) {
        call_missing(c, "without a batch");
        return;
    }
    for (int i = 0; i < 2; i++)
        if (kernel[i] < 1 || kernel[i] > 65536 || dilation[i] < 1 ||
            dilation[i] > 65536 || stride[i] < 1 || pad[i] < 0)
            call_fail(c, HULL_EFORMAT, "window out of range");
    if (c->st != HULL_OK)
        return;
    if (pad[0] || pad[1]) {
        dim pads[] = {0, 0, pad[0], pad[1], 0, 0, pad[0], pad[1]};
        node *n = node_new(c->g, OP_pad);

        node_input(c->g, n, x);
        node_dims(c->g, n, "pads", pads, 8);
        x = node_add(c->g, n);
    }
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t axis = i == 0 ? 2 : 4;
        val in[] = {x, window_index(c, call_dims(c, x)[axis], kernel[i],
                                    stride[i], dilation[i])};

        x = axis_node(c, OP_gather, in, 2, axis);
    }
    x = op_transpose(c->g, x, order, 6);
    const dim *d = call_dims(c, x);
    dim out[] = {d[0], dim_mul(c->m, d[1], kernel[0] * kernel[1]),
                 dim_mul(c->m, d[4], d[5])};
    ret(c, op_reshape(c->g, x, out, 3));
}
