/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_boxes.c - sequences and optionals through the public API: what goes in
 * and comes out, how long it stays, such a module saved, loaded and refitted,
 * and what callers get wrong.
 */
#include "compile_unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "onnx_maker.h"

enum { F32 = 1, I64 = 7, BOOL = 9 };
enum { T, O2, HAS, M, A, N_OUT };

/* A value inside of a sequence (4) or an optional (9). */
static void put_wrapped(buf *g, uint32_t field, const char *name, uint32_t wrap,
                        const int64_t *dims, size_t rank)
{
    buf v = new_buf(), outer = new_buf(), inner = new_buf(), t = new_buf();
    buf tt = new_buf(), s = new_buf();

    for (size_t i = 0; i < rank; i++) {
        buf d = new_buf();

        if (dims[i] >= 0)
            put_int(&d, 1, dims[i]);
        put_message(&s, 1, &d);
    }
    put_int(&tt, 1, F32);
    put_message(&tt, 2, &s);
    put_message(&t, 1, &tt);
    put_message(&inner, 1, &t);
    put_message(&outer, wrap, &inner);
    put_text(&v, 1, name);
    put_message(&v, 2, &outer);
    put_message(g, field, &v);
}

/* s: sequence of [?,2]; o: optional [1,2]; n: position; w = 10 20.
 * t = s and w; o2 = o; has = is o there?; m = all of t + w; a = s[n] */
static void write_model(char path[64])
{
    const int64_t item[2] = {-1, 2}, one[2] = {1, 2};
    const float w[2] = {10, 20};
    buf axis = new_buf();
    maker m = maker_new(18);

    put_wrapped(&m.graph, 11, "s", 4, item, 2);
    put_wrapped(&m.graph, 11, "o", 9, one, 2);
    put_value(&m.graph, 11, "n", I64, NULL, 0);
    put_stored(&m.graph, "w", F32, one, 2, w, sizeof w);
    put_node(&m.graph, "SequenceInsert", "s w", "t", NULL);
    put_node(&m.graph, "Identity", "o", "o2", NULL);
    put_node(&m.graph, "OptionalHasElement", "o", "has", NULL);
    attr_int_put(&axis, "axis", 0);
    put_node(&m.graph, "ConcatFromSequence", "t", "c", &axis);
    put_node(&m.graph, "Add", "c w", "m", NULL);
    put_node(&m.graph, "SequenceAt", "s n", "a", NULL);
    put_wrapped(&m.graph, 12, "t", 4, item, 2);
    put_wrapped(&m.graph, 12, "o2", 9, one, 2);
    put_value(&m.graph, 12, "has", BOOL, NULL, 0);
    put_value(&m.graph, 12, "m", F32, item, 2);
    put_value(&m.graph, 12, "a", F32, item, 2);
    maker_write(&m, path);
    assert_true(path[0] != 0);
}

typedef struct call {
    float x[8];
    int64_t shapes[3][2], count, n, one[2];
    hull_tensor items[3], in[3], out[N_OUT];
} call;

static hull_tensor f32_of(float *p, const int64_t *shape)
{
    return (hull_tensor){.data = p, .shape = shape, .rank = 2,
                         .dtype = HULL_F32};
}

/* Items of one row and of two: 1 2, 3 4 5 6; no o. */
static void prepare(call *c, int64_t count, int64_t n)
{
    *c = (call){.shapes = {{1, 2}, {2, 2}, {1, 2}}, .count = count, .n = n,
                .one = {1, 2}};
    for (int i = 0; i < 8; i++)
        c->x[i] = (float)(i + 1);
    for (int i = 0; i < 3; i++)
        c->items[i] = f32_of(c->x + 2 * i, c->shapes[i]);
    c->in[0] = (hull_tensor){.data = c->items, .shape = &c->count, .rank = 1,
                             .dtype = HULL_SEQUENCE};
    c->in[2] = (hull_tensor){.data = &c->n, .dtype = HULL_I64};
}

static void check_tensor(const hull_tensor *t, int64_t rows, const float *want)
{
    assert_int_equal(t->dtype, HULL_F32);
    assert_int_equal(t->rank, 2);
    assert_int_equal(t->shape[0], rows);
    assert_int_equal(t->shape[1], 2);
    assert_memory_equal(t->data, want, (size_t)rows * 8);
}

