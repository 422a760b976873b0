/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * Lowerings of domain com.microsoft: what is refused and how the error names
 * it, nodes without sense for every operator of the table, packed weights as
 * holes. tests/data/onnx_contrib has the values.
 */
#include "onnx_run.h"

static const int64_t dims_3[3] = {2, 4, 8};

/* A model of opset 21 with inputs a (f32[2,4,8]), u (u8[2,4,8]), i (i32[2,4]),
 * n (i32[1]). */
static maker contrib_model(void)
{
    maker m = maker_new(21);
    buf o = new_buf();
    static const int64_t one[1] = {1};

    put_text(&o, 1, "com.microsoft");
    put_int(&o, 2, 1);
    put_message(&m.model, 8, &o);
    put_value(&m.graph, 11, "a", 1, dims_3, 3);
    put_value(&m.graph, 11, "u", 2, dims_3, 3);
    put_value(&m.graph, 11, "i", 6, dims_3, 2);
    put_value(&m.graph, 11, "n", 6, one, 1);
    put_value(&m.graph, 12, "y", 1, dims_3, 3);
    return m;
}

static void put_contrib(maker *m, const char *op, const char *in,
                        const char *out, buf *attrs)
{
    buf n = node_buf(op, "com.microsoft", in, out, attrs);

    put_message(&m->graph, 1, &n);
}

/* Attribute NAME=VALUE: an integer, or a text. "" = none. */
static void put_attr(buf *attrs, const char *text)
{
    str val_text, all = str_of(text), name = str_split(all, '=', &val_text);
    char key[64] = "", word[64] = "";
    int64_t v = 0;

    if (all.n == 0)
        return;
    memcpy(key, name.p, name.n);
    memcpy(word, val_text.p, val_text.n);
    if (str_to_i64(&v, val_text))
        attr_int_put(attrs, key, v);
    else
        attr_text_put(attrs, key, word);
}

