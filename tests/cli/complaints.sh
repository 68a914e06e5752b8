#!/usr/bin/env bash
# docs/COMPLAINTS.md, tried as a user would: each number is a row of its tables.
# shellcheck disable=SC2154  # $work is support.bash's
set -uo pipefail
here=$(dirname "$0")
# shellcheck source=support.bash
. "$here/support.bash"
digits=$SOURCE/examples/models/digits.pb

cat >"$work/gpu.pbtxt" <<'EOF'
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } }
       attr { key: "shape" value { shape { dim { size: -1 } } } } }
node { name: "y" op: "AddV2" input: "x" input: "x" device: "/device:GPU:0"
       attr { key: "T" value { type: DT_INT32 } } }
EOF

# 1: asked for and not there: an error that lists what is; a wish is told about in one line.
expect 1 "$FERRY" run "$work/gpu.pbtxt" --input 'x=[1, 2]' --config gpu_devices=0
contains 'explicitly assigned to /device:GPU:0 but available devices are' 'device:CPU:0'
expect 0 "$FERRY" run "$work/gpu.pbtxt" --input 'x=[1, 2]' --config 'soft_placement=true; gpu_devices=0'
contains 'y = int32[2] 2 4' "'y' asked for /device:GPU:0, fell back to CPU:0 (soft placement)"

# 2: each backend with its cause.
expect 0 "$FERRY" doctor
for backend in cpu cuda opencl sim; do
  grep -Eq "^  $backend +(yes|no) +..." "$work/all" || fail "doctor says nothing of $backend"
done

# 3: every fallback is on record.
expect 0 "$FERRY" explain "$work/gpu.pbtxt" --config 'soft_placement=true; gpu_devices=0' --json
contains '"wanted": "/device:GPU:0"'
expect 0 "$FERRY" explain "$work/gpu.pbtxt" --config 'soft_placement=true; gpu_devices=0' --why y
contains 'asked for     /device:GPU:0'

# 4, 5: every node by its own name, every transfer with cause and remedy.
expect 0 "$FERRY" explain "$digits" --batch 4096 --sim gpu:1
contains 'hidden1/bias' 'fused into' 'why:' 'remove:' 'Summary'

# 6: an int32 op on the GPU is on the GPU.
expect 0 "$FERRY" explain "$work/gpu.pbtxt" --sim gpu:1 --why y
contains 'runs on       GPU:0'
expect 0 "$FERRY" run "$work/gpu.pbtxt" --input 'x=[1, 2]' --sim gpu:1
contains 'y = int32[2] 2 4' 'GPU:0 does 100 % of the FLOPs'

# 7: a kernel that a device lacks.
expect 0 "$FERRY" explain "$digits" --batch 4096 --sim gpu:1,lack=MatMul --why hidden1/matmul
contains 'runs on       CPU:0' 'the simulated GPU lacks MatMul'
expect 0 "$FERRY" ops MatMul
contains 'MatMul(a: T, b: T)'
expect 0 "$FERRY" ops --missing

# 8: a summary of who does what; options are not guessed.
expect 0 "$FERRY" explain "$digits" --batch 4096 --sim gpu:1
contains 'of the FLOPs'
expect 1 "$FERRY" devices --config memory_fractoin=0.5
contains "unknown option 'memory_fractoin' (did you mean 'memory_fraction'?)"

# 9: what nothing can run is refused before anything runs.
cat >"$work/missing.pbtxt" <<'EOF'
node { name: "d" op: "Const" attr { key: "dtype" value { type: DT_STRING } }
       attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape {} string_val: "x" } } } }
node { name: "y" op: "PyFunc" input: "d" attr { key: "token" value { s: "t" } }
       attr { key: "Tin" value { list { type: DT_STRING } } }
       attr { key: "Tout" value { list { type: DT_FLOAT } } } }
EOF
expect 1 "$FERRY" explain "$work/missing.pbtxt"
contains "No OpKernel was registered to support Op 'PyFunc'" '{{node y}}'

# 10, 11: what the link can do, and what is achieved.
expect 0 "$FERRY" bench transfer --sim gpu:1
contains 'GB/s' 'overlap' 'pinned memory'

# 17 to 20: the memory is known before the run, on the CPU too.
expect 0 "$FERRY" explain "$digits" --memory --batch 256 --sim gpu:1,memory=8MiB
contains 'CPU:0' 'GPU:0' 'LARGEST BATCH' 'runs out first'
expect 0 "$FERRY" top --once

# 23: a ConfigProto as text, and where it is wrong.
expect 0 "$FERRY" devices --config 'gpu_options { allow_growth: true } device_count { key: "CPU" value: 2 }'
contains 'CPU:1'
expect 1 "$FERRY" devices --config 'gpu_options { allow_grwth: true }'
contains '1:15:' 'did you mean "allow_growth"?'

# 25: small (of a release that nobody instruments).
if [ -n "${FERRY_BUILD:-}" ] && grep -q 'CMAKE_BUILD_TYPE:[A-Z]*=Release' "$FERRY_BUILD/CMakeCache.txt" &&
    ! grep -q 'FERRY_SANITIZE:[A-Z]*=.' "$FERRY_BUILD/CMakeCache.txt" && command -v strip >/dev/null; then
  strip -o "$work/stripped" "$FERRY_BUILD/lib/libferry.so"
  size=$(stat -c %s "$work/stripped")
  [ "$size" -le 6291456 ] || fail "the library has $size bytes"
fi

finish
