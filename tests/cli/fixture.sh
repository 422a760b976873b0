# SPDX-License-Identifier: Apache-2.0
# Two checkpoints of a shared fixture, and its second shape.
if [ ! -e "$SHARED/fixtures/mlp" ]; then
    echo "no shared fixtures"
    exit 77
fi
f=$SHARED/fixtures/mlp
"$HULL" compile "$f/train.dyn.pt2" --weights "$f/a.safetensors" \
    --cache cache -o a.hull >/dev/null
"$HULL" refit a.hull "$f/b.safetensors" -o b.hull >/dev/null
for set in a b; do
    for suffix in '' .2; do
        "$HULL" run $set.hull --input "$f/io_$set.safetensors" \
            --expect "$f/io_$set.safetensors" --suffix "$suffix" >text
        grep -c 'ok$' text
    done
done
code=0
"$HULL" run b.hull --input "$f/io_a.safetensors" \
    --expect "$f/io_a.safetensors" >text 2>&1 || code=$?
echo "exit $code"
