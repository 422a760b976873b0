/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * The ONNX frontend on small models made here: opset differences, functions,
 * control flow, weights and literals, and files that mean harm.
 */
#include "onnx_run.h"

static const front_hole *hole_named(const front_model *fm, const char *name)
{
    for (uint32_t i = 0; i < fm->n_holes; i++)
        if (str_is(fm->holes[i].name, name))
            return &fm->holes[i];
    return NULL;
}

static const front_literal *literal_named(const front_model *fm,
                                          const char *name)
{
    for (uint32_t i = 0; i < fm->n_literals; i++)
        if (str_is(fm->literals[i].name, name))
            return &fm->literals[i];
    return NULL;
}

/* ---- the smallest model -------------------------------------------------- */

/* The 99 bytes of the official test_relu, as they are. */
static const uint8_t relu_model[] =
    "\x08\x07\x12\x0c" "backend-test" "\x3a\x4b\x0a\x0c\x0a\x01x\x12\x01y\x22"
    "\x04Relu\x12\x09test_relu\x5a\x17\x0a\x01x\x12\x12\x0a\x10\x08\x01\x12"
    "\x0c\x0a\x02\x08\x03\x0a\x02\x08\x04\x0a\x02\x08\x05\x62\x17\x0a\x01y\x12"
    "\x12\x0a\x10\x08\x01\x12\x0c\x0a\x02\x08\x03\x0a\x02\x08\x04\x0a\x02\x08"
    "\x05\x42\x04\x0a\x00\x10\x0e";

static hull_status import_bytes(const void *p, size_t n, front_model **out)
{
    char path[64];

    write_bytes(path, p, n);
    hull_status st = front_import(out, path, NULL);
    unlink(path);
    return st;
}

static void test_relu_bytes(void **state)
{
    front_model *fm = NULL;

    (void)state;
    assert_int_equal(sizeof relu_model - 1, 99);
    assert_int_equal(import_bytes(relu_model, 99, &fm), HULL_OK);
    assert_int_equal(graph_n_nodes(fm->g), 1);
    assert_int_equal(fm->g->body->first->op, OP_relu);
    assert_string_equal(fm->format, "onnx");
    assert_true(str_is(fm->producer, "backend-test"));
    assert_int_equal(fm->n_holes, 0);
    front_free(fm);
}

/* Every prefix and every single changed byte: an answer or an error. */
static void test_damaged_bytes(void **state)
{
    (void)state;
    for (size_t n = 0; n < 99; n++) {
        front_model *fm = NULL;

        assert_int_not_equal(import_bytes(relu_model, n, &fm), HULL_OK);
        assert_null(fm);
    }
    for (size_t i = 0; i < 99; i++)
        for (int bit = 0; bit < 8; bit++) {
            uint8_t copy[99];
            front_model *fm = NULL;

            memcpy(copy, relu_model, 99);
            copy[i] ^= (uint8_t)(1 << bit);
            if (import_bytes(copy, 99, &fm) == HULL_OK)
                assert_int_equal(graph_verify(fm->g), HULL_OK);
            front_free(fm);
        }
}

/* ---- opsets -------------------------------------------------------------- */

static void softmax_rows(const float *x, float *y, size_t n, size_t width)
{
    for (size_t r = 0; r < n / width; r++) {
        double sum = 0;
        for (size_t i = 0; i < width; i++)
            sum += exp((double)x[r * width + i]);
        for (size_t i = 0; i < width; i++)
            y[r * width + i] = (float)(exp((double)x[r * width + i]) / sum);
    }
}

static void test_softmax_opsets(void **state)
{
    const int64_t shape[3] = {2, 2, 3};
    float x[12], want[12];

    (void)state;
    for (int i = 0; i < 12; i++)
        x[i] = (float)(i % 5) * 0.5f;
    /* Up to 12 the axes from 1 on are one; from 13 on the last one. */
    softmax_rows(x, want, 12, 6);
    maker m = model_of(12, shape, 3);
    put_node(&m.graph, "Softmax", "x", "y", NULL);
    check_run(&m, f32_input(x, 3, shape), 3, shape, want);
    softmax_rows(x, want, 12, 3);
    m = model_of(13, shape, 3);
    put_node(&m.graph, "Softmax", "x", "y", NULL);
    check_run(&m, f32_input(x, 3, shape), 3, shape, want);
}

