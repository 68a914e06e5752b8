#!/usr/bin/env bash
# ops.sh [BUILD] [FILTER]: every op of bench/ops.txt with Ferry and with TensorFlow, in turn, as a table
# with a summary and the remarks of bench/ops_notes.md, written to BUILD/bench/ops.md. FILTER: only lines with this text; their rows replace
# those of the table that is there. Without it, a new table is begun.
#   SLOTS=8 SLOT_MS=6      how often and how long each case is measured
#   SIZES="small medium"   which sizes
#   SLICE=25 PAUSE=1       lines per pair of processes, and seconds of rest between two (for others)
#   LINES=100,200          only these lines of ops.txt; like FILTER, what is there otherwise stays
#   TABLE=FILE             its lines instead of those of ops.txt (tools/ops_types.py makes some), to BUILD/bench/FILE.md
#   FERRY_LIB              the folder with Ferry's libtensorflow.so.2, instead of BUILD/lib
#   FERRY_BENCH_TF         the installed tensorflow package, as for run.sh
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$root/build}" && pwd)
filter=${2:-}
lines=${LINES:-}
bench=$build/bench
tf=${FERRY_BENCH_TF:-$(ls -d /opt/tfvenv/lib/python3*/site-packages/tensorflow 2>/dev/null | head -1)}
[ -f "$tf/libtensorflow_cc.so.2" ] || { echo 'TensorFlow was not found (FERRY_BENCH_TF).' >&2; exit 1; }
mkdir -p "$bench/tf"
ln -sfn "$tf/libtensorflow_cc.so.2" "$bench/tf/libtensorflow.so.2"
ln -sfn "$tf/libtensorflow_framework.so.2" "$bench/tf/libtensorflow_framework.so.2"
peak=$(LD_LIBRARY_PATH=$bench "$bench/limits" | awk '$1 == "probe:peak_gflop_per_s" { print $2 }')
load=$(cut -d' ' -f1-3 /proc/loadavg)
lib=${FERRY_LIB:-$build/lib}
table=${TABLE:-$root/bench/ops.txt}
base=$(basename "$table" .txt)
raw=$bench/${base}_raw.md
[ "$filter$lines" ] || : >"$raw"
touch "$raw"

# A slice is a table of its own; the fastest copy that any of them saw is everybody's.
parts=$(mktemp -d)
trap 'rm -rf "$parts"' EXIT
sed -n "${lines:-1,\$}p" "$table" | grep -v '^\(#.*\)\?$' |
  grep -F -e "$filter" | split -a 4 -l "${SLICE:-25}" - "$parts/"
copy=$(sed -n 's/^Copying 16 M floats on two cores: \([0-9.]*\).*/\1/p' "$raw" | sort -g | tail -1)
for part in "$parts"/*; do
  LD_LIBRARY_PATH=$lib PEAK_GFLOPS=$peak COPY_GBS=$copy "$bench/ops" "$part" "$lib" "$bench/tf" |
    tee "$part.md" >&2
  copy=$(sed -n 's/^Copying 16 M floats on two cores: \([0-9.]*\).*/\1/p' "$part.md")
  cat "$part.md" >>"$raw"
  sleep "${PAUSE:-1}"
done

# The newest row of each case and size, in the order of ops.txt.
rows=$parts/rows
awk -F'|' '
  function trim(s) { gsub(/^ +| +$/, "", s); return s }
  FNR == NR {
    if (NF > 8 && $3 !~ /size|---/) row[trim($2) "|" trim($3)] = $0
    next
  }
  /^#/ || !NF { next }
  {
    name = $0
    sub(/;.*/, "", name)
    for (i = 1; i <= 3; i++) {
      key = trim(name) "|" (i == 1 ? "small" : i == 2 ? "medium" : "large")
      if (key in row) print row[key]
    }
  }' "$raw" "$table" >"$rows"
{
  echo "# Every op, Ferry against TensorFlow"
  echo
  echo "\`make bench-ops\` (\`bench/ops.sh\`), $(date -u +%Y-%m-%d), $(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)," \
    "load average $load before and $(cut -d' ' -f1-3 /proc/loadavg) after, peak $peak GFLOP/s, a copy of 16 M floats $copy GB/s (read and written)," \
    "$(basename "$(ls -d "$tf"/../tensorflow*.dist-info 2>/dev/null | head -1)" .dist-info)."
  echo "Least time of a call over ${SLOTS:-8} interleaved slots of ${SLOT_MS:-6} ms; ratio = TensorFlow / Ferry, above 1 Ferry is faster."
  echo "The limit is the time to read the inputs and write the outputs at the speed of a copy of 16 M floats, or the operations at the multiply-add peak."
  echo "CPU time is that of all threads of the process."
  echo
  awk -F'|' '
    function trim(s) { gsub(/^ +| +$/, "", s); return s }
    $6 ~ /[0-9]/ {
      size = trim($3)
      total[size]++
      if ($6 >= 0.995) good[size]++
      else below = below sprintf("- %s (%s): %s, CPU time %s\n", trim($2), size, trim($6), trim($7))
    }
    END {
      print "| size | cases | at least as fast as TensorFlow |\n|---|---|---|"
      for (i = 1; i <= 3; i++) {
        s = i == 1 ? "small" : i == 2 ? "medium" : "large"
        printf "| %s | %d | %d |\n", s, total[s], good[s]
      }
      print "\nBelow 1.0:\n" below
    }' "$rows"
  [ "$base" != ops ] || cat "$root/bench/ops_notes.md"
  echo
  echo "| op | size | Ferry | TensorFlow | ratio | CPU time ratio | limit | limit / Ferry | |"
  echo "|---|---|---|---|---|---|---|---|---|"
  cat "$rows"
} >"$bench/$base.md"
sed -n '1,/^| op /p' "$bench/$base.md" | head -n -1
