#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Hull authors
"""Writes tests/ops/expect_math.def: what PyTorch (and numpy, for what PyTorch
lacks) says about the arithmetic ops, computed in f64 from operands that were
rounded to the case's dtype. Run by hand; needs torch.

    python3 scripts/gen_expect.py > tests/ops/expect_math.def
"""

import math
import sys

import numpy as np
import torch
import torch.nn.functional as F

torch.manual_seed(1)
NAN, INF = float("nan"), float("inf")
DT = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16,
      "bf16": torch.bfloat16, "i64": torch.int64, "i32": torch.int32,
      "u8": torch.uint8, "i8": torch.int8, "bool": torch.bool,
      "f8e4m3fn": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2}
TOL = {"f64": 1e-12, "f32": 2e-7, "f16": 1e-3, "bf16": 8e-3,
       "f8e4m3fn": 0, "f8e5m2": 0}
rows = []


def number(v):
    if isinstance(v, bool):
        return "1" if v else "0"
    v = float(v)
    if math.isnan(v):
        return "NAN"
    if math.isinf(v):
        return "INFINITY" if v > 0 else "-INFINITY"
    return repr(int(v)) if v == int(v) and abs(v) < 1e15 and (
        v != 0 or math.copysign(1, v) > 0) else repr(v)


def array(t, dt):
    """A compound literal; the shortest text that is right for the dtype."""
    values = t.reshape(-1).tolist()
    if dt in ("f32", "f16", "bf16"):
        values = [float(str(np.float32(v))) for v in values]
    text = ",".join(number(v) for v in values) or "0"
    return "V(" + text.replace("INFINITY", "INF") + ")"


def dims(t):
    return ",".join(str(d) for d in t.shape)


def case(op, attrs, dt, ins, want, out_dt=None, tol=None):
    """ins: tensors (None: missing), already of their dtype or a list."""
    out_dt = out_dt or dt
    want = want if torch.is_tensor(want) else torch.as_tensor(want)
    if out_dt in TOL:
        want = want.to(torch.float64).to(DT[out_dt]).to(torch.float64)
    operands = []
    for t in ins:
        if t is None:
            operands.append('{HULL_NONE, "", NULL}')
            continue
        name = next(k for k, v in DT.items() if v == t.dtype)
        operands.append(f'{{HULL_{name.upper()}, "{dims(t)}", '
                        f'{array(t.to(torch.float64), name)}}}')
    tol = TOL.get(out_dt, 0) if tol is None else tol
    text = ";".join(f"{k}={v}" for k, v in attrs.items())
    rows.append(f'{{OP_{op}, "{text}", {len(ins)}, {{{", ".join(operands)}}}, '
                f'"{out_dt}[{dims(want)}]", '
                f'{array(want.to(torch.float64), out_dt)}, {tol!r}}},\n')


def of(dt, values, shape=None):
    t = torch.tensor(values, dtype=torch.float64)
    t = t.to(torch.int64).to(DT[dt]) if dt in (
        "i64", "i32", "u8", "i8", "bool") else t.to(DT[dt])
    return t.reshape(shape) if shape is not None else t


def rand(dt, *shape, scale=1.0):
    return (torch.randn(shape, dtype=torch.float64) * scale).to(DT[dt])


def d(t):
    return t.to(torch.float64)


def csv(v):
    return ",".join(str(x) for x in v)


