/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_key.c - named cases of what changes a key and what does not: operands,
 * attributes, CODE options, backend, target; not the names of the text.
 * tests/key_edits.c asks the same of all models at random.
 */
#include "guard.h"

#include <math.h>

#include "cache/cache.h"
#include "ir/ir.h"

/* ---- named cases --------------------------------------------------------- */

static digest text_digest(const char *text)
{
    hull_status st;
    digest d;
    buf b;
    ir *m;

    OK(ir_parse(&m, str_of(text), NULL));
    buf_init(&b, SIZE_MAX / 2);
    st = graph_canonical_text(&b, m->graphs[0]);
    OK(st);
    d = digest_of(b.p, b.n);
    buf_fini(&b);
    ir_free(m);
    return d;
}

static void differ(const char *a, const char *b)
{
    digest da = text_digest(a), db = text_digest(b);

    if (digest_eq(&da, &db))
        stop("one key for\n%s\nand\n%s", a, b);
}

static void same(const char *a, const char *b)
{
    digest da = text_digest(a), db = text_digest(b);

    if (!digest_eq(&da, &db))
        stop("two keys for\n%s\nand\n%s", a, b);
}

/* One node over two inputs. */
static digest binary_digest(op_code op, bool turned, double c)
{
    dim dims[1] = {4};
    hull_status st;
    val a, b, y;
    graph *g;
    digest d;
    buf text;
    ir *m;
    type t;

    OK(ir_new(&m));
    g = graph_new(m, str_of("main"));
    t = type_tensor(m, HULL_F32, dims, 1);
    a = graph_param(g, str_of("a"), &t);
    b = graph_param(g, str_of("b"), &t);
    y = op_binary(g, op, turned ? b : a, turned ? a : b);
    graph_result(g, op_binary(g, OP_add, y, op_scalar(g, HULL_F32, c)));
    buf_init(&text, SIZE_MAX / 2);
    st = graph_canonical_text(&text, g);
    OK(st);
    d = digest_of(text.p, text.n);
    buf_fini(&text);
    ir_free(m);
    return d;
}

static void unequal(digest a, digest b)
{
    assert_false(digest_eq(&a, &b));
}

static void operand_order_matters(void **state)
{
    static const op_code ops[] = {OP_sub, OP_div, OP_add, OP_mul, OP_max};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(ops); i++)
        unequal(binary_digest(ops[i], false, 0.5),
                binary_digest(ops[i], true, 0.5));
    unequal(binary_digest(OP_sub, false, 0), binary_digest(OP_add, false, 0));
    unequal(binary_digest(OP_sub, false, 0.0),
            binary_digest(OP_sub, false, -0.0));
    unequal(binary_digest(OP_sub, false, 0.1),
            binary_digest(OP_sub, false, nextafterf(0.1f, 1)));
    unequal(binary_digest(OP_sub, false, INFINITY),
            binary_digest(OP_sub, false, -INFINITY));
    unequal(binary_digest(OP_sub, false, NAN),
            binary_digest(OP_sub, false, INFINITY));
}

/* conv over x with given stride, pads, dilation, groups. */
static digest conv_digest(int64_t stride, int64_t pad, int64_t dilation,
                          bool bias)
{
    dim xd[4] = {1, 4, 16, 16}, wd[4] = {4, 4, 3, 3}, bd[1] = {4};
    int64_t strides[2] = {stride, stride}, dil[2] = {dilation, dilation};
    int64_t pads[4] = {pad, pad, pad, pad};
    type xt, wt, bt;
    digest d;
    graph *g;
    node *n;
    buf text;
    ir *m;

    OK(ir_new(&m));
    g = graph_new(m, str_of("main"));
    xt = type_tensor(m, HULL_F32, xd, 4);
    wt = type_tensor(m, HULL_F32, wd, 4);
    bt = type_tensor(m, HULL_F32, bd, 1);
    n = node_new(g, OP_conv);
    node_input(g, n, graph_param(g, str_of("x"), &xt));
    node_input(g, n, op_weight(g, str_of("w"), &wt));
    if (bias)
        node_input(g, n, op_weight(g, str_of("b"), &bt));
    node_ints(g, n, "stride", strides, 2);
    node_ints(g, n, "dilation", dil, 2);
    node_ints(g, n, "pad", pads, 4);
    graph_result(g, node_add(g, n));
    OK(ir_status(m));
    buf_init(&text, SIZE_MAX / 2);
    OK(graph_canonical_text(&text, g));
    d = digest_of(text.p, text.n);
    buf_fini(&text);
    ir_free(m);
    return d;
}

