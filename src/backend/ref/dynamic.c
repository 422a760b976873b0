/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * dynamic.c - runs a graph whose sizes, or whose kinds of values, only the run
 * decides: symbols that `bind` fills, sequences, optionals, strings, branches
 * of different shapes. Nothing is planned: each value is a box, made when its
 * node runs and let go of after its last reader. Before a kernel runs, its
 * operands are checked against the types that its shape rule relied on.
 */
#include "backend/backend.h"
#include "ops/box.h"
#include "ops/op.h"

#include <inttypes.h>
#include <string.h>

struct dynamic_program {
    const graph *g;
    const device *d;   /* picks kernels; may be NULL */
    /* By a node's first result: the values whose last reader it is, at
     * drops[first[v]] .. drops[first[v + 1]]. */
    uint32_t *first;
    val *drops;
    uint32_t max_in, max_out;
};

/* One run. */
typedef struct frame {
    const dynamic_program *p;
    const graph *g;
    dim_env env;
    arena scratch;
    arena *texts;
    run_context rc;
    box **boxes;       /* per value */
} frame;

/* ---- load ---------------------------------------------------------------- */

typedef struct reader {
    const graph *g;
    const node *n;     /* of the region in which the value lives, if it is */
    val *last;         /* per value: its last reader's first result */
} reader;

/* The node around n, or n itself, that stands in the region of v. */
static const node *reader_of(const graph *g, const node *n, val v)
{
    const region *scope = graph_value(g, v)->scope;

    while (n != NULL && n->parent != scope)
        n = n->parent->owner;
    return n;
}

static void read_value(const graph *g, const node *n, val v, val *last)
{
    const node *at = v != 0 ? reader_of(g, n, v) : NULL;

    if (at != NULL && at->n_out > 0)
        last[v] = at->out[0];
}

/* Values that a region returns live until it ends. */
static void keep_results(const region *r, val *last)
{
    for (uint32_t i = 0; i < r->n_results; i++)
        last[r->results[i]] = 0;
}

static hull_status load_region(dynamic_program *p, const region *r, val *last)
{
    for (const node *n = r->first; n != NULL; n = n->next) {
        const op_info *info = op_get(n->op);

        if (n->op == OP_call || n->op == OP_weight)
            return fail(HULL_EINTERNAL, "a program holds a node '%s'",
                        info->name);
        TRY(node_check_sizes(p->g, n));
        if (n->n_in > p->max_in)
            p->max_in = n->n_in;
        if (n->n_out > p->max_out)
            p->max_out = n->n_out;
        for (uint32_t i = 0; i < n->n_out; i++)
            last[n->out[i]] = n->out[0]; /* unless somebody reads it */
        for (uint32_t i = 0; i < n->n_in; i++)
            read_value(p->g, n, n->in[i], last);
        for (uint32_t i = 0; i < info->n_attrs; i++) {
            const region *body = info->attrs[i].kind == ATTR_GRAPH
                                     ? n->attrs[i].u.g : NULL;

            if (body == NULL)
                continue;
            TRY(load_region(p, body, last));
            for (uint32_t k = 0; k < body->n_results; k++)
                read_value(p->g, n, body->results[k], last);
            keep_results(body, last);
        }
    }
    return HULL_OK;
}

/* last[] turned round: a list per reader. */
static hull_status list_drops(dynamic_program *p, const val *last)
{
    uint32_t n = p->g->n_values, at = 0;

    p->first = mem_calloc((size_t)n + 1, sizeof *p->first);
    p->drops = mem_calloc((size_t)n + 1, sizeof *p->drops);
    if (p->first == NULL || p->drops == NULL)
        return fail_oom(n * sizeof *p->first);
    for (val v = 1; v < n; v++)
        if (last[v] != 0)
            p->first[last[v]]++;
    for (val v = 0; v <= n; v++) { /* counts to ends */
        at += p->first[v];
        p->first[v] = at;
    }
    for (val v = n; v-- > 1;)
        if (last[v] != 0)
            p->drops[--p->first[last[v]]] = v;
    return HULL_OK;
}

