/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * keys_edit.c - single random edits of a graph, one function per kind, and the
 * contrary: a disguise, which changes everything that means nothing. An edit
 * need not find a place where it is valid: the shape rules and the verifier
 * decide afterwards, and the caller draws again.
 */
#include "keys.h"

#include <math.h>
#include <string.h>

#define NAME(n) #n,
static const char *const names[] = { EDITS(NAME) };
#undef NAME

const char *edit_name(edit_kind k)
{
    return names[k];
}

/* What an edit works on. */
typedef struct spot {
    graph *g;
    rng *r;
    node **nodes;    /* all, bodies included, in walk order */
    uint32_t n;
    const char *what;
} spot;

static node *any_node(const spot *p)
{
    return p->n > 0 ? p->nodes[rng_below(p->r, p->n)] : NULL;
}

/* A random one of those with that op; NULL when there is none. */
static node *any_of(const spot *p, op_code op)
{
    uint32_t start = rng_below(p->r, p->n);

    for (uint32_t i = 0; i < p->n; i++)
        if (p->nodes[(start + i) % p->n]->op == op)
            return p->nodes[(start + i) % p->n];
    return NULL;
}

static bool coin(const spot *p)
{
    return rng_below(p->r, 2) == 0;
}

static hull_dtype any_dtype(const spot *p)
{
    static const hull_dtype all[] = {
        HULL_F32, HULL_F64, HULL_F16, HULL_BF16, HULL_I8, HULL_I16, HULL_I32,
        HULL_I64, HULL_U8, HULL_U16, HULL_U32, HULL_U64, HULL_BOOL,
    };

    return all[rng_below(p->r, COUNT_OF(all))];
}

static void *copied(const spot *p, const void *from, size_t n, size_t room)
{
    char *to = arena_alloc(&p->g->m->a, room > 0 ? room : 1);

    if (to != NULL && n > 0)
        memcpy(to, from, n);
    return to;
}

/* ---- numbers ------------------------------------------------------------- */

static int64_t other_int(const spot *p, int64_t v)
{
    switch (rng_below(p->r, 5)) {
    case 0:
        return (int64_t)((uint64_t)v + 1);
    case 1:
        return (int64_t)((uint64_t)v - 1);
    case 2:
        return v == INT64_MIN ? 0 : -v;
    case 3:
        return (int64_t)rng_below(p->r, 9) - 1;
    default:
        return (int64_t)((uint64_t)v ^ (UINT64_C(1) << rng_below(p->r, 64)));
    }
}

/* One bit, the sign of zero, a NaN with a payload, an infinity. */
static double other_float(const spot *p, double v)
{
    uint64_t bits;

    switch (rng_below(p->r, 6)) {
    case 0:
        return v == 0 ? -v : 0.0;
    case 1:
        return -v;
    case 2:
        return nextafter(v, 1e300);
    case 3:
        return coin(p) ? (double)INFINITY : -(double)INFINITY;
    case 4:
        bits = UINT64_C(0x7ff8000000000000) | rng_below(p->r, 1 << 20);
        break;
    default:
        memcpy(&bits, &v, sizeof bits);
        bits ^= UINT64_C(1) << rng_below(p->r, 64);
    }
    memcpy(&v, &bits, sizeof v);
    return v;
}

static str other_word(const spot *p, str s)
{
    static const char *const words[] = {
        "none", "relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh",
        "hard_swish", "clamp", "add", "mul", "min", "max", "constant", "edge",
        "reflect", "wrap", "nearest", "linear", "cubic", "forward", "reverse",
        "both", "zeros", "border", "reflection", "half_pixel", "asymmetric",
        "align_corners", "floor", "ceil", "prefer_floor", "prefer_ceil",
        "trunc", "rgb", "bgr", "gray", "zero", "", "relu tanh sigmoid",
    };
    char *q;

    if (s.n == 0 || rng_below(p->r, 4) > 0)
        return str_of(words[rng_below(p->r, COUNT_OF(words))]);
    q = copied(p, s.p, s.n, s.n);
    if (q == NULL)
        return s;
    q[rng_below(p->r, s.n)] ^= (char)(1 << rng_below(p->r, 8));
    return (str){ q, s.n };
}

