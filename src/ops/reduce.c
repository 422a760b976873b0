/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * reduce.c - sums, means, products, extremes and their places. Floats
 * accumulate in double, integers in 64 bits; a NaN wins every comparison.
 */
#include "ops/family.h"

#include <inttypes.h>
#include <math.h>

static bool is_arg(op_code op)
{
    return op == OP_arg_max || op == OP_arg_min;
}

static bool is_max(op_code op)
{
    return op == OP_reduce_max || op == OP_arg_max;
}

static bool is_extreme(op_code op)
{
    return is_arg(op) || op == OP_reduce_max || op == OP_reduce_min;
}

/* reduced[i] for every axis; an empty list of axes means all. */
static hull_status read_axes(bool reduced[HULL_MAX_RANK], const node *n,
                             uint32_t rank)
{
    const attr *a = node_attr(n, "axes");
    char what[128];

    for (uint32_t i = 0; i < rank; i++)
        reduced[i] = a->u.ints.n == 0;
    for (uint32_t i = 0; i < a->u.ints.n; i++) {
        uint32_t axis = 0;

        TRY(infer_axis(&axis, n, a->u.ints.p[i], rank));
        if (reduced[axis])
            return fail(HULL_ESHAPE, "%s: axis %" PRIu32 " is given twice",
                        node_what(n, what), axis);
        reduced[axis] = true;
    }
    if (is_arg(n->op) && a->u.ints.n > 1)
        return fail(HULL_ESHAPE, "%s: %" PRIu32 " axes, wanted one or none",
                    node_what(n, what), a->u.ints.n);
    return HULL_OK;
}

hull_status reduce_infer(graph *g, node *n)
{
    const type *t = NULL;
    bool reduced[HULL_MAX_RANK];
    bool keep = attr_bool(n, "keep");
    dim dims[HULL_MAX_RANK];
    uint32_t rank = 0;
    hull_dtype dt;

    TRY(infer_tensor(&t, g, n, 0));
    TRY(infer_want(n, t, is_extreme(n->op) || n->op == OP_reduce_any
                             ? WANT_REAL
                             : WANT_FLOAT | WANT_INT));
    TRY(read_axes(reduced, n, t->rank));
    for (uint32_t i = 0; i < t->rank; i++) {
        if (!reduced[i])
            dims[rank++] = t->dims[i];
        else if (keep)
            dims[rank++] = 1;
    }
    dt = is_arg(n->op) ? HULL_I64
         : n->op == OP_reduce_any ? HULL_BOOL
                                  : t->dtype;
    return infer_out(g, n, 0, dt, dims, rank);
}

/* One accumulator; floats use f, integers i. */
typedef struct acc {
    double f;
    int64_t i, at;
    bool seen;
} acc;

typedef struct reduction {
    op_code op;
    hull_dtype dtype;
    bool is_float, last;
    int64_t count; /* elements per result */
} reduction;

/* Should v, at a later place, replace the extreme a? */
static bool better(const reduction *r, const acc *a, double f, int64_t i)
{
    bool less = false, equal = false;

    if (!a->seen)
        return true;
    if (r->is_float) {
        if (isnan(a->f) || isnan(f))
            return isnan(f) && (r->last || !isnan(a->f));
        less = f < a->f;
        equal = f == a->f;
    } else {
        less = r->dtype == HULL_U64 ? (uint64_t)i < (uint64_t)a->i : i < a->i;
        equal = i == a->i;
    }
    if (equal)
        return r->last;
    return is_max(r->op) ? !less : less;
}

static void accumulate(const reduction *r, acc *a, double f, int64_t i,
                       int64_t at)
{
    switch (r->op) {
    case OP_reduce_sum:
    case OP_reduce_mean:
        a->f += f;
        a->i = (int64_t)((uint64_t)a->i + (uint64_t)i);
        break;
    case OP_reduce_prod:
        a->f *= f;
        a->i = (int64_t)((uint64_t)a->i * (uint64_t)i);
        break;
    case OP_reduce_any:
        a->i = a->i || (r->is_float ? f != 0 : i != 0);
        break;
    default:
        if (better(r, a, f, i))
            *a = (acc){f, i, at, true};
        break;
    }
}