hull_status dynamic_program_load(dynamic_program **out, const graph *g,
                                 const device *d)
{
    dynamic_program *p = mem_calloc(1, sizeof *p);
    val *last = mem_calloc(g->n_values, sizeof *last);
    hull_status st = HULL_OK;

    *out = NULL;
    if (p == NULL || last == NULL)
        TRY_OUT(fail_oom(g->n_values * sizeof *last));
    p->g = g;
    p->d = d;
    TRY_OUT(load_region(p, g->body, last));
    keep_results(g->body, last);
    TRY_OUT(list_drops(p, last));
    *out = p;
    p = NULL;
out:
    mem_free(last);
    dynamic_program_free(p);
    return st;
}

void dynamic_program_free(dynamic_program *p)
{
    if (p == NULL)
        return;
    mem_free(p->first);
    mem_free(p->drops);
    mem_free(p);
}

/* ---- values -------------------------------------------------------------- */

static void set_box(frame *f, val v, box *b)
{
    box_unref(f->boxes[v]);
    f->boxes[v] = b;
}

static bool same_sizes(const frame *f, const type *t, const tensor *x)
{
    if (t->kind == TYPE_UNRANKED)
        return t->dtype == x->dtype;
    if (t->dtype != x->dtype || t->rank != x->rank)
        return false;
    for (uint32_t i = 0; i < t->rank; i++) {
        int64_t want = t->dims[i];

        if (want == DIM_UNKNOWN)
            continue;
        if (want < 0 && dim_eval(&want, &f->env, t->dims[i]) != HULL_OK)
            return false;
        if (want != x->shape[i])
            return false;
    }
    return true;
}

/* Is b a value of type t? */
static bool fits(const frame *f, const type *t, const box *b)
{
    switch (t->kind) {
    case TYPE_TENSOR:
    case TYPE_UNRANKED:
        return same_sizes(f, t, &b->t);
    case TYPE_OPTIONAL:
        return b->t.dtype == HULL_NONE || fits(f, t->elem, b);
    case TYPE_SEQUENCE:
        for (size_t i = 0; i < box_n_items(b); i++)
            if (!fits(f, t->elem, b->items[i]))
                return false;
        return b->t.dtype == HULL_SEQUENCE;
    default:
        return false;
    }
}

static hull_status misfit(const frame *f, const type *t, const box *b,
                          const char *what)
{
    buf want, found;
    hull_status st;

    error_clear();
    buf_init(&want, 1024);
    buf_init(&found, 1024);
    type_print(&want, f->g->m, t);
    if (b->t.dtype == HULL_SEQUENCE) {
        buf_printf(&found, "a sequence of %zu values", box_n_items(b));
    } else {
        buf_printf(&found, "%s[", hull_dtype_name(b->t.dtype));
        for (uint32_t i = 0; i < b->t.rank; i++)
            buf_printf(&found, "%s%" PRId64, i > 0 ? "," : "", b->t.shape[i]);
        buf_puts(&found, "]");
    }
    st = fail(HULL_ESHAPE, "%s is %s, wanted %s", what,
              found.p != NULL ? found.p : "?", want.p != NULL ? want.p : "?");
    buf_fini(&want);
    buf_fini(&found);
    return st;
}

static hull_status check_operands(const frame *f, const node *n)
{
    for (uint32_t i = 0; i < n->n_in; i++) {
        const box *b = f->boxes[n->in[i]];
        const type *t = graph_type(f->g, n->in[i]);
        char what[192], name[128];

        if (n->in[i] == 0)
            continue;
        if (b == NULL)
            return fail(HULL_EINTERNAL, "%s: operand %u has no value",
                        node_what(n, name), i);
        if (fits(f, t, b))
            continue;
        snprintf(what, sizeof what, "%s: operand %u", node_what(n, name), i);
        return misfit(f, t, b, what);
    }
    return HULL_OK;
}

/* ---- nodes --------------------------------------------------------------- */

static hull_status run_region(frame *f, const region *r, uint32_t depth);

