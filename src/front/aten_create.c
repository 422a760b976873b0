/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * aten_create.c - lowerings that make tensors from sizes and numbers; casts.
 */
#include "front/aten.h"

#include <math.h>
#include <string.h>

/* The dtype of a Python number: torch's default float is f32. */
static hull_dtype natural(const aten_value *x)
{
    return x->kind == ATEN_BOOL ? HULL_BOOL
           : x->kind == ATEN_INT ? HULL_I64 : HULL_F32;
}

static void filled(aten_call *c, const aten_value *x, hull_dtype dt,
                   const dim *d, uint32_t n)
{
    if (c->st == HULL_OK)
        ret(c, aten_full(c, aten_as(c, x, dt), d, n));
}

/* full(size, value, dtype) */
void aten_full_size(aten_call *c)
{
    dim d[HULL_MAX_RANK];
    uint32_t n = arg_dims(c, 0, d, HULL_MAX_RANK);

    filled(c, &c->args[1], arg_dtype(c, 2, natural(&c->args[1])), d, n);
}

/* zeros, ones, empty (size, dtype): param is the value. The elements of empty
 * are not defined: zeros will do. */
void aten_const_size(aten_call *c)
{
    bool layout = str_is(c->arg_names[1], "physical_layout") ||
                  str_is(c->arg_names[1], "stride");
    aten_value x = {.kind = ATEN_INT, .i = c->row->param};
    dim d[HULL_MAX_RANK];
    uint32_t n = arg_dims(c, 0, d, HULL_MAX_RANK);

    filled(c, &x, arg_dtype(c, layout ? 2 : 1, HULL_F32), d, n);
}

/* full_like(self, value, dtype), fill(self, value) */
void aten_full_like(aten_call *c)
{
    val x = arg_tensor(c, 0);
    hull_dtype dt = call_dtype(c, x);

    if (c->n_args > 2)
        dt = arg_dtype(c, 2, dt);
    filled(c, &c->args[1], dt, call_dims(c, x), call_rank(c, x));
}

/* zeros_like, ones_like, empty_like (self, dtype), zero(self) */
void aten_const_like(aten_call *c)
{
    aten_value one = {.kind = ATEN_INT, .i = c->row->param};
    val x = arg_tensor(c, 0);
    hull_dtype dt = call_dtype(c, x);

    if (c->n_args > 1)
        dt = arg_dtype(c, 1, dt);
    filled(c, &one, dt, call_dims(c, x), call_rank(c, x));
}

/* new_full(self, size, value, dtype) */
void aten_new_full(aten_call *c)
{
    dim d[HULL_MAX_RANK];
    uint32_t n = arg_dims(c, 1, d, HULL_MAX_RANK);
    hull_dtype dt = call_dtype(c, arg_tensor(c, 0));

    filled(c, &c->args[2], arg_dtype(c, 3, dt), d, n);
}

/* new_zeros, new_ones, new_empty (self, size, dtype); new_empty_strided has
 * strides in front of the dtype. */
void aten_new_const(aten_call *c)
{
    uint32_t dtype_at = str_is(c->arg_names[2], "stride") ? 3 : 2;
    aten_value one = {.kind = ATEN_INT, .i = c->row->param};
    dim d[HULL_MAX_RANK];
    uint32_t n = arg_dims(c, 1, d, HULL_MAX_RANK);
    hull_dtype dt = call_dtype(c, arg_tensor(c, 0));

    filled(c, &one, arg_dtype(c, dtype_at, dt), d, n);
}

void aten_scalar_tensor(aten_call *c)
{
    filled(c, &c->args[0], arg_dtype(c, 1, HULL_F32), NULL, 0);
}

/* copy(self, src): src as self's type. */
void aten_copy(aten_call *c)
{
    val x = arg_tensor(c, 0), src = arg_tensor(c, 1);

    src = aten_cast(c, src, call_dtype(c, x));
    ret(c, aten_broadcast(c, src, call_dims(c, x), call_rank(c, x)));
}

/* to.*, _to_copy: param is the position of the dtype. */
void aten_to(aten_call *c)
{
    val x = arg_tensor(c, 0);

    ret(c, aten_cast(c, x, arg_dtype(c, (uint32_t)c->row->param,
                                     call_dtype(c, x))));
}

void aten_type_as(aten_call *c)
{
    val x = arg_tensor(c, 0), other = arg_tensor(c, 1);

    ret(c, aten_cast(c, x, call_dtype(c, other)));
}

/* ---- ranges -------------------------------------------------------------- */

