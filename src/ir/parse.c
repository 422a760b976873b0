/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * parse.c - the reader of the language, one token ahead; docs/ir.md:
 *   module := graph+
 *   graph  := 'graph' '@' name '(' params ')' ['on' name] ['where' ranges]
 *             '{' node* return '}'
 *   params := [param (',' param)*]
 *   param  := val ':' type ['=' 'state' string]
 *   range  := sym '=' int '..' [int] ['opt' int]
 *   node   := [val (',' val)* '='] ident [arg (',' arg)*] [attrs]
 *             [':' type (',' type)*]
 *   arg    := val | '_' | string | '@' name
 *   return := 'return' [val ('->' string)* (',' ...)*]
 *   body   := 'graph' '(' params ')' '{' node* return '}'
 *   val    := '%' (ident | int)          name := ident | string
 * The lexer, dims and types, attributes and literals have files of their own.
 * Types that are left out come from the shape rules; written ones must agree
 * with the rules and are then kept as they are written.
 */
#include "ir/lex.h"

#include <string.h>

#define MAX_OUT 65536
#define MAX_STATES 4096

/* Parameters of states whose result was not seen yet. */
typedef struct pending {
    str initial;
    uint32_t param;
    bool done;
} pending;

typedef struct pendings {
    pending *p;
    uint32_t n;
    size_t cap;
} pendings;

/* ---- values -------------------------------------------------------------- */

/* '%' and a name or number, whose text is *out. */
static hull_status parse_val(parser *p, str *out)
{
    size_t end = p->x.tok.off + 1;

    *out = (str){ "", 0 };
    if (!lex_is(&p->x, '%'))
        return lex_wanted(&p->x, "a value");
    TRY(lex_next(&p->x));
    if ((p->x.tok.kind != TOK_IDENT && p->x.tok.kind != TOK_INT) ||
        p->x.tok.off != end)
        return lex_wanted(&p->x, "the name of a value");
    *out = p->x.tok.text;
    return lex_next(&p->x);
}

static hull_status parse_use(parser *p, val *out)
{
    token at = p->x.tok;
    str name;

    *out = 0;
    TRY(parse_val(p, &name));
    if (!strmap_get(&p->values, name, out))
        return fail(HULL_EFORMAT, "line %u column %u: %%%.*s is not defined",
                    at.line, at.column, STR_ARG(name));
    if (!region_inside(p->r, p->g->values[*out]->scope))
        return fail(HULL_EFORMAT,
                    "line %u column %u: %%%.*s is not visible "
                    "here",
                    at.line, at.column, STR_ARG(name));
    return HULL_OK;
}

static hull_status define(parser *p, const token *at, str name, val v)
{
    uint32_t seen;

    if (strmap_get(&p->values, name, &seen))
        return fail(HULL_EFORMAT, "line %u column %u: %%%.*s is defined twice",
                    at->line, at->column, STR_ARG(name));
    if (is_ident(name))
        value_set_name(p->g, v, name);
    TRY(ir_status(p->m));
    return strmap_set(&p->values, name, v);
}

/* An identifier or string. */
static hull_status parse_name(parser *p, str *out)
{
    if (p->x.tok.kind == TOK_STRING)
        return lex_string(&p->x, out);
    return lex_ident(&p->x, out);
}

/* ---- parameters and results ---------------------------------------------- */

static hull_status parse_state(parser *p, pendings *s, uint32_t param)
{
    str initial;
    bool is_state;

    TRY(lex_try(&p->x, '=', &is_state));
    if (!is_state)
        return HULL_OK;
    if (s == NULL)
        return lex_fail(&p->x, "the parameter of a body is no state");
    TRY(lex_word(&p->x, "state"));
    TRY(lex_string(&p->x, &initial));
    if (s->n == MAX_STATES)
        return lex_fail(&p->x, "a graph has more than %d states", MAX_STATES);
    TRY(mem_grow(&s->p, &s->cap, (size_t)s->n + 1, sizeof(*s->p)));
    s->p[s->n++] = (pending){ initial, param, false };
    return HULL_OK;
}

