/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * fuzz_file.h - an input as a file alone in a folder, for readers that take a
 * path: external data beside it does not exist.
 */
#ifndef HULL_FUZZ_FILE_H
#define HULL_FUZZ_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static char fuzz_dir[256], fuzz_path[280];

static void fuzz_remove(void)
{
    unlink(fuzz_path);
    rmdir(fuzz_dir);
}

static const char *fuzz_file(const uint8_t *p, size_t n)
{
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
    f = fopen(fuzz_path, "wb");
    if (!f || fwrite(p, 1, n, f) != n || fclose(f) != 0)
        abort();
    return fuzz_path;
}

#endif
