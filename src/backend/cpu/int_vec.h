/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * int_vec.h - gemm_int and matmul_int, exact in i32: with VNNI four products
 * and a sum in one instruction on unsigned times signed bytes, with AVX2 two on
 * operands widened to 16 bits (its byte instruction saturates).
 *
 *   s = dot(x, w) - x_zero sum(w) - w_zero (sum(x) - k x_zero)
 *
 * With VNNI an operand of the wrong sign is moved by 128, its zero too, where
 * rows are gathered; the second term is the product of a row of zero points,
 * one more row of x. With AVX2 the zero is subtracted while rows are widened.
 * The third is skipped where all w_zero are 0. Rows are pointers: into x where
 * that will do, else into gathered ones (convolutions, odd depths).
 */
#include "backend/cpu/cpu.h"
#include "backend/cpu/epilogue.h"
#include "backend/cpu/quantiser.h"

#if defined(__AVX512VNNI__)
#define INT_NAME(x) x##_vnni
#define INT_ROWS 14
#define INT_GROUP 4
typedef uint8_t int_x; /* an element of a gathered row */
#else
#define INT_NAME(x) x##_avx2
#define INT_ROWS 6
#define INT_GROUP 2
typedef int16_t int_x;
#endif
#define INT_COLS (2 * VEC_LANES)
#define INT_STEP (INT_COLS * INT_GROUP) /* bytes of w in a step */
#define INT_BLOCK (128 << 10) /* bytes of x that meet a panel */

/* ---- what happens to a sum ----------------------------------------------- */

typedef struct int_epilogue {
    /* [n] or one value (step 0), or NULL */
    const float *scale, *bias, *bias2, *residual;
    int64_t scale_step, bias_step, bias2_step;
    const int32_t *sum_bias; /* a bias of i32, with bias_step; or NULL */
    bool has_mid, has_factor, is_i32;
    quantiser mid, out;   /* out where the result is bytes */
    vec factor;
    bool to_bytes;
    epilogue act;
    void *y;
    int64_t columns;
} int_epilogue;

static int32_t int_operand(const node *n, const tensor *in, uint32_t i,
                           int64_t k)
{
    const uint8_t *p;

    if (!tensor_given(in, n, i))
        return 0;
    p = (const uint8_t *)in[i].data + k;
    return in[i].dtype == HULL_I8 ? (int8_t)*p : *p;
}

static const float *float_operand(const node *n, const tensor *in, uint32_t i,
                                  int64_t *step)
{
    *step = 0;
    if (!tensor_given(in, n, i))
        return NULL;
    for (uint32_t d = 0; d < in[i].rank; d++)
        if (in[i].shape[d] != 1)
            *step = 1;
    return in[i].data;
}

static int_epilogue int_epilogue_of(const node *n, const tensor *in,
                                    const tensor *out)
{
    int_epilogue e = {.y = out->data, .columns = out->shape[out->rank - 1],
                      .act = {.act = packed_act_of(n)},
                      .is_i32 = out->dtype == HULL_I32};
    const float *one;
    int64_t step;

    e.act.low = (float)attr_float(n, "low");
    e.act.high = (float)attr_float(n, "high");
    e.scale = float_operand(n, in, INT_SCALE, &e.scale_step);
    e.bias = float_operand(n, in, INT_BIAS, &e.bias_step);
    if (tensor_given(in, n, INT_BIAS) && in[INT_BIAS].dtype == HULL_I32) {
        e.sum_bias = in[INT_BIAS].data;
        e.bias = NULL;
    }
    e.bias2 = float_operand(n, in, INT_BIAS2, &e.bias2_step);
    e.residual = float_operand(n, in, INT_RESIDUAL, &step);
    one = float_operand(n, in, INT_MID_SCALE, &step);
    e.has_mid = one != NULL;
    if (e.has_mid)
        e.mid = quantiser_of(*one, int_operand(n, in, INT_MID_ZERO, 0),
                             attr_dtype(n, "mid") == HULL_I8);
    one = float_operand(n, in, INT_FACTOR, &step);
    e.has_factor = one != NULL;
    if (e.has_factor)
        e.factor = vec_set(*one);
    one = float_operand(n, in, INT_OUT_SCALE, &step);
    e.to_bytes = one != NULL;
    if (e.to_bytes)
        e.out = quantiser_of(*one, int_operand(n, in, INT_OUT_ZERO, 0),
                             out->dtype == HULL_I8);
    return e;
}

