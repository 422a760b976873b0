/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pt2_graph.c - the nodes of an exported graph: which of them are needed,
 * binding of arguments and results by name, in-place operators made
 * functional (pt2.h says how).
 */
#include "front/pt2.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

static str text_of(const json_t *j)
{
    return json_is_string(j) ? (str){json_string_value(j),
                                     json_string_length(j)}
                             : str_of("");
}

static str node_name(const json_t *at)
{
    str s = text_of(json_object_get(at, "name"));

    if (s.n == 0)
        s = pt2_result_name(
            json_array_get(json_object_get(at, "outputs"), 0));
    return s.n ? s : text_of(json_object_get(at, "target"));
}

/* "torch.ops.aten.add.Tensor" -> aten, add, Tensor. */
static bool split_target(str target, str *ns, str *op, str *overload)
{
    str rest;

    if (!str_starts(target, "torch.ops."))
        return false;
    *ns = str_split((str){target.p + 10, target.n - 10}, '.', &rest);
    *op = str_split(rest, '.', overload);
    return ns->n && op->n;
}

/* relu_ changes its first argument; __and__ does not. */
static bool is_in_place(str op)
{
    return op.n > 1 && op.p[op.n - 1] == '_' && op.p[op.n - 2] != '_';
}

/* ---- which nodes are needed ---------------------------------------------- */

static hull_status mark_names(strmap *live, json_t *j)
{
    const char *key;
    json_t *v;
    size_t i;

    if (json_is_array(j)) {
        json_array_foreach(j, i, v)
            TRY(mark_names(live, v));
    } else if (json_is_object(j)) {
        json_object_foreach(j, key, v) {
            bool name = strcmp(key, "name") == 0 || strcmp(key, "as_name") == 0;

            if (strcmp(key, "as_graph") == 0)
                continue;
            if (name && json_is_string(v))
                TRY(strmap_set(live, text_of(v), 1));
            else
                TRY(mark_names(live, v));
        }
    }
    return HULL_OK;
}

static bool any_live(const strmap *live, const json_t *outputs)
{
    json_t *o, *e;
    uint32_t one;
    size_t i, k;

    json_array_foreach(outputs, i, o) {
        str name = pt2_result_name(o);
        json_t *list = json_object_get(o, "as_tensors");

        if (name.n && strmap_get(live, name, &one))
            return true;
        json_array_foreach(list, k, e)
            if (strmap_get(live, text_of(json_object_get(e, "name")), &one))
                return true;
    }
    return false;
}

/* Its results may be unread and it counts all the same: an operator that
 * changes its operands, or one that nobody here knows. */
static bool always_needed(str target)
{
    str ns, op, overload;

    if (!split_target(target, &ns, &op, &overload))
        return false;
    return is_in_place(op) || !(str_is(ns, "aten") || str_is(ns, "profiler"));
}

static hull_status mark_needed(json_t *g, uint8_t *needed, size_t n)
{
    strmap live = {0};
    json_t *nodes = json_object_get(g, "nodes"), *in;
    hull_status st = mark_names(&live, json_object_get(g, "outputs"));

    for (size_t i = n; i > 0 && st == HULL_OK; i--) {
        json_t *at = json_array_get(nodes, i - 1);
        size_t k;

        needed[i - 1] =
            always_needed(text_of(json_object_get(at, "target"))) ||
            any_live(&live, json_object_get(at, "outputs"));
        if (needed[i - 1])
            json_array_foreach(json_object_get(at, "inputs"), k, in)
                if (st == HULL_OK)
                    st = mark_names(&live, json_object_get(in, "arg"));
    }
    strmap_fini(&live);
    return st;
}

/* ---- results ------------------------------------------------------------- */

/* A view where strides allow it, a copy elsewhere. */
static bool is_unsure(const aten_call *c)
{
    static const char *const names[] = {"reshape", "reshape_as",
                                        "flatten.using_ints", "ravel"};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(c->row->name, names[i]) == 0)
            return true;
    return c->may_copy;
}

