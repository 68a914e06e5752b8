#!/usr/bin/env bash
# Real models: inspect, run by signature with every kind of input, bench.
# shellcheck disable=SC2154  # $work is support.bash's
set -uo pipefail
here=$(dirname "$0")
# shellcheck source=support.bash
. "$here/support.bash"
zoo=$SOURCE/tests/data/zoo
data=$SOURCE/tests/data/cli
two=$SOURCE/examples/models/half_plus_two

# The first number of the first result, within 1e-5 of an answer of TensorFlow's.
near() {
  command -v python3 >/dev/null || return 0
  python3 - "$work/results.json" "$data/answers.json" "$1" <<'PY' || fail "the answer is not TensorFlow's: $last"
import json, sys
flat = lambda v: [y for x in v for y in flat(x)] if isinstance(v, list) else [v]
got = flat(list(json.load(open(sys.argv[1]))["outputs"].values())[0])
want = flat(json.load(open(sys.argv[2]))[sys.argv[3]])
assert len(got) == len(want) and all(abs(a - b) <= 1e-5 * max(1, abs(b)) for a, b in zip(got, want)), (got, want)
PY
}

# ------------------------------------------------------------------ inspect
expect 0 "$FERRY" inspect "$two"
contains 'SavedModel' 'written by TensorFlow 2.' 'Tags: serve' 'serving_default (tensorflow/serving/predict)' \
  'serving_default_x:0' 'float[?]' '4 functions' 'Every operation has a kernel here.' 'Weights: 2 tensors' 'CPU:0 could run'
