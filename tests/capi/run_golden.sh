#!/bin/sh
# Builds each transcript program against the real TensorFlow and records its
# standard output as golden/NAME.txt.
#   run_golden.sh [NAME ...]     (default: every *.c here)
# TF_DIR: the installed tensorflow package; EXTRA_CFLAGS: more compiler flags.
set -u
here=$(cd "$(dirname "$0")" && pwd)
TF_DIR=${TF_DIR:-/opt/tfvenv/lib/python3.11/site-packages/tensorflow}
FERRY_SOURCE=${FERRY_SOURCE:-$(cd "$here/../.." && pwd)}
export FERRY_SOURCE
CC=${CC:-cc}
OUT=${OUT:-$here/golden}
mkdir -p "$OUT"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
if [ $# -eq 0 ]; then
  set -- "$here"/*.c
fi
bad=0
for name in "$@"; do
  name=$(basename "$name" .c)
  if ! $CC -std=c11 -Wall -Wextra -O1 ${EXTRA_CFLAGS:-} -I"$here" \
      -isystem "$TF_DIR/include" "$here/$name.c" -o "$tmp/$name" \
      -L"$TF_DIR" -l:libtensorflow_cc.so.2 -l:libtensorflow_framework.so.2 \
      -Wl,-rpath,"$TF_DIR" -lm -lpthread; then
    echo "$name: BUILD FAILED" >&2; bad=1; continue
  fi
  # A program may load a library of its own: plugin/NAME.c becomes ./NAME.so.
  if [ -f "$here/plugin/$name.c" ] && ! $CC -std=c11 -Wall -Wextra -O1 -fPIC \
      -shared ${EXTRA_CFLAGS:-} -I"$here" -isystem "$TF_DIR/include" \
      "$here/plugin/$name.c" -o "$tmp/$name.so"; then
    echo "$name: PLUGIN BUILD FAILED" >&2; bad=1; continue
  fi
  (cd "$tmp" && TF_CPP_MIN_LOG_LEVEL=3 TF_ENABLE_ONEDNN_OPTS=0 CUDA_VISIBLE_DEVICES='' \
      timeout 300 "./$name" >"$tmp/$name.txt" 2>"$tmp/$name.err")
  rc=$?
  if [ $rc -ne 0 ]; then
    echo "$name: exit $rc" >&2; tail -n 3 "$tmp/$name.txt" >&2; tail -n 3 "$tmp/$name.err" >&2; bad=1; continue
  fi
  cp "$tmp/$name.txt" "$OUT/$name.txt"
  echo "$name: $(grep -c '^== ' "$tmp/$name.txt") cases, $(wc -l <"$tmp/$name.txt") lines"
  rm -f "$tmp/$name"
done
exit $bad