def unary():
    hostile = [NAN, INF, -INF, -0.0, 0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5,
               3.25, -7.0, 0.001, 40.0, -40.0]
    fn = {"neg": torch.neg, "abs": torch.abs, "exp": torch.exp,
          "expm1": torch.expm1, "log": torch.log, "log1p": torch.log1p,
          "sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "erf": torch.erf,
          "reciprocal": torch.reciprocal, "sin": torch.sin, "cos": torch.cos,
          "tan": torch.tan, "asin": torch.asin, "acos": torch.acos,
          "atan": torch.atan, "sinh": torch.sinh, "cosh": torch.cosh,
          "tanh": torch.tanh, "asinh": torch.asinh, "acosh": torch.acosh,
          "atanh": torch.atanh, "floor": torch.floor, "ceil": torch.ceil,
          "round": torch.round, "trunc": torch.trunc, "relu": torch.relu,
          "sigmoid": torch.sigmoid, "silu": F.silu, "gelu": F.gelu,
          "softplus": F.softplus, "elu": F.elu,
          "leaky_relu": F.leaky_relu,
          "sign": lambda x: torch.from_numpy(np.sign(x.numpy()))}
    for name, f in fn.items():
        for dt in ("f32", "f64") + (("f16", "bf16") if name in (
                "exp", "gelu", "neg", "sigmoid") else ()):
            x = of(dt, hostile)
            attrs = {"threshold": 20.0} if name == "softplus" else {}
            y = f(d(x))
            case(name, attrs, dt, [x], y,
                 tol=1e-10 if dt == "f64" and name == "gelu" else None)
    x = of("f32", hostile)
    case("gelu", {"tanh": "true"}, "f32", [x], F.gelu(d(x), approximate="tanh"))
    case("softplus", {"beta": 2.0, "threshold": 5.0}, "f32", [x],
         F.softplus(d(x), 2.0, 5.0))
    case("elu", {"alpha": 0.5}, "f32", [x], F.elu(d(x), 0.5))
    case("hard_sigmoid", {"alpha": 0.25, "beta": 0.5}, "f32", [x],
         torch.clamp(d(x) * 0.25 + 0.5, 0, 1))
    case("clamp", {"min": -1.5, "max": 2.0}, "f32", [x],
         torch.clamp(d(x), -1.5, 2.0))
    case("clamp", {"min": 3.0}, "f32", [x], torch.clamp(d(x), min=3.0))
    case("is_nan", {}, "f32", [x], torch.isnan(x), "bool")
    case("is_inf", {}, "f32", [x], torch.isinf(x), "bool")
    case("is_inf", {"negative": "false"}, "f32", [x], x == INF, "bool")
    case("is_inf", {"positive": "false"}, "f16", [of("f16", hostile)],
         x == -INF, "bool")
    case("not", {}, "f32", [x], torch.logical_not(x), "bool")
    b = of("bool", [0, 1, 1])
    case("not", {}, "bool", [b], ~b, "bool")
    case("bit_not", {}, "bool", [b], ~b, "bool")
    for dt in ("i64", "i32", "u8", "i8"):
        k = of(dt, [0, 1, 127, 5, 100] if dt == "u8" else
               [0, 1, -1, 127, -128, 5])
        for name, f in (("neg", torch.neg), ("abs", torch.abs),
                        ("sign", torch.sign), ("relu", torch.relu),
                        ("bit_not", torch.bitwise_not),
                        ("floor", torch.floor)):
            case(name, {}, dt, [k], f(k))
        case("clamp", {"min": -2.0, "max": 100.0}, dt, [k],
             torch.clamp(k.to(torch.int64), -2, 100))
        case("is_nan", {}, dt, [k], k != k, "bool")
    case("exp", {}, "f32", [of("f32", 1.0)], torch.tensor(math.e))
    case("exp", {}, "f32", [torch.zeros(0, 3)], torch.zeros(0, 3))


