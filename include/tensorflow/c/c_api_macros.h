// SPDX-License-Identifier: Apache-2.0
// c_api_macros.h: the macros every C API header needs: symbol export, the C boolean, and the size
// of a versioned struct. No types, no functions.

#ifndef TENSORFLOW_C_C_API_MACROS_H_
#define TENSORFLOW_C_C_API_MACROS_H_

#include <stddef.h>

// Marks a function as part of the ABI. A Windows build of the library itself defines
// TF_COMPILE_LIBRARY; a client that wants to probe for missing functions defines TF_CAPI_WEAK.
#if defined(SWIG)
#define TF_CAPI_EXPORT
#elif defined(_WIN32) && defined(TF_COMPILE_LIBRARY)
#define TF_CAPI_EXPORT __declspec(dllexport)
#elif defined(_WIN32)
#define TF_CAPI_EXPORT __declspec(dllimport)
#elif defined(TF_CAPI_WEAK)
#define TF_CAPI_EXPORT __attribute__((visibility("default"))) __attribute__((weak))
#else
#define TF_CAPI_EXPORT __attribute__((visibility("default")))
#endif

// A one-byte flag, 0 or 1. Not to be confused with TF_BOOL, the element type of a tensor.
#ifndef TF_Bool
#define TF_Bool unsigned char
#endif

// Bytes from the start of TYPE to the end of MEMBER. Versioned structs carry this number in
// `struct_size`, so that a reader knows which trailing members the writer had.
#ifndef TF_OFFSET_OF_END
#define TF_OFFSET_OF_END(TYPE, MEMBER) (offsetof(TYPE, MEMBER) + sizeof(((TYPE *)0)->MEMBER))
#endif

#endif  // TENSORFLOW_C_C_API_MACROS_H_
