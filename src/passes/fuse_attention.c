/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * fuse_attention.c - attention that an exporter wrote out becomes sdpa:
 *
 *   s = matmul(q, transpose k)       factors: of q, of k, of s, one number each
 *   s = s + mask                     or where(keep, s, fill), where(drop, fill,
 *                                    s); at most one of them
 *   p = softmax(s, last axis)        or where(is_nan(p), 0, p)
 *   y = matmul(p, v)
 *
 * Rows without a key stay what they were: `rows` of the new node is "softmax",
 * so that they are NaN, or "safe", so that they are 0. Factors that are weights
 * multiply q. Heads of k and v that were repeated for groups of queries are not
 * repeated any more.
 */
#include "passes/pass.h"

#include <math.h>

#define MAX_FACTORS 6

typedef struct finder {
    graph *g;
    graph_facts f;
    /* of the attention in hand */
    val q, k, v, mask;
    double scale, fill;
    const char *rows;
    const node *factors[MAX_FACTORS]; /* mul or div by a number, no literal */
    uint32_t n_factors;
    bool too_many;
} finder;

static node *def_of(const finder *f, val v)
{
    return v != 0 ? graph_def(f->g, v) : NULL;
}

static bool same_type(const finder *f, val a, val b)
{
    return type_eq(f->g->m, graph_type(f->g, a), graph_type(f->g, b));
}

static bool is_one_number(const finder *f, val v)
{
    const type *t = graph_type(f->g, v);

    if (t->kind != TYPE_TENSOR || !dtype_is_float(t->dtype))
        return false;
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->dims[i] != 1)
            return false;
    return true;
}

/* The literal's only element. */
static bool number_of(const finder *f, val v, double *out)
{
    const literal *l = value_literal(f->g, v);

    if (l == NULL || l->numel != 1)
        return false;
    *out = load_f64(l->dtype, l->data, 0);
    return true;
}

/* n is mul or div of a tensor by one number: the number's operand, else -1. */
static int factor_of(const finder *f, const node *n)
{
    if (n == NULL || (n->op != OP_mul && n->op != OP_div))
        return -1;
    for (int i = 1; i >= (n->op == OP_mul ? 0 : 1); i--)
        if (is_one_number(f, n->in[i]) &&
            same_type(f, n->out[0], n->in[1 - i]))
            return i;
    return -1;
}

/* Takes the factors off v. */
static val without_factors(finder *f, val v)
{
    node *n = def_of(f, v);
    int i;

    while ((i = factor_of(f, n)) >= 0) {
        double x;

        if (number_of(f, n->in[i], &x)) {
            f->scale = n->op == OP_mul ? f->scale * x : f->scale / x;
        } else if (f->n_factors == MAX_FACTORS) {
            f->too_many = true;
            return v;
        } else {
            f->factors[f->n_factors++] = n;
        }
        v = n->in[1 - i];
        n = def_of(f, v);
    }
    return v;
}

/* ---- k and v ------------------------------------------------------------- */

/* v in another shape; two reshapes in a row become one or none. */
static val reshaped(finder *f, val v, const dim *dims, uint32_t rank)
{
    type want = type_tensor(f->g->m, graph_type(f->g, v)->dtype, dims, rank);
    const node *n = def_of(f, v);

    if (n != NULL && n->op == OP_reshape)
        v = n->in[0];
    if (type_eq(f->g->m, graph_type(f->g, v), &want))
        return v;
    return op_reshape(f->g, v, dims, rank);
}

static val swapped(finder *f, val v)
{
    uint32_t rank = graph_type(f->g, v)->rank;
    int64_t perm[HULL_MAX_RANK];

    for (uint32_t i = 0; i < rank; i++)
        perm[i] = i;
    perm[rank - 1] = rank - 2;
    perm[rank - 2] = rank - 1;
    return op_transpose(f->g, v, perm, rank);
}

/* v with its last two axes swapped: what was transposed before it. */
static val untransposed(finder *f, val v, int depth)
{
    const node *n = def_of(f, v = without_factors(f, v));
    const type *t = graph_type(f->g, v), *in;
    int64_t perm[HULL_MAX_RANK];
    dim dims[HULL_MAX_RANK];
    bool same = true;
    const attr *a;

    if (n == NULL || depth > 4 ||
        (n->op != OP_transpose && n->op != OP_reshape))
        return swapped(f, v);
    in = graph_type(f->g, n->in[0]);
    if (n->op == OP_reshape) {
        if (in->rank < 2 || t->rank < 2 ||
            !dim_eq(f->g->m, in->dims[in->rank - 1], t->dims[t->rank - 1]) ||
            !dim_eq(f->g->m, in->dims[in->rank - 2], t->dims[t->rank - 2]))
            return swapped(f, v);
        for (uint32_t i = 0; i < t->rank; i++)
            dims[i] = t->dims[i];
        dims[t->rank - 1] = t->dims[t->rank - 2];
        dims[t->rank - 2] = t->dims[t->rank - 1];
        return reshaped(f, untransposed(f, n->in[0], depth + 1), dims,
                        t->rank);
    }
    a = node_attr(n, "perm");
    for (uint32_t i = 0; i < t->rank; i++) {
        uint32_t from = i + 1 == t->rank   ? t->rank - 2
                        : i + 2 == t->rank ? t->rank - 1
                                           : i;

        perm[i] = a->u.ints.p[from];
        same = same && perm[i] == i;
    }
    return same ? n->in[0] : op_transpose(f->g, n->in[0], perm, t->rank);
}

