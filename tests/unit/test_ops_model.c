/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_ops_model.c - quantize, dequantize, sdpa, lstm, gru, rnn, if, loop,
 * call, expect. Expected values come from PyTorch and, where PyTorch has no
 * such form (a gru that resets before), from onnx's reference evaluator.
 */
#include "op_case.h"

static const double sdpa_q[] = {
    0, 0.5, 0.25, 0, -0.25, 0.25, 0, 0.75, 1, -0.25, 0.5, 0, 0.25, 0.75, -0.75,
    -0.75,
};
static const double sdpa_k[] = {
    -1, 0.75, 0.5, 0.75, 1, 0.5, 0, 0.5, -0.75, 0.25, -0.75, 1,
};
static const double sdpa_v[] = {
    0, -0.25, -0.5, 0.5, 0, 0.25, -1, 0.25, 0.25, 0.25, 1, 0.25, -0.25, -0.25,
    0.5, -1, 0.25, 0.25,
};
static const double sdpa_m[] = {
    -0.5, -0.75, -0.25, -0.25, 0.25, -INFINITY,
};
static const double sdpa_gqa[] = {
    -0.26606259, 0.014843564, -0.0038754537, 0.34123704, -0.079381481,
    0.011855551, -0.22924235, -0.013958162, -0.054871749, 0.31122968,
    -0.094385169, -0.033155501, -0.25862217, 0.48519942, 0.30516508,
    -0.029220209, 0.30194947, 0.38961011, -0.44570938, 0.3973164, 0.2987521,
    -0.11848994, 0.078775145, 0.43424496,
};
static const double sdpa_causal[] = {
    0, -0.25, -0.5, 0.27336907, -0.11331546, -0.089946389, 0, -0.25, -0.5,
    0.25, -0.125, -0.125, 0.25, 1, 0.25, 0.023369076, 0.43342268, 0.36331546,
    0.25, 1, 0.25, -0.046333302, 0.25916675, 0.39816666,
};
static const double sdpa_bool[] = {
    0, 0, 0, -0.587479, 0.043739501, -0.05939075,
};
static const double rnn_x[] = {
    1, -0.75, -0.5, -0.75, 0.25, -0.5, 0, -0.5, -0.75, -0.75, 0.25, -0.75,
};
static const double rnn_h0[] = {
    -0.5, -0.25, 0.75, -0.75, 0.75, -0.75, 1, 0,
};
static const double rnn_c0[] = {
    1, 0.25, 0.5, -1, -0.5, -0.75, -0.5, -0.75,
};
static const double lstm_w[] = {
    0, 0.375, -0.625, -0.5, -0.625, -0.5, -0.25, 0, -0.25, 0.25, 0, 0.5,
    -0.125, 0.125, -0.25, -0.125, -0.375, 0, 0.5, 0.75, 0.375, 0.25, -0.375,
    0.25, 0.25, 0.125, 0.5, -0.375, 0.125, -0.5, -0.5, -0.375,
};
static const double lstm_r[] = {
    0.25, 0.375, -0.5, -0.25, -0.5, -0.125, -0.25, 0.625, 0.25, 0.625, -0.125,
    0.5, -0.125, 0.125, 0.625, -0.625, 0.375, -0.125, 0, 0.125, 0.125, -0.625,
    0.125, -0.5, 0.5, 0.625, -0.5, -0.25, 0.25, 0.625, 0.625, 0.625,
};
static const double lstm_b[] = {
    -0.5, -0.375, 0.375, 0.375, -0.5, -0.625, -0.375, 0.625, 0, -0.375, 0.5,
    0.375, 0.125, -0.625, -0.5, -0.375, -0.625, 0.625, -0.125, -0.375, 0.5,
    -0.75, 0.125, -0.125, 0.25, -0.375, -0.75, -0.5, 0.25, 0.375, 0.5, 0.25,
};
static const double lstm_y[] = {
    0.028017858, 0.011157436, -0.055492062, 0.15055297, 0.14846167,
    0.0037207929, 0.020807818, 0.027344218, -0.1686756, 0.059322342, 0, 0,
    0.081702426, 0.015971601, 0, 0, -0.25781554, 0.15588775, 0, 0,
    0.0061881375, -0.021520156, 0, 0,
};
static const double lstm_hn[] = {
    -0.25781554, 0.15588775, -0.055492062, 0.15055297, 0.14846167,
    0.0037207929, 0.020807818, 0.027344218,
};
static const double lstm_cn[] = {
    -0.31019777, 0.21556123, -0.071020819, 0.27851021, 0.47675982, 0.019353485,
    0.085105285, 0.08543922,
};
static const double gru_w[] = {
    0.625, 0.5, -0.25, -0.125, 0.375, 0.125, -0.5, -0.375, -0.625, 0, -0.5,
    -0.5,
};
static const double gru_r[] = {
    -0.375, 0.625, 0.5, -0.625, 0, 0.125, -0.25, 0.375, -0.125, 0, 0.125,
    0.125,
};
static const double gru_b[] = {
    -0.375, 0.375, 0.25, 0, -0.625, -0.375, -0.25, -0.625, -0.125, -0.375,
    -0.125, 0.125,
};
static const double gru_y[] = {
    -0.70967084, -0.37645262, -0.25875703, -0.42915362, -0.67944461,
    -0.3012484, -0.50092119, -0.26458004, -0.2719638, 0.049000967, -0.61954355,
    -0.17637898,
};
static const double gru_hn[] = {
    -0.2719638, 0.049000967, -0.61954355, -0.17637898,
};
static const double gru0_y[] = {
    -0.7171784, -0.34323058, -0.31027901, -0.40895295, -0.70298761,
    -0.25095317, -0.54004025, -0.21733594, -0.33342153, 0.11009181,
    -0.65085661, -0.11777986,
};
static const double plain_w[] = {
    -0.5, 0, 0.5, -0.125,
};
static const double plain_r[] = {
    0, 0, 0.125, 0.5,
};
static const double plain_y[] = {
    0.75, 1.734375, 1.5, 1.03125, 1.125, 1, 1.25, 1.0625, 1.625, 0.21875,
    1.125, 0.71875,
};
static const double plain_b[] = {
    0.625, 0.5, 0.625, 0,
};
static const double plain_hn[] = {
    0.75, 1.734375, 1.5, 1.03125,
};

