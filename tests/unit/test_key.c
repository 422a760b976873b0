/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_key.c - what changes a key and what does not, over imported models:
 * every single edit of an attribute, operand, literal, type, result order or
 * CODE option does; names, the order of nodes and another import do not.
 *
 * An edit of an operand may give the same graph with its holes in another
 * order (two equal convolutions added the other way round): then the text may
 * stay, but the list of holes may not.
 */
#include "guard.h"

#include <math.h>

#include "cache/cache.h"
#include "front/front.h"

/* Edits per model: all of a small one, a sample of a large one. */
#define NODES_EDITED (GUARD_SANITIZED ? 40 : 200)

typedef struct form {
    digest text;
    digest holes; /* names in canonical order */
} form;

typedef struct counts {
    uint32_t models, attrs, operands, types, results, kept;
} counts;
static counts done;

static form form_of(graph *g)
{
    uint32_t n = 0;
    const str *names;
    digester d;
    buf text;
    form f;

    buf_init(&text, SIZE_MAX / 2);
    OK(graph_canonical_text(&text, g));
    f.text = digest_of(text.p, text.n);
    buf_fini(&text);
    names = graph_holes(g, &n);
    digest_begin(&d);
    for (uint32_t i = 0; i < n; i++) {
        digest_update(&d, &names[i].n, sizeof names[i].n);
        digest_update(&d, names[i].p, names[i].n);
    }
    digest_end(&d, &f.holes);
    return f;
}

static graph *copy_of(ir **out, const graph *g)
{
    graph *c;

    OK(ir_new(out));
    c = graph_copy(*out, g, str_of("main"));
    OK(ir_status(*out));
    return c;
}

static node *nth_node(graph *g, uint32_t k)
{
    node *n = graph_first(g);

    while (k-- > 0)
        n = graph_next(g, n);
    return n;
}

static void stop_at(const char *model, const node *n, const char *what)
{
    STOP("%s: %s of %s '%.*s' leaves the key as it is", model, what,
         op_get(n->op)->name, STR_ARG(n->label));
}

/* ---- attributes ---------------------------------------------------------- */

static uint32_t attr_edits(const node *n, uint32_t a)
{
    const attr *x = &n->attrs[a];

    switch (op_get(n->op)->attrs[a].kind) {
    case ATTR_INTS:
        return x->u.ints.n + 1;
    case ATTR_FLOATS:
        return x->u.floats.n + 1;
    case ATTR_STRS:
        return x->u.strs.n;
    case ATTR_DIMS:
        return x->u.dims.n + 1;
    case ATTR_FLOAT:
        return 2;
    case ATTR_TENSOR:
        return x->u.t == NULL ? 0 : x->u.t->numel > 0 ? 3 : 1;
    case ATTR_GRAPH:
        return 0; /* its nodes are walked as well */
    default:
        return 1;
    }
}

static const void *dup_in(graph *g, const void *p, size_t n)
{
    void *q = n > 0 ? arena_memdup(&g->m->a, p, n)
                    : arena_alloc(&g->m->a, 16);

    assert_non_null(q);
    return q;
}

static void edit_literal(graph *g, node *n, const char *name, uint32_t how)
{
    const literal *l = node_attr(n, name)->u.t;
    char *data = arena_alloc(&g->m->a, (size_t)l->n_bytes + 16);
    hull_dtype dt = l->dtype;
    int64_t shape[HULL_MAX_RANK + 1];
    uint32_t rank = l->rank;

    assert_non_null(data);
    memcpy(data, l->data, (size_t)l->n_bytes);
    memcpy(shape, l->shape, sizeof l->shape);
    if (how == 0 && rank < HULL_MAX_RANK)
        shape[rank++] = 1; /* another shape, the same bytes */
    else if (how == 1)
        data[0] ^= 1; /* the first and */
    else
        data[l->n_bytes - 1] ^= dt == HULL_BOOL ? 1 : 2; /* the last value */
    node_literal(g, n, name, dt, shape, rank, data);
}

