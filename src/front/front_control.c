/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * front_control.c - control flow that frontends build: branches, loops and
 * scans, whose bodies a callback lowers. A scan is a loop that carries the
 * states and one buffer per collected result; each step reads its slices by
 * index and writes its results into the buffers. The types of the results come
 * from a first lowering of the step whose nodes nobody reads. Where a loop
 * changes the type of what it carries, its body is lowered again with a wider
 * one.
 */
#include "front/front_private.h"

#include <inttypes.h>

/* ---- bodies -------------------------------------------------------------- */

/* Where nodes went before a body was entered. */
typedef struct place {
    region *in;
    node *before;
} place;

static place enter(front *f, node *n, const char *where)
{
    place p = {f->g->insert_in, f->g->insert_before};

    f->g->insert_in = node_body(f->g, n, where);
    f->g->insert_before = NULL;
    return p;
}

/* Ends the body with its results, unless st tells that it failed. */
static hull_status leave(front *f, place p, hull_status st, const val *results,
                         uint32_t n)
{
    if (st == HULL_OK)
        st = ir_status(f->m);
    for (uint32_t i = 0; st == HULL_OK && i < n; i++)
        graph_result(f->g, results[i]);
    f->g->insert_in = p.in;
    f->g->insert_before = p.before;
    return st == HULL_OK ? ir_status(f->m) : st;
}

static hull_status add_control(front *f, node *n, uint32_t n_out, val *out)
{
    node_outputs(f->g, n, n_out);
    if (!node_add(f->g, n) && n_out)
        return ir_status(f->m);
    for (uint32_t i = 0; i < n_out; i++)
        out[i] = front_settle(f, n->out[i]);
    return ir_status(f->m);
}

/* One element as rank 0. */
static val rank0(front *f, val v)
{
    const type *t = v ? graph_type(f->g, v) : NULL;

    return t && t->kind == TYPE_TENSOR && t->rank > 0
               ? op_reshape(f->g, v, NULL, 0)
               : v;
}

/* A sequence without items whose type says nothing of them. */
static bool is_blank(const front *f, val v)
{
    const node *def = v ? graph_def(f->g, v) : NULL;

    return def && def->op == OP_seq_new && def->n_in == 0 &&
           graph_type(f->g, v)->elem->kind == TYPE_UNRANKED;
}

val lower_empty_sequence(front *f, const type *t)
{
    node *n = node_new(f->g, OP_seq_new);

    node_type(f->g, n, 0, t);
    return node_add(f->g, n);
}

/* Sizes that are numbers stay, others may be known inside a body only. */
static type loosen(front *f, const type *t)
{
    dim d[HULL_MAX_RANK];
    type elem;

    if (t->kind == TYPE_TENSOR) {
        for (uint32_t i = 0; i < t->rank; i++)
            d[i] = t->dims[i] >= 0 ? t->dims[i] : DIM_UNKNOWN;
        return type_tensor(f->m, t->dtype, d, t->rank);
    }
    if (!t->elem)
        return *t;
    elem = loosen(f, t->elem);
    return t->kind == TYPE_SEQUENCE ? type_sequence(f->m, &elem)
                                    : type_optional(f->m, &elem);
}

/* Result i of body r is an empty sequence: it takes the other body's type. */
static void fill_blank(front *f, region *r, uint32_t i, val other)
{
    region *in = f->g->insert_in;
    node *before = f->g->insert_before;
    const type *t = graph_type(f->g, other);

    if (!is_blank(f, r->results[i]) || t->kind != TYPE_SEQUENCE)
        return;
    type loose = loosen(f, t);
    f->g->insert_in = r;
    f->g->insert_before = NULL;
    r->results[i] = lower_empty_sequence(f, &loose);
    f->g->insert_in = in;
    f->g->insert_before = before;
}

