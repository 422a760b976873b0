/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_ops_math.c - arithmetic ops against PyTorch and onnx's reference
 * evaluator (tests/ops/expect_math.def), what they refuse, their symbolic
 * shapes, and the op table itself.
 */
#include "op_case.h"

typedef struct operand {
    hull_dtype dtype;
    const char *dims;
    const double *values;
} operand;

typedef struct expect {
    op_code op;
    const char *attrs; /* "name=value;name=value" */
    uint32_t n_in;
    operand in[5];
    const char *type;
    const double *want;
    double tolerance; /* relative above 1, absolute below */
} expect;

#define INF INFINITY
static const expect expects[] = {
#include "../ops/expect_math.def"
};

/* ---- attributes from text ------------------------------------------------ */

static void set_list(op_case *c, const char *name, attr_kind kind, str text)
{
    int64_t ints[HULL_MAX_RANK * 2] = {0};
    double floats[HULL_MAX_RANK] = {0};
    dim dims[HULL_MAX_RANK];
    uint32_t n = 0;

    while (text.n > 0) {
        str part = str_split(text, ',', &text);

        if (kind == ATTR_FLOATS)
            assert_true(str_to_f64(&floats[n], part));
        else if (str_to_i64(&ints[n], part))
            dims[n] = dim_int(c->m, ints[n]);
        else
            dims[n] = dim_sym(c->m, part);
        n++;
    }
    if (kind == ATTR_INTS)
        node_ints(c->g, c->n, name, ints, n);
    else if (kind == ATTR_FLOATS)
        node_floats(c->g, c->n, name, floats, n);
    else
        node_dims(c->g, c->n, name, dims, n);
}

static void set_attr(op_case *c, str name, str text)
{
    int row = attr_index(c->n->op, name);
    const attr_schema *s;
    int64_t i = 0;
    double f = 0;

    assert_true(row >= 0);
    s = &op_get(c->n->op)->attrs[row];
    switch (s->kind) {
    case ATTR_INT:
        assert_true(str_to_i64(&i, text));
        node_int(c->g, c->n, s->name, i);
        break;
    case ATTR_FLOAT:
        assert_true(str_to_f64(&f, text));
        node_float(c->g, c->n, s->name, f);
        break;
    case ATTR_BOOL:
        node_bool(c->g, c->n, s->name, str_is(text, "true"));
        break;
    case ATTR_STR:
        node_str(c->g, c->n, s->name, text);
        break;
    case ATTR_DTYPE:
        node_dtype(c->g, c->n, s->name, dtype_from_name(text));
        break;
    default:
        set_list(c, s->name, s->kind, text);
        break;
    }
}

static void set_attrs(op_case *c, const char *text)
{
    str rest = str_of(text);

    while (rest.n > 0) {
        str value_text, pair = str_split(rest, ';', &rest);
        str name = str_split(pair, '=', &value_text);

        set_attr(c, name, value_text);
    }
}

/* The shortest text of a value, read as double, is not yet that value. */
static double as_stored(hull_dtype dt, double v)
{
    uint64_t room = 0;

    if (!dtype_is_float(dt))
        return v;
    store_f64(dt, &room, 0, v);
    return load_f64(dt, &room, 0);
}

/* ---- the table ----------------------------------------------------------- */

static bool agrees(double got, double want, double tolerance)
{
    double size = fabs(want) > 1 ? fabs(want) : 1;

    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got);
    return got == want || fabs(got - want) <= tolerance * size;
}

