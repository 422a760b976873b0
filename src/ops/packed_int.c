/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * packed_int.c - products of 8-bit integers that backends lower quantised
 * models to:
 *
 *   s = sum over k of (x - x_zero) (w - w_zero)             i32, wraps
 *   v = f32(s) scale + bias;  v = (q - mid_zero) mid_scale  where mid is given,
 *       q = v quantised to it
 *   y = act((v + bias2 + residual) factor), quantised where `to` is an integer
 *
 * in f32, each operation rounded; quantise as the op quantize does. Without a
 * scale y is s; a bias of i32 is added to s instead. Operands in this order,
 * from the third on all may be missing: x w x_zero w_zero scale bias mid_scale
 * mid_zero bias2 residual factor out_scale out_zero; w_zero, scale, bias and
 * bias2 are one value or one for each column.
 *
 * gemm_int    x [.., k], w [ceil(n / tile), ceil(k / group), tile, group]; with
 *             `kernel` a convolution: x [b, *, c], k = taps c, taps in
 *             row-major order, outside of the image is x_zero
 * matmul_int  x [.., m, k], w [.., k, n] (trans_b: [.., n, k])
 */
#include "ops/data.h"
#include "ops/family.h"

#include <inttypes.h>
#include <math.h>

/* ---- shape rules --------------------------------------------------------- */

/* Operand i, when it is there: of dtype dt, with one value or n of them. */
static hull_status want_vector(graph *g, const node *n, uint32_t i,
                               hull_dtype dt, dim count)
{
    const type *t;
    char what[128];

    if (!node_has(n, i))
        return HULL_OK;
    TRY(infer_tensor(&t, g, n, i));
    if (t->dtype != dt || t->rank > 1)
        return fail(HULL_ESHAPE, "%s: operand %" PRIu32 " is %s of rank %"
                    PRIu32 ", wanted %s of rank 0 or 1", node_what(n, what), i,
                    hull_dtype_name(t->dtype), t->rank, hull_dtype_name(dt));
    if (t->rank == 0 || t->dims[0] == 1)
        return HULL_OK;
    return infer_equal(g, n, t->dims[0], count, "numbers of columns");
}

/* i32, or what it must be otherwise. */
static hull_dtype bias_dtype(const graph *g, const node *n)
{
    return node_has(n, INT_BIAS) &&
                   graph_type(g, n->in[INT_BIAS])->dtype == HULL_I32
               ? HULL_I32
               : HULL_F32;
}

static hull_status want_epilogue(graph *g, node *n, const dim *dims,
                                 uint32_t rank)
{
    hull_dtype to = attr_dtype(n, "to");
    hull_dtype mid = attr_is_set(n, "mid") ? attr_dtype(n, "mid") : HULL_NONE;
    dim columns = dims[rank - 1];
    char what[128];

    if (packed_act_of(n) == PACKED_ACTS)
        return fail(HULL_EINVAL, "%s: act '%.*s' is not known",
                    node_what(n, what), STR_ARG(attr_str(n, "act")));
    if (node_has(n, INT_SCALE) ? to != HULL_F32 && !dtype_is_byte(to)
                               : to != HULL_I32)
        return fail(HULL_EINVAL, "%s: a result of %s, wanted f32, u8 or i8 "
                    "with a scale and i32 without", node_what(n, what),
                    hull_dtype_name(to));
    if ((mid != HULL_NONE && !dtype_is_byte(mid)) ||
        node_has(n, INT_MID_SCALE) != (mid != HULL_NONE) ||
        node_has(n, INT_OUT_SCALE) != dtype_is_byte(to))
        return fail(HULL_EINVAL, "%s: scales and dtypes of the quantised "
                    "values do not fit", node_what(n, what));
    TRY(want_vector(g, n, INT_SCALE, HULL_F32, columns));
    TRY(want_vector(g, n, INT_BIAS, bias_dtype(g, n), columns));
    TRY(want_vector(g, n, INT_MID_SCALE, HULL_F32, 1));
    TRY(want_vector(g, n, INT_MID_ZERO, mid, 1));
    TRY(want_vector(g, n, INT_BIAS2, HULL_F32, columns));
    TRY(want_vector(g, n, INT_FACTOR, HULL_F32, 1));
    TRY(want_vector(g, n, INT_OUT_SCALE, HULL_F32, 1));
    TRY(want_vector(g, n, INT_OUT_ZERO, to, 1));
    if (node_has(n, INT_RESIDUAL)) {
        const type *t;

        TRY(infer_tensor(&t, g, n, INT_RESIDUAL));
        if (t->dtype != HULL_F32 || t->rank != rank)
            return fail(HULL_ESHAPE, "%s: residual is %s of rank %" PRIu32
                        ", wanted f32 of rank %" PRIu32, node_what(n, what),
                        hull_dtype_name(t->dtype), t->rank, rank);
        for (uint32_t i = 0; i < rank; i++)
            TRY(infer_equal(g, n, t->dims[i], dims[i],
                            "sizes of residual and result"));
    }
    return infer_out(g, n, 0, to, dims, rank);
}

