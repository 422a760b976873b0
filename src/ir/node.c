/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * node.c - making nodes: operands, attributes, node_add with its checks, and
 * reading attributes back. A node becomes visible by node_add alone; before
 * that it is only a block of arena memory. A NULL node and a failed ir make
 * every function here a no-op, so callers check once per unit of work.
 */
#include "ir/ir_private.h"

#include <string.h>

node *node_new(graph *g, op_code op)
{
    const op_info *info;
    node *n;

    if (g == NULL || g->m->status != HULL_OK)
        return NULL;
    if (op <= OP_none || op >= OP_COUNT) {
        ir_fail(g->m, fail(HULL_EINTERNAL, "op code %d is not in the table",
                           (int)op));
        return NULL;
    }
    g->m->edits++;
    info = op_get(op);
    n = arena_alloc(&g->m->a, sizeof(*n));
    if (n == NULL)
        goto oom;
    n->op = op;
    n->label = (str){ "", 0 };
    if (info->n_attrs > 0) {
        n->attrs = arena_array(&g->m->a, info->n_attrs, sizeof(attr));
        if (n->attrs == NULL)
            goto oom;
    }
    for (uint32_t i = 0; i < info->n_attrs; i++)
        n->attrs[i] = info->attrs[i].def;
    return n;
oom:
    ignore(ir_oom(g->m, sizeof(*n))); /* sticky in the ir */
    return NULL;
}

static bool usable(const graph *g, const node *n)
{
    return n != NULL && g->m->status == HULL_OK;
}

/* A copy in the arena; sticky failure. n > 0. */
static void *keep(graph *g, const void *p, size_t n)
{
    void *copy = arena_memdup(&g->m->a, p, n);

    if (copy == NULL)
        ignore(ir_oom(g->m, n)); /* sticky in the ir */
    return copy;
}

void node_input(graph *g, node *n, val v)
{
    if (g == NULL || !usable(g, n))
        return;
    if (v >= g->n_values) {
        ir_fail(g->m, fail(HULL_EINVAL, "operand %u of '%s' is value %u of %u",
                           n->n_in, op_get(n->op)->name, v, g->n_values));
        return;
    }
    if ((n->n_in & (n->n_in - 1)) == 0) { /* room for the next power of two */
        size_t cap = n->n_in == 0 ? 1 : (size_t)n->n_in * 2;
        val *p = arena_array(&g->m->a, cap, sizeof(*p));

        if (p == NULL) {
            ignore(ir_oom(g->m, cap * sizeof(*p))); /* sticky in the ir */
            return;
        }
        if (n->n_in > 0)
            memcpy(p, n->in, n->n_in * sizeof(*p));
        n->in = p;
    }
    g->m->edits++;
    n->in[n->n_in++] = v;
}

static void set_outputs(graph *g, node *n, uint32_t count)
{
    val *p;

    if (count <= n->n_out)
        return;
    p = arena_array(&g->m->a, count, sizeof(*p));
    if (p == NULL) {
        ignore(ir_oom(g->m, count * sizeof(*p))); /* sticky in the ir */
        return;
    }
    if (n->n_out > 0)
        memcpy(p, n->out, n->n_out * sizeof(*p));
    n->out = p;
    while (n->n_out < count) {
        val v = value_new(g, n, n->parent, n->n_out, (str){ "", 0 });

        if (v == 0)
            return;
        p[n->n_out++] = v;
    }
}

void node_outputs(graph *g, node *n, uint32_t n_out)
{
    if (g == NULL || !usable(g, n))
        return;
    if (op_get(n->op)->n_out >= 0) {
        ir_fail(g->m, fail(HULL_EINTERNAL,
                           "op '%s' has a fixed number of "
                           "results",
                           op_get(n->op)->name));
        return;
    }
    set_outputs(g, n, n_out);
}

void node_type(graph *g, node *n, uint32_t i, const type *t)
{
    int32_t fixed;

    if (g == NULL || !usable(g, n))
        return;
    fixed = op_get(n->op)->n_out;
    if (fixed >= 0 && i >= (uint32_t)fixed) {
        ir_fail(g->m, fail(HULL_EINVAL, "op '%s' has no result %u",
                           op_get(n->op)->name, i));
        return;
    }
    set_outputs(g, n, fixed >= 0 ? (uint32_t)fixed : i + 1);
    if (g->m->status == HULL_OK)
        value_set_type(g, n->out[i], t);
}

/* ---- attributes ---------------------------------------------------------- */