VEC_INLINE vec column_values(const float *p, int64_t step, int64_t column,
                             int64_t n)
{
    return step == 0 ? vec_set(*p) : vec_take(p + column, n);
}

/* The sums of `n` places from (row, column) on, which stay in one row. */
VEC_INLINE void int_finish(const int_epilogue *e, int64_t row, int64_t column,
                           ivec sums, int64_t n)
{
    int64_t at = row * e->columns + column;
    vec v;

    if (e->sum_bias != NULL) {
        int32_t some[VEC_LANES] = {0};

        for (int64_t i = 0; i < n; i++)
            some[i] = e->sum_bias[e->bias_step * (column + i)];
        sums = ivec_add(sums, ivec_load(some));
    }
    if (e->is_i32) {
        int32_t some[VEC_LANES];

        if (n == VEC_LANES) {
            ivec_store((int32_t *)e->y + at, sums);
            return;
        }
        ivec_store(some, sums);
        memcpy((int32_t *)e->y + at, some, (size_t)n * sizeof *some);
        return;
    }
    v = vec_mul(ivec_to_float(sums),
                column_values(e->scale, e->scale_step, column, n));
    if (e->bias != NULL)
        v = vec_add(v, column_values(e->bias, e->bias_step, column, n));
    if (e->has_mid)
        v = vec_dequantise(&e->mid, vec_quantise(&e->mid, v));
    if (e->bias2 != NULL)
        v = vec_add(v, column_values(e->bias2, e->bias2_step, column, n));
    if (e->residual != NULL)
        v = vec_add(v, vec_take(e->residual + at, n));
    if (e->has_factor)
        v = vec_mul(v, e->factor);
    v = epilogue_apply(&e->act, v);
    if (e->to_bytes)
        vec_put_bytes((uint8_t *)e->y + at, vec_quantise(&e->out, v),
                      e->out.is_signed, n);
    else
        vec_put((float *)e->y + at, v, n);
}

/* ---- the tile ------------------------------------------------------------ */

#if defined(__AVX512VNNI__)
VEC_INLINE ivec dot_one(bool w_signed, ivec sum, ivec x, const uint8_t *w)
{
    ivec b = _mm512_loadu_si512(w);

    return w_signed ? _mm512_dpbusd_epi32(sum, x, b)
                    : _mm512_dpbusd_epi32(sum, b, x);
}
#else
VEC_INLINE ivec dot_one(bool w_signed, ivec sum, ivec x, const uint8_t *w)
{
    __m128i b = _mm_loadu_si128((const __m128i *)(const void *)w);

    return _mm256_add_epi32(
        sum, _mm256_madd_epi16(x, w_signed ? _mm256_cvtepi8_epi16(b)
                                           : _mm256_cvtepu8_epi16(b)));
}
#endif
#define dot_join ivec_add
#define DOT_ROWS INT_ROWS
#define DOT_HALF (VEC_LANES * INT_GROUP)
#include "backend/cpu/dot_tile.h"

/* ---- rows ---------------------------------------------------------------- */

/* A product of [rows, depth] and panels. */
typedef struct int_product {
    int64_t rows, columns, depth, steps;
    const uint8_t *x;
    bool x_signed, w_signed;
    int32_t x_zero;
    const uint8_t *panels, *w_zero; /* [n] or one value; NULL: all are 0 */
    int64_t w_zero_step;
    const int32_t *sums;  /* of w by columns; NULL: a row of zero points */
    /* a convolution: sizes of the image and the result, without channels */
    bool conv;
    window win;
    int64_t kernel[SPATIAL_MAX], taps, channels;
    int64_t image[SPATIAL_MAX], places[SPATIAL_MAX];
    int_epilogue e;
    int64_t first_row;              /* of the result, for the epilogue */
} int_product;

static int64_t int_padded(const int_product *p)
{
    return p->steps * INT_GROUP;
}

