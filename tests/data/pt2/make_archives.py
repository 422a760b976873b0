#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Hull authors
"""Makes the archives of tests/archives.c with the PyTorch that runs it:

    make_archives.py              # every model, as <model>.<version>.pt2.gz
    make_archives.py --core       # and after run_decompositions()
    make_archives.py --io         # and their inputs and expected outputs
    make_archives.py net state    # these models

Stack traces and sample inputs are taken out: they hold the paths of the
exporting machine, and nothing reads them. The compression is for the sake of
the repository.
"""
import gzip
import json
import os
import struct
import sys
import zipfile

import torch
from torch import nn
from torch.export import Dim, export, save

HERE = os.path.dirname(os.path.abspath(__file__))
CONTROL = torch._higher_order_ops


def fill(m):
    """The same numbers whatever the version: no generator is asked."""
    with torch.no_grad():
        for k, (_, p) in enumerate(sorted(m.state_dict().items())):
            if p.is_floating_point():
                i = torch.arange(p.numel(), dtype=torch.float64)
                p.copy_((torch.sin(i * 1.7 + k) / 2 + 0.6).reshape(p.shape))
    return m.eval()


def ramp(*shape, scale=0.3, shift=0.0):
    n = 1
    for d in shape:
        n *= d
    i = torch.arange(n, dtype=torch.float32)
    return torch.sin(i * scale + shift).reshape(shape)


class Net(nn.Module):
    """Convolution, batch norm, a tied weight, a buffer that no state dict
    holds, a constant."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 3, 3, padding=1)
        self.bn = nn.BatchNorm2d(3)
        self.first = nn.Linear(3, 3, bias=False)
        self.last = nn.Linear(3, 3, bias=False)
        self.last.weight = self.first.weight
        self.register_buffer("offset", torch.tensor([1.0, 2.0, 3.0]),
                             persistent=False)

    def forward(self, x):
        y = self.bn(self.conv(x)).relu().mean((2, 3))
        y = self.last(torch.tanh(self.first(y))) + self.offset
        return y * torch.tensor([0.5, 0.25, 2.0])


class State(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 4)
        self.register_buffer("acc", torch.zeros(4))
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.acc.add_(self.fc(x).sum(0))
        self.steps.add_(1)
        return self.acc / self.steps


class Cond(nn.Module):
    def __init__(self):
        super().__init__()
        self.yes = nn.Linear(3, 4)
        self.no = nn.Linear(3, 4)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.yes(x).relu(),
                          lambda x: self.no(x) - 1, (x,))


class Tree(nn.Module):
    """Containers, keywords, and values that the exporter burns in."""

    def forward(self, a, pair, *rest, scale, flag=True, mode="sum", none=None):
        y = a * pair["b"][0] + pair["a"] - rest[1] * rest[0]
        if flag and mode == "sum":
            y = y * scale
        return {"z": y, "a": [pair["b"][1] - 1, None, 7], "same": a}


class While(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, n, x):
        return CONTROL.while_loop(lambda n, x: n < 5,
                                  lambda n, x: (n + 1, self.fc(x).tanh()),
                                  (n, x))


class Map(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, xs, y):
        return CONTROL.map(lambda x, y: self.fc(x) + y, xs, y)


class Scan(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, init, xs):
        def step(carry, x):
            carry = torch.tanh(self.fc(carry) + x)
            return carry, carry.clone() * 2
        return CONTROL.scan(step, init, xs, dim=0)


class Nested(nn.Module):
    """A branch that loops, and one that branches again."""

    def forward(self, x, y):
        def loop(x, y):
            return CONTROL.while_loop(lambda x: x.sum() < 40,
                                      lambda x: (x * 2 + 1,), (x,))[0]

        def again(x, y):
            return torch.cond(y.sum() > 0, lambda x: x + 1, lambda x: x - 1,
                              (x,))
        return torch.cond(x.sum() > 0, loop, again, (x, y))


class Regions(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        with torch.no_grad():
            y = self.fc(x)
        with torch.autocast("cpu", enabled=False):
            z = y.sum(1)
        return y, z


class Autocast(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 4)
        self.conv = nn.Conv1d(4, 2, 1)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.fc(x)
            z = self.conv(y.T) @ x
            s = torch.softmax(z, -1) + torch.cat([z, x[:2]]).sum(0)
            return y, z, s, y.prod(1)


class Guards(nn.Module):
    """Bounds, multiples and relations of sizes."""

    def forward(self, x, y):
        torch._check(x.shape[0] >= 3)
        torch._check(x.shape[0] <= 9)
        torch._check(y.shape[0] % 4 == 0)
        torch._check(y.shape[0] >= x.shape[0])
        return x.sum(0) + y.sum(0)


class Derived(nn.Module):
    def forward(self, x, y):
        return x + y[1:]


class InputMutation(nn.Module):
    def forward(self, x):
        x.mul_(2)
        return x + 1


class Views(nn.Module):
    """In-place operators on views of a buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(3, 4))

    def forward(self, x):
        old = self.cache.t()
        top, rest = self.cache.split([1, 2])
        self.cache[1].copy_(x)
        self.cache[:, 2] += 1
        self.cache[:, ::2].mul_(2)
        old[0].add_(x[:3])
        self.cache.view(-1)[-3:-1] = 7.0
        rest.unsqueeze(0)[0, 0].sub_(top[0])
        self.cache.permute(1, 0)[1:3].clamp_(max=6.0)
        return self.cache * 2, old + 1, rest, x.flatten()


