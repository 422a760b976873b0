/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * Kernels of the cpu backend for convolutions against the reference kernels:
 * every level that the machine has, sizes that reach whole tiles and their
 * ends, hostile values, threads or none; and what lowering chooses.
 */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"

enum { PLAIN = 0, HOSTILE = 1 };

#define K3 "kernel=[3,3], stride=[1,1], pad=[1,1,1,1], dilation=[1,1]"

static pool *threads;

static double noise(uint64_t seed, uint64_t i)
{
    uint64_t key[2] = {seed, i};

    return (double)(hash64(key, sizeof key) >> 11) * 0x1p-53;
}

/* Numbers in [-1, 1). Hostile: a few of operand 0 and 2 on are not; weights,
 * which meet the zeros of the padding, stay finite. */
static void put_values(tensor *t, uint64_t seed, int how)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0, 1e-40};

    for (int64_t i = 0; i < tensor_numel(t); i++) {
        double v = 2 * noise(seed, (uint64_t)i) - 1;
        double luck = noise(seed + 1000, (uint64_t)i);

        if (how == HOSTILE && seed != 1 && luck < 0.003)
            v = odd[(size_t)(luck / 0.003 * 6)];
        store_f64(t->dtype, t->data, (uint64_t)i, v);
    }
}

typedef struct trial {
    ir *m;
    const graph *g;
    const node *n;
    tensor in[4], want, got;
    arena memory;
    dim_env env;
    int compared;
} trial;

static void make_room(trial *c, tensor *t, const type *ty)
{
    assert_int_equal(tensor_of_type(t, &c->env, ty), HULL_OK);
    t->data = arena_alloc(&c->memory, tensor_bytes(t) + 1);
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
    char *once, *guard = (char *)c->got.data + tensor_bytes(&c->got);

    memset(c->got.data, 0xff, tensor_bytes(&c->got) + 1);
    assert_int_equal(k->k.run(&cx, c->n, c->in, &c->got), HULL_OK);
    compare(c, k->k.name, tolerance);
    assert_int_equal(*guard, (char)0xff);
    once = arena_memdup(&c->memory, c->got.data, tensor_bytes(&c->got) + 1);
    assert_non_null(once);
    cx.pool = threads;
    arena_reset(&scratch);
    memset(c->got.data, 0xff, tensor_bytes(&c->got));
    assert_int_equal(k->k.run(&cx, c->n, c->in, &c->got), HULL_OK);
    assert_memory_equal(once, c->got.data, tensor_bytes(&c->got));
    arena_fini(&scratch);
    c->compared++;
}

/* The graph's node on every kernel that takes it. */
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
        if (c.n->in[i] == 0)
            continue;
        make_room(&c, &c.in[i], graph_type(c.g, c.n->in[i]));
        put_values(&c.in[i], i, how);
    }
    make_room(&c, &c.want, graph_type(c.g, c.n->out[0]));
    make_room(&c, &c.got, graph_type(c.g, c.n->out[0]));
    assert_int_equal(op_get(c.n->op)->eval(&cx, c.n, c.in, &c.want), HULL_OK);
    for (size_t i = 0; i < cpu_n_kernels; i++) {
        const cpu_kernel *k = &cpu_kernels[i];

        if (k->op == c.n->op && k->level <= has.level && k->takes(c.g, c.n))
            run_kernel(&c, k, tolerance);
    }
    if (c.compared == 0 && attr_int(c.n, "tile") == cpu_tile(has.level))
        print_error("no kernel of this machine takes\n%s\n", text);
    assert_true(c.compared > 0 || has.level == CPU_ANY ||
                attr_int(c.n, "tile") != cpu_tile(has.level));
    dim_env_fini(&c.env);
    arena_fini(&scratch);
    arena_fini(&c.memory);
    ir_free(c.m);
}

/* ---- conv_winograd ------------------------------------------------------- */

typedef struct image {
    int b, h, w, c, n;
} image;