static void test_squeeze_opsets(void **state)
{
    const int64_t shape[3] = {2, 1, 3}, axes[1] = {1};
    buf a = new_buf();

    (void)state;
    maker m = model_of(11, shape, 3);
    attr_ints_put(&a, "axes", axes, 1);
    put_node(&m.graph, "Squeeze", "x", "y", &a);
    check_run(&m, f32_input(data_6, 3, shape), 2, shape_2x3, data_6);
    m = model_of(13, shape, 3);
    put_i64s(&m.graph, "axes", axes, 1);
    put_node(&m.graph, "Squeeze", "x axes", "y", NULL);
    check_run(&m, f32_input(data_6, 3, shape), 2, shape_2x3, data_6);
    /* The attribute is not known to the newer operator. */
    m = model_of(13, shape, 3);
    a = new_buf();
    attr_ints_put(&a, "axes", axes, 1);
    put_node(&m.graph, "Squeeze", "x", "y", &a);
    must_refuse(&m, HULL_EFORMAT, "attribute 'axes' is not known");
}

static void test_clip_opsets(void **state)
{
    const float want[6] = {2, 2, 3, 4, 5, 5};
    buf a = new_buf();

    (void)state;
    maker m = model_of(10, shape_2x3, 2);
    attr_float_put(&a, "min", 2);
    attr_float_put(&a, "max", 5);
    put_node(&m.graph, "Clip", "x", "y", &a);
    check_run(&m, f32_input(data_6, 2, shape_2x3), 2, shape_2x3, want);
    m = model_of(11, shape_2x3, 2);
    put_scalar_f32(&m.graph, "lo", 2);
    put_scalar_f32(&m.graph, "hi", 5);
    put_node(&m.graph, "Clip", "x lo hi", "y", NULL);
    check_run(&m, f32_input(data_6, 2, shape_2x3), 2, shape_2x3, want);
}

static void test_slice_opsets(void **state)
{
    const int64_t starts[2] = {1, -2}, ends[2] = {2, INT64_MAX};
    const int64_t shape[2] = {1, 2};
    const float want[2] = {5, 6};
    buf a = new_buf();

    (void)state;
    maker m = model_of(9, shape_2x3, 2);
    attr_ints_put(&a, "starts", starts, 2);
    attr_ints_put(&a, "ends", ends, 2);
    put_node(&m.graph, "Slice", "x", "y", &a);
    check_run(&m, f32_input(data_6, 2, shape_2x3), 2, shape, want);
    m = model_of(10, shape_2x3, 2);
    put_i64s(&m.graph, "s", starts, 2);
    put_i64s(&m.graph, "e", ends, 2);
    put_node(&m.graph, "Slice", "x s e", "y", NULL);
    check_run(&m, f32_input(data_6, 2, shape_2x3), 2, shape, want);
}

/* Before opset 7 `axis` places the second operand's shape in the first's. */
static void test_broadcast_opsets(void **state)
{
    const float b[2] = {10, 20}, want[6] = {11, 12, 13, 24, 25, 26};
    const int64_t dims[1] = {2};
    buf a = new_buf();

    (void)state;
    maker m = model_of(6, shape_2x3, 2);
    put_stored(&m.graph, "b", 1, dims, 1, b, sizeof b);
    attr_int_put(&a, "broadcast", 1);
    attr_int_put(&a, "axis", 0);
    put_node(&m.graph, "Add", "x b", "y", &a);
    check_run(&m, f32_input(data_6, 2, shape_2x3), 2, shape_2x3, want);
    m = model_of(6, shape_2x3, 2);
    put_stored(&m.graph, "b", 1, dims, 1, b, sizeof b);
    put_node(&m.graph, "Add", "x b", "y", NULL);
    must_refuse(&m, HULL_ESHAPE, "ranks 2 and 1 without broadcast");
}