static bool check(const expect *e, size_t row)
{
    op_case *c = case_new(e->op);
    const tensor *t = &c->out[0];
    bool ok = false;

    for (uint32_t i = 0; i < e->n_in; i++) {
        if (e->in[i].dtype == HULL_NONE)
            case_none(c);
        else
            case_in(c, e->in[i].dtype, e->in[i].dims, e->in[i].values);
    }
    set_attrs(c, e->attrs);
    ok = case_run(c) == HULL_OK;
    if (!ok)
        print_error("%s\n", error_text());
    else
        case_want_type(c, 0, e->type);
    for (int64_t i = 0; ok && i < tensor_numel(t); i++) {
        double got = dtype_is_float(t->dtype)
                         ? load_f64(t->dtype, t->data, (uint64_t)i)
                         : (double)load_i64(t->dtype, t->data, (uint64_t)i);

        ok = agrees(got, as_stored(t->dtype, e->want[i]), e->tolerance);
        if (!ok)
            print_error("element %d is %.17g, want %.17g\n", (int)i, got,
                        e->want[i]);
    }
    if (!ok)
        print_error("row %zu: %s %s on %s[%s]\n", row, op_get(e->op)->name,
                    e->attrs, hull_dtype_name(e->in[0].dtype), e->in[0].dims);
    case_free(c);
    return ok;
}

static void test_expected(void **state)
{
    uint32_t bad = 0;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(expects); i++)
        bad += !check(&expects[i], i);
    assert_int_equal(bad, 0);
}

/* ---- what a table of doubles cannot say ---------------------------------- */

/* One binary or unary op on raw 64-bit integers. */
static int64_t on_ints(op_code op, hull_dtype dt, int64_t a, int64_t b,
                       const char *attrs)
{
    op_case *c = case_new(op);
    uint32_t n_in = (uint32_t)op_get(op)->in_max;
    int64_t out;

    case_in(c, dt, "", V(0));
    store_i64(dt, c->in[0].data, 0, a);
    if (n_in == 2) {
        case_in(c, dt, "", V(0));
        store_i64(dt, c->in[1].data, 0, b);
    }
    set_attrs(c, attrs);
    assert_int_equal(case_run(c), HULL_OK);
    out = load_i64(c->out[0].dtype, c->out[0].data, 0);
    case_free(c);
    return out;
}

static void test_wide_integers(void **state)
{
    const int64_t big = INT64_C(9007199254740993); /* 2^53 + 1 */

    (void)state;
    assert_true(on_ints(OP_add, HULL_I64, big, 1, "") == big + 1);
    assert_true(on_ints(OP_add, HULL_I64, INT64_MAX, 1, "") == INT64_MIN);
    assert_true(on_ints(OP_eq, HULL_I64, big, big - 1, "") == 0);
    assert_true(on_ints(OP_lt, HULL_I64, big - 1, big, "") == 1);
    assert_true(on_ints(OP_lt, HULL_U64, 1, -1, "") == 1);
    assert_true(on_ints(OP_max, HULL_U64, 1, -1, "") == -1);
    assert_true(on_ints(OP_div, HULL_U64, -1, 2, "") == INT64_MAX);
    assert_true(on_ints(OP_mod, HULL_U64, -1, 10, "") == 5);
    assert_true(on_ints(OP_shift_right, HULL_U64, -1, 63, "") == 1);
    assert_true(on_ints(OP_shift_left, HULL_I64, 1, 64, "") == 0);
    assert_true(on_ints(OP_shift_right, HULL_I64, -8, 99, "") == -1);
    assert_true(on_ints(OP_div, HULL_I64, INT64_MIN, -1, "") == INT64_MIN);
    assert_true(on_ints(OP_mod, HULL_I64, INT64_MIN, -1, "") == 0);
    assert_true(on_ints(OP_neg, HULL_I64, INT64_MIN, 0, "") == INT64_MIN);
    assert_true(on_ints(OP_abs, HULL_I64, INT64_MIN, 0, "") == INT64_MIN);
    assert_true(on_ints(OP_sign, HULL_U64, -1, 0, "") == 1);
    assert_true(on_ints(OP_clamp, HULL_U64, -1, 0, "min=5") == -1);
    assert_true(on_ints(OP_clamp, HULL_U64, -1, 0, "max=7") == 7);
    assert_true(on_ints(OP_clamp, HULL_I64, big, 0, "") == big);
    assert_true(on_ints(OP_clamp, HULL_I64, 0, 0, "min=0.5") == 1);
    assert_true(on_ints(OP_reduce_sum, HULL_I64, big, 0, "axes=") == big);
    assert_true(on_ints(OP_reduce_max, HULL_U64, -1, 0, "axes=") == -1);
}

