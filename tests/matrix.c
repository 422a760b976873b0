/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * matrix.c - every model form of the shared fixtures takes every checkpoint
 * form of its architecture: the slots that it fills are bit for bit those that
 * a.safetensors fills, or, where an ONNX exporter folded batch norm itself, the
 * outputs are right. Prints the table, and why a cell is refused: an ONNX file
 * gives its weights only to modules of the same graph.
 *
 *     matrix [FOLDER [NAME]]
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture_io.h"

#define TENSORS_MAX 1024

static const char *const names[] = {
    "mlp", "cnn", "lstm", "bert", "gpt2", "llama", "unet", "resnet", "vit",
    "efficientnet", "convnext",
};
static const char *const models[] = {
    "train.pt2", "train.dyn.pt2", "core.pt2", "dynamo.onnx", "legacy.onnx",
};

typedef enum form {
    FORM_FILE,     /* of the fixture */
    FORM_SHARDS,   /* two safetensors and their index */
    FORM_WRAPPED,  /* names behind module._orig_mod. */
    FORM_MEMORY    /* the caller's */
} form;

static const struct {
    const char *title, *file;
    form form;
} forms[] = {
    {"safetensors", "a.safetensors", FORM_FILE},
    {"shards", NULL, FORM_SHARDS},
    {"wrapped", NULL, FORM_WRAPPED},
    {"memory", NULL, FORM_MEMORY},
    {".pt", "a.pt", FORM_FILE},
    {"legacy .pt", "a.legacy.pt", FORM_FILE},
    {"nested .pt", "a.nested.pt", FORM_FILE},
    {"train.pt2", "train.pt2", FORM_FILE},
    {"train.dyn.pt2", "train.dyn.pt2", FORM_FILE},
    {"core.pt2", "core.pt2", FORM_FILE},
    {"dynamo.onnx", "dynamo.onnx", FORM_FILE},
    {"legacy.onnx", "legacy.onnx", FORM_FILE},
};

typedef struct table {
    unsigned passed, refused, failed, absent;
    char scratch[64];
} table;

static bool exists(const char *path)
{
    return access(path, R_OK) == 0;
}

/* ---- forms that are made here -------------------------------------------- */

static hull_status write_part(const weights *w, const char *path, int part,
                              const char *prefix)
{
    safetensors_item *items = mem_calloc(TENSORS_MAX, sizeof *items);
    arena a = {0};
    hull_status st = HULL_OK;
    size_t n = 0;

    if (items == NULL || weights_count(w) > TENSORS_MAX)
        TRY_OUT(fail_oom(TENSORS_MAX * sizeof *items));
    for (size_t i = 0; i < weights_count(w); i++) {
        const weight_entry *e = weights_at(w, i);
        size_t size = strlen(prefix) + e->name.n + 1;
        char *name = arena_alloc(&a, size);

        if (part >= 0 && i % 2 != (size_t)part)
            continue;
        if (name == NULL)
            TRY_OUT(fail_oom(size));
        snprintf(name, size, "%s%.*s", prefix, STR_ARG(e->name));
        items[n++] = (safetensors_item){str_of(name), e->dtype, e->rank,
                                        e->shape, weights_view(w, e), e->len};
    }
    TRY_OUT(safetensors_write(path, items, n));
out:
    arena_fini(&a);
    mem_free(items);
    return st;
}

static hull_status write_shards(const weights *w, const char *folder,
                                char path[160])
{
    file_part all;
    char part[160];
    hull_status st;
    buf b;

    buf_init(&b, 1 << 20);
    for (int i = 0; i < 2; i++) {
        snprintf(part, sizeof part, "%s/part%d.safetensors", folder, i);
        TRY(write_part(w, part, i, ""));
    }
    buf_puts(&b, "{\"weight_map\":{");
    for (size_t i = 0; i < weights_count(w); i++)
        buf_printf(&b, "%s\"%.*s\":\"part%zu.safetensors\"", i > 0 ? "," : "",
                   STR_ARG(weights_at(w, i)->name), i % 2);
    buf_puts(&b, "}}");
    snprintf(path, 160, "%s/model.safetensors.index.json", folder);
    all = (file_part){b.p, b.n};
    st = buf_status(&b);
    if (st == HULL_OK)
        st = file_write_atomic(path, &all, 1);
    buf_fini(&b);
    return st;
}

