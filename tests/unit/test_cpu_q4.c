/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_cpu_q4.c - models whose weights are 4 bits in blocks, on cpu from end to
 * end: the slots are as large as what the model stores, the answers those of
 * the reference backend, which expands; refits copy or borrow; saved modules
 * give the same bits; and every way that is left expanded says why.
 */
#include "guard.h"

#include <math.h>

#include "onnx_maker.h"

#define K 200
#define N 70
#define BLOCK 32
#define BLOCKS 7 /* the last one is cut */

static uint32_t turn;

static uint32_t draw(void)
{
    turn = turn * 1664525u + 1013904223u;
    return turn >> 8;
}

/* A model of opset 21 with x f32[N,K] and y f32[N,columns]. */
static maker begin(void)
{
    static const int64_t x[] = {-1, K}, y[] = {-1, N};
    maker m = maker_new(21);
    buf o = new_buf();

    put_text(&o, 1, "com.microsoft");
    put_int(&o, 2, 1);
    put_message(&m.model, 8, &o);
    put_value(&m.graph, 11, "x", 1, x, 2);
    put_value(&m.graph, 12, "y", 1, y, 2);
    return m;
}

static void put_bytes_of(maker *m, const char *name, int64_t elem,
                         const int64_t *dims, size_t rank, size_t n)
{
    static uint8_t some[N * BLOCKS * BLOCK];

    for (size_t i = 0; i < n; i++)
        some[i] = (uint8_t)draw();
    put_stored(&m->graph, name, elem, dims, rank, some, n);
}

static void put_floats(maker *m, const char *name, const int64_t *dims,
                       size_t rank, size_t n)
{
    static float values[N * ((K + 7) / 8)]; /* blocks of 8 at least */

    for (size_t i = 0; i < n; i++)
        values[i] = (float)(draw() % 1000 + 1) * 1e-4f;
    put_stored(&m->graph, name, 1, dims, rank, values, n * sizeof *values);
}

/* MatMulNBits, of `bits`, with what `in` has besides: z bytes, f floats, g an
 * index. */
static const char *nbits_model(uint32_t seed, int64_t bits, const char *in)
{
    static char paths[4][64];
    static unsigned at;
    char *path = paths[at++ % 4];
    const int64_t q[] = {N, BLOCKS, BLOCK * bits / 8}, s[] = {N * BLOCKS};
    const int64_t z[] = {N * ((BLOCKS * bits + 7) / 8)}, g[] = {K};
    static int32_t index[K];
    maker m = begin();
    buf a = new_buf(), n;

    turn = seed;
    put_bytes_of(&m, "q", 2, q, 3, (size_t)(q[0] * q[1] * q[2]));
    put_floats(&m, "s", s, 1, N * BLOCKS);
    if (strchr(in, 'z') != NULL)
        put_bytes_of(&m, "z", 2, z, 1, (size_t)z[0]);
    if (strchr(in, 'f') != NULL)
        put_floats(&m, "f", s, 1, N * BLOCKS);
    for (int32_t i = 0; i < K; i++)
        index[i] = (K - 1 - i) / BLOCK;
    if (strchr(in, 'g') != NULL)
        put_stored(&m.graph, "g", 6, g, 1, index, sizeof index);
    attr_int_put(&a, "K", K);
    attr_int_put(&a, "N", N);
    attr_int_put(&a, "bits", bits);
    attr_int_put(&a, "block_size", BLOCK);
    n = node_buf("MatMulNBits", "com.microsoft", in, "y", &a);
    put_message(&m.graph, 1, &n);
    maker_write(&m, path);
    return path;
}

/* DequantizeLinear of q [K,N] of int4 or uint4, by blocks of rows. */
static const char *linear_model(uint32_t seed, int64_t block, const char *in)
{
    static char paths[2][64];
    static unsigned at;
    char *path = paths[at++ % 2];
    int64_t blocks = (K + block - 1) / block;
    const int64_t q[] = {K, N}, s[] = {blocks, N};
    bool zeros = strchr(in, 'z') != NULL;
    maker m = begin();
    buf a = new_buf();

    turn = seed;
    put_bytes_of(&m, "q", zeros ? 21 : 22, q, 2, K * N / 2);
    put_floats(&m, "s", s, 2, (size_t)(blocks * N));
    if (zeros)
        put_bytes_of(&m, "z", 21, s, 2, (size_t)(blocks * N + 1) / 2);
    attr_int_put(&a, "axis", 0);
    attr_int_put(&a, "block_size", block);
    put_node(&m.graph, "DequantizeLinear", in, "w", &a);
    put_node(&m.graph, "MatMul", "x w", "y", NULL);
    maker_write(&m, path);
    return path;
}

/* Both modules give the same answers, for 1, 3 and 40 rows. */
static void same_answers(hull_module *a, hull_module *b)
{
    static const int64_t rows[] = {1, 3, 40};

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        hull_tensor x = {0}, y = {0};
        hull_session *s, *t;
        guard_input in;

        guard_input_init(&in, a, rows[i]);
        OK(hull_session_new(&s, a, NULL));
        OK(hull_session_new(&t, b, NULL));
        OK(hull_session_run(s, in.t, 1, &x, 1));
        OK(hull_session_run(t, in.t, 1, &y, 1));
        assert_int_equal(x.shape[0], rows[i]);
        assert_int_equal(x.shape[1], N);
        for (int64_t k = 0; k < rows[i] * N; k++) {
            float u = ((const float *)x.data)[k];
            float v = ((const float *)y.data)[k];

            if (!(fabsf(u - v) <= 1e-4f + 1e-4f * fabsf(v)))
                stop("%lld rows, element %lld: %g and %g", (long long)rows[i],
                     (long long)k, (double)u, (double)v);
        }
        hull_session_free(s);
        hull_session_free(t);
        guard_input_fini(&in);
    }
}

