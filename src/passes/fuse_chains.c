/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * fuse_chains.c - pointwise nodes of f32, and casts between f32 and 16 bits,
 * become one node `chain`: a node joins the chain that all of its readers are
 * in, when its result has the shape of the chain's. What does not depend on an
 * input stays outside: it is computed once, by the prepare program or in a
 * plan's first run. Nothing is rounded otherwise. HULL_LOG=passes:debug tells
 * why a node did not join its reader.
 */
#include "ops/family.h"
#include "passes/pass.h"

#include <math.h>

#define MIXED UINT32_MAX /* readers in several chains, or in none */
#define SHORT_ROW 16     /* takes longer to spread than to read and write */

typedef struct chainer {
    graph *g;
    node **order;
    uint32_t n;
    uint32_t *uses;
    bool *varies;      /* per value: depends on a parameter */
    uint32_t *reader;  /* per value: the chain that reads it, 0: none so far */
    uint32_t *seen;    /* per value: its readers so far */
    /* By a chain's number, 1 + the place of its last node in `order`. */
    uint32_t *steps, *operands;
} chainer;

static hull_status chainer_init(chainer *c, graph *g)
{
    uint32_t at = 0;

    *c = (chainer){.g = g, .uses = graph_uses(g), .n = graph_n_nodes(g)};
    c->order = arena_array(&g->m->a, c->n + 1, sizeof(*c->order));
    c->varies = arena_array(&g->m->a, g->n_values, sizeof *c->varies);
    c->reader = arena_array(&g->m->a, g->n_values, sizeof *c->reader);
    c->seen = arena_array(&g->m->a, g->n_values, sizeof *c->seen);
    c->steps = arena_array(&g->m->a, c->n + 1, sizeof *c->steps);
    c->operands = arena_array(&g->m->a, c->n + 1, sizeof *c->operands);
    if (c->order == NULL || c->varies == NULL || c->reader == NULL ||
        c->seen == NULL || c->steps == NULL || c->operands == NULL ||
        c->uses == NULL)
        return ir_fail(g->m, fail_oom(g->n_values));
    for (uint32_t v = 1; v < g->n_values; v++)
        c->varies[v] = graph_def(g, v) == NULL;
    for (node *n = graph_first(g); n != NULL; n = graph_next(g, n)) {
        uint32_t traits = op_get(n->op)->traits;
        bool varies = (traits & OP_PURE) == 0 || (traits & OP_CONTROL) != 0;

        for (uint32_t i = 0; i < n->n_in; i++)
            varies = varies || c->varies[n->in[i]];
        for (uint32_t i = 0; i < n->n_out; i++)
            c->varies[n->out[i]] = varies;
        n->number = 0;
        c->order[at++] = n;
    }
    return HULL_OK;
}

/* Operand x is one element for each short row of the result y. */
static bool spreads(const type *x, const type *y)
{
    bool one = true;

    for (uint32_t i = 0; i < x->rank; i++)
        one = one && x->dims[i] == 1;
    return !one && x->dims[x->rank - 1] == 1 && y->dims[y->rank - 1] > 1 &&
           y->dims[y->rank - 1] < SHORT_ROW;
}

static bool is_step_dtype(const node *n, hull_dtype dt)
{
    return n->op == OP_cast
               ? dt == HULL_F32 ? dtype_is_half(attr_dtype(n, "to"))
                                : dtype_is_half(dt) &&
                                      attr_dtype(n, "to") == HULL_F32
               : dt == HULL_F32;
}

/* Why n can be no step; NULL: it can. */
static const char *why_no_step(const chainer *c, const node *n)
{
    const op_info *info = op_get(n->op);

    if (!c->varies[n->out[0]])
        return "it does not depend on an input";
    for (uint32_t i = 0; i < n->n_in; i++) {
        const type *t = graph_type(c->g, n->in[i]);

        if (!is_step_dtype(n, t->dtype))
            return "it is not of f32";
        if (spreads(t, graph_type(c->g, n->out[0])))
            return "an operand is broadcast along a short last axis";
    }
    for (uint32_t i = 0; i < info->n_attrs; i++) {
        if (info->attrs[i].kind == ATTR_FLOAT && isnan(n->attrs[i].u.f))
            return "a bound is NaN";
        if (info->attrs[i].kind == ATTR_STR &&
            !str_eq(n->attrs[i].u.s, info->attrs[i].def.u.s))
            return "it rounds";
    }
    return NULL;
}

/* Why n cannot join the chain of its readers; NULL: it can. */
static const char *why_apart(const chainer *c, const node *n)
{
    val y = n->out[0];
    uint32_t k = c->reader[y];
    const type *t = graph_type(c->g, y), *to;
    const node *last;

    if (k == 0 || k == MIXED || c->seen[y] != c->uses[y])
        return "its readers are not in one chain";
    last = c->order[k - 1];
    to = graph_type(c->g, last->out[0]);
    if (n->parent != last->parent)
        return "its reader is in another body";
    if (t->rank != to->rank)
        return "its reader has another rank";
    for (uint32_t i = 0; i < t->rank; i++)
        if (!dim_eq(c->g->m, t->dims[i], to->dims[i]))
            return "its reader has another shape";
    if (c->steps[k] == CHAIN_STEPS)
        return "its reader's chain has all the steps that it may have";
    if (c->operands[k] - c->uses[y] + n->n_in > CHAIN_OPERANDS)
        return "its reader's chain has all the operands that it may have";
    return NULL;
}

