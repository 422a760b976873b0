/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_pt2.c - the PT2 frontend: the exported fixtures, symbolic sizes as
 * text, and small archives built here for ties, fake tensors, states, in-place
 * operators, regions and hostile JSON.
 */
#include "weights_unit.h"

#include "front/pt2.h"

#include <limits.h>

/* ---- a small archive ----------------------------------------------------- */

#define SYM "{\"as_expr\":{\"expr_str\":\"Symbol('s77', positive=True, " \
    "integer=True)\",\"hint\":{\"as_int\":4}}}"
#define N(v) "{\"as_int\":" #v "}"
#define META_OF(dtype, sizes, strides)                                       \
    "{\"dtype\":" #dtype ",\"sizes\":[" sizes "],\"requires_grad\":false,"   \
    "\"device\":{\"type\":\"cpu\",\"index\":null},\"strides\":[" strides "]," \
    "\"storage_offset\":" N(0) ",\"layout\":7}"
#define F32(sizes) META_OF(7, sizes, "")
#define VALUE(name, sizes) "\"" name "\":" F32(sizes)
#define WEIGHT_META META_OF(7, N(2) "," N(3), N(3) "," N(1))
#define PAYLOAD(fqn, path, meta)                                            \
    "\"" fqn "\":{\"path_name\":\"" path "\",\"is_param\":true,"             \
    "\"use_pickle\":false,\"tensor_meta\":" meta "}"
#define T(name) "{\"as_tensor\":{\"name\":\"" name "\"}}"
#define ARG(name, arg) "{\"name\":\"" name "\",\"arg\":" arg ",\"kind\":1}"
#define NODE(target, inputs, outputs)                                       \
    "{\"target\":\"torch.ops.aten." target "\",\"inputs\":[" inputs "],"     \
    "\"outputs\":[" outputs "],\"metadata\":{},\"name\":\"n\"}"
#define PARAMETER(name, fqn)                                                \
    "{\"parameter\":{\"arg\":{\"name\":\"" name "\"},\"parameter_name\":\""  \
    fqn "\"}}"
#define BUFFER(name, fqn)                                                   \
    "{\"buffer\":{\"arg\":{\"name\":\"" name "\"},\"buffer_name\":\"" fqn    \
    "\",\"persistent\":true}}"
#define USER(arg) "{\"user_input\":{\"arg\":" arg "}}"
#define OUTPUT(arg) "{\"user_output\":{\"arg\":" arg "}}"

typedef struct program {
    const char *inputs, *outputs, *nodes, *values, *in_specs, *out_specs;
    const char *config;    /* of weights; NULL: fc.weight and fc.bias */
    size_t weight_bytes;   /* of weight_0: 24, or 0 = fake tensors */
    const char *version;
} program;

static const char fc_config[] =
    PAYLOAD("fc.weight", "weight_0", WEIGHT_META) ","
    PAYLOAD("fc.bias", "weight_1", META_OF(7, N(2), N(1)));

/* Linear and ReLU: x [s77, 3] -> [s77, 2]. */
static const program linear_relu = {
    .inputs = T("p_fc_weight") "," T("p_fc_bias") "," T("x"),
    .outputs = T("relu"),
    .nodes = NODE("linear.default",
                  ARG("input", T("x")) "," ARG("weight", T("p_fc_weight")) ","
                  ARG("bias", T("p_fc_bias")), T("linear")) ","
             NODE("relu.default", ARG("self", T("linear")), T("relu")),
    .values = VALUE("x", SYM "," N(3)) "," VALUE("linear", SYM "," N(2)) ","
              VALUE("relu", SYM "," N(2)),
    .in_specs = PARAMETER("p_fc_weight", "fc.weight") ","
                PARAMETER("p_fc_bias", "fc.bias") "," USER(T("x")),
    .out_specs = OUTPUT(T("relu")),
    .weight_bytes = 24,
};

static void model_json(buf *b, const program *p)
{
    buf_init(b, 1 << 20);
    buf_printf(
        b,
        "{\"graph_module\":{\"graph\":{\"inputs\":[%s],\"outputs\":[%s],"
        "\"nodes\":[%s],\"tensor_values\":{%s},\"sym_int_values\":{},"
        "\"new_key\":[1,{}]},\"signature\":{\"input_specs\":[%s],"
        "\"output_specs\":[%s]},\"module_call_graph\":[{\"fqn\":\"\","
        "\"signature\":{\"inputs\":[],\"outputs\":[],\"in_spec\":\"[1, "
        "{\\\"type\\\": \\\"builtins.tuple\\\", \\\"context\\\": \\\"null\\\", "
        "\\\"children_spec\\\": [{\\\"type\\\": \\\"builtins.tuple\\\", "
        "\\\"context\\\": \\\"null\\\", \\\"children_spec\\\": [{\\\"type\\\": "
        "null, \\\"context\\\": null, \\\"children_spec\\\": []}]}, "
        "{\\\"type\\\": \\\"builtins.dict\\\", \\\"context\\\": \\\"[]\\\", "
        "\\\"children_spec\\\": []}]}]\",\"forward_arg_names\":[\"image\"]}}]},"
        "\"opset_version\":{\"aten\":10},\"range_constraints\":{\"s77\":{"
        "\"min_val\":2,\"max_val\":64}},\"schema_version\":%s,"
        "\"torch_version\":\"2.13.0+cpu\"}",
        p->inputs, p->outputs, p->nodes, p->values, p->in_specs, p->out_specs,
        p->version ? p->version : "{\"major\":8,\"minor\":99}");
    assert_int_equal(buf_status(b), HULL_OK);
}

