/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * text_ngrams.c - counts n-grams of a vocabulary in rows of strings or
 * integers. `pool` (or `numbers`) lists first the 1-grams, then the 2-grams and
 * so on; `starts` says where each length begins, `columns` where the
 * count of each n-gram goes. A vocabulary is a tree whose edges are items.
 */
#include <inttypes.h>
#include <string.h>

#include "ops/family.h"
#include "ops/text.h"

/* ---- shape rule ---------------------------------------------------------- */

/* Rows of the attributes: n-grams of each length, their first item. */
typedef struct vocabulary {
    const attr *starts, *columns, *weights, *pool, *numbers;
    int64_t n_items, min, max, skip;
    int64_t n_columns;
} vocabulary;

static int64_t items_end(const vocabulary *v, uint32_t k)
{
    return k + 1 < v->starts->u.ints.n ? v->starts->u.ints.p[k + 1]
                                       : v->n_items;
}

static hull_status check_starts(const vocabulary *v, const node *n)
{
    int64_t grams = 0;
    char what[128];

    for (uint32_t k = 0; k < v->starts->u.ints.n; k++) {
        int64_t begin = v->starts->u.ints.p[k], end = items_end(v, k);

        if (begin < 0 || begin > end || end > v->n_items ||
            (end - begin) % (k + 1) != 0)
            return fail(HULL_ESHAPE, "%s: %" PRIu32 "-grams are items %" PRId64
                        " to %" PRId64 " of %" PRId64, node_what(n, what),
                        k + 1, begin, end, v->n_items);
        grams += (end - begin) / (k + 1);
    }
    if (grams != v->columns->u.ints.n)
        return fail(HULL_ESHAPE, "%s: %" PRId64 " n-grams, %" PRIu32
                    " columns", node_what(n, what), grams,
                    v->columns->u.ints.n);
    return HULL_OK;
}

static hull_status check_columns(vocabulary *v, const node *n)
{
    char what[128];

    v->n_columns = 0;
    for (uint32_t i = 0; i < v->columns->u.ints.n; i++) {
        int64_t c = v->columns->u.ints.p[i];

        if (c < 0 || c > INT32_MAX)
            return fail(HULL_ESHAPE, "%s: column %" PRIu32 " is %" PRId64,
                        node_what(n, what), i, c);
        v->n_columns = c >= v->n_columns ? c + 1 : v->n_columns;
    }
    if (v->weights->set && v->weights->u.floats.n < v->n_columns)
        return fail(HULL_ESHAPE, "%s: %" PRIu32 " weights for %" PRId64
                    " columns", node_what(n, what), v->weights->u.floats.n,
                    v->n_columns);
    return HULL_OK;
}

static hull_status vocabulary_of(vocabulary *v, const node *n, bool text)
{
    str mode = attr_str(n, "mode");
    char what[128];

    *v = (vocabulary){
        .starts = node_attr(n, "starts"), .columns = node_attr(n, "columns"),
        .weights = node_attr(n, "weights"), .pool = node_attr(n, "pool"),
        .numbers = node_attr(n, "numbers"), .min = attr_int(n, "min"),
        .max = attr_int(n, "max"), .skip = attr_int(n, "skip")};
    if (v->pool->set == v->numbers->set || v->pool->set != text)
        return fail(HULL_ESHAPE, "%s: want one vocabulary, of %s",
                    node_what(n, what), text ? "strings" : "integers");
    v->n_items = text ? v->pool->u.strs.n : v->numbers->u.ints.n;
    if (v->min < 1 || v->max < v->min || v->skip < 0 ||
        v->max > v->starts->u.ints.n)
        return fail(HULL_ESHAPE, "%s: lengths from %" PRId64 " to %" PRId64
                    " with %" PRId64 " skipped, the vocabulary has lengths up "
                    "to %" PRIu32, node_what(n, what), v->min, v->max, v->skip,
                    v->starts->u.ints.n);
    if (!str_is(mode, "tf") && !str_is(mode, "idf") && !str_is(mode, "tfidf"))
        return fail(HULL_ESHAPE, "%s: attribute 'mode' is '%.*s', want tf, idf "
                    "or tfidf", node_what(n, what), STR_ARG(mode));
    TRY(check_starts(v, n));
    return check_columns(v, n);
}

