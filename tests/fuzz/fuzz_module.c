/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * A module file from a stranger: an error, or a module that describes itself.
 */
#include "fuzz_container.h"
#include "fuzz_file.h"
#include "fuzz_limit.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    hull_module *m = NULL;
    char *text = NULL;
    uint8_t *copy = mem_alloc(n);

    if (!copy)
        return 0;
    if (n)
        memcpy(copy, p, n);
    fuzz_mend_container(copy, n);
    if (hull_module_load(&m, fuzz_file(copy, n), NULL, NULL, NULL) == HULL_OK &&
        hull_module_describe(&text, m) != HULL_OK)
        abort();
    hull_free(text);
    hull_module_unref(m);
    mem_free(copy);
    return 0;
}
