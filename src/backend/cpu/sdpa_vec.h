/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * sdpa_vec.h - sdpa and sdpa_joined without a matrix of scores. MICRO_COLS
 * queries of a head are the columns of a panel, rows of keys meet it as they
 * lie in memory; so scores come out as [key][query], softmax runs down the
 * columns without a step across lanes, and the weights are the packed rows of
 * the product with the values, which lie in memory as a panel does. Nothing
 * else is packed. Keys that a mask hides from all of a panel's queries, at
 * either end, are left out. Keys come in blocks of at most SDPA_KEYS, with the
 * maximum and the sum of each query carried along. Up to SDPA_FEW queries, a
 * decode step, go one by one and read keys and values once.
 *
 * A weight of 0 times inf or NaN makes a result NaN that the sum of weights
 * does not explain: such rows are computed again as the specification says.
 */
#include "backend/cpu/products.h"
#include "backend/cpu/transpose.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define SDPA_KEYS 256
#define SDPA_FEW 5

/* One head: `rows` queries against s keys. */
typedef struct head {
    const float *q, *k, *v;
    float *out;
    int64_t mask_at;
} head;

typedef struct sdpa {
    head *heads;
    int64_t n_heads, rows, s, d, e;
    int64_t q_row, k_row, v_row, out_row; /* from one row to the next */
    double scale;
    float fill;
    bool causal, one_place; /* all rows are query 0, of several heads */
    attention_rows rule;
    const tensor *mask;
    int64_t mask_row, mask_key;
    int64_t e_room;         /* e in whole vectors */
    int64_t parts, per_head; /* blocks of MICRO_COLS rows */
    float *scratch;
    int64_t scratch_n;
} sdpa;

/* Scratch of one part. */
typedef struct sdpa_work {
    float *queries;  /* [d][MICRO_COLS] */
    float *scores;   /* [SDPA_KEYS][MICRO_COLS] */
    float *sums;     /* [MICRO_COLS][e_room] */
    float top[MICRO_COLS], total[MICRO_COLS], shrink[MICRO_COLS];
    const head *measured; /* whose largest key and value these are */
    float key_top, value_top;
} sdpa_work;

static bool any_nan(vec x)
{
#if VEC_LANES == 16
    return vec_is_nan(x) != 0;
#else
    return _mm256_movemask_ps(vec_is_nan(x)) != 0;
#endif
}

/* -inf becomes 0: what to subtract from scores. */
VEC_INLINE vec finite_top(vec top)
{
    return vec_pick(vec_lt(top, vec_set(-FLT_MAX)), vec_set(0.0f), top);
}

/* Keys that row i sees at all. */
static int64_t keys_of(const sdpa *a, int64_t i)
{
    int64_t n = a->one_place ? 1 : i + 1;

    return a->causal && n < a->s ? n : a->s;
}

/* ---- masks --------------------------------------------------------------- */

/* n bytes, at most VEC_LANES, as floats; the others are 0. */
VEC_INLINE vec bytes_load(const uint8_t *p, int64_t n)
{
#if VEC_LANES == 16
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(
        _mm_maskz_loadu_epi8(vec_first(n), p)));
#else
    uint64_t all = 0;

    if (n == VEC_LANES)
        memcpy(&all, p, VEC_LANES);
    else
        memcpy(&all, p, (size_t)n);
    return _mm256_cvtepi32_ps(
        _mm256_cvtepu8_epi32(_mm_set_epi64x(0, (int64_t)all)));
#endif
}

/* n mask elements of a row from key j on; of a bool mask 0 or more. */
VEC_INLINE vec mask_load(const sdpa *a, const head *h, int64_t row, int64_t j,
                         int64_t n)
{
    int64_t at = h->mask_at + row * a->mask_row + j * a->mask_key;

    if (a->mask->dtype == HULL_BOOL) {
        const uint8_t *p = (const uint8_t *)a->mask->data + at;

        return a->mask_key == 0 ? vec_set((float)p[0]) : bytes_load(p, n);
    } else {
        const float *p = (const float *)a->mask->data + at;

        return a->mask_key == 0 ? vec_set(p[0]) : vec_load_some(p, n);
    }
}

VEC_INLINE vec mask_apply(const sdpa *a, vec score, vec mask)
{
    if (a->mask->dtype != HULL_BOOL)
        return vec_add(score, mask);
    return vec_pick(vec_lt(mask, vec_set(0.5f)), vec_set(a->fill), score);
}

