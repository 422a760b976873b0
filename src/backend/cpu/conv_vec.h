/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * conv_vec.h - the op conv_nhwc. A tile is MICRO_ROWS output places; its rows
 * are pointers, one per where and tap, to a pixel's channels or to zeros, so
 * nothing is copied (the indirection of XNNPACK's convolutions). Taps at either
 * end that meet padding alone are left out of a tile; others multiply zeros, so
 * weights that are Inf or NaN reach the places beside them. An image of few
 * channels is copied once with its padding, and a row of the kernel is then one
 * tap. A 1x1 convolution that is deep, or of few places, is a gemm.
 *
 * Depthwise: vectors of channels of up to 8 places of one row, for which a
 * weight is loaded once; at the ends of a row place by place, with the taps
 * that are inside.
 */
#include "backend/cpu/products.h"

#include <string.h>

MICRO_EACH(MICRO_DEFINE_POINTERS)
#define NAME(r) micro_pointers_##r,
micro_fn *const VEC_NAME(pointer_tiles)[] = {NULL, MICRO_EACH(NAME)};
#undef NAME
#define NAME(r) micro_half_##r,
static micro_fn *const half_tiles[] = {NULL, MICRO_EACH(NAME)};
#undef NAME

#define CONV_AXES 3
#define FEW_CHANNELS 8    /* below: the padded copy */
#define DEEP_CHANNELS 1024 /* from here on rows of a 1x1 would fall into the
                            * same sets of the cache: gemm packs them */

/* All axes as three: rank 3 and 4 have sizes 1 in front. */
typedef struct conv {
    int64_t batch, channels, columns; /* of a group */
    int64_t groups, pixel, ldc;       /* pixel, ldc: floats between places */
    int64_t in[CONV_AXES], out[CONV_AXES], kernel[CONV_AXES];
    int64_t stride[CONV_AXES], before[CONV_AXES], dilation[CONV_AXES];
    int64_t last_inside[CONV_AXES]; /* where a first tap may be */
    int64_t taps, depth; /* of the pointers: depth floats each */
    int64_t places;      /* batch * out */
    const float *x, *w, *zeros;
    float *y;
    epilogue e;
    int64_t parts, panels_n, block;
    bool by_places, in_order; /* in_order: 1x1, every place its own pixel */
    void *scratch;       /* per seat: pointers */
    int64_t scratch_bytes;
    int64_t *offsets;    /* per tap, from the first one, in floats */
} conv;

static hull_status conv_open(conv *c, const node *n, const tensor *in,
                             tensor *out)
{
    uint32_t axes = in[0].rank - 2, lead = CONV_AXES - axes;
    int64_t kernel[SPATIAL_MAX];
    window w;

    TRY(window_ints(kernel, n, "kernel", axes, 1, 0));
    TRY(window_read(&w, n, axes));
    *c = (conv){.batch = in[0].shape[0], .groups = attr_int(n, "groups"),
                .pixel = in[0].shape[in[0].rank - 1], .ldc = attr_int(n, "n"),
                .taps = 1, .x = in[0].data, .w = in[1].data, .y = out->data,
                .e = epilogue_of(n, in)};
    if (in[1].rank == 2) /* depthwise */
        c->groups = 1;
    c->channels = c->pixel / c->groups;
    c->columns = c->ldc / c->groups;
    c->places = c->batch;
    for (uint32_t i = 0; i < CONV_AXES; i++) {
        bool real = i >= lead;
        uint32_t k = real ? i - lead : 0;

        c->in[i] = real ? in[0].shape[1 + k] : 1;
        c->out[i] = real ? out->shape[1 + k] : 1;
        c->kernel[i] = real ? kernel[k] : 1;
        c->stride[i] = real ? w.stride[k] : 1;
        c->dilation[i] = real ? w.dilation[k] : 1;
        c->before[i] = real ? w.before[k] : 0;
        c->taps *= c->kernel[i];
        c->places *= c->out[i];
    }
    c->depth = c->channels;
    return HULL_OK;
}

/* ---- pointers ------------------------------------------------------------ */

/* A place of the result and its window: where its first tap is, and whether all
 * taps are inside the image. */
typedef struct spot {
    int64_t image, place[CONV_AXES], at[CONV_AXES];
    bool inside;
} spot;

static bool spot_inside(const conv *c, const spot *s)
{
    for (int i = 0; i < CONV_AXES; i++)
        if (s->at[i] < 0 || s->at[i] > c->last_inside[i])
            return false;
    return true;
}

static spot spot_of(const conv *c, int64_t where)
{
    spot s;

    for (int i = CONV_AXES; i-- > 0; where /= c->out[i]) {
        s.place[i] = where % c->out[i];
        s.at[i] = s.place[i] * c->stride[i] - c->before[i];
    }
    s.image = where;
    s.inside = spot_inside(c, &s);
    return s;
}

/* To the next place, without divisions. */
static void spot_next(const conv *c, spot *s)
{
    int i = CONV_AXES;

    while (i-- > 0) {
        s->at[i] += c->stride[i];
        if (++s->place[i] < c->out[i])
            break;
        s->place[i] = 0;
        s->at[i] = -c->before[i];
    }
    s->image += i < 0;
    s->inside = spot_inside(c, s);
}

static const float *pixel(const conv *c, const spot *s, int64_t a, int64_t b,
                          int64_t d)
{
    int64_t p[CONV_AXES] = {s->at[0] + a * c->dilation[0],
                            s->at[1] + b * c->dilation[1],
                            s->at[2] + d * c->dilation[2]};
    int64_t at = s->image;

    for (int i = 0; i < CONV_AXES; i++) {
        if (p[i] < 0 || p[i] >= c->in[i])
            return c->zeros;
        at = at * c->in[i] + p[i];
    }
    return c->x + at * c->pixel;
}

static void point_row(const conv *c, const spot *s, int64_t i,
                      const float **rows)
{
    int64_t t = 0;

    if (s->inside) {
        const float *first = pixel(c, s, 0, 0, 0);

        for (; t < c->taps; t++)
            rows[t * MICRO_ROWS + i] = first + c->offsets[t];
        return;
    }
    for (int64_t a = 0; a < c->kernel[0]; a++)
        for (int64_t b = 0; b < c->kernel[1]; b++)
            for (int64_t d = 0; d < c->kernel[2]; d++)
                rows[t++ * MICRO_ROWS + i] = pixel(c, s, a, b, d);
}

static hull_status make_offsets(conv *c, eval_ctx *cx)
{
    float *zeros = arena_raw(cx->scratch, (size_t)c->depth + 16,
                             sizeof *zeros);
    int64_t t = 0;

    c->zeros = zeros;
    c->offsets = arena_raw(cx->scratch, (size_t)c->taps, sizeof *c->offsets);
    for (int i = 0; i < CONV_AXES; i++)
        c->last_inside[i] = c->in[i] - 1 -
                            (c->kernel[i] - 1) * c->dilation[i];
    if (zeros == NULL || c->offsets == NULL)
        return fail_oom((size_t)c->depth * sizeof *zeros);
    memset(zeros, 0, ((size_t)c->depth + 16) * sizeof *zeros);
    for (int64_t a = 0; a < c->kernel[0]; a++)
        for (int64_t b = 0; b < c->kernel[1]; b++)
            for (int64_t d = 0; d < c->kernel[2]; d++)
                c->offsets[t++] = ((a * c->dilation[0] * c->in[1] +
                                    b * c->dilation[1]) * c->in[2] +
                                   d * c->dilation[2]) * c->pixel;
    return HULL_OK;
}

/* ---- few channels -------------------------------------------------------- */

typedef struct padding {
    const float *from;
    float *to;
    int64_t width, lead, have, n; /* floats: rows of `from`, of `to` */
} padding;

static void pad_rows(void *user, int64_t begin, int64_t end)
{
    const padding *p = user;

    for (int64_t r = begin; r < end; r++) {
        float *to = p->to + r * p->n;
        int64_t rest = p->n - p->lead - p->have;

        memset(to, 0, (size_t)p->lead * sizeof *to);
        memcpy(to + p->lead, p->from + r * p->width,
               (size_t)p->have * sizeof *to);
        memset(to + p->lead + p->have, 0, (size_t)rest * sizeof *to);
    }
}

/* x with its padding written out; a row of the kernel becomes one tap. */
static hull_status copy_padded(conv *c, eval_ctx *cx)
{
    int64_t width = (c->out[2] - 1) * c->stride[2] + c->kernel[2];
    int64_t rows = c->batch * c->in[0] * c->in[1], have = c->in[2];
    int64_t skip = c->before[2] < width ? c->before[2] : width;
    padding p = {.from = c->x, .width = c->in[2] * c->channels,
                 .lead = skip * c->channels, .n = width * c->channels};

    p.to = arena_raw(cx->scratch, (size_t)(rows * p.n) + 64, sizeof *p.to);
    if (p.to == NULL)
        return fail_oom((size_t)(rows * p.n) * sizeof *p.to);
    have = have < width - skip ? have : width - skip;
    p.have = have * c->channels;
    cpu_parallel(cx, rows, 1, (double)p.n * 0.3, pad_rows, &p);
    c->x = p.to;
    c->in[2] = width;
    c->before[2] = 0;
    c->depth = c->kernel[2] * c->channels;
    c->taps /= c->kernel[2];
    c->kernel[2] = 1;
    return HULL_OK;
}

/* ---- tiles --------------------------------------------------------------- */

static void conv_tile(const conv *c, micro *m, int64_t p, int64_t where,
                      int64_t r)
{
    int64_t at = where * c->ldc + p * MICRO_COLS;

    m->bias = c->e.bias != NULL ? c->e.bias + p * MICRO_COLS : NULL;
    m->start = c->e.residual != NULL ? c->e.residual + at : NULL;
    m->c = c->y + at;
    m->ldc = m->ld_start = c->ldc;
    m->columns = c->columns - p * MICRO_COLS;
    (m->columns <= VEC_LANES ? half_tiles
                             : VEC_NAME(pointer_tiles))[r](m);
}

static int64_t n_tiles(const conv *c)
{
    return (c->places + MICRO_ROWS - 1) / MICRO_ROWS;
}

/* What a thread has to itself. */
typedef struct conv_side {
    const float **rows; /* a block's pointers */
    int64_t *taps;      /* per tile: the first tap, and how many */
} conv_side;

/* The taps of a tile between those at either end that meet padding alone. */
static void trim_taps(const conv *c, const float **rows, int64_t r,
                      int64_t *out)
{
    int64_t first = 0, end = c->taps, i;

    for (; first < end; first++) {
        for (i = 0; i < r && rows[first * MICRO_ROWS + i] == c->zeros;)
            i++;
        if (i < r)
            break;
    }
    for (; first < end; end--) {
        for (i = 0; i < r && rows[(end - 1) * MICRO_ROWS + i] == c->zeros;)
            i++;
        if (i < r)
            break;
    }
    out[0] = first;
    out[1] = end - first;
}

static void point_tiles(const conv *c, int64_t t0, int64_t t1,
                        const conv_side *s)
{
    int64_t all = n_tiles(c), from = c->places * t0 / all;
    spot at = spot_of(c, from);

    for (int64_t t = t0; t < t1; t++) {
        int64_t n = c->places * (t + 1) / all - from;
        const float **rows = s->rows + (t - t0) * c->taps * MICRO_ROWS;

        if (c->in_order) {
            for (int64_t i = 0; i < n; i++)
                rows[i] = c->x + (from + i) * c->pixel;
            s->taps[2 * (t - t0)] = 0;
            s->taps[2 * (t - t0) + 1] = 1;
            from += n;
            continue;
        }
        for (int64_t i = 0; i < n; i++) {
            point_row(c, &at, i, rows);
            spot_next(c, &at);
        }
        trim_taps(c, rows, n, s->taps + 2 * (t - t0));
        from += n;
    }
}

/* Tiles [t0, t1) by panels [p0, p1), a block of tiles at a time: their rows
 * stay in L2 while the panels pass. */
static void conv_range(const conv *c, int64_t t0, int64_t t1, int64_t p0,
                       int64_t p1, const conv_side *s)
{
    int64_t all = n_tiles(c), per_tap = c->depth * MICRO_COLS;
    int64_t panel_n = c->taps * per_tap;

    for (int64_t b = t0; b < t1; b += c->block) {
        int64_t end = b + c->block < t1 ? b + c->block : t1;

        point_tiles(c, b, end, s);
        for (int64_t p = p0; p < p1; p++) {
            const float *panel = c->w + p * panel_n;
            const float *next = end - b > 1 && p + 1 < p1 ? panel + panel_n
                                                          : panel;
            int64_t off = 0, step = c->taps * c->depth * 32;

            for (int64_t t = b; t < end; t++) {
                int64_t from = c->places * t / all;
                const int64_t *taps = s->taps + 2 * (t - b);
                micro m = {.taps = taps[1], .depth = c->depth,
                           .rows = s->rows +
                                   ((t - b) * c->taps + taps[0]) * MICRO_ROWS,
                           .panel = panel + taps[0] * per_tap,
                           .ahead = (const char *)next + off, .e = &c->e};

                conv_tile(c, &m, p, from, c->places * (t + 1) / all - from);
                off += step;
                if (off + step > panel_n * 4)
                    off = 0;
            }
        }
    }
}

static hull_status conv_part(void *user, size_t i)
{
    conv c = *(const conv *)user;
    int64_t part = (int64_t)i, tiles = n_tiles(&c);
    int64_t t0 = 0, t1 = tiles, p0 = 0, p1 = c.panels_n;
    char *mine = (char *)c.scratch + pool_seat() * c.scratch_bytes;
    conv_side s = {.taps = (int64_t *)(void *)mine};

    s.rows = (const float **)(void *)(s.taps + 2 * c.block);
    if (c.by_places) {
        t0 = tiles * part / c.parts;
        t1 = tiles * (part + 1) / c.parts;
    } else {
        p0 = c.panels_n * part / c.parts;
        p1 = c.panels_n * (part + 1) / c.parts;
    }
    for (int64_t g = 0; g < c.groups; g++) {
        conv_range(&c, t0, t1, p0, p1, &s);
        c.x += c.channels;
        c.w += c.panels_n * c.taps * c.depth * MICRO_COLS;
        c.y += c.columns;
        c.e.bias += c.e.bias != NULL ? c.columns : 0;
        c.e.residual += c.e.residual != NULL ? c.columns : 0;
    }
    return HULL_OK;
}

/* By places or by panels: where there are many tiles by those, so that a
 * thread's rows are its own; else where the parts come out more even. */
static void conv_divide(conv *c, const eval_ctx *cx)
{
    int64_t tiles = n_tiles(c), threads = pool_threads(cx->pool);
    double products = (double)c->places * (double)(c->taps * c->depth) *
                      (double)c->ldc;
    double by_tile = (double)(tiles + threads - 1 - (tiles - 1) % threads) /
                     (double)tiles;
    double by_panel =
        (double)(c->panels_n + threads - 1 - (c->panels_n - 1) % threads) /
        (double)c->panels_n;

    c->by_places = tiles >= 16 * threads || by_tile < by_panel;
    c->parts = cpu_pieces(cx, c->by_places ? tiles : c->panels_n,
                          products * PRODUCT_NS);
}

static hull_status conv_dense(conv *c, eval_ctx *cx)
{
    int64_t tiles, seats = pool_threads(cx->pool);

    if (c->groups == 1 && c->channels < FEW_CHANNELS && c->dilation[2] == 1 &&
        c->kernel[2] > 1)
        TRY(copy_padded(c, cx));
    TRY(make_offsets(c, cx));
    tiles = n_tiles(c);
    c->panels_n = (c->columns + MICRO_COLS - 1) / MICRO_COLS;
    conv_divide(c, cx);
    c->block = c->panels_n <= 8
                   ? 1 : 1 + 131072 / (c->taps * c->depth) / MICRO_ROWS;
    c->block = c->block < tiles ? c->block : tiles;
    c->scratch_bytes = (int64_t)round_up(
        (uint64_t)(c->block * 2 * (int64_t)sizeof(int64_t) +
                   c->block * c->taps * MICRO_ROWS *
                       (int64_t)sizeof(float *)), 64);
    c->scratch = arena_raw(cx->scratch, (size_t)seats,
                           (size_t)c->scratch_bytes);
    if (c->scratch == NULL)
        return fail_oom((size_t)(seats * c->scratch_bytes));
    return pool_for(cx->pool, (size_t)c->parts, conv_part, c);
}

/* ---- depthwise ----------------------------------------------------------- */

#define DEPTH_PLACES 8
#define DEPTH_WIDE 4 /* vectors of channels of a place that is alone */

/* Places of one row that have the same taps inside the image. */
typedef struct depth_run {
    const float *x, *w;      /* of the first place's first tap inside */
    int64_t n[CONV_AXES];    /* taps inside */
    int64_t dx[CONV_AXES], dw[CONV_AXES]; /* floats between taps */
    int64_t next, at;        /* to the next place; of the first one's result */
} depth_run;

/* Without the barrier compilers keep an address for each place of each tap,
 * most of them on the stack. */
#define STEP(p, by)                     \
    do {                                \
        (p) += (by);                    \
        __asm__("" : "+r"(p));          \
    } while (0)

/* p sums: of p places, or (wide) of p vectors of channels of one place. */
VEC_INLINE void depth_tap(int p, bool wide, const float *x, const float *w,
                          int64_t next, int64_t n, vec *s)
{
    vec weight = vec_take(w, n);

    VEC_UNROLL
    for (int i = 0; i < p; i++) {
        if (wide && i > 0)
            weight = vec_load(w + i * VEC_LANES);
        s[i] = vec_fma(vec_take(x + i * next, n), weight, s[i]);
    }
}

VEC_INLINE void depth_taps(int p, bool wide, const depth_run *d, int64_t ch,
                           int64_t n, vec *s)
{
    const float *plane = d->x + ch, *w_plane = d->w + ch;
    int64_t next = wide ? VEC_LANES : d->next;
    int64_t across = d->dx[2], w_across = d->dw[2];

    for (int64_t a = d->n[0]; a > 0; a--) {
        const float *x = plane, *w = w_plane;

        for (int64_t b = d->n[1]; b > 0; b--) {
            const float *xk = x, *wk = w;
            int64_t k = d->n[2];

            if (k == 3) {
                depth_tap(p, wide, xk, wk, next, n, s);
                STEP(xk, across);
                STEP(wk, w_across);
                depth_tap(p, wide, xk, wk, next, n, s);
                STEP(xk, across);
                STEP(wk, w_across);
                depth_tap(p, wide, xk, wk, next, n, s);
                k = 0;
            }
            for (; k > 0; k--) {
                depth_tap(p, wide, xk, wk, next, n, s);
                STEP(xk, across);
                STEP(wk, w_across);
            }
            x += d->dx[1];
            w += d->dw[1];
        }
        plane += d->dx[0];
        w_plane += d->dw[0];
    }
}

/* Channels [ch, ch + n) of p places, or (wide) p vectors of channels of one; p
 * and wide are constants after inlining. */
VEC_INLINE void depth_sums(int p, bool wide, const conv *c, const depth_run *d,
                           int64_t ch, int64_t n)
{
    float *y = c->y + d->at + ch;
    int64_t ld = wide ? VEC_LANES : c->ldc;
    vec s[DEPTH_PLACES], start = vec_set(0.0f);

    if (c->e.bias != NULL)
        start = vec_take(c->e.bias + ch, n);
    VEC_UNROLL
    for (int i = 0; i < p; i++)
        s[i] = wide && i > 0 && c->e.bias != NULL
                   ? vec_load(c->e.bias + ch + i * VEC_LANES) : start;
    depth_taps(p, wide, d, ch, n, s);
    if (c->e.residual != NULL) {
        const float *r = c->e.residual + d->at + ch;

        VEC_UNROLL
        for (int i = 0; i < p; i++)
            s[i] = vec_add(s[i], vec_take(r + i * ld, n));
    }
    if (epilogue_in_registers(p, &c->e, s)) {
        VEC_UNROLL
        for (int i = 0; i < p; i++)
            vec_put(y + i * ld, s[i], n);
        return;
    }
    VEC_UNROLL
    for (int i = 0; i < p; i++)
        vec_put(y + i * ld, s[i], n);
    for (int64_t i = 0; i < p; i++)
        vec_put(y + i * ld,
                       epilogue_apply(&c->e, vec_take(y + i * ld, n)), n);
}

VEC_INLINE void depth_places(int p, const conv *c, const depth_run *d,
                             int64_t c0, int64_t c1)
{
    for (; p == 1 && c0 + DEPTH_WIDE * VEC_LANES <= c1;
         c0 += DEPTH_WIDE * VEC_LANES)
        depth_sums(DEPTH_WIDE, true, c, d, c0, VEC_LANES);
    for (; c0 + VEC_LANES <= c1; c0 += VEC_LANES)
        depth_sums(p, false, c, d, c0, VEC_LANES);
    if (c0 < c1)
        depth_sums(p, false, c, d, c0, c1 - c0);
}

typedef void depth_fn(const conv *c, const depth_run *d, int64_t c0,
                      int64_t c1);
#define DEPTH_EACH(f) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8)
#define DEPTH_DEFINE(p)                                                       \
    static void depth_##p(const conv *c, const depth_run *d, int64_t c0,      \
                          int64_t c1)                                         \
    {                                                                         \
        depth_places(p, c, d, c0, c1);                                        \
    }