/* `more`: bits 1 bias, 2 residual. Both tiles, so both levels. */
static void winograd(int m, image d, const char *pad, int out_h, int out_w,
                     int more, const char *act, int how)
{
    for (int tile = 16; tile <= 32; tile *= 2) {
        char text[1024], bias[40] = "", residual[80] = "";

        if ((more & 1) != 0)
            snprintf(bias, sizeof bias, ", %%b: f32[%d]", d.n);
        if ((more & 2) != 0)
            snprintf(residual, sizeof residual, ", %%r: f32[%d,%d,%d,%d]", d.b,
                     out_h, out_w, d.n);
        snprintf(text, sizeof text,
                 "graph @t(%%x: f32[%d,%d,%d,%d], %%u: f32[%d,%d,%d,%d]%s%s) "
                 "{\n  %%y = conv_winograd %%x, %%u%s%s {n=%d, tile=%d, m=%d, "
                 "pad=%s, act=\"%s\"}\n  return %%y\n}\n",
                 d.b, d.h, d.w, d.c, (m + 2) * (m + 2), (d.n + tile - 1) / tile,
                 d.c, tile, bias, residual,
                 (more & 1) != 0 ? ", %b" : (more & 2) != 0 ? ", _" : "",
                 (more & 2) != 0 ? ", %r" : "", d.n, tile, m, pad, act);
        /* Points of any size meet, unlike those of real weights. */
        check(text, how, m == 2 ? 5e-5 : 2e-3);
    }
}

static void test_winograd_sizes(void **state)
{
    (void)state;
    for (int m = 2; m <= 4; m += 2) {
        for (int h = 1; h <= 9; h++)
            winograd(m, (image){1, h, 10 - h, 16, 16}, "[1,1,1,1]", h, 10 - h,
                     0, "none", PLAIN);
        winograd(m, (image){1, 4, 4, 16, 48}, "[0,0,0,0]", 2, 2, 1, "relu",
                 PLAIN);
        winograd(m, (image){2, 7, 5, 32, 64}, "[1,0,0,1]", 6, 4, 2, "none",
                 PLAIN);
        winograd(m, (image){3, 9, 11, 48, 16}, "[1,1,1,1]", 9, 11, 3, "silu",
                 PLAIN);
        winograd(m, (image){1, 28, 30, 64, 64}, "[1,1,1,1]", 28, 30, 3, "relu",
                 PLAIN); /* blocks */
        winograd(m, (image){5, 14, 14, 16, 80}, "[0,1,1,0]", 13, 13, 3, "clamp",
                 PLAIN);
        winograd(m, (image){1, 7, 7, 160, 144}, "[1,1,1,1]", 7, 7, 1, "none",
                 PLAIN);
    }
}

/* Lowering does not make these, the op allows them. */
static void test_winograd_tails(void **state)
{
    (void)state;
    for (int m = 2; m <= 4; m += 2)
        for (int c = 1; c <= 35; c += 5)
            winograd(m, (image){1, 6, 7, c, 36 - c}, "[1,1,1,1]", 6, 7, 3,
                     "gelu", PLAIN);
}

static void test_winograd_hostile(void **state)
{
    (void)state;
    for (int m = 2; m <= 4; m += 2) {
        winograd(m, (image){1, 13, 9, 16, 32}, "[1,1,1,1]", 13, 9, 3, "none",
                 HOSTILE);
        winograd(m, (image){1, 40, 40, 2, 5}, "[1,1,1,1]", 40, 40, 1, "relu",
                 HOSTILE);
    }
}

static void test_winograd_weight(void **state)
{
    static const int sizes[][2] = {{1, 1}, {16, 16}, {32, 32}, {33, 17},
                                   {40, 48}, {7, 100}, {64, 15}};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        for (int m = 2; m <= 4; m += 2)
            for (int tile = 16; tile <= 32; tile *= 2) {
                char text[256];

                snprintf(text, sizeof text,
                         "graph @t(%%w: f32[%d,%d,3,3]) {\n  %%u = "
                         "winograd_weight %%w {m=%d, tile=%d}\n  return %%u\n"
                         "}\n", sizes[i][0], sizes[i][1], m, tile);
                check(text, PLAIN, 2e-7);
                check(text, HOSTILE, 2e-7);
            }
}

