/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_signal.c - lowerings of transforms of signals: DFT. Its axis is an
 * attribute before opset 20 and an operand since.
 */
#include "front/onnx_lower.h"

#include <inttypes.h>

static val add_dft(onnx_call *c, uint32_t axis, dim size)
{
    node *n = node_new(c->g, OP_dft);

    node_input(c->g, n, c->in[0]);
    node_int(c->g, n, "axis", axis);
    node_dim(c->g, n, "size", size);
    node_bool(c->g, n, "inverse", onnx_int(c, "inverse", 0) != 0);
    node_bool(c->g, n, "onesided", onnx_int(c, "onesided", 0) != 0);
    return node_add(c->g, n);
}

/* The axis is data and the result's shape does not depend on it: all of them,
 * and the wanted one chosen. */
static hull_status dft_any(onnx_call *c, const type *x)
{
    val axis = op_reshape(c->g, op_cast(c->g, c->in[2], HULL_I64), NULL, 0);
    node *m = node_new(c->g, OP_mod);

    if (onnx_int(c, "onesided", 0) != 0 || onnx_in(c, 1))
        return fail(HULL_EUNSUPPORTED, "the axis decides a size but depends "
                    "on data");
    node_input(c->g, m, axis);
    node_input(c->g, m, op_scalar_i64(c->g, HULL_I64, x->rank));
    axis = node_add(c->g, m);
    val y = add_dft(c, 0, x->dims[0]);
    for (uint32_t i = 1; i + 1 < x->rank; i++) {
        val is = op_binary(c->g, OP_eq, axis,
                           op_scalar_i64(c->g, HULL_I64, i));

        y = op_where(c->g, is, add_dft(c, i, x->dims[i]), y);
    }
    c->out[0] = y;
    return HULL_OK;
}

hull_status onnx_dft(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    bool inverse = onnx_int(c, "inverse", 0) != 0;
    int64_t v = c->version < 20 ? onnx_int(c, "axis", 1) : -2;
    dim given = 0;
    uint32_t n = 0, axis = 0;
    bool known = true;

    if (!t || t->rank < 2)
        return fail(HULL_ESHAPE, "input 0 has not rank 2 or more");
    type x = *t;
    if (onnx_in(c, 2)) {
        TRY(front_structure(c->f, c->in[2], &given, 1, &n, &known));
        if (!known)
            return dft_any(c, &x);
        if (n != 1 || !dim_is_int(c->m, given, &v))
            return fail(HULL_EFORMAT, "axis has %" PRIu32 " elements, want 1",
                        n);
    }
    TRY(onnx_axis(c, v, x.rank, &axis));
    dim size = x.dims[axis];
    if (inverse && onnx_int(c, "onesided", 0) != 0)
        size = dim_mul(c->m, dim_sub(c->m, size, 1), 2);
    if (onnx_in(c, 1))
        TRY(onnx_dims_at(c, 1, &size, 1, &n));
    c->out[0] = add_dft(c, axis, size);
    return HULL_OK;
}
