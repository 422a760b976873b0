/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_bind.c - which checkpoint names a module takes: prefixes one by one and
 * on each other, ambiguous ones, two tensors that fit one hole, learning, and
 * tensors that an exporter stored once.
 */
#include "module_unit.h"

#include "onnx_maker.h"

/* Refit must fail with HULL_EBIND and say all of these. */
static void refused(module *m, const char *ckpt, const char *set,
                    const char *const *texts)
{
    hull_status st = refit_with(m, ckpt, set, NULL);

    if (st != HULL_EBIND)
        stop("%s: status %d: %s", ckpt, (int)st, error_text());
    for (; *texts != NULL; texts++)
        if (strstr(error_text(), *texts) == NULL)
            stop("'%s' is not in: %s", *texts, error_text());
}

#define REFUSED(m, ckpt, set, ...) \
    refused(m, ckpt, set, (const char *const[]){__VA_ARGS__, NULL})

static void prefixes(void **state)
{
    static const char *const good[] = {
        "module.", "_orig_mod.", "model.", "backbone.", "net.", "wrapped.",
        "module._orig_mod.", "_orig_mod.module.", "module.model.backbone.",
        "model.model.",
    };
    answer want, have;
    module *m = compiled("");

    (void)state;
    write_checkpoint("a.safetensors", 1, "", 3);
    OK(refit_with(m, "a.safetensors", "", NULL));
    want = answer_of(m);
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        write_checkpoint("b.safetensors", 2, "", 3);
        OK(refit_with(m, "b.safetensors", "", NULL));
        write_checkpoint("p.safetensors", 1, good[i], 3);
        if (refit_with(m, "p.safetensors", "", NULL) != HULL_OK)
            stop("%s: %s", good[i], error_text());
        have = answer_of(m);
        assert_memory_equal(&want, &have, sizeof want);
    }
    write_checkpoint("p.safetensors", 1, "student.", 3);
    REFUSED(m, "p.safetensors", "", "3 missing: 'fc1.weight'",
            "unexpected: 'student.fc1.weight'");
    have = answer_of(m);
    assert_memory_equal(&want, &have, sizeof want);
    module_unref(m);
}

/* ---- tensors of more than one checkpoint's make -------------------------- */

typedef struct piece {
    const char *name;
    int64_t rank, d0, d1;
    float scale; /* element i is scale * (i % 7 - 3) */
} piece;

static void write_tensors(const char *name, const piece *t, size_t n)
{
    static float data[16][64];
    static int64_t dims[16][2];
    safetensors_item items[16];

    assert_true(n <= 16);
    for (size_t i = 0; i < n; i++) {
        size_t len = (size_t)(t[i].d0 * (t[i].rank > 1 ? t[i].d1 : 1));

        assert_true(len <= 64);
        for (size_t k = 0; k < len; k++)
            data[i][k] = t[i].scale * (float)((int)k % 7 - 3);
        dims[i][0] = t[i].d0;
        dims[i][1] = t[i].d1;
        items[i] = (safetensors_item){str_of(t[i].name), HULL_F32,
                                      (uint32_t)t[i].rank, dims[i], data[i],
                                      len * sizeof(float)};
    }
    OK(safetensors_write(at(name), items, n));
}

static void two_prefixes_are_ambiguous(void **state)
{
    static const piece both[] = {
        {"module.fc1.weight", 2, 11, 5, 1}, {"module.fc1.bias", 1, 11, 0, 1},
        {"module.fc2.weight", 2, 3, 11, 1}, {"model.fc1.weight", 2, 11, 5, 2},
        {"model.fc1.bias", 1, 11, 0, 2},    {"model.fc2.weight", 2, 3, 11, 2},
    };
    module *m = compiled("");

    (void)state;
    write_tensors("both.safetensors", both, COUNT_OF(both));
    REFUSED(m, "both.safetensors", "", "ambiguous", "'module.'", "'model.'");
    module_unref(m);
}

