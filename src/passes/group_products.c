/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * group_products.c - x times a weight that a model expands from 4 bits in
 * blocks along the depth becomes gemm_q4 (ops/packed_q4.c), so the weight stays
 * as it is stored. Two spellings, which frontends make of MatMulNBits and of
 * DequantizeLinear with a block_size:
 *
 *   u = reshape(and(shift_right(reshape(q), [0, 4]), 15))     two of a byte
 *   w = reshape((cast(u) - zero) scale)                       [n, k / b, b]
 *
 *   s = reshape(expand(reshape(scale)))                       one per element
 *   w = (cast(q) - s(zero)) s(scale)                          q of i4 or u4
 *
 * Either may be cut where k is no whole number of blocks, and cast to another
 * float, whose rounding is left out. HULL_LOG=passes:debug tells why a weight
 * of this kind is expanded all the same.
 */
#include "passes/pass.h"

#include "ops/family.h"

#include <math.h>

/* A weight in blocks; values of the graph as they were found. */
typedef struct blocks {
    int64_t n, k, n_blocks, block;
    uint32_t axis;   /* of matrices: where the depth is */
    val bytes;       /* packed already, or 0 and then: */
    val matrix;      /* of i4 or u4 */
    val scale;       /* n * n_blocks values, or a matrix */
    val zero;        /* the same, of a float; 0: zero_value */
    val zero_packed; /* bytes, or a matrix of i4 or u4; instead of zero */
    int64_t zero_value;
    const char *why; /* it is none; NULL: it does not look like one */
} blocks;

static const node *def_of(const graph *g, val v, op_code op)
{
    const node *d = v != 0 ? graph_def(g, v) : NULL;

    return d != NULL && d->op == op ? d : NULL;
}

static val operand(const graph *g, const node *n, uint32_t i)
{
    return graph_resolve(g, n->in[i]);
}

static hull_dtype dtype_of(const graph *g, val v)
{
    return graph_type(g, v)->dtype;
}

static bool is_nibbles(const graph *g, val v)
{
    return dtype_of(g, v) == HULL_I4 || dtype_of(g, v) == HULL_U4;
}

/* v without casts from one float to another. */
static val bare(const graph *g, val v)
{
    const node *c = def_of(g, v, OP_cast);

    while (c != NULL && dtype_is_float(dtype_of(g, operand(g, c, 0)))) {
        v = operand(g, c, 0);
        c = def_of(g, v, OP_cast);
    }
    return v;
}

static val under(const graph *g, val v, op_code op)
{
    const node *d = def_of(g, v, op);

    return d != NULL ? operand(g, d, 0) : v;
}

/* v is the first part of another value along `axis`, or that value itself. */
static val uncut(const graph *g, val v, uint32_t axis)
{
    const node *s = def_of(g, v, OP_slice);
    axis_cut c;

    return s != NULL && slice_cut(g, s, &c) && c.axis == axis &&
                   c.start == 0 && c.step == 1
               ? operand(g, s, 0)
               : v;
}

static bool has_dims(const graph *g, val v, int64_t a, int64_t b, int64_t c)
{
    const type *t = graph_type(g, v);

    return t->rank == 3 && t->dims[0] == a && t->dims[1] == b &&
           t->dims[2] == c;
}

static bool is_matrix(const graph *g, val v, int64_t rows, int64_t columns)
{
    const type *t = graph_type(g, v);

    return t->rank == 2 && t->dims[0] == rows && t->dims[1] == columns;
}

static bool literal_is(const graph *g, val v, const int64_t *wanted, uint64_t n)
{
    const literal *t = value_literal(g, v);

    for (uint64_t i = 0; t != NULL && t->numel == n && i < n; i++)
        if (load_i64(t->dtype, t->data, i) != wanted[i])
            return false;
    return t != NULL && t->numel == n && t->dtype == HULL_U8;
}

/* The bytes, in rows of `line`, whose halves v has one after the other. 0: it
 * is another value. */
