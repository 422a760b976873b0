/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * known.c - values of small integer tensors, followed while the graph is built:
 * models compute shapes with ordinary ops, and a reshape must see that its
 * operand is [N, 4*T]. Elements are dims, so arithmetic on them is symbolic.
 * Followed: i64, i32 and bool tensors of rank 0 or 1 with at most KNOWN_MAX
 * elements. What cannot be followed is simply not known.
 */
#include "ops/op.h"

#include <string.h>

typedef struct known {
    const dim *p;
    uint32_t n;
} known;

/* Result under construction. */
typedef struct follow {
    graph *g;
    ir *m;
    const node *n;
    dim out[KNOWN_MAX];
    uint32_t n_out;
    hull_dtype dtype;
} follow;

typedef dim binary_fn(const follow *f, dim a, dim b);

static bool followed(hull_dtype dt)
{
    return dt == HULL_I64 || dt == HULL_I32 || dt == HULL_BOOL;
}

/* False when operand i is missing or nothing is known of it. */
static bool operand(const follow *f, uint32_t i, known *out)
{
    const value *v = NULL;

    if (i >= f->n->n_in || f->n->in[i] == 0)
        return false;
    v = graph_value(f->g, f->n->in[i]);
    if (!v || v->type.kind != TYPE_TENSOR || !followed(v->type.dtype))
        return false;
    *out = (known){v->known, v->n_known};
    return v->known != NULL && v->n_known <= KNOWN_MAX;
}

static bool copy(follow *f, known k)
{
    if (k.n != f->n_out)
        return false;
    if (k.n > 0)
        memcpy(f->out, k.p, k.n * sizeof(dim));
    return true;
}

/* ---- arithmetic ---------------------------------------------------------- */

static dim add_2(const follow *f, dim a, dim b)
{
    return dim_add(f->m, a, b);
}

static dim sub_2(const follow *f, dim a, dim b)
{
    return dim_sub(f->m, a, b);
}

static dim mul_2(const follow *f, dim a, dim b)
{
    return dim_mul(f->m, a, b);
}

static dim min_2(const follow *f, dim a, dim b)
{
    return dim_min(f->m, a, b);
}

static dim max_2(const follow *f, dim a, dim b)
{
    return dim_max(f->m, a, b);
}

/* Is truncating division of a by b the same as flooring division? */
static bool floors(const follow *f, dim a, dim b)
{
    int64_t a_min = 0, b_min = 0, high = 0;

    if (a == DIM_UNKNOWN || b == DIM_UNKNOWN)
        return false;
    dim_range(f->m, a, &a_min, &high);
    dim_range(f->m, b, &b_min, &high);
    return a_min >= 0 && b_min > 0;
}

/* Both constants, and a division of them is defined. */
static bool constants(const follow *f, dim a, dim b, int64_t *va, int64_t *vb)
{
    return dim_is_int(f->m, a, va) && dim_is_int(f->m, b, vb) && *vb != 0 &&
           !(*va == INT64_MIN && *vb == -1);
}

static dim div_2(const follow *f, dim a, dim b)
{
    int64_t va = 0, vb = 0, low = 0, high = 0;

    if (str_is(attr_str(f->n, "round"), "floor")) {
        dim_range(f->m, b, &low, &high);
        return b != DIM_UNKNOWN && (low > 0 || high < 0)
                   ? dim_div(f->m, a, b)
                   : DIM_UNKNOWN;
    }
    if (constants(f, a, b, &va, &vb))
        return dim_int(f->m, va / vb);
    return floors(f, a, b) ? dim_div(f->m, a, b) : DIM_UNKNOWN;
}

static dim mod_2(const follow *f, dim a, dim b)
{
    int64_t va = 0, vb = 0, low = 0, high = 0;

    if (attr_bool(f->n, "floor")) {
        dim_range(f->m, b, &low, &high);
        return b != DIM_UNKNOWN && (low > 0 || high < 0)
                   ? dim_mod(f->m, a, b)
                   : DIM_UNKNOWN;
    }
    if (constants(f, a, b, &va, &vb))
        return dim_int(f->m, va % vb);
    return floors(f, a, b) ? dim_mod(f->m, a, b) : DIM_UNKNOWN;
}

