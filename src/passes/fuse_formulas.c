/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * fuse_formulas.c - activations and norms that a model spells out become one
 * op. The table has a row per spelling that pattern.c does not see as the same;
 * HULL_LOG=passes:debug tells why a formula that began well was not taken.
 */
#include "passes/pattern.h"

typedef struct fuser {
    graph *g;
    graph_facts f;
    pattern_match m;
    const node *n;     /* the formula's last node */
    const char *why;   /* a refusal of build */
    bool changed;
} fuser;

#define LETTER(c) ((c) - 'a')
#define NUMBER(c) ((c) - 'A')

static val refuse(fuser *f, const char *why)
{
    f->why = why;
    return 0;
}

/* The value x, when the result has its type: nothing was broadcast. */
static val same_as_result(fuser *f, char letter)
{
    val x = f->m.value[LETTER(letter)];

    if (x == 0 || !type_eq(f->g->m, graph_type(f->g, x),
                           graph_type(f->g, f->n->out[0])))
        return refuse(f, "the result has another type than the operand");
    return x;
}

/* ---- activations --------------------------------------------------------- */

static val unary(fuser *f, op_code op)
{
    val x = same_as_result(f, 'x');

    return x != 0 ? op_unary(f->g, op, x) : 0;
}

static val build_sigmoid(fuser *f)
{
    return unary(f, OP_sigmoid);
}

static val build_silu(fuser *f)
{
    return unary(f, OP_silu);
}

static val build_gelu(fuser *f)
{
    return unary(f, OP_gelu);
}

static val build_gelu_tanh(fuser *f)
{
    val x = same_as_result(f, 'x');
    node *n;

    if (x == 0)
        return 0;
    n = node_new(f->g, OP_gelu);
    node_input(f->g, n, x);
    node_bool(f->g, n, "tanh", true);
    return node_add(f->g, n);
}

static val hard_sigmoid(fuser *f, double alpha, double beta)
{
    val x = same_as_result(f, 'x');
    node *n;

    if (x == 0)
        return 0;
    n = node_new(f->g, OP_hard_sigmoid);
    node_input(f->g, n, x);
    node_float(f->g, n, "alpha", alpha);
    node_float(f->g, n, "beta", beta);
    return node_add(f->g, n);
}

static val build_hard_sigmoid(fuser *f)
{
    return hard_sigmoid(f, 1.0 / 6, 0.5);
}

static val build_hard_sigmoid_of(fuser *f)
{
    return hard_sigmoid(f, f->m.number[NUMBER('A')],
                        f->m.number[NUMBER('B')]);
}

static val build_hard_swish(fuser *f)
{
    val gate = build_hard_sigmoid(f);

    return gate != 0 ? op_binary(f->g, OP_mul, f->m.value[LETTER('x')], gate)
                     : 0;
}

/* ---- norms --------------------------------------------------------------- */

/* Axes of a reduction over tensors of this rank, as bits. */
static uint32_t axes_of(const node *reduce, uint32_t rank)
{
    const attr *a = node_attr(reduce, "axes");
    uint32_t bits = 0;

    for (uint32_t i = 0; i < a->u.ints.n; i++) {
        int64_t axis = a->u.ints.p[i];

        bits |= 1u << (axis < 0 ? axis + rank : axis);
    }
    return a->u.ints.n == 0 ? (1u << rank) - 1 : bits;
}

/* d is x - mean(x) over these axes: x, else 0. */
static val centred(const fuser *f, val d, uint32_t axes)
{
    const node *sub = graph_def(f->g, d), *mean;
    uint32_t rank = graph_type(f->g, d)->rank;

    if (sub == NULL || sub->op != OP_sub)
        return 0;
    mean = graph_def(f->g, sub->in[1]);
    if (mean == NULL || mean->op != OP_reduce_mean ||
        !attr_bool(mean, "keep") ||
        graph_resolve(f->g, mean->in[0]) != graph_resolve(f->g, sub->in[0]) ||
        axes_of(mean, rank) != axes)
        return 0;
    return graph_resolve(f->g, sub->in[0]);
}