/* The how-th edit of one attribute. */
static void edit_attr(graph *g, node *n, uint32_t a, uint32_t how)
{
    const attr_schema *row = &op_get(n->op)->attrs[a];
    attr *x = &n->attrs[a];
    bool was_set = x->set;

    x->set = true;
    switch (row->kind) {
    case ATTR_INT:
        x->u.i++;
        break;
    case ATTR_FLOAT:
        x->u.f = isinf(x->u.f) ? how
                 : how == 0    ? x->u.f + 1
                               : nextafter(x->u.f, INFINITY);
        break;
    case ATTR_BOOL:
        x->u.b = was_set ? !x->u.b : true;
        break;
    case ATTR_STR:
        x->u.s = str_of("another");
        break;
    case ATTR_DTYPE:
        x->u.dt = x->u.dt == HULL_F32 ? HULL_F64 : HULL_F32;
        break;
    case ATTR_DIM:
        x->u.d = dim_add(g->m, x->u.d, 1);
        break;
    case ATTR_INTS:
        x->u.ints.p = dup_in(g, x->u.ints.p, x->u.ints.n * sizeof(int64_t));
        if (how == x->u.ints.n)
            x->u.ints.n = how == 0 ? 1 : how - 1;
        else
            ((int64_t *)x->u.ints.p)[how]++;
        break;
    case ATTR_FLOATS:
        x->u.floats.p =
            dup_in(g, x->u.floats.p, x->u.floats.n * sizeof(double));
        if (how == x->u.floats.n)
            x->u.floats.n = how == 0 ? 1 : how - 1;
        else
            ((double *)x->u.floats.p)[how] += 0.5;
        break;
    case ATTR_STRS:
        x->u.strs.p = dup_in(g, x->u.strs.p, x->u.strs.n * sizeof(str));
        ((str *)x->u.strs.p)[how] = str_of("another");
        break;
    case ATTR_DIMS:
        x->u.dims.p = dup_in(g, x->u.dims.p, x->u.dims.n * sizeof(dim));
        if (how == x->u.dims.n)
            x->u.dims.n = how == 0 ? 1 : how - 1;
        else
            ((dim *)x->u.dims.p)[how] =
                dim_add(g->m, x->u.dims.p[how], 1);
        break;
    case ATTR_TENSOR:
        edit_literal(g, n, row->name, how);
        break;
    case ATTR_GRAPH:
        break;
    }
}

static void edit_attrs(const char *model, const graph *g, uint32_t k,
                       const form *was)
{
    const node *old = nth_node((graph *)g, k);
    const op_info *info = op_get(old->op);

    for (uint32_t a = 0; a < info->n_attrs; a++) {
        if (old->op == OP_weight)
            continue; /* its name is none of the key's business */
        for (uint32_t how = 0; how < attr_edits(old, a); how++) {
            form now;
            graph *c;
            ir *m;

            c = copy_of(&m, g);
            edit_attr(c, nth_node(c, k), a, how);
            OK(ir_status(m));
            now = form_of(c);
            if (digest_eq(&now.text, &was->text))
                stop_at(model, old, info->attrs[a].name);
            ir_free(m);
            done.attrs++;
        }
    }
}

/* ---- operands ------------------------------------------------------------ */

/* A hash of what a value is made of, by structure; unequal hashes are
 * different computations. */
