/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * text.c - the printer of the language that docs/ir.md describes; parse.c
 * reads it back. A value prints with its name when that is an identifier which
 * no earlier value has, else with a number; numbers are given in the order of
 * the text. The canonical form drops names and numbers symbols and holes too.
 * Symbols are met while the body is printed, so the body goes to a buffer of
 * its own and the `where` clause in front of it is written last.
 */
#include "ir/ir_private.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define NAMED UINT32_MAX

typedef struct printer {
    buf *b;
    const graph *g;
    const strmap *holes; /* not NULL: the canonical form */
    uint32_t *number;    /* per value; NAMED = prints its name */
    uint32_t n_numbers;
    strmap names;         /* taken */
    uint32_t *sym_number; /* per dim entry: number + 1; 0 = not met */
    dim *syms;            /* met, in order */
    uint32_t n_syms;
    size_t cap_syms;
    uint32_t *param_state; /* per parameter of the body: state + 1, 0 = none */
    uint32_t *result_state;
    bool failed;
} printer;

/* ---- names --------------------------------------------------------------- */

static void name_value(printer *p, val v)
{
    const value *x = p->g->values[v];
    uint32_t seen;

    if (v == 0)
        return;
    p->number[v] = NAMED;
    if (p->holes != NULL || !is_ident(x->name) ||
        strmap_get(&p->names, x->name, &seen)) {
        p->number[v] = p->n_numbers++;
        return;
    }
    if (strmap_set(&p->names, x->name, v) != HULL_OK)
        p->failed = true;
}

static void name_region(printer *p, const region *r)
{
    region *b;

    for (uint32_t i = 0; i < r->n_params; i++)
        name_value(p, r->params[i]);
    for (const node *n = r->first; n != NULL; n = n->next) {
        for (uint32_t i = 0; i < n->n_out; i++)
            name_value(p, n->out[i]);
        for (uint32_t i = 0; (b = node_body_at(n, i)) != NULL; i++)
            name_region(p, b);
    }
}

static void print_value(printer *p, val v)
{
    v = graph_resolve(p->g, v);
    if (v == 0) {
        buf_putc(p->b, '_');
        return;
    }
    buf_putc(p->b, '%');
    if (p->number[v] == NAMED)
        buf_str(p->b, p->g->values[v]->name);
    else
        buf_int(p->b, p->number[v]);
}

static void print_symbol_name(buf *b, str name)
{
    if (is_ident(name))
        buf_str(b, name);
    else
        buf_quoted(b, name);
}

/* A dim_sym_fn: writes the symbol and notes that it was met. */
static void print_symbol(void *user, buf *b, dim d, const dim_node *n)
{
    printer *p = user;
    uint64_t i = (uint64_t) - (d + 2);

    if (p->sym_number[i] == 0) {
        if (mem_grow(&p->syms, &p->cap_syms, (size_t)p->n_syms + 1,
                     sizeof(*p->syms)) != HULL_OK) {
            p->failed = true;
            return;
        }
        p->syms[p->n_syms++] = d;
        p->sym_number[i] = p->n_syms;
    }
    if (p->holes != NULL)
        buf_printf(b, "d%u", p->sym_number[i] - 1);
    else
        print_symbol_name(b, n->name);
}

static void print_dim(printer *p, dim d)
{
    dim_print_with(p->b, p->g->m, d, print_symbol, p);
}

static void print_type(printer *p, const type *t)
{
    type_print_with(p->b, p->g->m, t, print_symbol, p);
}

static void print_hole(printer *p, str name)
{
    uint32_t i = 0;

    if (p->holes == NULL)
        buf_quoted(p->b, name);
    else if (strmap_get(p->holes, name, &i))
        buf_printf(p->b, "\"%u\"", i);
    else
        p->failed = true;
}

/* ---- numbers ------------------------------------------------------------- */

static uint64_t code_at(hull_dtype dt, const void *data, uint64_t i)
{
    uint32_t bits = hull_dtype_bits(dt);
    const uint8_t *b = data;
    uint64_t u = 0;

    if (bits < 8)
        return (b[i / (8 / bits)] >> (i % (8 / bits) * bits)) &
               ((1u << bits) - 1);
    memcpy(&u, b + i * (bits / 8), bits / 8);
    return u;
}

/* The bits that plain `nan` stands for. */
static uint64_t plain_nan(hull_dtype dt)
{
    uint64_t room = 0;

    store_f64(dt, &room, 0, (double)NAN);
    return code_at(dt, &room, 0);
}