static hull_status in_memory(hull_weights **out, const weights *w)
{
    TRY(hull_weights_new(out));
    for (size_t i = 0; i < weights_count(w); i++) {
        const weight_entry *e = weights_at(w, i);
        hull_tensor t = {.shape = e->shape, .rank = (int32_t)e->rank,
                         .dtype = (int32_t)e->dtype};

        /* The library reads it, and never writes. */
        t.data = (void *)(uintptr_t)weights_view(w, e);
        TRY(hull_weights_add(*out, e->name.p, &t, NULL, NULL));
    }
    return HULL_OK;
}

/* The checkpoint in this form. *out NULL: the fixture lacks it. */
static hull_status open_form(hull_weights **out, const table *t, size_t i,
                             const char *folder, const weights *a)
{
    char path[1200];

    *out = NULL;
    switch (forms[i].form) {
    case FORM_FILE:
        snprintf(path, sizeof path, "%s/%s", folder, forms[i].file);
        return exists(path) ? hull_weights_open(out, path) : HULL_OK;
    case FORM_SHARDS:
        TRY(write_shards(a, t->scratch, path));
        return hull_weights_open(out, path);
    case FORM_WRAPPED:
        snprintf(path, sizeof path, "%s/wrapped.safetensors", t->scratch);
        TRY(write_part(a, path, -1, "module._orig_mod."));
        return hull_weights_open(out, path);
    case FORM_MEMORY:
        return in_memory(out, a);
    }
    return HULL_OK;
}

/* ---- one row ------------------------------------------------------------- */

static hull_status slots_of(const table *t, hull_module *m, digest *out)
{
    char path[160];
    hull_status st = HULL_OK;
    container *c = NULL;
    file f = {0};
    bytes slots;

    snprintf(path, sizeof path, "%s/slots.hull", t->scratch);
    TRY_OUT(hull_module_save(m, path, HULL_SAVE_PREPARED));
    TRY_OUT(file_map(&f, path));
    TRY_OUT(container_open(&c, (bytes){f.p, f.size}, UINT64_MAX));
    TRY_OUT(container_get(c, "slots", UINT64_MAX, &slots));
    *out = digest_of(slots.p, slots.n);
out:
    container_free(c);
    file_close(&f);
    return st;
}

static hull_status right_outputs(hull_module *m, const char *folder)
{
    hull_session *s = NULL;
    weights *w = NULL;
    hull_status st;
    char path[1200];

    snprintf(path, sizeof path, "%s/io_a.safetensors", folder);
    TRY_OUT(weights_open(&w, path, NULL));
    TRY_OUT(hull_session_new(&s, m, NULL));
    TRY_OUT(check_run(s, w, "", NULL));
out:
    hull_session_free(s);
    weights_unref(w);
    return st;
}

/* '+' the slots are A's, '~' the outputs are right, '.' no such file, 'r'
 * refused as it must be. */
static char try_form(table *t, hull_module *m, size_t i, const char *folder,
                     const char *model, hull_weights *b, const weights *a,
                     const digest *want)
{
    hull_weights *w = NULL;
    digest have = {{0}};
    hull_status st = HULL_OK;
    bool same = false;
    bool onnx = forms[i].file != NULL && str_ends(str_of(forms[i].file),
                                                  ".onnx");

    TRY_OUT(hull_refit(m, b, NULL, NULL));
    TRY_OUT(open_form(&w, t, i, folder, a));
    if (w == NULL) {
        t->absent++;
        return '.';
    }
    TRY_OUT(hull_refit(m, w, NULL, NULL));
    TRY_OUT(slots_of(t, m, &have));
    same = digest_eq(&have, want);
    if (!same)
        st = onnx ? right_outputs(m, folder)
                  : fail(HULL_EMISMATCH, "other slots than a.safetensors");
out:
    hull_weights_unref(w);
    if (st == HULL_OK) {
        t->passed++;
        return same ? '+' : '~';
    }
    if (onnx && st == HULL_EBIND && strcmp(forms[i].file, model) != 0 &&
        strstr(hull_last_error(), "another architecture") != NULL) {
        t->refused++;
        return 'r';
    }
    t->failed++;
    printf("FAIL  %s %s from %s: %s\n", folder, model, forms[i].title,
           hull_last_error());
    return 'F';
}

