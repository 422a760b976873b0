/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * torch_values.h - inside src/weights only: what the names in a checkpoint's
 * pickle mean.
 */
#ifndef HULL_TORCH_VALUES_H
#define HULL_TORCH_VALUES_H

#include "weights/index.h"
#include "weights/pickle.h"

/* One storage, named by its key; where it lies is the container's matter. */
typedef struct torch_storage {
    str key;          /* decimal digits, a view into the pickle */
    hull_dtype dtype; /* HULL_NONE: untyped */
    uint64_t elem;    /* bytes per element */
    uint64_t len;     /* bytes */
    bool placed;
    uint64_t off;   /* in the file, when placed */
    uint32_t index; /* in the weights, plus 1; 0 = not added yet */
} torch_storage;

typedef struct torch_tensor {
    uint32_t storage;
    hull_dtype dtype;
    uint64_t off; /* bytes */
    uint32_t rank;
    int64_t shape[HULL_MAX_RANK], strides[HULL_MAX_RANK];
    bool dense; /* strides mean nothing */
} torch_tensor;

/* The hooks' state: pickle.user points to it. */
typedef struct torch_values {
    bool legacy; /* persistent ids of 6 items */
    torch_storage *storages;
    size_t n, cap;
    strmap by_key;
} torch_values;

extern const pickle_hooks torch_hooks;
void torch_values_fini(torch_values *v);

/* ---- torch_dict.c: which dictionary holds the tensors -------------------- */

typedef struct torch_dict {
    str path; /* its keys, joined by dots; "" when it is the chosen one */
    pk_id dict;
    uint32_t n_tensors;
} torch_dict;

typedef struct torch_choice {
    torch_dict *dicts; /* one, or all when several could be meant */
    uint32_t n;
    const char *list;  /* then: "'ema' (10 tensors), ..."; else NULL */
} torch_choice;

/* In the machine's arena. HULL_ENOTFOUND lists what there is. */
hull_status torch_choose(pickle *m, pk_id root, str key, torch_choice **out)
    MUST_CHECK;

#endif
