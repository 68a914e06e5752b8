// SPDX-License-Identifier: Apache-2.0
// tensor.c: the life of buffers and tensors.
//
// Every tensor and buffer is half of a block. A fresh tensor is one malloc: tensor, buffer and data
// together. The halves die independently (an alias keeps the buffer, a caller swaps the buffer of a
// tensor), and the last one out frees the block: |parts| counts the living.
// Invariant: who reads a count of 1 and owns that reference is alone, so it may skip the atomic
// decrement. That makes the common life (new, use, release) free of locked instructions.
// A small block may come from a source that counts it (memory/): when both halves die at once it goes
// back there; a buffer that dies first is uncounted, and the rest of its block is plain memory.

#include "tensor/tensor.h"

#include <string.h>

#include "base/alloc.h"
#include "base/large.h"
#include "base/slab.h"
#include "tensor/block.h"
#include "tensor/elements.h"

typedef fy_block block;

static block *block_of(fy_buffer *b) {
  return (block *)((char *)b - offsetof(block, buffer));
}

static void free_block(block *k) {
  if (k->large)
    fy_aligned_free(k);
  else
    fy_free(k);
}

static void drop_part(block *k) {
  if (atomic_load_explicit(&k->parts, memory_order_acquire) == 1 ||
      atomic_fetch_sub_explicit(&k->parts, 1, memory_order_acq_rel) == 1) {
    free_block(k);
  }
}

// True when the last reference is gone.
static bool drop_ref(atomic_int *refs) {
  return atomic_load_explicit(refs, memory_order_acquire) == 1 ||
         atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
}

static void add_ref(atomic_int *refs) {
  atomic_fetch_add_explicit(refs, 1, memory_order_relaxed);
}

// --- objects ---

void fy_object_retain(fy_object *o) {
  if (o) add_ref(&o->refs);
}

void fy_object_release(fy_object *o) {
  if (o && drop_ref(&o->refs)) o->type->destroy(o);
}

// --- buffers ---

// Bytes for |count| elements; false if they cannot be addressed.
static bool data_bytes(fy_dtype dtype, int64_t count, size_t *out) {
  if (count < 0 || !fy_mul_size((size_t)count, fy_dtype_storage(dtype), out)) return false;
  return *out <= PTRDIFF_MAX - sizeof(block) - FY_BLOCK_ALIGNMENT;
}

static block *new_block(fy_dtype elements, size_t bytes, int parts) {
  const bool large = bytes >= FY_LARGE_BYTES;
  block *k = large ? fy_aligned_alloc(fy_block_bytes(bytes)) : fy_malloc(fy_block_bytes(bytes));
  if (k) fy_block_init(k, elements, bytes, parts, large);
  return k;
}

fy_buffer *fy_buffer_new(fy_dtype elements, int64_t count) {
  size_t bytes;
  block *k = data_bytes(elements, count, &bytes) ? new_block(elements, bytes, 1) : NULL;
  return k ? &k->buffer : NULL;
}

fy_buffer *fy_buffer_wrap(void *data, size_t bytes, fy_dtype elements) {
  block *k = fy_malloc(sizeof *k);
  if (!k) return NULL;
  atomic_init(&k->parts, 1);
  k->own_data = k->large = k->quick = false;
  k->source = NULL;
  k->buffer = (fy_buffer){.elements = elements, .data = data, .bytes = bytes};
  atomic_init(&k->buffer.refs, 1);
  return &k->buffer;
}

void fy_buffer_retain(fy_buffer *b) {
  if (b) add_ref(&b->refs);
}

// Whether the bytes are ours to write and their elements ours to destroy: not borrowed memory, and
// not a client's (TF_NewTensor), whose deallocator looks after its own strings, nor a mapped file's
// (wire/mapping.c, which is such a client).
static bool owns_data(fy_buffer *b) {
  return block_of(b)->own_data || (b->release && !b->user_dealloc);
}

// The buffer's half of |k| dies; |whole|: the tensor's is dead already.
static void end_buffer(block *k, bool whole) {
  fy_buffer *b = &k->buffer;
  const fy_block_source *source = k->source;
  if (FY_UNLIKELY(fy_block_has_objects(b->elements)) && !b->device && owns_data(b))
    fy_elements_destroy(b->elements, b->data, b->bytes);
  if (b->release) {
    b->release(b);
  } else if (b->user_dealloc) {
    b->user_dealloc(b->data, b->bytes, b->release_arg);
  } else if (source && whole) {
    source->give(k);
    return;
  } else if (source) {
    source->uncount(b);
  }
  if (whole)
    free_block(k);
  else
    drop_part(k);
}

void fy_buffer_release(fy_buffer *b) {
  if (!b || !drop_ref(&b->refs)) return;
  block *k = block_of(b);
  end_buffer(k, atomic_load_explicit(&k->parts, memory_order_acquire) == 1);
}

// --- tensors ---

void fy_tensor_init(fy_tensor *t) {
  memset(t, 0, sizeof *t);
  atomic_init(&t->refs, 1);
  t->dims = t->inline_dims;
}