static void check_run(hull_session *s, float w)
{
    const float row[2] = {10 * w, 20 * w};
    const hull_tensor *t;
    float sum[8];
    call c;

    prepare(&c, 2, -1);
    if (hull_session_run(s, c.in, 3, c.out, N_OUT) != HULL_OK) {
        print_error("%s\n", hull_last_error());
        assert_true(0);
    }
    assert_int_equal(c.out[T].dtype, HULL_SEQUENCE);
    assert_int_equal(c.out[T].rank, 1);
    assert_int_equal(c.out[T].shape[0], 3);
    t = c.out[T].data;
    check_tensor(&t[0], 1, c.x);
    check_tensor(&t[1], 2, c.x + 2);
    check_tensor(&t[2], 1, row);
    assert_int_equal(c.out[O2].dtype, HULL_NONE);
    assert_null(c.out[O2].data);
    assert_false(*(const bool *)c.out[HAS].data);
    for (int i = 0; i < 8; i++)
        sum[i] = (i < 6 ? c.x[i] : row[i % 2]) + row[i % 2];
    check_tensor(&c.out[M], 4, sum);
    check_tensor(&c.out[A], 2, c.x + 2);
    /* The results are the session's: the caller's memory may change. */
    memset(c.x, 0, sizeof c.x);
    assert_true(((const float *)t[0].data)[1] == 2.0f);
    assert_true(((const float *)c.out[A].data)[3] == 6.0f);
}

static void values_go_in_and_out(void **state)
{
    const char *backends[] = {"ref", "sim"};
    char path[64];

    (void)state;
    write_model(path);
    for (size_t i = 0; i < COUNT_OF(backends); i++) {
        hull_module *m = compiled(path, backends[i]);
        hull_tensor_info info;
        hull_session *s;
        call c;

        assert_int_equal(hull_module_input(m, 0, &info), HULL_OK);
        assert_string_equal(info.type_text, "sequence(f32[?,2])");
        assert_int_equal(hull_module_output(m, O2, &info), HULL_OK);
        assert_string_equal(info.type_text, "optional(f32[1,2])");
        assert_int_equal(hull_session_new(&s, m, NULL), HULL_OK);
        check_run(s, 1);
        prepare(&c, 1, 0); /* an optional that is there */
        c.in[1] = f32_of(c.x + 4, c.one);
        assert_int_equal(hull_session_run(s, c.in, 3, c.out, N_OUT), HULL_OK);
        check_tensor(&c.out[O2], 1, c.x + 4);
        assert_true(*(const bool *)c.out[HAS].data);
        check_tensor(&c.out[A], 1, c.x);
        check_run(s, 1);
        hull_session_free(s);
        hull_module_unref(m);
    }
    unlink(path);
}

static void refused(hull_session *s, call *c, hull_status want,
                    const char *text)
{
    hull_status st = hull_session_run(s, c->in, 3, c->out, N_OUT);

    if (st != want || strstr(hull_last_error(), text) == NULL)
        print_error("%d %s\n", st, hull_last_error());
    assert_int_equal(st, want);
    assert_non_null(strstr(hull_last_error(), text));
}

static void wrong_items_are_refused(hull_session *s)
{
    int64_t bad[2] = {-1, 2}, three[2] = {1, 3};
    call c;

    prepare(&c, 2, 0); /* a tensor for a sequence */
    c.in[0] = c.items[0];
    refused(s, &c, HULL_ESHAPE, "input 's' is f32 of rank 2, wanted sequence");
    prepare(&c, 2, 0); /* a sequence for an optional tensor */
    c.in[1] = c.in[0];
    refused(s, &c, HULL_ESHAPE, "input 'o' is a sequence of rank 1, wanted");
    prepare(&c, 2, 0);
    c.items[1].dtype = HULL_I32;
    refused(s, &c, HULL_ESHAPE, "input 's'[1] is i32 of rank 2, wanted f32");
    prepare(&c, 2, 0);
    c.items[1].rank = 1;
    refused(s, &c, HULL_ESHAPE, "input 's'[1] is f32 of rank 1");
    prepare(&c, 2, 0);
    c.items[0].shape = three;
    refused(s, &c, HULL_ESHAPE, "input 's'[0]");
    prepare(&c, 2, 0);
    c.items[0].shape = bad;
    refused(s, &c, HULL_ESHAPE, "input 's'[0] dim 0 is -1");
    prepare(&c, 2, 0);
    c.items[0].data = NULL;
    refused(s, &c, HULL_EINVAL, "input 's'[0] has no data");
    prepare(&c, 2, 0);
    c.items[0].shape = NULL;
    refused(s, &c, HULL_ESHAPE, "input 's'[0] has rank 2");
    prepare(&c, 2, 0);
    c.items[0].rank = 1000;
    refused(s, &c, HULL_ESHAPE, "input 's'[0] has rank 1000");
    prepare(&c, 2, 0);
    c.items[0].dtype = 12345;
    refused(s, &c, HULL_ESHAPE, "input 's'[0] has no known dtype");
    prepare(&c, 2, 0); /* a sequence in a sequence, and in itself */
    c.items[1] = c.in[0];
    refused(s, &c, HULL_ESHAPE, "input 's'[1] is a sequence of rank 1, wanted");
    prepare(&c, 2, 0); /* an empty optional for an item */
    c.items[1] = (hull_tensor){.rank = 0};
    refused(s, &c, HULL_ESHAPE, "input 's'[1]");
}

