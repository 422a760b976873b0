/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * rules.h - inside src/compile only: mapping rules. rules.c reads a file of
 * `pattern = recipe` lines, rules_apply.c puts them in terms of one checkpoint:
 * tensors under the model's names, each a tensor of the checkpoint or a recipe
 * over some. docs/mapping.md is the language.
 */
#ifndef HULL_RULES_H
#define HULL_RULES_H

#include "compile/compile.h"

#define RULE_STARS_MAX 8  /* in one pattern */
#define RULE_NAMES_MAX 60 /* read by one recipe */

typedef struct rule {
    str left;              /* pattern of the model's names; "_" = not read */
    uint32_t line, column; /* of the left side */
    str *names;            /* patterns of the checkpoint's names */
    uint32_t n_names;
    uint32_t lead;         /* the name that holds all stars of the left side */
    bool rename;           /* one name as it is; else body */
    bool block;            /* body has its own `return` */
    str body;              /* IR text; names are %_a, %_b ... */
    uint32_t body_line, body_column;
} rule;

typedef struct rules {
    rule *r;
    uint32_t n;
    size_t cap;
    digest digest;         /* of the file */
    arena a;
} rules;

/* HULL_EFORMAT lists every malformed line, with line and column. */
hull_status rules_read(rules **out, const char *path) MUST_CHECK;
void rules_free(rules *rs);

/* The stars' texts in `name`; false when it does not match. */
bool rule_match(str pattern, str name, str stars[RULE_STARS_MAX]);
/* The pattern with the stars' texts put in. */
void rule_fill(buf *out, str pattern, const str stars[RULE_STARS_MAX]);

/* ---- rules_apply.c ------------------------------------------------------- */

/* A checkpoint under the model's names. */
typedef struct mapped {
    const weights *w;
    ir *m;                 /* the recipes, over the checkpoint's names */
    struct mapped_tensor **t;
    uint32_t n;
    size_t cap;
    strmap by_name;
    bool *dropped;         /* per tensor of w: a rule says it is not read */
    digest digest;
    arena a;
} mapped;

typedef struct mapped_tensor {
    weight_entry made;     /* name, dtype, shape, len of a recipe's result */
    str name;              /* the model's */
    const weight_entry *e; /* the checkpoint's own, or &made */
    graph *recipe;         /* NULL: e is the tensor as it is */
} mapped_tensor;

/* HULL_EBIND lists every rule that gives nothing, names what is absent or has
 * a recipe that does not fit. */
hull_status mapped_new(mapped **out, const char *path, const weights *w)
    MUST_CHECK;
void mapped_free(mapped *mp);
/* NULL when no rule gives the name. mp may be NULL. */
const weight_entry *mapped_find(const mapped *mp, str name);
/* The recipe behind an entry that mapped_find gave; NULL: a plain tensor. */
const graph *mapped_recipe(const mapped *mp, const weight_entry *e);

#endif