/* Sizes of the result of a convolution, and the product of its taps. */
static hull_status conv_dims(graph *g, const node *n, const type *x, dim *dims,
                             int64_t *taps)
{
    int64_t sizes[SPATIAL_MAX], size;
    char what[128];
    window win;

    if (x->rank < 3 || node_attr(n, "kernel")->u.ints.n != x->rank - 2)
        return fail(HULL_ESHAPE, "%s: rank %" PRIu32 " and %" PRIu32
                    " kernel sizes", node_what(n, what), x->rank,
                    node_attr(n, "kernel")->u.ints.n);
    TRY(window_ints(sizes, n, "kernel", x->rank - 2, 1, 0));
    TRY(window_read(&win, n, x->rank - 2));
    *taps = 1;
    for (uint32_t i = 0; i < win.n; i++) {
        if (!mul_i64(taps, *taps, sizes[i]) || *taps > INT32_MAX)
            return fail(HULL_EINVAL, "%s: too many taps", node_what(n, what));
        dims[1 + i] = window_size(g->m, &win, i, x->dims[1 + i], sizes[i]);
        if (dim_is_int(g->m, dims[1 + i], &size) && size < 1)
            return fail(HULL_ESHAPE, "%s: spatial axis %" PRIu32
                        " would have size %" PRId64, node_what(n, what), i,
                        size);
    }
    return HULL_OK;
}

static hull_status gemm_int_infer(graph *g, node *n, const type *x,
                                  const type *w)
{
    int64_t columns = attr_int(n, "n"), tile = attr_int(n, "tile"), taps = 1;
    int64_t group = attr_int(n, "group");
    dim dims[HULL_MAX_RANK], depth;
    char what[128];

    if (columns < 1 || columns > INT32_MAX || tile < 1 || tile > 4096 ||
        group < 1 || group > 16)
        return fail(HULL_EINVAL, "%s: n is %" PRId64 ", tile is %" PRId64
                    ", group is %" PRId64, node_what(n, what), columns, tile,
                    group);
    if (x->rank < 1 || w->rank != 4)
        return fail(HULL_ESHAPE, "%s: ranks %" PRIu32 " and %" PRIu32
                    ", wanted 1 or more and 4", node_what(n, what), x->rank,
                    w->rank);
    for (uint32_t i = 0; i < x->rank; i++)
        dims[i] = x->dims[i];
    if (attr_is_set(n, "kernel"))
        TRY(conv_dims(g, n, x, dims, &taps));
    depth = dim_mul(g->m, x->dims[x->rank - 1], taps);
    TRY(infer_equal(g, n, w->dims[0], (columns + tile - 1) / tile,
                    "numbers of panels"));
    TRY(infer_equal(g, n, w->dims[1], dim_ceil_div(g->m, depth, group),
                    "depths of panels and operand"));
    TRY(infer_equal(g, n, w->dims[2], tile, "columns of a panel"));
    TRY(infer_equal(g, n, w->dims[3], group, "sizes of a group"));
    dims[x->rank - 1] = columns;
    TRY(want_vector(g, n, INT_W_ZERO, w->dtype, columns));
    return want_epilogue(g, n, dims, x->rank);
}

static hull_status matmul_int_infer(graph *g, node *n, const type *x,
                                    const type *w)
{
    bool trans = attr_bool(n, "trans_b");
    type batch_x = *x, batch_w = *w;
    dim dims[HULL_MAX_RANK + 2];
    uint32_t rank;
    char what[128];

    if (x->rank < 2 || w->rank < 2)
        return fail(HULL_ESHAPE, "%s: ranks %" PRIu32 " and %" PRIu32
                    ", wanted 2 or more", node_what(n, what), x->rank, w->rank);
    batch_x.rank -= 2;
    batch_w.rank -= 2;
    TRY(infer_equal(g, n, x->dims[x->rank - 1],
                    w->dims[w->rank - (trans ? 1 : 2)], "inner sizes"));
    TRY(infer_broadcast(g, n, &batch_x, &batch_w, dims, &rank));
    dims[rank++] = x->dims[x->rank - 2];
    dims[rank++] = w->dims[w->rank - (trans ? 2 : 1)];
    TRY(want_vector(g, n, INT_W_ZERO, w->dtype, dims[rank - 1]));
    return want_epilogue(g, n, dims, rank);
}

