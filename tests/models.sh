#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Real trained models: right answers at each committed input size, and the refit
# pairs: compiled from one file, refitted from the other, right for the other,
# refitted from the first, bit by bit what it was.
#
#     tests/models.sh BUILD
set -u
hull=$1/hull
models=${HULL_SHARED:-../shared}/models
[ -d "$models" ] || { echo "0 passed, 0 failed, 1 skipped"; exit 0; }
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
passed=0
failed=0

# What is printed is shown when it fails.
check() {
    what=$1
    shift
    if "$@" >"$scratch/log" 2>&1; then
        echo "ok    $what"
        passed=$((passed + 1))
    else
        echo "FAIL  $what"
        sed 's/^/      /' "$scratch/log"
        failed=$((failed + 1))
    fi
}

# Inputs of every size. A net that quantises what it computes doubles every
# rounding: where a last bit differs a step of 1/255 may, so ONNX Runtime in four
# threads is 0.38 from itself in one.
run() {
    tolerance=1e-3
    case $1 in *int8) tolerance=0.2 ;; esac
    for io in "$models/$1"/io*.npz; do
        check "$1 $(basename "$io")" "$hull" run "$2" --input "$io" \
            --expect "$io" --atol $tolerance --rtol 1e-3
    done
}

# Outputs for the first size, to be compared byte by byte.
keep() {
    check "$1 outputs" "$hull" run "$2" --input "$models/${1% *}/io.npz" -o "$3"
}

# A, then B, then A again.
pair() {
    a=$(echo "$models/$1"/*.onnx)
    b=$(echo "$models/$2"/*.onnx)
    check "compile $1" "$hull" compile "$a" --no-cache -o "$scratch/a.hull"
    keep "$1" "$scratch/a.hull" "$scratch/before.safetensors"
    check "refit $1 from $2" \
        "$hull" refit "$scratch/a.hull" "$b" -o "$scratch/b.hull"
    run "$2" "$scratch/b.hull"
    check "refit $1 from $1" \
        "$hull" refit "$scratch/b.hull" "$a" -o "$scratch/a.hull"
    keep "$1" "$scratch/a.hull" "$scratch/after.safetensors"
    check "$1 as before" \
        cmp "$scratch/before.safetensors" "$scratch/after.safetensors"
}

# The second of each pair is run after the refit.
for dir in "$models"/*/; do
    name=$(basename "$dir")
    case $name in checkpoints | eeg-seizure-B | pdnsmos-p835) continue ;; esac
    run "$name" "$(echo "$dir"*.onnx)"
    check "save $name" "$hull" compile "$(echo "$dir"*.onnx)" --no-cache \
        -o "$scratch/saved.hull"
    keep "$name saved" "$scratch/saved.hull" "$scratch/saved.safetensors"
done
pair eeg-seizure-A eeg-seizure-B
pair dnsmos-p835 pdnsmos-p835
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
