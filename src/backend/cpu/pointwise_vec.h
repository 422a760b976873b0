/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pointwise_vec.h - functions of one f32 tensor and arithmetic of two. Rows are
 * as long as broadcasting allows (rows.h); in a row an operand is a run of
 * elements or one that repeats.
 */
#include "backend/cpu/rows.h"
#include "backend/cpu/vec.h"

#include <math.h>

/* ---- one operand --------------------------------------------------------- */

typedef void map_fn(const float *x, float *y, int64_t n, float a, float b);

typedef struct map {
    map_fn *fn;
    const float *x;
    float *y;
    float a, b; /* the op's attributes */
} map;

#define MAP(name, value)                                                  \
    static void map_##name(const float *px, float *py, int64_t n, float a, \
                           float b)                                       \
    {                                                                     \
        vec va = vec_set(a), vb = vec_set(b);                             \
                                                                          \
        (void)va;                                                         \
        (void)vb;                                                         \
        for (; n >= VEC_LANES; n -= VEC_LANES) {                          \
            vec x = vec_load(px);                                         \
                                                                          \
            vec_store(py, value);                                         \
            px += VEC_LANES;                                              \
            py += VEC_LANES;                                              \
        }                                                                 \
        if (n > 0) {                                                      \
            vec x = vec_load_some(px, n);                                 \
                                                                          \
            vec_store_some(py, value, n);                                 \
        }                                                                 \
    }

/* Sine and cosine of any float: large ones by the C library. */
VEC_INLINE vec turn_any(vec x, bool cosine)
{
    vec y = cosine ? vec_cos(x) : vec_sin(x);
    float v[VEC_LANES], from[VEC_LANES];

    if (!vec_any(vec_lt(vec_set(VEC_TURN_MAX), vec_abs(x))))
        return y;
    vec_store(v, y);
    vec_store(from, x);
    for (int i = 0; i < VEC_LANES; i++) /* no lane depends on others */
        if (fabsf(from[i]) > VEC_TURN_MAX)
            v[i] = (float)(cosine ? cos((double)from[i])
                                  : sin((double)from[i]));
    return vec_load(v);
}

/* a: beta, b: threshold */
VEC_INLINE vec softplus_of(vec x, vec a, vec b)
{
    vec t = vec_mul(x, a);
    vec e = vec_exp(vec_or(t, vec_set(-0.0f)));
    vec y = vec_add(vec_max(vec_set(0.0f), t), vec_log1p_unit(e));

    return vec_pick(vec_lt(b, t), x, vec_div(y, a));
}

#define ZERO vec_set(0.0f)
#define ONE vec_set(1.0f)
MAP(neg, vec_sub(vec_set(-0.0f), x))
MAP(abs, vec_abs(x))
MAP(exp, vec_exp(x))
MAP(expm1, vec_expm1(x))
MAP(log, vec_log(x))
MAP(sqrt, vec_sqrt(x))
MAP(rsqrt, vec_div(ONE, vec_sqrt(x)))
MAP(reciprocal, vec_div(ONE, x))
MAP(erf, vec_erf(x))
MAP(sin, turn_any(x, false))
MAP(cos, turn_any(x, true))
MAP(tanh, vec_tanh(x))
MAP(floor, vec_floor(x))
MAP(ceil, vec_ceil(x))
MAP(round, vec_round(x))
MAP(trunc, vec_trunc(x))
MAP(relu, vec_max(ZERO, x))
MAP(sigmoid, vec_sigmoid(x))
MAP(silu, vec_mul(x, vec_sigmoid(x)))
MAP(gelu, vec_gelu(x))
MAP(gelu_tanh, vec_gelu_tanh(x))
MAP(softplus, softplus_of(x, va, vb))
MAP(elu, vec_pick(vec_lt(ZERO, x), x, vec_mul(va, vec_expm1(x))))
MAP(leaky_relu, vec_pick(vec_lt(ZERO, x), x, vec_mul(va, x)))
MAP(hard_sigmoid, vec_clamp(vec_fma(va, x, vb), ZERO, ONE))
MAP(clamp, vec_clamp(x, va, vb))
/* x^2 and so on */
MAP(square, vec_mul(x, x))
MAP(cube, vec_mul(vec_mul(x, x), x))

