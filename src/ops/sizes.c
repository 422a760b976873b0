/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * sizes.c - sizes that only a run knows. `bind` turns the elements of a small
 * tensor into the values of symbols, so that all that follows has plain
 * symbolic shapes; `shape` tells the sizes of a value that came without.
 */
#include "ops/data.h"

#include <inttypes.h>
#include <string.h>

static hull_status symbols_infer(graph *g, node *n)
{
    const attr *a = node_attr(n, "symbols");
    const type *x;
    char what[128];
    int64_t size;

    TRY(infer_tensor(&x, g, n, 0));
    if (x->dtype != HULL_I64 || x->rank > 1)
        return fail(HULL_ESHAPE, "%s: operand is %s of rank %u, want i64 of "
                    "rank 0 or 1",
                    node_what(n, what), hull_dtype_name(x->dtype), x->rank);
    if (a->u.dims.n > KNOWN_MAX ||
        !dim_is_int(g->m, x->rank == 0 ? 1 : x->dims[0], &size) ||
        size != (int64_t)a->u.dims.n)
        return fail(HULL_ESHAPE, "%s: %u symbols, want as many as the operand "
                    "has elements, at most %d",
                    node_what(n, what), a->u.dims.n, KNOWN_MAX);
    return infer_out(g, n, 0, HULL_I64, x->dims, x->rank);
}

/* Of any tensor, also one whose sizes no shape rule knows. */
static hull_status shape_infer(graph *g, node *n)
{
    const type *x;
    dim rank;

    TRY(infer_tensor(&x, g, n, 0));
    rank = x->rank;
    return infer_out(g, n, 0, HULL_I64, &rank, 1);
}

hull_status sizes_infer(graph *g, node *n)
{
    return n->op == OP_shape ? shape_infer(g, n) : symbols_infer(g, n);
}

hull_status sizes_eval(eval_ctx *cx, const node *n, const tensor *in,
                      tensor *out)
{
    const attr *a;
    char what[128];

    if (n->op == OP_shape) {
        if (in[0].rank > 0)
            memcpy(out[0].data, in[0].shape, in[0].rank * sizeof(int64_t));
        return HULL_OK;
    }
    a = node_attr(n, "symbols");
    TRY(data_want_numel(n, &in[0], a->u.dims.n));
    for (uint32_t i = 0; i < a->u.dims.n; i++) {
        int64_t v = load_i64(HULL_I64, in[0].data, i);

        TRY(note(dim_assign(cx->env, a->u.dims.p[i], v), "%s: element %u",
                 node_what(n, what), i));
    }
    return data_copy_all(n, &out[0], &in[0]);
}