static void test_old_opset_is_refused(void **state)
{
    maker m = model_of(0, shape_2x3, 2);

    (void)state;
    put_node(&m.graph, "Relu", "x", "y", NULL);
    must_refuse(&m, HULL_EUNSUPPORTED, "opset 0, want 1 or newer");
}

/* A model of one node with one integer attribute is refused. */
static void refuse_attr(int64_t opset, const char *op, const char *in,
                        const char *name, int64_t v, hull_status want,
                        const char *text)
{
    const float three[3] = {1, 1, 1}, one[1] = {1};
    const uint8_t zero[1] = {0};
    const int64_t dims[1] = {3};
    maker m = model_of(opset, shape_2x3, 2);
    buf a = new_buf();

    put_stored(&m.graph, "v", 1, dims, 1, three, sizeof three);
    put_stored(&m.graph, "s", 1, NULL, 0, one, sizeof one);
    put_stored(&m.graph, "z", 2, NULL, 0, zero, sizeof zero);
    attr_int_put(&a, name, v);
    put_node(&m.graph, op, in, "y", &a);
    must_refuse(&m, want, text);
}

/* An attribute is honoured or refused, never passed over. */
static void test_attributes_are_honoured_or_refused(void **state)
{
    (void)state;
    refuse_attr(17, "LayerNormalization", "x v", "stash_type", 16,
                HULL_EUNSUPPORTED, "stash_type is 16, want 1");
    refuse_attr(23, "RMSNormalization", "x v", "stash_type", 10,
                HULL_EUNSUPPORTED, "stash_type is 10, want 1");
    refuse_attr(6, "Dropout", "x", "is_test", 0, HULL_EUNSUPPORTED,
                "is_test is 0");
    refuse_attr(23, "DequantizeLinear", "z s", "output_dtype", 7,
                HULL_EUNSUPPORTED, "output_dtype is 7");
    refuse_attr(21, "QuantizeLinear", "x s z", "output_dtype", 3,
                HULL_EUNSUPPORTED, "output_dtype");
}

/* An unused import changes nothing, a missing one is an error. */
static void test_imports(void **state)
{
    maker m = model_of(13, shape_2x3, 2);
    buf o = new_buf();

    (void)state;
    put_text(&o, 1, "com.example");
    put_int(&o, 2, 3);
    put_message(&m.model, 8, &o);
    put_node(&m.graph, "Identity", "x", "y", NULL);
    check_run(&m, f32_input(data_6, 2, shape_2x3), 2, shape_2x3, data_6);
    m = model_of(13, shape_2x3, 2);
    buf n = node_buf("Relu", "com.example", "x", "y", NULL);
    put_message(&m.graph, 1, &n);
    must_refuse(&m, HULL_EFORMAT, "domain 'com.example'");
    m = model_of(13, shape_2x3, 2);
    o = new_buf();
    put_int(&o, 2, 14);
    put_message(&m.model, 8, &o);
    put_node(&m.graph, "Relu", "x", "y", NULL);
    must_refuse(&m, HULL_EFORMAT, "versions 13 and 14");
}

/* ---- shapes -------------------------------------------------------------- */

/* Shape -> Gather -> Concat -> Reshape with a symbolic batch. */
static void test_shape_chain(void **state)
{
    const int64_t dyn[3] = {-1, 2, 3}, zero[1] = {0}, minus[1] = {-1};
    const int64_t in[3] = {4, 2, 3}, want[2] = {4, 6};
    float x[24];
    buf a = new_buf();

    (void)state;
    for (int i = 0; i < 24; i++)
        x[i] = (float)i;
    maker m = model_of(13, dyn, 3);
    put_i64s(&m.graph, "zero", zero, 1);
    put_i64s(&m.graph, "minus", minus, 1);
    put_node(&m.graph, "Shape", "x", "s", NULL);
    put_node(&m.graph, "Gather", "s zero", "n", NULL);
    attr_int_put(&a, "axis", 0);
    put_node(&m.graph, "Concat", "n minus", "t", &a);
    put_node(&m.graph, "Reshape", "x t", "y", NULL);
    check_run(&m, f32_input(x, 3, in), 2, want, x);
}

