// SPDX-License-Identifier: Apache-2.0
// bundle.h: read TensorFlow checkpoints (format V2, "tensor bundle"; V1, a single table file).
// PREFIX.index is a table from tensor name to entry (dtype, shape, shard, offset, size, checksum);
// PREFIX.data-XXXXX-of-YYYYY hold the bytes. A partitioned variable is an entry that lists slices,
// each stored under a key of its own; reading it puts the slices together.
// Threads: after open, everything but close may run concurrently.

#ifndef FY_WIRE_BUNDLE_H
#define FY_WIRE_BUNDLE_H

#include "tensor/tensor.h"

typedef struct fy_wire_bundle fy_wire_bundle;

// Opens the checkpoint |prefix| (the path without ".index"). The caller closes |*out|.
// NOT_FOUND: no such checkpoint, in TensorFlow's words. DATA_LOSS: a damaged index.
FY_MUST_CHECK fy_code fy_wire_bundle_open(const char *prefix, fy_wire_bundle **out, fy_error *err);
// The same over an index in memory (copied where needed); shards are still files of |prefix|.
FY_MUST_CHECK fy_code fy_wire_bundle_open_index(const char *prefix, const uint8_t *index, size_t n,
                                                fy_wire_bundle **out, fy_error *err);
void fy_wire_bundle_close(fy_wire_bundle *b);  // NULL is fine

// Tensor names in byte order, the slices of partitioned variables left out.
size_t fy_wire_bundle_count(const fy_wire_bundle *b);
fy_view fy_wire_bundle_name(const fy_wire_bundle *b, size_t i);
bool fy_wire_bundle_has(const fy_wire_bundle *b, const char *name);

// NOT_FOUND: "Key x not found in checkpoint". |*out_shape| lives as long as the bundle.
FY_MUST_CHECK fy_code fy_wire_bundle_info(const fy_wire_bundle *b, const char *name,
                                          fy_dtype *out_dtype, fy_pshape *out_shape, fy_error *err);
// Reads a tensor, verifying its checksum. NOT_FOUND, DATA_LOSS (checksum, short shard),
// UNIMPLEMENTED (variants).
FY_MUST_CHECK fy_code fy_wire_bundle_read(fy_wire_bundle *b, const char *name, fy_tensor **out,
                                          fy_error *err);

#endif
