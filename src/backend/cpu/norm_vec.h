/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * norm_vec.h - layer, rms, group and batch norm, softmax and log_softmax of
 * f32. A line's mean is found twice, the second time over what the first one
 * leaves, so that a large offset costs no digits; lines whose squares leave
 * the range of a float are done in double.
 */
#include "backend/cpu/cpu.h"
#include "backend/cpu/vec.h"
#include "ops/family.h"

#include <math.h>

/* y = (x - first) * scale + shift */
typedef struct line_norm {
    float first, shift, scale;
} line_norm;

/* Element i has scale a[i / per] and bias b[i / per]; NULL: 1 and `none`, a
 * zero. */
static void line_in_double(const float *x, float *y, int64_t n, double eps,
                           bool rms, const float *a, const float *b,
                           float none, int64_t per)
{
    double sum = 0, squares = 0, mean, root;

    for (int64_t i = 0; !rms && i < n; i++)
        sum += (double)x[i];
    mean = rms ? 0 : sum / (double)n;
    for (int64_t i = 0; i < n; i++)
        squares += ((double)x[i] - mean) * ((double)x[i] - mean);
    root = sqrt(squares / (double)n + eps);
    for (int64_t i = 0; i < n; i++) {
        double v = ((double)x[i] - mean) / root;

        v *= a != NULL ? (double)a[i / per] : 1;
        y[i] = (float)(v + (double)(b != NULL ? b[i / per] : none));
    }
}

VEC_INLINE float line_sum(const float *x, int64_t n)
{
    vec s[4];
    int64_t i = 0;

    VEC_UNROLL
    for (int k = 0; k < 4; k++)
        s[k] = vec_set(0.0f);
    for (; i + 4 * VEC_LANES <= n; i += 4 * VEC_LANES) {
        VEC_UNROLL
        for (int k = 0; k < 4; k++)
            s[k] = vec_add(s[k], vec_load(x + i + k * VEC_LANES));
    }
    for (; i + VEC_LANES <= n; i += VEC_LANES)
        s[0] = vec_add(s[0], vec_load(x + i));
    if (i < n)
        s[0] = vec_add(s[0], vec_load_some(x + i, n - i));
    return vec_sum(vec_add(vec_add(s[0], s[1]), vec_add(s[2], s[3])));
}

/* Sums of x - first and of its squares. */
VEC_INLINE void line_moments(const float *x, int64_t n, float first,
                             float *sum, float *squares)
{
    vec m = vec_set(first), s[2], q[2];
    int64_t i = 0;

    s[0] = s[1] = q[0] = q[1] = vec_set(0.0f);
    for (; i + 2 * VEC_LANES <= n; i += 2 * VEC_LANES) {
        VEC_UNROLL
        for (int k = 0; k < 2; k++) {
            vec d = vec_sub(vec_load(x + i + k * VEC_LANES), m);

            s[k] = vec_add(s[k], d);
            q[k] = vec_fma(d, d, q[k]);
        }
    }
    *sum = vec_sum(vec_add(s[0], s[1]));
    *squares = vec_sum(vec_add(q[0], q[1]));
    for (; i < n; i++) {
        float d = x[i] - first;

        *sum += d;
        *squares += d * d;
    }
}

/* False: the squares leave the range of a float, or one is NaN. */
static bool line_of(line_norm *out, const float *x, int64_t n, double eps,
                    bool rms)
{
    float first = rms ? 0 : line_sum(x, n) / (float)n, sum, squares;
    double mean, var;

    line_moments(x, n, first, &sum, &squares);
    mean = rms ? 0 : (double)sum / (double)n;
    var = (double)squares / (double)n - mean * mean;
    if (!(var < 1e30) || !(var > 1e-20 || (eps > 1e-12 && var >= 0)))
        return false;
    var = 1 / sqrt(var + eps);
    *out = (line_norm){first, (float)(-mean * var), (float)var};
    return true;
}