static op_case *quantize_case(const char *dims, const double *x,
                              const char *sdims, const double *scale,
                              hull_dtype to, const double *zero)
{
    op_case *c = case_new(OP_quantize);

    case_in(c, HULL_F32, dims, x);
    case_in(c, HULL_F32, sdims, scale);
    if (zero != NULL)
        case_in(c, to, sdims, zero);
    node_dtype(c->g, c->n, "to", to);
    node_int(c->g, c->n, "axis", 0);
    return c;
}

static void test_quantize(void **state)
{
    const double *x = V(-3, -0.5, 0.25, 0.75, 1.25, 2.5, 100, -100);
    op_case *c;

    (void)state;
    case_want(quantize_case("8", x, "", V(0.5), HULL_U8, V(3)), "u8[8]",
              V(0, 2, 3, 5, 5, 8, 203, 0));
    case_want(quantize_case("2,4", x, "2", V(0.5, 2), HULL_I8, V(3, -3)),
              "i8[2,4]", V(-3, 2, 3, 5, -2, -2, 47, -53));
    case_want(quantize_case("4", V(INFINITY, -INFINITY, 1e30, 127.5), "1",
                            V(1), HULL_I8, NULL),
              "i8[4]", V(127, -128, 127, 127));
    case_want(quantize_case("4", V(-9, 6.5, 7.5, 0.5), "", V(1), HULL_I4,
                            NULL),
              "i4[4]", V(-8, 6, 7, 0));
    case_want(quantize_case("3", V(-1, 15.5, 14.5), "", V(1), HULL_U4, NULL),
              "u4[3]", V(0, 15, 14));
    case_want(quantize_case("3", V(1e9, -1000, 17), "", V(1), HULL_F8E4M3FN,
                            NULL),
              "f8e4m3fn[3]", V(448, -448, 16));
    case_want(quantize_case("0", V(0), "", V(1), HULL_I8, NULL), "i8[0]",
              V(0));
    case_refuse(quantize_case("4", x, "3", V(1, 1, 1), HULL_I8, NULL),
                HULL_ESHAPE, "4 and 3");
    case_refuse(quantize_case("4", x, "1,4", x, HULL_I8, NULL),
                HULL_EUNSUPPORTED, "rank 2");
    case_refuse(quantize_case("4", x, "", V(1), HULL_F32, NULL), HULL_ESHAPE,
                "f32 is not a quantised type");
    c = case_new(OP_quantize);
    case_type(c, HULL_F32, "N,3");
    case_type(c, HULL_F32, "3");
    case_type(c, HULL_U8, "3");
    node_dtype(c->g, c->n, "to", HULL_I8);
    case_refuse(c, HULL_ESHAPE, "zero point is u8, want i8");
}