/* The largest error of this machine's kernels against the convolution in
 * double, in standard deviations of an output: Winograd with tiles of m x m, or
 * the direct kernel for m = 0 and c a multiple of 32. */
static double conv_error(int m, int c)
{
    cpu_features has;
    trial t = {0};
    tensor *all;
    arena scratch = {0};
    eval_ctx cx = {.env = &t.env, .scratch = &scratch, .pool = threads};
    char text[1024], how[512];
    double worst = 0;
    val a, b;
    int tile;

    assert_int_equal(cpu_features_get(&has), HULL_OK);
    tile = (int)cpu_tile(has.level);
    if (m == 0)
        snprintf(how, sizeof how,
                 "  %%o = reshape %%w {shape=[%d,%d,%d,9]}\n"
                 "  %%p = transpose %%o {perm=[0,3,2,1]}\n"
                 "  %%u = reshape %%p {shape=[%d,%d,%d]}\n"
                 "  %%y = conv_nhwc %%l, %%u {n=%d, tile=%d, " K3 "}\n",
                 c / tile, tile, c, c / tile, 9 * c, tile, c, tile);
    else
        snprintf(how, sizeof how,
                 "  %%u = winograd_weight %%w {m=%d, tile=%d}\n"
                 "  %%y = conv_winograd %%l, %%u {n=%d, tile=%d, m=%d, "
                 "pad=[1,1,1,1]}\n", m, tile, c, tile, m);
    snprintf(text, sizeof text,
             "graph @t(%%x: f32[1,%d,12,12], %%w: f32[%d,%d,3,3]) {\n"
             "  %%l = transpose %%x {perm=[0,2,3,1]}\n%s"
             "  %%d = conv %%x, %%w {pad=[1,1,1,1], stride=[], dilation=[]}\n"
             "  %%e = transpose %%d {perm=[0,2,3,1]}\n"
             "  return %%y, %%e\n}\n", c, c, c, how);
    assert_int_equal(ir_parse(&t.m, str_of(text), NULL), HULL_OK);
    t.g = t.m->graphs[0];
    assert_int_equal(dim_env_init(&t.env, t.m), HULL_OK);
    all = arena_array(&t.memory, t.g->n_values, sizeof *all);
    assert_non_null(all);
    for (uint32_t i = 0; i < 2; i++) {
        make_room(&t, &all[t.g->body->params[i]],
                  graph_type(t.g, t.g->body->params[i]));
        put_values(&all[t.g->body->params[i]], i, PLAIN);
    }
    for (const node *n = t.g->body->first; n != NULL; n = n->next) {
        op_eval_fn *run = op_get(n->op)->eval;

        for (size_t i = 0; i < cpu_n_kernels; i++)
            if (cpu_kernels[i].op == n->op && n->op != OP_transpose &&
                cpu_kernels[i].level == has.level &&
                cpu_kernels[i].takes(t.g, n))
                run = cpu_kernels[i].k.run;
        for (uint32_t i = 0; i < n->n_in; i++)
            t.in[i] = all[n->in[i]];
        make_room(&t, &all[n->out[0]], graph_type(t.g, n->out[0]));
        assert_int_equal(run(&cx, n, t.in, &all[n->out[0]]), HULL_OK);
    }
    a = t.g->body->results[0];
    b = t.g->body->results[1];
    for (int64_t i = 0; i < tensor_numel(&all[a]); i++)
        worst = fmax(worst, fabs(load_f64(HULL_F32, all[a].data, (uint64_t)i) -
                                 load_f64(HULL_F32, all[b].data, (uint64_t)i)));
    dim_env_fini(&t.env);
    arena_fini(&scratch);
    arena_fini(&t.memory);
    ir_free(t.m);
    if (getenv("HULL_SHOW") != NULL)
        print_message("m %d c %d: %.3g\n", m, c, worst / sqrt(c));
    return worst / sqrt(c);
}

