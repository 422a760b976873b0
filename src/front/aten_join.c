/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * aten_join.c - lowerings that build a larger tensor of others or of repeats,
 * or reorder elements: concatenation, padding, repetition, reversal, windows.
 */
#include "front/aten.h"

#include <string.h>

/* ---- lists of tensors ---------------------------------------------------- */

/* List argument 0 with all elements of one dtype; NULL when there are none. */
static val *operands(aten_call *c, uint32_t *n)
{
    const aten_value *list = &c->args[0];
    val *v;

    *n = list->kind == ATEN_TENSORS ? list->n : 0;
    if (*n == 0) {
        call_fail(c, HULL_EFORMAT, "no tensors to join");
        return NULL;
    }
    v = arena_memdup(&c->f->a, list->vals, *n * sizeof *v);
    aten_value *x = arena_array(&c->f->a, *n, sizeof *x);
    const aten_value **px = arena_array(&c->f->a, *n, sizeof(aten_value *));
    if (!v || !x || !px) {
        if (c->st == HULL_OK)
            c->st = fail_oom(*n * sizeof *x);
        return NULL;
    }
    for (uint32_t i = 0; i < *n; i++) {
        x[i] = (aten_value){.kind = ATEN_TENSOR, .v = v[i]};
        px[i] = &x[i];
    }
    hull_dtype dt = aten_promote(c, px, *n);
    for (uint32_t i = 0; i < *n; i++)
        v[i] = op_cast(c->g, v[i], dt);
    return v;
}

static bool is_empty_vector(aten_call *c, val v)
{
    return call_rank(c, v) == 1 && call_dims(c, v)[0] == 0;
}

void aten_cat(aten_call *c)
{
    uint32_t n, kept = 0, rank = 1;
    val *v = operands(c, &n);

    if (!v)
        return;
    for (uint32_t i = 0; i < n; i++) /* torch skips empty vectors of any rank */
        if (call_rank(c, v[i]) > rank)
            rank = call_rank(c, v[i]);
    for (uint32_t i = 0; i < n; i++)
        if (rank == 1 || !is_empty_vector(c, v[i]))
            v[kept++] = v[i];
    uint32_t axis = arg_axis(c, 1, rank);
    if (c->st == HULL_OK)
        ret(c, kept == 1 ? v[0] : op_concat(c->g, v, kept, axis));
}

void aten_stack(aten_call *c)
{
    uint32_t n;
    val *v = operands(c, &n);

    if (!v)
        return;
    uint32_t axis = arg_axis(c, 1, call_rank(c, v[0]) + 1);
    for (uint32_t i = 0; i < n && c->st == HULL_OK; i++)
        v[i] = aten_insert_axis(c, v[i], axis);
    if (c->st == HULL_OK)
        ret(c, n == 1 ? v[0] : op_concat(c->g, v, n, axis));
}

/* hstack (param 1), vstack (param 0): the axis, and ranks of at least 1, 2. */
void aten_hv_stack(aten_call *c)
{
    uint32_t n, axis = 0;
    val *v = operands(c, &n);

    if (!v)
        return;
    for (uint32_t i = 0; i < n; i++) {
        if (call_rank(c, v[i]) == 0)
            v[i] = aten_insert_axis(c, v[i], 0);
        if (!c->row->param && call_rank(c, v[i]) == 1)
            v[i] = aten_insert_axis(c, v[i], 0);
        if (c->row->param && call_rank(c, v[i]) > 1)
            axis = 1;
    }
    ret(c, n == 1 ? v[0] : op_concat(c->g, v, n, axis));
}

void aten_meshgrid(aten_call *c)
{
    str order = c->n_args > 1 ? arg_str(c, 1) : str_of("ij");
    bool xy = str_is(order, "xy");
    dim d[HULL_MAX_RANK], one[HULL_MAX_RANK];
    uint32_t n;
    val *v = operands(c, &n);

    if (!v || n > HULL_MAX_RANK) {
        call_fail(c, HULL_EUNSUPPORTED, "number of axes");
        return;
    }
    if (!xy && !str_is(order, "ij"))
        call_fail(c, HULL_EUNSUPPORTED, "order of axes");
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = xy && n >= 2 && i < 2 ? 1 - i : i;

        d[at] = type_numel(c->m, call_type(c, v[i]));
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = xy && n >= 2 && i < 2 ? 1 - i : i;

        for (uint32_t k = 0; k < n; k++)
            one[k] = k == at ? d[k] : 1;
        v[i] = op_reshape(c->g, v[i], one, n);
        v[i] = aten_broadcast(c, v[i], d, n);
    }
    ret_list(c, v, n);
}

