/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * buf.c - growable bytes. A put that does not fit marks the buffer as failed
 * and puts nothing; the writer checks once, at the end, with buf_status. Also
 * owns how text is quoted and how floats are written:
 *
 *     quoted = '"' { byte | '\"' | '\\' | '\n' | '\r' | '\t' | '\x' h h } '"'
 *
 * where \x takes exactly two lower-case hexadecimal digits. Printing does not
 * depend on the locale of the process.
 */
#include "base/base.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void buf_init(buf *b, size_t max)
{
    memset(b, 0, sizeof(*b));
    b->max = max;
}

void buf_fini(buf *b)
{
    if (b == NULL)
        return;
    mem_free(b->p);
    memset(b, 0, sizeof(*b));
}

void buf_clear(buf *b)
{
    b->n = 0;
    if (b->p != NULL)
        b->p[0] = '\0';
}

/* Makes room for n more bytes and the final NUL. */
static bool reserve(buf *b, size_t n)
{
    size_t need, cap;
    char *p;

    if (b->failed)
        return false;
    if (n > b->max || b->n > b->max - n) {
        b->failed = true;
        return false;
    }
    need = b->n + n;
    if (need < b->cap)
        return true;
    cap = b->cap < 32 ? 64 : b->cap > SIZE_MAX / 2 ? SIZE_MAX : b->cap * 2;
    if (cap <= need)
        cap = need == SIZE_MAX ? SIZE_MAX : need + 1;
    if (b->max < SIZE_MAX && cap > b->max + 1)
        cap = b->max + 1;
    p = mem_realloc(b->p, cap);
    if (p == NULL) {
        b->failed = true;
        return false;
    }
    b->p = p;
    b->cap = cap;
    return true;
}

void buf_put(buf *b, const void *p, size_t n)
{
    if (!reserve(b, n))
        return;
    if (n > 0)
        memcpy(b->p + b->n, p, n);
    b->n += n;
    b->p[b->n] = '\0';
}

void buf_puts(buf *b, const char *z)
{
    buf_put(b, z, strlen(z));
}

void buf_putc(buf *b, char c)
{
    buf_put(b, &c, 1);
}

void buf_str(buf *b, str s)
{
    buf_put(b, s.p, s.n);
}

void buf_int(buf *b, int64_t v)
{
    char room[24], *p = room + sizeof(room);
    uint64_t rest = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

    do {
        *--p = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);
    if (v < 0)
        *--p = '-';
    buf_put(b, p, (size_t)(room + sizeof(room) - p));
}

void buf_vprintf(buf *b, const char *fmt, va_list ap)
{
    char small[256];
    va_list again;
    int n;

    va_copy(again, ap);
    n = vsnprintf(small, sizeof(small), fmt, ap);
    if (n < 0) {
        b->failed = true;
    } else if ((size_t)n < sizeof(small)) {
        buf_put(b, small, (size_t)n);
    } else if (reserve(b, (size_t)n)) {
        n = vsnprintf(b->p + b->n, (size_t)n + 1, fmt, again);
        b->n += (size_t)n;
    }
    va_end(again);
}

void buf_printf(buf *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    buf_vprintf(b, fmt, ap);
    va_end(ap);
}

void buf_align(buf *b, size_t align)
{
    size_t fill = align < 2 ? 0 : (align - b->n % align) % align;

    if (fill == 0 || !reserve(b, fill))
        return;
    memset(b->p + b->n, 0, fill + 1);
    b->n += fill;
}

hull_status buf_status(const buf *b)
{
    if (!b->failed)
        return HULL_OK;
    return fail(HULL_ENOMEM,
                "buffer of %zu bytes cannot grow: out of memory or over its "
                "limit of %zu bytes",
                b->n, b->max);
}

str buf_view(const buf *b)
{
    return (str){ b->p == NULL ? "" : b->p, b->n };
}

char *buf_take(buf *b)
{
    char *p = NULL;

    buf_put(b, "", 0); /* an empty text is a text as well */
    if (!b->failed) {
        p = b->p;
        b->p = NULL;
    }
    mem_free(b->p);
    buf_init(b, b->max);
    return p;
}

void buf_quoted(buf *b, str s)
{
    static const char hex[] = "0123456789abcdef";
    size_t i;

    buf_putc(b, '"');
    for (i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (c == '"' || c == '\\') {
            buf_put(b, (char[]){ '\\', (char)c }, 2);
        } else if (c == '\n') {
            buf_put(b, "\\n", 2);
        } else if (c == '\r') {
            buf_put(b, "\\r", 2);
        } else if (c == '\t') {
            buf_put(b, "\\t", 2);
        } else if (c < 0x20 || c == 0x7f) {
            buf_put(b, (char[]){ '\\', 'x', hex[c >> 4], hex[c & 15] }, 4);
        } else {
            buf_putc(b, (char)c);
        }
    }
    buf_putc(b, '"');
}

/* ---- floats -------------------------------------------------------------- */

/* The first precision of "%g" whose text reads back to v; or the plain form
 * when that is no longer ("100.0", not "1e+02"). */
static void shortest(char *text, size_t size, double v, bool is_f32,
                     locale_t c_locale)
{
    int digits, most = is_f32 ? 9 : 17;
    char plain[64];

    for (digits = 1; digits <= most; digits++) {
        snprintf(text, size, "%.*g", digits, v);
        if (is_f32 ? strtof_l(text, NULL, c_locale) == (float)v
                   : strtod_l(text, NULL, c_locale) == v)
            break;
    }
    if (strchr(text, 'e') == NULL || fabs(v) < 1 || fabs(v) >= 1e16)
        return;
    snprintf(plain, sizeof(plain), "%.1f", v);
    if (strlen(plain) <= strlen(text) && strtod_l(plain, NULL, c_locale) == v)
        memcpy(text, plain, strlen(plain) + 1);
}

static void put_float(buf *b, double v, bool is_f32)
{
    char text[64];
    locale_t c_locale, before;

    if (isnan(v)) {
        buf_puts(b, "nan");
        return;
    }
    if (isinf(v)) {
        buf_puts(b, v < 0 ? "-inf" : "inf");
        return;
    }
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c_locale == (locale_t)0) {
        b->failed = true;
        return;
    }
    before = uselocale(c_locale);
    shortest(text, sizeof(text), v, is_f32, c_locale);
    uselocale(before);
    freelocale(c_locale);
    buf_puts(b, text);
    if (strpbrk(text, ".e") == NULL)
        buf_put(b, ".0", 2);
}

void buf_f32(buf *b, float v)
{
    put_float(b, (double)v, true);
}

void buf_f64(buf *b, double v)
{
    put_float(b, v, false);
}
