// SPDX-License-Identifier: Apache-2.0
// block.h: what tensors and buffers are parts of, and small ones whose memory somebody counts and keeps
// (memory/tensor_memory.c). For tensor.c and that one only: everybody else asks fy_memory_tensor.

#ifndef FY_TENSOR_BLOCK_H
#define FY_TENSOR_BLOCK_H

#include <string.h>

#include "tensor/tensor.h"

#define FY_BLOCK_ALIGNMENT 64

typedef struct fy_block fy_block;

// Who counts tensors and may keep their memory for the next one (memory/). give(): the whole of a malloc'ed
// block goes back. uncount(): only the count of a buffer whose memory lives on for a moment.
typedef struct fy_block_source {
  void (*give)(fy_block *k);
  void (*uncount)(fy_buffer *b);
} fy_block_source;

struct fy_block {
  fy_tensor tensor;
  atomic_int parts;      // living halves: tensor, buffer
  bool own_data, large;  // the buffer's bytes are in this allocation; which is of base/large.h
  bool quick;            // of a source, and nothing in it to be destroyed
  unsigned shard;        // the source's
  const fy_block_source *source;  // of whom it is, with the buffer's |release_arg|; or NULL
  fy_buffer buffer;               // a block for a tensor alone ends before it
};

// Whether elements are more than their bytes.
static inline bool fy_block_has_objects(fy_dtype elements) {
  return elements == FY_STRING || elements == FY_RESOURCE || elements == FY_VARIANT;
}

// Of a block with room for |bytes| of data.
static inline size_t fy_block_bytes(size_t bytes) {
  return sizeof(fy_block) + FY_BLOCK_ALIGNMENT - 1 + bytes;
}

// |k| with room for |bytes| of data: the buffer, and who has what. The tensor is left as it is.
static inline void fy_block_init(fy_block *k, fy_dtype elements, size_t bytes, int parts,
                                 bool large) {
  const uintptr_t data =
      ((uintptr_t)(k + 1) + FY_BLOCK_ALIGNMENT - 1) & ~(uintptr_t)(FY_BLOCK_ALIGNMENT - 1);
  atomic_init(&k->parts, parts);
  k->own_data = true;
  k->large = large;
  k->quick = false;
  k->source = NULL;
  k->buffer = (fy_buffer){.elements = elements, .data = (void *)data, .bytes = bytes};
  atomic_init(&k->buffer.refs, 1);
  // All zeros is an empty string and no object.
  if (FY_UNLIKELY(fy_block_has_objects(elements))) memset(k->buffer.data, 0, bytes);
}

// Fills every field but the dims of a new tensor.
static inline void fy_block_tensor(fy_tensor *t, fy_dtype dtype, int64_t count, fy_buffer *buffer,
                                   void *data, struct fy_device *device) {
  atomic_init(&t->refs, 1);
  t->dtype = dtype;
  t->part = false;
  t->count = count;
  t->data = data;
  t->buffer = buffer;
  t->device = device;
  t->dims = t->inline_dims;
}

// Checks a shape as fy_tensor_new does, and tells what it takes.
FY_MUST_CHECK fy_code fy_tensor_measure(fy_dtype dtype, int32_t rank, const int64_t *dims,
                                        int64_t *count, size_t *bytes, fy_error *err);

#endif
