/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * indexed.c - kernels of which indices or order decide, in portable C:
 * gather_elements, gather_nd, scatter_elements, scatter_nd, cumsum, cumprod,
 * topk. They differ from the reference kernels in that elements are moved and
 * indices read by their size, not by a call for each.
 */
#include "backend/cpu/cpu.h"
#include "ops/data.h"
#include "ops/family.h"

#include <math.h>
#include <string.h>

/* ---- takes --------------------------------------------------------------- */

static bool has_bytes(const graph *g, val v)
{
    uint32_t bits = hull_dtype_bits(graph_type(g, v)->dtype);

    return graph_type(g, v)->dtype != HULL_STRING && bits >= 8 && bits <= 128;
}

bool takes_indexed(const graph *g, const node *n)
{
    return has_bytes(g, n->in[0]) && has_bytes(g, n->in[1]);
}

/* What is not combined, or f32 sums. */
bool takes_scatter(const graph *g, const node *n)
{
    str reduce = attr_str(n, "reduce");

    return takes_indexed(g, n) &&
           (str_is(reduce, "none") ||
            (str_is(reduce, "add") &&
             graph_type(g, n->in[0])->dtype == HULL_F32));
}

bool takes_cumulative(const graph *g, const node *n)
{
    hull_dtype dt = graph_type(g, n->in[0])->dtype;

    return dt == HULL_F32 || dt == HULL_I64 || dt == HULL_I32;
}

bool takes_topk(const graph *g, const node *n)
{
    return graph_type(g, n->in[0])->dtype == HULL_F32;
}

/* ---- elements and indices ------------------------------------------------ */

static void put_element(char *dst, const char *src, int64_t width)
{
    switch (width) {
    case 1: memcpy(dst, src, 1); break;
    case 2: memcpy(dst, src, 2); break;
    case 4: memcpy(dst, src, 4); break;
    case 8: memcpy(dst, src, 8); break;
    default: memcpy(dst, src, 16); break;
    }
}

/* Element i of idx as an index into `size`. */
static hull_status index_of(int64_t *out, const node *n, const tensor *idx,
                            int64_t i, int64_t size)
{
    int64_t k = idx->dtype == HULL_I64 ? ((const int64_t *)idx->data)[i]
                : idx->dtype == HULL_I32
                    ? ((const int32_t *)idx->data)[i]
                    : load_i64(idx->dtype, idx->data, (uint64_t)i);

    k += k < 0 && idx->dtype != HULL_U64 ? size : 0;
    *out = k;
    return k >= 0 && k < size ? HULL_OK : data_index(out, n, idx, i, size);
}

static int64_t width_of(const tensor *t)
{
    return hull_dtype_bits(t->dtype) / 8;
}

/* ---- elements along an axis ---------------------------------------------- */

/* Calls for each index: fn moves between element `at` of the index's tensor and
 * byte `to` of x. */
typedef void each_fn(void *user, int64_t at, int64_t to);

static inline __attribute__((always_inline)) hull_status
each_element(const node *n, const tensor *x, const tensor *idx, each_fn *fn,
             void *user)
{
    side places = data_side(x);
    int64_t index[HULL_MAX_RANK] = {0}, at = 0, width = width_of(x);
    uint32_t axis, last = x->rank - 1;

    TRY(infer_axis(&axis, n, attr_int(n, "axis"), x->rank));
    if (tensor_numel(idx) == 0)
        return HULL_OK;
    TRY(data_elements_check(n, x, idx, axis));
    do { /* a row of indices */
        int64_t base = data_element(&places, index, x->rank, axis, 0) * width;
        int64_t step = places.strides[axis] * width;

        for (int64_t j = 0; j < idx->shape[last]; j++, at++) {
            int64_t k;

            TRY(index_of(&k, n, idx, at, x->shape[axis]));
            fn(user, at, base + k * step + (axis == last ? 0 : j * width));
        }
    } while (index_next(index, idx->shape, last));
    return HULL_OK;
}

typedef struct moving {
    char *x, *y; /* places are in x, what goes with indices in y */
    int64_t width;
} moving;

static void take_element(void *user, int64_t at, int64_t to)
{
    const moving *m = user;

    put_element(m->y + at * m->width, m->x + to, m->width);
}

