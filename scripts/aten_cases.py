# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Hull authors
"""The cases of scripts/aten_conformance: calls of ATen operators. What PyTorch
itself refuses (a dtype, mostly) is dropped there, so loops offer everything.
"""
import zlib

import torch
from torch.utils import _pytree as pytree

f64, f32, f16, bf16 = (torch.float64, torch.float32, torch.float16,
                       torch.bfloat16)
i64, i32, i16, i8, u8, b8 = (torch.int64, torch.int32, torch.int16, torch.int8,
                             torch.uint8, torch.bool)
c64 = torch.complex64
F = [f32, f64, f16, bf16]
I = [i64, i32, i16, i8, u8]  # noqa: E741
ALL = F + I + [b8]
MOST = [f32, f16, i64, u8, b8]
inf, nan = float("inf"), float("nan")

# Rows and core operators that this script does not call, and why.
NOT_TESTED = {
    "lift_fresh": "the exporter takes it out",
    "atan2.out": "an exported program has no out= forms",
    "_assert_scalar": "has no result", "_assert_tensor_metadata":
    "has no result", "sym_constrain_range": "has no result",
    "sym_constrain_range_for_size": "has no result",
    **{op: "by its in-place form" for op in (
        "floor_divide.Tensor", "pow.Tensor", "resize", "transpose")},
    **{op: "a number, which the exporter folds" for op in (
        "sym_is_contiguous", "sym_numel", "sym_storage_offset",
        "sym_stride.int")},
    "_conj": "the exporter writes conj",
    "rand": "random", "randn": "random", "randperm": "random",
}

CASES = []
_count = {}


class Case:
    def __init__(self, op, run, leaves, tol, type_only, name, target):
        self.op, self._run, self.tensors = op, run, leaves
        self.tolerance, self.type_only = tol, type_only
        self.name, self.target = name, target or op
        self.expected, self.refusal = [], None

    def run(self, tensors):
        return self._run(tensors)


def overload(op):
    base, _, name = op.partition(".")
    return getattr(getattr(torch.ops.aten, base), name or "default")


def _short(x):
    if isinstance(x, torch.Tensor):
        return f"{str(x.dtype)[6:]}{list(x.shape)}"
    if isinstance(x, (list, tuple)) and any(
            isinstance(e, torch.Tensor) for e in x):
        return "[" + " ".join(_short(e) for e in x) + "]"
    return str(x)


def add(op, *args, tol=None, type_only=False, pre=None, post=None, target=None,
        note="", fn=None, **kwargs):
    """A call. pre: what happens to every tensor first; post: to the result."""
    leaves, spec = pytree.tree_flatten((args, kwargs))
    where = [i for i, x in enumerate(leaves) if isinstance(x, torch.Tensor)]
    try:
        call = fn or overload(op)
    except AttributeError:
        return

    def run(tensors):
        full = list(leaves)
        for i, x in zip(where, tensors):
            full[i] = pre(x) if pre else x
        a, k = pytree.tree_unflatten(full, spec)
        out = call(*a, **k)
        return post(out) if post else out

    words = [_short(x) for x in args] + [f"{k}={_short(v)}"
                                         for k, v in kwargs.items()]
    CASES.append(Case(op, run, [leaves[i] for i in where], tol, type_only,
                      f"{len(CASES)} {note}" + ", ".join(words), target))


def all_cases(only=None):
    """All, or those of a list "add,mul.Tensor"."""
    names = only.split(",") if only else []
    return [c for c in CASES if not only or c.op in names
            or c.op.split(".")[0] in names]


# ---- data --------------------------------------------------------------------

def t(dt, *shape, lo=-3.0, hi=3.0):
    key = f"{dt}{shape}{lo}{hi}"
    _count[key] = n = _count.get(key, 0) + 1
    g = torch.Generator().manual_seed(zlib.crc32(f"{key}{n}".encode()))
    if dt == b8:
        return torch.rand(shape, generator=g) < 0.5
    x = torch.rand(shape, generator=g, dtype=f64) * (hi - lo) + lo
    if dt.is_floating_point:
        x = (x * 64).floor() / 64  # short numbers pack better
    if not dt.is_floating_point and not dt.is_complex:
        x = x.floor() if dt != u8 else x.floor().abs()
    if dt.is_complex:
        y = torch.rand(shape, generator=g, dtype=f64) * (hi - lo) + lo
        return torch.complex(x, y).to(dt)
    return x.to(dt)