/* A symbol of the graph's ir, or 0. */
static dim any_symbol(const spot *p)
{
    const ir *m = p->g->m;
    uint32_t n = dim_n_nodes(m), start = rng_below(p->r, n);

    for (uint32_t i = 0; i < n; i++) {
        dim d = -2 - (dim)((start + i) % n);

        if (dim_is_symbol(m, d))
            return d;
    }
    return 0;
}

static dim other_dim(const spot *p, dim d)
{
    ir *m = p->g->m;
    dim s = any_symbol(p);

    switch (rng_below(p->r, 6)) {
    case 0:
        return dim_sub(m, d, 1);
    case 1:
        return s != 0 ? s : dim_fresh(m, "e");
    case 2:
        return s != 0 ? dim_add(m, d, s) : dim_mul(m, d, 2);
    case 3:
        return (dim)rng_below(p->r, 9);
    case 4:
        return dim_int(m, -1 - (int64_t)rng_below(p->r, 3));
    default:
        return dim_add(m, d, 1);
    }
}

/* ---- attributes ---------------------------------------------------------- */

/* One of n elements at *q changes (how 0), two change places, one comes or
 * goes. Returns the new count. */
static uint32_t edit_list(spot *p, const void **q, uint32_t n, size_t size,
                          void (*change)(const spot *, void *))
{
    char *x = copied(p, *q, n * size, (n + 1) * size);
    uint32_t i = rng_below(p->r, n), k = rng_below(p->r, n);
    char spare[sizeof(str)];

    if (x == NULL)
        return n;
    *q = x;
    switch (n == 0 ? 3 : rng_below(p->r, 8)) {
    case 0:
        memcpy(spare, x + i * size, size);
        memcpy(x + i * size, x + k * size, size);
        memcpy(x + k * size, spare, size);
        return n;
    case 1:
        return n - 1;
    case 2:
    case 3:
        if (n > 0)
            memcpy(x + n * size, x + i * size, size);
        return n + 1;
    default:
        change(p, x + i * size);
        return n;
    }
}

static void change_int(const spot *p, void *x)
{
    *(int64_t *)x = other_int(p, *(int64_t *)x);
}

static void change_float(const spot *p, void *x)
{
    *(double *)x = other_float(p, *(double *)x);
}

static void change_dim(const spot *p, void *x)
{
    *(dim *)x = other_dim(p, *(dim *)x);
}

static void change_word(const spot *p, void *x)
{
    *(str *)x = other_word(p, *(str *)x);
}

#define EDIT_LIST(list, type, change)                                     \
    do {                                                                  \
        const void *q = x->u.list.p;                                      \
                                                                          \
        x->u.list.n = edit_list(p, &q, x->u.list.n, sizeof(type), change); \
        x->u.list.p = q;                                                  \
    } while (0)

static void edit_attr(spot *p, attr *x, attr_kind kind)
{
    bool was_set = x->set;

    x->set = true;
    switch (kind) {
    case ATTR_INT:
        x->u.i = other_int(p, x->u.i);
        break;
    case ATTR_FLOAT:
        x->u.f = other_float(p, x->u.f);
        break;
    case ATTR_BOOL:
        x->u.b = was_set ? !x->u.b : true;
        break;
    case ATTR_STR:
        x->u.s = other_word(p, x->u.s);
        break;
    case ATTR_DTYPE:
        x->u.dt = any_dtype(p);
        break;
    case ATTR_DIM:
        x->u.d = other_dim(p, x->u.d);
        break;
    case ATTR_INTS:
        EDIT_LIST(ints, int64_t, change_int);
        break;
    case ATTR_FLOATS:
        EDIT_LIST(floats, double, change_float);
        break;
    case ATTR_STRS:
        EDIT_LIST(strs, str, change_word);
        break;
    case ATTR_DIMS:
        EDIT_LIST(dims, dim, change_dim);
        break;
    case ATTR_TENSOR:
    case ATTR_GRAPH:
        break;
    }
}