static void refuse(const node *n, const char *why)
{
    log_debug("passes", "%s '%.*s' is not joined to what reads it: %s",
              op_get(n->op)->name, STR_ARG(n->label), why);
}

/* Readers come before what they read: n->number is n's chain. */
static void assign(chainer *c, uint32_t at)
{
    node *n = c->order[at];
    uint32_t k = MIXED;
    const char *why = chain_name(n) != NULL ? why_no_step(c, n) : "";

    if (why == NULL) {
        val y = n->out[0];

        why = why_apart(c, n);
        k = why == NULL ? c->reader[y] : at + 1;
        c->steps[k]++;
        c->operands[k] += n->n_in - (why == NULL ? c->uses[y] : 0);
        n->number = k;
    }
    if (why != NULL && why[0] != '\0')
        refuse(n, why);
    for (uint32_t i = 0; i < n->n_in; i++) {
        uint32_t *r = &c->reader[n->in[i]];

        *r = *r == 0 || *r == k ? k : MIXED;
        c->seen[n->in[i]]++;
    }
}

/* ---- building ------------------------------------------------------------ */

typedef struct program {
    val operands[CHAIN_OPERANDS];
    const node *steps[CHAIN_STEPS];
    uint32_t n_in, n;
} program;

/* Steps in an order in which they can run; at most CHAIN_STEPS deep. */
static void collect(const chainer *c, program *p, node *n)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (p->steps[i] == n)
            return;
    for (uint32_t i = 0; i < n->n_in; i++) {
        node *def = graph_def(c->g, n->in[i]);
        uint32_t k = 0;

        n->in[i] = graph_resolve(c->g, n->in[i]);
        if (def != NULL && def->number == n->number) {
            collect(c, p, def);
            continue;
        }
        while (k < p->n_in && p->operands[k] != n->in[i])
            k++;
        p->operands[k] = n->in[i];
        p->n_in = k == p->n_in ? k + 1 : p->n_in;
    }
    p->steps[p->n++] = n;
}

static int64_t value_number(const program *p, val v)
{
    uint32_t k = 0;

    for (; k < p->n_in; k++)
        if (p->operands[k] == v)
            return k;
    for (k = 0; k < p->n && p->steps[k]->out[0] != v;)
        k++;
    return p->n_in + k;
}

static void build(chainer *c, node *last)
{
    graph *g = c->g;
    int64_t args[2 * CHAIN_STEPS];
    double params[2 * CHAIN_STEPS];
    str ops[CHAIN_STEPS];
    uint32_t n_args = 0, n_params = 0;
    program p = {.n = 0};
    node *y;

    graph_rewrite_at(g, last);
    collect(c, &p, last);
    y = node_new(g, OP_chain);
    for (uint32_t k = 0; k < p.n_in; k++)
        node_input(g, y, p.operands[k]);
    for (uint32_t k = 0; k < p.n; k++) {
        const node *s = p.steps[k];
        const op_info *info = op_get(s->op);

        ops[k] = str_of(chain_name(s));
        for (uint32_t i = 0; i < s->n_in; i++)
            args[n_args++] = value_number(&p, s->in[i]);
        for (uint32_t i = 0; s->op != OP_cast && i < info->n_attrs; i++)
            if (info->attrs[i].kind == ATTR_FLOAT)
                params[n_params++] = s->attrs[i].u.f;
            else if (info->attrs[i].kind == ATTR_BOOL)
                params[n_params++] = s->attrs[i].u.b;
    }
    node_strs(g, y, "ops", ops, p.n);
    node_ints(g, y, "args", args, n_args);
    if (n_params > 0)
        node_floats(g, y, "params", params, n_params);
    if (y != NULL)
        y->label = last->label;
    if (node_add(g, y) == 0)
        return;
    if (type_eq(g->m, graph_type(g, y->out[0]), graph_type(g, last->out[0])))
        graph_replace(g, last->out[0], y->out[0]);
    else
        log_debug("passes", "%s '%.*s' ends no chain: its shape is written "
                  "another way", op_get(last->op)->name, STR_ARG(last->label));
}

hull_status fuse_chains(graph *g)
{
    chainer c;

    TRY(chainer_init(&c, g));
    for (uint32_t at = c.n; at-- > 0;)
        assign(&c, at);
    for (uint32_t at = 0; at < c.n; at++) {
        if (c.steps[at + 1] > 1)
            build(&c, c.order[at]);
        TRY(ir_status(g->m));
    }
    graph_rewrite_end(g);
    return ir_status(g->m);
}
