#!/usr/bin/env bash
# valgrind.sh BUILD [CTEST-ARGUMENT…]: the tests of a build whose test programs are wrapped in Valgrind (`make valgrind`
# makes it). What a test tries thousands of times is sampled: VALGRIND_PART=2/8 takes another eighth, 1/1 everything.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
shift
export FERRY_TEST_SAMPLE=${VALGRIND_PART:-1/8}

# An OpenCL driver is a compiler: minutes for each kernel under Valgrind. What it made without Valgrind, in its cache and
# in ours, is used there.
echo "valgrind: part $FERRY_TEST_SAMPLE; first the OpenCL kernels without it"
for name in test_device_opencl test_device_opencl_goldens test_device_opencl_resident test_device_opencl_faults test_model_zoo \
  test_memory_processes; do
  "$build/tests/$name" >"$build/$name.log" 2>&1 || { cat "$build/$name.log"; exit 1; }
done
exec ctest --test-dir "$build" --output-on-failure -j 2 "$@"
