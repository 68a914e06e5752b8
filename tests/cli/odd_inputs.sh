#!/usr/bin/env bash
# What people give to the commands that is not quite what they take: files that are no models, arrays through a pipe,
# tables from other programs, values of another type; and what the messages say to do.
# shellcheck disable=SC2154  # $work is support.bash's
set -uo pipefail
here=$(dirname "$0")
# shellcheck source=support.bash
. "$here/support.bash"
two=$SOURCE/examples/models/half_plus_two
digits=$SOURCE/examples/models/digits.pb
data=$SOURCE/tests/data/cli
zoo=$SOURCE/tests/data/zoo

# ------------------------------------------------------------------ what is no model says what it is
expect 1 "$FERRY" run "$SOURCE/examples/models/digits_x.npy"
contains 'an array of NumPy'
expect 1 "$FERRY" inspect "$data/small.png"
contains 'a PNG image'
expect 1 "$FERRY" inspect "$data/small.jpg"
contains 'a JPEG image'
printf 'PK\3\4rest' >"$work/model.keras"
expect 1 "$FERRY" inspect "$work/model.keras"
contains 'ZIP archive' 'model.export(DIRECTORY)'
printf '\211HDF\r\n\032\nrest' >"$work/model.h5"
expect 1 "$FERRY" run "$work/model.h5"
contains 'HDF5' 'model.export(DIRECTORY)'
printf '\34\0\0\0TFL3rest' >"$work/model.tflite"
expect 1 "$FERRY" run "$work/model.tflite"
contains 'TensorFlow Lite'
for end in pb pbtxt; do
  expect 0 "$FERRY" convert "$two" "$work/moved.$end"
  expect 1 "$FERRY" inspect "$work/moved.$end"
  contains "saved_model.$end, in a directory of its own"
done

# ------------------------------------------------------------------ arrays through a pipe
expect 0 "$FERRY" run "$two" --input 'x=[1,2]' --output "$work/a.npy" --quiet
expect 0 "$FERRY" run "$two" --input x=- --quiet <"$work/a.npy"
contains 'y = float[2] 3.25 3.5'
expect 0 "$FERRY" run "$two" --input 'x=[1,2]' --output "$work/a.npz" --quiet
expect 0 "$FERRY" run "$two" --input x=- --quiet <"$work/a.npz"
contains 'y = float[2] 3.25 3.5'
head -c 90 "$work/a.npz" >"$work/cut.npz"
TMPDIR=$work expect 1 "$FERRY" run "$two" --input x=- --quiet <"$work/cut.npz"
[ -z "$(find "$work" -name 'ferry-input-*')" ] || fail 'a copy of standard input was left'
expect 1 "$FERRY" run "$zoo/keras_strings" --input color=- --input size=- <<<red
contains 'can be read once only'

# ------------------------------------------------------------------ tables
printf '\357\273\277x,other\r\n1,a\r\n\r\n2,b\r\n' >"$work/windows.csv"
expect 0 "$FERRY" run "$two" --input "$work/windows.csv" --quiet
contains 'y = float[2] 2.5 3'
printf '\357\273\277[1, 2]' >"$work/mark.json"
expect 0 "$FERRY" run "$two" --input "x=$work/mark.json" --quiet
contains 'y = float[2] 2.5 3'
printf 'the cat\tsat\n' >"$work/cells.tsv"
expect 0 "$FERRY" run "$zoo/vocabulary" --input "text=$work/cells.tsv" --fetch names --quiet
contains 'THE CAT'
printf 'x,y\n1,2\nnone,3\n' >"$work/word.csv"
expect 1 "$FERRY" run "$two" --input "$work/word.csv"
contains "line 3, column x: 'none' is not a number"
printf 'y,x\n1,2\n3\n' >"$work/short.csv"
expect 1 "$FERRY" run "$two" --input "$work/short.csv"
contains 'line 3 ends before its column x'

# ------------------------------------------------------------------ values of another type
expect 1 "$FERRY" run "$zoo/lstm" --input keras_tensor_14=1.5
contains 'takes whole numbers of -2147483648 to 2147483647'
expect 1 "$FERRY" run "$two" --input 'x=[[1,2],[3]]'
contains 'ragged value'
cat >"$work/kinds.pbtxt" <<'END'
node { name: "c" op: "Placeholder" attr { key: "dtype" value { type: DT_COMPLEX64 } } attr { key: "shape" value { shape { dim { size: -1 } } } } }
node { name: "b" op: "Placeholder" attr { key: "dtype" value { type: DT_BOOL } } attr { key: "shape" value { shape { } } } }
node { name: "y" op: "Neg" input: "c" attr { key: "T" value { type: DT_COMPLEX64 } } }
node { name: "z" op: "LogicalNot" input: "b" }
versions { producer: 1882 }
END
expect 0 "$FERRY" run "$work/kinds.pbtxt" --input 'c=[1, "2-3j", "4j", "(1.5+1j)"]' --fetch y --quiet
contains 'y = complex64[4] -1-0j -2+3j -0-4j -1.5-1j'
expect 1 "$FERRY" run "$work/kinds.pbtxt" --input 'c=["2-3"]' --fetch y
contains 'numbers such as 1.5 or "1-2.5j"'
expect 1 "$FERRY" run "$work/kinds.pbtxt" --input b=maybe --fetch z
contains 'no value for b (bool[])' 'true or false'
expect 1 "$FERRY" run "$work/kinds.pbtxt" --input b=2 --fetch z
contains 'takes true, false, 1 and 0'

# ------------------------------------------------------------------ what is missing, and what to do
expect 1 "$FERRY" run "$work/kinds.pbtxt" --input b=true
contains "placeholder tensor 'c'" '--input NAME=SOURCE' 'ask with --fetch'
expect 1 "$FERRY" run "$digits" --feed "x=$SOURCE/examples/models/digits_y.npy" --fetch digit
contains "'x' is uint8 but int64 was fed" '--input converts'
cat >"$work/variable.pbtxt" <<'END'
node { name: "v" op: "VariableV2" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { } } } }
node { name: "y" op: "Identity" input: "v" attr { key: "T" value { type: DT_FLOAT } } }
END
expect 1 "$FERRY" run "$work/variable.pbtxt" --fetch y
contains 'uninitialized value' 'run the SavedModel or the .meta file'
printf 'z\n1\n' >"$work/other.csv"
expect 1 "$FERRY" run "$zoo/keras_strings" --input "$work/other.csv"
contains 'which takes color (string' 'name the input'

# ------------------------------------------------------------------ names of a signature
expect 0 "$FERRY" explain "$two" --shape 'x=[3]' --memory
expect 0 "$FERRY" explain "$two" --tags serve --fetch y --batch 3
expect 1 "$FERRY" explain "$two" --tags none
contains 'has the graphs: serve'
expect 0 "$FERRY" dump "$two" --signature serving_default
lacks 'SaveV2'

finish
