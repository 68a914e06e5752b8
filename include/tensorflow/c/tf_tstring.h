// SPDX-License-Identifier: Apache-2.0
// tf_tstring.h: the elements of a TF_STRING tensor, as functions that a language binding can call.
// The layout and the inline versions are in core/platform/ctstring.h. A string is not locked.

#ifndef TENSORFLOW_C_TF_TSTRING_H_
#define TENSORFLOW_C_TF_TSTRING_H_

#include <stddef.h>

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_tensor.h"
#include "tensorflow/core/platform/ctstring.h"

#ifdef __cplusplus
extern "C" {
#endif

// Makes |t| the empty string without freeing anything: for memory never used as a string before.
TF_CAPI_EXPORT extern void TF_StringInit(TF_TString *t);

// Replaces the contents by a copy of |size| bytes. |dst| must be initialised; |src| must not be
// memory that |dst| owns.
TF_CAPI_EXPORT extern void TF_StringCopy(TF_TString *dst, const char *src, size_t size);

// Makes |dst| point at |src| without owning it: |src| must outlive |dst|.
TF_CAPI_EXPORT extern void TF_StringAssignView(TF_TString *dst, const char *src, size_t size);

// Borrowed until the string is changed or freed. Not promised to end in a zero byte.
TF_CAPI_EXPORT extern const char *TF_StringGetDataPointer(const TF_TString *tstr);

TF_CAPI_EXPORT extern TF_TString_Type TF_StringGetType(const TF_TString *str);

// Length in bytes.
TF_CAPI_EXPORT extern size_t TF_StringGetSize(const TF_TString *tstr);

// Bytes that fit without an allocation; 0 for strings that own nothing.
TF_CAPI_EXPORT extern size_t TF_StringGetCapacity(const TF_TString *str);

// Frees what the string owns. It can be used again afterwards.
TF_CAPI_EXPORT extern void TF_StringDealloc(TF_TString *tstr);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENSORFLOW_C_TF_TSTRING_H_
