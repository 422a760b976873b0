/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_shape.c - lowerings of operators that make shapes and move data by
 * structure. A shape is a `dims` value, so that what models compute from it
 * comes back here as sizes; where structure is data, front_dynamic.c binds it
 * to symbols that the run gives their values.
 */
#include "front/onnx_lower.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define LIST_MAX 64

/* Copy of x's dims (adding nodes may move types); rank to *out_rank. */
static hull_status dims_of(onnx_call *c, val x, dim *out, uint32_t *out_rank)
{
    const type *t = onnx_type(c, x);

    *out_rank = 0;
    if (!t)
        return fail(HULL_EINTERNAL, "an operand has no type");
    if (t->rank)
        memcpy(out, t->dims, t->rank * sizeof *out);
    *out_rank = t->rank;
    return HULL_OK;
}

static val scalar_of(onnx_call *c, dim d)
{
    return op_reshape(c->g, op_dims(c->g, &d, 1), NULL, 0);
}

/* value_int, value_ints, value_float, value_floats of a node in a body. */
static hull_status add_plain(weights *w, str name, const onnx_attr *a)
{
    bool floats = a->type == ONNX_FLOAT || a->type == ONNX_FLOATS;
    bool many = a->type == ONNX_FLOATS || a->type == ONNX_INTS;
    uint32_t n = !many ? 1 : floats ? a->n_floats : a->n_ints;
    const void *from = floats ? (many ? a->floats : (const void *)&a->f)
                              : (many ? a->ints : (const void *)&a->i);
    weight_storage s = {.file = -1, .len = n * (floats ? 4u : 8u)};
    weight_entry e = {.name = name,
                      .dtype = floats ? HULL_F32 : HULL_I64,
                      .rank = many,
                      .shape = {n},
                      .inline_value = true};

    s.owned = mem_alloc(s.len);
    if (!s.owned)
        return fail_oom(s.len);
    if (n)
        memcpy(s.owned, from, s.len);
    hull_status st = weights_add_storage(w, &s, &e.storage);
    if (st != HULL_OK) {
        mem_free(s.owned);
        return st;
    }
    return weights_add(w, &e, false);
}

hull_status onnx_constant(onnx_call *c)
{
    str prefix = c->o->scope->prefix;
    str name = c->n->out[0];
    weights *native = c->f->fm->native;
    bool text = false;
    buf b;

    if (c->n->n_attrs != 1)
        return fail(HULL_EFORMAT, "%" PRIu32 " value attributes, want 1",
                    c->n->n_attrs);
    const onnx_attr *a = &c->n->attrs[0];
    if (a->type == ONNX_TENSOR)
        TRY(onnx_is_text(&text, a->t));
    if (text || a->type == ONNX_STRING || a->type == ONNX_STRINGS)
        return onnx_constant_text(c, a);
    buf_init(&b, 1 << 20);
    buf_str(&b, prefix);
    buf_str(&b, name);
    str full = buf_view(&b);
    hull_status st = buf_status(&b);
    if (st == HULL_OK && !weights_find(native, full)) {
        if (a->type == ONNX_TENSOR)
            st = onnx_tensor_add(native, full, a->t, 0, c->o->file->path, true);
        else if (a->type == ONNX_SPARSE)
            st = onnx_sparse_add(native, full, a->sparse, c->o->file->path,
                                 true);
        else
            st = add_plain(native, full, a);
    }
    if (st == HULL_OK)
        c->out[0] = front_weight(c->f, full);
    buf_fini(&b);
    return st;
}

/* ---- shapes as values ---------------------------------------------------- */

static hull_status want_sizes(const dim *d, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (d[i] == DIM_UNKNOWN)
            return fail(HULL_EUNSUPPORTED,
                        "the size of axis %" PRIu32 " depends on data", i);
    return HULL_OK;
}

static int64_t clamp_axis(int64_t a, uint32_t rank)
{
    if (a < 0)
        a += rank;
    return a < 0 ? 0 : a > rank ? rank : a;
}

hull_status onnx_shape(onnx_call *c)
{
    dim d[HULL_MAX_RANK];
    uint32_t rank = 0;

    TRY(dims_of(c, c->in[0], d, &rank));
    int64_t start = clamp_axis(onnx_int(c, "start", 0), rank);
    int64_t end = clamp_axis(onnx_int(c, "end", rank), rank);
    uint32_t n = end > start ? (uint32_t)(end - start) : 0;
    TRY(want_sizes(d + start, n));
    c->out[0] = op_dims(c->g, d + start, n);
    return HULL_OK;
}

