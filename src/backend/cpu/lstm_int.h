/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * lstm_int.h - the op lstm_int (ops/rnn_int.c) over the products of int_vec.h,
 * which includes this. A direction is a chain of small products, so the two of
 * a layer are all that threads can share.
 */

typedef struct lstm_int {
    const tensor *in;
    tensor *out;
    const node *n;
    int64_t d, t, b, h;
    bool reverse;          /* the only direction is */
    struct lstm_int_room { /* one per direction */
        int_product p;
        int_rows rows;
        uint8_t *q;        /* [b, h] */
        float *gates;      /* [b, 4h] */
        float *scales;     /* [4h] or one: of the step's product */
        int32_t *sums;     /* of r by columns: zero points differ each step */
    } rooms[2];
} lstm_int;

/* h in 8 bits; its scale, and its zero in *zero. */
static float lstm_int_quantise(const float *h, int64_t n, uint8_t *q,
                               int32_t *zero)
{
    vec top = vec_set(0.0f), low = top, nan = top;
    quantiser z;
    float high, least, scale, at;

    for (int64_t i = 0; i < n; i += VEC_LANES) {
        vec v = vec_take(h + i, n - i < VEC_LANES ? n - i : VEC_LANES);

        top = vec_max(v, top);
        low = vec_min(v, low);
        nan = vec_fma(v, vec_set(0.0f), nan); /* NaN for Inf and NaN */
    }
    high = vec_top(top);
    least = -vec_top(vec_sub(vec_set(0.0f), low));
    if (vec_any(vec_is_nan(nan)))
        for (int64_t i = 0; i < n; i++)
            if (h[i] != h[i])
                high = h[i];
    scale = (high - least) / 255.0f;
    at = __builtin_rintf(-least / scale);
    *zero = !(at > 0) ? 0 : at > 255 ? 255 : (int32_t)at;
    z = quantiser_of(scale, *zero, false);
    for (int64_t i = 0; i < n; i += VEC_LANES) {
        int64_t w = n - i < VEC_LANES ? n - i : VEC_LANES;

        vec_put_bytes(q + i, vec_quantise(&z, vec_take(h + i, w)), false, w);
    }
    return scale;
}

/* Operand i's numbers for direction d, `n` of them; NULL: it is missing. */
static const float *lstm_int_part(const lstm_int *l, uint32_t i, int64_t d,
                                  int64_t n)
{
    return tensor_given(l->in, l->n, i) ? (const float *)l->in[i].data + d * n
                                        : NULL;
}

/* The gates of one sequence become its states; y gets h too. */
static void lstm_int_cell(const lstm_int *l, int64_t d, const float *g,
                          float *state, float *cell, float *y)
{
    const float *bias = lstm_int_part(l, LSTM_INT_BIAS, d, 4 * l->h);
    const float *peep = lstm_int_part(l, LSTM_INT_PEEPHOLE, d, 3 * l->h);
    int64_t h = l->h;

    for (int64_t k = 0; k < h; k += VEC_LANES) {
        int64_t n = h - k < VEC_LANES ? h - k : VEC_LANES;
        vec old = vec_take(cell + k, n), now, v[4];

        VEC_UNROLL
        for (int i = 0; i < 4; i++) {
            v[i] = vec_take(g + i * h + k, n);
            if (bias != NULL)
                v[i] = vec_add(v[i], vec_take(bias + i * h + k, n));
        }
        if (peep != NULL) {
            v[0] = vec_add(v[0], vec_mul(vec_take(peep + k, n), old));
            v[2] = vec_add(v[2], vec_mul(vec_take(peep + 2 * h + k, n), old));
        }
        now = vec_add(vec_mul(vec_sigmoid(v[2]), old),
                      vec_mul(vec_sigmoid(v[0]), vec_tanh(v[3])));
        if (peep != NULL)
            v[1] = vec_add(v[1], vec_mul(vec_take(peep + h + k, n), now));
        old = vec_mul(vec_sigmoid(v[1]), vec_tanh(now));
        vec_put(cell + k, now, n);
        vec_put(state + k, old, n);
        vec_put(y + k, old, n);
    }
}

/* The product of a row of ones. */
static void lstm_int_sums(struct lstm_int_room *m)
{
    const char *ones = (const char *)m->rows.zeros;
    dot_tile t = {.steps = m->p.steps, .rows = &ones, .ahead = ones};

    int_fill(m->rows.zeros, m->p.depth, 1);
    int_fill(m->rows.zeros + m->p.depth, int_padded(&m->p) - m->p.depth, 0);
    for (int64_t c = 0; c < m->p.columns; c += INT_COLS) {
        t.panel = m->p.panels + c / INT_COLS * m->p.steps * INT_STEP;
        t.c = m->sums + c;
        dot_tiles[1][m->p.w_signed](&t);
    }
    m->p.sums = m->sums;
}

