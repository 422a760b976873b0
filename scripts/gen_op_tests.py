#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Hull authors
"""Writes tests/ops/OP.ir, one file per op, with the results that PyTorch (and
numpy, for what PyTorch lacks) computes in f64 from operands of the case's
dtype; op_hostile.py adds the values that break kernels. Run by hand in the
repository's root; needs torch, numpy and ml_dtypes.

    python3 scripts/gen_op_tests.py [OP ...]
"""

import math
import sys

import numpy as np
import torch
import torch.nn.functional as F

import op_formulas
import op_hostile
from op_cases import (DT, FLOATS, HOSTILE, INF, NAN, Raw, case, d, exact,
                      npt, number, of, rand, run, to, whole, write)


def source():
    case("const", [], of("f32", HOSTILE), value=Raw("[" + ", ".join(
        number(v, "f32") for v in HOSTILE) + "]"))
    case("const", [], of("i64", [-1, 2**40, -2**53]), value=[-1, 2**40, -2**53])
    case("const", [], of("bool", [1, 0], 2, 1), value=[True, False])
    case("const", [], of("u8", 255), value=255)
    case("const", [], torch.zeros(0, 3), value=[])
    case("const", [], torch.tensor([1 + 2j, complex(NAN, -0.0)]),
         value=Raw("[1, 2, nan, -0.0]"))
    case("dims", [], of("i64", [2, 3, -1]), value=[2, 3, -1])
    case("dims", [], of("i64", []), value=[])
    whole("dims", "%x: f32[N,3,M]",
          [("input", "%x", "[4,3,0] []"),
           ("expect", "%r", of("i64", [4, 24, 2, 1, 0, -3, 2]))],
          "  %r = dims {value=[N,2*N*3,N/2,(N+1)%2,M,M-3,min(N,2)]} : i64[7]\n",
          "%r")
    case("iota", [], torch.arange(5), shape=[5])
    for dt in ("f32", "i32", "u8", "f16", "i8"):
        i = torch.arange(3).to(DT[dt])
        case("iota", [], i.reshape(3, 1).expand(3, 2).contiguous(),
             shape=[3, 2], axis=0, dtype=Raw(dt))
    case("iota", [], torch.arange(4).expand(2, 4).contiguous(), shape=[2, 4],
         axis=1)
    case("iota", [], torch.zeros(0, 2, dtype=torch.int64), shape=[0, 2])
    whole("iota", "%x: f32[N]", [("input", "%x", "[3] [1, 2, 3]"),
                                 ("expect", "%r", of("f32", [0, 1, 2, 3]))],
          "  %r = iota {shape=[N+1], axis=0, dtype=f32} : f32[N+1]\n", "%r")


def unary():
    same = ("neg", "abs", "floor", "ceil", "round", "trunc", "relu", "sign")
    fn = {n: getattr(torch, n) for n in (
        "neg", "abs", "exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "erf",
        "reciprocal", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
        "cosh", "tanh", "asinh", "acosh", "atanh", "floor", "ceil", "round",
        "trunc", "relu", "sigmoid")}
    fn.update(silu=F.silu, gelu=F.gelu, elu=F.elu, leaky_relu=F.leaky_relu,
              sign=lambda x: npt(np.sign(x.numpy())),
              softplus=lambda x: F.softplus(x, threshold=1e9))
    for name, f in fn.items():
        for dt in ("f32", "f64", "f16", "bf16"):
            x = of(dt, HOSTILE if dt != "f16" or name != "gelu"
                   else HOSTILE[:-1])
            y = f(d(x))
            if name == "relu":
                y = torch.where(d(x) < 0, 0.0, y)
            case(name, [x], to(dt, y))
        if name in same:
            exact.add(name)
            for dt in ("i64", "i8", "u8"):
                k = of(dt, [0, 1, 5, 127] if dt == "u8" else
                       [0, 1, -1, 127, -128])
                case(name, [k], f(k))
        case(name, [of("f32", 0.5)], to("f32", f(d(of("f32", 0.5)))))
        case(name, [torch.zeros(2, 0)], torch.zeros(2, 0))
    x = of("f32", HOSTILE)
    case("gelu", [x], to("f32", F.gelu(d(x), approximate="tanh")), tanh=True)
    case("softplus", [x], to("f32", F.softplus(d(x), 2.0, 2.0)), beta=2.0,
         threshold=2.0)
    case("elu", [x], to("f32", F.elu(d(x), 0.5)), alpha=0.5)
    case("leaky_relu", [x], to("f32", F.leaky_relu(d(x), -0.5)), alpha=-0.5)
    for dt in ("f32", "f16", "f64"):
        x = of(dt, HOSTILE)
        case("hard_sigmoid", [x], to(dt, torch.clamp(d(x) / 8 + 0.5, 0, 1)),
             alpha=0.125, beta=0.5)
        case("clamp", [x], to(dt, torch.clamp(d(x), -1.5, 2.0)), min=-1.5,
             max=2.0)
        case("clamp", [x], to(dt, torch.clamp(d(x), min=0.25)), min=0.25)
        case("clamp", [x], to(dt, torch.clamp(d(x), 2.0, -1.0)), min=2.0,
             max=-1.0)
        case("is_nan", [x], torch.isnan(x))
        case("is_inf", [x], torch.isinf(x))
        case("is_inf", [x], x == INF, negative=False)
        case("is_inf", [x], x == -INF, positive=False)
        case("not", [x], torch.logical_not(x))
    for dt in ("i64", "i32", "u8", "i8"):
        k = rand(dt, 6)
        case("clamp", [k], torch.clamp(k.to(torch.int64), -2, 5).to(DT[dt]),
             min=-2.5, max=5.5)
        case("bit_not", [k], ~k)
        case("not", [k], k == 0)
        case("is_nan", [k], k != k)
        case("is_inf", [k], k != k)
    b = of("bool", [0, 1, 1], 3, 1)
    case("not", [b], ~b)
    case("bit_not", [b], ~b)
    exact.update(("clamp", "is_nan", "is_inf", "not", "bit_not"))


