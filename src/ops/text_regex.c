/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * text_regex.c - regular expressions, by PCRE2 where the build has it. Models
 * write them in RE2's syntax, of which PCRE2 knows nearly all and much more:
 * what only PCRE2 knows is refused, so that a pattern means one thing. Pattern
 * and strings may be hostile: steps and memory of a match are limited, nothing
 * is compiled to machine code.
 */
#include "ops/text.h"

#include <string.h>

#ifdef HULL_PCRE2

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define PATTERN_MAX 65536
#define STEPS_MAX 1000000
#define HEAP_MAX_KIB 65536

struct regex {
    pcre2_general_context *general;
    pcre2_code *code;
    pcre2_match_context *limits;
    pcre2_match_data *data;
};

/* ---- what RE2 does not know ---------------------------------------------- */

static bool has_char(const char *set, char c)
{
    return c != '\0' && strchr(set, c) != NULL;
}

/* At p, n > 0 bytes behind "(?": flags, a group without a number, a name. */
static bool is_re2_group(const char *p, size_t n)
{
    size_t i = 0;

    if (p[0] == 'P')
        return n > 1 && p[1] == '<';
    if (p[0] == '<')
        return n > 1 && p[1] != '=' && p[1] != '!';
    while (i < n && has_char("imsU-", p[i]))
        i++;
    return i < n && (p[i] == ':' || (i > 0 && p[i] == ')'));
}

static bool is_re2_escape(char c)
{
    bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                (c >= '0' && c <= '9');

    return !word || has_char("afnrtxdDsSwWbBAzQEpP", c);
}

static hull_status refuse(size_t at, const char *text)
{
    return fail(HULL_EUNSUPPORTED, "byte %zu of the pattern: %s is not of the "
                "syntax of RE2 that is read", at, text);
}

static hull_status check_syntax(str s)
{
    bool in_class = false, repeats = false;

    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i], next = i + 1 < s.n ? s.p[i + 1] : '\0';
        bool was = repeats;

        repeats = false;
        if (c == '\\') {
            if (i + 1 < s.n && !is_re2_escape(next))
                return refuse(i, "this escape");
            i++;
            if (next == 'Q') { /* all plain, up to \E */
                while (i < s.n && !(s.p[i] == '\\' && i + 1 < s.n &&
                                    s.p[i + 1] == 'E'))
                    i++;
                i++;
            }
        } else if (in_class) {
            if (c == '[' && next == ':') { /* [:alpha:] */
                const char *end = memmem(s.p + i, s.n - i, ":]", 2);

                i = end != NULL ? (size_t)(end - s.p) + 1 : i;
            } else if (c == ']') {
                in_class = false;
            }
        } else if (c == '[') {
            in_class = true;
            i += next == '^';
            if (i + 1 < s.n && s.p[i + 1] == ']') /* a first ] is plain */
                i++;
        } else if (c == '(' && next == '*') {
            return refuse(i, "'(*'");
        } else if (c == '(' && next == '?') {
            if (i + 2 >= s.n || !is_re2_group(s.p + i + 2, s.n - i - 2))
                return refuse(i, "this kind of group");
        } else if (has_char("*+?}", c)) {
            if (was && (c == '+' || c == '*'))
                return refuse(i, "a repeated repetition");
            repeats = !was || c != '?';
        }
    }
    return HULL_OK;
}

/* ---- PCRE2 --------------------------------------------------------------- */

static void *give(PCRE2_SIZE size, void *user)
{
    (void)user;
    return mem_alloc(size);
}

static void take(void *p, void *user)
{
    (void)user;
    mem_free(p);
}

void regex_free(regex *r)
{
    if (r == NULL)
        return;
    pcre2_match_data_free(r->data);
    pcre2_match_context_free(r->limits);
    pcre2_code_free(r->code);
    pcre2_general_context_free(r->general);
    mem_free(r);
}

