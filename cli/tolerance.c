/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * tolerance.c - a result against its expectation, element by element.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/cli.h"
#include "ir/ir.h"

typedef struct tolerance {
    double atol, rtol;
} tolerance;

static void count(difference *d, uint64_t i, double abs, double rel, bool fits)
{
    d->max_abs = fmax(d->max_abs, abs);
    d->max_rel = fmax(d->max_rel, rel);
    if (fits)
        return;
    if (d->n_beyond++ == 0)
        d->first = i;
}

/* NaN equals NaN, an infinity equals itself; either against anything else is
 * an infinite difference. */
static void compare_f64(difference *d, uint64_t i, double a, double b,
                        tolerance t)
{
    double abs = fabs(a - b);

    if (a == b || (isnan(a) && isnan(b)))
        return;
    if (!isfinite(a) || !isfinite(b))
        count(d, i, INFINITY, INFINITY, false);
    else
        count(d, i, abs, b == 0 ? 0 : abs / fabs(b),
              abs <= t.atol + t.rtol * fabs(b));
}

static void compare_i64(difference *d, uint64_t i, int64_t a, int64_t b,
                        tolerance t)
{
    double abs = a > b ? (double)((uint64_t)a - (uint64_t)b)
                       : (double)((uint64_t)b - (uint64_t)a);

    if (a != b)
        count(d, i, abs, b == 0 ? 0 : abs / fabs((double)b), abs <= t.atol);
}

void compare_tensors(difference *out, const named_tensor *a,
                     const named_tensor *b, double atol, double rtol)
{
    tolerance t = { atol, rtol };
    hull_dtype dt = a->dtype;
    uint32_t parts = dtype_is_complex(dt) ? 2 : 1;
    bool whole = dtype_is_int(dt) || dt == HULL_BOOL;
    uint64_t n = 1;

    for (uint32_t i = 0; i < a->rank; i++)
        n *= (uint64_t)a->shape[i];
    if (parts == 2)
        dt = dt == HULL_C64 ? HULL_F32 : HULL_F64;
    *out = (difference){ .n = n };
    for (uint64_t i = 0; i < n; i++) {
        uint64_t before = out->n_beyond;

        for (uint32_t k = 0; k < parts; k++)
            if (whole)
                compare_i64(out, i, load_i64(dt, a->data, i),
                            load_i64(dt, b->data, i), t);
            else
                compare_f64(out, i, load_f64(dt, a->data, i * parts + k),
                            load_f64(dt, b->data, i * parts + k), t);
        if (out->n_beyond > before + 1)
            out->n_beyond = before + 1; /* both halves of one number */
    }
}

void print_type(buf *b, hull_dtype dt, uint32_t rank, const int64_t *shape)
{
    buf_printf(b, "%s[", hull_dtype_name(dt));
    for (uint32_t i = 0; i < rank; i++)
        buf_printf(b, i ? ",%" PRId64 : "%" PRId64, shape[i]);
    buf_putc(b, ']');
}

static void print_float(buf *b, hull_dtype dt, const void *p, uint64_t i)
{
    double v = load_f64(dt, p, i);

    if (dt == HULL_F64)
        buf_f64(b, v);
    else
        buf_f32(b, (float)v);
}

void print_element(buf *b, const named_tensor *t, uint64_t i)
{
    hull_dtype dt = t->dtype;

    if (dt == HULL_BOOL || dtype_is_int(dt)) {
        int64_t v = load_i64(dt, t->data, i);

        if (dt == HULL_U64)
            buf_printf(b, "%" PRIu64, (uint64_t)v);
        else
            buf_printf(b, "%" PRId64, v);
    } else if (dtype_is_complex(dt)) {
        dt = dt == HULL_C64 ? HULL_F32 : HULL_F64;
        buf_putc(b, '(');
        print_float(b, dt, t->data, 2 * i);
        buf_puts(b, ", ");
        print_float(b, dt, t->data, 2 * i + 1);
        buf_putc(b, ')');
    } else {
        print_float(b, dt, t->data, i);
    }
}
