#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Hull authors
"""Make the hostile files that every build replays: make_corpus.py FOLDER [HULL]

From each seed: the seed, truncations, flipped bits, lengths and offsets
overwritten with extreme values, pieces removed and repeated, and changes below
the framing (inside.py). Then the hand-made files of hostile.py, operations
with random operands (soup.py), and what fuzzers found: corpus/TARGET/ has the
files that once failed, corpus/TARGET.tar.xz those that reach code which nothing
else here does (`make fuzz-merge` makes it). A fixed random sequence makes the
files the same everywhere. With the program HULL, module files are made first,
as seeds.
"""
import glob
import os
import random
import struct
import subprocess
import sys
import tarfile
import tempfile

import hostile
import inside
import soup

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
PER_SEED = 40

# target -> patterns of seed files, relative to the repository; none when
# HOSTILE has them all
SEEDS = {
    "image": [],
    "regex": [],
    "rules": [],
    "npy": ["tests/data/npy/*", "demo/test.npz"],
    "weights": ["demo/epoch1.safetensors", "demo/digits.onnx",
                "demo/digits.pt2", "tests/data/torch/*"],
    "ir": ["tests/ops/*.ir", "tests/passes/*.ir", "tests/verify/*.ir"],
    "model": ["demo/digits.onnx", "demo/digits.pt2"],
    "bundle": ["%/all.pack"],
    "engine": ["%/*.engine"],
    "envelope": ["%/*.envelope"],
    "module": ["%/stripped.hull", "%/sources.hull", "%/prepared.hull"],
    "plan": ["%/*.plan"],
    "run": ["demo/digits.onnx", "demo/digits.pt2"],
}
SOUP = 250  # of each frontend


def stir(name, make, rows):
    rng = random.Random(name)
    return {f"soup{i:03}.{name}": make(rng, rows) for i in range(SOUP)}


HOSTILE = {
    "image": [lambda: hostile.images(os.path.join(
        ROOT, "tests/unit/image_files.h"))],
    "regex": [hostile.regex],
    "rules": [hostile.rules],
    "weights": [hostile.safetensors, hostile.torch, hostile.onnx],
    "ir": [hostile.ir],
    "model": [hostile.onnx],
    "plan": [hostile.manifest],
}
HOSTILE["model"] += (
    lambda: stir("onnx", soup.onnx, list(soup.onnx_rows())),
    lambda: stir("pt2", soup.pt2, soup.pt2_rows()))
HOSTILE["run"] = HOSTILE["model"]
# Many small seeds need fewer changes each.
PER_TARGET_MAX = 400


def truncate(rng, data):
    return data[:rng.randrange(len(data))]


def flip(rng, data):
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def overwrite(rng, data):
    """An integer that a reader may trust becomes extreme."""
    size, code = rng.choice(((1, "B"), (2, "H"), (4, "I"), (8, "Q")))
    value = rng.choice((0, 1, 1 << (8 * size - 1), (1 << 8 * size) - 1,
                        (1 << (8 * size - 1)) - 1))
    # Headers and directories are at both ends of our formats.
    span = min(len(data), 4096)
    at = rng.randrange(span)
    if rng.random() < 0.5:
        at = len(data) - span + at
    return data[:at] + struct.pack("<" + code, value) + data[at + size:]


def remove(rng, data):
    at = rng.randrange(len(data))
    return data[:at] + data[at + rng.randrange(1, 64):]


def repeat(rng, data):
    at = rng.randrange(len(data))
    piece = data[at:at + rng.randrange(1, 64)]
    return data[:at] + piece * rng.choice((2, 3, 50)) + data[at:]


def text_digits(rng, data):
    """Numbers in JSON and text headers become huge, negative or odd."""
    spots = [i for i, b in enumerate(data[:65536]) if 48 <= b <= 57]
    if not spots:
        return flip(rng, data)
    at = rng.choice(spots)
    value = rng.choice((b"-1", b"18446744073709551615", b"9" * 30, b"1e308",
                        b"9223372036854775807", b"0", b"NaN", b"[" * 2000))
    return data[:at] + value + data[at + 1:]


FRAME_CHANGES = (truncate, flip, flip, overwrite, overwrite, remove, repeat,
                 text_digits)


