/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * compile.c - the driver: an imported graph becomes a plan. plan_compile reads
 * like the picture in ARCHITECTURE.md.
 */
#include "compile/compile.h"

#include <string.h>

str plan_str(plan *p, str s)
{
    char *copy = arena_strndup(&p->m->a, s.p, s.n);

    if (copy == NULL)
        ir_fail(p->m, fail_oom(s.n));
    return (str){copy, copy != NULL ? s.n : 0};
}

hull_status plan_new(plan **out)
{
    plan *p = mem_calloc(1, sizeof *p);
    hull_status st = HULL_OK;

    *out = NULL;
    if (p == NULL)
        return fail_oom(sizeof *p);
    TRY_OUT(ir_new(&p->m));
    TRY_OUT(ir_new(&p->recipes));
    *out = p;
    return HULL_OK;
out:
    plan_free(p);
    return st;
}

void plan_free(plan *p)
{
    if (p == NULL)
        return;
    for (uint32_t i = 0; i < p->n_blocks; i++)
        engine_unref(p->blocks[i].e);
    ir_free(p->recipes);
    ir_free(p->m);
    mem_free(p);
}

/* ---- what the binding needs to know of the holes ------------------------- */

static hull_status hole_shape(plan_hole *h, const front_hole *fh)
{
    uint64_t numel = 1;

    h->dtype = fh->type.dtype;
    h->rank = fh->type.rank;
    for (uint32_t i = 0; i < h->rank; i++) {
        h->shape[i] = fh->type.dims[i];
        if (h->shape[i] < 0 || !mul_u64(&numel, numel, (uint64_t)h->shape[i]))
            return fail(HULL_ESHAPE, "hole '%.*s' has no fixed shape",
                        STR_ARG(fh->name));
    }
    if (!dtype_bytes(&h->n_bytes, h->dtype, numel))
        return fail(HULL_ESHAPE, "hole '%.*s' is too large",
                    STR_ARG(fh->name));
    return HULL_OK;
}

hull_status plan_keep_value(plan *p, plan_hole *h, const weights *native)
{
    const weight_entry *e = weights_find(native, h->name);
    void *copy;

    h->kept = false;
    if (e == NULL || weights_storage(native, e)->absent ||
        e->len != h->n_bytes)
        return HULL_OK;
    copy = arena_alloc(&p->m->a, h->n_bytes);
    if (copy == NULL)
        return fail_oom(h->n_bytes);
    TRY(weights_read(native, e, copy));
    h->kept_value = copy;
    h->kept = true;
    return HULL_OK;
}

static hull_status copy_recipes(plan *p, plan_hole *h, const front_hole *fh)
{
    h->n_recipes = fh->n_recipes;
    h->recipes = arena_array(&p->m->a, fh->n_recipes, sizeof *h->recipes);
    h->tiers = arena_array(&p->m->a, fh->n_recipes, sizeof *h->tiers);
    if (h->recipes == NULL || h->tiers == NULL)
        return fail_oom(fh->n_recipes * sizeof *h->recipes);
    for (uint32_t i = 0; i < fh->n_recipes; i++) {
        char name[32];

        snprintf(name, sizeof name, "r%u", p->recipes->n_graphs);
        h->tiers[i] = fh->tiers[i];
        h->recipes[i] = graph_copy(p->recipes, fh->recipes[i], str_of(name));
        if (h->recipes[i] == NULL)
            return ir_status(p->recipes);
    }
    return HULL_OK;
}

static hull_status copy_hole(plan *p, plan_hole *h, const front_hole *fh,
                             const front_model *fm, const options *o)
{
    bool by_user = option_lists(o, OPT_keep, fh->name);

    h->name = plan_str(p, fh->name);
    h->reason = plan_str(p, str_of(fh->reason));
    h->derived = fh->derived;
    h->n_names = fh->n_names;
    h->names = arena_array(&p->m->a, fh->n_names, sizeof *h->names);
    if (h->names == NULL)
        return fail_oom(fh->n_names * sizeof *h->names);
    for (uint32_t i = 0; i < fh->n_names; i++)
        h->names[i] = plan_str(p, fh->names[i]);
    TRY(hole_shape(h, fh));
    TRY(copy_recipes(p, h, fh));
    if (fh->kept || by_user)
        TRY(plan_keep_value(p, h, fm->native));
    if (by_user && !h->kept)
        return fail(HULL_EINVAL,
                    "keep=%.*s: the model file holds no value for it",
                    STR_ARG(h->name));
    return ir_status(p->m);
}

