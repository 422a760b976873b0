/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * rnn_vec.h - lstm_steps, gru_steps and rnn_steps. A step is a product of the
 * states with r, a panel at a time: the sums of all gates for VEC_LANES
 * elements of the state meet in registers and become its next value at once.
 * That is written to y, where the next step reads it. Directions and sequences
 * are independent, so they are what threads share.
 */
#include "backend/cpu/cpu.h"
#include "backend/cpu/vec.h"
#include "ops/rnn.h"

#include <math.h>
#include <string.h>

/* What the sums of a panel become. A gru that resets the state in front of the
 * product needs two passes: z and the state as it was reset, then the rest. */
enum rnn_phase { LSTM, GRU, GRU_RESET, GRU_REST, RNN, RNN_PHASES };

static const struct {
    int first, count, gates; /* of the panel's gates */
    int panels;              /* at once where a sequence is alone */
} phases[RNN_PHASES] = {
    {0, 4, 4, 2}, {0, 3, 3, 2}, {0, 2, 3, 4}, {2, 1, 3, 4}, {0, 1, 1, 4}};

#define RNN_SUMS_MAX 8 /* count * panels */
/* Sequences at once: their sums and a row of weights stay in registers. */
#if VEC_LANES == 16
#define RNN_ROWS 4
#else
#define RNN_ROWS 2
#endif

/* One sequence in one direction at one step. */
typedef struct rnn_row {
    const float *state, *ax; /* ax: [gates, h] */
    float *next, *cell;
    float *z, *reset;        /* of GRU_RESET */
    int64_t len, b;
} rnn_row;

typedef struct rnn_work {
    rnn_run q;
    int64_t panels;          /* of a direction */
    bool reverse[2];
    int64_t parts;           /* of a direction's sequences */
    rnn_row *rows;           /* per direction and sequence */
    float clip;
} rnn_work;

/* ---- the functions of the gates ------------------------------------------ */

static __attribute__((noinline)) vec act_other(const rnn_act *f, vec x)
{
    const vec zero = vec_set(0.0f), one = vec_set(1.0f);
    vec a = vec_set((float)f->alpha), b = vec_set((float)f->beta);

    switch (f->kind) {
    case ACT_RELU:
        return vec_pick(vec_lt(x, zero), zero, x);
    case ACT_AFFINE:
        return vec_fma(a, x, b);
    case ACT_LEAKY:
        return vec_pick(vec_lt(x, zero), vec_mul(a, x), x);
    case ACT_THRESHOLD:
        return vec_pick(vec_lt(a, x), x, vec_pick(vec_is_nan(x), x, zero));
    case ACT_SCALED_TANH:
        return vec_mul(a, vec_tanh(vec_mul(b, x)));
    case ACT_HARD_SIGMOID:
        return vec_clamp(vec_fma(a, x, b), zero, one);
    case ACT_ELU:
        return vec_pick(vec_lt(x, zero), vec_mul(a, vec_expm1(x)), x);
    case ACT_SOFTSIGN:
        return vec_div(x, vec_add(one, vec_abs(x)));
    default: /* softplus */
        return vec_add(vec_max(zero, x),
                       vec_log1p_unit(vec_exp(vec_or(x, vec_set(-0.0f)))));
    }
}

VEC_INLINE vec act_apply(const rnn_act *f, vec x)
{
    if (f->kind == ACT_SIGMOID)
        return vec_sigmoid(x);
    if (f->kind == ACT_TANH)
        return vec_tanh(x);
    return act_other(f, x);
}

VEC_INLINE vec act_clipped(const rnn_work *w, const rnn_act *f, vec x)
{
    return act_apply(f, vec_clamp(x, vec_set(-w->clip), vec_set(w->clip)));
}

/* ---- elements [j, j + n) of the next state ------------------------------- */

/* p is [.., h]: line k of it. */
VEC_INLINE vec line_take(const rnn_work *w, const float *p, int64_t k,
                         int64_t j, int64_t n)
{
    return vec_take(p + k * w->q.h + j, n);
}

/* Peephole k of direction d times v. */
VEC_INLINE vec peep_add(const rnn_work *w, int64_t d, int64_t k, int64_t j,
                        int64_t n, vec v, vec x)
{
    const float *p = w->q.peep != NULL ? w->q.peep->data : NULL;

    return p == NULL ? x : vec_fma(v, line_take(w, p, 3 * d + k, j, n), x);
}

