# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Hull authors
"""The cases of tests/ops that break kernels: the ends of every type, integers
that wrap, elements below a byte, tensors without elements, bad indices and
sizes. scripts/check.py says which of them an op must have."""

import math

import ml_dtypes
import numpy as np
import torch
import torch.nn.functional as F

from op_cases import (DT, INF, NAN, Lit, Raw, Text, bits, case, d, exact, high, low,
                      narrow, npt, number, of, rand, to, whole, wrap)

# The ends of the float types: largest, smallest normal and subnormal.
ENDS = {"f64": [1.7976931348623157e308, 2.2250738585072014e-308, 5e-324],
        "f32": [3.4028235e38, 1.1754944e-38, 1e-45],
        "f16": [65504.0, 6.1035156e-05, 5.9604645e-08],
        "bf16": [3.3895314e38, 1.1754944e-38, 9.1835e-41],
        "f8e4m3fn": [448.0, 0.015625, 0.001953125],
        "f8e5m2": [57344.0, 6.1035156e-05, 1.5258789e-05],
        "f8e4m3fnuz": [240.0, 0.0078125, 0.0009765625],
        "f8e5m2fnuz": [57344.0, 3.0517578e-05, 7.6293945e-06],
        "f4e2m1": [6.0, 1.0, 0.5]}
INTS = ("i64", "i32", "i8", "u8", "u64", "i4", "u4", "i2", "u2")


ALL = INTS + ("i16", "u16", "u32")


def literal(dt, v):
    return f"{dt}[{len(v)}] [" + ", ".join(
        "nan" if x != x else repr(x) if isinstance(x, float) else str(x)
        for x in v) + "]"


def ends(dt):
    """Both signs of the type's ends, and its zeros, infinities and NaN."""
    v = [narrow(dt, s * x) for x in ENDS[dt] for s in (1, -1)]
    v += [0.0] if dt.endswith("fnuz") else [0.0, -0.0]
    if dt in ("f64", "f32", "f16", "bf16", "f8e5m2"):
        v += [INF, -INF]
    return v if dt == "f4e2m1" else v + [NAN]


def lit(dt, v, *shape):
    return Lit(dt, [narrow(dt, x) for x in v], *shape)


def extremes(dt):
    v = [low(dt), low(dt) + 1, high(dt), high(dt) - 1, 0, 1]
    return v if dt[0] == "u" else v + [-1]


def pairs(dt):
    """Every extreme with every other, without (x, 0)."""
    return [(a, b) for a in extremes(dt)[:3] + [1, high(dt) // 3]
            for b in (low(dt) if dt[0] == "i" else 1, high(dt), 1,
                      -1 if dt[0] == "i" else 2)]


def trunc_div(a, b):
    return abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)


def shift(dt, a, n, left):
    if n < 0 or n >= bits(dt):
        return 0 if left or a >= 0 else -1
    return a << n if left else a >> n


# ---- element by element ------------------------------------------------------

def quiet(f):
    """f of Python's math with IEEE's results where Python raises."""
    def g(x):
        try:
            return f(x)
        except OverflowError:
            return INF
        except ValueError:
            return NAN
    return g


def sinh(x):
    try:
        return math.sinh(x)
    except OverflowError:
        return math.copysign(INF, x)


def expm1(x):
    return INF if x > 709.7 else math.expm1(x)


def log(x):
    return -INF if x == 0 else math.log(x) if x > 0 else NAN if x < 0 else x


def log1p(x):
    return -INF if x == -1 else math.log1p(x) if x > -1 else NAN if x < -1 \
        else x


def exp(x):
    return INF if x > 709.8 else math.exp(x)


def over(a, b):
    return math.copysign(INF, a) * math.copysign(1, b) if b == 0 and a != 0 \
        and a == a else NAN if b == 0 else a / b


def fmod(a, b):
    return NAN if b == 0 or math.isinf(a) or a != a or b != b else \
        math.fmod(a, b)


def floor_mod(a, b):
    m = fmod(a, b)
    return m + b if m != 0 and m == m and (b < 0) != (m < 0) else m


def sign(x):
    return x if x != x else 0.0 if x == 0 else math.copysign(1, x)


def same(f):
    return lambda x: x if math.isnan(x) or math.isinf(x) or x == 0 else \
        math.copysign(float(f(x)), x)


def at_ends(f, one):
    """f at the infinities and NaN by torch, elsewhere by `one`."""
    return lambda x: float(f(torch.tensor(x, dtype=torch.float64))) \
        if not math.isfinite(x) else one(x)


def rsqrt(x):
    return over(1.0, math.copysign(math.sqrt(abs(x)), x)) if x >= 0 else NAN


def gelu(x):
    return NAN if x == -INF else 0.5 * x * math.erfc(-x / math.sqrt(2))


UNARY = {
    "neg": lambda x: -x, "abs": abs, "sign": sign, "exp": exp, "expm1": expm1,
    "log": log, "log1p": log1p, "sqrt": quiet(math.sqrt), "rsqrt": rsqrt,
    "reciprocal": lambda x: over(1.0, x), "erf": math.erf,
    "sin": quiet(math.sin), "cos": quiet(math.cos), "tan": quiet(math.tan),
    "asin": quiet(math.asin), "acos": quiet(math.acos), "atan": math.atan,
    "sinh": sinh, "cosh": quiet(math.cosh), "tanh": math.tanh,
    "asinh": math.asinh, "acosh": quiet(math.acosh),
    "atanh": lambda x: over(x, 0.0) if abs(x) == 1 else quiet(math.atanh)(x),
    "floor": same(math.floor), "ceil": same(math.ceil), "round": same(round),
    "trunc": same(math.trunc), "relu": lambda x: 0.0 if x < 0 else x,
    "sigmoid": at_ends(torch.sigmoid, lambda x: 1 / (1 + exp(-x))),
    "silu": at_ends(F.silu, lambda x: x / (1 + exp(-x))), "gelu": gelu,
    "softplus": lambda x: x + log1p(exp(-x)) if x > 0 else log1p(exp(x)),
    "elu": lambda x: x if x > 0 else expm1(x),
    "leaky_relu": lambda x: x if x > 0 else 0.01 * x,
}
UNARY["floor"] = lambda x: same(math.floor)(x) if x >= 0 or x != x or \
    math.isinf(x) else float(math.floor(x))
UNARY["ceil"] = lambda x: same(math.ceil)(x)


def unary():
    for name, f in UNARY.items():
        for dt in ENDS:
            x = ends(dt)
            case(name, [Lit(dt, x)], lit(dt, [f(v) for v in x]))
    for dt in INTS:
        x = extremes(dt)
        whole_set = {"neg": lambda v: -v, "abs": abs,
                     "sign": lambda v: (v > 0) - (v < 0),
                     "relu": lambda v: max(v, 0), "bit_not": lambda v: ~v}
        for name in ("floor", "ceil", "round", "trunc"):
            whole_set[name] = lambda v: v
        for name, f in whole_set.items():
            case(name, [Lit(dt, x)], Lit(dt, [wrap(dt, f(v)) for v in x]))
        case("not", [Lit(dt, x)], Lit("bool", [v == 0 for v in x]))
        case("clamp", [Lit(dt, x)], Lit(dt, [max(min(v, high(dt)), low(dt))
                                             for v in x]))
        case("clamp", [Lit(dt, x)], Lit(dt, x), min=-1e300, max=1e300)
        case("clamp", [Lit(dt, x)], Lit(dt, [1 for v in x]), min=0.5,
             max=1.5)
        case("is_nan", [Lit(dt, x)], Lit("bool", [0] * len(x)))
        case("is_inf", [Lit(dt, x)], Lit("bool", [0] * len(x)))
    for dt in ENDS:
        x = ends(dt)
        case("is_nan", [Lit(dt, x)], Lit("bool", [v != v for v in x]))
        case("is_inf", [Lit(dt, x)], Lit("bool", [math.isinf(v) for v in x]))
        case("not", [Lit(dt, x)], Lit("bool", [v == 0 for v in x]))
        case("clamp", [Lit(dt, x)], lit(dt, x))
        case("clamp", [Lit(dt, x)], lit(dt, [
            v if v != v else min(max(v, -1.5), 1.0) for v in x]), min=-1.5,
            max=1.0)
        case("hard_sigmoid", [Lit(dt, x)], lit(dt, [
            v if v != v else min(max(0.25 * v + 0.5, 0), 1) for v in x]),
            alpha=0.25, beta=0.5)
    x = of("f32", [1.0, NAN, INF])
    case("clamp", [x], of("f32", [NAN, NAN, NAN]), min=NAN)
    case("clamp", [x], of("f32", [NAN, NAN, NAN]), max=NAN)
    x = torch.zeros(2, 0)
    for name in ("is_nan", "is_inf", "not"):
        case(name, [x], x.bool())
    for name, at in (("clamp", {"min": 1.0}),
                     ("hard_sigmoid", {"alpha": 0.2, "beta": 0.5})):
        case(name, [x], x, **at)
    case("bit_not", [x.int()], x.int())
    case("neg", [Lit("bool", [1])], None, error="neg")
    case("bit_not", [x], None, error="bit_not")


def binary():
    whole_set = {
        ("add",): lambda dt, a, b: a + b, ("sub",): lambda dt, a, b: a - b,
        ("mul",): lambda dt, a, b: a * b,
        ("min",): lambda dt, a, b: min(a, b),
        ("max",): lambda dt, a, b: max(a, b),
        ("and",): lambda dt, a, b: a & b, ("or",): lambda dt, a, b: a | b,
        ("xor",): lambda dt, a, b: a ^ b,
        ("div",): lambda dt, a, b: trunc_div(a, b),
        ("div", "trunc"): lambda dt, a, b: trunc_div(a, b),
        ("div", "floor"): lambda dt, a, b: a // b,
        ("mod",): lambda dt, a, b: a % b,
        ("mod", False): lambda dt, a, b: a - b * trunc_div(a, b)}
    for dt in INTS:
        ab = pairs(dt)
        x, y = Lit(dt, [a for a, _ in ab]), Lit(dt, [b for _, b in ab])
        for (name, *rest), f in whole_set.items():
            at = {} if not rest else {"round": rest[0]} if name == "div" \
                else {"floor": rest[0]}
            case(name, [x, y], Lit(dt, [wrap(dt, f(dt, a, b))
                                        for a, b in ab]), **at)
        n = [-1, 0, 1, bits(dt) - 1, bits(dt), high(dt), low(dt)]
        n = [wrap(dt, v) for v in n]
        for name, left in (("shift_left", True), ("shift_right", False)):
            for a in (high(dt), low(dt)):
                case(name, [Lit(dt, [a] * len(n)), Lit(dt, n)],
                     Lit(dt, [wrap(dt, shift(dt, a, k, left)) for k in n]))
        p = [(high(dt), 2), (low(dt), 3), (2, 1), (1, high(dt)), (0, 0)]
        p = [(a, wrap(dt, b)) for a, b in p]
        case("pow", [Lit(dt, [a for a, _ in p]), Lit(dt, [b for _, b in p])],
             Lit(dt, [wrap(dt, pow(a, b, 2**64) if b >= 0 else
                           (a if b % 2 else 1) if abs(a) == 1 else 0)
                      for a, b in p]))
        for name in ("div", "mod"):
            case(name, [Lit(dt, [low(dt)]), Lit(dt, [0])], None,
                 error="integer division by zero")
    for dt in ENDS:
        x = ends(dt)
        ab = [(a, b) for a in x for b in (x[0], x[3], x[6], -1.0, x[-1])]
        u, v = Lit(dt, [a for a, _ in ab]), Lit(dt, [b for _, b in ab])
        real = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b,
                "mul": lambda a, b: a * b, "div": over}
        for name, f in real.items():
            case(name, [u, v], lit(dt, [f(a, b) for a, b in ab]))
        p, q = (torch.tensor(t.numbers, dtype=torch.float64) for t in (u, v))
        for name, y in (("atan2", torch.atan2(p, q)),
                        ("pow", torch.tensor(np.power(p.numpy(),
                                                      q.numpy()))),
                        ("mod", torch.tensor(
                            [floor_mod(s, t) for s, t in ab],
                            dtype=torch.float64))):
            case(name, [u, v], lit(dt, y.tolist()))
        case("mod", [u, v], lit(dt, [fmod(s, t) for s, t in ab]), floor=False)
        for how in ("trunc", "floor"):
            case("div", [u, v], lit(dt, torch.div(
                p, q, rounding_mode=how).tolist()), round=how)
        for name, pick in (("min", min), ("max", max)):
            y = [NAN if a != a or b != b else
                 pick(a, b, key=lambda t: (t, math.copysign(1, t)))
                 for a, b in ab]
            case(name, [u, v], lit(dt, y))
    one = of("f32", [1.0, 2.0])
    e = torch.zeros(0, 2)
    for name in ("add", "sub", "mul", "div", "mod", "pow", "min", "max",
                 "atan2"):
        case(name, [e, one], e)
    for name in ("and", "or", "xor", "shift_left", "shift_right"):
        case(name, [e.int(), of("i32", [1, 2])], e.int())
        case(name, [one, one], None, error=name)
    case("add", [torch.zeros(2, 3), torch.zeros(2)], None, error="broadcast")
    case("add", [one, of("i32", [1, 2])], None, error="one dtype")
    case("div", [e.int(), of("i32", [0, 0])], e.int())