static void test_dequantize(void **state)
{
    op_case *c = case_new(OP_dequantize);

    (void)state;
    case_in(c, HULL_I8, "2,2", V(1, -128, 127, 5));
    case_in(c, HULL_F32, "2", V(0.5, 2));
    case_in(c, HULL_I8, "2", V(3, -3));
    case_want(c, "f32[2,2]", V(-1, -250, 62, 16));
    c = case_new(OP_dequantize);
    case_in(c, HULL_U4, "3", V(0, 8, 15));
    case_in(c, HULL_BF16, "", V(0.25));
    case_in(c, HULL_U4, "", V(8));
    case_want(c, "bf16[3]", V(-2, 0, 1.75));
    c = case_new(OP_dequantize);
    case_in(c, HULL_F8E5M2, "2", V(1.5, -2));
    case_in(c, HULL_F16, "1", V(2));
    case_want(c, "f16[2]", V(3, -4));
    c = case_new(OP_dequantize);
    case_type(c, HULL_I8, "N,C");
    case_type(c, HULL_F32, "C");
    case_infers(c, "f32[N,C]");
    c = case_new(OP_dequantize);
    case_type(c, HULL_F32, "2");
    case_type(c, HULL_F32, "");
    case_refuse(c, HULL_ESHAPE, "f32 is not a quantised type");
}

static op_case *sdpa_case(const char *q, const char *k, const char *v)
{
    op_case *c = case_new(OP_sdpa);

    case_in(c, HULL_F32, q, sdpa_q);
    case_in(c, HULL_F32, k, sdpa_k);
    case_in(c, HULL_F32, v, sdpa_v);
    return c;
}

static void test_sdpa_values(void **state)
{
    op_case *c = sdpa_case("1,4,2,2", "1,2,3,2", "1,2,3,3");

    (void)state;
    case_in(c, HULL_F32, "2,3", sdpa_m);
    case_want(c, "f32[1,4,2,3]", sdpa_gqa);
    c = sdpa_case("1,4,2,2", "1,2,3,2", "1,2,3,3");
    node_bool(c->g, c->n, "causal", true);
    node_float(c->g, c->n, "scale", 0.5);
    case_want(c, "f32[1,4,2,3]", sdpa_causal);
    c = sdpa_case("2,2", "3,2", "3,3");
    case_in(c, HULL_BOOL, "2,3", V(0, 0, 0, 1, 0, 1));
    case_want(c, "f32[2,3]", sdpa_bool);
    /* A float mask of -inf alone masks the row as well. */
    c = sdpa_case("1,2,2", "1,3,2", "1,3,3");
    case_in(c, HULL_F64, "1", V(-INFINITY));
    case_want(c, "f32[1,2,3]", V(0, 0, 0, 0, 0, 0));
    c = sdpa_case("1,2,2", "1,0,2", "1,0,3");
    case_want(c, "f32[1,2,3]", V(0, 0, 0, 0, 0, 0));
    /* One batch of keys for two of queries. */
    c = sdpa_case("2,1,1,1", "1,1,2,1", "1,1,2,1");
    case_want(c, "f32[2,1,1,1]", V(-0.125, -0.17644626));
    c = sdpa_case("0,2,2", "0,3,2", "0,3,3");
    case_want(c, "f32[0,2,3]", V(0));
    c = case_new(OP_sdpa);
    case_in(c, HULL_F32, "1,1", V(NAN));
    case_in(c, HULL_F32, "2,1", V(1, 2));
    case_in(c, HULL_F32, "2,1", V(1, 2));
    case_want(c, "f32[1,1]", V(NAN));
}

