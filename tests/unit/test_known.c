/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_known.c - values of small integer tensors followed through a graph:
 * what becomes known, what must not, and that symbols survive arithmetic.
 */
#include "op_case.h"

typedef struct scene {
    ir *m;
    graph *g;
    dim n, t; /* symbols */
} scene;

static scene scene_new(void)
{
    scene s = {0};

    assert_int_equal(ir_new(&s.m), HULL_OK);
    s.g = graph_new(s.m, str_of("main"));
    s.n = dim_sym(s.m, str_of("N"));
    s.t = dim_sym(s.m, str_of("T"));
    return s;
}

/* What is known of v, as text: "[N, 4]" without blanks; "-" for nothing. */
static void want_known(const scene *s, val v, const char *want)
{
    const value *x = graph_value(s->g, v);
    buf b;

    buf_init(&b, 4096);
    if (ir_status(s->m) != HULL_OK)
        print_error("%s\n", error_text());
    assert_int_equal(s->m->status, HULL_OK);
    if (!x->known)
        buf_puts(&b, "-");
    for (uint32_t i = 0; x->known && i < x->n_known; i++) {
        if (i > 0)
            buf_putc(&b, ',');
        dim_print(&b, s->m, x->known[i]);
    }
    assert_string_equal(b.p ? b.p : "", want);
    buf_fini(&b);
}

static val ints(const scene *s, hull_dtype dt, const int64_t *v, int64_t n)
{
    int32_t narrow[64];

    for (int64_t i = 0; i < n; i++)
        narrow[i] = (int32_t)v[i];
    return op_const(s->g, dt, &n, 1, dt == HULL_I32 ? (void *)narrow
                                                    : (void *)v);
}

static val shape(const scene *s)
{
    return op_dims(s->g, (const dim[]){s->n, s->t, 8}, 3);
}

static val gather(const scene *s, val x, val index)
{
    node *n = node_new(s->g, OP_gather);

    node_input(s->g, n, x);
    node_input(s->g, n, index);
    return node_add(s->g, n);
}

static void test_leaves(void **state)
{
    scene s = scene_new();
    node *n = node_new(s.g, OP_iota);

    (void)state;
    want_known(&s, shape(&s), "N,T,8");
    want_known(&s, ints(&s, HULL_I64, I(1, -2, 3), 3), "1,-2,3");
    want_known(&s, ints(&s, HULL_I32, I(7, -1), 2), "7,-1");
    want_known(&s, op_scalar_i64(s.g, HULL_I64, -5), "-5");
    want_known(&s, op_scalar(s.g, HULL_F32, 2), "-");
    want_known(&s, op_scalar_i64(s.g, HULL_U8, 5), "-");
    node_dims(s.g, n, "shape", (const dim[]){4}, 1);
    want_known(&s, node_add(s.g, n), "0,1,2,3");
    n = node_new(s.g, OP_iota);
    node_dims(s.g, n, "shape", (const dim[]){65}, 1);
    want_known(&s, node_add(s.g, n), "-");
    n = node_new(s.g, OP_iota);
    node_dims(s.g, n, "shape", &s.n, 1);
    want_known(&s, node_add(s.g, n), "-");
    ir_free(s.m);
}

static void test_arithmetic(void **state)
{
    scene s = scene_new();
    val d = shape(&s), two = op_scalar_i64(s.g, HULL_I64, 2);
    val zero = op_scalar_i64(s.g, HULL_I64, 0);
    val minus = op_scalar_i64(s.g, HULL_I64, -7);

    (void)state;
    want_known(&s, op_binary(s.g, OP_mul, d, two), "2*N,2*T,16");
    want_known(&s, op_binary(s.g, OP_add, d, two), "N+2,T+2,10");
    want_known(&s, op_binary(s.g, OP_sub, d, d), "0,0,0");
    want_known(&s, op_unary(s.g, OP_neg, two), "-2");
    want_known(&s, op_binary(s.g, OP_div, minus, two), "-3");
    want_known(&s, op_binary(s.g, OP_mod, minus, two), "1");
    want_known(&s, op_binary(s.g, OP_div,
                             op_binary(s.g, OP_mul, d, two), two), "N,T,8");
    want_known(&s, op_binary(s.g, OP_div, minus, zero), "-");
    want_known(&s, op_binary(s.g, OP_min, minus, two), "-7");
    want_known(&s, op_binary(s.g, OP_max, minus, two), "2");
    ir_free(s.m);
}

