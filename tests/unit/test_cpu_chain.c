/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_cpu_chain.c - which nodes the cpu backend joins to chains, and that it
 * tells why others are left. What chains compute is cpu_check's matter.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "ops/family.h"
#include "options/options.h"

/* The steps of the block's chains, one chain after the other. */
static void lowers(const char *body, const char *want)
{
    pool *p;
    device *d;
    options *o;
    char text[4096], found[512] = "";
    ir *m;

    snprintf(text, sizeof text, "graph @b(%s}\n", body);
    assert_int_equal(options_new(&o), HULL_OK);
    assert_int_equal(pool_new(&p, 1), HULL_OK);
    assert_int_equal(backend_cpu.open(&d, o, p), HULL_OK);
    if (ir_parse(&m, str_of(text), NULL) != HULL_OK)
        print_error("%s\n", error_text());
    assert_non_null(m);
    assert_int_equal(cpu_lower(d, m->graphs[0], o, NULL), HULL_OK);
    assert_int_equal(graph_verify(m->graphs[0]), HULL_OK);
    for (const node *n = graph_first(m->graphs[0]); n != NULL;
         n = graph_next(m->graphs[0], n)) {
        chain_code c;

        if (n->op != OP_chain)
            continue;
        assert_int_equal(chain_read(&c, n), HULL_OK);
        for (uint32_t i = 0; i < c.n; i++)
            snprintf(found + strlen(found), sizeof found - strlen(found),
                     "%s ", c.steps[i].to != HULL_NONE
                                ? hull_dtype_name(c.steps[i].to)
                                : op_get(c.steps[i].op)->name);
        snprintf(found + strlen(found), sizeof found - strlen(found),
                 "of %u;", n->n_in);
    }
    ir_free(m);
    backend_cpu.close(d);
    pool_free(p);
    options_free(o);
    assert_string_equal(found, want);
}

static bool has_kernel(void)
{
    cpu_features has;

    assert_int_equal(cpu_features_get(&has), HULL_OK);
    return has.level != CPU_ANY;
}

static void test_joins(void **state)
{
    (void)state;
    if (!has_kernel())
        skip();
    /* weights as scalars and rows; a value read twice inside */
    lowers("%x: f32[N,24]) {\n"
           "  %s = weight \"s\" : f32[1]\n"
           "  %b = weight \"b\" : f32[24]\n"
           "  %0 = mul %x, %s\n  %1 = add %0, %b\n"
           "  %2 = hard_sigmoid %1 {alpha=0.2, beta=0.5}\n"
           "  %3 = mul %1, %2\n  return %3\n",
           "mul add hard_sigmoid mul of 3;");
    /* a reader outside ends a chain; what goes on is another one */
    lowers("%x: f32[4,9]) {\n"
           "  %0 = exp %x\n  %1 = neg %0\n  %2 = tanh %1\n  %3 = abs %2\n"
           "  %4 = reduce_sum %1 {axes=[1]}\n  return %3, %4\n",
           "exp neg of 1;tanh abs of 1;");
    /* a product's epilogue comes first */
    lowers("%x: f32[64,64]) {\n"
           "  %w = weight \"w\" : f32[64,64]\n"
           "  %0 = matmul %x, %w\n  %1 = relu %0\n  %2 = neg %1\n"
           "  %3 = exp %2\n  return %3\n",
           "neg exp of 1;");
}

/* 16 bits are widened and rounded inside; what else a cast makes is left. */
static void test_casts(void **state)
{
    (void)state;
    if (!has_kernel())
        skip();
    lowers("%x: f16[N,24]) {\n"
           "  %s = weight \"s\" : f16[1]\n"
           "  %0 = mul %x, %s\n  %1 = gelu %0\n  %2 = sub %1, %x\n"
           "  return %2\n",
           "f32 mul f16 f32 gelu f16 f32 f32 sub f16 of 2;");
    lowers("%x: bf16[7]) {\n  %0 = tanh %x\n  return %0\n",
           "f32 tanh bf16 of 1;");
    lowers("%x: f32[7], %i: i32[7]) {\n"
           "  %0 = cast %i {to=f32}\n  %1 = mul %0, %x\n"
           "  %2 = cast %1 {to=i64}\n  return %2\n", "");
}

static void test_leaves(void **state)
{
    (void)state;
    if (!has_kernel())
        skip();
    /* smaller results */
    lowers("%x: f32[5,1], %y: f32[5,20]) {\n"
           "  %0 = neg %x\n  %1 = add %0, %y\n  return %1\n", "");
    /* what no input changes, other types, rounding, bounds of NaN */
    lowers("%x: f32[6], %i: i64[6]) {\n"
           "  %w = weight \"w\" : f32[6]\n"
           "  %0 = exp %w\n  %1 = neg %0\n  %2 = mul %x, %1\n"
           "  %3 = div %2, %x {round=\"floor\"}\n"
           "  %4 = clamp %3 {min=nan, max=1.0}\n"
           "  %5 = neg %i\n  %6 = abs %5\n  return %4, %6\n", "");
    /* rows of two that an operand has one element for */
    lowers("%x: f32[50,1], %y: f32[50,2]) {\n"
           "  %0 = mul %x, %y\n  %1 = neg %0\n  return %1\n", "");
    /* readers of another body */
    lowers("%c: bool[], %x: f32[3]) {\n"
           "  %0 = neg %x\n"
           "  %1 = if %c {then=graph () {\n    %2 = abs %0\n    return %2\n"
           "  }, else=graph () {\n    return %x\n  }}\n  return %1\n", "");
}

/* 30 steps: as many as there may be in one, the rest in another. */
static void test_limits(void **state)
{
    char text[2048], want[512] = "";
    int n = snprintf(text, sizeof text, "%%x: f32[70]) {\n  %%0 = neg %%x\n");

    (void)state;
    if (!has_kernel())
        skip();
    for (int i = 1; i < 30; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "  %%%d = neg %%%d\n",
                      i, i - 1);
    snprintf(text + n, sizeof text - (size_t)n, "  return %%29\n");
    for (int i = 0; i < 30; i++)
        snprintf(want + strlen(want), sizeof want - strlen(want), "%s",
                 i == 5 || i == 29 ? "neg of 1;" : "neg ");
    lowers(text, want);
}

static char told[4096];

static void listen(void *user, const char *subsystem, int level,
                   const char *line)
{
    (void)user;
    (void)subsystem;
    (void)level;
    snprintf(told + strlen(told), sizeof told - strlen(told), "%s\n", line);
}

static void test_tells_why(void **state)
{
    (void)state;
    if (!has_kernel())
        skip();
    assert_int_equal(log_configure("passes:debug"), HULL_OK);
    log_set_sink(listen, NULL);
    test_leaves(state);
    test_limits(state);
    log_set_sink(NULL, NULL);
    assert_int_equal(log_configure(""), HULL_OK);
    assert_non_null(strstr(told, "its reader has another shape"));
    assert_non_null(strstr(told, "it does not depend on an input"));
    assert_non_null(strstr(told, "it rounds"));
    assert_non_null(strstr(told, "a bound is NaN"));
    assert_non_null(strstr(told, "it is not of f32"));
    assert_non_null(strstr(told, "along a short last axis"));
    assert_non_null(strstr(told, "its readers are not in one chain"));
    assert_non_null(strstr(told, "its reader is in another body"));
    assert_non_null(strstr(told, "all the steps that it may have"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_joins),
        cmocka_unit_test(test_casts),
        cmocka_unit_test(test_leaves),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_tells_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
