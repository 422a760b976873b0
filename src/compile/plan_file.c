/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * plan_file.c - the plan's sections of a module file (docs/engine-format.md,
 * Module). Nothing in a file is trusted: texts are parsed and verified, every
 * index has its range, and the call graph, the blocks' engines and the holes
 * must agree in number and type before a plan comes out.
 */
#include "compile/plan_file.h"

#include <inttypes.h>
#include <string.h>

#define MODULE_WHAT "section 'module'"
#define HOLES_MAX (1u << 24)
#define TIER_MAX 15

/* ---- writing ------------------------------------------------------------- */

typedef struct plan_writer {
    container_writer *w;
    const plan *p;
    bool frame;          /* without engines and kept values */
    engine **engines;    /* distinct ones, in order of their first block */
    uint32_t n_engines;
} plan_writer;

static uint32_t engine_number(plan_writer *pw, engine *e)
{
    uint32_t i = 0;

    while (i < pw->n_engines && pw->engines[i] != e)
        i++;
    if (i == pw->n_engines)
        pw->engines[pw->n_engines++] = e;
    return i;
}

static hull_status recipe_number(uint32_t *out, const plan *p,
                                 const graph *g)
{
    for (*out = 0; *out < p->recipes->n_graphs; (*out)++)
        if (p->recipes->graphs[*out] == g)
            return HULL_OK;
    return fail(HULL_EINTERNAL, "a recipe is not in the plan");
}

static hull_status put_recipes(json_t *row, const plan *p, const plan_hole *h)
{
    json_t *list, *r;

    TRY(json_put_array(&list, row, "recipes"));
    for (uint32_t i = 0; i < h->n_recipes; i++) {
        uint32_t number;

        TRY(json_push(list, r = json_object()));
        TRY(recipe_number(&number, p, h->recipes[i]));
        TRY(json_put(r, "graph", json_integer(number)));
        TRY(json_put(r, "tier", json_integer(h->tiers[i])));
    }
    return HULL_OK;
}

/* *kept is where the kept values end so far. */
static hull_status put_hole(json_t *row, const plan_writer *pw,
                            const plan_hole *h, uint64_t *kept)
{
    TRY(json_put(row, "name", json_text(h->name)));
    TRY(json_put(row, "dtype", json_string(hull_dtype_name(h->dtype))));
    TRY(json_put(row, "shape", json_shape(h->shape, h->rank)));
    TRY(json_put(row, "names", json_texts(h->names, h->n_names)));
    TRY(json_put(row, "derived", json_boolean(h->derived)));
    TRY(json_put(row, "kept", json_boolean(h->kept)));
    TRY(json_put(row, "reason", json_text(h->reason)));
    if (h->kept_value != NULL && !pw->frame) {
        TRY(json_put(row, "value", json_integer((json_int_t)*kept)));
        *kept = round_up(*kept + h->n_bytes, 8);
    }
    return put_recipes(row, pw->p, h);
}

static hull_status put_literal(json_t *row, const plan_literal *l)
{
    char hex[DIGEST_HEX_SIZE];

    digest_hex(&l->bytes, hex);
    TRY(json_put(row, "name", json_text(l->name)));
    TRY(json_put(row, "dtype", json_string(hull_dtype_name(l->dtype))));
    TRY(json_put(row, "shape", json_shape(l->shape, l->rank)));
    TRY(json_put(row, "value", json_text(l->value)));
    TRY(json_put(row, "reason", json_text(l->reason)));
    return json_put(row, "bytes", json_string(hex));
}

static hull_status put_block(json_t *row, plan_writer *pw,
                             const plan_block *b)
{
    json_t *holes;

    TRY(json_put(row, "backend", json_text(b->backend)));
    TRY(json_put(row, "engine", json_integer(engine_number(pw, b->e))));
    TRY(json_put(row, "nodes", json_integer(b->n_nodes)));
    TRY(json_put_array(&holes, row, "holes"));
    for (uint32_t i = 0; i < b->n_holes; i++)
        TRY(json_push(holes, json_integer(b->holes[i])));
    return HULL_OK;
}

static hull_status put_fallback(json_t *row, const plan_fallback *f)
{
    TRY(json_put(row, "node", json_text(f->node)));
    TRY(json_put(row, "op", json_text(f->op)));
    return json_put(row, "reason", json_text(f->reason));
}

