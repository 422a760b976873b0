#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs tests/cli/*.sh, the tests of the command line.
#
#   tests/clitest.sh [--bless] HULL [NAME...]
#
# Each NAME.sh runs under `bash -eu` in an empty folder of its own, with
#   $HULL    the program          $ROOT    the source folder
#   $SHARED  the shared folder, "" when there is none
#   attempt  runs its arguments and tells the exit status; never fails
# and is compared with the files beside it:
#   NAME.out   standard output, exactly; not compared when absent
#   NAME.err   standard error, likewise
#   NAME.exit  exit status; 0 when absent
# In both outputs the folders are written as ROOT, SHARED and TMP. Exit 77
# means skipped, with the reason as the last line of output. --bless rewrites
# the .out and .err files that exist, and .exit when the status is not 0.
set -u

bless=
if [ "${1-}" = --bless ]; then
    bless=1
    shift
fi
if [ $# -lt 1 ]; then
    echo "usage: tests/clitest.sh [--bless] HULL [NAME...]" >&2
    exit 2
fi
HULL=$(realpath "$1")
shift
ROOT=$(cd "$(dirname "$0")/.." && pwd)
SHARED=${HULL_SHARED:-$ROOT/../shared}
SHARED=$(cd "$SHARED" 2>/dev/null && pwd) || SHARED=
export HULL ROOT SHARED
# Nothing of the user's settings may show in an expectation.
unset HULL_LOG HULL_DUMP HULL_CACHE_DIR HULL_FAIL_ALLOC
export LC_ALL=C XDG_CACHE_HOME=/dev/null/none

attempt() {
    local code=0
    "$@" 2>&1 || code=$?
    echo "exit $code"
}
export -f attempt

top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
passed=0
failed=0
skipped=0

# Folders as words, so that expectations hold on every machine.
neutral() {
    sed -e "s|$top/[^/ ':\"]*|TMP|g" ${SHARED:+-e "s|$SHARED|SHARED|g"} \
        -e "s|$ROOT/../shared|SHARED|g" -e "s|$ROOT|ROOT|g"
}

# compare KIND EXPECTED ACTUAL: prints a diff and fails when they differ
compare() {
    [ -e "$2" ] || return 0
    if [ -n "$bless" ]; then
        cp "$3" "$2"
        return 0
    fi
    diff -u --label "$1 expected" --label "$1" "$2" "$3"
}

run_one() {
    local script=$1 base=${1%.sh} name work status want=0 ok=1
    name=$(basename "$base")
    work=$top/$name
    mkdir "$work"
    (cd "$work" && timeout 120 bash -eu "$script") \
        >"$top/$name.stdout" 2>"$top/$name.stderr" </dev/null
    status=$?
    neutral <"$top/$name.stdout" >"$top/$name.o"
    neutral <"$top/$name.stderr" >"$top/$name.e"
    if [ "$status" -eq 77 ]; then
        skipped=$((skipped + 1))
        echo "skipped $name: $(cat "$top/$name.o" "$top/$name.e" | tail -n 1)"
        return
    fi
    [ ! -e "$base.exit" ] || want=$(cat "$base.exit")
    if [ -n "$bless" ] && [ "$status" -ne "$want" ]; then
        want=$status
        echo "$status" >"$base.exit"
    fi
    compare stdout "$base.out" "$top/$name.o" || ok=0
    compare stderr "$base.err" "$top/$name.e" || ok=0
    if [ "$status" -ne "$want" ]; then
        echo "exit status $status, want $want"
        ok=0
    fi
    if [ "$ok" -eq 1 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED $name; its standard error:"
        cat "$top/$name.e"
    fi
    rm -rf "$work"
}

if [ $# -eq 0 ]; then
    set -- "$ROOT"/tests/cli/*.sh
fi
for test in "$@"; do
    case $test in
    */*) ;;
    *) test=$ROOT/tests/cli/${test%.sh}.sh ;;
    esac
    if [ -e "$test" ]; then
        run_one "$(realpath "$test")"
    else
        echo "FAILED $test: no such test"
        failed=$((failed + 1))
    fi
done

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
