/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * slice.c - slice with numpy's rules: negative bounds count from the end, all
 * bounds are clamped, a negative step walks backwards. The shape rule states
 * sizes as expressions without clamps wherever the ranges prove that none is
 * needed. A symbolic bound counts from the end when its range proves that it
 * is negative; one that turns out negative only in a run is refused.
 */
#include "ops/data.h"

#include <inttypes.h>

/* Bounds beyond these mean "to the end" and "from the beginning". */
#define FAR_END (INT64_MAX / 2)
#define FAR_BEGIN (INT64_MIN / 2)

/* max(d, bound), or the one of them that provably is it. */
static dim floor_at(ir *m, dim d, int64_t bound)
{
    int64_t lo, hi;

    if (d == DIM_UNKNOWN)
        return d;
    dim_range(m, d, &lo, &hi);
    if (lo >= bound)
        return d;
    return hi <= bound ? dim_int(m, bound) : dim_max(m, d, dim_int(m, bound));
}

/* min(d, limit), or the one of them that provably is it. */
static dim cap_at(ir *m, dim d, dim limit)
{
    dim room = dim_sub(m, limit, d);
    int64_t lo, hi;

    if (room == DIM_UNKNOWN)
        return DIM_UNKNOWN;
    dim_range(m, room, &lo, &hi);
    if (lo >= 0)
        return d;
    return hi <= 0 ? limit : dim_min(m, d, limit);
}

/* A bound as a position, negative ones moved to the front's count. `floor` is
 * the least position (0, or -1 for backward steps). */
static dim position(ir *m, dim bound, dim size, int64_t least)
{
    int64_t v, lo, hi;

    if (bound == DIM_UNKNOWN || size == DIM_UNKNOWN)
        return DIM_UNKNOWN;
    if (dim_is_int(m, bound, &v)) {
        if (v <= FAR_BEGIN)
            return dim_int(m, least);
        if (v >= FAR_END)
            return size;
        return v < 0 ? floor_at(m, dim_add(m, size, bound), least) : bound;
    }
    dim_range(m, bound, &lo, &hi);
    return hi < 0 ? floor_at(m, dim_add(m, size, bound), least) : bound;
}

static dim slice_size(ir *m, dim size, dim start, dim end, int64_t step)
{
    dim s, e, len;

    if (step > 0) {
        s = position(m, start, size, 0);
        e = cap_at(m, position(m, end, size, 0), size);
        len = dim_sub(m, e, s);
    } else {
        s = cap_at(m, position(m, start, size, -1),
                   dim_sub(m, size, dim_int(m, 1)));
        e = position(m, end, size, -1);
        len = dim_sub(m, s, e);
    }
    if (len == DIM_UNKNOWN)
        return DIM_UNKNOWN;
    len = floor_at(m, len, 0);
    step = step < 0 ? -step : step;
    step = step > FAR_END ? FAR_END : step; /* longer than any size */
    return step == 1 ? len : dim_ceil_div(m, len, dim_int(m, step));
}

static int64_t step_of(const node *n, uint32_t i)
{
    const attr *a = node_attr(n, "steps");

    return attr_is_set(n, "steps") ? a->u.ints.p[i] : 1;
}

static hull_status check_attrs(const node *n, uint32_t count)
{
    char what[128];
    const attr *s = node_attr(n, "starts"), *e = node_attr(n, "ends");

    if (s->u.dims.n != count || e->u.dims.n != count ||
        (attr_is_set(n, "steps") && node_attr(n, "steps")->u.ints.n != count))
        return fail(HULL_ESHAPE, "%s: %u axes with %u starts and %u ends",
                    node_what(n, what), count, s->u.dims.n, e->u.dims.n);
    for (uint32_t i = 0; i < count; i++) {
        int64_t step = step_of(n, i);

        if (step == 0 || step == INT64_MIN)
            return fail(HULL_ESHAPE, "%s: step %u is %" PRId64,
                        node_what(n, what), i, step);
    }
    return HULL_OK;
}

/* A symbolic bound that is provably negative becomes its position, because
 * only sizes can be evaluated in a run. True when `bound` changed. */