/* start + i step for i < n, in 64 bits, then as dt. */
static val range(aten_call *c, const aten_value *start, const aten_value *step,
                 dim n, hull_dtype dt)
{
    bool real = start->kind == ATEN_FLOAT || step->kind == ATEN_FLOAT;
    hull_dtype wide = real ? HULL_F64 : HULL_I64;
    val x = op_cast(c->g, aten_iota(c, n, HULL_I64), wide);

    if (step->kind != ATEN_INT || step->i != 1)
        x = op_binary(c->g, OP_mul, x, aten_as(c, step, wide));
    if (start->kind != ATEN_INT || start->i != 0)
        x = op_binary(c->g, OP_add, x, aten_as(c, start, wide));
    return op_cast(c->g, x, dt);
}

static double real_of(aten_call *c, const aten_value *x)
{
    int64_t v = 0;

    if (x->kind == ATEN_FLOAT)
        return x->f;
    if (x->kind == ATEN_INT && dim_is_int(c->m, x->i, &v))
        return (double)v;
    call_fail(c, HULL_EUNSUPPORTED, "a symbolic size among floats");
    return 1;
}

static dim range_length(aten_call *c, const aten_value *start,
                        const aten_value *end, const aten_value *step)
{
    int64_t by = 0;

    if (start->kind == ATEN_INT && end->kind == ATEN_INT &&
        step->kind == ATEN_INT) {
        dim span = dim_sub(c->m, end->i, start->i);

        if (!dim_is_int(c->m, step->i, &by) || by == 0 || by == INT64_MIN) {
            call_fail(c, HULL_EFORMAT, "step is 0 or symbolic");
            return 0;
        }
        if (by < 0)
            span = dim_sub(c->m, 0, span);
        by = by < 0 ? -by : by;
        if (by != 1)
            span = dim_ceil_div(c->m, span, by);
        int64_t lo, hi;
        dim_range(c->m, span, &lo, &hi);
        return lo >= 0 ? span : dim_max(c->m, span, 0);
    }
    double a = real_of(c, start), b = real_of(c, end), s = real_of(c, step);
    double n = ceil((b - a) / s);
    if (!(n >= 0 && n < 1e12)) {
        call_fail(c, HULL_EFORMAT, "length of the range");
        return 0;
    }
    return (dim)n;
}

static aten_value truncated(aten_call *c, const aten_value *x)
{
    if (x->kind == ATEN_FLOAT && !(fabs(x->f) < 1e18))
        call_fail(c, HULL_EFORMAT, "bound of a range");
    if (x->kind != ATEN_FLOAT || c->st != HULL_OK)
        return *x;
    return (aten_value){.kind = ATEN_INT, .i = dim_int(c->m, (int64_t)x->f)};
}

static bool real_bounds(const aten_value *start, const aten_value *end,
                        const aten_value *step)
{
    return start->kind == ATEN_FLOAT || end->kind == ATEN_FLOAT ||
           step->kind == ATEN_FLOAT;
}

/* arange: param is the number of arguments before the dtype. */
void aten_arange(aten_call *c)
{
    static const aten_value zero = {.kind = ATEN_INT, .i = 0};
    static const aten_value one = {.kind = ATEN_INT, .i = 1};
    uint32_t n = (uint32_t)c->row->param;
    const aten_value *start = n > 1 ? &c->args[0] : &zero;
    const aten_value *end = &c->args[n > 1 ? 1 : 0];
    const aten_value *step = n > 2 ? &c->args[2] : &one;
    bool real = real_bounds(start, end, step);
    hull_dtype dt = arg_dtype(c, n, real ? HULL_F32 : HULL_I64);
    aten_value cut[2];

    if (real && !dtype_is_float(dt)) { /* cut, but for the length */
        cut[0] = truncated(c, start);
        cut[1] = truncated(c, step);
        real = false;
    }
    dim length = range_length(c, start, end, step);
    if (real_bounds(start, end, step) && !real) {
        start = &cut[0];
        step = &cut[1];
    }
    if (length == DIM_UNKNOWN)
        call_fail(c, HULL_EUNSUPPORTED, "length depends on data");
    if (c->st == HULL_OK)
        ret(c, range(c, start, step, length, dt));
}

/* n places from a to b: the first half counts from a, the others from b. For
 * integers the bounds are cut, and so is every place. f64 */