static void print_float(buf *b, hull_dtype dt, const void *data, uint64_t i)
{
    double v = load_f64(dt, data, i);
    uint64_t code = code_at(dt, data, i);
    char text[40];
    buf t;
    double back;

    if (isnan(v)) {
        if (code == plain_nan(dt))
            buf_puts(b, "nan");
        else
            buf_printf(b, "nan(0x%" PRIx64 ")", code);
        return;
    }
    if (dt == HULL_F64 || isinf(v)) {
        buf_f64(b, v);
        return;
    }
    /* The shorter text of an f32 counts when it also survives the way through
     * double that the reader takes. */
    buf_init(&t, sizeof(text));
    buf_f32(&t, (float)v);
    b->failed = b->failed || t.failed; /* another text would be another key */
    if (!t.failed && str_to_f64(&back, buf_view(&t)) &&
        (double)(float)back == v)
        buf_str(b, buf_view(&t));
    else
        buf_f64(b, v);
    buf_fini(&t);
}

/* Element i of a literal. */
static void print_element(buf *b, hull_dtype dt, const void *data, uint64_t i)
{
    if (dtype_is_float(dt))
        print_float(b, dt, data, i);
    else if (dt == HULL_BOOL)
        buf_puts(b, load_i64(dt, data, i) != 0 ? "true" : "false");
    else if (dtype_is_unsigned(dt))
        buf_printf(b, "%" PRIu64, (uint64_t)load_i64(dt, data, i));
    else
        buf_int(b, load_i64(dt, data, i));
}

/* Complex elements are two floats each. */
static void print_elements(buf *b, const literal *l)
{
    hull_dtype dt = l->dtype;
    uint64_t n = l->numel;

    if (dtype_is_complex(dt)) {
        dt = dt == HULL_C64 ? HULL_F32 : HULL_F64;
        n *= 2;
    }
    for (uint64_t i = 0; i < n; i++) {
        if (i > 0)
            buf_putc(b, ',');
        print_element(b, dt, l->data, i);
    }
}

/* Is t the type of l? Then the text after the colon tells it. */
static bool type_is_literals(const type *t, const literal *l)
{
    if (t->kind != TYPE_TENSOR || t->dtype != l->dtype || t->rank != l->rank)
        return false;
    for (uint32_t i = 0; i < l->rank; i++)
        if (t->dims[i] != l->shape[i])
            return false;
    return true;
}

static void print_literal(printer *p, const literal *l, const node *n)
{
    char hex[DIGEST_HEX_SIZE];

    if (n->n_out == 0 || !type_is_literals(&p->g->values[n->out[0]]->type, l)) {
        buf_puts(p->b, hull_dtype_name(l->dtype));
        buf_putc(p->b, '[');
        for (uint32_t i = 0; i < l->rank; i++)
            buf_printf(p->b, "%s%" PRId64, i == 0 ? "" : ",", l->shape[i]);
        buf_puts(p->b, "] ");
    }
    if (l->numel > LITERAL_TEXT_MAX) {
        digest_hex(&l->digest, hex);
        buf_putc(p->b, '#');
        buf_puts(p->b, hex);
        return;
    }
    if (l->rank > 0 || dtype_is_complex(l->dtype))
        buf_putc(p->b, '[');
    print_elements(p->b, l);
    if (l->rank > 0 || dtype_is_complex(l->dtype))
        buf_putc(p->b, ']');
}

/* ---- attributes ---------------------------------------------------------- */

static void print_region(printer *p, const region *r, uint32_t depth);

static void print_list(printer *p, const attr *a, attr_kind kind)
{
    uint32_t n = kind == ATTR_INTS     ? a->u.ints.n
                 : kind == ATTR_FLOATS ? a->u.floats.n
                 : kind == ATTR_STRS   ? a->u.strs.n
                                       : a->u.dims.n;

    buf_putc(p->b, '[');
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0)
            buf_putc(p->b, ',');
        if (kind == ATTR_INTS)
            buf_int(p->b, a->u.ints.p[i]);
        else if (kind == ATTR_FLOATS)
            print_float(p->b, HULL_F64, &a->u.floats.p[i], 0);
        else if (kind == ATTR_STRS)
            buf_quoted(p->b, a->u.strs.p[i]);
        else
            print_dim(p, a->u.dims.p[i]);
    }
    buf_putc(p->b, ']');
}

static void print_params(printer *p, const region *r);

