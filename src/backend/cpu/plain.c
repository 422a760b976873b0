/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * plain.c - what is too rare for vectors and too slow as a reference kernel,
 * which calls a function for each element: casts of f64 and i16, tests for NaN
 * and infinity, numbers below a byte that are unpacked, dequantize of 16 and 32
 * bits (biases of quantised models).
 */
#include "backend/cpu/cpu.h"
#include "ops/family.h"

#include <math.h>

/* ---- element by element -------------------------------------------------- */

typedef void each_fn(const void *x, void *y, int64_t begin, int64_t end);

#define EACH(name, from, to, value)                                          \
    static void name(const void *vx, void *vy, int64_t begin, int64_t end)   \
    {                                                                        \
        for (int64_t i = begin; i < end; i++) {                              \
            from x = ((const from *)vx)[i];                                  \
                                                                             \
            ((to *)vy)[i] = (to)(value);                                     \
        }                                                                    \
    }
EACH(i16_f32, int16_t, float, x)
EACH(f64_f32, double, float, x)
EACH(f32_f64, float, double, x)
EACH(nan_bool, float, uint8_t, isnan(x) != 0)
EACH(inf_bool, float, uint8_t, isinf(x) != 0)

static const struct {
    op_code op;
    hull_dtype from, to;
    each_fn *fn;
} each_rows[] = {
    {OP_cast, HULL_I16, HULL_F32, i16_f32},
    {OP_cast, HULL_F64, HULL_F32, f64_f32},
    {OP_cast, HULL_F32, HULL_F64, f32_f64},
    {OP_is_nan, HULL_F32, HULL_BOOL, nan_bool},
    {OP_is_inf, HULL_F32, HULL_BOOL, inf_bool},
};

static each_fn *each_of(op_code op, hull_dtype from, hull_dtype to)
{
    for (size_t i = 0; i < COUNT_OF(each_rows); i++)
        if (each_rows[i].op == op && each_rows[i].from == from &&
            each_rows[i].to == to)
            return each_rows[i].fn;
    return NULL;
}

bool takes_each(const graph *g, const node *n)
{
    if (n->op == OP_is_inf &&
        !(attr_bool(n, "negative") && attr_bool(n, "positive")))
        return false;
    return each_of(n->op, graph_type(g, n->in[0])->dtype,
                   graph_type(g, n->out[0])->dtype) != NULL;
}

typedef struct each {
    each_fn *fn;
    const void *x;
    void *y;
} each;

static void each_part(void *user, int64_t begin, int64_t end)
{
    const each *e = user;

    e->fn(e->x, e->y, begin, end);
}

hull_status cpu_each(eval_ctx *cx, const node *n, const tensor *in, tensor *out)
{
    each e = {each_of(n->op, in[0].dtype, out->dtype), in[0].data, out->data};

    if (e.fn == NULL)
        return op_get(n->op)->eval(cx, n, in, out);
    cpu_parallel(cx, tensor_numel(out), 4096, 1, each_part, &e);
    return HULL_OK;
}

/* ---- numbers in parts of bytes ------------------------------------------- */

bool takes_bits(const graph *g, const node *n)
{
    return cpu_all_dtype(g, n, HULL_U8);
}

typedef struct bits {
    const uint8_t *x, *by;
    uint8_t *y;
    int64_t n; /* of by: for each element of x */
    bool shift;
} bits;

static void bits_part(void *user, int64_t begin, int64_t end)
{
    const bits *b = user;

    for (int64_t k = 0; k < b->n; k++) {
        uint8_t by = b->by[k], mask = b->shift ? 255 : by;
        int amount = !b->shift ? 0 : by < 8 ? by : 8;

        for (int64_t i = begin; i < end; i++)
            b->y[i * b->n + k] = (uint8_t)((b->x[i] & mask) >> amount);
    }
}

/* x by one number, or each element of x by each of a few. */
hull_status cpu_bits(eval_ctx *cx, const node *n, const tensor *in, tensor *out)
{
    bits b = {in[0].data, in[1].data, out->data, tensor_numel(&in[1]),
              n->op == OP_shift_right};
    uint32_t rank = out->rank;
    bool few = rank > 0 && in[0].rank == rank && in[0].shape[rank - 1] == 1 &&
               out->shape[rank - 1] == b.n;

    if (tensor_numel(&in[0]) * b.n != tensor_numel(out) ||
        (b.n != 1 && !few))
        return op_get(n->op)->eval(cx, n, in, out);
    cpu_parallel(cx, tensor_numel(&in[0]), 4096, (double)b.n, bits_part, &b);
    return HULL_OK;
}

/* ---- dequantize ---------------------------------------------------------- */

bool takes_dequantize_wide(const graph *g, const node *n)
{
    hull_dtype dt = graph_type(g, n->in[0])->dtype;

    return (dt == HULL_I32 || dt == HULL_I16 || dt == HULL_U16) &&
           graph_type(g, n->in[1])->dtype == HULL_F32;
}

typedef struct wide {
    const tensor *x;
    const float *scale;
    const tensor *zero; /* NULL: 0 */
    float *y;
    int64_t scale_step, zero_step;
    split s;
} wide;

/* Runs of one index of the axis. */
static void wide_part(void *user, int64_t begin, int64_t end)
{
    const wide *w = user;

    for (; begin < end; begin++) {
        int64_t k = begin % w->s.len, at = begin * w->s.inner;
        double s = (double)w->scale[k * w->scale_step];
        double z = w->zero == NULL ? 0 : (double)load_i64(
            w->zero->dtype, w->zero->data, (uint64_t)(k * w->zero_step));
        const void *x = w->x->data;
        float *y = w->y;

        if (w->x->dtype == HULL_I32)
            for (int64_t i = at; i < at + w->s.inner; i++)
                y[i] = (float)((((const int32_t *)x)[i] - z) * s);
        else if (w->x->dtype == HULL_I16)
            for (int64_t i = at; i < at + w->s.inner; i++)
                y[i] = (float)((((const int16_t *)x)[i] - z) * s);
        else
            for (int64_t i = at; i < at + w->s.inner; i++)
                y[i] = (float)((((const uint16_t *)x)[i] - z) * s);
    }
}

hull_status cpu_dequantize_wide(eval_ctx *cx, const node *n, const tensor *in,
                                tensor *out)
{
    wide w = {.x = &in[0], .scale = in[1].data, .y = out->data,
              .scale_step = tensor_numel(&in[1]) != 1,
              .s = {1, 1, tensor_numel(out)}};
    int64_t axis = attr_int(n, "axis");

    if (tensor_given(in, n, 2)) {
        w.zero = &in[2];
        w.zero_step = tensor_numel(&in[2]) != 1;
    }
    if (w.s.inner == 0)
        return op_get(n->op)->eval(cx, n, in, out);
    if (w.scale_step != 0 || w.zero_step != 0) {
        w.s = split_at(&in[0], (uint32_t)(axis < 0 ? axis + in[0].rank : axis));
        if ((w.scale_step != 0 && tensor_numel(&in[1]) != w.s.len) ||
            (w.zero_step != 0 && tensor_numel(&in[2]) != w.s.len))
            return op_get(n->op)->eval(cx, n, in, out); /* refuses it */
    }
    cpu_parallel(cx, w.s.outer * w.s.len, 1, (double)w.s.inner + 5, wide_part,
                 &w);
    return HULL_OK;
}