static uint64_t made_of(const graph *g, val v, uint64_t *memo)
{
    const value *x;
    uint64_t h[40] = {0};
    uint32_t n = 0;

    v = v != 0 ? graph_resolve(g, v) : 0;
    if (v == 0 || memo[v] != 0)
        return v == 0 ? 1 : memo[v];
    x = graph_value(g, v);
    h[n++] = x->index;
    if (x->def == NULL) {
        h[n++] = x->scope == g->body ? 7 : (uint64_t)(uintptr_t)x->scope;
    } else {
        h[n++] = 1000 + x->def->op;
        if (x->def->op == OP_weight) {
            str name = attr_str(x->def, "name");

            h[n++] = hash64(name.p, name.n);
        }
        for (uint32_t i = 0; i < x->def->n_in; i++) {
            h[2] = h[2] * 31 + made_of(g, x->def->in[i], memo);
            h[3] = i;
        }
        n = 4;
    }
    return memo[v] = hash64(h, n * sizeof h[0]) | 1;
}

/* An earlier value of the same type that is something else; 0 = none. */
static val other_value(const graph *g, const node *n, uint32_t i,
                       uint64_t *memo)
{
    const type *t = graph_type(g, n->in[i]);

    for (const node *p = n->prev; p != NULL; p = p->prev)
        if (p->n_out > 0 && p->out[0] != n->in[i] &&
            type_eq(g->m, graph_type(g, p->out[0]), t) &&
            made_of(g, p->out[0], memo) != made_of(g, n->in[i], memo))
            return p->out[0];
    return 0;
}

/* In a copy, operand i of the k-th node becomes v and operand j becomes w. */
static void try_operands(const char *model, const graph *g, uint32_t k,
                         uint32_t i, val v, uint32_t j, val w,
                         const form *was)
{
    const node *old = nth_node((graph *)g, k);
    form now;
    graph *c;
    node *n;
    ir *m;

    c = copy_of(&m, g);
    n = nth_node(c, k);
    n->in[i] = v;
    n->in[j] = w;
    now = form_of(c);
    if (digest_eq(&now.text, &was->text) &&
        digest_eq(&now.holes, &was->holes))
        stop_at(model, old, i == j ? "another operand" : "operand order");
    ir_free(m);
    done.operands++;
}

static void edit_operands(const char *model, const graph *g, uint32_t k,
                          const form *was)
{
    const node *n = nth_node((graph *)g, k);
    uint64_t *memo = calloc(g->n_values, sizeof *memo);

    assert_non_null(memo);
    for (uint32_t i = 0; i < n->n_in; i++) {
        val v = n->in[i] != 0 ? other_value(g, n, i, memo) : 0;

        if (v != 0)
            try_operands(model, g, k, i, v, i, v, was);
        if (i > 0 && made_of(g, n->in[i], memo) !=
                         made_of(g, n->in[i - 1], memo))
            try_operands(model, g, k, i, n->in[i - 1], i - 1, n->in[i], was);
    }
    free(memo);
}

/* ---- types and results --------------------------------------------------- */

static void edit_type(const char *model, const graph *g, val v,
                      const form *was)
{
    for (uint32_t how = 0; how <= graph_type(g, v)->rank; how++) {
        dim dims[HULL_MAX_RANK];
        form now;
        graph *c;
        ir *m;
        type t;

        c = copy_of(&m, g);
        t = *graph_type(c, v);
        if (t.kind != TYPE_TENSOR) {
            ir_free(m);
            return;
        }
        memcpy(dims, t.dims, t.rank * sizeof *dims);
        t.dims = dims;
        if (how < t.rank)
            dims[how] = dim_add(m, dims[how], 1);
        else
            t.dtype = t.dtype == HULL_F32 ? HULL_F16 : HULL_F32;
        t = type_tensor(m, t.dtype, dims, t.rank);
        value_set_type(c, v, &t);
        now = form_of(c);
        if (digest_eq(&now.text, &was->text))
            STOP("%s: type of value %u leaves the key as it is", model, v);
        ir_free(m);
        done.types++;
    }
}

static void edit_types(const char *model, const graph *g, const form *was)
{
    uint32_t left = NODES_EDITED;

    for (uint32_t i = 0; i < g->body->n_params; i++)
        edit_type(model, g, g->body->params[i], was);
    for (const node *n = g->body->first; n != NULL && left > 0; n = n->next)
        if (n->op == OP_weight) {
            edit_type(model, g, n->out[0], was);
            left--;
        }
}