/* ---- padding ------------------------------------------------------------- */

/* x without what negative pads take; they become 0. */
static val cut_off(aten_call *c, val x, dim *pads)
{
    uint32_t rank = call_rank(c, x);

    for (uint32_t i = 0; i < rank; i++) {
        dim start = 0, end = call_dims(c, x)[i];
        int64_t v = 0;

        if (dim_is_int(c->m, pads[i], &v) && v < 0) {
            start = -v;
            pads[i] = 0;
        }
        if (dim_is_int(c->m, pads[rank + i], &v) && v < 0) {
            end = dim_add(c->m, end, dim_int(c->m, v));
            pads[rank + i] = 0;
        }
        x = aten_slice1(c, x, i, start, end);
    }
    return x;
}

/* Torch's list: pairs from the last axis backwards. */
static void pad(aten_call *c, str mode, double fill)
{
    val x = arg_tensor(c, 0);
    uint32_t rank = call_rank(c, x);
    dim list[2 * HULL_MAX_RANK], pads[2 * HULL_MAX_RANK] = {0};
    uint32_t n = arg_dims(c, 1, list, 2 * HULL_MAX_RANK);

    if (n % 2 || n / 2 > rank)
        call_fail(c, HULL_EFORMAT, "pads do not fit the rank");
    if (c->st != HULL_OK)
        return;
    for (uint32_t i = 0; i < n / 2; i++) {
        pads[rank - 1 - i] = list[2 * i];
        pads[2 * rank - 1 - i] = list[2 * i + 1];
    }
    if (str_is(mode, "wrap")) /* what is cut off does not come around */
        x = cut_off(c, x, pads);
    node *d = node_new(c->g, OP_pad);
    node_input(c->g, d, x);
    node_dims(c->g, d, "pads", pads, 2 * rank);
    node_str(c->g, d, "mode", mode);
    node_float(c->g, d, "value", fill);
    ret(c, node_add(c->g, d));
}

void aten_pad_constant(aten_call *c)
{
    int64_t v = 0;

    /* The op's value is a double: an integer that none holds is put in by a
     * mask. */
    if (c->args[2].kind == ATEN_INT && dim_is_int(c->m, c->args[2].i, &v) &&
        call_dtype(c, arg_tensor(c, 0)) == HULL_I64 &&
        (v > (int64_t)1 << 53 || v < -((int64_t)1 << 53))) {
        aten_value self = c->args[0];
        val x = self.v;

        pad(c, str_of("constant"), 0);
        c->args[0].v = aten_full(c, op_scalar_i64(c->g, HULL_BOOL, 1),
                                 call_dims(c, x), call_rank(c, x));
        pad(c, str_of("constant"), 0);
        c->args[0] = self;
        if (c->n_out == 2)
            c->out[0].v = aten_where(c, c->out[1].v, c->out[0].v,
                                     aten_int(c, v));
        c->n_out = 1;
        return;
    }
    pad(c, str_of("constant"), arg_num(c, 2));
}

/* param: 1 = edge, 0 = reflect. */
void aten_pad_border(aten_call *c)
{
    pad(c, str_of(c->row->param ? "edge" : "reflect"), 0);
}

void aten_pad(aten_call *c)
{
    static const char *const modes[][2] = {{"constant", "constant"},
                                           {"reflect", "reflect"},
                                           {"replicate", "edge"},
                                           {"circular", "wrap"}};
    str mode = arg_str(c, 2);

    for (size_t i = 0; i < COUNT_OF(modes); i++)
        if (str_is(mode, modes[i][0])) {
            pad(c, str_of(modes[i][1]), arg_none(c, 3) ? 0 : arg_num(c, 3));
            return;
        }
    call_fail(c, HULL_EUNSUPPORTED, "padding mode");
}

/* ---- repetition ---------------------------------------------------------- */

