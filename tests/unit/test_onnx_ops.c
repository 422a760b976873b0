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

/* Sums from the last element of each sequence on; the second has one. */
static void test_scan_of_batches(void **state)
{
    static const int64_t dims[3] = {2, 3, 1}, first[2] = {2, 1}, one[1] = {1};
    static const int64_t lengths[2] = {3, 1};
    const float zeros[2] = {0, 0};
    buf a = new_buf(), g = new_buf();

    (void)state;
    maker m = model_of(8, dims, 3);
    store_f32(&m, "start", first, 2, zeros);
    put_i64s(&m.graph, "lengths", lengths, 2);
    put_node(&g, "Add", "s v", "t", NULL);
    put_node(&g, "Identity", "t", "u", NULL);
    put_value(&g, 11, "s", 1, one, 1);
    put_value(&g, 11, "v", 1, one, 1);
    put_value(&g, 12, "t", 1, one, 1);
    put_value(&g, 12, "u", 1, one, 1);
    attr_graph_put(&a, "body", &g);
    attr_int_put(&a, "num_scan_inputs", 1);
    attr_ints_put(&a, "directions", one, 1);
    put_node(&m.graph, "Scan", "lengths start x", "last y", &a);
    check_run(&m, f32_input(data_6, 3, dims), 3, dims,
              (const float[]){3, 5, 6, 4, 0, 0});
    a = new_buf();
    g = new_buf();
    m = model_of(8, dims, 3);
    attr_graph_put(&a, "body", &g);
    attr_int_put(&a, "num_scan_inputs", 2);
    put_node(&m.graph, "Scan", "- x", "y", &a);
    must_refuse(&m, HULL_EFORMAT, "num_scan_inputs is 2");
}

/* ---- first opsets -------------------------------------------------------- */

static const int64_t dims_2x2[2] = {2, 2};
static const int64_t image_2x2[4] = {1, 1, 2, 2};
static const float data_4[4] = {1, 2, 3, 4};

static void test_first_opsets(void **state)
{
    static const int64_t shape[2] = {0, -1}, pads[4] = {0, 1, 1, 0};
    static const int64_t dims_3x3[2] = {3, 3}, dims_2x4[2] = {2, 4};
    static const int64_t dims_2x1[2] = {2, 1}, wide[4] = {1, 1, 2, 4};
    const float parts[2] = {1, 1};
    buf a = new_buf();

    (void)state;
    maker m = model_of(1, dims_2x2, 2);
    attr_ints_put(&a, "shape", shape, 2);
    put_node(&m.graph, "Reshape", "x", "y", &a);
    check_run(&m, f32_input(data_4, 2, dims_2x2), 2, dims_2x2, data_4);
    a = new_buf();
    m = model_of(1, dims_2x2, 2);
    attr_ints_put(&a, "paddings", pads, 4);
    attr_float_put(&a, "value", 9);
    put_node(&m.graph, "Pad", "x", "y", &a);
    check_run(&m, f32_input(data_4, 2, dims_2x2), 2, dims_3x3,
              (const float[]){9, 1, 2, 9, 3, 4, 9, 9, 9});
    m = model_of(1, dims_2x2, 2); /* the operands have the data's type */
    put_scalar_f32(&m.graph, "tiles", 2);
    put_scalar_f32(&m.graph, "axis", 1);
    put_node(&m.graph, "Tile", "x tiles axis", "y", NULL);
    check_run(&m, f32_input(data_4, 2, dims_2x2), 2, dims_2x4,
              (const float[]){1, 2, 1, 2, 3, 4, 3, 4});
    m = model_of(1, dims_2x2, 2); /* axis 1, where it is not said */
    put_node(&m.graph, "Concat", "x x", "y", NULL);
    check_run(&m, f32_input(data_4, 2, dims_2x2), 2, dims_2x4,
              (const float[]){1, 2, 1, 2, 3, 4, 3, 4});
    a = new_buf();
    m = model_of(1, dims_2x2, 2);
    store_f32(&m, "parts", (const int64_t[]){2}, 1, parts);
    attr_int_put(&a, "axis", 1);
    put_node(&m.graph, "Split", "x parts", "z y", &a);
    check_run(&m, f32_input(data_4, 2, dims_2x2), 2, dims_2x1,
              (const float[]){2, 4});
    a = new_buf();
    m = model_of(1, dims_2x2, 2);
    attr_text_put(&a, "to", "INT32");
    put_node(&m.graph, "Cast", "x", "y", &a);
    check_run(&m, f32_input((const float[]){1.5f, -1.5f, 0, 7}, 2, dims_2x2), 2,
              dims_2x2, (const float[]){1, -1, 0, 7});
    a = new_buf();
    m = model_of(1, dims_2x2, 2);
    attr_text_put(&a, "to", "STRING");
    put_node(&m.graph, "Cast", "x", "y", &a);
    must_refuse(&m, HULL_EUNSUPPORTED, "'to' is 'STRING'");
    a = new_buf();
    m = model_of(1, image_2x2, 4);
    attr_float_put(&a, "height_scale", 1);
    attr_float_put(&a, "width_scale", 2);
    put_node(&m.graph, "Upsample", "x", "y", &a);
    check_run(&m, f32_input(data_4, 4, image_2x2), 4, wide,
              (const float[]){1, 1, 2, 2, 3, 3, 4, 4});
}

