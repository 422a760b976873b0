/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * module_compile.c - from a model file to a module: import, plan, first fill.
 */
#include "run/run.h"

hull_status module_compile(module **out, const char *path, weights *w,
                           cache *c, const options *o)
{
    hull_status st = HULL_OK;
    front_model *fm = NULL;
    devices ds = {0};
    plan *p = NULL;
    module *m = NULL;
    uint64_t start = time_ns();

    *out = NULL;
    TRY_OUT(devices_open(&ds, o));
    TRY_OUT(front_import(&fm, path, w));
    TRY_OUT(plan_compile(&p, fm, &ds, c));
    p->import_seconds = (double)(time_ns() - start) * 1e-9 -
                        p->compile_seconds;
    weights_drop_pages(fm->native);
    st = module_new(&m, p, &ds);
    if (st != HULL_OK)
        goto out;
    if (w != NULL)
        TRY_OUT(module_fill(m, fm, w, o));
    else if (!option_on(o, OPT_strip_weights))
        TRY_OUT(module_fill_native(m, fm, o, NULL));
    *out = m;
    m = NULL;
out:
    module_unref(m);
    devices_close(&ds);
    front_free(fm);
    return st;
}
