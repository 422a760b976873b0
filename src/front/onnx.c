/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx.c - the walk over an ONNX model: opset imports, scopes of names, inputs
 * and outputs, stored tensors of inner graphs, functions inlined where they
 * are called. Each node goes to the lowering that onnx.def has for its
 * operator and opset; all that have none are reported together, first.
 */
#include "front/onnx.h"

#include <inttypes.h>
#include <string.h>

#define OPSET_MIN 1
#define ABSENT UINT32_MAX /* an optional input that a call left out */

static const str default_domain = {"ai.onnx", 7};

/* ---- names --------------------------------------------------------------- */

static str keep_str(onnx *o, str s)
{
    char *p = arena_strndup(&o->f->m->a, s.n ? s.p : "", s.n);

    if (!p) {
        (void)ir_fail(o->f->m, fail_oom(s.n));
        return str_of("");
    }
    return (str){p, s.n};
}

/* What was written, in the ir's arena; frees b. */
static str keep_buf(onnx *o, buf *b)
{
    hull_status st = buf_status(b);
    str out = {"", 0};

    if (st == HULL_OK)
        out = keep_str(o, buf_view(b));
    else
        (void)ir_fail(o->f->m, st);
    buf_fini(b);
    return out;
}

/* "<prefix><name>", in the ir's arena. */
static str prefixed(onnx *o, str prefix, str name)
{
    buf b;

    if (prefix.n == 0)
        return name;
    buf_init(&b, 1 << 20);
    buf_str(&b, prefix);
    buf_str(&b, name);
    return keep_buf(o, &b);
}

static hull_status define(onnx *o, str name, val v)
{
    uint32_t at = 0;

    if (strmap_get(&o->scope->names, name, &at))
        return fail(HULL_EFORMAT, "value '%.*s' is defined twice",
                    STR_ARG(name));
    return strmap_set(&o->scope->names, name, v);
}

/* The value of a name in the scope or around it. */
static hull_status look_up(onnx *o, str name, val *out)
{
    *out = 0;
    for (const onnx_scope *s = o->scope; s; s = s->parent) {
        if (!strmap_get(&s->names, name, out))
            continue;
        if (*out == ABSENT) {
            *out = 0;
            return HULL_OK;
        }
        if (*out == 0) {
            str full = prefixed(o, s->prefix, name);

            TRY(ir_status(o->f->m));
            *out = front_weight(o->f, full);
        }
        return ir_status(o->f->m);
    }
    return fail(HULL_EFORMAT, "value '%.*s' is used but not defined before",
                STR_ARG(name));
}

/* ---- types --------------------------------------------------------------- */