def pos(dt, *shape, lo=0.1, hi=4.0):
    return t(dt, *shape, lo=lo if dt.is_floating_point else 1, hi=hi)


def v(dt, *values):
    return torch.tensor(values, dtype=dt)


def index(n, *shape, dt=i64):
    return t(dt, *shape, lo=0, hi=n)


HOSTILE = [nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5,
           3.7, -3.7, 20.0, -20.0, 88.0, -88.0, 1e-30, 1e30, 1e-8, 710.0, 0.999]


def hostile(dt):
    if dt.is_floating_point:
        return torch.tensor(HOSTILE, dtype=f64).to(dt)
    if dt == b8:
        return v(b8, True, False)
    n = torch.iinfo(dt)
    return v(dt, n.min, n.max, 0, 1, 2, 3, 7, 100,
             *([-1, -2, -7] if n.min else []))


def turn(x):
    """The same elements, not contiguous."""
    return x.transpose(0, -1).clone(
        memory_format=torch.contiguous_format).transpose(0, -1) \
        if x.dim() > 1 else x


def twin(op, *args, **kwargs):
    """The in-place form on a copy, read through the copy."""
    call = overload(op)

    def fn(x, *rest, **kw):
        y = torch.ops.aten.clone.default(x)
        call(y, *rest, **kw)
        return y
    add(op, *args, fn=fn, **kwargs)


# ---- one operand -------------------------------------------------------------

UNARY = """abs absolute acos acosh asin asinh atan atanh ceil cos cosh erf exp
 expm1 floor log log10 log1p log2 neg negative reciprocal round rsqrt sign sgn
 sin sinh sqrt tan tanh trunc fix relu sigmoid silu gelu mish hardswish
 hardsigmoid relu6 selu celu elu leaky_relu hardtanh softplus log_sigmoid
 hardshrink softshrink logit square isnan isinf isfinite logical_not bitwise_not
 special_erf special_expm1 erfinv special_erfinv exp2 sinc frac signbit
 positive deg2rad rad2deg angle isposinf isneginf special_exp2
 special_log1p special_expit nan_to_num glu tril triu
 real numpy_T mT t alias clone detach contiguous lift_fresh_copy
 alias_copy detach_copy conj resolve_conj resolve_neg
 log_sigmoid_forward hardtanh sort argsort argmax argmin sum mean prod any all
 max min median aminmax squeeze squeeze_copy ravel std var
 """.split()
GELU_SKIPS = ("gelu",)  # of inf: NaN from PyTorch's vector code
for op in UNARY:
    post = (lambda r: r[0]) if op == "log_sigmoid_forward" else None
    for dt in ALL:
        add(op, t(dt, 2, 4), post=post)
        if op in GELU_SKIPS:
            add(op, hostile(dt)[3:])
        elif op == "log_sigmoid_forward":
            add(op, hostile(dt), post=post)
        elif op not in ("sum", "mean", "prod", "std", "var", "sort", "argsort"):
            add(op, hostile(dt))
    for dt in MOST:
        add(op, t(dt), post=post)
        if op != "median" or dt.is_floating_point:
            add(op, t(dt, 0, 4), post=post)
    add(op, t(f32, 4, 2, 3), pre=turn, note="strided ", post=post)
    add(op, pos(f32, 3, 3, lo=0.01, hi=0.99), post=post)
for op in ("max", "min", "amax", "amin", "argmax", "argmin"):
    add(op, v(f32, 1.0, nan, 3.0, inf))
    add(op, v(f32, 2.0, 5.0, 5.0, -inf, 2.0))
for op in ("sum", "mean", "prod", "std", "var"):
    add(op, v(f32, 1.0, nan, 3.0))
    add(op, v(f32, inf, -inf))
    add(op, v(f32, inf, 1))
add("prod", v(i64, 2**62, 4, 3))
add("sum", v(i64, 2**63 - 1, 1))
add("sum", v(i32, 2**31 - 1, 2**31 - 1))
for op in ("sum", "mean", "prod"):
    for dt in (f32, i32, u8, b8, f16):
        for to in (f64, f32, i64, f16):
            add(op, t(dt, 2, 3), dtype=to)
