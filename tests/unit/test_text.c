/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * The language: printed text reads back to the same text, everything a graph
 * holds survives, and wrong text is refused with its place.
 */
#include "unit.h"

#include "ir/ir.h"

#include <math.h>
#include <string.h>

#define fault(...)                \
    do {                          \
        print_error(__VA_ARGS__); \
        assert_true(false);       \
    } while (0)

static char *printed(const ir *m)
{
    buf b;

    buf_init(&b, 1 << 24);
    ir_print(&b, m);
    assert_int_equal(buf_status(&b), HULL_OK);
    return buf_take(&b);
}

static ir *parsed(const char *text, const ir *pins)
{
    ir *m;

    if (ir_parse(&m, str_of(text), pins) != HULL_OK)
        fault("%s\n%s\n", error_text(), text);
    return m;
}

/* Parses, prints: the same text. */
static void same(const char *text)
{
    ir *m = parsed(text, NULL);
    char *again = printed(m);

    assert_string_equal(again, text);
    mem_free(again);
    ir_free(m);
}

/* The text of the graph that m holds reads back to itself. */
static void survives(const ir *m)
{
    char *a = printed(m), *b;
    ir *n = parsed(a, m);

    b = printed(n);
    assert_string_equal(a, b);
    mem_free(a);
    mem_free(b);
    ir_free(n);
}

static void round_trips(void **state)
{
    (void)state;
    same("graph @main(%x: f32[N,3,H,224]) on cpu where N=1..64, "
         "H=1.. opt 224 {\n"
         "  %w = weight \"c1.weight\" : f32[16,3,3,3]\n"
         "  %0 = conv %x, %w {stride=[1,1], pad=[1,1,1,1], dilation=[1,1]} : "
         "f32[N,16,H,224]\n"
         "  %1 = relu %0 : f32[N,16,H,224]\n"
         "  return %1, %0, %1\n"
         "}\n");
    same("graph @main(%x: f32[2,4], %kv: f32[2,4] = state \"c\\\"a\\x01\") {\n"
         "  %0 = add %x, %kv : f32[2,4]\n"
         "  return %x, %0 -> \"c\\\"a\\x01\"\n"
         "}\n");
    same("graph @a() {\n  return\n}\n"
         "graph @\"b c\"() on \"x y\" {\n  return\n}\n");
    same("graph @main(%x: f32[?,\"a b\",3]) where \"a b\"=2..9 {\n"
         "  return %x\n}\n");
    same("graph @main(%x: sequence(optional(f32[N])), %y: bool[]) {\n"
         "  return %x\n}\n");
    same("graph @main(%x: f32[(H+1)/2,-H+N*N+3,min(N, H),bcast(N, M),"
         "2*(N%4),5]) {\n  return %x\n}\n");
    same("graph @main(%x: f32[4]) {\n"
         "  %0 = weight \"g\" : f32[4]\n"
         "  %1 = weight \"b\" : f32[4]\n"
         "  %2 = layer_norm %x, _, %1 {axis=-1, eps=1e-05} : f32[4]\n"
         "  %3 = layer_norm %2, %0 {axis=-1, eps=1e-05} : f32[4]\n"
         "  return %3\n}\n");
    same("graph @main(%x: f32[4]) {\n"
         "  %0 = call @b0, %x : f32[4]\n"
         "  return %0\n}\n"
         "graph @b0(%x: f32[4]) on cpu {\n"
         "  return %x\n}\n");
}

static void nested_bodies(void **state)
{
    (void)state;
    same("graph @main(%c: bool[], %x: f32[N], %n: i64[]) {\n"
         "  %0, %1 = if %c {then=graph () {\n"
         "    %2 = if %c {then=graph () {\n"
         "      %3 = relu %x : f32[N]\n"
         "      return %3\n"
         "    }, else=graph () {\n"
         "      return %x\n"
         "    }} : f32[N]\n"
         "    return %2, %x\n"
         "  }, else=graph () {\n"
         "    %4 = neg %x : f32[N]\n"
         "    return %4, %4\n"
         "  }} : f32[N], f32[N]\n"
         "  %5 = loop %n, _, %0 {body=graph (%i: i64[], %k: bool[], "
         "%s: f32[N]) {\n"
         "    %6 = add %s, %x : f32[N]\n"
         "    return %k, %6\n"
         "  }} : f32[N]\n"
         "  return %5, %1\n"
         "}\n");
}

