/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pt2_expr.c - sizes written as text: SymPy's srepr, or infix in files of
 * older exporters. Nothing is evaluated as Python; one recursive parser with
 * bounds on text, depth and number of operations.
 *
 *   expr    := term { ("+" | "-") term }
 *   term    := factor { ("*" | "//" | "/" | "%") factor }
 *   factor  := [ "-" ] primary [ "**" factor ]
 *   primary := int | name | name "(" [ arg { "," arg } ] ")" | "(" expr ")"
 *   arg     := [ name "=" ] ( expr | 'string' )
 *
 * A value is a fraction of two dims, so that FloorToInt(IntTrueDiv(a, b)) and
 * Mul(Rational(1, 2), a) come out exact.
 */
#include "front/pt2.h"

#include <string.h>

#define TEXT_MAX 4096
#define DEPTH_MAX 48
#define STEPS_MAX 512
#define ARGS_MAX 16

typedef struct fraction {
    bool ok;
    dim num, den;
    str text;          /* a string argument */
} fraction;

typedef struct parser {
    ir *m;
    const pt2_defs *defs;
    const char *p, *end;
    int depth, steps;
    bool bad;
} parser;

static fraction parse_sum(parser *q);

static fraction unknown(parser *q)
{
    q->bad = true;
    return (fraction){.num = DIM_UNKNOWN, .den = 1};
}

static fraction whole(dim d)
{
    return (fraction){.ok = true, .num = d, .den = 1};
}

static void skip_blanks(parser *q)
{
    while (q->p < q->end && (*q->p == ' ' || *q->p == '\t' || *q->p == '\n'))
        q->p++;
}

