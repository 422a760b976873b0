#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Real trained models: right answers at each committed input size, and the refit
# pairs: compiled from one file, refitted from the other, right for the other.
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

# Inputs of every size, or of the named file only.
run() {
    for io in "$models/$1"/${3:-io*.npz}; do
        check "$1 $(basename "$io")" \
            "$hull" run "$2" --input "$io" --expect "$io" --atol 1e-3 --rtol 1e-3
    done
}

pair() {
    a=$(echo "$models/$1"/*.onnx)
    b=$(echo "$models/$2"/*.onnx)
    check "compile $1" "$hull" compile "$a" --no-cache -o "$scratch/a.hull"
    check "refit $1 from $2" \
        "$hull" refit "$scratch/a.hull" "$b" -o "$scratch/b.hull"
    run "$2" "$scratch/b.hull"
}

for name in ppocr-cls basic-pitch eeg-seizure-A; do
    run "$name" "$(echo "$models/$name"/*.onnx)"
done
# Nine seconds of audio: one size is enough for the reference kernels. The other
# model of each pair is run after the refit.
run dnsmos-p835 "$(echo "$models"/dnsmos-p835/*.onnx)" io.npz
pair eeg-seizure-A eeg-seizure-B
pair dnsmos-p835 pdnsmos-p835
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
