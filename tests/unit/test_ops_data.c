/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_ops_data.c - ops that move elements: view, slice, concat, pad, gather,
 * scatter, topk. Expected values come from numpy, PyTorch and onnx's reference
 * evaluator.
 */
#include "op_case.h"

static op_case *reshape_case(hull_dtype dt, const char *from, const char *to)
{
    op_case *c = case_new(OP_reshape);
    dim d[HULL_MAX_RANK];
    uint32_t n;

    case_type(c, dt, from);
    n = case_dims(c, to, d);
    node_dims(c->g, c->n, "shape", d, n);
    return c;
}

static void test_reshape_types(void **state)
{
    static const struct {
        const char *from, *to, *want;
    } rows[] = {
        { "2,6", "3,-1", "f32[3,4]" },
        { "2,6", "?,3", "f32[4,3]" },
        { "2,6", "12", "f32[12]" },
        { "1,1", "", "f32[]" },
        { "", "1,1", "f32[1,1]" },
        { "", "-1", "f32[1]" },
        { "0,3", "-1,3", "f32[0,3]" },
        { "0,3", "0", "f32[0]" },
        { "N,12", "N,3,-1", "f32[N,3,4]" },
        { "N,12", "-1,12", "f32[N,12]" },
        { "N,C,4,4", "N,-1", "f32[N,16*C]" },
        { "?,3", "3,-1", "f32[3,?]" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        op_case *c = reshape_case(HULL_F32, rows[i].from, rows[i].to);
        const attr *a;

        assert_int_equal(case_infer(c), HULL_OK);
        case_want_type(c, 0, rows[i].want);
        /* The attribute holds what was found. */
        a = node_attr(c->n, "shape");
        for (uint32_t k = 0; k < a->u.dims.n; k++)
            assert_true(a->u.dims.p[k] ==
                        graph_type(c->g, c->n->out[0])->dims[k]);
        case_free(c);
    }
}

static void test_reshape_refused(void **state)
{
    (void)state;
    case_refuse(reshape_case(HULL_F32, "2,6", "5,-1"), HULL_ESHAPE,
                "12 elements do not divide by 5");
    case_refuse(reshape_case(HULL_F32, "2,6", "13"), HULL_ESHAPE,
                "12 elements reshaped to 13");
    case_refuse(reshape_case(HULL_F32, "2,6", "-1,-1"), HULL_ESHAPE,
                "both -1");
    case_refuse(reshape_case(HULL_F32, "2,6", "-2,-6"), HULL_ESHAPE,
                "size 0 is -2");
    case_refuse(reshape_case(HULL_F32, "0,3", "-1,0"), HULL_ESHAPE,
                "beside a size 0");
}

static void test_reshape_bytes(void **state)
{
    op_case *c = case_new(OP_reshape);

    (void)state;
    case_in(c, HULL_I4, "5", V(-8, 7, 1, -1, 3));
    ATTR(c, "shape", 5, 1);
    case_want(c, "i4[5,1]", V(-8, 7, 1, -1, 3));
    c = case_new(OP_reshape);
    case_in(c, HULL_F16, "2,3", V(1, 2, 3, 4, 5, 6));
    ATTR(c, "shape", 3, -1);
    case_want(c, "f16[3,2]", V(1, 2, 3, 4, 5, 6));
}

static void test_transpose(void **state)
{
    op_case *c = case_new(OP_transpose);

    (void)state;
    case_in(c, HULL_F32, "2,3,2", V(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
    INTS(c, "perm", 2, 0, 1);
    case_want(c, "f32[2,2,3]", V(0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11));
    c = case_new(OP_transpose);
    case_in(c, HULL_U4, "3,3", V(0, 1, 2, 3, 4, 5, 6, 7, 15));
    INTS(c, "perm", 1, 0);
    case_want(c, "u4[3,3]", V(0, 3, 6, 1, 4, 7, 2, 5, 15));
    c = case_new(OP_transpose);
    case_in(c, HULL_F32, "0,3", V(0));
    INTS(c, "perm", 1, 0);
    case_want(c, "f32[3,0]", V(0));
    c = case_new(OP_transpose);
    case_in(c, HULL_BOOL, "", V(1));
    node_ints(c->g, c->n, "perm", NULL, 0);
    case_want(c, "bool[]", V(1));
    c = case_new(OP_transpose);
    case_type(c, HULL_F32, "N,3");
    INTS(c, "perm", 1, 1);
    case_refuse(c, HULL_ESHAPE, "perm entry 1 is 1");
    c = case_new(OP_transpose);
    case_type(c, HULL_F32, "N,3");
    INTS(c, "perm", 1, 0, 2);
    case_refuse(c, HULL_ESHAPE, "perm has 3 axes");
    c = case_new(OP_transpose);
    case_type(c, HULL_F32, "N,3");
    INTS(c, "perm", 0, -1);
    case_refuse(c, HULL_ESHAPE, "perm entry 1 is -1");
}

static void test_complex_moves(void **state)
{
    op_case *c = case_new(OP_transpose);
    double v[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    double want[8] = { 1, 2, 5, 6, 3, 4, 7, 8 };

    (void)state;
    case_in(c, HULL_C128, "2,2", V(0, 0, 0, 0));
    memcpy(c->in[0].data, v, sizeof(v));
    INTS(c, "perm", 1, 0);
    assert_int_equal(case_run(c), HULL_OK);
    assert_memory_equal(c->out[0].data, want, sizeof(want));
    case_free(c);
}

static void test_expand(void **state)
{
    op_case *c = case_new(OP_expand);

    (void)state;
    case_in(c, HULL_F32, "2,1", V(1, 2));
    ATTR(c, "shape", 2, 2, 3);
    case_want(c, "f32[2,2,3]", V(1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2));
    c = case_new(OP_expand);
    case_in(c, HULL_I4, "", V(-3));
    ATTR(c, "shape", 3);
    case_want(c, "i4[3]", V(-3, -3, -3));
    c = case_new(OP_expand);
    case_in(c, HULL_F32, "1,2", V(1, 2));
    ATTR(c, "shape", 0, 2);
    case_want(c, "f32[0,2]", V(0));
    c = case_new(OP_expand);
    case_type(c, HULL_F32, "N,1");
    ATTR(c, "shape", 4, -1, 7);
    case_infers(c, "f32[4,N,7]");
    c = case_new(OP_expand);
    case_type(c, HULL_F32, "2,3");
    ATTR(c, "shape", 2, 4);
    case_refuse(c, HULL_ESHAPE, "3 and 4");
    c = case_new(OP_expand);
    case_type(c, HULL_F32, "2,3");
    ATTR(c, "shape", 3);
    case_refuse(c, HULL_ESHAPE, "rank 2 expanded to rank 1");
    c = case_new(OP_expand);
    case_type(c, HULL_F32, "2,3");
    ATTR(c, "shape", -1, 2, 3);
    case_refuse(c, HULL_ESHAPE, "size 0 is negative");
}

static void test_slice_values(void **state)
{
    static const struct {
        int64_t start, end, step;
        const char *want;
    } rows[] = {
        { 0, 7, 1, "0123456" },
        { 2, 5, 1, "234" },
        { -3, INT64_MAX, 1, "456" },
        { -100, 3, 1, "012" },
        { 5, 2, 1, "" },
        { 1, 100, 3, "14" },
        { 6, INT64_MIN, -1, "6543210" },
        { INT64_MAX, INT64_MIN, -1, "6543210" },
        { -1, -8, -2, "6420" },
        { 5, 1, -2, "53" },
        { 100, -100, -3, "630" },
        { 2, 5, -1, "" },
        { -3, -1, 1, "45" },
        { 0, -2, 2, "024" },
        { 7, 9, 1, "" },
        { 0, 0, 1, "" },
        { 3, INT64_MIN, -9, "3" },
        { INT64_MIN, INT64_MAX, 4, "04" },
        { 0, 7, INT64_MAX, "0" },
        { 6, INT64_MIN, -INT64_MAX, "6" },
    };
    static const hull_dtype types[] = { HULL_F64, HULL_U4, HULL_BF16 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows) * COUNT_OF(types); i++) {
        size_t r = i / COUNT_OF(types), n = strlen(rows[r].want);
        op_case *c = case_new(OP_slice);
        double want[8] = { 0 };

        case_in(c, types[i % COUNT_OF(types)], "7", V(0, 1, 2, 3, 4, 5, 6));
        INTS(c, "axes", -1);
        ATTR(c, "starts", rows[r].start);
        ATTR(c, "ends", rows[r].end);
        INTS(c, "steps", rows[r].step);
        if (case_run(c) != HULL_OK)
            print_error("%d: %s\n", (int)r, error_text());
        assert_int_equal(c->st, HULL_OK);
        assert_int_equal(c->out[0].shape[0], n);
        for (size_t k = 0; k < n; k++)
            want[k] = rows[r].want[k] - '0';
        want_values(&c->out[0], want, 0.0);
        case_free(c);
    }
}

/* Start and end in the form of case_dims; "end" = INT64_MAX. */
static op_case *slice_case(const char *dims, const char *start,
                           const char *end, int64_t step)
{
    op_case *c = case_new(OP_slice);
    dim d[HULL_MAX_RANK];

    case_type(c, HULL_F32, dims);
    INTS(c, "axes", 0);
    case_dims(c, start, d);
    node_dims(c->g, c->n, "starts", d, 1);
    if (strcmp(end, "end") == 0)
        d[0] = INT64_MAX;
    else
        case_dims(c, end, d);
    node_dims(c->g, c->n, "ends", d, 1);
    if (step != 1)
        INTS(c, "steps", step);
    return c;
}

static void test_slice_types(void **state)
{
    static const struct {
        const char *type, *start, *end;
        int64_t step;
        const char *want; /* with N in 3..64 and n in 1..8 */
    } rows[] = {
        { "N", "0", "N", 1, "f32[N]" },
        { "N", "0", "end", 1, "f32[N]" },
        { "N", "1", "end", 1, "f32[N-1]" },
        { "N", "0", "-1", 1, "f32[N-1]" },
        { "N", "-1", "end", 1, "f32[1]" },
        { "N", "-3", "-1", 1, "f32[2]" },
        { "N", "1", "-1", 1, "f32[N-2]" },
        { "N", "0", "2", 1, "f32[2]" },
        { "N", "2", "0", 1, "f32[0]" },
        { "128", "0", "N", 1, "f32[N]" },
        { "128", "0", "n", 1, "f32[n]" },
        { "128", "N", "end", 1, "f32[-N+128]" },
        { "128", "n", "N", 1, "f32[max(N-n, 0)]" },
        { "N", "64", "end", 1, "f32[0]" },
        { "N", "end", "0", 1, "f32[0]" },
        { "N", "-1", "-100", -1, "f32[N]" },
        { "?", "0", "2", 1, "f32[?]" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        op_case *c;

        c = slice_case(rows[i].type, rows[i].start, rows[i].end,
                       rows[i].step);
        dim_set_range(c->m, dim_sym(c->m, str_of("N")), 3, 64);
        dim_set_range(c->m, dim_sym(c->m, str_of("n")), 1, 8);
        case_infers(c, rows[i].want);
    }
}

/* Without ranges the sizes must hold for every N: try them all. */
static void test_slice_symbolic(void **state)
{
    (void)state;
    for (int64_t start = -4; start <= 4; start++) {
        for (int64_t code = 0; code < 9 * 4; code++) {
            static const int64_t steps[] = { 1, 2, -1, -3 };
            int64_t end = code / 4 - 4, step = steps[code % 4];
            op_case *c = case_new(OP_slice);

            case_type(c, HULL_F32, "N");
            INTS(c, "axes", 0);
            ATTR(c, "starts", start);
            ATTR(c, "ends", end);
            INTS(c, "steps", step);
            dim_set_range(c->m, dim_sym(c->m, str_of("N")), 0, 100);
            assert_int_equal(case_infer(c), HULL_OK);
            for (int64_t size = 0; size < 7; size++) {
                const type *t = graph_type(c->g, c->n->out[0]);
                int64_t got, want = 0;
                int64_t least = step < 0 ? -1 : 0;
                int64_t most = step < 0 ? size - 1 : size;
                int64_t s = start < 0 ? start + size : start;
                int64_t e = end < 0 ? end + size : end;

                s = s < least ? least : s > most ? most : s;
                e = e < least ? least : e > most ? most : e;
                for (int64_t k = s; step > 0 ? k < e : k > e; k += step)
                    want++;
                assert_int_equal(dim_env_init(&c->env, c->m), HULL_OK);
                assert_int_equal(dim_bind(&c->env, dim_sym(c->m, str_of("N")),
                                          size, "N"),
                                 HULL_OK);
                assert_int_equal(dim_eval(&got, &c->env, t->dims[0]), HULL_OK);
                assert_int_equal(got, want);
                dim_env_fini(&c->env);
                c->env = (dim_env){ 0 };
            }
            case_free(c);
        }
    }
}

/* A symbolic bound that is provably negative counts from the end, and the
 * kernel sees the position. */
static void test_slice_negative_symbol(void **state)
{
    op_case *c = case_new(OP_slice);
    dim n = dim_sym(c->m, str_of("n"));
    dim start = dim_sub(c->m, n, dim_int(c->m, 9));

    (void)state;
    dim_set_range(c->m, n, 1, 8);
    case_in(c, HULL_I32, "12", V(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
    INTS(c, "axes", 0);
    node_dims(c->g, c->n, "starts", &start, 1);
    ATTR(c, "ends", INT64_MAX);
    assert_int_equal(case_infer(c), HULL_OK);
    case_want_type(c, 0, "i32[-n+9]");
    assert_int_equal(dim_env_init(&c->env, c->m), HULL_OK);
    assert_int_equal(dim_bind(&c->env, n, 7, "n"), HULL_OK);
    assert_int_equal(eval_temp(&c->cx, &c->out[0], HULL_I32, I(2), 1),
                     HULL_OK);
    assert_int_equal(op_get(OP_slice)->eval(&c->cx, c->n, c->in, c->out),
                     HULL_OK);
    want_values(&c->out[0], V(10, 11), 0.0);
    /* A result that does not fit is refused, not overrun. */
    c->out[0].shape[0] = 1;
    assert_int_equal(op_get(OP_slice)->eval(&c->cx, c->n, c->in, c->out),
                     HULL_ESHAPE);
    case_free(c);
}

static void test_slice_axes(void **state)
{
    op_case *c = case_new(OP_slice);

    (void)state;
    case_in(c, HULL_I32, "3,4", V(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
    INTS(c, "axes", 1, 0);
    ATTR(c, "starts", 3, 1);
    ATTR(c, "ends", 0, 3);
    INTS(c, "steps", -2, 1);
    case_want(c, "i32[2,2]", V(7, 5, 11, 9));
    c = slice_case("N", "0", "1", 0);
    case_refuse(c, HULL_ESHAPE, "step 0 is 0");
    c = case_new(OP_slice);
    case_type(c, HULL_F32, "3,4");
    INTS(c, "axes", 1, -1);
    ATTR(c, "starts", 0, 0);
    ATTR(c, "ends", 1, 1);
    case_refuse(c, HULL_ESHAPE, "axis 1 occurs twice");
    c = case_new(OP_slice);
    case_type(c, HULL_F32, "3,4");
    INTS(c, "axes", 2);
    ATTR(c, "starts", 0);
    ATTR(c, "ends", 1);
    case_refuse(c, HULL_ESHAPE, "axis 2");
    c = case_new(OP_slice);
    case_type(c, HULL_F32, "3,4");
    INTS(c, "axes", 0, 1);
    ATTR(c, "starts", 0);
    ATTR(c, "ends", 1, 1);
    case_refuse(c, HULL_ESHAPE, "1 starts");
}

static void test_concat(void **state)
{
    op_case *c = case_new(OP_concat);

    (void)state;
    case_in(c, HULL_I4, "2,1", V(1, 2));
    case_in(c, HULL_I4, "2,0", V(0));
    case_in(c, HULL_I4, "2,3", V(3, 4, 5, 6, 7, -8));
    node_int(c->g, c->n, "axis", -1);
    case_want(c, "i4[2,4]", V(1, 3, 4, 5, 2, 6, 7, -8));
    c = case_new(OP_concat);
    case_in(c, HULL_F32, "1,2", V(1, 2));
    case_in(c, HULL_F32, "2,2", V(3, 4, 5, 6));
    node_int(c->g, c->n, "axis", 0);
    case_want(c, "f32[3,2]", V(1, 2, 3, 4, 5, 6));
    c = case_new(OP_concat);
    case_type(c, HULL_F32, "N,M");
    case_type(c, HULL_F32, "N,1");
    node_int(c->g, c->n, "axis", 1);
    case_infers(c, "f32[N,M+1]");
    c = case_new(OP_concat);
    case_type(c, HULL_F32, "N,2");
    case_type(c, HULL_F32, "5,2");
    node_int(c->g, c->n, "axis", 1);
    case_infers(c, "f32[5,4]");
    c = case_new(OP_concat);
    case_type(c, HULL_F32, "3,2");
    case_type(c, HULL_F32, "4,2");
    node_int(c->g, c->n, "axis", 1);
    case_refuse(c, HULL_ESHAPE, "3 and 4");
    c = case_new(OP_concat);
    case_type(c, HULL_F32, "3");
    case_type(c, HULL_F64, "3");
    node_int(c->g, c->n, "axis", 0);
    case_refuse(c, HULL_ESHAPE, "operand 1 is f64");
    c = case_new(OP_concat);
    case_type(c, HULL_F32, "");
    node_int(c->g, c->n, "axis", 0);
    case_refuse(c, HULL_ESHAPE, "axis 0");
}

static void test_pad_modes(void **state)
{
    static const struct {
        const char *mode;
        int n, begin, end;
        const char *want;
    } rows[] = {
        { "constant", 4, 2, 3, "991234999" },
        { "constant", 4, 0, 0, "1234" },
        { "constant", 3, 5, 7, "999991239999999" },
        { "constant", 1, 2, 2, "99199" },
        { "constant", 5, -1, -2, "23" },
        { "constant", 5, -2, 3, "345999" },
        { "constant", 0, 1, 1, "99" },
        { "constant", 3, -4, 2, "9" },
        { "edge", 4, 2, 3, "111234444" },
        { "edge", 4, 0, 0, "1234" },
        { "edge", 3, 5, 7, "111111233333333" },
        { "edge", 1, 2, 2, "11111" },
        { "edge", 5, -1, -2, "23" },
        { "reflect", 4, 2, 3, "321234321" },
        { "reflect", 4, 0, 0, "1234" },
        { "reflect", 3, 5, 7, "212321232123212" },
        { "reflect", 1, 2, 2, "11111" },
        { "reflect", 5, -1, -2, "23" },
        { "wrap", 4, 2, 3, "341234123" },
        { "wrap", 3, 5, 7, "231231231231231" },
        { "wrap", 1, 2, 2, "11111" },
        { "wrap", 5, -1, -2, "23" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        op_case *c = case_new(OP_pad);
        double want[16];
        char dims[2] = { (char)('0' + rows[i].n), '\0' };

        case_in(c, HULL_I32, dims, V(1, 2, 3, 4, 5));
        ATTR(c, "pads", rows[i].begin, rows[i].end);
        node_str(c->g, c->n, "mode", str_of(rows[i].mode));
        node_float(c->g, c->n, "value", 9.0);
        assert_int_equal(case_run(c), HULL_OK);
        assert_int_equal(c->out[0].shape[0], strlen(rows[i].want));
        for (size_t k = 0; rows[i].want[k] != '\0'; k++)
            want[k] = rows[i].want[k] - '0';
        want_values(&c->out[0], want, 0.0);
        case_free(c);
    }
}

static void test_pad(void **state)
{
    op_case *c = case_new(OP_pad);

    (void)state;
    case_in(c, HULL_F32, "2,2", V(1, 2, 3, 4));
    ATTR(c, "pads", 1, 0, 0, 1);
    node_float(c->g, c->n, "value", -INFINITY);
    case_want(c, "f32[3,3]", V(-INFINITY, -INFINITY, -INFINITY, 1, 2,
                               -INFINITY, 3, 4, -INFINITY));
    c = case_new(OP_pad);
    case_in(c, HULL_BOOL, "", V(1));
    node_dims(c->g, c->n, "pads", NULL, 0);
    case_want(c, "bool[]", V(1));
    c = case_new(OP_pad);
    case_type(c, HULL_F32, "N,3");
    ATTR(c, "pads", 1, 0, 2, -1);
    case_infers(c, "f32[N+3,2]");
    c = case_new(OP_pad);
    case_type(c, HULL_F32, "3");
    ATTR(c, "pads", -2, -2);
    case_refuse(c, HULL_ESHAPE, "dim 0 -1");
    c = case_new(OP_pad);
    case_type(c, HULL_F32, "3");
    ATTR(c, "pads", 1);
    case_refuse(c, HULL_ESHAPE, "1 pads");
    c = case_new(OP_pad);
    case_type(c, HULL_F32, "3");
    ATTR(c, "pads", 1, 1);
    node_str(c->g, c->n, "mode", str_of("mirror"));
    case_refuse(c, HULL_EINVAL, "mode 'mirror'");
    for (int i = 0; i < 3; i++) {
        static const char *const modes[] = { "edge", "reflect", "wrap" };

        c = case_new(OP_pad);
        case_in(c, HULL_F32, "0", V(0));
        ATTR(c, "pads", 1, 1);
        node_str(c->g, c->n, "mode", str_of(modes[i]));
        case_refuse(c, HULL_EINVAL, "dim 0 is empty");
    }
}

#define TWELVE V(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)

static op_case *gather_case(op_code op, const char *dims, hull_dtype it,
                            const char *idims, const double *indices)
{
    op_case *c = case_new(op);

    case_in(c, HULL_F32, dims, TWELVE);
    case_in(c, it, idims, indices);
    return c;
}

static void test_gather(void **state)
{
    op_case *c = gather_case(OP_gather, "2,3,2", HULL_I32, "1,2", V(2, -3));

    (void)state;
    node_int(c->g, c->n, "axis", 1);
    case_want(c, "f32[2,1,2,2]", V(4, 5, 0, 1, 10, 11, 6, 7));
    c = gather_case(OP_gather, "12", HULL_U8, "", V(11));
    case_want(c, "f32[]", V(11));
    c = gather_case(OP_gather, "3,4", HULL_I64, "0", V(0));
    case_want(c, "f32[0,4]", V(0));
    c = gather_case(OP_gather, "2,3,2", HULL_I64, "2", V(0, 3));
    node_int(c->g, c->n, "axis", -2);
    case_refuse(c, HULL_EINVAL, "index 3 is out of range for size 3");
    c = gather_case(OP_gather, "2,3,2", HULL_I8, "1", V(-3));
    case_refuse(c, HULL_EINVAL, "index -3 is out of range for size 2");
    c = gather_case(OP_gather, "2", HULL_U64, "1", V(-1));
    case_refuse(c, HULL_EINVAL, "out of range for size 2");
    c = gather_case(OP_gather, "0,3", HULL_I64, "1", V(0));
    case_refuse(c, HULL_EINVAL, "index 0 is out of range for size 0");
    c = gather_case(OP_gather, "3,0", HULL_I64, "1", V(5));
    case_refuse(c, HULL_EINVAL, "index 5 is out of range for size 3");
    c = gather_case(OP_gather, "3", HULL_F32, "1", V(0));
    case_refuse(c, HULL_ESHAPE, "want an integer type");
    c = gather_case(OP_gather, "", HULL_I64, "1", V(0));
    case_refuse(c, HULL_ESHAPE, "axis 0");
    c = case_new(OP_gather);
    case_type(c, HULL_F32, "V,64");
    case_type(c, HULL_I64, "B,S");
    case_infers(c, "f32[B,S,64]");
}

static void test_gather_elements(void **state)
{
    op_case *c = gather_case(OP_gather_elements, "2,3,2", HULL_I64, "2,1,2",
                             V(0, -1, 2, 1));

    (void)state;
    node_int(c->g, c->n, "axis", 1);
    case_want(c, "f32[2,1,2]", V(0, 5, 10, 9));
    c = gather_case(OP_gather_elements, "3", HULL_I64, "1", V(-4));
    case_refuse(c, HULL_EINVAL, "index -4 is out of range for size 3");
    c = gather_case(OP_gather_elements, "2,3", HULL_I64, "3,1", V(0, 0, 0));
    node_int(c->g, c->n, "axis", 1);
    case_refuse(c, HULL_ESHAPE, "dim 0 of the indices is 3");
    c = gather_case(OP_gather_elements, "2,3", HULL_I64, "2", V(0, 0));
    case_refuse(c, HULL_ESHAPE, "indices of rank 1");
}

static void test_gather_nd(void **state)
{
    op_case *c = gather_case(OP_gather_nd, "2,3,2", HULL_I64, "2,2",
                             V(1, 2, 0, 0));

    (void)state;
    case_want(c, "f32[2,2]", V(10, 11, 0, 1));
    c = gather_case(OP_gather_nd, "2,3,2", HULL_I64, "2,1,1", V(1, 0));
    node_int(c->g, c->n, "batch", 1);
    case_want(c, "f32[2,1,2]", V(2, 3, 6, 7));
    c = gather_case(OP_gather_nd, "2,3,2", HULL_I64, "3", V(1, -1, -2));
    case_want(c, "f32[]", V(10));
    c = gather_case(OP_gather_nd, "2,2", HULL_I64, "2,0", V(0));
    case_want(c, "f32[2,2,2]", V(0, 1, 2, 3, 0, 1, 2, 3));
    c = gather_case(OP_gather_nd, "2,3,2", HULL_I64, "1,2", V(1, 3));
    case_refuse(c, HULL_EINVAL, "index 3 is out of range for size 3");
    c = gather_case(OP_gather_nd, "2,3", HULL_I64, "1,3", V(0, 0, 0));
    case_refuse(c, HULL_ESHAPE, "do not fit");
    c = gather_case(OP_gather_nd, "2,3", HULL_I64, "", V(0));
    case_refuse(c, HULL_ESHAPE, "do not fit");
    c = gather_case(OP_gather_nd, "2,3", HULL_I64, "1,1", V(0));
    node_int(c->g, c->n, "batch", 1);
    case_refuse(c, HULL_ESHAPE, "1 and 2");
}

static void test_scatter_values(void **state)
{
    static const struct {
        const char *reduce;
        double nd[6], elements[6];
    } rows[] = {
        { "none", { 0.5, 3, 3, 4, 7, 8 }, { 1, 2, -5, 1, 9, 6 } },
        { "add", { 3.5, 4, 3, 4, 12, 14 }, { 1, 2, 8, 5, 14, 6 } },
        { "mul", { 1, -6, 3, 4, 35, 48 }, { 1, 2, -150, 4, 45, 6 } },
        { "min", { 0.5, -1, 3, 4, 5, 6 }, { 1, 2, -5, 1, 5, 6 } },
        { "max", { 2, 3, 3, 4, 7, 8 }, { 1, 2, 10, 4, 9, 6 } },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        op_case *c = case_new(OP_scatter_nd);

        case_in(c, HULL_F32, "3,2", V(1, 2, 3, 4, 5, 6));
        case_in(c, HULL_I64, "3,1", V(0, 2, -3));
        case_in(c, HULL_F32, "3,2", V(2, -1, 7, 8, 0.5, 3));
        node_str(c->g, c->n, "reduce", str_of(rows[i].reduce));
        case_want(c, "f32[3,2]", rows[i].nd);
        for (int k = 0; k < 2; k++) {
            hull_dtype dt = k == 0 ? HULL_F32 : HULL_I16;

            c = case_new(OP_scatter_elements);
            case_in(c, dt, "2,3", V(1, 2, 3, 4, 5, 6));
            case_in(c, HULL_I32, "2,2", V(2, -1, 0, 1));
            case_in(c, dt, "2,2", V(10, -5, 1, 9));
            node_int(c->g, c->n, "axis", 1);
            node_str(c->g, c->n, "reduce", str_of(rows[i].reduce));
            case_want(c, k == 0 ? "f32[2,3]" : "i16[2,3]", rows[i].elements);
        }
    }
}

static op_case *scatter_case(op_code op, hull_dtype dt, const char *dims,
                             const double *x, const char *idims,
                             const double *idx, const char *udims,
                             const double *u, const char *reduce)
{
    op_case *c = case_new(op);

    case_in(c, dt, dims, x);
    case_in(c, HULL_I64, idims, idx);
    case_in(c, dt, udims, u);
    node_str(c->g, c->n, "reduce", str_of(reduce));
    return c;
}

static void test_scatter(void **state)
{
    (void)state;
    case_want(scatter_case(OP_scatter_elements, HULL_I4, "3", V(1, 2, 3), "2",
                           V(2, 0), "2", V(-8, 7), "none"),
              "i4[3]", V(7, 2, -8));
    case_want(scatter_case(OP_scatter_elements, HULL_U8, "1", V(250), "1",
                           V(0), "1", V(7), "add"),
              "u8[1]", V(1));
    case_want(scatter_case(OP_scatter_elements, HULL_BOOL, "2", V(1, 0), "2",
                           V(0, 1), "2", V(1, 1), "add"),
              "bool[2]", V(1, 1));
    case_want(scatter_case(OP_scatter_elements, HULL_F32, "2", V(NAN, 1), "2",
                           V(0, 1), "2", V(2, NAN), "max"),
              "f32[2]", V(NAN, NAN));
    case_want(scatter_case(OP_scatter_elements, HULL_F32, "2", V(1, 2), "0",
                           V(0), "0", V(0), "add"),
              "f32[2]", V(1, 2));
    case_want(scatter_case(OP_scatter_nd, HULL_F32, "2,2", V(1, 2, 3, 4),
                           "1,2", V(1, 0), "1", V(9), "none"),
              "f32[2,2]", V(1, 2, 9, 4));
    case_want(scatter_case(OP_scatter_nd, HULL_F32, "", V(1), "1,0", V(0), "1",
                           V(9), "add"),
              "f32[]", V(10));
    case_refuse(scatter_case(OP_scatter_nd, HULL_F32, "2,2", V(1, 2, 3, 4),
                             "1,2", V(1, 2), "1", V(9), "none"),
                HULL_EINVAL, "index 2 is out of range for size 2");
    case_refuse(scatter_case(OP_scatter_elements, HULL_F32, "2", V(1, 2), "1",
                             V(-3), "1", V(9), "none"),
                HULL_EINVAL, "index -3 is out of range for size 2");
    case_refuse(scatter_case(OP_scatter_elements, HULL_F32, "2", V(1, 2), "1",
                             V(0), "2", V(9, 9), "none"),
                HULL_ESHAPE, "1 and 2");
    case_refuse(scatter_case(OP_scatter_nd, HULL_F32, "2,2", V(1, 2, 3, 4),
                             "1,1", V(1), "1,3", V(9, 9, 9), "none"),
                HULL_ESHAPE, "2 and 3");
    case_refuse(scatter_case(OP_scatter_nd, HULL_F32, "2", V(1, 2), "1,2",
                             V(0, 0), "1", V(9), "none"),
                HULL_ESHAPE, "do not fit");
    case_refuse(scatter_case(OP_scatter_nd, HULL_F32, "2", V(1, 2), "1,1",
                             V(0), "1", V(9), "avg"),
                HULL_EINVAL, "reduce 'avg'");
}

static op_case *topk_case(hull_dtype dt, const char *dims, const double *x,
                          int64_t k, int64_t axis, bool largest)
{
    op_case *c = case_new(OP_topk);

    case_in(c, dt, dims, x);
    node_dim(c->g, c->n, "k", k);
    node_int(c->g, c->n, "axis", axis);
    node_bool(c->g, c->n, "largest", largest);
    return c;
}

static void topk_want(op_case *c, const double *values, const double *indices)
{
    assert_int_equal(case_run(c), HULL_OK);
    want_values(&c->out[0], values, 0.0);
    assert_int_equal(c->out[1].dtype, HULL_I64);
    want_values(&c->out[1], indices, 0.0);
    case_free(c);
}

static void test_topk(void **state)
{
    const double *x = V(1, NAN, 3, 3, -0.0, 0);
    op_case *c;

    (void)state;
    topk_want(topk_case(HULL_F32, "6", x, 4, 0, true), V(NAN, 3, 3, 1),
              V(1, 2, 3, 0));
    topk_want(topk_case(HULL_F32, "6", x, 6, -1, false),
              V(0, 0, 1, 3, 3, NAN), V(4, 5, 0, 2, 3, 1));
    topk_want(topk_case(HULL_I8, "2,3", V(5, -7, 1, 5, 2, 1), 1, 0, true),
              V(5, 2, 1), V(0, 1, 0));
    topk_want(topk_case(HULL_F16, "2,2", V(-INFINITY, 2, INFINITY, -2), 2, 1,
                        false),
              V(-INFINITY, 2, -2, INFINITY), V(0, 1, 1, 0));
    topk_want(topk_case(HULL_U64, "2", V(-1, 5), 1, 0, true), V(-1), V(0));
    topk_want(topk_case(HULL_F32, "0,2", V(0), 0, 0, true), V(0), V(0));
    topk_want(topk_case(HULL_F32, "3", V(1, 2, 3), 0, 0, true), V(0), V(0));
    case_refuse(topk_case(HULL_F32, "3", V(1, 2, 3), 4, 0, true), HULL_ESHAPE,
                "k is 4");
    case_refuse(topk_case(HULL_F32, "", V(1), 1, 0, true), HULL_ESHAPE,
                "axis 0");
    c = case_new(OP_topk);
    case_type(c, HULL_F32, "N,100");
    node_dim(c->g, c->n, "k", 5);
    case_infers(c, "f32[N,5]");
}

/* Sizes that no memory holds, beside a 0: nothing may loop over them. */
static void test_huge_and_empty(void **state)
{
    op_case *c = gather_case(OP_gather, "1000000000000000,2,0", HULL_I64, "1",
                             V(1));

    (void)state;
    node_int(c->g, c->n, "axis", 1);
    case_want(c, "f32[1000000000000000,1,0]", V(0));
    c = gather_case(OP_gather_nd, "3,0", HULL_I64, "1000000000000000,0", V(0));
    case_want(c, "f32[1000000000000000,3,0]", V(0));
    c = scatter_case(OP_scatter_nd, HULL_F32, "0", V(0),
                     "1000000000000000,0", V(0), "1000000000000000,0", V(0),
                     "add");
    case_want(c, "f32[0]", V(0));
    c = topk_case(HULL_F32, "1000000000000000,0", V(0), 0, 1, true);
    case_want(c, "f32[1000000000000000,0]", V(0));
    c = case_new(OP_transpose);
    case_in(c, HULL_F32, "1000000000000000,1000000000000000,0", V(0));
    INTS(c, "perm", 2, 1, 0);
    case_want(c, "f32[0,1000000000000000,1000000000000000]", V(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reshape_types),
        cmocka_unit_test(test_reshape_refused),
        cmocka_unit_test(test_reshape_bytes),
        cmocka_unit_test(test_transpose),
        cmocka_unit_test(test_complex_moves),
        cmocka_unit_test(test_expand),
        cmocka_unit_test(test_slice_values),
        cmocka_unit_test(test_slice_types),
        cmocka_unit_test(test_slice_symbolic),
        cmocka_unit_test(test_slice_negative_symbol),
        cmocka_unit_test(test_slice_axes),
        cmocka_unit_test(test_concat),
        cmocka_unit_test(test_pad_modes),
        cmocka_unit_test(test_pad),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_gather_elements),
        cmocka_unit_test(test_gather_nd),
        cmocka_unit_test(test_scatter_values),
        cmocka_unit_test(test_scatter),
        cmocka_unit_test(test_topk),
        cmocka_unit_test(test_huge_and_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