def below(rng, data):
    return inside.change(rng, data, rng.choice(FRAME_CHANGES))


MUTATIONS = FRAME_CHANGES + (below,) * 6


def is_container(path):
    with open(path, "rb") as f:
        return f.read(5) == b"\x89HULL"


def unpack(source, to):
    with open(source, "rb") as f:
        data = f.read()
    write(os.path.dirname(to), os.path.basename(to),
          inside.unpack_module(data))


def make_modules(hull, folder):
    """The demo's model without and with its weights, as module files, and the
    engines and plans of its cache; no section is compressed."""
    demo = os.path.join(ROOT, "demo")
    cache = os.path.join(folder, "cache")
    for name, flags in (("stripped", ["--strip-weights"]), ("sources", []),
                        ("prepared", ["--prepared", "--backend", "sim"])):
        to = os.path.join(folder, name + ".hull")
        subprocess.run([hull, "compile", os.path.join(demo, "digits.onnx"),
                        "--weights", os.path.join(demo, "epoch1.safetensors"),
                        "--cache", cache, "-o", to, *flags],
                       check=True, stdout=subprocess.DEVNULL)
        unpack(to, to)
    found = sorted(os.path.join(f, n) for f, _, names in os.walk(cache)
                   for n in names)
    for i, path in enumerate(p for p in found if is_container(p)):
        kind = os.path.splitext(path)[1]
        to = os.path.join(folder, f"{i}{kind}")
        unpack(path, to)
        if kind != ".engine":
            continue
        for source, packed in ((path, "packed"), (to, "plain")):
            with open(source, "rb") as f:
                write(folder, f"{i}.{packed}.envelope",
                      inside.envelope(b"engine", f.read()))
    subprocess.run([hull, "bench", os.path.join(demo, "digits.onnx"),
                    "--cache", cache, "--save-profile", "--profile",
                    "--rounds", "1", "--seconds", "0.01"], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run([hull, "cache", "export", os.path.join(folder, "all.pack"),
                    "--all", "--cache", cache], check=True,
                   stdout=subprocess.DEVNULL)


def write(folder, name, data):
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data)


def add_found(folder):
    """What fuzzers found for this target; the number of files."""
    found = os.path.join(ROOT, "tests/fuzz/corpus", os.path.basename(folder))
    files = {}
    for path in glob.glob(os.path.join(found, "*")):
        with open(path, "rb") as f:
            files["found_" + os.path.basename(path)] = f.read()
    if os.path.exists(found + ".tar.xz"):
        with tarfile.open(found + ".tar.xz") as t:
            for member in t.getmembers():
                files["packed_" + member.name] = t.extractfile(member).read()
    for name, data in files.items():
        write(folder, name, data)
    return len(files)


def make_target(folder, seeds):
    """Fills the folder; the number of files."""
    os.makedirs(folder, exist_ok=True)
    for old in os.listdir(folder):
        os.remove(os.path.join(folder, old))
    write(folder, "empty", b"")
    changes = max(2, min(PER_SEED, PER_TARGET_MAX // max(len(seeds), 1)))
    for seed in seeds:
        with open(seed, "rb") as f:
            data = f.read()
        name = os.path.basename(seed)
        rng = random.Random(name)
        write(folder, name, data)
        for i in range(changes):
            mutate = MUTATIONS[rng.randrange(len(MUTATIONS))]
            write(folder, f"{name}.{i:02}.{mutate.__name__}",
                  mutate(rng, data))
    made = {}
    for make in HOSTILE.get(os.path.basename(folder), ()):
        made |= make()
    for name, data in made.items():
        write(folder, name, data)
    return 1 + len(seeds) * (1 + changes) + len(made) + add_found(folder)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__.split("\n\n")[0])
    total = 0
    with tempfile.TemporaryDirectory() as made:
        if len(sys.argv) == 3 and os.path.exists(sys.argv[2]):
            make_modules(sys.argv[2], made)
        for target, patterns in SEEDS.items():
            seeds = sorted(p for pattern in patterns for p in glob.glob(
                os.path.join(ROOT, pattern.replace("%", made))))
            if seeds or not patterns:
                total += make_target(os.path.join(sys.argv[1], target), seeds)
            else:
                print(f"no seed for target {target}")
    print(f"{total} files")


if __name__ == "__main__":
    main()
