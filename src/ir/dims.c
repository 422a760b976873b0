/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * dims.c - symbolic sizes. Every expression is kept as a polynomial with
 * integer coefficients over atoms (symbols, floor divisions, remainders, min,
 * max, broadcasts): terms in order of first appearance, the constant last. An
 * expression is built from its form, so equal forms are one entry of the table.
 *
 * Each entry also names its representative: the first entry that is the same
 * polynomial with its terms and factors in any order. dim_eq compares those.
 *
 * The constructors use no ranges, so the text of an expression does not depend
 * on when a range was set. An identity is used where it holds for all integers
 * for which both sides are defined. Forms that are too large (terms, factors,
 * nesting, nodes) or overflow become DIM_UNKNOWN.
 */
#include "ir/dims.h"

#include <string.h>

#define MAX_NESTING 24 /* atoms within atoms */
#define MAX_SIZE 1024  /* nodes of one expression as a tree */
#define MAX_ENTRIES (1u << 24)

/* ---- the table ----------------------------------------------------------- */

static dim_entry *entry_of(const ir *m, dim d)
{
    uint64_t i;

    if (d >= DIM_UNKNOWN)
        return NULL;
    i = dim_index(d);
    return i < m->dims->n ? m->dims->entries[i] : NULL;
}

uint64_t dim_index(dim d)
{
    return (uint64_t) - (d + 2);
}

const dim_node *dim_get(const ir *m, dim d)
{
    const dim_entry *e = entry_of(m, d);

    return e == NULL ? NULL : &e->node;
}

uint32_t dim_n_nodes(const ir *m)
{
    return m->dims->n;
}

hull_status dims_init(ir *m)
{
    m->dims = arena_alloc(&m->a, sizeof(*m->dims));
    return m->dims == NULL ? fail_oom(sizeof(*m->dims)) : HULL_OK;
}

void dims_fini(ir *m)
{
    if (m->dims == NULL)
        return;
    mem_free(m->dims->entries);
    mem_free(m->dims->by_node);
    mem_free(m->dims->by_key);
    strmap_fini(&m->dims->symbols);
    strmap_fini(&m->dims->hints);
}

static uint64_t node_hash(const dim_node *n)
{
    int64_t w[4] = { n->op, n->a, n->b, n->value };

    return hash64_keyed(w, sizeof(w));
}

/* Doubles both hash tables (open addressing, entry number + 1). */
static bool rehash(struct dim_table *t)
{
    size_t cap = t->cap_hash == 0 ? 256 : t->cap_hash * 2;
    uint32_t *a = mem_calloc(cap, sizeof(*a));
    uint32_t *b = mem_calloc(cap, sizeof(*b));

    if (a == NULL || b == NULL) {
        mem_free(a);
        mem_free(b);
        return false;
    }
    for (uint32_t i = 0; i < t->n; i++) {
        const dim_entry *e = t->entries[i];
        size_t s = node_hash(&e->node) & (cap - 1);

        while (a[s] != 0)
            s = (s + 1) & (cap - 1);
        a[s] = i + 1;
        if (dim_index(e->canon) != i)
            continue;
        s = hash64_keyed(e->key, e->n_key * sizeof(*e->key)) & (cap - 1);
        while (b[s] != 0)
            s = (s + 1) & (cap - 1);
        b[s] = i + 1;
    }
    mem_free(t->by_node);
    mem_free(t->by_key);
    t->by_node = a;
    t->by_key = b;
    t->cap_hash = cap;
    return true;
}

static dim canon_of(const ir *m, dim d)
{
    const dim_entry *e = entry_of(m, d);

    return e == NULL ? d : e->canon;
}

static void sort_words(int64_t *p, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        int64_t x = p[i];
        uint32_t k = i;

        for (; k > 0 && p[k - 1] > x; k--)
            p[k] = p[k - 1];
        p[k] = x;
    }
}

