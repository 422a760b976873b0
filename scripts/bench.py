#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Hull authors
"""`make bench`: Hull beside ONNX Runtime and OpenVINO, in one run.

    make bench                                 everything, about an hour
    make bench BENCH=latency MODELS=resnet18,vit ROUNDS=9
    scripts/bench.py --bench refit --models bert --threads 2

Parts (BENCH): latency; refit, to a second checkpoint (peers: a new session, a
new compile); start, the compile call to the first answer, which makes its slots
(fill=late), the same from a cache, and with all slots filled before it;
process, from the start of a process to its first answer, with an empty cache,
from its folder and from a remote store; memory, the peak until the first answer
as a multiple of the weights, slots filled and (memory-run) made by each run;
scale, Hull's own throughput of 4 sessions and of a batch of 8, by threads on as
many CPUs; lowp, narrow types beside f32 and the memory (bench_lowp.py, no
peers, no models).
Models (MODELS): resnet18 resnet50 mobilenet vit bert gpt2, together `zoo`;
folders of the shared models, together `shared` (against ONNX Runtime only);
fixture-NAME, together `fixtures`. Without MODELS: zoo and shared.

Method. Every library runs in a process of its own per model and thread count,
because the workers of a pool spin on after their run and would take the other's
cores. The processes wait on a pipe and measure when they are told, in turns
that rotate each round; between turns the pools get time to fall asleep. Hull runs
as `hull bench --serve`, in C: a Python wrapper would add nothing but noise. The
peers are driven from Python over memory that is bound once; `call` in the
output is what that call costs with an empty model. All read the same .onnx file
and the same inputs. Outputs are compared before anything is timed. A ratio is
the median over rounds of Hull's median to the peer's median of the same round;
below 1 Hull is faster.

Needs Python's venv, and PyPI for the first run. Writes bench.json (a list of
rows, and what they were measured on) and bench.svg into the build folder.
"""
import argparse
import glob
import hashlib
import http.server
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HERE = os.path.join(ROOT, "scripts")
ZOO = ["resnet18", "resnet50", "mobilenet", "vit", "bert", "gpt2"]
PARTS = ["latency", "refit", "start", "process", "memory", "scale", "lowp"]
PEERS = ["onnxruntime", "openvino"]
SLEEP = 0.1        # seconds between turns: spinning workers fall asleep
# Largest difference as a part of the largest value. Integer models differ by a
# step of a quantiser.
TOLERANCE = 2e-3
LOOSE = {"smart-turn-v3-qdq": 5e-2, "tashkeel-bilstm-int8": 5e-2}


def fail(text):
    sys.exit(f"bench: {text}")


# ---- the environment --------------------------------------------------------

def pip(python, *args, may_fail=False):
    p = subprocess.run([python, "-m", "pip", "install", "--quiet",
                        "--disable-pip-version-check", *args],
                       capture_output=True, text=True)
    if p.returncode == 0:
        return True
    if may_fail:
        return False
    lines = [s for s in p.stderr.strip().splitlines() if s.strip()]
    fail("the packages of scripts/bench_requirements.txt cannot be installed "
         "(is pypi.org reachable? Another Python that has them: --python "
         "PATH): " + (lines[-1] if lines else "no message"))


def ensure_python(folder):
    """build/bench-venv with the pinned packages; made once."""
    wanted = os.path.join(HERE, "bench_requirements.txt")
    with open(wanted, "rb") as f:
        mark = hashlib.sha256(f.read()).hexdigest()
    python = os.path.join(folder, "bin", "python")
    done = os.path.join(folder, "done")
    if os.path.exists(done) and open(done).read() == mark:
        return python
    print(f"bench: installing the peers into {folder}, once", flush=True)
    p = subprocess.run([sys.executable, "-m", "venv", folder],
                       capture_output=True, text=True)
    if p.returncode != 0:
        fail("a virtual environment cannot be made (Debian: python3-venv): "
             + (p.stdout + p.stderr).strip().splitlines()[-1])
    with open(wanted) as f:
        torch = [s.strip() for s in f if s.startswith("torch")]
    # Without CUDA it is a tenth as large; PyPI's own build does as well.
    pip(python, "--timeout", "10", "--retries", "0", "--index-url",
        "https://download.pytorch.org/whl/cpu", *torch, may_fail=True)
    pip(python, "-r", wanted)
    with open(done, "w") as f:
        f.write(mark)
    return python


