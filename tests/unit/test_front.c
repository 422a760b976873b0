/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * Imports of real files: the shared fixtures of both ONNX exporters must give
 * PyTorch's outputs, their holes must bind to the checkpoint beside them, and
 * a recipe's value must be the tensor that the exporter wrote. Skipped, with
 * the number of files, where the shared folder is absent.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include "front/front.h"
#include "graph_eval.h"

/* Last: it has a macro named fail. */
#include <cmocka.h>

/* holes: 0 = not counted. by_name and by_recipe: that bind; the rest is kept
 * or, `open`, needs the user's word. */
typedef struct fixture {
    const char *name, *kind;
    uint32_t holes, by_name, by_recipe, open;
} fixture;

static const fixture fixtures[] = {
    {"bert", "dynamo", 39, 25, 12, 0},   {"bert", "legacy", 39, 25, 12, 0},
    {"cnn", "dynamo", 6, 2, 4, 0},       {"cnn", "legacy", 6, 2, 4, 0},
    {"convnext", "dynamo", 103, 74, 27, 0},
    {"convnext", "legacy", 101, 74, 27, 0},
    {"efficientnet", "dynamo", 36, 10, 26, 0},
    {"efficientnet", "legacy", 36, 10, 26, 0},
    {"gpt2", "dynamo", 29, 28, 0, 0},    {"llama", "dynamo", 23, 6, 15, 0},
    {"lstm", "dynamo", 10, 2, 7, 0},     {"lstm", "legacy", 13, 2, 7, 0},
    {"mlp", "dynamo", 6, 6, 0, 0},       {"mlp", "legacy", 6, 6, 0, 0},
    {"resnet", "dynamo", 32, 2, 30, 0},  {"resnet", "legacy", 32, 2, 30, 0},
    {"unet", "dynamo", 17, 11, 3, 0},    {"vit", "dynamo", 81, 55, 24, 1},
    {"vit", "legacy", 86, 56, 24, 0},
};

typedef struct spine {
    const char *path;
    uint32_t holes;
} spine;

static const spine spines[] = {
    {"ppocr-cls/ch_ppocr_mobile_v2.0_cls_infer.onnx", 213},
    {"basic-pitch/nmp.onnx", 20},
    {"dnsmos-p835/sig_bak_ovr.onnx", 22},
    {"pdnsmos-p835/sig_bak_ovr.onnx", 22},
    {"eeg-seizure-A/modelA_paper.onnx", 12},
    {"eeg-seizure-B/modelB_full.onnx", 12},
};

static char path_text[4096];

/* "<shared>/<a>/<b>", in a static buffer. */
static const char *shared(const char *folder, const char *a, const char *b)
{
    const char *root = getenv("HULL_SHARED");

    snprintf(path_text, sizeof path_text, "%s/%s/%s%s%s",
             root ? root : "../shared", folder, a, *b ? "/" : "", b);
    return path_text;
}

static bool have(const char *path)
{
    FILE *f = fopen(path, "rb");

    if (f)
        fclose(f);
    return f != NULL;
}

static void need_fixtures(size_t n)
{
    if (have(shared("fixtures", "cnn", "dynamo.onnx")))
        return;
    print_message("skipped: %zu files of the shared folder are absent\n", n);
    skip();
}

static void must(hull_status st, const char *what)
{
    if (st != HULL_OK)
        print_message("%s: %s\n", what, error_text());
    assert_int_equal(st, HULL_OK);
}

/* ---- outputs ------------------------------------------------------------- */

static bool load(const weights *io, arena *a, const char *kind, uint32_t i,
                 const char *suffix, tensor *t)
{
    char name[64];
    int n = snprintf(name, sizeof name, "%s_%" PRIu32 "%s", kind, i, suffix);
    const weight_entry *e = weights_find(io, (str){name, (size_t)n});

    if (!e)
        return false;
    t->dtype = e->dtype;
    t->rank = e->rank;
    memcpy(t->shape, e->shape, sizeof t->shape);
    t->data = arena_alloc(a, e->len + 1);
    assert_non_null(t->data);
    must(weights_read(io, e, t->data), name);
    return true;
}