class Picks(nn.Module):
    """A size that depends on data."""

    def forward(self, x):
        return x[x > 0] * 2


class Nonzero(nn.Module):
    def forward(self, x):
        i = torch.nonzero(x)
        return i, x.sum() + i.shape[0]


class Item(nn.Module):
    def forward(self, x, n):
        k = n.item()
        torch._check(k >= 1)
        torch._check(k <= x.shape[0])
        return x[:k] + 1, torch.zeros(k)


class CondSize(nn.Module):
    """A branch that sizes decide."""

    def forward(self, x):
        return torch.cond(x.shape[0] > 4, lambda x: x.sin() + x.shape[0],
                          lambda x: x.cos(), (x,))


class Number(nn.Module):
    """An int argument that may change."""

    def forward(self, x, k):
        return x[:k] * k, k + 1


class Constants(nn.Module):
    def forward(self, x):
        return x + 1, True, "text", 2.5, None, 3


class Repeats(nn.Module):
    def forward(self, x, r):
        return (torch.repeat_interleave(x, r, dim=0),
                torch.masked_select(x, x > 0), x[x[:, 0] > 0, 1],
                torch.unique(r, return_counts=True), torch.argwhere(r > 1))


class Cache(nn.Module):
    """A cache that is written at a place which data give."""

    def __init__(self):
        super().__init__()
        self.register_buffer("k", torch.zeros(1, 6, 4))
        self.register_buffer("v", torch.zeros(1, 6, 4))
        self.register_buffer("n", torch.zeros(1, dtype=torch.int64))

    def forward(self, x, at):
        p = at.item()
        torch._check(p >= 0)
        torch._check(p < 6)
        self.k.index_copy_(1, self.n, x)
        self.n.add_(1)
        self.v[:, p:p + 1] = x * 2
        return self.k.sum(1), self.v * 1


N = Dim("n", min=1, max=64)
L = Dim("l", min=2, max=30)
ONE = torch.tensor(1)

# name: (model, runs of inputs, keywords, dynamic shapes, options)
# An input set that must be refused stands behind the runs, after None.
MODELS = {
    "net": (Net, [(ramp(2, 2, 4, 4),), (ramp(5, 2, 4, 4, shift=1),)], {},
            ({0: N},)),
    "state": (State, [(ramp(2, 3),), (ramp(2, 3),), (ramp(2, 3, shift=2),)],
              {}, None),
    "cond": (Cond, [(ramp(2, 3),), (-ramp(2, 3),)], {}, None),
    "tree": (Tree, [(ramp(2, 3), {"b": [ramp(3), ramp(4)], "a": ramp(2, 1)},
                     ramp(2, 3, shift=3), ramp(3, shift=4))],
             {"scale": ramp(1, shift=1), "flag": True, "mode": "sum",
              "none": None}, None),
    "while": (While, [(torch.tensor(0), ramp(2, 3)),
                      (torch.tensor(3), ramp(2, 3)),
                      (torch.tensor(9), ramp(2, 3))], {}, None),
    "map": (Map, [(ramp(4, 2, 3), ramp(3)), (ramp(6, 2, 3), ramp(3))], {},
            ({0: N}, None)),
    "scan": (Scan, [(ramp(3), ramp(4, 3)), (ramp(3), ramp(7, 3))], {},
             (None, {0: N})),
    "nested": (Nested, [(ramp(3), ramp(3)), (-ramp(3), ramp(3)),
                        (-ramp(3), -ramp(3))], {}, None),
    "regions": (Regions, [(ramp(2, 3),)], {}, None),
    "autocast": (Autocast, [(ramp(2, 3),)], {}, None),
    "guards": (Guards, [(ramp(4, 3), ramp(8, 3)), (ramp(9, 3), ramp(12, 3)),
                        None, (ramp(2, 3), ramp(8, 3)),
                        (ramp(10, 3), ramp(12, 3)), (ramp(4, 3), ramp(7, 3)),
                        (ramp(5, 3), ramp(4, 3))], {},
               ({0: Dim.AUTO}, {0: Dim.AUTO}),
               {"prefer_deferred_runtime_asserts_over_guards": True}),
    "derived": (Derived, [(ramp(4), ramp(5)), (ramp(29), ramp(30)), None,
                          (ramp(4), ramp(4)), (ramp(31), ramp(32))], {},
                ({0: L}, {0: L + 1})),
    "mutation": (InputMutation, [(ramp(2, 3),)], {}, None),
    "views": (Views, [(ramp(4),), (ramp(4, shift=1),)], {}, None),
    "picks": (Picks, [(ramp(30),), (ramp(30, shift=2),), (-abs(ramp(30)),)],
              {}, None),
    "nonzero": (Nonzero, [(ramp(4).relu(),), (ramp(4, scale=2).relu(),)], {},
                None),
    "condsize": (CondSize, [(ramp(6, 2),), (ramp(3, 2),)], {},
                 ({0: Dim("m", min=2, max=20)},)),
    "number": (Number, [(ramp(5, 2), 3), (ramp(5, 2), 5), None,
                        (ramp(5, 2), 6)], {}, (None, Dim.DYNAMIC)),
    "constants": (Constants, [(ramp(3),)], {}, None),
    "repeats": (Repeats, [(ramp(5, 2), torch.tensor([1, 0, 2, 3, 1])),
                          (ramp(5, 2, shift=3),
                           torch.tensor([0, 0, 0, 0, 0]))], {}, None),
    "cache": (Cache, [(ramp(1, 1, 4), torch.tensor(2)),
                      (ramp(1, 1, 4, shift=1), torch.tensor(5)), None,
                      (ramp(1, 1, 4), torch.tensor(6))], {}, None),
    "item": (Item, [(ramp(5, 2), torch.tensor(3)),
                    (ramp(5, 2), torch.tensor(5)), None,
                    (ramp(5, 2), torch.tensor(6)),
                    (ramp(5, 2), torch.tensor(0))], {}, None),
}


