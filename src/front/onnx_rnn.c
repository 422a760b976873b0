/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_rnn.c - lowerings of LSTM, GRU and RNN: operands in the IR's order, the
 * gates' functions with their numbers, the batch moved where `layout` has it
 * first. What opsets before 7 call output_sequence says whether Y is there,
 * and so does its name.
 */
#include "front/onnx_lower.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ACTS_MAX 3

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

/* ONNX's functions of gates: which parameters they have, their defaults. */
typedef struct gate_fn {
    const char *onnx, *name;
    bool has_alpha, has_beta;
    double alpha, beta;
} gate_fn;

static const gate_fn gate_fns[] = {
    {"sigmoid", "sigmoid", false, false, 1, 0},
    {"tanh", "tanh", false, false, 1, 0},
    {"relu", "relu", false, false, 1, 0},
    {"affine", "affine", true, true, 1, 0},
    {"leakyrelu", "leaky_relu", true, false, 0.01, 0},
    {"thresholdedrelu", "thresholded_relu", true, false, 1, 0},
    {"scaledtanh", "scaled_tanh", true, true, 1, 1},
    {"hardsigmoid", "hard_sigmoid", true, true, 0.2, 0.5},
    {"elu", "elu", true, false, 1, 0},
    {"softsign", "softsign", false, false, 1, 0},
    {"softplus", "softplus", false, false, 1, 0},
};

static const gate_fn *find_gate_fn(str s)
{
    for (size_t i = 0; i < COUNT_OF(gate_fns); i++)
        if (same_word(s, gate_fns[i].onnx))
            return &gate_fns[i];
    return NULL;
}

static hull_status want_floats(const onnx_attr *a)
{
    if (a && a->type != ONNX_FLOATS)
        return fail(HULL_EFORMAT, "attribute '%.*s' is not a list of floats",
                    STR_ARG(a->name));
    return HULL_OK;
}

/* The next number of a list, or the default once it is used up. */
static double next_float(onnx_call *c, const onnx_attr *a, uint32_t *at,
                         bool takes, double def)
{
    if (!takes || !a || *at == a->n_floats)
        return def;
    return onnx_f32(c, a->floats[(*at)++]);
}

/* Functions of `dirs` directions with `per` each. The lists of numbers are
 * used up by the functions that take one. */
static hull_status gate_fns_set(onnx_call *c, node *n, uint32_t dirs,
                                uint32_t per)
{
    const onnx_attr *names = onnx_attr_of(c, "activations");
    const onnx_attr *alphas = onnx_attr_of(c, "activation_alpha");
    const onnx_attr *betas = onnx_attr_of(c, "activation_beta");
    double alpha[2 * ACTS_MAX], beta[2 * ACTS_MAX];
    uint32_t at_alpha = 0, at_beta = 0;
    char text[256] = "";
    size_t k = 0;

    if (!names || names->n_strings == 0)
        return HULL_OK;
    TRY(want_floats(alphas));
    TRY(want_floats(betas));
    if (names->type != ONNX_STRINGS || names->n_strings < dirs * per)
        return fail(HULL_EFORMAT, "attribute 'activations' is not a list of "
                    "%" PRIu32 " names", dirs * per);
    for (uint32_t i = 0; i < dirs * per; i++) {
        const gate_fn *f = find_gate_fn(names->strings[i]);

        if (!f)
            return fail(HULL_EUNSUPPORTED, "activation '%.*s' is not known",
                        STR_ARG(names->strings[i]));
        alpha[i] = next_float(c, alphas, &at_alpha, f->has_alpha, f->alpha);
        beta[i] = next_float(c, betas, &at_beta, f->has_beta, f->beta);
        k += (size_t)snprintf(text + k, sizeof text - k, "%s%s", i ? " " : "",
                              f->name);
    }
    node_str(c->g, n, "acts", (str){text, k});
    node_floats(c->g, n, "alpha", alpha, dirs * per);
    node_floats(c->g, n, "beta", beta, dirs * per);
    return HULL_OK;
}

