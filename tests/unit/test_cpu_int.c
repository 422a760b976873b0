/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_cpu_int.c - graphs of bytes, of 4 bits in blocks and of 16-bit floats
 * before and after cpu_lower, both by the reference kernels: which products
 * become products of bytes or of 4 bits, what goes into them, and that the
 * results stay: floats to rounding, integers exactly or by one step where a
 * float before the quantiser was rounded otherwise.
 */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "passes/pass.h"
#include "graph_eval.h"

static uint32_t count_op(const graph *g, op_code op)
{
    uint32_t found = 0;

    for (const node *n = graph_first(g); n != NULL; n = graph_next(g, n))
        found += n->op == op;
    return found;
}

/* $W(name, dtype, sizes): constants that look random, as nodes of iota. */
static void put_weight(char *out, size_t size, const char *name,
                       const char *dtype, const char *sizes)
{
    snprintf(out, size,
             "  %%%s0 = iota {shape=[%s], axis=0, dtype=i32}\n"
             "  %%%s1 = iota {shape=[%s], axis=1, dtype=i32}\n"
             "  %%%s2 = mul %%%s0, %%%s0\n  %%%s3 = mul %%%s1, %%%s2\n"
             "  %%%s4 = const {value=37} : i32[]\n"
             "  %%%s5 = add %%%s3, %%%s1\n  %%%s6 = add %%%s5, %%%s4\n"
             "  %%%s7 = mul %%%s6, %%%s4\n  %%%s = cast %%%s7 {to=%s}\n",
             name, sizes, name, sizes, name, name, name, name, name, name, name,
             name, name, name, name, name, name, name, name, name, name, name,
             dtype);
}

static void fill(tensor *t, uint32_t seed)
{
    int64_t n = tensor_numel(t);

    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        if (dtype_is_float(t->dtype))
            store_f64(t->dtype, t->data, (uint64_t)i,
                      (double)(seed >> 8) / 8388608.0 * 3 - 3);
        else
            store_i64(t->dtype, t->data, (uint64_t)i, seed >> 20);
    }
}

typedef struct wanted {
    uint32_t gemm, matmul, quants, others; /* nodes left; others: matmul, conv */
    int steps;                              /* of integers */
    uint32_t q4;                            /* products of 4 bits */
} wanted;

static void compare(const tensor *a, const tensor *b, int steps)
{
    double close = a->dtype == HULL_BF16  ? 1.6e-2
                   : a->dtype == HULL_F16 ? 2e-3
                                          : 1e-5;

    assert_int_equal(a->dtype, b->dtype);
    assert_int_equal(tensor_numel(a), tensor_numel(b));
    for (int64_t i = 0; i < tensor_numel(a); i++) {
        if (dtype_is_float(a->dtype)) {
            double u = load_f64(a->dtype, a->data, (uint64_t)i);
            double v = load_f64(b->dtype, b->data, (uint64_t)i);

            if (!(fabs(u - v) <= close + close * fabs(u))) {
                print_error("element %d: %g and %g\n", (int)i, u, v);
                assert_true(false);
            }
        } else {
            int64_t u = load_i64(a->dtype, a->data, (uint64_t)i);
            int64_t v = load_i64(b->dtype, b->data, (uint64_t)i);

            assert_true(llabs(u - v) <= steps);
        }
    }
}

/* Counts quantize and dequantize of runtime values. */
static uint32_t count_quants(graph *g)
{
    uint32_t found = 0;

    for (const node *n = graph_first(g); n != NULL; n = graph_next(g, n))
        found += n->op == OP_quantize || n->op == OP_dequantize;
    return found;
}