hull_status packed_int_infer(graph *g, node *n)
{
    const type *x, *w;
    char what[128];

    TRY(infer_tensor(&x, g, n, 0));
    TRY(infer_tensor(&w, g, n, 1));
    if (!dtype_is_byte(x->dtype) || !dtype_is_byte(w->dtype))
        return fail(HULL_ESHAPE, "%s: operands are %s and %s, wanted u8 or i8",
                    node_what(n, what), hull_dtype_name(x->dtype),
                    hull_dtype_name(w->dtype));
    TRY(want_vector(g, n, INT_X_ZERO, x->dtype, 1));
    return n->op == OP_gemm_int ? gemm_int_infer(g, n, x, w)
                                : matmul_int_infer(g, n, x, w);
}

/* ---- kernels ------------------------------------------------------------- */

static int32_t int_at(const tensor *in, const node *n, uint32_t i, int64_t k)
{
    if (!tensor_given(in, n, i))
        return 0;
    return (int32_t)load_i64(in[i].dtype, in[i].data,
                             tensor_numel(&in[i]) == 1 ? 0 : (uint64_t)k);
}

static float float_at(const tensor *in, uint32_t i, int64_t k)
{
    return ((const float *)in[i].data)[tensor_numel(&in[i]) == 1 ? 0 : k];
}

/* v quantised to dt. */
static int32_t quantised(float v, float scale, int32_t zero, hull_dtype dt)
{
    double low = dt == HULL_U8 ? 0 : -128, high = dt == HULL_U8 ? 255 : 127;
    double r = (double)(v / scale);

    if (isnan(r))
        return 0;
    r = data_round_even(r) + zero;
    return (int32_t)(r < low ? low : r > high ? high : r);
}

static void finish(const node *n, const tensor *in, tensor *out, int64_t at,
                   uint32_t sum)
{
    int64_t column = at % out->shape[out->rank - 1];
    bool in_sum = tensor_given(in, n, INT_BIAS) &&
                  in[INT_BIAS].dtype == HULL_I32;
    float v;

    if (in_sum)
        sum += (uint32_t)int_at(in, n, INT_BIAS, column);
    v = (float)(int32_t)sum;
    if (!tensor_given(in, n, INT_SCALE)) {
        ((uint32_t *)out->data)[at] = sum;
        return;
    }
    v *= float_at(in, INT_SCALE, column);
    if (tensor_given(in, n, INT_BIAS) && !in_sum)
        v += float_at(in, INT_BIAS, column);
    if (tensor_given(in, n, INT_MID_SCALE)) {
        float scale = float_at(in, INT_MID_SCALE, 0);
        int32_t zero = int_at(in, n, INT_MID_ZERO, 0);

        v = (float)(quantised(v, scale, zero, attr_dtype(n, "mid")) - zero) *
            scale;
    }
    if (tensor_given(in, n, INT_BIAS2))
        v += float_at(in, INT_BIAS2, column);
    if (tensor_given(in, n, INT_RESIDUAL))
        v += ((const float *)in[INT_RESIDUAL].data)[at];
    if (tensor_given(in, n, INT_FACTOR))
        v *= float_at(in, INT_FACTOR, 0);
    v = (float)packed_act_apply(packed_act_of(n), n, v);
    if (out->dtype == HULL_F32)
        ((float *)out->data)[at] = v;
    else
        store_i64(out->dtype, out->data, (uint64_t)at,
                  quantised(v, float_at(in, INT_OUT_SCALE, 0),
                            int_at(in, n, INT_OUT_ZERO, 0), out->dtype));
}

static uint32_t product_of(int32_t a, int32_t b)
{
    return (uint32_t)a * (uint32_t)b;
}

/* ---- gemm_int ------------------------------------------------------------ */

typedef struct panels {
    int64_t depth, tile, group;
} panels;

static int32_t panel_at(const tensor *w, const panels *p, int64_t k,
                        int64_t column)
{
    int64_t groups = (p->depth + p->group - 1) / p->group;
    int64_t at = ((column / p->tile * groups + k / p->group) * p->tile +
                  column % p->tile) * p->group + k % p->group;

    return (int32_t)load_i64(w->dtype, w->data, (uint64_t)at);
}