/* [a, b] tiled by [r, s]: [1, a, 1, b] -> [r, a, s, b] -> [r a, s b]. */
static val tile(aten_call *c, val x, const dim *times, uint32_t n)
{
    dim from[2 * HULL_MAX_RANK], to[2 * HULL_MAX_RANK], out[HULL_MAX_RANK];
    uint32_t rank = call_rank(c, x), k = 0;

    if (n < rank || n > HULL_MAX_RANK) {
        call_fail(c, HULL_EFORMAT, "repeats do not fit the rank");
        return 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        dim size = i < n - rank ? 1 : call_dims(c, x)[i - (n - rank)];

        out[i] = dim_mul(c->m, times[i], size);
        if (times[i] != 1) {
            from[k] = 1;
            to[k++] = times[i];
        }
        from[k] = size;
        to[k++] = size;
    }
    if (k > HULL_MAX_RANK) {
        call_fail(c, HULL_EUNSUPPORTED, "the rank becomes too large");
        return 0;
    }
    if (k == n)
        return op_reshape(c->g, x, out, n);
    x = op_reshape(c->g, x, from, k);
    return op_reshape(c->g, op_expand(c->g, x, to, k), out, n);
}

/* param: 1 = repeats may be fewer than axes (tile). */
void aten_repeat(aten_call *c)
{
    val x = arg_tensor(c, 0);
    dim times[HULL_MAX_RANK], all[HULL_MAX_RANK];
    uint32_t n = arg_dims(c, 1, times, HULL_MAX_RANK), rank = call_rank(c, x);
    uint32_t lead = c->row->param && n < rank ? rank - n : 0;

    for (uint32_t i = 0; i < lead; i++)
        all[i] = 1;
    memcpy(all + lead, times, n * sizeof *all);
    if (c->st == HULL_OK)
        ret(c, tile(c, x, all, lead + n));
}

/* Each element `repeats` times: [n] -> [n, 1] -> [n, r] -> [n r]. */
void aten_repeat_interleave(aten_call *c)
{
    val x = arg_tensor(c, 0);
    dim r = arg_dim(c, 1), d[HULL_MAX_RANK + 1], out[HULL_MAX_RANK];
    uint32_t axis = 0;

    if (arg_none(c, 2)) {
        dim n = type_numel(c->m, call_type(c, x));
        x = op_reshape(c->g, x, &n, 1);
    } else {
        axis = arg_axis(c, 2, call_rank(c, x));
    }
    uint32_t rank = call_rank(c, x);
    if (c->st != HULL_OK || rank == 0)
        return;
    x = aten_insert_axis(c, x, axis + 1);
    if (c->st != HULL_OK || call_rank(c, x) != rank + 1)
        return;
    memcpy(d, call_dims(c, x), (rank + 1) * sizeof *d);
    d[axis + 1] = r;
    x = op_expand(c->g, x, d, rank + 1);
    for (uint32_t i = 0; i < rank; i++)
        out[i] = i < axis ? d[i] : i == axis ? dim_mul(c->m, d[i], r)
                                             : d[i + 1];
    ret(c, op_reshape(c->g, x, out, rank));
}

/* ---- order --------------------------------------------------------------- */

static val flip(aten_call *c, val x, uint32_t axis)
{
    dim last = dim_sub(c->m, call_dims(c, x)[axis], 1);

    return op_slice(c->g, x, axis, last, dim_int(c->m, INT64_MIN), -1);
}

void aten_flip(aten_call *c)
{
    val x = arg_tensor(c, 0);
    int64_t axes[HULL_MAX_RANK];
    uint32_t n = arg_empty(c, 1) ? 0 : arg_axes(c, 1, call_rank(c, x), axes);

    for (uint32_t i = 0; i < n && c->st == HULL_OK; i++)
        x = flip(c, x, (uint32_t)axes[i]);
    ret(c, x);
}

static val roll(aten_call *c, val x, uint32_t axis, int64_t shift)
{
    dim size = call_dims(c, x)[axis], cut;
    int64_t n = 0, back;

    if (!sub_i64(&back, 0, shift)) {
        call_missing(c, "by -2^63");
        return x;
    }
    if (dim_is_int(c->m, size, &n) && n > 0) {
        shift %= n;
        shift += shift < 0 ? n : 0;
        cut = n - shift;
    } else {
        cut = shift < 0 ? dim_int(c->m, back)
                        : dim_sub(c->m, size, dim_int(c->m, shift));
    }
    if (shift == 0 || n == 0)
        return n == 0 && shift != 0 && !dim_is_int(c->m, size, &n)
                   ? (call_missing(c, "of a symbolic size"), x) : x;
    val parts[] = {aten_slice1(c, x, axis, cut, size),
                   aten_slice1(c, x, axis, 0, cut)};
    return op_concat(c->g, parts, 2, axis);
}

