/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * q4_vec.h - the op gemm_q4: weights of 4 bits in blocks, read where they lie.
 *
 *   few rows   a vector of w, 8 values in each lane, meets x in that order: the
 *              values of lane l are neighbours, so a lane is of one block, and
 *              the sums of 8 products take its scale
 *   more rows  a piece of a panel is widened into the cache (gemv_vec.h), a
 *              column in each lane
 *
 * Values count from 8, so a zero point z adds (8 - z) times the sum of x. A sum
 * that is not finite is made again, one by one: 0 and Inf then meet where they
 * do in the reference.
 */
#include "backend/cpu/products.h"

#include <math.h>
#include <string.h>

#define Q4_STEP (8 * VEC_LANES)  /* values in a vector of w */
#define Q4_X (9 * VEC_LANES)     /* x of a step, and the sum of each lane */
#define Q4_AHEAD 2048            /* bytes of a row that are on their way */
#define Q4_COLUMNS COLUMNS_MOST  /* of the widest tile */
#if VEC_LANES == 16
#define Q4_ROWS 16               /* more than that: panels */
#define Q4_FOR_TWO 4             /* columns at once for two rows */
#else
#define Q4_ROWS 8
#define Q4_FOR_TWO 2
#endif

typedef struct q4 {
    int64_t rows, n, depth, block, blocks;
    int64_t line, steps;         /* bytes and vectors of a row of w */
    int64_t room;                /* floats for what a row's blocks have */
    const uint8_t *w;
    const tensor *scale, *zero;  /* zero: NULL for none */
    float off;                   /* without a zero: 8 - the attribute */
    bool shifted;                /* values do not count from 8 */
    int32_t lane[VEC_LANES];     /* its block of those in a step */
    const float *x;
    float *moved, *y;
    float *lines;                /* scales and offsets of a tile, per part */
    epilogue e;
    int64_t parts;
} q4;

/* ---- values -------------------------------------------------------------- */

/* Value j of each lane, less 8. j is constant after inlining. */
VEC_INLINE vec q4_value(ivec v, int j)
{
#if VEC_LANES == 16
    const vec table = _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2,
                                     3, 4, 5, 6, 7);

    return _mm512_permutexvar_ps(_mm512_srli_epi32(v, 4 * j), table);
#else
    /* The bits of a value, as the last ones of a float of 2^23 and less. */
    int at = 4 * (j < 5 ? j : j - 3);
    ivec bits = j < 5 ? v : _mm256_srli_epi32(v, 12);
    vec f = _mm256_castsi256_ps(
        _mm256_or_si256(_mm256_and_si256(bits, ivec_set(15 << at)),
                        ivec_set((150 - at) << 23)));

    return vec_sub(f, vec_set((float)(8 + (1 << (23 - at)))));
#endif
}

/* `left` bytes of w from p on, as many as a vector has; 0 beyond them. */
VEC_INLINE ivec q4_load(const uint8_t *p, int64_t left)
{
    const float *f = (const float *)(const void *)p;
    vec v = left >= 4 * VEC_LANES ? vec_load(f) : vec_load_some(f, left / 4);

#if VEC_LANES == 16
    return _mm512_castps_si512(v);
#else
    return _mm256_castps_si256(v);
#endif
}

/* ---- what blocks have ---------------------------------------------------- */

/* The scales of blocks [b, b + n) of a row of w, and 0 up to a whole vector. */
VEC_INLINE void q4_scales_of(hull_dtype dt, const q4 *g, int64_t column,
                             int64_t b, int64_t n, float *to)
{
    const char *from = (const char *)g->scale->data +
                       (column * g->blocks + b) * width_of(dt);

    for (; n >= VEC_LANES; n -= VEC_LANES, to += VEC_LANES) {
        vec_store(to, widen(dt, from));
        from += VEC_LANES * width_of(dt);
    }
    if (n > 0)
        vec_store(to, widen_some(dt, from, n));
}

