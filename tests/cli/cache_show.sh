# SPDX-License-Identifier: Apache-2.0
# cache ls, show, and what is wrong with a command: a cache of two engines and
# the times of one.
export HULL_CPU_ISA=none
model=$ROOT/demo/digits.onnx
try() { attempt "$HULL" cache "$@" --cache cache; }
names() {
    sed -E -e 's/[0-9a-f]{64}/KEY/g' -e 's/kernels [0-9a-f]+/kernels N/' \
        -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]+Z/TIME/' \
        -e 's/[0-9.]+ (B|KiB)/SIZE/' -e 's/[0-9]+ bytes, [0-9]+ stored/SIZES/' \
        -e 's/^bytes: [0-9]+/bytes: N/' -e 's|^path: .*|path: PATH|' \
        -e 's/[0-9.]+ ms/N ms/' -e 's/[0-9]+ threads/N threads/' \
        -e 's/ +/ /g'
}
try ls
"$HULL" compile "$model" --cache cache --set cache_direct=off -o x.hull >log
"$HULL" compile "$model" --cache cache --set cache_direct=off -o x.hull --set fuse=off >log
"$HULL" run "$model" --cache cache --set cache_direct=off -i "$ROOT/demo/test.npz" >log
try ls | names
try ls --kind engine | names
try ls --kind frob
# The last used one is first.
key=$("$HULL" cache ls --cache cache | head -n 1 | cut -d ' ' -f 1)
[ "$key" = "$("$HULL" compile "$model" --print-key)" ]
"$HULL" cache ls --cache cache --json >text
python3 -c 'import json, os
e = json.load(open("text"))["entries"]
assert all(os.path.getsize(i["path"]) == i["bytes"] for i in e)
assert [i["used"] for i in e] == sorted((i["used"] for i in e), reverse=True)
print(len(e), {i["kind"] for i in e})'
try show "${key:0:12}" | names
[ "$("$HULL" cache show "$key" --cache cache)" = \
    "$("$HULL" cache show "$(find cache -name "${key:2}.engine")" --cache cache)" ]
ln -s "$(find cache -name "${key:2}.engine")" link
[ "$("$HULL" cache show "$key" --cache cache | grep -v '^path')" = \
    "$("$HULL" cache show link --cache cache | grep -v '^path')" ]
"$HULL" cache show "$key" --cache cache --json >text
python3 -c 'import json
j = json.load(open("text"))
print(j["options"]["fuse"], j["kind"], j["preimage"].splitlines()[0])'

# Times of tuning, readable.
"$HULL" bench "$model" --cache cache --set cache_direct=off -i "$ROOT/demo/test.npz" --save-profile \
    --profile --rounds 1 --seconds 0.01 --threads 1 >log 2>&1
"$HULL" cache ls --cache cache --kind notes | names
notes=$("$HULL" cache ls --cache cache --kind notes | cut -d ' ' -f 1)
try show "$notes" | names | sed -E 's/^( [0-9]+ N ms)/TIME/' | sort -u
try show ''  | sed -E 's/[0-9a-f]{16}/KEY/g' |
    sed -E 's/: KEY \(.*/: .../'
try show feed
try show frob
try shw
try ls extra
try show
try stats --kind engine
try ls --limit 5
try why-miss
try stats --json | grep -E 'hit_rate|"hits"'
