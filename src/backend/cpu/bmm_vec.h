/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * bmm_vec.h - the op matmul as it stands: both operands of the run, or weights
 * that no panel was made of. A unit of work is one panel of columns of one
 * product of the batch: it is packed once and meets all rows of a, which are
 * read where they lie, or a part of them when there are fewer units than
 * threads. Few rows or columns need no panel: up to 4 rows at a time against
 * rows of b, or against columns by dot products.
 */
#include "backend/cpu/products.h"
#include "backend/cpu/transpose.h"

#include <string.h>

#define PACKED(r)                                \
    static void micro_packed_##r(const micro *m) \
    {                                            \
        micro_run(r, 2, MICRO_PACKED, m);           \
    }
MICRO_EACH(PACKED)
#undef PACKED
#define NAME(r) micro_packed_##r,
static micro_fn *const packed_tiles[] = {NULL, MICRO_EACH(NAME)};
#undef NAME

#define BMM_DEEP 768 /* rows of a panel at a time */
#define BMM_FEW 4

typedef struct bmm {
    product_plan p;
    const float *a, *b, *bias;
    float *out;
    int64_t row_step, depth_step; /* of a, in elements */
    bool few;
    int64_t items, panels, splits; /* units: their product */
    int64_t parts;
    float *scratch;
    int64_t scratch_n;
} bmm;

/* One product of the batch. */
typedef struct matrices {
    const float *a, *b, *bias;
    float *out;
} matrices;

static matrices matrices_at(const bmm *x, int64_t item)
{
    const product_plan *p = &x->p;
    matrices m = {x->a, x->b, x->bias, x->out + item * p->m * p->n};

    for (uint32_t i = p->batch_rank; i-- > 0;) {
        int64_t at = item % p->batch[i];

        item /= p->batch[i];
        m.a += at * p->stride_a[i];
        m.b += at * p->stride_b[i];
        if (m.bias != NULL)
            m.bias += at * p->stride_bias[i];
    }
    return m;
}

static void add_bias(const bmm *x, const matrices *m, int64_t row, int64_t r,
                     int64_t column, int64_t width)
{
    for (int64_t i = 0; m->bias != NULL && i < r; i++) {
        const float *bias = m->bias + (row + i) * x->p.bias_m +
                            column * x->p.bias_n;
        float *c = m->out + (row + i) * x->p.n + column;

        for (int64_t j = 0; j < width; j += VEC_LANES) {
            int64_t w = width - j < VEC_LANES ? width - j : VEC_LANES;
            vec b = x->p.bias_n == 0 ? vec_set(bias[0])
                                     : vec_load_some(bias + j, w);

            vec_store_some(c + j, vec_add(vec_load_some(c + j, w), b), w);
        }
    }
}

/* ---- few rows or columns ------------------------------------------------- */

/* r rows of a times n vectors of columns of b [k, n], the last of `some`
 * lanes; r, n and `whole` are constant after inlining. */
VEC_INLINE void direct_tile(int r, int n, bool whole, const bmm *x,
                            const float *a, const float *b, float *c,
                            int64_t some)
{
    vec s[BMM_FEW][2];

    VEC_UNROLL
    for (int i = 0; i < r; i++) {
        VEC_UNROLL
        for (int j = 0; j < n; j++)
            s[i][j] = vec_set(0.0f);
    }
    for (int64_t k = 0; k < x->p.k; k++, b += x->p.n, a += x->depth_step) {
        vec w[2];

        VEC_UNROLL
        for (int j = 0; j < n; j++)
            w[j] = whole ? vec_load(b + j * VEC_LANES)
                         : vec_load_some(b, some);
        VEC_UNROLL
        for (int i = 0; i < r; i++) {
            vec v = vec_set(a[i * x->row_step]);

            VEC_UNROLL
            for (int j = 0; j < n; j++)
                s[i][j] = vec_fma(v, w[j], s[i][j]);
        }
    }
    VEC_UNROLL
    for (int i = 0; i < r; i++) {
        VEC_UNROLL
        for (int j = 0; j < n; j++) {
            if (whole)
                vec_store(c + i * x->p.n + j * VEC_LANES, s[i][j]);
            else
                vec_store_some(c + i * x->p.n, s[i][j], some);
        }
    }
}

/* Columns [c0, c1) of r rows. */
VEC_INLINE void direct_rows(int r, const bmm *x, const float *a, const float *b,
                            float *c, int64_t c0, int64_t c1)
{
    for (; c0 + 2 * VEC_LANES <= c1; c0 += 2 * VEC_LANES)
        direct_tile(r, 2, true, x, a, b + c0, c + c0, 0);
    for (; c0 + VEC_LANES <= c1; c0 += VEC_LANES)
        direct_tile(r, 1, true, x, a, b + c0, c + c0, 0);
    if (c0 < c1)
        direct_tile(r, 1, false, x, a, b + c0, c + c0, c1 - c0);
}