static void check_level(const char *text, wanted want, bool vnni)
{
    cpu_device d = {.has = {.level = vnni ? CPU_AVX512 : CPU_AVX2,
                            .vnni = vnni, .bf16 = vnni}};
    tensor in[4] = {0}, before[2], after[2];
    graph_run r1 = {0}, r2 = {0};
    arena a = {0};
    options *o;
    ir *m, *m2;
    graph *g;

    if (ir_parse(&m, str_of(text), NULL) != HULL_OK) {
        print_error("%s\n%s\n", error_text(), text);
        assert_true(false);
    }
    assert_int_equal(ir_parse(&m2, str_of(text), NULL), HULL_OK);
    assert_int_equal(options_new(&o), HULL_OK);
    g = m->graphs[0];
    if (cpu_lower(&d.d, g, o, NULL) != HULL_OK || graph_verify(g) != HULL_OK) {
        print_error("%s\n", error_text());
        assert_true(false);
    }
    if (count_op(g, OP_gemm_int) != want.gemm ||
        count_op(g, OP_matmul_int) != want.matmul ||
        count_op(g, OP_gemm_q4) != want.q4 ||
        count_quants(g) != want.quants ||
        count_op(g, OP_matmul) + count_op(g, OP_conv) + count_op(g, OP_gemm) +
                count_op(g, OP_conv_nhwc) != want.others) {
        buf b = {0};

        graph_print(&b, g);
        print_error("%.*s\n", (int)b.n, b.p);
        buf_fini(&b);
        assert_true(false);
    }
    for (uint32_t i = 0; i < g->body->n_params; i++) {
        dim_env env;

        assert_int_equal(dim_env_init(&env, m), HULL_OK);
        assert_int_equal(tensor_of_type(&in[i], &env,
                                        graph_type(g, g->body->params[i])),
                         HULL_OK);
        in[i].data = arena_alloc(&a, tensor_bytes(&in[i]) + 1);
        assert_non_null(in[i].data);
        fill(&in[i], 77 + i);
        dim_env_fini(&env);
    }
    assert_int_equal(graph_run_eval(&r1, m2->graphs[0], NULL, in, before),
                     HULL_OK);
    assert_int_equal(graph_run_eval(&r2, g, NULL, in, after), HULL_OK);
    for (uint32_t i = 0; i < g->body->n_results; i++)
        compare(&before[i], &after[i], want.steps);
    graph_run_fini(&r1);
    graph_run_fini(&r2);
    arena_fini(&a);
    options_free(o);
    ir_free(m);
    ir_free(m2);
}

/* Weights: "name dtype shape" each, then the graph's text. */
static void check(const char *const *ws, const char *params,
                  const char *body, const char *result, wanted want)
{
    static char text[16384], one[2048];
    size_t n;

    n = (size_t)snprintf(text, sizeof text, "graph @t(%s) {\n", params);
    for (; *ws != NULL; ws++) {
        char name[8], dtype[8], sizes[32];

        assert_int_equal(sscanf(*ws, "%7s %7s %31s", name, dtype, sizes),
                         3);
        put_weight(one, sizeof one, name, dtype, sizes);
        n += (size_t)snprintf(text + n, sizeof text - n, "%s", one);
    }
    snprintf(text + n, sizeof text - n,
             "  %%s = const {value=0.03125} : f32[]\n"
             "  %%s2 = const {value=0.5} : f32[]\n"
             "  %%z = const {value=131} : u8[]\n%s  return %s\n}\n", body,
             result);
    check_level(text, want, false);
    check_level(text, want, true);
}

#define QX "  %q = quantize %x, %s, %z {axis=0, to=u8}\n" \
           "  %d = dequantize %q, %s, %z {axis=0}\n"
/* f32[5]: positive, about 0.01 */
#define SCALES "  %k0 = iota {shape=[5], axis=0, dtype=f32}\n" \
               "  %k1 = const {value=3.0} : f32[]\n  %k2 = add %k0, %k1\n" \
               "  %k3 = const {value=0.0025} : f32[]\n  %k = mul %k2, %k3\n"