static const char *archive(const program *p, const char *json, size_t n)
{
    static const float numbers[8] = {1, -2, 3, -4, 5, -6, 7, -8};
    char config[4096];
    zip_writer w;
    int len = snprintf(config, sizeof config, "{\"config\":{%s}}",
                       p->config ? p->config : fc_config);

    zip_writer_init(&w, 1 << 20);
    zip_writer_add(&w, str_of("m/data/weights/weight_0"), numbers,
                   p->weight_bytes, 64);
    zip_writer_add(&w, str_of("m/data/weights/weight_1"), numbers,
                   p->weight_bytes ? 8 : 0, 64);
    zip_writer_add(&w, str_of("m/data/weights/model_weights_config.json"),
                   config, (size_t)len, 64);
    zip_writer_add(&w, str_of("m/models/model.json"), json, n, 64);
    zip_writer_add(&w, str_of("m/archive_format"), "pt2", 3, 64);
    zip_writer_add(&w, str_of("m/archive_version"), "0", 1, 64);
    zip_writer_add(&w, str_of("m/byteorder"), "little", 6, 64);
    assert_int_equal(zip_writer_end(&w), HULL_OK);
    put("m.pt2", w.out.p, w.out.n);
    zip_writer_fini(&w);
    return at("m.pt2");
}

static hull_status import(front_model **out, const program *p)
{
    buf b;

    model_json(&b, p);
    const char *path = archive(p, b.p, b.n);
    buf_fini(&b);
    return front_import(out, path, NULL);
}

static front_model *import_ok(const program *p)
{
    front_model *fm;

    if (import(&fm, p) != HULL_OK)
        stop("%s", error_text());
    assert_int_equal(ir_verify(fm->m), HULL_OK);
    return fm;
}

static void import_bad(const program *p, hull_status want, const char *text)
{
    front_model *fm;
    hull_status st = import(&fm, p);

    if (st == HULL_OK) {
        front_free(fm);
        stop("imports, wanted '%s'", text);
    }
    assert_null(fm);
    if (st != want || !strstr(error_text(), text))
        stop("status %d, '%s'; wanted %d, '%s'", (int)st, error_text(),
             (int)want, text);
}

static uint32_t count_ops(const front_model *fm, op_code op)
{
    uint32_t n = 0;

    for (const node *d = graph_first(fm->g); d; d = graph_next(fm->g, d))
        n += d->op == op;
    return n;
}

static const front_hole *hole(const front_model *fm, const char *name)
{
    for (uint32_t i = 0; i < fm->n_holes; i++)
        if (str_is(fm->holes[i].name, name))
            return &fm->holes[i];
    stop("hole '%s' is missing", name);
    return NULL;
}

/* ---- whole programs ------------------------------------------------------ */

static void worked_example(void **state)
{
    front_model *fm = import_ok(&linear_relu);
    const region *body = fm->g->body;
    const type *in = graph_type(fm->g, body->params[0]);
    int64_t lo, hi;

    (void)state;
    assert_int_equal(body->n_params, 1);
    assert_true(str_is(graph_value(fm->g, body->params[0])->name, "image"));
    assert_int_equal(body->n_results, 1);
    assert_true(str_is(graph_value(fm->g, body->results[0])->name, "output_0"));
    assert_int_equal(fm->n_holes, 2);
    assert_true(hole(fm, "fc.weight")->parameter);
    assert_true(hole(fm, "fc.weight")->native);
    assert_true(str_is(hole(fm, "fc.weight")->module_path, "fc"));
    assert_int_equal(hole(fm, "fc.bias")->n_names, 1);
    assert_true(str_is(fm->producer, "pytorch 2.13.0"));
    assert_non_null(dim_get(fm->m, in->dims[0]));
    dim_range(fm->m, in->dims[0], &lo, &hi);
    assert_int_equal(lo, 0); /* a minimum of 2 is the exporter's */
    assert_int_equal(hi, 64);
    front_free(fm);
}

static void ties(void **state)
{
    program p = linear_relu;

    (void)state;
    p.config = PAYLOAD("a.weight", "weight_0", WEIGHT_META) ","
               PAYLOAD("b.weight", "weight_0", WEIGHT_META) ","
               PAYLOAD("turned", "weight_0",
                       META_OF(7, N(3) "," N(2), N(1) "," N(3)));
    p.inputs = T("p_a") "," T("p_b") "," T("p_t") "," T("x");
    p.in_specs = PARAMETER("p_a", "a.weight") "," PARAMETER("p_b", "b.weight")
                 "," PARAMETER("p_t", "turned") "," USER(T("x"));
    p.nodes = NODE("linear.default",
                   ARG("input", T("x")) "," ARG("weight", T("p_b")),
                   T("linear")) ","
              NODE("relu.default", ARG("self", T("linear")), T("relu"));
    front_model *fm = import_ok(&p);
    assert_int_equal(fm->n_holes, 1);
    assert_int_equal(fm->holes[0].n_names, 2);
    assert_true(str_is(fm->holes[0].names[0], "a.weight"));
    assert_true(str_is(fm->holes[0].names[1], "b.weight"));
    assert_int_equal(fm->n_unread, 1);
    assert_true(str_is(fm->unread[0], "turned"));
    front_free(fm);
}

