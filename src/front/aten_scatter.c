/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * aten_scatter.c - lowerings that read or write along one axis by an index
 * tensor, or through a mask. A scalar counts as a vector of one element.
 * Sums, products and means of halves are made in f32.
 */
#include "front/aten.h"

#include <math.h>
#include <string.h>

static val binary(aten_call *c, op_code op, val a, val b)
{
    return op_binary(c->g, op, a, b);
}

static val lift(aten_call *c, val x)
{
    return call_rank(c, x) == 0 ? aten_insert_axis(c, x, 0) : x;
}

/* x in the shape of `like`. */
static val shaped(aten_call *c, val x, val like)
{
    return call_rank(c, x) == call_rank(c, like)
               ? x : op_reshape(c->g, x, call_dims(c, like),
                                call_rank(c, like));
}

/* ---- reads --------------------------------------------------------------- */

void aten_index_select(aten_call *c)
{
    val self = arg_tensor(c, 0), x = lift(c, self);
    uint32_t axis = arg_axis(c, 1, call_rank(c, x));
    val at = lift(c, arg_tensor(c, 2));

    if (c->st != HULL_OK)
        return;
    x = aten_take(c, x, at, axis);
    ret(c, call_rank(c, self) == 0 ? shaped(c, x, self) : x);
}

void aten_gather(aten_call *c)
{
    val x = lift(c, arg_tensor(c, 0)), index = arg_tensor(c, 2);
    uint32_t axis = arg_axis(c, 1, call_rank(c, x));

    if (c->st == HULL_OK)
        ret(c, shaped(c, aten_take_elements(c, x, lift(c, index), axis),
                      index));
}

/* take_along_dim(self, index, dim): both broadcast but for the axis. */
void aten_take_along_dim(aten_call *c)
{
    val x = arg_tensor(c, 0), index = arg_tensor(c, 1);
    dim d[HULL_MAX_RANK], e[HULL_MAX_RANK];

    if (arg_none(c, 2)) {
        x = aten_flat(c, x);
        ret(c, aten_take_elements(c, x, aten_flat(c, index), 0));
        return;
    }
    uint32_t rank = call_rank(c, x), axis = arg_axis(c, 2, rank);
    if (call_rank(c, index) != rank)
        call_fail(c, HULL_EFORMAT, "indices of another rank");
    if (c->st != HULL_OK)
        return;
    for (uint32_t i = 0; i < rank; i++)
        d[i] = dim_bcast(c->m, call_dims(c, x)[i], call_dims(c, index)[i]);
    memcpy(e, d, rank * sizeof *e);
    d[axis] = call_dims(c, x)[axis];
    e[axis] = call_dims(c, index)[axis];
    ret(c, aten_take_elements(c, aten_broadcast(c, x, d, rank),
                              aten_broadcast(c, index, e, rank), axis));
}

/* take(self, index): of the flattened tensor. */
void aten_take_flat(aten_call *c)
{
    ret(c, aten_take(c, aten_flat(c, arg_tensor(c, 0)), arg_tensor(c, 1), 0));
}

/* ---- writes -------------------------------------------------------------- */

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

typedef struct writing {
    val x, index, src; /* of one rank, at least 1 */
    uint32_t axis;
    const char *reduce; /* of the op; "mean" too */
    bool include_self;
} writing;

/* What a reduction starts from where the tensor itself does not count. */
static val identity_of(aten_call *c, hull_dtype dt, const char *reduce)
{
    bool low = strcmp(reduce, "max") == 0, high = strcmp(reduce, "min") == 0;
    uint32_t bits = hull_dtype_bits(dt);

    if (!low && !high)
        return op_cast(c->g, aten_int(c, strcmp(reduce, "mul") == 0), dt);
    if (dtype_is_float(dt))
        return aten_number(c, dt, low ? -HUGE_VAL : HUGE_VAL);
    if (dt == HULL_BOOL || dtype_is_unsigned(dt))
        return op_scalar_i64(c->g, dt, low ? 0 : dt == HULL_BOOL ? 1 : -1);
    int64_t most = (int64_t)(UINT64_MAX >> (65 - bits));
    return op_scalar_i64(c->g, dt, low ? -most - 1 : most);
}

static val put(aten_call *c, const writing *w, val x, val src,
               const char *reduce)
{
    return aten_put_elements(c, x, w->index, like_index(c, src, w->index),
                             w->axis, reduce);
}

