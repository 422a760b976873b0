/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * explain.c - the plan of a model without building it: what each stored
 * constant became and why, how each hole binds, the blocks with their keys and
 * whether the cache has them, and the nodes that fall back. The facts are one
 * JSON object; the text is printed from it, so the two cannot disagree.
 */
#include "compile/explain_private.h"

#include <inttypes.h>
#include <string.h>

/* ---- JSON ---------------------------------------------------------------- */

json_t *explain_child(json_t *object, const char *key, json_t *j)
{
    return json_put(object, key, j) == HULL_OK ? j : NULL;
}

json_t *explain_row(json_t *array)
{
    json_t *row = json_object();

    return json_push(array, row) == HULL_OK ? row : NULL;
}

json_t *explain_buf(const buf *b)
{
    return buf_status(b) == HULL_OK ? json_text(buf_view(b)) : NULL;
}

json_t *explain_type(const ir *m, const type *t)
{
    json_t *j;
    buf b;

    buf_init(&b, 1 << 20);
    type_print(&b, m, t);
    j = explain_buf(&b);
    buf_fini(&b);
    return j;
}

/* ---- constants ----------------------------------------------------------- */

/* A recipe's nodes in one line, separated by "; ". */
static json_t *recipe_json(const graph *g)
{
    buf text, line;
    json_t *j;
    str rest, row;

    buf_init(&text, 1 << 24);
    buf_init(&line, 1 << 24);
    graph_print(&text, g);
    rest = buf_view(&text);
    str_split(rest, '\n', &rest); /* the graph's head */
    while (rest.n > 0) {
        row = str_trim(str_split(rest, '\n', &rest));
        if (row.n == 0 || str_is(row, "}"))
            continue;
        if (line.n > 0)
            buf_puts(&line, "; ");
        buf_str(&line, row);
    }
    j = buf_status(&text) == HULL_OK ? explain_buf(&line) : NULL;
    buf_fini(&text);
    buf_fini(&line);
    return j;
}

static hull_status explain_hole(const explainer *x, json_t *list,
                                const front_hole *h)
{
    json_t *row = explain_row(list), *recipes;
    bool by_user = option_lists(x->ds->options, OPT_keep, h->name);

    if (row == NULL)
        return fail_oom(0);
    TRY(json_put(row, "name", json_text(h->name)));
    TRY(json_put(row, "type", explain_type(x->fm->m, &h->type)));
    TRY(json_put(row, "kind",
                 json_string(by_user || h->kept ? "kept" : "hole")));
    TRY(json_put(row, "reason", json_string(by_user ? "named by the option keep"
                                       : h->reason != NULL ? h->reason
                                                           : "")));
    TRY(json_put(row, "names", json_texts(h->names, h->n_names)));
    TRY(json_put(row, "derived", json_boolean(h->derived)));
    recipes = explain_child(row, "recipes", json_array());
    for (uint32_t i = 0; recipes != NULL && i < h->n_recipes; i++)
        TRY(json_push(recipes, recipe_json(h->recipes[i])));
    return recipes != NULL ? HULL_OK : fail_oom(0);
}

static hull_status explain_constants(explainer *x)
{
    const front_model *fm = x->fm;
    json_t *list = explain_child(x->top, "constants", json_array());

    if (list == NULL)
        return fail_oom(0);
    for (uint32_t i = 0; i < fm->n_holes; i++)
        TRY(explain_hole(x, list, &fm->holes[i]));
    for (uint32_t i = 0; i < fm->n_literals; i++) {
        const front_literal *l = &fm->literals[i];
        json_t *row = explain_row(list);

        if (row == NULL)
            return fail_oom(0);
        TRY(json_put(row, "name", json_text(l->name)));
        TRY(json_put(row, "kind", json_string("literal")));
        TRY(json_put(row, "reason", json_string(l->reason ? l->reason : "")));
        TRY(json_put(row, "value", json_text(l->value)));
    }
    return json_put(x->top, "unread", json_texts(fm->unread, fm->n_unread));
}