/* Exported with fake tensors: everything names one empty record. */
static void fake_tensors(void **state)
{
    program p = linear_relu;

    (void)state;
    p.weight_bytes = 0;
    p.config = PAYLOAD("fc.weight", "weight_0", WEIGHT_META) ","
               PAYLOAD("fc.bias", "weight_0", META_OF(7, N(2), N(1))) ","
               PAYLOAD("twin", "weight_0", WEIGHT_META);
    p.inputs = T("p_fc_weight") "," T("p_fc_bias") "," T("p_t") "," T("x");
    p.in_specs = PARAMETER("p_fc_weight", "fc.weight") ","
                 PARAMETER("p_fc_bias", "fc.bias") ","
                 PARAMETER("p_t", "twin") "," USER(T("x"));
    front_model *fm = import_ok(&p);
    assert_int_equal(fm->n_holes, 2);
    assert_false(hole(fm, "fc.weight")->native);
    assert_int_equal(hole(fm, "fc.weight")->n_names, 1);
    assert_int_equal(fm->n_unread, 1);
    front_free(fm);
}

#define VECTOR(name) VALUE(name, SYM "," N(3))
#define MUL(in, out)                                                      \
    NODE("mul.Tensor", ARG("self", T(in)) "," ARG("other", "{\"as_int\":2}"), \
         T(out))

/* x [s77, 3] and nothing stored. */
static program pointwise(const char *nodes, const char *out)
{
    static char outputs[128], specs[256];
    program p = linear_relu;

    snprintf(outputs, sizeof outputs, T("%s"), out);
    snprintf(specs, sizeof specs, OUTPUT(T("%s")), out);
    p.inputs = T("x");
    p.in_specs = USER(T("x"));
    p.outputs = outputs;
    p.out_specs = specs;
    p.nodes = nodes;
    p.values = VECTOR("x") "," VECTOR("a") "," VECTOR("b") "," VECTOR("c") ","
               VECTOR("d") "," VALUE("v", N(1) "," SYM "," N(3)) ","
               VALUE("w", N(1) "," SYM "," N(3));
    return p;
}

static void in_place(void **state)
{
    /* a = 2 x; b = relu_(a); c = a + b: both names are the new value. */
    program p = pointwise(
        MUL("x", "a") "," NODE("relu_.default", ARG("self", T("a")), T("b"))
        "," NODE("add.Tensor", ARG("self", T("a")) "," ARG("other", T("b")),
                 T("c")), "c");
    front_model *fm = import_ok(&p);
    const node *add = graph_def(fm->g, fm->g->body->results[0]);

    (void)state;
    assert_int_equal(add->op, OP_add);
    assert_int_equal(add->in[0], add->in[1]);
    assert_int_equal(graph_def(fm->g, add->in[0])->op, OP_relu);
    front_free(fm);

    /* detach is the same value: its name follows. */
    p = pointwise(MUL("x", "a") ","
                  NODE("detach.default", ARG("self", T("a")), T("d")) ","
                  NODE("relu_.default", ARG("self", T("a")), T("b")) ","
                  MUL("d", "c"), "c");
    fm = import_ok(&p);
    assert_int_equal(count_ops(fm, OP_relu), 1);
    front_free(fm);

    /* A view that was made before and is read afterwards. */
    p = pointwise(MUL("x", "a") ","
                  NODE("unsqueeze.default",
                       ARG("self", T("a")) "," ARG("dim", N(0)), T("v")) ","
                  NODE("relu_.default", ARG("self", T("a")), T("b")) ","
                  MUL("v", "w"), "w");
    fm = import_ok(&p);
    assert_int_equal(count_ops(fm, OP_relu), 1);
    assert_int_equal(count_ops(fm, OP_reshape), 1);
    front_free(fm);

    /* The other way round: the view changes, its base is read. */
    p = pointwise(MUL("x", "a") ","
                  NODE("unsqueeze.default",
                       ARG("self", T("a")) "," ARG("dim", N(0)), T("v")) ","
                  NODE("relu_.default", ARG("self", T("v")), T("w")) ","
                  MUL("a", "c"), "c");
    fm = import_ok(&p);
    assert_int_equal(count_ops(fm, OP_relu), 1);
    assert_int_equal(count_ops(fm, OP_reshape), 2);
    front_free(fm);

    /* A reshape may be a copy: strides decide. */
    p = pointwise(MUL("x", "a") ","
                  NODE("reshape.default", ARG("self", T("a")) ","
                       ARG("shape", "{\"as_ints\":[1,-1,3]}"), T("v")) ","
                  NODE("relu_.default", ARG("self", T("a")), T("b")) ","
                  MUL("v", "w"), "w");
    import_bad(&p, HULL_EUNSUPPORTED, "'v' is a view");

    /* An input that changes is a result as well. */
    p = pointwise(NODE("relu_.default", ARG("self", T("x")), T("b")), "b");
    fm = import_ok(&p);
    assert_int_equal(fm->g->body->n_results, 2);
    assert_true(str_is(graph_value(fm->g, fm->g->body->results[1])->name,
                       "changed_x"));
    front_free(fm);
}