static void print_attr(printer *p, const node *n, const attr *a, attr_kind kind,
                       uint32_t depth)
{
    switch (kind) {
    case ATTR_INT:
        buf_int(p->b, a->u.i);
        break;
    case ATTR_FLOAT:
        print_float(p->b, HULL_F64, &a->u.f, 0);
        break;
    case ATTR_BOOL:
        buf_puts(p->b, a->u.b ? "true" : "false");
        break;
    case ATTR_STR:
        buf_quoted(p->b, a->u.s);
        break;
    case ATTR_DTYPE:
        buf_puts(p->b, hull_dtype_name(a->u.dt));
        break;
    case ATTR_DIM:
        print_dim(p, a->u.d);
        break;
    case ATTR_INTS:
    case ATTR_FLOATS:
    case ATTR_STRS:
    case ATTR_DIMS:
        print_list(p, a, kind);
        break;
    case ATTR_TENSOR:
        if (a->u.t != NULL)
            print_literal(p, a->u.t, n);
        break;
    case ATTR_GRAPH:
        buf_puts(p->b, "graph (");
        print_params(p, a->u.g);
        buf_puts(p->b, ") {\n");
        print_region(p, a->u.g, depth + 1);
        for (uint32_t i = 0; i <= depth; i++)
            buf_puts(p->b, "  ");
        buf_putc(p->b, '}');
        break;
    }
}

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof(a)) == 0;
}

/* Only scalar kinds have defaults. */
static bool is_default(const attr *a, const attr_schema *s)
{
    if (!s->def.set)
        return false;
    switch (s->kind) {
    case ATTR_INT:
        return a->u.i == s->def.u.i;
    case ATTR_FLOAT:
        return same_bits(a->u.f, s->def.u.f);
    case ATTR_BOOL:
        return a->u.b == s->def.u.b;
    case ATTR_STR:
        return str_eq(a->u.s, s->def.u.s);
    case ATTR_DTYPE:
        return a->u.dt == s->def.u.dt;
    case ATTR_DIM:
        return a->u.d == s->def.u.d;
    case ATTR_INTS:
    case ATTR_FLOATS:
    case ATTR_STRS:
    case ATTR_DIMS:
    case ATTR_TENSOR:
    case ATTR_GRAPH:
        break;
    }
    return false;
}

/* ---- nodes --------------------------------------------------------------- */

/* The first attribute `name` or `callee` stands among the operands. */
static bool first_is_operand(const op_info *info)
{
    return info->n_attrs > 0 && info->attrs[0].kind == ATTR_STR &&
           (strcmp(info->attrs[0].name, "name") == 0 ||
            strcmp(info->attrs[0].name, "callee") == 0);
}

static void print_graph_name(buf *b, str name)
{
    buf_putc(b, '@');
    print_symbol_name(b, name);
}

static void print_operands(printer *p, const node *n, const op_info *info)
{
    const char *sep = " ";

    if (first_is_operand(info)) {
        buf_puts(p->b, sep);
        if (info->attrs[0].name[0] == 'c')
            print_graph_name(p->b, n->attrs[0].u.s);
        else
            print_hole(p, n->attrs[0].u.s);
        sep = ", ";
    }
    for (uint32_t i = 0; i < n->n_in; i++) {
        buf_puts(p->b, sep);
        print_value(p, n->in[i]);
        sep = ", ";
    }
}

static void print_attrs(printer *p, const node *n, const op_info *info,
                        uint32_t depth)
{
    const char *sep = " {";

    for (uint32_t i = first_is_operand(info); i < info->n_attrs; i++) {
        const attr *a = &n->attrs[i];

        if (!a->set || is_default(a, &info->attrs[i]))
            continue;
        buf_puts(p->b, sep);
        buf_puts(p->b, info->attrs[i].name);
        buf_putc(p->b, '=');
        print_attr(p, n, a, info->attrs[i].kind, depth);
        sep = ", ";
    }
    if (sep[0] == ',')
        buf_putc(p->b, '}');
}

static void print_node(printer *p, const node *n, uint32_t depth)
{
    const op_info *info = op_get(n->op);

    for (uint32_t i = 0; i <= depth; i++)
        buf_puts(p->b, "  ");
    for (uint32_t i = 0; i < n->n_out; i++) {
        if (i > 0)
            buf_puts(p->b, ", ");
        print_value(p, n->out[i]);
    }
    if (n->n_out > 0)
        buf_puts(p->b, " = ");
    buf_puts(p->b, info->name);
    print_operands(p, n, info);
    print_attrs(p, n, info, depth);
    for (uint32_t i = 0; i < n->n_out; i++) {
        buf_puts(p->b, i == 0 ? " : " : ", ");
        print_type(p, &p->g->values[n->out[i]]->type);
    }
    buf_putc(p->b, '\n');
}

/* ---- regions, graphs ----------------------------------------------------- */

