/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_large.c - a weight that is packed some rows at a time: the same answers
 * from a file, from memory at any offset, and from a strided view, and the
 * reference's.
 */
#include "module_unit.h"

/* Ten megabytes, and one and a third; no multiple of any tile. */
#define COLUMNS 5003
#define DEPTH 512
#define MAPS 144
#define CHANNELS 256

/* How weights are packed: as PyTorch lays them out, as ONNX does, as points of
 * Winograd's transform. */
static const struct form {
    const char *text;
    int64_t weight[4], in[4], out[4];
    int rank;            /* of the weight */
    const char *set;     /* of the module */
} forms[] = {
    {"graph @main(%x: f32[2,512]) {\n"
     "  %u = weight \"u\" : f32[5003,512]\n"
     "  %y = matmul %x, %u {trans_b=true} : f32[2,5003]\n"
     "  return %y\n"
     "}\n",
     {COLUMNS, DEPTH}, {2, DEPTH}, {2, COLUMNS}, 2, "backends=cpu"},
    {"graph @main(%x: f32[2,512]) {\n"
     "  %u = weight \"u\" : f32[512,5003]\n"
     "  %y = matmul %x, %u : f32[2,5003]\n"
     "  return %y\n"
     "}\n",
     {DEPTH, COLUMNS}, {2, DEPTH}, {2, COLUMNS}, 2, "backends=cpu"},
    {"graph @main(%x: f32[1,256,6,6]) {\n"
     "  %u = weight \"u\" : f32[144,256,3,3]\n"
     "  %y = conv %x, %u {stride=[1,1], pad=[1,1,1,1], "
     "dilation=[1,1]} : f32[1,144,6,6]\n"
     "  return %y\n"
     "}\n",
     {MAPS, CHANNELS, 3, 3}, {1, CHANNELS, 6, 6}, {1, MAPS, 6, 6}, 4,
     "backends=cpu"}};

static const struct form *form; /* of the running test */

static size_t product(const int64_t *dims, int rank)
{
    size_t n = 1;

    for (int i = 0; i < rank; i++)
        n *= (size_t)dims[i];
    return n;
}

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

    fm.m = parsed(form->text);
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
    assert_true(r.bytes_read ==
                sizeof(float) * product(form->weight, form->rank));
    options_free(o);
    weights_unref(w);
}

static void run_large(float *y, module *m)
{
    size_t n_in = product(form->in, form->rank);
    float *x = calloc(n_in, sizeof *x);
    hull_tensor in = {.data = x, .shape = form->in, .rank = form->rank,
                      .dtype = HULL_F32};
    hull_tensor out = {.data = y, .shape = form->out, .rank = form->rank,
                       .dtype = HULL_F32};
    session *s;

    for (size_t i = 0; i < n_in; i++)
        x[i] = (float)((int)(i % 7) - 3) * 0.5f;
    memset(y, 0, sizeof(float) * product(form->out, form->rank));
    OK(session_new(&s, m, NULL));
    OK(session_run(s, &in, 1, &out, 1));
    session_free(s);
    free(x);
}

static weights *in_memory(const float *u, const int64_t *strides)
{
    hull_tensor t = {.data = (void *)(uintptr_t)u, .rank = form->rank,
                     .shape = form->weight, .dtype = HULL_F32,
                     .strides = strides};
    weights *w;

    OK(weights_new(&w, WEIGHTS_MEMORY));
    OK(weights_add_tensor(w, str_of("u"), &t, NULL, NULL));
    return w;
}

/* Sums are exact: small integers, and halves and quarters of them. */
static float *new_weight(size_t n)
{
    float *u = calloc(n + 16, sizeof *u);

    for (size_t i = 0; i < n; i++)
        u[i] = (float)(int)(i * 2654435761u >> 20 & 255) - 128.0f;
    return u;
}

static void from_offsets(module *m, float *u, const float *want, float *y)
{
    size_t n = product(form->weight, form->rank);
    size_t n_out = product(form->out, form->rank);

    for (int off = 1; off < 16; off += 7) {
        memmove(u + off, u + off - (off == 1 ? 1 : 7), n * sizeof *u);
        refit_to(m, in_memory(u + off, NULL));
        run_large(y, m);
        assert_memory_equal(y, want, n_out * sizeof *y);
    }
}

/* The first axis last. */
static weights *turned(float *v, const float *u, int64_t strides[4])
{
    size_t rows = (size_t)form->weight[0];
    size_t each = product(form->weight + 1, form->rank - 1);

    for (size_t i = 0; i < rows * each; i++)
        v[i % each * rows + i / each] = u[i];
    strides[0] = 1;
    strides[form->rank - 1] = (int64_t)rows;
    for (int k = form->rank - 1; k > 1; k--)
        strides[k - 1] = strides[k] * form->weight[k];
    return in_memory(v, strides);
}

static void every_source_gives_the_same(const struct form *f)
{
    size_t n = product(f->weight, f->rank), n_out = product(f->out, f->rank);
    float *u = new_weight(n), *v = calloc(n, sizeof *v);
    float *want = calloc(n_out, sizeof *want);
    float *y = calloc(n_out, sizeof *y);
    module *m, *ref;
    safetensors_item item = {str_of("u"), HULL_F32, (uint32_t)f->rank,
                             f->weight, u, n * sizeof *u};
    int64_t strides[4];
    weights *w;

    form = f;
    m = compile_large(f->set);
    ref = compile_large("");
    OK(safetensors_write(at("u.safetensors"), &item, 1));
    refit_to(ref, in_memory(u, NULL));
    run_large(want, ref);
    assert_true(want[0] != 0 && want[n_out - 1] != 0);
    OK(weights_open(&w, at("u.safetensors"), NULL));
    refit_to(m, w);
    run_large(y, m);
    assert_memory_equal(y, want, n_out * sizeof *y);
    refit_to(m, turned(v, u, strides));
    run_large(y, m);
    assert_memory_equal(y, want, n_out * sizeof *y);
    from_offsets(m, u, want, y);
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
    every_source_gives_the_same(&forms[0]);
}

static void rows_become_rows_of_panels(void **state)
{
    (void)state;
    every_source_gives_the_same(&forms[1]);
}

static void rows_become_columns_of_points(void **state)
{
    (void)state;
    every_source_gives_the_same(&forms[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_become_columns_of_panels),
        cmocka_unit_test(rows_become_rows_of_panels),
        cmocka_unit_test(rows_become_columns_of_points),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
