/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * data.c - moving elements without looking at their dtype, and the checks on
 * indices and sizes that the moving families share. Sub-byte elements are
 * packed two or four to a byte, the first one in the low bits.
 */
#include "ops/data.h"

#include <inttypes.h>
#include <string.h>

side data_side(const tensor *t)
{
    side w = { .p = t->data };
    int64_t stride = 1;

    for (uint32_t i = t->rank; i > 0; i--) {
        w.strides[i - 1] = stride;
        if (!mul_i64(&stride, stride, t->shape[i - 1]))
            stride = 0; /* only beside a size 0: nothing is walked */
    }
    return w;
}

void data_copy(hull_dtype dt, void *dst, int64_t di, const void *src,
               int64_t si)
{
    uint32_t bits = hull_dtype_bits(dt), mask = (1u << (bits & 7u)) - 1;
    size_t size = bits / 8;
    int64_t per = size > 0 || bits == 0 ? 1 : 8 / bits;
    uint8_t *d = dst;
    const uint8_t *s = src;
    unsigned v, to;

    if (size > 0) {
        memcpy(d + (size_t)di * size, (const uint8_t *)src + (size_t)si * size,
               size);
        return;
    }
    v = (unsigned)s[si / per] >> (si % per * bits) & mask;
    to = (unsigned)(di % per) * bits;
    d += di / per;
    *d = (uint8_t)((*d & ~(mask << to)) | v << to);
}

