/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * text_number.c - numbers to strings and back, for cast. Floats are written
 * with as few digits as read back to the same value, in the manner of "0.25"
 * or "1e-05", and as NaN, INF, -INF; booleans as True and False. Space around a
 * number is skipped, the letters of INF and NaN may be of either case.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/family.h"
#include "ops/text.h"

#define NUMBER_MAX 400 /* bytes of a number's text */

/* ---- to strings ---------------------------------------------------------- */

/* v of a type narrower than f32 with as few digits as that type needs. */
static float short_value(hull_dtype dt, double v)
{
    int exponent = (int)floor(log10(fabs(v)));

    for (int digits = 1; digits < 9; digits++) {
        double unit = pow(10, abs(exponent - digits + 1)), near;
        unsigned char raw[8];

        near = exponent >= digits - 1 ? rint(v / unit) * unit
                                      : rint(v * unit) / unit;
        store_f64(dt, raw, 0, near);
        if (load_f64(dt, raw, 0) == v)
            return (float)near;
    }
    return (float)v;
}

static void put_float(buf *b, hull_dtype dt, double v)
{
    if (isnan(v))
        buf_puts(b, "NaN");
    else if (isinf(v))
        buf_puts(b, v < 0 ? "-INF" : "INF");
    else if (dt == HULL_F64)
        buf_f64(b, v);
    else if (dt == HULL_F32 || v == 0)
        buf_f32(b, (float)v);
    else
        buf_f32(b, short_value(dt, v));
}

static void put_number(buf *b, const tensor *t, uint64_t i)
{
    if (dtype_is_float(t->dtype))
        put_float(b, t->dtype, load_f64(t->dtype, t->data, i));
    else if (t->dtype == HULL_BOOL)
        buf_puts(b, load_i64(t->dtype, t->data, i) != 0 ? "True" : "False");
    else if (t->dtype == HULL_U64)
        buf_printf(b, "%" PRIu64, (uint64_t)load_i64(t->dtype, t->data, i));
    else
        buf_printf(b, "%" PRId64, load_i64(t->dtype, t->data, i));
}

static hull_status to_strings(eval_ctx *cx, const tensor *in, tensor *out)
{
    hull_string *s = out->data;
    uint64_t numel = (uint64_t)tensor_numel(out);
    hull_status st = HULL_OK;
    buf b;

    if (cx->texts == NULL)
        return fail(HULL_EINTERNAL, "strings outside of a dynamic program");
    buf_init(&b, NUMBER_MAX);
    for (uint64_t i = 0; i < numel; i++) {
        buf_clear(&b);
        put_number(&b, in, i);
        TRY_OUT(buf_status(&b));
        s[i] = (hull_string){arena_strndup(cx->texts, b.p, b.n), b.n};
        if (s[i].p == NULL)
            TRY_OUT(fail_oom(b.n));
    }
out:
    buf_fini(&b);
    return st;
}

/* ---- to numbers ---------------------------------------------------------- */

static bool read_float(double *out, str s)
{
    char text[NUMBER_MAX];

    if (s.n == 0 || s.n > sizeof text)
        return false;
    for (size_t i = 0; i < s.n; i++)
        text[i] = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] + 32)
                                                 : s.p[i];
    s.p = text;
    if (str_is(s, "infinity") || str_is(s, "-infinity"))
        s.n -= strlen("inity");
    return str_to_f64(out, s);
}

/* Exactly, or not at all. */
static bool read_int(hull_dtype dt, void *p, uint64_t i, str s)
{
    int64_t v = 0;
    uint64_t u = 0;

    if (dt == HULL_U64) {
        if (!str_to_u64(&u, s))
            return false;
        store_i64(dt, p, i, (int64_t)u);
        return true;
    }
    if (!str_to_i64(&v, s))
        return false;
    store_i64(dt, p, i, v);
    return load_i64(dt, p, i) == v;
}

static bool read_bool(void *p, uint64_t i, str s)
{
    bool yes = str_is(s, "1") || str_is(s, "True") || str_is(s, "true");

    store_i64(HULL_BOOL, p, i, yes);
    return yes || str_is(s, "0") || str_is(s, "False") || str_is(s, "false");
}

static bool read_number(hull_dtype dt, void *p, uint64_t i, str s)
{
    double v = 0;

    s = str_trim(s);
    if (s.n > 1 && s.p[0] == '+' && s.p[1] != '-' && s.p[1] != '+')
        s = (str){s.p + 1, s.n - 1};
    if (dt == HULL_BOOL)
        return read_bool(p, i, s);
    if (!dtype_is_float(dt))
        return read_int(dt, p, i, s);
    if (!read_float(&v, s))
        return false;
    store_f64(dt, p, i, v);
    return true;
}

static hull_status to_numbers(const node *n, const tensor *in, tensor *out)
{
    const hull_string *s = in->data;
    uint64_t numel = (uint64_t)tensor_numel(out);
    char what[128];

    for (uint64_t i = 0; i < numel; i++) {
        str text = {s[i].n > 0 ? s[i].p : "", s[i].n};

        if (!read_number(out->dtype, out->data, i, text))
            return fail(HULL_EINVAL, "%s: string %" PRIu64 ", '%.*s', is no "
                        "number of type %s", node_what(n, what), i,
                        (int)(text.n > 100 ? 100 : text.n), text.p,
                        hull_dtype_name(out->dtype));
    }
    return HULL_OK;
}

hull_status text_cast(eval_ctx *cx, const node *n, const tensor *in,
                      tensor *out)
{
    return out->dtype == HULL_STRING ? to_strings(cx, in, out)
                                     : to_numbers(n, in, out);
}