DEPTH_EACH(DEPTH_DEFINE)
#define NAME(p) depth_##p,
static depth_fn *const depth_fns[] = {NULL, DEPTH_EACH(NAME)};
#undef NAME

/* Taps [*first, end) of axis i are inside when tap 0 is at `at`: end. */
static int64_t taps_inside(const conv *c, int i, int64_t at, int64_t *first)
{
    int64_t d = c->dilation[i], end = c->in[i] - at;

    end = end <= 0 ? 0 : (end + d - 1) / d;
    end = end < c->kernel[i] ? end : c->kernel[i];
    *first = at >= 0 ? 0 : (d - 1 - at) / d;
    *first = *first < end ? *first : end;
    return end;
}

/* Places [from, to) of the row that begins at s. */
static void depth_row(const conv *c, const spot *s, int64_t row, int64_t from,
                      int64_t to, int64_t c0, int64_t c1)
{
    int64_t at[CONV_AXES] = {s->at[0], s->at[1],
                             from * c->stride[2] - c->before[2]};
    depth_run d = {.next = c->stride[2] * c->pixel,
                   .at = (row * c->out[2] + from) * c->ldc, .w = c->w};
    int64_t pixel = s->image, step = c->pixel, tap = c->pixel;

    for (int i = 0; i < CONV_AXES; i++) {
        int64_t first, end = taps_inside(c, i, at[i], &first);

        d.n[i] = end - first;
        if (d.n[i] == 0)
            first = 0;
        pixel = pixel * c->in[i] +
                (d.n[i] == 0 ? 0 : at[i] + first * c->dilation[i]);
        at[i] = first;
    }
    for (int i = CONV_AXES; i-- > 0;) {
        d.dx[i] = step * c->dilation[i];
        d.dw[i] = tap;
        d.w += at[i] * tap;
        step *= c->in[i];
        tap *= c->kernel[i];
    }
    d.x = c->x + pixel * c->pixel;
    for (int64_t n; from < to; from += n) {
        int64_t runs = (to - from + DEPTH_PLACES - 1) / DEPTH_PLACES;

        n = (to - from) / runs;
        depth_fns[n](c, &d, c0, c1);
        d.x += n * d.next;
        d.at += n * c->ldc;
    }
}

