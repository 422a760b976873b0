#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Hull authors
"""Write tests/data/onnx_contrib: one model of one node per case of ONNX
Runtime's domain com.microsoft, in the layout of ONNX's backend tests, which
ctest `onnx_contrib` replays with tests/conformance.c.

    scripts/gen_contrib_tests.py [--only TEXT] [FOLDER]

The first case of each operator that has weights holds a second file with other
ones, other.onnx, and what it gives: a refit from there must give the same.

By hand only: needs numpy, onnx and onnxruntime. The expected outputs are ONNX
Runtime's on the CPU without graph optimisation, in one thread. Operators that
it has for other devices only have their definition here, in numpy.
"""
import os
import shutil
import sys
import zlib

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MS = "com.microsoft"
F, H = np.float32, np.float16
CASES = []


class Case:
    """A node. Operands are arrays (inputs of the model), W(array) (stored), or
    None (absent); outputs is how many, or a list with "" for unwanted ones."""

    def __init__(self, name, op, operands, outputs=1, domain=MS, oracle=None,
                 opset=21, dims=None, typed=False, before=(),
                 mask=None, **attrs):
        self.name, self.op, self.operands = name, op, operands
        self.outputs = (["y%d" % i for i in range(outputs)]
                        if isinstance(outputs, int) else outputs)
        self.domain, self.oracle, self.attrs = domain, oracle, attrs
        self.opset, self.dims, self.typed = opset, dims or {}, typed
        self.before, self.mask = list(before), mask
        CASES.append(self)


class Value:
    """An operand that nodes in front compute: its name."""

    def __init__(self, name):
        self.name = name


class W:
    def __init__(self, array):
        self.array = array


    def other(self):
        """Other values of the same kind."""
        a = self.array
        if a.dtype.kind == "f":
            b = (a * 0.5 + 0.1 * (a == 0)).astype(a.dtype)
        else:
            b = a ^ 1
        return W(b)


class Int4(W):
    """Stored values of 4 bits."""

    def __init__(self, array, unsigned):
        super().__init__(array)
        self.unsigned = unsigned
        self.kind = TensorProto.UINT4 if unsigned else TensorProto.INT4

    def other(self):
        return Int4(self.array ^ 1, self.unsigned)


def rng(name):
    return np.random.default_rng(zlib.crc32(name.encode()))


def randn(name, *shape, scale=1.0):
    return (rng(name + str(shape)).standard_normal(shape) * scale).astype(F)


def randint(name, low, high, *shape, dtype=np.uint8):
    return rng(name + str(shape)).integers(low, high, shape).astype(dtype)


# ---- products and convolutions ------------------------------------------------

A, B = randn("a", 2, 3, 4), randn("b", 2, 4, 5)
Case("fused_matmul", "FusedMatMul", [A, W(B)], alpha=0.5)
Case("fused_matmul_trans", "FusedMatMul",
     [randn("a", 2, 4, 3), W(randn("b", 2, 5, 4))], transA=1, transB=1,
     alpha=-2.0)
Case("fused_matmul_trans_batch", "FusedMatMul",
     [randn("a", 3, 2, 4), randn("b", 4, 2, 5)], transBatchA=1, transBatchB=1)
Case("fused_matmul_trans_batch_both", "FusedMatMul",
     [randn("a", 4, 2, 3, 5), W(randn("b", 6, 2, 3, 4))], transBatchA=1,
     transBatchB=1, transA=1, transB=1, alpha=0.25,
     dims={0: ["n", 2, 3, "k"]})
Case("fused_matmul_not_finite", "FusedMatMul",
     [np.array([[np.nan, 1], [np.inf, 0]], F), np.eye(2, dtype=F)], alpha=2.0)
Case("transpose_matmul", "TransposeMatMul",
     [randn("a", 4, 3), W(randn("b", 4, 5))], transA=1)
GEMM = [randn("a", 3, 4), W(randn("b", 4, 5)), W(randn("c", 5))]
for act, extra in (("Relu", {}), ("Tanh", {}), ("Sigmoid", {}),
                   ("LeakyRelu", {"activation_alpha": 0.2}),
                   ("Elu", {"activation_alpha": 0.7}),
                   ("HardSigmoid", {"activation_alpha": 0.3,
                                    "activation_beta": 0.4}),
                   ("Softplus", {}), ("Softsign", {}),
                   ("ThresholdedRelu", {"activation_alpha": 0.5})):
    Case("fused_gemm_" + act.lower(), "FusedGemm", GEMM, activation=act,
         alpha=0.5, beta=2.0, **extra)
Case("fused_gemm_trans", "FusedGemm", [randn("a", 4, 3),
                                       W(randn("b", 5, 4)), None],
     transA=1, transB=1, activation="Relu")
CONV = [randn("x", 1, 2, 5, 5), W(randn("w", 3, 2, 3, 3)), W(randn("b", 3))]
for act, p in (("Relu", []), ("LeakyRelu", [0.3]), ("Clip", [-0.5, 1.0]),
               ("HardSigmoid", [0.25, 0.6]), ("Tanh", []), ("Sigmoid", [])):
    Case("fused_conv_" + act.lower(), "FusedConv", CONV, activation=act,
         pads=[1, 1, 1, 1], **({"activation_params": p} if p else {}))
Case("fused_conv_sum", "FusedConv", CONV + [randn("z", 1, 3, 3, 3)],
     activation="Relu", strides=[1, 1])


def nhwc(x):
    return np.ascontiguousarray(np.moveaxis(x, 1, -1))


def conv(x, w, b):
    """Valid, of stride 1; channels last."""
    k = w.shape[2]
    n = x.shape[1] - k + 1
    y = np.zeros((x.shape[0], n, n, w.shape[0]), F) + b
    for i in range(k):
        for j in range(k):
            y += x[:, i:i + n, j:j + n] @ w[:, :, i, j].T
    return y


Case("nhwc_fused_conv", "NhwcFusedConv",
     [nhwc(CONV[0]), CONV[1], CONV[2], randn("z", 1, 3, 3, 3)],
     activation="Relu",
     oracle=lambda x, w, b, z: np.maximum(conv(x, w, b) + z, 0))
Case("nhwc_max_pool", "NhwcMaxPool", [randint("x", 0, 255, 1, 5, 5, 3)],
     kernel_shape=[2, 2], strides=[2, 2], pads=[0, 0, 1, 1])
