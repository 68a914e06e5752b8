// SPDX-License-Identifier: Apache-2.0
// block.h: small tensors whose memory somebody counts and keeps (memory/tensor_memory.c). For tensor.c and
// that one only: everybody else asks fy_memory_tensor.

#ifndef FY_TENSOR_BLOCK_H
#define FY_TENSOR_BLOCK_H

#include "tensor/tensor.h"

// Who counts tensors and may keep their memory for the next one (memory/). take(): a malloc'ed block of
// |total| bytes, counted as |bytes|; NULL: no memory or, with |*refused|, over a limit: nothing is counted.
// give() undoes both; uncount() one, of a tensor whose memory lives on for a moment.
typedef struct fy_block_source {
  void *(*take)(void *arg, size_t total, size_t bytes, bool *refused);
  void (*give)(void *arg, void *block, size_t total, size_t bytes);
  void (*uncount)(void *arg, size_t bytes);
} fy_block_source;
// The same as fy_tensor_new, of |source|. |*refused|: as of take(), then |err| is not set. FY_OK without
// a tensor: it is too large for blocks that are kept.
FY_MUST_CHECK fy_code fy_tensor_new_from(const fy_block_source *source, void *arg, fy_dtype dtype,
                                         int32_t rank, const int64_t *dims, fy_tensor **out,
                                         bool *refused, fy_error *err);
// The same for a shape that was checked before: |count| elements in |bytes| bytes, less than
// FY_LARGE_BYTES, in at most FY_INLINE_RANK dimensions. NULL: no memory, or |*refused|.
fy_tensor *fy_tensor_new_small(const fy_block_source *source, void *arg, fy_dtype dtype,
                               int32_t rank, const int64_t *dims, int64_t count, size_t bytes,
                               bool *refused);

#endif