static void test_i64_to_f32_rounds_once(void **state)
{
    op_case *c = case_new(OP_cast);
    const int64_t v = (INT64_C(1) << 61) + (INT64_C(1) << 37) + 1;

    (void)state;
    case_in(c, HULL_I64, "", V(0));
    store_i64(HULL_I64, c->in[0].data, 0, v);
    set_attrs(c, "to=f32");
    assert_int_equal(case_run(c), HULL_OK);
    assert_true(load_f64(HULL_F32, c->out[0].data, 0) == (double)(float)v);
    case_free(c);
}

static void test_signed_zero(void **state)
{
    static const op_code ops[] = {OP_floor, OP_ceil, OP_round, OP_trunc,
                                  OP_sqrt, OP_sin, OP_tanh, OP_expm1};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        op_case *c = case_new(ops[i]);

        case_in(c, HULL_F32, "1", V(-0.0));
        assert_int_equal(case_run(c), HULL_OK);
        assert_true(signbit(load_f64(HULL_F32, c->out[0].data, 0)));
        case_free(c);
    }
}

/* ---- sources ------------------------------------------------------------- */

static void test_sources(void **state)
{
    op_case *c = case_new(OP_iota);

    (void)state;
    set_attrs(c, "shape=2,3;axis=1");
    case_want(c, "i64[2,3]", V(0, 1, 2, 0, 1, 2));
    c = case_new(OP_iota);
    set_attrs(c, "shape=2,3;axis=-2;dtype=f16");
    case_want(c, "f16[2,3]", V(0, 0, 0, 1, 1, 1));
    c = case_new(OP_iota);
    set_attrs(c, "shape=0");
    case_want(c, "i64[0]", V(0));
    c = case_new(OP_iota);
    set_attrs(c, "shape=2;axis=1");
    case_refuse(c, HULL_ESHAPE, "axis 1");
    c = case_new(OP_iota);
    set_attrs(c, "shape=2;dtype=bool");
    case_refuse(c, HULL_ESHAPE, "bool");
    c = case_new(OP_dims);
    set_attrs(c, "value=3,-4,0");
    case_want(c, "i64[3]", V(3, -4, 0));
    c = case_new(OP_const);
    node_literal(c->g, c->n, "value", HULL_F32, I(2), 1,
                 ((const float[]){1.5f, -2}));
    case_want(c, "f32[2]", V(1.5, -2));
}

/* ---- refusals ------------------------------------------------------------ */

typedef struct refusal {
    op_code op;
    const char *attrs;
    hull_dtype dt[3];
    const char *dims[3]; /* NULL: no such operand */
    hull_status code;
    const char *text;
} refusal;

#define F3 {HULL_F32, HULL_F32, HULL_F32}
#define I3 {HULL_I64, HULL_I64, HULL_I64}
#define ONE "stride=1,1;pad=0,0,0,0;dilation=1,1"

