# SPDX-License-Identifier: Apache-2.0
# Checkpoints that call tensors otherwise (--map) or nest them (--key).
export HULL_CACHE_DIR=$PWD/cache
demo=$ROOT/demo
try() { attempt "$HULL" "$@"; }
python3 - "$demo" <<'PY'
import json, struct, sys, zipfile


def read(path):
    data = open(path, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8:8 + n])
    head.pop("__metadata__", None)
    return {k: (v["dtype"], v["shape"],
                data[8 + n:][slice(*v["data_offsets"])])
            for k, v in head.items()}


def write(path, tensors):
    head, at, body = {}, 0, b""
    for k, (dtype, shape, p) in tensors.items():
        head[k] = {"dtype": dtype, "shape": shape,
                   "data_offsets": [at, at + len(p)]}
        at += len(p)
        body += p
    text = json.dumps(head).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + body)


def transposed(t):
    dtype, (rows, cols), p = t
    return dtype, [cols, rows], b"".join(
        p[4 * (r * cols + c):][:4] for c in range(cols) for r in range(rows))


# Another framework's spelling: layers by number, kernels [in, out].
def other(t):
    out = {}
    for k, v in t.items():
        layer, kind = k.split(".")
        if layer.startswith("fc"):
            kind = {"weight": "kernel", "bias": "bias"}[kind]
            v = transposed(v) if kind == "kernel" else v
            out["net/dense_%s/%s:0" % (layer[2], kind)] = v
        else:
            out["encoder.%s.%s" % (layer, kind)] = v
    out["encoder.teacher.step"] = ("I64", [], bytes(8))
    return out


# torch.save of {name: {tensors}} by hand: opcodes and storages.
def text(s):
    return b"X" + struct.pack("<I", len(s)) + s.encode()


def ints(v):
    return b"(" + b"".join(b"J" + struct.pack("<i", i) for i in v) + b"t"


def save(path, dicts):
    kinds = {"F32": (b"Float", 4), "I64": (b"Long", 8)}
    p, blobs = b"\x80\2}(", []
    for name, tensors in dicts.items():
        p += text(name) + b"}("
        for k, (dtype, shape, data) in tensors.items():
            kind, size = kinds[dtype]
            strides = [1] * len(shape)
            for i in range(len(shape) - 1, 0, -1):
                strides[i - 1] = strides[i] * shape[i]
            p += text(k) + b"ctorch._utils\n_rebuild_tensor_v2\n(("
            p += text("storage") + b"ctorch\n" + kind + b"Storage\n"
            p += text(str(len(blobs))) + text("cpu")
            p += b"J" + struct.pack("<i", len(data) // size) + b"tQK\0"
            p += ints(shape) + ints(strides)
            p += b"\x89ccollections\nOrderedDict\n)RtR"
            blobs.append(data)
        p += b"u"
    p += text("epoch") + b"K\7u."
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("archive/data.pkl", p)
        z.writestr("archive/byteorder", b"little")
        for i, b in enumerate(blobs):
            z.writestr("archive/data/%d" % i, b)


e1 = read(sys.argv[1] + "/epoch1.safetensors")
e20 = read(sys.argv[1] + "/epoch20.safetensors")
write("other.safetensors", other(e20))
save("nested.pt", {"model": e1, "model_ema": e20})
PY
cat >rules <<'RULES'
// the other spelling
fc1.weight = transpose "net/dense_1/kernel:0" {perm=[1,0]}
fc2.weight = transpose "net/dense_2/kernel:0" {perm=[1,0]}
fc1.bias   = net/dense_1/bias:0
fc2.bias   = net/dense_2/bias:0
_          = encoder.teacher.**
**         = encoder.**
RULES
cat >wrong <<'RULES'
fc1.weight : net/dense_1/kernel:0
fc2.* = dense.*.*
RULES
cat >unfit <<'RULES'
fc1.weight = transpose "net/dense_1/kernel:0" {perm=[1,1]}
fc1.bias   = net/dense_9/bias:0
RULES
run() {
    "$HULL" run "$1" --input "$demo/test.npz" --output "$2" >/dev/null
}
"$HULL" compile "$demo/digits.onnx" --weights "$demo/epoch20.safetensors" \
    -o want.hull >/dev/null
run want.hull want.npy
"$HULL" compile "$demo/digits.onnx" --weights "$demo/epoch1.safetensors" \
    -o one.hull >/dev/null
try refit one.hull other.safetensors -o x.hull
try refit one.hull other.safetensors --map wrong -o x.hull
try refit one.hull other.safetensors --map unfit -o x.hull
try refit one.hull other.safetensors --map absent -o x.hull
"$HULL" refit one.hull other.safetensors --map rules -o two.hull >/dev/null
run two.hull two.npy
cmp want.npy two.npy && echo mapped
"$HULL" compile "$demo/digits.onnx" --weights other.safetensors --map rules \
    -o three.hull >/dev/null
run three.hull three.npy
cmp want.npy three.npy && echo compiled with a map
try refit one.hull nested.pt -o x.hull
try refit one.hull nested.pt --key ema -o x.hull
"$HULL" refit one.hull nested.pt --key model_ema -o four.hull >/dev/null
run four.hull four.npy
cmp want.npy four.npy && echo by key
"$HULL" inspect nested.pt | sed -n '1p; /fc2.bias/p'
"$HULL" inspect nested.pt --key model | sed -n '1p; /fc2.bias/p'
try refit one.hull other.safetensors --key x -o x.hull
[ ! -e x.hull ]