hull_status plan_check_keep(const plan *p, const options *o)
{
    str rest = option_str(o, OPT_keep);

    while (rest.n > 0) {
        str word = str_trim(str_split(rest, ',', &rest));
        uint32_t i = 0;

        while (i < p->n_holes && !str_eq(p->holes[i].name, word))
            i++;
        if (i == p->n_holes && word.n > 0)
            return fail(HULL_EINVAL, "keep=%.*s: the module has no hole of "
                        "that name", STR_ARG(word));
    }
    return HULL_OK;
}

static hull_status copy_holes(plan *p, const front_model *fm,
                              const options *o)
{
    p->holes = arena_array(&p->m->a, fm->n_holes, sizeof *p->holes);
    p->unread = arena_array(&p->m->a, fm->n_unread, sizeof *p->unread);
    if (p->holes == NULL || p->unread == NULL)
        return fail_oom(fm->n_holes * sizeof *p->holes);
    for (uint32_t i = 0; i < fm->n_holes; i++)
        TRY(copy_hole(p, &p->holes[i], &fm->holes[i], fm, o));
    p->n_holes = fm->n_holes;
    for (uint32_t i = 0; i < fm->n_unread; i++)
        p->unread[i] = plan_str(p, fm->unread[i]);
    p->n_unread = fm->n_unread;
    return ir_status(p->m);
}

static hull_status copy_literal(plan *p, plan_literal *l,
                                const front_literal *fl,
                                const weight_entry *e, const weights *w)
{
    hull_status st;
    void *data = mem_alloc(e->len);

    if (data == NULL)
        return fail_oom(e->len);
    *l = (plan_literal){.name = plan_str(p, fl->name),
                        .value = plan_str(p, fl->value),
                        .reason = plan_str(p, str_of(fl->reason)),
                        .dtype = e->dtype,
                        .rank = e->rank};
    memcpy(l->shape, e->shape, sizeof l->shape);
    st = weights_read(w, e, data);
    if (st == HULL_OK)
        l->bytes = digest_of(data, e->len);
    mem_free(data);
    return st;
}

static hull_status copy_literals(plan *p, const front_model *fm)
{
    p->literals = arena_array(&p->m->a, fm->n_literals, sizeof *p->literals);
    if (p->literals == NULL)
        return fail_oom(fm->n_literals * sizeof *p->literals);
    for (uint32_t i = 0; i < fm->n_literals; i++) {
        const weight_entry *e = weights_find(fm->native, fm->literals[i].name);

        if (e != NULL && !weights_storage(fm->native, e)->absent)
            TRY(copy_literal(p, &p->literals[p->n_literals++],
                             &fm->literals[i], e, fm->native));
    }
    return ir_status(p->m);
}

/* Names of results: the value's own; "output_<i>" where it has none or shares
 * it with another result. */
static str output_name(plan *p, const graph *g, uint32_t i)
{
    str name = graph_value(g, g->body->results[i])->name;
    char made[32];

    for (uint32_t k = 0; k < g->body->n_results; k++)
        if (k != i &&
            str_eq(name, graph_value(g, g->body->results[k])->name))
            name.n = 0;
    if (name.n > 0)
        return plan_str(p, name);
    snprintf(made, sizeof made, "output_%u", i);
    return plan_str(p, str_of(made));
}

static hull_status copy_interface(plan *p, const graph *g)
{
    p->inputs = arena_array(&p->m->a, g->body->n_params, sizeof *p->inputs);
    p->outputs = arena_array(&p->m->a, g->body->n_results,
                             sizeof *p->outputs);
    if (p->inputs == NULL || p->outputs == NULL)
        return fail_oom(sizeof *p->inputs);
    for (uint32_t i = 0; i < g->body->n_params; i++)
        p->inputs[i] = plan_str(p, graph_value(g, g->body->params[i])->name);
    for (uint32_t i = 0; i < g->body->n_results; i++)
        p->outputs[i] = output_name(p, g, i);
    return ir_status(p->m);
}

