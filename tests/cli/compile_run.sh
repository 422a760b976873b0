# SPDX-License-Identifier: Apache-2.0
# Compile, run, refit and run again; the same by the other way round.
export HULL_CACHE_DIR=$PWD/cache
# Without seconds, rates and sizes of engines.
plain() {
    sed -E 's/[0-9.]+ s\b/N s/; s/[0-9.]+ GB/N GB/; s/engines [0-9]+/engines N/;
        s/[0-9]+ written/N written/'
}
try() { attempt "$HULL" "$@"; }
demo=$ROOT/demo
cache="--cache cache"

"$HULL" compile "$demo/digits.onnx" --weights "$demo/epoch1.safetensors" \
    $cache -o one.hull | plain
"$HULL" compile "$demo/digits.onnx" --weights "$demo/epoch2.safetensors" \
    $cache -o two.hull | plain
"$HULL" run one.hull --input "$demo/test.npz" --output one.npz
"$HULL" run two.hull --input "$demo/test.npz" --output two.safetensors
try run one.hull --input "$demo/test.npz" --expect one.npz --atol 0 --rtol 0
try run one.hull --input "$demo/test.npz" --expect two.safetensors >differs
tail -n 1 differs
grep -c 'out of tolerance' differs

"$HULL" refit one.hull "$demo/epoch2.safetensors" -o one_two.hull | plain
try run one_two.hull --input "$demo/test.npz" --expect two.safetensors \
    --atol 0 --rtol 0
"$HULL" refit one_two.hull "$demo/epoch1.safetensors" -o back.hull >/dev/null
try run back.hull --input "$demo/test.npz" --expect one.npz --atol 0 --rtol 0
# A model and a checkpoint, in one step; a module and a checkpoint.
try run "$demo/digits.onnx" $cache --weights "$demo/epoch2.safetensors" \
    --input "$demo/test.npz" --expect two.safetensors --atol 0 --rtol 0
try run one.hull --weights "$demo/epoch2.safetensors" \
    --input "$demo/test.npz" --expect two.safetensors --atol 0 --rtol 0
"$HULL" run one.hull --input "$demo/test.npz" --repeat 3 | sed 's/[0-9.]* s/N s/g'

# The default name; slots saved too: the same answers as the model's own.
"$HULL" compile "$demo/digits.onnx" $cache --prepared >/dev/null
"$HULL" run "$demo/digits.onnx" $cache --input "$demo/test.npz" \
    --output own.npz >/dev/null
try run digits.hull --input "$demo/test.npz" --expect own.npz \
    --atol 0 --rtol 0

# A link: needs its checkpoint, and no other.
"$HULL" compile "$demo/digits.onnx" --weights "$demo/epoch1.safetensors" \
    $cache --link -o link.hull >/dev/null
try run link.hull --weights "$demo/epoch1.safetensors" \
    --input "$demo/test.npz" --expect one.npz --atol 0 --rtol 0
try run link.hull --weights "$demo/epoch2.safetensors" \
    --input "$demo/test.npz" | sed -E 's/[0-9a-f]{64}/DIGEST/g'
try run link.hull --input "$demo/test.npz" | sed -E 's/[0-9a-f]{64}/DIGEST/g'

# Slots made before the run, by it, or both; the same answers.
for fill in now late run soon; do
    try run one.hull --weights "$demo/epoch2.safetensors" --set fill=$fill \
        --input "$demo/test.npz" --expect two.safetensors --atol 0 --rtol 0
done
