/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * partition.c - cuts a graph into blocks, one backend each. A node goes to the
 * first backend without a reason against it. Nodes of one backend share a
 * block when they share a stage: a node's stage is the largest of its
 * operands' stages, plus one where the backend changes. So no path leaves a
 * block and comes back, and the order of stages is an order of execution.
 * Blocks that are too small go to ref. Deterministic: the same graph and
 * options give the same blocks.
 *
 * Weights, literals and what depends on them alone belong to no block: each
 * block gets its own, so that it can become prepare work.
 *
 * Nodes whose sizes a run decides, and all that depends on them, form one block
 * of ref, the reference interpreter's: nothing else reads what it makes.
 */
#include "compile/compile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Per top-level node, indexed by node.number. */
typedef struct assignment {
    node *n;
    uint32_t device;   /* index into devices */
    uint32_t stage;
    uint32_t block;
    const char *reason; /* why not a more preferred device */
    bool dynamic;       /* a run decides its sizes, or those of what it reads */
} assignment;

typedef struct cluster {
    uint32_t device, stage, n_nodes;
    uint32_t first;    /* in grouped */
} cluster;

typedef struct partitioner {
    plan *p;
    graph *g;
    const devices *ds;
    assignment *nodes;
    uint32_t n;
    cluster *clusters;
    uint32_t n_clusters;
    uint32_t *grouped; /* numbers of the nodes, cluster by cluster */
    uint32_t *place;   /* per value: of its node in the graph, from 1 on */
    bool *outside;     /* per value: a result, or read by another block */
    binders binders;
    arena a;
} partitioner;

#define SHARED UINT32_MAX /* node.number of a node that is in no block */

/* Calls fn for each value that n or its bodies read from outside of n. */
typedef binder_fn read_fn;

static void body_reads(const partitioner *pt, const region *r, read_fn *fn,
                       void *user);

static void node_reads(const partitioner *pt, const node *n, read_fn *fn,
                       void *user)
{
    const op_info *info = op_get(n->op);

    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i] != 0)
            fn(user, graph_resolve(pt->g, n->in[i]));
    binders_each(&pt->binders, pt->g, n, fn, user);
    for (uint32_t i = 0; i < info->n_attrs; i++)
        if (info->attrs[i].kind == ATTR_GRAPH && n->attrs[i].u.g != NULL)
            body_reads(pt, n->attrs[i].u.g, fn, user);
}

static void body_reads(const partitioner *pt, const region *r, read_fn *fn,
                       void *user)
{
    for (const node *n = r->first; n != NULL; n = n->next)
        node_reads(pt, n, fn, user);
    for (uint32_t i = 0; i < r->n_results; i++)
        fn(user, graph_resolve(pt->g, r->results[i]));
}

/* The assignment of the node that makes v at the top level; NULL for
 * parameters, shared values and values inside bodies. */
static assignment *maker(const partitioner *pt, val v)
{
    const node *def = graph_def(pt->g, v);

    if (def == NULL || def->parent != pt->g->body ||
        def->number >= pt->n || pt->nodes[def->number].n != def)
        return NULL;
    return &pt->nodes[def->number];
}

/* A word of the option that means no node is a typo, or of another model. */
static void warn_unused_fallback(const partitioner *pt)
{
    str rest = option_str(pt->ds->options, OPT_fallback);

    while (rest.n > 0) {
        str word = str_trim(str_split(rest, ',', &rest));
        uint32_t i = 0;

        while (i < pt->n &&
               !str_is(word, op_get(pt->nodes[i].n->op)->name) &&
               !str_eq(word, pt->nodes[i].n->label))
            i++;
        if (i == pt->n)
            log_warn("compile", "fallback=%.*s: the model has no such node",
                     STR_ARG(word));
    }
}

/* ---- which device -------------------------------------------------------- */

typedef struct shared_cx {
    const graph *g;
    bool all;
} shared_cx;

