#!/usr/bin/env bash
# compare.sh GOLDEN PROGRAM [ARG ...]: runs the program and compares what it prints with GOLDEN,
# which TensorFlow printed for the same program (run_golden.sh).
set -uo pipefail
golden=$1
shift
# Where Ferry differs on purpose (docs/DIFFERENCES.md) its own expectation stands beside.
ours=${golden/golden/golden_ferry}
[ -f "$ours" ] && golden=$ours
[ -f "$golden" ] || { echo "no golden file $golden: make it with tests/capi/run_golden.sh"; exit 1; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# In a directory of its own: some programs write files.
(cd "$dir" && "$@" >"$dir/stdout" 2>"$dir/stderr")
code=$?
diff -u --label tensorflow --label ferry "$golden" "$dir/stdout" >"$dir/diff"
same=$?
if [ $code -ne 0 ] || [ $same -ne 0 ]; then
  [ $code -eq 0 ] || { echo "exit code $code; end of stderr:"; tail -n 20 "$dir/stderr"; }
  printf '%s of %s lines differ\n' "$(grep -c '^-[^-]' "$dir/diff")" "$(wc -l <"$golden")"
  head -n "${COMPARE_LINES:-120}" "$dir/diff"
  exit 1
fi