/* ---- blocks -------------------------------------------------------------- */

static hull_status count_ops(json_t *row, const graph *g)
{
    uint32_t count[OP_COUNT] = {0};
    json_t *ops = explain_child(row, "operations", json_object());

    if (ops == NULL)
        return fail_oom(0);
    for (const node *n = graph_first(g); n != NULL; n = graph_next(g, n))
        count[n->op]++;
    for (int op = 1; op < OP_COUNT; op++)
        if (count[op] > 0)
            TRY(json_put(ops, op_get((op_code)op)->name,
                    json_integer(count[op])));
    return HULL_OK;
}

static hull_status weigh(json_t *row, const graph *g)
{
    uint64_t total = 0, n_bytes, numel;
    uint32_t holes = 0;

    for (const node *n = graph_first(g); n != NULL; n = graph_next(g, n)) {
        const type *t = n->n_out > 0 ? graph_type(g, n->out[0]) : NULL;

        if (n->op != OP_weight || !type_is_static(g->m, t))
            continue;
        numel = 1;
        for (uint32_t i = 0; i < t->rank; i++)
            if (!mul_u64(&numel, numel, (uint64_t)t->dims[i]))
                return fail(HULL_ESHAPE, "a weight is too large");
        if (!dtype_bytes(&n_bytes, t->dtype, numel) ||
            !add_u64(&total, total, n_bytes))
            return fail(HULL_ESHAPE, "the weights are too large");
        holes++;
    }
    TRY(json_put(row, "holes", json_integer(holes)));
    return json_put(row, "weight_bytes", json_integer((json_int_t)total));
}

/* Key, whether the cache has it, and how its nodes run. */
static hull_status explain_key(const explainer *x, json_t *row, graph *g)
{
    device *d = devices_find(x->ds, g->backend);
    char hex[DIGEST_HEX_SIZE];
    cache_key key = {0};
    hull_status st = HULL_OK;
    buf text, target = {0};

    buf_init(&text, SIZE_MAX / 2);
    TRY_OUT(block_key(&key, &target, &text, g, x->ds));
    digest_hex(&key.d, hex);
    TRY_OUT(json_put(row, "target", explain_buf(&target)));
    TRY_OUT(json_put(row, "key", json_string(hex)));
    TRY_OUT(json_put(row, "cache", json_string(x->c == NULL ? "none"
                                          : cache_has(x->c, CACHE_ENGINE, &key)
                                              ? "hit" : "miss")));
    st = explain_nodes(x, row, buf_view(&text), &key, d);
out:
    cache_key_fini(&key);
    buf_fini(&target);
    buf_fini(&text);
    return st;
}

static hull_status explain_block(const explainer *x, json_t *list, graph *g)
{
    json_t *row = explain_row(list);

    if (row == NULL)
        return fail_oom(0);
    TRY(json_put(row, "name", json_text(g->name)));
    TRY(json_put(row, "backend", json_text(g->backend)));
    TRY(json_put(row, "nodes", json_integer(graph_n_nodes(g))));
    TRY(weigh(row, g));
    TRY(count_ops(row, g));
    return explain_key(x, row, g);
}

/* Who makes v in the graph of calls: a block's name or an input's. */
static str maker_name(const graph *main, val v)
{
    const node *def = graph_def(main, v);

    return def != NULL && def->op == OP_call ? attr_str(def, "callee")
                                             : graph_value(main, v)->name;
}

static hull_status add_reads(json_t *row, const graph *main, const val *v,
                             uint32_t n)
{
    json_t *list = explain_child(row, "reads", json_array());

    if (list == NULL)
        return fail_oom(0);
    for (uint32_t i = 0; i < n; i++) {
        bool seen = v[i] == 0;

        for (uint32_t k = 0; !seen && k < i; k++)
            seen = v[k] != 0 &&
                   str_eq(maker_name(main, v[i]), maker_name(main, v[k]));
        if (!seen)
            TRY(json_push(list, json_text(maker_name(main, v[i]))));
    }
    return HULL_OK;
}

