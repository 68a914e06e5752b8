// SPDX-License-Identifier: Apache-2.0
// tensor.h: the values that flow: a typed, shaped view of a refcounted buffer that knows its device.
//
// fy_buffer owns bytes (host or device memory). fy_tensor is dtype + shape + a buffer (or memory
// borrowed from a program's arena when |buffer| is NULL). A published tensor is immutable; who wants
// to write must own the only reference to tensor and buffer (fy_tensor_is_exclusive).
// Strings are TF_TString (24 bytes), resources and variants are pointers to refcounted fy_object.
// Threads: reference counts are atomic; contents are not guarded.

#ifndef FY_TENSOR_TENSOR_H
#define FY_TENSOR_TENSOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/str.h"
#include "tensor/dtype.h"

#define FY_MAX_RANK    254  // TensorFlow's own limit
#define FY_INLINE_RANK 6    // dims stored in the tensor itself

struct fy_device;

typedef struct fy_buffer fy_buffer;
struct fy_buffer {
  atomic_int refs;
  fy_dtype elements;         // string, resource, variant: elements are destroyed on release
  void *data;                // host address, or the device's address if |device| is set
  size_t bytes;              // size of the memory behind |data|
  struct fy_device *device;  // whose memory it is; NULL = host memory
  // Frees |data| (not the fy_buffer). NULL: data is part of this allocation or static.
  void (*release)(fy_buffer *self);
  void *release_arg;
  // TF_NewTensor's, or a mapped file's (wire/mapping.h): memory that is not ours to write.
  void (*user_dealloc)(void *data, size_t len, void *arg);
};

typedef struct fy_tensor {
  atomic_int refs;
  fy_dtype dtype;  // never a reference type
  int32_t rank;
  bool part;          // of a larger tensor's memory, whose size is not this one's
  int64_t count;      // number of elements
  void *data;         // first element (host or device address); NULL if count == 0 is possible
  fy_buffer *buffer;  // NULL: borrowed
  struct fy_device *device;  // where |data| lives; NULL = host
  int64_t *dims;             // inline_dims, or heap when rank > FY_INLINE_RANK
  int64_t inline_dims[FY_INLINE_RANK];
} fy_tensor;

// A partially known shape: rank -1 = unknown rank, dim -1 = unknown size. Memory is its owner's.
typedef struct fy_pshape {
  int32_t rank;
  const int64_t *dims;
} fy_pshape;

// Resource handles and variants: an object with a vtable.
typedef struct fy_object fy_object;
typedef struct fy_object_type {
  const char *name;  // e.g. "tensorlist"
  void (*destroy)(fy_object *self);
} fy_object_type;
struct fy_object {
  atomic_int refs;
  atomic_bool destroyed;  // by an op; handles may still hold it
  const fy_object_type *type;
};
void fy_object_retain(fy_object *o);   // NULL is fine
void fy_object_release(fy_object *o);  // NULL is fine
static inline bool fy_object_is_exclusive(const fy_object *o) {
  return atomic_load_explicit(&o->refs, memory_order_acquire) == 1;
}

// --- shapes ---
// Product of dims; false on overflow or a negative dim.
bool fy_shape_count(int32_t rank, const int64_t *dims, int64_t *out);
bool fy_shape_equal(int32_t rank_a, const int64_t *a, int32_t rank_b, const int64_t *b);
// "[2,3]" / "[]" / "[?,3]" / "<unknown>" as TensorFlow prints shapes in errors.
void fy_shape_print(fy_str *out, int32_t rank, const int64_t *dims);
const char *fy_shape_text(int32_t rank, const int64_t *dims,
                          char buf[128]);  // cut with "..." if long

// --- buffers ---
// New host buffer, 64-byte aligned, not zeroed unless its elements are objects or strings (those
// start empty). One reference. NULL when memory is short.
fy_buffer *fy_buffer_new(fy_dtype elements, int64_t count);
fy_buffer *fy_buffer_wrap(void *data, size_t bytes, fy_dtype elements);  // release == NULL: borrows
void fy_buffer_retain(fy_buffer *b);
void fy_buffer_release(fy_buffer *b);

