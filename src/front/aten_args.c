/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * aten_args.c - what every lowering uses: arguments as values of the kind it
 * wants, results, type promotion, short forms of the builders.
 */
#include "front/aten.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void call_fail(aten_call *c, hull_status st, const char *what)
{
    if (c->st == HULL_OK)
        c->st = fail(st, "aten.%s: %s", c->row->name, what);
}

void call_missing(aten_call *c, const char *form)
{
    c->missing = true;
    c->missing_form = form;
}

static void bad_arg(aten_call *c, uint32_t i, const char *want)
{
    if (c->st == HULL_OK)
        c->st = fail(HULL_EFORMAT, "aten.%s: argument '%.*s' is not %s",
                     c->row->name, STR_ARG(c->arg_names[i]), want);
}

/* ---- arguments ----------------------------------------------------------- */

bool arg_none(const aten_call *c, uint32_t i)
{
    return c->args[i].kind == ATEN_NONE;
}

bool arg_empty(const aten_call *c, uint32_t i)
{
    aten_kind k = c->args[i].kind;

    return (k == ATEN_INTS || k == ATEN_TENSORS || k == ATEN_FLOATS) &&
           c->args[i].n == 0;
}

static bool is_number(const aten_value *x)
{
    return x->kind == ATEN_INT || x->kind == ATEN_FLOAT || x->kind == ATEN_BOOL;
}

static hull_dtype scalar_dtype(const aten_value *x)
{
    return x->kind == ATEN_BOOL ? HULL_BOOL
           : x->kind == ATEN_INT ? HULL_I64 : HULL_F32;
}

val arg_tensor(aten_call *c, uint32_t i)
{
    const aten_value *x = &c->args[i];

    if (x->kind == ATEN_TENSOR)
        return x->v;
    if (is_number(x))
        return aten_as(c, x, scalar_dtype(x));
    bad_arg(c, i, "a tensor");
    return 0;
}

val arg_optional(aten_call *c, uint32_t i)
{
    return arg_none(c, i) ? 0 : arg_tensor(c, i);
}

int64_t arg_int(aten_call *c, uint32_t i)
{
    const aten_value *x = &c->args[i];
    int64_t v = 0;

    if (x->kind == ATEN_BOOL)
        return x->b;
    if (x->kind == ATEN_INT && dim_is_int(c->m, x->i, &v))
        return v;
    bad_arg(c, i, "a plain integer");
    return 0;
}

dim arg_dim(aten_call *c, uint32_t i)
{
    if (c->args[i].kind == ATEN_INT)
        return c->args[i].i;
    return arg_int(c, i);
}

bool arg_bool(aten_call *c, uint32_t i)
{
    int64_t v = 0;

    if (c->args[i].kind == ATEN_BOOL)
        return c->args[i].b;
    if (c->args[i].kind == ATEN_INT && dim_is_int(c->m, c->args[i].i, &v))
        return v != 0;
    bad_arg(c, i, "a bool");
    return false;
}

double arg_num(aten_call *c, uint32_t i)
{
    if (c->args[i].kind == ATEN_FLOAT)
        return c->args[i].f;
    return (double)arg_int(c, i);
}

str arg_str(aten_call *c, uint32_t i)
{
    if (c->args[i].kind == ATEN_STR)
        return c->args[i].s;
    bad_arg(c, i, "a string");
    return str_of("");
}

hull_dtype arg_dtype(aten_call *c, uint32_t i, hull_dtype otherwise)
{
    if (c->args[i].kind == ATEN_DTYPE)
        return c->args[i].dt;
    if (!arg_none(c, i))
        bad_arg(c, i, "a dtype");
    return otherwise;
}

static uint32_t norm_axis(aten_call *c, int64_t axis, uint32_t rank)
{
    int64_t at = axis < 0 ? axis + rank : axis;

    if (at >= 0 && at < rank)
        return (uint32_t)at;
    if (c->st == HULL_OK)
        c->st = fail(HULL_EFORMAT, "aten.%s: dim %" PRId64 " with rank %u",
                     c->row->name, axis, rank);
    return 0;
}

