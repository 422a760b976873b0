/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * resize_vec.h - resize, and the pads that show elements: edge, reflect, wrap.
 *
 *   moved     every place shows one element: nearest, and pads. Axes are tables
 *             of offsets; what lies behind the last one that changes is copied
 *             in one piece
 *   weighted  linear and cubic: an axis at a time, vectors of what lies behind
 *             it
 */
#include "backend/cpu/cpu.h"
#include "backend/cpu/vec.h"
#include "ops/data.h"
#include "ops/resize.h"

#include <string.h>

/* ---- moved --------------------------------------------------------------- */

typedef struct moving {
    const char *src;
    char *dst;
    uint32_t rank;               /* without the axes in `width` */
    int64_t out[HULL_MAX_RANK];
    int64_t *offs[HULL_MAX_RANK]; /* bytes, by place */
    int64_t width;               /* bytes of a piece */
    int64_t low, high;           /* the last axis: pieces that lie together */
} moving;

/* Pieces [from, to) of a row; width is a constant in most calls. */
VEC_INLINE void move_pieces(char *dst, const char *src, const int64_t *offs,
                            int64_t from, int64_t to, size_t width)
{
    for (int64_t i = from; i < to; i++)
        memcpy(dst + i * (int64_t)width, src + offs[i], width);
}

static void move_some(const moving *m, char *dst, const char *src, int64_t from,
                      int64_t to)
{
    const int64_t *offs = m->offs[m->rank - 1];

    switch (m->width) {
    case 1: move_pieces(dst, src, offs, from, to, 1); break;
    case 2: move_pieces(dst, src, offs, from, to, 2); break;
    case 4: move_pieces(dst, src, offs, from, to, 4); break;
    case 8: move_pieces(dst, src, offs, from, to, 8); break;
    case 64: move_pieces(dst, src, offs, from, to, 64); break;
    case 128: move_pieces(dst, src, offs, from, to, 128); break;
    default: move_pieces(dst, src, offs, from, to, (size_t)m->width);
    }
}

/* Rows [begin, end) of the result. */
static void move_rows(void *user, int64_t begin, int64_t end)
{
    const moving *m = user;
    uint32_t last = m->rank - 1;

    for (; begin < end; begin++) {
        char *dst = m->dst + begin * m->out[last] * m->width;
        const char *src = m->src;
        int64_t left = begin;

        for (uint32_t i = last; i-- > 0; left /= m->out[i])
            src += m->offs[i][left % m->out[i]];
        move_some(m, dst, src, 0, m->low);
        if (m->high > m->low)
            memcpy(dst + m->low * m->width, src + m->offs[last][m->low],
                   (size_t)((m->high - m->low) * m->width));
        move_some(m, dst, src, m->high, m->out[last]);
    }
}

/* The elements that an axis shows, at[place]; at NULL: its own. Places [low,
 * high) show what follows at[low], and have no entries of their own. */
typedef struct shown_axis {
    int64_t *at, low, high;
} shown_axis;

static hull_status axis_offsets(moving *m, eval_ctx *cx, uint32_t i,
                                const shown_axis *a, int64_t stride)
{
    int64_t *offs = arena_array(cx->scratch, (size_t)m->out[i] + 1,
                                sizeof *offs);
    bool last = i + 1 == m->rank;

    if (offs == NULL)
        return fail_oom((size_t)m->out[i] * sizeof *offs);
    m->offs[i] = offs;
    for (int64_t k = 0; k < m->out[i]; k++) {
        if (last && k > a->low && k < a->high)
            k = a->high; /* of a stretch the first is enough */
        if (k == m->out[i])
            break;
        offs[k] = stride * (a->at == NULL ? k
                            : k > a->low && k < a->high
                                ? a->at[a->low] + k - a->low : a->at[k]);
    }
    return HULL_OK;
}

static hull_status move_all(eval_ctx *cx, const tensor *in, tensor *out,
                            const shown_axis *axes)
{
    moving m = {.src = in->data, .dst = out->data, .rank = in->rank,
                .width = hull_dtype_bits(in->dtype) / 8};
    int64_t rows = 1, stride;

    for (; m.rank > 0 && axes[m.rank - 1].at == NULL; m.rank--)
        m.width *= in->shape[m.rank - 1];
    if (m.rank == 0) {
        memcpy(m.dst, m.src, (size_t)m.width);
        return HULL_OK;
    }
    stride = m.width;
    for (uint32_t i = m.rank; i-- > 0; stride *= in->shape[i]) {
        m.out[i] = out->shape[i];
        TRY(axis_offsets(&m, cx, i, &axes[i], stride));
        rows *= i + 1 < m.rank ? m.out[i] : 1;
    }
    m.low = axes[m.rank - 1].low;
    m.high = axes[m.rank - 1].high;
    cpu_parallel(cx, rows, 1,
                 (double)m.out[m.rank - 1] * (1 + (double)m.width * 0.05) + 10,
                 move_rows, &m);
    return HULL_OK;
}

