# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Hull authors
"""The cases of tests/ops for what PyTorch lacks: regions of images, and
recurrences with all that ONNX allows. Written out by their formulas."""

import itertools
import math

import numpy as np
import torch

from op_cases import DT, INF, NAN, case, d, exact, npt, of, rand, to


def align_axis(low, high, size, bins, samples, half):
    """Places and weights of the samples of every bin; None: outside."""
    low, high = low - 0.5 * half, high - 0.5 * half
    length = high - low if half else max(high - low, 1.0)
    count = samples or max(math.ceil(length / bins), 0)
    out = []
    for b in range(bins):
        out.append([])
        for k in range(count):
            v = low + b * length / bins + (k + 0.5) * length / bins / count
            if v < -1 or v > size:
                out[-1].append(None)
                continue
            v = max(v, 0.0)
            i = min(int(v), size - 1)
            j = min(i + 1, size - 1)
            out[-1].append((i, j, v - i if j > i else 0.0))
    return out


def roi_align(x, rois, batch, out, scale, samples, top, half):
    y = np.zeros((len(rois), x.shape[1], *out))
    for r, (x0, y0, x1, y1) in enumerate(rois * scale):
        rows = align_axis(y0, y1, x.shape[2], out[0], samples, half)
        cols = align_axis(x0, x1, x.shape[3], out[1], samples, half)
        for c, p, q in np.ndindex(*y.shape[1:]):
            plane, got = x[batch[r], c], []
            for i, k in itertools.product(rows[p], cols[q]):
                v = [0.0]
                if i and k:
                    v = [wy * wx * plane[a, b]
                         for a, wy in ((i[0], 1 - i[2]), (i[1], i[2]))
                         for b, wx in ((k[0], 1 - k[2]), (k[1], k[2]))]
                got.append(max(v) if top else sum(v))
            if got:
                y[r, c, p, q] = max(got) if top else sum(got) / len(got)
    return npt(y)


def roi_pool(x, rois, out, scale):
    y = np.zeros((len(rois), x.shape[1], *out))

    def span(low, high, size, bins, k):
        low, high = round_half(low * scale), round_half(high * scale)
        part = max(high - low + 1, 1) / bins
        edge = (low + math.floor(k * part), low + math.ceil((k + 1) * part))
        return [min(max(e, 0), size) for e in edge]

    for r, (b, x0, y0, x1, y1) in enumerate(rois):
        for c, p, q in np.ndindex(*y.shape[1:]):
            i, j = span(y0, y1, x.shape[2], out[0], p)
            k, m = span(x0, x1, x.shape[3], out[1], q)
            if j > i and m > k:
                y[r, c, p, q] = x[int(b), c, i:j, k:m].max()
    return npt(y)


def round_half(v):
    return math.floor(abs(v) + 0.5) * (1 if v >= 0 else -1)


def regions():
    boxes = [[0, 0, 4, 3], [1.5, 0.25, 3.0, 2.5], [-3, -2, 9, 8], [2, 2, 2, 2]]
    of_image = of("i64", [0, 1, -1, 0])
    for dt in ("f32", "f64"):
        x, r = rand(dt, 2, 2, 4, 5), of(dt, boxes, 4, 4)
        for samples, top, half in ((0, False, False), (2, False, True),
                                   (0, True, True), (1, True, False)):
            case("roi_align", [x, r, of_image],
                 to(dt, roi_align(d(x).numpy(), d(r).numpy(), [0, 1, 1, 0],
                                  (2, 3), 0.5, samples, top, half)),
                 out=[2, 3], scale=0.5, samples=samples, max=top,
                 half_pixel=half)
        r = of(dt, [[b, *box] for b, box in zip((0, 1, 1, 0), boxes)], 4, 5)
        for scale in (1.0, 0.5):
            case("roi_pool", [x, r],
                 to(dt, roi_pool(d(x).numpy(), d(r).numpy(), (2, 3), scale)),
                 out=[2, 3], scale=scale)
    x, one = rand("f32", 1, 1, 2, 2), of("f32", [0, 0, 1, 1], 1, 4)
    zero = of("i64", [0])
    for bad in (1, -2, 2**62):
        case("roi_align", [x, one, of("i64", [bad])], None, error="index",
             out=[1, 1])
    for v in (NAN, INF, 1e30):
        case("roi_align", [x, of("f32", [0, 0, v, 1], 1, 4), zero], None,
             error="region", out=[1, 1])
        case("roi_pool", [x, of("f32", [0, v, 0, 1, 1], 1, 5)], None,
             error="region", out=[1, 1])
        case("roi_pool", [x, of("f32", [v, 0, 0, 1, 1], 1, 5)], None,
             error="image", out=[1, 1])
    case("roi_align", [torch.zeros(1, 1, 0, 0), one, zero],
         torch.zeros(1, 1, 1, 1), out=[1, 1])
    case("roi_pool", [torch.zeros(1, 1, 0, 0), of("f32", [0] * 5, 1, 5)],
         torch.zeros(1, 1, 1, 1), out=[1, 1])
    case("roi_align", [x, torch.zeros(0, 4), torch.zeros(0, dtype=DT["i64"])],
         torch.zeros(0, 1, 1, 1), out=[1, 1])
    crops()


