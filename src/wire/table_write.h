// SPDX-License-Identifier: Apache-2.0
// table_write.h: write the sorted string table that table.h reads: TensorFlow's own layout (blocks of
// 256 KiB, a full key every 16 entries, no compression), so that the bytes equal what it would write.

#ifndef FY_WIRE_TABLE_WRITE_H
#define FY_WIRE_TABLE_WRITE_H

#include "base/status.h"
#include "base/str.h"

typedef struct fy_table_block {
  fy_str bytes, last_key;
  fy_str restarts;  // uint32 offsets
  uint32_t since_restart, interval;
} fy_table_block;

typedef struct fy_table_writer {
  fy_str file;  // what is finished
  fy_table_block data, index;
  fy_str block_key;  // last key of the block that waits for its index entry
  uint64_t block_at, block_bytes;
  bool block_waits;
} fy_table_writer;

void fy_table_writer_init(fy_table_writer *w);
void fy_table_writer_free(fy_table_writer *w);
// Keys must come strictly increasing (bytewise). Memory failures show in finish.
void fy_table_writer_add(fy_table_writer *w, fy_view key, fy_view value);
// The whole file, in w->file.
FY_MUST_CHECK fy_code fy_table_writer_finish(fy_table_writer *w, fy_error *err);

#endif