/* Elements [from, to) of x as the tile wants them. */
static void int_widen(const int_product *p, const uint8_t *x, int64_t n,
                      int_x *to)
{
#if INT_GROUP == 4
    uint8_t flip = p->x_signed == p->w_signed ? 0x80 : 0;

    for (int64_t i = 0; i < n; i++)
        to[i] = x[i] ^ flip;
#else
    int16_t zero = (int16_t)p->x_zero;

    if (p->x_signed)
        for (int64_t i = 0; i < n; i++)
            to[i] = (int16_t)((int8_t)x[i] - zero);
    else
        for (int64_t i = 0; i < n; i++)
            to[i] = (int16_t)(x[i] - zero);
#endif
}

/* A zero point of x as the tile wants it. */
static int_x int_zero(const int_product *p)
{
#if INT_GROUP == 4
    return (uint8_t)(p->x_zero ^ (p->x_signed == p->w_signed ? 0x80 : 0));
#else
    (void)p;
    return 0;
#endif
}

/* The number that the tile takes it for. */
static int32_t int_zero_value(const int_product *p)
{
#if INT_GROUP == 4
    if (!p->w_signed)
        return (int8_t)int_zero(p);
#endif
    return int_zero(p);
}

static void int_fill(int_x *to, int64_t n, int_x v)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = v;
}

static void int_gather(const int_product *p, int64_t row, int_x *to)
{
    int64_t corner[SPATIAL_MAX], rest = row;

    memset(to + p->depth, 0,
           (size_t)(int_padded(p) - p->depth) * sizeof *to);
    if (!p->conv) {
        int_widen(p, p->x + row * p->depth, p->depth, to);
        return;
    }
    for (uint32_t i = p->win.n; i-- > 0; rest /= p->places[i])
        corner[i] = rest % p->places[i] * p->win.stride[i] - p->win.before[i];
    for (int64_t tap = 0; tap < p->taps; tap++, to += p->channels) {
        int64_t offs[SPATIAL_MAX], at = rest, left = tap;
        bool inside = true;

        for (uint32_t i = p->win.n; i-- > 0; left /= p->kernel[i])
            offs[i] = left % p->kernel[i];
        for (uint32_t i = 0; i < p->win.n; i++) {
            int64_t where = corner[i] + offs[i] * p->win.dilation[i];

            inside = inside && where >= 0 && where < p->image[i];
            at = at * p->image[i] + where;
        }
        if (inside)
            int_widen(p, p->x + at * p->channels, p->channels, to);
        else
            int_fill(to, p->channels, int_zero(p));
    }
}

/* Can the tile read x where it lies? */
static bool int_in_place(const int_product *p)
{
    return INT_GROUP == 4 && !p->conv && p->x_signed != p->w_signed &&
           p->depth % INT_GROUP == 0;
}

/* sum(x) - k x_zero of a row for the tile. */
static int32_t int_shift(const int_product *p, const char *row)
{
    const int_x *x = (const int_x *)(const void *)row;
    bool is_signed = INT_GROUP == 4 && !p->w_signed; /* as the tile takes x */
    uint32_t sum = 0;

    for (int64_t k = 0; k < p->depth; k++)
        sum += is_signed ? (uint32_t)(int8_t)x[k] : (uint32_t)x[k];
    return (int32_t)(sum - (uint32_t)p->depth * (uint32_t)int_zero_value(p));
}

/* ---- a range of rows by a range of panels -------------------------------- */

/* Rows of a block: pointers, what they point to where it is gathered, and the
 * row of zero points. */
typedef struct int_rows {
    const char **at;  /* [most + 1]; the last of a block: zero points */
    int_x *gathered, *zeros;
    int32_t *shift, *c;
    int64_t most;
} int_rows;

static int64_t int_most_rows(const int_product *p)
{
    int64_t most = INT_BLOCK / (int_padded(p) * (int64_t)sizeof(int_x) + 1);

    most = most / INT_ROWS * INT_ROWS;
    most = most < INT_ROWS ? INT_ROWS : most;
    return most < p->rows ? most : p->rows;
}