/* The file's sizes of a broadcast, of a repeat, and of a range. */
static void test_expand_tile_range(void **state)
{
    const int64_t one[2] = {1, 3}, to[3] = {2, 1, 3}, reps[2] = {2, 1};
    const int64_t shape3[3] = {2, 1, 3}, shape2[2] = {2, 3};
    const float x[3] = {1, 2, 3}, twice[6] = {1, 2, 3, 1, 2, 3};
    const float counted[3] = {1, 3, 5};
    const int64_t three[1] = {3};

    (void)state;
    maker m = model_of(13, one, 2);
    put_i64s(&m.graph, "t", to, 3);
    put_node(&m.graph, "Expand", "x t", "y", NULL);
    check_run(&m, f32_input(x, 2, one), 3, shape3, twice);
    m = model_of(13, one, 2);
    put_i64s(&m.graph, "t", reps, 2);
    put_node(&m.graph, "Tile", "x t", "y", NULL);
    check_run(&m, f32_input(x, 2, one), 2, shape2, twice);
    m = model_of(13, one, 2);
    put_scalar_f32(&m.graph, "a", 1);
    put_scalar_f32(&m.graph, "b", 6);
    put_scalar_f32(&m.graph, "d", 2);
    put_node(&m.graph, "Range", "a b d", "y", NULL);
    check_run(&m, f32_input(x, 2, one), 1, three, counted);
}

/* ---- weights and literals ------------------------------------------------ */

static void test_rank0_is_literal(void **state)
{
    const float w = 0.5f;
    const int64_t one[1] = {1};
    maker m = model_of(13, shape_2x3, 2);

    (void)state;
    put_scalar_f32(&m.graph, "half", w);
    put_stored(&m.graph, "scale", 1, one, 1, &w, 4);
    put_node(&m.graph, "Mul", "x half", "t", NULL);
    put_node(&m.graph, "Mul", "t scale", "y", NULL);
    front_model *fm = must_import(&m);
    assert_non_null(literal_named(fm, "half"));
    assert_true(str_is(literal_named(fm, "half")->value, "0.5"));
    assert_null(hole_named(fm, "half"));
    /* One element, rank 1: a hole, whose name is its own. */
    const front_hole *h = hole_named(fm, "scale");
    assert_non_null(h);
    assert_true(h->native);
    assert_false(h->kept);
    assert_int_equal(h->n_names, 1);
    front_free(fm);
}

/* The checkpoint given to compile names the scalar: it is trained. */
static void test_rank0_in_checkpoint(void **state)
{
    const float w = 0.5f;
    char path[64];
    weights *ck = NULL;
    front_model *fm = NULL;
    maker m = model_of(13, shape_2x3, 2);

    (void)state;
    put_scalar_f32(&m.graph, "half", w);
    put_node(&m.graph, "Mul", "x half", "y", NULL);
    maker_write(&m, path);
    assert_int_equal(weights_open(&ck, path, NULL), HULL_OK);
    assert_int_equal(front_import(&fm, path, ck), HULL_OK);
    unlink(path);
    assert_non_null(hole_named(fm, "half"));
    front_free(fm);
    weights_unref(ck);
}

static void put_constant(buf *g, const char *name, int64_t elem,
                         const int64_t *dims, size_t rank, const void *p,
                         size_t n)
{
    buf t = tensor_buf("", elem, dims, rank, p, n), a = new_buf();
    buf attrs = new_buf();

    put_text(&a, 1, "value");
    put_message(&a, 5, &t);
    put_int(&a, 20, 4);
    put_message(&attrs, 5, &a);
    put_node(g, "Constant", "", name, &attrs);
}

/* Constant nodes are holes: not kept in a parameter role, kept outside. */
static void test_constant_nodes(void **state)
{
    const float w[6] = {1, 2, 3, 4, 5, 6}, c[3] = {1, 2, 3};
    const int64_t wd[2] = {3, 2}, cd[1] = {3};
    maker m = model_of(13, shape_2x3, 2);

    (void)state;
    put_constant(&m.graph, "w", 1, wd, 2, w, sizeof w);
    put_constant(&m.graph, "c", 1, cd, 1, c, sizeof c);
    put_node(&m.graph, "Mul", "x c", "t", NULL);
    put_node(&m.graph, "MatMul", "t w", "y", NULL);
    front_model *fm = must_import(&m);
    assert_int_equal(fm->n_holes, 2);
    assert_true(hole_named(fm, "w")->parameter);
    assert_false(hole_named(fm, "w")->kept);
    assert_false(hole_named(fm, "c")->parameter);
    assert_true(hole_named(fm, "c")->kept);
    front_free(fm);
}

