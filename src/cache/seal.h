/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * seal.h - the secret that machines share, and what is signed with it: a keyed
 * BLAKE2b-256 (libsodium) over key, kind and content of an entry. Who does not
 * know the secret can make no entry that passes for one of ours.
 *
 *   key       := BLAKE2b-256("hull-secret 1\n" secret)
 *   wire MAC  := keyed BLAKE2b-256("hull-wire 1\n" header up to its MAC, frame)
 *   entry MAC := keyed BLAKE2b-256("hull-entry 1\n" kind[16] key[32] section*)
 *   section   := tag[24] stored:u64 size:u64 codec:u32 payload
 *                all sections but "mac", in the order of the table
 */
#ifndef HULL_CACHE_SEAL_H
#define HULL_CACHE_SEAL_H

#include "cache/cache.h"

#define SEAL_SECTION "mac"
#define SEAL_SECRET_MIN 16   /* bytes without the last line's end */
#define SEAL_SECRET_MAX 4096

typedef struct seal seal;

/* Reads the secret's file. One that everybody may write is refused, one that
 * everybody may read is told in the log. */
hull_status seal_open(seal **out, const char *path) MUST_CHECK;
void seal_close(seal *s);

digest seal_wire(const seal *s, bytes header, bytes frame);
/* In constant time. */
bool seal_same(const digest *a, const uint8_t mac[32]);

/* Signs an entry: adds its section "mac". */
hull_status seal_add(const seal *s, container_writer *w, cache_kind kind,
                     const digest *key) MUST_CHECK;
/* HULL_EMISMATCH when the MAC is missing or another one. Nothing of the entry
 * has been unpacked before. */
hull_status seal_check(const seal *s, const container *c, cache_kind kind,
                       const digest *key) MUST_CHECK;

#endif
