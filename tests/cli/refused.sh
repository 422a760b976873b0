# SPDX-License-Identifier: Apache-2.0
# Checkpoints and inputs that do not fit are refused with every fault named.
export HULL_CACHE_DIR=$PWD/cache
try() { attempt "$HULL" "$@"; }
demo=$ROOT/demo
python3 - "$demo/epoch1.safetensors" <<'PY'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
n = struct.unpack("<Q", data[:8])[0]
head = json.loads(data[8:8 + n])
head["fc9.bias"] = head.pop("fc2.bias")
head["fc1.bias"]["shape"] = [4, 8]
text = json.dumps(head).encode()
open("bad.safetensors", "wb").write(
    struct.pack("<Q", len(text)) + text + data[8 + n:])


def npy(descr, shape, size):
    h = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (
        descr, shape)
    h += " " * (117 - len(h)) + "\n"
    return (b"\x93NUMPY\1\0" + struct.pack("<H", len(h)) + h.encode() +
            bytes(size))


open("f64.npy", "wb").write(npy("<f8", "(2, 1, 8, 8)", 1024))
open("shape.npy", "wb").write(npy("<f4", "(2, 1, 4, 8)", 256))
open("good.npy", "wb").write(npy("<f4", "(2, 1, 8, 8)", 512))
PY
"$HULL" compile "$demo/digits.onnx" --weights "$demo/epoch1.safetensors" \
    --cache cache -o one.hull >/dev/null
try refit one.hull bad.safetensors -o two.hull
[ ! -e two.hull ]
try run one.hull
try run one.hull --input f64.npy
try run one.hull --input shape.npy
try run one.hull --input "$demo/epoch1.safetensors"
try run one.hull --input good.npy
try run one.hull --input good.npy --expect good.npy
try run one.hull --input good.npy --output out.txt