uint32_t arg_axis(aten_call *c, uint32_t i, uint32_t rank)
{
    int64_t axis = arg_int(c, i);

    return c->st == HULL_OK ? norm_axis(c, axis, rank) : 0;
}

uint32_t arg_dims(aten_call *c, uint32_t i, dim *out, uint32_t max)
{
    const aten_value *x = &c->args[i];

    if (arg_none(c, i) || arg_empty(c, i))
        return 0;
    if (x->kind == ATEN_INT) {
        out[0] = x->i;
        return 1;
    }
    if (x->kind != ATEN_INTS || x->n > max) {
        bad_arg(c, i, "a list of integers of fitting length");
        return 0;
    }
    if (x->n)
        memcpy(out, x->dims, x->n * sizeof *out);
    return x->n;
}

uint32_t arg_ints(aten_call *c, uint32_t i, int64_t *out, uint32_t max)
{
    uint32_t n = arg_dims(c, i, out, max);

    for (uint32_t k = 0; k < n; k++) {
        int64_t v = 0;

        if (!dim_is_int(c->m, out[k], &v))
            bad_arg(c, i, "a list of plain integers");
        out[k] = v;
    }
    return n;
}

void arg_spatial(aten_call *c, uint32_t i, uint32_t want, int64_t fill,
                 int64_t *out)
{
    int64_t v[HULL_MAX_RANK] = {0};
    uint32_t n = arg_ints(c, i, v, HULL_MAX_RANK);

    if (n > 1 && n != want)
        bad_arg(c, i, "a list with one integer per axis");
    for (uint32_t k = 0; k < want; k++)
        out[k] = n == 0 ? fill : n == want ? v[k] : v[0];
}

uint32_t arg_axes(aten_call *c, uint32_t i, uint32_t rank, int64_t *out)
{
    int64_t v[HULL_MAX_RANK] = {0};
    bool marked[HULL_MAX_RANK] = {false};
    uint32_t n = arg_ints(c, i, v, HULL_MAX_RANK), count = 0;

    for (uint32_t k = 0; k < n && rank > 0; k++)
        marked[norm_axis(c, v[k], rank)] = true;
    for (uint32_t k = 0; k < rank; k++)
        if (marked[k] || n == 0)
            out[count++] = k;
    return count;
}

/* ---- values -------------------------------------------------------------- */

const type *call_type(aten_call *c, val v)
{
    return graph_type(c->g, v);
}

uint32_t call_rank(aten_call *c, val v)
{
    return graph_type(c->g, v)->rank;
}

/* A failed value has no dims: indexing them must still be harmless. */
const dim *call_dims(aten_call *c, val v)
{
    static const dim none[HULL_MAX_RANK + 1] = {0};
    const type *t = graph_type(c->g, v);

    return t->rank > 0 && t->dims ? t->dims : none;
}

hull_dtype call_dtype(aten_call *c, val v)
{
    return graph_type(c->g, v)->dtype;
}

static void ret_value(aten_call *c, const aten_value *v, const char *unread)
{
    if (c->n_out == ATEN_OUTS_MAX) {
        call_fail(c, HULL_EINTERNAL, "too many results");
        return;
    }
    c->unread[c->n_out] = unread;
    c->out[c->n_out++] = *v;
}

void ret(aten_call *c, val v)
{
    aten_value x = {.kind = ATEN_TENSOR, .v = v};

    ret_value(c, &x, NULL);
}

void ret_list(aten_call *c, const val *v, uint32_t n)
{
    val *copy = arena_memdup(&c->f->a, v, (n ? n : 1) * sizeof *v);
    aten_value x = {.kind = ATEN_TENSORS, .n = n, .vals = copy};

    if (!copy && c->st == HULL_OK)
        c->st = fail_oom(n * sizeof *v);
    else
        ret_value(c, &x, NULL);
}

void ret_unread(aten_call *c, const char *why)
{
    aten_value none = {0};

    ret_value(c, &none, why);
}

