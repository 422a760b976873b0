/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * parse_attr.c - attributes and literals:
 *   attrs   := '{' [ident '=' value (',' ident '=' value)*] '}'
 *   value   := what the op's schema says: int, float, bool, string, dtype,
 *              dim, a list of one of them, a tensor, a graph
 *   tensor  := [type] (digest | element | '[' [element (',' element)*] ']')
 *   element := ['-'] (int | float | 'inf' | 'nan' ['(' hex ')'])
 *            | 'true' | 'false'
 * A tensor without a type of its own has the type of the node's first result,
 * which stands behind the attributes; so its elements are kept as tokens.
 */
#include "ir/lex.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MAX_LIST (1u << 20)

/* ---- scalars ------------------------------------------------------------- */

static hull_status hex_bits(lexer *x, uint64_t *out)
{
    str t = x->tok.text;

    *out = 0;
    if (x->tok.kind != TOK_HEX || t.n < 3 || t.n > 18)
        return lex_wanted(x, "the bits of a NaN (0x...)");
    for (size_t i = 2; i < t.n; i++) {
        char c = t.p[i];
        unsigned v =
            c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 32) - 'a') + 10;

        *out = *out << 4 | v;
    }
    return lex_next(x);
}

static hull_status parse_element(lexer *x, element *e)
{
    bool named;

    *e = (element){ 0 };
    TRY(lex_try(x, '-', &e->negative));
    e->tok = x->tok;
    named =
        lex_is_word(x, "inf") || lex_is_word(x, "nan") ||
        (!e->negative && (lex_is_word(x, "true") || lex_is_word(x, "false")));
    if (!named && x->tok.kind != TOK_INT && x->tok.kind != TOK_FLOAT)
        return lex_wanted(x, "a number");
    TRY(lex_next(x));
    if (!str_is(e->tok.text, "nan") || !lex_is(x, '('))
        return HULL_OK;
    if (e->negative)
        return lex_fail(x, "the bits of a NaN hold its sign");
    TRY(lex_next(x));
    TRY(hex_bits(x, &e->nan));
    e->has_nan = true;
    return lex_skip(x, ')');
}

/* Puts the error at the element. */
static hull_status element_fail(const element *e, hull_dtype dt)
{
    return fail(HULL_EFORMAT, "line %u column %u: '%s%.*s' is no %s value",
                e->tok.line, e->tok.column, e->negative ? "-" : "",
                STR_ARG(e->tok.text), hull_dtype_name(dt));
}

static hull_status put_nan(const element *e, hull_dtype dt, void *data,
                           uint64_t i)
{
    uint32_t bits = hull_dtype_bits(dt);
    uint8_t *b = data;
    uint64_t room = e->nan;

    if (bits < 64 && e->nan >> bits != 0)
        return element_fail(e, dt);
    if (!isnan(load_f64(dt, &room, 0)))
        return element_fail(e, dt);
    memcpy(b + i * (bits / 8), &room, bits / 8); /* no 4-bit NaN exists */
    return HULL_OK;
}

static hull_status put_float(const element *e, hull_dtype dt, void *data,
                             uint64_t i)
{
    double v;

    if (e->has_nan)
        return put_nan(e, dt, data, i);
    if (!str_to_f64(&v, e->tok.text))
        return element_fail(e, dt);
    if (e->negative)
        v = -v;
    store_f64(dt, data, i, v);
    if (isinf(load_f64(dt, data, i)) != isinf(v) ||
        isnan(load_f64(dt, data, i)) != isnan(v))
        return element_fail(e, dt);
    return HULL_OK;
}

static hull_status put_int(const element *e, hull_dtype dt, void *data,
                           uint64_t i)
{
    uint64_t u;
    int64_t v;

    if (e->tok.kind != TOK_INT || !str_to_u64(&u, e->tok.text))
        return element_fail(e, dt);
    if (u > (uint64_t)INT64_MAX + e->negative &&
        (e->negative || dt != HULL_U64))
        return element_fail(e, dt);
    v = e->negative ? (int64_t)(0 - u) : (int64_t)u;
    store_i64(dt, data, i, v);
    if (load_i64(dt, data, i) != v || (dt == HULL_U64 && e->negative && u != 0))
        return element_fail(e, dt);
    return HULL_OK;
}

static hull_status put_element(const element *e, hull_dtype dt, void *data,
                               uint64_t i)
{
    bool is_true = str_is(e->tok.text, "true");
    bool is_bool = is_true || str_is(e->tok.text, "false");

    if (is_bool != (dt == HULL_BOOL))
        return element_fail(e, dt);
    if (is_bool)
        store_i64(dt, data, i, is_true);
    else if (dtype_is_float(dt))
        return put_float(e, dt, data, i);
    else
        return put_int(e, dt, data, i);
    return HULL_OK;
}

static hull_status parse_float(lexer *x, double *out)
{
    element e;

    *out = 0.0;
    TRY(parse_element(x, &e));
    return put_element(&e, HULL_F64, out, 0);
}