static void test_sdpa_refused(void **state)
{
    op_case *c = sdpa_case("1,3,2,2", "1,2,3,2", "1,2,3,3");

    (void)state;
    case_refuse(c, HULL_ESHAPE, "2 heads, want a divisor of 3");
    case_refuse(sdpa_case("2,2", "2,3", "2,3"), HULL_ESHAPE, "2 and 3");
    case_refuse(sdpa_case("2,2", "3,2", "2,2"), HULL_ESHAPE, "3 and 2");
    case_refuse(sdpa_case("2,2", "1,3,2", "3,2"), HULL_ESHAPE,
                "operand 1 is f32 of rank 3");
    case_refuse(sdpa_case("2", "2", "2"), HULL_ESHAPE, "rank 2 or more");
    c = sdpa_case("2,2", "3,2", "3,3");
    case_in(c, HULL_I32, "2,3", V(1, 1, 1, 1, 1, 1));
    case_refuse(c, HULL_ESHAPE, "mask is i32");
    c = sdpa_case("2,2", "3,2", "3,3");
    case_in(c, HULL_BOOL, "3,3", V(1, 1, 1, 1, 1, 1, 1, 1, 1));
    case_refuse(c, HULL_ESHAPE, "2 and 3");
    c = case_new(OP_sdpa);
    case_type(c, HULL_F16, "B,8,L,64");
    case_type(c, HULL_F16, "B,2,S,64");
    case_type(c, HULL_F16, "B,2,S,32");
    case_infers(c, "f16[B,8,L,32]");
}

static void want_results(op_case *c, const double *y, const double *hn,
                         const double *cn)
{
    if (case_run(c) != HULL_OK)
        print_error("%s\n", error_text());
    assert_int_equal(c->st, HULL_OK);
    want_values(&c->out[0], y, 1e-6);
    want_values(&c->out[1], hn, 1e-6);
    if (cn != NULL)
        want_values(&c->out[2], cn, 1e-6);
    case_free(c);
}

static op_case *lstm_case(const double *lengths)
{
    op_case *c = case_new(OP_lstm);

    case_in(c, HULL_F32, "3,2,2", rnn_x);
    case_in(c, HULL_F32, "2,8,2", lstm_w);
    case_in(c, HULL_F32, "2,8,2", lstm_r);
    case_in(c, HULL_F32, "2,16", lstm_b);
    case_in(c, HULL_F32, "2,2,2", rnn_h0);
    case_in(c, HULL_F32, "2,2,2", rnn_c0);
    if (lengths != NULL)
        case_in(c, HULL_I32, "2", lengths);
    node_int(c->g, c->n, "hidden", 2);
    node_str(c->g, c->n, "direction", str_of("both"));
    return c;
}