static VEC_CALL void q4_scales(const q4 *g, int64_t column, int64_t b,
                               int64_t n, float *to)
{
    switch (g->scale->dtype) {
    case HULL_F32: q4_scales_of(HULL_F32, g, column, b, n, to); break;
    case HULL_F16: q4_scales_of(HULL_F16, g, column, b, n, to); break;
    default: q4_scales_of(HULL_BF16, g, column, b, n, to); break;
    }
}

/* VEC_LANES packed zero points. */
VEC_INLINE vec q4_zeros(const uint8_t *p)
{
    const __m128i mask = _mm_set1_epi8(15);
    __m128i v = VEC_LANES == 16
                    ? _mm_loadl_epi64((const __m128i *)(const void *)p)
                    : _mm_loadu_si32(p);
    uint8_t some[16];

    v = _mm_unpacklo_epi8(_mm_and_si128(v, mask),
                          _mm_and_si128(_mm_srli_epi16(v, 4), mask));
    _mm_storeu_si128((__m128i *)(void *)some, v);
    return vec_load_bytes(some, false);
}

/* 8 less the zero points of blocks [b, b + n); b is even. */
static VEC_CALL void q4_offsets(const q4 *g, int64_t column, int64_t b,
                                int64_t n, float *to)
{
    const vec eight = vec_set(8.0f);
    const uint8_t *packed;
    const float *zeros;

    if (g->zero == NULL) {
        for (int64_t i = 0; i < n; i += VEC_LANES)
            vec_store(to + i, vec_set(g->off));
        return;
    }
    if (g->zero->dtype == HULL_F32) {
        zeros = (const float *)g->zero->data + column * g->blocks + b;
        for (int64_t i = 0; i < n; i += VEC_LANES)
            vec_store(to + i,
                      vec_sub(eight, vec_take(zeros + i, n - i < VEC_LANES
                                                             ? n - i
                                                             : VEC_LANES)));
        return;
    }
    packed = (const uint8_t *)g->zero->data + column * g->zero->shape[1] +
             b / 2;
    for (; n >= VEC_LANES; n -= VEC_LANES, to += VEC_LANES) {
        vec_store(to, vec_sub(eight, q4_zeros(packed)));
        packed += VEC_LANES / 2;
    }
    if (n > 0) {
        uint8_t some[VEC_LANES / 2] = {0};

        memcpy(some, packed, (size_t)(n + 1) / 2);
        vec_store(to, vec_sub(eight, q4_zeros(some)));
    }
}

/* ---- few rows ------------------------------------------------------------ */

/* VEC_LANES floats from p on, 8 from each other. */
VEC_INLINE vec q4_eighths(const float *p)
{
    int32_t at[VEC_LANES];

    for (int l = 0; l < VEC_LANES; l++)
        at[l] = 8 * l;
#if VEC_LANES == 16
    return _mm512_i32gather_ps(ivec_load(at), p, 4);
#else
    return _mm256_i32gather_ps(p, ivec_load(at), 4);
#endif
}

/* x[0 .. left) of a step in the order of w's vectors. */
static void q4_move_step(const float *x, int64_t left, float *to)
{
    float some[Q4_STEP];
    vec sum = vec_set(0.0f);

    if (left < Q4_STEP) {
        memset(some, 0, sizeof some);
        if (left > 0)
            memcpy(some, x, (size_t)left * sizeof *x);
        x = some;
    }
    for (int j = 0; j < 8; j++) {
        vec v = q4_eighths(x + j);

        vec_store(to + j * VEC_LANES, v);
        sum = vec_add(sum, v);
    }
    vec_store(to + 8 * VEC_LANES, sum);
}

