#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The demo, twice with one cache: a miss, then a hit, with equal answers. The
# program itself compares every answer with PyTorch's. tests/demo.sh BUILD
set -eu

build=$(realpath "$1")
cd "$(dirname "$0")/.."
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT

"$build/hull_demo" demo "$top/cache" >"$top/first"
"$build/hull_demo" demo "$top/cache" >"$top/second"
cat "$top/first"
grep -q 'cache miss$' "$top/first"
grep -q 'cache hit$' "$top/second"
[ "$(grep -c 'safetensors .* miss ' "$top/first")" -eq 4 ]
[ "$(grep -c 'safetensors .* hit ' "$top/second")" -eq 4 ]
diff <(grep says "$top/first") <(grep says "$top/second")
