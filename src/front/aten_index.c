/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * aten_index.c - lowerings of look-ups and writes by index.
 */
#include "front/aten.h"

#include <string.h>

static val axis_node(aten_call *c, op_code op, const val *in, uint32_t n,
                     uint32_t axis)
{
    node *d = node_new(c->g, op);

    for (uint32_t i = 0; i < n; i++)
        node_input(c->g, d, in[i]);
    node_int(c->g, d, "axis", axis);
    return node_add(c->g, d);
}

void aten_embedding(aten_call *c)
{
    val in[] = {arg_tensor(c, 0), arg_tensor(c, 1)};

    front_is_parameter(c->f, in[0]);
    ret(c, axis_node(c, OP_gather, in, 2, 0));
}

/* ---- advanced indexing --------------------------------------------------- */

typedef struct indexing {
    uint32_t n;                      /* index tensors */
    uint32_t axes[HULL_MAX_RANK];    /* what they index, ascending */
    val at[HULL_MAX_RANK];
    bool adjacent;
    dim shape[HULL_MAX_RANK];        /* their common shape */
    uint32_t rank;
} indexing;

static void common_shape(aten_call *c, indexing *d)
{
    for (uint32_t k = 0; k < d->n; k++)
        if (call_rank(c, d->at[k]) > d->rank)
            d->rank = call_rank(c, d->at[k]);
    for (uint32_t i = 0; i < d->rank; i++)
        d->shape[i] = 1;
    for (uint32_t k = 0; k < d->n; k++) {
        uint32_t r = call_rank(c, d->at[k]), lead = d->rank - r;

        for (uint32_t i = 0; i < r; i++)
            d->shape[lead + i] = dim_bcast(c->m, d->shape[lead + i],
                                           call_dims(c, d->at[k])[i]);
    }
}

static void add_index(aten_call *c, indexing *d, uint32_t axis, uint32_t rank,
                      val at)
{
    if (axis >= rank) {
        call_fail(c, HULL_EFORMAT, "indices do not fit the rank");
        return;
    }
    d->adjacent &= d->n == 0 || d->axes[d->n - 1] + 1 == axis;
    d->axes[d->n] = axis;
    d->at[d->n++] = at;
}

/* Reads list argument 1; false when this form has no lowering. A mask counts
 * as the places where it is true, one vector for each of its axes. */
static bool read_indices(aten_call *c, val x, indexing *d)
{
    const aten_value *list = &c->args[1];
    uint32_t axis = 0, rank = call_rank(c, x);

    *d = (indexing){.adjacent = true};
    if (list->kind != ATEN_TENSORS || list->n > rank) {
        call_fail(c, HULL_EFORMAT, "indices do not fit the rank");
        return false;
    }
    for (uint32_t i = 0; i < list->n && c->st == HULL_OK; i++) {
        val at = list->vals[i], rows[HULL_MAX_RANK] = {0};
        hull_dtype dt = at ? call_dtype(c, at) : HULL_NONE;
        uint32_t n = 1;

        if (!at) {
            axis++;
            continue;
        }
        if (dt == HULL_BOOL || dt == HULL_U8)
            n = aten_mask_rows(c, at, rows);
        else
            rows[0] = op_cast(c->g, at, HULL_I64);
        for (uint32_t k = 0; k < n; k++)
            add_index(c, d, axis++, rank, rows[k]);
    }
    if (c->st != HULL_OK || c->missing)
        return false;
    common_shape(c, d);
    if (d->rank + rank - d->n >= HULL_MAX_RANK) {
        call_fail(c, HULL_EUNSUPPORTED, "the rank becomes too large");
        return false;
    }
    return d->n > 0;
}

/* Indexed axes first, the others in order. */
static uint32_t axes_first(const indexing *d, uint32_t rank, int64_t *perm)
{
    uint32_t n = 0;
    bool used[HULL_MAX_RANK] = {false};

    for (uint32_t k = 0; k < d->n; k++) {
        perm[n++] = d->axes[k];
        used[d->axes[k]] = true;
    }
    for (uint32_t i = 0; i < rank; i++)
        if (!used[i])
            perm[n++] = i;
    return n;
}

static val reorder(aten_call *c, val x, const int64_t *perm, uint32_t n)
{
    bool same = true;

    for (uint32_t i = 0; i < n; i++)
        same &= perm[i] == i;
    return same ? x : op_transpose(c->g, x, perm, n);
}