/* Scores [key][query] of keys [k0, k1) and n queries from r0 on. */
static void mask_block(const sdpa *a, const head *h, int64_t r0, int64_t n,
                       int64_t k0, int64_t k1, float *scores)
{
    vec m[VEC_LANES];

    for (int64_t c = 0; c < MICRO_COLS; c += VEC_LANES) {
        for (int64_t j = k0; j < k1; j += VEC_LANES) {
            int64_t w = k1 - j < VEC_LANES ? k1 - j : VEC_LANES;
            float *s = scores + (j - k0) * MICRO_COLS + c;

            for (int i = 0; i < VEC_LANES; i++)
                m[i] = mask_load(a, h, r0 + (c + i < n ? c + i : n - 1), j, w);
            vec_transpose(m);
            for (int i = 0; i < w; i++)
                vec_store(s + i * MICRO_COLS,
                          mask_apply(a, vec_load(s + i * MICRO_COLS), m[i]));
        }
    }
}

/* The same when all queries have one row of the mask. */
static void mask_keys(const sdpa *a, const head *h, int64_t k0, int64_t k1,
                      float *scores)
{
    for (int64_t j = k0; j < k1; j++, scores += MICRO_COLS) {
        int64_t at = h->mask_at + j * a->mask_key;
        vec m = vec_set(a->mask->dtype == HULL_BOOL
                            ? (float)((const uint8_t *)a->mask->data)[at]
                            : ((const float *)a->mask->data)[at]);

        vec_store(scores, mask_apply(a, vec_load(scores), m));
        vec_store(scores + VEC_LANES,
                  mask_apply(a, vec_load(scores + VEC_LANES), m));
    }
}

static void mask_later(int64_t r0, int64_t k0, int64_t k1, float *scores)
{
    vec none = vec_set(-INFINITY);

    for (int64_t j = r0 + 1 > k0 ? r0 + 1 : k0; j < k1; j++) {
        for (int64_t c = 0; c < MICRO_COLS; c += VEC_LANES) {
            float *s = scores + (j - k0) * MICRO_COLS + c;
            int64_t n = j - r0 - c; /* queries before the key */

            if (n > 0)
                vec_store_some(s, none, n < VEC_LANES ? n : VEC_LANES);
        }
    }
}

/* ---- keys that a mask leaves out ----------------------------------------- */

/* What a mask adds to leave a key out: -inf, or the least float. Beside a key
 * whose score is larger than -SCORE_TOP its weight is exactly 0. */
#define LEFT_OUT -1e35f
#define SCORE_TOP 1e30f

/* Largest magnitude; inf when there is an inf or a NaN. */
static float largest(const float *x, int64_t n)
{
    vec top = vec_set(0.0f), zero = top, nan = top;

    for (int64_t i = 0; i < n; i += VEC_LANES) {
        vec v = vec_take(x + i, n - i < VEC_LANES ? n - i : VEC_LANES);

        top = vec_max(top, vec_abs(v));
        nan = vec_fma(v, zero, nan);
    }
    return any_nan(nan) ? INFINITY : vec_top(top);
}

static float largest_rows(const float *x, int64_t row, int64_t n, int64_t d)
{
    float top = 0.0f;

    if (row == d)
        return largest(x, n * d);
    for (int64_t i = 0; i < n; i++) {
        float t = largest(x + i * row, d);

        top = t > top ? t : top;
    }
    return top;
}

static bool leaves_out(const sdpa *a, const head *h, int64_t row, int64_t j,
                       int64_t n)
{
    for (; n > 0 && n < VEC_LANES; j++, n--) {
        vec m = mask_load(a, h, row, j, 1);

        if (a->mask->dtype == HULL_BOOL ? vec_sum(m) > 0.0f
                                        : !(vec_sum(m) < LEFT_OUT))
            return false;
    }
    return n < VEC_LANES ||
           vec_all(vec_lt(mask_load(a, h, row, j, VEC_LANES),
                          vec_set(a->mask->dtype == HULL_BOOL ? 0.5f
                                                              : LEFT_OUT)));
}

/* The keys from the first to the last one that row sees, in whole vectors;
 * false: it sees none. */