/* y = ((x - first) scale + shift) a + b of up to a vector; NULL: 1, `none`. */
VEC_INLINE void apply_some(const float *x, float *y, int64_t some,
                           const line_norm *l, const float *a, const float *b,
                           float none)
{
    vec v = vec_take(x, some);

    v = vec_fma(vec_sub(v, vec_set(l->first)), vec_set(l->scale),
                vec_set(l->shift));
    if (a != NULL)
        v = vec_mul(v, vec_take(a, some));
    v = vec_add(v, b != NULL ? vec_take(b, some) : vec_set(none));
    vec_put(y, v, some);
}

static void line_apply(const float *x, float *y, int64_t n, line_norm l,
                       const float *a, const float *b, float none)
{
    int64_t i = 0;

    if (a != NULL && b != NULL)
        for (; i + VEC_LANES <= n; i += VEC_LANES)
            apply_some(x + i, y + i, VEC_LANES, &l, a + i, b + i, none);
    for (; i < n; i += VEC_LANES)
        apply_some(x + i, y + i, n - i < VEC_LANES ? n - i : VEC_LANES, &l,
                   a != NULL ? a + i : NULL, b != NULL ? b + i : NULL, none);
}

/* ---- layer_norm, rms_norm ------------------------------------------------ */

typedef struct layer {
    const float *x, *a, *b;
    float *y;
    int64_t inner;
    double eps;
    bool rms;
} layer;

static void layer_part(void *user, int64_t begin, int64_t end)
{
    const layer *l = user;
    float none = l->rms ? -0.0f : 0.0f; /* x + -0 is x */

    for (; begin < end; begin++) {
        const float *x = l->x + begin * l->inner;
        float *y = l->y + begin * l->inner;
        line_norm f;

        if (line_of(&f, x, l->inner, l->eps, l->rms))
            line_apply(x, y, l->inner, f, l->a, l->b, none);
        else
            line_in_double(x, y, l->inner, l->eps, l->rms, l->a, l->b, none,
                           1);
    }
}

/* Operand i is one line that every line of x uses. */
static bool is_line(const node *n, const tensor *in, uint32_t i,
                    uint32_t axis, int64_t inner)
{
    if (!tensor_given(in, n, i))
        return true;
    for (uint32_t k = 0; k < in[i].rank; k++)
        if (k + in[0].rank < in[i].rank + axis && in[i].shape[k] != 1)
            return false;
    return tensor_numel(&in[i]) == inner;
}

static hull_status layer_run(eval_ctx *cx, const node *n, const tensor *in,
                             tensor *out)
{
    layer l = {.x = in[0].data, .y = out->data, .inner = 1,
               .eps = attr_float(n, "eps"), .rms = n->op == OP_rms_norm};
    uint32_t axis = 0;

    TRY(infer_axis(&axis, n, attr_int(n, "axis"), in[0].rank));
    for (uint32_t i = axis; i < in[0].rank; i++)
        l.inner *= in[0].shape[i];
    if (!is_line(n, in, 1, axis, l.inner) || !is_line(n, in, 2, axis, l.inner))
        return norm_eval(cx, n, in, out);
    l.a = tensor_given(in, n, 1) ? in[1].data : NULL;
    l.b = tensor_given(in, n, 2) ? in[2].data : NULL;
    cpu_parallel(cx, tensor_numel(out) / l.inner, 1, 20 + 0.5 * (double)l.inner,
                 layer_part, &l);
    return HULL_OK;
}

/* ---- by channel ---------------------------------------------------------- */

typedef struct channels {
    const float *x;
    float *y;
    int64_t n, inner;       /* channels, elements of one */
    const float *a, *b;     /* scale and bias of a channel, or NULL */
    const float *mean, *var;
    int64_t groups, per_group;
    double eps;
} channels;

static void group_apply(const channels *g, const float *x, float *y,
                        line_norm l, const float *a, const float *b)
{
    vec first = vec_set(l.first), scale = vec_set(l.scale);
    vec shift = vec_set(l.shift);

    for (int64_t k = 0; k < g->per_group; k++) {
        vec va = vec_set(a != NULL ? a[k] : 1.0f);
        vec vb = vec_set(b != NULL ? b[k] : -0.0f);

        for (int64_t i = 0; i < g->inner; i += VEC_LANES) {
            int64_t m = g->inner - i < VEC_LANES ? g->inner - i : VEC_LANES;
            vec v = vec_sub(vec_take(x + i, m), first);

            v = vec_add(vec_mul(vec_fma(v, scale, shift), va), vb);
            vec_put(y + i, v, m);
        }
        x += g->inner;
        y += g->inner;
    }
}