static hull_status describe(plan *p, hull_tensor_info *out, str name, val v)
{
    const type *t = graph_type(p->main, v), *whole = t;
    int64_t *dims;
    buf text;
    hull_status st;

    if (t->kind == TYPE_OPTIONAL)
        t = t->elem;
    dims = arena_array(&p->m->a, t->rank, sizeof *dims);
    if (dims == NULL)
        return fail_oom(t->rank * sizeof *dims);
    for (uint32_t i = 0; i < t->rank; i++)
        dims[i] = t->dims[i] >= 0 ? t->dims[i] : -1;
    buf_init(&text, 64 * 1024);
    type_print(&text, p->m, whole);
    st = buf_status(&text);
    if (st == HULL_OK)
        *out = (hull_tensor_info){.name = name.p,
                                  .shape = dims,
                                  .type_text = plan_str(p, buf_view(&text)).p,
                                  .rank = t->kind == TYPE_TENSOR
                                              ? (int32_t)t->rank : -1,
                                  .dtype = (int32_t)(t->kind == TYPE_SEQUENCE
                                                         ? HULL_SEQUENCE
                                                         : t->dtype)};
    buf_fini(&text);
    return st;
}

uint32_t plan_n_inputs(const plan *p)
{
    return p->main->body->n_params - p->main->n_states;
}

uint32_t plan_n_outputs(const plan *p)
{
    return p->main->body->n_results - p->main->n_states;
}

const plan_hole *plan_state_hole(const plan *p, uint32_t i)
{
    for (uint32_t k = 0; k < p->n_holes; k++)
        if (str_eq(p->holes[k].name, p->main->states[i].initial))
            return &p->holes[k];
    return NULL;
}

hull_status plan_describe_interface(plan *p)
{
    const region *body = p->main->body;

    p->input_info = arena_array(&p->m->a, body->n_params,
                                sizeof *p->input_info);
    p->output_info = arena_array(&p->m->a, body->n_results,
                                 sizeof *p->output_info);
    if (p->input_info == NULL || p->output_info == NULL)
        return fail_oom(body->n_params * sizeof *p->input_info);
    for (uint32_t i = 0; i < body->n_params; i++)
        TRY(describe(p, &p->input_info[i], p->inputs[i], body->params[i]));
    for (uint32_t i = 0; i < body->n_results; i++)
        TRY(describe(p, &p->output_info[i], p->outputs[i],
                     body->results[i]));
    return ir_status(p->m);
}

/* ---- blocks to engines --------------------------------------------------- */

/* A hit whose programs do not parse is taken back: then it is a miss. */
static hull_status read_hit(engine **out, bool *hit, cache *c,
                            cache_entry *entry, const cache_key *key)
{
    hull_status st = engine_read(out, entry->c);

    if (st == HULL_OK || st == HULL_ENOMEM)
        return st;
    cache_reject(c, entry, CACHE_ENGINE, key);
    *hit = false;
    return HULL_OK;
}

/* Seconds that a block may take to build: only for how long to wait for another
 * machine that builds it. Nodes are lines; timing their ways takes most. */
static double predict_build(str text, const options *o)
{
    size_t lines = 0;

    for (size_t i = 0; i < text.n; i++)
        lines += text.p[i] == '\n';
    return (double)lines * (option_on(o, OPT_tune) ? 0.1 : 0.00005);
}