static void literals(void **state)
{
    (void)state;
    same("graph @main() {\n"
         "  %0 = const {value=0.5} : f32[]\n"
         "  %1 = const {value=[1,-2,9223372036854775807,"
         "-9223372036854775808]} : i64[4]\n"
         "  %2 = const {value=18446744073709551615} : u64[]\n"
         "  %3 = const {value=[true,false]} : bool[2]\n"
         "  %4 = const {value=[nan,nan(0x7fc00001),nan(0xffc00000),inf,-inf,"
         "-0.0,0.1,1e-45,3.4028235e+38]} : f32[9]\n"
         "  %5 = const {value=[nan,nan(0x7e01),-0.0,65504.0]} : f16[4]\n"
         "  %6 = const {value=[nan,448.0]} : f8e4m3fn[2]\n"
         "  %7 = const {value=[1.0,-2.0,nan,inf]} : c64[2]\n"
         "  %8 = const {value=[]} : f32[0,3]\n"
         "  %9 = const {value=[1,-8,7]} : i4[3]\n"
         "  %10 = const {value=[nan(0x7ff0000000000001),0.1]} : f64[2]\n"
         "  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10\n"
         "}\n");
    same("graph @main(%x: f32[3]) {\n"
         "  %0 = elu %x {alpha=nan(0x7ff8000000000001)} : f32[3]\n"
         "  %1 = clamp %0 {min=-0.0} : f32[3]\n"
         "  return %1\n"
         "}\n");
}

/* Every f16, and many f32, as a literal. */
static void float_texts_are_exact(void **state)
{
    uint32_t seed = 12345;

    (void)state;
    for (uint32_t i = 0; i < 0x10000; i += 64) {
        uint16_t h[64];
        uint32_t f[64];
        int64_t n = 64;
        ir *m, *back;
        graph *g;
        char *text;
        const literal *l;

        for (uint32_t k = 0; k < 64; k++) {
            h[k] = (uint16_t)(i + k);
            seed = seed * 1664525u + 1013904223u;
            f[k] = seed;
        }
        assert_int_equal(ir_new(&m), HULL_OK);
        g = graph_new(m, str_of("g"));
        graph_result(g, op_const(g, HULL_F16, &n, 1, h));
        graph_result(g, op_const(g, HULL_F32, &n, 1, f));
        assert_int_equal(ir_status(m), HULL_OK);
        text = printed(m);
        back = parsed(text, NULL);
        l = node_attr(graph_first(back->graphs[0]), "value")->u.t;
        assert_memory_equal(l->data, h, sizeof(h));
        l = node_attr(graph_first(back->graphs[0])->next, "value")->u.t;
        assert_memory_equal(l->data, f, sizeof(f));
        mem_free(text);
        ir_free(back);
        ir_free(m);
    }
}

static void large_literals_go_by_digest(void **state)
{
    float v[65];
    int64_t n = 65;
    ir *m, *back = NULL;
    graph *g;
    char *text;

    (void)state;
    for (int i = 0; i < 65; i++)
        v[i] = (float)i;
    assert_int_equal(ir_new(&m), HULL_OK);
    g = graph_new(m, str_of("g"));
    graph_result(g, op_const(g, HULL_F32, &n, 1, v));
    graph_result(g, op_const(g, HULL_F32, &n, 1, v));
    assert_int_equal(ir_status(m), HULL_OK);
    assert_int_equal(m->n_pinned, 1);
    text = printed(m);
    assert_non_null(strstr(text, "value=#"));
    survives(m);
    assert_int_equal(ir_parse(&back, str_of(text), NULL), HULL_EFORMAT);
    assert_null(back);
    assert_non_null(strstr(error_text(), "not at hand"));
    mem_free(text);
    ir_free(m);
}

