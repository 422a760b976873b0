/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * The canonical text: names, the order of nodes and dead nodes do not matter;
 * every edit that changes the computation does.
 */
#include "unit.h"

#include "ir/ir.h"

#include <string.h>

#define fault(...)                \
    do {                          \
        print_error(__VA_ARGS__); \
        assert_true(false);       \
    } while (0)

static char *canon(const char *text)
{
    ir *m;
    buf b;

    if (ir_parse(&m, str_of(text), NULL) != HULL_OK)
        fault("%s\n%s\n", error_text(), text);
    buf_init(&b, 1 << 20);
    assert_int_equal(graph_canonical_text(&b, m->graphs[0]), HULL_OK);
    assert_int_equal(graph_verify(m->graphs[0]), HULL_OK);
    ir_free(m);
    return buf_take(&b);
}

static const char base_text[] =
    "graph @main(%x: f32[N,H,4], %s: f32[2,4] = state \"kv\") "
    "where N=1..64 opt 8 {\n"
    "  %w = weight \"w\" : f32[4,8]\n"
    "  %b = weight \"b\" : f32[8]\n"
    "  %k = const {value=0.5} : f32[]\n"
    "  %1 = matmul %x, %w, %b : f32[N,H,8]\n"
    "  %2 = softmax %1 {axis=2} : f32[N,H,8]\n"
    "  %3 = mul %2, %k : f32[N,H,8]\n"
    "  %4 = reshape %3 {shape=[N*H,8]} : f32[N*H,8]\n"
    "  %5 = sub %4, %b : f32[N*H,8]\n"
    "  return %5, %3, %s -> \"kv\"\n"
    "}\n";

/* The text with the first `from` replaced by `to`. */
static char *edited(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    buf b;

    if (at == NULL)
        fault("no '%s' in the text\n", from);
    buf_init(&b, 1 << 16);
    buf_put(&b, text, (size_t)(at - text));
    buf_puts(&b, to);
    buf_puts(&b, at + strlen(from));
    return buf_take(&b);
}

static void all_edited(char **text, const char *from, const char *to)
{
    while (strstr(*text, from) != NULL) {
        char *next = edited(*text, from, to);

        mem_free(*text);
        *text = next;
    }
}

static void the_text(void **state)
{
    char *c = canon(base_text), *again = canon(c);

    (void)state;
    assert_string_equal(
        c, "graph @b(%0: f32[d0,d1,4], %1: f32[2,4] = state \"0\") "
           "where d0=1..64 opt 8 {\n"
           "  %2 = weight \"1\" : f32[4,8]\n"
           "  %3 = weight \"2\" : f32[8]\n"
           "  %4 = matmul %0, %2, %3 : f32[d0,d1,8]\n"
           "  %5 = softmax %4 {axis=2} : f32[d0,d1,8]\n"
           "  %6 = const {value=0.5} : f32[]\n"
           "  %7 = mul %5, %6 : f32[d0,d1,8]\n"
           "  %8 = reshape %7 {shape=[d0*d1,8]} : f32[d0*d1,8]\n"
           "  %9 = sub %8, %3 : f32[d0*d1,8]\n"
           "  return %9, %7, %1 -> \"0\"\n"
           "}\n");
    assert_string_equal(c, again);
    mem_free(c);
    mem_free(again);
}

static void names_do_not_matter(void **state)
{
    static const char *const renames[][2] = { { "@main", "@other" },
                                              { "%x", "%input.0" },
                                              { "\"w\"", "\"layer.0.w:0\"" },
                                              { "\"b\"", "\"a\"" },
                                              { "%k", "%77" },
                                              { "\"kv\"", "\"cache\"" },
                                              { "N", "zz" },
                                              { "H", "A" },
                                              { "%w", "%aaa" } };
    char *want = canon(base_text);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(renames); i++) {
        char *t = edited(base_text, "", ""), *c;

        all_edited(&t, renames[i][0], renames[i][1]);
        c = canon(t);
        assert_string_equal(c, want);
        mem_free(c);
        mem_free(t);
    }
    mem_free(want);
}

static void order_does_not_matter(void **state)
{
    static const char other[] =
        "graph @main(%x: f32[N,H,4], %s: f32[2,4] = state \"kv\") on cpu "
        "where N=1..64 opt 8 {\n"
        "  %dead = exp %x : f32[N,H,4]\n"
        "  %k = const {value=0.5} : f32[]\n"
        "  %b = weight \"b\" : f32[8]\n"
        "  %dead2 = neg %dead : f32[N,H,4]\n"
        "  %unused = weight \"unused\" : f32[8]\n"
        "  %w = weight \"w\" : f32[4,8]\n"
        "  %1 = matmul %x, %w, %b : f32[N,H,8]\n"
        "  %2 = softmax %1 {axis=2} : f32[N,H,8]\n"
        "  %3 = mul %2, %k : f32[N,H,8]\n"
        "  %4 = reshape %3 {shape=[N*H,8]} : f32[N*H,8]\n"
        "  %5 = sub %4, %b : f32[N*H,8]\n"
        "  return %5, %3, %s -> \"kv\"\n"
        "}\n";
    char *a = canon(base_text), *b = canon(other);

    (void)state;
    assert_string_equal(a, b);
    mem_free(a);
    mem_free(b);
}