static void drop_dims(fy_tensor *t) {
  if (t->dims != t->inline_dims) fy_free(t->dims);
  t->dims = t->inline_dims;
}

void fy_tensor_deinit(fy_tensor *t) {
  drop_dims(t);
  fy_buffer_release(t->buffer);
  t->buffer = NULL;
  t->data = NULL;
  t->count = 0;
  t->rank = 0;
}

static fy_code fail_size(fy_dtype dtype, int32_t rank, const int64_t *dims, fy_error *err) {
  char shape[128];
  return fy_fail(err, FY_RESOURCE_EXHAUSTED,
                 "OOM when allocating tensor with shape%s and type %s on "
                 "/job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu",
                 fy_shape_text(rank, dims, shape), fy_dtype_name(dtype));
}

static fy_code check_shape(fy_dtype dtype, int32_t rank, const int64_t *dims, int64_t *count,
                           fy_error *err) {
  *count = 0;
  if (FY_UNLIKELY((unsigned)dtype >= FY_DTYPE_COUNT || dtype == FY_INVALID)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "A tensor cannot have type %s (%d)",
                   fy_dtype_name(dtype), (int)dtype);
  }
  if (FY_UNLIKELY(rank < 0)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "A tensor cannot have unknown rank");
  }
  if (FY_UNLIKELY(rank > FY_MAX_RANK)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Too many dimensions in tensor: %d", (int)rank);
  }
  if (FY_LIKELY(fy_shape_count(rank, dims, count))) return FY_OK;
  for (int32_t i = 0; i < rank; i++) {
    if (dims[i] >= 0) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected shape dimensions to be non-negative, got %lld", (long long)dims[i]);
  }
  return fail_size(dtype, rank, dims, err);
}

// |t->dims| is inline or heap and |dims| may be the same array.
static fy_code set_dims(fy_tensor *t, int32_t rank, const int64_t *dims, fy_error *err) {
  int64_t *to = t->inline_dims;
  if (FY_UNLIKELY(rank > FY_INLINE_RANK)) {
    const size_t bytes = (size_t)rank * sizeof *dims;
    to = fy_malloc(bytes);
    if (!to) return fy_fail_oom(err, bytes);
  }
  for (int32_t i = 0; i < rank; i++) to[i] = dims[i];
  if (t->dims != to) drop_dims(t);
  t->dims = to;
  t->rank = rank;
  return FY_OK;
}

fy_code fy_tensor_set_shape(fy_tensor *t, fy_dtype dtype, int32_t rank, const int64_t *dims,
                            fy_error *err) {
  int64_t count;
  FY_TRY(check_shape(dtype, rank, dims, &count, err));
  FY_TRY(set_dims(t, rank, dims, err));
  t->dtype = dtype;
  t->count = count;
  return FY_OK;
}

fy_code fy_tensor_new(fy_dtype dtype, int32_t rank, const int64_t *dims, fy_tensor **out,
                      fy_error *err) {
  int64_t count;
  size_t bytes;
  *out = NULL;
  FY_TRY(check_shape(dtype, rank, dims, &count, err));
  block *k = data_bytes(dtype, count, &bytes) ? new_block(dtype, bytes, 2) : NULL;
  if (!k) return fail_size(dtype, rank, dims, err);
  fy_block_tensor(&k->tensor, dtype, count, &k->buffer, k->buffer.data, NULL);
  fy_code code = set_dims(&k->tensor, rank, dims, err);
  if (code != FY_OK) {
    free_block(k);
    return code;
  }
  *out = &k->tensor;
  return FY_OK;
}

fy_code fy_tensor_measure(fy_dtype dtype, int32_t rank, const int64_t *dims, int64_t *count,
                          size_t *bytes, fy_error *err) {
  FY_TRY(check_shape(dtype, rank, dims, count, err));
  return data_bytes(dtype, *count, bytes) ? FY_OK : fail_size(dtype, rank, dims, err);
}

// A tensor struct over memory that exists.
static fy_code new_view(fy_buffer *buffer, void *data, struct fy_device *device, fy_dtype dtype,
                        int32_t rank, const int64_t *dims, fy_tensor **out, fy_error *err) {
  int64_t count;
  *out = NULL;
  FY_TRY(check_shape(dtype, rank, dims, &count, err));
  block *k = fy_malloc(offsetof(block, buffer));
  if (!k) return fy_fail_oom(err, offsetof(block, buffer));
  k->large = false;
  atomic_init(&k->parts, 1);
  fy_block_tensor(&k->tensor, dtype, count, buffer, data, device);
  fy_code code = set_dims(&k->tensor, rank, dims, err);
  if (code != FY_OK) {
    fy_free(k);
    return code;
  }
  fy_buffer_retain(buffer);
  *out = &k->tensor;
  return FY_OK;
}

fy_code fy_tensor_over(fy_buffer *buffer, void *data, fy_dtype dtype, int32_t rank,
                       const int64_t *dims, fy_tensor **out, fy_error *err) {
  return new_view(buffer, data, buffer ? buffer->device : NULL, dtype, rank, dims, out, err);
}

