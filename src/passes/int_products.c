/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * int_products.c - products of quantised models become products of bytes, the
 * ops of ops/packed_int.c, whose sums are exact in i32:
 *
 *   matmul, conv of dequantize(x) and dequantize(w)           QDQ
 *   matmul, conv of i32(x) - i32(zero) and i32(w) - i32(zero)  MatMulInteger,
 *                                             ConvInteger, QLinearMatMul ...
 *
 * x is quantised as a whole, a constant w also by columns. The scales, which
 * the graph multiplies into every element, are multiplied into the sum: fewer
 * roundings, in another order. A quantize behind reshapes, transposes and a
 * product with one number goes in front of them, for int_epilogue.c to find
 * it. HULL_LOG=passes:debug tells why a quantised product stays as it is.
 */
#include "passes/pass.h"

#include "ops/family.h"

#include <string.h>

/* Where the sum of (x - zero) (w - zero) might not fit 31 bits: the f32 meaning
 * of QDQ would be lost. */
#define DEPTH_MAX (INT32_MAX / (255 * 255))

typedef struct lowering {
    graph *g;
    graph_facts f;
    int64_t tile, group;
} lowering;

/* A quantised operand: (q - zero) scale, or q - zero. */
typedef struct operand {
    val q, zero, scale;  /* zero 0: none; scale 0: integers */
    int64_t axis;        /* of zero and scale, -1: one value */
} operand;

static hull_dtype dtype_of(const lowering *l, val v)
{
    return graph_type(l->g, v)->dtype;
}

/* v has one element. */
static bool is_one(const graph *g, val v)
{
    const type *t = graph_type(g, v);

    for (uint32_t i = 0; i < t->rank; i++)
        if (t->dims[i] != 1)
            return false;
    return true;
}

static bool refuse(const lowering *l, const node *n, const char *why)
{
    (void)l;
    log_debug("passes", "%s '%.*s': no product of bytes: %s",
              op_get(n->op)->name, STR_ARG(n->label), why);
    return false;
}

static bool is_view(const node *n)
{
    return n != NULL && (n->op == OP_reshape || n->op == OP_transpose);
}

/* The view n of another value. */
static val view_again(graph *g, const node *n, val x)
{
    return node_add(g, node_again(g, n, &x, 1));
}

/* ---- quantize in front of views ------------------------------------------ */

#define CHAIN_MAX 8

/* x times one number, which is *factor. */
static val scaled_source(const graph *g, const node *n, val *factor)
{
    for (uint32_t i = 0; n->op == OP_mul && i < 2; i++) {
        *factor = graph_resolve(g, n->in[1 - i]);
        if (is_one(g, *factor) && graph_type(g, n->in[i])->rank >=
                                      graph_type(g, *factor)->rank)
            return graph_resolve(g, n->in[i]);
    }
    return 0;
}

static void hoist_quantize(lowering *l, const node *n)
{
    const node *chain[CHAIN_MAX];
    uint32_t n_chain = 0, views = 0;
    val v = n->in[0], in[3] = {0};

    if (!is_one(l->g, n->in[1]) || (n->n_in > 2 && !is_one(l->g, n->in[2])))
        return;
    while (n_chain < CHAIN_MAX) {
        const node *d = graph_def(l->g, v);
        val factor;

        if (d == NULL || d->parent != n->parent ||
            !value_has_one_use(&l->f, d->out[0]))
            break;
        if (is_view(d))
            v = graph_resolve(l->g, d->in[0]);
        else if (scaled_source(l->g, d, &factor) != 0)
            v = scaled_source(l->g, d, &factor);
        else
            break;
        views += is_view(d);
        chain[n_chain++] = d;
    }
    if (views == 0)
        return;
    for (uint32_t i = n_chain; i-- > 0;) {
        val factor;

        if (!is_view(chain[i])) {
            (void)scaled_source(l->g, chain[i], &factor);
            v = op_binary(l->g, OP_mul, v, factor);
        }
    }
    in[0] = v;
    in[1] = n->in[1];
    in[2] = n->n_in > 2 ? n->in[2] : 0;
    v = node_add(l->g, node_again(l->g, n, in, n->n_in));
    for (uint32_t i = n_chain; i-- > 0;)
        if (is_view(chain[i]))
            v = view_again(l->g, chain[i], v);
    graph_replace(l->g, n->out[0], v);
}