static const struct {
    op_code op;
    map_fn *fn;
    double cost;
} maps[] = {
    {OP_neg, map_neg, 0.2},     {OP_abs, map_abs, 0.2},
    {OP_exp, map_exp, 0.5},     {OP_expm1, map_expm1, 0.6},
    {OP_log, map_log, 0.7},     {OP_sqrt, map_sqrt, 0.4},
    {OP_rsqrt, map_rsqrt, 0.6}, {OP_reciprocal, map_reciprocal, 0.3},
    {OP_erf, map_erf, 0.8},     {OP_sin, map_sin, 0.8},
    {OP_cos, map_cos, 0.8},     {OP_tanh, map_tanh, 0.8},
    {OP_floor, map_floor, 0.2}, {OP_ceil, map_ceil, 0.2},
    {OP_round, map_round, 0.2}, {OP_trunc, map_trunc, 0.2},
    {OP_relu, map_relu, 0.2},   {OP_sigmoid, map_sigmoid, 0.7},
    {OP_silu, map_silu, 0.7},   {OP_softplus, map_softplus, 1.2},
    {OP_elu, map_elu, 0.6},     {OP_leaky_relu, map_leaky_relu, 0.2},
    {OP_gelu, map_gelu, 0.8},   {OP_hard_sigmoid, map_hard_sigmoid, 0.2},
    {OP_clamp, map_clamp, 0.2},
};

static void map_part(void *user, int64_t begin, int64_t end)
{
    const map *m = user;

    m->fn(m->x + begin, m->y + begin, end - begin, m->a, m->b);
}

static void map_attributes(map *m, const node *n)
{
    switch (n->op) {
    case OP_gelu:
        m->fn = attr_bool(n, "tanh") ? map_gelu_tanh : map_gelu;
        break;
    case OP_softplus:
        m->a = (float)attr_float(n, "beta");
        m->b = (float)attr_float(n, "threshold");
        break;
    case OP_elu:
    case OP_leaky_relu:
        m->a = (float)attr_float(n, "alpha");
        break;
    case OP_hard_sigmoid:
        m->a = (float)attr_float(n, "alpha");
        m->b = (float)attr_float(n, "beta");
        break;
    case OP_clamp:
        m->a = (float)attr_float(n, "min");
        m->b = (float)attr_float(n, "max");
        break;
    default:
        break;
    }
}

hull_status VEC_NAME(cpu_unary)(eval_ctx *cx, const node *n, const tensor *in,
                                tensor *out)
{
    map m = {.x = in[0].data, .y = out->data};

    map_attributes(&m, n);
    if (isnan(m.a) || isnan(m.b)) /* the vectors' bounds do not pass it on */
        return unary_eval(cx, n, in, out);
    for (size_t i = 0; i < COUNT_OF(maps); i++) {
        if (maps[i].op != n->op)
            continue;
        if (m.fn == NULL)
            m.fn = maps[i].fn;
        cpu_parallel(cx, tensor_numel(out), 1024, maps[i].cost, map_part, &m);
        return HULL_OK;
    }
    return unary_eval(cx, n, in, out);
}

/* ---- two operands -------------------------------------------------------- */

typedef void zip_fn(const float *a, const float *b, float *y, int64_t n,
                    int64_t step_a, int64_t step_b);

typedef struct pair {
    zip_fn *fn;
    const float *a, *b;
    float *y;
} pair;

/* One of a and b may be a vector that is already there. */
#define ZIP_LOOP(load_a, load_b, some_a, some_b, value) \
    do {                                                \
        int64_t i = 0;                                  \
                                                        \
        for (; i + VEC_LANES <= n; i += VEC_LANES) {    \
            vec a = load_a, b = load_b;                 \
                                                        \
            vec_store(y + i, value);                    \
        }                                               \
        if (i < n) {                                    \
            vec a = some_a, b = some_b;                 \
                                                        \
            vec_store_some(y + i, value, n - i);        \
        }                                               \
    } while (0)