void aten_roll(aten_call *c)
{
    val x = arg_tensor(c, 0);
    int64_t shifts[HULL_MAX_RANK], axes[HULL_MAX_RANK];
    uint32_t n = arg_ints(c, 1, shifts, HULL_MAX_RANK), rank = call_rank(c, x);
    uint32_t n_axes = arg_ints(c, 2, axes, HULL_MAX_RANK);
    dim all = type_numel(c->m, call_type(c, x)), d[HULL_MAX_RANK];

    if (c->st != HULL_OK)
        return;
    if (n_axes == 0 && n == 1) { /* of the flattened tensor */
        memcpy(d, call_dims(c, x), rank * sizeof *d);
        x = roll(c, op_reshape(c->g, x, &all, 1), 0, shifts[0]);
        ret(c, op_reshape(c->g, x, d, rank));
        return;
    }
    if (n != n_axes)
        call_fail(c, HULL_EFORMAT, "shifts and dims differ in number");
    for (uint32_t i = 0; i < n && c->st == HULL_OK; i++) {
        int64_t a = axes[i] < 0 ? axes[i] + rank : axes[i];

        if (a < 0 || a >= rank)
            call_fail(c, HULL_EFORMAT, "dim out of range");
        else
            x = roll(c, x, (uint32_t)a, shifts[i]);
    }
    ret(c, x);
}

/* fliplr, flipud: param is the axis. */
void aten_flip_one(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t axis = (uint32_t)c->row->param;

    if (axis >= call_rank(c, x))
        call_fail(c, HULL_EFORMAT, "operand of unfit rank");
    else
        ret(c, flip(c, x, axis));
}

/* fft_fftshift(self, dim), fft_ifftshift: half a turn, param 1 = back */
void aten_fftshift(aten_call *c)
{
    val x = arg_tensor(c, 0);
    int64_t axes[HULL_MAX_RANK], size = 0;
    uint32_t n = arg_axes(c, 1, call_rank(c, x), axes);

    for (uint32_t i = 0; i < n && c->st == HULL_OK; i++) {
        if (!dim_is_int(c->m, call_dims(c, x)[axes[i]], &size)) {
            call_missing(c, "of a symbolic size");
            return;
        }
        x = roll(c, x, (uint32_t)axes[i],
                 c->row->param ? (size + 1) / 2 : size / 2);
    }
    if (c->st == HULL_OK)
        ret(c, x);
}

/* Axis `axis` of x as the two axes a, b. */
static val split_axis(aten_call *c, val x, uint32_t axis, dim a, dim b)
{
    dim d[HULL_MAX_RANK + 1];
    uint32_t n = 0, rank = call_rank(c, x);

    if (rank == HULL_MAX_RANK) {
        call_fail(c, HULL_EUNSUPPORTED, "the rank becomes too large");
        return 0;
    }
    for (uint32_t i = 0; i < rank; i++) {
        d[n++] = i == axis ? a : call_dims(c, x)[i];
        if (i == axis)
            d[n++] = b;
    }
    return op_reshape(c->g, x, d, n);
}

/* Axes `axis` and `axis + 1` of x as one. */
static val merge_axes(aten_call *c, val x, uint32_t axis)
{
    dim d[HULL_MAX_RANK];
    uint32_t n = 0, rank = call_rank(c, x);

    for (uint32_t i = 0; i < rank; i++) {
        d[n] = call_dims(c, x)[i];
        if (i == axis && i + 1 < rank)
            d[n] = dim_mul(c->m, d[n], call_dims(c, x)[++i]);
        n++;
    }
    return op_reshape(c->g, x, d, n);
}