static bool settle_bound(ir *m, dim *bound, dim size, int64_t step)
{
    int64_t lo, hi;

    if (step < 0 || *bound == DIM_UNKNOWN || size == DIM_UNKNOWN ||
        dim_is_int(m, *bound, &lo))
        return false;
    dim_range(m, *bound, &lo, &hi);
    if (hi >= 0)
        return false;
    *bound = position(m, *bound, size, 0);
    return true;
}

hull_status slice_infer(graph *g, node *n)
{
    const type *x;
    const attr *axes = node_attr(n, "axes");
    char what[128];
    dim dims[HULL_MAX_RANK], starts[HULL_MAX_RANK], ends[HULL_MAX_RANK];
    bool seen[HULL_MAX_RANK] = { false };
    bool changed = false;
    uint32_t count = axes->u.ints.n;

    TRY(infer_tensor(&x, g, n, 0));
    if (count > x->rank)
        return fail(HULL_ESHAPE, "%s: %u axes on an operand of rank %u",
                    node_what(n, what), count, x->rank);
    TRY(check_attrs(n, count));
    for (uint32_t i = 0; i < x->rank; i++)
        dims[i] = x->dims[i];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t axis;
        int64_t step = step_of(n, i);

        TRY(infer_axis(&axis, n, axes->u.ints.p[i], x->rank));
        if (seen[axis])
            return fail(HULL_ESHAPE, "%s: axis %u occurs twice",
                        node_what(n, what), axis);
        seen[axis] = true;
        starts[i] = node_attr(n, "starts")->u.dims.p[i];
        ends[i] = node_attr(n, "ends")->u.dims.p[i];
        changed |= settle_bound(g->m, &starts[i], dims[axis], step);
        changed |= settle_bound(g->m, &ends[i], dims[axis], step);
        dims[axis] =
            slice_size(g->m, dims[axis], starts[i], ends[i], step);
    }
    if (changed) {
        node_dims(g, n, "starts", starts, count);
        node_dims(g, n, "ends", ends, count);
    }
    return infer_out(g, n, 0, x->dtype, dims, x->rank);
}

/* Numbers of a slice: first position and how many. */
static void concrete(int64_t size, int64_t step, int64_t *start, int64_t end,
                     int64_t *out_len)
{
    int64_t least = step < 0 ? -1 : 0, most = step < 0 ? size - 1 : size;
    uint64_t span, by = step < 0 ? 0 - (uint64_t)step : (uint64_t)step;
    int64_t s = *start < 0 ? *start + size : *start;
    int64_t e = end < 0 ? end + size : end;

    s = s < least ? least : s > most ? most : s;
    e = e < least ? least : e > most ? most : e;
    *start = s;
    *out_len = 0;
    if (step > 0 ? e <= s : e >= s)
        return;
    span = (uint64_t)(step > 0 ? e - s : s - e);
    *out_len = (int64_t)((span - 1) / by + 1);
}

hull_status slice_side(side *src, int64_t *shape, eval_ctx *cx, const node *n,
                       const tensor *in)
{
    const attr *axes = node_attr(n, "axes");

    *src = data_side(in);
    for (uint32_t i = 0; i < in->rank; i++)
        shape[i] = in->shape[i];
    for (uint32_t i = 0; i < axes->u.ints.n; i++) {
        int64_t step = step_of(n, i), start, end;
        uint32_t axis;

        TRY(infer_axis(&axis, n, axes->u.ints.p[i], in->rank));
        TRY(data_dim(&start, cx, node_attr(n, "starts")->u.dims.p[i]));
        TRY(data_dim(&end, cx, node_attr(n, "ends")->u.dims.p[i]));
        concrete(in->shape[axis], step, &start, end, &shape[axis]);
        if (shape[axis] == 0)
            continue;
        src->off += start * src->strides[axis];
        src->strides[axis] *= shape[axis] > 1 ? step : 1;
    }
    return HULL_OK;
}

hull_status slice_eval(eval_ctx *cx, const node *n, const tensor *in,
                       tensor *out)
{
    side src, dst = data_side(out);
    int64_t shape[HULL_MAX_RANK];

    TRY(slice_side(&src, shape, cx, n, in));
    TRY(data_want_shape(n, out, shape, in->rank));
    data_strided(in->dtype, shape, in->rank, &dst, &src);
    return HULL_OK;
}
