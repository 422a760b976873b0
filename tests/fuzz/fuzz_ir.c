/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * IR text from a stranger: an error, or graphs that verify; what they print
 * parses again and prints the same.
 */
#include <stdlib.h>

#include "ir/ir.h"

#define TEXT_MAX ((size_t)1 << 26)

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    ir *m = NULL, *again = NULL;
    buf a, b;

    buf_init(&a, TEXT_MAX);
    buf_init(&b, TEXT_MAX);
    if (ir_parse(&m, (str){ (const char *)p, n }, NULL) == HULL_OK) {
        ir_print(&a, m);
        if (buf_status(&a) == HULL_OK) {
            if (ir_parse(&again, buf_view(&a), m) != HULL_OK)
                abort();
            ir_print(&b, again);
            if (buf_status(&b) != HULL_OK ||
                !str_eq(buf_view(&a), buf_view(&b)))
                abort();
        }
    }
    ir_free(again);
    ir_free(m);
    buf_fini(&a);
    buf_fini(&b);
    return 0;
}