/* States are NaN in one way only: which NaN a sum of several is depends on how
 * many sequences are computed at once. */
VEC_INLINE void state_put(float *p, vec x, int64_t n)
{
    vec_put(p, vec_pick(vec_is_nan(x), vec_set(__builtin_nanf("")), x), n);
}

static void lstm_finish(const rnn_work *w, const rnn_row *r, int64_t d,
                        int64_t j, int64_t n, const vec *sums)
{
    const rnn_act *f = &w->q.acts[3 * d];
    vec was = vec_take(r->cell + j, n), in, keep, now, out;

    in = vec_add(line_take(w, r->ax, 0, j, n), sums[0]);
    in = act_clipped(w, f, peep_add(w, d, 0, j, n, was, in));
    keep = vec_sub(vec_set(1.0f), in);
    if (!w->q.coupled) {
        keep = vec_add(line_take(w, r->ax, 2, j, n), sums[2]);
        keep = act_clipped(w, f, peep_add(w, d, 2, j, n, was, keep));
    }
    now = act_clipped(w, f + 1, vec_add(line_take(w, r->ax, 3, j, n),
                                        sums[3]));
    now = vec_fma(keep, was, vec_mul(in, now));
    state_put(r->cell + j, now, n);
    out = vec_add(line_take(w, r->ax, 1, j, n), sums[1]);
    out = act_clipped(w, f, peep_add(w, d, 1, j, n, now, out));
    state_put(r->next + j, vec_mul(out, act_apply(f + 2, now)), n);
}

/* (1 - z) g + z state */
VEC_INLINE void gru_mix(const rnn_row *r, int64_t j, int64_t n, vec z, vec g)
{
    vec keep = vec_mul(z, vec_take(r->state + j, n));

    state_put(r->next + j, vec_fma(vec_sub(vec_set(1.0f), z), g, keep), n);
}

static void gru_finish(const rnn_work *w, const rnn_row *r, int64_t d,
                       int64_t j, int64_t n, const vec *sums)
{
    const rnn_act *f = &w->q.acts[2 * d];
    vec z = act_clipped(w, f, vec_add(line_take(w, r->ax, 0, j, n), sums[0]));
    vec reset = act_clipped(w, f, vec_add(line_take(w, r->ax, 1, j, n),
                                          sums[1]));
    vec g = vec_fma(reset, sums[2], line_take(w, r->ax, 2, j, n));

    gru_mix(r, j, n, z, act_clipped(w, f + 1, g));
}

static void gru_reset_finish(const rnn_work *w, const rnn_row *r, int64_t d,
                             int64_t j, int64_t n, const vec *sums)
{
    const rnn_act *f = &w->q.acts[2 * d];
    vec z = act_clipped(w, f, vec_add(line_take(w, r->ax, 0, j, n), sums[0]));
    vec reset = act_clipped(w, f, vec_add(line_take(w, r->ax, 1, j, n),
                                          sums[1]));

    vec_put(r->z + j, z, n);
    vec_put(r->reset + j, vec_mul(reset, vec_take(r->state + j, n)), n);
}

static void gru_rest_finish(const rnn_work *w, const rnn_row *r, int64_t d,
                            int64_t j, int64_t n, const vec *sums)
{
    vec g = vec_add(line_take(w, r->ax, 2, j, n), sums[0]);

    gru_mix(r, j, n, vec_take(r->z + j, n),
            act_clipped(w, &w->q.acts[2 * d + 1], g));
}

static void rnn_finish(const rnn_work *w, const rnn_row *r, int64_t d,
                       int64_t j, int64_t n, const vec *sums)
{
    vec x = vec_add(line_take(w, r->ax, 0, j, n), sums[0]);

    state_put(r->next + j, act_clipped(w, &w->q.acts[d], x), n);
}

typedef void rnn_finish_fn(const rnn_work *w, const rnn_row *r, int64_t d,
                           int64_t j, int64_t n, const vec *sums);
static rnn_finish_fn *const finishes[RNN_PHASES] = {
    lstm_finish, gru_finish, gru_reset_finish, gru_rest_finish, rnn_finish};

/* ---- sums ---------------------------------------------------------------- */

/* phase, rows and panels are constants after inlining; sums is
 * [rows][panels][count]. */