/* A result of c that may view argument 0 (cell `source`, or UINT32_MAX). */
static hull_status name_result(pt2 *p, pt2_scope *s, str name,
                               const aten_value *v, uint32_t source,
                               const aten_call *c, const char *unread)
{
    uint32_t cell = 0;

    if (source != UINT32_MAX && !c->may_copy && v->kind == ATEN_TENSOR &&
        p->cells[source].value.v == v->v)
        return pt2_name(s, name, source);
    TRY(pt2_cell_new(p, v, &cell));
    p->cells[cell].unread = unread;
    if (source != UINT32_MAX && v->kind == ATEN_TENSOR &&
        graph_type(p->g, v->v)->dtype ==
            graph_type(p->g, p->cells[source].value.v)->dtype)
        pt2_join(p, cell, source, is_unsure(c));
    if (v->kind == ATEN_TENSOR && !graph_value(p->g, v->v)->name.n)
        value_set_name(p->g, v->v, name);
    return pt2_name(s, name, cell);
}

static hull_status name_missing(pt2 *p, pt2_scope *s, json_t *outputs)
{
    aten_value none = {0};
    json_t *o, *e;
    size_t i, k;

    json_array_foreach(outputs, i, o) {
        json_t *list = json_object_get(o, "as_tensors");
        str name = pt2_result_name(o);
        uint32_t cell;

        TRY(pt2_cell_new(p, &none, &cell));
        p->cells[cell].missing = true;
        if (name.n)
            TRY(pt2_name(s, name, cell));
        json_array_foreach(list, k, e)
            TRY(pt2_name(s, text_of(json_object_get(e, "name")), cell));
    }
    return HULL_OK;
}

hull_status pt2_check_type(pt2 *p, const pt2_scope *s, str name, val v)
{
    const type *got = graph_type(p->g, v);
    type want;
    bool same;

    TRY(pt2_learn_sizes(p, s, name, got));
    TRY(pt2_meta_type(p, s, name, &want));
    same = got->dtype == want.dtype && got->rank == want.rank;
    for (uint32_t i = 0; same && i < want.rank; i++)
        same = got->dims[i] < 0 || want.dims[i] < 0 ||
               got->dims[i] == want.dims[i];
    if (same)
        return HULL_OK;
    buf b;
    buf_init(&b, 2000);
    type_print(&b, p->m, got);
    buf_puts(&b, ", the file says ");
    type_print(&b, p->m, &want);
    hull_status st = fail(HULL_EFORMAT, "result '%.*s' is %.*s", STR_ARG(name),
                          STR_ARG(buf_view(&b)));
    buf_fini(&b);
    return st;
}

static hull_status name_list(pt2 *p, pt2_scope *s, json_t *list,
                             const aten_value *v, uint32_t source,
                             const aten_call *c)
{
    if (v->kind != ATEN_TENSORS || v->n != json_array_size(list))
        return fail(HULL_EFORMAT, "%zu results are named, the operator has %u",
                    json_array_size(list),
                    v->kind == ATEN_TENSORS ? v->n : 1);
    for (uint32_t i = 0; i < v->n; i++) {
        str name = text_of(json_object_get(json_array_get(list, i), "name"));
        aten_value one = {.kind = ATEN_TENSOR};

        one.v = front_settle(p->f, v->vals[i]);
        TRY(ir_status(p->m));
        TRY(pt2_check_type(p, s, name, one.v));
        TRY(name_result(p, s, name, &one, source, c, NULL));
    }
    return HULL_OK;
}

/* A size that inference could not state; the file may. And a symbol of the file
 * whose value comes from data is what inference states. */
static hull_status know_size(pt2 *p, const pt2_scope *s, str name,
                             aten_value *v)
{
    if (v->kind == ATEN_INT)
        TRY(pt2_learn_number(p, s, name, v->i));
    if (v->kind == ATEN_INT && v->i == DIM_UNKNOWN)
        v->i = pt2_sym_int(p, json_object_getn(json_object_get(
                                     s->graph, "sym_int_values"),
                                     name.p, name.n));
    return HULL_OK;
}