/* ---- operands ------------------------------------------------------------ */

/* v is dequantize of bytes, or views of one that is quantised as a whole. */
static bool read_dequantize(lowering *l, val v, operand *out)
{
    const node *chain[CHAIN_MAX], *d = graph_def(l->g, v);
    uint32_t n_chain = 0;

    *out = (operand){.axis = -1};
    while (is_view(d) && n_chain < CHAIN_MAX) {
        chain[n_chain++] = d;
        d = graph_def(l->g, d->in[0]);
    }
    if (d == NULL || d->op != OP_dequantize ||
        !dtype_is_byte(dtype_of(l, d->in[0])))
        return false;
    if (dtype_of(l, d->in[1]) != HULL_F32)
        return false;
    out->q = graph_resolve(l->g, d->in[0]);
    out->scale = graph_resolve(l->g, d->in[1]);
    out->zero = d->n_in > 2 ? graph_resolve(l->g, d->in[2]) : 0;
    if (!is_one(l->g, out->scale) ||
        (out->zero != 0 && !is_one(l->g, out->zero)))
        out->axis = node_axis(l->g, d);
    if (n_chain > 0 && out->axis >= 0)
        return false;
    while (n_chain-- > 0)
        out->q = view_again(l->g, chain[n_chain], out->q);
    return true;
}

/* The bytes that v is as i32, through reshapes on either side of the cast. */
static val byte_source(const lowering *l, val v)
{
    const node *d = graph_def(l->g, v);

    while (d != NULL && d->op == OP_reshape)
        d = graph_def(l->g, d->in[0]);
    if (d == NULL || d->op != OP_cast || !dtype_is_byte(dtype_of(l, d->in[0])))
        return 0;
    return graph_resolve(l->g, d->in[0]);
}

/* v is i32(q) or i32(q) - i32(zero), the zero one value or one per index of
 * `axis`. */
static bool read_difference(lowering *l, val v, int64_t axis, operand *out)
{
    const node *d = graph_def(l->g, v);
    const type *t = graph_type(l->g, v), *z;
    uint32_t lead;

    *out = (operand){.axis = -1};
    if (d != NULL && d->op == OP_cast && dtype_is_byte(dtype_of(l, d->in[0]))) {
        out->q = graph_resolve(l->g, d->in[0]);
        return true;
    }
    if (d == NULL || d->op != OP_sub)
        return false;
    out->q = byte_source(l, d->in[0]);
    out->zero = byte_source(l, d->in[1]);
    z = graph_type(l->g, d->in[1]);
    if (out->q == 0 || out->zero == 0 ||
        graph_def(l->g, d->in[0])->op != OP_cast || z->rank > t->rank ||
        dtype_of(l, out->q) != dtype_of(l, out->zero))
        return false;
    lead = t->rank - z->rank;
    for (uint32_t i = 0; i < z->rank; i++) {
        if (z->dims[i] == 1)
            continue;
        if (axis < 0 || lead + i != axis)
            return false;
        out->axis = axis;
    }
    return type_eq(l->g->m, t, graph_type(l->g, d->in[0]));
}

/* One value, or one for each of the columns, as a vector of rank 1. 0: it is
 * neither. */
static val as_columns(lowering *l, val v, dim columns)
{
    const type *t = graph_type(l->g, v);

    if (t->rank <= 1 && (is_one(l->g, v) ||
                         dim_eq(l->g->m, t->dims[0], columns)))
        return v;
    if (!dim_eq(l->g->m, dim_product(l->g->m, t->dims, t->rank), columns))
        return 0;
    return op_reshape(l->g, v, &columns, 1);
}

/* ---- packing ------------------------------------------------------------- */