static hull_status run_const(frame *f, const node *n)
{
    const literal *l = node_attr(n, "value")->u.t;
    union { const void *in; void *out; } drop_const = {.in = l->data};
    tensor t = {.dtype = l->dtype, .rank = l->rank, .data = drop_const.out};
    box *b;

    memcpy(t.shape, l->shape, sizeof t.shape);
    b = box_borrow(&t); /* boxes are only read */
    if (b == NULL)
        return HULL_ENOMEM;
    set_box(f, n->out[0], b);
    return HULL_OK;
}

/* A kernel of tensors: its results have sizes by now. */
static hull_status run_tensors(frame *f, const node *n, eval_ctx *cx)
{
    tensor *in = arena_array(&f->scratch, n->n_in + 1u, sizeof *in);
    tensor *out = arena_array(&f->scratch, n->n_out + 1u, sizeof *out);
    op_eval_fn *kernel;
    uint64_t begin;

    if (in == NULL || out == NULL)
        return fail_oom(n->n_in * sizeof *in);
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i] != 0)
            in[i] = f->boxes[n->in[i]]->t;
    for (uint32_t i = 0; i < n->n_out; i++) {
        box *b;

        TRY(tensor_of_type(&out[i], &f->env, graph_type(f->g, n->out[i])));
        b = box_new(out[i].dtype, out[i].shape, out[i].rank);
        if (b == NULL)
            return HULL_ENOMEM;
        set_box(f, n->out[i], b);
        out[i] = b->t;
    }
    kernel = node_kernel(f->p->d, f->g, n);
    begin = time_ns();
    TRY(kernel(cx, n, in, out));
    if (f->rc.profile != NULL)
        f->rc.profile->note(f->rc.profile->user, f->p->d, f->g, n, in, out,
                            begin, time_ns());
    return HULL_OK;
}

static hull_status run_boxes(frame *f, const node *n, eval_ctx *cx)
{
    box **in = arena_array(&f->scratch, n->n_in + 1u, sizeof(*in));
    box **made = arena_array(&f->scratch, n->n_out + 1u, sizeof(*made));
    hull_status st;

    if (in == NULL || made == NULL)
        return fail_oom(n->n_in * sizeof(*in));
    for (uint32_t i = 0; i < n->n_in; i++)
        in[i] = n->in[i] != 0 ? f->boxes[n->in[i]] : NULL;
    cx->boxes = in;
    cx->made = made;
    st = op_get(n->op)->eval(cx, n, NULL, NULL);
    for (uint32_t i = 0; i < n->n_out; i++) {
        set_box(f, n->out[i], made[i]);
        if (st == HULL_OK && made[i] == NULL)
            st = fail(HULL_EINTERNAL, "op '%s' made no result %u",
                      op_get(n->op)->name, i);
    }
    return st;
}

static hull_status one_bool(bool *out, const frame *f, const node *n, val v)
{
    const tensor *t = &f->boxes[v]->t;
    char what[128];

    *out = false;
    if (tensor_numel(t) != 1)
        return fail(HULL_ESHAPE, "%s: a condition has %" PRId64 " elements, "
                    "want 1", node_what(n, what), tensor_numel(t));
    *out = load_i64(t->dtype, t->data, 0) != 0;
    return HULL_OK;
}

/* The region's results, a reference each, into out; it is empty afterwards. */
static hull_status take_results(frame *f, const region *r, box **out)
{
    for (uint32_t i = 0; i < r->n_results; i++) {
        out[i] = box_ref(f->boxes[r->results[i]]);
        if (out[i] == NULL)
            return fail(HULL_EINTERNAL, "result %u of a body has no value", i);
    }
    return HULL_OK;
}

static void leave_region(frame *f, const region *r)
{
    for (uint32_t i = 0; i < r->n_params; i++)
        set_box(f, r->params[i], NULL);
    for (const node *n = r->first; n != NULL; n = n->next)
        for (uint32_t i = 0; i < n->n_out; i++)
            set_box(f, n->out[i], NULL);
}

