# SPDX-License-Identifier: Apache-2.0
# The plan of the demo's model, as text and for dot.
demo=$ROOT/demo
# The key holds a digest of the kernels' sources. On ref: kernels and times are
# those of this machine's level elsewhere.
"$HULL" explain "$demo/digits.onnx" --weights "$demo/epoch1.safetensors" \
    --cache cache --backend ref |
    sed -E 's/key [0-9a-f]{64}/key K/; s/made by [^:]*/made by P/'
# What no kernel takes is said, and why.
cat >odd.py <<'PYTHON'
import json, sys

plan = json.load(sys.stdin)
for b in plan["blocks"]:
    for n in b["kernels"]:
        assert n["kernel"] and n["op"] and n["name"], n
        assert n["kernel"] != "ref" or n["why_not"], n
        ways = n.get("ways", [])
        assert not ways or sum(w["taken"] for w in ways) == 1, n
        if n["kernel"] != "view":
            assert n["predicted_ms"] > 0, n
    print(b["name"], len(b["kernels"]), len(b["prepare"]))
PYTHON
"$HULL" explain "$demo/digits.onnx" --no-cache --json | python3 odd.py
HULL_CPU_ISA=none "$HULL" explain "$demo/digits.onnx" --no-cache |
    grep -c 'its kernels need more than this CPU has'
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

# With tune=on the first compile times what there is to choose from, and explain
# shows it; the second model with such layers only reads. Other keys.
few="--cache cache --set tune=on --set threads=1"
"$HULL" compile "$demo/digits.onnx" $few -o two.hull | grep -o 'cache miss'
"$HULL" compile "$demo/digits.onnx" $few -o two.hull | grep -o 'cache hit'
"$HULL" cache ls --cache cache | grep -c notes
"$HULL" explain "$demo/digits.onnx" $few --json >tuned.json
"$HULL" bench "$demo/digits.onnx" $few --weights "$demo/epoch1.safetensors" \
    --rounds 1 --seconds 0.01 --save-profile >/dev/null
"$HULL" explain "$demo/digits.onnx" $few --json >measured.json
python3 - <<'PYTHON'
import json

kernels = [json.load(open(f))["blocks"][0]["kernels"]
           for f in ("plan.json", "tuned.json", "measured.json")]
assert not any("timed_ms" in w for n in kernels[0] for w in n.get("ways", []))
for n in kernels[1]:
    ways = n.get("ways", [])
    if len(ways) > 1:
        least = min(ways, key=lambda w: w["timed_ms"])
        assert least["taken"], n
assert not any("measured_ms" in n for n in kernels[0] + kernels[1])
for n in kernels[2]:
    assert n["kernel"] == "view" or n["measured_ms"] > 0, n
print(len(kernels[2]), "nodes measured")
PYTHON
code=0
"$HULL" bench "$demo/digits.onnx" --weights "$demo/epoch1.safetensors" \
    --rounds 1 --seconds 0 --no-cache --save-profile 2>&1 >/dev/null || code=$?
echo "exit $code"
"$HULL" inspect "$(ls cache/v2/*/*.notes | head -n 1)" | grep -Eo '^(key|notes):'