static void convolutions_of_other_attributes_differ(void **state)
{
    digest a = conv_digest(1, 1, 1, false), b = conv_digest(1, 1, 1, false);

    (void)state;
    assert_true(digest_eq(&a, &b));
    unequal(a, conv_digest(2, 1, 1, false));
    unequal(a, conv_digest(1, 0, 1, false));
    unequal(a, conv_digest(1, 1, 2, false));
    unequal(a, conv_digest(1, 1, 1, true));
}

/* ---- options, backend, target -------------------------------------------- */

static digest key_of(const char *backend, const char *target,
                     const options *o, const char *text)
{
    cache_key k;
    digest d;

    OK(cache_key_make(&k, str_of(backend), str_of(target), o, str_of(text)));
    d = k.d;
    cache_key_fini(&k);
    return d;
}

static const char *another_value(const hull_option_info *info)
{
    if (strcmp(info->type, "bool") == 0 || strcmp(info->type, "BOOL") == 0)
        return strcmp(info->default_value, "on") == 0 ? "off" : "on";
    if (strcmp(info->type, "str") == 0 || strcmp(info->type, "STR") == 0)
        return "other";
    return strcmp(info->default_value, "7") == 0 ? "5" : "7";
}

static void only_code_options_change_the_key(void **state)
{
    hull_option_info info;
    hull_options *o = options_of("");
    digest was = key_of("ref", "t", o, "text\n");
    uint32_t code = 0, others = 0;

    (void)state;
    for (size_t i = 0; hull_options_describe(i, &info) == HULL_OK; i++) {
        digest now;

        hull_options_free(o);
        o = options_of("");
        OK(hull_options_set(o, info.key,
                            strcmp(info.key, "backends") == 0
                                ? "sim,ref" : another_value(&info)));
        now = key_of("ref", "t", o, "text\n");
        if (strcmp(info.effect, "CODE") == 0)
            code++;
        else
            others++;
        if (digest_eq(&was, &now) == (strcmp(info.effect, "CODE") == 0))
            stop("option %s is %s", info.key, info.effect);
    }
    hull_options_free(o);
    assert_true(code >= 2);
    assert_true(others >= 10);
}

static void backend_target_and_text_change_the_key(void **state)
{
    hull_options *o = options_of("");
    digest was = key_of("ref", "t", o, "text\n");
    cache_key k;

    (void)state;
    unequal(was, key_of("sim", "t", o, "text\n"));
    unequal(was, key_of("ref", "u", o, "text\n"));
    unequal(was, key_of("ref", "t", o, "texu\n"));
    unequal(key_of("ref", "t x", o, "y"), key_of("ref", "t", o, "x y"));
    assert_int_not_equal(cache_key_make(&k, str_of("ref"), str_of("t\nu"), o,
                                        str_of("text\n")), HULL_OK);
    hull_options_free(o);
}

/* Names, blanks and comments of the text form mean nothing. */
static void names_of_the_text_do_not_matter(void **state)
{
    const char *a = "graph @main(%x: f32[4], %y: f32[4]) {\n"
                    "  %w = weight \"w\" : f32[4]\n"
                    "  %z = add %x, %w\n"
                    "  %r = sub %z, %y\n"
                    "  return %r\n"
                    "}\n";
    const char *b = "graph @f(%p: f32[4], %q: f32[4]) {\n"
                    "  %k = weight \"other.name\" : f32[4]\n"
                    "  %l = add %p, %k\n"
                    "  %m = sub %l, %q\n"
                    "  return %m\n"
                    "}\n";
    const char *c = "graph @main(%x: f32[4], %y: f32[4]) {\n"
                    "  %w = weight \"w\" : f32[4]\n"
                    "  %z = add %x, %w\n"
                    "  %r = sub %y, %z\n"
                    "  return %r\n"
                    "}\n";

    (void)state;
    same(a, b);
    differ(a, c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operand_order_matters),
        cmocka_unit_test(convolutions_of_other_attributes_differ),
        cmocka_unit_test(only_code_options_change_the_key),
        cmocka_unit_test(backend_target_and_text_change_the_key),
        cmocka_unit_test(names_of_the_text_do_not_matter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