/* reshape(expand([.., h, 1, s, d] -> [.., h, n, s, d])) as [.., h, s, d]. */
static val unrepeated(finder *f, val v)
{
    const node *n = def_of(f, v), *e;
    const type *t = graph_type(f->g, v), *in, *wide;
    dim dims[HULL_MAX_RANK];
    uint32_t axis = t->rank - 2;

    e = n != NULL && n->op == OP_reshape ? def_of(f, n->in[0]) : NULL;
    if (e == NULL || e->op != OP_expand || t->rank < 3)
        return v;
    in = graph_type(f->g, e->in[0]);
    wide = graph_type(f->g, e->out[0]);
    if (in->rank != t->rank + 1 || wide->rank != in->rank ||
        in->dims[axis] != 1)
        return v;
    for (uint32_t i = 0; i < wide->rank; i++) {
        uint32_t to = i > axis ? i - 1 : i;

        if (i == axis)
            continue;
        if (!dim_eq(f->g->m, in->dims[i], wide->dims[i]) ||
            (i + 1 != axis && !dim_eq(f->g->m, wide->dims[i], t->dims[to])))
            return v;
        dims[to] = in->dims[i];
    }
    return reshaped(f, e->in[0], dims, t->rank);
}

/* ---- the pattern --------------------------------------------------------- */

/* v comes out of a product, with factors or a mask on the way. */
static bool comes_from_product(const finder *f, val v)
{
    const node *n = def_of(f, v);

    for (int depth = 0; n != NULL && depth < 8; depth++) {
        int i = factor_of(f, n);
        double x;

        if (n->op == OP_matmul)
            return true;
        if (i >= 0)
            n = def_of(f, n->in[1 - i]);
        else if (n->op == OP_where && number_of(f, n->in[2], &x))
            n = def_of(f, n->in[1]);
        else if (n->op == OP_where && number_of(f, n->in[1], &x))
            n = def_of(f, n->in[2]);
        else
            return false;
    }
    return false;
}

/* n adds a mask or replaces scores: what is left of them, 0 if it does not. */
static val without_mask(finder *f, const node *n)
{
    int at = 0; /* the operand with the scores */

    if (n->op == OP_add) {
        at = comes_from_product(f, n->in[0]) ? 0 : 1;
        f->mask = n->in[1 - at];
    } else {
        at = number_of(f, n->in[2], &f->fill) ? 1 : 2;
        if (at == 2 && !number_of(f, n->in[1], &f->fill))
            return 0;
        f->mask = at == 1 ? n->in[0]
                          : op_unary(f->g, OP_not, n->in[0]);
    }
    return comes_from_product(f, n->in[at]) &&
                   same_type(f, n->in[at], n->out[0])
               ? n->in[at]
               : 0;
}

/* From the scores to the product; NULL or why not. */
static const char *find_product(finder *f, val scores, const node **out)
{
    for (int depth = 0; depth < 12; depth++) {
        const node *n = def_of(f, scores);

        if (n == NULL)
            return "the scores are no product";
        if (!value_has_one_use(&f->f, graph_resolve(f->g, scores)))
            return "the scores have other readers";
        if (n->op == OP_matmul) {
            *out = n;
            return NULL;
        }
        if (factor_of(f, n) >= 0) {
            val left = without_factors(f, scores);

            if (left == scores)
                return "there are too many factors";
            scores = left;
            continue;
        }
        if (n->op != OP_add && n->op != OP_where)
            return "the scores are no product";
        if (f->mask != 0)
            return "there are two masks";
        if (f->scale != 1.0 || f->n_factors > 0)
            return "a factor follows the mask";
        scores = without_mask(f, n);
        if (scores == 0)
            return "the mask is not of a known form";
    }
    return "the scores are too far from their product";
}

/* The softmax before the second product; NULL or why not. */
static const char *find_softmax(finder *f, val p, const node **out)
{
    const node *n = def_of(f, p), *test;
    val line;
    double zero;

    f->rows = "softmax";
    if (n != NULL && n->op == OP_where) {
        test = def_of(f, n->in[0]);
        if (test == NULL || test->op != OP_is_nan ||
            !number_of(f, n->in[1], &zero) || zero != 0.0 ||
            graph_resolve(f->g, test->in[0]) != graph_resolve(f->g, n->in[2]))
            return "";
        if (!value_has_one_use(&f->f, graph_resolve(f->g, p)) ||
            !value_has_one_use(&f->f, test->out[0]))
            return "the weights have other readers";
        f->rows = "safe";
        n = def_of(f, n->in[2]);
    }
    if (n == NULL || n->op != OP_softmax)
        return "";
    line = n->out[0];
    if (line >= f->f.n || f->f.uses[line] != (f->rows[1] == 'a' ? 2u : 1u))
        return "the weights have other readers";
    if (attr_int(n, "axis") != -1 &&
        attr_int(n, "axis") + 1 != graph_type(f->g, line)->rank)
        return "softmax is not along the last axis";
    *out = n;
    return NULL;
}