static hull_status name_outputs(pt2 *p, pt2_scope *s, json_t *outputs,
                                const aten_call *c, uint32_t source)
{
    json_t *o;
    size_t i;

    json_array_foreach(outputs, i, o) {
        str name = pt2_result_name(o);
        aten_value v = i < c->n_out ? c->out[i] : (aten_value){0};
        json_t *list = json_object_get(o, "as_tensors");

        if (list) {
            TRY(name_list(p, s, list, &v, source, c));
            continue;
        }
        if (name.n == 0)
            continue;
        if (i >= c->n_out)
            return fail(HULL_EFORMAT, "result %zu is named, there are %u", i,
                        c->n_out);
        if (v.kind == ATEN_TENSOR) {
            v.v = front_settle(p->f, v.v);
            TRY(ir_status(p->m));
            TRY(pt2_check_type(p, s, name, v.v));
        }
        TRY(know_size(p, s, name, &v));
        TRY(name_result(p, s, name, &v, source, c, c->unread[i]));
    }
    return HULL_OK;
}

/* ---- one ATen node ------------------------------------------------------- */

/* Result 0 becomes the value of the target from here on. */
static hull_status write_back(pt2 *p, pt2_scope *s, json_t *at,
                              const aten_call *c, uint32_t target, str name)
{
    str result = pt2_result_name(
        json_array_get(json_object_get(at, "outputs"), 0));
    aten_value v = c->out[0];

    if (target == UINT32_MAX || v.kind != ATEN_TENSOR)
        return fail(HULL_EFORMAT, "an in-place operator has no target");
    if (c->aliases) { /* only the view changes: unsqueeze_, detach_ */
        uint32_t cell = target;

        if (p->cells[target].value.v != v.v) {
            TRY(pt2_cell_new(p, &v, &cell));
            pt2_join(p, cell, target, false);
            TRY(strmap_set(&s->names, name, cell));
        }
        return result.n ? pt2_name(s, result, cell) : HULL_OK;
    }
    pt2_cell *t = &p->cells[target];
    if (t->group < p->floor)
        return fail(HULL_EUNSUPPORTED,
                    "a branch or loop changes '%.*s', which is not its own",
                    STR_ARG(name));
    const type *old = graph_type(p->g, t->value.v);
    v.v = op_cast(p->g, v.v, old->dtype);
    TRY(ir_status(p->m));
    if (!type_agrees(p->m, old, graph_type(p->g, v.v)))
        return fail(HULL_EFORMAT, "'%.*s' changes its shape in place",
                    STR_ARG(name));
    TRY(pt2_write(p, target, v.v));
    return result.n ? pt2_name(s, result, target) : HULL_OK;
}

static const aten_row *find_row(str op, str overload, bool *in_place)
{
    char name[128];
    str base = op;

    *in_place = false;
    for (int pass = 0; pass < 2; pass++) {
        bool plain = overload.n == 0 || str_is(overload, "default");
        int n = snprintf(name, sizeof name, plain ? "%.*s" : "%.*s.%.*s",
                         STR_ARG(base), STR_ARG(overload));

        if (n < 0 || (size_t)n >= sizeof name)
            return NULL;
        const aten_row *row = aten_find((str){name, (size_t)n});
        if (row)
            return row;
        if (pass == 1 || !is_in_place(op))
            return NULL;
        base.n--;
        *in_place = true;
    }
    return NULL;
}