static hull_status compile(regex *r, str pattern)
{
    pcre2_compile_context *cx = pcre2_compile_context_create(r->general);
    PCRE2_SIZE at = 0;
    int code = 0;
    PCRE2_UCHAR text[160] = "";

    if (cx == NULL)
        return fail_oom(sizeof *r);
    pcre2_set_newline(cx, PCRE2_NEWLINE_LF);
    pcre2_set_max_pattern_length(cx, PATTERN_MAX);
    r->code = pcre2_compile((PCRE2_SPTR)pattern.p, pattern.n,
                            PCRE2_UTF | PCRE2_ANCHORED | PCRE2_ENDANCHORED |
                                PCRE2_DOLLAR_ENDONLY |
                                PCRE2_NEVER_BACKSLASH_C,
                            &code, &at, cx);
    pcre2_compile_context_free(cx);
    if (r->code != NULL)
        return HULL_OK;
    if (code == PCRE2_ERROR_HEAP_FAILED)
        return fail_oom(pattern.n);
    pcre2_get_error_message(code, text, sizeof text);
    return fail(HULL_EINVAL, "byte %zu of the pattern: %s", (size_t)at,
                (const char *)text);
}

hull_status regex_new(regex **out, str pattern)
{
    hull_status st = HULL_OK;
    regex *r = mem_calloc(1, sizeof *r);

    *out = NULL;
    if (r == NULL)
        return fail_oom(sizeof *r);
    TRY_OUT(check_syntax(pattern));
    r->general = pcre2_general_context_create(give, take, NULL);
    if (r->general == NULL)
        TRY_OUT(fail_oom(sizeof *r));
    TRY_OUT(compile(r, pattern));
    r->limits = pcre2_match_context_create(r->general);
    r->data = pcre2_match_data_create_from_pattern(r->code, r->general);
    if (r->limits == NULL || r->data == NULL)
        TRY_OUT(fail_oom(sizeof *r));
    pcre2_set_match_limit(r->limits, STEPS_MAX);
    pcre2_set_depth_limit(r->limits, STEPS_MAX);
    pcre2_set_heap_limit(r->limits, HEAP_MAX_KIB);
    *out = r;
    r = NULL;
out:
    regex_free(r);
    return st;
}

hull_status regex_match(bool *out, const regex *r, hull_string s)
{
    const char *p = s.n > 0 ? s.p : "";
    int code;

    *out = false;
    if (!str_valid_utf8((str){p, s.n}))
        return HULL_OK;
    code = pcre2_match(r->code, (PCRE2_SPTR)p, s.n, 0, PCRE2_NO_UTF_CHECK,
                       r->data, r->limits);
    *out = code >= 0;
    if (code >= 0 || code == PCRE2_ERROR_NOMATCH)
        return HULL_OK;
    if (code == PCRE2_ERROR_NOMEMORY)
        return fail_oom(s.n);
    if (code == PCRE2_ERROR_MATCHLIMIT || code == PCRE2_ERROR_DEPTHLIMIT ||
        code == PCRE2_ERROR_HEAPLIMIT)
        return fail(HULL_EUNSUPPORTED, "%zu bytes take more than %d steps or "
                    "%d MiB to match", s.n, STEPS_MAX, HEAP_MAX_KIB / 1024);
    return fail(HULL_EINTERNAL, "pcre2_match gives %d", code);
}

#else

hull_status regex_new(regex **out, str pattern)
{
    (void)pattern;
    *out = NULL;
    return fail(HULL_EUNSUPPORTED, "this build of Hull has no regular "
                "expressions: it was made without PCRE2 (libpcre2-8)");
}

void regex_free(regex *r)
{
    (void)r;
}

hull_status regex_match(bool *out, const regex *r, hull_string s)
{
    (void)r;
    (void)s;
    *out = false;
    return fail(HULL_EUNSUPPORTED, "no regular expressions");
}

#endif
