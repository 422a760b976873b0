#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What compiling, a cache hit, a refit and a run cost here: the demo's model, and
# the shared fixtures of one image input where they are present.
set -eu
cd "$(dirname "$0")/.."

bench() {
    echo "== $1"
    build/hull_bench build/bench-cache "$2" "$3" "$4"
    echo
}

bench digits demo/digits.onnx demo/epoch1.safetensors demo/epoch20.safetensors
for name in mlp cnn resnet efficientnet convnext vit; do
    folder=${HULL_SHARED:-../shared}/fixtures/$name
    [ -d "$folder" ] || continue
    bench "$name" "$folder/train.pt2" "$folder/a.safetensors" \
        "$folder/b.safetensors"
done