static bool int_rows_new(int_rows *r, const int_product *p, arena *a)
{
    size_t line = (size_t)int_padded(p) + 64;

    r->most = int_most_rows(p);
    r->at = arena_raw(a, (size_t)r->most + 1, sizeof *r->at);
    r->gathered = arena_raw(a, int_in_place(p) ? 1
                                               : (size_t)r->most * line,
                            sizeof *r->gathered);
    r->zeros = arena_raw(a, line, sizeof *r->zeros);
    r->shift = arena_raw(a, (size_t)r->most + 1, sizeof *r->shift);
    r->c = arena_raw(a, (INT_ROWS + 1) * INT_COLS, sizeof *r->c);
    return r->at != NULL && r->gathered != NULL && r->zeros != NULL &&
           r->shift != NULL && r->c != NULL;
}

static void int_rows_load(int_rows *r, const int_product *p, int64_t first,
                          int64_t n)
{
    int64_t line = int_padded(p) + 64;

    for (int64_t i = 0; i < n; i++) {
        if (int_in_place(p)) {
            r->at[i] = (const char *)p->x + (first + i) * p->depth;
        } else {
            int_gather(p, first + i, r->gathered + i * line);
            r->at[i] = (const char *)(r->gathered + i * line);
        }
        if (p->w_zero != NULL)
            r->shift[i] = int_shift(p, r->at[i]);
    }
    int_fill(r->zeros, p->depth, int_zero(p));
    memset(r->zeros + p->depth, 0,
           (size_t)(int_padded(p) - p->depth) * sizeof *r->zeros);
    r->at[n] = (const char *)r->zeros;
}

static ivec int_w_zeros(const int_product *p, int64_t column, int64_t n)
{
    int32_t v[VEC_LANES] = {0};

    for (int64_t i = 0; i < n; i++) {
        uint8_t b = p->w_zero[p->w_zero_step * (column + i)];

        v[i] = p->w_signed ? (int8_t)b : b;
    }
    return ivec_load(v);
}

/* zero: sums of the row of zero points for the panel's columns, or NULL. */
static void int_store(const int_product *p, const int_rows *rows, int64_t row,
                      int64_t at, int64_t r, int64_t column,
                      const int32_t *zero)
{
    int64_t width = p->columns - column;

    for (int64_t c = 0; c < INT_COLS && c < width; c += VEC_LANES) {
        int64_t n = width - c < VEC_LANES ? width - c : VEC_LANES;
        ivec z = zero != NULL ? ivec_load(zero + c) : ivec_set(0);
        ivec w = p->w_zero != NULL ? int_w_zeros(p, column + c, n)
                                   : ivec_set(0);

        if (p->sums != NULL)
            z = ivec_mul(ivec_load(p->sums + column + c),
                         ivec_set(int_zero_value(p)));
        for (int64_t i = 0; i < r; i++) {
            ivec s = ivec_sub(ivec_load(rows->c + i * INT_COLS + c), z);

            if (p->w_zero != NULL)
                s = ivec_sub(s, ivec_mul(w, ivec_set(rows->shift[at + i])));
            int_finish(&p->e, p->first_row + row + i, column + c, s, n);
        }
    }
}

/* n rows from `first` on, loaded, by panels [p0, p1). */
static void int_block(const int_product *p, const int_rows *rows, int64_t first,
                      int64_t n, int64_t p0, int64_t p1)
{
    int64_t tiles = (n + INT_ROWS - 1) / INT_ROWS;
    bool with_zero = int_zero(p) != 0 && p->sums == NULL;
    bool joined = with_zero && tiles == 1 && n < INT_ROWS;
    dot_tile t = {.steps = p->steps, .c = rows->c};

    for (; p0 < p1; p0++) {
        int64_t column = p0 * INT_COLS, size = p->steps * INT_STEP, off = 0;
        const char *next;
        int32_t zero[INT_COLS];

        t.panel = p->panels + p0 * size;
        next = (const char *)t.panel + (p0 + 1 < p1 ? size : 0);
        if (with_zero && !joined) {
            t.rows = rows->at + n;
            t.ahead = (const char *)t.panel;
            t.c = zero;
            dot_tiles[1][p->w_signed](&t);
            t.c = rows->c;
        }
        for (int64_t i = 0; i < tiles; i++) {
            int64_t at = n * i / tiles, r = n * (i + 1) / tiles - at;

            t.rows = rows->at + at;
            t.ahead = next + off;
            dot_tiles[r + joined][p->w_signed](&t);
            int_store(p, rows, first + at, at, r, column,
                      joined      ? rows->c + r * INT_COLS
                      : with_zero ? zero
                                  : NULL);
            off += p->steps * 32;
            if (off + p->steps * 32 > size)
                off = 0;
        }
    }
}

