/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * simplify.c - identities that hold for every value. One rule per function:
 * it returns the value that may stand for the node's result, or 0.
 */
#include "passes/pass.h"

#include <math.h>

/* Types of which nothing is unknown: two unknown sizes may differ. */
static bool same_type(const graph *g, val a, val b)
{
    const type *t = graph_type(g, a);

    for (uint32_t i = 0; t->kind == TYPE_TENSOR && i < t->rank; i++)
        if (t->dims[i] == DIM_UNKNOWN)
            return false;
    return t->kind == TYPE_TENSOR && type_eq(g->m, t, graph_type(g, b));
}

static bool same_dtype(const graph *g, val a, val b)
{
    return graph_type(g, a)->dtype == graph_type(g, b)->dtype;
}

/* An op whose result has its operand's type and, then, its bytes. */
static val same_type_is_same(graph *g, node *n)
{
    return same_type(g, n->in[0], n->out[0]) ? n->in[0] : 0;
}

static const node *def_of(const graph *g, val v, op_code op)
{
    const node *def = graph_def(g, v);

    return def != NULL && def->op == op ? def : NULL;
}

static val simplify_reshape(graph *g, node *n)
{
    const node *inner = def_of(g, n->in[0], OP_reshape);
    const attr *shape = node_attr(n, "shape");

    if (same_type(g, n->in[0], n->out[0]))
        return n->in[0];
    if (inner == NULL)
        return 0;
    return op_reshape(g, inner->in[0], shape->u.dims.p, shape->u.dims.n);
}

static val simplify_transpose(graph *g, node *n)
{
    const attr *perm = node_attr(n, "perm");
    const node *inner = def_of(g, n->in[0], OP_transpose);
    int64_t joined[HULL_MAX_RANK];
    bool identity = true;

    for (uint32_t i = 0; i < perm->u.ints.n; i++)
        identity = identity && perm->u.ints.p[i] == i;
    if (identity)
        return n->in[0];
    if (inner == NULL)
        return 0;
    for (uint32_t i = 0; i < perm->u.ints.n; i++)
        joined[i] = node_attr(inner, "perm")->u.ints.p[perm->u.ints.p[i]];
    return op_transpose(g, inner->in[0], joined, perm->u.ints.n);
}

static val simplify_slice(graph *g, node *n)
{
    const attr *steps = node_attr(n, "steps");

    for (uint32_t i = 0; steps->set && i < steps->u.ints.n; i++)
        if (steps->u.ints.p[i] != 1)
            return 0;
    return same_type_is_same(g, n);
}

static val simplify_cast(graph *g, node *n)
{
    return same_dtype(g, n->in[0], n->out[0]) ? n->in[0] : 0;
}

static val simplify_concat(graph *g, node *n)
{
    (void)g;
    return n->n_in == 1 ? n->in[0] : 0;
}

static val simplify_pad(graph *g, node *n)
{
    const attr *pads = node_attr(n, "pads");
    int64_t v;

    for (uint32_t i = 0; i < pads->u.dims.n; i++)
        if (!dim_is_int(g->m, pads->u.dims.p[i], &v) || v != 0)
            return 0;
    return n->in[0];
}

/* The packing that n does, of something else. */
static node *repack(graph *g, const node *n, int64_t axis, val x, val scale)
{
    node *p = node_new(g, n->op);

    node_input(g, p, x);
    if (scale != 0)
        node_input(g, p, scale);
    if (n->op == OP_winograd_weight) {
        node_int(g, p, "m", attr_int(n, "m"));
    } else {
        node_int(g, p, "axis", axis);
        node_int(g, p, "groups", attr_int(n, "groups"));
    }
    node_int(g, p, "tile", attr_int(n, "tile"));
    return p;
}

/* Is s a factor for each element of w's first axis? */
static bool is_row_scale(const graph *g, val s, val w)
{
    const type *a = graph_type(g, s), *b = graph_type(g, w);

    if (a->kind != TYPE_TENSOR || a->rank != b->rank || a->rank == 0 ||
        a->dims[0] == DIM_UNKNOWN || a->dims[0] != b->dims[0])
        return false;
    for (uint32_t i = 1; i < a->rank; i++)
        if (a->dims[i] != 1)
            return false;
    return true;
}

/* A product with a factor per row goes into the op that packs its rows. */
static val simplify_scaled(graph *g, node *n)
{
    const node *mul = def_of(g, n->in[0], OP_mul);
    const type *t;

    if (mul == NULL || n->n_in > 1)
        return 0;
    t = graph_type(g, n->in[0]);
    for (int i = 0; dtype_is_float(t->dtype) && i < 2; i++) {
        val w = mul->in[i], s = mul->in[1 - i];

        if (same_type(g, w, n->in[0]) && is_row_scale(g, s, w))
            return node_add(g, repack(g, n, 0, w,
                                      op_reshape(g, s, &t->dims[0], 1)));
    }
    return 0;
}

