# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Hull authors
"""What the generators of tests/ops share: tensors of every element type, their
text, and one graph per case."""

import math
import pathlib
import zlib

import ml_dtypes
import numpy as np
import torch

NAN, INF = float("nan"), float("inf")
DT = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16,
      "bf16": torch.bfloat16, "i64": torch.int64, "i32": torch.int32,
      "i16": torch.int16, "u8": torch.uint8, "i8": torch.int8,
      "u16": torch.uint16, "u32": torch.uint32, "u64": torch.uint64,
      "bool": torch.bool, "f8e4m3fn": torch.float8_e4m3fn,
      "f8e5m2": torch.float8_e5m2, "c64": torch.complex64}
NAMES = {v: k for k, v in DT.items()}
FLOATS = ("f64", "f32", "f16", "bf16", "f8e4m3fn", "f8e5m2", "f8e4m3fnuz",
          "f8e5m2fnuz", "f8e8m0", "f4e2m1")
# What PyTorch has no arithmetic for.
SMALL = {"f8e4m3fn": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2,
         "f8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
         "f8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
         "f8e8m0": ml_dtypes.float8_e8m0fnu, "f4e2m1": ml_dtypes.float4_e2m1fn}
SLACK = "f64:1e-12,f32:2e-6,f16:1e-3,bf16:8e-3"
HOSTILE = [NAN, INF, -INF, -0.0, 0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -3.25,
           1e-3, 40.0]
# Results, where not one.
OUT = {"topk": 2, "lstm_int": 3, "lstm": 3, "gru": 2, "rnn": 2, "cum_max": 2,
       "lstm_steps": 3, "gru_steps": 2, "rnn_steps": 2, "cum_min": 2, "unique": 4, "text_split": 2}
MARK = "// Written by scripts/gen_op_tests.py."
files, exact = {}, set()


class Raw(str):
    """Attribute text that is written as it is: dtypes, literals."""


class Lit:
    """A tensor of any element type: plain numbers in row-major order."""

    def __init__(self, dtype, numbers, *shape):
        self.dtype, self.numbers = dtype, list(numbers)
        self.shape = shape or (len(self.numbers),)


class Text(Lit):
    """A tensor of strings."""

    def __init__(self, numbers, *shape):
        super().__init__("string", numbers, *shape)


def quoted(s):
    out = s.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + out.replace("\n", "\\n").replace("\0", "\\x00") + '"'


def bits(dt):
    return int(dt.lstrip("iu"))


def low(dt):
    return 0 if dt[0] == "u" else -2**(bits(dt) - 1)


def high(dt):
    return 2**bits(dt) - 1 if dt[0] == "u" else 2**(bits(dt) - 1) - 1


def wrap(dt, v):
    """An integer as its type holds it."""
    v = int(v) % 2**bits(dt)
    return v - 2**bits(dt) if v > high(dt) else v


def narrow(dt, v):
    """A number as the float type holds it."""
    if dt == "f64":
        return float(v)
    if dt == "f4e2m1" and v != v:
        return -0.0
    if dt in SMALL:
        with np.errstate(all="ignore"):
            return float(np.array(v, np.float64).astype(SMALL[dt]))
    return float(torch.tensor(v, dtype=torch.float64).to(DT[dt]))


def number(v, dt):
    if dt == "string":
        return quoted(v)
    if dt == "bool":
        return "true" if v else "false"
    if dt not in FLOATS:
        return str(int(v))
    v = float(v)
    if math.isnan(v):
        return "nan"
    if math.isinf(v):
        return "inf" if v > 0 else "-inf"
    return repr(v) if dt == "f64" else str(np.float32(v))


def values(t):
    if isinstance(t, Lit):
        return "[" + ", ".join(number(v, t.dtype) for v in t.numbers) + "]"
    dt = NAMES[t.dtype]
    if dt == "c64":
        t, dt = torch.view_as_real(t), "f32"
    if dt in FLOATS:
        t = t.to(torch.float64)
    return "[" + ", ".join(number(v, dt) for v in t.reshape(-1).tolist()) + "]"