static void odd_names_become_numbers(void **state)
{
    static const char *const names[] = { "a/b:0",    "x", "x",   "7", "",
                                         "\xc3\xa4", "_", "a.b", "%x" };
    ir *m;
    graph *g;
    type t;
    char *text;

    (void)state;
    assert_int_equal(ir_new(&m), HULL_OK);
    g = graph_new(m, str_of("g"));
    t = type_tensor(m, HULL_F32, NULL, 0);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        graph_result(g, graph_param(g, str_of(names[i]), &t));
    assert_int_equal(ir_status(m), HULL_OK);
    text = printed(m);
    assert_string_equal(text,
                        "graph @g(%0: f32[], %x: f32[], %1: f32[], %2: f32[], "
                        "%3: f32[], %4: f32[], %_: f32[], %a.b: f32[], "
                        "%5: f32[]) {\n  return %0, %x, %1, %2, %3, %4, %_, "
                        "%a.b, %5\n}\n");
    survives(m);
    mem_free(text);
    ir_free(m);
}

static void weight_names_are_any_text(void **state)
{
    static const char name[] = "w\"\\\n\t\x01\x7f\xc3\xa4\xff//%";
    ir *m;
    graph *g;
    type t;

    (void)state;
    assert_int_equal(ir_new(&m), HULL_OK);
    g = graph_new(m, str_of("g"));
    t = type_tensor(m, HULL_F32, NULL, 0);
    graph_result(g,
                 op_weight(g, (str){ name, sizeof(name) }, &t)); /* with NUL */
    assert_int_equal(ir_status(m), HULL_OK);
    survives(m);
    ir_free(m);
}

static void types_and_spaces_may_vary(void **state)
{
    ir *m = parsed("graph@main ( %x:f32[ 2 , N ] ){// c\n"
                   "%y=relu %x%z=matmul %y,%y{trans_b=true,trans_a=false}"
                   "return %z}",
                   NULL);

    (void)state;
    ir_free(m);
}