static bool edit_attribute(spot *p)
{
    node *n = any_node(p);
    const op_info *info = n != NULL ? op_get(n->op) : NULL;
    uint32_t i;

    if (n == NULL || n->op == OP_weight || info->n_attrs == 0)
        return false;
    i = rng_below(p->r, info->n_attrs);
    if (info->attrs[i].kind == ATTR_TENSOR ||
        info->attrs[i].kind == ATTR_GRAPH)
        return false; /* literals are a kind of their own; bodies are walked */
    p->what = info->name;
    edit_attr(p, &n->attrs[i], info->attrs[i].kind);
    return true;
}

/* Bits of element i; below a byte elements are packed from the low end. */
static void flip_bit(const spot *p, const literal *l, uint8_t *data)
{
    uint32_t width = hull_dtype_bits(l->dtype);
    uint64_t i = rng_next(p->r) % l->numel;
    uint32_t bit = l->dtype == HULL_BOOL ? 0 : rng_below(p->r, width);

    data[(i * width + bit) / 8] ^= (uint8_t)(1u << ((i * width + bit) % 8));
}

/* The other zero, or a NaN with another payload. */
static void special_value(const spot *p, const literal *l, uint8_t *data)
{
    uint64_t i = rng_next(p->r) % l->numel;
    uint32_t size = hull_dtype_bits(l->dtype) / 8;
    double v = load_f64(l->dtype, data, i);

    if (v == 0)
        store_f64(l->dtype, data, i, -v);
    else if (isnan(v))
        data[i * size] ^= 1;
    else
        store_f64(l->dtype, data, i, coin(p) ? (double)NAN : -0.0);
}

static bool edit_literal(spot *p)
{
    node *n = any_of(p, OP_const);
    const literal *l = n != NULL ? node_attr(n, "value")->u.t : NULL;
    int64_t dims[HULL_MAX_RANK + 1] = { 0 };
    uint32_t rank, at;
    hull_dtype dt;
    uint8_t *data;

    if (l == NULL || hull_dtype_bits(l->dtype) == 0)
        return false;
    data = copied(p, l->data, (size_t)l->n_bytes, (size_t)l->n_bytes + 16);
    if (data == NULL)
        return false;
    rank = l->rank;
    dt = l->dtype;
    memcpy(dims, l->shape, sizeof l->shape);
    switch (rng_below(p->r, 8)) {
    case 0: /* another shape, the same bytes */
        at = rng_below(p->r, rank + 1);
        if (rank == HULL_MAX_RANK)
            return false;
        memmove(dims + at + 1, dims + at, (rank - at) * sizeof *dims);
        dims[at] = 1;
        rank++;
        break;
    case 1: /* another type, the same bytes */
        dt = any_dtype(p);
        if (hull_dtype_bits(dt) != hull_dtype_bits(l->dtype) ||
            dt == HULL_BOOL)
            return false;
        break;
    case 2:
        if (l->numel == 0 || !dtype_is_float(dt) || hull_dtype_bits(dt) < 16)
            return false;
        special_value(p, l, data);
        break;
    default:
        if (l->numel == 0)
            return false;
        flip_bit(p, l, data);
    }
    p->what = hull_dtype_name(l->dtype);
    node_literal(p->g, n, "value", dt, dims, rank, data);
    return true;
}

/* ---- operations and operands --------------------------------------------- */