/* ---- two tensors that fit ------------------------------------------------ */

/* The model of module_unit.h; its first hole is any transposed weight. */
static module *starred(const weights *own)
{
    static const char text[] =
        "graph @t() {\n"
        "  %w = weight \"*.weight\" : f32[11,5]\n"
        "  %1 = transpose %w {perm=[1,0]} : f32[5,11]\n"
        "  return %1\n"
        "}\n";
    options *o = options_of("learn=on");
    bind_options how = {.o = o, .model = own, .allow_unread = true};
    devices ds;
    module *m;
    binding *b;
    weights *w;
    model md;
    plan *p;

    model_init(&md);
    ir_free(md.recipes);
    md.recipes = parsed(text);
    md.fm.recipes = md.recipes;
    md.holes[0].recipes = md.recipes->graphs;
    OK(devices_open(&ds, o));
    OK(plan_compile(&p, &md.fm, &ds, NULL));
    if (own != NULL) {
        OK(weights_open(&w, at("learnt.safetensors"), NULL));
        OK(bind_weights(&b, p, w, &how));
        OK(plan_learn(p, b));
        binding_unref(b);
        weights_unref(w);
    }
    OK(module_new(&m, p, &ds));
    model_fini(&md);
    options_free(o);
    return m;
}

static const piece fit[] = {
    {"a.weight", 2, 11, 5, 1},
    {"b.weight", 2, 11, 5, 2},
    {"fc1.bias", 1, 11, 0, 1},
    {"fc2.weight", 2, 3, 11, 1},
};

static void two_tensors_that_fit_are_refused(void **state)
{
    static const piece wrapped[] = {
        {"module.a.weight", 2, 11, 5, 1},
        {"module.b.weight", 2, 11, 5, 2},
        {"module.fc1.bias", 1, 11, 0, 1},
        {"module.fc2.weight", 2, 3, 11, 1},
    };
    static const int64_t dims[] = {5, 11};
    module *m = starred(NULL);
    float own[55];
    weights *w;

    (void)state;
    write_tensors("learnt.safetensors", wrapped, COUNT_OF(wrapped));
    write_tensors("fit.safetensors", fit, COUNT_OF(fit));
    REFUSED(m, "fit.safetensors", "", "ambiguous: 'w' could be", "a.weight",
            "b.weight", "learn=on");
    module_unref(m);
    /* The model's own value of the hole is b's: then that is settled, with
     * whatever prefix the next checkpoint comes. */
    for (int i = 0; i < 55; i++)
        own[i % 5 * 11 + i / 5] = 2.0f * (float)(i % 7 - 3);
    OK(weights_new(&w, WEIGHTS_MEMORY));
    OK(weights_add_tensor(w, str_of("w"),
                          &(hull_tensor){.data = own, .shape = dims,
                                         .rank = 2, .dtype = HULL_F32},
                          NULL, NULL));
    m = starred(w);
    weights_unref(w);
    REFUSED(m, "fit.safetensors", "", "unexpected: 'a.weight'");
    OK(refit_with(m, "fit.safetensors", "ignore=a.weight", NULL));
    OK(refit_with(m, "learnt.safetensors", "ignore=module.a.*", NULL));
    module_unref(m);
}

static void shape_alone_binds_nothing(void **state)
{
    static const piece other[] = {
        {"x.weight", 2, 11, 5, 1},
        {"x.bias", 1, 11, 0, 1},
        {"y.weight", 2, 3, 11, 1},
    };
    module *m = compiled("");

    (void)state;
    write_tensors("o.safetensors", other, COUNT_OF(other));
    REFUSED(m, "o.safetensors", "", "missing: 'fc1.weight'", "'fc1.bias'",
            "'fc2.weight'", "unexpected: 'x.weight'");
    module_unref(m);
}

/* ---- stored once --------------------------------------------------------- */

