# SPDX-License-Identifier: Apache-2.0
# Every row of the table of options is listed, as text and as JSON.
rows=$(grep -c '^OPT(' "$ROOT/src/options/options.def")
"$HULL" options >text
[ "$(wc -l <text)" -eq $((rows + 1)) ]
head -n 2 text
"$HULL" options --json | python3 -c "
import json, sys
rows = json.load(sys.stdin)['options']
print(len(rows) == $rows, sorted(rows[0]))"
