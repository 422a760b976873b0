/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * A checkpoint of any format from a stranger: an error, or an index whose
 * every tensor can be read.
 */
#include "fuzz_file.h"
#include "weights/weights.h"

#define READ_MAX (1u << 26)

static void read_one(const weights *w, const weight_entry *e)
{
    const uint8_t *view = weights_view(w, e);
    volatile uint8_t sum = 0;
    uint8_t *copy;

    if (e->len > READ_MAX || weights_storage(w, e)->absent)
        return;
    copy = mem_alloc((size_t)e->len);
    if (!copy)
        return;
    ignore(weights_read(w, e, copy)); /* the file may be cut: an error */
    for (uint64_t i = 0; view && i < e->len; i++)
        sum = (uint8_t)(sum + view[i]);
    mem_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    weights *w = NULL;

    if (weights_open(&w, fuzz_file(p, n), NULL) == HULL_OK)
        for (size_t i = 0; i < weights_count(w); i++)
            read_one(w, weights_at(w, i));
    weights_unref(w);
    return 0;
}
