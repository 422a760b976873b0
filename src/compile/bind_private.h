/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * bind_private.h - what the files of the binder share: bind.c decides which
 * tensor or recipe is a hole's value, recipe.c expands and evaluates recipes,
 * bind_report.c collects what does not fit.
 */
#ifndef HULL_BIND_PRIVATE_H
#define HULL_BIND_PRIVATE_H

#include "compile/rules.h"

typedef enum problem_kind {
    PROBLEM_MISSING, PROBLEM_SHAPE, PROBLEM_DTYPE, PROBLEM_AMBIGUOUS,
    PROBLEM_TIED, PROBLEM_LITERAL, PROBLEM_UNEXPECTED, PROBLEM_KINDS
} problem_kind;

typedef struct problems {
    buf text[PROBLEM_KINDS];
    uint32_t n[PROBLEM_KINDS];
} problems;

void problems_init(problems *ps);
void problems_fini(problems *ps);
/* Adds one; after the first dozen of a kind only the count grows. */
void problem_add(problems *ps, problem_kind kind, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* Is 'name' among those of the kind that are spelled out? */
bool problem_has(const problems *ps, problem_kind kind, const char *name);
/* HULL_EBIND with all of them, or HULL_OK. `label` names the checkpoint. */
hull_status problems_status(const problems *ps, const char *label) MUST_CHECK;

/* ---- bind_merged.c: tensors that an exporter stored once ----------------- */

typedef struct merges {
    uint32_t *uses;  /* per hole: places that read it; NULL = not counted yet */
    buf text;
} merges;
void merges_fini(merges *ms);
/* Is e, which no hole names, perhaps what an exporter stored as another one?
 * A text for the error, or NULL. */
hull_status merged_explain(const char **out, merges *ms, const plan *p,
                           const binding *b, const weight_entry *e) MUST_CHECK;
/* The same with the checkpoint of the compile: how many holes hold e's bytes
 * and are read in several places. If it is one, b notes e as its tie. */
hull_status merged_note(uint32_t *out, merges *ms, const plan *p, binding *b,
                        const weight_entry *e) MUST_CHECK;
hull_status plan_add_name(plan *p, uint32_t hole, str name) MUST_CHECK;

/* How a checkpoint spells the module's names: prefixes more, less, others. */
typedef struct spelling {
    const weights *w;
    const mapped *map; /* names that rules give come first; NULL = no rules */
    str add;       /* in front of what is left of the module's name ... */
    str cut;       /* ... when this has been taken off */
} spelling;
/* bind_spelling.c. HULL_EBIND when two prefixes fit equally well. */
hull_status spelling_choose(spelling *out, const plan *p, const weights *w,
                            const mapped *map) MUST_CHECK;
const weight_entry *spelling_find(const spelling *s, str name);
/* A copy in the arena of `m`. */
str ir_text(ir *m, str s);
/* A checkpoint's name as the module would spell it, in the arena of `m`; the
 * name itself where the spelling has no word for it. */
str spelling_of(ir *m, const spelling *s, str name);
/* The value of an entry that spelling_find gave, over the checkpoint's names:
 * a weight node, or the recipe of a rule. 0 when failed. */
val spelling_value(graph *to, const spelling *s, const weight_entry *e);
/* Its bytes. */
hull_status spelling_read(void *dst, const spelling *s, const weight_entry *e)
    MUST_CHECK;

/* The recipe over the checkpoint's names, '*' replaced by segment, with casts
 * where a leaf is narrower than declared, or wider with narrow; NULL when a
 * leaf is absent or has another shape. `to` holds the graph. */
graph *recipe_expand(ir *to, const graph *recipe, str segment,
                     const spelling *s, bool narrow);
/* The i-th segment for which the first '*' leaf of the recipe exists; false
 * past the last one. A recipe without '*' has one segment, "". */
bool recipe_segment(const graph *recipe, const spelling *s, size_t *io_at,
                    str *out);
/* Longest name of a leaf, with its NUL. */
#define RECIPE_NAME_MAX 4096
/* The checkpoint's tensor for one leaf, NULL when it is absent; name receives
 * what was looked for, as the module spells it. */
const weight_entry *recipe_leaf(char name[RECIPE_NAME_MAX], const node *leaf,
                                str segment, const spelling *s);
/* Runs a recipe on the checkpoint's bytes; dst has room for its result. */
hull_status recipe_eval(void *dst, const graph *recipe, const weights *w)
    MUST_CHECK;

#endif