hull_status onnx_size(onnx_call *c)
{
    dim d[HULL_MAX_RANK];
    uint32_t rank = 0;

    TRY(dims_of(c, c->in[0], d, &rank));
    TRY(want_sizes(d, rank));
    c->out[0] = scalar_of(c, dim_product(c->m, d, rank));
    return HULL_OK;
}

/* ---- views --------------------------------------------------------------- */

hull_status onnx_reshape(onnx_call *c)
{
    dim x[HULL_MAX_RANK], d[LIST_MAX];
    uint32_t rank = 0, n = 0;
    bool allow_zero = onnx_int(c, "allowzero", 0) != 0, known = false;
    int64_t v = 0;

    TRY(dims_of(c, c->in[0], x, &rank));
    TRY(front_structure(c->f, c->in[1], d, HULL_MAX_RANK, &n, &known));
    if (!known)
        return front_reshape_to(c->f, c->in[0], c->in[1], allow_zero,
                                &c->out[0]);
    for (uint32_t i = 0; i < n; i++) {
        if (!dim_is_int(c->m, d[i], &v))
            continue;
        if (v == -1) {
            d[i] = DIM_UNKNOWN; /* reshape finds it */
        } else if (v < 0) {
            return fail(HULL_ESHAPE, "size %" PRIu32 " is %" PRId64, i, v);
        } else if (v == 0 && !allow_zero) {
            if (i >= rank)
                return fail(HULL_ESHAPE,
                            "size %" PRIu32 " is 0, the operand has rank "
                            "%" PRIu32, i, rank);
            d[i] = x[i];
        }
    }
    c->out[0] = op_reshape(c->g, c->in[0], d, n);
    return HULL_OK;
}

hull_status onnx_flatten(onnx_call *c)
{
    dim x[HULL_MAX_RANK], two[2];
    uint32_t rank = 0;
    int64_t axis = onnx_int(c, "axis", 1);

    TRY(dims_of(c, c->in[0], x, &rank));
    if (axis < -(int64_t)rank || axis > (int64_t)rank)
        return fail(HULL_ESHAPE,
                    "axis %" PRId64 " does not exist in rank %" PRIu32, axis,
                    rank);
    axis += axis < 0 ? rank : 0;
    two[0] = dim_product(c->m, x, (uint32_t)axis);
    two[1] = dim_product(c->m, x + axis, rank - (uint32_t)axis);
    c->out[0] = op_reshape(c->g, c->in[0], two, 2);
    return HULL_OK;
}

hull_status onnx_transpose(onnx_call *c)
{
    int64_t perm[HULL_MAX_RANK];
    uint32_t n = 0;
    const type *t = onnx_type(c, c->in[0]);

    TRY(onnx_ints(c, "perm", perm, HULL_MAX_RANK, &n));
    if (!t)
        return ir_status(c->m);
    if (!onnx_has(c, "perm"))
        for (n = 0; n < t->rank; n++)
            perm[n] = t->rank - 1 - n;
    c->out[0] = op_transpose(c->g, c->in[0], perm, n);
    return HULL_OK;
}

/* Without axes: every axis of size 1. The rank of a result cannot depend on
 * a run, so an axis whose size is not fixed stays. */
static hull_status all_ones(onnx_call *c, int64_t *axes, uint32_t *n)
{
    dim d[HULL_MAX_RANK];
    uint32_t rank = 0;
    int64_t v = 0;

    TRY(dims_of(c, c->in[0], d, &rank));
    *n = 0;
    for (uint32_t i = 0; i < rank; i++) {
        if (dim_is_int(c->m, d[i], &v) && v == 1)
            axes[(*n)++] = i;
    }
    return HULL_OK;
}

