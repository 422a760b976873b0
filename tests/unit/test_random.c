/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_random.c - random operators: the generator against its authors' test
 * vectors, seeds and draws of sessions, that no pass makes two draws one or a
 * draw a constant, and the distributions.
 */
#include "unit.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "onnx_maker.h"
#include "ops/op.h"

enum { F32 = 1, I32 = 6, BOOL = 9 };

/* The file kat_vectors of Random123: counter, key, result. */
static void philox_gives_the_published_numbers(void **state)
{
    static const struct {
        uint64_t at, draw, seed;
        uint32_t want[4];
    } rows[] = {
        {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX,
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {0x85a308d3243f6a88, 0x0370734413198a2e, 0x299f31d0a4093822,
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    uint32_t found[4];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        random_words(found, rows[i].seed, rows[i].draw, rows[i].at);
        assert_memory_equal(found, rows[i].want, sizeof found);
    }
}

/* u and v: the same operator twice; d: dropout of x in training mode; m:
 * indices drawn with probabilities 1/4 and 3/4; fixed: a seed of its own. */
static void write_model(char path[64])
{
    const int64_t n = 4000, one = 1, two[2] = {1, 2};
    const float logits[2] = {0.0f, 1.0986122886681098f};
    const uint8_t yes = 1;
    maker m = maker_new(22);
    buf a;

    put_value(&m.graph, 11, "x", F32, &n, 1);
    put_stored(&m.graph, "logits", F32, two, 2, logits, sizeof logits);
    put_scalar_f32(&m.graph, "ratio", 0.25f);
    put_stored(&m.graph, "yes", BOOL, NULL, 0, &yes, 1);
    for (int i = 0; i < 2; i++) {
        a = new_buf();
        attr_ints_put(&a, "shape", &n, 1);
        put_node(&m.graph, "RandomUniform", "", i == 0 ? "u" : "v", &a);
    }
    a = new_buf();
    attr_ints_put(&a, "shape", &n, 1);
    attr_float_put(&a, "mean", 3.0f);
    attr_float_put(&a, "scale", 2.0f);
    put_node(&m.graph, "RandomNormal", "", "g", &a);
    put_node(&m.graph, "Dropout", "x ratio yes", "d mask", NULL);
    a = new_buf();
    attr_int_put(&a, "sample_size", n);
    put_node(&m.graph, "Multinomial", "logits", "m", &a);
    a = new_buf();
    attr_ints_put(&a, "shape", &one, 1);
    attr_float_put(&a, "seed", 7.0f);
    put_node(&m.graph, "RandomUniform", "", "fixed", &a);
    put_value(&m.graph, 12, "u", F32, &n, 1);
    put_value(&m.graph, 12, "v", F32, &n, 1);
    put_value(&m.graph, 12, "g", F32, &n, 1);
    put_value(&m.graph, 12, "d", F32, &n, 1);
    put_value(&m.graph, 12, "m", I32, two, 2);
    put_value(&m.graph, 12, "fixed", F32, &one, 1);
    maker_write(&m, path);
}

enum { U, V, G, D, M, FIXED, OUTS, N = 4000 };

static float kept[OUTS][N];

/* Runs once; the outputs as floats in kept. */
static void run(hull_session *s)
{
    static float x[N];
    int64_t n = N;
    hull_tensor in = {.data = x, .shape = &n, .rank = 1, .dtype = HULL_F32};
    hull_tensor out[OUTS] = {0};

    for (int i = 0; i < N; i++)
        x[i] = 1.0f;
    if (hull_session_run(s, &in, 1, out, OUTS) != HULL_OK)
        print_error("%s\n", hull_last_error());
    for (int k = 0; k < OUTS; k++)
        for (int i = 0; i < (k == FIXED ? 1 : N); i++)
            kept[k][i] = (float)load_f64((hull_dtype)out[k].dtype,
                                         out[k].data, (uint64_t)i);
    for (int i = 0; i < N; i++) /* integers */
        kept[M][i] = (float)load_i64(HULL_I32, out[M].data, (uint64_t)i);
}

static double mean(const float *p)
{
    double sum = 0;

    for (int i = 0; i < N; i++)
        sum += (double)p[i];
    return sum / N;
}

static double deviation(const float *p)
{
    double m = mean(p), sum = 0;

    for (int i = 0; i < N; i++)
        sum += ((double)p[i] - m) * ((double)p[i] - m);
    return sqrt(sum / N);
}

static hull_session *session(hull_module *m, const char *seed)
{
    hull_options *o;
    hull_session *s;

    assert_int_equal(hull_options_new(&o), HULL_OK);
    assert_int_equal(hull_options_set(o, "seed", seed), HULL_OK);
    assert_int_equal(hull_session_new(&s, m, o), HULL_OK);
    hull_options_free(o);
    return s;
}

static void a_session_has_a_seed(void **state)
{
    static float first[OUTS][N];
    char path[64];
    hull_module *m;
    hull_session *a, *b, *c;

    (void)state;
    write_model(path);
    if (hull_compile(&m, path, NULL, NULL, NULL) != HULL_OK)
        print_error("%s\n", hull_last_error());
    unlink(path);
    a = session(m, "1");
    b = session(m, "1");
    c = session(m, "2");
    run(a);
    memcpy(first, kept, sizeof first);
    assert_memory_not_equal(first[U], first[V], sizeof first[U]);
    run(a); /* the next numbers */
    assert_memory_not_equal(first[U], kept[U], sizeof first[U]);
    run(b); /* the same seed */
    assert_memory_equal(first, kept, sizeof first);
    run(c); /* another one */
    assert_memory_not_equal(first[U], kept[U], sizeof first[U]);
    assert_true(first[FIXED][0] == kept[FIXED][0]);
    assert_int_equal(hull_session_reset(a), HULL_OK);
    run(a);
    assert_memory_equal(first, kept, sizeof first);
    hull_session_free(a);
    hull_session_free(b);
    hull_session_free(c);
    hull_module_unref(m);
}

/* Bounds of five standard deviations: fixed numbers, so never by chance. */
static void the_distributions_are_right(void **state)
{
    char path[64];
    hull_module *m;
    hull_session *s;
    double zeros = 0;

    (void)state;
    write_model(path);
    assert_int_equal(hull_compile(&m, path, NULL, NULL, NULL), HULL_OK);
    unlink(path);
    s = session(m, "0");
    run(s);
    assert_true(fabs(mean(kept[U]) - 0.5) < 0.023);
    assert_true(fabs(deviation(kept[U]) - 0.2887) < 0.01);
    assert_true(fabs(mean(kept[G]) - 3) < 0.16);
    assert_true(fabs(deviation(kept[G]) - 2) < 0.12);
    assert_true(fabs(mean(kept[M]) - 0.75) < 0.035);
    for (int i = 0; i < N; i++) {
        assert_true(kept[U][i] >= 0 && kept[U][i] < 1);
        assert_true(kept[M][i] == 0 || kept[M][i] == 1);
        assert_true(kept[D][i] == 0 || fabsf(kept[D][i] - 4.0f / 3) < 1e-6f);
        zeros += kept[D][i] == 0;
    }
    assert_true(fabs(zeros / N - 0.25) < 0.035);
    hull_session_free(s);
    hull_module_unref(m);
}

/* The operators of PyTorch on the same generator. */
static void aten_draws(void **state)
{
    static float x[N];
    int64_t n = N, seen = 0;
    hull_tensor in = {.data = x, .shape = &n, .rank = 1, .dtype = HULL_F32};
    hull_tensor out[7] = {0};
    hull_module *m;
    hull_session *s;
    const float *f;
    const int64_t *k;
    double sum = 0;

    (void)state;
    for (int i = 0; i < N; i++)
        x[i] = 1.0f;
    if (hull_compile(&m, "tests/data/random.pt2", NULL, NULL, NULL) !=
        HULL_OK)
        print_error("%s\n", hull_last_error());
    s = session(m, "3");
    assert_int_equal(hull_session_run(s, &in, 1, out, 7), HULL_OK);
    assert_true(fabs(mean(out[0].data) - 0.5) < 0.023);
    assert_true(fabs(mean(out[1].data)) < 0.08);
    assert_true(fabs(deviation(out[1].data) - 1) < 0.06);
    k = out[2].data;
    for (int i = 0; i < N; i++) {
        assert_true(k[i] >= 3 && k[i] < 7);
        sum += (double)k[i];
    }
    assert_true(fabs(sum / N - 4.5) < 0.09);
    k = out[3].data; /* a permutation, and not the trivial one */
    for (int i = 0; i < 64; i++)
        seen |= (int64_t)((uint64_t)1 << k[i]);
    assert_int_equal(seen, -1);
    assert_false(k[0] == 0 && k[1] == 1 && k[2] == 2);
    assert_true(fabs(mean(out[4].data) - 0.25) < 0.035);
    f = out[5].data;
    for (int i = 0; i < N; i++)
        assert_true(f[i] == 0.0f || f[i] == 2.0f);
    assert_true(fabs(mean(out[5].data) - 1) < 0.08);
    k = out[6].data; /* all eight, without replacement */
    seen = 0;
    for (int i = 0; i < 8; i++)
        seen |= (int64_t)1 << k[i];
    assert_int_equal(seen, 255);
    hull_session_free(s);
    hull_module_unref(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_published_numbers),
        cmocka_unit_test(a_session_has_a_seed),
        cmocka_unit_test(the_distributions_are_right),
        cmocka_unit_test(aten_draws),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
