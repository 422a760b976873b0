/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * aten_fft.c - lowerings of Fourier transforms to the op `dft`, axis by axis,
 * and of short-time transforms and their inverse. The op divides by the size
 * when it goes back; what a norm wants besides is one factor at the end.
 */
#include "front/aten.h"

#include <math.h>
#include <string.h>

enum { NORM_NONE, NORM_ROOT, NORM_BY_N };

static val binary(aten_call *c, op_code op, val a, val b)
{
    return op_binary(c->g, op, a, b);
}

/* Real or complex x as [.., 1] or [.., 2]. */
static val signal_of(aten_call *c, val x)
{
    if (aten_is_complex(c, x))
        return aten_parts(c, x);
    x = aten_float(c, x);
    return aten_insert_axis(c, x, call_rank(c, x));
}

static val dft(aten_call *c, val x, uint32_t axis, dim size, bool inverse,
               bool onesided)
{
    node *n = node_new(c->g, OP_dft);

    node_input(c->g, n, x);
    node_int(c->g, n, "axis", axis);
    node_dim(c->g, n, "size", size);
    node_bool(c->g, n, "inverse", inverse);
    node_bool(c->g, n, "onesided", onesided);
    return node_add(c->g, n);
}

/* x times n to the power of `power`. */
static val scaled(aten_call *c, val x, dim n, double power)
{
    hull_dtype dt = call_dtype(c, x);
    int64_t v = 0;

    if (power <= 0 && power >= 0)
        return x;
    if (dim_is_int(c->m, n, &v))
        return binary(c, OP_mul, x, aten_number(c, dt, pow((double)v, power)));
    return binary(c, OP_mul, x,
                  binary(c, OP_pow, aten_dim_value(c, n, dt),
                         aten_number(c, dt, power)));
}

typedef struct transform {
    uint32_t n, axes[HULL_MAX_RANK];
    dim size[HULL_MAX_RANK];
    bool inverse, real_in, real_out; /* real: half of the last axis */
    int norm;
} transform;

static val run(aten_call *c, val x, const transform *t)
{
    double power = t->norm == NORM_NONE ? 0 : t->norm == NORM_ROOT ? -0.5 : -1;
    uint32_t last = t->n - 1;
    dim all = 1;

    x = signal_of(c, x);
    for (uint32_t i = 0; i < t->n; i++)
        all = dim_mul(c->m, all, t->size[i]);
    if (t->real_in)
        x = dft(c, x, t->axes[last], t->size[last], false, true);
    for (uint32_t i = 0; i < t->n; i++)
        if (i != last || !(t->real_in || t->real_out))
            x = dft(c, x, t->axes[i], t->size[i], t->inverse, false);
    if (t->real_out)
        x = dft(c, x, t->axes[last], t->size[last], true, true);
    x = scaled(c, x, all, t->inverse || t->real_out ? 1 + power : power);
    return t->real_out ? aten_drop_axis(c, x, call_rank(c, x) - 1)
                       : aten_from_parts(c, x);
}

static void read_axes(aten_call *c, uint32_t arg, val x, transform *t)
{
    int64_t axes[HULL_MAX_RANK] = {0};
    uint32_t rank = call_rank(c, x);

    t->n = arg_ints(c, arg, axes, HULL_MAX_RANK);
    for (uint32_t i = 0; i < t->n && c->st == HULL_OK; i++) {
        int64_t a = axes[i] < 0 ? axes[i] + rank : axes[i];

        if (a < 0 || a >= rank) {
            call_fail(c, HULL_EFORMAT, "dim out of range");
            return;
        }
        t->axes[i] = (uint32_t)a;
        t->size[i] = call_dims(c, x)[a];
    }
}

static bool ready(aten_call *c, val x, const transform *t)
{
    hull_dtype dt = call_dtype(c, x);

    if (t->n == 0)
        call_missing(c, "over no dims");
    if (dt == HULL_F16 || dt == HULL_BF16)
        call_fail(c, HULL_EUNSUPPORTED, "a transform of halves");
    return c->st == HULL_OK && !c->missing;
}

