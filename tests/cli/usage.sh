#!/usr/bin/env bash
# Exit codes, help, and what a wrong word is answered with.
# shellcheck disable=SC2154  # $work is support.bash's
set -uo pipefail
here=$(dirname "$0")
# shellcheck source=support.bash
. "$here/support.bash"

expect 0 "$FERRY"
contains 'Usage: ferry COMMAND' 'Exit codes: 0 done, 1 the work failed, 2 wrong usage'
for command in demo devices doctor ops inspect run bench explain dump freeze convert diff version help; do
  expect 0 "$FERRY" help
  contains "  $command "
  expect 0 "$FERRY" help "$command"
  contains "Usage: ferry $command" 'Example'
  expect 0 "$FERRY" "$command" --help
  contains "Usage: ferry $command" 'Example'
done
expect 0 "$FERRY" version
contains 'ferry 0.' 'TensorFlow C API 2.'
expect 0 "$FERRY" --version

# Wrong usage: 2, one line on stderr that starts with the program's name and suggests.
expect 2 "$FERRY" explane
contains "ferry: there is no command 'explane' (did you mean 'explain'?)"
expect 2 "$FERRY" explain --bach 3 x
contains 'ferry: explain: there is no option --bach (did you mean --batch?)'
expect 2 "$FERRY" explain
contains 'ferry: explain: which graph?'
expect 2 "$FERRY" explain g --batch many
contains "--batch is a number from 1, not 'many'"
expect 2 "$FERRY" explain g --batch
contains '--batch needs a value'
expect 2 "$FERRY" run g --feed x
contains 'NAME=FILE.npy'
expect 2 "$FERRY" run g --timeout soon
contains "not 'soon'"
expect 2 "$FERRY" devices --json=1
contains '--json takes no value'
expect 2 "$FERRY" devices two
expect 2 "$FERRY" --sim
expect 2 "$FERRY" --batch 3
expect 2 "$FERRY" help nothing

# The work failed: 1, and why.
expect 1 "$FERRY" explain /nowhere/model.pb
contains 'ferry: /nowhere/model.pb; No such file or directory [NOT_FOUND]'
expect 1 "$FERRY" devices --config 'simm=gpu:1'
contains "did you mean 'sim'?"
expect 1 "$FERRY" devices --config 'gpu_options { alow_growth: true }'
contains 'allow_growth'
expect 1 "$FERRY" ops MatMull
contains "did you mean 'MatMul'?"
expect 1 env FERRY_SIM=gpu:1,memry=1GiB "$FERRY" devices
contains 'FERRY_SIM' "did you mean 'memory'?"
if [ -e /dev/full ]; then
  "$FERRY" help >/dev/full 2>/dev/null
  [ $? -eq 1 ] || fail 'a full disk was not noticed'
fi
finish
