#!/usr/bin/env bash
# What README.md shows of the five questions is what the commands print; numbers and spacing aside, which are
# the machine's.
# shellcheck disable=SC2154  # $work is support.bash's
set -uo pipefail
here=$(dirname "$0")
# shellcheck source=support.bash
. "$here/support.bash"
cd "$SOURCE" || exit

plain() {  # numbers with their units become N, rows of blanks one
  sed -E 's/[0-9]+(\.[0-9]+)?( ?(ns|us|ms|s|B|KiB|MiB|GiB|%))?\b/N/g; s/[[:space:]]+/ /g; s/^ //; s/ $//'
}

# The block of code after the question's number, line by line in the output of the command.
shows() {
  local question=$1
  shift
  expect 0 "$@"
  plain <"$work/all" >"$work/plain"
  awk -v q="**$question. " 'index($0, q) == 1 { on = 1 } on && /^```/ { if (++fence == 2) exit; next } fence == 1' \
    README.md | grep -vE '^ *…$' | plain >"$work/wanted"
  [ -s "$work/wanted" ] || fail "README.md shows nothing for question $question"
  while IFS= read -r line; do
    [ -z "$line" ] || grep -qxF -- "$line" "$work/plain" || fail "question $question: README.md shows '$line'"
  done <"$work/wanted"
}

model=examples/models/digits.pb
shows 1 "$FERRY" explain $model --batch 4096 --sim gpu:1
shows 2 "$FERRY" explain $model --batch 4096 --sim gpu:1,lack=MatMul --why hidden1/matmul
shows 3 "$FERRY" explain $model --memory --batch 4096 --sim gpu:1,memory=8MiB
if [ -n "${FERRY_BUILD:-}" ]; then
  shows 4 "$FERRY_BUILD/examples/06_split"
  shows 5 "$FERRY_BUILD/examples/07_bottleneck"
fi
# The commands of the questions are those above.
# shellcheck disable=SC2016  # $M is the README's
for text in 'ferry explain $M --batch 4096 --sim gpu:1`' \
  'ferry explain $M --batch 4096 --sim gpu:1,lack=MatMul --why hidden1/matmul`' \
  'ferry explain $M --memory --batch 4096 --sim gpu:1,memory=8MiB`'; do
  grep -qF -- "$text" README.md || fail "README.md has no '$text'"
done
# Every file it links to is there, and every command it names.
grep -oE '\]\([^)#:]+' README.md docs/*.md CONTRIBUTING.md | sed -E 's/^([^:]+):\]\(/\1 /' | while read -r file link; do
  [ -e "$(dirname "$file")/$link" ] || echo "$file links to $link, which is not there"
done >"$work/links"
[ ! -s "$work/links" ] || fail "$(cat "$work/links")"
"$FERRY" help >"$work/help"
for command in $(grep -oE '^ferry [a-z]+' README.md | awk '{ print $2 }' | sort -u); do
  grep -q "^  $command " "$work/help" || fail "README.md uses 'ferry $command'"
done
# Tests that docs/COMPLAINTS.md names exist.
for name in $(grep -oE '`(unit|cli|capi)/[a-z_0-9]+\.(c|sh)`' docs/COMPLAINTS.md | tr -d '`' | sort -u); do
  [ -e "tests/$name" ] || fail "docs/COMPLAINTS.md names tests/$name"
done
finish