def binary():
    a = [NAN, INF, -INF, 0.0, -0.0, 7.0, -7.0, 5.5, 1.0, 2.0, 6.0, INF]
    b = [1.0, INF, 2.0, 3.0, -2.0, 3.0, 3.0, -2.0, NAN, 0.0, -3.0, -INF]
    rounds = [(torch.div, {}),
              (lambda x, y: torch.div(x, y, rounding_mode="trunc"),
               {"round": "trunc"}),
              (lambda x, y: torch.div(x, y, rounding_mode="floor"),
               {"round": "floor"})]
    fn = [("add", torch.add, {}), ("sub", torch.sub, {}),
          ("mul", torch.mul, {}), ("mod", torch.remainder, {}),
          ("mod", torch.fmod, {"floor": False}), ("pow", torch.pow, {}),
          ("min", torch.minimum, {}), ("max", torch.maximum, {}),
          ("atan2", torch.atan2, {})]
    fn += [("div", f, at) for f, at in rounds]
    for name, f, at in fn:
        for dt in ("f32", "f64", "f16", "bf16"):
            x, y = of(dt, a), of(dt, b)
            case(name, [x, y], to(dt, f(d(x), d(y))), **at)
        for sx, sy in (((2, 1, 3), (4, 1)), ((), (2, 2)), ((0, 3), (1, 3))):
            x, y = rand("f32", *sx).abs() + 1, rand("f32", *sy) + 0.01
            case(name, [x, y], to("f32", f(d(x), d(y))), **at)
        if name in ("atan2", "pow") or name == "div" and not at:
            continue
        for dt in ("i64", "i32", "i8", "u8"):
            x = of(dt, [7, 8, 200, 0, 255] if dt == "u8" else
                   [7, -7, 7, -7, 0])
            y = of(dt, [2, 3, 7, 1, 2] if dt == "u8" else [2, 2, -2, -2, 3])
            case(name, [x, y], f(x, y), **at)
    x, y = of("i64", [2, -3, 0, 5, 1, -1, 7]), of("i64", [10, 3, 0, 0, -4, -3,
                                                          -1])
    case("pow", [x, y], of("i64", [1024, -27, 1, 1, 1, -1, 0]))
    x, y = of("i32", [7, -7, 5, -128]), of("i32", [2, 2, -5, 127])
    case("div", [x, y], torch.div(x, y, rounding_mode="trunc"))
    zero = of("i32", [1, 0, 1, 1])
    case("div", [x, zero], None, error="integer division by zero")
    case("mod", [x, zero], None, error="integer division by zero")
    case("div", [of("i64", [-2**63]), of("i64", [-1])], of("i64", [-2**63]))
    logic = {"and": torch.bitwise_and, "or": torch.bitwise_or,
             "xor": torch.bitwise_xor, "shift_left": torch.bitwise_left_shift,
             "shift_right": torch.bitwise_right_shift}
    for name, f in logic.items():
        for dt in ("i64", "i32", "i8", "u8"):
            x, y = rand(dt, 2, 3), of(dt, [0, 1, 5])
            case(name, [x, y], f(x, y))
        exact.add(name)
        if name.startswith("shift"):
            x, y = of("u8", [255, 3]), of("u8", [8, 255])
            case(name, [x, y], of("u8", [0, 0]))
            case(name, [of("i32", [-1, -1]), of("i32", [31, 40])],
                 of("i32", [-2**31, 0] if name == "shift_left" else [-1, -1]))
            continue
        x, y = of("bool", [0, 0, 1, 1]), of("bool", [0, 1, 0, 1])
        case(name, [x, y], f(x, y))
        case(name, [x, of("bool", 1)], f(x, of("bool", 1)))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        f = getattr(torch, name)
        exact.add(name)
        for dt in ("f32", "f16", "bf16", "f64"):
            x, y = of(dt, a), of(dt, b)
            case(name, [x, y], f(x, y))
        for dt in ("i64", "u8", "bool", "i8"):
            x, y = rand(dt, 2, 3), rand(dt, 3)
            case(name, [x, y], f(x, y))
        case(name, [of("f32", 1.0), of("f32", [1, 2], 2, 1)],
             f(torch.tensor(1.0), of("f32", [1, 2], 2, 1)))
        case(name, [torch.zeros(0, 2), torch.zeros(2)],
             torch.zeros(0, 2).bool())
    big = torch.tensor([2**63, 2**64 - 1, 1], dtype=torch.uint64)
    one = torch.tensor([1, 2**63, 2], dtype=torch.uint64)
    case("lt", [big, one], torch.tensor([False, False, True]))
    exact.update(("add", "sub", "mul", "min", "max"))


def select():
    c = of("bool", [1, 0], 2, 1)
    for dt in ("f32", "i64", "bool", "f16", "u8", "bf16"):
        x, y = rand(dt, 3), rand(dt, 2, 3)
        case("where", [c, x, y], torch.where(c, x, y))
    x, y = of("f32", [NAN, -0.0, INF]), of("f32", [0.0, 1.0, -INF])
    m = of("bool", [1, 1, 0])
    case("where", [m, x, y], torch.where(m, x, y))
    case("where", [of("bool", 0), x, y], y)
    case("where", [c, torch.zeros(2, 0), torch.zeros(1, 0)], torch.zeros(2, 0))
    z = torch.tensor([1 + 2j, 3j])
    case("where", [of("bool", [1, 0]), z, z.conj().resolve_conj()],
         torch.tensor([1 + 2j, complex(0, -3)]))
    exact.update(("where", "cast"))
    x = of("f32", [NAN, INF, -INF, 1.9, -1.9, 0.5, -0.0, 300.0, 1e10])
    for dt, lo, hi in (("i64", -2**63, 2**63 - 1), ("i32", -2**31, 2**31 - 1),
                       ("u8", 0, 255), ("i8", -128, 127)):
        v = [0 if math.isnan(q) else hi if q > hi else lo if q < lo else int(q)
             for q in d(x).tolist()]
        case("cast", [x], torch.tensor(v, dtype=DT[dt]), to=Raw(dt))
    case("cast", [x], x.to(torch.bool), to=Raw("bool"))
    for dt in ("f16", "bf16", "f64", "f32"):
        case("cast", [x], x.to(DT[dt]), to=Raw(dt))
    k = of("i64", [0, 1, -1, 255, 256, -129, 70000, 16777217])
    for dt in ("i32", "u8", "i8", "bool", "f32", "f16", "f64"):
        case("cast", [k], k.to(DT[dt]), to=Raw(dt))
    b = of("bool", [1, 0])
    for dt in ("f32", "i64", "u8"):
        case("cast", [b], b.to(DT[dt]), to=Raw(dt))
    f = of("f32", [NAN, 500.0, -500.0, 449.0, 0.3, 1e-4, 17.0])
    for dt, top in (("f8e4m3fn", 448), ("f8e5m2", 57344)):
        case("cast", [f], torch.clamp(f, -top, top).to(DT[dt]), to=Raw(dt))
    case("cast", [torch.zeros(0, 2)], torch.zeros(0, 2).int(), to=Raw("i32"))
    case("cast", [of("f16", 2.5)], of("i32", 2), to=Raw("i32"))
    for src, dst in (("f32", "i32"), ("i32", "f32"), ("f64", "i64"),
                     ("u8", "i8"), ("f16", "i16"), ("i16", "bf16")):
        k = of(src, HOSTILE) if src in FLOATS else of(src, [0, 1, 100, 127])
        case("bitcast", [k], k.view(DT[dst]), to=Raw(dst))
    case("bitcast", [torch.zeros(0, 2)], torch.zeros(0, 2).int(),
         to=Raw("i32"))
    exact.add("bitcast")