/* _fft_r2c(self, dim, norm, onesided), _fft_c2c(.., forward), _fft_c2r(..,
 * last_dim_size): param 0, 1, 2 */
void aten_fft_raw(aten_call *c)
{
    val x = arg_tensor(c, 0);
    transform t = {.norm = (int)arg_int(c, 2)};

    read_axes(c, 1, x, &t);
    if (t.norm < NORM_NONE || t.norm > NORM_BY_N)
        call_fail(c, HULL_EFORMAT, "normalization is not 0, 1 or 2");
    if (!ready(c, x, &t))
        return;
    if (c->row->param == 0) {
        t.real_in = arg_bool(c, 3);
    } else if (c->row->param == 1) {
        t.inverse = !arg_bool(c, 3);
    } else {
        t.inverse = t.real_out = true;
        t.size[t.n - 1] = arg_dim(c, 3);
    }
    if (c->st == HULL_OK)
        ret(c, run(c, x, &t));
}

#define FFT_HALF 1    /* real on one side */
#define FFT_INVERSE 2
#define FFT_MANY 4    /* lists of sizes and dims */
#define FFT_HERMITE 8 /* hfft, ihfft: the other direction's half */

/* What a norm by name does in this direction. */
static int norm_of(aten_call *c, uint32_t arg, bool inverse)
{
    str s = arg_none(c, arg) ? str_of("backward") : arg_str(c, arg);

    if (str_is(s, "ortho"))
        return NORM_ROOT;
    if (!str_is(s, "forward") && !str_is(s, "backward"))
        call_fail(c, HULL_EFORMAT, "norm");
    return str_is(s, "forward") == inverse ? NORM_NONE : NORM_BY_N;
}

/* dims of an n-dimensional transform: given, or as many as sizes, or all. */
static void default_axes(aten_call *c, val x, uint32_t n_sizes, transform *t)
{
    uint32_t rank = call_rank(c, x);

    t->n = n_sizes ? n_sizes : rank;
    if (t->n > rank) {
        call_fail(c, HULL_EFORMAT, "more sizes than dims");
        return;
    }
    for (uint32_t i = 0; i < t->n; i++) {
        t->axes[i] = rank - t->n + i;
        t->size[i] = call_dims(c, x)[t->axes[i]];
    }
}

/* fft_*(self, n or s, dim, norm); param: the bits above. */
void aten_fft(aten_call *c)
{
    int32_t p = c->row->param;
    bool inverse = (p & FFT_INVERSE) != 0, hermite = (p & FFT_HERMITE) != 0;
    val x = arg_tensor(c, 0);
    dim size[HULL_MAX_RANK];
    uint32_t n = arg_dims(c, 1, size, HULL_MAX_RANK);
    transform t = {.inverse = inverse, .norm = norm_of(c, 3, inverse)};

    if (arg_none(c, 2))
        default_axes(c, x, n, &t);
    else
        read_axes(c, 2, x, &t);
    if (n && n != t.n)
        call_fail(c, HULL_EFORMAT, "sizes and dims differ in number");
    if (!ready(c, x, &t))
        return;
    t.real_in = (p & FFT_HALF) && inverse == hermite;
    t.real_out = (p & FFT_HALF) && !t.real_in;
    if (t.real_out)
        t.size[t.n - 1] = dim_mul(c->m, dim_sub(c->m, t.size[t.n - 1], 1), 2);
    for (uint32_t i = 0; i < n; i++) {
        int64_t v = 0;

        if (!dim_is_int(c->m, size[i], &v) || v != -1)
            t.size[i] = size[i];
    }
    if (hermite && t.real_out && aten_is_complex(c, x))
        x = aten_conjugate(c, x); /* and back */
    if (hermite && t.real_in)
        t.inverse = false;
    x = run(c, x, &t);
    ret(c, hermite && t.real_in ? aten_conjugate(c, x) : x);
}