static void test_matmul(void **state)
{
    static const char *const w[] = {"w i8 7,5", "v i8 1,5", NULL};
    static const char *const t[] = {"w u8 5,7", NULL};

    (void)state;
    /* the scale of columns; a bias; a residual */
    check(w, "%x: f32[2,3,7], %r: f32[2,3,5]",
          SCALES QX "  %e = dequantize %w, %k {axis=1}\n"
                    "  %y = matmul %d, %e\n  %a = add %y, %k0\n"
                    "  %y2 = add %a, %r\n",
          "%y2", (wanted){.gemm = 1, .quants = 1});
    /* zero points of columns */
    check(w, "%x: f32[3,7]",
          SCALES QX "  %vz = reshape %v {shape=[5]}\n"
                    "  %e = dequantize %w, %k, %vz {axis=1}\n"
                    "  %y = matmul %d, %e, %k2\n",
          "%y", (wanted){.gemm = 1, .quants = 1});
    check(t, "%x: f32[3,7]",
          QX "  %e = dequantize %w, %s2, %z {axis=0}\n"
             "  %y = matmul %d, %e {trans_b=true}\n"
             "  %p = quantize %y, %s2, %z {axis=0, to=u8}\n",
          "%p", (wanted){.gemm = 1, .quants = 1, .steps = 1});
    /* quantised along the depth: stays */
    check(t, "%x: f32[3,5]",
          SCALES QX "  %e = dequantize %w, %k {axis=0}\n"
                    "  %y = matmul %d, %e\n",
          "%y", (wanted){.quants = 3, .others = 1});
    /* x is not quantised: the weight stays bytes */
    check(w, "%x: f32[3,7]",
          SCALES "  %vz = reshape %v {shape=[5]}\n"
                 "  %e = dequantize %w, %k, %vz {axis=1}\n"
                 "  %y = matmul %x, %e, %k2\n",
          "%y", (wanted){.others = 1});
    check(t, "%x: f32[2,5,7]",
          SCALES "  %e = dequantize %w, %k {axis=0}\n"
                 "  %y = matmul %x, %e {trans_b=true}\n",
          "%y", (wanted){.others = 1});
    check(t, "%x: f32[7]",
          "  %e = dequantize %w, %s, %z {axis=0}\n"
          "  %y = matmul %x, %e {trans_b=true}\n",
          "%y", (wanted){.others = 1});
}

/* Q, DQ, bias, gelu, Q and the views between them. */
static void test_chain(void **state)
{
    static const char *const w[] = {"w i8 8,5", NULL};

    (void)state;
    check(w, "%x: f32[6,8]",
          SCALES QX "  %e = dequantize %w, %k {axis=1}\n"
                    "  %y = matmul %d, %e\n"
                    "  %m = quantize %y, %s2, %z {axis=0, to=u8}\n"
                    "  %n = dequantize %m, %s2, %z {axis=0}\n"
                    "  %b = add %n, %k0\n  %g = relu %b\n"
                    "  %h = reshape %g {shape=[2,3,5]}\n"
                    "  %i = transpose %h {perm=[2,0,1]}\n"
                    "  %j = mul %i, %s2\n"
                    "  %o = quantize %j, %s, %z {axis=0, to=u8}\n",
          "%o", (wanted){.gemm = 1, .quants = 2, .steps = 1});
    check(w, "%x: f32[6,8]",
          SCALES QX "  %e = dequantize %w, %k {axis=1}\n"
                    "  %y = matmul %d, %e\n"
                    "  %m = quantize %y, %s2, %z {axis=0, to=u8}\n"
                    "  %n = dequantize %m, %s2, %z {axis=0}\n"
                    "  %b = add %n, %k0\n"
                    "  %h = reshape %b {shape=[2,3,5]}\n"
                    "  %i = transpose %h {perm=[2,0,1]}\n"
                    "  %j = mul %i, %s2\n"
                    "  %o = quantize %j, %s, %z {axis=0, to=u8}\n",
          "%o", (wanted){.gemm = 1, .quants = 1, .steps = 1});
    /* what is read twice stays */
    check(w, "%x: f32[6,8]",
          SCALES QX "  %e = dequantize %w, %k {axis=1}\n"
                    "  %y = matmul %d, %e\n"
                    "  %m = quantize %y, %s2, %z {axis=0, to=u8}\n"
                    "  %b = add %y, %y\n",
          "%m, %b", (wanted){.gemm = 1, .quants = 2, .steps = 1});
}

