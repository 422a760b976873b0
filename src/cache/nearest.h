/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * nearest.h - why a key has no entry: the entry whose preimage differs in the
 * fewest lines, and these lines. A line that only counts its values otherwise,
 * because others stand in front of it, is no difference.
 */
#ifndef HULL_CACHE_NEAREST_H
#define HULL_CACHE_NEAREST_H

#include "cache/cache.h"

/* ---- line_diff.c --------------------------------------------------------- */

/* A text that is looked at, cut into lines; the text must outlive it. */
typedef struct text_lines {
    str *p;
    uint64_t *shape;   /* of each line: its hash without numbers of values */
    uint64_t *sorted;  /* the same, sorted */
    uint32_t n;
} text_lines;
hull_status text_lines_get(text_lines *out, str text) MUST_CHECK;
void text_lines_fini(text_lines *t);

/* More differing lines than this are counted, not found. */
#define DIFF_MAX 600

typedef struct diff_line {
    char sign;         /* '-' only in a, '+' only in b */
    uint32_t number;   /* from 1, in its text */
    str text;
} diff_line;
typedef struct line_diff {
    uint64_t n;        /* lines that differ: those of a and those of b */
    bool far;          /* n > DIFF_MAX: at least so many */
    diff_line *lines;  /* n of them, in order, unless far */
} line_diff;
/* At least so many lines differ: cheap, without their order. */
uint64_t lines_bound(const text_lines *a, const text_lines *b);
hull_status lines_diff(line_diff *out, const text_lines *a,
                       const text_lines *b) MUST_CHECK;
void line_diff_fini(line_diff *d);

/* ---- survey.c ------------------------------------------------------------ */

/* What lies under a key in the folder: *out_hit, or *out_text says what is
 * there and cannot be used; NULL when nothing is. mem_free(*out_text). Nothing
 * is counted, touched or set aside. */
hull_status cache_state(bool *out_hit, char **out_text, cache *c,
                        cache_kind kind, const cache_key *k) MUST_CHECK;

/* ---- nearest.c ----------------------------------------------------------- */

typedef struct cache_near {
    const cache_key *key;   /* asked for; the rest is the answer */
    bool found;
    digest d;               /* of the nearest entry */
    int64_t used_ns;
    buf preimage;           /* of it */
    text_lines here, there; /* of the key and of the entry */
    line_diff diff;         /* a: the entry, b: the key */
} cache_near;

/* Answers n questions in one pass over the entries; of each engine only the
 * section "key" is checked. An entry of the key's backend is preferred to
 * others, then fewer differing lines, then the later use. *out_n counts what
 * was compared, *out_unread entries that cannot be read. */
hull_status cache_nearest(cache_near *q, size_t n, cache *c, uint64_t *out_n,
                          uint64_t *out_unread) MUST_CHECK;
void cache_near_fini(cache_near *q);

#endif