/* A row of a times n rows of b [n, k]. */
VEC_INLINE void direct_dots(int n, int64_t depth, const float *a,
                            const float *b, float *c)
{
    vec s[4];

    VEC_UNROLL
    for (int j = 0; j < n; j++)
        s[j] = vec_set(0.0f);
    for (int64_t k = 0; k < depth; k += VEC_LANES) {
        int64_t w = depth - k;
        vec v = w >= VEC_LANES ? vec_load(a + k) : vec_load_some(a + k, w);

        VEC_UNROLL
        for (int j = 0; j < n; j++)
            s[j] = vec_fma(v, w >= VEC_LANES
                                  ? vec_load(b + j * depth + k)
                                  : vec_load_some(b + j * depth + k, w), s[j]);
    }
    VEC_UNROLL
    for (int j = 0; j < n; j++)
        c[j] = vec_sum(s[j]);
}

/* Rows [m0, m1), columns [c0, c1). */
static void direct(const bmm *x, const matrices *m, int64_t m0, int64_t m1,
                   int64_t c0, int64_t c1)
{
    int64_t i = m0, n = x->p.n, k = x->p.k;

    for (; !x->p.trans_b && i + BMM_FEW <= m1; i += BMM_FEW)
        direct_rows(BMM_FEW, x, m->a + i * x->row_step, m->b, m->out + i * n,
                    c0, c1);
    for (; i < m1; i++) {
        int64_t j = c0;

        if (!x->p.trans_b) {
            direct_rows(1, x, m->a + i * x->row_step, m->b, m->out + i * n, c0,
                        c1);
            continue;
        }
        for (; j + 4 <= c1; j += 4)
            direct_dots(4, k, m->a + i * k, m->b + j * k, m->out + i * n + j);
        for (; j < c1; j++)
            direct_dots(1, k, m->a + i * k, m->b + j * k, m->out + i * n + j);
    }
    add_bias(x, m, m0, m1 - m0, c0, c1 - c0);
}

/* ---- panels -------------------------------------------------------------- */

/* Columns of b from c0 on, rows [k0, k0 + depth), as a panel. */
static void pack_panel(const bmm *x, const float *b, int64_t c0, int64_t k0,
                       int64_t depth, float *panel)
{
    int64_t width = x->p.n - c0 < MICRO_COLS ? x->p.n - c0 : MICRO_COLS;

    if (x->p.trans_b) {
        rows_to_panel(b + c0 * x->p.k + k0, x->p.k, width, depth, 1.0f, panel);
        return;
    }
    b += k0 * x->p.n + c0;
    for (int64_t k = 0; k < depth; k++, b += x->p.n, panel += MICRO_COLS) {
        for (int64_t c = 0; c < MICRO_COLS; c += VEC_LANES) {
            int64_t w = width - c;

            vec_store(panel + c, w >= VEC_LANES ? vec_load(b + c)
                                 : w > 0        ? vec_load_some(b + c, w)
                                                : vec_set(0.0f));
        }
    }
}

/* A tile of r rows; the panel holds rows [k0, k0 + depth) of b. */
static void panel_tile(const bmm *x, const matrices *m, micro *t, int64_t row,
                       int64_t r, int64_t c0, int64_t k0, float *packed,
                       float *side)
{
    int64_t n = x->p.n, width = n - c0 < MICRO_COLS ? n - c0 : MICRO_COLS;
    const float *rows[MICRO_ROWS];
    const float *a = m->a + row * x->row_step + k0 * x->depth_step;
    float *c = m->out + row * n + c0;

    t->c = width < MICRO_COLS ? side : c;
    t->ldc = t->ld_start = width < MICRO_COLS ? MICRO_COLS : n;
    t->start = k0 > 0 ? t->c : NULL;
    for (int64_t i = 0; width < MICRO_COLS && k0 > 0 && i < r; i++)
        memcpy(side + i * MICRO_COLS, c + i * n, (size_t)width * sizeof *c);
    if (x->p.trans_a) {
        for (int64_t k = 0; k < t->depth; k++)
            memcpy(packed + k * r, a + k * x->depth_step,
                   (size_t)r * sizeof *a);
        t->packed = packed;
        packed_tiles[r](t);
    } else {
        for (int64_t i = 0; i < r; i++)
            rows[i] = a + i * x->row_step;
        t->rows = rows;
        VEC_NAME(pointer_tiles)[r](t);
    }
    for (int64_t i = 0; width < MICRO_COLS && i < r; i++)
        memcpy(c + i * n, side + i * MICRO_COLS, (size_t)width * sizeof *c);
    if (k0 + t->depth == x->p.k)
        add_bias(x, m, row, r, c0, width);
}