/* What docs/performance.md says. Reference kernels sum in double. */
static void test_winograd_accuracy(void **state)
{
    cpu_features has;

    (void)state;
    assert_int_equal(cpu_features_get(&has), HULL_OK);
    if (has.level == CPU_ANY)
        skip();
    for (int c = 32; c <= 128; c *= 2) {
        double direct = conv_error(0, c);

        assert_true(direct < 8e-6);
        assert_true(conv_error(2, c) < direct);
        assert_true(conv_error(4, c) < 10 * direct);
    }
}

/* ---- conv_nhwc ----------------------------------------------------------- */

/* x and the sizes of result: "b,h,w" without channels. */
typedef struct direct {
    const char *x;
    int c, n, taps, groups; /* groups -1: depthwise */
    const char *attrs, *out;
} direct;

static void convolve(const direct *d, int more, const char *act, int how)
{
    for (int tile = 16; tile <= 32; tile *= 2) {
        int groups = d->groups < 0 ? d->c : d->groups;
        char text[1024], bias[40] = "", residual[80] = "", w[80];

        if ((more & 1) != 0)
            snprintf(bias, sizeof bias, ", %%b: f32[%d]", d->n);
        if ((more & 2) != 0)
            snprintf(residual, sizeof residual, ", %%r: f32[%s,%d]", d->out,
                     d->n);
        if (d->groups < 0)
            snprintf(w, sizeof w, "f32[%d,%d]", d->taps, d->c);
        else
            snprintf(w, sizeof w, "f32[%d,%d,%d]",
                     groups * ((d->n / groups + tile - 1) / tile),
                     d->taps * d->c / groups, tile);
        snprintf(text, sizeof text,
                 "graph @t(%%x: f32[%s,%d], %%w: %s%s%s) {\n  %%y = conv_nhwc "
                 "%%x, %%w%s%s {n=%d, tile=%d, %s, groups=%d, act=\"%s\"}\n"
                 "  return %%y\n}\n",
                 d->x, d->c, w, bias, residual,
                 (more & 1) != 0 ? ", %b" : (more & 2) != 0 ? ", _" : "",
                 (more & 2) != 0 ? ", %r" : "", d->n, tile, d->attrs, groups,
                 act);
        check(text, how, 1e-5);
    }
}

#define K3S2 "kernel=[3,3], stride=[2,2], pad=[1,1,1,1], dilation=[1,1]"
#define K3D2 "kernel=[3,3], stride=[1,1], pad=[2,2,2,2], dilation=[2,2]"
#define K5 "kernel=[5,5], stride=[1,1], pad=[2,2,2,2], dilation=[1,1]"
#define K5S2 "kernel=[5,5], stride=[2,2], pad=[2,2,2,2], dilation=[1,1]"
#define K7S2 "kernel=[7,7], stride=[2,2], pad=[3,3,3,3], dilation=[1,1]"
#define K1 "kernel=[1,1], stride=[1,1], pad=[0,0,0,0], dilation=[1,1]"
#define K1S2 "kernel=[1,1], stride=[2,2], pad=[0,0,0,0], dilation=[1,1]"

