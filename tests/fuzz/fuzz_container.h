/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * fuzz_container.h - the checksums of a container file, mended: who makes a
 * hostile file does that too, a fuzzer cannot.
 */
#ifndef HULL_FUZZ_CONTAINER_H
#define HULL_FUZZ_CONTAINER_H

#include <string.h>

#include "container/layout.h"

#define HEADER_SUM (HEADER_SIZE - CHECKSUM_SIZE)
#define ENTRY_SUM (ENTRY_SIZE - CHECKSUM_SIZE)

static uint64_t get(const uint8_t *p, unsigned n_bytes)
{
    uint64_t v = 0;

    memcpy(&v, p, n_bytes);
    return v;
}

static void set_sum(uint8_t *at, const uint8_t *p, size_t n)
{
    checksum c = checksum_of(p, n);

    memcpy(at, &c.lo, 8);
    memcpy(at + 8, &c.hi, 8);
}

static void fuzz_mend_container(uint8_t *p, size_t n)
{
    uint64_t count, table, size;

    if (n < HEADER_SIZE + CHECKSUM_SIZE)
        return;
    count = get(p + 16, 4);
    size = count * ENTRY_SIZE;
    if (size > n - HEADER_SIZE - CHECKSUM_SIZE)
        return;
    table = n - size - CHECKSUM_SIZE;
    memcpy(p + 24, &table, 8);
    memcpy(p + 32, &(uint64_t){ n }, 8);
    set_sum(p + HEADER_SUM, p, HEADER_SUM);
    for (uint64_t i = 0; i < count; i++) {
        uint8_t *e = p + table + i * ENTRY_SIZE;
        uint64_t off = get(e + TAG_SIZE, 8), stored = get(e + TAG_SIZE + 8, 8);

        if (off <= n && stored <= n - off)
            set_sum(e + ENTRY_SUM, p + off, stored);
    }
    set_sum(p + table + size, p + table, size);
}

#endif