hull_status lower_if(front *f, val cond, lower_body *yes, lower_body *no,
                     void *user, uint32_t n_out, val *out)
{
    static const char *const names[2] = {"then", "else"};
    lower_body *const fill[2] = {yes, no};
    val *results = arena_array(&f->a, n_out + 1, sizeof *results);

    if (!results)
        return fail_oom(n_out * sizeof *results);
    cond = rank0(f, cond);
    node *n = node_new(f->g, OP_if);
    node_input(f->g, n, cond);
    TRY(ir_status(f->m));
    for (int i = 0; i < 2; i++) {
        place p = enter(f, n, names[i]);
        hull_status st = ir_status(f->m);

        if (st == HULL_OK)
            st = fill[i](f, user, NULL, results);
        TRY(leave(f, p, st, results, n_out));
    }
    region *a = node_attr(n, names[0])->u.g, *b = node_attr(n, names[1])->u.g;
    for (uint32_t i = 0; i < n_out; i++) {
        fill_blank(f, a, i, b->results[i]);
        fill_blank(f, b, i, a->results[i]);
    }
    TRY(ir_status(f->m));
    return add_control(f, n, n_out, out);
}

/* Lowerings of loop bodies in one import: those of inner loops are done again
 * with each of the outer one. */
#define LOOP_BODIES_MAX 20000

/* ---- loops --------------------------------------------------------------- */

/* One loop while it is built: types of the carried values so far. */
typedef struct looping {
    val *given;          /* 0: an empty sequence of any type */
    type *types;
    bool *open;          /* given is an empty sequence of no settled type */
    val *params, *results;
    uint32_t n;
} looping;

static hull_status open_loop(front *f, looping *l, const val *carried,
                             uint32_t n)
{
    *l = (looping){.n = n};
    l->given = arena_array(&f->a, n + 1, sizeof(val));
    l->types = arena_array(&f->a, n + 1, sizeof(type));
    l->open = arena_array(&f->a, n + 1, sizeof(bool));
    l->params = arena_array(&f->a, n + 2, sizeof(val));
    l->results = arena_array(&f->a, n + 1, sizeof(val));
    if (!l->given || !l->types || !l->open || !l->params || !l->results)
        return fail_oom(n * sizeof(type));
    for (uint32_t i = 0; i < n; i++) {
        l->given[i] = carried[i];
        l->open[i] = !carried[i] || is_blank(f, carried[i]);
        if (carried[i])
            l->types[i] = *graph_type(f->g, carried[i]);
    }
    return HULL_OK;
}

/* Parameters iteration, condition, carried. Those of open type stand for an
 * empty sequence. */
static hull_status add_params(front *f, looping *l)
{
    type counter = type_tensor(f->m, HULL_I64, NULL, 0);
    type flag = type_tensor(f->m, HULL_BOOL, NULL, 0);

    l->params[0] = graph_param(f->g, str_of("iteration"), &counter);
    l->params[1] = graph_param(f->g, str_of("condition"), &flag);
    for (uint32_t i = 0; i < l->n; i++) {
        val *p = &l->params[2 + i];

        if (!l->open[i])
            *p = graph_param(f->g, str_of("carried"), &l->types[i]);
        else
            *p = l->given[i] ? lower_empty_sequence(f, &l->types[i]) : 0;
    }
    TRY(ir_status(f->m)); /* sizes are settled behind the last parameter */
    for (uint32_t i = 0; i < l->n; i++)
        l->params[2 + i] = front_settle(f, l->params[2 + i]);
    return ir_status(f->m);
}

/* The types that hold for what is given and what the body gives. */
static hull_status widen(front *f, looping *l, bool *out_changed)
{
    *out_changed = false;
    for (uint32_t i = 0; i < l->n; i++) {
        const type *next = graph_type(f->g, l->results[i + 1]);
        type t = *next;

        if (!l->open[i] && !type_join(f->m, &l->types[i], next, &t)) {
            TRY(ir_status(f->m));
            continue; /* the loop's shape rule tells */
        }
        if (l->open[i] && t.kind != TYPE_SEQUENCE)
            return fail(HULL_ESHAPE, "carried value %" PRIu32 " is a sequence, "
                        "its successor is none", i);
        if (!l->open[i] && type_eq(f->m, &t, &l->types[i]))
            continue;
        *out_changed = true;
        if (l->open[i])
            l->given[i] = 0; /* made anew, of this type */
        l->types[i] = t;
        l->open[i] = false;
    }
    return HULL_OK;
}