static void test_batch(void **state)
{
    static const char *const none[] = {NULL};

    (void)state;
    check(none, "%x: f32[2,3,4,5], %u: f32[2,3,6,5]",
          QX "  %q2 = quantize %u, %s2, %z {axis=0, to=u8}\n"
             "  %d2 = dequantize %q2, %s2, %z {axis=0}\n"
             "  %t = transpose %d2 {perm=[0,1,3,2]}\n"
             "  %y = matmul %d, %t\n",
          "%y", (wanted){.matmul = 1, .quants = 2});
    check(none, "%x: f32[4,5], %u: f32[6,5]",
          QX "  %q2 = quantize %u, %s2, %z {axis=0, to=u8}\n"
             "  %d2 = dequantize %q2, %s2, %z {axis=0}\n"
             "  %y = matmul %d, %d2 {trans_b=true}\n",
          "%y", (wanted){.matmul = 1, .quants = 2});
    /* one operand is not quantised */
    check(none, "%x: f32[4,5], %u: f32[6,5]",
          QX "  %y = matmul %u, %d {trans_b=true}\n", "%y",
          (wanted){.quants = 2, .others = 1});
}

static void test_integers(void **state)
{
    static const char *const w[] = {"w i8 7,5", "v i8 1,5", NULL};

    (void)state;
    check(w, "%x: f32[3,7]",
          QX "  %c = cast %q {to=i32}\n  %zi = cast %z {to=i32}\n"
             "  %cz = sub %c, %zi\n  %wi = cast %w {to=i32}\n"
             "  %vi = cast %v {to=i32}\n  %wz = sub %wi, %vi\n"
             "  %y = matmul %cz, %wz\n",
          "%y", (wanted){.gemm = 1, .quants = 1});
    check(w, "%x: f32[3,7]",
          SCALES QX "  %c = cast %q {to=i32}\n  %wi = cast %w {to=i32}\n"
                    "  %y = matmul %c, %wi\n  %b = cast %v {to=i32}\n"
                    "  %yb = add %y, %b\n  %f = cast %yb {to=f32}\n"
                    "  %g = mul %f, %k\n"
                    "  %o = quantize %g, %s2, %z {axis=0, to=u8}\n",
          "%o", (wanted){.gemm = 1, .quants = 1, .steps = 1});
}

static void test_conv(void **state)
{
    static const char *const w[] = {"w i8 5,36", "u i8 4,9", NULL};

    (void)state;
    check(w, "%x: f32[1,4,6,7]",
          SCALES QX "  %w9 = reshape %w {shape=[5,4,3,3]}\n"
                    "  %e = dequantize %w9, %k {axis=0}\n"
                    "  %y = conv %d, %e, %k0 {stride=[2,1], pad=[1,1,0,1], "
                    "dilation=[1,1]}\n"
                    "  %m = quantize %y, %s2, %z {axis=0, to=u8}\n"
                    "  %n = dequantize %m, %s2, %z {axis=0}\n"
                    "  %r = relu %n\n"
                    "  %o = quantize %r, %s2, %z {axis=0, to=u8}\n",
          "%o", (wanted){.gemm = 1, .quants = 1, .steps = 1});
    check(w, "%x: f32[1,4,6,7]",
          QX "  %c = cast %q {to=i32}\n  %zi = cast %z {to=i32}\n"
             "  %cz = sub %c, %zi\n  %w9 = reshape %w {shape=[5,4,3,3]}\n"
             "  %wi = cast %w9 {to=i32}\n"
             "  %b = iota {shape=[5], axis=0, dtype=i32}\n"
             "  %y = conv %cz, %wi, %b {stride=[1,1], pad=[1,1,1,1], "
             "dilation=[1,1]}\n",
          "%y", (wanted){.gemm = 1, .quants = 1});
    check(w, "%x: f32[3,36]",
          QX "  %c = cast %q {to=i32}\n  %wi = cast %w {to=i32}\n"
             "  %b = iota {shape=[5], axis=0, dtype=i32}\n"
             "  %y = matmul %c, %wi, %b {trans_b=true}\n"
             "  %f = cast %y {to=f32}\n  %g = mul %f, %s\n",
          "%g", (wanted){.gemm = 1, .quants = 1});
    /* one channel a group: not ours */
    check(w, "%x: f32[1,4,6,7]",
          QX "  %u9 = reshape %u {shape=[4,1,3,3]}\n"
             "  %e = dequantize %u9, %s {axis=0}\n"
             "  %y = conv %d, %e {stride=[1,1], pad=[1,1,1,1], "
             "dilation=[1,1], groups=4}\n",
          "%y", (wanted){.quants = 3, .others = 1});
}

