// SPDX-License-Identifier: Apache-2.0
// tf_tensor.h: dense arrays of one element type.
// Elements lie in row-major order. A TF_STRING tensor is an array of TF_TString (tf_tstring.h).
// A TF_Tensor* is one reference to a shared buffer: every function that returns one hands the
// caller a reference to delete. Reading one tensor from many threads is safe; writing is the
// caller's to order.

#ifndef TENSORFLOW_C_TF_TENSOR_H_
#define TENSORFLOW_C_TF_TENSOR_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_datatype.h"
#include "tensorflow/c/tf_status.h"

#ifdef __cplusplus
extern "C" {
#endif

// Where a kernel's scratch tensor should live. Set struct_size to the macro below.
typedef struct TF_AllocatorAttributes {
  size_t struct_size;
  TF_Bool on_host;  // 1: host memory even when the kernel runs on a device
} TF_AllocatorAttributes;

#define TF_ALLOCATOR_ATTRIBUTES_STRUCT_SIZE TF_OFFSET_OF_END(TF_AllocatorAttributes, on_host)

typedef struct TF_Tensor TF_Tensor;

// Wraps |len| bytes at |data|; |deallocator| runs once, when the last user is gone, or at once when
// the call returns NULL because |len| does not fit type and shape. The bytes may be copied when
// they are not aligned. |dims| is copied.
TF_CAPI_EXPORT extern TF_Tensor *TF_NewTensor(
    TF_DataType dtype, const int64_t *dims, int num_dims, void *data, size_t len,
    void (*deallocator)(void *data, size_t len, void *arg), void *deallocator_arg);

// The alignment, in bytes, that lets TF_NewTensor use the caller's memory without a copy.
TF_CAPI_EXPORT extern size_t TF_TensorDefaultAlignment(void);

// A tensor with its own aligned buffer of |len| bytes, contents undefined. NULL when |len| is too
// small for the shape or memory is out. Strings start out as empty TF_TStrings.
TF_CAPI_EXPORT extern TF_Tensor *TF_AllocateTensor(TF_DataType dtype, const int64_t *dims,
                                                   int num_dims, size_t len);

// If |tensor| is the only user of its buffer, moves it into a new tensor and deletes |tensor|.
// Otherwise returns NULL and leaves it alone.
TF_CAPI_EXPORT extern TF_Tensor *TF_TensorMaybeMove(TF_Tensor *tensor);

// Drops one reference. NULL is accepted.
TF_CAPI_EXPORT extern void TF_DeleteTensor(TF_Tensor *tensor);

TF_CAPI_EXPORT extern TF_DataType TF_TensorType(const TF_Tensor *tensor);

// Changes the shape in place; the element count should stay the same. |dims| is copied.
TF_CAPI_EXPORT extern void TF_SetShape(TF_Tensor *tensor, const int64_t *dims, int num_dims);

TF_CAPI_EXPORT extern int TF_NumDims(const TF_Tensor *tensor);

// Requires 0 <= dim_index < TF_NumDims.
TF_CAPI_EXPORT extern int64_t TF_Dim(const TF_Tensor *tensor, int dim_index);

// For strings this counts the TF_TStrings only, not the text they point at.
TF_CAPI_EXPORT extern size_t TF_TensorByteSize(const TF_Tensor *tensor);

// Borrowed: valid while this or another reference to the buffer lives. May be NULL when empty.
TF_CAPI_EXPORT extern void *TF_TensorData(const TF_Tensor *tensor);

TF_CAPI_EXPORT extern int64_t TF_TensorElementCount(const TF_Tensor *tensor);

// Makes |to| share the buffer of |from| under another type and shape. INVALID_ARGUMENT unless both
// types have a fixed size and the byte counts agree; |to| is untouched then.
TF_CAPI_EXPORT extern void TF_TensorBitcastFrom(const TF_Tensor *from, TF_DataType type,
                                                TF_Tensor *to, const int64_t *new_dims,
                                                int num_new_dims, TF_Status *status);

// Whether the data meets TF_TensorDefaultAlignment.
TF_CAPI_EXPORT extern bool TF_TensorIsAligned(const TF_Tensor *tensor);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENSORFLOW_C_TF_TENSOR_H_
