/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * fourier.c - dft by its definition, in double. The last axis holds the real
 * part, or the real and the imaginary part. A signal is cut or padded with
 * zeros to `size`. onesided gives the first size/2 + 1 places of a real
 * signal's transform, and with inverse takes them back to the real signal.
 */
#include "ops/family.h"

#include <inttypes.h>
#include <math.h>

#define TAU 6.283185307179586476925286766559

hull_status fourier_infer(graph *g, node *n)
{
    const type *x = NULL;
    dim dims[HULL_MAX_RANK], size = node_attr(n, "size")->u.d;
    bool inverse = attr_bool(n, "inverse"), half = attr_bool(n, "onesided");
    int64_t parts = 0, count = 1;
    uint32_t axis = 0;
    char what[128];

    TRY(infer_tensor(&x, g, n, 0));
    TRY(infer_want(n, x, WANT_FLOAT));
    TRY(infer_axis(&axis, n, attr_int(n, "axis"), x->rank));
    if (x->rank < 2 || axis + 1 == x->rank ||
        !dim_is_int(g->m, x->dims[x->rank - 1], &parts) || parts < 1 ||
        parts > 2 || (half && !inverse && parts != 1))
        return fail(HULL_ESHAPE, "%s: axis %" PRIu32 " of rank %" PRIu32
                    " with %" PRId64 " parts, want 1 (real, onesided) or 2 in "
                    "the last axis", node_what(n, what), axis, x->rank, parts);
    if (dim_is_int(g->m, size, &count) && count < 1)
        return fail(HULL_ESHAPE, "%s: size %" PRId64 ", want 1 or more",
                    node_what(n, what), count);
    for (uint32_t i = 0; i < x->rank; i++)
        dims[i] = x->dims[i];
    dims[axis] = half && !inverse ? dim_add(g->m, dim_div(g->m, size, 2), 1)
                                  : size;
    dims[x->rank - 1] = half && inverse ? 1 : 2;
    return infer_out(g, n, 0, x->dtype, dims, x->rank);
}

typedef struct line {
    const double *signal;          /* pairs; size of them */
    const double *turn;            /* cos and sin of each size-th of a turn */
    int64_t size;
} line;

/* Cosine and sine of i / size of a turn; quarters are exact, so that equal
 * terms cancel. */
static void turn_of(double out[2], int64_t i, int64_t size, double sign)
{
    static const double quarter[5] = {1, 0, -1, 0, 1};
    double angle = TAU * (double)i / (double)size;

    if (i % size * 4 % size == 0) {
        int64_t k = i * 4 / size;

        out[0] = quarter[k];
        out[1] = sign * quarter[(k + 3) % 4];
        return;
    }
    out[0] = cos(angle);
    out[1] = sign * sin(angle);
}

/* Place k of the transform. */
static void sum_line(const line *l, int64_t k, double *re, double *im)
{
    uint64_t at = 0;

    *re = *im = 0;
    for (int64_t i = 0; i < l->size; i++) {
        double a = l->signal[2 * i], b = l->signal[2 * i + 1];
        double c = l->turn[2 * at], s = l->turn[2 * at + 1];

        *re += a * c - b * s;
        *im += a * s + b * c;
        at = (at + (uint64_t)k) % (uint64_t)l->size;
    }
}

/* A line of the operand as `size` pairs; what onesided left out mirrored. */
static void read_line(double *out, const tensor *x, int64_t base, split s,
                      int64_t size, bool mirror)
{
    int64_t parts = x->shape[x->rank - 1];
    hull_dtype dt = x->dtype;

    for (int64_t i = 0; i < size; i++) {
        int64_t half = size / 2, from = mirror && i > half ? size - i : i;
        uint64_t at = (uint64_t)(base + from * s.inner);
        bool have = from < s.len;

        out[2 * i] = have ? load_f64(dt, x->data, at) : 0;
        out[2 * i + 1] = have && parts == 2 ? load_f64(dt, x->data, at + 1)
                                            : 0;
        if (mirror && i > half)
            out[2 * i + 1] = -out[2 * i + 1];
    }
}

hull_status fourier_eval(eval_ctx *cx, const node *n, const tensor *in,
                         tensor *out)
{
    const tensor *x = &in[0];
    bool inverse = attr_bool(n, "inverse"), half = attr_bool(n, "onesided");
    int64_t size = 0, wide = out->shape[out->rank - 1];
    double *signal = NULL, *turn = NULL;
    uint32_t axis = 0;

    if (tensor_numel(out) == 0)
        return HULL_OK; /* however large the other sizes are */
    TRY(infer_axis(&axis, n, attr_int(n, "axis"), x->rank));
    TRY(dim_eval(&size, cx->env, node_attr(n, "size")->u.d));
    split s = split_at(x, axis), to = split_at(out, axis);
    int64_t parts = x->shape[x->rank - 1];
    TRY(eval_scratch(&signal, cx, 2 * size));
    TRY(eval_scratch(&turn, cx, 2 * size));
    for (int64_t i = 0; i < size; i++)
        turn_of(turn + 2 * i, i, size, inverse ? 1 : -1);
    line l = {signal, turn, size};
    double by = inverse ? 1.0 / (double)size : 1.0;
    int64_t lines = s.inner / parts;
    for (int64_t o = 0; o < s.outer * lines; o++) {
        int64_t outer = o / lines, column = o % lines;

        read_line(signal, x, outer * s.len * s.inner + column * parts, s,
                  size, half && inverse);
        for (int64_t k = 0; k < to.len; k++) {
            int64_t at = (outer * to.len + k) * to.inner + column * wide;
            double re, im;

            sum_line(&l, k, &re, &im);
            store_f64(out->dtype, out->data, (uint64_t)at, re * by);
            if (wide == 2)
                store_f64(out->dtype, out->data, (uint64_t)at + 1, im * by);
        }
    }
    return HULL_OK;
}