static hull_status parse_params(parser *p, pendings *s)
{
    bool more;

    TRY(lex_skip(&p->x, '('));
    for (more = !lex_is(&p->x, ')'); more;) {
        token at = p->x.tok;
        uint32_t index = p->r->n_params;
        str name;
        type t;
        val v;

        TRY(parse_val(p, &name));
        TRY(lex_skip(&p->x, ':'));
        TRY(parse_type(&p->x, &t));
        v = graph_param(p->g, (str){ "", 0 }, &t);
        TRY(ir_status(p->m));
        TRY(define(p, &at, name, v));
        TRY(parse_state(p, s, index));
        TRY(lex_try(&p->x, ',', &more));
    }
    return lex_skip(&p->x, ')');
}

static hull_status parse_state_result(parser *p, pendings *s, uint32_t result)
{
    str initial;

    TRY(lex_next(&p->x)); /* the arrow */
    if (p->x.tok.kind != TOK_STRING)
        return lex_wanted(&p->x, "the name of a state");
    initial = p->x.tok.text;
    for (uint32_t i = 0; s != NULL && i < s->n; i++) {
        if (s->p[i].done || !str_eq(s->p[i].initial, initial))
            continue;
        s->p[i].done = true;
        graph_set_state(p->g, s->p[i].param, result, initial);
        TRY(ir_status(p->m));
        return lex_next(&p->x);
    }
    return lex_fail(&p->x, "no parameter waits for state \"%.*s\"",
                    STR_ARG(initial));
}

static hull_status parse_return(parser *p, pendings *s)
{
    bool more;

    TRY(lex_word(&p->x, "return"));
    for (more = lex_is(&p->x, '%'); more;) {
        uint32_t result = p->r->n_results;
        val v;

        TRY(parse_use(p, &v));
        graph_result(p->g, v);
        TRY(ir_status(p->m));
        while (p->x.tok.kind == TOK_ARROW)
            TRY(parse_state_result(p, s, result));
        TRY(lex_try(&p->x, ',', &more));
    }
    for (uint32_t i = 0; s != NULL && i < s->n; i++)
        if (!s->p[i].done)
            return lex_fail(&p->x, "no result is written to state \"%.*s\"",
                            STR_ARG(s->p[i].initial));
    return HULL_OK;
}

/* ---- nodes --------------------------------------------------------------- */

typedef struct outs {
    str *names;
    token *at;
    type *types;
    uint32_t n, n_types;
    size_t cap_names, cap_at, cap_types;
} outs;

static void outs_fini(outs *o)
{
    mem_free(o->names);
    mem_free(o->at);
    mem_free(o->types);
}

static hull_status parse_outs(parser *p, outs *o)
{
    bool more = lex_is(&p->x, '%');
    bool some = more;

    while (more) {
        if (o->n == MAX_OUT)
            return lex_fail(&p->x, "a node has more than %d results", MAX_OUT);
        TRY(mem_grow(&o->names, &o->cap_names, (size_t)o->n + 1,
                     sizeof(*o->names)));
        TRY(mem_grow(&o->at, &o->cap_at, (size_t)o->n + 1, sizeof(*o->at)));
        o->at[o->n] = p->x.tok;
        TRY(parse_val(p, &o->names[o->n]));
        o->n++;
        TRY(lex_try(&p->x, ',', &more));
    }
    return some ? lex_skip(&p->x, '=') : HULL_OK;
}

static hull_status parse_types(parser *p, outs *o)
{
    bool more;

    TRY(lex_try(&p->x, ':', &more));
    while (more) {
        if (o->n_types == o->n)
            return lex_fail(&p->x, "more types than results");
        TRY(mem_grow(&o->types, &o->cap_types, (size_t)o->n_types + 1,
                     sizeof(*o->types)));
        TRY(parse_type(&p->x, &o->types[o->n_types]));
        o->n_types++;
        TRY(lex_try(&p->x, ',', &more));
    }
    if (o->n_types != 0 && o->n_types != o->n)
        return lex_fail(&p->x, "%u results have %u types", o->n, o->n_types);
    return HULL_OK;
}

/* "name" or @callee: the first attribute of weight and call. */
static hull_status parse_name_arg(parser *p, node *n)
{
    const op_info *info = op_get(n->op);
    bool is_callee = lex_is(&p->x, '@');
    const char *name = is_callee ? "callee" : "name";
    str text;

    if (info->n_attrs == 0 || strcmp(info->attrs[0].name, name) != 0)
        return lex_fail(&p->x, "op '%s' takes no such operand", info->name);
    if (n->attrs[0].set)
        return lex_fail(&p->x, "op '%s' takes one name", info->name);
    if (is_callee)
        TRY(lex_next(&p->x));
    TRY(is_callee ? parse_name(p, &text) : lex_string(&p->x, &text));
    node_str(p->g, n, name, text);
    return ir_status(p->m);
}