/* Rows of a transposed matrix are its columns. */
static val simplify_pack(graph *g, node *n)
{
    const node *turn = def_of(g, n->in[0], OP_transpose);
    int64_t axis = attr_int(n, "axis");

    if (turn != NULL && n->n_in == 1 && attr_int(n, "groups") == 1 &&
        graph_type(g, turn->in[0])->rank == 2 &&
        node_attr(turn, "perm")->u.ints.p[0] == 1)
        return node_add(g, repack(g, n, 1 - axis, turn->in[0], 0));
    return axis == 0 ? simplify_scaled(g, n) : 0;
}

/* f(f(x)) is x; not of a number is a bool, though. */
static val simplify_twice(graph *g, node *n)
{
    const node *inner = def_of(g, n->in[0], n->op);

    return inner != NULL && same_dtype(g, inner->in[0], n->out[0])
               ? inner->in[0]
               : 0;
}

/* f(f(x)) is f(x). */
static val simplify_idempotent(graph *g, node *n)
{
    return def_of(g, n->in[0], n->op) != NULL ? n->in[0] : 0;
}

/* The operand is one literal number of no higher rank than the other operand,
 * which then has the result's shape: only the number matters. */
static bool is_scalar_operand(double *out, const graph *g, const node *n,
                              uint32_t i)
{
    const literal *l = value_literal(g, n->in[i]);

    if (l == NULL || l->numel != 1 || dtype_is_complex(l->dtype) ||
        l->rank > graph_type(g, n->in[1 - i])->rank)
        return false;
    *out = load_f64(l->dtype, l->data, 0);
    return true;
}

static bool is_float_value(const graph *g, val v)
{
    return dtype_is_float(graph_type(g, v)->dtype);
}

/* x * 1 and 1 * x. */
static val simplify_mul(graph *g, node *n)
{
    double v;

    for (uint32_t i = 0; i < 2; i++)
        if (is_scalar_operand(&v, g, n, i) && v == 1)
            return n->in[1 - i];
    return 0;
}

/* x / 1; a float's quotient may be rounded to an integer. */
static val simplify_div(graph *g, node *n)
{
    double v;

    if (is_float_value(g, n->in[0]) && !str_is(attr_str(n, "round"), "none"))
        return 0;
    return is_scalar_operand(&v, g, n, 1) && v == 1 ? n->in[0] : 0;
}

/* x + 0 for integers, x + -0.0 for floats (-0.0 + 0.0 is 0.0). */
static val simplify_add(graph *g, node *n)
{
    double v;

    for (uint32_t i = 0; i < 2; i++)
        if (is_scalar_operand(&v, g, n, i) && v == 0 &&
            (!is_float_value(g, n->in[i]) || signbit(v)))
            return n->in[1 - i];
    return 0;
}

/* x - 0 for integers, x - 0.0 for floats. */
static val simplify_sub(graph *g, node *n)
{
    double v;

    return is_scalar_operand(&v, g, n, 1) && v == 0 &&
                   (!is_float_value(g, n->in[1]) || !signbit(v))
               ? n->in[0]
               : 0;
}

/* The rules, by op. */
typedef val rule_fn(graph *g, node *n);
static rule_fn *const rules[OP_COUNT] = {
    [OP_reshape] = simplify_reshape,
    [OP_transpose] = simplify_transpose,
    [OP_expand] = same_type_is_same,
    [OP_cast] = simplify_cast,
    [OP_slice] = simplify_slice,
    [OP_concat] = simplify_concat,
    [OP_pad] = simplify_pad,
    [OP_pack] = simplify_pack,
    [OP_winograd_weight] = simplify_scaled,
    [OP_neg] = simplify_twice,
    [OP_not] = simplify_twice,
    [OP_bit_not] = simplify_twice,
    [OP_relu] = simplify_idempotent,
    [OP_abs] = simplify_idempotent,
    [OP_mul] = simplify_mul,
    [OP_div] = simplify_div,
    [OP_add] = simplify_add,
    [OP_sub] = simplify_sub,
};

hull_status pass_simplify(graph *g)
{
    bool changed = true;

    for (int round = 0; changed && round < 16; round++) {
        node *next;

        changed = false;
        for (node *n = graph_first(g); n != NULL; n = next) {
            val better;

            next = graph_next(g, n);
            if (rules[n->op] == NULL)
                continue;
            g->insert_before = n;
            g->insert_in = n->parent;
            better = rules[n->op](g, n);
            TRY(ir_status(g->m));
            if (better == 0)
                continue;
            graph_replace(g, n->out[0], better);
            changed = true;
        }
        graph_settle(g);
        graph_remove_dead(g);
    }
    return ir_status(g->m);
}
