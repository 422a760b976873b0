/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pt2_control.c - higher-order operators of exported graphs. Regions that only
 * say how to trace (no_grad, autocast, checkpoints ...) are inlined; cond,
 * while_loop, map and scan become branches and loops (front_control.c), whose
 * bodies get their operands' cells under the subgraph's names. Subgraphs see
 * nothing but their operands.
 */
#include "front/pt2.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#define REGION_DEPTH_MAX 8
#define OPERANDS_MAX 4096
#define INPUTS_MAX 64

/* A higher-order operator while it is lowered. */
typedef struct hop {
    pt2 *p;
    pt2_scope *s;
    str op;
    json_t *inputs, *outputs;  /* of the node */
    json_t *graphs[2];         /* subgraphs, in order */
    uint32_t n_graphs;
    uint32_t *cells;           /* operands behind the subgraphs, flat */
    uint32_t n_cells;
    uint32_t lists[4], n_lists; /* cells of the first arguments; arguments */
    bool missing;              /* some operand has no value */
} hop;

static str text_of(const json_t *j)
{
    return json_is_string(j) ? (str){json_string_value(j),
                                     json_string_length(j)}
                             : str_of("");
}

/* ---- operands ------------------------------------------------------------ */

static hull_status add_cell(hop *h, uint32_t cell)
{
    if (h->n_cells == OPERANDS_MAX)
        return fail(HULL_EUNSUPPORTED, "%.*s has more than %d operands",
                    STR_ARG(h->op), OPERANDS_MAX);
    h->missing |= h->p->cells[cell].missing;
    h->cells[h->n_cells++] = cell;
    return HULL_OK;
}

static hull_status add_name(hop *h, str name)
{
    uint32_t cell;

    TRY(pt2_lookup(h->p, h->s, name, &cell));
    return add_cell(h, cell);
}

/* An operand that is no list: its cell, or a new one for a plain value. */
static hull_status add_operand(hop *h, json_t *arg)
{
    aten_value v;
    uint32_t cell;

    TRY(pt2_argument(h->p, h->s, arg, &v, &cell, &h->missing));
    if (cell == UINT32_MAX)
        TRY(pt2_cell_new(h->p, &v, &cell));
    return add_cell(h, cell);
}

/* All elements of an argument: a list of tensors or of numbers, or one. */
static hull_status add_argument(hop *h, json_t *arg)
{
    static const char *const lists[] = {"as_tensors", "as_sym_ints", "as_ints",
                                        "as_optional_tensors"};
    const char *tag;
    json_t *v, *e;
    size_t i, kind = 0;
    uint32_t before = h->n_cells;

    TRY(pt2_union(arg, &tag, &v, "an argument"));
    while (kind < COUNT_OF(lists) && strcmp(tag, lists[kind]) != 0)
        kind++;
    if (kind == COUNT_OF(lists))
        TRY(add_operand(h, arg));
    json_array_foreach(v, i, e) {
        aten_value number = {.kind = ATEN_INT};
        const json_t *name = kind == 0 ? json_object_get(e, "name")
                                       : json_object_get(e, "as_name");
        uint32_t cell;

        if (kind == 3)
            name = json_object_get(json_object_get(e, "as_tensor"), "name");
        if (json_is_string(name)) {
            TRY(add_name(h, text_of(name)));
            continue;
        }
        if (kind == 1)
            e = json_object_get(e, "as_int");
        if ((kind == 1 || kind == 2) && json_is_integer(e)) {
            number.i = dim_int(h->p->m, json_integer_value(e));
            TRY(pt2_cell_new(h->p, &number, &cell));
            TRY(add_cell(h, cell));
            continue;
        }
        return fail(HULL_EFORMAT, "operand %zu of %.*s is no value", i,
                    STR_ARG(h->op));
    }
    if (h->n_lists < COUNT_OF(h->lists))
        h->lists[h->n_lists] = h->n_cells - before;
    h->n_lists++;
    return HULL_OK;
}

/* ---- subgraphs ----------------------------------------------------------- */

