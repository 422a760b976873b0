/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * panels.c - a weight in panels of `tile` columns, as the ops of packed.c read
 * it. What is short of a whole panel is 0. A scale [groups * m] multiplies the
 * columns of axis 0, as a folded batch norm does; the product is rounded.
 *
 * axis 0  x [groups * m, c, *] -> y [groups * ceil(m / tile), taps * c, tile]:
 *         y[g, p][tap * c + ch, t] = x[g, p * tile + t][ch, tap]
 * axis 1  x [k, n] -> y [ceil(n / tile), k, tile]:
 *         y[p, k, t] = x[k, p * tile + t]
 *         With depth d >= k, x is the first rows of more: y is [.., d, tile],
 *         and its rows from k on are left as they are. So a fill makes a slot
 *         a few rows at a time (run/fill.c); where y has no bytes yet those
 *         rows are anything.
 */
#include "ops/data.h"
#include "ops/family.h"

#include <inttypes.h>
#include <string.h>

static hull_status pack_attrs(const node *n, int64_t *axis, int64_t *tile,
                              int64_t *groups)
{
    char what[128];

    int64_t depth = attr_int(n, "depth");

    *axis = attr_int(n, "axis");
    *tile = attr_int(n, "tile");
    *groups = attr_int(n, "groups");
    if (*axis < 0 || *axis > 1 || *tile < 1 || *tile > 4096 || *groups < 1 ||
        depth < 0 || (depth > 0 && *axis == 0))
        return fail(HULL_EINVAL, "%s: axis is %" PRId64 ", tile is %" PRId64
                    ", groups is %" PRId64 ", depth is %" PRId64,
                    node_what(n, what), *axis, *tile, *groups, depth);
    return HULL_OK;
}

hull_status infer_scale(graph *g, const node *n, const type *x)
{
    const type *s;
    char what[128];

    if (!node_has(n, 1))
        return HULL_OK;
    TRY(infer_tensor(&s, g, n, 1));
    TRY(infer_want(n, x, WANT_FLOAT));
    TRY(infer_same(n, x, s));
    if (s->rank != 1)
        return fail(HULL_ESHAPE, "%s: scale of rank %" PRIu32 ", wanted 1",
                    node_what(n, what), s->rank);
    return infer_equal(g, n, s->dims[0], x->dims[0], "sizes of scale and rows");
}

hull_status panels_infer(graph *g, node *n)
{
    int64_t axis, tile, groups, size;
    const type *x;
    char what[128];
    dim dims[3], columns;

    TRY(infer_tensor(&x, g, n, 0));
    TRY(infer_want(n, x, WANT_REAL));
    TRY(pack_attrs(n, &axis, &tile, &groups));
    TRY(infer_scale(g, n, x));
    if (axis == 1 ? x->rank != 2 || groups != 1 || node_has(n, 1)
                  : x->rank < 2)
        return fail(HULL_ESHAPE, "%s: axis %" PRId64 " of rank %" PRIu32
                    " in %" PRId64 " groups%s", node_what(n, what), axis,
                    x->rank, groups, node_has(n, 1) ? " with a scale" : "");
    if (dim_is_int(g->m, x->dims[axis], &size) && size % groups != 0)
        return fail(HULL_ESHAPE, "%s: %" PRId64 " rows in %" PRId64 " groups",
                    node_what(n, what), size, groups);
    columns = dim_div(g->m, x->dims[axis], groups);
    columns = dim_div(g->m, dim_add(g->m, columns, tile - 1), tile);
    dims[0] = dim_mul(g->m, columns, groups);
    dims[1] = x->dims[1 - axis];
    for (uint32_t i = 2; i < x->rank; i++)
        dims[1] = dim_mul(g->m, dims[1], x->dims[i]);
    if (attr_int(n, "depth") > 0)
        dims[1] = attr_int(n, "depth");
    dims[2] = tile;
    return infer_out(g, n, 0, x->dtype, dims, 3);
}

hull_status pack_walk_open(pack_walk *w, const node *n, const tensor *in,
                           const tensor *out)
{
    int64_t shape[3] = {0, in->shape[1], 0};

    TRY(pack_attrs(n, &w->axis, &w->tile, &w->groups));
    w->channels = in->shape[1];
    w->taps = data_product(in->shape, 2, in->rank);
    w->columns = in->shape[w->axis] / w->groups;
    if (w->axis == 1)
        shape[1] = w->channels = in->shape[0];
    else
        shape[1] *= w->taps;
    w->depth = attr_int(n, "depth") > 0 ? attr_int(n, "depth") : shape[1];
    if (w->depth < shape[1])
        return fail(HULL_ESHAPE, "pack: %" PRId64 " rows, depth is %" PRId64,
                    shape[1], w->depth);
    shape[1] = w->depth;
    w->panels = (w->columns + w->tile - 1) / w->tile;
    shape[0] = w->groups * w->panels;
    shape[2] = w->tile;
    return data_want_shape(n, out, shape, 3);
}

double scaled_at(const tensor *w, const tensor *scale, int64_t row, int64_t at)
{
    double v = load_f64(w->dtype, w->data, (uint64_t)at);
    uint64_t bits[2];

    if (scale == NULL)
        return v;
    store_f64(w->dtype, bits, 0,
              v * load_f64(scale->dtype, scale->data, (uint64_t)row));
    return load_f64(w->dtype, bits, 0);
}

hull_status panels_eval(eval_ctx *cx, const node *n, const tensor *in,
                      tensor *out)
{
    int64_t depth, width = hull_dtype_bits(out->dtype) / 8;
    pack_walk w;

    (void)cx;
    TRY(pack_walk_open(&w, n, in, out));
    depth = w.taps * w.channels;
    if (tensor_numel(out) == 0)
        return HULL_OK;
    for (int64_t p = 0; p < w.groups * w.panels; p++)
        memset((char *)out->data + (size_t)(p * w.depth * w.tile * width), 0,
               (size_t)(depth * w.tile * width));
    for (int64_t r = 0; r < w.groups * w.columns; r++)
        for (int64_t k = 0; k < depth; k++) {
            int64_t column = r % w.columns;
            int64_t p = r / w.columns * w.panels + column / w.tile;
            int64_t row = k % w.taps * w.channels + k / w.taps;
            int64_t to = (p * w.depth + row) * w.tile + column % w.tile;
            int64_t from = w.axis == 0 ? r * depth + k : k * w.columns + r;

            if (node_has(n, 1))
                store_f64(out->dtype, out->data, (uint64_t)to,
                          scaled_at(in, &in[1], r, from));
            else
                data_copy(out->dtype, out->data, to, in->data, from);
        }
    return HULL_OK;
}