static hull_status parse_bool(lexer *x, bool *out)
{
    *out = lex_is_word(x, "true");
    if (!*out && !lex_is_word(x, "false"))
        return lex_wanted(x, "true or false");
    return lex_next(x);
}

static hull_status parse_dtype(lexer *x, hull_dtype *out)
{
    *out = x->tok.kind == TOK_IDENT ? dtype_from_name(x->tok.text) : HULL_NONE;
    if (*out == HULL_NONE)
        return lex_wanted(x, "an element type");
    return lex_next(x);
}

/* ---- lists --------------------------------------------------------------- */

typedef struct items {
    void *p;
    size_t n, cap;
} items;

static hull_status parse_item(lexer *x, attr_kind kind, items *l)
{
    if (kind == ATTR_INTS)
        return lex_i64(x, (int64_t *)l->p + l->n);
    if (kind == ATTR_FLOATS)
        return parse_float(x, (double *)l->p + l->n);
    if (kind == ATTR_STRS)
        return lex_string(x, (str *)l->p + l->n);
    return parse_dim(x, (dim *)l->p + l->n);
}

static hull_status parse_items(lexer *x, attr_kind kind, items *l)
{
    size_t size = kind == ATTR_STRS ? sizeof(str) : sizeof(int64_t);
    bool more;

    TRY(lex_skip(x, '['));
    for (more = !lex_is(x, ']'); more; l->n++) {
        if (l->n == MAX_LIST)
            return lex_fail(x, "list is longer than %u", MAX_LIST);
        TRY(mem_grow(&l->p, &l->cap, l->n + 1, size));
        TRY(parse_item(x, kind, l));
        TRY(lex_try(x, ',', &more));
    }
    return lex_skip(x, ']');
}

static hull_status parse_list(parser *p, node *n, const char *name,
                              attr_kind kind)
{
    items l = { 0 };
    hull_status st = parse_items(&p->x, kind, &l);
    uint32_t count = (uint32_t)l.n;

    if (st == HULL_OK && kind == ATTR_INTS)
        node_ints(p->g, n, name, l.p, count);
    else if (st == HULL_OK && kind == ATTR_FLOATS)
        node_floats(p->g, n, name, l.p, count);
    else if (st == HULL_OK && kind == ATTR_DIMS)
        node_dims(p->g, n, name, l.p, count);
    else if (st == HULL_OK)
        node_strs(p->g, n, name, l.p, count);
    mem_free(l.p);
    return st;
}

/* ---- tensors ------------------------------------------------------------- */

static hull_status parse_elements(lexer *x, raw_literal *l)
{
    bool more;

    l->list = lex_is(x, '[');
    if (!l->list) {
        TRY(mem_grow(&l->p, &l->cap, 1, sizeof(*l->p)));
        l->n = 1;
        return parse_element(x, &l->p[0]);
    }
    TRY(lex_next(x));
    for (more = !lex_is(x, ']'); more; l->n++) {
        if (l->n == MAX_LIST)
            return lex_fail(x, "literal is longer than %u", MAX_LIST);
        TRY(mem_grow(&l->p, &l->cap, (size_t)l->n + 1, sizeof(*l->p)));
        TRY(parse_element(x, &l->p[l->n]));
        TRY(lex_try(x, ',', &more));
    }
    return lex_skip(x, ']');
}

static hull_status parse_tensor(parser *p, const char *name)
{
    raw_literal *l = &p->lit;
    lexer *x = &p->x;

    if (l->present)
        return lex_fail(x, "a node has one literal");
    l->present = true;
    l->attr = name;
    l->at = x->tok;
    if (x->tok.kind == TOK_IDENT && dtype_from_name(x->tok.text) != HULL_NONE) {
        l->has_type = true;
        TRY(parse_type(x, &l->type));
    }
    if (x->tok.kind != TOK_DIGEST)
        return parse_elements(x, l);
    if (!digest_from_hex(&l->digest, x->tok.text))
        return lex_wanted(x, "a digest of 64 digits");
    l->has_digest = true;
    return lex_next(x);
}

static hull_status literal_fail(const raw_literal *l, const char *text)
{
    return fail(HULL_EFORMAT, "line %u column %u: literal %s", l->at.line,
                l->at.column, text);
}

static hull_status use_pinned(parser *p, node *n, const type *t)
{
    const raw_literal *l = &p->lit;
    const literal *found = ir_pinned(p->m, &l->digest);
    bool same;

    if (found == NULL && p->pins != NULL)
        found = ir_pinned(p->pins, &l->digest);
    if (found == NULL)
        return literal_fail(l, "with that digest is not at hand");
    same = found->dtype == t->dtype && found->rank == t->rank;
    for (uint32_t i = 0; same && i < t->rank; i++)
        same = found->shape[i] == t->dims[i];
    if (!same)
        return literal_fail(l, "with that digest has another type");
    node_literal(p->g, n, l->attr, found->dtype, found->shape, found->rank,
                 found->data);
    return ir_status(p->m);
}

