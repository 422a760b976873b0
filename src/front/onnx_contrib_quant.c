/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_contrib_quant.c - lowerings of domain com.microsoft on tensors of 8
 * bits: products that accumulate in integers, and operators whose definition
 * is to dequantise, compute in f32 and quantise.
 */
#include "front/onnx_contrib.h"

#include <inttypes.h>

/* ---- shared -------------------------------------------------------------- */

val contrib_number(onnx_call *c, val v)
{
    const type *t = onnx_type(c, v);

    return t && t->rank == 1 ? op_reshape(c->g, v, NULL, 0) : v;
}

val contrib_dequantize(onnx_call *c, val x, val scale, val zero)
{
    node *n = node_new(c->g, OP_dequantize);

    node_input(c->g, n, x);
    node_input(c->g, n, contrib_number(c, scale));
    if (zero)
        node_input(c->g, n, contrib_number(c, zero));
    node_int(c->g, n, "axis", 0);
    return node_add(c->g, n);
}

static val quantize(onnx_call *c, val x, val scale, val zero, hull_dtype to)
{
    node *n = node_new(c->g, OP_quantize);

    node_input(c->g, n, x);
    node_input(c->g, n, contrib_number(c, scale));
    if (zero)
        node_input(c->g, n, contrib_number(c, zero));
    node_int(c->g, n, "axis", 0);
    node_dtype(c->g, n, "to", to);
    return node_add(c->g, n);
}

/* Operands i, i + 1, i + 2 are a tensor, its scale, its zero point. */
static val read(onnx_call *c, uint32_t i)
{
    contrib_parameters(c, i, i + 3);
    return contrib_dequantize(c, c->in[i], c->in[i + 1], onnx_in(c, i + 2));
}

/* x to the type of operand 0, scale and zero point are operands i, i + 1. */
static hull_status write(onnx_call *c, val x, uint32_t i)
{
    const type *z = onnx_type(c, onnx_in(c, i + 1));
    const type *t = z ? z : onnx_type(c, c->in[0]);

    if (!t || !x)
        return ir_status(c->m);
    contrib_parameters(c, i, i + 2);
    c->out[0] = quantize(c, x, c->in[i], onnx_in(c, i + 1), t->dtype);
    return HULL_OK;
}

/* ---- dequantise, compute, quantise --------------------------------------- */

/* The argument is the op. */
hull_status onnx_qlinear_binary(onnx_call *c)
{
    TRY(contrib_present(c, (const uint32_t[]){3, 4, 6}, 3));
    val a = read(c, 0), b = read(c, 3);

    return write(c, op_binary(c->g, (op_code)c->row->arg, a, b), 6);
}

hull_status onnx_qlinear_unary(onnx_call *c)
{
    node *n = NULL;

    TRY(contrib_present(c, (const uint32_t[]){3}, 1));
    n = node_new(c->g, (op_code)c->row->arg);
    node_input(c->g, n, read(c, 0));
    if (c->row->arg == OP_leaky_relu)
        node_float(c->g, n, "alpha", onnx_float(c, "alpha", 0.01));
    return write(c, node_add(c->g, n), 3);
}

/* Before opset 13 the axes from `axis` on are one. */
hull_status onnx_qlinear_softmax(onnx_call *c)
{
    val in[1] = {read(c, 0)};
    onnx_row row = {.arg = OP_softmax};
    onnx_call now = *c;

    TRY(contrib_present(c, (const uint32_t[]){3}, 1));
    if (!onnx_has(c, "opset"))
        return fail(HULL_EFORMAT, "attribute 'opset' is missing");
    now.in = in;
    now.n_in = 1;
    now.row = &row;
    now.version = onnx_int(c, "opset", 13);
    TRY(ir_status(c->m));
    TRY(now.version < 13 ? onnx_softmax_old(&now) : onnx_softmax(&now));
    return write(c, c->out[0], 3);
}

/* The argument 1: over the whole image. */
hull_status onnx_qlinear_pool(onnx_call *c)
{
    bool last = onnx_int(c, "channels_last", 0) != 0;
    val in[1] = {read(c, 0)};
    onnx_row row = {.arg = OP_reduce_mean};
    onnx_call now = *c;

    if (last)
        in[0] = contrib_channels(c, in[0], true);
    now.in = in;
    now.n_in = 1;
    now.row = &row;
    TRY(ir_status(c->m));
    TRY(c->row->arg ? onnx_global_pool(&now) : onnx_avg_pool(&now));
    val y = last ? contrib_channels(c, c->out[0], false) : c->out[0];
    return write(c, y, 3);
}