hull_status lower_loop(front *f, val trips, val cond, const val *carried,
                       uint32_t n, lower_body *body, void *user, val *out)
{
    bool changed = true;
    looping l;
    node *loop = NULL;

    TRY(open_loop(f, &l, carried, n));
    trips = rank0(f, trips);
    cond = rank0(f, cond);
    while (changed) { /* each round widens a type, and that ends */
        if (++f->priv->n_bodies > LOOP_BODIES_MAX)
            return fail(HULL_EUNSUPPORTED, "loops are nested too deep to find "
                        "the types of what they carry");
        loop = node_new(f->g, OP_loop);
        node_input(f->g, loop, trips);
        node_input(f->g, loop, cond);
        TRY(ir_status(f->m));
        place p = enter(f, loop, "body");
        hull_status st = ir_status(f->m);
        if (st == HULL_OK)
            st = add_params(f, &l);
        if (st == HULL_OK)
            st = body(f, user, l.params, l.results);
        if (st == HULL_OK)
            l.results[0] = rank0(f, l.results[0]);
        TRY(leave(f, p, st, l.results, n + 1));
        TRY(widen(f, &l, &changed));
    }
    for (uint32_t i = 0; i < n; i++)
        node_input(f->g, loop, l.given[i] ? l.given[i]
                               : lower_empty_sequence(f, &l.types[i]));
    return add_control(f, loop, n, out);
}

/* ---- scans --------------------------------------------------------------- */

/* One scan while it is built. */
typedef struct scanning {
    const lower_scan *s;
    dim trips;
    val *in, *out;      /* scratch of one step */
} scanning;

static val gather_at(front *f, val x, val index, int64_t axis)
{
    node *n = node_new(f->g, OP_gather);

    node_input(f->g, n, x);
    node_input(f->g, n, index);
    node_int(f->g, n, "axis", axis);
    return node_add(f->g, n);
}

/* The step's number i, or what is left after it. */
static val place_of(front *f, const scanning *q, val i, bool back)
{
    dim last = dim_sub(f->m, q->trips, 1);

    if (!back)
        return i;
    val top = op_reshape(f->g, op_dims(f->g, &last, 1), NULL, 0);
    return op_binary(f->g, OP_sub, top, i);
}

/* Puts y at place `at` of the first axis of a buffer. */
static val put_at(front *f, val buffer, val at, val y)
{
    static const dim one[2] = {1, 1};
    const type *t = y ? graph_type(f->g, y) : NULL;
    dim d[HULL_MAX_RANK] = {1};

    if (!t)
        return 0;
    for (uint32_t i = 0; i < t->rank; i++)
        d[i + 1] = t->dims[i];
    uint32_t rank = t->rank + 1;
    val update = op_reshape(f->g, y, d, rank);
    node *n = node_new(f->g, OP_scatter_nd);
    node_input(f->g, n, buffer);
    node_input(f->g, n, op_reshape(f->g, at, one, 2));
    node_input(f->g, n, update);
    return node_add(f->g, n);
}

static bool is_back(const int64_t *back, uint32_t k)
{
    return back && back[k] != 0;
}

static hull_status take_step(front *f, const scanning *q, const val *states,
                             val i)
{
    const lower_scan *s = q->s;

    for (uint32_t k = 0; k < s->n_states; k++)
        q->in[k] = states[k];
    for (uint32_t k = 0; k < s->n_slices; k++)
        q->in[s->n_states + k] =
            gather_at(f, s->whole[k], place_of(f, q, i, is_back(s->back, k)),
                      s->axes ? s->axes[k] : 0);
    TRY(ir_status(f->m));
    TRY(s->step(f, s->user, q->in, q->out));
    return ir_status(f->m);
}