static hull_status put_lists(json_t *top, plan_writer *pw)
{
    const plan *p = pw->p;
    json_t *list, *row;
    uint64_t kept = 0;

    TRY(json_put_array(&list, top, "holes"));
    for (uint32_t i = 0; i < p->n_holes; i++) {
        TRY(json_push(list, row = json_object()));
        TRY(put_hole(row, pw, &p->holes[i], &kept));
    }
    TRY(json_put_array(&list, top, "literals"));
    for (uint32_t i = 0; i < p->n_literals; i++) {
        TRY(json_push(list, row = json_object()));
        TRY(put_literal(row, &p->literals[i]));
    }
    TRY(json_put_array(&list, top, "blocks"));
    for (uint32_t i = 0; i < p->n_blocks; i++) {
        TRY(json_push(list, row = json_object()));
        TRY(put_block(row, pw, &p->blocks[i]));
    }
    TRY(json_put_array(&list, top, "fallbacks"));
    for (uint32_t i = 0; i < p->n_fallbacks; i++) {
        TRY(json_push(list, row = json_object()));
        TRY(put_fallback(row, &p->fallbacks[i]));
    }
    return HULL_OK;
}

/* The backend of each engine. */
static hull_status put_backends(json_t *top, const plan_writer *pw)
{
    json_t *list;

    TRY(json_put_array(&list, top, "backends"));
    for (uint32_t i = 0; i < pw->n_engines; i++) {
        uint32_t b = 0;

        while (pw->p->blocks[b].e != pw->engines[i])
            b++;
        TRY(json_push(list, json_text(pw->p->blocks[b].backend)));
    }
    return HULL_OK;
}

static hull_status add_module(plan_writer *pw)
{
    const plan *p = pw->p;
    hull_status st = HULL_OK;
    json_t *top;

    TRY(json_new(&top));
    TRY_OUT(json_put(top, "hull", json_string(HULL_VERSION_TEXT)));
    TRY_OUT(json_put(top, "format", json_text(p->format)));
    TRY_OUT(json_put(top, "producer", json_text(p->producer)));
    TRY_OUT(json_put(top, "inputs",
                     json_texts(p->inputs, p->main->body->n_params)));
    TRY_OUT(json_put(top, "outputs",
                     json_texts(p->outputs, p->main->body->n_results)));
    TRY_OUT(json_put(top, "unread", json_texts(p->unread, p->n_unread)));
    TRY_OUT(put_lists(top, pw));
    TRY_OUT(json_put(top, "engines", json_integer(pw->n_engines)));
    if (pw->frame)
        TRY_OUT(put_backends(top, pw));
    TRY_OUT(section_add_json(pw->w, "module", top));
out:
    json_free(top);
    return st;
}

static hull_status add_graphs(container_writer *w, const char *tag,
                              const graph *g, const ir *m)
{
    hull_status st;
    buf b;

    buf_init(&b, MODULE_TEXT_MAX);
    if (g != NULL)
        graph_print(&b, g);
    else if (m->n_graphs > 0)
        ir_print(&b, m);
    st = buf_status(&b);
    if (st == HULL_OK)
        st = container_add(w, tag, b.p, b.n);
    buf_fini(&b);
    return st;
}

hull_status section_add_pins(container_writer *w, const char *tag,
                             const ir *a, const ir *b)
{
    hull_status st = HULL_OK;
    ir *all = NULL;
    buf text;

    buf_init(&text, MODULE_PINS_MAX);
    TRY_OUT(ir_new(&all));
    for (uint32_t i = 0; a != NULL && i < a->n_pinned; i++)
        ir_pin(all, a->pinned[i]);
    for (uint32_t i = 0; b != NULL && i < b->n_pinned; i++)
        ir_pin(all, b->pinned[i]);
    TRY_OUT(ir_status(all));
    TRY_OUT(pins_write(&text, all));
    TRY_OUT(container_add(w, tag, text.p, text.n));
out:
    buf_fini(&text);
    ir_free(all);
    return st;
}

/* The values of kept holes, each at a multiple of 8. */
static hull_status add_kept(container_writer *w, const plan *p)
{
    hull_status st;
    buf b;

    buf_init(&b, SIZE_MAX / 2);
    for (uint32_t i = 0; i < p->n_holes; i++)
        if (p->holes[i].kept_value != NULL) {
            buf_put(&b, p->holes[i].kept_value, p->holes[i].n_bytes);
            buf_align(&b, 8);
        }
    st = buf_status(&b);
    if (st == HULL_OK)
        st = container_add(w, "kept", b.p, b.n);
    buf_fini(&b);
    return st;
}

static hull_status add_block(plan_writer *pw, uint32_t number)
{
    const plan *p = pw->p;
    char tag[SECTION_TAG_MAX + 1];
    uint32_t b = 0;

    while (p->blocks[b].e != pw->engines[number])
        b++;
    snprintf(tag, sizeof tag, "block.%u", number);
    return container_add(pw->w, tag, p->blocks[b].text.p, p->blocks[b].text.n);
}