static void test_depthwise(void **state)
{
    static const direct all[] = {
        {"1,7,7", 16, 16, 9, -1, K3, "1,7,7"},
        {"1,1,1", 8, 8, 9, -1, K3, "1,1,1"},
        {"2,2,3", 33, 33, 9, -1, K3, "2,2,3"},
        {"1,14,14", 40, 40, 9, -1, K3S2, "1,7,7"},
        {"1,13,15", 24, 24, 9, -1, K3S2, "1,7,8"},
        {"1,9,37", 72, 72, 25, -1, K5, "1,9,37"},
        {"1,3,2", 5, 5, 25, -1, K5, "1,3,2"},
        {"3,11,12", 19, 19, 25, -1, K5S2, "3,6,6"},
        {"1,6,8", 17, 17, 9, -1, K3D2, "1,6,8"},
        {"1,20,30", 120, 120, 49, -1, K7S2, "1,10,15"},
        {"1,5,5", 16, 16, 1, -1, K1, "1,5,5"},
        {"2,19", 20, 20, 4, -1,
         "kernel=[4], stride=[3], pad=[5,0], dilation=[2]", "2,6"},
        {"1,3,4,5", 18, 18, 12, -1,
         "kernel=[2,3,2], stride=[1,2,1], pad=[1,1,0,1,1,1], dilation=[1,1,2]",
         "1,4,2,4"},
        {"1,4,4", 16, 16, 9, -1,
         "kernel=[3,3], stride=[1,1], pad=[9,9,9,9], dilation=[1,1]",
         "1,20,20"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        convolve(&all[i], 0, "none", PLAIN);
        convolve(&all[i], 1, "relu", HOSTILE);
        convolve(&all[i], 3, "hard_swish", PLAIN);
    }
}

static void test_dense(void **state)
{
    static const direct all[] = {
        {"1,14,14", 16, 32, 9, 1, K3, "1,14,14"},
        {"1,56,14", 5, 40, 9, 1, K3, "1,56,14"},
        {"2,15,13", 24, 33, 9, 1, K3S2, "2,8,7"},
        {"1,20,22", 3, 64, 49, 1, K7S2, "1,10,11"},
        {"1,33,31", 3, 16, 9, 1, K3S2, "1,17,16"},
        {"1,9,8", 12, 20, 9, 1, K3D2, "1,9,8"},
        {"1,1,1", 72, 24, 1, 1, K1, "1,1,1"},
        {"3,2,2", 40, 65, 1, 1, K1, "3,2,2"},
        {"1,9,9", 31, 17, 1, 1, K1S2, "1,5,5"},
        {"2,40", 7, 30, 5, 1,
         "kernel=[5], stride=[2], pad=[4,0], dilation=[1]", "2,20"},
        {"2,40", 20, 30, 3, 1,
         "kernel=[3], stride=[1], pad=[4,4], dilation=[4]", "2,40"},
        {"1,4,5,6", 9, 20, 27, 1,
         "kernel=[3,3,3], stride=[1,2,1], pad=[1,1,1,1,1,1], "
         "dilation=[1,1,1]", "1,4,3,6"},
        {"1,4,5,6", 2, 20, 8, 1,
         "kernel=[2,2,2], stride=[1,1,2], pad=[0,0,1,0,1,1], "
         "dilation=[2,1,1]", "1,2,5,4"},
        {"1,4,4", 8, 16, 9, 1,
         "kernel=[3,3], stride=[1,1], pad=[6,6,6,6], dilation=[1,1]",
         "1,14,14"},
        {"1,4,4", 3, 16, 9, 1,
         "kernel=[3,3], stride=[1,1], pad=[6,20,6,6], dilation=[1,1]",
         "1,14,28"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        convolve(&all[i], 0, "none", PLAIN);
        convolve(&all[i], 1, "relu", HOSTILE);
        convolve(&all[i], 3, "gelu_tanh", PLAIN);
    }
}

static void test_grouped(void **state)
{
    static const direct all[] = {
        {"1,6,7", 8, 8, 9, 2, K3, "1,6,7"},
        {"2,9,8", 36, 72, 9, 3, K3S2, "2,5,4"},
        {"1,5,5", 128, 128, 9, 32, K3, "1,5,5"},
        {"1,8,8", 6, 12, 25, 6, K5, "1,8,8"}, /* depthwise, two columns each */
        {"1,4,4", 64, 96, 1, 2, K1, "1,4,4"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        convolve(&all[i], 0, "none", PLAIN);
        convolve(&all[i], 1, "relu", HOSTILE);
        convolve(&all[i], 3, "sigmoid", PLAIN);
    }
}

/* ---- lowering ------------------------------------------------------------ */

static uint32_t count_op(const graph *g, op_code op)
{
    uint32_t n = 0;

    for (const node *k = g->body->first; k != NULL; k = k->next)
        n += k->op == op;
    return n;
}

/* The block after lowering has `want` nodes of the op. */
static void lowers(const char *x, const char *w, const char *attrs, bool on,
                   op_code op, uint32_t want)
{
    cpu_device d = {.has = {.level = CPU_AVX2}};
    char text[512];
    options *o;
    ir *m;

    snprintf(text, sizeof text,
             "graph @t(%%x: f32[%s]) {\n  %%w = weight \"w\" : f32[%s]\n"
             "  %%y = %s\n  return %%y\n}\n", x, w, attrs);
    assert_int_equal(ir_parse(&m, str_of(text), NULL), HULL_OK);
    assert_int_equal(options_new(&o), HULL_OK);
    assert_int_equal(hull_options_set(o, "winograd", on ? "on" : "off"),
                     HULL_OK);
    assert_int_equal(cpu_lower(&d.d, m->graphs[0], o, NULL), HULL_OK);
    assert_int_equal(count_op(m->graphs[0], op), want);
    options_free(o);
    ir_free(m);
}

static void test_lowering_chooses(void **state)
{
    static const char conv[] = "conv %x, %w {stride=[1,1], pad=[1,1,1,1], "
                               "dilation=[1,1]}";
    static const char two[] = "conv %x, %w {stride=[2,2], pad=[1,1,1,1], "
                              "dilation=[1,1]}";
    static const char wide[] = "conv %x, %w {stride=[1,1], pad=[2,2,2,2], "
                               "dilation=[1,1]}";

    (void)state;
    lowers("N,64,28,28", "64,64,3,3", conv, true, OP_conv_winograd, 1);
    lowers("1,64,H,W", "64,64,3,3", conv, true, OP_conv_winograd, 1);
    lowers("1,256,8,8", "256,256,3,3", conv, true, OP_conv_winograd, 1);
    lowers("1,64,28,28", "64,64,3,3", conv, false, OP_conv_winograd, 0);
    lowers("1,64,3,200", "64,64,3,3", conv, true, OP_conv_winograd, 0);
    lowers("1,64,28,28", "72,64,3,3", conv, true, OP_conv_winograd, 0);
    lowers("1,64,28,28", "64,64,3,3", two, true, OP_conv_winograd, 0);
    lowers("1,64,28,28", "64,64,3,3", wide, true, OP_conv_winograd, 0);
    lowers("1,64,28,28", "64,64,3,3", wide, true, OP_conv_nhwc, 1);
    /* too small to be worth the transforms */
    lowers("1,16,4,4", "16,16,3,3", conv, true, OP_conv_nhwc, 1);
    lowers("1,16,8,8", "32,4,3,3",
           "conv %x, %w {stride=[1,1], pad=[1,1,1,1], dilation=[1,1], "
           "groups=4}", true, OP_conv_nhwc, 1);
    lowers("1,16,8,8", "16,24,2,2",
           "conv_transpose %x, %w {stride=[2,2], pad=[0,0,0,0], "
           "dilation=[1,1], out_pad=[0,0]}", true, OP_gemm, 1);
    lowers("1,16,8,8", "16,24,3,3",
           "conv_transpose %x, %w {stride=[2,2], pad=[0,0,0,0], "
           "dilation=[1,1], out_pad=[0,0]}", true, OP_gemm, 0);
}

/* The graph's result by reference kernels; weights and inputs are noise. */
static double *evaluate(ir *m, int64_t *out_n)
{
    const graph *g = m->graphs[0];
    trial t = {.m = m, .g = g};
    arena scratch = {0};
    eval_ctx cx = {.env = &t.env, .scratch = &scratch};
    tensor *all = arena_array(&t.memory, g->n_values, sizeof *all);
    val r = g->body->results[0];
    double *out;

    assert_non_null(all);
    assert_int_equal(dim_env_init(&t.env, m), HULL_OK);
    for (uint32_t i = 0; i < g->body->n_params; i++) {
        make_room(&t, &all[g->body->params[i]],
                  graph_type(g, g->body->params[i]));
        put_values(&all[g->body->params[i]], i, PLAIN);
    }
    for (const node *n = g->body->first; n != NULL; n = n->next) {
        tensor in[4] = {0};

        for (uint32_t i = 0; i < n->n_in; i++)
            if (n->in[i] != 0)
                in[i] = all[graph_resolve(g, n->in[i])];
        make_room(&t, &all[n->out[0]], graph_type(g, n->out[0]));
        if (n->op == OP_weight)
            put_values(&all[n->out[0]],
                       100 + (uint8_t)attr_str(n, "name").p[0], PLAIN);
        else
            assert_int_equal(op_get(n->op)->eval(&cx, n, in, &all[n->out[0]]),
                             HULL_OK);
    }
    r = graph_resolve(g, r);
    *out_n = tensor_numel(&all[r]);
    out = test_malloc((size_t)*out_n * sizeof *out);
    for (int64_t i = 0; i < *out_n; i++)
        out[i] = load_f64(HULL_F32, all[r].data, (uint64_t)i);
    dim_env_fini(&t.env);
    arena_fini(&scratch);
    arena_fini(&t.memory);
    return out;
}

/* Lowering changes how a result is computed, not what it is. */
static void keeps_meaning(const char *x, const char *w, int n,
                          const char *body, cpu_level level)
{
    cpu_device d = {.has = {.level = level}};
    char text[600];
    double *before, *after;
    int64_t n_before, n_after;
    ir *m;

    snprintf(text, sizeof text,
             "graph @t(%%x: f32[%s]) {\n  %%w = weight \"w\" : f32[%s]\n"
             "  %%b = weight \"b\" : f32[%d]\n  %%y = %s\n  %%z = relu %%y\n"
             "  return %%z\n}\n", x, w, n, body);
    assert_int_equal(ir_parse(&m, str_of(text), NULL), HULL_OK);
    before = evaluate(m, &n_before);
    assert_int_equal(cpu_lower(&d.d, m->graphs[0], NULL, NULL), HULL_OK);
    assert_int_equal(count_op(m->graphs[0], OP_conv) +
                         count_op(m->graphs[0], OP_conv_transpose), 0);
    after = evaluate(m, &n_after);
    assert_int_equal(n_before, n_after);
    for (int64_t i = 0; i < n_before; i++)
        assert_true(agree(after[i], before[i], 2e-5));
    test_free(before);
    test_free(after);
    ir_free(m);
}

static void test_lowering_keeps_meaning(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        cpu_level l = k == 0 ? CPU_AVX2 : CPU_AVX512;

        keeps_meaning("2,16,5,6", "48,16,3,3", 48,
                      "conv %x, %w, %b {stride=[1,1], pad=[1,0,1,0], "
                      "dilation=[1,1]}", l);
        keeps_meaning("1,144,4,4", "16,144,3,3", 16,
                      "conv %x, %w, %b {stride=[], pad=[], dilation=[]}", l);
        keeps_meaning("2,12,5,6", "33,4,3,2", 33,
                      "conv %x, %w, %b {stride=[2,1], pad=[1,0,1,0], "
                      "dilation=[1,1], groups=3}", l);
        keeps_meaning("2,6,9", "12,1,3", 12,
                      "conv %x, %w, %b {stride=[1], pad=[1,1], "
                      "dilation=[2], groups=6}", l);
        keeps_meaning("2,6,9,3,4", "6,1,3,2,1", 6,
                      "conv %x, %w, %b {stride=[1,1,1], pad=[0,0,0,0,0,0], "
                      "dilation=[1,1,1], groups=6}", l);
        keeps_meaning("2,5,3,4", "5,7,2,3", 7,
                      "conv_transpose %x, %w, %b {stride=[2,3], "
                      "pad=[0,0,0,0], dilation=[1,1], out_pad=[0,0]}", l);
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
        cmocka_unit_test(test_winograd_sizes),
        cmocka_unit_test(test_winograd_tails),
        cmocka_unit_test(test_winograd_hostile),
        cmocka_unit_test(test_winograd_weight),
        cmocka_unit_test(test_winograd_accuracy),
        cmocka_unit_test(test_depthwise),
        cmocka_unit_test(test_dense),
        cmocka_unit_test(test_grouped),
        cmocka_unit_test(test_lowering_chooses),
        cmocka_unit_test(test_lowering_keeps_meaning),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