/* Two parameters with different text must not become one symbol. */
static hull_status dim_name(onnx *o, str param, dim *out)
{
    static const char *const reserved[] = {"min", "max", "bcast", "floor",
                                           "mod", "inf", "nan"};
    char text[64] = "";
    size_t n = 0;
    uint32_t at = 0;

    if (param.p[0] >= '0' && param.p[0] <= '9')
        text[n++] = 'd';
    for (size_t i = 0; i < param.n && n < sizeof text - 2; i++) {
        char c = param.p[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                    (c >= '0' && c <= '9') || c == '_';
        text[n++] = word ? c : '_';
    }
    for (size_t i = 0; i < COUNT_OF(reserved); i++)
        if (str_is((str){text, n}, reserved[i]))
            text[n++] = '_';
    str name = {text, n};
    if (!strmap_get(&o->dim_names, name, &at)) {
        at = o->n_dim_raw;
        TRY(mem_grow(&o->dim_raw, &o->cap_dim_raw, o->n_dim_raw + 1,
                     sizeof *o->dim_raw));
        o->dim_raw[o->n_dim_raw++] = param;
        TRY(strmap_set(&o->dim_names, name, at));
    }
    if (str_eq(o->dim_raw[at], param)) {
        *out = dim_sym(o->f->m, name);
        return HULL_OK;
    }
    /* Another parameter has this name: a longer one tells them apart. */
    buf b;
    buf_init(&b, 256);
    buf_printf(&b, "%s_%016" PRIx64, text, hash64(param.p, param.n));
    *out = dim_sym(o->f->m, keep_buf(o, &b));
    return ir_status(o->f->m);
}

static hull_status size_of(onnx *o, const onnx_dim *x, bool inside, dim *out)
{
    if (x->has_value && x->value >= 0)
        *out = x->value;
    else if (inside)
        *out = DIM_UNKNOWN; /* each item has sizes of its own */
    else if (x->param.n > 0 && !str_is(x->param, "?"))
        TRY(dim_name(o, x->param, out));
    else
        *out = dim_fresh(o->f->m, "d");
    return ir_status(o->f->m);
}

hull_status onnx_value_type(onnx *o, const onnx_value *v, type *out)
{
    dim d[HULL_MAX_RANK];
    hull_dtype dt = onnx_value_dtype(v->elem);
    bool inside = v->n_wraps > 0;

    *out = (type){0};
    if (!v->tensor || dt == HULL_NONE)
        return fail(HULL_EUNSUPPORTED,
                    "'%.*s' does not hold tensors of a known type (element "
                    "type %" PRId64 ")",
                    STR_ARG(v->name), v->elem);
    if ((!v->has_shape && !inside) || v->rank > HULL_MAX_RANK)
        return fail(HULL_EUNSUPPORTED,
                    v->has_shape ? "'%.*s' has a rank above %d"
                                 : "'%.*s' has no shape, want a rank up to %d",
                    STR_ARG(v->name), HULL_MAX_RANK);
    for (uint32_t i = 0; i < v->rank; i++)
        TRY(size_of(o, &v->dims[i], inside, &d[i]));
    *out = v->has_shape ? type_tensor(o->f->m, dt, d, v->rank)
                        : type_unranked(dt);
    for (uint32_t i = v->n_wraps; i-- > 0;)
        *out = v->wraps[i] == ONNX_SEQUENCE_OF ? type_sequence(o->f->m, out)
                                               : type_optional(o->f->m, out);
    return ir_status(o->f->m);
}

/* ---- operators ----------------------------------------------------------- */

static hull_status version_of(const onnx_scope *s, const onnx_node *n,
                              int64_t *out)
{
    for (uint32_t i = 0; i < s->n_imports; i++) {
        if (!str_eq(s->imports[i].domain, n->domain))
            continue;
        *out = s->imports[i].version;
        if (n->domain.n == 0 && *out < OPSET_MIN)
            return fail(HULL_EUNSUPPORTED,
                        "operators of opset %" PRId64 ", want %d or newer",
                        *out, OPSET_MIN);
        return HULL_OK;
    }
    return fail(HULL_EFORMAT,
                "node '%.*s': domain '%.*s' of operator %.*s is not imported",
                STR_ARG(n->name), STR_ARG(n->domain), STR_ARG(n->op));
}

/* A function's identity as one text, in front of the three: their lengths. */
static void put_id(buf *b, str domain, str name, str overload)
{
    buf_init(b, SIZE_MAX);
    buf_printf(b, "%zu %zu ", domain.n, name.n);
    buf_str(b, domain);
    buf_str(b, name);
    buf_str(b, overload);
}

static hull_status index_functions(onnx *o)
{
    for (uint32_t i = 0; i < o->model.n_functions; i++) {
        const onnx_function *fn = &o->model.functions[i];
        hull_status st;
        buf id;

        put_id(&id, fn->domain, fn->name, fn->overload);
        st = buf_status(&id);
        if (st == HULL_OK)
            st = strmap_set(&o->function_of, buf_view(&id), i);
        buf_fini(&id);
        TRY(st);
    }
    return HULL_OK;
}

static hull_status function_of(onnx *o, const onnx_node *n,
                               onnx_function **out)
{
    hull_status st;
    uint32_t i = 0;
    buf id;

    *out = NULL;
    if (o->model.n_functions == 0)
        return HULL_OK;
    put_id(&id, n->domain, n->op, n->overload);
    st = buf_status(&id);
    if (st == HULL_OK && strmap_get(&o->function_of, buf_view(&id), &i))
        *out = &o->model.functions[i];
    buf_fini(&id);
    return st;
}

static hull_status scan_nodes(onnx *o, const onnx_scope *s,
                              const onnx_node *nodes, uint32_t n,
                              uint32_t depth);

/* Lists the operators without a lowering in one node's graphs or function. */
static hull_status scan_node(onnx *o, const onnx_scope *s, const onnx_node *n,
                             uint32_t depth)
{
    onnx_function *fn = NULL;
    int64_t version = 0;

    TRY(function_of(o, n, &fn));
    if (fn) {
        if (fn->scanned)
            return HULL_OK;
        fn->scanned = true;
        const onnx_scope inner = {.imports = fn->imports,
                                  .n_imports = fn->n_imports};
        return scan_nodes(o, &inner, fn->nodes, fn->n_nodes, depth + 1);
    }
    TRY(version_of(s, n, &version));
    if (!onnx_row_find(n->domain, n->op, version))
        front_missing(o->f, n->op, n->domain.n ? n->domain : default_domain,
                      version, n->name.n || !n->n_out ? n->name : n->out[0]);
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        onnx_graph g;

        if (n->attrs[i].type != ONNX_GRAPH)
            continue;
        TRY(onnx_parse_graph(&g, &o->f->a, n->attrs[i].g, o->file->p));
        TRY(scan_nodes(o, s, g.nodes, g.n_nodes, depth + 1));
    }
    return HULL_OK;
}

