#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes sure that the Debian packages are there: setup.sh build|test
#
# Asks dpkg first and touches nothing when all are installed. As root it
# installs what is missing, once; otherwise it prints the line that would and
# stops. Where there is no dpkg, CMake will say what it misses.
set -eu

build="gcc make cmake ninja-build pkg-config libc6-dev libcurl4-openssl-dev
libhiredis-dev libjansson-dev libjpeg62-turbo-dev libopenjp2-7-dev
libpcre2-dev libpng-dev libsodium-dev libtiff-dev libwebp-dev libxxhash-dev
libzstd-dev zlib1g-dev"
test="g++ binutils python3 clang libclang-rt-14-dev libcmocka-dev libzip-dev
iproute2 libonnx-dev libonnx-testdata libprotobuf-c-dev nginx-light openssl
protobuf-c-compiler redis-server zstd"

case "${1-}" in
build) want=$build ;;
test) want="$build $test" ;;
*)
    echo "usage: scripts/setup.sh build|test" >&2
    exit 2
    ;;
esac

command -v dpkg-query >/dev/null || exit 0

missing=
for package in $want; do
    state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) ||
        state=
    [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
    echo "Hull needs packages that are not installed. Run:" >&2
    echo "  sudo apt-get install -y --no-install-recommends$missing" >&2
    exit 1
fi

echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get -q -q update
# shellcheck disable=SC2086  # a list of names
apt-get -q -y install --no-install-recommends $missing