/* The file that the engine would be. */
static hull_status add_engine(plan_writer *pw, uint32_t number)
{
    container_writer *inner = NULL;
    hull_status st = HULL_OK;
    char tag[SECTION_TAG_MAX + 1];
    buf data = {0};

    TRY_OUT(engine_write(&inner, pw->engines[number]));
    TRY_OUT(container_write_buf(inner, &data));
    snprintf(tag, sizeof tag, "engine.%u", number);
    TRY_OUT(container_add(pw->w, tag, data.p, data.n));
out:
    buf_fini(&data);
    container_writer_free(inner);
    return st;
}

static hull_status write_plan(container_writer *w, const plan *p, bool frame)
{
    plan_writer pw = {.w = w, .p = p, .frame = frame};
    hull_status st = HULL_OK;

    pw.engines = mem_calloc(p->n_blocks + 1, sizeof(*pw.engines));
    if (pw.engines == NULL)
        return fail_oom(p->n_blocks * sizeof(*pw.engines));
    TRY_OUT(add_module(&pw));
    TRY_OUT(container_add(w, "imported", p->imported.p, p->imported.n));
    TRY_OUT(add_graphs(w, "main", p->main, NULL));
    TRY_OUT(add_graphs(w, "recipes", NULL, p->recipes));
    TRY_OUT(section_add_pins(w, "pins", p->m, p->recipes));
    if (!frame)
        TRY_OUT(add_kept(w, p));
    for (uint32_t i = 0; i < pw.n_engines; i++) {
        TRY_OUT(add_block(&pw, i));
        if (!frame)
            TRY_OUT(note(add_engine(&pw, i), "engine %u", i));
    }
out:
    mem_free(pw.engines);
    return st;
}

hull_status plan_write(container_writer *w, const plan *p)
{
    return write_plan(w, p, false);
}

hull_status plan_write_frame(container_writer *w, const plan *p)
{
    return write_plan(w, p, true);
}

/* ---- reading: holes ------------------------------------------------------ */

/* An engine of the file, once for all blocks that share it. */
typedef struct read_engine {
    engine *e;
    str text;
    str named;           /* the backend that the file's engine is for */
    str backend;         /* of the device that e is for */
    uint32_t n_nodes;
    bool hit, rebuilt;
} read_engine;

typedef struct plan_reader {
    plan *p;
    container *c;
    const devices *ds;
    cache *cache;
    json_t *top;
    const weights *native; /* a frame is read; else NULL */
    bytes kept;
    bool *taken;          /* per recipe: a hole has it */
    read_engine *engines;
    uint32_t n_engines;
} plan_reader;

static hull_status want_str(str *out, plan *p, json_t *obj, const char *key)
{
    str s;

    TRY(json_want_string(&s, obj, key, MODULE_WHAT));
    if (s.n > 0 && memchr(s.p, 0, s.n) != NULL)
        return fail(HULL_EFORMAT, MODULE_WHAT ": '%s' holds a zero byte", key);
    *out = plan_str(p, s);
    return ir_status(p->m);
}

static hull_status want_strs(str **out, uint32_t *out_n, plan *p, json_t *obj,
                             const char *key)
{
    json_t *list;
    size_t n;

    *out = NULL;
    *out_n = 0;
    TRY(json_want_array(&list, obj, key, MODULE_WHAT));
    n = json_array_size(list);
    if (n > HOLES_MAX)
        return fail(HULL_EFORMAT, MODULE_WHAT ": '%s' has %zu names", key, n);
    *out = arena_array(&p->m->a, n, sizeof **out);
    if (*out == NULL)
        return fail_oom(n * sizeof **out);
    for (size_t i = 0; i < n; i++) {
        json_t *v = json_array_get(list, i);
        str s = {json_string_value(v), json_string_length(v)};

        if (s.p == NULL || memchr(s.p, 0, s.n) != NULL)
            return fail(HULL_EFORMAT, MODULE_WHAT ": '%s' %zu is no name",
                        key, i);
        (*out)[i] = plan_str(p, s);
    }
    *out_n = (uint32_t)n;
    return ir_status(p->m);
}

static hull_status want_bool(bool *out, json_t *obj, const char *key)
{
    json_t *v = json_object_get(obj, key);

    *out = false;
    if (!json_is_boolean(v))
        return fail(HULL_EFORMAT, MODULE_WHAT ": key '%s' is of kind %s, "
                    "wanted boolean", key, json_kind(v));
    *out = json_is_true(v);
    return HULL_OK;
}

