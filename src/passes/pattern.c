/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pattern.c - formulas: their parser and the matcher. A product of the graph is
 * taken apart into a number and factors, a sum into a number and terms; the
 * parts are then given to those of the pattern by trying.
 */
#include "passes/pattern.h"

#include <math.h>
#include <string.h>

/* ---- parser -------------------------------------------------------------- */

typedef struct parser {
    pattern *p;
    str rest;
    uint32_t depth;
} parser;

#define PARSE_DEPTH 16

static hull_status parse_sum(parser *ps, uint8_t *out);

static str str_from(str s, size_t n)
{
    return (str){s.p + n, s.n - n};
}

static str str_upto(str s, size_t n)
{
    return (str){s.p, n};
}

static hull_status bad(const parser *ps, const char *wanted)
{
    return fail(HULL_EINTERNAL, "pattern: '%.*s' where %s was wanted",
                STR_ARG(ps->rest), wanted);
}

static bool take(parser *ps, char c)
{
    if (ps->rest.n == 0 || ps->rest.p[0] != c)
        return false;
    ps->rest = str_from(ps->rest, 1);
    return true;
}

static hull_status add_node(parser *ps, uint8_t *out, pattern_node n)
{
    if (ps->p->n == PATTERN_NODES)
        return bad(ps, "the end");
    *out = (uint8_t)ps->p->n;
    ps->p->node[ps->p->n++] = n;
    return HULL_OK;
}

static size_t span(str s, const char *set)
{
    size_t n = 0;

    while (n < s.n && strchr(set, s.p[n]) != NULL)
        n++;
    return n;
}

static hull_status parse_number(parser *ps, double *out)
{
    size_t n = span(ps->rest, "-.0123456789");

    if (n == 0 || !str_to_f64(out, str_upto(ps->rest, n)))
        return bad(ps, "a number");
    ps->rest = str_from(ps->rest, n);
    return HULL_OK;
}

static hull_status parse_call(parser *ps, str name, uint8_t *out)
{
    pattern_node n = {.kind = PAT_CALL, .n = 1};

    n.op = str_is(name, "mean") ? OP_reduce_mean : op_find(name);
    if (n.op == OP_none)
        return bad(ps, "an op");
    TRY(parse_sum(ps, &n.child[0]));
    while (take(ps, ',')) {
        if (n.n_num == COUNT_OF(n.num))
            return bad(ps, "fewer numbers");
        TRY(parse_number(ps, &n.num[n.n_num++]));
    }
    if (!take(ps, ')'))
        return bad(ps, "')'");
    return add_node(ps, out, n);
}

