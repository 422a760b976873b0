/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_contrib_moe.c - lowerings of MoE and QMoE: mixtures of experts. Every
 * expert sees every token, as one product with a batch of experts, and what
 * the router did not choose gets no weight: shapes do not depend on data.
 */
#include "front/onnx_contrib.h"

#include <inttypes.h>
#include <math.h>

/* Weights [e,n,k], biases [e,n] or 0. */
typedef struct layer {
    val w, b;
} layer;

typedef struct moe {
    layer fc[3];       /* in, out, and the second one in, or none */
    val router, mix;   /* [t,e]: chooses; weighs, 0 = the router too */
} moe;

static hull_status check(onnx_call *c)
{
    TRY(contrib_want(c, "use_sparse_mixer", 0));
    return contrib_want(c, "swiglu_limit_after_activation", 0);
}

/* x [1 or e,t,k] times the weights: [e,t,n]. */
static val apply(onnx_call *c, val x, const layer *l)
{
    int64_t axis[1] = {1};
    val y = contrib_matmul(c, x, l->w, false, true);

    if (!l->b)
        return y;
    return op_binary(c->g, OP_add, y,
                     lower_axes_to_reshape(c->f, l->b, axis, 1, true));
}

/* g sigmoid(alpha g) (l + beta), both clamped. */
static val swiglu(onnx_call *c, val g, val l)
{
    double limit = onnx_float(c, "swiglu_limit", INFINITY);
    double beta = onnx_float(c, "activation_beta", 0.0);

    if (isfinite(limit)) {
        g = contrib_clamp(c, g, -INFINITY, limit);
        l = contrib_clamp(c, l, -limit, limit);
    }
    val by = contrib_scaled(c, g, onnx_float(c, "activation_alpha", 1.0));
    g = op_binary(c->g, OP_mul, g, op_unary(c->g, OP_sigmoid, by));
    if (beta != 0.0)
        l = op_binary(c->g, OP_add, l, onnx_scalar_like(c, l, beta));
    return op_binary(c->g, OP_mul, g, l);
}

static hull_status gated(onnx_call *c, const moe *m, val x, val h, val *out)
{
    int64_t fusion = onnx_int(c, "swiglu_fusion", 0);
    const type *t = onnx_type(c, h);

    if (!t)
        return ir_status(c->m);
    dim all = t->dims[2], half = dim_div(c->m, all, 2);
    if (fusion == 1)
        *out = swiglu(c, op_slice(c->g, h, 2, 0, all, 2),
                      op_slice(c->g, h, 2, 1, all, 2));
    else if (fusion == 2)
        *out = swiglu(c, op_slice(c->g, h, 2, 0, half, 1),
                      op_slice(c->g, h, 2, half, all, 1));
    else if (fusion == 0 && m->fc[2].w)
        *out = swiglu(c, h, apply(c, x, &m->fc[2]));
    else
        return fail(HULL_EFORMAT, "swiglu_fusion is %" PRId64 ", want 1 or 2, "
                    "or 0 and a third layer", fusion);
    return HULL_OK;
}

static hull_status activate(onnx_call *c, const moe *m, val x, val h, val *out)
{
    str name = onnx_str(c, "activation_type", "relu");

    if (str_is(name, "swiglu"))
        return gated(c, m, x, h, out);
    if (str_is(name, "relu"))
        h = op_unary(c->g, OP_relu, h);
    else if (str_is(name, "gelu"))
        h = contrib_gelu(c, h, true);
    else if (str_is(name, "silu"))
        h = op_unary(c->g, OP_silu, h);
    else if (!str_is(name, "identity"))
        return fail(HULL_EUNSUPPORTED, "attribute 'activation_type' is '%.*s', "
                    "want relu, gelu, silu, swiglu or identity",
                    STR_ARG(name));
    *out = m->fc[2].w ? op_binary(c->g, OP_mul, h, apply(c, x, &m->fc[2])) : h;
    return HULL_OK;
}

/* What each expert counts for each token [t,e]: of the k that the router puts
 * first their share, of the others 0. */
