/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * Kernels of the cpu backend for sdpa, matmul and gemm of few rows against the
 * reference kernels: every level that the machine has, sizes that reach whole
 * tiles and their ends, hostile values, threads or none.
 */
#include "unit.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/cpu/cpu.h"

enum { PLAIN = 0, HOSTILE = 1, MASKED = 2, BAND = 4 };

static pool *threads;

static double noise(uint64_t seed, uint64_t i)
{
    uint64_t key[2] = {seed, i};

    return (double)(hash64(key, sizeof key) >> 11) * 0x1p-53;
}

/* Does row i of a mask show key k: keys from 40 before it up to itself; of 70
 * rows the last five see none. */
static bool in_band(const tensor *t, int64_t i)
{
    int64_t keys = t->shape[t->rank - 1], rows = t->shape[t->rank - 2];
    int64_t row = i / keys % rows, key = i % keys;

    return key <= row && key > row - 40 && (rows != 70 || row < 65);
}

/* Numbers in [-1, 1); one in `rare` is not a common one. */
static void put_values(tensor *t, uint64_t seed, int how)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0, 1e-40, 4.0};

    for (int64_t i = 0; i < tensor_numel(t); i++) {
        double v = 2 * noise(seed, (uint64_t)i) - 1;
        double luck = noise(seed + 1000, (uint64_t)i);

        if ((how & BAND) != 0 && seed == 3 && in_band(t, i) == 0) {
            if (t->dtype == HULL_BOOL)
                store_i64(HULL_BOOL, t->data, (uint64_t)i, 0);
            else
                store_f64(t->dtype, t->data, (uint64_t)i,
                          luck < 0.5 ? -INFINITY : -FLT_MAX);
            continue;
        }
        if (t->dtype == HULL_BOOL) {
            store_i64(HULL_BOOL, t->data, (uint64_t)i, v > -0.3);
            continue;
        }
        if ((how & HOSTILE) != 0 && luck < 0.004)
            v = odd[(size_t)(luck / 0.004 * 6)];
        if ((how & MASKED) != 0 && seed == 3 && luck > 0.6)
            v = -INFINITY;
        store_f64(t->dtype, t->data, (uint64_t)i, v);
    }
}

typedef struct trial {
    ir *m;
    const graph *g;
    const node *n;
    tensor in[5], want, got;
    dim_env env;
    int compared;
} trial;

/* Blocks of their own and of their size, so that sanitizers see their ends. */

static void make_room(trial *c, tensor *t, const type *ty)
{
    assert_int_equal(tensor_of_type(t, &c->env, ty), HULL_OK);
    t->data = mem_calloc(1, tensor_bytes(t) > 0 ? tensor_bytes(t) : 1);
    assert_non_null(t->data);
}

static bool agree(double a, double b, double tolerance)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    return a == b || fabs(a - b) <= tolerance * (1 + fabs(b));
}

static void compare(const trial *c, const char *name, double tolerance)
{
    for (int64_t i = 0; i < tensor_numel(&c->want); i++) {
        double a = load_f64(c->got.dtype, c->got.data, (uint64_t)i);
        double b = load_f64(c->want.dtype, c->want.data, (uint64_t)i);

        if (!agree(a, b, tolerance))
            print_error("%s: element %d is %.9g, want %.9g\n", name, (int)i, a,
                        b);
        assert_true(agree(a, b, tolerance));
    }
}

static void run_kernel(trial *c, const cpu_kernel *k, double tolerance)
{
    arena scratch = {0};
    eval_ctx cx = {.env = &c->env, .scratch = &scratch};
    tensor once;

    memset(c->got.data, 0xff, tensor_bytes(&c->got));
    assert_int_equal(k->k.run(&cx, c->n, c->in, &c->got), HULL_OK);
    compare(c, k->k.name, tolerance);
    make_room(c, &once, graph_type(c->g, c->n->out[0]));
    memcpy(once.data, c->got.data, tensor_bytes(&once));
    cx.pool = threads;
    arena_reset(&scratch);
    memset(c->got.data, 0xff, tensor_bytes(&c->got));
    assert_int_equal(k->k.run(&cx, c->n, c->in, &c->got), HULL_OK);
    assert_memory_equal(once.data, c->got.data, tensor_bytes(&once));
    arena_fini(&scratch);
    mem_free(once.data);
    c->compared++;
}