/* Order-free description of a node: what two equal ones have in common. */
typedef struct canon_key {
    int64_t w[3 + DIM_MAX_TERMS * 2];
    uint32_t n;
} canon_key;

/* A product: coefficient and sorted representatives of its factors. */
static void key_of_product(canon_key *k, const ir *m, const dim_node *n)
{
    dim d;
    uint32_t first;

    k->w[k->n++] = DIM_MUL;
    first = k->n;
    for (d = n->a, k->w[k->n++] = canon_of(m, n->b);;) {
        const dim_node *p = dim_get(m, d);

        if (p == NULL || p->op != DIM_MUL || k->n >= DIM_MAX_FACTORS + 2) {
            k->w[k->n++] = canon_of(m, d);
            break;
        }
        k->w[k->n++] = canon_of(m, p->b);
        d = p->a;
    }
    sort_words(k->w + first, k->n - first);
}

static void key_of_sum(canon_key *k, const ir *m, const dim_node *n)
{
    dim d;

    k->w[k->n++] = DIM_ADD;
    for (d = n->a, k->w[k->n++] = canon_of(m, n->b);;) {
        const dim_node *p = dim_get(m, d);

        if (p == NULL || p->op != DIM_ADD || k->n > DIM_MAX_TERMS) {
            k->w[k->n++] = canon_of(m, d);
            break;
        }
        k->w[k->n++] = canon_of(m, p->b);
        d = p->a;
    }
    sort_words(k->w + 1, k->n - 1);
}

static void make_key(canon_key *k, const ir *m, const dim_node *n,
                     uint32_t self)
{
    k->n = 0;
    switch (n->op) {
    case DIM_MUL:
        key_of_product(k, m, n);
        return;
    case DIM_ADD:
        key_of_sum(k, m, n);
        return;
    case DIM_INT:
    case DIM_SYM:
        k->w[k->n++] = n->op;
        k->w[k->n++] = n->op == DIM_INT ? n->value : (int64_t)self;
        return;
    case DIM_DIV:
    case DIM_MOD:
    case DIM_MIN:
    case DIM_MAX:
    case DIM_BCAST:
        break;
    }
    k->w[k->n++] = n->op;
    k->w[k->n++] = canon_of(m, n->a);
    k->w[k->n++] = canon_of(m, n->b);
    if (n->op != DIM_DIV && n->op != DIM_MOD)
        sort_words(k->w + 1, 2);
}

/* Sets e->canon: an entry with the same key, or itself. */
static bool find_canon(ir *m, dim_entry *e, uint32_t self)
{
    struct dim_table *t = m->dims;
    canon_key k;
    size_t s;

    make_key(&k, m, &e->node, self);
    s = hash64_keyed(k.w, k.n * sizeof(*k.w)) & (t->cap_hash - 1);
    for (; t->by_key[s] != 0; s = (s + 1) & (t->cap_hash - 1)) {
        const dim_entry *o = t->entries[t->by_key[s] - 1];

        if (o->n_key == k.n && memcmp(o->key, k.w, k.n * sizeof(*k.w)) == 0) {
            e->canon = o->canon;
            return true;
        }
    }
    e->key = arena_memdup(&m->a, k.w, k.n * sizeof(*k.w));
    e->n_key = k.n;
    e->canon = -(dim)self - 2;
    if (e->key == NULL)
        return false;
    t->by_key[s] = self + 1;
    return true;
}

static void measure(const ir *m, dim_entry *e)
{
    const dim_entry *a = entry_of(m, e->node.a), *b = entry_of(m, e->node.b);
    bool atom = e->node.op != DIM_ADD && e->node.op != DIM_MUL;
    uint32_t na = a == NULL ? 0 : a->nesting, nb = b == NULL ? 0 : b->nesting;

    e->nesting = (na > nb ? na : nb) + atom;
    e->size = 1 + (a == NULL ? 1 : a->size) + (b == NULL ? 1 : b->size);
}

