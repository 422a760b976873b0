/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * lex.c - the tokens of the language:
 *   ident   [A-Za-z_][A-Za-z0-9_.]*      (a ".." ends it)
 *   int     [0-9]+        hex  0x[0-9a-fA-F]+        digest  #[0-9a-f]+
 *   float   [0-9]+ ('.' [0-9]+)? ([eE] [+-]? [0-9]+)?
 *   string  "..." with \" \\ \n \r \t \xHH; no raw line end
 *   "->"  ".."  and single characters; "//" to the end of the line is a comment
 * A string without escapes is a view into the text.
 */
#include "ir/lex.h"

#include <stdarg.h>
#include <string.h>

void lex_init(lexer *x, str text, ir *m)
{
    *x = (lexer){ .text = text, .line = 1, .m = m };
}

static char peek(const lexer *x, size_t ahead)
{
    return x->text.n - x->at > ahead ? x->text.p[x->at + ahead] : '\0';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int hex_value(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

hull_status lex_fail(const lexer *x, const char *fmt, ...)
{
    char text[600];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return fail(HULL_EFORMAT, "line %u column %u: %s", x->tok.line,
                x->tok.column, text);
}

hull_status lex_wanted(const lexer *x, const char *wanted)
{
    const token *t = &x->tok;
    int n = t->text.n > 40 ? 40 : (int)t->text.n;

    if (t->kind == TOK_END)
        return lex_fail(x, "the text ends, %s is wanted", wanted);
    if (t->kind == TOK_STRING)
        return lex_fail(x, "found a string, %s is wanted", wanted);
    return lex_fail(x, "found '%.*s', %s is wanted", n, t->text.p, wanted);
}

static void skip_space(lexer *x)
{
    for (;; x->at++) {
        char c = peek(x, 0);

        if (x->at >= x->text.n)
            return;
        if (c == '/' && peek(x, 1) == '/') {
            while (x->at < x->text.n && peek(x, 0) != '\n')
                x->at++;
            c = peek(x, 0);
            if (x->at >= x->text.n)
                return;
        }
        if (c == '\n') {
            x->line++;
            x->line_start = x->at + 1;
        } else if (c != ' ' && c != '\t' && c != '\r') {
            return;
        }
    }
}

static void lex_number(lexer *x)
{
    x->tok.kind = TOK_INT;
    if (peek(x, 0) == '0' && peek(x, 1) == 'x') {
        x->tok.kind = TOK_HEX;
        x->at += 2;
        while (hex_value(peek(x, 0)) >= 0)
            x->at++;
        return;
    }
    while (is_digit(peek(x, 0)))
        x->at++;
    if (peek(x, 0) == '.' && is_digit(peek(x, 1))) {
        x->tok.kind = TOK_FLOAT;
        x->at++;
        while (is_digit(peek(x, 0)))
            x->at++;
    }
    if (peek(x, 0) == 'e' || peek(x, 0) == 'E') {
        size_t sign = peek(x, 1) == '+' || peek(x, 1) == '-';

        if (!is_digit(peek(x, 1 + sign)))
            return;
        x->tok.kind = TOK_FLOAT;
        x->at += 1 + sign;
        while (is_digit(peek(x, 0)))
            x->at++;
    }
}

/* One character of a string at x->at, which is a backslash. */
static bool unescape(lexer *x, char *out)
{
    int hi, lo;

    switch (peek(x, 1)) {
    case 'n':
        *out = '\n';
        break;
    case 'r':
        *out = '\r';
        break;
    case 't':
        *out = '\t';
        break;
    case '"':
    case '\\':
        *out = peek(x, 1);
        break;
    case 'x':
        hi = hex_value(peek(x, 2));
        lo = hi < 0 ? -1 : hex_value(peek(x, 3));
        if (lo < 0)
            return false;
        *out = (char)(hi * 16 + lo);
        x->at += 2;
        break;
    default:
        return false;
    }
    x->at += 2;
    return true;
}

static hull_status lex_quoted(lexer *x)
{
    size_t start = ++x->at, n = 0;
    bool plain = true;
    char *p;

    while (x->at < x->text.n && peek(x, 0) != '"' && peek(x, 0) != '\n') {
        plain = plain && peek(x, 0) != '\\';
        x->at += peek(x, 0) == '\\' && x->at + 1 < x->text.n ? 2 : 1;
    }
    if (x->at >= x->text.n || peek(x, 0) != '"')
        return lex_fail(x, "a string is not closed on its line");
    x->tok.kind = TOK_STRING;
    x->tok.text = (str){ x->text.p + start, x->at - start };
    x->at++;
    if (plain)
        return HULL_OK;
    p = arena_alloc(&x->m->a, x->tok.text.n);
    if (p == NULL)
        return ir_oom(x->m, x->tok.text.n);
    for (x->at = start; peek(x, 0) != '"'; n++) {
        if (peek(x, 0) != '\\')
            p[n] = x->text.p[x->at++];
        else if (!unescape(x, &p[n]))
            return lex_fail(x, "a string has an unknown escape");
    }
    x->at++;
    x->tok.text = (str){ p, n };
    return HULL_OK;
}

hull_status lex_next(lexer *x)
{
    token *t = &x->tok;
    char c;

    skip_space(x);
    *t = (token){ .off = x->at, .line = x->line };
    t->column = (uint32_t)(x->at - x->line_start) + 1;
    t->text = (str){ x->text.p + x->at, 0 };
    if (x->at >= x->text.n)
        return HULL_OK;
    c = peek(x, 0);
    if (c == '"')
        return lex_quoted(x);
    if (is_letter(c)) {
        t->kind = TOK_IDENT;
        while (is_letter(peek(x, 0)) || is_digit(peek(x, 0)) ||
               (peek(x, 0) == '.' && peek(x, 1) != '.'))
            x->at++;
    } else if (is_digit(c)) {
        lex_number(x);
    } else if (c == '#') {
        t->kind = TOK_DIGEST;
        for (x->at++; hex_value(peek(x, 0)) >= 0;)
            x->at++;
    } else if (c == '-' && peek(x, 1) == '>') {
        t->kind = TOK_ARROW;
        x->at += 2;
    } else if (c == '.' && peek(x, 1) == '.') {
        t->kind = TOK_DOTS;
        x->at += 2;
    } else {
        t->kind = TOK_PUNCT;
        t->c = c;
        x->at++;
    }
    t->text.n = x->at - t->off;
    if (t->kind == TOK_DIGEST)
        t->text = (str){ t->text.p + 1, t->text.n - 1 };
    return HULL_OK;
}

bool lex_is(const lexer *x, char c)
{
    return x->tok.kind == TOK_PUNCT && x->tok.c == c;
}

bool lex_is_word(const lexer *x, const char *word)
{
    return x->tok.kind == TOK_IDENT && str_is(x->tok.text, word);
}

hull_status lex_skip(lexer *x, char c)
{
    char wanted[4] = { '\'', c, '\'', '\0' };

    if (!lex_is(x, c))
        return lex_wanted(x, wanted);
    return lex_next(x);
}

hull_status lex_try(lexer *x, char c, bool *out)
{
    *out = lex_is(x, c);
    return *out ? lex_next(x) : HULL_OK;
}

hull_status lex_word(lexer *x, const char *word)
{
    char wanted[40];

    if (lex_is_word(x, word))
        return lex_next(x);
    snprintf(wanted, sizeof(wanted), "'%s'", word);
    return lex_wanted(x, wanted);
}

hull_status lex_ident(lexer *x, str *out)
{
    *out = x->tok.text;
    if (x->tok.kind != TOK_IDENT)
        return lex_wanted(x, "a name");
    return lex_next(x);
}

hull_status lex_string(lexer *x, str *out)
{
    *out = x->tok.text;
    if (x->tok.kind != TOK_STRING)
        return lex_wanted(x, "a string");
    return lex_next(x);
}

hull_status lex_i64(lexer *x, int64_t *out)
{
    bool negative;
    uint64_t u, limit = INT64_MAX;

    *out = 0;
    TRY(lex_try(x, '-', &negative));
    if (x->tok.kind != TOK_INT)
        return lex_wanted(x, "an integer");
    if (!str_to_u64(&u, x->tok.text) || u > limit + negative)
        return lex_fail(x, "integer is beyond 64 bits");
    *out = negative ? (int64_t)(0 - u) : (int64_t)u;
    return lex_next(x);
}
