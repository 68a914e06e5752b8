// SPDX-License-Identifier: Apache-2.0
// crc32c.h: the checksum of checkpoints, TFRecord and event files (Castagnoli, masked as they do).

#ifndef FY_WIRE_CRC32C_H
#define FY_WIRE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

// The checksum of the bytes that |crc| stands for (0 = none) followed by these.
uint32_t fy_wire_crc32c(uint32_t crc, const void *bytes, size_t n);

// Files store this, so that a checksum over bytes that hold checksums stays meaningful.
static inline uint32_t fy_wire_crc_mask(uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}
static inline uint32_t fy_wire_crc_unmask(uint32_t masked) {
  const uint32_t rotated = masked - 0xa282ead8u;
  return (rotated << 15) | (rotated >> 17);
}

#endif