/* In a body, with the weight packed outside of it. */
static void test_loop(void **state)
{
    static const char *const w[] = {"w i8 5,5", NULL};

    (void)state;
    check(w, "%x: f32[2,5]",
          "  %n = const {value=3} : i64[]\n  %go = const {value=true} : bool[]\n"
          "  %y = loop %n, %go, %x {body=graph (%i: i64[], %on: bool[], "
          "%h: f32[2,5]) {\n"
          "    %q = quantize %h, %s, %z {axis=0, to=u8}\n"
          "    %c = cast %q {to=i32}\n    %zi = cast %z {to=i32}\n"
          "    %cz = sub %c, %zi\n    %wi = cast %w {to=i32}\n"
          "    %p = matmul %cz, %wi\n    %f = cast %p {to=f32}\n"
          "    %l = const {value=0.0001} : f32[]\n    %g = mul %f, %l\n"
          "    return %on, %g\n  }}\n",
          "%y", (wanted){.gemm = 1, .quants = 1});
}

/* Two values of each byte of q: what MatMulNBits is lowered to. */
#define HALVES(q, out, n, blocks, half)                                       \
    "  %" out "0 = reshape %" q " {shape=[" n "," blocks "," half ",1]}\n"   \
    "  %" out "1 = shift_right %" out "0, %sh\n"                              \
    "  %" out "2 = and %" out "1, %low\n"
#define NIBBLES "  %sh = const {value=[0,4]} : u8[2]\n" \
                "  %low = const {value=15} : u8[]\n"
/* [5, 3, 16] in blocks of 16, less their zero points, and f32[5, 3] above 0 */
#define VALUES(dt)                                                            \
    NIBBLES HALVES("q", "u", "5", "3", "8")                               \
    "  %u = reshape %u2 {shape=[5,3,16]}\n  %f = cast %u {to=" dt "}\n"
#define BLOCK_SCALES                                                          \
    "  %a0 = iota {shape=[15], axis=0, dtype=f32}\n"                         \
    "  %a1 = const {value=0.015} : f32[]\n  %a2 = add %a0, %s2\n"            \
    "  %k = mul %a2, %a1\n"

/* MatMulNBits. */
static void test_packed_blocks(void **state)
{
    static const char *const w[] = {"q u8 5,24", "p u8 5,2", NULL};

    (void)state;
    check(w, "%x: f32[2,3,48]",
          BLOCK_SCALES VALUES("f32")
          "  %e = const {value=8.0} : f32[]\n  %v = sub %f, %e\n"
          "  %t = reshape %k {shape=[5,3,1]}\n  %m = mul %v, %t\n"
          "  %w = reshape %m {shape=[5,48]}\n"
          "  %b = slice %a2 {axes=[0], starts=[0], ends=[5]}\n"
          "  %y = matmul %x, %w {trans_b=true}\n  %c = add %y, %b\n"
          "  %o = relu %c\n",
          "%o", (wanted){.q4 = 1});
    /* packed zero points; k is no whole number of blocks */
    check(w, "%x: f32[3,40]",
          BLOCK_SCALES VALUES("f32") HALVES("p", "z", "5", "2", "1")
          "  %z3 = reshape %z2 {shape=[5,4]}\n"
          "  %z4 = slice %z3 {axes=[1], starts=[0], ends=[3]}\n"
          "  %z5 = cast %z4 {to=f32}\n  %z6 = reshape %z5 {shape=[5,3,1]}\n"
          "  %v = sub %f, %z6\n  %t = reshape %k {shape=[5,3,1]}\n"
          "  %m = mul %v, %t\n  %w = reshape %m {shape=[5,48]}\n"
          "  %wc = slice %w {axes=[1], starts=[0], ends=[40]}\n"
          "  %y = matmul %x, %wc {trans_b=true}\n",
          "%y", (wanted){.q4 = 1});
    /* zero points that are floats; a factor stays outside */
    check(w, "%x: f32[48]",
          BLOCK_SCALES VALUES("f32")
          "  %z6 = reshape %a2 {shape=[5,3,1]}\n  %v = sub %f, %z6\n"
          "  %t = reshape %k {shape=[5,3,1]}\n  %m = mul %v, %t\n"
          "  %w = reshape %m {shape=[5,48]}\n"
          "  %y = matmul %x, %w {trans_b=true}\n  %g = mul %y, %s2\n",
          "%g", (wanted){.q4 = 1});
    /* scales that are not one of each block */
    check(w, "%x: f32[2,48]",
          BLOCK_SCALES VALUES("f32")
          "  %e = const {value=8.0} : f32[]\n  %v = sub %f, %e\n"
          "  %k5 = slice %k {axes=[0], starts=[0], ends=[5]}\n"
          "  %t = reshape %k5 {shape=[5,1,1]}\n  %m = mul %v, %t\n"
          "  %w = reshape %m {shape=[5,48]}\n"
          "  %y = matmul %x, %w {trans_b=true}\n",
          "%y", (wanted){.others = 1});
    /* a zero point of more than 4 bits */
    check(w, "%x: f32[2,48]",
          BLOCK_SCALES VALUES("f32")
          "  %e = const {value=8.5} : f32[]\n  %v = sub %f, %e\n"
          "  %t = reshape %k {shape=[5,3,1]}\n  %m = mul %v, %t\n"
          "  %w = reshape %m {shape=[5,48]}\n"
          "  %y = matmul %x, %w {trans_b=true}\n",
          "%y", (wanted){.others = 1});
}