static hull_status scan_nodes(onnx *o, const onnx_scope *s,
                              const onnx_node *nodes, uint32_t n,
                              uint32_t depth)
{
    if (depth > ONNX_DEPTH_MAX)
        return fail(HULL_EUNSUPPORTED,
                    "graphs and functions are nested deeper than %d",
                    ONNX_DEPTH_MAX);
    for (uint32_t i = 0; i < n; i++)
        TRY(scan_node(o, s, &nodes[i], depth));
    return HULL_OK;
}

/* ---- nodes --------------------------------------------------------------- */

static hull_status lower_node(onnx *o, const onnx_node *n);

static hull_status lower_nodes(onnx *o, const onnx_node *nodes, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        str name = nodes[i].name;

        if (name.n == 0 && nodes[i].n_out)
            name = nodes[i].out[0];
        TRY(note(lower_node(o, &nodes[i]), "node '%.*s' (%.*s)", STR_ARG(name),
                 STR_ARG(nodes[i].op)));
        if (o->depth == 0)
            TRY(onnx_names_node(o, &nodes[i]));
    }
    return HULL_OK;
}

/* Every attribute must be one that the operator has: an unknown one may
 * change the meaning. */
static hull_status check_attrs(const onnx_node *n, const onnx_row *row)
{
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        str rest = str_of(row->attrs);
        bool found = false;

        while (rest.n > 0 && !found)
            found = str_eq(str_split(rest, ' ', &rest), n->attrs[i].name);
        if (!found)
            return fail(HULL_EFORMAT, "attribute '%.*s' is not known",
                        STR_ARG(n->attrs[i].name));
        if (n->attrs[i].type == ONNX_NONE || n->attrs[i].type == ONNX_OTHER)
            return fail(HULL_EFORMAT, "attribute '%.*s' has no usable type",
                        STR_ARG(n->attrs[i].name));
    }
    return HULL_OK;
}

static hull_status check_counts(const onnx_call *c)
{
    const onnx_node *n = c->n;
    const onnx_row *row = c->row;

    if (n->n_in > INT32_MAX ||
        (row->in_max >= 0 && (int32_t)n->n_in > row->in_max))
        return fail(HULL_EFORMAT, "%" PRIu32 " inputs, at most %" PRId32
                    " are allowed", n->n_in, row->in_max);
    for (int32_t i = 0; i < row->in_min; i++)
        if (onnx_in(c, (uint32_t)i) == 0)
            return fail(HULL_EFORMAT, "input %" PRId32 " is missing", i);
    if (n->n_out == 0)
        return fail(HULL_EFORMAT, "it has no output");
    return HULL_OK;
}

