/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_literals.c - which stored tensors are holes and which are literals or
 * kept constants, told by what a strict refit takes: Constant nodes as
 * weights, one-element biases, numbers of the formula, buffers that a state
 * dict lacks or has too many of, tied heads.
 */
#include "guard.h"

#include "front/front.h"
#include "onnx_maker.h"

/* ---- checkpoints made of a model's own tensors --------------------------- */

#define MAX_ITEMS 1024

typedef struct made {
    safetensors_item *items;
    size_t n;
    arena a;
} made;

static void made_init(made *s)
{
    *s = (made){.items = calloc(MAX_ITEMS, sizeof(safetensors_item))};
    assert_non_null(s->items);
}

static void made_fini(made *s)
{
    free(s->items);
    arena_fini(&s->a);
}

/* Adds the tensor under a name; float values are multiplied. */
static void made_add(made *s, const char *name, const weights *w,
                     const weight_entry *e, double by)
{
    uint64_t n = e->len * 8 / hull_dtype_bits(e->dtype);
    char *data = arena_alloc(&s->a, e->len + 16);

    assert_true(s->n < MAX_ITEMS);
    assert_non_null(data);
    OK(weights_read(w, e, data));
    for (uint64_t i = 0; dtype_is_float(e->dtype) && i < n; i++)
        store_f64(e->dtype, data, i, load_f64(e->dtype, data, i) * by);
    s->items[s->n++] = (safetensors_item){
        .name = {arena_strndup(&s->a, name, strlen(name)), strlen(name)},
        .dtype = e->dtype, .rank = e->rank, .shape = e->shape, .data = data,
        .len = e->len};
}

static void made_add_all(made *s, const weights *w, double by)
{
    for (size_t i = 0; i < weights_count(w); i++)
        made_add(s, weights_at(w, i)->name.p, w, weights_at(w, i), by);
}

/* ---- weights that are Constant nodes ------------------------------------- */

/* Refits a model from its own tensors: twice as they are, once changed. */
static void own_tensors(const char *path, uint32_t want_holes)
{
    const char *same = temp_path(".same.safetensors");
    const char *other = temp_path(".other.safetensors");
    hull_module *m;
    front_model *fm;
    guard_input in;
    uint64_t first;
    made a, b;

    OK(front_import(&fm, path, NULL));
    made_init(&a);
    made_init(&b);
    assert_true(fm->n_holes >= want_holes);
    for (uint32_t i = 0; i < fm->n_holes; i++) {
        const weight_entry *e = weights_find(fm->native, fm->holes[i].name);

        assert_non_null(e);
        made_add(&a, fm->holes[i].name.p, fm->native, e, 1);
        made_add(&b, fm->holes[i].name.p, fm->native, e, 1.25);
    }
    OK(safetensors_write(same, a.items, a.n));
    OK(safetensors_write(other, b.items, b.n));
    m = compile_of(path, NULL, "");
    guard_input_init(&in, m, 48);
    in.shape[0][0] = 1; /* one of the batch is enough */
    first = module_sum(m, &in);
    OK(refit_of(m, same, "", NULL));
    assert_true(module_sum(m, &in) == first);
    OK(refit_of(m, other, "", NULL));
    assert_true(module_sum(m, &in) != first);
    OK(refit_of(m, same, "", NULL));
    assert_true(module_sum(m, &in) == first);
    guard_input_fini(&in);
    hull_module_unref(m);
    made_fini(&a);
    made_fini(&b);
    front_free(fm);
    unlink(same);
    unlink(other);
}

static const char *model(const char *name)
{
    static char path[512];
    const char *root = getenv("HULL_SHARED");

    snprintf(path, sizeof path, "%s/models/%s",
             root != NULL ? root : "../shared", name);
    if (access(path, R_OK) == 0)
        return path;
    print_message("SKIP: no %s (HULL_SHARED)\n", name);
    skip();
    return NULL;
}

static void constant_nodes_are_weights(void **state)
{
    (void)state;
    own_tensors(model("ppocr-cls/ch_ppocr_mobile_v2.0_cls_infer.onnx"), 50);
}

static void one_element_biases_are_weights(void **state)
{
    front_model *fm;
    uint32_t small = 0;

    (void)state;
    OK(front_import(&fm, model("silero-vad-16k-sequence/"
                               "silero_vad_16k_sequence.onnx"), NULL));
    for (uint32_t i = 0; i < fm->n_holes; i++) {
        const front_hole *h = &fm->holes[i];

        small += h->type.rank == 1 && h->type.dims[0] == 1 && !h->kept;
    }
    assert_true(small >= 1);
    front_free(fm);
}

static void demo_model_refits_from_its_own(void **state)
{
    (void)state;
    own_tensors("demo/digits.pt2", 10);
}