static void edit_results(const char *model, const graph *g, const form *was)
{
    for (uint32_t i = 0; i < g->body->n_results; i++) {
        form now;
        graph *c;
        ir *m;

        c = copy_of(&m, g);
        if (i == 0) { /* one result more */
            graph_result(c, c->body->results[0]);
        } else {
            val v = c->body->results[i];

            c->body->results[i] = c->body->results[i - 1];
            c->body->results[i - 1] = v;
        }
        now = form_of(c);
        if (digest_eq(&now.text, &was->text) &&
            digest_eq(&now.holes, &was->holes))
            STOP("%s: order of results %u leaves the key", model, i);
        ir_free(m);
        done.results++;
    }
}

/* ---- what keeps the key -------------------------------------------------- */

static void check_kept(const char *model, graph *c, const form *was,
                       const char *what)
{
    form now = form_of(c);

    if (!digest_eq(&now.text, &was->text))
        STOP("%s: %s changes the key", model, what);
    done.kept++;
}

static void rename_all(const char *model, const graph *g, const form *was)
{
    static char names[20000][16];
    uint32_t k = 0;
    graph *c;
    ir *m;

    c = copy_of(&m, g);
    for (node *n = graph_first(c); n != NULL; n = graph_next(c, n)) {
        n->label = str_of("renamed");
        if (n->op == OP_weight && k < COUNT_OF(names)) {
            snprintf(names[k], sizeof names[k], "w%u", 20000 - k);
            node_str(c, n, "name", str_of(names[k++]));
        }
    }
    for (val v = 1; v < c->n_values; v++)
        value_set_name(c, v, str_of("v"));
    for (uint32_t i = 0; i < c->n_states; i++)
        c->states[i].initial = str_of("state");
    c->name = str_of("another");
    if (c->n_states == 0)
        check_kept(model, c, was, "renaming values, nodes, weights");
    ir_free(m);
}

/* Whether n or a body of it reads a result of a node whose number is not yet
 * placed. Numbers: 1 = placed. */
static bool is_ready(const graph *g, const node *n)
{
    for (uint32_t i = 0; i < n->n_in; i++) {
        node *def = n->in[i] != 0 ? graph_def(g, n->in[i]) : NULL;

        while (def != NULL && def->parent != g->body)
            def = def->parent->owner; /* inside a body: not our business */
        if (def != NULL && def != n && def->number != 1)
            return false;
    }
    return true;
}

static bool has_body(const node *n)
{
    return (op_get(n->op)->traits & OP_CONTROL) != 0;
}

/* Another order of the body's nodes with definitions before uses: each time
 * the last of the ready ones goes next. Models with bodies are left out: what
 * a body captures is not among its node's operands. */
static void reorder(const char *model, const graph *g, const form *was)
{
    uint32_t count = 0, left;
    node **all;
    graph *c;
    ir *m;

    c = copy_of(&m, g);
    all = calloc(c->n_values + 1, sizeof(*all));
    assert_non_null(all);
    for (node *n = c->body->first; n != NULL; n = n->next) {
        if (has_body(n))
            count = UINT32_MAX / 2;
        if (count < c->n_values)
            all[count++] = n;
        n->number = 0;
    }
    if (count < c->n_values) {
        c->body->first = c->body->last = NULL;
        for (left = count; left > 0;) {
            uint32_t at = count;
            node *n;

            while (at-- > 0)
                if (all[at] != NULL && is_ready(c, all[at]))
                    break;
            assert_true(at < count);
            n = all[at];
            all[at] = NULL;
            n->number = 1;
            n->prev = c->body->last;
            n->next = NULL;
            if (n->prev != NULL)
                n->prev->next = n;
            else
                c->body->first = n;
            c->body->last = n;
            left--;
        }
        OK(graph_verify(c));
        check_kept(model, c, was, "another order of nodes");
    }
    free(all);
    ir_free(m);
}