/* -1, 0, 1 for a below, equal, above b; 2 when that is not provable; *out_ge
 * and *out_le tell what is provable besides. */
static int order(const follow *f, dim a, dim b, bool *out_le, bool *out_ge)
{
    int64_t a_min = 0, a_max = 0, b_min = 0, b_max = 0;

    *out_le = *out_ge = false;
    if (a == DIM_UNKNOWN || b == DIM_UNKNOWN)
        return 2;
    if (dim_eq(f->m, a, b)) {
        *out_le = *out_ge = true;
        return 0;
    }
    dim_range(f->m, a, &a_min, &a_max);
    dim_range(f->m, b, &b_min, &b_max);
    *out_le = a_max <= b_min;
    *out_ge = a_min >= b_max;
    if (a_max < b_min)
        return -1;
    return a_min > b_max ? 1 : 2;
}

static dim compare_2(const follow *f, dim a, dim b)
{
    bool le = false, ge = false;
    int c = order(f, a, b, &le, &ge);

    switch (f->n->op) {
    case OP_eq:
        return c == 2 ? DIM_UNKNOWN : c == 0;
    case OP_ne:
        return c == 2 ? DIM_UNKNOWN : c != 0;
    case OP_lt:
        return c == -1 ? 1 : ge ? 0 : DIM_UNKNOWN;
    case OP_le:
        return le ? 1 : c == 1 ? 0 : DIM_UNKNOWN;
    case OP_gt:
        return c == 1 ? 1 : le ? 0 : DIM_UNKNOWN;
    default:
        return ge ? 1 : c == -1 ? 0 : DIM_UNKNOWN;
    }
}

static dim logic_2(const follow *f, dim a, dim b)
{
    if (f->dtype != HULL_BOOL || a < 0 || b < 0)
        return DIM_UNKNOWN;
    switch (f->n->op) {
    case OP_and:
        return a && b;
    case OP_or:
        return a || b;
    default:
        return (a != 0) != (b != 0);
    }
}

static bool binary(follow *f, binary_fn *fn)
{
    known a = {0}, b = {0};

    if (!operand(f, 0, &a) || !operand(f, 1, &b))
        return false;
    if ((a.n != 1 && a.n != f->n_out) || (b.n != 1 && b.n != f->n_out))
        return false;
    if (f->dtype == HULL_BOOL && fn != compare_2 && fn != logic_2)
        return false;
    for (uint32_t i = 0; i < f->n_out; i++)
        f->out[i] = fn(f, a.p[a.n == 1 ? 0 : i], b.p[b.n == 1 ? 0 : i]);
    return true;
}

static bool unary(follow *f)
{
    known a = {0};

    if (!operand(f, 0, &a) || a.n != f->n_out)
        return false;
    for (uint32_t i = 0; i < a.n; i++) {
        if (f->n->op == OP_neg)
            f->out[i] = dim_sub(f->m, 0, a.p[i]);
        else
            f->out[i] = a.p[i] == 0 ? 1 : a.p[i] > 0 ? 0 : DIM_UNKNOWN;
    }
    return f->n->op == OP_neg || f->dtype == HULL_BOOL;
}

static bool where(follow *f)
{
    known c = {0}, a = {0}, b = {0};

    if (!operand(f, 0, &c) || !operand(f, 1, &a) || !operand(f, 2, &b))
        return false;
    if ((c.n != 1 && c.n != f->n_out) || (a.n != 1 && a.n != f->n_out) ||
        (b.n != 1 && b.n != f->n_out))
        return false;
    for (uint32_t i = 0; i < f->n_out; i++) {
        dim cond = c.p[c.n == 1 ? 0 : i];
        dim yes = a.p[a.n == 1 ? 0 : i], no = b.p[b.n == 1 ? 0 : i];

        if (cond >= 0)
            f->out[i] = cond ? yes : no;
        else
            f->out[i] = dim_eq(f->m, yes, no) ? yes : DIM_UNKNOWN;
    }
    return true;
}