Case("nhwc_max_pool_signed", "NhwcMaxPool",
     [randint("x", -128, 127, 2, 4, 5, 2, dtype=np.int8)],
     kernel_shape=[3, 2], dilations=[1, 2])

# ---- activations, biases ---------------------------------------------------------

X = randn("x", 2, 3, 8)
HOSTILE = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1e30, 1e-40],
                   F)
Case("gelu", "Gelu", [X])
Case("gelu_hostile", "Gelu", [HOSTILE[3:]])
Case("fast_gelu", "FastGelu", [X])
Case("fast_gelu_bias", "FastGelu", [X, W(randn("b", 8))],
     dims={0: ["n", "s", 8]})
Case("bias_gelu", "BiasGelu", [X, W(randn("b", 8))])
Case("quick_gelu", "QuickGelu", [X])
Case("quick_gelu_alpha", "QuickGelu", [X], alpha=0.5)
Case("quick_gelu_hostile", "QuickGelu", [HOSTILE[3:]])


def erf(x):
    from math import erf as f
    return np.vectorize(f)(x)


def gelu(x):
    return 0.5 * x * (1 + erf(x / np.sqrt(2)))


def silu(x):
    return x / (1 + np.exp(-x))


Case("bias_add", "BiasAdd", [X, W(randn("b", 8)), randn("s", 2, 3, 8)],
     oracle=lambda x, b, s: x + b + s)
Case("bias_split_gelu", "BiasSplitGelu", [X, W(randn("b", 8))],
     oracle=lambda x, b: (x + b)[..., :4] * gelu((x + b)[..., 4:]))
Case("bias_dropout", "BiasDropout", [X, W(randn("b", 8)),
                                     randn("r", 2, 3, 8)],
     oracle=lambda x, b, r: x + b + r)
Case("gemm_fast_gelu", "GemmFastGelu",
     [X, W(randn("w", 8, 4)), W(randn("b", 4))],
     oracle=lambda x, w, b: (lambda y: 0.5 * y * (1 + np.tanh(
         0.7978845608028654 * (y + 0.044715 * y ** 3))))(x @ w + b))
Case("scaled_silu", "ScaledSiLU", [X], alpha=0.5,
     oracle=lambda x: silu(0.5 * x))
Case("swiglu_clamped", "SwiGLU", [X, randn("u", 2, 3, 8)], limit=0.8,
     activation_alpha=1.702, activation_beta=1.0,
     oracle=lambda g, u: (lambda a, b: a / (1 + np.exp(-1.702 * a)) * (b + 1))(
         np.minimum(g, 0.8), np.clip(u, -0.8, 0.8)))
Case("swiglu_one_operand", "SwiGLU", [X],
     oracle=lambda g: silu(g[..., :4]) * g[..., 4:])
Case("gated_add", "GatedAdd", [X, randn("y", 2, 3, 8), randn("g", 2, 3, 1)],
     oracle=lambda x, y, g: x + y * g)

Case("bias_softmax", "BiasSoftmax", [X, randn("b", 2, 1, 8)], axis=2,
     is_inner_broadcast=1,
     oracle=lambda x, b: (lambda e: e / e.sum(-1, keepdims=True))(
         np.exp(x + b)))
Case("bias_softmax_axes", "BiasSoftmax", [X, randn("b", 3, 8)], axis=1,
     is_inner_broadcast=0,
     oracle=lambda x, b: (lambda e: e / e.sum((1, 2), keepdims=True))(
         np.exp(x + b)))

# ---- norms -------------------------------------------------------------------------

G8, B8 = W(randn("gamma", 8)), W(randn("beta", 8))
SK = randn("skip", 2, 3, 8)
Case("skip_layer_norm", "SkipLayerNormalization", [X, SK, G8, B8],
     epsilon=1e-5)
Case("skip_layer_norm_bias_sum", "SkipLayerNormalization",
     [X, SK, G8, B8, W(randn("bias", 8))], ["y", "", "", "s"], epsilon=1e-3,
     dims={0: ["b", "s", 8], 1: ["b", "s", 8]})
Case("skip_layer_norm_broadcast", "SkipLayerNormalization",
     [X, randn("skip", 3, 8), G8])
Case("skip_simplified_norm", "SkipSimplifiedLayerNormalization", [X, SK, G8])
Case("skip_simplified_norm_bias_sum", "SkipSimplifiedLayerNormalization",
     [X, SK, G8, W(randn("bias", 8))], ["y", "", "", "s"])
Case("simplified_norm", "SimplifiedLayerNormalization", [X, G8], domain="",
     axis=-1, epsilon=1e-6, opset=17)
Case("simplified_norm_root", "SimplifiedLayerNormalization",
     [X, W(randn("g", 3, 8))], 2, domain="", axis=1, opset=17,
     oracle=lambda x, g: (lambda r: (x * r * g, r))(
         1 / np.sqrt(np.mean(x * x, (1, 2), keepdims=True) + 1e-5)))
IDS = randint("ids", 0, 6, 2, 4, dtype=np.int32)
EMB = [W(randn("words", 6, 8)), W(randn("places", 5, 8)),
       W(randn("segments", 2, 8)), G8, B8]
SEG = randint("seg", 0, 2, 2, 4, dtype=np.int32)
MASK = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)
Case("embed_norm", "EmbedLayerNormalization", [IDS, SEG] + EMB + [MASK], 2,
     dims={i: ["b", "s"] for i in (0, 1, 7)})
Case("embed_norm_sum", "EmbedLayerNormalization",
     [IDS, None, EMB[0], EMB[1], None, G8, B8, None,
      np.array([[3, 1, 0, 2]], np.int32)], 3, epsilon=1e-3)


def group_norm(x, gamma, beta, groups, eps=1e-5):
    s = x.shape
    y = np.moveaxis(x, -1, 1).reshape(s[0], groups, -1)
    y = (y - y.mean(2, keepdims=True)) / np.sqrt(
        y.var(2, keepdims=True) + eps)
    y = np.moveaxis(y.reshape([s[0], s[-1]] + list(s[1:-1])), 1, -1)
    return y * gamma + beta


IMG = randn("img", 1, 3, 3, 8)
Case("group_norm_silu", "GroupNorm", [IMG, G8, B8], activation=1, groups=4,
     oracle=lambda x, g, b: silu(group_norm(x, g, b, 4)))
