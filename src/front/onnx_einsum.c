/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_einsum.c - Einsum of one or two operands, letters without repeats in
 * one operand: transposes and reshapes around one batched matrix product.
 * Letters are axes; ellipses stand for leading axes and get letters as well.
 */
#include "front/onnx_lower.h"

#include <inttypes.h>
#include <string.h>

#define LETTERS 128

/* One operand or the result: its axes as letters. */
typedef struct term {
    uint8_t axis[HULL_MAX_RANK];
    uint32_t n;
} term;

typedef struct einsum {
    term in[2], out;
    uint32_t n_in, n_dots;   /* axes that the ellipsis stands for */
    bool explicit_out;
    dim size[LETTERS];
    bool has[LETTERS];
} einsum;

/* Letters of a text; '.' letters are 1 .. n_dots. */
static hull_status read_term(str text, uint32_t n_dots, term *t)
{
    t->n = 0;
    for (size_t i = 0; i < text.n; i++) {
        char ch = text.p[i];
        bool dots = ch == '.';

        if (ch == ' ')
            continue;
        if (dots && (text.n - i < 3 || text.p[i + 1] != '.' ||
                     text.p[i + 2] != '.'))
            return fail(HULL_EFORMAT, "equation has a lone dot");
        if (!dots && !((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z')))
            return fail(HULL_EFORMAT, "equation has the character '%c'", ch);
        for (uint32_t k = 0; k < (dots ? n_dots : 1); k++) {
            if (t->n == HULL_MAX_RANK)
                return fail(HULL_EFORMAT, "equation has too many axes");
            t->axis[t->n++] = dots ? (uint8_t)(k + 1) : (uint8_t)ch;
        }
        i += dots ? 2 : 0;
    }
    for (uint32_t i = 0; i < t->n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (t->axis[i] == t->axis[k])
                return fail(HULL_EUNSUPPORTED,
                            "equation repeats a letter in one term");
    return HULL_OK;
}

static bool holds(const term *t, uint8_t letter)
{
    return memchr(t->axis, letter, t->n) != NULL;
}

/* Without "->": letters that occur once, sorted, after the ellipsis. */
static void implicit_out(einsum *e)
{
    for (uint32_t l = 1; l < LETTERS; l++) {
        uint32_t count = 0;

        for (uint32_t i = 0; i < e->n_in; i++)
            count += holds(&e->in[i], (uint8_t)l);
        if (count > 0 && (l <= e->n_dots || count == 1) &&
            e->out.n < HULL_MAX_RANK)
            e->out.axis[e->out.n++] = (uint8_t)l;
    }
}

static hull_status bind_sizes(onnx_call *c, einsum *e)
{
    for (uint32_t i = 0; i < e->n_in; i++) {
        const type *t = onnx_type(c, c->in[i]);

        if (!t || t->rank != e->in[i].n)
            return fail(HULL_ESHAPE, "operand %" PRIu32 " has rank %" PRIu32
                        ", its term has %" PRIu32, i, t ? t->rank : 0,
                        e->in[i].n);
        for (uint32_t k = 0; k < t->rank; k++) {
            uint8_t l = e->in[i].axis[k];
            int64_t a = 0, b = 0;

            if (e->has[l] && dim_is_int(c->m, e->size[l], &a) &&
                dim_is_int(c->m, t->dims[k], &b) && a != b)
                return fail(HULL_EUNSUPPORTED, "one letter has the sizes "
                            "%" PRId64 " and %" PRId64, a, b);
            e->size[l] = t->dims[k];
            e->has[l] = true;
        }
    }
    for (uint32_t k = 0; k < e->out.n; k++)
        if (!e->has[e->out.axis[k]])
            return fail(HULL_EFORMAT, "the result has a letter that no "
                        "operand has");
    return HULL_OK;
}

static hull_status parse(onnx_call *c, einsum *e)
{
    str rest = onnx_str(c, "equation", ""), terms = rest, out = {"", 0};
    bool dots = str_contains(rest, ".");
    size_t arrow = 0;

    memset(e, 0, sizeof *e);
    while (arrow + 1 < rest.n &&
           !(rest.p[arrow] == '-' && rest.p[arrow + 1] == '>'))
        arrow++;
    if (arrow + 1 < rest.n) {
        e->explicit_out = true;
        terms.n = arrow;
        out = (str){rest.p + arrow + 2, rest.n - arrow - 2};
    }
    if (c->n_in > 2)
        return fail(HULL_EUNSUPPORTED, "%" PRIu32 " operands, at most 2",
                    c->n_in);
    for (; e->n_in < c->n_in; e->n_in++) {
        const type *t = onnx_type(c, c->in[e->n_in]);
        str text = str_split(terms, ',', &terms);
        term plain;

        TRY(read_term(text, 0, &plain));
        if (dots && str_contains(text, ".")) {
            uint32_t n = t && t->rank >= plain.n ? t->rank - plain.n : 0;

            if (e->n_in == 1 && str_contains(onnx_str(c, "equation", ""),
                                             "...,") && n != e->n_dots)
                return fail(HULL_EUNSUPPORTED, "ellipses of two ranks");
            e->n_dots = n;
        }
        TRY(read_term(text, e->n_dots, &e->in[e->n_in]));
    }
    if (terms.n > 0)
        return fail(HULL_EFORMAT, "equation has more terms than operands");
    if (e->explicit_out)
        TRY(read_term(out, e->n_dots, &e->out));
    else
        implicit_out(e);
    return bind_sizes(c, e);
}

/* Sums the letters of operand i that nothing else has. */
static val sum_alone(onnx_call *c, const einsum *e, uint32_t i, term *left)
{
    int64_t axes[HULL_MAX_RANK];
    uint32_t n = 0;
    const term *t = &e->in[i];

    left->n = 0;
    for (uint32_t k = 0; k < t->n; k++) {
        bool other = e->n_in == 2 && holds(&e->in[1 - i], t->axis[k]);

        if (other || holds(&e->out, t->axis[k]))
            left->axis[left->n++] = t->axis[k];
        else
            axes[n++] = k;
    }
    return n ? onnx_reduce(c, OP_reduce_sum, c->in[i], axes, n, false)
             : c->in[i];
}

/* x with axes `from`, transposed to the order `to`. */
static val order(onnx_call *c, val x, const term *from, const term *to)
{
    int64_t perm[HULL_MAX_RANK];
    bool same = true;

    for (uint32_t k = 0; k < to->n; k++) {
        const uint8_t *p = memchr(from->axis, to->axis[k], from->n);

        perm[k] = p ? p - from->axis : 0;
        same = same && perm[k] == k;
    }
    return same ? x : op_transpose(c->g, x, perm, to->n);
}

static void add_letters(term *t, const term *from, const term *with,
                        bool in_with, const term *out, bool in_out)
{
    for (uint32_t k = 0; k < from->n; k++)
        if (holds(with, from->axis[k]) == in_with &&
            holds(out, from->axis[k]) == in_out)
            t->axis[t->n++] = from->axis[k];
}

static dim sizes(onnx_call *c, const einsum *e, const term *t)
{
    dim d = 1;

    for (uint32_t k = 0; k < t->n; k++)
        d = dim_mul(c->m, d, e->size[t->axis[k]]);
    return d;
}

static void append(term *t, const term *more)
{
    memcpy(t->axis + t->n, more->axis, more->n);
    t->n += more->n;
}

/* batch x rows x sum times batch x sum x columns. */
static hull_status product(onnx_call *c, const einsum *e)
{
    term a, b, batch = {.n = 0}, rows = {.n = 0}, cols = {.n = 0};
    term sum = {.n = 0}, left, right, result;
    val x = sum_alone(c, e, 0, &a), y = sum_alone(c, e, 1, &b);
    dim d[3], out[HULL_MAX_RANK];

    add_letters(&batch, &a, &b, true, &e->out, true);
    add_letters(&rows, &a, &b, false, &e->out, true);
    add_letters(&cols, &b, &a, false, &e->out, true);
    add_letters(&sum, &a, &b, true, &e->out, false);
    if (batch.n + rows.n + cols.n > HULL_MAX_RANK)
        return fail(HULL_EUNSUPPORTED, "equation has too many axes");
    left = right = result = batch;
    append(&left, &rows);
    append(&left, &sum);
    append(&right, &sum);
    append(&right, &cols);
    append(&result, &rows);
    append(&result, &cols);
    d[0] = sizes(c, e, &batch);
    d[1] = sizes(c, e, &rows);
    d[2] = sizes(c, e, &sum);
    x = op_reshape(c->g, order(c, x, &a, &left), d, 3);
    d[1] = d[2];
    d[2] = sizes(c, e, &cols);
    y = op_reshape(c->g, order(c, y, &b, &right), d, 3);
    for (uint32_t k = 0; k < result.n; k++)
        out[k] = e->size[result.axis[k]];
    val z = op_reshape(c->g, op_binary(c->g, OP_matmul, x, y), out, result.n);
    c->out[0] = order(c, z, &result, &e->out);
    return HULL_OK;
}

hull_status onnx_einsum(onnx_call *c)
{
    einsum e;
    term left;

    for (uint32_t i = 0; i < c->n_in; i++) {
        const type *t = onnx_type(c, c->in[i]);

        if (!t)
            return fail(HULL_EFORMAT, "input %" PRIu32 " is missing", i);
        if (t->rank >= 2)
            front_is_parameter(c->f, c->in[i]);
    }
    TRY(parse(c, &e));
    if (e.n_in == 2)
        return product(c, &e);
    val x = sum_alone(c, &e, 0, &left);
    c->out[0] = order(c, x, &left, &e.out);
    return HULL_OK;
}