/* Values of the operands, results to define. */
static hull_status open_call(onnx *o, onnx_call *c, const onnx_node *n)
{
    front *f = o->f;
    val *in = arena_array(&f->a, n->n_in ? n->n_in : 1, sizeof *in);
    val *out = arena_array(&f->a, n->n_out ? n->n_out : 1, sizeof *out);

    if (!in || !out)
        return fail_oom(sizeof *in);
    *c = (onnx_call){.o = o, .f = f, .m = f->m, .g = f->g, .n = n, .in = in,
                     .out = out, .n_in = n->n_in, .n_out = n->n_out};
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i].n > 0)
            TRY(note(look_up(o, n->in[i], &in[i]), "input %" PRIu32, i));
    return HULL_OK;
}

static hull_status close_call(onnx_call *c)
{
    for (uint32_t i = 0; i < c->n_out; i++) {
        if (c->n->out[i].n == 0)
            continue;
        if (c->out[i] == 0)
            return fail(HULL_EUNSUPPORTED,
                        "output %" PRIu32 " ('%.*s') has no lowering", i,
                        STR_ARG(c->n->out[i]));
        TRY(define(c->o, c->n->out[i], c->out[i]));
        if (graph_value(c->g, c->out[i])->name.n == 0)
            value_set_name(c->g, c->out[i], keep_str(c->o, c->n->out[i]));
    }
    return HULL_OK;
}

/* The function's attributes as given by the call, else its defaults. */
static hull_status actual_attrs(onnx *o, const onnx_function *fn,
                                const onnx_node *n, onnx_scope *inner)
{
    uint32_t k = 0;
    onnx_attr *a = arena_array(&o->f->a, n->n_attrs + fn->n_defaults + 1,
                               sizeof *a);

    if (!a)
        return fail_oom(sizeof *a);
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        bool known = false;

        for (uint32_t d = 0; d < fn->n_attr_names && !known; d++)
            known = str_eq(fn->attr_names[d], n->attrs[i].name);
        for (uint32_t d = 0; d < fn->n_defaults && !known; d++)
            known = str_eq(fn->defaults[d].name, n->attrs[i].name);
        if (!known)
            return fail(HULL_EFORMAT, "attribute '%.*s' is not known",
                        STR_ARG(n->attrs[i].name));
        a[k++] = n->attrs[i];
    }
    for (uint32_t d = 0; d < fn->n_defaults; d++) {
        bool given = false;

        for (uint32_t i = 0; i < n->n_attrs && !given; i++)
            given = str_eq(fn->defaults[d].name, n->attrs[i].name);
        if (!given)
            a[k++] = fn->defaults[d];
    }
    inner->actual = a;
    inner->n_actual = k;
    return HULL_OK;
}

static hull_status walk_function(onnx_call *c, const onnx_function *fn)
{
    onnx *o = c->o;

    for (uint32_t i = 0; i < fn->n_in; i++)
        TRY(define(o, fn->in[i], i < c->n_in && c->in[i] ? c->in[i] : ABSENT));
    TRY(lower_nodes(o, fn->nodes, fn->n_nodes));
    for (uint32_t i = 0; i < fn->n_out && i < c->n_out; i++)
        if (onnx_wants(c, i))
            TRY(look_up(o, fn->out[i], &c->out[i]));
    return HULL_OK;
}

/* "<first output>/": stored names inside are unique, and stable. */
static str inner_prefix(onnx *o, const onnx_node *n, const char *part)
{
    buf b;

    buf_init(&b, 1 << 20);
    buf_str(&b, o->scope->prefix);
    if (n->n_out)
        buf_str(&b, n->out[0]);
    buf_putc(&b, '/');
    if (part)
        buf_printf(&b, "%s/", part);
    return keep_buf(o, &b);
}

static hull_status enter(onnx *o, onnx_scope *inner)
{
    if (++o->depth > ONNX_DEPTH_MAX) {
        o->depth--;
        return fail(HULL_EUNSUPPORTED,
                    "graphs and functions are nested deeper than %d",
                    ONNX_DEPTH_MAX);
    }
    o->scope = inner;
    return HULL_OK;
}

static void leave(onnx *o, onnx_scope *outer, onnx_scope *inner)
{
    o->scope = outer;
    o->depth--;
    strmap_fini(&inner->names);
}

