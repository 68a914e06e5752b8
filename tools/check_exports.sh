#!/usr/bin/env bash
# check_exports.sh LIBRARY: it exports every name of tools/exports.txt, and besides those only
# functions declared in include/ferry/ and include/tensorflow/.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
library=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C
# Absolute symbols (A) are the version names of cmake/ferry.map.
nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
  grep -vE '^(__asan|__ubsan|__tsan|__sancov|__start_|__stop_)' | sort -u >"$work/have"
grep -v '^#' tools/exports.txt | sort -u >"$work/want"
find include -name '*.h' -exec grep -ohE '\b(TF|TFE|TSL|ferry)_[A-Za-z0-9_]+' {} + | sort -u >"$work/declared"
bad=0
missing=$(comm -13 "$work/have" "$work/want")
[ -z "$missing" ] || { bad=1; echo "$(wc -l <<<"$missing") not exported:"; sed 's/^/  /' <<<"$missing"; }
extra=$(comm -23 "$work/have" "$work/want" | comm -23 - "$work/declared")
[ -z "$extra" ] || { bad=1; echo 'exported, but in no public header:'; sed 's/^/  /' <<<"$extra"; }
exit $bad
