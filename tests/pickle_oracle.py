#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Hull authors
"""Checkpoints of PyTorch as Python's own pickle reads them and as Hull does.

    tests/pickle_oracle.py HULL [FILE-OR-FOLDER...]

Python's unpickler runs with recorders in the place of every global, so that
nothing of torch is needed or called. Names, dtypes, shapes, sizes and whether
a tensor is strided are compared with `hull inspect --json`. Checkpoints of
many kinds are made first, by Python's pickler. Standard library only.
"""
import collections
import io
import json
import os
import pickle
import struct
import subprocess
import sys
import tempfile
import types
import zipfile

LEGACY_MAGIC = 0x1950a86a20f9469cfc6c
# torch's word for a storage -> our dtype, bytes of an element
STORAGES = {
    "DoubleStorage": ("f64", 8), "FloatStorage": ("f32", 4),
    "HalfStorage": ("f16", 2), "BFloat16Storage": ("bf16", 2),
    "LongStorage": ("i64", 8), "IntStorage": ("i32", 4),
    "ShortStorage": ("i16", 2), "CharStorage": ("i8", 1),
    "ByteStorage": ("u8", 1), "BoolStorage": ("bool", 1),
    "ComplexFloatStorage": ("c64", 8), "ComplexDoubleStorage": ("c128", 16),
    "UntypedStorage": (None, 1),
}
DTYPES = {"float32": ("f32", 4), "float8_e4m3fn": ("f8e4m3fn", 1),
          "float8_e5m2": ("f8e5m2", 1), "uint16": ("u16", 2),
          "uint32": ("u32", 4), "uint64": ("u64", 8)}
WRAPPERS = ("state_dict", "model_state_dict", "model", "module", "net",
            "params", "params_ema", "ema", "weights", "generator")

Storage = collections.namedtuple("Storage", "dtype size key numel")
Tensor = collections.namedtuple("Tensor", "dtype size shape strides")


# ---- reading ---------------------------------------------------------------

def rebuild(storage, offset, shape, strides, *_):
    return Tensor(storage.dtype, storage.size, tuple(shape), tuple(strides))


def rebuild_v3(storage, offset, shape, strides, grad, hooks, dtype, *_):
    return Tensor(*DTYPES[dtype], tuple(shape), tuple(strides))


def parameter(tensor, *_):
    return tensor


class Recorder:
    """Whatever a pickle builds that is no tensor."""

    def __init__(self, *args, **kwargs):
        pass

    def __setstate__(self, state):
        pass


REBUILDERS = {
    ("torch._utils", "_rebuild_tensor"): rebuild,
    ("torch._utils", "_rebuild_tensor_v2"): rebuild,
    ("torch._utils", "_rebuild_tensor_v3"): rebuild_v3,
    ("torch._utils", "_rebuild_parameter"): parameter,
    ("torch.nn.parameter", "Parameter"): parameter,
    ("collections", "OrderedDict"): collections.OrderedDict,
}


class Reader(pickle.Unpickler):
    def find_class(self, module, name):
        if name in STORAGES or (module == "torch" and name in DTYPES):
            return name
        return REBUILDERS.get((module, name), Recorder)

    def persistent_load(self, pid):
        assert pid[0] == "storage", pid
        return Storage(*STORAGES[pid[1]], pid[2], pid[4])


def read_object(path):
    with open(path, "rb") as f:
        data = f.read()
    if data[:2] == b"PK":
        archive = zipfile.ZipFile(io.BytesIO(data))
        name, = (n for n in archive.namelist() if n.endswith("/data.pkl"))
        return Reader(io.BytesIO(archive.read(name)),
                      encoding="utf-8").load()
    stream = io.BytesIO(data)
    magic, version, info, root, _ = (
        Reader(stream, encoding="utf-8").load() for _ in range(5))
    assert magic == LEGACY_MAGIC and version == 1001 and info["little_endian"]
    return root


def state_dict(root):
    def tensors(d):
        return isinstance(d, dict) and any(
            isinstance(v, Tensor) for v in d.values())
    if tensors(root):
        return root
    for key in WRAPPERS:
        if tensors(root.get(key)):
            return root[key]
    raise ValueError("no dictionary of tensors")


