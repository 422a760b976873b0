/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * planes_vec.h - the op conv as it is, [b, c, *] with weights [m, c, *]: for
 * few columns, of which panels would be mostly empty, and for weights that come
 * with the run. A tile is some columns times some vectors of neighbouring
 * places of the last axis; weights are broadcast. The input is copied with its
 * padding, and for a stride s of the last axis in s phases, so that neighbours
 * lie side by side.
 */
#include "backend/cpu/cpu.h"
#include "backend/cpu/vec.h"
#include "ops/family.h"

#include <string.h>

#define PLANE_AXES 3
#define PLANE_CHUNK 1024 /* places of a row that are one piece of work */
#if VEC_LANES == 16
#define PLANE_COLS 8
#else
#define PLANE_COLS 4
#endif

typedef struct planes {
    const float *image; /* the copy: [c][depth][height][phase][length] */
    const float *x, *w, *bias;
    float *y;           /* of one batch element */
    int64_t c, m, groups, taps;
    int64_t in[PLANE_AXES], out[PLANE_AXES], kernel[PLANE_AXES];
    int64_t stride[PLANE_AXES], dilation[PLANE_AXES], before[PLANE_AXES];
    int64_t length, pitch;  /* floats of a phase, of a row */
    int64_t tiles, chunks;  /* of a group's columns, of a row */
    const int64_t *across;  /* where in a row each tap of the last axis lies */
} planes;

/* ---- the copy ------------------------------------------------------------ */

static void copy_rows(void *user, int64_t begin, int64_t end)
{
    const planes *p = user;
    int64_t before = p->before[2], n = p->in[2], s = p->stride[2];
    float *to = (float *)(uintptr_t)p->image + begin * p->pitch;

    for (; begin < end; begin++, to += p->pitch) {
        const float *from = p->x + begin * n;

        memset(to, 0, (size_t)p->pitch * sizeof *to);
        if (s == 1) {
            int64_t room = p->length - before;

            memcpy(to + before, from,
                   (size_t)(n < room ? n : room) * sizeof *to);
            continue;
        }
        for (int64_t i = 0; i < n; i++) {
            int64_t at = before + i;

            if (at / s < p->length)
                to[at % s * p->length + at / s] = from[i];
        }
    }
}

/* ---- tiles --------------------------------------------------------------- */

/* Columns from `col` on (rows of w) at `places` vectors of places from `at` on;
 * where: the place in the other axes. cols and vecs are constants after
 * inlining. */
typedef struct plane_spot {
    int64_t group, col, at, row; /* row: of the result */
    int64_t first[2];            /* element of the first tap, maybe outside */
} plane_spot;

VEC_INLINE void plane_taps(int cols, int vecs, const planes *p,
                           const float *row, const float *w, vec *s)
{
    const int64_t step = p->c * p->taps;

    for (int64_t k = 0; k < p->kernel[2]; k++) {
        const float *x = row + p->across[k];
        vec v[8];

        VEC_UNROLL
        for (int i = 0; i < vecs; i++)
            v[i] = vec_load(x + i * VEC_LANES);
        VEC_UNROLL
        for (int j = 0; j < cols; j++) {
            vec b = vec_set(w[j * step + k]);

            VEC_UNROLL
            for (int i = 0; i < vecs; i++)
                s[j * vecs + i] = vec_fma(b, v[i], s[j * vecs + i]);
        }
    }
}

VEC_INLINE void plane_tile(int cols, int vecs, const planes *p,
                           const plane_spot *o, int64_t n)
{
    const float *w = p->w + (o->group * p->m + o->col) * p->c * p->taps;
    int64_t plane = p->in[0] * p->in[1] * p->pitch;
    int64_t cells = p->out[0] * p->out[1] * p->out[2];
    const float *image = p->image + o->group * p->c * plane + o->at;
    float *y = p->y + (o->group * p->m + o->col) * cells + o->row * p->out[2] +
               o->at;
    vec s[24];

    VEC_UNROLL
    for (int j = 0; j < cols; j++) {
        vec start = vec_set(p->bias != NULL
                                ? p->bias[o->group * p->m + o->col + j]
                                : 0.0f);

        VEC_UNROLL
        for (int i = 0; i < vecs; i++)
            s[j * vecs + i] = start;
    }
    for (int64_t c = 0; c < p->c; c++, image += plane)
        for (int64_t a = 0; a < p->kernel[0]; a++) {
            int64_t z = o->first[0] + a * p->dilation[0];

            for (int64_t b = 0; b < p->kernel[1]; b++) {
                int64_t h = o->first[1] + b * p->dilation[1];

                if (z >= 0 && z < p->in[0] && h >= 0 && h < p->in[1])
                    plane_taps(cols, vecs, p,
                               image + (z * p->in[1] + h) * p->pitch,
                               w + (c * p->taps +
                                    (a * p->kernel[1] + b) * p->kernel[2]), s);
            }
        }
    VEC_UNROLL
    for (int j = 0; j < cols; j++) {
        VEC_UNROLL
        for (int i = 0; i < vecs; i++) {
            int64_t left = n - i * VEC_LANES;

            vec_put(y + j * cells + i * VEC_LANES, s[j * vecs + i],
                    left < VEC_LANES ? left : VEC_LANES);
        }
    }
}

/* Places [at, end) of a row; wide, then single vectors. */
VEC_INLINE void plane_row(int cols, int vecs, const planes *p, plane_spot *o,
                          int64_t end)
{
    for (; o->at + vecs * VEC_LANES <= end; o->at += vecs * VEC_LANES)
        plane_tile(cols, vecs, p, o, vecs * VEC_LANES);
    for (; o->at + 2 * VEC_LANES <= end; o->at += 2 * VEC_LANES)
        plane_tile(cols, 2, p, o, 2 * VEC_LANES);
    for (; o->at < end; o->at += VEC_LANES)
        plane_tile(cols, 1, p, o, end - o->at);
}