hull_status onnx_qlinear_reduce_mean(onnx_call *c)
{
    int64_t axes[HULL_MAX_RANK];
    uint32_t n = 0;

    TRY(contrib_present(c, (const uint32_t[]){3}, 1));
    TRY(onnx_ints(c, "axes", axes, HULL_MAX_RANK, &n));
    val y = onnx_reduce(c, OP_reduce_mean, read(c, 0), axes, n,
                        onnx_int(c, "keepdims", 1) != 0);
    return write(c, y, 3);
}

/* Operands: the result's scale and zero point, then threes. */
hull_status onnx_qlinear_concat(onnx_call *c)
{
    uint32_t n = (c->n_in - 2) / 3, axis = 0;
    val *parts = arena_array(&c->f->a, n + 1, sizeof *parts);
    const type *z = onnx_type(c, c->in[1]);

    if (!parts)
        return fail_oom(n * sizeof *parts);
    if (c->n_in < 5 || (c->n_in - 2) % 3 != 0)
        return fail(HULL_EFORMAT, "%" PRIu32 " inputs, want 2 and threes",
                    c->n_in);
    for (uint32_t i = 0; i < n; i++) {
        if (!c->in[3 * i + 2] || !c->in[3 * i + 3])
            return fail(HULL_EFORMAT, "input %" PRIu32 " is missing",
                        3 * i + 2);
        parts[i] = read(c, 3 * i + 2);
    }
    const type *t = onnx_type(c, parts[0]);
    if (!t || !z)
        return ir_status(c->m);
    TRY(onnx_axis(c, onnx_int(c, "axis", 0), t->rank, &axis));
    contrib_parameters(c, 0, 2);
    c->out[0] = quantize(c, op_concat(c->g, parts, n, axis), c->in[0],
                         c->in[1], z->dtype);
    return HULL_OK;
}

hull_status onnx_qlinear_where(onnx_call *c)
{
    val a = read(c, 1), b = read(c, 4);

    TRY(ir_status(c->m));
    const type *z = onnx_type(c, c->in[8]);
    if (!z)
        return ir_status(c->m);
    contrib_parameters(c, 7, 9);
    c->out[0] = quantize(c, op_where(c->g, c->in[0], a, b), c->in[7],
                         c->in[8], z->dtype);
    return HULL_OK;
}

/* QLinearConv, and with the channels last. */
hull_status onnx_contrib_qlinear_conv(onnx_call *c)
{
    bool last = onnx_int(c, "channels_last", 0) != 0;
    onnx_call now = *c;
    val in[9] = {0};

    for (uint32_t i = 0; i < c->n_in; i++)
        in[i] = c->in[i];
    if (last)
        in[0] = contrib_channels(c, in[0], true);
    now.in = in;
    TRY(onnx_qlinear_conv(&now));
    if (last)
        c->out[0] = contrib_channels(c, c->out[0], false);
    return HULL_OK;
}

/* ---- products ------------------------------------------------------------ */

/* A scale: one number, or one per column (per row where `rows`). */
static val scale_of(onnx_call *c, val v, bool rows)
{
    const type *t = onnx_type(c, v);
    int64_t size = 0, last[1] = {-1};

    if (!t || t->rank != 1)
        return v;
    if (dim_is_int(c->m, t->dims[0], &size) && size == 1)
        return contrib_number(c, v);
    return rows ? lower_axes_to_reshape(c->f, v, last, 1, true) : v;
}

static val scaled(onnx_call *c, val acc, val a, val b)
{
    return op_binary(c->g, OP_mul, op_cast(c->g, acc, HULL_F32),
                     op_binary(c->g, OP_mul, a, b));
}

static val with_bias(onnx_call *c, val y, uint32_t i)
{
    contrib_parameters(c, i, i + 1);
    return onnx_in(c, i) ? op_binary(c->g, OP_add, y, c->in[i]) : y;
}

/* a is quantised as a whole, here and now. */
hull_status onnx_dynamic_matmul(onnx_call *c)
{
    val q[3];

    contrib_parameters(c, 1, 4);
    onnx_quantize_dynamic(c, c->in[0], q);
    val acc = onnx_integer_product(c, q[0], c->in[1], q[2], onnx_in(c, 3));
    val y = scaled(c, acc, q[1], scale_of(c, c->in[2], false));
    c->out[0] = with_bias(c, y, 4);
    return HULL_OK;
}

hull_status onnx_matmul_to_float(onnx_call *c)
{
    const type *s = onnx_type(c, c->in[2]);

    if (!s)
        return ir_status(c->m);
    hull_dtype dt = s->dtype;
    contrib_parameters(c, 1, 6);
    val acc = onnx_integer_product(c, c->in[0], c->in[1], onnx_in(c, 4),
                                   onnx_in(c, 5));
    val y = scaled(c, acc,
                   op_cast(c->g, scale_of(c, c->in[2], true), HULL_F32),
                   op_cast(c->g, scale_of(c, c->in[3], false), HULL_F32));
    c->out[0] = with_bias(c, op_cast(c->g, y, dt), 6);
    return HULL_OK;
}