static void store_acc(const reduction *r, const acc *a, tensor *out,
                      uint64_t at)
{
    int64_t i = a->i;

    if (is_arg(r->op) || r->op == OP_reduce_any) {
        store_i64(out->dtype, out->data, at, is_arg(r->op) ? a->at : i);
        return;
    }
    if (r->is_float) {
        store_f64(out->dtype, out->data, at,
                  r->op == OP_reduce_mean ? a->f / (double)r->count : a->f);
        return;
    }
    if (r->op == OP_reduce_mean)
        i = r->dtype == HULL_U64
                ? (int64_t)((uint64_t)i / (uint64_t)r->count)
                : i / r->count;
    store_i64(out->dtype, out->data, at, i);
}

/* Strides of the result seen from the operand: 0 along reduced axes. */
static void result_strides(const tensor *in, const bool *reduced, int64_t *out)
{
    int64_t stride = 1;

    for (uint32_t i = in->rank; i-- > 0;) {
        out[i] = reduced[i] ? 0 : stride;
        if (!reduced[i])
            stride *= in->shape[i];
    }
}

/* Feeds every element to its accumulator, a row of the last axis at a time.
 * The place for arg_* is the index along the one axis, or the flat index. */
static void feed(const reduction *r, const tensor *in, const bool *reduced,
                 bool flat, acc *accs)
{
    int64_t index[HULL_MAX_RANK] = {0}, strides[HULL_MAX_RANK];
    uint32_t outer = in->rank > 0 ? in->rank - 1 : 0;
    int64_t row = in->rank > 0 ? in->shape[outer] : 1, from = 0;

    result_strides(in, reduced, strides);
    do {
        int64_t to = 0, place = 0;

        for (uint32_t i = 0; i < outer; i++) {
            to += index[i] * strides[i];
            if (reduced[i])
                place = index[i];
        }
        for (int64_t k = 0; k < row; k++, from++) {
            acc *a = &accs[to + (in->rank > 0 ? k * strides[outer] : 0)];
            int64_t at = flat ? from
                         : in->rank > 0 && reduced[outer] ? k
                                                          : place;

            if (r->is_float)
                accumulate(r, a, load_f64(r->dtype, in->data, (uint64_t)from),
                           0, at);
            else
                accumulate(r, a, 0,
                           load_i64(r->dtype, in->data, (uint64_t)from), at);
        }
    } while (index_next(index, in->shape, outer));
}

hull_status reduce_eval(eval_ctx *cx, const node *n, const tensor *in,
                        tensor *out)
{
    bool reduced[HULL_MAX_RANK];
    int64_t n_out = tensor_numel(out), n_in = tensor_numel(&in[0]);
    reduction r = {.op = n->op, .dtype = in[0].dtype,
                   .is_float = dtype_is_float(in[0].dtype), .count = 1};
    char what[128];
    acc *accs = NULL;

    TRY(read_axes(reduced, n, in[0].rank));
    r.last = is_arg(n->op) && attr_bool(n, "last");
    for (uint32_t i = 0; i < in[0].rank; i++)
        r.count *= reduced[i] ? in[0].shape[i] : 1;
    if (r.count == 0 && is_extreme(n->op) && !is_arg(n->op)) {
        for (int64_t i = 0; i < n_out; i++)
            store_bound(out->dtype, out->data, (uint64_t)i,
                        n->op == OP_reduce_max);
        return HULL_OK;
    }
    if (n_out > 0 && r.count == 0 &&
        (is_arg(n->op) || (n->op == OP_reduce_mean && !r.is_float)))
        return fail(HULL_ESHAPE, "%s: nothing to reduce, an axis is empty",
                    node_what(n, what));
    accs = arena_array(cx->scratch, (size_t)n_out + 1, sizeof(acc));
    if (!accs)
        return fail_oom((size_t)n_out * sizeof(acc));
    for (int64_t i = 0; n->op == OP_reduce_prod && i < n_out; i++)
        accs[i] = (acc){.f = 1, .i = 1};
    if (n_in > 0)
        feed(&r, &in[0], reduced, node_attr(n, "axes")->u.ints.n == 0, accs);
    for (int64_t i = 0; i < n_out; i++)
        store_acc(&r, &accs[i], out, (uint64_t)i);
    return HULL_OK;
}
