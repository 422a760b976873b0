/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * engine.c - builds an engine from a block, writes it and reads it back. Both
 * programs are stored as IR text; a reader parses and type-checks them, and
 * then checks what makes two graphs an engine: main ends with the slots that
 * prepare makes, and prepare is pure and static.
 */
#include "engine/engine.h"

#include "passes/pass.h"

#include <stdatomic.h>
#include <string.h>

/* Largest sections that are read, bytes: a compressed one may claim much. */
#define NAME_MAX_SIZE ((uint64_t)1 << 20)
#define TEXT_MAX_SIZE ((uint64_t)1 << 28)
#define PINS_MAX_SIZE ((uint64_t)1 << 30)

/* ---- life ---------------------------------------------------------------- */

static hull_status engine_new(engine **out)
{
    *out = mem_calloc(1, sizeof **out);
    if (*out == NULL)
        return fail_oom(sizeof **out);
    atomic_init(&(*out)->refs, 1);
    return HULL_OK;
}

engine *engine_ref(engine *e)
{
    atomic_fetch_add(&e->refs, 1);
    return e;
}

void engine_unref(engine *e)
{
    if (e == NULL || atomic_fetch_sub(&e->refs, 1) != 1)
        return;
    ir_free(e->m);
    buf_fini(&e->preimage);
    mem_free(e);
}

static hull_status keep_str(str *out, ir *m, str s)
{
    *out = (str){arena_strndup(&m->a, s.p, s.n), s.n};
    return out->p != NULL ? HULL_OK : fail_oom(s.n);
}

static hull_status keep_preimage(engine *e, const void *p, size_t n)
{
    buf_init(&e->preimage, SIZE_MAX / 2);
    buf_put(&e->preimage, p, n);
    e->key = digest_of(p, n);
    return buf_status(&e->preimage);
}

/* ---- build --------------------------------------------------------------- */

static hull_status run_pass(const char *name, graph *g)
{
    const pass_row *row = pass_find(str_of(name));

    if (row == NULL)
        return fail(HULL_EINTERNAL, "there is no pass '%s'", name);
    return pass_run(row, g);
}

static hull_status lower(graph *g, device *d, const options *o,
                         const notebook *notes)
{
    if (option_on(o, OPT_fuse))
        TRY(passes_run(STAGE_LOWER, g));
    TRY(run_pass("simplify", g));
    TRY(run_pass("cse", g));
    TRY(note(d->be->lower(d, g, o, option_on(o, OPT_tune) ? notes : NULL),
             "lowering for %s", d->be->name));
    graph_rewrite_end(g);
    TRY(ir_status(g->m));
    /* A weight that several nodes read was packed for each of them. */
    return note(run_pass("cse", g), "after lowering for %s", d->be->name);
}

/* Size of the file that the engine would be. */
static hull_status measure(engine *e)
{
    container_writer *w;

    TRY(engine_write(&w, e));
    e->n_bytes = container_writer_size(w);
    container_writer_free(w);
    return HULL_OK;
}

/* The key's own line says which target it was made for: an option may force
 * one that is not the device's. */
static bool key_line(str *out, str preimage, const char *field)
{
    str line, rest = preimage;

    while (rest.n > 0) {
        line = str_split(rest, '\n', &rest);
        if (line.n == 0)
            return false;
        if (str_starts(line, field)) {
            size_t n = strlen(field);

            *out = (str){line.p + n, line.n - n};
            return true;
        }
    }
    return false;
}

static hull_status take_names(engine *e)
{
    str name, target, preimage = buf_view(&e->preimage);

    if (!str_starts(preimage, KEY_FORMAT "\n") ||
        !key_line(&name, preimage, "backend ") ||
        !key_line(&target, preimage, "target "))
        return fail(HULL_EFORMAT, "key is not of the format '%s'", KEY_FORMAT);
    TRY(keep_str(&e->backend, e->m, name));
    return keep_str(&e->target, e->m, target);
}

