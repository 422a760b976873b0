/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * fill.c - how a binding fills a module's slots. Each block's prepare program
 * is put behind the binding's recipes in one graph, and the two are simplified
 * together: a transpose that undoes a transpose leaves the tensor itself. The
 * graph is then cut into units: slots that share computed values belong
 * together, all others are filled alone and in parallel.
 */
#include "run/run.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

/* ---- what the fill plan depends on --------------------------------------- */

static void sign_u64(digester *d, uint64_t v)
{
    digest_update(d, &v, sizeof v);
}

static void sign_str(digester *d, str s)
{
    sign_u64(d, s.n);
    digest_update(d, s.p, s.n);
}

static hull_status sign_recipe(digester *d, const graph *g)
{
    hull_status st;
    buf text;

    buf_init(&text, SIZE_MAX / 2);
    graph_print(&text, g);
    st = buf_status(&text);
    if (st == HULL_OK)
        sign_str(d, buf_view(&text));
    buf_fini(&text);
    return st;
}

hull_status binding_signature(digest *out, const plan *p, const binding *b)
{
    digester d;

    digest_begin(&d);
    sign_u64(&d, p->n_holes);
    for (uint32_t i = 0; i < b->n; i++) {
        const bound_hole *h = &b->holes[i];

        sign_u64(&d, h->kind);
        sign_u64(&d, h->source);
        if (h->kind == BOUND_ENTRY)
            sign_str(&d, h->entry->name);
        if (h->kind == BOUND_RECIPE)
            TRY(sign_recipe(&d, h->recipe));
    }
    digest_end(&d, out);
    return HULL_OK;
}

/* ---- one graph per block ------------------------------------------------- */

typedef struct composer {
    const plan *p;
    const binding *b;
    const devices *ds;
    fill_plan *fp;
    const plan_block *block;
    uint32_t block_index;
    ir *work;
    graph *g;            /* the composed graph */
    strmap leaves;       /* leaf name -> its value in g */
} composer;

/* Leaf names say where the bytes are: "k<hole>:" or "w<checkpoint>:<name>". */
static val add_leaf(composer *c, char kind, uint32_t number, str name,
                    const type *t)
{
    hull_status st = HULL_OK;
    val v = 0;
    buf full;

    buf_init(&full, 16 * 1024);
    buf_printf(&full, "%c%u:", kind, number);
    buf_str(&full, name);
    TRY_OUT(buf_status(&full));
    if (strmap_get(&c->leaves, buf_view(&full), &v))
        goto out;
    v = op_weight(c->g, buf_view(&full), t);
    TRY_OUT(strmap_set(&c->leaves, buf_view(&full), v));
out:
    if (st != HULL_OK)
        ir_fail(c->work, st);
    buf_fini(&full);
    return v;
}

/* The recipe's nodes, with leaves named by checkpoint. */
static val add_recipe(composer *c, const graph *recipe, uint32_t source)
{
    graph *g = c->g;
    val *map = mem_calloc(recipe->n_values, sizeof *map), v;

    if (map == NULL) {
        ir_fail(g->m, fail_oom(recipe->n_values * sizeof *map));
        return 0;
    }
    for (const node *n = recipe->body->first; n != NULL; n = n->next) {
        if (n->op == OP_weight) {
            type t = type_copy(g->m, recipe->m, graph_type(recipe, n->out[0]));

            map[n->out[0]] = add_leaf(c, 'w', source, attr_str(n, "name"), &t);
        } else {
            graph_copy_node(g, recipe, n, map);
        }
    }
    v = map[graph_resolve(recipe, recipe->body->results[0])];
    mem_free(map);
    return v;
}

static val add_hole(composer *c, uint32_t hole, const type *t)
{
    const bound_hole *h = &c->b->holes[hole];

    switch (h->kind) {
    case BOUND_ENTRY:
        return add_leaf(c, 'w', h->source, h->entry->name, t);
    case BOUND_RECIPE:
        return add_recipe(c, h->recipe, h->source);
    case BOUND_KEPT:
        return add_leaf(c, 'k', hole, str_of(""), t);
    case BOUND_NONE:
        break;
    }
    ir_fail(c->work, fail(HULL_EINTERNAL, "hole '%.*s' is not bound",
                          STR_ARG(c->p->holes[hole].name)));
    return 0;
}