static hull_status one_row(table *t, const char *folder, const char *model,
                           bool learn, char *cells)
{
    char path[1200];
    hull_weights *a = NULL, *b = NULL;
    hull_options *o = NULL;
    hull_module *m = NULL;
    hull_status st = HULL_OK;
    digest want;

    snprintf(path, sizeof path, "%s/a.safetensors", folder);
    TRY_OUT(hull_weights_open(&a, path));
    snprintf(path, sizeof path, "%s/b.safetensors", folder);
    TRY_OUT(hull_weights_open(&b, path));
    TRY_OUT(hull_options_new(&o));
    if (learn)
        TRY_OUT(hull_options_set(o, "learn", "on"));
    snprintf(path, sizeof path, "%s/%s", folder, model);
    TRY_OUT(hull_compile(&m, path, a, NULL, o));
    TRY_OUT(slots_of(t, m, &want));
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        cells[i] = try_form(t, m, i, folder, model, b, a, &want);
out:
    hull_module_unref(m);
    hull_options_free(o);
    hull_weights_unref(a);
    hull_weights_unref(b);
    return st;
}

static void print_row(table *t, const char *folder, const char *name,
                      const char *model)
{
    char cells[COUNT_OF(forms)], path[1200];
    bool learn = strcmp(model, "legacy.onnx") == 0 ||
                 (strcmp(model, "dynamo.onnx") == 0 &&
                  strcmp(name, "vit") == 0);

    snprintf(path, sizeof path, "%s/%s", folder, model);
    if (!exists(path))
        return;
    if (one_row(t, folder, model, learn, cells) != HULL_OK) {
        t->failed++;
        printf("FAIL  %s %s: %s\n", name, model, hull_last_error());
        return;
    }
    printf("%-13s %-13s %s", name, model, learn ? "learn" : "     ");
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        printf(" %*c", (int)strlen(forms[i].title), cells[i]);
    printf("\n");
    fflush(stdout);
}

static hull_status remove_one(void *user, const char *path, const file_id *id)
{
    (void)user;
    (void)id;
    remove(path);
    return HULL_OK;
}

int main(int argc, char **argv)
{
    const char *shared = getenv("HULL_SHARED");
    table t = {.scratch = "/tmp/hull-matrix-XXXXXX"};
    char root[1024], folder[1100];

    snprintf(root, sizeof root, "%s/fixtures",
             shared != NULL ? shared : "../shared");
    if (argc > 1)
        snprintf(root, sizeof root, "%s", argv[1]);
    snprintf(folder, sizeof folder, "%s/README.md", root);
    if (!exists(folder)) {
        printf("0 passed, 0 failed, 1 skipped\n");
        return 0;
    }
    if (mkdtemp(t.scratch) == NULL)
        return 1;
    printf("%-13s %-13s %5s", "", "model", "");
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        printf(" %s", forms[i].title);
    printf("\n");
    for (size_t i = 0; i < COUNT_OF(names); i++)
        for (size_t k = 0; k < COUNT_OF(models); k++) {
            if (argc > 2 && strcmp(argv[2], names[i]) != 0)
                continue;
            snprintf(folder, sizeof folder, "%s/%s", root, names[i]);
            print_row(&t, folder, names[i], models[k]);
        }
    ignore(dir_walk(t.scratch, remove_one, NULL)); /* rmdir tells */
    rmdir(t.scratch);
    printf("+ filled bit for bit as from a.safetensors; ~ right outputs, but "
           "the exporter folded batch norm itself\n"
           "and rounded otherwise; . the fixture has no such file; r refused, "
           "an ONNX file\ngives its weights only to modules of the same graph: its exporter "
           "may have changed values under\n"
           "unchanged names; learn: compiled with learn=on, the exporter left "
           "no names for some tensors\n");
    printf("%u cells refused as they must be, %u without a file\n", t.refused,
           t.absent);
    printf("%u passed, %u failed, 0 skipped\n", t.passed, t.failed);
    return t.failed == 0 ? 0 : 1;
}