static void int_range(const int_product *p, int_rows *rows, int64_t from,
                      int64_t to, int64_t p0, int64_t p1)
{
    for (; from < to; from += rows->most) {
        int64_t n = to - from < rows->most ? to - from : rows->most;

        int_rows_load(rows, p, from, n);
        int_block(p, rows, from, n, p0, p1);
    }
}

static bool int_all_zero(const tensor *t)
{
    const uint8_t *p = t->data;
    int64_t n = tensor_numel(t);

    for (int64_t i = 0; i < n; i++)
        if (p[i] != 0)
            return false;
    return true;
}

/* What both ops share. */
static int_product int_product_of(const node *n, const tensor *in,
                                  const tensor *out)
{
    int_product p = {.x_signed = in[0].dtype == HULL_I8,
                     .w_signed = in[1].dtype == HULL_I8,
                     .x_zero = int_operand(n, in, INT_X_ZERO, 0),
                     .e = int_epilogue_of(n, in, out)};

    if (tensor_given(in, n, INT_W_ZERO) && !int_all_zero(&in[INT_W_ZERO])) {
        p.w_zero = in[INT_W_ZERO].data;
        p.w_zero_step = tensor_numel(&in[INT_W_ZERO]) > 1;
    }
    return p;
}

/* ---- gemm_int ------------------------------------------------------------ */

typedef struct int_work {
    int_product p;
    int_rows *rows;   /* one per part */
    int64_t parts, panels_n;
    bool by_rows;
} int_work;

static hull_status gemm_int_part(void *user, size_t i)
{
    const int_work *g = user;
    int64_t part = (int64_t)i;
    int64_t units = (g->p.rows + INT_ROWS - 1) / INT_ROWS;
    int64_t m0 = 0, m1 = g->p.rows, p0 = 0, p1 = g->panels_n;

    if (g->by_rows) {
        m0 = units * part / g->parts * INT_ROWS;
        m1 = units * (part + 1) / g->parts * INT_ROWS;
        m1 = m1 < g->p.rows ? m1 : g->p.rows;
    } else {
        p0 = g->panels_n * part / g->parts;
        p1 = g->panels_n * (part + 1) / g->parts;
    }
    int_range(&g->p, &g->rows[part], m0, m1, p0, p1);
    return HULL_OK;
}

static hull_status int_conv(int_product *p, const node *n, const tensor *x,
                            const tensor *out)
{
    uint32_t axes = x->rank - 2;

    TRY(window_ints(p->kernel, n, "kernel", axes, 1, 0));
    TRY(window_read(&p->win, n, axes));
    p->channels = p->depth;
    p->taps = 1;
    for (uint32_t i = 0; i < axes; i++) {
        p->taps *= p->kernel[i];
        p->image[i] = x->shape[1 + i];
        p->places[i] = out->shape[1 + i];
        if (p->kernel[i] != 1 || p->win.stride[i] != 1 ||
            p->win.before[i] != 0 || p->win.after[i] != 0)
            p->conv = true;
    }
    p->depth *= p->taps;
    return HULL_OK;
}

