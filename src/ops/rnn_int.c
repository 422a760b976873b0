/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * rnn_int.c - lstm_int, the steps of an LSTM whose state is quantised to u8
 * before it meets weights of bytes; the inputs' product is done:
 *
 *   x [d,t,b,4h], gates in the order i, o, f, c
 *   r [d,h,4h], or in panels [d ceil(4h / tile), ceil(h / group), tile, group]
 *   r_scale, r_zero [d] or [d,4h]  bias [d,4h]  peephole [d,3h] (i, o, f)
 *   lengths [b]  h0, c0 [d,b,h]  ->  y [t,d,b,h]  hn, cn [d,b,h]
 *
 *   s = (max(h, 0) - min(h, 0)) / 255 over all of h, z = round(-min / s),
 *   q = h quantised by s and z
 *   gates = x + f32((q - z) (r - r_zero)) (s r_scale) + bias
 *
 * in f32, each operation rounded. Beyond a sequence's length y is 0 and the
 * states stand still; one step beyond it h counts as 0 where it is quantised.
 * A reversed direction starts at a sequence's last element.
 */
#include "ops/data.h"
#include "ops/family.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- shape rule ---------------------------------------------------------- */

static int64_t directions(const node *n)
{
    str d = attr_str(n, "direction");

    if (str_is(d, "both"))
        return 2;
    return str_is(d, "forward") || str_is(d, "reverse");
}

static hull_status want(graph *g, const node *n, uint32_t i, hull_dtype dt,
                        const dim *dims, uint32_t rank)
{
    const type *t;
    char what[128];

    if (!node_has(n, i))
        return HULL_OK;
    TRY(infer_tensor(&t, g, n, i));
    if (t->dtype != dt || t->rank != rank)
        return fail(HULL_ESHAPE, "%s: operand %" PRIu32 " is %s of rank %"
                    PRIu32 ", wanted %s of rank %" PRIu32, node_what(n, what),
                    i, hull_dtype_name(t->dtype), t->rank, hull_dtype_name(dt),
                    rank);
    for (uint32_t k = 0; k < rank; k++)
        TRY(infer_equal(g, n, t->dims[k], dims[k], "sizes of operands"));
    return HULL_OK;
}

/* [d] or [d, 4h]. */
static hull_status want_scale(graph *g, const node *n, uint32_t i,
                              hull_dtype dt, const dim *dims)
{
    const type *t;

    if (!node_has(n, i))
        return HULL_OK;
    TRY(infer_tensor(&t, g, n, i));
    return want(g, n, i, dt, dims, t->rank == 1 ? 1 : 2);
}

static hull_status want_weight(graph *g, const node *n, int64_t d, int64_t h)
{
    const type *r;
    dim plain[3] = {d, h, 4 * h};
    char what[128];

    TRY(infer_tensor(&r, g, n, LSTM_INT_R));
    if (r->dtype != HULL_U8 && r->dtype != HULL_I8)
        return fail(HULL_ESHAPE, "%s: weights of %s, wanted u8 or i8",
                    node_what(n, what), hull_dtype_name(r->dtype));
    if (r->rank != 4 || r->dims[2] < 1 || r->dims[3] < 1)
        return want(g, n, LSTM_INT_R, r->dtype, plain, 3);
    TRY(infer_equal(g, n, r->dims[0],
                    d * ((4 * h + r->dims[2] - 1) / r->dims[2]),
                    "numbers of panels"));
    return infer_equal(g, n, r->dims[1], (h + r->dims[3] - 1) / r->dims[3],
                       "depths of panels");
}

