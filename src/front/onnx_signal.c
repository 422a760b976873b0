/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_signal.c - lowerings of transforms of signals: DFT, STFT. The axis of
 * DFT is an attribute before opset 20 and an operand since.
 */
#include "front/onnx_lower.h"

#include <inttypes.h>

static val add_dft(onnx_call *c, uint32_t axis, dim size)
{
    node *n = node_new(c->g, OP_dft);

    node_input(c->g, n, c->in[0]);
    node_int(c->g, n, "axis", axis);
    node_dim(c->g, n, "size", size);
    node_bool(c->g, n, "inverse", onnx_int(c, "inverse", 0) != 0);
    node_bool(c->g, n, "onesided", onnx_int(c, "onesided", 0) != 0);
    return node_add(c->g, n);
}

/* Size of the whole signal along an axis; `given` (0: none) says another. */
static dim dft_size(onnx_call *c, const type *x, uint32_t axis, dim given)
{
    if (given != 0)
        return given;
    if (onnx_int(c, "inverse", 0) != 0 && onnx_int(c, "onesided", 0) != 0)
        return dim_mul(c->m, dim_sub(c->m, x->dims[axis], 1), 2);
    return x->dims[axis];
}

/* The axis is data: a branch for each that it may be. */
typedef struct dft_branch {
    onnx_call *c;
    type x;
    val axis;
    dim given;
    uint32_t n, at, axes[HULL_MAX_RANK]; /* those of a size to transform */
} dft_branch;

static hull_status dft_here(front *f, void *user, const val *in, val *out)
{
    const dft_branch *b = user;

    uint32_t axis = b->axes[b->at];

    (void)f;
    (void)in;
    out[0] = add_dft(b->c, axis, dft_size(b->c, &b->x, axis, b->given));
    return ir_status(b->c->m);
}

static hull_status dft_choice(front *f, void *user, const val *in, val *out)
{
    dft_branch *b = user;
    if (++b->at + 1 == b->n)
        return dft_here(f, b, in, out);
    val is = op_binary(f->g, OP_eq, b->axis,
                       op_scalar_i64(f->g, HULL_I64, b->axes[b->at]));
    return lower_if(f, is, dft_here, dft_choice, b, 1, out);
}

static val look_up(onnx_call *c, const int64_t *table, uint32_t n, val index)
{
    const int64_t shape[1] = {n};
    node *g = node_new(c->g, OP_gather);

    node_input(c->g, g, op_const(c->g, HULL_I64, shape, 1, table));
    node_input(c->g, g, index);
    return node_add(c->g, g);
}

/* The first look-up takes the axis from the end where it is negative, the
 * second refuses one that has no branch: its number is out of range there. */
static hull_status dft_any(onnx_call *c, const type *x, dim given)
{
    val axis = op_reshape(c->g, op_cast(c->g, c->in[2], HULL_I64), NULL, 0);
    dft_branch b = {.c = c, .x = *x, .given = given, .at = UINT32_MAX};
    int64_t known[HULL_MAX_RANK], all[HULL_MAX_RANK], v = 0;

    for (uint32_t i = 0; i < x->rank; i++) {
        bool ok = i + 1 < x->rank &&
                  !(dim_is_int(c->m, dft_size(c, x, i, given), &v) && v < 1);

        all[i] = i;
        known[i] = ok ? i : x->rank;
        if (ok)
            b.axes[b.n++] = i;
    }
    if (b.n == 0)
        return fail(HULL_ESHAPE, "no axis has a size to transform");
    b.axis = look_up(c, all, x->rank, look_up(c, known, x->rank, axis));
    TRY(ir_status(c->m));
    TRY(dft_choice(c->f, &b, NULL, &c->out[0]));
    c->out[0] = front_settle(c->f, c->out[0]);
    return ir_status(c->m);
}