val pack_groups(graph *g, val w, bool trans, int64_t tile, int64_t group)
{
    static const int64_t plain[] = {2, 0, 3, 1}, turned[] = {0, 2, 1, 3};
    const type *t = graph_type(g, w);
    int64_t n = t->dims[trans ? 0 : 1], k = t->dims[trans ? 1 : 0];
    int64_t panels = (n + tile - 1) / tile, steps = (k + group - 1) / group;
    dim columns[4] = {steps, group, panels, tile};
    dim rows[4] = {panels, tile, steps, group};
    dim pads[4] = {0};

    pads[2 + (trans ? 0 : 1)] = panels * tile - n;
    pads[2 + (trans ? 1 : 0)] = steps * group - k;
    if (pads[2] != 0 || pads[3] != 0) {
        node *p = node_new(g, OP_pad);

        node_input(g, p, w);
        node_dims(g, p, "pads", pads, 4);
        w = node_add(g, p);
    }
    w = op_reshape(g, w, trans ? rows : columns, 4);
    return op_transpose(g, w, trans ? turned : plain, 4);
}

/* The insertion point in the graph's body above n. */
static void insert_above(lowering *l, node *n)
{
    while (n->parent != l->g->body)
        n = n->parent->owner;
    l->g->insert_before = n;
    l->g->insert_in = n->parent;
}

static void insert_at(lowering *l, node *n)
{
    l->g->insert_before = n;
    l->g->insert_in = n->parent;
}

/* ---- products ------------------------------------------------------------ */

/* What the operands of a product are; `why` not. */
typedef struct pair {
    operand x, w;
    bool exact;        /* integers as they are, without scales */
    const char *why;
} pair;

/* w_axis: of w, where columns are. */
static bool read_pair(lowering *l, const node *n, int64_t w_axis, pair *p)
{
    hull_dtype dt = dtype_of(l, n->in[0]);

    *p = (pair){.exact = dt == HULL_I32};
    if (dt != HULL_I32 && dt != HULL_F32)
        return false;
    if (p->exact) {
        if (!read_difference(l, n->in[0], -1, &p->x) ||
            !read_difference(l, n->in[1], w_axis, &p->w)) {
            p->why = "the operands are no bytes minus a zero point";
            return false;
        }
        return true;
    }
    if (!read_dequantize(l, n->in[1], &p->w))
        return false; /* an ordinary product */
    if (!read_dequantize(l, n->in[0], &p->x)) {
        p->why = "only the second operand is quantised";
        return false;
    }
    if (p->x.axis >= 0) {
        p->why = "the first operand is not quantised as a whole";
        return false;
    }
    if (p->w.axis >= 0 && p->w.axis != w_axis) {
        p->why = "the second operand is not quantised by columns";
        return false;
    }
    return true;
}

/* Operands from the third on. bias may be 0. */
static void add_scales(lowering *l, node *m, const pair *p, dim columns,
                       val bias)
{
    val zero = p->w.zero != 0 ? as_columns(l, p->w.zero, columns) : 0;

    node_input(l->g, m, p->x.zero);
    node_input(l->g, m, zero);
    node_input(l->g, m, p->exact ? 0
                                 : op_binary(l->g, OP_mul, p->x.scale,
                                             p->w.scale));
    node_input(l->g, m, bias); /* of the sum's dtype, i32 or f32 */
    node_dtype(l->g, m, "to", p->exact ? HULL_I32 : HULL_F32);
}

/* A zero point of one value as rank 0 or 1. */
static void flatten_zero(lowering *l, val *zero)
{
    if (*zero != 0 && is_one(l->g, *zero) && graph_type(l->g, *zero)->rank > 1)
        *zero = op_reshape(l->g, *zero, NULL, 0);
}

