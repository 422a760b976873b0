/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * norm.c - batch_norm, layer_norm, rms_norm, group_norm: statistics in double,
 * biased variance, eps inside the root. Scale and bias of layer_norm and
 * rms_norm broadcast to x; those of the others are per channel (axis 1).
 */
#include "ops/family.h"

#include <inttypes.h>
#include <math.h>

static hull_status infer_channels(graph *g, const node *n, const type *x)
{
    char what[128];

    if (x->rank < 2)
        return fail(HULL_ESHAPE, "%s: input of rank %" PRIu32
                    ", wanted 2 or more", node_what(n, what), x->rank);
    for (uint32_t i = 1; i < n->n_in; i++) {
        const type *t = NULL;

        if (n->in[i] == 0 && n->op != OP_batch_norm)
            continue;
        TRY(infer_tensor(&t, g, n, i));
        TRY(infer_want(n, t, WANT_FLOAT));
        if (t->rank != 1)
            return fail(HULL_ESHAPE, "%s: operand %" PRIu32 " has rank %" PRIu32
                        ", wanted 1", node_what(n, what), i, t->rank);
        TRY(infer_equal(g, n, t->dims[0], x->dims[1], "channels"));
    }
    return HULL_OK;
}

static hull_status infer_affine(graph *g, const node *n, const type *x)
{
    dim dims[HULL_MAX_RANK];
    uint32_t axis = 0, rank = 0;
    char what[128];

    TRY(infer_axis(&axis, n, attr_int(n, "axis"), x->rank));
    for (uint32_t i = 1; i < n->n_in; i++) {
        const type *t = NULL;

        if (n->in[i] == 0)
            continue;
        TRY(infer_tensor(&t, g, n, i));
        TRY(infer_want(n, t, WANT_FLOAT));
        TRY(infer_broadcast(g, n, x, t, dims, &rank));
        if (rank != x->rank)
            return fail(HULL_ESHAPE, "%s: operand %" PRIu32 " has rank %" PRIu32
                        ", input %" PRIu32, node_what(n, what), i, t->rank,
                        x->rank);
        for (uint32_t k = 0; k < rank; k++)
            TRY(infer_equal(g, n, x->dims[k], dims[k],
                            "sizes of input and scale"));
    }
    return HULL_OK;
}

static hull_status groups_of(int64_t *out, const node *n, int64_t channels)
{
    char what[128];

    *out = attr_int(n, "groups");
    if (*out < 1 || channels % *out != 0)
        return fail(HULL_ESHAPE, "%s: %" PRId64 " channels in %" PRId64
                    " groups", node_what(n, what), channels, *out);
    return HULL_OK;
}

hull_status norm_infer(graph *g, node *n)
{
    const type *x = NULL;
    int64_t channels = 0, groups = 0;

    TRY(infer_tensor(&x, g, n, 0));
    TRY(infer_want(n, x, WANT_FLOAT));
    if (n->op == OP_layer_norm || n->op == OP_rms_norm) {
        TRY(infer_affine(g, n, x));
    } else {
        TRY(infer_channels(g, n, x));
        if (n->op == OP_group_norm && dim_is_int(g->m, x->dims[1], &channels))
            TRY(groups_of(&groups, n, channels));
    }
    return infer_out(g, n, 0, x->dtype, x->dims, x->rank);
}

/* Operand i as doubles with `count` elements; NULL when it is missing. */
static hull_status channel_values(double **out, eval_ctx *cx, const node *n,
                                  const tensor *in, uint32_t i, int64_t count)
{
    char what[128];

    *out = NULL;
    if (!tensor_given(in, n, i))
        return HULL_OK;
    if (tensor_numel(&in[i]) != count)
        return fail(HULL_ESHAPE, "%s: operand %" PRIu32 " has %" PRId64
                    " elements, wanted %" PRId64, node_what(n, what), i,
                    tensor_numel(&in[i]), count);
    return eval_doubles(out, cx, &in[i]);
}

static hull_status batch_eval(eval_ctx *cx, const node *n, const tensor *in,
                              tensor *out)
{
    double *v[4] = {0};
    double eps = attr_float(n, "eps");
    hull_dtype dt = out->dtype;
    split s = split_at(&in[0], 1);
    uint64_t at = 0;

    for (uint32_t i = 0; i < 4; i++)
        TRY(channel_values(&v[i], cx, n, in, i + 1, s.len));
    for (int64_t o = 0; o < s.outer * s.len; o++) {
        int64_t c = o % s.len;
        double scale = v[0][c] / sqrt(v[3][c] + eps);

        for (int64_t k = 0; k < s.inner; k++, at++)
            store_f64(dt, out->data, at,
                      (load_f64(dt, in[0].data, at) - v[2][c]) * scale +
                          v[1][c]);
    }
    return HULL_OK;
}

