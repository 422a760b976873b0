# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Hull authors
"""More cases of scripts/aten_conformance: layers, views, indices, creation."""
import torch

from aten_cases import (ALL, F, I, MOST, add, b8, bf16, c64, f16, f32, f64,
                        hostile, i32, i64, index, inf, nan, overload, pos, t,
                        turn, twin, u8, v)

# ---- products ----------------------------------------------------------------

for dt in F + [i64, i32, u8]:
    add("mm", t(dt, 2, 3), t(dt, 3, 4))
    add("mm", t(dt, 0, 3), t(dt, 3, 4))
    add("mm", t(dt, 2, 0), t(dt, 0, 4))
    add("bmm", t(dt, 2, 2, 3), t(dt, 2, 3, 4))
    add("bmm", t(dt, 0, 2, 3), t(dt, 0, 3, 4))
    add("mv", t(dt, 2, 3), t(dt, 3))
    for a, b in (((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)),
                 ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)),
                 ((2, 1, 2, 3), (5, 3, 4)), ((5, 2, 3), (3,)), ((3,), (5, 3, 2)),
                 ((2, 0), (0, 3)), ((0, 2, 3), (3, 4))):
        add("matmul", t(dt, *a), t(dt, *b))
    for beta, alpha in ((1, 1), (0, 1), (2, 3), (0.5, -1.5), (1, 0)):
        add("addmm", t(dt, 4), t(dt, 2, 3), t(dt, 3, 4), beta=beta, alpha=alpha)
        add("addmm", t(dt, 2, 4), t(dt, 2, 3), t(dt, 3, 4), beta=beta,
            alpha=alpha)
        add("baddbmm", t(dt, 2, 2, 4), t(dt, 2, 2, 3), t(dt, 2, 3, 4),
            beta=beta, alpha=alpha)
        add("baddbmm", t(dt, 1, 4), t(dt, 2, 2, 3), t(dt, 2, 3, 4), beta=beta,
            alpha=alpha)
        add("addmv", t(dt, 2), t(dt, 2, 3), t(dt, 3), beta=beta, alpha=alpha)
for dt in F:
    add("addmm", torch.full((2, 4), nan, dtype=dt), t(dt, 2, 3), t(dt, 3, 4),
        beta=0)
    add("linear", t(dt, 2, 3), t(dt, 4, 3))
    add("linear", t(dt, 3), t(dt, 4, 3), t(dt, 4))
    add("linear", t(dt, 2, 2, 3), t(dt, 4, 3), t(dt, 4))
    add("linear", t(dt, 2, 3), t(dt, 3))
    add("linear", t(dt, 0, 3), t(dt, 4, 3), t(dt, 4))
    add("addmm", t(dt, 4), t(dt, 2, 3), t(dt, 3, 4), pre=turn, note="strided ")
for eq, shapes in (("ij,jk->ik", ((2, 3), (3, 4))), ("ij->ji", ((2, 3),)),
                   ("bij,bjk->bik", ((2, 2, 3), (2, 3, 4))), ("i,i->", ((3,),
                   (3,))), ("i,j->ij", ((2,), (3,))), ("ii->i", ((3, 3),)),
                   ("ii", ((3, 3),)), ("...ij,...jk", ((2, 2, 3), (3, 4))),
                   ("bhid,bhjd->bhij", ((2, 2, 3, 4), (2, 2, 5, 4))),
                   ("ij,j->i", ((2, 3), (3,))), ("ijk->", ((2, 3, 2),)),
                   ("ij,ij,j->i", ((2, 3), (2, 3), (3,))),
                   ("bii->bi", ((2, 3, 3),)), ("i j, j k -> i k", ((2, 3),
                   (3, 4))), ("ij,kl->ijkl", ((2, 3), (2, 2)))):
    for dt in (f32, f64, i64):
        add("einsum", eq, [t(dt, *s) for s in shapes])

def loose(dt):
    """Where PyTorch adds up in a half, or in another order."""
    return {f16: (2e-2, 2e-2), bf16: (6e-2, 6e-2), f32: (1e-4, 1e-4),
            f64: (1e-7, 1e-7)}.get(dt)


# ---- convolution -------------------------------------------------------------