/* Strides of tensor `name` in the producer's memory: as_strided, sym_*. */
static void know_strides(pt2 *p, const pt2_scope *s, str name, aten_call *c)
{
    json_t *meta = json_object_getn(json_object_get(s->graph, "tensor_values"),
                                    name.p, name.n);
    json_t *strides = json_object_get(meta, "strides");
    size_t n = json_array_size(strides);
    dim *d = arena_array(&p->f->a, n ? n : 1, sizeof *d);

    if (!d || !json_is_array(strides) || n > HULL_MAX_RANK)
        return;
    for (size_t i = 0; i < n; i++)
        d[i] = pt2_sym_int(p, json_array_get(strides, i));
    c->strides = d;
    c->n_strides = (uint32_t)n;
    c->storage_offset = pt2_sym_int(p, json_object_get(meta, "storage_offset"));
}

/* Binds the arguments; *target: cell and name of the first of the schema. */
static hull_status bind_inputs(pt2 *p, const pt2_scope *s, json_t *at,
                               aten_call *c, uint32_t *target, str *target_name,
                               bool *missing)
{
    json_t *in;
    size_t i;

    *target = UINT32_MAX;
    *target_name = str_of("");
    json_array_foreach(json_object_get(at, "inputs"), i, in) {
        str name = text_of(json_object_get(in, "name"));
        json_t *arg = json_object_get(in, "arg");
        aten_value v;
        uint32_t cell;

        TRY(note(pt2_argument(p, s, arg, &v, &cell, missing),
                 "argument '%.*s'", STR_ARG(name)));
        TRY(aten_bind(c, name, &v));
        if (aten_is_first(c, name)) {
            *target = cell;
            *target_name = pt2_result_name(arg);
            if (v.kind == ATEN_TENSOR &&
                (str_is(str_of(c->row->name), "as_strided") ||
                 str_starts(str_of(c->row->name), "sym_")))
                know_strides(p, s, *target_name, c);
        }
    }
    return HULL_OK;
}

static void label_nodes(pt2 *p, node *last, str label)
{
    node *n = last ? last->next : p->g->body->first;

    for (; n; n = n->next)
        if (n->label.n == 0 && n->op != OP_weight)
            n->label = label;
}

static hull_status lower_aten(pt2 *p, pt2_scope *s, json_t *at, str label,
                              const aten_row *row, bool in_place, str op)
{
    json_t *outputs = json_object_get(at, "outputs");
    node *last = p->g->body->last;
    uint32_t target;
    str target_name;
    bool missing = false;
    aten_call call, *c = &call;

    TRY(aten_begin(c, p->f, row, label));
    TRY(bind_inputs(p, s, at, c, &target, &target_name, &missing));
    if (missing)
        return name_missing(p, s, outputs);
    if (p->autocast != HULL_NONE)
        TRY(pt2_autocast(p, c));
    TRY(aten_run(c));
    label_nodes(p, last, label);
    if (c->missing) {
        char form[256];
        int n = snprintf(form, sizeof form, "%.*s (%s)", STR_ARG(op),
                         c->missing_form);

        front_missing(p->f, (str){form, n < 0 ? 0 : (size_t)n}, str_of("aten"),
                      p->opset, label);
        return name_missing(p, s, outputs);
    }
    if (in_place)
        return write_back(p, s, at, c, target, target_name);
    return name_outputs(p, s, outputs, c, c->aliases ? target : UINT32_MAX);
}

/* ---- other nodes --------------------------------------------------------- */

static hull_status lower_sym(pt2 *p, pt2_scope *s, json_t *at, str target,
                             bool *out_known)
{
    json_t *inputs = json_object_get(at, "inputs"), *in;
    aten_value args[2] = {0};
    aten_call c = {.n_out = 1};
    bool missing = false;
    uint32_t cell, n = 0;
    size_t i;

    *out_known = json_array_size(inputs) <= 2;
    if (!*out_known)
        return HULL_OK;
    json_array_foreach(inputs, i, in)
        TRY(pt2_argument(p, s, json_object_get(in, "arg"), &args[n++], &cell,
                         &missing));
    if (missing)
        return name_missing(p, s, json_object_get(at, "outputs"));
    TRY(pt2_sym_call(p, target, args, n, &c.out[0], out_known));
    if (!*out_known)
        return HULL_OK;
    return name_outputs(p, s, json_object_get(at, "outputs"), &c,
                        UINT32_MAX);
}