static void test_lstm(void **state)
{
    op_case *c = lstm_case(V(3, 1));

    (void)state;
    want_results(c, lstm_y, lstm_hn, lstm_cn);
    case_refuse(lstm_case(V(3, 4)), HULL_EINVAL,
                "length 4 of sequence 1, want 0 to 3");
    case_refuse(lstm_case(V(-1, 3)), HULL_EINVAL, "length -1");
    /* Length 0: y is 0, the states are the initial ones. */
    c = lstm_case(V(0, 0));
    want_results(c, (const double[24]){ 0 }, rnn_h0, rnn_c0);
    c = lstm_case(NULL);
    node_str(c->g, c->n, "direction", str_of("reverse"));
    case_refuse(c, HULL_ESHAPE, "2 and 1");
    c = lstm_case(NULL);
    node_str(c->g, c->n, "direction", str_of("sideways"));
    case_refuse(c, HULL_EINVAL, "direction 'sideways'");
    c = lstm_case(NULL);
    node_int(c->g, c->n, "hidden", 0);
    case_refuse(c, HULL_ESHAPE, "hidden is 0");
    c = case_new(OP_lstm);
    case_type(c, HULL_F32, "T,B,5");
    case_type(c, HULL_F32, "1,12,5");
    case_type(c, HULL_F32, "1,12,3");
    node_int(c->g, c->n, "hidden", 3);
    assert_int_equal(case_infer(c), HULL_OK);
    case_want_type(c, 1, "f32[1,B,3]");
    case_want_type(c, 2, "f32[1,B,3]");
    case_infers(c, "f32[T,1,B,3]");
}

static op_case *gru_case(bool reset_after)
{
    op_case *c = case_new(OP_gru);

    case_in(c, HULL_F32, "3,2,2", rnn_x);
    case_in(c, HULL_F32, "1,6,2", gru_w);
    case_in(c, HULL_F32, "1,6,2", gru_r);
    case_in(c, HULL_F32, "1,12", gru_b);
    case_in(c, HULL_F32, "1,2,2", rnn_h0);
    node_int(c->g, c->n, "hidden", 2);
    node_bool(c->g, c->n, "reset_after", reset_after);
    return c;
}

static void test_gru(void **state)
{
    op_case *c = gru_case(true);

    (void)state;
    want_results(c, gru_y, gru_hn, NULL);
    /* hn is the last y. */
    want_results(gru_case(false), gru0_y, gru0_y + 8, NULL);
    c = case_new(OP_gru);
    case_type(c, HULL_F32, "3,2,2");
    case_type(c, HULL_F32, "1,8,2");
    case_type(c, HULL_F32, "1,6,2");
    node_int(c->g, c->n, "hidden", 2);
    case_refuse(c, HULL_ESHAPE, "dim 1 of operand 1 is 8 and 6");
}

static void test_rnn(void **state)
{
    op_case *c = case_new(OP_rnn);

    (void)state;
    case_in(c, HULL_F32, "3,2,2", rnn_x);
    case_in(c, HULL_F32, "1,2,2", plain_w);
    case_in(c, HULL_F32, "1,2,2", plain_r);
    case_in(c, HULL_F32, "1,4", plain_b);
    node_int(c->g, c->n, "hidden", 2);
    node_str(c->g, c->n, "direction", str_of("reverse"));
    node_str(c->g, c->n, "acts", str_of("relu"));
    want_results(c, plain_y, plain_hn, NULL);
    /* No bias, no state: tanh(x w). */
    c = case_new(OP_rnn);
    case_in(c, HULL_F64, "1,1,1", V(0.5));
    case_in(c, HULL_F64, "1,1,1", V(2));
    case_in(c, HULL_F64, "1,1,1", V(3));
    case_none(c);
    case_none(c);
    case_in(c, HULL_I64, "1", V(1));
    node_int(c->g, c->n, "hidden", 1);
    want_results(c, V(0.7615941559557649), V(0.7615941559557649), NULL);
    c = case_new(OP_rnn);
    case_type(c, HULL_F32, "1,1,1");
    case_type(c, HULL_F32, "1,1,1");
    case_type(c, HULL_F32, "1,1,1");
    node_int(c->g, c->n, "hidden", 1);
    node_str(c->g, c->n, "acts", str_of("sin"));
    case_refuse(c, HULL_EUNSUPPORTED, "act 'sin'");
    c = case_new(OP_rnn);
    case_type(c, HULL_F32, "1,1,1");
    case_type(c, HULL_F32, "1,1,1");
    case_type(c, HULL_F32, "1,1,1");
    node_int(c->g, c->n, "hidden", 1);
    node_str(c->g, c->n, "acts", str_of("relu tanh"));
    case_refuse(c, HULL_EINVAL, "more than 1 acts");
    c = case_new(OP_rnn);
    case_type(c, HULL_F32, "1,1,1");
    case_type(c, HULL_F32, "1,1,1");
    case_type(c, HULL_F32, "1,1,1");
    node_int(c->g, c->n, "hidden", 1);
    node_floats(c->g, c->n, "alpha", V(1, 2), 2);
    case_refuse(c, HULL_EINVAL, "want 1 of alpha");
    c = case_new(OP_lstm);
    case_in(c, HULL_F32, "1,1,1", V(1));
    case_in(c, HULL_F32, "1,4,1", V(1, 1, 1, 1));
    case_in(c, HULL_F32, "1,4,1", V(0, 0, 0, 0));
    for (int i = 0; i < 4; i++)
        case_none(c);
    case_in(c, HULL_F32, "1,2", V(0, 0));
    node_int(c->g, c->n, "hidden", 1);
    case_refuse(c, HULL_ESHAPE, "dim 1 of operand 7 is 2 and 3");
}

