/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * interpret.c - runs a graph on host memory with the reference kernels, or
 * those that the device picks. A plan fixes the concrete shape and the place of
 * every value for one set of parameter shapes, and keeps the values that depend
 * on shapes alone; a run then walks the other nodes in order. Bodies of If and
 * Loop are planned with their owner: their values live as long as it runs.
 */
#include "backend/backend.h"
#include "ops/op.h"

#include <inttypes.h>
#include <string.h>

/* A root is made where a concat of it wants it. */
typedef struct joint {
    const node *into;  /* NULL: it is not */
    uint32_t operand;
    uint32_t depth;    /* of a concat's result: joints below */
} joint;

struct host_program {
    const graph *g;
    const device *d;   /* may be NULL */
    pool *pool;
    op_eval_fn **kernels; /* by a node's first result */
    val *root;         /* whose bytes a view shows; itself */
    uint32_t *used;    /* how often a value is read or is a result */
    uint32_t *first, *last; /* top-level values: numbers of the first and the
                       * last reader */
    bool *fixed;       /* depends on shapes alone: is made once per plan */
    bool *kept;        /* a root that more than fixed nodes read */
    joint *joints;     /* per root */
    uint32_t max_in, max_out;
};

typedef enum where_kind {
    WHERE_NONE, WHERE_PARAM, WHERE_RESULT, WHERE_SCRATCH, WHERE_LITERAL,
    WHERE_FIXED
} where_kind;

typedef struct where {
    where_kind kind;
    uint32_t index;    /* param, result */
    uint64_t off;      /* from the beginning of that memory */
} where;

struct host_plan {
    tensor *shapes;    /* per value: dtype and concrete shape, data NULL */
    where *wheres;     /* per value */
    dim_env env;
    arena scratch;     /* kernels' temporaries */
    tensor *in, *out;  /* operand arrays, one frame per nesting level */
    uint64_t bytes;
    char *fixed;       /* memory of the fixed values */
    bool filled;       /* they are in it */
};

#define MAX_DEPTH 16   /* nesting of bodies */

/* One run. */
typedef struct frame {
    const host_program *p;
    host_plan *pl;
    void *const *params;
    void *const *results;
    char *scratch;
    uint32_t depth;
    run_context rc;
} frame;

/* ---- load ---------------------------------------------------------------- */

op_eval_fn *node_kernel(const device *d, const graph *g, const node *n)
{
    const host_kernel *k = d != NULL && d->be->kernel != NULL
                               ? d->be->kernel(d, g, n) : NULL;

    return k != NULL ? k->run : op_get(n->op)->eval;
}

const char *node_kernel_name(const device *d, const graph *g, const node *n)
{
    const host_kernel *k = d != NULL && d->be->kernel != NULL
                               ? d->be->kernel(d, g, n) : NULL;

    return k != NULL ? k->name : "ref";
}

static void mark_read(host_program *p, val v, uint32_t at)
{
    if (p->used[v]++ == 0)
        p->first[v] = at;
    p->last[v] = at;
}

static void mark_body_reads(host_program *p, const device *d, const region *r,
                            uint32_t at);

static void mark_reads(host_program *p, const device *d, const node *n,
                       uint32_t at)
{
    const op_info *info = op_get(n->op);

    if (n->n_in > p->max_in)
        p->max_in = n->n_in;
    if (n->n_out > p->max_out)
        p->max_out = n->n_out;
    if (n->n_out > 0)
        p->kernels[n->out[0]] = node_kernel(d, p->g, n);
    for (uint32_t i = 0; i < n->n_in; i++)
        mark_read(p, n->in[i], at);
    for (uint32_t i = 0; i < info->n_attrs; i++)
        if (info->attrs[i].kind == ATTR_GRAPH && n->attrs[i].u.g != NULL)
            mark_body_reads(p, d, n->attrs[i].u.g, at);
}

