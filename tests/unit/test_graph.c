/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * Building, walking, rewriting and copying graphs.
 */
#include "unit.h"

#include "ir/ir.h"

#include <string.h>

static ir *m;
static graph *g;
static val x;

static int setup(void **state)
{
    dim n;
    type t;

    (void)state;
    if (ir_new(&m) != HULL_OK)
        return -1;
    n = dim_sym(m, str_of("N"));
    t = type_tensor(m, HULL_F32, &n, 1);
    g = graph_new(m, str_of("g"));
    x = graph_param(g, str_of("x"), &t);
    return x == 0 ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    ir_free(m);
    return 0;
}

static void text_is(const graph *which, const char *want)
{
    buf b;

    buf_init(&b, 1 << 20);
    graph_print(&b, which);
    assert_int_equal(buf_status(&b), HULL_OK);
    assert_string_equal(b.p, want);
    buf_fini(&b);
}

static void types_are_inferred(void **state)
{
    val y = op_unary(g, OP_relu, x), z = op_cast(g, y, HULL_F16);

    (void)state;
    assert_int_not_equal(z, 0);
    assert_true(type_eq(m, graph_type(g, y), graph_type(g, x)));
    assert_int_equal(graph_type(g, z)->dtype, HULL_F16);
    assert_int_equal(op_cast(g, z, HULL_F16), z);
    assert_ptr_equal(graph_def(g, z)->prev, graph_def(g, y));
    assert_null(graph_def(g, x));
    assert_int_equal(graph_n_nodes(g), 2);
    graph_result(g, z);
    assert_int_equal(graph_verify(g), HULL_OK);
}

static void failure_is_sticky(void **state)
{
    node *n = node_new(g, OP_add);
    val y;

    (void)state;
    node_input(g, n, x);
    assert_int_equal(node_add(g, n), 0); /* one operand is missing */
    assert_int_equal(ir_status(m), HULL_EINVAL);
    error_clear();
    y = op_unary(g, OP_relu, x);
    assert_int_equal(y, 0);
    assert_null(node_new(g, OP_relu));
    node_input(g, NULL, y);
    node_int(g, NULL, "axis", 1);
    assert_int_equal(node_add(g, NULL), 0);
    graph_result(g, y);
    assert_null(graph_new(m, str_of("h")));
    assert_int_equal(dim_sym(m, str_of("Z")), DIM_UNKNOWN);
    assert_int_equal(ir_status(m), HULL_EINVAL);
    assert_non_null(strstr(error_text(), "'add'"));
    assert_int_equal(graph_n_nodes(g), 0);
}

static void wrong_attributes_fail(void **state)
{
    node *n = node_new(g, OP_softmax);

    (void)state;
    node_float(g, n, "axis", 1.0);
    assert_int_equal(ir_status(m), HULL_EINTERNAL);
}

static void missing_operands(void **state)
{
    node *n = node_new(g, OP_layer_norm);
    val y;

    (void)state;
    node_input(g, n, x);
    node_input(g, n, 0);
    node_input(g, n, 0);
    node_int(g, n, "axis", 0);
    node_float(g, n, "eps", 1e-5);
    y = node_add(g, n);
    assert_int_not_equal(y, 0);
    assert_int_equal(n->n_in, 1); /* trailing missing ones are not kept */
    assert_true(attr_is_set(n, "axis"));
    assert_true(attr_float(n, "eps") == 1e-5);
}

static void insertion_points(void **state)
{
    val a = op_unary(g, OP_relu, x), b = op_unary(g, OP_neg, a), c;

    (void)state;
    g->insert_before = graph_def(g, b);
    c = op_unary(g, OP_exp, a);
    g->insert_before = NULL;
    assert_ptr_equal(graph_def(g, c)->next, graph_def(g, b));
    assert_ptr_equal(graph_def(g, c)->prev, graph_def(g, a));
}

static void replacing(void **state)
{
    val a = op_unary(g, OP_relu, x), b = op_unary(g, OP_neg, a);
    val c = op_unary(g, OP_exp, b);
    uint32_t *uses;

    (void)state;
    graph_result(g, c);
    graph_result(g, b);
    graph_replace(g, b, a);
    graph_replace(g, a, x);
    graph_replace(g, x, b); /* b is x by now: nothing to do */
    assert_int_equal(graph_resolve(g, b), x);
    uses = graph_uses(g);
    /* by a's node, b's node (through a), c's node and the result */
    assert_int_equal(uses[x], 4);
    graph_settle(g);
    assert_int_equal(graph_def(g, c)->in[0], x);
    graph_remove_dead(g);
    assert_int_equal(graph_verify(g), HULL_OK);
    text_is(g, "graph @g(%x: f32[N]) {\n  %0 = exp %x : f32[N]\n"
               "  return %0, %x\n}\n");
}

/* An If whose branches use x and an outer value. */
static val add_if(val cond, val outer)
{
    node *n = node_new(g, OP_if);
    val a;

    node_input(g, n, cond);
    g->insert_in = node_body(g, n, "then");
    a = op_unary(g, OP_relu, outer);
    graph_result(g, a);
    g->insert_in = node_body(g, n, "else");
    op_unary(g, OP_sin, outer); /* dead */
    graph_result(g, x);
    g->insert_in = NULL;
    return node_add(g, n);
}

static const char if_text[] = "graph @g(%x: f32[N]) {\n"
                              "  %0 = const {value=true} : bool[]\n"
                              "  %1 = neg %x : f32[N]\n"
                              "  %2 = if %0 {then=graph () {\n"
                              "    %3 = relu %1 : f32[N]\n"
                              "    return %3\n"
                              "  }, else=graph () {\n"
                              "    return %x\n"
                              "  }} : f32[N]\n"
                              "  return %2\n"
                              "}\n";

