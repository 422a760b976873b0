/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * cmd_opt.c - `hull opt`: IR text in, passes, IR text out. It reads what
 * HULL_DUMP writes.
 */
#include <string.h>

#include "cli/cli.h"
#include "passes/pass.h"

#define TEXT_MAX_BYTES ((size_t)1 << 30)

static const struct argp_option opt_options[] = {
    { "pass", KEY_PASS, "A,B", 0, "Run these passes in this order", 0 },
    { "stage", KEY_STAGE, "graph|lower", 0, "Run all passes of a stage", 0 },
    { "canonical", KEY_CANONICAL, NULL, 0,
      "Print the canonical text, which the cache key digests", 0 },
    { "split", KEY_SPLIT, NULL, 0,
      "Split each graph into @prepare and @main at the end", 0 },
    { 0 },
};

static hull_status no_pass(str name)
{
    hull_status st;
    size_t n;
    const pass_row *rows = pass_table(&n);
    buf known;

    buf_init(&known, 4096);
    for (size_t i = 0; i < n; i++)
        buf_printf(&known, "%s%s", i ? ", " : "", rows[i].name);
    st = fail(HULL_EINVAL, "there is no pass '%.*s', there are %s",
              STR_ARG(name), known.p ? known.p : "none");
    buf_fini(&known);
    return st;
}

static hull_status run_passes(const cli *c, graph *g)
{
    str rest = str_of(c->pass);

    if (c->stage)
        return passes_run(strcmp(c->stage, "graph") == 0 ? STAGE_GRAPH
                                                         : STAGE_LOWER, g);
    while (rest.n > 0) {
        str name = str_trim(str_split(rest, ',', &rest));
        const pass_row *row = pass_find(name);

        if (!row)
            return no_pass(name);
        TRY(pass_run(row, g));
    }
    return HULL_OK;
}

/* The block before it is lowered, as split wants it. */
static hull_status split_graph(buf *out, graph *g, const graph *before)
{
    ir *keys = NULL, *two = NULL;
    hull_status st = HULL_OK;
    graph *key;

    TRY_OUT(ir_new(&keys));
    key = graph_copy(keys, before, before->name);
    TRY_OUT(ir_status(keys));
    graph_canonical_order(key);
    TRY_OUT(split_programs(&two, g, key));
    ir_print(out, two);
out:
    ir_free(keys);
    ir_free(two);
    return st;
}

static hull_status opt_graph(const cli *c, buf *out, const graph *g)
{
    ir *m = NULL;
    hull_status st = HULL_OK;
    graph *work;

    TRY_OUT(ir_new(&m));
    work = graph_copy(m, g, g->name);
    TRY_OUT(ir_status(m));
    TRY_OUT(run_passes(c, work));
    if (c->split)
        TRY_OUT(split_graph(out, work, g));
    else if (c->canonical)
        TRY_OUT(graph_canonical_text(out, work));
    else
        graph_print(out, work);
    TRY_OUT(ir_status(m));
out:
    ir_free(m);
    return st;
}

static hull_status read_text(char **out, size_t *out_n, const char *path)
{
    buf b;
    char piece[65536];
    size_t n;
    hull_status st;

    if (strcmp(path, "-") != 0)
        return file_read_all(out, out_n, path, TEXT_MAX_BYTES);
    buf_init(&b, TEXT_MAX_BYTES);
    while ((n = fread(piece, 1, sizeof(piece), stdin)) > 0)
        buf_put(&b, piece, n);
    st = buf_status(&b);
    if (st == HULL_OK && ferror(stdin))
        st = fail(HULL_EIO, "standard input cannot be read");
    *out_n = b.n;
    *out = buf_take(&b);
    return st;
}

static hull_status check_options(cli *c)
{
    c->usage = true;
    if (c->pass && c->stage)
        return fail(HULL_EINVAL, "opt: --pass and --stage exclude each other");
    if (c->canonical && c->split)
        return fail(HULL_EINVAL, "opt: --canonical and --split exclude each "
                    "other");
    if (c->stage && strcmp(c->stage, "graph") != 0 &&
        strcmp(c->stage, "lower") != 0)
        return fail(HULL_EINVAL, "opt: --stage %s, want graph or lower",
                    c->stage);
    for (str rest = str_of(c->pass); rest.n > 0;) {
        str name = str_trim(str_split(rest, ',', &rest));

        if (!pass_find(name))
            return no_pass(name);
    }
    c->usage = false;
    return HULL_OK;
}

static hull_status run_opt(cli *c)
{
    char *text = NULL;
    size_t n = 0;
    ir *m = NULL;
    buf out;
    hull_status st = HULL_OK;

    TRY(check_options(c));
    buf_init(&out, SIZE_MAX / 2);
    TRY_OUT(read_text(&text, &n, c->args[0]));
    TRY_OUT(note(ir_parse(&m, (str){ text ? text : "", n }, NULL), "%s",
                 c->args[0]));
    for (uint32_t i = 0; i < m->n_graphs; i++)
        TRY_OUT(opt_graph(c, &out, m->graphs[i]));
    TRY_OUT(buf_status(&out));
    TRY_OUT(answer(c->result, "text", json_str(buf_view(&out))));
    if (!c->json)
        printf("%s", out.p ? out.p : "");
out:
    buf_fini(&out);
    ir_free(m);
    mem_free(text);
    return st;
}

const command command_opt = {
    .name = "opt", .arguments = "FILE.ir",
    .summary = "run passes on IR text",
    .doc = "Reads graphs in the text form of docs/ir.md (- is standard input), "
           "checks them, runs the passes that were asked for on each, and "
           "prints them.\v" EXIT_DOC,
    .options = opt_options, .shared = 0,
    .min_args = 1, .max_args = 1, .run = run_opt,
};