def reduce():
    x = rand("f32", 2, 3, 4)
    x[0, 1, 2], x[1, 0, 0], x[1, 2, 3] = NAN, INF, -INF
    fn = {"reduce_sum": torch.sum, "reduce_mean": torch.mean,
          "reduce_max": torch.amax, "reduce_min": torch.amin}
    for name, f in fn.items():
        for axes, keep in (([], False), ([1], True), ([-1], False),
                           ([0, 2], False), ([2, 0], True)):
            y = f(d(x), dim=axes or (0, 1, 2), keepdim=keep)
            case(name, [x], to("f32", y), axes=axes, keep=keep)
        for dt in ("f16", "bf16", "f64"):
            z = rand(dt, 3, 5)
            case(name, [z], to(dt, f(d(z), dim=1)), axes=[1])
        case(name, [of("f32", -4.0)], of("f32", -4.0), axes=[])
    k = of("i64", [3, -4, 5, 6, 7, 8], 2, 3)
    u = of("u8", [200, 100, 7, 255], 2, 2)
    case("reduce_sum", [k], k.sum(0), axes=[0])
    case("reduce_sum", [u], u.sum(1, dtype=torch.uint8), axes=[1])
    case("reduce_sum", [torch.zeros(2, 0)], torch.zeros(2), axes=[1])
    case("reduce_mean", [torch.zeros(2, 0)], of("f32", [NAN, NAN]), axes=[1])
    case("reduce_max", [k], k.amax(1), axes=[1])
    case("reduce_max", [u], u.amax(0), axes=[0])
    case("reduce_min", [k], k.min(), axes=[])
    case("reduce_min", [u], u.amin(0), axes=[0])
    for dt in ("f32", "f64", "f16"):
        y = rand(dt, 3, 4)
        case("reduce_prod", [y], to(dt, d(y).prod(0)), axes=[0])
    case("reduce_prod", [of("f32", [0, INF, 2, NAN], 2, 2)],
         of("f32", [NAN, NAN]), axes=[1])
    case("reduce_prod", [k], k.prod(1), axes=[1])
    case("reduce_prod", [torch.zeros(2, 0)], torch.ones(2), axes=[1])
    b = of("bool", [0, 0, 1, 0], 2, 2)
    case("reduce_any", [b], b.any(1), axes=[1])
    case("reduce_any", [b], b.any(), axes=[])
    case("reduce_any", [b], b.any(0, keepdim=True), axes=[-2], keep=True)
    case("reduce_any", [torch.zeros(2, 0).bool()], of("bool", [0, 0]),
         axes=[1])
    case("reduce_any", [of("f32", [0, NAN, -0.0, 0], 2, 2)],
         of("bool", [0, 1]), axes=[0])
    for name, f in (("arg_max", torch.argmax), ("arg_min", torch.argmin)):
        for axis in (0, 1, -1):
            y = rand("f32", 3, 4, 2)
            case(name, [y], f(y, axis), axes=[axis])
        case(name, [x], f(x, 1, keepdim=True), axes=[1], keep=True)
        case(name, [x], f(x), axes=[])
        case(name, [k], f(k, 1), axes=[1])
        nans = of("f32", [1, NAN, 9, NAN])
        case(name, [nans], f(nans), axes=[0])
        ties = of("i8", [2, 5, 5, 2, 2], 1, 5)
        case(name, [ties], of("i64", [1 if name == "arg_max" else 0]),
             axes=[1])
        case(name, [ties], of("i64", [2 if name == "arg_max" else 4]),
             axes=[1], last=True)
    for dt in ("f32", "f64", "i64", "i32"):
        c = rand(dt, 2, 3, 2)
        case("cumsum", [c], c.cumsum(1).to(DT[dt]), axis=1)
        case("cumsum", [c], c.flip(-1).cumsum(-1).flip(-1).to(DT[dt]), axis=-1,
             reverse=True)
        case("cumsum", [c], (c.cumsum(1) - c).to(DT[dt]), axis=1,
             exclusive=True)
    c = of("f32", [1, INF, 1, -INF, 1])
    case("cumsum", [c], c.cumsum(0), axis=0)
    case("cumsum", [torch.zeros(0, 2)], torch.zeros(0, 2), axis=0)
    for dt in ("f32", "f64", "i64", "u8"):
        c = rand(dt, 2, 3, 2)
        one = torch.ones(2, 1, 2, dtype=c.dtype)
        y = d(c) if dt[0] == "f" else c
        case("cumprod", [c], y.cumprod(1).to(DT[dt]), axis=1)
        case("cumprod", [c], y.flip(-1).cumprod(-1).flip(-1).to(DT[dt]),
             axis=-1, reverse=True)
        case("cumprod", [c], torch.cat([one, y[:, :2].cumprod(1)], 1)
             .to(DT[dt]), axis=1, exclusive=True)
    c = of("f32", [1, INF, 2, 0, 3, NAN])
    case("cumprod", [c], c.cumprod(0), axis=0)
    case("cumprod", [torch.zeros(0, 2)], torch.zeros(0, 2), axis=0)


def matmul():
    for sa, sb in (((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)),
                   ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)),
                   ((2, 1, 2, 3), (4, 3, 2)), ((2, 0), (0, 3)),
                   ((0, 3), (3, 2)), ((1, 1), (1, 1))):
        a, b = rand("f32", *sa), rand("f32", *sb)
        case("matmul", [a, b], to("f32", d(a) @ d(b)))
    for n in (1, 8, 9):
        a, b, c = rand("f32", 2, 3), rand("f32", 3, n), rand("f32", n)
        case("matmul", [a, b, c], to("f32", d(a) @ d(b) + d(c)),
             weights=(1, 2))
        case("matmul", [a, b.mT.contiguous()], to("f32", d(a) @ d(b)),
             weights=(1,), trans_b=True)
    for dt in ("f16", "bf16", "f64"):
        a, b = rand(dt, 2, 3), rand(dt, 3, 2)
        case("matmul", [a, b], to(dt, d(a) @ d(b)))
    a, b = rand("f32", 2, 3, 2), rand("f32", 4, 3)
    case("matmul", [a, b], to("f32", d(a).mT @ d(b).mT), trans_a=True,
         trans_b=True)
    a, b = rand("f32", 2, 2, 3), rand("f32", 2, 3, 4)
    for shape in ((4,), (2, 1), (1,), (), (2, 1, 4)):
        c = rand("f32", *shape)
        case("matmul", [a, b, c], to("f32", d(a) @ d(b) + d(c)))
    for dt in ("i64", "i32"):
        a, b, c = rand(dt, 2, 2), rand(dt, 2, 2), rand(dt, 2)
        case("matmul", [a, b, c], a @ b + c)
    a = of("f32", [0, INF, 1, NAN], 2, 2)
    case("matmul", [a, torch.eye(2)], to("f32", d(a) @ d(torch.eye(2))))


def conv():
    for n, x, w, s, p, dil, g in (
            (1, (2, 3, 7), (4, 3, 3), [2], [1, 1], [1], 1),
            (1, (1, 2, 9), (2, 2, 3), [1], [0, 2], [2], 1),
            (2, (1, 3, 6, 5), (4, 3, 3, 2), [2, 1], [1, 0, 1, 1], [1, 2], 1),
            (2, (2, 4, 3, 3), (4, 1, 3, 3), [1, 1], [1, 1, 1, 1], [1, 1], 4),
            (2, (2, 4, 2, 2), (6, 2, 1, 1), [1, 1], [0, 0, 0, 0], [1, 1], 2),
            (3, (1, 2, 3, 2, 3), (2, 2, 2, 2, 2), [1, 2, 1],
             [0, 1, 0, 1, 0, 0], [1, 1, 1], 1)):
        for dt, holes in (("f32", (1, 2)), ("f16", ())):
            a, k, b = rand(dt, *x), rand(dt, *w), rand(dt, w[0])
            pads = []
            for i in reversed(range(n)):
                pads += [p[i], p[n + i]]
            f = [F.conv1d, F.conv2d, F.conv3d][n - 1]
            y = f(F.pad(d(a), pads), d(k), d(b), stride=s, dilation=dil,
                  groups=g)
            case("conv", [a, k, b], to(dt, y), weights=holes, stride=s, pad=p,
                 dilation=dil, groups=g)
    a, k = of("f64", [1, NAN, INF, 0], 1, 1, 4), rand("f64", 1, 1, 2)
    case("conv", [a, k], F.conv1d(a, k), stride=[1], pad=[0, 0], dilation=[1])
    case("conv", [torch.zeros(0, 2, 4), rand("f32", 3, 2, 2)],
         torch.zeros(0, 3, 3), stride=[1], pad=[0, 0], dilation=[1])
    for n, x, w, s, p, dil, op, g in (
            (1, (2, 3, 4), (3, 2, 3), [2], [1, 1], [1], [1], 1),
            (2, (1, 4, 3, 2), (4, 2, 3, 2), [2, 3], [1, 0, 1, 0], [1, 2],
             [1, 2], 2),
            (2, (2, 2, 2, 2), (2, 1, 2, 2), [1, 1], [0, 0, 0, 0], [1, 1],
             [0, 0], 2),
            (3, (1, 2, 2, 1, 2), (2, 3, 2, 1, 2), [1, 2, 1],
             [0, 0, 0, 0, 0, 0], [2, 1, 1], [0, 1, 0], 1),
            (2, (1, 3, 5, 3), (3, 9, 4, 4), [2, 2], [1, 1, 1, 1], [1, 1],
             [0, 0], 1),
            (2, (1, 4, 3, 2), (4, 2, 3, 5), [2, 3], [1, 0, 1, 0], [1, 1],
             [1, 2], 2),
            (2, (1, 2, 2, 3), (2, 3, 2, 1), [3, 2], [0, 0, 0, 0], [1, 1],
             [2, 1], 1),
            (1, (1, 2, 35), (2, 1, 5), [1], [2, 2], [1], [0], 1),
            (3, (1, 2, 2, 1, 2), (2, 3, 3, 2, 2), [2, 1, 2],
             [1, 0, 0, 1, 0, 0], [1, 1, 1], [1, 0, 0], 1)):
        for dt, holes in (("f32", (1,)), ("f64", ())):
            a, k, b = rand(dt, *x), rand(dt, *w), rand(dt, w[1] * g)
            f = [F.conv_transpose1d, F.conv_transpose2d,
                 F.conv_transpose3d][n - 1]
            at = {"stride": s, "pad": p, "dilation": dil, "out_pad": op,
                  "groups": g}
            y = f(d(a), d(k), d(b), stride=s, padding=p[:n], output_padding=op,
                  groups=g, dilation=dil)
            case("conv_transpose", [a, k, b], to(dt, y), weights=holes, **at)
            y = f(d(a), d(k), None, stride=s, padding=p[:n], output_padding=op,
                  groups=g, dilation=dil)
            case("conv_transpose", [a, k], to(dt, y), **at)


