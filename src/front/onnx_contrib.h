/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_contrib.h - what the lowerings of domain com.microsoft share: short
 * forms of nodes (onnx_contrib.c), attention and rotary positions
 * (onnx_contrib_attention.c, onnx_attention.c), quantisation (onnx_quant.c,
 * onnx_contrib_quant.c).
 */
#ifndef HULL_ONNX_CONTRIB_H
#define HULL_ONNX_CONTRIB_H

#include "front/onnx_lower.h"

/* ---- onnx_contrib.c ------------------------------------------------------ */

/* An attribute that only its default value is there for. */
hull_status contrib_want(onnx_call *c, const char *name, int64_t def)
    MUST_CHECK;
/* The operand must be absent. */
hull_status contrib_absent(const onnx_call *c, uint32_t i, const char *what)
    MUST_CHECK;
/* The n operands must be there. */
hull_status contrib_present(const onnx_call *c, const uint32_t *at,
                            uint32_t n) MUST_CHECK;
/* Operands `from` up to `to` are weights, where they are stored. */
void contrib_parameters(onnx_call *c, uint32_t from, uint32_t to);
val contrib_matmul(onnx_call *c, val a, val b, bool trans_a, bool trans_b);
val contrib_clamp(onnx_call *c, val x, double lo, double hi);
val contrib_gelu(onnx_call *c, val x, bool by_tanh);
val contrib_scaled(onnx_call *c, val x, double by);
/* x gathered along `axis`. */
val contrib_gather(onnx_call *c, val x, val index, int64_t axis);
/* 0, 1, 2, ... as i64 along `axis` of rank `rank`, the rest of size 1. */
val contrib_count(onnx_call *c, dim n, uint32_t axis, uint32_t rank);
/* A size as an i64 of rank 0. */
val contrib_size(onnx_call *c, dim d);
/* Channels last to channels first, or back. */
val contrib_channels(onnx_call *c, val x, bool first);

/* ---- quantisation -------------------------------------------------------- */

/* out: x as u8, its scale, its zero point. */
void onnx_quantize_dynamic(onnx_call *c, val x, val *out);
/* (x - zero) (w - w_zero) in i32; zero points may be 0. */
val onnx_integer_product(onnx_call *c, val x, val w, val zero, val w_zero);
/* A vector of one element as a number. */
val contrib_number(onnx_call *c, val v);
val contrib_dequantize(onnx_call *c, val x, val scale, val zero);

/* ---- blocks (onnx_contrib_blocks.c) -------------------------------------- */

hull_status contrib_want_block(int64_t block) MUST_CHECK;
hull_status contrib_want_bits(int64_t bits) MUST_CHECK;
/* u8 [.., n] to u8 [.., n * 8 / bits]: values of `bits` bits, the low ones
 * first, or the high ones. */
val contrib_unpack(onnx_call *c, val x, int64_t bits, bool high_first);
/* x (op) scale, one scale per `block` elements of the axis, which must be a
 * whole number of blocks. No operand grows on its own. */
val contrib_per_block(onnx_call *c, op_code op, val x, val scale,
                      uint32_t axis, int64_t block);

/* ---- attention ----------------------------------------------------------- */

/* [b,s,h*d] to [b,h,s,d] and back. */
val onnx_heads_apart(onnx_call *c, val x, dim heads);
val onnx_heads_together(onnx_call *c, val y);
/* Every head of k or v [b,h,s,d] for the heads that share it. */
val onnx_repeat_heads(onnx_call *c, val x, dim heads);
/* Turns the first r elements of the heads of x [b,h,s,d] by the angles of the
 * caches at positions [b,s]; positions 0 = the caches are [b,s,r/2]. */
hull_status onnx_rotate(onnx_call *c, val x, val cos, val sin, val positions,
                        int64_t r, bool interleaved, val *out) MUST_CHECK;
/* Attention over q, k and v side by side [b,s,3h]; mask index, past and
 * attention bias may be 0. */
hull_status contrib_attention(onnx_call *c, val qkv, val mask, val past,
                              val bias) MUST_CHECK;

/* ---- embeddings (onnx_contrib_norm.c) ------------------------------------ */

typedef struct contrib_embed {
    val ids, segment_ids, words, positions, segments, gamma, beta, mask;
    val position_ids;
} contrib_embed;
/* Results: the normalised sum, the number of words, the sum. */
hull_status contrib_embed_norm(onnx_call *c, const contrib_embed *e)
    MUST_CHECK;

#endif