for op in ("relu_ silu_ hardswish_ hardsigmoid_ sigmoid_ tanh_ exp_ sqrt_ abs_"
           " neg_ floor_ ceil_ round_ zero_ mish_ elu_ selu_ leaky_relu_"
           " hardtanh_ relu6_ sin_ cos_ log_ reciprocal_ rsqrt_ square_ erf_"
           " trunc_ sign_ bitwise_not_ logical_not_ tril_ triu_ celu_ t_"
           " nan_to_num_ expm1_ log1p_ tan_ squeeze_ detach_").split():
    twin(op, t(f32, 2, 3))
    twin(op, t(i64, 2, 3))

for dt in F:
    add("gelu", t(dt, 2, 3), approximate="tanh")
    add("gelu", hostile(dt)[3:], approximate="tanh")  # of inf: NaN in f32
    add("leaky_relu", hostile(dt), 0.2)
    add("leaky_relu", hostile(dt), -1.5)
    for a in ((1.5,), (0.5, 2.0), (1.0, 1.0, 3.0), (2.0, 0.5, -1.5), (0.0,)):
        add("elu", t(dt, 2, 3), *a)
        add("elu", hostile(dt), *a)
    add("celu", hostile(dt), 0.5)
    add("celu", hostile(dt), -2.0)
    add("hardtanh", hostile(dt), -0.5, 2.5)
    add("softplus", hostile(dt), 2.0, 10)
    add("softplus", hostile(dt), 0.5)
    add("softplus", hostile(dt), -1.0)
    add("hardshrink", hostile(dt), 1.0)
    add("softshrink", hostile(dt), 1.0)
    add("threshold", hostile(dt), 1.0, -7)
    add("logit", pos(dt, 5, hi=1.0), 0.2)
    add("logit", hostile(dt), 1e-3)
    add("logit", hostile(dt), 0.0)
    add("nan_to_num", hostile(dt), 2.0, 3.0, -4.0)
    add("nan_to_num", hostile(dt), None, 3.0)
    add("nan_to_num", hostile(dt), posinf=None, neginf=-1.0)
    add("rrelu", hostile(dt), 0.1, 0.3, False)
for dt in (i64, i32, u8):
    add("threshold", t(dt, 4), 1, 5)
    add("hardtanh", t(dt, 4), 0, 2)
    add("leaky_relu", t(dt, 4), 2)
    add("celu", t(dt, 4))
for n in (-3, -1, 0, 1, 2, 3):
    add("round.decimals", t(f32, 5, lo=-200, hi=200), decimals=n)
    add("round.decimals", hostile(f32), decimals=n)
    add("round.decimals", hostile(f64), decimals=n)
    add("round.decimals", t(i64, 5, lo=-200, hi=200), decimals=n)
add("round", v(f32, 0.5, 1.5, 2.5, -0.5, -1.5, 8388609.5))
for dt in F:
    for dim in (0, 1, -1):
        add("glu", t(dt, 4, 6), dim)
        for x in (t(dt, 3, 4), v(dt, inf, 1, 2).reshape(1, 3),
                  v(dt, -inf, -inf).reshape(1, 2), v(dt, nan, 1).reshape(1, 2),
                  t(dt, 2, 0), t(dt, 0, 2)):
            for name in ("softmax.int", "log_softmax.int"):
                add(name, x, dim)
            add("_softmax", x, dim, False)
            add("_log_softmax", x, dim, False)
            add("logsumexp", x, [dim])
    for name in ("softmax.int", "log_softmax.int"):
        add(name, t(dt), 0)
        add(name, t(dt), -1)
        add(name, t(dt, 3, 4), 1, f64)
        add(name, t(dt, 3, 4), 1, f32)
    add("_softmax", t(dt), 0, False)
    add("prelu", t(dt, 2, 3, 2), t(dt, 3))
    add("prelu", t(dt, 2, 3, 2), t(dt, 1))
    add("prelu", t(dt, 3), t(dt, 1))
    add("prelu", t(dt), t(dt, 1))
    add("prelu", hostile(dt), t(dt))
    add("_prelu_kernel", t(dt, 2, 3), t(dt, 1, 3))
add("softmax.int", t(i64, 2, 3), 1, f32)
add("_softmax", t(f16, 2, 3), 1, True, fn=None)
add("logsumexp", t(f32, 2, 3, 4), [0, 2])
add("logsumexp", t(f32, 2, 3, 4), [0, 2], True)
add("logsumexp", t(f32, 2, 3), [])
add("logsumexp", t(i64, 2, 3), [1])
add("logsumexp", t(f32), [0])
for name in ("dropout", "feature_dropout", "alpha_dropout",
             "feature_alpha_dropout"):
    add(name, t(f32, 2, 3, 2), 0.5, False)