hull_status VEC_NAME(cpu_pad_shown)(eval_ctx *cx, const node *n,
                                    const tensor *in, tensor *out)
{
    int64_t begin[HULL_MAX_RANK];
    shown_axis axes[HULL_MAX_RANK] = {{0}};

    TRY(pad_sizes(cx, n, in, out, begin));
    if (tensor_numel(out) == 0)
        return HULL_OK;
    for (uint32_t i = 0; i < in->rank; i++) {
        shown_axis *a = &axes[i];
        int64_t size = in->shape[i], end = out->shape[i];

        if (begin[i] == 0 && size == end)
            continue;
        a->at = arena_array(cx->scratch, (size_t)end, sizeof *a->at);
        if (a->at == NULL)
            return fail_oom((size_t)end * sizeof *a->at);
        a->low = begin[i] < 0 ? 0 : begin[i] < end ? begin[i] : end;
        a->high = begin[i] + size < end ? begin[i] + size : end;
        a->high = a->high < a->low ? a->low : a->high;
        pad_shown(a->at, n, 0, a->low, begin[i], size);
        pad_shown(a->at, n, a->high, end, begin[i], size);
        if (a->low < a->high)
            a->at[a->low] = a->low - begin[i];
    }
    return move_all(cx, in, out, axes);
}

/* ---- weighted ------------------------------------------------------------ */

typedef struct weighing {
    const resize_axis *a;
    const float *src;
    float *dst;
    int64_t inner;
} weighing;

/* dst[0, n) = sum over taps; short ones a tap at a time. */
VEC_INLINE void weigh_piece(const weighing *w, int64_t p, const float *src,
                            float *dst)
{
    const int64_t *at = w->a->at + p * w->a->n;
    const double *weight = w->a->weight + p * w->a->n;

    for (int64_t i = 0; i < w->inner; i += VEC_LANES) {
        int64_t n = w->inner - i < VEC_LANES ? w->inner - i : VEC_LANES;
        vec sum = vec_set(0.0f);

        for (int64_t k = 0; k < w->a->n; k++)
            if (weight[k] != 0)
                sum = vec_fma(vec_set((float)weight[k]),
                              vec_take(src + at[k] * w->inner + i, n), sum);
        vec_put(dst + i, sum, n);
    }
}

/* The last axis: an element at a time. */
static void weigh_line(const weighing *w, const float *src, float *dst)
{
    for (int64_t p = 0; p < w->a->out; p++) {
        const int64_t *at = w->a->at + p * w->a->n;
        const double *weight = w->a->weight + p * w->a->n;
        float sum = 0;

        for (int64_t k = 0; k < w->a->n; k++)
            if (weight[k] != 0)
                sum += (float)weight[k] * src[at[k]];
        dst[p] = sum;
    }
}

/* Lines of the axis: [out, inner] from [in, inner]. */
static void weigh_lines(void *user, int64_t begin, int64_t end)
{
    const weighing *w = user;

    for (int64_t o = begin; o < end; o++)
        weigh_line(w, w->src + o * w->a->in, w->dst + o * w->a->out);
}

/* Places of all lines. */
static void weigh_places(void *user, int64_t begin, int64_t end)
{
    const weighing *w = user;

    for (int64_t i = begin; i < end; i++)
        weigh_piece(w, i % w->a->out,
                    w->src + i / w->a->out * w->a->in * w->inner,
                    w->dst + i * w->inner);
}

static void weigh_axis(eval_ctx *cx, const weighing *w, int64_t outer)
{
    double each = (double)w->a->n * 0.5;
    weighing one = *w;

    if (w->inner == 1)
        cpu_parallel(cx, outer, 1, each * (double)w->a->out, weigh_lines, &one);
    else
        cpu_parallel(cx, outer * w->a->out, 1,
                     5 + each * (double)w->inner / VEC_LANES, weigh_places,
                     &one);
}

/* In f32, where the reference kernel has double between two axes. */
static hull_status weigh_all(eval_ctx *cx, const tensor *in, tensor *out,
                             const resize_axis *axes)
{
    int64_t sizes[HULL_MAX_RANK];
    const float *now = in->data;
    uint32_t last = in->rank;

    for (uint32_t i = 0; i < in->rank; i++) {
        sizes[i] = in->shape[i];
        if (!axes[i].same)
            last = i;
    }
    if (last == in->rank) {
        memcpy(out->data, in->data, tensor_bytes(out));
        return HULL_OK;
    }
    for (uint32_t i = 0; i <= last; i++) {
        int64_t outer = data_product(sizes, 0, i);
        int64_t inner = data_product(sizes, i + 1, in->rank);
        weighing w = {.a = &axes[i], .src = now, .dst = out->data,
                      .inner = inner};

        if (axes[i].same)
            continue;
        if (i < last) {
            w.dst = arena_array(cx->scratch,
                                (size_t)(outer * axes[i].out * inner),
                                sizeof *w.dst);
            if (w.dst == NULL)
                return fail_oom((size_t)(outer * axes[i].out * inner) *
                                sizeof *w.dst);
        }
        weigh_axis(cx, &w, outer);
        sizes[i] = axes[i].out;
        now = w.dst;
    }
    return HULL_OK;
}

hull_status VEC_NAME(cpu_resize)(eval_ctx *cx, const node *n, const tensor *in,
                                 tensor *out)
{
    resize_axis axes[HULL_MAX_RANK];
    shown_axis shown[HULL_MAX_RANK] = {{0}};

    if (tensor_numel(out) == 0)
        return HULL_OK;
    TRY(resize_axes(axes, cx, n, in, out));
    if (!str_is(attr_str(n, "mode"), "nearest"))
        return weigh_all(cx, in, out, axes);
    for (uint32_t i = 0; i < in->rank; i++)
        shown[i].at = axes[i].same ? NULL : axes[i].at;
    return move_all(cx, in, out, shown);
}
