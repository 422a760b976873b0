/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * roi.c - roi_align and roi_pool: regions of images to tensors of one size.
 * Regions are data, so how many places of the image a result reads is too;
 * it is bounded. Coordinates of a region are computed in the operands' own
 * precision, since they are rounded to places.
 */
#include "ops/data.h"

#include <inttypes.h>
#include <math.h>

/* Places that one result may read in each direction. */
#define GRID_MAX 4096

hull_status roi_infer(graph *g, node *n)
{
    const attr *out = node_attr(n, "out");
    const type *x = NULL, *rois = NULL, *batch = NULL;
    int64_t columns = n->op == OP_roi_align ? 4 : 5, have = columns;
    char what[128];
    dim same;

    TRY(infer_tensor(&x, g, n, 0));
    TRY(infer_tensor(&rois, g, n, 1));
    if (x->rank != 4 || rois->rank != 2 || !dtype_is_float(x->dtype) ||
        rois->dtype != x->dtype ||
        (dim_is_int(g->m, rois->dims[1], &have) && have != columns))
        return fail(HULL_ESHAPE, "%s: %s of rank %" PRIu32 " and regions %s of "
                    "rank %" PRIu32 " with %" PRId64 " columns, want one float "
                    "type, ranks 4 and 2, %" PRId64 " columns",
                    node_what(n, what), hull_dtype_name(x->dtype), x->rank,
                    hull_dtype_name(rois->dtype), rois->rank, have, columns);
    dim count = rois->dims[0];
    if (n->op == OP_roi_align) {
        TRY(data_index_type(&batch, g, n, 2));
        if (batch->rank != 1)
            return fail(HULL_ESHAPE, "%s: batch indices of rank %" PRIu32
                        ", want 1", node_what(n, what), batch->rank);
        TRY(data_agree(&same, g, n, "the regions", count, batch->dims[0]));
        count = same;
        if (attr_int(n, "samples") < 0 || attr_int(n, "samples") > GRID_MAX)
            return fail(HULL_EINVAL, "%s: samples is %" PRId64 ", want 0 to %d",
                        node_what(n, what), attr_int(n, "samples"), GRID_MAX);
    }
    if (out->u.ints.n != 2 || out->u.ints.p[0] < 1 || out->u.ints.p[1] < 1)
        return fail(HULL_EINVAL, "%s: 'out' is not two sizes of 1 or more",
                    node_what(n, what));
    dim dims[4] = {count, x->dims[1], dim_int(g->m, out->u.ints.p[0]),
                   dim_int(g->m, out->u.ints.p[1])};
    return infer_out(g, n, 0, x->dtype, dims, 4);
}

/* In the precision of the operands: f32 also stands for the smaller ones. */
static double narrow(hull_dtype dt, double v)
{
    return dt == HULL_F64 ? v : (double)(float)v;
}

/* One axis of one region. */
typedef struct side_of {
    double start, bin; /* of the region, of a result's part */
    int64_t in, out, grid;
} side_of;

static hull_status align_side(side_of *s, const node *n, const tensor *rois,
                              int64_t r, int64_t column)
{
    hull_dtype dt = rois->dtype;
    double scale = narrow(dt, attr_float(n, "scale"));
    bool half = attr_bool(n, "half_pixel");
    double low = load_f64(dt, rois->data, (uint64_t)(4 * r + column));
    double high = load_f64(dt, rois->data, (uint64_t)(4 * r + column + 2));
    int64_t samples = attr_int(n, "samples");
    char what[128];

    low = narrow(dt, narrow(dt, low * scale) - (half ? 0.5 : 0));
    high = narrow(dt, narrow(dt, high * scale) - (half ? 0.5 : 0));
    double size = narrow(dt, high - low);
    if (!half && !(size > 1))
        size = 1;
    s->start = low;
    s->bin = narrow(dt, size / (double)s->out);
    double grid = samples ? (double)samples : ceil(s->bin);
    if (!(grid <= GRID_MAX) || !isfinite(low) || !isfinite(high))
        return fail(HULL_EINVAL, "%s: region %" PRId64 " from %g to %g is not "
                    "finite or too large", node_what(n, what), r, low, high);
    s->grid = grid > 0 ? (int64_t)grid : 0;
    return HULL_OK;
}

