/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * move_vec.h - moving elements of any dtype of whole bytes: slice, concat,
 * expand, pad, gather as runs of memory, and transpose in tiles of registers.
 * A transpose is seen as x [outer.., a, j..] -> y [.., a], where a is the
 * last axis of y: rows of a become columns wherever the axes j go. Two to four
 * such rows are woven into each other.
 */
#include "backend/cpu/cpu.h"
#include "backend/cpu/tiles.h"
#include "ops/data.h"

#include <string.h>

/* memcpy without its price for what is short. */
VEC_INLINE void move_bytes(char *to, const char *from, int64_t n)
{
    int64_t i = 0;

    if (n < 32 || n > 1024) {
        memcpy(to, from, (size_t)n);
        return;
    }
    for (; i + 32 <= n; i += 32)
        _mm256_storeu_si256((__m256i *)(void *)(to + i),
            _mm256_loadu_si256((const __m256i *)(const void *)(from + i)));
    if (i < n)
        _mm256_storeu_si256((__m256i *)(void *)(to + n - 32),
            _mm256_loadu_si256((const __m256i *)(const void *)(from + n - 32)));
}

/* Nanoseconds for a number of bytes. */
static double move_cost(int64_t n)
{
    return 1 + 0.1 * (double)n;
}

/* ---- strided copies ------------------------------------------------------ */

/* Elements of `width` bytes, strides in bytes. */
typedef struct moves {
    uint32_t rank;
    int64_t width;
    int64_t shape[HULL_MAX_RANK];
    int64_t to[HULL_MAX_RANK], from[HULL_MAX_RANK];
    char *dst;
    const char *src;
} moves;

static void moves_drop(moves *m, uint32_t axis)
{
    for (m->rank--; axis < m->rank; axis++) {
        m->shape[axis] = m->shape[axis + 1];
        m->to[axis] = m->to[axis + 1];
        m->from[axis] = m->from[axis + 1];
    }
}

/* Fewest axes, widest elements. */
static void moves_join(moves *m)
{
    for (uint32_t i = m->rank; i-- > 0;)
        if (m->shape[i] == 1)
            moves_drop(m, i);
    for (uint32_t i = m->rank; i-- > 1;) {
        if (m->to[i - 1] != m->to[i] * m->shape[i] ||
            m->from[i - 1] != m->from[i] * m->shape[i])
            continue;
        m->shape[i] *= m->shape[i - 1];
        moves_drop(m, i - 1);
    }
    if (m->rank > 1 && m->to[m->rank - 1] == m->width &&
        m->from[m->rank - 1] == m->width) {
        m->rank--;
        m->width *= m->shape[m->rank];
    }
    if (m->rank == 0) {
        m->rank = 1;
        m->shape[0] = 1;
        m->to[0] = m->from[0] = m->width;
    }
}

#define MOVE_LINE(t)                                  \
    for (int64_t i = 0; i < n; i++) {                 \
        t v;                                          \
                                                      \
        memcpy(&v, src + i * from, sizeof v);         \
        memcpy(dst + i * to, &v, sizeof v);           \
    }
#define FILL_LINE(t)                                  \
    do {                                              \
        t v;                                          \
                                                      \
        memcpy(&v, src, sizeof v);                    \
        for (int64_t i = 0; i < n; i++)               \
            memcpy(dst + i * (int64_t)sizeof v, &v, sizeof v); \
    } while (0)

/* n times the element at src, one after the other. */
static void fill_line(char *dst, const char *src, int64_t n, int64_t width)
{
    switch (width) {
    case 1: memset(dst, *src, (size_t)n); break;
    case 2: FILL_LINE(uint16_t); break;
    case 4: FILL_LINE(uint32_t); break;
    case 8: FILL_LINE(uint64_t); break;
    default:
        for (int64_t i = 0; i < n; i++)
            move_bytes(dst + i * width, src, width);
    }
}

