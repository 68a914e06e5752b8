#!/usr/bin/env bash
# Folders include only folders below them: a file of src/F may include "G/x.h" if G comes before F
# in the list, or is F itself. (The device contract, include/ferry/device.h, is public and open to all.)
# Edit the list, or `allowed`, when the design changes: never one without the other's reason.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
order='base tensor wire ops graph grad optimize place partition memory devices execute data model observe api'
# Exceptions as "from:to", each with its reason on the line above.
allowed=''

find src -name '*.[ch]' | sort | xargs -r awk -v order="$order" -v allowed="$allowed" '
  BEGIN {
    n = split(order, names, " ");
    for (i = 1; i <= n; ++i) rank[names[i]] = i;
    m = split(allowed, pairs, " ");
    for (i = 1; i <= m; ++i) may[pairs[i]] = 1;
  }
  FNR == 1 {
    parts = split(FILENAME, path, "/");
    from = parts > 2 ? path[2] : "";   # src/*.c itself sees everything
    if (from != "" && !(from in rank)) {
      printf "%s: folder %s is not in the order of tools/check_includes.sh\n", FILENAME, from;
      bad = 1;
    }
    # devices/cpu and devices/sim do not know each other.
    below = from == "devices" && parts > 3 ? path[3] : "";
  }
  /^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, quoted, "\"");
    depth = split(quoted[2], target, "/");
    if (depth < 2) next;               # a neighbour, or a generated file
    to = target[1];
    if (!(to in rank) || from == "" || (from ":" to) in may) next;
    if (rank[to] > rank[from]) {
      printf "%s:%d: %s may not include %s (it is above)\n", FILENAME, FNR, from, quoted[2];
      bad = 1;
    }
    if (to == "devices" && from == "devices" && depth > 2 && below != "" && target[2] != below) {
      printf "%s:%d: one device may not include another: %s\n", FILENAME, FNR, quoted[2];
      bad = 1;
    }
  }
  END { exit bad }
'