hull_status INT_NAME(cpu_gemm_int)(eval_ctx *cx, const node *n,
                                   const tensor *in, tensor *out)
{
    int_work g = {.p = int_product_of(n, in, out),
                  .parts = pool_threads(cx->pool)};

    g.p.columns = attr_int(n, "n");
    g.p.rows = tensor_numel(out) / g.p.columns;
    g.p.x = in[0].data;
    g.p.panels = in[1].data;
    g.p.depth = in[0].shape[in[0].rank - 1];
    if (attr_is_set(n, "kernel"))
        TRY(int_conv(&g.p, n, &in[0], out));
    g.p.steps = (g.p.depth + INT_GROUP - 1) / INT_GROUP;
    g.panels_n = (g.p.columns + INT_COLS - 1) / INT_COLS;
    if (g.p.rows == 0)
        return HULL_OK;
    if ((double)g.p.rows * (double)g.p.columns * (double)g.p.depth < 2e6)
        g.parts = 1;
    g.by_rows = g.p.rows >= 8 * g.panels_n * g.parts ||
                g.panels_n < 2 * g.parts;
    g.rows = arena_array(cx->scratch, (size_t)g.parts, sizeof *g.rows);
    if (g.rows == NULL)
        return fail_oom((size_t)g.parts * sizeof *g.rows);
    for (int64_t i = 0; i < g.parts; i++)
        if (!int_rows_new(&g.rows[i], &g.p, cx->scratch))
            return fail_oom((size_t)int_padded(&g.p));
    return pool_for(cx->pool, (size_t)g.parts, gemm_int_part, &g);
}

/* ---- matmul_int ---------------------------------------------------------- */

typedef struct int_batch {
    int_product p;        /* of one matrix; x and panels are set per part */
    const product_plan *plan;
    const uint8_t *x, *w;
    int64_t matrices, pieces, panels_n, parts;
    int_rows *rows;
    uint8_t **packed;
} int_batch;

#if INT_GROUP == 4
/* 16 columns of 4 rows as groups. */
VEC_INLINE void int_mix(const uint8_t *const *w, int64_t c, uint8_t *to)
{
    __m128i a = _mm_loadu_si128((const __m128i *)(const void *)(w[0] + c));
    __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(w[1] + c));
    __m128i d = _mm_loadu_si128((const __m128i *)(const void *)(w[2] + c));
    __m128i e = _mm_loadu_si128((const __m128i *)(const void *)(w[3] + c));
    __m128i low = _mm_unpacklo_epi8(a, b), low2 = _mm_unpacklo_epi8(d, e);
    __m128i high = _mm_unpackhi_epi8(a, b), high2 = _mm_unpackhi_epi8(d, e);
    __m128i *y = (__m128i *)(void *)to;

    _mm_storeu_si128(y, _mm_unpacklo_epi16(low, low2));
    _mm_storeu_si128(y + 1, _mm_unpackhi_epi16(low, low2));
    _mm_storeu_si128(y + 2, _mm_unpacklo_epi16(high, high2));
    _mm_storeu_si128(y + 3, _mm_unpackhi_epi16(high, high2));
}
#else
VEC_INLINE void int_mix(const uint8_t *const *w, int64_t c, uint8_t *to)
{
    __m128i a = _mm_loadu_si128((const __m128i *)(const void *)(w[0] + c));
    __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(w[1] + c));
    __m128i *y = (__m128i *)(void *)to;

    _mm_storeu_si128(y, _mm_unpacklo_epi8(a, b));
    _mm_storeu_si128(y + 1, _mm_unpackhi_epi8(a, b));
}
#endif

/* Step `s` of a panel from w [k, n]. */
static void int_pack_step(const product_plan *p, const uint8_t *w, int64_t s,
                          int64_t column, uint8_t *to)
{
    uint8_t edge[INT_GROUP][INT_COLS] = {{0}};
    const uint8_t *rows[INT_GROUP];
    int64_t width = p->n - column < INT_COLS ? p->n - column : INT_COLS;

    for (int64_t i = 0; i < INT_GROUP; i++) {
        int64_t k = s * INT_GROUP + i;

        rows[i] = edge[i];
        if (k < p->k && width == INT_COLS)
            rows[i] = w + k * p->n + column;
        else if (k < p->k)
            memcpy(edge[i], w + k * p->n + column, (size_t)width);
    }
    for (int64_t c = 0; c < INT_COLS; c += 16)
        int_mix(rows, c, to + c * INT_GROUP);
}