/* fft_fftfreq(n, d, dtype), fft_rfftfreq: param 1 */
void aten_fftfreq(aten_call *c)
{
    int64_t n = arg_int(c, 0);
    double d = arg_num(c, 1);
    bool half = c->row->param != 0;

    if (n < 1 || n > 1 << 20 || !(d > 0 || d < 0))
        call_fail(c, HULL_EUNSUPPORTED, "number or distance of samples");
    if (c->st != HULL_OK)
        return;
    int64_t size = half ? n / 2 + 1 : n;
    double *f = arena_array(&c->f->a, (size_t)size, sizeof *f);
    if (!f) {
        call_fail(c, HULL_ENOMEM, "frequencies");
        return;
    }
    for (int64_t i = 0; i < size; i++)
        f[i] = (double)(half || i < (n + 1) / 2 ? i : i - n) /
               ((double)n * d);
    ret(c, op_cast(c->g, op_const(c->g, HULL_F64, &size, 1, f),
                   arg_dtype(c, 2, HULL_F32)));
}

/* ---- short-time transforms ----------------------------------------------- */

typedef struct frames {
    int64_t size, hop;
    val window; /* [size], or 0 */
} frames;

/* n_fft, hop_length, win_length, window: arguments 1 to 4. */
static void read_frames(aten_call *c, frames *f, hull_dtype dt)
{
    int64_t win = 0;

    f->size = arg_int(c, 1);
    f->hop = arg_none(c, 2) ? f->size / 4 : arg_int(c, 2);
    win = arg_none(c, 3) ? f->size : arg_int(c, 3);
    f->window = arg_optional(c, 4);
    if (f->size < 1 || f->size > 1 << 24 || f->hop < 1 || win < 1 ||
        win > f->size)
        call_fail(c, HULL_EFORMAT, "sizes of a window");
    if (f->window && aten_is_complex(c, f->window))
        call_fail(c, HULL_EUNSUPPORTED, "a complex window");
    if (c->st != HULL_OK || (!f->window && win == f->size))
        return;
    if (!f->window)
        f->window = aten_full(c, aten_number(c, dt, 1), &win, 1);
    f->window = op_cast(c->g, f->window, dt);
    int64_t left = (f->size - win) / 2;
    dim pads[] = {left, f->size - win - left};
    if (win != f->size)
        f->window = aten_pads(c, f->window, pads, "constant", 0);
}

static bool flag(aten_call *c, uint32_t i, bool otherwise)
{
    return arg_none(c, i) ? otherwise : arg_bool(c, i);
}

/* stft(self, n_fft, hop_length, win_length, window, normalized, onesided,
 * return_complex, align_to_window); param 1 = with center and pad_mode in
 * front of normalized. */
void aten_stft(aten_call *c)
{
    uint32_t at = c->row->param ? 7 : 5;
    val x = arg_tensor(c, 0);
    bool single = call_rank(c, x) == 1, norm = arg_bool(c, at);
    bool onesided = flag(c, at + 1, true), whole = flag(c, at + 2, false);
    frames f = {0};

    if (aten_is_complex(c, x)) {
        call_missing(c, "of a complex signal");
        return;
    }
    read_frames(c, &f, call_dtype(c, x));
    if (call_rank(c, x) != 2 && !single)
        call_fail(c, HULL_EFORMAT, "operand of unfit rank");
    if (c->st != HULL_OK)
        return;
    if (single)
        x = aten_insert_axis(c, x, 0);
    if (c->row->param && arg_bool(c, 5)) {
        static const char *const modes[][2] = {
            {"reflect", "reflect"}, {"constant", "constant"},
            {"replicate", "edge"}, {"circular", "wrap"}};
        dim pads[] = {0, f.size / 2, 0, f.size / 2};
        const char *mode = NULL;

        for (size_t i = 0; i < COUNT_OF(modes); i++)
            if (str_is(arg_str(c, 6), modes[i][0]))
                mode = modes[i][1];
        if (!mode) {
            call_fail(c, HULL_EUNSUPPORTED, "padding mode");
            return;
        }
        x = aten_pads(c, x, pads, mode, 0);
    }
    dim room = dim_sub(c->m, call_dims(c, x)[1], f.size);
    dim shape[] = {dim_add(c->m, dim_div(c->m, room, f.hop), 1), f.size};
    dim step[] = {f.hop, 1};
    x = aten_take(c, x, aten_lattice(c, shape, step, 2, 0), 1);
    if (f.window)
        x = binary(c, OP_mul, x, f.window);
    x = dft(c, signal_of(c, x), 2, f.size, false, onesided);
    x = aten_swap(c, scaled(c, x, f.size, norm ? -0.5 : 0), 1, 2);
    if (whole)
        x = aten_from_parts(c, x);
    ret(c, single ? aten_drop_axis(c, x, 0) : x);
}