/* Sizes as sdpa wants them: q has all of the batch, k and v have it or 1. */
static bool batches_fit(const finder *f, const type *all)
{
    const val of[] = {f->q, f->k, f->v};

    for (int i = 0; i < 3; i++) {
        const type *t = graph_type(f->g, of[i]);

        if (t->rank != all->rank)
            return false;
        for (uint32_t a = 0; a + 2 < t->rank; a++) {
            bool heads = i > 0 && a + 3 == t->rank && t->dims[a] > 0 &&
                         all->dims[a] > 0 && all->dims[a] % t->dims[a] == 0;

            if (!dim_eq(f->g->m, t->dims[a], all->dims[a]) && !heads &&
                (i == 0 || t->dims[a] != 1))
                return false;
        }
    }
    return true;
}

/* NULL, or why y is not made an sdpa; "" when it is no attention at all. */
static const char *find_attention(finder *f, const node *y)
{
    const node *line = NULL, *product = NULL;
    const type *all;
    const char *why;

    f->mask = 0;
    f->scale = 1.0;
    f->fill = -INFINITY;
    f->n_factors = 0;
    f->too_many = false;
    why = find_softmax(f, y->in[0], &line);
    if (why != NULL)
        return why;
    why = find_product(f, line->in[0], &product);
    if (why != NULL)
        return why;
    all = graph_type(f->g, line->out[0]);
    if (all->dtype != HULL_F32)
        return "it is not f32";
    if ((product->n_in > 2 && product->in[2] != 0) ||
        (y->n_in > 2 && y->in[2] != 0) || attr_bool(product, "trans_a") ||
        attr_bool(y, "trans_a") || all->rank < 2 ||
        graph_type(f->g, product->in[1])->rank != all->rank ||
        graph_type(f->g, y->in[1])->rank != all->rank)
        return "a product has a bias, a transposed operand or another rank";
    f->q = without_factors(f, product->in[0]);
    f->k = attr_bool(product, "trans_b") ? without_factors(f, product->in[1])
                                         : untransposed(f, product->in[1], 0);
    f->k = unrepeated(f, f->k);
    f->v = attr_bool(y, "trans_b") ? swapped(f, y->in[1]) : y->in[1];
    f->v = unrepeated(f, f->v);
    if (f->too_many)
        return "there are too many factors";
    if (!isfinite(f->scale) || f->scale == 0.0)
        return "the scale is 0 or infinite";
    if (f->mask != 0 && graph_type(f->g, f->mask)->rank > all->rank)
        return "the mask has too many axes";
    return batches_fit(f, all) ? NULL : "batch sizes differ";
}

static void replace(finder *f, const node *y)
{
    node *n = node_new(f->g, OP_sdpa);
    val q = f->q, times = 0, over = 0;

    for (uint32_t i = 0; i < f->n_factors; i++) {
        const node *by = f->factors[i];
        val x = by->in[factor_of(f, by)];
        val *all = by->op == OP_mul ? &times : &over;

        *all = *all == 0 ? x : op_binary(f->g, OP_mul, *all, x);
    }
    if (times != 0)
        q = op_binary(f->g, OP_mul, q, times);
    if (over != 0)
        q = op_binary(f->g, OP_div, q, over);
    node_input(f->g, n, q);
    node_input(f->g, n, f->k);
    node_input(f->g, n, f->v);
    if (f->mask != 0)
        node_input(f->g, n, f->mask);
    node_float(f->g, n, "scale", f->scale);
    node_float(f->g, n, "fill", f->fill);
    node_str(f->g, n, "rows", str_of(f->rows));
    if (n != NULL)
        n->label = y->label;
    graph_replace(f->g, y->out[0], node_add(f->g, n));
}

hull_status pass_fuse_attention(graph *g)
{
    finder f = {.g = g};
    node *next;

    TRY(graph_facts_get(&f.f, g));
    for (node *n = graph_first(g); n != NULL; n = next) {
        const char *why;

        next = graph_next(g, n);
        if (n->op != OP_matmul)
            continue;
        graph_rewrite_at(g, n);
        why = find_attention(&f, n);
        if (why == NULL)
            replace(&f, n);
        else if (why[0] != '\0')
            log_debug("passes", "attention '%.*s' not fused: %s",
                      STR_ARG(n->label), why);
        TRY(ir_status(g->m));
    }
    g->insert_before = NULL;
    g->insert_in = NULL;
    return HULL_OK;
}
