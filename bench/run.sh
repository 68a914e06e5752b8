#!/usr/bin/env bash
# run.sh [BUILD]: Ferry against TensorFlow with the same programs, in turn, on the same machine, now.
# Prints a table and writes BUILD/bench/results.md. Method and limits: bench/README.md.
#   ROUNDS=5          each round runs every program once per library; medians are shown
#   FERRY_BENCH_TF    the installed tensorflow package (the directory with libtensorflow_cc.so.2);
#                     found by itself in /opt/tfvenv or on python3's path; without it: Ferry alone
#   ONLY="eager load" which programs
#   LIBRARIES="tf"    which libraries (ferry, tf)
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$root/build}" && pwd)
bench=$build/bench
rounds=${ROUNDS:-5}
programs=${ONLY:-eager session elementwise matmul chains load}
raw=$bench/raw.txt

find_tensorflow() {
  local dir
  for dir in "${FERRY_BENCH_TF:-}" /opt/tfvenv/lib/python3*/site-packages/tensorflow \
      "$(python3 -c 'import importlib.util as u; s = u.find_spec("tensorflow"); print(s.submodule_search_locations[0] if s else "")' 2>/dev/null || true)"; do
    if [ -n "$dir" ] && [ -f "$dir/libtensorflow_cc.so.2" ]; then
      echo "$dir"
      return
    fi
  done
}

# TensorFlow's wheel keeps the C API in libtensorflow_cc.so.2; give it the name programs ask for.
tf=$(find_tensorflow)
libraries=${LIBRARIES:-ferry${tf:+ tf}}
if [ -n "$tf" ]; then
  mkdir -p "$bench/tf"
  ln -sfn "$tf/libtensorflow_cc.so.2" "$bench/tf/libtensorflow.so.2"
  ln -sfn "$tf/libtensorflow_framework.so.2" "$bench/tf/libtensorflow_framework.so.2"
else
  echo 'TensorFlow was not found (FERRY_BENCH_TF): only Ferry is measured.'
fi

library_path() { if [ "$1" = tf ]; then echo "$bench/tf"; else echo "$build/lib"; fi; }

library_bytes() {
  if [ "$1" = tf ]; then
    stat -c %s "$tf/libtensorflow_cc.so.2" "$tf/libtensorflow_framework.so.2"
  else
    strip -o "$bench/stripped.so" "$build/lib/libferry.so" && stat -c %s "$bench/stripped.so"
    rm -f "$bench/stripped.so"
  fi | awk '{ sum += $1 } END { print sum }'
}

# Every line of output becomes "library name value".
run_one() {
  local library=$1 program=$2
  local command=("$bench/$program")
  [ "$program" != load ] || command=("$bench/launch" "$bench/load")
  # A program that fails costs its own lines, not the run.
  LD_LIBRARY_PATH=$(library_path "$library") TF_CPP_MIN_LOG_LEVEL=3 CUDA_VISIBLE_DEVICES='' \
    "${command[@]}" 2>"$bench/stderr.txt" | sed "s/^/$library /" >>"$raw" ||
    { echo "$program on $library failed:" && tail -n 3 "$bench/stderr.txt"; } >&2
}

: >"$raw"
for library in $libraries; do
  echo "$library library_bytes $(library_bytes "$library")" >>"$raw"
  # The first load reads the file from disk; the measurement is about the library, not the disk.
  run_one "$library" load
done
grep ' library_bytes ' "$raw" >"$raw.new" && mv "$raw.new" "$raw"
for ((round = 1; round <= rounds; ++round)); do
  [ ! -t 2 ] || printf '\rround %d of %d ' "$round" "$rounds" >&2
  {
    LD_LIBRARY_PATH=$bench "$bench/limits"
    LD_LIBRARY_PATH=$bench "$bench/launch" "$bench/limits_load"
  } | sed 's/^/machine /' >>"$raw"
  for program in $programs; do
    for library in $libraries; do run_one "$library" "$program"; done
  done
done
[ ! -t 2 ] || printf '\r                    \r' >&2

{
  echo "# Ferry against TensorFlow"
  echo
  echo "$(date -u +%Y-%m-%d), $(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), median of $rounds rounds${tf:+, TensorFlow from $(basename "$(ls -d "$tf"/../tensorflow*.dist-info 2>/dev/null | head -1)" .dist-info)}"
  echo
  sort -k1,1 -k2,2 -k3,3g "$raw" | awk -f "$root/bench/table.awk"
} >"$bench/results.md"
cat "$bench/results.md"