/* The bytes that a refit of a fresh module writes. */
static hull_refit_report refit_model(hull_module *m, const char *path,
                                     const char *words)
{
    hull_options *o = options_of(words);
    hull_refit_report r;

    OK(hull_refit_model(m, path, o, &r));
    hull_options_free(o);
    return r;
}

/* Slots of so many bytes: nothing is expanded. */
static void check_model(const char *path, const char *other, uint64_t size)
{
    hull_module *cpu = compile_of(path, NULL, "backends=cpu");
    hull_module *ref = compile_of(path, NULL, "backends=ref");
    hull_refit_report r;

    same_answers(cpu, ref);
    r = refit_model(cpu, other, "");
    if (r.bytes_written != size)
        stop("%s: slots of %llu bytes, wanted %llu", path,
             (unsigned long long)r.bytes_written, (unsigned long long)size);
    refit_model(ref, other, "");
    same_answers(cpu, ref);
    hull_module_unref(cpu);
    hull_module_unref(ref);
    unlink(path);
    unlink(other);
}

#define Q_BYTES (N * BLOCKS * BLOCK / 2)
#define S_BYTES (N * BLOCKS * 4)

static void slots_are_what_is_stored(void **state)
{
    (void)state;
    check_model(nbits_model(1, 4, "x q s"), nbits_model(2, 4, "x q s"),
                Q_BYTES + S_BYTES);
    check_model(nbits_model(3, 4, "x q s z"), nbits_model(4, 4, "x q s z"),
                Q_BYTES + S_BYTES + N * ((BLOCKS + 1) / 2));
    check_model(nbits_model(5, 4, "x q s f"), nbits_model(6, 4, "x q s f"),
                Q_BYTES + 2 * S_BYTES);
    check_model(linear_model(7, 32, "q s"), linear_model(8, 32, "q s"),
                Q_BYTES + S_BYTES);
    check_model(linear_model(9, 32, "q s z"), linear_model(10, 32, "q s z"),
                Q_BYTES + S_BYTES + N * ((BLOCKS + 1) / 2));
}

/* The values are borrowed where the file has them. */
static void refits_borrow(void **state)
{
    const char *path = nbits_model(11, 4, "x q s");
    const char *other = nbits_model(12, 4, "x q s");
    hull_module *m = compile_of(path, NULL, "backends=cpu");
    hull_module *n = compile_of(path, NULL, "backends=cpu");
    hull_refit_report r = refit_model(m, other, "borrow=on");

    (void)state;
    assert_int_equal(r.slots_borrowed, 1);
    assert_int_equal(r.bytes_written, S_BYTES);
    refit_model(n, other, "");
    same_answers(m, n);
    hull_module_unref(m);
    hull_module_unref(n);
    unlink(path);
    unlink(other);
}

static void saved_modules_are_the_same(void **state)
{
    static const unsigned flags[] = {HULL_SAVE_SOURCES, HULL_SAVE_SOURCES |
                                                            HULL_SAVE_PREPARED};
    const char *path = nbits_model(13, 4, "x q s z");
    hull_module *m = compile_of(path, NULL, "backends=cpu");
    guard_input in;
    uint64_t sum;

    (void)state;
    guard_input_init(&in, m, 5);
    sum = module_sum(m, &in);
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        const char *saved = temp_path(".hull");
        hull_module *again;

        OK(hull_module_save(m, saved, flags[i]));
        OK(hull_module_load(&again, saved, NULL, NULL, NULL));
        assert_true(module_sum(again, &in) == sum);
        hull_module_unref(again);
        unlink(saved);
    }
    guard_input_fini(&in);
    hull_module_unref(m);
    unlink(path);
}

/* ---- what stays expanded ------------------------------------------------- */

typedef struct reason {
    const char *text;
    unsigned found;
} reason;

static void look_for(void *user, const char *subsystem, int level,
                     const char *text)
{
    reason *r = user;

    (void)level;
    if (strcmp(subsystem, "passes") == 0 &&
        strstr(text, "its weight is expanded from blocks: ") != NULL &&
        strstr(text, r->text) != NULL)
        r->found++;
}

static void refused(const char *path, const char *text)
{
    reason r = {.text = text};
    hull_module *m, *ref;

    hull_set_log(look_for, &r);
    m = compile_of(path, NULL, "backends=cpu");
    hull_set_log(NULL, NULL);
    if (r.found != 1)
        stop("%s: '%s' is said %u times", path, text, r.found);
    ref = compile_of(path, NULL, "backends=ref");
    same_answers(m, ref);
    hull_module_unref(m);
    hull_module_unref(ref);
    unlink(path);
}

static void refusals_say_why(void **state)
{
    (void)state;
    refused(nbits_model(21, 8, "x q s"), "its values are not two of a byte");
    refused(nbits_model(22, 2, "x q s z"), "its values are not two of a byte");
    refused(nbits_model(23, 4, "x q s - g"),
            "the scales are found by an index");
    refused(linear_model(24, 8, "q s"), "blocks are no power of two");
    refused(linear_model(25, 50, "q s"), "blocks are no power of two");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_are_what_is_stored),
        cmocka_unit_test(refits_borrow),
        cmocka_unit_test(saved_modules_are_the_same),
        cmocka_unit_test(refusals_say_why),
    };

    setenv("HULL_LOG", "passes:debug", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