static void move_line(char *dst, const char *src, int64_t n, int64_t to,
                      int64_t from, int64_t width)
{
    if (to == width && from == width)
        memcpy(dst, src, (size_t)(n * width));
    else if (to == width && from == 0)
        fill_line(dst, src, n, width);
    else if (width == 1)
        MOVE_LINE(uint8_t)
    else if (width == 2)
        MOVE_LINE(uint16_t)
    else if (width == 4)
        MOVE_LINE(uint32_t)
    else if (width == 8)
        MOVE_LINE(uint64_t)
    else
        for (int64_t i = 0; i < n; i++)
            move_bytes(dst + i * to, src + i * from, width);
}

static void moves_part(void *user, int64_t begin, int64_t end)
{
    const moves *m = user;
    int64_t index[HULL_MAX_RANK], left = begin;
    uint32_t last = m->rank - 1;

    for (uint32_t i = m->rank; i-- > 0;) {
        index[i] = left % m->shape[i];
        left /= m->shape[i];
    }
    while (begin < end) {
        int64_t n = m->shape[last] - index[last], at = 0, from = 0;

        n = n < end - begin ? n : end - begin;
        for (uint32_t i = 0; i < m->rank; i++) {
            at += index[i] * m->to[i];
            from += index[i] * m->from[i];
        }
        move_line(m->dst + at, m->src + from, n, m->to[last], m->from[last],
                  m->width);
        begin += n;
        index[last] = 0;
        index_next(index, m->shape, last);
    }
}

static void moves_run(eval_ctx *cx, moves *m)
{
    int64_t n;

    moves_join(m);
    if (m->rank == 1 && m->to[0] == m->width && m->from[0] == m->width) {
        m->shape[0] *= m->width; /* one run: bytes, for the threads */
        m->width = m->to[0] = m->from[0] = 1;
    }
    n = data_product(m->shape, 0, m->rank);
    cpu_parallel(cx, n, 1 + 4096 / m->width, move_cost(m->width), moves_part,
                 m);
}

static void move_sides(eval_ctx *cx, hull_dtype dt, const int64_t *sizes,
                       uint32_t rank, const side *dst, const side *src)
{
    moves m = {.rank = rank, .width = hull_dtype_bits(dt) / 8};

    m.dst = (char *)dst->p + dst->off * m.width;
    m.src = (const char *)src->p + src->off * m.width;
    for (uint32_t i = 0; i < rank; i++) {
        if (sizes[i] == 0)
            return;
        m.shape[i] = sizes[i];
        m.to[i] = dst->strides[i] * m.width;
        m.from[i] = src->strides[i] * m.width;
    }
    moves_run(cx, &m);
}

hull_status VEC_NAME(cpu_slice)(eval_ctx *cx, const node *n, const tensor *in,
                                tensor *out)
{
    side src, dst = data_side(out);
    int64_t sizes[HULL_MAX_RANK];

    TRY(slice_side(&src, sizes, cx, n, in));
    TRY(data_want_shape(n, out, sizes, in->rank));
    move_sides(cx, in->dtype, sizes, in->rank, &dst, &src);
    return HULL_OK;
}

hull_status VEC_NAME(cpu_expand)(eval_ctx *cx, const node *n, const tensor *in,
                                 tensor *out)
{
    side src = {.p = in->data}, dst = data_side(out);
    uint32_t skip = out->rank - in->rank;

    for (uint32_t i = 0; i < in->rank; i++)
        if (in->shape[i] != 1 && in->shape[i] != out->shape[skip + i])
            return view_eval(cx, n, in, out); /* which refuses it */
    tensor_broadcast_strides(in, out->shape, out->rank, src.strides);
    move_sides(cx, in->dtype, out->shape, out->rank, &dst, &src);
    return HULL_OK;
}

