# SPDX-License-Identifier: Apache-2.0
# compile --prebuild: a list of models and targets into a cache; what is wrong
# with a list is said before anything is built; processes of the other levels
# then hit.
try() { attempt "$HULL" compile --prebuild "$@"; }
times() {
    sed -E 's/[0-9]+\.[0-9]+ s$/TIME/'
}
mkdir models
cp "$ROOT/demo/digits.onnx" models/a.onnx
cp "$ROOT/demo/digits.onnx" "models/two words.onnx"
cat >models/list <<END
# levels that this machine may not have
a.onnx target=none
a.onnx target=avx2 # comment
a.onnx target=avx512+vnni+bf16

  "two words.onnx"  fuse=off   target=none
END
try models/list --cache cache | times
try models/list --cache cache --set fuse=off | times
"$HULL" cache stats --cache cache | awk '/^(hits|misses|builds) / { print $1, $2 }'

# Whoever has that level hits, and so does who asks for it by name.
hit() {
    "$@" "$HULL" compile models/a.onnx --cache cache -o x.hull $set |
        grep -o 'cache [a-z]*'
}
set=
hit env HULL_CPU_ISA=none
set='--set target=avx2'
hit env HULL_CPU_ISA=none
if grep -q ' avx2 ' /proc/cpuinfo && grep -q ' fma ' /proc/cpuinfo; then
    set=
    hit env HULL_CPU_ISA=avx2
else
    echo cache hit
fi

# An engine for more than this machine has computes the same here, slowly.
"$HULL" run models/a.onnx --no-cache -i "$ROOT/demo/test.npz" -o want.npz >log
HULL_CPU_ISA=none "$HULL" run models/a.onnx --cache cache \
    --set target=avx512+vnni+bf16 -i "$ROOT/demo/test.npz" --expect want.npz \
    --expect-prefix '' >log && echo right
"$HULL" cache stats --cache cache | awk '/^(builds) / { print $1, $2 }'

# Nothing is built of a list with a mistake.
cat >bad <<END
models/a.onnx target=sse9
models/absent.onnx
models/a.onnx fusee=1
models/a.onnx fuse
models/a.onnx target=avx2+vnni
models/a.onnx target=avx2 backends=ref
models
"models/a.onnx
models/a.onnx
END
try bad --cache none
[ ! -e none ]
try bad --cache none --json | grep -c '"line"'
HULL_CPU_ISA=none "$HULL" compile models/a.onnx --no-cache -o x.hull \
    --set tune=on --set target=avx2 2>&1 || true
echo '# nothing' >empty
try empty --cache cache
try absent --cache cache
try models/list --no-cache
try models/list model.onnx

# A model that fails stops no other one; the status is that of the first.
printf 'no model' >models/broken.onnx
printf 'broken.onnx\na.onnx target=none\n' >models/mixed
try models/mixed --cache cache | times
try models/mixed --cache cache --json | grep -E '"(failed|status|hits|exit)'
# A cache that keeps nothing is a failure.
try models/list --cache tiny --set cache_limit=100 | times | sed -E 's/engine [0-9a-f]+/engine KEY/'

# No weights are read: these 64 MiB are a file without a byte of data.
python3 - <<'END'
def field(n, wire, body):
    return varint(n << 3 | wire) + (varint(len(body)) if wire == 2 else b"") + body
def varint(v):
    out = b""
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])
def text(n, s): return field(n, 2, s.encode())
def number(n, v): return field(n, 0, varint(v))
def value(name, dims):
    shape = b"".join(field(1, 2, number(1, d)) for d in dims)
    return text(1, name) + field(2, 2, field(1, 2, number(1, 1) + field(2, 2, shape)))
def pair(k, v): return field(13, 2, text(1, k) + text(2, v))
weight = (number(1, 4096) + number(1, 4096) + number(2, 1) + text(8, "w") +
          pair("location", "weights.bin") + pair("offset", "0") +
          pair("length", str(4096 * 4096 * 4)) + number(14, 1))
node = text(1, "x") + text(1, "w") + text(2, "y") + text(4, "MatMul")
graph = (field(1, 2, node) + text(2, "g") + field(5, 2, weight) +
         field(11, 2, value("x", [1, 4096])) + field(12, 2, value("y", [1, 4096])))
model = number(1, 8) + field(7, 2, graph) + field(8, 2, text(1, "") + number(2, 17))
open("external.onnx", "wb").write(model)
END
truncate -s 64M weights.bin
echo external.onnx >without
"$HULL" compile --prebuild without --cache cache --json >text
python3 -c 'import json
m = json.load(open("text"))["models"][0]
print("blocks", m["blocks"], "built", m["built"], m["bytes_read"] < 16384)'