/* begin..end: groups of all images. */
static void group_part(void *user, int64_t begin, int64_t end)
{
    const channels *g = user;
    int64_t count = g->per_group * g->inner;

    for (; begin < end; begin++) {
        const float *x = g->x + begin * count;
        float *y = g->y + begin * count;
        int64_t c = begin % g->groups * g->per_group;
        const float *a = g->a != NULL ? g->a + c : NULL;
        const float *b = g->b != NULL ? g->b + c : NULL;
        line_norm l;

        if (!line_of(&l, x, count, g->eps, false))
            line_in_double(x, y, count, g->eps, false, a, b, -0.0f, g->inner);
        else if (g->inner == 1)
            line_apply(x, y, count, l, a, b, -0.0f);
        else
            group_apply(g, x, y, l, a, b);
    }
}

/* begin..end: channels of all images. */
static void batch_part(void *user, int64_t begin, int64_t end)
{
    const channels *g = user;

    for (; begin < end; begin++) {
        int64_t c = begin % g->n;
        const float *x = g->x + begin * g->inner;
        float *y = g->y + begin * g->inner;
        double root = sqrt((double)g->var[c] + g->eps);
        vec mean = vec_set(g->mean[c]), b = vec_set(g->b[c]);
        vec scale = vec_set((float)((double)g->a[c] / root));

        for (int64_t i = 0; i < g->inner; i += VEC_LANES) {
            int64_t m = g->inner - i < VEC_LANES ? g->inner - i : VEC_LANES;
            vec v = vec_sub(vec_take(x + i, m), mean);

            vec_put(y + i, vec_fma(v, scale, b), m);
        }
    }
}

static hull_status channels_run(eval_ctx *cx, const node *n, const tensor *in,
                                tensor *out)
{
    split s = split_at(&in[0], 1);
    channels g = {.x = in[0].data, .y = out->data, .n = s.len,
                  .inner = s.inner, .eps = attr_float(n, "eps")};
    bool batch = n->op == OP_batch_norm;

    for (uint32_t i = 1; i < n->n_in; i++)
        if (tensor_given(in, n, i) && tensor_numel(&in[i]) != s.len)
            return norm_eval(cx, n, in, out); /* which refuses it */
    g.a = tensor_given(in, n, 1) ? in[1].data : NULL;
    g.b = tensor_given(in, n, 2) ? in[2].data : NULL;
    if (batch) {
        g.mean = in[3].data;
        g.var = in[4].data;
        cpu_parallel(cx, s.outer * s.len, 1, 20 + 0.2 * (double)s.inner,
                     batch_part, &g);
        return HULL_OK;
    }
    g.groups = attr_int(n, "groups");
    if (g.groups < 1 || s.len % g.groups != 0)
        return norm_eval(cx, n, in, out);
    g.per_group = s.len / g.groups;
    cpu_parallel(cx, s.outer * g.groups, 1,
                 20 + 0.5 * (double)(g.per_group * s.inner), group_part, &g);
    return HULL_OK;
}

hull_status VEC_NAME(cpu_norm)(eval_ctx *cx, const node *n, const tensor *in,
                               tensor *out)
{
    if (tensor_numel(out) == 0)
        return HULL_OK;
    return n->op == OP_layer_norm || n->op == OP_rms_norm
               ? layer_run(cx, n, in, out)
               : channels_run(cx, n, in, out);
}

/* ---- softmax ------------------------------------------------------------- */

typedef struct soft {
    const float *x;
    float *y;
    split s;
    bool logarithm;
} soft;

/* The lanes' greatest; NaN may get lost, it comes back in the sum. */
VEC_INLINE float line_top(const float *x, int64_t n)
{
    vec t[4];
    int64_t i = 0;
    float top;

    VEC_UNROLL
    for (int k = 0; k < 4; k++)
        t[k] = vec_set(-INFINITY);
    for (; i + 4 * VEC_LANES <= n; i += 4 * VEC_LANES) {
        VEC_UNROLL
        for (int k = 0; k < 4; k++)
            t[k] = vec_max(vec_load(x + i + k * VEC_LANES), t[k]);
    }
    for (; i + VEC_LANES <= n; i += VEC_LANES)
        t[0] = vec_max(vec_load(x + i), t[0]);
    top = vec_top(vec_max(vec_max(t[0], t[1]), vec_max(t[2], t[3])));
    for (; i < n; i++)
        top = x[i] > top ? x[i] : top;
    return top;
}

