/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * keys.h - what the property tests of the cache key share: random numbers from
 * a seed that is printed, the blocks of a model as a compile would key them, a
 * comparison of graphs that knows nothing of canonical texts, and single random
 * edits of a graph.
 */
#ifndef HULL_TESTS_KEYS_H
#define HULL_TESTS_KEYS_H

#include "cache/cache.h"
#include "compile/compile.h"

/* ---- random numbers ------------------------------------------------------ */

typedef struct rng {
    uint64_t s;
} rng;

static inline uint64_t rng_next(rng *r) /* splitmix64 */
{
    uint64_t x = r->s += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* 0 .. n - 1; 0 for n = 0. */
static inline uint32_t rng_below(rng *r, uint64_t n)
{
    return n > 0 ? (uint32_t)(rng_next(r) % n) : 0;
}

/* ---- keys.c: models and their keys --------------------------------------- */

/* The blocks of one model in the order of their calls. */
typedef struct key_model {
    front_model *fm;
    ir *work, *blocks;
    plan p;
    graph **g;
    digest *key;
    uint32_t n;
} key_model;

/* Import, passes, partition and keys, as plan_compile does them. checkpoint:
 * its names alone count; may be NULL. */
hull_status key_model_open(key_model *out, const char *path,
                           const weights *checkpoint, const devices *ds)
    MUST_CHECK;
void key_model_close(key_model *k);
/* The key of a block, g->backend says whose. text: NULL, or receives the
 * canonical text. */
hull_status key_of_graph(digest *out, buf *text, graph *g, const devices *ds)
    MUST_CHECK;
/* The same blocks have the same keys, whatever order they are in, and blocks
 * whose keys are equal are the same. The error tells which are not. */
hull_status keys_are_sound(const key_model *a, const key_model *b) MUST_CHECK;
bool keys_equal(const key_model *a, const key_model *b);

/* Calls fn with every file below root whose name ends with `end`, in the
 * order of their names. */
typedef hull_status key_path_fn(void *user, const char *path);
hull_status key_each_file(const char *root, const char *end, key_path_fn *fn,
                          void *user) MUST_CHECK;
/* Not durable, unlike file_write_atomic. */
hull_status key_write_file(const char *path, const void *p, size_t n)
    MUST_CHECK;
hull_status key_unpack(const char *from, const char *to) MUST_CHECK; /* .gz */
/* "<shared>/<name>", NULL when it is not there. One path is alive. */
const char *key_shared(const char *name);
/* A number of the environment. */
uint64_t key_setting(const char *name, uint64_t otherwise);

/* ---- keys_same.c --------------------------------------------------------- */

/* Do both compute the same, but for names and the order of independent nodes?
 * Walks both from their results at once and pairs values, symbols, holes and
 * regions one to one; numbers are compared by their bits. NULL: the same; else
 * what differs first. */
const char *graph_difference(const graph *a, const graph *b);

/* ---- keys_edit.c --------------------------------------------------------- */

#define EDITS(X)                                                            \
    X(attribute) X(literal) X(op) X(operand_order) X(edge) X(result)        \
    X(parameter) X(hole) X(symbol) X(equality) X(removal) X(insertion)      \
    X(sharing) X(state)
#define EDIT_ROW(name) EDIT_##name,
typedef enum edit_kind {
    EDITS(EDIT_ROW)
    EDIT_COUNT
} edit_kind;
#undef EDIT_ROW

const char *edit_name(edit_kind k);
/* One edit of that kind, somewhere in g; types that follow from it are
 * inferred again. false: there is nothing of the kind, or the shape rules or
 * the verifier refuse what came out. *out_what: the op that was met. */
bool edit_graph(graph *g, edit_kind k, rng *r, const char **out_what);

/* ---- keys_disguise.c ----------------------------------------------------- */

/* The same computation in a new ir. */
hull_status disguise_graph(ir **out, graph **out_g, const graph *g, rng *r)
    MUST_CHECK;

#endif