/* No value carries what is stored in a hole once the import is over. */
static void test_hole_values_are_forgotten(void **state)
{
    const int64_t table[3] = {2, 0, 1};
    maker m = model_of(13, shape_2x3, 2);
    buf a = new_buf();

    (void)state;
    put_i64s(&m.graph, "table", table, 3);
    attr_int_put(&a, "axis", 1);
    put_node(&m.graph, "Gather", "x table", "y", &a);
    front_model *fm = must_import(&m);
    const front_hole *h = hole_named(fm, "table");
    assert_non_null(h);
    assert_true(h->kept); /* int64 */
    for (uint32_t i = 0; i < fm->g->n_values; i++)
        assert_null(fm->g->values[i]->known);
    front_free(fm);
}

/* ---- missing operators --------------------------------------------------- */

static void test_missing_listed_together(void **state)
{
    maker m = model_of(13, shape_2x3, 2);

    (void)state;
    put_node(&m.graph, "Frobnicate", "x", "a", NULL);
    put_node(&m.graph, "Grumble", "a", "b", NULL);
    put_node(&m.graph, "Frobnicate", "b", "y", NULL);
    must_refuse(&m, HULL_EUNSUPPORTED, "2 operators without a lowering");
    assert_non_null(strstr(error_text(), "Frobnicate (domain ai.onnx version "
                                         "13, 2 nodes, first 'a')"));
    assert_non_null(strstr(error_text(), "Grumble (domain ai.onnx"));
}

/* ---- functions and control flow ------------------------------------------ */

/* scaled(v; alpha = 3) = LeakyRelu(Neg(v), alpha) of domain "f". */
static void put_function(maker *m, const char *name, const char *inner)
{
    buf fn = new_buf(), o = new_buf(), p = new_buf(), a = new_buf();
    buf def = new_buf();

    put_text(&fn, 1, name);
    put_text(&fn, 4, "v");
    put_text(&fn, 5, "r");
    put_text(&def, 1, "alpha");
    put_varint(&def, 2 << 3 | 5);
    float three = 3;
    buf_put(&def, &three, 4);
    put_int(&def, 20, 1);
    put_message(&fn, 11, &def);
    buf n = node_buf("Neg", "", "v", "t", NULL);
    put_message(&fn, 7, &n);
    if (inner) {
        n = node_buf(inner, "f", "t", "r", NULL);
    } else {
        attr_ref_put(&a, "alpha", "alpha", 1);
        n = node_buf("LeakyRelu", "", "t", "r", &a);
    }
    put_message(&fn, 7, &n);
    put_int(&o, 2, 13);
    put_message(&fn, 9, &o);
    put_text(&p, 1, "f");
    put_int(&p, 2, 1);
    put_message(&fn, 9, &p);
    put_text(&fn, 10, "f");
    put_message(&m->model, 25, &fn);
}

static void import_domain_f(maker *m)
{
    buf p = new_buf();

    put_text(&p, 1, "f");
    put_int(&p, 2, 1);
    put_message(&m->model, 8, &p);
}

static void test_function_is_inlined(void **state)
{
    const float deflt[6] = {-3, -6, -9, -12, -15, -18};
    const float given[6] = {-2, -4, -6, -8, -10, -12};
    buf a = new_buf();

    (void)state;
    maker m = model_of(13, shape_2x3, 2);
    import_domain_f(&m);
    put_function(&m, "scaled", NULL);
    buf n = node_buf("scaled", "f", "x", "y", NULL);
    put_message(&m.graph, 1, &n);
    check_run(&m, f32_input(data_6, 2, shape_2x3), 2, shape_2x3, deflt);
    m = model_of(13, shape_2x3, 2);
    import_domain_f(&m);
    put_function(&m, "scaled", NULL);
    attr_float_put(&a, "alpha", 2);
    n = node_buf("scaled", "f", "x", "y", &a);
    put_message(&m.graph, 1, &n);
    check_run(&m, f32_input(data_6, 2, shape_2x3), 2, shape_2x3, given);
}