add("native_dropout", t(f32, 2, 3), 0.5, False)
add("native_dropout", t(f16, 3), 0.0, False)

# ---- two operands ------------------------------------------------------------

PAIRS = [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2, 3)),
         ((2, 3), ()), ((), ()), ((0, 3), (1, 3)), ((2, 0), ()),
         ((2, 1, 3), (4, 1))]
BINARY = """add.Tensor sub.Tensor mul.Tensor div.Tensor pow.Tensor_Tensor
 fmod.Tensor remainder.Tensor maximum minimum atan2 eq.Tensor ne.Tensor
 lt.Tensor le.Tensor gt.Tensor ge.Tensor logical_and logical_or logical_xor
 bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor max.other min.other
 fmax fmin floor_divide rsub.Tensor __and__.Tensor __or__.Tensor __xor__.Tensor
 __lshift__.Tensor __rshift__.Tensor bitwise_left_shift.Tensor
 bitwise_right_shift.Tensor hypot copysign.Tensor xlogy.Tensor logaddexp
 logaddexp2 heaviside true_divide.Tensor divide.Tensor
 multiply.Tensor subtract.Tensor greater.Tensor greater_equal.Tensor
 less.Tensor less_equal.Tensor not_equal.Tensor arctan2 ldexp.Tensor
 special_xlog1py isclose """.split()
# In f32 PyTorch's vector code overflows where the exact rest is finite.
FMOD = ("fmod.Tensor", "remainder.Tensor")
POSITIVE = ("fmod.Tensor", "remainder.Tensor", "floor_divide", "gcd", "lcm")


def second(op, dt, *shape):
    if "shift" in op:
        return t(dt, *shape, lo=0, hi=4)
    if op in POSITIVE and not dt.is_floating_point:
        return pos(dt, *shape) * (1 if dt in (u8, b8) else -1)
    return t(dt, *shape)


def first_hostile(dt):
    x = hostile(dt)
    return x.repeat_interleave(len(x)), x.repeat(len(x))


for op in BINARY:
    for sa, sb in PAIRS:
        add(op, t(f32, *sa), second(op, f32, *sb))
        add(op, t(i64, *sa), second(op, i64, *sb))
    for dt in ALL:
        if dt == b8 and "shift" in op:
            continue
        add(op, t(dt, 2, 3), second(op, dt, 2, 3))
        add(op, t(dt, 2, 3, lo=0), second(op, f32, 3))
        add(op, t(f32), second(op, dt, 3))
        add(op, t(i64), second(op, dt, 3))
        add(op, t(f64), second(op, dt, 3))
    add(op, t(f16, 3), second(op, bf16, 3), tol=(1e-2, 1e-2))
    add(op, t(u8, 3), second(op, i8, 3))
    for dt in F:
        a, b = first_hostile(dt)
        if op == "isclose" and dt in (f16, bf16):
            continue  # PyTorch rounds the tolerance itself
        if op in FMOD:
            keep = (b.abs() > 1e-3) | (b == 0) | b.isnan() | a.isnan()
            a, b = a[keep], b[keep]
        add(op, a, b)
    for dt in (i64, i32, i8, u8):
        a, b = first_hostile(dt)
        if op in ("fmod.Tensor", "remainder.Tensor", "floor_divide"):
            keep = (b != 0) & ~((b == -1) & (a == torch.iinfo(dt).min)
                                if dt != u8 else torch.zeros_like(b).bool())
            a, b = a[keep], b[keep]
        if "shift" in op:
            b = b.clamp(0, 6)
        if op == "pow.Tensor_Tensor":
            a, b = a.clamp(-100, 100), b.clamp(0, 6)
        add(op, a, b)
    add(op, t(f32, 4, 3), second(op, f32, 4, 3), pre=turn, note="strided ")
for dt in (i64, i32, i8, u8):
    for op in ("bitwise_left_shift.Tensor", "bitwise_right_shift.Tensor"):
        bits = torch.iinfo(dt).bits
        add(op, v(dt, 1, 5, 100, 127, 3), v(dt, bits - 1, bits - 2, 1, 7, 0))
        if dt != u8:
            add(op, v(dt, -1, -5, -100, -127), v(dt, bits - 1, 2, 1, 0))
            add(op, v(dt, -1, 5, 7), v(dt, bits, bits + 3, -1))
        else:
            add(op, v(dt, 255, 5), v(dt, 8, 100))
