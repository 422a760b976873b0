/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * verify.c - what has to hold in every graph: counts, links, scopes, order,
 * attributes, literals, states, and that the shape rules agree with the types
 * that values carry. Up to MAX_PROBLEMS of them are told in one message. The
 * graph is left as it was: a shape rule writes types and known values, which
 * are put back. Recursion is over bodies, at most IR_MAX_DEPTH deep.
 */
#include "ir/ir_private.h"

#include <stdarg.h>
#include <string.h>

#define MAX_PROBLEMS 20

typedef struct checker {
    graph *g;
    buf text;
    uint32_t n;       /* problems found; more than MAX_PROBLEMS: cut */
    uint8_t *defined; /* per value: 1 = its definition was passed */
    strmap holes;
    binders binders;
    const region *here; /* of the node whose symbols are looked at */
    const node *at;  /* NULL: not at a node */
    bool structural; /* types cannot be checked any more */
    hull_status st;  /* not OK: no memory */
} checker;

static void problem(checker *c, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void problem(checker *c, const char *fmt, ...)
{
    va_list ap;
    const node *n = c->at;

    if (++c->n > MAX_PROBLEMS)
        return;
    if (c->n > 1)
        buf_puts(&c->text, "; ");
    buf_printf(&c->text, "graph '%.*s'", STR_ARG(c->g->name));
    if (n != NULL) {
        buf_printf(&c->text, " op '%s'", op_get(n->op)->name);
        if (n->label.n > 0)
            buf_printf(&c->text, " (%.*s)", STR_ARG(n->label));
        else if (n->n_out > 0 && n->out[0] < c->g->n_values &&
                 c->g->values[n->out[0]]->name.n > 0)
            buf_printf(&c->text, " (%%%.*s)",
                       STR_ARG(c->g->values[n->out[0]]->name));
    }
    buf_puts(&c->text, ": ");
    va_start(ap, fmt);
    buf_vprintf(&c->text, fmt, ap);
    va_end(ap);
}

static void put_type(checker *c, const type *t)
{
    if (c->n <= MAX_PROBLEMS)
        type_print(&c->text, c->g->m, t);
}

static void put(checker *c, const char *text)
{
    if (c->n <= MAX_PROBLEMS)
        buf_puts(&c->text, text);
}

/* ---- values -------------------------------------------------------------- */

static bool is_visible(const region *r, const region *scope)
{
    return scope != NULL && region_inside(r, scope);
}

static void check_use(checker *c, val v, const region *r, const char *what,
                      uint32_t i)
{
    val x;

    if (v >= c->g->n_values) {
        problem(c, "%s %u is value %u of %u", what, i, v, c->g->n_values);
        c->structural = true;
        return;
    }
    x = graph_resolve(c->g, v);
    if (!c->defined[x]) {
        problem(c, "%s %u (value %u) is used before its definition", what, i,
                x);
        c->structural = true;
    } else if (!is_visible(r, c->g->values[x]->scope)) {
        problem(c, "%s %u (value %u) is not visible here", what, i, x);
        c->structural = true;
    }
}

static void check_type(checker *c, val v, const char *what, uint32_t i)
{
    const type *t = &c->g->values[v]->type;

    for (; t->kind == TYPE_SEQUENCE || t->kind == TYPE_OPTIONAL; t = t->elem)
        if (t->elem == NULL)
            break;
    if (t->kind != TYPE_TENSOR && t->kind != TYPE_UNRANKED) {
        problem(c, "%s %u has no type", what, i);
        return;
    }
    if (hull_dtype_bits(t->dtype) == 0)
        problem(c, "%s %u has an unknown element type", what, i);
    for (uint32_t k = 0; k < t->rank; k++)
        if (t->dims[k] < DIM_UNKNOWN &&
            (dim_get(c->g->m, t->dims[k]) == NULL ||
             dim_get(c->g->m, t->dims[k])->op == DIM_INT))
            problem(c, "%s %u has a negative or unknown size", what, i);
}

static void check_definition(checker *c, val v, const node *def,
                             const region *scope, uint32_t i)
{
    const value *x;
    const char *what = def == NULL ? "parameter" : "result";

    if (v == 0 || v >= c->g->n_values) {
        problem(c, "%s %u is value %u of %u", what, i, v, c->g->n_values);
        c->structural = true;
        return;
    }
    x = c->g->values[v];
    if (x->def != def || x->index != i || x->scope != scope) {
        problem(c, "%s %u (value %u) names another definition", what, i, v);
        c->structural = true;
    }
    if (c->defined[v]) {
        problem(c, "%s %u (value %u) is defined twice", what, i, v);
        c->structural = true;
    }
    c->defined[v] = 1;
    check_type(c, v, what, i);
}

/* ---- nodes --------------------------------------------------------------- */

static void check_literal(checker *c, const attr_schema *s, const literal *l)
{
    literal again;

    if (l == NULL) {
        problem(c, "attribute '%s' has no literal", s->name);
        return;
    }
    again = *l;
    if (l->rank > HULL_MAX_RANK || !literal_finish(&again) ||
        again.numel != l->numel || again.n_bytes != l->n_bytes ||
        (l->n_bytes > 0 && l->data == NULL))
        problem(c, "literal '%s' does not have the size of its shape", s->name);
    else if (l->numel > LITERAL_TEXT_MAX &&
             !digest_eq(&again.digest, &l->digest))
        problem(c, "literal '%s' does not have its digest", s->name);
}

static void check_attrs(checker *c, const node *n, const op_info *info)
{
    for (uint32_t i = 0; i < info->n_attrs; i++) {
        const attr_schema *s = &info->attrs[i];
        const attr *a = &n->attrs[i];

        if (!a->set) {
            if (s->required) {
                problem(c, "attribute '%s' is missing", s->name);
                c->structural = true;
            }
            continue;
        }
        if (s->kind == ATTR_TENSOR)
            check_literal(c, s, a->u.t);
        if (s->kind == ATTR_DTYPE && hull_dtype_bits(a->u.dt) == 0)
            problem(c, "attribute '%s' is no element type", s->name);
        if (s->kind == ATTR_GRAPH && (a->u.g == NULL || a->u.g->owner != n)) {
            problem(c, "body '%s' belongs to another node", s->name);
            c->structural = true;
        }
    }
}

static void check_counts(checker *c, const node *n, const op_info *info)
{
    if (n->n_in < (uint32_t)info->in_min ||
        (info->in_max >= 0 && n->n_in > (uint32_t)info->in_max)) {
        problem(c, "%u operands, %d to %d are wanted", n->n_in, info->in_min,
                info->in_max);
        c->structural = true;
    }
    if (info->n_out >= 0 && n->n_out != (uint32_t)info->n_out) {
        problem(c, "%u results, %d are wanted", n->n_out, info->n_out);
        c->structural = true;
    }
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i] == 0 && i < (uint32_t)info->in_min &&
            !(info->traits & OP_CONTROL)) {
            problem(c, "operand %u is missing", i);
            c->structural = true;
        }
}

