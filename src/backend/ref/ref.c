/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * ref.c - the reference backend: host memory, reference kernels, everything
 * done at once. It takes every node, so a model whose operators are known
 * always runs. It is the oracle for the others.
 */
#include "backend/host.h"

static hull_status ref_open(device **out, const options *o, pool *p)
{
    (void)o;
    *out = mem_calloc(1, sizeof **out);
    if (*out == NULL)
        return fail_oom(sizeof **out);
    (*out)->be = &backend_ref;
    (*out)->pool = p;
    return HULL_OK;
}

static void ref_close(device *d)
{
    mem_free(d);
}

static void ref_target(buf *out, const device *d)
{
    (void)d;
    buf_puts(out, "ref kernels " HULL_REF_SOURCES);
}

static const char *ref_why_not(const device *d, const graph *g, const node *n)
{
    (void)d;
    (void)g;
    (void)n;
    return NULL;
}

static hull_status ref_lower(device *d, graph *g, const options *o,
                             const notebook *notes)
{
    (void)d;
    (void)g;
    (void)o;
    (void)notes;
    return HULL_OK;
}

const backend backend_ref = {
    .name = "ref",
    .open = ref_open,
    .close = ref_close,
    .target = ref_target,
    .why_not = ref_why_not,
    .lower = ref_lower,
    HOST_BACKEND,
};