# ---- models -----------------------------------------------------------------

class Model:
    """group: zoo, shared or fixtures; a, b: two checkpoints."""

    def __init__(self, group, name, path, inputs, peers, a=None, b=None,
                 hull_path=None):
        self.group, self.name, self.path, self.inputs, self.peers = \
            group, name, path, inputs, peers
        self.a, self.b = a, b
        self.hull_path = hull_path or path
        self.weight_bytes = os.path.getsize(a or path)


def zoo_model(o, name):
    base = os.path.join(o.build, "bench-models", name)
    if not os.path.exists(base + ".npz"):
        p = subprocess.run([o.python, os.path.join(HERE, "bench_export.py"),
                            os.path.dirname(base), name],
                           capture_output=True, text=True)
        if p.returncode != 0:
            fail(f"{name} cannot be exported: "
                 + (p.stderr.strip().splitlines() or ["no message"])[-1])
        print(f"exported {name}", flush=True)
    return Model("zoo", name, base + ".onnx", base + ".npz", PEERS,
                 base + ".a.safetensors", base + ".b.safetensors",
                 f"{base}.{o.format}")


def shared_models(o):
    """{name: Model} of the shared folder; empty without it."""
    found = {}
    pattern = os.path.join(o.shared, "models", "*", "io.npz")
    for inputs in sorted(glob.glob(pattern)):
        folder = os.path.dirname(inputs)
        files = glob.glob(os.path.join(folder, "*.onnx"))
        if len(files) == 1:
            name = os.path.basename(folder)
            found[name] = Model("shared", name, files[0], inputs, PEERS[:1])
    return found


def fixture_models(o):
    """{"fixture-NAME": Model} of those with an ONNX file that keeps the
    checkpoint's names."""
    found = {}
    for io in sorted(glob.glob(os.path.join(o.shared, "fixtures", "*",
                                            "io_a.safetensors"))):
        folder = os.path.dirname(io)
        path = os.path.join(folder, "dynamo.onnx")
        name = "fixture-" + os.path.basename(folder)
        if os.path.exists(path):
            found[name] = Model(
                "fixtures", name, path,
                os.path.join(o.build, "bench-models", name + ".npz"), PEERS,
                os.path.join(folder, "a.safetensors"),
                os.path.join(folder, "b.safetensors"))
    return found


def fixture_inputs(o, m):
    """The peers read .npz."""
    import numpy as np
    from safetensors.numpy import load_file
    os.makedirs(os.path.dirname(m.inputs), exist_ok=True)
    tensors = load_file(os.path.join(os.path.dirname(m.path),
                                     "io_a.safetensors"))
    np.savez(m.inputs, **{k: v for k, v in tensors.items() if "." not in k})


def chosen_models(o):
    others = {**shared_models(o), **fixture_models(o)}
    groups = {"zoo": ZOO}
    for name, m in others.items():
        groups.setdefault(m.group, []).append(name)
    words = []
    for w in o.models.split(","):
        if w in ("shared", "fixtures") and w not in groups:
            print(f"bench: no {w} models in {o.shared}: left out")
        words += groups.get(w, [w] if w not in ("shared", "fixtures") else [])
    for w in words:
        if w not in ZOO and w not in others:
            fail(f"there is no model '{w}', there are "
                 + " ".join(ZOO + list(others)))
    models = [others[w] if w in others else zoo_model(o, w) for w in words]
    for m in models:
        if m.group == "fixtures":
            fixture_inputs(o, m)
    return models


# ---- one library in a process of its own ------------------------------------

class Child:
    """A library that serves one model; reads its first line at once."""

    def __init__(self, name, argv):
        self.name = name
        begin = time.perf_counter()
        self.err = tempfile.TemporaryFile("w+") # a full pipe would stop it
        self.p = subprocess.Popen(argv, stdin=subprocess.PIPE, text=True,
                                  stdout=subprocess.PIPE, stderr=self.err)
        self.facts = self.read()
        self.facts["process_ms"] = (time.perf_counter() - begin) * 1e3

    def read(self):
        line = self.p.stdout.readline()
        if line:
            return json.loads(line)
        status = self.p.wait()
        self.err.seek(0)
        last = self.err.read().strip().splitlines() or [f"exit {status}"]
        raise RuntimeError(f"{self.name}: {last[-1]}")

    def ask(self, command):
        try:
            self.p.stdin.write(command + "\n")
            self.p.stdin.flush()
        except BrokenPipeError:
            pass # read tells why
        return self.read()

    def run_ms(self, seconds):
        return statistics.median(self.ask(f"run {seconds}")["ms"])

    def close(self):
        try:
            self.p.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self.p.wait(10)
        except subprocess.TimeoutExpired:
            self.p.kill()
            self.p.wait()
        self.p.stdout.close()
        self.err.close()


