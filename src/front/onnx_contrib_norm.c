/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_contrib_norm.c - lowerings of domain com.microsoft: normalisations with
 * a sum in front or an activation behind, and the embeddings of BERT.
 */
#include "front/onnx_contrib.h"

#include <inttypes.h>

static val layer_norm(onnx_call *c, val x, val gamma, val beta, uint32_t axis,
                      double eps)
{
    node *n = node_new(c->g, OP_layer_norm);

    node_input(c->g, n, x);
    node_input(c->g, n, gamma);
    if (beta)
        node_input(c->g, n, beta);
    node_int(c->g, n, "axis", axis);
    node_float(c->g, n, "eps", eps);
    return node_add(c->g, n);
}

static val rms_norm(onnx_call *c, val x, val gamma, uint32_t axis, double eps)
{
    node *n = node_new(c->g, OP_rms_norm);

    node_input(c->g, n, x);
    node_input(c->g, n, gamma);
    node_int(c->g, n, "axis", axis);
    node_float(c->g, n, "eps", eps);
    return node_add(c->g, n);
}

/* 1 / sqrt(mean of squares + eps) over the axes from `axis` on. */
static val inverse_root(onnx_call *c, val x, uint32_t axis, double eps)
{
    const type *t = onnx_type(c, x);
    int64_t axes[HULL_MAX_RANK];
    uint32_t n = 0;

    for (uint32_t i = axis; t && i < t->rank; i++)
        axes[n++] = i;
    x = op_cast(c->g, x, HULL_F32);
    val y = onnx_reduce(c, OP_reduce_mean, op_binary(c->g, OP_mul, x, x), axes,
                        n, true);
    y = op_binary(c->g, OP_add, y, onnx_scalar_like(c, y, eps));
    return op_unary(c->g, OP_rsqrt, y);
}

/* Results: the normalised x, and what it was divided by. */
hull_status onnx_simplified_norm(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    double eps = onnx_float(c, "epsilon", 1e-5);
    uint32_t axis = 0;

    if (!t)
        return ir_status(c->m);
    TRY(onnx_axis(c, onnx_int(c, "axis", -1), t->rank, &axis));
    TRY(contrib_want(c, "stash_type", 1));
    contrib_parameters(c, 1, 2);
    c->out[0] = rms_norm(c, c->in[0], c->in[1], axis, eps);
    if (onnx_wants(c, 1))
        c->out[1] = inverse_root(c, c->in[0], axis, eps);
    return HULL_OK;
}

/* norm(input + skip + bias) and that sum; the argument 1: without mean. */
hull_status onnx_skip_norm(onnx_call *c)
{
    bool rms = c->row->arg != 0;
    double eps = onnx_float(c, "epsilon", 1e-5);
    val x = op_binary(c->g, OP_add, c->in[0], c->in[1]);
    val bias = onnx_in(c, rms ? 3 : 4);
    const type *t = onnx_type(c, x);

    if (!t)
        return ir_status(c->m);
    if (t->rank == 0)
        return fail(HULL_ESHAPE, "input 0 has rank 0, want 1 or more");
    uint32_t axis = t->rank - 1;
    contrib_parameters(c, 2, 5);
    if (bias)
        x = op_binary(c->g, OP_add, x, bias);
    c->out[0] = rms ? rms_norm(c, x, c->in[2], axis, eps)
                    : layer_norm(c, x, c->in[2], onnx_in(c, 3), axis, eps);
    if (onnx_wants(c, 3))
        c->out[3] = x;
    return HULL_OK;
}

/* activation(group_norm(x)); the argument 1: a skip and a bias are added to x
 * first, and their sum is a result. */
hull_status onnx_contrib_group_norm(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    bool skip = c->row->arg != 0, last = onnx_int(c, "channels_last", 1) != 0;
    int64_t activation = onnx_int(c, "activation", 0);
    val x = c->in[0];

    if (!t)
        return ir_status(c->m);
    if (t->rank < 3 || (activation != 0 && activation != 1))
        return fail(HULL_EUNSUPPORTED, "activation is %" PRId64 " and the "
                    "rank %" PRIu32 ", want 0 or 1, and 3 or more", activation,
                    t->rank);
    hull_dtype dt = t->dtype;
    uint32_t rank = t->rank;
    contrib_parameters(c, 1, 3);
    if (skip) {
        const type *s = onnx_type(c, c->in[3]);
        int64_t axes[2] = {1, 2};
        val by = s && s->rank == 2 && rank == 4 && last
                     ? lower_axes_to_reshape(c->f, c->in[3], axes, 2, true)
                     : c->in[3];
        x = op_binary(c->g, OP_add, x, by);
        if (onnx_in(c, 4))
            x = op_binary(c->g, OP_add, x, c->in[4]);
        if (onnx_wants(c, 1))
            c->out[1] = x;
    }
    if (last)
        x = contrib_channels(c, x, true);
    node *n = node_new(c->g, OP_group_norm);
    node_input(c->g, n, x);
    node_input(c->g, n, op_cast(c->g, c->in[1], dt));
    node_input(c->g, n, op_cast(c->g, c->in[2], dt));
    node_int(c->g, n, "groups", onnx_int(c, "groups", 0));
    node_float(c->g, n, "eps", onnx_float(c, "epsilon", 1e-5));
    x = node_add(c->g, n);
    if (activation)
        x = op_unary(c->g, OP_silu, x);
    c->out[0] = last ? contrib_channels(c, x, false) : x;
    return HULL_OK;
}