/* ---- pools --------------------------------------------------------------- */

static maker pool_model(const char *op, int64_t opset, const int64_t *dims,
                        buf *a)
{
    static const int64_t two[2] = {2, 2};
    maker m = model_of(opset, dims, 4);

    attr_ints_put(a, "kernel_shape", two, 2);
    attr_ints_put(a, "strides", two, 2);
    put_node(&m.graph, op, "x", "y", a);
    return m;
}

static void test_lp_pools(void **state)
{
    static const int64_t dims[4] = {1, 1, 1, 3}, out[4] = {1, 1, 1, 2};
    static const int64_t n[4] = {1, 1, 1, -1}, one[4] = {1, 1, 1, 1};
    const float x[3] = {3, -4, 12}, want[2] = {5, 12};
    buf a = new_buf();

    (void)state;
    attr_int_put(&a, "ceil_mode", 1);
    maker m = pool_model("LpPool", 18, dims, &a);
    check_run(&m, f32_input(x, 4, dims), 4, out, want);
    a = new_buf();
    attr_int_put(&a, "ceil_mode", 1);
    m = pool_model("LpPool", 18, n, &a);
    check_run(&m, f32_input(x, 4, dims), 4, out, want);
    a = new_buf();
    attr_float_put(&a, "p", 1);
    m = pool_model("LpPool", 1, image_2x2, &a);
    check_run(&m, f32_input(data_4, 4, image_2x2), 4, one,
              (const float[]){10});
    a = new_buf();
    m = model_of(2, dims, 4);
    attr_int_put(&a, "p", 2);
    put_node(&m.graph, "GlobalLpPool", "x", "y", &a);
    check_run(&m, f32_input(x, 4, dims), 4, one, (const float[]){13});
    a = new_buf();
    m = model_of(2, dims, 4);
    attr_int_put(&a, "p", 0);
    put_node(&m.graph, "GlobalLpPool", "x", "y", &a);
    must_refuse(&m, HULL_EFORMAT, "'p' is 0");
}

static maker unpool_model(const int64_t *out)
{
    static const int64_t at[4] = {0, 3, 8, 11}, two[2] = {2, 2};
    buf a = new_buf();
    maker m = model_of(11, image_2x2, 4);

    put_stored(&m.graph, "at", 7, image_2x2, 4, at, sizeof at);
    put_i64s(&m.graph, "out", out, 4);
    attr_ints_put(&a, "kernel_shape", two, 2);
    attr_ints_put(&a, "strides", two, 2);
    put_node(&m.graph, "MaxUnpool", "x at out", "y", &a);
    return m;
}