static bool fits(const node *n, const op_info *info)
{
    return n->n_in >= (uint32_t)info->in_min &&
           (info->in_max < 0 || n->n_in <= (uint32_t)info->in_max) &&
           info->n_out == (int32_t)n->n_out &&
           (info->traits & (OP_LEAF | OP_CONTROL)) == 0 && info->n_out > 0;
}

/* The same operands go to another op; attributes of equal names stay. */
static bool edit_op(spot *p)
{
    node *n = any_node(p);
    op_code op = (op_code)(1 + rng_below(p->r, OP_COUNT - 1));
    const op_info *was, *now = op_get(op);
    attr *attrs;

    if (n == NULL || op == n->op || !fits(n, now) || !fits(n, op_get(n->op)))
        return false;
    was = op_get(n->op);
    attrs = arena_array(&p->g->m->a, now->n_attrs + 1, sizeof *attrs);
    for (uint32_t i = 0; attrs != NULL && i < now->n_attrs; i++) {
        int k = attr_index(n->op, str_of(now->attrs[i].name));

        attrs[i] = now->attrs[i].def;
        if (k >= 0 && was->attrs[k].kind == now->attrs[i].kind)
            attrs[i] = n->attrs[k];
        if (attrs[i].set || !now->attrs[i].required)
            continue;
        if (now->attrs[i].kind == ATTR_GRAPH ||
            now->attrs[i].kind == ATTR_TENSOR)
            return false;
        attrs[i].set = true; /* nothing, zero */
    }
    p->what = was->name;
    n->op = op;
    n->attrs = attrs;
    return attrs != NULL;
}

/* As node_add leaves a node: no missing operands at the end. */
static void trim(node *n)
{
    while (n->n_in > (uint32_t)op_get(n->op)->in_min &&
           n->in[n->n_in - 1] == 0)
        n->n_in--;
}

static bool edit_operand_order(spot *p)
{
    node *n = any_node(p);
    uint32_t i, k;
    val v;

    if (n == NULL || n->n_in < 2 || (op_get(n->op)->traits & OP_COMMUTES) != 0)
        return false;
    i = rng_below(p->r, n->n_in);
    k = rng_below(p->r, n->n_in);
    v = n->in[i];
    n->in[i] = n->in[k];
    n->in[k] = v;
    p->what = op_get(n->op)->name;
    trim(n);
    return v != n->in[i];
}

/* A value of v's type that is defined in front of node `limit`; 0 = none. */
static val value_like(const spot *p, val v, uint32_t limit)
{
    const graph *g = p->g;
    uint32_t start = rng_below(p->r, g->n_values);

    for (uint32_t i = 0; i < g->n_values; i++) {
        val w = (start + i) % g->n_values;
        const node *def = w != 0 ? graph_value(g, w)->def : NULL;

        if (w == 0 || w == v || (def != NULL && def->number >= limit) ||
            !type_eq(g->m, graph_type(g, w), graph_type(g, v)))
            continue;
        return w;
    }
    return 0;
}

static bool edit_edge(spot *p)
{
    node *n = any_node(p);
    uint32_t i;
    val v;

    if (n == NULL || n->n_in == 0)
        return false;
    i = rng_below(p->r, n->n_in);
    if (n->in[i] == 0)
        return false;
    p->what = op_get(n->op)->name;
    if (rng_below(p->r, 16) == 0) { /* an optional one goes */
        n->in[i] = 0;
        trim(n);
        return true;
    }
    v = value_like(p, n->in[i], n->number);
    n->in[i] = v;
    return v != 0;
}

static bool edit_removal(spot *p)
{
    node *n = any_node(p);

    if (n == NULL || n->n_out != 1 || n->op == OP_bind) /* its symbols stay */
        return false;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i] != 0 && type_eq(p->g->m, graph_type(p->g, n->in[i]),
                                     graph_type(p->g, n->out[0]))) {
            p->what = op_get(n->op)->name;
            graph_replace(p->g, n->out[0], n->in[i]);
            graph_settle(p->g);
            return true;
        }
    return false;
}