def dense(t):
    """Row-major; strides of dims of one element and of empty ones are free."""
    step = 1
    if 0 in t.shape:
        return True
    for n, stride in zip(reversed(t.shape), reversed(t.strides)):
        if n != 1 and stride != step:
            return False
        step *= n
    return True


def expected(path):
    out = {}
    for name, t in state_dict(read_object(path)).items():
        if isinstance(t, Tensor):
            numel = 1
            for n in t.shape:
                numel *= n
            shape = ",".join(str(n) for n in t.shape)
            out[name] = (f"{t.dtype}[{shape}]", numel * t.size, dense(t))
    return out


def inspected(hull, path):
    run = subprocess.run([hull, "inspect", "--json", path],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if run.returncode != 0:
        raise ValueError((run.stderr + run.stdout).decode().strip())
    tensors = json.loads(run.stdout)["tensors"]
    out = {t["name"]: (t["type"], t["bytes"], t["remark"] != "strided")
           for t in tensors}
    if len(out) != len(tensors):
        raise ValueError("a name is listed twice")
    return out


# ---- making ----------------------------------------------------------------

class Made:
    """A tensor to be pickled as torch would."""

    def __init__(self, kind, key, numel, offset, shape, strides, how="v2"):
        self.storage = types.SimpleNamespace(kind=kind, key=key, numel=numel)
        self.view = (offset, tuple(shape), tuple(strides))
        self.how = how

    def __reduce__(self):
        utils = sys.modules["torch._utils"]
        hooks = collections.OrderedDict()
        args = (self.storage, *self.view, False, hooks)
        if self.how == "v1":
            return utils._rebuild_tensor, args[:4]
        if self.how == "parameter":
            inner = Made(self.storage.kind, self.storage.key,
                         self.storage.numel, *self.view)
            return utils._rebuild_parameter, (inner, True, hooks)
        if self.how == "v3":
            return (utils._rebuild_tensor_v3,
                    args + (sys.modules["torch"].float8_e5m2,))
        return utils._rebuild_tensor_v2, args


def fake_torch():
    """Modules that the pickler finds and names; they do nothing."""
    torch = sys.modules["torch"] = types.ModuleType("torch")
    utils = sys.modules["torch._utils"] = types.ModuleType("torch._utils")
    storage = sys.modules["torch.storage"] = types.ModuleType("torch.storage")
    for name in ("_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3",
                 "_rebuild_parameter"):
        def function():
            pass
        function.__module__, function.__qualname__ = "torch._utils", name
        function.__name__ = name
        setattr(utils, name, function)
    for name in STORAGES:
        home = storage if name == "UntypedStorage" else torch
        setattr(home, name, type(name, (), {"__module__": home.__name__}))

    class Dtype:
        def __reduce__(self):
            return "float8_e5m2"
    Dtype.__module__ = "torch"
    torch.float8_e5m2 = Dtype()


class Writer(pickle.Pickler):
    def __init__(self, stream, protocol, legacy):
        super().__init__(stream, protocol)
        self.legacy = legacy
        self.storages = {}

    def persistent_id(self, obj):
        if not isinstance(obj, types.SimpleNamespace):
            return None
        self.storages[obj.key] = obj
        home = "torch.storage" if obj.kind == "UntypedStorage" else "torch"
        pid = ("storage", getattr(sys.modules[home], obj.kind), obj.key,
               "cpu", obj.numel)
        return pid + (None,) if self.legacy else pid


def save(path, obj, protocol=2, legacy=False):
    stream = io.BytesIO()
    writer = Writer(stream, protocol, legacy)
    writer.dump(obj)
    stores = [(k, s, bytes(i % 251 for i in range(
        s.numel * STORAGES[s.kind][1]))) for k, s in writer.storages.items()]
    if legacy:
        with open(path, "wb") as f:
            pickle.dump(LEGACY_MAGIC, f, 2)
            pickle.dump(1001, f, 2)
            pickle.dump({"protocol_version": 1001, "little_endian": True,
                         "type_sizes": {"short": 2, "int": 4, "long": 4}}, f,
                        2)
            f.write(stream.getvalue())
            stores.sort()
            pickle.dump([k for k, _, _ in stores], f, 2)
            for _, s, data in stores:
                f.write(struct.pack("<q", s.numel) + data)
        return
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as z:
        z.writestr("archive/data.pkl", stream.getvalue())
        z.writestr("archive/byteorder", "little")
        for key, _, data in stores:
            z.writestr("archive/data/" + key, data)
        z.writestr("archive/version", "3\n")


def all_kinds():
    """A state_dict with every way in which a tensor is written."""
    d = collections.OrderedDict()
    typed = [k for k in STORAGES if k != "UntypedStorage"]
    for i, kind in enumerate(typed):
        d[f"of.{kind}"] = Made(kind, str(i), 24, 0, (2, 3, 4), (12, 4, 1))
    d["scalar"] = Made("FloatStorage", "20", 1, 0, (), ())
    d["empty"] = Made("FloatStorage", "21", 0, 0, (0, 7), (7, 1))
    d["transposed"] = Made("FloatStorage", "22", 12, 0, (3, 4), (1, 3))
    d["tied"] = Made("FloatStorage", "22", 12, 0, (12,), (1,))
    d["part"] = Made("FloatStorage", "22", 12, 5, (2, 2), (4, 1))
    d["expanded"] = Made("FloatStorage", "20", 1, 0, (5,), (0,))
    d["ones"] = Made("FloatStorage", "22", 12, 0, (1, 12, 1), (99, 1, 7))
    d["old"] = Made("HalfStorage", "23", 6, 0, (6,), (1,), "v1")
    d["parameter"] = Made("FloatStorage", "24", 6, 0, (2, 3), (3, 1),
                          "parameter")
    d["naïve.ключ.\u6587"] = Made("IntStorage", "25", 3, 0, (3,), (1,))
    d["n" * 300] = Made("IntStorage", "26", 3, 0, (3,), (1,))
    return d


def make_files(folder):
    def at(name):
        return os.path.join(folder, name)
    fake_torch()
    for protocol in (2, 3, 4):
        save(at(f"zip{protocol}.pt"), all_kinds(), protocol)
    save(at("legacy.pt"), all_kinds(), legacy=True)
    plain = dict(all_kinds())
    plain["epoch"] = 3
    save(at("mixed.pt"), plain)
    numbers = [0, 255, 256, 65535, -1, 1 << 31, -(1 << 40), 1.5, None, True]
    for key in WRAPPERS:
        save(at(f"in_{key}.pt"), {
            "epoch": 7, "loss": [0.5, (1, 2)], "numbers": numbers,
            "args": {"lr": 1e-3, "name": "x" * 70000}, key: all_kinds()})
    bytes_of = Made("UntypedStorage", "0", 10, 0, (2, 4), (4, 1), "v3")
    save(at("v3.pt"), {"f8": bytes_of})
    big = {f"layer.{i}.weight": Made("FloatStorage", str(i), 2, 0, (2,), (1,))
           for i in range(3000)}
    save(at("many.pt"), big)  # memo numbers beyond one byte


# ---- comparing -------------------------------------------------------------

def check(hull, path):
    """An error's text, "" when both agree."""
    try:
        want, got = expected(path), inspected(hull, path)
    except Exception as e:  # pylint: disable=broad-except
        return f"{type(e).__name__}: {e}"
    for name in sorted(set(want) | set(got)):
        if want.get(name) != got.get(name):
            return f"{name}: python has {want.get(name)}, " \
                   f"hull {got.get(name)}"
    return "" if want else "no tensor"


def find(path):
    if os.path.isfile(path):
        return [path]
    return sorted(os.path.join(folder, f)
                  for folder, _, files in os.walk(path)
                  for f in files if f.endswith((".pt", ".pth")))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.split("\n\n")[1])
    hull, counts = sys.argv[1], [0, 0, 0]
    with tempfile.TemporaryDirectory() as folder:
        make_files(folder)
        for place in [folder, *sys.argv[2:]]:
            files = find(place)
            if not files:
                print(f"skip  no checkpoint in {place}")
                counts[2] += 1
            for path in files:
                problem = check(hull, path)
                counts[bool(problem)] += 1
                if problem:
                    print(f"FAIL  {path}: {problem}")
    print(f"{counts[0]} passed, {counts[1]} failed, {counts[2]} skipped")
    return 1 if counts[1] else 0


if __name__ == "__main__":
    sys.exit(main())