static bool lower_matmul(lowering *l, node *n)
{
    bool trans = attr_bool(n, "trans_b"), constant;
    const type *w = graph_type(l->g, n->in[1]);
    const type *y = graph_type(l->g, n->out[0]);
    val bias = n->n_in > 2 ? n->in[2] : 0, columns_bias = 0, out;
    int64_t axis, least, most;
    dim columns;
    node *m;
    pair p;

    if (w->rank < 2 || y->rank < 1)
        return false;
    axis = w->rank == 2 ? (trans ? 0 : 1) : -2;
    if (!read_pair(l, n, axis, &p))
        return p.why != NULL ? refuse(l, n, p.why) : false;
    if (attr_bool(n, "trans_a"))
        return refuse(l, n, "the first operand is transposed");
    w = graph_type(l->g, n->in[1]);
    constant = !value_is_runtime(&l->f, p.w.q) && w->rank == 2;
    columns = w->dims[w->rank - (trans ? 2 : 1)];
    dim_range(l->g->m, w->dims[w->rank - (trans ? 1 : 2)], &least, &most);
    if (!p.exact && most > DEPTH_MAX)
        return refuse(l, n, "the depth may overflow a sum of 32 bits");
    if (constant && !has_plain_sizes(w))
        return refuse(l, n, "the weight has no plain sizes");
    if (!constant && (p.w.axis >= 0 ||
                      graph_type(l->g, n->in[0])->rank < 2))
        return refuse(l, n, "no constant weight, and not quantised as a whole");
    if (bias != 0)
        columns_bias = as_columns(l, bias, columns);
    flatten_zero(l, &p.x.zero);
    flatten_zero(l, &p.w.zero);
    if (constant) {
        insert_above(l, n);
        out = pack_groups(l->g, p.w.q, trans, l->tile, l->group);
        insert_at(l, n);
        m = node_new(l->g, OP_gemm_int);
        node_input(l->g, m, p.x.q);
        node_input(l->g, m, out);
        node_int(l->g, m, "n", columns);
        node_int(l->g, m, "tile", l->tile);
        node_int(l->g, m, "group", l->group);
    } else {
        m = node_new(l->g, OP_matmul_int);
        node_input(l->g, m, p.x.q);
        node_input(l->g, m, p.w.q);
        node_bool(l->g, m, "trans_b", trans);
    }
    add_scales(l, m, &p, columns, columns_bias);
    if (m != NULL)
        m->label = n->label;
    out = node_add(l->g, m);
    if (bias != 0 && columns_bias == 0)
        out = op_binary(l->g, OP_add, out, bias);
    graph_replace(l->g, n->out[0], out);
    return true;
}

/* w [m, c, *] as the matrix [taps c, m]. */
static val conv_matrix(lowering *l, val w, int64_t taps)
{
    static const int64_t perm[] = {2, 1, 0};
    const type *t = graph_type(l->g, w);
    dim apart[3] = {t->dims[0], t->dims[1], taps};
    dim matrix[2] = {taps * t->dims[1], t->dims[0]};

    w = op_transpose(l->g, op_reshape(l->g, w, apart, 3), perm, 3);
    return op_reshape(l->g, w, matrix, 2);
}

static const char *why_not_conv(const lowering *l, const node *n,
                                const pair *p)
{
    const type *x = graph_type(l->g, n->in[0]), *w = graph_type(l->g, n->in[1]);
    int64_t depth = 1;

    if (value_is_runtime(&l->f, p->w.q) || !has_plain_sizes(w))
        return "the weight is no constant of plain sizes";
    if (attr_int(n, "groups") != 1 || !dim_eq(l->g->m, x->dims[1], w->dims[1]))
        return "it has groups";
    if (x->rank < 3 || x->rank > 5)
        return "it has not one to three spatial axes";
    for (uint32_t i = 1; i < w->rank; i++)
        if (!mul_i64(&depth, depth, w->dims[i]))
            return "the weight is too large";
    return !p->exact && depth > DEPTH_MAX
               ? "the depth may overflow a sum of 32 bits"
               : NULL;
}

