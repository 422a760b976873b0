/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * dims.h - the table of dim expressions and their polynomial form, shared by
 * dims.c (construction) and dims_eval.c (bounds, values, text).
 */
#ifndef HULL_DIMS_H
#define HULL_DIMS_H

#include "ir/ir_private.h"

#define DIM_MAX_TERMS 32
#define DIM_MAX_FACTORS 8

typedef struct dim_term {
    int64_t coef;
    uint32_t n;
    dim atom[DIM_MAX_FACTORS];
} dim_term;

typedef struct dim_poly {
    uint32_t n;
    int64_t constant;
    dim_term term[DIM_MAX_TERMS];
} dim_poly;

typedef struct dim_entry {
    dim_node node;
    dim canon; /* the representative of all that dim_eq it */
    uint32_t nesting, size;
    const int64_t *key; /* of a representative */
    uint32_t n_key;
} dim_entry;

struct dim_table {
    dim_entry **entries; /* entry i is the dim -2 - i */
    uint32_t n, n_symbols;
    size_t cap;
    uint32_t *by_node, *by_key; /* entry number + 1, 0 = free */
    size_t cap_hash;
    strmap symbols; /* name -> entry number */
    strmap hints;   /* dim_fresh: the next number to try */
};

uint64_t dim_index(dim d); /* entry number of a dim below DIM_UNKNOWN */
/* false for DIM_UNKNOWN. */
bool dim_to_poly(const ir *m, dim_poly *p, dim d);

#endif
