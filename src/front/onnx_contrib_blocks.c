/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_contrib_blocks.c - lowerings of domain com.microsoft whose weights are
 * a few bits wide, packed into bytes, with a scale per block. Unpacking is
 * shifts, masks and reshapes of the stored tensors, which are the holes; so it
 * is part of what a refit prepares.
 */
#include "front/onnx_contrib.h"

#include <inttypes.h>

val contrib_unpack(onnx_call *c, val x, int64_t bits, bool high_first)
{
    const type *t = onnx_type(c, x);
    int64_t last[1] = {-1}, per = 8 / bits;
    dim flat[HULL_MAX_RANK];
    uint8_t by[8];

    if (!t || bits == 8)
        return x;
    uint32_t rank = t->rank;
    for (uint32_t i = 0; i < rank; i++)
        flat[i] = t->dims[i];
    flat[rank - 1] = dim_mul(c->m, flat[rank - 1], per);
    for (int64_t i = 0; i < per; i++)
        by[i] = (uint8_t)((high_first ? per - 1 - i : i) * bits);
    x = lower_axes_to_reshape(c->f, x, last, 1, true);
    x = op_binary(c->g, OP_shift_right, x,
                  op_const(c->g, HULL_U8, &per, 1, by));
    x = op_binary(c->g, OP_and, x,
                  op_scalar_i64(c->g, HULL_U8, (1 << bits) - 1));
    return op_reshape(c->g, x, flat, rank);
}

val contrib_per_block(onnx_call *c, op_code op, val x, val scale,
                      uint32_t axis, int64_t block)
{
    const type *t = onnx_type(c, x);
    int64_t axes[1] = {axis + 1};
    dim wide[HULL_MAX_RANK];

    if (!t)
        return 0;
    type whole = *t;
    for (uint32_t i = 0; i < whole.rank; i++)
        wide[i + (i > axis)] = whole.dims[i];
    wide[axis] = dim_div(c->m, whole.dims[axis], block);
    wide[axis + 1] = block;
    x = op_binary(c->g, op, op_reshape(c->g, x, wide, whole.rank + 1),
                  lower_axes_to_reshape(c->f, scale, axes, 1, true));
    return op_reshape(c->g, x, whole.dims, whole.rank);
}

/* The same where the last block may be shorter. */
static val by_block(onnx_call *c, op_code op, val x, val scale, uint32_t axis,
                    int64_t block)
{
    const type *t = onnx_type(c, x);
    int64_t size = 0;
    val part[2];

    if (!t || !dim_is_int(c->m, t->dims[axis], &size) || size % block == 0)
        return contrib_per_block(c, op, x, scale, axis, block);
    int64_t n = size / block, body = n * block;
    part[1] = op_binary(c->g, op, op_slice(c->g, x, axis, body, size, 1),
                        op_slice(c->g, scale, axis, n, n + 1, 1));
    if (n == 0)
        return part[1];
    part[0] = contrib_per_block(c, op, op_slice(c->g, x, axis, 0, body, 1),
                        op_slice(c->g, scale, axis, 0, n, 1), axis, block);
    return op_concat(c->g, part, 2, axis);
}

hull_status contrib_want_block(int64_t block)
{
    if (block >= 16 && block <= INT32_MAX && (block & (block - 1)) == 0)
        return HULL_OK;
    return fail(HULL_EFORMAT, "attribute 'block_size' is %" PRId64 ", want a "
                "power of two and at least 16", block);
}

hull_status contrib_want_bits(int64_t bits)
{
    if (bits == 2 || bits == 4 || bits == 8)
        return HULL_OK;
    return fail(HULL_EUNSUPPORTED, "attribute 'bits' is %" PRId64
                ", want 2, 4 or 8", bits);
}

static hull_status sizes(onnx_call *c, int64_t *k, int64_t *n)
{
    *k = onnx_int(c, "K", 0);
    *n = onnx_int(c, "N", 0);
    if (*k > 0 && *n > 0 && *k <= INT32_MAX && *n <= INT32_MAX)
        return HULL_OK;
    return fail(HULL_EFORMAT, "attributes 'K' and 'N' are %" PRId64 " and %"
                PRId64 ", want at least 1", *k, *n);
}

/* ---- MatMulNBits --------------------------------------------------------- */

typedef struct nbits {
    int64_t k, n, bits, block, blocks;
    hull_dtype dt; /* of a and the scales */
} nbits;