static val spread(aten_call *c, double a, double b, int64_t n)
{
    double step = n > 1 ? (b - a) / (double)(n - 1) : 0;
    val i = op_cast(c->g, aten_iota(c, n, HULL_I64), HULL_F64);
    val rest = op_binary(c->g, OP_sub,
                         aten_number(c, HULL_F64, (double)(n - 1)), i);
    val by = aten_number(c, HULL_F64, step);
    val low = op_binary(c->g, OP_add, aten_number(c, HULL_F64, a),
                        op_binary(c->g, OP_mul, i, by));
    val high = op_binary(c->g, OP_sub, aten_number(c, HULL_F64, b),
                         op_binary(c->g, OP_mul, rest, by));
    val first = op_binary(c->g, OP_lt, i,
                          aten_number(c, HULL_F64, (double)(n / 2)));

    return n == 1 ? low : aten_where(c, first, low, high);
}

/* linspace(start, end, steps, dtype), logspace(.., steps, base, dtype): param
 * 1 */
void aten_linspace(aten_call *c)
{
    bool logs = c->row->param != 0;
    int64_t n = arg_int(c, 2);
    double a = arg_num(c, 0), b = arg_num(c, 1);
    hull_dtype dt = arg_dtype(c, logs ? 4 : 3, HULL_F32);

    if (n < 0)
        call_fail(c, HULL_EFORMAT, "negative number of steps");
    if (!dtype_is_float(dt)) {
        a = trunc(a);
        b = trunc(b);
    }
    if (c->st != HULL_OK)
        return;
    val x = spread(c, a, b, n);
    if (logs)
        x = op_binary(c->g, OP_pow, aten_number(c, HULL_F64, arg_num(c, 3)),
                      x);
    ret(c, aten_cast(c, x, dt));
}

/* a - b cos(2 pi k / n) + e cos(4 pi k / n); bartlett is a triangle. */
typedef struct window_kind {
    double a, b, e;
} window_kind;

/* hann, hamming, blackman, bartlett (window_length, [periodic,] dtype): param
 * 0 to 3. */
void aten_signal_window(aten_call *c)
{
    static const window_kind kinds[] = {
        {0.5, 0.5, 0}, {0.54, 0.46, 0}, {0.42, 0.5, 0.08}, {0, 0, 0}};
    const double turn = 6.283185307179586;
    const window_kind *k = &kinds[c->row->param];
    bool periodic = c->n_args < 3 || arg_bool(c, 1);
    int64_t n = arg_int(c, 0);
    hull_dtype dt = arg_dtype(c, c->n_args - 1, HULL_F32);

    if (n < 0 || n > 1 << 20)
        call_fail(c, HULL_EUNSUPPORTED, "length of a window");
    if (c->st != HULL_OK)
        return;
    double *w = arena_array(&c->f->a, (size_t)n + 1, sizeof *w);
    if (!w) {
        call_fail(c, HULL_ENOMEM, "a window");
        return;
    }
    double size = (double)(periodic ? n : n - 1);
    for (int64_t i = 0; i < n; i++) {
        double at = (double)i / (size > 0 ? size : 1);

        w[i] = n == 1 ? 1
               : c->row->param == 3 ? 1 - fabs(2 * at - 1)
               : k->a - k->b * cos(turn * at) + k->e * cos(2 * turn * at);
    }
    ret(c, op_cast(c->g, op_const(c->g, HULL_F64, &n, 1, w), dt));
}

/* resize(self, size): the first elements, zeros behind the last one. */
void aten_resize_storage(aten_call *c)
{
    val x = aten_flat(c, arg_tensor(c, 0));
    dim d[HULL_MAX_RANK];
    uint32_t n = arg_dims(c, 1, d, HULL_MAX_RANK);
    int64_t have = 0, want = 0;

    if (c->st != HULL_OK)
        return;
    dim all = dim_product(c->m, d, n);
    if (!dim_is_int(c->m, call_dims(c, x)[0], &have) ||
        !dim_is_int(c->m, all, &want) || want < 0) {
        call_missing(c, "of a symbolic size");
        return;
    }
    dim pads[] = {0, want - have};
    if (want > have)
        x = aten_pads(c, x, pads, "constant", 0);
    ret(c, op_reshape(c->g, aten_slice1(c, x, 0, 0, want), d, n));
}

/* column index - row index of an [.., m, n] matrix, as [m, n] */
static val offset(aten_call *c, dim rows, dim cols)
{
    val i = aten_insert_axis(c, aten_iota(c, rows, HULL_I64), 1);

    return op_binary(c->g, OP_sub, aten_iota(c, cols, HULL_I64), i);
}

/* param: 1 = lower triangle. */
void aten_triangle(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t rank = call_rank(c, x);
    val k = aten_as(c, &c->args[1], HULL_I64);

    if (rank < 2) {
        call_fail(c, HULL_EFORMAT, "operand of rank below 2");
        return;
    }
    val at = offset(c, call_dims(c, x)[rank - 2], call_dims(c, x)[rank - 1]);
    val keep = op_binary(c->g, c->row->param ? OP_le : OP_ge, at, k);
    ret(c, aten_where(c, keep, x, aten_number(c, call_dtype(c, x), 0)));
}

