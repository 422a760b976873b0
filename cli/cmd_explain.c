/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * cmd_explain.c - `hull explain`: the plan of a model without building it, as
 * text, JSON or Graphviz.
 */
#include <string.h>

#include "cli/cli.h"

static const struct argp_option explain_options[] = {
    { "weights", KEY_WEIGHTS, "CHECKPOINT", 0,
      "The checkpoint whose names decide what is a weight", 0 },
    { "graphviz", KEY_GRAPHVIZ, NULL, 0,
      "Print the blocks and what flows between them for dot", 0 },
    { 0 },
};

static void put_quoted(const char *s)
{
    putchar('"');
    for (; s && *s; s++) {
        if (*s == '"' || *s == '\\')
            putchar('\\');
        putchar((unsigned char)*s < ' ' ? ' ' : *s);
    }
    putchar('"');
}

static const char *text_of(const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));

    return s ? s : "";
}

static void put_node(const char *name, const char *shape)
{
    printf("  ");
    put_quoted(name);
    printf(" [shape=%s];\n", shape);
}

static void put_edges(const json_t *from, const char *to)
{
    const json_t *name;
    size_t i;

    json_array_foreach(from, i, name) {
        printf("  ");
        put_quoted(json_string_value(name));
        printf(" -> ");
        put_quoted(to);
        printf(";\n");
    }
}

static void print_graphviz(const json_t *plan)
{
    const json_t *row;
    size_t i;

    printf("digraph plan {\n");
    json_array_foreach(json_object_get(plan, "inputs"), i, row)
        put_node(text_of(row, "name"), "ellipse");
    json_array_foreach(json_object_get(plan, "blocks"), i, row) {
        printf("  ");
        put_quoted(text_of(row, "name"));
        printf(" [shape=box, label=\"%s on %s\\n%d nodes, %d holes\"];\n",
               text_of(row, "name"), text_of(row, "backend"),
               (int)json_integer_value(json_object_get(row, "nodes")),
               (int)json_integer_value(json_object_get(row, "holes")));
        put_edges(json_object_get(row, "reads"), text_of(row, "name"));
    }
    json_array_foreach(json_object_get(plan, "outputs"), i, row) {
        put_node(text_of(row, "name"), "ellipse");
        put_edges(json_object_get(row, "reads"), text_of(row, "name"));
    }
    printf("}\n");
}

static hull_status show_plan(cli *c, const char *text)
{
    json_t *plan;

    if (!c->json && !c->graphviz) {
        printf("%s", text);
        return HULL_OK;
    }
    TRY(json_parse(&plan, text, strlen(text), "the plan"));
    if (c->json) {
        json_decref(c->result);
        c->result = plan;
        return HULL_OK;
    }
    print_graphviz(plan);
    json_free(plan);
    return HULL_OK;
}

static hull_status run_explain(cli *c)
{
    hull_weights *w = NULL;
    hull_cache *cache = NULL;
    hull_status st = HULL_OK;
    char *text = NULL;

    if (c->weights)
        TRY_OUT(hull_weights_open(&w, c->weights));
    TRY_OUT(open_cache(c, &cache));
    progress_begin(c, "importing", c->args[0]);
    st = hull_explain(&text, c->args[0], w, cache, c->options,
                      c->json || c->graphviz);
    progress_end();
    TRY_OUT(st);
    TRY_OUT(show_plan(c, text));
out:
    hull_free(text);
    hull_cache_unref(cache);
    hull_weights_unref(w);
    return st;
}

const command command_explain = {
    .name = "explain", .arguments = "MODEL",
    .summary = "show how a model would be compiled, and why",
    .doc = "Shows the plan of a model without building it: every stored "
           "constant, whether it is a hole, a literal or kept, and why; how "
           "each hole binds; the blocks with their operations, keys and "
           "predicted cache hits, and for each node of a block its kernel, "
           "what else there was, and predicted and measured times; the nodes "
           "that fall back and why.\v"
           "Times of ways are there after a compile with --set tune=on, times "
           "of nodes after `hull bench --save-profile`, each with the same "
           "options and cache. docs/cli.md shows the lines. " EXIT_DOC,
    .options = explain_options,
    .shared = SHARED_SET | SHARED_CACHE | SHARED_NAMES,
    .min_args = 1, .max_args = 1, .run = run_explain,
};