/* The same of f16 and bf16, which the CPU may multiply as they are. */
#define HALF_BLOCKS(dt)                                                       \
    BLOCK_SCALES VALUES(dt)                                                   \
    "  %e = const {value=8.0} : " dt "[]\n  %v = sub %f, %e\n"                \
    "  %kh = cast %k {to=" dt "}\n  %t = reshape %kh {shape=[5,3,1]}\n"       \
    "  %m = mul %v, %t\n  %w = reshape %m {shape=[5,48]}\n"                   \
    "  %y = matmul %x, %w {trans_b=true}\n"

static void test_half_blocks(void **state)
{
    static const char *const w[] = {"q u8 5,24", NULL};

    (void)state;
    check(w, "%x: f16[4,48]", HALF_BLOCKS("f16"), "%y", (wanted){.q4 = 1});
    check(w, "%x: bf16[4,48]", HALF_BLOCKS("bf16"), "%y", (wanted){.q4 = 1});
}

/* One of each block of v, `spread` as one of each element. */
#define SPREAD_0(v, out) /* [3, 6] -> [48, 6] */                              \
    "  %" out "0 = reshape %" v " {shape=[3,1,6]}\n"                         \
    "  %" out "1 = expand %" out "0 {shape=[3,16,6]}\n"                      \
    "  %" out " = reshape %" out "1 {shape=[48,6]}\n"
#define SPREAD_1(v, out) /* [6, 3] -> [6, 48] */                              \
    "  %" out "0 = reshape %" v " {shape=[6,3,1]}\n"                         \
    "  %" out "1 = expand %" out "0 {shape=[6,3,16]}\n"                      \
    "  %" out " = reshape %" out "1 {shape=[6,48]}\n"
#define MATRIX_SCALES(shape)                                                  \
    "  %a0 = iota {shape=[18], axis=0, dtype=f32}\n"                         \
    "  %a1 = const {value=0.015} : f32[]\n  %a2 = add %a0, %s2\n"            \
    "  %a3 = mul %a2, %a1\n  %k = reshape %a3 {shape=[" shape "]}\n"

