/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_recipe.h - recipes for tensors that an exporter renamed, transposed,
 * folded or reordered. `name` is the stored tensor, whose shape every recipe
 * must give; the other names are of the checkpoint.
 */
#ifndef HULL_ONNX_RECIPE_H
#define HULL_ONNX_RECIPE_H

#include "front/onnx.h"

/* Tiers: with a name from the file or the conventional one first, then the
 * same where the convolution has no bias, then any sibling by wildcard. */
enum { TIER_NAMED, TIER_NAMED_NO_BIAS, TIER_ANY, TIER_ANY_NO_BIAS };

typedef struct bn_names {
    str gamma, beta, mean, var; /* gamma, beta "" without affine */
    double eps;
} bn_names;

typedef struct conv_names {
    str path;           /* module, where names are guessed */
    str weight, bias;   /* bias "" when there is none */
    bool transposed;
    int64_t groups;
} conv_names;

typedef struct rnn_names {
    str path;
    uint64_t layer;
} rnn_names;

/* "rnn.weight_ih_l0_reverse" -> rnn, 0. */
bool rnn_names_of(str parameter, rnn_names *out);

hull_status recipe_transpose(front *f, str name, str from, uint8_t tier)
    MUST_CHECK;
/* The source's shape is the checkpoint's where one is given, else the size-1
 * axes are taken to be the exporter's. */
hull_status recipe_reshape(front *f, str name, str from, uint8_t tier)
    MUST_CHECK;
hull_status recipe_bn_weight(front *f, str name, const conv_names *c,
                             const bn_names *bn, uint8_t tier) MUST_CHECK;
hull_status recipe_bn_bias(front *f, str name, const conv_names *c,
                           const bn_names *bn, uint8_t tier) MUST_CHECK;
/* Batch norm names from the convolution's path: "conv1" -> "bn1", "0" -> "1",
 * the sibling that comes next, any sibling. bias may be "". */
hull_status recipe_guess_bn(front *f, str weight, str bias, const conv_names *c,
                            str parent, str next) MUST_CHECK;
/* Operand i (1 W, 2 R, 3 B) of a recurrent node. */
hull_status recipe_rnn(front *f, str name, const onnx_node *n, uint32_t i,
                       const rnn_names *r) MUST_CHECK;

#endif
