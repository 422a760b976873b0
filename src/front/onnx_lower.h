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

/* onnx_random.c */
onnx_lower_fn onnx_random, onnx_random_like; /* (1 = normal) */
onnx_lower_fn onnx_bernoulli, onnx_multinomial, onnx_dropout;

/* onnx_select.c */
onnx_lower_fn onnx_nonzero, onnx_compress, onnx_unique, onnx_nms;

/* onnx_nn.c */
onnx_lower_fn onnx_conv, onnx_conv_transpose, onnx_conv_integer;
onnx_lower_fn onnx_max_pool, onnx_avg_pool, onnx_max_unpool;
onnx_lower_fn onnx_global_pool;  /* (reduce op) */
onnx_lower_fn onnx_lp_pool, onnx_global_lp_pool, onnx_grid_sample;

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
onnx_lower_fn onnx_scan, onnx_scan_old, onnx_linear_attention, onnx_causal_conv;

/* onnx_deform.c */
onnx_lower_fn onnx_deform_conv;

/* onnx_signal.c */
onnx_lower_fn onnx_dft, onnx_stft;

/* onnx_window.c */
onnx_lower_fn onnx_window;       /* (0 Hann, 1 Hamming, 2 Blackman) */
onnx_lower_fn onnx_mel_weights;

/* onnx_image.c */
onnx_lower_fn onnx_roi_align, onnx_max_roi_pool, onnx_col2im;
onnx_lower_fn onnx_affine_grid, onnx_center_crop_pad, onnx_image_decoder;

/* onnx_old.c: forms of the first opset */
onnx_lower_fn onnx_reshape_old, onnx_pad_old, onnx_tile_old, onnx_concat_old;
onnx_lower_fn onnx_cast_old, onnx_split_old;

/* onnx_text.c */
onnx_lower_fn onnx_string_split, onnx_string_normalizer, onnx_regex;
onnx_lower_fn onnx_tfidf;

/* onnx_quant.c */
onnx_lower_fn onnx_quantize, onnx_dequantize, onnx_dynamic_quantize;
onnx_lower_fn onnx_qlinear_matmul, onnx_qlinear_conv;

/* onnx_contrib.c: domain com.microsoft, as the rest of these files */
onnx_lower_fn onnx_fused_matmul, onnx_fused_gemm;
onnx_lower_fn onnx_fused_conv;   /* (1 = channels last) */
onnx_lower_fn onnx_nhwc_max_pool;
onnx_lower_fn onnx_bias_gelu;    /* (1 = by tanh) */
onnx_lower_fn onnx_gemm_fast_gelu, onnx_bias_add, onnx_bias_dropout;
onnx_lower_fn onnx_bias_split_gelu, onnx_quick_gelu, onnx_scaled_silu;
onnx_lower_fn onnx_clamped_swiglu, onnx_gated_add, onnx_cdist;
onnx_lower_fn onnx_rfft;         /* (1 = back) */
onnx_lower_fn onnx_complex_mul;  /* (1 = by the conjugate) */
onnx_lower_fn onnx_expand_dims, onnx_torch_embedding, onnx_unfold_tensor;
onnx_lower_fn onnx_inverse;
onnx_lower_fn onnx_bias_softmax; /* (op) */

/* onnx_contrib_norm.c */
onnx_lower_fn onnx_simplified_norm, onnx_gated_rms_norm, onnx_embed_norm;
onnx_lower_fn onnx_skip_norm;    /* (1 = without the mean) */
onnx_lower_fn onnx_contrib_group_norm; /* (1 = with a skip) */

/* onnx_contrib_attention.c, onnx_contrib_gqa.c */
onnx_lower_fn onnx_contrib_self_attention, onnx_multi_head;
onnx_lower_fn onnx_masked_multi_head, onnx_contrib_rotary, onnx_gemma_rotary;
onnx_lower_fn onnx_group_query, onnx_packed_attention;
onnx_lower_fn onnx_contrib_recurrence; /* (1 = convolution) */

/* onnx_contrib_quant.c */
onnx_lower_fn onnx_qlinear_binary, onnx_qlinear_unary; /* (op) */
onnx_lower_fn onnx_qlinear_softmax, onnx_qlinear_reduce_mean;
onnx_lower_fn onnx_qlinear_pool; /* (1 = global) */
onnx_lower_fn onnx_qlinear_concat, onnx_qlinear_where;
onnx_lower_fn onnx_contrib_qlinear_conv, onnx_dynamic_matmul;
onnx_lower_fn onnx_matmul_to_float, onnx_matmul_integer16, onnx_mul_integer;
onnx_lower_fn onnx_qgemm, onnx_qattention, onnx_qembed_norm;

/* onnx_contrib_blocks.c */
onnx_lower_fn onnx_matmul_nbits, onnx_matmul_bnb4, onnx_gather_blocks;

/* onnx_contrib_moe.c */
onnx_lower_fn onnx_moe, onnx_qmoe;

/* onnx_contrib_rnn.c */
onnx_lower_fn onnx_dynamic_lstm;

/* onnx_control.c */
onnx_lower_fn onnx_if, onnx_loop;

/* onnx_sequence.c */
onnx_lower_fn onnx_sequence_construct, onnx_sequence_empty;
onnx_lower_fn onnx_sequence_insert, onnx_sequence_erase, onnx_sequence_at;
onnx_lower_fn onnx_sequence_length, onnx_sequence_map;
onnx_lower_fn onnx_concat_from_sequence, onnx_split_to_sequence;
onnx_lower_fn onnx_optional, onnx_optional_has, onnx_optional_get;

#endif
