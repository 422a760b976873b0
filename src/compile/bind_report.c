/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * bind_report.c - everything that keeps a checkpoint from fitting, in one
 * error: by kind, with the first names of each kind and the count of all.
 */
#include "compile/bind_private.h"

#include <string.h>

#define SHOWN 12 /* names of one kind that are spelled out */

static const char *const kind_texts[PROBLEM_KINDS] = {
    [PROBLEM_MISSING] = "missing",
    [PROBLEM_SHAPE] = "wrong shape",
    [PROBLEM_DTYPE] = "wrong dtype",
    [PROBLEM_AMBIGUOUS] = "ambiguous",
    [PROBLEM_TIED] = "tied in the model but different",
    [PROBLEM_LITERAL] = "other than what is compiled in (compile again)",
    [PROBLEM_UNEXPECTED] = "unexpected",
};

void problems_init(problems *ps)
{
    memset(ps, 0, sizeof *ps);
    for (int i = 0; i < PROBLEM_KINDS; i++)
        buf_init(&ps->text[i], 16 * 1024);
}

void problems_fini(problems *ps)
{
    for (int i = 0; i < PROBLEM_KINDS; i++)
        buf_fini(&ps->text[i]);
}

void problem_add(problems *ps, problem_kind kind, const char *fmt, ...)
{
    va_list ap;

    if (ps->n[kind]++ >= SHOWN)
        return;
    va_start(ap, fmt);
    if (ps->n[kind] > 1)
        buf_puts(&ps->text[kind], ", ");
    buf_vprintf(&ps->text[kind], fmt, ap);
    va_end(ap);
}

bool problem_has(const problems *ps, problem_kind kind, const char *name)
{
    const char *p = ps->text[kind].p;
    size_t n = strlen(name);

    while (p != NULL && (p = strstr(p, name)) != NULL) {
        if (p > ps->text[kind].p && p[-1] == '\'' && p[n] == '\'')
            return true;
        p++;
    }
    return false;
}

hull_status problems_status(const problems *ps, const char *label)
{
    hull_status st = HULL_OK;
    buf all;

    buf_init(&all, ERROR_TEXT_MAX);
    for (int i = 0; i < PROBLEM_KINDS; i++) {
        if (ps->n[i] == 0)
            continue;
        buf_printf(&all, "%s%u %s: %s", all.n > 0 ? "; " : "", ps->n[i],
                   kind_texts[i],
                   ps->text[i].p != NULL ? ps->text[i].p : "");
        if (ps->n[i] > SHOWN)
            buf_printf(&all, ", and %u more", ps->n[i] - SHOWN);
    }
    if (all.n > 0 || all.failed)
        st = fail(HULL_EBIND, "%s does not fit the module: %s", label,
                  all.p != NULL ? all.p : "too many problems to list");
    buf_fini(&all);
    return st;
}