Case("group_norm_channels_first", "GroupNorm",
     [np.ascontiguousarray(np.moveaxis(IMG, -1, 1)), G8, B8], activation=0,
     groups=2, channels_last=0,
     oracle=lambda x, g, b: np.moveaxis(
         group_norm(np.moveaxis(x, 1, -1), g, b, 2), -1, 1))
Case("skip_group_norm", "SkipGroupNorm",
     [IMG, G8, B8, randn("skip", 1, 8), W(randn("bias", 8))], 2, activation=0,
     groups=2,
     oracle=lambda x, g, b, s, a: (group_norm(x + s[:, None, None] + a, g, b,
                                              2),
                                   x + s[:, None, None] + a))
Case("gated_rms_norm", "GatedRMSNorm",
     [X, W(randn("g", 4)), randn("gate", 2, 3, 8)],
     oracle=lambda x, s, g: (lambda y: (y / np.sqrt(np.mean(
         y * y, -1, keepdims=True) + 1e-5) * s).reshape(x.shape) * silu(g))(
             x.reshape(2, 3, 2, 4)))

# ---- transforms ----------------------------------------------------------------------

Case("cdist", "CDist", [randn("a", 3, 5), W(randn("b", 4, 5))])
Case("cdist_euclidean", "CDist", [randn("a", 3, 5), W(randn("b", 4, 5))],
     metric="euclidean")
Case("trilu", "Trilu", [randn("x", 2, 3, 4), W(np.array(1, np.int64))],
     upper=0)
Case("rfft", "Rfft", [randn("x", 2, 8)], signal_ndim=1, onesided=1,
     normalized=0, oracle=lambda x: (lambda y: np.stack(
         [y.real, y.imag], -1))(np.fft.rfft(x)))
Case("irfft", "Irfft", [randn("x", 2, 5, 2)], signal_ndim=1, onesided=1,
     normalized=0,
     oracle=lambda x: np.fft.irfft(x[..., 0] + 1j * x[..., 1]))
CA, CB = randn("a", 2, 3, 2), randn("b", 3, 2)


def cplx(f):
    return lambda a, b: (lambda y: np.stack([y.real, y.imag], -1))(
        f(a[..., 0] + 1j * a[..., 1], b[..., 0] + 1j * b[..., 1]))


Case("inverse", "Inverse", [randn("m", 2, 4, 4)])
Case("inverse_pivots", "Inverse",
     [np.array([[0, 2, 1], [1, 0, 0], [3, 0, 4]], F)], dims={0: ["n", "n"]})
Case("complex_mul", "ComplexMul", [CA, CB], oracle=cplx(lambda a, b: a * b))
Case("complex_mul_conj", "ComplexMulConj", [CA, CB],
     oracle=cplx(lambda a, b: a * np.conj(b)))
Case("expand_dims", "ExpandDims", [X, W(np.array(-2, np.int32))])
Case("unfold_tensor", "UnfoldTensor", [randn("x", 2, 7, 2)], dim=1, size=3,
     step=2)
Case("gather_nd", "GatherND", [X, np.array([[0, 1], [1, 2]], np.int64)])
Case("grid_sample", "GridSample",
     [randn("x", 1, 2, 4, 4), randn("g", 1, 3, 3, 2, scale=0.7)],
     mode="bilinear", padding_mode="border")
Case("pad", "Pad", [X, W(np.array([0, 1, 0, 0, 0, 2], np.int64)),
                    W(np.array(3.5, F))])
Case("range", "Range", [W(np.array(2, np.int64)), W(np.array(11, np.int64)),
                        W(np.array(3, np.int64))])

# ---- attention -----------------------------------------------------------------------

AW, AB = W(randn("w", 8, 24, scale=0.5)), W(randn("wb", 24))
AX = randn("ax", 2, 4, 8)
Case("attention", "Attention", [AX, AW, AB], num_heads=2)
Case("attention_unidirectional", "Attention", [AX, AW, AB], num_heads=2,
     unidirectional=1, dims={0: ["b", "s", 8]})
Case("attention_mask", "Attention",
     [AX, AW, AB, np.array([[1, 1, 1, 0], [0, 1, 1, 1]], np.int32)],
     num_heads=2, dims={0: ["b", "s", 8], 3: ["b", "s"]})
Case("attention_mask_all", "Attention",
     [AX, AW, AB, np.array([[0, 0, 0, 0], [0, 1, 1, 1]], np.int32)],
     num_heads=2, mask_filter_value=-100.0)
Case("attention_mask_unidirectional", "Attention",
     [AX, AW, AB, np.array([[1, 1, 1, 0], [0, 1, 1, 1]], np.int32)],
     num_heads=2, unidirectional=1, mask_filter_value=-20.0)
Case("attention_mask_3d", "Attention",
     [AX, AW, AB, randint("m", 0, 2, 2, 4, 4, dtype=np.int32)], num_heads=4)
Case("attention_mask_end", "Attention",
     [AX, AW, AB, np.array([3, 2], np.int32)], num_heads=2)
Case("attention_mask_end_start", "Attention",
     [AX, AW, AB, np.array([4, 3, 1, 0], np.int32)], num_heads=2)
Case("attention_past", "Attention",
     [AX, AW, AB, None, randn("past", 2, 2, 2, 3, 4)], 2, num_heads=2,
     unidirectional=1, dims={0: ["b", "s", 8], 4: [2, "b", 2, "p", 4]})
Case("attention_bias", "Attention",
     [AX, AW, AB, None, None, randn("bias", 1, 2, 4, 4)], num_heads=2)
Case("attention_past_mask", "Attention",
     [AX, AW, AB, np.array([[1] * 5 + [0] * 2, [0] + [1] * 6], np.int32),
      randn("past", 2, 2, 2, 3, 4)], 2, num_heads=2)
Case("attention_sizes", "Attention",
     [AX, W(randn("w", 8, 20, scale=0.5)), W(randn("wb", 20))], num_heads=2,
     qkv_hidden_sizes=[8, 8, 4], scale=0.3)



