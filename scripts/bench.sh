#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What compiling, a cache hit, a refit and a run of the demo's model cost here.
set -eu
cd "$(dirname "$0")/.."
exec build/hull_bench build/bench-cache demo/digits.onnx \
    demo/epoch1.safetensors demo/epoch20.safetensors
