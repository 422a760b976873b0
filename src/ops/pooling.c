/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pooling.c - max_pool, max_pool_index, avg_pool, adaptive_avg_pool, and two of
 * them on images with channels last. Every axis gets a table of spans (the
 * input range of each output place); one loop serves all of them. A window
 * never starts beyond the input and its left padding, also when sizes are
 * rounded up.
 */
#include "ops/family.h"

#include <inttypes.h>
#include <math.h>

/* What a pool has besides its window. */
typedef struct pool_window {
    window w;
    bool ceil;
    int64_t kernel[SPATIAL_MAX];
} pool_window;

static hull_status pool_read(pool_window *out, const node *n, uint32_t rank)
{
    char what[128];

    if (rank < 3)
        return fail(HULL_ESHAPE, "%s: input of rank %" PRIu32
                    ", wanted 3 or more", node_what(n, what), rank);
    *out = (pool_window){.ceil = attr_bool(n, "ceil")};
    TRY(window_ints(out->kernel, n, "kernel", rank - 2, 1, 0));
    return window_read(&out->w, n, rank - 2);
}

/* ---- shapes -------------------------------------------------------------- */

static dim pooled_size(ir *m, const pool_window *p, uint32_t i, dim in)
{
    const window *w = &p->w;
    int64_t reach = w->dilation[i] * (p->kernel[i] - 1) + 1;
    dim slack = dim_add(m, in,
                        dim_int(m, w->before[i] + w->after[i] - reach));
    dim floor_size = dim_add(m, dim_div(m, slack, w->stride[i]), 1);

    if (!p->ceil)
        return floor_size;
    return dim_min(m, dim_add(m, dim_ceil_div(m, slack, w->stride[i]), 1),
                   dim_ceil_div(m, dim_add(m, in, w->before[i]),
                                w->stride[i]));
}

static hull_status infer_adaptive(graph *g, node *n, const type *x)
{
    const attr *a = node_attr(n, "out");
    dim dims[HULL_MAX_RANK];
    char what[128];

    if (a->u.ints.n == 0 || a->u.ints.n > x->rank ||
        a->u.ints.n > SPATIAL_MAX)
        return fail(HULL_ESHAPE, "%s: %" PRIu32 " output sizes for rank %"
                    PRIu32, node_what(n, what), a->u.ints.n, x->rank);
    for (uint32_t i = 0; i < x->rank; i++) {
        uint32_t first = x->rank - a->u.ints.n;

        dims[i] = i < first ? x->dims[i]
                            : dim_int(g->m, a->u.ints.p[i - first]);
        if (i >= first && a->u.ints.p[i - first] < 0)
            return fail(HULL_EINVAL, "%s: output size %" PRId64,
                        node_what(n, what), a->u.ints.p[i - first]);
    }
    return infer_out(g, n, 0, x->dtype, dims, x->rank);
}

static bool channels_last(const node *n)
{
    return n->op == OP_max_pool_nhwc || n->op == OP_avg_pool_nhwc;
}

static bool takes_maximum(const node *n)
{
    return n->op == OP_max_pool || n->op == OP_max_pool_nhwc ||
           n->op == OP_max_pool_index;
}

hull_status pooling_infer(graph *g, node *n)
{
    uint32_t first = channels_last(n) ? 1 : 2; /* spatial axis */
    const type *x = NULL;
    dim dims[HULL_MAX_RANK];
    char what[128];
    pool_window p;

    TRY(infer_tensor(&x, g, n, 0));
    bool indices = n->op == OP_max_pool_index;
    TRY(infer_want(n, x, takes_maximum(n) ? WANT_FLOAT | WANT_INT
                                          : WANT_FLOAT));
    if (n->op == OP_adaptive_avg_pool)
        return infer_adaptive(g, n, x);
    TRY(pool_read(&p, n, x->rank));
    for (uint32_t i = 0; i < x->rank; i++)
        dims[i] = x->dims[i];
    for (uint32_t i = 0; i < p.w.n; i++) {
        int64_t size = 0;

        dims[first + i] = pooled_size(g->m, &p, i, x->dims[first + i]);
        if (dim_is_int(g->m, dims[first + i], &size) && size < 1)
            return fail(HULL_ESHAPE, "%s: spatial axis %" PRIu32
                        " would have size %" PRId64, node_what(n, what), i,
                        size);
    }
    return infer_out(g, n, 0, indices ? HULL_I64 : x->dtype, dims, x->rank);
}

/* ---- kernel -------------------------------------------------------------- */

/* Input places first, first + step, .. (count of them) of one output place;
 * `area` is what they count for in an average. */
typedef struct span {
    int64_t first, count, area;
} span;

typedef struct plan {
    uint32_t n;
    int64_t in[SPATIAL_MAX], out[SPATIAL_MAX], step[SPATIAL_MAX];
    int64_t in_stride[SPATIAL_MAX];
    span *spans[SPATIAL_MAX];
} plan;

/* How many of 0, 1, .. below `most` have start + k * step < end. */
static int64_t count_below(int64_t start, int64_t step, int64_t end,
                           int64_t most)
{
    int64_t n = end <= start ? 0 : (end - start - 1) / step + 1;

    return n < most ? n : most;
}