for dt in (f32, f64, i64, i32):
    for e in (-2, -1, 0, 1, 2, 3, 0.5, -0.5, 2.0, 10, inf, -inf, nan):
        add("pow.Tensor_Scalar", t(dt, 4, lo=1), e)
        if dt.is_floating_point:
            add("pow.Tensor_Scalar", hostile(dt), e)
        add("pow.Scalar", e, t(dt, 4, lo=0))
add("pow.Tensor_Scalar", v(i64, 2, 3, -3, 10), 40)
add("pow.Tensor_Scalar", t(u8, 4), 3)
add("pow.Tensor_Scalar", t(b8, 4), 2)
add("pow.Tensor_Scalar", t(f16, 4, lo=0), 1.5)
for op in ("add", "sub"):
    for dt in ALL:
        for x in (2, -3, 2.5, True):
            add(op + ".Tensor", t(dt, 2, 3), t(dt, 3), alpha=x)
            add(op + ".Scalar", t(dt, 2, 3), x)
            add(op + ".Scalar", t(dt, 2, 3), x, 3)
            add(op + ".Scalar", t(dt), x, 2)
            add("rsub.Scalar", t(dt, 2, 3), x, 2)
            add("rsub.Scalar", t(dt, 2, 3), x)
    add(op + ".Tensor", t(b8, 3), t(b8, 3), alpha=True)
    add(op + ".Tensor", t(f32, 3), t(i64, 3), alpha=2.5)
    add(op + ".Tensor", v(i64, 2**62, 2**62), v(i64, 2**62, 5), alpha=3)
    twin(op + "_.Tensor", t(f32, 2, 3), t(f32, 3))
    twin(op + "_.Tensor", t(f32, 2, 3), t(i64, 3), alpha=2)
    twin(op + "_.Tensor", t(i32, 2, 3), t(i64, 3))
    twin(op + "_.Scalar", t(f32, 2, 3), 2)
add("rsub.Tensor", t(f32, 2, 3), t(f32, 3), alpha=2)
for op in """mul.Scalar div.Scalar fmod.Scalar remainder.Scalar eq.Scalar
 ne.Scalar lt.Scalar le.Scalar gt.Scalar ge.Scalar bitwise_and.Scalar
 bitwise_or.Scalar bitwise_xor.Scalar floor_divide.Scalar __and__.Scalar
 __or__.Scalar __xor__.Scalar __lshift__.Scalar __rshift__.Scalar
 bitwise_left_shift.Tensor_Scalar bitwise_right_shift.Tensor_Scalar
 greater.Scalar greater_equal.Scalar less.Scalar less_equal.Scalar
 not_equal.Scalar clamp_min clamp_max copysign.Scalar xlogy.Scalar_Other
 multiply.Scalar divide.Scalar subtract.Scalar true_divide.Scalar
 """.split():
    for dt in ALL:
        for x in (2, -3, 2.5, True, 5):
            if "shift" in op and (x == -3 or dt == b8):
                continue
            add(op, t(dt, 2, 3), x)
            if dt in F:
                add(op, hostile(dt), x)
    add(op, t(f32), 2)
    add(op, t(i64), 1.5)
    add(op, t(f32, 0, 2), 2)
    for x in (0, 0.0, -0.0, inf, -inf, nan):
        add(op, hostile(f32), x)
    if not any(w in op for w in ("div", "mod", "remainder", "shift")):
        for x in (2**62, -2**63, 2**63 - 1, 300, -1):
            add(op, hostile(i64), x)
            add(op, hostile(u8), x)
        add(op, hostile(i64), 9.3e18)
for op in """mul_.Tensor div_.Tensor maximum eq_.Tensor logical_and_
 bitwise_and_.Tensor remainder_.Tensor fmod_.Tensor pow_.Tensor ge_.Tensor
 floor_divide_.Tensor bitwise_or_.Tensor copy_ """.split():
    if op.endswith("_") or "_." in op:
        for dt in (f32, i64, i32):
            twin(op, t(dt, 2, 3), pos(dt, 2, 3))
            twin(op, t(f32, 2, 3), pos(dt, 3))
for op in "mul_.Scalar div_.Scalar pow_.Scalar fill_.Scalar clamp_min_".split():
    twin(op, t(f32, 2, 3), 2)
    twin(op, t(i64, 2, 3), 2)
