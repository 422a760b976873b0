# SPDX-License-Identifier: Apache-2.0
# cache export and import: what one cache has is in another one afterwards, and
# nothing else: files that were cut, changed or made up add nothing.
export HULL_CPU_ISA=none HULL_LOG=cache:error
model=$ROOT/demo/digits.onnx
try() { attempt "$HULL" cache "$@"; }
names() {
    sed -E -e 's/[0-9a-f]{64}/KEY/g' -e 's/[0-9.]+ (B|KiB)/SIZE/' \
        -e 's/byte [0-9]+/byte N/' -e 's/[0-9]+ bytes/N bytes/g' \
        -e 's/(does not unpack: ).*/\1WHY/' # depends on the entry's bytes
}
entries() {
    "$HULL" cache ls --cache "$1" --json |
        grep -E '"key"|"kind"' | sort | md5sum
}
"$HULL" compile "$model" --cache a -o x.hull >log
"$HULL" compile "$model" --cache a -o x.hull --set fuse=off >log
"$HULL" bench "$model" --cache a -i "$ROOT/demo/test.npz" --save-profile \
    --profile --rounds 1 --seconds 0.01 --threads 1 >log 2>&1

echo '# all, twice: nothing is new the second time, and the file is the same'
try export all.pack --all --cache a | names
try import all.pack --cache b
try import all.pack --cache b
[ "$(entries a)" = "$(entries b)" ]
"$HULL" cache export again.pack --all --cache b >log
cmp all.pack again.pack
"$HULL" compile "$model" --cache b -o x.hull | grep -o 'cache [a-z]*'
"$HULL" cache stats --cache b | awk '/^(hits|misses|builds|corrupt) / { print $1, $2 }'

echo '# the engines of a model, and one by its key'
try export model.pack --model "$model" --set fuse=off --cache a | names
try import model.pack --cache c
"$HULL" compile "$model" --cache c -o x.hull --set fuse=off | grep -o 'cache [a-z]*'
key=$("$HULL" compile "$model" --print-key)
try export key.pack "${key:0:20}" --cache a | names
try import key.pack --cache c --json | grep -E 'added|present|refused'
try export none.pack --cache a
try export none.pack --all "$key" --cache a
try export none.pack ffff0000ffff --cache a
try export no/where.pack --all --cache a
[ ! -e none.pack ]

echo '# damage: in the folder it is left out, in a file it adds nothing'
printf X | dd of="$(find a -name "${key:2}.engine")" bs=1 seek=100 conv=notrunc status=none
try export part.pack --all --cache a | names
try import part.pack --cache d
python3 - <<'END'
data = open("all.pack", "rb").read()
def write(name, b): open(name + ".bad", "wb").write(b)
for n in (0, 15, 16, 63, 64, 200, len(data) // 2, len(data) - 1):
    write(f"cut{n:04}" if n < len(data) // 2 else f"cut.{n % 7}", data[:n])
write("longer", data + b"x")
write("flip", data[:300] + bytes([data[300] ^ 1]) + data[301:])
write("version", data[:8] + b"\2" + data[9:])
write("zero", data[:12] + b"\1" + data[13:])
END
for file in *.bad; do
    code=0
    "$HULL" cache import "$file" --cache e >log 2>&1 || code=$?
    [ $code = 2 ] || echo "$file: exit $code"
done
"$HULL" cache ls --cache e | wc -l
try import flip.bad --cache e
try import version.bad --cache e
try import cut0200.bad --cache e
try import "$model" --cache e
try import absent --cache e

echo '# made up: with a digest that fits'
python3 - <<'END'
import hashlib, struct
data = open("all.pack", "rb").read()
def seal(body, n):
    body += b"\x89HULZ\r\n\x1a" + struct.pack("<Q", n)
    return body + hashlib.blake2b(body, digest_size=32).digest()
at, envelopes = 16, []
while data[at:at + 5] == b"\x89HULE":
    stored = struct.unpack_from("<Q", data, at + 40)[0]
    envelopes.append(data[at:at + 112 + stored])
    at += 112 + stored
head = data[:16]
assert seal(head + b"".join(envelopes), len(envelopes)) == data
def write(name, list, n=None):
    open(name + ".pack", "wb").write(seal(head + b"".join(list), len(list) if n is None else n))
def patch(e, at, fmt, *v):
    e = bytearray(e)
    struct.pack_into(fmt, e, at, *v)
    return bytes(e)
a, b = envelopes[:2]
write("made.order", [b, a])
write("made.twice", [a, a])
write("made.count", [a, b], 3)
write("made.key", [patch(a, 48, "B", a[48] ^ 1)])
write("made.size", [patch(a, 32, "<Q", 1 << 62)])
write("made.small", [patch(a, 32, "<Q", 17)])
write("made.stored", [patch(a, 40, "<Q", 1 << 63)])
write("made.kind", [patch(a, 16, "16s", b"frob")])
write("made.other", [patch(a, 16, "16s", b"notes")])
write("made.frame", [a[:112] + bytes(len(a) - 112)])
write("made.mixed", [patch(a, 112 + 20, "B", a[132] ^ 4), b])
END
for file in made.*.pack; do
    echo "$file"
    try import "$file" --cache f | names
done
"$HULL" cache ls --cache f | wc -l

echo '# a secret: what is not signed with it is refused'
printf 'a secret of enough bytes\n' >secret
printf 'another secret, long enough\n' >other
chmod 600 secret other
try import all.pack --cache g --set cache_secret=secret | names
"$HULL" compile "$model" --cache g -o x.hull --set cache_secret=secret >log
try export signed.pack --all --cache g --set cache_secret=secret | names
try import signed.pack --cache h --set cache_secret=secret
"$HULL" compile "$model" --cache h -o x.hull --set cache_secret=secret | grep -o 'cache [a-z]*'
try import signed.pack --cache i --set cache_secret=other | names
