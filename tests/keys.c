/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * keys.c - the blocks of a model with their keys, made by the same steps as
 * plan_compile but for the engines, and comparisons of two such lists.
 */
#include "keys.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define UNPACKED_MAX ((size_t)1 << 26)

hull_status key_of_graph(digest *out, buf *text, graph *g, const devices *ds)
{
    hull_status st = HULL_OK;
    cache_key key = {0};
    buf own, target = {0};

    buf_init(&own, SIZE_MAX / 2);
    if (text == NULL)
        text = &own;
    TRY_OUT(block_key(&key, &target, text, g, ds));
    *out = key.d;
out:
    cache_key_fini(&key);
    buf_fini(&target);
    buf_fini(&own);
    return st;
}

static hull_status cut(key_model *k, const devices *ds)
{
    graph *g = graph_copy(k->work, k->fm->g, str_of("main"));

    TRY(ir_status(k->work));
    TRY(passes_run(STAGE_GRAPH, g));
    graph_canonical_order(g);
    TRY(partition(&k->p, &k->blocks, g, ds));
    k->g = mem_calloc(k->blocks->n_graphs + 1, sizeof *k->g);
    k->key = mem_calloc(k->blocks->n_graphs + 1, sizeof *k->key);
    if (k->g == NULL || k->key == NULL)
        return fail_oom(k->blocks->n_graphs);
    for (uint32_t i = 0; i < k->blocks->n_graphs; i++) {
        g = k->blocks->graphs[i];
        if (str_is(g->name, "main"))
            continue;
        k->g[k->n] = g;
        TRY(key_of_graph(&k->key[k->n], NULL, g, ds));
        k->n++;
    }
    return HULL_OK;
}

hull_status key_model_open(key_model *out, const char *path,
                           const weights *checkpoint, const devices *ds)
{
    hull_status st = HULL_OK;

    *out = (key_model){0};
    TRY_OUT(front_import(&out->fm, path, checkpoint));
    TRY_OUT(ir_new(&out->work));
    TRY_OUT(ir_new(&out->p.m));
    TRY_OUT(note_path(cut(out, ds), path));
out:
    if (st != HULL_OK)
        key_model_close(out);
    return st;
}

void key_model_close(key_model *k)
{
    mem_free(k->g);
    mem_free(k->key);
    ir_free(k->blocks);
    ir_free(k->p.m);
    ir_free(k->work);
    front_free(k->fm);
    *k = (key_model){0};
}

/* ---- comparisons --------------------------------------------------------- */

/* The block of b that stands for block i of a: of equal ones the one with the
 * same number among them. UINT32_MAX: there is none. */
static uint32_t partner(const key_model *a, const key_model *b, uint32_t i)
{
    uint32_t before = 0;

    for (uint32_t k = 0; k < i; k++)
        before += digest_eq(&a->key[k], &a->key[i]);
    for (uint32_t k = 0; k < b->n; k++)
        if (digest_eq(&b->key[k], &a->key[i]) && before-- == 0)
            return k;
    return UINT32_MAX;
}

bool keys_equal(const key_model *a, const key_model *b)
{
    bool equal = a->n == b->n;

    for (uint32_t i = 0; equal && i < a->n; i++)
        equal = partner(a, b, i) != UINT32_MAX;
    return equal;
}

hull_status keys_are_sound(const key_model *a, const key_model *b)
{
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t k = 0; k < b->n; k++) {
            bool same = str_eq(a->g[i]->backend, b->g[k]->backend);
            const char *why = same ? graph_difference(a->g[i], b->g[k])
                                   : "the backend";

            if (digest_eq(&a->key[i], &b->key[k]) != (why == NULL))
                return fail(HULL_EMISMATCH, "blocks %u and %u have %s, but "
                            "%s%s", i, k,
                            why == NULL ? "two keys" : "one key",
                            why == NULL ? "are the same" : "differ in ",
                            why == NULL ? "" : why);
        }
    return HULL_OK;
}

/* ---- files --------------------------------------------------------------- */

typedef struct files {
    const char *end;
    char **p;
    size_t n, cap;
} files;

static hull_status add_file(void *user, const char *path, const file_id *id)
{
    files *f = user;

    (void)id;
    if (!str_ends(str_of(path), f->end))
        return HULL_OK;
    TRY(mem_grow(&f->p, &f->cap, f->n + 1, sizeof *f->p));
    f->p[f->n] = strdup(path);
    if (f->p[f->n] == NULL)
        return fail_oom(strlen(path));
    f->n++;
    return HULL_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

hull_status key_each_file(const char *root, const char *end, key_path_fn *fn,
                          void *user)
{
    files f = { .end = end };
    hull_status st = dir_walk(root, add_file, &f);

    if (f.n > 0)
        qsort(f.p, f.n, sizeof *f.p, by_name);
    for (size_t i = 0; i < f.n; i++) {
        if (st == HULL_OK)
            st = fn(user, f.p[i]);
        free(f.p[i]);
    }
    mem_free(f.p);
    return st;
}

hull_status key_write_file(const char *path, const void *p, size_t n)
{
    FILE *out;
    bool ok;

    remove(path); /* file systems flush what is cut and written again */
    out = fopen(path, "wb");
    if (out == NULL)
        return fail(HULL_EIO, "'%s' cannot be written", path);
    ok = fwrite(p, 1, n, out) == n;
    ok = fclose(out) == 0 && ok;
    return ok ? HULL_OK : fail(HULL_EIO, "'%s' was not written", path);
}

hull_status key_unpack(const char *from, const char *to)
{
    char *data = mem_alloc(UNPACKED_MAX);
    gzFile in = gzopen(from, "rb");
    hull_status st = HULL_OK;
    int n = in != NULL && data != NULL
                ? gzread(in, data, (unsigned)UNPACKED_MAX) : -1;

    if (n <= 0)
        st = fail(HULL_EIO, "'%s' was not unpacked", from);
    if (in != NULL)
        gzclose(in);
    if (st == HULL_OK)
        st = key_write_file(to, data, (size_t)n);
    mem_free(data);
    return st;
}

const char *key_shared(const char *name)
{
    static char path[1024];
    const char *root = getenv("HULL_SHARED");

    snprintf(path, sizeof path, "%s/%s", root != NULL ? root : "../shared",
             name);
    return access(path, R_OK) == 0 ? path : NULL;
}

uint64_t key_setting(const char *name, uint64_t otherwise)
{
    const char *s = getenv(name);

    return s != NULL && s[0] != '\0' ? strtoull(s, NULL, 0) : otherwise;
}
