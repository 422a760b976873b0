/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_select.c - lowerings of operators whose results have as many elements
 * as the data say.
 */
#include "front/onnx_lower.h"

#include <inttypes.h>

hull_status onnx_nonzero(onnx_call *c)
{
    c->out[0] = op_unary(c->g, OP_nonzero, c->in[0]);
    return HULL_OK;
}

/* gather(x, nonzero(condition)). */
hull_status onnx_compress(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    const dim rest[1] = {DIM_UNKNOWN};
    val x = c->in[0], at;
    uint32_t axis = 0;

    if (!t)
        return ir_status(c->m);
    if (onnx_has(c, "axis"))
        TRY(onnx_axis(c, onnx_int(c, "axis", 0), t->rank, &axis));
    else
        x = op_reshape(c->g, x, rest, 1);
    at = front_settle(c->f, op_unary(c->g, OP_nonzero, c->in[1]));
    at = op_reshape(c->g, at, rest, 1);
    node *n = node_new(c->g, OP_gather);
    node_input(c->g, n, x);
    node_input(c->g, n, at);
    node_int(c->g, n, "axis", axis);
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}

hull_status onnx_unique(onnx_call *c)
{
    node *n = node_new(c->g, OP_unique);

    node_input(c->g, n, c->in[0]);
    if (onnx_has(c, "axis"))
        node_int(c->g, n, "axis", onnx_int(c, "axis", 0));
    node_bool(c->g, n, "sorted", onnx_int(c, "sorted", 1) != 0);
    if (!node_add(c->g, n))
        return ir_status(c->m);
    for (uint32_t i = 0; i < c->n_out; i++)
        c->out[i] = n->out[i];
    return HULL_OK;
}

/* A scalar operand, which some exporters give as one element. */
static val scalar_at(onnx_call *c, uint32_t i)
{
    const type *t = onnx_type(c, onnx_in(c, i));

    return t && t->rank > 0 ? op_reshape(c->g, c->in[i], NULL, 0)
                            : onnx_in(c, i);
}

hull_status onnx_nms(onnx_call *c)
{
    node *n = node_new(c->g, OP_nms);

    node_input(c->g, n, c->in[0]);
    node_input(c->g, n, c->in[1]);
    for (uint32_t i = 2; i < 5; i++)
        node_input(c->g, n, scalar_at(c, i));
    node_bool(c->g, n, "center", onnx_int(c, "center_point_box", 0) != 0);
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}
