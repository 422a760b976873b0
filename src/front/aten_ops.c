/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * aten_ops.c - the table of ATen operators (aten.def) and the binding of a
 * call's arguments by name. Schemas are read from their text:
 *
 *   schema  := [ argument { ", " argument } ]
 *   argument:= "*" | type " " name [ "=" default ]
 *   default := None | True | False | int | float | "text" | [ints] | word
 *
 * The type of the first argument tells whether results may be views of it:
 * "Tensor(a)".
 */
#include "front/aten.h"

#include <stdlib.h>
#include <string.h>

static const aten_row table[] = {
#define ATEN(name, schema, lower, param) {name, schema, lower, param},
#include "front/aten.def"
#undef ATEN
};

const aten_row *aten_find(str name)
{
    /* Rows are in strcmp order (a unit test checks it). */
    size_t lo = 0, hi = COUNT_OF(table);

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = str_cmp(name, str_of(table[mid].name));

        if (c == 0)
            return &table[mid];
        if (c < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return NULL;
}

static bool default_list(aten_call *c, str text, aten_value *out)
{
    str rest = {text.p + 1, text.n - 2};
    dim d[8];
    uint32_t n = 0;

    while (rest.n) {
        int64_t v = 0;

        if (n == COUNT_OF(d) ||
            !str_to_i64(&v, str_trim(str_split(rest, ',', &rest))))
            return false;
        d[n++] = dim_int(c->m, v);
    }
    dim *copy = arena_memdup(&c->f->a, d, (n ? n : 1) * sizeof *d);
    *out = (aten_value){.kind = ATEN_INTS, .n = n, .dims = copy};
    return copy != NULL;
}

static bool parse_default(aten_call *c, str text, aten_value *out)
{
    int64_t i = 0;
    double f = 0;

    *out = (aten_value){0};
    if (text.n >= 2 && text.p[0] == '[')
        return default_list(c, text, out);
    if (text.n >= 2 && text.p[0] == '"')
        *out = (aten_value){.kind = ATEN_STR, .s = {text.p + 1, text.n - 2}};
    else if (str_is(text, "True") || str_is(text, "False"))
        *out = (aten_value){.kind = ATEN_BOOL, .b = str_is(text, "True")};
    else if (str_to_i64(&i, text))
        *out = (aten_value){.kind = ATEN_INT, .i = dim_int(c->m, i)};
    else if (str_to_f64(&f, text))
        *out = (aten_value){.kind = ATEN_FLOAT, .f = f};
    else
        return str_is(text, "None");
    return true;
}

/* Next argument's text; a ", " inside brackets does not end it. */
static str next_argument(str *rest)
{
    int depth = 0;

    for (size_t i = 0; i < rest->n; i++) {
        char ch = rest->p[i];

        depth += ch == '[' || ch == '(' ? 1 : ch == ']' || ch == ')' ? -1 : 0;
        if (ch == ',' && depth == 0) {
            str head = {rest->p, i};
            *rest = (str){rest->p + i + 2, rest->n - i - 2};
            return head;
        }
    }
    str head = *rest;
    rest->n = 0;
    return head;
}

/* The name of an argument stands behind its type, which may have blanks. */
static str last_word(str s)
{
    size_t at = s.n;

    while (at > 0 && s.p[at - 1] != ' ')
        at--;
    return (str){s.p + at, s.n - at};
}

hull_status aten_begin(aten_call *c, front *f, const aten_row *row, str label)
{
    str rest = str_of(row->schema);

    *c = (aten_call){.f = f, .g = f->g, .m = f->m, .row = row, .label = label};
    while (rest.n) {
        str arg = next_argument(&rest), text, name;
        uint32_t i = c->n_args;
        bool has_default = memchr(arg.p, '=', arg.n) != NULL;

        if (str_is(arg, "*"))
            continue;
        if (i == ATEN_ARGS_MAX)
            return fail(HULL_EINTERNAL, "schema of %s is too long", row->name);
        c->aliases |= i == 0 && (str_starts(arg, "Tensor(a)") ||
                                 str_starts(arg, "Tensor(a -> *)"));
        name = last_word(str_split(arg, '=', &text));
        c->arg_names[i] = name;
        if (has_default) {
            c->given[i] = true;
            if (!parse_default(c, text, &c->args[i]))
                return fail(HULL_EINTERNAL, "default of %.*s in %s is unread",
                            STR_ARG(name), row->name);
        }
        c->n_args++;
    }
    return ir_status(c->m);
}

bool aten_is_first(const aten_call *c, str name)
{
    return c->n_args > 0 && (str_eq(name, c->arg_names[0]) ||
                             (str_is(name, "self") &&
                              str_is(c->arg_names[0], "input")));
}

hull_status aten_bind(aten_call *c, str name, const aten_value *v)
{
    static const char *const ignored[] = {
        "layout", "device", "pin_memory", "memory_format", "non_blocking",
        "copy", "implicit", "sparse_grad", "cudnn_enabled", "cudnn_enable",
        "generator"};

    for (uint32_t i = 0; i < c->n_args; i++)
        if (str_eq(c->arg_names[i], name) ||
            (i == 0 && aten_is_first(c, name))) {
            c->args[i] = *v;
            c->given[i] = true;
            return HULL_OK;
        }
    for (size_t i = 0; i < COUNT_OF(ignored); i++)
        if (str_is(name, ignored[i]))
            return HULL_OK;
    if (v->kind == ATEN_NONE)
        return HULL_OK;
    return fail(HULL_EUNSUPPORTED, "aten.%s has no argument '%.*s'",
                c->row->name, STR_ARG(name));
}

hull_status aten_run(aten_call *c)
{
    for (uint32_t i = 0; i < c->n_args; i++)
        if (!c->given[i])
            return fail(HULL_EFORMAT, "aten.%s lacks argument '%.*s'",
                        c->row->name, STR_ARG(c->arg_names[i]));
    c->row->lower(c);
    TRY(ir_status(c->m));
    return c->st;
}