def binary():
    a = [NAN, INF, -INF, 0.0, -0.0, 7.0, -7.0, 5.5, -5.5, 1.0, 2.0, 6.0]
    b = [1.0, INF, 2.0, 3.0, -2.0, 3.0, 3.0, -2.0, 2.0, NAN, 0.0, -3.0]
    fn = [("add", {}, torch.add), ("sub", {}, torch.sub),
          ("mul", {}, torch.mul), ("div", {}, torch.div),
          ("div", {"round": "trunc"},
           lambda x, y: torch.div(x, y, rounding_mode="trunc")),
          ("div", {"round": "floor"},
           lambda x, y: torch.div(x, y, rounding_mode="floor")),
          ("mod", {}, torch.remainder), ("mod", {"floor": "false"}, torch.fmod),
          ("pow", {}, torch.pow), ("min", {}, torch.minimum),
          ("max", {}, torch.maximum), ("atan2", {}, torch.atan2)]
    for name, attrs, f in fn:
        for dt in ("f32", "f64", "f16", "bf16"):
            x, y = of(dt, a), of(dt, b)
            case(name, attrs, dt, [x, y], f(d(x), d(y)))
    ia, ib = [7, -7, 7, -7, 0, 9, 100], [2, 2, -2, -2, 3, 3, 7]
    for dt in ("i64", "i32", "i8", "u8"):
        x = of(dt, ia if dt != "u8" else [7, 8, 200, 0, 255, 9, 100])
        y = of(dt, ib if dt != "u8" else [2, 3, 7, 1, 2, 4, 100])
        for name, attrs, f in fn[:3] + fn[4:8] + fn[9:11]:
            case(name, attrs, dt, [x, y], f(x, y))
        case("div", {}, dt, [x, y], torch.div(x, y, rounding_mode="trunc"))
        for name, f in (("and", torch.bitwise_and), ("or", torch.bitwise_or),
                        ("xor", torch.bitwise_xor)):
            case(name, {}, dt, [x, y], f(x, y))
        s = of(dt, [0, 1, 2, 3, 5, 6, 7])
        case("shift_left", {}, dt, [x, s], torch.bitwise_left_shift(x, s))
        case("shift_right", {}, dt, [x, s], torch.bitwise_right_shift(x, s))
    case("pow", {}, "i64", [of("i64", [2, -3, 0, 5, 1, -1, -1, 7]),
                            of("i64", [10, 3, 0, 0, -4, -3, -4, -1])],
         torch.tensor([1024, -27, 1, 1, 1, -1, 1, 0]))
    x, y = of("bool", [0, 0, 1, 1]), of("bool", [0, 1, 0, 1])
    for name, f in (("and", torch.logical_and), ("or", torch.logical_or),
                    ("xor", torch.logical_xor)):
        case(name, {}, "bool", [x, y], f(x, y))
    for sa, sb in (((2, 1, 3), (4, 1)), ((), (2, 2)), ((1,), (1, 1)),
                   ((0, 3), (1, 3)), ((3,), (2, 3)), ((2, 3), (2, 1))):
        x, y = rand("f32", *sa), rand("f32", *sb)
        case("sub", {}, "f32", [x, y], d(x) - d(y))
    for dt in ("f32", "f16", "i64", "u8", "bool"):
        x = of(dt, [0, 1, 1, 0, 1] if dt == "bool" else [0, 1, 2, 3, 200])
        y = of(dt, [0, 0, 1, 1, 1] if dt == "bool" else [1, 1, 1, 3, 100])
        if dt == "f32":
            x, y = of(dt, a), of(dt, b)
        for name in ("eq", "ne", "lt", "le", "gt", "ge"):
            case(name, {}, dt, [x, y], getattr(torch, name)(x, y), "bool")
    c = of("bool", [1, 0], (2, 1))
    for dt in ("f32", "i64", "bool", "f16", "u8"):
        x, y = of(dt, [1, 0, 1]), of(dt, [0, 0, 1, 1, 1, 0], (2, 3))
        case("where", {}, dt, [c, x, y], torch.where(c, x, y))


def cast():
    x = of("f32", [NAN, INF, -INF, 1.9, -1.9, 0.5, -0.0, 300.0, 1e10])
    for dt, lo, hi in (("i32", -2**31, 2**31 - 1), ("u8", 0, 255),
                       ("i8", -128, 127)):
        want = torch.trunc(torch.nan_to_num(d(x), 0, INF, -INF))
        case("cast", {"to": dt}, "f32", [x], torch.clamp(want, lo, hi), dt)
    case("cast", {"to": "bool"}, "f32", [x], x.to(torch.bool), "bool")
    bits = torch.tensor([0, 0x3f000000, 0x3fc00000, 0x40000000], dtype=torch.int32)
    case("bitcast", {"to": "f32"}, "i32", [bits], bits.view(torch.float32),
         "f32", 0)
    for dt in ("f16", "bf16", "f64"):
        case("cast", {"to": dt}, "f32", [x], x.to(DT[dt]), dt, 0)
    k = of("i64", [0, 1, -1, 255, 256, -129, 70000])
    for dt in ("i32", "u8", "i8", "bool", "f32", "f16"):
        case("cast", {"to": dt}, "i64", [k], k.to(DT[dt]), dt, 0)
    f = of("f32", [NAN, 500.0, -500.0, 449.0, 0.3, 1e-4, 17.0, 1e6])
    for dt, top in (("f8e4m3fn", 448), ("f8e5m2", 57344)):
        case("cast", {"to": dt}, "f32", [f],
             torch.clamp(f, -top, top).to(DT[dt]), dt)
        case("cast", {"to": dt, "saturate": "false"}, "f32", [f],
             torch.where(f.abs() > top * 1.05, NAN if dt == "f8e4m3fn" else
                         f.sign() * INF, f.to(DT[dt]).to(f.dtype)), dt)


