/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * scatter.c - scatter_elements and scatter_nd: a copy of the first operand with
 * updates put at indices, or combined there (reduce). Updates are applied in
 * their order, so the last of several at one place wins.
 */
#include "ops/data.h"

#include <inttypes.h>
#include <math.h>

typedef enum reduce_kind {
    REDUCE_NONE, REDUCE_ADD, REDUCE_MUL, REDUCE_MIN, REDUCE_MAX, REDUCE_KINDS
} reduce_kind;

static reduce_kind reduce_of(const node *n)
{
    static const char *const names[REDUCE_KINDS] = { "none", "add", "mul",
                                                     "min", "max" };
    str text = attr_str(n, "reduce");
    int k = 0;

    while (k < REDUCE_KINDS && !str_is(text, names[k]))
        k++;
    return (reduce_kind)k;
}

static hull_status elements_infer(graph *g, node *n, const type *x,
                                  const type *idx, const type *upd)
{
    char what[128];
    uint32_t axis;
    dim same;

    TRY(infer_axis(&axis, n, attr_int(n, "axis"), x->rank));
    if (idx->rank != x->rank || upd->rank != x->rank)
        return fail(HULL_ESHAPE,
                    "%s: operands of ranks %u, %u and %u, want equal ones",
                    node_what(n, what), x->rank, idx->rank, upd->rank);
    for (uint32_t i = 0; i < x->rank; i++)
        TRY(data_agree(&same, g, n, "a dim of indices and updates",
                       idx->dims[i], upd->dims[i]));
    return data_elements_infer(g, n, x, idx, axis);
}

static hull_status nd_infer(graph *g, node *n, const type *x, const type *idx,
                            const type *upd)
{
    char what[128];
    int64_t depth = -1;
    dim same;

    if (idx->rank == 0 ||
        !dim_is_int(g->m, idx->dims[idx->rank - 1], &depth) || depth < 0 ||
        depth > x->rank ||
        upd->rank != idx->rank - 1 + x->rank - (uint32_t)depth)
        return fail(HULL_ESHAPE,
                    "%s: indices of rank %u with a last dim of %" PRId64
                    " and updates of rank %u do not fit an operand of rank %u",
                    node_what(n, what), idx->rank, depth, upd->rank, x->rank);
    for (uint32_t i = 0; i < upd->rank; i++) {
        dim want = i + 1 < idx->rank
                       ? idx->dims[i]
                       : x->dims[i + 1 - idx->rank + (uint32_t)depth];

        TRY(data_agree(&same, g, n, "a dim of the updates", want,
                       upd->dims[i]));
    }
    return HULL_OK;
}

hull_status scatter_infer(graph *g, node *n)
{
    const type *x, *idx, *upd;
    char what[128];

    TRY(infer_tensor(&x, g, n, 0));
    TRY(data_index_type(&idx, g, n, 1));
    TRY(infer_tensor(&upd, g, n, 2));
    if (upd->dtype != x->dtype)
        return fail(HULL_ESHAPE, "%s: updates of %s for an operand of %s",
                    node_what(n, what), hull_dtype_name(upd->dtype),
                    hull_dtype_name(x->dtype));
    if (reduce_of(n) == REDUCE_KINDS)
        return fail(HULL_EINVAL,
                    "%s: reduce '%.*s', want none, add, mul, min or max",
                    node_what(n, what), STR_ARG(attr_str(n, "reduce")));
    if (reduce_of(n) != REDUCE_NONE && dtype_is_complex(x->dtype))
        return fail(HULL_EUNSUPPORTED, "%s: reduce on %s", node_what(n, what),
                    hull_dtype_name(x->dtype));
    if (n->op == OP_scatter_elements)
        TRY(elements_infer(g, n, x, idx, upd));
    else
        TRY(nd_infer(g, n, x, idx, upd));
    return infer_out(g, n, 0, x->dtype, x->dims, x->rank);
}