hull_status onnx_squeeze(onnx_call *c)
{
    bool insert = c->row->arg == 1;
    int64_t axes[HULL_MAX_RANK];
    uint32_t n = 0;

    if (!onnx_has(c, "axes") && !onnx_in(c, 1)) {
        if (insert)
            return fail(HULL_EFORMAT, "axes are missing");
        TRY(all_ones(c, axes, &n));
    } else if (!onnx_has(c, "axes") && !onnx_is_fixed(c, 1)) {
        return insert ? front_unsqueeze_at(c->f, c->in[0], c->in[1],
                                           &c->out[0])
                      : front_squeeze_at(c->f, c->in[0], c->in[1],
                                         &c->out[0]);
    } else {
        TRY(onnx_ints_at(c, "axes", 1, axes, HULL_MAX_RANK, &n));
    }
    c->out[0] = lower_axes_to_reshape(c->f, c->in[0], axes, n, insert);
    return HULL_OK;
}

/* Size of an axis of x broadcast against `want`. */
static hull_status broadcast_size(onnx_call *c, dim x, dim want, dim *out)
{
    int64_t a = 0, b = 0;
    bool ka = dim_is_int(c->m, x, &a), kb = dim_is_int(c->m, want, &b);

    *out = want;
    if (kb && b == 1)
        *out = x;
    else if (kb && b < 0)
        return fail(HULL_ESHAPE, "a size is %" PRId64, b);
    else if ((ka && a == 1) || dim_eq(c->m, x, want))
        *out = want;
    else if (ka && kb && a != b)
        return fail(HULL_ESHAPE,
                    "size %" PRId64 " does not expand to %" PRId64, a, b);
    else if (ka)
        *out = x;
    else if (!kb)
        *out = dim_bcast(c->m, x, want);
    return HULL_OK;
}

hull_status onnx_expand(onnx_call *c)
{
    dim x[HULL_MAX_RANK], want[HULL_MAX_RANK], d[HULL_MAX_RANK];
    uint32_t rank = 0, n = 0;

    TRY(dims_of(c, c->in[0], x, &rank));
    TRY(onnx_dims_at(c, 1, want, HULL_MAX_RANK, &n));
    uint32_t top = rank > n ? rank : n;
    for (uint32_t i = 0; i < top; i++) { /* from the last axis */
        dim a = i < rank ? x[rank - 1 - i] : 1;
        dim b = i < n ? want[n - 1 - i] : 1;

        TRY(broadcast_size(c, a, b, &d[top - 1 - i]));
    }
    c->out[0] = op_expand(c->g, c->in[0], d, top);
    return HULL_OK;
}

/* Tile: each repeated axis gets an axis of size 1 before it, which expands. */
hull_status onnx_tile(onnx_call *c)
{
    dim x[HULL_MAX_RANK], reps[HULL_MAX_RANK];
    dim split[2 * HULL_MAX_RANK], wide[2 * HULL_MAX_RANK], d[HULL_MAX_RANK];
    uint32_t rank = 0, n = 0, k = 0;
    int64_t v = 0;

    TRY(dims_of(c, c->in[0], x, &rank));
    TRY(onnx_dims_at(c, 1, reps, HULL_MAX_RANK, &n));
    if (n != rank)
        return fail(HULL_ESHAPE, "%" PRIu32 " repeats for rank %" PRIu32, n,
                    rank);
    for (uint32_t i = 0; i < rank; i++) {
        bool one = dim_is_int(c->m, reps[i], &v) && v == 1;

        if (dim_is_int(c->m, reps[i], &v) && v < 0)
            return fail(HULL_ESHAPE, "repeat %" PRIu32 " is %" PRId64, i, v);
        if (!one) {
            split[k] = 1;
            wide[k++] = reps[i];
        }
        split[k] = wide[k] = x[i];
        k++;
        d[i] = dim_mul(c->m, reps[i], x[i]);
    }
    if (k > HULL_MAX_RANK)
        return fail(HULL_EUNSUPPORTED, "more than %d axes are needed",
                    HULL_MAX_RANK);
    if (k == rank) {
        c->out[0] = c->in[0];
        return HULL_OK;
    }
    val y = op_reshape(c->g, c->in[0], split, k);
    c->out[0] = op_reshape(c->g, op_expand(c->g, y, wide, k), d, rank);
    return HULL_OK;
}

static hull_status blocks(onnx_call *c, dim *x, int64_t *size)
{
    uint32_t rank = 0;

    TRY(dims_of(c, c->in[0], x, &rank));
    *size = onnx_int(c, "blocksize", 0);
    if (rank != 4 || *size < 1 || *size > 1 << 20)
        return fail(HULL_ESHAPE,
                    "rank %" PRIu32 " and blocksize %" PRId64 ", want rank 4 "
                    "and at least 1", rank, *size);
    return HULL_OK;
}