static val write(aten_call *c, const writing *w)
{
    bool mean = strcmp(w->reduce, "mean") == 0;
    bool sums = mean || strcmp(w->reduce, "add") == 0 ||
                strcmp(w->reduce, "mul") == 0;
    hull_dtype dt = call_dtype(c, w->x);
    hull_dtype in = dtype_is_half(dt) && sums ? HULL_F32 : dt;
    val x = op_cast(c->g, w->x, in);
    val src = op_cast(c->g, op_cast(c->g, w->src, dt), in);

    if (!w->include_self)
        x = put(c, w, x, identity_of(c, in, w->reduce), "none");
    x = put(c, w, x, src, mean ? "add" : w->reduce);
    if (mean) {
        val one = aten_int(c, 1);
        val n = aten_full(c, one, call_dims(c, x), call_rank(c, x));

        if (!w->include_self)
            n = put(c, w, n, aten_int(c, 0), "none");
        n = binary(c, OP_max, put(c, w, n, one, "add"), one);
        n = op_cast(c->g, n, in);
        x = dtype_is_float(in) ? binary(c, OP_div, x, n)
                               : aten_div_to(c, x, n, "floor");
    }
    return op_cast(c->g, x, dt);
}

/* Reads self, dim, index and src (arguments 0 to 3). */
static bool read_writing(aten_call *c, writing *w)
{
    val src = arg_tensor(c, 3);

    *w = (writing){.x = lift(c, arg_tensor(c, 0)), .reduce = "none",
                   .index = lift(c, arg_tensor(c, 2)), .include_self = true};
    w->axis = arg_axis(c, 1, call_rank(c, w->x));
    w->src = c->args[3].kind == ATEN_TENSOR ? lift(c, src) : src;
    return c->st == HULL_OK;
}

static void ret_written(aten_call *c, val x)
{
    if (c->st == HULL_OK)
        ret(c, shaped(c, x, c->args[0].v));
}

/* The op's name of a reduction, NULL when there is none. */
static const char *reduction(aten_call *c, uint32_t i)
{
    static const char *const names[][2] = {
        {"sum", "add"}, {"add", "add"}, {"prod", "mul"}, {"multiply", "mul"},
        {"mean", "mean"}, {"amax", "max"}, {"amin", "min"}};
    str mode = arg_str(c, i);

    for (size_t k = 0; k < COUNT_OF(names); k++)
        if (str_is(mode, names[k][0]))
            return names[k][1];
    call_fail(c, HULL_EUNSUPPORTED, "reduction");
    return "none";
}

/* scatter.src, scatter.value, scatter_add (param 1), and with a reduction's
 * name as argument 4 (param 2). */
void aten_scatter(aten_call *c)
{
    writing w;

    if (!read_writing(c, &w))
        return;
    if (c->row->param)
        w.reduce = c->row->param == 2 ? reduction(c, 4) : "add";
    ret_written(c, write(c, &w));
}

/* scatter_reduce.two(self, dim, index, src, reduce, include_self) */
void aten_scatter_reduce(aten_call *c)
{
    writing w;

    if (!read_writing(c, &w))
        return;
    w.reduce = reduction(c, 4);
    w.include_self = arg_bool(c, 5);
    ret_written(c, write(c, &w));
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
 * index, value), index_reduce (.., reduce, include_self): param 0 add, 1 copy,
 * 2 fill, 3 reduce */
void aten_index_write(aten_call *c)
{
    int32_t what = c->row->param;
    writing w;

    if (!read_writing(c, &w))
        return;
    if (what != 2 && call_rank(c, w.src) != call_rank(c, w.x)) {
        call_fail(c, HULL_EFORMAT, "source of unfit rank");
        return;
    }
    if (what == 2 && c->args[3].kind == ATEN_TENSOR)
        w.src = arg_tensor(c, 3);
    if (what == 0) {
        w.reduce = "add";
        if (!(arg_num(c, 4) >= 1 && arg_num(c, 4) <= 1))
            w.src = binary(c, OP_mul, w.src,
                           aten_as(c, &c->args[4], call_dtype(c, w.src)));
    }
    if (what == 3) {
        w.reduce = reduction(c, 4);
        w.include_self = arg_bool(c, 5);
    }
    w.index = spread_index(c, w.index, w.x, w.axis);
    ret_written(c, write(c, &w));
}

/* put(self, index, source, accumulate): of the flattened tensor. */
void aten_put(aten_call *c)
{
    val x = arg_tensor(c, 0);
    writing w = {.x = aten_flat(c, x), .include_self = true,
                 .index = aten_flat(c, arg_tensor(c, 1)),
                 .src = aten_flat(c, arg_tensor(c, 2)),
                 .reduce = arg_bool(c, 3) ? "add" : "none"};

    if (c->st == HULL_OK)
        ret(c, op_reshape(c->g, write(c, &w), call_dims(c, x),
                          call_rank(c, x)));
}

