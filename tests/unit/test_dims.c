/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * Symbolic sizes: every constructor against plain integer arithmetic on random
 * expressions, the normal form, bounds, evaluation, binding, text.
 */
#include "unit.h"

#include "ir/ir.h"

#include <string.h>

#define fault(...)                \
    do {                          \
        print_error(__VA_ARGS__); \
        assert_true(false);       \
    } while (0)

static ir *m;

static int setup(void **state)
{
    (void)state;
    return ir_new(&m) == HULL_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    ir_free(m);
    return 0;
}

static dim sym(const char *name)
{
    return dim_sym(m, str_of(name));
}

static void text_is(dim d, const char *want)
{
    buf b;

    buf_init(&b, 1 << 16);
    dim_print(&b, m, d);
    assert_int_equal(buf_status(&b), HULL_OK);
    assert_string_equal(b.p, want);
    buf_fini(&b);
}

static void folds_integers(void **state)
{
    int64_t v;

    (void)state;
    assert_int_equal(dim_add(m, 3, 4), 7);
    assert_true(dim_is_int(m, dim_sub(m, 3, 4), &v));
    assert_int_equal(v, -1);
    assert_int_not_equal(dim_sub(m, 3, 4), DIM_UNKNOWN);
    assert_int_equal(dim_sub(m, 3, 4), dim_int(m, -1));
    assert_int_equal(dim_add(m, dim_int(m, -5), 7), 2);
    assert_int_equal(dim_div(m, 7, 2), 3);
    assert_int_equal(dim_div(m, dim_int(m, -7), 2), dim_int(m, -4));
    assert_int_equal(dim_div(m, 7, dim_int(m, -2)), dim_int(m, -4));
    assert_int_equal(dim_mod(m, dim_int(m, -7), 2), 1);
    assert_int_equal(dim_mod(m, 7, dim_int(m, -2)), dim_int(m, -1));
    assert_int_equal(dim_ceil_div(m, 7, 2), 4);
    assert_int_equal(dim_min(m, 3, 4), 3);
    assert_int_equal(dim_max(m, 3, 4), 4);
    assert_int_equal(dim_bcast(m, 1, 4), 4);
    assert_int_equal(dim_bcast(m, 4, 1), 4);
    assert_int_equal(dim_bcast(m, 0, 1), 0);
    assert_int_equal(dim_bcast(m, 3, 4), DIM_UNKNOWN);
    assert_int_equal(dim_div(m, 3, 0), DIM_UNKNOWN);
    assert_int_equal(dim_mod(m, 3, 0), DIM_UNKNOWN);
}

static void overflow_is_unknown(void **state)
{
    dim n = sym("N");

    (void)state;
    assert_int_equal(dim_add(m, INT64_MAX, 1), DIM_UNKNOWN);
    assert_int_equal(dim_mul(m, INT64_MAX, 2), DIM_UNKNOWN);
    assert_int_equal(dim_mul(m, dim_mul(m, n, INT64_MAX), 2), DIM_UNKNOWN);
    assert_int_equal(dim_sub(m, dim_int(m, INT64_MIN), 1), DIM_UNKNOWN);
    assert_int_equal(dim_div(m, dim_int(m, INT64_MIN), dim_int(m, -1)),
                     DIM_UNKNOWN);
    assert_int_equal(dim_add(m, DIM_UNKNOWN, 1), DIM_UNKNOWN);
    assert_int_equal(dim_mul(m, DIM_UNKNOWN, 0), DIM_UNKNOWN);
    assert_int_equal(dim_min(m, n, DIM_UNKNOWN), DIM_UNKNOWN);
    assert_int_equal(dim_bcast(m, 1, DIM_UNKNOWN), DIM_UNKNOWN);
    assert_int_equal(ir_status(m), HULL_OK);
}