for model in "$zoo"/*/; do
  [ -e "$model/checkpoint" ] && continue  # of TensorFlow 1: no SavedModel
  expect 0 "$FERRY" inspect "$model" --json
  json
  json_is "(d['format'], d['missing'], len(d['signatures']) > 0, d['devices'][0]['nodes'] == d['needed_nodes'])" \
    "('SavedModel', [], True, True)"
done
expect 0 "$FERRY" inspect "$zoo/tf1_examples"
contains 'Assets' 'zoo_jobs.txt -> '
expect 0 "$FERRY" inspect "$two" --sim gpu:1,lack=Mul
contains 'GPU:0 could run' 'Mul'
expect 0 "$FERRY" inspect "$data/old.ckpt.meta" --json
json
json_is "(d['format'], d['signatures'], sorted(w['name'] for w in d['weights']))" "('MetaGraphDef', [], ['b', 'w'])"
expect 0 "$FERRY" inspect "$SOURCE/examples/models/digits.pb"
contains 'GraphDef' 'no checkpoint beside the graph'
for checkpoint in old.ckpt old.ckpt.index v1.ckpt; do
  expect 0 "$FERRY" inspect "$data/$checkpoint" --json
  json
  json_is "(d['format'], [(w['name'], w['dtype'], w['shape'], w['bytes']) for w in d['weights']])" \
    "('checkpoint', [('w', 'float', [3, 2], 24), ('b', 'float', [2], 8)])"
done
cat >"$work/odd.pbtxt" <<'TEXT'
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "y" op: "NoSuchOperation" input: "x" }
TEXT
expect 0 "$FERRY" inspect "$work/odd.pbtxt"
contains 'Without a kernel here' 'NoSuchOperation (unknown operation): needed by (the graph)' 'GraphDef as text'
expect 1 "$FERRY" inspect /nowhere
contains '/nowhere; No such file or directory [NOT_FOUND]'
mkdir -p "$work/empty" "$work/cut"
expect 1 "$FERRY" inspect "$work/empty"
contains 'Could not find SavedModel' '[NOT_FOUND]'
head -c 3000 "$two/saved_model.pb" >"$work/cut/saved_model.pb"
expect 1 "$FERRY" inspect "$work/cut"
contains 'cut/saved_model.pb' 'runs past the end'
expect 1 "$FERRY" run "$work/cut" --input x=1
head -c 2000 "$data/old.ckpt.meta" >"$work/cut.meta"
expect 1 "$FERRY" inspect "$work/cut.meta"
contains 'cut.meta'
expect 1 "$FERRY" inspect "$two" --tags train
contains 'matching supplied tags: { train }' 'has the graphs: serve'

# ------------------------------------------------------------------ values
expect 0 "$FERRY" run "$two" --input 'x=[1, 2, 3]' --quiet
contains 'y = float[3] 2.5 3 3.5'
expect 0 "$FERRY" run "$two" --input x=1 --input x=2 --input 'x=[3,4]' --quiet
contains 'y = float[4] 2.5 3 3.5 4'
printf '1\n2.5\n-3e2\n' >"$work/n.txt"
expect 0 "$FERRY" run "$two" --input "x=$work/n.txt" --quiet
contains 'y = float[3] 2.5 3.25 -148'
expect 0 "$FERRY" run "$two" --input x=- --quiet <"$work/n.txt"
contains 'y = float[3] 2.5 3.25 -148'
printf 'x,other\n1,a\n2,"b,c"\n' >"$work/columns.csv"
expect 0 "$FERRY" run "$two" --input "$work/columns.csv" --quiet
contains 'y = float[2] 2.5 3'
printf '{"instances": [1, 2]}' >"$work/instances.json"
expect 0 "$FERRY" run "$two" --input "$work/instances.json" --quiet
contains 'y = float[2] 2.5 3'
printf '{"inputs": {"x": [1, 2]}}' >"$work/inputs.json"
expect 0 "$FERRY" run "$two" --input "x=$work/inputs.json" --quiet
contains 'y = float[2] 2.5 3'
printf '{"instances": [{"color": "red", "size": [1, 2]}, {"color": {"b64": "Ymx1ZQ=="}, "size": [3, 4]}]}' >"$work/rows.json"
expect 0 "$FERRY" run "$zoo/keras_strings" --input "$work/rows.json" --quiet
cp "$work/out" "$work/by_rows"
printf 'red\nblue\n' >"$work/color.txt"
printf '1,2\n3,4\n' >"$work/size.csv"
expect 0 "$FERRY" run "$zoo/keras_strings" --input "color=$work/color.txt" --input "size=$work/size.csv" --quiet
cmp -s "$work/out" "$work/by_rows" || fail 'lines and JSON disagree'
expect 0 "$FERRY" run "$zoo/keras_strings" --input 'color="red"' --input 'size=[1,2]' --quiet --top 1
contains 'output_0[0] top 1 of 2'
expect 0 "$FERRY" run "$zoo/vocabulary" --input 'text="the cat sat"' --quiet
contains 'ids = int64[1,3] [0 1 2]' 'names = string[1,3] [THE CAT SAT]'
expect 0 "$FERRY" run "$data/old.ckpt.meta" --input 'x=[[1,2,3],[4,5,6]]' --quiet --output "$work/results.json"
near old.ckpt

# Tensors of the graph can be fed and fetched too, and keys of the signature with --feed.
expect 0 "$FERRY" inspect "$zoo/text_pb" --tags gpu,serve --json
json_is "(sorted(d['tags']), d['signatures'][0]['inputs'][0]['tensor'])" "(['gpu', 'serve'], 'serving_default_x:0')"
expect 1 "$FERRY" inspect "$zoo/text_pb" --tags gpu
contains 'matching supplied tags: { gpu }'
expect 0 "$FERRY" inspect "$zoo/tf1_meta"
contains 'MetaGraphDef' 'Weights: '
printf '\x93NUMPY\x01\x00\x46\x00%-69s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }" >"$work/x.npy"
printf '\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40' >>"$work/x.npy"
for name in x serving_default_x:0; do
  expect 0 "$FERRY" run "$zoo/text_pb" --feed "$name=$work/x.npy" --tags serve
  contains 'y = float[2,2] [1 0][3 0]'
done
expect 0 "$FERRY" run "$zoo/text_pb" --feed "x=$work/x.npy" --fetch y --output "$work/results" --tags serve --quiet
[ -s "$work/results/y.npy" ] || fail 'y.npy was not written'
expect 1 "$FERRY" run "$zoo/several_signatures" --signature nope
contains "no signature 'nope'; it has: branch, predict, step"

# ------------------------------------------------------------------ files of results
expect 0 "$FERRY" run "$two" --input 'x=[1,2]' --output "$work/r.npz" --quiet
expect 0 "$FERRY" run "$two" --input "x=$work/r.npz" --quiet  # its only array
contains 'y = float[2] 3.25 3.5'
expect 0 "$FERRY" run "$two" --input 'x=[1,2]' --output "$work/r.npy" --quiet
expect 0 "$FERRY" run "$two" --input "x=$work/r.npy" --quiet
contains 'y = float[2] 3.25 3.5'
expect 0 "$FERRY" run "$zoo/vocabulary" --input 'text="the cat"' --output "$work/three" --quiet
[ -s "$work/three/ids.npy" ] && [ -s "$work/three/names.npy" ] && [ -s "$work/three/vectors.npy" ] || fail 'three results'
expect 0 "$FERRY" run "$zoo/vocabulary" --input 'text="the cat"' --fetch names --output "$work/out.json" --quiet
cp "$work/out.json" "$work/out"
json
json_is "d['outputs']" "{'names': [['THE', 'CAT']]}"
expect 2 "$FERRY" run "$zoo/vocabulary" --input 'text="a"' --output "$work/one.npy"

# ------------------------------------------------------------------ images, as TensorFlow sees them
image() { expect 0 "$FERRY" run "$zoo/cnn" --quiet --output "$work/results.json" "$@"; }
image --input "keras_tensor=$data/small.png"
near small.png
image --input "keras_tensor=$data/small.png" --scale 0..1
near 'small.png 0..1'
image --input "keras_tensor=$data/small.png" --scale 1/255
near 'small.png 0..1'
image --input "keras_tensor=$data/small.jpg"
near small.jpg
image --input "keras_tensor=$data/large.png" --resize
near large.png
image --input "keras_tensor=$data/small.png" --input "keras_tensor=$data/small.jpg"
near both
expect 1 "$FERRY" run "$zoo/cnn" --input "keras_tensor=$data/large.png"
contains '16 x 16 pixels' '10 x 12' 'add --resize'
head -c 200 "$data/small.png" >"$work/cut.png"
expect 1 "$FERRY" run "$zoo/cnn" --input "keras_tensor=$work/cut.png"
contains 'cut.png'
expect 1 "$FERRY" run "$two" --input "x=$data/small.png"
contains 'does not take an image'

# ------------------------------------------------------------------ wrong input: what was expected, what came, what to do
expect 1 "$FERRY" run "$zoo/keras_strings" --input 'colour="red"' --input 'size=[1,2]'
contains "has no input 'colour' (did you mean 'color'?)" 'size (float[?,2])'
expect 1 "$FERRY" run "$two" --signature serving_defalt --input x=1
contains "did you mean 'serving_default'?"
expect 1 "$FERRY" run "$zoo/several_signatures" --input x=1
contains 'say which one of branch, predict, step'
expect 1 "$FERRY" run "$two" --input x=1 --fetch yy
contains "no output 'yy'"
expect 1 "$FERRY" run "$two"
contains "needs its input 'x': float[?]"
expect 1 "$FERRY" run "$two" --input 'x=[[1,2],[3]]'
contains 'equal rows'
expect 1 "$FERRY" run "$two" --input 'x=[1,[2]]'
contains 'equal rows'
expect 1 "$FERRY" run "$two" --input 'x=[[1,2],[3,4]]'
contains 'x (float[?]) is wanted, but float[2,2] came'
expect 1 "$FERRY" run "$two" --input 'x="a"'
contains 'wants numbers'
expect 1 "$FERRY" run "$zoo/keras_strings" --input 'color=3' --input 'size=[1,2]'
contains 'write it in quotes'
expect 1 "$FERRY" run "$zoo/lstm" --input keras_tensor_14=1.5
contains 'does not fit keras_tensor_14 (int32[?,?])'
expect 1 "$FERRY" run "$zoo/lstm" --input keras_tensor_14=9999999999
contains 'does not fit'
expect 1 "$FERRY" run "$two" --input x=none.npy
contains 'no such file'
printf '1,2\n3\n' >"$work/ragged.csv"
expect 1 "$FERRY" run "$two" --input "x=$work/ragged.csv"
contains 'line 2 has 1 values'
printf '1\ntwo\n' >"$work/words.csv"
expect 1 "$FERRY" run "$two" --input "x=$work/words.csv"
contains "line 2, column 1: 'two' is not a number"
printf '{"inputs": ' >"$work/bad.json"
expect 1 "$FERRY" run "$two" --input "x=$work/bad.json"
contains 'not JSON: line 1'
expect 2 "$FERRY" run "$two" --input x=1 --scale loud
contains '--scale is 1/255'
expect 2 "$FERRY" run "$two" --input x=1 --feed y=2.npy
contains 'use one of them'

# ------------------------------------------------------------------ bench
expect 0 "$FERRY" bench "$two" --seconds 0.05 --batch 1,8 --threads 1 --json
json
json_is "([b['batch'] for b in d['batches']], d['load_ms'] > 0, all(b['min_ms'] <= b['median_ms'] <= b['p90_ms'] <= b['p99_ms'] for b in d['batches']))" \
  '([1, 8], True, True)'
json_is "all(b['first_ms'] > 0 and b['runs'] >= 3 and b['planned_peak_bytes'] > 0 for b in d['batches']) and d['peak_resident_bytes'] > 1e6" True
for model in cnn lstm keras_strings vocabulary transformer; do
  expect 0 "$FERRY" bench "$zoo/$model" --seconds 0.02
  contains 'MEDIAN' 'PLANNED PEAK' 'signature serving_default'
  lacks $'\r'  # a progress line is for terminals
done
expect 0 "$FERRY" bench "$SOURCE/examples/models/digits.pb" --seconds 0.02 --batch 4
expect 0 "$FERRY" bench "$two" --seconds 0.02 --input 'x=[1,2]'
expect 2 "$FERRY" bench "$two" --batch 0
expect 2 "$FERRY" bench "$two" --seconds never
expect 1 "$FERRY" bench "$two" --signature none
finish
