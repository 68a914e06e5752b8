// SPDX-License-Identifier: Apache-2.0
// tensor_memory.c: tensors in any device's memory, and the one function that moves them.

#include "base/alloc.h"
#include "base/large.h"
#include "memory/pool.h"
#include "tensor/block.h"

#define ALIGNMENT 64

static fy_code fail_shape(fy_device *d, fy_dtype dtype, int32_t rank, const int64_t *dims,
                          fy_error *err) {
  char shape[128];
  return fy_fail(err, FY_RESOURCE_EXHAUSTED,
                 "OOM when allocating tensor with shape%s and type %s on %s by allocator %s",
                 fy_shape_text(rank, dims, shape), fy_dtype_name(dtype), d->name,
                 fy_mempool_name(d->memory));
}

// --- host ---

// What a host buffer counts for: never 0, so that every buffer holds its pool.
static size_t counted_bytes(size_t bytes) {
  return bytes + ALIGNMENT;
}

size_t fy_memory_tensor_taken(const fy_device *d, size_t bytes) {
  return d->is_host ? counted_bytes(bytes) : fy_mempool_taken(d->memory, bytes);
}

static void uncount_buffer(fy_buffer *b) {
  fy_mempool_uncount(b->release_arg, counted_bytes(b->bytes));
}

static void *take_block(void *pool, size_t total, size_t bytes, bool *refused) {
  return fy_mempool_take_block(pool, total, counted_bytes(bytes), refused);
}

static void give_block(void *pool, void *block, size_t total, size_t bytes) {
  fy_mempool_give_block(pool, block, total, counted_bytes(bytes));
}

static void uncount(void *pool, size_t bytes) {
  fy_mempool_uncount(pool, counted_bytes(bytes));
}

static const fy_block_source small_blocks = {take_block, give_block, uncount};

static fy_code fail_limit(fy_device *d, fy_dtype dtype, int32_t rank, const int64_t *dims,
                          fy_error *err) {
  fy_mempool_stats s;
  fy_mempool_stats_get(d->memory, &s);
  char used[32], limit[32];
  fy_human_bytes((double)s.bytes_in_use, used);
  fy_human_bytes((double)s.limit_bytes, limit);
  fail_shape(d, dtype, rank, dims, err);
  fy_error_append(err, ": %s of the device's limit of %s are in use", used, limit);
  return FY_RESOURCE_EXHAUSTED;
}

static fy_code host_tensor(fy_device *d, fy_dtype dtype, int32_t rank, const int64_t *dims,
                           fy_tensor **out, fy_error *err) {
  bool refused;
  const fy_code code =
      fy_tensor_new_from(&small_blocks, d->memory, dtype, rank, dims, out, &refused, err);
  if (FY_LIKELY(*out != NULL)) return FY_OK;
  if (refused) return fail_limit(d, dtype, rank, dims, err);
  if (code) return code;
  FY_TRY(fy_tensor_new(dtype, rank, dims, out, err));
  fy_buffer *b = (*out)->buffer;
  bool counted = fy_mempool_count(d->memory, counted_bytes(b->bytes));
  while (FY_UNLIKELY(!counted) && fy_memory_make_room(d))
    counted = fy_mempool_count(d->memory, counted_bytes(b->bytes));
  if (FY_UNLIKELY(!counted)) {
    fy_tensor_release(*out);
    *out = NULL;
    return fail_limit(d, dtype, rank, dims, err);
  }
  b->release_arg = d->memory;  // the bytes are the block's own: only the count is ours to undo
  b->release = uncount_buffer;
  return FY_OK;
}

// --- devices ---

static void release_buffer(fy_buffer *b) {
  fy_mempool_release(b->release_arg, b->data);
}

static fy_code fail_kind(const fy_device *d, fy_dtype dtype, fy_error *err) {
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "A tensor of type %s lives in host memory: its elements are host objects and "
                 "cannot be in the memory of %s",
                 fy_dtype_name(dtype), d->name);
}

static fy_code device_tensor(fy_device *d, fy_dtype dtype, int32_t rank, const int64_t *dims,
                             const char *owner, fy_tensor **out, fy_error *err) {
  int64_t count;
  size_t bytes;
  void *p;
  *out = NULL;
  if (!fy_dtype_is_plain(dtype)) return fail_kind(d, dtype, err);
  if (!fy_shape_count(rank, dims, &count) ||
      !fy_mul_size((size_t)count, fy_dtype_storage(dtype), &bytes)) {
    return fail_shape(d, dtype, rank, dims, err);
  }
  fy_code code = fy_memory_alloc(d, bytes, owner, &p, err);
  if (code) {
    if (code == FY_RESOURCE_EXHAUSTED) {
      char shape[128];
      fy_error_prepend(err,
                       "OOM when allocating tensor with shape%s and type %s on %s by allocator "
                       "%s\n",
                       fy_shape_text(rank, dims, shape), fy_dtype_name(dtype), d->name,
                       fy_mempool_name(d->memory));
    }
    return code;
  }
  fy_buffer *b = fy_buffer_wrap(p, bytes, dtype);
  if (!b) {
    fy_mempool_release(d->memory, p);
    return fy_fail_oom(err, sizeof *b);
  }
  b->device = d;
  b->release = release_buffer;
  b->release_arg = d->memory;
  code = fy_tensor_over(b, p, dtype, rank, dims, out, err);
  fy_buffer_release(b);
  return code;
}