static val norm(graph *g, op_code op, val x, uint32_t axis, double eps)
{
    node *n = node_new(g, op);

    node_input(g, n, x);
    node_int(g, n, "axis", axis);
    node_float(g, n, "eps", eps);
    return node_add(g, n);
}

/* perm moves `axis` to the end, back undoes it. */
static void to_the_end(int64_t *perm, int64_t *back, uint32_t axis,
                       uint32_t rank)
{
    for (uint32_t i = 0; i + 1 < rank; i++)
        perm[i] = i < axis ? i : i + 1;
    perm[rank - 1] = axis;
    for (uint32_t i = 0; i < rank; i++)
        back[perm[i]] = i;
}

static val build_norm(fuser *f)
{
    val d = same_as_result(f, 'd'), x;
    uint32_t rank = d != 0 ? graph_type(f->g, d)->rank : 0;
    uint32_t axes, axis = 0;
    op_code op = OP_layer_norm;
    int64_t perm[HULL_MAX_RANK], back[HULL_MAX_RANK];
    double eps = f->m.number[NUMBER('E')];

    if (rank == 0)
        return 0;
    axes = axes_of(f->m.mean, rank);
    while ((axes >> axis & 1) == 0)
        axis++;
    x = centred(f, d, axes);
    if (x == 0) {
        op = OP_rms_norm;
        x = d;
    }
    if (eps < 0)
        return refuse(f, "eps is negative");
    if (axes >> axis == (1u << (rank - axis)) - 1)
        return norm(f->g, op, x, axis, eps);
    if (axes != 1u << axis)
        return refuse(f, "the mean is over axes that are not the last ones");
    to_the_end(perm, back, axis, rank);
    x = norm(f->g, op, op_transpose(f->g, x, perm, rank), rank - 1, eps);
    return op_transpose(f->g, x, back, rank);
}

/* ---- the table ----------------------------------------------------------- */

typedef struct formula {
    const char *name, *text;
    val (*build)(fuser *f);
} formula;

static const formula table[] = {
    {"gelu", "0.5*x*(erf(0.70710678118654752*x)+1)", build_gelu},
    {"gelu", "x*(0.5*erf(0.70710678118654752*x)+0.5)", build_gelu},
    {"gelu_tanh", "0.5*x*(tanh(0.79788456080286536*(x+0.044715*x*x*x))+1)",
     build_gelu_tanh},
    {"gelu_tanh", "0.5*x*(tanh(0.79788456080286536*x*(0.044715*x*x+1))+1)",
     build_gelu_tanh},
    {"sigmoid", "1*reciprocal(exp(-1*x)+1)", build_sigmoid},
    {"silu", "x*sigmoid(x)", build_silu},
    {"hard_sigmoid", "0.16666666666666667*clamp(x+3,0,6)", build_hard_sigmoid},
    {"hard_sigmoid", "clamp(A*x+B,0,1)", build_hard_sigmoid_of},
    {"hard_swish", "0.16666666666666667*x*clamp(x+3,0,6)", build_hard_swish},
    {"norm", "d*rsqrt(mean(d*d)+E)", build_norm},
};

static bool try_formula(fuser *f, const formula *row, const pattern *p,
                        const node *n)
{
    val y = 0;

    f->n = n;
    f->why = NULL;
    if (pattern_matches(p, &f->f, n->out[0], &f->m))
        y = row->build(f);
    else if (f->m.reached > 0)
        f->why = f->m.why;
    if (f->why != NULL)
        log_debug("passes", "%s '%.*s': not %s: %s", op_get(n->op)->name,
                  STR_ARG(n->label), row->name, f->why);
    if (y == 0)
        return false;
    graph_replace(f->g, n->out[0], y);
    f->changed = true;
    return true;
}

/* ---- scale and shift of a norm ------------------------------------------- */

/* The constant c as an operand of the norm n, whose result was transposed by
 * `t` (may be NULL); 0: it has other axes than the norm. */