/* The attribute to write, or NULL with the ir failed. */
static attr *slot(graph *g, node *n, const char *name, attr_kind kind)
{
    int i;

    if (g == NULL || !usable(g, n))
        return NULL;
    i = attr_index(n->op, str_of(name));
    if (i < 0 || op_get(n->op)->attrs[i].kind != kind) {
        ir_fail(g->m, fail(HULL_EINTERNAL,
                           "op '%s' has no attribute '%s' of "
                           "that kind",
                           op_get(n->op)->name, name));
        return NULL;
    }
    g->m->edits++;
    return &n->attrs[i];
}

void node_int(graph *g, node *n, const char *name, int64_t v)
{
    attr *a = slot(g, n, name, ATTR_INT);

    if (a != NULL)
        *a = (attr){ .set = true, .u.i = v };
}

void node_float(graph *g, node *n, const char *name, double v)
{
    attr *a = slot(g, n, name, ATTR_FLOAT);

    if (a != NULL)
        *a = (attr){ .set = true, .u.f = v };
}

void node_bool(graph *g, node *n, const char *name, bool v)
{
    attr *a = slot(g, n, name, ATTR_BOOL);

    if (a != NULL)
        *a = (attr){ .set = true, .u.b = v };
}

void node_str(graph *g, node *n, const char *name, str v)
{
    attr *a = slot(g, n, name, ATTR_STR);

    if (a != NULL)
        *a = (attr){ .set = true, .u.s = ir_str(g->m, v) };
}

void node_dtype(graph *g, node *n, const char *name, hull_dtype v)
{
    attr *a = slot(g, n, name, ATTR_DTYPE);

    if (a != NULL)
        *a = (attr){ .set = true, .u.dt = v };
}

void node_dim(graph *g, node *n, const char *name, dim v)
{
    attr *a = slot(g, n, name, ATTR_DIM);

    if (a != NULL)
        *a = (attr){ .set = true, .u.d = v };
}

void node_ints(graph *g, node *n, const char *name, const int64_t *p,
               uint32_t count)
{
    attr *a = slot(g, n, name, ATTR_INTS);

    if (a == NULL)
        return;
    *a = (attr){ .set = true };
    a->u.ints.p = count == 0 ? NULL : keep(g, p, count * sizeof(*p));
    a->u.ints.n = a->u.ints.p == NULL ? 0 : count;
}

void node_floats(graph *g, node *n, const char *name, const double *p,
                 uint32_t count)
{
    attr *a = slot(g, n, name, ATTR_FLOATS);

    if (a == NULL)
        return;
    *a = (attr){ .set = true };
    a->u.floats.p = count == 0 ? NULL : keep(g, p, count * sizeof(*p));
    a->u.floats.n = a->u.floats.p == NULL ? 0 : count;
}