/* How an output row finds its places: `pixels` of x, -1 outside. */
typedef struct taps {
    window w;
    int64_t kernel[SPATIAL_MAX], n;
} taps;

static int64_t pixel_of(const taps *t, const tensor *x, const int64_t *place,
                        int64_t tap)
{
    int64_t at = place[0], offs[SPATIAL_MAX];

    for (uint32_t i = t->w.n; i-- > 0; tap /= t->kernel[i])
        offs[i] = tap % t->kernel[i];
    for (uint32_t i = 0; i < t->w.n; i++) {
        int64_t p = place[1 + i] * t->w.stride[i] - t->w.before[i] +
                    offs[i] * t->w.dilation[i];

        if (p < 0 || p >= x->shape[1 + i])
            return -1;
        at = at * x->shape[1 + i] + p;
    }
    return at;
}

static hull_status gemm_int_eval(const node *n, const tensor *in, tensor *out)
{
    int64_t channels = in[0].shape[in[0].rank - 1];
    int64_t place[HULL_MAX_RANK] = {0}, at = 0;
    panels p = {channels, attr_int(n, "tile"), attr_int(n, "group")};
    int32_t zero = int_at(in, n, INT_X_ZERO, 0);
    taps t = {.n = 1};

    if (attr_is_set(n, "kernel")) {
        TRY(window_ints(t.kernel, n, "kernel", in[0].rank - 2, 1, 0));
        TRY(window_read(&t.w, n, in[0].rank - 2));
        for (uint32_t i = 0; i < t.w.n; i++)
            t.n *= t.kernel[i];
        p.depth *= t.n;
    }
    if (tensor_numel(out) == 0)
        return HULL_OK;
    do { /* place: image, spatial axes, column */
        int64_t column = place[out->rank - 1];
        int32_t w_zero = int_at(in, n, INT_W_ZERO, column);
        uint32_t sum = 0;

        for (int64_t k = 0; k < p.depth; k++) {
            int64_t pixel = t.w.n == 0 ? at / out->shape[out->rank - 1]
                                       : pixel_of(&t, &in[0], place,
                                                  k / channels);
            int32_t x = pixel < 0 ? zero
                                  : (int32_t)load_i64(
                                        in[0].dtype, in[0].data,
                                        (uint64_t)(pixel * channels +
                                                   k % channels));

            sum += product_of(x - zero, panel_at(&in[1], &p, k, column) -
                                            w_zero);
        }
        finish(n, in, out, at++, sum);
    } while (index_next(place, out->shape, out->rank));
    return HULL_OK;
}

/* ---- matmul_int ---------------------------------------------------------- */

static hull_status matmul_int_eval(const node *n, const tensor *in, tensor *out)
{
    tensor bare[2] = {in[0], in[1]};
    int32_t zero = int_at(in, n, INT_X_ZERO, 0);
    int64_t index[HULL_MAX_RANK] = {0}, at = 0;
    node two = *n;
    product_plan p;

    two.n_in = 2;
    TRY(product_plan_get(&p, &two, bare, out));
    if (tensor_numel(out) == 0)
        return HULL_OK;
    do {
        int64_t column = index[out->rank - 1], row = index[out->rank - 2];
        int32_t w_zero = int_at(in, n, INT_W_ZERO, column);
        int64_t from_x = row * p.k, from_w = 0;
        uint32_t sum = 0;

        for (uint32_t i = 0; i < p.batch_rank; i++) {
            from_x += index[i] * p.stride_a[i];
            from_w += index[i] * p.stride_b[i];
        }
        for (int64_t k = 0; k < p.k; k++)
            sum += product_of(
                (int32_t)load_i64(in[0].dtype, in[0].data,
                                  (uint64_t)(from_x + k)) - zero,
                (int32_t)load_i64(in[1].dtype, in[1].data,
                                  (uint64_t)(from_w + (p.trans_b
                                                           ? column * p.k + k
                                                           : k * p.n +
                                                                 column))) -
                    w_zero);
        finish(n, in, out, at++, sum);
    } while (index_next(index, out->shape, out->rank));
    return HULL_OK;
}

hull_status packed_int_eval(eval_ctx *cx, const node *n, const tensor *in,
                            tensor *out)
{
    (void)cx;
    return n->op == OP_gemm_int ? gemm_int_eval(n, in, out)
                                : matmul_int_eval(n, in, out);
}