static bool edit_insertion(spot *p)
{
    static const op_code ops[] = { OP_neg, OP_abs, OP_relu, OP_sign };
    node *n = any_node(p);
    uint32_t i;

    if (n == NULL || n->n_in == 0)
        return false;
    i = rng_below(p->r, n->n_in);
    if (n->in[i] == 0)
        return false;
    p->what = op_get(n->op)->name;
    p->g->insert_in = n->parent;
    p->g->insert_before = n;
    n->in[i] = op_unary(p->g, ops[rng_below(p->r, COUNT_OF(ops))], n->in[i]);
    p->g->insert_in = NULL;
    p->g->insert_before = NULL;
    return true;
}

/* ---- interface ----------------------------------------------------------- */

static region *any_region(const spot *p)
{
    node *n = any_node(p);

    return n != NULL && coin(p) ? n->parent : p->g->body;
}

static bool edit_result(spot *p)
{
    region *r = any_region(p);
    uint32_t i = rng_below(p->r, r->n_results);
    uint32_t k = rng_below(p->r, r->n_results);
    val v;

    if (r->n_results == 0)
        return false;
    p->what = r->owner == NULL ? "graph" : op_get(r->owner->op)->name;
    v = r->results[i];
    switch (rng_below(p->r, 4)) {
    case 0:
        p->g->insert_in = r;
        graph_result(p->g, v);
        p->g->insert_in = NULL;
        return true;
    case 1:
        r->n_results--;
        return true;
    case 2:
        r->results[i] = value_like(p, v, UINT32_MAX);
        return r->results[i] != 0;
    default:
        r->results[i] = r->results[k];
        r->results[k] = v;
        return v != r->results[i];
    }
}

/* Another element type, or one other size. */
static bool edit_type(spot *p, val v)
{
    type t = *graph_type(p->g, v);
    dim *dims;

    if (t.kind != TYPE_TENSOR)
        return false;
    dims = copied(p, t.dims, t.rank * sizeof *dims,
                  (t.rank + 1) * sizeof *dims);
    if (dims == NULL)
        return false;
    if (t.rank == 0 || rng_below(p->r, 3) == 0) {
        t.dtype = any_dtype(p);
    } else {
        uint32_t i = rng_below(p->r, t.rank);

        dims[i] = other_dim(p, dims[i]);
    }
    t = type_tensor(p->g->m, t.dtype, dims, t.rank);
    value_set_type(p->g, v, &t);
    return true;
}

static bool edit_parameter(spot *p)
{
    const region *r = any_region(p);

    if (r->n_params == 0)
        return false;
    p->what = r->owner == NULL ? "graph" : op_get(r->owner->op)->name;
    return edit_type(p, r->params[rng_below(p->r, r->n_params)]);
}

static bool edit_hole(spot *p)
{
    node *n = any_of(p, OP_weight);

    if (n == NULL)
        return false;
    p->what = "weight";
    return edit_type(p, n->out[0]);
}

/* ---- symbols ------------------------------------------------------------- */

static bool edit_symbol(spot *p)
{
    ir *m = p->g->m;
    dim d = any_symbol(p);
    const dim_node *n = d != 0 ? dim_get(m, d) : NULL;
    int64_t by = 1 + (int64_t)rng_below(p->r, 3);

    if (n == NULL)
        return false;
    p->what = "range";
    switch (rng_below(p->r, 3)) {
    case 0:
        dim_set_range(m, d, n->min + by, n->max);
        break;
    case 1:
        dim_set_range(m, d, n->min, n->max == INT64_MAX ? 4096 : n->max - by);
        break;
    default:
        dim_set_opt(m, d, n->opt + by);
    }
    return n->min <= n->max;
}