static void soft_line(const float *x, float *y, int64_t n, bool logarithm)
{
    vec top = vec_set(line_top(x, n)), s = vec_set(0.0f), by;
    float sum = 0;
    int64_t i = 0;

    for (; i + VEC_LANES <= n; i += VEC_LANES) {
        vec e = vec_exp(vec_sub(vec_load(x + i), top));

        s = vec_add(s, e);
        if (!logarithm)
            vec_store(y + i, e);
    }
    if (i < n) {
        vec e = vec_exp(vec_sub(vec_load_some(x + i, n - i), top));
        float some[VEC_LANES];

        vec_store(some, e);
        for (int64_t k = 0; k < n - i; k++)
            sum += some[k];
        if (!logarithm)
            vec_store_some(y + i, e, n - i);
    }
    sum += vec_sum(s);
    by = vec_set(logarithm ? (float)log((double)sum) : sum);
    for (i = 0; i < n; i += VEC_LANES) {
        int64_t k = n - i < VEC_LANES ? n - i : VEC_LANES;

        if (logarithm)
            vec_put(y + i, vec_sub(vec_sub(vec_take(x + i, k), top), by), k);
        else
            vec_put(y + i, vec_div(vec_take(y + i, k), by), k);
    }
}

/* Up to a vector of lines side by side. */
static void soft_lines(const float *x, float *y, int64_t n, int64_t step,
                       int64_t some, bool logarithm)
{
    vec top = vec_set(-INFINITY), s = vec_set(0.0f);

    for (int64_t i = 0; i < n; i++)
        top = vec_max(vec_take(x + i * step, some), top);
    for (int64_t i = 0; i < n; i++) {
        vec e = vec_exp(vec_sub(vec_take(x + i * step, some), top));

        s = vec_add(s, e);
        if (!logarithm)
            vec_put(y + i * step, e, some);
    }
    if (logarithm)
        s = vec_log(s);
    for (int64_t i = 0; i < n; i++) {
        vec v = vec_take((logarithm ? x : y) + i * step, some);

        vec_put(y + i * step,
                logarithm ? vec_sub(vec_sub(v, top), s)
                          : vec_div(v, s), some);
    }
}

static void soft_part(void *user, int64_t begin, int64_t end)
{
    const soft *f = user;
    int64_t wide = (f->s.inner + VEC_LANES - 1) / VEC_LANES;

    for (; begin < end; begin++) {
        int64_t at, some;

        if (f->s.inner == 1) {
            at = begin * f->s.len;
            soft_line(f->x + at, f->y + at, f->s.len, f->logarithm);
            continue;
        }
        at = begin % wide * VEC_LANES;
        some = f->s.inner - at < VEC_LANES ? f->s.inner - at : VEC_LANES;
        at += begin / wide * f->s.len * f->s.inner;
        soft_lines(f->x + at, f->y + at, f->s.len, f->s.inner, some,
                   f->logarithm);
    }
}

hull_status VEC_NAME(cpu_softmax)(eval_ctx *cx, const node *n,
                                  const tensor *in, tensor *out)
{
    soft f = {.x = in[0].data, .y = out->data,
              .logarithm = n->op == OP_log_softmax};
    int64_t lines;
    uint32_t axis = 0;

    if (tensor_numel(out) == 0)
        return HULL_OK;
    TRY(infer_axis(&axis, n, attr_int(n, "axis"), in[0].rank));
    f.s = split_at(&in[0], axis);
    lines = f.s.inner == 1 ? f.s.outer
                           : f.s.outer *
                                 ((f.s.inner + VEC_LANES - 1) / VEC_LANES);
    cpu_parallel(cx, lines, 1,
                 20 + (f.s.inner == 1 ? 1 : VEC_LANES) * (double)f.s.len,
                 soft_part, &f);
    return HULL_OK;
}
