/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * rules.c - reads a file of mapping rules, and matches names with patterns.
 *
 *   rule    := left '=' ( name | op-text | '{' ir-text '}' ), to the line's end
 *   left    := name | '_'
 *   name    := word | '"' text '"'
 *
 * The text of a recipe is kept as it stands, so that the IR's parser can name
 * line and column; only the strings, which are names of the checkpoint, become
 * values of the same length. `//` starts a comment. A malformed line is noted,
 * and reading goes on with the next one.
 */
#include "compile/rules.h"

#include <string.h>

#define FILE_MAX ((size_t)16 << 20)
#define RULES_MAX 100000
#define SHOWN_MAX 12

typedef struct reader {
    rules *rs;
    char *text;              /* operands are rewritten in place */
    const char *p, *end;     /* the rest of it */
    const char *line_start;
    uint32_t line;
    bool in_block;
    buf errors;
    uint32_t n_errors;
} reader;

/* ---- errors -------------------------------------------------------------- */

static uint32_t column_of(const reader *r, const char *p)
{
    return (uint32_t)(p - r->line_start) + 1;
}

/* Notes one; the caller gives up the line. */
static bool wrong(reader *r, const char *at, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
static bool wrong(reader *r, const char *at, const char *fmt, ...)
{
    va_list ap;

    if (r->n_errors++ >= SHOWN_MAX)
        return false;
    va_start(ap, fmt);
    buf_printf(&r->errors, "%sline %u column %u: ", r->errors.n ? "; " : "",
               r->line, column_of(r, at));
    buf_vprintf(&r->errors, fmt, ap);
    va_end(ap);
    return false;
}

/* ---- text ---------------------------------------------------------------- */

static bool is_comment(const reader *r)
{
    return r->end - r->p >= 2 && r->p[0] == '/' && r->p[1] == '/';
}

static void skip_line(reader *r)
{
    while (r->p < r->end && *r->p != '\n')
        r->p++;
}

static void skip_blanks(reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\r'))
        r->p++;
    if (is_comment(r))
        skip_line(r);
}

static bool at_line_end(const reader *r)
{
    return r->p >= r->end || *r->p == '\n';
}

static void next_line(reader *r)
{
    skip_line(r);
    if (r->p < r->end)
        r->p++;
    r->line++;
    r->line_start = r->p;
}

static bool is_word_char(char c)
{
    return (unsigned char)c > ' ' && strchr("=\"{},", c) == NULL;
}

static bool read_quoted(reader *r, str *out)
{
    const char *start = r->p++;

    while (!at_line_end(r) && *r->p != '"' && *r->p != '\\')
        r->p++;
    if (at_line_end(r))
        return wrong(r, start, "a name is not closed on its line");
    if (*r->p == '\\')
        return wrong(r, r->p, "a name has a backslash");
    *out = (str){start + 1, (size_t)(r->p - start) - 1};
    r->p++;
    return true;
}

/* A word or a quoted name; blanks behind it are skipped. */
static bool read_name(reader *r, str *out, const char *wanted)
{
    const char *start = r->p;

    *out = (str){start, 0};
    if (!at_line_end(r) && *r->p == '"') {
        if (!read_quoted(r, out))
            return false;
    } else {
        while (!at_line_end(r) && is_word_char(*r->p))
            r->p++;
        out->n = (size_t)(r->p - start);
    }
    if (out->n == 0)
        return wrong(r, start, "%s is wanted", wanted);
    skip_blanks(r);
    return true;
}

static bool want_line_end(reader *r, const char *after)
{
    skip_blanks(r);
    return at_line_end(r) ||
           wrong(r, r->p, "'%c' stands behind %s", *r->p, after);
}

/* ---- patterns ------------------------------------------------------------ */

/* The next segment of a path; false past the last one. */
typedef struct segments {
    const char *p, *end;
    bool done;
} segments;

static segments segments_of(str s)
{
    return (segments){s.p, s.p + s.n, false};
}

static bool next_segment(segments *x, str *out)
{
    const char *dot;

    if (x->done)
        return false;
    dot = x->p < x->end ? memchr(x->p, '.', (size_t)(x->end - x->p)) : NULL;
    *out = (str){x->p, (size_t)((dot != NULL ? dot : x->end) - x->p)};
    x->done = dot == NULL;
    x->p = dot != NULL ? dot + 1 : x->end;
    return true;
}

static uint32_t count_segments(segments x)
{
    uint32_t n = 0;
    str s;

    while (next_segment(&x, &s))
        n++;
    return n;
}

static bool is_star(str s)
{
    return str_is(s, "*") || str_is(s, "**");
}

/* All segments but the last `keep`, as one text. */
static bool take_path(segments *x, uint32_t keep, str *out)
{
    uint32_t n = count_segments(*x);
    const char *start = x->p;
    str s = {0};

    if (n < keep + 1)
        return false;
    for (n -= keep; n > 0; n--)
        next_segment(x, &s);
    *out = (str){start, (size_t)(s.p + s.n - start)};
    return true;
}

bool rule_match(str pattern, str name, str stars[RULE_STARS_MAX])
{
    segments p = segments_of(pattern), x = segments_of(name);
    uint32_t n = 0;
    str want, have;

    while (next_segment(&p, &want)) {
        if (str_is(want, "**")) {
            uint32_t rest = p.done ? 0 : count_segments(p);

            if (x.done || !take_path(&x, rest, &stars[n++]))
                return false;
            continue;
        }
        if (!next_segment(&x, &have))
            return false;
        if (str_is(want, "*") && have.n > 0)
            stars[n++] = have;
        else if (!str_eq(want, have))
            return false;
    }
    return x.done;
}

void rule_fill(buf *out, str pattern, const str stars[RULE_STARS_MAX])
{
    segments p = segments_of(pattern);
    uint32_t n = 0;
    bool first = true;
    str s;

    for (; next_segment(&p, &s); first = false) {
        if (!first)
            buf_putc(out, '.');
        buf_str(out, is_star(s) ? stars[n++] : s);
    }
}

/* The stars of a pattern in order: '1' for '*', '2' for '**'. */
static bool star_kinds(reader *r, str pattern, char kinds[RULE_STARS_MAX + 1])
{
    segments p = segments_of(pattern);
    uint32_t n = 0, paths = 0;
    str s;

    kinds[0] = '\0';
    while (next_segment(&p, &s)) {
        if (s.n == 0)
            return wrong(r, s.p, "'%.*s' has an empty segment",
                         STR_ARG(pattern));
        if (memchr(s.p, '*', s.n) == NULL)
            continue;
        if (!is_star(s))
            return wrong(r, s.p, "'%.*s': a star is a whole segment",
                         STR_ARG(s));
        if (n == RULE_STARS_MAX)
            return wrong(r, s.p, "a name has more than %d stars",
                         RULE_STARS_MAX);
        paths += s.n == 2;
        if (paths > 1)
            return wrong(r, s.p, "a name has two '**'");
        kinds[n++] = s.n == 2 ? '2' : '1';
        kinds[n] = '\0';
    }
    return true;
}

/* Each name has the left side's stars or none, one has them all. */
static bool check_stars(reader *r, rule *u)
{
    char left[RULE_STARS_MAX + 1], right[RULE_STARS_MAX + 1];
    bool drop = str_is(u->left, "_");
    bool have_lead = false;

    if (!star_kinds(r, u->left, left))
        return false;
    for (uint32_t i = 0; i < u->n_names; i++) {
        if (!star_kinds(r, u->names[i], right))
            return false;
        if (drop)
            continue;
        if (right[0] != '\0' && strcmp(left, right) != 0)
            return wrong(r, u->left.p,
                         "the stars of '%.*s' are not those of '%.*s'",
                         STR_ARG(u->names[i]), STR_ARG(u->left));
        if (strcmp(left, right) == 0 && !have_lead) {
            have_lead = true;
            u->lead = i;
        }
    }
    return drop || have_lead ||
           wrong(r, u->left.p, "'%.*s' has stars, no name behind '=' has them",
                 STR_ARG(u->left));
}

/* ---- recipes ------------------------------------------------------------- */

static bool add_name(reader *r, rule *u, str name, const char *at,
                     uint32_t *out)
{
    for (*out = 0; *out < u->n_names; (*out)++)
        if (str_eq(u->names[*out], name))
            return true;
    if (u->n_names == RULE_NAMES_MAX)
        return wrong(r, at, "a recipe reads more than %d tensors",
                     RULE_NAMES_MAX);
    u->names[u->n_names++] = name;
    return true;
}

/* One letter or digit per name: "%_a" is as long as the shortest string. */
static char letter(uint32_t i)
{
    return "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ01234567"[i];
}

/* A string of the recipe: an operand becomes a value, padded with blanks. */
static bool read_operand(reader *r, rule *u, uint32_t depth)
{
    const char *start = r->p;
    char *to = r->text + (start - r->text);
    uint32_t i;
    str name;

    if (!read_quoted(r, &name))
        return false;
    if (depth > 0)
        return true; /* of an attribute */
    if (name.n == 0)
        return wrong(r, start, "a name is empty");
    name.p = arena_strndup(&r->rs->a, name.p, name.n);
    if (name.p == NULL)
        return wrong(r, start, "out of memory");
    if (!add_name(r, u, name, start, &i))
        return false;
    memset(to, ' ', name.n + 2);
    memcpy(to, "%_", 2);
    to[2] = letter(i);
    return true;
}

/* IR text up to the end of the line, or to the '}' of a block. */
static bool read_body(reader *r, rule *u)
{
    const char *start = r->p, *open = r->p - 1;
    uint32_t depth = 0;

    u->body_line = r->line;
    u->body_column = column_of(r, start);
    r->in_block = u->block;
    for (;;) {
        if (r->p >= r->end || (!u->block && *r->p == '\n'))
            break;
        if (*r->p == '"') {
            if (!read_operand(r, u, depth))
                return false;
            continue;
        }
        if (is_comment(r)) {
            skip_line(r);
            continue;
        }
        if (*r->p == '\n') {
            next_line(r);
            continue;
        }
        if (*r->p == '}' && u->block && depth == 0)
            break;
        depth += *r->p == '{';
        depth -= *r->p == '}' && depth > 0;
        r->p++;
    }
    u->body = (str){start, (size_t)(r->p - start)};
    if (!u->block)
        return true;
    r->in_block = false;
    if (r->p >= r->end)
        return wrong(r, open < r->line_start ? r->line_start : open,
                     "the '{' of line %u is not closed", u->body_line);
    r->p++;
    return want_line_end(r, "the recipe");
}

static bool read_recipe(reader *r, rule *u)
{
    const char *start = r->p;
    str name;

    u->block = *r->p == '{';
    if (u->block) {
        r->p++;
    } else {
        if (!read_name(r, &name, "a name or a recipe"))
            return false;
        if (at_line_end(r)) {
            u->rename = true;
            u->names[u->n_names++] = name;
            return true;
        }
        if (*start == '"')
            return wrong(r, r->p, "'%c' stands behind the name", *r->p);
        r->p = start;
    }
    if (!read_body(r, u))
        return false;
    return u->n_names > 0 ||
           wrong(r, u->left.p, "the recipe of '%.*s' reads no tensor: names "
                 "are strings", STR_ARG(u->left));
}

static bool read_rule(reader *r)
{
    uint32_t line = r->line;
    rule u = {.line = line, .column = column_of(r, r->p)};

    u.names = arena_array(&r->rs->a, RULE_NAMES_MAX, sizeof *u.names);
    if (u.names == NULL)
        return wrong(r, r->p, "out of memory");
    if (!read_name(r, &u.left, "a name"))
        return false;
    if (at_line_end(r) || *r->p != '=')
        return wrong(r, r->p, "'=' is wanted");
    r->p++;
    skip_blanks(r);
    if (at_line_end(r))
        return wrong(r, r->p, "a name or a recipe is wanted");
    if (!read_recipe(r, &u))
        return false;
    if (str_is(u.left, "_") && !u.rename)
        return wrong(r, u.left.p, "'_' takes one name");
    if (r->line == line && !check_stars(r, &u))
        return false;
    if (r->line != line) { /* errors of the left side name its own line */
        reader at = *r;

        at.line = line;
        at.line_start = u.left.p - (u.column - 1);
        if (!check_stars(&at, &u)) {
            r->errors = at.errors;
            r->n_errors = at.n_errors;
            return false;
        }
    }
    if (r->rs->n == RULES_MAX ||
        mem_grow(&r->rs->r, &r->rs->cap, r->rs->n + 1u, sizeof u) != HULL_OK)
        return wrong(r, u.left.p, "more rules than fit, at most %d",
                     RULES_MAX);
    r->rs->r[r->rs->n++] = u;
    return true;
}

/* After an error inside a block: its end, so that its lines are no rules. */
static void leave_block(reader *r)
{
    for (; r->in_block && r->p < r->end; next_line(r)) {
        skip_blanks(r);
        r->in_block = at_line_end(r) || *r->p != '}';
        if (!r->in_block)
            return;
    }
    r->in_block = false;
}

static hull_status read_all(rules *rs, char *text, size_t n)
{
    reader r = {.rs = rs, .text = text, .p = text, .end = text + n,
                .line_start = text, .line = 1};
    hull_status st = HULL_OK;

    buf_init(&r.errors, ERROR_TEXT_MAX);
    for (; r.p < r.end; next_line(&r)) {
        skip_blanks(&r);
        if (!at_line_end(&r) && !read_rule(&r))
            leave_block(&r);
    }
    if (r.n_errors > SHOWN_MAX)
        buf_printf(&r.errors, "; and %u more", r.n_errors - SHOWN_MAX);
    if (r.n_errors > 0)
        st = fail(HULL_EFORMAT, "%s", r.errors.n ? r.errors.p : "many errors");
    else if (rs->n == 0)
        st = fail(HULL_EFORMAT, "the file has no rule");
    buf_fini(&r.errors);
    return st;
}

hull_status rules_read(rules **out, const char *path)
{
    hull_status st = HULL_OK;
    rules *rs = NULL;
    char *text = NULL, *own;
    size_t n;

    *out = NULL;
    TRY_OUT(file_read_all(&text, &n, path, FILE_MAX));
    rs = mem_calloc(1, sizeof *rs);
    if (rs == NULL)
        TRY_OUT(fail_oom(sizeof *rs));
    if (memchr(text, 0, n) != NULL || !str_valid_utf8((str){text, n}))
        TRY_OUT(fail(HULL_EFORMAT, "the file is no text"));
    own = arena_strndup(&rs->a, text, n);
    if (own == NULL)
        TRY_OUT(fail_oom(n));
    rs->digest = digest_of(own, n);
    TRY_OUT(read_all(rs, own, n));
    *out = rs;
    rs = NULL;
out:
    rules_free(rs);
    mem_free(text);
    return note(st, "mapping %s", path);
}

void rules_free(rules *rs)
{
    if (rs == NULL)
        return;
    mem_free(rs->r);
    arena_fini(&rs->a);
    mem_free(rs);
}
