/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * text_case.c - UTF-8 characters: decoding, white space, upper and lower case.
 * The system's locale has no part in it, so that a model gives the same result
 * everywhere; mappings are those of Unicode that give one character for one.
 */
#include "ops/text.h"

#include <string.h>

/* ---- characters ---------------------------------------------------------- */

size_t text_char(uint32_t *out, const char *p, size_t n)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *b = (const unsigned char *)p;
    size_t size = b[0] < 0x80   ? 1
                  : b[0] < 0xc0 ? 0
                  : b[0] < 0xe0 ? 2
                  : b[0] < 0xf0 ? 3
                  : b[0] < 0xf8 ? 4
                                : 0;
    uint32_t c = size == 1 ? b[0] : b[0] & (0x7fu >> size);

    *out = TEXT_NO_CHAR;
    if (size == 0 || size > n)
        return 1;
    for (size_t i = 1; i < size; i++) {
        if ((b[i] & 0xc0) != 0x80)
            return 1;
        c = c << 6 | (b[i] & 0x3fu);
    }
    if (c < least[size] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return 1;
    *out = c;
    return size;
}

/* Bytes of c at p, where p is not NULL; their number. */
static size_t put_char(char *p, uint32_t c)
{
    size_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

    if (p == NULL)
        return size;
    for (size_t i = size; i-- > 1; c >>= 6)
        p[i] = (char)(0x80 | (c & 0x3f));
    p[0] = (char)(size == 1 ? c : (0xf00u >> size & 0xf0) | c);
    return size;
}

bool text_is_space(uint32_t c)
{
    return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 ||
           c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) ||
           c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
           c == 0x3000;
}

/* ---- case ---------------------------------------------------------------- */

/* Capital letters first, first + step ... last; the small one of each is
 * `down` further on. */
static const struct {
    uint16_t first, last;
    uint8_t step;
    int16_t down;
} letters[] = {
    {0x0041, 0x005a, 1, 32},  {0x00c0, 0x00d6, 1, 32},
    {0x00d8, 0x00de, 1, 32},  {0x0100, 0x012e, 2, 1},
    {0x0132, 0x0136, 2, 1},   {0x0139, 0x0147, 2, 1},
    {0x014a, 0x0176, 2, 1},   {0x0178, 0x0178, 1, -121},
    {0x0179, 0x017d, 2, 1},   {0x01cd, 0x01db, 2, 1},
    {0x01de, 0x01ee, 2, 1},   {0x01f8, 0x021e, 2, 1},
    {0x0222, 0x0232, 2, 1},   {0x0386, 0x0386, 1, 38},
    {0x0388, 0x038a, 1, 37},  {0x038c, 0x038c, 1, 64},
    {0x038e, 0x038f, 1, 63},  {0x0391, 0x03a1, 1, 32},
    {0x03a3, 0x03ab, 1, 32},  {0x03d8, 0x03ee, 2, 1},
    {0x0400, 0x040f, 1, 80},  {0x0410, 0x042f, 1, 32},
    {0x0460, 0x0480, 2, 1},   {0x048a, 0x04be, 2, 1},
    {0x04c0, 0x04c0, 1, 15},  {0x04c1, 0x04cd, 2, 1},
    {0x04d0, 0x052e, 2, 1},   {0x0531, 0x0556, 1, 48},
    {0x1e00, 0x1e94, 2, 1},   {0x1ea0, 0x1efe, 2, 1},
    {0xff21, 0xff3a, 1, 32},
};

static uint32_t other_case(uint32_t c, bool up)
{
    if (up && c == 0xb5) /* micro sign */
        return 0x39c;
    if (up && c == 0x3c2) /* final sigma */
        return 0x3a3;
    if (up && (c == 0x131 || c == 0x17f)) /* dotless i, long s */
        return c == 0x131 ? 'I' : 'S';
    for (size_t i = 0; i < COUNT_OF(letters); i++) {
        uint32_t by = (uint32_t)letters[i].down; /* modulo 2^32 */
        uint32_t at = up ? c - by : c;

        if (at >= letters[i].first && at <= letters[i].last &&
            (at - letters[i].first) % letters[i].step == 0)
            return up ? at : c + by;
    }
    return c;
}

/* s in the other case at p, where p is not NULL; the number of its bytes. */
static size_t put_case(char *p, hull_string s, bool up)
{
    size_t n = 0;

    for (size_t at = 0; at < s.n;) {
        uint32_t c;
        size_t size = text_char(&c, s.p + at, s.n - at);

        if (c != TEXT_NO_CHAR) {
            n += put_char(p != NULL ? p + n : NULL, other_case(c, up));
        } else {
            if (p != NULL)
                p[n] = s.p[at];
            n++;
        }
        at += size;
    }
    return n;
}

static hull_status change(hull_string *out, arena *a, hull_string s, bool up)
{
    size_t n = put_case(NULL, s, up);
    char *p = arena_alloc(a, n + 1);

    if (p == NULL)
        return fail_oom(n);
    put_case(p, s, up);
    *out = (hull_string){p, n};
    return HULL_OK;
}

hull_status text_upper(hull_string *out, arena *a, hull_string s)
{
    return change(out, a, s, true);
}

hull_status text_lower(hull_string *out, arena *a, hull_string s)
{
    return change(out, a, s, false);
}
