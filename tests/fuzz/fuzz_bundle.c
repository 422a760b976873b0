/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * A file of exported entries from a stranger, with its digest and its count
 * mended: an error that adds nothing, or entries that verify.
 */
#include "cache/bundle.h"
#include "fuzz_file.h"
#include "fuzz_limit.h"

static char fuzz_cache[300];

static void remove_cache(void)
{
    char command[400];

    snprintf(command, sizeof(command), "rm -rf '%s'", fuzz_cache);
    if (system(command) != 0)
        abort();
}

static cache *opened(void)
{
    cache *c;

    snprintf(fuzz_cache, sizeof(fuzz_cache), "%s/cache", fuzz_dir);
    if (cache_open(&c, fuzz_cache, NULL) != HULL_OK)
        abort();
    atexit(remove_cache); /* before the folder that it is in */
    return c;
}

/* Who makes a hostile file counts its entries and digests it. */
static void mend(uint8_t *p, size_t n)
{
    size_t at = BUNDLE_HEAD_SIZE, end;
    uint64_t count = 0;
    envelope e;
    digest d;

    if (n < BUNDLE_HEAD_SIZE + BUNDLE_END_SIZE)
        return;
    end = n - BUNDLE_END_SIZE;
    while (at < end && envelope_open(&e, (bytes){ p + at, end - at }) ==
                           HULL_OK) {
        at += e.n;
        count++;
    }
    memcpy(p + end + 8, &count, 8);
    d = digest_of(p, n - sizeof(d.b));
    memcpy(p + end + 16, d.b, sizeof(d.b));
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static cache *c;
    uint8_t *copy = mem_alloc(n);
    cache_imported counts;
    uint64_t good, bad;
    const char *path;

    if (!copy)
        return 0;
    if (n)
        memcpy(copy, p, n);
    mend(copy, n);
    path = fuzz_file(copy, n);
    mem_free(copy);
    if (!c)
        c = opened();
    ignore(cache_import(&counts, c, path, NULL, NULL));
    if (cache_verify(c, NULL, NULL, &good, &bad) != HULL_OK || bad > 0 ||
        good != counts.added)
        abort();
    if (cache_clear(c) != HULL_OK)
        abort();
    return 0;
}