static val swap(onnx_call *c, val v, const int64_t *perm, uint32_t n)
{
    return v ? op_transpose(c->g, v, perm, n) : 0;
}

/* Operands in the IR's order: x w r bias h0 [c0] lengths [peepholes]. layout 1
 * has the batch first. */
static void rnn_inputs(onnx_call *c, node *n, op_code op, bool batch_first)
{
    static const int64_t perm[3] = {1, 0, 2};
    val v[8] = {c->in[0], c->in[1], c->in[2], onnx_in(c, 3), onnx_in(c, 5)};
    uint32_t k = 5;

    if (op == OP_lstm)
        v[k++] = onnx_in(c, 6);
    if (batch_first) {
        v[0] = swap(c, v[0], perm, 3);
        for (uint32_t i = 4; i < k; i++)
            v[i] = swap(c, v[i], perm, 3);
    }
    v[k++] = onnx_in(c, 4);
    if (op == OP_lstm)
        v[k++] = onnx_in(c, 7);
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

/* hidden_size, or what the recurrence's weights say. */
static hull_status hidden_size(onnx_call *c, int64_t *out)
{
    const type *r = onnx_type(c, c->in[2]);

    *out = 0;
    if (onnx_has(c, "hidden_size"))
        *out = onnx_int(c, "hidden_size", 0);
    else if (!r || r->rank != 3 || !dim_is_int(c->m, r->dims[2], out))
        return fail(HULL_EFORMAT, "attribute 'hidden_size' is missing");
    return HULL_OK;
}

/* "foward" is the default of GRU's first version. */
static hull_status direction_of(onnx_call *c, str *out)
{
    *out = onnx_str(c, "direction", "forward");
    if (str_is(*out, "foward"))
        *out = str_of("forward");
    else if (str_is(*out, "bidirectional"))
        *out = str_of("both");
    else if (!str_is(*out, "forward") && !str_is(*out, "reverse"))
        return fail(HULL_EFORMAT, "attribute 'direction' is '%.*s'",
                    STR_ARG(*out));
    return HULL_OK;
}

static hull_status rnn_attrs(onnx_call *c, node *n, op_code op)
{
    uint32_t per = op == OP_lstm ? 3 : op == OP_gru ? 2 : 1;
    double clip = onnx_float(c, "clip", 0.0);
    int64_t hidden = 0;
    str way;

    TRY(direction_of(c, &way));
    TRY(hidden_size(c, &hidden));
    node_int(c->g, n, "hidden", hidden);
    node_str(c->g, n, "direction", way);
    if (op == OP_gru)
        node_bool(c->g, n, "reset_after",
                  onnx_int(c, "linear_before_reset", 0) != 0);
    if (op == OP_lstm)
        node_bool(c->g, n, "coupled", onnx_int(c, "input_forget", 0) != 0);
    if (onnx_has(c, "clip") && clip != 0)
        node_float(c->g, n, "clip", clip);
    return gate_fns_set(c, n, str_is(way, "both") ? 2 : 1, per);
}

hull_status onnx_recurrent(onnx_call *c)
{
    static const int64_t out_perm[4] = {2, 0, 1, 3}, state_perm[3] = {1, 0, 2};
    op_code op = (op_code)c->row->arg;
    bool batch_first = onnx_int(c, "layout", 0) != 0;

    TRY(want_rank3(c));
    for (uint32_t i = 1; i <= 3; i++)
        if (onnx_in(c, i))
            front_is_parameter(c->f, c->in[i]);
    if (op == OP_lstm && onnx_in(c, 7))
        front_is_parameter(c->f, c->in[7]);
    node *n = node_new(c->g, op);
    rnn_inputs(c, n, op, batch_first);
    TRY(ir_status(c->m));
    TRY(rnn_attrs(c, n, op));
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