static void reparse(const char *model, const graph *g, const form *was)
{
    graph *c;
    ir *m, *parsed;
    buf text;

    c = copy_of(&m, g);
    buf_init(&text, SIZE_MAX / 2);
    graph_print(&text, c);
    OK(buf_status(&text));
    OK(ir_parse(&parsed, buf_view(&text), m));
    check_kept(model, ir_find(parsed, str_of("main")), was,
               "printing and parsing");
    ir_free(parsed);
    buf_fini(&text);
    ir_free(m);
}

/* ---- one model ----------------------------------------------------------- */

static void check_model(const char *path)
{
    front_model *fm, *again;
    uint32_t n, step;
    form was, second;
    graph *g;
    ir *m;

    OK(front_import(&fm, path, NULL));
    was = form_of(fm->g);
    g = copy_of(&m, fm->g); /* copies of a copy keep its value numbers */
    OK(front_import(&again, path, NULL));
    second = form_of(again->g);
    assert_true(digest_eq(&was.text, &second.text));
    assert_true(digest_eq(&was.holes, &second.holes));
    front_free(again);
    rename_all(path, g, &was);
    reorder(path, g, &was);
    reparse(path, g, &was);
    n = graph_n_nodes(g);
    step = n / NODES_EDITED + 1;
    for (uint32_t k = 0; k < n; k += step) {
        edit_attrs(path, g, k, &was);
        edit_operands(path, g, k, &was);
    }
    edit_types(path, g, &was);
    edit_results(path, g, &was);
    second = form_of(g); /* edits were of copies */
    assert_true(digest_eq(&was.text, &second.text));
    ir_free(m);
    front_free(fm);
    done.models++;
}

static void demo_models(void **state)
{
    (void)state;
    check_model(DIGITS);
    check_model("demo/digits.pt2");
}

static void fixtures(void **state)
{
    static const char *const names[] = {
        "mlp/train.pt2", "mlp/train.dyn.pt2", "mlp/dynamo.onnx",
        "cnn/train.pt2", "cnn/legacy.onnx", "lstm/train.pt2",
        "lstm/dynamo.onnx", "bert/train.dyn.pt2", "bert/dynamo.onnx",
        "gpt2/train.pt2", "llama/train.dyn.pt2", "llama/dynamo.onnx",
        "unet/train.pt2", "unet/legacy.onnx", "resnet/dynamo.onnx",
        "vit/train.pt2", "efficientnet/train.pt2", "convnext/dynamo.onnx",
    };
    uint32_t seen = 0;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *path = fixture(names[i]);

        if (path == NULL)
            continue;
        check_model(path);
        seen++;
    }
    if (seen == 0) {
        print_message("SKIP: no shared fixtures (HULL_SHARED)\n");
        skip();
    }
    print_message("%u models: %u attributes, %u operands, %u types, %u "
                  "results edited, %u kept\n", done.models, done.attrs,
                  done.operands, done.types, done.results, done.kept);
}

/* ---- named cases --------------------------------------------------------- */

static digest text_digest(const char *text)
{
    hull_status st;
    digest d;
    buf b;
    ir *m;

    OK(ir_parse(&m, str_of(text), NULL));
    buf_init(&b, SIZE_MAX / 2);
    st = graph_canonical_text(&b, m->graphs[0]);
    OK(st);
    d = digest_of(b.p, b.n);
    buf_fini(&b);
    ir_free(m);
    return d;
}

static void differ(const char *a, const char *b)
{
    digest da = text_digest(a), db = text_digest(b);

    if (digest_eq(&da, &db))
        STOP("one key for\n%s\nand\n%s", a, b);
}

static void same(const char *a, const char *b)
{
    digest da = text_digest(a), db = text_digest(b);

    if (!digest_eq(&da, &db))
        STOP("two keys for\n%s\nand\n%s", a, b);
}

