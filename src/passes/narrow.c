/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * narrow.c - what only a few rows are read of is computed for those alone: a
 * slice that keeps half of an axis or less moves up through the op that feeds
 * it, when that op works on each row by itself and everything that reads its
 * result is this same slice. So a classifier that reads one token computes one
 * token in the last layer; keys and values of attention stay whole.
 *
 * Requests are counted per value and slice. When all readers of a value have
 * become requests for one slice of it, its op is made again on slices of its
 * operands, which are requests again.
 */
#include "passes/pass.h"

#define MAX_OPERANDS 16

typedef struct request {
    val of;          /* this value, */
    axis_cut c;           /* cut so, */
    val value;       /* is this one */
    uint32_t count;  /* readers that want it */
} request;

typedef struct narrower {
    graph *g;
    graph_facts f;
    request *requests;
    size_t n, cap;
    uint32_t *of;    /* by value: number + 1 of the request that came first */
    uint32_t *ready; /* requests of all readers of a value, to be tried */
    uint32_t n_ready;
} narrower;

/* How the operands of an op are cut for a cut of its result. */
typedef struct move {
    bool whole[MAX_OPERANDS];
    axis_cut c[MAX_OPERANDS];
    bool all_keys; /* of causal attention: the last row sees them all */
} move;

static bool same_cut(const axis_cut *a, const axis_cut *b)
{
    return a->axis == b->axis && a->start == b->start && a->end == b->end &&
           a->step == b->step;
}

static const type *operand_type(const narrower *w, const node *n, uint32_t i)
{
    return graph_type(w->g, n->in[i]);
}

/* ---- how ops are narrowed ------------------------------------------------ */

/* Operand i, which broadcasts to a tensor of rank `rank` with the size `size`
 * along the cut; false: its size there is none of both. */
static bool aligned(const narrower *w, const node *n, uint32_t i,
                    uint32_t rank, dim size, const axis_cut *c, move *m)
{
    const type *t = operand_type(w, n, i);
    uint32_t missing = rank - t->rank;

    m->whole[i] = c->axis < missing || t->dims[c->axis - missing] == 1;
    if (m->whole[i])
        return true;
    m->c[i] = *c;
    m->c[i].axis = c->axis - missing;
    return dim_eq(w->g->m, t->dims[m->c[i].axis], size);
}

/* Operands from `first` on, those that are missing left out. */
static bool all_aligned(const narrower *w, const node *n, uint32_t first,
                        const axis_cut *c, move *m)
{
    const type *y = graph_type(w->g, n->out[0]);

    for (uint32_t i = first; i < n->n_in; i++) {
        if (n->in[i] == 0) {
            m->whole[i] = true;
            continue;
        }
        if (operand_type(w, n, i)->rank > y->rank ||
            !aligned(w, n, i, y->rank, y->dims[c->axis], c, m))
            return false;
    }
    return true;
}

static bool pointwise_moves(const narrower *w, const node *n, const axis_cut *c,
                            move *m)
{
    if ((op_get(n->op)->traits & OP_CAN_FAIL) != 0 &&
        !dtype_is_float(operand_type(w, n, 0)->dtype))
        return false; /* an error of a row that nobody reads is one, too */
    return all_aligned(w, n, 0, c, m);
}

static bool matmul_moves(const narrower *w, const node *n, const axis_cut *c,
                         move *m)
{
    const type *y = graph_type(w->g, n->out[0]);
    uint32_t a = operand_type(w, n, 0)->rank, b = operand_type(w, n, 1)->rank;

    if (a < 2 || b < 2)
        return false;
    m->whole[0] = m->whole[1] = true;
    m->c[0] = m->c[1] = *c;
    if (n->n_in > 2 && !all_aligned(w, n, 2, c, m))
        return false;
    if (c->axis + 2 < y->rank)
        return aligned(w, n, 0, y->rank, y->dims[c->axis], c, m) &&
               aligned(w, n, 1, y->rank, y->dims[c->axis], c, m);
    if (c->axis + 2 == y->rank) {
        m->c[0].axis = attr_bool(n, "trans_a") ? a - 1 : a - 2;
        m->whole[0] = false;
    } else {
        m->c[1].axis = attr_bool(n, "trans_b") ? b - 2 : b - 1;
        m->whole[1] = false;
    }
    return true;
}