/* obj[key] is a list of objects. */
static hull_status want_rows(json_t **out, uint32_t *out_n, json_t *obj,
                             const char *key)
{
    *out_n = 0;
    TRY(json_want_array(out, obj, key, MODULE_WHAT));
    if (json_array_size(*out) > HOLES_MAX)
        return fail(HULL_EFORMAT, MODULE_WHAT ": '%s' has %zu rows", key,
                    json_array_size(*out));
    *out_n = (uint32_t)json_array_size(*out);
    return HULL_OK;
}

hull_status recipe_check(const graph *g, const plan_hole *h)
{
    const region *body = g->body;

    if (body->n_params != 0 || body->n_results != 1 || g->n_states != 0)
        return fail(HULL_EFORMAT, "recipe '%.*s' has %u parameters, %u "
                    "results, %u states; wanted 0, 1, 0", STR_ARG(g->name),
                    body->n_params, body->n_results, g->n_states);
    for (const node *n = body->first; n != NULL; n = n->next) {
        if ((op_get(n->op)->traits & OP_PURE) == 0)
            return fail(HULL_EFORMAT, "recipe '%.*s' has a node '%s'",
                        STR_ARG(g->name), op_get(n->op)->name);
        for (uint32_t i = 0; i < n->n_out; i++) {
            const type *t = graph_type(g, n->out[i]);

            if (t->kind != TYPE_TENSOR || !type_is_static(g->m, t))
                return fail(HULL_EFORMAT, "recipe '%.*s': a '%s' is no tensor "
                            "of a fixed shape", STR_ARG(g->name),
                            op_get(n->op)->name);
        }
    }
    if (body->results[0] == 0 ||
        !plan_type_is_hole(g->m, graph_type(g, body->results[0]), h))
        return fail(HULL_EFORMAT, "recipe '%.*s' makes another type than hole "
                    "'%.*s' has", STR_ARG(g->name), STR_ARG(h->name));
    return HULL_OK;
}

hull_status recipe_take(graph **out, const ir *recipes, bool *taken,
                        uint32_t number)
{
    if (number >= recipes->n_graphs)
        return fail(HULL_EFORMAT, "recipe %u of %u", number,
                    recipes->n_graphs);
    if (taken[number])
        return fail(HULL_EFORMAT, "recipe %u is of two holes", number);
    taken[number] = true;
    *out = recipes->graphs[number];
    return HULL_OK;
}

static hull_status read_recipes(plan_reader *r, plan_hole *h, json_t *row)
{
    json_t *list;

    TRY(want_rows(&list, &h->n_recipes, row, "recipes"));
    h->recipes = arena_array(&r->p->m->a, h->n_recipes, sizeof *h->recipes);
    h->tiers = arena_array(&r->p->m->a, h->n_recipes, sizeof *h->tiers);
    if (h->recipes == NULL || h->tiers == NULL)
        return fail_oom(h->n_recipes * sizeof *h->recipes);
    for (uint32_t i = 0; i < h->n_recipes; i++) {
        json_t *v = json_array_get(list, i);
        uint32_t number, tier;

        TRY(json_want_u32(&number, v, "graph", HOLES_MAX, MODULE_WHAT));
        TRY(json_want_u32(&tier, v, "tier", TIER_MAX, MODULE_WHAT));
        TRY(note(recipe_take(&h->recipes[i], r->p->recipes, r->taken, number),
                 "hole '%.*s'", STR_ARG(h->name)));
        h->tiers[i] = (uint8_t)tier;
        TRY(recipe_check(h->recipes[i], h));
    }
    return HULL_OK;
}

/* A frame's hole is a tensor of the model file; kept, it has its value there.
 */
static hull_status take_native(plan_reader *r, plan_hole *h)
{
    const weight_entry *e = weights_find(r->native, h->name);
    bool kept = h->kept;

    if (e == NULL || e->dtype != h->dtype || e->rank != h->rank ||
        memcmp(e->shape, h->shape, h->rank * sizeof *h->shape) != 0)
        return fail(HULL_EFORMAT, "the model file has no tensor of hole "
                    "'%.*s'", STR_ARG(h->name));
    if (!kept)
        return HULL_OK;
    TRY(plan_keep_value(r->p, h, r->native));
    return h->kept ? HULL_OK
                   : fail(HULL_EFORMAT, "the model file has no value for hole "
                          "'%.*s'", STR_ARG(h->name));
}