hull_status VEC_NAME(cpu_concat)(eval_ctx *cx, const node *n, const tensor *in,
                                 tensor *out)
{
    int64_t sizes[HULL_MAX_RANK], at = 0, all = 0;
    side dst = data_side(out);
    uint32_t axis;

    TRY(infer_axis(&axis, n, attr_int(n, "axis"), out->rank));
    memcpy(sizes, in[0].shape, sizeof sizes);
    for (uint32_t k = 0; k < n->n_in; k++)
        all += in[k].shape[axis];
    sizes[axis] = all;
    TRY(data_want_shape(n, out, sizes, in[0].rank));
    for (uint32_t k = 0; k < n->n_in; k++) {
        side src = data_side(&in[k]);

        sizes[axis] = in[k].shape[axis];
        TRY(data_want_shape(n, &in[k], sizes, out->rank));
        dst.off = at * dst.strides[axis];
        move_sides(cx, out->dtype, sizes, out->rank, &dst, &src);
        at += sizes[axis];
    }
    return HULL_OK;
}

/* ---- pad ----------------------------------------------------------------- */

/* Trailing axes without pads are one element of `width` bytes. */
typedef struct padding {
    uint32_t rank;
    int64_t width, unit;
    int64_t in[HULL_MAX_RANK], out[HULL_MAX_RANK], begin[HULL_MAX_RANK];
    const char *src;
    char *dst;
    char value[16]; /* `unit` bytes */
} padding;

static void pad_fill(const padding *p, char *dst, int64_t n)
{
    if (n > 0)
        fill_line(dst, p->value, n * (p->width / p->unit), p->unit);
}

/* Elements [from, to) of one row, which begins at dst. */
static void pad_row(const padding *p, char *dst, const char *src, int64_t from,
                    int64_t to)
{
    uint32_t last = p->rank - 1;
    int64_t begin = p->begin[last], low = begin > 0 ? begin : 0;
    int64_t high = begin + p->in[last];

    low = src == NULL || low > to ? to : low < from ? from : low;
    high = high < low ? low : high > to ? to : high;
    pad_fill(p, dst + from * p->width, low - from);
    if (high > low)
        memcpy(dst + low * p->width, src + (low - begin) * p->width,
               (size_t)((high - low) * p->width));
    pad_fill(p, dst + high * p->width, to - high);
}

static void pad_part(void *user, int64_t begin, int64_t end)
{
    const padding *p = user;
    int64_t index[HULL_MAX_RANK], left = begin;
    uint32_t last = p->rank - 1;

    for (uint32_t i = p->rank; i-- > 0;) {
        index[i] = left % p->out[i];
        left /= p->out[i];
    }
    while (begin < end) {
        int64_t from = index[last], to = p->out[last], row = 0;
        bool inside = true;

        to = to - from < end - begin ? to : from + end - begin;
        for (uint32_t i = 0; i < last; i++) {
            int64_t k = index[i] - p->begin[i];

            inside = inside && k >= 0 && k < p->in[i];
            row = row * p->in[i] + k;
        }
        pad_row(p, p->dst + (begin - from) * p->width,
                inside ? p->src + row * p->in[last] * p->width : NULL, from,
                to);
        begin += to - from;
        index[last] = 0;
        index_next(index, p->out, last);
    }
}

hull_status VEC_NAME(cpu_pad)(eval_ctx *cx, const node *n, const tensor *in,
                              tensor *out)
{
    padding p = {.rank = in->rank, .src = in->data, .dst = out->data};
    tensor fill = {.dtype = out->dtype, .data = p.value};
    int64_t count = 1;

    TRY(pad_sizes(cx, n, in, out, p.begin));
    if (tensor_numel(out) == 0)
        return HULL_OK;
    p.width = p.unit = hull_dtype_bits(out->dtype) / 8;
    if (node_has(n, 1))
        memcpy(p.value, in[1].data, (size_t)p.unit);
    else
        pad_put(n, &fill, 0);
    for (uint32_t i = 0; i < p.rank; i++) {
        p.in[i] = in->shape[i];
        p.out[i] = out->shape[i];
    }
    for (; p.rank > 1 && p.begin[p.rank - 1] == 0 &&
           p.in[p.rank - 1] == p.out[p.rank - 1]; p.rank--)
        p.width *= p.out[p.rank - 1];
    if (p.rank == 0) {
        memcpy(out->data, in->data, (size_t)p.width);
        return HULL_OK;
    }
    for (uint32_t i = 0; i < p.rank; i++)
        count *= p.out[i];
    cpu_parallel(cx, count, 1 + 4096 / p.width, move_cost(p.width), pad_part,
                 &p);
    return HULL_OK;
}

