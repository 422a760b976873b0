/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * family.h - what several op families share beyond op.h: dtype checks of shape
 * rules, windows over spatial axes, broadcast walks row by row, splitting a
 * shape at an axis, operands as arrays of double.
 */
#ifndef HULL_FAMILY_H
#define HULL_FAMILY_H

#include "ops/op.h"

enum want { WANT_FLOAT = 1, WANT_INT = 2, WANT_BOOL = 4, WANT_REAL = 7 };

/* HULL_ESHAPE when the operand's dtype is of none of the wanted classes. */
hull_status infer_want(const node *n, const type *t, unsigned classes)
    MUST_CHECK;
/* HULL_ESHAPE when the two operand dtypes differ. */
hull_status infer_same(const node *n, const type *a, const type *b) MUST_CHECK;
/* HULL_ESHAPE when both dims are constants and differ; `what` names them. */
hull_status infer_equal(graph *g, const node *n, dim a, dim b,
                        const char *what) MUST_CHECK;

#define SPATIAL_MAX (HULL_MAX_RANK - 2)
/* How a kernel moves over the axes of an image; all within 32 bits. */
typedef struct window {
    uint32_t n; /* spatial axes */
    int64_t stride[SPATIAL_MAX], dilation[SPATIAL_MAX];
    int64_t before[SPATIAL_MAX], after[SPATIAL_MAX]; /* padding */
} window;
/* Attributes stride, pad and dilation of n; an empty list means 1, 0, 1.
 * n_axes <= SPATIAL_MAX. */
hull_status window_read(window *out, const node *n, uint32_t n_axes)
    MUST_CHECK;
/* A list attribute of `count` values from `low` on; an empty one means that
 * all are `preset`, and is refused when preset < low. */
hull_status window_ints(int64_t *out, const node *n, const char *name,
                        uint32_t count, int64_t low, int64_t preset)
    MUST_CHECK;

#define WALK_MAX 3
/* Up to three operands broadcast to the result, row by row; axes through which
 * every operand steps evenly are joined, so rows are as long as they can be:
 * element i of the row is result element at_out + i and operand element
 * at[k] + i * step[k]. */
typedef struct walk {
    bool more;
    uint32_t n_in, rank;
    int64_t row, at_out;
    int64_t at[WALK_MAX], step[WALK_MAX];
    int64_t shape[HULL_MAX_RANK], index[HULL_MAX_RANK];
    int64_t strides[WALK_MAX][HULL_MAX_RANK];
} walk;
/* HULL_ESHAPE naming the node when an operand does not fit the result. */
hull_status walk_begin(walk *out, const node *n, const tensor *in,
                       uint32_t n_in, const tensor *result) MUST_CHECK;
void walk_next(walk *w);

/* Places of a window of `kernel` taps over an axis of size `in`. */
dim window_size(ir *m, const window *w, uint32_t i, dim in, dim kernel);

/* The sizes of a pack node; HULL_ESHAPE when `out` has not that shape. Axis 1
 * has one tap; its channels are the rows. */
typedef struct pack_walk {
    int64_t axis, tile, groups;
    int64_t columns, panels; /* of a group */
    int64_t channels, taps;
    int64_t depth;           /* rows of a panel of y: more than x has with the
                              * attribute */
} pack_walk;
hull_status pack_walk_open(pack_walk *w, const node *n, const tensor *in,
                           const tensor *out) MUST_CHECK;
/* Panels that a winograd_weight node's x makes; HULL_ESHAPE when `out` has
 * fewer. */
hull_status winograd_panels(int64_t *own, const tensor *in, const tensor *out)
    MUST_CHECK;
/* Operand 1: one factor of x's dtype per element of its first axis, or none. */
hull_status infer_scale(graph *g, const node *n, const type *x) MUST_CHECK;
/* Element `at` of w, which is of row `row`, times its factor, rounded; scale
 * may be NULL. */
double scaled_at(const tensor *w, const tensor *scale, int64_t row, int64_t at);

/* HULL_ESHAPE when the operands of a conv's run do not fit each other. */
hull_status conv_check(const node *n, const tensor *in, const tensor *out)
    MUST_CHECK;

/* What the ops of packed.c do to a sum before it is stored. */
typedef enum packed_act {
    PACKED_NONE, PACKED_RELU, PACKED_GELU, PACKED_GELU_TANH, PACKED_SILU,
    PACKED_SIGMOID, PACKED_TANH, PACKED_HARD_SWISH, PACKED_CLAMP, PACKED_ACTS
} packed_act;
packed_act packed_act_of(const node *n); /* PACKED_ACTS: no such act */
double packed_act_apply(packed_act act, const node *n, double x);
/* Operands 2 and 3 of a product with these sizes, bias and residual, and the
 * type of its result. */
hull_status packed_infer_epilogue(graph *g, node *n, const type *x,
                                  dim columns, const dim *dims, uint32_t rank)
    MUST_CHECK;
/* Stores element `at` of the result, whose sum is v. */
void packed_finish(const node *n, const tensor *in, tensor *out, int64_t at,
                   int64_t column, double v);

