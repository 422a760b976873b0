# SPDX-License-Identifier: Apache-2.0
# A module without weights names what is missing, and is small.
export HULL_CACHE_DIR=$PWD/cache
demo=$ROOT/demo
"$HULL" compile "$demo/digits.onnx" --weights "$demo/epoch1.safetensors" \
    --cache cache --strip-weights -o bare.hull >text
grep 'without weights' text
attempt "$HULL" run bare.hull --input "$demo/test.npz"
[ "$(stat -c %s bare.hull)" -lt 65536 ]
"$HULL" compile "$demo/digits.onnx" --set strip_weights=on -o bare2.hull >text
grep 'without weights' text
attempt "$HULL" compile "$demo/digits.onnx" --set keep=nosuch -o x.hull
"$HULL" compile "$demo/digits.onnx" --set fallback=nosuch,relu -o x.hull \
    2>&1 >/dev/null
"$HULL" refit bare.hull "$demo/epoch1.safetensors" -o full.hull >/dev/null
"$HULL" run full.hull --input "$demo/test.npz"