/* ---- control ------------------------------------------------------------- */

/* Runs a body on the stack of values that the case knows. */
typedef struct body_run {
    op_case *c;
    tensor values[64];
    uint32_t calls;
} body_run;

static hull_status run_body(eval_ctx *cx, const region *body,
                            const tensor *params, tensor *results)
{
    body_run *run = cx->user;
    graph *g = run->c->g;

    run->calls++;
    for (uint32_t i = 0; i < body->n_params; i++)
        run->values[body->params[i]] = params[i];
    for (const node *n = body->first; n != NULL; n = n->next) {
        tensor in[8] = { 0 }, *out = &run->values[n->out[0]];
        tensor shape;

        for (uint32_t i = 0; i < n->n_in; i++)
            in[i] = run->values[n->in[i]];
        TRY(tensor_of_type(&shape, cx->env, graph_type(g, n->out[0])));
        TRY(eval_temp(cx, out, shape.dtype, shape.shape, shape.rank));
        TRY(op_get(n->op)->eval(cx, n, in, out));
    }
    for (uint32_t i = 0; i < body->n_results; i++) {
        const tensor *t = &run->values[body->results[i]];

        memcpy(results[i].data, t->data, (size_t)tensor_bytes(t));
    }
    return HULL_OK;
}

static val body_param(op_case *c, hull_dtype dt, const char *name,
                      const char *dims)
{
    dim d[HULL_MAX_RANK];
    uint32_t rank = case_dims(c, dims, d);
    type t = type_tensor(c->m, dt, d, rank);

    return graph_param(c->g, str_of(name), &t);
}

static region *enter(op_case *c, const char *name)
{
    region *r = node_body(c->g, c->n, name);

    assert_non_null(r);
    c->g->insert_in = r;
    return r;
}

static op_case *if_case(double cond, const char *then_dims)
{
    op_case *c = case_new(OP_if);
    int64_t shape = 2;
    int32_t one[2] = { 1, 2 }, two[2] = { 3, 4 };
    dim d[HULL_MAX_RANK];
    uint32_t rank = case_dims(c, then_dims, d);
    val v;

    case_in(c, HULL_BOOL, "", V(cond));
    node_outputs(c->g, c->n, 1);
    enter(c, "then");
    v = op_const(c->g, HULL_I32, &shape, 1, one);
    graph_result(c->g, op_reshape(c->g, v, d, rank));
    enter(c, "else");
    graph_result(c->g, op_const(c->g, HULL_I32, &shape, 1, two));
    c->g->insert_in = NULL;
    return c;
}

static void test_if(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        op_case *c = if_case(i, "2");
        body_run run = { .c = c };

        c->cx.run_body = run_body;
        c->cx.user = &run;
        case_want(c, "i32[2]", i ? V(1, 2) : V(3, 4));
        assert_int_equal(run.calls, 1);
    }
    case_infers(if_case(1, "2,1"), "i32[*]");
}