static hull_status read_kept(plan_reader *r, plan_hole *h, json_t *row)
{
    uint64_t off;

    if (r->native != NULL)
        return take_native(r, h);

    if (json_object_get(row, "value") == NULL)
        return HULL_OK;
    TRY(json_want_u64(&off, row, "value", r->kept.n, MODULE_WHAT));
    if (!h->kept || h->n_bytes > r->kept.n - off)
        return fail(HULL_EFORMAT, "hole '%.*s': kept value of %" PRIu64
                    " bytes at byte %" PRIu64 " of %zu", STR_ARG(h->name),
                    h->n_bytes, off, r->kept.n);
    h->kept_value = arena_memdup(&r->p->m->a, r->kept.p + off, h->n_bytes);
    return h->kept_value != NULL ? HULL_OK : fail_oom(h->n_bytes);
}

static hull_status read_hole(plan_reader *r, plan_hole *h, json_t *row)
{
    uint64_t numel = 1;
    bool fits = true;

    TRY(want_str(&h->name, r->p, row, "name"));
    TRY(want_str(&h->reason, r->p, row, "reason"));
    TRY(json_want_dtype(&h->dtype, row, "dtype", MODULE_WHAT));
    if (h->dtype == HULL_STRING)
        return fail(HULL_EFORMAT, "hole '%.*s' holds strings",
                    STR_ARG(h->name));
    TRY(json_want_shape(h->shape, &h->rank, row, "shape", MODULE_WHAT));
    for (uint32_t i = 0; i < h->rank; i++)
        fits = fits && mul_u64(&numel, numel, (uint64_t)h->shape[i]);
    if (!fits || !dtype_bytes(&h->n_bytes, h->dtype, numel) ||
        h->n_bytes > INT64_MAX)
        return fail(HULL_EFORMAT, "hole '%.*s' is too large",
                    STR_ARG(h->name));
    TRY(want_strs(&h->names, &h->n_names, r->p, row, "names"));
    TRY(want_bool(&h->derived, row, "derived"));
    TRY(want_bool(&h->kept, row, "kept"));
    TRY(read_kept(r, h, row));
    return read_recipes(r, h, row);
}

static hull_status read_holes(plan_reader *r)
{
    json_t *list;
    uint32_t n;

    TRY(want_rows(&list, &n, r->top, "holes"));
    r->p->holes = arena_array(&r->p->m->a, n, sizeof *r->p->holes);
    if (r->p->holes == NULL)
        return fail_oom(n * sizeof *r->p->holes);
    for (uint32_t i = 0; i < n; i++)
        TRY(note(read_hole(r, &r->p->holes[i], json_array_get(list, i)),
                 "hole %u", i));
    r->p->n_holes = n;
    return HULL_OK;
}

/* ---- reading: engines ---------------------------------------------------- */

static hull_status get_text(str *out, container *c, const char *tag)
{
    bytes b;

    TRY(container_get(c, tag, MODULE_TEXT_MAX, &b));
    *out = (str){(const char *)b.p, b.n};
    return HULL_OK;
}

/* The preferred device that takes every node of a block; ref takes all. */
static device *pick_device(const devices *ds, const graph *g)
{
    for (uint32_t i = 0; i + 1 < ds->n; i++) {
        const node *n = graph_first(g);

        while (n != NULL && ds->d[i]->be->why_not(ds->d[i], g, n) == NULL)
            n = graph_next(g, n);
        if (n == NULL)
            return ds->d[i];
    }
    return ds->d[ds->n - 1];
}

/* The engine was made from this text. */
static hull_status key_has_text(const engine *e, str text)
{
    str key = buf_view(&e->preimage);

    if (key.n <= text.n || key.p[key.n - text.n - 1] != '\n' ||
        memcmp(key.p + key.n - text.n, text.p, text.n) != 0)
        return fail(HULL_EFORMAT, "the engine's key is of another text");
    return HULL_OK;
}

static hull_status rebuild(plan_reader *r, read_engine *re, const graph *g,
                           str name, str target)
{
    device *d = devices_find(r->ds, name);
    hull_status st;
    buf here;

    if (d == NULL)
        d = pick_device(r->ds, g);
    st = device_target(&here, d);
    if (st == HULL_OK)
        log_warn("module", "a block is for '%.*s' of backend %.*s, which is "
                 "absent here: rebuilt for '%.*s' of backend %s",
                 STR_ARG(target), STR_ARG(name), STR_ARG(buf_view(&here)),
                 d->be->name);
    buf_fini(&here);
    TRY(st);
    re->rebuilt = true;
    re->backend = str_of(d->be->name);
    r->p->asked_cache = r->cache != NULL;
    return plan_engine(&re->e, &re->hit, re->text, r->p->m, d, r->ds,
                       r->cache);
}