typedef void plane_fn(const planes *p, plane_spot *o, int64_t end);
/* (columns, vectors): as many sums as there are registers for. */
#if VEC_LANES == 16
#define PLANE_EACH(f) \
    f(1, 8) f(2, 8) f(3, 8) f(4, 6) f(5, 4) f(6, 4) f(7, 3) f(8, 3)
#else
#define PLANE_EACH(f) f(1, 8) f(2, 5) f(3, 4) f(4, 3)
#endif
#define PLANE_DEFINE(cols, vecs)                                         \
    static void plane_##cols(const planes *p, plane_spot *o, int64_t end) \
    {                                                                    \
        plane_row(cols, vecs, p, o, end);                                \
    }
PLANE_EACH(PLANE_DEFINE)
#define NAME(cols, vecs) plane_##cols,
static plane_fn *const plane_fns[PLANE_COLS + 1] = {NULL, PLANE_EACH(NAME)};
#undef NAME

/* Items: rows of the result, their chunks, tiles of columns, groups. */
static void plane_items(void *user, int64_t begin, int64_t end)
{
    const planes *p = user;

    for (; begin < end; begin++) {
        int64_t left = begin, tile, cols, stop;
        plane_spot o;

        tile = left % p->tiles;
        left /= p->tiles;
        o.at = left % p->chunks * PLANE_CHUNK;
        left /= p->chunks;
        o.row = left % (p->out[0] * p->out[1]);
        o.group = left / (p->out[0] * p->out[1]);
        o.first[0] = o.row / p->out[1] * p->stride[0] - p->before[0];
        o.first[1] = o.row % p->out[1] * p->stride[1] - p->before[1];
        o.col = p->m * tile / p->tiles;
        cols = p->m * (tile + 1) / p->tiles - o.col;
        stop = o.at + PLANE_CHUNK;
        plane_fns[cols](p, &o, stop < p->out[2] ? stop : p->out[2]);
    }
}

static hull_status planes_open(planes *p, eval_ctx *cx, const node *n,
                               const tensor *in, const tensor *out)
{
    uint32_t axes = in[0].rank - 2, lead = PLANE_AXES - axes;
    int64_t *across;
    window w;

    TRY(conv_check(n, in, out));
    TRY(window_read(&w, n, axes));
    *p = (planes){.groups = attr_int(n, "groups"), .taps = 1, .w = in[1].data,
                  .bias = tensor_given(in, n, 2) ? in[2].data : NULL,
                  .c = in[1].shape[1]};
    p->m = in[1].shape[0] / p->groups;
    for (uint32_t i = 0; i < PLANE_AXES; i++) {
        bool real = i >= lead;
        uint32_t k = real ? i - lead : 0;

        p->in[i] = real ? in[0].shape[2 + k] : 1;
        p->out[i] = real ? out->shape[2 + k] : 1;
        p->kernel[i] = real ? in[1].shape[2 + k] : 1;
        p->stride[i] = real ? w.stride[k] : 1;
        p->dilation[i] = real ? w.dilation[k] : 1;
        p->before[i] = real ? w.before[k] : 0;
        p->taps *= p->kernel[i];
    }
    across = arena_array(cx->scratch, (size_t)p->kernel[2] + 1,
                         sizeof *across);
    if (across == NULL)
        return fail_oom((size_t)p->kernel[2] * sizeof *across);
    /* whole tiles are read: up to one vector behind the last place */
    p->length = (p->out[2] + VEC_LANES - 1) / VEC_LANES * VEC_LANES +
                (p->kernel[2] - 1) * p->dilation[2] / p->stride[2] + 1;
    p->pitch = p->length * p->stride[2];
    for (int64_t k = 0; k < p->kernel[2]; k++) {
        int64_t at = k * p->dilation[2];

        across[k] = at % p->stride[2] * p->length + at / p->stride[2];
    }
    p->across = across;
    p->tiles = (p->m + PLANE_COLS - 1) / PLANE_COLS;
    p->chunks = (p->out[2] + PLANE_CHUNK - 1) / PLANE_CHUNK;
    return HULL_OK;
}

hull_status VEC_NAME(cpu_conv_planes)(eval_ctx *cx, const node *n,
                                      const tensor *in, tensor *out)
{
    int64_t rows, each;
    float *image;
    planes p;

    if (tensor_numel(out) == 0)
        return conv_check(n, in, out);
    TRY(planes_open(&p, cx, n, in, out));
    rows = in[0].shape[1] * p.in[0] * p.in[1];
    image = arena_raw(cx->scratch, (size_t)(rows * p.pitch + VEC_LANES),
                      sizeof *image);
    if (image == NULL)
        return fail_oom((size_t)(rows * p.pitch) * sizeof *image);
    p.image = image;
    each = p.c * p.taps * p.out[2] / p.chunks;
    for (int64_t b = 0; b < in[0].shape[0]; b++) {
        p.x = (const float *)in[0].data +
              b * in[0].shape[1] * p.in[0] * p.in[1] * p.in[2];
        p.y = (float *)out->data + b * p.groups * p.m * p.out[0] * p.out[1] *
                                       p.out[2];
        cpu_parallel(cx, rows, 1, (double)p.pitch * 0.2, copy_rows, &p);
        cpu_parallel(cx, p.groups * p.out[0] * p.out[1] * p.chunks * p.tiles,
                     1, (double)each * 0.05 * (double)p.m / (double)p.tiles,
                     plane_items, &p);
    }
    return HULL_OK;
}