static dim fail_dim(ir *m, size_t size)
{
    ignore(ir_oom(m, size)); /* sticky in the ir */
    return DIM_UNKNOWN;
}

/* The entry of this node: the one that exists, or a new one. */
static dim intern(ir *m, const dim_node *n)
{
    struct dim_table *t = m->dims;
    dim_entry *e, probe = { .node = *n };
    uint32_t self = t->n;
    size_t s;

    if (m->status != HULL_OK)
        return DIM_UNKNOWN;
    if (t->n * 2 >= t->cap_hash && !rehash(t))
        return fail_dim(m, t->cap_hash * 4);
    s = node_hash(n) & (t->cap_hash - 1);
    for (; t->by_node[s] != 0; s = (s + 1) & (t->cap_hash - 1)) {
        const dim_node *o = &t->entries[t->by_node[s] - 1]->node;

        if (o->op == n->op && o->a == n->a && o->b == n->b &&
            o->value == n->value)
            return -(dim)(t->by_node[s] - 1) - 2;
    }
    if (n->op != DIM_INT && n->op != DIM_SYM)
        measure(m, &probe);
    if (probe.nesting > MAX_NESTING || probe.size > MAX_SIZE ||
        t->n >= MAX_ENTRIES)
        return DIM_UNKNOWN;
    if (mem_grow(&t->entries, &t->cap, (size_t)t->n + 1, sizeof(*t->entries)) !=
        HULL_OK)
        return fail_dim(m, sizeof(*e));
    e = arena_memdup(&m->a, &probe, sizeof(probe));
    if (e == NULL || !find_canon(m, e, self))
        return fail_dim(m, sizeof(*e));
    t->entries[t->n++] = e;
    t->by_node[s] = self + 1;
    return -(dim)self - 2;
}

dim dim_int(ir *m, int64_t v)
{
    dim_node n = { .op = DIM_INT, .value = v };

    return v >= 0 ? v : intern(m, &n);
}

bool dim_is_int(const ir *m, dim d, int64_t *out)
{
    const dim_node *n;

    *out = 0;
    if (d >= 0) {
        *out = d;
        return true;
    }
    n = dim_get(m, d);
    if (n == NULL || n->op != DIM_INT)
        return false;
    *out = n->value;
    return true;
}

/* Symbols are told apart by `value`, their number; the text is beside it. */
dim dim_sym(ir *m, str name)
{
    struct dim_table *t = m->dims;
    dim_node n = { .op = DIM_SYM, .max = INT64_MAX };
    uint32_t i;
    dim d;

    if (m->status != HULL_OK)
        return DIM_UNKNOWN;
    if (strmap_get(&t->symbols, name, &i))
        return -(dim)i - 2;
    n.name = ir_str(m, name);
    n.value = t->n_symbols;
    if (m->status != HULL_OK)
        return DIM_UNKNOWN;
    d = intern(m, &n);
    if (d == DIM_UNKNOWN)
        return d;
    t->n_symbols++;
    if (strmap_set(&t->symbols, name, (uint32_t)dim_index(d)) != HULL_OK)
        return fail_dim(m, name.n);
    return d;
}

dim dim_fresh(ir *m, const char *hint)
{
    struct dim_table *t = m->dims;
    uint32_t i = 0, seen;
    str h = str_of(hint);
    char name[80];
    str s = { name, 0 };

    if (m->status != HULL_OK)
        return DIM_UNKNOWN;
    if (h.n == 0 || h.n > 48)
        h = str_of("s");
    if (!strmap_get(&t->symbols, h, &seen))
        return dim_sym(m, h);
    if (!strmap_get(&t->hints, h, &i))
        i = 1;
    do {
        s.n = (size_t)snprintf(name, sizeof(name), "%.*s_%u", STR_ARG(h), i++);
    } while (strmap_get(&t->symbols, s, &seen));
    if (strmap_set(&t->hints, h, i) != HULL_OK)
        return fail_dim(m, h.n);
    return dim_sym(m, s);
}

