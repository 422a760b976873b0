/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * line_diff.c - in which lines two preimages differ. Values are numbered in
 * order, so one more node renumbers all that follow: lines are aligned without
 * the numbers (Myers' O(ND), at most DIFF_MAX steps), then the numbers of
 * aligned lines must agree under the renumbering that their definitions give.
 */
#include "cache/nearest.h"

#include <stdlib.h>
#include <string.h>

/* ---- lines --------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Bytes of the number at s: of a value behind '%', or of a hole in quotes. */
static size_t number_at(str s, size_t at)
{
    size_t n = at;

    if (at == 0 || (s.p[at - 1] != '%' && s.p[at - 1] != '"'))
        return 0;
    while (n < s.n && is_digit(s.p[n]))
        n++;
    if (s.p[at - 1] == '"' && (n == s.n || s.p[n] != '"'))
        return 0;
    return n - at;
}

static uint64_t shape_of(str s)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < s.n; i++) {
        i += number_at(s, i);
        if (i < s.n)
            h = (h ^ (unsigned char)s.p[i]) * UINT64_C(0x100000001b3);
    }
    return h;
}

static int by_value(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

    return (a > b) - (a < b);
}

hull_status text_lines_get(text_lines *out, str text)
{
    size_t n = 0;
    str rest = text;

    *out = (text_lines){0};
    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n';
    n += text.n > 0 && text.p[text.n - 1] != '\n';
    if (n > INT32_MAX / 2)
        return fail(HULL_EFORMAT, "a text has %zu lines", n);
    out->p = mem_calloc(n + 1, sizeof *out->p);
    out->shape = mem_calloc(n + 1, sizeof *out->shape);
    out->sorted = mem_calloc(n + 1, sizeof *out->sorted);
    if (out->p == NULL || out->shape == NULL || out->sorted == NULL) {
        text_lines_fini(out);
        return fail_oom(n * sizeof *out->p);
    }
    for (; out->n < n; out->n++) {
        out->p[out->n] = str_split(rest, '\n', &rest);
        out->shape[out->n] = shape_of(out->p[out->n]);
        out->sorted[out->n] = out->shape[out->n];
    }
    qsort(out->sorted, n, sizeof *out->sorted, by_value);
    return HULL_OK;
}

void text_lines_fini(text_lines *t)
{
    mem_free(t->p);
    mem_free(t->shape);
    mem_free(t->sorted);
    *t = (text_lines){0};
}

uint64_t lines_bound(const text_lines *a, const text_lines *b)
{
    uint32_t i = 0, k = 0, common = 0;

    while (i < a->n && k < b->n) {
        if (a->sorted[i] == b->sorted[k]) {
            common++;
            i++;
            k++;
        } else if (a->sorted[i] < b->sorted[k]) {
            i++;
        } else {
            k++;
        }
    }
    return (uint64_t)a->n + b->n - 2 * (uint64_t)common;
}

/* ---- alignment ----------------------------------------------------------- */

typedef struct aligner {
    const text_lines *a, *b;
    int32_t first, na, nb;   /* the part between common ends */
    int32_t *v;              /* furthest x on diagonal k, of the last step */
    int32_t *trace;          /* the same for every step; step d at d * d */
    int32_t *to;             /* line of b for a line of a; -1 = none */
} aligner;

static bool same(const aligner *al, int32_t i, int32_t k)
{
    return al->a->shape[al->first + i] == al->b->shape[al->first + k];
}

static void trim_ends(aligner *al)
{
    int32_t na = (int32_t)al->a->n, nb = (int32_t)al->b->n, n = 0;

    while (n < na && n < nb && al->a->shape[n] == al->b->shape[n]) {
        al->to[n] = n;
        n++;
    }
    al->first = n;
    while (na > n && nb > n && al->a->shape[na - 1] == al->b->shape[nb - 1]) {
        na--;
        nb--;
        al->to[na] = nb;
    }
    al->na = na - n;
    al->nb = nb - n;
}

/* Where step d arrives on diagonal k: from above or from the left, then along
 * equal lines. */
static int32_t arrive(const aligner *al, int32_t d, int32_t k)
{
    const int32_t *v = al->v + DIFF_MAX + 1;
    int32_t x = k == -d || (k != d && v[k - 1] < v[k + 1]) ? v[k + 1]
                                                           : v[k - 1] + 1;

    while (x < al->na && x - k < al->nb && x - k >= 0 && same(al, x, x - k))
        x++;
    return x;
}

/* Steps until both ends are reached; -1 when there are more than DIFF_MAX. */
static int32_t search(aligner *al)
{
    int32_t *v = al->v + DIFF_MAX + 1;

    v[1] = 0;
    for (int32_t d = 0; d <= DIFF_MAX; d++) {
        for (int32_t k = -d; k <= d; k += 2) {
            v[k] = arrive(al, d, k);
            if (v[k] >= al->na && v[k] - k >= al->nb)
                return d;
        }
        /* Diagonals -d .. d; those of the other parity are the step before. */
        memcpy(al->trace + (size_t)d * (size_t)d, v - d,
               (2 * (size_t)d + 1) * sizeof *v);
    }
    return -1;
}

/* Back from the ends, step by step. */
static void walk_back(aligner *al, int32_t d)
{
    int32_t x = al->na, y = al->nb;

    for (; d > 0; d--) {
        const int32_t *v = al->trace + (size_t)(d - 1) * (size_t)(d - 1) +
                           (d - 1);
        int32_t k = x - y, from;

        from = k == -d || (k != d && v[k - 1] < v[k + 1]) ? k + 1 : k - 1;
        while (x > v[from] && y > v[from] - from && x > 0 && y > 0) {
            x--;
            y--;
            al->to[al->first + x] = al->first + y;
        }
        x = v[from];
        y = x - from;
    }
    while (x > 0 && y > 0) {
        x--;
        y--;
        al->to[al->first + x] = al->first + y;
    }
}

