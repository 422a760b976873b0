/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * bind_merged.c - exporters store equal tensors once: two biases that were zero
 * when the model was exported are one initializer, read in two places, under
 * one of the names. The other name then looks like a tensor that nobody reads.
 * It is not: with the checkpoint of the compile it becomes a tie, and where a
 * checkpoint separates the two, the error says what happened.
 */
#include "compile/bind_private.h"

#include <string.h>

/* In the imported text holes are numbered in the plan's order. */
static hull_status count_uses(merges *ms, const plan *p)
{
    hull_status st = HULL_OK;
    const uint32_t *uses;
    ir *m = NULL;
    graph *g;

    if (ms->uses != NULL)
        return HULL_OK;
    TRY_OUT(ir_parse(&m, p->imported, p->m));
    g = m->graphs[0];
    uses = graph_uses(g);
    ms->uses = mem_calloc(p->n_holes + 1, sizeof *ms->uses);
    if (uses == NULL || ms->uses == NULL)
        TRY_OUT(fail_oom(p->n_holes * sizeof *ms->uses));
    for (const node *n = graph_first(g); n != NULL; n = graph_next(g, n)) {
        uint64_t hole;

        if (n->op == OP_weight && str_to_u64(&hole, attr_str(n, "name")) &&
            hole < p->n_holes)
            ms->uses[hole] += uses[n->out[0]];
    }
out:
    ir_free(m);
    return st;
}

void merges_fini(merges *ms)
{
    mem_free(ms->uses);
    ms->uses = NULL;
    buf_fini(&ms->text);
}

/* A hole that is read in several places and has e's type. */
static const weight_entry *candidate(const merges *ms, const plan *p,
                                     const binding *b, uint32_t hole,
                                     const weight_entry *e)
{
    const bound_hole *bh = &b->holes[hole];
    const weight_entry *have = bh->entry;

    (void)p;
    if (ms->uses[hole] < 2 || bh->kind != BOUND_ENTRY || bh->source != 0 ||
        have->dtype != e->dtype || have->rank != e->rank ||
        memcmp(have->shape, e->shape, e->rank * sizeof *e->shape) != 0)
        return NULL;
    return have;
}

hull_status merged_explain(const char **out, merges *ms, const plan *p,
                           const binding *b, const weight_entry *e)
{
    uint32_t n = 0, last = 0;

    *out = NULL;
    TRY(count_uses(ms, p));
    buf_fini(&ms->text);
    buf_init(&ms->text, 4096);
    for (uint32_t i = 0; i < p->n_holes; i++) {
        const weight_entry *have = candidate(ms, p, b, i, e);

        if (have == NULL)
            continue;
        last = i;
        if (n++ < 3)
            buf_printf(&ms->text, "%s'%.*s'", n > 1 ? " or " : "",
                       STR_ARG(have->name));
    }
    if (n == 0)
        return HULL_OK;
    if (n == 1) {
        buf_clear(&ms->text);
        buf_printf(&ms->text, " (the exporter merged it with '%.*s' into "
                   "'%.*s', which is read in %u places, but the checkpoint "
                   "separates them: export again from weights that differ)",
                   STR_ARG(b->holes[last].entry->name),
                   STR_ARG(p->holes[last].name), ms->uses[last]);
    } else {
        buf_printf(&ms->text, "%s, read in several places: the exporter may "
                   "have merged it with one of them; if so, export again from "
                   "weights that differ)", n > 3 ? " or others" : "");
    }
    TRY(buf_status(&ms->text));
    if (n > 1) { /* in front of the list */
        buf t = ms->text;

        buf_init(&ms->text, 4096);
        buf_puts(&ms->text, " (of the type of ");
        buf_str(&ms->text, buf_view(&t));
        buf_fini(&t);
        TRY(buf_status(&ms->text));
    }
    *out = ms->text.p;
    return HULL_OK;
}

hull_status merged_note(uint32_t *out, merges *ms, const plan *p, binding *b,
                        const weight_entry *e)
{
    uint32_t hole = 0;
    size_t cap = b->n_tied;

    *out = 0;
    TRY(count_uses(ms, p));
    for (uint32_t i = 0; i < p->n_holes; i++) {
        const weight_entry *have = candidate(ms, p, b, i, e);
        bool equal = false;

        if (have == NULL)
            continue;
        TRY(weights_equal(&equal, b->w[0], have, b->w[0], e));
        *out += equal;
        hole = equal ? i : hole;
    }
    if (*out > 1)
        log_warn("bind", "'%.*s' is not read, but %u tensors have its value "
                 "and are read in several places: a checkpoint with it is "
                 "refused unless option ignore names it", STR_ARG(e->name),
                 *out);
    if (*out != 1)
        return HULL_OK;
    TRY(mem_grow(&b->tied, &cap, b->n_tied + 1u, sizeof *b->tied));
    b->tied[b->n_tied++] = (struct bound_tie){hole, e->name};
    return HULL_OK;
}

hull_status plan_add_name(plan *p, uint32_t hole, str name)
{
    plan_hole *h = &p->holes[hole];
    str *names = arena_array(&p->m->a, h->n_names + 1u, sizeof *names);

    if (names == NULL)
        return fail_oom(sizeof *names);
    if (h->n_names > 0)
        memcpy(names, h->names, h->n_names * sizeof *names);
    names[h->n_names] = plan_str(p, name);
    h->names = names;
    h->n_names++;
    return ir_status(p->m);
}
