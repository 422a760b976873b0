# SPDX-License-Identifier: Apache-2.0
# Sequences and optionals: items are tensors NAME.0, NAME.1 ... of a file.
d=$ROOT/tests/data/cli
"$HULL" compile "$d/sequence.onnx" --cache cache -o m.hull >/dev/null
"$HULL" run m.hull --input "$d/sequence.npz" --output all.npz
"$HULL" run m.hull --input "$d/sequence.npz" --expect all.npz
"$HULL" run m.hull --input "$d/sequence.npz" --expect all.npz --json |
    grep '"type"'
# What came out goes in: t.0 is no item of s, so s is empty and o has no value.
"$HULL" run m.hull --input all.npz
code=0
"$HULL" run m.hull --input all.npz --expect all.npz 2>/dev/null || code=$?
echo "exit $code"