def reduce():
    x = rand("f32", 2, 3, 4)
    x[0, 1, 2], x[1, 0, 0], x[1, 2, 3] = NAN, INF, -INF
    fn = {"reduce_sum": torch.sum, "reduce_mean": torch.mean,
          "reduce_max": torch.amax, "reduce_min": torch.amin}
    for name, f in fn.items():
        for axes, keep in (([], 0), ([1], 1), ([-1], 0), ([0, 2], 0),
                           ([2, 0], 1)):
            case(name, {"axes": csv(axes), "keep": "true" if keep else "false"},
                 "f32", [x], f(d(x), dim=axes or (0, 1, 2), keepdim=bool(keep)))
        for dt in ("f16", "bf16", "f64"):
            y = rand(dt, 3, 5)
            case(name, {"axes": "1"}, dt, [y], f(d(y), dim=1))
    y = rand("f32", 3, 4)
    case("reduce_prod", {"axes": "0"}, "f32", [y], d(y).prod(0))
    case("reduce_prod", {"axes": ""}, "f32", [y], d(y).prod())
    k = of("i64", [3, -4, 5, 6, 7, 8], (2, 3))
    case("reduce_prod", {"axes": "1"}, "i64", [k], k.prod(1))
    case("reduce_sum", {"axes": "0"}, "i64", [k], k.sum(0))
    case("reduce_mean", {"axes": "1"}, "i64", [k], torch.tensor([1, 7]))
    case("reduce_max", {"axes": "1"}, "i64", [k], k.amax(1))
    case("reduce_min", {"axes": ""}, "i64", [k], k.min())
    u = of("u8", [200, 100, 7, 255], (2, 2))
    case("reduce_sum", {"axes": "1"}, "u8", [u],
         u.sum(1, dtype=torch.uint8))
    case("reduce_max", {"axes": "0"}, "u8", [u], u.amax(0))
    b = of("bool", [0, 0, 1, 0], (2, 2))
    case("reduce_any", {"axes": "1"}, "bool", [b], b.any(1))
    f = of("f32", [0, NAN, 0, 0], (2, 2))
    case("reduce_any", {"axes": "0"}, "f32", [f],
         torch.tensor([False, True]), "bool")
    case("reduce_max", {"axes": "1"}, "bool", [b], b.any(1))
    e = torch.zeros(2, 0)
    case("reduce_sum", {"axes": "1"}, "f32", [e], e.sum(1))
    case("reduce_prod", {"axes": "1"}, "f32", [e], e.prod(1))
    case("reduce_mean", {"axes": "1"}, "f32", [e], e.mean(1))
    case("reduce_sum", {"axes": ""}, "f32", [of("f32", 4.0)], torch.tensor(4.0))
    for name, f in (("arg_max", torch.argmax), ("arg_min", torch.argmin)):
        for axis in (0, 1, -1):
            y = rand("f32", 3, 4, 2)
            case(name, {"axes": axis}, "f32", [y], f(y, axis), "i64")
        case(name, {"axes": "1", "keep": "true"}, "f32", [x],
             f(x, 1, keepdim=True), "i64")
        case(name, {"axes": ""}, "f32", [y], f(y), "i64")
        case(name, {"axes": "1"}, "i64", [k], f(k, 1), "i64")
    ties = of("f32", [2, 5, 5, 2, 2], (1, 5))
    case("arg_max", {"axes": "1"}, "f32", [ties], torch.tensor([1]), "i64")
    case("arg_max", {"axes": "1", "last": "true"}, "f32", [ties],
         torch.tensor([2]), "i64")
    case("arg_min", {"axes": "1", "last": "true"}, "f32", [ties],
         torch.tensor([4]), "i64")
    nans = of("f32", [1, NAN, 9, NAN])
    case("arg_max", {"axes": "0"}, "f32", [nans], torch.argmax(nans), "i64")
    case("arg_min", {"axes": "0"}, "f32", [nans], torch.argmin(nans), "i64")
    c = rand("f32", 2, 3, 2)
    case("cumsum", {"axis": 1}, "f32", [c], d(c).cumsum(1))
    case("cumsum", {"axis": -1, "reverse": "true"}, "f32", [c],
         d(c).flip(-1).cumsum(-1).flip(-1))
    case("cumsum", {"axis": 1, "exclusive": "true"}, "f32", [c],
         d(c).cumsum(1) - d(c), tol=1e-6)
    case("cumsum", {"axis": 0}, "i64", [k], k.cumsum(0))
    case("cumsum", {"axis": 0}, "f16", [rand("f16", 0)], torch.zeros(0))
    case("cumprod", {"axis": 1}, "f32", [c], d(c).cumprod(1))
    case("cumprod", {"axis": 0}, "i64", [k], k.cumprod(0))