/* rms_norm over groups of the scale's length, times the gate's activation. */
hull_status onnx_gated_rms_norm(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]), *s = onnx_type(c, c->in[1]);
    str act = onnx_str(c, "activation", "silu");
    dim apart[HULL_MAX_RANK];
    int64_t width = 0;

    if (!t || !s)
        return ir_status(c->m);
    if (!str_is(act, "silu") && !str_is(act, "swish") &&
        !str_is(act, "sigmoid"))
        return fail(HULL_EFORMAT, "attribute 'activation' is '%.*s', want "
                    "silu, swish or sigmoid", STR_ARG(act));
    if (t->rank < 1 || t->rank == HULL_MAX_RANK || s->rank != 1 ||
        !dim_is_int(c->m, s->dims[0], &width) || width < 1)
        return fail(HULL_EUNSUPPORTED, "ranks %" PRIu32 " and %" PRIu32
                    ", want 1 or more and a scale of a fixed size", t->rank,
                    s->rank);
    type whole = *t;
    for (uint32_t i = 0; i < whole.rank; i++)
        apart[i] = whole.dims[i];
    apart[whole.rank - 1] = dim_div(c->m, whole.dims[whole.rank - 1], width);
    apart[whole.rank] = width;
    contrib_parameters(c, 1, 2);
    val x = op_reshape(c->g, op_cast(c->g, c->in[0], HULL_F32), apart,
                       whole.rank + 1);
    x = rms_norm(c, x, op_cast(c->g, c->in[1], HULL_F32), whole.rank,
                 onnx_float(c, "epsilon", 1e-5));
    val by = op_unary(c->g, str_is(act, "sigmoid") ? OP_sigmoid : OP_silu,
                      op_cast(c->g, c->in[2], HULL_F32));
    x = op_binary(c->g, OP_mul, op_reshape(c->g, x, whole.dims, whole.rank),
                  by);
    c->out[0] = op_cast(c->g, x, whole.dtype);
    return HULL_OK;
}

/* ---- embeddings ---------------------------------------------------------- */

hull_status contrib_embed_norm(onnx_call *c, const contrib_embed *e)
{
    const type *t = onnx_type(c, e->ids);
    int64_t one[1] = {1};

    if (!t)
        return ir_status(c->m);
    if (t->rank != 2)
        return fail(HULL_ESHAPE, "input 0 has rank %" PRIu32 ", want 2",
                    t->rank);
    dim batch[1] = {t->dims[0]}, length = t->dims[1];
    val places = e->position_ids
                     ? contrib_gather(c, e->positions, e->position_ids, 0)
                     : op_slice(c->g, e->positions, 0, 0, length, 1);
    val x = op_binary(c->g, OP_add, contrib_gather(c, e->words, e->ids, 0),
                      places);
    if (e->segment_ids && e->segments)
        x = op_binary(c->g, OP_add, x,
                      contrib_gather(c, e->segments, e->segment_ids, 0));
    c->out[0] = layer_norm(c, x, e->gamma, e->beta, 2,
                           onnx_float(c, "epsilon", 1e-12));
    if (onnx_wants(c, 1)) {
        val n = op_expand(c->g, op_scalar_i64(c->g, HULL_I32, 0), batch, 1);
        if (e->mask) {
            val is = op_binary(c->g, OP_eq, e->mask,
                               op_scalar_i64(c->g, HULL_I32, 1));
            n = onnx_reduce(c, OP_reduce_sum, op_cast(c->g, is, HULL_I32), one,
                            1, false);
        }
        c->out[1] = n;
    }
    if (onnx_wants(c, 2))
        c->out[2] = x;
    return HULL_OK;
}

hull_status onnx_embed_norm(onnx_call *c)
{
    const contrib_embed e = {
        .ids = c->in[0], .segment_ids = onnx_in(c, 1), .words = onnx_in(c, 2),
        .positions = onnx_in(c, 3), .segments = onnx_in(c, 4),
        .gamma = onnx_in(c, 5), .beta = onnx_in(c, 6), .mask = onnx_in(c, 7),
        .position_ids = onnx_in(c, 8),
    };

    TRY(contrib_present(c, (const uint32_t[]){2, 3, 5, 6}, 4));
    contrib_parameters(c, 2, 7);
    return contrib_embed_norm(c, &e);
}
