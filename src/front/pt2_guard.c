/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pt2_guard.c - what an exported program demands of its sizes, so that a run
 * refuses what the exporter ruled out: the ranges of symbols, and the asserts
 * of the graph. A relation of one symbol narrows its range; any other becomes
 * part of the type of the input that brings its last symbol: a size s turns
 * into s + guard, where the guard is 0 when the relation holds and below 0
 * otherwise (dim_bind checks it). Symbols that come from data get their ranges
 * when they are defined.
 */
#include "front/pt2.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#define RELATIONS_MAX 16  /* of one assert */
#define SYMBOLS_MAX 8     /* of one relation */
#define NESTING_MAX 64
#define TEXTS_MAX 4096

static str text_of(const json_t *j)
{
    return json_is_string(j) ? (str){json_string_value(j),
                                     json_string_length(j)}
                             : str_of("");
}

/* ---- ranges -------------------------------------------------------------- */

/* Narrows the range of a symbol. */
static hull_status narrow(pt2 *p, dim sym, int64_t lo, int64_t hi)
{
    const dim_node *n = dim_get(p->m, sym);

    lo = lo > n->min ? lo : n->min;
    hi = hi < n->max ? hi : n->max;
    if (lo > hi)
        return fail(HULL_EFORMAT, "no size '%.*s' satisfies the guards: at "
                    "least %" PRId64 ", at most %" PRId64, STR_ARG(n->name),
                    lo, hi);
    dim_set_range(p->m, sym, lo, hi);
    return ir_status(p->m);
}

/* d as c * sym + k; false when it is no such form. */
static bool linear(const ir *m, dim d, dim sym, int64_t *c, int64_t *k,
                   int depth)
{
    const dim_node *n = dim_get(m, d);
    int64_t c2, k2;

    *c = 0;
    *k = d;
    if (!n || depth > NESTING_MAX)
        return !n && d != DIM_UNKNOWN;
    if (n->op == DIM_INT) {
        *k = n->value;
        return true;
    }
    if (n->op == DIM_SYM) {
        *c = 1;
        *k = 0;
        return d == sym;
    }
    if ((n->op != DIM_ADD && n->op != DIM_MUL) ||
        !linear(m, n->a, sym, c, k, depth + 1) ||
        !linear(m, n->b, sym, &c2, &k2, depth + 1))
        return false;
    if (n->op == DIM_ADD)
        return add_i64(c, *c, c2) && add_i64(k, *k, k2);
    if (*c && c2)
        return false;
    if (c2)
        return mul_i64(c, *k, c2) && mul_i64(k, *k, k2);
    return mul_i64(c, *c, k2) && mul_i64(k, *k, k2);
}

/* Smallest q with q * c >= v, for c > 0. */
static int64_t ceil_div(int64_t v, int64_t c)
{
    return v / c + (v % c > 0);
}

/* c * sym + k >= 0, or == 0. */
static hull_status narrow_linear(pt2 *p, dim sym, int64_t c, int64_t k,
                                 bool equal)
{
    if (c == INT64_MIN || k == INT64_MIN || c == 0)
        return HULL_OK;
    if (c < 0 && equal) {
        c = -c;
        k = -k;
    }
    if (c < 0) /* sym <= floor(k / -c) */
        return narrow(p, sym, INT64_MIN, -ceil_div(-k, -c));
    int64_t lo = ceil_div(-k, c);
    return narrow(p, sym, lo, equal ? lo : INT64_MAX);
}

/* ---- symbols of a relation ----------------------------------------------- */

typedef struct symbols {
    dim s[SYMBOLS_MAX];
    uint32_t n;
    bool bad;          /* there are more of them */
} symbols;

static void add_symbols(const ir *m, dim d, symbols *out, int depth)
{
    const dim_node *n = dim_get(m, d);

    if (!n || n->op == DIM_INT || out->bad)
        return;
    if (n->op != DIM_SYM) {
        out->bad = depth > NESTING_MAX;
        add_symbols(m, n->a, out, depth + 1);
        add_symbols(m, n->b, out, depth + 1);
        return;
    }
    for (uint32_t i = 0; i < out->n; i++)
        if (out->s[i] == d)
            return;
    out->bad = out->n == SYMBOLS_MAX;
    if (!out->bad)
        out->s[out->n++] = d;
}

/* ---- asserts ------------------------------------------------------------- */