def pool():
    for n, x, k, s, p, dil, ceil in (
            (1, (1, 2, 8), [3], [2], [1], [1], False),
            (2, (1, 2, 5, 6), [3, 2], [2, 2], [1, 0], [1, 1], False),
            (2, (1, 1, 6, 7), [3, 3], [2, 3], [1, 1], [1, 1], True),
            (2, (1, 1, 5, 5), [2, 2], [3, 3], [1, 1], [1, 1], True),
            (2, (1, 1, 5, 7), [2, 3], [1, 2], [0, 1], [2, 2], False),
            (3, (1, 1, 3, 3, 3), [2, 2, 2], [2, 1, 2], [0, 1, 0], [1, 1, 1],
             False)):
        at = {"kernel": k, "stride": s, "pad": p + p, "dilation": dil,
              "ceil": ceil}
        for dt in ("f32", "f16"):
            a = rand(dt, *x)
            f = [F.max_pool1d, F.max_pool2d, F.max_pool3d][n - 1]
            case("max_pool", [a], to(dt, f(d(a), k, s, p, dil, ceil)), **at)
            if max(dil) > 1:
                continue
            f = [F.avg_pool1d, F.avg_pool2d, F.avg_pool3d][n - 1]
            for count in (False, True):
                case("avg_pool", [a], to(dt, f(d(a), k, s, p, ceil, count)),
                     count_pad=count, **at)
    one = {"kernel": [2], "stride": [1], "pad": [0, 0], "dilation": [1]}
    a = of("f32", [1, NAN, 3, -INF, -INF, 2], 1, 1, 6)
    case("max_pool", [a], F.max_pool1d(a, 2, 1), **one)
    case("avg_pool", [a], F.avg_pool1d(a, 2, 1), **one)
    u = of("u8", [1, 9, 3, 200, 5, 0], 1, 1, 6)
    case("max_pool", [u], of("u8", [9, 9, 200, 200, 5], 1, 1, 5), **one)
    for x, out in (((1, 2, 7), [3]), ((2, 1, 5, 6), [2, 4]),
                   ((1, 1, 3, 3), [1, 1]), ((1, 1, 2, 2), [5, 3]),
                   ((1, 1, 4, 3, 5), [2, 2, 3])):
        for dt in ("f32", "bf16"):
            a = rand(dt, *x)
            f = [F.adaptive_avg_pool1d, F.adaptive_avg_pool2d,
                 F.adaptive_avg_pool3d][len(out) - 1]
            y = f(d(a), out[0] if len(out) == 1 else out)
            case("adaptive_avg_pool", [a], to(dt, y), out=out)


def resize():
    for shape, size in (((1, 2, 4, 5), (6, 3)), ((1, 1, 3, 3), (4, 7)),
                        ((1, 1, 6, 4), (3, 2)), ((1, 1, 5, 4), (1, 1))):
        a = rand("f32", *shape)
        case("resize", [a], F.interpolate(a, size, mode="nearest"),
             size=size, mode="nearest", coord="asymmetric", round="floor")
        case("resize", [a], F.interpolate(a, size, mode="nearest-exact"),
             size=size, mode="nearest", round="prefer_ceil")
        for mode, name in (("linear", "bilinear"), ("cubic", "bicubic")):
            case("resize", [a], to("f32", F.interpolate(d(a), size,
                                                        mode=name)),
                 size=size, mode=mode)
            y = F.interpolate(d(a), size, mode=name, align_corners=True)
            case("resize", [a], to("f32", y), size=size, mode=mode,
                 coord="align_corners")
            y = F.interpolate(d(a), size, mode=name, antialias=True)
            case("resize", [a], to("f32", y), size=size, mode=mode,
                 antialias=True, exclude_outside=True, cubic_a=-0.5)
    a = rand("f32", 1, 1, 5)
    y = F.interpolate(d(a), scale_factor=1.7, mode="linear",
                      recompute_scale_factor=False)
    case("resize", [a], to("f32", y), size=[8], scales=[1.7], mode="linear")
    u = of("u8", [255, 255, 255, 0], 1, 1, 4)
    case("resize", [u], u.repeat_interleave(2, dim=-1), size=[8],
         mode="nearest", coord="asymmetric", round="floor")
    case("resize", [torch.zeros(0, 1, 2)], torch.zeros(0, 1, 4), size=[4],
         mode="linear")


def norm():
    for shape in ((2, 3), (2, 3, 4), (1, 3, 2, 2), (0, 3, 2)):
        for dt in ("f32", "f64"):
            x = rand(dt, *shape)
            s, b, m = rand(dt, 3), rand(dt, 3), rand(dt, 3)
            v = rand(dt, 3).abs()
            y = (d(x).movedim(1, -1) - d(m)) / torch.sqrt(d(v) + 1e-5) * d(
                s) + d(b)
            case("batch_norm", [x, s, b, m, v],
                 to(dt, y.movedim(-1, 1).contiguous()),
                 weights=(1, 2, 3, 4), eps=1e-5)
    x = of("f32", [NAN, INF, 1, 2], 2, 2)
    one, v = torch.ones(2), of("f32", [0, -1])
    case("batch_norm", [x, one, one, one, v], to("f32", F.batch_norm(
        d(x), d(one), d(v), d(one), d(one), eps=0.25)), eps=0.25)
    for dt in ("f32", "f16", "bf16", "f64"):
        x, s, b = rand(dt, 2, 3, 4), rand(dt, 4), rand(dt, 4)
        case("layer_norm", [x, s, b],
             to(dt, F.layer_norm(d(x), [4], d(s), d(b), 1e-5)), axis=-1,
             eps=1e-5)
        y = d(x) / torch.sqrt((d(x) ** 2).mean(-1, True) + 1e-6)
        case("rms_norm", [x, s], to(dt, y * d(s)), axis=-1, eps=1e-6)
        case("rms_norm", [x], to(dt, y), axis=2, eps=1e-6)
    x, s = rand("f32", 2, 3, 4), rand("f32", 3, 4)
    y = d(x) / torch.sqrt((d(x) ** 2).mean((1, 2), True) + 1e-6)
    case("rms_norm", [x, s], to("f32", y * d(s)), axis=1, eps=1e-6)
    case("rms_norm", [torch.zeros(2, 3)], torch.zeros(2, 3), axis=1, eps=1e-6)
    for scale, bias, axis in ((s, None, 1), (None, s, 1), (None, None, 0)):
        y = F.layer_norm(d(x), list(x.shape[axis:]),
                         None if scale is None else d(scale),
                         None if bias is None else d(bias), 1e-3)
        ins = [x, scale, bias] if bias is not None else [x, scale]
        case("layer_norm", ins if scale is not None or bias is not None
             else [x], to("f32", y), axis=axis, eps=1e-3)
    x = of("f32", [NAN, 1, INF, 1, 5, 5], 3, 2)
    case("layer_norm", [x], to("f32", F.layer_norm(d(x), [2])), axis=1,
         eps=1e-5)
    for shape, g in (((2, 4, 3), 2), ((1, 4, 2, 2), 4), ((2, 4), 1)):
        x, s, b = rand("f32", *shape), rand("f32", 4), rand("f32", 4)
        case("group_norm", [x, s, b],
             to("f32", F.group_norm(d(x), g, d(s), d(b), 1e-5)), groups=g,
             eps=1e-5)
        case("group_norm", [x], to("f32", F.group_norm(d(x), g)), groups=g,
             eps=1e-5)
    hostile = of("f32", [-INF, -INF, 0, INF, 1, -INF, NAN, 1, 1000, 1001,
                         -1000, 0], 6, 2)
    for name, f in (("softmax", torch.softmax),
                    ("log_softmax", torch.log_softmax)):
        x = rand("f32", 2, 3, 2)
        for axis in (0, 1, -1):
            case(name, [x], to("f32", f(d(x), axis)), axis=axis)
        case(name, [hostile], to("f32", f(d(hostile), 1)), axis=1)
        for dt in ("f16", "bf16", "f64"):
            y = rand(dt, 2, 5)
            case(name, [y], to(dt, f(d(y), 1)), axis=1)
        case(name, [torch.zeros(2, 0)], torch.zeros(2, 0), axis=1)
        case(name, [torch.zeros(1)], f(torch.zeros(1), 0), axis=0)


