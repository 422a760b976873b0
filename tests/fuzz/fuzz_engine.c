/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * An engine file, as a cache has them, from a stranger: an error, or an engine
 * that can be written.
 */
#include <stdlib.h>

#include "engine/engine.h"
#include "fuzz_container.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    container *c = NULL;
    container_writer *w = NULL;
    engine *e = NULL;
    uint8_t *copy = mem_alloc(n);

    if (!copy)
        return 0;
    if (n)
        memcpy(copy, p, n);
    fuzz_mend_container(copy, n);
    if (container_open(&c, (bytes){ copy, n }, UINT64_MAX) == HULL_OK &&
        engine_read(&e, c) == HULL_OK && engine_write(&w, e) != HULL_OK)
        abort();
    container_writer_free(w);
    engine_unref(e);
    container_free(c);
    mem_free(copy);
    return 0;
}