hull_status engine_build(engine **out, graph *key, const cache_key *k,
                         device *d, const options *o, const notebook *notes)
{
    uint64_t start = time_ns();
    hull_status st = HULL_OK;
    engine *e = NULL;
    ir *work = NULL;
    graph *g;

    *out = NULL;
    TRY_OUT(ir_new(&work));
    g = graph_copy(work, key, str_of("block"));
    TRY_OUT(ir_status(work));
    TRY_OUT(lower(g, d, o, notes));
    TRY_OUT(engine_new(&e));
    TRY_OUT(split_programs(&e->m, g, key));
    e->prepare = ir_find(e->m, str_of("prepare"));
    e->main = ir_find(e->m, str_of("main"));
    TRY_OUT(keep_preimage(e, k->preimage.p, k->preimage.n));
    TRY_OUT(take_names(e));
    TRY_OUT(measure(e));
    e->build_seconds = (double)(time_ns() - start) / 1e9;
    *out = e;
    e = NULL;
out:
    engine_unref(e);
    ir_free(work);
    return st;
}

/* ---- write --------------------------------------------------------------- */

static hull_status add_graph(container_writer *w, const char *tag,
                             const graph *g)
{
    hull_status st = HULL_OK;
    buf b;

    buf_init(&b, TEXT_MAX_SIZE);
    graph_print(&b, g);
    TRY_OUT(buf_status(&b));
    TRY_OUT(container_add(w, tag, b.p, b.n));
out:
    buf_fini(&b);
    return st;
}

static hull_status add_pins(container_writer *w, const ir *m)
{
    hull_status st = HULL_OK;
    buf b;

    buf_init(&b, PINS_MAX_SIZE);
    TRY_OUT(pins_write(&b, m));
    TRY_OUT(container_add(w, "pins", b.p, b.n));
out:
    buf_fini(&b);
    return st;
}

hull_status engine_write(container_writer **out, const engine *e)
{
    hull_status st = HULL_OK;
    container_writer *w;

    *out = NULL;
    TRY(container_writer_new(&w, CONTAINER_ENGINE));
    TRY_OUT(container_add(w, "key", e->preimage.p, e->preimage.n));
    TRY_OUT(container_add(w, "backend", e->backend.p, e->backend.n));
    TRY_OUT(container_add(w, "target", e->target.p, e->target.n));
    TRY_OUT(add_graph(w, "prepare", e->prepare));
    TRY_OUT(add_graph(w, "main", e->main));
    TRY_OUT(add_pins(w, e->m));
    *out = w;
    w = NULL;
out:
    container_writer_free(w);
    return st;
}

/* ---- read ---------------------------------------------------------------- */

/* The one graph of a text. */
static hull_status parse_program(ir **out, str text, const char *name,
                                 const ir *pins)
{
    hull_status st = HULL_OK;
    ir *m = NULL;

    *out = NULL;
    TRY_OUT(ir_parse(&m, text, pins));
    if (m->n_graphs != 1 || !str_is(m->graphs[0]->name, name))
        TRY_OUT(fail(HULL_EFORMAT, "%u graphs, the first called '%.*s'; "
                     "wanted one called '%s'", m->n_graphs,
                     STR_ARG(m->n_graphs > 0 ? m->graphs[0]->name : (str){0}),
                     name));
    for (node *n = graph_first(m->graphs[0]); n != NULL;
         n = graph_next(m->graphs[0], n))
        if (n->op == OP_weight || n->op == OP_call)
            TRY_OUT(fail(HULL_EFORMAT, "a program has a node '%s'",
                         op_get(n->op)->name));
    *out = m;
    m = NULL;
out:
    ir_free(m);
    return st;
}

static hull_status read_program(ir **out, container *c, const char *name,
                                const ir *pins)
{
    bytes text;

    *out = NULL;
    TRY(container_get(c, name, TEXT_MAX_SIZE, &text));
    return note(parse_program(out, (str){(const char *)text.p, text.n}, name,
                              pins), "section '%s'", name);
}