/* ---- gather -------------------------------------------------------------- */

typedef struct taking {
    const int64_t *index;
    int64_t count, size, width; /* indices, elements they choose from, bytes */
    const char *src;
    char *dst;
} taking;

static void take_part(void *user, int64_t begin, int64_t end)
{
    const taking *t = user;
    int64_t o = begin / t->count, i = begin % t->count;

    for (; begin < end; begin++) {
        const char *from = t->src + (o * t->size + t->index[i]) * t->width;
        char *to = t->dst + begin * t->width;

        if (t->width == 4)
            memcpy(to, from, 4);
        else if (t->width == 8)
            memcpy(to, from, 8);
        else
            memcpy(to, from, (size_t)t->width);
        if (++i == t->count) {
            i = 0;
            o++;
        }
    }
}

hull_status VEC_NAME(cpu_gather)(eval_ctx *cx, const node *n, const tensor *in,
                                 tensor *out)
{
    taking t = {.src = in[0].data, .dst = out->data};
    int64_t outer, inner, *index;
    uint32_t axis;

    TRY(infer_axis(&axis, n, attr_int(n, "axis"), in[0].rank));
    t.size = in[0].shape[axis];
    t.count = tensor_numel(&in[1]);
    outer = data_product(in[0].shape, 0, axis);
    inner = data_product(in[0].shape, axis + 1, in[0].rank);
    if (inner == 0 || t.count == 0)
        outer = 0;
    TRY(data_want_numel(n, out, outer * t.count * inner));
    index = arena_array(cx->scratch, (size_t)t.count + 1, sizeof *index);
    if (index == NULL)
        return fail_oom((size_t)t.count * sizeof *index);
    for (int64_t i = 0; i < t.count; i++)
        TRY(data_index(&index[i], n, &in[1], i, t.size));
    t.index = index;
    t.width = inner * (hull_dtype_bits(out->dtype) / 8);
    cpu_parallel(cx, outer * t.count, 16, move_cost(t.width), take_part, &t);
    return HULL_OK;
}

/* ---- transpose ----------------------------------------------------------- */

#define COLUMNS_MAX 64 /* of one piece of work: a line of bytes */

typedef struct transposing {
    int64_t width;              /* bytes of an element */
    uint32_t n_outer, n_j;
    int64_t outer[HULL_MAX_RANK], outer_to[HULL_MAX_RANK]; /* sizes; bytes */
    int64_t j[HULL_MAX_RANK], j_to[HULL_MAX_RANK];
    int64_t a, columns;         /* sizes of a and of all j */
    int64_t piece, pieces;      /* columns at a time */
    const char *src;
    char *dst;
} transposing;

/* Rows [a0, a1) of columns [c0, c1), an element at a time. */
static void transpose_rest(const transposing *t, const char *src, char *dst,
                           const int64_t *to, int64_t a0, int64_t a1,
                           int64_t c0, int64_t c1)
{
    int64_t ld = t->columns * t->width, w = t->width;

    for (int64_t c = c0; c < c1; c++) {
        const char *from = src + a0 * ld + c * w;
        char *at = dst + to[c] + a0 * w;

        move_line(at, from, a1 - a0, w, ld, w);
    }
}