void data_copy_run(hull_dtype dt, void *dst, int64_t di, const void *src,
                   int64_t si, int64_t n)
{
    size_t size = hull_dtype_bits(dt) / 8;

    if (n <= 0)
        return;
    if (size > 0) {
        memcpy((uint8_t *)dst + (size_t)di * size,
               (const uint8_t *)src + (size_t)si * size, (size_t)n * size);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        data_copy(dt, dst, di + i, src, si + i);
}

hull_status data_copy_all(const node *n, tensor *dst, const tensor *src)
{
    char what[128];
    int64_t to = tensor_numel(dst), from = tensor_numel(src);

    if (to != from || dst->dtype != src->dtype)
        return fail(HULL_ESHAPE,
                    "%s: %" PRId64 " elements of %s do not fill %" PRId64
                    " of %s",
                    node_what(n, what), from, hull_dtype_name(src->dtype), to,
                    hull_dtype_name(dst->dtype));
    if (to > 0 && dst->data != src->data)
        memmove(dst->data, src->data, (size_t)tensor_bytes(src));
    return HULL_OK;
}

static int64_t place(const side *w, const int64_t *index, uint32_t rank)
{
    int64_t at = w->off;

    for (uint32_t i = 0; i < rank; i++)
        at += index[i] * w->strides[i];
    return at;
}

void data_strided(hull_dtype dt, const int64_t *shape, uint32_t rank,
                  const side *dst, const side *src)
{
    int64_t index[HULL_MAX_RANK] = { 0 };
    int64_t run = 1;

    for (uint32_t i = 0; i < rank; i++) {
        if (shape[i] <= 0)
            return;
    }
    if (rank > 0 && dst->strides[rank - 1] == 1 && src->strides[rank - 1] == 1)
        run = shape[--rank];
    do {
        data_copy_run(dt, dst->p, place(dst, index, rank), src->p,
                      place(src, index, rank), run);
    } while (index_next(index, shape, rank));
}

int64_t data_product(const int64_t *shape, uint32_t from, uint32_t to)
{
    int64_t p = 1;

    for (uint32_t i = from; i < to; i++) {
        if (shape[i] == 0)
            return 0;
    }
    for (uint32_t i = from; i < to; i++) {
        if (!mul_i64(&p, p, shape[i]))
            return 0; /* only beside a size 0: nothing is walked */
    }
    return p;
}

hull_status data_index(int64_t *out, const node *n, const tensor *idx,
                       int64_t i, int64_t size)
{
    char what[128];
    int64_t v = load_i64(idx->dtype, idx->data, (uint64_t)i), at = v;

    *out = 0;
    if (v < 0 && !dtype_is_unsigned(idx->dtype))
        at = v + size;
    if (v < 0 && dtype_is_unsigned(idx->dtype))
        return fail(HULL_EINVAL,
                    "%s: index %" PRIu64 " is out of range for size %" PRId64,
                    node_what(n, what), (uint64_t)v, size);
    if (at < 0 || at >= size)
        return fail(HULL_EINVAL,
                    "%s: index %" PRId64 " is out of range for size %" PRId64,
                    node_what(n, what), v, size);
    *out = at;
    return HULL_OK;
}

hull_status data_dim(int64_t *out, const eval_ctx *cx, dim d)
{
    *out = 0;
    if (d != DIM_UNKNOWN && dim_is_int(cx->env->m, d, out))
        return HULL_OK;
    return dim_eval(out, cx->env, d);
}

hull_status data_want_shape(const node *n, const tensor *out,
                            const int64_t *shape, uint32_t rank)
{
    char what[128];

    if (out->rank != rank)
        return fail(HULL_ESHAPE, "%s: result of rank %u, kernel made %u",
                    node_what(n, what), out->rank, rank);
    for (uint32_t i = 0; i < rank; i++) {
        if (out->shape[i] != shape[i])
            return fail(HULL_ESHAPE,
                        "%s: dim %u of the result is %" PRId64
                        ", the operands make it %" PRId64,
                        node_what(n, what), i, out->shape[i], shape[i]);
    }
    return HULL_OK;
}

hull_status data_want_numel(const node *n, const tensor *t, int64_t numel)
{
    char what[128];

    if (tensor_numel(t) != numel)
        return fail(HULL_ESHAPE,
                    "%s: a tensor of %" PRId64 " elements, want %" PRId64,
                    node_what(n, what), tensor_numel(t), numel);
    return HULL_OK;
}

hull_status data_agree(dim *out, graph *g, const node *n, const char *what,
                       dim a, dim b)
{
    char name[128];
    int64_t va = 0, vb = 0;
    bool ca = a != DIM_UNKNOWN && dim_is_int(g->m, a, &va);
    bool cb = b != DIM_UNKNOWN && dim_is_int(g->m, b, &vb);

    *out = a;
    if (ca && cb && va != vb)
        return fail(HULL_ESHAPE, "%s: %s is %" PRId64 " and %" PRId64,
                    node_what(n, name), what, va, vb);
    if (a == DIM_UNKNOWN || (cb && !ca))
        *out = b;
    return HULL_OK;
}

hull_status data_index_type(const type **out, graph *g, const node *n,
                            uint32_t i)
{
    char what[128];

    TRY(infer_tensor(out, g, n, i));
    if (!dtype_is_int((*out)->dtype))
        return fail(HULL_ESHAPE, "%s: operand %u is %s, want an integer type",
                    node_what(n, what), i, hull_dtype_name((*out)->dtype));
    return HULL_OK;
}

static hull_status indices_exceed(const node *n, uint32_t i, int64_t indices,
                                  int64_t operand)
{
    char what[128];

    return fail(HULL_ESHAPE,
                "%s: dim %u of the indices is %" PRId64
                ", the operand has %" PRId64,
                node_what(n, what), i, indices, operand);
}

hull_status data_elements_infer(graph *g, const node *n, const type *x,
                                const type *idx, uint32_t axis)
{
    for (uint32_t i = 0; i < x->rank; i++) {
        int64_t have, want;

        if (i != axis && dim_is_int(g->m, x->dims[i], &have) &&
            dim_is_int(g->m, idx->dims[i], &want) && have >= 0 && want > have)
            return indices_exceed(n, i, want, have);
    }
    return HULL_OK;
}

hull_status data_elements_check(const node *n, const tensor *x,
                                const tensor *idx, uint32_t axis)
{
    for (uint32_t i = 0; i < x->rank; i++) {
        if (i != axis && idx->shape[i] > x->shape[i])
            return indices_exceed(n, i, idx->shape[i], x->shape[i]);
    }
    return HULL_OK;
}

int64_t data_element(const side *x, const int64_t *index, uint32_t rank,
                     uint32_t axis, int64_t k)
{
    return place(x, index, rank) + (k - index[axis]) * x->strides[axis];
}

bool node_has(const node *n, uint32_t i)
{
    return i < n->n_in && n->in[i] != 0;
}