def compare():
    tests = {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
             "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
             "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b}
    for dt in INTS + tuple(ENDS):
        x = ends(dt) if dt in ENDS else extremes(dt)
        ab = [(a, b) for a in x for b in x[:3] + x[-1:]]
        for name, f in tests.items():
            case(name, [Lit(dt, [a for a, _ in ab]),
                        Lit(dt, [b for _, b in ab])],
                 Lit("bool", [f(a, b) for a, b in ab]))
    for name in tests:
        case(name, [Lit("i64", [2**53 + 1]), Lit("i64", [2**53])],
             Lit("bool", [tests[name](1, 0)]))
        case(name, [of("c64", [1, 1]), of("c64", [1, 1])], None, error=name)


def every():
    """Ops that move elements take all types."""
    for dt in INTS + tuple(ENDS) + ("bool",):
        v = ends(dt) if dt in ENDS else extremes(dt) if dt != "bool" else \
            [1, 0, 1, 1, 0, 1]
        v = (v * 2)[:6]
        x = Lit(dt, v, 2, 3)
        case("where", [Lit("bool", [1, 0, 1], 3), x, Lit(dt, [v[1]], 1)],
             Lit(dt, [v[0], v[1], v[2], v[3], v[1], v[5]], 2, 3))
        case("transpose", [x], Lit(dt, [v[i] for i in (0, 3, 1, 4, 2, 5)], 3,
                                   2), perm=[1, 0])
        case("reshape", [x], Lit(dt, v, 3, 2), shape=[3, 2])
        case("expand", [Lit(dt, v[:3], 3, 1)], Lit(
            dt, [u for u in v[:3] for _ in range(3)], 3, 3), shape=[3, 3])
        case("slice", [x], Lit(dt, [v[2], v[1], v[5], v[4]], 2, 2), axes=[1],
             starts=[-1], ends=[0], steps=[-1])
        case("concat", [x, Lit(dt, [], 2, 0), Lit(dt, v[4:], 2, 1)],
             Lit(dt, v[:3] + v[4:5] + v[3:] + v[5:], 2, 4), axis=1)
        case("pad", [x], Lit(dt, [v[i] for i in (1, 0, 1, 2, 1, 4, 3, 4, 5,
                                                 4)], 2, 5),
             pads=[0, 1, 0, 1], mode="reflect")
        case("pad", [Lit(dt, v[:2])], Lit(dt, [v[1], 1]), pads=[-1, 1],
             value=1.0)
        case("gather", [x, Lit("i64", [-1, 0])],
             Lit(dt, [v[2], v[0], v[5], v[3]], 2, 2), axis=1)
        case("gather_elements", [x, Lit("i32", [-3, 2], 2, 1)],
             Lit(dt, [v[0], v[5]], 2, 1), axis=1)
        case("gather_nd", [x, Lit("u8", [1, 2], 1, 2)], Lit(dt, [v[5]], 1))
        case("scatter_elements", [x, Lit("i64", [-1, 0], 2, 1),
                                  Lit(dt, v[1:3], 2, 1)],
             Lit(dt, v[:2] + [v[1], v[2]] + v[4:], 2, 3), axis=1)
        case("scatter_nd", [x, Lit("i64", [-1], 1, 1),
                            Lit(dt, v[:3], 1, 3)],
             Lit(dt, v[:3] + v[:3], 2, 3))
        if dt == "f8e8m0":
            continue
        key = [(INF, 1) if u != u else (u, 0) for u in v]
        up = sorted(range(6), key=lambda i: (key[i], i))
        down = sorted(range(6), key=lambda i: ((-key[i][0], -key[i][1]), i))
        for order, largest in ((up, False), (down, True)):
            case("topk", [Lit(dt, v)], [Lit(dt, [v[i] for i in order[:4]]),
                                        Lit("i64", order[:4])], k=4,
                 largest=largest)
    exact.update(("where", "topk"))


    for dt in ("f64", "f32", "f16", "bf16", "i64", "u64"):
        v = ends(dt) if dt in ENDS else extremes(dt)
        n = len(v)
        x, y = Lit(dt, v), Lit(dt, v[::-1])
        back = list(range(n))[::-1]
        case("where", [Lit("bool", [1]), x, y], x)
        case("transpose", [Lit(dt, v, 1, n)], Lit(dt, v, n, 1), perm=[1, 0])
        case("expand", [x], Lit(dt, v * 2, 2, n), shape=[2, n])
        case("slice", [x], y, axes=[0], starts=[-1], ends=[-2**62],
             steps=[-1])
        case("concat", [x, Lit(dt, [], 0), y], Lit(dt, v + v[::-1]), axis=-1)
        case("pad", [x], x, pads=[0, 0])
        case("gather", [x, Lit("i64", back)], y)
        case("gather_elements", [x, Lit("i32", back)], y)
        case("gather_nd", [x, Lit("i8", back, n, 1)], y)
        key = [(INF, 1) if u != u else (u, 0) for u in v]
        order = sorted(range(n), key=lambda i: (key[i], i))
        case("topk", [x], [Lit(dt, [v[i] for i in order]),
                           Lit("i64", order)], k=n, largest=False)
    case("expand", [torch.zeros(0, 1)], torch.zeros(0, 3), shape=[0, 3])
    case("where", [of("f32", [1.0])] * 3, None, error="bool")
    whole("shape", "%x: sequence(f32[2])", [("error", "", "not a tensor")],
          "  %r = shape %x\n", "%r")


def refuse():
    """Complex numbers have no order and few functions."""
    z = torch.tensor([1j])
    for name in list(UNARY) + ["not", "is_nan", "is_inf"]:
        case(name, [z], None, error="c64")
    case("clamp", [z], None, error="c64", min=0.0)
    case("hard_sigmoid", [z], None, error="c64", alpha=1.0, beta=0.0)
    for name in ("sub", "mul", "pow", "min", "max", "atan2"):
        case(name, [z, z], None, error="c64")
    for name in ("reduce_prod", "reduce_any"):
        case(name, [z], None, error="c64", axes=[0])
    case("cumprod", [z], None, error="c64", axis=0)


def small():
    """Elements of half a byte in what computes."""
    dt, z = "f4e2m1", [0.0, 0.0]
    case("dft", [Lit(dt, [6.0, 6.0], 2, 1)], Lit(dt, [6.0] + z + [0.0], 2, 2),
         axis=0, size=2)
    case("det", [Lit(dt, [1.0, 2.0, 3.0, 4.0], 2, 2)], scalar(dt, -2.0))
    at = {"stride": [1], "pad": [0, 0], "dilation": [1]}
    x, w = Lit(dt, [6.0, -0.0, 1.0], 1, 1, 3), Lit(dt, [1.0, -6.0], 1, 1, 2)
    case("conv", [x, w], Lit(dt, [6.0, -6.0], 1, 1, 2), **at)
    case("conv_transpose", [x, w], Lit(dt, [6.0, -6.0, 1.0, -6.0], 1, 1, 4),
         out_pad=[0], **at)
    case("grid_sample", [Lit(dt, [-0.0, 6.0], 1, 1, 2),
                         Lit(dt, [-1.0, 1.0, 6.0], 1, 3, 1)],
         Lit(dt, [0.0, 6.0, 0.0], 1, 1, 3), mode="nearest", align=True)
    x = Lit(dt, [6.0, -6.0, 0.5, -0.0], 2, 2)
    one = [Lit(dt, [1.0, 1.0])]
    t = torch.tensor(x.numbers, dtype=torch.float64).reshape(2, 2)

    def half(y):
        return Lit(dt, [narrow(dt, v) for v in y.reshape(-1).tolist()], 2, 2)

    case("batch_norm", [x] + one + [Lit(dt, z)] * 2 + one, half(
        t / math.sqrt(1.25) + 0.0), eps=0.25)
    y = F.layer_norm(t, [2], eps=0.25)
    case("layer_norm", [x] + one, half(y + 0.0), axis=1, eps=0.25)
    case("group_norm", [x], half(y), groups=1, eps=0.25)
    case("rms_norm", [x], half(t / torch.sqrt((t * t).mean(1, True) + 0.25)),
         axis=1, eps=0.25)
    case("softmax", [x], half(torch.softmax(t, 1)), axis=1)
    case("log_softmax", [x], half(torch.log_softmax(t, 1)), axis=1)
    y = half(torch.softmax(t @ t.T / math.sqrt(2), 1) @ t)
    case("sdpa", [x] * 3, y)
    case("sdpa_joined", [Lit(dt, [6.0, -6.0] * 3 + [0.5, -0.0] * 3,
                             2, 3, 1, 2)], Lit(dt, y.numbers, 2, 1, 2))


def source():
    for dt in ALL + tuple(ENDS):
        v = ends(dt) if dt in ENDS else extremes(dt)
        case("const", [], Lit(dt, v), value=Raw(literal(dt, v)))
    case("dims", [], Lit("i64", [2**62, -2**62, 0]), value=[2**62, -2**62, 0])
    whole("dims", "%x: f32[N]",
          [("input", "%x", "[0] []"), ("expect", "%r", Lit("i64", [0, -1]))],
          "  %r = dims {value=[N,N-1]} : i64[2]\n", "%r")
    whole("dims", "%x: f32[N]",
          [("input", "%x", "[0] []"), ("error", "", "divides by zero")],
          "  %r = dims {value=[4/N]} : i64[1]\n", "%r")
    case("iota", [], Lit("i2", [0, 1, -2, -1, 0]), shape=[5], dtype=Raw("i2"))
    case("iota", [], Lit("u4", [i % 16 for i in range(18)]), shape=[18],
         dtype=Raw("u4"))
    case("iota", [], Lit("f4e2m1", [narrow("f4e2m1", i) for i in range(9)]),
         shape=[9], dtype=Raw("f4e2m1"))
    case("iota", [], torch.zeros(2, 0), shape=[2, 0], axis=1, dtype=Raw("f32"))
    case("iota", [], None, error="axis", shape=[2], axis=1)
    case("iota", [], None, error="large", shape=[2**40, 2**40])


def cast():
    big = [NAN, INF, -INF, -0.0, 1e300, -1e300, 2.0**63, -2.0**63,
           2.0**63 - 1024, 2.0**64, 2.0**31, -2.0**31 - 1, 255.9, -128.9,
           0.999, -0.999]
    for dt in ("i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8"):
        y = [0 if v != v else high(dt) if v >= high(dt) else
             low(dt) if v <= low(dt) else int(v) for v in big]
        case("cast", [Lit("f64", big)], Lit(dt, y), to=Raw(dt))
        f = [v for v in big if abs(v) < 1e38 or not math.isfinite(v)]
        f = [narrow("f32", v) for v in f]
        y = [0 if v != v else high(dt) if v >= high(dt) else
             low(dt) if v <= low(dt) else int(v) for v in f]
        case("cast", [Lit("f32", f)], Lit(dt, y), to=Raw(dt))
    for src in ENDS:
        for dt in ("f64", "f32", "f16", "bf16", "f8e5m2", "f4e2m1"):
            if src == dt:
                continue
            top = ENDS[dt][0] if dt in ("f8e5m2", "f4e2m1") else INF
            v = ends(src)
            case("cast", [Lit(src, v)], lit(dt, [
                q if q != q else max(-top, min(top, q)) for q in v]),
                to=Raw(dt))
    for dt in ("i4", "u4", "i2", "u2"):
        v = [0.0, -0.0, 1.9, -1.9, 7.0, 8.0, 15.0, 16.0, -8.0, -9.0]
        case("cast", [Lit("f32", v)], Lit(dt, [wrap(dt, int(x)) for x in v]),
             to=Raw(dt))
    for src in INTS:
        x = extremes(src)
        for dt in INTS:
            case("cast", [Lit(src, x)], Lit(dt, [wrap(dt, v) for v in x]),
                 to=Raw(dt))
        for dt in ("f64", "f32", "f16", "bf16"):
            y = np.array(x, {"i": np.int64, "u": np.uint64}[src[0]])
            y = y.astype(np.float32 if dt != "f64" else np.float64)
            case("cast", [Lit(src, x)], lit(dt, y.tolist()), to=Raw(dt))
        case("cast", [Lit(src, x)], Lit("bool", [v != 0 for v in x]),
             to=Raw("bool"))
    for src in ("i64", "i32"):  # rounded once, not to f32 first
        case("cast", [Lit(src, [16842753, -16842753, 16842752])],
             Lit("bf16", [16908288.0, -16908288.0, 16777216.0]),
             to=Raw("bf16"))
    wide = [NAN, INF, -INF, 1e30, -1e30, 0.0, -0.0, 1e-30, 6.0, 5.0, 0.25,
            0.26, 0.75, 460.0, 464.0, 61440.0, 61439.0, 248.0, 2.0**-10,
            3 * 2.0**-11]
    for dt, top in (("f8e4m3fn", 448), ("f8e5m2", 57344), ("f8e4m3fnuz", 240),
                    ("f8e5m2fnuz", 57344), ("f4e2m1", 6)):
        v = [narrow("f32", x) for x in wide]
        y = [x if x != x else min(max(x, -top), top) for x in v]
        if dt == "f4e2m1":
            y = [-0.0 if x != x else x for x in y]
        case("cast", [Lit("f32", v)], lit(dt, y), to=Raw(dt))
        if dt != "f4e2m1":
            case("cast", [Lit("f32", v)], lit(dt, v), to=Raw(dt),
                 saturate=False)
        for back in ("f64", "f16", "i32"):
            x = ends(dt)
            y = lit(back, x) if back[0] == "f" else Lit(
                back, [0 if v != v else 2**31 - 1 if v == INF else
                       -2**31 if v == -INF else int(v) for v in x])
            case("cast", [Lit(dt, x)], y, to=Raw(back))
        case("cast", [Lit(dt, ends(dt))], Lit("bool", [
            v != 0 for v in ends(dt)]), to=Raw("bool"))
    v = [1.0, 2.0**-127, 2.0**127, NAN, 3.5]
    case("cast", [Lit("f32", v)], Lit("f8e8m0", [1.0, 2.0**-127, 2.0**127,
                                                 NAN, 4.0]), to=Raw("f8e8m0"))
    case("cast", [Lit("f8e8m0", v[:4])], Lit("f32", v[:4]), to=Raw("f32"))
    case("cast", [torch.tensor([1j])], None, error="c64", to=Raw("f32"))
    for src, dst, x, y in (
            ("i4", "u4", [-8, 7, -1], [8, 7, 15]),
            ("u2", "i2", [0, 1, 2, 3, 2], [0, 1, -2, -1, -2]),
            ("f4e2m1", "u4", [-0.0, 6.0, -6.0], [8, 7, 15]),
            ("f64", "i64", [-0.0, INF], [-2**63, 0x7ff0000000000000]),
            ("u64", "i64", [2**64 - 1, 2**63], [-1, -2**63]),
            ("f8e4m3fn", "u8", [448.0, -0.0], [0x7e, 0x80]),
            ("bf16", "u16", [INF, -0.0], [0x7f80, 0x8000])):
        case("bitcast", [Lit(src, x)], Lit(dst, y), to=Raw(dst))
    for dt, to_dt, real, whole_type in (
            ("f64", "i64", np.float64, np.int64),
            ("f32", "i32", np.float32, np.int32),
            ("f16", "i16", np.float16, np.int16),
            ("bf16", "i16", ml_dtypes.bfloat16, np.int16)):
        v = ends(dt)[:-1]
        case("bitcast", [Lit(dt, v)], Lit(to_dt, np.array(v).astype(
            real).view(whole_type).tolist()), to=Raw(to_dt))
    case("bitcast", [Lit("i64", extremes("i64"))], Lit("u64", [
        wrap("u64", v) for v in extremes("i64")]), to=Raw("u64"))
    case("bitcast", [Lit("u64", extremes("u64"))], Lit("i64", [
        wrap("i64", v) for v in extremes("u64")]), to=Raw("i64"))
    case("bitcast", [of("f32", [NAN])], None, error="width", to=Raw("i64"))
    # Narrower elements get an axis at the end, wider ones take it away.
    case("bitcast", [of("i32", [1, -2])], of("u8", [
        1, 0, 0, 0, 254, 255, 255, 255], 2, 4), to=Raw("u8"))
    case("bitcast", [of("i16", [1, 0, -1, -1], 2, 2)], of("i32", [1, -1]),
         to=Raw("i32"))
    case("bitcast", [of("f32", [1, -0.0, NAN, 4], 2, 2)],
         torch.tensor([complex(1, -0.0), complex(NAN, 4)]), to=Raw("c64"))
    case("bitcast", [torch.zeros(0, 2)], Lit("i64", [], 0), to=Raw("i64"))
    case("bitcast", [Lit("i4", [1, 2])], None, error="width", to=Raw("i8"))
    case("bitcast", [of("u8", [1, 2, 3])], None, error="width", to=Raw("i32"))
    case("bitcast", [of("u8", [2])], None, error="bool", to=Raw("bool"))


# ---- reductions --------------------------------------------------------------

def reduce():
    for dt in INTS:
        x = extremes(dt)
        for name, f in (("reduce_sum", sum), ("reduce_prod", math.prod),
                        ("reduce_max", max), ("reduce_min", min)):
            case(name, [Lit(dt, x)], Lit(dt, [wrap(dt, f(x))], 1), axes=[0],
                 keep=True)
        case("reduce_any", [Lit(dt, x)], Lit("bool", [1], 1), axes=[0],
             keep=True)
        case("arg_max", [Lit(dt, x)], Lit("i64", [x.index(max(x))], 1),
             axes=[0], keep=True)
        case("arg_min", [Lit(dt, x)], Lit("i64", [x.index(min(x))], 1),
             axes=[0], keep=True)
        case("cumsum", [Lit(dt, x)], Lit(dt, [
            wrap(dt, sum(x[:i + 1])) for i in range(len(x))]), axis=0)
        case("cumprod", [Lit(dt, x)], Lit(dt, [
            wrap(dt, math.prod(x[:i + 1])) for i in range(len(x))]), axis=-1)
    for dt in ("i32", "i8", "u8", "i4"):
        x = extremes(dt)
        case("reduce_mean", [Lit(dt, x)], Lit(dt, [
            trunc_div(sum(x), len(x))], 1), axes=[0], keep=True)
    for dt in ENDS:
        if dt in ("f8e4m3fnuz", "f8e5m2fnuz"):
            continue
        v = ends(dt)
        top = v[0]
        x = [top, top, -top, v[2], v[4], -0.0] + [0.0, 1.0] + v[-4:]
        n = len(x) // 4
        t = torch.tensor(x, dtype=torch.float64).reshape(n, 4)
        for name, f in (("reduce_sum", torch.sum), ("reduce_mean", torch.mean),
                        ("reduce_prod", torch.prod),
                        ("reduce_max", torch.amax),
                        ("reduce_min", torch.amin)):
            case(name, [Lit(dt, x, n, 4)], lit(dt, f(t, 1).tolist()),
                 axes=[-1])
        for name, f in (("cumsum", torch.cumsum), ("cumprod", torch.cumprod)):
            case(name, [Lit(dt, x, n, 4)],
                 Lit(dt, lit(dt, f(t, 1).reshape(-1).tolist()).numbers, n, 4),
                 axis=1)
        case("reduce_any", [Lit(dt, x, n, 4)], Lit("bool", (t != 0).any(
            1).tolist()), axes=[1])
        for name, f in (("arg_max", np.argmax), ("arg_min", np.argmin)):
            case(name, [Lit(dt, x, n, 4)], Lit("i64", f(t.numpy(),
                                                        1).tolist()),
                 axes=[1])
    # The sum of integers wraps before the mean divides it.
    case("reduce_mean", [Lit("i64", [-2**63, 2**63 - 1, 9, 1])],
         Lit("i64", [2], 1), axes=[0], keep=True)
    case("reduce_mean", [Lit("u64", [2**64 - 1])], Lit("u64", [2**64 - 1], 1),
         axes=[0], keep=True)
    z = of("f32", [-0.0, 0.0, -0.0], 1, 3)
    case("arg_max", [z], of("i64", [0]), axes=[1])
    case("arg_max", [z], of("i64", [2]), axes=[1], last=True)
    case("arg_min", [of("f32", [1, NAN, NAN])], of("i64", 2), axes=[],
         last=True)
    e = torch.zeros(2, 0)
    for dt in ALL + ("bool",) + tuple(ENDS):
        if dt == "bool":
            least, most = 0, 1
        elif dt in INTS + ALL:
            least, most = low(dt), high(dt)
        else:
            most = INF if dt in ("f64", "f32", "f16", "bf16", "f8e5m2") \
                else ENDS[dt][0]
            least = -most
        for name, v in (("reduce_max", least), ("reduce_min", most)):
            case(name, [Lit(dt, [], 2, 0)], Lit(dt, [v, v]), axes=[1])
    for name in ("arg_max", "arg_min"):
        case(name, [e], None, error="empty", axes=[1])
    for name in ("reduce_max", "reduce_min", "arg_max", "arg_min"):
        case(name, [e], e.sum(0).long() if name[0] == "a" else e.sum(0),
             axes=[0])
        case(name, [of("f32", [1.0])], None, error="axis", axes=[1])
    case("reduce_mean", [e.int()], None, error="empty", axes=[1])
    case("reduce_sum", [e.int()], of("i32", [0, 0]), axes=[1])
    case("reduce_prod", [e.int()], of("i32", [1, 1]), axes=[1])
    case("reduce_sum", [torch.zeros(2, 2)], None, error="twice", axes=[0, -2])
    case("arg_max", [torch.zeros(2, 2)], None, error="axes", axes=[0, 1])
    case("cumsum", [of("f32", 1.0)], None, error="axis", axis=0)
    case("cumprod", [torch.zeros(2, 0, 3)], torch.zeros(2, 0, 3), axis=1)


def scan():
    """cum_max and cum_min: the last of equal ones; a NaN stays."""
    for dt in INTS + tuple(ENDS):
        x = ends(dt) if dt in ENDS else extremes(dt)
        x = x[2:] + x[:2] + x[-1:]
        for name, most in (("cum_max", True), ("cum_min", False)):
            at, v, best = [], [], 0
            for i, q in enumerate(x):
                held = x[best]
                if q != q or held == held and (q >= held if most
                                               else q <= held):
                    best = i
                at.append(best)
                v.append(x[best])
            case(name, [Lit(dt, x)], [Lit(dt, v), Lit("i64", at)], axis=0)
    for dt in ENDS:
        x = ends(dt)
        y = [x[0]]
        for q in x[1:]:
            a, b = max(y[-1], q), min(y[-1], q)
            y.append(NAN if q != q or y[-1] != y[-1] else a
                     if math.isinf(a) or math.isinf(b)
                     else a + math.log1p(exp(b - a)))
        case("cum_logsumexp", [Lit(dt, x)], lit(dt, y), axis=-1)
    for dt in ("f32", "f16", "f64"):
        x = rand(dt, 2, 3, 2)
        case("cum_logsumexp", [x], to(dt, torch.logcumsumexp(d(x), 1)),
             axis=1)
        for name, f in (("cum_max", torch.cummax), ("cum_min",
                                                    torch.cummin)):
            case(name, [x], list(f(x, 1)), axis=1)
    x = of("f32", [1, 3, 3, -INF, 2, NAN, 1, INF, NAN, 0], 2, 5)
    case("cum_max", [x], list(torch.cummax(x, 1)), axis=-1)
    case("cum_min", [x], list(torch.cummin(x, 1)), axis=-1)
    x = Lit("i64", [2**62 + 1, 1, 2**62, 1, 2**63 - 1, -2**63], 3, 2)
    case("cum_max", [x], [Lit("i64", [2**62 + 1, 1, 2**62 + 1, 1, 2**63 - 1,
                                      1], 3, 2),
                          Lit("i64", [0, 0, 0, 1, 2, 1], 3, 2)], axis=0)
    inf = of("f32", [-INF, -INF, 1, INF, 1])
    case("cum_logsumexp", [inf], torch.logcumsumexp(inf, 0), axis=0)
    e = torch.zeros(2, 0)
    case("cum_max", [e], [e, e.long()], axis=1)
    case("cum_min", [e], [e, e.long()], axis=0)
    case("cum_logsumexp", [e], e, axis=1)
    for name in ("cum_max", "cum_min", "cum_logsumexp"):
        case(name, [of("f32", 1.0)], None, error="axis", axis=0)
        case(name, [of("bool", [1])], None, error="bool", axis=0)
    exact.update(("cum_max", "cum_min"))


def softmax():
    for name, f in (("softmax", torch.softmax),
                    ("log_softmax", torch.log_softmax)):
        for dt in ("f64", "f32", "f16", "bf16", "f8e5m2", "f8e4m3fn"):
            v = ends(dt)
            x = [v[0], v[1], v[2], v[6], v[7], v[0], v[0], v[5], v[-1], v[1],
                 v[1], v[1]]
            t = torch.tensor(x, dtype=torch.float64).reshape(4, 3)
            case(name, [Lit(dt, x, 4, 3)],
                 Lit(dt, lit(dt, f(t, 1).reshape(-1).tolist()).numbers, 4, 3),
                 axis=1)
        case(name, [torch.zeros(0, 3)], torch.zeros(0, 3), axis=1)
        case(name, [of("i32", [1])], None, error="float", axis=0)
        case(name, [torch.zeros(2)], None, error="axis", axis=-2)


# ---- products and windows ----------------------------------------------------

def matmul():
    for dt in INTS:
        a, b = [low(dt), high(dt), high(dt), 1], [high(dt), high(dt), 1,
                                                  low(dt)]
        y = [a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
             a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]]
        case("matmul", [Lit(dt, a, 2, 2), Lit(dt, b, 2, 2)],
             Lit(dt, [wrap(dt, v) for v in y], 2, 2))
    for dt in ("f64", "f32", "f16", "bf16", "f8e4m3fn", "f4e2m1"):
        v = ends(dt)
        a, b = [v[0], v[0], v[1], v[4]], [1.0, -0.0, v[-1], 1.0]
        x = torch.tensor(a, dtype=torch.float64).reshape(2, 2)
        y = x @ torch.tensor(b, dtype=torch.float64).reshape(2, 2)
        case("matmul", [Lit(dt, a, 2, 2), Lit(dt, b, 2, 2)],
             Lit(dt, lit(dt, y.reshape(-1).tolist()).numbers, 2, 2))
    case("matmul", [torch.zeros(2, 0), torch.zeros(0, 3), of("f32", [1, NAN,
                                                                     -INF])],
         of("f32", [1, NAN, -INF] * 2, 2, 3))
    case("matmul", [torch.zeros(0, 2, 2), torch.zeros(1, 2, 3)],
         torch.zeros(0, 2, 3))
    case("matmul", [of("f32", 1.0), torch.zeros(1)], None, error="rank 0")
    case("matmul", [torch.zeros(2, 3), torch.zeros(2, 3)], None,
         error="inner sizes")


