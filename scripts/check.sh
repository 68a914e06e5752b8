#!/usr/bin/env bash
# Everything a change must pass besides the tests. Runs every step, then lists those that failed.
#   scripts/check.sh [STEP ...]    steps: see the list at the end; default: all
#   scripts/check.sh format-fix    rewrites the files instead
# BASE is the commit a change is compared with (clang-tidy reads only changed files; TIDY=all: every file,
# which takes a CPU an hour).
set -uo pipefail
cd "$(dirname "$0")/.." || exit
build=${BUILD:-build}
jobs=$(nproc 2>/dev/null || echo 2)
generator=()
command -v ninja >/dev/null && generator=(-G Ninja)

our_files() {
  find src cli include tests bench examples tools -name '*.[ch]' 2>/dev/null | sort
}

# The C files that differ from BASE (default: the last commit); all of them before the first commit.
changed_sources() {
  local base=${BASE:-HEAD}
  if [ "${TIDY:-}" = all ]; then
    find src cli -name '*.c'
  elif git rev-parse -q --verify "$base" >/dev/null 2>&1; then
    git diff --name-only --diff-filter=d "$base" -- 'src/*.c' 'cli/*.c'
    git ls-files --others --exclude-standard -- 'src/*.c' 'cli/*.c'
  else
    find src cli -name '*.c'
  fi | sort -u
}

step_format() { our_files | xargs -r clang-format --dry-run -Werror; }
step_format-fix() { our_files | xargs -r clang-format -i; }

compile_with() {
  cmake -S . -B "$build/check-$1" "${generator[@]}" -DCMAKE_C_COMPILER="$1" -DFERRY_WERROR=ON \
    >/dev/null && cmake --build "$build/check-$1" -j "$jobs" -- -k 0
}
step_gcc() { compile_with gcc; }
step_clang() { compile_with clang; }

step_tidy() {
  [ -f "$build/check-clang/compile_commands.json" ] || compile_with clang || return 1
  changed_sources | xargs -r -P "$jobs" -n 4 clang-tidy --quiet -p "$build/check-clang"
}

step_headers() { tests/headers/check_headers.sh; }
step_includes() { tools/check_includes.sh; }
step_exports() { tools/check_exports.sh "$build/check-gcc/lib/libferry.so"; }
step_scripts() {
  command -v shellcheck >/dev/null || return 0
  shellcheck -S warning scripts/*.sh tools/*.sh tests/*/*.sh bench/*.sh .ci/run
}
# Every op and element type is shown by some test, and docs/ops.md says what runs.
step_dtypes() { python3 tools/check_op_dtypes.py; }
step_docs() { tools/check_docs.sh "$build/check-gcc/bin/ferry"; }
step_fuzz() { scripts/fuzz.sh; }

[ $# -gt 0 ] || set -- format gcc clang tidy headers includes exports scripts dtypes docs fuzz
failed=()
for step in "$@"; do
  declare -F "step_$step" >/dev/null || { echo "check: no step '$step'" >&2; exit 2; }
  printf '== %s (%s s)\n' "$step" "$SECONDS"
  "step_$step" || failed+=("$step")
done
[ ${#failed[@]} -eq 0 ] || { echo "check: failed: ${failed[*]}" >&2; exit 1; }
echo 'check: all passed'