/* The graph's first node that is not a leaf, on every kernel that takes it. */
static void check(const char *text, int how, double tolerance)
{
    trial c = {0};
    arena scratch = {0};
    cpu_features has;
    eval_ctx cx = {.env = &c.env, .scratch = &scratch};
    hull_status st = ir_parse(&c.m, str_of(text), NULL);

    if (st != HULL_OK)
        print_error("%s\n%s\n", text, error_text());
    assert_int_equal(st, HULL_OK);
    assert_int_equal(cpu_features_get(&has), HULL_OK);
    c.g = c.m->graphs[0];
    c.n = c.g->body->first;
    assert_int_equal(dim_env_init(&c.env, c.m), HULL_OK);
    for (uint32_t i = 0; i < c.n->n_in; i++) {
        bool mask = i == (c.n->op == OP_sdpa_joined ? 2 : 3);

        if (c.n->in[i] == 0)
            continue;
        make_room(&c, &c.in[i], graph_type(c.g, c.n->in[i]));
        put_values(&c.in[i], mask ? 3 : i,
                   mask || (how & MASKED) == 0 ? how : PLAIN);
    }
    make_room(&c, &c.want, graph_type(c.g, c.n->out[0]));
    make_room(&c, &c.got, graph_type(c.g, c.n->out[0]));
    assert_int_equal(op_get(c.n->op)->eval(&cx, c.n, c.in, &c.want), HULL_OK);
    for (size_t i = 0; i < cpu_n_kernels; i++) {
        const cpu_kernel *k = &cpu_kernels[i];

        if (k->op == c.n->op && k->level <= has.level && k->takes(c.g, c.n))
            run_kernel(&c, k, tolerance);
    }
    if (c.compared == 0 && has.level > CPU_ANY)
        print_error("no kernel takes\n%s\n", text);
    assert_true(c.compared > 0 || has.level == CPU_ANY);
    dim_env_fini(&c.env);
    arena_fini(&scratch);
    for (uint32_t i = 0; i < COUNT_OF(c.in); i++)
        mem_free(c.in[i].data);
    mem_free(c.want.data);
    mem_free(c.got.data);
    ir_free(c.m);
}

/* ---- sdpa ---------------------------------------------------------------- */

/* mask: "" or the type of operand 3; attrs as in the language. */
static void attention(int b, int h, int hk, int l, int s, int d, int e,
                      const char *mask, const char *attrs, int how)
{
    char text[1024];

    snprintf(text, sizeof text,
             "graph @t(%%q: f32[%d,%d,%d,%d], %%k: f32[%d,%d,%d,%d], "
             "%%v: f32[%d,%d,%d,%d]%s%s) {\n"
             "  %%r = sdpa %%q, %%k, %%v%s {%s}\n  return %%r\n}\n",
             b, h, l, d, b, hk, s, d, b, hk, s, e, mask[0] != 0 ? ", %m: " : "",
             mask, mask[0] != 0 ? ", %m" : "", attrs);
    check(text, how, 2e-5);
}

static void test_attention_sizes(void **state)
{
    static const int lengths[] = {1, 2, 5, 6, 7, 13, 16, 31, 32, 33, 64, 100};
    static const int widths[] = {1, 3, 8, 15, 16, 17, 32, 64, 80};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(lengths); i++)
        for (size_t k = 0; k < COUNT_OF(lengths); k += 2)
            attention(1, 2, 2, lengths[i], lengths[k], 8, 8, "", "scale=1.0",
                      PLAIN);
    for (size_t i = 0; i < COUNT_OF(widths); i++) {
        attention(1, 1, 1, 19, 20, widths[i], 16, "", "scale=0.0", PLAIN);
        attention(1, 1, 1, 19, 20, 16, widths[i], "", "scale=0.0", PLAIN);
        attention(1, 1, 1, 3, 20, widths[i], widths[i], "", "scale=0.0",
                  PLAIN);
    }
    attention(2, 3, 3, 197, 197, 64, 64, "", "scale=0.125", PLAIN);
    attention(1, 2, 1, 40, 700, 32, 128, "", "scale=2.0", PLAIN);
    attention(1, 2, 2, 4, 600, 128, 136, "", "scale=1.0", PLAIN);
    attention(1, 1, 1, 9, 0, 4, 4, "", "scale=1.0", PLAIN);
}