hull_status rnn_int_infer(graph *g, node *n)
{
    int64_t d = directions(n), h = attr_int(n, "hidden");
    const type *x, *r;
    dim y[4], state[3], each[2] = {d, 4 * h}, peephole[2] = {d, 3 * h};
    char what[128];

    if (d == 0 || h < 1 || h > INT32_MAX / 16)
        return fail(HULL_EINVAL, "%s: direction '%.*s', hidden %" PRId64,
                    node_what(n, what), STR_ARG(attr_str(n, "direction")), h);
    TRY(infer_tensor(&x, g, n, 0));
    TRY(infer_tensor(&r, g, n, LSTM_INT_R));
    if (x->rank != 4)
        return fail(HULL_ESHAPE, "%s: operand of rank %" PRIu32 ", wanted 4",
                    node_what(n, what), x->rank);
    y[0] = x->dims[1];
    y[1] = state[0] = d;
    y[2] = state[1] = x->dims[2];
    y[3] = state[2] = h;
    {
        dim all[4] = {d, y[0], y[2], 4 * h};

        TRY(want(g, n, 0, HULL_F32, all, 4));
    }
    TRY(want_weight(g, n, d, h));
    TRY(want_scale(g, n, LSTM_INT_SCALE, HULL_F32, each));
    TRY(want_scale(g, n, LSTM_INT_ZERO, r->dtype, each));
    TRY(want(g, n, LSTM_INT_BIAS, HULL_F32, each, 2));
    TRY(want(g, n, LSTM_INT_PEEPHOLE, HULL_F32, peephole, 2));
    TRY(want(g, n, LSTM_INT_LENGTHS, HULL_I32, &y[2], 1));
    TRY(want(g, n, LSTM_INT_H0, HULL_F32, state, 3));
    TRY(want(g, n, LSTM_INT_C0, HULL_F32, state, 3));
    TRY(infer_out(g, n, 0, HULL_F32, y, 4));
    TRY(infer_out(g, n, 1, HULL_F32, state, 3));
    return infer_out(g, n, 2, HULL_F32, state, 3);
}

/* ---- kernel -------------------------------------------------------------- */

typedef struct lstm_int {
    const node *n;
    const tensor *in;
    int64_t d, t, b, h, direction; /* of this run of steps */
    bool back;
    float *state, *cell;           /* [b, h]: results of this direction */
    float *y;
    double *q;                     /* [b, h] */
} lstm_int;

static float at(const lstm_int *l, uint32_t i, int64_t k)
{
    return ((const float *)l->in[i].data)[k];
}

/* Of r_scale and r_zero, [d] or [d, 4h]. */
static int64_t each(const lstm_int *l, uint32_t i, int64_t column)
{
    return l->in[i].rank == 1 ? l->direction
                              : l->direction * 4 * l->h + column;
}

static int64_t weight(const lstm_int *l, int64_t k, int64_t column)
{
    const tensor *r = &l->in[LSTM_INT_R];
    int64_t where = (l->direction * l->h + k) * 4 * l->h + column, zero = 0;

    if (r->rank == 4) {
        int64_t tile = r->shape[2], group = r->shape[3], steps = r->shape[1];
        int64_t panel = l->direction * (r->shape[0] / l->d) + column / tile;

        where = ((panel * steps + k / group) * tile + column % tile) * group +
                k % group;
    }
    if (tensor_given(l->in, l->n, LSTM_INT_ZERO))
        zero = load_i64(r->dtype, l->in[LSTM_INT_ZERO].data,
                        (uint64_t)each(l, LSTM_INT_ZERO, column));
    return load_i64(r->dtype, r->data, (uint64_t)where) - zero;
}

static int64_t length_of(const lstm_int *l, int64_t i)
{
    int64_t n = l->t;

    if (tensor_given(l->in, l->n, LSTM_INT_LENGTHS))
        n = ((const int32_t *)l->in[LSTM_INT_LENGTHS].data)[i];
    return n < 0 ? 0 : n < l->t ? n : l->t;
}

/* q - z of every element of the state; its scale. */
static float quantise_state(const lstm_int *l, int64_t step)
{
    float top = 0, low = 0, scale;
    double zero;

    for (int64_t i = 0; i < l->b * l->h; i++) {
        bool on = step <= length_of(l, i / l->h);
        float v = on ? l->state[i] : 0;

        l->q[i] = v;
        top = v > top || isnan(v) ? v : top;
        low = v < low || isnan(v) ? v : low;
    }
    scale = (top - low) / 255.0f;
    zero = data_round_even((double)(-low / scale));
    zero = !(zero > 0) ? 0 : zero > 255 ? 255 : zero;
    for (int64_t i = 0; i < l->b * l->h; i++) {
        float v = (float)l->q[i] / scale;
        double r = isnan(v) ? 0 : data_round_even((double)v) + zero;

        l->q[i] = (r < 0 ? 0 : r > 255 ? 255 : r) - zero;
    }
    return scale;
}

