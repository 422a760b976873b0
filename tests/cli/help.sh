# SPDX-License-Identifier: Apache-2.0
# The list of commands, and a help text of each.
"$HULL" help
"$HULL" --help >again
"$HULL" help | cmp - again
for name in compile refit run inspect explain bench cache opt options version help
do
    "$HULL" $name --help >text
    "$HULL" help $name | cmp - text
    grep -q "^Usage: hull $name" text
    grep -q -- --json text
    grep -q 'Exit status' text
done