/* One size of a parameter is no longer, or from now on, that symbol. */
static bool edit_equality(spot *p)
{
    const region *r = p->g->body;
    val v = r->n_params > 0 ? r->params[rng_below(p->r, r->n_params)] : 0;
    type t = v != 0 ? *graph_type(p->g, v) : (type){ 0 };
    dim *dims = copied(p, t.dims, t.rank * sizeof *dims,
                       (t.rank + 1) * sizeof *dims);
    uint32_t i = rng_below(p->r, t.rank);

    if (t.kind != TYPE_TENSOR || t.rank == 0 || dims == NULL)
        return false;
    p->what = "size";
    dims[i] = coin(p) ? any_symbol(p) : dim_fresh(p->g->m, "e");
    t = type_tensor(p->g->m, t.dtype, dims, t.rank);
    value_set_type(p->g, v, &t);
    return dims[i] != 0;
}

/* ---- holes and states ---------------------------------------------------- */

/* Two holes become one, or a hole with several readers two. */
static bool edit_sharing(spot *p)
{
    node *a = any_of(p, OP_weight), *b = any_of(p, OP_weight), *n;
    uint32_t start = rng_below(p->r, p->n);

    if (a == NULL)
        return false;
    p->what = "weight";
    if (coin(p)) {
        if (a == b || !type_eq(p->g->m, graph_type(p->g, a->out[0]),
                               graph_type(p->g, b->out[0])))
            return false;
        graph_replace(p->g, b->out[0], a->out[0]);
        graph_settle(p->g);
        return true;
    }
    for (uint32_t i = 0; i < p->n; i++) {
        n = p->nodes[(start + i) % p->n];
        for (uint32_t k = 0; k < n->n_in; k++) {
            if (n->in[k] != a->out[0])
                continue;
            p->g->insert_in = n->parent;
            p->g->insert_before = n;
            n->in[k] = op_weight(p->g, str_of("\x01 another"),
                                 graph_type(p->g, a->out[0]));
            p->g->insert_in = NULL;
            p->g->insert_before = NULL;
            return true;
        }
    }
    return false;
}

static bool edit_state(spot *p)
{
    graph *g = p->g;
    uint32_t i = rng_below(p->r, g->n_states);
    uint32_t k = rng_below(p->r, g->n_states), x;

    if (g->n_states == 0)
        return false;
    p->what = "state";
    switch (rng_below(p->r, 3)) {
    case 0: /* no state any more */
        g->states[i] = g->states[--g->n_states];
        return true;
    case 1: /* two results change places */
        x = g->states[i].result;
        g->states[i].result = g->states[k].result;
        g->states[k].result = x;
        return i != k;
    default: /* another result */
        g->states[i].result = rng_below(p->r, g->body->n_results);
        return true;
    }
}

/* ---- the whole ----------------------------------------------------------- */

#define ROW(name) edit_##name,
static bool (*const edits[])(spot *) = { EDITS(ROW) };
#undef ROW

static bool spot_init(spot *p)
{
    p->n = graph_n_nodes(p->g);
    p->nodes = mem_calloc(p->n + 1, sizeof *p->nodes);
    if (p->nodes == NULL)
        return false;
    p->n = 0;
    for (node *n = graph_first(p->g); n != NULL; n = graph_next(p->g, n)) {
        n->number = p->n;
        p->nodes[p->n++] = n;
    }
    return true;
}

/* Types that follow from an edit. */
static bool infer_again(graph *g)
{
    for (node *n = graph_first(g); n != NULL; n = graph_next(g, n))
        if (node_infer(g, n) != HULL_OK)
            return false;
    return g->m->status == HULL_OK && graph_verify(g) == HULL_OK;
}

bool edit_graph(graph *g, edit_kind k, rng *r, const char **out_what)
{
    spot p = { .g = g, .r = r, .what = "" };
    bool ok = spot_init(&p) && edits[k](&p) && g->m->status == HULL_OK &&
              infer_again(g);

    *out_what = p.what;
    mem_free(p.nodes);
    error_clear();
    return ok;
}