/* Prepare runs before any input is known and only once. */
static hull_status check_prepare(const graph *g)
{
    if (g->n_states != 0)
        return fail(HULL_EFORMAT, "prepare has mutable state");
    for (uint32_t v = 1; v < g->n_values; v++) {
        const type *t = &g->values[v]->type;

        if (g->values[v]->alias == 0 && t->kind != TYPE_NONE &&
            (t->kind != TYPE_TENSOR || t->dtype == HULL_STRING ||
             !type_is_static(g->m, t)))
            return fail(HULL_EFORMAT, "value %u of prepare is no tensor of "
                        "numbers of a fixed shape", v);
    }
    for (const node *n = graph_first(g); n != NULL; n = graph_next(g, n))
        if ((op_get(n->op)->traits & OP_PURE) == 0)
            return fail(HULL_EFORMAT, "prepare has a node '%s'",
                        op_get(n->op)->name);
    return HULL_OK;
}

/* Main's parameters end with prepare's results. */
static hull_status check_interface(const engine *e)
{
    const region *p = e->prepare->body, *q = e->main->body;
    uint32_t first;

    if (q->n_params < p->n_results)
        return fail(HULL_EFORMAT, "main has %u parameters, prepare %u slots",
                    q->n_params, p->n_results);
    first = q->n_params - p->n_results;
    for (uint32_t i = 0; i < p->n_results; i++)
        if (!type_eq(e->m, graph_type(e->prepare, p->results[i]),
                     graph_type(e->main, q->params[first + i])))
            return fail(HULL_EFORMAT,
                        "slot %u has another type in main than in prepare", i);
    for (uint32_t i = 0; i < e->main->n_states; i++)
        if (e->main->states[i].param >= first)
            return fail(HULL_EFORMAT, "state %u of main is a slot", i);
    return HULL_OK;
}

static hull_status read_programs(engine *e, container *c)
{
    hull_status st = HULL_OK;
    ir *pins = NULL, *main_ir = NULL;
    bytes data;

    TRY_OUT(ir_new(&pins));
    TRY_OUT(container_get(c, "pins", PINS_MAX_SIZE, &data));
    TRY_OUT(note(pins_read(pins, data), "section 'pins'"));
    TRY_OUT(read_program(&e->m, c, "prepare", pins));
    TRY_OUT(read_program(&main_ir, c, "main", pins));
    e->prepare = e->m->graphs[0];
    e->main = graph_copy(e->m, main_ir->graphs[0], str_of("main"));
    TRY_OUT(ir_status(e->m));
    TRY_OUT(check_prepare(e->prepare));
    TRY_OUT(check_interface(e));
out:
    ir_free(pins);
    ir_free(main_ir);
    return st;
}

/* The key names the same backend and target as the sections. */
static hull_status check_names(const engine *e, container *c)
{
    bytes name, target;

    TRY(container_get(c, "backend", NAME_MAX_SIZE, &name));
    TRY(container_get(c, "target", NAME_MAX_SIZE, &target));
    if (!str_eq(e->backend, (str){(const char *)name.p, name.n}) ||
        !str_eq(e->target, (str){(const char *)target.p, target.n}))
        return fail(HULL_EFORMAT, "key is of another backend or target than "
                    "the engine");
    return HULL_OK;
}

hull_status engine_read(engine **out, container *c)
{
    hull_status st = HULL_OK;
    engine *e = NULL;
    bytes key;

    *out = NULL;
    if (container_kind_of(c) != CONTAINER_ENGINE)
        return fail(HULL_EFORMAT, "file is no engine");
    TRY_OUT(engine_new(&e));
    TRY_OUT(container_get(c, "key", KEY_PREIMAGE_MAX, &key));
    TRY_OUT(keep_preimage(e, key.p, key.n));
    TRY_OUT(read_programs(e, c));
    TRY_OUT(take_names(e));
    TRY_OUT(check_names(e, c));
    e->n_bytes = container_file_size(c);
    *out = e;
    e = NULL;
out:
    engine_unref(e);
    return st;
}