static hull_status parse_atom(parser *ps, uint8_t *out)
{
    pattern_node n = {.kind = PAT_NUMBER};
    size_t len = span(ps->rest, "abcdefghijklmnopqrstuvwxyz_"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    str name = str_upto(ps->rest, len);

    if (take(ps, '(')) {
        TRY(parse_sum(ps, out));
        return take(ps, ')') ? HULL_OK : bad(ps, "')'");
    }
    if (len == 0) {
        TRY(parse_number(ps, &n.num[0]));
        return add_node(ps, out, n);
    }
    ps->rest = str_from(ps->rest, len);
    if (take(ps, '('))
        return parse_call(ps, name, out);
    if (len != 1 || name.p[0] == '_')
        return bad(ps, "'('");
    n.kind = name.p[0] >= 'a' ? PAT_VALUE : PAT_ANY_NUMBER;
    n.letter = (uint32_t)(name.p[0] - (n.kind == PAT_VALUE ? 'a' : 'A'));
    return add_node(ps, out, n);
}

/* Parts with `op` between them; a single one stands for itself. */
static hull_status parse_list(parser *ps, char op, pattern_kind kind,
                              hull_status (*part)(parser *ps, uint8_t *out),
                              uint8_t *out)
{
    pattern_node n = {.kind = kind};

    do {
        if (n.n == PATTERN_CHILDREN)
            return bad(ps, "fewer parts");
        TRY(part(ps, &n.child[n.n++]));
    } while (take(ps, op));
    if (n.n > 1)
        return add_node(ps, out, n);
    *out = n.child[0];
    return HULL_OK;
}

static hull_status parse_product(parser *ps, uint8_t *out)
{
    return parse_list(ps, '*', PAT_PRODUCT, parse_atom, out);
}

static hull_status parse_sum(parser *ps, uint8_t *out)
{
    hull_status st;

    if (ps->depth == PARSE_DEPTH)
        return bad(ps, "fewer parentheses");
    ps->depth++;
    st = parse_list(ps, '+', PAT_SUM, parse_product, out);
    ps->depth--;
    return st;
}

hull_status pattern_parse(pattern *out, const char *text)
{
    parser ps = {out, str_of(text), 0};

    out->n = 0;
    TRY(parse_sum(&ps, &out->root));
    return ps.rest.n == 0 ? HULL_OK : bad(&ps, "the end");
}

/* ---- parts of a product or sum ------------------------------------------- */

#define MAX_PARTS 8
#define MAX_NESTING 8

typedef struct part {
    val v;
    op_code of; /* OP_none: v; OP_rsqrt, OP_reciprocal: that of v */
} part;

typedef struct parts {
    double number;
    bool has_number; /* a literal was among them */
    uint32_t n;
    part part[MAX_PARTS];
} parts;

typedef struct matcher {
    const pattern *p;
    const graph_facts *f;
    const node *root;
    double tolerance;
    pattern_match m;
    uint32_t reached;
} matcher;

static bool number_of(const graph *g, val v, double *out)
{
    const literal *l = value_literal(g, v);

    if (l == NULL || l->numel != 1 || !dtype_is_float(l->dtype))
        return false;
    *out = load_f64(l->dtype, l->data, 0);
    return true;
}

static bool refuse(matcher *mt, const char *why)
{
    if (mt->m.why == NULL || mt->reached > mt->m.reached) {
        mt->m.why = why;
        mt->m.reached = mt->reached;
    }
    return false;
}

/* The node whose result is v, when it may be taken apart: the root, or one that
 * the formula alone reads. */
static const node *inner(const matcher *mt, val v)
{
    const node *def = graph_def(mt->f->g, v);

    return def != NULL && def->parent == mt->root->parent && def->n_out == 1 &&
                   (def == mt->root ||
                    value_has_one_use(mt->f, graph_resolve(mt->f->g, v)))
               ? def
               : NULL;
}

static bool put_part(parts *ps, val v, op_code of)
{
    if (ps->n == MAX_PARTS)
        return false;
    ps->part[ps->n++] = (part){v, of};
    return true;
}

static bool put_number(parts *ps, double v)
{
    ps->has_number = true;
    ps->number *= v;
    return true;
}

static bool factors(const matcher *mt, val v, parts *ps, uint32_t depth);

/* 1 / v. */
static bool inverse_factor(const matcher *mt, val v, parts *ps)
{
    const node *def = inner(mt, v);
    double number;

    if (number_of(mt->f->g, v, &number))
        return put_number(ps, 1 / number);
    if (def != NULL && def->op == OP_sqrt)
        return put_part(ps, graph_resolve(mt->f->g, def->in[0]), OP_rsqrt);
    return put_part(ps, v, OP_reciprocal);
}

static bool power_factor(const matcher *mt, const node *def, parts *ps)
{
    val base = graph_resolve(mt->f->g, def->in[0]);
    double power;

    if (!number_of(mt->f->g, def->in[1], &power))
        return put_part(ps, def->out[0], OP_none);
    if (power == -0.5)
        return put_part(ps, base, OP_rsqrt);
    if (power != 2 && power != 3)
        return put_part(ps, def->out[0], OP_none);
    for (double i = 0; i < power; i++)
        if (!put_part(ps, base, OP_none))
            return false;
    return true;
}

/* Adds the factors of v; false when there are too many. */
static bool factors(const matcher *mt, val v, parts *ps, uint32_t depth)
{
    const node *def;
    double number;

    v = graph_resolve(mt->f->g, v);
    if (number_of(mt->f->g, v, &number))
        return put_number(ps, number);
    def = depth < MAX_NESTING ? inner(mt, v) : NULL;
    switch (def != NULL ? def->op : OP_none) {
    case OP_mul:
        return factors(mt, def->in[0], ps, depth + 1) &&
               factors(mt, def->in[1], ps, depth + 1);
    case OP_div:
        if (!str_is(attr_str(def, "round"), "none"))
            return put_part(ps, v, OP_none);
        return factors(mt, def->in[0], ps, depth + 1) &&
               inverse_factor(mt, graph_resolve(mt->f->g, def->in[1]), ps);
    case OP_neg:
        return put_number(ps, -1) && factors(mt, def->in[0], ps, depth + 1);
    case OP_rsqrt:
        return put_part(ps, graph_resolve(mt->f->g, def->in[0]), OP_rsqrt);
    case OP_reciprocal:
        return inverse_factor(mt, graph_resolve(mt->f->g, def->in[0]), ps);
    case OP_pow:
        return power_factor(mt, def, ps);
    default:
        return put_part(ps, v, OP_none);
    }
}

/* Adds the terms of v. */
static bool terms(const matcher *mt, val v, parts *ps, uint32_t depth)
{
    const node *def;
    double number;

    v = graph_resolve(mt->f->g, v);
    if (number_of(mt->f->g, v, &number)) {
        ps->has_number = true;
        ps->number += number;
        return true;
    }
    def = depth < MAX_NESTING ? inner(mt, v) : NULL;
    if (def != NULL && def->op == OP_add)
        return terms(mt, def->in[0], ps, depth + 1) &&
               terms(mt, def->in[1], ps, depth + 1);
    if (def != NULL && def->op == OP_sub &&
        number_of(mt->f->g, def->in[1], &number)) {
        ps->has_number = true;
        ps->number -= number;
        return terms(mt, def->in[0], ps, depth + 1);
    }
    return put_part(ps, v, OP_none);
}

/* ---- matcher ------------------------------------------------------------- */

static bool match(matcher *mt, uint8_t at, part x);

static bool near(const matcher *mt, double a, double b)
{
    return fabs(a - b) <= mt->tolerance * fabs(b);
}

static bool match_value(matcher *mt, uint32_t letter, part x)
{
    val v = graph_resolve(mt->f->g, x.v);

    if (x.of != OP_none)
        return refuse(mt, "a quotient where a value was wanted");
    if (mt->m.value[letter] == 0)
        mt->m.value[letter] = v;
    return mt->m.value[letter] == v ||
           refuse(mt, "two different values for one variable");
}

static bool attributes_fit(const matcher *mt, const pattern_node *p,
                           const node *n)
{
    const op_info *info = op_get(n->op);
    uint32_t k = 0;

    for (uint32_t i = 0; i < info->n_attrs && k < p->n_num; i++)
        if (info->attrs[i].kind == ATTR_FLOAT &&
            !near(mt, n->attrs[i].u.f, p->num[k++]))
            return false;
    return k == p->n_num;
}

static bool match_call(matcher *mt, const pattern_node *p, part x)
{
    const node *def;

    if (p->op == x.of) { /* the op is gone already */
        mt->reached++;
        return match(mt, p->child[0], (part){x.v, OP_none});
    }
    def = x.of == OP_none ? graph_def(mt->f->g, x.v) : NULL;
    if (def == NULL || def->op != p->op)
        return refuse(mt, "another op");
    mt->reached++;
    if (!attributes_fit(mt, p, def))
        return refuse(mt, "another attribute");
    if (inner(mt, x.v) == NULL)
        return refuse(mt, "a value inside has other readers");
    if (def->op == OP_reduce_mean) {
        if (!attr_bool(def, "keep"))
            return refuse(mt, "the mean drops its axes");
        mt->m.mean = def;
    }
    return match(mt, p->child[0], (part){def->in[0], OP_none});
}

static bool is_number(const pattern_node *p)
{
    return p->kind == PAT_NUMBER || p->kind == PAT_ANY_NUMBER;
}

/* Gives the parts that are not in `used` to the children from `from` on. */
static bool assign(matcher *mt, const pattern_node *p, uint32_t from,
                   const parts *ps, uint32_t used)
{
    pattern_match before = mt->m;
    uint32_t reached = mt->reached;

    while (from < p->n && is_number(&mt->p->node[p->child[from]]))
        from++;
    if (from == p->n)
        return true;
    for (uint32_t i = 0; i < ps->n; i++) {
        const char *why;
        uint32_t far;

        if ((used & 1u << i) != 0)
            continue;
        if (match(mt, p->child[from], ps->part[i]) &&
            assign(mt, p, from + 1, ps, used | 1u << i))
            return true;
        why = mt->m.why;
        far = mt->m.reached;
        mt->m = before;
        mt->m.why = why;
        mt->m.reached = far;
        mt->reached = reached;
    }
    return false;
}

/* The number of a sum or product against the pattern's. */
static bool match_number(matcher *mt, const pattern_node *p, const parts *ps)
{
    double neutral = p->kind == PAT_PRODUCT ? 1 : 0;

    for (uint32_t i = 0; i < p->n; i++) {
        const pattern_node *c = &mt->p->node[p->child[i]];

        if (c->kind == PAT_NUMBER)
            return near(mt, ps->number, c->num[0]) ||
                   refuse(mt, "another number");
        if (c->kind == PAT_ANY_NUMBER) {
            if (!ps->has_number)
                return refuse(mt, "no number");
            mt->m.number[c->letter] = ps->number;
            return true;
        }
    }
    return ps->number == neutral || refuse(mt, "a number too many");
}

static bool match_parts(matcher *mt, const pattern_node *p, part x)
{
    parts ps = {.number = p->kind == PAT_PRODUCT ? 1 : 0};
    uint32_t wanted = 0;

    if (x.of != OP_none)
        return refuse(mt, "a quotient where a value was wanted");
    if (!(p->kind == PAT_PRODUCT ? factors(mt, x.v, &ps, 0)
                                 : terms(mt, x.v, &ps, 0)))
        return refuse(mt, "too many parts");
    for (uint32_t i = 0; i < p->n; i++)
        wanted += !is_number(&mt->p->node[p->child[i]]);
    if (ps.n != wanted)
        return refuse(mt, "another number of parts");
    if (!match_number(mt, p, &ps))
        return false;
    return assign(mt, p, 0, &ps, 0);
}

static bool match(matcher *mt, uint8_t at, part x)
{
    const pattern_node *p = &mt->p->node[at];
    double number;

    switch (p->kind) {
    case PAT_VALUE:
        return match_value(mt, p->letter, x);
    case PAT_CALL:
        return match_call(mt, p, x);
    case PAT_PRODUCT:
    case PAT_SUM:
        return match_parts(mt, p, x);
    default:
        return (x.of == OP_none && number_of(mt->f->g, x.v, &number) &&
                p->kind == PAT_NUMBER && near(mt, number, p->num[0])) ||
               refuse(mt, "another number");
    }
}

/* Literals have been rounded to the dtype of the data, some by hand. */
static double tolerance_of(hull_dtype dt)
{
    switch (dt) {
    case HULL_F64: return 1e-12;
    case HULL_F32: return 1e-6;
    case HULL_F16: return 2e-3;
    default: return 1.6e-2;
    }
}

bool pattern_matches(const pattern *p, const graph_facts *f, val v,
                     pattern_match *out)
{
    const type *t = graph_type(f->g, v);
    matcher mt = {.p = p, .f = f, .root = graph_def(f->g, v)};
    bool ok;

    *out = (pattern_match){0};
    if (mt.root == NULL || t->kind != TYPE_TENSOR || !dtype_is_float(t->dtype))
        return false;
    mt.tolerance = tolerance_of(t->dtype);
    ok = match(&mt, p->root, (part){v, OP_none});
    *out = mt.m;
    return ok;
}