def packed(x, w, b, offsets, ends):
    """Two heads of four; sequences of 3 and 2 tokens."""
    q, k, v = [np.moveaxis(p.reshape(-1, 2, 4), 1, 0)
               for p in np.split(x @ w + b, 3, 1)]
    y = []
    for lo, hi in zip(ends, ends[1:]):
        e = np.exp(q[:, lo:hi] @ np.swapaxes(k[:, lo:hi], 1, 2) / 2)
        y.append(e / e.sum(-1, keepdims=True) @ v[:, lo:hi])
    return np.moveaxis(np.concatenate(y, 1), 0, 1).reshape(-1, 8)


Case("packed_attention", "PackedAttention",
     [randn("px", 5, 8), AW, AB,
      np.array([[0, 1, 2], [3, 4, 5]], np.int32),
      np.array([0, 3, 5], np.int32)], num_heads=2, oracle=packed,
     dims={0: ["t", 8], 3: ["b", "s"], 4: ["c"]})

Q, K, V = randn("q", 2, 3, 8), randn("k", 2, 5, 8), randn("v", 2, 5, 6)
Case("multi_head", "MultiHeadAttention", [Q, K, V], num_heads=2,
     dims={0: ["b", "s", 8], 1: ["b", "t", 8], 2: ["b", "t", 6]})
Case("multi_head_bias", "MultiHeadAttention", [Q, K, V, W(randn("b", 22))],
     num_heads=2, scale=0.5)
Case("multi_head_padding", "MultiHeadAttention",
     [Q, K, V, None, np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32),
      randn("ab", 1, 2, 3, 5)], num_heads=2)
Case("multi_head_lengths", "MultiHeadAttention",
     [Q, K, V, None, np.array([2, 4], np.int32)], num_heads=2)
Case("multi_head_past", "MultiHeadAttention",
     [Q, randn("k", 2, 3, 8), randn("v", 2, 3, 8), W(randn("b", 24)), None,
      randn("ab", 2, 2, 3, 7), randn("pk", 2, 2, 4, 4),
      randn("pv", 2, 2, 4, 4)], 3, num_heads=2,
     dims={0: ["b", "s", 8], 1: ["b", "s", 8], 2: ["b", "s", 8],
           6: ["b", 2, "p", 4], 7: ["b", 2, "p", 4],
           5: ["b", 2, "s", "t"]})
Case("multi_head_cross", "MultiHeadAttention",
     [Q, randn("k", 2, 2, 5, 4), randn("v", 2, 2, 5, 4)], num_heads=2)
Case("multi_head_unidirectional", "MultiHeadAttention",
     [Q, randn("k", 2, 3, 8), randn("v", 2, 3, 8)], num_heads=4,
     unidirectional=1)
Case("multi_head_qk", "MultiHeadAttention",
     [Q, randn("k", 2, 3, 8), randn("v", 2, 3, 8), None,
      np.array([[1, 1, 0], [1, 1, 1]], np.int32)], ["y", "k", "v", "qk"],
     num_heads=2, typed=True)


def one_query(q, k, v, mask, old_k, old_v):
    """Two heads of four; a mask adds -10000 to what it excludes."""
    def heads(x):
        return np.moveaxis(x.reshape(2, -1, 2, 4), 2, 1)
    k = np.concatenate([old_k, heads(k)], 2)
    v = np.concatenate([old_v, heads(v)], 2)
    e = heads(q) @ np.swapaxes(k, 2, 3) / 2 + \
        (mask[:, None, None] - 1) * 10000.0
    e = np.exp(e - e.max(-1, keepdims=True))
    y = e / e.sum(-1, keepdims=True) @ v
    return np.moveaxis(y, 1, 2).reshape(2, 1, 8), k, v


Case("masked_multi_head", "DecoderMaskedMultiHeadAttention",
     [randn("q", 2, 1, 8), randn("k", 2, 1, 8), randn("v", 2, 1, 8),
      np.array([[1] * 5, [0, 1, 1, 0, 1]], np.int32), None,
      randn("pk", 2, 2, 4, 4), randn("pv", 2, 2, 4, 4)], 3, num_heads=2,
     oracle=one_query)

COS, SIN = W(np.cos(randn("cs", 9, 2))), W(np.sin(randn("cs", 9, 2)))
ROT = randn("rot", 2, 3, 8)
POS = np.array([[4, 5, 6], [0, 1, 2]], np.int64)
Case("rotary", "RotaryEmbedding", [ROT, POS, COS, SIN],
     dims={0: ["b", "s", 8], 1: ["b", "s"]})
Case("rotary_offset", "RotaryEmbedding", [ROT, np.array([2], np.int64), COS,
                                          SIN], interleaved=1)
Case("rotary_4d", "RotaryEmbedding",
     [randn("rot", 2, 2, 3, 4), POS, COS, SIN])
Case("rotary_partial", "RotaryEmbedding",
     [randn("rot", 2, 3, 12), POS, COS, SIN], num_heads=2,
     rotary_embedding_dim=4)


def gqa(name, past, length, seqlens, total, heads=2, kv=1, width=16, batch=2,
        outputs=3, more=(), packed=False, stored_total=True, dims=None,
        **attrs):
    q = randn(name + "q", batch, length, heads * width)
    k = randn(name + "k", batch, length, kv * width)
    v = randn(name + "v", batch, length, kv * width)
    old = [randn(name + "p%d" % i, batch, kv, past, width) for i in range(2)]
    total = np.array(total, np.int32)
    Case(name, "GroupQueryAttention",
         ([np.concatenate([q, k, v], 2), None, None] if packed else [q, k, v])
         + (old if past else [None, None]) +
         [np.array(seqlens, np.int32), W(total) if stored_total else total] +
         list(more), outputs, num_heads=heads, kv_num_heads=kv, dims=dims,
         **attrs)


GC = [W(np.cos(randn("gc", 8, 8))), W(np.sin(randn("gc", 8, 8)))]
gqa("gqa_prompt", 0, 4, [3, 3], 4)
gqa("gqa_prompt_packed_rotary", 0, 4, [3, 3], 4, packed=True, more=GC,
    do_rotary=1)
gqa("gqa_step", 5, 1, [5, 5], 6, more=GC, do_rotary=1)
gqa("gqa_step_ragged", 5, 1, [5, 3], 6, more=GC, do_rotary=1,
    rotary_interleaved=1)