static val packed_source(const graph *g, val v, int64_t line)
{
    static const int64_t shifts[] = {0, 4}, fifteen[] = {15};
    const node *a = def_of(g, under(g, v, OP_reshape), OP_and), *s;
    const type *t;

    if (a == NULL || !literal_is(g, operand(g, a, 1), fifteen, 1))
        return 0;
    s = def_of(g, operand(g, a, 0), OP_shift_right);
    if (s == NULL || !literal_is(g, operand(g, s, 1), shifts, 2))
        return 0;
    t = graph_type(g, a->out[0]);
    if (t->rank < 2 || t->dims[t->rank - 2] != line ||
        t->dims[t->rank - 1] != 2)
        return 0;
    v = operand(g, s, 0);
    t = graph_type(g, v);
    return t->rank > 0 && t->dims[t->rank - 1] == 1 ? under(g, v, OP_reshape)
                                                    : 0;
}

/* A zero point of all, or of each block of [n, n_blocks, b]. */
static bool read_zero(const graph *g, blocks *b, val z)
{
    const literal *one = value_literal(g, z);
    int64_t line = (b->n_blocks + 1) / 2;
    val v;

    if (one != NULL && one->numel == 1) {
        double d = load_f64(one->dtype, one->data, 0);

        b->zero_value = d >= 0 && d <= 15 ? (int64_t)d : -1;
        if ((double)b->zero_value == d)
            return true;
        b->why = "the zero point is no integer of 4 bits";
        return false;
    }
    if (!has_dims(g, z, b->n, b->n_blocks, 1)) {
        b->why = "the zero points are not one of each block";
        return false;
    }
    b->zero = z;
    v = under(g, z, OP_reshape);
    if (def_of(g, v, OP_cast) == NULL)
        return true;
    v = uncut(g, operand(g, def_of(g, v, OP_cast), 0), 1);
    if (is_matrix(g, v, b->n, 2 * line))
        b->zero_packed = packed_source(g, v, line);
    return true;
}

/* w = [n, n_blocks, block] as a matrix, m the product with the scales. */
static bool read_packed(const graph *g, blocks *b, const node *m)
{
    const type *t = graph_type(g, m->out[0]);
    val v = operand(g, m, 0), scale = operand(g, m, 1);
    const node *sub = def_of(g, v, OP_sub), *cast;

    b->n_blocks = t->dims[1];
    b->block = t->dims[2];
    cast = def_of(g, sub != NULL ? operand(g, sub, 0) : v, OP_cast);
    if (cast == NULL || dtype_of(g, operand(g, cast, 0)) != HULL_U8)
        return false;
    if (t->dims[0] != b->n || b->n_blocks != (b->k + b->block - 1) / b->block) {
        b->why = "the weight is not [n, k] in blocks along k";
        return false;
    }
    if (!has_dims(g, cast->out[0], b->n, b->n_blocks, b->block)) {
        b->why = "its values are not one of each place";
        return false;
    }
    b->bytes = packed_source(g, operand(g, cast, 0), b->block / 2);
    if (b->bytes == 0) {
        b->why = "its values are not two of a byte";
        return false;
    }
    if (!has_dims(g, scale, b->n, b->n_blocks, 1)) {
        b->why = "the scales are not one of each block";
        return false;
    }
    b->scale = under(g, scale, OP_reshape);
    return sub == NULL || read_zero(g, b, operand(g, sub, 1));
}

/* The matrix of which v has each value `block` times along the axis. */
static val spread_source(const graph *g, const blocks *b, val v, int64_t *block)
{
    uint32_t axis = b->axis, other = 2 * (1 - axis); /* of rank 3 */
    const type *t, *all;
    const node *e;
    int64_t n;

    v = uncut(g, v, axis);
    e = def_of(g, under(g, v, OP_reshape), OP_expand);
    if (e == NULL || graph_type(g, v)->rank != 2 ||
        graph_type(g, v)->dims[1 - axis] != b->n)
        return 0;
    all = graph_type(g, e->out[0]);
    v = operand(g, e, 0);
    t = graph_type(g, v);
    if (all->rank != 3 || t->rank != 3 || t->dims[axis + 1] != 1 ||
        all->dims[axis + 1] < 1 || t->dims[other] != b->n ||
        all->dims[other] != b->n || all->dims[axis] != t->dims[axis])
        return 0;
    *block = all->dims[axis + 1];
    n = (b->k + *block - 1) / *block;
    v = under(g, v, OP_reshape);
    return t->dims[axis] == n && (axis == 0 ? is_matrix(g, v, n, b->n)
                                            : is_matrix(g, v, b->n, n))
               ? v : 0;
}