static bool take(parser *q, const char *z)
{
    size_t n = strlen(z);

    skip_blanks(q);
    if ((size_t)(q->end - q->p) < n || memcmp(q->p, z, n) != 0)
        return false;
    q->p += n;
    return true;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static str take_word(parser *q)
{
    skip_blanks(q);
    const char *start = q->p;

    if (q->p < q->end && is_letter(*q->p))
        while (q->p < q->end && (is_letter(*q->p) || is_digit(*q->p)))
            q->p++;
    return (str){start, (size_t)(q->p - start)};
}

static fraction add(parser *q, fraction a, fraction b)
{
    ir *m = q->m;

    if (a.den == 1 && b.den == 1)
        return whole(dim_add(m, a.num, b.num));
    fraction r = whole(dim_add(m, dim_mul(m, a.num, b.den),
                               dim_mul(m, b.num, a.den)));
    r.den = dim_mul(m, a.den, b.den);
    return r;
}

static fraction mul(parser *q, fraction a, fraction b)
{
    fraction r = whole(dim_mul(q->m, a.num, b.num));

    r.den = dim_mul(q->m, a.den, b.den);
    return r;
}

static fraction negate(parser *q, fraction a)
{
    fraction r = whole(dim_mul(q->m, a.num, dim_int(q->m, -1)));

    r.den = a.den;
    return r;
}

/* a / b as a fraction; b must be provably not zero. */
static fraction ratio(parser *q, fraction a, fraction b)
{
    int64_t lo, hi;

    dim_range(q->m, b.num, &lo, &hi);
    if (b.num == DIM_UNKNOWN || lo < 0 || hi == 0)
        return unknown(q);
    fraction r = whole(dim_mul(q->m, a.num, b.den));
    r.den = dim_mul(q->m, a.den, b.num);
    return r;
}

static fraction floor_of(parser *q, fraction a)
{
    return a.den == 1 ? a : whole(dim_div(q->m, a.num, a.den));
}

static fraction mod_of(parser *q, fraction a, fraction b)
{
    int64_t lo, hi;

    if (a.den != 1 || b.den != 1)
        return unknown(q);
    dim_range(q->m, b.num, &lo, &hi);
    return lo < 0 || hi == 0 ? unknown(q) : whole(dim_mod(q->m, a.num, b.num));
}

static fraction power(parser *q, fraction a, fraction b)
{
    int64_t e = 0;

    if (b.den != 1 || !dim_is_int(q->m, b.num, &e) || e < -1 || e > 4)
        return unknown(q);
    if (e < 0)
        return ratio(q, whole(1), a);
    fraction r = whole(1);
    for (int64_t i = 0; i < e; i++)
        r = mul(q, r, a);
    return r;
}

/* s77, s0: known before a run; u0, zuf1: found by the run, from data. */
bool pt2_is_unbacked(str name)
{
    return (name.n > 1 && name.p[0] == 'u' && is_digit(name.p[1])) ||
           str_starts(name, "zuf");
}

str pt2_unbacked_name(str text)
{
    str rest;

    if (str_starts(text, "Symbol('") && memchr(text.p, ')', text.n) ==
                                            text.p + text.n - 1)
        text = str_split((str){text.p + 8, text.n - 8}, '\'', &rest);
    for (size_t i = 0; i < text.n; i++)
        if (!is_letter(text.p[i]) && !is_digit(text.p[i]))
            return str_of("");
    return pt2_is_unbacked(text) ? text : str_of("");
}

static fraction symbol(parser *q, str name)
{
    if (name.n == 0 || name.n > 128)
        return unknown(q);
    if (pt2_is_unbacked(name)) {
        uint32_t i = 0;

        if (!q->defs || !strmap_get(&q->defs->names, name, &i))
            return unknown(q);
        return whole(q->defs->dims[i]);
    }
    for (size_t i = 0; i < name.n; i++)
        if (!is_letter(name.p[i]) && !is_digit(name.p[i]))
            return unknown(q);
    return whole(dim_sym(q->m, name));
}

static fraction string_arg(parser *q)
{
    const char *start = ++q->p;

    while (q->p < q->end && *q->p != '\'')
        q->p++;
    if (q->p == q->end)
        return unknown(q);
    fraction r = {.text = {start, (size_t)(q->p - start)}};
    q->p++;
    return r;
}

/* Arguments up to the closing bracket; keyword ones are facts, not values. */
static uint32_t arguments(parser *q, fraction *args)
{
    uint32_t n = 0;

    if (take(q, ")"))
        return 0;
    do {
        skip_blanks(q);
        const char *start = q->p;
        str word = take_word(q);
        bool keyword = word.n && take(q, "=") && !take(q, "=");
        fraction v = {0};

        if (!keyword)
            q->p = start;
        skip_blanks(q);
        if (keyword && (take(q, "True") || take(q, "False") ||
                        take(q, "None")))
            continue;
        v = q->p < q->end && *q->p == '\'' ? string_arg(q) : parse_sum(q);
        if (q->bad)
            return 0;
        if (keyword)
            continue;
        if (n == ARGS_MAX) {
            (void)unknown(q);
            return 0;
        }
        args[n++] = v;
    } while (take(q, ","));
    if (!take(q, ")"))
        (void)unknown(q);
    return n;
}

static fraction fold(parser *q, str name, const fraction *a, uint32_t n)
{
    fraction r = a[0];

    for (uint32_t i = 1; i < n; i++) {
        if (str_is(name, "Add"))
            r = add(q, r, a[i]);
        else if (str_is(name, "Mul"))
            r = mul(q, r, a[i]);
        else if (r.den != 1 || a[i].den != 1)
            return unknown(q);
        else if (str_is(name, "Max"))
            r = whole(dim_max(q->m, r.num, a[i].num));
        else
            r = whole(dim_min(q->m, r.num, a[i].num));
    }
    return r;
}

static fraction call_two(parser *q, str name, fraction a, fraction b)
{
    if (str_is(name, "FloorDiv") || str_is(name, "CleanDiv"))
        return floor_of(q, ratio(q, a, b));
    if (str_is(name, "IntTrueDiv") || str_is(name, "Rational"))
        return ratio(q, a, b);
    if (str_is(name, "CeilDiv")) {
        fraction r = ratio(q, a, b);
        return q->bad ? r : whole(dim_ceil_div(q->m, r.num, r.den));
    }
    if (str_is(name, "Mod") || str_is(name, "PythonMod"))
        return mod_of(q, a, b);
    if (str_is(name, "Pow") || str_is(name, "PowByNatural"))
        return power(q, a, b);
    return unknown(q);
}

static fraction call_one(parser *q, str name, fraction a)
{
    int64_t lo, hi;

    if (str_is(name, "Integer") || str_is(name, "Identity"))
        return a;
    if (str_is(name, "FloorToInt") || str_is(name, "floor"))
        return floor_of(q, a);
    if (str_is(name, "CeilToInt") || str_is(name, "ceiling"))
        return a.den == 1 ? a : whole(dim_ceil_div(q->m, a.num, a.den));
    dim_range(q->m, a.num, &lo, &hi);
    if (str_is(name, "TruncToInt") && lo >= 0)
        return floor_of(q, a);
    if (str_is(name, "Abs") && lo >= 0)
        return a;
    return unknown(q);
}

static fraction call(parser *q, str name)
{
    fraction a[ARGS_MAX];
    uint32_t n = arguments(q, a);

    if (q->bad || n == 0 || ++q->steps > STEPS_MAX)
        return unknown(q);
    if (str_is(name, "Symbol"))
        return a[0].ok ? unknown(q) : symbol(q, a[0].text);
    for (uint32_t i = 0; i < n; i++)
        if (!a[i].ok)
            return unknown(q);
    if (str_is(name, "Add") || str_is(name, "Mul") || str_is(name, "Max") ||
        str_is(name, "Min"))
        return fold(q, name, a, n);
    if (n == 2)
        return call_two(q, name, a[0], a[1]);
    return n == 1 ? call_one(q, name, a[0]) : unknown(q);
}

static fraction parse_primary(parser *q)
{
    skip_blanks(q);
    if (q->p < q->end && is_digit(*q->p)) {
        const char *start = q->p;
        int64_t v = 0;

        while (q->p < q->end && is_digit(*q->p))
            q->p++;
        bool whole_number = q->p == q->end || *q->p != '.';
        if (!whole_number ||
            !str_to_i64(&v, (str){start, (size_t)(q->p - start)}))
            return unknown(q);
        return whole(dim_int(q->m, v));
    }
    if (take(q, "(")) {
        fraction r = parse_sum(q);
        return take(q, ")") ? r : unknown(q);
    }
    str name = take_word(q);
    if (name.n == 0)
        return unknown(q);
    if (take(q, "("))
        return call(q, name);
    /* Infix texts hold the exporter's own symbols only. */
    bool plain = name.n > 1 && (name.p[0] == 's' || name.p[0] == 'u') &&
                 is_digit(name.p[1]);
    return plain ? symbol(q, name) : unknown(q);
}

static fraction parse_factor(parser *q)
{
    bool minus = take(q, "-");
    fraction r = parse_primary(q);

    if (!q->bad && take(q, "**"))
        r = power(q, r, parse_primary(q));
    return minus && !q->bad ? negate(q, r) : r;
}

static fraction parse_product(parser *q)
{
    fraction r = parse_factor(q);

    while (!q->bad && ++q->steps <= STEPS_MAX) {
        if (take(q, "//"))
            r = floor_of(q, ratio(q, r, parse_factor(q)));
        else if (take(q, "/"))
            r = ratio(q, r, parse_factor(q));
        else if (take(q, "%"))
            r = mod_of(q, r, parse_factor(q));
        else if (take(q, "*"))
            r = mul(q, r, parse_factor(q));
        else
            return r;
    }
    return unknown(q);
}

static fraction parse_sum(parser *q)
{
    if (q->depth >= DEPTH_MAX)
        return unknown(q);
    q->depth++;
    fraction r = parse_product(q);
    while (!q->bad && ++q->steps <= STEPS_MAX) {
        if (take(q, "+")) {
            r = add(q, r, parse_product(q));
        } else if (take(q, "-")) {
            fraction b = parse_product(q);
            r = q->bad ? b : add(q, r, negate(q, b));
        } else {
            q->depth--;
            return r;
        }
    }
    return unknown(q);
}

dim pt2_expr(ir *m, const pt2_defs *defs, str text)
{
    parser q = {.m = m, .defs = defs, .p = text.p, .end = text.p + text.n};

    if (text.n == 0 || text.n > TEXT_MAX)
        return DIM_UNKNOWN;
    fraction r = parse_sum(&q);
    skip_blanks(&q);
    if (q.bad || !r.ok || q.p != q.end)
        return DIM_UNKNOWN;
    return floor_of(&q, r).num;
}

/* ---- relations ----------------------------------------------------------- */

static const struct {
    const char *name;
    char kind;         /* '=' a == b; '>' a >= b; '<' a <= b */
    bool strict;
} relations[] = {
    {"Equality", '=', false},        {"Eq", '=', false},
    {"GreaterThan", '>', false},     {"Ge", '>', false},
    {"LessThan", '<', false},        {"Le", '<', false},
    {"StrictGreaterThan", '>', true}, {"Gt", '>', true},
    {"StrictLessThan", '<', true},   {"Lt", '<', true},
    {"==", '=', false},              {">=", '>', false},
    {"<=", '<', false},              {">", '>', true},
    {"<", '<', true},
};

/* Exact: denominators are positive. */
static dim difference(parser *q, fraction a, fraction b)
{
    return dim_sub(q->m, dim_mul(q->m, a.num, b.den),
                   dim_mul(q->m, b.num, a.den));
}

static bool relate(parser *q, size_t k, fraction a, fraction b,
                   pt2_relation *out)
{
    bool less = relations[k].kind == '<';

    if (q->bad || !a.ok || !b.ok)
        return false;
    out->equal = relations[k].kind == '=';
    out->e = less ? difference(q, b, a) : difference(q, a, b);
    if (relations[k].strict)
        out->e = dim_sub(q->m, out->e, 1);
    return out->e != DIM_UNKNOWN;
}

static uint32_t parse_relation(parser *q, pt2_relation *out, uint32_t max);

/* And(a, b ...): every one of them that is understood. */
static uint32_t parse_and(parser *q, pt2_relation *out, uint32_t max)
{
    uint32_t n = 0;

    do
        n += parse_relation(q, out + n, max - n);
    while (!q->bad && take(q, ","));
    if (!take(q, ")"))
        (void)unknown(q);
    return n;
}

static uint32_t parse_relation(parser *q, pt2_relation *out, uint32_t max)
{
    const char *start = q->p;
    str name = take_word(q);

    if (max == 0 || ++q->depth > DEPTH_MAX) {
        (void)unknown(q);
        return 0;
    }
    if (name.n && take(q, "(")) {
        if (str_is(name, "And"))
            return parse_and(q, out, max);
        for (size_t k = 0; k < COUNT_OF(relations); k++) {
            if (!str_is(name, relations[k].name))
                continue;
            fraction a = parse_sum(q), b = {0};
            if (!q->bad && take(q, ","))
                b = parse_sum(q);
            if (!take(q, ")"))
                (void)unknown(q);
            return relate(q, k, a, b, out);
        }
    }
    q->p = start;
    fraction a = parse_sum(q);
    for (size_t k = 0; k < COUNT_OF(relations) && !q->bad; k++)
        if (!is_letter(relations[k].name[0]) && take(q, relations[k].name))
            return relate(q, k, a, parse_sum(q), out);
    (void)unknown(q);
    return 0;
}

uint32_t pt2_relations(ir *m, const pt2_defs *defs, str text,
                       pt2_relation *out, uint32_t max)
{
    parser q = {.m = m, .defs = defs, .p = text.p, .end = text.p + text.n};

    if (text.n == 0 || text.n > TEXT_MAX)
        return 0;
    uint32_t n = parse_relation(&q, out, max);
    skip_blanks(&q);
    return q.bad || q.p != q.end ? 0 : n;
}
