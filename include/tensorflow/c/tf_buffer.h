// SPDX-License-Identifier: Apache-2.0
// tf_buffer.h: bytes with a length and an optional way to free them; most often a serialized proto.
// The struct is public: a caller may fill one on its own stack to pass bytes in.

#ifndef TENSORFLOW_C_TF_BUFFER_H_
#define TENSORFLOW_C_TF_BUFFER_H_

#include <stddef.h>

#include "tensorflow/c/c_api_macros.h"

#ifdef __cplusplus
extern "C" {
#endif

// |data_deallocator| is NULL when the bytes belong to somebody else.
typedef struct TF_Buffer {
  const void *data;
  size_t length;
  void (*data_deallocator)(void *data, size_t length);
} TF_Buffer;

// Copies |proto_len| bytes; the buffer owns the copy.
TF_CAPI_EXPORT extern TF_Buffer *TF_NewBufferFromString(const void *proto, size_t proto_len);

// An empty buffer, for a call that fills one in.
TF_CAPI_EXPORT extern TF_Buffer *TF_NewBuffer(void);

// Frees the bytes through their deallocator, if any, then the struct. Only for buffers that the
// library allocated. NULL is accepted.
TF_CAPI_EXPORT extern void TF_DeleteBuffer(TF_Buffer *buffer);

// The struct by value, for languages that cannot read its members. Ownership stays with |buffer|.
TF_CAPI_EXPORT extern TF_Buffer TF_GetBuffer(TF_Buffer *buffer);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENSORFLOW_C_TF_BUFFER_H_