hull_status onnx_depth_to_space(onnx_call *c)
{
    static const int64_t dcr[6] = {0, 3, 4, 1, 5, 2};
    static const int64_t crd[6] = {0, 1, 4, 2, 5, 3};
    dim x[HULL_MAX_RANK];
    int64_t s = 0;
    str mode = onnx_str(c, "mode", "DCR");
    bool first = str_is(mode, "DCR");

    if (!first && !str_is(mode, "CRD"))
        return fail(HULL_EFORMAT, "attribute 'mode' is '%.*s', want DCR or "
                    "CRD", STR_ARG(mode));
    TRY(blocks(c, x, &s));
    dim deep = dim_div(c->m, x[1], s * s);
    dim in[6] = {x[0], first ? s : deep, s, first ? deep : s, x[2], x[3]};
    dim out[4] = {x[0], deep, dim_mul(c->m, x[2], s), dim_mul(c->m, x[3], s)};
    val y = op_reshape(c->g, c->in[0], in, 6);
    y = op_transpose(c->g, y, first ? dcr : crd, 6);
    c->out[0] = op_reshape(c->g, y, out, 4);
    return HULL_OK;
}

hull_status onnx_space_to_depth(onnx_call *c)
{
    static const int64_t dcr[6] = {0, 3, 5, 1, 2, 4};
    static const int64_t crd[6] = {0, 1, 3, 5, 2, 4};
    dim x[HULL_MAX_RANK];
    int64_t s = 0;
    str mode = onnx_str(c, "mode", "DCR");
    const int64_t *perm = str_is(mode, "DCR") ? dcr : crd;

    if (perm == crd && !str_is(mode, "CRD"))
        return fail(HULL_EFORMAT, "attribute 'mode' is '%.*s', want DCR or "
                    "CRD", STR_ARG(mode));
    TRY(blocks(c, x, &s));
    dim h = dim_div(c->m, x[2], s), w = dim_div(c->m, x[3], s);
    dim in[6] = {x[0], x[1], h, s, w, s};
    dim out[4] = {x[0], dim_mul(c->m, x[1], s * s), h, w};
    val y = op_transpose(c->g, op_reshape(c->g, c->in[0], in, 6), perm, 6);
    c->out[0] = op_reshape(c->g, y, out, 4);
    return HULL_OK;
}

/* ---- cutting and joining ------------------------------------------------- */

hull_status onnx_concat(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    uint32_t axis = 0;

    if (!t)
        return ir_status(c->m);
    if (!onnx_has(c, "axis"))
        return fail(HULL_EFORMAT, "attribute 'axis' is missing");
    for (uint32_t i = 0; i < c->n_in; i++)
        if (!c->in[i])
            return fail(HULL_EFORMAT, "input %" PRIu32 " is missing", i);
    TRY(onnx_axis(c, onnx_int(c, "axis", 0), t->rank, &axis));
    c->out[0] = c->n_in == 1 ? c->in[0]
                             : op_concat(c->g, c->in, c->n_in, axis);
    return HULL_OK;
}

/* Sizes of the parts where the model gives none. */
static hull_status even_parts(onnx_call *c, dim whole, dim *out, uint32_t n)
{
    bool old = c->version < 18;
    int64_t v = 0;
    dim part = old ? dim_div(c->m, whole, n) : dim_ceil_div(c->m, whole, n);
    dim left = whole;

    if (old && dim_is_int(c->m, whole, &v) && v % n != 0)
        return fail(HULL_ESHAPE,
                    "%" PRId64 " elements do not split in %" PRIu32
                    " equal parts", v, n);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = i + 1 < n ? part : left;
        left = dim_sub(c->m, left, part);
        if (i + 1 == n && old)
            out[i] = part;
    }
    return HULL_OK;
}

/* Sizes that may not add up: the last part takes what is left, and each slice
 * is reshaped to its part's size, which a run refuses when they disagree. */
