/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * Verify: a good graph passes and stays as it is; each kind of damage is found
 * and told; many problems come in one message.
 */
#include "unit.h"

#include "ir/ir.h"

#include <string.h>

static const char good[] =
    "graph @main(%c: bool[], %x: f32[N,4], %s: f32[2] = state \"s\") {\n"
    "  %w = weight \"w\" : f32[4]\n"
    "  %y = add %x, %w : f32[N,4]\n"
    "  %z = relu %y : f32[N,4]\n"
    "  %k = const {value=[1.0,2.0]} : f32[2]\n"
    "  %r = if %c {then=graph () {\n"
    "    %a = neg %z : f32[N,4]\n"
    "    return %a\n"
    "  }, else=graph () {\n"
    "    return %x\n"
    "  }} : f32[N,4]\n"
    "  return %r, %k -> \"s\"\n"
    "}\n";

static ir *m;
static graph *g;

static int setup(void **state)
{
    (void)state;
    if (ir_parse(&m, str_of(good), NULL) != HULL_OK)
        return -1;
    g = m->graphs[0];
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ir_free(m);
    return 0;
}

static node *node_of(op_code op)
{
    for (node *n = graph_first(g); n != NULL; n = graph_next(g, n))
        if (n->op == op)
            return n;
    return NULL;
}

static void found(const char *want)
{
    g->m->edits++; /* by hand, past the calls that count */
    assert_int_equal(graph_verify(g), HULL_EFORMAT);
    if (strstr(error_text(), want) == NULL) {
        print_error("wanted: %s\nfound: %s\n", want, error_text());
        assert_true(false);
    }
}

static void good_graphs_pass_unchanged(void **state)
{
    buf b;

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(ir_verify(m), HULL_OK);
    buf_init(&b, 1 << 16);
    ir_print(&b, m);
    assert_string_equal(b.p, good);
    buf_fini(&b);
}

static void use_before_definition(void **state)
{
    (void)state;
    node_of(OP_add)->in[0] = node_of(OP_relu)->out[0];
    found("graph 'main' op 'add' (%y): operand 0 (value");
    found("is used before its definition");
}

static void use_out_of_scope(void **state)
{
    (void)state;
    g->body->results[0] = node_of(OP_neg)->out[0];
    found("not visible here");
}

static void values_out_of_range(void **state)
{
    (void)state;
    node_of(OP_relu)->in[0] = 4711;
    found("operand 0 is value 4711 of");
}

static void wrong_counts(void **state)
{
    (void)state;
    node_of(OP_add)->n_in = 1;
    found("1 operands, 2 to 2 are wanted");
}

static void missing_operand(void **state)
{
    (void)state;
    node_of(OP_add)->in[1] = 0;
    found("operand 1 is missing");
}

static void wrong_links(void **state)
{
    (void)state;
    node_of(OP_relu)->prev = NULL;
    found("the list of nodes is broken");
}

static void wrong_owner(void **state)
{
    (void)state;
    g->values[node_of(OP_relu)->out[0]]->def = node_of(OP_add);
    found("names another definition");
}

static void wrong_types(void **state)
{
    dim d[2] = { 7, 4 };
    type t = type_tensor(m, HULL_F32, d, 2);

    (void)state;
    value_set_type(g, node_of(OP_relu)->out[0], &t);
    found("op 'relu' (%z): result 0 has type f32[7,4], the shape rule gives "
          "f32[N,4]");
}

static void unknown_sizes_agree(void **state)
{
    dim d[2] = { DIM_UNKNOWN, 4 };
    type t = type_tensor(m, HULL_F32, d, 2);

    (void)state;
    value_set_type(g, node_of(OP_relu)->out[0], &t);
    assert_int_equal(graph_verify(g), HULL_OK);
}

static void missing_attribute(void **state)
{
    (void)state;
    node_of(OP_const)->attrs[0].set = false;
    found("attribute 'value' is missing");
}

static void damaged_literal(void **state)
{
    literal *l = (literal *)node_attr(node_of(OP_const), "value")->u.t;

    (void)state;
    l->shape[0] = 3;
    found("does not have the size of its shape");
}

static void damaged_digest(void **state)
{
    int64_t n = 100;
    float v[100] = { 0 };
    val c = op_const(g, HULL_F32, &n, 1, v);
    literal *l;

    (void)state;
    assert_int_equal(graph_verify(g), HULL_OK);
    l = (literal *)node_attr(graph_def(g, c), "value")->u.t;
    l->digest.b[3] ^= 1;
    found("does not have its digest");
}

static void repeated_holes(void **state)
{
    type t = *graph_type(g, node_of(OP_weight)->out[0]);

    (void)state;
    op_weight(g, str_of("w"), &t);
    found("weight \"w\" is declared twice");
}

static void bad_states(void **state)
{
    (void)state;
    g->states[0].result = 0;
    found("state \"s\" has type f32[2], it would become f32[N,4]");
    g->states[0].result = 9;
    found("joins parameter 2 of 3 and result 9 of 2");
    g->states[0].result = 1;
    graph_set_state(g, 2, 1, str_of("t"));
    found("shares a parameter or result");
}

static void bad_body(void **state)
{
    node *n = node_of(OP_if);

    (void)state;
    n->attrs[0].u.g->owner = node_of(OP_add);
    found("belongs to another node");
}

static void bad_op_code(void **state)
{
    (void)state;
    node_of(OP_relu)->op = (op_code)9999;
    found("op code 9999");
}

static void all_problems_in_one_message(void **state)
{
    uint32_t separators = 0;
    type t = type_tensor(m, HULL_I32, NULL, 0);

    (void)state;
    for (int i = 0; i < 30; i++) {
        val y = op_unary(g, OP_neg, g->body->params[1]);

        value_set_type(g, y, &t);
    }
    found("; and 10 more");
    for (const char *p = error_text(); (p = strstr(p, "; ")) != NULL; p++)
        separators++;
    assert_int_equal(separators, 20);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(good_graphs_pass_unchanged),
        CASE(use_before_definition),
        CASE(use_out_of_scope),
        CASE(values_out_of_range),
        CASE(wrong_counts),
        CASE(missing_operand),
        CASE(wrong_links),
        CASE(wrong_owner),
        CASE(wrong_types),
        CASE(unknown_sizes_agree),
        CASE(missing_attribute),
        CASE(damaged_literal),
        CASE(damaged_digest),
        CASE(repeated_holes),
        CASE(bad_states),
        CASE(bad_body),
        CASE(bad_op_code),
        CASE(all_problems_in_one_message),
    };

    return cmocka_run_group_tests_name("verify", tests, NULL, NULL);
}
