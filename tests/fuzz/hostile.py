# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Hull authors
"""Hand-made hostile files, one list per format: known attacks, limits, and
lies about sizes. Every function gives {name: bytes}."""
import io
import json
import re
import struct
import zipfile
import zlib

from inside import encode, varint

U63, U64 = (1 << 63) - 1, (1 << 64) - 1


# ---- safetensors -----------------------------------------------------------

def st_file(header, payload=0):
    if not isinstance(header, bytes):
        header = json.dumps(header).encode()
    return struct.pack("<Q", len(header)) + header + bytes(payload)


def st_tensor(shape, offsets, dtype="I32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def safetensors():
    one = st_tensor([2, 2], [0, 16])
    text = json.dumps(one)
    files = {f"short{n}": b"\1" * n for n in range(1, 8)}
    files |= {
        "length": b"<\0\0\0\0\0\0\0", "large": b"<\0\0\0\0\0\xff\xff",
        "limit": struct.pack("<Q", 100_000_001) + b"{",
        "utf8": st_file(b"\xff"), "brace": st_file(b"{"),
        "array": st_file(b"[]"), "null": st_file(b"null"),
        "empty": st_file({}), "spaces": st_file(b"  {}  "),
        "deep": st_file(b"[" * 500_000), "deeper": st_file(
            b'{"a":' * 200_000),
        "trailing": st_file({"a": one}, 17), "missing": st_file({"a": one}, 14),
        "overlap": st_file({str(i): one for i in range(10)}, 16),
        "hole": st_file({"a": st_tensor([1], [0, 4]),
                         "b": st_tensor([1], [8, 12])}, 12),
        "twice": st_file(f'{{"a":{text},"a":{text}}}'.encode(), 16),
        "metadata": st_file({"__metadata__": {"a": 1}, "a": one}, 16),
        "nested": st_file({"__metadata__": {"a": {"b": "c"}}}, 0),
        "f4": st_file({"a": st_tensor([1], [0, 1], "F4")}, 1),
        "many": st_file({f"t{i}": st_tensor([], [4 * i, 4 * i + 4])
                         for i in range(20_000)}, 80_000),
        "rank": st_file({"a": st_tensor([1] * 5000, [0, 4])}, 4),
        "name": st_file({"a" * 100_000: one}, 16),
        "nul": st_file({"a\0b": one}, 16),
    }
    for i, shape in enumerate(([2, 18446744073709551614], [2, U63],
                               [U63, 0], [1 << 32, 1 << 32], [-1, -4], [1.0],
                               ["2"], None, {})):
        files[f"shape{i}"] = st_file({"a": st_tensor(shape, [0, 16])}, 16)
    for i, offsets in enumerate(([0, 4.0], [0, "4"], [0], [0, 4, 8], [-4, 0],
                                 [16, 0], [4, 20], [0, U63], [U63, U63 + 4],
                                 [0, 1e300], [], None)):
        files[f"offsets{i}"] = st_file({"a": st_tensor([2, 2], offsets)}, 16)
    for i, weight_map in enumerate((
            {}, [], {"a": "input"}, {"a": "../x.safetensors"}, {"a": 1},
            {"a": "/dev/zero"}, {"a": "b/../input"}, {"": ""}, {
                f"t{i}": f"{i}.safetensors" for i in range(20_000)})):
        files[f"index{i}"] = json.dumps({"weight_map": weight_map}).encode()
    return {f"safetensors_{k}": v for k, v in files.items()}


# ---- torch -----------------------------------------------------------------

def torch_zip(pickle, data=bytes(24)):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as z:
        for name, content in (("a/data.pkl", pickle), ("a/data/0", data)):
            z.writestr(zipfile.ZipInfo(name), content)
    return out.getvalue()


def text(s):
    return b"X" + struct.pack("<I", len(s)) + s


def call(module, name, args):
    return b"c" + module + b"\n" + name + b"\n" + args + b"R"


def torch():
    floats = b"ctorch\nFloatStorage\n"
    storage = b"(" + text(b"storage") + floats + text(b"0") + text(b"cpu") + \
        b"K\6tQ"

    def view(offset, sizes, strides, what=storage):
        return call(b"torch._utils", b"_rebuild_tensor_v2", b"(" + what +
                    offset + sizes + strides + b"\x89N" + b"t")

    def root(value):
        return b"\x80\2}" + text(b"w") + value + b"s."
    big = b"\x8a\x08" + struct.pack("<q", U63)
    minus = b"J\xff\xff\xff\xff"
    files = {
        f"call{i}": b"\x80\2" + call(m, n, text(b"x") + b"\x85") + b"."
        for i, (m, n) in enumerate((
            (b"os", b"system"), (b"builtins", b"eval"),
            (b"builtins", b"__import__"), (b"torch.hub", b"load"),
            (b"torch.serialization", b"load"), (b"a.b", b"c.d"),
            (b"torch.jit._serialization", b"load"),
            (b"torch._utils", b"_rebuild_qtensor")))}
    files |= {
        "stack_global": b"\x80\4\x8c\2os\x8c\6system\x93.",
        "setstate": root(view(b"K\0", b")", b")") + b"}" + text(
            b"__setstate__") + b"K\1sb"),
        "newobj": b"\x80\2cos\nsystem\n)\x81.",
        "stride": root(view(b"K\0", b"K\2K\3\x86", minus + b"K\1\x86")),
        "size": root(view(b"K\0", big + big + b"\x86", b"K\0K\0\x86")),
        "expand": root(view(b"K\0", big + b"\x85", b"K\0\x85")),
        "offset": root(view(big, b"K\1\x85", b"K\1\x85")),
        "minus": root(view(minus, b"K\1\x85", b"K\1\x85")),
        "rank": root(view(b"K\0", b"(" + b"K\1" * 5000 + b"t",
                          b"(" + b"K\1" * 5000 + b"t")),
        "tensor": root(view(b"K\0", b")", b")", view(b"K\0", b")", b")"))),
        "text": root(view(text(b"0"), text(b"1"), text(b"1"))),
        "key": root(b"(" + text(b"storage") + floats + text(b"../x") +
                    text(b"cpu") + b"K\6tQ"),
        "id4": root(b"(" + text(b"storage") + floats + text(b"0") + b"tQ"),
        "bomb": b"\x80\2]q\0" + b"".join(
            b"]q" + bytes((i + 1,)) + b"(h" + bytes((i,)) + b"h" +
            bytes((i,)) + b"e" for i in range(40)) + b".",
        "self": b"\x80\2]q\0h\0a.", "self_dict": b"\x80\2}q\0" + text(
            b"state_dict") + b"h\0s.",
        "deep": root(b"]" * 100_000 + b"a" * 99_999),
        "tuples": root(b")" + b"\x85" * 200_000),
        "long_text": b"\x80\2X\0\0\0\x80abc",
        "long_text8": b"\x80\4\x8d" + b"\xff" * 8, "long1": b"\x80\2\x8a\xff\1",
        "long4": b"\x80\2\x8b\xff\xff\xff\x7f", "stop": b"\x80\2}",
        "memo": b"\x80\2Nr\xff\xff\xff\x7f.", "frame": b"\x80\4\x95" +
        b"\xff" * 8 + b"}.",
        "marks": b"\x80\2" + b"(" * 300_000 + b".",
        "nones": b"\x80\2" + b"N" * 300_000 + b".",
    }
    files |= {f"under{op:02x}": b"\x80\2" + bytes((op,)) + b"."
              for op in b"tesuaQRb.0qrhj\x81\x85\x86\x87\x90\x91\x93\x94"}
    out = {f"torch_{k}": torch_zip(v) for k, v in files.items()}
    head = b"\x80\2\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
    info = b"\x80\2}" + text(b"little_endian") + b"\x88s."
    for name, tail in (("cut", b""), ("none", b"\x80\2N."), (
            "keys", root(storage) + b"\x80\2]" + text(b"0") + b"a." +
            struct.pack("<q", U63)), (
            "minus", root(storage) + b"\x80\2]" + text(b"0") + b"a." +
            struct.pack("<q", -1))):
        out[f"legacy_{name}"] = head + b"\x80\2M\xe9\3." + info + tail
    return out


# ---- onnx ------------------------------------------------------------------

def message(**fields):
    """f1=..., a list repeats it: int, text, bytes or a message."""
    out = []
    for key, values in fields.items():
        for v in values if isinstance(values, list) else [values]:
            if isinstance(v, int):
                out.append([int(key[1:]), 0, v & U64])
            elif isinstance(v, float):
                out.append([int(key[1:]), 5, struct.pack("<f", v)])
            else:
                out.append([int(key[1:]), 2,
                            v.encode() if isinstance(v, str) else v])
    return encode(out)


def tensor(name="w", dims=(2,), data_type=1, **more):
    return message(f1=list(dims), f2=data_type, f8=name, **more)


def value(name, *dims, elem=1):
    shape = message(f1=[message(f1=d) if isinstance(d, int) else message(f2=d)
                        for d in dims])
    return message(f1=name, f2=message(f1=message(f1=elem, f2=shape)))


def attr(name, **more):
    kinds = {"f2": 1, "f3": 2, "f4": 3, "f5": 4, "f6": 5, "f7": 6, "f8": 7,
             "f9": 8}
    more.setdefault("f20", kinds.get(next(iter(more), ""), 0))
    return message(f1=name, **more)


def node(op, ins, outs, *attrs, **more):
    return message(f1=ins, f2=outs, f4=op, f5=list(attrs), **more)


def graph_of(nodes, inits, ins, outs):
    return message(f1=list(nodes), f2="g", f5=list(inits), f11=list(ins),
                   f12=list(outs))


def graph(nodes, inits=(), ins=(), outs=("y",)):
    return graph_of(nodes, inits, [value(i, 2) for i in ins],
                    [value(o, 2) for o in outs])


def model(g, functions=(), imports=((("", 17)),)):
    return message(f1=8, f7=g, f8=[message(f1=d, f2=v) for d, v in imports],
                   f25=list(functions))


def ints(name, *values):
    return tensor(name, (len(values),), 7, f9=struct.pack(
        f"<{len(values)}q", *values))


def one(op, *inits, **attrs):
    """A model of one operation on x and stored tensors."""
    names = ["x"] + [f"c{i}" for i in range(len(inits))]
    stored = [ints(n, *v) for n, v in zip(names[1:], inits)]
    return model(graph([node(op, names, ["y"], *[
        attr(k, **({"f3": v} if isinstance(v, int) else
                   {"f4": v} if isinstance(v, str) else
                   {"f8": list(v)})) for k, v in attrs.items()])], stored,
        ["x"]))


def with_init(init, extra=()):
    return model(graph([node("Add", ["x", "w"], ["y"]), *extra], [init],
                       ["x"]))


def external(**entries):
    return with_init(tensor(f14=1, f13=[message(f1=k, f2=v)
                                        for k, v in entries.items()]))


def onnx_tensors():
    raw = bytes(8)
    files = {
        "short": tensor(f9=raw[:7]), "long": tensor(f9=raw + b"1"),
        "two": tensor(f9=raw, f4=[1.0, 2.0]), "none": tensor(),
        "minus": tensor(dims=(-1,), f9=raw), "huge": tensor(dims=(U63, 2)),
        "wrap": tensor(dims=(1 << 32, 1 << 32)), "zero": tensor(
            dims=(U63, U63, 0)),
        "rank": tensor(dims=(1,) * 3000, f9=raw[:4]), "int4": tensor(
            dims=(3,), data_type=22, f9=b"\1\2"),
        "text": tensor(data_type=8, f9=raw), "type": tensor(data_type=99),
        "type_minus": tensor(data_type=-1, f9=raw), "segment": tensor(
            f3=message(f1=0, f2=1), f9=raw),
        "wide": tensor(data_type=2, f5=[300, -300]), "field": tensor(
            data_type=7, f5=[1, 2]),
        "anonymous": tensor(name="", f9=raw), "name": tensor(
            name="w" * 100_000, f9=raw),
    }
    out = {k: with_init(v) for k, v in files.items()}
    out["twice"] = model(graph([node("Add", ["x", "w"], ["y"])], [tensor(
        f9=raw)] * 2, ["x"]))
    for i, location in enumerate(("../x", "/etc/passwd", "a/../../x", "",
                                  ".", "input", "/dev/zero", "a\0b", "a\\b",
                                  "x" * 5000)):
        out[f"location{i}"] = external(location=location)
    for i, offset in enumerate(("-1", "1e3", "18446744073709551616",
                                "18446744073709551615", "", " 1", "0x10")):
        out[f"external{i}"] = external(location="input", offset=offset)
        out[f"length{i}"] = external(location="input", length=offset)
    out["nowhere"] = with_init(tensor(f14=1))
    return out


def onnx_graphs():
    body = graph([node("Identity", ["x"], ["y"])], (), ["x"])
    for _ in range(60):
        body = graph([node("If", ["c"], ["y"], attr("then_branch", f6=body),
                           attr("else_branch", f6=body[:0]))])
    wide = graph([node("Identity", ["x"], ["y"])])
    for _ in range(10):
        wide = graph([node("If", ["x"], ["y"], attr("then_branch", f6=wide),
                           attr("else_branch", f6=wide))])
    empty = graph([], outs=[])
    loop = graph([node("Identity", ["c"], ["d"])], (), ["i", "c"], ["d"])

    def function(name, *calls):
        nodes = [node(c, ["x"], [f"y{i}" if i else "y"], f7="f")
                 for i, c in enumerate(calls)]
        return message(f1=name, f4="x", f5="y", f7=nodes, f9=message(
            f1="", f2=17), f10="f")
    start = graph([node("a", ["x"], ["y"], f7="f")], (), ["x"])
    both = (("", 17), ("f", 1))
    names = "abcdefghijklmnop"
    doubled = [function(n, m, m) for n, m in zip(names, names[1:])]
    return {
        "nested": model(body), "doubled": model(wide),
        "recursion": model(start, [function("a", "b"), function("b", "a")],
                           both),
        "same_function": model(start, [function("a", "b")] * 2, both),
        "chain": model(start, doubled + [function("p", "q")], both),
        "cycle": model(graph([node("Relu", ["b"], ["a"]),
                              node("Relu", ["a"], ["b"])], outs=["a"])),
        "itself": model(graph([node("Relu", ["y"], ["y"])])),
        "same_output": model(graph([node("Relu", ["x"], ["y"])] * 2, (),
                                   ["x"])),
        "no_graph": message(f1=8), "two_graphs": model(empty) + message(
            f7=empty),
        "no_import": model(graph([node("Relu", ["x"], ["y"])], (), ["x"]), (),
                           ()),
        "imports": model(empty, (), (("", 17), ("", 18))),
        "import_huge": model(graph([node("Relu", ["x"], ["y"])], (), ["x"]),
                             (), (("", U63),)),
        "constant_none": model(graph([node("Constant", [], ["y"])])),
        "constant_two": model(graph([node("Constant", [], ["y"], attr(
            "value_int", f3=1), attr("value_float", f2=1.0))])),
        "attr_type": model(graph([node("Softmax", ["x"], ["y"], attr(
            "axis", f4="a", f20=2))], (), ["x"])),
        "attr_unknown": one("Relu", frob=1), "attr_twice": model(graph(
            [node("Softmax", ["x"], ["y"], attr("axis", f3=0), attr(
                "axis", f3=0))], (), ["x"])),
        "attr_ref": model(graph([node("Softmax", ["x"], ["y"], message(
            f1="axis", f20=2, f21="z"))], (), ["x"])),
        "loop": model(graph([node("Loop", ["m", "x"], ["y"], attr(
            "body", f6=loop))], [ints("m", U63)], ["x"])),
        "group": b"\x08\x08\x3b\x3c", "varint": b"\x08" + b"\xff" * 11,
        "field0": b"\x08\x08\x02\x00", "length": b"\x08\x08\x3a" + varint(
            U64), "many_nodes": model(graph(
                [node("Relu", ["x"], [f"n{i}"]) for i in range(5000)], (),
                ["x"], ["n4999"])),
        "no_op": model(graph([node("", ["x"], ["y"])], (), ["x"])),
    }


def onnx_bombs():
    out = {}
    for axis in (-100, 100, U63, -U63 - 1):
        for op in ("Softmax", "Concat", "Flatten", "ArgMax", "CumSum"):
            out[f"{op}_axis{axis}"] = one(op, axis=axis)
    for name, c in (("two", (-1, -1)), ("huge", (U63, U63)), ("minus", (-2,)),
                    ("zero", (0, 0, 0)), ("wide", (1 << 40,))):
        for op in ("Reshape", "Expand", "Tile", "Unsqueeze", "Pad"):
            out[f"{op}_{name}"] = one(op, c)
    fill = [node("ConstantOfShape", ["s"], ["c"]),
            node("Add", ["x", "c"], ["y"])]
    for name, shape in (("2e40", (1 << 40,)), ("wrap", (1 << 32, 1 << 32)),
                        ("minus", (-1,)), ("rank", (1,) * 100)):
        out[f"fill_{name}"] = model(graph(fill, [ints("s", *shape)], ["x"]))
    for name, r in (("zero", (0, 5, 0)), ("long", (0, U63, 1)),
                    ("back", (0, -5, 1)), ("min", (U63, -U63 - 1, -1))):
        out[f"range_{name}"] = model(graph(
            [node("Range", ["a", "b", "c"], ["y"])],
            [tensor(n, (), 7, f9=struct.pack("<q", v))
             for n, v in zip("abc", r)]))
    for pads in ((U63,) * 4, (-5,) * 4, (1 << 62,) * 4, (1,) * 3):
        for op in ("MaxPool", "AveragePool"):
            out[f"{op}_{pads[0]}_{len(pads)}"] = one(
                op, kernel_shape=(2, 2), pads=pads, strides=(0, U63))
    out["split"] = one("Split", (U63, U63))
    out["slice"] = one("Slice", (-U63 - 1,), (U63,), (0,), (0,))
    out["slice_axis"] = one("Slice", (0,), (1,), (U63,), (-U63 - 1,))
    out["transpose"] = one("Transpose", perm=(0, 0))
    out["transpose_far"] = one("Transpose", perm=(U63,))
    out["topk"] = one("TopK", (U63,))
    out["onehot"] = one("OneHot", (1 << 50,), (0, 1))
    out["cast"] = one("Cast", to=U63)
    out["einsum"] = one("Einsum", equation="..." * 1000)
    out["depth"] = one("DepthToSpace", blocksize=0)
    return out


def onnx():
    return {f"onnx_{k}": v for part in (onnx_tensors(), onnx_graphs(),
                                        onnx_bombs()) for k, v in part.items()}


# ---- IR text ---------------------------------------------------------------

def ir():
    def relu(t):
        return f"graph @g(%x: {t}) {{\n  %y = relu %x : {t}\n  return %y\n}}"
    files = {f"type{i}": relu(t) for i, t in enumerate((
        "f32", "f32[]", "f32[-1]", "f32[9223372036854775807,2]",
        "f32[18446744073709551616]", "f32[" + "1," * 100 + "1]",
        "f32[N]", "f32[" + "(" * 20_000 + "N" + ")" * 20_000 + "]",
        "f32[" + "N+" * 5000 + "1]", "f32[" + "2*" * 5000 + "N]",
        "f32[N/0]", "f32[N%0]", "f32[max(N,min(N,1))]", "f33[2]",
        "f32[" + "(N*" * 60 + "N" + ")" * 60 + "]"))}
    files |= {
        "deep": "graph @g(" * 10_000, "braces": "{" * 100_000,
        "text": 'graph @g() { %x = const "' + "\\" * 100_001,
        "number": "graph @g() { %x = const " + "9" * 100_000,
        "name": "graph @" + "g" * 1_000_000 + "() {", "nul": "graph @g\0()",
        "comment": "// " + "x" * 100_000,
    }
    return {k: v.encode() for k, v in files.items()}


# ---- pictures --------------------------------------------------------------

def images(header):
    """The small pictures of the unit test, and those that claim to be huge."""
    with open(header, encoding="utf-8") as f:
        text = f.read()
    files = {name: bytes(int(n) for n in re.findall(r"\d+", numbers))
             for name, numbers in re.findall(
                 r"uint8_t (\w+)_file\[\] = \{([^}]*)\}", text)}
    bmp = b"BM" + struct.pack("<IIIIiiHHIIiiII", 78, 0, 54, 40, 3, 2, 1, 24, 0,
                              24, 1, 1, 0, 0) + bytes(24)
    files["bmp"] = bmp
    for i, (w, h) in enumerate(((1 << 30, 1), (1, -(1 << 31)), (-1, 1),
                                (65536, 65536), (11585, 11585))):
        files[f"bmp{i}"] = bmp[:18] + struct.pack("<ii", w, h) + bmp[26:]
    for i, kind in enumerate((1, 2, 3, 4, 5, 6)):
        files[f"pnm{i}"] = b"P%d 3 2 255\n" % kind + b"1 0 1 0 1 0 " * 3
        files[f"pnm_huge{i}"] = b"P%d 99999999999 99999999999 1\n" % kind
        files[f"pnm_claim{i}"] = b"P%d 11585 11585 255\n" % kind
    if "png" in files:
        at = files["png"].index(b"IHDR") + 4
        body = struct.pack(">II", 1 << 30, 1 << 30) + files["png"][at + 8:
                                                                  at + 13]
        crc = struct.pack(">I", zlib.crc32(b"IHDR" + body))
        files["png_huge"] = files["png"][:at] + body + crc + \
            files["png"][at + 17:]
    return files


# ---- regular expressions ---------------------------------------------------

def regex():
    """pattern, zero byte, text"""
    aaa = b"a" * 200
    pairs = [
        (b"", b""), (b"a", b"a"), (b"(a+)+b", aaa), (b"(a|aa)+$", aaa + b"!"),
        (b"(a*)*", aaa), (b"(.*)*(.*)*(.*)*x", aaa), (b"a{1000}", aaa),
        (b"(a{100}){100}", aaa), (b"((a{10}){10}){10}", aaa),
        (b"(?:a?){1000}a{1000}", aaa), (b"(" * 5000 + b")" * 5000, b""),
        (b"[" * 60000, b""), (b"(?P<n>a)(?P<n>b)", b"ab"),
        (b"(?i)\xc3\x9f", b""),
        (b"\\pL+", b"abc"), (b"[[:alpha:]]+", b"abc"), (b"[^a-z\\d]", b"\xff"),
        (b"a" * 70000, aaa), (b"\xff", b"\xff"), (b"(?s).*", b"\n\0"),
        (b"^\\w+@[a-z]+\\.com$", b"me@host.com"), (b"(?R)", aaa),
        (b"(a)\\1", b"aa"), (b"(?=a)a", b"a"), (b"a|" * 10000, b"b"),
        (b"(?:" * 249 + b"a" + b")*" * 249, aaa)]
    return {f"pair{i}": p + b"\0" + t for i, (p, t) in enumerate(pairs)}


# ---- mapping rules ---------------------------------------------------------

def rules():
    stars = ".".join("*" * 8)
    texts = [
        "x.*.w = \"model.layers.*.q.weight\"  // a rename\n",
        "** = model.**\n", "c = d/e:0\n_ = b\n",
        "x.*.w = concat \"model.layers.*.q.weight\", "
        "\"model.layers.*.k.weight\" {axis=0}\n",
        "z = {\n  %t = transpose \"a\" {perm=[1,0]}\n  return %t }\n",
        "z = { %t = matmul \"a\", \"b\"\n return %t }\n",
        "z = reshape \"a\" {shape=[3,2]}\nz = \"b\"\n",
        f"{stars} = {stars}\n", "a.**.** = b\n", "** = **\n" * 3000,
        "x = {" * 3000, "x = expand \"a\" {shape=[9000000000,1000000000,6]}\n",
        "x = concat " + ", ".join(["\"a\""] * 500) + " {axis=0}\n",
        "x = \"" + "a" * 100000 + "\"\n", "." * 100000 + " = a\n"]
    return {f"rules{i}": t.encode() for i, t in enumerate(texts)}


# ---- manifests of direct mode ----------------------------------------------

def manifest():
    whole = "0:0:8 0:64:16 0:0:1\n"
    files = {
        "whole": whole, "many": whole * 1000, "no_end": whole[:-1],
        "long": " 0:0:1" * 10_000 + "\n", "short": "0:0\n",
        "far": "0:18446744073709551615:1\n", "huge": f"0:0:{1 << 63}\n",
        "file": "4294967295:0:1\n7:0:1\n", "minus": "0:-1:1\n",
        "blanks": " " * 10_000 + "\n" * 10_000, "empty": "0:0:0\n",
        "sum": f" 0:0:{1 << 62}" * 5 + "\n", "nul": "0:0:1\0:2\n",
    }
    return {f"manifest_{k}": v.encode() for k, v in files.items()}
