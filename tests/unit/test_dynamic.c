/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_dynamic.c - models whose sizes a run decides, through the public API:
 * a shape that is an input, results as many as the data say, such a module
 * saved, loaded and refitted, and what a run has to refuse.
 */
#include "compile_unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "onnx_maker.h"

enum { F32 = 1, I64 = 7 };

/* r = relu(reshape(x w, s)), where = nonzero(r), k = x[:, :n] */
static void write_model(char path[64])
{
    const float w[8] = {1, 0, -1, 0, 0, 1, 0, -1};
    const int64_t x[2] = {-1, 2}, s[1] = {2}, one[1] = {1}, ws[2] = {2, 4};
    const int64_t zero[1] = {0}, axis[1] = {1};
    maker m = maker_new(17);

    put_value(&m.graph, 11, "x", F32, x, 2);
    put_value(&m.graph, 11, "s", I64, s, 1);
    put_value(&m.graph, 11, "n", I64, one, 1);
    put_stored(&m.graph, "w", F32, ws, 2, w, sizeof w);
    put_i64s(&m.graph, "from", zero, 1);
    put_i64s(&m.graph, "axis", axis, 1);
    put_node(&m.graph, "MatMul", "x w", "y", NULL);
    put_node(&m.graph, "Reshape", "y s", "z", NULL);
    put_node(&m.graph, "Relu", "z", "r", NULL);
    put_node(&m.graph, "NonZero", "r", "where", NULL);
    put_node(&m.graph, "Slice", "x from n axis", "k", NULL);
    put_value(&m.graph, 12, "r", F32, x, 2);
    put_value(&m.graph, 12, "where", I64, x, 2);
    put_value(&m.graph, 12, "k", F32, x, 2);
    maker_write(&m, path);
    assert_true(path[0] != 0);
}

typedef struct call {
    float x[6];
    int64_t xs[2], s[2], n, two, one;
    hull_tensor in[3], out[3];
} call;

/* x [3,2] = 1 .. 6 */
static void prepare(call *c, int64_t rows, int64_t columns, int64_t n)
{
    *c = (call){.xs = {3, 2}, .s = {rows, columns}, .n = n, .two = 2,
                .one = 1};
    for (int i = 0; i < 6; i++)
        c->x[i] = (float)(i + 1);
    c->in[0] = (hull_tensor){.data = c->x, .shape = c->xs, .rank = 2,
                             .dtype = HULL_F32};
    c->in[1] = (hull_tensor){.data = c->s, .shape = &c->two, .rank = 1,
                             .dtype = HULL_I64};
    c->in[2] = (hull_tensor){.data = &c->n, .shape = &c->one, .rank = 1,
                             .dtype = HULL_I64};
}

/* x w has the rows 1 2 -1 -2, 3 4 -3 -4, 5 6 -5 -6: as rows of two, every
 * second one is kept by relu. */
static void check_run(hull_session *s, float scale)
{
    const int64_t row[6] = {0, 0, 2, 2, 4, 4}, column[6] = {0, 1, 0, 1, 0, 1};
    const float *r;
    call c;

    prepare(&c, -1, 2, 1);
    assert_int_equal(hull_session_run(s, c.in, 3, c.out, 3), HULL_OK);
    assert_int_equal(c.out[0].rank, 2);
    assert_int_equal(c.out[0].shape[0], 6);
    assert_int_equal(c.out[0].shape[1], 2);
    r = c.out[0].data;
    for (int i = 0; i < 12; i++)
        assert_true(r[i] == (i / 2 % 2 == 0
                                 ? scale * (float)(i / 4 * 2 + i % 2 + 1)
                                 : 0.0f));
    assert_int_equal(c.out[1].shape[0], 2);
    assert_int_equal(c.out[1].shape[1], 6);
    assert_memory_equal(c.out[1].data, row, sizeof row);
    assert_memory_equal((const int64_t *)c.out[1].data + 6, column,
                        sizeof column);
    assert_int_equal(c.out[2].shape[0], 3);
    assert_int_equal(c.out[2].shape[1], 1);
    assert_true(((const float *)c.out[2].data)[2] == 5.0f);
}