def crops():
    """resize of a region: places by TensorFlow's rule, per axis."""
    def axis(v, low, high, size, k):
        n = v.shape[k]
        at = [(low * (n - 1) + i * (high - low) * (n - 1) / (size - 1)
               if size > 1 else 0.5 * (low + high) * (n - 1))
              for i in range(size)]
        parts = []
        for p in at:
            i = min(max(math.floor(p), 0), n - 1)
            j = min(max(math.floor(p) + 1, 0), n - 1)
            t = p - math.floor(p)
            part = v.take([i], k) * (1 - t) + v.take([j], k) * t
            parts.append(part if 0 <= p <= n - 1 else part * NAN)
        return np.concatenate(parts, k)

    for dt in ("f32", "f64"):
        x = rand(dt, 1, 4, 5)
        for box in ([0.25, 0.5, 0.75, 1.0], [0.5, -0.25, 1.5, 1.0],
                    [1.0, 0.75, 0.0, 0.25]):
            for size in ((3, 4), (1, 2)):
                y = d(x).numpy()
                for k in range(2):
                    y = axis(y, box[k], box[2 + k], size[k], 1 + k)
                y = np.where(np.isnan(y), 9.5, y)
                case("resize", [x, of(dt, box)], to(dt, npt(y)),
                     size=list(size), mode="linear",
                     coord="tf_crop_and_resize", extrapolation=9.5)
    ten = torch.arange(10, dtype=torch.float32)
    picks = of("i64", [0, 1, 2, 4, 5, 7, 8])
    case("resize", [ten, None, of("f32", [0.7])], ten[picks], size=[7],
         mode="nearest", coord="asymmetric", round="floor")
    for bad in (0.5, -0.7, NAN, INF):
        case("resize", [ten, None, of("f32", [bad])], None, error="scale",
             size=[7], mode="nearest")
    case("resize", [torch.ones(1, 3), of("f32", [NAN, 1])],
         torch.full((1, 2), 2.0), size=[2], mode="nearest",
         coord="tf_crop_and_resize", extrapolation=2.0)


def peepholes():
    """An LSTM with every extra, one hidden value, by its formulas."""
    def cell(xs, w, r, p, clip, coupled):
        def sig(v):
            v = min(max(v, -clip), clip)
            return min(max(0.3 * v + 0.4, 0.0), 1.0)  # hard_sigmoid

        h = c = 0.0
        out = []
        for x in xs:
            i, o, f, g = [a * x + b * h for a, b in zip(w, r)]
            i = sig(i + p[0] * c)
            f = 1 - i if coupled else sig(f + p[2] * c)
            g = max(min(max(g, -clip), clip), 0.0)    # relu
            c = f * c + i * g
            h = sig(o + p[1] * c) * (1.5 * c - 0.25)  # affine
            out.append(h)
        return out, h, c

    w, r, p = [0.5, -0.25, 0.75, 1.25], [0.125, 0.5, -0.25, 0.5], \
        [0.25, -0.5, 0.75]
    xs = [1.0, 2.0, -0.5, 1.5]
    for dt in ("f32", "f64"):
        for clip, coupled in ((INF, False), (0.75, False), (0.75, True)):
            y, h, c = cell(xs, w, r, p, clip, coupled)
            case("lstm", [of(dt, xs, 4, 1, 1), of(dt, w, 1, 4, 1),
                          of(dt, r, 1, 4, 1), None, None, None, None,
                          of(dt, p, 1, 3)],
                 [of(dt, y, 4, 1, 1, 1), of(dt, [h], 1, 1, 1),
                  of(dt, [c], 1, 1, 1)],
                 hidden=1, acts="hard_sigmoid relu affine",
                 alpha=[0.3, 1.0, 1.5], beta=[0.4, 0.0, -0.25],
                 **({} if math.isinf(clip) else {"clip": clip}),
                 coupled=coupled)


def pictures():
    """Files without compression; other formats are tests/unit/test_image.c."""
    def file(b):
        return of("u8", list(b))

    rgb = of("u8", [10, 20, 30, 255, 0, 7], 1, 2, 3)
    data = b"P6 2 1 255 " + bytes([10, 20, 30, 255, 0, 7])
    for order, y in (("rgb", rgb), ("bgr", rgb.flip(2)),
                     ("gray", of("u8", [18, 77], 1, 2, 1))):
        case("decode_image", [file(data)], y, order=order)
    for bad in (b"", b"P", b"P6 2 1 255 ", b"BM", b"hello"):
        case("decode_image", [file(bad)], of("u8", [], 0, 0, 3))
    case("decode_image", [file(b"hello")], of("u8", [], 0, 0, 1), order="gray")
    case("decode_image", [of("f32", [0.0] * 5)], None, error="u8")
    case("decode_image", [file(b"hello")], None, error="cmyk", order="cmyk")
    exact.add("decode_image")


GROUPS = (regions, peepholes, pictures)