/* Branches of [N] and [M]: only the rank is known. */
static void test_if_unknown(void **state)
{
    op_case *c = case_new(OP_if);
    val a = 0, b = 0;

    (void)state;
    case_type(c, HULL_BOOL, "1");
    a = body_param(c, HULL_F32, "a", "N,4");
    b = body_param(c, HULL_F32, "b", "M,4");
    node_outputs(c->g, c->n, 1);
    enter(c, "then");
    graph_result(c->g, a);
    enter(c, "else");
    graph_result(c->g, b);
    c->g->insert_in = NULL;
    case_infers(c, "f32[?,4]");
}

/* carried [2]: next = carried + carried, while i < 3 by the condition given. */
static op_case *loop_case(const double *trips, const double *cond,
                          bool body_cond)
{
    op_case *c = case_new(OP_loop);
    val x;

    if (trips != NULL)
        case_in(c, HULL_I64, "", trips);
    else
        case_none(c);
    if (cond != NULL)
        case_in(c, HULL_BOOL, "", cond);
    else
        case_none(c);
    case_in(c, HULL_I32, "2", V(1, 3));
    node_outputs(c->g, c->n, 1);
    enter(c, "body");
    x = body_param(c, HULL_I64, "i", "");
    body_param(c, HULL_BOOL, "go", "");
    (void)x;
    x = body_param(c, HULL_I32, "sum", "2");
    graph_result(c->g, op_scalar_i64(c->g, HULL_BOOL, body_cond));
    graph_result(c->g, op_binary(c->g, OP_add, x, x));
    c->g->insert_in = NULL;
    return c;
}

static void loop_want(op_case *c, const double *want, uint32_t calls)
{
    body_run run = { .c = c };

    c->cx.run_body = run_body;
    c->cx.user = &run;
    case_want(c, "i32[2]", want);
    assert_int_equal(run.calls, calls);
}

static void test_loop(void **state)
{
    (void)state;
    loop_want(loop_case(V(3), V(1), true), V(8, 24), 3);
    loop_want(loop_case(V(4), NULL, true), V(16, 48), 4);
    loop_want(loop_case(V(3), V(0), true), V(1, 3), 0);
    loop_want(loop_case(V(0), V(1), true), V(1, 3), 0);
    loop_want(loop_case(V(-5), V(1), true), V(1, 3), 0);
    loop_want(loop_case(V(9), V(1), false), V(2, 6), 1);
    loop_want(loop_case(NULL, V(1), false), V(2, 6), 1);
    loop_want(loop_case(NULL, NULL, false), V(2, 6), 1);
}

static op_case *carried_case(const char *given, hull_dtype dt,
                             const char *inside, uint32_t n_out)
{
    op_case *c = case_new(OP_loop);
    val x;

    case_in(c, HULL_I64, "", V(1));
    case_none(c);
    case_type(c, HULL_I32, given);
    node_outputs(c->g, c->n, n_out);
    enter(c, "body");
    body_param(c, HULL_I64, "i", "");
    body_param(c, HULL_BOOL, "go", "");
    x = body_param(c, dt, "sum", inside);
    graph_result(c->g, op_scalar_i64(c->g, HULL_BOOL, 1));
    graph_result(c->g, op_concat(c->g, (val[]){ x, x }, 2, 0));
    c->g->insert_in = NULL;
    return c;
}

static void test_loop_refused(void **state)
{
    (void)state;
    case_refuse(carried_case("2", HULL_I32, "2", 1), HULL_EUNSUPPORTED,
                "carried value 0 'sum' changes its type");
    case_refuse(carried_case("2", HULL_I64, "2", 1), HULL_ESHAPE,
                "carried value 0 'sum' is i32, in the body i64");
    case_refuse(carried_case("2", HULL_I32, "2", 2), HULL_EUNSUPPORTED,
                "2 results for 1 carried values");
}

