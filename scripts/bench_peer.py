#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Hull authors
"""One peer in a process of its own, with the protocol of `hull bench --serve`:

    bench_peer.py [--by-name] onnxruntime|openvino MODEL.onnx INPUTS.npz THREADS
                  [CACHE]

The first line of output tells the facts of the start: seconds from the call
that compiles to the first answer, and memory. Then a line per command:
  run SECONDS    {"ms": [...]}
  refit SECONDS  what the peer does for new weights: a session, or a compiled
                 model, made again from a file
  save FILE      outputs of the last run as output_0, output_1 ...
  call           {"us": N}: a run of a model that does nothing, which is what
                 calling from Python costs
Inputs and outputs lie in memory that is bound once, so that a run is the
library's work and one call from Python.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np


def status_bytes(key):
    with open("/proc/self/status") as f:
        for line in f:
            if line.startswith(key + ":"):
                return int(line.split()[1]) * 1024
    return 0


class OnnxRuntime:
    def __init__(self, path, inputs, threads, _cache):
        self.path, self.threads = path, threads
        self.session = self.make()
        self.binding = self.session.io_binding()
        for i in self.session.get_inputs():
            self.binding.bind_cpu_input(i.name, inputs[i.name])
        for o in self.session.get_outputs():
            self.binding.bind_output(o.name, "cpu")

    @staticmethod
    def load():
        import onnxruntime
        return onnxruntime.__version__

    @staticmethod
    def input_names(path):
        import onnxruntime
        o = onnxruntime.SessionOptions()
        o.graph_optimization_level = \
            onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        return [i.name for i in onnxruntime.InferenceSession(
            path, o, providers=["CPUExecutionProvider"]).get_inputs()]

    def make(self):
        import onnxruntime
        o = onnxruntime.SessionOptions()
        o.intra_op_num_threads = self.threads
        o.inter_op_num_threads = 1
        o.log_severity_level = 3
        return onnxruntime.InferenceSession(
            self.path, o, providers=["CPUExecutionProvider"])

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def outputs(self):
        return self.binding.copy_outputs_to_cpu()


class OpenVino:
    def __init__(self, path, inputs, threads, cache):
        import openvino
        self.path = path
        self.core = openvino.Core()
        # f32 as the others: by itself it takes bf16 where the CPU has it.
        self.config = {"PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": "1",
                       "INFERENCE_NUM_THREADS": str(threads),
                       "INFERENCE_PRECISION_HINT": "f32"}
        if cache:
            self.config["CACHE_DIR"] = cache
        model = self.make()
        self.request = model.create_infer_request()
        self.n = len(model.outputs)
        self.kept = []
        for port in model.inputs:
            t = openvino.Tensor(inputs[port.any_name], shared_memory=True)
            self.kept.append(t)
            self.request.set_tensor(port, t)

    @staticmethod
    def load():
        import openvino
        return openvino.__version__.split("-")[0]

    @staticmethod
    def input_names(path):
        import openvino
        return [p.any_name for p in openvino.Core().read_model(path).inputs]

    def make(self):
        return self.core.compile_model(self.path, "CPU", self.config)

    def run(self):
        self.request.infer()

    def outputs(self):
        return [self.request.get_output_tensor(i).data.copy()
                for i in range(self.n)]


PEERS = {"onnxruntime": OnnxRuntime, "openvino": OpenVino}


def timed(fn, seconds, least=3):
    ms = []
    while len(ms) < least or sum(ms) < seconds * 1e3:
        begin = time.perf_counter()
        fn()
        ms.append((time.perf_counter() - begin) * 1e3)
    return ms


def call_us(kind, threads):
    """Median of calls of a model that hands one number through."""
    import onnx
    from onnx import TensorProto, helper
    io = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1])
          for n in "xy"]
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g",
                              io[:1], io[1:])
    model = helper.make_model(graph, ir_version=8,
                              opset_imports=[helper.make_opsetid("", 17)])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        onnx.save(model, path)
        peer = kind(path, {"x": np.zeros(1, np.float32)}, threads, None)
        timed(peer.run, 0, 100)
        return statistics.median(timed(peer.run, 0, 1000)) * 1e3


def say(**answer):
    print(json.dumps(answer), flush=True)


def obey(peer, kind, threads, word, argument):
    if word == "run":
        say(ms=timed(peer.run, float(argument)))
    elif word == "refit":
        ms = timed(peer.make, float(argument))
        say(median_ms=statistics.median(ms), min_ms=min(ms), refits=len(ms))
    elif word == "save":
        np.savez(argument, **{f"output_{i}": y
                              for i, y in enumerate(peer.outputs())})
        say(saved=argument)
    elif word == "call":
        say(us=call_us(kind, threads))
    else:
        sys.exit(f"bench_peer: '{word}' is no command")


def find_inputs(path, kind_name, file, by_name):
    """By name, else input_<i>. To learn the names costs a session, whose memory
    must not count here: a child does it, unless all names are the model's."""
    if by_name:
        with np.load(file) as data:
            return {k: np.asarray(data[k], order="C") for k in data.files}
    out = subprocess.run(
        [sys.executable, __file__, "--names", kind_name, path],
        capture_output=True, text=True, check=True).stdout
    data = np.load(file)
    found = {}
    for i, name in enumerate(json.loads(out)):
        key = name if name in data.files else f"input_{i}"
        found[name] = np.asarray(data[key], order="C")
    return found


def main():
    if sys.argv[1] == "--names":
        print(json.dumps(PEERS[sys.argv[2]].input_names(sys.argv[3])))
        return
    by_name = sys.argv[1] == "--by-name"
    if by_name:
        del sys.argv[1]
    name, path, file, threads = sys.argv[1:5]
    cache = sys.argv[5] if len(sys.argv) > 5 else None
    kind, threads = PEERS[name], int(threads)
    inputs = find_inputs(path, name, file, by_name)
    version = kind.load()
    before, peak_before = status_bytes("VmRSS"), status_bytes("VmHWM")
    begin = time.perf_counter()
    peer = kind(path, inputs, threads, cache)
    compiled = time.perf_counter()
    peer.run()
    end = time.perf_counter()
    say(version=version, threads=threads, compile_seconds=compiled - begin,
        first_run_seconds=end - compiled,
        memory={"before_bytes": before, "peak_before_bytes": peak_before,
                "peak_bytes": status_bytes("VmHWM"),
                "own_bytes": status_bytes("RssAnon"),
                "mapped_bytes": status_bytes("RssFile")})
    for line in sys.stdin:
        word, _, argument = line.strip().partition(" ")
        obey(peer, kind, threads, word, argument)


if __name__ == "__main__":
    main()