static hull_status simplify_together(graph *g)
{
    static const char *const names[] = {"fold", "simplify", "cse", "simplify"};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        TRY(pass_run(pass_find(str_of(names[i])), g));
    return HULL_OK;
}

static hull_status compose(composer *c)
{
    const graph *prep = c->block->e->prepare;
    uint32_t n_in = prep->body->n_params, n_out = prep->body->n_results;
    val *args = mem_calloc(n_in + 1, sizeof *args);
    val *outs = mem_calloc(n_out + 1, sizeof *outs);
    hull_status st = HULL_OK;

    c->g = graph_new(c->work, str_of("fill"));
    if (args == NULL || outs == NULL || c->g == NULL)
        TRY_OUT(fail_oom(n_in * sizeof *args));
    if (n_in != c->block->n_holes)
        TRY_OUT(fail(HULL_EINTERNAL, "engine has %u holes, block %u", n_in,
                     c->block->n_holes));
    for (uint32_t i = 0; i < n_in; i++) {
        type t = type_copy(c->work, prep->m,
                           graph_type(prep, prep->body->params[i]));

        args[i] = add_hole(c, c->block->holes[i], &t);
    }
    TRY_OUT(ir_status(c->work));
    graph_inline(c->g, prep, args, outs);
    for (uint32_t i = 0; i < n_out; i++)
        graph_result(c->g, outs[i]);
    TRY_OUT(ir_status(c->work));
    graph_settle(c->g);
    graph_remove_dead(c->g);
    st = simplify_together(c->g);
out:
    mem_free(args);
    mem_free(outs);
    return st;
}

/* ---- units --------------------------------------------------------------- */

static bool is_leaf_node(const node *n)
{
    return (op_get(n->op)->traits & OP_LEAF) != 0;
}