static dim_node *symbol(ir *m, dim d)
{
    dim_entry *e = entry_of(m, d);

    return e == NULL || e->node.op != DIM_SYM ? NULL : &e->node;
}

void dim_set_range(ir *m, dim sym, int64_t min, int64_t max)
{
    dim_node *n = symbol(m, sym);

    if (n == NULL || min > max)
        return;
    n->min = min;
    n->max = max;
}

void dim_set_opt(ir *m, dim sym, int64_t opt)
{
    dim_node *n = symbol(m, sym);

    if (n != NULL)
        n->opt = opt;
}

bool dim_eq(const ir *m, dim a, dim b)
{
    return a != DIM_UNKNOWN && canon_of(m, a) == canon_of(m, b);
}

/* ---- polynomials --------------------------------------------------------- */

static bool same_factors(const ir *m, const dim_term *a, const dim_term *b)
{
    bool used[DIM_MAX_FACTORS] = { false };

    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++) {
        uint32_t k = 0;

        while (k < b->n &&
               (used[k] || canon_of(m, a->atom[i]) != canon_of(m, b->atom[k])))
            k++;
        if (k == b->n)
            return false;
        used[k] = true;
    }
    return true;
}

/* Its terms are 2.5 KB: those that are not there stay as they are. */
static void poly_clear(dim_poly *p)
{
    p->n = 0;
    p->constant = 0;
}

/* p += t. false: too large. A term that vanishes leaves its place. */
static bool poly_add_term(const ir *m, dim_poly *p, const dim_term *t)
{
    if (t->coef == 0)
        return true;
    if (t->n == 0)
        return add_i64(&p->constant, p->constant, t->coef);
    for (uint32_t i = 0; i < p->n; i++) {
        if (!same_factors(m, &p->term[i], t))
            continue;
        if (!add_i64(&p->term[i].coef, p->term[i].coef, t->coef))
            return false;
        if (p->term[i].coef == 0) {
            p->n--;
            memmove(&p->term[i], &p->term[i + 1],
                    (p->n - i) * sizeof(p->term[0]));
        }
        return true;
    }
    if (p->n == DIM_MAX_TERMS)
        return false;
    p->term[p->n++] = *t;
    return true;
}

static bool poly_add_scaled(const ir *m, dim_poly *p, const dim_poly *q,
                            int64_t k)
{
    dim_term t;

    for (uint32_t i = 0; i < q->n; i++) {
        t = q->term[i];
        if (!mul_i64(&t.coef, t.coef, k) || !poly_add_term(m, p, &t))
            return false;
    }
    t = (dim_term){ .n = 0 };
    return mul_i64(&t.coef, q->constant, k) && poly_add_term(m, p, &t);
}

static bool term_mul(dim_term *out, const dim_term *a, const dim_term *b)
{
    if (a->n + b->n > DIM_MAX_FACTORS)
        return false;
    *out = *a;
    for (uint32_t i = 0; i < b->n; i++)
        out->atom[out->n++] = b->atom[i];
    return mul_i64(&out->coef, a->coef, b->coef);
}

/* The i-th term, the constant after the others. */
static dim_term term_at(const dim_poly *p, uint32_t i)
{
    return i < p->n ? p->term[i] : (dim_term){ .coef = p->constant };
}

static bool poly_mul(const ir *m, dim_poly *out, const dim_poly *a,
                     const dim_poly *b)
{
    poly_clear(out);
    for (uint32_t i = 0; i <= a->n; i++) {
        for (uint32_t k = 0; k <= b->n; k++) {
            dim_term x = term_at(a, i), y = term_at(b, k), t;

            if (x.coef == 0 || y.coef == 0)
                continue;
            if (!term_mul(&t, &x, &y) || !poly_add_term(m, out, &t))
                return false;
        }
    }
    return true;
}

