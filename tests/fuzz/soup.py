# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Hull authors
"""Models of one operation with random operands and attributes: every row of
the frontends' operator tables is met with ranks, sizes and values that no
exporter would write."""
import io
import json
import os
import re
import struct
import zipfile

from hostile import attr, graph_of, message, model, node, tensor, value

FRONT = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                     "../../src/front")
SIZES = (0, 1, 1, 2, 2, 3, 3, 4, 8)
NUMBERS = (0, 0, 1, 1, 1, 2, 2, 3, -1, -1, -2, 4, 7, -5, 100, 1 << 31,
           -(1 << 31), (1 << 40), (1 << 63) - 1, -(1 << 63))
FLOATS = (0.0, 1.0, -1.0, 0.5, 1e-5, 1e30, float("inf"), float("nan"))
TEXT = {
    "auto_pad": ("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"),
    "mode": ("linear", "nearest", "cubic", "constant", "reflect", "edge",
             "wrap", "DCR", "CRD", "bilinear"),
    "direction": ("forward", "reverse", "bidirectional", "LEFT", "RIGHT"),
    "equation": ("ij,jk->ik", "ii", "...i,...i", "a,b", "ijk->kji", "->", ",",
                 "i...->...", "ab,bc,cd->ad"),
    "reduction": ("none", "add", "mul", "max", "min"),
    "coordinate_transformation_mode": (
        "half_pixel", "asymmetric", "align_corners", "tf_crop_and_resize"),
    "nearest_mode": ("floor", "ceil", "round_prefer_floor"),
    "padding_mode": ("zeros", "border", "reflection"),
    "approximate": ("tanh", "none"), "activations": ("Tanh",),
    "keep_aspect_ratio_policy": ("stretch", "not_larger"),
    "round_mode": ("up",),
}
LISTS = {"kernel_shape", "pads", "strides", "dilations", "axes", "perm",
         "split", "output_padding", "output_shape", "value_ints", "scales"}
DECIMALS = {"alpha", "beta", "gamma", "lambd", "bias", "epsilon", "momentum",
            "ratio", "value_float", "scale", "softcap", "cubic_coeff_a", "clip",
            "extrapolation_value"}


def numbers(rng, n):
    return [rng.choice(NUMBERS) for _ in range(n)]


def little(rng, n):
    return [rng.choice(NUMBERS[:11]) for _ in range(n)]


# ---- ONNX ------------------------------------------------------------------

def onnx_rows():
    with open(os.path.join(FRONT, "onnx.def"), encoding="utf-8") as f:
        text = f.read()
    with open(os.path.join(FRONT, "onnx_table.c"), encoding="utf-8") as f:
        for name, words in re.findall(r"#define (\w+)[\s\\]+((?:\"[^\"]*\"[\s"
                                      r"\\]*)+)", f.read()):
            text = text.replace(name + " \"", '"' + "".join(
                re.findall(r'"([^"]*)"', words)))
    for row in re.findall(r"^ONNX\((.*)\)$", text, re.M):
        op, since, until, _, _, least, most, names = [
            p.strip() for p in row.split(",", 7)]
        yield (op.strip('"'), int(since), int(until), int(least), int(most),
               "".join(re.findall(r'"([^"]*)"', names)).split())


def onnx_attr(rng, name):
    if name in TEXT:
        return attr(name, f4=rng.choice(TEXT[name]))
    if name in LISTS:
        pick = little if rng.random() < 0.8 else numbers
        return attr(name, f8=pick(rng, rng.choice((0, 1, 2, 2, 3, 4, 4, 6))),
                    f20=7)
    if name in DECIMALS:
        return attr(name, f2=rng.choice(FLOATS))
    if name in ("value", "sparse_value"):
        return attr(name, f5=onnx_stored(rng, ""))
    pick = little if rng.random() < 0.8 else numbers
    return attr(name, f3=pick(rng, 1)[0])


def onnx_stored(rng, name):
    n = rng.choice((0, 1, 1, 2, 2, 3, 4, 8))
    dims = rng.choice(((n,), (n,), (n, 1), (1, n))) if n != 1 else \
        rng.choice(((), (1,)))
    if rng.random() < 0.7:
        pick = little if rng.random() < 0.8 else numbers
        return tensor(name, dims, 7, f9=struct.pack(f"<{n}q", *pick(rng, n)))
    return tensor(name, dims, 1, f9=struct.pack(
        f"<{n}f", *(rng.choice(FLOATS) for _ in range(n))))


def onnx(rng, rows):
    op, since, until, least, most, names = rng.choice(rows)
    version = rng.choice((since, until or 23, max(since, 17), max(since, 13)))
    count = rng.randint(least, most if most >= 0 else 4)
    ins, values, stored = [], [], []
    rank = rng.choice((0, 1, 2, 3, 3, 4, 4, 5))
    for i in range(count):
        name = f"x{i}"
        ins.append(name if rng.random() < 0.95 else "")
        if i > 0 and rng.random() < 0.5:
            stored.append(onnx_stored(rng, name))
            continue
        dims = [rng.choice((*SIZES, "N")) for _ in range(
            rank if rng.random() < 0.8 else rng.randrange(5))]
        values.append(value(name, *dims, elem=rng.choice(
            (1, 1, 1, 1, 7, 7, 2, 3, 6, 9, 10, 11, 16))))
    attrs = [onnx_attr(rng, n) for n in names if rng.random() < 0.5]
    outs = ["y", "z", "u"][:rng.choice((1, 1, 1, 2, 3))]
    return model(graph_of([node(op, ins, outs, *attrs)], stored, values,
                          [value("y", 2)]), (), (("", version),))


