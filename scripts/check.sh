#!/usr/bin/env bash
# Everything a change must pass besides the tests. Runs every step, then lists those that failed.
#   scripts/check.sh [STEP ...]    steps: see the list at the end; default: all
#   scripts/check.sh format-fix    rewrites the files instead
# BASE is the commit a change is compared with (clang-tidy reads only changed files). TIDY=all: every file
# that is not known to be clean as it is; the first time that takes a CPU an hour, then only what a change
# touches, headers included.
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

# "SUM FILE" for every file of standard input: the sum of all that clang-tidy reads for it, as ninja knows
# it from the last build (no ninja, or a file not built: no sum, and the file is read every time).
with_sums() {
  local dir=$build/check-clang config=$PWD/.clang-tidy file list
  declare -A reads=()
  while read -r file list; do reads[$file]=$list; done < <(
    ninja -C "$dir" -t deps 2>/dev/null |
      awk '/: #deps/ { if (name) print name, all; name = $1; all = ""
                                       sub(/:$/, "", name); sub(/^.*\.dir\//, "", name); sub(/\.o$/, "", name) }
                           /^ / { sub(/^ +/, ""); all = all " " $0 } END { if (name) print name, all }')
  while read -r file; do
    list=${reads[$file]:-}
    # shellcheck disable=SC2086  # a list of names without blanks
    [ -z "$list" ] || list=$( (cd "$dir" && clang-tidy --version && cat "$config" $list) |
      sha256sum | cut -d' ' -f1)
    printf '%s %s\n' "${list:--}" "$file"
  done
}

tidy_one() {  # DIR SUM FILE
  [ "$2" = - ] || [ ! -e "$1/tidy-clean/$2" ] || return 0
  clang-tidy --quiet -p "$1/check-clang" "$3" || return 1
  [ "$2" = - ] || : >"$1/tidy-clean/$2"
}
export -f tidy_one

step_tidy() {
  [ -f "$build/check-clang/compile_commands.json" ] || compile_with clang || return 1
  mkdir -p "$build/tidy-clean"
  # shellcheck disable=SC2016  # the inner shell's own arguments
  changed_sources | with_sums |
    xargs -r -P "$jobs" -L 1 bash -c 'tidy_one "$@"' _ "$build"
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