def start(o, library, m, threads, cache=None, refit=False, options=(),
          named=None):
    """named: a file of the inputs by the peers' names, so that a peer need not
    ask for them."""
    if library != "hull":
        return Child(library, [o.python, os.path.join(HERE, "bench_peer.py"),
                               *(["--by-name"] if named else []),
                               library, m.path, named or m.inputs,
                               str(threads)]
                     + ([cache] if cache else []))
    argv = [o.hull, "bench", m.hull_path, "--serve", "--backend", o.backend,
            "--threads", str(threads), "--input", m.inputs]
    argv += ["--cache", cache] if cache else ["--no-cache"]
    for option in [*o.set, *options]:
        argv += ["--set", option]
    if refit and m.b:
        # Exporters fold some weights; their own values tell how.
        argv += ["--weights", m.a, "--refit", m.b, "--set", "learn=on",
                 "--set", "spare=on"]
    return Child("hull", argv)


def start_all(o, m, threads, refit=False):
    """Hull and those peers that can; what cannot is said once."""
    children = {}
    for library in ["hull"] + m.peers:
        try:
            children[library] = start(o, library, m, threads, refit=refit)
        except RuntimeError as e:
            o.failures.append(f"{m.name}, {threads} threads: {e}")
            print(f"FAILED {o.failures[-1]}", flush=True)
    return children


def close_all(children):
    for c in children.values():
        c.close()


def rotate(names, i):
    k = i % len(names)
    return names[k:] + names[:k]


# ---- agreement --------------------------------------------------------------

def arrays(path):
    import numpy as np
    with np.load(path) as z:
        return [z[k] for k in z.files]


def difference(a, b):
    """Largest difference, relative to the largest value of b."""
    import numpy as np
    if a.shape != b.shape or a.dtype.kind != b.dtype.kind:
        return math.inf
    a, b = a.astype(np.float64), b.astype(np.float64)
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return math.inf
    ok = np.isfinite(b)
    if not ok.any():
        return 0.0
    return float(np.abs(a - b)[ok].max() / max(np.abs(b)[ok].max(), 1e-30))


def agree(o, m, children):
    """Hull's outputs against those of every peer and of the exporter."""
    limit = LOOSE.get(m.name, TOLERANCE)
    outputs = {}
    for name, c in children.items():
        c.ask("run 0")
        path = os.path.join(o.build, f"bench-{name}.npz")
        c.ask(f"save {path}")
        outputs[name] = arrays(path)
        os.remove(path)
    if m.group == "zoo":
        import numpy as np
        with np.load(m.inputs) as z:
            outputs["pytorch"] = [z["output_0"]]
    if not any(y.any() for y in outputs["hull"]):
        o.failures.append(f"{m.name}: every output is 0, which proves nothing")
        print(f"FAILED {o.failures[-1]}", flush=True)
        return False
    worst = 0.0
    for name, theirs in outputs.items():
        ours = outputs["hull"]
        d = math.inf if len(ours) != len(theirs) else \
            max(map(difference, ours, theirs), default=0.0)
        worst = max(worst, d)
        if d > limit:
            o.failures.append(f"{m.name}: hull differs from {name} by "
                              f"{d:.2g} of the largest value, limit {limit}")
            print(f"FAILED {o.failures[-1]}", flush=True)
            return False
    print(f"{m.name}: outputs of {', '.join(outputs)} agree within "
          f"{worst:.1g} of the largest value", flush=True)
    return True


# ---- measurements -----------------------------------------------------------

def number(x):
    if x is None:
        return "-"
    return f"{x:.3f}" if x >= 0.1 else f"{x:.2g}"