def matmul():
    for sa, sb in (((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)),
                   ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)),
                   ((2, 1, 2, 3), (4, 3, 2)), ((3,), (2, 3, 4)),
                   ((2, 2, 3), (3,)), ((2, 0), (0, 3)), ((0, 3), (3, 2)),
                   ((1, 1), (1, 1))):
        a, b = rand("f32", *sa), rand("f32", *sb)
        case("matmul", {}, "f32", [a, b], d(a) @ d(b), tol=1e-6)
    for dt in ("f16", "bf16", "f64"):
        a, b = rand(dt, 2, 3), rand(dt, 3, 2)
        case("matmul", {}, dt, [a, b], d(a) @ d(b))
    a, b = rand("f32", 2, 3, 2), rand("f32", 4, 3)
    case("matmul", {"trans_a": "true", "trans_b": "true"}, "f32", [a, b],
         d(a).mT @ d(b).mT, tol=1e-6)
    a, b = rand("f32", 3, 2), rand("f32", 3)
    case("matmul", {"trans_a": "true", "trans_b": "true"}, "f32", [a, b],
         d(a).mT @ d(b), tol=1e-6)
    a, b = rand("f32", 2, 2, 3), rand("f32", 2, 3, 4)
    for shape in ((4,), (2, 1), (1,), (), (2, 1, 4)):
        c = rand("f32", *shape)
        case("matmul", {}, "f32", [a, b, c], d(a) @ d(b) + d(c), tol=1e-6)
    for dt in ("i64", "i32"):
        a, b = of(dt, [1, 2, -3, 4], (2, 2)), of(dt, [5, 6, 7, 8], (2, 2))
        c = of(dt, [10, 20])
        case("matmul", {}, dt, [a, b, c], a @ b + c)
    a = of("f32", [0, INF, 1, NAN], (2, 2))
    case("matmul", {}, "f32", [a, torch.eye(2)], d(a) @ d(torch.eye(2)))


def conv():
    for n, x, w, s, p, dil, g in (
            (1, (2, 3, 7), (4, 3, 3), [2], [1, 1], [1], 1),
            (1, (1, 2, 9), (2, 2, 3), [1], [0, 2], [2], 1),
            (2, (1, 3, 6, 5), (4, 3, 3, 2), [2, 1], [1, 0, 1, 1], [1, 2], 1),
            (2, (2, 4, 5, 5), (4, 1, 3, 3), [1, 1], [1, 1, 1, 1], [1, 1], 4),
            (2, (2, 4, 3, 3), (6, 2, 1, 1), [1, 1], [0, 0, 0, 0], [1, 1], 2),
            (2, (1, 2, 3, 3), (2, 2, 1, 1), [1, 1], [1, 1, 1, 1], [1, 1], 1),
            (3, (1, 2, 4, 3, 5), (2, 2, 2, 2, 2), [1, 2, 1],
             [0, 1, 0, 1, 0, 0], [1, 1, 1], 1)):
        for dt in ("f32", "f16"):
            a, k, b = rand(dt, *x), rand(dt, *w), rand(dt, w[0])
            pads = []
            for i in reversed(range(n)):
                pads += [p[i], p[n + i]]
            f = [F.conv1d, F.conv2d, F.conv3d][n - 1]
            y = f(F.pad(d(a), pads), d(k), d(b), stride=s, dilation=dil,
                  groups=g)
            attrs = {"stride": csv(s), "pad": csv(p), "dilation": csv(dil),
                     "groups": g}
            case("conv", attrs, dt, [a, k, b], y,
                 tol=1e-6 if dt == "f32" else None)
    a, k = rand("f64", 1, 1, 4), rand("f64", 1, 1, 2)
    case("conv", {"stride": "1", "pad": "0,0", "dilation": "1"}, "f64", [a, k],
         F.conv1d(a, k))
    e = torch.zeros(0, 2, 4)
    k = rand("f32", 3, 2, 2)
    case("conv", {"stride": "1", "pad": "0,0", "dilation": "1"}, "f32", [e, k],
         torch.zeros(0, 3, 3))
    for n, x, w, s, p, dil, op, g in (
            (1, (2, 3, 4), (3, 2, 3), [2], [1, 1], [1], [1], 1),
            (2, (1, 4, 3, 4), (4, 2, 3, 2), [2, 3], [1, 0, 1, 0], [1, 2],
             [1, 2], 2),
            (2, (2, 2, 3, 3), (2, 1, 2, 2), [1, 1], [0, 0, 0, 0], [1, 1],
             [0, 0], 2),
            (3, (1, 2, 2, 2, 3), (2, 3, 2, 1, 2), [1, 2, 1],
             [0, 0, 0, 0, 0, 0], [2, 1, 1], [0, 1, 0], 1)):
        a, k, b = rand("f32", *x), rand("f32", *w), rand("f32", w[1] * g)
        f = [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d][n - 1]
        y = f(d(a), d(k), d(b), stride=s, padding=p[:n], output_padding=op,
              groups=g, dilation=dil)
        case("conv_transpose", {"stride": csv(s), "pad": csv(p),
                                "dilation": csv(dil), "out_pad": csv(op),
                                "groups": g}, "f32", [a, k, b], y, tol=1e-6)