/* A value as a tensor; numbers become rank 0. */
static hull_status as_tensor(hop *h, const aten_value *v, val *out)
{
    graph *g = h->p->g;

    *out = 0;
    if (v->kind == ATEN_TENSOR || v->v)
        *out = v->v;
    else if (v->kind == ATEN_INT && v->i != DIM_UNKNOWN)
        *out = op_reshape(g, op_dims(g, &v->i, 1), NULL, 0);
    else if (v->kind == ATEN_BOOL)
        *out = op_scalar_i64(g, HULL_BOOL, v->b);
    else if (v->kind == ATEN_FLOAT)
        *out = op_scalar(g, HULL_F64, v->f);
    else
        return fail(HULL_EUNSUPPORTED, "a value of %.*s is no tensor",
                    STR_ARG(h->op));
    return ir_status(h->p->m);
}

/* Lowers a subgraph on operands `cells`; its n_out results as cells. closed:
 * it runs any number of times, so it must not change what it is given. */
static hull_status subgraph(hop *h, json_t *body, const uint32_t *cells,
                            uint32_t n, uint32_t *out, uint32_t n_out,
                            bool closed)
{
    pt2 *p = h->p;
    pt2_scope inner = {.graph = body, .depth = h->s->depth + 1};
    json_t *inputs = json_object_get(body, "inputs");
    json_t *outputs = json_object_get(body, "outputs");
    uint32_t floor = p->floor;
    hull_status st = HULL_OK;

    if (inner.depth > REGION_DEPTH_MAX)
        return fail(HULL_EUNSUPPORTED, "regions nest deeper than %d",
                    REGION_DEPTH_MAX);
    if (json_array_size(inputs) != n || json_array_size(outputs) != n_out)
        return fail(HULL_EFORMAT, "a graph of %.*s has %zu inputs and %zu "
                    "outputs, wanted %" PRIu32 " and %" PRIu32, STR_ARG(h->op),
                    json_array_size(inputs), json_array_size(outputs), n,
                    n_out);
    for (uint32_t i = 0; i < n; i++) {
        str name = pt2_result_name(json_array_get(inputs, i));

        if (name.n)
            TRY_OUT(pt2_name(&inner, name, cells[i]));
    }
    if (closed)
        p->floor = p->n_groups;
    TRY_OUT(pt2_nodes(p, &inner));
    for (uint32_t i = 0; i < n_out; i++) {
        aten_value v;

        TRY_OUT(pt2_argument(p, &inner, json_array_get(outputs, i), &v,
                             &out[i], &h->missing));
        if (out[i] == UINT32_MAX)
            TRY_OUT(pt2_cell_new(p, &v, &out[i]));
    }
out:
    p->floor = floor;
    strmap_fini(&inner.names);
    return st;
}

/* The same with tensors in and out, for bodies. Operands from `from` on are
 * replaced by `in`, when there are any. */
static hull_status body(hop *h, json_t *g, const val *in, uint32_t n_in,
                        val *out, uint32_t n_out)
{
    uint32_t *cells = arena_array(&h->p->f->a, (size_t)h->n_cells + n_out + 1,
                                  sizeof *cells);
    uint32_t *results = cells ? cells + h->n_cells : NULL;

    if (!cells)
        return fail_oom(h->n_cells * sizeof *cells);
    for (uint32_t i = 0; i < h->n_cells; i++) {
        aten_value v = {.kind = ATEN_TENSOR};

        cells[i] = h->cells[i];
        if (i >= n_in)
            continue;
        v.v = in[i];
        TRY(pt2_cell_new(h->p, &v, &cells[i]));
    }
    TRY(subgraph(h, g, cells, h->n_cells, results, n_out, true));
    if (h->missing) /* pt2_higher_order takes this back */
        return fail(HULL_EUNSUPPORTED, "an operator without a lowering");
    for (uint32_t i = 0; i < n_out; i++)
        TRY(as_tensor(h, &h->p->cells[results[i]].value, &out[i]));
    return HULL_OK;
}

/* ---- results ------------------------------------------------------------- */

/* Names of the node's results: as_tensors stands for several. */
static uint32_t count_results(json_t *outputs)
{
    json_t *o;
    size_t i, n = 0;

    json_array_foreach(outputs, i, o) {
        json_t *list = json_object_get(o, "as_tensors");

        n += list ? json_array_size(list) : 1;
    }
    return n > OPERANDS_MAX ? OPERANDS_MAX + 1 : (uint32_t)n;
}

