/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * front_dynamic.c - structure that a run decides. A size, an axis or a count
 * that comes as data is computed with tensors, like any other value, and then
 * bound to symbols; what follows has plain symbolic sizes again.
 */
#include "front/front_private.h"

#include <inttypes.h>
#include <string.h>

static region *here(const front *f)
{
    return f->g->insert_in != NULL ? f->g->insert_in : f->g->body;
}

static hull_status no_vector(const front *f, val v, const type *t)
{
    str name = graph_value(f->g, v)->name;
    buf text;
    hull_status st;

    buf_init(&text, 256);
    type_print(&text, f->m, t);
    st = fail(HULL_EUNSUPPORTED, "'%.*s' decides structure at run time and is "
              "%s, want at most %d integers", STR_ARG(name),
              text.p != NULL ? text.p : "?", KNOWN_MAX);
    buf_fini(&text);
    return st;
}

/* v was bound before, in this region. */
static val bound_before(const front *f, val v)
{
    const front_private *p = f->priv;
    val b = v < p->cap_bound ? p->bound[v] : 0;

    return b != 0 && graph_def(f->g, b) != NULL &&
           graph_def(f->g, b)->parent == here(f) ? b : 0;
}

static hull_status remember(front *f, val v, val b)
{
    front_private *p = f->priv;
    size_t old = p->cap_bound;

    TRY(mem_grow(&p->bound, &p->cap_bound, (size_t)v + 1, sizeof *p->bound));
    memset(p->bound + old, 0, (p->cap_bound - old) * sizeof *p->bound);
    p->bound[v] = b;
    return HULL_OK;
}

hull_status front_bind(front *f, val v, bool sizes, dim *out, uint32_t max,
                       uint32_t *out_n)
{
    const type *t = v != 0 ? graph_type(f->g, v) : NULL;
    val b = bound_before(f, v);
    int64_t count = 1;
    dim symbols[KNOWN_MAX];
    node *n;

    *out_n = 0;
    TRY(ir_status(f->m));
    if (t == NULL || t->kind != TYPE_TENSOR || t->rank > 1 ||
        !(dtype_is_int(t->dtype) || t->dtype == HULL_BOOL) ||
        (t->rank == 1 && !dim_is_int(f->m, t->dims[0], &count)) ||
        count > KNOWN_MAX || count > max)
        return t != NULL ? no_vector(f, v, t)
                         : fail(HULL_EFORMAT, "an operand is missing");
    if (b == 0) {
        for (int64_t i = 0; i < count; i++) {
            symbols[i] = dim_fresh(f->m, "u");
            if (!sizes)
                dim_set_range(f->m, symbols[i], INT64_MIN + 1, INT64_MAX);
        }
        n = node_new(f->g, OP_bind);
        node_input(f->g, n, op_cast(f->g, v, HULL_I64));
        node_dims(f->g, n, "symbols", symbols, (uint32_t)count);
        b = node_add(f->g, n);
        TRY(ir_status(f->m));
        TRY(remember(f, v, b));
    }
    memcpy(out, graph_value(f->g, b)->known, (size_t)count * sizeof *out);
    *out_n = (uint32_t)count;
    return HULL_OK;
}

hull_status front_sizes(front *f, val v, dim *out, uint32_t max,
                        uint32_t *out_n)
{
    bool known = false;

    TRY(front_structure(f, v, out, max, out_n, &known));
    return known ? HULL_OK : front_bind(f, v, true, out, max, out_n);
}

hull_status front_numbers(front *f, val v, dim *out, uint32_t max,
                          uint32_t *out_n)
{
    bool known = false;

    TRY(front_structure(f, v, out, max, out_n, &known));
    return known ? HULL_OK : front_bind(f, v, false, out, max, out_n);
}

val front_settle(front *f, val v)
{
    const type *t = v != 0 ? graph_type(f->g, v) : NULL;
    dim dims[HULL_MAX_RANK];
    uint32_t n = 0;
    bool unknown = false;
    str name;
    node *shape;

    if (t == NULL || t->kind != TYPE_TENSOR)
        return v;
    for (uint32_t i = 0; i < t->rank; i++)
        unknown = unknown || t->dims[i] == DIM_UNKNOWN;
    if (!unknown)
        return v;
    name = graph_value(f->g, v)->name;
    shape = node_new(f->g, OP_shape);
    node_input(f->g, shape, v);
    hull_status st = front_bind(f, node_add(f->g, shape), true, dims,
                                HULL_MAX_RANK, &n);
    if (st != HULL_OK) {
        (void)ir_fail(f->m, st);
        return 0;
    }
    t = graph_type(f->g, v);
    for (uint32_t i = 0; i < n; i++)
        if (t->dims[i] != DIM_UNKNOWN)
            dims[i] = t->dims[i];
    val y = op_reshape(f->g, v, dims, n);
    value_set_name(f->g, y, name);
    return y;
}

