#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The demo of `make demo`. The cache folder outlives it, so a second run hits.
set -eu
cd "$(dirname "$0")/.."
exec build/hull_demo demo "${HULL_CACHE_DIR:-build/demo-cache}"