static void test_function_recursion(void **state)
{
    maker m = model_of(13, shape_2x3, 2);

    (void)state;
    import_domain_f(&m);
    put_function(&m, "a", "b");
    put_function(&m, "b", "a");
    buf n = node_buf("a", "f", "x", "y", NULL);
    put_message(&m.graph, 1, &n);
    must_refuse(&m, HULL_EUNSUPPORTED, "nested deeper than 16");
    m = model_of(13, shape_2x3, 2);
    import_domain_f(&m);
    put_function(&m, "a", NULL);
    put_function(&m, "a", NULL);
    n = node_buf("a", "f", "x", "y", NULL);
    put_message(&m.graph, 1, &n);
    must_refuse(&m, HULL_EFORMAT, "defined twice");
}

/* y = sum(x) > 10 ? x + c : -x, where c is stored inside the branch. */
static void put_if(maker *m)
{
    const float c = 10;
    const int64_t one[1] = {1};
    buf then_g = new_buf(), else_g = new_buf(), a = new_buf(), k = new_buf();

    put_stored(&then_g, "c", 1, one, 1, &c, 4);
    put_node(&then_g, "Add", "x c", "r", NULL);
    put_value(&then_g, 12, "r", 1, shape_2x3, 2);
    put_node(&else_g, "Neg", "x", "r", NULL);
    put_value(&else_g, 12, "r", 1, shape_2x3, 2);
    attr_int_put(&k, "keepdims", 0);
    put_node(&m->graph, "ReduceSum", "x", "sum", &k);
    put_scalar_f32(&m->graph, "ten", 10);
    put_node(&m->graph, "Greater", "sum ten", "cond", NULL);
    attr_graph_put(&a, "then_branch", &then_g);
    attr_graph_put(&a, "else_branch", &else_g);
    put_node(&m->graph, "If", "cond", "y", &a);
}

static void test_if(void **state)
{
    const float yes[6] = {11, 12, 13, 14, 15, 16};
    const float small[6] = {1, 1, 1, 1, 1, 1};
    const float no[6] = {-1, -1, -1, -1, -1, -1};

    (void)state;
    maker m = model_of(13, shape_2x3, 2);
    put_if(&m);
    check_run(&m, f32_input(data_6, 2, shape_2x3), 2, shape_2x3, yes);
    m = model_of(13, shape_2x3, 2);
    put_if(&m);
    check_run(&m, f32_input(small, 2, shape_2x3), 2, shape_2x3, no);
}

/* Three times x = x + x. */
static void test_loop(void **state)
{
    const int64_t three = 3;
    float want[6];
    buf body = new_buf(), a = new_buf();

    (void)state;
    for (int i = 0; i < 6; i++)
        want[i] = data_6[i] * 8;
    maker m = model_of(13, shape_2x3, 2);
    put_value(&body, 11, "i", 7, NULL, 0);
    put_value(&body, 11, "go", 9, NULL, 0);
    put_value(&body, 11, "v", 1, shape_2x3, 2);
    put_node(&body, "Identity", "go", "go_on", NULL);
    put_node(&body, "Add", "v v", "w", NULL);
    put_value(&body, 12, "go_on", 9, NULL, 0);
    put_value(&body, 12, "w", 1, shape_2x3, 2);
    put_stored(&m.graph, "n", 7, NULL, 0, &three, 8);
    attr_graph_put(&a, "body", &body);
    put_node(&m.graph, "Loop", "n - x", "y", &a);
    check_run(&m, f32_input(data_6, 2, shape_2x3), 2, shape_2x3, want);
}

