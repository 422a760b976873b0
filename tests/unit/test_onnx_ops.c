/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * Lowerings of single ONNX operators on models made here: what their
 * attributes do, versions of opsets, sizes as operands, and refusals.
 */
#include "onnx_run.h"

static const int64_t one_i64[1] = {1};

static void store_f32(maker *m, const char *name, const int64_t *dims,
                      size_t rank, const float *p)
{
    size_t n = 4;

    for (size_t i = 0; i < rank; i++)
        n *= (size_t)dims[i];
    put_stored(&m->graph, name, 1, dims, rank, p, n);
}

/* ---- einsum -------------------------------------------------------------- */

static maker einsum_model(const char *equation, const char *in,
                          const int64_t *dims, size_t rank)
{
    static const int64_t wdims[2] = {2, 3};
    static const float w[6] = {1, 0, 2, 0, 1, 1};
    buf a = new_buf();
    maker m = model_of(13, dims, rank);

    store_f32(&m, "w", wdims, 2, w);
    attr_text_put(&a, "equation", equation);
    put_node(&m.graph, "Einsum", in, "y", &a);
    return m;
}

static void test_einsum(void **state)
{
    static const int64_t square[2] = {3, 3}, dims_2x2x2[3] = {2, 2, 2};
    static const int64_t n[2] = {-1, -1};
    const float x[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    const float outer[9] = {1, 2, 3, 4, 5, 6, 6, 9, 12};
    const float diagonal[3] = {1, 5, 9}, trace[1] = {15};
    const float x8[8] = {1, 2, 3, 4, 5, 6, 7, 8}, batch[4] = {1, 4, 5, 8};
    const float three[6] = {1, 0, 12, 0, 5, 6};

    (void)state;
    maker m = einsum_model("ij,ik->kj", "x w", shape_2x3, 2);
    check_run(&m, f32_input(data_6, 2, shape_2x3), 2, square, outer);
    m = einsum_model("ii->i", "x", square, 2);
    check_run(&m, f32_input(x, 2, square), 1, square, diagonal);
    m = einsum_model("ii->i", "x", n, 2); /* of a size known in a run */
    check_run(&m, f32_input(x, 2, square), 1, square, diagonal);
    m = einsum_model("ii", "x", square, 2);
    check_run(&m, f32_input(x, 2, square), 0, NULL, trace);
    m = einsum_model("...ii->...i", "x", dims_2x2x2, 3);
    check_run(&m, f32_input(x8, 3, dims_2x2x2), 2, dims_2x2x2, batch);
    m = einsum_model("ij,ij,ij->ij", "x w w", shape_2x3, 2);
    check_run(&m, f32_input(data_6, 2, shape_2x3), 2, shape_2x3, three);
    m = einsum_model("...j,...j", "x w", one_i64, 1); /* 1 goes with 3 */
    check_run(&m, f32_input((const float[]){1}, 1, one_i64), 1, shape_2x3,
              (const float[]){3, 2});
    m = einsum_model("j...,j...->...", "w x", shape_2x3, 2);
    check_run(&m, f32_input(data_6, 2, shape_2x3), 1, square,
              (const float[]){1, 5, 12});
    m = einsum_model("ij,kj->k", "x w", shape_2x3, 2);
    check_run(&m, f32_input((const float[]){1, 1, 1, 1, 1, 2}, 2, shape_2x3), 1,
              shape_2x3, (const float[]){8, 5});
}

static void test_einsum_refused(void **state)
{
    static const struct {
        const char *equation, *in, *text;
    } cases[] = {
        {"ij->ii", "x", "twice"},
        {"ij->k", "x", "no operand has"},
        {"ij,jk->ik", "x", "more terms"},
        {"ij", "x w", "fewer terms"},
        {"ijk->i", "x", "rank 2, its term has 3"},
        {"ij,jk->ik", "x w", "the sizes 3 and 2"},
        {"i.j->i", "x", "lone dot"},
        {"......->", "x", "two ellipses"},
        {"i1->i", "x", "byte 49"},
        {"abcdefghi->a", "x", "its term has 9"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        maker m = einsum_model(cases[i].equation, cases[i].in, shape_2x3, 2);
        front_model *fm = NULL;

        assert_int_not_equal(import_maker(&m, &fm), HULL_OK);
        assert_null(fm);
        if (!strstr(error_text(), cases[i].text))
            print_message("%s: %s\n", cases[i].equation, error_text());
        assert_non_null(strstr(error_text(), cases[i].text));
    }
}

/* ---- recurrent ----------------------------------------------------------- */

static maker rnn_model(const char *op, int64_t opset, const char *in,
                       int64_t gates, buf *attrs)
{
    static const float w[2][4] = {{0.5f, -0.3f, 0.8f, 1.2f},
                                  {0.1f, 0.4f, -0.2f, 0.6f}};
    static const float p[3] = {0.3f, -0.5f, 0.7f};
    static const int64_t x[3] = {3, 1, 1}, pdims[2] = {1, 3};
    const int64_t dims[3] = {1, gates, 1};
    maker m = model_of(opset, x, 3);

    store_f32(&m, "w", dims, 3, w[0]);
    store_f32(&m, "r", dims, 3, w[1]);
    store_f32(&m, "p", pdims, 2, p);
    put_node(&m.graph, op, in, "y", attrs);
    return m;
}

static void test_recurrent(void **state)
{
    static const int64_t dims[3] = {3, 1, 1}, out[4] = {3, 1, 1, 1};
    const float x[3] = {1, 2, -1}, numbers[2] = {0.5f, 2}, quarter = 0.25f;
    buf a = new_buf();

    (void)state;
    /* The size of the hidden state comes from the weights. */
    maker m = rnn_model("LSTM", 7, "x w r - - - - p", 4, &a);
    check_run(&m, f32_input(x, 3, dims), 4, out,
              (const float[]){0.17342214f, 0.20342918f, 0.12877276f});
    a = new_buf();
    attr_float_put(&a, "clip", 0.75f);
    attr_int_put(&a, "input_forget", 1);
    attr_int_put(&a, "hidden_size", 1);
    m = rnn_model("LSTM", 22, "x w r - - - - p", 4, &a);
    check_run(&m, f32_input(x, 3, dims), 4, out,
              (const float[]){0.14214812f, 0.16254536f, 0.03213121f});
    a = new_buf(); /* the second takes both numbers, the first one */
    attr_texts_put(&a, "activations", "LeakyRelu Affine");
    attr_floats_put(&a, "activation_alpha", numbers, 2);
    attr_floats_put(&a, "activation_beta", &quarter, 1);
    attr_int_put(&a, "output_sequence", 1);
    attr_text_put(&a, "direction", "foward"); /* as opset 1 spells it */
    m = rnn_model("GRU", 1, "x w r", 3, &a);
    check_run(&m, f32_input(x, 3, dims), 4, out,
              (const float[]){0.925f, 0.6875016f, -1.9815575f});
    a = new_buf();
    attr_texts_put(&a, "activations", "Sine");
    m = rnn_model("RNN", 14, "x w r", 1, &a);
    must_refuse(&m, HULL_EUNSUPPORTED, "activation 'Sine'");
    a = new_buf();
    attr_texts_put(&a, "activations", "Tanh Tanh");
    m = rnn_model("LSTM", 14, "x w r", 4, &a);
    must_refuse(&m, HULL_EFORMAT, "not a list of 3 names");
    a = new_buf();
    attr_float_put(&a, "clip", -1);
    m = rnn_model("RNN", 14, "x w r", 1, &a);
    must_refuse(&m, HULL_EFORMAT, "clip is -1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_einsum),
        cmocka_unit_test(test_einsum_refused),
        cmocka_unit_test(test_recurrent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