static hull_status name_cell(hop *h, str name, uint32_t cell)
{
    const pt2_cell *c = &h->p->cells[cell];

    if (name.n == 0)
        return HULL_OK;
    if (c->value.kind == ATEN_TENSOR && !c->missing)
        TRY(pt2_check_type(h->p, h->s, name, c->value.v));
    return pt2_name(h->s, name, cell);
}

static hull_status name_cells(hop *h, const uint32_t *cells, uint32_t n)
{
    json_t *o, *e;
    size_t i, k;
    uint32_t at = 0;

    json_array_foreach(h->outputs, i, o) {
        json_t *list = json_object_get(o, "as_tensors");
        str name = pt2_result_name(o);

        json_array_foreach(list, k, e) {
            if (at == n)
                break;
            TRY(name_cell(h, text_of(json_object_get(e, "name")),
                          cells[at++]));
        }
        if (!list && at < n)
            TRY(name_cell(h, name, cells[at++]));
    }
    return HULL_OK;
}

static hull_status name_values(hop *h, const val *v, uint32_t n)
{
    uint32_t *cells = arena_array(&h->p->f->a, n + 1, sizeof *cells);

    if (!cells)
        return fail_oom(n * sizeof *cells);
    for (uint32_t i = 0; i < n; i++) {
        aten_value x = {.kind = ATEN_TENSOR, .v = v[i]};

        if (h->missing)
            x = (aten_value){0};
        TRY(pt2_cell_new(h->p, &x, &cells[i]));
        h->p->cells[cells[i]].missing = h->missing;
    }
    return name_cells(h, cells, n);
}

/* ---- the operators ------------------------------------------------------- */

/* cond(pred, true_graph, false_graph, operands) */
static hull_status then_body(front *f, void *user, const val *in, val *out)
{
    hop *h = user;

    (void)f;
    (void)in;
    return body(h, h->graphs[0], NULL, 0, out, count_results(h->outputs));
}

static hull_status else_body(front *f, void *user, const val *in, val *out)
{
    hop *h = user;

    (void)f;
    (void)in;
    return body(h, h->graphs[1], NULL, 0, out, count_results(h->outputs));
}

static hull_status lower_cond(hop *h, uint32_t n_out, val *out)
{
    uint32_t pred = h->n_cells ? h->cells[0] : UINT32_MAX;
    val cond;

    if (h->n_graphs != 2 || pred == UINT32_MAX || h->lists[0] != 1)
        return fail(HULL_EFORMAT, "cond has %" PRIu32 " graphs, wanted a "
                    "condition and 2", h->n_graphs);
    const aten_value v = h->p->cells[pred].value;
    h->cells++;
    h->n_cells--;
    if (v.kind == ATEN_BOOL) {
        uint32_t *cells = arena_array(&h->p->f->a, n_out + 1, sizeof *cells);

        if (!cells)
            return fail_oom(n_out * sizeof *cells);
        TRY(subgraph(h, h->graphs[v.b ? 0 : 1], h->cells, h->n_cells, cells,
                     n_out, false));
        for (uint32_t i = 0; i < n_out && !h->missing; i++)
            TRY(as_tensor(h, &h->p->cells[cells[i]].value, &out[i]));
        return HULL_OK;
    }
    TRY(as_tensor(h, &v, &cond));
    return lower_if(h->p->f, cond, then_body, else_body, h, n_out, out);
}

/* while_loop(cond_graph, body_graph, carried, additional) */
static hull_status while_body(front *f, void *user, const val *in, val *out)
{
    hop *h = user;
    uint32_t n = h->lists[0];

    (void)f;
    TRY(body(h, h->graphs[1], in + 2, n, out + 1, n));
    return body(h, h->graphs[0], out + 1, n, out, 1);
}

