/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * aten_window.c - lowerings whose indices are a regular pattern: diagonals,
 * strided views, windows and their inverse, sampling at a grid.
 */
#include "front/aten.h"

#include <string.h>

static val reorder(aten_call *c, val x, const int64_t *perm, uint32_t n)
{
    bool same = true;

    for (uint32_t i = 0; i < n; i++)
        same &= perm[i] == i;
    return same ? x : op_transpose(c->g, x, perm, n);
}

static val restore(aten_call *c, val x, const int64_t *perm, uint32_t n)
{
    int64_t back[HULL_MAX_RANK];

    for (uint32_t i = 0; i < n; i++)
        back[perm[i]] = i;
    return reorder(c, x, back, n);
}

/* ---- diagonals ----------------------------------------------------------- */

/* Places of a diagonal in the flattened [rows, cols] matrix. */
static val diagonal_index(aten_call *c, dim rows, dim cols, int64_t offset,
                          dim *n)
{
    dim right = offset > 0 ? dim_int(c->m, offset) : 0;
    dim down = offset < 0 ? dim_int(c->m, -offset) : 0;
    dim step = dim_add(c->m, cols, 1);
    dim start = dim_add(c->m, dim_mul(c->m, down, cols), right);

    *n = dim_min(c->m, dim_sub(c->m, rows, down), dim_sub(c->m, cols, right));
    *n = dim_max(c->m, *n, 0);
    return aten_lattice(c, n, &step, 1, start);
}

/* x with axes dim1 and dim2 (arguments at, at + 1) last and merged. */
static val merged(aten_call *c, val x, uint32_t at, int64_t *perm, dim *rows,
                  dim *cols)
{
    uint32_t rank = call_rank(c, x), n = 0;
    uint32_t a = arg_axis(c, at, rank), b = arg_axis(c, at + 1, rank);
    dim d[HULL_MAX_RANK];

    if (a == b)
        call_fail(c, HULL_EFORMAT, "both dims are the same");
    if (c->st != HULL_OK)
        return 0;
    for (uint32_t i = 0; i < rank; i++)
        if (i != a && i != b) {
            d[n] = call_dims(c, x)[i];
            perm[n++] = i;
        }
    perm[n] = a;
    perm[n + 1] = b;
    *rows = call_dims(c, x)[a];
    *cols = call_dims(c, x)[b];
    d[n] = dim_mul(c->m, *rows, *cols);
    return op_reshape(c->g, reorder(c, x, perm, rank), d, n + 1);
}

static bool small_offset(aten_call *c, int64_t offset)
{
    if (offset > -((int64_t)1 << 40) && offset < (int64_t)1 << 40)
        return true;
    call_fail(c, HULL_EUNSUPPORTED, "offset of a diagonal");
    return false;
}

static val diagonal(aten_call *c, val x, uint32_t offset_at, uint32_t dims_at)
{
    int64_t offset = arg_int(c, offset_at), perm[HULL_MAX_RANK];
    dim rows = 0, cols = 0, n;

    x = merged(c, x, dims_at, perm, &rows, &cols);
    if (!x || !small_offset(c, offset))
        return 0;
    uint32_t last = call_rank(c, x) - 1;
    return aten_take(c, x, diagonal_index(c, rows, cols, offset, &n), last);
}

/* (self, offset, dim1, dim2): the two axes go, their diagonal comes last. */
void aten_diagonal(aten_call *c)
{
    val y = diagonal(c, arg_tensor(c, 0), 1, 2);

    if (y)
        ret(c, y);
}

/* diagonal_scatter(self, src, offset, dim1, dim2) */
void aten_diagonal_scatter(aten_call *c)
{
    val self = arg_tensor(c, 0), src = arg_tensor(c, 1);
    int64_t offset = arg_int(c, 2), perm[HULL_MAX_RANK];
    dim rows = 0, cols = 0, n, d[HULL_MAX_RANK];
    val x = merged(c, self, 3, perm, &rows, &cols);

    if (!x || !small_offset(c, offset))
        return;
    uint32_t rank = call_rank(c, self), last = rank - 2;
    val at = diagonal_index(c, rows, cols, offset, &n);
    memcpy(d, call_dims(c, x), last * sizeof *d);
    d[last] = n;
    src = aten_broadcast(c, op_cast(c->g, src, call_dtype(c, x)), d, last + 1);
    at = aten_broadcast(c, at, d, last + 1);
    x = aten_put_elements(c, x, at, src, last, "none");
    d[last] = rows;
    d[last + 1] = cols;
    ret(c, restore(c, op_reshape(c->g, x, d, rank), perm, rank));
}

