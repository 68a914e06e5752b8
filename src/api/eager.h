// SPDX-License-Identifier: Apache-2.0
// eager.h: what the eager API's opaque types are.
//
//   TFE_Context*             is an fy_eager*         TFE_Op*        is an fy_eager_op*
//   TFE_TensorHandle*        is an fy_handle*        TFE_Executor*  is an fy_executor*
//   TFE_CancellationManager* is an fy_cancel*        TFE_OpAttrs*   is an fy_eager_op* (the op's)

#ifndef FY_API_EAGER_H
#define FY_API_EAGER_H

#include "api/api.h"
#include "execute/eager.h"
#include "tensorflow/c/eager/c_api.h"
#include "tensorflow/c/eager/c_api_experimental.h"

struct TFE_ContextOptions {
  fy_eager_options options;
  fy_error error;  // of the environment, told by TFE_NewContext
};

static inline fy_eager *fy_api_eager(TFE_Context *c) {
  return (fy_eager *)c;
}
static inline TFE_Context *fy_api_tfe_context(fy_eager *c) {
  return (TFE_Context *)c;
}
static inline fy_handle *fy_api_handle(TFE_TensorHandle *h) {
  return (fy_handle *)h;
}
static inline TFE_TensorHandle *fy_api_tfe_handle(fy_handle *h) {
  return (TFE_TensorHandle *)h;
}
static inline fy_eager_op *fy_api_op(const TFE_Op *op) {
  return (fy_eager_op *)(uintptr_t)op;
}

// fy_api_begin for the hot calls: a status that is OK needs no call.
static inline fy_error *fy_api_begin_fast(TF_Status *status) {
  if (FY_LIKELY(status && status->error.code == FY_OK && !status->num_payloads))
    return &status->error;
  return fy_api_begin(status);
}

// A handle over |t|'s memory with a shape of its own: TF_SetShape on |t| does not reach it.
FY_MUST_CHECK fy_code fy_api_handle_over(fy_tensor *t, fy_handle **out, fy_error *err);
// A new TF_DeviceList, or NULL.
TF_DeviceList *fy_api_device_list(const fy_device_set *devices, fy_error *err);

// ---- custom devices (eager_custom.c)
// As TFE_Execute for an op with has_custom; also where no custom device turns out to be meant.
FY_MUST_CHECK fy_code fy_api_custom_execute(fy_eager_op *op, fy_handle **results, int *num_results,
                                            fy_error *err);
// |*done| false: neither |h| nor |to| is a custom device's, nothing was done.
FY_MUST_CHECK fy_code fy_api_custom_copy(fy_eager *c, fy_handle *h, const char *to, bool *done,
                                         fy_handle **out, fy_error *err);
FY_MUST_CHECK fy_code fy_api_custom_pack(fy_handle *const *handles, int n, bool *done,
                                         fy_handle **out, fy_error *err);
// The rest is for handles with |custom|. A new handle on the host:
FY_MUST_CHECK fy_code fy_api_custom_home(fy_handle *h, fy_handle **out, fy_error *err);
FY_MUST_CHECK fy_code fy_api_custom_rank(const fy_handle *h, int *out, fy_error *err);
FY_MUST_CHECK fy_code fy_api_custom_dim(const fy_handle *h, int i, int64_t *out, fy_error *err);
void *fy_api_custom_pointer(const fy_handle *h);
const fy_devname *fy_api_custom_name(const fy_handle *h);

#endif