static bool seen_keys(const sdpa *a, const head *h, int64_t row, int64_t keys,
                      int64_t *first, int64_t *end)
{
    int64_t lo = 0, hi = keys, n;

    for (; lo < keys; lo += VEC_LANES) {
        n = keys - lo < VEC_LANES ? keys - lo : VEC_LANES;
        if (!leaves_out(a, h, row, lo, n))
            break;
    }
    while (hi > lo) {
        n = (hi - 1) % VEC_LANES + 1;
        if (!leaves_out(a, h, row, hi - n, n))
            break;
        hi -= n;
    }
    *first = lo < *first ? lo : *first;
    *end = hi > *end ? hi : *end;
    return lo < hi;
}

/* Keys [*first, end) are all that n queries from r0 on have to look at: what a
 * mask leaves out has the weight 0 exactly, if no inf, NaN or overflow is
 * about. */
static int64_t key_window(const sdpa *a, const head *h, int64_t r0, int64_t n,
                          sdpa_work *w, int64_t *first)
{
    int64_t keys = keys_of(a, r0 + n - 1), end = 0, from = keys;
    double top;

    *first = 0;
    if (a->mask == NULL || a->mask_key != 1 || keys <= VEC_LANES ||
        (a->mask->dtype == HULL_BOOL && !(a->fill < LEFT_OUT)))
        return keys;
    for (int64_t i = 0; i < (a->mask_row == 0 ? 1 : n); i++)
        if (!seen_keys(a, h, r0 + i, keys_of(a, r0 + i), &from, &end))
            return keys;
    if (end - from == keys)
        return keys;
    if (w->measured != h) {
        w->key_top = largest_rows(h->k, a->k_row, a->s, a->d);
        w->value_top = largest_rows(h->v, a->v_row, a->s, a->e);
        w->measured = h;
    }
    top = (double)largest_rows(h->q + r0 * a->q_row, a->q_row, n, a->d) *
          (double)w->key_top * (double)a->d * fabs(a->scale);
    if (!(top < SCORE_TOP) || isinf(w->value_top))
        return keys;
    *first = from;
    return end;
}

/* ---- blocks of queries --------------------------------------------------- */

static void block_scores(const sdpa *a, const head *h, int64_t k0, int64_t k1,
                         sdpa_work *w)
{
    int64_t n = k1 - k0, tiles = (n + MICRO_ROWS - 1) / MICRO_ROWS;
    const float *rows[MICRO_ROWS];
    micro m = {.taps = 1, .depth = a->d, .rows = rows, .panel = w->queries,
               .ldc = MICRO_COLS};

    for (int64_t t = 0; t < tiles; t++) {
        int64_t from = n * t / tiles, r = n * (t + 1) / tiles - from;

        for (int64_t i = 0; i < r; i++)
            rows[i] = h->k + (k0 + from + i) * a->k_row;
        m.ahead = (const char *)(h->k + (k0 + from + r) * a->k_row);
        m.c = w->scores + from * MICRO_COLS;
        VEC_NAME(pointer_tiles)[r](&m);
    }
}

/* Scores become weights; maximum, sum and what sums so far shrink by. */
static void block_softmax(sdpa_work *w, int64_t n)
{
    for (int c = 0; c < MICRO_COLS; c += VEC_LANES) {
        vec before = vec_load(w->top + c), top = before, safe, shrink;
        vec sum0 = vec_set(0.0f), sum1 = sum0;
        float *s = w->scores + c;
        int64_t j = 0;

        for (int64_t i = 0; i < n; i++)
            top = vec_max(vec_load(s + i * MICRO_COLS), top);
        safe = finite_top(top);
        shrink = vec_exp(vec_sub(before, safe));
        for (; j + 2 <= n; j += 2, s += 2 * MICRO_COLS) {
            vec e0 = vec_exp(vec_sub(vec_load(s), safe));
            vec e1 = vec_exp(vec_sub(vec_load(s + MICRO_COLS), safe));

            vec_store(s, e0);
            vec_store(s + MICRO_COLS, e1);
            sum0 = vec_add(sum0, e0);
            sum1 = vec_add(sum1, e1);
        }
        if (j < n) {
            vec e0 = vec_exp(vec_sub(vec_load(s), safe));

            vec_store(s, e0);
            sum0 = vec_add(sum0, e0);
        }
        vec_store(w->top + c, top);
        vec_store(w->shrink + c, shrink);
        vec_store(w->total + c, vec_fma(vec_load(w->total + c), shrink,
                                        vec_add(sum0, sum1)));
    }
}

/* r queries times n vectors of value columns, the last of `some` lanes; r, n
 * and `whole` are constant after inlining. */
