# SPDX-License-Identifier: Apache-2.0
# cache gc: damaged entries, entries nobody used for long, what is beyond a
# limit, folders of other formats; nothing twice, and nothing else.
export HULL_CPU_ISA=none HULL_LOG=cache:error
model=$ROOT/demo/digits.onnx
try() { attempt "$HULL" cache "$@" --cache cache; }
sizes() {
    sed -E 's/[0-9.]+ (B|KiB)/SIZE/g'
}
fill() {
    for fuse in on off; do
        "$HULL" compile "$model" --cache cache -o x.hull --set fuse=$fuse \
            --set cache_direct=off >log
    done
}
key=$("$HULL" compile "$model" --print-key)
echo '# an empty folder, twice'
try gc
try gc
fill
echo '# damaged entries that were set aside'
printf X | dd of="$(find cache -name "${key:2}.engine")" bs=1 seek=100 conv=notrunc status=none
"$HULL" cache verify --cache cache >log 2>&1 || true
[ "$(find cache -path '*/bad/*' -name '*.engine' | wc -l)" = 1 ]
try gc | sizes
[ "$(find cache -path '*/bad/*' -type f | wc -l)" = 0 ]
try gc | sizes
echo '# unused for long'
fill
touch -d '3 days ago' "$(find cache -name "${key:2}.engine")"
try gc --older-than 4d | sizes
try gc --older-than 2d | sizes
"$HULL" cache ls --cache cache | grep -c "$key" || true
echo '# beyond a limit'
fill
try gc --limit 3KiB | sizes
try gc --limit 3KiB | sizes
"$HULL" cache ls --cache cache | wc -l
echo '# other formats, only when asked and only when old'
mkdir -p cache/v99/ab cache/ab cache/mine
touch -d '3 days ago' cache/v99/ab/x cache/ab/y.engine cache/stats cache/mine/z
try gc --older-than 4d --other-versions | sizes
try gc --older-than 2d | sizes
try gc --older-than 2d --other-versions | sizes
(cd cache && ls)
ln -s "$PWD" cache/v98
try gc --older-than 0s --other-versions | sizes
[ -e log ]
echo '# mistakes'
try gc --older-than 2
try gc --older-than 2w
try gc --other-versions
try gc --limit lots
try gc --json | grep -E '"(bad|old|evicted|others|bytes|entries_left)"' | sort

echo '# a folder that this user may not write'
as=
if [ "$(id -u)" = 0 ]; then
    command -v setpriv >/dev/null || exit 77
    chmod 711 .. .
    as='setpriv --reuid=65534 --clear-groups'
    cp "$HULL" hull
    HULL=./hull
fi
fill
chmod -R a-w,a+rX cache
$as "$HULL" cache ls --cache cache | wc -l
for verb in clear 'gc --older-than 0s'; do
    attempt $as "$HULL" cache $verb --cache cache |
        sed -E -e "s|'cache/[^']*'|FILE|" -e 's/v2.*/v2/'
done
"$HULL" cache ls --cache cache | wc -l