/* Running sums of the rows, the last one first; the body holds a constant. */
static void test_scan(void **state)
{
    const float zeros[3] = {0, 0, 0}, want[6] = {5, 6, 7, 7, 9, 11};
    const int64_t row[1] = {3}, back[1] = {1};
    buf body = new_buf(), a = new_buf();

    (void)state;
    maker m = model_of(13, shape_2x3, 2);
    put_value(&body, 11, "s", 1, row, 1);
    put_value(&body, 11, "v", 1, row, 1);
    put_scalar_f32(&body, "one", 1);
    put_node(&body, "Add", "s v", "t", NULL);
    put_node(&body, "Add", "t one", "u", NULL);
    put_node(&body, "Identity", "u", "r", NULL);
    put_value(&body, 12, "u", 1, row, 1);
    put_value(&body, 12, "r", 1, row, 1);
    put_stored(&m.graph, "s0", 1, row, 1, zeros, sizeof zeros);
    attr_graph_put(&a, "body", &body);
    attr_int_put(&a, "num_scan_inputs", 1);
    attr_ints_put(&a, "scan_input_directions", back, 1);
    put_node(&m.graph, "Scan", "s0 x", "last y", &a);
    check_run(&m, f32_input(data_6, 2, shape_2x3), 2, shape_2x3, want);
}

/* Axes that are an input without elements mean every axis. */
static void test_empty_structure(void **state)
{
    const int64_t none[1] = {0}, ones[2] = {1, 1};

    (void)state;
    maker m = maker_new(13);
    put_value(&m.graph, 11, "x", 1, shape_2x3, 2);
    put_value(&m.graph, 11, "axes", 7, none, 1);
    put_value(&m.graph, 12, "y", 1, ones, 2);
    put_node(&m.graph, "ReduceSum", "x axes", "y", NULL);
    front_free(must_import(&m));
}

static void test_nested_graphs(void **state)
{
    buf inner = new_buf();

    (void)state;
    put_node(&inner, "Neg", "x", "r", NULL);
    put_value(&inner, 12, "r", 1, shape_2x3, 2);
    for (int i = 0; i < 40; i++) {
        buf outer = new_buf(), a = new_buf(), copy = new_buf();

        put_node(&copy, "Neg", "x", "r", NULL);
        put_value(&copy, 12, "r", 1, shape_2x3, 2);
        attr_graph_put(&a, "then_branch", &inner);
        attr_graph_put(&a, "else_branch", &copy);
        put_node(&outer, "If", "c", "r", &a);
        put_value(&outer, 12, "r", 1, shape_2x3, 2);
        inner = outer;
    }
    maker m = maker_new(13);
    put_value(&m.graph, 11, "x", 1, shape_2x3, 2);
    put_value(&m.graph, 11, "c", 9, NULL, 0);
    buf_put(&m.graph, inner.p, inner.n);
    buf_fini(&inner);
    must_refuse(&m, HULL_EUNSUPPORTED, "nested deeper than 16");
}

/* ---- malformed ----------------------------------------------------------- */

static void test_malformed(void **state)
{
    const int64_t two_open[2] = {-1, -1};
    buf a = new_buf();

    (void)state;
    maker m = model_of(13, shape_2x3, 2);
    put_node(&m.graph, "Relu", "t", "y", NULL);
    put_node(&m.graph, "Relu", "x", "t", NULL);
    must_refuse(&m, HULL_EFORMAT, "value 't' is used but not defined");
    m = model_of(13, shape_2x3, 2);
    put_node(&m.graph, "Relu", "x", "y", NULL);
    put_node(&m.graph, "Neg", "x", "y", NULL);
    must_refuse(&m, HULL_EFORMAT, "'y' is defined twice");
    m = model_of(13, shape_2x3, 2);
    put_i64s(&m.graph, "s", two_open, 2);
    put_node(&m.graph, "Reshape", "x s", "y", NULL);
    must_refuse(&m, HULL_ESHAPE, "-1");
    m = model_of(13, shape_2x3, 2);
    attr_int_put(&a, "axis", 5);
    put_node(&m.graph, "Softmax", "x", "y", &a);
    must_refuse(&m, HULL_ESHAPE, "axis 5 does not exist in rank 2");
    m = model_of(13, shape_2x3, 2);
    a = new_buf();
    attr_int_put(&a, "frob", 5);
    put_node(&m.graph, "Relu", "x", "y", &a);
    must_refuse(&m, HULL_EFORMAT, "attribute 'frob' is not known");
    m = model_of(13, shape_2x3, 2);
    a = new_buf();
    attr_float_put(&a, "axis", 1);
    put_node(&m.graph, "Softmax", "x", "y", &a);
    must_refuse(&m, HULL_EFORMAT, "attribute 'axis' has type 1");
    m = model_of(13, shape_2x3, 2);
    a = new_buf();
    attr_ref_put(&a, "axis", "axis", 2);
    put_node(&m.graph, "Softmax", "x", "y", &a);
    must_refuse(&m, HULL_EFORMAT, "outside a function");
}

