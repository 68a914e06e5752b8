// SPDX-License-Identifier: Apache-2.0
// inflate.h: decompress DEFLATE (RFC 1951), alone or inside zlib (RFC 1950) and gzip (RFC 1952).
// Small rather than fast.

#ifndef FY_WIRE_INFLATE_H
#define FY_WIRE_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// True if |bytes| decompress to exactly |room| bytes at |out|. No allocation.
bool fy_wire_inflate(const uint8_t *bytes, size_t n, uint8_t *out, size_t room);

// Decompresses one stream at |*bytes| (moved past it) and appends to the growing |*out| (fy_free).
// What came out before the input ended or went wrong is there too; |*why| is zlib's text.
typedef enum fy_wire_inflated {
  FY_INFLATE_DONE,
  FY_INFLATE_CUT,  // the input ended too early
  FY_INFLATE_BAD,
  FY_INFLATE_NO_MEMORY,
} fy_wire_inflated;
fy_wire_inflated fy_wire_inflate_more(const uint8_t **bytes, const uint8_t *end, uint8_t **out,
                                      size_t *out_n, size_t *out_cap, const char **why);

// A whole zlib stream (what follows it is ignored) or all members of a gzip file. Input that ends
// too early gives what could be read and sets |*cut|, as TensorFlow does; DATA_LOSS if malformed:
// "inflate() failed with error -3: incorrect header check". The caller owns |*out| (fy_free).
FY_MUST_CHECK fy_code fy_wire_unzlib(bool gzip, const uint8_t *bytes, size_t n, uint8_t **out,
                                     size_t *out_n, bool *cut, fy_error *err);

// The checksum of zip and gzip.
uint32_t fy_wire_crc32(const uint8_t *bytes, size_t n);

#endif
