#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build into an empty folder, builds examples/ against that copy in
# both ways and runs the result on the demo's data: tests/install.sh BUILD
set -eu

build=$(realpath "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
prefix=$top/usr

passed=0
step() {
    echo "ok: $1"
    passed=$((passed + 1))
}

cmake --install "$build" --prefix "$prefix" >"$top/install.log" ||
    { cat "$top/install.log"; exit 1; }
for file in bin/hull include/hull.h; do
    [ -e "$prefix/$file" ] || { echo "no $file was installed"; exit 1; }
done
pc=$(find "$prefix" -name hull.pc)
library=$(find "$prefix" -name 'libhull.so.0')
[ -n "$pc" ] && [ -n "$library" ]
# What is installed must not depend on where it was built.
if grep -rIl "$build" "$prefix" | grep .; then
    echo "these installed files name the build folder"
    exit 1
fi
step "installed"

cmake -S "$root/examples" -B "$top/cmake" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_BUILD_TYPE=Release >"$top/cmake.log" 2>&1 ||
    { cat "$top/cmake.log"; exit 1; }
cmake --build "$top/cmake" >"$top/cmake.log" 2>&1 ||
    { cat "$top/cmake.log"; exit 1; }
step "example built with find_package"

mkdir "$top/pc"
cp "$root/examples/refit.c" "$root/examples/Makefile" "$top/pc"
PKG_CONFIG_PATH=$(dirname "$pc") make -s -C "$top/pc" refit
step "example built with pkg-config"

demo=$root/demo
LD_LIBRARY_PATH=$(dirname "$library")
export LD_LIBRARY_PATH
unset HULL_LOG HULL_DUMP
run() {
    "$1" "$demo/digits.onnx" "$demo/$2.safetensors" "$demo/$3.safetensors"
}
numbers() {
    sed 's/^.*: //'
}
run "$top/cmake/refit" epoch1 epoch20 >"$top/one"
run "$top/pc/refit" epoch1 epoch20 >"$top/two"
run "$top/pc/refit" epoch20 epoch1 >"$top/back"
cmp "$top/one" "$top/two"
cat "$top/one"
# A refit gives what a compile with the same weights gives, and not the old.
[ "$(sed -n 1p "$top/one" | numbers)" = "$(sed -n 2p "$top/back" | numbers)" ]
[ "$(sed -n 2p "$top/one" | numbers)" = "$(sed -n 1p "$top/back" | numbers)" ]
[ "$(sed -n 1p "$top/one" | numbers)" != "$(sed -n 2p "$top/one" | numbers)" ]
step "example ran"

echo "$passed passed, 0 failed, 0 skipped"
