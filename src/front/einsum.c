/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * einsum.c - the lowering of einsum that both frontends use. Axes are letters;
 * those of an ellipsis get letters too, counted from the last axis so that
 * operands of several ranks broadcast. Each operand first loses its repeated
 * letters (a diagonal), then operands are joined from left to right: by a
 * product of matrices where letters are summed, else by multiplication.
 */
#include "front/front.h"

#include <inttypes.h>
#include <string.h>

#define LETTERS 128
#define OPERANDS_MAX 64

/* A tensor, or the result, with its axes as letters. */
typedef struct term {
    val v;
    uint8_t axis[HULL_MAX_RANK];
    uint32_t n;
} term;

typedef struct einsum {
    front *f;
    term in[OPERANDS_MAX], out;
    str text[OPERANDS_MAX];
    uint32_t n_in, n_dots;     /* letters 1 .. n_dots are the ellipsis's */
    dim size[LETTERS];
    bool has[LETTERS];
} einsum;

static bool holds(const uint8_t *axis, uint32_t n, uint8_t letter)
{
    return n > 0 && memchr(axis, letter, n) != NULL;
}

static bool in_term(const term *t, uint8_t letter)
{
    return holds(t->axis, t->n, letter);
}

/* ---- reading ------------------------------------------------------------- */

