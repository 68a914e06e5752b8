// SPDX-License-Identifier: Apache-2.0
// unimplemented_kernels.c: fall-backs for kernels in plugins.
// What they do and how to replace one: unimplemented.h.

#include "unimplemented.h"

#include "tensorflow/c/kernels.h"
#include "tensorflow/c/kernels_experimental.h"

// Inside macro arguments clang-format reads a pointer as a product.
// clang-format off

// tensorflow/c/kernels.h
// TF_InitKernel is not here: plugins define it, and finding ours instead would hide a mistake.
FAIL_VOID(TF_GetSerializedResourceHandleProto,
          (TF_OpKernelContext *ctx, int i, TF_Buffer *serialized_resource_handle_proto,
           TF_Status *status))
ZERO(TF_RendezvousThunk, TF_GetRendezvous, (TF_OpKernelContext *ctx))

// tensorflow/c/kernels_experimental.h
FAIL_VOID(TF_AssignRefVariable,
          (TF_OpKernelContext *ctx, int input_ref_index, int output_ref_index, int value_index,
           bool use_locking, bool validate_shape,
           void (*copyFunc)(TF_OpKernelContext *ctx, TF_Tensor *source, TF_Tensor *dest),
           TF_Status *status))
FAIL_VOID(TF_TemporaryVariable,
          (TF_OpKernelContext *ctx, TF_DataType dtype, const int64_t *dims, int num_dims,
           TF_StringView *var_name, void (*plugin_allocator)(TF_OpKernelContext *, TF_Tensor *,
           TF_DataType, const int64_t *, int, TF_Status *), TF_Status *status))
FAIL_VOID(TF_DestroyTemporaryVariable,
          (TF_OpKernelContext *ctx, const int index, TF_StringView *var_name, TF_Status *status))
NOTHING(TF_OpKernelContext_ForwardRefInputToRefOutput,
        (TF_OpKernelContext *ctx, int32_t input_index, int32_t output_index))