static hull_status run_if(frame *f, const node *n, uint32_t depth)
{
    box **made = mem_calloc(n->n_out + 1u, sizeof(*made));
    const region *body;
    hull_status st = HULL_OK;
    bool yes;

    if (made == NULL)
        return fail_oom(n->n_out * sizeof(*made));
    TRY_OUT(one_bool(&yes, f, n, n->in[0]));
    body = node_attr(n, yes ? "then" : "else")->u.g;
    st = run_region(f, body, depth + 1);
    if (st == HULL_OK)
        st = take_results(f, body, made);
    leave_region(f, body);
    for (uint32_t i = 0; i < n->n_out; i++)
        set_box(f, n->out[i], made[i]);
out:
    mem_free(made);
    return st;
}

static box *scalar_box(hull_dtype dt, int64_t v)
{
    box *b = box_new(dt, NULL, 0);

    if (b != NULL)
        store_i64(dt, b->t.data, 0, v);
    return b;
}

/* now: condition, then what is carried: references, replaced by the body's. */
static hull_status run_iteration(frame *f, const node *n, const region *body,
                                 int64_t i, box **now, uint32_t depth)
{
    hull_status st;

    set_box(f, body->params[0], scalar_box(HULL_I64, i));
    if (f->boxes[body->params[0]] == NULL)
        return HULL_ENOMEM;
    for (uint32_t k = 1; k < body->n_params; k++) {
        set_box(f, body->params[k], now[k - 1]);
        now[k - 1] = NULL;
    }
    st = run_region(f, body, depth + 1);
    if (st == HULL_OK)
        st = take_results(f, body, now);
    leave_region(f, body);
    (void)n;
    return st;
}

static hull_status run_loop(frame *f, const node *n, uint32_t depth)
{
    const region *body = node_attr(n, "body")->u.g;
    box **now = mem_calloc(n->n_out + 2u, sizeof(*now));
    int64_t trips = INT64_MAX;
    bool go = true;
    hull_status st = HULL_OK;

    if (now == NULL)
        return fail_oom(n->n_out * sizeof(*now));
    if (n->in[0] != 0) {
        const tensor *t = &f->boxes[n->in[0]]->t;
        char what[128];

        if (tensor_numel(t) != 1)
            TRY_OUT(fail(HULL_ESHAPE, "%s: the trip count has %" PRId64
                         " elements, want 1", node_what(n, what),
                         tensor_numel(t)));
        trips = load_i64(HULL_I64, t->data, 0);
    }
    if (n->in[1] != 0)
        TRY_OUT(one_bool(&go, f, n, n->in[1]));
    now[0] = scalar_box(HULL_BOOL, go);
    if (now[0] == NULL)
        TRY_OUT(HULL_ENOMEM);
    for (uint32_t i = 0; i < n->n_out; i++)
        now[i + 1] = box_ref(f->boxes[n->in[i + 2]]);
    for (int64_t i = 0; go && i < trips; i++) {
        TRY_OUT(run_iteration(f, n, body, i, now, depth));
        if (tensor_numel(&now[0]->t) != 1)
            TRY_OUT(fail(HULL_ESHAPE, "the condition of a loop is no scalar"));
        go = load_i64(HULL_BOOL, now[0]->t.data, 0) != 0;
    }
    for (uint32_t i = 0; i < n->n_out; i++) {
        set_box(f, n->out[i], now[i + 1]);
        now[i + 1] = NULL;
    }
out:
    for (uint32_t i = 0; i < n->n_out + 1u; i++)
        box_unref(now[i]);
    mem_free(now);
    return st;
}

static hull_status run_node(frame *f, const node *n, uint32_t depth)
{
    eval_ctx cx = {.env = &f->env, .scratch = &f->scratch, .texts = f->texts,
                   .random = f->rc.random,
                   .pool = f->p->d != NULL ? f->p->d->pool : NULL};

    TRY(check_operands(f, n));
    if (n->op == OP_const)
        return run_const(f, n);
    if (n->op == OP_if)
        return run_if(f, n, depth);
    if (n->op == OP_loop)
        return run_loop(f, n, depth);
    arena_reset(&f->scratch);
    return (op_get(n->op)->traits & OP_DYNAMIC) != 0 ? run_boxes(f, n, &cx)
                                                     : run_tensors(f, n, &cx);
}