static void check_close(const tensor *got, const tensor *want,
                        const char *what)
{
    assert_int_equal(got->dtype, want->dtype);
    assert_int_equal(got->rank, want->rank);
    for (uint32_t i = 0; i < got->rank; i++)
        assert_int_equal(got->shape[i], want->shape[i]);
    for (int64_t i = 0; i < tensor_numel(got); i++) {
        double a = load_f64(got->dtype, got->data, (uint64_t)i);
        double b = load_f64(want->dtype, want->data, (uint64_t)i);

        if (!(fabs(a - b) <= 1e-4 + 1e-3 * fabs(b)))
            print_message("%s: element %d is %g, want %g\n", what, (int)i, a,
                          b);
        assert_true(fabs(a - b) <= 1e-4 + 1e-3 * fabs(b));
    }
}

static void check_outputs(const front_model *fm, const weights *io,
                          const char *suffix, const char *what)
{
    tensor in[8] = {0}, out[8] = {0}, want = {0};
    graph_run r = {0};
    arena a = {0};

    if (load(io, &a, "output", 0, suffix, &want)) {
        assert_in_range(fm->g->body->n_params, 1, 8);
        for (uint32_t i = 0; i < fm->g->body->n_params; i++)
            assert_true(load(io, &a, "input", i, suffix, &in[i]));
        must(graph_run_eval(&r, fm->g, fm->native, in, out), what);
        for (uint32_t i = 0; i < fm->g->body->n_results; i++) {
            assert_true(load(io, &a, "output", i, suffix, &want));
            check_close(&out[i], &want, what);
        }
        graph_run_fini(&r);
    }
    arena_fini(&a);
}

/* The larger ones take seconds in the interpreter; one run each is enough. */
static void test_outputs(void **state)
{
    (void)state;
    need_fixtures(COUNT_OF(fixtures));
    for (size_t i = 0; i < COUNT_OF(fixtures); i++) {
        const fixture *x = &fixtures[i];
        char name[64];
        front_model *fm = NULL;
        weights *io = NULL;

        snprintf(name, sizeof name, "%s.onnx", x->kind);
        must(front_import(&fm, shared("fixtures", x->name, name), NULL), name);
        must(weights_open(&io,
                          shared("fixtures", x->name, "io_a.safetensors"),
                          NULL),
             "io");
        check_outputs(fm, io, "", x->name);
        check_outputs(fm, io, ".2", x->name);
        weights_unref(io);
        front_free(fm);
    }
}

/* ---- binding ------------------------------------------------------------- */

/* All leaves are in the checkpoint with the shapes that they declare. */
static bool fits(const graph *recipe, const weights *ck, str star)
{
    for (const node *n = graph_first(recipe); n; n = graph_next(recipe, n)) {
        if (n->op != OP_weight)
            continue;
        const weight_entry *e = named_tensor(ck, attr_str(n, "name"), star);
        const type *t = graph_type(recipe, n->out[0]);
        if (!e || e->dtype != t->dtype || e->rank != t->rank)
            return false;
        for (uint32_t i = 0; i < t->rank; i++)
            if (e->shape[i] != t->dims[i])
                return false;
    }
    return true;
}

static bool has_star(const graph *recipe)
{
    for (const node *n = graph_first(recipe); n; n = graph_next(recipe, n))
        if (n->op == OP_weight &&
            str_contains(attr_str(n, "name"), "*"))
            return true;
    return false;
}

/* Segments of the checkpoint's names stand for '*', one after another: how
 * many fit; the last one in *out. */
static uint32_t try_stars(const graph *recipe, const weights *ck, str *out)
{
    uint32_t count = 0;
    str seen[64];
    uint32_t n_seen = 0;

    for (size_t i = 0; i < weights_count(ck); i++) {
        str rest = weights_at(ck, i)->name;

        while (rest.n > 0) {
            str s = str_split(rest, '.', &rest);
            bool known = false;

            for (uint32_t k = 0; k < n_seen && !known; k++)
                known = str_eq(seen[k], s);
            if (known || !fits(recipe, ck, s) || n_seen == 64)
                continue;
            seen[n_seen++] = s;
            *out = s;
            count++;
        }
    }
    return count;
}

typedef struct binding {
    const graph *recipe;
    str star;
} binding;