VEC_INLINE void value_tile(int r, int n, bool whole, const float *weights,
                           const float *v, int64_t row, int64_t some,
                           int64_t keys, const float *shrink, float *sums,
                           int64_t ld)
{
    vec x[MICRO_ROWS][2];

    VEC_UNROLL
    for (int i = 0; i < r; i++) {
        VEC_UNROLL
        for (int c = 0; c < n; c++)
            x[i][c] = shrink == NULL
                          ? vec_set(0.0f)
                          : vec_mul(vec_load(sums + i * ld + c * VEC_LANES),
                                    vec_set(shrink[i]));
    }
    for (int64_t k = 0; k < keys; k++, weights += MICRO_COLS, v += row) {
        vec b[2];

        VEC_UNROLL
        for (int c = 0; c < n; c++)
            b[c] = whole ? vec_load(v + c * VEC_LANES)
                         : vec_load_some(v, some);
        VEC_UNROLL
        for (int i = 0; i < r; i++) {
            vec p = vec_set(weights[i]);

            VEC_UNROLL
            for (int c = 0; c < n; c++)
                x[i][c] = vec_fma(p, b[c], x[i][c]);
        }
    }
    VEC_UNROLL
    for (int i = 0; i < r; i++) {
        VEC_UNROLL
        for (int c = 0; c < n; c++)
            vec_store(sums + i * ld + c * VEC_LANES, x[i][c]);
    }
}

#define VALUE_TILES(r)                                                        \
    static void value_rows_##r(const sdpa *a, const float *v,                 \
                               const float *weights, int64_t keys,            \
                               const float *shrink, float *sums)              \
    {                                                                         \
        int64_t c = 0, e = a->e, ld = a->e_room, row = a->v_row;              \
                                                                              \
        for (; c + MICRO_COLS <= e; c += MICRO_COLS)                          \
            value_tile(r, 2, true, weights, v + c, row, 0, keys, shrink,      \
                       sums + c, ld);                                         \
        for (; c + VEC_LANES <= e; c += VEC_LANES)                            \
            value_tile(r, 1, true, weights, v + c, row, 0, keys, shrink,      \
                       sums + c, ld);                                         \
        if (c < e)                                                            \
            value_tile(r, 1, false, weights, v + c, row, e - c, keys, shrink, \
                       sums + c, ld);                                         \
    }
VALUE_TILES(4)
#if VEC_LANES == 16
VALUE_TILES(14)
#define value_rows_many value_rows_14
#else
VALUE_TILES(6)
#define value_rows_many value_rows_6
#endif

/* MICRO_COLS is a few times MICRO_ROWS and 4. */
static void block_values(const sdpa *a, const head *h, int64_t n, int64_t k0,
                         int64_t k1, bool more, sdpa_work *w)
{
    const float *v = h->v + k0 * a->v_row;

    for (int64_t i = 0; i < n;) {
        const float *shrink = more ? w->shrink + i : NULL;
        float *sums = w->sums + i * a->e_room;

        if (n - i > 4) {
            value_rows_many(a, v, w->scores + i, k1 - k0, shrink, sums);
            i += MICRO_ROWS;
        } else {
            value_rows_4(a, v, w->scores + i, k1 - k0, shrink, sums);
            i += 4;
        }
    }
}

/* ---- results ------------------------------------------------------------- */

/* Row i of a head as the specification has it. */
static void careful_row(const sdpa *a, const head *h, int64_t i, double *score)
{
    int64_t n = keys_of(a, i);
    double top = -INFINITY, total = 0;
    bool zero = a->rule == ATTENTION_ZERO;

    for (int64_t j = 0; j < n; j++) {
        double dot = 0;
        int64_t at = h->mask_at + i * a->mask_row + j * a->mask_key;

        for (int64_t c = 0; c < a->d; c++)
            dot += (double)h->q[i * a->q_row + c] *
                   (double)h->k[j * a->k_row + c];
        dot *= a->scale;
        if (a->mask != NULL && a->mask->dtype != HULL_BOOL)
            dot += (double)((const float *)a->mask->data)[at];
        else if (a->mask != NULL && ((const uint8_t *)a->mask->data)[at] == 0)
            dot = (double)a->fill;
        score[j] = dot;
        if (isnan(dot) || dot > top)
            top = dot;
    }
    for (int64_t j = 0; j < n && top > -INFINITY; j++)
        total += exp(score[j] - top);
    if (isnan(top))
        total = top;
    /* keys after the query have the weight 0, or NaN among -inf alone */
    if (top == -INFINITY && !zero && a->s > 0)
        total = (double)NAN;
    for (int64_t c = 0; c < a->e; c++) {
        bool all = isnan(total) && a->rule != ATTENTION_SAFE;
        double sum = all ? total : 0.0;

        for (int64_t j = 0; j < a->s && !all; j++) {
            bool seen = j < n && score[j] > -INFINITY;
            double p = seen && !isnan(total) ? exp(score[j] - top) : 0.0;

            if (!zero || seen)
                sum += p * (double)h->v[j * a->v_row + c];
        }
        h->out[i * a->out_row + c] = (float)(total > 0 ? sum / total : sum);
    }
}

