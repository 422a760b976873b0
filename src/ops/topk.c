/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * topk.c - the k largest or smallest along an axis, sorted. Elements become
 * unsigned keys in whose order NaN is the largest and both zeros are equal; the
 * element that is wanted first has the largest key, and equal keys keep their
 * order.
 */
#include "ops/data.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct entry {
    uint64_t key;
    int64_t at;
} entry;

hull_status topk_infer(graph *g, node *n)
{
    const type *x;
    char what[128];
    dim dims[HULL_MAX_RANK], k = node_attr(n, "k")->u.d;
    int64_t have, want;
    uint32_t axis;

    TRY(infer_tensor(&x, g, n, 0));
    TRY(infer_axis(&axis, n, attr_int(n, "axis"), x->rank));
    if (dtype_is_complex(x->dtype))
        return fail(HULL_ESHAPE, "%s: %s has no order", node_what(n, what),
                    hull_dtype_name(x->dtype));
    for (uint32_t i = 0; i < x->rank; i++)
        dims[i] = x->dims[i];
    if (k != DIM_UNKNOWN && dim_is_int(g->m, k, &want)) {
        if (want < 0 || (dims[axis] != DIM_UNKNOWN &&
                         dim_is_int(g->m, dims[axis], &have) && want > have))
            return fail(HULL_ESHAPE,
                        "%s: k is %" PRId64 ", want 0 to the size of axis %u",
                        node_what(n, what), want, axis);
    }
    dims[axis] = k;
    TRY(infer_out(g, n, 0, x->dtype, dims, x->rank));
    return infer_out(g, n, 1, HULL_I64, dims, x->rank);
}

static uint64_t key_of(const tensor *t, int64_t i, bool largest)
{
    const uint64_t top = (uint64_t)1 << 63;
    uint64_t key;

    if (dtype_is_float(t->dtype)) {
        /* + 0.0 turns -0.0 into 0.0 */
        double v = load_f64(t->dtype, t->data, (uint64_t)i) + 0.0;

        memcpy(&key, &v, sizeof(key));
        if (isnan(v))
            key = UINT64_MAX;
        else
            key = key & top ? ~key : key | top;
    } else {
        key = (uint64_t)load_i64(t->dtype, t->data, (uint64_t)i);
        if (t->dtype != HULL_U64)
            key ^= top;
    }
    return largest ? key : ~key;
}

/* x belongs in front of y. */
static bool before(entry x, entry y)
{
    return x.key != y.key ? x.key > y.key : x.at < y.at;
}

/* Heap of n entries with the last of the order on top: e[at] sinks. */
static void sink(entry *e, int64_t at, int64_t n)
{
    entry moving = e[at];
    int64_t child;

    while ((child = 2 * at + 1) < n) {
        if (child + 1 < n && before(e[child], e[child + 1]))
            child++;
        if (!before(moving, e[child]))
            break;
        e[at] = e[child];
        at = child;
    }
    e[at] = moving;
}

/* Heap sort: needs no memory and no order is bad for it. */
static void sort(entry *e, int64_t n)
{
    for (int64_t i = n / 2; i > 0; i--)
        sink(e, i - 1, n);
    for (int64_t i = n - 1; i > 0; i--) {
        entry last = e[0];

        e[0] = e[i];
        e[i] = last;
        sink(e, 0, i);
    }
}

hull_status topk_eval(eval_ctx *cx, const node *n, const tensor *in,
                      tensor *out)
{
    bool largest = attr_bool(n, "largest");
    char what[128];
    int64_t size, k, outer, inner, shape[HULL_MAX_RANK];
    entry *e;
    uint32_t axis;

    TRY(infer_axis(&axis, n, attr_int(n, "axis"), in->rank));
    TRY(data_dim(&k, cx, node_attr(n, "k")->u.d));
    size = in->shape[axis];
    if (k < 0 || k > size)
        return fail(HULL_EINVAL,
                    "%s: k is %" PRId64 ", axis %u has %" PRId64 " elements",
                    node_what(n, what), k, axis, size);
    memcpy(shape, in->shape, sizeof(shape));
    shape[axis] = k;
    TRY(data_want_shape(n, &out[0], shape, in->rank));
    TRY(data_want_shape(n, &out[1], shape, in->rank));
    if (tensor_numel(&out[0]) == 0)
        return HULL_OK;
    e = arena_array(cx->scratch, (size_t)size, sizeof(*e));
    if (e == NULL)
        return fail_oom((size_t)size * sizeof(*e));
    outer = data_product(in->shape, 0, axis);
    inner = data_product(in->shape, axis + 1, in->rank);
    for (int64_t line = 0; line < outer * inner; line++) {
        int64_t o = line / inner, j = line % inner;

        for (int64_t i = 0; i < size; i++) {
            e[i].at = (o * size + i) * inner + j;
            e[i].key = key_of(in, e[i].at, largest);
        }
        sort(e, size);
        for (int64_t i = 0; i < k; i++) {
            int64_t to = (o * k + i) * inner + j;

            data_copy(in->dtype, out[0].data, to, in->data, e[i].at);
            store_i64(HULL_I64, out[1].data, (uint64_t)to,
                      (e[i].at / inner) % size);
        }
    }
    return HULL_OK;
}