/* The one recipe of the lowest tier that fits; false when none, or two, do. */
static bool choose(const front_hole *h, const weights *ck, binding *out)
{
    for (unsigned tier = 0; tier < 8; tier++) {
        uint32_t count = 0;

        for (uint32_t i = 0; i < h->n_recipes; i++) {
            str star = {NULL, 0};
            uint32_t n = 0;

            if (h->tiers[i] != tier)
                continue;
            if (has_star(h->recipes[i]))
                n = try_stars(h->recipes[i], ck, &star);
            else
                n = fits(h->recipes[i], ck, star);
            if (n)
                *out = (binding){h->recipes[i], star};
            count += n;
        }
        if (count)
            return count == 1;
    }
    return false;
}

static bool same_tensor(const tensor *got, const weights *native,
                        const front_hole *h, bool exact)
{
    const weight_entry *e = weights_find(native, h->name);
    void *want = mem_alloc(e->len + 1);
    bool ok = e->len == tensor_bytes(got);

    assert_non_null(want);
    must(weights_read(native, e, want), "native");
    if (ok && exact)
        ok = memcmp(want, got->data, e->len) == 0;
    for (int64_t i = 0; ok && !exact && i < tensor_numel(got); i++) {
        double a = load_f64(got->dtype, got->data, (uint64_t)i);
        double b = load_f64(e->dtype, want, (uint64_t)i);

        ok = fabs(a - b) <= 1e-6 + 1e-6 * fabs(b);
    }
    mem_free(want);
    return ok;
}

static void check_recipe(const front_model *fm, const front_hole *h,
                         const weights *ck, const binding *b, bool exact)
{
    graph_run r = {.star = b->star};
    tensor out = {0};

    must(graph_run_eval(&r, b->recipe, ck, NULL, &out), "recipe");
    if (!same_tensor(&out, fm->native, h, exact))
        print_message("recipe of '%.*s' gives other values\n",
                      STR_ARG(h->name));
    assert_true(same_tensor(&out, fm->native, h, exact));
    graph_run_fini(&r);
}

static bool binds_by_name(const front_model *fm, const front_hole *h,
                          const weights *ck)
{
    for (uint32_t i = 0; i < h->n_names; i++) {
        const weight_entry *e = weights_find(ck, h->names[i]);
        bool same = false;

        if (!e)
            continue;
        must(weights_equal(&same, fm->native,
                           weights_find(fm->native, h->name), ck, e), "equal");
        assert_true(same);
        return true;
    }
    return false;
}

static void check_binding(const fixture *x, const front_model *fm,
                          const weights *ck)
{
    uint32_t by_name = 0, by_recipe = 0, open = 0;

    for (uint32_t i = 0; i < fm->n_holes; i++) {
        const front_hole *h = &fm->holes[i];
        binding b = {0};

        assert_true(h->native);
        assert_non_null(h->reason);
        if (h->derived)
            assert_int_equal(h->n_names, 0);
        if (binds_by_name(fm, h, ck)) {
            by_name++;
        } else if (choose(h, ck, &b)) {
            check_recipe(fm, h, ck, &b, strcmp(x->kind, "dynamo") == 0);
            by_recipe++;
        } else if (!h->kept) {
            if (++open > x->open)
                print_message("%s %s: '%.*s' does not bind\n", x->name,
                              x->kind, STR_ARG(h->name));
        }
    }
    if (by_name != x->by_name || by_recipe != x->by_recipe)
        print_message("%s %s: %u by name, %u by recipe, %u open\n", x->name,
                      x->kind, by_name, by_recipe, open);
    assert_int_equal(fm->n_holes, x->holes);
    assert_int_equal(by_name, x->by_name);
    assert_int_equal(by_recipe, x->by_recipe);
    assert_int_equal(open, x->open);
}

static void test_bindings(void **state)
{
    (void)state;
    need_fixtures(COUNT_OF(fixtures));
    for (size_t i = 0; i < COUNT_OF(fixtures); i++) {
        const fixture *x = &fixtures[i];
        char name[64];
        front_model *fm = NULL;
        weights *ck = NULL;

        snprintf(name, sizeof name, "%s.onnx", x->kind);
        must(weights_open(&ck, shared("fixtures", x->name, "a.safetensors"),
                          NULL), "checkpoint");
        must(front_import(&fm, shared("fixtures", x->name, name), NULL), name);
        check_binding(x, fm, ck);
        front_free(fm);
        weights_unref(ck);
    }
}