static void mark_body_reads(host_program *p, const device *d, const region *r,
                            uint32_t at)
{
    if (r->n_params > p->max_out)
        p->max_out = r->n_params;
    if (r->n_results > p->max_out)
        p->max_out = r->n_results;
    for (const node *n = r->first; n != NULL; n = n->next)
        mark_reads(p, d, n, at);
    for (uint32_t i = 0; i < r->n_results; i++)
        mark_read(p, r->results[i], at);
}

static bool is_result(const graph *g, val v)
{
    for (uint32_t i = 0; i < g->body->n_results; i++)
        if (g->body->results[i] == v)
            return true;
    return false;
}

/* A slice of the first axis that is longer than one: its elements lie together.
 * Bounds are plain, so that a run cannot find one negative. */
static bool is_piece(const graph *g, const node *n)
{
    const attr *axes, *steps;
    const type *x;
    int64_t start;

    if (n->op != OP_slice)
        return false;
    axes = node_attr(n, "axes");
    steps = node_attr(n, "steps");
    x = graph_type(g, n->in[0]);
    if (axes->u.ints.n != 1 || axes->u.ints.p[0] < 0 ||
        (steps->set && steps->u.ints.n > 0 && steps->u.ints.p[0] != 1) ||
        !dim_is_int(g->m, node_attr(n, "starts")->u.dims.p[0], &start) ||
        start < 0 || hull_dtype_bits(x->dtype) < 8)
        return false;
    for (int64_t i = 0; i < axes->u.ints.p[0]; i++)
        if (x->dims[i] != 1)
            return false;
    return true;
}

/* A view needs no memory and no kernel, but where it is a result of the graph:
 * it lies where its operand does, which lives as long as any view. */
static void find_roots(host_program *p)
{
    const graph *g = p->g;

    for (uint32_t v = 0; v < g->n_values; v++)
        p->root[v] = v;
    for (const node *n = graph_first(g); n != NULL; n = graph_next(g, n)) {
        val from, to;

        if (((op_get(n->op)->traits & OP_VIEW) == 0 && !is_piece(g, n)) ||
            n->n_out != 1 || is_result(g, n->out[0]))
            continue;
        to = n->out[0];
        from = p->root[n->in[0]];
        if (graph_def(g, from) != NULL && graph_def(g, from)->op == OP_const)
            continue; /* literals lie in the graph */
        p->root[to] = from;
        if (p->used[to] && p->last[to] > p->last[from])
            p->last[from] = p->last[to];
    }
    for (uint32_t v = 0; v < g->n_values; v++) /* views die with their root */
        p->last[v] = p->last[p->root[v]];
}

/* What v shows, through views with one reader each, when nothing else reads it
 * and a kernel makes it; else 0. */
static val sole_root(const host_program *p, val v)
{
    const node *def = graph_def(p->g, v);

    while (p->used[v] == 1 && p->root[v] != v && def->op != OP_slice) {
        v = def->in[0];
        def = graph_def(p->g, v);
    }
    return p->used[v] == 1 && p->root[v] == v && def != NULL &&
                   def->op != OP_const && !p->fixed[v] &&
                   p->joints[v].into == NULL
               ? v
               : 0;
}

#define MAX_JOINTS 8 /* concats in concats */

/* The operands of a concat along the first axis that is longer than one. */
static void find_joints(host_program *p)
{
    const graph *g = p->g;

    for (const node *n = g->body->first; n != NULL; n = n->next) {
        const type *y;
        bool apart;

        if (n->op != OP_concat || p->fixed[n->out[0]] ||
            attr_int(n, "axis") < 0)
            continue;
        y = graph_type(g, n->out[0]);
        apart = hull_dtype_bits(y->dtype) >= 8;
        for (int64_t i = 0; apart && i < attr_int(n, "axis"); i++)
            apart = y->dims[i] == 1;
        for (uint32_t i = 0; apart && i < n->n_in; i++) {
            val v = sole_root(p, n->in[i]);
            joint *into = &p->joints[n->out[0]];

            if (v == 0 || p->joints[v].depth == MAX_JOINTS)
                continue;
            p->joints[v].into = n;
            p->joints[v].operand = i;
            if (into->depth <= p->joints[v].depth)
                into->depth = p->joints[v].depth + 1;
        }
    }
}

