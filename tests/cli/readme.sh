# SPDX-License-Identifier: Apache-2.0
# The commands that README.md shows run as they stand there.
export HULL_CACHE_DIR=$PWD/cache
ln -s "$ROOT/demo" demo
mkdir build
ln -s "$HULL" build/hull
sed -n '/^After `make`, in this folder:$/,/^From C/s/^    //p' \
    "$ROOT/README.md" >commands
grep -c '^hull ' commands
sh -eu commands >text
grep -c 'max abs 0, max rel 0, ok' text
