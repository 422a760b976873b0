#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Hull authors
"""Run every test of a build folder and count the single cases.

    scripts/run_tests.py BUILD [CTEST-ARGUMENT...]

CTest is the one register of tests. A part says how many cases it ran in its
own words: cmocka's totals, or a last line `N passed, N failed, N skipped`; a
part that says nothing counts as one case. Failing parts print their log.
Standard library only.
"""
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

SUMMARY = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped\s*$", re.M)
CMOCKA = {"passed": r"\[  PASSED  \] (?:[^\n:]+: )?(\d+) test",
          "failed": r"\[  FAILED  \] (?:[^\n:]+: )?(\d+) test",
          "skipped": r"\[  SKIPPED \] (?:[^\n:]+: )?(\d+) test"}


def count(log, state):
    """(passed, failed, skipped) of one part."""
    closing = SUMMARY.findall(log)
    if closing:
        counts = [int(n) for n in closing[-1]]
    elif "[==========]" in log:
        counts = [sum(int(n) for n in re.findall(p, log))
                  for p in CMOCKA.values()]
    else:
        counts = [0, 0, 0]
    if state == "fail" and counts[1] == 0:
        counts[1] = 1  # it crashed, hung or failed outside a case
    if state == "skip" and counts[2] == 0:
        counts[2] = 1
    if state == "run" and sum(counts) == 0:
        counts[0] = 1
    return counts


def allow_null():
    """Tests ask for absurd sizes: a sanitizer's malloc must answer NULL."""
    for name in ("ASAN_OPTIONS", "TSAN_OPTIONS"):
        given = os.environ.get(name)
        os.environ[name] = "allocator_may_return_null=1" + (
            f":{given}" if given else "")


def run_ctest(build, arguments):
    """[(name, state, seconds, log)], from CTest's own report."""
    allow_null()
    report = os.path.join(os.path.abspath(build), "tests.xml")
    if os.path.exists(report):
        os.remove(report)
    subprocess.run(["ctest", "--test-dir", build, "-j2", "--timeout", "300",
                    "--no-tests=error", "--quiet", "--output-junit", report,
                    "--test-output-size-passed", "4194304",
                    "--test-output-size-failed", "4194304", *arguments])
    if not os.path.exists(report):
        return []
    states = {"run": "run", "fail": "fail"}
    return [(case.get("name"), states.get(case.get("status"), "skip"),
             float(case.get("time") or 0), case.findtext("system-out") or "")
            for case in xml.parse(report).iter("testcase")]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.split("\n\n")[1])
    total = [0, 0, 0]
    parts = run_ctest(sys.argv[1], sys.argv[2:])
    width = max((len(p[0]) for p in parts), default=0)
    for name, state, seconds, log in sorted(parts):
        counts = count(log, state)
        total = [a + b for a, b in zip(total, counts)]
        print(f"{name:{width}}  {counts[0]:5} passed {counts[1]:3} failed "
              f"{counts[2]:4} skipped {seconds:7.1f} s")
    for name, state, _, log in parts:
        if state == "fail":
            print(f"\n---- {name}\n{log.rstrip()}")
    if not parts:
        total[1] = 1
        print("no test ran")
    print(f"\n{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    return 1 if total[1] else 0


if __name__ == "__main__":
    sys.exit(main())
