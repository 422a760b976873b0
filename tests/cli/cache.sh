# SPDX-License-Identifier: Apache-2.0
# Counters, entries, damage, clearing; and no cache at all.
try() { attempt "$HULL" "$@"; }
# Counters without their sizes.
stats() {
    "$HULL" cache stats --cache cache |
        sed -E '/^bytes/s/ [0-9]+ / N /;s/[0-9.]+ KiB/SIZE/'
}
model=$ROOT/demo/digits.onnx

"$HULL" compile "$model" --cache cache -o one.hull >/dev/null
"$HULL" compile "$model" --cache cache -o two.hull | grep -o 'cache hit, direct'
cmp one.hull two.hull
"$HULL" compile "$model" --cache cache -o two.hull --set cache_direct=off |
    grep -o 'cache hit,.*engines'
HULL_CPU_ISA=none "$HULL" compile "$model" --cache other -o two.hull >/dev/null
"$HULL" compile "$model" --cache other -o two.hull | grep -o 'cache [^,]*,.*engines'
stats
"$HULL" cache ls --cache cache |
    sed -E 's/[0-9a-f]{64} +[0-9.]+ [KiB]+ [0-9TZ:-]+/KEY N TIME/' | sort
"$HULL" cache ls --cache cache |
    grep -c "^$("$HULL" compile "$model" --print-key) "
"$HULL" inspect cache/v2/*/*.plan | grep -E '^(plan|key|hull-plan|module)' |
    sed -E 's/ .*//'
"$HULL" inspect cache/v2/*/*.manifest | grep -E '^(hull-manifest|notes:)'
try cache verify --cache cache
entry=$(ls cache/v2/*/*.engine)
printf X | dd of="$entry" bs=1 seek=100 conv=notrunc status=none
try cache verify --cache cache | sed -E "s|[^' ]*[.]engine|ENTRY|;s/^[0-9a-f]{64}/KEY/"
stats | grep -E '^(corrupt|entries)'
"$HULL" compile "$model" --cache cache -o one.hull | grep -o 'cache miss, direct'
entry=$(ls cache/v2/*/*.plan)
printf X | dd of="$entry" bs=1 seek=100 conv=notrunc status=none
"$HULL" compile "$model" --cache cache -o two.hull 2>text | grep -o 'cache hit,.*engines'
grep -c 'damaged entry' text
cmp one.hull two.hull
try cache clear --cache cache | sed -E 's/[0-9.]+ KiB/SIZE/'
try cache clear --cache cache
stats | grep '^entries'

# Asked for, but there is none: said, and the work goes on.
touch file
"$HULL" compile "$model" --cache file/cache -o two.hull 2>text | grep -o 'cache none'
grep -c 'no cache, every engine is built' text
"$HULL" compile "$model" --no-cache -o two.hull 2>text | grep -o 'cache none'
[ ! -s text ]