/* The cut leaves the last of `rows`. */
static bool is_last_row(const narrower *w, const axis_cut *c, dim rows)
{
    int64_t start, n;

    if (c->step != 1 || !dim_is_int(w->g->m, c->start, &start))
        return false;
    return start == -1 ||
           (dim_is_int(w->g->m, rows, &n) && n > 0 && start == n - 1);
}

static bool sdpa_moves(const narrower *w, const node *n, const axis_cut *c,
                       move *m)
{
    const type *y = graph_type(w->g, n->out[0]);

    if (c->axis + 2 < y->rank)
        return all_aligned(w, n, 0, c, m);
    m->whole[0] = m->whole[1] = m->whole[2] = true;
    m->c[0] = m->c[2] = *c;
    m->whole[c->axis + 2 == y->rank ? 0 : 2] = false;
    if (n->n_in > 3)
        m->whole[3] = true;
    if (c->axis + 1 == y->rank)
        return true;
    if (attr_bool(n, "causal") && (c->start != 0 || c->step != 1)) {
        const type *k = operand_type(w, n, 1); /* rows know their number */

        if (!is_last_row(w, c, y->dims[c->axis]) ||
            !dim_eq(w->g->m, k->dims[k->rank - 2], y->dims[c->axis]))
            return false;
        m->all_keys = true;
    }
    return n->n_in < 4 || n->in[3] == 0 || all_aligned(w, n, 3, c, m);
}

static bool norm_moves(const narrower *w, const node *n, const axis_cut *c,
                       move *m)
{
    return c->axis < node_axis(w->g, n) && all_aligned(w, n, 0, c, m);
}

static bool softmax_moves(const narrower *w, const node *n, const axis_cut *c,
                          move *m)
{
    return c->axis != node_axis(w->g, n) && all_aligned(w, n, 0, c, m);
}

static bool reduce_moves(const narrower *w, const node *n, const axis_cut *c,
                         move *m)
{
    const attr *axes = node_attr(n, "axes");
    uint32_t rank = operand_type(w, n, 0)->rank, at = 0;
    bool gone[HULL_MAX_RANK] = {0};

    for (uint32_t i = 0; i < axes->u.ints.n; i++)
        gone[axes->u.ints.p[i] < 0 ? axes->u.ints.p[i] + rank
                                   : axes->u.ints.p[i]] = true;
    if (axes->u.ints.n == 0)
        return false;
    m->c[0] = *c;
    if (attr_bool(n, "keep"))
        return !gone[c->axis];
    for (uint32_t i = 0; i < rank; i++) {
        if (gone[i])
            continue;
        m->c[0].axis = i;
        if (at++ == c->axis)
            return true;
    }
    return false;
}

static bool concat_moves(const narrower *w, const node *n, const axis_cut *c,
                         move *m)
{
    if (c->axis == node_axis(w->g, n))
        return false;
    for (uint32_t i = 0; i < n->n_in; i++)
        m->c[i] = *c;
    return true;
}

/* A plain cut of an axis of plain size, as positions. */
static bool plain_cut(const ir *m, const axis_cut *c, dim size, int64_t *start,
                      int64_t *end)
{
    int64_t n;

    if (c->step != 1 || !dim_is_int(m, size, &n) ||
        !dim_is_int(m, c->start, start) || !dim_is_int(m, c->end, end))
        return false;
    *start = *start < 0 ? *start + n : *start;
    *end = *end < 0 ? *end + n : *end > n ? n : *end;
    return *start >= 0 && *start < *end;
}

/* y's axis is the outer one of those that an axis of x is split into, or x's
 * the outer one of those that are merged into y's. */
