#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Hull authors
"""The rules of CONTRIBUTING.md that a script can check.

    scripts/check.py [--build build] [--bless]

Prints every problem as `file:line: what is wrong`, then one closing line that
counts the checks. Needs the standard library, gcc and g++; the symbol check is
skipped when the library is not built. --bless rewrites tests/abi/hull.syms.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
C_FILES = (".c", ".h")
PROGRAMS = ("demo", "bench", "examples")
PRODUCT = ("src", "cli", "include") + PROGRAMS
FILE_MAX, FUNCTION_MAX, LINE_MAX = 1000, 120, 80
LEDGER = "tests/abi/hull.syms"

# call -> files or folders where it is allowed
BANNED = {
    "strcpy strcat sprintf vsprintf strtok gets alloca atoi atol atof "
    "strtol strtoul strtoll strtoull sscanf": (),
    "malloc calloc realloc free strdup strndup posix_memalign aligned_alloc":
        ("src/base/mem.c",),
    "exit _exit abort": ("cli",) + PROGRAMS,
    "printf fprintf vprintf vfprintf puts fputs putchar putc perror":
        ("cli", "src/base/log.c") + PROGRAMS,
}


def listed_files():
    """Paths below ROOT that git tracks or would track, sorted."""
    try:
        out = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT,
            check=True, capture_output=True).stdout.decode()
        found = [p for p in out.split("\0") if p]
    except (OSError, subprocess.CalledProcessError):
        found = []
        for folder, dirs, names in os.walk(ROOT):
            dirs[:] = [d for d in dirs if d not in ("build", ".git")]
            found += [os.path.relpath(os.path.join(folder, n), ROOT)
                      for n in names]
    return sorted(p for p in set(found)
                  if os.path.isfile(os.path.join(ROOT, p)))


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8",
              errors="surrogateescape") as f:
        return f.read()


def is_product(path):
    return path.split("/")[0] in PRODUCT


def bare(text):
    """The C text with comments and literals blanked, lines kept."""
    def blank(m):
        return re.sub(r"[^\n]", " ", m.group(0))
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"'
                  r"|'(?:\\.|[^'\\\n])*'", blank, text, flags=re.S)


class Report:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.problems = []

    def run(self, check, *args):
        before = len(self.problems)
        skip = check(self, *args)
        if len(self.problems) > before:
            self.failed += 1
        elif skip:
            self.skipped += 1
            print(f"skipped {check.__name__}: {skip}")
        else:
            self.passed += 1

    def problem(self, where, text):
        self.problems.append(f"{where}: {text}")


# ---- checks: each appends problems; a text as result means skipped ----------

def layers():
    m = re.search(r"set\(HULL_FOLDERS\s+([^)]*)\)", read("CMakeLists.txt"))
    return m.group(1).split() + ["cli"]


def layering(rep, files):
    order = layers()
    for path in files:
        parts = path.split("/")
        if not path.endswith(C_FILES) or parts[0] not in ("src", "cli"):
            continue
        here = parts[1] if parts[0] == "src" else "cli"
        if here not in order:
            rep.problem(path, f"folder '{here}' is not in HULL_FOLDERS")
            continue
        for n, line in enumerate(read(path).splitlines(), 1):
            m = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not m:
                continue
            there = m.group(1).split("/")[0]
            if m.group(1) == "hull.h":
                continue
            if "/" not in m.group(1):
                rep.problem(f"{path}:{n}", f'"{m.group(1)}" names no folder')
            elif there not in order:
                rep.problem(f"{path}:{n}", f"'{there}' is no layer")
            elif order.index(there) > order.index(here):
                rep.problem(f"{path}:{n}", f"{here} must not include {there}")
            elif m.group(1).endswith("_private.h") and there != here:
                rep.problem(f"{path}:{n}", f"{m.group(1)} is private")


def unique_names(rep, files):
    seen = {}
    for path in files:
        if path.endswith(C_FILES) and path.split("/")[0] in ("src", "cli"):
            base = os.path.basename(path)
            if base in seen:
                rep.problem(path, f"same basename as {seen[base]}")
            seen[base] = path


def build_lists(rep, files):
    """Every source file is named by the CMakeLists.txt of its folder."""
    for path in files:
        top = path.split("/")[0]
        if not path.endswith(".c") or top not in PRODUCT + ("tests",):
            continue
        folder = os.path.dirname(path)
        stem = os.path.basename(path)[:-2].removeprefix("fuzz_")
        stem = re.sub(r"_(avx2|avx512|vnni)$", "", stem)  # a kernel at its levels
        while folder and f"{folder}/CMakeLists.txt" not in files:
            folder = os.path.dirname(folder)
        listing = read(f"{folder}/CMakeLists.txt" if folder
                       else "CMakeLists.txt")
        if not re.search(rf"\b{re.escape(stem)}\b", listing):
            rep.problem(path, "is in no CMakeLists.txt")


def lengths(rep, files):
    for path in files:
        if not is_product(path) or not path.endswith(C_FILES):
            continue
        lines = read(path).splitlines()
        if len(lines) > FILE_MAX:
            rep.problem(path, f"{len(lines)} lines, limit {FILE_MAX}")
        start = None
        for n, line in enumerate(lines, 1):
            if len(line) > LINE_MAX:
                rep.problem(f"{path}:{n}", f"{len(line)} columns, limit "
                            f"{LINE_MAX}")
            if line == "{":
                start = n
            elif line.startswith("}") and start:
                if n - start + 1 > FUNCTION_MAX:
                    rep.problem(f"{path}:{start}", "function of "
                                f"{n - start + 1} lines, limit {FUNCTION_MAX}")
                start = None


def white_space(rep, files):
    for path in files:
        if not path.endswith(C_FILES + (".py", ".sh", ".def", ".cmake",
                                        "CMakeLists.txt")):
            continue
        text = read(path)
        if text and not text.endswith("\n"):
            rep.problem(path, "no newline at the end")
        for n, line in enumerate(text.split("\n"), 1):
            if line != line.rstrip():
                rep.problem(f"{path}:{n}", "space at the end of the line")
            if "\t" in line:
                rep.problem(f"{path}:{n}", "tab")


def banned_calls(rep, files):
    rules = [(re.compile(rf"(?<![\w.>])({'|'.join(names.split())})\s*\("),
              allowed) for names, allowed in BANNED.items()]
    for path in files:
        if not is_product(path) or not path.endswith(C_FILES):
            continue
        lines = bare(read(path)).splitlines()
        for pattern, allowed in rules:
            if any(path == a or path.startswith(a + "/") for a in allowed):
                continue
            for n, line in enumerate(lines, 1):
                m = pattern.search(line)
                if m and not line.lstrip().startswith("#"):
                    rep.problem(f"{path}:{n}", f"call of {m.group(1)}")


def rows(path, macro):
    return re.findall(rf"^{macro}\(\s*(\w+)", read(path), re.M)


# What the test file of an op must hold besides plain cases, by the classes of
# types that the op takes (tests/op_types.txt); a text found by a pattern.
SMALL_TYPES = {"float": "f4e2m1", "int": "[iu][24]"}
NO_ELEMENTS = (r"%\w+: (?:\w+\[(?:\d+,)*0(?:,\d+)*\]"  # in the type, in the row
               r"|.*\n.*= \[[0-9,]*\b0\b[0-9,]*\] \[\])")
HOSTILE = {
    "float": {"NaN": r"\bnan\b", "an infinity": r"\binf\b",
              "-0.0": r"-0\.0\b", "the end of f16": r"\b65504\.0\b",
              "the end of bf16": r"3\.3895314e\+38",
              "the end of f32": r"3\.4028235e\+38",
              "the end of f64": r"1\.7976931348623157e\+308"},
    "int": {"the least i64": r"-9223372036854775808\b",
            "the largest i64": r"[^-]9223372036854775807\b",
            "the largest u64": r"\b18446744073709551615\b"},
    "": {"a size of 0": NO_ELEMENTS,
         "a case that is refused": r"// error: \S"}}
# Without operands, and what whoever runs graphs resolves.
NO_OPERANDS = ("weight", "const", "dims", "iota", "random", "call")


def op_types():
    """op -> the words of each operand's set."""
    lines = [l.split(":", 1) for l in read("tests/op_types.txt").splitlines()
             if not l.startswith("#")]
    return {op: [s.split() for s in sets.split(";")] for op, sets in lines}


