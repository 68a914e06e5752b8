// SPDX-License-Identifier: Apache-2.0
// tensor_memory.c: tensors in any device's memory, and the one function that moves them.

#include "base/alloc.h"
#include "base/large.h"
#include "memory/shard.h"
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

static void give_block(fy_block *k);
static const fy_block_source small_blocks = {give_block, uncount_buffer};

// Where none of that size is kept. What stays as it is when a block is given back and taken again is set here.
static fy_block *new_block(fy_mempool *pool, size_t bytes, bool paid, bool *refused) {
  *refused = !paid && !fy_mempool_count(pool, counted_bytes(bytes));
  if (*refused) return NULL;
  fy_block *k = fy_malloc(fy_block_bytes(bytes));
  if (!k) {
    fy_mempool_uncount(pool, counted_bytes(bytes));
    return NULL;
  }
  fy_block_init(k, FY_INVALID, bytes, 2, false);
  k->source = &small_blocks;
  k->buffer.release_arg = pool;
  return k;
}

// A malloc'ed block with room for |bytes|, counted, which may be one that was given back a moment ago
// (quick.c). NULL: no memory or, with |*refused|, the limit.
static inline fy_block *take_block(fy_mempool *pool, unsigned *shard, size_t bytes, bool *refused) {
  fy_shard *s = fy_shard_enter_at(pool, shard);
  if (FY_UNLIKELY(!s)) return new_block(pool, bytes, false, refused);
  const bool paid = fy_count_paid(pool, s, counted_bytes(bytes));
  fy_block *k = FY_LIKELY(paid) ? fy_quick_block(s, fy_block_bytes(bytes)) : NULL;
  fy_shard_leave(s);
  return FY_LIKELY(k != NULL) ? k : new_block(pool, bytes, paid, refused);
}

static void give_block(fy_block *k) {
  fy_mempool *pool = k->buffer.release_arg;
  const size_t bytes = k->buffer.bytes;
  fy_shard *s = fy_shard_enter_at(pool, &k->shard);
  if (FY_UNLIKELY(!s)) {
    fy_free(k);
    fy_mempool_uncount(pool, counted_bytes(bytes));
    return;
  }
  fy_count_given(pool, s, counted_bytes(bytes));
  void *gone = fy_quick_keep_block(s, k, fy_block_bytes(bytes));
  fy_shard_leave(s);
  if (FY_UNLIKELY(gone != NULL)) fy_free(gone);
}

// Of a size that is_small(). NULL: no memory, or |*refused|.
static inline fy_tensor *small_tensor(fy_mempool *pool, const fy_known_shape *shape,
                                      unsigned *shard, bool *refused) {
  fy_block *k = take_block(pool, shard, shape->bytes, refused);
  if (FY_UNLIKELY(!k)) return NULL;
  fy_tensor *t = &k->tensor;
  fy_block_tensor(t, shape->dtype, shape->count, &k->buffer, k->buffer.data, NULL);
  t->rank = shape->rank;
  for (int32_t i = 0; i < shape->rank; i++) t->inline_dims[i] = shape->dims[i];
  atomic_init(&k->parts, 2);
  k->shard = *shard;
  atomic_init(&k->buffer.refs, 1);
  k->buffer.elements = shape->dtype;
  k->quick = !fy_block_has_objects(shape->dtype);
  if (FY_UNLIKELY(!k->quick)) memset(t->data, 0, shape->bytes);  // empty strings, no objects
  return t;
}

static inline bool is_small(size_t bytes, int32_t rank) {
  return bytes < FY_LARGE_BYTES && rank <= FY_INLINE_RANK;
}

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
  fy_known_shape shape = {.dtype = dtype, .rank = rank, .dims = dims};
  *out = NULL;
  FY_TRY(fy_tensor_measure(dtype, rank, dims, &shape.count, &shape.bytes, err));
  if (FY_LIKELY(is_small(shape.bytes, rank))) {
    bool refused;
    *out = small_tensor(d->memory, &shape, fy_shard_own(), &refused);
    if (FY_LIKELY(*out != NULL)) return FY_OK;
    return refused ? fail_limit(d, dtype, rank, dims, err) : fail_shape(d, dtype, rank, dims, err);
  }
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

fy_code fy_memory_tensor_known(fy_device *d, const fy_known_shape *shape, unsigned *shard,
                               const char *owner, fy_tensor **out, fy_error *err) {
  bool refused;
  if (FY_LIKELY(d->is_host && d->memory && is_small(shape->bytes, shape->rank))) {
    *out = small_tensor(d->memory, shape, shard, &refused);
    if (FY_LIKELY(*out != NULL)) return FY_OK;
  }
  // also for the words
  return fy_memory_tensor(d, shape->dtype, shape->rank, shape->dims, owner, out, err);
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
