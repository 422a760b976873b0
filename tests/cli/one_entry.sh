# SPDX-License-Identifier: Apache-2.0
# Two exports of one architecture by two exporters, with two checkpoints: one
# engine, built once; and a plan of each.
fixtures=$SHARED/fixtures/mlp
[ -d "$fixtures" ] || { echo "no shared fixtures"; exit 77; }
"$HULL" compile "$fixtures/dynamo.onnx" -w "$fixtures/a.safetensors" \
    --cache cache -o a.hull >a.txt
"$HULL" compile "$fixtures/legacy.onnx" -w "$fixtures/b.safetensors" \
    --cache cache -o b.hull >b.txt
"$HULL" cache stats --cache cache | awk '{ print $1, $2 }' |
    grep -E '^(hits|misses|builds|stores|corrupt|errors|entries|direct_.*) '
ls cache/v2/*/* | grep -o '[.][a-z]*$' | sort | uniq -c
"$HULL" run a.hull --input "$fixtures/io_a.safetensors" \
    --expect "$fixtures/io_a.safetensors" >a.txt && echo a is right
"$HULL" run b.hull --input "$fixtures/io_b.safetensors" \
    --expect "$fixtures/io_b.safetensors" >b.txt && echo b is right
