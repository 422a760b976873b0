/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * work.c - dividing a kernel's work over threads. The pieces depend on sizes
 * and the number of threads alone, and no result depends on the pieces.
 */
#include "backend/cpu/cpu.h"

/* A piece is worth this much at least; there are up to four for each thread,
 * so that one that is slower for a while does fewer of them. */
#define PIECE_NS 4000
#define WORTH_NS 10000 /* of all pieces together */

int64_t cpu_tile(cpu_level l)
{
    return l == CPU_AVX512 ? 32 : 16;
}

typedef struct pieces {
    cpu_range_fn *fn;
    void *user;
    int64_t n, each;
} pieces;

static hull_status run_piece(void *user, size_t i)
{
    const pieces *p = user;
    int64_t begin = (int64_t)i * p->each, end = begin + p->each;

    p->fn(p->user, begin, end < p->n ? end : p->n);
    return HULL_OK;
}

int64_t cpu_pieces(const eval_ctx *cx, int64_t n, double total)
{
    int64_t threads = pool_threads(cx->pool), parts = 4 * threads;

    if (threads < 2 || n < 2 || total < WORTH_NS)
        return 1;
    if (total < PIECE_NS * (double)parts)
        parts = (int64_t)(total / PIECE_NS);
    return parts < n ? parts : n;
}

void cpu_parallel(eval_ctx *cx, int64_t n, int64_t grain, double cost,
                  cpu_range_fn *fn, void *user)
{
    int64_t parts = cpu_pieces(cx, n, cost * (double)n);
    pieces p = {fn, user, n, n};

    if (n <= 0)
        return;
    if (n <= grain || parts == 1) {
        fn(user, 0, n);
        return;
    }
    p.each = (n + parts - 1) / parts;
    p.each = (p.each + grain - 1) / grain * grain;
    ignore(pool_for(cx->pool, (size_t)((n + p.each - 1) / p.each), run_piece,
                    &p)); /* pieces do not fail */
}

bool cpu_all_dtype(const graph *g, const node *n, hull_dtype dt)
{
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i] != 0 && (graph_type(g, n->in[i])->kind != TYPE_TENSOR ||
                              graph_type(g, n->in[i])->dtype != dt))
            return false;
    return graph_type(g, n->out[0])->dtype == dt;
}
