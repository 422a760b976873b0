/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * rows.h - broadcast operands row by row, over threads: the walk of
 * ops/family.h, entered at any row. Steps are 0 or 1.
 */
#ifndef HULL_CPU_ROWS_H
#define HULL_CPU_ROWS_H

#include "backend/cpu/cpu.h"
#include "ops/family.h"

/* n elements: result from at_out on, operand k from at[k] on. */
typedef struct row {
    int64_t n, at_out;
    int64_t at[WALK_MAX], step[WALK_MAX];
} row;
typedef void row_fn(const void *user, const row *r);

typedef struct rows {
    walk first;
    row_fn *fn;
    const void *user;
} rows;

static inline void walk_place(walk *w)
{
    for (uint32_t k = 0; k < w->n_in; k++) {
        w->at[k] = 0;
        for (uint32_t i = 0; i + 1 < w->rank; i++)
            w->at[k] += w->index[i] * w->strides[k][i];
    }
}

static void rows_run(const rows *r, const walk *w, int64_t from, int64_t n)
{
    row one = {.n = n, .at_out = w->at_out + from};

    for (uint32_t k = 0; k < w->n_in; k++) {
        one.step[k] = w->step[k];
        one.at[k] = w->at[k] + from * w->step[k];
    }
    r->fn(r->user, &one);
}

static void rows_part(void *user, int64_t begin, int64_t end)
{
    const rows *r = user;
    walk w = r->first;
    int64_t left = begin;
    uint32_t last = w.rank - 2;

    if (w.rank < 2) {
        rows_run(r, &w, begin, end - begin);
        return;
    }
    for (uint32_t i = w.rank - 1; i-- > 0;) {
        w.index[i] = left % w.shape[i];
        left /= w.shape[i];
    }
    w.at_out = begin * w.row;
    walk_place(&w);
    for (; begin < end; begin++) {
        rows_run(r, &w, 0, w.row);
        w.at_out += w.row;
        if (++w.index[last] < w.shape[last]) {
            for (uint32_t k = 0; k < w.n_in; k++)
                w.at[k] += w.strides[k][last];
        } else {
            w.index[last]--;
            index_next(w.index, w.shape, w.rank - 1);
            walk_place(&w);
        }
    }
}

/* Calls fn for all elements; `cost` of one in nanoseconds. */
static hull_status rows_for(eval_ctx *cx, const node *n, const tensor *in,
                            uint32_t n_in, const tensor *out, double cost,
                            row_fn *fn, const void *user)
{
    rows r = {.fn = fn, .user = user};
    int64_t count = 1;

    TRY(walk_begin(&r.first, n, in, n_in, out));
    if (!r.first.more)
        return HULL_OK;
    if (r.first.rank < 2) {
        cpu_parallel(cx, r.first.row, 1024, cost, rows_part, &r);
        return HULL_OK;
    }
    for (uint32_t i = 0; i + 1 < r.first.rank; i++)
        count *= r.first.shape[i];
    cpu_parallel(cx, count, 1, cost * (double)r.first.row + 10, rows_part, &r);
    return HULL_OK;
}

#endif