/* Row i from its sums of weighted values and its sum of weights. */
static void finish_row(const sdpa *a, const head *h, int64_t i,
                       const float *sums, float total, double *score)
{
    float *out = h->out + i * a->out_row, by = 1.0f / total;
    bool nan = false, expected = isnan(total) && a->rule != ATTENTION_SAFE;
    vec scale;

    if (total == 0.0f) {
        expected = a->rule == ATTENTION_SOFTMAX;
        by = expected ? NAN : 0.0f;
    } else if (isnan(total)) {
        by = NAN;
    }
    scale = vec_set(by);
    for (int64_t c = 0; c < a->e; c += VEC_LANES) {
        int64_t w = a->e - c < VEC_LANES ? a->e - c : VEC_LANES;
        vec y = vec_mul(vec_load_some(sums + c, w), scale);

        nan = nan || any_nan(y);
        vec_store_some(out + c, y, w);
    }
    if (nan && !expected)
        careful_row(a, h, i, score);
}

static void query_block(const sdpa *a, const head *h, int64_t r0, int64_t n,
                        sdpa_work *w, double *score)
{
    int64_t first, keys = key_window(a, h, r0, n, w, &first);
    int64_t blocks = (keys - first + SDPA_KEYS - 1) / SDPA_KEYS;

    rows_to_panel(h->q + r0 * a->q_row, a->q_row, n, a->d, (float)a->scale,
                  w->queries);
    for (int c = 0; c < MICRO_COLS; c++) {
        w->top[c] = -INFINITY;
        w->total[c] = 0.0f;
    }
    if (blocks == 0)
        memset(w->sums, 0, (size_t)(MICRO_COLS * a->e_room) *
                               sizeof *w->sums);
    for (int64_t b = 0; b < blocks; b++) {
        int64_t k0 = first + (keys - first) * b / blocks;
        int64_t k1 = first + (keys - first) * (b + 1) / blocks;

        block_scores(a, h, k0, k1, w);
        if (a->mask != NULL && a->mask_row == 0)
            mask_keys(a, h, k0, k1, w->scores);
        else if (a->mask != NULL)
            mask_block(a, h, r0, n, k0, k1, w->scores);
        if (a->causal && !a->one_place)
            mask_later(r0, k0, k1, w->scores);
        block_softmax(w, k1 - k0);
        block_values(a, h, n, k0, k1, b > 0, w);
    }
    for (int64_t i = 0; i < n; i++)
        finish_row(a, h, r0 + i, w->sums + i * a->e_room, w->total[i], score);
}

/* ---- few queries --------------------------------------------------------- */

/* Products of q with n rows of k; n is constant after inlining. */
VEC_INLINE void key_dots(int n, const float *q, const float *k, int64_t row,
                         int64_t d, float *out)
{
    vec x[4];
    int64_t c = 0;

    VEC_UNROLL
    for (int i = 0; i < n; i++)
        x[i] = vec_set(0.0f);
    for (; c + VEC_LANES <= d; c += VEC_LANES) {
        vec y = vec_load(q + c);

        VEC_UNROLL
        for (int i = 0; i < n; i++)
            x[i] = vec_fma(y, vec_load(k + i * row + c), x[i]);
    }
    if (c < d) {
        vec y = vec_load_some(q + c, d - c);

        VEC_UNROLL
        for (int i = 0; i < n; i++)
            x[i] = vec_fma(y, vec_load_some(k + i * row + c, d - c), x[i]);
    }
    VEC_UNROLL
    for (int i = 0; i < n; i++)
        out[i] = vec_sum(x[i]);
}