static void want_shared(void *user, val v)
{
    shared_cx *cx = user;
    const node *def = graph_def(cx->g, v);

    if (def == NULL ? graph_value(cx->g, v)->scope == cx->g->body
                    : def->parent == cx->g->body && def->number != SHARED)
        cx->all = false;
}

/* In no block: a leaf, or work on shared values that every device takes. A
 * result needs a block to deliver it. */
static bool is_shared(const partitioner *pt, const graph_facts *f,
                      const node *n)
{
    const graph *g = pt->g;
    shared_cx cx = {g, true};

    for (uint32_t i = 0; i < n->n_out; i++)
        if (pt->outside[n->out[i]])
            return false;
    if ((op_get(n->op)->traits & OP_LEAF) != 0)
        return true;
    for (uint32_t i = 0; i < n->n_out; i++)
        if (value_is_runtime(f, n->out[i]))
            return false;
    node_reads(pt, n, want_shared, &cx);
    for (uint32_t i = 0; cx.all && i < pt->ds->n; i++)
        cx.all = pt->ds->d[i]->be->why_not(pt->ds->d[i], g, n) == NULL;
    return cx.all && n->n_out > 0;
}

typedef struct dynamic_cx {
    const partitioner *pt;
    bool found;
} dynamic_cx;

static void reads_dynamic(void *user, val v)
{
    dynamic_cx *cx = user;
    const assignment *from = maker(cx->pt, v);

    cx->found = cx->found || (from != NULL && from->dynamic);
}

/* Nodes come in order, so what n reads is already marked. */
static hull_status mark_dynamic(const partitioner *pt, assignment *a)
{
    dynamic_cx cx = {pt, node_is_dynamic(pt->g, a->n)};

    if (cx.found)
        TRY(node_check_sizes(pt->g, a->n));
    node_reads(pt, a->n, reads_dynamic, &cx);
    a->dynamic = cx.found;
    if (a->dynamic)
        a->reason = "its sizes depend on data, or it makes no tensor";
    return HULL_OK;
}

static bool is_forced(const options *o, const node *n)
{
    return option_lists(o, OPT_fallback, str_of(op_get(n->op)->name)) ||
           option_lists(o, OPT_fallback, n->label);
}

/* Where nodes stand, and the results, which leave their block. */
static hull_status look_around(partitioner *pt, uint32_t *out_count)
{
    const graph *g = pt->g;
    uint32_t at = 0;

    pt->place = arena_array(&pt->a, g->n_values, sizeof *pt->place);
    pt->outside = arena_array(&pt->a, g->n_values, sizeof *pt->outside);
    if (pt->place == NULL || pt->outside == NULL)
        return fail_oom(g->n_values * sizeof *pt->place);
    for (const node *n = g->body->first; n != NULL; n = n->next) {
        at++;
        for (uint32_t i = 0; i < n->n_out; i++)
            pt->place[n->out[i]] = at;
    }
    for (uint32_t i = 0; i < g->body->n_results; i++)
        pt->outside[graph_resolve(g, g->body->results[i])] = true;
    *out_count = at;
    return HULL_OK;
}

static hull_status assign_devices(partitioner *pt)
{
    uint32_t count = 0;
    graph_facts facts;

    TRY(graph_facts_get(&facts, pt->g));
    TRY(look_around(pt, &count));
    pt->nodes = arena_array(&pt->a, count, sizeof *pt->nodes);
    if (pt->nodes == NULL)
        return fail_oom(count * sizeof *pt->nodes);
    for (node *n = pt->g->body->first; n != NULL; n = n->next) {
        assignment *a = &pt->nodes[pt->n];
        bool forced = is_forced(pt->ds->options, n);

        n->number = SHARED;
        *a = (assignment){.n = n};
        TRY(mark_dynamic(pt, a));
        if (!a->dynamic && !forced && is_shared(pt, &facts, n)) {
            *a = (assignment){0};
            continue;
        }
        n->number = pt->n++;
        if (a->dynamic) {
            a->device = pt->ds->n - 1;
            continue;
        }
        if (forced) {
            a->device = pt->ds->n - 1;
            a->reason = "forced by the option fallback";
            continue;
        }
        for (; a->device + 1 < pt->ds->n; a->device++) {
            device *d = pt->ds->d[a->device];
            const char *why = d->be->why_not(d, pt->g, n);

            if (why == NULL)
                break;
            if (a->reason == NULL)
                a->reason = why;
        }
    }
    warn_unused_fallback(pt);
    return HULL_OK;
}

