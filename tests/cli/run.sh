#!/usr/bin/env bash
# run, demo, devices, doctor, ops: results, files, timeouts, and models that are no models.
# shellcheck disable=SC2154  # $work is support.bash's
set -uo pipefail
here=$(dirname "$0")
# shellcheck source=support.bash
. "$here/support.bash"
models=$SOURCE/examples/models
model=$models/digits.pb

expect 0 "$FERRY" run "$model" --feed "x=$models/digits_x.npy" --fetch digit --print 4
contains 'digit = int64[360] 6' 'of the FLOPs'
expect 0 "$FERRY" run "$model" --feed "x=$models/digits_x.npy" --fetch digit --quiet --output "$work/digit.npy"
[ -s "$work/digit.npy" ] || fail 'digit.npy was not written'
cp "$work/digit.npy" "$work/on_cpu.npy"
expect 0 "$FERRY" run "$model" --feed "x=$models/digits_x.npy" --fetch digit --quiet --output "$work/digit.npy" \
  --sim gpu:1 --config place=tensorflow
cmp -s "$work/digit.npy" "$work/on_cpu.npy" || fail 'CPU and GPU disagree'
expect 0 "$FERRY" run "$model" --feed "x=$models/digits_x.npy" --output "$work/results" --repeat 3
contains 'median'
[ -s "$work/results/digit.npy" ] && [ -s "$work/results/probability.npy" ] || fail 'a directory of results'
# Any output can be fed, not only placeholders.
expect 0 "$FERRY" run "$model" --feed "x=$models/digits_x.npy" --fetch pixels --output "$work/pixels.npy"
expect 0 "$FERRY" run "$model" --feed "pixels:0=$work/pixels.npy" --fetch digit:0 --output "$work/digit.npy"
cmp -s "$work/digit.npy" "$work/on_cpu.npy" || fail 'feeding the middle changes the result'
expect 1 "$FERRY" run "$model" --fetch digit
contains "x"
expect 1 "$FERRY" run "$model" --feed "x=$models/digits_y.npy" --fetch digit
contains "'x' is uint8 but int64 was fed"
expect 1 "$FERRY" run "$model" --feed "x=$models/nothing.npy" --fetch digit
contains 'nothing.npy'
expect 2 "$FERRY" run "$model" --feed "x=$models/digits_x.npy" --output "$work/one.npy"
contains 'a directory'
printf 'node { name: "a" op: "Nonsense" }' >"$work/bad.pbtxt"
expect 1 "$FERRY" run "$work/bad.pbtxt"
contains 'Nonsense'
printf 'node { nam: "a" }' >"$work/bad.pbtxt"
expect 1 "$FERRY" run "$work/bad.pbtxt"
contains "1:8" 'name'
head -c 5000 /dev/urandom >"$work/bad.pb"
expect 1 "$FERRY" explain "$work/bad.pb"
head -c 20000 "$model" >"$work/cut.pb"
expect 1 "$FERRY" explain "$work/cut.pb"
: >"$work/empty.pb"
expect 1 "$FERRY" explain "$work/empty.pb"
expect 1 "$FERRY" explain "$work"

expect 0 "$FERRY" demo
contains 'simulated GPU' 'CPU:0 does 100 %' 'GPU:0 does' 'runs out first' 'are right (97' 'it is a 6'
expect 0 "$FERRY" devices --sim gpu:2,memory=2GiB
contains 'CPU:0' 'GPU:1' 'simulated GPU' '2.0 GiB'
expect 0 "$FERRY" devices --json --sim gpu:1
json
json_is "[x['simulated'] for x in d]" '[False, True]'
expect 0 "$FERRY" devices
lacks 'simulated'
expect 0 "$FERRY" doctor
contains 'Backends' 'cpu' 'cuda' 'opencl' 'sim' 'nothing is simulated unless asked for' 'Options in force' 'soft_placement'
expect 0 env FERRY_WEIGHTS=read "$FERRY" doctor
contains 'Large weights' 'FERRY_WEIGHTS says so'
expect 0 env FERRY_CPU=plain "$FERRY" doctor
contains '; plain kernels (' 'FERRY_CPU=plain'
expect 0 env FERRY_CPU=avx512 "$FERRY" doctor
contains ' kernels ('
expect 1 env FERRY_CPU=banana "$FERRY" devices
contains "FERRY_CPU: 'banana' is none of plain, avx2, avx512, avx512wide"
expect 0 "$FERRY" doctor --json --sim gpu:1
json
json_is "d['error']" None
json_is "[b['usable'] for b in d['backends'] if b['name'] == 'sim']" '[True]'
expect 0 "$FERRY" ops MatMul
contains 'MatMul(a: T, b: T) -> (product: T)' 'transpose_a: bool = false' "device='CPU'"
expect 0 "$FERRY" ops --json MatMul
json
expect 0 "$FERRY" ops --json
json
json_is "len(d) > 1500" True
expect 0 "$FERRY" ops --markdown
contains '`MatMul(a: T, b: T) -> (product: T)`' '| Signature | Types |'
expect 0 "$FERRY" ops --missing
grep -qx MatMul "$work/out" && fail 'MatMul is not missing'
expect 0 "$FERRY" ops
contains '* MatMul(' 'operations are known'
finish
