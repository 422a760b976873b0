/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * bundle.h - many entries in one file, to carry a cache to where there is no
 * network. Numbers are little-endian.
 *
 *   bundle   := head envelope* end
 *   head     := 89 48 55 4c 58 0d 0a 1a  version:u32 zero:u32     16 bytes
 *   version  := 1
 *   envelope := envelope.h; kind, then key, ascend: none stands there twice
 *   end      := 89 48 55 4c 5a 0d 0a 1a  count:u64 digest[32]     48 bytes
 *   digest   := BLAKE2b-256 of all bytes in front of it
 *
 * The frame of the file is checked before the first entry is looked at, so one
 * that was cut adds nothing. Then every entry stands for itself.
 */
#ifndef HULL_CACHE_BUNDLE_H
#define HULL_CACHE_BUNDLE_H

#include "cache/envelope.h"

#define BUNDLE_VERSION 1
#define BUNDLE_HEAD_SIZE 16
#define BUNDLE_END_SIZE 48
/* Bytes that one entry may have when it is unpacked. */
#define BUNDLE_ENTRY_MAX ((uint64_t)1 << 30)

/* Whether an entry is to be exported. */
typedef bool cache_want_fn(void *user, const cache_item *item);
/* Writes the file, atomically. want NULL: all. Entries that verify would set
 * aside are left out; bad, which may be NULL, is told of them. Nothing is
 * counted or touched. */
hull_status cache_export(cache *c, const char *path, cache_want_fn *want,
                         cache_reason_fn *bad, void *user, uint64_t *out_n)
    MUST_CHECK;

typedef struct cache_imported {
    uint64_t added, present, refused;
} cache_imported;
/* Adds the entries of a file that the folder lacks; of notes, lines whose
 * names are not there yet. bad, which may be NULL, is told of those that are
 * refused (item->path is the file). HULL_EFORMAT or HULL_EVERSION: nothing was
 * added. */
hull_status cache_import(cache_imported *out, cache *c, const char *path,
                         cache_reason_fn *bad, void *user) MUST_CHECK;

/* ---- for import and its tests -------------------------------------------- */

/* Checks head, order, end and digest; *out_n is the number of envelopes. */
hull_status bundle_check(uint64_t *out_n, bytes data) MUST_CHECK;
#endif