static void cut_checked(onnx_call *c, const dim *x, uint32_t rank,
                        uint32_t axis, const dim *parts)
{
    dim d[HULL_MAX_RANK], at = 0;

    memcpy(d, x, rank * sizeof *d);
    for (uint32_t i = 0; i < c->n_out; i++) {
        dim next = dim_add(c->m, at, parts[i]);
        val y = op_slice(c->g, c->in[0], axis, at,
                         i + 1 < c->n_out ? next : x[axis], 1);

        d[axis] = parts[i];
        c->out[i] = op_reshape(c->g, y, d, rank);
        at = next;
    }
}

hull_status onnx_split(onnx_call *c)
{
    dim x[HULL_MAX_RANK];
    dim *parts = arena_array(&c->f->a, c->n_out, sizeof *parts);
    uint32_t rank = 0, axis = 0, n = 0;
    dim at = 0;

    if (!parts)
        return fail_oom(c->n_out * sizeof *parts);
    TRY(dims_of(c, c->in[0], x, &rank));
    TRY(onnx_axis(c, onnx_int(c, "axis", 0), rank, &axis));
    if (onnx_has(c, "split")) {
        int64_t given[LIST_MAX];

        TRY(onnx_ints(c, "split", given, LIST_MAX, &n));
        for (uint32_t i = 0; i < n && i < c->n_out; i++)
            parts[i] = dim_int(c->m, given[i]);
    } else if (onnx_in(c, 1)) {
        TRY(onnx_dims_at(c, 1, parts, c->n_out, &n));
    } else {
        n = c->n_out;
        if (onnx_int(c, "num_outputs", n) != n)
            return fail(HULL_EFORMAT, "num_outputs is %" PRId64 ", the node "
                        "has %" PRIu32, onnx_int(c, "num_outputs", n), n);
        TRY(even_parts(c, x[axis], parts, n));
    }
    if (n != c->n_out)
        return fail(HULL_EFORMAT, "%" PRIu32 " parts for %" PRIu32
                    " outputs", n, c->n_out);
    for (uint32_t i = 0; i < n; i++) {
        int64_t v = 0;

        if (dim_is_int(c->m, parts[i], &v) && v < 0)
            return fail(HULL_ESHAPE, "part %" PRIu32 " has size %" PRId64, i,
                        v);
        c->out[i] = lower_split(c->f, c->in[0], axis, at, parts[i]);
        at = dim_add(c->m, at, parts[i]);
    }
    int64_t sum = 0, whole = 0;
    if (dim_eq(c->m, at, x[axis]))
        return HULL_OK;
    if (dim_is_int(c->m, at, &sum) && dim_is_int(c->m, x[axis], &whole))
        return fail(HULL_ESHAPE, "parts have %" PRId64 " elements, the "
                    "axis has %" PRId64, sum, whole);
    cut_checked(c, x, rank, axis, parts);
    return ir_status(c->m);
}

/* Adds the slice node; axes may be absent (the first n). */
static hull_status add_slice(onnx_call *c, const dim *starts, const dim *ends,
                             uint32_t n, int64_t *axes, uint32_t n_axes,
                             const int64_t *steps, uint32_t n_steps)
{
    const type *t = onnx_type(c, c->in[0]);

    if (!t)
        return ir_status(c->m);
    if (n_axes == 0)
        for (; n_axes < n && n_axes < HULL_MAX_RANK; n_axes++)
            axes[n_axes] = n_axes;
    if (n_axes != n || (n_steps && n_steps != n))
        return fail(HULL_EFORMAT,
                    "%" PRIu32 " starts, %" PRIu32 " axes and %" PRIu32
                    " steps", n, n_axes, n_steps);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t axis = 0;

        TRY(onnx_axis(c, axes[i], t->rank, &axis));
        axes[i] = axis;
    }
    bool plain = true;
    for (uint32_t i = 0; i < n_steps; i++)
        plain = plain && steps[i] == 1;
    node *s = node_new(c->g, OP_slice);
    node_input(c->g, s, c->in[0]);
    node_ints(c->g, s, "axes", axes, n);
    node_dims(c->g, s, "starts", starts, n);
    node_dims(c->g, s, "ends", ends, n);
    if (!plain)
        node_ints(c->g, s, "steps", steps, n);
    c->out[0] = node_add(c->g, s);
    return HULL_OK;
}