def stripped(path):
    with zipfile.ZipFile(path) as z:
        members = [(n, z.read(n)) for n in z.namelist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as z:
        for name, data in members:
            if "/models/" in name or name == "serialized_exported_program.json":
                model = json.loads(data)
                strip_graph(model["graph_module"]["graph"])
                data = json.dumps(model, separators=(",", ":")).encode()
            if "sample_inputs" not in name and "example_inputs" not in name:
                z.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)
    with open(path, "rb") as f, open(path + ".gz", "wb") as out:
        out.write(gzip.compress(f.read(), 9, mtime=0))
    os.remove(path)


def strip_graph(graph):
    for node in graph["nodes"]:
        node["metadata"] = {}
        for arg in node["inputs"]:
            if "as_graph" in arg["arg"]:
                strip_graph(arg["arg"]["as_graph"]["graph"])


DTYPES = {torch.float32: "F32", torch.int64: "I64", torch.bfloat16: "BF16",
          torch.float64: "F64", torch.bool: "BOOL"}


def write_tensors(path, tensors):
    """A safetensors file, without the package."""
    header, data = {}, b""
    for name, t in tensors.items():
        view = t.detach().contiguous()
        raw = bytes(view.reshape(-1).view(torch.uint8).tolist())
        header[name] = {"dtype": DTYPES[t.dtype], "shape": list(t.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def leaves(tree, kinds):
    """What of a tree Hull takes or gives: numbers as tensors of rank 0."""
    return [v if isinstance(v, torch.Tensor) else
            torch.tensor(v, dtype=torch.float64 if type(v) is float else None)
            for v in torch.utils._pytree.tree_leaves(tree)
            if isinstance(v, torch.Tensor) or type(v) in kinds]


def write_io(name, make, runs, keywords):
    model, tensors = fill(make()), {}
    refused = 0
    for k, args in enumerate(runs):
        if args is None:
            refused = k
            continue
        suffix = f".{k}" if not refused else f".bad{k - refused - 1}"
        for i, t in enumerate(leaves((args, keywords), [int])):
            tensors[f"input_{i}{suffix}"] = t.clone()
        if refused:
            continue
        before = [t.clone() for t in leaves((args, keywords), [int])]
        with torch.no_grad():
            results = leaves(model(*args, **keywords), [int, bool, float])
        after = leaves((args, keywords), [int])
        results += [new for new, old in zip(after, before)
                    if not torch.equal(new, old)]
        for i, t in enumerate(results):
            tensors[f"output_{i}{suffix}"] = t.clone()
    write_tensors(os.path.join(HERE, f"{name}.safetensors"), tensors)


def make_one(name, version, decompose):
    make, runs, keywords, dynamic, *options = MODELS[name]
    if isinstance(dynamic, tuple) and keywords:
        raise ValueError("dynamic shapes with keywords")
    program = export(fill(make()), runs[0], keywords or None,
                     dynamic_shapes=dynamic,
                     **(options[0] if options else {}))
    if decompose:
        program = program.run_decompositions()
    form = ".core" if decompose else ""
    path = os.path.join(HERE, f"{name}{form}.{version}.pt2")
    save(program, path)
    stripped(path)


def main():
    version = ".".join(torch.__version__.split("+")[0].split(".")[:2])
    names = [a for a in sys.argv[1:] if not a.startswith("--")]
    for name in names or MODELS:
        for decompose in (False, True):
            if decompose and "--core" not in sys.argv:
                continue
            try:
                make_one(name, version, decompose)
            except Exception as e:  # an exporter too old for it
                print(f"{name} {version}: {type(e).__name__}: {str(e)[:200]}",
                      file=sys.stderr)
        if "--io" in sys.argv:
            write_io(name, *MODELS[name][:3])


if __name__ == "__main__":
    main()