VEC_INLINE void rnn_sums(enum rnn_phase phase, int rows, int panels,
                         const rnn_work *w, const rnn_row *r, int64_t d,
                         int64_t panel, vec *sums)
{
    const int count = phases[phase].count, gates = phases[phase].gates;
    const int64_t h = w->q.h, step = gates * VEC_LANES;
    const float *b = (const float *)w->q.r->data +
                     (d * w->panels + panel) * h * step +
                     phases[phase].first * VEC_LANES;
    const float *bias = w->q.bias != NULL ? w->q.bias->data : NULL;
    const float *x[RNN_ROWS];
    vec s[RNN_SUMS_MAX > 4 * RNN_ROWS ? RNN_SUMS_MAX : 4 * RNN_ROWS];

    VEC_UNROLL
    for (int i = 0; i < rows; i++)
        x[i] = phase == GRU_REST ? r[i].reset : r[i].state;
    VEC_UNROLL
    for (int p = 0; p < panels; p++) {
        int64_t j = (panel + p) * VEC_LANES, n = h - j;

        VEC_UNROLL
        for (int g = 0; g < count; g++) {
            vec first = vec_set(0.0f);

            if (bias != NULL)
                first = line_take(w, bias,
                                  d * gates + phases[phase].first + g, j,
                                  n < VEC_LANES ? n : VEC_LANES);
            VEC_UNROLL
            for (int i = 0; i < rows; i++)
                s[(i * panels + p) * count + g] = first;
        }
    }
    for (int64_t k = 0; k < h; k++, b += step) {
        VEC_UNROLL
        for (int p = 0; p < panels; p++) {
            VEC_UNROLL
            for (int g = 0; g < count; g++) {
                vec v = vec_load(b + p * h * step + g * VEC_LANES);

                VEC_UNROLL
                for (int i = 0; i < rows; i++) {
                    int to = (i * panels + p) * count + g;

                    s[to] = vec_fma(vec_set(x[i][k]), v, s[to]);
                }
            }
        }
    }
    VEC_UNROLL
    for (int i = 0; i < rows * panels * count; i++)
        sums[i] = s[i];
}

VEC_INLINE void rnn_block(enum rnn_phase phase, int rows, int panels,
                          const rnn_work *w, const rnn_row *r, int64_t d,
                          int64_t panel)
{
    vec sums[RNN_SUMS_MAX > 4 * RNN_ROWS ? RNN_SUMS_MAX : 4 * RNN_ROWS];
    const int count = phases[phase].count;

    rnn_sums(phase, rows, panels, w, r, d, panel, sums);
    for (int i = 0; i < rows; i++)
        for (int p = 0; p < panels; p++) {
            int64_t j = (panel + p) * VEC_LANES, n = w->q.h - j;

            finishes[phase](w, r + i, d, j, n < VEC_LANES ? n : VEC_LANES,
                            sums + (i * panels + p) * count);
        }
}

/* All panels for n sequences. */
VEC_INLINE void rnn_pass(enum rnn_phase phase, const rnn_work *w,
                         const rnn_row *r, int64_t n, int64_t d)
{
    const int wide = phases[phase].panels;
    int64_t p = 0;

    for (; n == 1 && p + wide <= w->panels; p += wide)
        rnn_block(phase, 1, wide, w, r, d, p);
    for (; p < w->panels; p++) {
        int64_t i = 0;

        for (; i + RNN_ROWS <= n; i += RNN_ROWS)
            rnn_block(phase, RNN_ROWS, 1, w, r + i, d, p);
        for (; i < n; i++)
            rnn_block(phase, 1, 1, w, r + i, d, p);
    }
}

static void rnn_step(const rnn_work *w, const rnn_row *r, int64_t n, int64_t d)
{
    if (w->q.kind.op == OP_lstm) {
        rnn_pass(LSTM, w, r, n, d);
    } else if (w->q.kind.op == OP_rnn) {
        rnn_pass(RNN, w, r, n, d);
    } else if (w->q.reset_after) {
        rnn_pass(GRU, w, r, n, d);
    } else {
        rnn_pass(GRU_RESET, w, r, n, d);
        rnn_pass(GRU_REST, w, r, n, d);
    }
}

/* ---- sequences ----------------------------------------------------------- */

/* Points r, a sequence of direction d, to step i. */
static void row_at(const rnn_work *w, rnn_row *r, int64_t d, int64_t i)
{
    int64_t t = w->reverse[d] ? r->len - 1 - i : i, h = w->q.h;
    float *y = w->q.out[0].data;

    r->ax = (const float *)w->q.x->data +
            ((t * w->q.b + r->b) * w->q.n_dir + d) * w->q.kind.gates * h;
    r->next = y + ((t * w->q.n_dir + d) * w->q.b + r->b) * h;
}

