/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * key_exports.c - exports of one model have one key:
 *
 *   - archives of several versions of torch.export (tests/data/pt2), and the
 *     forms and refit pairs of the shared folder that say the same. Training
 *     IR, core ATen, static and dynamic sizes are other graphs and have other
 *     keys, unless nothing of that is in the model;
 *   - a model that is compiled with one or the other checkpoint;
 *   - archives whose program has other names for its values and symbols and
 *     its JSON other orders.
 *
 *     key_exports          HULL_KEY_SEED, HULL_KEY_REWRITES
 */
#include "keys.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_REWRITES 300
#define MAX_BYTES ((size_t)1 << 26)

/* One graph each. */
static const char *const groups[][4] = {
    { "models/eeg-seizure-A/modelA_paper.onnx",
      "models/eeg-seizure-B/modelB_full.onnx" },
    { "models/dnsmos-p835/sig_bak_ovr.onnx",
      "models/pdnsmos-p835/sig_bak_ovr.onnx" },
    { "fixtures/mlp/dynamo.onnx", "fixtures/mlp/legacy.onnx",
      "fixtures/mlp/train.dyn.pt2" },
    { "fixtures/cnn/dynamo.onnx", "fixtures/cnn/legacy.onnx" },
    { "fixtures/resnet/dynamo.onnx", "fixtures/resnet/legacy.onnx" },
    { "fixtures/efficientnet/dynamo.onnx", "fixtures/efficientnet/legacy.onnx" },
    { "fixtures/vit/train.pt2", "fixtures/vit/train.dyn.pt2" },
};
static const char *const fixtures[] = {
    "mlp", "cnn", "lstm", "bert", "gpt2", "llama", "unet", "resnet", "vit",
    "efficientnet", "convnext",
};
static const char *const forms[] = {
    "train.pt2", "train.dyn.pt2", "core.pt2", "dynamo.onnx", "legacy.onnx",
};

typedef struct archive {
    char *path;      /* unpacked */
    key_model k;
} archive;

typedef struct world {
    devices ds;
    archive *all;
    size_t n, cap;
    uint64_t seed;
    char folder[64];
    char group[64];  /* of the last archive that was added */
    unsigned versions, pairs, checkpoints, rewrites, failed, absent;
} world;

static void verdict(world *w, unsigned *passed, hull_status st,
                    const char *what)
{
    if (st == HULL_OK) {
        ++*passed;
        return;
    }
    w->failed++;
    printf("FAIL  %s: %s\n", what, error_text());
}

static hull_status must_equal(const key_model *a, const key_model *b)
{
    TRY(keys_are_sound(a, b));
    return keys_equal(a, b) ? HULL_OK
                            : fail(HULL_EMISMATCH, "another key");
}

/* ---- versions of torch.export -------------------------------------------- */

/* "net" and "net.core" of "net.2.8.pt2.gz" and "net.core.2.15.pt2.gz". */
static void group_of(char *out, size_t size, const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    size_t n = strcspn(name, "0123456789");

    snprintf(out, size, "%.*s", (int)n, name);
}

static hull_status add_archive(void *user, const char *path)
{
    world *w = user;
    bool packed = str_ends(str_of(path), ".gz");
    char group[64], to[128];
    archive *x;

    TRY(mem_grow(&w->all, &w->cap, w->n + 1, sizeof *w->all));
    x = &w->all[w->n];
    snprintf(to, sizeof to, "%s/%zu.pt2", w->folder, w->n);
    if (packed)
        TRY(key_unpack(path, to));
    TRY(key_model_open(&x->k, packed ? to : path, NULL, &w->ds));
    x->path = strdup(packed ? to : path);
    w->n++;
    if (!packed)
        return HULL_OK;
    group_of(group, sizeof group, path);
    if (strcmp(group, w->group) == 0)
        verdict(w, &w->versions, must_equal(&x[-1].k, &x->k), path);
    memcpy(w->group, group, sizeof group);
    return HULL_OK;
}