def add(o, bench, m, threads, unit, hull, peer, values, ratios=None,
        **more):
    """A row; hull and values are lists over the same rounds."""
    if ratios is None:
        ratios = [h / v for h, v in zip(hull, values) if v > 0]
    row = {"bench": bench, "model": m.name, "group": m.group,
           "threads": threads,
           "isa": o.isa, "hull": statistics.median(hull), "peer": peer,
           "peer_value": statistics.median(values), "unit": unit,
           "ratio": statistics.median(ratios) if ratios else None,
           "ratio_least": min(ratios) if ratios else None,
           "ratio_most": max(ratios) if ratios else None,
           "rounds": len(hull),
           **more}
    o.rows.append(row)
    print(f"  {bench:12} {m.name:14} {threads} threads: hull "
          f"{row['hull']:.4g}, {peer} {row['peer_value']:.4g} {unit}, "
          f"ratio {number(row['ratio'])} [{number(row['ratio_least'])}, "
          f"{number(row['ratio_most'])}]", flush=True)


def add_all(o, bench, m, threads, unit, taken, **more):
    for peer in taken:
        if peer != "hull":
            add(o, bench, m, threads, unit, taken["hull"], peer, taken[peer],
                **more)


def in_turns(o, children, measure):
    """{name: [value of each round]}; the first round is a warm-up."""
    taken = {name: [] for name in children}
    for i in range(o.rounds + 1):
        for name in rotate(list(children), i):
            value = measure(children[name])
            if i > 0:
                taken[name].append(value)
            time.sleep(SLEEP)
    return taken


def bench_latency(o, m, threads):
    children = start_all(o, m, threads)
    try:
        if "hull" in children and len(children) > 1 and \
                agree(o, m, children):
            o.isa = children["hull"].facts["isa"]
            taken = in_turns(o, children, lambda c: c.run_ms(o.seconds))
            add_all(o, "latency", m, threads, "ms", taken)
            for name, c in children.items():
                if name != "hull" and name not in o.call_us:
                    o.call_us[name] = c.ask("call")["us"]
    finally:
        close_all(children)


def bench_refit(o, m, threads):
    if m.b is None:
        return
    children = start_all(o, m, threads, refit=True)
    facts = []

    def measure(c):
        f = c.ask(f"refit {o.seconds}")
        if c.name == "hull":
            facts.append(f)
        return f["median_ms"]

    try:
        if "hull" in children and agree(o, m, children):
            o.isa = children["hull"].facts["isa"]
            taken = in_turns(o, children, measure)
            first = facts[0]["first_ms"]
            facts = facts[1:]
            add_all(o, "refit", m, threads, "ms", taken)
            add(o, "refit", m, threads, "ms", taken["hull"], "memcpy",
                [f["memcpy_ms"] for f in facts],
                [f["memcpy_ratio"] for f in facts if f["bytes_written"]],
                first_ms=first,
                slots=facts[0]["slots"],
                slots_borrowed=facts[0]["slots_borrowed"],
                bytes_written=facts[0]["bytes_written"],
                publish_us=statistics.median(f["publish_us"] for f in facts),
                gigabytes_per_second=statistics.median(
                    f["gigabytes_per_second"] for f in facts))
    finally:
        close_all(children)


def started(o, library, m, threads, cache=None, **how):
    """Facts of a fresh process."""
    c = start(o, library, m, threads, cache, **how)
    c.close()
    time.sleep(SLEEP)
    return c.facts


def first_answer_ms(facts):
    return (facts["compile_seconds"] + facts["first_run_seconds"]) * 1e3


# Whose start is measured: {name: (library, options)}. Slots that the first run
# makes (fill=late), all of them before it (now), and by every run (run).
def ways_of(m, *fills):
    ways = {f"hull {f}": ("hull", (f"fill={f}",)) for f in fills}
    return {**ways, **{p: (p, ()) for p in m.peers}}


def fresh_starts(o, m, threads, ways, cached=False):
    """{name: [facts of each round]}; the first fills caches."""
    taken = {name: [] for name in ways}
    for i in range(o.rounds + 1):
        for name in rotate(list(ways), i):
            library, options = ways[name]
            cache = None
            if cached:
                cache = os.path.join(o.build, "bench-cache", library)
                os.makedirs(cache, exist_ok=True)
            facts = started(o, library, m, threads, cache, options=options)
            if library == "hull":
                o.isa = facts["isa"]
            if i > 0:
                taken[name].append(facts)
    return taken