static void test_wraps_are_unknown(void **state)
{
    scene s = scene_new();
    val big = op_scalar_i64(s.g, HULL_I32, INT32_MAX);
    val one = op_scalar_i64(s.g, HULL_I32, 1);

    (void)state;
    want_known(&s, op_binary(s.g, OP_add, big, one), "-");
    ir_free(s.m);
}

static void test_where_and_compare(void **state)
{
    scene s = scene_new();
    val d, minus, is, n;

    (void)state;
    dim_set_range(s.m, s.n, 1, 64);
    d = op_dims(s.g, (const dim[]){s.n, dim_int(s.m, -1), 4}, 3);
    minus = op_scalar_i64(s.g, HULL_I64, -1);
    is = op_binary(s.g, OP_eq, d, minus);
    want_known(&s, is, "0,1,0");
    {
        node *w = node_new(s.g, OP_where);

        node_input(s.g, w, is);
        node_input(s.g, w, op_scalar_i64(s.g, HULL_I64, 9));
        node_input(s.g, w, d);
        n = node_add(s.g, w);
    }
    want_known(&s, n, "N,9,4");
    want_known(&s, op_unary(s.g, OP_not, is), "1,0,1");
    want_known(&s, op_binary(s.g, OP_gt, d, minus), "1,0,1");
    want_known(&s, op_binary(s.g, OP_ge, d, minus), "1,1,1");
    want_known(&s, op_binary(s.g, OP_lt, minus, d), "1,0,1");
    want_known(&s, op_cast(s.g, is, HULL_I64), "0,1,0");
    want_known(&s, op_cast(s.g, d, HULL_I32), "N,-1,4");
    want_known(&s, op_cast(s.g, op_cast(s.g, d, HULL_F32), HULL_I64), "-");
    ir_free(s.m);
}

static void test_movement(void **state)
{
    scene s = scene_new();
    val d = shape(&s), one, joined;
    node *r;

    (void)state;
    one = gather(&s, d, ints(&s, HULL_I64, I(1), 1));
    want_known(&s, one, "T");
    want_known(&s, gather(&s, d, op_scalar_i64(s.g, HULL_I64, -1)), "8");
    want_known(&s, gather(&s, d, ints(&s, HULL_I32, I(2, 0, 0), 3)), "8,N,N");
    want_known(&s, gather(&s, d, op_scalar_i64(s.g, HULL_I64, 3)), "-");
    want_known(&s, op_slice(s.g, d, 0, 1, 3, 1), "T,8");
    want_known(&s, op_slice(s.g, d, 0, 0, dim_int(s.m, -1), 1), "N,T");
    want_known(&s, op_slice(s.g, d, 0, dim_int(s.m, -1),
                            dim_int(s.m, INT64_MIN + 1), -1), "8,T,N");
    want_known(&s, op_slice(s.g, d, 0, 2, 1, 1), "");
    joined = op_concat(s.g, (const val[]){one, d}, 2, 0);
    want_known(&s, joined, "T,N,T,8");
    want_known(&s, op_reshape(s.g, one, NULL, 0), "T");
    want_known(&s, op_expand(s.g, one, (const dim[]){3}, 1), "T,T,T");
    r = node_new(s.g, OP_reduce_prod);
    node_input(s.g, r, d);
    node_ints(s.g, r, "axes", I(0), 1);
    want_known(&s, node_add(s.g, r), "8*N*T");
    r = node_new(s.g, OP_reduce_sum);
    node_input(s.g, r, ints(&s, HULL_I64, I(1, 2, 3), 3));
    node_ints(s.g, r, "axes", NULL, 0);
    want_known(&s, node_add(s.g, r), "6");
    ir_free(s.m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leaves),
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_wraps_are_unknown),
        cmocka_unit_test(test_where_and_compare),
        cmocka_unit_test(test_movement),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