/* ---- which block --------------------------------------------------------- */

typedef struct stage_cx {
    const partitioner *pt;
    assignment *a;
} stage_cx;

static void raise_stage(void *user, val v)
{
    stage_cx *cx = user;
    const assignment *from = maker(cx->pt, v);
    uint32_t stage;

    if (from == NULL || from == cx->a)
        return;
    stage = from->stage + (from->device != cx->a->device ? 1 : 0);
    if (stage > cx->a->stage)
        cx->a->stage = stage;
}

/* The dynamic nodes come last, in a stage that no other node has. */
static void assign_stages(partitioner *pt)
{
    uint32_t last = 0;

    for (uint32_t i = 0; i < pt->n; i++) {
        stage_cx cx = {pt, &pt->nodes[i]};

        pt->nodes[i].stage = 0;
        node_reads(pt, pt->nodes[i].n, raise_stage, &cx);
        if (!pt->nodes[i].dynamic && pt->nodes[i].stage + 1 > last)
            last = pt->nodes[i].stage + 1;
    }
    for (uint32_t i = 0; i < pt->n; i++)
        if (pt->nodes[i].dynamic)
            pt->nodes[i].stage = last;
}

/* Clusters in order of execution: by stage, then by device. */
static hull_status make_clusters(partitioner *pt)
{
    uint32_t stages = 0;

    for (uint32_t i = 0; i < pt->n; i++)
        if (pt->nodes[i].stage + 1 > stages)
            stages = pt->nodes[i].stage + 1;
    pt->n_clusters = stages * pt->ds->n;
    pt->clusters = arena_array(&pt->a, pt->n_clusters, sizeof *pt->clusters);
    if (pt->clusters == NULL)
        return fail_oom(pt->n_clusters * sizeof *pt->clusters);
    for (uint32_t i = 0; i < pt->n_clusters; i++)
        pt->clusters[i] = (cluster){i % pt->ds->n, i / pt->ds->n, 0, 0};
    for (uint32_t i = 0; i < pt->n; i++) {
        assignment *a = &pt->nodes[i];

        a->block = a->stage * pt->ds->n + a->device;
        pt->clusters[a->block].n_nodes++;
    }
    return HULL_OK;
}

/* Moves blocks below min_block to ref; true when something moved. On host
 * memory a block has no copies to make up for. */
static bool drop_small(partitioner *pt)
{
    int64_t min = option_int(pt->ds->options, OPT_min_block);
    bool moved = false;

    for (uint32_t i = 0; i < pt->n; i++) {
        assignment *a = &pt->nodes[i];

        if (pt->ds->d[a->device]->be->reads_host ||
            pt->clusters[a->block].n_nodes >= min)
            continue;
        a->device = pt->ds->n - 1;
        a->reason = "its block is smaller than min_block";
        moved = true;
    }
    return moved;
}

/* Nodes by cluster, in the graph's order. */
static hull_status group_nodes(partitioner *pt)
{
    uint32_t first = 0;

    pt->grouped = arena_array(&pt->a, pt->n, sizeof *pt->grouped);
    if (pt->grouped == NULL)
        return fail_oom(pt->n * sizeof *pt->grouped);
    for (uint32_t i = 0; i < pt->n_clusters; i++) {
        pt->clusters[i].first = first;
        first += pt->clusters[i].n_nodes;
        pt->clusters[i].n_nodes = 0;
    }
    for (uint32_t i = 0; i < pt->n; i++) {
        cluster *c = &pt->clusters[pt->nodes[i].block];

        pt->grouped[c->first + c->n_nodes++] = i;
    }
    return HULL_OK;
}

