/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * Partitions of graphs that are large: what a block costs must not grow with
 * the graph around it. The golden files of tests/partition say what comes out.
 */
#include "unit.h"

#include "compile/compile.h"

#define GROUPS 15000 /* of 4 nodes, every other one for ref alone */

static void put_group(buf *b, uint32_t i)
{
    const char *dtype = i % 2 == 0 ? "f32" : "f64";
    char last[32];

    if (i == 0)
        snprintf(last, sizeof(last), "%%x");
    else
        snprintf(last, sizeof(last), "%%d%u", i - 1);
    buf_printf(b, "  %%w%u = weight \"w%u\" : %s[4,4]\n", i, i, dtype);
    buf_printf(b, "  %%a%u = cast %s {to=%s}\n", i, last, dtype);
    buf_printf(b, "  %%b%u = matmul %%a%u, %%w%u\n", i, i, i);
    buf_printf(b, "  %%c%u = relu %%b%u\n", i, i);
    buf_printf(b, "  %%d%u = neg %%c%u\n", i, i);
}

static void many_blocks(void **state)
{
    options *o;
    devices ds;
    plan *p;
    ir *m, *blocks;
    buf b;

    (void)state;
    buf_init(&b, (size_t)1 << 26);
    buf_puts(&b, "graph @g(%x: f32[2,4]) {\n");
    for (uint32_t i = 0; i < GROUPS; i++)
        put_group(&b, i);
    buf_printf(&b, "  return %%d%d\n}\n", GROUPS - 1);
    assert_int_equal(buf_status(&b), HULL_OK);
    assert_int_equal(options_new(&o), HULL_OK);
    assert_int_equal(hull_options_set(o, "backends", "sim,ref"), HULL_OK);
    assert_int_equal(devices_open(&ds, o), HULL_OK);
    assert_int_equal(plan_new(&p), HULL_OK);
    assert_int_equal(ir_parse(&m, buf_view(&b), NULL), HULL_OK);
    assert_int_equal(partition(p, &blocks, m->graphs[0], &ds), HULL_OK);
    assert_int_equal(blocks->n_graphs, GROUPS + 1); /* and @main */
    for (uint32_t i = 0; i < 3; i++) { /* its own weight, no other */
        uint32_t n_holes;

        assert_non_null(graph_holes(blocks->graphs[GROUPS - i], &n_holes));
        assert_int_equal(n_holes, 1);
    }
    ir_free(blocks);
    ir_free(m);
    plan_free(p);
    devices_close(&ds);
    options_free(o);
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_blocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