/* Letters of a text; its ellipsis stands for `dots` axes. */
static hull_status read_term(const einsum *e, str text, uint32_t dots, term *t)
{
    bool seen = false;

    t->n = 0;
    for (size_t i = 0; i < text.n; i++) {
        char ch = text.p[i];
        bool dot = ch == '.';

        if (ch == ' ')
            continue;
        if (dot && (text.n - i < 3 || text.p[i + 1] != '.' ||
                    text.p[i + 2] != '.' || seen))
            return fail(HULL_EFORMAT, "equation has a lone dot or two "
                        "ellipses in one term");
        if (!dot && !((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z')))
            return fail(HULL_EFORMAT, "equation has the byte %d", (int)ch);
        if (t->n + (dot ? dots : 1) > HULL_MAX_RANK)
            return fail(HULL_EFORMAT, "equation has more than %d axes in one "
                        "term", HULL_MAX_RANK);
        for (uint32_t k = 0; k < (dot ? dots : 1); k++)
            t->axis[t->n++] = dot ? (uint8_t)(e->n_dots - dots + k + 1)
                                  : (uint8_t)ch;
        seen = seen || dot;
        i += dot ? 2 : 0;
    }
    return HULL_OK;
}

static hull_status rank_of(const einsum *e, uint32_t i, uint32_t *out)
{
    const type *t = e->in[i].v ? graph_type(e->f->g, e->in[i].v) : NULL;

    if (!t || t->kind != TYPE_TENSOR)
        return fail(HULL_EFORMAT, "operand %" PRIu32 " is missing", i);
    *out = t->rank;
    return HULL_OK;
}

static hull_status read_operands(einsum *e)
{
    uint32_t dots[OPERANDS_MAX] = {0}, rank = 0;

    for (uint32_t i = 0; i < e->n_in; i++) {
        term plain;

        TRY(rank_of(e, i, &rank));
        TRY(read_term(e, e->text[i], 0, &plain));
        if (!str_contains(e->text[i], ".") || rank < plain.n)
            continue;
        dots[i] = rank - plain.n;
        e->n_dots = dots[i] > e->n_dots ? dots[i] : e->n_dots;
    }
    for (uint32_t i = 0; i < e->n_in; i++) {
        TRY(rank_of(e, i, &rank));
        TRY(read_term(e, e->text[i], dots[i], &e->in[i]));
        if (rank != e->in[i].n)
            return fail(HULL_ESHAPE, "operand %" PRIu32 " has rank %" PRIu32
                        ", its term has %" PRIu32, i, rank, e->in[i].n);
    }
    return HULL_OK;
}

/* Without "->": the ellipsis, then the letters that occur once, sorted. */
static hull_status implicit_out(einsum *e)
{
    for (uint32_t l = 1; l < LETTERS; l++) {
        uint32_t count = 0;

        for (uint32_t i = 0; i < e->n_in; i++)
            for (uint32_t k = 0; k < e->in[i].n; k++)
                count += e->in[i].axis[k] == l;
        if (count == 0 || (l > e->n_dots && count > 1))
            continue;
        if (e->out.n == HULL_MAX_RANK)
            return fail(HULL_EUNSUPPORTED, "the result has too many axes");
        e->out.axis[e->out.n++] = (uint8_t)l;
    }
    return HULL_OK;
}

/* One size per letter; a known size of 1 goes with any, and so may any size of
 * the ellipsis. */
static hull_status find_sizes(einsum *e)
{
    for (uint32_t i = 0; i < e->n_in; i++) {
        const type *t = graph_type(e->f->g, e->in[i].v);

        for (uint32_t k = 0; k < t->rank; k++) {
            uint8_t l = e->in[i].axis[k];
            int64_t a = 0, b = 0;
            bool one = dim_is_int(e->f->m, t->dims[k], &a) && a == 1;

            if (e->has[l] && !one && dim_is_int(e->f->m, t->dims[k], &a) &&
                dim_is_int(e->f->m, e->size[l], &b) && b != 1 && a != b)
                return fail(HULL_ESHAPE, "one letter has the sizes %" PRId64
                            " and %" PRId64, b, a);
            if (e->has[l] && !one && l <= e->n_dots && e->size[l] != 1)
                e->size[l] = dim_bcast(e->f->m, e->size[l], t->dims[k]);
            else if (!e->has[l] || !one)
                e->size[l] = t->dims[k];
            e->has[l] = true;
        }
    }
    for (uint32_t k = 0; k < e->out.n; k++) {
        if (!e->has[e->out.axis[k]])
            return fail(HULL_EFORMAT, "the result has a letter that no "
                        "operand has");
        if (holds(e->out.axis, k, e->out.axis[k]))
            return fail(HULL_EFORMAT, "the result has a letter twice");
    }
    return HULL_OK;
}

static hull_status read_equation(einsum *e, str equation)
{
    str terms = equation, out = {"", 0};
    size_t arrow = 0;
    bool more = true;

    while (arrow + 1 < equation.n &&
           !(equation.p[arrow] == '-' && equation.p[arrow + 1] == '>'))
        arrow++;
    bool given = arrow + 1 < equation.n;
    if (given) {
        terms.n = arrow;
        out = (str){equation.p + arrow + 2, equation.n - arrow - 2};
    }
    for (uint32_t i = 0; i < e->n_in; i++) {
        if (!more)
            return fail(HULL_EFORMAT, "equation has fewer terms than operands");
        more = memchr(terms.n ? terms.p : "", ',', terms.n) != NULL;
        e->text[i] = str_split(terms, ',', &terms);
    }
    if (more)
        return fail(HULL_EFORMAT, "equation has more terms than operands");
    TRY(read_operands(e));
    if (given)
        TRY(read_term(e, out, e->n_dots, &e->out));
    else
        TRY(implicit_out(e));
    return find_sizes(e);
}

/* ---- one operand --------------------------------------------------------- */

static dim dim_at(const einsum *e, const term *t, uint32_t k)
{
    const type *x = graph_type(e->f->g, t->v);

    return x && k < x->rank ? x->dims[k] : 1;
}

/* Drops axis k, whose size is 1. */
static void drop_axis(einsum *e, term *t, uint32_t k)
{
    dim d[HULL_MAX_RANK];
    uint32_t n = 0;

    for (uint32_t i = 0; i < t->n; i++)
        if (i != k) {
            t->axis[n] = t->axis[i];
            d[n++] = dim_at(e, t, i);
        }
    t->v = op_reshape(e->f->g, t->v, d, n);
    t->n = n;
}

/* Axes `a` < `b` have one letter: what is at equal places of both. */
static void diagonal(einsum *e, term *t, uint32_t a, uint32_t b)
{
    graph *g = e->f->g;
    dim at[HULL_MAX_RANK], all[HULL_MAX_RANK];

    for (uint32_t i = 0; i < t->n; i++) {
        all[i] = i == b ? 1 : dim_at(e, t, i);
        at[i] = i == a ? all[i] : 1;
    }
    node *n = node_new(g, OP_iota);
    node_dims(g, n, "shape", at, t->n);
    node_int(g, n, "axis", a);
    val place = op_expand(g, node_add(g, n), all, t->n);
    n = node_new(g, OP_gather_elements);
    node_input(g, n, t->v);
    node_input(g, n, place);
    node_int(g, n, "axis", b);
    t->v = node_add(g, n);
    drop_axis(e, t, b);
}

/* No letter twice, and no size of 1 where the letter has another. */
static void simplify(einsum *e, term *t)
{
    int64_t a = 0;

    for (uint32_t k = t->n; k-- > 0;) {
        bool one = dim_is_int(e->f->m, dim_at(e, t, k), &a) && a == 1;

        if (one && !(dim_is_int(e->f->m, e->size[t->axis[k]], &a) && a == 1))
            drop_axis(e, t, k);
    }
    for (uint32_t k = t->n; k-- > 1;) {
        const uint8_t *first = memchr(t->axis, t->axis[k], k);

        if (first)
            diagonal(e, t, (uint32_t)(first - t->axis), k);
    }
}

/* Sums the axes whose letters are not kept. */
static void sum_out(einsum *e, term *t, const bool *keep)
{
    int64_t axes[HULL_MAX_RANK];
    uint32_t n = 0, left = 0;

    for (uint32_t i = 0; i < t->n; i++) {
        if (keep[t->axis[i]])
            t->axis[left++] = t->axis[i];
        else
            axes[n++] = i;
    }
    t->n = left;
    if (n == 0)
        return;
    node *r = node_new(e->f->g, OP_reduce_sum);
    node_input(e->f->g, r, t->v);
    node_ints(e->f->g, r, "axes", axes, n);
    t->v = node_add(e->f->g, r);
}

static void reorder(einsum *e, term *t, const uint8_t *order)
{
    int64_t perm[HULL_MAX_RANK];
    bool same = true;

    for (uint32_t i = 0; i < t->n; i++) {
        const uint8_t *p = memchr(t->axis, order[i], t->n);

        perm[i] = p ? p - t->axis : 0;
        same = same && perm[i] == i;
    }
    if (!same)
        t->v = op_transpose(e->f->g, t->v, perm, t->n);
    if (t->n)
        memmove(t->axis, order, t->n);
}

/* ---- two operands -------------------------------------------------------- */

/* Letters in groups: in both and kept, of one alone, in both and summed. */
typedef struct groups {
    uint8_t batch[HULL_MAX_RANK], rows[HULL_MAX_RANK], cols[HULL_MAX_RANK];
    uint8_t inner[HULL_MAX_RANK];
    uint32_t nb, nr, nc, nk;
} groups;

static groups group_letters(const term *a, const term *b, const bool *keep)
{
    groups s = {.nb = 0};

    for (uint32_t i = 0; i < a->n; i++) {
        uint8_t l = a->axis[i];

        if (!in_term(b, l))
            s.rows[s.nr++] = l;
        else if (keep[l])
            s.batch[s.nb++] = l;
        else
            s.inner[s.nk++] = l;
    }
    for (uint32_t i = 0; i < b->n; i++)
        if (!in_term(a, b->axis[i]))
            s.cols[s.nc++] = b->axis[i];
    return s;
}

static uint32_t put(uint8_t *to, uint32_t at, const uint8_t *from, uint32_t n)
{
    memcpy(to + at, from, n);
    return at + n;
}

static dim product(const einsum *e, const uint8_t *letters, uint32_t n)
{
    dim d = 1;

    for (uint32_t i = 0; i < n; i++)
        d = dim_mul(e->f->m, d, e->size[letters[i]]);
    return d;
}

/* The operand's own size: an axis of the ellipsis may still broadcast. */
static dim own_dim(const einsum *e, const term *t, uint8_t letter)
{
    const uint8_t *p = memchr(t->axis, letter, t->n);

    return p ? dim_at(e, t, (uint32_t)(p - t->axis)) : 1;
}

/* [batch, rows, 1 ..] times [batch, 1 .., columns]. */
static val multiply(einsum *e, const groups *s, const term *a, const term *b)
{
    dim da[HULL_MAX_RANK], db[HULL_MAX_RANK];
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->nb; i++, n++) {
        da[n] = own_dim(e, a, s->batch[i]);
        db[n] = own_dim(e, b, s->batch[i]);
    }
    for (uint32_t i = 0; i < s->nr; i++, n++) {
        da[n] = e->size[s->rows[i]];
        db[n] = 1;
    }
    uint32_t na = n;
    for (uint32_t i = 0; i < s->nc; i++, n++)
        db[n] = e->size[s->cols[i]];
    for (uint32_t i = na; i < n; i++)
        da[i] = 1;
    val x = s->nc ? op_reshape(e->f->g, a->v, da, n) : a->v;
    val y = s->nr ? op_reshape(e->f->g, b->v, db, n) : b->v;
    return op_binary(e->f->g, OP_mul, x, y);
}

/* [batch, rows, inner] x [batch, inner, columns], then one axis a letter. */
static val contract(einsum *e, const groups *s, const term *a, const term *b,
                    const term *result)
{
    dim da[HULL_MAX_RANK], db[HULL_MAX_RANK], d[HULL_MAX_RANK];
    uint32_t nb = s->nb;
    bool plain = s->nr == 1 && s->nc == 1 && s->nk == 1;

    for (uint32_t i = 0; i < result->n; i++)
        d[i] = e->size[result->axis[i]];
    if (plain)
        return op_binary(e->f->g, OP_matmul, a->v, b->v);
    if (nb + 2 > HULL_MAX_RANK) {
        da[0] = db[0] = product(e, s->batch, nb);
        nb = 1;
    } else {
        for (uint32_t i = 0; i < nb; i++) {
            da[i] = own_dim(e, a, s->batch[i]);
            db[i] = own_dim(e, b, s->batch[i]);
        }
    }
    da[nb] = product(e, s->rows, s->nr);
    da[nb + 1] = db[nb] = product(e, s->inner, s->nk);
    db[nb + 1] = product(e, s->cols, s->nc);
    val y = op_binary(e->f->g, OP_matmul,
                      op_reshape(e->f->g, a->v, da, nb + 2),
                      op_reshape(e->f->g, b->v, db, nb + 2));
    return op_reshape(e->f->g, y, d, result->n);
}

/* Both operands in one; only the letters to keep are left. */
static hull_status join(einsum *e, term *a, term *b, const bool *keep)
{
    groups s = group_letters(a, b, keep);
    uint8_t order[2 * HULL_MAX_RANK];
    term out = {.n = s.nb + s.nr + s.nc};
    uint32_t n = 0;

    if (out.n > HULL_MAX_RANK)
        return fail(HULL_EUNSUPPORTED, "equation needs more than %d axes",
                    HULL_MAX_RANK);
    n = put(order, put(order, 0, s.batch, s.nb), s.rows, s.nr);
    put(order, n, s.inner, s.nk);
    reorder(e, a, order);
    n = put(order, put(order, 0, s.batch, s.nb), s.inner, s.nk);
    put(order, n, s.cols, s.nc);
    reorder(e, b, order);
    n = put(out.axis, put(out.axis, 0, s.batch, s.nb), s.rows, s.nr);
    put(out.axis, n, s.cols, s.nc);
    out.v = s.nk == 0 ? multiply(e, &s, a, b)
                      : contract(e, &s, a, b, &out);
    *a = out;
    return ir_status(e->f->m);
}

/* Letters of the result and of the operands from `from` on. */
static void needed(const einsum *e, uint32_t from, bool *keep)
{
    memset(keep, 0, LETTERS * sizeof *keep);
    for (uint32_t k = 0; k < e->out.n; k++)
        keep[e->out.axis[k]] = true;
    for (uint32_t i = from; i < e->n_in; i++)
        for (uint32_t k = 0; k < e->in[i].n; k++)
            keep[e->in[i].axis[k]] = true;
}

static hull_status run(einsum *e, val *out)
{
    bool keep[LETTERS], own[LETTERS];
    term acc;

    for (uint32_t i = 0; i < e->n_in; i++)
        simplify(e, &e->in[i]);
    acc = e->in[0];
    for (uint32_t i = 1; i < e->n_in; i++) {
        term *t = &e->in[i];

        needed(e, i, keep);
        sum_out(e, &acc, keep);
        needed(e, i + 1, keep);
        memcpy(own, keep, sizeof own);
        for (uint32_t k = 0; k < acc.n; k++)
            own[acc.axis[k]] = true;
        sum_out(e, t, own);
        TRY(ir_status(e->f->m));
        TRY(join(e, &acc, t, keep));
    }
    needed(e, e->n_in, keep);
    sum_out(e, &acc, keep);
    reorder(e, &acc, e->out.axis);
    *out = acc.v;
    return ir_status(e->f->m);
}

hull_status lower_einsum(front *f, str equation, const val *in, uint32_t n,
                         val *out)
{
    einsum *e = arena_alloc(&f->a, sizeof *e);

    *out = 0;
    if (!e)
        return fail_oom(sizeof *e);
    if (n == 0 || n > OPERANDS_MAX)
        return fail(HULL_EUNSUPPORTED, "%" PRIu32 " operands, want 1 to %d", n,
                    OPERANDS_MAX);
    memset(e, 0, sizeof *e);
    e->f = f;
    e->n_in = n;
    for (uint32_t i = 0; i < n; i++)
        e->in[i].v = in[i];
    TRY(read_equation(e, equation));
    return run(e, out);
}