static hull_status call_function(onnx_call *c, const onnx_function *fn)
{
    onnx *o = c->o;
    onnx_scope *outer = o->scope;
    onnx_scope inner = {.imports = fn->imports, .n_imports = fn->n_imports,
                        .prefix = inner_prefix(o, c->n, NULL)};

    if (c->n_in > fn->n_in || c->n_out > fn->n_out)
        return fail(HULL_EFORMAT,
                    "%" PRIu32 " inputs and %" PRIu32 " outputs, the function "
                    "has %" PRIu32 " and %" PRIu32,
                    c->n_in, c->n_out, fn->n_in, fn->n_out);
    TRY(actual_attrs(o, fn, c->n, &inner));
    TRY(enter(o, &inner));
    hull_status st = walk_function(c, fn);
    leave(o, outer, &inner);
    return st;
}

/* References to a function's attributes are replaced by what the call gave;
 * those it did not give are absent. */
static hull_status resolve_refs(onnx *o, const onnx_node *n, onnx_node *out)
{
    *out = *n;
    out->n_attrs = 0;
    out->attrs = arena_array(&o->f->a, n->n_attrs ? n->n_attrs : 1,
                             sizeof *out->attrs);
    if (!out->attrs)
        return fail_oom(sizeof *out->attrs);
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        const onnx_attr *a = &n->attrs[i];
        const onnx_scope *s = o->scope;

        if (a->ref.n == 0) {
            out->attrs[out->n_attrs++] = *a;
            continue;
        }
        while (s && !s->actual)
            s = s->parent;
        if (!s)
            return fail(HULL_EFORMAT,
                        "attribute '%.*s' refers to '%.*s' outside a function",
                        STR_ARG(a->name), STR_ARG(a->ref));
        for (uint32_t k = 0; k < s->n_actual; k++) {
            if (!str_eq(s->actual[k].name, a->ref))
                continue;
            out->attrs[out->n_attrs] = s->actual[k];
            out->attrs[out->n_attrs++].name = a->name;
        }
    }
    return HULL_OK;
}

/* Names the new nodes after the model's node, for messages. */
static void label_nodes(onnx *o, node *before, const region *r, str name)
{
    str label = keep_str(o, name);

    for (node *n = before ? before->next : r->first; n; n = n->next)
        if (n->label.n == 0 && n->op != OP_weight)
            n->label = label;
}

static hull_status lower_node(onnx *o, const onnx_node *node_)
{
    graph *g = o->f->g;
    const region *r = g->insert_in ? g->insert_in : g->body;
    node *before = r->last;
    onnx_function *fn = NULL;
    onnx_node resolved;
    onnx_call c;

    if (++o->n_lowered > ONNX_NODES_MAX)
        return fail(HULL_EUNSUPPORTED, "more than %d nodes once functions "
                    "are inlined", ONNX_NODES_MAX);
    TRY(resolve_refs(o, node_, &resolved));
    TRY(open_call(o, &c, &resolved));
    TRY(function_of(o, node_, &fn));
    if (fn) {
        TRY(call_function(&c, fn));
        return close_call(&c);
    }
    TRY(version_of(o->scope, &resolved, &c.version));
    c.row = onnx_row_find(resolved.domain, resolved.op, c.version);
    if (!c.row)
        return fail(HULL_EUNSUPPORTED, "no lowering");
    TRY(check_attrs(&resolved, c.row));
    TRY(check_counts(&c));
    hull_status st = c.row->lower(&c);
    if (ir_status(c.m) != HULL_OK) /* the first cause */
        return ir_status(c.m);
    TRY(st);
    for (uint32_t i = 0; i < c.n_out; i++)
        c.out[i] = front_settle(c.f, c.out[i]);
    TRY(ir_status(c.m));
    label_nodes(o, before, r, resolved.name);
    return close_call(&c);
}

/* ---- graphs -------------------------------------------------------------- */

/* Adds a stored tensor of an inner graph to the native index, with the scope's
 * prefix. */
