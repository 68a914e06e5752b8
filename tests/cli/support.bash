# support.bash: expect CODE COMMAND … runs and remembers the output; contains TEXT … looks into it.
# shellcheck shell=bash
FERRY=${FERRY:-build/bin/ferry}
SOURCE=${FERRY_SOURCE:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
unset FERRY_SIM FERRY_CONFIG
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
patience=${FERRY_TEST_PATIENCE:-120}  # seconds for a command; sanitizers and Valgrind take their time

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

expect() {
  local want=$1 got
  shift
  last="$*"
  timeout "$patience" "$@" >"$work/out" 2>"$work/err"
  got=$?
  cat "$work/out" "$work/err" >"$work/all"
  if [ "$got" -ne "$want" ]; then
    fail "exit code $got, not $want: $last"
    head -n 20 "$work/all"
  fi
}

contains() {
  local text
  for text in "$@"; do
    if ! grep -qF -- "$text" "$work/all"; then
      fail "no '$text' in the output of: $last"
      head -n 20 "$work/all"
    fi
  done
}

lacks() {
  local text
  for text in "$@"; do
    if grep -qF -- "$text" "$work/all"; then fail "'$text' in the output of: $last"; fi
  done
}

# What is on stdout is JSON (checked only where python3 is).
json() {
  command -v python3 >/dev/null || return 0
  python3 -m json.tool <"$work/out" >/dev/null 2>&1 || fail "not JSON: $last"
}

# A value of it: json_is EXPRESSION-OF-d EXPECTED
json_is() {
  command -v python3 >/dev/null || return 0
  local got
  got=$(python3 -c "import json,sys; d=json.load(open(sys.argv[1])); print($1)" "$work/out" 2>&1)
  [ "$got" = "$2" ] || fail "$1 is '$got', not '$2', in: $last"
}

finish() {
  [ "$failures" -eq 0 ] || { echo "$failures failures"; exit 1; }
  echo ok
}
