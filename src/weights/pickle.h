/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pickle.h - inside src/weights only: a pickle machine that builds values and
 * executes nothing. What a global name, a persistent id, a REDUCE and a BUILD
 * mean is decided by the owner's four hooks; the machine itself knows none.
 */
#ifndef HULL_PICKLE_H
#define HULL_PICKLE_H

#include "base/base.h"

#define PICKLE_BYTES_MAX ((size_t)256 << 20)

typedef uint32_t pk_id; /* 0 = no value */

typedef enum pk_kind {
    PK_NO_VALUE,
    PK_NONE,
    PK_BOOL,
    PK_INT,
    PK_FLOAT,
    PK_STR,
    PK_BYTES,
    PK_TUPLE,
    PK_LIST,
    PK_DICT,    /* items: key, value, key, value ... in order */
    PK_GLOBAL,  /* i: the owner's number */
    PK_STORAGE, /* i: the owner's number */
    PK_TENSOR,  /* data: the owner's */
    PK_OPAQUE   /* a value nobody looks into; it hides no tensor */
} pk_kind;

typedef struct pk_node {
    uint8_t kind;
    uint32_t n, cap; /* items, or bytes of text */
    uint32_t seen;   /* stamp of the last traversal */
    union {
        int64_t i; /* bool, int, global, storage */
        double f;
        const char *s; /* view into the pickle: str, bytes */
        pk_id *items;  /* tuple, list, dict */
        void *data;    /* tensor */
    } v;
} pk_node;

typedef struct pickle pickle;

typedef struct pickle_hooks {
    hull_status (*global)(pickle *m, str module, str name, int64_t *out);
    hull_status (*persistent)(pickle *m, pk_id id, pk_id *out);
    hull_status (*reduce)(pickle *m, pk_id callable, pk_id args, pk_id *out);
    hull_status (*build)(pickle *m, pk_id object, pk_id state);
} pickle_hooks;

struct pickle {
    const pickle_hooks *hooks;
    void *user;
    const char *what; /* names the pickle in errors */
    arena arena;      /* tuples and the owner's data */
    pk_node *nodes;
    size_t n_nodes, cap_nodes;
    pk_id *stack;
    size_t n_stack, cap_stack;
    size_t *marks; /* stack heights */
    size_t n_marks, cap_marks;
    pk_id *memo;
    size_t n_memo, cap_memo;
    const uint8_t *start, *p, *end;
    uint32_t stamp;
    uint64_t steps; /* of traversals so far */
};

void pickle_init(pickle *m, const pickle_hooks *hooks, void *user);
void pickle_fini(pickle *m);
/* Runs one pickle up to its STOP; *out_used is where the next may begin. The
 * input must outlive the machine: text values are views. */
hull_status pickle_run(pickle *m, bytes in, const char *what, pk_id *out,
                       size_t *out_used) MUST_CHECK;

static inline const pk_node *pickle_at(const pickle *m, pk_id id)
{
    return &m->nodes[id];
}
static inline pk_kind pickle_kind(const pickle *m, pk_id id)
{
    return (pk_kind)m->nodes[id].kind;
}
const char *pickle_kind_name(pk_kind k);
/* The text of a PK_STR, "" otherwise. */
str pickle_str(const pickle *m, pk_id id);
/* True when id is a tuple of at least min and at most max items. */
bool pickle_tuple(const pickle *m, pk_id id, uint32_t min, uint32_t max);
/* The value of a text key; 0 when the dict lacks it. The last one wins. */
pk_id pickle_dict_get(const pickle *m, pk_id dict, str key);

/* New values, for the hooks. */
hull_status pickle_new(pickle *m, pk_kind kind, pk_id *out) MUST_CHECK;
hull_status pickle_append(pickle *m, pk_id list, pk_id item) MUST_CHECK;
/* Does a tensor or storage hide anywhere below id? Traversals of one machine
 * have a common budget, so hostile graphs end in HULL_EFORMAT. */
hull_status pickle_hides_tensor(pickle *m, pk_id id, bool *out) MUST_CHECK;

#endif