/* m = (cast(q) - zeros) scales, element by element. */
static bool read_matrix(const graph *g, blocks *b, const node *m)
{
    val v = operand(g, m, 0);
    const node *sub = def_of(g, v, OP_sub);
    const node *cast = def_of(g, sub != NULL ? operand(g, sub, 0) : v, OP_cast);
    int64_t of_zero = 0;

    if (def_of(g, operand(g, m, 1), OP_gather) != NULL)
        b->why = "the scales are found by an index";
    if (cast == NULL || !is_nibbles(g, operand(g, cast, 0)))
        return false;
    b->matrix = operand(g, cast, 0);
    b->zero_value = dtype_of(g, b->matrix) == HULL_I4 ? 8 : 0;
    if (b->axis == 0 ? !is_matrix(g, b->matrix, b->k, b->n)
                     : !is_matrix(g, b->matrix, b->n, b->k)) {
        b->why = "its values are not one of each place";
        return false;
    }
    b->scale = spread_source(g, b, operand(g, m, 1), &b->block);
    if (b->scale == 0) {
        b->why = "the scales are not one of each block along the depth";
        return false;
    }
    b->n_blocks = (b->k + b->block - 1) / b->block;
    if (sub == NULL)
        return true;
    b->zero = spread_source(g, b, operand(g, sub, 1), &of_zero);
    if (b->zero == 0 || of_zero != b->block) {
        b->why = "the zero points are not one of each block along the depth";
        return false;
    }
    cast = def_of(g, b->zero, OP_cast);
    if (cast != NULL &&
        dtype_of(g, operand(g, cast, 0)) == dtype_of(g, b->matrix))
        b->zero_packed = operand(g, cast, 0);
    return true;
}

/* Of w [n, k], or [k, n] unless trans. */
static bool read_blocks(blocks *b, const graph *g, val w, bool trans)
{
    const type *t = graph_type(g, w);
    const node *m;
    bool found;

    *b = (blocks){.axis = trans ? 1 : 0};
    if (t->rank != 2 || !has_plain_sizes(t))
        return false;
    b->n = t->dims[1 - b->axis];
    b->k = t->dims[b->axis];
    w = uncut(g, bare(g, w), b->axis);
    m = def_of(g, bare(g, under(g, w, OP_reshape)), OP_mul);
    if (m == NULL || !has_plain_sizes(graph_type(g, m->out[0])))
        return false;
    t = graph_type(g, m->out[0]);
    found = t->rank == 3 && trans ? read_packed(g, b, m)
            : t->rank == 2        ? read_matrix(g, b, m)
                                  : false;
    if (!found)
        return false;
    if (b->block >= 16 && b->block <= 256 && (b->block & (b->block - 1)) == 0 &&
        b->k <= Q4_LINE_MOST)
        return true;
    b->why = "blocks are no power of two from 16 to 256, or too many";
    return false;
}

bool is_group_weight(const graph *g, val w, bool trans)
{
    blocks b;

    return read_blocks(&b, g, w, trans);
}

/* ---- the product --------------------------------------------------------- */

static val pack_nibbles(graph *g, val matrix, uint32_t axis, int64_t block)
{
    node *p = node_new(g, OP_pack_q4);

    node_input(g, p, matrix);
    node_int(g, p, "axis", axis);
    node_int(g, p, "block", block);
    return node_add(g, p);
}

static val packed_weight(graph *g, const blocks *b)
{
    const dim dims[3] = {b->n, b->n_blocks, b->block / 2};

    return b->bytes != 0 ? op_reshape(g, b->bytes, dims, 3)
                         : pack_nibbles(g, b->matrix, b->axis, b->block);
}

