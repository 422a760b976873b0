/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * fixture_io.h - runs a session on the inputs of a fixture's io file and
 * compares with its outputs.
 */
#ifndef HULL_FIXTURE_IO_H
#define HULL_FIXTURE_IO_H

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "run/run.h"

#define ATOL 1e-4
#define RTOL 1e-3
#define MAX_TENSORS 16

/* Named tensors "input_<i><suffix>" of an io file, dense in memory. */
typedef struct io {
    hull_tensor t[MAX_TENSORS];
    uint64_t bytes[MAX_TENSORS];
    size_t n;
} io;

static inline void io_free(io *x)
{
    for (size_t i = 0; i < x->n; i++)
        mem_free(x->t[i].data);
    x->n = 0;
}

static inline hull_status io_read(io *out, const weights *w, const char *what,
                                  const char *suffix)
{
    out->n = 0;
    for (size_t i = 0; i < MAX_TENSORS; i++) {
        char name[64];
        const weight_entry *e;
        hull_tensor *t = &out->t[i];

        snprintf(name, sizeof name, "%s_%zu%s", what, i, suffix);
        e = weights_find(w, str_of(name));
        if (e == NULL)
            break;
        *t = (hull_tensor){.shape = e->shape, .rank = (int32_t)e->rank,
                           .dtype = (int32_t)e->dtype};
        t->data = mem_alloc(e->len + 1);
        if (t->data == NULL)
            return fail_oom(e->len);
        out->bytes[i] = e->len;
        out->n = i + 1;
        TRY(weights_read(w, e, t->data));
    }
    return HULL_OK;
}

static inline hull_status close_enough(const hull_tensor *got,
                                       const hull_tensor *want, size_t i)
{
    uint64_t n = 1;

    if (got->dtype != want->dtype || got->rank != want->rank)
        return fail(HULL_EMISMATCH, "output %zu has another type: %s rank %d, "
                    "wanted %s rank %d", i,
                    hull_dtype_name((hull_dtype)got->dtype), got->rank,
                    hull_dtype_name((hull_dtype)want->dtype), want->rank);
    for (int32_t k = 0; k < want->rank; k++) {
        if (got->shape[k] != want->shape[k])
            return fail(HULL_EMISMATCH, "output %zu dim %d is %" PRId64
                        ", wanted %" PRId64, i, k, got->shape[k],
                        want->shape[k]);
        n *= (uint64_t)want->shape[k];
    }
    for (uint64_t k = 0; k < n; k++) {
        double a = load_f64((hull_dtype)got->dtype, got->data, k);
        double b = load_f64((hull_dtype)want->dtype, want->data, k);

        if (!(fabs(a - b) <= ATOL + RTOL * fabs(b)) && !(isnan(a) && isnan(b)))
            return fail(HULL_EMISMATCH, "output %zu element %" PRIu64
                        " is %g, wanted %g", i, k, a, b);
    }
    return HULL_OK;
}

/* Runs and compares; keeps a copy of the outputs' bytes in *kept when given. */
static inline hull_status check_run(hull_session *s, const weights *w,
                                    const char *suffix, io *kept)
{
    io in = {0}, want = {0};
    hull_tensor out[MAX_TENSORS] = {0};
    hull_status st = HULL_OK;

    TRY_OUT(io_read(&in, w, "input", suffix));
    TRY_OUT(io_read(&want, w, "output", suffix));
    TRY_OUT(hull_session_run(s, in.t, in.n, out, want.n));
    for (size_t i = 0; i < want.n; i++)
        TRY_OUT(close_enough(&out[i], &want.t[i], i));
    for (size_t i = 0; kept != NULL && i < want.n; i++) {
        kept->t[i].data = mem_alloc(want.bytes[i] + 1);
        if (kept->t[i].data == NULL)
            TRY_OUT(fail_oom(want.bytes[i]));
        memcpy(kept->t[i].data, out[i].data, want.bytes[i]);
        kept->bytes[i] = want.bytes[i];
        kept->n = i + 1;
    }
out:
    io_free(&in);
    io_free(&want);
    return st;
}

#endif