static hull_status shares(onnx_call *c, const moe *m, val *out)
{
    const type *t = onnx_type(c, m->router);
    int64_t k = onnx_int(c, "k", 1), axes[1] = {1};
    val p = onnx_along(c, op_cast(c->g, m->router, HULL_F32), OP_softmax, 1);

    if (!t)
        return ir_status(c->m);
    if (k < 1 || t->rank != 2)
        return fail(HULL_EFORMAT, "k is %" PRId64 " and router_probs has rank %"
                    PRIu32 ", want at least 1, and 2", k, t->rank);
    dim d[2] = {t->dims[0], t->dims[1]};
    node *top = node_new(c->g, OP_topk);
    node_input(c->g, top, m->router);
    node_dim(c->g, top, "k", k);
    node_int(c->g, top, "axis", 1);
    if (!node_add(c->g, top))
        return ir_status(c->m);
    val at = top->out[1];
    node *n = node_new(c->g, OP_gather_elements);
    node_input(c->g, n, m->mix ? op_cast(c->g, m->mix, HULL_F32) : p);
    node_input(c->g, n, at);
    node_int(c->g, n, "axis", 1);
    val best = node_add(c->g, n);
    if (onnx_int(c, "normalize_routing_weights", 0) != 0)
        best = op_binary(c->g, OP_div, best,
                         onnx_reduce(c, OP_reduce_sum, best, axes, 1, true));
    n = node_new(c->g, OP_scatter_elements);
    node_input(c->g, n, op_expand(c->g, op_scalar(c->g, HULL_F32, 0.0), d, 2));
    node_input(c->g, n, at);
    node_input(c->g, n, best);
    node_int(c->g, n, "axis", 1);
    *out = node_add(c->g, n);
    return HULL_OK;
}

static hull_status mixture(onnx_call *c, const moe *m)
{
    static const int64_t turn[2] = {1, 0};
    const type *t = onnx_type(c, c->in[0]);
    int64_t first[1] = {0}, last[1] = {2};
    val share = 0, h = 0;

    if (!t)
        return ir_status(c->m);
    if (t->rank != 2 && t->rank != 3)
        return fail(HULL_ESHAPE, "input 0 has rank %" PRIu32 ", want 2 or 3",
                    t->rank);
    type whole = *t;
    uint32_t r = whole.rank;
    dim flat[3] = {1, dim_product(c->m, whole.dims, r - 1), whole.dims[r - 1]};
    val x = op_reshape(c->g, c->in[0], flat, 3);
    TRY(activate(c, m, x, apply(c, x, &m->fc[0]), &h));
    val y = op_cast(c->g, apply(c, h, &m->fc[1]), HULL_F32);
    TRY(shares(c, m, &share));
    share = lower_axes_to_reshape(c->f, op_transpose(c->g, share, turn, 2),
                                  last, 1, true);
    val zero = op_scalar(c->g, HULL_F32, 0.0); /* times infinity is no number */
    y = op_where(c->g, op_binary(c->g, OP_eq, share, zero), zero,
                 op_binary(c->g, OP_mul, y, share));
    y = onnx_reduce(c, OP_reduce_sum, y, first, 1, false);
    c->out[0] = op_reshape(c->g, op_cast(c->g, y, whole.dtype), whole.dims, r);
    return HULL_OK;
}

static hull_status want_rank3(onnx_call *c, val w, uint32_t i)
{
    const type *t = onnx_type(c, w);

    if (!t || t->rank == 3)
        return HULL_OK;
    return fail(HULL_ESHAPE, "input %" PRIu32 " has rank %" PRIu32 ", want 3",
                i, t->rank);
}

hull_status onnx_moe(onnx_call *c)
{
    moe m = {.router = c->in[1]};

    TRY(check(c));
    TRY(contrib_present(c, (const uint32_t[]){2, 4}, 2));
    contrib_parameters(c, 2, 8);
    for (uint32_t i = 0; i < 3; i++) {
        m.fc[i] = (layer){onnx_in(c, 2 + 2 * i), onnx_in(c, 3 + 2 * i)};
        TRY(want_rank3(c, m.fc[i].w, 2 + 2 * i));
    }
    return mixture(c, &m);
}

