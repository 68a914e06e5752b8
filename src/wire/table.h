// SPDX-License-Identifier: Apache-2.0
// table.h: the sorted string table of checkpoint .index files (LevelDB's format), read in order.

#ifndef FY_WIRE_TABLE_H
#define FY_WIRE_TABLE_H

#include "base/status.h"
#include "base/str.h"

// Called for every entry, keys strictly increasing. A code other than FY_OK ends the scan.
typedef fy_code (*fy_wire_table_visit)(void *arg, fy_view key, fy_view value, fy_error *err);

// Scans a table held in memory, verifying every block's checksum. DATA_LOSS if it is malformed.
// Invariant: the work is bounded by a constant times |n|, and keys by 64 KiB each.
FY_MUST_CHECK fy_code fy_wire_table_scan(const uint8_t *bytes, size_t n, fy_wire_table_visit visit,
                                         void *arg, fy_error *err);

#endif