/* A node of the top level that reads literals and sizes alone, and cannot fail:
 * masks and position tables. */
static bool is_fixed(const host_program *p, const node *n)
{
    uint32_t traits = op_get(n->op)->traits;

    if ((traits & OP_PURE) == 0 || n->op == OP_const || n->n_out == 0 ||
        (traits & (OP_CAN_FAIL | OP_CONTROL | OP_DYNAMIC)) != 0)
        return false;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const node *def = graph_def(p->g, n->in[i]);

        if (n->in[i] != 0 && !p->fixed[n->in[i]] &&
            (def == NULL || def->op != OP_const))
            return false;
    }
    return true;
}

static void find_fixed(host_program *p)
{
    const graph *g = p->g;

    for (const node *n = g->body->first; n != NULL; n = n->next)
        for (uint32_t i = 0; is_fixed(p, n) && i < n->n_out; i++)
            p->fixed[n->out[i]] = true;
    for (const node *n = graph_first(g); n != NULL; n = graph_next(g, n))
        for (uint32_t i = 0; i < n->n_in; i++)
            if (n->n_out == 0 || !p->fixed[n->out[0]])
                p->kept[p->root[n->in[i]]] = true;
    for (const node *n = graph_first(g); n != NULL; n = graph_next(g, n))
        for (uint32_t i = 0; i < op_get(n->op)->n_attrs; i++) {
            const region *r = n->attrs[i].u.g;

            if (op_get(n->op)->attrs[i].kind != ATTR_GRAPH || r == NULL)
                continue;
            for (uint32_t k = 0; k < r->n_results; k++)
                p->kept[p->root[r->results[k]]] = true;
        }
    for (uint32_t i = 0; i < g->body->n_results; i++)
        p->kept[p->root[g->body->results[i]]] = true;
}

hull_status host_program_load(host_program **out, const graph *g,
                              const device *d)
{
    host_program *p = mem_calloc(1, sizeof *p);
    uint32_t at = 0;

    *out = NULL;
    if (p == NULL)
        return fail_oom(sizeof *p);
    p->g = g;
    p->d = d;
    p->pool = d != NULL ? d->pool : NULL;
    p->kernels = mem_calloc(g->n_values, sizeof(*p->kernels));
    p->used = mem_calloc(g->n_values, sizeof *p->used);
    p->first = mem_calloc(g->n_values, sizeof *p->first);
    p->last = mem_calloc(g->n_values, sizeof *p->last);
    p->root = mem_calloc(g->n_values, sizeof *p->root);
    p->fixed = mem_calloc(g->n_values, sizeof *p->fixed);
    p->kept = mem_calloc(g->n_values, sizeof *p->kept);
    p->joints = mem_calloc(g->n_values, sizeof *p->joints);
    if (p->root == NULL || p->used == NULL || p->first == NULL ||
        p->last == NULL || p->kernels == NULL || p->fixed == NULL ||
        p->kept == NULL || p->joints == NULL) {
        host_program_free(p);
        return fail_oom(g->n_values * sizeof *p->last);
    }
    for (const node *n = g->body->first; n != NULL; n = n->next) {
        if (n->op == OP_call || n->op == OP_weight) {
            host_program_free(p);
            return fail(HULL_EINTERNAL, "a program holds a node '%s'",
                        op_get(n->op)->name);
        }
        mark_reads(p, d, n, at++);
    }
    for (uint32_t i = 0; i < g->body->n_results; i++)
        mark_read(p, g->body->results[i], UINT32_MAX);
    find_roots(p);
    find_fixed(p);
    find_joints(p);
    *out = p;
    return HULL_OK;
}

