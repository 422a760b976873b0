/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_contrib_rnn.c - lowering of DynamicQuantizeLSTM: the inputs of all
 * steps are quantised together and meet their weights in one product of
 * integers; the hidden state is quantised at each step, in the op lstm_int.
 */
#include "front/onnx_contrib.h"

#include <inttypes.h>

/* q: x in 8 bits, its scale and zero. x times w, as f32. */
static val product(onnx_call *c, const val *q, val w, val scale)
{
    val y = op_cast(c->g, onnx_integer_product(c, q[0], w, q[2], 0),
                    HULL_F32);

    return op_binary(c->g, OP_mul, y, op_binary(c->g, OP_mul, q[1], scale));
}

static hull_status check(onnx_call *c)
{
    static const char *const usual[] = {"Sigmoid", "Tanh", "Tanh"};
    const onnx_attr *a = onnx_attr_of(c, "activations");

    if (onnx_has(c, "clip"))
        return fail(HULL_EUNSUPPORTED, "attribute 'clip' is set");
    if (onnx_int(c, "input_forget", 0) != 0)
        return fail(HULL_EUNSUPPORTED, "input_forget is 1");
    for (uint32_t i = 0; a && i < a->n_strings; i++)
        if (!str_is(a->strings[i], usual[i % 3]))
            return fail(HULL_EUNSUPPORTED, "activation '%.*s', want %s",
                        STR_ARG(a->strings[i]), usual[i % 3]);
    for (uint32_t i = 0; i < 3; i++) {
        const type *t = onnx_type(c, c->in[i]);

        if (t && t->rank != 3)
            return fail(HULL_ESHAPE, "input %" PRIu32 " has rank %" PRIu32
                        ", want 3", i, t->rank);
    }
    return HULL_OK;
}

/* Row d of operand i, the first axis gone; 0 when the operand is missing. */
static val row(onnx_call *c, uint32_t i, int64_t d)
{
    const type *t = onnx_type(c, onnx_in(c, i));
    int64_t axis[1] = {0};

    if (!t || t->rank == 0)
        return 0;
    return lower_axes_to_reshape(
        c->f, op_slice(c->g, c->in[i], 0, d, d + 1, 1), axis, 1, false);
}

/* Weights of direction d less their zero point. */
static val centred(onnx_call *c, uint32_t w, uint32_t zero, int64_t d)
{
    val x = op_cast(c->g, row(c, w, d), HULL_I32), z = row(c, zero, d);

    return z ? op_binary(c->g, OP_sub, x, op_cast(c->g, z, HULL_I32)) : x;
}

/* Biases of the inputs and of the state: [d,4h]. */
static val biases(onnx_call *c, int64_t hidden)
{
    val b = onnx_in(c, 3);

    return b ? op_binary(c->g, OP_add,
                         op_slice(c->g, b, 1, 0, 4 * hidden, 1),
                         op_slice(c->g, b, 1, 4 * hidden, 8 * hidden, 1))
             : 0;
}

/* The products of the inputs, [d,t,b,4h]. */
static val inputs(onnx_call *c, uint32_t n)
{
    val q[3], parts[2];
    int64_t first[1] = {0};

    onnx_quantize_dynamic(c, c->in[0], q);
    for (uint32_t d = 0; d < n; d++)
        parts[d] = lower_axes_to_reshape(
            c->f, product(c, q, centred(c, 1, 9, d), row(c, 8, d)), first, 1,
            true);
    return n == 1 ? parts[0] : op_concat(c->g, parts, n, 0);
}

hull_status onnx_dynamic_lstm(onnx_call *c)
{
    str way = onnx_str(c, "direction", "forward");
    uint32_t n = str_is(way, "bidirectional") ? 2 : 1;
    int64_t hidden = 0;

    TRY(contrib_present(c, (const uint32_t[]){8, 10}, 2));
    TRY(check(c));
    if (n == 1 && !str_is(way, "forward") && !str_is(way, "reverse"))
        return fail(HULL_EFORMAT, "attribute 'direction' is '%.*s'",
                    STR_ARG(way));
    const type *r = onnx_type(c, c->in[2]);
    if (!r || !dim_is_int(c->m, r->dims[1], &hidden) || hidden < 1)
        return fail(HULL_EUNSUPPORTED, "the size of the hidden state is not "
                    "fixed");
    if (onnx_int(c, "hidden_size", hidden) != hidden)
        return fail(HULL_ESHAPE, "hidden_size is %" PRId64 ", input 2 has %"
                    PRId64, onnx_int(c, "hidden_size", 0), hidden);
    contrib_parameters(c, 1, 4);
    contrib_parameters(c, 7, 12);
    const val in[9] = {inputs(c, n),
                       c->in[2],
                       c->in[10],
                       onnx_in(c, 11),
                       biases(c, hidden),
                       onnx_in(c, 7),
                       onnx_in(c, 4) ? op_cast(c->g, c->in[4], HULL_I32) : 0,
                       onnx_in(c, 5),
                       onnx_in(c, 6)};
    node *l = node_new(c->g, OP_lstm_int);
    for (uint32_t i = 0; i < 9; i++)
        node_input(c->g, l, in[i]);
    node_int(c->g, l, "hidden", hidden);
    node_str(c->g, l, "direction", str_of(n == 2 ? "both"
                                          : str_is(way, "reverse")
                                              ? "reverse"
                                              : "forward"));
    if (node_add(c->g, l) == 0)
        return ir_status(c->m);
    for (uint32_t k = 0; k < 3 && k < c->n_out; k++)
        c->out[k] = l->out[k];
    return ir_status(c->m);
}
