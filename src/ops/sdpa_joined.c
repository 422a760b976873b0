/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * sdpa_joined.c - attention of queries, keys and values that lie side by side,
 * x [..,l,3,h,d], as a merged product writes them. Here it is what it stands
 * for: three copies [..,h,l,d], sdpa, and its result put back as [..,l,h,d].
 */
#include "ops/data.h"
#include "ops/family.h"

#include <string.h>

/* [..,l,3,h,d] to [..,h,l,d]; rank is x's. */
static void part_dims(int64_t *out, const int64_t *x, uint32_t rank)
{
    memcpy(out, x, rank * sizeof *out);
    out[rank - 4] = x[rank - 2];
    out[rank - 3] = x[rank - 4];
    out[rank - 2] = x[rank - 1];
}

bool joined_places(int64_t out[3], const node *n)
{
    const attr *a = node_attr(n, "parts");
    unsigned seen = 0;

    if (a->set && a->u.ints.n != 3)
        return false;
    for (int i = 0; i < 3; i++) {
        out[i] = a->set ? a->u.ints.p[i] : i;
        if (out[i] < 0 || out[i] > 2)
            return false;
        seen |= 1u << out[i];
    }
    return seen == 7;
}

static hull_status joined_mask(graph *g, node *n, const type *x)
{
    const dim want[3] = { x->dims[x->rank - 4], x->dims[x->rank - 4],
                          x->dims[x->rank - 2] };
    const type *mask;
    char what[128];
    dim same;

    TRY(infer_tensor(&mask, g, n, JOINED_MASK));
    if (mask->dtype != HULL_BOOL && !dtype_is_float(mask->dtype))
        return fail(HULL_ESHAPE, "%s: mask is %s, want bool or a float type",
                    node_what(n, what), hull_dtype_name(mask->dtype));
    if (mask->rank >= x->rank)
        return fail(HULL_ESHAPE, "%s: mask has rank %u, want at most %u",
                    node_what(n, what), mask->rank, x->rank - 1);
    for (uint32_t i = 1; i <= mask->rank; i++) {
        dim d = i <= 3 ? want[i - 1] : x->dims[x->rank - 1 - i];

        if (mask->dims[mask->rank - i] != 1)
            TRY(data_agree(&same, g, n, "a mask dim", d,
                           mask->dims[mask->rank - i]));
    }
    return HULL_OK;
}

hull_status sdpa_joined_infer(graph *g, node *n)
{
    const type *x, *by;
    char what[128];
    dim dims[HULL_MAX_RANK], three;
    int64_t places[3];

    TRY(infer_tensor(&x, g, n, JOINED_X));
    if (!dtype_is_float(x->dtype) || x->rank < 4)
        return fail(HULL_ESHAPE,
                    "%s: operand is %s of rank %u, want a float type and rank "
                    "4 or more",
                    node_what(n, what), hull_dtype_name(x->dtype), x->rank);
    TRY(data_agree(&three, g, n, "the number of parts", x->dims[x->rank - 3],
                   3));
    if (node_has(n, JOINED_BY)) {
        TRY(infer_tensor(&by, g, n, JOINED_BY));
        for (uint32_t i = 0; i < by->rank; i++)
            TRY(data_agree(&three, g, n, "the size of a factor", by->dims[i],
                           1));
        if (by->dtype != x->dtype)
            return fail(HULL_ESHAPE, "%s: factor is %s, the operand %s",
                        node_what(n, what), hull_dtype_name(by->dtype),
                        hull_dtype_name(x->dtype));
    }
    if (node_has(n, JOINED_MASK))
        TRY(joined_mask(g, n, x));
    if (!joined_places(places, n))
        return fail(HULL_EINVAL, "%s: parts are no order of 0, 1, 2",
                    node_what(n, what));
    if (attention_rows_of(n) == ATTENTION_RULES)
        return fail(HULL_EINVAL, "%s: rows '%.*s' is not known",
                    node_what(n, what), STR_ARG(attr_str(n, "rows")));
    memcpy(dims, x->dims, sizeof dims);
    dims[x->rank - 3] = x->dims[x->rank - 2];
    dims[x->rank - 2] = x->dims[x->rank - 1];
    return infer_out(g, n, 0, x->dtype, dims, x->rank - 1);
}

