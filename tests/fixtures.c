/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * fixtures.c - the promise on real exports: every architecture of the shared
 * fixtures in every form, compiled once with weights A, right; refitted to B,
 * right; back to A, bit for bit what it was; and a module built with B equal
 * bit for bit to one that was built with A and refitted to B.
 *
 *     fixtures [FOLDER [NAME [FORM]]]
 */
#include <stdlib.h>
#include <string.h>

#include "fixture_io.h"

#include <unistd.h>

static const char *const names[] = {
    "mlp", "cnn", "lstm", "bert", "gpt2", "llama", "unet", "resnet", "vit",
    "efficientnet", "convnext",
};
static const char *const forms[] = {
    "train.pt2", "train.dyn.pt2", "core.pt2", "dynamo.onnx", "legacy.onnx",
};

static unsigned passed, failed, skipped, second_shapes;

static hull_status same_bytes(const io *a, const io *b, const char *what)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->n != b->n || memcmp(a->t[i].data, b->t[i].data, a->bytes[i]))
            return fail(HULL_EMISMATCH, "%s: output %zu is not bit-identical",
                        what, i);
    return HULL_OK;
}

/* The prepared slots of a module, as its file holds them. */
static hull_status save_slots(hull_module *m, buf *out)
{
    static unsigned serial;
    char path[64];
    hull_status st = HULL_OK;
    container *c = NULL;
    file f = {0};
    bytes slots;

    snprintf(path, sizeof path, "build/fixture-%u-%u.hull",
             (unsigned)getpid(), serial++);
    buf_init(out, SIZE_MAX / 2);
    TRY_OUT(dir_make("build"));
    TRY_OUT(hull_module_save(m, path, HULL_SAVE_PREPARED));
    TRY_OUT(file_map(&f, path));
    TRY_OUT(container_open(&c, (bytes){f.p, f.size}, UINT64_MAX));
    TRY_OUT(container_get(c, "slots", UINT64_MAX, &slots));
    buf_put(out, slots.p, slots.n);
    st = buf_status(out);
out:
    container_free(c);
    file_close(&f);
    remove(path);
    return st;
}

/* One fixture in one form. */
typedef struct subject {
    char model[1200], ckpt_a[1200], ckpt_b[1200], io_a[1200], io_b[1200];
    bool learn; /* the exporter left no names: equal bytes decide once */
} subject;

/* Outputs and slots of a module built with B right away. */
static hull_status built_with_b(const subject *x, const weights *io_b, io *out,
                                buf *slots)
{
    hull_weights *b = NULL, *a = NULL;
    hull_module *m = NULL;
    hull_session *s = NULL;
    hull_options *o = NULL;
    hull_status st = HULL_OK;

    TRY_OUT(hull_options_new(&o));
    TRY_OUT(hull_weights_open(&b, x->ckpt_b));
    TRY_OUT(hull_compile(&m, x->model, b, NULL, o));
    TRY_OUT(hull_session_new(&s, m, NULL));
    TRY_OUT(check_run(s, io_b, "", out));
    TRY_OUT(save_slots(m, slots));
out:
    hull_session_free(s);
    hull_module_unref(m);
    hull_weights_unref(a);
    hull_weights_unref(b);
    hull_options_free(o);
    return st;
}

/* Some archives called dynamic are not: the exporter fixed a batch of one. */
static bool has_symbolic_input(const hull_module *m)
{
    hull_tensor_info info;

    for (size_t i = 0; i < hull_module_n_inputs(m); i++) {
        if (hull_module_input(m, i, &info) != HULL_OK)
            return false;
        for (int32_t k = 0; k < info.rank; k++)
            if (info.shape[k] < 0)
                return true;
    }
    return false;
}

static hull_status second_shape(hull_session *s, const hull_module *m,
                                const weights *w)
{
    if (weights_find(w, str_of("input_0.2")) == NULL || !has_symbolic_input(m))
        return HULL_OK;
    second_shapes++;
    return note(check_run(s, w, ".2", NULL), "second shape");
}