hull_status ngrams_infer(graph *g, node *n)
{
    vocabulary v;
    const type *x;
    dim d[2];
    char what[128];

    TRY(infer_tensor(&x, g, n, 0));
    if ((x->dtype != HULL_STRING && !dtype_is_int(x->dtype)) || x->rank > 2)
        return fail(HULL_ESHAPE, "%s: operand is %s of rank %" PRIu32 ", want "
                    "strings or integers of rank 0 to 2", node_what(n, what),
                    hull_dtype_name(x->dtype), x->rank);
    TRY(vocabulary_of(&v, n, x->dtype == HULL_STRING));
    d[0] = x->rank == 2 ? x->dims[0] : v.n_columns;
    d[1] = v.n_columns;
    return infer_out(g, n, 0, HULL_F32, d, x->rank == 2 ? 2 : 1);
}

/* ---- the tree ------------------------------------------------------------ */

/* Nodes are numbers, 0 the root; an edge is found by its node and item. */
typedef struct tree {
    strmap edges;
    int64_t *gram; /* per node: the n-gram that ends there; -1 = none */
    uint32_t n;
} tree;

/* Item i of strings or integers, behind the node it starts from. */
static str edge_key(buf *b, uint32_t from, const void *items, int64_t i,
                    hull_dtype dt)
{
    buf_clear(b);
    buf_put(b, &from, sizeof from);
    if (dt == HULL_STRING) {
        const hull_string *s = (const hull_string *)items + i;

        buf_put(b, s->p, s->n);
    } else {
        int64_t v = load_i64(dt, items, (uint64_t)i);

        buf_put(b, &v, sizeof v);
    }
    return buf_view(b);
}

static hull_status add_gram(tree *t, buf *key, const void *items, int64_t at,
                            int64_t length, hull_dtype dt, int64_t gram)
{
    uint32_t from = 0;

    for (int64_t i = 0; i < length; i++) {
        str k = edge_key(key, from, items, at + i, dt);

        TRY(buf_status(key));
        if (!strmap_get(&t->edges, k, &from)) {
            TRY(strmap_set(&t->edges, k, t->n));
            from = t->n;
            t->gram[t->n++] = -1;
        }
    }
    t->gram[from] = gram;
    return HULL_OK;
}

/* n-grams of the lengths that count. */
static hull_status build(tree *t, buf *key, const vocabulary *v,
                         const void *items, hull_dtype dt)
{
    int64_t gram = 0;

    t->n = 1;
    for (uint32_t k = 0; k < v->starts->u.ints.n; k++) {
        int64_t length = k + 1;

        for (int64_t at = v->starts->u.ints.p[k]; at < items_end(v, k);
             at += length, gram++)
            if (length >= v->min && length <= v->max)
                TRY(add_gram(t, key, items, at, length, dt, gram));
    }
    return HULL_OK;
}

/* ---- counting ------------------------------------------------------------ */

typedef struct counter {
    const vocabulary *v;
    const tree *t;
    buf *key;
    const void *items; /* the operand's */
    hull_dtype dtype;
    double *row;       /* per column */
} counter;

/* n-grams of at least `least` items that begin at `at`, `step` apart. */
static hull_status count_from(counter *c, int64_t at, int64_t end,
                              int64_t step, int64_t least)
{
    uint32_t from = 0;

    for (int64_t length = 1; length <= c->v->max && at < end; length++) {
        str k = edge_key(c->key, from, c->items, at, c->dtype);

        TRY(buf_status(c->key));
        if (!strmap_get(&c->t->edges, k, &from))
            break;
        if (length >= least && c->t->gram[from] >= 0)
            c->row[c->v->columns->u.ints.p[c->t->gram[from]]] += 1;
        if (end - at <= step)
            break;
        at += step;
    }
    return HULL_OK;
}