hull_status joined_parts(tensor *out_part, const node *n, const tensor *in,
                         const tensor *out)
{
    const tensor *x = &in[JOINED_X];
    uint32_t rank = x->rank;
    int64_t shape[HULL_MAX_RANK];
    char what[128];

    memcpy(shape, x->shape, sizeof shape);
    shape[rank - 3] = x->shape[rank - 2];
    shape[rank - 2] = x->shape[rank - 1];
    TRY(data_want_shape(n, out, shape, rank - 1));
    if (x->shape[rank - 3] != 3)
        return fail(HULL_ESHAPE, "%s: %lld parts, want 3", node_what(n, what),
                    (long long)x->shape[rank - 3]);
    if (tensor_given(in, n, JOINED_BY) && tensor_numel(&in[JOINED_BY]) != 1)
        return fail(HULL_ESHAPE, "%s: factor has %lld elements, want 1",
                    node_what(n, what),
                    (long long)tensor_numel(&in[JOINED_BY]));
    *out_part = (tensor){ .dtype = x->dtype, .rank = rank - 1 };
    part_dims(out_part->shape, x->shape, rank);
    return HULL_OK;
}

typedef struct joined {
    int64_t batch, l, h, d;
} joined;

/* Moves rows of d between a part [..,h,l,d] and its place in x or in the
 * result, where `parts` of them lie side by side. */
static void move_rows(const joined *j, const tensor *apart, const tensor *joint,
                      int64_t parts, int64_t part, bool back)
{
    int64_t row = 0;

    for (int64_t b = 0; b < j->batch; b++)
        for (int64_t k = 0; k < j->h; k++)
            for (int64_t i = 0; i < j->l; i++, row++) {
                int64_t at = ((b * j->l + i) * parts + part) * j->h + k;
                const tensor *from = back ? apart : joint;
                const tensor *to = back ? joint : apart;
                int64_t f = (back ? row : at) * j->d;
                int64_t t = (back ? at : row) * j->d;

                for (int64_t c = 0; c < j->d; c++)
                    store_f64(to->dtype, to->data, (uint64_t)(t + c),
                              load_f64(from->dtype, from->data,
                                       (uint64_t)(f + c)));
            }
}

static void scale_queries(const tensor *q, const tensor *by)
{
    double f = load_f64(by->dtype, by->data, 0);
    uint64_t n = (uint64_t)tensor_numel(q);

    for (uint64_t i = 0; i < n; i++)
        store_f64(q->dtype, q->data, i, load_f64(q->dtype, q->data, i) * f);
}

hull_status sdpa_joined_eval(eval_ctx *cx, const node *n, const tensor *in,
                             tensor *out)
{
    const tensor *x = &in[JOINED_X];
    tensor part[4]; /* q, k, v and the result */
    joined j = { .l = x->shape[x->rank - 4],
                 .h = x->shape[x->rank - 2], .d = x->shape[x->rank - 1] };
    int64_t places[3];

    TRY(joined_parts(&part[0], n, in, out));
    if (tensor_numel(out) == 0)
        return HULL_OK;
    if (!joined_places(places, n))
        return fail(HULL_EINVAL, "parts are no order of 0, 1, 2");
    j.batch = tensor_numel(out) / (j.l * j.h * j.d);
    for (int i = 3; i >= 0; i--) {
        part[i] = part[0];
        part[i].data = arena_alloc(cx->scratch, tensor_bytes(&part[0]));
        if (part[i].data == NULL)
            return fail_oom(tensor_bytes(&part[0]));
        if (i < 3)
            move_rows(&j, &part[i], x, 3, places[i], false);
    }
    if (tensor_given(in, n, JOINED_BY))
        scale_queries(&part[0], &in[JOINED_BY]);
    TRY(attention_run(cx, n, part, tensor_given(in, n, JOINED_MASK)
                                       ? &in[JOINED_MASK] : NULL, &part[3]));
    move_rows(&j, &part[3], out, 1, 0, true);
    return HULL_OK;
}
