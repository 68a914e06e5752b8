#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs/ops.md says what the ferry of this build says.   tools/check_docs.sh FERRY
set -uo pipefail
cd "$(dirname "$0")/.." || exit
if "$1" ops --markdown | diff -q docs/ops.md - >/dev/null; then exit 0; fi
echo "docs/ops.md is out of date: $1 ops --markdown > docs/ops.md" >&2
exit 1