/* One node over two inputs. */
static digest binary_digest(op_code op, bool turned, double c)
{
    dim dims[1] = {4};
    hull_status st;
    val a, b, y;
    graph *g;
    digest d;
    buf text;
    ir *m;
    type t;

    OK(ir_new(&m));
    g = graph_new(m, str_of("main"));
    t = type_tensor(m, HULL_F32, dims, 1);
    a = graph_param(g, str_of("a"), &t);
    b = graph_param(g, str_of("b"), &t);
    y = op_binary(g, op, turned ? b : a, turned ? a : b);
    graph_result(g, op_binary(g, OP_add, y, op_scalar(g, HULL_F32, c)));
    buf_init(&text, SIZE_MAX / 2);
    st = graph_canonical_text(&text, g);
    OK(st);
    d = digest_of(text.p, text.n);
    buf_fini(&text);
    ir_free(m);
    return d;
}

static void unequal(digest a, digest b)
{
    assert_false(digest_eq(&a, &b));
}

static void operand_order_matters(void **state)
{
    static const op_code ops[] = {OP_sub, OP_div, OP_add, OP_mul, OP_max};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(ops); i++)
        unequal(binary_digest(ops[i], false, 0.5),
                binary_digest(ops[i], true, 0.5));
    unequal(binary_digest(OP_sub, false, 0), binary_digest(OP_add, false, 0));
    unequal(binary_digest(OP_sub, false, 0.0),
            binary_digest(OP_sub, false, -0.0));
    unequal(binary_digest(OP_sub, false, 0.1),
            binary_digest(OP_sub, false, nextafterf(0.1f, 1)));
    unequal(binary_digest(OP_sub, false, INFINITY),
            binary_digest(OP_sub, false, -INFINITY));
    unequal(binary_digest(OP_sub, false, NAN),
            binary_digest(OP_sub, false, INFINITY));
}

/* conv over x with given stride, pads, dilation, groups. */
static digest conv_digest(int64_t stride, int64_t pad, int64_t dilation,
                          bool bias)
{
    dim xd[4] = {1, 4, 16, 16}, wd[4] = {4, 4, 3, 3}, bd[1] = {4};
    int64_t strides[2] = {stride, stride}, dil[2] = {dilation, dilation};
    int64_t pads[4] = {pad, pad, pad, pad};
    type xt, wt, bt;
    digest d;
    graph *g;
    node *n;
    buf text;
    ir *m;

    OK(ir_new(&m));
    g = graph_new(m, str_of("main"));
    xt = type_tensor(m, HULL_F32, xd, 4);
    wt = type_tensor(m, HULL_F32, wd, 4);
    bt = type_tensor(m, HULL_F32, bd, 1);
    n = node_new(g, OP_conv);
    node_input(g, n, graph_param(g, str_of("x"), &xt));
    node_input(g, n, op_weight(g, str_of("w"), &wt));
    if (bias)
        node_input(g, n, op_weight(g, str_of("b"), &bt));
    node_ints(g, n, "stride", strides, 2);
    node_ints(g, n, "dilation", dil, 2);
    node_ints(g, n, "pad", pads, 4);
    graph_result(g, node_add(g, n));
    OK(ir_status(m));
    buf_init(&text, SIZE_MAX / 2);
    OK(graph_canonical_text(&text, g));
    d = digest_of(text.p, text.n);
    buf_fini(&text);
    ir_free(m);
    return d;
}

static void convolutions_of_other_attributes_differ(void **state)
{
    digest a = conv_digest(1, 1, 1, false), b = conv_digest(1, 1, 1, false);

    (void)state;
    assert_true(digest_eq(&a, &b));
    unequal(a, conv_digest(2, 1, 1, false));
    unequal(a, conv_digest(1, 0, 1, false));
    unequal(a, conv_digest(1, 1, 2, false));
    unequal(a, conv_digest(1, 1, 1, true));
}

