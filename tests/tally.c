/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * tally.c - tally.h.
 */
#include "tally.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backend/cpu/cpu.h"

/* ---- counting ------------------------------------------------------------ */

typedef struct counter {
    tally *t;
    bool block; /* one of the interpreter's */
    uint32_t ref;
} counter;

static hull_status count_node(void *user, const node_report *r)
{
    counter *c = user;
    op_code op = r->n->op;
    size_t n;

    if (op_get(op)->traits & (OP_LEAF | OP_VIEW | OP_CONTROL))
        return HULL_OK;
    if (!c->block && r->why_not == NULL)
        return HULL_OK;
    n = strlen(c->t->why);
    snprintf(c->t->why + n, sizeof c->t->why - n, "%s%s '%.*s': %s",
             n > 0 ? "; " : "", op_get(op)->name, STR_ARG(r->n->label),
             c->block ? "in a block that a run sizes" : r->why_not);
    (c->block ? c->t->sized : c->t->bare)[op]++;
    c->ref++;
    return HULL_OK;
}

static hull_status count_graph(counter *c, device *d, const graph *g)
{
    options *o = NULL;
    hull_status st = HULL_OK;

    c->block = d->be->report == NULL;
    if (c->block) {
        for (const node *n = graph_first(g); n != NULL; n = graph_next(g, n))
            TRY(count_node(c, &(node_report){.n = n}));
        return HULL_OK;
    }
    TRY(options_new(&o));
    st = d->be->report(d, g, o, NULL, count_node, c);
    options_free(o);
    return st;
}

hull_status tally_begin(tally *t)
{
    cpu_features has;

    *t = (tally){.off = false};
    TRY(cpu_features_get(&has));
    t->off = has.level == CPU_ANY;
    return HULL_OK;
}

hull_status tally_add(tally *t, const module *m, uint32_t *out_ref)
{
    counter c = {.t = t};

    *out_ref = 0;
    t->why[0] = '\0';
    for (uint32_t i = 0; i < m->plan->n_blocks; i++) {
        const engine *e = m->plan->blocks[i].e;

        TRY(count_graph(&c, module_device(m, i), e->main));
        TRY(count_graph(&c, module_device(m, i), e->prepare));
    }
    t->models++;
    t->clean += c.ref == 0;
    *out_ref = c.ref;
    return HULL_OK;
}

void tally_print(buf *b, const tally *t, const char *suite)
{
    buf_printf(b, "%s models %" PRIu32 " %" PRIu32 "\n", suite, t->models,
               t->clean);
    for (int i = 0; i < OP_COUNT; i++)
        if (t->bare[i] + t->sized[i] > 0)
            buf_printf(b, "%s %s %" PRIu32 " %" PRIu32 "\n", suite,
                       op_get((op_code)i)->name, t->bare[i], t->sized[i]);
}

/* ---- files of lines ------------------------------------------------------ */

static bool has_line(str text, str line)
{
    while (text.n > 0)
        if (str_eq(str_split(text, '\n', &text), line))
            return true;
    return false;
}

/* Does a line of the text begin with this line's first word? */
static bool has_first_word(str text, str line)
{
    str rest, word = str_split(line, ' ', &rest);

    while (text.n > 0)
        if (str_eq(str_split(str_split(text, '\n', &text), ' ', &rest), word))
            return true;
    return false;
}

/* Lines of `of` that `in` lacks; `begun` has others that begin so. */
static void tell_missing(str of, str in, str begun, const char *path,
                         const char *what, unsigned *failed)
{
    while (of.n > 0) {
        str line = str_split(of, '\n', &of);

        if (line.n == 0 || line.p[0] == '#' || has_line(in, line) ||
            !has_first_word(begun, line))
            continue;
        printf("FAIL %s %s '%.*s'\n", path_base(path), what, STR_ARG(line));
        ++*failed;
    }
}

/* What the file says of others. */
static void keep_others(buf *b, str was)
{
    str mine = {b->p, b->n};
    buf all;

    buf_init(&all, 1 << 24);
    buf_str(&all, mine);
    while (was.n > 0) {
        str line = str_split(was, '\n', &was);

        if (line.n > 0 && line.p[0] != '#' && !has_first_word(mine, line))
            buf_printf(&all, "%.*s\n", STR_ARG(line));
    }
    buf_fini(b);
    *b = all;
}

hull_status lines_settle(buf *b, const char *path, bool bless, unsigned *failed)
{
    char *p = NULL;
    size_t n = 0;
    hull_status st = file_read_all(&p, &n, path, SIZE_MAX / 4);
    str was;

    if (st != HULL_OK && !bless)
        return st;
    was = (str){p != NULL ? p : "", n};
    if (bless) {
        keep_others(b, was);
        st = buf_status(b);
        if (st == HULL_OK)
            st = file_write_atomic(path, &(file_part){b->p, b->n}, 1);
    } else {
        TRY(buf_status(b));
        tell_missing(buf_view(b), was, buf_view(b), path, "lacks", failed);
        tell_missing(was, buf_view(b), buf_view(b), path, "has what is not so:",
                     failed);
    }
    mem_free(p);
    return st;
}
