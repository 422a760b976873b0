/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * key_rewrites.c - keys of ONNX files. A file that says the same in another way
 * (key_rewrite.c) has its model's keys, block by block. A file with one change
 * of an attribute, operator, edge, stored value or type has another key exactly
 * for those blocks that graph_difference() says are others; an edit counts when
 * there is one.
 *
 *     key_rewrites         HULL_KEY_SEED, HULL_KEY_REWRITES, HULL_KEY_FILES,
 *                          HULL_KEY_VERBOSE: tells which edits change nothing
 */
#include "key_files.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_REWRITES 1000
#define N_EDITS 1000
#define DRAWS_MAX 200
#define DIGITS "demo/digits.onnx"

typedef struct subject {
    char *path;
    key_model k;
} subject;

typedef struct world {
    devices ds;
    subject *s;
    size_t n, cap;
    uint64_t seed;
    char folder[64];
    strmap keys;     /* digest -> number of the edit */
    unsigned rewrites, edits, draws, neutral, failed, absent;
    bool verbose;
} world;

static hull_status add_model(void *user, const char *path)
{
    world *w = user;

    TRY(mem_grow(&w->s, &w->cap, w->n + 1, sizeof *w->s));
    TRY(key_model_open(&w->s[w->n].k, path, NULL, &w->ds));
    w->s[w->n++].path = strdup(path);
    return HULL_OK;
}

static hull_status add_all(world *w)
{
    static const char *const folders[] = { "fixtures", "models" };

    TRY(add_model(w, DIGITS));
    TRY(key_each_file("tests/data/onnx_contrib", ".onnx", add_model, w));
    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        const char *path = key_shared(folders[i]);

        if (path == NULL) {
            printf("skip  no shared %s\n", folders[i]);
            w->absent++;
            continue;
        }
        TRY(key_each_file(path, ".onnx", add_model, w));
    }
    return HULL_OK;
}

static rng seed_of(const world *w, uint64_t i, uint64_t which)
{
    return (rng){ w->seed + i * UINT64_C(0xd1342543de82ef95) + which };
}

/* ---- the same model ------------------------------------------------------ */

static hull_status open_written(key_model *out, const world *w)
{
    char path[96];

    snprintf(path, sizeof path, "%s/model.onnx", w->folder);
    return key_model_open(out, path, NULL, &w->ds);
}

/* Which of two lists' first texts differ, line by line. */
static hull_status tell(const key_model *a, const key_model *b)
{
    buf x, y;
    str p, q, l, m;
    hull_status st = HULL_OK;

    if (a->n != b->n)
        return fail(HULL_EMISMATCH, "%u blocks, were %u", b->n, a->n);
    buf_init(&x, SIZE_MAX / 2);
    buf_init(&y, SIZE_MAX / 2);
    for (uint32_t i = 0; i < a->n && st == HULL_OK; i++) {
        buf_clear(&x);
        buf_clear(&y);
        TRY_OUT(graph_canonical_text(&x, a->g[i]));
        TRY_OUT(graph_canonical_text(&y, b->g[i]));
        p = buf_view(&x);
        q = buf_view(&y);
        while (st == HULL_OK && (p.n > 0 || q.n > 0)) {
            l = str_split(p, '\n', &p);
            m = str_split(q, '\n', &q);
            if (!str_eq(l, m))
                st = fail(HULL_EMISMATCH, "was: %.*s\n      now: %.*s",
                          STR_ARG(l), STR_ARG(m));
        }
    }
out:
    buf_fini(&x);
    buf_fini(&y);
    return st != HULL_OK ? st : fail(HULL_EMISMATCH, "blocks are others");
}

static hull_status check_rewrite(world *w, const subject *s, rng *r,
                                 char *what, size_t size)
{
    hull_status st = HULL_OK;
    key_model k = { 0 };
    key_file f;

    TRY(key_file_open(&f, s->path, r));
    st = key_file_rewrite(&f, s->k.fm->holes, s->k.fm->n_holes);
    snprintf(what, size, "%s", f.what);
    TRY_OUT(st);
    TRY_OUT(key_file_write(&f, w->folder));
    TRY_OUT(open_written(&k, w));
    if (!keys_equal(&s->k, &k))
        TRY_OUT(tell(&s->k, &k));
out:
    key_model_close(&k);
    key_file_close(&f);
    return st;
}

static void check_rewrites(world *w, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        rng r = seed_of(w, i, 1);
        const subject *s = &w->s[rng_below(&r, w->n)];
        char what[200] = "";

        if (check_rewrite(w, s, &r, what, sizeof what) == HULL_OK) {
            w->rewrites++;
            continue;
        }
        w->failed++;
        printf("FAIL  rewrite %llu of %s (%s): %s\n", (unsigned long long)i,
               s->path, what, error_text());
    }
}

