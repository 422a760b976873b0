/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * A regular expression from a stranger, a zero byte, and a text to match: an
 * error or an answer, and neither takes long.
 */
#include <string.h>

#include "fuzz_limit.h"
#include "ops/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    const uint8_t *end = n ? memchr(p, 0, n) : NULL;
    size_t n_pattern = end ? (size_t)(end - p) : n;
    hull_string text = { "", 0 };
    regex *r = NULL;
    bool yes;

    if (end)
        text = (hull_string){ (const char *)end + 1, n - n_pattern - 1 };
    if (regex_new(&r, (str){ (const char *)p, n_pattern }) == HULL_OK)
        ignore(regex_match(&yes, r, text)); /* an error is an answer, too */
    regex_free(r);
    return 0;
}
