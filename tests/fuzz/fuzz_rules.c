/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * Mapping rules from a stranger, on a checkpoint with names in the common
 * spellings: an error, or tensors whose recipes have the types they claim.
 */
#include "compile/rules.h"
#include "fuzz_file.h"
#include "fuzz_limit.h"

static const struct {
    const char *name;
    int64_t shape[2];
} tensors[] = {
    { "model.layers.0.q.weight", { 4, 4 } },
    { "model.layers.0.k.weight", { 4, 4 } },
    { "model.layers.1.q.weight", { 4, 4 } },
    { "model.layers.1.k.weight", { 4, 4 } },
    { "d/e:0", { 2, 3 } },
    { "a", { 1, 6 } },
    { "b", { 6, 1 } },
};

static hull_weights *checkpoint(void)
{
    static const float zeros[16];
    hull_weights *w = NULL;

    if (hull_weights_new(&w) != HULL_OK)
        abort();
    for (size_t i = 0; i < COUNT_OF(tensors); i++) {
        hull_tensor t = { .data = (void *)(uintptr_t)zeros,
                          .shape = tensors[i].shape,
                          .rank = 2,
                          .dtype = HULL_F32 };

        if (hull_weights_add(w, tensors[i].name, &t, NULL, NULL) != HULL_OK)
            abort();
    }
    return w;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static hull_weights *w;
    mapped *mp = NULL;

    if (!w)
        w = checkpoint();
    if (mapped_new(&mp, fuzz_file(p, n), w) == HULL_OK) {
        for (uint32_t i = 0; i < mp->n; i++)
            if (mapped_find(mp, mp->t[i]->name) == NULL ||
                (mp->t[i]->recipe && ir_verify(mp->m) != HULL_OK))
                abort();
    }
    mapped_free(mp);
    return 0;
}
