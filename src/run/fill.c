/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * fill.c - how a binding fills a module's slots. Each block's prepare program
 * is put behind the binding's recipes in one graph, and the two are simplified
 * together: a transpose that undoes a transpose leaves the tensor itself. The
 * graph is then cut into units: slots that share computed values belong
 * together, all others are filled alone and in parallel.
 */
#include "run/module.h"

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
    digest_update(&d, &b->map, sizeof b->map);
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
    val *map;            /* value of g -> of the unit that is being made */
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

uint64_t static_bytes(const type *t)
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
static hull_status take_leaf(composer *c, fill_unit *u, graph *to,
                             node *leaf)
{
    val *map = c->map;
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

/* The nodes and slots of a block, unit by unit, each in the graph's order. */
typedef struct grouping {
    arena a;
    uint32_t *parent;    /* per slot: see find_root */
    node **nodes;
    uint32_t *first_node; /* per slot that is a root, and one more */
    uint32_t *slots;
    uint32_t *first_slot;
} grouping;

static hull_status grouping_init(grouping *gr, const graph *g)
{
    uint32_t n = g->body->n_results, n_nodes = 0;

    for (const node *k = g->body->first; k != NULL; k = k->next)
        n_nodes++;
    *gr = (grouping){0};
    gr->parent = arena_array(&gr->a, n, sizeof *gr->parent);
    gr->nodes = arena_array(&gr->a, n_nodes, sizeof(*gr->nodes));
    gr->first_node = arena_array(&gr->a, n + 2u, sizeof *gr->first_node);
    gr->slots = arena_array(&gr->a, n, sizeof *gr->slots);
    gr->first_slot = arena_array(&gr->a, n + 2u, sizeof *gr->first_slot);
    if (gr->parent == NULL || gr->nodes == NULL || gr->first_node == NULL ||
        gr->slots == NULL || gr->first_slot == NULL)
        return fail_oom(n_nodes * sizeof(*gr->nodes));
    return HULL_OK;
}

/* Counts per root into first[root + 2]; summed up, first[root + 1] is where
 * the next one of that root goes, and at last where the next root begins. */
static void group(grouping *gr, graph *g)
{
    uint32_t n = g->body->n_results;

    for (uint32_t i = 0; i < n; i++)
        gr->first_slot[find_root(gr->parent, i) + 2]++;
    for (node *k = g->body->first; k != NULL; k = k->next) {
        if (is_leaf_node(k) || k->number == UINT32_MAX)
            continue;
        k->number = find_root(gr->parent, k->number);
        gr->first_node[k->number + 2]++;
    }
    for (uint32_t i = 2; i < n + 2; i++) {
        gr->first_slot[i] += gr->first_slot[i - 1];
        gr->first_node[i] += gr->first_node[i - 1];
    }
    for (uint32_t i = 0; i < n; i++)
        gr->slots[gr->first_slot[find_root(gr->parent, i) + 1]++] = i;
    for (node *k = g->body->first; k != NULL; k = k->next)
        if (!is_leaf_node(k) && k->number != UINT32_MAX)
            gr->nodes[gr->first_node[k->number + 1]++] = k;
}

/* Calls fn for every leaf that the unit reads, as often as it does. */
typedef hull_status leaf_fn(composer *c, fill_unit *u, graph *to, node *leaf);

static hull_status each_leaf(composer *c, fill_unit *u, graph *to,
                             const node *n, leaf_fn *fn)
{
    for (uint32_t i = 0; i < n->n_in; i++) {
        node *def = n->in[i] != 0 ? graph_def(c->g, n->in[i]) : NULL;

        if (def != NULL && is_leaf_node(def))
            TRY(fn(c, u, to, def));
    }
    return HULL_OK;
}

static hull_status forget_leaf(composer *c, fill_unit *u, graph *to,
                               node *leaf)
{
    (void)u;
    (void)to;
    c->map[leaf->out[0]] = 0;
    return HULL_OK;
}

static hull_status slot_leaf(composer *c, fill_unit *u, graph *to,
                             val slot, leaf_fn *fn)
{
    node *def = graph_def(c->g, slot);

    return def != NULL && is_leaf_node(def) ? fn(c, u, to, def) : HULL_OK;
}

static hull_status unit_graph(composer *c, fill_unit *u, graph *to,
                              node *const *nodes, uint32_t n_nodes)
{
    const val *results = c->g->body->results;

    for (uint32_t i = 0; i < n_nodes; i++) {
        TRY(each_leaf(c, u, to, nodes[i], take_leaf));
        graph_copy_node(to, c->g, nodes[i], c->map);
    }
    for (uint32_t i = 0; i < u->n_slots; i++) {
        val v = results[u->slots[i]];

        TRY(slot_leaf(c, u, to, v, take_leaf));
        graph_result(to, c->map[graph_resolve(c->g, v)]);
    }
    /* Units share leaves and nothing else. */
    for (uint32_t i = 0; i < n_nodes; i++)
        TRY(each_leaf(c, u, to, nodes[i], forget_leaf));
    for (uint32_t i = 0; i < u->n_slots; i++)
        TRY(slot_leaf(c, u, to, results[u->slots[i]], forget_leaf));
    return ir_status(to->m);
}

/* ---- units in parts ------------------------------------------------------ */

/* A source above this is packed a few rows at a time: they stay in a core's
 * cache in between, and it never lies in memory as a whole. Bytes. */
#define LARGE ((uint64_t)1 << 20)

static bool is_by_rows(const composer *c, const fill_unit *u, const node *n)
{
    const graph *g = c->g;
    const node *leaf = graph_def(g, n->in[0]);

    if (n->op == OP_pack ? attr_int(n, "groups") != 1 ||
                               attr_int(n, "depth") != 0
                         : n->op != OP_winograd_weight ||
                               attr_int(n, "panels") != 0)
        return false;
    return n->n_in == 1 && u->n_slots == 1 && leaf != NULL &&
           leaf->op == OP_weight &&
           hull_dtype_bits(graph_type(g, n->in[0])->dtype) >= 8 &&
           static_bytes(graph_type(g, n->in[0])) >= LARGE;
}

/* The rows' places in the slot, and the node that writes there. */
static node *row_node(fill_unit *u, graph *to, const node *n, const type *w)
{
    node *p = node_new(to, n->op);
    uint64_t width = hull_dtype_bits(w->dtype) / 8;

    u->step = attr_int(n, "tile");
    u->rows = w->dims[0];
    node_int(to, p, "tile", u->step);
    if (n->op == OP_winograd_weight) {
        u->across = (uint64_t)w->dims[1] * width;
        node_int(to, p, "m", attr_int(n, "m"));
        node_int(to, p, "panels", (u->rows + u->step - 1) / u->step);
        return p;
    }
    node_int(to, p, "axis", attr_int(n, "axis"));
    if (attr_int(n, "axis") == 1) {
        u->across = (uint64_t)u->step * width;
        u->step = 1;
        node_int(to, p, "depth", u->rows);
    }
    return p;
}

/* The unit of one such node, for any number of rows. */
static hull_status row_graph(composer *c, fill_unit *u, graph *to,
                             const node *n)
{
    type t = type_copy(to->m, c->g->m, graph_type(c->g, n->in[0]));
    dim *dims = arena_array(&to->m->a, t.rank, sizeof *dims);
    node *p = row_node(u, to, n, &t);

    if (dims == NULL)
        return fail_oom(t.rank * sizeof *dims);
    TRY(leaf_source(&u->sources[u->n_sources++], c->fp->m, c->g,
                    graph_def(c->g, n->in[0])));
    memcpy(dims, t.dims, t.rank * sizeof *dims);
    dims[0] = dim_fresh(to->m, "R");
    t.dims = dims;
    node_input(to, p, graph_param(to, str_of(""), &t));
    graph_result(to, node_add(to, p));
    return ir_status(to->m);
}

static bool unit_is_identity(const composer *c, const fill_unit *u)
{
    const node *def = graph_def(c->g, c->g->body->results[u->slots[0]]);

    return u->n_slots == 1 && def != NULL && def->op == OP_weight;
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

/* The unit's slots, and room for its sources. */
static hull_status begin_unit(composer *c, fill_unit *u, const grouping *gr,
                              uint32_t id)
{
    const graph *g = c->g;
    uint32_t n = gr->first_slot[id + 1] - gr->first_slot[id], n_reads = n;
    arena *a = &c->fp->m->a;

    *u = (fill_unit){.block = c->block_index,
                     .first_source = c->fp->n_sources};
    for (uint32_t i = gr->first_node[id]; i < gr->first_node[id + 1]; i++)
        n_reads += gr->nodes[i]->n_in;
    u->d = devices_find(c->ds, c->block->backend);
    u->slots = arena_array(a, n, sizeof *u->slots);
    u->slot_bytes = arena_array(a, n, sizeof *u->slot_bytes);
    u->sources = arena_array(a, n_reads, sizeof *u->sources);
    if (u->slots == NULL || u->slot_bytes == NULL || u->sources == NULL)
        return fail_oom(n_reads * sizeof *u->sources);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t slot = gr->slots[gr->first_slot[id] + i];

        u->slots[i] = slot;
        u->slot_bytes[i] =
            static_bytes(graph_type(g, g->body->results[slot]));
        c->fp->bytes += u->slot_bytes[i];
    }
    u->n_slots = n;
    return HULL_OK;
}

static hull_status make_unit(composer *c, const grouping *gr, uint32_t id)
{
    fill_unit *u = &c->fp->units[c->fp->n_units];
    uint32_t first = gr->first_node[id];
    uint32_t n_nodes = gr->first_node[id + 1] - first;
    char name[48];
    graph *to;

    TRY(begin_unit(c, u, gr, id));
    snprintf(name, sizeof name, "unit%u", c->fp->n_units);
    to = graph_new(c->fp->m, str_of(name));
    if (to == NULL)
        return ir_status(c->fp->m);
    if (n_nodes == 1 && is_by_rows(c, u, gr->nodes[first]))
        TRY(row_graph(c, u, to, gr->nodes[first]));
    else
        TRY(unit_graph(c, u, to, gr->nodes + first, n_nodes));
    u->identity = unit_is_identity(c, u);
    TRY(unit_identity(u, to));
    if (!u->identity)
        TRY(u->d->be->program_load(&u->prog, u->d, to));
    c->fp->n_units++;
    c->fp->n_sources += u->n_sources;
    return HULL_OK;
}

static hull_status make_units(composer *c)
{
    hull_status st = HULL_OK;
    grouping gr;

    TRY_OUT(grouping_init(&gr, c->g));
    c->map = arena_array(&gr.a, c->g->n_values, sizeof *c->map);
    if (c->map == NULL)
        TRY_OUT(fail_oom(c->g->n_values * sizeof *c->map));
    join_units(c, gr.parent);
    group(&gr, c->g);
    for (uint32_t i = 0; i < c->g->body->n_results; i++)
        if (find_root(gr.parent, i) == i)
            TRY_OUT(make_unit(c, &gr, i));
out:
    arena_fini(&gr.a);
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