def pool():
    for n, x, k, s, p, dil, ceil in (
            (1, (1, 2, 8), [3], [2], [1], [1], False),
            (2, (2, 2, 6, 7), [3, 2], [2, 2], [1, 0], [1, 1], False),
            (2, (1, 1, 6, 7), [3, 3], [2, 3], [1, 1], [1, 1], True),
            (2, (1, 1, 5, 5), [2, 2], [3, 3], [1, 1], [1, 1], True),
            (2, (1, 2, 7, 7), [2, 3], [1, 2], [0, 1], [2, 2], False),
            (3, (1, 1, 4, 4, 4), [2, 2, 2], [2, 1, 2], [0, 1, 0], [1, 1, 1],
             False)):
        a = rand("f32", *x)
        attrs = {"kernel": csv(k), "stride": csv(s), "pad": csv(p + p),
                 "dilation": csv(dil), "ceil": "true" if ceil else "false"}
        f = [F.max_pool1d, F.max_pool2d, F.max_pool3d][n - 1]
        case("max_pool", attrs, "f32", [a], f(d(a), k, s, p, dil, ceil))
        if max(dil) > 1:
            continue
        f = [F.avg_pool1d, F.avg_pool2d, F.avg_pool3d][n - 1]
        for count in (False, True):
            case("avg_pool", {**attrs, "count_pad": str(count).lower()}, "f32",
                 [a], f(d(a), k, s, p, ceil, count), tol=1e-6)
    a = of("f32", [1, NAN, 3, -INF, -INF, 2], (1, 1, 6))
    one = {"kernel": "2", "stride": "1", "pad": "0,0", "dilation": "1"}
    case("max_pool", one, "f32", [a], F.max_pool1d(d(a), 2, 1))
    u = of("u8", [1, 9, 3, 200, 5, 0], (1, 1, 6))
    case("max_pool", one, "u8", [u],
         torch.tensor([[[9, 9, 200, 200, 5]]]))
    k = of("i64", [-5, -9, -3], (1, 1, 3))
    case("max_pool_index", one, "f32", [torch.tensor([[[1., 4, 4, NAN, 0]]])],
         torch.tensor([[[1, 1, 3, 3]]]), "i64")
    case("max_pool", {**one, "pad": "1,1"}, "i64", [k],
         torch.tensor([[[-5, -5, -3, -3]]]))
    for x, out in (((1, 2, 7), [3]), ((2, 1, 5, 6), [2, 4]),
                   ((1, 1, 3, 3), [1, 1]), ((1, 1, 2, 2), [5, 3]),
                   ((1, 1, 4, 3, 5), [2, 2, 3])):
        a = rand("f32", *x)
        f = [F.adaptive_avg_pool1d, F.adaptive_avg_pool2d,
             F.adaptive_avg_pool3d][len(out) - 1]
        case("adaptive_avg_pool", {"out": csv(out)}, "f32", [a],
             f(d(a), out[0] if len(out) == 1 else out), tol=1e-6)


