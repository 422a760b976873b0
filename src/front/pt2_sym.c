/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pt2_sym.c - Python's scalar arithmetic of exported graphs: _operator.*,
 * math.* and torch.sym_* on sizes and numbers. A comparison that the ranges do
 * not decide is a tensor, for a branch that a run takes; what only an assert
 * reads is not lowered at all (pt2_guard.c has the asserts).
 */
#include "front/pt2.h"

#include <math.h>
#include <string.h>

static double number(const ir *m, const aten_value *v, bool *ok)
{
    int64_t i = 0;

    if (v->kind == ATEN_FLOAT)
        return v->f;
    if (v->kind == ATEN_BOOL)
        return v->b;
    if (v->kind == ATEN_INT && dim_is_int(m, v->i, &i))
        return (double)i;
    *ok = false;
    return 0;
}

static bool positive(const ir *m, dim d)
{
    int64_t lo, hi;

    if (d == DIM_UNKNOWN)
        return false;
    dim_range(m, d, &lo, &hi);
    return lo >= 0 && hi != 0;
}

static bool int_binary(ir *m, str op, dim a, dim b, dim *out)
{
    if (str_is(op, "add"))
        *out = dim_add(m, a, b);
    else if (str_is(op, "sub"))
        *out = dim_sub(m, a, b);
    else if (str_is(op, "mul"))
        *out = dim_mul(m, a, b);
    else if (str_is(op, "floordiv") && positive(m, b))
        *out = dim_div(m, a, b);
    else if (str_is(op, "mod") && positive(m, b))
        *out = dim_mod(m, a, b);
    else if (str_is(op, "sym_max"))
        *out = dim_max(m, a, b);
    else if (str_is(op, "sym_min"))
        *out = dim_min(m, a, b);
    else
        return false;
    return true;
}

static bool float_binary(str op, double a, double b, double *out)
{
    if (str_is(op, "add"))
        *out = a + b;
    else if (str_is(op, "sub"))
        *out = a - b;
    else if (str_is(op, "mul"))
        *out = a * b;
    else if (str_is(op, "truediv") && (b < 0 || b > 0))
        *out = a / b;
    else if (str_is(op, "pow"))
        *out = pow(a, b);
    else
        return false;
    return true;
}

/* -1 = not provable. */
static int compare(const ir *m, str op, dim a, dim b)
{
    int64_t alo, ahi, blo, bhi;

    if (a == DIM_UNKNOWN || b == DIM_UNKNOWN)
        return -1;
    dim_range(m, a, &alo, &ahi);
    dim_range(m, b, &blo, &bhi);
    if (str_is(op, "eq") || str_is(op, "ne")) {
        bool eq = str_is(op, "eq");
        if (dim_eq(m, a, b))
            return eq;
        return ahi < blo || bhi < alo ? !eq : -1;
    }
    if (str_is(op, "lt") || str_is(op, "ge")) {
        bool lt = str_is(op, "lt");
        return ahi < blo ? lt : alo >= bhi ? !lt : -1;
    }
    if (str_is(op, "gt") || str_is(op, "le")) {
        bool gt = str_is(op, "gt");
        return alo > bhi ? gt : ahi <= blo ? !gt : -1;
    }
    return -1;
}

static const struct {
    const char *name;
    op_code op;
} comparisons[] = {{"eq", OP_eq}, {"ne", OP_ne}, {"lt", OP_lt},
                   {"le", OP_le}, {"gt", OP_gt}, {"ge", OP_ge}};

/* OP_none when it is none. */
static op_code comparison(str op)
{
    for (size_t i = 0; i < COUNT_OF(comparisons); i++)
        if (str_is(op, comparisons[i].name))
            return comparisons[i].op;
    return OP_none;
}

/* A value as a tensor of rank 0; 0 when it is none. */
static val as_scalar(pt2 *p, const aten_value *v)
{
    if (v->kind == ATEN_INT && v->i != DIM_UNKNOWN)
        return op_reshape(p->g, op_dims(p->g, &v->i, 1), NULL, 0);
    if (v->kind == ATEN_BOOL)
        return op_scalar_i64(p->g, HULL_BOOL, v->b);
    return v->kind == ATEN_TENSOR || v->kind == ATEN_OTHER ? v->v : 0;
}

static bool is_bool(const pt2 *p, val v)
{
    const type *t = v ? graph_type(p->g, v) : NULL;

    return t && t->kind == TYPE_TENSOR && t->dtype == HULL_BOOL;
}

/* A bool that the run knows; without v, one that nobody knows. */
static void set_cond(aten_value *out, val v)
{
    *out = (aten_value){.kind = ATEN_OTHER, .v = v};
}