static hull_status explain_blocks(explainer *x)
{
    const graph *main = ir_find(x->blocks, str_of("main"));
    json_t *list = explain_child(x->top, "blocks", json_array());

    if (main == NULL || list == NULL)
        return fail(HULL_EINTERNAL, "the partition has no main graph");
    for (const node *n = main->body->first; n != NULL; n = n->next) {
        graph *g = n->op == OP_call ? ir_find(x->blocks, attr_str(n, "callee"))
                                    : NULL;

        if (g == NULL)
            continue;
        TRY(explain_block(x, list, g));
        TRY(add_reads(json_array_get(list, json_array_size(list) - 1), main,
                      n->in, n->n_in));
    }
    return HULL_OK;
}

/* ---- the whole ----------------------------------------------------------- */

static hull_status explain_values(explainer *x, const char *key, const graph *g,
                                  const val *v, uint32_t n, bool results)
{
    const graph *main = ir_find(x->blocks, str_of("main"));
    json_t *list = explain_child(x->top, key, json_array());

    if (list == NULL || main == NULL)
        return fail_oom(0);
    for (uint32_t i = 0; i < n; i++) {
        json_t *row = explain_row(list);

        if (row == NULL)
            return fail_oom(0);
        TRY(json_put(row, "name", json_text(graph_value(g, v[i])->name)));
        TRY(json_put(row, "type", explain_type(g->m, graph_type(g, v[i]))));
        if (results)
            TRY(add_reads(row, main, &main->body->results[i], 1));
    }
    return HULL_OK;
}

static hull_status explain_fallbacks(explainer *x)
{
    json_t *list = explain_child(x->top, "fallbacks", json_array());

    if (list == NULL)
        return fail_oom(0);
    for (uint32_t i = 0; i < x->p.n_fallbacks; i++) {
        const plan_fallback *f = &x->p.fallbacks[i];
        json_t *row = explain_row(list);

        if (row == NULL)
            return fail_oom(0);
        TRY(json_put(row, "node", json_text(f->node)));
        TRY(json_put(row, "op", json_text(f->op)));
        TRY(json_put(row, "reason", json_text(f->reason)));
    }
    return HULL_OK;
}

/* The same steps as plan_compile, up to the keys. */
static hull_status explain(explainer *x)
{
    const graph *g = x->fm->g;
    const graph *work;

    TRY(ir_new(&x->p.m));
    TRY(plan_cut(&x->p, &x->work, &x->blocks, x->fm, x->ds));
    work = ir_find(x->work, str_of("main"));
    TRY(json_put(x->top, "format", json_string(x->fm->format)));
    TRY(json_put(x->top, "producer", json_text(x->fm->producer)));
    TRY(json_put(x->top, "nodes_imported", json_integer(graph_n_nodes(g))));
    TRY(json_put(x->top, "nodes_planned", json_integer(graph_n_nodes(work))));
    TRY(explain_values(x, "inputs", g, g->body->params, g->body->n_params,
                       false));
    TRY(explain_values(x, "outputs", g, g->body->results, g->body->n_results,
                       true));
    TRY(explain_constants(x));
    TRY(explain_blocks(x));
    return explain_fallbacks(x);
}

/* ---- text ---------------------------------------------------------------- */

const char *explain_text_of(const json_t *row, const char *key)
{
    const char *s = json_string_value(json_object_get(row, key));

    return s != NULL ? s : "";
}

static int64_t int_of(const json_t *row, const char *key)
{
    return json_integer_value(json_object_get(row, key));
}

static void print_list(buf *b, const json_t *list, const char *separator)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        buf_printf(b, "%s%s", i > 0 ? separator : "",
                   json_string_value(json_array_get(list, i)));
}

static void print_values(buf *b, const json_t *top, const char *key)
{
    const json_t *list = json_object_get(top, key), *row;
    size_t i;

    buf_printf(b, "%s\n", key);
    json_array_foreach(list, i, row)
        buf_printf(b, "  %s: %s\n", explain_text_of(row, "name"),
                   explain_text_of(row, "type"));
}

