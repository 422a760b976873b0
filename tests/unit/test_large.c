/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_large.c - a weight that is packed some rows at a time: the same answers
 * from a file, from memory at any offset, and from a strided view, and the
 * reference's.
 */
#include "module_unit.h"

#define ROWS 5003 /* of 512 floats, 10 MB; no multiple of any tile */
#define DEPTH 512

/* The weight as PyTorch lays it out, and as ONNX does. */
static const char *const texts[] = {
    "graph @main(%x: f32[N,512]) where N=1..8 {\n"
    "  %u = weight \"u\" : f32[5003,512]\n"
    "  %y = matmul %x, %u {trans_b=true} : f32[N,5003]\n"
    "  return %y\n"
    "}\n",
    "graph @main(%x: f32[N,512]) where N=1..8 {\n"
    "  %u = weight \"u\" : f32[512,5003]\n"
    "  %y = matmul %x, %u : f32[N,5003]\n"
    "  return %y\n"
    "}\n"};
static const int64_t weight_shapes[2][2] = {{ROWS, DEPTH}, {DEPTH, ROWS}};

static int form; /* of the running test */

static module *compile_large(const char *set)
{
    static const str names[] = {{"u", 1}};
    front_hole hole = {.name = {"u", 1}, .names = names, .n_names = 1,
                       .reason = "initializer"};
    front_model fm = {.holes = &hole, .n_holes = 1, .format = "onnx",
                      .producer = {"a test", 6}};
    options *o = options_of(set);
    devices ds;
    module *m;
    plan *p;

    fm.m = parsed(texts[form]);
    fm.g = fm.m->graphs[0];
    hole.type = *graph_type(fm.g, graph_first(fm.g)->out[0]);
    OK(weights_new(&fm.native, WEIGHTS_MEMORY));
    OK(devices_open(&ds, o));
    OK(plan_compile(&p, &fm, &ds, NULL));
    OK(module_new(&m, p, &ds));
    weights_unref(fm.native);
    ir_free(fm.m);
    options_free(o);
    return m;
}

static void refit_to(module *m, weights *w)
{
    hull_refit_report r;
    options *o = options_of("");

    OK(module_refit(m, w, o, &r));
    assert_true(r.slots_computed + r.slots_copied == 1);
    assert_true(r.bytes_read == sizeof(float) * ROWS * DEPTH);
    options_free(o);
    weights_unref(w);
}

static void run_large(float *y, module *m)
{
    static const int64_t in_shape[] = {2, DEPTH}, out_shape[] = {2, ROWS};
    float x[2 * DEPTH];
    hull_tensor in = {.data = x, .shape = in_shape, .rank = 2,
                      .dtype = HULL_F32};
    hull_tensor out = {.data = y, .shape = out_shape, .rank = 2,
                       .dtype = HULL_F32};
    session *s;

    for (int i = 0; i < 2 * DEPTH; i++)
        x[i] = (float)(i % 7 - 3) * 0.5f;
    memset(y, 0, sizeof(float) * 2 * ROWS);
    OK(session_new(&s, m, NULL));
    OK(session_run(s, &in, 1, &out, 1));
    session_free(s);
}

static weights *in_memory(const float *u, const int64_t *strides)
{
    hull_tensor t = {.data = (void *)(uintptr_t)u, .rank = 2,
                     .shape = weight_shapes[form],
                     .dtype = HULL_F32, .strides = strides};
    weights *w;

    OK(weights_new(&w, WEIGHTS_MEMORY));
    OK(weights_add_tensor(w, str_of("u"), &t, NULL, NULL));
    return w;
}

static void every_source_gives_the_same(void)
{
    const int64_t rows = weight_shapes[form][0], turned[] = {1, rows};
    size_t columns = (size_t)weight_shapes[form][1];
    size_t n = (size_t)ROWS * DEPTH;
    float *u = calloc(n + 16, sizeof *u), *v = calloc(n, sizeof *v);
    float *want = calloc(2 * ROWS, sizeof *want);
    float *y = calloc(2 * ROWS, sizeof *y);
    module *m = compile_large("backends=cpu"), *ref = compile_large("");
    safetensors_item item = {str_of("u"), HULL_F32, 2, weight_shapes[form], u,
                             n * sizeof *u};
    weights *w;

    for (size_t i = 0; i < n; i++) /* sums are exact */
        u[i] = (float)(int)(i * 2654435761u >> 20 & 255) - 128.0f;
    for (size_t i = 0; i < n; i++)
        v[i % columns * (size_t)rows + i / columns] = u[i];
    OK(safetensors_write(at("u.safetensors"), &item, 1));
    refit_to(ref, in_memory(u, NULL));
    run_large(want, ref);
    assert_true(want[0] != 0 && want[2 * ROWS - 1] != 0);
    OK(weights_open(&w, at("u.safetensors"), NULL));
    refit_to(m, w);
    run_large(y, m);
    assert_memory_equal(y, want, sizeof *y * 2 * ROWS);
    refit_to(m, in_memory(v, turned));
    run_large(y, m);
    assert_memory_equal(y, want, sizeof *y * 2 * ROWS);
    for (int off = 1; off < 16; off += 7) {
        memmove(u + off, u + off - (off == 1 ? 1 : 7), n * sizeof *u);
        refit_to(m, in_memory(u + off, NULL));
        run_large(y, m);
        assert_memory_equal(y, want, sizeof *y * 2 * ROWS);
    }
    module_unref(m);
    module_unref(ref);
    free(u);
    free(v);
    free(want);
    free(y);
}

static void rows_become_columns_of_panels(void **state)
{
    (void)state;
    form = 0;
    every_source_gives_the_same();
}

static void rows_become_rows_of_panels(void **state)
{
    (void)state;
    form = 1;
    every_source_gives_the_same();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_become_columns_of_panels),
        cmocka_unit_test(rows_become_rows_of_panels),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