fy_code fy_memory_tensor(fy_device *d, fy_dtype dtype, int32_t rank, const int64_t *dims,
                         const char *owner, fy_tensor **out, fy_error *err) {
  // A handle only refers to memory; 8 bytes for each that lives would blur what is planned.
  if (!d || (d->is_host && (!d->memory || dtype == FY_RESOURCE)))
    return fy_tensor_new(dtype, rank, dims, out, err);
  if (d->is_host) return host_tensor(d, dtype, rank, dims, out, err);
  return device_tensor(d, dtype, rank, dims, owner, out, err);
}

fy_code fy_memory_tensor_known(fy_device *d, fy_dtype dtype, int32_t rank, const int64_t *dims,
                               int64_t count, size_t bytes, const char *owner, fy_tensor **out,
                               fy_error *err) {
  bool refused;
  if (FY_LIKELY(d->is_host && d->memory && bytes < FY_LARGE_BYTES && rank <= FY_INLINE_RANK)) {
    *out = fy_tensor_new_small(&small_blocks, d->memory, dtype, rank, dims, count, bytes, &refused);
    if (FY_LIKELY(*out != NULL)) return FY_OK;
  }
  return fy_memory_tensor(d, dtype, rank, dims, owner, out, err);  // also for the words
}

// --- moving ---

// Copies into |dst| and waits. |d| does the work.
static fy_code move(fy_device *d, fy_copy_kind kind, fy_tensor *dst, const fy_tensor *src,
                    fy_error *err) {
  size_t bytes = fy_tensor_bytes(src);
  fy_event done = {0};
  if (bytes == 0) return FY_OK;
  fy_device *peer = kind == FY_COPY_DEVICE_TO_DEVICE ? src->device : NULL;
  FY_TRY((fy_code)d->ops->copy(d, kind, dst->data, src->data, bytes, peer, NULL, &done, err));
  return done.device ? (fy_code)done.device->ops->wait(done.device, &done, err) : FY_OK;
}

// Between backends that cannot address each other: through the host.
static fy_code move_staged(fy_tensor *dst, fy_tensor *src, fy_error *err) {
  fy_tensor *stage;
  FY_TRY(fy_tensor_new(src->dtype, src->rank, src->dims, &stage, err));
  fy_code code = move(src->device, FY_COPY_DEVICE_TO_HOST, stage, src, err);
  if (!code) code = move(dst->device, FY_COPY_HOST_TO_DEVICE, dst, stage, err);
  fy_tensor_release(stage);
  return code;
}

fy_code fy_memory_copy_tensor_for(fy_tensor *t, fy_device *to, const char *owner, fy_tensor **out,
                                  fy_error *err) {
  fy_device *from = t->device;
  if (from && from->is_host) from = NULL;
  *out = NULL;
  if (!from && (!to || to->is_host)) {
    if (!t->buffer) return fy_tensor_clone(t, out, err);  // borrowed: may be overwritten later
    fy_tensor_retain(t);  // tensors are immutable: sharing is copying
    *out = t;
    return FY_OK;
  }
  if (from == to && t->buffer) {
    fy_tensor_retain(t);
    *out = t;
    return FY_OK;
  }
  if (!fy_dtype_is_plain(t->dtype)) return fail_kind(from ? from : to, t->dtype, err);
  FY_TRY(fy_memory_tensor(to, t->dtype, t->rank, t->dims, owner, out, err));
  fy_code code;
  if (!from)
    code = move(to, FY_COPY_HOST_TO_DEVICE, *out, t, err);
  else if (!to || to->is_host)
    code = move(from, FY_COPY_DEVICE_TO_HOST, *out, t, err);
  else if (from->ops == to->ops)
    code = move(to, FY_COPY_DEVICE_TO_DEVICE, *out, t, err);
  else
    code = move_staged(*out, t, err);
  if (code) {
    fy_tensor_release(*out);
    *out = NULL;
  }
  return code;
}

fy_code fy_memory_copy_tensor(fy_tensor *t, fy_device *to, fy_tensor **out, fy_error *err) {
  return fy_memory_copy_tensor_for(t, to, "copy", out, err);
}
