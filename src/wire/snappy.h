// SPDX-License-Identifier: Apache-2.0
// snappy.h: decompress Snappy, as the tables of checkpoints use it. No compressor.

#ifndef FY_WIRE_SNAPPY_H
#define FY_WIRE_SNAPPY_H

#include "base/status.h"

// Decompresses |n| bytes. The caller owns |*out| (fy_free). DATA_LOSS if they are malformed, or
// claim more than 64 times their size or |max_bytes| (which no encoder can mean).
FY_MUST_CHECK fy_code fy_wire_snappy_decode(const uint8_t *bytes, size_t n, size_t max_bytes,
                                            uint8_t **out, size_t *out_n, fy_error *err);

#endif