static void missing_operators(void **state)
{
    program p = pointwise(
        NODE("no_such.default", ARG("self", T("x")), T("a")) ","
        NODE("relu.default", ARG("self", T("a")), T("b")) ","
        NODE("other.Tensor", ARG("self", T("b")), T("c")) ","
        NODE("dead.default", ARG("self", T("x")), T("d")), "c");

    (void)state;
    import_bad(&p, HULL_EUNSUPPORTED, "no_such.default");
    import_bad(&p, HULL_EUNSUPPORTED, "2 operators");
    assert_null(strstr(error_text(), "dead"));
    p = pointwise(NODE("no_such.default", ARG("self", T("x")), T("a")) ","
                  NODE("other.Tensor", ARG("self", T("x")), T("b")) ","
                  NODE("add.Tensor",
                       ARG("self", T("a")) "," ARG("other", T("b")), T("c")),
                  "c");
    import_bad(&p, HULL_EUNSUPPORTED, "no_such.default");
    assert_non_null(strstr(error_text(), "other.Tensor"));

    /* It may change its operand, whatever it returns. */
    p = pointwise(MUL("x", "a") ","
                  "{\"target\":\"torch.ops.mylib.scale.default\",\"inputs\":["
                  ARG("x", T("a")) "],\"outputs\":[],\"metadata\":{}},"
                  MUL("a", "c"), "c");
    import_bad(&p, HULL_EUNSUPPORTED, "scale.default (domain mylib");
}

static void state_buffer(void **state)
{
    program p = linear_relu;
    front_model *fm;

    (void)state;
    p.config = PAYLOAD("count", "weight_1", META_OF(7, N(2), N(1)));
    p.inputs = T("b_count") "," T("x");
    p.in_specs = BUFFER("b_count", "count") "," USER(T("x"));
    p.values = VALUE("x", N(2)) "," VALUE("y", N(2)) "," VALUE("z", N(2));
    p.nodes = NODE("add_.Tensor",
                   ARG("self", T("b_count")) "," ARG("other", T("x")), T("y"))
              "," MUL("b_count", "z");
    p.outputs = T("z");
    p.out_specs = OUTPUT(T("z"));
    fm = import_ok(&p);
    assert_int_equal(fm->g->n_states, 1);
    assert_true(str_is(fm->g->states[0].initial, "count"));
    assert_int_equal(fm->g->body->n_params, 2);
    assert_int_equal(fm->g->body->n_results, 2);
    front_free(fm);

    p.nodes = NODE("add.Tensor",
                   ARG("self", T("b_count")) "," ARG("other", T("x")), T("y"))
              "," MUL("y", "z");
    p.outputs = T("y") "," T("z");
    p.out_specs = "{\"buffer_mutation\":{\"arg\":{\"name\":\"y\"},"
                  "\"buffer_name\":\"count\"}}," OUTPUT(T("z"));
    fm = import_ok(&p);
    assert_int_equal(fm->g->n_states, 1);
    assert_int_equal(fm->g->states[0].result, 1);
    front_free(fm);
}

static void regions(void **state)
{
    static const char inner[] =
        "{\"as_graph\":{\"name\":\"g\",\"graph\":{\"inputs\":[" T("x")
        "],\"outputs\":[" T("b") "],\"nodes\":[" MUL("x", "b")
        "],\"tensor_values\":{" VECTOR("b") "}}}}";
    char nodes[4096];

    (void)state;
    for (int k = 0; k < 3; k++) {
        const char *op = k ? "wrap_with_autocast"
                           : "wrap_with_set_grad_enabled";
        const char *head =
            k ? ARG("", "{\"as_string\":\"cpu\"}") ","
                ARG("", "{\"as_none\":true}") "," : "";

        snprintf(nodes, sizeof nodes,
                 MUL("x", "a") ",{\"target\":\"torch.ops.higher_order.%s\","
                 "\"inputs\":[%s" ARG("", "{\"as_bool\":%s}") ",%s"
                 ARG("", "%s") "," ARG("", T("a")) "],\"outputs\":["
                 T("c") "],\"metadata\":{},\"name\":\"h\"}",
                 op, head, k == 2 ? "true" : "false",
                 k ? ARG("", "{\"as_bool\":true}") "," : "", inner);
        program p = pointwise(nodes, "c");
        front_model *fm = import_ok(&p);
        assert_int_equal(count_ops(fm, OP_mul), 2);
        front_free(fm);
    }
}

#define GRAPH(inputs, nodes, outputs)                                       \
    "{\"as_graph\":{\"name\":\"g\",\"graph\":{\"inputs\":[" inputs           \
    "],\"outputs\":[" outputs "],\"nodes\":[" nodes "],\"tensor_values\":{"   \
    VECTOR("x") "," VECTOR("b") "," VALUE("p", "") "}}}}"
#define HOP(op, inputs, outputs)                                            \
    "{\"target\":\"torch.ops.higher_order." op "\",\"inputs\":[" inputs     \
    "],\"outputs\":[" outputs "],\"metadata\":{},\"name\":\"h\"}"
#define OPERANDS(list) ARG("", "{\"as_tensors\":[" list "]}")
#define DOUBLE GRAPH(T("x"), MUL("x", "b"), T("b"))
#define PRED ARG("", "{\"as_sym_bool\":{\"as_bool\":true}}")
#define ANY                                                                 \
    NODE("any.default", ARG("self", T("x")), T("p"))