/* param: 1 = shuffle [c r r, h, w] -> [c, h r, w r], 0 = the way back. */
void aten_pixel_shuffle(aten_call *c)
{
    val x = arg_tensor(c, 0);
    dim r = arg_dim(c, 1);
    uint32_t rank = call_rank(c, x), a = rank - 3;

    if (rank < 3 || rank + 2 > HULL_MAX_RANK || r < 1)
        call_fail(c, HULL_EFORMAT, "operand of unfit rank or factor");
    if (c->st != HULL_OK)
        return;
    int64_t perm[HULL_MAX_RANK];
    for (uint32_t i = 0; i < rank + 2; i++)
        perm[i] = i;
    const dim *d = call_dims(c, x);
    if (c->row->param) { /* c r r h w -> c h r w r */
        x = split_axis(c, x, a, dim_div(c->m, d[a], dim_mul(c->m, r, r)),
                       dim_mul(c->m, r, r));
        x = split_axis(c, x, a + 1, r, r);
        perm[a + 1] = a + 3;
        perm[a + 2] = a + 1;
        perm[a + 3] = a + 4;
        perm[a + 4] = a + 2;
        x = op_transpose(c->g, x, perm, rank + 2);
        x = merge_axes(c, merge_axes(c, x, a + 3), a + 1);
    } else { /* c h r w r -> c r r h w */
        dim h = dim_div(c->m, d[a + 1], r), w = dim_div(c->m, d[a + 2], r);
        x = split_axis(c, x, a + 2, w, r);
        x = split_axis(c, x, a + 1, h, r);
        perm[a + 1] = a + 2;
        perm[a + 2] = a + 4;
        perm[a + 3] = a + 1;
        perm[a + 4] = a + 3;
        x = op_transpose(c->g, x, perm, rank + 2);
        x = merge_axes(c, merge_axes(c, x, a), a);
    }
    ret(c, x);
}

void aten_channel_shuffle(aten_call *c)
{
    val x = arg_tensor(c, 0);
    dim groups = arg_dim(c, 1);

    if (call_rank(c, x) < 3 || groups < 1)
        call_fail(c, HULL_EFORMAT, "operand of unfit rank or groups");
    if (c->st != HULL_OK)
        return;
    dim each = dim_div(c->m, call_dims(c, x)[1], groups);
    x = aten_swap(c, split_axis(c, x, 1, groups, each), 1, 2);
    ret(c, merge_axes(c, x, 1));
}

/* Windows of an axis: their content becomes a new last axis. */
void aten_unfold(aten_call *c)
{
    val x = arg_tensor(c, 0);

    if (call_rank(c, x) == 0) { /* one window of one element, or none */
        dim size = arg_dim(c, 2);

        x = aten_insert_axis(c, x, 0);
        ret(c, aten_slice1(c, x, 0, 0, size));
        return;
    }
    uint32_t rank = call_rank(c, x), axis = arg_axis(c, 1, rank);
    dim size = arg_dim(c, 2), step = arg_dim(c, 3);
    int64_t perm[HULL_MAX_RANK];

    if (step < 1 || rank == HULL_MAX_RANK)
        call_fail(c, HULL_EFORMAT, "step or rank");
    if (c->st != HULL_OK)
        return;
    dim room = dim_sub(c->m, call_dims(c, x)[axis], size);
    dim n = dim_add(c->m, dim_div(c->m, room, step), 1);
    val at = op_binary(c->g, OP_mul, aten_iota(c, n, HULL_I64),
                       aten_dim_value(c, step, HULL_I64));
    at = op_binary(c->g, OP_add, aten_insert_axis(c, at, 1),
                   aten_iota(c, size, HULL_I64));
    node *d = node_new(c->g, OP_gather);
    node_input(c->g, d, x);
    node_input(c->g, d, at);
    node_int(c->g, d, "axis", axis);
    x = node_add(c->g, d);
    for (uint32_t i = 0; i <= rank; i++)
        perm[i] = i <= axis ? i : i == rank ? axis + 1 : i + 1;
    ret(c, axis + 1 == rank ? x : op_transpose(c->g, x, perm, rank + 1));
}

void aten_diff(aten_call *c)
{
    val x = arg_tensor(c, 0);
    int64_t n = arg_int(c, 1);
    uint32_t axis = arg_axis(c, 2, call_rank(c, x)), k = 0;
    val parts[3];

    if (c->st != HULL_OK)
        return;
    if (!arg_none(c, 3))
        parts[k++] = op_cast(c->g, arg_tensor(c, 3), call_dtype(c, x));
    parts[k++] = x;
    if (!arg_none(c, 4))
        parts[k++] = op_cast(c->g, arg_tensor(c, 4), call_dtype(c, x));
    if (k > 1)
        x = op_concat(c->g, parts, k, axis);
    bool logical = call_dtype(c, x) == HULL_BOOL;
    if (n < 0 || n > 64)
        call_fail(c, HULL_EUNSUPPORTED, "order of difference");
    for (int64_t i = 0; i < n && c->st == HULL_OK; i++) {
        dim size = call_dims(c, x)[axis], less = dim_sub(c->m, size, 1);

        x = op_binary(c->g, logical ? OP_ne : OP_sub,
                      aten_slice1(c, x, axis, 1, size),
                      aten_slice1(c, x, axis, 0, less));
        if (!x)
            return;
    }
    ret(c, x);
}
