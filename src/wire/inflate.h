// SPDX-License-Identifier: Apache-2.0
// inflate.h: decompress DEFLATE (RFC 1951) into a buffer of known size. Small rather than fast.

#ifndef FY_WIRE_INFLATE_H
#define FY_WIRE_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// True if |bytes| decompress to exactly |room| bytes at |out|. No allocation.
bool fy_wire_inflate(const uint8_t *bytes, size_t n, uint8_t *out, size_t room);
// The checksum of zip and gzip.
uint32_t fy_wire_crc32(const uint8_t *bytes, size_t n);

#endif