/* The two places around sample k of part p and the weight of the second; false
 * when the sample is outside the image. */
static bool place(const side_of *s, int64_t p, int64_t k, int64_t at[2],
                  double *weight)
{
    double v = s->start + (double)p * s->bin +
               ((double)k + 0.5) * s->bin / (double)s->grid;

    if (!(v >= -1 && v <= (double)s->in) || s->in == 0)
        return false;
    v = v > 0 ? v : 0;
    at[0] = (int64_t)v;
    at[1] = at[0] + 1;
    if (at[0] >= s->in - 1) {
        at[0] = at[1] = s->in - 1;
        v = (double)at[0];
    }
    *weight = v - (double)at[0];
    return true;
}

/* Four neighbours: their weighted sum, or the largest of them weighted. */
static double sample(const tensor *x, int64_t plane, const int64_t *ys,
                     const int64_t *xs, double ly, double lx, bool max)
{
    double v[4], top;

    for (int i = 0; i < 4; i++)
        v[i] = load_f64(x->dtype, x->data,
                        (uint64_t)((plane * x->shape[2] + ys[i / 2]) *
                                       x->shape[3] + xs[i % 2]));
    v[0] *= (1 - ly) * (1 - lx);
    v[1] *= (1 - ly) * lx;
    v[2] *= ly * (1 - lx);
    v[3] *= ly * lx;
    if (!max)
        return v[0] + v[1] + v[2] + v[3];
    top = v[0];
    for (int i = 1; i < 4; i++)
        top = v[i] > top || isnan(v[i]) ? v[i] : top;
    return top;
}

static double align_part(const tensor *x, int64_t plane, const side_of *h,
                         const side_of *w, int64_t py, int64_t px, bool max)
{
    int64_t ys[2] = {0}, xs[2] = {0}, count = h->grid * w->grid;
    double ly = 0, lx = 0, sum = 0;
    bool first = true;

    for (int64_t i = 0; i < h->grid; i++) {
        bool inside = place(h, py, i, ys, &ly);

        for (int64_t k = 0; k < w->grid; k++) {
            double v = 0;

            if (place(w, px, k, xs, &lx) && inside)
                v = sample(x, plane, ys, xs, ly, lx, max);
            if (!max)
                sum += v;
            else if (first || v > sum || isnan(v))
                sum = v;
            first = false;
        }
    }
    return max || count == 0 ? sum : sum / (double)count;
}

static hull_status align_eval(const node *n, const tensor *in, tensor *out)
{
    const tensor *x = &in[0], *rois = &in[1], *batch = &in[2];
    bool max = attr_bool(n, "max");
    int64_t channels = x->shape[1], b = 0, at = 0;

    TRY(data_want_numel(n, batch, rois->shape[0]));
    for (int64_t r = 0; r < rois->shape[0]; r++) {
        side_of h = {.in = x->shape[2], .out = out->shape[2]};
        side_of w = {.in = x->shape[3], .out = out->shape[3]};

        TRY(data_index(&b, n, batch, r, x->shape[0]));
        TRY(align_side(&h, n, rois, r, 1));
        TRY(align_side(&w, n, rois, r, 0));
        for (int64_t c = 0; c < channels; c++)
            for (int64_t i = 0; i < h.out * w.out; i++)
                store_f64(out->dtype, out->data, (uint64_t)at++,
                          align_part(x, b * channels + c, &h, &w, i / w.out,
                                     i % w.out, max));
    }
    return HULL_OK;
}

/* ---- roi_pool ------------------------------------------------------------ */