#define ZIP(name, value)                                                   \
    static void zip_##name(const float *left, const float *right,          \
                           float *y, int64_t n, int64_t step_a,            \
                           int64_t step_b)                                 \
    {                                                                      \
        if (step_a != 0 && step_b != 0) {                                  \
            ZIP_LOOP(vec_load(left + i), vec_load(right + i),              \
                     vec_load_some(left + i, n - i),                         \
                     vec_load_some(right + i, n - i), value);                 \
        } else if (step_b == 0) {                                          \
            vec one = vec_set(*right);                                        \
                                                                           \
            if (step_a == 0)                                               \
                n = 1; /* both repeat: a result of one element */          \
            ZIP_LOOP(vec_load(left + i), one, vec_load_some(left + i, n - i),  \
                     one, value);                                          \
        } else {                                                           \
            vec one = vec_set(*left);                                        \
                                                                           \
            ZIP_LOOP(one, vec_load(right + i), one,                           \
                     vec_load_some(right + i, n - i), value);                 \
        }                                                                  \
    }

/* NaN wins, -0 is below 0: bits of both answers joined. */
VEC_INLINE vec least(vec a, vec b)
{
    return vec_or(vec_min(a, b), vec_min(b, a));
}

VEC_INLINE vec greatest(vec a, vec b)
{
    const vec zero = vec_set(-0.0f);

    return vec_sub(zero, least(vec_sub(zero, a), vec_sub(zero, b)));
}

ZIP(add, vec_add(a, b))
ZIP(sub, vec_sub(a, b))
ZIP(mul, vec_mul(a, b))
ZIP(div, vec_div(a, b))
ZIP(min, least(a, b))
ZIP(max, greatest(a, b))

static void zip_pow(const float *a, const float *b, float *y, int64_t n,
                    int64_t step_a, int64_t step_b)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = (float)pow((double)a[i * step_a], (double)b[i * step_b]);
}

static void zip_row(const void *user, const row *r)
{
    const pair *z = user;

    z->fn(z->a + r->at[0], z->b + r->at[1], z->y + r->at_out, r->n,
          r->step[0], r->step[1]);
}

/* ---- short rows ---------------------------------------------------------- */

/* Rows shorter than this are computed several at once. */
#define SHORT_ROW (4 * VEC_LANES)
#define SHORT_BUFFER 1024 /* floats of an operand for such a group */

/* How an operand goes with the rows of a group. */
typedef enum short_kind {
    SHORT_FLAT,   /* [rows, row] */
    SHORT_REPEAT, /* one row for all */
    SHORT_SPREAD, /* one element for each row */
    SHORT_ONE,    /* one element */
    SHORT_NONE
} short_kind;

typedef struct short_rows {
    const pair *z;
    walk w;
    short_kind kind[2];
    int64_t rows, group, groups; /* rows: of the last axis but one */
} short_rows;

static short_kind short_kind_of(const walk *w, uint32_t k)
{
    int64_t along = w->strides[k][w->rank - 2];

    if (w->step[k] == 0)
        return along == 0 ? SHORT_ONE : along == 1 ? SHORT_SPREAD : SHORT_NONE;
    return along == 0        ? SHORT_REPEAT
           : along == w->row ? SHORT_FLAT
                             : SHORT_NONE;
}

/* The operand for a group of n rows: where it lies, or made in `room`. */
static const float *short_operand(const short_rows *s, uint32_t k,
                                  const float *p, int64_t n, float *room)
{
    int64_t len = s->w.row;

    if (s->kind[k] == SHORT_REPEAT)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < len; j++)
                room[i * len + j] = p[j];
    else if (s->kind[k] == SHORT_SPREAD)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < len; j++)
                room[i * len + j] = p[i];
    else
        return p;
    return room;
}