/* y = ((x + a.bias) * scale) + a.bias: the exporter merged b.bias into it. */
static void merged_model(char path[256])
{
    static const int64_t x[] = {2, 4};
    static const float zeros[4] = {0}, twos[4] = {2, 2, 2, 2};
    const char *const names[] = {"a.bias", "scale"};
    const float *const data[] = {zeros, twos};
    maker k = maker_new(17);
    char made[64];

    put_value(&k.graph, 11, "x", 1, x, 2);
    for (int i = 0; i < 2; i++) {
        buf t = new_buf();

        put_int(&t, 1, 4);
        put_int(&t, 2, 1);
        put_text(&t, 8, names[i]);
        put_bytes(&t, 9, data[i], 16);
        put_message(&k.graph, 5, &t);
    }
    put_node(&k.graph, "Add", "x a.bias", "s", NULL);
    put_node(&k.graph, "Mul", "s scale", "t", NULL);
    put_node(&k.graph, "Add", "t a.bias", "y", NULL);
    put_value(&k.graph, 12, "y", 1, x, 2);
    maker_write(&k, made);
    snprintf(path, 256, "%s", at("merged.onnx"));
    assert_int_equal(rename(made, path), 0);
}

static void merged_initializers_are_told(void **state)
{
    static const piece equal[] = {
        {"a.bias", 1, 4, 0, 0}, {"scale", 1, 4, 0, 1}, {"b.bias", 1, 4, 0, 0}};
    static const piece apart[] = {
        {"a.bias", 1, 4, 0, 1}, {"scale", 1, 4, 0, 1}, {"b.bias", 1, 4, 0, 2}};
    char path[256];
    module *m;
    weights *w;

    (void)state;
    merged_model(path);
    write_tensors("equal.safetensors", equal, 3);
    write_tensors("apart.safetensors", apart, 3);
    /* Compiled from the model alone: b.bias is unexpected, and the error tells
     * why it may be. */
    OK(module_compile(&m, path, NULL, NULL, NULL));
    REFUSED(m, "apart.safetensors", "", "unexpected: 'b.bias'",
            "the exporter merged it with 'a.bias' into 'a.bias'",
            "read in 2 places");
    module_unref(m);
    /* Compiled with a checkpoint that has both: they are a tie from then on,
     * also in a module file. */
    OK(weights_open(&w, at("equal.safetensors"), NULL));
    OK(module_compile(&m, path, w, NULL, NULL));
    weights_unref(w);
    REFUSED(m, "apart.safetensors", "",
            "tied in the model but different: 'a.bias' and 'b.bias'",
            "the exporter merged them into 'a.bias'");
    OK(refit_with(m, "equal.safetensors", "", NULL));
    OK(module_save(m, at("merged.hull"), 0));
    module_unref(m);
    OK(load_with(&m, at("merged.hull"), NULL, ""));
    REFUSED(m, "apart.safetensors", "", "the exporter merged them");
    OK(refit_with(m, "equal.safetensors", "", NULL));
    module_unref(m);
}

/* ---- nested checkpoints -------------------------------------------------- */

static void a_key_is_an_option(void **state)
{
    hull_weights *w;
    module *m = compiled("");
    options *o = options_of("checkpoint_key=ema");

    (void)state;
    write_checkpoint("a.safetensors", 1, "", 3);
    OK(hull_weights_open(&w, at("a.safetensors")));
    assert_int_equal(hull_refit(m, w, o, NULL), HULL_EINVAL);
    assert_non_null(strstr(hull_last_error(), "nested torch checkpoint"));
    OK(hull_refit(m, w, NULL, NULL));
    hull_weights_unref(w);
    options_free(o);
    module_unref(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefixes),
        cmocka_unit_test(two_prefixes_are_ambiguous),
        cmocka_unit_test(two_tensors_that_fit_are_refused),
        cmocka_unit_test(shape_alone_binds_nothing),
        cmocka_unit_test(merged_initializers_are_told),
        cmocka_unit_test(a_key_is_an_option),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