static hull_status parse_arg(parser *p, node *n)
{
    val v = 0;

    if (p->x.tok.kind == TOK_STRING || lex_is(&p->x, '@'))
        return parse_name_arg(p, n);
    if (lex_is_word(&p->x, "_"))
        TRY(lex_next(&p->x));
    else
        TRY(parse_use(p, &v));
    node_input(p->g, n, v);
    return ir_status(p->m);
}

static hull_status parse_args(parser *p, node *n)
{
    bool more = lex_is(&p->x, '%') || lex_is(&p->x, '@') ||
                p->x.tok.kind == TOK_STRING || lex_is_word(&p->x, "_");

    while (more) {
        TRY(parse_arg(p, n));
        TRY(lex_try(&p->x, ',', &more));
    }
    return HULL_OK;
}

static hull_status type_clash(parser *p, const outs *o, uint32_t i,
                              const type *found)
{
    char texts[2][200];
    const type *t[2] = { found, &o->types[i] };

    for (int k = 0; k < 2; k++) {
        buf b;

        buf_init(&b, 1 << 16);
        type_print(&b, p->m, t[k]);
        snprintf(texts[k], sizeof(texts[k]), "%.199s", b.p ? b.p : "");
        buf_fini(&b);
    }
    return fail(HULL_EFORMAT,
                "line %u column %u: %%%.*s has type %s, %s is "
                "written",
                o->at[i].line, o->at[i].column, STR_ARG(o->names[i]), texts[0],
                texts[1]);
}

static hull_status check_types(parser *p, const node *n, const outs *o)
{
    for (uint32_t i = 0; i < o->n_types; i++) {
        if (!type_agrees(p->m, graph_type(p->g, n->out[i]), &o->types[i]))
            return type_clash(p, o, i, graph_type(p->g, n->out[i]));
        value_set_type(p->g, n->out[i], &o->types[i]);
    }
    return HULL_OK;
}

static hull_status parse_node_rest(parser *p, const token *at, node *n, outs *o)
{
    const op_info *info = op_get(n->op);
    hull_status st;

    TRY(parse_args(p, n));
    if (lex_is(&p->x, '{'))
        TRY(parse_attrs(p, n));
    TRY(parse_types(p, o));
    TRY(parse_literal_finish(p, n, o->n_types > 0 ? &o->types[0] : NULL));
    if (info->n_out >= 0 && (uint32_t)info->n_out != o->n)
        return fail(HULL_EFORMAT,
                    "line %u column %u: op '%s' has %d results, "
                    "%u are named",
                    at->line, at->column, info->name, info->n_out, o->n);
    if (info->n_out < 0)
        node_outputs(p->g, n, o->n);
    for (uint32_t i = 0; i < o->n_types; i++)
        node_type(p->g, n, i, &o->types[i]);
    node_add(p->g, n);
    st = ir_status(p->m);
    TRY(note(st, "line %u column %u", at->line, at->column));
    TRY(check_types(p, n, o));
    for (uint32_t i = 0; i < o->n; i++)
        TRY(define(p, &o->at[i], o->names[i], n->out[i]));
    return HULL_OK;
}

static hull_status parse_node(parser *p)
{
    raw_literal outer = p->lit;
    outs o = { 0 };
    token at = p->x.tok;
    hull_status st;
    str op;
    node *n;

    p->lit = (raw_literal){ 0 };
    TRY_OUT(parse_outs(p, &o));
    at = p->x.tok;
    TRY_OUT(lex_ident(&p->x, &op));
    if (op_find(op) == OP_none) {
        st = fail(HULL_EFORMAT, "line %u column %u: there is no op '%.*s'",
                  at.line, at.column, STR_ARG(op));
        goto out;
    }
    n = node_new(p->g, op_find(op));
    TRY_OUT(ir_status(p->m));
    TRY_OUT(parse_node_rest(p, &at, n, &o));
out:
    outs_fini(&o);
    mem_free(p->lit.p);
    p->lit = outer;
    return st;
}

