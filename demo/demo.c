/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * demo.c - the promise on a real model, through the public API: compile the
 * digit classifier once, without weights; pour four checkpoints of its
 * training into the same engine; classify the held-out digits with each; and
 * compare every single answer with PyTorch's (expected.json). A second run
 * finds the engine in the cache. See train.py for the data.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cli/npy.h"
#include "hull.h"

#define PIXELS 64
#define CLASSES 10
#define DIGITS_MAX 1024

static const char *const checkpoints[] = {
    "epoch1.safetensors", "epoch2.safetensors", "epoch5.safetensors",
    "epoch20.safetensors",
};
#define N_CHECKPOINTS COUNT_OF(checkpoints)

typedef struct demo {
    const char *dir;
    hull_cache *cache;
    hull_module *module;
    hull_session *session;
    tensor_file test;
    const named_tensor *image, *label;
    size_t n;           /* held-out digits */
    json_t *expected;
    const char *hit;    /* "hit" or "miss" */
    int64_t engine_bytes;
    json_t *facts;
    char guess[N_CHECKPOINTS][DIGITS_MAX + 1];
} demo;

static void path_in(char *out, size_t size, const demo *d, const char *name)
{
    snprintf(out, size, "%s/%s", d->dir, name);
}

static hull_status load_data(demo *d)
{
    char path[1024];
    json_error_t e;

    path_in(path, sizeof(path), d, "test.npz");
    TRY(tensor_file_read(&d->test, path));
    d->image = tensor_file_find(&d->test, "image");
    d->label = tensor_file_find(&d->test, "label");
    if (!d->image || !d->label || d->image->dtype != HULL_F32 ||
        d->label->dtype != HULL_I64 || d->label->shape[0] > DIGITS_MAX ||
        d->image->n_bytes !=
            (uint64_t)d->label->shape[0] * PIXELS * sizeof(float))
        return fail(HULL_EFORMAT, "%s does not hold image and label", path);
    d->n = (size_t)d->label->shape[0];
    path_in(path, sizeof(path), d, "expected.json");
    d->expected = json_load_file(path, 0, &e);
    if (!d->expected)
        return fail(HULL_EFORMAT, "%s: %s", path, e.text);
    return HULL_OK;
}

static hull_status compile(demo *d)
{
    char path[1024];
    char *text = NULL;
    hull_weights *w = NULL;
    hull_options *o = NULL;
    hull_status st = HULL_OK;

    /* The first checkpoint says which names later ones will use. */
    path_in(path, sizeof(path), d, checkpoints[0]);
    TRY_OUT(hull_weights_open(&w, path));
    TRY_OUT(hull_options_new(&o));
    TRY_OUT(hull_options_set(o, "strip_weights", "on"));
    path_in(path, sizeof(path), d, "digits.onnx");
    TRY_OUT(hull_compile(&d->module, path, w, d->cache, o));
    TRY_OUT(hull_module_describe(&text, d->module));
    d->facts = json_loads(text, 0, NULL);
    d->hit = json_string_value(json_object_get(d->facts, "cache"));
    d->engine_bytes =
        json_integer_value(json_object_get(d->facts, "engine_bytes"));
    if (!d->hit)
        st = fail(HULL_EINTERNAL, "the module's facts name no cache: %s", text);
out:
    hull_free(text);
    hull_options_free(o);
    hull_weights_unref(w);
    return st;
}

static hull_status classify(demo *d, char *guess)
{
    hull_tensor in = tensor_view(d->image), out = { 0 };
    const float *p;

    TRY(hull_session_run(d->session, &in, 1, &out, 1));
    if (out.dtype != HULL_F32 || out.rank != 2 ||
        out.shape[0] != (int64_t)d->n || out.shape[1] != CLASSES)
        return fail(HULL_ESHAPE, "the model's output is not f32[N,%d]",
                    CLASSES);
    p = out.data;
    for (size_t i = 0; i < d->n; i++, p += CLASSES) {
        int best = 0;

        for (int k = 1; k < CLASSES; k++)
            if (p[k] > p[best])
                best = k;
        guess[i] = (char)('0' + best);
    }
    return HULL_OK;
}

