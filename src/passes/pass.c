/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pass.c - the table of passes and how one is run: dump, rewrite, settle,
 * remove dead nodes, verify, dump.
 */
#include "passes/pass.h"

#include <stdatomic.h>
#include <stdlib.h>

#define PASS(name, stage, help) {#name, STAGE_##stage, pass_##name, help},
static const pass_row rows[] = {
#include "passes/passes.def"
};
#undef PASS

const pass_row *pass_table(size_t *out_n)
{
    *out_n = COUNT_OF(rows);
    return rows;
}

const pass_row *pass_find(str name)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (str_is(name, rows[i].name))
            return &rows[i];
    return NULL;
}

/* HULL_DUMP lists "before:NAME" or "after:NAME"; NAME may be "all". */
static bool dump_wanted(const char *when, const char *name)
{
    str rest = str_of(secure_getenv("HULL_DUMP"));

    while (rest.n > 0) {
        str which, item = str_trim(str_split(rest, ',', &rest));
        str at = str_split(item, ':', &which);

        if (str_is(at, when) && (str_is(which, name) || str_is(which, "all")))
            return true;
    }
    return false;
}

/* Writes hull-NNN-WHEN-NAME.ir into HULL_DUMP_DIR (default: here). */
static hull_status dump(const graph *g, const char *when, const char *name)
{
    static atomic_uint serial;
    const char *dir = secure_getenv("HULL_DUMP_DIR");
    hull_status st = HULL_OK;
    buf path, text;
    file_part part;

    if (!dump_wanted(when, name))
        return HULL_OK;
    buf_init(&path, 4096);
    buf_init(&text, SIZE_MAX / 2);
    buf_printf(&path, "%s/hull-%03u-%s-%s.ir", dir != NULL ? dir : ".",
               atomic_fetch_add(&serial, 1), when, name);
    graph_print(&text, g);
    TRY_OUT(buf_status(&path));
    TRY_OUT(buf_status(&text));
    part = (file_part){text.p, text.n};
    TRY_OUT(file_write_atomic(path.p, &part, 1));
out:
    buf_fini(&path);
    buf_fini(&text);
    return st;
}

hull_status pass_run(const pass_row *row, graph *g)
{
    TRY(dump(g, "before", row->name));
    TRY(note(row->run(g), "pass %s", row->name));
    graph_rewrite_end(g);
    TRY(note(ir_status(g->m), "pass %s", row->name));
    TRY(note(graph_verify(g), "after pass %s", row->name));
    return dump(g, "after", row->name);
}

hull_status passes_run(pass_stage stage, graph *g)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].stage == stage)
            TRY(pass_run(&rows[i], g));
    return HULL_OK;
}