static void put_update(void *user, int64_t at, int64_t to)
{
    const moving *m = user;

    put_element(m->x + to, m->y + at * m->width, m->width);
}

static void add_update(void *user, int64_t at, int64_t to)
{
    const moving *m = user;
    float *sum = (float *)(void *)(m->x + to);

    *sum += ((const float *)(const void *)m->y)[at];
}

hull_status cpu_gather_elements(eval_ctx *cx, const node *n, const tensor *in,
                                tensor *out)
{
    moving m = {.x = in[0].data, .y = out->data, .width = width_of(out)};

    if (in[0].rank == 0) /* one element */
        return op_get(n->op)->eval(cx, n, in, out);
    TRY(data_want_shape(n, out, in[1].shape, in[0].rank));
    return each_element(n, &in[0], &in[1], take_element, &m);
}

hull_status cpu_scatter_elements(eval_ctx *cx, const node *n, const tensor *in,
                                 tensor *out)
{
    moving m = {.x = out->data, .y = in[2].data, .width = width_of(out)};

    if (in[0].rank == 0)
        return op_get(n->op)->eval(cx, n, in, out);
    TRY(data_want_shape(n, out, in[0].shape, in[0].rank));
    TRY(data_copy_all(n, out, &in[0]));
    TRY(data_want_shape(n, &in[2], in[1].shape, in[1].rank));
    return str_is(attr_str(n, "reduce"), "none")
               ? each_element(n, out, &in[1], put_update, &m)
               : each_element(n, out, &in[1], add_update, &m);
}

/* ---- blocks by tuples of indices ----------------------------------------- */

/* Tuples of idx's last axis, `per` for each batch of x, name blocks of x; run:
 * elements of one. */
typedef struct tuples {
    int64_t count, per, depth, run, batch_size;
    uint32_t batch;
} tuples;

static hull_status tuple_place(int64_t *out, const node *n, const tuples *t,
                               const tensor *x, const side *places,
                               const tensor *idx, int64_t i)
{
    int64_t at = i / t->per * t->batch_size;

    for (uint32_t j = 0; j < t->depth; j++) {
        int64_t k;

        TRY(index_of(&k, n, idx, i * t->depth + j, x->shape[t->batch + j]));
        at += k * places->strides[t->batch + j];
    }
    *out = at;
    return HULL_OK;
}

hull_status cpu_gather_nd(eval_ctx *cx, const node *n, const tensor *in,
                          tensor *out)
{
    const tensor *x = &in[0], *idx = &in[1];
    int64_t width = width_of(x), at;
    side places = data_side(x);
    tuples t = {.batch = (uint32_t)attr_int(n, "batch")};

    t.depth = idx->shape[idx->rank - 1];
    t.per = data_product(idx->shape, t.batch, idx->rank - 1);
    t.count = data_product(idx->shape, 0, idx->rank - 1);
    t.run = data_product(x->shape, t.batch + (uint32_t)t.depth, x->rank);
    t.batch_size = data_product(x->shape, t.batch, x->rank);
    for (uint32_t i = 0; i < t.batch; i++)
        if (x->shape[i] != idx->shape[i])
            return op_get(n->op)->eval(cx, n, in, out); /* refuses it */
    if (t.run == 0 || t.count == 0)
        return op_get(n->op)->eval(cx, n, in, out);
    TRY(data_want_numel(n, out, t.count * t.run));
    for (int64_t i = 0; i < t.count; i++) {
        char *to = (char *)out->data + i * t.run * width;

        TRY(tuple_place(&at, n, &t, x, &places, idx, i));
        if (t.run == 1)
            put_element(to, (const char *)x->data + at * width, width);
        else
            memcpy(to, (const char *)x->data + at * width,
                   (size_t)(t.run * width));
    }
    return HULL_OK;
}

static void add_run(float *to, const float *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] += from[i];
}