/* ---- arithmetic on small vectors of i64 ---------------------------------- */

static val vector(front *f, const int64_t *p, uint32_t n)
{
    const int64_t shape[1] = {n};

    return op_const(f->g, HULL_I64, shape, 1, p);
}

val front_ints_const(front *f, const int64_t *p, uint32_t n)
{
    return vector(f, p, n);
}

static val filled(front *f, int64_t v, uint32_t n)
{
    const dim d[1] = {n};

    return op_expand(f->g, op_scalar_i64(f->g, HULL_I64, v), d, 1);
}

static val counting(front *f, uint32_t n)
{
    const dim d[1] = {n};
    node *c = node_new(f->g, OP_iota);

    node_dims(f->g, c, "shape", d, 1);
    return node_add(f->g, c);
}

val front_as_vector(front *f, val v)
{
    const type *t = v != 0 ? graph_type(f->g, v) : NULL;
    const dim one[1] = {1};

    if (t == NULL)
        return 0;
    if (t->rank == 0)
        v = op_reshape(f->g, v, one, 1);
    return op_cast(f->g, v, HULL_I64);
}

/* axes + rank where negative; what is still out of range is refused by the
 * scatter or gather that uses it. */
val front_wrap_axes(front *f, val axes, uint32_t rank)
{
    val negative;

    axes = front_as_vector(f, axes);
    negative = op_binary(f->g, OP_lt, axes,
                         op_scalar_i64(f->g, HULL_I64, 0));
    return op_where(f->g, negative,
                    op_binary(f->g, OP_add, axes,
                              op_scalar_i64(f->g, HULL_I64, rank)),
                    axes);
}

val front_put_at(front *f, val into, val index, val values)
{
    node *n = node_new(f->g, OP_scatter_elements);

    node_input(f->g, n, into);
    node_input(f->g, n, index);
    node_input(f->g, n, values);
    return node_add(f->g, n);
}

val front_axes_mask(front *f, val axes, uint32_t rank)
{
    const type *t;
    val at = front_wrap_axes(f, axes, rank), ones;

    t = at != 0 ? graph_type(f->g, at) : NULL;
    if (t == NULL)
        return 0;
    ones = op_expand(f->g, op_scalar_i64(f->g, HULL_I64, 1), t->dims, 1);
    return front_put_at(f, filled(f, 0, rank), at, ones);
}

/* The positions where mask is 0, ascending: `keep` of them. */
static val unmasked(front *f, val mask, uint32_t keep)
{
    node *n = node_new(f->g, OP_topk);

    node_input(f->g, n, mask);
    node_dim(f->g, n, "k", keep);
    node_int(f->g, n, "axis", 0);
    node_bool(f->g, n, "largest", false);
    node_add(f->g, n); /* ties give the lower index first */
    return ir_status(f->m) == HULL_OK ? n->out[1] : 0;
}

static val take(front *f, val x, val index)
{
    node *n = node_new(f->g, OP_gather);

    node_input(f->g, n, x);
    node_input(f->g, n, index);
    node_int(f->g, n, "axis", 0);
    return node_add(f->g, n);
}

static val shape_vector(front *f, val x)
{
    const type *t = graph_type(f->g, x);

    return op_dims(f->g, t->dims, t->rank);
}

/* The rank that is left when axes, a vector of fixed length, are gone. */
static hull_status rank_without(front *f, val axes, uint32_t rank,
                                uint32_t *out)
{
    const type *t = axes != 0 ? graph_type(f->g, axes) : NULL;
    int64_t n = 1;

    *out = 0;
    if (t == NULL || t->rank > 1 ||
        (t->rank == 1 && !dim_is_int(f->m, t->dims[0], &n)) || n > rank)
        return fail(HULL_EUNSUPPORTED, "the number of axes is not fixed, or "
                    "above the rank %" PRIu32 ": the rank of the result would "
                    "depend on data", rank);
    *out = rank - (uint32_t)n;
    return HULL_OK;
}

static hull_status reshape_to(front *f, val x, val sizes, uint32_t rank,
                              val *out)
{
    dim d[HULL_MAX_RANK];
    uint32_t n = 0;

    TRY(front_bind(f, sizes, true, d, HULL_MAX_RANK, &n));
    if (n != rank)
        return fail(HULL_EINTERNAL, "%" PRIu32 " sizes for rank %" PRIu32, n,
                    rank);
    *out = op_reshape(f->g, x, d, n);
    return ir_status(f->m);
}

hull_status front_squeeze_at(front *f, val x, val axes, val *out)
{
    uint32_t rank = graph_type(f->g, x)->rank, keep = 0;

    *out = 0;
    TRY(rank_without(f, axes, rank, &keep));
    val kept = unmasked(f, front_axes_mask(f, axes, rank), keep);
    return reshape_to(f, x, take(f, shape_vector(f, x), kept), keep, out);
}