/* Places count in the 4 x 4 that the window gives. */
static void test_max_unpool(void **state)
{
    static const int64_t out[4] = {1, 1, 4, 5}, small[4] = {1, 1, 4, 3};

    (void)state;
    maker m = unpool_model(out);
    check_run(&m, f32_input(data_4, 4, image_2x2), 4, out,
              (const float[]){1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 3, 0, 0, 4, 0, 0, 0,
                              0, 0, 0});
    m = unpool_model(small);
    must_refuse(&m, HULL_ESHAPE, "smaller");
}

/* ---- images -------------------------------------------------------------- */

static void test_image_decoder(void **state)
{
    static const int64_t dims[1] = {-1};
    buf a = new_buf();

    (void)state;
    maker m = model_of(20, dims, 1);
    attr_int_put(&a, "to", 2);
    put_node(&m.graph, "Cast", "x", "file", &a);
    a = new_buf();
    attr_text_put(&a, "pixel_format", "Grayscale");
    put_node(&m.graph, "ImageDecoder", "file", "y", &a);
    front_model *fm = must_import(&m);
    const type *t = graph_type(fm->g, fm->g->body->results[0]);
    assert_int_equal(t->dtype, HULL_U8);
    assert_int_equal(t->rank, 3);
    assert_int_equal(t->dims[2], 1);
    front_free(fm);
    m = model_of(20, dims, 1);
    a = new_buf();
    attr_text_put(&a, "pixel_format", "CMYK");
    put_node(&m.graph, "ImageDecoder", "x", "y", &a);
    must_refuse(&m, HULL_EFORMAT, "'pixel_format' is 'CMYK'");
    m = model_of(20, dims, 1);
    put_node(&m.graph, "ImageDecoder", "x", "y", NULL);
    must_refuse(&m, HULL_ESHAPE, "a file of f32");
}

static maker roi_model(const char *op, const char *in, buf *attrs)
{
    static const float where[5] = {0, 0, 0, 1, 1};
    static const int64_t dims[2] = {1, 4}, wide[2] = {1, 5}, zero[1] = {0};
    maker m = model_of(16, image_2x2, 4);

    store_f32(&m, "box", dims, 2, where + 1);
    store_f32(&m, "box5", wide, 2, where);
    put_i64s(&m.graph, "at", zero, 1);
    put_node(&m.graph, op, in, "y", attrs);
    return m;
}

static void test_regions(void **state)
{
    static const int64_t one[4] = {1, 1, 1, 1}, two[2] = {2, 2};
    buf a = new_buf();

    (void)state;
    attr_text_put(&a, "coordinate_transformation_mode", "output_half_pixel");
    maker m = roi_model("RoiAlign", "x box at", &a);
    check_run(&m, f32_input(data_4, 4, image_2x2), 4, one,
              (const float[]){2.5f});
    a = new_buf(); /* the default shifts by half a pixel: all at (0, 0) */
    m = roi_model("RoiAlign", "x box at", &a);
    check_run(&m, f32_input(data_4, 4, image_2x2), 4, one, (const float[]){1});
    a = new_buf();
    attr_text_put(&a, "mode", "median");
    m = roi_model("RoiAlign", "x box at", &a);
    must_refuse(&m, HULL_EFORMAT, "'mode' is 'median'");
    a = new_buf();
    attr_ints_put(&a, "pooled_shape", two, 2);
    m = roi_model("MaxRoiPool", "x box5", &a);
    check_run(&m, f32_input(data_4, 4, image_2x2), 4, image_2x2, data_4);
    a = new_buf();
    attr_ints_put(&a, "pooled_shape", two, 1);
    m = roi_model("MaxRoiPool", "x box5", &a);
    must_refuse(&m, HULL_EFORMAT, "'pooled_shape' has 1");
    a = new_buf();
    attr_int_put(&a, "output_height", 0);
    m = roi_model("RoiAlign", "x box at", &a);
    must_refuse(&m, HULL_EFORMAT, "two sizes");
}

static maker col2im_model(const int64_t *block, const int64_t *pads)
{
    static const int64_t x[3] = {1, 2, 3}, image[2] = {1, 3};
    buf a = new_buf();
    maker m = model_of(18, x, 3);

    put_i64s(&m.graph, "image", image, 2);
    put_i64s(&m.graph, "block", block, 2);
    attr_ints_put(&a, "pads", pads, 4);
    put_node(&m.graph, "Col2Im", "x image block", "y", &a);
    return m;
}