/* ---- type promotion ------------------------------------------------------ */

static int category(hull_dtype dt)
{
    return dt == HULL_NONE ? -1 : dt == HULL_BOOL ? 0
           : dtype_is_int(dt) ? 1 : dtype_is_float(dt) ? 2 : 3;
}

static uint64_t width(hull_dtype dt)
{
    uint64_t n = 0;

    return dtype_bytes(&n, dt, 1) ? n : 0;
}

static hull_dtype join_ints(hull_dtype a, hull_dtype b)
{
    static const hull_dtype with_sign[] = {HULL_I16, HULL_I32, HULL_I64};

    if (dtype_is_unsigned(a) == dtype_is_unsigned(b))
        return width(a) >= width(b) ? a : b;
    hull_dtype u = dtype_is_unsigned(a) ? a : b, s = u == a ? b : a;
    if (width(s) > width(u))
        return s;
    return width(u) == 1 ? with_sign[0] : width(u) == 2 ? with_sign[1]
                                                        : with_sign[2];
}

static hull_dtype join(hull_dtype a, hull_dtype b)
{
    if (a == b || b == HULL_NONE)
        return a;
    if (a == HULL_NONE || category(b) > category(a))
        return b;
    if (category(a) > category(b))
        return a;
    if (category(a) == 1)
        return join_ints(a, b);
    if (category(a) == 2 && width(a) == width(b))
        return HULL_F32; /* f16 and bf16 */
    return width(a) >= width(b) ? a : b;
}

/* Operands of lower priority only count when their category is higher. */
static hull_dtype combine(hull_dtype higher, hull_dtype lower)
{
    if (higher == HULL_NONE)
        return lower;
    return category(lower) > category(higher) ? join(higher, lower) : higher;
}

hull_dtype aten_promote(aten_call *c, const aten_value *const *x, uint32_t n)
{
    hull_dtype full = HULL_NONE, zero = HULL_NONE, number = HULL_NONE;

    for (uint32_t i = 0; i < n; i++) {
        if (x[i]->kind != ATEN_TENSOR)
            number = join(number, scalar_dtype(x[i]));
        else if (call_rank(c, x[i]->v) == 0)
            zero = join(zero, call_dtype(c, x[i]->v));
        else
            full = join(full, call_dtype(c, x[i]->v));
    }
    return combine(full, combine(zero, number));
}

val aten_as(aten_call *c, const aten_value *x, hull_dtype dt)
{
    int64_t i = 0;

    if (dtype_is_complex(dt)) {
        val v = x->kind == ATEN_TENSOR ? x->v : aten_as(c, x, HULL_F64);

        return v ? aten_to_complex(c, v, dt) : 0;
    }
    if (x->kind == ATEN_TENSOR)
        return op_cast(c->g, x->v, dt);
    if (x->kind == ATEN_FLOAT)
        return aten_number(c, dt, x->f);
    if (x->kind == ATEN_BOOL)
        return op_scalar_i64(c->g, dt, x->b);
    if (x->kind != ATEN_INT) {
        call_fail(c, HULL_EFORMAT, "an operand is neither tensor nor number");
        return 0;
    }
    if (!dim_is_int(c->m, x->i, &i))
        return aten_dim_value(c, x->i, dt);
    return dtype_is_float(dt) ? op_scalar(c->g, dt, (double)i)
                              : op_scalar_i64(c->g, dt, i);
}

val aten_number(aten_call *c, hull_dtype dt, double v)
{
    if (dt == HULL_BOOL)
        return op_scalar_i64(c->g, dt, !(v >= 0 && v <= 0));
    return op_scalar(c->g, dt, v);
}

val aten_float(aten_call *c, val v)
{
    hull_dtype dt = call_dtype(c, v);

    return category(dt) < 2 ? op_cast(c->g, v, HULL_F32) : v;
}