void host_program_free(host_program *p)
{
    if (p == NULL)
        return;
    mem_free(p->kernels);
    mem_free(p->root);
    mem_free(p->used);
    mem_free(p->first);
    mem_free(p->last);
    mem_free(p->fixed);
    mem_free(p->kept);
    mem_free(p->joints);
    mem_free(p);
}

/* ---- plan ---------------------------------------------------------------- */

/* Plain symbols first: a size like N*M may stand in front of them. */
static hull_status bind_dims(host_plan *pl, const graph *g,
                             const shape *params, uint32_t i, bool symbols)
{
    const type *t = graph_type(g, g->body->params[i]);

    for (uint32_t k = 0; k < t->rank; k++) {
        char what[64];

        if (dim_is_symbol(g->m, t->dims[k]) != symbols)
            continue;
        snprintf(what, sizeof what, "parameter %u dim %u", i, k);
        TRY(dim_bind(&pl->env, t->dims[k], params[i].dims[k], what));
    }
    return HULL_OK;
}

static hull_status bind_params(host_plan *pl, const graph *g,
                               const shape *params, uint32_t n)
{
    if (n != g->body->n_params)
        return fail(HULL_EINVAL, "%u parameters given, '%.*s' has %u", n,
                    STR_ARG(g->name), g->body->n_params);
    for (uint32_t i = 0; i < n; i++) {
        const value *v = graph_value(g, g->body->params[i]);

        if (v->type.kind != TYPE_TENSOR)
            return fail(HULL_EUNSUPPORTED, "parameter %u is no tensor", i);
        if (v->type.rank != params[i].rank)
            return fail(HULL_ESHAPE, "parameter %u has rank %u, wanted %u", i,
                        params[i].rank, v->type.rank);
        TRY(bind_dims(pl, g, params, i, true));
    }
    for (uint32_t i = 0; i < n; i++)
        TRY(bind_dims(pl, g, params, i, false));
    return HULL_OK;
}

static hull_status plan_shapes(host_plan *pl, const graph *g)
{
    for (uint32_t v = 1; v < g->n_values; v++) {
        const value *x = g->values[v];

        if (x->type.kind == TYPE_NONE || x->alias != 0)
            continue;
        if (x->type.kind != TYPE_TENSOR)
            return fail(HULL_EUNSUPPORTED,
                        "value %%%u is a sequence or optional; the reference "
                        "backend runs tensors only", v);
        TRY(tensor_of_type(&pl->shapes[v], &pl->env, &x->type));
    }
    return HULL_OK;
}

static hull_status place_value(host_plan *pl, slab *s, val v)
{
    if (pl->wheres[v].kind != WHERE_NONE)
        return HULL_OK;
    pl->wheres[v].kind = WHERE_SCRATCH;
    return slab_take(s, tensor_bytes(&pl->shapes[v]), &pl->wheres[v].off);
}

static bool is_literal(const node *n)
{
    return n->op == OP_const;
}

/* Where in its operand a view begins. */
static uint64_t view_offset(const host_plan *pl, const host_program *p,
                            const node *n)
{
    tensor before = pl->shapes[n->in[0]];
    uint32_t axis;
    int64_t start;

    if (n->op != OP_slice ||
        !dim_is_int(p->g->m, node_attr(n, "starts")->u.dims.p[0], &start))
        return 0;
    axis = (uint32_t)node_attr(n, "axes")->u.ints.p[0];
    if (start < before.shape[axis])
        before.shape[axis] = start;
    return tensor_bytes(&before);
}

/* In its concat, which may lie in another one, or by itself. */
static hull_status place_root(host_plan *pl, const host_program *p, slab *s,
                              val v)
{
    const joint *j = &p->joints[v];
    where *w = &pl->wheres[v];

    if (j->into == NULL || w->kind != WHERE_NONE)
        return place_value(pl, s, v);
    TRY(place_root(pl, p, s, j->into->out[0]));
    *w = pl->wheres[j->into->out[0]];
    for (uint32_t i = 0; i < j->operand; i++)
        w->off += tensor_bytes(&pl->shapes[j->into->in[i]]);
    return HULL_OK;
}

