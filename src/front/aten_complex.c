/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * aten_complex.c - complex tensors. They are values of type c64 or c128; what
 * moves elements takes them as they are. Arithmetic goes by their parts: a
 * bitcast gives the real and the imaginary part as an axis of 2 at the end.
 */
#include "front/aten.h"

#include <math.h>

static val binary(aten_call *c, op_code op, val a, val b)
{
    return op_binary(c->g, op, a, b);
}

static val bitcast(aten_call *c, val x, hull_dtype to)
{
    node *n = node_new(c->g, OP_bitcast);

    node_input(c->g, n, x);
    node_dtype(c->g, n, "to", to);
    return node_add(c->g, n);
}

static hull_dtype part_dtype(hull_dtype dt)
{
    return dt == HULL_C128 ? HULL_F64 : HULL_F32;
}

bool aten_is_complex(aten_call *c, val x)
{
    return dtype_is_complex(call_dtype(c, x));
}

val aten_parts(aten_call *c, val x)
{
    return bitcast(c, x, part_dtype(call_dtype(c, x)));
}

val aten_from_parts(aten_call *c, val x)
{
    return bitcast(c, x, call_dtype(c, x) == HULL_F64 ? HULL_C128 : HULL_C64);
}

val aten_complex_of(aten_call *c, val re, val im)
{
    uint32_t rank = call_rank(c, re);
    val parts[] = {aten_insert_axis(c, re, rank),
                   aten_insert_axis(c, im, rank)};

    return aten_from_parts(c, op_concat(c->g, parts, 2, rank));
}

/* Part 0 or 1. */
static val part(aten_call *c, val x, dim which)
{
    uint32_t axis = call_rank(c, x);
    val p = aten_slice1(c, aten_parts(c, x), axis, which, which + 1);

    return aten_drop_axis(c, p, axis);
}

val aten_to_complex(aten_call *c, val x, hull_dtype dt)
{
    hull_dtype real = part_dtype(dt);

    if (aten_is_complex(c, x))
        return call_dtype(c, x) == dt
                   ? x : aten_from_parts(c, op_cast(c->g, aten_parts(c, x),
                                                    real));
    x = op_cast(c->g, x, real);
    val zero = aten_full(c, aten_number(c, real, 0), call_dims(c, x),
                         call_rank(c, x));
    return aten_complex_of(c, x, zero);
}

/* ---- arithmetic ---------------------------------------------------------- */

static void to_one_shape(aten_call *c, val *a, val *b)
{
    uint32_t ra = call_rank(c, *a), rb = call_rank(c, *b);
    uint32_t rank = ra > rb ? ra : rb;
    dim d[HULL_MAX_RANK];

    for (uint32_t i = 0; i < rank; i++) {
        dim da = i + ra < rank ? 1 : call_dims(c, *a)[i + ra - rank];
        dim db = i + rb < rank ? 1 : call_dims(c, *b)[i + rb - rank];

        d[i] = dim_bcast(c->m, da, db);
    }
    *a = aten_broadcast(c, *a, d, rank);
    *b = aten_broadcast(c, *b, d, rank);
}

static val product(aten_call *c, val a, val b)
{
    val ar = part(c, a, 0), ai = part(c, a, 1);
    val br = part(c, b, 0), bi = part(c, b, 1);
    val re = binary(c, OP_sub, binary(c, OP_mul, ar, br),
                    binary(c, OP_mul, ai, bi));
    val im = binary(c, OP_add, binary(c, OP_mul, ar, bi),
                    binary(c, OP_mul, ai, br));

    return aten_complex_of(c, re, im);
}

val aten_conjugate(aten_call *c, val x)
{
    return aten_complex_of(c, part(c, x, 0),
                           op_unary(c->g, OP_neg, part(c, x, 1)));
}

/* a conj(b) / |b|^2, the quotients in double. */
static val quotient(aten_call *c, val a, val b)
{
    hull_dtype dt = call_dtype(c, a);

    a = aten_to_complex(c, a, HULL_C128);
    b = aten_to_complex(c, b, HULL_C128);
    val p = aten_parts(c, product(c, a, aten_conjugate(c, b)));
    val br = part(c, b, 0), bi = part(c, b, 1);
    val n = binary(c, OP_add, binary(c, OP_mul, br, br),
                   binary(c, OP_mul, bi, bi));
    p = binary(c, OP_div, p, aten_insert_axis(c, n, call_rank(c, n)));
    return aten_to_complex(c, aten_from_parts(c, p), dt);
}

val aten_complex_binary(aten_call *c, op_code op, val a, val b)
{
    if (op == OP_eq || op == OP_ne) {
        int64_t last;

        to_one_shape(c, &a, &b);
        last = call_rank(c, a);
        val d = binary(c, OP_ne, aten_parts(c, a), aten_parts(c, b));
        d = aten_reduce(c, OP_reduce_any, d, &last, 1, false);
        return op == OP_ne ? d : op_unary(c->g, OP_not, d);
    }
    to_one_shape(c, &a, &b);
    if (op == OP_add || op == OP_sub)
        return aten_from_parts(c, binary(c, op, aten_parts(c, a),
                                         aten_parts(c, b)));
    if (op == OP_mul)
        return product(c, a, b);
    if (op == OP_div)
        return quotient(c, a, b);
    call_fail(c, HULL_EUNSUPPORTED, "operands are complex");
    return 0;
}