gqa("gqa_step_total_is_data", 5, 1, [5, 4], 6, stored_total=False,
    dims={0: ["b", "s", 32], 1: ["b", "s", 16], 2: ["b", "s", 16],
          3: ["b", 1, "p", 16], 4: ["b", 1, "p", 16], 5: ["b"]})
# As exporters write it: both lengths come from the attention mask, of which x2
# holds the ones.
NODE = helper.make_node
Case("gqa_exported", "GroupQueryAttention",
     [randn("gx", 2, 1, 64), None, np.ones((2, 4), np.int64),
      randn("gpk", 2, 1, 3, 16), randn("gpv", 2, 1, 3, 16), Value("last"),
      Value("total")] + GC, 3, num_heads=2, kv_num_heads=1, do_rotary=1,
     dims={0: ["b", "s", 64], 2: ["b", "t"], 3: ["b", 1, "p", 16],
           4: ["b", 1, "p", 16]}, mask=2, before=[
         NODE("Constant", [], ["one"], value_ints=[1]),
         NODE("ReduceSum", ["x2", "one"], ["sum"], keepdims=0),
         NODE("Sub", ["sum", "one"], ["less"]),
         NODE("Cast", ["less"], ["last"], to=6),
         NODE("Shape", ["x2"], ["sizes"], start=1, end=2),
         NODE("Squeeze", ["sizes"], ["size"]),
         NODE("Cast", ["size"], ["total"], to=6)])
gqa("gqa_chunk", 3, 4, [6], 7, batch=1, more=GC, do_rotary=1)
gqa("gqa_window", 6, 1, [6, 5], 7, local_window_size=3)
gqa("gqa_window_prompt", 0, 5, [4, 4], 5, local_window_size=2)
gqa("gqa_softcap", 3, 1, [3, 3], 4, softcap=2.0, scale=0.7)
gqa("gqa_smooth", 3, 1, [3, 3], 4, smooth_softmax=1)
gqa("gqa_sink", 3, 1, [3, 2], 4,
    more=[None, None, None, None, W(randn("sink", 2))])
gqa("gqa_bias_positions", 3, 1, [3, 3], 4,
    more=GC + [np.array([[3], [3]], np.int64), randn("ab", 1, 2, 1, 4)],
    do_rotary=1)
gqa("gqa_not_causal", 0, 4, [3, 3], 4, causal=0)
LA = [randn("lq", 2, 3, 8), randn("lk", 2, 3, 8, scale=0.3),
      randn("lv", 2, 3, 8), randn("ls", 2, 2, 4, 4),
      -np.abs(randn("ld", 2, 3, 2)), np.abs(randn("lb", 2, 3, 2))]
Case("linear_attention", "LinearAttention", LA, 2, q_num_heads=2,
     kv_num_heads=2)
Case("linear_attention_gated", "LinearAttention", LA[:3] + [None, LA[4]], 2,
     q_num_heads=2, kv_num_heads=2, update_rule="gated", scale=0.4)
Case("causal_conv", "CausalConvWithState",
     [randn("x", 2, 4, 5), W(randn("w", 4, 1, 3)), W(randn("b", 4)),
      randn("s", 2, 4, 2)], 2, activation="silu")

# ---- 8 bits ----------------------------------------------------------------------------


def s(v):
    return W(np.array(v, F))


def z(v, dtype=np.uint8):
    return W(np.array(v, dtype))


U = randint("u", 0, 256, 2, 3, 4)
I = randint("i", -128, 128, 2, 3, 4, dtype=np.int8)
QA = [U, s(0.031), z(120)]
for op in ("Add", "Mul"):
    Case("qlinear_" + op.lower(), "QLinear" + op,
         QA + [randint("v", 0, 256, 3, 4), s(0.017), z(5), s(0.041), z(100)])
    Case("qlinear_%s_signed_stored" % op.lower(), "QLinear" + op,
         [I, s(0.05), z(-3, np.int8),
          W(randint("w", -128, 128, 4, dtype=np.int8)), s(0.02),
          z(10, np.int8), s(0.033), z(7, np.int8)])
Case("qlinear_add_saturates", "QLinearAdd",
     [U, s(0.9), z(0), U[::-1].copy(), s(0.8), z(0), s(0.011), z(0)])
Case("qlinear_sigmoid", "QLinearSigmoid", QA + [s(0.0041), z(2)])
Case("qlinear_sigmoid_signed", "QLinearSigmoid",
     [I, s(0.05), z(-3, np.int8), s(1 / 256), z(-128, np.int8)])
Case("qlinear_leaky_relu", "QLinearLeakyRelu", QA + [s(0.027), z(60)],
     alpha=0.17)
Case("qlinear_softmax", "QLinearSoftmax",
     QA + [s(1 / 256), z(0)], axis=-1,
     opset_=13)
Case("qlinear_softmax_old", "QLinearSoftmax", QA + [s(1 / 256), z(0)], axis=1,
     opset_=11)
QI = randint("qi", 0, 256, 1, 3, 5, 5)
Case("qlinear_average_pool", "QLinearAveragePool",
     [QI, s(0.03), z(100), s(0.027), z(90)], kernel_shape=[3, 3],
     pads=[1, 1, 1, 1], strides=[2, 2])
Case("qlinear_average_pool_last", "QLinearAveragePool",
     [nhwc(QI), s(0.03), z(100), s(0.0271), z(90)], kernel_shape=[2, 2],
     channels_last=1, count_include_pad=1)
Case("qlinear_global_pool", "QLinearGlobalAveragePool",
     [QI, s(0.03), z(100), s(0.021), z(90)])
Case("qlinear_global_pool_last", "QLinearGlobalAveragePool",
     [nhwc(QI), s(0.03), z(100), s(0.021), z(90)], channels_last=1)
Case("qlinear_reduce_mean", "QLinearReduceMean",
     [QI, s(0.03), z(100), s(0.0213), z(90)], axes=[1, 3], keepdims=0,
     oracle=lambda x, a, b, c, d: np.clip(np.rint(
         ((x.astype(F) - b) * a).mean((1, 3), dtype=F) / c) + d, 0,
         255).astype(np.uint8))
Case("qlinear_concat", "QLinearConcat",
     [s(0.035), z(110), U, s(0.031), z(120), randint("c", 0, 256, 2, 1, 4),
      s(0.05), z(128), randint("c", 0, 256, 2, 2, 4), s(0.035), z(110)],
     axis=1)