/* "layer1.0.conv1/conv2d_3": the innermost module and the node. */
static str make_label(pt2 *p, const json_t *at)
{
    str stack = text_of(json_object_get(json_object_get(at, "metadata"),
                                        "nn_module_stack"));
    str name = node_name(at), rest = {0}, path = {0};
    buf b;

    for (size_t i = stack.n; i > 0; i--)
        if (stack.p[i - 1] == ';') {
            stack = (str){stack.p + i, stack.n - i};
            break;
        }
    (void)str_split(stack, ',', &rest);
    path = str_split(rest, ',', &rest);
    buf_init(&b, 2000);
    if (path.n && path.n < 500) {
        buf_str(&b, path);
        buf_putc(&b, '/');
    }
    buf_str(&b, (str){name.p, name.n < 500 ? name.n : 500});
    str out = {arena_strndup(&p->m->a, b.n ? b.p : "", b.n), b.n};
    buf_fini(&b);
    return out.p ? out : str_of("");
}

/* "auto_functionalized_v2 of mylib.scale_": what it wraps is what matters. */
static str with_operator(pt2 *p, json_t *at, str op)
{
    json_t *in;
    size_t i;

    json_array_foreach(json_object_get(at, "inputs"), i, in) {
        str inner = text_of(json_object_get(json_object_get(in, "arg"),
                                            "as_operator"));
        buf b;

        if (inner.n == 0 || inner.n > 200)
            continue;
        if (str_starts(inner, "torch.ops."))
            inner = (str){inner.p + 10, inner.n - 10};
        buf_init(&b, 1000);
        buf_str(&b, op);
        buf_puts(&b, " of ");
        buf_str(&b, inner);
        str out = {arena_strndup(&p->f->a, b.n ? b.p : "", b.n), b.n};
        buf_fini(&b);
        return out.p ? out : op;
    }
    return op;
}

static hull_status lower_node(pt2 *p, pt2_scope *s, json_t *at, str label)
{
    str target = text_of(json_object_get(at, "target"));
    str ns = {0}, op = {0}, overload = {0};
    bool known = false, in_place = false;

    if (!split_target(target, &ns, &op, &overload)) {
        TRY(lower_sym(p, s, at, target, &known));
        op = target;
    } else if (str_is(ns, "higher_order")) {
        TRY(pt2_higher_order(p, s, at, op, &known));
    } else if (str_is(ns, "aten")) {
        const aten_row *row = find_row(op, overload, &in_place);

        if (row)
            return lower_aten(p, s, at, label, row, in_place,
                              (str){op.p, op.n + 1 + overload.n});
    }
    if (known)
        return HULL_OK;
    if (overload.n)
        op = (str){op.p, op.n + 1 + overload.n};
    if (str_is(ns, "higher_order"))
        op = with_operator(p, at, op);
    front_missing(p->f, op, ns.n ? ns : str_of("python"),
                  str_is(ns, "aten") ? p->opset : 0, label);
    return name_missing(p, s, json_object_get(at, "outputs"));
}

hull_status pt2_nodes(pt2 *p, pt2_scope *s)
{
    json_t *nodes, *at;
    size_t i;

    TRY(json_want_array(&nodes, s->graph, "nodes", "graph"));
    size_t n = json_array_size(nodes);
    uint8_t *needed = arena_alloc(&p->f->a, n ? n : 1);
    if (!needed)
        return fail_oom(n);
    TRY(mark_needed(s->graph, needed, n));
    json_array_foreach(nodes, i, at) {
        if (!needed[i])
            continue;
        str label = make_label(p, at);
        hull_status st = lower_node(p, s, at, label);

        if (st == HULL_OK)
            st = ir_status(p->m);
        str target = text_of(json_object_get(at, "target"));
        TRY(note(st, "node '%.*s' (%.*s)", STR_ARG(label), STR_ARG(target)));
    }
    return HULL_OK;
}
