# SPDX-License-Identifier: Apache-2.0
# cache why-miss: hits, and in which lines and words the nearest entry differs:
# options, target, another graph, damage, notes and plans in between.
why() {
    "$HULL" cache why-miss "$@" --cache cache | sed -E \
        -e 's/key [0-9a-f]{64}/key KEY/' -e 's/kernels [0-9a-f]+/kernels N/g' \
        -e 's/nearest [0-9a-f]{16}, used [0-9TZ:-]+/nearest KEY, used TIME/'
}
export HULL_CPU_ISA=none
model=$ROOT/demo/digits.onnx
echo 'the cache is empty'
why "$model"
"$HULL" compile "$model" --cache cache --set cache_direct=off -o x.hull >log
echo 'from another exporter: with its batch norms, and with a range'
why "$ROOT/demo/digits.pt2"
echo 'an option and the target'
why "$model" --set fuse=off --set target=avx2
echo 'another backend'
why "$model" --backend ref
"$HULL" cache why-miss "$model" --cache cache --set fuse=off --json >text
python3 - <<'END'
import json
j = json.load(open("text"))
b = j["blocks"][0]
print(j["hits"], j["compared"], b["cache"], b["nearest"]["differ"])
print(b["reasons"], [d["sign"] + d["text"] for d in b["nearest"]["diff"]])
END

echo 'damaged, then set aside'
entry=$(find cache -name '*.engine')
printf X | dd of="$entry" bs=1 seek=100 conv=notrunc status=none
why "$model"
"$HULL" cache stats --cache cache | grep '^corrupt'
"$HULL" cache verify --cache cache >log 2>&1 || true
why "$model" | grep -o 'set aside'

echo 'there, but not signed'
printf 'a secret of enough bytes\n' >secret
chmod 600 secret
"$HULL" compile "$model" --cache cache --set cache_direct=off -o x.hull >log
why "$model" --set cache_secret=secret
"$HULL" compile "$model" --cache cache --set cache_direct=off -o x.hull --set cache_limit=4000 --set fuse=off >log
why "$model" | tail -n 2
