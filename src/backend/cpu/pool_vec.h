/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pool_vec.h - max_pool and avg_pool of f32 images with one or two spatial
 * axes: vectors of channels where these are last, else one tap after the other.
 */
#include "backend/cpu/cpu.h"
#include "backend/cpu/vec.h"
#include "ops/family.h"

#include <math.h>

/* Inputs first, first + step, .. (count of them) of one output place; area is
 * what they count for in an average. */
typedef struct pool_span {
    int64_t first, count, area;
} pool_span;

typedef struct pooling {
    const float *x;
    float *y;
    int64_t h, w, c;          /* of the input; c = 1 for planes */
    int64_t oh, ow;
    int64_t step_y, step_x, taps_x;
    const window *places;
    pool_span *rows, *columns;
    bool max;
} pooling;

/* How many of 0, 1, .. below `most` have start + k * step < end. */
static int64_t taps_below(int64_t start, int64_t step, int64_t end,
                          int64_t most)
{
    int64_t n = end <= start ? 0 : (end - start - 1) / step + 1;

    return n < most ? n : most;
}

static pool_span *pool_spans(eval_ctx *cx, const window *w, uint32_t i,
                             int64_t in, int64_t out, int64_t kernel,
                             bool count_pad)
{
    pool_span *s = arena_array(cx->scratch, (size_t)out + 1, sizeof *s);
    int64_t step = w->dilation[i];

    for (int64_t at = 0; s != NULL && at < out; at++) {
        int64_t start = at * w->stride[i] - w->before[i];
        int64_t skip = taps_below(start, step, 0, kernel);

        s[at].first = start + skip * step;
        s[at].count = taps_below(start, step, in, kernel) - skip;
        s[at].area = count_pad ? taps_below(start, step, in + w->after[i],
                                            kernel)
                               : s[at].count;
    }
    return s;
}

/* ---- channels last ------------------------------------------------------- */

VEC_INLINE vec pool_vec(const pooling *p, const float *x, const pool_span *r,
                        const pool_span *c, int64_t some)
{
    vec all = vec_set(p->max ? -INFINITY : 0.0f);

    for (int64_t i = 0; i < r->count; i++) {
        const float *at = x + ((r->first + i * p->step_y) * p->w + c->first) *
                                  p->c;
        vec sum = vec_set(0.0f);

        for (int64_t k = 0; k < c->count; k++, at += p->step_x * p->c) {
            vec v = vec_load_some(at, some);

            if (p->max)
                all = vec_pick(vec_is_nan(v), v, vec_max(v, all));
            else
                sum = vec_add(sum, v);
        }
        if (!p->max)
            all = vec_add(all, sum);
    }
    return p->max ? all : vec_div(all, vec_set((float)(r->area * c->area)));
}

/* begin..end: rows of all results. */
static void pool_rows(void *user, int64_t begin, int64_t end)
{
    const pooling *p = user;

    for (; begin < end; begin++) {
        const float *x = p->x + begin / p->oh * p->h * p->w * p->c;
        const pool_span *r = &p->rows[begin % p->oh];
        float *y = p->y + begin * p->ow * p->c;

        for (int64_t o = 0; o < p->ow; o++, y += p->c) {
            const pool_span *c = &p->columns[o];
            int64_t k = 0;

            for (; k + VEC_LANES <= p->c; k += VEC_LANES)
                vec_store(y + k, pool_vec(p, x + k, r, c, VEC_LANES));
            if (k < p->c)
                vec_store_some(y + k, pool_vec(p, x + k, r, c, p->c - k),
                               p->c - k);
        }
    }
}

/* ---- planes -------------------------------------------------------------- */

/* One tap of all windows of a row: x[o * stride] joins y[o]. NaN wins, of
 * equal ones the first. */
