/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * tier.h - what stands before and behind the folder: entries in memory, and
 * stores that other machines share. cache.c asks them in the order memory,
 * folder, stores; docs/cache.md says what each failure costs.
 */
#ifndef HULL_CACHE_TIER_H
#define HULL_CACHE_TIER_H

#include "cache/cache.h"

/* ---- memory.c: entries of this process, the least recently used go ------- */

typedef struct memory memory;

/* limit: bytes of entries; 0 = nothing stays. */
hull_status memory_new(memory **out, uint64_t limit) MUST_CHECK;
void memory_free(memory *m);
bool memory_wants(const memory *m, uint64_t size);
/* A reference, NULL when there is none. */
blob *memory_get(memory *m, cache_kind kind, const digest *key);
/* Takes a reference of its own. Without room or memory nothing happens. */
void memory_put(memory *m, cache_kind kind, const digest *key, blob *b);
void memory_remove(memory *m, cache_kind kind, const digest *key);
void memory_clear(memory *m);

#endif