static hull_status take_relation(pt2 *p, const pt2_relation *r, bool backed)
{
    symbols s = {0};
    int64_t c, k;

    add_symbols(p->m, r->e, &s, 0);
    if (s.n == 1 && linear(p->m, r->e, s.s[0], &c, &k, 0))
        return narrow_linear(p, s.s[0], c, k, r->equal);
    if (s.bad || s.n == 0 || !backed)
        return HULL_OK;
    TRY(mem_grow(&p->guards, &p->cap_guards, (size_t)p->n_guards + 1,
                 sizeof *p->guards));
    p->guards[p->n_guards++] = *r;
    return HULL_OK;
}

static hull_status take_text(pt2 *p, str text, bool backed, bool *understood)
{
    pt2_relation r[RELATIONS_MAX];
    uint32_t n = pt2_relations(p->m, &p->defs, text, r, RELATIONS_MAX);

    *understood = n > 0;
    for (uint32_t i = 0; i < n; i++)
        TRY(take_relation(p, &r[i], backed));
    return ir_status(p->m);
}

static hull_status keep_text(pt2 *p, str text)
{
    if (p->n_pending == TEXTS_MAX)
        return HULL_OK;
    TRY(mem_grow(&p->pending, &p->cap_pending, (size_t)p->n_pending + 1,
                 sizeof *p->pending));
    p->pending[p->n_pending++] = text;
    return HULL_OK;
}

static json_t *argument(json_t *at, const char *name)
{
    json_t *in;
    size_t i;

    json_array_foreach(json_object_get(at, "inputs"), i, in)
        if (str_is(text_of(json_object_get(in, "name")), name))
            return json_object_get(in, "arg");
    return NULL;
}

/* Text of the expression behind a symbolic argument. */
static str expression_of(json_t *g, const char *table, json_t *arg,
                         const char *tag)
{
    str name = text_of(json_object_get(json_object_get(arg, tag), "as_name"));
    json_t *v = json_object_getn(json_object_get(g, table), name.p, name.n);

    return text_of(json_object_get(json_object_get(v, "as_expr"), "expr_str"));
}

static hull_status read_assert(pt2 *p, json_t *g, json_t *at)
{
    str text = expression_of(g, "sym_bool_values", argument(at, "self"),
                             "as_sym_bool");
    bool understood = false;

    if (text.n == 0)
        return HULL_OK;
    TRY(take_text(p, text, true, &understood));
    return understood ? HULL_OK : keep_text(p, text);
}

/* sym_constrain_range(size, min, max) */
static hull_status read_constrain(pt2 *p, json_t *g, json_t *at)
{
    str text = expression_of(g, "sym_int_values", argument(at, "size"),
                             "as_sym_int");
    json_t *lo = json_object_get(argument(at, "min"), "as_int");
    json_t *hi = json_object_get(argument(at, "max"), "as_int");
    dim d = pt2_expr(p->m, &p->defs, text);

    if (!dim_is_symbol(p->m, d))
        return HULL_OK; /* of data: range_constraints say the same */
    return narrow(p, d, json_is_integer(lo) ? json_integer_value(lo)
                                            : INT64_MIN,
                  json_is_integer(hi) ? json_integer_value(hi) : INT64_MAX);
}

/* Exporters specialise 0 and 1, so a minimum up to 2 says nothing of sizes
 * that inputs bring. */
static hull_status read_range(pt2 *p, dim d, const json_t *r, bool backed)
{
    json_t *lo = json_object_get(r, "min_val");
    json_t *hi = json_object_get(r, "max_val");
    int64_t min = json_is_integer(lo) ? json_integer_value(lo) : INT64_MIN;
    int64_t max = json_is_integer(hi) ? json_integer_value(hi) : INT64_MAX;

    if (!dim_is_symbol(p->m, d))
        return HULL_OK;
    if (backed)
        min = min <= 2 ? 0 : min;
    return narrow(p, d, min, backed && max < 0 ? 0 : max);
}

/* A number may be negative, where the range of its symbol does not forbid
 * it: sizes start at 0. */
hull_status pt2_free_range(pt2 *p, dim d)
{
    const dim_node *n = dim_get(p->m, d);
    json_t *r = json_object_getn(p->ranges, n->name.p, n->name.n);
    json_t *lo = json_object_get(r, "min_val");
    int64_t min = json_is_integer(lo) ? json_integer_value(lo) : INT64_MIN + 1;

    if (n->min == 0 && min < 0)
        dim_set_range(p->m, d, min, n->max);
    return ir_status(p->m);
}