/* Opset 1 to 9: starts, ends, axes are attributes. */
hull_status onnx_slice_attr(onnx_call *c)
{
    int64_t s[HULL_MAX_RANK], e[HULL_MAX_RANK], axes[HULL_MAX_RANK];
    dim starts[HULL_MAX_RANK], ends[HULL_MAX_RANK];
    uint32_t n = 0, n_ends = 0, n_axes = 0;

    TRY(onnx_ints(c, "starts", s, HULL_MAX_RANK, &n));
    TRY(onnx_ints(c, "ends", e, HULL_MAX_RANK, &n_ends));
    TRY(onnx_ints(c, "axes", axes, HULL_MAX_RANK, &n_axes));
    if (n != n_ends || n == 0)
        return fail(HULL_EFORMAT, "%" PRIu32 " starts and %" PRIu32 " ends", n,
                    n_ends);
    for (uint32_t i = 0; i < n; i++) {
        starts[i] = dim_int(c->m, s[i]);
        ends[i] = dim_int(c->m, e[i]);
    }
    return add_slice(c, starts, ends, n, axes, n_axes, NULL, 0);
}

/* Bounds may be symbols, axes and steps are plain numbers. */
static hull_status slice_is_known(onnx_call *c, bool *out)
{
    dim d[HULL_MAX_RANK];
    uint32_t n = 0;

    *out = false;
    for (uint32_t i = 1; i <= 2; i++) {
        TRY(front_structure(c->f, c->in[i], d, HULL_MAX_RANK, &n, out));
        if (!*out)
            return HULL_OK;
    }
    *out = (!onnx_in(c, 3) || onnx_is_fixed(c, 3)) &&
           (!onnx_in(c, 4) || onnx_is_fixed(c, 4));
    return HULL_OK;
}

hull_status onnx_slice(onnx_call *c)
{
    int64_t axes[HULL_MAX_RANK], steps[HULL_MAX_RANK];
    dim starts[HULL_MAX_RANK], ends[HULL_MAX_RANK];
    uint32_t n = 0, n_ends = 0, n_axes = 0, n_steps = 0;
    bool known = false;

    TRY(slice_is_known(c, &known));
    if (!known)
        return front_slice_at(c->f, c->in[0], c->in[1], c->in[2],
                              onnx_in(c, 3), onnx_in(c, 4), &c->out[0]);
    TRY(onnx_dims_at(c, 1, starts, HULL_MAX_RANK, &n));
    TRY(onnx_dims_at(c, 2, ends, HULL_MAX_RANK, &n_ends));
    if (onnx_in(c, 3))
        TRY(front_ints(c->f, c->in[3], axes, HULL_MAX_RANK, &n_axes, "axes"));
    if (onnx_in(c, 4))
        TRY(front_ints(c->f, c->in[4], steps, HULL_MAX_RANK, &n_steps,
                       "steps"));
    if (n != n_ends)
        return fail(HULL_EFORMAT, "%" PRIu32 " starts and %" PRIu32 " ends", n,
                    n_ends);
    return add_slice(c, starts, ends, n, axes, n_axes, steps, n_steps);
}

/* Operand pads; axes that are data are spread over all axes first. */
static hull_status pads_at(onnx_call *c, uint32_t rank, dim *out,
                           uint32_t *out_n)
{
    int64_t zeros[2 * HULL_MAX_RANK] = {0};
    val at, all[2];

    if (!onnx_in(c, 3) || onnx_is_fixed(c, 3))
        return onnx_numbers_at(c, 1, out, 2 * HULL_MAX_RANK, out_n);
    at = front_wrap_axes(c->f, c->in[3], rank);
    all[0] = at;
    all[1] = op_binary(c->g, OP_add, at,
                       op_scalar_i64(c->g, HULL_I64, rank));
    return front_bind(c->f,
                      front_put_at(c->f, front_ints_const(c->f, zeros,
                                                          2 * rank),
                                   op_concat(c->g, all, 2, 0),
                                   front_as_vector(c->f, c->in[1])),
                      false, out, 2 * HULL_MAX_RANK, out_n);
}

