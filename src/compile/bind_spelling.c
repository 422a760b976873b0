/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * bind_spelling.c - how a checkpoint spells the module's names. Wrappers put
 * prefixes in front of every name, also on each other; what is found by
 * counting holds for all names.
 */
#include "compile/bind_private.h"

#include <string.h>

#define CHAIN_MAX 4      /* prefixes on each other: "module._orig_mod." */
#define CHAINS_MAX 24    /* different ones of one checkpoint */

/* Prefixes that wrappers put in front of every name. */
static const char *const prefixes[] = {
    "module.", "_orig_mod.", "model.", "backbone.", "net.", "m.", "wrapped.",
};

/* Names and plain recipe leaves of the plan that the checkpoint has. */
static uint32_t count_found(const plan *p, const spelling *s)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->n_holes; i++) {
        const plan_hole *h = &p->holes[i];

        for (uint32_t k = 0; k < h->n_names; k++)
            n += spelling_find(s, h->names[k]) != NULL;
        for (uint32_t k = 0; k < h->n_recipes; k++) {
            const node *leaf = h->recipes[k]->body->first;

            for (; leaf != NULL; leaf = leaf->next)
                n += leaf->op == OP_weight &&
                     spelling_find(s, attr_str(leaf, "name")) != NULL;
        }
    }
    return n;
}

/* Prefixes that some name begins with: chains of known ones. */
typedef struct chains {
    str c[CHAINS_MAX];   /* the first one is "" */
    uint32_t n;
} chains;

static size_t known_prefix(str name)
{
    for (size_t i = 0; i < COUNT_OF(prefixes); i++)
        if (str_starts(name, prefixes[i]) && name.n > strlen(prefixes[i]))
            return strlen(prefixes[i]);
    return 0;
}

static void add_chains(chains *cs, str name)
{
    size_t at = 0, more;

    for (int depth = 0; depth < CHAIN_MAX; depth++) {
        uint32_t i = 0;

        more = known_prefix((str){name.p + at, name.n - at});
        if (more == 0)
            return;
        at += more;
        while (i < cs->n && !str_eq(cs->c[i], (str){name.p, at}))
            i++;
        if (i == cs->n && i < CHAINS_MAX)
            cs->c[cs->n++] = (str){name.p, at};
    }
}

/* Both fit equally well: the names alone do not tell which is meant. */
static hull_status fail_prefixes(const spelling *a, const spelling *b)
{
    return fail(HULL_EBIND,
                "%s is ambiguous: it has the module's names under '%.*s' and "
                "under '%.*s'; a mapping (option map) says which is meant",
                weights_label(a->w), STR_ARG(a->add), STR_ARG(b->add));
}

/* Do they name another tensor for some hole? */
static bool spellings_differ(const plan *p, const spelling *a,
                             const spelling *b)
{
    for (uint32_t i = 0; i < p->n_holes; i++)
        for (uint32_t k = 0; k < p->holes[i].n_names; k++) {
            const weight_entry *ea = spelling_find(a, p->holes[i].names[k]);
            const weight_entry *eb = spelling_find(b, p->holes[i].names[k]);

            if (ea != NULL && eb != NULL && ea != eb)
                return true;
        }
    return false;
}

static void find_chains(const plan *p, const weights *w, chains *add,
                        chains *cut)
{
    add->n = cut->n = 1;
    add->c[0] = cut->c[0] = str_of("");
    for (size_t i = 0; i < weights_count(w); i++)
        add_chains(add, weights_at(w, i)->name);
    for (uint32_t i = 0; i < p->n_holes; i++) {
        const plan_hole *h = &p->holes[i];

        for (uint32_t k = 0; k < h->n_names; k++)
            add_chains(cut, h->names[k]);
        for (uint32_t k = 0; k < h->n_recipes; k++)
            for (const node *n = h->recipes[k]->body->first; n != NULL;
                 n = n->next)
                if (n->op == OP_weight)
                    add_chains(cut, attr_str(n, "name"));
    }
}

/* As spelled in the model, unless prefixes more or less find more names. */
hull_status spelling_choose(spelling *out, const plan *p, const weights *w,
                            const mapped *map)
{
    spelling best = {.w = w, .map = map}, other = {0};
    uint32_t found = count_found(p, &best), all = 0;
    chains add, cut;
    bool tie = false;

    *out = best;
    for (uint32_t i = 0; i < p->n_holes; i++)
        all += p->holes[i].n_names;
    if (found >= all && all > 0)
        return HULL_OK; /* the usual case, and a refit is short */
    find_chains(p, w, &add, &cut);
    for (uint32_t i = 0; i < cut.n; i++)
        for (uint32_t k = 0; k < add.n; k++) {
            spelling s = {.w = w, .map = map, .add = add.c[k],
                          .cut = cut.c[i]};
            uint32_t n = str_eq(s.add, s.cut) ? 0 : count_found(p, &s);

            if (n == found && best.add.n + best.cut.n > 0 &&
                spellings_differ(p, &s, &best)) {
                tie = true;
                other = s;
            }
            if (n <= found)
                continue;
            found = n;
            best = s;
            tie = false;
        }
    if (tie && found > all / 2)
        return fail_prefixes(&best, &other);
    *out = best;
    if (best.add.n + best.cut.n > 0)
        log_info("bind", "%s: prefix '%.*s' stands for '%.*s'",
                 weights_label(w), STR_ARG(best.add), STR_ARG(best.cut));
    return HULL_OK;
}
