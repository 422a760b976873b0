/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * explain_private.h - what explain.c and explain_nodes.c share.
 */
#ifndef HULL_EXPLAIN_PRIVATE_H
#define HULL_EXPLAIN_PRIVATE_H

#include "compile/plan_file.h"

typedef struct explainer {
    const front_model *fm;
    const devices *ds;
    cache *c;
    json_t *top;
    plan p;              /* what partition tells */
    ir *work, *blocks;
} explainer;

/* A new array or object, held by `object`; NULL when memory ran out. */
json_t *explain_child(json_t *object, const char *key, json_t *j);
json_t *explain_row(json_t *array);
json_t *explain_buf(const buf *b);
json_t *explain_type(const ir *m, const type *t);
const char *explain_text_of(const json_t *row, const char *key);

/* How the nodes of a block run: "kernels" of main and "prepare". text: the
 * block's, key: its key on d. explain_nodes.c */
hull_status explain_nodes(const explainer *x, json_t *row, str text,
                          const cache_key *key, device *d) MUST_CHECK;
void explain_print_nodes(buf *b, const json_t *row);

#endif