static val magnitude(aten_call *c, val x)
{
    hull_dtype dt = part_dtype(call_dtype(c, x));
    val re = op_cast(c->g, part(c, x, 0), HULL_F64);
    val im = op_cast(c->g, part(c, x, 1), HULL_F64);
    val n = binary(c, OP_add, binary(c, OP_mul, re, re),
                   binary(c, OP_mul, im, im));

    return op_cast(c->g, op_unary(c->g, OP_sqrt, n), dt);
}

val aten_complex_unary(aten_call *c, op_code op, val x)
{
    if (op == OP_neg)
        return aten_from_parts(c, op_unary(c->g, OP_neg, aten_parts(c, x)));
    if (op == OP_abs)
        return magnitude(c, x);
    if (op == OP_exp) {
        val e = op_unary(c->g, OP_exp, part(c, x, 0)), t = part(c, x, 1);

        return aten_complex_of(c,
                               binary(c, OP_mul, e, op_unary(c->g, OP_cos, t)),
                               binary(c, OP_mul, e,
                                      op_unary(c->g, OP_sin, t)));
    }
    call_fail(c, HULL_EUNSUPPORTED, "operand is complex");
    return 0;
}

/* ---- operators ----------------------------------------------------------- */

/* real, imag: param is the part. */
void aten_real_part(aten_call *c)
{
    val x = arg_tensor(c, 0);

    if (aten_is_complex(c, x))
        ret(c, part(c, x, c->row->param));
    else if (c->row->param == 0)
        ret(c, x);
    else
        call_fail(c, HULL_EFORMAT, "operand is not complex");
}

/* conj, resolve_conj (param 1: the value is so already) */
void aten_conj(aten_call *c)
{
    val x = arg_tensor(c, 0);

    ret(c, c->row->param || !aten_is_complex(c, x) ? x : aten_conjugate(c, x));
}

void aten_angle(aten_call *c)
{
    val x = arg_tensor(c, 0);

    if (aten_is_complex(c, x)) {
        ret(c, binary(c, OP_atan2, part(c, x, 1), part(c, x, 0)));
        return;
    }
    x = aten_float(c, x);
    hull_dtype dt = call_dtype(c, x);
    val zero = aten_number(c, dt, 0);
    val y = aten_where(c, binary(c, OP_lt, x, zero),
                       aten_number(c, dt, 3.14159265358979323846), zero);
    ret(c, aten_where(c, op_unary(c->g, OP_is_nan, x), x, y));
}

/* complex(real, imag), polar(abs, angle): param 1 */
void aten_complex(aten_call *c)
{
    val a = arg_tensor(c, 0), b = arg_tensor(c, 1);

    if (call_dtype(c, a) != HULL_F64 && call_dtype(c, a) != HULL_F32)
        call_fail(c, HULL_EUNSUPPORTED, "complex of other than f32 and f64");
    if (c->st != HULL_OK)
        return;
    to_one_shape(c, &a, &b);
    if (c->row->param) {
        val re = binary(c, OP_mul, a, op_unary(c->g, OP_cos, b));

        b = binary(c, OP_mul, a, op_unary(c->g, OP_sin, b));
        a = re;
    }
    ret(c, aten_complex_of(c, a, b));
}

/* param: 1 = to complex. */
void aten_view_complex(aten_call *c)
{
    val x = arg_tensor(c, 0);
    hull_dtype dt = call_dtype(c, x);
    bool to = c->row->param != 0;

    if (to ? dt != HULL_F32 && dt != HULL_F64 : !dtype_is_complex(dt))
        call_fail(c, HULL_EUNSUPPORTED, "dtype of the operand");
    if (c->st == HULL_OK)
        ret(c, to ? aten_from_parts(c, x) : aten_parts(c, x));
}

/* view.dtype(self, dtype): the same bytes; the last axis makes up for another
 * width. */
void aten_view_dtype(aten_call *c)
{
    val x = arg_tensor(c, 0);
    hull_dtype to = arg_dtype(c, 1, HULL_NONE);
    uint32_t from_bits = hull_dtype_bits(call_dtype(c, x));
    uint32_t to_bits = hull_dtype_bits(to), rank = call_rank(c, x);
    dim d[HULL_MAX_RANK + 1];

    if (from_bits != to_bits && (rank == 0 || rank == HULL_MAX_RANK))
        call_fail(c, HULL_EFORMAT, "operand of unfit rank");
    if (c->st != HULL_OK)
        return;
    for (uint32_t i = 0; i < rank; i++)
        d[i] = call_dims(c, x)[i];
    if (to_bits > from_bits) {
        d[rank] = to_bits / from_bits;
        d[rank - 1] = dim_div(c->m, d[rank - 1], d[rank]);
        x = op_reshape(c->g, x, d, rank + 1);
    }
    x = bitcast(c, x, to);
    if (to_bits < from_bits && to_bits > 0) {
        d[rank - 1] = dim_mul(c->m, d[rank - 1], from_bits / to_bits);
        x = op_reshape(c->g, x, d, rank);
    }
    ret(c, x);
}