val aten_dim_value(aten_call *c, dim d, hull_dtype dt)
{
    if (d == DIM_UNKNOWN) {
        call_fail(c, HULL_EUNSUPPORTED, "a size depends on data");
        return 0;
    }
    return op_cast(c->g, op_reshape(c->g, op_dims(c->g, &d, 1), NULL, 0), dt);
}

/* ---- short forms of builders --------------------------------------------- */

val aten_full(aten_call *c, val scalar, const dim *d, uint32_t rank)
{
    return rank == 0 ? scalar : op_expand(c->g, scalar, d, rank);
}

val aten_slice1(aten_call *c, val x, uint32_t axis, dim start, dim end)
{
    const type *t = call_type(c, x);

    if (axis < t->rank && start == 0 && end == t->dims[axis])
        return x;
    return op_slice(c->g, x, axis, start, end, 1);
}

val aten_drop_axis(aten_call *c, val x, uint32_t axis)
{
    dim d[HULL_MAX_RANK];
    uint32_t n = 0, rank = call_rank(c, x);

    for (uint32_t i = 0; i < rank; i++)
        if (i != axis)
            d[n++] = call_dims(c, x)[i];
    return op_reshape(c->g, x, d, n);
}

val aten_insert_axis(aten_call *c, val x, uint32_t axis)
{
    dim d[HULL_MAX_RANK + 1];
    uint32_t n = 0, rank = call_rank(c, x);

    if (rank == HULL_MAX_RANK) {
        call_fail(c, HULL_EUNSUPPORTED, "the rank becomes too large");
        return 0;
    }
    for (uint32_t i = 0; i <= rank; i++) {
        if (i == axis)
            d[n++] = 1;
        if (i < rank)
            d[n++] = call_dims(c, x)[i];
    }
    return op_reshape(c->g, x, d, n);
}

val aten_swap(aten_call *c, val x, uint32_t a, uint32_t b)
{
    int64_t perm[HULL_MAX_RANK];
    uint32_t rank = call_rank(c, x);

    if (a == b || a >= rank || b >= rank)
        return x;
    for (uint32_t i = 0; i < rank; i++)
        perm[i] = i == a ? b : i == b ? a : i;
    return op_transpose(c->g, x, perm, rank);
}

val aten_reduce(aten_call *c, op_code op, val x, const int64_t *axes,
                uint32_t n, bool keep)
{
    /* No axes would mean all; a rank-0 operand has nothing to reduce. */
    if (n == 0 && call_rank(c, x) == 0 && op != OP_arg_max && op != OP_arg_min)
        return x;
    node *d = node_new(c->g, op);

    node_input(c->g, d, x);
    node_ints(c->g, d, "axes", axes, n);
    node_bool(c->g, d, "keep", keep);
    return node_add(c->g, d);
}

val aten_iota(aten_call *c, dim n, hull_dtype dt)
{
    node *d = node_new(c->g, OP_iota);

    node_dims(c->g, d, "shape", &n, 1);
    node_int(c->g, d, "axis", 0);
    node_dtype(c->g, d, "dtype", dt);
    return node_add(c->g, d);
}

val aten_where(aten_call *c, val cond, val a, val b)
{
    return op_where(c->g, cond, a, b);
}

val aten_clamp(aten_call *c, val x, double lo, double hi)
{
    node *d = node_new(c->g, OP_clamp);

    node_input(c->g, d, x);
    node_float(c->g, d, "min", lo);
    node_float(c->g, d, "max", hi);
    return node_add(c->g, d);
}

val aten_matmul(aten_call *c, val a, val b, val bias)
{
    node *d = node_new(c->g, OP_matmul);

    node_input(c->g, d, a);
    node_input(c->g, d, b);
    if (bias)
        node_input(c->g, d, bias);
    return node_add(c->g, d);
}

val aten_broadcast(aten_call *c, val x, const dim *d, uint32_t rank)
{
    const type *t = call_type(c, x);
    bool same = t->rank == rank;

    for (uint32_t i = 0; same && i < rank; i++)
        same = dim_eq(c->m, t->dims[i], d[i]);
    return same ? x : op_expand(c->g, x, d, rank);
}

