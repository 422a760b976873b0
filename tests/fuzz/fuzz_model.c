/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * An ONNX or PT2 model from a stranger: an error, or a graph that verifies;
 * then its passes, blocks and weights: an error, or a filled module.
 */
#include "front/front.h"
#include "fuzz_file.h"
#include "fuzz_limit.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    const char *path = fuzz_file(p, n);
    front_model *fm = NULL;
    hull_module *m = NULL;
    hull_status st = front_import(&fm, path, NULL);

    if (st == HULL_OK && ir_verify(fm->m) != HULL_OK)
        abort();
    front_free(fm);
    if (st == HULL_OK && hull_compile(&m, path, NULL, NULL, NULL) ==
        HULL_EINTERNAL)
        abort();
    hull_module_unref(m);
    return 0;
}