/* The same from w [n, k]. */
static void int_pack_turned(const product_plan *p, const uint8_t *w, int64_t s,
                            int64_t column, uint8_t *to)
{
    int64_t left = p->k - s * INT_GROUP;
    size_t n = (size_t)(left < INT_GROUP ? left : INT_GROUP);

    if (n < INT_GROUP || p->n - column < INT_COLS)
        memset(to, 0, INT_STEP);
    for (int64_t c = 0; c < INT_COLS && column + c < p->n; c++) {
        const uint8_t *from = w + (column + c) * p->k + s * INT_GROUP;

        if (n == INT_GROUP)
            memcpy(to + c * INT_GROUP, from, INT_GROUP);
        else
            memcpy(to + c * INT_GROUP, from, n);
    }
}

static void int_pack(const product_plan *p, const uint8_t *w, int64_t steps,
                     uint8_t *to)
{
    for (int64_t column = 0; column < p->n; column += INT_COLS)
        for (int64_t s = 0; s < steps; s++, to += INT_STEP) {
            if (p->trans_b)
                int_pack_turned(p, w, s, column, to);
            else
                int_pack_step(p, w, s, column, to);
        }
}

static hull_status matmul_int_part(void *user, size_t part)
{
    const int_batch *b = user;
    int64_t units = b->matrices * b->pieces, i = (int64_t)part;
    int64_t at = units * i / b->parts, end = units * (i + 1) / b->parts;
    int64_t packed_w = -1;

    for (; at < end; at++) {
        int64_t matrix = at / b->pieces, piece = at % b->pieces;
        int64_t left = matrix, from_x = 0, from_w = 0;
        int64_t m = b->plan->m;
        int_product p = b->p;

        for (uint32_t k = b->plan->batch_rank; k-- > 0;) {
            int64_t index = left % b->plan->batch[k];

            left /= b->plan->batch[k];
            from_x += index * b->plan->stride_a[k];
            from_w += index * b->plan->stride_b[k];
        }
        if (from_w != packed_w)
            int_pack(b->plan, b->w + from_w, p.steps, b->packed[i]);
        packed_w = from_w;
        p.x = b->x + from_x;
        p.panels = b->packed[i];
        p.first_row = matrix * m;
        int_range(&p, &b->rows[i], m * piece / b->pieces,
                  m * (piece + 1) / b->pieces, 0, b->panels_n);
    }
    return HULL_OK;
}

static hull_status int_batch_scratch(int_batch *b, arena *a)
{
    size_t parts = (size_t)b->parts;
    size_t size = (size_t)(b->panels_n * b->p.steps * INT_STEP) + 64;

    b->rows = arena_array(a, parts, sizeof *b->rows);
    b->packed = arena_array(a, parts, sizeof *b->packed);
    if (b->rows == NULL || b->packed == NULL)
        return fail_oom(parts * sizeof *b->rows);
    for (size_t i = 0; i < parts; i++) {
        b->packed[i] = arena_raw(a, size, 1);
        if (b->packed[i] == NULL || !int_rows_new(&b->rows[i], &b->p, a))
            return fail_oom(size);
    }
    return HULL_OK;
}

hull_status INT_NAME(cpu_matmul_int)(eval_ctx *cx, const node *n,
                                     const tensor *in, tensor *out)
{
    int_batch b = {.p = int_product_of(n, in, out), .matrices = 1,
                   .pieces = 1, .parts = pool_threads(cx->pool),
                   .x = in[0].data, .w = in[1].data};
    product_plan plan;
    node two = *n;

    two.n_in = 2;
    TRY(product_plan_get(&plan, &two, in, out));
    b.plan = &plan;
    for (uint32_t i = 0; i < plan.batch_rank; i++)
        b.matrices *= plan.batch[i];
    if (b.matrices == 0 || plan.m == 0 || plan.n == 0)
        return HULL_OK;
    b.p.rows = plan.m;
    b.p.columns = plan.n;
    b.p.depth = plan.k;
    b.p.steps = (plan.k + INT_GROUP - 1) / INT_GROUP;
    b.panels_n = (plan.n + INT_COLS - 1) / INT_COLS;
    if ((double)b.matrices * (double)plan.m * (double)plan.n *
            (double)plan.k < 2e6)
        b.parts = 1;
    if (b.matrices % b.parts != 0)
        b.pieces = b.parts;
    TRY(int_batch_scratch(&b, cx->scratch));
    return pool_for(cx->pool, (size_t)b.parts, matmul_int_part, &b);
}

#include "backend/cpu/lstm_int.h"