/* Operands of gemm_q4 (packed_q4.c) behind those of gemm. */
enum { Q4_SCALE = 4, Q4_ZERO, Q4_OPERANDS };
#define Q4_ZERO_NONE 8       /* the zero point where none is given */
#define Q4_LINE_MOST (1 << 26) /* bytes of a row of q */

/* Operands of lstm_int (rnn_int.c). */
enum lstm_int_operand {
    LSTM_INT_X, LSTM_INT_R, LSTM_INT_SCALE, LSTM_INT_ZERO, LSTM_INT_BIAS,
    LSTM_INT_PEEPHOLE, LSTM_INT_LENGTHS, LSTM_INT_H0, LSTM_INT_C0
};

/* Operands of the ops of packed_int.c. */
enum packed_int_operand {
    INT_X, INT_W, INT_X_ZERO, INT_W_ZERO, INT_SCALE, INT_BIAS, INT_MID_SCALE,
    INT_MID_ZERO, INT_BIAS2, INT_RESIDUAL, INT_FACTOR, INT_OUT_SCALE,
    INT_OUT_ZERO, INT_OPERANDS
};

/* Rows of sdpa whose scores are all -inf, or NaN: attention.c. */
typedef enum attention_rows {
    ATTENTION_ZERO, ATTENTION_SOFTMAX, ATTENTION_SAFE, ATTENTION_RULES
} attention_rows;
attention_rows attention_rows_of(const node *n); /* ATTENTION_RULES: unknown */
/* HULL_ESHAPE when q, k, v, the mask (or NULL) and out of a run do not fit each
 * other. */
hull_status attention_check(const node *n, const tensor qkv[3],
                            const tensor *mask, const tensor *out) MUST_CHECK;
/* The kernel of sdpa, for a node with its attributes. */
hull_status attention_run(eval_ctx *cx, const node *n, const tensor qkv[3],
                          const tensor *mask, tensor *out) MUST_CHECK;
/* Operands of sdpa_joined. */
enum { JOINED_X, JOINED_BY, JOINED_MASK };
/* The places of its queries, keys and values; false: they are none. */
bool joined_places(int64_t out[3], const node *n);
/* The three parts of its x and its result, each as sdpa would have it, without
 * bytes: [..,h,l,d]. HULL_ESHAPE. */
hull_status joined_parts(tensor *out_part, const node *n, const tensor *in,
                         const tensor *out) MUST_CHECK;

/* A matmul for one run: out[batch] = a[batch] b[batch] + bias. Strides of the
 * batch axes are in elements (0 where the operand is repeated). */
typedef struct product_plan {
    int64_t m, k, n;
    bool trans_a, trans_b;   /* a is [k, m], b is [n, k] */
    uint32_t batch_rank;
    int64_t batch[HULL_MAX_RANK], stride_a[HULL_MAX_RANK],
        stride_b[HULL_MAX_RANK], stride_bias[HULL_MAX_RANK];
    const tensor *bias;      /* NULL: none */
    int64_t bias_m, bias_n;  /* steps along m and n */
} product_plan;
/* HULL_ESHAPE when the operands of a run do not fit each other. */
hull_status product_plan_get(product_plan *out, const node *n, const tensor *in,
                             const tensor *result) MUST_CHECK;

/* A chain's program (chain.c): step i is value n_in + i. */
#define CHAIN_STEPS 24
#define CHAIN_OPERANDS 12
typedef struct chain_step {
    op_code op;
    hull_dtype to; /* of a cast; HULL_NONE: no cast */
    uint32_t n_in, in[2];
    attr attrs[2]; /* as in a node of this op */
} chain_step;
typedef struct chain_code {
    uint32_t n;
    chain_step steps[CHAIN_STEPS];
} chain_code;
/* HULL_EINVAL when it is no program. */
hull_status chain_read(chain_code *out, const node *n) MUST_CHECK;
/* The step as a node for a kernel of its op; points into s. */
node chain_node(const chain_step *s);
/* The values' dtypes, behind those of the operands, which are there.
 * HULL_EINVAL when a step reads several. */
hull_status chain_dtypes(hull_dtype *dt, const chain_code *c, const node *n)
    MUST_CHECK;
/* The name of the node as a step; NULL: its op is none. */
const char *chain_name(const node *n);

/* numel = outer * len * inner. */
typedef struct split {
    int64_t outer, len, inner;
} split;
split split_at(const tensor *t, uint32_t axis);

/* All elements of t as doubles, in scratch memory. */
hull_status eval_doubles(double **out, eval_ctx *cx, const tensor *t)
    MUST_CHECK;
/* Zeroed doubles in scratch memory; the count may come from shapes. */
hull_status eval_scratch(double **out, eval_ctx *cx, int64_t count) MUST_CHECK;
/* Largest finite value of the floats of 8 bits and fewer, 0 for other types. */
double narrow_max(hull_dtype dt);
/* Stores the least (the greatest) value of a real dtype, an infinity where it
 * has one: the maximum (the minimum) of nothing. */
void store_bound(hull_dtype dt, void *p, uint64_t i, bool lowest);
/* Stores a double in any real dtype: integers truncate, NaN gives 0. */
void store_real(hull_dtype dt, void *p, uint64_t i, double v);
static inline bool tensor_given(const tensor *in, const node *n, uint32_t i)
{
    return i < n->n_in && in[i].dtype != HULL_NONE;
}

#endif
