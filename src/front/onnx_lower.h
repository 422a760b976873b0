/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_lower.h - prototypes of the lowerings that the rows of onnx_table.c
 * name. `arg` of a row is in parentheses.
 */
#ifndef HULL_ONNX_LOWER_H
#define HULL_ONNX_LOWER_H

#include "front/onnx.h"

/* onnx_math.c: pointwise */
onnx_lower_fn onnx_unary;       /* (op) */
onnx_lower_fn onnx_activation;  /* (op) with alpha, beta */
onnx_lower_fn onnx_gelu, onnx_celu, onnx_selu, onnx_shrink, onnx_softsign;
onnx_lower_fn onnx_thresholded_relu, onnx_swish, onnx_hard_swish, onnx_mish;
onnx_lower_fn onnx_prelu, onnx_is_inf, onnx_clip, onnx_swiglu;
onnx_lower_fn onnx_binary;      /* (op) */
onnx_lower_fn onnx_div, onnx_pow, onnx_mod, onnx_shift;
onnx_lower_fn onnx_binary_old;  /* (op) before opset 7 */
onnx_lower_fn onnx_prelu_old;
onnx_lower_fn onnx_variadic;    /* (op); add, and reduce_mean for Mean */
onnx_lower_fn onnx_where, onnx_cast, onnx_cast_like, onnx_identity;
onnx_lower_fn onnx_bitcast, onnx_einsum;
onnx_lower_fn onnx_dropout;

/* onnx_reduce.c */
onnx_lower_fn onnx_reduce_plain; /* (op) */
onnx_lower_fn onnx_reduce_l1, onnx_reduce_l2, onnx_reduce_log_sum;
onnx_lower_fn onnx_reduce_log_sum_exp, onnx_reduce_sum_square;
onnx_lower_fn onnx_arg;          /* (op) */
onnx_lower_fn onnx_cumsum;
onnx_lower_fn onnx_softmax_old, onnx_softmax; /* (op) */
onnx_lower_fn onnx_hardmax;
onnx_lower_fn onnx_matmul, onnx_gemm, onnx_matmul_integer;

/* onnx_shape.c */
onnx_lower_fn onnx_constant, onnx_shape, onnx_size, onnx_reshape;
onnx_lower_fn onnx_flatten, onnx_transpose, onnx_expand, onnx_tile;
onnx_lower_fn onnx_squeeze;      /* (1 = unsqueeze) */
onnx_lower_fn onnx_concat, onnx_split, onnx_slice_attr, onnx_slice;
onnx_lower_fn onnx_pad;          /* pads as attribute or operand */
onnx_lower_fn onnx_constant_of_shape, onnx_range, onnx_eye_like;
onnx_lower_fn onnx_depth_to_space, onnx_space_to_depth;

/* onnx_index.c */
onnx_lower_fn onnx_gather, onnx_gather_elements, onnx_gather_nd;
onnx_lower_fn onnx_scatter_elements, onnx_scatter_nd, onnx_one_hot;
onnx_lower_fn onnx_topk, onnx_trilu, onnx_reverse_sequence;
onnx_lower_fn onnx_tensor_scatter;

/* onnx_nn.c */
onnx_lower_fn onnx_conv, onnx_conv_transpose, onnx_conv_integer;
onnx_lower_fn onnx_max_pool, onnx_avg_pool, onnx_max_unpool;
onnx_lower_fn onnx_global_pool;  /* (reduce op) */
onnx_lower_fn onnx_lp_pool, onnx_grid_sample;

/* onnx_norm.c */
onnx_lower_fn onnx_batch_norm, onnx_instance_norm, onnx_layer_norm;
onnx_lower_fn onnx_group_norm, onnx_rms_norm, onnx_lrn, onnx_lp_norm;
onnx_lower_fn onnx_mean_variance_norm, onnx_resize, onnx_upsample;

/* onnx_rnn.c */
onnx_lower_fn onnx_recurrent;    /* (op) */

/* onnx_attention.c */
onnx_lower_fn onnx_attention, onnx_flex_attention, onnx_rotary;

/* onnx_loss.c */
onnx_lower_fn onnx_nll_loss, onnx_softmax_loss;

/* onnx_scan.c */
onnx_lower_fn onnx_scan, onnx_linear_attention, onnx_causal_conv;

/* onnx_deform.c */
onnx_lower_fn onnx_deform_conv;

/* onnx_signal.c */
onnx_lower_fn onnx_dft;

/* onnx_quant.c */
onnx_lower_fn onnx_quantize, onnx_dequantize, onnx_dynamic_quantize;
onnx_lower_fn onnx_qlinear_matmul, onnx_qlinear_conv;

/* onnx_control.c */
onnx_lower_fn onnx_if, onnx_loop;

#endif