static const refusal refusals[] = {
    {OP_exp, "", I3, {"2"}, HULL_ESHAPE, "op 'exp'"},
    {OP_bit_not, "", F3, {"2"}, HULL_ESHAPE, "op 'bit_not'"},
    {OP_add, "", F3, {"2", "3"}, HULL_ESHAPE, "f32[2] and f32[3]"},
    {OP_add, "", {HULL_F32, HULL_I64}, {"2", "2"}, HULL_ESHAPE, "one dtype"},
    {OP_add, "", {HULL_C64, HULL_C64}, {"2", "2"}, HULL_ESHAPE, "c64"},
    {OP_sub, "", {HULL_BOOL, HULL_BOOL}, {"2", "2"}, HULL_ESHAPE, "bool"},
    {OP_div, "", I3, {"2", "2"}, HULL_EINVAL, "op 'div': integer division"},
    {OP_mod, "", I3, {"2", "2"}, HULL_EINVAL, "op 'mod': integer division"},
    {OP_div, "round=up", F3, {"2", "2"}, HULL_EINVAL, "round 'up'"},
    {OP_where, "", F3, {"2", "2", "2"}, HULL_ESHAPE, "wanted bool"},
    {OP_cast, "to=f32", {HULL_C64}, {"2"}, HULL_EUNSUPPORTED, "c64"},
    {OP_reduce_sum, "axes=2", F3, {"2,2"}, HULL_ESHAPE, "axis 2"},
    {OP_reduce_sum, "axes=0,-2", F3, {"2,2"}, HULL_ESHAPE, "twice"},
    {OP_reduce_mean, "axes=0", I3, {"0,2"}, HULL_ESHAPE, "nothing to"},
    {OP_arg_max, "axes=0,1", F3, {"2,2"}, HULL_ESHAPE, "2 axes"},
    {OP_arg_min, "axes=0", F3, {"0"}, HULL_ESHAPE, "nothing to reduce"},
    {OP_cumsum, "axis=0", F3, {""}, HULL_ESHAPE, "axis 0"},
    {OP_matmul, "", F3, {"2,3", "4,2"}, HULL_ESHAPE, "3 and 4"},
    {OP_matmul, "", F3, {"", "2"}, HULL_ESHAPE, "rank 0"},
    {OP_matmul, "", F3, {"2,2,3", "3,3,2"}, HULL_ESHAPE, "broadcast"},
    {OP_matmul, "", F3, {"2,3", "3,4", "3"}, HULL_ESHAPE, "broadcast"},
    {OP_matmul, "", F3, {"1,3", "3,4", "2,4"}, HULL_ESHAPE, "bias"},
    {OP_matmul, "", F3, {"3", "3,4", "1,4"}, HULL_ESHAPE, "bias"},
    {OP_conv, ONE, F3, {"1,2,4", "2,2,3,3"}, HULL_ESHAPE, "ranks 3 and 4"},
    {OP_conv, ONE, F3, {"1,3,4,4", "2,2,3,3"}, HULL_ESHAPE, "channels"},
    {OP_conv, ONE, F3, {"1,2,2,4", "2,2,3,3"}, HULL_ESHAPE, "axis 0"},
    {OP_conv, ONE, F3, {"1,2,4,4", "2,2,3,3", "3"}, HULL_ESHAPE, "bias"},
    {OP_conv, ONE ";groups=0", F3, {"1,2,4,4", "2,2,3,3"}, HULL_EINVAL,
     "groups is 0"},
    {OP_conv, ONE ";groups=2", F3, {"1,2,4,4", "3,1,3,3"}, HULL_ESHAPE,
     "2 groups"},
    {OP_conv, "stride=0,1;pad=0,0,0,0;dilation=1,1", F3,
     {"1,2,4,4", "2,2,3,3"}, HULL_EINVAL, "'stride' is 0"},
    {OP_conv, "stride=1,1;pad=0,0;dilation=1,1", F3,
     {"1,2,4,4", "2,2,3,3"}, HULL_ESHAPE, "'pad'"},
    {OP_conv, "stride=2147483647,2147483647;dilation=1,1;"
     "pad=2147483647,2147483647,2147483647,2147483647", F3,
     {"1,1,2,2", "1,1,1,1"}, HULL_ESHAPE, "do not fit"},
    {OP_max_pool, "kernel=3;stride=1;pad=0,0;dilation=1", F3, {"1,1,2"},
     HULL_ESHAPE, "size 0"},
    {OP_max_pool, "kernel=3,3;stride=1;pad=0,0;dilation=1", F3, {"1,1,2"},
     HULL_ESHAPE, "'kernel'"},
    {OP_avg_pool, "kernel=3;stride=1;pad=0,-1;dilation=1", F3, {"1,1,5"},
     HULL_EINVAL, "'pad' is -1"},
    {OP_adaptive_avg_pool, "out=-1", F3, {"1,1,5"}, HULL_EINVAL, "size -1"},
    {OP_resize, "size=4;mode=blend", F3, {"1,1,5"}, HULL_EINVAL, "'blend'"},
    {OP_resize, "size=4;mode=linear;coord=tf", F3, {"1,1,5"}, HULL_EINVAL,
     "'tf'"},
    {OP_resize, "size=4;mode=linear", F3, {"1,1,0"}, HULL_ESHAPE, "empty"},
    {OP_resize, "size=4;mode=linear;scales=9", F3, {"1,1,5"}, HULL_EINVAL,
     "scale 9"},
    {OP_resize, "size=1;mode=linear;scales=1e-300;antialias=true", F3,
     {"1,1,1"}, HULL_ENOMEM, "too much"},
    {OP_resize, "size=1,1,1,1;mode=linear", F3, {"1,1,1"}, HULL_ESHAPE,
     "4 sizes"},
    {OP_layer_norm, "axis=1;eps=0", F3, {"2"}, HULL_ESHAPE, "axis 1"},
    {OP_layer_norm, "axis=-1;eps=0", F3, {"2,3", "2"}, HULL_ESHAPE,
     "broadcast"},
    {OP_layer_norm, "axis=-1;eps=0", F3, {"2,1", "3"}, HULL_ESHAPE, "scale"},
    {OP_group_norm, "groups=2;eps=0", F3, {"2,3"}, HULL_ESHAPE, "2 groups"},
    {OP_group_norm, "groups=1;eps=0", F3, {"2,3", "2"}, HULL_ESHAPE,
     "channels"},
    {OP_softmax, "axis=0", F3, {""}, HULL_ESHAPE, "axis 0"},
    {OP_softmax, "axis=0", I3, {"2"}, HULL_ESHAPE, "wanted float"},
};