/* DequantizeLinear with a block_size. */
static void test_spread_blocks(void **state)
{
    static const char *const w[] = {"q i4 48,6", "p i4 3,6", NULL};
    static const char *const u[] = {"q u4 48,6", "p u4 3,6", NULL};
    static const char *const t[] = {"q u4 6,48", "p u4 6,3", NULL};

    (void)state;
    check(w, "%x: f32[2,48]",
          MATRIX_SCALES("3,6") SPREAD_0("k", "e")
          "  %f = cast %q {to=f32}\n  %m = mul %f, %e\n"
          "  %y = matmul %x, %m\n",
          "%y", (wanted){.q4 = 1});
    /* cut, with a zero point, through another float */
    check(w, "%x: f32[2,40]",
          MATRIX_SCALES("3,6") SPREAD_0("k", "e")
          "  %ec = slice %e {axes=[0], starts=[0], ends=[40]}\n"
          "  %zf = cast %p {to=f32}\n" SPREAD_0("zf", "o")
          "  %oc = slice %o {axes=[0], starts=[0], ends=[40]}\n"
          "  %qc = slice %q {axes=[0], starts=[0], ends=[40]}\n"
          "  %f = cast %qc {to=f32}\n  %v = sub %f, %oc\n"
          "  %m = mul %v, %ec\n  %y = matmul %x, %m\n",
          "%y", (wanted){.q4 = 1});
    check(u, "%x: f32[2,48]",
          MATRIX_SCALES("3,6") SPREAD_0("k", "e")
          "  %zf = cast %p {to=f32}\n" SPREAD_0("zf", "o")
          "  %f = cast %q {to=f32}\n  %v = sub %f, %o\n  %m = mul %v, %e\n"
          "  %h = cast %m {to=f64}\n  %n = cast %h {to=f32}\n"
          "  %y = matmul %x, %n\n",
          "%y", (wanted){.q4 = 1});
    /* a float zero point of signed values */
    check(w, "%x: f32[2,48]",
          MATRIX_SCALES("3,6") SPREAD_0("k", "e") SPREAD_0("k", "o")
          "  %f = cast %q {to=f32}\n  %v = sub %f, %o\n  %m = mul %v, %e\n"
          "  %y = matmul %x, %m\n",
          "%y", (wanted){.q4 = 1});
    /* rows; unsigned values without a zero point count from 0 */
    check(t, "%x: f32[2,48]",
          MATRIX_SCALES("6,3") SPREAD_1("k", "e")
          "  %f = cast %q {to=f32}\n  %m = mul %f, %e\n"
          "  %y = matmul %x, %m {trans_b=true}\n",
          "%y", (wanted){.q4 = 1});
    check(t, "%x: f32[2,48]",
          MATRIX_SCALES("6,3") SPREAD_1("k", "e")
          "  %zf = cast %p {to=f32}\n" SPREAD_1("zf", "o")
          "  %f = cast %q {to=f32}\n  %v = sub %f, %o\n  %m = mul %v, %e\n"
          "  %y = matmul %x, %m {trans_b=true}\n",
          "%y", (wanted){.q4 = 1});
    /* blocks along the columns */
    check(t, "%x: f32[2,6]",
          MATRIX_SCALES("6,3") SPREAD_1("k", "e")
          "  %f = cast %q {to=f32}\n  %m = mul %f, %e\n"
          "  %y = matmul %x, %m\n",
          "%y", (wanted){.others = 1});
}

/* A weight that a body reads; and the passes in front of lowering, which would
 * put it beside others or a factor of the columns into it, leave it alone. */
static void test_blocks_stay(void **state)
{
    static const char *const w[] = {"q i4 48,6", NULL};
    static const char text[] =
        "graph @t(%x: f32[2,20,48]) {\n"
        "  %q = weight \"q\" : i4[48,6]\n  %k = weight \"k\" : f32[3,6]\n"
        "  %c = weight \"c\" : f32[6]\n" SPREAD_0("k", "e")
        "  %f = cast %q {to=f32}\n  %m = mul %f, %e\n"
        "  %y = matmul %x, %m\n  %g = mul %y, %c\n"
        "  %r = reshape %y {shape=[2,20,3,2]}\n"
        "  %t = transpose %r {perm=[0,2,1,3]}\n"
        "  %p = weight \"p\" : i4[48,6]\n  %pf = cast %p {to=f32}\n"
        "  %pm = mul %pf, %e\n  %z = matmul %x, %pm\n"
        "  %zr = reshape %z {shape=[2,20,3,2]}\n"
        "  %zt = transpose %zr {perm=[0,2,1,3]}\n"
        "  %zs = matmul %x, %pm\n  %zg = mul %zs, %c\n"
        "  return %g, %t, %zt, %zg\n}\n";
    cpu_device d = {.has = {.level = CPU_AVX2}};
    options *o;
    ir *m;

    (void)state;
    check(w, "%x: f32[2,6]",
          MATRIX_SCALES("3,6") SPREAD_0("k", "e")
          "  %f = cast %q {to=f32}\n  %m = mul %f, %e\n"
          "  %n = const {value=3} : i64[]\n"
          "  %go = const {value=true} : bool[]\n"
          "  %y = loop %n, %go, %x {body=graph (%i: i64[], %on: bool[], "
          "%h: f32[2,6]) {\n    %l = concat %h, %h, %h, %h, %h, %h, %h, %h "
          "{axis=1}\n    %p = matmul %l, %m\n    %g = tanh %p\n"
          "    return %on, %g\n  }}\n",
          "%y", (wanted){.q4 = 1});
    assert_int_equal(ir_parse(&m, str_of(text), NULL), HULL_OK);
    assert_int_equal(options_new(&o), HULL_OK);
    assert_int_equal(pass_fuse_linear(m->graphs[0]), HULL_OK);
    assert_int_equal(pass_merge_products(m->graphs[0]), HULL_OK);
    assert_int_equal(count_op(m->graphs[0], OP_concat), 0);
    assert_int_equal(cpu_lower(&d.d, m->graphs[0], o, NULL), HULL_OK);
    assert_int_equal(count_op(m->graphs[0], OP_gemm_q4), 3);
    options_free(o);
    ir_free(m);
}