static void sizes_come_from_a_run(void **state)
{
    const char *backends[] = {"ref", "sim"};
    char path[64];

    (void)state;
    write_model(path);
    for (size_t i = 0; i < COUNT_OF(backends); i++) {
        hull_module *m = compiled(path, backends[i]);
        hull_session *s;
        call c;

        assert_int_equal(hull_session_new(&s, m, NULL), HULL_OK);
        check_run(s, 1);
        prepare(&c, 4, 0, 9); /* 0: the operand's own size; 9: clamped */
        c.s[0] = 0;
        c.s[1] = 4;
        assert_int_equal(hull_session_run(s, c.in, 3, c.out, 3), HULL_OK);
        assert_int_equal(c.out[0].shape[0], 3);
        assert_int_equal(c.out[2].shape[1], 2);
        check_run(s, 1);
        hull_session_free(s);
        hull_module_unref(m);
    }
    unlink(path);
}

static void refused(hull_session *s, call *c, hull_status want,
                    const char *text)
{
    hull_status st = hull_session_run(s, c->in, 3, c->out, 3);

    if (st != want || strstr(hull_last_error(), text) == NULL)
        print_error("%s\n", hull_last_error());
    assert_int_equal(st, want);
    assert_non_null(strstr(hull_last_error(), text));
}

static void what_does_not_fit_is_refused(void **state)
{
    int64_t wrong[2] = {6, 3};
    float memory[18];
    char path[64];
    hull_module *m;
    hull_session *s;
    call c;

    (void)state;
    write_model(path);
    m = compiled(path, "ref");
    assert_int_equal(hull_session_new(&s, m, NULL), HULL_OK);
    prepare(&c, 5, 5, 1);
    refused(s, &c, HULL_ESHAPE, "reshape");
    prepare(&c, -7, 2, 1);
    refused(s, &c, HULL_ESHAPE, "at least 0");
    prepare(&c, INT64_MAX, INT64_MAX, 1);
    refused(s, &c, HULL_ENOMEM, "too large");
    prepare(&c, 6, 2, 1); /* memory of another shape */
    c.out[0] = (hull_tensor){.data = memory, .shape = wrong, .rank = 2,
                             .dtype = HULL_F32};
    refused(s, &c, HULL_ESHAPE, "output 'r'");
    prepare(&c, 6, 2, 1); /* of the right one */
    wrong[1] = 2;
    c.out[0] = (hull_tensor){.data = memory, .shape = wrong, .rank = 2,
                             .dtype = HULL_F32};
    assert_int_equal(hull_session_run(s, c.in, 3, c.out, 3), HULL_OK);
    assert_true(memory[9] == 6.0f);
    check_run(s, 1);
    hull_session_free(s);
    hull_module_unref(m);
    unlink(path);
}

/* The module file holds the programs as text; a refit changes w. */
static void such_a_module_is_saved_and_refitted(void **state)
{
    float w[8] = {2, 0, -2, 0, 0, 2, 0, -2};
    int64_t shape[2] = {2, 4};
    hull_tensor t = {.data = w, .shape = shape, .rank = 2, .dtype = HULL_F32};
    char path[64], saved[80];
    hull_module *m, *again;
    hull_weights *weights;
    hull_session *s;

    (void)state;
    write_model(path);
    snprintf(saved, sizeof saved, "%s.hull", path);
    m = compiled(path, "sim");
    assert_int_equal(hull_module_save(m, saved, HULL_SAVE_SOURCES), HULL_OK);
    assert_int_equal(hull_module_load(&again, saved, NULL, NULL, NULL),
                     HULL_OK);
    assert_int_equal(hull_session_new(&s, again, NULL), HULL_OK);
    check_run(s, 1);
    assert_int_equal(hull_weights_new(&weights), HULL_OK);
    assert_int_equal(hull_weights_add(weights, "w", &t, NULL, NULL), HULL_OK);
    assert_int_equal(hull_refit(again, weights, NULL, NULL), HULL_OK);
    check_run(s, 2);
    hull_weights_unref(weights);
    hull_session_free(s);
    hull_module_unref(again);
    hull_module_unref(m);
    unlink(path);
    unlink(saved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_come_from_a_run),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(such_a_module_is_saved_and_refitted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
