#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Hull authors
"""Runs the fuzz targets for a time, or keeps what they found:

    scripts/fuzz.py [--seconds 60] [--targets npy,model] [--build build/fuzz]
    scripts/fuzz.py --merge [--targets ...]

Builds preset `fuzz`, makes the corpus of tests/fuzz/make_corpus.py and runs
each target on it with libFuzzer. New inputs stay in BUILD/found/TARGET and are
seeds of the next run; inputs that crash, hang or take too much memory go to
BUILD/crashes, and then the exit status is 1. --merge keeps as TARGET.tar.xz in
tests/fuzz/corpus what of the found and the packed inputs reaches code that the
generated corpus does not, the smallest first, at most PACK_MAX bytes packed.
The standard library and clang are enough.
"""
import argparse
import glob
import io
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKED = os.path.join(ROOT, "tests/fuzz/corpus")
PACK_MAX = 24 << 10
CRASHES_MAX = 5  # of one target in one run: then it is looked at first
ENV = {**os.environ, "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
       "ASAN_OPTIONS": "allocator_may_return_null=1:strict_string_checks=1"}


def build(folder):
    os.environ.setdefault("CMAKE_C_COMPILER_LAUNCHER",
                          "ccache" if shutil.which("ccache") else "")
    for command in (["cmake", "--preset", "fuzz", "--log-level=NOTICE", "-B",
                     folder],
                    ["cmake", "--build", folder, "--target", "hull_fuzz"]):
        subprocess.run(command, cwd=ROOT, check=True)


def targets(folder, wanted):
    """{name: command}"""
    with open(os.path.join(folder, "fuzz_targets.txt"),
              encoding="utf-8") as f:
        rows = [line.split() for line in f]
    known = {row[0]: row[1:] for row in rows}
    names = wanted.split(",") if wanted else sorted(known)
    for name in names:
        if name not in known:
            sys.exit(f"no target {name}, there are {' '.join(sorted(known))}")
    return {name: known[name] for name in names}


def make_corpus(folder):
    subprocess.run([os.path.join(ROOT, "tests/fuzz/make_corpus.py"),
                    os.path.join(folder, "corpus"),
                    os.path.join(folder, "hull")], check=True, cwd=ROOT)


def folder_of(build_folder, kind, name):
    path = os.path.join(build_folder, kind, name)
    os.makedirs(path, exist_ok=True)
    return path


def number(log, name):
    found = re.search(rf"stat::{name}:\s*(\d+)", log)
    return int(found[1]) if found else 0


def run(name, command, folder, seconds):
    """[runs, seconds, new inputs, crashes] of one target."""
    found = folder_of(folder, "found", name)
    crashes = os.path.join(folder, "crashes")
    os.makedirs(crashes, exist_ok=True)
    before, old = len(os.listdir(found)), set(os.listdir(crashes))
    begin, runs, new = time.monotonic(), 0, set()
    while (left := seconds - (time.monotonic() - begin)) > 1:
        log = os.path.join(folder, f"fuzz-{name}-{len(new)}.log")
        with open(log, "wb") as f:
            status = subprocess.run(
                [*command, f"-max_total_time={int(left)}", "-verbosity=1",
                 "-print_final_stats=1", "-reload=0",
                 f"-artifact_prefix={crashes}/{name}-", found,
                 os.path.join(folder, "corpus", name)], env=ENV, stdout=f,
                stderr=subprocess.STDOUT, check=False).returncode
        with open(log, encoding="utf-8", errors="replace") as f:
            runs += number(f.read(), "number_of_executed_units")
        now = set(os.listdir(crashes)) - old
        if status == 0:
            break
        if now == new:
            sys.exit(f"{name} ended with status {status}, see {log}")
        new = now
        print(f"{name}: {', '.join(sorted(new))}, see {log}", flush=True)
        if len(new) >= CRASHES_MAX:
            break
    return [runs, time.monotonic() - begin, len(os.listdir(found)) - before,
            len(new)]


def fuzz(chosen, folder, seconds):
    total = 0
    rows = []
    for name, command in chosen.items():
        runs, took, new, crashes = run(name, command, folder, seconds)
        rows.append(f"{name:10} {runs / max(took, 1):10.0f} {runs:10} "
                    f"{new:8} {crashes:8}")
        total += crashes
    print(f"{'target':10} {'runs/s':>10} {'runs':>10} {'new':>8} "
          f"{'crashes':>8}")
    print("\n".join(rows))
    if total:
        print(f"{total} crashing inputs in {folder}/crashes")
    return 1 if total else 0


# ---- keeping ---------------------------------------------------------------

def pack(files):
    """The same files give the same bytes everywhere."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w",
                      format=tarfile.USTAR_FORMAT) as t:
        for i, data in enumerate(files):
            info = tarfile.TarInfo(f"{i:03}")
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))
    return lzma.compress(out.getvalue(), preset=9 | lzma.PRESET_EXTREME)


def contents(paths):
    out = []
    for path in paths:
        with open(path, "rb") as f:
            out.append(f.read())
    return sorted(out, key=lambda data: (len(data), data))


def merge(name, command, folder):
    """Keeps what is new to the generated corpus; the number of inputs."""
    corpus = folder_of(folder, "corpus", name)
    base = folder_of(folder, "merged", name)
    shutil.rmtree(base)
    os.makedirs(base)
    for path in glob.glob(os.path.join(corpus, "*")):
        if not os.path.basename(path).startswith("packed_"):
            shutil.copy(path, base)
    old = set(os.listdir(base))
    with open(os.path.join(folder, f"merge-{name}.log"), "wb") as f:
        subprocess.run([*command, "-merge=1", base, corpus,
                        folder_of(folder, "found", name)], env=ENV, stdout=f,
                       stderr=subprocess.STDOUT, check=True)
    files = contents(os.path.join(base, n) for n in os.listdir(base)
                     if n not in old)
    low, high = 0, len(files)
    while low < high:  # how many of the smallest fit
        middle = (low + high + 1) // 2
        low, high = (middle, high) if len(pack(files[:middle])) <= PACK_MAX \
            else (low, middle - 1)
    path = os.path.join(PACKED, name + ".tar.xz")
    if low:
        with open(path, "wb") as f:
            f.write(pack(files[:low]))
    elif os.path.exists(path):
        os.remove(path)
    print(f"{name}: {low} of {len(files)} inputs, "
          f"{os.path.getsize(path) if low else 0} bytes")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seconds", type=int, default=60)
    p.add_argument("--targets", default="")
    p.add_argument("--build", default="build/fuzz")
    p.add_argument("--merge", action="store_true")
    a = p.parse_args()
    folder = os.path.abspath(os.path.join(ROOT, a.build))
    build(folder)
    chosen = targets(folder, a.targets)
    make_corpus(folder)
    if not a.merge:
        return fuzz(chosen, folder, a.seconds)
    for name, command in chosen.items():
        merge(name, command, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