static void mark_outside(void *user, val v)
{
    const stage_cx *cx = user;
    const assignment *from = maker(cx->pt, v);

    if (from != NULL && from->block != cx->a->block)
        cx->pt->outside[v] = true;
}

static hull_status assign_blocks(partitioner *pt)
{
    do {
        assign_stages(pt);
        TRY(make_clusters(pt));
    } while (drop_small(pt));
    for (uint32_t i = 0; i < pt->n; i++) {
        stage_cx cx = {pt, &pt->nodes[i]};

        node_reads(pt, pt->nodes[i].n, mark_outside, &cx);
    }
    return group_nodes(pt);
}

/* ---- reasons ------------------------------------------------------------- */

static str keep_str(plan *p, str s)
{
    char *copy = arena_strndup(&p->m->a, s.p, s.n);

    return (str){copy, copy != NULL ? s.n : 0};
}

static hull_status record_fallbacks(partitioner *pt)
{
    plan *p = pt->p;
    buf list;
    hull_status st = HULL_OK;

    p->fallbacks = arena_array(&p->m->a, pt->n, sizeof *p->fallbacks);
    if (p->fallbacks == NULL)
        return fail_oom(pt->n * sizeof *p->fallbacks);
    buf_init(&list, 2048);
    for (uint32_t i = 0; i < pt->n; i++) {
        const assignment *a = &pt->nodes[i];
        const char *op = op_get(a->n->op)->name;

        if (a->device == 0 || a->reason == NULL)
            continue;
        p->fallbacks[p->n_fallbacks++] = (plan_fallback){
            keep_str(p, a->n->label), keep_str(p, str_of(op)),
            keep_str(p, str_of(a->reason))};
        buf_printf(&list, "%s%s '%.*s' (%s)", list.n > 0 ? "; " : "", op,
                   STR_ARG(a->n->label), a->reason);
    }
    if (p->n_fallbacks > 0 && option_on(pt->ds->options, OPT_require_full))
        st = fail(HULL_EUNSUPPORTED,
                  "require_full: %u nodes need fallback: %s", p->n_fallbacks,
                  list.p != NULL ? list.p : "");
    buf_fini(&list);
    return st;
}

/* ---- graphs -------------------------------------------------------------- */

/* One block in the making. The arrays serve all blocks, one after the other:
 * begin_block takes back what the block before left in them. */
typedef struct builder {
    partitioner *pt;
    uint32_t id;       /* cluster */
    graph *to;
    val *map;          /* g's value -> to's value */
    val *args;         /* parameters as g's values */
    uint32_t n_args;
    val *outs;         /* results as g's values */
    uint32_t n_outs;
    val *shared;       /* first results of the shared nodes that it needs */
    uint32_t n_shared;
    bool *need;        /* those, by g's value */
    uint32_t *used;    /* dim expressions that it uses, by entry */
    uint32_t n_used;
    bool *dims;        /* the same as a set */
} builder;

static node *block_node(const builder *b, uint32_t i)
{
    const partitioner *pt = b->pt;

    return pt->nodes[pt->grouped[pt->clusters[b->id].first + i]].n;
}

static uint32_t n_block_nodes(const builder *b)
{
    return b->pt->clusters[b->id].n_nodes;
}

/* Takes back what copying n left in the map. */
static void forget_node(builder *b, const node *n)
{
    const op_info *info = op_get(n->op);

    for (uint32_t i = 0; i < n->n_out; i++)
        b->map[n->out[i]] = 0;
    for (uint32_t i = 0; i < info->n_attrs; i++) {
        const region *body = info->attrs[i].kind == ATTR_GRAPH
                                 ? n->attrs[i].u.g : NULL;

        for (uint32_t k = 0; body != NULL && k < body->n_params; k++)
            b->map[body->params[k]] = 0;
        for (const node *x = body != NULL ? body->first : NULL; x != NULL;
             x = x->next)
            forget_node(b, x);
    }
}

