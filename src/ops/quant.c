/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * quant.c - quantize y = saturate(round_even(x / scale) + zero) and dequantize
 * y = (x - zero) * scale. Scale and zero are one number or one per index of
 * the axis. The quotient is rounded to f32 first unless x or scale is f64,
 * because producers of such models divide in f32.
 */
#include "ops/data.h"
#include "ops/family.h"

#include <inttypes.h>
#include <math.h>

static bool is_quantized(hull_dtype dt)
{
    return dtype_is_int(dt) || (narrow_max(dt) > 0.0 && dt != HULL_F8E8M0);
}

/* Checks operand i as scale or zero: one number, or a vector for the axis. */
static hull_status parameter_infer(graph *g, node *n, uint32_t i,
                                   const type *x)
{
    const type *p;
    char what[128];
    uint32_t axis;
    dim same;

    TRY(infer_tensor(&p, g, n, i));
    if (p->rank == 0 || (p->rank == 1 && p->dims[0] == 1))
        return HULL_OK;
    if (p->rank != 1)
        return fail(HULL_EUNSUPPORTED,
                    "%s: operand %u has rank %u, want one value or a vector",
                    node_what(n, what), i, p->rank);
    TRY(infer_axis(&axis, n, attr_int(n, "axis"), x->rank));
    return data_agree(&same, g, n, "a quantised axis", x->dims[axis],
                      p->dims[0]);
}

hull_status quant_infer(graph *g, node *n)
{
    const type *x, *scale, *zero;
    char what[128];
    hull_dtype to, packed;

    TRY(infer_tensor(&x, g, n, 0));
    TRY(infer_tensor(&scale, g, n, 1));
    if (!dtype_is_float(scale->dtype))
        return fail(HULL_ESHAPE, "%s: scale is %s, want a float type",
                    node_what(n, what), hull_dtype_name(scale->dtype));
    to = n->op == OP_quantize ? attr_dtype(n, "to") : scale->dtype;
    packed = n->op == OP_quantize ? to : x->dtype;
    if (!is_quantized(packed))
        return fail(HULL_ESHAPE,
                    "%s: %s is not a quantised type, want an integer or a "
                    "float of 8 bits or fewer",
                    node_what(n, what), hull_dtype_name(packed));
    if (n->op == OP_quantize && !dtype_is_float(x->dtype) &&
        !dtype_is_int(x->dtype))
        return fail(HULL_ESHAPE, "%s: operand is %s, want a float type",
                    node_what(n, what), hull_dtype_name(x->dtype));
    TRY(parameter_infer(g, n, 1, x));
    if (node_has(n, 2)) {
        TRY(infer_tensor(&zero, g, n, 2));
        if (zero->dtype != packed)
            return fail(HULL_ESHAPE, "%s: zero point is %s, want %s",
                        node_what(n, what), hull_dtype_name(zero->dtype),
                        hull_dtype_name(packed));
        TRY(parameter_infer(g, n, 2, x));
    }
    return infer_out(g, n, 0, to, x->dims, x->rank);
}

static double number(const tensor *t, int64_t i)
{
    if (dtype_is_float(t->dtype))
        return load_f64(t->dtype, t->data, (uint64_t)i);
    if (t->dtype == HULL_U64)
        return (double)(uint64_t)load_i64(t->dtype, t->data, (uint64_t)i);
    return (double)load_i64(t->dtype, t->data, (uint64_t)i);
}

static double narrow(double v, bool wide)
{
    return wide ? v : (double)(float)v;
}

/* Saturates and stores. NaN has no integer and becomes 0. */
static void put(tensor *out, int64_t i, double v)
{
    double limit = narrow_max(out->dtype);
    uint32_t bits = hull_dtype_bits(out->dtype);

    if (limit > 0.0) {
        v = v > limit ? limit : v < -limit ? -limit : v;
        store_f64(out->dtype, out->data, (uint64_t)i, v);
        return;
    }
    if (isnan(v))
        v = 0.0;
    if (dtype_is_unsigned(out->dtype)) {
        limit = ldexp(1.0, (int)bits);
        if (v < 0.0)
            v = 0.0;
        if (v >= limit) {
            store_i64(out->dtype, out->data, (uint64_t)i, -1);
            return;
        }
        store_i64(out->dtype, out->data, (uint64_t)i, (int64_t)(uint64_t)v);
        return;
    }
    limit = ldexp(1.0, (int)bits - 1);
    if (v >= limit)
        store_i64(out->dtype, out->data, (uint64_t)i,
                  (int64_t)(UINT64_MAX >> (65 - bits)));
    else
        store_i64(out->dtype, out->data, (uint64_t)i,
                  (int64_t)(v < -limit ? -limit : v));
}

double data_round_even(double v)
{
    double f = floor(v), d = v - f;

    if (d < 0.5)
        return f;
    if (d > 0.5)
        return f + 1.0;
    return fmod(f, 2.0) == 0.0 ? f : f + 1.0;
}

static hull_status parameter_eval(const node *n, const tensor *p, int64_t size,
                                  bool *out_per_axis)
{
    char what[128];
    int64_t count = tensor_numel(p);

    *out_per_axis = count != 1;
    if (count != 1 && count != size)
        return fail(HULL_ESHAPE,
                    "%s: %" PRId64 " scales or zeros for an axis of %" PRId64,
                    node_what(n, what), count, size);
    return HULL_OK;
}

hull_status quant_eval(eval_ctx *cx, const node *n, const tensor *in,
                       tensor *out)
{
    const tensor *x = &in[0], *scale = &in[1];
    const tensor *zero = node_has(n, 2) ? &in[2] : NULL;
    bool each_scale, each_zero = false;
    bool wide = x->dtype == HULL_F64 || scale->dtype == HULL_F64;
    int64_t size = 1, inner = 1, count = tensor_numel(x);
    uint32_t axis;

    (void)cx;
    if (tensor_numel(scale) != 1 || (zero && tensor_numel(zero) != 1)) {
        TRY(infer_axis(&axis, n, attr_int(n, "axis"), x->rank));
        size = x->shape[axis];
        inner = data_product(x->shape, axis + 1, x->rank);
    }
    TRY(parameter_eval(n, scale, size, &each_scale));
    if (zero != NULL)
        TRY(parameter_eval(n, zero, size, &each_zero));
    TRY(data_want_shape(n, out, x->shape, x->rank));
    for (int64_t i = 0; i < count; i++) {
        int64_t k = i / inner % size;
        double v = number(x, i), s = number(scale, each_scale ? k : 0);
        double z = zero != NULL ? number(zero, each_zero ? k : 0) : 0.0;

        if (n->op == OP_dequantize) {
            store_f64(out->dtype, out->data, (uint64_t)i, (v - z) * s);
            continue;
        }
        v = narrow(v / s, wide);
        if (narrow_max(out->dtype) == 0.0)
            v = data_round_even(v);
        put(out, i, z != 0.0 ? v + z : v); /* -0 stays */
    }
    return HULL_OK;
}