/* ---- another model ------------------------------------------------------- */

/* One draw. *out_ok: the file is a model still. */
static hull_status draw(key_model *out, bool *out_ok, const world *w,
                        const subject *s, rng *r, char *what, size_t size)
{
    hull_status st = HULL_OK;
    key_file f;

    *out_ok = false;
    *out = (key_model){ 0 };
    TRY(key_file_open(&f, s->path, r));
    if (key_file_edit(&f)) {
        snprintf(what, size, "%s", f.what);
        TRY_OUT(key_file_write(&f, w->folder));
        *out_ok = open_written(out, w) == HULL_OK;
        error_clear();
    }
out:
    key_file_close(&f);
    return st;
}

/* The i-th edit: the first draw that changes a key. */
static hull_status make_edit(key_model *out, const subject **out_of, world *w,
                             uint64_t i, char *what, size_t size)
{
    rng r = seed_of(w, i, 2);

    for (unsigned k = 0; k < DRAWS_MAX; k++) {
        const subject *s = &w->s[rng_below(&r, w->n)];
        bool ok;

        *out_of = s;
        TRY(draw(out, &ok, w, s, &r, what, size));
        w->draws++;
        if (!ok)
            continue;
        TRY(keys_are_sound(&s->k, out));
        if (!keys_equal(&s->k, out))
            return HULL_OK;
        w->neutral++;
        if (w->verbose)
            printf("same  %s: %s\n", s->path, what);
        key_model_close(out);
    }
    return fail(HULL_EINTERNAL, "%d draws changed no key", DRAWS_MAX);
}

static hull_status check_against(world *w, const key_model *k, uint64_t other)
{
    const subject *of;
    char what[200];
    key_model b = { 0 };
    hull_status st = make_edit(&b, &of, w, other, what, sizeof what);

    if (st == HULL_OK)
        st = keys_are_sound(k, &b);
    key_model_close(&b);
    return note(st, "with edit %llu of %s", (unsigned long long)other,
                of->path);
}

/* Keys that an earlier edit had must be of the same blocks. */
static hull_status check_table(world *w, const key_model *k, uint64_t i)
{
    for (uint32_t b = 0; b < k->n; b++) {
        str key = { (const char *)k->key[b].b, sizeof k->key[b].b };
        uint32_t other;

        if (strmap_get(&w->keys, key, &other) && other != i)
            TRY(check_against(w, k, other));
        TRY(strmap_set(&w->keys, key, (uint32_t)i));
    }
    return HULL_OK;
}

static void check_edits(world *w, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        const subject *of = NULL;
        char what[200] = "";
        key_model k = { 0 };
        hull_status st = make_edit(&k, &of, w, i, what, sizeof what);

        if (st == HULL_OK)
            st = check_table(w, &k, i);
        if (st == HULL_OK) {
            w->edits++;
        } else {
            w->failed++;
            printf("FAIL  edit %llu of %s (%s): %s\n", (unsigned long long)i,
                   of != NULL ? of->path : "", what, error_text());
        }
        key_model_close(&k);
    }
}

/* ---- the whole ----------------------------------------------------------- */

static void world_fini(world *w)
{
    char path[96];

    snprintf(path, sizeof path, "%s/model.onnx", w->folder);
    remove(path);
    snprintf(path, sizeof path, "%s/" KEY_DATA_FILE, w->folder);
    remove(path);
    rmdir(w->folder);
    for (size_t i = 0; i < w->n; i++) {
        key_model_close(&w->s[i].k);
        free(w->s[i].path);
    }
    mem_free(w->s);
    strmap_fini(&w->keys);
    devices_close(&w->ds);
}

int main(void)
{
    world w = { .seed = key_setting("HULL_KEY_SEED", 20260601),
                .folder = "/tmp/hull-keys-XXXXXX",
                .verbose = key_setting("HULL_KEY_VERBOSE", 0) != 0 };

    if (mkdtemp(w.folder) == NULL || devices_open(&w.ds, NULL) != HULL_OK ||
        add_all(&w) != HULL_OK) {
        printf("FAIL  %s\n0 passed, 1 failed, 0 skipped\n", error_text());
        return 1;
    }
    printf("seed %llu: %zu models\n", (unsigned long long)w.seed, w.n);
    check_rewrites(&w, key_setting("HULL_KEY_REWRITES", N_REWRITES));
    check_edits(&w, key_setting("HULL_KEY_FILES", N_EDITS));
    printf("%u rewrites, %u edits of %u draws, %u changed no key\n",
           w.rewrites, w.edits, w.draws, w.neutral);
    printf("%u passed, %u failed, %u skipped\n",
           (w.rewrites > 0) + (w.edits > 0), w.failed, w.absent);
    world_fini(&w);
    return w.failed != 0;
}