static void begin_block(builder *b, uint32_t id, graph *to)
{
    for (uint32_t i = 0; b->to != NULL && i < n_block_nodes(b); i++)
        forget_node(b, block_node(b, i));
    for (uint32_t i = 0; i < b->n_args; i++)
        b->map[b->args[i]] = 0;
    for (uint32_t i = 0; i < b->n_shared; i++) {
        forget_node(b, graph_def(b->pt->g, b->shared[i]));
        b->need[b->shared[i]] = false;
    }
    for (uint32_t i = 0; i < b->n_used; i++)
        b->dims[b->used[i]] = false;
    b->n_args = b->n_outs = b->n_shared = b->n_used = 0;
    b->id = id;
    b->to = to;
}

static void add_param(builder *b, val v)
{
    const value *x = graph_value(b->pt->g, v);
    type t = type_copy(b->to->m, b->pt->g->m, &x->type);

    if (b->map[v] != 0)
        return;
    b->map[v] = graph_param(b->to, x->name, &t);
    b->args[b->n_args++] = v;
}

static void need_value(void *user, val v)
{
    builder *b = user;
    const assignment *a = maker(b->pt, v);
    node *def = graph_def(b->pt->g, v);

    if (b->map[v] != 0 || (a != NULL && a->block == b->id))
        return;
    if (def != NULL && def->parent != b->pt->g->body)
        return; /* inside a body of the node itself */
    if (def != NULL && a == NULL) {
        if (!b->need[def->out[0]])
            b->shared[b->n_shared++] = def->out[0];
        b->need[def->out[0]] = true;
    } else if (graph_value(b->pt->g, v)->scope == b->pt->g->body) {
        add_param(b, v);
    }
}

typedef struct numbered {
    uint32_t place;
    val v;
} numbered;

static int by_place(const void *x, const void *y)
{
    const numbered *a = x, *b = y;

    return a->place < b->place ? -1 : a->place > b->place;
}

/* Puts the shared nodes in the graph's order. */
static hull_status sort_shared(builder *b)
{
    numbered *list = mem_calloc(b->n_shared + 1, sizeof *list);

    if (list == NULL)
        return fail_oom(b->n_shared * sizeof *list);
    for (uint32_t i = 0; i < b->n_shared; i++)
        list[i] = (numbered){b->pt->place[b->shared[i]], b->shared[i]};
    qsort(list, b->n_shared, sizeof *list, by_place);
    for (uint32_t i = 0; i < b->n_shared; i++)
        b->shared[i] = list[i].v;
    mem_free(list);
    return HULL_OK;
}

/* The block's own copies of the shared values. */
static hull_status copy_shared(builder *b)
{
    const graph *g = b->pt->g;

    for (uint32_t i = 0; i < b->n_shared; i++) /* grows on the way */
        node_reads(b->pt, graph_def(g, b->shared[i]), need_value, b);
    TRY(sort_shared(b));
    for (uint32_t i = 0; i < b->n_shared; i++)
        graph_copy_node(b->to, g, graph_def(g, b->shared[i]), b->map);
    return HULL_OK;
}

/* ---- symbols that a block needs ---------------------------------------- */

static void use_dim(builder *b, dim d)
{
    const dim_node *n = dim_get(b->pt->g->m, d);

    if (n == NULL || b->dims[-2 - d])
        return;
    b->dims[-2 - d] = true;
    b->used[b->n_used++] = (uint32_t)(-2 - d);
    if (n->op != DIM_INT && n->op != DIM_SYM) {
        use_dim(b, n->a);
        use_dim(b, n->b);
    }
}

static void use_type(builder *b, val v)
{
    const type *t = graph_type(b->pt->g, v);

    while (t->kind == TYPE_SEQUENCE || t->kind == TYPE_OPTIONAL)
        t = t->elem;
    for (uint32_t i = 0; t->kind == TYPE_TENSOR && i < t->rank; i++)
        use_dim(b, t->dims[i]);
}

