# SPDX-License-Identifier: Apache-2.0
# What inspect says of a model, a checkpoint, tensors and other files.
try() { attempt "$HULL" inspect "$@"; }

cd "$ROOT/demo"
try digits.onnx
try epoch1.safetensors
try test.npz
cd - >/dev/null
printf 'no such format' >frob
try frob
try absent
head -c 5000 "$ROOT/demo/epoch1.safetensors" >cut.safetensors
try cut.safetensors
try --json frob