static void test_refused(void **state)
{
    static const struct {
        const char *op, *in, *attrs[3];
        hull_status status;
        const char *text;
    } cases[] = {
        {"FusedConv", "a a", {"activation=Swoosh"}, HULL_EUNSUPPORTED,
         "attribute 'activation' is 'Swoosh'"},
        {"CDist", "i i", {"metric=hamming"}, HULL_EUNSUPPORTED,
         "attribute 'metric' is 'hamming'"},
        {"CDist", "a a", {""}, HULL_ESHAPE, "input 0 has rank 3, want 2"},
        {"Rfft", "a", {"normalized=1"}, HULL_EUNSUPPORTED,
         "attribute 'normalized' is 1, want 0"},
        {"Rfft", "a", {"signal_ndim=2"}, HULL_EUNSUPPORTED,
         "attribute 'signal_ndim' is 2, want 1"},
        {"Attention", "a a", {"num_heads=0"}, HULL_EFORMAT,
         "attribute 'num_heads' is 0"},
        {"Attention", "a a", {"num_heads=2", "do_rotary=1"},
         HULL_EUNSUPPORTED, "attribute 'do_rotary' is 1, want 0"},
        {"Attention", "a a", {"num_heads=2", "past_present_share_buffer=1"},
         HULL_EUNSUPPORTED, "'past_present_share_buffer' is 1"},
        {"Attention", "a a - - - - n", {"num_heads=2"}, HULL_EUNSUPPORTED,
         "input 6 (past_sequence_length) is given"},
        {"MultiHeadAttention", "a", {"num_heads=2"}, HULL_EUNSUPPORTED,
         "input 1 is missing"},
        {"MultiHeadAttention", "a a a - - - - - - n", {"num_heads=2"},
         HULL_EUNSUPPORTED, "input 9 (cache_indirection) is given"},
        {"GroupQueryAttention", "a a a - - n", {"num_heads=2"}, HULL_EFORMAT,
         "input 6 is missing"},
        {"GroupQueryAttention", "a a a - - n n",
         {"num_heads=2", "kv_num_heads=2", "sliding_window_cache=1"},
         HULL_EUNSUPPORTED, "'sliding_window_cache' is 1, want 0"},
        {"GroupQueryAttention", "a a a - - n n",
         {"num_heads=2", "kv_num_heads=2", "k_quant_type=PER_TENSOR"},
         HULL_EUNSUPPORTED, "attribute 'k_quant_type' is 'PER_TENSOR'"},
        {"GroupQueryAttention", "a a a - - n n",
         {"num_heads=3", "kv_num_heads=2"}, HULL_EFORMAT,
         "num_heads 3 and kv_num_heads 2"},
        {"RotaryEmbedding", "a i i i", {"is_packed_batching=1"},
         HULL_EUNSUPPORTED, "attribute 'is_packed_batching' is 1"},
        {"MatMulNBits", "a u a", {"K=8", "N=2", "bits=3"}, HULL_EUNSUPPORTED,
         "attribute 'bits' is 3, want 2, 4 or 8"},
        {"MatMulNBits", "a u a", {"K=8", "N=2", "block_size=24"},
         HULL_EFORMAT, "attribute 'block_size' is 24"},
        {"MatMulNBits", "a u a", {"K=8", "N=2", "block_size=16"}, HULL_ESHAPE,
         "input 1 is u8 of rank 3, want u8[2,1,8]"},
        {"MatMulNBits", "a u a", {"K=-8", "N=2"}, HULL_EFORMAT,
         "'K' and 'N' are -8 and 2"},
        {"MatMulBnb4", "a u a", {"K=8", "N=2", "block_size=16"}, HULL_ESHAPE,
         ""},
        {"GatherBlockQuantized", "u i a", {"block_size=8"}, HULL_EFORMAT,
         "attribute 'block_size' is 8"},
        {"DynamicQuantizeLSTM", "a u u", {"hidden_size=2"}, HULL_EFORMAT,
         "input 8 is missing"},
        {"DynamicQuantizeLSTM", "a u u - - - - - a u a u", {"input_forget=1"},
         HULL_EUNSUPPORTED, "input_forget is 1"},
        {"DynamicQuantizeLSTM", "a u u - - - - - a u a u", {"direction=up"},
         HULL_EFORMAT, "attribute 'direction' is 'up'"},
        {"QLinearAdd", "u a u u", {""}, HULL_EFORMAT, "input 4 is missing"},
        {"QLinearConcat", "a u u a", {"axis=0"}, HULL_EFORMAT, "input 4"},
        {"GroupNorm", "a a a", {"activation=7"}, HULL_EUNSUPPORTED,
         "activation is 7"},
        {"GatedRMSNorm", "a a a", {"activation=relu"}, HULL_EFORMAT,
         "attribute 'activation' is 'relu'"},
        {"LinearAttention", "a a a", {"state_window=2"}, HULL_EUNSUPPORTED,
         "attribute 'state_window' is 2, want 0"},
        {"CausalConvWithState", "a a", {"dilation=2"}, HULL_EUNSUPPORTED,
         "attribute 'dilation' is 2, want 1"},
        {"QuickGelu", "a", {"beta=1"}, HULL_EFORMAT,
         "attribute 'beta' is not known"},
        {"NoSuchThing", "a", {""}, HULL_EUNSUPPORTED,
         "NoSuchThing (domain com.microsoft"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        maker m = contrib_model();
        buf a = new_buf();

        for (size_t k = 0; k < 3 && cases[i].attrs[k] != NULL; k++)
            put_attr(&a, cases[i].attrs[k]);
        put_contrib(&m, cases[i].op, cases[i].in, "y", &a);
        must_refuse(&m, cases[i].status, cases[i].text);
    }
}

#define ONNX(op, since, until, lower, arg, in_min, in_max, attrs) {op, attrs},
#define WINDOW "kernel_shape pads strides "
static const struct {
    const char *name, *attrs;
} rows[] = {
#include "front/onnx_contrib.def"
};
#undef ONNX

/* Any answer will do, without a fault. */
static void import_any(const char *op, const char *in, const char *attrs,
                       int64_t v)
{
    maker m = contrib_model();
    buf a = new_buf();
    front_model *fm = NULL;
    str rest = str_of(attrs);

    while (rest.n > 0) {
        str s = str_split(rest, ' ', &rest);
        char key[64] = "";

        memcpy(key, s.p, s.n);
        if (s.n > 0)
            attr_int_put(&a, key, v);
    }
    put_contrib(&m, op, in, "y - - -", &a);
    if (import_maker(&m, &fm) == HULL_OK)
        front_free(fm);
    else
        assert_true(strlen(error_text()) > 0);
}

static void test_without_sense(void **state)
{
    static const char *const operands[] = {"a", "u", "i", "n", "-", "a u",
                                           "u a", "n n", "a u i n"};
    static const int64_t values[] = {0, 1, 2, -1, 16, INT64_MAX, INT64_MIN};

    (void)state;
    for (size_t r = 0; r < COUNT_OF(rows); r++) {
        const char *dot = strrchr(rows[r].name, '.');
        const char *op = dot ? dot + 1 : rows[r].name;

        for (size_t k = 0; k < COUNT_OF(operands); k++) {
            char in[256] = "";

            for (int n = 1; n <= 18; n++) {
                size_t at = strlen(in);

                snprintf(in + at, sizeof in - at, "%s%s", at ? " " : "",
                         operands[k]);
                import_any(op, in, "", 0);
                import_any(op, in, rows[r].attrs,
                           values[(size_t)n % COUNT_OF(values)]);
            }
        }
    }
}

/* Packed weights, scales and zero points stay holes; nothing is a literal. */
static void test_packed_are_holes(void **state)
{
    static const int64_t b[3] = {8, 1, 8}, scales[1] = {8};
    uint8_t packed[64] = {0};
    float ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    maker m = contrib_model();
    buf a = new_buf();
    const char *const attrs[] = {"K=8", "N=8", "bits=4", "block_size=16"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(attrs); i++)
        put_attr(&a, attrs[i]);
    put_stored(&m.graph, "w", 2, b, 3, packed, sizeof packed);
    put_stored(&m.graph, "s", 1, scales, 1, ones, sizeof ones);
    put_stored(&m.graph, "z", 2, scales, 1, packed, 8);
    put_contrib(&m, "MatMulNBits", "a w s z", "y", &a);
    front_model *fm = must_import(&m);
    assert_int_equal(fm->n_holes, 3);
    assert_int_equal(fm->n_literals, 0);
    for (uint32_t i = 0; i < fm->n_holes; i++)
        assert_true(fm->holes[i].parameter);
    front_free(fm);
}

/* A batch that only the state fixes is fixed for what follows. */
static void test_batch_of_a_state(void **state)
{
    static const int64_t x[3] = {4, -1, 2}, h[3] = {1, 1, 3};
    static const int64_t w[3] = {1, 9, 2}, r[3] = {1, 9, 3};
    float zeros[27] = {0};
    maker m = maker_new(17);
    buf a = new_buf();

    (void)state;
    put_value(&m.graph, 11, "x", 1, x, 3);
    put_value(&m.graph, 11, "h", 1, h, 3);
    put_value(&m.graph, 12, "z", 1, h, 1);
    put_stored(&m.graph, "w", 1, w, 3, zeros, 18 * 4);
    put_stored(&m.graph, "r", 1, r, 3, zeros, 27 * 4);
    attr_int_put(&a, "hidden_size", 3);
    put_node(&m.graph, "GRU", "x w r - - h", "- y", &a);
    put_node(&m.graph, "Squeeze", "y", "z", NULL);
    front_model *fm = must_import(&m);
    assert_int_equal(graph_type(fm->g, fm->g->body->results[0])->rank, 1);
    front_free(fm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_without_sense),
        cmocka_unit_test(test_packed_are_holes),
        cmocka_unit_test(test_batch_of_a_state),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