for dt in F:
    x1, x2, x3 = t(dt, 2, 4, 9), t(dt, 2, 4, 7, 6), t(dt, 1, 4, 5, 4, 5)
    for groups in (1, 2, 4):
        w1, w2, w3 = (t(dt, 4, 4 // groups, *[3, 2, 3][:n]) for n in (1, 2, 3))
        b = t(dt, 4)
        for s, p, d in ((1, 0, 1), (2, 1, 1), (1, 2, 2)):
            add("conv1d", x1, w1, b, [s], [p], [d], groups, tol=loose(dt))
            add("conv2d", x2, w2, b, [s, 1], [p, 0], [d, 1], groups, tol=loose(dt))
            add("conv3d", x3, w3, None, [s] * 3, [p] * 3, [1] * 3, groups, tol=loose(dt))
            for x, w in ((x1, w1), (x2, w2), (x3, w3)):
                n = x.dim() - 2
                dd = d if n < 3 else 1
                add("convolution", x, w, b, [s] * n, [p] * n, [dd] * n, False,
                    [0] * n, groups, tol=loose(dt))
                add("convolution", x, w, None, [s] * n, [min(p, 1)] * n,
                    [dd] * n, True, [s - 1] * n, groups, tol=loose(dt))
        for op, x, w in (("conv_transpose1d", x1, w1),
                         ("conv_transpose2d.input", x2, w2),
                         ("conv_transpose3d.input", x3, w3)):
            n = x.dim() - 2
            bb = t(dt, 4 // groups * groups) if groups == 4 else None
            add(op, x, w, bb, tol=loose(dt))
            add(op, x, w, None, [2] * n, [1] * n, [1] * n, groups, tol=loose(dt))
            add(op, x, w, None, [2] * n, [0] * n, [1] * n, groups, [2] * n, tol=loose(dt))
    for mode in ("same", "valid"):
        for d in (1, 2):
            add("conv1d.padding", x1, t(dt, 2, 4, 4), None, [1], mode, [d], tol=loose(dt))
            add("conv2d.padding", x2, t(dt, 2, 4, 3, 2), t(dt, 2), [1, 1], mode,
                [d, 1], tol=loose(dt))
            add("conv3d.padding", x3, t(dt, 2, 4, 2, 2, 2), None, [1] * 3, mode, tol=loose(dt))
    add("conv2d", x2[0], t(dt, 3, 4, 2, 2), t(dt, 3), tol=loose(dt))
    add("conv1d", x1[0], t(dt, 3, 4, 2), tol=loose(dt))
    add("conv2d", t(dt, 0, 4, 7, 6), t(dt, 3, 4, 2, 2), tol=loose(dt))
    add("conv2d", x2, t(dt, 4, 4, 3, 2), pre=turn, note="strided ", tol=loose(dt))
    add("conv_transpose2d.input", x2[0], t(dt, 4, 3, 2, 2), tol=loose(dt))
    add("convolution", x2[0], t(dt, 4, 4, 3, 2), None, [1, 1], [0, 0], [1, 1],
        False, [0, 0], 1, tol=loose(dt))
    add("conv2d", x2, t(dt, 4, 4, 3, 2), None, 2, 1, tol=loose(dt))
add("conv1d", t(i64, 1, 2, 5), t(i64, 2, 2, 2))

# ---- pooling -----------------------------------------------------------------

for dt in F + [i64, u8]:
    for n, shape in ((1, (2, 3, 9)), (2, (2, 3, 7, 8)), (3, (1, 2, 5, 6, 5))):
        x = t(dt, *shape)
        for k, s, p, d, ceil in ((2, None, 0, 1, False), (3, 2, 1, 1, False),
                                 (3, 2, 1, 1, True), (2, 3, 0, 2, True),
                                 (2, 1, 0, 1, True), (3, 1, 1, 2, False)):
            kk = [k] * n
            ss = [] if s is None else [s] * n
            names = [f"max_pool{n}d"]
            if n > 1:
                names.append(f"max_pool{n}d_with_indices")
            for op in names:
                add(op, x, kk, ss, [p] * n, [d] * n, ceil)
            if d == 1:
                for include in (True, False):
                    add(f"avg_pool{n}d", x, kk, ss, [p] * n, ceil, include)
                    if n > 1:
                        add(f"avg_pool{n}d", x, kk, ss, [p] * n, ceil, include,
                            5)
                        add(f"avg_pool{n}d", x, kk, ss, [p] * n, ceil, include,
                            -2)
        add(f"max_pool{n}d", x[0], [2] * n)
        if n > 1:
            add(f"max_pool{n}d_with_indices", x[0], [2] * n)
        add(f"avg_pool{n}d", x[0], [2] * n)
        for out in (1, 2, 3, 4):
            o = [out] * n
            names = [f"adaptive_avg_pool{n}d", f"adaptive_max_pool{n}d"]
            if n > 1:
                names.append(f"_adaptive_avg_pool{n}d")
            for op in names:
                add(op, x, o, tol=loose(dt))
                add(op, x[0], o, tol=loose(dt))
        add(f"adaptive_avg_pool{n}d", x, [11] * n)
        add(f"adaptive_max_pool{n}d", x, [11] * n)
        if n == 2:
            add("adaptive_avg_pool2d", x, [1, 3])
            add("_adaptive_avg_pool2d", x, [3, 1])
            add("adaptive_max_pool2d", x, [1, 3])
    add("max_pool2d", hostile(dt).repeat(2)[:9].reshape(1, 1, 3, 3), [2, 2], [1, 1])
    add("max_pool2d_with_indices", hostile(dt).repeat(2)[:9].reshape(1, 1, 3, 3), [2, 2],
        [1, 1])
    add("avg_pool2d", t(dt, 0, 2, 4, 4), [2, 2])
for dt in (f32, f64):
    for n in (2, 3):
        x = t(dt, 1, 2, *[4] * n)
        y, at = torch.ops.aten.__getattr__(
            f"max_pool{n}d_with_indices").default(x, [2] * n)
        add(f"max_unpool{n}d", y, at, [4] * n,
            *([[2] * n, [0] * n] if n == 3 else []))

# ---- norms -------------------------------------------------------------------

for dt in F:
    for shape in ((4, 3), (2, 3, 4), (2, 3, 4, 2), (1, 3, 2, 2, 2)):
        x, w, b = t(dt, *shape), t(dt, 3), t(dt, 3)
        m, var = t(dt, 3), pos(dt, 3)
        for ww, bb in ((w, b), (None, None)):
            add("batch_norm", x, ww, bb, m, var, False, 0.1, 1e-5, True)
            add("batch_norm", x, ww, bb, None, None, True, 0.1, 1e-5, True)
            add("native_batch_norm", x, ww, bb, m, var, False, 0.1, 1e-3)
            add("_native_batch_norm_legit", x, ww, bb, m, var, False, 0.1, 1e-3,
                post=lambda r: r[0])
            add("_native_batch_norm_legit_no_training", x, ww, bb, m, var, 0.1,
                1e-5)
            add("_native_batch_norm_legit.no_stats", x, ww, bb, True, 0.1, 1e-5)
            if len(shape) > 2:
                add("instance_norm", x, ww, bb, None, None, True, 0.1, 1e-5,
                    True)
                add("instance_norm", x, ww, bb, m, var, False, 0.1, 1e-5, True)
        add("batch_norm", x, w, None, m, var, False, 0.1, 1e-5, True)
    x = t(dt, 2, 6, 4)
    for groups in (1, 2, 3, 6):
        for w, b in ((t(dt, 6), t(dt, 6)), (None, None), (t(dt, 6), None),
                     (None, t(dt, 6))):
            add("group_norm", x, groups, w, b, 1e-4)
            add("native_group_norm", x, w, b, 2, 6, 4, groups, 1e-5)
    add("group_norm", t(dt, 2, 6), 3)
    add("group_norm", t(dt, 0, 6, 2), 3)
    for shape, norm in (((2, 3, 4), (4,)), ((2, 3, 4), (3, 4)), ((4,), (4,)),
                        ((0, 4), (4,)), ((2, 3, 4), (2, 3, 4))):
        x, w, b = t(dt, *shape), t(dt, *norm), t(dt, *norm)
        for ww, bb in ((w, b), (None, None), (w, None), (None, b)):
            add("layer_norm", x, norm, ww, bb, 1e-5)
            add("native_layer_norm", x, norm, ww, bb, 1e-3)
        add("rms_norm", x, norm, w)
        add("rms_norm", x, norm, None, 1e-3)
        add("_fused_rms_norm", x, norm, w, 1e-3)
    add("_weight_norm", t(dt, 3, 4), pos(dt, 3, 1), 0)
    add("_weight_norm", t(dt, 3, 4, 2), pos(dt, 1, 1, 2), 2)
    add("_weight_norm_interface", t(dt, 3, 4), pos(dt, 3, 1), 0)
    add("_weight_norm_interface", t(dt, 3, 4), pos(dt, 1, 4), 1)

# ---- attention, recurrent ----------------------------------------------------

for dt in F:
    q, k, val = t(dt, 2, 4, 3, 8), t(dt, 2, 4, 5, 8), t(dt, 2, 4, 5, 6)
    op = "scaled_dot_product_attention"
    add(op, q, k, val)
    add(op, q, k, val, scale=1.0)
    add(op, q, k, val, scale=0.3)
    add(op, q, k, val, is_causal=True)
    add(op, q, k, val, t(b8, 2, 1, 3, 5) | torch.eye(3, 5).bool())
    add(op, q, k, val, t(dt, 1, 4, 3, 5))
    add(op, q, k, val, t(dt, 3, 5), scale=0.5)
    add(op, q[0], k[0], val[0])
    add(op, q[0, 0], k[0, 0], val[0, 0], is_causal=True)
    add(op, q, k[:, :2], val[:, :2], enable_gqa=True)
    add(op, q, k, val, torch.zeros(3, 5).bool())
add("scaled_dot_product_attention", t(f32, 2, 3, 4), t(f32, 2, 3, 4),
    t(f32, 2, 3, 4), scale=0.0)


def rnn(op, gates, layers, both, biases, batch_first, dt, dropout=0.0):
    h, inp, b, steps, d = 3, 4, 2, 5, 2 if both else 1
    params = []
    for layer in range(layers):
        for _ in range(d):
            n = inp if layer == 0 else h * d
            params += [t(dt, gates * h, n, lo=-1, hi=1),
                       t(dt, gates * h, h, lo=-1, hi=1)]
            if biases:
                params += [t(dt, gates * h), t(dt, gates * h)]
    x = t(dt, b, steps, inp) if batch_first else t(dt, steps, b, inp)
    h0 = t(dt, layers * d, b, h)
    hx = [h0, t(dt, layers * d, b, h)] if gates == 4 else h0
    add(op, x, hx, params, biases, layers, dropout, False, both, batch_first,
        tol=loose(dt))


for op, gates in (("lstm.input", 4), ("gru.input", 3), ("rnn_tanh.input", 1),
                  ("rnn_relu.input", 1)):
    for dt in (f32, f64, f16, bf16):
        for layers, both, biases, batch_first in (
                (1, False, True, False), (1, True, True, True),
                (2, True, False, True), (2, False, True, True)):
            rnn(op, gates, layers, both, biases, batch_first, dt)
for dt in F:
    wi, wh = t(dt, 12, 4), t(dt, 12, 3)

# ---- padding, resampling -----------------------------------------------------

for dt in ALL:
    for n, shape, pads in ((1, (2, 5), (2, 1)), (2, (2, 4, 5), (2, 1, 0, 3)),
                           (3, (2, 3, 4, 5), (1, 2, 3, 0, 2, 1))):
        x = t(dt, 2, *shape)
        for kind in ("reflection", "replication"):
            add(f"{kind}_pad{n}d", x, pads)
            add(f"{kind}_pad{n}d", x[0], pads)
            add(f"{kind}_pad{n}d", x, [0] * (2 * n))
            add(f"{kind}_pad{n}d", x, [-1, 1] + [0] * (2 * n - 2))
            add(f"{kind}_pad{n}d", x, [1, -2] + [1] * (2 * n - 2))
        for mode in ("constant", "reflect", "replicate", "circular"):
            add("pad", x, pads, mode)
            add("pad", x, [-1, 1] + [0] * (2 * n - 2), mode)
    for p in ((1, 2), (-1, 2), (0, 0, 1, 1), (-1, -1, -1, 0), (2, -3), ()):
        add("constant_pad_nd", t(dt, 2, 5), p, 2)
        add("constant_pad_nd", t(dt, 2, 5), p, 1.5)
        add("constant_pad_nd", t(dt, 2, 5), p)
        add("pad", t(dt, 2, 5), p, "constant", 3.0)
add("constant_pad_nd", t(f32, 0, 3), (1, 1, 1, 1), -inf)
add("constant_pad_nd", t(i64, 3), (1, 1), 2**62 + 1)
add("constant_pad_nd", t(f32, 2, 3), (1, 1), nan)

for dt in F:
    for n, name in ((1, "linear1d"), (2, "bilinear2d"), (3, "trilinear3d"),
                    (2, "bicubic2d"), (1, "nearest1d"), (2, "nearest2d"),
                    (3, "nearest3d"), (1, "_exact1d"), (2, "_exact2d"),
                    (3, "_exact3d"), (2, "bilinear2d_aa"), (2, "bicubic2d_aa")):
        x = t(dt, 1, 2, *[5, 4, 3][:n], lo=0, hi=3)
        op = ("_upsample_nearest" + name if name[0] == "_" else
              "_upsample_" + name if name.endswith("aa") else
              "upsample_" + name)
        nearest = "nearest" in op
        antialias = name.endswith("aa")
        for align in ([()] if nearest else [(False,)] if antialias
                      else [(True,), (False,)]):
            for size in ([8, 9, 5][:n], [3, 2, 2][:n], [1, 1, 1][:n],
                         [5, 4, 3][:n]):
                add(op + ".vec", x, size, *align, None, tol=loose(dt))
                add(op, x, size, *align, tol=loose(dt))
            add(op, x, [8, 8, 3][:n], *align, *[1.7, 2.1, 1.3][:n],
                tol=loose(dt))
            for scale in ([2.0] * n, [1.7, 2.1, 1.3][:n], [0.6] * n):
                add(op + ".vec", x, None, *align, scale, tol=loose(dt))
    for mode in (0, 1, 2):
        for edge in (0, 1, 2):
            for align in (False, True):
                if dt in (f16, bf16) and (mode or edge == 2):
                    continue  # a half rounds the place itself
                x, g = t(dt, 2, 2, 4, 5), t(dt, 2, 3, 4, 2, lo=-1.4, hi=1.4)
                add("grid_sampler_2d", x, g, mode, edge, align, tol=loose(dt))
                add("grid_sampler", x, g, mode, edge, align, tol=loose(dt))
                if mode == 2:
                    continue
                x3 = t(dt, 1, 2, 3, 4, 5)
                g3 = t(dt, 1, 2, 3, 4, 3, lo=-1.4, hi=1.4)
                add("grid_sampler_3d", x3, g3, mode, edge, align, tol=loose(dt))
                add("grid_sampler", x3, g3, mode, edge, align, tol=loose(dt))
    for align in (False, True):
        add("affine_grid_generator", t(dt, 2, 2, 3), [2, 3, 4, 5], align)
        add("affine_grid_generator", t(dt, 1, 3, 4), [1, 2, 3, 2, 4], align)
add("grid_sampler_2d", t(f32, 1, 1, 3, 3), v(f32, nan, 0, inf, 0, 1e10, -1e10)
    .reshape(1, 1, 3, 2), 0, 0, False)
for dt in F:
    for k, d, p, s in (([2, 3], [1, 1], [0, 0], [1, 1]),
                       ([2, 2], [1, 2], [1, 1], [2, 1]),
                       ([3, 2], [2, 1], [1, 0], [2, 2])):
        x = t(dt, 2, 3, 6, 7)
        add("im2col", x, k, d, p, s)
        add("im2col", x[0], k, d, p, s)
        cols = torch.ops.aten.im2col(x, k, d, p, s)
        add("col2im", cols, [6, 7], k, d, p, s)
        add("col2im", cols[0], [6, 7], k, d, p, s)
for dt in ALL:
    add("pixel_shuffle", t(dt, 2, 8, 3, 2), 2)
    add("pixel_shuffle", t(dt, 8, 3, 2), 2)
    add("pixel_unshuffle", t(dt, 2, 2, 4, 6), 2)
    add("channel_shuffle", t(dt, 2, 6, 3), 3)
    add("native_channel_shuffle", t(dt, 2, 6, 3, 2), 3)

# ---- views -------------------------------------------------------------------

for dt in MOST:
    x = t(dt, 2, 3, 4)
    for op in ("view", "reshape", "_unsafe_view", "view_copy", "_reshape_copy"):
        for size in ([6, 4], [-1], [2, -1, 2], [2, 3, 4, 1], [24]):
            add(op, x, size)
        add(op, t(dt), [1, 1])
        add(op, t(dt, 1), [])
        add(op, t(dt, 0, 3), [3, 0])
        add(op, t(dt, 0, 3), [-1, 3])
    add("reshape", x, [4, 6], pre=turn, note="strided ")
    add("reshape", x, [12, 2], pre=lambda y: y.transpose(0, 2), note="turned ")
    for op in ("permute", "permute_copy"):
        add(op, x, [2, 0, 1])
        add(op, x, [-1, 0, -2])
        add(op, t(dt), [])
    for op in ("expand", "broadcast_to", "expand_copy"):
        add(op, t(dt, 3, 1), [2, 3, 4])
        add(op, t(dt, 3, 1), [-1, 4])
        add(op, t(dt), [2, 2])
        add(op, t(dt, 1), [0])
    add("expand_as", t(dt, 3, 1), x[:, :, :4])
    add("view_as", x, t(f32, 6, 4))
    add("reshape_as", x, t(f32, 6, 4))
    y = t(dt, 1, 3, 1, 2)
    for op in ("squeeze", "squeeze_copy"):
        add(op, y)
        for d in (0, 1, -2):
            add(op + ".dim", y, d)
        for d in ([0, 2], [], [1], [-2, 0]):
            add(op + ".dims", y, d)
        add(op + ".dim", t(dt), 0)
    for op in ("unsqueeze", "unsqueeze_copy"):
        for d in (0, 1, -1, 3):
            add(op, x, d)
        add(op, t(dt), 0)
    twin("unsqueeze_", x, 1)
    twin("squeeze_.dim", y, 0)
    twin("transpose_", x, 0, 1)
    for op in ("select.int", "select_copy.int"):
        for d, i in ((0, 1), (1, -1), (-1, 0)):
            add(op, x, d, i)
    for op in ("slice.Tensor", "slice_copy.Tensor"):
        for a in ((0, 0, 1), (1, 1), (2, 1, 3), (2, 0, 100, 2), (2, -3, -1),
                  (1, None, None, 2), (2, 3, 1), (0, 5, 9), (2, -100, 2),
                  (2, 0, 2**63 - 1, 3)):
            add(op, x, *a)
        add(op, x)
    add("narrow", x, 1, 1, 2)
    add("narrow", x, 2, -3, 2)
    for op in ("split_with_sizes", "split_with_sizes_copy", "split.sizes"):
        add(op, x, [1, 2], 1)
        add(op, x, [0, 1, 3], -1)
    for op in ("split.Tensor", "unsafe_split.Tensor", "chunk", "unsafe_chunk",
               "tensor_split.sections", "split_copy.Tensor"):
        for n in (1, 2, 3, 5):
            add(op, x, n, 2)
            add(op, x, n, 0)
        add(op, t(dt, 0, 2), 2, 0)
    add("unsafe_split_with_sizes", x, [1, 3], 2)
    for cuts in ([1, 2], [2, 1], [-1], [0, 7], []):
        add("tensor_split.indices", x, cuts, 2)
    for op in ("unbind.int", "unbind_copy.int"):
        add(op, x)
        add(op, x, -1)
        add(op, t(dt, 0, 2), 1)
    for op in ("diagonal", "diagonal_copy"):
        for o in (0, 1, -1, 2, -2, 5, -5):
            add(op, x, o)
            add(op, x, o, 1, 2)
            add(op, x, o, 2, 0)
            add(op, t(dt, 3, 4), o)
    for o in (0, 1, -2):
        add("diag", t(dt, 3), o)
        add("diag", t(dt, 3, 4), o)
        add("diag_embed", t(dt, 2, 3), o)
        add("diag_embed", t(dt, 2, 3), o, 0, 2)
        add("diagonal_scatter", torch.zeros(4, 5, dtype=dt),
            t(dt, 4, 5).diagonal(o).clone(), o)
        add("trace", t(dt, 3, 4))
        add("linalg_diagonal", x, offset=o)
    for op in ("transpose.int", "swapaxes", "swapdims", "transpose_copy.int"):
        add(op, x, 0, 2)
        add(op, x, -1, 1)
        add(op, t(dt), 0, -1)
    for op in ("movedim.int", "moveaxis.int"):
        add(op, x, 0, 2)
        add(op, x, -1, 0)
    add("t_copy", t(dt, 2, 3))
    add("t", t(dt, 2))
    add("mT", x)
    add("flatten.using_ints", x)
    add("flatten.using_ints", x, 1)
    add("flatten.using_ints", x, 0, 1)
    add("flatten.using_ints", t(dt))
    add("unflatten.int", x, 2, [2, 2])
    add("unflatten.int", x, -1, [-1, 2])
    for n, s in ((2, 1), (3, 2), (1, 1), (4, 1)):
        add("unfold", x, 2, n, s)
        add("unfold_copy", x, 1, min(n, 3), s)
    add("unfold", t(dt), 0, 1, 1)
    for op in ("as_strided",):
        add(op, x, [2, 2], [3, 1])
        add(op, x, [2, 2], [3, 1], 5)
        add(op, x, [3, 2], [1, 0], 2)
        add(op, x, [2, 3, 2], [1, 2, 5])
        add(op, x, [], [], 7)
        add(op, x, [4, 3], [1, 4], pre=lambda y: y.transpose(0, 2),
            note="turned ")
        add(op, x, [24], [1])
        add(op, t(dt, 5), [3, 3], [1, 1])
        add(op, x, [0, 3], [3, 1])
    for d in ([0], [1, 2], [-1], [], [0, 1, 2]):
        add("flip", x, d)
    add("flip", t(dt), [])
    add("flip", t(dt, 0, 2), [0])
    add("fliplr", x)
    add("flipud", x)
    for s, d in (([1], [0]), ([-1], [2]), ([5, -7], [1, 2]), ([3], []),
                 ([0], [1])):
        add("roll", x, s, d)
    add("roll", t(dt, 0, 3), [1], [0])
    for r in ([1, 1, 1], [2, 1, 3], [2, 1, 1, 1], [0, 1, 1], [3, 2, 1, 2]):
        add("repeat", x, r)
    add("repeat", t(dt), [2, 3])
    add("repeat", t(dt), [])
    for r in ([2], [2, 1], [2, 1, 1, 2], []):
        add("tile", x, r)
    for a in ((2,), (2, 1), (3, -1), (0, 0)):
        add("repeat_interleave.self_int", x, *a)
    add("cat", [x, t(dt, 2, 1, 4)], 1)
    add("cat", [x, x, x], -1)
    add("cat", [t(dt, 0), x], 0)
    add("cat", [t(dt, 0, 2), t(dt, 1, 2)])
    add("cat", [x])
    add("cat", [t(dt, 2), t(f64, 3), t(i64, 1)])
    add("concat", [t(dt, 2), t(i64, 3)])
    add("concatenate", [t(dt, 2), t(i64, 3)])
    add("stack", [t(dt, 2, 3), t(dt, 2, 3)], 1)
    add("stack", [t(dt), t(dt)], 0)
    add("stack", [t(dt, 2), t(f64, 2)], -1)
    for op in ("hstack", "vstack"):
        add(op, [t(dt, 2), t(dt, 2)])
        add(op, [t(dt), t(dt)])
        add(op, [t(dt, 2, 3), t(dt, 2, 3)])
    add("meshgrid", [t(dt, 2), t(dt, 3)])
    for ij in ("ij", "xy"):
        add("meshgrid.indexing", [t(dt, 2), t(dt, 3), t(dt, 2)], indexing=ij)
        add("meshgrid.indexing", [t(dt, 2)], indexing=ij)
    add("diff", x)
    add("diff", x, 2, 1)
    add("diff", t(dt, 4), 1, 0, t(dt, 1), t(dt, 2))
    for k in (-3, -1, 0, 1, 2, 5):
        for op in ("tril", "triu"):
            add(op, x, k)
            add(op, t(dt, 4, 3), k)
    add("select_scatter", x, t(dt, 2, 4), 1, -1)
    add("select_scatter", x, t(dt, 3, 4), 0, 0)
    for a in ((1, 0, 2), (2, 1, 4, 2), (0, None, None), (2, -3, -1),
              (2, 0, 100, 3), (1, 1, 1)):
        d, rest = a[0], a[1:]
        shape = list(overload("slice.Tensor")(x, d, *rest).shape)
        add("slice_scatter", x, t(dt, *shape), d, *rest)
    add("clone", x, memory_format=torch.preserve_format)
    add("contiguous", x, pre=turn)
    add("copy", x, t(dt, 4))
    add("copy", x, t(i64, 3, 1))
    for to in (f32, f64, f16, bf16, i64, i32, u8, b8):
        add("_to_copy", x, dtype=to)
        add("to.dtype", x, to)
        add("to.dtype", x, to, False, True)
        add("to.dtype_layout", x, dtype=to)
        add("type_as", x, t(to, 1))
        add("to.other", x, t(to, 1))
        add("to.device", x, "cpu", to)
    add("view.dtype", t(f32, 2, 3), i32)
    add("view.dtype", t(i64, 2, 3), f64)
for dt in F:
    for to in (i64, i32, u8, b8):
        add("_to_copy", v(dt, 1.9, -1.9, 0.5, 250, nan if to == b8 else 3),
            dtype=to)
    for to in F:
        add("_to_copy", hostile(dt), dtype=to)
add("_to_copy", v(i64, 300, -1, 2**40 + 5, 256), dtype=u8)
add("_to_copy", v(i64, 2**40 + 5, -2**40 - 7), dtype=i32)
add("_to_copy", v(i64, 2**62 + 1, 2**24 + 1), dtype=f32)
add("sym_size.int", t(f32, 2, 3), 1, fn=lambda x, d: x.new_full(
    [torch.ops.aten.sym_size.int(x, d)], 1.0), target="new_full")

# ---- indices -----------------------------------------------------------------

for dt in MOST:
    x = t(dt, 4, 5, 3)
    add("index_select", x, 1, index(5, 4))
    add("index_select", x, -1, index(3, 2, dt=i32))
    add("index_select", x, 0, index(4))
    add("index_select", x, 0, v(i64).reshape(0))
    add("index_select", t(dt), 0, v(i64, 0))
    add("gather", x, 1, index(5, 4, 2, 3))
    add("gather", x, -1, index(3, 2, 1, 5))
    add("gather", t(dt), 0, v(i64, 0, 0))
    add("gather", x, 0, torch.zeros(0, 5, 3, dtype=i64))
    add("take_along_dim", x, index(5, 4, 2, 3), 1)
    add("take_along_dim", x, index(5, 1, 2, 1), 1)
    add("take_along_dim", x, index(60, 4))
    add("take", x, index(60, 2, 2))
    for at in ([index(4, 3)], [None, index(5, 2)], [index(4, 2), index(5, 2)],
               [index(4, 2, 1), index(5, 3)], [index(4, 2), None, index(3, 2)],
               [None, index(5, 2), index(3, 2)], [index(4)], [None, None,
               index(3, 2, 2)], [v(i64, -1, -4)], [index(4, 2, dt=i32)],
               [index(4, 2), index(5, 2), index(3, 2)], [v(i64).reshape(0)],
               [None, v(i64).reshape(0)]):
        add("index.Tensor", x, at)
        add("_unsafe_index.Tensor", x, at)
        shape = list(x[tuple(slice(None) if a is None else a
                             for a in at)].shape)
        for accumulate in (False, True):
            if not accumulate:  # two writes to one place have no order
                if sum(a is not None for a in at) != 1:
                    continue
                at = [a if a is None else a.unique() for a in at]
                shape = list(x[tuple(slice(None) if a is None else a
                                     for a in at)].shape)
            for s in (shape, shape[1:], []):
                add("index_put", x, at, t(dt, *s), accumulate)
            twin("index_put_", x, at, t(dt, *shape), accumulate)
            add("_unsafe_index_put", x, at, t(dt, *shape), accumulate)
    add("index_put", x, [t(b8, 4, 5, 3)], t(dt))
    add("index_put", x, [t(b8, 4)], t(dt))
    add("index_put", x, [t(b8, 4, 5)], t(dt))
    add("index_put", x, [t(b8, 4, 5, 3)], t(dt, 1))
    add("index_put", x, [None, t(b8, 5)], t(dt))
    add("index_put", x, [t(b8, 4, 5, 3)], t(dt), True)
    add("masked_fill.Scalar", x, t(b8, 4, 1, 3), 1)
    at = torch.tensor([3, 0, 2])
    for op in ("index_add", "index_copy"):
        add(op, x, 0, at, t(dt, 3, 5, 3))
        add(op, x, -1, at[:2] % 3, t(dt, 4, 5, 2))
        add(op, t(dt), 0, v(i64, 0), t(dt, 1))
    add("index_add", x, 0, v(i64, 1, 1, 1), t(dt, 3, 5, 3), alpha=2)
    if dt.is_floating_point:
        add("index_add", x, 0, v(i64, 1, 1, 1), t(dt, 3, 5, 3), alpha=-1.5)
    add("index_fill.int_Scalar", x, 1, v(i64, 1, 3), 2)
    add("index_fill.int_Scalar", x, 1, v(i64, -1), 1.5)
    add("index_fill.int_Scalar", t(dt), 0, v(i64, 0), 1)
    add("index_fill.int_Tensor", x, 1, v(i64, 1, 3), t(dt))
    twin("index_add_", x, 0, at, t(dt, 3, 5, 3))
    twin("index_copy_", x, 0, at, t(dt, 3, 5, 3))
    twin("index_fill_.int_Scalar", x, 0, at, 2)
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        for include in (True, False):
            add("scatter_reduce.two", x, 0, index(4, 3, 2, 3), t(dt, 4, 5, 3),
                reduce, include_self=include)
            add("scatter_reduce.two", x, 1, index(5, 4, 7, 3), t(dt, 4, 7, 3),
                reduce, include_self=include)
            add("scatter_reduce.two", t(dt), 0, v(i64, 0), t(dt, 1), reduce,
                include_self=include)
            add("index_reduce", x, 0, v(i64, 1, 3, 1), t(dt, 3, 5, 3),
                "prod" if reduce == "sum" else reduce, include_self=include)
            twin("scatter_reduce_.two", x, 0, index(4, 3, 2, 3), t(dt, 4, 5, 3),
                 reduce, include_self=include)
    once = torch.stack([torch.randperm(4, generator=torch.Generator()
                        .manual_seed(i))[:3] for i in range(15)], 1)
    once = once.reshape(3, 5, 3)
    add("scatter.src", x, 0, once, t(dt, 4, 5, 3))
    add("scatter.value", x, 0, once, 2)
    add("scatter.value", x, 0, once, 1.5)
    add("scatter.src", x, 0, once[:2, :3, :2], t(dt, 4, 5, 3))
    add("scatter.src", t(dt), 0, v(i64, 0), t(dt, 1))
    add("scatter.src", x, 0, torch.zeros(0, 5, 3, dtype=i64), t(dt, 4, 5, 3))
    add("scatter.value", t(dt), 0, v(i64, 0).reshape([]), 1)
    add("scatter_add", x, 0, index(4, 3, 2, 3), t(dt, 4, 5, 3))
    add("scatter_add", x, -1, index(3, 4, 5, 2), t(dt, 4, 5, 3))
    add("scatter_add", t(dt), 0, v(i64, 0).reshape([]), t(dt))
    for r in ("add", "multiply"):
        add("scatter.reduce", x, 0, index(4, 3, 2, 3), t(dt, 4, 5, 3), reduce=r)
        add("scatter.value_reduce", x, 0, index(4, 3, 2, 3), 2, reduce=r)
    twin("scatter_.src", x, 0, once, t(dt, 4, 5, 3))
    twin("scatter_.value", x, 0, once, 2)
    twin("scatter_add_", x, 0, index(4, 3, 2, 3), t(dt, 4, 5, 3))
    add("put", x, v(i64, 1, 50, -1), t(dt, 3))
    add("put", x, v(i64, 1, 1, -1), t(dt, 3), True)
for dt in F:
    add("scatter_reduce.two", v(dt, 1, nan, inf), 0, v(i64, 0, 0, 1, 2),
        v(dt, nan, 1, 2, -inf), "amax")
    add("scatter_reduce.two", v(dt, 1, nan, inf), 0, v(i64, 0, 0, 2),
        v(dt, nan, 1, -inf), "mean", include_self=False)
    w = t(dt, 6, 4)
    add("embedding", w, index(6, 2, 3))
    add("embedding", w, index(6, 2, dt=i32))
    add("embedding", w, index(6))
    add("embedding", w, index(6, 3), 2)
    at, off = index(6, 7), v(i64, 0, 3, 3)
    for mode in (0, 1, 2):
        for last in (False, True):
            offsets = v(i64, 0, 3, 3, 7) if last else off
            per = t(dt, 7) if mode == 0 else None
            for p in ({None, -1} if per is None else {None}):
                add("_embedding_bag", w, at, offsets, False, mode, False, None,
                    last, post=lambda r: r[0])
                add("_embedding_bag", w, v(i64, 1, 2, 1, 3, 4, 2, 2), offsets,
                    False, mode, False, None, last, 2, post=lambda r: r[0])
                add("_embedding_bag_forward_only", w, at, offsets, False, mode,
                    False, None, last, post=lambda r: r[0])
                add("embedding_bag.padding_idx", w, at, offsets, False, mode,
                    False, None, last, 2, post=lambda r: r[0])
                add("embedding_bag", w, at, offsets, False, mode, False, None,
                    last, post=lambda r: r[0])
            if per is not None:
                add("_embedding_bag", w, at, offsets, False, mode, False, per,
                    last, post=lambda r: r[0])
    add("_embedding_bag", w, at.to(i32), off.to(i32), False, 2,
        post=lambda r: r[0])
    for p in (0.0, 1.0, 2.0, 3.0, 0.5, inf):
        for mode in (None, 1, 2):
            add("_cdist_forward", t(dt, 2, 3, 4), t(dt, 2, 5, 4), p, mode)
            add("cdist", t(dt, 3, 4), t(dt, 5, 4), p, mode)
        add("_cdist_forward", t(dt, 1, 3, 4), t(dt, 2, 5, 4), p, None)
        add("_cdist_forward", t(dt, 3, 0), t(dt, 2, 0), p, None)
        add("_pdist_forward", t(dt, 4, 3), p)
        add("_pdist_forward", t(dt, 1, 3), p)
        add("pdist", t(dt, 4, 3), p)
        add("pairwise_distance", t(dt, 4, 3), t(dt, 4, 3), p)
        add("dist", t(dt, 4, 3), t(dt, 4, 3), p)

# ---- losses ------------------------------------------------------------------

for dt in F:
    x, y = t(dt, 4, 5), index(5, 4)
    for red in (0, 1, 2):
        add("nll_loss", x, y, None, red)
        add("nll_loss", x, y, pos(dt, 5), red, 2)
        add("nll_loss_nd", x, y, None, red)
        add("nll_loss_forward", x, y, None, red, -100)
        add("nll_loss2d_forward", t(dt, 2, 5, 3, 2), index(5, 2, 3, 2), None,
            red, 1)
        add("cross_entropy_loss", x, y, None, red)
        add("cross_entropy_loss", x, y, pos(dt, 5), red, 1)
        add("cross_entropy_loss", x, y, None, red, -100, 0.2)
        add("cross_entropy_loss", x, pos(dt, 4, 5), None, red)
        add("cross_entropy_loss", t(dt, 2, 5, 3), index(5, 2, 3), None, red)
        add("mse_loss", x, t(dt, 4, 5), red)
        add("l1_loss", x, t(dt, 4, 5), red)
        add("smooth_l1_loss", x, t(dt, 4, 5), red, 0.5)
        add("huber_loss", x, t(dt, 4, 5), red, 0.7)
        add("kl_div", x, pos(dt, 4, 5), red)
        add("kl_div", x, t(dt, 4, 5), red, log_target=True)
        add("binary_cross_entropy", pos(dt, 4, hi=1.0), pos(dt, 4, hi=1.0),
            None, red)
        add("binary_cross_entropy_with_logits", x, t(dt, 4, 5), None, None, red,
            tol=loose(dt))

# ---- creation ----------------------------------------------------------------

for to in (None, f32, f64, f16, bf16, i64, i32, u8, b8):
    for size in ([2, 3], [], [0, 2]):
        add("zeros", size, dtype=to)
        add("ones", size, dtype=to)
        add("full", size, 2, dtype=to)
        add("full", size, 1.5, dtype=to)
        add("full", size, True, dtype=to)
        add("empty.memory_format", size, dtype=to, type_only=True)
        add("empty_strided", size, [3, 1][:len(size)], dtype=to, type_only=True)
        add("empty_permuted", size, list(range(len(size))), dtype=to,
            type_only=True)
        for x in (t(i64, 2), t(f16, 2)):
            add("new_zeros", x, size, dtype=to)
            add("new_ones", x, size, dtype=to)
            add("new_full", x, size, 3, dtype=to)
            add("new_full", x, size, 1.5, dtype=to)
            add("new_empty", x, size, dtype=to, type_only=True)
            add("new_empty_strided", x, size, [3, 1][:len(size)], dtype=to,
                type_only=True)
    for x in (t(f32, 2, 3), t(i64, 2), t(b8)):
        add("zeros_like", x, dtype=to)
        add("ones_like", x, dtype=to)
        add("full_like", x, 2, dtype=to)
        add("full_like", x, 1.5, dtype=to)
        add("empty_like", x, dtype=to, type_only=True)
    for s in (2, 1.5, True, -1, inf, nan, 2**53 + 1):
        if to in (None, f32, f64, f16, bf16) or (isinstance(s, (int, bool))
                                                 and abs(s) < 100):
            add("scalar_tensor", s, dtype=to)
            add("full", [2], s, dtype=to)
    for a in ((5,), (0,), (2.5,)):
        add("arange", *a, dtype=to)
    for a in ((1, 5), (-3, 3), (0.5, 4)):
        add("arange.start", *a, dtype=to)
    for a in ((1, 10, 3), (5, 0, -2), (0, 1, 0.25), (0.5, 3, 0.7), (3, 3, 1),
              (-2.5, 3, 1.5)):
        add("arange.start_step", *a, dtype=to)
    for a in ((0, 1, 5), (-3, 3, 7), (1, 10, 4), (2, 2, 1), (0, 1, 0),
              (5, -5, 6), (0.1, 0.9, 11), (0, 10, 7)):
        if to == u8 and min(a) < 0:
            continue  # C leaves negative floats as bytes open
        add("linspace", *a, dtype=to)
        if to not in (i64, i32, u8) or max(a[:2]) < 3:
            add("logspace", *a, dtype=to)
    add("eye", 3, dtype=to)
    add("eye.m", 2, 4, dtype=to)
    if to in (i64, i32):
        add("tril_indices", 3, 4, 1, dtype=to)
        add("triu_indices", 4, 3, -1, dtype=to)
for a in ((3, 3), (2, 5), (5, 2), (0, 3), (3, 0)):
    for o in (-2, -1, 0, 1, 3, -7, 7):
        add("tril_indices", *a, o)
        add("triu_indices", *a, o)
for dt in ALL:
    for s in (2, 1.5, -1):
        add("fill.Scalar", t(dt, 2, 3), s)
    add("fill.Tensor", t(dt, 2, 3), t(f32))
    add("fill.Tensor", t(dt, 2, 3), t(i64))
    add("zero", t(dt, 2, 3))
    twin("fill_.Tensor", t(dt, 2, 3), t(f32))
    add("one_hot", index(4, 2, 3), 5)
for op in ("hann_window", "hamming_window", "blackman_window",
           "bartlett_window"):
    for n in (0, 1, 2, 5, 8):
        add(op, n)
        add(op, n, dtype=f64)
        add(op + ".periodic", n, False)
        add(op + ".periodic", n, True)
add("resize_", t(f32, 2, 3), [3, 2], fn=lambda x, s: torch.ops.aten.resize_(
    torch.ops.aten.clone(x), s))
add("resize_", t(f32, 2, 3), [2, 2], fn=lambda x, s: torch.ops.aten.resize_(
    torch.ops.aten.clone(x), s))
add("resize_", t(i64, 6), [2, 3], fn=lambda x, s: torch.ops.aten.resize_(
    torch.ops.aten.clone(x), s))

# ---- Fourier -----------------------------------------------------------------


def real(z):
    return torch.ops.aten.view_as_real.default(z)


def from_real(op):
    call = overload(op)
    return lambda x, *a, **k: call(torch.ops.aten.view_as_complex.default(x),
                                   *a, **k)


TOL = (1e-4, 1e-5)
for dt in (f32, f64):
    for n in (8, 5, 1):
        x = t(dt, 3, n)
        for norm in (0, 1, 2):
            for one in (True, False):
                add("_fft_r2c", x, [1], norm, one, post=real, tol=TOL)
                add("_fft_r2c", x, [0, 1], norm, one, post=real, tol=TOL)
                add("_fft_r2c", x, [0], norm, one, post=real, tol=TOL)
            z = t(dt, 3, n, 2)
            for forward in (True, False):
                for dims in ([1], [0], [0, 1]):
                    add("_fft_c2c", z, dims, norm, forward, post=real, tol=TOL,
                        fn=from_real("_fft_c2c"))
            for last in (n * 2 - 2, n * 2 - 1):
                if last > 0:
                    for dims in ([1], [0, 1]):
                        add("_fft_c2r", z, dims, norm, last, tol=TOL,
                            fn=from_real("_fft_c2r"))
        for norm in (None, "ortho", "forward", "backward"):
            for size in (None, 4, 11):
                add("fft_rfft", x, size, -1, norm, post=real, tol=TOL)
                add("fft_fft", x, size, 0, norm, post=real, tol=TOL)
                add("fft_ifft", t(dt, 3, n, 2), size, -1, norm, post=real,
                    tol=TOL, fn=from_real("fft_ifft"))
                add("fft_ihfft", x, size, -1, norm, tol=TOL, post=lambda r:
                    real(torch.ops.aten.resolve_conj.default(r)))
                add("fft_irfft", t(dt, 3, n, 2), size or 2 * n, -1, norm,
                    tol=TOL, fn=from_real("fft_irfft"))
                add("fft_hfft", t(dt, 3, n, 2), size or 2 * n, -1, norm,
                    tol=TOL, fn=from_real("fft_hfft"))
        add("fft_rfft2", t(dt, 2, 4, n), post=real, tol=TOL)
        add("fft_fft2", t(dt, 2, 4, n), post=real, tol=TOL)
        add("fft_fftn", t(dt, 2, 4, n), post=real, tol=TOL)
        add("fft_rfftn", t(dt, 2, 4, n), post=real, tol=TOL)
        z = t(dt, 2, 4, 5, 2)
        add("fft_ifft2", z, post=real, tol=TOL, fn=from_real("fft_ifft2"))
        add("fft_ifftn", z, post=real, tol=TOL, fn=from_real("fft_ifftn"))
        add("fft_irfft2", z, [3, 8], tol=TOL, fn=from_real("fft_irfft2"))
        add("fft_irfftn", z, [2, 4, 8], tol=TOL, fn=from_real("fft_irfftn"))
    for shift in ("fft_fftshift", "fft_ifftshift"):
        add(shift, t(dt, 4, 5))
        add(shift, t(dt, 4, 5), [1])
    add("fft_fftfreq", 6)
    add("fft_rfftfreq", 7)
    sig = t(dt, 2, 40)
    for window in (None, pos(dt, 8), pos(dt, 6)):
        for normalized in (False, True):
            for one in (True, False):
                add("stft", sig, 8, 3, None if window is None else
                    window.numel(), window, normalized, one, True, post=real,
                    tol=TOL)
                add("stft.center", sig, 8, 4, None if window is None else
                    window.numel(), window, True, "reflect", normalized, one,
                    True, post=real, tol=TOL)
    add("stft", sig[0], 8, None, None, None, False, True, False, tol=TOL)
    w8 = pos(dt, 8)
    spec = torch.view_as_real(torch.stft(sig, 8, 2, window=w8,
                                         return_complex=True))
    add("istft", spec, 8, 2, None, w8, tol=TOL, fn=from_real("istft"))
    add("istft", spec, 8, 2, None, w8, length=37, tol=TOL,
        fn=from_real("istft"))
    a, b = t(dt, 3, 4), t(dt, 3, 4)
    for op in ("complex", "polar"):
        add(op, a, b, post=real)
    z = t(dt, 3, 4, 2)
    w = t(dt, 4, 2)
    for op in ("real", "imag", "abs", "angle"):
        add(op, z, fn=from_real(op), target=op)
    add("conj", z, fn=lambda x: torch.view_as_real(torch.ops.aten.resolve_conj(
        torch.ops.aten.conj(torch.view_as_complex(x)))), target="resolve_conj")
    for op in ("mul", "add", "sub", "div"):
        add(op + ".Tensor", z, w, note="complex ", fn=lambda x, y, op=op: real(
            overload(op + ".Tensor")(torch.view_as_complex(x),
                                     torch.view_as_complex(y))))
        add(op + ".Tensor", z, t(dt, 4), note="complex ",
            fn=lambda x, y, op=op: real(overload(op + ".Tensor")(
                torch.view_as_complex(x), y)))
    for op, extra in (("reshape", ([4, 3],)), ("unsqueeze", (1,)),
                      ("transpose.int", (0, 1)), ("slice.Tensor", (1, 1, 3)),
                      ("permute", ([1, 0],)), ("expand", ([2, 3, 4],)),
                      ("view", ([12],)), ("flip", ([1],)), ("neg", ()),
                      ("select.int", (0, 1)), ("squeeze", ()), ("exp", ()),
                      ("sum.dim_IntList", ([1],)), ("flatten.using_ints", ())):
        add(op, z, note="complex ", target=op, fn=lambda x, op=op, e=extra:
            real(overload(op)(torch.view_as_complex(x), *e)))
    add("view_as_real", z, fn=lambda x: real(torch.view_as_complex(x)),
        target="view_as_real")
    add("view_as_complex", z, fn=lambda x: real(torch.view_as_complex(x)),
        target="view_as_complex")

# ---- sizes that data decide ---------------------------------------------------

for dt in MOST:
    x = t(dt, 3, 4)
    add("nonzero", x)
    add("nonzero", torch.zeros(2, 3, dtype=dt))
    add("nonzero", t(dt, 2, 3, 2))
    add("nonzero_numpy", x)
    add("argwhere", x)
    add("masked_select", x, t(b8, 3, 4))
    add("masked_select", x, t(b8, 4))
    add("index.Tensor", x, [t(b8, 3, 4)])
    add("index.Tensor", x, [t(b8, 3)])
    add("index.Tensor", x, [None, t(b8, 4)])
    add("index.Tensor", t(dt, 3, 4, 2), [t(b8, 3, 4)])
    add("index.Tensor", t(dt, 2, 3, 4), [None, t(b8, 3, 4)])
    add("index.Tensor", x, [torch.zeros(3, dtype=b8)])
    add("repeat_interleave.self_Tensor", x, v(i64, 2, 0, 1), 0)
    add("repeat_interleave.self_Tensor", x, v(i64, 2, 0, 1, 3), 1)
    add("repeat_interleave.self_Tensor", x, v(i64, 2), 0)
    add("repeat_interleave.self_Tensor", t(dt, 4), v(i64, 2, 0, 1, 3))
    add("repeat_interleave.self_Tensor", t(dt, 4), v(i64, 2, 0, 1, 3), 0,
        output_size=6)
add("repeat_interleave.Tensor", v(i64, 2, 0, 1, 3))
add("where", t(b8, 2, 3))


def by_item(op):
    call = overload(op)

    def fn(x):
        n = call(x)
        torch._check(n >= 0)
        torch._check(n <= 64)
        return torch.ops.aten.full.default([n], 1.5)
    return fn


for op in ("item", "_local_scalar_dense"):
    add(op, v(i64, 3).reshape([]), fn=by_item(op))

for dt in (i64, u8, b8):  # of floats it is refused: NaNs
    add("_unique2", t(dt, 8), post=lambda r: r[0])
    add("_unique2", t(dt, 3, 4), True, True, True)
    add("unique_dim", t(dt, 4, 1, lo=0, hi=2), 0, True, True, True)
for dt in (f32, f64):
    z = t(dt, 3, 4, 2)
    add("conj_physical", z, post=real, fn=from_real("conj_physical"))
    add("view_as_real_copy", z, fn=from_real("view_as_real_copy"))
    add("view_as_complex_copy", z, post=real)
    add("xlogy.Scalar_Self", 2.5, pos(dt, 3))
    add("nll_loss2d", t(dt, 2, 5, 3, 2), index(5, 2, 3, 2))

# ---- linear algebra, signal --------------------------------------------------

for dt in (f32, f64):
    m = t(dt, 2, 3, 3) + 3 * torch.eye(3, dtype=dt)
    add("linalg_det", m, tol=TOL)
    add("det", m, tol=TOL)