def resize():
    for shape, size in (((1, 2, 4, 5), (7, 3)), ((1, 1, 3, 3), (6, 9)),
                        ((1, 1, 8, 6), (3, 2)), ((1, 1, 5, 4), (1, 1))):
        a = rand("f32", *shape)
        base = {"size": csv(size)}
        case("resize", {**base, "mode": "nearest", "coord": "asymmetric",
                        "round": "floor"}, "f32", [a],
             F.interpolate(d(a), size, mode="nearest"))
        case("resize", {**base, "mode": "nearest", "coord": "half_pixel",
                        "round": "prefer_ceil"}, "f32", [a],
             F.interpolate(d(a), size, mode="nearest-exact"))
        for mode, name in (("linear", "bilinear"), ("cubic", "bicubic")):
            case("resize", {**base, "mode": mode, "coord": "half_pixel"},
                 "f32", [a], F.interpolate(d(a), size, mode=name), tol=1e-6)
            case("resize", {**base, "mode": mode, "coord": "align_corners"},
                 "f32", [a],
                 F.interpolate(d(a), size, mode=name, align_corners=True),
                 tol=1e-6)
            case("resize", {**base, "mode": mode, "coord": "half_pixel",
                            "antialias": "true", "exclude_outside": "true",
                            "cubic_a": -0.5}, "f32", [a],
                 F.interpolate(d(a), size, mode=name, antialias=True),
                 tol=1e-6)
    a = rand("f32", 1, 1, 5)
    case("resize", {"size": "8", "scales": 1.7, "mode": "linear",
                    "coord": "half_pixel"}, "f32", [a],
         F.interpolate(d(a), scale_factor=1.7, mode="linear",
                       recompute_scale_factor=False), tol=1e-6)
    a = rand("f32", 1, 1, 3, 2, 4)
    case("resize", {"size": "2,5,4", "mode": "linear"}, "f32", [a],
         F.interpolate(d(a), (2, 5, 4), mode="trilinear"), tol=1e-6)
    u = of("u8", [255, 255, 255, 0], (1, 1, 4))
    case("resize", {"size": "8", "mode": "nearest", "coord": "asymmetric",
                    "round": "floor"}, "u8", [u],
         u.repeat_interleave(2, dim=-1))