/* Blocks of two side by side overlap; what falls into the pad is lost. */
static void test_col2im(void **state)
{
    static const int64_t x[3] = {1, 2, 3}, out[4] = {1, 1, 1, 3};
    static const int64_t block[2] = {1, 2}, pads[4] = {0, 1, 0, 0};
    static const int64_t tall[2] = {2, 2};

    (void)state;
    maker m = col2im_model(block, pads);
    check_run(&m, f32_input(data_6, 3, x), 4, out, (const float[]){6, 8, 6});
    m = col2im_model(tall, pads);
    must_refuse(&m, HULL_ESHAPE, "does not fit");
}

static void test_affine_grid(void **state)
{
    static const int64_t theta[3] = {1, 2, 3}, size[4] = {1, 1, 1, 2};
    static const int64_t out[4] = {1, 1, 2, 2};
    buf a = new_buf();

    (void)state;
    maker m = model_of(20, theta, 3);
    put_i64s(&m.graph, "size", size, 4);
    put_node(&m.graph, "AffineGrid", "x size", "y", &a);
    /* x = -0.5, 0.5 and y = 0 times [1 2 3; 4 5 6] */
    check_run(&m, f32_input(data_6, 3, theta), 4, out,
              (const float[]){2.5f, 4, 3.5f, 8});
    a = new_buf();
    m = model_of(20, theta, 3);
    put_i64s(&m.graph, "size", size, 4);
    attr_int_put(&a, "align_corners", 1);
    put_node(&m.graph, "AffineGrid", "x size", "y", &a);
    check_run(&m, f32_input(data_6, 3, theta), 4, out,
              (const float[]){2, 2, 4, 10});
}

static void test_center_crop_pad(void **state)
{
    static const int64_t n[2] = {-1, 3}, want[2] = {3, 2};
    static const int64_t axes[2] = {-2, 1}, less[1] = {3};
    const float y[6] = {1, 2, 4, 5, 0, 0};
    buf a = new_buf();

    (void)state;
    for (int i = 0; i < 2; i++) { /* fixed sizes, and one of a run */
        maker m = model_of(18, i ? n : shape_2x3, 2);

        put_i64s(&m.graph, "want", want, 2);
        a = new_buf();
        attr_ints_put(&a, "axes", axes, 2);
        put_node(&m.graph, "CenterCropPad", "x want", "y", &a);
        check_run(&m, f32_input(data_6, 2, shape_2x3), 2, want, y);
    }
    maker m = model_of(18, shape_2x3, 2);
    put_i64s(&m.graph, "want", less, 1);
    put_node(&m.graph, "CenterCropPad", "x want", "y", NULL);
    must_refuse(&m, HULL_ESHAPE, "1 sizes for 2 axes");
}

static maker crop_model(const float *roi, size_t n, size_t n_sizes, buf *a)
{
    static const int64_t size[4] = {1, 1, 2, 3};
    const int64_t dims[1] = {(int64_t)n};
    maker m = model_of(18, image_2x2, 4);

    store_f32(&m, "roi", dims, 1, roi);
    put_i64s(&m.graph, "size", size + 4 - n_sizes, n_sizes);
    attr_text_put(a, "coordinate_transformation_mode", "tf_crop_and_resize");
    attr_text_put(a, "mode", "linear");
    attr_float_put(a, "extrapolation_value", 7);
    put_node(&m.graph, "Resize", "x roi - size", "y", a);
    return m;
}