static hull_status place_outputs(host_plan *pl, const host_program *p, slab *s,
                                 const node *n)
{
    for (uint32_t i = 0; i < n->n_out; i++) {
        val root = p->root[n->out[i]];

        if (root != n->out[i]) {
            pl->wheres[n->out[i]] = pl->wheres[n->in[0]];
            pl->wheres[n->out[i]].off += view_offset(pl, p, n);
        } else if (is_literal(n)) {
            pl->wheres[n->out[i]].kind = WHERE_LITERAL;
        } else {
            TRY(place_root(pl, p, s, n->out[i]));
        }
    }
    return HULL_OK;
}

/* Places every value of the bodies of n; give = true returns them instead. */
static hull_status place_bodies(host_plan *pl, const host_program *p, slab *s,
                                const node *n, bool give);

static hull_status place_region(host_plan *pl, const host_program *p, slab *s,
                                const region *r, bool give)
{
    for (uint32_t i = 0; i < r->n_params; i++) {
        if (give)
            slab_give(s, pl->wheres[r->params[i]].off);
        else
            TRY(place_value(pl, s, r->params[i]));
    }
    for (const node *n = r->first; n != NULL; n = n->next) {
        for (uint32_t i = 0; give && i < n->n_out; i++)
            if (p->root[n->out[i]] == n->out[i] &&
                pl->wheres[n->out[i]].kind == WHERE_SCRATCH)
                slab_give(s, pl->wheres[n->out[i]].off);
        if (!give)
            TRY(place_outputs(pl, p, s, n));
        TRY(place_bodies(pl, p, s, n, give));
    }
    return HULL_OK;
}

static hull_status place_bodies(host_plan *pl, const host_program *p, slab *s,
                                const node *n, bool give)
{
    const op_info *info = op_get(n->op);

    for (uint32_t i = 0; i < info->n_attrs; i++)
        if (info->attrs[i].kind == ATTR_GRAPH && n->attrs[i].u.g != NULL)
            TRY(place_region(pl, p, s, n->attrs[i].u.g, give));
    return HULL_OK;
}

/* A result made by a node of the top level is written where it belongs. */
static void place_results(host_plan *pl, const host_program *p)
{
    const graph *g = p->g;

    for (uint32_t i = 0; i < g->body->n_results; i++) {
        val v = g->body->results[i];
        const node *def = graph_def(g, v);

        if (def == NULL || is_literal(def) || p->fixed[v] ||
            pl->wheres[v].kind != WHERE_NONE)
            continue;
        pl->wheres[v] = (where){WHERE_RESULT, i, 0};
    }
}

/* Gives back what node number `at` reads last. */
static void give_operands(const host_plan *pl, const host_program *p, slab *s,
                          const node *n, uint32_t at)
{
    for (uint32_t i = 0; i < n->n_in; i++) {
        val v = p->root[n->in[i]];
        bool first = true;

        for (uint32_t k = 0; k < i; k++)
            first = first && p->root[n->in[k]] != v;
        if (first && p->last[v] == at && p->joints[v].into == NULL &&
            pl->wheres[v].kind == WHERE_SCRATCH)
            slab_give(s, pl->wheres[v].off);
    }
}

static void give_fixed(const host_plan *pl, const host_program *p, slab *s,
                       val v, uint32_t at)
{
    v = p->root[v];
    if (!p->kept[v] && (p->last[v] == at || !p->used[v]) &&
        pl->wheres[v].kind == WHERE_FIXED)
        slab_give(s, pl->wheres[v].off);
}