hull_status plan_engine(engine **out, bool *out_hit, str text, const ir *pins,
                        device *d, const devices *ds, cache *c)
{
    hull_status st = HULL_OK;
    cache_key key = {0};
    cache_entry entry = CACHE_ENTRY_NONE;
    cache_build flight = CACHE_BUILD_NONE;
    container_writer *w = NULL;
    tunebook book;
    ir *m = NULL;
    buf target;

    *out = NULL;
    *out_hit = false;
    tunebook_open(&book, c, false);
    TRY_OUT(device_target(&target, d));
    TRY_OUT(cache_key_make(&key, str_of(d->be->name), buf_view(&target),
                           ds->options, text));
    if (c != NULL && !cache_has(c, CACHE_ENGINE, &key))
        cache_build_begin(&flight, c, &key,
                          predict_build(text, ds->options));
    if (c != NULL)
        cache_get(&entry, out_hit, c, CACHE_ENGINE, &key);
    if (*out_hit)
        TRY_OUT(read_hit(out, out_hit, c, &entry, &key));
    if (*out_hit)
        goto out;
    TRY_OUT(ir_parse(&m, text, pins));
    TRY_OUT(engine_build(out, m->graphs[0], &key, d, ds->options,
                         &book.notes));
    if (c == NULL)
        goto out;
    cache_count_build(c);
    TRY_OUT(engine_write(&w, *out));
    cache_put(c, CACHE_ENGINE, &key, w);
out:
    if (st != HULL_OK) {
        engine_unref(*out);
        *out = NULL;
    }
    cache_build_end(&flight);
    tunebook_close(&book);
    container_writer_free(w);
    ir_free(m);
    cache_entry_close(&entry);
    cache_key_fini(&key);
    buf_fini(&target);
    return st;
}

/* What the blocks of one plan have in common while they are compiled. */
typedef struct blocks_cx {
    plan *p;
    const devices *ds;
    cache *c;
    strmap holes;        /* name -> number */
    strmap texts;        /* digest of a text -> the first block with it */
} blocks_cx;

static hull_status number_holes(blocks_cx *cx)
{
    for (uint32_t i = 0; i < cx->p->n_holes; i++)
        TRY(strmap_set(&cx->holes, cx->p->holes[i].name, i));
    return HULL_OK;
}

/* Module hole of each of the block's holes, in the block's canonical order. */
static hull_status map_holes(const blocks_cx *cx, plan_block *b, graph *g)
{
    const str *names = graph_holes(g, &b->n_holes);
    plan *p = cx->p;

    TRY(ir_status(g->m));
    b->holes = arena_array(&p->m->a, b->n_holes, sizeof *b->holes);
    if (b->holes == NULL)
        return fail_oom(b->n_holes * sizeof *b->holes);
    for (uint32_t i = 0; i < b->n_holes; i++)
        if (!strmap_get(&cx->holes, names[i], &b->holes[i]))
            return fail(HULL_EINTERNAL, "hole '%.*s' is not in the module",
                        STR_ARG(names[i]));
    return HULL_OK;
}

/* The engine of an earlier block with the same text, if there is one. */
static hull_status same_engine(blocks_cx *cx, plan_block *b, uint32_t number)
{
    const plan_block *blocks = cx->p->blocks;
    digest d = digest_of(b->text.p, b->text.n);
    str key = {(const char *)d.b, sizeof d.b};
    uint32_t i;

    if (!strmap_get(&cx->texts, key, &i))
        return strmap_set(&cx->texts, key, number);
    /* That one may be another backend's. */
    while (i < number && (!str_eq(blocks[i].backend, b->backend) ||
                          !str_eq(blocks[i].text, b->text)))
        i++;
    if (i < number) {
        b->hit = blocks[i].hit;
        b->e = engine_ref(blocks[i].e);
    }
    return HULL_OK;
}

static hull_status compile_block(blocks_cx *cx, uint32_t number, graph *g)
{
    plan *p = cx->p;
    plan_block *b = &p->blocks[number];
    hull_status st = HULL_OK;
    device *d = devices_find(cx->ds, g->backend);
    buf text;

    buf_init(&text, SIZE_MAX / 2);
    if (d == NULL)
        TRY_OUT(fail(HULL_EINTERNAL, "block '%.*s' has no device",
                     STR_ARG(g->name)));
    b->n_nodes = graph_n_nodes(g);
    b->backend = plan_str(p, g->backend);
    TRY_OUT(map_holes(cx, b, g));
    TRY_OUT(graph_canonical_text(&text, g));
    b->text = plan_str(p, buf_view(&text));
    TRY_OUT(ir_status(p->m));
    TRY_OUT(same_engine(cx, b, number));
    if (b->e == NULL)
        TRY_OUT(plan_engine(&b->e, &b->hit, b->text, p->m, d, cx->ds, cx->c));
out:
    buf_fini(&text);
    return st;
}

