/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * typed_vec.h - pointwise work on other types than f32: integers and their
 * masks, comparisons, where, casts. Plain loops per type, which the compiler
 * turns into vectors of this level.
 */
#include "backend/cpu/rows.h"
#include "backend/cpu/vec.h"

#include <math.h>
#include <string.h>

#ifdef __clang__
#define LOOP_VECTOR /* restrict says it all */
#else
#define LOOP_VECTOR _Pragma("GCC ivdep")
#endif

typedef struct typed {
    const void *in[3];
    void *out;
    void (*fn)(const void *a, const void *b, void *y, const row *r);
} typed;

static void typed_row(const void *user, const row *r)
{
    const typed *t = user;

    t->fn(t->in[0], t->in[1], t->out, r);
}

/* fn(a, b, y, r): y = value of a[i] and b[i], each a run or one element. */
#define TYPED(name, from, to, value)                                      \
    static void name(const void *va, const void *vb, void *vy,            \
                     const row *r)                                        \
    {                                                                     \
        const from *restrict left = (const from *)va + r->at[0];            \
        const from *restrict right = (const from *)vb + r->at[1];            \
        to *restrict y = (to *)vy + r->at_out;                            \
        int64_t n = r->n;                                                 \
                                                                          \
        if (r->step[0] != 0 && r->step[1] != 0) {                         \
            LOOP_VECTOR                                                   \
            for (int64_t i = 0; i < n; i++) {                             \
                from a = left[i], b = right[i];                                \
                y[i] = (to)(value);                                       \
            }                                                             \
        } else if (r->step[0] != 0) {                                     \
            from b = *right;                                                 \
            LOOP_VECTOR                                                   \
            for (int64_t i = 0; i < n; i++) {                             \
                from a = left[i];                                           \
                y[i] = (to)(value);                                       \
            }                                                             \
        } else {                                                          \
            from a = *left;                                                 \
            int64_t step = r->step[1];                                    \
            LOOP_VECTOR                                                   \
            for (int64_t i = 0; i < n; i++) {                             \
                from b = right[i * step];                                    \
                y[i] = (to)(value);                                       \
            }                                                             \
        }                                                                 \
    }

/* ---- integers ------------------------------------------------------------ */