/* Rows of places, each in `block` pieces of the channels. */
static void depth_range(void *user, int64_t begin, int64_t end)
{
    const conv *c = user;
    int64_t reach = (c->kernel[2] - 1) * c->dilation[2], n = c->out[2];
    int64_t left = (c->before[2] + c->stride[2] - 1) / c->stride[2];
    int64_t right = c->in[2] - 1 - reach + c->before[2]; /* last one inside */

    right = right < 0 ? 0 : right / c->stride[2] + 1;
    left = left < n ? left : n;
    right = right < left ? left : right < n ? right : n;
    for (int64_t i = begin; i < end; i++) {
        int64_t row = i / c->block, piece = i % c->block;
        int64_t vecs = (c->pixel + VEC_LANES - 1) / VEC_LANES;
        int64_t c0 = vecs * piece / c->block * VEC_LANES;
        int64_t c1 = vecs * (piece + 1) / c->block * VEC_LANES;
        spot s = spot_of(c, row * n);

        c1 = c1 < c->pixel ? c1 : c->pixel;
        for (int64_t x = 0; x < left; x++)
            depth_row(c, &s, row, x, x + 1, c0, c1);
        if (left < right)
            depth_row(c, &s, row, left, right, c0, c1);
        for (int64_t x = right; x < n; x++)
            depth_row(c, &s, row, x, x + 1, c0, c1);
    }
}