static void use_node(builder *b, const node *n)
{
    const op_info *info = op_get(n->op);

    for (uint32_t i = 0; i < n->n_out; i++)
        use_type(b, n->out[i]);
    for (uint32_t i = 0; i < info->n_attrs; i++) {
        const attr *a = &n->attrs[i];
        attr_kind kind = info->attrs[i].kind;

        if (kind == ATTR_DIM && a->set)
            use_dim(b, a->u.d);
        for (uint32_t k = 0; kind == ATTR_DIMS && a->set && k < a->u.dims.n;
             k++)
            use_dim(b, a->u.dims.p[k]);
        if (kind != ATTR_GRAPH || a->u.g == NULL)
            continue;
        for (uint32_t k = 0; k < a->u.g->n_params; k++)
            use_type(b, a->u.g->params[k]);
        for (const node *x = a->u.g->first; x != NULL; x = x->next)
            use_node(b, x);
    }
}

/* Marks the dims of what the block holds. */
static void use_dims(builder *b)
{
    const graph *g = b->pt->g;

    for (uint32_t i = 0; i < b->n_args; i++)
        use_type(b, b->args[i]);
    for (uint32_t i = 0; i < b->n_shared; i++)
        use_node(b, graph_def(g, b->shared[i]));
    for (uint32_t i = 0; i < n_block_nodes(b); i++)
        use_node(b, block_node(b, i));
}

static int by_number(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;

    return a < b ? -1 : a > b;
}

/* Symbols that no parameter of the block binds by itself: the graph's inputs
 * that bind them become parameters too. */
static bool binds(const graph *g, const type *t, dim sym)
{
    for (uint32_t i = 0; t->kind == TYPE_TENSOR && i < t->rank; i++)
        if (dim_eq(g->m, t->dims[i], sym))
            return true;
    return false;
}

static void bind_symbols(builder *b)
{
    const graph *g = b->pt->g;

    if (b->n_used > 0)
        qsort(b->used, b->n_used, sizeof *b->used, by_number);
    for (uint32_t i = 0; i < b->n_used; i++) {
        dim sym = -2 - (dim)b->used[i];
        const dim_node *d = dim_get(g->m, sym);
        bool bound = false;

        if (d == NULL || d->op != DIM_SYM)
            continue;
        for (uint32_t k = 0; k < b->n_args; k++)
            bound = bound || binds(g, graph_type(g, b->args[k]), sym);
        for (uint32_t k = 0; !bound && k < g->body->n_params; k++)
            if (binds(g, graph_type(g, g->body->params[k]), sym)) {
                add_param(b, g->body->params[k]);
                bound = true;
            }
    }
}

/* A block that is the whole graph has its parameters and results as they are,
 * also those that it does not read and those that are there twice. */
static bool is_whole(const builder *b)
{
    return n_block_nodes(b) == b->pt->n;
}

static void list_results(builder *b)
{
    const region *body = b->pt->g->body;

    for (uint32_t i = 0; is_whole(b) && i < body->n_results; i++)
        b->outs[b->n_outs++] = graph_resolve(b->pt->g, body->results[i]);
    for (uint32_t i = 0; !is_whole(b) && i < n_block_nodes(b); i++) {
        const node *n = block_node(b, i);

        for (uint32_t k = 0; k < n->n_out; k++)
            if (b->pt->outside[n->out[k]])
                b->outs[b->n_outs++] = n->out[k];
    }
}

static hull_status build_block(builder *b)
{
    partitioner *pt = b->pt;
    const graph *g = pt->g;

    for (uint32_t i = 0; is_whole(b) && i < g->body->n_params; i++)
        add_param(b, g->body->params[i]);
    for (uint32_t i = 0; i < n_block_nodes(b); i++)
        node_reads(pt, block_node(b, i), need_value, b);
    TRY(copy_shared(b));
    if (!is_whole(b)) {
        use_dims(b);
        bind_symbols(b);
    }
    for (uint32_t i = 0; i < n_block_nodes(b); i++)
        graph_copy_node(b->to, g, block_node(b, i), b->map);
    list_results(b);
    for (uint32_t i = 0; i < b->n_outs; i++)
        graph_result(b->to, b->map[b->outs[i]]);
    b->to->backend = str_of(pt->ds->d[pt->clusters[b->id].device]->be->name);
    return ir_status(b->to->m);
}

