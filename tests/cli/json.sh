# SPDX-License-Identifier: Apache-2.0
# The answer of each command with --json is one JSON object.
demo=$ROOT/demo
cache="--cache cache"
# check NAME ARGUMENT...: valid JSON; prints its keys
check() {
    local name=$1
    shift
    "$HULL" "$@" --json >text || true
    python3 -m json.tool text >/dev/null
    python3 -c "
import json
print('$name:', ' '.join(sorted(json.load(open('text')))))"
}

check compile compile "$demo/digits.onnx" $cache -o one.hull
check keys compile "$demo/digits.onnx" $cache --print-key
check refit refit one.hull "$demo/digits.onnx" $cache -o two.hull
check run run one.hull $cache --input "$demo/test.npz" --output out.npz
check expect run one.hull $cache --input "$demo/test.npz" --expect out.npz
check model inspect "$demo/digits.onnx" --text
check checkpoint inspect "$demo/epoch1.safetensors"
check tensors inspect "$demo/test.npz"
check module inspect one.hull --text
check engine inspect cache/v2/*/*.engine --text
check explain explain "$demo/digits.onnx" $cache
check stats cache stats $cache
check ls cache ls $cache
check verify cache verify $cache
check clear cache clear $cache
check options options
check version version
check help help
check error inspect absent
check usage run
check mismatch run one.hull --no-cache --input "$demo/test.npz" \
    --expect "$demo/test.npz"