static bool cast(follow *f)
{
    known k = {0};

    if (!operand(f, 0, &k) || !copy(f, k))
        return false;
    for (uint32_t i = 0; i < k.n; i++) {
        int64_t v = 0;
        bool constant = dim_is_int(f->m, k.p[i], &v);

        if (f->dtype == HULL_BOOL)
            f->out[i] = constant ? v != 0 : DIM_UNKNOWN;
    }
    return true;
}

static bool reduce(follow *f)
{
    known k = {0};
    bool prod = f->n->op == OP_reduce_prod;
    dim acc = prod ? 1 : 0;

    /* A known operand has rank 0 or 1: any axes reduce all of it. */
    if (!operand(f, 0, &k) || f->n_out != 1 || f->dtype == HULL_BOOL)
        return false;
    for (uint32_t i = 0; i < k.n; i++)
        acc = prod ? dim_mul(f->m, acc, k.p[i]) : dim_add(f->m, acc, k.p[i]);
    f->out[0] = acc;
    return true;
}

/* ---- leaves and movement ------------------------------------------------- */

static bool leaf_const(follow *f)
{
    const literal *l = node_attr(f->n, "value")->u.t;

    if (!l || l->rank > 1 || l->numel != f->n_out || !followed(l->dtype))
        return false;
    for (uint32_t i = 0; i < f->n_out; i++)
        f->out[i] = dim_int(f->m, load_i64(l->dtype, l->data, i));
    return true;
}

static bool leaf_dims(follow *f)
{
    const attr *a = node_attr(f->n, "value");

    return copy(f, (known){a->u.dims.p, a->u.dims.n});
}

static bool shape(follow *f)
{
    const type *t = graph_type(f->g, f->n->in[0]);

    return copy(f, (known){t->dims, t->rank});
}

static bool symbols(follow *f)
{
    const attr *a = node_attr(f->n, "symbols");

    return copy(f, (known){a->u.dims.p, a->u.dims.n});
}

static bool leaf_iota(follow *f)
{
    for (uint32_t i = 0; i < f->n_out; i++)
        f->out[i] = i;
    return f->dtype != HULL_BOOL;
}

static bool same(follow *f)
{
    known k = {0};

    return operand(f, 0, &k) && copy(f, k);
}

static bool expand(follow *f)
{
    known k = {0};

    if (!operand(f, 0, &k))
        return false;
    if (k.n != 1)
        return copy(f, k);
    for (uint32_t i = 0; i < f->n_out; i++)
        f->out[i] = k.p[0];
    return true;
}

static bool gather(follow *f)
{
    known data = {0}, index = {0};
    const type *t = NULL;

    if (!operand(f, 0, &data) || !operand(f, 1, &index) || index.n != f->n_out)
        return false;
    t = graph_type(f->g, f->n->in[0]);
    if (t->rank != 1)
        return false;
    for (uint32_t i = 0; i < index.n; i++) {
        int64_t at = 0;

        if (!dim_is_int(f->m, index.p[i], &at)) {
            f->out[i] = DIM_UNKNOWN;
            continue;
        }
        at += at < 0 ? data.n : 0;
        if (at < 0 || at >= data.n)
            return false;
        f->out[i] = data.p[at];
    }
    return true;
}

/* One end of a slice as numpy reads it. */
static int64_t clamp_end(int64_t v, int64_t size, bool backward)
{
    int64_t low = backward ? -1 : 0, high = backward ? size - 1 : size;

    if (v < 0)
        v = v < -size ? low : v + size;
    return v > high ? high : v < low ? low : v;
}