/* [.., n] on a diagonal of zeros: [.., m, m]. */
static val embed(aten_call *c, val x, int64_t offset)
{
    uint32_t rank = call_rank(c, x), last = rank - 1;
    dim d[HULL_MAX_RANK], n = call_dims(c, x)[last], got;
    dim m = dim_add(c->m, n, dim_int(c->m, offset < 0 ? -offset : offset));

    memcpy(d, call_dims(c, x), rank * sizeof *d);
    val at = aten_broadcast(c, diagonal_index(c, m, m, offset, &got), d, rank);
    d[last] = dim_mul(c->m, m, m);
    val zero = aten_full(c, aten_number(c, call_dtype(c, x), 0), d, rank);
    x = aten_put_elements(c, zero, at, x, last, "none");
    d[last] = d[last + 1] = m;
    return op_reshape(c->g, x, d, rank + 1);
}

/* diag_embed(self, offset, dim1, dim2) */
void aten_diag_embed(aten_call *c)
{
    val x = arg_tensor(c, 0);
    int64_t offset = arg_int(c, 1), perm[HULL_MAX_RANK];
    uint32_t rank = call_rank(c, x) + 1, n = 0;

    if (rank < 2 || rank > HULL_MAX_RANK)
        call_fail(c, HULL_EFORMAT, "operand of unfit rank");
    uint32_t a = arg_axis(c, 2, rank), b = arg_axis(c, 3, rank);
    if (a == b)
        call_fail(c, HULL_EFORMAT, "both dims are the same");
    if (c->st != HULL_OK || !small_offset(c, offset))
        return;
    for (uint32_t i = 0; i < rank; i++)
        if (i != a && i != b)
            perm[n++] = i;
    perm[n] = a;
    perm[n + 1] = b;
    ret(c, restore(c, embed(c, x, offset), perm, rank));
}

/* diag(self, diagonal): of a vector the matrix, of a matrix the vector. */
void aten_diag(aten_call *c)
{
    val x = arg_tensor(c, 0);
    int64_t offset = arg_int(c, 1);
    uint32_t rank = call_rank(c, x);
    dim n, flat;

    if (rank != 1 && rank != 2)
        call_fail(c, HULL_EFORMAT, "operand of unfit rank");
    if (c->st != HULL_OK || !small_offset(c, offset))
        return;
    if (rank == 1) {
        ret(c, embed(c, x, offset));
        return;
    }
    dim rows = call_dims(c, x)[0], cols = call_dims(c, x)[1];
    flat = dim_mul(c->m, rows, cols);
    x = op_reshape(c->g, x, &flat, 1);
    ret(c, aten_take(c, x, diagonal_index(c, rows, cols, offset, &n), 0));
}

void aten_trace(aten_call *c)
{
    val x = arg_tensor(c, 0);
    int64_t axis = 0;
    dim n, flat;

    if (call_rank(c, x) != 2) {
        call_fail(c, HULL_EFORMAT, "operand is no matrix");
        return;
    }
    dim rows = call_dims(c, x)[0], cols = call_dims(c, x)[1];
    flat = dim_mul(c->m, rows, cols);
    if (!dtype_is_float(call_dtype(c, x)))
        x = op_cast(c->g, x, HULL_I64);
    x = op_reshape(c->g, x, &flat, 1);
    x = aten_take(c, x, diagonal_index(c, rows, cols, 0, &n), 0);
    ret(c, aten_reduce(c, OP_reduce_sum, x, &axis, 1, false));
}

/* tril_indices, triu_indices (row, col, offset, dtype): param 1 = upper */
void aten_triangle_indices(aten_call *c)
{
    int64_t rows = arg_int(c, 0), cols = arg_int(c, 1), k = arg_int(c, 2);
    bool upper = c->row->param != 0;
    hull_dtype dt = arg_dtype(c, 3, HULL_I64);
    int64_t n = 0, shape[2] = {2, 0};

    if (c->st != HULL_OK || !small_offset(c, k))
        return;
    if (rows < 0 || cols < 0 || rows > 1 << 20 || cols > 1 << 20 ||
        rows * cols > 1 << 20) {
        call_fail(c, HULL_EUNSUPPORTED, "a matrix of more than 2^20 places");
        return;
    }
    int64_t *p = arena_array(&c->f->a, (size_t)(2 * rows * cols + 1),
                             sizeof *p);
    if (!p) {
        call_fail(c, HULL_ENOMEM, "indices");
        return;
    }
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < cols; j++)
                if (upper ? j - i >= k : j - i <= k)
                    p[n++] = pass == 0 ? i : j;
    shape[1] = n / 2;
    ret(c, op_cast(c->g, op_const(c->g, HULL_I64, shape, 2, p), dt));
}