def onnx_resize():
    """What PyTorch has no option for, from onnx's reference evaluator."""
    from onnx import TensorProto, helper
    from onnx.reference import ReferenceEvaluator
    coords = ["half_pixel", "pytorch_half_pixel", "asymmetric",
              "align_corners", "half_pixel_symmetric"]
    runs = [(m, c, r, 0, 0) for m in ("linear", "cubic") for c in coords
            for r in ("floor",)]
    runs += [("nearest", c, r, 0, 0) for c in coords
             for r in ("floor", "ceil", "prefer_floor", "prefer_ceil")]
    runs += [("cubic", "half_pixel", "floor", 0, 1),
             ("cubic", "half_pixel", "floor", 1, 0),
             ("linear", "half_pixel", "floor", 1, 0),
             ("cubic", "half_pixel", "floor", 1, 1)]
    for mode, coord, rnd, aa, ex in runs:
        for scale in (0.6, 1.6):
            x = rand("f32", 1, 1, 4, 5)
            out = [int(4 * scale), int(5 * scale)]
            node = helper.make_node(
                "Resize", ["x", "", "s"], ["y"], mode=mode,
                coordinate_transformation_mode=coord, nearest_mode="round_" +
                rnd if rnd.startswith("prefer") else rnd,
                antialias=aa, exclude_outside=ex)
            g = helper.make_graph(
                [node], "g",
                [helper.make_tensor_value_info("x", TensorProto.FLOAT, None),
                 helper.make_tensor_value_info("s", TensorProto.FLOAT, None)],
                [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
            m = helper.make_model(g, opset_imports=[
                helper.make_opsetid("", 19)])
            y = ReferenceEvaluator(m).run(None, {
                "x": x.numpy(), "s": np.array([1, 1, scale, scale],
                                              np.float32)})[0]
            case("resize", {"size": csv(out),
                            "scales": csv([float(np.float32(scale))] * 2),
                            "mode": mode,
                            "coord": coord, "round": rnd,
                            "antialias": "true" if aa else "false",
                            "exclude_outside": "true" if ex else "false"},
                 "f32", [x], torch.tensor(np.array(y)), tol=2e-5)


def norm():
    for shape in ((2, 3), (2, 3, 4), (1, 3, 2, 2)):
        x = rand("f32", *shape)
        s, b, m = rand("f32", 3), rand("f32", 3), rand("f32", 3)
        v = rand("f32", 3).abs()
        case("batch_norm", {"eps": 1e-5}, "f32", [x, s, b, m, v],
             F.batch_norm(d(x), d(m), d(v), d(s), d(b), eps=1e-5), tol=1e-6)
    for dt in ("f32", "f16", "bf16", "f64"):
        x, s, b = rand(dt, 2, 3, 4), rand(dt, 4), rand(dt, 4)
        case("layer_norm", {"axis": -1, "eps": 1e-5}, dt, [x, s, b],
             F.layer_norm(d(x), [4], d(s), d(b), 1e-5),
             tol=1e-6 if dt == "f32" else None)
        case("rms_norm", {"axis": -1, "eps": 1e-6}, dt, [x, s],
             d(x) / torch.sqrt((d(x) ** 2).mean(-1, True) + 1e-6) * d(s),
             tol=1e-6 if dt == "f32" else None)
    x, s = rand("f32", 2, 3, 4), rand("f32", 3, 4)
    case("layer_norm", {"axis": 1, "eps": 1e-3}, "f32", [x, s],
         F.layer_norm(d(x), [3, 4], d(s), None, 1e-3), tol=1e-6)
    case("layer_norm", {"axis": 1, "eps": 1e-3}, "f32", [x, None, s],
         F.layer_norm(d(x), [3, 4], None, d(s), 1e-3), tol=1e-6)
    case("layer_norm", {"axis": 0, "eps": 1e-3}, "f32", [x],
         F.layer_norm(d(x), [2, 3, 4], None, None, 1e-3), tol=1e-6)
    for shape, g in (((2, 4, 3), 2), ((1, 4, 2, 2), 4), ((2, 4), 1)):
        x, s, b = rand("f32", *shape), rand("f32", 4), rand("f32", 4)
        case("group_norm", {"groups": g, "eps": 1e-5}, "f32", [x, s, b],
             F.group_norm(d(x), g, d(s), d(b), 1e-5), tol=1e-6)
        case("group_norm", {"groups": g, "eps": 1e-5}, "f32", [x],
             F.group_norm(d(x), g, None, None, 1e-5), tol=1e-6)
    x = rand("f32", 2, 3, 4)
    hostile = of("f32", [-INF, -INF, 0, INF, 1, -INF, NAN, 1, 1000, 1001,
                         -1000, 0], (6, 2))
    for name, f in (("softmax", torch.softmax),
                    ("log_softmax", torch.log_softmax)):
        for axis in (0, 1, -1):
            case(name, {"axis": axis}, "f32", [x], f(d(x), axis), tol=1e-6)
        case(name, {"axis": 1}, "f32", [hostile], f(d(hostile), 1), tol=1e-6)
        for dt in ("f16", "bf16", "f64"):
            y = rand(dt, 2, 5, scale=3.0)
            case(name, {"axis": 1}, dt, [y], f(d(y), 1))
        case(name, {"axis": 1}, "f32", [torch.zeros(2, 0)], torch.zeros(2, 0))
        case(name, {"axis": 0}, "f32", [torch.zeros(1)],
             f(torch.zeros(1), 0))


for group in (unary, binary, cast, reduce, matmul, conv, pool, resize,
              onnx_resize, norm):
    group()
if len(sys.argv) > 1:
    sys.exit("usage: gen_expect.py > tests/ops/expect_math.def")
print("/* SPDX-License-Identifier: Apache-2.0")
print(" * SPDX-FileCopyrightText: 2026 The Hull authors")
print(" *")
print(" * Written by scripts/gen_expect.py; the rows of test_ops_math.c. */")
print("/* clang-format off */")
print("".join(rows) + "/* clang-format on */")