/* ---- options, backend, target -------------------------------------------- */

static digest key_of(const char *backend, const char *target,
                     const options *o, const char *text)
{
    cache_key k;
    digest d;

    OK(cache_key_make(&k, str_of(backend), str_of(target), o, str_of(text)));
    d = k.d;
    cache_key_fini(&k);
    return d;
}

static const char *another_value(const hull_option_info *info)
{
    if (strcmp(info->type, "bool") == 0 || strcmp(info->type, "BOOL") == 0)
        return strcmp(info->default_value, "on") == 0 ? "off" : "on";
    if (strcmp(info->type, "str") == 0 || strcmp(info->type, "STR") == 0)
        return "other";
    return strcmp(info->default_value, "7") == 0 ? "5" : "7";
}

static void only_code_options_change_the_key(void **state)
{
    hull_option_info info;
    hull_options *o = options_of("");
    digest was = key_of("ref", "t", o, "text\n");
    uint32_t code = 0, others = 0;

    (void)state;
    for (size_t i = 0; hull_options_describe(i, &info) == HULL_OK; i++) {
        digest now;

        hull_options_free(o);
        o = options_of("");
        OK(hull_options_set(o, info.key,
                            strcmp(info.key, "backends") == 0
                                ? "sim,ref" : another_value(&info)));
        now = key_of("ref", "t", o, "text\n");
        if (strcmp(info.effect, "CODE") == 0)
            code++;
        else
            others++;
        if (digest_eq(&was, &now) == (strcmp(info.effect, "CODE") == 0))
            STOP("option %s is %s", info.key, info.effect);
    }
    hull_options_free(o);
    assert_true(code >= 2);
    assert_true(others >= 10);
}

static void backend_target_and_text_change_the_key(void **state)
{
    hull_options *o = options_of("");
    digest was = key_of("ref", "t", o, "text\n");
    cache_key k;

    (void)state;
    unequal(was, key_of("sim", "t", o, "text\n"));
    unequal(was, key_of("ref", "u", o, "text\n"));
    unequal(was, key_of("ref", "t", o, "texu\n"));
    unequal(key_of("ref", "t x", o, "y"), key_of("ref", "t", o, "x y"));
    assert_int_not_equal(cache_key_make(&k, str_of("ref"), str_of("t\nu"), o,
                                        str_of("text\n")), HULL_OK);
    hull_options_free(o);
}

/* Names, blanks and comments of the text form mean nothing. */
static void names_of_the_text_do_not_matter(void **state)
{
    const char *a = "graph @main(%x: f32[4], %y: f32[4]) {\n"
                    "  %w = weight \"w\" : f32[4]\n"
                    "  %z = add %x, %w\n"
                    "  %r = sub %z, %y\n"
                    "  return %r\n"
                    "}\n";
    const char *b = "graph @f(%p: f32[4], %q: f32[4]) {\n"
                    "  %k = weight \"other.name\" : f32[4]\n"
                    "  %l = add %p, %k\n"
                    "  %m = sub %l, %q\n"
                    "  return %m\n"
                    "}\n";
    const char *c = "graph @main(%x: f32[4], %y: f32[4]) {\n"
                    "  %w = weight \"w\" : f32[4]\n"
                    "  %z = add %x, %w\n"
                    "  %r = sub %y, %z\n"
                    "  return %r\n"
                    "}\n";

    (void)state;
    same(a, b);
    differ(a, c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(demo_models),
        cmocka_unit_test(fixtures),
        cmocka_unit_test(operand_order_matters),
        cmocka_unit_test(convolutions_of_other_attributes_differ),
        cmocka_unit_test(only_code_options_change_the_key),
        cmocka_unit_test(backend_target_and_text_change_the_key),
        cmocka_unit_test(names_of_the_text_do_not_matter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
