#!/usr/bin/env bash
# freeze, convert, diff.
# shellcheck disable=SC2154  # $work is support.bash's
set -uo pipefail
here=$(dirname "$0")
# shellcheck source=support.bash
. "$here/support.bash"
zoo=$SOURCE/tests/data/zoo
data=$SOURCE/tests/data/cli
two=$SOURCE/examples/models/half_plus_two

# A frozen graph answers as its model does: name, inputs of the model, inputs of the graph.
same_answers() {
  local name=$1 fetch=$2
  shift 2
  expect 0 "$FERRY" freeze "$zoo/$name" --output "$work/$name.pb"
  local of_model=() of_graph=()
  while [ $# -gt 0 ]; do
    of_model+=(--input "$1=$3")
    of_graph+=(--input "$2=$3")
    shift 3
  done
  expect 0 "$FERRY" run "$zoo/$name" "${of_model[@]}" --quiet
  sed 's/^[^=]*= //' "$work/out" >"$work/of_model"
  expect 0 "$FERRY" run "$work/$name.pb" "${of_graph[@]}" --fetch "$fetch" --quiet
  sed 's/^[^=]*= //' "$work/out" >"$work/of_graph"
  cmp -s "$work/of_model" "$work/of_graph" || fail "the frozen $name answers otherwise"
}
same_answers mlp StatefulPartitionedCall_1:0 keras_tensor_20 serving_default_keras_tensor_20 '[[1,2,3,4,5,6]]'
same_answers lstm StatefulPartitionedCall_1:0 keras_tensor_14 serving_default_keras_tensor_14 '[[5,6,7,0]]'
same_answers keras_strings StatefulPartitionedCall_1:0 color serving_default_color '"red"' size serving_default_size '[1,2]'
same_answers vocabulary StatefulPartitionedCall:0,StatefulPartitionedCall:1,StatefulPartitionedCall:2 text serving_default_text '"the dog sat"'
same_answers tf1_refs add:0 x x '[1,2,3,4]'
same_answers tf1_while while/Exit:0,cond/Merge:0 n n 3 x x '[1,2,3,4]'
expect 0 "$FERRY" inspect "$work/lstm.pb" --json
json
json_is "[o['op'] for o in d['ops'] if 'Variable' in o['op'] or o['op'] == 'VarHandleOp']" '[]'
expect 0 "$FERRY" freeze "$two" --output "$work/two.pbtxt"
contains 'input x is serving_default_x:0' 'output y is StatefulPartitionedCall:0' '2 variables became constants of 8 bytes'
grep -q 'op: "Const"' "$work/two.pbtxt" || fail 'not text'
expect 0 "$FERRY" freeze "$data/old.ckpt.meta" --output "$work/old.pb" --quiet
expect 0 "$FERRY" run "$work/old.pb" --input 'x=[1,2,3]' --quiet
contains 'y = float[1,2] [0.986126'
expect 0 "$FERRY" freeze "$zoo/tf1_meta" --output "$work/tables.pb"  # the latest checkpoint of a directory
contains "tables are filled by 'key_value_init/LookupTableImportV2'"
expect 0 "$FERRY" run "$work/tables.pb" --input 'word=["b","c"]' --fetch number --quiet
contains 'number = int64[2] 2 -1'
expect 1 "$FERRY" freeze "$zoo/several_signatures" --signature step --output "$work/step.pb"
contains 'AssignAddVariableOp' 'cannot be frozen' 'FAILED_PRECONDITION'
expect 1 "$FERRY" freeze "$two" --signature no --output "$work/no.pb"
expect 1 "$FERRY" freeze "$two" --output "$work/nowhere/two.pb"
expect 2 "$FERRY" freeze "$two"
contains '--output'
cp "$data/old.ckpt.meta" "$work/alone.meta"  # without its checkpoint
expect 1 "$FERRY" freeze "$work/alone.meta" --output "$work/alone.pb"
contains 'has no value to freeze'

# ------------------------------------------------------------------ convert
model=$SOURCE/examples/models/digits.pb
expect 0 "$FERRY" convert "$model" "$work/digits.pbtxt"
expect 0 "$FERRY" convert "$work/digits.pbtxt" "$work/digits.pb"
expect 0 "$FERRY" diff "$model" "$work/digits.pb"
contains 'the same'
mkdir -p "$work/text"
cp -r "$zoo/mlp/variables" "$work/text/"
expect 0 "$FERRY" convert "$zoo/mlp" "$work/text/saved_model.pbtxt"
expect 0 "$FERRY" diff "$zoo/mlp" "$work/text"
expect 0 "$FERRY" run "$work/text" --input 'keras_tensor_20=[1,2,3,4,5,6]' --quiet
expect 0 "$FERRY" convert "$zoo/text_pb" "$work/again.pb"
expect 0 "$FERRY" convert "$data/v1.ckpt" "$work/new/v2.ckpt"
[ -s "$work/new/v2.ckpt.index" ] || fail 'no TensorBundle was written'
expect 0 "$FERRY" diff "$data/old.ckpt" "$work/new/v2.ckpt"
expect 0 "$FERRY" convert "$data/old.ckpt" "$work/old.npz"
expect 1 "$FERRY" convert "$model" "$work/digits.what"
contains 'the extension says what to write'
expect 1 "$FERRY" convert /nowhere "$work/x.pb"
expect 2 "$FERRY" convert "$model"
expect 2 "$FERRY" convert

# ------------------------------------------------------------------ diff
expect 0 "$FERRY" diff "$two" "$two"
sed 's/name: "y"/name: "z"/' >"$work/a.pbtxt" <<'TEXT'
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "c" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } } float_val: 1 float_val: 2 } } } }
node { name: "m" op: "MatMul" input: "x" input: "x" attr { key: "T" value { type: DT_FLOAT } } attr { key: "transpose_a" value { b: false } } }
node { name: "y" op: "Relu" input: "m" attr { key: "T" value { type: DT_FLOAT } } }
TEXT
sed -e 's/name: "z"/name: "y"/' -e 's/float_val: 2/float_val: 2.5/' -e 's/ attr { key: "transpose_a" value { b: false } }//' "$work/a.pbtxt" >"$work/b.pbtxt"
expect 1 "$FERRY" diff "$work/a.pbtxt" "$work/b.pbtxt"
contains '- node z: Relu' '+ node y: Relu' '~ node c: value float[2]: 1 of 2 values differ, max abs difference 0.5' '3 differences'
lacks transpose_a
expect 1 "$FERRY" diff "$work/a.pbtxt" "$work/b.pbtxt" --tolerance 0.5 --json
json
json_is "(d['same'], sorted(x['change'] for x in d['differences']))" "(False, ['added', 'removed'])"
sed 's/input: "x" input: "x"/input: "x" input: "c"/; s/op: "Relu"/op: "Relu6"/' "$work/a.pbtxt" >"$work/c.pbtxt"
expect 1 "$FERRY" diff "$work/a.pbtxt" "$work/c.pbtxt"
contains '~ node m: input 1 x is c' '~ node z: op Relu is Relu6'
expect 1 "$FERRY" diff "$zoo/mlp" "$zoo/cnn" --quiet
[ -s "$work/all" ] && fail '--quiet spoke'
mkdir -p "$work/other"
cp -r "$zoo/mlp/." "$work/other/"
cp "$zoo"/cnn/variables/* "$work/other/variables/"
expect 1 "$FERRY" diff "$zoo/mlp" "$work/other"
contains 'weight'
expect 2 "$FERRY" diff "$two" /nowhere
contains 'NOT_FOUND'
expect 2 "$FERRY" diff "$two"
expect 2 "$FERRY" diff "$model" "$data/old.ckpt"
contains 'cannot be compared'
finish