static program with_pred(const char *nodes)
{
    program p = pointwise(nodes, "c");

    p.values = VECTOR("x") "," VECTOR("a") "," VECTOR("c") "," VECTOR("d")
               ",\"p\":" META_OF(12, "", "");
    return p;
}

static void control(void **state)
{
    static const struct {
        const char *nodes, *error;
        hull_status status;
    } bad[] = {
        {ANY "," HOP("cond", ARG("", T("p")) "," ARG("", DOUBLE) ","
                     OPERANDS("{\"name\":\"x\"}"), T("c")),
         "1 graphs", HULL_EFORMAT},
        {ANY "," HOP("cond", ARG("", T("p")) "," ARG("", DOUBLE) ","
                     ARG("", DOUBLE) "," OPERANDS(""), T("c")),
         "1 inputs and 1 outputs, wanted 0", HULL_EFORMAT},
        {ANY "," HOP("cond", ARG("", T("p")) "," ARG("", DOUBLE) ","
                     ARG("", DOUBLE) "," OPERANDS("{\"name\":\"x\"}"),
                     T("c") "," T("d")), "wanted 1 and 2", HULL_EFORMAT},
        {ANY "," HOP("cond", ARG("", T("p")) "," ARG("", DOUBLE) ","
                     ARG("", GRAPH(T("x"), NODE("relu_.default",
                                                ARG("self", T("x")), T("b")),
                                   T("b"))) ","
                     OPERANDS("{\"name\":\"x\"}"), T("c")),
         "changes 'x', which is not its own", HULL_EUNSUPPORTED},
        {ANY "," HOP("cond", ARG("", T("p")) "," ARG("", DOUBLE) ","
                     ARG("", GRAPH(T("x"), NODE("no_such.default",
                                                ARG("self", T("x")), T("b")),
                                   T("b"))) ","
                     OPERANDS("{\"name\":\"x\"}"), T("c")),
         "no_such.default", HULL_EUNSUPPORTED},
        {HOP("while_loop", ARG("", DOUBLE) "," ARG("", DOUBLE) ","
             OPERANDS("{\"name\":\"x\"}") "," OPERANDS(""), T("c")),
         "", HULL_ESHAPE},
        {HOP("while_loop", ARG("", DOUBLE) "," ARG("", DOUBLE), T("c")),
         "0 carried values and 1 results", HULL_EFORMAT},
        {HOP("map_impl", ARG("", DOUBLE) "," OPERANDS(""), T("c")),
         "slices 0 values", HULL_EFORMAT},
        {HOP("scan", ARG("", DOUBLE) "," OPERANDS("{\"name\":\"x\"}"), T("c")),
         "1 operands", HULL_EUNSUPPORTED},
        {HOP("cond", PRED "," ARG("", DOUBLE) "," ARG("", DOUBLE) ","
             OPERANDS("{\"name\":\"y\"}"), T("c")), "'y'", HULL_EFORMAT},
        {HOP("no_such", ARG("", DOUBLE), T("c")), "no_such",
         HULL_EUNSUPPORTED},
    };
    program p = with_pred(
        ANY "," HOP("cond", ARG("", T("p")) "," ARG("", DOUBLE) ","
                    ARG("", DOUBLE) "," OPERANDS("{\"name\":\"x\"}"),
                    T("c")));
    front_model *fm = import_ok(&p);

    (void)state;
    assert_int_equal(count_ops(fm, OP_if), 1);
    front_free(fm);
    p = with_pred(HOP("cond", PRED "," ARG("", DOUBLE) "," ARG("", DOUBLE) ","
                      OPERANDS("{\"name\":\"x\"}"), T("c")));
    fm = import_ok(&p); /* decided by the exporter */
    assert_int_equal(count_ops(fm, OP_if), 0);
    assert_int_equal(count_ops(fm, OP_mul), 1);
    front_free(fm);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        p = with_pred(bad[i].nodes);
        import_bad(&p, bad[i].status, bad[i].error);
    }
}

static void refusals(void **state)
{
    program p = linear_relu;

    (void)state;
    p.version = "{\"major\":7,\"minor\":3}";
    import_bad(&p, HULL_EVERSION, "schema 7.3");
    p = linear_relu;
    p.values = VALUE("x", SYM "," N(3)) "," VALUE("linear", SYM "," N(5)) ","
               VALUE("relu", SYM "," N(2));
    import_bad(&p, HULL_EFORMAT, "the file says");
    p = pointwise(NODE("relu.default", ARG("self", T("q")), T("a")), "a");
    import_bad(&p, HULL_EFORMAT, "'q' is used but not defined");
    p = pointwise(NODE("relu.default", ARG("input", T("x")), T("a")), "a");
    import_bad(&p, HULL_EUNSUPPORTED, "no argument 'input'");
    p = pointwise(NODE("relu.default", "", T("a")), "a");
    import_bad(&p, HULL_EFORMAT, "lacks argument 'self'");
    p = pointwise(MUL("x", "a") "," MUL("x", "a"), "a");
    import_bad(&p, HULL_EFORMAT, "defined twice");
    p = pointwise(NODE("alpha_dropout.default",
                       ARG("input", T("x")) ","
                       ARG("p", "{\"as_float\":0.5}") ","
                       ARG("train", "{\"as_bool\":true}"), T("a")), "a");
    import_bad(&p, HULL_EUNSUPPORTED, "model.eval()");
    p = pointwise(NODE("transpose.int",
                       ARG("self", T("x")) "," ARG("dim0", N(0)) ","
                       ARG("dim1", N(7)), T("a")), "a");
    import_bad(&p, HULL_EFORMAT, "dim 7 with rank 2");
    p = linear_relu;
    p.in_specs = "{\"token\":{\"arg\":{\"name\":\"t\"}}}," USER(T("x")) ","
                 USER(T("x"));
    import_bad(&p, HULL_EUNSUPPORTED, "'token'");
}