/* ---- numbers ------------------------------------------------------------- */

/* What a value of a is called in b, and back, where an aligned line defines
 * both; 0 = not known, else the number + 1. */
typedef struct renaming {
    uint32_t *ab, *ba;
    uint32_t n;
} renaming;

static uint32_t number_of(str s, size_t at, size_t n)
{
    uint64_t v;

    return str_to_u64(&v, (str){s.p + at, n}) && v < UINT32_MAX
               ? (uint32_t)v : UINT32_MAX;
}

/* Left of " = ", or with a type behind it: a parameter. */
static bool defines(str line, size_t end, size_t equals)
{
    return end < equals || (end < line.n && line.p[end] == ':');
}

static size_t find_equals(str line)
{
    for (size_t i = 0; i + 3 <= line.n; i++)
        if (memcmp(line.p + i, " = ", 3) == 0)
            return i;
    return 0;
}

static void define(renaming *r, uint32_t a, uint32_t b)
{
    if (a >= r->n || b >= r->n)
        return;
    r->ab[a] = b + 1;
    r->ba[b] = a + 1;
}

/* A value whose definition is no aligned line was told of there. */
static bool agrees(const renaming *r, uint32_t a, uint32_t b)
{
    if (a >= r->n || b >= r->n)
        return a == b;
    return r->ab[a] == 0 || r->ba[b] == 0 || r->ab[a] == b + 1;
}

/* Two lines of one shape: takes what they define, compares what they read. */
static bool lines_agree(renaming *r, str a, str b)
{
    size_t equals_a = find_equals(a) + 1, i = 0, k = 0;
    bool good = true;

    while (i < a.n && k < b.n) {
        size_t na = number_at(a, i), nb = number_at(b, k);

        if (na == 0 && nb == 0) {
            good &= a.p[i++] == b.p[k++];
            continue;
        }
        if (i > 0 && a.p[i - 1] == '%') {
            uint32_t x = number_of(a, i, na), y = number_of(b, k, nb);

            if (defines(a, i + na, equals_a))
                define(r, x, y);
            else
                good = good && agrees(r, x, y);
        }
        i += na;
        k += nb;
    }
    return good && i == a.n && k == b.n;
}

static hull_status check_numbers(aligner *al)
{
    uint32_t n = 2 * (al->a->n + al->b->n) + 4096;
    renaming r = {mem_calloc(n, sizeof *r.ab), mem_calloc(n, sizeof *r.ba), n};
    hull_status st = HULL_OK;

    if (r.ab == NULL || r.ba == NULL)
        st = fail_oom(n * sizeof *r.ab);
    for (uint32_t i = 0; st == HULL_OK && i < al->a->n; i++)
        if (al->to[i] >= 0 &&
            !lines_agree(&r, al->a->p[i], al->b->p[al->to[i]]))
            al->to[i] = -1;
    mem_free(r.ab);
    mem_free(r.ba);
    return st;
}

/* ---- the whole ----------------------------------------------------------- */

/* Lines of both in order: what a alone has before what b alone has. */
static hull_status take_lines(line_diff *out, const aligner *al)
{
    uint32_t k = 0;
    size_t cap = 0;

    for (uint32_t i = 0; i <= al->a->n; i++) {
        bool end = i == al->a->n;
        uint32_t until = end ? al->b->n
                         : al->to[i] >= 0 ? (uint32_t)al->to[i] : k;

        TRY(mem_grow(&out->lines, &cap, out->n + (until - k) + 1,
                     sizeof *out->lines));
        for (; k < until; k++)
            out->lines[out->n++] = (diff_line){'+', k + 1, al->b->p[k]};
        if (end)
            break;
        if (al->to[i] >= 0)
            k++;
        else
            out->lines[out->n++] = (diff_line){'-', i + 1, al->a->p[i]};
    }
    return HULL_OK;
}

static hull_status align(line_diff *out, aligner *al)
{
    int32_t d;

    for (uint32_t i = 0; i < al->a->n; i++)
        al->to[i] = -1;
    trim_ends(al);
    d = search(al);
    if (d < 0) {
        *out = (line_diff){.n = DIFF_MAX + 1, .far = true};
        return HULL_OK;
    }
    walk_back(al, d);
    TRY(check_numbers(al));
    return take_lines(out, al);
}

hull_status lines_diff(line_diff *out, const text_lines *a,
                       const text_lines *b)
{
    uint64_t bound = lines_bound(a, b);
    size_t steps = DIFF_MAX + 1;
    aligner al = {.a = a, .b = b};
    hull_status st = HULL_OK;

    *out = (line_diff){.n = bound, .far = bound > DIFF_MAX};
    if (out->far)
        return HULL_OK;
    out->n = 0;
    al.v = mem_calloc(2 * steps + 1, sizeof *al.v);
    al.trace = mem_calloc(steps * steps, sizeof *al.trace);
    al.to = mem_calloc(a->n + 1u, sizeof *al.to);
    if (al.v == NULL || al.trace == NULL || al.to == NULL)
        st = fail_oom(steps * steps * sizeof *al.trace);
    else
        st = align(out, &al);
    mem_free(al.v);
    mem_free(al.trace);
    mem_free(al.to);
    if (st != HULL_OK)
        line_diff_fini(out);
    return st;
}

void line_diff_fini(line_diff *d)
{
    mem_free(d->lines);
    *d = (line_diff){0};
}