/* ---- masks --------------------------------------------------------------- */

/* For every element of the flat mask how many true ones stand before it; for
 * those before the first one 0. */
static val places_before(aten_call *c, val mask)
{
    node *n = node_new(c->g, OP_cumsum);

    node_input(c->g, n, op_cast(c->g, aten_flat(c, mask), HULL_I64));
    node_int(c->g, n, "axis", 0);
    val at = binary(c, OP_sub, node_add(c->g, n), aten_int(c, 1));
    return binary(c, OP_max, at, aten_int(c, 0));
}

/* Where the mask holds, the elements of vector src in order. */
static val fill_in_order(aten_call *c, val x, val mask, val src)
{
    if (call_dims(c, src)[0] == 0)
        return x;
    val y = aten_take(c, src, places_before(c, mask), 0);
    y = op_reshape(c->g, y, call_dims(c, x), call_rank(c, x));
    return aten_where(c, mask, y, x);
}

/* masked_scatter(self, mask, source) */
void aten_masked_scatter(aten_call *c)
{
    val x = arg_tensor(c, 0), mask = arg_tensor(c, 1);
    uint32_t rx = call_rank(c, x), rm = call_rank(c, mask);
    uint32_t rank = rx > rm ? rx : rm;
    val src = op_cast(c->g, aten_flat(c, arg_tensor(c, 2)), call_dtype(c, x));
    dim d[HULL_MAX_RANK];

    for (uint32_t i = 0; i < rank; i++) {
        dim a = i + rx < rank ? 1 : call_dims(c, x)[i + rx - rank];
        dim b = i + rm < rank ? 1 : call_dims(c, mask)[i + rm - rank];

        d[i] = dim_bcast(c->m, a, b);
    }
    x = aten_broadcast(c, x, d, rank);
    mask = aten_broadcast(c, mask, d, rank);
    if (c->st == HULL_OK)
        ret(c, fill_in_order(c, x, mask, src));
}

/* A mask over axes [first, first + its rank) of x as one over all of x. */
static val spread_mask(aten_call *c, val mask, val x, uint32_t first)
{
    uint32_t rank = call_rank(c, x), n = call_rank(c, mask);
    dim d[HULL_MAX_RANK];

    for (uint32_t i = 0; i < rank; i++)
        d[i] = i >= first && i < first + n ? call_dims(c, mask)[i - first] : 1;
    return aten_broadcast(c, op_reshape(c->g, mask, d, rank), call_dims(c, x),
                          rank);
}

/* src, [before, places, behind] or what broadcasts to it, as one value for
 * every element of x. 0 when it does not fit. */
static val masked_values(aten_call *c, val x, val mask, uint32_t first,
                         val src)
{
    uint32_t rank = call_rank(c, x), n = call_rank(c, mask), k = 0;
    uint32_t behind = rank - n - first, r = call_rank(c, src);
    dim d[HULL_MAX_RANK], count;

    if (r > first + 1 + behind)
        return 0;
    count = r > behind ? call_dims(c, src)[r - 1 - behind] : 1;
    for (uint32_t i = 0; i < first; i++)
        d[k++] = call_dims(c, x)[i];
    d[k++] = count;
    for (uint32_t i = first + n; i < rank; i++)
        d[k++] = call_dims(c, x)[i];
    src = aten_broadcast(c, src, d, k);
    if (count == 1) { /* the same one everywhere */
        for (uint32_t i = 0; i < rank; i++)
            d[i] = i >= first && i < first + n ? 1 : call_dims(c, x)[i];
        return aten_broadcast(c, op_reshape(c->g, src, d, rank),
                              call_dims(c, x), rank);
    }
    return op_reshape(c->g, aten_take(c, src, places_before(c, mask), first),
                      call_dims(c, x), rank);
}

bool aten_put_mask(aten_call *c, val x, val mask, uint32_t first, val src,
                   bool adds)
{
    hull_dtype dt = call_dtype(c, x);

    if (first + call_rank(c, mask) > call_rank(c, x) ||
        call_rank(c, mask) == 0)
        return false;
    mask = op_cast(c->g, mask, HULL_BOOL);
    val y = masked_values(c, x, mask, first, op_cast(c->g, src, dt));
    if (!y)
        return false;
    if (adds)
        y = binary(c, dt == HULL_BOOL ? OP_or : OP_add, x, y);
    ret(c, aten_where(c, spread_mask(c, mask, x, first), y, x));
    return true;
}