/* The call graph without the blocks' bodies: they live on as texts. */
static hull_status copy_main(plan *p, const ir *blocks)
{
    const graph *main = ir_find(blocks, str_of("main"));

    if (main == NULL)
        return fail(HULL_EINTERNAL, "the partition has no main graph");
    p->main = graph_copy(p->m, main, str_of("main"));
    return ir_status(p->m);
}

/* The texts name large literals by digest. */
static hull_status pin_literals(plan *p, const ir *blocks)
{
    for (uint32_t i = 0; i < blocks->n_pinned; i++)
        ir_pin(p->m, blocks->pinned[i]);
    return ir_status(p->m);
}

/* Every graph but @main is a block, in order. */
static hull_status compile_blocks(plan *p, const ir *blocks,
                                  const devices *ds, cache *c)
{
    blocks_cx cx = {.p = p, .ds = ds, .c = c};
    hull_status st = HULL_OK;

    p->blocks = arena_array(&p->m->a, blocks->n_graphs, sizeof *p->blocks);
    if (p->blocks == NULL)
        return fail_oom(blocks->n_graphs * sizeof *p->blocks);
    TRY_OUT(number_holes(&cx));
    for (uint32_t i = 0; i < blocks->n_graphs; i++) {
        graph *g = blocks->graphs[i];

        if (str_is(g->name, "main"))
            continue;
        TRY_OUT(note(compile_block(&cx, p->n_blocks, g), "block %u",
                     p->n_blocks));
        p->n_blocks++;
    }
out:
    strmap_fini(&cx.holes);
    strmap_fini(&cx.texts);
    return st;
}

/* The text as imported, before any pass: what a model given to a later refit
 * must equal. */
static hull_status take_imported_text(plan *p, graph *g)
{
    hull_status st = HULL_OK;
    buf text;

    buf_init(&text, SIZE_MAX / 2);
    TRY_OUT(graph_canonical_text(&text, g));
    p->imported = plan_str(p, buf_view(&text));
    st = ir_status(p->m);
out:
    buf_fini(&text);
    return st;
}

hull_status plan_compile(plan **out, const front_model *fm, const devices *ds,
                         cache *c)
{
    uint64_t start = time_ns();
    hull_status st = HULL_OK;
    plan *p = NULL;
    ir *work = NULL, *blocks = NULL;
    graph *g;

    *out = NULL;
    TRY(plan_new(&p));
    TRY_OUT(ir_new(&work));
    g = graph_copy(work, fm->g, str_of("main"));
    TRY_OUT(ir_status(work));
    TRY_OUT(take_imported_text(p, g));
    TRY_OUT(copy_holes(p, fm, ds->options));
    TRY_OUT(copy_literals(p, fm));
    TRY_OUT(plan_check_keep(p, ds->options));
    TRY_OUT(copy_interface(p, g));
    TRY_OUT(passes_run(STAGE_GRAPH, g));
    graph_canonical_order(g);
    TRY_OUT(ir_status(work));
    TRY_OUT(partition(p, &blocks, g, ds));
    TRY_OUT(pin_literals(p, blocks));
    p->asked_cache = c != NULL;
    TRY_OUT(compile_blocks(p, blocks, ds, c));
    TRY_OUT(copy_main(p, blocks));
    TRY_OUT(plan_check(p));
    TRY_OUT(plan_describe_interface(p));
    p->format = plan_str(p, str_of(fm->format));
    p->producer = plan_str(p, fm->producer);
    p->compile_seconds = (double)(time_ns() - start) * 1e-9;
    TRY_OUT(ir_status(p->m));
    *out = p;
    p = NULL;
out:
    ir_free(blocks);
    ir_free(work);
    plan_free(p);
    return st;
}
