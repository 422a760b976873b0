/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * replay.c - runs a fuzz target over files and folders without a fuzzer, so
 * that every build and every compiler checks the corpus. A file that takes
 * longer than LIMIT_S, with a sanitizer and on a busy machine, ends the run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"

#define LIMIT_S 30

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static hull_status replay(void *user, const char *path, const file_id *id)
{
    char *data = NULL;
    size_t n = 0;
    unsigned *count = user;
    uint8_t *exact;

    (void)id;
    TRY(file_read_all(&data, &n, path, (size_t)1 << 30));
    exact = mem_alloc(n); /* no NUL behind it: AddressSanitizer sees more */
    if (!exact) {
        mem_free(data);
        return fail_oom(n);
    }
    for (size_t i = 0; i < n; i++)
        exact[i] = (uint8_t)data[i];
    mem_free(data);
    puts(path); /* the last one printed is the one that crashed or hung */
    fflush(stdout);
    alarm(LIMIT_S);
    (void)LLVMFuzzerTestOneInput(exact, n);
    alarm(0);
    mem_free(exact);
    ++*count;
    return HULL_OK;
}

int main(int argc, char **argv)
{
    unsigned count = 0;

    for (int i = 1; i < argc; i++) {
        struct stat s;
        bool is_dir = stat(argv[i], &s) == 0 && S_ISDIR(s.st_mode);

        if ((is_dir ? dir_walk(argv[i], replay, &count)
                    : replay(&count, argv[i], NULL)) != HULL_OK) {
            fprintf(stderr, "%s: %s\n", argv[i], error_text());
            return 1;
        }
    }
    printf("%u passed, %d failed, 0 skipped\n", count, count == 0);
    return count == 0;
}