/* Zeroed buffers for the results, the step's number as first axis. */
static hull_status add_buffers(front *f, const scanning *q, val *carried)
{
    const lower_scan *s = q->s;

    for (uint32_t k = 0; k < s->n_results; k++) {
        val y = q->out[s->n_states + k];
        const type *t = y ? graph_type(f->g, y) : NULL;
        dim d[HULL_MAX_RANK] = {q->trips};

        if (!t || t->rank == HULL_MAX_RANK)
            return fail(HULL_EUNSUPPORTED, "a result of too high a rank");
        for (uint32_t i = 0; i < t->rank; i++)
            d[i + 1] = t->dims[i];
        uint32_t rank = t->rank + 1;
        val zero = t->dtype == HULL_BOOL || dtype_is_int(t->dtype)
                       ? op_scalar_i64(f->g, t->dtype, 0)
                       : op_scalar(f->g, t->dtype, 0.0);
        carried[s->n_states + k] = op_expand(f->g, zero, d, rank);
    }
    return ir_status(f->m);
}

static hull_status scan_body(front *f, void *user, const val *in, val *out)
{
    const scanning *q = user;
    const lower_scan *s = q->s;
    const val *carried = in + 2;

    TRY(take_step(f, q, carried, in[0]));
    out[0] = in[1];
    for (uint32_t k = 0; k < s->n_states; k++)
        out[1 + k] = q->out[k];
    for (uint32_t k = 0; k < s->n_results; k++)
        out[1 + s->n_states + k] =
            put_at(f, carried[s->n_states + k],
                   place_of(f, q, in[0], is_back(s->out_back, k)),
                   q->out[s->n_states + k]);
    return ir_status(f->m);
}

/* The buffer's first axis to where the result wants it. */
static hull_status move_axis(front *f, val v, int64_t axis, val *out)
{
    const type *t = v ? graph_type(f->g, v) : NULL;
    int64_t perm[HULL_MAX_RANK], rank = t ? t->rank : 0;

    if (!t)
        return ir_status(f->m);
    if (axis < -rank || axis >= rank)
        return fail(HULL_ESHAPE, "axis %" PRId64 " does not exist in rank %"
                    PRId64, axis, rank);
    axis += axis < 0 ? rank : 0;
    for (int64_t i = 0; i < rank; i++)
        perm[i] = i < axis ? i + 1 : i == axis ? 0 : i;
    *out = axis == 0 ? v : op_transpose(f->g, v, perm, t->rank);
    return HULL_OK;
}

hull_status lower_scan_add(front *f, const lower_scan *s, val *results)
{
    uint32_t n = s->n_states + s->n_results;
    scanning q = {.s = s};
    const type *x = s->whole[0] ? graph_type(f->g, s->whole[0]) : NULL;
    val *carried = arena_array(&f->a, n + 1, sizeof(val));

    q.in = arena_array(&f->a, s->n_states + s->n_slices, sizeof(val));
    q.out = arena_array(&f->a, n + 1, sizeof(val));
    if (!q.in || !q.out || !carried)
        return fail_oom(n * sizeof(val));
    if (!x)
        return ir_status(f->m);
    q.trips = x->dims[s->axes ? s->axes[0] : 0];
    TRY(take_step(f, &q, s->states, op_scalar_i64(f->g, HULL_I64, 0)));
    for (uint32_t k = 0; k < s->n_states; k++)
        carried[k] = s->states[k];
    TRY(add_buffers(f, &q, carried));
    TRY(lower_loop(f, op_dims(f->g, &q.trips, 1),
                   op_scalar_i64(f->g, HULL_BOOL, 1), carried, n, scan_body,
                   &q, results));
    for (uint32_t k = 0; k < s->n_results; k++) {
        val *y = &results[s->n_states + k];

        TRY(move_axis(f, *y, s->out_axes ? s->out_axes[k] : 0, y));
    }
    return ir_status(f->m);
}
