/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * int_epilogue.c - what follows a product of bytes and has no other reader goes
 * into it (the operands of ops/packed_int.c):
 *
 *   f32(p) * s, f32(p + b) * s     s one number or [n]    scale, bias of i32
 *   p + b       b: [n]                                    bias, bias2
 *   p + r       r: of the product's shape                 residual
 *   p * f       f one number                              factor
 *   act(p)      relu gelu silu sigmoid tanh clamp         act
 *   quantize(p)                                           the result's dtype
 *   dequantize(quantize(p)) with the same numbers         mid
 *
 * in the order of the op; what comes in another order stays behind it.
 */
#include "passes/pass.h"

#include "ops/family.h"

#include <math.h>

typedef struct fuser {
    graph *g;
    graph_facts f;
} fuser;

static bool is_product(const node *n)
{
    return n != NULL && (n->op == OP_gemm_int || n->op == OP_matmul_int);
}

static val operand(const node *n, uint32_t i)
{
    return i < n->n_in ? n->in[i] : 0;
}

/* v is a product that only this reader sees; `number` of a product counts its
 * readers, as far as it matters. */
static const node *product_of(const fuser *f, val v)
{
    const node *p = v != 0 ? graph_def(f->g, v) : NULL;

    return is_product(p) && p->number == 1 ? p : NULL;
}

/* What a product's epilogue has so far. */
static bool is_sum(const node *p)
{
    return operand(p, INT_SCALE) == 0;
}

static bool is_open(const node *p) /* a f32 without an activation */
{
    return !is_sum(p) && operand(p, INT_OUT_SCALE) == 0 &&
           str_is(attr_str(p, "act"), "none");
}

/* A copy of p for changes, with every operand. */
typedef struct change {
    node *c;
    val in[INT_OPERANDS];
} change;

static bool change_begin(fuser *f, change *ch, const node *p)
{
    const op_info *info = op_get(p->op);

    ch->c = node_new(f->g, p->op);
    if (ch->c == NULL)
        return false;
    ch->c->label = p->label;
    for (uint32_t i = 0; i < info->n_attrs; i++)
        ch->c->attrs[i] = p->attrs[i];
    for (uint32_t i = 0; i < INT_OPERANDS; i++)
        ch->in[i] = operand(p, i);
    return true;
}

/* The changed product stands for n, and has n's readers. */
static void change_end(fuser *f, change *ch, const node *n)
{
    uint32_t n_in = INT_OPERANDS;
    val y;

    while (n_in > 2 && ch->in[n_in - 1] == 0)
        n_in--;
    for (uint32_t i = 0; i < n_in; i++)
        node_input(f->g, ch->c, ch->in[i]);
    y = node_add(f->g, ch->c);
    if (y == 0)
        return;
    ch->c->number = f->f.uses[n->out[0]];
    graph_replace(f->g, n->out[0], y);
}

static void put(fuser *f, const node *n, const node *p, uint32_t i, val v)
{
    change ch;

    if (!change_begin(f, &ch, p))
        return;
    ch.in[i] = v;
    change_end(f, &ch, n);
}

/* ---- operands ------------------------------------------------------------ */

static bool is_one(const graph *g, val v)
{
    const type *t = graph_type(g, v);

    for (uint32_t i = 0; i < t->rank; i++)
        if (t->dims[i] != 1)
            return false;
    return true;
}

/* v as one value for each column of a result like y, or as one value; 0: it is
 * neither. */
static val columns_of(fuser *f, val v, val y, bool or_one)
{
    const type *t = graph_type(f->g, v), *yt = graph_type(f->g, y);
    dim columns;

    if (yt->rank == 0 || t->rank > yt->rank)
        return 0;
    columns = yt->dims[yt->rank - 1];
    if (is_one(f->g, v))
        return or_one ? op_reshape(f->g, v, NULL, 0) : 0;
    for (uint32_t i = 0; i + 1 < t->rank; i++)
        if (t->dims[i] != 1)
            return 0;
    if (!dim_eq(f->g->m, t->dims[t->rank - 1], columns))
        return 0;
    return t->rank == 1 ? v : op_reshape(f->g, v, &columns, 1);
}

