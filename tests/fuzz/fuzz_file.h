/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * fuzz_file.h - an input as a file alone in a folder, for readers that take a
 * path: external data beside it does not exist. And the checksums of a zip,
 * mended: who makes a hostile file does that too, a fuzzer cannot.
 */
#ifndef HULL_FUZZ_FILE_H
#define HULL_FUZZ_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static char fuzz_dir[256], fuzz_path[280];

static inline void fuzz_remove(void)
{
    unlink(fuzz_path);
    rmdir(fuzz_dir);
}

static inline uint32_t fuzz_get(const uint8_t *p, unsigned n_bytes)
{
    uint32_t v = 0;

    memcpy(&v, p, n_bytes);
    return v;
}

/* The record in the directory at c gets the sum of its stored payload. */
static inline void fuzz_mend_entry(uint8_t *p, size_t n, uint8_t *c)
{
    uint64_t local = fuzz_get(c + 42, 4), size = fuzz_get(c + 20, 4), start;
    uint32_t crc;

    if (local + 30 > n)
        return;
    start = local + 30 + fuzz_get(p + local + 26, 2) +
            fuzz_get(p + local + 28, 2);
    if (start > n || size > n - start || fuzz_get(c + 10, 2) != 0)
        return;
    crc = (uint32_t)crc32(0, p + start, (uInt)size);
    memcpy(c + 16, &crc, 4);
    if (!(fuzz_get(p + local + 6, 2) & 8)) /* no descriptor behind it */
        memcpy(p + local + 14, &crc, 4);
}

static inline void fuzz_mend_zip(uint8_t *p, size_t n)
{
    size_t end = n, at;

    if (n < 68 || memcmp(p, "PK", 2) != 0)
        return;
    for (end = n - 22; end > 0 && memcmp(p + end, "PK\5\6", 4) != 0; end--)
        ;
    for (at = fuzz_get(p + end + 16, 4);
         at + 46 <= n && memcmp(p + at, "PK\1\2", 4) == 0;
         at += 46 + fuzz_get(p + at + 28, 2) + fuzz_get(p + at + 30, 2) +
               fuzz_get(p + at + 32, 2))
        fuzz_mend_entry(p, n, p + at);
}

static inline const char *fuzz_file(const uint8_t *p, size_t n)
{
    uint8_t *copy;
    FILE *f;

    if (fuzz_dir[0] == '\0') {
        const char *base = getenv("TMPDIR");

        snprintf(fuzz_dir, sizeof(fuzz_dir), "%s/hull_fuzz_XXXXXX",
                 base ? base : "/tmp");
        if (!mkdtemp(fuzz_dir))
            abort();
        snprintf(fuzz_path, sizeof(fuzz_path), "%s/input", fuzz_dir);
        atexit(fuzz_remove);
    }
    copy = mem_alloc(n);
    if (!copy)
        abort();
    if (n)
        memcpy(copy, p, n);
    fuzz_mend_zip(copy, n);
    f = fopen(fuzz_path, "wb");
    if (!f || fwrite(copy, 1, n, f) != n || fclose(f) != 0)
        abort();
    mem_free(copy);
    return fuzz_path;
}

#endif