/* Rows [m0, m1) of one panel of columns. */
static void panel_unit(const bmm *x, const matrices *m, int64_t m0, int64_t m1,
                       int64_t c0, float *memory)
{
    float *packed = memory + BMM_DEEP * MICRO_COLS;
    float *side = packed + BMM_DEEP * MICRO_ROWS;
    int64_t n = m1 - m0, tiles = (n + MICRO_ROWS - 1) / MICRO_ROWS, k0 = 0;

    do {
        micro t = {.taps = 1, .panel = memory};

        t.depth = x->p.k - k0 < BMM_DEEP ? x->p.k - k0 : BMM_DEEP;
        pack_panel(x, m->b, c0, k0, t.depth, memory);
        for (int64_t i = 0; i < tiles; i++) {
            int64_t from = n * i / tiles, to = n * (i + 1) / tiles;

            t.ahead = (const char *)(m->a + (m0 + to) * x->row_step +
                                     k0 * x->depth_step);
            panel_tile(x, m, &t, m0 + from, to - from, c0, k0, packed, side);
        }
        k0 += t.depth;
    } while (k0 < x->p.k);
}

static hull_status bmm_part(void *user, size_t part)
{
    const bmm *x = user;
    int64_t all = x->items * x->panels * x->splits, i = (int64_t)part;
    int64_t at = all * i / x->parts, end = all * (i + 1) / x->parts;

    for (; at < end; at++) {
        int64_t piece = at % x->splits, c0 = at / x->splits % x->panels;
        int64_t m0 = x->p.m * piece / x->splits;
        int64_t m1 = x->p.m * (piece + 1) / x->splits, c1;
        matrices m = matrices_at(x, at / x->splits / x->panels);

        c1 = x->p.n * (c0 + 1) / x->panels;
        if (x->few)
            direct(x, &m, m0, m1, x->p.n * c0 / x->panels, c1);
        else
            panel_unit(x, &m, m0, m1, c0 * MICRO_COLS,
                       x->scratch + i * x->scratch_n);
    }
    return HULL_OK;
}

/* One b for the whole batch and rows of a in order: one product. */
static void join_batch(product_plan *p)
{
    int64_t rows = p->m;

    if (p->trans_a)
        return;
    for (uint32_t i = p->batch_rank; i-- > 0; rows *= p->batch[i])
        if (p->batch[i] != 1 &&
            (p->stride_b[i] != 0 || p->stride_a[i] != rows * p->k ||
             (p->bias != NULL &&
              p->stride_bias[i] != (p->bias_m == 0 ? 0 : rows * p->bias_m))))
            return;
    p->m = rows;
    p->batch_rank = 0;
}

static void divide(bmm *x, int64_t threads)
{
    double work = 2.0 * (double)x->items * (double)x->p.m * (double)x->p.n *
                  (double)(x->p.k + 1);
    int64_t units, rows = x->few ? BMM_FEW : MICRO_ROWS;

    x->panels = (x->p.n + MICRO_COLS - 1) / MICRO_COLS;
    if (x->few) /* columns of a unit: enough to stream, few for a batch */
        x->panels = x->items >= 4 * threads || x->p.n < 8 * MICRO_COLS
                        ? 1 : x->p.n / (4 * MICRO_COLS);
    x->splits = 1;
    units = x->items * x->panels;
    if (threads > 1 && units < 2 * threads && x->p.m >= 2 * rows) {
        x->splits = (2 * threads + units - 1) / units;
        x->splits = x->splits < x->p.m / rows ? x->splits : x->p.m / rows;
    }
    units *= x->splits;
    x->parts = work < 3e5 || threads < 2 ? 1 : 4 * threads;
    x->parts = x->parts < units ? x->parts : units;
}

hull_status VEC_NAME(cpu_bmm)(eval_ctx *cx, const node *n, const tensor *in,
                              tensor *out)
{
    bmm x = {.a = in[0].data, .b = in[1].data, .out = out->data, .items = 1};

    TRY(product_plan_get(&x.p, n, in, out));
    if (tensor_numel(out) == 0)
        return HULL_OK;
    x.bias = x.p.bias != NULL ? x.p.bias->data : NULL;
    join_batch(&x.p);
    for (uint32_t i = 0; i < x.p.batch_rank; i++)
        x.items *= x.p.batch[i];
    x.row_step = x.p.trans_a ? 1 : x.p.k;
    x.depth_step = x.p.trans_a ? x.p.m : 1;
    x.few = x.p.trans_b ? x.p.m <= BMM_FEW && !x.p.trans_a
                        : x.p.m <= BMM_FEW || x.p.n <= VEC_LANES;
    divide(&x, pool_threads(cx->pool));
    x.scratch_n = x.few ? 0
                        : BMM_DEEP * (MICRO_COLS + MICRO_ROWS) +
                              MICRO_ROWS * MICRO_COLS;
    x.scratch = arena_array(cx->scratch, (size_t)(x.scratch_n * x.parts) + 1,
                            sizeof *x.scratch);
    if (x.scratch == NULL)
        return fail_oom((size_t)(x.scratch_n * x.parts) * sizeof *x.scratch);
    return pool_for(cx->pool, (size_t)x.parts, bmm_part, &x);
}