/* ---- hostile JSON -------------------------------------------------------- */

static void truncated(void **state)
{
    buf b;

    (void)state;
    model_json(&b, &linear_relu);
    for (size_t n = 0; n < b.n; n += n < 64 ? 1 : 37) {
        front_model *fm;
        const char *path = archive(&linear_relu, b.p, n);

        assert_int_not_equal(front_import(&fm, path, NULL), HULL_OK);
        assert_null(fm);
    }
    buf_fini(&b);
}

/* Any outcome is fine but a crash, a leak or a model that does not verify. */
static void altered(void **state)
{
    static const char letters[] = "0123456789\"{}[],:-_abnsTx. ";
    int64_t live = mem_live();
    uint32_t seed = 1, imported = 0;
    buf b;

    (void)state;
    model_json(&b, &linear_relu);
    for (int round = 0; round < 1500; round++) {
        char *copy = mem_strndup(b.p, b.n);
        front_model *fm;

        assert_non_null(copy);
        for (int k = 0; k < 1 + round % 3; k++) {
            seed = seed * 1664525u + 1013904223u;
            size_t where = (seed >> 8) % b.n;
            seed = seed * 1664525u + 1013904223u;
            copy[where] = letters[(seed >> 8) % (sizeof letters - 1)];
        }
        if (front_import(&fm, archive(&linear_relu, copy, b.n), NULL) ==
            HULL_OK) {
            assert_int_equal(ir_verify(fm->m), HULL_OK);
            imported++;
        }
        front_free(fm);
        mem_free(copy);
    }
    assert_true(imported > 0);
    buf_fini(&b);
    assert_int_equal(mem_live(), live);
}

/* Every allocation fails once: an error each time, and nothing leaks. */
static void no_memory(void **state)
{
    int64_t live;
    buf b;

    (void)state;
    model_json(&b, &linear_relu);
    const char *path = archive(&linear_relu, b.p, b.n);
    live = mem_live();
    for (uint64_t k = 1; k < 100000; k++) {
        front_model *fm;

        mem_fail_at(k, true);
        hull_status st = front_import(&fm, path, NULL);
        mem_fail_at(0, false);
        front_free(fm);
        assert_int_equal(mem_live(), live);
        if (st == HULL_OK)
            break;
        if (st != HULL_ENOMEM)
            stop("allocation %d: status %d, %s", (int)k, (int)st,
                 error_text());
    }
    buf_fini(&b);
}

/* ---- sizes as text ------------------------------------------------------- */

static ir *new_ir(void)
{
    ir *m;

    assert_int_equal(ir_new(&m), HULL_OK);
    return m;
}

/* The value of a text where s0 is 7 and s1 is 12; INT64_MIN when unknown. */
static int64_t value_of(const char *text)
{
    ir *m = new_ir();
    dim s0 = dim_sym(m, str_of("s0")), s1 = dim_sym(m, str_of("s1"));
    dim_env e;
    int64_t v = INT64_MIN;

    dim_set_range(m, s0, 0, INT64_MAX);
    dim_set_range(m, s1, 1, INT64_MAX);
    dim d = pt2_expr(m, NULL, str_of(text));
    if (ir_status(m) != HULL_OK)
        stop("'%s': %s", text, error_text());
    if (d != DIM_UNKNOWN && !dim_is_int(m, d, &v)) {
        assert_int_equal(dim_env_init(&e, m), HULL_OK);
        assert_int_equal(dim_bind(&e, s0, 7, "s0"), HULL_OK);
        assert_int_equal(dim_bind(&e, s1, 12, "s1"), HULL_OK);
        if (dim_eval(&v, &e, d) != HULL_OK)
            stop("'%s': %s", text, error_text());
        dim_env_fini(&e);
    }
    ir_free(m);
    return v;
}

#define S0 "Symbol('s0', positive=True, integer=True)"
#define S1 "Symbol('s1', positive=True, integer=True)"