/* ---- strided views ------------------------------------------------------- */

/* Axes of x from the slowest to the fastest in the producer's memory; false
 * when that memory has gaps or is not known. */
static bool storage_order(const aten_call *c, val x, int64_t *perm)
{
    uint32_t rank = graph_type(c->g, x)->rank;
    const dim *d = graph_type(c->g, x)->dims;
    bool used[HULL_MAX_RANK] = {false};
    dim want = 1;

    if (c->n_strides != rank)
        return false;
    for (uint32_t k = rank; k-- > 0;) {
        uint32_t found = rank;

        for (uint32_t i = rank; i-- > 0;)
            if (!used[i] && (d[i] == 1 || dim_eq(c->m, c->strides[i], want))) {
                found = i;
                break;
            }
        if (found == rank)
            return false;
        used[found] = true;
        perm[k] = found;
        want = dim_mul(c->m, want, d[found]);
    }
    return true;
}

/* The view stays inside the n elements: false when it is known not to. */
static bool stays_inside(aten_call *c, const dim *size, const dim *stride,
                         uint32_t rank, dim start, dim n)
{
    int64_t lo, hi, most;
    dim last = start;

    dim_range(c->m, start, &lo, &hi);
    if (lo < 0)
        return false;
    for (uint32_t i = 0; i < rank; i++) {
        dim_range(c->m, stride[i], &lo, &hi);
        if (lo < 0)
            return false;
        if (size[i] == 0)
            return true;
        last = dim_add(c->m, last,
                       dim_mul(c->m, dim_sub(c->m, size[i], 1), stride[i]));
    }
    dim_range(c->m, dim_sub(c->m, n, last), &lo, &most);
    return most > 0;
}

/* (self, size, stride, storage_offset): the same place of the storage as the
 * producer saw it, by computed indices. */
void aten_as_strided(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t rank = call_rank(c, x);
    dim size[HULL_MAX_RANK], stride[HULL_MAX_RANK], start = 0;
    uint32_t n = arg_dims(c, 1, size, HULL_MAX_RANK);
    int64_t perm[HULL_MAX_RANK];
    dim all = type_numel(c->m, call_type(c, x));

    if (arg_dims(c, 2, stride, HULL_MAX_RANK) != n)
        call_fail(c, HULL_EFORMAT, "sizes and strides differ in number");
    if (!arg_none(c, 3))
        start = dim_sub(c->m, arg_dim(c, 3), c->storage_offset);
    if (c->st != HULL_OK)
        return;
    if (!storage_order(c, x, perm) ||
        !stays_inside(c, size, stride, n, start, all)) {
        call_missing(c, "of a part of a storage");
        return;
    }
    bool same = start == 0 && n == rank;
    for (uint32_t i = 0; same && i < n; i++)
        same = dim_eq(c->m, size[i], call_dims(c, x)[i]) &&
               (size[i] == 1 || dim_eq(c->m, stride[i], c->strides[i]));
    if (same) {
        ret(c, x);
        return;
    }
    x = aten_flat(c, reorder(c, x, perm, rank));
    if (n == 0) {
        ret(c, aten_take(c, x, aten_dim_value(c, start, HULL_I64), 0));
        return;
    }
    ret(c, aten_take(c, x, aten_lattice(c, size, stride, n, start), 0));
}

/* ---- windows ------------------------------------------------------------- */

typedef struct sliding {
    int64_t kernel[2], dilation[2], pad[2], stride[2];
} sliding;

/* kernel, dilation, padding, stride: arguments from `at` on. */
static void read_sliding(aten_call *c, uint32_t at, sliding *s)
{
    arg_spatial(c, at, 2, 1, s->kernel);
    arg_spatial(c, at + 1, 2, 1, s->dilation);
    arg_spatial(c, at + 2, 2, 0, s->pad);
    arg_spatial(c, at + 3, 2, 1, s->stride);
    for (int i = 0; i < 2; i++)
        if (s->kernel[i] < 1 || s->kernel[i] > 65536 || s->dilation[i] < 1 ||
            s->dilation[i] > 65536 || s->stride[i] < 1 || s->pad[i] < 0 ||
            s->pad[i] > 1 << 24 || s->stride[i] > 1 << 24)
            call_fail(c, HULL_EFORMAT, "window out of range");
}