/* Pairs of rows, the last one alone if need be, and in them step by step. */
static void q4_move(const q4 *g)
{
    for (int64_t row = 0, r = 0; row < g->rows; row += r) {
        r = g->rows - row < 2 ? 1 : 2;
        for (int64_t i = 0; i < r * g->steps; i++) {
            int64_t k = i / r * Q4_STEP, left = g->depth - k;

            q4_move_step(g->x + (row + i % r) * g->depth + k, left,
                         g->moved + (row * g->steps + i) * Q4_X);
        }
    }
}

/* One element as the reference makes it; scales and offsets of its column. */
static VEC_CALL float q4_exact(const q4 *g, int64_t row, int64_t column,
                               const float *scales, const float *offsets)
{
    const uint8_t *w = g->w + column * g->line;
    const float *x = g->x + row * g->depth;
    double sum = 0;

    for (int64_t k = 0; k < g->depth; k++) {
        double q = (w[k / 2] >> k % 2 * 4 & 15) - 8;

        if (g->shifted)
            q += (double)offsets[k / g->block];
        sum += (double)x[k] * (q * (double)scales[k / g->block]);
    }
    return (float)sum;
}

/* n columns from `column` on, `apart` from each other, times r rows; n and r
 * are constant after inlining. */
VEC_INLINE void q4_tile(int n, int r, const q4 *g, int64_t row, int64_t column,
                        int64_t apart, const float *lines,
                        float out[][Q4_COLUMNS])
{
    const uint8_t *w = g->w + column * g->line;
    const float *x = g->moved + row * g->steps * Q4_X;
    const int64_t side = Q4_COLUMNS * g->room;
    vec sum[2 * Q4_COLUMNS];

    VEC_UNROLL
    for (int i = 0; i < r * n; i++)
        sum[i] = vec_set(0.0f);
    for (int64_t c = 0; c < g->steps; c++, x += r * Q4_X) {
        const float *line = lines + c * Q4_STEP / g->block;
        int64_t at = c * 4 * VEC_LANES;
        vec part[2 * Q4_COLUMNS];
        ivec v[Q4_COLUMNS];

        VEC_UNROLL
        for (int i = 0; i < n; i++) {
            const uint8_t *p = w + i * apart * g->line + at;

            v[i] = q4_load(p, g->line - at);
            _mm_prefetch((const char *)p + Q4_AHEAD, _MM_HINT_T0);
        }
        VEC_UNROLL
        for (int j = 0; j < 8; j++) {
            vec xs[2];

            VEC_UNROLL
            for (int k = 0; k < r; k++)
                xs[k] = vec_load(x + k * Q4_X + j * VEC_LANES);
            VEC_UNROLL
            for (int i = 0; i < n; i++) {
                vec q = q4_value(v[i], j);

                VEC_UNROLL
                for (int k = 0; k < r; k++)
                    part[k * n + i] = j == 0 ? vec_mul(q, xs[k])
                                             : vec_fma(q, xs[k],
                                                       part[k * n + i]);
            }
        }
        VEC_UNROLL
        for (int i = 0; i < n; i++) {
            vec s = vec_permute(vec_load(line + i * g->room), g->lane);

            if (g->shifted) {
                vec z = vec_permute(vec_load(line + side + i * g->room),
                                    g->lane);

                VEC_UNROLL
                for (int k = 0; k < r; k++)
                    part[k * n + i] =
                        vec_fma(z, vec_load(x + k * Q4_X + 8 * VEC_LANES),
                                part[k * n + i]);
            }
            VEC_UNROLL
            for (int k = 0; k < r; k++)
                sum[k * n + i] = vec_fma(s, part[k * n + i], sum[k * n + i]);
        }
    }
    VEC_UNROLL
    for (int i = 0; i < r * n; i++)
        out[i / n][i % n] = vec_sum(sum[i]);
}

typedef void q4_tile_fn(const q4 *g, int64_t row, int64_t column,
                        int64_t apart, const float *lines,
                        float out[][Q4_COLUMNS]);

