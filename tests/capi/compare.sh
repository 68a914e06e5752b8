#!/usr/bin/env bash
# compare.sh GOLDEN PROGRAM [ARG ...]: runs the program and compares what it prints with GOLDEN,
# which TensorFlow printed for the same program (run_golden.sh). Where known_gaps/NAME.diff exists,
# the lines that differ must be exactly those recorded there: a gap that closes is news, too.
set -uo pipefail
golden=$1
shift
# Where Ferry differs on purpose (docs/DIFFERENCES.md) its own expectation stands beside.
ours=${golden/golden/golden_ferry}
[ -f "$ours" ] && golden=$ours
# Valgrind has no mode in which denormal numbers count as 0: what comes out without it stands beside, too.
ours=${golden/golden/golden_valgrind}
[ -n "${FERRY_TEST_WRAPPED:-}" ] && [ -f "$ours" ] && golden=$ours
[ -f "$golden" ] || { echo "no golden file $golden: make it with tests/capi/run_golden.sh"; exit 1; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# In a directory of its own: some programs write files.
(cd "$dir" && "$@" >"$dir/stdout" 2>"$dir/stderr")
code=$?
diff -u --label tensorflow --label ferry "$golden" "$dir/stdout" >"$dir/diff"
same=$?
gaps=$(dirname "$(dirname "$golden")")/known_gaps/$(basename "$golden" .txt).diff
changed() { grep '^[-+]' "$1" | tail -n +3; }  # without the two lines of the head
if [ -f "$gaps" ]; then
  if [ $same -eq 0 ]; then
    echo "nothing differs any more: remove $gaps and its line in docs/DIFFERENCES.md"
    exit 1
  fi
  if [ "$(changed "$gaps")" = "$(changed "$dir/diff")" ]; then
    same=0
  else
    echo "the difference is not the one recorded in $gaps"
  fi
fi
if [ $code -ne 0 ] || [ $same -ne 0 ]; then
  [ $code -eq 0 ] || { echo "exit code $code; end of stderr:"; tail -n 20 "$dir/stderr"; }
  printf '%s of %s lines differ\n' "$(grep -c '^-[^-]' "$dir/diff")" "$(wc -l <"$golden")"
  head -n "${COMPARE_LINES:-120}" "$dir/diff"
  exit 1
fi