Case("qlinear_where", "QLinearWhere",
     [randint("c", 0, 2, 3, 4, dtype=bool), U, s(0.031), z(120),
      randint("v", 0, 256, 2, 3, 4), s(0.017), z(5), s(0.041), z(100)])
Case("qlinear_conv", "QLinearConv",
     [QI, s(0.03), z(100), W(randint("w", -128, 128, 4, 3, 3, 3,
                                     dtype=np.int8)),
      W(np.array([0.01, 0.02, 0.015, 0.005], F)), z([0] * 4, np.int8),
      s(0.3), z(128), W(randint("b", -900, 900, 4, dtype=np.int32))])
Case("qlinear_conv_last", "QLinearConv",
     [nhwc(QI), s(0.03), z(100), W(randint("w", -128, 128, 4, 3, 3, 3,
                                           dtype=np.int8)),
      s(0.01), z(0, np.int8), s(0.3), z(128)], channels_last=1,
     pads=[1, 1, 1, 1])
QW = W(randint("qw", -100, 100, 4, 5, dtype=np.int8))
QS5 = W((rng("qs5").random(5) * 0.02 + 0.01).astype(F))
Case("dynamic_matmul", "DynamicQuantizeMatMul",
     [randn("a", 2, 3, 4), QW, s(0.02), z(3, np.int8), W(randn("b", 5))],
     dims={0: ["b", "s", 4]})
Case("dynamic_matmul_columns", "DynamicQuantizeMatMul",
     [randn("a", 3, 4), W(randint("qw", 0, 256, 4, 5)), QS5,
      z([120, 128, 100, 3, 250])])
Case("dynamic_matmul_zeros", "DynamicQuantizeMatMul",
     [np.zeros((3, 4), F), QW, s(0.02)])
Case("matmul_to_float", "MatMulIntegerToFloat",
     [U, QW, s(0.03), QS5, z(100), z([0, 3, -2, 4, 1], np.int8),
      W(randn("b", 5))])
Case("matmul_to_float_signed", "MatMulIntegerToFloat",
     [I, QW, s(0.03), s(0.02)])
Case("matmul_integer16", "MatMulInteger16",
     [randint("a", -3000, 3000, 3, 4, dtype=np.int16),
      randint("b", -3000, 3000, 4, 5, dtype=np.int16)])
Case("mul_integer", "MulInteger", [U, z(12), U[::-1].copy(), z(255)],
     oracle=lambda a, x, b, y: (a.astype(np.int32) - x) *
     (b.astype(np.int32) - y))
Case("qgemm", "QGemm",
     [randint("a", 0, 256, 3, 4), s(0.03), z(100), QW, QS5,
      z([0, 3, -2, 4, 1], np.int8),
      W(randint("c", -500, 500, 5, dtype=np.int32)), s(0.1), z(128)],
     alpha=1.0)
Case("qgemm_float", "QGemm",
     [randint("a", 0, 256, 4, 3), s(0.03), z(100),
      W(randint("b", -100, 100, 5, 4, dtype=np.int8)), s(0.02),
      z(2, np.int8)], transA=1, transB=1, alpha=0.5)
Case("qgemm_saturates", "QGemm",
     [randint("a", 0, 256, 3, 4), s(0.03), z(100), QW, s(0.02),
      z(2, np.int8), None, s(0.001), z(128)])
QAT = [randint("qx", 0, 256, 2, 4, 8), W(randint("qw", -60, 60, 8, 24,
                                                dtype=np.int8)),
       W(randn("qb", 24)), s(0.02), s(0.02)]
Case("qattention", "QAttention",
     QAT + [np.array([3, 4], np.int32), z(128), z(2, np.int8)], num_heads=2)
Case("qattention_past", "QAttention",
     QAT + [None, z(128), z(2, np.int8), randn("past", 2, 2, 2, 3, 4)], 2,
     num_heads=2, unidirectional=1)
QE = [W(randint("e", 0, 256, 6, 8)), W(randint("p", 0, 256, 5, 8)),
      W(randint("s", 0, 256, 2, 8)), W(randint("g", 0, 256, 8)),
      W(randint("b", 0, 256, 8))]
Case("qembed_norm", "QEmbedLayerNormalization",
     [IDS, SEG] + QE + [MASK] + [s(0.02 + 0.01 * i) for i in range(5)] +
     [z(120 + i) for i in range(5)], 2)
FX = randn("f", 2, 3, 4, scale=3)
Case("quantize_u16", "QuantizeLinear", [FX, s(0.0001), z(32768, np.uint16)])
Case("quantize_i16_saturates", "QuantizeLinear",
     [np.append(FX.ravel(), [np.inf, -np.inf, 1e30]).astype(F), s(0.00001),
      z(-5, np.int16)])
Case("quantize_axis", "QuantizeLinear",
     [FX, W(np.array([0.01, 0.02, 0.5], F)), z([0, 100, 200])], axis=1)
Case("dequantize_u16", "DequantizeLinear",
     [randint("d", 0, 65536, 2, 3, dtype=np.uint16), s(0.001),
      z(32768, np.uint16)])
Case("dequantize_axis", "DequantizeLinear",
     [I, W(np.array([0.01, 0.02, 0.5], F)), z([0, 100, -20], np.int8)],
     axis=1)
Case("dequantize_int4", "DequantizeLinear",
     [Int4(randint("d", -8, 8, 3, 5, dtype=np.int8), False), s(0.1),
      Int4(np.array(2, np.int8), False)])
Case("dequantize_uint4", "DequantizeLinear",
     [Int4(randint("d", 0, 16, 3, 5), True), s(0.1)])


def lstm(name, direction, batch=1, steps=4, i=3, h=4, signed=True, bias=True,
         lengths=None, states=True, channels=False, peephole=False):
    d = 2 if direction == "bidirectional" else 1
    lo, hi, t = (-90, 90, np.int8) if signed else (0, 255, np.uint8)
    shape = (d, 4 * h) if channels else (d,)
    zero = np.zeros(shape, t) if signed else np.full(shape, 127, t)
    scale = [W((rng(name + str(k)).random(shape) * 0.005 + 0.005).astype(F))
             for k in range(2)]
    Case(name, "DynamicQuantizeLSTM",
         [randn(name + "x", steps, batch, i),
          W(randint(name + "w", lo, hi, d, i, 4 * h, dtype=t)),
          W(randint(name + "r", lo, hi, d, h, 4 * h, dtype=t)),
          W(randn(name + "b", d, 8 * h)) if bias else None,
          None if lengths is None else np.array(lengths, np.int32),
          randn(name + "h", d, batch, h) if states else None,
          randn(name + "c", d, batch, h) if states else None,
          W(randn(name + "p", d, 3 * h)) if peephole else None,
          scale[0], W(zero), scale[1], W(zero)], 3, direction=direction,
         hidden_size=h, dims={0: ["t", "b", i]} if not states else None)