static void check_hole(checker *c, const node *n)
{
    str name = attr_str(n, "name");
    uint32_t seen;

    if (strmap_get(&c->holes, name, &seen))
        problem(c, "weight \"%.*s\" is declared twice", STR_ARG(name));
    else if (c->st == HULL_OK)
        c->st = strmap_set(&c->holes, name, 0);
}

static void check_region(checker *c, const region *r, uint32_t depth);

static void check_node(checker *c, node *n, const region *r, uint32_t depth)
{
    const op_info *info;
    region *b;

    if (n->op <= OP_none || n->op >= OP_COUNT) {
        c->at = NULL;
        problem(c, "op code %d is not in the table", (int)n->op);
        c->structural = true;
        return;
    }
    c->at = n;
    info = op_get(n->op);
    if (n->parent != r) {
        problem(c, "the node belongs to another region");
        c->structural = true;
    }
    check_counts(c, n, info);
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i] != 0)
            check_use(c, n->in[i], r, "operand", i);
    check_attrs(c, n, info);
    if (n->op == OP_weight)
        check_hole(c, n);
    for (uint32_t i = 0; (b = node_body_at(n, i)) != NULL; i++)
        check_region(c, b, depth + 1);
    c->at = n;
    for (uint32_t i = 0; i < n->n_out; i++)
        check_definition(c, n->out[i], n, r, i);
}

static void check_region(checker *c, const region *r, uint32_t depth)
{
    const node *prev = NULL;

    if (depth >= IR_MAX_DEPTH) {
        problem(c, "bodies nest more than %d deep", IR_MAX_DEPTH);
        c->structural = true;
        return;
    }
    for (uint32_t i = 0; i < r->n_params; i++)
        check_definition(c, r->params[i], NULL, r, i);
    for (node *n = r->first; n != NULL; prev = n, n = n->next) {
        if (n->prev != prev) {
            problem(c, "the list of nodes is broken");
            c->structural = true;
            return;
        }
        check_node(c, n, r, depth);
    }
    c->at = r->owner;
    for (uint32_t i = 0; i < r->n_results; i++)
        check_use(c, r->results[i], r, "returned value", i);
}