static hull_status put_elements(parser *p, node *n, const type *t)
{
    const raw_literal *l = &p->lit;
    hull_dtype dt = t->dtype;
    uint64_t n_bytes;
    void *data;
    hull_status st = HULL_OK;

    if (dt == HULL_STRING)
        return literal_fail(l, "holds strings");
    if (dtype_is_complex(dt))
        dt = dt == HULL_C64 ? HULL_F32 : HULL_F64;
    if (!dtype_bytes(&n_bytes, dt, l->n))
        return literal_fail(l, "is too large");
    data = mem_calloc((size_t)n_bytes + 8, 1);
    if (data == NULL)
        return fail_oom((size_t)n_bytes);
    for (uint32_t i = 0; i < l->n && st == HULL_OK; i++)
        st = put_element(&l->p[i], dt, data, i);
    if (st == HULL_OK)
        node_literal(p->g, n, l->attr, t->dtype, t->dims, t->rank, data);
    mem_free(data);
    return st != HULL_OK ? st : ir_status(p->m);
}

hull_status parse_literal_finish(parser *p, node *n, const type *first)
{
    raw_literal *l = &p->lit;
    const type *t = l->has_type ? &l->type : first;
    uint64_t numel = 1, per;

    if (!l->present)
        return HULL_OK;
    if (t == NULL || t->kind != TYPE_TENSOR)
        return literal_fail(l, "needs a type: write it behind the node");
    if (!type_is_static(p->m, t))
        return literal_fail(l, "has a type whose sizes are not all numbers");
    if (l->has_digest)
        return use_pinned(p, n, t);
    for (uint32_t i = 0; i < t->rank; i++)
        if (!mul_u64(&numel, numel, (uint64_t)t->dims[i]))
            return literal_fail(l, "is too large");
    per = dtype_is_complex(t->dtype) ? 2 : 1;
    if (!mul_u64(&numel, numel, per))
        return literal_fail(l, "is too large");
    if (l->list != (t->rank > 0 || per == 2))
        return literal_fail(l, l->list ? "of rank 0 is not a list"
                                       : "of this rank is a list");
    if (numel != l->n)
        return fail(HULL_EFORMAT,
                    "line %u column %u: literal has %u elements, "
                    "its type has %" PRIu64,
                    l->at.line, l->at.column, l->n, numel);
    return put_elements(p, n, t);
}

/* ---- attributes ---------------------------------------------------------- */

static hull_status parse_value(parser *p, node *n, const attr_schema *s)
{
    lexer *x = &p->x;
    int64_t i;
    double f;
    bool b;
    str text;
    hull_dtype dt;
    dim d;

    switch (s->kind) {
    case ATTR_INT:
        TRY(lex_i64(x, &i));
        node_int(p->g, n, s->name, i);
        break;
    case ATTR_FLOAT:
        TRY(parse_float(x, &f));
        node_float(p->g, n, s->name, f);
        break;
    case ATTR_BOOL:
        TRY(parse_bool(x, &b));
        node_bool(p->g, n, s->name, b);
        break;
    case ATTR_STR:
        TRY(lex_string(x, &text));
        node_str(p->g, n, s->name, text);
        break;
    case ATTR_DTYPE:
        TRY(parse_dtype(x, &dt));
        node_dtype(p->g, n, s->name, dt);
        break;
    case ATTR_DIM:
        TRY(parse_dim(x, &d));
        node_dim(p->g, n, s->name, d);
        break;
    case ATTR_INTS:
    case ATTR_FLOATS:
    case ATTR_STRS:
    case ATTR_DIMS:
        TRY(parse_list(p, n, s->name, s->kind));
        break;
    case ATTR_TENSOR:
        TRY(parse_tensor(p, s->name));
        break;
    case ATTR_GRAPH:
        TRY(parse_body(p, n, s->name));
        break;
    }
    return ir_status(p->m);
}

hull_status parse_attrs(parser *p, node *n)
{
    const op_info *info = op_get(n->op);
    uint64_t seen = 0;
    bool more;

    TRY(lex_skip(&p->x, '{'));
    for (more = !lex_is(&p->x, '}'); more;) {
        str name = p->x.tok.text;
        int i;

        if (p->x.tok.kind != TOK_IDENT)
            return lex_wanted(&p->x, "the name of an attribute");
        i = attr_index(n->op, name);
        if (i < 0)
            return lex_fail(&p->x, "op '%s' has no attribute '%.*s'",
                            info->name, STR_ARG(name));
        if (seen >> i & 1)
            return lex_fail(&p->x, "attribute '%.*s' is given twice",
                            STR_ARG(name));
        seen |= UINT64_C(1) << i;
        TRY(lex_next(&p->x));
        TRY(lex_skip(&p->x, '='));
        TRY(parse_value(p, n, &info->attrs[i]));
        TRY(lex_try(&p->x, ',', &more));
    }
    return lex_skip(&p->x, '}');
}