/* A product node back to a term. */
static dim_term term_of(const ir *m, dim d)
{
    dim_term t = { .coef = 1 };
    dim rev[DIM_MAX_FACTORS + 1];
    uint32_t n = 0;
    const dim_node *p = dim_get(m, d);
    int64_t v;

    for (; p != NULL && p->op == DIM_MUL && n < DIM_MAX_FACTORS;
         d = p->a, p = dim_get(m, d))
        rev[n++] = p->b;
    rev[n++] = d;
    while (n > 0) {
        d = rev[--n];
        if (dim_is_int(m, d, &v))
            t.coef = v; /* only the first factor can be an integer */
        else if (t.n < DIM_MAX_FACTORS)
            t.atom[t.n++] = d;
    }
    return t;
}

bool dim_to_poly(const ir *m, dim_poly *p, dim d)
{
    dim rev[DIM_MAX_TERMS + 1];
    uint32_t n = 0;
    const dim_node *s = dim_get(m, d);

    poly_clear(p);
    if (d == DIM_UNKNOWN || (d < 0 && s == NULL))
        return false;
    for (; s != NULL && s->op == DIM_ADD && n < DIM_MAX_TERMS;
         d = s->a, s = dim_get(m, d))
        rev[n++] = s->b;
    rev[n++] = d;
    while (n > 0) {
        dim_term t = term_of(m, rev[--n]);

        if (t.n == 0)
            p->constant = t.coef;
        else if (p->n < DIM_MAX_TERMS)
            p->term[p->n++] = t;
    }
    return true;
}

static dim node2(ir *m, dim_op op, dim a, dim b)
{
    dim_node n = { .op = op, .a = a, .b = b };

    if (a == DIM_UNKNOWN || b == DIM_UNKNOWN)
        return DIM_UNKNOWN;
    return intern(m, &n);
}

static dim from_term(ir *m, const dim_term *t)
{
    dim d = t->coef == 1 ? t->atom[0] : dim_int(m, t->coef);

    for (uint32_t i = t->coef == 1 ? 1 : 0; i < t->n; i++)
        d = node2(m, DIM_MUL, d, t->atom[i]);
    return d;
}

static dim from_poly(ir *m, const dim_poly *p)
{
    dim d;

    if (p->n == 0)
        return dim_int(m, p->constant);
    d = from_term(m, &p->term[0]);
    for (uint32_t i = 1; i < p->n; i++)
        d = node2(m, DIM_ADD, d, from_term(m, &p->term[i]));
    if (p->constant != 0)
        d = node2(m, DIM_ADD, d, dim_int(m, p->constant));
    return d;
}

/* ---- constructors: sums and products ------------------------------------- */

static dim add_scaled(ir *m, dim a, dim b, int64_t k)
{
    dim_poly p, q;
    int64_t x, y;

    if (dim_is_int(m, a, &x) && dim_is_int(m, b, &y) &&
        mul_i64(&y, y, k) && add_i64(&x, x, y))
        return dim_int(m, x);
    if (!dim_to_poly(m, &p, a) || !dim_to_poly(m, &q, b) ||
        !poly_add_scaled(m, &p, &q, k))
        return DIM_UNKNOWN;
    return from_poly(m, &p);
}

dim dim_add(ir *m, dim a, dim b)
{
    return add_scaled(m, a, b, 1);
}

dim dim_sub(ir *m, dim a, dim b)
{
    return add_scaled(m, a, b, -1);
}

dim dim_mul(ir *m, dim a, dim b)
{
    dim_poly p, q, r;
    int64_t x, y;

    if (dim_is_int(m, a, &x) && dim_is_int(m, b, &y) && mul_i64(&x, x, y))
        return dim_int(m, x);
    if (!dim_to_poly(m, &p, a) || !dim_to_poly(m, &q, b) ||
        !poly_mul(m, &r, &p, &q))
        return DIM_UNKNOWN;
    return from_poly(m, &r);
}