/* Unit numbers of nodes and slots form a forest; the root is the unit. */
static uint32_t find_root(uint32_t *parent, uint32_t i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

/* A computed node that a slot needs joins the slot's unit. Walks from the last
 * node to the first, so that a node's readers are seen before it. */
static void join_operands(composer *c, node *n, uint32_t *parent)
{
    for (uint32_t i = 0; i < n->n_in; i++) {
        node *def = n->in[i] != 0 ? graph_def(c->g, n->in[i]) : NULL;

        if (def == NULL || is_leaf_node(def))
            continue;
        if (def->number == UINT32_MAX)
            def->number = find_root(parent, n->number);
        else
            parent[find_root(parent, def->number)] =
                find_root(parent, n->number);
    }
}

static void join_units(composer *c, uint32_t *parent)
{
    graph *g = c->g;

    for (node *n = g->body->first; n != NULL; n = n->next)
        n->number = UINT32_MAX;
    for (uint32_t i = 0; i < g->body->n_results; i++) {
        node *def = graph_def(g, g->body->results[i]);

        parent[i] = i;
        if (def == NULL || is_leaf_node(def))
            continue;
        if (def->number == UINT32_MAX)
            def->number = i;
        else
            parent[i] = find_root(parent, def->number);
    }
    for (node *n = g->body->last; n != NULL; n = n->prev)
        if (n->number != UINT32_MAX)
            join_operands(c, n, parent);
}

static uint64_t static_bytes(const type *t)
{
    uint64_t numel = 1, size = 0;

    for (uint32_t i = 0; i < t->rank; i++)
        if (t->dims[i] < 0 || !mul_u64(&numel, numel, (uint64_t)t->dims[i]))
            return 0;
    return dtype_bytes(&size, t->dtype, numel) ? size : 0;
}

/* Reads back what add_leaf wrote. */
static hull_status leaf_source(fill_source *out, ir *m, const graph *g,
                               const node *leaf)
{
    str rest, name = attr_str(leaf, "name");
    const type *t = graph_type(g, leaf->out[0]);
    str number = str_split(name, ':', &rest);
    int64_t v;
    char *copy;

    if (number.n < 2 || !str_to_i64(&v, (str){number.p + 1, number.n - 1}))
        return fail(HULL_EINTERNAL, "leaf '%.*s'", STR_ARG(name));
    copy = arena_strndup(&m->a, rest.p, rest.n);
    if (copy == NULL)
        return fail_oom(rest.n);
    *out = (fill_source){.kept = number.p[0] == 'k' ? (int32_t)v : -1,
                         .w = number.p[0] == 'k' ? 0 : (uint32_t)v,
                         .name = {copy, rest.n},
                         .n_bytes = static_bytes(t)};
    out->shape.rank = t->rank;
    for (uint32_t i = 0; i < t->rank; i++)
        out->shape.dims[i] = t->dims[i];
    return HULL_OK;
}

/* Copies a leaf into the unit's graph: weights become parameters. */
static hull_status take_leaf(composer *c, fill_unit *u, graph *to, node *leaf,
                             val *map)
{
    const type *t = graph_type(c->g, leaf->out[0]);
    type copy;

    if (map[leaf->out[0]] != 0)
        return HULL_OK;
    if (leaf->op != OP_weight) {
        graph_copy_node(to, c->g, leaf, map);
        return HULL_OK;
    }
    TRY(leaf_source(&u->sources[u->n_sources++], c->fp->m, c->g, leaf));
    copy = type_copy(to->m, c->g->m, t);
    map[leaf->out[0]] = graph_param(to, str_of(""), &copy);
    return HULL_OK;
}

static hull_status unit_graph(composer *c, fill_unit *u, uint32_t id,
                              uint32_t *parent, graph *to, val *map)
{
    for (node *n = c->g->body->first; n != NULL; n = n->next) {
        if (is_leaf_node(n) || n->number == UINT32_MAX ||
            find_root(parent, n->number) != id)
            continue;
        for (uint32_t i = 0; i < n->n_in; i++) {
            node *def = n->in[i] != 0 ? graph_def(c->g, n->in[i]) : NULL;

            if (def != NULL && is_leaf_node(def))
                TRY(take_leaf(c, u, to, def, map));
        }
        graph_copy_node(to, c->g, n, map);
    }
    for (uint32_t i = 0; i < u->n_slots; i++) {
        val v = c->g->body->results[u->slots[i]];
        node *def = graph_def(c->g, v);

        if (def != NULL && is_leaf_node(def))
            TRY(take_leaf(c, u, to, def, map));
        graph_result(to, map[graph_resolve(c->g, v)]);
    }
    return ir_status(to->m);
}

static bool unit_is_identity(const composer *c, const fill_unit *u)
{
    const node *def = graph_def(c->g, c->g->body->results[u->slots[0]]);

    return u->n_slots == 1 && def != NULL && def->op == OP_weight;
}

/* An upper bound of the leaves that a unit reads. */
static uint32_t count_reads(composer *c, uint32_t id, uint32_t *parent)
{
    uint32_t n_reads = c->g->body->n_results;

    for (const node *n = c->g->body->first; n != NULL; n = n->next)
        if (n->number != UINT32_MAX && find_root(parent, n->number) == id)
            n_reads += n->n_in;
    return n_reads;
}

/* Everything but the names of the sources and the checkpoints they are in. */
static hull_status unit_identity(fill_unit *u, const graph *g)
{
    hull_status st;
    digester d;
    buf text;

    buf_init(&text, SIZE_MAX / 2);
    graph_print(&text, g);
    st = buf_status(&text);
    if (st == HULL_OK) {
        str rest;

        str_split(buf_view(&text), '(', &rest); /* not the graph's name */
        digest_begin(&d);
        sign_u64(&d, u->block);
        sign_u64(&d, u->n_slots);
        digest_update(&d, u->slots, u->n_slots * sizeof *u->slots);
        for (uint32_t i = 0; i < u->n_sources; i++)
            sign_u64(&d, (uint64_t)u->sources[i].kept);
        sign_str(&d, rest);
        digest_end(&d, &u->id);
    }
    buf_fini(&text);
    return st;
}

static hull_status make_unit(composer *c, uint32_t id, uint32_t *parent)
{
    fill_unit *u = &c->fp->units[c->fp->n_units];
    uint32_t n_results = c->g->body->n_results, n_slots = 0;
    uint32_t n_reads = count_reads(c, id, parent);
    arena *a = &c->fp->m->a;
    hull_status st = HULL_OK;
    val *map = NULL;
    char name[48];
    graph *to;

    for (uint32_t i = 0; i < n_results; i++)
        n_slots += find_root(parent, i) == id;
    n_reads -= n_results - n_slots;
    *u = (fill_unit){.block = c->block_index,
                     .first_source = c->fp->n_sources};
    u->d = devices_find(c->ds, c->block->backend);
    u->slots = arena_array(a, n_slots, sizeof *u->slots);
    u->slot_bytes = arena_array(a, n_slots, sizeof *u->slot_bytes);
    u->sources = arena_array(a, n_reads, sizeof *u->sources);
    map = mem_calloc(c->g->n_values, sizeof *map);
    if (u->slots == NULL || u->slot_bytes == NULL || u->sources == NULL ||
        map == NULL)
        TRY_OUT(fail_oom(n_reads * sizeof *u->sources));
    for (uint32_t i = 0; i < n_results; i++) {
        if (find_root(parent, i) != id)
            continue;
        u->slot_bytes[u->n_slots] =
            static_bytes(graph_type(c->g, c->g->body->results[i]));
        c->fp->bytes += u->slot_bytes[u->n_slots];
        u->slots[u->n_slots++] = i;
    }
    snprintf(name, sizeof name, "unit%u", c->fp->n_units);
    to = graph_new(c->fp->m, str_of(name));
    if (to == NULL)
        TRY_OUT(ir_status(c->fp->m));
    TRY_OUT(unit_graph(c, u, id, parent, to, map));
    u->identity = unit_is_identity(c, u);
    TRY_OUT(unit_identity(u, to));
    if (!u->identity)
        TRY_OUT(u->d->be->program_load(&u->prog, u->d, to));
    c->fp->n_units++;
    c->fp->n_sources += u->n_sources;
out:
    mem_free(map);
    return st;
}

static hull_status make_units(composer *c)
{
    uint32_t n = c->g->body->n_results;
    uint32_t *parent = mem_calloc(n + 1, sizeof *parent);
    hull_status st = HULL_OK;

    if (parent == NULL)
        return fail_oom(n * sizeof *parent);
    join_units(c, parent);
    for (uint32_t i = 0; i < n && st == HULL_OK; i++)
        if (find_root(parent, i) == i)
            st = make_unit(c, i, parent);
    mem_free(parent);
    return st;
}

hull_status fill_plan_make(fill_plan **out, const plan *p, const binding *b,
                           const devices *ds)
{
    composer c = {.p = p, .b = b, .ds = ds};
    hull_status st = HULL_OK;
    size_t n_slots = 0;

    *out = NULL;
    c.fp = mem_calloc(1, sizeof *c.fp);
    if (c.fp == NULL)
        return fail_oom(sizeof *c.fp);
    atomic_init(&c.fp->refs, 1);
    TRY_OUT(binding_signature(&c.fp->signature, p, b));
    TRY_OUT(ir_new(&c.fp->m));
    for (uint32_t i = 0; i < p->n_blocks; i++)
        n_slots += p->blocks[i].e->prepare->body->n_results;
    c.fp->units = arena_array(&c.fp->m->a, n_slots, sizeof *c.fp->units);
    if (c.fp->units == NULL)
        TRY_OUT(fail_oom(n_slots * sizeof *c.fp->units));
    for (uint32_t i = 0; i < p->n_blocks; i++) {
        c.block = &p->blocks[i];
        c.block_index = i;
        TRY_OUT(ir_new(&c.work));
        TRY_OUT(compose(&c));
        TRY_OUT(make_units(&c));
        ir_free(c.work);
        c.work = NULL;
        strmap_fini(&c.leaves);
    }
    *out = c.fp;
    c.fp = NULL;
out:
    ir_free(c.work);
    strmap_fini(&c.leaves);
    fill_plan_unref(c.fp);
    return st;
}

fill_plan *fill_plan_ref(fill_plan *fp)
{
    atomic_fetch_add(&fp->refs, 1);
    return fp;
}

void fill_plan_unref(fill_plan *fp)
{
    if (fp == NULL || atomic_fetch_sub(&fp->refs, 1) != 1)
        return;
    for (uint32_t i = 0; i < fp->n_units; i++)
        if (fp->units[i].prog != NULL)
            fp->units[i].d->be->program_free(fp->units[i].prog);
    ir_free(fp->m);
    mem_free(fp);
}