static hull_status run_region(frame *f, const region *r, uint32_t depth)
{
    const dynamic_program *p = f->p;

    if (depth > DYNAMIC_MAX_DEPTH)
        return fail(HULL_EUNSUPPORTED, "bodies are nested deeper than %d",
                    DYNAMIC_MAX_DEPTH);
    for (const node *n = r->first; n != NULL; n = n->next) {
        TRY(run_node(f, n, depth));
        for (uint32_t i = n->n_out > 0 ? p->first[n->out[0]] : 0;
             n->n_out > 0 && i < p->first[n->out[0] + 1]; i++)
            set_box(f, p->drops[i], NULL);
    }
    return HULL_OK;
}

/* ---- run ----------------------------------------------------------------- */

static hull_status bind_dims(frame *f, const type *t, const tensor *x,
                             uint32_t i, bool symbols)
{
    for (uint32_t k = 0; t->kind == TYPE_TENSOR && k < t->rank; k++) {
        char what[64];

        if (t->dims[k] == DIM_UNKNOWN ||
            dim_is_symbol(f->g->m, t->dims[k]) != symbols)
            continue;
        snprintf(what, sizeof what, "parameter %u dim %u", i, k);
        TRY(dim_bind(&f->env, t->dims[k], x->shape[k], what));
    }
    return HULL_OK;
}

static hull_status take_params(frame *f, box *const *params)
{
    const region *body = f->g->body;

    for (uint32_t i = 0; i < 2 * body->n_params; i++) {
        uint32_t k = i % body->n_params;
        const type *t = graph_type(f->g, body->params[k]);

        if (t->kind == TYPE_TENSOR && t->rank != params[k]->t.rank)
            return misfit(f, t, params[k], "a parameter");
        TRY(bind_dims(f, t, &params[k]->t, k, i < body->n_params));
    }
    for (uint32_t i = 0; i < body->n_params; i++) {
        if (!fits(f, graph_type(f->g, body->params[i]), params[i]))
            return misfit(f, graph_type(f->g, body->params[i]), params[i],
                          "a parameter");
        f->boxes[body->params[i]] = box_ref(params[i]);
    }
    return HULL_OK;
}

static hull_status give_results(frame *f, box **results)
{
    const region *body = f->g->body;

    for (uint32_t i = 0; i < body->n_results; i++) {
        box *b = f->boxes[body->results[i]];
        const type *t = graph_type(f->g, body->results[i]);

        if (b == NULL)
            return fail(HULL_EINTERNAL, "result %u has no value", i);
        if (!fits(f, t, b))
            return misfit(f, t, b, "a result");
        results[i] = box_own(b, f->texts);
        if (results[i] == NULL)
            return HULL_ENOMEM;
    }
    return HULL_OK;
}

hull_status dynamic_program_run(const dynamic_program *p, box *const *params,
                                box **results, arena *texts,
                                const run_context *rc)
{
    const graph *g = p->g;
    frame f = {.p = p, .g = g, .texts = texts,
               .rc = rc != NULL ? *rc : (run_context){0}};
    hull_status st = HULL_OK;

    for (uint32_t i = 0; i < g->body->n_results; i++)
        results[i] = NULL;
    f.boxes = mem_calloc(g->n_values, sizeof(*f.boxes));
    if (f.boxes == NULL)
        return fail_oom(g->n_values * sizeof(*f.boxes));
    TRY_OUT(dim_env_init(&f.env, g->m));
    TRY_OUT(take_params(&f, params));
    TRY_OUT(run_region(&f, g->body, 0));
    TRY_OUT(give_results(&f, results));
out:
    for (uint32_t v = 0; v < g->n_values; v++)
        box_unref(f.boxes[v]);
    mem_free(f.boxes);
    dim_env_fini(&f.env);
    arena_fini(&f.scratch);
    for (uint32_t i = 0; st != HULL_OK && i < g->body->n_results; i++) {
        box_unref(results[i]);
        results[i] = NULL;
    }
    return st;
}