dim dim_product(ir *m, const dim *d, uint32_t n)
{
    dim p = 1;

    for (uint32_t i = 0; i < n; i++)
        p = dim_mul(m, p, d[i]);
    return p;
}

/* ---- constructors: division ---------------------------------------------- */

static int64_t floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;

    return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

/* q = t / d when d divides t as a product: t's factors include d's, and the
 * coefficient is divisible. */
static bool term_div(const ir *m, dim_term *q, const dim_term *t,
                     const dim_term *d)
{
    bool used[DIM_MAX_FACTORS] = { false };

    *q = (dim_term){ .n = 0 };
    if (d->coef == 0 || d->coef == -1 || t->coef % d->coef != 0)
        return false;
    q->coef = t->coef / d->coef;
    for (uint32_t i = 0; i < d->n; i++) {
        uint32_t k = 0;

        while (k < t->n &&
               (used[k] || canon_of(m, t->atom[k]) != canon_of(m, d->atom[i])))
            k++;
        if (k == t->n)
            return false;
        used[k] = true;
    }
    for (uint32_t k = 0; k < t->n; k++)
        if (!used[k])
            q->atom[q->n++] = t->atom[k];
    return true;
}

/* a = q * b exactly, by long division on the first terms. */
static bool exact_div(const ir *m, dim_poly *q, const dim_poly *a,
                      const dim_poly *b)
{
    dim_poly rest = *a, part, one;
    dim_term lead = term_at(b, 0);

    poly_clear(q);
    for (int step = 0; step < DIM_MAX_TERMS; step++) {
        dim_term t;
        uint32_t i = 0;

        if (rest.n == 0 && rest.constant == 0)
            return true;
        for (;; i++) {
            dim_term r = term_at(&rest, i);

            if (i > rest.n)
                return false;
            if (r.coef != 0 && term_div(m, &t, &r, &lead))
                break;
        }
        if (!poly_add_term(m, q, &t))
            return false;
        poly_clear(&one);
        if (!poly_add_term(m, &one, &t) || !poly_mul(m, &part, &one, b) ||
            !poly_add_scaled(m, &rest, &part, -1))
            return false;
    }
    return rest.n == 0 && rest.constant == 0;
}

/* Splits a = q * b + r for an integer b > 0, coefficients of r in [0, b). */
static bool split_int(const ir *m, dim_poly *q, dim_poly *r, const dim_poly *a,
                      int64_t b)
{
    poly_clear(q);
    poly_clear(r);
    for (uint32_t i = 0; i <= a->n; i++) {
        dim_term t = term_at(a, i), k = t;

        k.coef = floor_div(t.coef, b);
        t.coef -= k.coef * b;
        if (!poly_add_term(m, q, &k) || !poly_add_term(m, r, &t))
            return false;
    }
    return true;
}

/* Splits off the terms that the product b divides. */
static bool split_term(const ir *m, dim_poly *q, dim_poly *r, const dim_poly *a,
                       const dim_term *b)
{
    poly_clear(q);
    poly_clear(r);
    for (uint32_t i = 0; i <= a->n; i++) {
        dim_term t = term_at(a, i), k;

        if (t.coef == 0)
            continue;
        if (term_div(m, &k, &t, b) ? !poly_add_term(m, q, &k)
                                   : !poly_add_term(m, r, &t))
            return false;
    }
    return true;
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t t = a % b;

        a = b;
        b = t;
    }
    return a;
}

/* Greatest divisor of b and of all (non-negative) coefficients of r. */
static int64_t common_divisor(const dim_poly *r, int64_t b)
{
    int64_t g = gcd(b, r->constant);

    for (uint32_t i = 0; i < r->n; i++)
        g = gcd(g, r->term[i].coef);
    return g;
}