static void test_refusals(void **state)
{
    static const double zeros[64];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        const refusal *r = &refusals[i];
        op_case *c = case_new(r->op);

        for (uint32_t k = 0; k < 3 && r->dims[k]; k++) {
            if (dtype_is_complex(r->dt[k]))
                case_type(c, r->dt[k], r->dims[k]);
            else
                case_in(c, r->dt[k], r->dims[k], zeros);
        }
        set_attrs(c, r->attrs);
        case_refuse(c, r->code, r->text);
    }
}

/* Kernels far wider than the input cost what the input costs. */
static void test_wide_windows(void **state)
{
    op_case *c = case_new(OP_max_pool);

    (void)state;
    case_in(c, HULL_F32, "1,1,3", V(1, 3, 2));
    set_attrs(c, "kernel=2147483647;stride=1;pad=2147483646,0;dilation=1");
    case_want(c, "f32[1,1,3]", V(1, 3, 3));
    c = case_new(OP_avg_pool);
    case_in(c, HULL_F32, "1,1,4", V(1, 2, 3, 4));
    set_attrs(c, "kernel=3;stride=1;pad=2,1;dilation=2;count_pad=true");
    case_want(c, "f32[1,1,3]", V(4.0 / 3, 2, 4.0 / 3));
}

/* A tensor without elements costs nothing, whatever its other sizes say. */
static void test_huge_empty(void **state)
{
    static const struct {
        op_code op;
        const char *attrs, *dims;
    } rows[] = {
        {OP_softmax, "axis=-1", "1099511627776,0"},
        {OP_softmax, "axis=-1", "0,1099511627776"},
        {OP_cumsum, "axis=1", "1099511627776,0"},
        {OP_layer_norm, "axis=-1;eps=0", "0,1099511627776"},
        {OP_group_norm, "groups=1;eps=0", "1099511627776,2,0"},
        {OP_group_norm, "groups=1;eps=0", "0,2,1099511627776"},
        {OP_adaptive_avg_pool, "out=1099511627776", "0,1,8"},
        {OP_reduce_sum, "axes=0", "1099511627776,0"},
        {OP_relu, "", "1099511627776,0"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        op_case *c = case_new(rows[i].op);

        case_in(c, HULL_F32, rows[i].dims, V(0));
        set_attrs(c, rows[i].attrs);
        if (case_run(c) != HULL_OK)
            print_error("row %zu: %s\n", i, error_text());
        assert_int_equal(c->st, HULL_OK);
        case_free(c);
    }
}

/* ---- symbolic shapes ----------------------------------------------------- */

typedef struct shape_row {
    op_code op;
    const char *attrs;
    const char *dims[2];
    const char *want;
} shape_row;

static const shape_row shapes[] = {
    {OP_add, "", {"N,1", "N,4"}, "f32[N,4]"},
    {OP_add, "", {"N", "1"}, "f32[N]"},
    {OP_add, "", {"N", "5"}, "f32[5]"},
    {OP_add, "", {"?,3", "?,1"}, "f32[?,3]"},
    {OP_lt, "", {"N,4", "4"}, "bool[N,4]"},
    {OP_reduce_sum, "axes=1;keep=true", {"N,T,8"}, "f32[N,1,8]"},
    {OP_arg_max, "axes=-1", {"N,T"}, "i64[N]"},
    {OP_matmul, "", {"B,T,8", "8,16"}, "f32[B,T,16]"},
    {OP_matmul, "trans_b=true", {"T,8", "S,8"}, "f32[T,S]"},
    {OP_conv, "stride=1;pad=1,1;dilation=1", {"N,3,T", "8,3,3"},
     "f32[N,8,T]"},
    {OP_resize, "size=H,4;mode=linear", {"N,3,8,8"}, "f32[N,3,H,4]"},
    {OP_softmax, "axis=-1", {"N,T"}, "f32[N,T]"},
    {OP_adaptive_avg_pool, "out=1,1", {"N,C,H,W"}, "f32[N,C,1,1]"},
};

static void test_symbolic_shapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        op_case *c = case_new(shapes[i].op);

        for (uint32_t k = 0; k < 2 && shapes[i].dims[k]; k++)
            case_type(c, HULL_F32, shapes[i].dims[k]);
        set_attrs(c, shapes[i].attrs);
        case_infers(c, shapes[i].want);
    }
}

