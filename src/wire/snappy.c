// SPDX-License-Identifier: Apache-2.0
// snappy.c: the Snappy block format: a length, then literals and copies of earlier output.

#include "wire/snappy.h"

#include <string.h>

#include "base/alloc.h"
#include "wire/proto_util.h"

// Little-endian number of |bytes| bytes.
static uint32_t read_le(const uint8_t *p, unsigned bytes) {
  uint32_t value = 0;
  for (unsigned i = 0; i < bytes; i++) value |= (uint32_t)p[i] << (8 * i);
  return value;
}

// Runs the elements of [p, end) into [out, out + room); false unless they fill it exactly.
static bool run(const uint8_t *p, const uint8_t *end, uint8_t *out, size_t room) {
  size_t at = 0;
  while (p < end) {
    uint8_t tag = *p++;
    size_t len, offset;
    unsigned kind = tag & 3, extra = kind == 0 ? 0 : kind == 1 ? 1 : kind == 2 ? 2 : 4;
    if (kind == 0) {
      len = tag >> 2;
      if (len >= 60) {
        extra = (unsigned)len - 59;
        if ((size_t)(end - p) < extra) return false;
        len = read_le(p, extra);
        p += extra;
      }
      len++;
      if (len > (size_t)(end - p) || len > room - at) return false;
      memcpy(out + at, p, len);
      p += len;
      at += len;
      continue;
    }
    if ((size_t)(end - p) < extra) return false;
    offset = read_le(p, extra);
    p += extra;
    len = (size_t)(tag >> 2) + 1;
    if (kind == 1) {
      len = (size_t)(tag >> 2 & 7) + 4;
      offset |= (size_t)(tag >> 5) << 8;
    }
    if (offset == 0 || offset > at || len > room - at) return false;
    for (size_t i = 0; i < len; i++, at++) out[at] = out[at - offset];  // may overlap: it repeats
  }
  return at == room;
}

fy_code fy_wire_snappy_decode(const uint8_t *bytes, size_t n, size_t max_bytes, uint8_t **out,
                              size_t *out_n, fy_error *err) {
  *out = NULL;
  *out_n = 0;
  const uint8_t *p = bytes, *end = bytes + n;
  uint64_t size;
  if (!fy_wire_varint(&p, end, &size) || size > max_bytes || size / 64 > n) {
    return fy_fail(err, FY_DATA_LOSS, "snappy: the uncompressed size is missing or absurd");
  }
  uint8_t *buf = fy_malloc(size ? (size_t)size : 1);
  if (!buf) return fy_fail_oom(err, (size_t)size);
  if (!run(p, end, buf, (size_t)size)) {
    fy_free(buf);
    return fy_fail(err, FY_DATA_LOSS, "snappy: malformed data");
  }
  *out = buf;
  *out_n = (size_t)size;
  return FY_OK;
}
