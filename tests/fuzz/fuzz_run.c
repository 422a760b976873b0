/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * A model from a stranger, compiled and run once on odd values: an error, or
 * outputs that can be read. The size of the file says on which backend.
 */
#include "fuzz_file.h"
#include "fuzz_limit.h"
#include "hull.h"

#define MAX_IO 8
#define MAX_BYTES ((size_t)1 << 20)

/* Input i: symbols are 3; bytes that make indices small, large and negative. */
static bool make_input(const hull_module *m, size_t i, hull_tensor *t,
                       int64_t *shape, uint8_t **data)
{
    hull_tensor_info info;
    uint64_t n = 1, bits;

    if (hull_module_input(m, i, &info) != HULL_OK)
        return false;
    for (int32_t k = 0; k < info.rank; k++) {
        shape[k] = info.shape[k] < 0 ? 3 : info.shape[k];
        if (!mul_u64(&n, n, (uint64_t)shape[k]) || n > MAX_BYTES)
            return false;
    }
    bits = hull_dtype_bits((hull_dtype)info.dtype);
    n = (n * bits + 7) / 8;
    *data = mem_alloc((size_t)n);
    if (n > MAX_BYTES || !*data)
        return false;
    for (uint64_t k = 0; k < n; k++)
        (*data)[k] = k % (bits < 8 ? 1 : bits / 8) == 0 ? (uint8_t)(k / 2)
                     : k / 64 % 8 == 7                  ? 0xff
                                                        : 0;
    *t = (hull_tensor){ .data = *data, .shape = shape, .rank = info.rank,
                        .dtype = info.dtype };
    return true;
}

/* Every byte of an output, so that a sanitizer sees where it lies. */
static uint8_t read_output(const hull_tensor *t)
{
    uint64_t n = 1;
    uint8_t sum = 0;

    for (int32_t k = 0; k < t->rank; k++)
        n *= (uint64_t)t->shape[k];
    n = (n * hull_dtype_bits((hull_dtype)t->dtype) + 7) / 8;
    for (uint64_t k = 0; k < n; k++)
        sum = (uint8_t)(sum + ((const uint8_t *)t->data)[k]);
    return sum;
}

static void run(hull_module *m)
{
    size_t n_in = hull_module_n_inputs(m), n_out = hull_module_n_outputs(m);
    int64_t shapes[MAX_IO][HULL_MAX_RANK];
    uint8_t *data[MAX_IO] = { NULL };
    hull_tensor in[MAX_IO], out[MAX_IO] = { 0 };
    hull_session *s = NULL;
    volatile uint8_t sum = 0;
    bool fits = n_in <= MAX_IO && n_out <= MAX_IO;

    for (size_t i = 0; fits && i < n_in; i++)
        fits = make_input(m, i, &in[i], shapes[i], &data[i]);
    if (fits && hull_session_new(&s, m, NULL) == HULL_OK &&
        hull_session_run(s, in, n_in, out, n_out) == HULL_OK)
        for (size_t i = 0; i < n_out; i++)
            sum = (uint8_t)(sum + read_output(&out[i]));
    hull_session_free(s);
    for (size_t i = 0; i < MAX_IO; i++)
        mem_free(data[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static const char *const backends[] = { "cpu", "sim", "ref" };
    hull_options *o = NULL;
    hull_module *m = NULL;

    if (hull_options_new(&o) == HULL_OK &&
        hull_options_set(o, "threads", "1") == HULL_OK &&
        hull_options_set(o, "min_block", "1") == HULL_OK &&
        hull_options_set(o, "backends", backends[n % 3]) == HULL_OK &&
        hull_compile(&m, fuzz_file(p, n), NULL, NULL, o) == HULL_OK)
        run(m);
    hull_module_unref(m);
    hull_options_free(o);
    return 0;
}
