#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two hosts, A and B, on one cable: network namespaces joined by a veth pair.
# What A built B takes out of the Redis on A; and when the cable is pulled in
# the middle of a transfer, B's look-up is a miss in time and its build goes
# on. tests/hosts.sh BUILD. Needs root, ip(8), redis-server, python3.
set -eu

skip() {
    echo "skipped: $1"
    exit 77
}

if [ "${2-}" != inside ]; then
    [ "$(id -u)" -eq 0 ] || skip "network namespaces need root"
    for program in ip nsenter redis-server redis-cli python3; do
        command -v $program >/dev/null ||
            skip "no $program: scripts/setup.sh test"
    done
    unshare --net true 2>/dev/null || skip "no network namespaces here"
    exec unshare --net --pid --mount-proc --fork --kill-child "$0" "$1" inside
fi

hull=$(realpath "$1")/hull
cd "$(dirname "$0")/.."
top=$(mktemp -d)
passed=0

# ---- the cable ---------------------------------------------------------------
unshare --net sleep 1000 &
b=$!
store=
redis=
trap 'echo "line $LINENO: not so"; cat "$top/log"' ERR
trap 'kill $b $store $redis 2>/dev/null || true; rm -rf "$top"' EXIT
ip link set lo up
ip link add cable-a type veth peer name cable-b 2>/dev/null ||
    skip "no veth devices here"
until [ "$(readlink /proc/$b/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do
    sleep 0.01
done
ip link set cable-b netns $b
ip addr add 10.77.0.1/24 dev cable-a
ip link set cable-a up
on_b() {
    nsenter --net=/proc/$b/ns/net "$@"
}
on_b ip link set lo up
on_b ip addr add 10.77.0.2/24 dev cable-b
on_b ip link set cable-b up

# ---- helpers -----------------------------------------------------------------
# compile CACHE STORE [OPTION...]: "cache hit" or "cache miss"
compile() {
    local cache=$top/$1 store=$2
    shift 2
    "$hull" compile demo/digits.onnx --cache "$cache" \
        --set "cache_remote=$store" --set cache_direct=off "$@" -o "$cache.hull" 2>>"$top/log" |
        grep -o 'cache [a-z]*'
}
export -f compile
export hull top

compile_on_b() {
    on_b bash -c 'compile "$@"' compile "$@"
}

# expect CACHE NAME=VALUE...
expect() {
    local cache=$1 pair found
    shift
    for pair in "$@"; do
        found=$("$hull" cache stats --cache "$top/$cache" |
            awk -v name="${pair%=*}" '$1 == name { print $2 }')
        [ "$found" = "${pair#*=}" ] || {
            echo "cache $cache: ${pair%=*} is $found, wanted ${pair#*=}"
            cat "$top/log"
            exit 1
        }
    done
}

ok() {
    passed=$((passed + 1))
    echo "ok: $1"
}

# Within that many seconds or it hung.
within() {
    [ $((SECONDS - start)) -le "$1" ] || {
        echo "took $((SECONDS - start)) s, wanted $1 at most"
        exit 1
    }
}

# ---- B hits what A built -----------------------------------------------------
redis-server --port 6379 --bind 10.77.0.1 --protected-mode no --save '' \
    --appendonly no --dir "$top" >/dev/null &
redis=$!
until [ "$(redis-cli -h 10.77.0.1 ping 2>/dev/null)" = PONG ]; do
    sleep 0.01
done
url=redis://10.77.0.1
head -c 32 /dev/urandom >"$top/secret"
head -c 32 /dev/urandom >"$top/other"
chmod 600 "$top/secret" "$top/other"

[ "$(compile a $url)" = "cache miss" ]
[ "$(compile_on_b b $url)" = "cache hit" ]
expect a misses=1 builds=1 remote_stores=1 hits=0
expect b hits=1 hits_remote=1 builds=0 misses=0 remote_errors=0
cmp "$top/a.hull" "$top/b.hull"
[ "$(compile_on_b b none)" = "cache hit" ]
expect b hits=2 hits_remote=1 hits_disk=1
ok "B hits what A built, and has it from then on"

redis-cli -h 10.77.0.1 flushall >/dev/null
[ "$(compile ad $url --set cache_direct=on)" = "cache miss" ]
[ "$(compile_on_b bd $url --set cache_direct=on)" = "cache hit" ]
expect ad direct_misses=1 direct_hits=0 remote_stores=3
expect bd direct_hits=1 direct_misses=0 hits_remote=1 builds=0
cmp "$top/ad.hull" "$top/bd.hull"
ok "B takes plan and manifest from there, too"

redis-cli -h 10.77.0.1 flushall >/dev/null
[ "$(compile as $url --set cache_secret="$top/secret")" = "cache miss" ]
[ "$(compile_on_b bs $url --set cache_secret="$top/secret")" = "cache hit" ]
[ "$(compile_on_b bo $url --set cache_secret="$top/other")" = "cache miss" ]
expect bs hits_remote=1 mac_failures=0 builds=0
expect bo mac_failures=1 builds=1 misses=1
ok "with one secret B hits, with another one it builds"

# ---- the cable is pulled -----------------------------------------------------
python3 tests/hostile_store.py "$top/requests" 10.77.0.1 \
    < <(sleep 1000) >"$top/ports" &
store=$!
until [ -s "$top/ports" ]; do
    sleep 0.01
done
read -r http_port redis_port <"$top/ports"

# cut NAME URL: a transfer that takes two seconds arrives; with the cable pulled
# in its middle it does not.
cut_in_the_middle() {
    local limits="timeout=3000|connect-timeout=500"

    [ "$(compile "$1-a" "$2")" = "cache miss" ]
    [ "$(compile_on_b "$1-whole" "$2|timeout=60000")" = "cache hit" ]
    expect "$1-whole" hits_remote=1 builds=0
    : >"$top/requests"
    start=$SECONDS
    compile_on_b "$1-cut" "$2|$limits" >"$top/answer" &
    local compiling=$!
    until grep -q "drip 20" "$top/requests"; do
        sleep 0.01
    done
    on_b ip link set cable-b down
    wait $compiling
    within 60
    [ "$(cat "$top/answer")" = "cache miss" ]
    expect "$1-cut" hits=0 misses=1 builds=1 stores=1 remote_errors=1 \
        remote_timeouts=1 tier_disabled=1
    cmp "$top/$1-a.hull" "$top/$1-cut.hull"
    on_b ip link set cable-b up
    ok "$1: cut in the middle, a miss in time, and the build goes on"
}

cut_in_the_middle http "http://10.77.0.1:$http_port/drip|layout=flat"
cut_in_the_middle redis "redis://10.77.0.1:$redis_port/15"

# The other end is pulled: nobody answers at all.
ip link set cable-a down
start=$SECONDS
[ "$(compile_on_b gone "$url|connect-timeout=500")" = "cache miss" ]
[ "$(compile_on_b gone2 "http://10.77.0.1/|connect-timeout=500")" = \
    "cache miss" ]
within 60
expect gone builds=1 remote_errors=1 tier_disabled=1
expect gone2 builds=1 remote_errors=1 tier_disabled=1
ok "nobody answers: a miss after the time for connecting"

echo "$passed passed, 0 failed, 0 skipped"