static hull_status read_nbits(onnx_call *c, nbits *p)
{
    const type *a = onnx_type(c, c->in[0]), *b = onnx_type(c, c->in[1]);

    if (!a || !b)
        return ir_status(c->m);
    TRY(sizes(c, &p->k, &p->n));
    p->bits = onnx_int(c, "bits", 4);
    p->block = onnx_int(c, "block_size", 0);
    p->dt = a->dtype;
    TRY(contrib_want_bits(p->bits));
    TRY(contrib_want_block(p->block));
    TRY(contrib_want(c, "weight_prepacked", 0));
    p->blocks = (p->k + p->block - 1) / p->block;
    const dim want[3] = {p->n, p->blocks, p->block * p->bits / 8};
    if (b->dtype != HULL_U8 || b->rank != 3 || b->dims[0] != want[0] ||
        b->dims[1] != want[1] || b->dims[2] != want[2])
        return fail(HULL_ESHAPE, "input 1 is %s of rank %" PRIu32 ", want "
                    "u8[%" PRId64 ",%" PRId64 ",%" PRId64 "]",
                    hull_dtype_name(b->dtype), b->rank, want[0], want[1],
                    want[2]);
    return HULL_OK;
}

/* One zero point per row and block, in the type of a: packed as the weights
 * are, each row from a whole byte on, or not packed. */
static val zeros_of(onnx_call *c, const nbits *p)
{
    const type *z = onnx_type(c, onnx_in(c, 3));
    int64_t per = 8 / p->bits, n_bytes = (p->blocks + per - 1) / per;
    dim packed[2] = {p->n, n_bytes}, flat[2] = {p->n, p->blocks};

    if (!z)
        return op_scalar(c->g, p->dt, (double)(1 << (p->bits - 1)));
    if (z->dtype != HULL_U8)
        return op_reshape(c->g, op_cast(c->g, c->in[3], p->dt), flat, 2);
    val v = contrib_unpack(c, op_reshape(c->g, c->in[3], packed, 2), p->bits,
                           false);
    v = op_slice(c->g, v, 1, 0, p->blocks, 1);
    return op_cast(c->g, v, p->dt);
}

/* The weights [n,k]: (value - zero) scale. */
static val weights_of(onnx_call *c, const nbits *p)
{
    const dim each[3] = {p->n, p->blocks, p->block};
    const dim flat[2] = {p->n, p->blocks * p->block};
    const dim per[2] = {p->n, p->blocks}, one[3] = {p->n, p->blocks, 1};
    val w = op_cast(c->g, contrib_unpack(c, c->in[1], p->bits, false), p->dt);
    val scale = op_reshape(c->g, c->in[2], per, 2), zero = zeros_of(c, p);
    const type *z = onnx_type(c, zero);
    bool grouped = onnx_in(c, 4) != 0;

    if (!z)
        return 0;
    if (grouped) { /* the group of each place is data */
        val g = op_slice(c->g, c->in[4], 0, 0, p->k, 1);
        bool many = z->rank == 2;

        w = op_slice(c->g, op_reshape(c->g, w, flat, 2), 1, 0, p->k, 1);
        scale = contrib_gather(c, scale, g, 1);
        zero = many ? contrib_gather(c, zero, g, 1) : zero;
    } else {
        w = op_reshape(c->g, w, each, 3);
        scale = op_reshape(c->g, scale, one, 3);
        zero = z->rank == 2 ? op_reshape(c->g, zero, one, 3) : zero;
    }
    w = op_binary(c->g, OP_mul, op_binary(c->g, OP_sub, w, zero), scale);
    if (grouped)
        return w;
    w = op_reshape(c->g, w, flat, 2);
    return p->blocks * p->block == p->k ? w : op_slice(c->g, w, 1, 0, p->k, 1);
}

hull_status onnx_matmul_nbits(onnx_call *c)
{
    nbits p = {0};

    TRY(read_nbits(c, &p));
    contrib_parameters(c, 1, 6);
    val y = contrib_matmul(c, c->in[0], weights_of(c, &p), false, true);
    c->out[0] = onnx_in(c, 5) ? op_binary(c->g, OP_add, y, c->in[5]) : y;
    return HULL_OK;
}

/* ---- MatMulBnb4 ---------------------------------------------------------- */

/* The sixteen values of the two types of bitsandbytes. */
static const float fp4[16] = {
    0.0f, 5.208333333e-03f, 0.66666667f, 1.0f, 0.33333333f, 0.5f, 0.16666667f,
    0.25f, -0.0f, -5.208333333e-03f, -0.66666667f, -1.0f, -0.33333333f, -0.5f,
    -0.16666667f, -0.25f,
};
static const float nf4[16] = {
    -1.0f, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f,
    -0.28444138169288635f, -0.18477343022823334f, -0.09105003625154495f, 0.0f,
    0.07958029955625534f, 0.16093020141124725f, 0.24611230194568634f,
    0.33791524171829224f, 0.44070982933044434f, 0.5626170039176941f,
    0.7229568362236023f, 1.0f,
};