static void test_malformed_values(void **state)
{
    const int64_t zero[1] = {0}, huge[1] = {1LL << 40};
    maker m = model_of(13, shape_2x3, 2);

    (void)state;
    put_stored(&m.graph, "a", 7, NULL, 0, zero, 8);
    put_node(&m.graph, "Range", "a a a", "y", NULL);
    must_refuse(&m, HULL_EFORMAT, "delta");
    /* Large, but nothing is allocated for it. */
    m = model_of(13, shape_2x3, 2);
    put_i64s(&m.graph, "s", huge, 1);
    put_node(&m.graph, "ConstantOfShape", "s", "y", NULL);
    front_model *fm = must_import(&m);
    front_free(fm);
    m = model_of(13, shape_2x3, 2);
    put_node(&m.graph, "Add", "x", "y", NULL);
    must_refuse(&m, HULL_EFORMAT, "input 1 is missing");
    m = maker_new(13);
    put_value(&m.graph, 11, "x", 1, shape_2x3, 2);
    put_node(&m.graph, "Relu", "x", "y", NULL);
    must_refuse(&m, HULL_EFORMAT, "no output");
}

/* Whatever allocation fails, the import says so and leaves nothing behind. */
static void test_out_of_memory(void **state)
{
    char path[64];
    maker m = model_of(13, shape_2x3, 2);
    int64_t live = 0;
    hull_status st = HULL_ENOMEM;

    (void)state;
    put_if(&m);
    maker_write(&m, path);
    live = mem_live();
    for (uint64_t n = 1; st != HULL_OK && n < 100000; n++) {
        front_model *fm = NULL;

        mem_fail_at(n, false);
        st = front_import(&fm, path, NULL);
        mem_fail_at(0, false);
        if (st != HULL_OK && st != HULL_ENOMEM)
            print_message("allocation %d: %s\n", (int)n, error_text());
        if (st != HULL_OK)
            assert_int_equal(st, HULL_ENOMEM);
        front_free(fm);
        assert_int_equal(mem_live(), live);
    }
    assert_int_equal(st, HULL_OK);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relu_bytes),
        cmocka_unit_test(test_damaged_bytes),
        cmocka_unit_test(test_softmax_opsets),
        cmocka_unit_test(test_squeeze_opsets),
        cmocka_unit_test(test_clip_opsets),
        cmocka_unit_test(test_slice_opsets),
        cmocka_unit_test(test_broadcast_opsets),
        cmocka_unit_test(test_scan),
        cmocka_unit_test(test_empty_structure),
        cmocka_unit_test(test_attributes_are_honoured_or_refused),
        cmocka_unit_test(test_old_opset_is_refused),
        cmocka_unit_test(test_imports),
        cmocka_unit_test(test_shape_chain),
        cmocka_unit_test(test_expand_tile_range),
        cmocka_unit_test(test_rank0_is_literal),
        cmocka_unit_test(test_rank0_in_checkpoint),
        cmocka_unit_test(test_constant_nodes),
        cmocka_unit_test(test_hole_values_are_forgotten),
        cmocka_unit_test(test_missing_listed_together),
        cmocka_unit_test(test_function_is_inlined),
        cmocka_unit_test(test_function_recursion),
        cmocka_unit_test(test_if),
        cmocka_unit_test(test_loop),
        cmocka_unit_test(test_nested_graphs),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_malformed_values),
        cmocka_unit_test(test_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