/* ---- forms --------------------------------------------------------------- */

static hull_status open_shared(key_model *out, const world *w,
                               const char *name, const weights *checkpoint)
{
    const char *path = key_shared(name);

    return path != NULL
               ? key_model_open(out, path, checkpoint, &w->ds)
               : fail(HULL_ENOTFOUND, "no '%s'", name);
}

static hull_status check_group(const world *w, const char *const *names)
{
    key_model a, b;
    hull_status st;

    TRY(open_shared(&a, w, names[0], NULL));
    st = HULL_OK;
    for (size_t i = 1; st == HULL_OK && i < COUNT_OF(groups[0]); i++) {
        if (names[i] == NULL)
            break;
        st = open_shared(&b, w, names[i], NULL);
        if (st == HULL_OK)
            st = note(must_equal(&a, &b), "%s", names[i]);
        key_model_close(&b);
    }
    key_model_close(&a);
    return st;
}

static hull_status check_checkpoints(const world *w, const char *fixture,
                                     const char *form)
{
    weights *checkpoint = NULL;
    key_model k[2] = { { 0 }, { 0 } };
    hull_status st = HULL_OK;
    char name[128];

    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "fixtures/%s/%c.safetensors", fixture,
                 "ab"[i]);
        TRY_OUT(weights_open(&checkpoint, key_shared(name), NULL));
        snprintf(name, sizeof name, "fixtures/%s/%s", fixture, form);
        TRY_OUT(open_shared(&k[i], w, name, checkpoint));
        weights_unref(checkpoint);
        checkpoint = NULL;
    }
    TRY_OUT(must_equal(&k[0], &k[1]));
out:
    weights_unref(checkpoint);
    key_model_close(&k[0]);
    key_model_close(&k[1]);
    return st;
}

static void check_shared(world *w)
{
    char name[128];

    if (key_shared("fixtures") == NULL || key_shared("models") == NULL) {
        printf("skip  no shared fixtures and models\n");
        w->absent++;
        return;
    }
    for (size_t i = 0; i < COUNT_OF(groups); i++)
        verdict(w, &w->pairs, check_group(w, groups[i]), groups[i][0]);
    for (size_t i = 0; i < COUNT_OF(fixtures); i++)
        for (size_t k = 0; k < COUNT_OF(forms); k++) {
            snprintf(name, sizeof name, "fixtures/%s/%s", fixtures[i],
                     forms[k]);
            if (key_shared(name) != NULL)
                verdict(w, &w->checkpoints,
                        check_checkpoints(w, fixtures[i], forms[k]), name);
        }
}

/* ---- the program rewritten ----------------------------------------------- */

/* What is renamed in one program, and what may not be. */
typedef struct program {
    rng *r;
    strmap names, fixed;
    unsigned n, shift;
    hull_status st;
} program;

static bool is_table(const char *key)
{
    return str_ends(str_of(key), "_values");
}

/* Names of values are the keys of tables; names that also mean something else
 * stay: what a checkpoint calls a tensor, what a guard calls an input. */
static void find_names(program *p, json_t *j)
{
    const char *key;
    json_t *x;
    size_t i;

    json_array_foreach(j, i, x)
        find_names(p, x);
    json_object_foreach(j, key, x) {
        const char *k;
        json_t *y;

        if (is_table(key))
            json_object_foreach(x, k, y)
                if (p->st == HULL_OK)
                    p->st = strmap_set(&p->names, str_of(k), p->n++);
        if (json_is_string(x) && str_ends(str_of(key), "_name") &&
            strcmp(key, "as_name") != 0 && p->st == HULL_OK)
            p->st = strmap_set(&p->fixed, str_of(json_string_value(x)), 0);
        if (strcmp(key, "user_input") == 0 && p->st == HULL_OK) {
            y = json_object_get(json_object_get(x, "arg"), "as_tensor");
            y = json_object_get(y, "name");
            if (y != NULL)
                p->st = strmap_set(&p->fixed, str_of(json_string_value(y)), 0);
        }
        find_names(p, x);
    }
}