/* sums = sums * shrink + weights v, for n vectors of columns. */
VEC_INLINE void row_values(int n, bool whole, const float *weights,
                           const float *v, int64_t row, int64_t some,
                           int64_t keys, float shrink, float *sums)
{
    vec x[8], by = vec_set(shrink);

    VEC_UNROLL
    for (int i = 0; i < n; i++)
        x[i] = vec_mul(vec_load(sums + i * VEC_LANES), by);
    for (int64_t k = 0; k < keys; k++, v += row) {
        vec p = vec_set(weights[k]);

        VEC_UNROLL
        for (int i = 0; i < n; i++)
            x[i] = vec_fma(p, whole ? vec_load(v + i * VEC_LANES)
                                    : vec_load_some(v, some), x[i]);
    }
    VEC_UNROLL
    for (int i = 0; i < n; i++)
        vec_store(sums + i * VEC_LANES, x[i]);
}

/* Keys [k0, k1) for row r0 + i. */
static void row_block(const sdpa *a, const head *h, int64_t r0, int64_t i,
                      int64_t k0, int64_t k1, sdpa_work *w)
{
    int64_t n = k1 - k0, j = 0, c = 0;
    const float *k = h->k + k0 * a->k_row, *v = h->v + k0 * a->v_row;
    vec top = vec_set(w->top[i]), sum = vec_set(0.0f), safe;
    float *s = w->scores, *sums = w->sums + i * a->e_room;
    float lanes[VEC_LANES], shrink;

    for (; j + 4 <= n; j += 4)
        key_dots(4, w->queries, k + j * a->k_row, a->k_row, a->d, s + j);
    for (; j < n; j++)
        key_dots(1, w->queries, k + j * a->k_row, a->k_row, a->d, s + j);
    vec_store(s + n, vec_set(-INFINITY));
    for (j = 0; j < n; j += VEC_LANES) {
        int64_t some = n - j < VEC_LANES ? n - j : VEC_LANES;

        if (a->mask != NULL)
            vec_store_some(s + j,
                           mask_apply(a, vec_load(s + j),
                                      mask_load(a, h, r0 + i, k0 + j, some)),
                           some);
        top = vec_max(vec_load(s + j), top);
    }
    top = vec_set(vec_top(top));
    safe = finite_top(top);
    vec_store(lanes, vec_exp(vec_sub(vec_set(w->top[i]), safe)));
    shrink = lanes[0];
    for (j = 0; j < n; j += VEC_LANES) {
        vec e = vec_exp(vec_sub(vec_load(s + j), safe));

        vec_store(s + j, e);
        sum = vec_add(sum, e);
    }
    vec_store(lanes, top);
    w->top[i] = lanes[0];
    w->total[i] = w->total[i] * shrink + vec_sum(sum);
    for (; c + 8 * VEC_LANES <= a->e; c += 8 * VEC_LANES)
        row_values(8, true, s, v + c, a->v_row, 0, n, shrink, sums + c);
    for (; c + 4 * VEC_LANES <= a->e; c += 4 * VEC_LANES)
        row_values(4, true, s, v + c, a->v_row, 0, n, shrink, sums + c);
    for (; c + VEC_LANES <= a->e; c += VEC_LANES)
        row_values(1, true, s, v + c, a->v_row, 0, n, shrink, sums + c);
    if (c < a->e)
        row_values(1, false, s, v + c, a->v_row, a->e - c, n, shrink, sums + c);
}

/* n rows from r0 on; each block of keys stays in the cache for all of them. */
static void few_rows(const sdpa *a, const head *h, int64_t r0, int64_t n,
                     sdpa_work *w, double *score)
{
    int64_t keys = keys_of(a, r0 + n - 1);

    memset(w->sums, 0, (size_t)(n * a->e_room) * sizeof *w->sums);
    for (int64_t i = 0; i < n; i++) {
        w->top[i] = -INFINITY;
        w->total[i] = 0.0f;
    }
    for (int64_t k0 = 0; k0 < keys; k0 += SDPA_KEYS) {
        for (int64_t i = 0; i < n; i++) {
            int64_t end = keys_of(a, r0 + i);

            end = end < k0 + SDPA_KEYS ? end : k0 + SDPA_KEYS;
            for (int64_t c = 0; c < a->d; c++)
                w->queries[c] = h->q[(r0 + i) * a->q_row + c] *
                                (float)a->scale;
            if (end > k0)
                row_block(a, h, r0, i, k0, end, w);
        }
    }
    for (int64_t i = 0; i < n; i++)
        finish_row(a, h, r0 + i, w->sums + i * a->e_room, w->total[i], score);
}

/* ---- the op -------------------------------------------------------------- */