def hostile(types, text):
    """What the test file of an op lacks."""
    words = {w for one in types for w in one}
    wanted = dict(HOSTILE[""])
    for kind, more in HOSTILE.items():
        if kind in words:
            wanted.update(more)
    for kind, small in SMALL_TYPES.items():
        if kind in words:
            wanted[f"a type below a byte ({small})"] = rf": {small}\["
    rows_of = "\n".join(l for l in text.splitlines()
                        if not l.lstrip().startswith("// expect"))
    return [what for what, pattern in wanted.items()
            if not re.search(pattern, rows_of)]


def op_rows(rep, files):
    """Every op is documented and has a test file with hostile values."""
    docs = read("docs/ir.md") if "docs/ir.md" in files else ""
    documented = set(re.findall(r"[a-z_0-9]+", docs))
    types = op_types()
    for op in rows("src/ir/ops.def", "OP"):
        if op not in documented:
            rep.problem("src/ir/ops.def", f"op {op} is not in docs/ir.md")
        path = f"tests/ops/{op}.ir"
        if path not in files:
            rep.problem("src/ir/ops.def", f"op {op} has no {path}")
            continue
        if op in NO_OPERANDS:
            continue
        if op not in types:
            rep.problem("tests/op_types.txt", f"op {op} is not in it")
            continue
        for what in hostile(types[op], read(path)):
            rep.problem(path, f"no case with {what}")