static void q4_tile_1(const q4 *g, int64_t row, int64_t column, int64_t apart,
                      const float *lines, float out[][Q4_COLUMNS])
{
    q4_tile(Q4_COLUMNS, 1, g, row, column, apart, lines, out);
}

static void q4_tile_2(const q4 *g, int64_t row, int64_t column, int64_t apart,
                      const float *lines, float out[][Q4_COLUMNS])
{
    q4_tile(Q4_FOR_TWO, 2, g, row, column, apart, lines, out);
}

/* n columns from j on, `apart` from each other, times r rows. */
static void q4_columns(int64_t n, int64_t r, const q4 *g, int64_t row,
                       int64_t j, int64_t apart, float *lines)
{
    q4_tile_fn *tile = r == 1 ? q4_tile_1 : q4_tile_2;
    int64_t side = Q4_COLUMNS * g->room;
    float out[2][Q4_COLUMNS];

    for (int64_t i = 0; i < n; i++) {
        float *line = lines + i * g->room;

        q4_scales(g, j + i * apart, 0, g->blocks, line);
        vec_store(line + g->room - VEC_LANES, vec_set(0.0f));
        if (g->shifted)
            q4_offsets(g, j + i * apart, 0, g->blocks, line + side);
    }
    tile(g, row, j, apart, lines, out);
    for (int64_t k = 0; k < r; k++) {
        for (int64_t i = 0; i < n; i++)
            if (!isfinite(out[k][i]))
                out[k][i] = q4_exact(g, row + k, j + i * apart,
                                     lines + i * g->room,
                                     lines + i * g->room + side);
        VEC_NAME(columns_store)(&g->e, g->y, g->n, row + k, j,
                                apart > 0 ? n : 1, apart, out[k]);
    }
}

/* Columns [j, end) of r rows. As in gemv_vec.h, w is read at places that lie
 * far apart; what is left over is one column n times. */
static void q4_range(int64_t r, const q4 *g, int64_t row, int64_t j,
                     int64_t end, float *lines)
{
    int64_t n = r == 1 ? Q4_COLUMNS : Q4_FOR_TWO, apart = (end - j) / n;
    int64_t left = j + apart * n;

    for (int64_t i = 0; i < apart; i++)
        q4_columns(n, r, g, row, j + i, apart, lines);
    for (; left < end; left++)
        q4_columns(n, r, g, row, left, 0, lines);
}

static hull_status q4_part(void *user, size_t part)
{
    const q4 *g = user;
    int64_t i = (int64_t)part;
    int64_t j = g->n * i / g->parts, end = g->n * (i + 1) / g->parts;
    float *lines = g->lines + i * 2 * Q4_COLUMNS * g->room;

    for (int64_t row = 0; row < g->rows; row += 2)
        q4_range(g->rows - row < 2 ? 1 : 2, g, row, j, end, lines);
    return HULL_OK;
}

static hull_status q4_few(eval_ctx *cx, q4 *g)
{
    int64_t moved = g->rows * g->steps * Q4_X, lines;

    g->room = (g->blocks + 2 * VEC_LANES - 1) / VEC_LANES * VEC_LANES;
    g->parts = narrow_parts(cx, g->rows, g->n, g->depth,
                            (g->n + Q4_COLUMNS - 1) / Q4_COLUMNS);
    lines = g->parts * 2 * Q4_COLUMNS * g->room;
    g->moved = arena_raw(cx->scratch, (size_t)(moved + lines),
                         sizeof *g->moved);
    if (g->moved == NULL)
        return fail_oom((size_t)(moved + lines) * sizeof *g->moved);
    g->lines = g->moved + moved; /* 0 behind the last block */
    memset(g->lines, 0, (size_t)lines * sizeof *g->lines);
    q4_move(g);
    return pool_for(cx->pool, (size_t)g->parts, q4_part, g);
}

/* ---- panels -------------------------------------------------------------- */

