/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * aten_rnn.c - lowerings of lstm, gru and rnn: one op per layer. PyTorch's
 * gates (lstm i,f,g,o; gru r,z,n) are put in the op's order (i,o,f,c; z,r,h) by
 * slices of the weights, which the prepare program runs once.
 */
#include "front/aten.h"

#include <string.h>

#define GATES_MAX 4

typedef struct stack {
    op_code op;
    uint32_t gates;
    uint32_t order[GATES_MAX]; /* PyTorch's gate at the op's place */
    uint32_t states;           /* h, or h and c */
    bool biases, both;
    uint32_t dirs;
    const val *params;
    uint32_t n_params;
    int64_t hidden;
} stack;

/* Rows [gates h, ..] of one tensor in the op's order of gates. */
static val order_gates(aten_call *c, const stack *s, val w)
{
    val parts[GATES_MAX];

    if (s->gates == 1)
        return w;
    for (uint32_t i = 0; i < s->gates; i++) {
        int64_t at = s->order[i] * s->hidden;

        parts[i] = aten_slice1(c, w, 0, at, at + s->hidden);
    }
    return op_concat(c->g, parts, s->gates, 0);
}

/* Parameter `which` of a layer, both directions stacked: [d, ..]. */
static val stacked(aten_call *c, const stack *s, uint32_t layer, uint32_t which)
{
    uint32_t each = s->biases ? 4 : 2;
    val parts[2] = {0};

    for (uint32_t k = 0; k < s->dirs; k++) {
        val w = s->params[(layer * s->dirs + k) * each + which];

        front_is_parameter(c->f, w);
        parts[k] = aten_insert_axis(c, order_gates(c, s, w), 0);
    }
    return s->dirs == 1 ? parts[0] : op_concat(c->g, parts, 2, 0);
}

/* One layer: x [t, b, i] -> [t, b, d h]; last[] get the final states. */
static val layer(aten_call *c, const stack *s, uint32_t at, val x,
                 const val *start, val *last)
{
    node *n = node_new(c->g, s->op);
    dim d[3];
    val bias = 0;

    if (s->biases) {
        val parts[] = {stacked(c, s, at, 2), stacked(c, s, at, 3)};
        bias = op_concat(c->g, parts, 2, 1);
    }
    node_input(c->g, n, x);
    node_input(c->g, n, stacked(c, s, at, 0));
    node_input(c->g, n, stacked(c, s, at, 1));
    node_input(c->g, n, bias);
    for (uint32_t i = 0; i < s->states; i++)
        node_input(c->g, n, aten_slice1(c, start[i], 0, at * s->dirs,
                                        (at + 1) * s->dirs));
    node_int(c->g, n, "hidden", s->hidden);
    node_str(c->g, n, "direction", str_of(s->both ? "both" : "forward"));
    if (s->op == OP_gru)
        node_bool(c->g, n, "reset_after", true);
    if (s->op == OP_rnn && c->row->param == 2)
        node_str(c->g, n, "acts", str_of(s->both ? "relu relu" : "relu"));
    val y = node_add(c->g, n);
    if (!y)
        return 0;
    for (uint32_t i = 0; i < s->states; i++)
        last[i] = n->out[1 + i];
    y = aten_swap(c, y, 1, 2); /* [t, d, b, h] -> [t, b, d, h] */
    d[0] = call_dims(c, y)[0];
    d[1] = call_dims(c, y)[1];
    d[2] = s->dirs * s->hidden;
    return op_reshape(c->g, y, d, 3);
}

static bool check(aten_call *c, stack *s, int64_t layers)
{
    uint32_t each = s->biases ? 4 : 2;

    if (layers < 1 || layers > 256 || s->n_params == 0 ||
        s->n_params != (uint32_t)layers * s->dirs * each) {
        call_missing(c, "with projections, or an odd list of parameters");
        return false;
    }
    if (call_rank(c, s->params[1]) != 2 ||
        !dim_is_int(c->m, call_dims(c, s->params[1])[1], &s->hidden) ||
        s->hidden < 1 || s->hidden > (1 << 24)) {
        call_fail(c, HULL_EFORMAT, "recurrent weight of unfit shape");
        return false;
    }
    return c->st == HULL_OK;
}

static void run_layers(aten_call *c, const stack *s, val x, val *start,
                       uint32_t layers, bool batch_first)
{
    val *last[2] = {0};
    bool batched = call_rank(c, x) == 3;

    for (uint32_t i = 0; i < s->states; i++) {
        last[i] = arena_array(&c->f->a, layers, sizeof(val));
        if (!last[i]) {
            call_fail(c, HULL_ENOMEM, "out of memory");
            return;
        }
        if (!batched)
            start[i] = aten_insert_axis(c, start[i], 1);
    }
    if (!batched)
        x = aten_insert_axis(c, x, 1);
    else if (batch_first)
        x = aten_swap(c, x, 0, 1);
    for (uint32_t k = 0; k < layers && x; k++) {
        val end[2] = {0};

        x = layer(c, s, k, x, start, end);
        for (uint32_t i = 0; i < s->states; i++)
            last[i][k] = end[i];
    }
    if (!batched)
        x = aten_drop_axis(c, x, 1);
    else if (batch_first)
        x = aten_swap(c, x, 0, 1);
    ret(c, x);
    for (uint32_t i = 0; i < s->states; i++) {
        val v = layers == 1 ? last[i][0]
                            : op_concat(c->g, last[i], layers, 0);
        ret(c, batched ? v : aten_drop_axis(c, v, 1));
    }
}

/* (input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
 * batch_first); param: 0 lstm, 1 gru, 2 rnn relu, 3 rnn tanh */
void aten_rnn(aten_call *c)
{
    static const stack kinds[] = {
        {.op = OP_lstm, .gates = 4, .order = {0, 3, 1, 2}, .states = 2},
        {.op = OP_gru, .gates = 3, .order = {1, 0, 2}, .states = 1},
        {.op = OP_rnn, .gates = 1, .states = 1},
        {.op = OP_rnn, .gates = 1, .states = 1}};
    stack s = kinds[c->row->param];
    val x = arg_tensor(c, 0), start[2] = {0};
    int64_t layers = arg_int(c, 4);
    const aten_value *hx = &c->args[1];

    s.biases = arg_bool(c, 3);
    s.both = arg_bool(c, 7);
    s.dirs = s.both ? 2 : 1;
    s.params = c->args[2].vals;
    s.n_params = c->args[2].kind == ATEN_TENSORS ? c->args[2].n : 0;
    if (arg_bool(c, 6) && arg_num(c, 5) > 0)
        call_fail(c, HULL_EUNSUPPORTED,
                  "exported in training mode; call model.eval() before export");
    if (hx->kind == ATEN_TENSORS && hx->n == s.states)
        memcpy(start, hx->vals, s.states * sizeof *start);
    else if (hx->kind == ATEN_TENSOR && s.states == 1)
        start[0] = hx->v;
    else
        call_fail(c, HULL_EFORMAT, "number of initial states");
    if (call_rank(c, x) != 2 && call_rank(c, x) != 3)
        call_fail(c, HULL_EFORMAT, "input of unfit rank");
    if (c->st == HULL_OK && check(c, &s, layers))
        run_layers(c, &s, x, start, (uint32_t)layers, arg_bool(c, 8));
}