static bool same_type(const fuser *f, val a, val b)
{
    return type_eq(f->g->m, graph_type(f->g, a), graph_type(f->g, b));
}

/* The operation does not make the product's result larger. */
static bool keeps_shape(const fuser *f, const node *n, val p)
{
    const type *a = graph_type(f->g, n->out[0]), *b = graph_type(f->g, p);

    if (a->rank != b->rank)
        return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (!dim_eq(f->g->m, a->dims[i], b->dims[i]))
            return false;
    return true;
}

/* ---- rules --------------------------------------------------------------- */

/* f32(p) * s or f32(p + b) * s. */
static bool fuse_scale(fuser *f, const node *n, val from, val s)
{
    const node *cast = graph_def(f->g, from), *add = NULL, *p;
    val sum, bias = 0, scale;
    change ch;

    if (cast == NULL || cast->op != OP_cast ||
        graph_type(f->g, from)->dtype != HULL_F32 ||
        !value_has_one_use(&f->f, cast->out[0]))
        return false;
    sum = graph_resolve(f->g, cast->in[0]);
    p = product_of(f, sum);
    add = graph_def(f->g, sum);
    for (uint32_t i = 0; p == NULL && add != NULL && add->op == OP_add &&
                         value_has_one_use(&f->f, add->out[0]) && i < 2; i++) {
        p = product_of(f, add->in[i]);
        if (p != NULL)
            bias = columns_of(f, add->in[1 - i], p->out[0], false);
        if (p != NULL && (bias == 0 || operand(p, INT_BIAS) != 0 ||
                          !keeps_shape(f, add, p->out[0])))
            return false;
    }
    if (p == NULL || !is_sum(p) || !keeps_shape(f, n, p->out[0]))
        return false;
    scale = columns_of(f, s, p->out[0], true);
    if (scale == 0 || !change_begin(f, &ch, p))
        return false;
    ch.in[INT_SCALE] = scale;
    if (bias != 0)
        ch.in[INT_BIAS] = bias; /* of i32: it goes into the sum */
    node_dtype(f->g, ch.c, "to", HULL_F32);
    change_end(f, &ch, n);
    return true;
}

static void fuse_mul(fuser *f, const node *n)
{
    for (uint32_t i = 0; i < 2; i++) {
        const node *p = product_of(f, n->in[i]);
        val other = n->in[1 - i];

        if (fuse_scale(f, n, n->in[i], other))
            return;
        if (p == NULL || !is_open(p) || operand(p, INT_FACTOR) != 0 ||
            !is_one(f->g, other) || !keeps_shape(f, n, n->in[i]))
            continue;
        put(f, n, p, INT_FACTOR, op_reshape(f->g, other, NULL, 0));
        return;
    }
}

static void fuse_add(fuser *f, const node *n)
{
    for (uint32_t i = 0; i < 2; i++) {
        const node *p = product_of(f, n->in[i]);
        val other = n->in[1 - i], bias;

        if (p == NULL || !is_open(p) || operand(p, INT_RESIDUAL) != 0 ||
            operand(p, INT_FACTOR) != 0)
            continue;
        bias = keeps_shape(f, n, n->in[i])
                   ? columns_of(f, other, n->in[i], false)
                   : 0;
        if (bias != 0 && operand(p, INT_MID_SCALE) == 0 &&
            operand(p, INT_BIAS) == 0 && operand(p, INT_BIAS2) == 0) {
            put(f, n, p, INT_BIAS, bias);
            return;
        }
        if (bias != 0 && operand(p, INT_BIAS2) == 0) {
            put(f, n, p, INT_BIAS2, bias);
            return;
        }
        if (same_type(f, other, n->in[i]) && other != n->in[i]) {
            put(f, n, p, INT_RESIDUAL, other);
            return;
        }
    }
}

static void fuse_act(fuser *f, const node *n, const node *p, const char *act,
                     double low, double high)
{
    change ch;

    if (p == NULL || !is_open(p) || !change_begin(f, &ch, p))
        return;
    node_str(f->g, ch.c, "act", str_of(act));
    if (low > -INFINITY || high < INFINITY) {
        node_float(f->g, ch.c, "low", low);
        node_float(f->g, ch.c, "high", high);
    }
    change_end(f, &ch, n);
}