hull_status cpu_scatter_nd(eval_ctx *cx, const node *n, const tensor *in,
                           tensor *out)
{
    const tensor *idx = &in[1], *upd = &in[2];
    bool add = str_is(attr_str(n, "reduce"), "add");
    int64_t width = width_of(out), at;
    side places = data_side(out);
    tuples t = {0};

    t.depth = idx->shape[idx->rank - 1];
    t.per = t.count = data_product(idx->shape, 0, idx->rank - 1);
    t.run = data_product(out->shape, (uint32_t)t.depth, out->rank);
    if (t.run == 0 || t.count == 0)
        return op_get(n->op)->eval(cx, n, in, out);
    TRY(data_want_shape(n, out, in[0].shape, in[0].rank));
    TRY(data_copy_all(n, out, &in[0]));
    TRY(data_want_numel(n, upd, t.count * t.run));
    for (int64_t i = 0; i < t.count; i++) {
        const char *from = (const char *)upd->data + i * t.run * width;
        char *to;

        TRY(tuple_place(&at, n, &t, out, &places, idx, i));
        to = (char *)out->data + at * width;
        if (add)
            add_run((float *)(void *)to, (const float *)(const void *)from,
                    t.run);
        else if (t.run == 1)
            put_element(to, from, width);
        else
            memcpy(to, from, (size_t)(t.run * width));
    }
    return HULL_OK;
}

/* ---- cumulative ---------------------------------------------------------- */

typedef struct cumulative {
    split s;
    bool exclusive, reverse, product;
    hull_dtype dt;
    const void *x;
    void *y;
    double *sums;     /* [outer, inner]; i64 and i32: of uint64_t */
} cumulative;

/* Lines [begin, end) of outer: all of inner at each step. */
static void sum_lines(void *user, int64_t begin, int64_t end)
{
    const cumulative *c = user;
    int64_t inner = c->s.inner, len = c->s.len;

    for (int64_t o = begin; o < end; o++) {
        double *sums = c->sums + o * inner;

        for (int64_t i = 0; i < inner; i++)
            sums[i] = c->product;
        for (int64_t k = 0; k < len; k++) {
            int64_t at = (o * len + (c->reverse ? len - 1 - k : k)) * inner;
            const float *x = (const float *)c->x + at;
            float *y = (float *)c->y + at;

            for (int64_t i = 0; i < inner; i++) {
                double was = sums[i];

                sums[i] = c->product ? was * (double)x[i] : was + (double)x[i];
                y[i] = (float)(c->exclusive ? was : sums[i]);
            }
        }
    }
}

static void sum_lines_int(void *user, int64_t begin, int64_t end)
{
    const cumulative *c = user;
    int64_t inner = c->s.inner, len = c->s.len;
    bool wide = c->dt == HULL_I64;

    for (int64_t o = begin; o < end; o++) {
        uint64_t *sums = (uint64_t *)(void *)c->sums + o * inner;

        for (int64_t i = 0; i < inner; i++)
            sums[i] = c->product;
        for (int64_t k = 0; k < len; k++) {
            int64_t at = (o * len + (c->reverse ? len - 1 - k : k)) * inner;

            for (int64_t i = 0; i < inner; i++) {
                uint64_t was = sums[i], shown;
                uint64_t v = wide ? ((const uint64_t *)c->x)[at + i]
                                  : ((const uint32_t *)c->x)[at + i];

                sums[i] = c->product ? was * v : was + v;
                shown = c->exclusive ? was : sums[i];
                if (wide)
                    ((uint64_t *)c->y)[at + i] = shown;
                else
                    ((uint32_t *)c->y)[at + i] = (uint32_t)shown;
            }
        }
    }
}

hull_status cpu_cumulative(eval_ctx *cx, const node *n, const tensor *in,
                           tensor *out)
{
    cumulative c = {.exclusive = attr_bool(n, "exclusive"),
                    .reverse = attr_bool(n, "reverse"),
                    .product = n->op == OP_cumprod, .dt = out->dtype,
                    .x = in->data, .y = out->data};
    uint32_t axis = 0;
    size_t room;

    if (tensor_numel(out) == 0)
        return HULL_OK;
    TRY(infer_axis(&axis, n, attr_int(n, "axis"), in->rank));
    c.s = split_at(in, axis);
    room = (size_t)(c.s.outer * c.s.inner);
    c.sums = arena_array(cx->scratch, room, sizeof *c.sums);
    if (c.sums == NULL)
        return fail_oom(room * sizeof *c.sums);
    cpu_parallel(cx, c.s.outer, 1, (double)c.s.len * (double)c.s.inner,
                 c.dt == HULL_F32 ? sum_lines : sum_lines_int, &c);
    return HULL_OK;
}