/* Sequences [b0, b1) of direction d, all steps. The longest come first, so that
 * those with steps left lie together. */
static void rnn_run_rows(const rnn_work *w, int64_t d, int64_t b0, int64_t b1)
{
    rnn_row *r = w->rows + d * w->q.b + b0;
    int64_t n = b1 - b0, h = w->q.h, left = n;
    float *last = w->q.out[1].data;

    for (int64_t i = 1; i < n; i++) {
        rnn_row one = r[i];
        int64_t k = i;

        for (; k > 0 && r[k - 1].len < one.len; k--)
            r[k] = r[k - 1];
        r[k] = one;
    }
    for (int64_t i = 0;; i++) {
        while (left > 0 && r[left - 1].len <= i)
            left--;
        if (left == 0)
            break;
        for (int64_t k = 0; k < left; k++)
            row_at(w, r + k, d, i);
        rnn_step(w, r, left, d);
        for (int64_t k = 0; k < left; k++)
            r[k].state = r[k].next;
    }
    for (int64_t k = 0; k < n; k++)
        memcpy(last + (d * w->q.b + r[k].b) * h, r[k].state,
               (size_t)h * sizeof *last);
}

static hull_status rnn_part(void *user, size_t part)
{
    const rnn_work *w = user;
    int64_t d = (int64_t)part / w->parts, i = (int64_t)part % w->parts;

    rnn_run_rows(w, d, w->q.b * i / w->parts, w->q.b * (i + 1) / w->parts);
    return HULL_OK;
}

static const float *line_of(const tensor *t, int64_t row, int64_t h)
{
    return (const float *)t->data + row * h;
}

/* A row per direction and sequence, before its first step. */
static hull_status rows_open(rnn_work *w, eval_ctx *cx, const node *n)
{
    int64_t h = w->q.h, all = w->q.n_dir * w->q.b;
    int64_t side = w->q.kind.op == OP_gru && !w->q.reset_after ? 2 * h : 0;
    float *memory, *zeros;

    w->rows = arena_array(cx->scratch, (size_t)all, sizeof *w->rows);
    memory = arena_array(cx->scratch, (size_t)(h + all * side),
                         sizeof *memory);
    if (w->rows == NULL || memory == NULL)
        return fail_oom((size_t)(all * (side + h)) * sizeof *memory);
    zeros = memory + all * side;
    memset(zeros, 0, (size_t)h * sizeof *zeros);
    for (int64_t i = 0; i < all; i++) {
        rnn_row *r = w->rows + i;

        r->b = i % w->q.b;
        TRY(rnn_length(&r->len, &w->q, n, r->b));
        r->state = w->q.h0 != NULL ? line_of(w->q.h0, i, h) : zeros;
        r->z = memory + i * side;
        r->reset = r->z + side / 2;
        if (w->q.kind.op == OP_lstm) {
            r->cell = (float *)w->q.out[2].data + i * h;
            memcpy(r->cell, w->q.c0 != NULL ? line_of(w->q.c0, i, h) : zeros,
                   (size_t)h * sizeof *r->cell);
        }
    }
    return HULL_OK;
}

hull_status VEC_NAME(cpu_rnn)(eval_ctx *cx, const node *n, const tensor *in,
                              tensor *out)
{
    rnn_work w;
    int64_t threads = pool_threads(cx->pool), all;

    TRY(rnn_open(&w.q, n, in, out));
    w.panels = (w.q.h + VEC_LANES - 1) / VEC_LANES;
    w.clip = (float)w.q.clip;
    for (int64_t d = 0; d < 2; d++)
        w.reverse[d] = rnn_is_reverse(n, d);
    all = w.q.n_dir * w.q.b;
    if (all == 0)
        return HULL_OK;
    TRY(rows_open(&w, cx, n));
    if (w.q.lengths != NULL && tensor_numel(&out[0]) > 0)
        memset(out[0].data, 0, (size_t)tensor_bytes(&out[0]));
    w.parts = (threads + w.q.n_dir - 1) / w.q.n_dir;
    w.parts = w.parts < w.q.b ? w.parts : w.q.b;
    if ((double)all * (double)w.q.t * (double)w.q.h *
            (double)(w.q.h * w.q.kind.gates) < 5e5)
        threads = 1;
    return pool_for(threads > 1 ? cx->pool : NULL,
                    (size_t)(w.q.n_dir * w.parts), rnn_part, &w);
}
