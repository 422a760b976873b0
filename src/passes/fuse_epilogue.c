/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * fuse_epilogue.c - what follows a lowered product and has no other reader goes
 * into its epilogue, y = act(x w + bias + residual):
 *
 *   add(p, b)   b: [n], as the last axis    bias
 *   add(p, r)   r: of the product's shape   residual
 *   act(p)      relu gelu silu sigmoid tanh clamp, x * hard_sigmoid(x)
 */
#include "passes/pass.h"

#include <math.h>

typedef struct fuser {
    graph *g;
    graph_facts f;
    const region *in; /* of the node at hand: products stay in theirs */
} fuser;

static bool is_product(const node *n)
{
    return n != NULL && (n->op == OP_gemm || n->op == OP_gemm_q4 ||
                         n->op == OP_conv_nhwc || n->op == OP_conv_winograd);
}

static val operand(const node *n, uint32_t i)
{
    return i < n->n_in ? n->in[i] : 0;
}

static bool has_act(const node *p)
{
    return !str_is(attr_str(p, "act"), "none");
}

/* v is a product that only this reader sees. Products made by this pass are
 * new to the facts, but take the place of ones with a single reader. */
static const node *product_of(const fuser *f, val v)
{
    const node *p = v != 0 ? graph_def(f->g, v) : NULL;

    return is_product(p) && p->number == 1 && p->parent == f->in ? p : NULL;
}

/* p with another bias and residual. */
static node *product_with(fuser *f, const node *p, val bias, val residual)
{
    node *c = node_new(f->g, p->op);
    const op_info *info = op_get(p->op);

    if (c == NULL)
        return NULL;
    c->label = p->label;
    node_input(f->g, c, p->in[0]);
    node_input(f->g, c, p->in[1]);
    node_input(f->g, c, bias);
    node_input(f->g, c, residual);
    for (uint32_t i = 4; i < p->n_in; i++)
        node_input(f->g, c, p->in[i]);
    for (uint32_t i = 0; i < info->n_attrs; i++)
        c->attrs[i] = p->attrs[i];
    return c;
}

/* c stands for n from now on, and has n's readers. */
static void take_over(fuser *f, const node *n, node *c)
{
    val y = node_add(f->g, c);

    if (y == 0)
        return;
    c->number = f->f.uses[n->out[0]];
    graph_replace(f->g, n->out[0], y);
}

static bool same_type(const fuser *f, val a, val b)
{
    return type_eq(f->g->m, graph_type(f->g, a), graph_type(f->g, b));
}

static bool is_bias(const fuser *f, val b, val of)
{
    const type *t = graph_type(f->g, b), *y = graph_type(f->g, of);

    return t->rank == 1 && y->rank > 0 && t->dtype == y->dtype &&
           dim_eq(f->g->m, t->dims[0], y->dims[y->rank - 1]);
}

static void fuse_add(fuser *f, const node *n)
{
    for (uint32_t i = 0; i < 2; i++) {
        const node *p = product_of(f, n->in[i]);
        val other = n->in[1 - i];

        if (p == NULL || has_act(p) || operand(p, 3) != 0)
            continue;
        if (operand(p, 2) == 0 && is_bias(f, other, n->in[i])) {
            take_over(f, n, product_with(f, p, other, 0));
            return;
        }
        if (same_type(f, other, n->in[i]) && other != n->in[i]) {
            take_over(f, n, product_with(f, p, operand(p, 2), other));
            return;
        }
    }
}

static void fuse_act(fuser *f, const node *n, const node *p, const char *act,
                     double low, double high)
{
    node *c;

    if (p == NULL || has_act(p))
        return;
    c = product_with(f, p, operand(p, 2), operand(p, 3));
    node_str(f->g, c, "act", str_of(act));
    if (low > -INFINITY || high < INFINITY) {
        node_float(f->g, c, "low", low);
        node_float(f->g, c, "high", high);
    }
    take_over(f, n, c);
}

/* x * hard_sigmoid(x) with 1/6 and 1/2; x * sigmoid(x). The product has these
 * two readers. */
static void fuse_gate(fuser *f, const node *n)
{
    for (uint32_t i = 0; i < 2; i++) {
        const node *gate = graph_def(f->g, n->in[i]);
        const node *p = graph_def(f->g, n->in[1 - i]);
        const char *act = NULL;

        if (gate == NULL || !is_product(p) || has_act(p) || p->number != 2 ||
            p->parent != f->in || gate->n_in != 1 ||
            graph_resolve(f->g, gate->in[0]) != graph_resolve(f->g, p->out[0]))
            continue;
        if (gate->op == OP_sigmoid)
            act = "silu";
        if (gate->op == OP_hard_sigmoid &&
            fabs(attr_float(gate, "alpha") - 1.0 / 6) < 1e-7 &&
            attr_float(gate, "beta") == 0.5)
            act = "hard_swish";
        if (act == NULL)
            continue;
        fuse_act(f, n, p, act, -INFINITY, INFINITY);
        return;
    }
}

static void fuse(fuser *f, const node *n)
{
    const node *p = n->n_in > 0 ? product_of(f, n->in[0]) : NULL;

    switch (n->op) {
    case OP_add:
        fuse_add(f, n);
        break;
    case OP_mul:
        fuse_gate(f, n);
        break;
    case OP_relu:
        fuse_act(f, n, p, "relu", -INFINITY, INFINITY);
        break;
    case OP_gelu:
        fuse_act(f, n, p, attr_bool(n, "tanh") ? "gelu_tanh" : "gelu",
                 -INFINITY, INFINITY);
        break;
    case OP_silu:
        fuse_act(f, n, p, "silu", -INFINITY, INFINITY);
        break;
    case OP_sigmoid:
        fuse_act(f, n, p, "sigmoid", -INFINITY, INFINITY);
        break;
    case OP_tanh:
        fuse_act(f, n, p, "tanh", -INFINITY, INFINITY);
        break;
    case OP_clamp:
        fuse_act(f, n, p, "clamp", attr_float(n, "min"),
                 attr_float(n, "max"));
        break;
    default:
        break;
    }
}

hull_status fuse_epilogue(graph *g)
{
    fuser f = {.g = g};
    node *next;

    TRY(graph_facts_get(&f.f, g));
    for (node *n = graph_first(g); n != NULL; n = graph_next(g, n))
        if (is_product(n)) /* number: readers, as far as it matters */
            n->number = f.f.uses[n->out[0]];
    for (node *n = graph_first(g); n != NULL; n = next) {
        next = graph_next(g, n);
        f.in = n->parent;
        graph_rewrite_at(g, n);
        fuse(&f, n);
        TRY(ir_status(g->m));
    }
    graph_rewrite_end(g);
    return ir_status(g->m);
}