hull_status onnx_matmul_bnb4(onnx_call *c)
{
    static const int64_t sixteen[1] = {16};
    int64_t k = 0, n = 0, kind = onnx_int(c, "quant_type", 0);
    int64_t block = onnx_int(c, "block_size", 0);
    const type *a = onnx_type(c, c->in[0]);

    if (!a)
        return ir_status(c->m);
    hull_dtype dt = a->dtype;
    TRY(sizes(c, &k, &n));
    TRY(contrib_want_block(block));
    TRY(contrib_want(c, "training_mode", 0));
    if (kind != 0 && kind != 1)
        return fail(HULL_EFORMAT, "attribute 'quant_type' is %" PRId64
                    ", want 0 or 1", kind);
    contrib_parameters(c, 1, 3);
    dim flat[1] = {(n * k + 1) / 2}, shape[2] = {n, k};
    val at = contrib_unpack(c, op_reshape(c->g, c->in[1], flat, 1), 4, true);
    val w = contrib_gather(c, op_const(c->g, HULL_F32, sixteen, 1,
                                       kind ? nf4 : fp4),
                           op_cast(c->g, at, HULL_I32), 0);
    w = op_cast(c->g, op_slice(c->g, w, 0, 0, n * k, 1), dt);
    w = by_block(c, OP_mul, w, c->in[2], 0, block);
    c->out[0] = contrib_matmul(c, c->in[0], op_reshape(c->g, w, shape, 2),
                               false, onnx_int(c, "transB", 1) != 0);
    return HULL_OK;
}

/* ---- GatherBlockQuantized ------------------------------------------------ */

typedef struct table {
    uint32_t axis, along; /* of the indices, of the blocks */
    int64_t block, bits;
    bool is_float;
} table;

static hull_status read_table(onnx_call *c, table *p)
{
    const type *t = onnx_type(c, c->in[0]);
    int64_t size = 0;

    if (!t)
        return ir_status(c->m);
    p->bits = t->dtype == HULL_U8 ? onnx_int(c, "bits", 4) : 8;
    p->block = onnx_int(c, "block_size", 128);
    p->is_float = dtype_is_float(t->dtype);
    TRY(contrib_want_bits(p->bits));
    TRY(onnx_axis(c, onnx_int(c, "gather_axis", 0), t->rank, &p->axis));
    TRY(onnx_axis(c, onnx_int(c, "quantize_axis", 1), t->rank, &p->along));
    if (p->is_float && p->block == 0 &&
        dim_is_int(c->m, t->dims[p->along], &size) && size > 0) {
        p->block = size;
        return HULL_OK;
    }
    return contrib_want_block(p->block);
}

/* Rows of a table at indices; zeros where an index is outside. */
static val rows_at(onnx_call *c, val w, val at, uint32_t axis)
{
    const type *t = onnx_type(c, w), *i = onnx_type(c, at);
    int64_t axes[HULL_MAX_RANK];

    if (!t || !i)
        return 0;
    uint32_t after = t->rank - 1 - axis, rank = i->rank;
    val size = contrib_size(c, t->dims[axis]);
    val none = op_scalar_i64(c->g, HULL_I64, 0);
    at = op_cast(c->g, at, HULL_I64);
    val in = op_binary(c->g, OP_and, op_binary(c->g, OP_lt, at, size),
                       op_binary(c->g, OP_ge, at,
                                 op_unary(c->g, OP_neg, size)));
    val y = contrib_gather(c, w, op_where(c->g, in, at, none), axis);
    for (uint32_t k = 0; k < after; k++)
        axes[k] = rank + k;
    if (after > 0)
        in = lower_axes_to_reshape(c->f, in, axes, after, true);
    return op_where(c->g, in, y, onnx_scalar_like(c, y, 0.0));
}

hull_status onnx_gather_blocks(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]), *s = onnx_type(c, c->in[2]);
    table p = {0};

    TRY(read_table(c, &p));
    if (!t || !s)
        return ir_status(c->m);
    hull_dtype dt = s->dtype;
    bool packed = t->dtype == HULL_U8;
    contrib_parameters(c, 0, 1);
    contrib_parameters(c, 2, 4);
    val w = op_cast(c->g, contrib_unpack(c, c->in[0], p.bits, false), dt);
    if (onnx_in(c, 3)) {
        val z = op_cast(c->g, contrib_unpack(c, c->in[3], p.bits, false), dt);
        const type *zt = onnx_type(c, z);

        s = onnx_type(c, c->in[2]);
        if (!zt || !s)
            return ir_status(c->m);
        uint32_t last = s->rank - 1;
        if (p.bits < 8) /* the last byte may hold more than there are */
            z = op_slice(c->g, z, last, 0, s->dims[last], 1);
        w = by_block(c, OP_sub, w, z, p.along, p.block);
    } else if (packed) {
        w = op_binary(c->g, OP_sub, w,
                      op_scalar(c->g, dt, (double)(1 << (p.bits - 1))));
    }
    w = by_block(c, OP_mul, w, c->in[2], p.along, p.block);
    c->out[0] = rows_at(c, w, c->in[1], p.axis);
    return HULL_OK;
}