void node_strs(graph *g, node *n, const char *name, const str *p,
               uint32_t count)
{
    attr *a = slot(g, n, name, ATTR_STRS);
    str *s;

    if (a == NULL)
        return;
    s = arena_array(&g->m->a, count, sizeof(*s));
    if (s == NULL) {
        ignore(ir_oom(g->m, count * sizeof(*s))); /* sticky in the ir */
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        s[i] = ir_str(g->m, p[i]);
    *a = (attr){ .set = true };
    a->u.strs.p = s;
    a->u.strs.n = count;
}

void node_dims(graph *g, node *n, const char *name, const dim *p,
               uint32_t count)
{
    attr *a = slot(g, n, name, ATTR_DIMS);

    if (a == NULL)
        return;
    *a = (attr){ .set = true };
    a->u.dims.p = count == 0 ? NULL : keep(g, p, count * sizeof(*p));
    a->u.dims.n = a->u.dims.p == NULL ? 0 : count;
}

void node_literal(graph *g, node *n, const char *name, hull_dtype dt,
                  const int64_t *shape, uint32_t rank, const void *data)
{
    attr *a = slot(g, n, name, ATTR_TENSOR);
    literal l = { .dtype = dt, .rank = rank, .data = data };
    literal *copy;

    if (a == NULL)
        return;
    if (rank > HULL_MAX_RANK) {
        ir_fail(g->m, fail(HULL_EUNSUPPORTED,
                           "literal has rank %u, at most %d "
                           "is supported",
                           rank, HULL_MAX_RANK));
        return;
    }
    for (uint32_t i = 0; i < rank; i++)
        l.shape[i] = shape[i];
    if (!literal_finish(&l)) {
        ir_fail(g->m, fail(HULL_ESHAPE, "literal has a negative or too large "
                                        "shape"));
        return;
    }
    *a = (attr){ .set = true };
    if (l.numel > LITERAL_TEXT_MAX) {
        a->u.t = ir_pin(g->m, &l);
        return;
    }
    copy = keep(g, &l, sizeof(l));
    if (copy != NULL && l.n_bytes > 0)
        copy->data = keep(g, data, (size_t)l.n_bytes);
    a->u.t = copy;
}

region *node_body(graph *g, node *n, const char *name)
{
    attr *a = slot(g, n, name, ATTR_GRAPH);
    region *outer;

    if (a == NULL)
        return NULL;
    /* The node is not linked yet: its place is the insertion point. */
    outer = n->parent != NULL          ? n->parent
            : g->insert_before != NULL ? g->insert_before->parent
            : g->insert_in != NULL     ? g->insert_in
                                       : g->body;
    if (region_depth(outer) + 1 >= IR_MAX_DEPTH) {
        ir_fail(g->m, fail(HULL_EUNSUPPORTED, "bodies nest more than %d deep",
                           IR_MAX_DEPTH));
        return NULL;
    }
    n->parent = outer; /* so that inner bodies know their depth */
    *a = (attr){ .set = true, .u.g = region_new(g, n) };
    return a->u.g;
}

const attr *node_attr(const node *n, const char *name)
{
    static const attr none;
    int i = attr_index(n->op, str_of(name));

    return i < 0 ? &none : &n->attrs[i];
}

bool attr_is_set(const node *n, const char *name)
{
    return node_attr(n, name)->set;
}

int64_t attr_int(const node *n, const char *name)
{
    return node_attr(n, name)->u.i;
}

double attr_float(const node *n, const char *name)
{
    return node_attr(n, name)->u.f;
}

bool attr_bool(const node *n, const char *name)
{
    return node_attr(n, name)->u.b;
}

str attr_str(const node *n, const char *name)
{
    return node_attr(n, name)->u.s;
}

hull_dtype attr_dtype(const node *n, const char *name)
{
    return node_attr(n, name)->u.dt;
}

/* ---- adding -------------------------------------------------------------- */

static hull_status check_counts(const node *n, const op_info *info)
{
    uint32_t least = (uint32_t)info->in_min;

    if (n->n_in < least)
        return fail(HULL_EINVAL,
                    "op '%s' has %u operands, at least %u are "
                    "wanted",
                    info->name, n->n_in, least);
    if (info->in_max >= 0 && n->n_in > (uint32_t)info->in_max)
        return fail(HULL_EINVAL,
                    "op '%s' has %u operands, at most %d are "
                    "wanted",
                    info->name, n->n_in, info->in_max);
    for (uint32_t i = 0; i < least; i++)
        if (n->in[i] == 0 && !(info->traits & OP_CONTROL))
            return fail(HULL_EINVAL, "operand %u of op '%s' is missing", i,
                        info->name);
    for (uint32_t i = 0; i < info->n_attrs; i++)
        if (info->attrs[i].required && !n->attrs[i].set)
            return fail(HULL_EINVAL, "op '%s' lacks attribute '%s'", info->name,
                        info->attrs[i].name);
    return HULL_OK;
}

hull_status node_infer(graph *g, node *n)
{
    return op_infer(g, n);
}

/* Results of bodies decide: a loop's first result is its condition, which the
 * shape rule knows; callers of loops say the number with node_outputs. */
static void default_outputs(graph *g, node *n, const op_info *info)
{
    const region *b;

    if (info->n_out >= 0) {
        set_outputs(g, n, (uint32_t)info->n_out);
        return;
    }
    b = node_body_at(n, 0);
    if (n->n_out == 0 && b != NULL)
        set_outputs(g, n, b->n_results - (b->n_params > 0));
}

val node_add(graph *g, node *n)
{
    const op_info *info;
    region *r;
    hull_status st;

    if (g == NULL || !usable(g, n))
        return 0;
    info = op_get(n->op);
    while (n->n_in > (uint32_t)info->in_min && n->in[n->n_in - 1] == 0)
        n->n_in--;
    st = check_counts(n, info);
    if (st != HULL_OK) {
        ir_fail(g->m, st);
        return 0;
    }
    r = g->insert_before != NULL ? g->insert_before->parent
        : g->insert_in != NULL   ? g->insert_in
                                 : g->body;
    n->parent = r;
    default_outputs(g, n, info);
    if (g->m->status != HULL_OK)
        return 0;
    for (uint32_t i = 0; i < n->n_out; i++)
        g->values[n->out[i]]->scope = r;
    st = node_infer(g, n);
    if (st != HULL_OK || g->m->status != HULL_OK) {
        ir_fail(g->m, st);
        n->parent = NULL;
        return 0;
    }
    region_insert(r, n, g->insert_before);
    return n->n_out > 0 ? n->out[0] : 0;
}

/* ---- short forms --------------------------------------------------------- */

val op_unary(graph *g, op_code op, val x)
{
    node *n = node_new(g, op);

    node_input(g, n, x);
    return node_add(g, n);
}

val op_binary(graph *g, op_code op, val a, val b)
{
    node *n = node_new(g, op);

    node_input(g, n, a);
    node_input(g, n, b);
    return node_add(g, n);
}

val op_where(graph *g, val cond, val yes, val no)
{
    node *n = node_new(g, OP_where);

    node_input(g, n, cond);
    node_input(g, n, yes);
    node_input(g, n, no);
    return node_add(g, n);
}

val op_weight(graph *g, str name, const type *t)
{
    node *n = node_new(g, OP_weight);

    node_str(g, n, "name", name);
    node_type(g, n, 0, t);
    return node_add(g, n);
}

val op_const(graph *g, hull_dtype dt, const int64_t *shape, uint32_t rank,
             const void *data)
{
    node *n = node_new(g, OP_const);

    node_literal(g, n, "value", dt, shape, rank, data);
    return node_add(g, n);
}

val op_scalar(graph *g, hull_dtype dt, double v)
{
    uint64_t room[2] = { 0, 0 };

    if (dtype_is_complex(dt)) /* the real part */
        store_f64(dt == HULL_C64 ? HULL_F32 : HULL_F64, room, 0, v);
    else
        store_f64(dt, room, 0, v);
    return op_const(g, dt, NULL, 0, room);
}

val op_scalar_i64(graph *g, hull_dtype dt, int64_t v)
{
    uint64_t room[2] = { 0, 0 };

    if (dtype_is_complex(dt))
        return op_scalar(g, dt, (double)v);
    store_i64(dt, room, 0, v);
    return op_const(g, dt, NULL, 0, room);
}

val op_dims(graph *g, const dim *d, uint32_t n)
{
    node *x = node_new(g, OP_dims);

    node_dims(g, x, "value", d, n);
    return node_add(g, x);
}

static val with_dims(graph *g, op_code op, val x, const dim *d, uint32_t rank)
{
    node *n = node_new(g, op);

    node_input(g, n, x);
    node_dims(g, n, "shape", d, rank);
    return node_add(g, n);
}

val op_reshape(graph *g, val x, const dim *d, uint32_t rank)
{
    return with_dims(g, OP_reshape, x, d, rank);
}

val op_expand(graph *g, val x, const dim *d, uint32_t rank)
{
    return with_dims(g, OP_expand, x, d, rank);
}

val op_transpose(graph *g, val x, const int64_t *perm, uint32_t count)
{
    node *n = node_new(g, OP_transpose);

    node_input(g, n, x);
    node_ints(g, n, "perm", perm, count);
    return node_add(g, n);
}

val op_cast(graph *g, val x, hull_dtype to)
{
    node *n;

    if (g == NULL || g->m->status != HULL_OK)
        return 0;
    if (graph_type(g, x)->kind == TYPE_TENSOR && graph_type(g, x)->dtype == to)
        return x;
    n = node_new(g, OP_cast);
    node_input(g, n, x);
    node_dtype(g, n, "to", to);
    return node_add(g, n);
}

val op_slice(graph *g, val x, uint32_t axis, dim start, dim end, int64_t step)
{
    node *n = node_new(g, OP_slice);
    int64_t at = axis;

    node_input(g, n, x);
    node_ints(g, n, "axes", &at, 1);
    node_dims(g, n, "starts", &start, 1);
    node_dims(g, n, "ends", &end, 1);
    if (step != 1)
        node_ints(g, n, "steps", &step, 1);
    return node_add(g, n);
}

val op_concat(graph *g, const val *x, uint32_t n, int64_t axis)
{
    node *c = node_new(g, OP_concat);

    for (uint32_t i = 0; i < n; i++)
        node_input(g, c, x[i]);
    node_int(g, c, "axis", axis);
    return node_add(g, c);
}