/* y = (x - mean) / sqrt(var + eps) in place; rms: no mean. */
static void normalise(double *x, int64_t n, double eps, bool rms)
{
    double sum = 0, squares = 0, mean = 0, root = 0;

    for (int64_t i = 0; !rms && i < n; i++)
        sum += x[i];
    mean = rms ? 0 : sum / (double)n;
    for (int64_t i = 0; i < n; i++) {
        x[i] -= mean;
        squares += x[i] * x[i];
    }
    root = sqrt(squares / (double)n + eps);
    for (int64_t i = 0; i < n; i++)
        x[i] /= root;
}

/* Scale and bias of every element: strides over x's shape, NULL when there is
 * none. */
typedef struct affine {
    const tensor *t[2];
    int64_t stride[2][HULL_MAX_RANK];
} affine;

static hull_status affine_of(affine *out, const node *n, const tensor *in)
{
    walk fits;

    *out = (affine){0};
    for (uint32_t i = 0; i < 2; i++) {
        if (!tensor_given(in, n, i + 1))
            continue;
        TRY(walk_begin(&fits, n, &in[i + 1], 1, &in[0]));
        out->t[i] = &in[i + 1];
        tensor_broadcast_strides(&in[i + 1], in[0].shape, in[0].rank,
                                 out->stride[i]);
    }
    return HULL_OK;
}

static hull_status layer_eval(eval_ctx *cx, const node *n, const tensor *in,
                              tensor *out)
{
    int64_t index[HULL_MAX_RANK] = {0}, inner = 1, numel = tensor_numel(out);
    uint32_t axis = 0;
    double eps = attr_float(n, "eps"), *line = NULL;
    double no_bias = n->op == OP_rms_norm ? -0.0 : 0; /* x + -0 is x */
    affine f;

    TRY(infer_axis(&axis, n, attr_int(n, "axis"), in[0].rank));
    TRY(affine_of(&f, n, in));
    for (uint32_t i = axis; i < in[0].rank; i++)
        inner *= in[0].shape[i];
    TRY(eval_scratch(&line, cx, inner));
    for (int64_t at = 0; at < numel; at += inner) {
        for (int64_t k = 0; k < inner; k++)
            line[k] = load_f64(in[0].dtype, in[0].data, (uint64_t)(at + k));
        normalise(line, inner, eps, n->op == OP_rms_norm);
        for (int64_t k = 0; k < inner; k++) {
            double affine_value[2] = {1, no_bias};

            for (uint32_t j = 0; j < 2; j++) {
                int64_t from = 0;

                for (uint32_t i = 0; f.t[j] && i < in[0].rank; i++)
                    from += index[i] * f.stride[j][i];
                if (f.t[j])
                    affine_value[j] = load_f64(f.t[j]->dtype, f.t[j]->data,
                                               (uint64_t)from);
            }
            store_f64(out->dtype, out->data, (uint64_t)(at + k),
                      line[k] * affine_value[0] + affine_value[1]);
            index_next(index, in[0].shape, in[0].rank);
        }
    }
    return HULL_OK;
}

static hull_status group_eval(eval_ctx *cx, const node *n, const tensor *in,
                              tensor *out)
{
    split s = split_at(&in[0], 1);
    double eps = attr_float(n, "eps"), *line = NULL;
    double *scale = NULL, *bias = NULL;
    int64_t groups = 0, per_group = 0, numel = tensor_numel(out), count = 0;

    TRY(groups_of(&groups, n, s.len));
    TRY(channel_values(&scale, cx, n, in, 1, s.len));
    TRY(channel_values(&bias, cx, n, in, 2, s.len));
    per_group = s.len / groups;
    count = per_group * s.inner;
    TRY(eval_scratch(&line, cx, count));
    for (int64_t at = 0; at < numel; at += count) {
        for (int64_t k = 0; k < count; k++)
            line[k] = load_f64(in[0].dtype, in[0].data, (uint64_t)(at + k));
        normalise(line, count, eps, false);
        for (int64_t k = 0; k < count; k++) {
            int64_t c = (at + k) / s.inner % s.len;

            store_f64(out->dtype, out->data, (uint64_t)(at + k),
                      line[k] * (scale ? scale[c] : 1) +
                          (bias ? bias[c] : -0.0));
        }
    }
    return HULL_OK;
}

hull_status norm_eval(eval_ctx *cx, const node *n, const tensor *in,
                      tensor *out)
{
    if (tensor_numel(out) == 0)
        return HULL_OK; /* however large the other sizes are */
    if (n->op == OP_batch_norm)
        return batch_eval(cx, n, in, out);
    if (n->op == OP_group_norm)
        return group_eval(cx, n, in, out);
    return layer_eval(cx, n, in, out);
}