static void print_constant(buf *b, const json_t *row)
{
    const json_t *names = json_object_get(row, "names");
    const json_t *recipes = json_object_get(row, "recipes");

    buf_printf(b, "  %s: %s %s%s%s", explain_text_of(row, "name"),
               explain_text_of(row, "kind"), explain_text_of(row, "type"),
               explain_text_of(row, "value"),
               explain_text_of(row, "reason")[0] ? ", " : "");
    buf_printf(b, "%s\n", explain_text_of(row, "reason"));
    if (json_array_size(names) > 0) {
        buf_puts(b, "    from ");
        print_list(b, names, " = ");
        buf_putc(b, '\n');
    }
    for (size_t i = 0; i < json_array_size(recipes); i++)
        buf_printf(b, "    by %s\n",
                   json_string_value(json_array_get(recipes, i)));
    if (json_is_true(json_object_get(row, "derived")))
        buf_puts(b, "    never by name alone: the exporter changed the "
                    "value\n");
}

static void print_block(buf *b, const json_t *row)
{
    const json_t *ops = json_object_get(row, "operations"), *count;
    const char *op;
    bool first = true;

    buf_printf(b, "  %s: on %s, %" PRId64 " nodes, %" PRId64 " holes of %"
               PRId64 " bytes, cache %s\n", explain_text_of(row, "name"),
               explain_text_of(row, "backend"), int_of(row, "nodes"),
               int_of(row, "holes"), int_of(row, "weight_bytes"),
               explain_text_of(row, "cache"));
    buf_printf(b, "    key %s\n    reads ", explain_text_of(row, "key"));
    print_list(b, json_object_get(row, "reads"), ", ");
    buf_puts(b, "\n    ");
    json_object_foreach((json_t *)ops, op, count) {
        buf_printf(b, "%s%s %" PRId64, first ? "" : ", ", op,
                   (int64_t)json_integer_value(count));
        first = false;
    }
    buf_putc(b, '\n');
    explain_print_nodes(b, row);
}

static void print_text(buf *b, const json_t *top)
{
    const json_t *list, *row;
    size_t i;

    buf_printf(b, "%s model%s%s: %" PRId64 " nodes, %" PRId64
               " after passes\n", explain_text_of(top, "format"),
               explain_text_of(top, "producer")[0] ? " made by " : "",
               explain_text_of(top, "producer"), int_of(top, "nodes_imported"),
               int_of(top, "nodes_planned"));
    print_values(b, top, "inputs");
    print_values(b, top, "outputs");
    list = json_object_get(top, "constants");
    buf_printf(b, "constants: %zu\n", json_array_size(list));
    json_array_foreach(list, i, row)
        print_constant(b, row);
    list = json_object_get(top, "unread");
    if (json_array_size(list) > 0) {
        buf_puts(b, "a checkpoint may also have, unread: ");
        print_list(b, list, ", ");
        buf_putc(b, '\n');
    }
    list = json_object_get(top, "blocks");
    buf_printf(b, "blocks: %zu\n", json_array_size(list));
    json_array_foreach(list, i, row)
        print_block(b, row);
    list = json_object_get(top, "fallbacks");
    buf_printf(b, "fallbacks: %zu\n", json_array_size(list));
    json_array_foreach(list, i, row)
        buf_printf(b, "  %s '%s': %s\n", explain_text_of(row, "op"),
                   explain_text_of(row, "node"),
                   explain_text_of(row, "reason"));
}

hull_status plan_explain(buf *out, const front_model *fm, const devices *ds,
                         cache *c, bool json)
{
    explainer x = {.fm = fm, .ds = ds, .c = c};
    hull_status st = HULL_OK;

    TRY(json_new(&x.top));
    TRY_OUT(explain(&x));
    if (json)
        TRY_OUT(json_print(out, x.top));
    else
        print_text(out, x.top);
    st = buf_status(out);
out:
    json_free(x.top);
    ir_free(x.blocks);
    ir_free(x.p.m);
    ir_free(x.work);
    return st;
}
