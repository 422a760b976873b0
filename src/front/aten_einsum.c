/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * aten_einsum.c - lowering of einsum: operands are joined from left to right,
 * each pair by one batched matrix product between transposes and reshapes.
 * Axes are letters; a letter that is repeated within one operand, and the
 * ellipsis, have no lowering.
 */
#include "front/aten.h"

#include <string.h>

/* A tensor whose axes have letters. */
typedef struct named {
    val v;
    char axis[HULL_MAX_RANK];
    uint32_t n;
} named;

static bool holds(const char *letters, uint32_t n, char ch)
{
    return n > 0 && memchr(letters, ch, n) != NULL;
}

/* Reads one term; false when it has no lowering. */
static bool read_term(str text, named *t)
{
    t->n = 0;
    for (size_t i = 0; i < text.n; i++) {
        char ch = text.p[i];

        if (ch == ' ')
            continue;
        if (!((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z')) ||
            t->n == HULL_MAX_RANK || holds(t->axis, t->n, ch))
            return false;
        t->axis[t->n++] = ch;
    }
    return true;
}

/* Without "->": letters that occur once, in alphabetical order. */
static void implicit_out(str terms, named *out)
{
    for (int ch = 'A'; ch <= 'z'; ch++) {
        uint32_t count = 0;

        for (size_t i = 0; i < terms.n; i++)
            count += terms.p[i] == (char)ch;
        if (count == 1 && out->n < HULL_MAX_RANK)
            out->axis[out->n++] = (char)ch;
    }
}

static dim size_of(aten_call *c, const named *t, char ch)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (t->axis[i] == ch)
            return call_dims(c, t->v)[i];
    return 1;
}

/* Sums the axes that nothing needs any more. */
static void sum_out(aten_call *c, named *t, const char *keep, uint32_t n_keep)
{
    int64_t axes[HULL_MAX_RANK];
    uint32_t n = 0, left = 0;

    for (uint32_t i = 0; i < t->n; i++) {
        if (holds(keep, n_keep, t->axis[i]))
            t->axis[left++] = t->axis[i];
        else
            axes[n++] = i;
    }
    t->n = left;
    if (n)
        t->v = aten_reduce(c, OP_reduce_sum, t->v, axes, n, false);
}

static void reorder(aten_call *c, named *t, const char *order, uint32_t n)
{
    int64_t perm[HULL_MAX_RANK];
    bool same = true;

    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < t->n; k++)
            if (t->axis[k] == order[i]) {
                perm[i] = k;
                same &= k == i;
            }
    if (!same)
        t->v = op_transpose(c->g, t->v, perm, n);
    memmove(t->axis, order, n);
}

/* Letters of `from`, in order, that are (not) in `other` and (not) kept. */
static uint32_t pick(const named *from, const named *other, bool in_other,
                     const char *keep, uint32_t n_keep, bool kept, char *out)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < from->n; i++)
        if (holds(other->axis, other->n, from->axis[i]) == in_other &&
            (!in_other || holds(keep, n_keep, from->axis[i]) == kept))
            out[n++] = from->axis[i];
    return n;
}