def attention():
    def ref(q, k, v, mask=None, causal=False, scale=None):
        if k.dim() > 2 and k.shape[-3] != q.shape[-3]:
            n = q.shape[-3] // k.shape[-3]
            k, v = (t.repeat_interleave(n, dim=-3) for t in (k, v))
        m = None if mask is None or mask.dtype == torch.bool else d(mask)
        s = d(q) @ d(k).mT * (scale or 1 / math.sqrt(q.shape[-1]))
        if m is not None:
            s = s + m
        elif mask is not None:
            s = s.masked_fill(~mask, -INF)
        if causal:
            s = s.masked_fill(torch.ones(s.shape[-2:]).triu(1).bool(), -INF)
        y = torch.softmax(s, -1) @ d(v)
        if mask is None and not causal or mask is not None and m is None:
            t = F.scaled_dot_product_attention(d(q), d(k), d(v), mask,
                                               scale=scale)
            assert torch.allclose(t, y, equal_nan=True)
        return y
    for dt in ("f32", "f16", "f64"):
        q, k, v = rand(dt, 2, 3, 4), rand(dt, 2, 5, 4), rand(dt, 2, 5, 2)
        case("sdpa", [q, k, v], to(dt, ref(q, k, v)))
        case("sdpa", [q, k, v], to(dt, ref(q, k, v, scale=0.5)), scale=0.5)
        case("sdpa", [q, k, v], to(dt, ref(q, k, v, causal=True)), causal=True)
        m = rand(dt, 3, 5)
        case("sdpa", [q, k, v, m], to(dt, ref(q, k, v, m)))
        b = torch.tensor([[1, 0, 1, 0, 1], [1, 1, 1, 1, 1],
                          [0, 0, 0, 0, 1]]).bool()
        case("sdpa", [q, k, v, b], to(dt, ref(q, k, v, b)))
    q, k, v = rand("f32", 1, 4, 2, 3), rand("f32", 1, 2, 2, 3), rand(
        "f32", 1, 2, 2, 3)
    case("sdpa", [q, k, v], to("f32", ref(q, k, v)))
    q, k = rand("f32", 2, 3), rand("f32", 2, 3)
    case("sdpa", [q, k, k], to("f32", ref(q, k, k)))
    q[0, 0] = NAN
    case("sdpa", [q, k, k], to("f32", ref(q, k, k)))
    for dt in ("f32", "f16", "f64"):
        for shape, parts in (((2, 5, 3, 2, 4), (0, 1, 2)),
                             ((1, 4, 3, 3, 2), (0, 2, 1)),
                             ((3, 3, 2, 2), (2, 0, 1))):
            x = rand(dt, *shape)
            q, k, v = (x.select(-3, i).transpose(-3, -2) for i in parts)
            by = of(dt, [0.5])
            m = rand(dt, q.shape[-2], q.shape[-2])
            for more, y, at in (
                    ([], ref(q, k, v), {}),
                    ([by], ref(d(q) * 0.5, k, v), {}),
                    ([by, m], ref(d(q) * 0.5, k, v, m, scale=0.25),
                     dict(scale=0.25)),
                    ([], ref(q, k, v, causal=True), dict(causal=True))):
                if parts != (0, 1, 2):
                    at = dict(parts=list(parts), **at)
                case("sdpa_joined", [x] + more,
                     to(dt, y.transpose(-3, -2).contiguous()), **at)


def view():
    for op in ("reshape", "transpose", "expand", "slice", "concat", "pad"):
        exact.add(op)
    for dt in ("f32", "i64", "bool", "f16", "u8"):
        x = rand(dt, 2, 3, 2)
        case("reshape", [x], x.reshape(3, 4), shape=[3, 4])
        case("transpose", [x], x.permute(2, 0, 1).contiguous(), perm=[2, 0, 1])
        y = rand(dt, 2, 1, 3)
        case("expand", [y], y.expand(4, 2, 5, 3)[:].contiguous(),
             shape=[4, 2, 5, 3])
        case("slice", [x], x[:, 1:3].contiguous(), axes=[1], starts=[1],
             ends=[3])
        case("concat", [x, x[:, :1].contiguous()],
             torch.cat([x, x[:, :1]], 1), axis=1)
    x = of("f32", HOSTILE[:6])
    case("reshape", [x], x.reshape(2, 1, 3), shape=[2, 1, 3])
    case("reshape", [x[:1]], x[0], shape=[])
    case("reshape", [torch.zeros(0, 3)], torch.zeros(2, 0), shape=[2, 0])
    whole("reshape", "%x: f32[N,2]",
          [("input", "%x", "[2,2] [1, 2, 3, 4]"),
           ("expect", "%r", of("f32", [1, 2, 3, 4]))],
          "  %r = reshape %x {shape=[2*N]} : f32[2*N]\n", "%r")
    case("transpose", [of("f32", 3.0)], of("f32", 3.0), perm=[])
    case("transpose", [torch.zeros(0, 2)], torch.zeros(2, 0), perm=[1, 0])
    z = torch.tensor([[1 + 2j, 3j], [4 + 0j, complex(NAN, 1)]])
    case("transpose", [z], z.mT.contiguous(), perm=[1, 0])
    case("expand", [of("f32", NAN)], of("f32", [NAN, NAN]), shape=[2])
    case("expand", [torch.zeros(1, 2)], torch.zeros(0, 2), shape=[0, 2])
    whole("expand", "%x: f32[1,2], %y: f32[N]",
          [("input", "%x", of("f32", [1, 2])), ("input", "%y", "[3] [0, 0, 0]"),
           ("expect", "%r", of("f32", [1, 2] * 3))],
          "  %r = expand %x {shape=[N,2]} : f32[N,2]\n", "%r")
    x = rand("f32", 5, 6)
    n = x.numpy()
    for at, y in (
            (dict(axes=[0, 1], starts=[1, 0], ends=[4, 6], steps=[2, 3]),
             n[1:4:2, 0:6:3]),
            (dict(axes=[-1], starts=[-3], ends=[-1]), n[:, -3:-1]),
            (dict(axes=[0], starts=[-100], ends=[100]), n),
            (dict(axes=[0], starts=[4], ends=[-100], steps=[-2]), n[::-2]),
            (dict(axes=[1], starts=[5], ends=[1], steps=[-1]), n[:, 5:1:-1]),
            (dict(axes=[1], starts=[4], ends=[2]), n[:, 4:2]),
            (dict(axes=[1], starts=[9], ends=[20]), n[:, 9:20])):
        case("slice", [x], npt(y), **at)
    whole("slice", "%x: f32[N]",
          [("input", "%x", "[4] [1, 2, 3, 4]"),
           ("expect", "%r", of("f32", [2, 3, 4]))],
          "  %r = slice %x {axes=[0], starts=[1], ends=[N]}\n", "%r")
    a, b = rand("f32", 2, 2), rand("f32", 2, 0)
    case("concat", [a, b, a], torch.cat([a, b, a], 1), axis=-1)
    case("concat", [a], a, axis=0)
    case("concat", [x[:0].contiguous(), x], x, axis=0)
    x = rand("f32", 2, 3)
    for mode, np_mode in (("constant", "constant"), ("edge", "edge"),
                          ("reflect", "reflect"), ("wrap", "wrap")):
        for pads in ([0, 1, 0, 2], [1, 0, 1, 0], [0, 0, 0, 0]):
            y = np.pad(x.numpy(), list(zip(pads[:2], pads[2:])), np_mode)
            case("pad", [x], npt(y), pads=pads, mode=mode)
    case("pad", [x], F.pad(x, [1, 2, 0, 1], value=-INF), pads=[0, 1, 1, 2],
         value=-INF)
    case("pad", [x], F.pad(x, [-1, 2]), pads=[0, -1, 0, 2])
    for dt in ("i64", "u8", "bool", "f16"):
        y = rand(dt, 2)
        case("pad", [y], F.pad(y, [1, 1], value=1), pads=[1, 1], value=1.0)
    case("pad", [torch.zeros(0)], torch.ones(2), pads=[1, 1], value=1.0)