# ---- PT2 -------------------------------------------------------------------

def pt2_rows():
    with open(os.path.join(FRONT, "aten.def"), encoding="utf-8") as f:
        return re.findall(r'^ATEN\("([^"]*)",\s*"([^"]*)"', f.read(), re.M)


def split_schema(schema):
    """[(type, name, whether it has a default)]"""
    parts = re.split(r", (?![^\[(]*[\])])", schema.removeprefix("Tensor(a) "))
    out = []
    for part in parts:
        words = part.strip().rsplit(" ", 1)
        if len(words) == 2:
            name, _, default = words[1].partition("=")
            out.append((words[0], name, bool(default)))
    return out


def pt2_arg(rng, kind, tensors):
    base = kind.rstrip("?")
    if kind.endswith("?") and rng.random() < 0.3:
        return {"as_none": True}
    pick = little if rng.random() < 0.8 else numbers
    if base.startswith("Tensor") and "[" in base:
        return {"as_tensors": [{"name": rng.choice(tensors)} for _ in range(
            rng.randrange(4))]}
    if base.startswith("Tensor"):
        return {"as_tensor": {"name": rng.choice(tensors)}}
    if re.match(r"(Sym)?[iI]nt.*\[", base):
        return {"as_ints": pick(rng, rng.choice((0, 1, 2, 2, 3, 4, 5)))}
    if base.startswith("float["):
        return {"as_floats": [rng.choice(FLOATS[:6]) for _ in range(2)]}
    if base in ("float", "SymFloat"):
        return {"as_float": rng.choice(FLOATS[:6])}
    if base == "bool":
        return {"as_bool": rng.random() < 0.5}
    if base == "str":
        return {"as_string": rng.choice(("none", "tanh", "ij,jk->ik", "ii",
                                         "", "trunc", "floor", "sum"))}
    if base == "ScalarType":
        return {"as_scalar_type": rng.choice((0, 1, 5, 6, 7, 8, 12, 13, 99))}
    if base == "Scalar" and rng.random() < 0.5:
        return {"as_float": rng.choice(FLOATS[:6])}
    if base in ("int", "SymInt", "Scalar"):
        return {"as_int": pick(rng, 1)[0]}
    return {"as_none": True}


def pt2_tensor(rng, rank):
    sizes = [rng.choice(SIZES) for _ in range(rank)]
    return {"dtype": rng.choice((7, 7, 7, 7, 5, 5, 1, 4, 6, 8, 12, 13)),
            "sizes": [{"as_int": n} for n in sizes], "requires_grad": False,
            "device": {"type": "cpu", "index": None},
            "strides": [{"as_int": 1} for _ in sizes],
            "storage_offset": {"as_int": 0}, "layout": 7}


def pt2(rng, rows):
    target, schema = rng.choice(rows)
    if "." not in target:
        target += ".default"
    rank = rng.choice((0, 1, 2, 3, 3, 4, 4, 5))
    names = ["a", "b", "c"]
    values = {n: pt2_tensor(rng, rank if rng.random() < 0.8 else
                            rng.randrange(5)) for n in (*names, "y", "z")}
    args = [{"name": name, "arg": pt2_arg(rng, kind, names), "kind": 1}
            for kind, name, default in split_schema(schema)
            if not default or rng.random() < 0.6]
    outs = rng.choice(([{"as_tensor": {"name": "y"}}],) * 3 + (
        [{"as_tensors": [{"name": "y"}, {"name": "z"}]}],
        [{"as_tensor": {"name": "y"}}, {"as_tensor": {"name": "z"}}]))
    user = [{"as_tensor": {"name": n}} for n in names]
    result = [{"as_tensor": {"name": "y"}}]
    program = {
        "graph_module": {"graph": {
            "inputs": user, "outputs": result, "nodes": [{
                "target": "torch.ops.aten." + target, "inputs": args,
                "outputs": outs, "metadata": {}, "name": "y",
                "is_hop_single_tensor_return": None}],
            "tensor_values": values, "sym_int_values": {},
            "sym_bool_values": {}, "is_single_tensor_return": False,
            "custom_obj_values": {}, "sym_float_values": {}},
            "signature": {
                "input_specs": [{"user_input": {"arg": a}} for a in user],
                "output_specs": [{"user_output": {"arg": a}} for a in result]},
            "module_call_graph": [], "metadata": {},
            "treespec_namedtuple_fields": {}},
        "opset_version": {"aten": 10}, "range_constraints": {},
        "schema_version": {"major": 8, "minor": 20}, "verifiers": ["TRAINING"],
        "torch_version": "2.13.0", "guards_code": []}
    files = {
        "archive_format": "pt2", "archive_version": "0", "byteorder": "little",
        "models/model.json": json.dumps(program),
        "data/weights/model_weights_config.json": '{"config": {}}',
        "data/constants/model_constants_config.json": '{"config": {}}',
        ".data/serialization_id": "1", "version": "3\n"}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as z:
        for name, content in files.items():
            z.writestr(zipfile.ZipInfo("m/" + name), content)
    return out.getvalue()
