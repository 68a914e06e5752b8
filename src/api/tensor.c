// SPDX-License-Identifier: Apache-2.0
// tensor.c: TF_Tensor, which is an fy_tensor, and element types.
// TF_TensorByteSize tells the size of the memory that the client gave or asked for, not of the
// elements; |client_memory| marks such buffers.

#include <string.h>

#include "api/api.h"
#include "base/alloc.h"
#include "tensor.pb-c.h"
#include "wire/mapping.h"
#include "wire/proto_util.h"
#include "wire/tensor_proto.h"

#define ALIGNMENT 64

static char client_memory;

size_t TF_DataTypeSize(TF_DataType dt) {
  if (dt == TF_FLOAT4_E2M1FN) return 1;  // a size and a name are all that TensorFlow gives it
  return fy_dtype_is_ref((fy_dtype)dt) ? 0 : fy_dtype_size((fy_dtype)dt);
}

size_t TF_TensorDefaultAlignment(void) {
  return ALIGNMENT;
}

// Bytes that |num_dims| dims need; false if the shape is not sound.
static bool bytes_needed(TF_DataType dtype, const int64_t *dims, int num_dims, size_t *out) {
  int64_t count;
  return (unsigned)dtype < FY_DTYPE_COUNT && dtype > 0 && num_dims >= 0 &&
         fy_shape_count(num_dims, dims, &count) &&
         fy_mul_size((size_t)count, fy_dtype_storage((fy_dtype)dtype), out);
}

static TF_Tensor *copy_in(TF_DataType dtype, const int64_t *dims, int num_dims, const void *data,
                          size_t len) {
  TF_Tensor *t = TF_AllocateTensor(dtype, dims, num_dims, len);
  if (t && len) memcpy(fy_api_tensor(t)->data, data, len);
  return t;
}

TF_Tensor *TF_NewTensor(TF_DataType dtype, const int64_t *dims, int num_dims, void *data,
                        size_t len, void (*deallocator)(void *data, size_t len, void *arg),
                        void *deallocator_arg) {
  fy_tensor *t = NULL;
  if ((uintptr_t)data % ALIGNMENT && fy_dtype_is_plain((fy_dtype)dtype)) {
    TF_Tensor *copy = copy_in(dtype, dims, num_dims, data, len);
    if (deallocator) deallocator(data, len, deallocator_arg);
    return copy;
  }
  fy_buffer *b = fy_buffer_wrap(data, len, (fy_dtype)dtype);
  if (!b) {
    if (deallocator) deallocator(data, len, deallocator_arg);
    return NULL;
  }
  b->user_dealloc = deallocator;
  b->release_arg = deallocator ? deallocator_arg : &client_memory;
  if (fy_tensor_over(b, data, (fy_dtype)dtype, num_dims, dims, &t, NULL)) t = NULL;
  fy_buffer_release(b);  // the last reference, which calls the deallocator, if |t| was not made
  size_t need;
  if (t && (!fy_mul_size((size_t)t->count, fy_dtype_storage(t->dtype), &need) || need > len)) {
    fy_tensor_release(t);
    t = NULL;
  }
  return fy_api_tf_tensor(t);
}

// More memory than the elements need, because the client says so.
static fy_tensor *allocate_larger(TF_DataType dtype, const int64_t *dims, int num_dims,
                                  size_t len) {
  fy_tensor *t = NULL;
  bool plain = fy_dtype_is_plain((fy_dtype)dtype);
  size_t unit = plain ? 1 : fy_dtype_storage((fy_dtype)dtype);
  if (len > PTRDIFF_MAX) return NULL;
  fy_buffer *b = fy_buffer_new(plain ? FY_UINT8 : (fy_dtype)dtype, (int64_t)(len / unit));
  if (!b) return NULL;
  if (fy_tensor_over(b, b->data, (fy_dtype)dtype, num_dims, dims, &t, NULL)) t = NULL;
  fy_buffer_release(b);
  return t;
}

TF_Tensor *TF_AllocateTensor(TF_DataType dtype, const int64_t *dims, int num_dims, size_t len) {
  fy_tensor *t = NULL;
  if (fy_tensor_new((fy_dtype)dtype, num_dims, dims, &t, NULL)) return NULL;
  if (FY_UNLIKELY(t->buffer->bytes != len)) {
    bool larger = t->buffer->bytes < len;
    fy_tensor_release(t);
    t = larger ? allocate_larger(dtype, dims, num_dims, len) : NULL;
    if (!t) return NULL;
  }
  t->buffer->release_arg = &client_memory;
  return fy_api_tf_tensor(t);
}

TF_Tensor *TF_TensorMaybeMove(TF_Tensor *tensor) {
  return fy_tensor_is_exclusive(fy_api_tensor(tensor)) ? tensor : NULL;
}

void TF_DeleteTensor(TF_Tensor *tensor) {
  fy_tensor_release(fy_api_tensor(tensor));
}

TF_DataType TF_TensorType(const TF_Tensor *tensor) {
  return (TF_DataType)fy_api_tensor(tensor)->dtype;
}

void TF_SetShape(TF_Tensor *tensor, const int64_t *dims, int num_dims) {
  fy_tensor *t = fy_api_tensor(tensor);
  size_t need, have = TF_TensorByteSize(tensor);
  // A shape that the memory cannot hold is ignored: there is no status to tell by.
  if (!bytes_needed((TF_DataType)t->dtype, dims, num_dims, &need) || need > have) return;
  if (fy_tensor_set_shape(t, t->dtype, num_dims, dims, NULL)) return;
}

