/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * An ONNX or PT2 model from a stranger: an error, or a graph that verifies.
 */
#include "front/front.h"
#include "fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    front_model *fm = NULL;

    if (front_import(&fm, fuzz_file(p, n), NULL) == HULL_OK &&
        ir_verify(fm->m) != HULL_OK)
        abort();
    front_free(fm);
    return 0;
}
