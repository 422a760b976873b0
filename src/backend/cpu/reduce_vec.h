/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * reduce_vec.h - sums, means and extremes of f32 over neighbouring axes, and
 * arg_max over the last: x [outer, len, inner]. Long sums are sums of sums of
 * STRIP elements, always the same ones. And reduce_any, of bytes.
 */
#include "backend/cpu/cpu.h"
#include "backend/cpu/vec.h"
#include "ops/family.h"

#include <math.h>
#include <string.h>

#define STRIP 64

typedef struct reduction {
    const float *x;
    float *y;
    int64_t *places;   /* of arg_max */
    split s;
    op_code op;
    bool last;
    double by;         /* the sum is divided by */
} reduction;

/* NaN wins; of equal ones the first. m: so far. */
VEC_INLINE vec extreme(vec x, vec m, bool max)
{
    return vec_pick(vec_is_nan(x), x, max ? vec_max(x, m) : vec_min(x, m));
}

/* The first zero of a line whose extreme is zero, for its sign. */
static float first_zero(const float *x, int64_t n, int64_t step)
{
    for (int64_t i = 0; i < n; i++)
        if (x[i * step] == 0)
            return x[i * step];
    return 0;
}

/* ---- along a line -------------------------------------------------------- */

/* In double when floats overflow. */
static double slow_sum(const float *x, int64_t n, int64_t step)
{
    double s = 0;

    for (int64_t i = 0; i < n; i++)
        s += (double)x[i * step];
    return s;
}

static double line_sum(const float *line, int64_t count)
{
    const float *x = line;
    int64_t n = count;
    vec all = vec_set(0.0f);
    float rest = 0;

    while (n >= VEC_LANES) {
        int64_t strip = n < STRIP * VEC_LANES ? n : STRIP * VEC_LANES;
        vec s = vec_set(0.0f), t = s;

        for (; strip >= 2 * VEC_LANES; strip -= 2 * VEC_LANES) {
            s = vec_add(s, vec_load(x));
            t = vec_add(t, vec_load(x + VEC_LANES));
            x += 2 * VEC_LANES;
            n -= 2 * VEC_LANES;
        }
        if (strip >= VEC_LANES) {
            s = vec_add(s, vec_load(x));
            x += VEC_LANES;
            n -= VEC_LANES;
        }
        all = vec_add(all, vec_add(s, t));
    }
    for (int64_t i = 0; i < n; i++)
        rest += x[i];
    rest += vec_sum(all);
    return isfinite(rest) ? (double)rest : slow_sum(line, count, 1);
}

static float line_extreme(const float *x, int64_t n, bool max)
{
    vec m = vec_set(max ? -INFINITY : INFINITY);
    float v[VEC_LANES], best;
    int64_t i = 0;

    for (; i + VEC_LANES <= n; i += VEC_LANES)
        m = extreme(vec_load(x + i), m, max);
    vec_store(v, m);
    best = v[0];
    for (int k = 1; k < VEC_LANES; k++)
        if (isnan(v[k]) || (max ? v[k] > best : v[k] < best))
            best = v[k];
    for (; i < n; i++)
        if (isnan(x[i]) || (max ? x[i] > best : x[i] < best))
            best = x[i];
    return best == 0 ? first_zero(x, n, 1) : best;
}

static int64_t line_place(const float *x, int64_t n, bool max, bool last)
{
    float best = line_extreme(x, n, max);
    int64_t i;

    if (last) {
        for (i = n - 1; i > 0; i--)
            if (x[i] == best || (isnan(best) && isnan(x[i])))
                break;
        return i;
    }
    for (i = 0; i + 1 < n; i++)
        if (x[i] == best || (isnan(best) && isnan(x[i])))
            break;
    return i;
}

static void lines_part(void *user, int64_t begin, int64_t end)
{
    const reduction *r = user;
    int64_t n = r->s.len;

    for (; begin < end; begin++) {
        const float *x = r->x + begin * n;

        if (r->places != NULL)
            r->places[begin] = line_place(x, n, r->op == OP_arg_max, r->last);
        else if (r->op == OP_reduce_max || r->op == OP_reduce_min)
            r->y[begin] = line_extreme(x, n, r->op == OP_reduce_max);
        else
            r->y[begin] = (float)(line_sum(x, n) / r->by);
    }
}

/* ---- across lines -------------------------------------------------------- */

#define WIDE 4 /* vectors side by side: a line of memory is used whole */

/* n vectors of results, the last one with `some` lanes. */
VEC_INLINE void column_sum(const reduction *r, const float *x, float *y,
                           int n, int64_t some)
{
    int64_t step = r->s.inner, left = r->s.len;
    const float *first = x;
    vec all[WIDE], s[WIDE];

    VEC_UNROLL
    for (int k = 0; k < n; k++)
        all[k] = vec_set(0.0f);
    while (left > 0) {
        int64_t strip = left < STRIP ? left : STRIP;

        left -= strip;
        VEC_UNROLL
        for (int k = 0; k < n; k++)
            s[k] = vec_set(0.0f);
        for (; strip > 0; strip--, x += step) {
            VEC_UNROLL
            for (int k = 0; k < n; k++)
                s[k] = vec_add(s[k], vec_take(x + k * VEC_LANES,
                                              k + 1 < n ? VEC_LANES : some));
        }
        VEC_UNROLL
        for (int k = 0; k < n; k++)
            all[k] = vec_add(all[k], s[k]);
    }
    VEC_UNROLL
    for (int k = 0; k < n; k++)
        vec_put(y + k * VEC_LANES, vec_div(all[k], vec_set((float)r->by)),
                k + 1 < n ? VEC_LANES : some);
    for (int64_t k = 0; k < (n - 1) * VEC_LANES + some; k++)
        if (!isfinite(y[k]))
            y[k] = (float)(slow_sum(first + k, r->s.len, step) / r->by);
}