static void what_does_not_fit_is_refused(void **state)
{
    int64_t two[2] = {1, 1};
    float memory[8];
    char path[64];
    hull_module *m;
    hull_session *s;
    call c;

    (void)state;
    write_model(path);
    m = compiled(path, "ref");
    assert_int_equal(hull_session_new(&s, m, NULL), HULL_OK);
    wrong_items_are_refused(s);
    prepare(&c, -1, 0);
    refused(s, &c, HULL_ESHAPE, "input 's' dim 0 is -1");
    prepare(&c, 1, 0);
    c.in[0].data = NULL;
    refused(s, &c, HULL_EINVAL, "input 's' has no data");
    prepare(&c, 1, 0);
    c.in[0].rank = 2;
    c.in[0].shape = two;
    refused(s, &c, HULL_ESHAPE, "input 's' is a sequence of rank 2");
    prepare(&c, 1, 0);
    c.in[0].device = 1;
    refused(s, &c, HULL_EUNSUPPORTED, "not in host memory");
    prepare(&c, 1, 1); /* positions are data */
    refused(s, &c, HULL_EINVAL, "position 1 does not exist in a sequence of 1");
    prepare(&c, 2, INT64_MIN);
    refused(s, &c, HULL_EINVAL, "position -9223372036854775808");
    prepare(&c, 0, 0);
    c.in[0].data = NULL; /* an empty sequence needs none */
    refused(s, &c, HULL_EINVAL, "position 0 does not exist in a sequence of 0");
    prepare(&c, 2, 0); /* the session lends what is no tensor */
    c.out[T] = f32_of(memory, c.one);
    refused(s, &c, HULL_EUNSUPPORTED, "output 't'");
    check_run(s, 1);
    hull_session_free(s);
    hull_module_unref(m);
    unlink(path);
}

static void such_a_module_is_saved_and_refitted(void **state)
{
    float w[2] = {20, 40};
    int64_t shape[2] = {1, 2};
    hull_tensor t = f32_of(w, shape);
    char path[64], saved[80];
    hull_module *m, *again;
    hull_weights *weights;
    hull_session *s;
    call c;

    (void)state;
    write_model(path);
    snprintf(saved, sizeof saved, "%s.hull", path);
    m = compiled(path, "sim");
    assert_int_equal(hull_module_save(m, saved, HULL_SAVE_SOURCES), HULL_OK);
    assert_int_equal(hull_module_load(&again, saved, NULL, NULL, NULL),
                     HULL_OK);
    assert_int_equal(hull_session_new(&s, again, NULL), HULL_OK);
    check_run(s, 1);
    /* What a run gave outlives the weights that it came from. */
    prepare(&c, 1, 0);
    assert_int_equal(hull_session_run(s, c.in, 3, c.out, N_OUT), HULL_OK);
    assert_int_equal(hull_weights_new(&weights), HULL_OK);
    assert_int_equal(hull_weights_add(weights, "w", &t, NULL, NULL), HULL_OK);
    assert_int_equal(hull_refit(again, weights, NULL, NULL), HULL_OK);
    check_tensor((const hull_tensor *)c.out[T].data + 1, 1,
                 (const float[]){10, 20});
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
        cmocka_unit_test(values_go_in_and_out),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(such_a_module_is_saved_and_refitted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