hull_status pt2_read_guards(pt2 *p, json_t *root, json_t *g)
{
    json_t *r, *at;
    const char *key;
    size_t i;

    p->ranges = json_object_get(root, "range_constraints");
    json_object_foreach(p->ranges, key, r)
        TRY(read_range(p, pt2_expr(p->m, NULL, str_of(key)), r, true));
    json_array_foreach(json_object_get(g, "nodes"), i, at) {
        str target = text_of(json_object_get(at, "target"));
        hull_status st = HULL_OK;

        if (str_is(target, "torch.ops.aten._assert_scalar.default"))
            st = read_assert(p, g, at);
        else if (str_starts(target, "torch.ops.aten.sym_constrain_range"))
            st = read_constrain(p, g, at);
        TRY(note(st, "node %zu (%.*s)", i, STR_ARG(target)));
    }
    return HULL_OK;
}

/* ---- symbols of data ----------------------------------------------------- */

/* The symbol `name` is d from here on. */
static hull_status define(pt2 *p, str name, dim d)
{
    pt2_defs *defs = &p->defs;
    uint32_t old, n = 0;

    if (d == DIM_UNKNOWN)
        return HULL_OK;
    if (strmap_get(&defs->names, name, &old)) { /* a body lowered again */
        if (defs->dims[old] == d)
            return HULL_OK;
        defs->dims[old] = d;
        return read_range(p, d, json_object_getn(p->ranges, name.p, name.n),
                          false);
    }
    TRY(mem_grow(&defs->dims, &defs->cap, (size_t)defs->n + 1,
                 sizeof *defs->dims));
    TRY(strmap_set(&defs->names, name, defs->n));
    defs->dims[defs->n++] = d;
    TRY(read_range(p, d, json_object_getn(p->ranges, name.p, name.n), false));
    for (uint32_t i = 0; i < p->n_pending; i++) {
        bool understood = false;

        TRY(take_text(p, p->pending[i], false, &understood));
        if (!understood)
            p->pending[n++] = p->pending[i];
    }
    p->n_pending = n;
    return HULL_OK;
}

static hull_status learn(pt2 *p, json_t *size, dim d)
{
    json_t *text = json_object_get(json_object_get(size, "as_expr"),
                                   "expr_str");
    str name = pt2_unbacked_name(text_of(text));

    return name.n ? define(p, name, d) : HULL_OK;
}

hull_status pt2_learn_sizes(pt2 *p, const pt2_scope *s, str name,
                            const type *t)
{
    json_t *meta = json_object_getn(json_object_get(s->graph, "tensor_values"),
                                    name.p, name.n);
    json_t *sizes = json_object_get(meta, "sizes");

    for (uint32_t i = 0; i < t->rank; i++)
        TRY(learn(p, json_array_get(sizes, i), t->dims[i]));
    return HULL_OK;
}

hull_status pt2_learn_number(pt2 *p, const pt2_scope *s, str name, dim d)
{
    return learn(p, json_object_getn(json_object_get(s->graph,
                                                     "sym_int_values"),
                                     name.p, name.n), d);
}

/* ---- guards in the inputs' types ----------------------------------------- */

/* Where a symbol stands alone for the first time: input * HULL_MAX_RANK + dim;
 * UINT32_MAX when nowhere. */
static uint32_t place_of(const type *inputs, uint32_t n, dim sym)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < inputs[i].rank; k++)
            if (inputs[i].dims[k] == sym)
                return i * HULL_MAX_RANK + k;
    return UINT32_MAX;
}

/* 0 when the relation holds, below 0 otherwise. */
static dim penalty(ir *m, const pt2_relation *r)
{
    dim none = 0, minus = dim_sub(m, 0, r->e);
    int64_t lo, hi;

    if (!r->equal)
        return dim_min(m, none, r->e);
    dim_range(m, r->e, &lo, &hi);
    return lo >= 0 ? minus : dim_min(m, r->e, minus);
}

hull_status pt2_guard_inputs(pt2 *p, const type *plain, type *out, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = type_copy(p->m, p->m, &plain[i]);
    TRY(ir_status(p->m));
    for (uint32_t g = 0; g < p->n_guards; g++) {
        symbols s = {0};
        uint32_t last = 0;

        add_symbols(p->m, p->guards[g].e, &s, 0);
        for (uint32_t i = 0; i < s.n && last != UINT32_MAX; i++) {
            uint32_t at = place_of(plain, n, s.s[i]);

            last = at > last ? at : last;
        }
        if (last == UINT32_MAX || s.n == 0)
            continue; /* no input brings that size as it is */
        type *t = &out[last / HULL_MAX_RANK];
        dim *d = arena_memdup(&p->m->a, t->dims, t->rank * sizeof *d);
        if (!d)
            return fail_oom(t->rank * sizeof *d);
        uint32_t k = last % HULL_MAX_RANK;
        d[k] = dim_add(p->m, d[k], penalty(p->m, &p->guards[g]));
        t->dims = d;
    }
    return ir_status(p->m);
}