/* What the signature has and nothing reads, and both names of a tie. */
static void test_unread_and_ties(void **state)
{
    front_model *fm = NULL;
    bool tied = false;

    (void)state;
    need_fixtures(2);
    must(front_import(&fm, shared("fixtures", "cnn", "dynamo.onnx"), NULL),
         "cnn");
    assert_int_equal(fm->n_unread, 2);
    for (uint32_t i = 0; i < 2; i++)
        assert_true(str_ends(fm->unread[i], "num_batches_tracked"));
    front_free(fm);
    must(front_import(&fm, shared("fixtures", "gpt2", "dynamo.onnx"), NULL),
         "gpt2");
    for (uint32_t i = 0; i < fm->n_holes; i++)
        if (str_is(fm->holes[i].name, "m.lm_head.weight"))
            tied = fm->holes[i].n_names == 2;
    assert_true(tied);
    assert_int_equal(fm->n_unread, 0);
    front_free(fm);
}

/* ---- models of other producers ------------------------------------------- */

static void test_spine_models(void **state)
{
    (void)state;
    if (!have(shared("models", spines[0].path, ""))) {
        print_message("skipped: %zu models are absent\n", COUNT_OF(spines));
        skip();
    }
    for (size_t i = 0; i < COUNT_OF(spines); i++) {
        front_model *fm = NULL;

        must(front_import(&fm, shared("models", spines[i].path, ""), NULL),
             spines[i].path);
        assert_int_equal(graph_verify(fm->g), HULL_OK);
        assert_int_equal(fm->n_holes, spines[i].holes);
        front_free(fm);
    }
}

/* Two files of one architecture: the same text, so one engine. */
static void test_same_text(void **state)
{
    static const char *const pair[2] = {"eeg-seizure-A/modelA_paper.onnx",
                                        "eeg-seizure-B/modelB_full.onnx"};
    buf text[2];

    (void)state;
    if (!have(shared("models", pair[0], ""))) {
        print_message("skipped: 2 models are absent\n");
        skip();
    }
    for (int i = 0; i < 2; i++) {
        front_model *fm = NULL;

        buf_init(&text[i], 1 << 24);
        must(front_import(&fm, shared("models", pair[i], ""), NULL), pair[i]);
        must(graph_canonical_text(&text[i], fm->g), "text");
        front_free(fm);
    }
    assert_true(text[0].n > 100);
    assert_true(str_eq(buf_view(&text[0]), buf_view(&text[1])));
    buf_fini(&text[0]);
    buf_fini(&text[1]);
}

/* A trained bias of one element is a hole, not a number. */
static void test_one_element_bias(void **state)
{
    front_model *fm = NULL;
    uint32_t found = 0;
    const char *path = shared(
        "models", "silero-vad-16k-sequence/silero_vad_16k_sequence.onnx", "");

    (void)state;
    if (!have(path)) {
        print_message("skipped: 1 model is absent\n");
        skip();
    }
    must(front_import(&fm, path, NULL), path);
    for (uint32_t i = 0; i < fm->n_holes; i++) {
        const type *t = &fm->holes[i].type;

        found += t->rank == 1 && t->dims[0] == 1 && fm->holes[i].parameter;
    }
    assert_true(found >= 1);
    front_free(fm);
}

static void test_not_a_model(void **state)
{
    front_model *fm = NULL;

    (void)state;
    need_fixtures(1);
    assert_int_equal(
        front_import(&fm, shared("fixtures", "cnn", "a.safetensors"), NULL),
        HULL_EUNSUPPORTED);
    assert_non_null(strstr(error_text(), "holds tensors but no graph"));
    assert_null(fm);
    assert_int_equal(front_import(&fm, "does/not/exist.onnx", NULL),
                     HULL_ENOTFOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outputs),
        cmocka_unit_test(test_bindings),
        cmocka_unit_test(test_unread_and_ties),
        cmocka_unit_test(test_spine_models),
        cmocka_unit_test(test_same_text),
        cmocka_unit_test(test_one_element_bias),
        cmocka_unit_test(test_not_a_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