/* ---- symbols ------------------------------------------------------------- */

/* Every symbol is one, and has one binder: this one. */
static void check_bind(checker *c, const node *n)
{
    const attr *a = node_attr(n, "symbols");

    for (uint32_t i = 0; i < a->u.dims.n; i++) {
        dim d = a->u.dims.p[i];

        if (!dim_is_symbol(c->g->m, d))
            problem(c, "entry %u of 'symbols' is no symbol", i);
        else if (c->binders.of[-2 - d] != n)
            problem(c, "symbol %u is bound twice", i);
    }
}

static void check_binder(void *user, val v)
{
    checker *c = user;

    check_use(c, v, c->here, "symbol", 0);
}

/* Once more in order, for who reads which symbol. The structure is sound. */
static void check_symbols(checker *c, const region *r)
{
    for (const node *n = r->first; n != NULL; n = n->next) {
        region *b;

        c->at = n;
        c->here = r;
        binders_each(&c->binders, c->g, n, check_binder, c);
        if (n->op == OP_bind)
            check_bind(c, n);
        for (uint32_t i = 0; (b = node_body_at(n, i)) != NULL; i++)
            check_symbols(c, b);
        for (uint32_t i = 0; i < n->n_out; i++)
            c->defined[n->out[i]] = 1;
    }
}

static hull_status check_binders(checker *c)
{
    hull_status st = binders_get(&c->binders, c->g);

    if (st == HULL_OK && c->binders.of != NULL) {
        memset(c->defined, 0, c->g->n_values);
        check_symbols(c, c->g->body);
    }
    binders_fini(&c->binders);
    return st;
}

/* ---- states -------------------------------------------------------------- */

/* What the states before this one have taken. */
typedef struct taken {
    uint8_t *params, *results;
    strmap names;
} taken;

static void check_unique(checker *c, const graph_state *s, taken *t)
{
    uint32_t seen;

    if (t->params[s->param] || t->results[s->result])
        problem(c, "state \"%.*s\" shares a parameter or result with another",
                STR_ARG(s->initial));
    t->params[s->param] = t->results[s->result] = 1;
    if (strmap_get(&t->names, s->initial, &seen))
        problem(c, "two states are called \"%.*s\"", STR_ARG(s->initial));
    else if (c->st == HULL_OK)
        c->st = strmap_set(&t->names, s->initial, 0);
}

static void check_state(checker *c, const graph_state *s, taken *t)
{
    const graph *g = c->g;
    const type *a, *b;

    if (s->param >= g->body->n_params || s->result >= g->body->n_results) {
        problem(c,
                "state \"%.*s\" joins parameter %u of %u and result %u of "
                "%u",
                STR_ARG(s->initial), s->param, g->body->n_params, s->result,
                g->body->n_results);
        return;
    }
    check_unique(c, s, t);
    a = graph_type(g, g->body->params[s->param]);
    b = graph_type(g, g->body->results[s->result]);
    if (a->kind != TYPE_TENSOR || a->dtype == HULL_STRING)
        problem(c, "state \"%.*s\" is no tensor of numbers",
                STR_ARG(s->initial));
    if (type_agrees(g->m, a, b))
        return;
    problem(c, "state \"%.*s\" has type ", STR_ARG(s->initial));
    put_type(c, a);
    put(c, ", it would become ");
    put_type(c, b);
}

static void check_states(checker *c)
{
    const graph *g = c->g;
    taken t = { 0 };

    t.params = mem_calloc(g->body->n_params, 1);
    t.results = mem_calloc(g->body->n_results, 1);
    if (t.params == NULL || t.results == NULL)
        c->st = fail_oom(g->body->n_params);
    for (uint32_t i = 0; i < g->n_states && c->st == HULL_OK; i++)
        check_state(c, &g->states[i], &t);
    mem_free(t.params);
    mem_free(t.results);
    strmap_fini(&t.names);
}

/* ---- types --------------------------------------------------------------- */

/* Runs the shape rule and puts the values back as they were. */
static hull_status infer_and_compare(checker *c, node *n, value *saved)
{
    graph *g = c->g;
    hull_status st;

    for (uint32_t i = 0; i < n->n_out; i++)
        saved[i] = *g->values[n->out[i]];
    st = node_infer(g, n);
    c->at = n;
    if (st != HULL_OK)
        problem(c, "%s", error_text());
    for (uint32_t i = 0; i < n->n_out; i++) {
        type found = g->values[n->out[i]]->type;

        *g->values[n->out[i]] = saved[i];
        if (st != HULL_OK || type_agrees(g->m, &found, &saved[i].type))
            continue;
        problem(c, "result %u has type ", i);
        put_type(c, &saved[i].type);
        put(c, ", the shape rule gives ");
        put_type(c, &found);
    }
    return g->m->status == HULL_OK ? HULL_OK : ir_status(g->m);
}

