#!/usr/bin/env bash
# models.sh [BUILD]: whole models on Ferry, TensorFlow's C API and ONNX Runtime, in turn, on the same
# machine, now. Prints a table and writes BUILD/bench/models.md.
#   MODELS=DIR        what tools/make_models.py made (BUILD/models)
#   ONLY="mlp …"      which of them
#   BATCH=1           SECONDS_PER_RUN=2   ROUNDS=3 (the best median of the rounds is shown)
#   FERRY_BENCH_TF    the installed tensorflow package (see run.sh)
#   FERRY_BENCH_ORT   a python that has onnxruntime (/opt/ortvenv/bin/python)
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$root/build}" && pwd)
models=${MODELS:-$build/models}
batch=${BATCH:-1} seconds=${SECONDS_PER_RUN:-2} rounds=${ROUNDS:-3}
tf=${FERRY_BENCH_TF:-$(echo /opt/tfvenv/lib/python3*/site-packages/tensorflow)}
ort=${FERRY_BENCH_ORT:-/opt/ortvenv/bin/python}
bench=$build/bench
[ -d "$models" ] || {
  echo "There is nothing in $models: run tools/make_models.py $models with a Python that has TensorFlow." >&2
  exit 1
}
if [ -f "$tf/libtensorflow_cc.so.2" ]; then
  mkdir -p "$bench/tf"
  ln -sfn "$tf/libtensorflow_cc.so.2" "$bench/tf/libtensorflow.so.2"
  ln -sfn "$tf/libtensorflow_framework.so.2" "$bench/tf/libtensorflow_framework.so.2"
fi

run() {  # library model
  case $1 in
    ferry) LD_LIBRARY_PATH=$build/lib "$bench/model" "$models/$2.pb" "$models/$2_x.npy" "$batch" \
      "$seconds" "$models/$2_y.npy" ;;
    tf) [ -e "$bench/tf/libtensorflow.so.2" ] && TF_CPP_MIN_LOG_LEVEL=3 CUDA_VISIBLE_DEVICES='' \
      LD_LIBRARY_PATH=$bench/tf "$bench/model" "$models/$2.pb" "$models/$2_x.npy" "$batch" \
      "$seconds" "$models/$2_y.npy" 2>/dev/null ;;
    ort) [ -x "$ort" ] && [ -f "$models/$2.onnx" ] && "$ort" "$root/bench/model_ort.py" \
      "$models/$2.onnx" "$models/$2_x.npy" "$batch" "$seconds" 2>/dev/null ;;
  esac
}

names=${ONLY:-$(cd "$models" && for f in *.pb; do echo "${f%.pb}"; done)}
raw=$bench/models.txt
: >"$raw"
for round in $(seq "$rounds"); do
  for name in $names; do
    for library in ferry tf ort; do
      [ -t 2 ] && printf '\r\033[Kround %s: %s on %s' "$round" "$name" "$library" >&2
      line=$(run "$library" "$name") && echo "$name $library $line" >>"$raw" || true
    done
  done
done
[ -t 2 ] && printf '\r\033[K' >&2
{
  echo "Batch $batch, milliseconds: median of a run, the best of $rounds rounds. Load of the machine: $(cut -d' ' -f1-3 /proc/loadavg)."
  echo
  echo '| model | Ferry | TensorFlow | ratio | ONNX Runtime | ratio | Ferry load + first | TensorFlow | ONNX Runtime | Ferry MB | TensorFlow MB | difference |'
  echo '|---|---|---|---|---|---|---|---|---|---|---|---|'
  awk '{ k = $1 SUBSEP $2; if (!($1 in seen)) { order[++n] = $1; seen[$1] = 1 }
         if (!(k in med) || $10 < med[k]) med[k] = $10
         l = $4 + $6; if (!(k in load) || l < load[k]) load[k] = l; rss[k] = $12; off[k] = $14 }
       function cell(k) { return k in med ? sprintf("%.3g", med[k]) : "-" }
       function ratio(a, b) { return a in med && b in med ? sprintf("%.2fx", med[b] / med[a]) : "-" }
       function first(k) { return k in load ? sprintf("%.0f", load[k]) : "-" }
       END { for (i = 1; i <= n; i++) { m = order[i]; f = m SUBSEP "ferry"; t = m SUBSEP "tf"; o = m SUBSEP "ort"
         printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", m, cell(f), cell(t), ratio(f, t),
           cell(o), ratio(f, o), first(f), first(t), first(o), rss[f], rss[t], off[f] } }' "$raw"
} | tee "$bench/models.md"