/* Fixed values lie in the plan's memory, in order of being made. */
static hull_status plan_fixed(host_plan *pl, const host_program *p)
{
    hull_status st = HULL_OK;
    slab s = {0};
    uint32_t at = 0;

    for (const node *n = p->g->body->first; n != NULL; n = n->next, at++) {
        if (n->n_out == 0 || !p->fixed[n->out[0]])
            continue;
        for (uint32_t i = 0; i < n->n_out; i++) {
            where *w = &pl->wheres[n->out[i]];

            if (p->root[n->out[i]] != n->out[i])
                continue; /* a view: place_outputs */
            w->kind = WHERE_FIXED;
            TRY_OUT(slab_take(&s, tensor_bytes(&pl->shapes[n->out[i]]),
                              &w->off));
        }
        TRY_OUT(place_outputs(pl, p, &s, n));
        for (uint32_t i = 0; i < n->n_in; i++)
            give_fixed(pl, p, &s, n->in[i], at);
        for (uint32_t i = 0; i < n->n_out; i++)
            if (!p->used[n->out[i]] && p->root[n->out[i]] == n->out[i])
                give_fixed(pl, p, &s, n->out[i], at);
    }
    if (s.high > 0) {
        pl->fixed = mem_alloc_aligned(PLACE_ALIGN, s.high);
        st = pl->fixed != NULL ? HULL_OK : fail_oom(s.high);
    }
out:
    slab_fini(&s);
    return st;
}

static hull_status plan_places(host_plan *pl, const host_program *p)
{
    const graph *g = p->g;
    hull_status st = HULL_OK;
    slab s = {0};
    uint32_t at = 0;

    for (uint32_t i = 0; i < g->body->n_params; i++)
        pl->wheres[g->body->params[i]] = (where){WHERE_PARAM, i, 0};
    TRY_OUT(plan_fixed(pl, p));
    place_results(pl, p);
    for (const node *n = g->body->first; n != NULL; n = n->next, at++) {
        TRY_OUT(place_outputs(pl, p, &s, n));
        TRY_OUT(place_bodies(pl, p, &s, n, false));
        TRY_OUT(place_bodies(pl, p, &s, n, true));
        give_operands(pl, p, &s, n, at);
        for (uint32_t i = 0; i < n->n_out; i++)
            if (!p->used[n->out[i]] && p->root[n->out[i]] == n->out[i] &&
                pl->wheres[n->out[i]].kind == WHERE_SCRATCH)
                slab_give(&s, pl->wheres[n->out[i]].off);
    }
    pl->bytes = s.high;
out:
    slab_fini(&s);
    return st;
}

static hull_status plan_results(const host_plan *pl, const graph *g,
                                shape *results)
{
    for (uint32_t i = 0; i < g->body->n_results; i++) {
        const tensor *t = &pl->shapes[g->body->results[i]];

        results[i].rank = t->rank;
        memcpy(results[i].dims, t->shape, sizeof t->shape);
    }
    return HULL_OK;
}

hull_status host_program_plan(host_plan **out, const host_program *p,
                              const shape *params, uint32_t n_params,
                              shape *results, uint64_t *scratch)
{
    const graph *g = p->g;
    size_t n = g->n_values;
    hull_status st = HULL_OK;
    host_plan *pl = mem_calloc(1, sizeof *pl);

    *out = NULL;
    if (pl == NULL)
        return fail_oom(sizeof *pl);
    pl->shapes = mem_calloc(n, sizeof *pl->shapes);
    pl->wheres = mem_calloc(n, sizeof *pl->wheres);
    pl->in = mem_calloc((size_t)MAX_DEPTH * (p->max_in + 1), sizeof *pl->in);
    pl->out = mem_calloc((size_t)MAX_DEPTH * (p->max_out + 1),
                         sizeof *pl->out);
    if (pl->shapes == NULL || pl->wheres == NULL || pl->in == NULL ||
        pl->out == NULL)
        TRY_OUT(fail_oom(n * sizeof *pl->shapes));
    TRY_OUT(dim_env_init(&pl->env, g->m));
    TRY_OUT(bind_params(pl, g, params, n_params));
    TRY_OUT(plan_shapes(pl, g));
    TRY_OUT(plan_places(pl, p));
    TRY_OUT(plan_results(pl, g, results));
    *scratch = pl->bytes;
    *out = pl;
    pl = NULL;
out:
    host_plan_free(pl);
    return st;
}