/* [batch, rows, inner] x [batch, inner, columns]; the groups of letters. */
static named join(aten_call *c, named a, named b, const char *keep,
                  uint32_t n_keep)
{
    char order[4 * HULL_MAX_RANK], rows[HULL_MAX_RANK], cols[HULL_MAX_RANK];
    char batch[HULL_MAX_RANK], inner[HULL_MAX_RANK];
    uint32_t nb = pick(&a, &b, true, keep, n_keep, true, batch);
    uint32_t nk = pick(&a, &b, true, keep, n_keep, false, inner);
    uint32_t nr = pick(&a, &b, false, keep, n_keep, true, rows);
    uint32_t nc = pick(&b, &a, false, keep, n_keep, true, cols);
    dim da[HULL_MAX_RANK + 2], db[HULL_MAX_RANK + 2], d[2 * HULL_MAX_RANK];
    dim m = 1, k = 1, n = 1;
    named out = {0};

    if (nb + 2 > HULL_MAX_RANK || nb + nr + nc > HULL_MAX_RANK) {
        call_fail(c, HULL_EUNSUPPORTED, "the rank becomes too large");
        return out;
    }
    for (uint32_t i = 0; i < nb; i++) {
        da[i] = size_of(c, &a, batch[i]);
        db[i] = size_of(c, &b, batch[i]);
        d[out.n] = da[i] == 1 ? db[i] : da[i];
        out.axis[out.n++] = batch[i];
    }
    for (uint32_t i = 0; i < nr; i++) {
        d[out.n] = size_of(c, &a, rows[i]);
        m = dim_mul(c->m, m, d[out.n]);
        out.axis[out.n++] = rows[i];
    }
    for (uint32_t i = 0; i < nc; i++) {
        d[out.n] = size_of(c, &b, cols[i]);
        n = dim_mul(c->m, n, d[out.n]);
        out.axis[out.n++] = cols[i];
    }
    for (uint32_t i = 0; i < nk; i++)
        k = dim_mul(c->m, k, size_of(c, &a, inner[i]));
    memcpy(order, batch, nb);
    memcpy(order + nb, rows, nr);
    memcpy(order + nb + nr, inner, nk);
    reorder(c, &a, order, a.n);
    memcpy(order + nb, inner, nk);
    memcpy(order + nb + nk, cols, nc);
    reorder(c, &b, order, b.n);
    da[nb] = m;
    da[nb + 1] = db[nb] = k;
    db[nb + 1] = n;
    val y = aten_matmul(c, op_reshape(c->g, a.v, da, nb + 2),
                        op_reshape(c->g, b.v, db, nb + 2), 0);
    out.v = op_reshape(c->g, y, d, out.n);
    return out;
}

/* Letters of the result and of the terms from `text` on. */
static uint32_t needed(const named *out, str text, char *keep)
{
    uint32_t n = out->n;

    memcpy(keep, out->axis, n);
    for (size_t i = 0; i < text.n && n < 64; i++)
        if (text.p[i] != ',' && text.p[i] != ' ' && !holds(keep, n, text.p[i]))
            keep[n++] = text.p[i];
    return n;
}

static bool next_operand(aten_call *c, str *terms, uint32_t i, named *t)
{
    const aten_value *list = &c->args[1];

    if (i >= list->n || !read_term(str_split(*terms, ',', terms), t)) {
        call_missing(c, "this equation");
        return false;
    }
    t->v = list->vals[i];
    if (call_rank(c, t->v) != t->n)
        call_fail(c, HULL_EFORMAT, "a term does not fit its operand");
    return c->st == HULL_OK;
}

/* (equation, tensors, path) */
void aten_einsum(aten_call *c)
{
    str equation = arg_str(c, 0), rest, terms = str_split(equation, '-', &rest);
    char keep[80], own[80 + HULL_MAX_RANK];
    named acc, out = {0}, t;

    if (c->args[1].kind != ATEN_TENSORS || c->args[1].n == 0)
        call_fail(c, HULL_EFORMAT, "no operands");
    if (c->st != HULL_OK)
        return;
    if (terms.n == equation.n) {
        implicit_out(terms, &out);
    } else if (rest.n == 0 || rest.p[0] != '>' ||
               !read_term((str){rest.p + 1, rest.n - 1}, &out)) {
        call_missing(c, "this equation");
        return;
    }
    if (!next_operand(c, &terms, 0, &acc))
        return;
    for (uint32_t i = 1; i < c->args[1].n; i++) {
        uint32_t n = needed(&out, terms, keep);

        sum_out(c, &acc, keep, n);
        if (!next_operand(c, &terms, i, &t))
            return;
        n = needed(&out, terms, keep);
        memcpy(own, keep, n); /* what t's axes are for: also the product */
        memcpy(own + n, acc.axis, acc.n);
        sum_out(c, &t, own, n + acc.n);
        acc = join(c, acc, t, keep, n);
        if (c->st != HULL_OK)
            return;
    }
    sum_out(c, &acc, out.axis, out.n);
    if (acc.n != out.n) {
        call_missing(c, "this equation");
        return;
    }
    reorder(c, &acc, out.axis, out.n);
    ret(c, acc.v);
}