static void sizes_as_text(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        {"Integer(5)", 5},
        {S0, 7},
        {"Add(" S0 ", Integer(1))", 8},
        {"Mul(Integer(4), " S0 ")", 28},
        {"Add(" S1 ", Mul(Integer(-1), " S0 "))", 5},
        {"FloorDiv(" S1 ", Integer(5))", 2},
        {"CeilDiv(" S1 ", Integer(5))", 3},
        {"Mod(" S1 ", Integer(5))", 2},
        {"PythonMod(" S1 ", Integer(7))", 5},
        {"Max(Integer(9), " S0 ")", 9},
        {"Min(Integer(9), " S0 ", " S1 ")", 7},
        {"Pow(" S0 ", Integer(2))", 49},
        {"FloorToInt(IntTrueDiv(" S1 ", Integer(5)))", 2},
        {"CeilToInt(IntTrueDiv(" S1 ", Integer(5)))", 3},
        {"Mul(Rational(1, 2), " S1 ")", 6},
        {"Mul(Integer(3), Pow(Integer(4), Integer(-1)), " S1 ")", 9},
        {"Identity(" S0 ")", 7},
        {" s0 + 2*s1 ", 31},
        {"s1//5", 2},
        {"(s0 - 1)", 6},
        {"Mod(s1, 5)", 2},
        {"s0**2", 49},
        {"2*(s0 + s1) - 1", 37},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (value_of(cases[i].text) != cases[i].value)
            stop("%s is %lld, wanted %lld", cases[i].text,
                 (long long)value_of(cases[i].text),
                 (long long)cases[i].value);
}

static void hostile_text(void **state)
{
    static const char *const cases[] = {
        "", " ", "(", ")", "()", "Add", "Add(", "Add()", "Add(,)",
        "Add(Integer(1)", "Add(Integer(1),)", "Symbol()", "Symbol('",
        "Symbol('s0", "Symbol('')", "Symbol('a b')", "Symbol(Integer(1))",
        "Symbol('u0', integer=True)", "u3", "Unknown(Integer(1))",
        "Integer('1')", "Integer(1.5)", "Float('0.5', precision=53)",
        "__import__('os').system('true')", "FloorDiv(s0, 0)", "s1 // 0",
        "s1 / 0", "Mod(s1, Integer(0))", "Pow(s0, Integer(99))",
        "Pow(s0, s1)", "99999999999999999999999", "s0 +", "+ s0", "1 1",
        "s0 s1", "x=1", "Add(x=Integer(1))", "s0;s1", "FloorDiv(s0)",
        "Add(Integer(1), 'x')", "Where(True, s0, s1)", "s0 ** ", "- ",
        "lambda: 0", "Max(Mul(Rational(1, 3), s0), s1)"};
    char *deep;
    ir *m = new_ir();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (value_of(cases[i]) != INT64_MIN)
            stop("'%s' is understood", cases[i]);
    assert_int_equal(pt2_expr(m, NULL, (str){"Integer(5)x", 10}), 5);
    deep = mem_alloc(1 << 20);
    assert_non_null(deep);
    memset(deep, '(', 1 << 20);
    assert_true(pt2_expr(m, NULL, (str){deep, 1 << 20}) == DIM_UNKNOWN);
    assert_true(pt2_expr(m, NULL, (str){deep, 4000}) == DIM_UNKNOWN);
    for (size_t i = 0; i + 2 < 4000; i += 2)
        memcpy(deep + i, "1+", 2);
    assert_true(pt2_expr(m, NULL, (str){deep, 3999}) == DIM_UNKNOWN);
    memset(deep, '-', 4000);
    assert_true(pt2_expr(m, NULL, (str){deep, 4000}) == DIM_UNKNOWN);
    mem_free(deep);
    ir_free(m);
}

/* "e >= 0, e == 0" of the text's relations. */
static void relations_as_text(void **state)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"GreaterThan(" S0 ", Integer(3))", "s0-3 >= 0"},
        {"StrictGreaterThan(" S0 ", Integer(3))", "s0-4 >= 0"},
        {"LessThan(" S0 ", " S1 ")", "s1-s0 >= 0"},
        {"StrictLessThan(" S0 ", " S1 ")", "s1-s0-1 >= 0"},
        {"Equality(Mod(" S0 ", Integer(4)), Integer(0))", "s0%4 == 0"},
        {"And(Ge(s0, 1), Le(s0, 5))", "s0-1 >= 0, -s0+5 >= 0"},
        {"s0 <= s1", "s1-s0 >= 0"},
        {"2*s0 == s1 + 1", "2*s0-s1-1 == 0"},
        {"3 < s0", "s0-4 >= 0"},
        {"Le(Mul(Rational(1, 2), s0), s1)", "2*s1-s0 >= 0"},
        {"Ne(s0, 1)", ""}, {"s0", ""}, {"", ""}, {"And(", ""}, {"And()", ""},
        {"Ge(s0)", ""}, {"Ge(s0, 1", ""}, {"Ge(s0, 1, 2)", ""}, {"s0 <", ""},
        {"Ge(u0, 1)", ""}, {"s0 < s1 < 3", ""}, {"Or(Ge(s0, 1))", ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        ir *m = new_ir();
        pt2_relation r[4];
        buf b;

        uint32_t n = pt2_relations(m, NULL, str_of(cases[i].text), r, 4);
        buf_init(&b, 4096);
        for (uint32_t k = 0; k < n; k++) {
            buf_puts(&b, k ? ", " : "");
            dim_print(&b, m, r[k].e);
            buf_puts(&b, r[k].equal ? " == 0" : " >= 0");
        }
        if (!str_is(buf_view(&b), cases[i].wanted))
            stop("'%s' is '%.*s', wanted '%s'", cases[i].text,
                 STR_ARG(buf_view(&b)), cases[i].wanted);
        buf_fini(&b);
        ir_free(m);
    }
}

/* ---- the table ----------------------------------------------------------- */