static bool cut_reshape(const graph *g, const node *n, const axis_cut *c,
                        axis_cut *out)
{
    const type *x = graph_type(g, n->in[0]), *y = graph_type(g, n->out[0]);
    dim before = dim_product(g->m, y->dims, c->axis);
    dim size = y->dims[c->axis];
    int64_t a, b, start, end;

    *out = *c;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (x->dims[i] == 1 ||
            !dim_eq(g->m, dim_product(g->m, x->dims, i), before))
            continue;
        out->axis = i;
        if (dim_eq(g->m, x->dims[i], size))
            return true;
        if (!plain_cut(g->m, c, size, &start, &end) ||
            !dim_is_int(g->m, x->dims[i], &a) ||
            !dim_is_int(g->m, size, &b) || a < 1 || b < 1)
            return false;
        if (a % b == 0) {
            out->start = dim_int(g->m, start * (a / b));
            out->end = dim_int(g->m, end * (a / b));
            return true;
        }
        if (b % a != 0 || start % (b / a) != 0 || end % (b / a) != 0)
            return false;
        out->start = dim_int(g->m, start / (b / a));
        out->end = dim_int(g->m, end / (b / a));
        return true;
    }
    return false;
}

bool cut_of_operand(const graph *g, const node *n, const axis_cut *c,
                    axis_cut *out)
{
    if (n->op == OP_reshape)
        return cut_reshape(g, n, c, out);
    *out = *c;
    if (n->op == OP_transpose)
        out->axis = perm_at(n, c->axis);
    return n->op == OP_transpose;
}

static bool moves(const narrower *w, const node *n, const axis_cut *c, move *m)
{
    switch (n->op) {
    case OP_matmul: return matmul_moves(w, n, c, m);
    case OP_sdpa: return sdpa_moves(w, n, c, m);
    case OP_layer_norm:
    case OP_rms_norm: return norm_moves(w, n, c, m);
    case OP_softmax:
    case OP_log_softmax: return softmax_moves(w, n, c, m);
    case OP_transpose:
    case OP_reshape: return cut_of_operand(w->g, n, c, &m->c[0]);
    case OP_expand: return all_aligned(w, n, 0, c, m);
    case OP_concat: return concat_moves(w, n, c, m);
    case OP_reduce_sum:
    case OP_reduce_mean:
    case OP_reduce_max:
    case OP_reduce_min: return reduce_moves(w, n, c, m);
    default:
        return (op_get(n->op)->traits & OP_POINTWISE) != 0 &&
               pointwise_moves(w, n, c, m);
    }
}

/* ---- requests ------------------------------------------------------------ */

val cut_value(graph *g, val v, const axis_cut *c)
{
    node *n = node_new(g, OP_slice);
    int64_t axis = c->axis;

    node_input(g, n, v);
    node_ints(g, n, "axes", &axis, 1);
    node_dims(g, n, "starts", &c->start, 1);
    node_dims(g, n, "ends", &c->end, 1);
    if (c->step != 1)
        node_ints(g, n, "steps", &c->step, 1);
    return node_add(g, n);
}

bool slice_cut(const graph *g, const node *n, axis_cut *out)
{
    const attr *axes, *steps;
    int64_t axis, plain;

    if (n->op != OP_slice)
        return false;
    axes = node_attr(n, "axes");
    steps = node_attr(n, "steps");
    if (axes->u.ints.n != 1)
        return false;
    axis = axes->u.ints.p[0];
    if (axis < 0)
        axis += graph_type(g, n->in[0])->rank;
    *out = (axis_cut){(uint32_t)axis, node_attr(n, "starts")->u.dims.p[0],
                      node_attr(n, "ends")->u.dims.p[0],
                      steps->set && steps->u.ints.n > 0 ? steps->u.ints.p[0]
                                                        : 1};
    return dim_is_int(g->m, out->start, &plain) &&
           dim_is_int(g->m, out->end, &plain);
}

/* Nodes that follow stand right behind v. */
static void stand_behind(narrower *w, val v)
{
    const node *def = graph_def(w->g, v);
    region *scope = graph_value(w->g, v)->scope;

    w->g->insert_in = scope;
    w->g->insert_before = def != NULL ? def->next : scope->first;
}

static void count_reader(narrower *w, uint32_t i)
{
    request *r = &w->requests[i];

    if (++r->count == w->f.uses[r->of])
        w->ready[w->n_ready++] = i;
}