static hull_status sdpa_part(void *user, size_t part)
{
    const sdpa *a = user;
    int64_t all = a->n_heads * a->per_head, p = (int64_t)part;
    int64_t at = all * p / a->parts, end = all * (p + 1) / a->parts;
    float *memory = a->scratch + p * a->scratch_n;
    sdpa_work w;
    double *score = (double *)(void *)memory;

    w.measured = NULL;
    w.queries = memory + 2 * a->s;
    w.scores = w.queries + a->d * MICRO_COLS;
    w.sums = w.scores + SDPA_KEYS * MICRO_COLS;
    for (; at < end; at++) {
        const head *h = &a->heads[at / a->per_head];
        int64_t r0 = at % a->per_head * MICRO_COLS, n = a->rows - r0;

        n = n < MICRO_COLS ? n : MICRO_COLS;
        if (n <= SDPA_FEW)
            few_rows(a, h, r0, n, &w, score);
        else
            query_block(a, h, r0, n, &w, score);
    }
    return HULL_OK;
}

/* Which matrix of t belongs to a batch index of q. */
static int64_t matrix_at(const tensor *q, const tensor *t, const int64_t *index)
{
    int64_t at = 0;

    for (uint32_t i = 0; i + 2 < t->rank; i++) {
        int64_t k = t->shape[i] == 1 ? 0 : index[i];

        if (i + 3 == t->rank && t->shape[i] > 0)
            k = index[i] / (q->shape[i] / t->shape[i]);
        at = at * t->shape[i] + k;
    }
    return at;
}

/* One query per head, heads that share keys: they are the rows of one head. */
static int64_t shared_heads(const tensor *in)
{
    const tensor *q = &in[0], *k = &in[1], *v = &in[2];
    uint32_t axis = q->rank - 3;

    if (q->rank < 3 || q->shape[q->rank - 2] != 1 || k->shape[axis] < 1 ||
        k->shape[axis] != v->shape[axis])
        return 1;
    return q->shape[axis] / k->shape[axis];
}

static hull_status find_heads(eval_ctx *cx, sdpa *a, const tensor *in,
                              const tensor *out)
{
    const tensor *q = &in[0];
    int64_t index[HULL_MAX_RANK] = {0}, strides[HULL_MAX_RANK] = {0};
    int64_t dims[HULL_MAX_RANK], group = shared_heads(in), matrix = 0;
    int64_t l = q->shape[q->rank - 2];
    uint32_t rank = q->rank;

    memcpy(dims, q->shape, sizeof dims);
    dims[rank - 1] = a->s;
    if (a->mask != NULL)
        tensor_broadcast_strides(a->mask, dims, rank, strides);
    a->one_place = group > 1;
    a->rows = group > 1 ? group : l;
    a->mask_row = strides[group > 1 ? rank - 3 : rank - 2];
    a->mask_key = strides[rank - 1];
    a->heads = arena_array(cx->scratch,
                           (size_t)(tensor_numel(out) / (l * a->e)),
                           sizeof *a->heads);
    if (a->heads == NULL)
        return fail_oom((size_t)tensor_numel(out));
    do {
        head *h = &a->heads[a->n_heads];

        if (matrix++ % group != 0)
            continue;
        a->n_heads++;
        *h = (head){(const float *)q->data + (matrix - 1) * l * a->d,
                    (const float *)in[1].data +
                        matrix_at(q, &in[1], index) * a->s * a->d,
                    (const float *)in[2].data +
                        matrix_at(q, &in[2], index) * a->s * a->e,
                    (float *)out->data + (matrix - 1) * l * a->e, 0};
        for (uint32_t i = 0; i + 2 < rank; i++)
            h->mask_at += index[i] * strides[i];
    } while (index_next(index, q->shape, rank - 2));
    return HULL_OK;
}