static val affine(fuser *f, const node *n, const node *t, val c)
{
    const type *y = graph_type(f->g, n->out[0]), *ct = graph_type(f->g, c);
    uint32_t axis = node_axis(f->g, n), many = y->rank - axis;
    int64_t where = -1;
    dim dims[HULL_MAX_RANK];

    if (value_is_runtime(&f->f, c) || ct->dtype != y->dtype ||
        ct->rank > y->rank)
        return 0;
    for (uint32_t i = 0; t != NULL && i < y->rank; i++)
        if (perm_at(t, i) == y->rank - 1)
            where = i;
    if (t != NULL && many != 1)
        return 0;
    for (uint32_t i = 0; i < y->rank; i++) {
        bool inside = t != NULL ? i == where : i >= axis;
        dim size = i + ct->rank < y->rank ? 1
                                          : ct->dims[i + ct->rank - y->rank];
        dim want = t != NULL ? y->dims[y->rank - 1] : y->dims[i];

        if (!dim_eq(f->g->m, size, inside ? want : 1))
            return 0;
    }
    for (uint32_t i = 0; i < many; i++)
        dims[i] = y->dims[axis + i];
    return op_reshape(f->g, c, dims, many);
}

/* mul(norm(x), c) and add(norm(x, s), c). */
static bool fuse_affine(fuser *f, const node *n)
{
    for (uint32_t i = 0; i < 2; i++) {
        const node *y = graph_def(f->g, n->in[i]), *t = NULL;
        val in[3] = {0}, c;
        node *m;

        if (y != NULL && y->op == OP_transpose &&
            value_has_one_use(&f->f, y->out[0])) {
            t = y;
            y = graph_def(f->g, t->in[0]);
        }
        if (y == NULL || (y->op != OP_layer_norm && y->op != OP_rms_norm) ||
            !value_has_one_use(&f->f, y->out[0]) || y->parent != n->parent)
            continue;
        for (uint32_t k = 0; k < y->n_in; k++)
            in[k] = y->in[k];
        if (n->op == OP_mul ? in[1] != 0 || in[2] != 0
                            : in[2] != 0 || y->op == OP_rms_norm)
            continue;
        c = affine(f, y, t, n->in[1 - i]);
        if (c == 0)
            continue;
        in[n->op == OP_mul ? 1 : 2] = c;
        m = node_again(f->g, y, in, n->op == OP_mul ? 2 : 3);
        c = node_add(f->g, m);
        if (t != NULL)
            c = op_transpose(f->g, c, node_attr(t, "perm")->u.ints.p,
                             node_attr(t, "perm")->u.ints.n);
        graph_replace(f->g, n->out[0], c);
        f->changed = true;
        return true;
    }
    return false;
}

static hull_status one_round(fuser *f, const pattern *p)
{
    node *next;

    TRY(graph_facts_get(&f->f, f->g));
    for (node *n = graph_first(f->g); n != NULL; n = next) {
        bool done = false;

        next = graph_next(f->g, n);
        if (n->n_out != 1 || value_is_runtime(&f->f, n->out[0]) == false)
            continue;
        f->g->insert_before = n;
        f->g->insert_in = n->parent;
        for (size_t i = 0; i < COUNT_OF(table) && !done; i++)
            done = try_formula(f, &table[i], &p[i], n);
        if (!done && (n->op == OP_mul || n->op == OP_add))
            fuse_affine(f, n);
        TRY(ir_status(f->g->m));
    }
    f->g->insert_before = NULL;
    f->g->insert_in = NULL;
    graph_settle(f->g);
    graph_remove_dead(f->g);
    return ir_status(f->g->m);
}

/* A formula may be part of another one, and a norm comes before its scale. */
hull_status pass_fuse_formulas(graph *g)
{
    pattern p[COUNT_OF(table)];
    fuser f = {.g = g, .changed = true};

    for (size_t i = 0; i < COUNT_OF(table); i++)
        TRY(note(pattern_parse(&p[i], table[i].text), "%s", table[i].name));
    for (int i = 0; i < 6 && f.changed; i++) {
        f.changed = false;
        TRY(one_round(&f, p));
    }
    return HULL_OK;
}