static void pool_tap(float *restrict y, const float *restrict x, int64_t n,
                     int64_t stride, bool max)
{
    if (!max)
        for (int64_t o = 0; o < n; o++)
            y[o] += x[o * stride];
    else if (stride == 1)
        for (int64_t o = 0; o < n; o++)
            y[o] = (!(x[o] <= y[o]) & (y[o] == y[o])) ? x[o] : y[o];
    else
        for (int64_t o = 0; o < n; o++) {
            float v = x[o * stride];

            y[o] = (!(v <= y[o]) & (y[o] == y[o])) ? v : y[o];
        }
}

static void pool_plane_row(const pooling *p, const float *x, float *y,
                           const pool_span *r)
{
    const window *w = p->places;
    int64_t stride = w->stride[1];

    for (int64_t o = 0; o < p->ow; o++)
        y[o] = p->max ? -INFINITY : 0.0f;
    for (int64_t i = 0; i < r->count; i++) {
        const float *line = x + (r->first + i * p->step_y) * p->w;

        for (int64_t k = 0; k < p->taps_x; k++) {
            int64_t from = k * p->step_x - w->before[1]; /* of place 0 */
            int64_t low = taps_below(from, stride, 0, p->ow);
            int64_t high = taps_below(from, stride, p->w, p->ow);

            if (high > low)
                pool_tap(y + low, line + (from + low * stride), high - low,
                         stride, p->max);
        }
    }
    for (int64_t o = 0; !p->max && o < p->ow; o++)
        y[o] /= (float)(r->area * p->columns[o].area);
}

/* begin..end: rows of all planes. */
static void pool_planes(void *user, int64_t begin, int64_t end)
{
    const pooling *p = user;

    for (; begin < end; begin++)
        pool_plane_row(p, p->x + begin / p->oh * p->h * p->w,
                       p->y + begin * p->ow, &p->rows[begin % p->oh]);
}

hull_status VEC_NAME(cpu_pool)(eval_ctx *cx, const node *n, const tensor *in,
                               tensor *out)
{
    bool last = n->op == OP_max_pool_nhwc || n->op == OP_avg_pool_nhwc;
    uint32_t axes = in[0].rank - 2, x_axis = (last ? 1 : 2) + axes - 1;
    bool line = axes == 1; /* an image of one row */
    pooling p = {.x = in[0].data, .y = out->data,
                 .h = line ? 1 : in[0].shape[x_axis - 1],
                 .w = in[0].shape[x_axis],
                 .c = last ? in[0].shape[in[0].rank - 1] : 1,
                 .oh = line ? 1 : out->shape[x_axis - 1],
                 .ow = out->shape[x_axis]};
    int64_t kernel[SPATIAL_MAX];
    bool count_pad;
    window w;

    p.max = n->op == OP_max_pool || n->op == OP_max_pool_nhwc;
    if (tensor_numel(out) == 0)
        return HULL_OK;
    count_pad = !p.max && attr_bool(n, "count_pad");
    TRY(window_ints(kernel, n, "kernel", axes, 1, 0));
    TRY(window_read(&w, n, axes));
    if (line) {
        kernel[1] = kernel[0];
        w.stride[1] = w.stride[0];
        w.dilation[1] = w.dilation[0];
        w.before[1] = w.before[0];
        w.after[1] = w.after[0];
        kernel[0] = w.stride[0] = w.dilation[0] = 1;
        w.before[0] = w.after[0] = 0;
    }
    p.step_y = w.dilation[0];
    p.step_x = w.dilation[1];
    p.taps_x = kernel[1];
    p.places = &w;
    p.rows = pool_spans(cx, &w, 0, p.h, p.oh, kernel[0], count_pad);
    p.columns = pool_spans(cx, &w, 1, p.w, p.ow, kernel[1], count_pad);
    if (p.rows == NULL || p.columns == NULL)
        return fail_oom((size_t)(p.oh + p.ow) * sizeof *p.rows);
    cpu_parallel(cx, tensor_numel(out) / (p.ow * p.c), 1,
                 (double)p.ow * (double)p.c * (last ? 0.1 : 1) *
                     (double)(kernel[0] * kernel[1]),
                 last ? pool_rows : pool_planes, &p);
    return HULL_OK;
}