static json_t *new_name(const program *p, const char *was)
{
    uint32_t i = 0;

    if (strmap_get(&p->fixed, str_of(was), &i) ||
        !strmap_get(&p->names, str_of(was), &i))
        return json_string(was);
    return json_sprintf("v%u_%u", (i * 7919u + p->shift) % 99991u, i);
}

/* Symbols s<number> and u<number> of an expression. */
static json_t *new_symbols(const program *p, const char *s)
{
    json_t *j;
    buf b;

    buf_init(&b, 1 << 16);
    while (*s != '\0') {
        size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV"
                             "WXYZ_0123456789.");

        if (n > 1 && (s[0] == 's' || s[0] == 'u') &&
            strspn(s + 1, "0123456789") == n - 1)
            buf_printf(&b, "%c%lu", s[0], strtoul(s + 1, NULL, 10) + p->shift);
        else
            buf_put(&b, s, n > 0 ? n : 1);
        s += n > 0 ? n : 1;
    }
    j = json_stringn(b.p != NULL ? b.p : "", b.n);
    buf_fini(&b);
    return j;
}

static json_t *renamed(const program *p, json_t *j, const char *at);

static json_t *renamed_object(const program *p, json_t *j, const char *at)
{
    json_t *out = json_object(), *x;
    bool argument = json_object_get(j, "arg") != NULL; /* "name" is a schema's */
    const char *key;

    json_object_foreach(j, key, x) {
        json_t *y, *name = NULL;

        if (json_is_string(x) &&
            ((strcmp(key, "name") == 0 && !argument) ||
             strcmp(key, "as_name") == 0))
            y = new_name(p, json_string_value(x));
        else
            y = renamed(p, x, key);
        if (is_table(at))
            name = new_name(p, key);
        else if (strcmp(at, "range_constraints") == 0)
            name = new_symbols(p, key);
        json_object_set_new(out, name != NULL ? json_string_value(name) : key,
                            y);
        json_decref(name);
    }
    return out;
}

static json_t *renamed(const program *p, json_t *j, const char *at)
{
    json_t *out, *x;
    size_t i;

    if (json_is_string(j) && strcmp(at, "expr_str") == 0)
        return new_symbols(p, json_string_value(j));
    if (json_is_object(j))
        return renamed_object(p, j, at);
    if (!json_is_array(j))
        return json_incref(j);
    out = json_array();
    json_array_foreach(j, i, x)
        json_array_append_new(out, renamed(p, x, ""));
    return out;
}

static hull_status rewrite_json(char **out, bytes in, rng *r)
{
    program p = { .r = r, .shift = rng_below(r, 5000) };
    json_t *j = NULL, *k;

    *out = NULL;
    TRY(json_parse(&j, (const char *)in.p, in.n, "program"));
    find_names(&p, j);
    k = renamed(&p, j, "");
    *out = json_dumps(k, JSON_COMPACT | JSON_REAL_PRECISION(17) |
                             (rng_below(r, 2) ? JSON_SORT_KEYS : 0));
    json_decref(k);
    json_free(j);
    strmap_fini(&p.names);
    strmap_fini(&p.fixed);
    if (p.st == HULL_OK && *out == NULL)
        return fail_oom(in.n);
    return p.st;
}

static bool is_program(str name)
{
    return str_ends(name, "serialized_exported_program.json") ||
           (str_ends(name, ".json") && str_contains(name, "models/"));
}