/* Columns of one piece: all rows, in tiles of 8 x 8. */
static void transpose_piece(const transposing *t, const char *src, char *dst,
                            const int64_t *to, int64_t n)
{
    int64_t ld = t->columns * t->width, a = 0;
    tile_fn *tile = tile_of(t->width);

    if (tile == NULL) { /* wide: rows that stay in the TLB */
        for (; a < t->a; a += 64)
            transpose_rest(t, src, dst, to, a, a + 64 < t->a ? a + 64 : t->a,
                           0, n);
        return;
    }
    /* as many rows as fill a line of y: it is written once */
    for (int64_t rows = 64 / t->width; rows >= 8; rows = rows > 8 ? 8 : 0) {
        for (; a + rows <= t->a; a += rows) {
            int64_t c = 0;

            for (; c + 8 <= n; c += 8)
                for (int64_t r = a; r < a + rows; r += 8)
                    tile(src + r * ld + c * t->width, ld, dst + r * t->width,
                         to + c);
            if (c < n)
                transpose_rest(t, src, dst, to, a, a + rows, c, n);
        }
    }
    if (a < t->a)
        transpose_rest(t, src, dst, to, a, t->a, 0, n);
}

/* ---- few rows: the planes of an image become pixels ---------------------- */

#define FEW_ROWS 4
#define FEW_PIECE 1024 /* columns at a time */

/* n columns of `a` rows, one column after the other; a is constant after
 * inlining. */
VEC_INLINE void interleave(int a, const float *src, int64_t ld, float *dst,
                           int64_t n)
{
    int32_t lane[FEW_ROWS][VEC_LANES];
    float row[FEW_ROWS][VEC_LANES];
    int64_t c = 0;

    for (int i = 0; i < a * VEC_LANES; i++) {
        lane[i / VEC_LANES][i % VEC_LANES] = i / a;
        row[i / VEC_LANES][i % VEC_LANES] = (float)(i % a);
    }
    for (; c + VEC_LANES <= n; c += VEC_LANES) {
        vec x[FEW_ROWS];

        VEC_UNROLL
        for (int r = 0; r < a; r++)
            x[r] = vec_load(src + r * ld + c);
        VEC_UNROLL
        for (int j = 0; j < a; j++) {
            vec of = vec_load(row[j]), y = vec_permute(x[a - 1], lane[j]);

            VEC_UNROLL
            for (int r = a - 1; r-- > 0;)
                y = vec_pick(vec_lt(of, vec_set((float)r + 0.5f)),
                             vec_permute(x[r], lane[j]), y);
            vec_store(dst + c * a + j * VEC_LANES, y);
        }
    }
    for (; c < n; c++)
        for (int r = 0; r < a; r++)
            dst[c * a + r] = src[r * ld + c];
}

static void interleave_part(void *user, int64_t begin, int64_t end)
{
    const transposing *t = user;

    for (; begin < end; begin++) {
        int64_t o = begin / t->pieces, c0 = begin % t->pieces * t->piece;
        int64_t n = t->columns - c0 < t->piece ? t->columns - c0 : t->piece;
        const float *src = (const float *)(const void *)t->src +
                           o * t->a * t->columns + c0;
        float *dst = (float *)(void *)t->dst + (o * t->columns + c0) * t->a;

        if (t->a == 2)
            interleave(2, src, t->columns, dst, n);
        else if (t->a == 3)
            interleave(3, src, t->columns, dst, n);
        else
            interleave(4, src, t->columns, dst, n);
    }
}

/* [.., a, columns] -> [.., columns, a] of few rows. */
static bool is_interleaving(const transposing *t)
{
    int64_t step = t->a * t->columns * t->width;

    for (uint32_t i = t->n_outer; i-- > 0; step *= t->outer[i])
        if (t->outer_to[i] != step)
            return false;
    return t->width == 4 && t->a >= 2 && t->a <= FEW_ROWS && t->n_j == 1 &&
           t->j_to[0] == t->a * t->width;
}

