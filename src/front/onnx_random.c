/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_random.c - lowerings of operators that draw random numbers. An attribute
 * `seed` makes the node's numbers independent of the session's seed.
 */
#include "front/onnx_lower.h"

#include <inttypes.h>
#include <string.h>

/* The bits of a float attribute: any two seeds differ. */
static const int64_t *seed_of(onnx_call *c, int64_t *room)
{
    float f = (float)onnx_float(c, "seed", 0);
    uint32_t bits;

    if (!onnx_has(c, "seed"))
        return NULL;
    memcpy(&bits, &f, sizeof bits);
    *room = bits;
    return room;
}

static hull_status dtype_attr(onnx_call *c, hull_dtype otherwise,
                              hull_dtype *out)
{
    int64_t code = onnx_int(c, "dtype", 0);

    *out = onnx_has(c, "dtype") ? onnx_dtype(code) : otherwise;
    return *out != HULL_NONE
               ? HULL_OK
               : fail(HULL_EUNSUPPORTED, "attribute 'dtype' is %" PRId64,
                      code);
}

/* Uniform (arg 0) or normal (1) numbers of a shape. */
static hull_status numbers(onnx_call *c, const dim *d, uint32_t rank,
                           hull_dtype dt)
{
    bool normal = c->row->arg == 1;
    double a = normal ? onnx_float(c, "scale", 1.0)
                      : onnx_float(c, "high", 1.0);
    double b = normal ? onnx_float(c, "mean", 0.0)
                      : onnx_float(c, "low", 0.0);
    int64_t seed;

    c->out[0] = front_scaled(c->f, front_random(c->f, normal, dt, d, rank,
                                                seed_of(c, &seed)),
                             normal ? a : a - b, b);
    return ir_status(c->m);
}

hull_status onnx_random(onnx_call *c)
{
    int64_t shape[HULL_MAX_RANK];
    dim d[HULL_MAX_RANK];
    uint32_t n = 0;
    hull_dtype dt;

    if (!onnx_has(c, "shape"))
        return fail(HULL_EFORMAT, "attribute 'shape' is missing");
    TRY(onnx_ints(c, "shape", shape, HULL_MAX_RANK, &n));
    for (uint32_t i = 0; i < n; i++) {
        if (shape[i] < 0)
            return fail(HULL_EFORMAT, "size %" PRIu32 " is %" PRId64, i,
                        shape[i]);
        d[i] = shape[i];
    }
    TRY(dtype_attr(c, HULL_F32, &dt));
    return numbers(c, d, n, dt);
}

hull_status onnx_random_like(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    hull_dtype dt;

    if (!t)
        return ir_status(c->m);
    TRY(dtype_attr(c, dtype_is_float(t->dtype) ? t->dtype : HULL_F32, &dt));
    return numbers(c, t->dims, t->rank, dt);
}

hull_status onnx_bernoulli(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    int64_t seed;
    hull_dtype dt;

    if (!t)
        return ir_status(c->m);
    TRY(dtype_attr(c, t->dtype, &dt));
    c->out[0] = op_cast(c->g,
                        front_bernoulli(c->f, c->in[0], seed_of(c, &seed)),
                        dt);
    return HULL_OK;
}

hull_status onnx_multinomial(onnx_call *c)
{
    int64_t samples = onnx_int(c, "sample_size", 1), seed;
    hull_dtype dt;

    if (samples < 1)
        return fail(HULL_EFORMAT, "attribute 'sample_size' is %" PRId64,
                    samples);
    TRY(dtype_attr(c, HULL_I32, &dt));
    c->out[0] = op_cast(c->g,
                        front_multinomial(c->f, c->in[0], samples,
                                          seed_of(c, &seed)), dt);
    return HULL_OK;
}

/* What inference does: everything is kept. */
static void keep_all(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    val yes = op_scalar_i64(c->g, HULL_BOOL, 1);

    c->out[0] = c->in[0];
    if (onnx_wants(c, 1) && t)
        c->out[1] = op_expand(c->g, yes, t->dims, t->rank);
}

/* training_mode may be data: both ways are computed, one is taken. */
hull_status onnx_dropout(onnx_call *c)
{
    double training = 0;
    int64_t seed;
    val mask, y, mode, ratio;

    if (c->version < 7 && onnx_int(c, "is_test", 0) == 0)
        return fail(HULL_EUNSUPPORTED, "is_test is 0");
    keep_all(c);
    if (!onnx_in(c, 2) ||
        (front_scalar(c->f, c->in[2], &training) && training == 0))
        return ir_status(c->m);
    ratio = onnx_in(c, 1) ? op_reshape(c->g, c->in[1], NULL, 0)
                          : op_scalar(c->g, HULL_F32, 0.5);
    y = front_dropout(c->f, c->in[0], ratio, seed_of(c, &seed), &mask);
    if (training == 0) {
        mode = op_cast(c->g, op_reshape(c->g, c->in[2], NULL, 0), HULL_BOOL);
        y = op_where(c->g, mode, y, c->in[0]);
        mask = op_binary(c->g, OP_or, mask, op_unary(c->g, OP_not, mode));
    }
    c->out[0] = y;
    if (onnx_wants(c, 1))
        c->out[1] = mask;
    return ir_status(c->m);
}
