/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * keys.c - the blocks of a model and their keys, without an engine: for those
 * who only ask. The same steps as plan_compile.
 */
#include "compile/compile.h"

hull_status plan_cut(plan *p, ir **out_work, ir **out_blocks,
                     const front_model *fm, const devices *ds)
{
    graph *work;

    TRY(ir_new(out_work));
    work = graph_copy(*out_work, fm->g, str_of("main"));
    TRY(ir_status(*out_work));
    TRY(passes_run(STAGE_GRAPH, work));
    graph_canonical_order(work);
    TRY(ir_status(*out_work));
    return partition(p, out_blocks, work, ds);
}

hull_status block_key(cache_key *out, buf *target, buf *text, graph *g,
                      const devices *ds)
{
    device *d = devices_find(ds, g->backend);

    *out = (cache_key){0};
    if (d == NULL)
        return fail(HULL_EINTERNAL, "block '%.*s' has no device",
                    STR_ARG(g->name));
    TRY(graph_canonical_text(text, g));
    TRY(device_target(target, d));
    return cache_key_make(out, g->backend, buf_view(target), ds->options,
                          buf_view(text));
}

static hull_status give_key(graph *g, const devices *ds, plan_key_fn *fn,
                            void *user)
{
    hull_status st = HULL_OK;
    buf target = {0}, text;
    cache_key k;

    buf_init(&text, SIZE_MAX / 2);
    st = block_key(&k, &target, &text, g, ds);
    if (st == HULL_OK)
        st = fn(user, g, &k);
    cache_key_fini(&k);
    buf_fini(&target);
    buf_fini(&text);
    return st;
}

hull_status plan_keys(const front_model *fm, const devices *ds,
                      plan_key_fn *fn, void *user)
{
    hull_status st = HULL_OK;
    ir *work = NULL, *blocks = NULL;
    plan *p;

    TRY(plan_new(&p));
    TRY_OUT(plan_cut(p, &work, &blocks, fm, ds));
    for (uint32_t i = 0; i < blocks->n_graphs; i++)
        if (!str_is(blocks->graphs[i]->name, "main"))
            TRY_OUT(give_key(blocks->graphs[i], ds, fn, user));
out:
    ir_free(blocks);
    ir_free(work);
    plan_free(p);
    return st;
}