/* ---- topk ---------------------------------------------------------------- */

typedef struct topping {
    split s;
    int64_t k;
    bool largest;
    const float *x;
    float *values;
    int64_t *at;
    uint64_t *heaps; /* k for each line */
} topping;

/* The order of values, NaN above all; the lower place first. */
static uint64_t rank_of(float v, int64_t at, bool largest)
{
    uint32_t bits;
    float plain = v + 0.0f; /* -0 is 0 */

    memcpy(&bits, &plain, sizeof bits);
    bits = isnan(v) ? UINT32_MAX : bits >> 31 ? ~bits : bits | 0x80000000u;
    bits = largest ? bits : ~bits;
    return (uint64_t)bits << 32 | (UINT32_MAX - (uint32_t)at);
}

/* A heap of n with the least on top: h[at] sinks. */
static void heap_sink(uint64_t *h, int64_t at, int64_t n)
{
    uint64_t v = h[at];
    int64_t child;

    while ((child = 2 * at + 1) < n) {
        child += child + 1 < n && h[child + 1] < h[child];
        if (v <= h[child])
            break;
        h[at] = h[child];
        at = child;
    }
    h[at] = v;
}

static void top_lines(void *user, int64_t begin, int64_t end)
{
    const topping *t = user;
    int64_t len = t->s.len, inner = t->s.inner, k = t->k;

    for (int64_t line = begin; line < end; line++) {
        const float *x = t->x + line / inner * len * inner + line % inner;
        int64_t to = line / inner * k * inner + line % inner;
        uint64_t *h = t->heaps + line * k;

        for (int64_t i = 0; i < k; i++)
            h[i] = rank_of(x[i * inner], i, t->largest);
        for (int64_t i = k / 2; i-- > 0;)
            heap_sink(h, i, k);
        for (int64_t i = k; i < len; i++) {
            uint64_t v = rank_of(x[i * inner], i, t->largest);

            if (v > h[0]) {
                h[0] = v;
                heap_sink(h, 0, k);
            }
        }
        for (int64_t i = k - 1; i > 0; i--) { /* the least goes to the end */
            uint64_t least = h[0];

            h[0] = h[i];
            h[i] = least;
            heap_sink(h, 0, i);
        }
        for (int64_t i = 0; i < k; i++) {
            int64_t at = UINT32_MAX - (int64_t)(uint32_t)h[i];

            t->values[to + i * inner] = x[at * inner];
            t->at[to + i * inner] = at;
        }
    }
}

hull_status cpu_topk(eval_ctx *cx, const node *n, const tensor *in, tensor *out)
{
    topping t = {.largest = attr_bool(n, "largest"), .x = in->data,
                 .values = out[0].data, .at = out[1].data};
    int64_t sizes[HULL_MAX_RANK], lines;
    uint32_t axis;

    TRY(infer_axis(&axis, n, attr_int(n, "axis"), in->rank));
    TRY(data_dim(&t.k, cx, node_attr(n, "k")->u.d));
    t.s = split_at(in, axis);
    if (t.k < 1 || t.k > t.s.len || t.s.len > INT32_MAX)
        return op_get(n->op)->eval(cx, n, in, out); /* nothing, or refused */
    memcpy(sizes, in->shape, sizeof sizes);
    sizes[axis] = t.k;
    TRY(data_want_shape(n, &out[0], sizes, in->rank));
    TRY(data_want_shape(n, &out[1], sizes, in->rank));
    lines = t.s.outer * t.s.inner;
    if (lines == 0)
        return HULL_OK;
    t.heaps = arena_array(cx->scratch, (size_t)(lines * t.k), sizeof *t.heaps);
    if (t.heaps == NULL)
        return fail_oom((size_t)(lines * t.k) * sizeof *t.heaps);
    cpu_parallel(cx, lines, 1, (double)t.s.len * 2 + (double)t.k * 30,
                 top_lines, &t);
    return HULL_OK;
}