static bool lower_conv(lowering *l, node *n)
{
    static const char *const lists[] = {"stride", "pad", "dilation"};
    const type *w = graph_type(l->g, n->in[1]);
    int64_t perm[HULL_MAX_RANK], back[HULL_MAX_RANK], taps = 1;
    int64_t kernel[HULL_MAX_RANK], columns = w->dims[0];
    uint32_t rank = w->rank;
    const char *why;
    val panels;
    pair p;
    node *m;

    if (!read_pair(l, n, 0, &p))
        return p.why != NULL ? refuse(l, n, p.why) : false;
    why = why_not_conv(l, n, &p);
    if (why != NULL)
        return refuse(l, n, why);
    perm[0] = back[0] = 0;
    back[1] = rank - 1;
    perm[rank - 1] = 1;
    for (uint32_t i = 0; i + 2 < rank; i++) {
        perm[1 + i] = 2 + i;
        back[2 + i] = 1 + i;
        kernel[i] = graph_type(l->g, n->in[1])->dims[2 + i];
        taps *= kernel[i];
    }
    flatten_zero(l, &p.x.zero);
    flatten_zero(l, &p.w.zero);
    insert_above(l, n);
    panels = pack_groups(l->g, conv_matrix(l, p.w.q, taps), false,
                         l->tile, l->group);
    insert_at(l, n);
    m = node_new(l->g, OP_gemm_int);
    node_input(l->g, m, op_transpose(l->g, p.x.q, perm, rank));
    node_input(l->g, m, panels);
    node_int(l->g, m, "n", columns);
    node_int(l->g, m, "tile", l->tile);
    node_int(l->g, m, "group", l->group);
    node_ints(l->g, m, "kernel", kernel, rank - 2);
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        const attr *a = node_attr(n, lists[i]);

        node_ints(l->g, m, lists[i], a->u.ints.p, a->u.ints.n);
    }
    add_scales(l, m, &p, columns, n->n_in > 2 ? n->in[2] : 0);
    if (m != NULL)
        m->label = n->label;
    graph_replace(l->g, n->out[0],
                  op_transpose(l->g, node_add(l->g, m), back, rank));
    return true;
}

/* The weights of lstm_int, [d, h, 4h], in panels. */
static void pack_lstm(lowering *l, node *n)
{
    const type *t = graph_type(l->g, n->in[LSTM_INT_R]);
    val parts[2], in[LSTM_INT_C0 + 1];
    int64_t d = t->dims[0], h = attr_int(n, "hidden");
    dim matrix[2] = {h, 4 * h};
    node *c;

    if (t->rank != 3 || value_is_runtime(&l->f, n->in[LSTM_INT_R]))
        return;
    insert_above(l, n);
    for (int64_t i = 0; i < d; i++) {
        val r = op_slice(l->g, n->in[LSTM_INT_R], 0, i, i + 1, 1);

        parts[i] = pack_groups(l->g, op_reshape(l->g, r, matrix, 2), false,
                               l->tile, l->group);
    }
    for (uint32_t i = 0; i < n->n_in; i++)
        in[i] = n->in[i];
    in[LSTM_INT_R] = d == 1 ? parts[0] : op_concat(l->g, parts, 2, 0);
    insert_at(l, n);
    c = node_again(l->g, n, in, n->n_in);
    if (node_add(l->g, c) == 0)
        return;
    for (uint32_t i = 0; i < n->n_out; i++)
        graph_replace(l->g, n->out[i], c->out[i]);
}

static hull_status each_node(lowering *l, bool products)
{
    node *next;

    TRY(graph_facts_get(&l->f, l->g));
    for (node *n = graph_first(l->g); n != NULL; n = next) {
        next = graph_next(l->g, n);
        insert_at(l, n);
        for (uint32_t i = 0; i < n->n_in; i++)
            n->in[i] = graph_resolve(l->g, n->in[i]);
        if (!products && n->op == OP_quantize)
            hoist_quantize(l, n);
        else if (products && n->op == OP_matmul)
            (void)lower_matmul(l, n); /* either way, go on */
        else if (products && n->op == OP_conv)
            (void)lower_conv(l, n);
        else if (products && n->op == OP_lstm_int)
            pack_lstm(l, n);
        TRY(ir_status(l->g->m));
    }
    l->g->insert_before = NULL;
    l->g->insert_in = NULL;
    graph_settle(l->g);
    graph_remove_dead(l->g);
    return ir_status(l->g->m);
}

hull_status int_products(graph *g, int64_t tile, int64_t group)
{
    lowering l = {.g = g, .tile = tile, .group = group};

    TRY(each_node(&l, false));
    return each_node(&l, true);
}
