/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_places.c - plans of the interpreter that place values in each other and
 * keep what depends on shapes alone: run again with other inputs, beside a plan
 * for another shape, and with memory that nothing else keeps alive.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"

static const char text[] =
    "graph @g(%x: f32[N,2]) {\n"
    "  %0 = iota {shape=[N,2], axis=0, dtype=f32}\n"
    "  %1 = iota {shape=[N,2], axis=1, dtype=f32}\n"
    "  %2 = add %0, %1\n"        /* fixed, kept */
    "  %3 = neg %x\n"            /* in the concat */
    "  %4 = reshape %3 {shape=[2*N]}\n"
    "  %5 = reshape %x {shape=[2*N]}\n"
    "  %6 = concat %5, %4 {axis=0}\n"
    "  %7 = slice %6 {axes=[0], starts=[1], ends=[3]}\n"
    "  %8 = abs %7\n"            /* reads a piece of the concat */
    "  %9 = mul %2, %x\n"
    "  return %9, %6, %8, %2\n"
    "}\n";

typedef struct planned {
    host_plan *plan;
    int64_t n;
    char *scratch;
} planned;

static planned plan_for(const host_program *p, int64_t n)
{
    planned r = {.n = n};
    shape x = {.rank = 2, .dims = {n, 2}}, results[4];
    uint64_t scratch;

    assert_int_equal(host_program_plan(&r.plan, p, &x, 1, results, &scratch),
                     HULL_OK);
    assert_int_equal(results[1].dims[0], 4 * n);
    r.scratch = malloc(scratch + 1);
    assert_non_null(r.scratch);
    return r;
}

static void run_and_check(const host_program *p, const planned *r, float first)
{
    float x[16], y[16], both[32], two[2], fixed[16];
    void *params[] = {x}, *results[] = {y, both, two, fixed};
    int64_t n = 2 * r->n;

    for (int64_t i = 0; i < n; i++)
        x[i] = first + (float)i;
    memset(r->scratch, 0x7f, 1);
    assert_int_equal(host_program_run(p, r->plan, params, results, r->scratch,
                                      ALL_NODES, NULL),
                     HULL_OK);
    for (int64_t i = 0; i < n; i++) {
        float at = (float)(i / 2 + i % 2);

        assert_true(fixed[i] == at);
        assert_true(y[i] == at * x[i]);
        assert_true(both[i] == x[i] && both[n + i] == -x[i]);
    }
    for (int i = 0; i < 2; i++)
        assert_true(two[i] == (both[1 + i] < 0 ? -both[1 + i] : both[1 + i]));
}

static void plans_run_again(void **state)
{
    host_program *p;
    planned a, b;
    ir *m;

    (void)state;
    assert_int_equal(ir_parse(&m, str_of(text), NULL), HULL_OK);
    assert_int_equal(host_program_load(&p, m->graphs[0], NULL), HULL_OK);
    a = plan_for(p, 3);
    b = plan_for(p, 8);
    run_and_check(p, &a, 1);
    run_and_check(p, &b, -5);
    run_and_check(p, &a, 100);
    run_and_check(p, &b, 0.5f);
    host_plan_free(a.plan);
    run_and_check(p, &b, 7);
    host_plan_free(b.plan);
    free(a.scratch);
    free(b.scratch);
    host_program_free(p);
    ir_free(m);
    assert_int_equal(mem_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_run_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
