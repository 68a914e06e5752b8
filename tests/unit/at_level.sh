#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# at_level.sh LEVEL PROGRAM...: runs a test with the kernels of LEVEL (plain, avx2, avx512 or avx512wide); 77 (skipped)
# if this machine has no such kernels. FERRY names the program that can tell.
set -euo pipefail
export FERRY_CPU=$1
shift
said=$("$FERRY" doctor)
if [[ $said != *"; $FERRY_CPU kernels ("* ]]; then
  echo "this machine does not run $FERRY_CPU kernels"
  exit 77
fi
exec "$@"
