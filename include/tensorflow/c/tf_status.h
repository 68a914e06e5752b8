// SPDX-License-Identifier: Apache-2.0
// tf_status.h: the outcome of a call: a code, a message and optional key/value payloads.
// The caller makes a status, passes it to any number of calls, and deletes it. Each call overwrites
// it. A status is not locked: use one per thread.

#ifndef TENSORFLOW_C_TF_STATUS_H_
#define TENSORFLOW_C_TF_STATUS_H_

#include "tensorflow/c/c_api_macros.h"

#ifdef __cplusplus
extern "C" {
#endif

// The struct's tag and the enumerators carry the TSL_ prefix, as in TensorFlow 2.12 and later; the
// TF_ names below are what code should use. Numbers are those of absl and gRPC status codes.
typedef struct TSL_Status TSL_Status;
typedef struct TSL_Status TF_Status;

typedef enum TSL_Code {
  TSL_OK = 0,
  TSL_CANCELLED = 1,
  TSL_UNKNOWN = 2,
  TSL_INVALID_ARGUMENT = 3,
  TSL_DEADLINE_EXCEEDED = 4,
  TSL_NOT_FOUND = 5,
  TSL_ALREADY_EXISTS = 6,
  TSL_PERMISSION_DENIED = 7,
  TSL_RESOURCE_EXHAUSTED = 8,
  TSL_FAILED_PRECONDITION = 9,
  TSL_ABORTED = 10,
  TSL_OUT_OF_RANGE = 11,
  TSL_UNIMPLEMENTED = 12,
  TSL_INTERNAL = 13,
  TSL_UNAVAILABLE = 14,
  TSL_DATA_LOSS = 15,
  TSL_UNAUTHENTICATED = 16,
} TSL_Code;

typedef TSL_Code TF_Code;

#define TF_OK                  TSL_OK
#define TF_CANCELLED           TSL_CANCELLED
#define TF_UNKNOWN             TSL_UNKNOWN
#define TF_INVALID_ARGUMENT    TSL_INVALID_ARGUMENT
#define TF_DEADLINE_EXCEEDED   TSL_DEADLINE_EXCEEDED
#define TF_NOT_FOUND           TSL_NOT_FOUND
#define TF_ALREADY_EXISTS      TSL_ALREADY_EXISTS
#define TF_PERMISSION_DENIED   TSL_PERMISSION_DENIED
#define TF_UNAUTHENTICATED     TSL_UNAUTHENTICATED
#define TF_RESOURCE_EXHAUSTED  TSL_RESOURCE_EXHAUSTED
#define TF_FAILED_PRECONDITION TSL_FAILED_PRECONDITION
#define TF_ABORTED             TSL_ABORTED
#define TF_OUT_OF_RANGE        TSL_OUT_OF_RANGE
#define TF_UNIMPLEMENTED       TSL_UNIMPLEMENTED
#define TF_INTERNAL            TSL_INTERNAL
#define TF_UNAVAILABLE         TSL_UNAVAILABLE
#define TF_DATA_LOSS           TSL_DATA_LOSS

// A fresh status is OK. NULL only when memory is out.
TF_CAPI_EXPORT extern TF_Status *TF_NewStatus(void);

// NULL is accepted.
TF_CAPI_EXPORT extern void TF_DeleteStatus(TF_Status *status);

// Replaces code, message and payloads. |msg| is copied; with TF_OK it is dropped.
TF_CAPI_EXPORT extern void TF_SetStatus(TF_Status *s, TF_Code code, const char *msg);

// Attaches |value| under |key|, replacing an earlier one; both are copied. Ignored by an OK status.
TF_CAPI_EXPORT extern void TF_SetPayload(TF_Status *s, const char *key, const char *value);

// Calls |visitor| once per payload, in no promised order. The strings die when the call returns;
// |capture| is handed through.
typedef void (*TSL_PayloadVisitor)(const char *key, const char *value, void *capture);
#define TF_PayloadVisitor TSL_PayloadVisitor
TF_CAPI_EXPORT extern void TF_ForEachPayload(const TF_Status *s, TF_PayloadVisitor visitor,
                                             void *capture);

// Sets the code that fits an errno value, with a message made of |context| and the errno's text.
TF_CAPI_EXPORT extern void TF_SetStatusFromIOError(TF_Status *s, int error_code,
                                                   const char *context);

TF_CAPI_EXPORT extern TF_Code TF_GetCode(const TF_Status *s);

// Never NULL; empty when OK. Borrowed: valid until the status is next changed or deleted.
TF_CAPI_EXPORT extern const char *TF_Message(const TF_Status *s);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENSORFLOW_C_TF_STATUS_H_