/* How many windows an axis has. */
static dim places(aten_call *c, const sliding *s, int i, dim size)
{
    int64_t reach = s->dilation[i] * (s->kernel[i] - 1) + 1;
    dim room = dim_add(c->m, size, dim_int(c->m, 2 * s->pad[i] - reach));

    return dim_add(c->m, dim_div(c->m, room, s->stride[i]), 1);
}

/* Columns of windows: [n, c, h, w] over [n, c, kh, oh, kw, ow] to
 * [n, c kh kw, oh ow]. */
void aten_im2col(aten_call *c)
{
    static const int64_t order[] = {0, 1, 2, 4, 3, 5};
    val x = arg_tensor(c, 0);
    bool single = call_rank(c, x) == 3;
    sliding s;

    read_sliding(c, 1, &s);
    if (!single && call_rank(c, x) != 4)
        call_fail(c, HULL_EFORMAT, "operand of unfit rank");
    if (c->st != HULL_OK)
        return;
    if (single)
        x = aten_insert_axis(c, x, 0);
    dim in[] = {call_dims(c, x)[2], call_dims(c, x)[3]};
    dim pads[] = {0, 0, s.pad[0], s.pad[1], 0, 0, s.pad[0], s.pad[1]};
    if (s.pad[0] || s.pad[1])
        x = aten_pads(c, x, pads, "constant", 0);
    for (int i = 0; i < 2; i++) {
        dim shape[] = {s.kernel[i], places(c, &s, i, in[i])};
        dim step[] = {s.dilation[i], s.stride[i]};

        x = aten_take(c, x, aten_lattice(c, shape, step, 2, 0), i ? 4 : 2);
    }
    x = op_transpose(c->g, x, order, 6);
    const dim *d = call_dims(c, x);
    dim out[] = {d[0], dim_mul(c->m, d[1], s.kernel[0] * s.kernel[1]),
                 dim_mul(c->m, d[4], d[5])};
    x = op_reshape(c->g, x, out, 3);
    ret(c, single ? aten_drop_axis(c, x, 0) : x);
}

/* col2im(self, output_size, kernel, dilation, padding, stride): every column
 * is added where im2col took it from. */
void aten_col2im(aten_call *c)
{
    val x = arg_tensor(c, 0);
    bool single = call_rank(c, x) == 2;
    hull_dtype dt = call_dtype(c, x);
    dim out[2];
    sliding s;

    read_sliding(c, 2, &s);
    if (arg_dims(c, 1, out, 2) != 2 || (!single && call_rank(c, x) != 3))
        call_fail(c, HULL_EFORMAT, "operand or size of unfit rank");
    if (c->st != HULL_OK)
        return;
    if (single)
        x = aten_insert_axis(c, x, 0);
    if (dt == HULL_F16 || dt == HULL_BF16)
        x = op_cast(c->g, x, HULL_F32);
    dim h = dim_add(c->m, out[0], 2 * s.pad[0]);
    dim w = dim_add(c->m, out[1], 2 * s.pad[1]);
    dim shape[] = {s.kernel[0], s.kernel[1], places(c, &s, 0, out[0]),
                   places(c, &s, 1, out[1])};
    dim step[] = {dim_mul(c->m, w, s.dilation[0]), s.dilation[1],
                  dim_mul(c->m, w, s.stride[0]), s.stride[1]};
    dim n = call_dims(c, x)[0];
    dim channels = dim_div(c->m, call_dims(c, x)[1],
                           s.kernel[0] * s.kernel[1]);
    dim flat[] = {n, channels, dim_product(c->m, shape, 4)};
    val at = aten_flat(c, aten_lattice(c, shape, step, 4, 0));
    at = aten_broadcast(c, at, flat, 3);
    x = op_reshape(c->g, x, flat, 3);
    flat[2] = dim_mul(c->m, h, w);
    val zero = aten_full(c, aten_number(c, call_dtype(c, x), 0), flat, 3);
    x = aten_put_elements(c, zero, at, x, 2, "add");
    dim full[] = {n, channels, h, w};
    x = op_cast(c->g, op_reshape(c->g, x, full, 4), dt);
    x = aten_slice1(c, x, 2, s.pad[0], dim_add(c->m, out[0], s.pad[0]));
    x = aten_slice1(c, x, 3, s.pad[1], dim_add(c->m, out[1], s.pad[1]));
    ret(c, single ? aten_drop_axis(c, x, 0) : x);
}

