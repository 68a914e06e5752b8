// SPDX-License-Identifier: Apache-2.0
// record.c: see record.h.

#include "wire/record.h"

#include <string.h>

#include "base/alloc.h"
#include "wire/crc32c.h"
#include "wire/inflate.h"

fy_code fy_record_open(const char *path, int compression, fy_record_file *f, fy_error *err) {
  *f = (fy_record_file){.file = {.fd = -1}};
  if (!compression) {
    FY_TRY(fy_wire_file_open(path, &f->file, err));
    f->size = f->file.bytes;
    return FY_OK;
  }
  uint8_t *bytes;
  size_t n, out_n;
  bool cut;
  FY_TRY(fy_wire_file_load(path, FY_RECORD_MOST, &bytes, &n, err));
  const fy_code code = fy_wire_unzlib(compression == 2, bytes, n, &f->memory, &out_n, &cut, err);
  fy_free(bytes);
  f->size = out_n;
  return code;
}

void fy_record_close(fy_record_file *f) {
  fy_wire_file_close(&f->file);
  f->file.fd = -1;
  fy_free(f->memory);
  f->memory = NULL;
}

fy_code fy_record_bytes(const fy_record_file *f, uint64_t at, void *to, size_t n, fy_error *err) {
  if (!f->memory) return fy_wire_file_read(&f->file, at, to, n, err);
  memcpy(to, f->memory + at, n);
  return FY_OK;
}

// One TFRecord: length, its checksum, the bytes, their checksum.
fy_code fy_record_next(fy_record_file *f, fy_str *value, bool *at_end, fy_error *err) {
  uint8_t head[12], tail[4];
  const unsigned long long where = f->at;
  uint64_t length;
  uint32_t sum;
  *at_end = f->at >= f->size;
  if (*at_end) return FY_OK;
  if (f->size - f->at < sizeof head) {
    return fy_fail(err, FY_DATA_LOSS, "truncated record at %llu", where);
  }
  FY_TRY(fy_record_bytes(f, f->at, head, sizeof head, err));
  memcpy(&length, head, 8);
  memcpy(&sum, head + 8, 4);
  if (sum != fy_wire_crc_mask(fy_wire_crc32c(0, head, 8))) {
    return fy_fail(err, FY_DATA_LOSS, "corrupted record at %llu%s", where,
                   where ? "" : " (Is this even a TFRecord file?)");
  }
  const uint64_t left = f->size - f->at - sizeof head;
  if (left < 4 || length > left - 4) {
    return fy_fail(err, FY_DATA_LOSS, "truncated record at %llu", where);
  }
  char *to = fy_malloc((size_t)length + 1);
  if (!to) return fy_fail_oom(err, (size_t)length);
  fy_code code = fy_record_bytes(f, f->at + sizeof head, to, (size_t)length, err);
  if (!code) code = fy_record_bytes(f, f->at + sizeof head + length, tail, sizeof tail, err);
  if (!code) {
    memcpy(&sum, tail, 4);
    if (sum != fy_wire_crc_mask(fy_wire_crc32c(0, to, (size_t)length))) {
      code = fy_fail(err, FY_DATA_LOSS, "corrupted record at %llu", where);
    }
  }
  if (!code) {
    value->len = 0;
    fy_str_addn(value, to, (size_t)length);
    f->at += sizeof head + length + sizeof tail;
  }
  fy_free(to);
  return code;
}