static hull_status add_inner(onnx *o, const onnx_graph *g, uint32_t i)
{
    weights *native = o->f->fm->native;
    str full = prefixed(o, o->scope->prefix, g->initializer_names[i]);

    TRY(ir_status(o->f->m));
    if (weights_find(native, full))
        return HULL_OK; /* the graph was lowered before */
    if (g->sparse[i])
        return onnx_sparse_add(native, full, g->initializers[i],
                               o->file->path, false);
    return onnx_tensor_add(native, full, g->initializers[i], 0, o->file->path,
                           false);
}

/* Stored tensors of a graph become names of the scope; text becomes nodes. */
static hull_status open_stored(onnx *o, const onnx_graph *g, bool main)
{
    for (uint32_t i = 0; i < g->n_initializers; i++) {
        str name = g->initializer_names[i];
        bool text = false;
        val v = 0;

        if (name.n == 0)
            return fail(HULL_EFORMAT, "an initializer has no name");
        if (!g->sparse[i])
            TRY(onnx_is_text(&text, g->initializers[i]));
        if (text)
            TRY(note(onnx_stored_text(o->f, g->initializers[i], &v),
                     "initializer '%.*s'", STR_ARG(name)));
        TRY(define(o, name, v));
        if (!main && !text)
            TRY(add_inner(o, g, i));
    }
    return HULL_OK;
}

static bool is_stored(const onnx *o, str name)
{
    val v = 1;
    const node *def;

    if (!strmap_get(&o->scope->names, name, &v) || v == ABSENT)
        return false;
    def = v != 0 ? graph_def(o->f->g, v) : NULL;
    return v == 0 || (def != NULL && def->op == OP_strings);
}

static hull_status walk_subgraph(onnx_call *c, const onnx_graph *g,
                                 const val *params, uint32_t n_params,
                                 val *results, uint32_t n_results)
{
    onnx *o = c->o;
    uint32_t k = 0;

    TRY(open_stored(o, g, false));
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        if (is_stored(o, g->inputs[i].name))
            continue;
        if (k == n_params)
            return fail(HULL_EFORMAT, "its graph has more inputs than %" PRIu32,
                        n_params);
        TRY(define(o, g->inputs[i].name, params[k++]));
    }
    TRY(lower_nodes(o, g->nodes, g->n_nodes));
    if (g->n_outputs != n_results || k != n_params)
        return fail(HULL_EFORMAT,
                    "its graph has %" PRIu32 " inputs and %" PRIu32
                    " outputs, want %" PRIu32 " and %" PRIu32,
                    k, g->n_outputs, n_params, n_results);
    for (uint32_t i = 0; i < n_results; i++)
        TRY(look_up(o, g->outputs[i].name, &results[i]));
    return HULL_OK;
}

hull_status onnx_graph_attr(onnx_call *c, const char *name, onnx_graph *out)
{
    const onnx_attr *a = onnx_attr_of(c, name);

    if (!a || a->type != ONNX_GRAPH)
        return fail(HULL_EFORMAT, "attribute '%s' is not a graph", name);
    return onnx_parse_graph(out, &c->f->a, a->g, c->o->file->p);
}

hull_status onnx_subgraph(onnx_call *c, const char *name, const val *params,
                          uint32_t n_params, val *results, uint32_t n_results)
{
    onnx *o = c->o;
    onnx_scope *outer = o->scope;
    onnx_scope inner = {.parent = outer, .imports = outer->imports,
                        .n_imports = outer->n_imports,
                        .prefix = inner_prefix(o, c->n, name)};
    onnx_graph g;

    TRY(onnx_graph_attr(c, name, &g));
    TRY(enter(o, &inner));
    hull_status st =
        walk_subgraph(c, &g, params, n_params, results, n_results);
    leave(o, outer, &inner);
    return note(st, "%s", name);
}

static hull_status open_inputs(onnx *o)
{
    const onnx_graph *g = &o->main;

    for (uint32_t i = 0; i < g->n_inputs; i++) {
        type t;

        if (is_stored(o, g->inputs[i].name))
            continue; /* an initializer with an overridable default */
        TRY(note(onnx_value_type(o, &g->inputs[i], &t), "input"));
        val v = graph_param(o->f->g, keep_str(o, g->inputs[i].name), &t);
        TRY(ir_status(o->f->m));
        TRY(define(o, g->inputs[i].name, v));
    }
    return HULL_OK;
}

