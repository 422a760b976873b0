/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * .npy and .npz from a stranger: an error or tensors that can be read, and
 * what was read can be written and read again.
 */
#include "cli/npy.h"
#include "fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    tensor_file f = { 0 }, again = { 0 };
    uint8_t *copy = mem_alloc(n); /* exact, so that a sanitizer sees more */
    bytes d = { copy, n };
    buf b;
    hull_status st;

    if (!copy)
        return 0;
    if (n)
        memcpy(copy, p, n);
    fuzz_mend_zip(copy, n);
    if (n >= 2 && memcmp(p, "PK", 2) == 0)
        st = npz_parse(&f, d);
    else
        st = npy_parse(&f, str_of("x"), d);
    for (size_t i = 0; st == HULL_OK && i < f.n; i++) {
        buf_init(&b, (size_t)1 << 30);
        if (npy_format(&b, &f.items[i]) != HULL_OK ||
            npy_parse(&again, str_of("x"),
                      (bytes){ (const uint8_t *)b.p, b.n }) != HULL_OK ||
            again.items[i].n_bytes != f.items[i].n_bytes ||
            memcmp(again.items[i].data, f.items[i].data,
                   (size_t)f.items[i].n_bytes) != 0)
            abort();
        buf_fini(&b);
    }
    tensor_file_fini(&again);
    tensor_file_fini(&f);
    mem_free(copy);
    return 0;
}