def add_starts(o, bench, m, threads, taken, way, value, unit, **more):
    """The rows of one way of Hull's and all peers."""
    rows = {"hull": taken[way], **{p: taken[p] for p in m.peers if p in taken}}
    add_all(o, bench, m, threads, unit,
            {k: [value(f) for f in v] for k, v in rows.items()}, **more)


def bench_start(o, m, threads):
    taken = fresh_starts(o, m, threads, ways_of(m, "late", "now"))
    for bench, way in (("start", "late"), ("start-filled", "now")):
        add_starts(o, bench, m, threads, taken, f"hull {way}",
                   first_answer_ms, "ms")
    if "openvino" not in m.peers:
        return
    shutil.rmtree(os.path.join(o.build, "bench-cache"), ignore_errors=True)
    ways = ways_of(m, "late")
    ways.pop("onnxruntime", None)  # it has no cache
    taken = fresh_starts(o, m, threads, ways, True)
    add_starts(o, "start-cached", m, threads, taken, "hull late",
               first_answer_ms, "ms")
    shutil.rmtree(os.path.join(o.build, "bench-cache"), ignore_errors=True)


class Store(http.server.BaseHTTPRequestHandler):
    """What a remote cache needs of a web server: GET, PUT, nothing else."""
    protocol_version = "HTTP/1.1"
    values = {}

    def reply(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        value = self.values.get(self.path)
        self.reply(404 if value is None else 200, value or b"")

    def do_PUT(self):
        self.values[self.path] = self.rfile.read(
            int(self.headers["Content-Length"]))
        self.reply(201)

    def log_message(self, *_):
        pass


def named_inputs(o, m):
    """The inputs under the names that the model has."""
    import numpy as np
    path = os.path.join(o.build, "bench-named.npz")
    names = json.loads(subprocess.run(
        [o.python, os.path.join(HERE, "bench_peer.py"), "--names",
         m.peers[0], m.path], capture_output=True, text=True,
        check=True).stdout)
    with np.load(m.inputs) as z:
        np.savez(path, **{n: z[n] if n in z.files else z[f"input_{i}"]
                          for i, n in enumerate(names)})
    return path


def bench_process(o, m, threads):
    """From the start of a process to its first answer. The peers' processes
    are Python, because that is how they come; `before_ms` of a row is what
    passed in the peer's process until it called its library."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Store)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    remote = f"cache_remote=http://127.0.0.1:{server.server_port}"
    folder = os.path.join(o.build, "bench-cache")
    named = named_inputs(o, m)
    shutil.rmtree(folder, ignore_errors=True)
    # what: (library, options, keeps its cache from round to round)
    late = "fill=late"
    ways = {"hull cold": ("hull", (late,), False),
            "hull disk": ("hull", (late,), True),
            "hull remote": ("hull", (late, remote), False),
            "onnxruntime": ("onnxruntime", (), False),
            "openvino": ("openvino", (), False),
            "openvino cached": ("openvino", (), True)}
    ways = {k: w for k, w in ways.items()
            if w[0] == "hull" or w[0] in m.peers}
    taken = {k: [] for k in ways}
    for i in range(o.rounds + 1):
        for k in rotate(list(ways), i):
            library, options, keeps = ways[k]
            cache = os.path.join(folder, k.replace(" ", "-"))
            if not keeps:
                shutil.rmtree(cache, ignore_errors=True)
            if library == "hull" or keeps:
                os.makedirs(cache, exist_ok=True)
            else:
                cache = None
            facts = started(o, library, m, threads, cache, options=options,
                            named=named)
            if library == "hull":
                o.isa = facts["isa"]
            if i > 0:
                taken[k].append(facts)
    server.shutdown()
    shutil.rmtree(folder, ignore_errors=True)
    os.remove(named)
    for what, peers in (("cold", ["onnxruntime", "openvino"]),
                        ("disk", ["onnxruntime", "openvino cached"]),
                        ("remote", ["onnxruntime", "openvino cached"])):
        for peer in [p for p in peers if p in taken]:
            add(o, "process-" + what, m, threads, "ms",
                [f["process_ms"] for f in taken["hull " + what]], peer,
                [f["process_ms"] for f in taken[peer]],
                before_ms=statistics.median(
                    f["process_ms"] - first_answer_ms(f)
                    for f in taken[peer]))


def bench_memory(o, m, threads):
    """Growth of the peak until the first answer, by the weights' bytes; what
    is less than a few megabytes says nothing."""
    if m.group != "zoo":
        return
    taken = fresh_starts(o, m, threads, ways_of(m, "now", "run"))
    for bench, way in (("memory", "now"), ("memory-run", "run")):
        add_starts(o, bench, m, threads, taken, f"hull {way}",
                   lambda f: (f["memory"]["peak_bytes"]
                              - f["memory"]["before_bytes"]) / m.weight_bytes,
                   "x weights", weight_bytes=m.weight_bytes)


def sessions_per_second(o, m, threads, n):
    """Of a process that may use so many CPUs: sessions in parallel would take
    all of them whatever `threads` is."""
    cpus = sorted(os.sched_getaffinity(0))[:threads]
    p = subprocess.run(
        [o.hull, "bench", m.hull_path, "--backend", o.backend, "--threads",
         str(threads), "--input", m.inputs, "--no-cache", "--json",
         "--sessions", str(n), "--rounds", "1", "--seconds",
         str(o.seconds)], capture_output=True, text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    answer = json.loads(p.stdout)
    if p.returncode != 0:
        raise RuntimeError(f"hull: {answer.get('error')}")
    o.isa = answer["isa"]
    return answer["throughput"][0]["runs_per_second"], \
        1e3 / answer["latency"]["median_ms"]


def bench_scale(o, m, threads):
    """Hull alone: runs per second of 4 sessions, and of one that has a batch of
    8, with `threads` threads on as many CPUs against one thread on one CPU.
    Above 1 is better."""
    if threads == 1 or m.group != "zoo":
        return
    pairs = [("4 sessions", m, 4)]
    if m.name in ("resnet50", "bert"):
        pairs.append(("batch 8", zoo_model(o, m.name + "x8"), 1))
    for what, model, n in pairs:
        many, one = [], []
        for i in range(o.rounds):
            for t in rotate([threads, 1], i):
                both = sessions_per_second(o, model, t, n)
                (many if t == threads else one).append(both[n == 1])
        add(o, "scale", model, threads, "runs/s", many,
            f"hull, 1 thread, {what}", one)


# ---- report -----------------------------------------------------------------

def geomean(x):
    return math.exp(sum(map(math.log, x)) / len(x)) if x else math.nan


def best(rows):
    """{(bench, group, threads): {model: ratio to the better peer}}."""
    out = {}
    for r in rows:
        if r["peer"].split()[0] in PEERS and r["ratio"]:
            group = out.setdefault((r["bench"], r["group"], r["threads"]), {})
            group[r["model"]] = max(group.get(r["model"], 0), r["ratio"])
    return out


def print_table(o):
    if not o.rows:
        return
    print(f"\n{'bench':13} {'model':24} {'threads':>7} {'hull':>10} "
          f"{'peer':>26} {'value':>10} {'unit':>9} {'ratio':>7}")
    for r in o.rows:
        print(f"{r['bench']:13} {r['model']:24} {r['threads']:7} "
              f"{r['hull']:10.4g} {r['peer']:>26} {r['peer_value']:10.4g} "
              f"{r['unit']:>9} {number(r['ratio']):>7}")
    print("\nratio to the better peer: geometric mean, largest")
    for (bench, kind, threads), group in best(o.rows).items():
        worst = max(group, key=group.get)
        print(f"  {bench:13} {kind:9} {threads} threads: "
              f"{geomean(list(group.values())):.3f}, {group[worst]:.3f} "
              f"({worst}), of {len(group)} models")
    for name, us in o.call_us.items():
        print(f"  a call of {name} with an empty model: {us:.1f} us")


def svg(rows):
    """Bars of the ratio to the better peer, a line where it is 1."""
    bars = [(f"{bench} {model}, {threads} thr.", ratio)
            for (bench, _, threads), group in best(rows).items()
            for model, ratio in group.items()]
    scale, left, step = 320, 260, 18
    most = 1.5
    height = step * len(bars) + 40
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + 560}" '
           f'height="{height}" font-family="sans-serif" font-size="12">',
           f'<text x="{left}" y="14">Hull / better of ONNX Runtime and '
           "OpenVINO; shorter is better</text>"]
    for i, (label, ratio) in enumerate(bars):
        y = 24 + step * i
        color = "#2a7" if ratio <= 1 else "#c63"
        out += [f'<text x="{left - 8}" y="{y + 12}" text-anchor="end">'
                f"{label}</text>",
                f'<rect x="{left}" y="{y + 2}" height="12" fill="{color}" '
                f'width="{min(ratio, most) * scale:.1f}"/>',
                f'<text x="{left + min(ratio, most) * scale + 6:.1f}" '
                f'y="{y + 12}">{ratio:.3g}</text>']
    out += [f'<line x1="{left + scale}" x2="{left + scale}" y1="20" '
            f'y2="{height - 12}" stroke="#555"/>', "</svg>", ""]
    return "\n".join(out)


def latency_table(rows):
    """One line a model: Hull, the faster peer and the ratio to it, for each
    number of threads."""
    best = {}
    for r in rows:
        key = r["model"], r["threads"]
        if key not in best or r["peer_value"] < best[key]["peer_value"]:
            best[key] = r
    threads = sorted({t for _, t in best})
    out = ["| model | " + " | ".join(f"{t} thread{'s' * (t > 1)}: Hull | peer"
                                     " | ratio" for t in threads) + " |",
           "|---" * (1 + 3 * len(threads)) + "|"]
    for model in dict.fromkeys(m for m, _ in best):
        cells = []
        for t in threads:
            r = best.get((model, t))
            cells.append("| | |" if r is None else
                         f"{r['hull']:.3g} | {r['peer_value']:.3g} "
                         f"({r['peer']}) | {r['ratio']:.2f}")
        out.append(f"| {model} | " + " | ".join(cells) + " |")
    means = [geomean([r["ratio"] for (_, t), r in best.items()
                      if t == n]) for n in threads]
    out.append("| geometric mean | "
               + " | ".join(f" | | {m:.2f}" for m in means) + " |")
    return out


def markdown(o):
    """The tables of docs/performance.md."""
    out = [f"{o.machine['cpu']}, {o.machine['cpus']} CPUs, {o.isa}; "
           f"{', '.join(o.machine['versions'])}; medians of {o.rounds} "
           "rounds.", ""]
    for group in dict.fromkeys(r["group"] for r in o.rows):
        rows = [r for r in o.rows
                if r["bench"] == "latency" and r["group"] == group]
        if rows:
            out += [f"Latency of the {group} models, milliseconds, batch 1; "
                    "the peer is the faster one:", "",
                    *latency_table(rows), ""]
    rest = sorted((r for r in o.rows if r["bench"] != "latency"),
                  key=lambda r: r["bench"])
    if rest:
        out += ["| what | model | threads | Hull | peer | ratio |",
                "|---" * 6 + "|"]
    for r in rest:
        out.append(f"| {r['bench']} | {r['model']} | {r['threads']} | "
                   f"{r['hull']:.4g} {r['unit']} | {r['peer_value']:.4g} "
                   f"({r['peer']}) | {number(r['ratio'])} |")
    return "\n".join(out) + "\n"


BEGIN, END = "<!-- make bench: begin -->", "<!-- make bench: end -->"


def write_docs(o):
    path = os.path.join(ROOT, "docs", "performance.md")
    with open(path) as f:
        text = f.read()
    if BEGIN not in text or END not in text:
        fail(f"{path} has no lines '{BEGIN}' and '{END}'")
    head, rest = text.split(BEGIN, 1)
    tail = rest.split(END, 1)[1]
    with open(path, "w") as f:
        f.write(f"{head}{BEGIN}\n{markdown(o)}{END}{tail}")


def write_results(o):
    path = os.path.join(o.build, "bench.json")
    if o.append and os.path.exists(path):
        def key(r):
            return r["bench"], r["model"], r["threads"], r["isa"], r["peer"]
        fresh = {key(r) for r in o.rows}
        with open(path) as f:
            o.rows = [r for r in json.load(f)["rows"]
                      if key(r) not in fresh] + o.rows
    with open(path, "w") as f:
        json.dump({"machine": o.machine, "call_us": o.call_us,
                   "failures": o.failures, "rows": o.rows}, f, indent=1)
    with open(os.path.join(o.build, "bench.svg"), "w") as f:
        f.write(svg(o.rows))
    if o.docs:
        write_docs(o)
    print(f"\nwrote {path} and bench.svg beside it")


# ---- main -------------------------------------------------------------------

def machine(o):
    cpu = "unknown CPU"
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                cpu = line.split(":", 1)[1].strip()
                break
    versions = subprocess.run(
        [o.python, "-c", "import importlib.metadata as m\n"
         "for n in ('onnxruntime','openvino','torch'):"
         " print(n, m.version(n))"],
        capture_output=True, text=True, check=True).stdout.splitlines()
    forced = os.environ.get("HULL_CPU_ISA")
    if forced:
        print(f"bench: HULL_CPU_ISA={forced} binds Hull; the peers use what "
              "the CPU has")
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"bench: the machine is not idle (load {load:.1f}): ratios "
              "will scatter")
    return {"cpu": cpu, "isa_forced": forced,
            "cpus": len(os.sched_getaffinity(0)), "load": load,
            "versions": versions, "when": time.strftime("%Y-%m-%d %H:%M")}


def arguments():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--bench", default=",".join(PARTS))
    p.add_argument("--models", default="zoo,shared")
    p.add_argument("--threads", default="1,2")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=float, default=1.0,
                   help="of each turn; at least three runs")
    p.add_argument("--build", default=os.path.join(ROOT, "build"),
                   help="folder of models, environment and results")
    p.add_argument("--hull", help="the program (default: BUILD/hull)")
    p.add_argument("--python", help="one that has the packages, in place of "
                   "BUILD/bench-venv")
    p.add_argument("--shared", default=os.environ.get(
        "HULL_SHARED", os.path.join(ROOT, "..", "shared")))
    p.add_argument("--backend", default="cpu", help="Hull's")
    p.add_argument("--format", choices=["onnx", "pt2"], default="onnx",
                   help="the file that Hull reads; the peers read .onnx")
    p.add_argument("--set", action="append", default=[],
                   metavar="KEY=VALUE", help="an option of Hull")
    p.add_argument("--append", action="store_true",
                   help="keep other rows of an earlier bench.json")
    p.add_argument("--docs", action="store_true",
                   help="write the table into docs/performance.md")
    o = p.parse_args()
    o.bench = o.bench.split(",")
    cpus = len(os.sched_getaffinity(0))
    o.threads = [int(t) for t in o.threads.split(",")]
    for t in [t for t in o.threads if t > cpus]:
        print(f"bench: {t} threads on {cpus} CPUs would measure the "
              "scheduler: left out")
        o.threads.remove(t)
    for word in o.bench:
        if word not in PARTS:
            fail(f"there is no part '{word}', there are {' '.join(PARTS)}")
    o.hull = o.hull or os.path.join(o.build, "hull")
    if not os.access(o.hull, os.X_OK):
        fail(f"{o.hull} is not there: make")
    return o


def main():
    o = arguments()
    if not o.python:
        o.python = ensure_python(os.path.join(o.build, "bench-venv"))
    if os.path.realpath(sys.prefix) != os.path.realpath(
            os.path.dirname(os.path.dirname(o.python))):
        os.execv(o.python, [o.python, os.path.abspath(__file__),
                            *sys.argv[1:], "--python", o.python])
    o.rows, o.failures, o.call_us, o.isa = [], [], {}, "unknown"
    o.machine = machine(o)
    if "lowp" in o.bench:
        o.bench.remove("lowp")
        subprocess.run([o.python, os.path.join(HERE, "bench_lowp.py"),
                        "--hull", o.hull, "--build", o.build, "--threads",
                        ",".join(map(str, o.threads)), "--rounds",
                        str(o.rounds)], check=True)
        if not o.bench:
            return
    models = chosen_models(o)
    try:
        for part in o.bench:
            for m in models:
                for threads in o.threads:
                    try:
                        globals()["bench_" + part](o, m, threads)
                    except RuntimeError as e:
                        o.failures.append(f"{part} {m.name}: {e}")
                        print(f"FAILED {o.failures[-1]}", flush=True)
    except KeyboardInterrupt:
        o.failures.append("interrupted")
    print_table(o)
    write_results(o)
    for text in o.failures:
        print(f"FAILED {text}")
    sys.exit(1 if o.failures else 0)


if __name__ == "__main__":
    main()
