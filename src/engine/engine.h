/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * engine.h - an engine is two programs: prepare (holes -> slots) and main
 * (inputs + slots -> outputs), with no weight in either. It is immutable and
 * reference counted; two blocks with equal keys share one.
 */
#ifndef HULL_ENGINE_H
#define HULL_ENGINE_H

#include "backend/backend.h"
#include "cache/cache.h"
#include "ir/ir.h"

typedef struct engine {
    _Atomic(uint32_t) refs;
    digest key;
    buf preimage;       /* of the key */
    ir *m;              /* holds @prepare and @main */
    graph *prepare, *main;
    str backend;        /* name, in m's arena */
    str target;         /* in m's arena */
    uint64_t n_bytes;   /* of its file */
    double build_seconds; /* 0 when it came from a file */
} engine;

/* Lowers one block for a device: LOWER passes (unless fuse=off), the backend's
 * own rewrite, split. `key`, the block's canonical graph, is not changed.
 * notes: with tune=on; else NULL. */
hull_status engine_build(engine **out, graph *key, const cache_key *k,
                         device *d, const options *o, const notebook *notes)
    MUST_CHECK;
engine *engine_ref(engine *e);
void engine_unref(engine *e);

/* Sections "key", "backend", "target", "prepare", "main", "pins". */
hull_status engine_write(container_writer **out, const engine *e) MUST_CHECK;
/* Parses, type-checks and bounds-checks everything. HULL_EFORMAT. */
hull_status engine_read(engine **out, container *c) MUST_CHECK;

/* The notes of one build: in memory and, where there is a cache, in its folder.
 * A read-only book is for those who only look. tunebook.c */
typedef struct tunebook {
    notebook notes;
    cache *c;             /* may be NULL */
    struct tunebook_page {
        buf key, lines;
    } *pages;
    size_t n, cap;
} tunebook;
void tunebook_open(tunebook *b, cache *c, bool read_only);
void tunebook_close(tunebook *b);

/* Large literals of an ir, as the section "pins" and back. */
hull_status pins_write(buf *out, const ir *m) MUST_CHECK;
hull_status pins_read(ir *m, bytes data) MUST_CHECK;

#endif
