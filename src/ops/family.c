/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * family.c - what several op families share: see family.h.
 */
#include "ops/family.h"

#include <inttypes.h>
#include <math.h>

hull_status infer_want(const node *n, const type *t, unsigned classes)
{
    char what[128];
    unsigned own = dtype_is_float(t->dtype) ? WANT_FLOAT
                   : dtype_is_int(t->dtype) ? WANT_INT
                   : t->dtype == HULL_BOOL  ? WANT_BOOL
                                            : 0;

    if (own & classes)
        return HULL_OK;
    return fail(HULL_ESHAPE, "%s: operand is %s, wanted %s%s%s",
                node_what(n, what), hull_dtype_name(t->dtype),
                classes & WANT_FLOAT ? "float " : "",
                classes & WANT_INT ? "integer " : "",
                classes & WANT_BOOL ? "bool" : "");
}

hull_status infer_same(const node *n, const type *a, const type *b)
{
    char what[128];

    if (a->dtype == b->dtype)
        return HULL_OK;
    return fail(HULL_ESHAPE, "%s: operands are %s and %s, wanted one dtype",
                node_what(n, what), hull_dtype_name(a->dtype),
                hull_dtype_name(b->dtype));
}

hull_status infer_equal(graph *g, const node *n, dim a, dim b,
                        const char *what)
{
    char name[128];
    int64_t va = 0, vb = 0;

    if (!dim_is_int(g->m, a, &va) || !dim_is_int(g->m, b, &vb) || va == vb)
        return HULL_OK;
    return fail(HULL_ESHAPE, "%s: %s are %" PRId64 " and %" PRId64
                ", wanted equal", node_what(n, name), what, va, vb);
}

hull_status window_ints(int64_t *out, const node *n, const char *name,
                        uint32_t count, int64_t low, int64_t preset)
{
    const attr *a = node_attr(n, name);
    char what[128];

    for (uint32_t i = 0; i < count; i++)
        out[i] = preset;
    if (a->u.ints.n == 0 && preset >= low)
        return HULL_OK;
    if (a->u.ints.n != count)
        return fail(HULL_ESHAPE, "%s: %" PRIu32 " values of '%s', wanted %"
                    PRIu32, node_what(n, what), a->u.ints.n, name, count);
    for (uint32_t i = 0; i < count; i++) {
        out[i] = a->u.ints.p[i];
        if (out[i] < low || out[i] > INT32_MAX)
            return fail(HULL_EINVAL, "%s: '%s' is %" PRId64 ", wanted %" PRId64
                        " to %d", node_what(n, what), name, out[i], low,
                        INT32_MAX);
    }
    return HULL_OK;
}

hull_status window_read(window *out, const node *n, uint32_t n_axes)
{
    int64_t pad[2 * SPATIAL_MAX];

    *out = (window){.n = n_axes};
    TRY(window_ints(out->stride, n, "stride", n_axes, 1, 1));
    TRY(window_ints(out->dilation, n, "dilation", n_axes, 1, 1));
    TRY(window_ints(pad, n, "pad", 2 * n_axes, 0, 0));
    for (uint32_t i = 0; i < n_axes; i++) {
        out->before[i] = pad[i];
        out->after[i] = pad[n_axes + i];
    }
    return HULL_OK;
}

/* Axes i and i + 1 are one axis for operand k: it steps through them evenly,
 * or repeats over both. */
static bool axes_join(const walk *w, uint32_t i)
{
    for (uint32_t k = 0; k < w->n_in; k++)
        if (w->strides[k][i] != w->strides[k][i + 1] * w->shape[i + 1])
            return false;
    return true;
}

/* Takes axis i out of the walk. */
static void drop_axis(walk *w, uint32_t i)
{
    for (uint32_t a = i; a + 1 < w->rank; a++) {
        w->shape[a] = w->shape[a + 1];
        for (uint32_t k = 0; k < w->n_in; k++)
            w->strides[k][a] = w->strides[k][a + 1];
    }
    w->rank--;
}

/* Long rows: [64,32,3,3] * [64,1,1,1] walks as [64,288] * [64,1]. */
static void join_axes(walk *w)
{
    for (uint32_t i = w->rank; i-- > 0;)
        if (w->shape[i] == 1 && w->rank > 1)
            drop_axis(w, i);
    for (uint32_t i = w->rank; i-- > 1;)
        if (axes_join(w, i - 1)) {
            w->shape[i] *= w->shape[i - 1];
            drop_axis(w, i - 1);
        }
}

