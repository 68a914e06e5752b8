#!/usr/bin/env bash
# inspect and run on SavedModels and checkpoints: signatures, tags, keys, and what is no model.
# shellcheck disable=SC2154  # $work is support.bash's
set -uo pipefail
here=$(dirname "$0")
# shellcheck source=support.bash
. "$here/support.bash"
zoo=$SOURCE/tests/data/zoo
model=$zoo/several_signatures

expect 0 "$FERRY" inspect "$model"
contains 'tags serve' 'signature branch' 'x: float[?,3]  (predict_x:0)' 'count: int64[]'
expect 0 "$FERRY" inspect "$zoo/text_pb" --tags gpu,serve --json
contains '"tags": ["gpu", "serve"]' '"tensor": "serving_default_x:0"'
expect 1 "$FERRY" inspect "$zoo/text_pb" --tags gpu
contains 'matching supplied tags: { gpu }'
expect 1 "$FERRY" inspect "$work"
contains 'Could not find SavedModel'
expect 2 "$FERRY" inspect
expect 0 "$FERRY" inspect "$SOURCE/examples/models/digits.pb"
contains 'digit'
expect 0 "$FERRY" inspect "$zoo/tf1_meta"
contains 'model.ckpt-7.meta'

# 2 by 2 floats 1 2 3 4
printf '\x93NUMPY\x01\x00\x46\x00%-69s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }" >"$work/x.npy"
printf '\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40' >>"$work/x.npy"
expect 0 "$FERRY" run "$zoo/text_pb" --feed "x=$work/x.npy" --tags serve
contains 'y = float[2,2] [1 0][3 0]'
expect 0 "$FERRY" run "$zoo/text_pb" --feed "x=$work/x.npy" --fetch y --output "$work/results" --tags serve --quiet
[ -s "$work/results/y.npy" ] || fail 'y.npy was not written'
expect 1 "$FERRY" run "$model" --signature nope
contains "no signature 'nope'; it has: branch, predict, step"
finish