/* [.., n]: one row of n coordinates per place of the common shape. */
static val coordinates(aten_call *c, const indexing *d)
{
    val parts[HULL_MAX_RANK];

    for (uint32_t k = 0; k < d->n; k++) {
        val at = aten_broadcast(c, d->at[k], d->shape, d->rank);

        parts[k] = aten_insert_axis(c, at, d->rank);
    }
    return d->n == 1 ? parts[0] : op_concat(c->g, parts, d->n, d->rank);
}

/* Where the common shape stands in the result: at the first indexed axis when
 * the indexed axes are adjacent, else in front. perm: from [common, rest] to
 * the result. */
static uint32_t result_order(const indexing *d, uint32_t rank, int64_t *perm)
{
    uint32_t lead = d->adjacent ? d->axes[0] : 0, n = 0;
    uint32_t rest = rank - d->n;

    for (uint32_t i = 0; i < lead; i++)
        perm[n++] = d->rank + i;
    for (uint32_t i = 0; i < d->rank; i++)
        perm[n++] = i;
    for (uint32_t i = lead; i < rest; i++)
        perm[n++] = d->rank + i;
    return n;
}

void aten_index(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t rank = call_rank(c, x), n;
    int64_t perm[HULL_MAX_RANK];
    indexing d;

    if (!read_indices(c, x, &d)) {
        if (c->st == HULL_OK && !c->missing)
            ret(c, x);
        return;
    }
    if (d.n == 1) {
        val in[] = {x, d.at[0]};

        ret(c, axis_node(c, OP_gather, in, 2, d.axes[0]));
        return;
    }
    n = axes_first(&d, rank, perm);
    node *g = node_new(c->g, OP_gather_nd);
    node_input(c->g, g, reorder(c, x, perm, n));
    node_input(c->g, g, coordinates(c, &d));
    val y = node_add(c->g, g);
    n = result_order(&d, rank, perm);
    ret(c, reorder(c, y, perm, n));
}

static void invert(const int64_t *perm, uint32_t n, int64_t *out)
{
    for (uint32_t i = 0; i < n; i++)
        out[perm[i]] = i;
}

/* The indices are a single mask, for the axes from *first on. */
static bool one_mask(const aten_call *c, uint32_t *first)
{
    const aten_value *list = &c->args[1];
    uint32_t n = 0;

    for (uint32_t i = 0; list->kind == ATEN_TENSORS && i < list->n; i++) {
        if (!list->vals[i])
            continue;
        hull_dtype dt = graph_type(c->g, list->vals[i])->dtype;
        if (n++ > 0 || (dt != HULL_BOOL && dt != HULL_U8))
            return false;
        *first = i;
    }
    return n == 1;
}

/* (self, indices, values, accumulate) */
void aten_index_put(aten_call *c)
{
    val x = arg_tensor(c, 0), src = arg_tensor(c, 2);
    uint32_t rank = call_rank(c, x), n, m, first = 0;
    int64_t perm[HULL_MAX_RANK], order[HULL_MAX_RANK], back[HULL_MAX_RANK];
    dim d[HULL_MAX_RANK];
    indexing at;

    if (one_mask(c, &first)) { /* x[mask] = values */
        val mask = c->args[1].vals[first];
        bool adds = arg_bool(c, 3);

        if (c->st == HULL_OK && !aten_put_mask(c, x, mask, first, src, adds))
            call_missing(c, "a mask and values that do not fit");
        return;
    }
    if (!read_indices(c, x, &at)) {
        if (c->st == HULL_OK && !c->missing)
            call_missing(c, "without indices");
        return;
    }
    n = axes_first(&at, rank, perm);
    m = result_order(&at, rank, order);
    /* The shape that values broadcast to, then in the order of the update. */
    for (uint32_t i = 0; i < m; i++) {
        uint32_t k = (uint32_t)order[i];

        d[i] = k < at.rank ? at.shape[k]
                           : call_dims(c, x)[perm[k - at.rank + at.n]];
    }
    src = aten_broadcast(c, op_cast(c->g, src, call_dtype(c, x)), d, m);
    invert(order, m, back);
    src = reorder(c, src, back, m);
    node *g = node_new(c->g, OP_scatter_nd);
    node_input(c->g, g, reorder(c, x, perm, n));
    node_input(c->g, g, coordinates(c, &at));
    node_input(c->g, g, src);
    node_str(c->g, g, "reduce", str_of(arg_bool(c, 3) ? "add" : "none"));
    val y = node_add(c->g, g);
    invert(perm, n, back);
    ret(c, reorder(c, y, back, n));
}