static val axis_node(aten_call *c, op_code op, const val *in, uint32_t n,
                     uint32_t axis, const char *reduce)
{
    node *d = node_new(c->g, op);

    for (uint32_t i = 0; i < n; i++)
        node_input(c->g, d, in[i]);
    node_int(c->g, d, "axis", axis);
    if (reduce)
        node_str(c->g, d, "reduce", str_of(reduce));
    return node_add(c->g, d);
}

val aten_take(aten_call *c, val x, val index, uint32_t axis)
{
    val in[] = {x, index};

    return axis_node(c, OP_gather, in, 2, axis, NULL);
}

val aten_take_elements(aten_call *c, val x, val index, uint32_t axis)
{
    val in[] = {x, index};

    return axis_node(c, OP_gather_elements, in, 2, axis, NULL);
}

val aten_put_elements(aten_call *c, val x, val index, val src, uint32_t axis,
                      const char *reduce)
{
    val in[] = {x, index, src};

    return axis_node(c, OP_scatter_elements, in, 3, axis, reduce);
}

val aten_flat(aten_call *c, val x)
{
    dim n = type_numel(c->m, call_type(c, x));

    return call_rank(c, x) == 1 ? x : op_reshape(c->g, x, &n, 1);
}

val aten_int(aten_call *c, int64_t v)
{
    return op_scalar_i64(c->g, HULL_I64, v);
}

val aten_ints(aten_call *c, const int64_t *v, uint32_t n)
{
    int64_t size = n;

    return op_const(c->g, HULL_I64, &size, 1, v);
}

val aten_lattice(aten_call *c, const dim *d, const dim *step, uint32_t rank,
                 dim start)
{
    val sum = aten_dim_value(c, start, HULL_I64);

    for (uint32_t i = 0; i < rank; i++) {
        dim shape[HULL_MAX_RANK];
        val at = op_binary(c->g, OP_mul, aten_iota(c, d[i], HULL_I64),
                           aten_dim_value(c, step[i], HULL_I64));

        for (uint32_t k = 0; k < rank; k++)
            shape[k] = k == i ? d[i] : 1;
        sum = op_binary(c->g, OP_add, sum,
                        op_reshape(c->g, at, shape, rank));
    }
    return aten_broadcast(c, sum, d, rank);
}

val aten_sorted(aten_call *c, val x, dim k, uint32_t axis, bool largest,
                val *index)
{
    node *n = node_new(c->g, OP_topk);

    node_input(c->g, n, x);
    node_dim(c->g, n, "k", k);
    node_int(c->g, n, "axis", axis);
    node_bool(c->g, n, "largest", largest);
    val y = node_add(c->g, n);
    if (index)
        *index = y ? n->out[1] : 0;
    return y;
}

val aten_div_to(aten_call *c, val a, val b, const char *round)
{
    node *n = node_new(c->g, OP_div);

    node_input(c->g, n, a);
    node_input(c->g, n, b);
    node_str(c->g, n, "round", str_of(round));
    return node_add(c->g, n);
}

val aten_mod_to(aten_call *c, val a, val b)
{
    node *n = node_new(c->g, OP_mod);

    node_input(c->g, n, a);
    node_input(c->g, n, b);
    node_bool(c->g, n, "floor", true);
    return node_add(c->g, n);
}

val aten_pads(aten_call *c, val x, const dim *pads, const char *mode,
              double fill)
{
    node *d = node_new(c->g, OP_pad);

    node_input(c->g, d, x);
    node_dims(c->g, d, "pads", pads, 2 * call_rank(c, x));
    node_str(c->g, d, "mode", str_of(mode));
    node_float(c->g, d, "value", fill);
    return node_add(c->g, d);
}

val aten_cast(aten_call *c, val x, hull_dtype dt)
{
    if (dt == HULL_U8 && dtype_is_float(call_dtype(c, x)))
        x = op_cast(c->g, x, HULL_I64);
    return op_cast(c->g, x, dt);
}