/* Frames [b, t, size] added where they were taken from:
 * [b, size + hop (t - 1)] */
static val overlap_add(aten_call *c, val x, const frames *f)
{
    dim b = call_dims(c, x)[0], t = call_dims(c, x)[1];
    dim shape[] = {t, f->size}, step[] = {f->hop, 1};
    dim flat[] = {b, dim_mul(c->m, t, f->size)};
    val at = aten_flat(c, aten_lattice(c, shape, step, 2, 0));
    dim length = dim_mul(c->m, dim_sub(c->m, t, 1), f->hop);
    dim out[] = {b, dim_add(c->m, length, f->size)};
    val zero = aten_full(c, aten_number(c, call_dtype(c, x), 0), out, 2);

    return aten_put_elements(c, zero, aten_broadcast(c, at, flat, 2),
                             op_reshape(c->g, x, flat, 2), 1, "add");
}

/* istft(self, n_fft, hop_length, win_length, window, center, normalized,
 * onesided, length, return_complex): the frames' sum over the sum of the
 * squared windows. */
void aten_istft(aten_call *c)
{
    val x = arg_tensor(c, 0);
    bool single = call_rank(c, x) == 2, center = arg_bool(c, 5);
    bool norm = arg_bool(c, 6);
    frames f = {0};

    if (!aten_is_complex(c, x))
        call_fail(c, HULL_EFORMAT, "operand is not complex");
    hull_dtype dt = call_dtype(c, x) == HULL_C128 ? HULL_F64 : HULL_F32;
    read_frames(c, &f, dt);
    if (!single && call_rank(c, x) != 3)
        call_fail(c, HULL_EFORMAT, "operand of unfit rank");
    if (!flag(c, 7, true) || arg_bool(c, 9)) {
        call_missing(c, "to a complex signal");
        return;
    }
    if (c->st != HULL_OK)
        return;
    if (single)
        x = aten_insert_axis(c, x, 0);
    x = aten_swap(c, aten_parts(c, x), 1, 2);
    x = dft(c, x, 2, f.size, true, true);
    x = scaled(c, aten_drop_axis(c, x, 3), f.size, norm ? 0.5 : 0);
    dim one[] = {1, call_dims(c, x)[1], f.size};
    val square = aten_full(c, aten_number(c, dt, 1), one, 3);
    if (f.window) {
        x = binary(c, OP_mul, x, f.window);
        square = binary(c, OP_mul, square,
                        binary(c, OP_mul, f.window, f.window));
    }
    val y = overlap_add(c, x, &f), w = overlap_add(c, square, &f);
    dim total = call_dims(c, y)[1], start = center ? f.size / 2 : 0;
    dim end = center ? dim_sub(c->m, total, f.size / 2) : total;
    if (!arg_none(c, 8))
        end = dim_min(c->m, dim_add(c->m, start, arg_dim(c, 8)), total);
    y = binary(c, OP_div, aten_slice1(c, y, 1, start, end),
               aten_slice1(c, w, 1, start, end));
    if (!arg_none(c, 8)) { /* zeros where no frame reaches */
        dim have = dim_sub(c->m, end, start);
        dim pads[] = {0, 0, 0, dim_sub(c->m, arg_dim(c, 8), have)};

        if (pads[3] != 0)
            y = aten_pads(c, y, pads, "constant", 0);
    }
    ret(c, single ? aten_drop_axis(c, y, 0) : y);
}