static hull_status check(const subject *x)
{
    hull_weights *a = NULL, *b = NULL, *io_a = NULL, *io_b = NULL;
    hull_module *m = NULL;
    hull_session *s = NULL;
    hull_options *o = NULL;
    io first = {0}, again = {0}, refitted = {0}, built = {0};
    buf slots_refitted = {0}, slots_built = {0};
    hull_status st = HULL_OK;

    TRY_OUT(weights_open(&io_a, x->io_a, NULL));
    TRY_OUT(weights_open(&io_b, x->io_b, NULL));
    TRY_OUT(hull_weights_open(&a, x->ckpt_a));
    TRY_OUT(hull_weights_open(&b, x->ckpt_b));
    TRY_OUT(hull_options_new(&o));
    if (x->learn)
        TRY_OUT(hull_options_set(o, "learn", "on"));
    TRY_OUT(note(hull_compile(&m, x->model, a, NULL, o), "compile"));
    TRY_OUT(hull_session_new(&s, m, NULL));
    TRY_OUT(note(check_run(s, io_a, "", &first), "with A"));
    TRY_OUT(second_shape(s, m, io_a));
    TRY_OUT(note(hull_refit(m, b, NULL, NULL), "refit to B"));
    TRY_OUT(note(check_run(s, io_b, "", &refitted), "with B"));
    TRY_OUT(second_shape(s, m, io_b));
    TRY_OUT(save_slots(m, &slots_refitted));
    TRY_OUT(note(hull_refit(m, a, NULL, NULL), "refit to A"));
    TRY_OUT(note(check_run(s, io_a, "", &again), "with A again"));
    TRY_OUT(same_bytes(&first, &again, "A, B, A"));
    if (!x->learn) {
        TRY_OUT(note(built_with_b(x, io_b, &built, &slots_built),
                     "built with B"));
        TRY_OUT(same_bytes(&refitted, &built, "built with B"));
        if (!str_eq(buf_view(&slots_refitted), buf_view(&slots_built)) ||
            slots_built.n == 0)
            TRY_OUT(fail(HULL_EMISMATCH, "slots built with B differ from "
                         "slots refitted to B"));
    }
out:
    io_free(&first);
    io_free(&again);
    io_free(&refitted);
    io_free(&built);
    buf_fini(&slots_refitted);
    buf_fini(&slots_built);
    hull_session_free(s);
    hull_module_unref(m);
    hull_options_free(o);
    hull_weights_unref(a);
    hull_weights_unref(b);
    weights_unref(io_a);
    weights_unref(io_b);
    return st;
}

static bool exists(const char *path)
{
    FILE *f = fopen(path, "rb");

    if (f != NULL)
        fclose(f);
    return f != NULL;
}

static void run_one(const char *folder, const char *name, const char *form)
{
    /* Legacy exports name folded tensors by number, and dynamo's of vit holds a
     * position table that the exporter computed: bytes must confirm them. */
    subject x = {.learn = strcmp(form, "legacy.onnx") == 0 ||
                          (strcmp(form, "dynamo.onnx") == 0 &&
                           strcmp(name, "vit") == 0)};
    uint64_t start = time_ns();
    hull_status st;

    snprintf(x.model, sizeof x.model, "%s/%s/%s", folder, name, form);
    snprintf(x.ckpt_a, sizeof x.ckpt_a, "%s/%s/a.safetensors", folder, name);
    snprintf(x.ckpt_b, sizeof x.ckpt_b, "%s/%s/b.safetensors", folder, name);
    snprintf(x.io_a, sizeof x.io_a, "%s/%s/io_a.safetensors", folder, name);
    snprintf(x.io_b, sizeof x.io_b, "%s/%s/io_b.safetensors", folder, name);
    if (!exists(x.model)) {
        skipped++;
        return;
    }
    st = check(&x);
    if (st == HULL_OK)
        passed++;
    else
        failed++;
    printf("%-5s %-13s %-14s %6.2f s  %s\n", st == HULL_OK ? "ok" : "FAIL",
           name, form, (double)(time_ns() - start) * 1e-9,
           st == HULL_OK ? "" : hull_last_error());
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *shared = getenv("HULL_SHARED");
    char folder[1024];

    if (shared == NULL && argc < 2 && !exists("../shared/fixtures/README.md")) {
        printf("0 passed, 0 failed, 1 skipped\n");
        return 0;
    }
    snprintf(folder, sizeof folder, "%s/fixtures",
             shared != NULL ? shared : "../shared");
    if (argc > 1)
        snprintf(folder, sizeof folder, "%s", argv[1]);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        for (size_t k = 0; k < COUNT_OF(forms); k++)
            if ((argc < 3 || strcmp(argv[2], names[i]) == 0) &&
                (argc < 4 || strcmp(argv[3], forms[k]) == 0))
                run_one(folder, names[i], forms[k]);
    printf("%u runs at a second shape\n", second_shapes);
    printf("%u passed, %u failed, %u skipped\n", passed, failed, skipped);
    return failed == 0 ? 0 : 1;
}