for mode in (None, "floor", "trunc"):
    for dt in ALL:
        add("div.Tensor_mode", t(dt, 2, 3), pos(dt, 2, 3) * 1,
            rounding_mode=mode)
        add("div.Tensor_mode", t(dt, 2, 3), -pos(f32, 3), rounding_mode=mode)
        for x in (2, -2, 0.7, -1.5):
            add("div.Scalar_mode", t(dt, 2, 3), x, rounding_mode=mode)
    for dt in F:
        add("div.Tensor_mode", *first_hostile(dt), rounding_mode=mode)
        add("div.Scalar_mode", hostile(dt), 0, rounding_mode=mode)
    add("div.Tensor_mode", t(i64, 3), -pos(i64, 3), rounding_mode=mode)
    add("div.Tensor_mode", v(i64, -2**63, 2**63 - 1, -2**63), v(i64, 2, -2, 1),
        rounding_mode=mode)
add("div.Tensor", v(i64, 2**53 + 1, 1, 0), v(i64, 1, 0, 0))
add("outer", t(f32, 3), t(f32, 4))
add("outer", t(i64, 3), t(f32, 4))
add("dot", t(f32, 4), t(f32, 4))
add("dot", t(i64, 4), t(i64, 4))
add("dot", t(f32, 0), t(f32, 0))
add("vdot", t(f32, 4), t(f32, 4))
for rtol in (1e-5, 0.1):
    for equal in (False, True):
        x = v(f32, 1, nan, inf, -inf, 0, 1)
        add("isclose", x, v(f32, 1.05, nan, inf, inf, 1e-9, 2), rtol, 1e-8,
            equal)
add("isclose", t(i64, 3), t(i64, 3))

# ---- selection, clamps -------------------------------------------------------

for dt in ALL:
    c = t(b8, 2, 3)
    add("where.self", c, t(dt, 2, 3), t(dt, 3))
    add("where.self", c, t(dt), t(f32, 2, 1))
    add("where.self", t(b8), t(dt, 3), t(i64, 3))
    add("where.ScalarOther", c, t(dt, 2, 3), 1.5)
    add("where.ScalarOther", c, t(dt, 2, 3), 2)
    add("where.ScalarSelf", c, 2.5, t(dt, 2, 3))
    add("masked_fill.Scalar", t(dt, 2, 3), c, 2)
    add("masked_fill.Scalar", t(dt, 2, 3), t(b8, 3), 1.5)
    add("masked_fill.Tensor", t(dt, 2, 3), c, t(dt))
    add("masked_fill.Tensor", t(dt, 2, 3), c, t(i64))
    add("masked_fill.Scalar", t(dt, 3), t(b8, 2, 3), 1)
    twin("masked_fill_.Scalar", t(dt, 2, 3), t(b8, 3), 2)
    add("masked_scatter", t(dt, 2, 3), c, t(dt, 6))
    add("masked_scatter", t(dt, 2, 3), t(b8, 3), t(dt, 2, 4))
    add("masked_scatter", t(dt, 3), t(b8, 2, 3), t(dt, 7))
    twin("masked_scatter_", t(dt, 2, 3), c, t(dt, 6))
    for lo, hi in ((-1, 1), (None, 1), (-1, None), (0.5, 1.5), (2, 1),
                   (None, 0.5)):
        add("clamp", t(dt, 2, 3), lo, hi)
        add("clip", t(dt, 2, 3), lo, hi)
        if dt in F:
            add("clamp", hostile(dt), lo, hi)
    add("clamp.Tensor", t(dt, 2, 3), t(dt, 3), t(dt, 2, 1))
    add("clamp.Tensor", t(dt, 2, 3), t(dt, 3))
    add("clamp.Tensor", t(dt, 2, 3), None, t(f32, 3))
    add("clamp.Tensor", t(dt, 2, 3), t(i64), t(f32))
    add("clamp_min.Tensor", t(dt, 2, 3), t(dt, 3))
    add("clamp_max.Tensor", t(dt, 2, 3), t(dt, 3))
    add("lerp.Scalar", t(dt, 3), t(dt, 3), 0.3)
    add("lerp.Scalar", t(dt, 3), t(dt, 3), 0.8)
    add("lerp.Tensor", t(dt, 2, 3), t(dt, 3), t(dt, 2, 1))
    for x in (1, 2, -0.5):
        add("addcmul", t(dt, 2, 3), t(dt, 3), t(dt, 2, 1), value=x)
        add("addcdiv", t(dt, 2, 3), t(dt, 3), pos(dt, 2, 1), value=x)