VEC_INLINE void column_extreme(const reduction *r, const float *x, float *y,
                               int64_t some)
{
    int64_t step = r->s.inner, n = r->s.len;
    bool max = r->op == OP_reduce_max;
    vec m = vec_set(max ? -INFINITY : INFINITY);

    for (int64_t i = 0; i < n; i++)
        m = extreme(vec_take(x + i * step, some), m, max);
    vec_put(y, m, some);
    for (int64_t k = 0; k < some; k++)
        if (y[k] == 0)
            y[k] = first_zero(x + k, n, step);
}

/* Vectors that one piece of work takes at a time. */
static int64_t columns_at_once(const reduction *r)
{
    bool sums = r->op == OP_reduce_sum || r->op == OP_reduce_mean;

    return sums ? WIDE * VEC_LANES : VEC_LANES;
}

static void columns_part(void *user, int64_t begin, int64_t end)
{
    const reduction *r = user;
    int64_t each = columns_at_once(r), wide = (r->s.inner + each - 1) / each;

    for (; begin < end; begin++) {
        int64_t o = begin / wide, at = begin % wide * each;
        int64_t left = r->s.inner - at;
        const float *x = r->x + o * r->s.len * r->s.inner + at;
        float *y = r->y + o * r->s.inner + at;

        if (each == VEC_LANES) {
            column_extreme(r, x, y, left < VEC_LANES ? left : VEC_LANES);
            continue;
        }
        if (left >= each) {
            column_sum(r, x, y, WIDE, VEC_LANES);
            continue;
        }
        for (; left > 0; left -= VEC_LANES, x += VEC_LANES, y += VEC_LANES)
            column_sum(r, x, y, 1, left < VEC_LANES ? left : VEC_LANES);
    }
}

/* False when the reduced axes (of more than one element) are not neighbours.
 */
static bool reduce_split(split *s, const node *n, const tensor *x)
{
    const attr *axes = node_attr(n, "axes");
    bool reduced[HULL_MAX_RANK];
    int state = 0; /* outer, reduced, inner */

    *s = (split){1, 1, 1};
    for (uint32_t i = 0; i < x->rank; i++)
        reduced[i] = axes->u.ints.n == 0;
    for (uint32_t i = 0; i < axes->u.ints.n; i++) {
        int64_t a = axes->u.ints.p[i];

        a += a < 0 ? x->rank : 0;
        if (a < 0 || a >= x->rank)
            return false;
        reduced[a] = true;
    }
    for (uint32_t i = 0; i < x->rank; i++) {
        if (x->shape[i] == 1)
            continue;
        if (reduced[i] && state == 2)
            return false;
        state = reduced[i] ? 1 : state == 1 ? 2 : state;
        *(state == 0 ? &s->outer : state == 1 ? &s->len : &s->inner) *=
            x->shape[i];
    }
    return true;
}

hull_status VEC_NAME(cpu_reduce)(eval_ctx *cx, const node *n, const tensor *in,
                                 tensor *out)
{
    reduction r = {.x = in[0].data, .op = n->op, .by = 1};
    int64_t wide;

    if (tensor_numel(&in[0]) == 0 || !reduce_split(&r.s, n, &in[0]))
        return reduce_eval(cx, n, in, out);
    if (n->op == OP_arg_max || n->op == OP_arg_min) {
        if (r.s.inner != 1)
            return reduce_eval(cx, n, in, out);
        r.places = out->data;
        r.last = attr_bool(n, "last");
    } else {
        r.y = out->data;
    }
    if (n->op == OP_reduce_mean)
        r.by = (double)r.s.len;
    wide = (r.s.inner + columns_at_once(&r) - 1) / columns_at_once(&r);
    if (r.s.inner == 1)
        cpu_parallel(cx, r.s.outer, 1, 5 + 0.2 * (double)r.s.len, lines_part,
                     &r);
    else
        cpu_parallel(cx, r.s.outer * wide, 1, 5 + 2.0 * (double)r.s.len,
                     columns_part, &r);
    return HULL_OK;
}

/* ---- any ----------------------------------------------------------------- */

typedef struct any {
    const uint8_t *x;
    uint8_t *y;
    split s;
} any;

/* Lines [begin, end) of outer: [len, inner] to [inner]. */
static void any_part(void *user, int64_t begin, int64_t end)
{
    const any *a = user;
    int64_t len = a->s.len, inner = a->s.inner;

    for (; begin < end; begin++) {
        const uint8_t *restrict x = a->x + begin * len * inner;
        uint8_t *restrict y = a->y + begin * inner;
        uint8_t one = 0;

        for (int64_t k = 0; inner == 1 && k < len; k++)
            one |= x[k];
        memset(y, one, (size_t)inner);
        for (int64_t k = 0; inner > 1 && k < len; k++, x += inner)
            for (int64_t i = 0; i < inner; i++)
                y[i] |= x[i];
        for (int64_t i = 0; i < inner; i++)
            y[i] = y[i] != 0;
    }
}

hull_status VEC_NAME(cpu_reduce_any)(eval_ctx *cx, const node *n,
                                     const tensor *in, tensor *out)
{
    any a = {.x = in[0].data, .y = out->data};

    if (in[0].dtype != HULL_BOOL || tensor_numel(&in[0]) == 0 ||
        !reduce_split(&a.s, n, &in[0]))
        return reduce_eval(cx, n, in, out);
    cpu_parallel(cx, a.s.outer, 1,
                 5 + 0.05 * (double)a.s.len * (double)a.s.inner, any_part, &a);
    return HULL_OK;
}
