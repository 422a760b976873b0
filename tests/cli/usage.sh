# SPDX-License-Identifier: Apache-2.0
# Every wrong command line is one line of error and exit status 1.
try() { attempt "$HULL" "$@"; }

try
try frob
try compile
try compile a b
try compile --frob a
try compile -x a
try compile a --set
try compile a --json=3
try compile a --set frob
try compile a --set thread=1
try compile a --set bakends=ref
try compile a --backend ref,nosuch
try compile a --wieghts b
try compil a
try compile a --set threads=-1
try compile a --cache d --no-cache
try compile a --strip-weights --prepared
try compile a --set strip_weights=on --link
try refit a
try refit a b
try run a --atol -1
try run a --rtol x
try run a --repeat 0
try cache
try cache frob
try cache ls --no-cache
try opt a.ir --pass frob
try opt a.ir --stage frob
try opt a.ir --stage graph --pass fold
try help frob
try compile --json a --set threads=x
