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
// Is what |b| stores under |name| what |t| holds, which was read whole under |known|? Looked at only if
// type, shape and checksum agree; false also when it cannot be told.
FY_MUST_CHECK fy_code fy_wire_bundle_same(fy_wire_bundle *b, fy_view known, fy_view name,
                                          const fy_tensor *t, bool *same, fy_error *err);
// Reads a tensor, verifying its checksum. NOT_FOUND, DATA_LOSS (checksum, short shard),
// UNIMPLEMENTED (variants).
FY_MUST_CHECK fy_code fy_wire_bundle_read(fy_wire_bundle *b, const char *name, fy_tensor **out,
                                          fy_error *err);

// A part of a tensor: |start| and |length| per dim; length -1 is the whole dim.
typedef struct fy_tensor_slice {
  int32_t rank;
  int64_t start[FY_INLINE_RANK], length[FY_INLINE_RANK];
} fy_tensor_slice;

// Reads a part of a tensor, putting together what it needs of the slices that the checkpoint has.
// INVALID_ARGUMENT: "Does not have sufficient slices for partitioned tensor x …".
FY_MUST_CHECK fy_code fy_wire_bundle_read_slice(fy_wire_bundle *b, const char *name,
                                                const fy_tensor_slice *want, fy_tensor **out,
                                                fy_error *err);
// "4 3 0,2:-" (shape, then slice) as in shape_and_slices of SaveV2; TensorFlow's texts. |resolved| is
// the slice with every whole dim written out; its lengths are the shape of the part.
FY_MUST_CHECK fy_code fy_slice_parse(fy_view spec, int64_t shape[FY_INLINE_RANK],
                                     fy_tensor_slice *slice, fy_tensor_slice *resolved,
                                     fy_error *err);

#endif