/* v cut by c, which one more reader wants. */
static val want(narrower *w, val v, const axis_cut *c)
{
    val made;

    v = graph_resolve(w->g, v);
    if (v < w->f.n && w->of[v] != 0) {
        const request *r = &w->requests[w->of[v] - 1];

        if (same_cut(&r->c, c)) {
            count_reader(w, w->of[v] - 1);
            return r->value;
        }
    }
    stand_behind(w, v);
    made = cut_value(w->g, v, c);
    if (v >= w->f.n || w->of[v] != 0)
        return made; /* of a new value, or not the only axis_cut */
    if (mem_grow(&w->requests, &w->cap, w->n + 1, sizeof *w->requests) !=
        HULL_OK) {
        ir_fail(w->g->m, HULL_ENOMEM);
        return 0;
    }
    w->requests[w->n++] = (request){v, *c, made, 0};
    w->of[v] = (uint32_t)w->n;
    count_reader(w, w->of[v] - 1);
    return made;
}

/* Few rows are left: at most half of a plain size, one of another. */
static bool is_worth_it(const narrower *w, const request *r)
{
    dim all = graph_type(w->g, r->of)->dims[r->c.axis];
    dim left = graph_type(w->g, r->value)->dims[r->c.axis];
    int64_t size, least, most;

    if (left == DIM_UNKNOWN)
        return false;
    dim_range(w->g->m, left, &least, &most);
    return dim_is_int(w->g->m, all, &size) ? most <= size / 2 : most <= 1;
}

/* The op of r's value on cut operands. */
static void move_up(narrower *w, const request *r, const node *n, const move *m)
{
    val in[MAX_OPERANDS];
    const type *y = graph_type(w->g, r->value);
    node *c;

    for (uint32_t i = 0; i < n->n_in; i++)
        in[i] = m->whole[i] ? n->in[i] : want(w, n->in[i], &m->c[i]);
    if (ir_status(w->g->m) != HULL_OK)
        return;
    stand_behind(w, r->of);
    c = node_again(w->g, n, in, n->n_in);
    if (n->op == OP_reshape || n->op == OP_expand)
        node_dims(w->g, c, "shape", y->dims, y->rank);
    if (m->all_keys)
        node_bool(w->g, c, "causal", false);
    graph_replace(w->g, r->value, node_add(w->g, c));
}

static void try_request(narrower *w, const request *r)
{
    const node *n = graph_def(w->g, r->of);
    move m = {0};

    if (n != NULL && n->n_out == 1 && n->n_in <= MAX_OPERANDS &&
        value_is_runtime(&w->f, r->of) && is_worth_it(w, r) &&
        !node_is_dynamic(w->g, n) && moves(w, n, &r->c, &m))
        move_up(w, r, n, &m);
}

/* ---- pass ---------------------------------------------------------------- */

/* Slices of one region, whose value is of the same one. */
static void collect(narrower *w)
{
    node *next;

    for (node *n = graph_first(w->g); n != NULL; n = next) {
        axis_cut c;
        val v;

        next = graph_next(w->g, n);
        if (!slice_cut(w->g, n, &c) || !value_is_runtime(&w->f, n->out[0]) ||
            node_is_dynamic(w->g, n) ||
            graph_value(w->g, n->in[0])->scope != n->parent)
            continue;
        v = want(w, n->in[0], &c);
        if (v == 0)
            return;
        graph_replace(w->g, n->out[0], v);
    }
}

static hull_status narrow(narrower *w)
{
    TRY(graph_facts_get(&w->f, w->g));
    w->of = arena_array(&w->g->m->a, w->f.n, sizeof *w->of);
    w->ready = arena_array(&w->g->m->a, w->f.n, sizeof *w->ready);
    if (w->of == NULL || w->ready == NULL)
        return ir_fail(w->g->m, fail_oom(w->f.n * sizeof *w->of));
    collect(w);
    TRY(ir_status(w->g->m));
    while (w->n_ready > 0) {
        request r = w->requests[w->ready[--w->n_ready]];

        try_request(w, &r);
        TRY(ir_status(w->g->m));
    }
    w->g->insert_before = NULL;
    w->g->insert_in = NULL;
    graph_settle(w->g);
    graph_remove_dead(w->g);
    return ir_status(w->g->m);
}

hull_status pass_narrow(graph *g)
{
    narrower w = {.g = g};
    hull_status st = narrow(&w);

    mem_free(w.requests);
    return st;
}