static void print_params(printer *p, const region *r)
{
    const graph *g = p->g;

    for (uint32_t i = 0; i < r->n_params; i++) {
        if (i > 0)
            buf_puts(p->b, ", ");
        print_value(p, r->params[i]);
        buf_puts(p->b, ": ");
        print_type(p, &g->values[r->params[i]]->type);
        if (r->owner == NULL && p->param_state[i] != 0) {
            buf_puts(p->b, " = state ");
            print_hole(p, g->states[p->param_state[i] - 1].initial);
        }
    }
}

static void print_region(printer *p, const region *r, uint32_t depth)
{
    const graph *g = p->g;

    for (const node *n = r->first; n != NULL; n = n->next)
        print_node(p, n, depth);
    for (uint32_t i = 0; i <= depth; i++)
        buf_puts(p->b, "  ");
    buf_puts(p->b, "return");
    for (uint32_t i = 0; i < r->n_results; i++) {
        buf_puts(p->b, i == 0 ? " " : ", ");
        print_value(p, r->results[i]);
        if (r->owner == NULL && p->result_state[i] != 0) {
            buf_puts(p->b, " -> ");
            print_hole(p, g->states[p->result_state[i] - 1].initial);
        }
    }
    buf_putc(p->b, '\n');
}

/* Ranges of the symbols that were met, where they say anything. */
static void print_where(printer *p, buf *b)
{
    const char *sep = " where ";

    for (uint32_t i = 0; i < p->n_syms; i++) {
        const dim_node *n = dim_get(p->g->m, p->syms[i]);

        if (n->min == 0 && n->max == INT64_MAX && n->opt == 0)
            continue;
        buf_puts(b, sep);
        if (p->holes != NULL)
            buf_printf(b, "d%u", i);
        else
            print_symbol_name(b, n->name);
        buf_printf(b, "=%" PRId64 "..", n->min);
        if (n->max != INT64_MAX)
            buf_printf(b, "%" PRId64, n->max);
        if (n->opt != 0)
            buf_printf(b, " opt %" PRId64, n->opt);
        sep = ", ";
    }
}

static void print_graph(printer *p, buf *out)
{
    const graph *g = p->g;
    buf body;

    name_region(p, g->body);
    p->b = out;
    buf_puts(out, "graph ");
    print_graph_name(out, p->holes != NULL ? str_of("b") : g->name);
    buf_putc(out, '(');
    print_params(p, g->body);
    buf_putc(out, ')');
    if (p->holes == NULL && g->backend.n > 0) {
        buf_puts(out, " on ");
        print_symbol_name(out, g->backend);
    }
    buf_init(&body, out->max);
    p->b = &body;
    print_region(p, g->body, 0);
    print_where(p, out);
    buf_puts(out, " {\n");
    buf_str(out, buf_view(&body));
    buf_puts(out, "}\n");
    if (body.failed || p->failed)
        out->failed = true;
    buf_fini(&body);
}

/* Which parameters and results are states; damaged states do not show. */
static void index_states(printer *p)
{
    const graph *g = p->g;

    for (uint32_t k = 0; k < g->n_states; k++) {
        const graph_state *s = &g->states[k];

        if (s->param >= g->body->n_params || s->result >= g->body->n_results)
            continue;
        p->param_state[s->param] = k + 1;
        p->result_state[s->result] = k + 1;
    }
}

static void print_with(buf *out, const graph *g, const strmap *holes)
{
    printer p = { .g = g, .holes = holes };

    p.number = mem_calloc(g->n_values, sizeof(*p.number));
    p.sym_number = mem_calloc(dim_n_nodes(g->m), sizeof(*p.sym_number));
    p.param_state = mem_calloc(g->body->n_params, sizeof(*p.param_state));
    p.result_state = mem_calloc(g->body->n_results, sizeof(*p.result_state));
    if (p.number == NULL || p.sym_number == NULL || p.param_state == NULL ||
        p.result_state == NULL) {
        out->failed = true;
    } else {
        index_states(&p);
        print_graph(&p, out);
    }
    mem_free(p.number);
    mem_free(p.sym_number);
    mem_free(p.param_state);
    mem_free(p.result_state);
    mem_free(p.syms);
    strmap_fini(&p.names);
}

void graph_print(buf *out, const graph *g)
{
    print_with(out, g, NULL);
}

void graph_print_canonical(buf *out, const graph *g, const strmap *holes)
{
    print_with(out, g, holes);
}

void ir_print(buf *out, const ir *m)
{
    for (uint32_t i = 0; i < m->n_graphs; i++)
        graph_print(out, m->graphs[i]);
}