static hull_status check_types(checker *c)
{
    value *saved = NULL;
    size_t cap = 0;
    hull_status st = HULL_OK;

    for (node *n = graph_first(c->g); n != NULL && st == HULL_OK;
         n = graph_next(c->g, n)) {
        st = mem_grow(&saved, &cap, (size_t)n->n_out + 1, sizeof(*saved));
        if (st == HULL_OK)
            st = infer_and_compare(c, n, saved);
    }
    mem_free(saved);
    return st;
}

/* ---- entry points -------------------------------------------------------- */

static hull_status report(checker *c)
{
    str s = buf_view(&c->text);

    if (c->n == 0)
        return HULL_OK;
    if (c->n > MAX_PROBLEMS)
        return fail(HULL_EFORMAT, "%.*s; and %u more", (int)s.n, s.p,
                    c->n - MAX_PROBLEMS);
    return fail(HULL_EFORMAT, "%.*s", (int)s.n, s.p);
}

hull_status graph_verify(graph *g)
{
    checker c = { .g = g };
    hull_status st;

    TRY(ir_status(g->m));
    if (g->verified == g->m->edits)
        return HULL_OK;
    buf_init(&c.text, ERROR_TEXT_MAX - 40);
    c.defined = mem_calloc(g->n_values, 1);
    if (c.defined == NULL)
        return fail_oom(g->n_values);
    check_region(&c, g->body, 0);
    if (!c.structural && c.st == HULL_OK)
        c.st = check_binders(&c);
    c.at = NULL;
    if (!c.structural && c.st == HULL_OK)
        check_states(&c);
    st = c.st;
    if (!c.structural && st == HULL_OK)
        st = check_types(&c);
    if (st == HULL_OK)
        st = report(&c);
    if (st == HULL_OK)
        g->verified = g->m->edits;
    buf_fini(&c.text);
    strmap_fini(&c.holes);
    mem_free(c.defined);
    return st;
}

/* A call of a graph that the ir has too must fit it. */
static void check_call(checker *c, const node *n, const strmap *names)
{
    const graph *g = c->g, *to;
    uint32_t i_to;

    if (!strmap_get(names, attr_str(n, "callee"), &i_to))
        return; /* blocks may live in texts of their own */
    to = g->m->graphs[i_to];
    if (to->body->n_params != n->n_in || to->body->n_results != n->n_out) {
        problem(c, "@%.*s takes %u and gives %u values, not %u and %u",
                STR_ARG(to->name), to->body->n_params, to->body->n_results,
                n->n_in, n->n_out);
        return;
    }
    for (uint32_t i = 0; i < n->n_in; i++)
        if (!type_agrees(g->m, graph_type(g, n->in[i]),
                         graph_type(to, to->body->params[i])))
            problem(c, "operand %u does not have the type that @%.*s wants", i,
                    STR_ARG(to->name));
    for (uint32_t i = 0; i < n->n_out; i++)
        if (!type_agrees(g->m, graph_type(g, n->out[i]),
                         graph_type(to, to->body->results[i])))
            problem(c, "result %u does not have the type that @%.*s gives", i,
                    STR_ARG(to->name));
}

static hull_status verify_calls(graph *g, const strmap *names)
{
    checker c = { .g = g };
    hull_status st;

    buf_init(&c.text, ERROR_TEXT_MAX - 40);
    for (const node *n = graph_first(g); n != NULL; n = graph_next(g, n)) {
        c.at = n;
        if (n->op == OP_call)
            check_call(&c, n, names);
    }
    st = report(&c);
    buf_fini(&c.text);
    return st;
}

hull_status ir_verify(ir *m)
{
    strmap names = { 0 };
    hull_status st = HULL_OK;
    uint32_t seen;

    for (uint32_t i = 0; i < m->n_graphs; i++) {
        str name = m->graphs[i]->name;

        TRY_OUT(graph_verify(m->graphs[i]));
        if (strmap_get(&names, name, &seen)) {
            st = fail(HULL_EFORMAT, "two graphs are called '@%.*s'",
                      STR_ARG(name));
            goto out;
        }
        TRY_OUT(strmap_set(&names, name, i));
    }
    for (uint32_t i = 0; i < m->n_graphs; i++)
        TRY_OUT(verify_calls(m->graphs[i], &names));
out:
    strmap_fini(&names);
    return st;
}
