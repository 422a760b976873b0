/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * explain_nodes.c - how the nodes of a block run: the kernel of each, the ways
 * that lowering chose from with predicted and timed milliseconds, why the
 * reference kernel runs a node, and what `hull bench --save-profile` measured.
 * The engine is the cache's where it has one; else the block is lowered here,
 * and nothing is timed or stored.
 */
#include "compile/explain_private.h"

#include <inttypes.h>
#include <math.h>

typedef struct node_lister {
    json_t *list;
    const device *d;
    const graph *g;
    str measured;        /* lines "NUMBER NS" */
    uint32_t number;     /* of the next node */
} node_lister;

/* ---- the engine ---------------------------------------------------------- */

static hull_status get_engine(engine **out, const explainer *x, str text,
                              const cache_key *key, device *d,
                              const notebook *notes)
{
    cache_entry entry = CACHE_ENTRY_NONE;
    hull_status st = HULL_OK;
    ir *m = NULL;

    *out = NULL;
    if (x->c != NULL && cache_peek(&entry, x->c, CACHE_ENGINE, key) &&
        engine_read(out, entry.c) == HULL_OK)
        goto out;
    TRY_OUT(ir_parse(&m, text, x->blocks));
    st = engine_build(out, m->graphs[0], key, d, x->ds->options, notes);
out:
    cache_entry_close(&entry);
    ir_free(m);
    return st;
}

hull_status engine_profile_key(buf *out, const engine *e)
{
    char hex[DIGEST_HEX_SIZE];
    hull_status st;
    digest d;
    buf text;

    buf_init(&text, SIZE_MAX / 2);
    graph_print(&text, e->main);
    st = buf_status(&text);
    d = digest_of(text.p, text.n);
    buf_fini(&text);
    TRY(st);
    digest_hex(&e->key, hex);
    buf_printf(out, "hull-profile 1\nengine %s\n", hex);
    digest_hex(&d, hex);
    buf_printf(out, "main %s\n", hex);
    return buf_status(out);
}

/* ---- rows ---------------------------------------------------------------- */

/* The model's name of a node, else its result's number. */
static json_t *name_json(const node *n)
{
    char text[32];

    if (n->label.n > 0)
        return json_text(n->label);
    snprintf(text, sizeof text, "%%%u", n->n_out > 0 ? n->out[0] : 0);
    return json_string(text);
}

/* Milliseconds, four digits. */
static json_t *ms_json(double ns)
{
    double ms = ns * 1e-6, scale;

    if (!(ms > 0))
        return json_real(0);
    scale = pow(10, 3 - floor(log10(ms)));
    return json_real(round(ms * scale) / scale);
}

static hull_status add_ways(json_t *row, const node_report *r)
{
    json_t *list = explain_child(row, "ways", json_array());

    if (list == NULL)
        return fail_oom(0);
    for (uint32_t i = 0; i < r->n_ways; i++) {
        const node_way *w = &r->ways[i];
        json_t *one = explain_row(list);

        if (one == NULL)
            return fail_oom(0);
        if (w->taken)
            TRY(json_put(row, "predicted_ms", ms_json(w->predicted_ns)));
        TRY(json_put(one, "name", json_string(w->name)));
        TRY(json_put(one, "taken", json_boolean(w->taken)));
        TRY(json_put(one, "predicted_ms", ms_json(w->predicted_ns)));
        if (w->timed_ns > 0)
            TRY(json_put(one, "timed_ms", ms_json(w->timed_ns)));
    }
    if (r->n_ways == 1 && r->ways[0].name[0] == '\0')
        return json_object_del(row, "ways") == 0
                   ? HULL_OK : fail(HULL_EINTERNAL, "a member is gone");
    return HULL_OK;
}

/* ns of a node by its number; 0 when no line has it. */
static double measured_ns(str lines, uint32_t number)
{
    uint64_t n, ns;
    str rest;

    while (lines.n > 0) {
        str line = str_split(lines, '\n', &lines);

        if (str_to_u64(&n, str_split(line, ' ', &rest)) && n == number &&
            str_to_u64(&ns, rest))
            return (double)ns;
    }
    return 0;
}

static hull_status add_node(void *user, const node_report *r)
{
    node_lister *l = user;
    uint32_t traits = op_get(r->n->op)->traits, number = l->number++;
    json_t *row;
    double ns = measured_ns(l->measured, number);

    if (traits & OP_LEAF)
        return HULL_OK;
    row = explain_row(l->list);
    if (row == NULL)
        return fail_oom(0);
    TRY(json_put(row, "name", name_json(r->n)));
    TRY(json_put(row, "op", json_string(op_get(r->n->op)->name)));
    if (r->n->n_out > 0)
        TRY(json_put(row, "type", explain_type(l->g->m, graph_type(l->g,
                                                       r->n->out[0]))));
    TRY(json_put(row, "kernel", json_string(
        traits & OP_VIEW ? "view" : node_kernel_name(l->d, l->g, r->n))));
    if (r->why_not != NULL && (traits & OP_VIEW) == 0)
        TRY(json_put(row, "why_not", json_string(r->why_not)));
    if (ns > 0)
        TRY(json_put(row, "measured_ms", ms_json(ns)));
    return traits & OP_VIEW ? HULL_OK : add_ways(row, r);
}

