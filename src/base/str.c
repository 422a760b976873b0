/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * str.c - views of text: comparing, splitting, and reading numbers. All
 * number readers take the whole view or nothing, know no white space and no
 * locale:
 *
 *     integer = [ '-' ] digit { digit }
 *     float   = [ '-' ] ( "inf" | digits-with-at-most-one-dot [ exponent ] )
 *             | "nan"
 *     size    = digits [ "B" | "KiB" | "MiB" | "GiB" | "TiB" ]
 */
#include "base/base.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Longest text of a float, longest path inside a file. */
#define FLOAT_TEXT_MAX 512
#define SAFE_PATH_MAX 4096

str str_of(const char *z)
{
    return z == NULL ? (str){ "", 0 } : (str){ z, strlen(z) };
}

bool str_eq(str a, str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool str_is(str a, const char *z)
{
    return str_eq(a, str_of(z));
}

int str_cmp(str a, str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n == 0 ? 0 : memcmp(a.p, b.p, n);

    return order != 0 ? order : (a.n > b.n) - (a.n < b.n);
}

bool str_starts(str a, const char *prefix)
{
    str p = str_of(prefix);

    return a.n >= p.n && str_eq((str){ a.p, p.n }, p);
}

bool str_ends(str a, const char *suffix)
{
    str s = str_of(suffix);

    return a.n >= s.n && (s.n == 0 || str_eq((str){ a.p + a.n - s.n, s.n }, s));
}

bool str_contains(str a, const char *needle)
{
    str s = str_of(needle);

    if (s.n == 0)
        return true;
    return a.n >= s.n && memmem(a.p, a.n, s.p, s.n) != NULL;
}

str str_split(str a, char sep, str *rest)
{
    const char *at = a.n == 0 ? NULL : memchr(a.p, sep, a.n);
    str head = a;

    *rest = (str){ "", 0 };
    if (at != NULL) {
        head.n = (size_t)(at - a.p);
        *rest = (str){ at + 1, a.n - head.n - 1 };
    }
    return head;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

size_t str_distance(str a, str b)
{
    size_t row[64]; /* of a's first letters from b's first k */

    if (a.n >= COUNT_OF(row) || b.n >= COUNT_OF(row))
        return SIZE_MAX;
    for (size_t k = 0; k <= b.n; k++)
        row[k] = k;
    for (size_t i = 1; i <= a.n; i++) {
        size_t before = row[0]; /* of the row above, one to the left */

        row[0] = i;
        for (size_t k = 1; k <= b.n; k++) {
            size_t change = before + (a.p[i - 1] != b.p[k - 1]);
            size_t least = row[k] < row[k - 1] ? row[k] : row[k - 1];

            before = row[k];
            row[k] = change < least + 1 ? change : least + 1;
        }
    }
    return row[b.n];
}

str str_trim(str a)
{
    while (a.n > 0 && is_blank(a.p[0])) {
        a.p++;
        a.n--;
    }
    while (a.n > 0 && is_blank(a.p[a.n - 1]))
        a.n--;
    return a;
}

/* Length of the well-formed UTF-8 sequence at p, 0 when there is none: no
 * overlong forms, no surrogates, nothing above U+10FFFF. */
static size_t utf8_sequence(const unsigned char *p, size_t left)
{
    unsigned char low = 0x80, high = 0xbf, c = p[0];
    size_t n = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    size_t i;

    if (n == 0 || c > 0xf4 || n > left)
        return 0;
    if (c == 0xe0)
        low = 0xa0;
    else if (c == 0xed)
        high = 0x9f;
    else if (c == 0xf0)
        low = 0x90;
    else if (c == 0xf4)
        high = 0x8f;
    for (i = 1; i < n; i++) {
        if (p[i] < low || p[i] > high)
            return 0;
        low = 0x80;
        high = 0xbf;
    }
    return n;
}

bool str_valid_utf8(str s)
{
    size_t i = 0;

    while (i < s.n) {
        size_t n = utf8_sequence((const unsigned char *)s.p + i, s.n - i);

        if (n == 0)
            return false;
        i += n;
    }
    return true;
}

bool str_to_u64(uint64_t *out, str s)
{
    uint64_t v = 0;
    size_t i;

    *out = 0;
    if (s.n == 0)
        return false;
    for (i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9' || !mul_u64(&v, v, 10) ||
            !add_u64(&v, v, (uint64_t)(s.p[i] - '0')))
            return false;
    }
    *out = v;
    return true;
}

bool str_to_i64(int64_t *out, str s)
{
    bool negative = s.n > 0 && s.p[0] == '-';
    uint64_t v, most = (uint64_t)INT64_MAX + (negative ? 1 : 0);

    *out = 0;
    if (negative) {
        s.p++;
        s.n--;
    }
    if (!str_to_u64(&v, s) || v > most)
        return false;
    *out = negative ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

/* Moves *i over digits; returns how many there were. */
static size_t skip_digits(str s, size_t *i)
{
    size_t start = *i;

    while (*i < s.n && s.p[*i] >= '0' && s.p[*i] <= '9')
        (*i)++;
    return *i - start;
}

static bool is_float_text(str s)
{
    size_t i = s.n > 0 && s.p[0] == '-' ? 1 : 0;
    size_t digits = skip_digits(s, &i);

    if (i < s.n && s.p[i] == '.') {
        i++;
        digits += skip_digits(s, &i);
    }
    if (digits == 0)
        return false;
    if (i < s.n && (s.p[i] == 'e' || s.p[i] == 'E')) {
        i++;
        if (i < s.n && (s.p[i] == '-' || s.p[i] == '+'))
            i++;
        if (skip_digits(s, &i) == 0)
            return false;
    }
    return i == s.n;
}

bool str_to_f64(double *out, str s)
{
    char text[FLOAT_TEXT_MAX];
    locale_t c_locale;
    double v;

    *out = 0;
    if (str_is(s, "nan") || str_is(s, "inf") || str_is(s, "-inf")) {
        *out = str_is(s, "nan") ? (double)NAN : (double)INFINITY;
        if (s.p[0] == '-')
            *out = -*out;
        return true;
    }
    if (s.n >= sizeof(text) || !is_float_text(s))
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c_locale == (locale_t)0)
        return false;
    v = strtod_l(text, NULL, c_locale);
    freelocale(c_locale);
    if (isinf(v))
        return false;
    *out = v;
    return true;
}

bool str_to_size(uint64_t *out, str s)
{
    static const struct {
        const char *text;
        uint64_t factor;
    } units[] = {
        { "KiB", (uint64_t)1 << 10 },
        { "MiB", (uint64_t)1 << 20 },
        { "GiB", (uint64_t)1 << 30 },
        { "TiB", (uint64_t)1 << 40 },
        { "B", 1 },
    };
    uint64_t factor = 1, v;
    size_t i;

    *out = 0;
    for (i = 0; i < COUNT_OF(units); i++) {
        if (str_ends(s, units[i].text)) {
            factor = units[i].factor;
            s.n -= strlen(units[i].text);
            break;
        }
    }
    return str_to_u64(&v, s) && mul_u64(&v, v, factor) && (*out = v, true);
}

bool str_is_safe_path(str s)
{
    str part, rest = s;
    size_t i;

    if (s.n == 0 || s.n > SAFE_PATH_MAX || !str_valid_utf8(s))
        return false;
    for (i = 0; i < s.n; i++) {
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f || s.p[i] == '\\')
            return false;
    }
    if (s.n >= 2 && s.p[1] == ':' &&
        ((s.p[0] | 0x20) >= 'a' && (s.p[0] | 0x20) <= 'z'))
        return false; /* a drive letter */
    if (s.p[s.n - 1] == '/')
        return false;
    do {
        part = str_split(rest, '/', &rest);
        if (part.n == 0 || str_is(part, ".."))
            return false;
    } while (rest.n > 0);
    return true;
}