static void test_attention_causal(void **state)
{
    (void)state;
    attention(1, 2, 2, 100, 100, 16, 16, "", "causal=true", PLAIN);
    attention(1, 2, 2, 600, 600, 8, 8, "", "causal=true", PLAIN);
    attention(1, 1, 1, 70, 40, 16, 16, "", "causal=true", PLAIN);
    attention(1, 1, 1, 3, 40, 16, 16, "", "causal=true", PLAIN);
    attention(1, 4, 2, 1, 40, 16, 16, "", "causal=true", PLAIN);
    attention(1, 16, 2, 1, 40, 16, 16, "", "causal=true", PLAIN);
    attention(1, 1, 1, 40, 40, 16, 16, "f32[40,40]",
              "causal=true, rows=\"softmax\"", PLAIN);
}

static void test_attention_shared_heads(void **state)
{
    (void)state;
    attention(2, 8, 2, 1, 300, 64, 64, "", "scale=0.1", PLAIN);
    attention(2, 8, 1, 1, 30, 64, 64, "bool[2,8,1,30]", "scale=0.1", PLAIN);
    attention(1, 32, 2, 1, 50, 16, 16, "f32[1,1,50]", "scale=0.1", PLAIN);
    attention(2, 6, 3, 20, 50, 16, 16, "f32[2,1,20,50]", "scale=0.1", PLAIN);
}

static void test_attention_masks(void **state)
{
    static const char *const masks[] = {
        "f32[2,3,40,50]", "f32[50]",        "f32[1,50]",    "f32[40,1]",
        "f32[2,1,1,50]",  "bool[40,50]",    "bool[1,1,50]", "bool[3,40,1]",
        "bool[2,1,1,50]", "bool[2,3,1,50]", "f32[1]",       "bool[]"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(masks); i++)
        for (int k = 0; k < 2; k++) {
            static const char *const rows[] = {
                "rows=\"zero\"", "rows=\"softmax\", fill=-1e30"};

            attention(2, 3, 3, 40, 50, 16, 20, masks[i], rows[k], PLAIN);
            attention(2, 3, 3, 40, 50, 16, 20, masks[i], rows[k], MASKED);
        }
    for (int k = 0; k < 3; k++) {
        static const char *const rows[] = {
            "rows=\"zero\"", "rows=\"softmax\"", "rows=\"safe\""};

        attention(1, 2, 2, 100, 100, 16, 20, "f32[100,100]", rows[k], BAND);
        attention(1, 2, 2, 100, 107, 16, 20, "bool[100,107]", rows[k], BAND);
        attention(1, 2, 1, 70, 90, 16, 20, "f32[2,70,90]", rows[k], BAND);
        attention(1, 2, 2, 400, 400, 8, 8, "f32[400,400]", rows[k], BAND);
        attention(1, 2, 2, 100, 100, 16, 20, "f32[100,100]", rows[k],
                  BAND | HOSTILE);
        attention(1, 2, 2, 100, 107, 16, 20, "bool[100,107]", rows[k],
                  BAND | HOSTILE);
    }
    attention(1, 2, 2, 100, 100, 16, 20, "bool[100,100]", "fill=-3e38", BAND);
    attention(1, 2, 2, 100, 100, 16, 20, "bool[100,100]", "fill=1.0", BAND);
    attention(1, 2, 2, 2, 50, 16, 20, "bool[2,50]", "fill=2.0", PLAIN);
    attention(1, 2, 2, 33, 300, 16, 20, "bool[33,300]", "fill=2.0", PLAIN);
    /* some rows have no key */
    for (int k = 0; k < 3; k++) {
        static const char *const rows[] = {
            "rows=\"zero\"", "rows=\"softmax\"", "rows=\"safe\""};

        attention(1, 2, 2, 40, 2, 16, 20, "bool[40,2]", rows[k], PLAIN);
        attention(1, 2, 2, 4, 1, 16, 20, "bool[4,1]", rows[k], PLAIN);
        attention(1, 2, 2, 40, 2, 16, 20, "f32[40,2]", rows[k], MASKED);
    }
}

static void test_attention_hostile(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        static const char *const rows[] = {
            "rows=\"zero\"", "rows=\"softmax\"", "rows=\"safe\""};

        attention(1, 2, 2, 40, 30, 8, 12, "", rows[k], HOSTILE);
        attention(1, 2, 2, 40, 30, 8, 12, "bool[40,30]", rows[k], HOSTILE);
        attention(1, 2, 2, 40, 30, 8, 12, "f32[1,30]", rows[k], HOSTILE);
        attention(4, 2, 2, 3, 30, 8, 12, "f32[3,30]", rows[k], HOSTILE);
    }
}