/* ---- grids --------------------------------------------------------------- */

/* (input, grid, interpolation, padding, align) */
void aten_grid_sampler(aten_call *c)
{
    static const char *const modes[] = {"linear", "nearest", "cubic"};
    static const char *const edges[] = {"zeros", "border", "reflection"};
    val x = arg_tensor(c, 0), grid = arg_tensor(c, 1);
    int64_t mode = arg_int(c, 2), edge = arg_int(c, 3);

    if (mode < 0 || mode > 2 || edge < 0 || edge > 2 ||
        (mode == 2 && call_rank(c, x) != 4))
        call_fail(c, HULL_EUNSUPPORTED, "interpolation or padding");
    if (c->st != HULL_OK)
        return;
    node *n = node_new(c->g, OP_grid_sample);
    node_input(c->g, n, x);
    node_input(c->g, n, op_cast(c->g, grid, call_dtype(c, x)));
    node_str(c->g, n, "mode", str_of(modes[mode]));
    node_str(c->g, n, "edge", str_of(edges[edge]));
    node_bool(c->g, n, "align", arg_bool(c, 4));
    node_bool(c->g, n, "taps", mode == 2);
    ret(c, node_add(c->g, n));
}

/* Coordinates of n places in [-1, 1]: their middles, or with `align` the
 * outermost ones at the ends. f64[n] */
static val coordinates(aten_call *c, dim n, bool align)
{
    val i = op_cast(c->g, aten_iota(c, n, HULL_I64), HULL_F64);
    val size = aten_dim_value(c, align ? dim_max(c->m, dim_sub(c->m, n, 1), 1)
                                       : n, HULL_F64);
    val two = aten_number(c, HULL_F64, 2), one = aten_number(c, HULL_F64, 1);
    val x = op_binary(c->g, OP_mul, i, two);

    if (align && n == 1)
        return op_binary(c->g, OP_mul, i, aten_number(c, HULL_F64, 0));
    if (!align)
        x = op_binary(c->g, OP_add, x, one);
    return op_binary(c->g, OP_sub, op_binary(c->g, OP_div, x, size), one);
}

/* affine_grid_generator(theta [n, k, k + 1], size [n, c, *], align): the
 * transformed places [n, *, k], the last axis first. */
void aten_affine_grid(aten_call *c)
{
    val theta = arg_tensor(c, 0), parts[4];
    hull_dtype dt = call_dtype(c, theta);
    dim size[5], d[5], flat[3];
    uint32_t n = arg_dims(c, 1, size, 5), k = n - 2;
    bool align = arg_bool(c, 2);
    hull_dtype in = dt == HULL_F64 ? HULL_F64 : HULL_F32;

    if (n < 4 || call_rank(c, theta) != 3)
        call_fail(c, HULL_EFORMAT, "operand or size of unfit rank");
    if (c->st != HULL_OK)
        return;
    memcpy(d, size + 2, k * sizeof *d);
    d[k] = 1;
    for (uint32_t i = 0; i < k; i++) {
        uint32_t axis = k - 1 - i;
        dim one[5];

        for (uint32_t j = 0; j <= k; j++)
            one[j] = j == axis ? d[j] : 1;
        parts[i] = op_cast(c->g, coordinates(c, d[axis], align), in);
        parts[i] = op_reshape(c->g, parts[i], one, k + 1);
        parts[i] = aten_broadcast(c, parts[i], d, k + 1);
    }
    parts[k] = aten_full(c, aten_number(c, in, 1), d, k + 1);
    val base = op_concat(c->g, parts, k + 1, k);
    flat[0] = dim_product(c->m, d, k);
    flat[1] = k + 1;
    base = op_reshape(c->g, base, flat, 2);
    theta = aten_swap(c, op_cast(c->g, theta, in), 1, 2);
    val y = op_cast(c->g, aten_matmul(c, base, theta, 0), dt);
    dim out[5] = {size[0]};
    memcpy(out + 1, d, k * sizeof *out);
    out[k + 1] = k;
    ret(c, op_reshape(c->g, y, out, k + 2));
}