int TF_NumDims(const TF_Tensor *tensor) {
  return fy_api_tensor(tensor)->rank;
}

int64_t TF_Dim(const TF_Tensor *tensor, int dim_index) {
  const fy_tensor *t = fy_api_tensor(tensor);
  return dim_index >= 0 && dim_index < t->rank ? t->dims[dim_index] : -1;
}

size_t TF_TensorByteSize(const TF_Tensor *tensor) {
  const fy_tensor *t = fy_api_tensor(tensor);
  const fy_buffer *b = t->buffer;
  if (b && b->data == t->data && !t->part && (b->user_dealloc || b->release_arg == &client_memory))
    return b->bytes;
  return fy_tensor_bytes(t);
}

void *TF_TensorData(const TF_Tensor *tensor) {
  return fy_api_tensor(tensor)->data;
}

int64_t TF_TensorElementCount(const TF_Tensor *tensor) {
  return fy_api_tensor(tensor)->count;
}

bool TF_TensorIsAligned(const TF_Tensor *tensor) {
  return (uintptr_t)fy_api_tensor(tensor)->data % ALIGNMENT == 0;
}

fy_code fy_api_own(fy_tensor **t, fy_error *err) {
  fy_tensor *given = *t;
  if (!fy_wire_mapping_has(given)) return FY_OK;
  fy_code code = fy_tensor_clone(given, t, err);
  fy_tensor_release(given);
  return code;
}

fy_code fy_api_view(const fy_tensor *t, fy_tensor **out, fy_error *err) {
  if ((uintptr_t)t->data % ALIGNMENT && fy_wire_mapping_has(t)) return fy_tensor_clone(t, out, err);
  return fy_tensor_alias(t, t->dtype, t->rank, t->dims, out, err);
}

// |to| becomes a view of |from|'s memory.
static fy_code take_memory(fy_tensor *to, const fy_tensor *from, fy_dtype dtype, int32_t rank,
                           const int64_t *dims, fy_error *err) {
  fy_buffer *old = to->buffer;
  FY_TRY(fy_tensor_set_shape(to, dtype, rank, dims, err));
  fy_buffer_retain(from->buffer);
  to->buffer = from->buffer;
  to->data = from->data;
  to->device = from->device;
  fy_buffer_release(old);
  return FY_OK;
}

void TF_TensorBitcastFrom(const TF_Tensor *from, TF_DataType type, TF_Tensor *to,
                          const int64_t *new_dims, int num_new_dims, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  const fy_tensor *f = fy_api_tensor(from);
  size_t need;
  fy_code code;
  if (!TF_DataTypeSize((TF_DataType)f->dtype))
    code = fy_fail(err, FY_INVALID_ARGUMENT, "other tensor has zero-sized data type");
  else if (!TF_DataTypeSize(type))
    code = fy_fail(err, FY_INVALID_ARGUMENT, "specified output type is zero-sized");
  else if (!bytes_needed(type, new_dims, num_new_dims, &need) || need != fy_tensor_bytes(f))
    code = fy_fail(err, FY_INVALID_ARGUMENT,
                   "input and output shapes/data type sizes are not compatible");
  else
    code = take_memory(fy_api_tensor(to), f, (fy_dtype)type, num_new_dims, new_dims, err);
  fy_api_end(status, code);
}

static void at_most(size_t *n, int64_t count, int64_t each) {
  if (count <= INT64_MAX / each && *n > (size_t)(count * each)) *n = (size_t)(count * each);
}

// As TensorFlow does here: an unknown rank counts as a scalar, and values too many are ignored.
static void forgive(Tensorflow__TensorProto *p) {
  int64_t count = 1;
  if (p->tensor_shape && p->tensor_shape->unknown_rank) p->tensor_shape = NULL;
  for (size_t i = 0; p->tensor_shape && i < p->tensor_shape->n_dim; i++)
    if (p->tensor_shape->dim[i]->size < 0 ||
        __builtin_mul_overflow(count, p->tensor_shape->dim[i]->size, &count))
      return;
  at_most(&p->n_float_val, count, 1);
  at_most(&p->n_double_val, count, 1);
  at_most(&p->n_int_val, count, 1);
  at_most(&p->n_string_val, count, 1);
  at_most(&p->n_scomplex_val, count, 2);
  at_most(&p->n_int64_val, count, 1);
  at_most(&p->n_bool_val, count, 1);
  at_most(&p->n_dcomplex_val, count, 2);
  at_most(&p->n_half_val, count, 1);
  at_most(&p->n_uint32_val, count, 1);
  at_most(&p->n_uint64_val, count, 1);
}

void TF_TensorFromProto(const TF_Buffer *from, TF_Tensor *to, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_arena tmp;
  ProtobufCMessage *m;
  fy_tensor *t = NULL;
  fy_arena_init(&tmp);
  fy_code code = fy_wire_unpack(&tensorflow__tensor_proto__descriptor, from->data, from->length,
                                NULL, &tmp, &m, err);
  if (code == FY_INVALID_ARGUMENT) fy_fail(err, code, "Unparseable tensorflow.TensorProto proto");
  if (!code) {
    forgive((Tensorflow__TensorProto *)m);
    code = fy_wire_tensor_read((Tensorflow__TensorProto *)m, NULL, &t, err);
    if (code && code != FY_RESOURCE_EXHAUSTED)
      code = fy_fail(err, FY_INVALID_ARGUMENT, "Unparseable tensor proto");
  }
  if (!code) code = take_memory(fy_api_tensor(to), t, t->dtype, t->rank, t->dims, err);
  fy_tensor_release(t);
  fy_arena_free(&tmp);
  fy_api_end(status, code);
}