fy_code fy_tensor_alias(const fy_tensor *t, fy_dtype dtype, int32_t rank, const int64_t *dims,
                        fy_tensor **out, fy_error *err) {
  FY_TRY(new_view(t->buffer, t->data, t->device, dtype, rank, dims, out, err));
  (*out)->part = t->part;
  return FY_OK;
}

fy_code fy_tensor_part(const fy_tensor *t, int64_t first, int32_t rank, const int64_t *dims,
                       fy_tensor **out, fy_error *err) {
  char *data = (char *)t->data + (size_t)first * fy_dtype_storage(t->dtype);
  FY_TRY(new_view(t->buffer, data, t->device, t->dtype, rank, dims, out, err));
  (*out)->part = true;
  return FY_OK;
}

// --- weights ---

static void release_piece(fy_buffer *b) {
  fy_slab_free(b->release_arg);
}

fy_code fy_tensor_new_weights(fy_dtype dtype, int32_t rank, const int64_t *dims, fy_tensor **out,
                              fy_error *err) {
  int64_t count;
  size_t bytes;
  *out = NULL;
  FY_TRY(check_shape(dtype, rank, dims, &count, err));
  fy_slab_piece *piece =
      fy_dtype_is_plain(dtype) && data_bytes(dtype, count, &bytes) && bytes >= FY_SLAB_BYTES
          ? fy_slab_alloc(bytes)
          : NULL;
  if (!piece) return fy_tensor_new(dtype, rank, dims, out, err);
  fy_buffer *b = fy_buffer_wrap(piece->data, bytes, dtype);
  if (!b) {
    fy_slab_free(piece);
    return fy_fail_oom(err, sizeof(block));
  }
  b->release = release_piece;
  b->release_arg = piece;
  fy_code code = fy_tensor_over(b, b->data, dtype, rank, dims, out, err);
  fy_buffer_release(b);
  return code;
}

bool fy_tensor_has_pages(const fy_tensor *t) {
  const fy_buffer *b = t->buffer;
  return b && !b->device && fy_dtype_is_plain(b->elements) &&
         (b->release == release_piece ||
          (block_of(t->buffer)->own_data && block_of(t->buffer)->large));
}

bool fy_tensor_to_file(fy_tensor *t, const volatile bool *stop) {
  fy_buffer *b = t->buffer;
  if (!fy_tensor_has_pages(t)) return false;
  if (b->release == release_piece) return fy_slab_to_file(b->release_arg, stop);
  return fy_aligned_to_file(block_of(b), b->data, b->bytes, stop);
}

void fy_tensor_retain(fy_tensor *t) {
  if (t) add_ref(&t->refs);
}

void fy_tensor_release(fy_tensor *t) {
  if (!t || !drop_ref(&t->refs)) return;
  block *k = (block *)t;
  // Its own buffer, which nobody else has: both halves at once.
  if (FY_LIKELY(t->buffer == &k->buffer) &&
      atomic_load_explicit(&k->buffer.refs, memory_order_acquire) == 1 &&
      atomic_load_explicit(&k->parts, memory_order_acquire) == 2) {
    if (FY_LIKELY(k->quick && t->dims == t->inline_dims)) {
      k->source->give(k);
      return;
    }
    drop_dims(t);
    end_buffer(k, true);
    return;
  }
  drop_dims(t);
  fy_buffer_release(t->buffer);
  drop_part(k);
}

bool fy_tensor_is_exclusive(const fy_tensor *t) {
  return t->buffer && atomic_load_explicit(&t->refs, memory_order_acquire) == 1 &&
         atomic_load_explicit(&t->buffer->refs, memory_order_acquire) == 1 && owns_data(t->buffer);
}

size_t fy_tensor_bytes(const fy_tensor *t) {
  return (size_t)t->count * fy_dtype_storage(t->dtype);
}

// --- tensors with contents ---

fy_code fy_tensor_from(fy_dtype dtype, int32_t rank, const int64_t *dims, const void *data,
                       fy_tensor **out, fy_error *err) {
  FY_TRY(fy_tensor_new(dtype, rank, dims, out, err));
  fy_code code = fy_elements_copy(dtype, (*out)->data, data, (*out)->count, err);
  if (code != FY_OK) {
    fy_tensor_release(*out);
    *out = NULL;
  }
  return code;
}

fy_code fy_tensor_clone(const fy_tensor *t, fy_tensor **out, fy_error *err) {
  *out = NULL;
  if (t->device) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Cannot clone a tensor that lives on a device");
  }
  return fy_tensor_from(t->dtype, t->rank, t->dims, t->data, out, err);
}

fy_code fy_tensor_from_strings(int32_t rank, const int64_t *dims, const fy_view *values,
                               fy_tensor **out, fy_error *err) {
  FY_TRY(fy_tensor_new(FY_STRING, rank, dims, out, err));
  for (int64_t i = 0; i < (*out)->count; i++) {
    if (fy_tensor_set_string(*out, i, values[i].p, values[i].n)) continue;
    fy_tensor_release(*out);
    *out = NULL;
    return fy_fail_oom(err, values[i].n);
  }
  return FY_OK;
}