/* ---- QMoE ---------------------------------------------------------------- */

/* Zero points, a row [n] per expert packed, or a row [k / block] per column. */
static val zeros_of(onnx_call *c, val zero, int64_t bits, dim n, bool blocks)
{
    val z = contrib_unpack(c, zero, bits, false);

    return op_slice(c->g, z, blocks ? 2 : 1, 0, n, 1);
}

/* (value - zero) scale, one scale per column or per block of it. */
static hull_status dequantized(onnx_call *c, uint32_t at, uint32_t zero_at,
                               int64_t bits, val *out)
{
    const type *x = onnx_type(c, c->in[0]), *s = onnx_type(c, c->in[at + 1]);
    int64_t block = onnx_int(c, "block_size", 0), last[1] = {-1};
    val w = 0, zero = onnx_in(c, zero_at), scale = c->in[at + 1];

    TRY(want_rank3(c, c->in[at], at));
    if (!x || !s)
        return fail(HULL_EFORMAT, "input %" PRIu32 " is missing", at + 1);
    hull_dtype dt = x->dtype;
    bool blocks = block > 0;
    if (blocks)
        TRY(contrib_want_block(block));
    if (s->rank != (blocks ? 3u : 2u))
        return fail(HULL_ESHAPE, "input %" PRIu32 " has rank %" PRIu32
                    ", want %d", at + 1, s->rank, blocks ? 3 : 2);
    dim n = s->dims[blocks ? 2 : 1];
    w = op_cast(c->g, contrib_unpack(c, c->in[at], bits, false), dt);
    scale = op_cast(c->g, scale, dt);
    if (zero)
        zero = op_cast(c->g, zeros_of(c, zero, bits, n, blocks), dt);
    else
        w = op_binary(c->g, OP_sub, w,
                      op_scalar(c->g, dt, (double)(1 << (bits - 1))));
    if (blocks) {
        if (zero)
            w = contrib_per_block(c, OP_sub, w, zero, 2, block);
        *out = contrib_per_block(c, OP_mul, w, scale, 2, block);
        return ir_status(c->m);
    }
    if (zero)
        w = op_binary(c->g, OP_sub, w,
                      lower_axes_to_reshape(c->f, zero, last, 1, true));
    *out = op_binary(c->g, OP_mul, w,
                     lower_axes_to_reshape(c->f, scale, last, 1, true));
    return ir_status(c->m);
}

hull_status onnx_qmoe(onnx_call *c)
{
    static const char *const names[3] = {"fc1_expert_weight_bits",
                                         "fc2_expert_weight_bits",
                                         "fc3_expert_weight_bits"};
    int64_t packed = onnx_int(c, "weights_prepacked", 0);
    str kind = onnx_str(c, "quant_type", "int");
    moe m = {.router = c->in[1], .mix = onnx_in(c, 14)};

    TRY(check(c));
    TRY(contrib_present(c, (const uint32_t[]){2, 3, 5, 6}, 4));
    if (!str_is(kind, "int"))
        return fail(HULL_EUNSUPPORTED, "attribute 'quant_type' is '%.*s', want "
                    "int", STR_ARG(kind));
    if (packed != 0 && packed != -1)
        return fail(HULL_EUNSUPPORTED, "attribute 'weights_prepacked' is %"
                    PRId64 ", want 0", packed);
    for (uint32_t i = 15; i < c->n_in; i++)
        TRY(contrib_absent(c, i, "a scale of another type"));
    contrib_parameters(c, 2, 14);
    for (uint32_t i = 0; i < 3 && onnx_in(c, 2 + 3 * i); i++) {
        int64_t bits = onnx_int(c, names[i],
                                onnx_int(c, "expert_weight_bits", 4));

        TRY(contrib_want_bits(bits));
        TRY(contrib_present(c, (const uint32_t[]){3 + 3 * i}, 1));
        TRY(dequantized(c, 2 + 3 * i, 11 + i, bits, &m.fc[i].w));
        m.fc[i].b = onnx_in(c, 4 + 3 * i);
    }
    return mixture(c, &m);
}
