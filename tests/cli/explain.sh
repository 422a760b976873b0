# SPDX-License-Identifier: Apache-2.0
# The plan of the demo's model, as text and for dot.
demo=$ROOT/demo
# The key holds a digest of the kernels' sources.
"$HULL" explain "$demo/digits.onnx" --weights "$demo/epoch1.safetensors" \
    --cache cache | sed -E 's/key [0-9a-f]{64}/key K/; s/made by [^:]*/made by P/'
"$HULL" explain "$demo/digits.onnx" --no-cache --graphviz
"$HULL" explain "$demo/digits.onnx" --no-cache --json >plan.json
"$HULL" compile "$demo/digits.onnx" --cache cache --print-key >keys
python3 -c "
import json
plan = json.load(open('plan.json'))
print([b['key'] for b in plan['blocks']] == open('keys').read().split())"
ls *.hull 2>/dev/null || echo 'nothing was built'
"$HULL" compile "$demo/digits.onnx" --cache cache -o one.hull >/dev/null
"$HULL" explain "$demo/digits.onnx" --cache cache | grep -o 'cache hit'
