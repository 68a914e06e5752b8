#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_headers.sh: every header under include/ must compile alone, as C11 and as C++17, with each
# compiler that is installed; layout.c must compile too. Prints one line per failure and a summary.
# Exit status 1 if anything failed. VERBOSE=1 shows the compilers' messages.

root=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
passed=0
failed=0

c_flags="-std=c11 -Wall -Wextra -Wconversion -Wstrict-prototypes -pedantic -Werror -fsyntax-only"
cxx_flags="-std=c++17 -Wall -Wextra -Werror -fsyntax-only"

# try <label> <command...>: runs the command with the translation unit on its standard input.
try() {
  label=$1
  shift
  if "$@" >"$log" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED $label: $(grep -m1 -E 'error|warning' "$log")"
    if [ -n "$VERBOSE" ]; then cat "$log"; fi
  fi
}

# The header is included twice, which also tests its guard; the declaration keeps the unit from
# being empty.
unit() { printf '#include "%s"\n#include "%s"\nextern int fy_header_check;\n' "$1" "$1"; }

for header in $(cd "$root/include" && find . -name '*.h' | sed 's|^\./||' | LC_ALL=C sort); do
  for cc in gcc clang; do
    command -v $cc >/dev/null 2>&1 || continue
    # shellcheck disable=SC2086
    try "$header ($cc, C11)" $cc $c_flags -I"$root/include" -x c - <<EOF
$(unit "$header")
EOF
  done
  for cxx in g++ clang++; do
    command -v $cxx >/dev/null 2>&1 || continue
    # shellcheck disable=SC2086
    try "$header ($cxx, C++17)" $cxx $cxx_flags -I"$root/include" -x c++ - <<EOF
$(unit "$header")
EOF
  done
done

for cc in gcc clang; do
  command -v $cc >/dev/null 2>&1 || continue
  # shellcheck disable=SC2086
  try "layout.c ($cc)" $cc $c_flags -I"$root/include" "$root/tests/headers/layout.c"
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