static void normal_form(void **state)
{
    dim n = sym("N"), h = sym("H");

    (void)state;
    text_is(dim_add(m, n, 1), "N+1");
    text_is(dim_sub(m, 1, n), "-N+1");
    text_is(dim_mul(m, 16, h), "16*H");
    text_is(dim_mul(m, dim_add(m, n, 1), h), "N*H+H");
    text_is(dim_sub(m, dim_mul(m, n, h), dim_mul(m, h, n)), "0");
    text_is(dim_sub(m, dim_add(m, n, h), n), "H");
    text_is(dim_div(m, dim_mul(m, dim_mul(m, n, h), 8), dim_mul(m, h, 2)),
            "4*N");
    text_is(dim_div(m, dim_add(m, dim_mul(m, n, h), n), dim_add(m, h, 1)), "N");
    text_is(dim_div(m, n, n), "1");
    text_is(dim_mod(m, dim_mul(m, n, 4), 2), "0");
    text_is(dim_mod(m, dim_mul(m, n, 2), 4), "2*(N%2)");
    text_is(dim_add(m, dim_div(m, dim_sub(m, h, 1), 2), 1), "(H+1)/2");
    assert_int_equal(dim_add(m, dim_div(m, dim_sub(m, h, 1), 2), 1),
                     dim_ceil_div(m, h, 2));
    text_is(dim_div(m, dim_div(m, h, 2), 2), "H/4");
    text_is(dim_div(m, dim_add(m, dim_mul(m, h, 4), 6), 4), "H+1");
    text_is(dim_div(m, dim_add(m, dim_mul(m, h, 2), 2), 4), "(H+1)/2");
    text_is(dim_min(m, n, dim_add(m, n, 2)), "N");
    text_is(dim_max(m, n, dim_add(m, n, 2)), "N+2");
    text_is(dim_min(m, dim_min(m, n, h), h), "min(N, H)");
    text_is(dim_bcast(m, n, 1), "N");
    text_is(dim_bcast(m, 1, n), "N");
    text_is(dim_bcast(m, n, 7), "7");
    text_is(dim_bcast(m, n, n), "N");
    text_is(dim_bcast(m, n, h), "bcast(N, H)");
    text_is(dim_bcast(m, dim_bcast(m, n, h), h), "bcast(N, H)");
    text_is(dim_sym(m, str_of("batch size")), "\"batch size\"");
    text_is(dim_div(m, n, h), "N/H");
    text_is(dim_div(m, dim_add(m, n, h), dim_mul(m, h, n)), "(N+H)/(H*N)");
    text_is(DIM_UNKNOWN, "?");
}

static void equality(void **state)
{
    dim n = sym("N"), h = sym("H");
    dim a = dim_add(m, n, h), b = dim_add(m, h, n);

    (void)state;
    assert_int_not_equal(a, b); /* order of appearance is kept */
    assert_true(dim_eq(m, a, b));
    assert_true(dim_eq(m, dim_mul(m, n, h), dim_mul(m, h, n)));
    assert_true(dim_eq(m, dim_div(m, a, 3), dim_div(m, b, 3)));
    assert_int_equal(dim_sub(m, dim_div(m, a, 3), dim_div(m, b, 3)), 0);
    assert_true(dim_eq(m, dim_min(m, n, h), dim_min(m, h, n)));
    assert_false(dim_eq(m, dim_div(m, n, h), dim_div(m, h, n)));
    assert_false(dim_eq(m, n, h));
    assert_false(dim_eq(m, n, dim_add(m, n, 1)));
    assert_false(dim_eq(m, DIM_UNKNOWN, DIM_UNKNOWN));
    assert_true(dim_eq(m, 5, 5));
    assert_int_equal(sym("N"), n);
    assert_int_not_equal(dim_fresh(m, "N"), n);
    assert_int_not_equal(dim_fresh(m, "N"), dim_fresh(m, "N"));
}

/* ---- random expressions -------------------------------------------------- */

static uint64_t seed = 1;

static uint32_t rnd(uint32_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33) % n;
}

#define SYMS 3
#define POINTS 8
static int64_t at[POINTS][SYMS];

/* An expression with its value at some points; ok = defined there. */
typedef struct expr {
    dim d;
    int64_t v[POINTS];
    bool ok[POINTS];
} expr;

