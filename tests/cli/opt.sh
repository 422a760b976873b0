# SPDX-License-Identifier: Apache-2.0
# IR text through hull opt: printing, passes, canonical text, split.
cat >in.ir <<'IR'
graph @main(%x: f32[N,4]) {
  %w = weight "fc.weight" : f32[8,4]
  %b = weight "fc.bias" : f32[8]
  %t = transpose %w {perm=[1,0]} : f32[4,8]
  %m = matmul %x, %t : f32[N,8]
  %y = add %m, %b : f32[N,8]
  %r = relu %y : f32[N,8]
  %s = relu %y : f32[N,8]
  %z = add %r, %s : f32[N,8]
  return %z
}
IR
try() { attempt "$HULL" opt "$@"; }

"$HULL" opt in.ir >once.ir
"$HULL" opt - <once.ir | cmp - once.ir
cat once.ir
echo '// cse'
"$HULL" opt in.ir --pass cse
echo '// graph stage'
"$HULL" opt in.ir --stage graph
echo '// canonical'
"$HULL" opt in.ir --canonical
echo '// split'
"$HULL" opt in.ir --stage lower --split
"$HULL" opt in.ir --stage lower --split | "$HULL" opt - >again.ir
"$HULL" opt in.ir --stage lower --split | cmp - again.ir

echo 'graph @main(%x: f32[4]) {
  return %y
}' >bad.ir
try bad.ir
try absent.ir
try --json bad.ir