static hull_status take_engine(plan_reader *r, read_engine *re, const graph *g,
                               container *inner)
{
    hull_status st;
    str name, target;
    device *d;
    bool present = false;
    buf here = {0};

    if (container_kind_of(inner) != CONTAINER_ENGINE)
        return fail(HULL_EFORMAT, "section is no engine");
    TRY(get_text(&name, inner, "backend"));
    TRY(get_text(&target, inner, "target"));
    re->named = plan_str(r->p, name);
    TRY(ir_status(r->p->m));
    d = devices_find(r->ds, name);
    if (d != NULL) {
        st = device_target(&here, d);
        present = st == HULL_OK && str_eq(buf_view(&here), target);
        buf_fini(&here);
        TRY(st);
    }
    if (!present)
        return rebuild(r, re, g, name, target);
    re->backend = str_of(d->be->name);
    TRY(engine_read(&re->e, inner));
    return key_has_text(re->e, re->text);
}

/* The cache has a frame's engines; its key of one holds the whole text, so that
 * need not be parsed. */
static hull_status find_engine(plan_reader *r, read_engine *re, uint32_t i)
{
    const json_t *name = json_array_get(json_object_get(r->top, "backends"), i);
    device *d = json_is_string(name)
                    ? devices_find(r->ds, (str){json_string_value(name),
                                                json_string_length(name)})
                    : NULL;

    if (d == NULL)
        return fail(HULL_EFORMAT, "the engine's backend is absent");
    re->named = re->backend = str_of(d->be->name);
    return plan_engine(&re->e, &re->hit, re->text, r->p->m, d, r->ds,
                       r->cache);
}

static hull_status read_engine_at(plan_reader *r, uint32_t i)
{
    read_engine *re = &r->engines[i];
    container *inner = NULL;
    hull_status st = HULL_OK;
    char tag[SECTION_TAG_MAX + 1];
    ir *m = NULL;
    bytes data;
    str text;

    snprintf(tag, sizeof tag, "block.%u", i);
    TRY_OUT(get_text(&text, r->c, tag));
    re->text = plan_str(r->p, text);
    TRY_OUT(ir_status(r->p->m));
    if (r->native != NULL) {
        st = find_engine(r, re, i);
        goto out;
    }
    TRY_OUT(note(ir_parse(&m, re->text, r->p->m), "section '%s'", tag));
    if (m->n_graphs != 1)
        TRY_OUT(fail(HULL_EFORMAT, "section '%s' has %u graphs, wanted 1",
                     tag, m->n_graphs));
    re->n_nodes = graph_n_nodes(m->graphs[0]);
    snprintf(tag, sizeof tag, "engine.%u", i);
    TRY_OUT(container_get(r->c, tag, MODULE_PINS_MAX, &data));
    TRY_OUT(container_open(&inner, data, UINT64_MAX));
    TRY_OUT(take_engine(r, re, m->graphs[0], inner));
out:
    container_free(inner);
    ir_free(m);
    return note(st, "engine %u", i);
}

static hull_status read_engines(plan_reader *r)
{
    uint32_t n;

    TRY(json_want_u32(&n, r->top, "engines",
                      (uint32_t)container_n_sections(r->c), MODULE_WHAT));
    r->engines = mem_calloc(n + 1, sizeof *r->engines);
    if (r->engines == NULL)
        return fail_oom(n * sizeof *r->engines);
    r->n_engines = n;
    for (uint32_t i = 0; i < n; i++)
        TRY(read_engine_at(r, i));
    return HULL_OK;
}

static hull_status read_literal(plan_reader *r, plan_literal *l, json_t *row)
{
    TRY(want_str(&l->name, r->p, row, "name"));
    TRY(want_str(&l->value, r->p, row, "value"));
    TRY(want_str(&l->reason, r->p, row, "reason"));
    TRY(json_want_dtype(&l->dtype, row, "dtype", MODULE_WHAT));
    TRY(json_want_shape(l->shape, &l->rank, row, "shape", MODULE_WHAT));
    return json_want_digest(&l->bytes, row, "bytes", MODULE_WHAT);
}

static hull_status read_literals(plan_reader *r)
{
    json_t *list;
    uint32_t n;

    TRY(want_rows(&list, &n, r->top, "literals"));
    r->p->literals = arena_array(&r->p->m->a, n, sizeof *r->p->literals);
    if (r->p->literals == NULL)
        return fail_oom(n * sizeof *r->p->literals);
    for (uint32_t i = 0; i < n; i++)
        TRY(note(read_literal(r, &r->p->literals[i], json_array_get(list, i)),
                 "literal %u", i));
    r->p->n_literals = n;
    return HULL_OK;
}