void host_plan_free(host_plan *pl)
{
    if (pl == NULL)
        return;
    mem_free(pl->shapes);
    mem_free(pl->wheres);
    mem_free(pl->in);
    mem_free(pl->out);
    mem_free(pl->fixed);
    dim_env_fini(&pl->env);
    arena_fini(&pl->scratch);
    mem_free(pl);
}

/* ---- run ----------------------------------------------------------------- */

/* p may be NULL where there are no bytes. */
static void *place_at(void *p, uint64_t off)
{
    return off != 0 ? (char *)p + off : p;
}

static tensor value_tensor(const frame *f, val v)
{
    const graph *g = f->p->g;
    const where *w = &f->pl->wheres[v];
    tensor t = f->pl->shapes[v];

    switch (w->kind) {
    case WHERE_PARAM:
        t.data = place_at(f->params[w->index], w->off);
        break;
    case WHERE_RESULT:
        t.data = place_at(f->results[w->index], w->off);
        break;
    case WHERE_SCRATCH:
        t.data = f->scratch + w->off;
        break;
    case WHERE_FIXED:
        t.data = f->pl->fixed + w->off;
        break;
    case WHERE_LITERAL: {
        const literal *l = node_attr(graph_def(g, v), "value")->u.t;
        union { const void *in; void *out; } drop_const = {.in = l->data};

        t.data = drop_const.out; /* kernels only read operands */
        break;
    }
    case WHERE_NONE:
        return (tensor){0};
    }
    return t;
}

static hull_status run_body(eval_ctx *cx, const region *body,
                            const tensor *params, tensor *results);

/* Copies what of a concat is not in place; false: it has no joints. */
static bool join(const frame *f, const node *n, const tensor *in,
                 const tensor *out)
{
    const host_program *p = f->p;
    uint64_t off = 0;

    if (n->op != OP_concat || p->joints[n->out[0]].depth == 0)
        return false;
    for (uint32_t i = 0; i < n->n_in; i++) {
        uint64_t size = tensor_bytes(&in[i]);
        char *to = place_at(out->data, off);

        if (p->joints[p->root[n->in[i]]].into != n && size > 0)
            memcpy(to, in[i].data, size);
        off += size;
    }
    return true;
}

static hull_status run_node(frame *f, const node *n)
{
    tensor *in = f->pl->in + (size_t)f->depth * (f->p->max_in + 1);
    tensor *out = f->pl->out + (size_t)f->depth * (f->p->max_out + 1);
    eval_ctx cx = {.env = &f->pl->env,
                   .scratch = &f->pl->scratch,
                   .run_body = run_body,
                   .user = f,
                   .pool = f->p->pool,
                   .random = f->rc.random};
    op_eval_fn *kernel;
    uint64_t begin;

    if (is_literal(n) || n->n_out == 0 || f->p->root[n->out[0]] != n->out[0])
        return HULL_OK;
    for (uint32_t i = 0; i < n->n_in; i++)
        in[i] = n->in[i] != 0 ? value_tensor(f, n->in[i]) : (tensor){0};
    for (uint32_t i = 0; i < n->n_out; i++)
        out[i] = value_tensor(f, n->out[i]);
    if (f->depth == 0)
        arena_reset(&f->pl->scratch);
    if (join(f, n, in, out))
        return HULL_OK;
    kernel = f->p->kernels[n->out[0]];
    if (f->rc.profile == NULL)
        return kernel(&cx, n, in, out);
    begin = time_ns();
    TRY(kernel(&cx, n, in, out));
    f->rc.profile->note(f->rc.profile->user, f->p->d, f->p->g, n, in, out,
                        begin, time_ns());
    return HULL_OK;
}