/* ---- the op table -------------------------------------------------------- */

static uint32_t words(const char *text)
{
    uint32_t n = *text != '\0';

    for (; *text; text++)
        n += *text == ' ';
    return n;
}

static void test_op_table(void **state)
{
    const op_info *info = op_get(OP_softplus);

    (void)state;
    for (int op = OP_none + 1; op < OP_COUNT; op++) {
        const op_info *o = op_get((op_code)op);

        assert_int_equal(o->n_attrs, words(o->attr_text));
        assert_int_equal(op_find(str_of(o->name)), op);
        assert_non_null(o->infer);
        assert_non_null(o->eval);
        assert_int_equal(o->n_out < 0, (o->traits & OP_VARIADIC_OUT) != 0);
    }
    assert_int_equal(op_find(str_of("nope")), OP_none);
    assert_int_equal(op_find(str_of("")), OP_none);
    assert_string_equal(info->attrs[1].name, "threshold");
    assert_true(isinf(info->attrs[1].def.u.f) && info->attrs[1].def.set);
    assert_false(info->attrs[1].required);
    assert_int_equal(attr_index(OP_softplus, str_of("threshold")), 1);
    assert_int_equal(attr_index(OP_softplus, str_of("nope")), -1);
    assert_true(op_get(OP_conv)->attrs[0].required);
    info = op_get(OP_div);
    assert_true(str_is(info->attrs[0].def.u.s, "none"));
    info = op_get(OP_resize);
    assert_false(info->attrs[1].required || info->attrs[1].def.set);
    assert_int_equal(op_get(OP_iota)->attrs[2].def.u.dt, HULL_I64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expected),
        cmocka_unit_test(test_wide_integers),
        cmocka_unit_test(test_i64_to_f32_rounds_once),
        cmocka_unit_test(test_signed_zero),
        cmocka_unit_test(test_sources),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_wide_windows),
        cmocka_unit_test(test_huge_empty),
        cmocka_unit_test(test_symbolic_shapes),
        cmocka_unit_test(test_op_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