static double combine_f64(reduce_kind k, double a, double b)
{
    if (k == REDUCE_ADD)
        return a + b;
    if (k == REDUCE_MUL)
        return a * b;
    if (isnan(a) || isnan(b))
        return (double)NAN;
    if (a == b) /* -0 is the smaller zero */
        return (signbit(a) != 0) == (k == REDUCE_MIN) ? a : b;
    return k == REDUCE_MIN ? (b < a ? b : a) : (b > a ? b : a);
}

/* Two's complement with wrap-around, as the dtype's own arithmetic. */
static int64_t combine_i64(reduce_kind k, hull_dtype dt, int64_t a, int64_t b)
{
    bool less = dt == HULL_U64 ? (uint64_t)a < (uint64_t)b : a < b;

    if (dt == HULL_BOOL && k != REDUCE_NONE)
        return k == REDUCE_ADD || k == REDUCE_MAX ? a | b : a & b;
    if (k == REDUCE_ADD)
        return (int64_t)((uint64_t)a + (uint64_t)b);
    if (k == REDUCE_MUL)
        return (int64_t)((uint64_t)a * (uint64_t)b);
    return less == (k == REDUCE_MIN) ? a : b;
}

static void put(reduce_kind k, tensor *out, int64_t at, const tensor *upd,
                int64_t from)
{
    hull_dtype dt = out->dtype;
    uint64_t o = (uint64_t)at, u = (uint64_t)from;

    if (k == REDUCE_NONE)
        data_copy(dt, out->data, at, upd->data, from);
    else if (dtype_is_float(dt))
        store_f64(dt, out->data, o,
                  combine_f64(k, load_f64(dt, out->data, o),
                              load_f64(dt, upd->data, u)));
    else
        store_i64(dt, out->data, o,
                  combine_i64(k, dt, load_i64(dt, out->data, o),
                              load_i64(dt, upd->data, u)));
}

static hull_status elements_eval(const node *n, const tensor *idx,
                                 const tensor *upd, tensor *out)
{
    side dst = data_side(out);
    reduce_kind kind = reduce_of(n);
    int64_t index[HULL_MAX_RANK] = { 0 }, from = 0;
    uint32_t axis;

    TRY(infer_axis(&axis, n, attr_int(n, "axis"), out->rank));
    TRY(data_want_shape(n, upd, idx->shape, idx->rank));
    if (tensor_numel(idx) == 0)
        return HULL_OK;
    TRY(data_elements_check(n, out, idx, axis));
    do {
        int64_t k;

        TRY(data_index(&k, n, idx, from, out->shape[axis]));
        put(kind, out, data_element(&dst, index, out->rank, axis, k), upd,
            from++);
    } while (index_next(index, idx->shape, idx->rank));
    return HULL_OK;
}

static hull_status nd_eval(const node *n, const tensor *idx,
                           const tensor *upd, tensor *out)
{
    side dst = data_side(out);
    reduce_kind kind = reduce_of(n);
    int64_t depth = idx->shape[idx->rank - 1];
    int64_t count = data_product(idx->shape, 0, idx->rank - 1);
    int64_t run = data_product(out->shape, (uint32_t)depth, out->rank);

    if (run == 0 && depth == 0)
        return data_want_numel(n, upd, 0);
    TRY(data_want_numel(n, upd, count * run));
    for (int64_t i = 0; i < count; i++) {
        int64_t at = 0, k;

        for (uint32_t j = 0; j < depth; j++) {
            TRY(data_index(&k, n, idx, i * depth + j, out->shape[j]));
            at += k * dst.strides[j];
        }
        for (int64_t j = 0; j < run; j++)
            put(kind, out, at + j, upd, i * run + j);
    }
    return HULL_OK;
}

hull_status scatter_eval(eval_ctx *cx, const node *n, const tensor *in,
                         tensor *out)
{
    (void)cx;
    TRY(data_want_shape(n, out, in[0].shape, in[0].rank));
    TRY(data_copy_all(n, out, &in[0]));
    return n->op == OP_scatter_elements ? elements_eval(n, &in[1], &in[2], out)
                                        : nd_eval(n, &in[1], &in[2], out);
}
