// SPDX-License-Identifier: Apache-2.0
// user_kernels.h: kernels of third parties (kernels.h of the C API). Private to api/kernel*.c,
// except for the list of definitions that op_list.c shows.

#ifndef FY_API_USER_KERNELS_H
#define FY_API_USER_KERNELS_H

#include "api/api.h"
#include "ferry/device.h"
#include "kernel_def.pb-c.h"
#include "ops/op.h"
#include "tensorflow/c/kernels.h"

typedef struct fy_kernel_constraint {
  const char *name;
  const fy_dtype *types;
  uint32_t num_types;
} fy_kernel_constraint;

typedef struct fy_user_kernel fy_user_kernel;
struct fy_user_kernel {
  fy_user_kernel *next;  // older registrations of the op
  const char *device, *label;
  fy_kernel_constraint *constraints;
  const char **host_args;
  uint32_t num_constraints, num_host_args;
  int32_t priority;
  void *(*create)(TF_OpKernelConstruction *);
  void (*compute)(void *, TF_OpKernelContext *);
  void (*compute_async)(void *, TF_OpKernelContext *, TF_AsyncOpKernelDoneCallback *);
  void (*destroy)(void *);
};

struct TF_OpKernelConstruction {
  const fy_site *site;
  fy_error error;
};

struct TF_OpKernelContext {
  fy_kernel_ctx *ctx;
  const fy_user_kernel *kernel;
  fy_error error;  // the first failure
};

// The registrations of |op| as messages in |arena|, newest first.
FY_MUST_CHECK fy_code fy_api_user_kernel_defs(const fy_op *op, fy_arena *arena,
                                              Tensorflow__KernelDef ***out, size_t *out_n,
                                              fy_error *err);

// Gives |op|, registered just now, the kernels that came before it.
void fy_api_adopt_kernels(const fy_op *op);

// What execute/ calls.

#endif