static void test_resize_region(void **state)
{
    static const int64_t axes[2] = {3, 2}, out[4] = {1, 1, 2, 3};
    static const int64_t turned[4] = {1, 1, 3, 2};
    const float roi[8] = {0, 0, 0, 0, 1, 1, 1, 2}, part[4] = {0, 0.5f, 1, 0.5f};
    buf a = new_buf();

    (void)state;
    maker m = crop_model(roi, 8, 4, &a);
    check_run(&m, f32_input(data_4, 4, image_2x2), 4, out,
              (const float[]){1, 2, 7, 3, 4, 7});
    a = new_buf(); /* the region of axes 3 and 2, the sizes too */
    attr_ints_put(&a, "axes", axes, 2);
    m = crop_model(part, 4, 2, &a);
    check_run(&m, f32_input(data_4, 4, image_2x2), 4, turned,
              (const float[]){2, 3, 2, 3, 2, 3});
    a = new_buf();
    m = crop_model(roi, 6, 4, &a);
    must_refuse(&m, HULL_ESHAPE, "6 numbers, want 2");
}

/* The size is known in a run: floor(0.7 * 10) in f32. */
static void test_resize_of_run(void **state)
{
    static const int64_t n[1] = {-1}, ten[1] = {10}, seven[1] = {7};
    const float x[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, scale = 0.7f;
    buf a = new_buf();

    (void)state;
    maker m = model_of(18, n, 1);
    store_f32(&m, "scale", one_i64, 1, &scale);
    attr_text_put(&a, "coordinate_transformation_mode", "asymmetric");
    attr_text_put(&a, "nearest_mode", "floor");
    put_node(&m.graph, "Resize", "x - scale", "y", &a);
    check_run(&m, f32_input(x, 1, ten), 1, seven,
              (const float[]){0, 1, 2, 4, 5, 7, 8});
    m = model_of(18, n, 1); /* 13 / 10 is the policy's scale */
    put_i64s(&m.graph, "size", (const int64_t[]){13}, 1);
    a = new_buf();
    attr_text_put(&a, "keep_aspect_ratio_policy", "not_larger");
    attr_text_put(&a, "nearest_mode", "floor");
    attr_text_put(&a, "coordinate_transformation_mode", "asymmetric");
    put_node(&m.graph, "Resize", "x - - size", "y", &a);
    check_run(&m, f32_input(x, 1, ten), 1, (const int64_t[]){13},
              (const float[]){0, 0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9});
}

/* ---- signals ------------------------------------------------------------- */

static void test_windows(void **state)
{
    static const int64_t four[1] = {4};
    static const struct {
        const char *op;
        float want[4];
    } cases[] = {
        {"HannWindow", {0, 0.5f, 1, 0.5f}},
        {"HammingWindow", {4 / 46.0f, 25 / 46.0f, 1, 25 / 46.0f}},
        {"BlackmanWindow", {0, 0.34f, 1, 0.34f}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) { /* as large as the input */
        maker m = model_of(17, (const int64_t[]){-1}, 1);

        put_node(&m.graph, "Size", "x", "n", NULL);
        put_node(&m.graph, cases[i].op, "n", "y", NULL);
        check_run(&m, f32_input(data_4, 1, four), 1, four, cases[i].want);
    }
    buf a = new_buf();
    maker m = model_of(17, four, 1);
    attr_int_put(&a, "periodic", 0);
    put_node(&m.graph, "Size", "x", "n", NULL);
    put_node(&m.graph, "HannWindow", "n", "y", &a);
    check_run(&m, f32_input(data_4, 1, four), 1, four,
              (const float[]){0, 0.75f, 0.75f, 0});
    m = model_of(17, four, 1);
    put_i64s(&m.graph, "n", (const int64_t[]){-2}, 1);
    put_node(&m.graph, "HannWindow", "n", "y", NULL);
    must_refuse(&m, HULL_ESHAPE, "is -2");
}

/* One mel bin between 0 Hz and the rate: places 0, 1 and 4 of the spectrum. */
static void test_mel_weights(void **state)
{
    static const int64_t out[2] = {5, 1}, four[1] = {4};
    const float low = 0, high = 4000;

    (void)state;
    maker m = model_of(17, four, 1);
    put_i64s(&m.graph, "bins", (const int64_t[]){1}, 1);
    put_i64s(&m.graph, "length", (const int64_t[]){8}, 1);
    put_i64s(&m.graph, "rate", (const int64_t[]){4000}, 1);
    put_scalar_f32(&m.graph, "low", low);
    put_scalar_f32(&m.graph, "high", high);
    put_node(&m.graph, "MelWeightMatrix", "bins length rate low high", "y",
             NULL);
    check_run(&m, f32_input(data_4, 1, four), 2, out,
              (const float[]){0, 1, 2 / 3.0f, 1 / 3.0f, 0});
}

/* The smallest element says along which axis. */
static void test_dft_of_run(void **state)
{
    static const int64_t dims[3] = {2, 2, 1}, out[3] = {2, 2, 2};
    const float more[4] = {2, 3, 4, 5};

    (void)state;
    for (int i = 0; i < 2; i++) {
        tensor in = f32_input(i ? more : data_4, 3, dims), y = {0};
        maker m = model_of(20, dims, 3);
        graph_run r = {0};
        buf a = new_buf();

        attr_int_put(&a, "keepdims", 0);
        put_node(&m.graph, "ReduceMin", "x", "least", &a);
        a = new_buf();
        attr_int_put(&a, "to", 7);
        put_node(&m.graph, "Cast", "least", "axis", &a);
        a = new_buf();
        attr_int_put(&a, "onesided", 1);
        put_node(&m.graph, "DFT", "x - axis", "y", &a);
        if (i == 0) {
            check_run(&m, in, 3, out,
                      (const float[]){3, 0, -1, 0, 7, 0, -1, 0});
            continue;
        }
        front_model *fm = must_import(&m); /* the last axis is none */
        assert_int_not_equal(graph_run_eval(&r, fm->g, fm->native, &in, &y),
                             HULL_OK);
        assert_non_null(strstr(error_text(), "index"));
        graph_run_fini(&r);
        front_free(fm);
    }
}

static void test_stft(void **state)
{
    static const int64_t n[2] = {1, -1}, six[2] = {1, 6}, two[1] = {2};
    static const int64_t four[4] = {1, 3, 2, 2};
    const float window[2] = {1, 2};
    const float want[12] = {5, 0, -3, 0, 11, 0, -5, 0, 17, 0, -7, 0};

    (void)state;
    maker m = model_of(17, n, 2);
    put_i64s(&m.graph, "step", two, 1);
    store_f32(&m, "window", two, 1, window);
    put_node(&m.graph, "STFT", "x step window", "y", NULL);
    check_run(&m, f32_input(data_6, 2, six), 4, four, want);
    m = model_of(17, n, 2);
    put_i64s(&m.graph, "step", two, 1);
    put_node(&m.graph, "STFT", "x step", "y", NULL);
    must_refuse(&m, HULL_EFORMAT, "neither window nor frame_length");
    m = model_of(17, n, 2);
    put_i64s(&m.graph, "step", (const int64_t[]){0}, 1);
    store_f32(&m, "window", two, 1, window);
    put_node(&m.graph, "STFT", "x step window", "y", NULL);
    must_refuse(&m, HULL_EFORMAT, "frame_step is 0");
    m = model_of(17, n, 2);
    put_i64s(&m.graph, "step", two, 1);
    put_i64s(&m.graph, "length", (const int64_t[]){3}, 1);
    store_f32(&m, "window", two, 1, window);
    put_node(&m.graph, "STFT", "x step window length", "y", NULL);
    must_refuse(&m, HULL_ESHAPE, "window of size 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_einsum),
        cmocka_unit_test(test_einsum_refused),
        cmocka_unit_test(test_recurrent),
        cmocka_unit_test(test_scan_of_batches),
        cmocka_unit_test(test_first_opsets),
        cmocka_unit_test(test_lp_pools),
        cmocka_unit_test(test_max_unpool),
        cmocka_unit_test(test_image_decoder),
        cmocka_unit_test(test_regions),
        cmocka_unit_test(test_col2im),
        cmocka_unit_test(test_affine_grid),
        cmocka_unit_test(test_center_crop_pad),
        cmocka_unit_test(test_resize_region),
        cmocka_unit_test(test_resize_of_run),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_mel_weights),
        cmocka_unit_test(test_dft_of_run),
        cmocka_unit_test(test_stft),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