/* ---- reading: blocks and the call graph ---------------------------------- */

static hull_status read_block_holes(plan_reader *r, plan_block *b, json_t *row)
{
    const graph *prep = b->e->prepare;
    json_t *list;

    TRY(json_want_array(&list, row, "holes", MODULE_WHAT));
    if (json_array_size(list) != prep->body->n_params)
        return fail(HULL_EFORMAT, "%zu holes, the engine has %u",
                    json_array_size(list), prep->body->n_params);
    b->n_holes = prep->body->n_params;
    b->holes = arena_array(&r->p->m->a, b->n_holes, sizeof *b->holes);
    if (b->holes == NULL)
        return fail_oom(b->n_holes * sizeof *b->holes);
    for (uint32_t i = 0; i < b->n_holes; i++) {
        json_t *v = json_array_get(list, i);
        json_int_t k = json_integer_value(v);

        if (!json_is_integer(v) || k < 0 || k >= r->p->n_holes)
            return fail(HULL_EFORMAT, "hole %u is no hole of the module", i);
        b->holes[i] = (uint32_t)k;
    }
    return HULL_OK;
}

static hull_status read_block(plan_reader *r, plan_block *b, json_t *row)
{
    const read_engine *re;
    uint32_t number;
    str name;

    TRY(json_want_u32(&number, row, "engine", HOLES_MAX, MODULE_WHAT));
    if (number >= r->n_engines)
        return fail(HULL_EFORMAT, "engine %u of %u", number, r->n_engines);
    re = &r->engines[number];
    TRY(json_want_string(&name, row, "backend", MODULE_WHAT));
    if (!str_eq(name, re->named))
        return fail(HULL_EFORMAT, "backend '%.*s', the engine's is '%.*s'",
                    STR_ARG(name), STR_ARG(re->named));
    TRY(json_want_u32(&b->n_nodes, row, "nodes", UINT32_MAX, MODULE_WHAT));
    if (r->native == NULL && b->n_nodes != re->n_nodes)
        return fail(HULL_EFORMAT, "%u nodes, the text has %u", b->n_nodes,
                    re->n_nodes);
    b->e = engine_ref(re->e);
    b->text = re->text;
    b->hit = re->hit;
    b->rebuilt = re->rebuilt;
    b->backend = plan_str(r->p, re->backend);
    TRY(ir_status(r->p->m));
    return read_block_holes(r, b, row);
}

static hull_status read_blocks(plan_reader *r)
{
    json_t *list;
    uint32_t n;

    TRY(want_rows(&list, &n, r->top, "blocks"));
    r->p->blocks = arena_array(&r->p->m->a, n, sizeof *r->p->blocks);
    if (r->p->blocks == NULL)
        return fail_oom(n * sizeof *r->p->blocks);
    r->p->n_blocks = n; /* plan_free lets engines go */
    for (uint32_t i = 0; i < n; i++)
        TRY(note(read_block(r, &r->p->blocks[i], json_array_get(list, i)),
                 "block %u", i));
    return HULL_OK;
}

hull_status section_get_ir(ir **out, container *c, const char *tag,
                           const ir *pins)
{
    str text;

    *out = NULL;
    TRY(get_text(&text, c, tag));
    if (text.n == 0)
        return ir_new(out);
    return note(ir_parse(out, text, pins), "section '%s'", tag);
}

static hull_status read_main(plan_reader *r)
{
    hull_status st = HULL_OK;
    uint32_t n_inputs, n_outputs;
    ir *m = NULL;

    TRY_OUT(section_get_ir(&m, r->c, "main", r->p->m));
    if (m->n_graphs != 1)
        TRY_OUT(fail(HULL_EFORMAT, "section 'main' has %u graphs, wanted 1",
                     m->n_graphs));
    r->p->main = graph_copy(r->p->m, m->graphs[0], str_of("main"));
    TRY_OUT(ir_status(r->p->m));
    TRY_OUT(want_strs(&r->p->inputs, &n_inputs, r->p, r->top, "inputs"));
    TRY_OUT(want_strs(&r->p->outputs, &n_outputs, r->p, r->top, "outputs"));
    if (r->p->main->body->n_params != n_inputs ||
        r->p->main->body->n_results != n_outputs)
        TRY_OUT(fail(HULL_EFORMAT, "main has %u parameters and %u results, the "
                     "module names %u and %u", r->p->main->body->n_params,
                     r->p->main->body->n_results, n_inputs, n_outputs));
    TRY_OUT(plan_check(r->p));
    st = plan_describe_interface(r->p);
out:
    ir_free(m);
    return st;
}

