/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * module_compile.c - from a model file to a module: a plan, out of the cache as
 * a whole or by import and compilation, and the first fill.
 */
#include "run/run.h"

/* What a compile has open. */
typedef struct compiler {
    const char *path;
    weights *native;         /* the model file's tensors */
    const weights *checkpoint;
    devices ds;
    direct d;
} compiler;

static hull_status import(plan **out, compiler *k, cache *c)
{
    front_model *fm = NULL;
    hull_status st = HULL_OK;

    if (k->native == NULL)
        TRY(weights_open(&k->native, k->path, NULL));
    direct_watch(&k->d, k->native);
    st = front_import_index(&fm, k->native, k->path, k->checkpoint);
    direct_unwatch(&k->d, k->native);
    if (st == HULL_OK)
        st = plan_compile(out, fm, &k->ds, c);
    if (st == HULL_OK)
        direct_put(&k->d, k->native, *out);
    front_free(fm);
    return st;
}

static hull_status make_plan(plan **out, compiler *k, cache *c)
{
    uint64_t start = time_ns();
    hull_status st;

    TRY(weights_open(&k->native, k->path, NULL));
    direct_find(out, &k->d, &k->native, k->checkpoint, &k->ds, c);
    st = *out != NULL ? HULL_OK : import(out, k, c);
    direct_end(&k->d);
    if (st == HULL_OK)
        (*out)->import_seconds = (double)(time_ns() - start) * 1e-9 -
                                 (*out)->compile_seconds;
    return st;
}

hull_status module_compile(module **out, const char *path, weights *w,
                           cache *c, const options *o)
{
    compiler k = {.path = path, .checkpoint = w};
    hull_status st = HULL_OK;
    plan *p = NULL;
    module *m = NULL;

    *out = NULL;
    TRY_OUT(devices_open(&k.ds, o));
    TRY_OUT(make_plan(&p, &k, c));
    weights_drop_pages(k.native);
    TRY_OUT(module_new(&m, p, &k.ds));
    if (w != NULL)
        TRY_OUT(module_fill(m, k.native, w, o));
    else if (!option_on(o, OPT_strip_weights))
        TRY_OUT(module_fill_native(m, k.native, NULL, o, NULL));
    *out = m;
    m = NULL;
out:
    module_unref(m);
    devices_close(&k.ds);
    weights_unref(k.native);
    return st;
}