static span window_span(const pool_window *p, uint32_t i, int64_t in,
                        int64_t at, bool count_pad)
{
    const window *w = &p->w;
    int64_t start = at * w->stride[i] - w->before[i], step = w->dilation[i];
    int64_t skip = count_below(start, step, 0, p->kernel[i]);
    int64_t count = count_below(start, step, in, p->kernel[i]) - skip;
    int64_t padded = count_below(start, step, in + w->after[i], p->kernel[i]);

    return (span){start + skip * step, count, count_pad ? padded : count};
}

static hull_status make_plan(plan *p, eval_ctx *cx, const node *n,
                             const tensor *x, const tensor *out)
{
    bool adaptive = n->op == OP_adaptive_avg_pool;
    bool count_pad = !adaptive && !takes_maximum(n) &&
                     attr_bool(n, "count_pad");
    uint32_t last = channels_last(n) ? 1 : 0;
    pool_window w = {0};
    uint32_t n_axes = adaptive ? node_attr(n, "out")->u.ints.n : x->rank - 2;
    int64_t stride = last == 1 ? x->shape[x->rank - 1] : 1;

    if (!adaptive)
        TRY(pool_read(&w, n, x->rank));
    *p = (plan){.n = n_axes};
    for (uint32_t i = n_axes; i-- > 0;) {
        int64_t in = x->shape[x->rank - last - n_axes + i];
        int64_t size = out->shape[out->rank - last - n_axes + i];

        p->in[i] = in;
        p->out[i] = size;
        p->step[i] = adaptive ? 1 : w.w.dilation[i];
        p->in_stride[i] = stride;
        stride *= in;
        p->spans[i] = arena_array(cx->scratch, (size_t)size + 1, sizeof(span));
        if (!p->spans[i])
            return fail_oom((size_t)size * sizeof(span));
        for (int64_t at = 0; at < size; at++) {
            span *s = &p->spans[i][at];

            if (adaptive) {
                s->first = at * in / size;
                s->count = s->area = ((at + 1) * in + size - 1) / size -
                                     s->first;
            } else {
                *s = window_span(&w, i, in, at, count_pad);
            }
        }
    }
    return HULL_OK;
}

/* Extreme and sum over one window, in input order. */
typedef struct found {
    double max, sum;
    int64_t int_max, at; /* at: of the maximum */
    bool seen;
} found;

static void see(found *f, const tensor *x, int64_t at)
{
    if (dtype_is_float(x->dtype)) {
        double v = load_f64(x->dtype, x->data, (uint64_t)at);

        f->sum += v;
        if (!f->seen || v > f->max || (isnan(v) && !isnan(f->max))) {
            f->max = v;
            f->at = at;
        }
    } else {
        int64_t v = load_i64(x->dtype, x->data, (uint64_t)at);
        bool more = x->dtype == HULL_U64
                        ? (uint64_t)v > (uint64_t)f->int_max
                        : v > f->int_max;

        if (!f->seen || more) {
            f->int_max = v;
            f->at = at;
        }
    }
    f->seen = true;
}

static found scan_window(const plan *p, const int64_t *place, const tensor *x,
                         int64_t base, int64_t *out_area)
{
    int64_t index[SPATIAL_MAX] = {0}, counts[SPATIAL_MAX], numel = 1;
    found f = {.max = -INFINITY};

    *out_area = 1;
    for (uint32_t i = 0; i < p->n; i++) {
        const span *s = &p->spans[i][place[i]];

        counts[i] = s->count;
        numel *= s->count;
        *out_area *= s->area;
        base += s->first * p->in_stride[i];
    }
    if (numel == 0)
        return f;
    do {
        int64_t at = base;

        for (uint32_t i = 0; i < p->n; i++)
            at += index[i] * p->step[i] * p->in_stride[i];
        see(&f, x, at);
    } while (index_next(index, counts, p->n));
    return f;
}

/* The window of one result, at element `to`. */
static void pool_one(const node *n, const plan *p, const int64_t *place,
                     const tensor *x, int64_t base, tensor *out, uint64_t to)
{
    int64_t area = 0;
    found f = scan_window(p, place, x, base, &area);

    if (n->op == OP_max_pool_index)
        store_i64(HULL_I64, out->data, to, f.seen ? f.at : -1);
    else if (!takes_maximum(n))
        store_f64(out->dtype, out->data, to, f.sum / (double)area);
    else if (!f.seen)
        store_bound(out->dtype, out->data, to, true);
    else if (dtype_is_float(out->dtype))
        store_f64(out->dtype, out->data, to, f.max);
    else
        store_i64(out->dtype, out->data, to, f.int_max);
}

hull_status pooling_eval(eval_ctx *cx, const node *n, const tensor *in,
                         tensor *out)
{
    int64_t place[SPATIAL_MAX] = {0}, numel = tensor_numel(out), base = 0;
    int64_t in_plane = 1, out_plane = 1, inner = 1;
    plan p;

    if (numel == 0)
        return HULL_OK;
    TRY(make_plan(&p, cx, n, &in[0], out));
    if (channels_last(n))
        inner = out->shape[out->rank - 1];
    for (uint32_t i = 0; i < p.n; i++) {
        in_plane *= p.in[i];
        out_plane *= p.out[i];
    }
    for (int64_t to = 0; to < numel; to += inner) {
        if (to > 0 && to / inner % out_plane == 0)
            base += in_plane * inner;
        for (int64_t c = 0; c < inner; c++)
            pool_one(n, &p, place, &in[0], base + c, out, (uint64_t)(to + c));
        index_next(place, p.out, p.n);
    }
    return HULL_OK;
}