static hull_status read_fallbacks(plan_reader *r)
{
    plan *p = r->p;
    json_t *list;
    uint32_t n;

    TRY(want_rows(&list, &n, r->top, "fallbacks"));
    p->fallbacks = arena_array(&p->m->a, n, sizeof *p->fallbacks);
    if (p->fallbacks == NULL)
        return fail_oom(n * sizeof *p->fallbacks);
    for (uint32_t i = 0; i < n; i++) {
        json_t *row = json_array_get(list, i);

        TRY(want_str(&p->fallbacks[i].node, p, row, "node"));
        TRY(want_str(&p->fallbacks[i].op, p, row, "op"));
        TRY(want_str(&p->fallbacks[i].reason, p, row, "reason"));
    }
    p->n_fallbacks = n;
    return HULL_OK;
}

/* What the other sections refer to. */
static hull_status read_basics(plan_reader *r)
{
    plan *p = r->p;
    bytes data;
    str text;

    TRY(section_get_json(&r->top, r->c, "module"));
    TRY(want_str(&p->format, p, r->top, "format"));
    TRY(want_str(&p->producer, p, r->top, "producer"));
    TRY(want_strs(&p->unread, &p->n_unread, p, r->top, "unread"));
    TRY(get_text(&text, r->c, "imported"));
    p->imported = plan_str(p, text);
    TRY(ir_status(p->m));
    TRY(container_get(r->c, "pins", MODULE_PINS_MAX, &data));
    TRY(note(pins_read(p->m, data), "section 'pins'"));
    ir_free(p->recipes);
    p->recipes = NULL;
    TRY(section_get_ir(&p->recipes, r->c, "recipes", p->m));
    r->taken = arena_array(&p->m->a, p->recipes->n_graphs, sizeof(bool));
    if (r->taken == NULL)
        return fail_oom(p->recipes->n_graphs);
    if (r->native != NULL)
        return HULL_OK;
    return container_get(r->c, "kept", UINT64_MAX, &r->kept);
}

static hull_status read_plan(plan **out, container *c, const devices *ds,
                             cache *ch, const weights *native)
{
    plan_reader r = {.c = c, .ds = ds, .cache = ch, .native = native};
    hull_status st = HULL_OK;

    *out = NULL;
    TRY(plan_new(&r.p));
    TRY_OUT(read_basics(&r));
    TRY_OUT(read_holes(&r));
    TRY_OUT(read_literals(&r));
    TRY_OUT(read_engines(&r));
    TRY_OUT(read_blocks(&r));
    TRY_OUT(read_main(&r));
    TRY_OUT(read_fallbacks(&r));
    *out = r.p;
    r.p = NULL;
out:
    for (uint32_t i = 0; i < r.n_engines; i++)
        engine_unref(r.engines[i].e);
    mem_free(r.engines);
    json_free(r.top);
    plan_free(r.p);
    return st;
}

hull_status plan_read(plan **out, container *c, const devices *ds, cache *ch)
{
    *out = NULL;
    if (container_kind_of(c) != CONTAINER_MODULE)
        return fail(HULL_EFORMAT, "file is no module");
    return read_plan(out, c, ds, ch, NULL);
}

hull_status plan_read_frame(plan **out, container *c, const devices *ds,
                            cache *ch, const weights *native)
{
    *out = NULL;
    TRY(read_plan(out, c, ds, ch, native));
    (*out)->asked_cache = true;
    (*out)->direct = true;
    return HULL_OK;
}

/* ---- which backends a file wants ----------------------------------------- */

static bool listed(const buf *b, str name)
{
    str rest = buf_view(b);

    while (rest.n > 0)
        if (str_eq(str_split(rest, ',', &rest), name))
            return true;
    return false;
}

hull_status plan_file_backends(buf *out, container *c, const options *o)
{
    hull_status st = HULL_OK;
    json_t *top, *list;
    uint32_t n;

    TRY(section_get_json(&top, c, "module"));
    TRY_OUT(want_rows(&list, &n, top, "blocks"));
    for (uint32_t i = 0; i < n; i++) {
        str name;

        TRY_OUT(json_want_string(&name, json_array_get(list, i), "backend",
                                 MODULE_WHAT));
        if (backend_find(name) == NULL || listed(out, name) ||
            option_lists(o, OPT_backends, name))
            continue;
        buf_str(out, name);
        buf_putc(out, ',');
    }
    buf_str(out, option_str(o, OPT_backends));
    st = buf_status(out);
out:
    json_free(top);
    return st;
}
