// SPDX-License-Identifier: Apache-2.0
// record.h: a file that is read from its start to its end, as it is or unpacked into memory, and the
// records of a TFRecord file. Not thread-safe.

#ifndef FY_WIRE_RECORD_H
#define FY_WIRE_RECORD_H

#include "base/str.h"
#include "wire/file.h"

#define FY_RECORD_MOST ((uint64_t)1 << 40)  // bytes of a file that is read as a whole

typedef struct fy_record_file {
  fy_wire_file file;
  uint8_t *memory;  // of a compressed file
  uint64_t size, at;
} fy_record_file;

// |compression|: 0, 1 = ZLIB, 2 = GZIP. Fails as fy_wire_file_open.
FY_MUST_CHECK fy_code fy_record_open(const char *path, int compression, fy_record_file *f,
                                     fy_error *err);
void fy_record_close(fy_record_file *f);  // again is fine
FY_MUST_CHECK fy_code fy_record_bytes(const fy_record_file *f, uint64_t at, void *to, size_t n,
                                      fy_error *err);
// One TFRecord. |*at_end|: there is none. DATA_LOSS: truncated or corrupted.
FY_MUST_CHECK fy_code fy_record_next(fy_record_file *f, fy_str *value, bool *at_end, fy_error *err);

#endif