static void every_edit_matters(void **state)
{
    static const char *const edits[][2] = {
        { "axis=2", "axis=1" },
        { "value=0.5", "value=0.25" },
        { "value=0.5", "value=-0.0" },
        { "mul %2, %k", "mul %k, %2" },
        { "mul %2", "add %2" },
        { "sub %4, %b", "sub %b, %4" },
        { "return %5, %3", "return %3, %5" },
        { "return %5, %3", "return %3, %3" },
        { "return %5, %3, ", "return %5, " },
        { "opt 8", "opt 4" },
        { "N=1..64", "N=1..63" },
        { "N=1..64 opt 8", "N=0..64 opt 8" },
        { "where N=", "where H=" },
        { "%s: f32[2,4]", "%s: f32[2,5]" },
        { "%s: f32[2,4]", "%s: f16[2,4]" },
        { " = state \"kv\"", "" },
        { "%x: f32[N,H,4], %s", "%x: f32[N,H,4], %u: f32[], %s" },
        { "[N*H,8]} : f32[N*H,8]", "[H*N,8]}" },
        { "softmax %1", "log_softmax %1" },
        { "matmul %x, %w, %b", "matmul %x, %w" },
        { "sub %4, %b", "sub %4, %c" },
    };
    char *want = canon(base_text);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(edits); i++) {
        char *t = edited(base_text, edits[i][0], edits[i][1]), *c;

        if (strcmp(edits[i][0], " = state \"kv\"") == 0)
            all_edited(&t, " -> \"kv\"", "");
        if (strstr(edits[i][1], "%c") != NULL) /* one hole becomes two */
            all_edited(&t, "  %k = const",
                       "  %c = weight \"c\" : f32[8]\n"
                       "  %k  = const");
        if (strstr(edits[i][1], "H*N") != NULL) /* types follow */
            all_edited(&t, " : f32[N*H,8]", "");
        c = canon(t);
        if (strcmp(c, want) == 0)
            fault("'%s' -> '%s' does not show\n", edits[i][0], edits[i][1]);
        mem_free(c);
        mem_free(t);
    }
    mem_free(want);
}

static void nan_bits_matter(void **state)
{
    char *t = edited(base_text, "value=0.5", "value=nan");
    char *u = edited(base_text, "value=0.5", "value=nan(0x7fc00001)");
    char *a = canon(t), *b = canon(u);

    (void)state;
    assert_string_not_equal(a, b);
    mem_free(a);
    mem_free(b);
    mem_free(t);
    mem_free(u);
}

/* Captured outer values count as operands, in the order the bodies meet them;
 * a value that only a body uses is defined before the node. */
static void bodies(void **state)
{
    static const char text[] = "graph @g(%c: bool[], %x: f32[N]) {\n"
                               "  %d = neg %x : f32[N]\n"
                               "  %b = exp %x : f32[N]\n"
                               "  %a = relu %x : f32[N]\n"
                               "  %r = if %c {then=graph () {\n"
                               "    %dead = sin %d : f32[N]\n"
                               "    %q = weight \"q\" : f32[N]\n"
                               "    %i = if %c {then=graph () { return %a }, "
                               "else=graph () { return %q }} : f32[N]\n"
                               "    return %i\n"
                               "  }, else=graph () {\n"
                               "    return %b\n"
                               "  }} : f32[N]\n"
                               "  return %r\n}\n";
    char *c = canon(text), *again = canon(c);

    (void)state;
    assert_string_equal(c, "graph @b(%0: bool[], %1: f32[d0]) {\n"
                           "  %2 = relu %1 : f32[d0]\n"
                           "  %3 = exp %1 : f32[d0]\n"
                           "  %4 = if %0 {then=graph () {\n"
                           "    %5 = weight \"0\" : f32[d0]\n"
                           "    %6 = if %0 {then=graph () {\n"
                           "      return %2\n"
                           "    }, else=graph () {\n"
                           "      return %5\n"
                           "    }} : f32[d0]\n"
                           "    return %6\n"
                           "  }, else=graph () {\n"
                           "    return %3\n"
                           "  }} : f32[d0]\n"
                           "  return %4\n}\n");
    assert_string_equal(c, again);
    mem_free(c);
    mem_free(again);
}

static void holes_are_numbered_as_in_the_text(void **state)
{
    ir *m;
    const str *p;
    uint32_t n;

    (void)state;
    assert_int_equal(ir_parse(&m, str_of(base_text), NULL), HULL_OK);
    p = graph_holes(m->graphs[0], &n);
    assert_int_equal(n, 3);
    assert_true(str_is(p[0], "kv"));
    assert_true(str_is(p[1], "w"));
    assert_true(str_is(p[2], "b"));
    ir_free(m);
}

/* A chain of many nodes needs no deep recursion. */
static void long_chains(void **state)
{
    ir *m;
    graph *g;
    type t;
    val v;
    buf b;

    (void)state;
    assert_int_equal(ir_new(&m), HULL_OK);
    g = graph_new(m, str_of("g"));
    t = type_tensor(m, HULL_F32, NULL, 0);
    v = graph_param(g, str_of("x"), &t);
    for (int i = 0; i < 200000; i++)
        v = op_unary(g, OP_neg, v);
    graph_result(g, v);
    buf_init(&b, 1 << 26);
    assert_int_equal(graph_canonical_text(&b, g), HULL_OK);
    assert_int_equal(graph_n_nodes(g), 200000);
    buf_fini(&b);
    ir_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text),
        cmocka_unit_test(names_do_not_matter),
        cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(every_edit_matters),
        cmocka_unit_test(nan_bits_matter),
        cmocka_unit_test(bodies),
        cmocka_unit_test(holes_are_numbered_as_in_the_text),
        cmocka_unit_test(long_chains),
    };

    return cmocka_run_group_tests_name("canon", tests, NULL, NULL);
}