/* Pads as dims in the order of the IR, for the axes that are given. */
static hull_status read_pads(onnx_call *c, dim *out, uint32_t rank)
{
    dim d[2 * HULL_MAX_RANK];
    int64_t given[2 * HULL_MAX_RANK], axes[HULL_MAX_RANK];
    uint32_t n = 0, n_axes = 0;

    if (onnx_has(c, "pads")) {
        TRY(onnx_ints(c, "pads", given, 2 * HULL_MAX_RANK, &n));
        for (uint32_t i = 0; i < n; i++)
            d[i] = dim_int(c->m, given[i]);
    } else if (onnx_in(c, 1)) {
        TRY(pads_at(c, rank, d, &n));
    } else {
        return fail(HULL_EFORMAT, "pads are missing");
    }
    if (onnx_in(c, 3) && onnx_is_fixed(c, 3))
        TRY(front_ints(c->f, c->in[3], axes, HULL_MAX_RANK, &n_axes, "axes"));
    else
        for (; n_axes < rank; n_axes++)
            axes[n_axes] = n_axes;
    if (n != 2 * n_axes)
        return fail(HULL_ESHAPE, "%" PRIu32 " pads for %" PRIu32 " axes", n,
                    n_axes);
    for (uint32_t i = 0; i < 2 * rank; i++)
        out[i] = 0;
    for (uint32_t i = 0; i < n_axes; i++) {
        uint32_t axis = 0;

        TRY(onnx_axis(c, axes[i], rank, &axis));
        out[axis] = d[i];
        out[rank + axis] = d[n_axes + i];
    }
    return HULL_OK;
}

hull_status onnx_pad(onnx_call *c)
{
    dim x[HULL_MAX_RANK], pads[2 * HULL_MAX_RANK];
    uint32_t rank = 0;
    double fill = onnx_float(c, "value", 0.0);
    val filler = 0;
    str mode = onnx_str(c, "mode", "constant");

    TRY(dims_of(c, c->in[0], x, &rank));
    TRY(read_pads(c, pads, rank));
    if (onnx_in(c, 2) && str_is(mode, "constant") &&
        !front_scalar(c->f, c->in[2], &fill))
        filler = op_reshape(c->g, c->in[2], NULL, 0);
    node *n = node_new(c->g, OP_pad);
    node_input(c->g, n, c->in[0]);
    if (filler)
        node_input(c->g, n, filler);
    node_dims(c->g, n, "pads", pads, 2 * rank);
    node_str(c->g, n, "mode", mode);
    node_float(c->g, n, "value", fill);
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}

/* ---- making -------------------------------------------------------------- */

hull_status onnx_constant_of_shape(onnx_call *c)
{
    dim d[HULL_MAX_RANK];
    uint32_t n = 0;
    int64_t v = 0;

    TRY(onnx_dims_at(c, 0, d, HULL_MAX_RANK, &n));
    for (uint32_t i = 0; i < n; i++)
        if (dim_is_int(c->m, d[i], &v) && v < 0)
            return fail(HULL_ESHAPE, "size %" PRIu32 " is %" PRId64, i, v);
    val one = onnx_has(c, "value") ? onnx_one_element(c, "value")
                                   : op_scalar(c->g, HULL_F32, 0.0);
    c->out[0] = n ? op_expand(c->g, one, d, n) : one;
    return HULL_OK;
}

static val iota(onnx_call *c, const dim *shape, uint32_t rank, int64_t axis,
                hull_dtype dt)
{
    node *n = node_new(c->g, OP_iota);

    node_dims(c->g, n, "shape", shape, rank);
    node_int(c->g, n, "axis", axis);
    node_dtype(c->g, n, "dtype", dt);
    return node_add(c->g, n);
}

/* Range of integers whose ends may come from input sizes. */
static hull_status range_ints(onnx_call *c, hull_dtype dt, bool *done)
{
    dim d[3];
    int64_t delta = 0, lo = 0, hi = 0;

    *done = false;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t n = 0;
        bool known = false;

        TRY(front_structure(c->f, c->in[i], &d[i], 1, &n, &known));
        if (!known || n != 1)
            return HULL_OK;
    }
    if (!dim_is_int(c->m, d[2], &delta) || delta == 0 || delta == INT64_MIN)
        return fail(HULL_EFORMAT, "delta is 0 or not a constant");
    dim span = delta > 0 ? dim_sub(c->m, d[1], d[0])
                         : dim_sub(c->m, d[0], d[1]);
    dim step = dim_int(c->m, delta > 0 ? delta : -delta);
    dim n = delta == 1 || delta == -1 ? span : dim_ceil_div(c->m, span, step);
    dim_range(c->m, n, &lo, &hi);
    if (lo < 0)
        n = dim_max(c->m, n, 0);
    val y = iota(c, &n, 1, 0, dt);
    if (delta != 1)
        y = op_binary(c->g, OP_mul, y, op_scalar_i64(c->g, dt, delta));
    if (d[0] != 0)
        y = op_binary(c->g, OP_add, y,
                      op_cast(c->g, scalar_of(c, d[0]), dt));
    c->out[0] = y;
    *done = true;
    return HULL_OK;
}