static void poly_shrink(dim_poly *p, int64_t g)
{
    for (uint32_t i = 0; i < p->n; i++)
        p->term[i].coef /= g;
    p->constant /= g;
}

/* floor((floor(x / c) + k) / b) = floor((x + k * c) / (b * c)), b, c > 0. */
static bool nested_div(ir *m, dim *out, const dim_poly *r, int64_t b)
{
    const dim_node *n;
    int64_t c, bc, kc;

    if (r->n != 1 || r->term[0].n != 1 || r->term[0].coef != 1)
        return false;
    n = dim_get(m, r->term[0].atom[0]);
    if (n == NULL || n->op != DIM_DIV || !dim_is_int(m, n->b, &c) || c <= 0 ||
        !mul_i64(&bc, b, c) || !mul_i64(&kc, r->constant, c))
        return false;
    *out = dim_div(m, dim_add(m, n->a, dim_int(m, kc)), dim_int(m, bc));
    return true;
}

static dim div_int(ir *m, const dim_poly *a, int64_t b)
{
    dim_poly q, r;
    int64_t g;
    dim d;

    if (!split_int(m, &q, &r, a, b))
        return DIM_UNKNOWN;
    if (r.n == 0) /* the constant is below b */
        return from_poly(m, &q);
    g = common_divisor(&r, b);
    poly_shrink(&r, g);
    if (b / g == 1)
        d = from_poly(m, &r);
    else if (!nested_div(m, &d, &r, b / g))
        d = node2(m, DIM_DIV, from_poly(m, &r), b / g);
    return dim_add(m, from_poly(m, &q), d);
}

static bool negated(const ir *m, dim_poly *p)
{
    dim_poly q;
    bool ok;

    poly_clear(&q);
    ok = poly_add_scaled(m, &q, p, -1);
    *p = q;
    return ok;
}

static bool is_zero(const dim_poly *p)
{
    return p->n == 0 && p->constant == 0;
}

dim dim_div(ir *m, dim a, dim b)
{
    dim_poly p, d, q, r;

    if (!dim_to_poly(m, &p, a) || !dim_to_poly(m, &d, b) || is_zero(&d))
        return DIM_UNKNOWN;
    if (d.n == 0 && d.constant < 0 && (!negated(m, &p) || !negated(m, &d)))
        return DIM_UNKNOWN;
    if (d.n == 0)
        return div_int(m, &p, d.constant);
    if (is_zero(&p))
        return 0;
    if (exact_div(m, &q, &p, &d))
        return from_poly(m, &q);
    poly_clear(&q);
    r = p;
    if (d.n == 1 && d.constant == 0 && !split_term(m, &q, &r, &p, &d.term[0]))
        return DIM_UNKNOWN;
    return dim_add(m, from_poly(m, &q),
                   node2(m, DIM_DIV, from_poly(m, &r), from_poly(m, &d)));
}

/* For b > 0; every size that something is divided by is. */
dim dim_ceil_div(ir *m, dim a, dim b)
{
    return dim_div(m, dim_sub(m, dim_add(m, a, b), 1), b);
}

static dim mod_int(ir *m, const dim_poly *a, int64_t b)
{
    dim_poly q, r;
    int64_t g;

    if (!split_int(m, &q, &r, a, b))
        return DIM_UNKNOWN;
    if (r.n == 0)
        return from_poly(m, &r);
    g = common_divisor(&r, b);
    poly_shrink(&r, g);
    if (b / g == 1)
        return 0;
    return dim_mul(m, g, node2(m, DIM_MOD, from_poly(m, &r), b / g));
}

