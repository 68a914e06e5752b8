// SPDX-License-Identifier: Apache-2.0
// tsl_status.h: the functions of tf_status.h under the names of TensorFlow's support library.
// A TSL_Status is a TF_Status: either set of functions works on either.

#ifndef XLA_TSL_C_TSL_STATUS_H_
#define XLA_TSL_C_TSL_STATUS_H_

#include "tensorflow/c/tf_status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef TF_PayloadVisitor TSL_PayloadVisitor;

TF_CAPI_EXPORT extern TSL_Status *TSL_NewStatus(void);
TF_CAPI_EXPORT extern void TSL_DeleteStatus(TSL_Status *s);
TF_CAPI_EXPORT extern void TSL_SetStatus(TSL_Status *s, TSL_Code code, const char *msg);
TF_CAPI_EXPORT extern void TSL_SetPayload(TSL_Status *s, const char *key, const char *value);
TF_CAPI_EXPORT extern void TSL_ForEachPayload(const TSL_Status *s, TSL_PayloadVisitor visitor,
                                              void *capture);
TF_CAPI_EXPORT extern void TSL_SetStatusFromIOError(TSL_Status *s, int error_code,
                                                    const char *context);
TF_CAPI_EXPORT extern TSL_Code TSL_GetCode(const TSL_Status *s);
TF_CAPI_EXPORT extern const char *TSL_Message(const TSL_Status *s);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // XLA_TSL_C_TSL_STATUS_H_