/* Single items are the same whatever is skipped: they count once. */
static hull_status count_row(counter *c, int64_t begin, int64_t end)
{
    int64_t least = c->v->min;

    for (int64_t skip = 0; skip <= c->v->skip; skip++) {
        if (skip > 0 && least == 1)
            least = 2;
        if (least > c->v->max || (least > 1 && skip + 1 >= end - begin))
            break;
        for (int64_t at = begin; at < end; at++)
            TRY(count_from(c, at, end, skip + 1, least));
    }
    return HULL_OK;
}

static void store_row(const vocabulary *v, str mode, const double *row,
                      tensor *out, int64_t at)
{
    bool weighted = v->weights->set && !str_is(mode, "tf");

    for (int64_t i = 0; i < v->n_columns; i++) {
        double x = str_is(mode, "idf") ? row[i] > 0 : row[i];

        if (weighted)
            x *= v->weights->u.floats.p[i];
        store_f64(HULL_F32, out->data, (uint64_t)(at + i), x);
    }
}

static hull_status count_all(counter *c, eval_ctx *cx, const node *n,
                             const tensor *x, tensor *out)
{
    int64_t rows = x->rank == 2 ? x->shape[0] : 1;
    int64_t size = x->rank == 0 ? 1 : x->shape[x->rank - 1];
    char what[128];

    if (tensor_numel(out) != rows * c->v->n_columns)
        return fail(HULL_ESHAPE, "%s: %" PRId64 " results, want %" PRId64,
                    node_what(n, what), tensor_numel(out),
                    rows * c->v->n_columns);
    TRY(eval_scratch(&c->row, cx, c->v->n_columns));
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t i = 0; i < c->v->n_columns; i++)
            c->row[i] = 0;
        TRY(count_row(c, r * size, (r + 1) * size));
        store_row(c->v, attr_str(n, "mode"), c->row, out,
                  r * c->v->n_columns);
    }
    return HULL_OK;
}

/* The vocabulary's items as an operand's are: hull_string or i64. */
static hull_status pool_items(const void **out, eval_ctx *cx,
                              const vocabulary *v)
{
    hull_string *s;

    *out = v->numbers->u.ints.p;
    if (!v->pool->set)
        return HULL_OK;
    s = arena_array(cx->scratch, (size_t)v->n_items + 1, sizeof *s);
    if (s == NULL)
        return fail_oom((size_t)v->n_items * sizeof *s);
    for (int64_t i = 0; i < v->n_items; i++)
        s[i] = (hull_string){v->pool->u.strs.p[i].p, v->pool->u.strs.p[i].n};
    *out = s;
    return HULL_OK;
}

hull_status ngrams_eval(eval_ctx *cx, const node *n, const tensor *in,
                        tensor *out)
{
    bool text = in[0].dtype == HULL_STRING;
    const void *items = NULL;
    vocabulary v;
    tree t = {.n = 0};
    buf key;
    hull_status st = HULL_OK;
    counter c = {.v = &v, .t = &t, .key = &key, .items = in[0].data,
                 .dtype = in[0].dtype};

    TRY(vocabulary_of(&v, n, text));
    buf_init(&key, SIZE_MAX / 2);
    TRY_OUT(pool_items(&items, cx, &v));
    t.gram = mem_calloc((size_t)v.n_items + 1, sizeof *t.gram);
    if (t.gram == NULL)
        TRY_OUT(fail_oom((size_t)v.n_items * sizeof *t.gram));
    TRY_OUT(build(&t, &key, &v, items, text ? HULL_STRING : HULL_I64));
    TRY_OUT(count_all(&c, cx, n, &in[0], out));
out:
    mem_free(t.gram);
    strmap_fini(&t.edges);
    buf_fini(&key);
    return st;
}
