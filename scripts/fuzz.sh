#!/usr/bin/env bash
# Runs every fuzzer of tests/fuzz for FUZZ_SECONDS (60) over its corpus; two at a time.
# What it finds is left in build/fuzz/NAME-crash-*, what it learns in build/fuzz/corpus/NAME.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
shopt -s nullglob
sources=(tests/fuzz/fuzz_*.c)
[ ${#sources[@]} -gt 0 ] || { echo 'fuzz: no fuzzers yet'; exit 0; }
dir=${BUILD:-build}/fuzz
generator=()
command -v ninja >/dev/null && generator=(-G Ninja)
cmake -S . -B "$dir" "${generator[@]}" -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DFERRY_BUILD_FUZZERS=ON -DFERRY_BUILD_TESTS=OFF >/dev/null || exit 1
cmake --build "$dir" -j "$(nproc)" --target fuzzers || exit 1

run_one() {
  local name=$1 dir=$2 quiet='' seed=tests/fuzz/corpus/$1
  mkdir -p "$dir/corpus/$name"
  [ -d "$seed" ] || seed=
  [ "$name" = fuzz_inputs ] && quiet=-close_fd_mask=3  # it says what is wrong with each input
  if "$dir/bin/$name" -max_total_time="${FUZZ_SECONDS:-60}" -timeout=10 -rss_limit_mb=2048 \
      -print_final_stats=1 ${quiet:+"$quiet"} -artifact_prefix="$dir/$name-" "$dir/corpus/$name" ${seed:+"$seed"} \
      >"$dir/$name.log" 2>&1; then
    printf '%s: %s runs, no finding\n' "$name" \
      "$(sed -n 's/^stat::number_of_executed_units: *//p' "$dir/$name.log")"
  else
    printf '%s: FAILED, see %s\n' "$name" "$dir/$name.log"
    tail -n 40 "$dir/$name.log"
    return 1
  fi
}
export -f run_one
printf '%s\n' "${sources[@]}" | sed 's|.*/||; s|\.c$||' |
  xargs -P 2 -I{} bash -c 'run_one {} '"'$dir'"