static hull_status check_answers(const demo *d, size_t which)
{
    json_t *want = json_object_get(d->expected, checkpoints[which]);
    const char *text = json_string_value(json_object_get(want, "predictions"));
    size_t differ = 0;

    if (!text || strlen(text) != d->n)
        return fail(HULL_EFORMAT, "expected.json has no predictions for %s",
                    checkpoints[which]);
    for (size_t i = 0; i < d->n; i++)
        differ += text[i] != d->guess[which][i];
    if (differ > 0)
        return fail(HULL_EMISMATCH, "%s: %zu of %zu answers differ from "
                    "PyTorch's", checkpoints[which], differ, d->n);
    return HULL_OK;
}

static hull_status refit_and_test(demo *d, size_t which)
{
    char path[1024];
    hull_weights *w = NULL;
    hull_refit_report report;
    const int64_t *label = d->label->data;
    size_t right = 0;
    hull_status st = HULL_OK;

    path_in(path, sizeof(path), d, checkpoints[which]);
    TRY_OUT(hull_weights_open(&w, path));
    TRY_OUT(hull_refit(d->module, w, NULL, &report));
    TRY_OUT(classify(d, d->guess[which]));
    for (size_t i = 0; i < d->n; i++)
        right += d->guess[which][i] == (char)('0' + label[i]);
    printf("%-20s %10.3f ms %9.2f %%  %3zu of %zu   %-5s %8" PRId64 "\n",
           checkpoints[which], report.seconds * 1e3,
           100.0 * (double)right / (double)d->n, right, d->n, d->hit,
           d->engine_bytes);
    TRY_OUT(check_answers(d, which));
out:
    hull_weights_unref(w);
    return st;
}

/* The first digit that training taught: wrong at first, right at last. */
static void draw_digit(const demo *d)
{
    const int64_t *label = d->label->data;
    const float *image = d->image->data;
    size_t i = 0;

    while (i + 1 < d->n && (d->guess[0][i] == (char)('0' + label[i]) ||
                            d->guess[N_CHECKPOINTS - 1][i] !=
                                (char)('0' + label[i])))
        i++;
    printf("\nheld-out digit %zu, labelled %d\n\n", i, (int)label[i]);
    for (size_t y = 0; y < 8; y++) {
        printf("    ");
        for (size_t x = 0; x < 8; x++) {
            int level = (int)(image[i * PIXELS + y * 8 + x] * 4.0F + 0.5F);
            char c = " .+#@"[level < 0 ? 0 : level > 4 ? 4 : level];

            printf("%c%c", c, c);
        }
        printf("\n");
    }
    printf("\n");
    for (size_t k = 0; k < N_CHECKPOINTS; k++)
        printf("    %-20s says %c\n", checkpoints[k], d->guess[k][i]);
}

static hull_status run(demo *d, const char *cache_dir)
{
    TRY(load_data(d));
    TRY(hull_cache_open(&d->cache, cache_dir, NULL));
    TRY(compile(d));
    TRY(hull_session_new(&d->session, d->module, NULL));
    printf("one engine, compiled without weights; cache %s\n\n", d->hit);
    printf("%-20s %13s %11s  %10s   %-5s %8s\n", "checkpoint", "refit",
           "accuracy", "right", "cache", "engine B");
    for (size_t i = 0; i < N_CHECKPOINTS; i++)
        TRY(refit_and_test(d, i));
    draw_digit(d);
    printf("\nall %zu answers are PyTorch's\n", N_CHECKPOINTS * d->n);
    return HULL_OK;
}

int main(int argc, char **argv)
{
    demo d = { 0 };
    hull_status st;

    if (argc != 3) {
        fprintf(stderr, "usage: hull_demo DEMO_FOLDER CACHE_FOLDER\n");
        return 2;
    }
    d.dir = argv[1];
    st = run(&d, argv[2]);
    if (st != HULL_OK)
        fprintf(stderr, "hull_demo: %s\n", hull_last_error());
    hull_session_free(d.session);
    hull_module_unref(d.module);
    hull_cache_unref(d.cache);
    tensor_file_fini(&d.test);
    json_decref(d.expected);
    json_decref(d.facts);
    return st == HULL_OK ? 0 : 1;
}