/* A backend that tells nothing: the names of its kernels. */
static hull_status report_names(const graph *g, node_lister *l)
{
    for (const node *n = graph_first(g); n != NULL; n = graph_next(g, n)) {
        node_report r = {.n = n};

        TRY(add_node(l, &r));
    }
    return HULL_OK;
}

static hull_status add_nodes(const explainer *x, json_t *list, device *d,
                             const graph *g, const notebook *notes,
                             str measured)
{
    node_lister l = {list, d, g, measured, 0};

    if (d->be->report == NULL)
        return report_names(g, &l);
    return d->be->report(d, g, x->ds->options, notes, add_node, &l);
}

hull_status explain_nodes(const explainer *x, json_t *row, str text,
                          const cache_key *key, device *d)
{
    json_t *kernels = explain_child(row, "kernels", json_array());
    json_t *prepare = explain_child(row, "prepare", json_array());
    hull_status st = HULL_OK;
    engine *e = NULL;
    tunebook book;
    buf name, measured;

    tunebook_open(&book, x->c, true);
    buf_init(&name, 65536);
    buf_init(&measured, (size_t)1 << 28);
    if (kernels == NULL || prepare == NULL)
        TRY_OUT(fail_oom(0));
    TRY_OUT(get_engine(&e, x, text, key, d, &book.notes));
    TRY_OUT(engine_profile_key(&name, e));
    book.notes.get(book.notes.user, buf_view(&name), &measured);
    TRY_OUT(add_nodes(x, kernels, d, e->main, &book.notes,
                      buf_view(&measured)));
    st = add_nodes(x, prepare, d, e->prepare, &book.notes, (str){0});
out:
    engine_unref(e);
    tunebook_close(&book);
    buf_fini(&name);
    buf_fini(&measured);
    return st;
}

/* ---- text ---------------------------------------------------------------- */

static void print_ways(buf *b, const json_t *ways)
{
    const json_t *w;
    size_t i;

    if (json_array_size(ways) < 2)
        return;
    json_array_foreach(ways, i, w) {
        double timed = json_number_value(json_object_get(w, "timed_ms"));

        buf_printf(b, "%s%s%s %g", i > 0 ? ", " : "  of ",
                   json_is_true(json_object_get(w, "taken")) ? "*" : "",
                   explain_text_of(w, "name"),
                   json_number_value(json_object_get(w, "predicted_ms")));
        if (timed > 0)
            buf_printf(b, " (timed %g)", timed);
    }
}

static void print_node(buf *b, const json_t *row, bool times)
{
    double predicted = json_number_value(json_object_get(row, "predicted_ms"));
    double measured = json_number_value(json_object_get(row, "measured_ms"));

    buf_printf(b, "      %-16s %-24s %s:%s", explain_text_of(row, "op"),
               explain_text_of(row, "kernel"), explain_text_of(row, "name"),
               explain_text_of(row, "type"));
    if (times && measured > 0)
        buf_printf(b, "  measured %g ms", measured);
    if (times && predicted > 0)
        buf_printf(b, "  predicted %g ms", predicted);
    if (times)
        print_ways(b, json_object_get(row, "ways"));
    if (explain_text_of(row, "why_not")[0] != '\0')
        buf_printf(b, "  (%s)", explain_text_of(row, "why_not"));
    buf_putc(b, '\n');
}

static bool is_on_reference(const json_t *row)
{
    return str_is(str_of(explain_text_of(row, "kernel")), "ref");
}

static size_t count_reference(const json_t *list)
{
    const json_t *row;
    size_t i, n = 0;

    json_array_foreach(list, i, row)
        n += is_on_reference(row);
    return n;
}

/* All nodes of main; of prepare those that the reference kernels run. */
void explain_print_nodes(buf *b, const json_t *block)
{
    const json_t *kernels = json_object_get(block, "kernels"), *row;
    const json_t *prepare = json_object_get(block, "prepare");
    size_t i;

    buf_printf(b, "    a run: %zu nodes, %zu on reference kernels\n",
               json_array_size(kernels), count_reference(kernels));
    json_array_foreach(kernels, i, row)
        print_node(b, row, true);
    buf_printf(b, "    prepare: %zu nodes, %zu on reference kernels\n",
               json_array_size(prepare), count_reference(prepare));
    json_array_foreach(prepare, i, row)
        if (is_on_reference(row))
            print_node(b, row, false);
}