static hull_status lstm_int_direction(void *user, size_t direction)
{
    lstm_int *l = user;
    int64_t d = (int64_t)direction, count = l->b * l->h;
    struct lstm_int_room *m = &l->rooms[d];
    float *state = (float *)l->out[1].data + d * count;
    float *cell = (float *)l->out[2].data + d * count;
    const tensor *s = &l->in[LSTM_INT_SCALE];
    int64_t scales = s->rank == 1 ? 1 : 4 * l->h;
    const float *h0 = lstm_int_part(l, LSTM_INT_H0, d, count);
    const float *c0 = lstm_int_part(l, LSTM_INT_C0, d, count);
    bool back = d == 1 || l->reverse;

    lstm_int_sums(m);
    for (int64_t i = 0; i < count; i++) {
        state[i] = h0 != NULL ? h0[i] : 0;
        cell[i] = c0 != NULL ? c0[i] : 0;
    }
    for (int64_t step = 0; step < l->t; step++) {
        int64_t time = back ? l->t - 1 - step : step;
        float *y = (float *)l->out[0].data + (time * l->d + d) * count;
        float scale = lstm_int_quantise(state, count, m->q, &m->p.x_zero);

        for (int64_t i = 0; i < scales; i++)
            m->scales[i] = scale * ((const float *)s->data)[d * scales + i];
        m->p.e.residual = (const float *)l->in[0].data +
                          (d * l->t + time) * 4 * count;
        int_range(&m->p, &m->rows, 0, l->b, 0,
                  (4 * l->h + INT_COLS - 1) / INT_COLS);
        for (int64_t i = 0; i < l->b; i++)
            lstm_int_cell(l, d, m->gates + i * 4 * l->h, state + i * l->h,
                          cell + i * l->h, y + i * l->h);
    }
    return HULL_OK;
}

static hull_status lstm_int_room(lstm_int *l, int64_t d, arena *a)
{
    struct lstm_int_room *m = &l->rooms[d];
    const tensor *r = &l->in[LSTM_INT_R], *z = &l->in[LSTM_INT_ZERO];
    size_t columns = (size_t)(4 * l->h), rows = (size_t)l->b;
    int64_t panels = r->shape[0] / l->d;

    m->q = arena_raw(a, rows * (size_t)l->h + 64, 1);
    m->gates = arena_raw(a, rows * columns + 1, sizeof *m->gates);
    m->scales = arena_raw(a, columns, sizeof *m->scales);
    m->sums = arena_raw(a, columns + INT_COLS, sizeof *m->sums);
    m->p = (int_product){.rows = l->b, .columns = 4 * l->h, .depth = l->h,
                         .steps = r->shape[1], .x = m->q,
                         .w_signed = r->dtype == HULL_I8,
                         .panels = (const uint8_t *)r->data +
                                   d * panels * r->shape[1] * INT_STEP};
    m->p.e = (int_epilogue){.scale = m->scales,
                            .scale_step = l->in[LSTM_INT_SCALE].rank != 1,
                            .act = {.act = PACKED_NONE}, .y = m->gates,
                            .columns = 4 * l->h};
    if (tensor_given(l->in, l->n, LSTM_INT_ZERO) && !int_all_zero(z)) {
        m->p.w_zero_step = z->rank != 1;
        m->p.w_zero = (const uint8_t *)z->data +
                      d * (z->rank == 1 ? 1 : 4 * l->h);
    }
    if (m->q == NULL || m->gates == NULL || m->scales == NULL ||
        m->sums == NULL || !int_rows_new(&m->rows, &m->p, a))
        return fail_oom(rows * columns * sizeof *m->gates);
    return HULL_OK;
}

hull_status INT_NAME(cpu_lstm_int)(eval_ctx *cx, const node *n,
                                   const tensor *in, tensor *out)
{
    lstm_int l = {.in = in, .out = out, .n = n, .d = in[0].shape[0],
                  .t = in[0].shape[1], .b = in[0].shape[2],
                  .h = attr_int(n, "hidden"),
                  .reverse = str_is(attr_str(n, "direction"), "reverse")};

    if (l.b == 0)
        return HULL_OK;
    for (int64_t d = 0; d < l.d; d++)
        TRY(lstm_int_room(&l, d, cx->scratch));
    return pool_for(cx->pool, (size_t)l.d, lstm_int_direction, &l);
}