/* Ends that are data: the count is computed, then bound. */
static hull_status range_at(onnx_call *c, hull_dtype dt, hull_dtype wide)
{
    val start = op_reshape(c->g, op_cast(c->g, c->in[0], wide), NULL, 0);
    val end = op_reshape(c->g, op_cast(c->g, c->in[1], wide), NULL, 0);
    val step = op_reshape(c->g, op_cast(c->g, c->in[2], wide), NULL, 0);
    val span = op_cast(c->g, op_binary(c->g, OP_sub, end, start), HULL_F64);
    val n = op_binary(c->g, OP_div, span, op_cast(c->g, step, HULL_F64));
    uint32_t one = 0;
    dim size;

    n = op_cast(c->g, op_unary(c->g, OP_ceil, n), HULL_I64);
    n = op_binary(c->g, OP_max, n, op_scalar_i64(c->g, HULL_I64, 0));
    TRY(front_bind(c->f, n, true, &size, 1, &one));
    val y = op_cast(c->g, iota(c, &size, 1, 0, HULL_I64), wide);
    y = op_binary(c->g, OP_add, op_binary(c->g, OP_mul, y, step), start);
    c->out[0] = op_cast(c->g, y, dt);
    return ir_status(c->m);
}

hull_status onnx_range(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    double v[3];
    bool done = false;

    if (!t)
        return ir_status(c->m);
    hull_dtype dt = t->dtype, wide = dt;
    if (dtype_is_float(dt) && hull_dtype_bits(dt) < 32)
        wide = HULL_F32;
    if (onnx_int(c, "stash_type", 1) != 1)
        return fail(HULL_EUNSUPPORTED, "stash_type is %" PRId64 ", want 1",
                    onnx_int(c, "stash_type", 1));
    if (dtype_is_int(dt))
        TRY(range_ints(c, dt, &done));
    if (done)
        return HULL_OK;
    for (uint32_t i = 0; i < 3; i++)
        if (!front_scalar(c->f, c->in[i], &v[i]))
            return range_at(c, dt, wide);
    double n = ceil((v[1] - v[0]) / v[2]);
    if (v[2] == 0.0 || !(n < 1e12))
        return fail(HULL_EFORMAT, "delta %g gives no bounded range", v[2]);
    dim size = n > 0 ? (dim)n : 0;
    val y = iota(c, &size, 1, 0, HULL_I64);
    y = op_cast(c->g, y, wide);
    y = op_binary(c->g, OP_mul, y, op_scalar(c->g, wide, v[2]));
    y = op_binary(c->g, OP_add, y, op_scalar(c->g, wide, v[0]));
    c->out[0] = op_cast(c->g, y, dt);
    return HULL_OK;
}

hull_status onnx_eye_like(onnx_call *c)
{
    dim x[HULL_MAX_RANK];
    uint32_t rank = 0;
    const type *t = onnx_type(c, c->in[0]);
    int64_t k = onnx_int(c, "k", 0), code = onnx_int(c, "dtype", 0);

    TRY(dims_of(c, c->in[0], x, &rank));
    if (rank != 2)
        return fail(HULL_ESHAPE, "rank is %" PRIu32 ", want 2", rank);
    hull_dtype dt = onnx_has(c, "dtype") ? onnx_dtype(code) : t->dtype;
    if (dt == HULL_NONE)
        return fail(HULL_EUNSUPPORTED, "attribute 'dtype' is %" PRId64, code);
    dim rows[2] = {x[0], 1}, cols[2] = {1, x[1]};
    val i = iota(c, rows, 2, 0, HULL_I64);
    val j = iota(c, cols, 2, 1, HULL_I64);
    i = op_binary(c->g, OP_add, i, op_scalar_i64(c->g, HULL_I64, k));
    c->out[0] = op_cast(c->g, op_binary(c->g, OP_eq, i, j), dt);
    return HULL_OK;
}