add("where.Scalar", t(b8, 2, 3), 1.5, 2)
add("where.Scalar", t(b8, 2, 3), 1, 2)
add("where.Scalar", t(b8, 2, 3), True, False)
add("where.self", v(b8, True, False, True), v(f32, nan, nan, -0.0),
    v(f32, 1, inf, 2))
add("clamp", hostile(i64), -2**62, 2**62 + 1)
add("clamp", hostile(i64), nan, 1.0)
add("clamp", hostile(f32), nan, 1.0)
add("clamp", hostile(f32), 0.0, nan)
add("clamp.Tensor", hostile(f32), v(f32, nan), v(f32, 1))
add("clamp_min", hostile(i64), 2**60 + 1)
add("isin.Tensor_Tensor", t(i64, 2, 3), t(i64, 4))
add("isin.Tensor_Tensor", t(f32, 2, 3), t(f32, 4), invert=True)
add("isin.Tensor_Scalar", t(i64, 2, 3), 1)
add("isin.Scalar_Tensor", 1, t(i64, 4))
add("isin.Tensor_Tensor", t(i64, 3), t(i64, 0))

# ---- reductions --------------------------------------------------------------

for dt in ALL:
    x = t(dt, 2, 3, 4)
    for op in ("sum.dim_IntList", "mean.dim", "amax", "amin", "any.dims",
               "all.dims"):
        for dims in ([1], [0, 2], [-1], [], None, [0, 1, 2]):
            for keep in (False, True):
                add(op, x, dims, keep)
        add(op, t(dt), [])
        add(op, t(dt), [0], True)
        add(op, t(dt, 0, 3), [0])
        add(op, t(dt, 0, 3), [1])
    for to in (f64, i64, f16):
        add("sum.dim_IntList", x, [1], dtype=to)
        add("mean.dim", x, [1], dtype=to)
        add("prod.dim_int", x, 1, dtype=to)
    for op in ("max.dim", "min.dim", "any.dim", "all.dim", "prod.dim_int",
               "argmax", "argmin", "median.dim", "mode", "cumsum", "cumprod",
               "cummax", "cummin", "logcumsumexp", "aminmax", "nanmedian.dim"):
        scan = op.startswith(("cum", "logcum"))
        for dim in (0, 1, -1):
            for keep in (False, True):
                if scan and keep:
                    continue
                if op == "aminmax":
                    add(op, x, dim=dim, keepdim=keep)
                else:
                    add(op, x, dim, *([] if scan else [keep]))
        if op != "aminmax":
            add(op, t(dt), 0)
            add(op, t(dt, 2, 0), 0)
        if op in ("argmax", "argmin"):
            add(op, x)
            add(op, x, None, True)
        if op in ("max.dim", "min.dim", "argmax", "argmin", "cummax", "cummin",
                  "median.dim", "cumsum", "cumprod", "logcumsumexp"):
            add(op, hostile(dt), 0)
            add(op, v(dt, 1, 0, 1, 1, 0), 0)
    add("cumsum", x, 1, dtype=f64)
    add("cumprod", x, 1, dtype=f32)
    add("cumsum", t(dt, 0, 2), 0)
    add("kthvalue", x, 2, 1, post=lambda r: r[0])
    add("kthvalue", torch.arange(24).flip(0).reshape(2, 3, 4).to(dt), 2, 1)
    add("kthvalue", t(dt, 5), 3, 0, True, post=lambda r: r[0])
    add("kthvalue", hostile(dt), 2, post=lambda r: r[0])
    add("median", t(dt, 5))
    add("nanmedian", t(dt, 4))
    add("nansum", hostile(dt), [0])
    add("count_nonzero", x)
    add("count_nonzero.dim_IntList", x, [0, 1])