/* and_, or_, sym_not of bools. */
static void logic(pt2 *p, str op, const aten_value *args, uint32_t n,
                  aten_value *out)
{
    val a = n > 0 ? as_scalar(p, &args[0]) : 0;
    val b = n > 1 ? as_scalar(p, &args[1]) : 0;

    set_cond(out, 0);
    if (n == 1 && args[0].kind == ATEN_BOOL)
        *out = (aten_value){.kind = ATEN_BOOL, .b = !args[0].b};
    else if (n == 1 && is_bool(p, a))
        set_cond(out, op_unary(p->g, OP_not, a));
    else if (n == 2 && is_bool(p, a) && is_bool(p, b))
        set_cond(out, op_binary(p->g, str_is(op, "and_") ? OP_and : OP_or, a,
                                b));
}

static bool unary(pt2 *p, str op, const aten_value *a, aten_value *out)
{
    bool ok = true;

    if (a->kind == ATEN_INT) {
        bool same = str_is(op, "pos") || str_is(op, "sym_int") ||
                    str_is(op, "trunc") || str_is(op, "ceil") ||
                    str_is(op, "floor");

        if (str_is(op, "neg") || same) {
            *out = *a;
            if (!same)
                out->i = dim_sub(p->m, 0, a->i);
            return true;
        }
    }
    double v = number(p->m, a, &ok);
    if (!ok)
        return false;
    out->kind = ATEN_FLOAT;
    if (str_is(op, "neg"))
        out->f = -v;
    else if (str_is(op, "sym_float") || str_is(op, "pos"))
        out->f = v;
    else if (str_is(op, "sym_sqrt"))
        out->f = sqrt(v);
    else if (str_is(op, "floor") || str_is(op, "ceil") ||
             str_is(op, "trunc") || str_is(op, "sym_int")) {
        v = str_is(op, "floor") ? floor(v) : str_is(op, "ceil") ? ceil(v)
                                                                : trunc(v);
        if (!(fabs(v) < 9e15))
            return false;
        *out = (aten_value){.kind = ATEN_INT, .i = dim_int(p->m, (int64_t)v)};
    } else {
        return false;
    }
    return true;
}

static bool decide(op_code op, double x, double y)
{
    bool less = x < y, more = x > y;

    switch (op) {
    case OP_eq: return !less && !more;
    case OP_ne: return less || more;
    case OP_lt: return less;
    case OP_le: return !more;
    case OP_gt: return more;
    default: return !less;
    }
}

static bool binary(pt2 *p, str op, const aten_value *a, const aten_value *b,
                   aten_value *out)
{
    op_code cmp = comparison(op);
    bool ok = true;

    if (a->kind == ATEN_INT && b->kind == ATEN_INT) {
        if (cmp != OP_none) {
            int r = compare(p->m, op, a->i, b->i);
            val x = r < 0 ? as_scalar(p, a) : 0;
            val y = r < 0 ? as_scalar(p, b) : 0;

            *out = (aten_value){.kind = ATEN_BOOL, .b = r == 1};
            if (r < 0)
                set_cond(out, x && y ? op_binary(p->g, cmp, x, y) : 0);
            return true;
        }
        out->kind = ATEN_INT;
        if (int_binary(p->m, op, a->i, b->i, &out->i))
            return true;
    }
    double x = number(p->m, a, &ok), y = number(p->m, b, &ok);
    if (ok && cmp != OP_none) {
        *out = (aten_value){.kind = ATEN_BOOL, .b = decide(cmp, x, y)};
        return true;
    }
    if (!ok || cmp != OP_none) {
        set_cond(out, 0);
        return cmp != OP_none;
    }
    out->kind = ATEN_FLOAT;
    return float_binary(op, x, y, &out->f);
}

hull_status pt2_sym_call(pt2 *p, str target, const aten_value *args, uint32_t n,
                         aten_value *out, bool *out_known)
{
    static const char *const prefixes[] = {"_operator.", "math.", "torch."};
    str op = {0};

    *out = (aten_value){0};
    *out_known = false;
    for (size_t i = 0; i < COUNT_OF(prefixes); i++)
        if (str_starts(target, prefixes[i])) {
            size_t skip = strlen(prefixes[i]);
            op = (str){target.p + skip, target.n - skip};
        }
    if (str_is(op, "and_") || str_is(op, "or_") || str_is(op, "sym_not")) {
        logic(p, op, args, n, out);
        *out_known = true;
    } else if (n == 1) {
        *out_known = unary(p, op, &args[0], out);
    } else if (n == 2) {
        *out_known = binary(p, op, &args[0], &args[1], out);
    }
    return ir_status(p->m);
}