def gather():
    for op in ("gather", "gather_elements", "gather_nd", "scatter_elements",
               "scatter_nd", "topk"):
        exact.add(op)
    for dt in ("f32", "i64", "bool", "f16", "u8"):
        x = rand(dt, 3, 4)
        i = of("i64", [2, 0, -1, -3], 2, 2)
        case("gather", [x, i], npt(np.take(x.numpy(), i.numpy(), 0)))
        i = of("i32", [1, 3, -4])
        case("gather", [x, i], npt(np.take(x.numpy(), i.numpy(), 1)), axis=1)
        i = of("i64", [1, -1, 0, 0, 2, -2], 3, 2)
        j = torch.where(i < 0, i + 4, i)
        case("gather_elements", [x, i], torch.gather(x, 1, j), axis=1)
        i = of("i64", [0, 1, -1, 3], 2, 2)
        case("gather_nd", [x, i], npt(x.numpy()[[0, -1], [1, 3]]))
        case("gather_nd", [x, of("i64", [2, -3], 2, 1)],
             npt(x.numpy()[[2, -3]]))
    x = rand("f32", 3, 4)
    case("gather", [x, of("i64", -2)], x[1].contiguous(), axis=0)
    case("gather", [x, torch.zeros(0, 2).long()], torch.zeros(0, 2, 4), axis=0)
    case("gather", [x, of("i64", [3])], None, error="3", axis=0)
    case("gather", [x, of("i64", [-4])], None, error="-4", axis=0)
    case("gather", [x, of("i64", [2**62])], None, error="46116", axis=0)
    case("gather_elements", [x, of("i64", [4], 1, 1)], None, error="4", axis=1)
    case("gather_elements", [x, torch.zeros(0, 4).long()], torch.zeros(0, 4))
    case("gather_nd", [x, of("i64", [0, 4], 1, 2)], None, error="4")
    y = rand("f32", 2, 3, 2)
    i = of("i64", [2, 0], 2, 1)
    case("gather_nd", [y, i], torch.stack([y[0, 2], y[1, 0]]), batch=1)
    modes = (("none", None), ("add", np.add), ("mul", np.multiply),
             ("min", np.minimum), ("max", np.maximum))
    for mode, f in modes:
        for dt in ("f32", "i64", "f16", "u8"):
            x, u = rand(dt, 3, 3), rand(dt, 2, 2)
            i = of("i64", [0, 2, -2, 0], 2, 2)
            y = x.numpy().copy()
            for r in range(2):
                for c in range(2):
                    at = (int(i[r, c]), c)
                    v = u.numpy()[r, c]
                    y[at] = v if f is None else f(y[at], v)
            case("scatter_elements", [x, i, u], npt(y), axis=0, reduce=mode)
            u = rand(dt, 2, 3)
            i = of("i64", [2, -3], 2, 1)
            y = x.numpy().copy()
            for r in range(2):
                k = int(i[r, 0])
                y[k] = u.numpy()[r] if f is None else f(y[k], u.numpy()[r])
            case("scatter_nd", [x, i, u], npt(y), reduce=mode)
    x = torch.zeros(3)
    i, u = of("i64", [1, 1, 1]), of("f32", [1, 2, NAN])
    case("scatter_elements", [x, i, u], of("f32", [0, NAN, 0]), reduce="add")
    case("scatter_elements", [x, of("i64", [3]), u[:1]], None, error="3")
    case("scatter_elements", [x, torch.zeros(0).long(), torch.zeros(0)], x)
    case("scatter_nd", [x, of("i64", [[1], [-4]]), u[:2]], None, error="-4")
    case("scatter_nd", [x, torch.zeros(0, 1).long(), torch.zeros(0)], x)
    x2 = rand("f32", 2, 2)
    y = x2.clone()
    y[1, 0] = 7.0
    case("scatter_nd", [x2, of("i64", [1, 0], 1, 2), of("f32", [7.0])], y)
    for dt in ("f32", "i64", "f16", "u8"):
        for largest in (True, False):
            x = rand(dt, 2, 5, 2)
            n = x.numpy().astype(np.float64)
            i = np.argsort(-n if largest else n, axis=1, kind="stable")[:, :3]
            v = np.take_along_axis(x.numpy(), i, 1)
            case("topk", [x], [npt(v), npt(i)], k=3, axis=1, largest=largest)
    x = of("f32", [1, NAN, INF, -INF, 5, 5])
    case("topk", [x], [of("f32", [NAN, INF, 5, 5]), of("i64", [1, 2, 4, 5])],
         k=4)
    v, i = torch.topk(x, 3, largest=False)
    case("topk", [x], [v, of("i64", [3, 0, 4])], k=3, largest=False)
    case("topk", [x], [x[:0], torch.zeros(0).long()], k=0)


def quant():
    def quantise(x, s, z, lo, hi):
        return np.clip(np.rint(x / s) + z, lo, hi)
    lim = {"u8": (0, 255), "i8": (-128, 127), "i16": (-32768, 32767)}
    exact.add("quantize")
    x = of("f32", [0.5, -0.25, 0.75, 1.25, 1e9, -1e9, INF, -INF, 0.125, 3.0])
    for dt in ("u8", "i8", "i16"):
        s, z = of("f32", 0.25), of(dt, 7)
        y = quantise(x.double().numpy(), 0.25, 7, *lim[dt])
        case("quantize", [x, s, z], npt(y).to(DT[dt]), to=Raw(dt))
        y = quantise(x.double().numpy(), 0.25, 0, *lim[dt])
        case("quantize", [x, s], npt(y).to(DT[dt]), to=Raw(dt))
        q = rand(dt, 2, 3)
        case("dequantize", [q, s, z], (q.float() - 7) * 0.25)
        case("dequantize", [q, s], q.float() * 0.25)
        w, s3, z3 = rand("f32", 2, 3), of("f32", [0.5, 0.25, 2.0]), of(
            dt, [0, 1, 3])
        y = quantise(w.double().numpy(), s3.double().numpy(), z3.numpy(),
                     *lim[dt])
        case("quantize", [w, s3, z3], npt(y).to(DT[dt]), axis=1, to=Raw(dt))
        case("dequantize", [q, s3, z3], (q.float() - z3.float()) * s3,
             weights=(0, 1, 2), axis=1)
        case("dequantize", [q, s3[:2].contiguous()], q.float() * s3[
            :2].reshape(2, 1), axis=0)
    case("dequantize", [of("i32", [5, -7]), of("f32", 0.5)],
         of("f32", [2.5, -3.5]))