static void depthwise(conv *c, eval_ctx *cx)
{
    int64_t rows = c->places / c->out[2], few = 4 * pool_threads(cx->pool);

    c->block = rows >= few ? 1 : (few + rows - 1) / rows;
    cpu_parallel(cx, rows * c->block, 1,
                 (double)(c->taps * c->pixel * c->out[2]) * 0.03 /
                     (double)c->block, depth_range, c);
}

hull_status VEC_NAME(cpu_conv)(eval_ctx *cx, const node *n, const tensor *in,
                               tensor *out)
{
    conv c;

    TRY(conv_open(&c, n, in, out));
    if (c.places == 0)
        return HULL_OK;
    if (in[1].rank == 2) {
        depthwise(&c, cx);
        return HULL_OK;
    }
    c.in_order = true;
    for (int i = 0; i < CONV_AXES; i++)
        c.in_order = c.in_order && c.kernel[i] == 1 && c.stride[i] == 1 &&
                     c.in[i] == c.out[i];
    if (c.in_order && c.groups == 1 &&
        (c.channels >= DEEP_CHANNELS || c.places <= MICRO_ROWS))
        return VEC_NAME(gemm_run)(cx, c.places, c.columns, c.channels, c.x,
                                  c.w, c.y, &c.e);
    return conv_dense(&c, cx);
}