static void emit_call(graph *main, const builder *b, val *main_map)
{
    node *call = node_new(main, OP_call);

    node_str(main, call, "callee", b->to->name);
    for (uint32_t i = 0; i < b->n_args; i++)
        node_input(main, call, main_map[b->args[i]]);
    node_outputs(main, call, b->n_outs);
    for (uint32_t i = 0; i < b->n_outs; i++) {
        type t = type_copy(main->m, b->pt->g->m,
                           graph_type(b->pt->g, b->outs[i]));

        node_type(main, call, i, &t);
    }
    node_add(main, call);
    for (uint32_t i = 0; call != NULL && i < call->n_out; i++)
        main_map[b->outs[i]] = call->out[i];
}

static hull_status builder_init(builder *b, partitioner *pt)
{
    const graph *g = pt->g;
    size_t n_dims = dim_n_nodes(g->m), n = g->n_values;

    *b = (builder){.pt = pt};
    b->map = arena_array(&pt->a, n, sizeof *b->map);
    b->args = arena_array(&pt->a, n, sizeof *b->args);
    b->outs = arena_array(&pt->a, n + g->body->n_results, sizeof *b->outs);
    b->shared = arena_array(&pt->a, n, sizeof *b->shared);
    b->need = arena_array(&pt->a, n, sizeof *b->need);
    b->used = arena_array(&pt->a, n_dims, sizeof *b->used);
    b->dims = arena_array(&pt->a, n_dims, sizeof *b->dims);
    if (b->map == NULL || b->args == NULL || b->outs == NULL ||
        b->shared == NULL || b->need == NULL || b->used == NULL ||
        b->dims == NULL)
        return fail_oom(n * sizeof *b->map);
    return HULL_OK;
}

static hull_status emit_blocks(partitioner *pt, ir *out)
{
    graph *main = graph_new(out, str_of("main")), *g = pt->g;
    val *main_map = arena_array(&pt->a, g->n_values, sizeof(val));
    uint32_t count = 0;
    builder b;

    if (main == NULL || main_map == NULL)
        return fail_oom(g->n_values * sizeof(val));
    TRY(builder_init(&b, pt));
    for (uint32_t i = 0; i < g->body->n_params; i++) {
        val v = g->body->params[i];
        type t = type_copy(out, g->m, graph_type(g, v));

        main_map[v] = graph_param(main, graph_value(g, v)->name, &t);
    }
    for (uint32_t i = 0; i < pt->n_clusters; i++) {
        char name[32];

        if (pt->clusters[i].n_nodes == 0)
            continue;
        snprintf(name, sizeof name, "b%u", count++);
        begin_block(&b, i, graph_new(out, str_of(name)));
        if (b.to == NULL)
            return ir_status(out);
        TRY(build_block(&b));
        emit_call(main, &b, main_map);
    }
    for (uint32_t i = 0; i < g->body->n_results; i++)
        graph_result(main, main_map[graph_resolve(g, g->body->results[i])]);
    for (uint32_t i = 0; i < g->n_states; i++)
        graph_set_state(main, g->states[i].param, g->states[i].result,
                        g->states[i].initial);
    return ir_verify(out);
}

hull_status partition(plan *p, ir **out, graph *g, const devices *ds)
{
    partitioner pt = {.p = p, .g = g, .ds = ds};
    hull_status st = HULL_OK;
    ir *m = NULL;

    *out = NULL;
    TRY(ir_new(&m));
    TRY_OUT(binders_get(&pt.binders, g));
    TRY_OUT(assign_devices(&pt));
    TRY_OUT(assign_blocks(&pt));
    TRY_OUT(record_fallbacks(&pt));
    TRY_OUT(emit_blocks(&pt, m));
    *out = m;
    m = NULL;
out:
    ir_free(m);
    binders_fini(&pt.binders);
    arena_fini(&pt.a);
    return st;
}