/* Where in y columns [c0, c0 + n) begin. */
static void transpose_columns(const transposing *t, int64_t c0, int64_t n,
                              int64_t *to)
{
    int64_t index[HULL_MAX_RANK], left = c0, at = 0;
    uint32_t last = t->n_j - 1;

    for (uint32_t i = t->n_j; i-- > 0;) {
        index[i] = left % t->j[i];
        left /= t->j[i];
        at += index[i] * t->j_to[i];
    }
    for (int64_t c = 0; c < n; c++) {
        to[c] = at;
        at += t->j_to[last];
        if (++index[last] < t->j[last])
            continue;
        index[last]--;
        index_next(index, t->j, t->n_j);
        at = 0;
        for (uint32_t i = 0; i < t->n_j; i++)
            at += index[i] * t->j_to[i];
    }
}

static void transpose_part(void *user, int64_t begin, int64_t end)
{
    const transposing *t = user;

    for (; begin < end; begin++) {
        int64_t o = begin / t->pieces, c0 = begin % t->pieces * t->piece;
        int64_t n = t->columns - c0 < t->piece ? t->columns - c0 : t->piece;
        int64_t left = o, at = 0, to[COLUMNS_MAX];

        for (uint32_t i = t->n_outer; i-- > 0;) {
            at += left % t->outer[i] * t->outer_to[i];
            left /= t->outer[i];
        }
        transpose_columns(t, c0, n, to);
        transpose_piece(t, t->src + (o * t->a * t->columns + c0) * t->width,
                        t->dst + at, to, n);
    }
}

/* x in the order of its axes, with the place of each step in y. */
static bool transpose_view(moves *m, const node *n, const tensor *x,
                           const tensor *y)
{
    const int64_t *perm = node_attr(n, "perm")->u.ints.p;
    side from = data_side(x), to = data_side(y);

    *m = (moves){.rank = x->rank, .width = hull_dtype_bits(x->dtype) / 8};
    m->src = x->data;
    m->dst = y->data;
    for (uint32_t i = 0; i < x->rank; i++) {
        m->shape[perm[i]] = x->shape[perm[i]];
        m->from[perm[i]] = from.strides[perm[i]] * m->width;
        m->to[perm[i]] = to.strides[i] * m->width;
        if (x->shape[perm[i]] == 0)
            return false;
    }
    moves_join(m);
    return true;
}

hull_status VEC_NAME(cpu_transpose)(eval_ctx *cx, const node *n,
                                    const tensor *in, tensor *out)
{
    const int64_t *perm = node_attr(n, "perm")->u.ints.p;
    int64_t sizes[HULL_MAX_RANK], outer = 1;
    transposing t = {.columns = 1};
    uint32_t a = 0;
    bool few;
    moves m;

    for (uint32_t i = 0; i < in->rank; i++)
        sizes[i] = in->shape[perm[i]];
    TRY(data_want_shape(n, out, sizes, in->rank));
    if (!transpose_view(&m, n, in, out))
        return HULL_OK;
    while (a < m.rank && m.to[a] != m.width)
        a++;
    if (a + 1 >= m.rank) { /* nothing moves */
        moves_run(cx, &m);
        return HULL_OK;
    }
    t.src = m.src;
    t.dst = m.dst;
    t.width = m.width;
    t.a = m.shape[a];
    for (; t.n_outer < a; t.n_outer++) {
        outer *= t.outer[t.n_outer] = m.shape[t.n_outer];
        t.outer_to[t.n_outer] = m.to[t.n_outer];
    }
    for (uint32_t i = a + 1; i < m.rank; i++) {
        t.columns *= t.j[t.n_j] = m.shape[i];
        t.j_to[t.n_j++] = m.to[i];
    }
    few = is_interleaving(&t);
    t.piece = few ? FEW_PIECE : t.width >= 8 ? 8 : COLUMNS_MAX / t.width;
    t.pieces = (t.columns + t.piece - 1) / t.piece;
    cpu_parallel(cx, outer * t.pieces, 1,
                 move_cost(t.a * t.piece * t.width),
                 few ? interleave_part : transpose_part, &t);
    return HULL_OK;
}