/* Heads side by side: place k of row i is head k's. */
static hull_status find_joined_heads(eval_ctx *cx, sdpa *a, const tensor *part,
                                     const int64_t places[3], const float *x,
                                     float *out)
{
    int64_t index[HULL_MAX_RANK] = {0}, strides[HULL_MAX_RANK] = {0};
    int64_t dims[HULL_MAX_RANK], h = part->shape[part->rank - 3], at = 0;
    uint32_t rank = part->rank;

    memcpy(dims, part->shape, sizeof dims);
    dims[rank - 1] = a->s;
    if (a->mask != NULL)
        tensor_broadcast_strides(a->mask, dims, rank, strides);
    a->rows = a->s;
    a->mask_row = strides[rank - 2];
    a->mask_key = strides[rank - 1];
    a->q_row = a->k_row = a->v_row = 3 * h * a->d;
    a->out_row = h * a->d;
    a->n_heads = tensor_numel(part) / (a->s * a->d);
    a->heads = arena_array(cx->scratch, (size_t)a->n_heads, sizeof *a->heads);
    if (a->heads == NULL)
        return fail_oom((size_t)a->n_heads * sizeof *a->heads);
    do {
        int64_t b = at / h, k = at % h;
        const float *first = x + b * a->s * a->q_row + k * a->d;
        head *to = &a->heads[at++];

        *to = (head){first + places[0] * h * a->d,
                     first + places[1] * h * a->d,
                     first + places[2] * h * a->d,
                     out + b * a->s * a->out_row + k * a->d, 0};
        for (uint32_t i = 0; i + 2 < rank; i++)
            to->mask_at += index[i] * strides[i];
    } while (index_next(index, part->shape, rank - 2));
    return HULL_OK;
}

static hull_status run_heads(eval_ctx *cx, sdpa *a, int64_t numel)
{
    int64_t blocks;

    a->e_room = (a->e + VEC_LANES - 1) / VEC_LANES * VEC_LANES;
    a->per_head = (a->rows + MICRO_COLS - 1) / MICRO_COLS;
    blocks = a->n_heads * a->per_head;
    a->parts = pool_threads(cx->pool);
    a->parts = a->parts > 1 ? 4 * a->parts : 1;
    a->parts = a->parts < blocks ? a->parts : blocks;
    if ((double)numel * (double)a->s < 3e5)
        a->parts = 1;
    a->scratch_n = 2 * a->s + MICRO_COLS * (a->d + SDPA_KEYS + a->e_room) + 64;
    a->scratch_n = a->scratch_n / 16 * 16;
    a->scratch = arena_array(cx->scratch, (size_t)(a->scratch_n * a->parts),
                             sizeof *a->scratch);
    if (a->scratch == NULL)
        return fail_oom((size_t)(a->scratch_n * a->parts) *
                        sizeof *a->scratch);
    return pool_for(cx->pool, (size_t)a->parts, sdpa_part, a);
}

/* Of queries [.., d], keys [.., s, d] and values [.., s, e]. */
static sdpa sdpa_of(const node *n, const tensor qkv[3], const tensor *mask)
{
    uint32_t rank = qkv[0].rank;
    sdpa a = {.s = qkv[1].shape[rank - 2], .d = qkv[0].shape[rank - 1],
              .e = qkv[2].shape[rank - 1], .scale = attr_float(n, "scale"),
              .fill = (float)attr_float(n, "fill"),
              .causal = attr_bool(n, "causal"), .rule = attention_rows_of(n),
              .mask = mask};

    if (a.scale == 0.0)
        a.scale = a.d > 0 ? 1.0 / sqrt((double)a.d) : 0.0;
    a.q_row = a.k_row = a.d;
    a.v_row = a.out_row = a.e;
    return a;
}

hull_status VEC_NAME(cpu_sdpa)(eval_ctx *cx, const node *n, const tensor *in,
                               tensor *out)
{
    const tensor *mask = tensor_given(in, n, 3) ? &in[3] : NULL;
    sdpa a = sdpa_of(n, in, mask);

    TRY(attention_check(n, in, mask, out));
    if (tensor_numel(out) == 0)
        return HULL_OK;
    TRY(find_heads(cx, &a, in, out));
    return run_heads(cx, &a, tensor_numel(out));
}

hull_status VEC_NAME(cpu_sdpa_joined)(eval_ctx *cx, const node *n,
                                      const tensor *in, tensor *out)
{
    const tensor *mask = tensor_given(in, n, JOINED_MASK) ? &in[JOINED_MASK]
                                                          : NULL;
    int64_t places[3];
    tensor part[3];
    sdpa a;

    if (!joined_places(places, n))
        return fail(HULL_EINVAL, "parts are no order of 0, 1, 2");
    TRY(joined_parts(&part[0], n, in, out));
    part[1] = part[2] = part[0];
    TRY(attention_check(n, part, mask, part));
    if (tensor_numel(out) == 0)
        return HULL_OK;
    a = sdpa_of(n, part, mask);
    if (tensor_given(in, n, JOINED_BY))
        a.scale *= (double)*(const float *)in[JOINED_BY].data;
    TRY(find_joined_heads(cx, &a, part, places, in[JOINED_X].data,
                          out->data));
    return run_heads(cx, &a, tensor_numel(out));
}