lstm("lstm_forward", "forward", states=False, bias=False)
lstm("lstm_reverse", "reverse")
lstm("lstm_both", "bidirectional")
lstm("lstm_both_unsigned", "bidirectional", signed=False)
lstm("lstm_channels", "forward", channels=True)
lstm("lstm_peephole", "forward", peephole=True)
lstm("lstm_batch", "forward", batch=2)
lstm("lstm_batch_lengths", "bidirectional", batch=2, lengths=[4, 2])

# ---- blocks ------------------------------------------------------------------------------


def nbits(name, k, n, bits=4, block=16, zeros=None, bias=False, g_idx=False,
          rows=3, dtype=F, oracle=None, **attrs):
    blocks = (k + block - 1) // block
    r = rng(name)
    per = 8 // bits
    zp = {None: None,
          "packed": r.integers(0, 256, n * -(-blocks // per)).astype(np.uint8),
          "float": (r.random((n, blocks)) * (2 ** bits - 1)).astype(dtype)
          }[zeros]
    Case(name, "MatMulNBits",
         [randn(name + "a", 2, rows, k).astype(dtype),
          W(r.integers(0, 256, (n, blocks, block * bits // 8))
            .astype(np.uint8)),
          W((r.random(n * blocks) * 0.1 + 0.01).astype(F) if dtype == F else
            (2.0 ** -r.integers(3, 6, n * blocks)).astype(dtype)),
          None if zp is None else W(zp),
          W((np.arange(k) // block)[::-1].astype(np.int32).copy())
          if g_idx else None,
          W(randn(name + "b", n).astype(dtype)) if bias else None],
         K=k, N=n, bits=bits, block_size=block, oracle=oracle,
         dims={0: ["b", "s", k]}, **attrs)


def grouped(a, b, scales, zeros, g):
    """ONNX Runtime leaves packed zero points out where there is g_idx."""
    n = b.shape[0]
    w = np.stack([b & 15, b >> 4], -1).reshape(n, -1).astype(F)
    z = np.stack([zeros & 15, zeros >> 4], -1).reshape(n, -1).astype(F)
    return a @ ((w - z[:, g]) * scales.reshape(n, -1)[:, g]).T


nbits("nbits_4", 32, 5)
nbits("nbits_4_zeros", 48, 5, zeros="packed", bias=True)
nbits("nbits_4_float_zeros", 32, 4, zeros="float")
nbits("nbits_4_ragged", 40, 3, zeros="packed")
nbits("nbits_4_groups", 32, 4, g_idx=True)
nbits("nbits_4_groups_zeros", 32, 4, zeros="packed", g_idx=True,
      oracle=grouped)
nbits("nbits_8", 32, 4, bits=8, block=32, zeros="packed")
nbits("nbits_2", 32, 4, bits=2, block=16, zeros="packed")
nbits("nbits_4_half", 32, 4, dtype=H)
for kind in (0, 1):
    Case("bnb4_%s" % ("fp4", "nf4")[kind], "MatMulBnb4",
         [randn("a", 2, 3, 24), W(randint("b", 0, 256, 24 * 5 // 2)),
          W((rng("m").random(8) + 0.5).astype(F))], K=24, N=5, block_size=16,
         quant_type=kind)


def gather_blocks(name, data, shape, block=16, quantize_axis=1, gather_axis=0,
                  zeros=None, indices=None, **attrs):
    sc = list(shape)
    sc[quantize_axis] = -(-sc[quantize_axis] // block)
    Case(name, "GatherBlockQuantized",
         [data, np.array([[2, 0], [1, -1]] if indices is None else indices,
                         np.int64),
          W((rng(name).random(sc) * 0.1 + 0.01).astype(F)), zeros],
         block_size=block, quantize_axis=quantize_axis,
         gather_axis=gather_axis, **attrs)


gather_blocks("gather_blocks_uint4", Int4(randint("g", 0, 16, 3, 32), True),
              (3, 32), zeros=Int4(randint("z", 0, 16, 3, 2), True))
gather_blocks("gather_blocks_int4",
              Int4(randint("g", -8, 8, 3, 2, 32, dtype=np.int8), False),
              (3, 2, 32), quantize_axis=2, gather_axis=1,
              indices=[1, 0, 1])
gather_blocks("gather_blocks_bytes_4", W(randint("g", 0, 256, 3, 16)),
              (3, 32), bits=4, zeros=W(randint("z", 0, 256, 3, 1)))
gather_blocks("gather_blocks_bytes_8", W(randint("g", 0, 256, 3, 32)),
              (3, 32), bits=8)
gather_blocks("gather_blocks_outside", W(randint("g", 0, 256, 3, 32)),
              (3, 32), bits=8, indices=[0, 5, -4, 2])


# ---- experts -----------------------------------------------------------------------------


def moe(name, fusion=1, bias=True, **attrs):
    Case(name, "MoE",
         [randn(name + "x", 5, 8), randn(name + "r", 5, 4),
          W(randn(name + "1", 4, 6 * fusion, 8)),
          W(randn(name + "2", 4, 6 * fusion)) if bias else None,
          W(randn(name + "3", 4, 8, 6)),
          W(randn(name + "4", 4, 8)) if bias else None],
         dims={0: ["t", 8], 1: ["t", 4]}, **attrs)


moe("moe_relu", activation_type="relu", k=2)
moe("moe_gelu_normal", activation_type="gelu", k=3,
    normalize_routing_weights=1)
moe("moe_silu", activation_type="silu", k=1, bias=False)
moe("moe_swiglu", 2, activation_type="swiglu", swiglu_fusion=1, k=2,
    activation_alpha=1.702, activation_beta=1.0, swiglu_limit=0.7)


def qmoe(name, bits=4, block=0, zeros=False, weigh=False, fusion=1, **attrs):
    e, h, i = 3, 32, 16
    r = rng(name)

    def fc(n, k):
        blocks = k // block if block else 0
        per = 8 // bits
        shape = [e, n] + ([blocks] if block else [])
        packed = shape[:-1] + [-(-shape[-1] // per)]
        return [W(r.integers(0, 256, (e, n, k // per)).astype(np.uint8)),
                W((r.random(shape) * 0.02 + 0.005).astype(F)),
                W(randn(name + str(n), e, n))], \
            W(r.integers(0, 256, packed).astype(np.uint8)) if zeros else None
    (one, z1), (two, z2) = fc(i * fusion, h), fc(h, i)
    Case(name, "QMoE",
         [randn(name + "x", 1, 4, h), randn(name + "r", 4, e)] + one + two +
         [None] * 3 + [z1, z2, None] +
         ([np.abs(randn(name + "m", 4, e))] if weigh else []),
         expert_weight_bits=bits, **({"block_size": block} if block else {}),
         **attrs)


# On the CPU ONNX Runtime normalises whatever the attribute says.
qmoe("qmoe_4", activation_type="silu", k=2, normalize_routing_weights=1)
qmoe("qmoe_8_zeros", bits=8, zeros=True, activation_type="relu", k=2,
     normalize_routing_weights=1)
qmoe("qmoe_4_blocks_zeros", block=16, zeros=True, activation_type="swiglu",
     fusion=2, swiglu_fusion=1, k=2, normalize_routing_weights=1,
     activation_alpha=1.702, activation_beta=1.0)
qmoe("qmoe_4_weights", weigh=True, activation_type="silu", k=1)


# ---- writing -----------------------------------------------------------------------------


def tensor_of(name, w):
    if isinstance(w, Int4):
        return helper.make_tensor(name, w.kind, w.array.shape,
                                  w.array.ravel().astype(int))
    return numpy_helper.from_array(np.ascontiguousarray(w.array)
                                   if w.array.ndim else w.array, name)


def type_of(array):
    return helper.np_dtype_to_tensor_dtype(np.asarray(array).dtype)


def model_of(case, results=None):
    names, inputs, stored = [], [], []
    for i, x in enumerate(case.operands):
        name = "" if x is None else "x%d" % i
        if isinstance(x, Value):
            names.append(x.name)
            continue
        names.append(name)
        if i == case.mask: # an input that only the nodes in front read
            names[-1] = ""
        if isinstance(x, W):
            stored.append(tensor_of(name, x))
        elif x is not None:
            inputs.append(helper.make_tensor_value_info(
                name, type_of(x), case.dims.get(i, x.shape)))
    while names and not names[-1]:
        names.pop()
    attrs = {k.rstrip("_"): v for k, v in case.attrs.items()}
    node = helper.make_node(case.op, names, case.outputs, domain=case.domain,
                            **attrs)
    outputs = [n for n in case.outputs if n]
    infos = [helper.make_tensor_value_info(n, type_of(results[k]), None)
             if results else
             helper.make_tensor_value_info(n, TensorProto.FLOAT, None)
             if case.typed else onnx.ValueInfoProto(name=n)
             for k, n in enumerate(outputs)]
    graph = helper.make_graph(case.before + [node], case.name, inputs, infos, stored)
    return helper.make_model(
        graph, ir_version=10, producer_name="hull",
        opset_imports=[helper.make_opsetid("", case.opset),
                       helper.make_opsetid(MS, 1)])


def feeds_of(case):
    return {"x%d" % i: x for i, x in enumerate(case.operands)
            if x is not None and not isinstance(x, (W, Value))}


def expected(case):
    if case.oracle:
        args = [x.array if isinstance(x, W) else x for x in case.operands
                if x is not None]
        y = case.oracle(*args)
        y = list(y) if isinstance(y, tuple) else [y]
        return [np.ascontiguousarray(v, F) if v.dtype.kind == "f" else v
                for v in y]
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = \
        ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(
        model_of(case).SerializeToString(), options,
        providers=["CPUExecutionProvider"])
    return session.run(None, feeds_of(case))


# Operators some of whose stored operands decide structure.
STRUCTURE = {"ExpandDims", "GroupQueryAttention", "Pad", "Range", "Trilu"}


def save(path, name, array):
    with open(path, "wb") as f:
        f.write(numpy_helper.from_array(array, name).SerializeToString())


def write_set(case, folder, results):
    os.makedirs(folder)
    for i, (name, x) in enumerate(feeds_of(case).items()):
        save(os.path.join(folder, "input_%d.pb" % i), name, x)
    names = [n for n in case.outputs if n]
    for i, (name, y) in enumerate(zip(names, results)):
        save(os.path.join(folder, "output_%d.pb" % i), name, y)


def write(case, folder, seen):
    """The model and its answers. The first case of an operator with weights
    has other ones, too, and the answers after a refit from those."""
    results = expected(case)
    into = os.path.join(folder, "test_" + case.name)
    shutil.rmtree(into, ignore_errors=True)
    write_set(case, os.path.join(into, "test_data_set_0"), results)
    with open(os.path.join(into, "model.onnx"), "wb") as f:
        f.write(model_of(case, results).SerializeToString())
    if case.op in seen or case.op in STRUCTURE or \
            not any(isinstance(x, W) for x in case.operands):
        return
    seen.add(case.op)
    case.operands = [x.other() if isinstance(x, W) else x
                     for x in case.operands]
    results = expected(case)
    write_set(case, os.path.join(into, "other_set_0"), results)
    with open(os.path.join(into, "other.onnx"), "wb") as f:
        f.write(model_of(case, results).SerializeToString())


def main():
    args = sys.argv[1:]
    only = args.pop(1) if args[:1] == ["--only"] else ""
    if args[:1] == ["--only"]:
        args.pop(0)
    folder = args[0] if args else os.path.join(ROOT, "tests", "data",
                                               "onnx_contrib")
    bad, seen = 0, set()
    for case in CASES:
        if only not in case.name:
            continue
        try:
            write(case, folder, seen)
        except Exception as e:  # the runtime's own errors have no common base
            print("%s: %s" % (case.name, str(e).strip().splitlines()[-1]))
            bad += 1
    print("%d cases, %d without an expected output" % (len(CASES), bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
