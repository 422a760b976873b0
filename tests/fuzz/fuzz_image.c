/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * A picture from a stranger, in any format: nothing, or pixels.
 */
#include <stdlib.h>

#include "fuzz_limit.h"
#include "ops/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    const image_format *f = image_format_of((bytes){ p, n });
    volatile uint8_t sum = 0;
    image m;

    if (f == NULL || f->decode == NULL || !f->decode(&m, (bytes){ p, n }))
        return 0;
    if (m.w < 1 || m.h < 1 || m.h > IMAGE_PIXELS_MAX / m.w)
        abort();
    for (int64_t i = 0; i < 3 * m.w * m.h; i++)
        sum = (uint8_t)(sum + m.p[i]);
    image_fini(&m);
    return 0;
}