/* eye(n, dtype), eye.m(n, m, dtype) */
void aten_eye(aten_call *c)
{
    bool two = c->n_args > 2;
    dim n = arg_dim(c, 0), m = two ? arg_dim(c, 1) : n;
    hull_dtype dt = arg_dtype(c, two ? 2 : 1, HULL_F32);

    if (c->st != HULL_OK)
        return;
    val on = op_binary(c->g, OP_eq, offset(c, n, m),
                       op_scalar_i64(c->g, HULL_I64, 0));
    ret(c, op_cast(c->g, on, dt));
}

void aten_one_hot(aten_call *c)
{
    val x = arg_tensor(c, 0);
    dim n = arg_dim(c, 1);

    if (n < 0 && c->st == HULL_OK)
        call_missing(c, "number of classes depends on data");
    if (c->missing || c->st != HULL_OK)
        return;
    x = aten_insert_axis(c, op_cast(c->g, x, HULL_I64), call_rank(c, x));
    x = op_binary(c->g, OP_eq, x, aten_iota(c, n, HULL_I64));
    ret(c, op_cast(c->g, x, HULL_I64));
}

/* ---- sizes --------------------------------------------------------------- */

void aten_sym_size(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t axis = arg_axis(c, 1, call_rank(c, x));

    c->out[0] = (aten_value){.kind = ATEN_INT, .i = call_dims(c, x)[axis]};
    c->n_out = 1;
}

void aten_sym_numel(aten_call *c)
{
    dim n = type_numel(c->m, call_type(c, arg_tensor(c, 0)));

    c->out[0] = (aten_value){.kind = ATEN_INT, .i = n};
    c->n_out = 1;
}

/* An integer that only the run knows becomes a symbol. */
static void bind_item(aten_call *c, val x)
{
    hull_dtype dt = call_dtype(c, x);
    dim d = 0;
    uint32_t n = 0;

    if (!dtype_is_int(dt) && dt != HULL_BOOL) {
        call_missing(c, "of a float that depends on data");
        return;
    }
    x = op_reshape(c->g, x, NULL, 0);
    hull_status st = front_numbers(c->f, x, &d, 1, &n);
    if (st != HULL_OK && c->st == HULL_OK)
        c->st = st;
    c->out[0] = (aten_value){.kind = ATEN_INT, .i = d};
}

/* sym_stride.int(self, dim), sym_storage_offset(self), sym_is_contiguous(self,
 * memory_format): of the producer's memory, which the file describes. */
void aten_sym_stride(aten_call *c)
{
    val x = arg_tensor(c, 0);
    uint32_t axis = arg_axis(c, 1, call_rank(c, x));
    bool known = c->n_strides == call_rank(c, x) && axis < c->n_strides;

    if (!known)
        call_fail(c, HULL_EFORMAT, "the file has no strides of the operand");
    c->out[0] = (aten_value){.kind = ATEN_INT,
                             .i = known ? c->strides[axis] : 0};
    c->n_out = 1;
}

void aten_sym_storage_offset(aten_call *c)
{
    c->out[0] = (aten_value){.kind = ATEN_INT, .i = c->storage_offset};
    c->n_out = 1;
}

void aten_sym_is_contiguous(aten_call *c)
{
    val x = arg_tensor(c, 0);
    bool dense = c->n_strides == call_rank(c, x);
    dim want = 1;

    for (uint32_t i = call_rank(c, x); dense && i-- > 0;) {
        dense = call_dims(c, x)[i] == 1 || dim_eq(c->m, c->strides[i], want);
        want = dim_mul(c->m, want, call_dims(c, x)[i]);
    }
    c->out[0] = (aten_value){.kind = ATEN_BOOL, .b = dense};
    c->n_out = 1;
}

/* item(): the value where it is known. */
void aten_item(aten_call *c)
{
    val x = arg_tensor(c, 0);
    const value *v = graph_value(c->g, x);
    double f = 0;

    if (v->known && v->n_known == 1 && v->known[0] != DIM_UNKNOWN &&
        dtype_is_int(v->type.dtype))
        c->out[0] = (aten_value){.kind = ATEN_INT, .i = v->known[0]};
    else if (front_scalar(c->f, x, &f))
        c->out[0] = (aten_value){.kind = ATEN_FLOAT, .f = f};
    else
        bind_item(c, x);
    c->n_out = 1;
}