dim dim_mod(ir *m, dim a, dim b)
{
    dim_poly p, d, q, r;

    if (!dim_to_poly(m, &p, a) || !dim_to_poly(m, &d, b) || is_zero(&d))
        return DIM_UNKNOWN;
    if (d.n == 0 && d.constant < 0) { /* mod(a, -c) = -mod(-a, c) */
        if (!negated(m, &p) || !negated(m, &d))
            return DIM_UNKNOWN;
        return dim_sub(m, 0, mod_int(m, &p, d.constant));
    }
    if (d.n == 0)
        return mod_int(m, &p, d.constant);
    if (is_zero(&p) || exact_div(m, &q, &p, &d))
        return 0;
    r = p;
    if (d.n == 1 && d.constant == 0 && !split_term(m, &q, &r, &p, &d.term[0]))
        return DIM_UNKNOWN;
    return node2(m, DIM_MOD, from_poly(m, &r), from_poly(m, &d));
}

/* ---- constructors: min, max, broadcast ----------------------------------- */

/* Is x one of the operands of the node d, which is an `op`? */
static bool has_operand(const ir *m, dim_op op, dim d, dim x)
{
    const dim_node *n = dim_get(m, d);

    return n != NULL && n->op == op &&
           (dim_eq(m, n->a, x) || dim_eq(m, n->b, x));
}

static dim min_max(ir *m, dim_op op, dim a, dim b)
{
    dim_poly p, q;

    if (!dim_to_poly(m, &p, a) || !dim_to_poly(m, &q, b))
        return DIM_UNKNOWN;
    if (poly_add_scaled(m, &p, &q, -1) && p.n == 0)
        return (p.constant <= 0) == (op == DIM_MIN) ? a : b;
    if (has_operand(m, op, a, b))
        return a;
    if (has_operand(m, op, b, a))
        return b;
    return node2(m, op, a, b);
}

dim dim_min(ir *m, dim a, dim b)
{
    return min_max(m, DIM_MIN, a, b);
}

dim dim_max(ir *m, dim a, dim b)
{
    return min_max(m, DIM_MAX, a, b);
}

dim dim_bcast(ir *m, dim a, dim b)
{
    if (a == DIM_UNKNOWN || b == DIM_UNKNOWN)
        return DIM_UNKNOWN;
    if (a == 1 || dim_eq(m, a, b))
        return b;
    if (b == 1)
        return a;
    if (a >= 0 && b >= 0)
        return DIM_UNKNOWN; /* two sizes that do not fit */
    if (a >= 0)             /* the other one is 1 or the same */
        return a;
    if (b >= 0)
        return b;
    if (has_operand(m, DIM_BCAST, a, b))
        return a;
    if (has_operand(m, DIM_BCAST, b, a))
        return b;
    return node2(m, DIM_BCAST, a, b);
}

static dim rebuild(ir *m, dim_op op, dim a, dim b)
{
    switch (op) {
    case DIM_ADD:
        return dim_add(m, a, b);
    case DIM_MUL:
        return dim_mul(m, a, b);
    case DIM_DIV:
        return dim_div(m, a, b);
    case DIM_MOD:
        return dim_mod(m, a, b);
    case DIM_MIN:
        return dim_min(m, a, b);
    case DIM_MAX:
        return dim_max(m, a, b);
    case DIM_BCAST:
        return dim_bcast(m, a, b);
    case DIM_INT:
    case DIM_SYM:
        break;
    }
    return DIM_UNKNOWN;
}

dim dim_copy(ir *to, const ir *from, dim d)
{
    const dim_node *n;
    dim s, a;

    if (d >= DIM_UNKNOWN || to == from)
        return d;
    n = dim_get(from, d);
    if (n == NULL)
        return DIM_UNKNOWN;
    if (n->op == DIM_INT)
        return dim_int(to, n->value);
    if (n->op != DIM_SYM) {
        a = dim_copy(to, from, n->a);
        return rebuild(to, n->op, a, dim_copy(to, from, n->b));
    }
    s = dim_sym(to, n->name);
    dim_set_range(to, s, n->min, n->max);
    dim_set_opt(to, s, n->opt);
    return s;
}