hull_status front_unsqueeze_at(front *f, val x, val axes, val *out)
{
    uint32_t rank = graph_type(f->g, x)->rank;
    const type *t = graph_type(f->g, axes);
    int64_t n = 1;

    *out = 0;
    if (t->rank > 1 || (t->rank == 1 && !dim_is_int(f->m, t->dims[0], &n)) ||
        n + rank > HULL_MAX_RANK)
        return fail(HULL_EUNSUPPORTED, "the number of axes is not fixed, or "
                    "the rank is above %d", HULL_MAX_RANK);
    uint32_t all = rank + (uint32_t)n;
    val at = unmasked(f, front_axes_mask(f, axes, all), rank);
    val sizes = front_put_at(f, filled(f, 1, all), at, shape_vector(f, x));
    return reshape_to(f, x, sizes, all, out);
}

/* ---- reductions whose axes are data -------------------------------------- */

/* One axis: reduced, or left as it is. The branches differ in a size. */
static val reduce_axis_if(front *f, op_code op, val x, val mask, uint32_t i)
{
    const int64_t at[1] = {i};
    region *in = f->g->insert_in;
    node *before = f->g->insert_before;
    node *n = node_new(f->g, OP_if), *r;
    val cond = op_slice(f->g, mask, 0, i, i + 1, 1);

    cond = op_reshape(f->g, op_cast(f->g, cond, HULL_BOOL), NULL, 0);
    node_input(f->g, n, cond);
    f->g->insert_in = node_body(f->g, n, "then");
    f->g->insert_before = NULL;
    r = node_new(f->g, op);
    node_input(f->g, r, x);
    node_ints(f->g, r, "axes", at, 1);
    node_bool(f->g, r, "keep", true);
    graph_result(f->g, node_add(f->g, r));
    f->g->insert_in = node_body(f->g, n, "else");
    graph_result(f->g, x);
    f->g->insert_in = in;
    f->g->insert_before = before;
    node_outputs(f->g, n, 1);
    return front_settle(f, node_add(f->g, n));
}

hull_status front_reduce_at(front *f, op_code op, val x, val axes, bool keep,
                            bool none_if_empty, val *out)
{
    const type *t = graph_type(f->g, axes);
    uint32_t rank = graph_type(f->g, x)->rank, left = 0;
    bool empty = t->rank == 1 && t->dims[0] == 0;
    val mask, y = x;

    *out = 0;
    if (t->rank > 1 || (t->rank == 1 && t->dims[0] < 0))
        return fail(HULL_EUNSUPPORTED, "the number of axes is not fixed");
    mask = empty ? filled(f, none_if_empty ? 0 : 1, rank)
                 : front_axes_mask(f, axes, rank);
    for (uint32_t i = 0; i < rank && ir_status(f->m) == HULL_OK; i++)
        y = reduce_axis_if(f, op, y, mask, i);
    TRY(ir_status(f->m));
    *out = y;
    if (keep)
        return HULL_OK;
    TRY(rank_without(f, axes, rank, &left));
    val kept = unmasked(f, mask, left);
    return reshape_to(f, y, take(f, shape_vector(f, y), kept), left, out);
}

/* ---- slices whose bounds are data ---------------------------------------- */

/* a where c > 0, else b; vectors. */
static val where_positive(front *f, val c, val a, val b)
{
    val p = op_binary(f->g, OP_gt, c, op_scalar_i64(f->g, HULL_I64, 0));

    return op_where(f->g, p, a, b);
}

static val clamp_to(front *f, val v, val low, val high)
{
    return op_binary(f->g, OP_min, op_binary(f->g, OP_max, v, low), high);
}

/* Vectors of one length per axis of x, as numpy takes them: bounds count from
 * the end when negative, and are clamped. x[start : start + count * step]. */
static void slice_extent(front *f, val *start, val *count, val end, val step,
                         val size)
{
    graph *g = f->g;
    val zero = op_scalar_i64(g, HULL_I64, 0);
    val one = op_scalar_i64(g, HULL_I64, 1);
    val last = op_binary(g, OP_sub, size, one);
    val low = where_positive(f, step, zero, op_scalar_i64(g, HULL_I64, -1));
    val high = where_positive(f, step, size, last);
    val s = *start, span, room;

    s = op_where(g, op_binary(g, OP_lt, s, zero),
                 op_binary(g, OP_add, s, size), s);
    end = op_where(g, op_binary(g, OP_lt, end, zero),
                   op_binary(g, OP_add, end, size), end);
    s = clamp_to(f, s, where_positive(f, step, zero, low), high);
    end = clamp_to(f, end, low, high);
    span = where_positive(f, step, op_binary(g, OP_sub, end, s),
                          op_binary(g, OP_sub, s, end));
    step = op_unary(g, OP_abs, step);
    room = op_binary(g, OP_sub, op_binary(g, OP_add, span, step), one);
    node *n = node_new(g, OP_div);
    node_input(g, n, op_binary(g, OP_max, room, zero));
    node_input(g, n, step);
    node_str(g, n, "round", str_of("floor"));
    *start = s;
    *count = node_add(g, n);
}