#define Q4_BLOCKS (NARROW_DEEP / 16) /* in a piece of a panel, at most */

/* VEC_LANES columns of a panel: a column in each lane. */
static void q4_widen_lanes(const q4 *g, int64_t column, int64_t k0,
                           int64_t depth, float *to)
{
    float scales[VEC_LANES][Q4_BLOCKS], offsets[VEC_LANES][Q4_BLOCKS];
    int64_t base = column < g->n ? column : g->n - 1, b = k0 / g->block;
    int64_t n = (depth + g->block - 1) / g->block;
    const uint8_t *w = g->w + base * g->line + k0 / 2;
    vec s = vec_set(0.0f), z = s;
    int32_t off[VEC_LANES];

    for (int l = 0; l < VEC_LANES; l++) {
        int64_t at = column + l < g->n ? column + l : g->n - 1;

        off[l] = (int32_t)((at - base) * g->line);
        q4_scales(g, at, b, n, scales[l]);
        q4_offsets(g, at, b, n, offsets[l]);
    }
    for (int64_t k = 0; k < depth; k += 8) {
        const int *p = (const int *)(const void *)(w + k / 2);
        ivec v;

        if (k % g->block == 0) {
            float sides[2][VEC_LANES];

            for (int l = 0; l < VEC_LANES; l++) {
                sides[0][l] = scales[l][k / g->block];
                sides[1][l] = offsets[l][k / g->block];
            }
            s = vec_load(sides[0]);
            z = vec_load(sides[1]);
        }
#if VEC_LANES == 16
        v = _mm512_i32gather_epi32(ivec_load(off), p, 1);
#else
        v = _mm256_i32gather_epi32(p, ivec_load(off), 1);
#endif
        VEC_UNROLL
        for (int j = 0; j < 8; j++) /* some are beyond, but not the piece */
            vec_store(to + (k + j) * MICRO_COLS,
                      vec_mul(vec_add(q4_value(v, j), z), s));
    }
}

static const char *q4_widen(const void *user, int64_t p, int64_t k0,
                            int64_t depth, float *to)
{
    const q4 *g = user;

    for (int64_t c = 0; c < MICRO_COLS; c += VEC_LANES)
        q4_widen_lanes(g, p * MICRO_COLS + c, k0, depth, to + c);
    return (const char *)g->w + p * MICRO_COLS * g->line + (k0 + depth) / 2;
}

/* ---- the op -------------------------------------------------------------- */

hull_status VEC_NAME(cpu_gemm_q4)(eval_ctx *cx, const node *n,
                                  const tensor *in, tensor *out)
{
    const tensor *w = &in[1];
    q4 g = {.n = w->shape[0], .depth = in[0].shape[in[0].rank - 1],
            .block = 2 * w->shape[2], .blocks = w->shape[1],
            .line = w->shape[1] * w->shape[2], .w = w->data,
            .scale = &in[Q4_SCALE], .x = in[0].data, .y = out->data,
            .e = epilogue_of(n, in)};
    narrow wide = {.n = g.n, .depth = g.depth, .x = g.x, .y = g.y, .e = g.e,
                   .widen = q4_widen, .user = &g};

    if (tensor_numel(out) == 0)
        return HULL_OK;
    g.rows = wide.rows = tensor_numel(out) / g.n;
    g.steps = (g.line + 4 * VEC_LANES - 1) / (4 * VEC_LANES);
    g.zero = tensor_given(in, n, Q4_ZERO) ? &in[Q4_ZERO] : NULL;
    g.off = (float)(8 - attr_int(n, "zero"));
    g.shifted = g.zero != NULL || g.off != 0.0f;
    for (int l = 0; l < VEC_LANES; l++)
        g.lane[l] = (int32_t)(8 * l / g.block);
    return g.rows > Q4_ROWS ? VEC_NAME(narrow_run)(cx, &wide)
                            : q4_few(cx, &g);
}