/* Nothing of 16 bits is left to the reference kernels. */
static void check_half(const char *dt, bool bf16)
{
    cpu_device d = {.has = {.level = CPU_AVX512, .vnni = true, .bf16 = bf16}};
    char text[2048];
    options *o;
    ir *m;

    snprintf(text, sizeof text,
             "graph @t(%%x: %s[2,6,40]) {\n"
             "  %%w = weight \"w\" : %s[40,40]\n"
             "  %%b = weight \"b\" : %s[40]\n  %%m = matmul %%x, %%w, %%b\n"
             "  %%g = gelu %%m\n  %%s = softmax %%g {axis=2}\n"
             "  %%t = transpose %%s {perm=[0,2,1]}\n"
             "  %%p = matmul %%s, %%t\n"
             "  %%l = layer_norm %%g, %%b {axis=2, eps=1e-05}\n"
             "  return %%p, %%l\n}\n", dt, dt, dt);
    assert_int_equal(ir_parse(&m, str_of(text), NULL), HULL_OK);
    assert_int_equal(options_new(&o), HULL_OK);
    assert_int_equal(cpu_lower(&d.d, m->graphs[0], o, NULL), HULL_OK);
    assert_int_equal(graph_verify(m->graphs[0]), HULL_OK);
    for (const node *n = m->graphs[0]->body->first; n != NULL; n = n->next) {
        if (n->op == OP_weight || n->op == OP_reshape ||
            (n->op == OP_gemm && bf16))
            continue; /* the machine may be without the kernel */
        if (backend_cpu.kernel(&d.d, m->graphs[0], n) == NULL)
            print_error("%s of %s has no kernel\n", op_get(n->op)->name, dt);
        assert_non_null(backend_cpu.kernel(&d.d, m->graphs[0], n));
    }
    options_free(o);
    ir_free(m);
}

static void test_half(void **state)
{
    static const char *const none[] = {NULL};

    (void)state;
    check_half("f16", true);
    check_half("f16", false);
    check_half("bf16", true);
    check_half("bf16", false);
    check(none, "%x: f16[3,8], %u: f16[8,5]",
          "  %y = matmul %x, %u\n  %g = gelu %y\n"
          "  %o = softmax %g {axis=1}\n",
          "%o", (wanted){.others = 1});
    check(none, "%x: bf16[3,7]",
          "  %i = iota {shape=[7,5], axis=0, dtype=bf16}\n"
          "  %j = iota {shape=[7,5], axis=1, dtype=bf16}\n"
          "  %w = mul %i, %j\n  %y = matmul %x, %w\n  %o = relu %y\n",
          "%o", (wanted){.others = 1});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matmul),   cmocka_unit_test(test_chain),
        cmocka_unit_test(test_batch),    cmocka_unit_test(test_integers),
        cmocka_unit_test(test_conv),     cmocka_unit_test(test_loop),
        cmocka_unit_test(test_half),
        cmocka_unit_test(test_packed_blocks),
        cmocka_unit_test(test_half_blocks),
        cmocka_unit_test(test_spread_blocks),
        cmocka_unit_test(test_blocks_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
