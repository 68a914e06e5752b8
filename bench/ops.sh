#!/usr/bin/env bash
# ops.sh [BUILD] [FILTER]: every op of bench/ops.txt with Ferry and with TensorFlow, in turn, as a table
# with a summary; also written to BUILD/bench/ops.md. FILTER: only lines with this text.
#   SLOTS=8 SLOT_MS=6      how often and how long each case is measured
#   FERRY_BENCH_TF         the installed tensorflow package, as for run.sh
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$root/build}" && pwd)
filter=${2:-}
bench=$build/bench
tf=${FERRY_BENCH_TF:-$(ls -d /opt/tfvenv/lib/python3*/site-packages/tensorflow 2>/dev/null | head -1)}
[ -f "$tf/libtensorflow_cc.so.2" ] || { echo 'TensorFlow was not found (FERRY_BENCH_TF).' >&2; exit 1; }
mkdir -p "$bench/tf"
ln -sfn "$tf/libtensorflow_cc.so.2" "$bench/tf/libtensorflow.so.2"
ln -sfn "$tf/libtensorflow_framework.so.2" "$bench/tf/libtensorflow_framework.so.2"
peak=$(LD_LIBRARY_PATH=$bench "$bench/limits" | awk '$1 == "probe:peak_gflop_per_s" { print $2 }')
load=$(cut -d' ' -f1-3 /proc/loadavg)
LD_LIBRARY_PATH=$build/lib PEAK_GFLOPS=$peak "$bench/ops" "$root/bench/ops.txt" "$build/lib" "$bench/tf" ${filter:+"$filter"} |
  tee "$bench/ops_raw.md" >&2
{
  echo "# Every op, Ferry against TensorFlow"
  echo
  echo "\`make bench-ops\` (\`bench/ops.sh\`), $(date -u +%Y-%m-%d), $(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)," \
    "load average $load before and $(cut -d' ' -f1-3 /proc/loadavg) after, peak $peak GFLOP/s," \
    "$(basename "$(ls -d "$tf"/../tensorflow*.dist-info 2>/dev/null | head -1)" .dist-info)."
  echo "Least time of a call over ${SLOTS:-8} interleaved slots of ${SLOT_MS:-6} ms; ratio = TensorFlow / Ferry, above 1 Ferry is faster."
  echo "The limit is the time to read the inputs and write the outputs at the speed of a copy of 16 M floats, or the operations at the multiply-add peak."
  echo "CPU time is that of all threads of the process."
  echo
  awk -F'|' '
    NF > 8 && $6 + 0 > 0 {
      size = $3; gsub(/ /, "", size)
      total[size]++
      if ($6 >= 0.995) good[size]++
      else below = below sprintf("- %s (%s): %s, CPU time %s\n", trim($2), size, trim($6), trim($7))
    }
    function trim(s) { gsub(/^ +| +$/, "", s); return s }
    END {
      print "| size | cases | at least as fast as TensorFlow |\n|---|---|---|"
      for (i = 1; i <= 3; i++) {
        s = i == 1 ? "small" : i == 2 ? "medium" : "large"
        printf "| %s | %d | %d |\n", s, total[s], good[s]
      }
      print "\nBelow 1.0:\n" below
    }' "$bench/ops_raw.md"
  cat "$bench/ops_raw.md"
} >"$bench/ops.md"
sed -n '1,/^| op /p' "$bench/ops.md" | head -n -1