/* ---- sdpa_joined --------------------------------------------------------- */

static void joined(int b, int l, int h, int d, const char *mask,
                   const char *attrs, int how)
{
    char text[1024];

    snprintf(text, sizeof text,
             "graph @t(%%x: f32[%d,%d,3,%d,%d], %%b: f32[1]%s%s) {\n"
             "  %%r = sdpa_joined %%x, %%b%s {%s}\n  return %%r\n}\n",
             b, l, h, d, mask[0] != 0 ? ", %m: " : "", mask,
             mask[0] != 0 ? ", %m" : "", attrs);
    check(text, how, 2e-5);
}

static void test_joined(void **state)
{
    static const int lengths[] = {1, 2, 5, 6, 14, 31, 33, 100, 300};
    static const char *const rows[] = {"rows=\"zero\"", "rows=\"softmax\"",
                                       "rows=\"safe\""};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        joined(2, lengths[i], 3, 17, "", "", PLAIN);
        joined(1, lengths[i], 2, 32, "", "causal=true, parts=[0,2,1]", PLAIN);
    }
    for (int k = 0; k < 3; k++) {
        joined(2, 100, 2, 16, "f32[100,100]", rows[k], BAND);
        joined(2, 70, 3, 20, "bool[2,1,70,70]", rows[k], BAND);
        joined(1, 400, 2, 8, "f32[400,400]", rows[k], BAND);
        joined(1, 100, 2, 16, "f32[2,100,100]", rows[k], BAND | HOSTILE);
        joined(2, 40, 2, 8, "", rows[k], HOSTILE);
        joined(2, 3, 2, 8, "f32[3,3]", rows[k], HOSTILE);
        joined(2, 40, 2, 8, "f32[2,2,40,40]", rows[k], MASKED);
    }
}

/* ---- matmul -------------------------------------------------------------- */

static void product(const char *a, const char *b, const char *bias,
                    const char *attrs, int how)
{
    char text[512];

    snprintf(text, sizeof text,
             "graph @t(%%a: f32%s, %%b: f32%s%s%s) {\n"
             "  %%r = matmul %%a, %%b%s {%s}\n  return %%r\n}\n",
             a, b, bias[0] != 0 ? ", %c: f32" : "", bias,
             bias[0] != 0 ? ", %c" : "", attrs);
    check(text, how, 2e-5);
}

static void test_product_sizes(void **state)
{
    static const int rows[] = {1, 2, 4, 5, 7, 14, 15, 29, 61};
    static const int columns[] = {1, 3, 8, 16, 17, 31, 32, 33, 100};
    static const int depths[] = {1, 2, 7, 16, 33};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (size_t j = 0; j < COUNT_OF(columns); j++)
            for (size_t k = 0; k < COUNT_OF(depths); k++) {
                int m = rows[i], n = columns[j], d = depths[k];
                char a[2][32], b[2][32];

                snprintf(a[0], 32, "[%d,%d]", m, d);
                snprintf(a[1], 32, "[%d,%d]", d, m);
                snprintf(b[0], 32, "[%d,%d]", d, n);
                snprintf(b[1], 32, "[%d,%d]", n, d);
                product(a[0], b[0], "", "", PLAIN);
                product(a[0], b[1], "", "trans_b=true", HOSTILE);
                product(a[1], b[0], "", "trans_a=true", HOSTILE);
                product(a[1], b[1], "", "trans_a=true, trans_b=true", PLAIN);
            }
}

static void test_product_batches(void **state)
{
    (void)state;
    product("[2,3,20,9]", "[2,3,9,40]", "", "", PLAIN);
    product("[2,1,20,9]", "[3,9,40]", "", "", PLAIN);
    product("[3,20,9]", "[2,1,9,40]", "[40]", "", PLAIN);
    product("[2,3,20,9]", "[9,40]", "[20,1]", "", PLAIN);
    product("[2,3,20,9]", "[9,40]", "[3,20,40]", "", PLAIN);
    product("[2,3,20,9]", "[9,40]", "[40]", "", PLAIN);
    product("[2,3,3,9]", "[40,9]", "[1]", "trans_b=true", PLAIN);
    product("[2,3,9,20]", "[40,9]", "[2,1,1,40]",
            "trans_a=true, trans_b=true", PLAIN);
    product("[9]", "[9,40]", "[40]", "", PLAIN);
    product("[5,9]", "[9]", "[5]", "", PLAIN);
    product("[2,5,9]", "[9]", "[2,5]", "", PLAIN);
    product("[9]", "[2,9,40]", "", "", PLAIN);
    product("[9]", "[9]", "", "", PLAIN);
    product("[200,3,3]", "[200,3,3]", "", "", PLAIN);
    product("[200,3,3]", "[200,3,3]", "", "trans_b=true", PLAIN);
    product("[3,0]", "[0,4]", "[4]", "", PLAIN);
    product("[30,0]", "[0,40]", "[40]", "", PLAIN);
    product("[0,3]", "[3,4]", "", "", PLAIN);
}