/* Another value that is the same. */
static val view_of(front *f, val v)
{
    const type *t = graph_type(f->g, v);
    node *n;

    if (t->kind == TYPE_TENSOR)
        return op_reshape(f->g, v, t->dims, t->rank);
    n = node_new(f->g, t->kind == TYPE_OPTIONAL ? OP_opt_new : OP_opt_get);
    node_input(f->g, n, v);
    return node_add(f->g, n);
}

/* A result keeps its own name: where the value has another one (an input, a
 * stored tensor, an earlier output), a view of it is the result. */
static hull_status add_output(onnx *o, str name, strmap *seen)
{
    graph *g = o->f->g;
    val v = 0;
    uint32_t at = 0;
    char key[16];

    TRY(look_up(o, name, &v));
    v = graph_resolve(g, v);
    int n = snprintf(key, sizeof key, "%" PRIu32, v);
    str id = {key, (size_t)n};
    const node *def = graph_def(g, v);
    if (!def || def->op == OP_weight || strmap_get(seen, id, &at)) {
        v = view_of(o->f, v);
        TRY(ir_status(o->f->m));
    } else {
        TRY(strmap_set(seen, id, 1));
    }
    value_set_name(g, v, keep_str(o, name));
    graph_result(g, v);
    return ir_status(o->f->m);
}

static hull_status add_outputs(onnx *o)
{
    strmap seen = {0};
    hull_status st = HULL_OK;

    if (o->main.n_outputs == 0)
        return fail(HULL_EFORMAT, "the graph has no output");
    for (uint32_t i = 0; i < o->main.n_outputs; i++)
        TRY_OUT(note(add_output(o, o->main.outputs[i].name, &seen),
                     "output '%.*s'", STR_ARG(o->main.outputs[i].name)));
out:
    strmap_fini(&seen);
    return st;
}

/* ---- the model ----------------------------------------------------------- */

static hull_status set_producer(onnx *o)
{
    buf b;

    buf_init(&b, 4096);
    buf_str(&b, o->model.producer);
    if (o->model.producer.n && o->model.producer_version.n)
        buf_putc(&b, ' ');
    buf_str(&b, o->model.producer_version);
    o->f->fm->producer = keep_buf(o, &b);
    return ir_status(o->f->m);
}

static hull_status walk_model(onnx *o)
{
    front *f = o->f;
    onnx_scope scope = {.prefix = {"", 0}};
    hull_status st = HULL_OK;

    TRY(onnx_parse_model(&o->model, &f->a,
                         (bytes){o->file->p, (size_t)o->file->size}));
    TRY(onnx_parse_graph(&o->main, &f->a, o->model.graph, o->file->p));
    scope.imports = o->model.imports;
    scope.n_imports = o->model.n_imports;
    o->scope = &scope;
    TRY_OUT(set_producer(o));
    TRY_OUT(index_functions(o));
    TRY_OUT(scan_nodes(o, &scope, o->main.nodes, o->main.n_nodes, 0));
    TRY_OUT(front_check_missing(f));
    TRY_OUT(open_stored(o, &o->main, true));
    TRY_OUT(open_inputs(o));
    TRY_OUT(onnx_names_begin(o));
    TRY_OUT(lower_nodes(o, o->main.nodes, o->main.n_nodes));
    TRY_OUT(add_outputs(o));
    TRY_OUT(onnx_names_end(o));
out:
    strmap_fini(&scope.names);
    return st;
}

hull_status onnx_import(front *f, const file *from)
{
    onnx o = {.f = f, .file = from};

    hull_status st = walk_model(&o);
    mem_free(o.dim_raw);
    mem_free(o.targets);
    strmap_fini(&o.function_of);
    strmap_fini(&o.dim_names);
    strmap_fini(&o.rnn_counts);
    strmap_fini(&o.values_of);
    strmap_fini(&o.signature_of);
    strmap_fini(&o.target_of);
    return st;
}
