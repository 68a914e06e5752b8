// SPDX-License-Identifier: Apache-2.0
// file.h: read files at an offset. Mapped ones are in mapping.h: a file that shrinks under a mapping kills
// the process, unless somebody looks after it.

#ifndef FY_WIRE_FILE_H
#define FY_WIRE_FILE_H

#include "base/status.h"

typedef struct fy_wire_file {
  int fd;  // -1 = closed
  uint64_t bytes;
} fy_wire_file;

// NOT_FOUND, PERMISSION_DENIED, FAILED_PRECONDITION (a directory) or UNKNOWN, as
// "path; No such file or directory".
FY_MUST_CHECK fy_code fy_wire_file_open(const char *path, fy_wire_file *out, fy_error *err);
void fy_wire_file_close(fy_wire_file *f);
// Reads exactly |n| bytes at |offset|; OUT_OF_RANGE beyond the end. Thread-safe on one file.
FY_MUST_CHECK fy_code fy_wire_file_read(const fy_wire_file *f, uint64_t offset, void *to, size_t n,
                                        fy_error *err);
// The whole file, of at most |max_bytes|. The caller owns |*out| (fy_free).
FY_MUST_CHECK fy_code fy_wire_file_load(const char *path, uint64_t max_bytes, uint8_t **out,
                                        size_t *out_n, fy_error *err);

// The same of an open file; |path| is for errors.
FY_MUST_CHECK fy_code fy_wire_file_load_open(const fy_wire_file *f, const char *path,
                                             uint64_t max_bytes, uint8_t **out, size_t *out_n,
                                             fy_error *err);

#endif