def conv():
    at = {"stride": [1], "pad": [1, 1], "dilation": [1]}
    for dt in ("f64", "f32", "f16", "bf16"):
        v = ends(dt)
        x, w = [v[0], v[0], NAN, v[4], 1.0, -INF], [1.0, 1.0, v[0]]
        t, k = (torch.tensor(q, dtype=torch.float64).reshape(1, 1, -1)
                for q in (x, w))
        for name, f in (("conv", F.conv1d), ("conv_transpose",
                                             F.conv_transpose1d)):
            more = {"out_pad": [0]} if name != "conv" else {}
            y = f(t[..., 1:5], k[..., :2], padding=0)
            case(name, [Lit(dt, x[1:5], 1, 1, 4), Lit(dt, w[:2], 1, 1, 2)],
                 Lit(dt, lit(dt, y.reshape(-1).tolist()).numbers, *y.shape),
                 stride=[1], pad=[0, 0], dilation=[1], **more)
            z = f(t[..., :2], k[..., 1:], padding=0)
            case(name, [Lit(dt, x[:2], 1, 1, 2), Lit(dt, w[1:], 1, 1, 2)],
                 Lit(dt, lit(dt, z.reshape(-1).tolist()).numbers, *z.shape),
                 stride=[1], pad=[0, 0], dilation=[1], **more)
    y = torch.full((1, 1, 2), INF)
    case("conv_transpose", [of("f32", [INF], 1, 1, 1),
                            of("f32", [1.0, 2.0], 1, 1, 2)], y, stride=[1],
         pad=[0, 0], dilation=[1], out_pad=[0])
    for dt in ("i32", "i64", "u64", "u8", "i4"):
        x, w = [low(dt), high(dt), high(dt)], [high(dt), high(dt)]
        y = [w[0] * x[0] + w[1] * x[1], w[0] * x[1] + w[1] * x[2]]
        case("conv", [Lit(dt, x, 1, 1, 3), Lit(dt, w, 1, 1, 2)],
             Lit(dt, [wrap(dt, q) for q in y], 1, 1, 2), stride=[1],
             pad=[0, 0], dilation=[1])
        y = [w[0] * x[0], w[0] * x[1] + w[1] * x[0],
             w[0] * x[2] + w[1] * x[1], w[1] * x[2]]
        case("conv_transpose", [Lit(dt, x, 1, 1, 3), Lit(dt, w, 1, 1, 2)],
             Lit(dt, [wrap(dt, q) for q in y], 1, 1, 4), stride=[1],
             pad=[0, 0], dilation=[1], out_pad=[0])
    b = of("f32", [1, NAN])
    case("conv", [torch.zeros(1, 0, 3), torch.zeros(2, 0, 3), b],
         of("f32", [1, 1, 1, NAN, NAN, NAN], 1, 2, 3), **at)
    case("conv", [torch.zeros(1, 2, 3), torch.zeros(0, 2, 3)],
         torch.zeros(1, 0, 3), **at)
    case("conv_transpose", [torch.zeros(0, 2, 3), torch.zeros(2, 1, 3)],
         torch.zeros(0, 1, 3), out_pad=[0], **at)
    case("conv_transpose", [torch.zeros(1, 0, 3), torch.zeros(0, 2, 3), b],
         of("f32", [1, 1, 1, NAN, NAN, NAN], 1, 2, 3), out_pad=[0], **at)
    x, k = torch.zeros(1, 2, 3), torch.zeros(2, 2, 3)
    for bad, why in (({"stride": [0]}, "stride"), ({"dilation": [0]},
                                                   "dilation"),
                     ({"pad": [-1, 0]}, "pad"), ({"dilation": [2**31 - 1]},
                                                 "size"),
                     ({"groups": 0}, "groups"), ({"groups": 2**62}, "groups"),
                     ({"stride": [2**62]}, "stride")):
        case("conv", [x, k], None, error=why, **{**at, **bad})
        if why != "size":
            case("conv_transpose", [x, k], None, error=why, out_pad=[0],
                 **{**at, **bad})
    case("conv_transpose", [x, k], None, error="size", stride=[1],
         pad=[9, 9], dilation=[1], out_pad=[0])
    case("conv_transpose", [x, k], None, error="memory",
         stride=[2**31 - 1], pad=[0, 0], dilation=[2**31 - 1], out_pad=[0])


def pool():
    one = {"kernel": [2], "stride": [1], "pad": [0, 0], "dilation": [1]}
    for dt in tuple(ENDS) + INTS:
        v = ends(dt) if dt in ENDS else extremes(dt)
        n = len(v) - 1
        w = [(v[i], v[i + 1]) for i in range(n)]
        top = [NAN if a != a or b != b else max(a, b) for a, b in w]
        at = [i if a != a or (b == b and a >= b) else i + 1
              for i, (a, b) in enumerate(w)]
        case("max_pool", [Lit(dt, v, 1, 1, n + 1)], Lit(dt, top, 1, 1, n),
             **one)
        case("max_pool_index", [Lit(dt, v, 1, 1, n + 1)],
             Lit("i64", at, 1, 1, n), **one)
        if dt in INTS:
            continue
        case("avg_pool", [Lit(dt, v, 1, 1, n + 1)],
             Lit(dt, [narrow(dt, (a + b) / 2) if dt != "f64" else
                      (a + b) / 2 for a, b in w], 1, 1, n), **one)
        case("adaptive_avg_pool", [Lit(dt, v[:2] + v[-2:], 1, 1, 4)],
             Lit(dt, lit(dt, [(v[0] + v[1]) / 2,
                              (v[-2] + v[-1]) / 2]).numbers, 1, 1, 2),
             out=[2])
    # A window that sees padding alone.
    pad = {"kernel": [1], "stride": [1], "pad": [1, 0], "dilation": [1]}
    x = of("f32", [3.0], 1, 1, 1)
    case("max_pool", [x], of("f32", [-INF, 3.0], 1, 1, 2), **pad)
    case("max_pool_index", [x], of("i64", [-1, 0], 1, 1, 2), **pad)
    case("avg_pool", [x], of("f32", [NAN, 3.0], 1, 1, 2), **pad)
    case("avg_pool", [x], of("f32", [0.0, 3.0], 1, 1, 2), count_pad=True,
         **pad)
    for dt in ("i8", "u8", "i64", "i4"):
        case("max_pool", [Lit(dt, [1], 1, 1, 1)],
             Lit(dt, [low(dt), 1], 1, 1, 2), **pad)
    for dt in ("f8e4m3fn", "f4e2m1", "f16"):
        least = -INF if dt == "f16" else -ENDS[dt][0]
        case("max_pool", [Lit(dt, [1.0], 1, 1, 1)],
             Lit(dt, [least, 1.0], 1, 1, 2), **pad)
    for name in ("max_pool", "avg_pool", "max_pool_index"):
        e = torch.zeros(0, 2, 3)
        y = torch.zeros(0, 2, 2)
        case(name, [e], y.long() if name == "max_pool_index" else y, **one)
        for bad, why in (({"kernel": [0]}, "kernel"), ({"stride": [0]},
                                                       "stride"),
                         ({"kernel": [9]}, "size"), ({"pad": [0, -1]}, "pad"),
                         ({"kernel": [2**40]}, "kernel"),
                         ({"dilation": [-1]}, "dilation")):
            case(name, [torch.zeros(1, 1, 3)], None, error=why,
                 **{**one, **bad})
    case("adaptive_avg_pool", [torch.zeros(0, 1, 3)], torch.zeros(0, 1, 2),
         out=[2])
    case("adaptive_avg_pool", [torch.zeros(1, 1, 3)], torch.zeros(1, 1, 0),
         out=[0])
    case("adaptive_avg_pool", [torch.zeros(1, 1, 0)],
         of("f32", [NAN, NAN], 1, 1, 2), out=[2])
    case("adaptive_avg_pool", [torch.zeros(1, 1, 3)], None, error="size",
         out=[-1])
    case("adaptive_avg_pool", [torch.zeros(1, 1, 3)], None, error="large",
         out=[2**60])