/* Groups [begin, end), counted over all axes in front. */
static void short_part(void *user, int64_t begin, int64_t end)
{
    const short_rows *s = user;
    float room[2][SHORT_BUFFER];
    const float *from[2] = {s->z->a, s->z->b}, *p[2];
    int64_t made = -1, made_rows = 0; /* what repeats is made once */

    for (; begin < end; begin++) {
        int64_t outer = begin / s->groups, left = outer;
        int64_t first = begin % s->groups * s->group, n = s->rows - first;

        n = n < s->group ? n : s->group;
        for (uint32_t k = 0; k < 2; k++) {
            const float *at = from[k] + first * s->w.strides[k][s->w.rank - 2];

            left = outer;
            for (uint32_t i = s->w.rank - 2; i-- > 0; left /= s->w.shape[i])
                at += left % s->w.shape[i] * s->w.strides[k][i];
            p[k] = s->kind[k] == SHORT_REPEAT && made == outer &&
                           made_rows >= n
                       ? room[k] : short_operand(s, k, at, n, room[k]);
        }
        if (made != outer || made_rows < n) {
            made = outer;
            made_rows = n;
        }
        s->z->fn(p[0], p[1], s->z->y + (outer * s->rows + first) * s->w.row,
                 n * s->w.row, s->kind[0] != SHORT_ONE,
                 s->kind[1] != SHORT_ONE);
    }
}

/* Broadcasts of short rows; false: there is no such thing here. */
static hull_status zip_short(bool *done, eval_ctx *cx, const node *n,
                             const tensor *in, const tensor *out, const pair *z)
{
    short_rows s = {.z = z};
    int64_t outer = 1;

    *done = false;
    TRY(walk_begin(&s.w, n, in, 2, out));
    if (!s.w.more || s.w.rank < 2 || s.w.row >= SHORT_ROW)
        return HULL_OK;
    for (uint32_t k = 0; k < 2; k++) {
        s.kind[k] = short_kind_of(&s.w, k);
        if (s.kind[k] == SHORT_NONE)
            return HULL_OK;
    }
    if (s.kind[0] == SHORT_ONE && s.kind[1] == SHORT_ONE)
        return HULL_OK;
    for (uint32_t i = 0; i + 2 < s.w.rank; i++)
        outer *= s.w.shape[i];
    s.rows = s.w.shape[s.w.rank - 2];
    s.group = SHORT_BUFFER / s.w.row;
    s.group = s.group < s.rows ? s.group : s.rows;
    s.groups = (s.rows + s.group - 1) / s.group;
    cpu_parallel(cx, outer * s.groups, 1,
                 (double)(s.group * s.w.row) * 0.5 + 10, short_part, &s);
    *done = true;
    return HULL_OK;
}

/* Powers that are products: with this exponent. */
static map_fn *power_map(float e)
{
    return e == 2.0f ? map_square : e == 3.0f ? map_cube : NULL;
}

static bool plain_power(eval_ctx *cx, const tensor *in, tensor *out)
{
    map m = {.x = in[0].data, .y = out->data};

    if (tensor_numel(&in[1]) == 1)
        m.fn = power_map(*(const float *)in[1].data);
    if (m.fn == NULL || tensor_numel(&in[0]) != tensor_numel(out))
        return false;
    cpu_parallel(cx, tensor_numel(out), 1024, 0.2, map_part, &m);
    return true;
}

static zip_fn *zip_of(op_code op)
{
    switch (op) {
    case OP_add: return zip_add;
    case OP_sub: return zip_sub;
    case OP_mul: return zip_mul;
    case OP_div: return zip_div;
    case OP_min: return zip_min;
    case OP_max: return zip_max;
    case OP_pow: return zip_pow;
    default: return NULL;
    }
}

hull_status VEC_NAME(cpu_binary)(eval_ctx *cx, const node *n, const tensor *in,
                                 tensor *out)
{
    pair z = {zip_of(n->op), in[0].data, in[1].data, out->data};
    bool done;

    if (z.fn == NULL)
        return binary_eval(cx, n, in, out);
    if (n->op == OP_pow && plain_power(cx, in, out))
        return HULL_OK;
    TRY(zip_short(&done, cx, n, in, out, &z));
    if (done)
        return HULL_OK;
    return rows_for(cx, n, in, 2, out, n->op == OP_pow ? 30 : 0.3, zip_row,
                    &z);
}