def gate_panels(r, gates, tile):
    """[d, gates * h, h] as [d * ceil(h / tile), h, gates * tile]; what no
    element of the state is in is NaN."""
    d, h = r.shape[0], r.shape[2]
    n = (h + tile - 1) // tile
    out = torch.full((d, gates, n * tile, h), NAN, dtype=r.dtype)
    out[:, :, :h] = r.reshape(d, gates, h, h)
    out = out.reshape(d, gates, n, tile, h).permute(0, 2, 4, 1, 3)
    return out.reshape(d * n, h, gates * tile).contiguous()


def recurrent():
    T, B, I, H = 3, 2, 2, 3

    def gates(w, order):
        return torch.cat([w.chunk(len(order))[k] for k in order])

    def run(op, torch_cls, order, n_dirs, direction, lengths, state, **attrs):
        net = torch_cls(I, H, bidirectional=n_dirs == 2).double()
        for p in net.parameters():
            p.data = rand("f64", *p.shape) / 2
        x = rand("f64", T, B, I)
        h0 = rand("f64", n_dirs, B, H) if state else None
        c0 = rand("f64", n_dirs, B, H) if state else None
        start = None if h0 is None else (h0, c0) if op == "lstm" else h0
        feed = x.flip(0) if direction == "reverse" else x
        if lengths:
            feed = torch.nn.utils.rnn.pack_padded_sequence(
                feed, torch.tensor(lengths), enforce_sorted=False)
        with torch.no_grad():
            y, last = net(feed, start)
        if lengths:
            y, _ = torch.nn.utils.rnn.pad_packed_sequence(y, total_length=T)
        last = list(last) if op == "lstm" else [last]
        y = y.reshape(T, B, n_dirs, H).permute(0, 2, 1, 3).contiguous()
        if direction == "reverse":
            y = y.flip(0)
        p = dict(net.named_parameters())
        parts = [[], [], []]
        for sfx in ("_l0", "_l0_reverse")[:n_dirs]:
            parts[0].append(gates(p["weight_ih" + sfx].data, order))
            parts[1].append(gates(p["weight_hh" + sfx].data, order))
            parts[2].append(torch.cat([gates(p["bias_ih" + sfx].data, order),
                                       gates(p["bias_hh" + sfx].data,
                                             order)]))
        w, r, b = (torch.stack(q) for q in parts)
        ins = [x, w, r, b]
        if state or lengths:
            ins += [h0] + ([c0] if op == "lstm" else [])
        if lengths:
            ins.append(of("i32", lengths))
        ins = [t if t is None or t.dtype == torch.int32 else t.float()
               for t in ins]
        case(op, ins, [to("f32", t) for t in [y] + last], weights=(1, 2, 3),
             hidden=H, direction=direction, **attrs)
        # what is left when a product has done the inputs
        rows = len(order) * H
        ax = torch.einsum("tbi,dri->tbdr", x, w) + b[:, :rows]
        ins[:4] = [to("f32", ax.reshape(T, B, n_dirs * rows)),
                   gate_panels(r, len(order), 2).float(),
                   b[:, rows:].contiguous().float()]
        case(op + "_steps", ins, [to("f32", t) for t in [y] + last], hidden=H,
             tile=2, direction=direction, **attrs)

    for op, cls, order, attrs in (
            ("lstm", torch.nn.LSTM, (0, 3, 1, 2), {}),
            ("gru", torch.nn.GRU, (1, 0, 2), {"reset_after": True}),
            ("rnn", torch.nn.RNN, (0,), {})):
        run(op, cls, order, 1, "forward", None, False, **attrs)
        run(op, cls, order, 1, "reverse", None, True, **attrs)
        run(op, cls, order, 2, "both", None, True, **attrs)
        run(op, cls, order, 1, "forward", [2, 3], False, **attrs)
        run(op, cls, order, 2, "both", [1, 3], True, **attrs)
    run("rnn", lambda *a, **k: torch.nn.RNN(*a, nonlinearity="relu", **k),
        (0,), 1, "forward", None, False, acts="relu")
    x, w, r = rand("f32", 2, 1, 2), rand("f32", 1, 6, 2), rand("f32", 1, 6, 2)
    h, ys = torch.zeros(1, 2).double(), []
    for t in range(2):  # reset before the recurrent product
        a = d(x)[t] @ d(w)[0].mT
        z = torch.sigmoid(a[:, :2] + h @ d(r)[0, :2].mT)
        g = torch.sigmoid(a[:, 2:4] + h @ d(r)[0, 2:4].mT)
        n = torch.tanh(a[:, 4:] + (g * h) @ d(r)[0, 4:].mT)
        h = (1 - z) * n + z * h
        ys.append(h)
    y = torch.stack(ys).reshape(2, 1, 1, 2)
    case("gru", [x, w, r], [to("f32", y), to("f32", h.reshape(1, 1, 2))],
         hidden=2)
    case("gru_steps", [to("f32", d(x) @ d(w)[0].mT), gate_panels(r, 3, 2)],
         [to("f32", y), to("f32", h.reshape(1, 1, 2))], hidden=2, tile=2)
    z = torch.zeros
    for op, g, outs in (("lstm_steps", 4, 3), ("gru_steps", 3, 2),
                        ("rnn_steps", 1, 2)):
        x, w = z(2, 1, 3 * g), z(2, 3, 2 * g)
        case(op, [x, w], None, error="tile", hidden=3, tile=0)
        case(op, [x, w], None, error="dim 0 of operand 1", hidden=3, tile=4)
        case(op, [x, w], None, error="dim 2 of operand 0", hidden=2, tile=2)
        case(op, [x, w, z(1, 3 * g), None] + [None] * (op == "lstm_steps") +
             [of("i32", [3])], None, error="length", hidden=3, tile=2)
        case(op, [z(0, 1, 3 * g), w], [z(0, 1, 1, 3)] + [z(1, 1, 3)] * (
            outs - 1), hidden=3, tile=2)


def sample():
    x = rand("f32", 2, 3, 4, 5)
    grid = rand("f32", 2, 3, 2, 2) * 1.5
    grid[0, 0, 0], grid[0, 0, 1, 0] = 1.0, 7.5
    for mode, name in (("nearest", "nearest"), ("linear", "bilinear"),
                       ("cubic", "bicubic")):
        for edge in ("zeros", "border", "reflection"):
            for align in (False, True):
                if mode == "cubic" and edge != "zeros":
                    continue  # PyTorch moves taps, ONNX the place
                y = F.grid_sample(d(x), d(grid), name, edge, align)
                case("grid_sample", [x, grid], to("f32", y), mode=mode,
                     edge=edge, align=align)
    for dt in ("f64", "f16"):
        v, g = rand(dt, 1, 2, 2, 3, 2), rand(dt, 1, 2, 2, 1, 3)
        case("grid_sample", [v, g],
             to(dt, F.grid_sample(d(v), d(g), "bilinear", "zeros", False)))
    case("grid_sample", [torch.zeros(1, 0, 2, 2), torch.zeros(1, 2, 2, 2)],
         torch.zeros(1, 0, 2, 2))