// --- tensors ---
// New tensor with fresh host memory. One reference.
FY_MUST_CHECK fy_code fy_tensor_new(fy_dtype dtype, int32_t rank, const int64_t *dims,
                                    fy_tensor **out, fy_error *err);
// The same for constants and variables' first values: in a slab (base/slab.h) if it is worth it.
FY_MUST_CHECK fy_code fy_tensor_new_weights(fy_dtype dtype, int32_t rank, const int64_t *dims,
                                            fy_tensor **out, fy_error *err);
bool fy_tensor_has_pages(const fy_tensor *t);
// Its pages go to a nameless temporary file and come back when they are read (base/slab.h). Nobody
// may write to |t| meanwhile. False if they stay (or |*stop| came true).
bool fy_tensor_to_file(fy_tensor *t, const volatile bool *stop);
// A tensor over |buffer| (retained), |data| inside it.
FY_MUST_CHECK fy_code fy_tensor_over(fy_buffer *buffer, void *data, fy_dtype dtype, int32_t rank,
                                     const int64_t *dims, fy_tensor **out, fy_error *err);
// Same memory, other dtype/shape of the same byte size (the caller checks sizes).
FY_MUST_CHECK fy_code fy_tensor_alias(const fy_tensor *t, fy_dtype dtype, int32_t rank,
                                      const int64_t *dims, fy_tensor **out, fy_error *err);
// The elements from |first| on, as many as |dims| say (the caller checks that they are there).
FY_MUST_CHECK fy_code fy_tensor_part(const fy_tensor *t, int64_t first, int32_t rank,
                                     const int64_t *dims, fy_tensor **out, fy_error *err);
FY_MUST_CHECK fy_code fy_tensor_clone(const fy_tensor *t, fy_tensor **out,
                                      fy_error *err);  // host deep copy
void fy_tensor_retain(fy_tensor *t);
void fy_tensor_release(fy_tensor *t);  // NULL is fine
bool fy_tensor_is_exclusive(const fy_tensor *t);
size_t fy_tensor_bytes(const fy_tensor *t);  // count * storage size

// For tensors embedded in bigger structures: sets dtype and shape in place (refs untouched).
FY_MUST_CHECK fy_code fy_tensor_set_shape(fy_tensor *t, fy_dtype dtype, int32_t rank,
                                          const int64_t *dims, fy_error *err);
void fy_tensor_init(fy_tensor *t);    // zero, refs = 1, rank 0
void fy_tensor_deinit(fy_tensor *t);  // drops buffer and heap dims

// Convenience for constants, tests and kernels.
FY_MUST_CHECK fy_code fy_tensor_from(fy_dtype dtype, int32_t rank, const int64_t *dims,
                                     const void *data, fy_tensor **out, fy_error *err);
FY_MUST_CHECK fy_code fy_tensor_from_strings(int32_t rank, const int64_t *dims,
                                             const fy_view *values, fy_tensor **out, fy_error *err);
fy_view fy_tensor_string(const fy_tensor *t, int64_t i);
// Sets element |i| of a string tensor (copies). False when memory is short.
bool fy_tensor_set_string(fy_tensor *t, int64_t i, const char *p, size_t n);
// The same with memory from fy_malloc, which the tensor takes over, whatever comes of it.
bool fy_tensor_give_string(fy_tensor *t, int64_t i, char *p, size_t n);
// Element |i| of any numeric host tensor as int64/double.
int64_t fy_tensor_int(const fy_tensor *t, int64_t i);
double fy_tensor_double(const fy_tensor *t, int64_t i);
// Copies |count| elements, element-wise where they are objects or strings (retains, deep-copies).
FY_MUST_CHECK fy_code fy_elements_copy(fy_dtype dtype, void *dst, const void *src, int64_t count,
                                       fy_error *err);
bool fy_tensor_equal(const fy_tensor *a, const fy_tensor *b);  // host, bit for bit
// "[[1 2][3 4]]"-like summary of up to |limit| elements.
void fy_tensor_print(fy_str *out, const fy_tensor *t, int64_t limit);

#endif