static void refuses(void **state)
{
    static const struct {
        const char *text, *want;
    } bad[] = {
        { "", "line 1 column 1: the text ends, 'graph' is wanted" },
        { "graph @g(", "the text ends" },
        { "graph @g() {\n  %y = relu %x\n  return\n}",
          "line 2 column 13: %x is "
          "not defined" },
        { "graph @g(%x: f32[2]) {\n  %x = relu %x return %x}",
          "line 2 column 3: %x is defined twice" },
        { "graph @g(%x: f32[2]) {\n  %y = frob %x return %y}",
          "line 2 column 8: there is no op 'frob'" },
        { "graph @g(%x: f32[2]) { %y = relu %x, %x return %y}",
          "at most 1 are wanted" },
        { "graph @g(%x: f32[2]) { %y = add %x return %y}",
          "at least 2 are wanted" },
        { "graph @g(%x: f32[2]) { %y = add %x, _ return %y}", "is missing" },
        { "graph @g(%x: f32[2]) { %y = relu %x {a=1} return %y}",
          "no attribute 'a'" },
        { "graph @g(%x: f32[2]) { %y = elu %x {alpha=1, alpha=2} return %y}",
          "twice" },
        { "graph @g(%x: f32[2]) { %y = softmax %x return %y}",
          "lacks attribute 'axis'" },
        { "graph @g(%x: f32[2]) { %y = relu %x : f32[3] return %y}",
          "%y has type f32[2], f32[3] is written" },
        { "graph @g(%x: f32[2]) { %y, %z = relu %x return %y}",
          "op 'relu' has 1 results, 2 are named" },
        { "graph @g() { %c = const {value=[1,2]} : f32[3] return %c}",
          "literal has 2 elements, its type has 3" },
        { "graph @g() { %c = const {value=300} : i8[] return %c}",
          "'300' is no i8 value" },
        { "graph @g() { %c = const {value=-1} : u64[] return %c}",
          "'-1' is no u64 value" },
        { "graph @g() { %c = const {value=1} : bool[] return %c}",
          "'1' is no bool value" },
        { "graph @g() { %c = const {value=1e6} : f16[] return %c}",
          "'1e6' is no f16 value" },
        { "graph @g() { %c = const {value=nan(0x1)} : f32[] return %c}",
          "is no f32 value" },
        { "graph @g() { %c = const {value=1.5} : i32[] return %c}",
          "'1.5' is no i32 value" },
        { "graph @g() { %c = const {value=1} return %c}", "needs a type" },
        { "graph @g() { %c = const {value=#00} : f32[] return %c}", "digest" },
        { "graph @g(%x: f33[2]) { return %x }", "a type is wanted" },
        { "graph @g(%x: f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]) { return %x }",
          "rank is more than 16" },
        { "graph @g(%x: f32[99999999999999999999]) { return %x }", "64 bits" },
        { "graph @g(%x: f32[-3]) { return %x }", "negative" },
        { "graph @g(%x: f32[foo(1,2)]) { return %x }", "min, max, bcast" },
        { "graph @g(%x: f32[N]) where N=5..2 { return %x }", "is empty" },
        { "graph @g() { return } graph @g() { return }", "defined twice" },
        { "graph @g(%x: f32[2] = state \"s\") { return %x }",
          "no result is written to state \"s\"" },
        { "graph @g(%x: f32[2]) { return %x -> \"s\" }", "no parameter waits" },
        { "graph @g(%x: f32[2] = state \"s\") { %y = cast %x {to=f16} "
          "return %y -> \"s\" }",
          "it would become f16[2]" },
        { "graph @g(%c: bool[], %x: f32[2]) { %y = if %c {then=graph () { "
          "%a = relu %x return %a }, else=graph () { return %a }} return %y }",
          "%a is not visible here" },
        { "graph @g() { %w = weight \"unclosed : f32[]\n return %w }",
          "not closed" },
        { "graph @g() { %w = weight \"a\\q\" : f32[] return %w }", "escape" },
        { "graph @g() { %w = weight \"a\" return %w }", "type" },
        { "graph @g() { %w = weight \"a\" : f32[] %v = weight \"a\" : f32[] "
          "return %w, %v }",
          "declared twice" },
        { "graph @g(% x: f32[]) { return %x }",
          "the name of a value is wanted" },
        { "graph @g(%x: f32[]) { return %x } trailing", "'graph' is wanted" },
        { "graph @g(%x: f32[]) { %y = call @h, %x : f32[] return %y } "
          "graph @h() { return }",
          "@h takes 0" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        ir *m = NULL;

        if (ir_parse(&m, str_of(bad[i].text), NULL) == HULL_OK ||
            strstr(error_text(), bad[i].want) == NULL)
            fault("%s\nwanted: %s\nfound: %s\n", bad[i].text, bad[i].want,
                  error_text());
        assert_null(m);
    }
}

/* text = head * n + middle + tail * n */
static hull_status parse_nested(const char *prefix, const char *head,
                                const char *middle, const char *tail,
                                const char *suffix, int n)
{
    buf b;
    ir *m = NULL;
    hull_status st;

    buf_init(&b, 1 << 26);
    buf_puts(&b, prefix);
    for (int i = 0; i < n; i++)
        buf_puts(&b, head);
    buf_puts(&b, middle);
    for (int i = 0; i < n; i++)
        buf_puts(&b, tail);
    buf_puts(&b, suffix);
    st = ir_parse(&m, buf_view(&b), NULL);
    ir_free(m);
    buf_fini(&b);
    return st;
}

static void nesting_is_bounded(void **state)
{
    const char *p = "graph @g(%c: bool[], %x: f32[", *s = "]) { return %x }";

    (void)state;
    assert_int_equal(parse_nested(p, "(", "N", ")", s, 60), HULL_OK);
    assert_int_equal(parse_nested(p, "(", "N", ")", s, 200000), HULL_EFORMAT);
    assert_int_equal(parse_nested(p, "-", "N", "", s, 200000), HULL_EFORMAT);
    assert_int_equal(parse_nested(p, "min(", "N", ",1)", s, 200000),
                     HULL_EFORMAT);
    assert_int_equal(parse_nested("graph @g(%x: ", "sequence(", "f32[]", ")",
                                  ") { return %x }", 60),
                     HULL_OK);
    assert_int_equal(parse_nested("graph @g(%x: ", "sequence(", "f32[]", ")",
                                  ") { return %x }", 200000),
                     HULL_EFORMAT);
    assert_int_not_equal(parse_nested("graph @g(%c: bool[], %x: f32[]) {",
                                      "= if %c {then=graph () {", "return",
                                      "}}", "return }", 200000),
                         HULL_OK);
    assert_int_not_equal(parse_nested("graph @g(%c: bool[], %x: f32[]) {",
                                      "if %c {then=graph () {", "return",
                                      "}, else=graph () { return }} return",
                                      "}", 100000),
                         HULL_OK);
}

/* Every prefix and many mutations of a text: refused or read, never a crash,
 * and what is read prints to a text that reads back. */
static void mutations(void **state)
{
    static const char text[] =
        "graph @main(%x: f32[N,(H+1)/2,min(N, 4)], %c: bool[], "
        "%s: f32[2] = state \"s\\x01\") on cpu where N=1..64 opt 3 {\n"
        "  %0 = const {value=[1.0,-2.0,nan(0x7fc00001)]} : f32[3]\n"
        "  %v, %i = topk %x {k=2, axis=0} : f32[2,(H+1)/2,min(N, 4)], "
        "i64[2,(H+1)/2,min(N, 4)]\n"
        "  %r = if %c {then=graph () {\n    %a = relu %v : "
        "f32[2,(H+1)/2,min(N, 4)]\n    return %a\n  }, else=graph () {\n"
        "    return %v\n  }} : f32[2,(H+1)/2,min(N, 4)]\n"
        "  return %r, %0, %s -> \"s\\x01\"\n}\n";
    static const char some[] = "%@{}[](),:=\"#-+*/?_0123abN. \n\\";
    char copy[sizeof(text)];
    uint64_t seed = 7;
    uint32_t read = 0;

    (void)state;
    same(text);
    for (size_t n = 0; n + 2 < sizeof(text); n++) {
        ir *m = NULL;

        assert_int_not_equal(ir_parse(&m, (str){ text, n }, NULL), HULL_OK);
        assert_null(m);
    }
    for (int round = 0; round < 20000; round++) {
        ir *m = NULL;

        memcpy(copy, text, sizeof(text));
        for (int k = 0; k <= round % 3; k++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            copy[(seed >> 33) % (sizeof(text) - 1)] =
                some[(seed >> 20) % (sizeof(some) - 1)];
        }
        if (ir_parse(&m, (str){ copy, sizeof(text) - 1 }, NULL) == HULL_OK) {
            survives(m);
            read++;
        }
        ir_free(m);
    }
    assert_true(read > 100);
}

static void survives_no_memory(void **state)
{
    static const char text[] =
        "graph @g(%x: f32[N], %c: bool[], %s: f32[N] = state \"s\") {\n"
        "  %k = const {value=[1,2]} : f32[2]\n"
        "  %r = if %c {then=graph () { %a = relu %x return %a }, "
        "else=graph () { return %x }}\n  return %r, %s -> \"s\"\n}\n";
    int64_t live = mem_live();
    bool done = false;

    (void)state;
    for (uint64_t k = 1; !done; k++) {
        ir *m = NULL;
        buf b;
        hull_status st;

        buf_init(&b, 1 << 16);
        mem_fail_at(k, false);
        st = ir_parse(&m, str_of(text), NULL);
        if (st == HULL_OK) {
            ir_print(&b, m);
            st = buf_status(&b);
            if (st == HULL_OK)
                st = graph_canonical_text(&b, m->graphs[0]);
            done = st == HULL_OK;
        }
        mem_fail_at(0, false);
        buf_fini(&b);
        ir_free(m);
        if (!done)
            assert_int_equal(st, HULL_ENOMEM);
        assert_int_equal(mem_live(), live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trips),
        cmocka_unit_test(nested_bodies),
        cmocka_unit_test(literals),
        cmocka_unit_test(float_texts_are_exact),
        cmocka_unit_test(large_literals_go_by_digest),
        cmocka_unit_test(odd_names_become_numbers),
        cmocka_unit_test(weight_names_are_any_text),
        cmocka_unit_test(types_and_spaces_may_vary),
        cmocka_unit_test(refuses),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(mutations),
        cmocka_unit_test(survives_no_memory),
    };

    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