static hull_status lower_while(hop *h, uint32_t n_out, val *out)
{
    uint32_t n = h->n_lists ? h->lists[0] : 0;
    val *carried = arena_array(&h->p->f->a, n + 1, sizeof *carried), cond = 0;

    if (h->n_graphs != 2 || n != n_out)
        return fail(HULL_EFORMAT, "while_loop has %" PRIu32 " graphs, %" PRIu32
                    " carried values and %" PRIu32 " results", h->n_graphs, n,
                    n_out);
    if (!carried)
        return fail_oom(n * sizeof *carried);
    for (uint32_t i = 0; i < n; i++)
        TRY(as_tensor(h, &h->p->cells[h->cells[i]].value, &carried[i]));
    TRY(body(h, h->graphs[0], carried, n, &cond, 1));
    return lower_loop(h->p->f, op_scalar_i64(h->p->g, HULL_I64, INT64_MAX),
                      cond, carried, n, while_body, h, out);
}

/* map_impl(body, sliced, additional), scan(body, states, sliced, additional) */
static hull_status scan_body(front *f, void *user, const val *in, val *out)
{
    hop *h = user;
    uint32_t n = h->lists[0];

    (void)f;
    if (str_is(h->op, "scan"))
        n += h->lists[1];
    return body(h, h->graphs[0], in, n, out, count_results(h->outputs));
}

static hull_status lower_slices(hop *h, uint32_t n_out, val *out)
{
    lower_scan s = {.step = scan_body, .user = h};
    uint32_t lists = str_is(h->op, "scan") ? 2 : 1;

    if (h->n_graphs != 1 || h->n_lists < lists || h->n_lists > lists + 1)
        return fail(HULL_EUNSUPPORTED, "%.*s has %" PRIu32 " graphs and %"
                    PRIu32 " operands; save the program again with torch 2.7 "
                    "or later", STR_ARG(h->op), h->n_graphs, h->n_lists);
    s.n_states = lists == 2 ? h->lists[0] : 0;
    s.n_slices = h->lists[lists - 1];
    if (s.n_slices == 0 || n_out < s.n_states)
        return fail(HULL_EFORMAT, "%.*s slices %" PRIu32 " values and has %"
                    PRIu32 " results", STR_ARG(h->op), s.n_slices, n_out);
    s.n_results = n_out - s.n_states;
    uint32_t n = s.n_states + s.n_slices;
    val *in = arena_array(&h->p->f->a, n, sizeof *in);
    if (!in)
        return fail_oom(n * sizeof *in);
    for (uint32_t i = 0; i < n; i++) {
        TRY(as_tensor(h, &h->p->cells[h->cells[i]].value, &in[i]));
        const type *t = graph_type(h->p->g, in[i]);
        if (i >= s.n_states && (!t || t->rank == 0))
            return fail(HULL_EFORMAT, "%.*s slices a number", STR_ARG(h->op));
    }
    s.states = in;
    s.whole = in + s.n_states;
    return lower_scan_add(h->p->f, &s, out);
}

/* wrap_with_autocast(device, dtype, enabled, cache, graph, operands): what the
 * region casts to; HULL_NONE when it is not enabled. */
static hull_status autocast_of(hop *h, hull_dtype *to, bool *cuda)
{
    aten_value v[3];
    uint32_t cell;

    for (size_t i = 0; i < COUNT_OF(v); i++) {
        json_t *in = json_array_get(h->inputs, i);

        TRY(pt2_argument(h->p, h->s, json_object_get(in, "arg"), &v[i], &cell,
                         &h->missing));
    }
    if (v[0].kind != ATEN_STR || v[2].kind != ATEN_BOOL)
        return fail(HULL_EFORMAT, "autocast has no device or no 'enabled'");
    *cuda = str_is(v[0].s, "cuda");
    *to = HULL_NONE;
    if (!v[2].b)
        return HULL_OK;
    if (!*cuda && !str_is(v[0].s, "cpu"))
        return fail(HULL_EUNSUPPORTED, "an autocast region for device '%.*s'; "
                    "call run_decompositions() before saving",
                    STR_ARG(v[0].s));
    *to = v[1].kind == ATEN_DTYPE ? v[1].dt : *cuda ? HULL_F16 : HULL_BF16;
    return HULL_OK;
}