static bool is_whole(const fuser *f, const node *q)
{
    return graph_type(f->g, q->in[1])->dtype == HULL_F32 &&
           is_one(f->g, q->in[1]) &&
           (operand(q, 2) == 0 || is_one(f->g, q->in[2]));
}

static val as_number(fuser *f, val v)
{
    return v == 0 || graph_type(f->g, v)->rank == 0
               ? v
               : op_reshape(f->g, v, NULL, 0);
}

static void fuse_quantize(fuser *f, const node *n, const node *p)
{
    hull_dtype to = attr_dtype(n, "to");
    change ch;

    if (p == NULL || is_sum(p) || operand(p, INT_OUT_SCALE) != 0 ||
        !dtype_is_byte(to) || !is_whole(f, n) || !change_begin(f, &ch, p))
        return;
    ch.in[INT_OUT_SCALE] = as_number(f, n->in[1]);
    ch.in[INT_OUT_ZERO] = as_number(f, operand(n, 2));
    node_dtype(f->g, ch.c, "to", to);
    change_end(f, &ch, n);
}

/* Of the numbers that p was quantised with just before. */
static void fuse_dequantize(fuser *f, const node *n, const node *p)
{
    change ch;

    if (p == NULL || operand(p, INT_OUT_SCALE) == 0 || !is_whole(f, n) ||
        operand(p, INT_MID_SCALE) != 0 || operand(p, INT_BIAS2) != 0 ||
        operand(p, INT_RESIDUAL) != 0 || operand(p, INT_FACTOR) != 0 ||
        !str_is(attr_str(p, "act"), "none") ||
        graph_resolve(f->g, as_number(f, n->in[1])) !=
            graph_resolve(f->g, operand(p, INT_OUT_SCALE)) ||
        graph_resolve(f->g, as_number(f, operand(n, 2))) !=
            graph_resolve(f->g, operand(p, INT_OUT_ZERO)) ||
        !change_begin(f, &ch, p))
        return;
    ch.in[INT_MID_SCALE] = ch.in[INT_OUT_SCALE];
    ch.in[INT_MID_ZERO] = ch.in[INT_OUT_ZERO];
    ch.in[INT_OUT_SCALE] = ch.in[INT_OUT_ZERO] = 0;
    node_dtype(f->g, ch.c, "mid", attr_dtype(p, "to"));
    node_dtype(f->g, ch.c, "to", HULL_F32);
    change_end(f, &ch, n);
}

static void fuse(fuser *f, const node *n)
{
    const node *p = n->n_in > 0 ? product_of(f, n->in[0]) : NULL;

    switch (n->op) {
    case OP_add: fuse_add(f, n); break;
    case OP_mul: fuse_mul(f, n); break;
    case OP_quantize: fuse_quantize(f, n, p); break;
    case OP_dequantize: fuse_dequantize(f, n, p); break;
    case OP_relu: fuse_act(f, n, p, "relu", -INFINITY, INFINITY); break;
    case OP_gelu:
        fuse_act(f, n, p, attr_bool(n, "tanh") ? "gelu_tanh" : "gelu",
                 -INFINITY, INFINITY);
        break;
    case OP_silu: fuse_act(f, n, p, "silu", -INFINITY, INFINITY); break;
    case OP_sigmoid: fuse_act(f, n, p, "sigmoid", -INFINITY, INFINITY); break;
    case OP_tanh: fuse_act(f, n, p, "tanh", -INFINITY, INFINITY); break;
    case OP_clamp:
        fuse_act(f, n, p, "clamp", attr_float(n, "min"), attr_float(n, "max"));
        break;
    default: break;
    }
}

hull_status int_epilogues(graph *g)
{
    fuser f = {.g = g};
    node *next;

    TRY(graph_facts_get(&f.f, g));
    for (node *n = graph_first(g); n != NULL; n = graph_next(g, n))
        if (is_product(n))
            n->number = f.f.uses[n->out[0]];
    for (node *n = graph_first(g); n != NULL; n = next) {
        next = graph_next(g, n);
        graph_rewrite_at(g, n);
        if (n->n_out == 1)
            fuse(&f, n);
        TRY(ir_status(g->m));
    }
    graph_rewrite_end(g);
    return ir_status(g->m);
}