/* ---- numbers of the formula ---------------------------------------------- */

static bool has_hole(const front_model *fm, const char *name)
{
    for (uint32_t i = 0; i < fm->n_holes; i++)
        if (str_is(fm->holes[i].name, name))
            return true;
    return false;
}

/* y = (x * half / root) w + b: two numbers, a matrix, a one-element bias. */
static void scalars_of_the_formula_are_literals(void **state)
{
    static const float w[4] = {1, 2, 3, 4}, b = 7;
    static const int64_t x[] = {-1, 4}, y[] = {-1, 1};
    static const int64_t ws[] = {4, 1}, bs[] = {1};
    char path[64];
    front_model *fm;
    maker k = maker_new(17);

    (void)state;
    put_value(&k.graph, 11, "x", 1, x, 2);
    put_scalar_f32(&k.graph, "half", 0.5f);
    put_scalar_f32(&k.graph, "root", 8.0f);
    put_stored(&k.graph, "w", 1, ws, 2, w, sizeof w);
    put_stored(&k.graph, "b", 1, bs, 1, &b, sizeof b);
    put_node(&k.graph, "Mul", "x half", "h", NULL);
    put_node(&k.graph, "Div", "h root", "r", NULL);
    put_node(&k.graph, "Gemm", "r w b", "y", NULL);
    put_value(&k.graph, 12, "y", 1, y, 2);
    maker_write(&k, path);
    OK(front_import(&fm, path, NULL));
    assert_false(has_hole(fm, "half"));
    assert_false(has_hole(fm, "root"));
    assert_true(has_hole(fm, "w"));
    assert_true(has_hole(fm, "b"));
    front_free(fm);
    unlink(path);
}

static void add_f32(hull_weights *w, const char *name, const float *v,
                    const int64_t *dims, int32_t rank)
{
    hull_tensor t = {.data = (void *)(uintptr_t)v, .shape = dims,
                     .rank = rank, .dtype = HULL_F32};

    OK(hull_weights_add(w, name, &t, NULL, NULL));
}

/* Refits from w, b and, where it is given, the literal "half". */
static hull_status refit_with_half(hull_module *m, const float *half)
{
    static const float w[4] = {4, 3, 2, 1}, b = 5;
    static const int64_t ws[] = {4, 1}, bs[] = {1};
    hull_weights *c;
    hull_status st;

    OK(hull_weights_new(&c));
    add_f32(c, "w", w, ws, 2);
    add_f32(c, "b", &b, bs, 1);
    if (half != NULL)
        add_f32(c, "half", half, NULL, 0);
    st = hull_refit(m, c, NULL, NULL);
    hull_weights_unref(c);
    return st;
}

static void check_literal_half(hull_module *m)
{
    static const float same = 0.5f, other = 0.25f;
    uint64_t version = hull_module_version(m);

    assert_int_equal(refit_with_half(m, &other), HULL_EBIND);
    assert_non_null(strstr(hull_last_error(),
                           "'half' is 0.25, the engine has 0.5"));
    assert_int_equal(hull_module_version(m), version);
    OK(refit_with_half(m, &same));
    OK(refit_with_half(m, NULL));
}

/* A checkpoint may hold a literal, but not another value of it. */
static void a_changed_literal_is_refused(void **state)
{
    static const float w[4] = {1, 2, 3, 4}, b = 7;
    static const int64_t x[] = {-1, 4}, y[] = {-1, 1};
    static const int64_t ws[] = {4, 1}, bs[] = {1};
    char path[64], saved[80];
    hull_module *m;
    maker k = maker_new(17);

    (void)state;
    put_value(&k.graph, 11, "x", 1, x, 2);
    put_scalar_f32(&k.graph, "half", 0.5f);
    put_stored(&k.graph, "w", 1, ws, 2, w, sizeof w);
    put_stored(&k.graph, "b", 1, bs, 1, &b, sizeof b);
    put_node(&k.graph, "Mul", "x half", "h", NULL);
    put_node(&k.graph, "Gemm", "h w b", "y", NULL);
    put_value(&k.graph, 12, "y", 1, y, 2);
    maker_write(&k, path);
    OK(hull_compile(&m, path, NULL, NULL, NULL));
    check_literal_half(m);
    snprintf(saved, sizeof saved, "%s.hull", path);
    OK(hull_module_save(m, saved, 0));
    hull_module_unref(m);
    OK(hull_module_load(&m, saved, NULL, NULL, NULL));
    check_literal_half(m);
    hull_module_unref(m);
    unlink(path);
    unlink(saved);
}

/* ---- state dicts of the fixtures ----------------------------------------- */

static const char *want_fixture(const char *name)
{
    const char *path = fixture(name);

    if (path == NULL) {
        print_message("SKIP: no fixture %s (HULL_SHARED)\n", name);
        skip();
    }
    return path;
}