def panels(w, tile):
    """[k, n] as [ceil(n / tile), k, tile]; what no column is in is NaN."""
    k, n = w.shape
    out = torch.full(((n + tile - 1) // tile, k, tile), NAN, dtype=w.dtype)
    for j in range(n):
        out[j // tile, :, j % tile] = w[:, j]
    return out


def packed():
    """What backends lower to: weights in panels, channels last."""
    acts = {"none": lambda t: t, "relu": F.relu, "gelu": F.gelu,
            "gelu_tanh": lambda t: F.gelu(t, approximate="tanh"),
            "silu": F.silu, "sigmoid": torch.sigmoid, "tanh": torch.tanh,
            "hard_swish": F.hardswish,
            "clamp": lambda t: torch.clamp(t, -0.5, 1.0)}
    for act, f in acts.items():
        at = {"act": act, **({"low": -0.5, "high": 1.0} if act == "clamp"
                             else {})}
        for dt in ("f32", "f16") if act in ("none", "relu") else ("f32",):
            x, w, b, r = (rand(dt, 2, 3), rand(dt, 3, 5), rand(dt, 5),
                          rand(dt, 2, 5))
            case("gemm", [x, panels(w, 4), b, r],
                 to(dt, f(d(x) @ d(w) + d(b) + d(r))), n=5, tile=4, **at)
        x, w, b = rand("f32", 1, 4, 3, 2), rand("f32", 3, 2, 2, 2), rand(
            "f32", 3)
        y = F.conv2d(d(x).permute(0, 3, 1, 2), d(w), d(b), stride=[2, 1],
                     padding=1).permute(0, 2, 3, 1)
        p = panels(w.permute(2, 3, 1, 0).reshape(8, 3), 2)
        case("conv_nhwc", [x, p, b], to("f32", f(y)).contiguous(), n=3,
             tile=2, kernel=[2, 2], stride=[2, 1], pad=[1, 1, 1, 1],
             dilation=[1, 1], **at)
    one = {"kernel": [2], "stride": [1], "pad": [0, 0], "dilation": [1]}
    for dt in tuple(ENDS) + INTS:
        v = ends(dt) if dt in ENDS else extremes(dt)
        n = len(v) - 1
        top = [NAN if a != a or b != b else max(a, b)
               for a, b in zip(v, v[1:])]
        case("max_pool_nhwc", [Lit(dt, v, 1, n + 1, 1)], Lit(dt, top, 1, n,
                                                             1), **one)
        m, unit = (high(dt), 1) if dt in INTS else (ENDS[dt][0], 1.0)
        if dt in ("f8e4m3fnuz", "f8e5m2fnuz", "f8e4m3fn", "f8e5m2"):
            continue
        if dt in ENDS:
            case("avg_pool_nhwc", [Lit(dt, v, 1, n + 1, 1)],
                 Lit(dt, lit(dt, [(a + b) / 2 for a, b in zip(
                     v, v[1:])]).numbers, 1, n, 1), **one)
            v = [m, -m, 0.0] + ([INF, NAN] if dt != "f4e2m1" else [])
            case("gemm", [Lit(dt, v + [-0.0], len(v) + 1, 1),
                          Lit(dt, [unit], 1, 1, 1)],
                 Lit(dt, v + [0.0], len(v) + 1, 1), n=1, tile=1)
            case("conv_nhwc", [Lit(dt, v + [-0.0], 1, len(v) + 1, 1),
                               Lit(dt, [unit], 1, 1, 1)],
                 Lit(dt, v + [0.0], 1, len(v) + 1, 1), n=1, tile=1,
                 **{**one, "kernel": [1]})
    z = torch.zeros
    case("gemm", [z(0, 3), z(2, 3, 4)], z(0, 5), n=5, tile=4)
    x, w = rand("f32", 2, 3), rand("f32", 3, 5)
    for dt in ("i8", "u8"):
        q = torch.randint(low(dt), high(dt) + 1, (5, 3))
        case("gemm", [x, Lit(dt, q.ravel().tolist(), 5, 3)],
             to("f32", d(x) @ d(q).T), n=5, tile=1)
    case("gemm", [x, torch.tensor(groups(w.numpy(), 4, 2))],
         to("f32", d(x) @ d(w)), n=5, tile=4)
    case("gemm", [x, torch.tensor(groups(w.numpy(), 4, 3))],
         to("f32", d(x) @ d(w)), n=5, tile=4)
    case("gemm", [x, torch.tensor(groups(w.numpy(), 4, 1))[:, :2]], None,
         error="depths", n=5, tile=4)
    case("gemm", [z(2, 0), z(2, 0, 4), of("f32", [1, NAN, 0, 0, 5])],
         of("f32", [1, NAN, 0, 0, 5] * 2, 2, 5), n=5, tile=4)
    case("conv_nhwc", [z(0, 3, 2), z(1, 2, 4)], z(0, 3, 1), n=1, tile=4,
         **{**one, "kernel": [1]})
    case("max_pool_nhwc", [z(0, 3, 2)], z(0, 2, 2), **one)
    case("avg_pool_nhwc", [z(0, 3, 2)], z(0, 2, 2), **one)
    for bad in ({"n": 0}, {"tile": 0}, {"tile": 2**40}, {"n": 2**62}):
        case("gemm", [z(1, 3), z(2, 3, 4)], None, error="tile",
             **{"n": 5, "tile": 4, **bad})
    case("gemm", [z(1, 3), z(1, 3, 4)], None, error="panels", n=5, tile=4)
    case("gemm", [z(1, 3), z(2, 3, 4)], None, error="act", n=5, tile=4,
         act="no")
    case("conv_nhwc", [z(1, 3, 2), z(1, 2, 4)], None, error="act", n=1,
         tile=4, act="no", **{**one, "kernel": [1]})
    for name in ("max_pool_nhwc", "avg_pool_nhwc"):
        case(name, [z(1, 3, 2)], None, error="kernel", **{**one,
                                                          "kernel": [0]})
    exact.add("max_pool_nhwc")


def grouped():
    """conv_nhwc in groups: each has panels of its own."""
    x, w, b = rand("f32", 2, 5, 4, 4), rand("f32", 6, 2, 3, 2), rand("f32", 6)
    y = F.conv2d(d(x).permute(0, 3, 1, 2), d(w), d(b), stride=[1, 2],
                 padding=[1, 0], groups=2).permute(0, 2, 3, 1)
    p = torch.cat([panels(w[3 * g:3 * g + 3].permute(2, 3, 1, 0).reshape(12, 3),
                          2) for g in range(2)])
    at = {"n": 6, "tile": 2, "kernel": [3, 2], "stride": [1, 2],
          "pad": [1, 0, 1, 0], "dilation": [1, 1]}
    case("conv_nhwc", [x, p, b], to("f32", y).contiguous(), groups=2, **at)
    case("conv_nhwc", [x, p, b], None, error="groups", groups=3, **at)
    case("conv_nhwc", [x, p, b], None, error="panels", groups=1, **at)


MATRICES = {
    2: {"g": [[1, 0, 0], [.5, .5, .5], [.5, -.5, .5], [0, 0, 1]],
        "b": [[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]],
        "a": [[1, 1, 1, 0], [0, 1, -1, -1]]},
    4: {"g": [[1 / 4, 0, 0], [-1 / 6, -1 / 6, -1 / 6], [-1 / 6, 1 / 6, -1 / 6],
              [1 / 24, 1 / 12, 1 / 6], [1 / 24, -1 / 12, 1 / 6], [0, 0, 1]],
        "b": [[4, 0, -5, 0, 1, 0], [0, -4, -4, 1, 1, 0], [0, 4, -4, -1, 1, 0],
              [0, -2, -1, 2, 1, 0], [0, 2, -1, -2, 1, 0], [0, 4, 0, -5, 0, 1]],
        "a": [[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0],
              [0, 1, -1, 8, -8, 1]]}}


def sandwich(m, x):
    """m x m^T; a zero of m meets no value."""
    def times(rows, cols):
        return [[sum((p * q for p, q in zip(r, c) if p != 0), 0.0)
                 for c in cols] for r in rows]
    half = times(m, list(zip(*x)))          # [r, k]
    return list(zip(*times(m, half)))       # [r, r]


def winograd():
    """Weights and products at the points of F(2x2, 3x3) and F(4x4, 3x3). Small
    multiples of 9 have exact points in every type."""
    def points(w, m, tile):
        n, c = w.shape[:2]
        out = torch.zeros((m + 2) ** 2, (n + tile - 1) // tile, c, tile,
                          dtype=torch.float64)
        for j in range(n):
            for k in range(c):
                u = sandwich(MATRICES[m]["g"], d(w)[j, k].tolist())
                out[:, j // tile, k, j % tile] = torch.tensor(
                    u, dtype=torch.float64).reshape(-1)
        return out
    for dt, m, shape, pad in (("f32", 2, (1, 4, 5, 2), [1, 1, 1, 1]),
                              ("f32", 4, (1, 4, 5, 2), [1, 1, 1, 1]),
                              ("f32", 4, (2, 6, 9, 3), [0, 1, 1, 0]),
                              ("f32", 2, (2, 5, 3, 3), [0, 0, 0, 0]),
                              ("f64", 4, (1, 5, 4, 1), [1, 0, 0, 1]),
                              ("f16", 4, (1, 4, 4, 2), [1, 1, 1, 1]),
                              ("bf16", 2, (1, 4, 4, 2), [1, 1, 1, 1])):
        c = shape[3]
        w = torch.randint(-3, 4, (3, c, 3, 3)).double() * (9 if m == 4 else 1)
        x, b = rand(dt, *shape), rand(dt, 3)
        y = F.conv2d(F.pad(d(x).permute(0, 3, 1, 2),
                           [pad[1], pad[3], pad[0], pad[2]]), w, d(b))
        y = y.permute(0, 2, 3, 1).contiguous()
        r = rand(dt, *y.shape)
        u = to(dt, points(w, m, 2))
        case("winograd_weight", [to(dt, w)], u, m=m, tile=2)
        s = torch.tensor([1.0, 0.5, -2.0])
        case("winograd_weight", [to(dt, w), to(dt, s)],
             to(dt, points(w * s[:, None, None, None], m, 2)), m=m, tile=2)
        case("conv_winograd", [x, u, b], to(dt, y), n=3, tile=2, m=m, pad=pad)
        case("conv_winograd", [x, u, b, r], to(dt, F.relu(y + d(r))), n=3,
             tile=2, m=m, pad=pad, act="relu")
    for dt in ENDS:
        if dt.startswith("f8"):
            continue
        top = ENDS[dt][0]
        odd = [0.0, -0.0, top, -top]
        odd += [] if dt == "f4e2m1" else [INF, -INF, NAN]
        for m in (2, 4):
            k = (m + 2) ** 2
            for v in odd:
                w = [[0.0, v, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
                u = [x for r in sandwich(MATRICES[m]["g"], w) for x in r]
                case("winograd_weight", [lit(dt, sum(w, []), 1, 1, 3, 3)],
                     lit(dt, u, k, 1, 1, 1), m=m, tile=1)
            if dt == "f4e2m1":
                continue
            for v in odd[2:]:
                x = [[v if (i, j) == (1, 2) else 1.0 for j in range(m)]
                     for i in range(m)]
                edged = [[0.0] * (m + 2)] + [[0.0] + r + [0.0]
                                             for r in x] + [[0.0] * (m + 2)]
                if m == 2:
                    edged[1][2] = x[0][1] = v
                inner = sandwich(MATRICES[m]["b"], edged)
                y = sandwich(MATRICES[m]["a"], [[2.0 * e for e in r]
                                                for r in inner])
                case("conv_winograd", [lit(dt, sum(x, []), 1, m, m, 1),
                                       lit(dt, [2.0] * k, k, 1, 1, 1)],
                     lit(dt, [e for r in y for e in r], 1, m, m, 1), n=1,
                     tile=1, m=m, pad=[1, 1, 1, 1])
    u = [1.0] * 16
    case("conv_winograd", [lit("f4e2m1", [0.0] * 16, 1, 4, 4, 1),
                           lit("f4e2m1", u, 16, 1, 1, 1)],
         lit("f4e2m1", [0.0] * 4, 1, 2, 2, 1), n=1, tile=1, m=2,
         pad=[0, 0, 0, 0])
    case("conv_winograd", [lit("f32", [-0.0] * 9, 1, 3, 3, 1),
                           lit("f32", u, 16, 1, 1, 1)],
         lit("f32", [0.0], 1, 1, 1, 1), n=1, tile=1, m=2, pad=[])
    z = torch.zeros
    case("winograd_weight", [z(0, 2, 3, 3)], z(16, 0, 2, 4), m=2, tile=4)
    case("winograd_weight", [z(1, 0, 3, 3)], z(16, 1, 0, 4), m=2, tile=4)
    case("conv_winograd", [z(0, 4, 4, 2), z(16, 1, 2, 4)], z(0, 2, 2, 3), n=3,
         tile=4, m=2, pad=[])
    case("conv_winograd", [z(1, 4, 4, 0), z(16, 1, 0, 4),
                           of("f32", [1, NAN, -1])],
         of("f32", [1, NAN, -1] * 4, 1, 2, 2, 3), n=3, tile=4, m=2, pad=[])
    for error, bad in (("m is", {"m": 3}), ("m is", {"m": 0}),
                       ("tile", {"tile": 0}), ("tile", {"tile": 2**40})):
        case("winograd_weight", [z(1, 2, 3, 3)], None, error=error,
             **{"m": 2, "tile": 4, **bad})
        case("conv_winograd", [z(1, 4, 4, 2), z(16, 1, 2, 4)], None,
             error=error, **{"n": 3, "tile": 4, "m": 2, "pad": [], **bad})
    case("winograd_weight", [z(1, 2, 3, 2)], None, error="kernel", m=2, tile=4)
    case("winograd_weight", [z(1, 2, 3)], None, error="rank", m=2, tile=4)
    case("winograd_weight", [z(1, 2, 3, 3), z(2)], None, error="scale", m=2,
         tile=4)
    for error, bad in (("pad", {"pad": [2, 0, 0, 0]}), ("n is", {"n": 0}),
                       ("panels", {"n": 5}), ("points", {"m": 4}),
                       ("act", {"act": "no"}), ("pad", {"pad": [1]})):
        case("conv_winograd", [z(1, 4, 4, 2), z(16, 1, 2, 4)], None,
             error=error, **{"n": 3, "tile": 4, "m": 2, "pad": [], **bad})
    case("conv_winograd", [z(1, 2, 4, 2), z(16, 1, 2, 4)], None, error="size",
         n=3, tile=4, m=2, pad=[])


def in_panels(x, axis, tile, groups=1):
    """The weight x in panels, as ops/panels.c says."""
    if axis == 1:
        x = x.transpose(0, 1)
    m, depth = x.shape[0] // groups, x[0].numel()
    x = x.reshape(groups, m, x.shape[1], -1).transpose(2, 3)
    y = torch.zeros(groups, -(-m // tile) * tile, depth, dtype=x.dtype)
    y[:, :m] = x.reshape(groups, m, depth)
    return y.reshape(-1, tile, depth).transpose(1, 2).contiguous()


def halves(v, block):
    """Rows of values below 16 as bytes, in whole blocks."""
    n, k = v.shape
    out = torch.zeros(n, -(-k // block) * block, dtype=torch.uint8)
    out[:, :k] = v.to(torch.uint8)
    return (out[:, ::2] | out[:, 1::2] << 4).reshape(n, -1, block // 2)


def packed_q4():
    """Weights of 4 bits in blocks of the depth."""
    z, one = torch.zeros, of("f32", [1], 1, 1)
    for i, (dt, sd, block, k) in enumerate((
            ("f32", "f32", 16, 20), ("f32", "f16", 32, 64),
            ("f16", "bf16", 16, 48), ("bf16", "f32", 64, 3),
            ("f64", "f64", 16, 33), ("f32", "f32", 256, 40))):
        blocks = -(-k // block)
        q = torch.randint(0, 16, (3, k))
        x, s, b, r = (rand(dt, 2, k), rand(sd, 3, blocks), rand(dt, 3),
                      rand(dt, 2, 3))
        zq, zf = torch.randint(0, 16, (3, blocks)), rand("f32", 3, blocks)
        at = torch.arange(k) // block

        def w(zero):
            return (d(q) - zero) * d(s)[:, at]

        plain = [x, halves(q, block), None, None, s]
        case("gemm_q4", plain, to(dt, d(x) @ w(8.0).T))
        case("gemm_q4", plain, to(dt, d(x) @ w(float(i)).T), zero=i)
        case("gemm_q4", plain + [halves(zq, 2 * -(-blocks // 2))[:, 0]],
             to(dt, d(x) @ w(d(zq)[:, at]).T))
        case("gemm_q4", [x, plain[1], b, r, s, zf],
             to(dt, F.relu(d(x) @ w(d(zf)[:, at]).T + d(b) + d(r))),
             act="relu")
    nine = halves(torch.tensor([[9]]), 16)
    for dt in ENDS:
        if dt in ("f8e4m3fnuz", "f8e5m2fnuz", "f8e4m3fn", "f8e5m2"):
            continue
        m = ENDS[dt][0]
        v = [m, -m, 0.0] + ([INF, NAN] if dt != "f4e2m1" else [])
        case("gemm_q4", [Lit(dt, v + [-0.0], len(v) + 1, 1), nine, None, None,
                         one], Lit(dt, v + [0.0], len(v) + 1, 1))
    # 0 times an infinity, on either side
    for x, s in ((INF, 1), (1, INF)):
        case("gemm_q4", [of("f32", [x, 1], 1, 2),
                         halves(torch.tensor([[8, 9], [9, 9], [7, 7]]), 16),
                         None, None, of("f32", [s] * 3, 3, 1)],
             of("f32", [NAN, INF, -INF], 1, 3))
    case("gemm_q4", [z(0, 3), z(2, 1, 8).byte(), None, None, z(2, 1)], z(0, 2))
    case("gemm_q4", [z(2, 0), z(1, 0, 8).byte(), of("f32", [NAN]), None,
                     z(1, 0)], of("f32", [NAN, NAN], 2, 1))
    good = [z(1, 20), z(2, 2, 8).byte(), None, None, z(2, 2)]
    for error, i, t in (
            ("scale", 4, None), ("scale", 4, z(2)), ("scale", 4, z(3, 2)),
            ("scale", 4, z(2, 3)), ("wanted float", 4, z(2, 2).int()),
            ("u8", 1, z(2, 2, 8)), ("ranks", 1, z(4, 8).byte()),
            ("power", 1, z(2, 2, 4).byte()), ("power", 1, z(2, 2, 256).byte()),
            ("power", 1, z(2, 2, 12).byte()), ("blocks", 0, z(1, 33)),
            ("ranks", 0, z(())), ("bias", 2, z(3))):
        case("gemm_q4", good[:i] + [t] + good[i + 1:], None, error=error)
    for error, t in (("u8", z(2, 1).int()), ("zero", z(2, 2).byte()),
                     ("zero", z(3, 1).byte()), ("zero", z(2, 1)),
                     ("rank", z(2).byte())):
        case("gemm_q4", good + [t], None, error=error)
    for bad in ({"zero": 16}, {"zero": -1}, {"act": "no"}):
        case("gemm_q4", good, None, error=next(iter(bad)), **bad)
    for dt, flip in (("i4", 8), ("u4", 0)):
        for n, k, block in ((3, 20, 16), (4, 6, 4), (1, 1, 2), (2, 16, 16)):
            v = torch.randint(0, 16, (n, k))
            signed = [wrap(dt, int(x) ^ flip) for x in v.ravel()]
            turned = [wrap(dt, int(x) ^ flip) for x in v.T.ravel()]
            case("pack_q4", [Lit(dt, signed, n, k)], halves(v, block), axis=1,
                 block=block)
            case("pack_q4", [Lit(dt, turned, k, n)], halves(v, block), axis=0,
                 block=block)
        for n, k, out in ((0, 3, (0, 1, 8)), (3, 0, (3, 0, 8))):
            case("pack_q4", [Lit(dt, [], n, k)], z(out).byte(), axis=1,
                 block=16)
        for bad in ({"axis": 2}, {"axis": -1}, {"block": 0}, {"block": 3},
                    {"block": 2**40}):
            case("pack_q4", [Lit(dt, [1, 2], 1, 2)], None,
                 error=next(iter(bad)), **{"axis": 0, "block": 16, **bad})
    case("pack_q4", [z(2, 2).byte()], None, error="i4", axis=0, block=16)
    case("pack_q4", [Lit("i4", [1, 2], 2)], None, error="rank", axis=0,
         block=16)
    exact.add("pack_q4")


def pack():
    for dt in tuple(ENDS) + INTS + ("bool",):
        v = (ends(dt) if dt in ENDS else [0, 1, 1, 0] if dt == "bool"
             else extremes(dt)[:4])
        n = len(v)
        case("pack", [Lit(dt, v, n, 1)], Lit(dt, v + [0] * (-n % 4), -(-n // 4),
                                             1, 4), axis=0, tile=4)
        case("pack", [Lit(dt, v, n, 1)], Lit(dt, v, 1, n, 1), axis=1, tile=1)
    for shape, axis, tile, groups in (
            ((5, 3), 0, 2, 1), ((5, 3), 1, 2, 1), ((6, 2, 3), 0, 2, 2),
            ((3, 2, 2, 3), 0, 4, 3), ((4, 1, 1, 1, 2), 0, 3, 1)):
        for dt in ("f32", "f16", "bf16", "f64", "i32"):
            x = rand(dt, *shape)
            case("pack", [x], in_panels(x, axis, tile, groups), axis=axis,
                 tile=tile, groups=groups)
    for dt in ("f32", "f16", "bf16", "f64"):
        x, s = rand(dt, 6, 2, 3), rand(dt, 6)
        case("pack", [x, s], in_panels(x * s[:, None, None], 0, 2, 2), axis=0,
             tile=2, groups=2)
    z = torch.zeros
    for error, x, s, bad in (("scale", z(2, 2), z(2, 1), {}),
                             ("scale", z(2, 2), z(2), {"axis": 1}),
                             ("scale", z(2, 2), z(3), {}),
                             ("dtype", z(2, 2), z(2).double(), {}),
                             ("i32", z(2, 2).int(), z(2).int(), {})):
        case("pack", [x, s], None, error=error, **{"axis": 0, "tile": 4, **bad})
    case("pack", [z(0, 3)], z(0, 3, 4), axis=0, tile=4)
    case("pack", [z(0, 3)], z(1, 0, 4), axis=1, tile=4)
    case("pack", [z(3, 0, 2)], z(1, 0, 4), axis=0, tile=4)
    for error, x, bad in (("axis", z(2, 2), {"axis": 2}),
                          ("axis", z(2, 2), {"axis": -1}),
                          ("tile", z(2, 2), {"tile": 0}),
                          ("tile", z(2, 2), {"tile": 2**40}),
                          ("groups", z(2, 2), {"groups": 0}),
                          ("groups", z(5, 2), {"groups": 2}),
                          ("groups", z(4, 4), {"axis": 1, "groups": 2}),
                          ("rank", z(2, 2, 2), {"axis": 1}),
                          ("rank", z(2), {})):
        case("pack", [x], None, error=error,
             **{"axis": 0, "tile": 4, "groups": 1, **bad})


def resize():
    near = {"mode": "nearest", "coord": "asymmetric", "round": "floor"}
    for dt in tuple(ENDS) + INTS:
        v = ends(dt) if dt in ENDS else extremes(dt)
        case("resize", [Lit(dt, v, 1, 1, len(v))],
             Lit(dt, [q for q in v for _ in (0, 1)], 1, 1, 2 * len(v)),
             size=[2 * len(v)], **near)
    big = [2**53 + 1, -2**53 - 1]
    case("resize", [Lit("i64", big, 2, 1, 1)], Lit(
        "i64", [big[0]] * 4 + [big[1]] * 4, 2, 2, 2), size=[2, 2], **near)
    x = of("f32", [NAN, 1, INF, 3.4028235e38, 3.4028235e38], 1, 1, 5)
    case("resize", [x], to("f32", F.interpolate(d(x), 3, mode="linear")),
         size=[3], mode="linear")
    e = torch.zeros(1, 1, 0)
    case("resize", [e], None, error="empty", size=[2], mode="linear")
    case("resize", [e], None, error="empty", size=[2], **near)
    case("resize", [e], e, size=[0], mode="linear")
    one = torch.zeros(1, 1, 2)
    case("resize", [one], torch.zeros(1, 1, 0), size=[0], **near)
    ten = torch.arange(10.0)
    case("resize", [ten, None, of("f32", [0.7])], of("f32", [0, 1, 2, 4, 5, 7,
                                                             8]), size=[7],
         **near)
    for bad in (0.5, -0.7, NAN, INF):
        case("resize", [ten, None, of("f32", [bad])], None, error="scale",
             size=[7], mode="nearest")
    for bad, why in (({"size": [-1]}, "size"), ({"size": [2**60]}, "large"),
                     ({"mode": "no"}, "mode"), ({"coord": "no"}, "coord"),
                     ({"size": [4], "scales": [NAN]}, "scale"),
                     ({"size": [4], "scales": [-2.0]}, "scale"),
                     ({"size": [4], "scales": [1e300]}, "scale"),
                     ({"size": [1, 1, 1, 1]}, "sizes")):
        case("resize", [one], None, error=why,
             **{"mode": "linear", "size": [4], **bad})


def sample():
    for dt in ("f64", "f32", "f16", "bf16"):
        v = ends(dt)
        x = Lit(dt, [v[0], v[1], v[0], 1.0], 1, 1, 2, 2)
        g = Lit(dt, [-1.0, -1.0, 1.0, -1.0, -1.0, 1.0, 1.0, 1.0], 1, 1, 4, 2)
        case("grid_sample", [x, g], Lit(dt, [v[0], v[1], v[0], 1.0], 1, 1, 1,
                                        4), align=True)
        case("grid_sample", [x, Lit(dt, [-0.0, 1.0], 1, 1, 1, 2)],
             Lit(dt, [narrow(dt, (v[0] + 1.0) / 2)], 1, 1, 1, 1), align=True)
    x = of("f32", [1, 2, 3, 4], 1, 1, 2, 2)
    g = of("f32", [3.4e38, 0.0, -3.4e38, 0.0], 1, 1, 2, 2)
    for mode in ("nearest", "linear"):
        for edge, y in (("zeros", [0, 0]), ("border", [3, 2])):
            if edge == "border" and mode == "nearest":
                y = [2, 1]
            case("grid_sample", [x, g], of("f32", y, 1, 1, 1, 2), mode=mode,
                 edge=edge)
    for far in (INF, -INF, NAN):
        g = of("f32", [far, 0.0], 1, 1, 1, 2)
        y = torch.full((1, 1, 1, 1), NAN)
        case("grid_sample", [x, g], y, mode="linear", edge="zeros")
        case("grid_sample", [x, g], y, mode="cubic", edge="zeros")
        case("grid_sample", [x, g], torch.zeros(1, 1, 1, 1), mode="nearest",
             edge="zeros")
    case("grid_sample", [torch.zeros(1, 2, 2, 2), torch.zeros(1, 0, 3, 2)],
         torch.zeros(1, 2, 0, 3))
    case("grid_sample", [torch.zeros(0, 2, 2, 2), torch.zeros(0, 1, 3, 2)],
         torch.zeros(0, 2, 1, 3))
    case("grid_sample", [torch.zeros(1, 1, 0, 2), torch.zeros(1, 1, 1, 2)],
         torch.zeros(1, 1, 1, 1))
    case("grid_sample", [torch.zeros(1, 1, 2, 2), torch.zeros(1, 1, 1, 3)],
         None, error="coordinates")
    case("grid_sample", [torch.zeros(2, 1, 2, 2), torch.zeros(1, 1, 1, 2)],
         None, error="batch")
    case("grid_sample", [torch.zeros(1, 1, 2, 2), torch.zeros(1, 1, 1, 2)],
         None, error="edge", edge="no")


# ---- the rest ----------------------------------------------------------------

def roi():
    for dt in ("f64", "f32", "f16", "bf16", "f4e2m1"):
        m = ENDS[dt][0]
        x = Lit(dt, [m] * 4, 1, 1, 2, 2)
        case("roi_align", [x, Lit(dt, [0.0, 0.0, 0.5, 0.0], 1, 4),
                           Lit("i4", [0])], Lit(dt, [m], 1, 1, 1, 1),
             out=[1, 1], samples=1)
        case("roi_pool", [x, Lit(dt, [0.0, 0.0, 0.0, 1.0, 1.0], 1, 5)],
             Lit(dt, [m], 1, 1, 1, 1), out=[1, 1])
    x, r = torch.zeros(1, 1, 2, 2), torch.zeros(1, 4)
    for dt, bad in (("i64", [1, -2, 2**63 - 1, -2**63]), ("i4", [7, -8]),
                    ("u64", [2**64 - 1, 2**63])):
        for k in bad:
            case("roi_align", [x, r, Lit(dt, [k])], None, error="range",
                 out=[1, 1])


def norm():
    for dt in ("f64", "f32", "f16", "bf16"):
        v = ends(dt)
        x = [v[0], v[0], v[1], v[4], v[5], 0.0, INF, 1.0, NAN, 1.0, 2.0, 2.0]
        if dt == "f64":
            x[:4] = [1e150, 1e150, -1e150, 0.0]
        t = torch.tensor(x, dtype=torch.float64).reshape(6, 2)
        y = F.layer_norm(t, [2], eps=1e-5)
        case("layer_norm", [Lit(dt, x, 6, 2)],
             Lit(dt, lit(dt, y.reshape(-1).tolist()).numbers, 6, 2), axis=1,
             eps=1e-5)
        y = t / torch.sqrt((t * t).mean(1, True) + 1e-5)
        case("rms_norm", [Lit(dt, x, 6, 2)],
             Lit(dt, lit(dt, y.reshape(-1).tolist()).numbers, 6, 2), axis=1,
             eps=1e-5)
        y = F.group_norm(t.reshape(6, 1, 2), 1, eps=1e-5)
        case("group_norm", [Lit(dt, x, 6, 1, 2)],
             Lit(dt, lit(dt, y.reshape(-1).tolist()).numbers, 6, 1, 2),
             groups=1, eps=1e-5)
        p = [Lit(dt, q) for q in ([1.0, v[0]], [0.0, NAN], [0.0, 1.0],
                                  [0.0, INF])]
        s, b, m, w = (torch.tensor(q.numbers, dtype=torch.float64) for q in p)
        y = (t - m) / torch.sqrt(w + 1e-5) * s + b
        case("batch_norm", [Lit(dt, x, 6, 2)] + p,
             Lit(dt, lit(dt, y.reshape(-1).tolist()).numbers, 6, 2), eps=1e-5)
    m = ENDS["f64"][0]
    x, y = Lit("f64", [m, -m], 1, 2), Lit("f64", [0.0, -0.0], 1, 2)
    case("layer_norm", [x], torch.zeros(1, 2).double(), axis=1, eps=1e-5)
    case("rms_norm", [x], y, axis=1, eps=1e-5)
    case("group_norm", [x], y, groups=1, eps=1e-5)
    x = of("f32", [-0.0, -0.0], 1, 2)
    case("rms_norm", [x], x, axis=1, eps=1e-5)
    case("layer_norm", [x], torch.zeros(1, 2), axis=1, eps=1e-5)
    case("batch_norm", [x, torch.ones(2), x[0], x[0] * -1, torch.ones(2)], x,
         eps=1e-5)
    e = torch.zeros(2, 0)
    case("layer_norm", [e], e, axis=1, eps=1e-5)
    case("rms_norm", [e], e, axis=1, eps=1e-5)
    e = torch.zeros(2, 2, 0)
    case("group_norm", [e], e, groups=2, eps=1e-5)
    case("batch_norm", [e] + [torch.ones(2)] * 4, e, eps=1e-5)
    case("group_norm", [torch.zeros(1, 3)], None, error="groups", groups=2,
         eps=1e-5)
    case("group_norm", [torch.zeros(1, 3)], None, error="groups", groups=0,
         eps=1e-5)
    case("layer_norm", [torch.zeros(2)], None, error="axis", axis=1, eps=1e-5)
    case("rms_norm", [torch.zeros(2), torch.zeros(3)], None, error="broadcast",
         axis=0, eps=1e-5)
    case("batch_norm", [torch.zeros(1, 3)] + [torch.ones(2)] * 4, None,
         error="channels", eps=1e-5)
    c = of("f32", [1.0, 1.0], 1, 2)  # no variance and no eps
    case("layer_norm", [c], of("f32", [NAN, NAN], 1, 2), axis=1, eps=0.0)
    case("rms_norm", [c * 0], of("f32", [NAN, NAN], 1, 2), axis=1, eps=0.0)


def attention():
    for dt in ("f64", "f32", "f16", "bf16"):
        v = ends(dt)
        q = Lit(dt, [1.0, 0.0], 2, 1)
        case("sdpa", [q, Lit(dt, [v[0], v[1]], 2, 1),
                      Lit(dt, [v[0], NAN], 2, 1)],
             Lit(dt, [NAN, NAN], 2, 1))
        case("sdpa_joined", [Lit(dt, [1.0, v[0], v[0], 0.0, v[1], NAN],
                                 2, 3, 1, 1)], Lit(dt, [NAN, NAN], 2, 1, 1))
        case("sdpa_joined", [Lit(dt, [1.0, INF, 1.0, 0.0, 1.0, 2.0],
                                 2, 3, 1, 1)], Lit(dt, [NAN, NAN], 2, 1, 1))
        case("sdpa", [q, Lit(dt, [INF, 1.0], 2, 1),
                      Lit(dt, [1.0, 2.0], 2, 1)],
             Lit(dt, [NAN, NAN], 2, 1))
        case("sdpa", [q, Lit(dt, [1.0, 1.0], 2, 1),
                      Lit(dt, [1.0, 2.0], 2, 1),
                      Lit(dt, [-INF, -INF, 0.0, -INF], 2, 2)],
             Lit(dt, [0.0, 1.0], 2, 1))
        case("sdpa", [q, Lit(dt, [1.0, NAN], 2, 1),
                      Lit(dt, [1.0, NAN], 2, 1),
                      Lit("bool", [1, 0, 0, 0], 2, 2)],
             Lit(dt, [1.0, 0.0], 2, 1))
    z = torch.zeros
    case("sdpa", [z(0, 2), z(3, 2), z(3, 1)], z(0, 1))
    case("sdpa", [z(2, 2), z(0, 2), z(0, 1)], z(2, 1))
    case("sdpa", [z(2, 0), z(1, 0), of("f32", [3.0], 1, 1)],
         of("f32", [3.0, 3.0], 2, 1))
    case("sdpa", [z(2, 2), z(3, 2), z(2, 1)], None, error="keys and values")
    case("sdpa", [z(3, 2, 2), z(2, 2, 2), z(2, 2, 2)], None, error="heads")
    case("sdpa", [z(2, 2), z(3, 2), z(3, 1), z(5, 5)], None, error="mask")
    nan = of("f32", [NAN, 1.0, 2.0, 3.0, 4.0, 5.0], 2, 3, 1, 1)
    case("sdpa_joined", [nan], of("f32", [NAN, 4.99962986], 2, 1, 1))
    case("sdpa_joined", [z(0, 3, 2, 2)], z(0, 2, 2))
    case("sdpa_joined", [z(2, 2, 2, 2)], None, error="parts")
    case("sdpa_joined", [z(3, 2, 2)], None, error="rank")
    case("sdpa_joined", [z(2, 3, 2, 2)], None, parts=[0, 1, 1], error="order")
    case("sdpa_joined", [z(2, 3, 2, 2), z(2)], None, error="factor")
    case("sdpa_joined", [z(2, 3, 2, 2), z(1), z(3, 2)], None, error="mask")
    case("sdpa_joined", [z(2, 3, 2, 2)], None, rows="none", error="rows")


def view():
    x = of("f32", [1, NAN, -0.0], 3)
    for at, why in ((dict(shape=[2]), "elements"),
                    (dict(shape=[-1, 2]), "divide"),
                    (dict(shape=[-1, -1]), "both"),
                    (dict(shape=[-2]), "size"),
                    (dict(shape=[2**62, 4]), "large")):
        case("reshape", [x], None, error=why, **at)
    case("reshape", [torch.zeros(0, 2)], None, error="no answer",
         shape=[0, -1])
    case("reshape", [torch.zeros(0, 2)], torch.zeros(2**40, 0),
         shape=[2**40, 0])
    for perm in ([0, 0], [1], [0, 2], [-1, 0]):
        case("transpose", [torch.zeros(2, 2)], None, error="perm", perm=perm)
    case("transpose", [torch.zeros(2, 0, 3)], torch.zeros(3, 2, 0),
         perm=[2, 0, 1])
    for shape in ([2], [-2], [2, 4]):
        case("expand", [x], None, error="expand", shape=shape)
    case("expand", [of("f32", [NAN])], torch.zeros(0), shape=[0])
    case("expand", [of("f32", [NAN])], None, error="large",
         shape=[2**40, 2**40])
    far = [-2**63, 2**63 - 1]
    y = of("i64", [1, 2, 3])
    e = y[:0].contiguous()
    case("slice", [y], y, axes=[0], starts=far[:1], ends=far[1:])
    case("slice", [y], y.flip(0), axes=[0], starts=far[1:], ends=far[:1],
         steps=[-1])
    case("slice", [y], y[:1].contiguous(), axes=[0], starts=far[:1],
         ends=far[1:], steps=far[1:])
    case("slice", [y], y[2:].contiguous(), axes=[0], starts=far[1:],
         ends=far[:1], steps=[-2**63 + 1])
    case("slice", [y], e, axes=[0], starts=far[1:], ends=far[:1])
    case("slice", [e], e, axes=[0], starts=far[:1], ends=far[1:])
    case("slice", [e], e, axes=[0], starts=far[1:], ends=far[:1], steps=[-1])
    for at in (dict(steps=[0]), dict(steps=far[:1])):
        case("slice", [y], None, error="step", axes=[0], starts=[0], ends=[1],
             **at)
    case("slice", [y], None, error="axis", axes=[1], starts=[0], ends=[1])
    case("slice", [y], None, error="axes", axes=[0, 0], starts=[0, 0],
         ends=[1, 1])
    case("slice", [y], None, error="starts", axes=[0], starts=[0, 0],
         ends=[1])
    case("concat", [torch.zeros(2, 2), torch.zeros(3, 2)], None,
         error="joined dim", axis=1)
    case("concat", [x, y], None, error="operand 1", axis=0)
    case("concat", [x, x], None, error="axis", axis=1)
    case("concat", [torch.zeros(0), torch.zeros(0)], torch.zeros(0), axis=0)
    case("pad", [x], of("f32", [NAN, 1, NAN, -0.0, NAN]), pads=[1, 1],
         value=NAN)
    case("pad", [y], None, error="pads of dim 0", pads=[-2**63, 2**63 - 1])
    case("pad", [y], None, error="size", pads=[2**62, 2**62])
    case("pad", [y], None, error="dim 0", pads=[-2, -2])
    case("pad", [y], None, error="pads", pads=[1])
    case("pad", [y], None, error="mode", pads=[1, 1], mode="no")
    for mode in ("edge", "reflect", "wrap"):
        case("pad", [e], None, error="empty", pads=[1, 0], mode=mode)
        case("pad", [y[:1].contiguous()], of("i64", [1] * 6), pads=[3, 2],
             mode=mode)
        t = np.pad(y.numpy(), (7, 5), mode)
        case("pad", [y], npt(t), pads=[7, 5], mode=mode)
    case("pad", [e], e, pads=[0, 0], mode="reflect")
    case("pad", [y, Lit("i64", [2**63 - 1], 1)], None, error="rank 0",
         pads=[1, 1])
    case("pad", [y, scalar("i32", 1)], None, error="want i64", pads=[1, 1])
    for dt, v in (("i64", 2**63 - 1), ("u64", 2**64 - 1), ("i4", -8),
                  ("f32", NAN), ("f16", -0.0), ("bool", 1)):
        case("pad", [Lit(dt, [1]), scalar(dt, v)], Lit(dt, [v, 1, v]),
             pads=[1, 1])
    case("pad", [y], of("i64", [9, 9]), pads=[-3, 2], value=9.0)
    case("pad", [Lit("i64", [5])], Lit("i64", [2**63 - 1, 5, 2**63 - 1]),
         pads=[1, 1], value=1e30)
    case("pad", [Lit("u8", [5])], Lit("u8", [0, 5]), pads=[1, 0], value=NAN)


def index():
    """Indices out of range, in every index type, are errors."""
    far = {"i64": [2**63 - 1, -2**63, 3, -4, 2**32], "i32": [2**31 - 1,
                                                             -2**31, 3, -4],
           "i8": [127, -128, 3, -4], "u8": [255, 3], "u64": [2**64 - 1, 2**63,
                                                             3],
           "i4": [7, -8], "u2": [3]}
    x, w = torch.zeros(3), torch.zeros(3, 2)
    e, f = torch.zeros(0), torch.zeros(3, 0)
    for dt, bad in far.items():
        for k in bad:
            i, j = Lit(dt, [0, k]), Lit(dt, [0, k], 2, 1)
            case("gather", [x, i], None, error="range")
            case("gather", [w, i], None, error="range", axis=0)
            case("gather_elements", [x, i], None, error="range")
            case("gather_nd", [x, j], None, error="range")
            case("scatter_elements", [x, i, torch.zeros(2)], None,
                 error="range")
            case("scatter_nd", [x, j, torch.zeros(2)], None, error="range")
    none, col = of("i64", [0]), of("i64", [0], 1, 1)
    for i, j in ((none, col), (none - 1, col - 1)):
        case("gather", [e, i], None, error="range")
        case("gather_elements", [e, i], None, error="range")
        case("gather_nd", [e, j], None, error="range")
        case("scatter_elements", [e, i, torch.zeros(1)], None, error="range")
        case("scatter_nd", [e, j, torch.zeros(1)], None, error="range")
    # Rows without elements: nothing would be moved, the index counts anyway.
    case("gather", [f, none + 3], None, error="range")
    case("gather_nd", [f, col + 3], None, error="range")
    case("scatter_nd", [f, col + 3, torch.zeros(1, 0)], None, error="range")
    case("gather", [f, none], torch.zeros(1, 0))
    case("gather_nd", [f, col], torch.zeros(1, 0))
    case("scatter_nd", [f, col, torch.zeros(1, 0)], f)
    case("gather_nd", [x, torch.zeros(2, 0).long()], torch.zeros(2, 3))
    case("gather_nd", [w, of("i64", [2, -3, 0, 2], 2, 2)], None,
         error="range")
    case("gather_nd", [w, of("i64", [2], 1, 1)], None, error="batch",
         batch=1)
    case("gather_nd", [x, torch.zeros(1, 2).long()], None, error="rank")
    case("gather_elements", [w, torch.zeros(4, 1).long()], None,
         error="dim 0", axis=1)
    case("scatter_elements", [w, torch.zeros(4, 1).long(), torch.zeros(4, 1)],
         None, error="dim 0", axis=1)
    case("scatter_elements", [x, none, torch.zeros(2)], None, error="updates")
    case("scatter_nd", [x, col, torch.zeros(2)], None, error="updates")
    for op, ins in (("gather", [x, x]), ("gather_elements", [x, x]),
                    ("gather_nd", [x, x]),
                    ("scatter_elements", [x, x, x])):
        case(op, ins, None, error="integer type")
    case("scatter_elements", [x, none, torch.zeros(1)], None, error="reduce",
         reduce="no")
    for k in (-1, 4, 2**62):
        case("topk", [x], None, error="k is", k=k)
    case("topk", [e], [e, e.long()], k=0)
    case("topk", [torch.zeros(0, 2)], [torch.zeros(0, 1),
                                       torch.zeros(0, 1).long()], k=1)
    case("topk", [torch.zeros(2, 0)], None, error="k is", k=1)
    case("topk", [of("f32", 1.0)], None, error="axis", k=1)
    whole("topk", "%x: f32[N], %y: f32[M]",
          [("input", "%x", "[2] [1, nan]"), ("input", "%y", "[3] [0, 0, 0]"),
           ("error", "", "k is 3")],
          "  %r, %s = topk %x {k=M, axis=0}\n", "%r, %s")


def scatter():
    for dt in INTS:
        for mode, f in (("add", lambda a, b: a + b),
                        ("mul", lambda a, b: a * b), ("min", min),
                        ("max", max)):
            x, u = [high(dt), low(dt), 1], [high(dt), high(dt), low(dt)]
            y = [wrap(dt, f(a, b)) for a, b in zip(x, u)]
            case("scatter_elements", [Lit(dt, x), of("i64", [0, 1, 2]),
                                      Lit(dt, u)], Lit(dt, y), reduce=mode)
            case("scatter_nd", [Lit(dt, x), of("i64", [0, 1, 2], 3, 1),
                                Lit(dt, u)], Lit(dt, y), reduce=mode)
    for dt in ("f64", "f32", "f16", "bf16", "f8e5m2"):
        v = ends(dt)
        x, u = [v[0], v[1], -0.0, INF, 1.0], [v[0], v[4], 0.0, -INF, NAN]
        for mode, f in (("add", lambda a, b: a + b),
                        ("mul", lambda a, b: a * b),
                        ("min", lambda a, b: NAN if a != a or b != b else
                         min(a, b, key=lambda t: (t, math.copysign(1, t)))),
                        ("max", lambda a, b: NAN if a != a or b != b else
                         max(a, b, key=lambda t: (t, math.copysign(1, t))))):
            y = lit(dt, [f(a, b) for a, b in zip(x, u)])
            case("scatter_elements", [Lit(dt, x), of("i64", range5()),
                                      Lit(dt, u)], y, reduce=mode)
            case("scatter_nd", [Lit(dt, x), of("i64", range5(), 5, 1),
                                Lit(dt, u)], y, reduce=mode)
    case("scatter_elements", [of("c64", [1]), of("i64", [0]),
                              of("c64", [1])], None, error="reduce",
         reduce="add")


def range5():
    return [0, 1, 2, 3, 4]


def quant():
    v = [NAN, INF, -INF, -0.0, 0.5, 1.5, -0.5, 3.4028235e38, 1e-45, -2.5]
    x = of("f32", v)
    for dt in ("u8", "i8", "i16", "u16", "i4", "u4", "i2", "u2", "i32",
               "u32"):
        y = [0 if q != q else high(dt) if q == INF else low(dt) if q == -INF
             else max(low(dt), min(high(dt), round(narrow("f32", q))))
             for q in v]
        case("quantize", [x, of("f32", 1.0)], Lit(dt, y), to=Raw(dt))
        case("quantize", [of("f32", [0.0, 1.0, -1.0, NAN]), of("f32", 0.0)],
             Lit(dt, [0, high(dt), low(dt), 0]), to=Raw(dt))
        z = Lit(dt, [high(dt)], 1)
        case("quantize", [of("f32", [1.0, -1e9, INF, -INF, -1.0]),
                          of("f32", [1.0]), z],
             Lit(dt, [high(dt), max(low(dt), high(dt) - 10**9), high(dt),
                      low(dt), high(dt) - 1]),
             to=Raw(dt))
        k = extremes(dt)
        case("dequantize", [Lit(dt, k), of("f32", 2.0),
                            Lit(dt, [low(dt)], 1)],
             lit("f32", [(q - low(dt)) * 2.0 for q in k]))
        case("dequantize", [Lit(dt, k), of("f32", [NAN])],
             Lit("f32", [NAN] * len(k)))
        case("dequantize", [Lit(dt, [], 0)] + [of("f32", 1.0)],
             torch.zeros(0))
    for dt in ("f8e4m3fn", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz", "f4e2m1"):
        top = ENDS[dt][0]
        y = [q if q != q else max(-top, min(top, narrow("f32", q) / 0.5))
             for q in v]
        if dt == "f4e2m1":
            y[0] = -0.0
        case("quantize", [x, of("f32", 0.5)], lit(dt, y), to=Raw(dt))
        case("quantize", [of("f32", [1.0]), of("f32", [1.0]),
                          Lit(dt, [0.0])], Lit(dt, [1.0]), to=Raw(dt))
        case("dequantize", [Lit(dt, ends(dt)), of("f32", 0.5)],
             lit("f32", [q * 0.5 for q in ends(dt)]))
    for dt in ("f64", "f16", "bf16"):
        v = ends(dt)
        case("quantize", [Lit(dt, v), Lit(dt, [1.0])], Lit("i8", [
            0 if q != q else round(max(-128, min(127, q))) for q in v]),
            to=Raw("i8"))
        case("dequantize", [Lit("i8", [127, -128, 1, 0]), Lit(dt, v[:1])],
             lit(dt, [127 * v[0], -128 * v[0], v[0], 0.0]))
    for dt in ("i64", "u64"):
        v = extremes(dt)
        case("quantize", [Lit(dt, v), of("f32", 1.0)], Lit("i8", [
            max(-128, min(127, q)) for q in v]), to=Raw("i8"))
        case("dequantize", [Lit(dt, v), of("f64", 2.0)],
             lit("f64", [2.0 * q for q in v]))
        case("quantize", [of("f32", [1.0, INF, -INF]), of("f32", 1.0),
                          Lit(dt, [0], 1)], Lit(dt, [1, high(dt), low(dt)]),
             to=Raw(dt))
    case("quantize", [torch.zeros(0, 2), torch.ones(2)],
         torch.zeros(0, 2).to(torch.uint8), to=Raw("u8"))
    case("quantize", [torch.zeros(2, 0), torch.ones(0)],
         torch.zeros(2, 0).to(torch.uint8), to=Raw("u8"))
    case("quantize", [x, torch.ones(2)], None, error="axis", axis=0,
         to=Raw("u8"))
    case("quantize", [x, torch.ones(2)], None, error="axis", axis=1,
         to=Raw("u8"))
    case("quantize", [x, of("f32", 1.0), of("i8", 0)], None,
         error="zero point", to=Raw("u8"))
    case("quantize", [x, of("f32", 1.0)], None, error="quantised type",
         to=Raw("f32"))
    case("dequantize", [x, of("f32", 1.0)], None, error="quantised type")
    case("dequantize", [of("u8", [1]), of("i32", 1)], None, error="scale")


def recurrent():
    z = torch.zeros
    for op, g, states in (("lstm", 4, 2), ("gru", 3, 1), ("rnn", 1, 1)):
        def ins(t=2, b=1, i=1, fill=0.0, lengths=None, w=None):
            x = [z(t, b, i) + fill, z(1, g, i) if w is None else w,
                 z(1, g, 1)]
            if lengths is not None:
                x += [None] * (2 + (op == "lstm")) + [lengths]
            return x

        def want(t, b, v=0.0):
            return [z(t, 1, b, 1) + v] + [z(1, b, 1) + v] * states

        for bad in (-1, 3, 2**31 - 1, -2**31):
            case(op, ins(lengths=of("i32", [bad])), None, error="length",
                 hidden=1)
        case(op, ins(lengths=Lit("i64", [-2**63])), None, error="length",
             hidden=1)
        case(op, ins(lengths=Lit("i64", [2**63 - 1])), None, error="length",
             hidden=1)
        case(op, ins(lengths=Lit("u64", [2**64 - 1])), None, error="length",
             hidden=1)
        case(op, ins(lengths=Lit("u2", [2])), want(2, 1), hidden=1)
        for dt in ("f64", "f32", "f16", "bf16", "f4e2m1"):
            v = [ENDS[dt][0], -0.0]
            zero = [0.0] * (2 * g)
            y = [Lit(dt, [0.0, 0.0], 1, 1, 2, 1)] + [
                Lit(dt, [0.0, 0.0], 1, 2, 1)] * states
            case(op, [Lit(dt, v, 1, 2, 1), Lit(dt, zero[:g], 1, g, 1),
                      Lit(dt, zero[:g], 1, g, 1)], y, hidden=1)
        case(op, ins(lengths=of("i32", [0])), want(2, 1), hidden=1)
        case(op, ins(fill=NAN), want(2, 1, NAN), hidden=1)
        case(op, ins(t=0), want(0, 1), hidden=1)
        case(op, ins(b=0), want(2, 0), hidden=1)
        case(op, ins(i=0), want(2, 1), hidden=1)
        y = want(2, 1)
        if op == "rnn":
            y = want(2, 1, 1.0)
            case(op, ins(fill=3.4028235e38, w=z(1, 1, 1) + 1), want(
                2, 1, 3.4028235e38), hidden=1, acts="relu")
            case(op, ins(fill=3.4028235e38, w=z(1, 1, 1) + 1), want(
                2, 1, 0.5), hidden=1, acts="relu", clip=0.5)
            case(op, ins(fill=NAN, w=z(1, 1, 1) + 1), want(2, 1, NAN),
                 hidden=1, acts="relu", clip=0.5)
        case(op, ins(fill=INF, w=z(1, g, 1) + 1), want(2, 1, 1.0)
             if op == "rnn" else INF_RNN[op], hidden=1)
        case(op, ins(fill=-0.0), want(2, 1), hidden=1)
        for h in (0, -1, 2**31, 2**62):
            case(op, ins(), None, error="hidden", hidden=h)
        case(op, ins(), None, error="direction", hidden=1, direction="up")
        case(op, ins(), None, error="act 'up'", hidden=1, acts="up")
        case(op, ins(), None, error="acts", hidden=1, acts="tanh " * 9)
        case(op, ins(), None, error="dim", hidden=2)


def one_step(op, x):
    """From a state of 0, with x for all gates: y, the last states."""
    s, g = 1 / (1 + math.exp(-min(x, 700.0))), math.tanh(x)
    y = {"lstm": s * math.tanh(s * g), "gru": (1 - s) * g, "rnn": g}[op]
    return [y, y] + ([s * g] if op == "lstm" else [])


def recurrent_steps():
    z = torch.zeros
    for op, g, states in (("lstm", 4, 2), ("gru", 3, 1), ("rnn", 1, 1)):
        steps = op + "_steps"

        def ins(t=2, b=1, fill=0.0, lengths=None):
            x = [z(t, b, g) + fill, z(1, 1, g)]
            if lengths is not None:
                x += [None] * (2 + (op == "lstm")) + [lengths]
            return x

        def want(t, b, v=0.0):
            return [z(t, 1, b, 1) + v] + [z(1, b, 1) + v] * states

        for bad in (Lit("i64", [-2**63]), Lit("i64", [2**63 - 1]),
                    Lit("u64", [2**64 - 1]), of("i32", [-1])):
            case(steps, ins(lengths=bad), None, error="length", hidden=1,
                 tile=1)
        case(steps, ins(lengths=Lit("u2", [2])), want(2, 1), hidden=1, tile=1)
        for dt in ("f64", "f32", "f16", "bf16", "f4e2m1"):
            end = ENDS[dt][0]
            y = [lit(dt, [v, 0.0], *at) for v, at in zip(
                one_step(op, end),
                [(1, 1, 2, 1), (1, 2, 1), (1, 2, 1)])]
            case(steps, [Lit(dt, [end] * g + [-0.0] * g, 1, 2, g),
                         Lit(dt, [0.0] * g, 1, 1, g)], y, hidden=1, tile=1)
        case(steps, ins(fill=NAN), want(2, 1, NAN), hidden=1, tile=1)
        case(steps, ins(t=0), want(0, 1), hidden=1, tile=1)
        case(steps, ins(b=0), want(2, 0), hidden=1, tile=1)
        case(steps, ins(fill=INF), want(2, 1, 1.0) if op == "rnn"
             else INF_RNN[op], hidden=1, tile=1)
        for h in (0, -1, 2**31, 2**62):
            case(steps, ins(), None, error="hidden", hidden=h, tile=1)
        for tile in (0, -1, 5000, 2**62):
            case(steps, ins(), None, error="tile", hidden=1, tile=tile)
        case(steps, ins(), None, error="direction", hidden=1, tile=1,
             direction="up")


# x = inf with weights of 1 opens every gate: c = 1, 2; the gru keeps h = 0.
INF_RNN = {
    "lstm": [torch.tensor([math.tanh(1), math.tanh(2)]).reshape(2, 1, 1, 1),
             torch.tensor([math.tanh(2)]).reshape(1, 1, 1),
             torch.tensor([2.0]).reshape(1, 1, 1)],
    "gru": [torch.zeros(2, 1, 1, 1), torch.zeros(1, 1, 1)]}


def linalg():
    for dt in ("f64", "f32", "f16", "bf16", "f8e5m2"):
        v = ends(dt)
        for m in ([v[0], 0.0, 0.0, v[0]], [v[0], v[0], v[0], v[0]],
                  [0.0, 1.0, 0.0, NAN], [INF, 0.0, 0.0, 1.0],
                  [v[4], 0.0, 0.0, v[4]], [0.0, -0.0, 1.0, 1.0]):
            a = torch.tensor(m, dtype=torch.float64).reshape(2, 2)
            y = float(torch.linalg.det(a)) if all(map(math.isfinite, m)) \
                else NAN if NAN in m or m[0] == 0 else INF
            y = NAN if any(q != q for q in m) else y
            case("det", [Lit(dt, m, 2, 2)], scalar(dt, narrow(dt, y)))
    case("det", [torch.zeros(2, 3)], None, error="square")
    case("det", [torch.zeros(3)], None, error="rank")


def scalar(dt, v):
    t = Lit(dt, [v])
    t.shape = ()
    return t


def fourier():
    for dt in ("f64", "f32", "f16", "bf16"):
        v = ends(dt)
        x = [v[0] / 8 if dt == "f64" else v[0]] * 4
        t = torch.fft.fft(torch.tensor(x, dtype=torch.float64))
        y = torch.view_as_real(t).reshape(-1).tolist()
        case("dft", [Lit(dt, x, 4, 1)],
             Lit(dt, lit(dt, [4 * x[0]] + [q + 0.0 for q in y[1:]]).numbers, 4, 2), axis=0, size=4)
        case("dft", [Lit(dt, v[:1], 1, 1)], Lit(dt, [v[0], 0.0], 1, 2), axis=0,
             size=1)
    x = of("f32", [INF, 0.0, -0.0, NAN], 2, 2)
    case("dft", [x], of("f32", [NAN, NAN, NAN, NAN], 2, 2), axis=0, size=2)
    case("dft", [of("f32", [1.0], 1, 1)], of("f32", [1.0, 0.0], 1, 2), axis=0,
         size=1)
    e = torch.zeros(0, 1)
    case("dft", [e], torch.zeros(2, 2), axis=0, size=2)
    case("dft", [e], None, error="size", axis=0, size=0)
    case("dft", [e], None, error="size", axis=0, size=-1)
    one = torch.zeros(2, 1)
    case("dft", [one], None, error="axis", axis=1, size=2)
    case("dft", [one], None, error="axis", axis=2, size=2)
    case("dft", [one], None, error="large", axis=0, size=2**61)
    case("dft", [torch.zeros(2, 3)], None, error="parts", axis=0, size=2)


def bind():
    """Sizes that come from data: each must fit, and none may run away."""
    whole("bind", "%n: i64[1], %x: f32[1]",
          [("input", "%n", of("i64", [3])), ("input", "%x", of("f32", [NAN])),
           ("expect", "%k", of("i64", [3])),
           ("expect", "%r", "[3] [nan, nan, nan]")],
          "  %k = bind %n {symbols=[N]}\n"
          "  %r = expand %x {shape=[N]} : f32[N]\n", "%k, %r")
    for n, y in ((0, "[0,0] []"), (1, "[1,2] [0.0, 1.0]")):
        whole("bind", "%n: i64[2]",
              [("input", "%n", of("i64", [n, 2 * n])), ("expect", "%r", y)],
              "  %k = bind %n {symbols=[N,M]}\n"
              "  %r = iota {shape=[N,M], axis=1, dtype=f32} : f32[N,M]\n",
              "%r")
    for n, why in ((-1, "-1"), (-2**63, "-9223372036854775808"),
                   (2**63 - 1, "")):
        whole("bind", "%n: i64[]",
              [("input", "%n", scalar("i64", n)),
               ("error", "", why or "large")],
              "  %k = bind %n {symbols=[N]}\n"
              "  %r = iota {shape=[N], axis=0, dtype=f32} : f32[N]\n", "%r")
    case("bind", [of("i64", [1, 2])], None, error="as many",
         symbols=Raw("[N]"))
    case("bind", [of("i32", [1])], None, error="i64", symbols=Raw("[N]"))
    e = of("i64", [])
    case("bind", [e], e, symbols=[])
    for shape in ((), (0, 2), (3, 1, 2)):
        case("shape", [torch.zeros(shape)], of("i64", list(shape)))
    for dt in INTS + tuple(ENDS):
        v = ends(dt) if dt in ENDS else extremes(dt)
        case("shape", [Lit(dt, v)], of("i64", [len(v)]))
    whole("shape", "%x: f32[N,M]",
          [("input", "%x", "[0,3] []"), ("expect", "%r", of("i64", [0, 3]))],
          "  %r = shape %x\n", "%r")
    exact.update(("bind", "shape"))


def found():
    """Results whose size is in the data."""
    for dt in ALL + ("bool",) + tuple(ENDS):
        v = ends(dt) if dt in ENDS else [1, 0] if dt == "bool" else \
            extremes(dt)
        v = v + v[:3]
        at = [i for i, q in enumerate(v) if q != 0]
        case("nonzero", [Lit(dt, v)], Lit("i64", at, 1, len(at)))
        groups, order = [], []  # NaN is one value, as the zeros are
        for i, q in enumerate(v):
            k = "nan" if q != q else q
            if k not in groups:
                groups.append(k)
                order.append(i)
        which = [groups.index("nan" if q != q else q) for q in v]
        for s in (False, True):
            key = sorted(range(len(groups)), key=lambda k: INF
                         if groups[k] == "nan" else groups[k]) if s \
                else range(len(groups))
            if dt in ("i64", "u64") and s:
                key = sorted(range(len(groups)), key=lambda k: groups[k])
            key = list(key)
            nans = [k for k in key if groups[k] == "nan"] if s else []
            key = [k for k in key if k not in nans] + nans
            case("unique", [Lit(dt, v)], [
                Lit(dt, [v[order[k]] for k in key]),
                Lit("i64", [order[k] for k in key]),
                Lit("i64", [key.index(k) for k in which]),
                Lit("i64", [which.count(k) for k in key])], sorted=s)
    for shape, y in (((), (0, 0)), ((2, 0), (2, 0)), ((0, 2, 3), (3, 0))):
        case("nonzero", [torch.zeros(shape)], torch.zeros(y).long())
    case("nonzero", [of("f32", 2.0)], torch.zeros(0, 1).long())
    x = rand("i64", 3, 4) % 3 - 1
    case("nonzero", [x], torch.nonzero(x).T.contiguous())
    case("nonzero", [torch.tensor([1j])], None, error="c64")
    e = torch.zeros(0).long()
    case("unique", [torch.zeros(0)], [torch.zeros(0), e, e, e])
    case("unique", [torch.zeros(2, 0)], [torch.zeros(2, 0), e, e, e], axis=1)
    one, two = of("i64", [0]), of("i64", [0, 0])
    case("unique", [torch.zeros(2, 0)], [torch.zeros(1, 0), one, two,
                                         of("i64", [2])], axis=0)
    case("unique", [of("f32", 3.0)], [of("f32", [3.0]), one, one,
                                      of("i64", [1])])
    x = of("i32", [1, 0, 1, 2, 5, 2, 1, 0, 1], 3, 3)
    for axis in (0, 1):
        y, i, j, n = np.unique(x.numpy(), return_index=True,
                               return_inverse=True, return_counts=True,
                               axis=axis)
        case("unique", [x], [npt(y), npt(i), npt(j.reshape(-1)), npt(n)],
             axis=axis)
    case("unique", [x], None, error="axis", axis=2)
    case("unique", [torch.tensor([1j])], None, error="c64")
    suppress()
    exact.update(("nonzero", "unique", "nms"))


def suppress():
    def run(boxes, scores, want, most=9, iou=0.5, least=None, n=None, **at):
        ins = [Lit(at.pop("dt", "f32"), boxes, 1, len(boxes) // 4, 4)]
        ins.append(Lit(ins[0].dtype, scores, 1, 1, len(scores)))
        ins += [scalar("i64", most), scalar("f32", iou)]
        if least is not None:
            ins.append(scalar("f32", least))
        case("nms", ins, Lit("i64", [q for k in want for q in (0, 0, k)],
                             len(want), 3), **at)

    unit, half, far = [0, 0, 1, 1], [0, 0.5, 1, 1.5], [9, 9, 10, 10]
    for dt in ("f64", "f32", "f16", "bf16"):
        m = ENDS[dt][0]
        run(unit + unit + far, [1, 2, -0.0], [1, 2], dt=dt)
        # Boxes of NaN or infinite area overlap nothing.
        run(unit + [NAN] * 4 + [-INF, -INF, INF, INF], [3, 2, 1], [0, 1, 2],
            dt=dt)
        run([-m, -m, m, m] * 2, [m, m], [0], dt=dt, iou=0.0) \
            if dt in ("f16",) else None
        run(unit + far, [-m, m], [1, 0], dt=dt)
    run([6.0, 6.0, 0.0, 0.0] * 2, [1, 2], [1], dt="f4e2m1")
    run(unit + half + far, [1, 2, 3], [2, 1, 0], iou=0.34)
    run(unit + half + far, [1, 2, 3], [2, 1], iou=0.33)
    run(unit + far, [NAN, 1], [1])
    run(unit + far, [INF, -INF], [0, 1])
    run(unit + far, [INF, -INF], [0], least=-INF)
    run(unit + far, [1, 2], [], least=NAN)
    run(unit + unit, [1, 2], [1, 0], iou=1.0)
    for most, want in ((-2**63, []), (-1, []), (0, []), (1, [1]),
                       (2**63 - 1, [1, 0])):
        run(unit + far, [1, 2], want, most=most)
    run([1, 1, 0, 0] * 2, [1, 1], [0])  # corners in any order; first of ties
    run([0.5, 0.5, 1, 1] * 2, [1, 1], [0], center=True)
    run([0, 0, 0, 0] * 2, [1, 2], [1, 0])
    z = torch.zeros
    case("nms", [z(1, 0, 4), z(1, 2, 0), scalar("i64", 5)],
         z(0, 3).long())
    case("nms", [z(0, 2, 4), z(0, 1, 2), scalar("i64", 5)], z(0, 3).long())
    case("nms", [z(1, 2, 4), z(1, 0, 2), scalar("i64", 5)], z(0, 3).long())
    case("nms", [z(1, 2, 4), z(1, 1, 2)], z(0, 3).long())
    case("nms", [z(1, 2, 5), z(1, 1, 2)], None, error="a box")
    case("nms", [z(1, 2, 4), z(1, 1, 3)], None, error="number of boxes")
    case("nms", [z(1, 2, 4), z(1, 1, 2), scalar("i32", 1)], None,
         error="want i64")


def sequence():
    """Positions, sizes and presence are data, and checked in every run."""
    def put(op, params, rows, body, results):
        whole(op, params, rows, body, results)

    for dt in ALL + ("bool",) + tuple(ENDS):
        v = ends(dt) if dt in ENDS else [1, 0] if dt == "bool" else \
            extremes(dt)
        x, n = Lit(dt, v), len(v)
        given = [("input", "%x", x), ("input", "%y", Lit(dt, [], 0, n)),
                 ("expect", "%r", x)]
        params = f"%x: {dt}[{n}], %y: {dt}[0,{n}]"
        put("seq_new", params, given,
            "  %s = seq_new %x, %x\n  %i = const {value=-2} : i64[]\n"
            "  %r = seq_at %s, %i\n", "%r")
        put("opt_new", params, given,
            "  %o = opt_new %x\n  %r = opt_get %o\n", "%r")
        put("opt_get", params, given, "  %r = opt_get %x\n", "%r")
        put("opt_has", params, given[:2] + [("expect", "%r",
                                             scalar("bool", 1))],
            "  %o = opt_new %y\n  %r = opt_has %o\n", "%r")
        put("seq_at", params, given,
            "  %s = seq_new %x\n  %i = const {value=0} : i64[]\n"
            "  %r = seq_at %s, %i\n", "%r")
        put("seq_length", params, given[:2] + [("expect", "%r",
                                                scalar("i64", 3))],
            "  %s = seq_new %x, %x, %x\n  %r = seq_length %s\n", "%r")
        put("seq_insert", params, given,
            "  %s = seq_new %x\n  %t = seq_insert %s, %x\n"
            "  %i = const {value=1} : i64[]\n  %r = seq_at %t, %i\n", "%r")
        put("seq_erase", params, given,
            "  %s = seq_new %x, %x\n  %t = seq_erase %s\n"
            "  %i = const {value=0} : i64[]\n  %r = seq_at %t, %i\n", "%r")
        put("seq_concat", params, given[:2] + [
            ("expect", "%r", f"[2,{n}] {text_of(Lit(dt, v * 2))}")],
            "  %s = seq_new %x, %x\n"
            "  %r = seq_concat %s {axis=0, new_axis=true}\n", "%r")
        put("seq_split", params, given,
            "  %s = seq_split %x {axis=0}\n"
            "  %r = seq_concat %s {axis=0}\n", "%r")
    positions()
    put("seq_concat", "%x: f32[2,0], %y: f32[2,1]",
        [("input", "%x", torch.zeros(2, 0)),
         ("input", "%y", of("f32", [NAN, -0.0], 2, 1)),
         ("expect", "%r", "[2,1] [nan, -0.0]")],
        "  %s = seq_new %x, %y\n  %r = seq_concat %s {axis=1}\n", "%r")
    put("seq_concat", "%x: f32[2,1], %y: f32[3,1]",
        [("input", "%x", torch.zeros(2, 1)),
         ("input", "%y", torch.zeros(3, 1)), ("error", "", "another")],
        "  %s = seq_new %x, %y\n  %r = seq_concat %s {axis=1}\n", "%r")
    case("seq_concat", [of("f32", [1.0])], None, error="no sequence", axis=0)
    put("seq_new", "%x: f32[2], %y: i64[2]",
        [("input", "%x", torch.zeros(2)), ("input", "%y", of("i64", [1, 2])),
         ("error", "", "one sequence")], "  %r = seq_new %x, %y\n", "%r")
    put("seq_length", "%x: f32[0]",
        [("input", "%x", torch.zeros(0)), ("expect", "%r", scalar("i64", 0))],
        "  %s = seq_new : sequence(f32[2])\n  %r = seq_length %s\n", "%r")
    case("seq_length", [of("f32", [1.0])], None, error="no sequence")
    empty = "  %o = opt_new : optional(f32[2])\n"
    put("opt_has", "%x: f32[0]",
        [("input", "%x", torch.zeros(0)),
         ("expect", "%r", scalar("bool", 0))],
        empty + "  %r = opt_has %o\n", "%r")
    case("opt_has", [], None, error="opt_has")
    put("opt_get", "%x: f32[0]",
        [("input", "%x", torch.zeros(0)), ("error", "", "no value")],
        empty + "  %r = opt_get %o\n", "%r")
    put("opt_new", "%x: f32[0]",
        [("input", "%x", torch.zeros(0)), ("error", "", "declares no type")],
        "  %r = opt_new\n", "%r")
    exact.update(("seq_new", "seq_insert", "seq_erase", "seq_at",
                  "seq_length", "seq_concat", "seq_split", "opt_new",
                  "opt_has", "opt_get"))


def text_of(t):
    return "[" + ", ".join(number(v, t.dtype) for v in t.numbers) + "]"


def positions():
    three = "  %s = seq_new %x, %y, %x\n"
    x, y = of("f32", [1, 2]), of("f32", [3, 4])
    given = [("input", "%x", x), ("input", "%y", y)]

    def at(op, dt, i, body, want, error=None):
        rows = given + [("input", "%i", scalar(dt, i))]
        rows.append(("error", "", error) if error else ("expect", "%r", want))
        whole(op, f"%x: f32[2], %y: f32[2], %i: {dt}[]", rows, three + body,
              "%r")

    for i, want in ((0, x), (1, y), (-1, x), (-3, x)):
        at("seq_at", "i64", i, "  %r = seq_at %s, %i\n", want)
    no = "does not exist"
    for dt, bad in (("i64", [3, -4, 2**63 - 1, -2**63]), ("i32", [2**31 - 1]),
                    ("u64", [2**64 - 1, 3]), ("i4", [7, -8])):
        for i in bad:
            at("seq_at", dt, i, "  %r = seq_at %s, %i\n", None, no)
            at("seq_erase", dt, i, "  %r = seq_erase %s, %i\n", None, no)
            if i != 3:
                at("seq_insert", dt, i, "  %r = seq_insert %s, %x, %i\n",
                   None, no)
    after = "  %k = const {value=1} : i64[]\n  %r = seq_at %t, %k\n"
    for i, want in ((0, x), (1, x), (-3, x), (3, y), (2, y)):
        at("seq_insert", "i64", i, "  %t = seq_insert %s, %x, %i\n" + after,
           want)
    for i, want in ((0, x), (1, x), (2, y), (-1, y)):
        at("seq_erase", "i64", i, "  %t = seq_erase %s, %i\n" + after, want)
    for op in ("seq_at %s, %i", "seq_erase %s, %i"):
        name = op.split()[0]
        whole(name, "%x: f32[0], %i: i64[]",
              [("input", "%x", torch.zeros(0)),
               ("input", "%i", scalar("i64", 0)), ("error", "", no)],
              f"  %s = seq_new : sequence(f32[0])\n  %r = {op}\n", "%r")
    whole("seq_erase", "%x: f32[0]",
          [("input", "%x", torch.zeros(0)), ("error", "", "empty")],
          "  %s = seq_new : sequence(f32[0])\n  %r = seq_erase %s\n", "%r")
    split = "  %s = seq_split %x, %n {axis=0}\n"
    t = of("f32", [1, 2, 3, NAN, -0.0])

    def cut(kind, n, i, want, error=None):
        rows = [("input", "%x", t), ("input", "%n", n)]
        rows.append(("error", "", error) if error else ("expect", "%r", want))
        whole("seq_split", f"%x: f32[5], %n: {kind}", rows, split +
              f"  %i = const {{value={i}}} : i64[]\n"
              "  %r = seq_at %s, %i\n", "%r")

    cut("i64[]", scalar("i64", 2), 2, "[1] [-0.0]")
    cut("i64[]", scalar("i64", 2**63 - 1), 0, "[5] [1, 2, 3, nan, -0.0]")
    cut("i64[3]", of("i64", [2, 0, 3]), 1, "[0] []")
    cut("i64[3]", of("i64", [2, 0, 3]), -1, "[3] [3, nan, -0.0]")
    for n in (0, -1, -2**63):
        cut("i64[]", scalar("i64", n), 0, None, "size")
    cut("u64[]", scalar("u64", 2**64 - 1), 0, None, "size")
    for n in ([2, 4], [6, -1], [2**63 - 1, 2**63 - 1], [2, 2]):
        cut("i64[2]", Lit("i64", n), 0, None, "size")
    whole("seq_split", "%x: f32[2,0]",
          [("input", "%x", torch.zeros(2, 0)), ("expect", "%r", "[1,0] []")],
          "  %s = seq_split %x {axis=0}\n  %i = const {value=1} : i64[]\n"
          "  %r = seq_at %s, %i\n", "%r")
    whole("seq_split", "%x: f32[2]",
          [("input", "%x", x), ("expect", "%r", "[] [2]")],
          "  %s = seq_split %x {axis=0, keep=false}\n"
          "  %i = const {value=1} : i64[]\n  %r = seq_at %s, %i\n", "%r")
    case("seq_split", [of("f32", 1.0)], None, error="axis", axis=0)


def text():
    """What moves strings; those that compute with them have files by hand."""
    odd = ["", "a,b]", 'q"\\', "n\nl", "\0z", "Straße", "日本", "🙂 x"]
    x = Text(odd)
    back = Text(odd[::-1])
    case("reshape", [x], Text(odd, 2, 4), shape=[2, 4])
    case("gather", [x, of("i64", [-1, 0])], Text([odd[-1], odd[0]]))
    case("gather", [x, of("i64", [8])], None, error="range")
    case("slice", [x], back, axes=[0], starts=[-1], ends=[-2**62], steps=[-1])
    case("concat", [x, back], Text(odd + odd[::-1]), axis=0)
    case("where", [of("bool", [1, 0]), Text(["a", ""]), Text(["b", "c"])],
         Text(["a", "c"]))
    for op, at in (("neg", {}), ("topk", {"k": 1}), ("pad", {"pads": [1, 1]})):
        case(op, [x], None, error="strings", **at)


def philox(seed, draw, at):
    """Philox4x32-10 on plain integers."""
    c = [at & 0xffffffff, at >> 32, draw & 0xffffffff, draw >> 32]
    k = [seed & 0xffffffff, seed >> 32 & 0xffffffff]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k[0], b & 0xffffffff, a >> 32 ^ c[3] ^ k[1],
             a & 0xffffffff]
        k = [(k[0] + 0x9E3779B9) & 0xffffffff, (k[1] + 0xBB67AE85) &
             0xffffffff]
    return c


def random():
    """irtest's stream has seed 7; a node is a draw."""
    def numbers(n, dt, seed=7, draw=0, normal=False):
        width = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}[dt]
        out = []
        for i in range(n):
            w = philox(seed % 2**64, draw, i)
            high, other = (w[j] << 32 | w[j + 1] for j in (0, 2))
            if normal:
                out.append(math.sqrt(-2 * math.log1p(-(high >> 11) * 2**-53)) *
                           math.cos(2 * math.pi * (other >> 11) * 2**-53))
            else:
                out.append((high >> 64 - width) * 2.0**-width)
        return out

    for dt in ("f64", "f32", "f16", "bf16"):
        case("random", [], lit(dt, numbers(6, dt), 2, 3), shape=[2, 3],
             dtype=Raw(dt))
        case("random", [], lit(dt, numbers(4, dt, normal=True)), shape=[4],
             dtype=Raw(dt), normal=True)
    for seed in (0, -1, 2**63 - 1, -2**63):
        case("random", [], lit("f32", numbers(2, "f32", seed=seed)),
             shape=[2], seed=seed)
    case("random", [], torch.zeros(0, 3), shape=[0, 3])
    case("random", [], None, error="dtype", shape=[1], dtype=Raw("i32"))
    case("random", [], None, error="dtype", shape=[1], dtype=Raw("f8e5m2"))
    case("random", [], None, error="large", shape=[2**40, 2**40])


def control():
    x = of("f32", [NAN, -0.0])
    body = ("  %r = if %c {then=graph () {\n    return %x\n  }, else=graph ()"
            " {\n    %y = neg %x\n    return %y\n  }}\n")
    for c, y in ((1, x), (0, -x)):
        whole("if", "%c: bool[], %x: f32[2]",
              [("input", "%c", of("bool", c)), ("input", "%x", x),
               ("expect", "%r", y)], body, "%r")
    whole("if", "%c: bool[1], %x: f32[0,2]",
          [("input", "%c", of("bool", [0])),
           ("input", "%x", torch.zeros(0, 2)),
           ("expect", "%r", torch.zeros(0, 2))], body, "%r")
    whole("if", "%c: bool[2], %x: f32[2]",
          [("input", "%c", of("bool", [0, 1])), ("input", "%x", x),
           ("error", "", "one bool")], body, "%r")
    whole("if", "%c: i64[], %x: f32[2]",
          [("input", "%c", of("i64", 1)), ("input", "%x", x),
           ("error", "", "one bool")], body, "%r")
    loop = ("  %r, %s = loop %n, %c, %x, %k {body=graph (%i: i64[], %go:"
            " bool[], %u: f32[2], %t: i64[]) {\n    %v = neg %u\n"
            "    %m = add %t, %t\n    return %go, %v, %m\n  }}\n")
    for n, c, m in ((-2**63, 1, 0), (2**63 - 1, 0, 0), (0, 1, 0), (1, 1, 1),
                    (2, 1, 2)):
        k = 2**62
        whole("loop", "%n: i64[], %c: bool[], %x: f32[2], %k: i64[]",
              [("input", "%n", scalar("i64", n)),
               ("input", "%c", of("bool", c)), ("input", "%x", x),
               ("input", "%k", scalar("i64", k)),
               ("expect", "%r", -x if m % 2 else x),
               ("expect", "%s", scalar("i64", wrap("i64", k * 2**m)))], loop,
              "%r, %s")
    whole("loop", "%n: i64[], %c: bool[], %x: f32[2,0], %k: i64[]",
          [("input", "%n", scalar("i64", 3)), ("input", "%c", of("bool", 1)),
           ("input", "%x", torch.zeros(2, 0)),
           ("input", "%k", scalar("i64", 1)),
           ("expect", "%r", torch.zeros(2, 0)),
           ("expect", "%s", scalar("i64", 8))],
          loop.replace("f32[2]", "f32[2,0]"), "%r, %s")
    whole("loop", "%n: f32[], %c: bool[], %x: f32[2], %k: i64[]",
          [("input", "%n", of("f32", 1.0)), ("input", "%c", of("bool", 1)),
           ("input", "%x", x), ("input", "%k", scalar("i64", 1)),
           ("error", "", "one i64")], loop, "%r, %s")
    # Equal is equal to the bit.
    case("expect", [of("f32", [NAN])], of("f32", [NAN]),
         value=Raw("f32[1] [nan]"), what="a number")
    for v, want in ((1.0, "nan"), (-0.0, "0.0"), (INF, "-inf")):
        case("expect", [of("f32", [v])], None, error="a number",
             value=Raw(f"f32[1] [{want}]"), what="a number")
    for dt in ALL:
        case("expect", [Lit(dt, extremes(dt))], Lit(dt, extremes(dt)),
             value=Raw(literal(dt, extremes(dt))), what="ends")
    for dt in tuple(ENDS) + ("f8e8m0",):
        v = ends(dt) if dt in ENDS else [1.0, NAN]
        case("expect", [Lit(dt, v)], Lit(dt, v), value=Raw(literal(dt, v)),
             what="ends")
    case("expect", [torch.tensor([complex(NAN, -0.0)])],
         torch.tensor([complex(NAN, -0.0)]), value=Raw("c64[1] [nan, -0.0]"),
         what="ends")
    whole("expect", "%x: c128[1]",
          [("input", "%x", "[-0.0, nan]"), ("expect", "%r", "[-0.0, nan]")],
          '  %r = expect %x {value=c128[1] [-0.0, nan], what="ends"}\n', "%r")
    for dt in ("i64", "u64", "i4"):
        case("expect", [Lit(dt, [high(dt)])], None, error="an end",
             value=Raw(f"{dt}[1] [{high(dt) - 1}]"), what="an end")
    case("expect", [of("f32", [INF])], of("f32", [INF]), value=Raw("f32[1] [inf]"),
         what="a number")
    case("expect", [torch.zeros(0)], torch.zeros(0), value=Raw("f32[0] []"),
         what="nothing")
    case("expect", [torch.zeros(1)], None, error="expected dim",
         value=Raw("f32[2] [0,0]"), what="two")


def groups(w, tile, group):
    """[k, n] as [ceil(n / tile), ceil(k / group), tile, group]."""
    k, n = w.shape
    full = np.zeros((-(-k // group) * group, -(-n // tile) * tile), w.dtype)
    full[:k, :n] = w
    return full.reshape(full.shape[0] // group, group, -1, tile).transpose(
        2, 0, 3, 1).copy()


def quantised(v, scale, zero, dt):
    """As the op quantize does, in f32."""
    with np.errstate(all="ignore"):
        r = np.rint(v / np.float32(scale)) + np.float64(zero)
    return np.where(np.isnan(r), 0, np.clip(r, low(dt), high(dt)))


def int_result(s, to, scale=None, bias=None, mid=None, bias2=None,
               residual=None, factor=None, act="none", out=None):
    """What becomes of the sums s; mid and out: dtype, scale, zero."""
    if scale is None:
        return Lit("i32", s.astype(np.int32).ravel().tolist(), *s.shape)
    v = s.astype(np.int32).astype(np.float32) * np.float32(scale)
    v = v if bias is None else v + bias
    if mid:
        v = (quantised(v, mid[1], mid[2], mid[0]) - mid[2]).astype(
            np.float32) * np.float32(mid[1])
    v = v if bias2 is None else v + bias2
    v = v if residual is None else v + residual
    v = v if factor is None else v * np.float32(factor)
    v = np.maximum(v, 0) if act == "relu" else v
    v = v if out is None else quantised(v, out[1], out[2], out[0])
    return Lit(to, v.ravel().tolist(), *v.shape)


def packed_int():
    """Products of bytes; the sums are exact."""
    def byte(dt, *shape):
        ends_too = np.array(extremes(dt))
        v = draw.integers(low(dt), high(dt) + 1, shape)
        return np.where(draw.random(shape) < 0.3,
                        draw.choice(ends_too, shape), v)

    def of_bytes(dt, v):
        return Lit(dt, np.asarray(v).ravel().tolist(), *np.shape(v)) \
            if np.ndim(v) else Lit(dt, [int(v)], 1)

    def number(*shape):
        return (draw.integers(-64, 65, shape) / 32).astype(np.float32)

    def f32(v):
        return of("f32", np.asarray(v).ravel().tolist(), *np.shape(v))

    draw = np.random.default_rng(7)
    exact.update(("gemm_int", "matmul_int"))
    for xd in ("u8", "i8"):
        for wd in ("u8", "i8"):
            x, w = byte(xd, 3, 7), byte(wd, 7, 5)
            zx, zw = byte(xd), byte(wd, 5)
            s, sz = x @ w, (x - zx) @ (w - zw)
            p = of_bytes(wd, groups(w, 4, 2))
            case("gemm_int", [of_bytes(xd, x), p], int_result(s, "i32"), n=5,
                 tile=4, group=2, to=Raw("i32"))
            more = [of_bytes(xd, zx), of_bytes(wd, zw)]
            case("gemm_int", [of_bytes(xd, x), p] + more,
                 int_result(sz, "i32"), n=5, tile=4, group=2, to=Raw("i32"))
            scale, bias, bias2 = number(5) / 64, number(5), number(5)
            residual = number(3, 5)
            mid, out = (xd, 0.25, zx), (wd, 0.0625, int(zw[0]))
            for to, last in (("f32", None), (wd, out)):
                for act in ("none", "relu"):
                    tail = [f32([out[1]]), of_bytes(wd, out[2])] if last \
                        else []
                    case("gemm_int", [of_bytes(xd, x), p] + more + [
                        f32(scale), f32(bias), f32([mid[1]]),
                        of_bytes(xd, mid[2]), f32(bias2), f32(residual),
                        f32([0.5])] + tail,
                         int_result(sz, to, scale, bias, mid, bias2, residual,
                                    0.5, act, last), n=5, tile=4, group=2,
                         to=Raw(to), mid=Raw(xd), act=act)
            b = draw.integers(-999, 999, 5)
            case("gemm_int", [of_bytes(xd, x), p] + more + [
                f32(scale), Lit("i32", b.tolist(), 5)],
                 int_result(sz + b, "f32", scale), n=5, tile=4, group=2,
                 to=Raw("f32"))
            a, b = byte(xd, 2, 3, 6), byte(wd, 6, 4)
            s = (a - zx) @ (b - zw[0])
            for trans in (False, True):
                case("matmul_int", [
                    of_bytes(xd, a), of_bytes(wd, b.T if trans else b),
                    of_bytes(xd, zx), of_bytes(wd, zw[0]), f32([0.125]),
                    None, None, None, None, None, None, f32([2.0])],
                     int_result(s, "u8", 0.125, out=("u8", 2.0, 0)),
                     trans_b=trans, to=Raw("u8"))
            x, w = byte(xd, 1, 4, 3, 2), byte(wd, 3, 2, 2, 2)
            y = F.conv2d(torch.tensor(x - zx).permute(0, 3, 1, 2).double(),
                         torch.tensor(w - zw[0]).double(), stride=[2, 1],
                         padding=1).permute(0, 2, 3, 1).numpy()
            case("gemm_int", [
                of_bytes(xd, x), of_bytes(wd, groups(
                    w.transpose(2, 3, 1, 0).reshape(8, 3), 2, 4)),
                of_bytes(xd, zx), of_bytes(wd, zw[0])], int_result(y, "i32"),
                 n=3, tile=2, group=4, kernel=[2, 2], stride=[2, 1],
                 pad=[1, 1, 1, 1], dilation=[1, 1], to=Raw("i32"))
    v = [NAN, INF, -INF, 3e38, 1e-45, -0.0]
    k = len(v)
    case("gemm_int", [of_bytes("u8", np.full((1, 1), 255)), of_bytes(
        "i8", groups(np.ones((1, k), int), 8, 1)), None, None, f32([1.0]),
        f32(v)], of("f32", [NAN, INF, -INF, 3e38, 255.0, 255.0], 1, k), n=k,
        tile=8, group=1, to=Raw("f32"))
    case("gemm_int", [of_bytes("u8", np.full((1, 1), 255)), of_bytes(
        "i8", groups(np.ones((1, k), int), 8, 1)), None, None, f32([1.0]),
        f32(v), None, None, None, None, None, f32([2.0])],
        Lit("u8", [0, 255, 0, 255, 128, 128], 1, k), n=k, tile=8, group=1,
        to=Raw("u8"))
    wide = groups(np.full((4, 1), -128), 1, 4)
    case("gemm_int", [Lit("u8", [], 0, 4), of_bytes("i8", wide)],
         Lit("i32", [], 0, 1), n=1, tile=1, group=4, to=Raw("i32"))
    case("matmul_int", [Lit("u8", [], 2, 0), Lit("i8", [], 0, 3)],
         Lit("i32", [0] * 6, 2, 3), to=Raw("i32"))
    x, p = of_bytes("u8", byte("u8", 2, 3)), of_bytes(
        "i8", groups(byte("i8", 3, 5), 4, 2))
    good = {"n": 5, "tile": 4, "group": 2, "to": Raw("i32")}
    for bad in ({"n": 0}, {"tile": 0}, {"group": 0}, {"n": 2**62}):
        case("gemm_int", [x, p], None, error="group", **{**good, **bad})
    case("gemm_int", [x, p], None, error="panels", **{**good, "n": 9})
    case("gemm_int", [x, p], None, error="act", **good, act="no")
    case("gemm_int", [x, p], None, error="scale", **{**good,
                                                     "to": Raw("f32")})
    case("gemm_int", [x, p], None, error="scales", **good, mid=Raw("u8"))
    case("gemm_int", [of("f32", [1.0], 1, 1), p], None, error="u8 or i8", **good)
    case("matmul_int", [x, of_bytes("i8", byte("i8", 4, 2))], None,
         error="inner", to=Raw("i32"))
    case("matmul_int", [x, of_bytes("i8", byte("i8", 3))], None, error="ranks",
         to=Raw("i32"))


def lstm_int(x, r, scale, zero, bias, peep, lengths, h0, c0, back):
    """One direction: x [t,b,4h], r [h,4h]; all in f32 as the op has it."""
    f = np.float32
    t, b, h = x.shape[0], x.shape[1], r.shape[0]
    state, cell, y = h0.copy(), c0.copy(), np.zeros((t, b, h), f)

    def sigmoid(v):
        return (1 / (1 + np.exp(-v.astype(np.float64)))).astype(f)

    def tanh(v):
        return np.tanh(v.astype(np.float64)).astype(f)

    for s in range(t):
        on = (np.arange(b) >= 0) & (s <= lengths)
        v = np.where(on[:, None], state, f(0))
        top, least = max(v.max(), f(0)), min(v.min(), f(0))
        k = f(f(top - least) / f(255))
        with np.errstate(all="ignore"):
            z = np.rint(f(-least) / k)
            z = 0 if not z > 0 else min(z, 255)
            q = np.nan_to_num(np.rint((v / k).astype(f))) + z
        q = np.clip(q, 0, 255) - z
        for i in range(b):
            if s >= lengths[i]:
                continue
            at = lengths[i] - 1 - s if back else s
            g = x[at, i] + (q[i] @ (r - zero)).astype(f) * (k * scale).astype(
                f)
            g = g + bias
            old = cell[i]
            p = peep.reshape(3, h)
            gi = sigmoid(g[:h] + p[0] * old)
            gf = sigmoid(g[2 * h:3 * h] + p[2] * old)
            cell[i] = gf * old + gi * tanh(g[3 * h:])
            go = sigmoid(g[h:2 * h] + p[1] * cell[i])
            state[i] = y[at, i] = go * tanh(cell[i])
    return y, state, cell


def recurrent_int():
    draw = np.random.default_rng(11)

    def number(*shape):
        return (draw.integers(-64, 65, shape) / 32).astype(np.float32)

    def f32(v):
        return of("f32", np.asarray(v).ravel().tolist(), *np.shape(v))

    for way, wd, columns, more, panels_too in (
            ("forward", "i8", False, False, False),
            ("reverse", "u8", True, True, True),
            ("both", "i8", True, True, False),
            ("both", "u8", False, True, True)):
        d, t, b, h = 2 if way == "both" else 1, 3, 2, 3
        x = number(d, t, b, 4 * h)
        r = draw.integers(low(wd), high(wd) + 1, (d, h, 4 * h))
        tail = (4 * h,) if columns else ()
        scale = (draw.integers(1, 9, (d,) + tail) / 512).astype(np.float32)
        zero = draw.integers(low(wd), high(wd) + 1, (d,) + tail)
        bias, peep = number(d, 4 * h), number(d, 3 * h)
        h0, c0 = number(d, b, h), number(d, b, h)
        lengths = np.array([2, 3])
        if not more:
            zero, bias, peep, h0, c0 = (0 * v for v in (zero, bias, peep, h0,
                                                        c0))
            lengths = np.array([t, t])
        y = np.zeros((t, d, b, h), np.float32)
        hn, cn = np.zeros_like(h0), np.zeros_like(c0)
        for k in range(d):
            y[:, k], hn[k], cn[k] = lstm_int(
                x[k], r[k], scale[k], zero[k], bias[k], peep[k], lengths,
                h0[k], c0[k], way == "reverse" or k == 1)
        w = np.concatenate([groups(v, 4, 2) for v in r]) if panels_too else r
        ins = [f32(x), Lit(wd, w.ravel().tolist(), *w.shape), f32(scale)]
        if more:
            ins += [Lit(wd, zero.ravel().tolist(), *zero.shape), f32(bias),
                    f32(peep), Lit("i32", lengths.tolist(), b), f32(h0),
                    f32(c0)]
        case("lstm_int", ins, [f32(y), f32(hn), f32(cn)], hidden=h,
             direction=way)
    v = [NAN, INF, -INF, 3e38, 1e-45, -0.0, 0, 0]
    case("lstm_int", [f32(np.array(v, np.float32).reshape(1, 1, 1, 8)),
                      Lit("i8", [127, -128] * 8, 1, 2, 8), f32([1.0])],
         [of("f32", [NAN, 0.0], 1, 1, 1, 2)] * 1 + [
             of("f32", [NAN, 0.0], 1, 1, 2), of("f32", [NAN, 0.0], 1, 1, 2)],
         hidden=2)
    case("lstm_int", [Lit("f32", [], 1, 0, 2, 4), Lit("i8", [1] * 4, 1, 1, 4),
                      f32([1.0])],
         [Lit("f32", [], 0, 1, 2, 1), f32(np.zeros((1, 2, 1))),
          f32(np.zeros((1, 2, 1)))], hidden=1)
    x, r = f32(number(1, 2, 1, 4)), Lit("i8", [1] * 4, 1, 1, 4)
    for error, ins, at in (
            ("direction", [x, r, f32([1.0])], {"direction": "up"}),
            ("hidden", [x, r, f32([1.0])], {"hidden": 0}),
            ("sizes", [x, r, f32([1.0])], {"hidden": 2}),
            ("rank 1", [x, r, f32([1.0]), None, f32([1.0])], {}),
            ("rank", [f32([1.0]), r, f32([1.0])], {}),
            ("weights", [x, f32(number(1, 1, 4)), f32([1.0])], {})):
        case("lstm_int", ins, None, error=error, **{"hidden": 1, **at})


GROUPS = (source, unary, binary, compare, every, cast, reduce, scan, softmax,
          matmul, conv, pool, packed, packed_int, grouped, winograd, pack, packed_q4,
          resize, sample, roi, norm,
          attention, view, index, scatter,
          quant, recurrent, recurrent_steps, recurrent_int,
          linalg, fourier, bind, found,
          sequence, text, random, refuse, small, control)