static int64_t fdiv(int64_t a, int64_t b)
{
    int64_t q = a / b;

    return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

static bool apply(uint32_t op, int64_t a, int64_t b, int64_t *out)
{
    switch (op) {
    case 0:
        *out = a + b;
        return true;
    case 1:
        *out = a - b;
        return true;
    case 2:
        *out = a * b;
        return true;
    case 3:
        *out = b == 0 ? 0 : fdiv(a, b);
        return b != 0;
    case 4:
        *out = b == 0 ? 0 : a - b * fdiv(a, b);
        return b != 0;
    case 5:
        *out = a < b ? a : b;
        return true;
    case 6:
        *out = a > b ? a : b;
        return true;
    default:
        *out = a == 1 ? b : a;
        return a == 1 || b == 1 || a == b;
    }
}

static expr leaf(void)
{
    expr e;
    uint32_t s = rnd(SYMS + 2);
    int64_t c = (int64_t)rnd(9) - 3;
    static const char *const names[SYMS] = { "A", "B", "C" };

    e.d = s < SYMS ? sym(names[s]) : dim_int(m, c);
    for (int i = 0; i < POINTS; i++) {
        e.v[i] = s < SYMS ? at[i][s] : c;
        e.ok[i] = true;
    }
    return e;
}

static expr grow(uint32_t depth)
{
    static dim (*const make[])(ir *, dim, dim) = { dim_add, dim_sub,  dim_mul,
                                                   dim_div, dim_mod,  dim_min,
                                                   dim_max, dim_bcast };
    uint32_t op = rnd(8);
    expr a, b, e;

    if (depth == 0)
        return leaf();
    a = grow(depth - 1);
    b = rnd(2) ? leaf() : grow(depth - 1);
    e.d = make[op](m, a.d, b.d);
    for (int i = 0; i < POINTS; i++)
        e.ok[i] = apply(op, a.v[i], b.v[i], &e.v[i]) && a.ok[i] && b.ok[i] &&
                  e.v[i] > -(INT64_C(1) << 30) && e.v[i] < INT64_C(1) << 30;
    return e;
}

static void check_text(dim d)
{
    buf b;
    ir *other;
    buf c;
    const value *v;

    buf_init(&b, 1 << 20);
    buf_init(&c, 1 << 20);
    buf_puts(&b, "graph @g(%x: f32[");
    dim_print(&b, m, d);
    buf_puts(&b, "]) {\n  return %x\n}\n");
    if (ir_parse(&other, buf_view(&b), NULL) != HULL_OK)
        fault("%s: %s", b.p, error_text());
    ir_print(&c, other);
    assert_string_equal(b.p, c.p);
    v = graph_value(other->graphs[0], other->graphs[0]->body->params[0]);
    assert_true(dim_eq(m, dim_copy(m, other, v->type.dims[0]), d));
    buf_fini(&b);
    buf_fini(&c);
    ir_free(other);
}

static void random_expressions(void **state)
{
    dim_env e;
    int64_t v, lo, hi;
    uint32_t known = 0;
    dim syms[SYMS] = { sym("A"), sym("B"), sym("C") };

    (void)state;
    for (int round = 0; round < 6000; round++) {
        expr x;

        for (int i = 0; i < POINTS; i++)
            for (int s = 0; s < SYMS; s++)
                at[i][s] = rnd(4) ? (int64_t)rnd(12) : 1;
        x = grow(1 + rnd(4));
        if (x.d == DIM_UNKNOWN)
            continue;
        known++;
        assert_int_equal(dim_env_init(&e, m), HULL_OK);
        dim_range(m, x.d, &lo, &hi);
        for (int i = 0; i < POINTS; i++) {
            dim_env_clear(&e);
            assert_int_equal(dim_bind(&e, syms[0], at[i][0], "a"), HULL_OK);
            assert_int_equal(dim_bind(&e, syms[1], at[i][1], "b"), HULL_OK);
            assert_int_equal(dim_bind(&e, syms[2], at[i][2], "c"), HULL_OK);
            if (!x.ok[i])
                continue;
            assert_int_equal(dim_eval_value(&v, &e, x.d), HULL_OK);
            assert_int_equal(v, x.v[i]);
            assert_true(lo <= v && v <= hi);
        }
        dim_env_fini(&e);
        if (!(x.d >= 0) && dim_get(m, x.d)->op != DIM_INT)
            check_text(x.d);
    }
    assert_true(known > 2000);
}

/* ---- bounds, values, binding --------------------------------------------- */

static void bounds(void **state)
{
    dim n = sym("N"), h = sym("H");
    int64_t lo, hi;

    (void)state;
    dim_range(m, n, &lo, &hi);
    assert_int_equal(lo, 0);
    assert_int_equal(hi, INT64_MAX);
    dim_set_range(m, n, 1, 64);
    dim_set_range(m, h, 8, 8);
    dim_range(m, dim_sub(m, dim_mul(m, n, 3), h), &lo, &hi);
    assert_int_equal(lo, -5);
    assert_int_equal(hi, 184);
    dim_range(m, dim_div(m, n, 7), &lo, &hi);
    assert_int_equal(lo, 0);
    assert_int_equal(hi, 9);
    dim_range(m, dim_mod(m, n, 7), &lo, &hi);
    assert_int_equal(lo, 0);
    assert_int_equal(hi, 6);
    dim_range(m, DIM_UNKNOWN, &lo, &hi);
    assert_int_equal(lo, INT64_MIN);
    assert_int_equal(hi, INT64_MAX);
}

static void evaluation_refuses(void **state)
{
    dim n = sym("N"), h = sym("H");
    dim d = dim_sub(m, n, 5), b = dim_bcast(m, n, h), q = dim_div(m, n, h);
    dim big = dim_mul(m, n, INT64_C(1) << 40);
    dim_env e;
    int64_t v;

    (void)state;
    assert_int_equal(dim_env_init(&e, m), HULL_OK);
    assert_int_equal(dim_eval(&v, &e, n), HULL_ESHAPE);
    assert_non_null(strstr(error_text(), "'N'"));
    assert_int_equal(dim_bind(&e, n, 3, "input 'x' dim 0"), HULL_OK);
    assert_int_equal(dim_eval(&v, &e, d), HULL_ESHAPE);
    assert_int_equal(dim_eval_value(&v, &e, d), HULL_OK);
    assert_int_equal(v, -2);
    assert_int_equal(dim_bind(&e, h, 4, "h"), HULL_OK);
    assert_int_equal(dim_eval(&v, &e, b), HULL_ESHAPE);
    dim_env_clear(&e);
    assert_int_equal(dim_bind(&e, n, INT64_C(1) << 40, "n"), HULL_OK);
    assert_int_equal(dim_bind(&e, h, 0, "h"), HULL_OK);
    assert_int_equal(dim_eval(&v, &e, big), HULL_ESHAPE);
    assert_int_equal(dim_eval(&v, &e, q), HULL_ESHAPE);
    assert_int_equal(dim_eval(&v, &e, DIM_UNKNOWN), HULL_ESHAPE);
    dim_env_fini(&e);
}

static void binding(void **state)
{
    dim n = sym("N"), h = sym("H");
    dim lin = dim_add(m, dim_mul(m, n, 2), 1);
    dim both = dim_add(m, dim_mul(m, n, h), 3), half = dim_div(m, h, 2);
    dim_env e;
    int64_t v;

    (void)state;
    dim_set_range(m, n, 2, 10);
    assert_int_equal(dim_env_init(&e, m), HULL_OK);
    assert_int_equal(dim_bind(&e, n, 1, "input 'x' dim 0"), HULL_ESHAPE);
    assert_non_null(strstr(error_text(), "input 'x' dim 0"));
    assert_int_equal(dim_bind(&e, n, 11, "x"), HULL_ESHAPE);
    assert_int_equal(dim_bind(&e, lin, 6, "x"), HULL_ESHAPE);
    assert_int_equal(dim_bind(&e, lin, 7, "x"), HULL_OK);
    assert_int_equal(dim_eval(&v, &e, n), HULL_OK);
    assert_int_equal(v, 3);
    assert_int_equal(dim_bind(&e, n, 4, "x"), HULL_ESHAPE);
    assert_int_equal(dim_bind(&e, n, 3, "x"), HULL_OK);
    assert_int_equal(dim_bind(&e, half, 3, "x"), HULL_ESHAPE);
    assert_int_equal(dim_bind(&e, both, 18, "x"), HULL_OK);
    assert_int_equal(dim_eval(&v, &e, h), HULL_OK);
    assert_int_equal(v, 5);
    assert_int_equal(dim_bind(&e, half, 2, "x"), HULL_OK);
    assert_int_equal(dim_bind(&e, 4, 5, "x"), HULL_ESHAPE);
    assert_int_equal(dim_bind(&e, DIM_UNKNOWN, 5, "x"), HULL_OK);
    dim_env_fini(&e);
}

/* s + guard: the size is s, and the guard must then be worth 0. */
static void guards(void **state)
{
    dim n = sym("N"), h = sym("H");
    dim least = dim_add(m, h, dim_min(m, 0, dim_sub(m, h, n)));
    dim four = dim_sub(m, h, dim_mod(m, h, 4));
    dim_env e;
    int64_t v;

    (void)state;
    dim_set_range(m, n, 0, INT64_MAX);
    dim_set_range(m, h, 0, 20);
    assert_int_equal(dim_env_init(&e, m), HULL_OK);
    assert_int_equal(dim_bind(&e, n, 5, "x"), HULL_OK);
    assert_int_equal(dim_bind(&e, least, 4, "input 'y' dim 0"), HULL_ESHAPE);
    assert_non_null(strstr(error_text(), "input 'y' dim 0 is 4"));
    assert_int_equal(dim_bind(&e, least, 21, "y"), HULL_ESHAPE);
    assert_int_equal(dim_bind(&e, least, 5, "y"), HULL_OK);
    assert_int_equal(dim_eval(&v, &e, h), HULL_OK);
    assert_int_equal(v, 5);
    assert_int_equal(dim_bind(&e, least, 6, "y"), HULL_ESHAPE);
    dim_env_clear(&e);
    assert_int_equal(dim_bind(&e, least, 5, "y"), HULL_ESHAPE); /* N is free */
    assert_int_equal(dim_bind(&e, four, 6, "y"), HULL_ESHAPE);
    assert_int_equal(dim_bind(&e, four, 8, "y"), HULL_OK);
    assert_int_equal(dim_eval(&v, &e, h), HULL_OK);
    assert_int_equal(v, 8);
    dim_env_fini(&e);
}

/* Endless growth ends in DIM_UNKNOWN, not in deep recursion or huge trees. */
static void growth_is_bounded(void **state)
{
    dim n = sym("N"), a = n, b = n, c = n, p = 1;

    (void)state;
    for (int i = 0; i < 5000; i++) {
        char name[16];

        snprintf(name, sizeof(name), "s%d", i);
        a = dim_min(m, dim_mul(m, a, 2), dim_add(m, a, i));
        b = dim_div(m, dim_add(m, b, 1), sym(name));
        c = dim_add(m, c, sym(name));
        p = dim_mul(m, p, sym(name));
    }
    assert_int_equal(a, DIM_UNKNOWN);
    assert_int_equal(b, DIM_UNKNOWN);
    assert_int_equal(c, DIM_UNKNOWN);
    assert_int_equal(p, DIM_UNKNOWN);
    assert_int_equal(ir_status(m), HULL_OK);
}

static void copies_to_another_ir(void **state)
{
    ir *to;
    dim n = sym("N"), d = dim_add(m, dim_div(m, dim_add(m, n, sym("H")), 3), 2);
    buf a, b;
    int64_t lo, hi;

    (void)state;
    dim_set_range(m, n, 2, 9);
    assert_int_equal(ir_new(&to), HULL_OK);
    buf_init(&a, 1000);
    buf_init(&b, 1000);
    dim_sym(to, str_of("other"));
    dim_print(&a, m, d);
    dim_print(&b, to, dim_copy(to, m, d));
    assert_string_equal(a.p, b.p);
    dim_range(to, dim_sym(to, str_of("N")), &lo, &hi);
    assert_int_equal(lo, 2);
    assert_int_equal(hi, 9);
    buf_fini(&a);
    buf_fini(&b);
    ir_free(to);
}

/* Each allocation fails once: the ir fails, nothing leaks or crashes. */
static void survives_no_memory(void **state)
{
    int64_t live = mem_live();

    (void)state;
    for (uint64_t k = 1; k < 40; k++) {
        ir *x = NULL;

        mem_fail_at(k, false);
        if (ir_new(&x) == HULL_OK) {
            dim a = dim_sym(x, str_of("A"));

            for (int i = 0; i < 400; i++)
                a = dim_div(x, dim_add(x, dim_fresh(x, "t"), a), 3 + i);
        }
        mem_fail_at(0, false);
        ir_free(x);
        assert_int_equal(mem_live(), live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(folds_integers, setup, teardown),
        cmocka_unit_test_setup_teardown(overflow_is_unknown, setup, teardown),
        cmocka_unit_test_setup_teardown(normal_form, setup, teardown),
        cmocka_unit_test_setup_teardown(equality, setup, teardown),
        cmocka_unit_test_setup_teardown(random_expressions, setup, teardown),
        cmocka_unit_test_setup_teardown(bounds, setup, teardown),
        cmocka_unit_test_setup_teardown(evaluation_refuses, setup, teardown),
        cmocka_unit_test_setup_teardown(binding, setup, teardown),
        cmocka_unit_test_setup_teardown(guards, setup, teardown),
        cmocka_unit_test_setup_teardown(growth_is_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(copies_to_another_ir, setup, teardown),
        cmocka_unit_test_setup_teardown(survives_no_memory, setup, teardown),
    };

    return cmocka_run_group_tests_name("dims", tests, NULL, NULL);
}