/* One value of each block, [n, n_blocks]. */
static val by_rows(graph *g, const blocks *b, val v)
{
    static const int64_t swap[] = {1, 0};
    const dim dims[2] = {b->n, b->n_blocks};

    return b->bytes == 0 && b->axis == 0 ? op_transpose(g, v, swap, 2)
                                         : op_reshape(g, v, dims, 2);
}

static val zero_points(graph *g, const blocks *b)
{
    const dim dims[2] = {b->n, (b->n_blocks + 1) / 2};
    val z = b->zero_packed;

    if (z != 0 && b->bytes == 0)
        z = pack_nibbles(g, z, b->axis, 2 * dims[1]);
    if (z != 0 || b->zero == 0)
        return z != 0 ? op_reshape(g, z, dims, 2) : 0;
    z = op_cast(g, by_rows(g, b, b->zero), HULL_F32);
    return b->bytes == 0 && dtype_of(g, b->matrix) == HULL_I4
               ? op_binary(g, OP_add, z, op_scalar(g, HULL_F32, 8))
               : z;
}

/* Scales stay as narrow as they are stored. */
static val scales(graph *g, const blocks *b)
{
    val narrow = bare(g, b->scale);

    return by_rows(g, b, dtype_is_half(dtype_of(g, narrow)) ? narrow
                                                            : b->scale);
}

static bool is_columns(const graph *g, val bias, int64_t n)
{
    const type *t = graph_type(g, bias);

    return t->rank == 1 && t->dims[0] == n;
}

static void lower_matmul(graph *g, node *n, const blocks *b)
{
    val in[Q4_OPERANDS] = {0}, bias = n->n_in > 2 ? n->in[2] : 0, y;
    bool in_sum = bias != 0 && is_columns(g, bias, b->n);
    node *m, *top = n;

    while (top->parent != g->body)
        top = top->parent->owner;
    graph_rewrite_at(g, top);
    in[1] = packed_weight(g, b);
    in[Q4_SCALE] = scales(g, b);
    in[Q4_ZERO] = zero_points(g, b);
    graph_rewrite_at(g, n);
    in[0] = op_cast(g, n->in[0], HULL_F32);
    in[2] = in_sum ? op_cast(g, bias, HULL_F32) : 0;
    m = node_new(g, OP_gemm_q4);
    for (uint32_t i = 0; i < Q4_OPERANDS; i++)
        node_input(g, m, in[i]);
    if (b->zero == 0)
        node_int(g, m, "zero", b->zero_value);
    if (m != NULL)
        m->label = n->label;
    y = op_cast(g, node_add(g, m), dtype_of(g, n->out[0]));
    if (bias != 0 && !in_sum)
        y = op_binary(g, OP_add, y, bias);
    graph_replace(g, n->out[0], y);
}

static const char *why_not(const graph_facts *f, const node *n, blocks *b)
{
    bool found = read_blocks(b, f->g, n->in[1], attr_bool(n, "trans_b"));

    if (!found)
        return b->why;
    if (value_is_runtime(f, n->in[1]))
        return "the weight is no constant";
    if (attr_bool(n, "trans_a") || graph_type(f->g, n->in[0])->rank < 1)
        return "the first operand is transposed";
    return NULL;
}

hull_status group_products(graph *g)
{
    graph_facts f;
    node *next;

    TRY(graph_facts_get(&f, g));
    for (node *n = graph_first(g); n != NULL; n = next) {
        const char *why;
        blocks b;

        next = graph_next(g, n);
        if (n->op != OP_matmul)
            continue;
        graph_rewrite_at(g, n);
        why = why_not(&f, n, &b);
        if (why != NULL)
            log_debug("passes", "matmul '%.*s': its weight is expanded from "
                      "blocks: %s", STR_ARG(n->label), why);
        else if (b.block != 0)
            lower_matmul(g, n, &b);
        TRY(ir_status(g->m));
    }
    graph_rewrite_end(g);
    return ir_status(g->m);
}