/* In order, so that look-up finds every row; every schema can be read. */
static void table_of_operators(void **state)
{
    static const char *const names[] = {
#define ATEN(name, schema, lower, param) name,
#include "front/aten.def"
#undef ATEN
    };
    front_model fm = {0};
    front f = {.fm = &fm, .m = new_ir()};
    aten_call *c = mem_alloc(sizeof *c);

    (void)state;
    assert_non_null(c);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const aten_row *row = aten_find(str_of(names[i]));

        if (!row || strcmp(row->name, names[i]) != 0)
            stop("row '%s' is not found", names[i]);
        if (aten_begin(c, &f, row, str_of("n")) != HULL_OK)
            stop("%s", error_text());
        assert_true(c->n_args > 0);
    }
    assert_null(aten_find(str_of("")));
    assert_null(aten_find(str_of("zzz")));
    assert_int_equal(aten_begin(c, &f, aten_find(str_of("conv2d")),
                                str_of("n")), HULL_OK);
    assert_int_equal(c->n_args, 7);
    assert_true(str_is(c->arg_names[3], "stride"));
    assert_false(c->given[1]);
    assert_true(c->given[3] && c->args[3].i == 1);
    assert_true(c->args[2].kind == ATEN_NONE);
    assert_int_equal(aten_begin(c, &f, aten_find(str_of("split.Tensor")),
                                str_of("n")), HULL_OK);
    assert_true(c->aliases && str_is(c->arg_names[0], "self"));
    mem_free(c);
    arena_fini(&f.a);
    ir_free(f.m);
}

/* ---- fixtures ------------------------------------------------------------ */

static const char *const models[] = {
    "mlp", "cnn", "lstm", "bert", "gpt2", "llama", "unet", "resnet", "vit",
    "efficientnet", "convnext"};

/* Every hole but the kept ones has a name in the checkpoint. */
static void check_names(const front_model *fm, const weights *w,
                        const char *path)
{
    for (uint32_t i = 0; i < fm->n_holes; i++) {
        const front_hole *h = &fm->holes[i];
        bool found = h->kept;

        for (uint32_t k = 0; k < h->n_names; k++)
            found |= weights_find(w, h->names[k]) != NULL;
        if (!found)
            stop("%s: no tensor for hole '%.*s'", path, STR_ARG(h->name));
    }
}

static uint32_t symbols(const front_model *fm)
{
    const type *t = graph_type(fm->g, fm->g->body->params[0]);
    uint32_t n = 0;

    for (uint32_t i = 0; i < t->rank; i++)
        n += dim_get(fm->m, t->dims[i]) != NULL;
    return n;
}

static void fixtures(void **state)
{
    static const char *const kinds[] = {"train", "core", "train.dyn"};
    static const char *const dynamic[] = {"mlp", "cnn", "bert", "gpt2",
                                          "llama"};
    char name[256], text[4096];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        snprintf(name, sizeof name, "fixtures/%s/b.safetensors", models[i]);
        weights *w = open_ok(shared(name));

        for (size_t k = 0; k < COUNT_OF(kinds); k++) {
            front_model *fm;
            bool has_symbols = false;

            snprintf(name, sizeof name, "fixtures/%s/%s.pt2", models[i],
                     kinds[k]);
            if (k == 2 && (strcmp(models[i], "lstm") == 0 ||
                           strcmp(models[i], "unet") == 0))
                continue;
            snprintf(text, sizeof text, "%s", shared(name));
            if (front_import(&fm, text, w) != HULL_OK)
                stop("%s", error_text());
            assert_int_equal(ir_verify(fm->m), HULL_OK);
            check_names(fm, w, text);
            for (size_t d = 0; k == 2 && d < COUNT_OF(dynamic); d++)
                has_symbols |= strcmp(models[i], dynamic[d]) == 0;
            assert_int_equal(symbols(fm) > 0, has_symbols);
            front_free(fm);
        }
        weights_unref(w);
    }
}

/* The head of gpt2 is the embedding: one hole, both names. */
static void fixture_ties(void **state)
{
    front_model *fm;
    const front_hole *h;

    (void)state;
    if (front_import(&fm, shared("fixtures/gpt2/train.pt2"), NULL) != HULL_OK)
        stop("%s", error_text());
    h = hole(fm, "m.transformer.wte.weight");
    assert_int_equal(h->n_names, 2);
    assert_true(str_is(h->names[1], "m.lm_head.weight"));
    assert_int_equal(count_ops(fm, OP_sdpa) > 0, 1);
    assert_int_equal(fm->n_unread, 0);
    front_free(fm);
    if (front_import(&fm, shared("fixtures/lstm/train.pt2"), NULL) != HULL_OK)
        stop("%s", error_text());
    assert_int_equal(count_ops(fm, OP_lstm), 2);
    front_free(fm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_example),
        cmocka_unit_test(ties),
        cmocka_unit_test(fake_tensors),
        cmocka_unit_test(in_place),
        cmocka_unit_test(missing_operators),
        cmocka_unit_test(state_buffer),
        cmocka_unit_test(regions),
        cmocka_unit_test(control),
        cmocka_unit_test(refusals),
        cmocka_unit_test(truncated),
        cmocka_unit_test(altered),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(sizes_as_text),
        cmocka_unit_test(hostile_text),
        cmocka_unit_test(relations_as_text),
        cmocka_unit_test(table_of_operators),
        cmocka_unit_test(fixtures),
        cmocka_unit_test(fixture_ties),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