/* i16 matrices; the product is i32. */
hull_status onnx_matmul_integer16(onnx_call *c)
{
    c->out[0] = onnx_integer_product(c, c->in[0], c->in[1], 0, 0);
    return HULL_OK;
}

/* (a - a_zero) (b - b_zero) in i32. */
hull_status onnx_mul_integer(onnx_call *c)
{
    val v[2];

    TRY(contrib_present(c, (const uint32_t[]){2}, 1));
    contrib_parameters(c, 1, 2);
    contrib_parameters(c, 3, 4);
    for (uint32_t i = 0; i < 2; i++) {
        v[i] = op_cast(c->g, c->in[2 * i], HULL_I32);
        if (onnx_in(c, 2 * i + 1))
            v[i] = op_binary(c->g, OP_sub, v[i],
                             op_cast(c->g,
                                     contrib_number(c, c->in[2 * i + 1]),
                                     HULL_I32));
    }
    c->out[0] = op_binary(c->g, OP_mul, v[0], v[1]);
    return HULL_OK;
}

static val turned(onnx_call *c, val x, bool turn)
{
    static const int64_t perm[2] = {1, 0};

    return turn ? op_transpose(c->g, x, perm, 2) : x;
}

/* (a b + c) alpha a_scale b_scale, as f32 or quantised. */
hull_status onnx_qgemm(onnx_call *c)
{
    for (uint32_t i = 0; i < 4; i += 3) {
        const type *t = onnx_type(c, c->in[i]);

        if (t && t->rank != 2)
            return fail(HULL_ESHAPE, "input %" PRIu32 " has rank %" PRIu32
                        ", want 2", i, t->rank);
    }
    contrib_parameters(c, 1, 9);
    val a = turned(c, c->in[0], onnx_int(c, "transA", 0) != 0);
    val b = turned(c, c->in[3], onnx_int(c, "transB", 0) != 0);
    val acc = onnx_integer_product(c, a, b, contrib_number(c, c->in[2]),
                                   c->in[5]);
    if (onnx_in(c, 6))
        acc = op_binary(c->g, OP_add, acc, c->in[6]);
    val y = scaled(c, acc, contrib_number(c, c->in[1]),
                   scale_of(c, c->in[4], false));
    y = contrib_scaled(c, y, onnx_float(c, "alpha", 1.0));
    c->out[0] = y;
    if (!onnx_in(c, 7))
        return HULL_OK;
    return write(c, y, 7);
}

/* Attention whose input and weights have 8 bits. */
hull_status onnx_qattention(onnx_call *c)
{
    contrib_parameters(c, 1, 5);
    contrib_parameters(c, 6, 8);
    val acc = onnx_integer_product(c, c->in[0], c->in[1],
                                   contrib_number(c, onnx_in(c, 6)),
                                   onnx_in(c, 7));
    val qkv = scaled(c, acc, contrib_number(c, c->in[3]),
                     scale_of(c, c->in[4], false));
    qkv = op_binary(c->g, OP_add, qkv, c->in[2]);
    return contrib_attention(c, qkv, onnx_in(c, 5), onnx_in(c, 8), 0);
}

/* EmbedLayerNormalization of tables of 8 bits. */
hull_status onnx_qembed_norm(onnx_call *c)
{
    val v[7] = {0}; /* words positions segments gamma beta */
    static const uint32_t at[5] = {2, 3, 4, 5, 6};

    TRY(contrib_present(c, (const uint32_t[]){2, 3, 5, 6, 8, 9, 11, 12, 13, 14,
                                              16, 17}, 12));
    if (!onnx_in(c, 4) != !onnx_in(c, 10))
        return fail(HULL_EFORMAT, "segment embeddings without their scale, or "
                    "a scale without them");
    contrib_parameters(c, 2, 7);
    contrib_parameters(c, 8, 18);
    for (uint32_t i = 0; i < 5; i++)
        if (onnx_in(c, at[i]))
            v[i] = contrib_dequantize(c, c->in[at[i]], onnx_in(c, 8 + i),
                                      onnx_in(c, 13 + i));
    const contrib_embed e = {
        .ids = c->in[0], .segment_ids = onnx_in(c, 1), .words = v[0],
        .positions = v[1], .segments = v[2], .gamma = v[3], .beta = v[4],
        .mask = onnx_in(c, 7),
    };
    return contrib_embed_norm(c, &e);
}
