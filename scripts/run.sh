#!/usr/bin/env bash
# What `make run` shows once everything is built.
set -euo pipefail
cd "$(dirname "$0")/.."
exec "${BUILD:-build}/bin/ferry" demo
