/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * parse_type.c - dims and types:
 *   type    := ('sequence' | 'optional') '(' type ')'
 *            | dtype '[' [dim (',' dim)*] ']' | dtype '[' '*' ']'
 *   dim     := product (('+' | '-') product)*
 *   product := unary (('*' | '/' | '%') unary)*
 *   unary   := '-' unary | int | ident | string | '?' | '(' dim ')'
 *            | ('min' | 'max' | 'bcast') '(' dim ',' dim ')'
 * An identifier or string is a symbol. '/' is floor division.
 */
#include "ir/lex.h"

static hull_status dim_at(lexer *x, dim *out, uint32_t depth);

static hull_status dim_pair(lexer *x, dim *a, dim *b, uint32_t depth)
{
    TRY(lex_skip(x, '('));
    TRY(dim_at(x, a, depth + 1));
    TRY(lex_skip(x, ','));
    TRY(dim_at(x, b, depth + 1));
    return lex_skip(x, ')');
}

static hull_status dim_word(lexer *x, dim *out, uint32_t depth)
{
    str name = x->tok.text;
    bool is_word = x->tok.kind == TOK_IDENT;
    dim a, b;

    TRY(lex_next(x));
    if (!is_word || !lex_is(x, '(')) {
        *out = dim_sym(x->m, name);
        return HULL_OK;
    }
    if (!str_is(name, "min") && !str_is(name, "max") && !str_is(name, "bcast"))
        return lex_wanted(x, "an operator (functions are min, max, bcast)");
    TRY(dim_pair(x, &a, &b, depth));
    *out = str_is(name, "min")   ? dim_min(x->m, a, b)
           : str_is(name, "max") ? dim_max(x->m, a, b)
                                 : dim_bcast(x->m, a, b);
    return HULL_OK;
}

static hull_status dim_unary(lexer *x, dim *out, uint32_t depth)
{
    int64_t v;

    if (depth > IR_MAX_DEPTH)
        return lex_fail(x, "size nests more than %d deep", IR_MAX_DEPTH);
    if (x->tok.kind == TOK_INT) {
        TRY(lex_i64(x, &v));
        *out = dim_int(x->m, v);
        return HULL_OK;
    }
    if (x->tok.kind == TOK_IDENT || x->tok.kind == TOK_STRING)
        return dim_word(x, out, depth);
    if (lex_is(x, '?')) {
        *out = DIM_UNKNOWN;
        return lex_next(x);
    }
    if (lex_is(x, '(')) {
        TRY(lex_next(x));
        TRY(dim_at(x, out, depth + 1));
        return lex_skip(x, ')');
    }
    if (!lex_is(x, '-'))
        return lex_wanted(x, "a size");
    TRY(lex_next(x));
    if (x->tok.kind == TOK_INT && str_is(x->tok.text, "9223372036854775808")) {
        *out = dim_int(x->m, INT64_MIN);
        return lex_next(x);
    }
    TRY(dim_unary(x, out, depth + 1));
    *out = dim_sub(x->m, 0, *out);
    return HULL_OK;
}

static hull_status dim_product_at(lexer *x, dim *out, uint32_t depth)
{
    dim b;

    TRY(dim_unary(x, out, depth));
    while (lex_is(x, '*') || lex_is(x, '/') || lex_is(x, '%')) {
        char op = x->tok.c;

        TRY(lex_next(x));
        TRY(dim_unary(x, &b, depth));
        *out = op == '*'   ? dim_mul(x->m, *out, b)
               : op == '/' ? dim_div(x->m, *out, b)
                           : dim_mod(x->m, *out, b);
    }
    return HULL_OK;
}

static hull_status dim_at(lexer *x, dim *out, uint32_t depth)
{
    dim b;

    *out = DIM_UNKNOWN;
    TRY(dim_product_at(x, out, depth));
    while (lex_is(x, '+') || lex_is(x, '-')) {
        char op = x->tok.c;

        TRY(lex_next(x));
        if (op == '-' && x->tok.kind == TOK_INT &&
            str_is(x->tok.text, "9223372036854775808")) {
            *out = dim_add(x->m, *out, dim_int(x->m, INT64_MIN));
            TRY(lex_next(x));
            continue;
        }
        TRY(dim_product_at(x, &b, depth));
        *out = op == '+' ? dim_add(x->m, *out, b) : dim_sub(x->m, *out, b);
    }
    return ir_status(x->m);
}

hull_status parse_dim(lexer *x, dim *out)
{
    return dim_at(x, out, 0);
}

static hull_status tensor_type(lexer *x, type *out)
{
    dim dims[HULL_MAX_RANK];
    uint32_t rank = 0;
    hull_dtype dt = HULL_NONE;
    bool more;

    if (x->tok.kind == TOK_IDENT)
        dt = dtype_from_name(x->tok.text);
    if (dt == HULL_NONE)
        return lex_wanted(x, "a type");
    TRY(lex_next(x));
    TRY(lex_skip(x, '['));
    if (lex_is(x, '*')) {
        TRY(lex_next(x));
        *out = type_unranked(dt);
        return lex_skip(x, ']');
    }
    for (more = !lex_is(x, ']'); more; rank++) {
        if (rank == HULL_MAX_RANK)
            return lex_fail(x, "rank is more than %d", HULL_MAX_RANK);
        TRY(parse_dim(x, &dims[rank]));
        TRY(lex_try(x, ',', &more));
    }
    TRY(lex_skip(x, ']'));
    *out = type_tensor(x->m, dt, dims, rank);
    return ir_status(x->m);
}

hull_status parse_type(lexer *x, type *out)
{
    bool sequence[IR_MAX_DEPTH];
    uint32_t depth = 0;

    *out = (type){ .kind = TYPE_NONE };
    while (lex_is_word(x, "sequence") || lex_is_word(x, "optional")) {
        if (depth + 1 >= IR_MAX_DEPTH)
            return lex_fail(x, "type nests more than %d deep", IR_MAX_DEPTH);
        sequence[depth++] = lex_is_word(x, "sequence");
        TRY(lex_next(x));
        TRY(lex_skip(x, '('));
    }
    if (lex_is_word(x, "none"))
        TRY(lex_next(x));
    else
        TRY(tensor_type(x, out));
    while (depth-- > 0) {
        *out = sequence[depth] ? type_sequence(x->m, out)
                               : type_optional(x->m, out);
        TRY(lex_skip(x, ')'));
    }
    return ir_status(x->m);
}