def positions():
    def flat(x, kernel, **at):
        _, i = F.max_pool2d(d(x), kernel, return_indices=True, **at)
        area = x.shape[2] * x.shape[3]
        plane = torch.arange(x.shape[0] * x.shape[1]) * area
        return i + plane.reshape(x.shape[0], x.shape[1], 1, 1)

    for dt in ("f32", "f16", "f64"):
        x = rand(dt, 2, 2, 5, 4)
        case("max_pool_index", [x], flat(x, 2, stride=1), kernel=[2, 2],
             stride=[1, 1], pad=[0, 0, 0, 0], dilation=[1, 1])
        case("max_pool_index", [x], flat(x, 3, stride=2, padding=1),
             kernel=[3, 3], stride=[2, 2], pad=[1, 1, 1, 1], dilation=[1, 1])
        case("max_pool_index", [x], flat(x, 2, stride=1, dilation=2),
             kernel=[2, 2], stride=[1, 1], pad=[0, 0, 0, 0], dilation=[2, 2])
    h = of("f32", [NAN, 1, -INF, -INF, 2, 2], 1, 1, 6)
    case("max_pool_index", [h], of("i64", [0, 2, 4], 1, 1, 3), kernel=[2],
         stride=[2], pad=[0, 0], dilation=[1])
    k = of("u8", [1, 255, 3, 255], 1, 1, 4)
    case("max_pool_index", [k], of("i64", [1, 1], 1, 1, 2), kernel=[3],
         stride=[1], pad=[0, 0], dilation=[1])
    exact.add("max_pool_index")


def linalg():
    for dt in ("f32", "f64"):
        for shape in ((2, 2), (3, 4, 4), (1, 1), (2, 1, 5, 5)):
            x = rand(dt, *shape)
            case("det", [x], to(dt, torch.linalg.det(d(x))))
    case("det", [of("f32", [0, 1, 1, 0], 2, 2)], of("f32", -1.0))
    case("det", [of("f32", [1, 2, 2, 4], 2, 2)], of("f32", -0.0))
    case("det", [of("f32", [1, 2, NAN, 4], 2, 2)], of("f32", NAN))
    case("det", [torch.zeros(2, 0, 0)], torch.ones(2))
    case("det", [torch.zeros(0, 3, 3)], torch.zeros(0))


def fourier():
    def parts(z):
        return torch.view_as_real(z)

    for dt in ("f32", "f64"):
        x = rand(dt, 2, 5, 3, 2)
        z = torch.view_as_complex(d(x))
        for axis, size in ((0, 2), (1, 5), (2, 3), (1, 7), (1, 3), (-2, 3)):
            dim = axis if axis >= 0 else 2
            case("dft", [x], to(dt, parts(torch.fft.fft(z, size, dim))),
                 axis=axis, size=size)
            case("dft", [x], to(dt, parts(torch.fft.ifft(z, size, dim))),
                 axis=axis, size=size, inverse=True)
        r = rand(dt, 2, 6, 1)
        v = d(r)[..., 0]
        case("dft", [r], to(dt, parts(torch.fft.fft(v, 6, 1))), axis=1,
             size=6)
        for size in (5, 6, 8):
            half = torch.fft.rfft(v, size, 1)
            case("dft", [r], to(dt, parts(half)), axis=1, size=size,
                 onesided=True)
            h = to(dt, parts(half)).contiguous()
            back = torch.fft.irfft(torch.view_as_complex(d(h)), size, 1)
            case("dft", [h], to(dt, back.unsqueeze(-1)), axis=1, size=size,
                 inverse=True, onesided=True)
    case("dft", [of("f32", [NAN, 1.0], 2, 1)],
         of("f32", [NAN, NAN, NAN, NAN], 2, 2), axis=0, size=2)
    case("dft", [torch.zeros(0, 3, 2)], torch.zeros(0, 3, 2), axis=1, size=3)


def control():
    body = ("  %r = if %c {then=graph () {\n    %a = neg %x : f32[2]\n"
            "    return %a, %x\n  }, else=graph () {\n    return %x, %x\n  }}"
            " : f32[2], f32[2]\n")
    x = of("f32", [1, NAN])
    for c, y in ((1, -x), (0, x)):
        whole("if", "%c: bool[], %x: f32[2]",
              [("input", "%c", of("bool", c)), ("input", "%x", x),
               ("expect", "%r", y), ("expect", "%s", x)],
              body.replace("%r =", "%r, %s ="), "%r, %s")
    whole("if", "%c: bool[], %d: bool[], %x: f32[]",
          [("input", "%c", of("bool", 1)), ("input", "%d", of("bool", 0)),
           ("input", "%x", of("f32", 4.0)), ("expect", "%r", of("f32", 2.0))],
          "  %r = if %c {then=graph () {\n    %i = if %d {then=graph () {\n"
          "      return %x\n    }, else=graph () {\n      %s = sqrt %x\n"
          "      return %s\n    }}\n    return %i\n  }, else=graph () {\n"
          "    return %x\n  }}\n", "%r")
    loop = ("  %r, %s = loop %n, _, %x, %t {body=graph (%i: i64[], %go: bool[],"
            " %u: f32[2], %k: i64[]) {\n    %v = add %u, %x\n"
            "    %m = add %k, %i\n    return %go, %v, %m\n  }}"
            " : f32[2], i64[]\n")
    for n in (0, 1, 4, -3):
        m = max(n, 0)
        whole("loop", "%n: i64[], %x: f32[2], %t: i64[]",
              [("input", "%n", of("i64", n)), ("input", "%x", of("f32", [1,
                                                                         2])),
               ("input", "%t", of("i64", 0)),
               ("expect", "%r", of("f32", [1 + m, 2 + 2 * m])),
               ("expect", "%s", of("i64", m * (m - 1) // 2))], loop, "%r, %s")
    whole("loop", "%c: bool[], %x: f32[]",
          [("input", "%c", of("bool", 1)), ("input", "%x", of("f32", 1.0)),
           ("expect", "%r", of("f32", 128.0))],
          "  %h = const {value=100} : f32[]\n"
          "  %r = loop _, %c, %x {body=graph (%i: i64[], %go: bool[],"
          " %u: f32[]) {\n    %v = add %u, %u\n    %w = lt %v, %h\n"
          "    return %w, %v\n  }}\n", "%r")
    whole("loop", "%c: bool[], %n: i64[], %x: f32[]",
          [("input", "%c", of("bool", 0)), ("input", "%n", of("i64", 5)),
           ("input", "%x", of("f32", 1.0)), ("expect", "%r", of("f32", 1.0))],
          "  %r = loop %n, %c, %x {body=graph (%i: i64[], %go: bool[],"
          " %u: f32[]) {\n    %v = add %u, %u\n    return %go, %v\n  }}\n",
          "%r")
    exact.update(("if", "loop", "expect"))
    k = of("i64", [2, -3])
    case("expect", [k], k, value=Raw("[2,-3]"), what="a shape")
    case("expect", [k], None, error="a shape", value=Raw("i64[2] [2,3]"),
         what="a shape")
    f = of("f32", [1.5])
    case("expect", [f], f, value=Raw("[1.5]"), what="a scale")
    case("expect", [of("bool", 1)], None, error="a flag",
         value=Raw("bool[] false"), what="a flag")


exact.update(("const", "dims", "iota", "pack", "arg_max", "arg_min", "reduce_any",
              "reduce_max", "reduce_min", "max_pool"))
run((source, unary, binary, select, reduce, matmul, conv, pool, resize, norm,
     attention, view, gather, quant, recurrent, sample, positions, linalg,
     fourier, control) + op_hostile.GROUPS + op_formulas.GROUPS)
write(sys.argv[1:])
