/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * envelope.h - how an entry travels: between machines, and in a file of
 * exported entries, where one follows the other. Numbers are little-endian.
 *
 *   envelope := header frame
 *   header   := magic[8] version:u32 zero:u32 kind[16] size:u64 stored:u64
 *               key[32] mac[32]                               112 bytes
 *   magic    := 89 48 55 4c 45 0d 0a 1a   ("\x89HULE\r\n\x1a")
 *   version  := 1
 *   kind     := "engine", "notes", ...    padded with zero bytes
 *   size     := bytes of the entry's file (a container), unpacked
 *   stored   := bytes of the frame
 *   key      := the entry's key: BLAKE2b-256 of its preimage
 *   mac      := wire MAC (seal.h) over the 80 bytes before it and the frame;
 *               zero bytes when there is no secret
 *   frame    := one zstd frame that states its size, with its checksum
 *
 * Whoever opens one checks, in this order: envelope_open (header),
 * envelope_check (MAC), envelope_unpack, then the container as in the folder:
 * nothing is unpacked before its MAC is known to be right.
 */
#ifndef HULL_CACHE_ENVELOPE_H
#define HULL_CACHE_ENVELOPE_H

#include "cache/seal.h"

#define ENVELOPE_HEADER_SIZE 112
#define ENVELOPE_KIND_SIZE 16
#define ENVELOPE_VERSION 1

typedef struct envelope {
    cache_kind kind;
    digest key;      /* of the entry */
    uint64_t size;   /* of the entry's file when it is unpacked, bytes */
    bool is_signed;  /* has a MAC; whether it is right says envelope_check */
    bytes header, frame;
    size_t n;        /* bytes of both; what follows is another envelope */
} envelope;

/* Appends the envelope of an entry's file; s NULL: without a MAC. */
hull_status envelope_pack(buf *out, cache_kind kind, const digest *key,
                          bytes content, const seal *s) MUST_CHECK;
/* Reads the header of the envelope at the beginning of data. HULL_EFORMAT, or
 * HULL_EVERSION for a version or a kind that this build does not know. */
hull_status envelope_open(envelope *out, bytes data) MUST_CHECK;
/* HULL_EMISMATCH unless the MAC is that of the secret; s NULL: HULL_OK. */
hull_status envelope_check(const envelope *e, const seal *s) MUST_CHECK;
/* The entry's file. HULL_EFORMAT when it is damaged or larger than max. */
hull_status envelope_unpack(blob **out, const envelope *e, uint64_t max)
    MUST_CHECK;

/* Checks an entry that came from elsewhere: its MAC if there is a secret, that
 * it unpacks into no more than max bytes, its container, that its key is the
 * digest of its preimage; one with code must be signed (HULL_EUNSUPPORTED).
 * cache_entry_close(out), also after a failure. */
hull_status entry_arrived(cache_entry *out, bytes *out_key, const cache *c,
                          const envelope *e, uint64_t max) MUST_CHECK;

#endif