/* Rounded start, and the part's size in places. */
static hull_status pool_side(side_of *s, const node *n, const tensor *rois,
                             int64_t r, int64_t column)
{
    hull_dtype dt = rois->dtype;
    double scale = narrow(dt, attr_float(n, "scale"));
    double low = load_f64(dt, rois->data, (uint64_t)(5 * r + column));
    double high = load_f64(dt, rois->data, (uint64_t)(5 * r + column + 2));
    char what[128];

    low = round(narrow(dt, low * scale));
    high = round(narrow(dt, high * scale));
    if (!(fabs(low) < INT32_MAX && fabs(high) < INT32_MAX))
        return fail(HULL_EINVAL, "%s: region %" PRId64 " from %g to %g is not "
                    "finite or too large", node_what(n, what), r, low, high);
    s->start = low;
    s->bin = narrow(dt, (high - low < 0 ? 1 : high - low + 1) /
                            (double)s->out);
    return HULL_OK;
}

/* Places [from, to) of part p. */
static void pool_span(hull_dtype dt, const side_of *s, int64_t p,
                      int64_t *from, int64_t *to)
{
    double in = (double)s->in;
    double low = s->start + floor(narrow(dt, (double)p * s->bin));
    double high = s->start + ceil(narrow(dt, (double)(p + 1) * s->bin));

    *from = (int64_t)fmin(fmax(low, 0), in);
    *to = (int64_t)fmin(fmax(high, 0), in);
}

static double pool_part(const tensor *x, int64_t plane, const side_of *h,
                        const side_of *w, int64_t py, int64_t px)
{
    int64_t y0, y1, x0, x1;
    double top = 0;
    bool first = true;

    pool_span(x->dtype, h, py, &y0, &y1);
    pool_span(x->dtype, w, px, &x0, &x1);
    for (int64_t i = y0; i < y1; i++) {
        for (int64_t k = x0; k < x1; k++) {
            double v = load_f64(x->dtype, x->data,
                                (uint64_t)((plane * h->in + i) * w->in + k));

            if (first || v > top || isnan(v))
                top = v;
            first = false;
        }
    }
    return top;
}

static hull_status pool_eval(const node *n, const tensor *in, tensor *out)
{
    const tensor *x = &in[0], *rois = &in[1];
    int64_t channels = x->shape[1], at = 0;
    char what[128];

    for (int64_t r = 0; r < rois->shape[0]; r++) {
        side_of h = {.in = x->shape[2], .out = out->shape[2]};
        side_of w = {.in = x->shape[3], .out = out->shape[3]};
        double batch = load_f64(rois->dtype, rois->data, (uint64_t)(5 * r));

        if (!(batch >= 0 && batch < (double)x->shape[0]))
            return fail(HULL_EINVAL, "%s: region %" PRId64 " is of image %g of "
                        "%" PRId64, node_what(n, what), r, batch, x->shape[0]);
        TRY(pool_side(&h, n, rois, r, 2));
        TRY(pool_side(&w, n, rois, r, 1));
        for (int64_t c = 0; c < channels; c++)
            for (int64_t i = 0; i < h.out * w.out; i++)
                store_f64(out->dtype, out->data, (uint64_t)at++,
                          pool_part(x, (int64_t)batch * channels + c, &h, &w,
                                    i / w.out, i % w.out));
    }
    return HULL_OK;
}

hull_status roi_eval(eval_ctx *cx, const node *n, const tensor *in,
                     tensor *out)
{
    const attr *a = node_attr(n, "out");
    int64_t columns = n->op == OP_roi_align ? 4 : 5;
    int64_t count = in[1].shape[0];

    (void)cx;
    TRY(data_want_shape(n, out, (int64_t[]){ count, in[0].shape[1],
                                             a->u.ints.p[0], a->u.ints.p[1] },
                        4));
    TRY(data_want_shape(n, &in[1], (int64_t[]){ count, columns }, 2));
    if (tensor_numel(out) == 0)
        return HULL_OK;
    return n->op == OP_roi_align ? align_eval(n, in, out)
                                 : pool_eval(n, in, out);
}
