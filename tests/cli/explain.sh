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
# Nodes of functions, as all are in a model of TensorFlow 2: known by their names there, also when fused. The
# modelled work is that of a convolution, and reading a variable is none.
cat >"$work/call.pbtxt" <<'EOF'
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: -1 } dim { size: 32 } dim { size: 32 } dim { size: 3 } } } } }
node { name: "w" op: "VarHandleOp" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: 3 } dim { size: 3 } dim { size: 3 } dim { size: 16 } } } } }
node { name: "b" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 16 } } float_val: 1 } } } }
node { name: "call" op: "PartitionedCall" input: "x" input: "w" input: "b"
       attr { key: "Tin" value { list { type: DT_FLOAT type: DT_RESOURCE type: DT_FLOAT } } }
       attr { key: "Tout" value { list { type: DT_FLOAT } } } attr { key: "f" value { func { name: "layer" } } } }
library { function {
  signature { name: "layer" input_arg { name: "x" type: DT_FLOAT } input_arg { name: "w" type: DT_RESOURCE }
              input_arg { name: "b" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } is_stateful: true }
  node_def { name: "conv/read" op: "ReadVariableOp" input: "w" attr { key: "dtype" value { type: DT_FLOAT } } }
  node_def { name: "conv/Conv2D" op: "Conv2D" input: "x" input: "conv/read:value:0"
             attr { key: "T" value { type: DT_FLOAT } } attr { key: "padding" value { s: "SAME" } }
             attr { key: "strides" value { list { i: 1 i: 1 i: 1 i: 1 } } } }
  node_def { name: "conv/BiasAdd" op: "BiasAdd" input: "conv/Conv2D:output:0" input: "b"
             attr { key: "T" value { type: DT_FLOAT } } }
  node_def { name: "conv/Relu" op: "Relu" input: "conv/BiasAdd:output:0" attr { key: "T" value { type: DT_FLOAT } } }
  ret { key: "y" value: "conv/Relu:activations:0" } } }
EOF
expect 0 "$FERRY" explain "$work/call.pbtxt" --batch 64 --sim gpu:1
contains "inlined: its function's nodes run in its place" 'that inlining and rewriting made' \
  'stands for [call/conv/Conv2D, call/conv/BiasAdd, call/conv/Relu]'
lacks 'unknown sizes' 'only the run can tell'
expect 0 "$FERRY" explain "$work/call.pbtxt" --batch 64 --sim gpu:1 --json
json
flops=$((64 * 32 * 32 * 16 * 2 * 27))
json_is "[int(n['flops']) for n in d['nodes'] if n['op'] == '_FerryConv2D']" "[$flops]"
json_is "d['summary']['flops'] == $flops" True
json_is "max(n['modelled_ns'] for n in d['nodes'] if n['op'] in ('VarHandleOp', 'ReadVariableOp')) <= 100" True
expect 0 "$FERRY" explain "$work/call.pbtxt" --batch 64 --config passes=-contract --json
json_is "[int(n['flops']) for n in d['nodes'] if n['op'] == 'Conv2D']" "[$flops]"
for name in call/conv/Relu conv/Relu Relu; do
  expect 0 "$FERRY" explain "$work/call.pbtxt" --batch 64 --sim gpu:1 --why $name
  contains 'call/conv/Relu is part of' '_FerryConv2D' 'runs on       GPU:0'
done
expect 0 "$FERRY" explain "$work/call.pbtxt" --batch 64 --sim gpu:1 --why conv/Relu --json
json
json_is "d['part']" call/conv/Relu
expect 0 "$FERRY" explain "$work/call.pbtxt" --batch 64 --sim gpu:1,lack=Relu --why conv/Relu
contains 'runs on       CPU:0' 'the simulated GPU lacks Relu' 'inlined from a function'
expect 0 "$FERRY" explain "$work/call.pbtxt" --batch 64 --why call
contains "run in its place"
# The columns of the table add up, variables among the weights.
expect 0 "$FERRY" explain "$work/call.pbtxt" --memory --batch 64 --sim gpu:1 --config place=tensorflow
grep -Eq '^  GPU:0 +1\.[0-9] KiB ' "$work/out" || fail "the variable is no weight: $(cat "$work/out")"

# A loop of a known number of steps costs what its body does, as often as it does it; what a device cannot run
# of it would be a copy each way at every step, so it stays on one side, and says why.
cat >"$work/loop.pbtxt" <<'EOF'
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: 256 } dim { size: 64 } } } } }
node { name: "w" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "value" value { tensor {
       dtype: DT_FLOAT tensor_shape { dim { size: 64 } dim { size: 64 } } float_val: 0.01 } } } }
node { name: "zero" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
       attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } } }
node { name: "loop" op: "StatelessWhile" input: "zero" input: "x" input: "w"
       attr { key: "T" value { list { type: DT_INT32 type: DT_FLOAT type: DT_FLOAT } } }
       attr { key: "cond" value { func { name: "cond" } } } attr { key: "body" value { func { name: "body" } } } }
node { name: "y" op: "Identity" input: "loop:1" attr { key: "T" value { type: DT_FLOAT } } }
library {
  function { signature { name: "cond" input_arg { name: "i" type: DT_INT32 } input_arg { name: "a" type: DT_FLOAT }
                         input_arg { name: "w" type: DT_FLOAT } output_arg { name: "go" type: DT_BOOL } }
    node_def { name: "limit" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
               attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 100 } } } }
    node_def { name: "less" op: "Less" input: "i" input: "limit:output:0" attr { key: "T" value { type: DT_INT32 } } }
    ret { key: "go" value: "less:z:0" } }
  function { signature { name: "body" input_arg { name: "i" type: DT_INT32 } input_arg { name: "a" type: DT_FLOAT }
                         input_arg { name: "w" type: DT_FLOAT } output_arg { name: "j" type: DT_INT32 }
                         output_arg { name: "b" type: DT_FLOAT } output_arg { name: "v" type: DT_FLOAT } }
    node_def { name: "one" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
               attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 1 } } } }
    node_def { name: "next" op: "AddV2" input: "i" input: "one:output:0" attr { key: "T" value { type: DT_INT32 } } }
    node_def { name: "product" op: "MatMul" input: "a" input: "w" attr { key: "T" value { type: DT_FLOAT } } }
    node_def { name: "curve" op: "Softmax" input: "product:product:0" attr { key: "T" value { type: DT_FLOAT } } }
    ret { key: "j" value: "next:z:0" } ret { key: "b" value: "curve:softmax:0" } ret { key: "v" value: "w" } } }
EOF
expect 0 "$FERRY" explain "$work/loop.pbtxt" --sim gpu:1 --json
json
# The product, and the Softmax with one operation for each result.
json_is "[int(n['flops']) for n in d['nodes'] if n['name'] == 'loop']" "[$((100 * (256 * 64 * 64 * 2 + 256 * 64)))]"
json_is "[n['device'] for n in d['nodes'] if n['name'] == 'loop']" "['GPU:0']"
expect 0 "$FERRY" explain "$work/loop.pbtxt" --sim gpu:1,lack=Softmax --why loop
contains 'runs on       CPU:0' "'curve' (Softmax) inside it would be done by the host at every step" 'lacks Softmax'

# A function that calls itself four times: what its calls take is given up, not followed for ever.
cat >"$work/self.pbtxt" <<'EOF'
node { name: "n" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { } } } }
node { name: "y" op: "F" input: "n" }
library {
  function {
    signature { name: "F" input_arg { name: "n" type: DT_FLOAT } output_arg { name: "r" type: DT_FLOAT } }
    node_def { name: "zero" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
      attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 0 } } } }
    node_def { name: "less" op: "Less" input: "n" input: "zero:output:0" attr { key: "T" value { type: DT_FLOAT } } }
    node_def { name: "if" op: "StatelessIf" input: "less:z:0" input: "n" attr { key: "Tcond" value { type: DT_BOOL } }
      attr { key: "Tin" value { list { type: DT_FLOAT } } } attr { key: "Tout" value { list { type: DT_FLOAT } } }
      attr { key: "then_branch" value { func { name: "End" } } } attr { key: "else_branch" value { func { name: "More" } } } }
    ret { key: "r" value: "if:output:0" } }
  function {
    signature { name: "End" input_arg { name: "n" type: DT_FLOAT } output_arg { name: "r" type: DT_FLOAT } }
    node_def { name: "same" op: "Identity" input: "n" attr { key: "T" value { type: DT_FLOAT } } }
    ret { key: "r" value: "same:output:0" } }
  function {
    signature { name: "More" input_arg { name: "n" type: DT_FLOAT } output_arg { name: "r" type: DT_FLOAT } }
    node_def { name: "a" op: "F" input: "n" } node_def { name: "b" op: "F" input: "a:r:0" }
    node_def { name: "c" op: "F" input: "b:r:0" } node_def { name: "d" op: "F" input: "c:r:0" }
    ret { key: "r" value: "d:r:0" } } }
EOF
expect 0 "$FERRY" explain "$work/self.pbtxt" --memory
contains 'an estimate'

# The same question gets the same answer.
"$FERRY" explain "$model" --batch 512 --sim gpu:1 >"$work/a" && "$FERRY" explain "$model" --batch 512 --sim gpu:1 >"$work/b"
cmp -s "$work/a" "$work/b" || fail 'explain is not stable'
finish