/* A strict refit to B changes the outputs, one to A brings them back. */
static void strict(const char *name)
{
    char path[64];
    const char *a, *b;
    uint64_t first;
    guard_input in;
    hull_module *m;
    hull_refit_report r;

    snprintf(path, sizeof path, "%s/train.pt2", name);
    m = compile_of(want_fixture(path), NULL, "");
    snprintf(path, sizeof path, "%s/a.safetensors", name);
    a = want_fixture(path);
    snprintf(path, sizeof path, "%s/b.safetensors", name);
    b = want_fixture(path);
    guard_input_init(&in, m, 2);
    first = module_sum(m, &in);
    OK(refit_of(m, b, "", &r));
    assert_true(module_sum(m, &in) != first);
    OK(refit_of(m, a, "", &r));
    assert_true(module_sum(m, &in) == first);
    guard_input_fini(&in);
    hull_module_unref(m);
}

static void bert_keeps_position_ids(void **state)
{
    (void)state;
    strict("bert");
}

static void llama_keeps_inv_freq(void **state)
{
    (void)state;
    strict("llama");
}

static void batch_counters_are_unread(void **state)
{
    (void)state;
    strict("cnn");
    strict("resnet");
    strict("efficientnet");
}

/* One more tensor in gpt2's checkpoint: its tied head, equal or not. */
static void an_untied_head_is_refused(void **state)
{
    static const char *const forms[] = {"gpt2/train.pt2",
                                        "gpt2/dynamo.onnx"};
    const char *a = want_fixture("gpt2/a.safetensors");
    const char *path = temp_path(".safetensors"), *head = "lm_head.weight";
    const weight_entry *table = NULL;
    hull_weights *w;

    (void)state;
    OK(hull_weights_open(&w, a));
    for (size_t i = 0; i < weights_count(w); i++)
        if (str_ends(weights_at(w, i)->name, "wte.weight"))
            table = weights_at(w, i);
    assert_non_null(table);
    if (str_starts(table->name, "m."))
        head = "m.lm_head.weight";
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        hull_module *m = compile_of(want_fixture(forms[i]), NULL, "");
        uint64_t first;
        guard_input in;
        made s;

        guard_input_init(&in, m, 2);
        first = module_sum(m, &in);
        made_init(&s);
        made_add_all(&s, w, 1);
        made_add(&s, head, w, table, 1.5);
        OK(safetensors_write(path, s.items, s.n));
        WANT(refit_of(m, path, "", NULL), HULL_EBIND);
        assert_non_null(strstr(hull_last_error(), "lm_head.weight"));
        assert_true(module_sum(m, &in) == first);
        made_fini(&s);
        made_init(&s);
        made_add_all(&s, w, 1);
        made_add(&s, head, w, table, 1);
        OK(safetensors_write(path, s.items, s.n));
        if (i == 0) /* the archive says that the two are tied */
            OK(refit_of(m, path, "", NULL));
        made_fini(&s);
        guard_input_fini(&in);
        hull_module_unref(m);
    }
    hull_weights_unref(w);
    unlink(path);
}

/* Two tied names in a checkpoint must agree; an unknown one is refused. */
static void unknown_names_are_refused(void **state)
{
    const char *path = temp_path(".safetensors");
    hull_module *m = compile_of(DIGITS, guard_epochs[0], "");
    hull_weights *w;
    made s;

    (void)state;
    OK(hull_weights_open(&w, guard_epochs[1]));
    made_init(&s);
    made_add_all(&s, w, 1);
    made_add(&s, "fc2.num_batches_tracked", w,
             weights_find(w, str_of("bn1.num_batches_tracked")), 1);
    OK(safetensors_write(path, s.items, s.n));
    OK(refit_of(m, path, "", NULL)); /* counters never matter */
    made_add(&s, "fc2.scale", w, weights_find(w, str_of("fc2.bias")), 1);
    OK(safetensors_write(path, s.items, s.n));
    WANT(refit_of(m, path, "", NULL), HULL_EBIND);
    assert_non_null(strstr(hull_last_error(), "fc2.scale"));
    made_fini(&s);
    hull_weights_unref(w);
    hull_module_unref(m);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_nodes_are_weights),
        cmocka_unit_test(one_element_biases_are_weights),
        cmocka_unit_test(demo_model_refits_from_its_own),
        cmocka_unit_test(scalars_of_the_formula_are_literals),
        cmocka_unit_test(a_changed_literal_is_refused),
        cmocka_unit_test(bert_keeps_position_ids),
        cmocka_unit_test(llama_keeps_inv_freq),
        cmocka_unit_test(batch_counters_are_unread),
        cmocka_unit_test(an_untied_head_is_refused),
        cmocka_unit_test(unknown_names_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
