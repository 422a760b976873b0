/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * What a cache folder says of the demo's model, from a stranger: a plan's entry,
 * which is an error or a plan whose parts fit, or the lines of a manifest.
 */
#include "compile/compile.h"
#include "fuzz_container.h"
#include "fuzz_file.h"
#include "fuzz_limit.h"

static void take_plan(uint8_t *p, size_t n, const devices *ds,
                      const weights *native)
{
    container *c = NULL;
    plan *made = NULL;

    fuzz_mend_container(p, n);
    if (container_open(&c, (bytes){p, n}, UINT64_MAX) == HULL_OK &&
        plan_read_frame(&made, c, ds, NULL, native) == HULL_OK &&
        plan_check(made) != HULL_OK)
        abort();
    plan_free(made);
    container_free(c);
}

static void take_manifest(const uint8_t *p, size_t n, const devices *ds,
                          weights *native)
{
    direct d = {.ds = ds};
    str rest = {(const char *)p, n};
    plan *made = NULL;

    if (cache_open(&d.c, fuzz_dir, NULL) != HULL_OK)
        return;
    for (int i = 0; i < 8 && rest.n > 0; i++)
        if (direct_try(&made, &d, native, str_split(rest, '\n', &rest)) ==
            HULL_OK && made != NULL)
            abort(); /* nobody stored it */
    cache_unref(d.c);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    uint8_t *copy = mem_alloc(n);
    weights *native = NULL;
    devices ds = {0};

    (void)fuzz_file(p, 0); /* makes the folder */
    if (copy == NULL || devices_open(&ds, NULL) != HULL_OK)
        abort();
    if (weights_open(&native, HULL_DEMO "/digits.onnx", NULL) != HULL_OK)
        abort();
    if (n > 0)
        memcpy(copy, p, n);
    if (n > 5 && memcmp(p, CONTAINER_MAGIC, 5) == 0)
        take_plan(copy, n, &ds, native);
    else
        take_manifest(copy, n, &ds, native);
    weights_unref(native);
    devices_close(&ds);
    mem_free(copy);
    return 0;
}