static bool slice(follow *f)
{
    const attr *axes = node_attr(f->n, "axes");
    const attr *starts = node_attr(f->n, "starts");
    const attr *ends = node_attr(f->n, "ends");
    const attr *steps = node_attr(f->n, "steps");
    known k = {0};
    int64_t start = 0, end = 0, step = 1;
    uint32_t count = 0;

    if (!operand(f, 0, &k))
        return false;
    if (axes->u.ints.n == 0)
        return copy(f, k);
    if (axes->u.ints.n != 1 || starts->u.dims.n != 1 || ends->u.dims.n != 1)
        return false;
    if (!dim_is_int(f->m, starts->u.dims.p[0], &start) ||
        !dim_is_int(f->m, ends->u.dims.p[0], &end))
        return false;
    if (steps->set && steps->u.ints.n == 1)
        step = steps->u.ints.p[0];
    if (step == 0 || step < -KNOWN_MAX || step > KNOWN_MAX)
        return false;
    start = clamp_end(start, k.n, step < 0);
    end = clamp_end(end, k.n, step < 0);
    for (int64_t i = start; step > 0 ? i < end : i > end; i += step) {
        if (count == f->n_out)
            return false;
        f->out[count++] = k.p[i];
    }
    return count == f->n_out;
}

static bool concat(follow *f)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < f->n->n_in; i++) {
        known k = {0};

        if (!operand(f, i, &k) || k.n > f->n_out - count)
            return false;
        if (k.n > 0)
            memcpy(f->out + count, k.p, k.n * sizeof(dim));
        count += k.n;
    }
    return count == f->n_out;
}

/* ---- dispatch ------------------------------------------------------------ */

static bool follow_node(follow *f)
{
    switch (f->n->op) {
    case OP_const:
        return leaf_const(f);
    case OP_dims:
        return leaf_dims(f);
    case OP_iota:
        return leaf_iota(f);
    case OP_shape:
        return shape(f);
    case OP_bind:
        return symbols(f);
    case OP_cast:
        return cast(f);
    case OP_neg:
    case OP_not:
        return unary(f);
    case OP_add:
        return binary(f, add_2);
    case OP_sub:
        return binary(f, sub_2);
    case OP_mul:
        return binary(f, mul_2);
    case OP_div:
        return binary(f, div_2);
    case OP_mod:
        return binary(f, mod_2);
    case OP_min:
        return binary(f, min_2);
    case OP_max:
        return binary(f, max_2);
    case OP_and:
    case OP_or:
    case OP_xor:
        return binary(f, logic_2);
    case OP_eq:
    case OP_ne:
    case OP_lt:
    case OP_le:
    case OP_gt:
    case OP_ge:
        return binary(f, compare_2);
    case OP_where:
        return where(f);
    case OP_reduce_prod:
    case OP_reduce_sum:
        return reduce(f);
    case OP_reshape:
    case OP_transpose:
    case OP_expect:
        return same(f);
    case OP_expand:
        return expand(f);
    case OP_gather:
        return gather(f);
    case OP_slice:
        return slice(f);
    case OP_concat:
        return concat(f);
    default:
        return false;
    }
}

void infer_known(graph *g, node *n)
{
    follow f = {.g = g, .m = g->m, .n = n};
    const type *t = NULL;
    int64_t count = 1;
    bool useful = false;

    if (n->n_out != 1)
        return;
    t = graph_type(g, n->out[0]);
    if (!t || t->kind != TYPE_TENSOR || !followed(t->dtype) || t->rank > 1)
        return;
    if (t->rank == 1 && !dim_is_int(g->m, t->dims[0], &count))
        return;
    if (count < 0 || count > KNOWN_MAX)
        return;
    f.n_out = (uint32_t)count;
    f.dtype = t->dtype;
    if (!follow_node(&f))
        return;
    for (uint32_t i = 0; i < f.n_out; i++) {
        int64_t v = 0;

        /* What would wrap in i32 is left to the kernels. */
        if (t->dtype == HULL_I32 && dim_is_int(g->m, f.out[i], &v) &&
            (v < INT32_MIN || v > INT32_MAX))
            f.out[i] = DIM_UNKNOWN;
        useful = useful || f.out[i] != DIM_UNKNOWN;
    }
    if (useful || f.n_out == 0)
        value_set_known(g, n->out[0], f.out, f.n_out);
}