static float sigmoid(float v)
{
    return (float)(1 / (1 + exp(-(double)v)));
}

static float gate(const lstm_int *l, int64_t time, int64_t i, int64_t column,
                  float scale)
{
    int64_t row = (l->direction * l->t + time) * l->b + i;
    int64_t sum = 0;
    float v = scale * at(l, LSTM_INT_SCALE, each(l, LSTM_INT_SCALE, column));

    for (int64_t k = 0; k < l->h; k++)
        sum += (int64_t)l->q[i * l->h + k] * weight(l, k, column);
    v = at(l, 0, row * 4 * l->h + column) + (float)sum * v;
    if (tensor_given(l->in, l->n, LSTM_INT_BIAS))
        v += at(l, LSTM_INT_BIAS, l->direction * 4 * l->h + column);
    return v;
}

/* v plus what peephole p adds of a state. */
static float peep(const lstm_int *l, float v, int64_t p, int64_t k, float state)
{
    if (!tensor_given(l->in, l->n, LSTM_INT_PEEPHOLE))
        return v;
    return v + at(l, LSTM_INT_PEEPHOLE, (l->direction * 3 + p) * l->h + k) *
                   state;
}

static void step_at(const lstm_int *l, int64_t step)
{
    float scale = quantise_state(l, step);

    for (int64_t i = 0; i < l->b; i++) {
        int64_t length = length_of(l, i), h = l->h;
        int64_t time = l->back && step < length ? length - 1 - step : step;
        float *y = l->y + ((time * l->d + l->direction) * l->b + i) * h;

        for (int64_t k = 0; k < h; k++) {
            float old = l->cell[i * h + k], now, in, forget;

            if (step >= length) {
                y[k] = 0;
                continue;
            }
            in = sigmoid(peep(l, gate(l, time, i, k, scale), 0, k, old));
            forget = sigmoid(peep(l, gate(l, time, i, 2 * h + k, scale), 2, k,
                                  old));
            now = forget * old;
            now += in * (float)tanh((double)gate(l, time, i, 3 * h + k,
                                                 scale));
            in = sigmoid(peep(l, gate(l, time, i, h + k, scale), 1, k, now));
            l->cell[i * h + k] = now;
            l->state[i * h + k] = y[k] = in * (float)tanh((double)now);
        }
    }
}

static void begin(float *to, const tensor *in, const node *n, uint32_t i,
                  int64_t count, int64_t direction)
{
    if (tensor_given(in, n, i))
        memcpy(to, (const float *)in[i].data + direction * count,
               (size_t)count * sizeof *to);
    else
        memset(to, 0, (size_t)count * sizeof *to);
}

hull_status rnn_int_eval(eval_ctx *cx, const node *n, const tensor *in,
                         tensor *out)
{
    lstm_int l = {.n = n, .in = in, .d = in[0].shape[0], .t = in[0].shape[1],
                  .b = in[0].shape[2], .h = attr_int(n, "hidden"),
                  .y = out[0].data};
    int64_t count = l.b * l.h;

    TRY(eval_scratch(&l.q, cx, count + 1));
    for (l.direction = 0; l.direction < l.d; l.direction++) {
        l.back = l.direction == 1 || str_is(attr_str(n, "direction"),
                                            "reverse");
        l.state = (float *)out[1].data + l.direction * count;
        l.cell = (float *)out[2].data + l.direction * count;
        begin(l.state, in, n, LSTM_INT_H0, count, l.direction);
        begin(l.cell, in, n, LSTM_INT_C0, count, l.direction);
        for (int64_t s = 0; s < l.t; s++)
            step_at(&l, s);
    }
    return HULL_OK;
}
