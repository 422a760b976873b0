# SPDX-License-Identifier: Apache-2.0
# The version, three ways.
"$HULL" version
"$HULL" --version
"$HULL" version --json