def table_files(rep, files):
    """A row of a table has its file, and a pass its golden test."""
    for family in sorted(set(re.findall(r"^OP\(\w+,\s*(\w+)",
                                        read("src/ir/ops.def"), re.M))):
        if f"src/ops/{family}.c" not in files:
            rep.problem("src/ir/ops.def", f"no src/ops/{family}.c")
    for name in rows("src/passes/passes.def", "PASS"):
        for want in (f"src/passes/{name}.c", f"tests/passes/{name}.ir"):
            if want not in files:
                rep.problem("src/passes/passes.def", f"no {want}")
    for name in rows("src/backend/backends.def", "BACKEND"):
        if f"src/backend/{name}/{name}.c" not in files:
            rep.problem("src/backend/backends.def", f"no {name}/{name}.c")


def option_rows(rep, files):
    text = read("docs/options.md") if "docs/options.md" in files else ""
    for key in rows("src/options/options.def", "OPT"):
        if f"`{key}`" not in text:
            rep.problem("src/options/options.def",
                        f"option {key} is not in docs/options.md")


def generated_docs(rep, _files):
    got = subprocess.run([sys.executable, "scripts/gen_docs.py", "--check"],
                         cwd=ROOT, capture_output=True, text=True)
    for line in got.stdout.splitlines() + got.stderr.splitlines():
        rep.problem("scripts/gen_docs.py", line)
    if got.returncode and not got.stdout and not got.stderr:
        rep.problem("scripts/gen_docs.py", f"exit {got.returncode}")


def declared_symbols():
    return sorted(re.findall(r"\b(hull_\w+)\s*\(",
                             "".join(re.findall(r"HULL_API\b[^;{]*?\(",
                                                bare(read("include/hull.h"))))))


def symbols(rep, _files, build, bless):
    """Header, ledger and library export the same names."""
    declared = declared_symbols()
    if bless:
        old = dict(l.split() for l in read(LEDGER).splitlines()
                   if l and l[0] != "#") if os.path.exists(
                       os.path.join(ROOT, LEDGER)) else {}
        version = re.search(r'VERSION_TEXT "([^"]+)"',
                            read("include/hull.h")).group(1)
        with open(os.path.join(ROOT, LEDGER), "w", encoding="ascii") as f:
            f.write("# Every exported symbol and the version that introduced "
                    "it.\n# scripts/check.py --bless adds new ones.\n")
            f.writelines(f"{s} {old.get(s, version)}\n" for s in declared)
    ledger = [l.split()[0] for l in read(LEDGER).splitlines()
              if l and l[0] != "#"]
    for name in sorted(set(declared) ^ set(ledger)):
        where = "include/hull.h" if name in declared else LEDGER
        rep.problem(where, f"{name} is declared or listed, not both")
    library = os.path.join(build, "libhull.so")
    if not os.path.exists(library):
        return "libhull.so is not built"
    out = subprocess.run(["nm", "-D", "--defined-only", library], check=True,
                         capture_output=True, text=True).stdout
    exported = {f[2].split("@")[0] for f in map(str.split, out.splitlines())
                if len(f) == 3 and f[1] != "A"}
    for name in sorted(exported ^ set(declared)):
        rep.problem("libhull.so", f"{name} is "
                    + ("exported but not declared" if name in exported
                       else "declared but not exported"))
    return None


def header_alone(rep, _files):
    for suffix, compiler, std in ((".c", "gcc", "c17"), (".cc", "g++",
                                                         "c++17")):
        with tempfile.NamedTemporaryFile("w", suffix=suffix) as f:
            f.write('#include "hull.h"\n#include "hull.h"\n')
            f.flush()
            got = subprocess.run(
                [compiler, f"-std={std}", "-Wall", "-Wextra", "-pedantic",
                 "-Werror", "-fsyntax-only", "-Iinclude", f.name], cwd=ROOT,
                capture_output=True, text=True)
        if got.returncode:
            rep.problem("include/hull.h", f"alone as {std}: {got.stderr}")


