#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Hull authors
"""check_loops.py OBJECT...: the machine code of the cpu backend's register
tiles, as objdump shows it. A compiler that keeps an accumulator in memory makes
a product three times as slow and no test fails; here one does. For each
micro_KIND_R the loop of four steps must have R * 2 * 4 multiply-adds (R * 4
where KIND is half, a panel of half the columns) and at
most one access to a vector on the stack per step (compilers move one
accumulator out and back at the full size, which costs no time); for each
depth_P an inner loop has P of them, or a multiple, and no such access."""

import re
import shutil
import subprocess
import sys

LINE = re.compile(r"^\s*([0-9a-f]+):\t(\S+)\s*(.*)$")
FUNCTION = re.compile(r"^[0-9a-f]+ <([^>]+)>:$")
JUMP = re.compile(r"^([0-9a-f]+)\b")
STACK = re.compile(r"\(%rsp[,)]")


def functions(path):
    """name -> [(address, mnemonic, operands)]"""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path],
                          check=True, capture_output=True, text=True).stdout
    out, now = {}, None
    for line in text.splitlines():
        head = FUNCTION.match(line)
        if head:
            now = out.setdefault(head.group(1), [])
            continue
        row = LINE.match(line)
        if row and now is not None:
            now.append((int(row.group(1), 16), row.group(2), row.group(3)))
    return out


def loops(code):
    """Bodies from the target of a jump backwards to the jump."""
    for at, name, args in code:
        to = JUMP.match(args) if name.startswith("j") else None
        if to and code[0][0] <= int(to.group(1), 16) <= at:
            yield [row for row in code if int(to.group(1), 16) <= row[0] <= at]


def multiply_adds(body):
    return sum(name.startswith(("vfmadd", "vfnmadd")) for _, name, _ in body)


def vectors_on_stack(body):
    return [f"{name} {args}" for _, name, args in body
            if re.search("%[yz]mm", args) and STACK.search(args)]


def problems(code, wanted, allowed):
    """Of the smallest loop with that many multiply-adds, or a multiple."""
    found = [b for b in loops(code)
             if multiply_adds(b) and multiply_adds(b) % wanted == 0]
    if not found:
        return [f"no loop of {wanted} multiply-adds: "
                f"{sorted({multiply_adds(b) for b in loops(code)})}"]
    body = min(found, key=len)
    stack = vectors_on_stack(body)
    return [f"{len(stack)} vectors on the stack in a loop of {len(body)}: "
            f"{stack[0]}"] if len(stack) > allowed else []


def main():
    if shutil.which("objdump") is None:
        print("skipped: objdump is not there")
        return 77
    checked = failed = 0
    for path in sys.argv[1:]:
        for name, code in functions(path).items():
            tile = re.match(r"(micro_[a-z]+|depth)_(\d+)$", name)
            if not tile:
                continue
            rows = int(tile.group(2))
            wanted = {"depth": (rows, 0),
                      "micro_half": (rows * 4, 4)}.get(tile.group(1),
                                                       (rows * 8, 4))
            checked += 1
            for what in problems(code, *wanted):
                failed += 1
                print(f"{path}: {name}: {what}")
    print(f"{checked} checked, {failed} failed")
    return failed > 0 or checked == 0


if __name__ == "__main__":
    sys.exit(main())