def kind(t):
    if isinstance(t, Lit):
        return f"{t.dtype}[{','.join(str(n) for n in t.shape)}]"
    return f"{NAMES[t.dtype]}[{','.join(str(d) for d in t.shape)}]"


def attr(v):
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, Raw):
        return str(v)
    if isinstance(v, str):
        return quoted(v)
    if isinstance(v, (list, tuple)):
        return "[" + ",".join(attr(x) for x in v) + "]"
    return number(v, "f64") if isinstance(v, float) else str(v)


def text(op, body):
    files.setdefault(op, []).append(body)


def case(op, ins, want, weights=(), error=None, **attrs):
    """One graph of one node. ins: tensors, None is a missing operand; operands
    listed in `weights` are holes. want: the results (error: None)."""
    n_out = len(want) if isinstance(want, (list, tuple)) else OUT.get(op, 1)
    want = [] if want is None else want
    want = want if isinstance(want, (list, tuple)) else [want]
    params, rows, body, args = [], [], [], []
    for i, t in enumerate(ins):
        name = "abcdefghijklm"[i]
        if t is None:
            args.append("_")
            continue
        args.append("%" + name)
        if i in weights:
            body.append(f'  %{name} = weight "{name}" : {kind(t)}')
            rows.append(f'  // input: "{name}" = {values(t)}')
        else:
            params.append(f"%{name}: {kind(t)}")
            rows.append(f"  // input: %{name} = {values(t)}")
    names = [f"%r{i}" for i in range(n_out)]
    for n, t in zip(names, want):
        rows.append(f"  // expect: {n} = {values(t)}")
    line = f"  {', '.join(names)} = {op}"
    if args:
        line += " " + ", ".join(args)
    if attrs:
        line += " {" + ", ".join(f"{k.rstrip('_')}={attr(v)}"
                                 for k, v in attrs.items()) + "}"
    if want:
        line += " : " + ", ".join(kind(t) for t in want)
    if error:
        line += f"  // error: {error}"
    n = len(files.get(op, []))
    text(op, f"graph @t{n}({', '.join(params)}) {{\n" + "\n".join(
        rows + body + [line]) + f"\n  return {', '.join(names)}\n}}\n")


def whole(op, params, rows, body, results):
    """A graph by hand; rows: (kind, name, tensor). What is refused is the line
    of the op."""
    n = len(files.get(op, []))
    for row in [r for r in rows if r[0] == "error"]:
        rows.remove(row)
        at = body.index("\n", body.index(f" = {op}"))
        body = f"{body[:at]}  // error: {row[2]}{body[at:]}"
    text(op, f"graph @t{n}({params}) {{\n" + "".join(
        f"  // {k}: {name} = {t if isinstance(t, str) else values(t)}\n"
        for k, name, t in rows) + body + f"  return {results}\n}}\n")


def of(dt, v, *shape):
    t = torch.tensor(v, dtype=torch.float64)
    t = t.to(DT[dt]) if dt in FLOATS else t.to(torch.int64).to(DT[dt])
    return t.reshape(shape) if shape else t


def rand(dt, *shape):
    if dt not in FLOATS:
        return torch.randint(0 if dt[0] in "ub" else -9, 9, shape).to(DT[dt])
    t = torch.randn(shape, dtype=torch.float64)
    return ((t * 64).round() / 64).to(DT[dt])


def d(t):
    return t.to(torch.float64)


def to(dt, t):
    return t.to(DT[dt])


def npt(a):
    return torch.from_numpy(np.array(a, order="C"))


def run(groups):
    """The cases of every group; one does not shift the numbers of another."""
    for group in groups:
        torch.manual_seed(zlib.crc32(group.__name__.encode()))
        group()


def write(only):
    folder = pathlib.Path("tests/ops")
    for op, graphs in files.items():
        if only and op not in only:
            continue
        head = "// test: run" + ("" if op in exact else " tol=" + SLACK)
        path = folder / f"{op}.ir"
        if path.exists() and MARK not in path.read_text():
            print(f"{path} is by hand: kept")
            continue
        path.write_text(f"{head}\n{MARK}\n" + "".join(graphs))
