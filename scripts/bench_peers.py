#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Hull authors
"""New weights for a served model: Hull's refit against ONNX Runtime's new session.

    python3 -m venv /tmp/v && /tmp/v/bin/pip install onnxruntime
    /tmp/v/bin/python scripts/bench_peers.py [--shared ../shared] [--threads 2]

Run by hand. ONNX Runtime has no refit: its answer to a new checkpoint is a new
session from a model file with the new weights. Both are measured here in one
run, interleaved round by round, on the fixtures' dynamo.onnx; what Hull does
between two checkpoints is one call of hull_refit. Prints medians and the ratio.
"""
import argparse
import os
import statistics
import subprocess
import sys
import time

import onnxruntime

NAMES = ["mlp", "cnn", "resnet", "efficientnet", "convnext"]
ROUNDS = 5


def hull_refit_ms(bench, folder):
    """Median of 201 refits, from hull_bench."""
    out = subprocess.run(
        [bench, "build/bench-cache", f"{folder}/dynamo.onnx",
         f"{folder}/a.safetensors", f"{folder}/b.safetensors"],
        capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        if line.startswith("refit"):
            return float(line.split()[2])
    sys.exit(f"no refit in the output of {bench}")


def session_ms(model, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    start = time.perf_counter()
    onnxruntime.InferenceSession(model, options,
                                 providers=["CPUExecutionProvider"])
    return (time.perf_counter() - start) * 1e3


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--shared",
                   default=os.environ.get("HULL_SHARED", "../shared"))
    p.add_argument("--bench", default="build/hull_bench")
    p.add_argument("--threads", type=int, default=2)
    a = p.parse_args()
    print(f"onnxruntime {onnxruntime.__version__}, {a.threads} threads, "
          f"medians of {ROUNDS} rounds, ms")
    print(f"{'model':14} {'hull refit':>12} {'new session':>12} {'ratio':>8}")
    for name in NAMES:
        folder = os.path.join(a.shared, "fixtures", name)
        hull, peer = [], []
        for _ in range(ROUNDS):
            hull.append(hull_refit_ms(a.bench, folder))
            peer.append(statistics.median(
                session_ms(f"{folder}/dynamo.onnx", a.threads)
                for _ in range(5)))
        h, o = statistics.median(hull), statistics.median(peer)
        print(f"{name:14} {h:12.3f} {o:12.3f} {h / o:8.4f}")


if __name__ == "__main__":
    main()