def spdx(rep, files):
    for path in files:
        name = os.path.basename(path)
        if not path.endswith(C_FILES + (".def", ".py", ".sh", ".cmake")) and \
                name not in ("CMakeLists.txt", "Makefile"):
            continue
        head = "\n".join(read(path).splitlines()[:4])
        if "SPDX-License-Identifier: Apache-2.0" not in head:
            rep.problem(path, "no SPDX line")


def machine_paths(rep, files):
    """No folder of the author's machine, in text and in binary files."""
    pattern = re.compile(r"(?<![\w.])/(?:" + "|".join(
        ("work", "root", r"home/\w+", "opt" + "/hullpy")) + r")/")
    for path in files:
        for n, line in enumerate(read(path).split("\n"), 1):
            m = pattern.search(line)
            if m:
                rep.problem(f"{path}:{n}", f"path of a machine: {m.group(0)}")


def test_exists(name, part):
    """Is there a test file of that name, and a test `part` in it?"""
    for path in (f"tests/unit/{name}.c", f"tests/fuzz/{name}.c",
                 f"tests/{name}.sh", f"tests/{name}.c", f"tests/{name}.py",
                 f"tests/{name}"):
        if os.path.isfile(os.path.join(ROOT, path)):
            break
    else:
        return False
    # Defined, and listed among the tests of its main.
    return not part or len(re.findall(rf"\b{re.escape(part)}\b",
                                      read(path))) >= 2


def proofs(rep, _files):
    """In the table of docs/cache.md every cell of Hull's that claims something
    names tests, and these exist: `FILE: TEST, TEST` or `FILE`."""
    page = "docs/cache.md"
    lines = read(page).splitlines()
    if "## Beside other caches" not in lines:
        rep.problem(page, "there is no section 'Beside other caches'")
        return
    rows = 0
    for n, line in enumerate(lines, 1):
        if n <= lines.index("## Beside other caches") + 1:
            continue
        cells = [c.strip() for c in line.strip().strip("|").split(" | ")]
        if not line.startswith("| ") or cells[0] == "promise":
            continue
        rows += 1
        named = re.findall(r"`([^`]+)`", cells[1])
        if not named and cells[1] != "no":
            rep.problem(f"{page}:{n}", f"'{cells[0]}' names no test")
        for text in named:
            name, _, parts = text.partition(": ")
            for part in parts.split(", "):
                if not test_exists(name, part):
                    rep.problem(f"{page}:{n}", f"there is no test '{name}"
                                f"{': ' + part if part else ''}'")
    if rows < 20:
        rep.problem(page, f"the table has {rows} rows")


def limits(rep, files):
    """The values of docs/security.md are those of the sources."""
    units = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
    page = "docs/security.md"
    for n, line in enumerate(read(page).splitlines(), 1):
        row = re.match(r"\|.*\| ([^|]+) \| `([^`|]+)` `(\w+)` \|$", line)
        if not row:
            continue
        number, _, unit = row[1].partition(" ")
        value = units.get(unit, 1) * int(number.replace(",", "")) \
            if "^" not in number else eval(row[1].replace("^", "**"))
        found = re.search(rf"^#define {row[3]} +(.*?)(?: */\*.*)?$",
                          read(row[2]), re.M)
        if not found:
            rep.problem(f"{page}:{n}", f"{row[2]} has no {row[3]}")
            continue
        code = re.sub(r"\((?:u?int\d+_t|size_t)\)|(?<=\d)[uUlL]+", "", found[1])
        if eval(code) != value:
            rep.problem(f"{page}:{n}", f"{row[3]} is {found[1]}, not {row[1]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--bless", action="store_true")
    args = parser.parse_args()
    files = listed_files()
    rep = Report()
    for check in (layering, unique_names, build_lists, lengths, white_space,
                  banned_calls, op_rows, table_files, option_rows,
                  generated_docs, header_alone, spdx, machine_paths,
                  limits, proofs):
        rep.run(check, files)
    rep.run(symbols, files, args.build, args.bless)
    for line in rep.problems:
        print(line)
    print(f"{rep.passed} passed, {rep.failed} failed, {rep.skipped} skipped")
    return 1 if rep.failed else 0


if __name__ == "__main__":
    sys.exit(main())