for dt in F:
    x = t(dt, 2, 3, 4)
    for root in ("var", "std"):
        for dims in ([1], [0, 2], None, [0, 1, 2], []):
            for corr in (None, 0, 1, 2, 0.5, 30):
                add(root + ".correction", x, dims, correction=corr)
                add(root + "_mean.correction", x, dims, correction=corr,
                    keepdim=True)
            for unbiased in (False, True):
                add(root + ".dim", x, dims, unbiased, True)
                add(root + "_mean.dim", x, dims, unbiased)
        add(root, x, False)
        add(root + "_mean", x, True)
        add(root + ".correction", t(dt), [], correction=0)
        add(root + ".correction", t(dt, 1), [0])
        add(root + ".correction", t(dt, 0, 2), [0])
        add(root + ".correction", hostile(dt), [0])
    for ord in (0, 1, 2, 3, -1, inf, -inf, 0.5, 2.5):
        for dims in (None, [1], [0, 2], []):
            add("linalg_vector_norm", x, ord, dims)
            add("linalg_vector_norm", x, ord, dims, True)
        add("linalg_vector_norm", hostile(dt), ord)
        add("norm.ScalarOpt_dim", x, ord, [1])
        add("norm.ScalarOpt_dim", x, ord, [0, 1], True)
        add("norm.Scalar", x, ord)
    add("linalg_vector_norm", x, 2, [1], dtype=f64)
    add("norm.ScalarOpt_dim", x, None, [1])
    add("frobenius_norm.dim", x, [0, 1])
    for dim in (0, 1, -1):
        add("cosine_similarity", t(dt, 3, 4), t(dt, 3, 4), dim)
    add("cosine_similarity", torch.zeros(3, 4, dtype=dt), t(dt, 3, 4), 1, 1e-3)
    add("cosine_similarity", t(dt, 2, 3, 4), t(dt, 3, 4), 2)
    add("cosine_similarity", t(dt, 2, 3, 4), t(dt, 4), -1)
    add("cosine_similarity", t(dt, 2, 1, 4), t(dt, 1, 3, 4), 1)
for op in ("cumsum_", "cumprod_"):
    twin(op, t(f32, 2, 3), 1)
    twin(op, t(i64, 2, 3), 0)
for dt in (f32, f64, f16, i64, i32, u8, b8):
    for x in (t(dt, 3, 5), v(dt, 2, 1, 2, 0, 1).reshape(1, 5)):
        for dim in (0, 1, -1):
            for largest in (True, False):
                add("topk", x, 1, dim, largest, post=lambda r: r[0])
                add("topk", torch.arange(15).reshape(3, 5).flip(0).to(dt), 2,
                    dim, largest)
                add("sort", x, dim, largest)
                add("sort.stable", x, stable=True, dim=dim, descending=largest)
                add("argsort", x, dim, largest)
                add("argsort.stable", x, stable=True, dim=dim,
                    descending=largest)
        add("topk", t(dt, 3, 5), 3, 1, True, True, post=lambda r: r[0])
        add("topk", t(dt, 3, 5), 0, 1)
        add("msort", x)
    add("sort", hostile(dt), post=lambda r: r[0])
    add("sort", hostile(dt), 0, True, post=lambda r: r[0])
    add("sort.stable", hostile(dt), stable=True)
    add("sort.stable", hostile(dt), stable=True, descending=True)
    add("sort", t(dt), 0)
    add("sort", t(dt, 0, 2), 0)
    add("topk", t(dt), 1)
    add("topk", hostile(dt), 2, post=lambda r: r[0])
add("topk", v(f32, nan, 1, nan, 2), 3, post=lambda r: r[0])
add("topk", v(f32, nan, 1, 3, 2), 2, 0, False, post=lambda r: r[0])
add("sort", v(i64, 2**62, 2**62 + 1, -2**63, 2**63 - 1, 2**62 - 1), 0)
add("sort", v(f32, 0.0, -0.0, 0.0), 0)
for right in (False, True):
    for out32 in (False, True):
        edges = v(f32, -1, 0, 0.5, 2)
        add("bucketize.Tensor", t(f32, 2, 3), edges, out_int32=out32,
            right=right)
        add("bucketize.Tensor", v(f32, nan, inf, -inf, 0, 2), edges,
            right=right)
        add("bucketize.Scalar", 0.5, edges, right=right)
        add("bucketize.Tensor", t(i64, 4), v(i64, -1, 0, 1, 1, 2), right=right)
        add("bucketize.Tensor", t(f32, 2), v(f32).reshape(0), right=right)
        add("searchsorted.Tensor", v(f32, 1, 2, 2, 5), t(f32, 2, 2, hi=6),
            out_int32=out32, right=right)
        add("searchsorted.Tensor", t(f32, 2, 4).sort(-1)[0], t(f32, 2, 3),
            right=right)
        add("searchsorted.Scalar", v(f32, 1, 2, 5), 2, right=right)
        add("searchsorted.Tensor", v(f32, 2, 1, 5), t(f32, 3), right=right,
            sorter=v(i64, 1, 0, 2))
    add("searchsorted.Tensor", v(f32, 1, 2, 2, 5), t(f32, 2),
        side="right" if right else "left")

from aten_cases_more import *  # noqa: E402, F401, F403
