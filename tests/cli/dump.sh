# SPDX-License-Identifier: Apache-2.0
# What HULL_DUMP writes, hull opt reads: each pass again gives the same text.
HULL_DUMP=before:all,after:all "$HULL" compile "$ROOT/demo/digits.pt2" \
    --no-cache --strip-weights -o one.hull >/dev/null
for before in hull-*-before-*.ir; do
    number=${before#hull-}
    number=$((10#${number%%-*}))
    pass=${before#hull-*-before-}
    pass=${pass%.ir}
    after=$(printf 'hull-%03d-after-%s.ir' $((number + 1)) "$pass")
    "$HULL" opt "$before" --pass "$pass" >again
    cmp again "$after"
    "$HULL" opt "$after" | cmp - "$after"
    echo "$pass" >>passes
done
sort -u passes >ran
sed -n 's/^PASS(\([a-z_]*\).*/\1/p' "$ROOT/src/passes/passes.def" | sort |
    comm -13 ran -
