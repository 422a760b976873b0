/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pattern.h - small formulas that are looked for in a graph.
 *
 *   sum     := product ('+' product)*
 *   product := atom ('*' atom)*
 *   atom    := number | variable | op '(' sum (',' number)* ')' | '(' sum ')'
 *
 * A lower-case letter is any value, the same wherever it stands; an upper-case
 * letter is any literal number. op is a unary op, whose numbers are its float
 * attributes in order, or `mean`: reduce_mean with keep. Sums and products are
 * matched as such, whatever the order, the nesting and the spelling: a division
 * by a number or root, a power of 2 or 3, a subtraction of a number, neg. Every
 * value inside has no reader but the formula.
 */
#ifndef HULL_PATTERN_H
#define HULL_PATTERN_H

#include "passes/pass.h"

#define PATTERN_NODES 32
#define PATTERN_CHILDREN 4

typedef enum pattern_kind {
    PAT_NUMBER, PAT_ANY_NUMBER, PAT_VALUE, PAT_CALL, PAT_PRODUCT, PAT_SUM
} pattern_kind;

typedef struct pattern_node {
    pattern_kind kind;
    op_code op;          /* PAT_CALL */
    double num[2];       /* PAT_NUMBER: num[0]; PAT_CALL: attributes */
    uint32_t n_num;
    uint32_t letter;     /* variables: 0 = a or A */
    uint32_t n;
    uint8_t child[PATTERN_CHILDREN];
} pattern_node;

typedef struct pattern {
    pattern_node node[PATTERN_NODES];
    uint32_t n;
    uint8_t root;
} pattern;

/* What the letters stand for; 0 = not bound yet. */
typedef struct pattern_match {
    val value[26];
    double number[26];
    bool has_number[26];
    const node *mean;    /* the last reduce_mean */
    const char *why;     /* of a failure: the refusal that came furthest */
    uint32_t reached;    /* ops that fitted before it */
} pattern_match;

hull_status pattern_parse(pattern *out, const char *text) MUST_CHECK;
/* Does the node that makes v end the formula? */
bool pattern_matches(const pattern *p, const graph_facts *f, val v,
                     pattern_match *out);

#endif
