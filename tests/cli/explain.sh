#!/usr/bin/env bash
# explain, why, memory and dump: every node has a device or a fate, and a reason.
# shellcheck disable=SC2154  # $work is support.bash's
set -uo pipefail
here=$(dirname "$0")
# shellcheck source=support.bash
. "$here/support.bash"
model=$SOURCE/examples/models/digits.pb

expect 0 "$FERRY" explain "$model" --batch 1 --sim gpu:1
contains 'Placement of 23 nodes' 'CPU:0 does 100 % of the FLOPs; no transfers per run' 'folded: computed ahead of time'
lacks $'\033'  # no colours in a file
expect 0 "$FERRY" explain "$model" --batch 4096 --sim gpu:1
contains 'Transfers: 3 per run' 'x:0' 'why:' 'remove:' 'GPU:0 does' 'of weights go to devices once' 'Memory of one run'
expect 0 "$FERRY" explain "$model" --sim gpu:1
contains 'unknown sizes count as 1' 'x:0 [?,64]'

expect 0 "$FERRY" explain "$model" --batch 4096 --sim gpu:1 --json
json
json_is "len(d['nodes'])" 23
json_is "all(n['reason'] for n in d['nodes'])" True
json_is "[n['fate'] for n in d['nodes'] if n['name'] == 'scale'][0]" folded
json_is "[n['device'] for n in d['nodes'] if n['name'] == 'logits/matmul'][0]" GPU:0
json_is "sorted(t['bytes'] for t in d['transfers'] if not t['once'])" '[32768, 163840, 262144]'
json_is "all(t['advice'] and t['why'] for t in d['transfers'])" True
json_is "[m['device'] for m in d['memory']]" "['CPU:0', 'GPU:0']"
expect 0 "$FERRY" explain "$model" --fetch digit --shape 'x=[8,64]' --json
json
json_is "d['feeds'][0]['shape']" '[8, 64]'
json_is "[n['fate'] for n in d['nodes'] if n['name'] == 'probability'][0]" 'not needed'
expect 0 "$FERRY" explain "$model" --feed hidden2 --batch 4 --json
json
json_is "[n['fate'] for n in d['nodes'] if n['name'] == 'hidden1'][0]" 'not needed'

expect 0 "$FERRY" explain "$model" --batch 4096 --sim gpu:1 --why logits
contains 'logits (BiasAdd)' 'runs on' 'because' 'CPU:0' 'could run it'
expect 0 "$FERRY" explain "$model" --batch 4096 --sim gpu:1,lack=Softmax --why probability
contains 'runs on       CPU:0' 'the simulated GPU lacks Softmax'
# What a device lacks stays visible where fusing would have hidden it.
expect 0 "$FERRY" explain "$model" --batch 4096 --sim gpu:1,lack=MatMul --why hidden1/matmul
contains 'runs on       CPU:0' 'the simulated GPU lacks MatMul'
expect 0 "$FERRY" explain "$model" --batch 4096 --sim gpu:1,lack=Relu --why hidden1
contains 'runs on       CPU:0' 'the simulated GPU lacks Relu'
expect 0 "$FERRY" explain "$model" --batch 8 --why scale --json
json
json_is "d['node']['fate']" folded
expect 1 "$FERRY" explain "$model" --why logit
contains "did you mean 'logits'?"
expect 1 "$FERRY" explain "$model" --fetch digits
contains "did you mean 'digit'?"
expect 1 "$FERRY" explain "$model" --shape 'x=[8,63]'
contains "'x' has shape [?,64] in the graph: [8,63] does not fit it"
expect 1 "$FERRY" explain "$model" --shape 'x=8'
contains 'not a shape'

expect 0 "$FERRY" explain "$model" --memory --sim gpu:1,memory=64MiB --batch 4096 --config place=tensorflow
contains 'LARGEST BATCH' 'The memory of GPU:0 runs out first'
expect 0 "$FERRY" explain "$model" --memory --sim gpu:1,memory=64MiB --json
json
json_is "d['first_exhausted']" GPU:0
json_is "d['devices'][1]['limit_bytes']" 67108864

for stage in import optimize place partition memory program; do
  expect 0 "$FERRY" dump "$model" --after $stage --batch 4096 --sim gpu:1
  [ -s "$work/out" ] || fail "dump --after $stage says nothing"
done
expect 1 "$FERRY" dump "$model" --after optimise
contains "did you mean 'optimize'?"
# The same question gets the same answer.
"$FERRY" explain "$model" --batch 512 --sim gpu:1 >"$work/a" && "$FERRY" explain "$model" --batch 512 --sim gpu:1 >"$work/b"
cmp -s "$work/a" "$work/b" || fail 'explain is not stable'
finish
