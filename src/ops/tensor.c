/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * tensor.c - what reference kernels share: sizes, broadcast strides, walking a
 * multi-index, concrete attribute values, scratch tensors.
 */
#include "ir/dims.h"
#include "ops/op.h"

#include <inttypes.h>

int64_t tensor_numel(const tensor *t)
{
    int64_t numel = 1;

    for (uint32_t i = 0; i < t->rank; i++) {
        if (t->shape[i] == 0)
            return 0; /* also beside sizes whose product overflows */
    }
    for (uint32_t i = 0; i < t->rank; i++)
        numel *= t->shape[i];
    return numel;
}

uint64_t tensor_bytes(const tensor *t)
{
    uint64_t size = 0;

    if (!dtype_bytes(&size, t->dtype, (uint64_t)tensor_numel(t)))
        return UINT64_MAX;
    return size;
}

void tensor_broadcast_strides(const tensor *t, const int64_t *shape,
                              uint32_t rank, int64_t *out)
{
    int64_t stride = 1;

    for (uint32_t i = rank; i-- > 0;) {
        int64_t own = (int64_t)i - ((int64_t)rank - (int64_t)t->rank);

        out[i] = 0;
        if (own < 0)
            continue;
        if (t->shape[own] != 1 || shape[i] == 1)
            out[i] = stride;
        if (!mul_i64(&stride, stride, t->shape[own]))
            stride = 0; /* only beside a size 0: nothing is walked */
    }
}

bool index_next(int64_t *index, const int64_t *shape, uint32_t rank)
{
    for (uint32_t i = rank; i-- > 0;) {
        if (++index[i] < shape[i])
            return true;
        index[i] = 0;
    }
    return false;
}

/* Attribute values may be negative: slice ends, pads. */
static hull_status eval_dim(int64_t *out, const dim_env *env, dim d)
{
    *out = d;
    if (d >= 0)
        return HULL_OK;
    if (!env)
        return fail(HULL_ESHAPE, "a symbolic dim needs the sizes of a run");
    return dim_eval_value(out, env, d);
}

hull_status eval_dims(eval_ctx *cx, const node *n, const char *name,
                      int64_t *out, uint32_t max, uint32_t *out_n)
{
    const attr *a = node_attr(n, name);
    char what[128];

    *out_n = 0;
    if (!a->set)
        return HULL_OK;
    if (a->u.dims.n > max)
        return fail(HULL_EUNSUPPORTED,
                    "%s: attribute '%s' has %" PRIu32 " dims, at most %" PRIu32,
                    node_what(n, what), name, a->u.dims.n, max);
    for (uint32_t i = 0; i < a->u.dims.n; i++)
        TRY(note(eval_dim(&out[i], cx->env, a->u.dims.p[i]),
                 "%s: attribute '%s'", node_what(n, what), name));
    *out_n = a->u.dims.n;
    return HULL_OK;
}

/* Product of the dims times the element size, checked. */
static hull_status checked_bytes(uint64_t *out, hull_dtype dt,
                                 const int64_t *shape, uint32_t rank)
{
    uint64_t numel = 1;
    bool fits = true;

    for (uint32_t i = 0; i < rank; i++) {
        if (shape[i] == 0)
            numel = 0;
    }
    for (uint32_t i = 0; i < rank && numel > 0; i++)
        fits = fits && shape[i] > 0 &&
               mul_u64(&numel, numel, (uint64_t)shape[i]);
    if (!fits || !dtype_bytes(out, dt, numel) || *out > INT64_MAX / 2)
        return fail(HULL_ENOMEM, "a %s tensor of rank %" PRIu32 " is too large",
                    hull_dtype_name(dt), rank);
    return HULL_OK;
}

hull_status eval_temp(eval_ctx *cx, tensor *out, hull_dtype dt,
                      const int64_t *shape, uint32_t rank)
{
    uint64_t size = 0;

    *out = (tensor){0};
    TRY(checked_bytes(&size, dt, shape, rank));
    out->dtype = dt;
    out->rank = rank;
    for (uint32_t i = 0; i < rank; i++)
        out->shape[i] = shape[i];
    out->data = arena_alloc(cx->scratch, size ? size : 1);
    if (!out->data)
        return fail_oom(size);
    return HULL_OK;
}

hull_status tensor_of_type(tensor *out, const dim_env *env, const type *t)
{
    uint64_t size = 0;

    *out = (tensor){0};
    if (t->kind != TYPE_TENSOR)
        return fail(HULL_ESHAPE, "a sequence or optional is not a tensor");
    out->dtype = t->dtype;
    out->rank = t->rank;
    for (uint32_t i = 0; i < t->rank; i++) {
        if (t->dims[i] >= 0)
            out->shape[i] = t->dims[i];
        else
            TRY(dim_eval(&out->shape[i], env, t->dims[i]));
    }
    return checked_bytes(&size, t->dtype, out->shape, t->rank);
}