hull_status onnx_dft(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    int64_t v = 0;
    dim which = 0, given = 0;
    uint32_t n = 0, axis = 0;
    bool known = true;

    if (!t || t->rank < 2)
        return fail(HULL_ESHAPE, "input 0 has not rank 2 or more");
    type x = *t;
    if (onnx_in(c, 1))
        TRY(onnx_dims_at(c, 1, &given, 1, &n));
    if (onnx_in(c, 1) && (n != 1 || (dim_is_int(c->m, given, &v) && v < 1)))
        return fail(HULL_EFORMAT, "dft_length is %" PRId64 " or not one number",
                    v);
    v = c->version < 20 ? onnx_int(c, "axis", 1) : -2;
    if (onnx_in(c, 2)) {
        TRY(front_structure(c->f, c->in[2], &which, 1, &n, &known));
        if (!known)
            return dft_any(c, &x, given);
        if (n != 1 || !dim_is_int(c->m, which, &v))
            return fail(HULL_EFORMAT, "axis has %" PRIu32 " elements, want 1",
                        n);
    }
    TRY(onnx_axis(c, v, x.rank, &axis));
    c->out[0] = add_dft(c, axis, dft_size(c, &x, axis, given));
    return HULL_OK;
}

/* ---- STFT ---------------------------------------------------------------- */

static val scalar_of(onnx_call *c, dim d)
{
    return op_reshape(c->g, op_dims(c->g, &d, 1), NULL, 0);
}

static val count(onnx_call *c, const dim *shape, uint32_t axis)
{
    node *n = node_new(c->g, OP_iota);

    node_dims(c->g, n, "shape", shape, 2);
    node_int(c->g, n, "axis", axis);
    return node_add(c->g, n);
}

/* Step, and the frames' size: that of the window where none is given. */
static hull_status frame_sizes(onnx_call *c, dim *step, dim *size)
{
    const type *w = onnx_type(c, onnx_in(c, 2));
    uint32_t n = 0;
    int64_t v = 0, k = 0;

    TRY(onnx_dims_at(c, 1, step, 1, &n));
    if (n != 1 || (dim_is_int(c->m, *step, &v) && v < 1))
        return fail(HULL_EFORMAT, "frame_step is %" PRId64 " or not one number",
                    v);
    if (w && w->rank != 1)
        return fail(HULL_ESHAPE, "window of rank %" PRIu32 ", want 1", w->rank);
    if (!w && !onnx_in(c, 3))
        return fail(HULL_EFORMAT, "neither window nor frame_length is given");
    if (w)
        *size = w->dims[0];
    if (!onnx_in(c, 3))
        return HULL_OK;
    TRY(onnx_dims_at(c, 3, size, 1, &n));
    if (n != 1 || (dim_is_int(c->m, *size, &v) && v < 1))
        return fail(HULL_EFORMAT, "frame_length is %" PRId64 " or not one "
                    "number", v);
    if (w && dim_is_int(c->m, *size, &v) && dim_is_int(c->m, w->dims[0], &k) &&
        v != k)
        return fail(HULL_ESHAPE, "window of size %" PRId64 " for frames of "
                    "size %" PRId64, k, v);
    return HULL_OK;
}

/* Frames are gathered, weighted by the window, and transformed. */
hull_status onnx_stft(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    int64_t parts = 1;
    dim step = 1, size = 1;

    if (!t || t->rank < 2 || t->rank > 3 ||
        (t->rank == 3 && (!dim_is_int(c->m, t->dims[2], &parts) || parts < 1 ||
                          parts > 2)))
        return fail(HULL_ESHAPE, "signal has not rank 2, or rank 3 and 1 or 2 "
                    "as its last size");
    dim x[3] = {t->dims[0], t->dims[1], parts};
    TRY(frame_sizes(c, &step, &size));
    dim frames = dim_add(c->m, dim_div(c->m, dim_sub(c->m, x[1], size), step),
                         1);
    dim rows[2] = {frames, 1}, cols[2] = {1, size}, wide[2] = {size, 1};
    val at = op_binary(c->g, OP_mul, count(c, rows, 0), scalar_of(c, step));
    at = op_binary(c->g, OP_add, at, count(c, cols, 1));
    node *n = node_new(c->g, OP_gather);
    node_input(c->g, n, op_reshape(c->g, c->in[0], x, 3));
    node_input(c->g, n, at);
    node_int(c->g, n, "axis", 1);
    val y = node_add(c->g, n);
    if (onnx_in(c, 2))
        y = op_binary(c->g, OP_mul, y, op_reshape(c->g, c->in[2], wide, 2));
    n = node_new(c->g, OP_dft);
    node_input(c->g, n, y);
    node_int(c->g, n, "axis", 2);
    node_dim(c->g, n, "size", size);
    node_bool(c->g, n, "onesided", onnx_int(c, "onesided", 1) != 0);
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}