static void test_product_deep(void **state)
{
    (void)state;
    product("[20,2000]", "[2000,70]", "[70]", "", PLAIN);
    product("[20,1537]", "[70,1537]", "", "trans_b=true", PLAIN);
    product("[1600,20]", "[1600,70]", "[20,1]", "trans_a=true", PLAIN);
    product("[3,1600]", "[600,1600]", "", "trans_b=true", PLAIN);
    product("[3,1600]", "[1600,700]", "", "", PLAIN);
}

/* ---- gemm on weights as they are ----------------------------------------- */

/* tile 1: [n, k], else panels. */
static void plain(int rows, int n, int k, int tile, const char *dtype,
                  const char *act, bool bias, bool residual, int how)
{
    char text[512], w[64];

    if (tile == 1)
        snprintf(w, sizeof w, "%s[%d,%d]", dtype, n, k);
    else
        snprintf(w, sizeof w, "%s[%d,%d,%d]", dtype, (n + tile - 1) / tile, k,
                 tile);
    snprintf(text, sizeof text,
             "graph @t(%%x: f32[%d,%d], %%w: %s, %%b: f32[%d], "
             "%%c: f32[%d,%d]) {\n"
             "  %%r = gemm %%x, %%w, %s, %s {n=%d, tile=%d, act=\"%s\"}\n"
             "  return %%r\n}\n",
             rows, k, w, n, rows, n, bias ? "%b" : "_",
             residual ? "%c" : "_", n, tile, act);
    check(text, how, 3e-5);
}

static void test_plain(void **state)
{
    static const char *const dtypes[] = {"f32", "f16", "bf16"};

    (void)state;
    for (size_t t = 0; t < COUNT_OF(dtypes); t++) {
        for (int rows = 1; rows <= 5; rows++) {
            plain(rows, 7, 5, 1, dtypes[t], "none", false, false, PLAIN);
            plain(rows, 33, 64, 1, dtypes[t], "relu", true, false, PLAIN);
            plain(rows, 61, 83, 1, dtypes[t], "gelu", true, true, HOSTILE);
        }
        plain(2, 900, 400, 1, dtypes[t], "none", true, true, PLAIN);
        plain(0, 9, 4, 1, dtypes[t], "none", true, true, PLAIN);
    }
}

static void test_narrow_panels(void **state)
{
    cpu_features has;

    (void)state;
    assert_int_equal(cpu_features_get(&has), HULL_OK);
    for (int64_t tile = has.level == CPU_AVX512 ? 32 : 16; tile >= 16;
         tile /= 2) {
        /* both levels' kernels where there is AVX-512 */
        for (int t = 0; t < 2; t++) {
            const char *dtype = t == 0 ? "f16" : "bf16";

            plain(1, 7, 5, (int)tile, dtype, "none", true, false, PLAIN);
            plain(30, 70, 64, (int)tile, dtype, "silu", true, true, PLAIN);
            plain(61, 33, 1100, (int)tile, dtype, "clamp", false, true, PLAIN);
            plain(9, 400, 83, (int)tile, dtype, "none", true, false, HOSTILE);
        }
    }
}

static int setup(void **state)
{
    (void)state;
    return pool_new(&threads, 3) == HULL_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    pool_free(threads);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention_sizes),
        cmocka_unit_test(test_attention_causal),
        cmocka_unit_test(test_attention_shared_heads),
        cmocka_unit_test(test_attention_masks),
        cmocka_unit_test(test_attention_hostile),
        cmocka_unit_test(test_joined),
        cmocka_unit_test(test_product_sizes),
        cmocka_unit_test(test_product_batches),
        cmocka_unit_test(test_product_deep),
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_narrow_panels),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