static hull_status copy_tensor(const frame *f, const tensor *from, val to)
{
    tensor dst = value_tensor(f, to);

    if (from->dtype != dst.dtype || from->rank != dst.rank ||
        memcmp(from->shape, dst.shape, from->rank * sizeof *dst.shape) != 0)
        return fail(HULL_EUNSUPPORTED,
                    "a carried value changes its type or shape in a loop");
    if (from->data != dst.data)
        memmove(dst.data, from->data, tensor_bytes(&dst));
    return HULL_OK;
}

static hull_status run_body(eval_ctx *cx, const region *body,
                            const tensor *params, tensor *results)
{
    frame *f = cx->user;
    hull_status st = HULL_OK;

    if (f->depth + 1 >= MAX_DEPTH)
        return fail(HULL_EUNSUPPORTED, "bodies are nested deeper than %d",
                    MAX_DEPTH);
    for (uint32_t i = 0; i < body->n_params; i++)
        TRY(copy_tensor(f, &params[i], body->params[i]));
    f->depth++;
    for (const node *n = body->first; n != NULL && st == HULL_OK; n = n->next)
        st = run_node(f, n);
    f->depth--;
    for (uint32_t i = 0; st == HULL_OK && i < body->n_results; i++) {
        tensor t = value_tensor(f, body->results[i]);

        if (results[i].data == NULL)
            results[i] = t; /* the caller looks at it in place */
        else if (tensor_bytes(&t) != tensor_bytes(&results[i]))
            st = fail(HULL_EUNSUPPORTED,
                      "the result of a body changes its shape");
        else
            memmove(results[i].data, t.data, tensor_bytes(&t));
    }
    return st;
}

/* Results that no node writes in place: parameters, literals, repeats. */
static void copy_results(const frame *f)
{
    const graph *g = f->p->g;

    for (uint32_t i = 0; i < g->body->n_results; i++) {
        val v = g->body->results[i];
        const where *w = &f->pl->wheres[v];
        tensor t = value_tensor(f, v);

        if ((w->kind == WHERE_RESULT && w->index == i) ||
            tensor_bytes(&t) == 0)
            continue;
        memcpy(f->results[i], t.data, tensor_bytes(&t));
    }
}

/* Nodes of the top level: those that are fixed, or the others. */
static hull_status run_nodes(frame *f, bool fixed, node_range part)
{
    uint32_t at = 0;

    for (const node *n = f->p->g->body->first; n != NULL && at < part.end;
         n = n->next, at++)
        if (at >= part.begin &&
            (n->n_out > 0 && f->p->fixed[n->out[0]]) == fixed)
            TRY(run_node(f, n));
    return HULL_OK;
}

hull_status host_program_run(const host_program *p, host_plan *pl,
                             void *const *params, void *const *results,
                             void *scratch, node_range part,
                             const run_context *rc)
{
    frame f = {p, pl, params, results, scratch, 0,
               rc != NULL ? *rc : (run_context){0}};

    if (!pl->filled)
        TRY(run_nodes(&f, true, ALL_NODES));
    pl->filled = true;
    TRY(run_nodes(&f, false, part));
    if (part.end == UINT32_MAX)
        copy_results(&f);
    return HULL_OK;
}

node_range host_program_reads(const host_program *p, uint32_t param)
{
    val v = p->g->body->params[param];

    if (p->used[v] == 0)
        return (node_range){0, 0};
    if (p->first[v] == UINT32_MAX) /* a result that no node reads */
        return (node_range){0, UINT32_MAX};
    return (node_range){p->first[v],
                        p->last[v] < UINT32_MAX ? p->last[v] + 1 : UINT32_MAX};
}

bool host_program_copies(const host_program *p, uint32_t param)
{
    val v = p->g->body->params[param];
    uint32_t copies = 0;

    for (const node *n = p->g->body->first; n != NULL; n = n->next)
        copies += n->op == OP_gather && n->in[0] == v;
    return copies == p->used[v]; /* bodies and results count as well */
}
