#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Hull authors
"""Reads back from the product's files how they were hardened (docs/security.md):

    tests/hardened.py LIBRARY PROGRAM [--flags FLAG,...] [--size-max BYTES]

Full RELRO, binding at start, a stack and segments that are never writable and
executable, a program that moves, checked stacks and copies, and no function
imported that makes memory executable or starts a program. FLAGs are what the
build found its compiler to know. Needs binutils.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

# Nothing of these is a use that could be innocent in this library.
FORBIDDEN = re.compile(
    r"^(memfd_create|shm_open|pkey_mprotect|remap_file_pages|personality|"
    r"exec[lv]\w*|fexecve|system|popen|posix_spawn\w*|v?fork|ptrace|"
    r"process_vm_writev|gets|mktemp|tmpnam|tempnam)$")
# What a fortified call is named; longjmp's is called by libraries' macros.
FORTIFIED = re.compile(r"^__(?!stack_chk|longjmp)\w+_chk$")
FRAME = "file_map_below"  # a function whose frame has several pages


def tool(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE,
                          env={**os.environ, "LC_ALL": "C"}).stdout.decode()


def imports(path):
    return {line.split()[-1].split("@")[0] for line in tool(
        "nm", "-D", "--undefined-only", path).splitlines() if line}


def code_of(path, symbol):
    return tool("objdump", "-d", "--no-show-raw-insn",
                f"--disassemble={symbol}", path)


class Report:
    def __init__(self):
        self.passed, self.failed = 0, 0

    def want(self, ok, path, text):
        if ok:
            self.passed += 1
            return
        self.failed += 1
        print(f"{os.path.basename(path)}: {text}")


def check_segments(r, path):
    segments = [line.split() for line in tool("readelf", "-lW",
                                              path).splitlines()
                if re.match(r"\s+[A-Z_]+\s+0x", line)]
    flags = {}
    for s in segments:
        flags.setdefault(s[0], []).append("".join(s[6:-1]))
    dynamic = tool("readelf", "-dW", path)
    r.want("GNU_RELRO" in flags, path, "no segment GNU_RELRO")
    r.want(re.search(r"\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*\bNOW\b", dynamic),
           path, "functions are bound late: RELRO is not full")
    r.want(all("E" not in f for f in flags.get("GNU_STACK", ["E"])), path,
           "the stack is executable")
    r.want(all(not ("W" in f and "E" in f) for f in flags["LOAD"]), path,
           f"a segment is writable and executable: {flags['LOAD']}")
    r.want("TEXTREL" not in dynamic, path, "code is relocated: TEXTREL")
    return dynamic


def check_imports(r, path, fortified):
    names = imports(path)
    r.want("__stack_chk_fail" in names, path, "no stack is checked")
    r.want(not fortified or any(map(FORTIFIED.match, names)), path,
           "no copy is checked: _FORTIFY_SOURCE does nothing")
    bad = sorted(filter(FORBIDDEN.match, names))
    r.want(not bad, path, f"imports {', '.join(bad)}")


def check_code(r, library, flags):
    if os.uname().machine != "x86_64":
        return
    if "-fcf-protection" in flags:
        r.want("endbr64" in code_of(library, "hull_compile"), library,
               "hull_compile has no endbr64")
    if "-fstack-clash-protection" in flags:
        r.want(re.search(r"(or|mov)q?\s+\$0x0,.*\(%rsp\)",
                         code_of(library, FRAME)), library,
               f"the frame of {FRAME} is not touched page by page")


def check_size(r, library, most):
    with tempfile.NamedTemporaryFile() as f:
        tool("strip", "-o", f.name, library)
        size = os.path.getsize(f.name)
    print(f"{os.path.basename(library)}, stripped: {size} bytes")
    r.want(size < most, library, f"wanted fewer than {most} bytes, stripped")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("library")
    p.add_argument("program")
    p.add_argument("--flags", default="")
    p.add_argument("--size-max", type=int, default=0)
    a = p.parse_args()
    flags, r = a.flags.split(","), Report()
    fortified = any(f.startswith("-D_FORTIFY") for f in flags)
    for path in (a.library, a.program):
        dynamic = check_segments(r, path)
        check_imports(r, path, fortified)
    r.want("PIE" in dynamic and "DYN" in tool("readelf", "-h", a.program),
           a.program, "lies at a fixed address: no PIE")
    check_code(r, a.library, flags)
    if a.size_max:
        check_size(r, a.library, a.size_max)
    print(f"{r.passed} passed, {r.failed} failed, 0 skipped")
    return 1 if r.failed else 0


if __name__ == "__main__":
    sys.exit(main())
