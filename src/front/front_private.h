/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * front_private.h - the state of an import behind front.h: shared by front.c,
 * which fills it, and import.c, which turns it into the result.
 */
#ifndef HULL_FRONT_PRIVATE_H
#define HULL_FRONT_PRIVATE_H

#include "front/front.h"

/* Facts about one tensor name, used or not. In the ir's arena. */
typedef struct front_entry {
    str name;
    val v;                       /* its weight node's result; 0 = not used */
    const char *pinned;          /* why it became a literal, or NULL */
    const char *reason;
    bool parameter, declared, declared_parameter, kept, derived;
    str *names;
    uint32_t n_names;
    graph **recipes;
    uint8_t *tiers;
    uint32_t n_recipes;
    str module_path;
} front_entry;

typedef struct front_absent {
    str op, domain, node_name;
    int64_t version;
    uint32_t count;
} front_absent;

typedef struct front_private {
    front_entry **entries;
    uint32_t n_entries;
    size_t cap_entries;
    strmap by_name;
    str *signature;
    uint32_t n_signature;
    size_t cap_signature;
    strmap signature_map;
    front_absent *missing;
    uint32_t n_missing, n_more_missing;
    size_t cap_missing;
    uint8_t *marks;              /* of pin_cone, by value */
    size_t cap_marks;
    val *stack;
    size_t cap_stack;
    val *bound;                  /* by value: the bind node's result, or 0 */
    size_t cap_bound;
    uint32_t n_bodies;           /* of loops, every lowering counted */
} front_private;

front_entry *front_find(front *f, str name); /* NULL when never mentioned */
/* NULL: declared, but not in the file. Valid until the index grows. */
const weight_entry *front_stored(const front *f, const front_entry *e);
bool front_in_signature(const front *f, str name);

#endif