hull_status walk_begin(walk *out, const node *n, const tensor *in,
                       uint32_t n_in, const tensor *result)
{
    char what[128];
    uint32_t rank = result->rank;

    *out = (walk){.n_in = n_in, .rank = rank, .row = 1};
    for (uint32_t k = 0; k < n_in; k++) {
        bool fits = in[k].rank <= rank;

        for (uint32_t i = 0; fits && i < in[k].rank; i++) {
            int64_t size = in[k].shape[i];

            fits = size == 1 || size == result->shape[rank - in[k].rank + i];
        }
        if (!fits)
            return fail(HULL_ESHAPE,
                        "%s: operand %" PRIu32 " does not broadcast to the "
                        "result's shape", node_what(n, what), k);
        tensor_broadcast_strides(&in[k], result->shape, rank, out->strides[k]);
    }
    for (uint32_t i = 0; i < rank; i++)
        out->shape[i] = result->shape[i];
    out->more = tensor_numel(result) > 0;
    if (rank == 0 || !out->more)
        return HULL_OK;
    join_axes(out);
    out->row = out->shape[out->rank - 1];
    for (uint32_t k = 0; k < n_in; k++)
        out->step[k] = out->strides[k][out->rank - 1];
    return HULL_OK;
}

void walk_next(walk *w)
{
    w->at_out += w->row;
    w->more = w->rank > 1 && index_next(w->index, w->shape, w->rank - 1);
    for (uint32_t k = 0; w->more && k < w->n_in; k++) {
        w->at[k] = 0;
        for (uint32_t i = 0; i + 1 < w->rank; i++)
            w->at[k] += w->index[i] * w->strides[k][i];
    }
}

split split_at(const tensor *t, uint32_t axis)
{
    split s = {1, 1, 1};

    for (uint32_t i = 0; i < t->rank; i++) {
        if (i < axis)
            s.outer *= t->shape[i];
        else if (i == axis)
            s.len = t->shape[i];
        else
            s.inner *= t->shape[i];
    }
    return s;
}

hull_status eval_scratch(double **out, eval_ctx *cx, int64_t count)
{
    *out = NULL;
    if (count < 0 || count > INT64_MAX / 16)
        return fail(HULL_ENOMEM, "%" PRId64 " scratch elements are too many",
                    count);
    *out = arena_alloc(cx->scratch, (size_t)(count + 1) * sizeof(double));
    return *out ? HULL_OK : fail_oom((size_t)count * sizeof(double));
}

hull_status eval_doubles(double **out, eval_ctx *cx, const tensor *t)
{
    int64_t count = tensor_numel(t);

    TRY(eval_scratch(out, cx, count));
    for (int64_t i = 0; i < count; i++)
        (*out)[i] = load_f64(t->dtype, t->data, (uint64_t)i);
    return HULL_OK;
}

void store_real(hull_dtype dt, void *p, uint64_t i, double v)
{
    if (dt == HULL_BOOL)
        store_i64(dt, p, i, v != 0);
    else if (isnan(v) && !dtype_is_float(dt))
        store_i64(dt, p, i, 0);
    else
        store_f64(dt, p, i, v);
}

double narrow_max(hull_dtype dt)
{
    switch (dt) {
    case HULL_F8E4M3FN:
        return 448;
    case HULL_F8E4M3FNUZ:
        return 240;
    case HULL_F8E5M2:
    case HULL_F8E5M2FNUZ:
        return 57344;
    case HULL_F8E8M0:
        return 0x1p127;
    case HULL_F4E2M1:
        return 6;
    default:
        return 0;
    }
}

void store_bound(hull_dtype dt, void *p, uint64_t i, bool lowest)
{
    uint32_t bits = hull_dtype_bits(dt);
    uint64_t most = UINT64_MAX >> (64 - bits);
    double end = narrow_max(dt);

    if (dtype_is_float(dt)) {
        if (end == 0 || dt == HULL_F8E5M2)
            end = INFINITY;
        store_f64(dt, p, i, !lowest ? end : dt == HULL_F8E8M0 ? 0 : -end);
    } else if (dt == HULL_BOOL) {
        store_i64(dt, p, i, !lowest);
    } else if (dtype_is_unsigned(dt)) {
        store_i64(dt, p, i, lowest ? 0 : (int64_t)most);
    } else {
        store_i64(dt, p, i, lowest ? -(int64_t)(most >> 1) - 1
                                   : (int64_t)(most >> 1));
    }
}
