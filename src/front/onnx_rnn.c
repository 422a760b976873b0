/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_rnn.c - lowerings of LSTM, GRU and RNN: operands in the IR's order, the
 * usual activations only, the batch moved where `layout` has it first.
 */
#include "front/onnx_lower.h"

#include <inttypes.h>
#include <string.h>

static bool same_word(str a, const char *z)
{
    size_t i = 0;

    for (; i < a.n && z[i]; i++) {
        char c = a.p[i] >= 'A' && a.p[i] <= 'Z' ? (char)(a.p[i] + 32) : a.p[i];

        if (c != z[i])
            return false;
    }
    return i == a.n && z[i] == 0;
}

/* Activations must be the usual ones; an RNN may have relu. */
static hull_status activation(onnx_call *c, op_code op, str *out_rnn)
{
    static const char *const lstm[] = {"sigmoid", "tanh", "tanh"};
    static const char *const gru[] = {"sigmoid", "tanh"};
    const onnx_attr *a = onnx_attr_of(c, "activations");
    uint32_t per = op == OP_lstm ? 3 : op == OP_gru ? 2 : 1;

    *out_rnn = str_of("tanh");
    if (!a)
        return HULL_OK;
    if (a->type != ONNX_STRINGS || (a->n_strings != per &&
                                    a->n_strings != 2 * per))
        return fail(HULL_EFORMAT, "attribute 'activations' is not a list of "
                    "%" PRIu32 " names per direction", per);
    for (uint32_t i = 0; i < a->n_strings; i++) {
        str s = a->strings[i];
        bool relu = op == OP_rnn && same_word(s, "relu");
        const char *want = op == OP_lstm  ? lstm[i % 3]
                           : op == OP_gru ? gru[i % 2]
                                          : "tanh";

        if (!relu && !same_word(s, want))
            return fail(HULL_EUNSUPPORTED, "activation '%.*s', want %s",
                        STR_ARG(s), want);
        if (i > 0 && relu != str_is(*out_rnn, "relu"))
            return fail(HULL_EUNSUPPORTED, "directions differ in activation");
        *out_rnn = str_of(relu ? "relu" : "tanh");
    }
    return HULL_OK;
}

static hull_status check_recurrent(onnx_call *c, op_code op)
{
    if (onnx_has(c, "clip"))
        return fail(HULL_EUNSUPPORTED, "attribute 'clip' is set");
    if (onnx_int(c, "input_forget", 0) != 0)
        return fail(HULL_EUNSUPPORTED, "input_forget is 1");
    if (op == OP_lstm && onnx_in(c, 7))
        return fail(HULL_EUNSUPPORTED, "peephole weights");
    if (!onnx_has(c, "hidden_size"))
        return fail(HULL_EFORMAT, "attribute 'hidden_size' is missing");
    return HULL_OK;
}

static val swap(onnx_call *c, val v, const int64_t *perm, uint32_t n)
{
    return v ? op_transpose(c->g, v, perm, n) : 0;
}

/* Operands in the IR's order: x w r bias h0 [c0] lengths. layout 1 has the
 * batch first. */
static void rnn_inputs(onnx_call *c, node *n, op_code op, bool batch_first)
{
    static const int64_t perm[3] = {1, 0, 2};
    val v[7] = {c->in[0], c->in[1], c->in[2], onnx_in(c, 3), onnx_in(c, 5)};
    uint32_t k = 5;

    if (op == OP_lstm)
        v[k++] = onnx_in(c, 6);
    if (batch_first) {
        v[0] = swap(c, v[0], perm, 3);
        for (uint32_t i = 4; i < k; i++)
            v[i] = swap(c, v[i], perm, 3);
    }
    v[k++] = onnx_in(c, 4);
    while (k > 3 && v[k - 1] == 0)
        k--;
    for (uint32_t i = 0; i < k; i++)
        node_input(c->g, n, v[i]);
}

static hull_status want_rank3(onnx_call *c)
{
    for (uint32_t i = 0; i < 3; i++) {
        const type *t = onnx_type(c, c->in[i]);

        if (t && t->rank != 3)
            return fail(HULL_ESHAPE, "input %" PRIu32 " has rank %" PRIu32
                        ", want 3", i, t->rank);
    }
    return HULL_OK;
}

hull_status onnx_recurrent(onnx_call *c)
{
    static const int64_t out_perm[4] = {2, 0, 1, 3}, state_perm[3] = {1, 0, 2};
    op_code op = (op_code)c->row->arg;
    bool batch_first = onnx_int(c, "layout", 0) != 0;
    str way = onnx_str(c, "direction", "forward"), act;

    TRY(check_recurrent(c, op));
    TRY(want_rank3(c));
    TRY(activation(c, op, &act));
    if (str_is(way, "bidirectional"))
        way = str_of("both");
    else if (!str_is(way, "forward") && !str_is(way, "reverse"))
        return fail(HULL_EFORMAT, "attribute 'direction' is '%.*s'",
                    STR_ARG(way));
    for (uint32_t i = 1; i <= 3; i++)
        if (onnx_in(c, i))
            front_is_parameter(c->f, c->in[i]);
    node *n = node_new(c->g, op);
    rnn_inputs(c, n, op, batch_first);
    node_int(c->g, n, "hidden", onnx_int(c, "hidden_size", 0));
    node_str(c->g, n, "direction", way);
    if (op == OP_gru)
        node_bool(c->g, n, "reset_after",
                  onnx_int(c, "linear_before_reset", 0) != 0);
    if (op == OP_rnn)
        node_str(c->g, n, "act", act);
    if (!node_add(c->g, n))
        return ir_status(c->m);
    for (uint32_t i = 0; i < c->n_out && i < n->n_out; i++) {
        c->out[i] = n->out[i];
        if (batch_first && onnx_wants(c, i))
            c->out[i] = i ? swap(c, c->out[i], state_perm, 3)
                          : swap(c, c->out[i], out_perm, 4);
    }
    return HULL_OK;
}
