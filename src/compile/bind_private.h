/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * bind_private.h - what the files of the binder share: bind.c decides which
 * tensor or recipe is a hole's value, recipe.c expands and evaluates recipes,
 * bind_report.c collects what does not fit.
 */
#ifndef HULL_BIND_PRIVATE_H
#define HULL_BIND_PRIVATE_H

#include "compile/compile.h"

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

/* How a checkpoint spells the module's names: one prefix more, or one less. */
typedef struct spelling {
    const weights *w;
    str add;       /* in front of the module's name */
    str cut;       /* taken off the module's name */
} spelling;
const weight_entry *spelling_find(const spelling *s, str name);

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