static val strided_take(front *f, val x, uint32_t axis, val start, val step,
                        dim count)
{
    node *c = node_new(f->g, OP_iota), *n = node_new(f->g, OP_gather);
    val index;

    node_dims(f->g, c, "shape", &count, 1);
    index = op_binary(f->g, OP_mul, node_add(f->g, c),
                      op_slice(f->g, step, 0, axis, axis + 1, 1));
    index = op_binary(f->g, OP_add, index,
                      op_slice(f->g, start, 0, axis, axis + 1, 1));
    node_input(f->g, n, x);
    node_input(f->g, n, index);
    node_int(f->g, n, "axis", axis);
    return node_add(f->g, n);
}

hull_status front_slice_at(front *f, val x, val starts, val ends, val axes,
                           val steps, val *out)
{
    const type *t = graph_type(f->g, x), *ts = graph_type(f->g, starts);
    uint32_t rank = t->rank, n = 0;
    dim counts[HULL_MAX_RANK];
    val start, end, step, count;
    int64_t given = 1;

    *out = 0;
    if (ts->rank > 1 ||
        (ts->rank == 1 && !dim_is_int(f->m, ts->dims[0], &given)) ||
        given > rank)
        return fail(HULL_EUNSUPPORTED, "the number of slice bounds is not "
                    "fixed, or above the rank %" PRIu32, rank);
    val at = axes != 0 ? front_wrap_axes(f, axes, rank)
                       : counting(f, (uint32_t)given);
    start = front_put_at(f, filled(f, 0, rank), at,
                         front_as_vector(f, starts));
    end = front_put_at(f, filled(f, INT64_MAX, rank), at,
                       front_as_vector(f, ends));
    step = filled(f, 1, rank);
    if (steps != 0)
        step = front_put_at(f, step, at, front_as_vector(f, steps));
    slice_extent(f, &start, &count, end, step, shape_vector(f, x));
    TRY(front_bind(f, count, true, counts, HULL_MAX_RANK, &n));
    for (uint32_t i = 0; i < rank; i++)
        x = strided_take(f, x, i, start, step, counts[i]);
    *out = x;
    return ir_status(f->m);
}

/* ---- reshape ------------------------------------------------------------- */

static val product(front *f, val v)
{
    node *n = node_new(f->g, OP_reduce_prod);
    const int64_t axes[1] = {0};

    node_input(f->g, n, v);
    node_ints(f->g, n, "axes", axes, 1);
    return node_add(f->g, n);
}

/* 0 copies the operand's size unless zeros count; -1 is what is left. */
hull_status front_reshape_to(front *f, val x, val sizes, bool zeros, val *out)
{
    const type *t = graph_type(f->g, sizes);
    uint32_t rank = graph_type(f->g, x)->rank, n = 0;
    graph *g = f->g;
    int64_t want = 1;
    val zero, rest, minus;

    *out = 0;
    if (t->rank > 1 || (t->rank == 1 && !dim_is_int(f->m, t->dims[0], &want)) ||
        want > HULL_MAX_RANK)
        return fail(HULL_EUNSUPPORTED, "the rank of the result depends on "
                    "data, or is above %d", HULL_MAX_RANK);
    sizes = front_as_vector(f, sizes);
    zero = op_scalar_i64(g, HULL_I64, 0);
    n = (uint32_t)want;
    if (!zeros && n > 0) {
        val own = filled(f, 0, n); /* the operand's sizes, as far as known */
        uint32_t common = rank < n ? rank : n;

        if (common > 0)
            own = front_put_at(f, own, counting(f, common),
                               op_slice(g, shape_vector(f, x), 0, 0, common,
                                        1));
        sizes = op_where(g, op_binary(g, OP_eq, sizes, zero), own, sizes);
    }
    if (n > 0) {
        val one = op_scalar_i64(g, HULL_I64, 1);

        minus = op_binary(g, OP_eq, sizes, op_scalar_i64(g, HULL_I64, -1));
        rest = product(f, op_where(g, minus, one, sizes));
        node *d = node_new(g, OP_div);
        node_input(g, d, product(f, shape_vector(f, x)));
        node_input(g, d, op_binary(g, OP_max, rest, one));
        node_str(g, d, "round", str_of("floor"));
        sizes = op_where(g, minus, node_add(g, d), sizes);
    }
    return reshape_to(f, x, sizes, n, out);
}