static void build_if(void)
{
    uint8_t yes = 1;
    val c = op_const(g, HULL_BOOL, NULL, 0, &yes);
    val outer = op_unary(g, OP_neg, x);
    val r = add_if(c, outer);

    assert_int_not_equal(r, 0);
    op_unary(g, OP_exp, r); /* dead */
    graph_result(g, r);
}

static void walk_meets_bodies_first(void **state)
{
    static const op_code order[] = { OP_const, OP_neg, OP_relu,
                                     OP_sin,   OP_if,  OP_exp };
    uint32_t i = 0;

    (void)state;
    build_if();
    for (node *n = graph_first(g); n != NULL; n = graph_next(g, n), i++)
        assert_int_equal(n->op, order[i]);
    assert_int_equal(i, COUNT_OF(order));
    graph_remove_dead(g);
    assert_int_equal(graph_n_nodes(g), 4);
    text_is(g, if_text);
}

static void copies(void **state)
{
    ir *to;
    graph *h;

    (void)state;
    build_if();
    graph_remove_dead(g);
    graph_set_state(g, 0, 0, str_of("s"));
    assert_int_equal(ir_new(&to), HULL_OK);
    h = graph_copy(to, g, str_of("h"));
    assert_non_null(h);
    assert_int_equal(h->n_states, 1);
    assert_int_equal(h->n_values, 6); /* dense, the none value included */
    assert_int_equal(graph_verify(h), HULL_OK);
    ir_free(m);
    m = to; /* the copy needs nothing of the original */
    assert_int_equal(graph_n_nodes(h), 4);
    h->n_states = 0;
    h->name = str_of("g");
    text_is(h, if_text);
    assert_non_null(graph_copy(m, h, str_of("again")));
    assert_int_equal(ir_verify(m), HULL_OK);
}

static void known_values(void **state)
{
    dim d[2] = { 3, dim_sym(m, str_of("N")) };
    val v = op_dims(g, d, 2);

    (void)state;
    assert_int_not_equal(v, 0);
    value_set_known(g, v, d, 2);
    assert_int_equal(graph_value(g, v)->n_known, 2);
    assert_int_equal(graph_value(g, v)->known[1], d[1]);
    value_set_known(g, v, NULL, 0);
    assert_null(graph_value(g, v)->known);
    value_set_known(g, v, d, 65);
    assert_null(graph_value(g, v)->known);
}

static void ranks_and_sizes_are_checked(void **state)
{
    dim dims[20] = { 0 };
    type t;

    (void)state;
    t = type_tensor(m, HULL_F32, dims, 17);
    assert_int_equal(t.kind, TYPE_NONE);
    assert_int_equal(ir_status(m), HULL_EUNSUPPORTED);
}

static void huge_literals_are_refused(void **state)
{
    int64_t shape[2] = { INT64_MAX, 4 };
    uint8_t byte = 0;

    (void)state;
    assert_int_equal(op_const(g, HULL_U8, shape, 2, &byte), 0);
    assert_int_equal(ir_status(m), HULL_ESHAPE);
}

static void types_compare(void **state)
{
    dim a[2] = { 2, DIM_UNKNOWN }, b[2] = { 2, 5 }, c[2] = { 3, 5 };
    type ta = type_tensor(m, HULL_F32, a, 2),
         tb = type_tensor(m, HULL_F32, b, 2);
    type tc = type_tensor(m, HULL_F32, c, 2), sa = type_sequence(m, &ta);
    type sb = type_sequence(m, &tb), oa = type_optional(m, &ta);

    (void)state;
    assert_true(type_agrees(m, &ta, &tb));
    assert_false(type_eq(m, &ta, &tb));
    assert_true(type_eq(m, &ta, &ta));
    assert_false(type_agrees(m, &ta, &tc));
    assert_true(type_agrees(m, &sa, &sb));
    assert_false(type_agrees(m, &sa, &oa));
    assert_false(type_agrees(m, &sa, &ta));
    assert_true(type_is_static(m, &tb));
    assert_false(type_is_static(m, &ta));
    assert_int_equal(type_numel(m, &tb), 10);
}

static void survives_no_memory(void **state)
{
    int64_t live = mem_live();
    bool done = false;

    (void)state;
    for (uint64_t k = 1; !done; k++) {
        ir *i = NULL;
        graph *h;
        type t;

        mem_fail_at(k, false);
        if (ir_new(&i) == HULL_OK) {
            h = graph_new(i, str_of("h"));
            t = type_tensor(i, HULL_F32, NULL, 0);
            val v = graph_param(h, str_of("x"), &t);

            for (int j = 0; j < 300; j++)
                v = op_binary(h, OP_add, v, op_scalar(h, HULL_F32, j));
            graph_result(h, v);
            if (h != NULL) {
                graph_remove_dead(h);
                graph_canonical_order(h);
            }
            done = ir_status(i) == HULL_OK;
        }
        mem_fail_at(0, false);
        ir_free(i);
        assert_int_equal(mem_live(), live);
    }
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(types_are_inferred),
        CASE(failure_is_sticky),
        CASE(wrong_attributes_fail),
        CASE(missing_operands),
        CASE(insertion_points),
        CASE(replacing),
        CASE(walk_meets_bodies_first),
        CASE(copies),
        CASE(known_values),
        CASE(ranks_and_sizes_are_checked),
        CASE(huge_literals_are_refused),
        CASE(types_compare),
        CASE(survives_no_memory),
    };

    return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
