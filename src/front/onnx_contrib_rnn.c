/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_contrib_rnn.c - lowering of DynamicQuantizeLSTM: the inputs of all
 * steps are quantised together, the hidden state at each step, products are
 * integers. So it is a loop, not the op `lstm`.
 */
#include "front/onnx_contrib.h"

#include <inttypes.h>

/* One direction: weights r [h,4h] in i32 without their zero point, with their
 * scale; bias [4h], peepholes [3h] or 0, lengths [b,1] or 0. */
typedef struct cell {
    onnx_call *c;
    int64_t hidden;
    val r, scale, bias, peephole, lengths;
} cell;

/* x in 8 bits times w, as f32. */
static val product(onnx_call *c, val x, val w, val scale)
{
    val q[3];

    onnx_quantize_dynamic(c, x, q);
    val y = op_cast(c->g, onnx_integer_product(c, q[0], w, q[2], 0),
                    HULL_F32);
    return op_binary(c->g, OP_mul, y, op_binary(c->g, OP_mul, q[1], scale));
}

/* Part k of the gates' axis, with what a peephole adds to it. */
static val gate(onnx_call *c, const cell *l, val gates, int64_t k, val state,
                int64_t peephole)
{
    int64_t n = l->hidden;
    val x = op_slice(c->g, gates, 1, k * n, (k + 1) * n, 1);

    if (!l->peephole || !state)
        return x;
    val p = op_slice(c->g, l->peephole, 0, peephole * n, (peephole + 1) * n,
                     1);
    return op_binary(c->g, OP_add, x, op_binary(c->g, OP_mul, p, state));
}

/* States h and c [b,h]; slices: inputs of the gates [b,4h], the step. What has
 * ended counts as 0 where the state is quantised. */
static hull_status step(front *f, void *user, const val *in, val *out)
{
    const cell *l = user;
    onnx_call *c = l->c;
    val old = in[1], state_in = in[0];

    (void)f;
    if (l->lengths)
        state_in = op_where(c->g, op_binary(c->g, OP_le, in[3], l->lengths),
                            in[0], onnx_scalar_like(c, in[0], 0.0));
    val gates = op_binary(c->g, OP_add, in[2],
                          product(c, state_in, l->r, l->scale));
    gates = op_binary(c->g, OP_add, gates, l->bias);
    val i = op_unary(c->g, OP_sigmoid, gate(c, l, gates, 0, old, 0));
    val forget = op_unary(c->g, OP_sigmoid, gate(c, l, gates, 2, old, 2));
    val g = op_unary(c->g, OP_tanh, gate(c, l, gates, 3, 0, 0));
    val state = op_binary(c->g, OP_add, op_binary(c->g, OP_mul, forget, old),
                          op_binary(c->g, OP_mul, i, g));
    val o = op_unary(c->g, OP_sigmoid, gate(c, l, gates, 1, state, 1));
    val h = op_binary(c->g, OP_mul, o, op_unary(c->g, OP_tanh, state));

    out[0] = out[2] = h;
    out[1] = state;
    if (l->lengths) {
        val on = op_binary(c->g, OP_lt, in[3], l->lengths);

        out[0] = op_where(c->g, on, h, in[0]);
        out[1] = op_where(c->g, on, state, old);
        out[2] = op_where(c->g, on, h, onnx_scalar_like(c, h, 0.0));
    }
    return ir_status(c->m);
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

static val initial(onnx_call *c, uint32_t i, int64_t d, int64_t hidden)
{
    const type *x = onnx_type(c, c->in[0]);

    if (onnx_in(c, i))
        return row(c, i, d);
    dim size[2] = {x ? x->dims[1] : 1, hidden};
    return op_expand(c->g, op_scalar(c->g, HULL_F32, 0.0), size, 2);
}

/* Each sequence from its end on: its length decides where that is. */
static hull_status turned(onnx_call *c, val x, val *out)
{
    val in[2] = {x, c->in[4]};
    onnx_node bare = *c->n;
    onnx_call now = *c;

    bare.n_attrs = 0;
    now.n = &bare;
    now.in = in;
    now.n_in = 2;
    now.out = out;
    now.n_out = 1;
    TRY(onnx_reverse_sequence(&now));
    return ir_status(c->m);
}

static hull_status one_way(onnx_call *c, int64_t d, int64_t hidden, bool back,
                           val *results)
{
    const int64_t backs[2] = {back && !onnx_in(c, 4), back && !onnx_in(c, 4)};
    const type *x = onnx_type(c, c->in[0]);
    int64_t last[1] = {1};
    val input = c->in[0];
    cell l = {.c = c, .hidden = hidden, .r = centred(c, 2, 11, d),
              .scale = row(c, 10, d), .peephole = row(c, 7, d)};
    val states[2] = {initial(c, 5, d, hidden), initial(c, 6, d, hidden)};

    if (!x)
        return ir_status(c->m);
    dim trips = x->dims[0];
    l.bias = op_scalar(c->g, HULL_F32, 0.0);
    if (onnx_in(c, 3)) {
        val b = row(c, 3, d);
        l.bias = op_binary(c->g, OP_add,
                           op_slice(c->g, b, 0, 0, 4 * hidden, 1),
                           op_slice(c->g, b, 0, 4 * hidden, 8 * hidden, 1));
    }
    if (onnx_in(c, 4))
        l.lengths = lower_axes_to_reshape(
            c->f, op_cast(c->g, c->in[4], HULL_I64), last, 1, true);
    if (back && onnx_in(c, 4))
        TRY(turned(c, input, &input));
    val whole[2] = {product(c, input, centred(c, 1, 9, d), row(c, 8, d)),
                    contrib_count(c, trips, 0, 1)};
    lower_scan s = {.n_states = 2, .n_slices = 2, .n_results = 1,
                    .states = states, .whole = whole, .back = backs,
                    .out_back = backs, .step = step, .user = &l};
    TRY(ir_status(c->m));
    TRY(lower_scan_add(c->f, &s, results));
    return back && onnx_in(c, 4) ? turned(c, results[2], &results[2])
                                 : HULL_OK;
}

/* Results of the directions side by side on `axis`. */
static val join(onnx_call *c, val *parts, uint32_t n, int64_t axis)
{
    int64_t axes[1] = {axis};

    for (uint32_t i = 0; i < n; i++)
        parts[i] = lower_axes_to_reshape(c->f, parts[i], axes, 1, true);
    return n == 1 ? parts[0] : op_concat(c->g, parts, n, axis);
}

hull_status onnx_dynamic_lstm(onnx_call *c)
{
    str way = onnx_str(c, "direction", "forward");
    uint32_t n = str_is(way, "bidirectional") ? 2 : 1;
    val parts[3][2] = {{0}}; /* y, h, c of each direction */
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
    for (uint32_t d = 0; d < n; d++) {
        val results[3] = {0};
        bool back = n == 2 ? d == 1 : str_is(way, "reverse");

        TRY(one_way(c, d, hidden, back, results));
        for (uint32_t k = 0; k < 3; k++)
            parts[k][d] = results[k == 0 ? 2 : k - 1];
    }
    for (uint32_t k = 0; k < 3 && k < c->n_out; k++)
        c->out[k] = join(c, parts[k], n, k == 0 ? 1 : 0);
    return ir_status(c->m);
}
