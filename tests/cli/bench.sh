# SPDX-License-Identifier: Apache-2.0
# Fields are there and make sense; what they say depends on the machine.
demo=$ROOT/demo
model="$demo/digits.onnx --weights $demo/epoch1.safetensors --no-cache"
few="--rounds 2 --seconds 0.01 --backend ref"
try() { attempt "$HULL" "$@"; }
# Numbers as N, columns by one space.
plain() {
    sed -E 's/[0-9]+(\.[0-9]+)?/N/g; s/ +/ /g'
}

"$HULL" bench $model $few --input "$demo/test.npz" --sessions 1,2 \
    --refit "$demo/epoch2.safetensors" | plain
"$HULL" bench $model $few --profile | sed 1,2d | plain | sort | uniq -c |
    sed 's/^ *//'
for backend in ref cpu; do
    "$HULL" bench $model $few --backend $backend --sessions 2 --roofline \
        --trace $backend.trace --refit "$demo/epoch2.safetensors" --json \
        >$backend.json
done
python3 - <<'PYTHON'
import json

for backend in ("ref", "cpu"):
    b = json.load(open(backend + ".json"))
    print(backend, sorted(b))
    one = b["latency"]
    assert len(one["round_median_ms"]) == 2 and one["runs"] >= 6
    assert 0 < one["min_ms"] <= one["median_ms"] <= one["p95_ms"]
    assert b["throughput"][0]["sessions"] == 2
    assert b["throughput"][0]["runs_per_second"] > 0
    memory = b["memory"]
    assert 1e6 < memory["before_bytes"] <= memory["peak_bytes"]
    assert memory["own_bytes"] > 0 and memory["mapped_bytes"] > 0
    assert b["compile_seconds"] > 0 and b["first_run_seconds"] > 0
    refit = b["refit"]
    assert refit["bytes_read"] > 0 and refit["median_ms"] > 0
    assert refit["slots"] >= refit["slots_borrowed"]
    p = b["profile"]
    peak = p["peak"]
    assert peak["gflops"] > 0 and peak["gbps"] > 0
    assert peak["bf16_gflops"] > 0 and peak["int8_gops"] > 0
    assert min(peak["cache_gbps"]) > 0
    assert abs(sum(n["percent"] for n in p["nodes"]) - 100) < 1e-6
    for n in p["nodes"]:
        assert n["ms"] >= 0 and n["gbps"] >= 0 and n["name"], n
        # What is above comes from other work on the machine.
        assert 0 <= n["roofline_percent"] < 300 and n["kernel"], n
    # Two convolutions and two products have operations.
    products = [n for n in p["nodes"] if "gflops" in n]
    assert len(products) == 4, products
    assert all(n["gflops"] > 0 for n in products)
    trace = json.load(open(backend + ".trace"))["traceEvents"]
    assert len(trace) == len(p["nodes"])
    assert all(e["ph"] == "X" and e["dur"] >= 0 for e in trace)
    assert sorted(e["cat"] for e in trace) == sorted(n["op"]
                                                     for n in p["nodes"])
ref = json.load(open("ref.json"))["profile"]["nodes"]
print(sorted(n["op"] for n in ref), {n["kernel"] for n in ref})
PYTHON

# By commands, for scripts.
printf 'run 0\nsave out.npz\nrefit 0\nrun 0\n' |
    "$HULL" bench $model --serve --input "$demo/test.npz" \
        --refit "$demo/epoch2.safetensors" >served
python3 - <<'PYTHON'
import json

for line in open("served"):
    print(sorted(json.loads(line)))
PYTHON
try run $model --weights "$demo/epoch1.safetensors" \
    --input "$demo/test.npz" --expect out.npz --atol 0 --rtol 0
echo sing | try bench $model --serve | sed 1d
try bench $model --size N=3 $few | plain
try bench $model --size M=3
try bench $model --size N
try bench $model --sessions 0 $few | sed 1,2d
try bench $model --rounds 0
try bench $model --threads many
