/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pt2_sym.c - Python's scalar arithmetic of exported graphs: _operator.*,
 * math.* and torch.sym_* on sizes and numbers. Comparisons are only decided
 * where the ranges prove them; guards that are left are not needed, because
 * the calling contract states the same bounds.
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

static bool is_comparison(str op)
{
    static const char *const names[] = {"eq", "ne", "lt", "le", "gt", "ge"};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (str_is(op, names[i]))
            return true;
    return false;
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

static bool binary(pt2 *p, str op, const aten_value *a, const aten_value *b,
                   aten_value *out)
{
    bool ok = true;

    if (a->kind == ATEN_INT && b->kind == ATEN_INT) {
        if (is_comparison(op)) {
            int r = compare(p->m, op, a->i, b->i);
            *out = (aten_value){.kind = r < 0 ? ATEN_OTHER : ATEN_BOOL,
                                .b = r == 1};
            return true;
        }
        out->kind = ATEN_INT;
        if (int_binary(p->m, op, a->i, b->i, &out->i))
            return true;
    }
    double x = number(p->m, a, &ok), y = number(p->m, b, &ok);
    if (!ok || is_comparison(op)) {
        *out = (aten_value){.kind = ATEN_OTHER};
        return is_comparison(op);
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
        *out = (aten_value){.kind = ATEN_OTHER};
        *out_known = true;
    } else if (n == 1) {
        *out_known = unary(p, op, &args[0], out);
    } else if (n == 2) {
        *out_known = binary(p, op, &args[0], &args[1], out);
    }
    return ir_status(p->m);
}