static hull_status rewrite_archive(const char *to, const char *from, rng *r)
{
    hull_status st = HULL_OK;
    char *data = NULL, *text = NULL;
    zip_writer w;
    zip z = { 0 };
    size_t n = 0;

    zip_writer_init(&w, MAX_BYTES);
    TRY_OUT(file_read_all(&data, &n, from, MAX_BYTES));
    TRY_OUT(zip_open(&z, (bytes){ (const uint8_t *)data, n }));
    for (size_t i = 0; i < z.n; i++) {
        bytes b = zip_bytes(&z, &z.entries[i]);

        if (is_program(z.entries[i].name)) {
            TRY_OUT(rewrite_json(&text, b, r));
            zip_writer_add(&w, z.entries[i].name, text, strlen(text), 64);
            free(text);
            text = NULL;
        } else {
            zip_writer_add(&w, z.entries[i].name, b.p, b.n, 64);
        }
    }
    TRY_OUT(zip_writer_end(&w));
    TRY_OUT(key_write_file(to, w.out.p, w.out.n));
out:
    free(text);
    zip_close(&z);
    zip_writer_fini(&w);
    mem_free(data);
    return st;
}

static void check_rewrites(world *w, uint64_t n)
{
    char path[96], what[256];

    snprintf(path, sizeof path, "%s/rewritten.pt2", w->folder);
    for (uint64_t i = 0; i < n; i++) {
        rng r = { w->seed + i * UINT64_C(0xd1342543de82ef95) };
        const archive *x = &w->all[rng_below(&r, w->n)];
        hull_status st = rewrite_archive(path, x->path, &r);
        key_model k = { 0 };

        if (st == HULL_OK)
            st = key_model_open(&k, path, NULL, &w->ds);
        if (st == HULL_OK)
            st = must_equal(&x->k, &k);
        key_model_close(&k);
        snprintf(what, sizeof what, "rewrite %llu of %s",
                 (unsigned long long)i, x->path);
        verdict(w, &w->rewrites, st, what);
    }
    remove(path);
}

/* ---- the whole ----------------------------------------------------------- */

static hull_status add_all(world *w)
{
    const char *path = key_shared("fixtures");

    TRY(key_each_file("tests/data/pt2", ".pt2.gz", add_archive, w));
    TRY(add_archive(w, "demo/digits.pt2"));
    TRY(add_archive(w, "tests/data/state.pt2"));
    TRY(add_archive(w, "tests/data/random.pt2"));
    return path != NULL ? key_each_file(path, ".pt2", add_archive, w)
                        : HULL_OK;
}

static void world_fini(world *w)
{
    for (size_t i = 0; i < w->n; i++) {
        key_model_close(&w->all[i].k);
        if (strncmp(w->all[i].path, w->folder, strlen(w->folder)) == 0)
            remove(w->all[i].path);
        free(w->all[i].path);
    }
    rmdir(w->folder);
    mem_free(w->all);
    devices_close(&w->ds);
}

int main(void)
{
    world w = { .seed = key_setting("HULL_KEY_SEED", 20260601),
                .folder = "/tmp/hull-keys-XXXXXX" };

    if (mkdtemp(w.folder) == NULL || devices_open(&w.ds, NULL) != HULL_OK ||
        add_all(&w) != HULL_OK) {
        printf("FAIL  %s\n0 passed, 1 failed, 0 skipped\n", error_text());
        return 1;
    }
    check_shared(&w);
    check_rewrites(&w, key_setting("HULL_KEY_REWRITES", N_REWRITES));
    printf("seed %llu: %zu archives, %u of them another version's; %u groups "
           "of files, %u models with two checkpoints; %u rewrites\n",
           (unsigned long long)w.seed, w.n, w.versions, w.pairs,
           w.checkpoints, w.rewrites);
    printf("%u passed, %u failed, %u skipped\n",
           (w.versions > 0) + (w.pairs > 0) + (w.checkpoints > 0) +
               (w.rewrites > 0), w.failed, w.absent);
    world_fini(&w);
    return w.failed != 0;
}