#define INT_OPS(s, u, bits)                                         \
    TYPED(int_add_##bits, u, u, a + b)                                  \
    TYPED(int_sub_##bits, u, u, a - b)                                  \
    TYPED(int_mul_##bits, u, u, a * b)                                  \
    TYPED(int_min_##bits, s, s, a < b ? a : b)                          \
    TYPED(int_max_##bits, s, s, a < b ? b : a)
INT_OPS(int64_t, uint64_t, i64)
INT_OPS(int32_t, uint32_t, i32)
TYPED(and_bool, uint8_t, uint8_t, (a != 0) & (b != 0))
TYPED(or_bool, uint8_t, uint8_t, (a | b) != 0)
TYPED(xor_bool, uint8_t, uint8_t, (a != 0) ^ (b != 0))

#define COMPARE_OPS(t, name)              \
    TYPED(eq_##name, t, uint8_t, a == b)  \
    TYPED(ne_##name, t, uint8_t, a != b)  \
    TYPED(lt_##name, t, uint8_t, a < b)   \
    TYPED(le_##name, t, uint8_t, a <= b)  \
    TYPED(gt_##name, t, uint8_t, a > b)   \
    TYPED(ge_##name, t, uint8_t, a >= b)
COMPARE_OPS(float, f32)
COMPARE_OPS(int64_t, i64)
COMPARE_OPS(int32_t, i32)

static const struct {
    op_code op;
    hull_dtype dtype;
    void (*fn)(const void *a, const void *b, void *y, const row *r);
} typed_ops[] = {
#define ROWS(dt, name)                                              \
    {OP_add, dt, int_add_##name}, {OP_sub, dt, int_sub_##name},             \
    {OP_mul, dt, int_mul_##name}, {OP_min, dt, int_min_##name},             \
    {OP_max, dt, int_max_##name},
    ROWS(HULL_I64, i64) ROWS(HULL_I32, i32)
#undef ROWS
#define ROWS(dt, name)                                              \
    {OP_eq, dt, eq_##name}, {OP_ne, dt, ne_##name},                 \
    {OP_lt, dt, lt_##name}, {OP_le, dt, le_##name},                 \
    {OP_gt, dt, gt_##name}, {OP_ge, dt, ge_##name},
    ROWS(HULL_F32, f32) ROWS(HULL_I64, i64) ROWS(HULL_I32, i32)
#undef ROWS
    {OP_and, HULL_BOOL, and_bool},
    {OP_or, HULL_BOOL, or_bool},
    {OP_xor, HULL_BOOL, xor_bool},
};

hull_status VEC_NAME(cpu_typed)(eval_ctx *cx, const node *n, const tensor *in,
                                tensor *out)
{
    typed t = {.in = {in[0].data, in[1].data}, .out = out->data};

    for (size_t i = 0; i < COUNT_OF(typed_ops); i++)
        if (typed_ops[i].op == n->op && typed_ops[i].dtype == in[0].dtype)
            t.fn = typed_ops[i].fn;
    if (t.fn == NULL)
        return op_get(n->op)->eval(cx, n, in, out);
    return rows_for(cx, n, in, 2, out, 0.3, typed_row, &t);
}

/* ---- where --------------------------------------------------------------- */

#define WHERE(t)                                                          \
    static void where_##t(const void *user, const row *r)                 \
    {                                                                     \
        const typed *w = user;                                            \
        const uint8_t *restrict c = (const uint8_t *)w->in[0] + r->at[0]; \
        const t *restrict a = (const t *)w->in[1] + r->at[1];             \
        const t *restrict b = (const t *)w->in[2] + r->at[2];             \
        t *restrict y = (t *)w->out + r->at_out;                          \
        int64_t sa = r->step[1], sb = r->step[2];                         \
                                                                          \
        if (r->step[0] == 0) {                                            \
            const t *x = *c != 0 ? a : b;                                 \
            int64_t s = *c != 0 ? sa : sb;                                \
                                                                          \
            for (int64_t i = 0; i < r->n; i++)                            \
                y[i] = x[i * s];                                          \
        } else if (sa != 0 && sb != 0) {                                  \
            LOOP_VECTOR                                                   \
            for (int64_t i = 0; i < r->n; i++) {                          \
                t u = a[i], v = b[i];                                     \
                y[i] = c[i] != 0 ? u : v;                                 \
            }                                                             \
        } else if (sa != 0) {                                             \
            t v = *b;                                                     \
            LOOP_VECTOR                                                   \
            for (int64_t i = 0; i < r->n; i++) {                          \
                t u = a[i];                                               \
                y[i] = c[i] != 0 ? u : v;                                 \
            }                                                             \
        } else {                                                          \
            t u = *a;                                                     \
            LOOP_VECTOR                                                   \
            for (int64_t i = 0; i < r->n; i++) {                          \
                t v = b[i * sb];                                          \
                y[i] = c[i] != 0 ? u : v;                                 \
            }                                                             \
        }                                                                 \
    }
WHERE(uint8_t)
WHERE(uint16_t)
WHERE(uint32_t)
WHERE(uint64_t)

hull_status VEC_NAME(cpu_where)(eval_ctx *cx, const node *n, const tensor *in,
                                tensor *out)
{
    typed w = {.in = {in[0].data, in[1].data, in[2].data}, .out = out->data};
    row_fn *fn;

    switch (hull_dtype_bits(out->dtype)) {
    case 8: fn = where_uint8_t; break;
    case 16: fn = where_uint16_t; break;
    case 32: fn = where_uint32_t; break;
    case 64: fn = where_uint64_t; break;
    default: return select_eval(cx, n, in, out);
    }
    return rows_for(cx, n, in, 3, out, 0.3, fn, &w);
}

/* ---- cast and not -------------------------------------------------------- */

typedef void cast_fn(const void *x, void *y, int64_t n);
typedef struct cast {
    cast_fn *fn, *then; /* then: from the f32 that fn makes */
    const char *x;
    char *y;
    int64_t size_x, size_y;
    hull_dtype from, to;
} cast;

#define CAST(name, from, to, value)                                       \
    static void name(const void *vx, void *vy, int64_t n)                 \
    {                                                                     \
        const from *restrict px = vx;                                     \
        to *restrict y = vy;                                              \
                                                                          \
        LOOP_VECTOR                                                       \
        for (int64_t i = 0; i < n; i++) {                                 \
            from x = px[i];                                               \
            y[i] = (to)(value);                                           \
        }                                                                 \
    }

/* Cut to [low, high], which are exact as floats or just inside. */
#define CUT(low, high) (x != x ? 0.0f : x < low ? low : x > high ? high : x)
CAST(f32_i64, float, int64_t,
     x != x ? 0 : x >= 0x1p63f ? INT64_MAX
     : x < -0x1p63f ? INT64_MIN : (int64_t)x)
CAST(f32_i32, float, int32_t,
     x != x ? 0 : x >= 0x1p31f ? INT32_MAX
     : x < -0x1p31f ? INT32_MIN : (int32_t)x)
CAST(f32_u8, float, uint8_t, (int32_t)CUT(0.0f, 255.0f))
CAST(f32_i8, float, int8_t, (int32_t)CUT(-128.0f, 127.0f))
CAST(f32_bool, float, uint8_t, x != 0.0f)
#define FROM_INT(name, t)                        \
    CAST(name##_f32, t, float, x)                \
    CAST(name##_i64, t, int64_t, x)              \
    CAST(name##_i32, t, int32_t, x)              \
    CAST(name##_u8, t, uint8_t, x)               \
    CAST(name##_i8, t, int8_t, x)                \
    CAST(name##_bool, t, uint8_t, x != 0)
FROM_INT(i64, int64_t)
FROM_INT(i32, int32_t)
FROM_INT(u8, uint8_t)
FROM_INT(i8, int8_t)
CAST(bool_f32, uint8_t, float, x != 0)
CAST(bool_i64, uint8_t, int64_t, x != 0)
CAST(bool_i32, uint8_t, int32_t, x != 0)
CAST(bool_u8, uint8_t, uint8_t, x != 0)
CAST(bool_i8, uint8_t, int8_t, x != 0)
CAST(not_bool, uint8_t, uint8_t, x == 0)

static void f32_bf16(const void *vx, void *vy, int64_t n)
{
    const uint32_t *restrict x = vx;
    uint16_t *restrict y = vy;

    LOOP_VECTOR
    for (int64_t i = 0; i < n; i++) {
        uint32_t u = x[i], even = u + 0x7fffu + (u >> 16 & 1u);

        u = (u & 0x7fffffffu) > 0x7f800000u ? u | 0x400000u : even;
        y[i] = (uint16_t)(u >> 16);
    }
}

static void bf16_f32(const void *vx, void *vy, int64_t n)
{
    const uint16_t *restrict x = vx;
    uint32_t *restrict y = vy;

    LOOP_VECTOR
    for (int64_t i = 0; i < n; i++)
        y[i] = (uint32_t)x[i] << 16;
}

static void f32_f16(const void *vx, void *vy, int64_t n)
{
    const float *x = vx;
    uint16_t *y = vy;
    float some[8] = {0};
    uint16_t end[8];

    for (; n >= 8; n -= 8, x += 8, y += 8)
        _mm_storeu_si128((__m128i *)(void *)y,
                         _mm256_cvtps_ph(_mm256_loadu_ps(x),
                                         _MM_FROUND_TO_NEAREST_INT));
    memcpy(some, x, (size_t)n * sizeof *x);
    _mm_storeu_si128((__m128i *)(void *)end,
                     _mm256_cvtps_ph(_mm256_loadu_ps(some),
                                     _MM_FROUND_TO_NEAREST_INT));
    memcpy(y, end, (size_t)n * sizeof *y);
}

static void f16_f32(const void *vx, void *vy, int64_t n)
{
    const uint16_t *x = vx;
    float *y = vy;
    uint16_t some[8] = {0};
    float end[8];

    for (; n >= 8; n -= 8, x += 8, y += 8)
        _mm256_storeu_ps(y, _mm256_cvtph_ps(
            _mm_loadu_si128((const __m128i *)(const void *)x)));
    memcpy(some, x, (size_t)n * sizeof *x);
    _mm256_storeu_ps(end, _mm256_cvtph_ps(
        _mm_loadu_si128((const __m128i *)(const void *)some)));
    memcpy(y, end, (size_t)n * sizeof *y);
}

static const struct {
    hull_dtype from, to;
    cast_fn *fn;
} casts[] = {
    {HULL_F32, HULL_F16, f32_f16},   {HULL_F16, HULL_F32, f16_f32},
    {HULL_F32, HULL_BF16, f32_bf16}, {HULL_BF16, HULL_F32, bf16_f32},
    {HULL_F32, HULL_I64, f32_i64},   {HULL_F32, HULL_I32, f32_i32},
    {HULL_F32, HULL_U8, f32_u8},     {HULL_F32, HULL_I8, f32_i8},
    {HULL_F32, HULL_BOOL, f32_bool},
#define ROWS(dt, name)                                                  \
    {dt, HULL_F32, name##_f32}, {dt, HULL_I64, name##_i64},             \
    {dt, HULL_I32, name##_i32}, {dt, HULL_U8, name##_u8},               \
    {dt, HULL_I8, name##_i8}
    ROWS(HULL_I64, i64), ROWS(HULL_I32, i32), ROWS(HULL_U8, u8),
    ROWS(HULL_I8, i8), ROWS(HULL_BOOL, bool),
#undef ROWS
    {HULL_I64, HULL_BOOL, i64_bool}, {HULL_I32, HULL_BOOL, i32_bool},
    {HULL_U8, HULL_BOOL, u8_bool},   {HULL_I8, HULL_BOOL, i8_bool},
};

static cast_fn *cast_of(hull_dtype from, hull_dtype to)
{
    for (size_t i = 0; i < COUNT_OF(casts); i++)
        if (casts[i].from == from && casts[i].to == to)
            return casts[i].fn;
    return NULL;
}

/* Between 16 bits and others, through f32, which holds all of 16 bits and all
 * integers that f16 has. bf16 has larger ones: they would be rounded twice. */
static void cast_twice(const cast *c, const char *x, char *y, int64_t n)
{
    float mid[256];
    bool large = false;

    for (int64_t some; n > 0; n -= some) {
        some = n < 256 ? n : 256;
        c->fn(x, mid, some);
        c->then(mid, y, some);
        for (int64_t i = 0; i < some; i++)
            large = large || fabsf(mid[i]) > 0x1p24f;
        if (large && c->to == HULL_BF16 && dtype_is_int(c->from))
            for (int64_t i = 0; i < some; i++)
                store_f64(c->to, y, (uint64_t)i,
                          load_f64(c->from, x, (uint64_t)i));
        x += some * c->size_x;
        y += some * c->size_y;
    }
}

static void cast_part(void *user, int64_t begin, int64_t end)
{
    const cast *c = user;
    const char *x = c->x + begin * c->size_x;
    char *y = c->y + begin * c->size_y;

    if (c->then != NULL)
        cast_twice(c, x, y, end - begin);
    else
        c->fn(x, y, end - begin);
}

hull_status VEC_NAME(cpu_cast)(eval_ctx *cx, const node *n, const tensor *in,
                               tensor *out)
{
    cast c = {.x = in[0].data, .y = out->data, .from = in[0].dtype,
              .to = out->dtype};

    c.size_x = hull_dtype_bits(c.from) / 8;
    c.size_y = hull_dtype_bits(c.to) / 8;
    c.fn = cast_of(c.from, c.to);
    if (c.fn == NULL && (dtype_is_half(c.from) || dtype_is_half(c.to))) {
        c.then = cast_of(HULL_F32, c.to);
        c.fn = c.then != NULL ? cast_of(c.from, HULL_F32) : NULL;
    }
    if (n->op == OP_not)
        c.fn = c.from == HULL_BOOL ? not_bool : NULL;
    if (c.fn == NULL)
        return op_get(n->op)->eval(cx, n, in, out);
    cpu_parallel(cx, tensor_numel(out), 4096, 0.3, cast_part, &c);
    return HULL_OK;
}