/* Regions whose operands follow the graph, and whose results are its own. */
static hull_status inline_region(hop *h, uint32_t n_out)
{
    uint32_t *cells = arena_array(&h->p->f->a, n_out + 1, sizeof *cells);
    hull_dtype outer = h->p->autocast;
    bool outer_cuda = h->p->autocast_cuda;

    if (!cells)
        return fail_oom(n_out * sizeof *cells);
    if (str_is(h->op, "wrap_with_autocast"))
        TRY(autocast_of(h, &h->p->autocast, &h->p->autocast_cuda));
    hull_status st = subgraph(h, h->graphs[0], h->cells, h->n_cells, cells,
                              n_out, false);
    h->p->autocast = outer;
    h->p->autocast_cuda = outer_cuda;
    return st == HULL_OK ? name_cells(h, cells, n_out) : st;
}

typedef hull_status lower_hop(hop *h, uint32_t n_out, val *out);

static const struct {
    const char *name;
    lower_hop *lower;  /* NULL: inlined */
    uint32_t skip;     /* leading arguments that are no operands */
} hops[] = {
    {"cond", lower_cond, 0},
    {"while_loop", lower_while, 0},
    {"map_impl", lower_slices, 0},
    {"scan", lower_slices, 0},
    {"wrap_with_set_grad_enabled", NULL, 1},
    {"wrap_with_autocast", NULL, 4},
    {"wrap_activation_checkpoint", NULL, 0},
    {"tag_activation_checkpoint", NULL, 0},
    {"strict_mode", NULL, 0},
    {"hints_wrapper", NULL, 0},
    {"invoke_subgraph", NULL, 0},
    {"run_const_graph", NULL, 0},
    {"wrap", NULL, 0},
};

/* Graphs and operands of the node. Keywords and texts are hints. */
static hull_status read_inputs(hop *h, uint32_t skip)
{
    json_t *in;
    size_t i;

    if (json_array_size(h->inputs) > INPUTS_MAX)
        return fail(HULL_EUNSUPPORTED, "%.*s has %zu arguments",
                    STR_ARG(h->op), json_array_size(h->inputs));
    json_array_foreach(h->inputs, i, in) {
        json_t *arg = json_object_get(in, "arg");
        json_t *g = json_object_get(json_object_get(arg, "as_graph"), "graph");

        if (i < skip || text_of(json_object_get(in, "name")).n ||
            json_object_get(arg, "as_string"))
            continue;
        if (!g) {
            TRY(note(add_argument(h, arg), "argument %zu", i));
            continue;
        }
        if (h->n_graphs == COUNT_OF(h->graphs) || !json_is_object(g))
            return fail(HULL_EFORMAT, "%.*s has more than %zu graphs",
                        STR_ARG(h->op), COUNT_OF(h->graphs));
        h->graphs[h->n_graphs++] = g;
    }
    return HULL_OK;
}

hull_status pt2_higher_order(pt2 *p, pt2_scope *s, json_t *at, str op,
                             bool *out_known)
{
    hop h = {.p = p, .s = s, .op = op,
             .inputs = json_object_get(at, "inputs"),
             .outputs = json_object_get(at, "outputs")};
    uint32_t n_out = count_results(h.outputs);
    size_t k = 0;

    while (k < COUNT_OF(hops) && !str_is(op, hops[k].name))
        k++;
    *out_known = k < COUNT_OF(hops);
    if (!*out_known)
        return HULL_OK;
    if (n_out > OPERANDS_MAX)
        return fail(HULL_EUNSUPPORTED, "%.*s has more than %d results",
                    STR_ARG(op), OPERANDS_MAX);
    h.cells = arena_array(&p->f->a, OPERANDS_MAX, sizeof *h.cells);
    val *out = arena_array(&p->f->a, n_out + 1, sizeof *out);
    if (!h.cells || !out)
        return fail_oom(OPERANDS_MAX * sizeof *h.cells);
    TRY(read_inputs(&h, hops[k].skip));
    if (!hops[k].lower) {
        if (h.n_graphs != 1)
            return fail(HULL_EFORMAT, "%.*s has %" PRIu32 " graphs, wanted 1",
                        STR_ARG(op), h.n_graphs);
        return inline_region(&h, n_out);
    }
    hull_status st = h.missing ? HULL_OK : hops[k].lower(&h, n_out, out);
    if (h.missing && ir_status(p->m) == HULL_OK) {
        error_clear(); /* front_check_missing tells of it */
        st = HULL_OK;
    }
    return st == HULL_OK ? name_values(&h, out, n_out) : st;
}