static void test_call(void **state)
{
    op_case *c = case_new(OP_call);
    dim d[1] = { 3 };
    type t = type_tensor(c->m, HULL_F32, d, 1);

    (void)state;
    case_type(c, HULL_F32, "3");
    node_str(c->g, c->n, "callee", str_of("other"));
    node_outputs(c->g, c->n, 1);
    node_type(c->g, c->n, 0, &t);
    assert_int_equal(case_infer(c), HULL_OK);
    case_want_type(c, 0, "f32[3]");
    assert_int_equal(op_get(OP_call)->eval(&c->cx, c->n, c->in, c->out),
                     HULL_EINTERNAL);
    case_free(c);
    c = case_new(OP_call);
    node_str(c->g, c->n, "callee", str_of("other"));
    node_outputs(c->g, c->n, 1);
    case_refuse(c, HULL_ESHAPE, "result 0 has no declared type");
}

static op_case *expect_case(hull_dtype dt, const char *dims, const double *x,
                            const double *want)
{
    op_case *c = case_new(OP_expect);
    tensor t;

    case_in(c, dt, dims, x);
    assert_int_equal(eval_temp(&c->cx, &t, dt, c->in[0].shape,
                               c->in[0].rank), HULL_OK);
    case_put(&t, want, tensor_numel(&t));
    node_literal(c->g, c->n, "value", dt, t.shape, t.rank, t.data);
    node_str(c->g, c->n, "what", str_of("tensor 'size'"));
    return c;
}

static void test_expect(void **state)
{
    op_case *c = expect_case(HULL_I64, "2", V(7, -1), V(7, -1));
    const value *v;

    (void)state;
    assert_int_equal(case_run(c), HULL_OK);
    v = graph_value(c->g, c->n->out[0]);
    assert_int_equal(v->n_known, 2);
    assert_true(v->known[0] == 7);
    want_values(&c->out[0], V(7, -1), 0.0);
    case_free(c);
    case_refuse(expect_case(HULL_I64, "3", V(7, 8, 9), V(7, 5, 4)),
                HULL_EBIND,
                "tensor 'size': element 1 is 8, the module needs 5");
    case_refuse(expect_case(HULL_F32, "", V(0.5), V(0.25)), HULL_EBIND,
                "element 0 is 0.5, the module needs 0.25");
    case_want(expect_case(HULL_F32, "1", V(NAN), V(NAN)), "f32[1]", V(NAN));
    case_want(expect_case(HULL_I4, "3", V(1, 2, -3), V(1, 2, -3)), "i4[3]",
              V(1, 2, -3));
    case_want(expect_case(HULL_F32, "0", V(0), V(0)), "f32[0]", V(0));
    c = case_new(OP_expect);
    case_type(c, HULL_F32, "N");
    node_literal(c->g, c->n, "value", HULL_F32, I(2), 1, "12345678");
    node_str(c->g, c->n, "what", str_of("w"));
    case_infers(c, "f32[2]");
    c = case_new(OP_expect);
    case_type(c, HULL_F32, "3");
    node_literal(c->g, c->n, "value", HULL_F32, I(2), 1, "12345678");
    node_str(c->g, c->n, "what", str_of("w"));
    case_refuse(c, HULL_ESHAPE, "2 and 3");
    c = case_new(OP_expect);
    case_type(c, HULL_I32, "2");
    node_literal(c->g, c->n, "value", HULL_F32, I(2), 1, "12345678");
    node_str(c->g, c->n, "what", str_of("w"));
    case_refuse(c, HULL_ESHAPE, "operand is i32 of rank 1, expected f32");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantize),
        cmocka_unit_test(test_dequantize),
        cmocka_unit_test(test_sdpa_values),
        cmocka_unit_test(test_sdpa_refused),
        cmocka_unit_test(test_lstm),
        cmocka_unit_test(test_gru),
        cmocka_unit_test(test_rnn),
        cmocka_unit_test(test_if),
        cmocka_unit_test(test_if_unknown),
        cmocka_unit_test(test_loop),
        cmocka_unit_test(test_loop_refused),
        cmocka_unit_test(test_call),
        cmocka_unit_test(test_expect),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