/* '{' node* return '}' into the current region. */
static hull_status parse_block(parser *p, pendings *s)
{
    TRY(lex_skip(&p->x, '{'));
    while (!lex_is_word(&p->x, "return"))
        TRY(parse_node(p));
    TRY(parse_return(p, s));
    return lex_skip(&p->x, '}');
}

hull_status parse_body(parser *p, node *n, const char *name)
{
    region *outer = p->r;
    hull_status st;

    TRY(lex_word(&p->x, "graph"));
    p->r = node_body(p->g, n, name);
    if (p->r == NULL) {
        p->r = outer;
        return note(ir_status(p->m), "line %u column %u", p->x.tok.line,
                    p->x.tok.column);
    }
    p->g->insert_in = p->r;
    TRY_OUT(parse_params(p, NULL));
    TRY_OUT(parse_block(p, NULL));
out:
    p->r = outer;
    p->g->insert_in = outer;
    return st;
}

/* ---- graphs -------------------------------------------------------------- */

static hull_status parse_range(parser *p)
{
    lexer *x = &p->x;
    int64_t min, max = INT64_MAX, opt = 0;
    str name;
    dim d;
    const dim_node *n;

    TRY(parse_name(p, &name));
    TRY(lex_skip(x, '='));
    TRY(lex_i64(x, &min));
    if (x->tok.kind != TOK_DOTS)
        return lex_wanted(x, "'..'");
    TRY(lex_next(x));
    if (x->tok.kind == TOK_INT || lex_is(x, '-'))
        TRY(lex_i64(x, &max));
    if (lex_is_word(x, "opt")) {
        TRY(lex_next(x));
        TRY(lex_i64(x, &opt));
    }
    if (min > max)
        return lex_fail(x, "range of '%.*s' is empty", STR_ARG(name));
    d = dim_sym(p->m, name);
    TRY(ir_status(p->m));
    n = dim_get(p->m, d);
    if ((n->min != 0 || n->max != INT64_MAX || n->opt != 0) &&
        (n->min != min || n->max != max || n->opt != opt))
        return lex_fail(x, "size '%.*s' has two ranges", STR_ARG(name));
    dim_set_range(p->m, d, min, max);
    dim_set_opt(p->m, d, opt);
    return HULL_OK;
}

static hull_status parse_where(parser *p)
{
    bool more = lex_is_word(&p->x, "where");

    if (more)
        TRY(lex_next(&p->x));
    while (more) {
        TRY(parse_range(p));
        TRY(lex_try(&p->x, ',', &more));
    }
    return HULL_OK;
}

static hull_status parse_graph_rest(parser *p, pendings *s)
{
    str name;

    TRY(parse_params(p, s));
    if (lex_is_word(&p->x, "on")) {
        TRY(lex_next(&p->x));
        TRY(parse_name(p, &name));
        p->g->backend = ir_str(p->m, name);
    }
    TRY(parse_where(p));
    return parse_block(p, s);
}

static hull_status parse_graph(parser *p)
{
    pendings s = { 0 };
    hull_status st;
    str name;
    uint32_t seen;

    TRY(lex_word(&p->x, "graph"));
    TRY(lex_skip(&p->x, '@'));
    TRY(parse_name(p, &name));
    if (strmap_get(&p->graphs, name, &seen))
        return lex_fail(&p->x, "graph '@%.*s' is defined twice", STR_ARG(name));
    TRY(strmap_set(&p->graphs, name, p->m->n_graphs));
    p->g = graph_new(p->m, name);
    TRY(ir_status(p->m));
    p->r = p->g->body;
    st = parse_graph_rest(p, &s);
    mem_free(s.p);
    strmap_fini(&p->values);
    p->values = (strmap){ 0 };
    return st;
}

hull_status ir_parse(ir **out, str text, const ir *pins)
{
    parser p = { .pins = pins };
    hull_status st;

    *out = NULL;
    TRY(ir_new(&p.m));
    lex_init(&p.x, text, p.m);
    TRY_OUT(lex_next(&p.x));
    do
        TRY_OUT(parse_graph(&p));
    while (p.x.tok.kind != TOK_END);
    TRY_OUT(ir_verify(p.m));
    *out = p.m;
    p.m = NULL;
out:
    strmap_fini(&p.graphs);
    ir_free(p.m);
    return st;
}
