#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Hull authors
"""Narrow types on the cpu backend, measured against the machine itself.

    scripts/bench.py --bench lowp            or, with a Python that has onnx:
    scripts/bench_lowp.py --hull build/hull [--threads 1,2] [--gb 1.2]

gemm    [128, k] x [k, n] in f32, in bf16 (activations too) and u8 x s8: the
        processes take turns, a ratio is the median over rounds of f32's time
        to the other's in the same round (wanted: bf16 1.9, u8s8 3.6)
decode  one step of a language model, m = 1: linear layers with GB of weights
        in f16, bf16, int8 by column or int4 by groups of 32 (5 bits a weight
        with their f32 scales), none of which a cache holds; the weights' bytes
        per second beside what the read loop of `hull bench --roofline` reads of
        memory in the same process (wanted for f16: 88 %)

Weights are random; a layer's numbers repeat in the next one, their bytes do
not lie in the same place. Writes bench_lowp.json into the build folder.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SHAPES = [(128, 768, 768), (128, 3072, 768), (128, 768, 3072)]
HIDDEN, INNER, BLOCK = 2048, 5632, 32
LINEARS = [(HIDDEN, HIDDEN)] * 4 + [(HIDDEN, INNER)] * 2 + [(INNER, HIDDEN)]
BITS = {"f16": 16, "bf16": 16, "int8": 8, "int4": 4 + 32 // BLOCK}


def narrow_bf16(a):
    """The bytes of a in bf16, cut."""
    import numpy as np
    return (np.ascontiguousarray(a, np.float32).view(np.uint32) >> 16).astype(
        np.uint16)


class Maker:
    """An ONNX model whose weights lie in a file beside it."""

    def __init__(self, path):
        from onnx import helper
        self.h, self.path = helper, path
        self.nodes, self.weights = [], []
        self.data = open(path[:-5] + ".bin", "wb")

    def weight(self, name, code, shape, raw):
        from onnx import TensorProto
        t = TensorProto(name=name, data_type=code, dims=shape,
                        data_location=TensorProto.EXTERNAL)
        at = -self.data.tell() % 64
        self.data.write(bytes(at))
        for k, v in (("location", os.path.basename(self.data.name)),
                     ("offset", self.data.tell()), ("length", len(raw))):
            t.external_data.add(key=k, value=str(v))
        self.data.write(raw)
        self.weights.append(t)
        return name

    def node(self, op, inputs, output, **attrs):
        self.nodes.append(self.h.make_node(op, inputs, [output], **attrs))
        return output

    def save(self, x, y):
        from onnx import save
        self.data.close()
        g = self.h.make_graph(self.nodes, "g", [self.h.make_tensor_value_info(
            *x)], [self.h.make_tensor_value_info(*y)], self.weights)
        m = self.h.make_model(g, opset_imports=[self.h.make_opsetid("", 21)])
        m.ir_version = 10
        save(m, self.path)


def gemm_model(path, kind, m, n, k):
    import numpy as np
    from onnx import TensorProto as T
    w = np.random.default_rng(1).standard_normal((k, n)) / k ** 0.5
    mk = Maker(path)
    if kind == "u8s8":
        q = np.rint(w * 127 / np.abs(w).max()).astype(np.int8)
        mk.weight("w", T.INT8, q.shape, q.tobytes())
        mk.weight("z", T.UINT8, [], bytes([128]))
        mk.node("MatMulInteger", ["x", "w", "z"], "y")
        mk.save(("x", T.UINT8, [m, k]), ("y", T.INT32, [m, n]))
        return
    code = T.FLOAT if kind == "f32" else T.BFLOAT16
    raw = w.astype(np.float32) if kind == "f32" else narrow_bf16(w)
    mk.weight("w", code, w.shape, raw.tobytes())
    mk.node("MatMul", ["x", "w"], "y")
    mk.save(("x", code, [m, k]), ("y", code, [m, n]))


def linear(mk, kind, name, w, x):
    """x w, with w [k, n] stored as `kind`."""
    import numpy as np
    from onnx import TensorProto as T
    k, n = w.shape
    wide = name + ".f32"
    if kind in ("f16", "bf16"):
        code = T.FLOAT16 if kind == "f16" else T.BFLOAT16
        raw = w.astype(np.float16) if kind == "f16" else narrow_bf16(w)
        mk.weight(name, code, w.shape, raw.tobytes())
        mk.node("Cast", [name], wide, to=T.FLOAT)
    elif kind == "int8":
        s = (np.abs(w).max(0) / 127).astype(np.float32)
        mk.weight(name, T.INT8, w.shape,
                  np.rint(w / s).astype(np.int8).tobytes())
        mk.weight(name + ".s", T.FLOAT, [n], s.tobytes())
        mk.node("DequantizeLinear", [name, name + ".s"], wide, axis=1)
    else:
        b = w.reshape(k // BLOCK, BLOCK, n)
        s = (np.abs(b).max(1) / 7).astype(np.float32)
        q = np.rint(b / s[:, None]).astype(np.int8).view(np.uint8).ravel() & 15
        mk.weight(name, T.INT4, w.shape, (q[::2] | q[1::2] << 4).tobytes())
        mk.weight(name + ".s", T.FLOAT, s.shape, s.tobytes())
        mk.node("DequantizeLinear", [name, name + ".s"], wide, axis=0,
                block_size=BLOCK)
    return mk.node("MatMul", [x, wide], name + ".y")


def decode_model(path, kind, gb):
    """Layers of seven products; returns the bytes of their weights."""
    import numpy as np
    from onnx import TensorProto as T
    r = np.random.default_rng(2)
    ws = [(r.standard_normal(s, np.float32) / s[0] ** 0.5) for s in LINEARS]
    each = sum(w.size for w in ws) * BITS[kind] // 8
    layers = max(1, round(gb * 1e9 / each))
    mk, x = Maker(path), "x"
    for i in range(layers):
        ys = [linear(mk, kind, f"l{i}.{j}", w, x)
              for j, w in enumerate(ws[:4])]
        a = mk.node("Add", ys[:2], f"l{i}.a")
        b = mk.node("Add", ys[2:], f"l{i}.b")
        h = mk.node("Tanh", [mk.node("Add", [a, b], f"l{i}.c")], f"l{i}.h")
        g, u = (linear(mk, kind, f"l{i}.{4 + j}", ws[4 + j], h)
                for j in range(2))
        g = mk.node("Mul", [mk.node("Sigmoid", [g], f"l{i}.g"), u], f"l{i}.m")
        x = mk.node("Add", [linear(mk, kind, f"l{i}.6", ws[6], g), x],
                    f"l{i}.x")
    mk.node("Identity", [x], "y")
    mk.save(("x", T.FLOAT, [1, HIDDEN]), ("y", T.FLOAT, [1, HIDDEN]))
    return layers * each


def bench_gemm(o, threads):
    from bench import Child, close_all, in_turns
    for m, n, k in SHAPES:
        children = {}
        for kind in ("f32", "bf16", "u8s8"):
            path = os.path.join(o.folder, f"{kind}-{m}x{n}x{k}.onnx")
            gemm_model(path, kind, m, n, k)
            children[kind] = Child("hull", [
                o.hull, "bench", path, "--serve", "--no-cache", "--threads",
                str(threads), "--set", "min_block=1"])
        taken = in_turns(o, children, lambda c: c.run_ms(o.seconds))
        close_all(children)
        for kind, wanted in (("bf16", 1.9), ("u8s8", 3.6)):
            ratios = [a / b for a, b in zip(taken["f32"], taken[kind])]
            row(o, f"gemm {m}x{n}x{k}", kind, threads, taken[kind], "ms",
                statistics.median(ratios), wanted, "of f32")


def bench_decode(o, threads):
    for kind in o.kinds:
        path = os.path.join(o.folder, f"decode-{kind}.onnx")
        n_bytes = decode_model(path, kind, o.gb)
        ms, parts = [], []
        for _ in range(o.rounds):
            out = subprocess.run(
                [o.hull, "bench", path, "--no-cache", "--threads",
                 str(threads), "--rounds", "1", "--seconds", str(o.seconds),
                 "--roofline", "--profile", "--json"], capture_output=True,
                text=True, check=True).stdout
            facts = json.loads(out)
            ms.append(facts["latency"]["median_ms"])
            parts.append(n_bytes / ms[-1] * 1e-6 /
                         facts["profile"]["peak"]["gbps"])
        os.remove(path[:-5] + ".bin")
        os.remove(path)
        row(o, f"decode {n_bytes * 1e-9:.2f} GB", kind, threads, ms, "ms",
            statistics.median(parts), 0.88 if kind == "f16" else None,
            "of read")


def row(o, name, kind, threads, values, unit, ratio, wanted, of):
    o.rows.append({"bench": "lowp", "model": name, "kind": kind,
                   "threads": threads, "hull": statistics.median(values),
                   "unit": unit, "ratio": ratio, "wanted": wanted, "of": of})
    print(f"  {name:18} {kind:5} {threads} threads: "
          f"{statistics.median(values):9.3f} {unit}, {ratio:.2f} {of}"
          f"{'' if wanted is None else f' (wanted {wanted})'}", flush=True)


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--hull", required=True)
    p.add_argument("--build", help="folder of models and results (default: "
                   "hull's)")
    p.add_argument("--threads", default="1,2")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=float, default=0.5)
    p.add_argument("--gb", type=float, default=1.2, help="of weights")
    p.add_argument("--kinds", default="f16,bf16,int8,int4")
    p.add_argument("--part", default="gemm,decode")
    o = p.parse_args()
    o.build = o.build or os.path.dirname(os.path.abspath(o.hull))
    o.folder = os.path.join(o.build, "bench-lowp")
    os.makedirs(o.folder, exist_ok=True)
    o.rows, o.kinds = [], o.kinds.split(",")
    sys.path.insert(0, HERE)
    for threads in [int(t) for t in o.threads.split(",")]:
        for part in o.part.split(","):
            globals()["bench_" + part](o, threads)
    with open(os.path.join(o.build, "bench_lowp.json"), "w") as f:
        json.dump(o.rows, f, indent=1)


if __name__ == "__main__":
    main()
