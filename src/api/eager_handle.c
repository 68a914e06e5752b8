// SPDX-License-Identifier: Apache-2.0
// eager_handle.c: TFE_TensorHandle.

#include <string.h>

#include "api/eager.h"
#include "base/alloc.h"
#include "tensorflow/c/c_api_experimental.h"
#include "wire/mapping.h"

struct TFE_TensorDebugInfo {
  int num_dims;
  int64_t dims[];
};

static fy_code invalid(fy_error *err) {
  return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid handle");
}

fy_code fy_api_handle_over(fy_tensor *t, fy_handle **out, fy_error *err) {
  fy_tensor *own;
  *out = NULL;
  FY_TRY(fy_tensor_alias(t, t->dtype, t->rank, t->dims, &own, err));
  *out = fy_handle_new(own);
  return *out ? FY_OK : fy_fail_oom(err, sizeof **out);
}

TFE_TensorHandle *TFE_NewTensorHandle(const TF_Tensor *t, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_handle *h = NULL;
  fy_api_end(status, fy_api_handle_over(fy_api_tensor(t), &h, err));
  return fy_api_tfe_handle(h);
}

TFE_TensorHandle *TFE_NewTensorHandleFromTensor(TFE_Context *ctx, TF_Tensor *t, TF_Status *status) {
  (void)ctx;
  return TFE_NewTensorHandle(t, status);
}

TFE_TensorHandle *TFE_NewTensorHandleFromScalar(TF_DataType data_type, void *data, size_t len,
                                                TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_tensor *t = NULL;
  fy_handle *h = NULL;
  fy_code code = FY_OK;
  if (!fy_dtype_is_plain((fy_dtype)data_type) || len != fy_dtype_size((fy_dtype)data_type))
    code = fy_fail(err, FY_INVALID_ARGUMENT, "a scalar of type %s is not %zu bytes",
                   fy_dtype_name((fy_dtype)data_type), len);
  if (!code) code = fy_tensor_from((fy_dtype)data_type, 0, NULL, data, &t, err);
  if (!code && !(h = fy_handle_new(t))) code = fy_fail_oom(err, sizeof *h);
  fy_api_end(status, code);
  return fy_api_tfe_handle(h);
}

TF_Tensor *TFE_AllocateHostTensor(TFE_Context *ctx, TF_DataType dtype, const int64_t *dims,
                                  int num_dims, TF_Status *status) {
  (void)ctx;
  fy_error *err = fy_api_begin(status);
  fy_tensor *t = NULL;
  fy_api_end(status, fy_tensor_new((fy_dtype)dtype, num_dims, dims, &t, err));
  return fy_api_tf_tensor(t);
}

void TFE_DeleteTensorHandle(TFE_TensorHandle *h) {
  if (h) fy_handle_release(fy_api_handle(h));
}

// ---------------------------------------------------------------- looking
TF_DataType TFE_TensorHandleDataType(TFE_TensorHandle *h) {
  return (TF_DataType)fy_api_handle(h)->dtype;
}

// The tensor once it is there, or NULL with the reason in |status|.
static const fy_tensor *wait_for(TFE_TensorHandle *h, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_code code = h ? fy_handle_wait(fy_api_handle(h), err) : invalid(err);
  fy_api_end(status, code);
  return code ? NULL : fy_api_handle(h)->tensor;
}

static bool is_custom(const TFE_TensorHandle *h) {
  return h && FY_UNLIKELY(((const fy_handle *)h)->custom);
}

// The rank (|dim| < 0) or one size of a value on a custom device.
static int64_t ask_custom(TFE_TensorHandle *h, int dim, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  int rank = -1;
  int64_t size = -1;
  fy_code code = dim < 0 ? fy_api_custom_rank(fy_api_handle(h), &rank, err)
                         : fy_api_custom_dim(fy_api_handle(h), dim, &size, err);
  fy_api_end(status, code);
  if (code) return -1;
  return dim < 0 ? rank : size;
}

int TFE_TensorHandleNumDims(TFE_TensorHandle *h, TF_Status *status) {
  if (is_custom(h)) return (int)ask_custom(h, -1, status);
  const fy_tensor *t = wait_for(h, status);
  return t ? t->rank : -1;
}

static int64_t count_custom(TFE_TensorHandle *h, TF_Status *status) {
  int64_t count = 1, rank = ask_custom(h, -1, status);
  for (int i = 0; i < rank && TF_GetCode(status) == TF_OK; i++) count *= ask_custom(h, i, status);
  return TF_GetCode(status) == TF_OK ? count : -1;
}

int64_t TFE_TensorHandleNumElements(TFE_TensorHandle *h, TF_Status *status) {
  if (is_custom(h)) return count_custom(h, status);
  const fy_tensor *t = wait_for(h, status);
  return t ? t->count : -1;
}

int64_t TFE_TensorHandleDim(TFE_TensorHandle *h, int dim_index, TF_Status *status) {
  if (is_custom(h) && dim_index >= 0) return ask_custom(h, dim_index, status);
  const fy_tensor *t = wait_for(h, status);
  if (!t) return -1;
  if (dim_index >= 0 && dim_index < t->rank) return t->dims[dim_index];
  fy_fail(fy_api_begin(status), FY_INVALID_ARGUMENT, "dimension %d of a tensor of rank %d",
          dim_index, (int)t->rank);
  return -1;
}

static const fy_handle *check(TFE_TensorHandle *h, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  if (!h) invalid(err);
  return fy_api_handle(h);
}

const char *TFE_TensorHandleDeviceName(TFE_TensorHandle *h, TF_Status *status) {
  const fy_handle *handle = check(h, status);
  return handle ? fy_handle_device_name(handle) : NULL;
}

const char *TFE_TensorHandleBackingDeviceName(TFE_TensorHandle *h, TF_Status *status) {
  const fy_handle *handle = check(h, status);
  return handle ? fy_handle_backing_device_name(handle) : NULL;
}

const char *TFE_TensorHandleDeviceType(TFE_TensorHandle *h, TF_Status *status) {
  const fy_handle *handle = check(h, status);
  if (!handle) return NULL;
  if (handle->packed) return "COMPOSITE";
  if (handle->custom) return fy_api_custom_name(handle)->type;
  return handle->op_device ? handle->op_device->type : "CPU";
}

int TFE_TensorHandleDeviceID(TFE_TensorHandle *h, TF_Status *status) {
  const fy_handle *handle = check(h, status);
  if (!handle) return -1;
  if (handle->custom) return fy_api_custom_name(handle)->id;
  return handle->op_device ? handle->op_device->index : 0;
}

// TensorFlow reports here only what befell remote tensors.
void TFE_TensorHandleGetStatus(TFE_TensorHandle *h, TF_Status *status) {
  check(h, status);
}

// ---------------------------------------------------------------- values
TFE_TensorHandle *TFE_TensorHandleCopySharingTensor(TFE_TensorHandle *h, TF_Status *status) {
  const fy_handle *handle = check(h, status);
  if (handle) fy_handle_retain(fy_api_handle(h));
  return h;
}

static TF_Tensor *resolve_custom(fy_handle *h, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_handle *home = NULL;
  TF_Tensor *t = NULL;
  fy_code code = fy_api_custom_home(h, &home, err);
  fy_api_end(status, code);
  if (!code) t = TFE_TensorHandleResolve(fy_api_tfe_handle(home), status);
  TFE_DeleteTensorHandle(fy_api_tfe_handle(home));
  return t;
}

TF_Tensor *TFE_TensorHandleResolve(TFE_TensorHandle *h, TF_Status *status) {
  if (is_custom(h)) return resolve_custom(fy_api_handle(h), status);
  fy_error *err = fy_api_begin(status);
  fy_tensor *t = NULL, *own = NULL;
  fy_code code;
  if (h && fy_api_handle(h)->packed)
    code = fy_fail(err, FY_INVALID_ARGUMENT, "Resolve() is not supported on packed TensorHandles.");
  else
    code = h ? fy_handle_tensor_on(fy_api_handle(h), NULL, &t, NULL, err) : invalid(err);
  if (!code && fy_wire_mapping_has(t)) code = fy_handle_own_memory(fy_api_handle(h), &t, err);
  if (!code) code = fy_tensor_alias(t, t->dtype, t->rank, t->dims, &own, err);
  fy_api_end(status, code);
  return fy_api_tf_tensor(own);
}

TFE_TensorHandle *TFE_TensorHandleCopyToDevice(TFE_TensorHandle *h, TFE_Context *ctx,
                                               const char *device_name, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_handle *out = NULL;
  fy_device *d = NULL;
  bool done = false;
  fy_code code =
      h ? fy_api_custom_copy(fy_api_eager(ctx), fy_api_handle(h), device_name, &done, &out, err)
        : invalid(err);
  if (!code && !done) d = fy_eager_find_device(fy_api_eager(ctx), device_name);
  if (!code && !done)
    code = d ? fy_handle_copy_to(fy_api_handle(h), fy_api_eager(ctx), d, &out, err)
             : fy_fail(err, FY_INVALID_ARGUMENT, "%s unknown device.", device_name);
  fy_api_end(status, code);
  return fy_api_tfe_handle(out);
}

TFE_TensorHandle *TFE_CreatePackedTensorHandle(TFE_Context *ctx, TFE_TensorHandle **handles,
                                               int *num_handles, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_handle *out = NULL;
  bool done;
  fy_code code = fy_api_custom_pack((fy_handle **)handles, *num_handles, &done, &out, err);
  if (!done)
    code = fy_handle_pack(fy_api_eager(ctx), (fy_handle **)handles, *num_handles, &out, err);
  fy_api_end(status, code);
  return fy_api_tfe_handle(out);
}

TFE_TensorDebugInfo *TFE_TensorHandleTensorDebugInfo(TFE_TensorHandle *h, TF_Status *status) {
  const fy_tensor *t = wait_for(h, status);
  if (!t) return NULL;
  size_t bytes = (size_t)t->rank * sizeof *t->dims;
  TFE_TensorDebugInfo *info = fy_malloc(sizeof *info + bytes);
  if (!info) {
    fy_fail_oom(fy_api_begin(status), bytes);
    return NULL;
  }
  info->num_dims = t->rank;
  if (bytes) memcpy(info->dims, t->dims, bytes);
  return info;
}

void TFE_DeleteTensorDebugInfo(TFE_TensorDebugInfo *debug_info) {
  fy_free(debug_info);
}

int TFE_TensorDebugInfoOnDeviceNumDims(TFE_TensorDebugInfo *debug_info) {
  return debug_info->num_dims;
}

int64_t TFE_TensorDebugInfoOnDeviceDim(TFE_TensorDebugInfo *debug_info, int dim_index) {
  return dim_index >= 0 && dim_index < debug_info->num_dims ? debug_info->dims[dim_index] : -1;
}

// ---------------------------------------------------------------- device memory
void *TFE_TensorHandleDevicePointer(TFE_TensorHandle *h, TF_Status *status) {
  if (is_custom(h)) {
    fy_api_begin(status);
    return fy_api_custom_pointer(fy_api_handle(h));
  }
  if (h && fy_api_handle(h)->packed) {
    fy_fail(fy_api_begin(status), FY_INVALID_ARGUMENT,
            "TFE_TensorHandleDevicePointer may not be called on a PACKED tensor handle.");
    return NULL;
  }
  fy_error *err = fy_api_begin(status);
  fy_tensor *t = NULL;
  fy_api_end(status, h ? fy_handle_own_memory(fy_api_handle(h), &t, err) : invalid(err));
  return t ? t->data : NULL;
}

size_t TFE_TensorHandleDeviceMemorySize(TFE_TensorHandle *h, TF_Status *status) {
  const fy_tensor *t = wait_for(h, status);
  return t ? fy_tensor_bytes(t) : 0;
}

static fy_code handle_from_memory(fy_eager *c, const char *device_name, fy_dtype dtype,
                                  const int64_t *dims, int num_dims, fy_buffer *b, fy_handle **out,
                                  fy_error *err) {
  fy_tensor *t;
  fy_device *d = fy_eager_find_device(c, device_name);
  if (!d) return fy_fail(err, FY_INVALID_ARGUMENT, "%s unknown device.", device_name);
  if (!fy_dtype_is_plain(dtype))
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Trying to create a tensor with a pointer to non-pod memory.");
  const fy_device *at = d == fy_eager_devices(c)->client ? NULL : d;
  if (!d->is_host) b->device = d;
  FY_TRY(fy_tensor_over(b, b->data, dtype, num_dims, dims, &t, err));
  t->device = b->device;
  *out = fy_handle_on(t, c, at, at, NULL);
  return *out ? FY_OK : fy_fail_oom(err, sizeof **out);
}

TFE_TensorHandle *TFE_NewTensorHandleFromDeviceMemory(
    TFE_Context *ctx, const char *device_name, TF_DataType dtype, const int64_t *dims, int num_dims,
    void *data, size_t len, void (*deallocator)(void *data, size_t len, void *arg),
    void *deallocator_arg, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_handle *out = NULL;
  fy_buffer *b = fy_buffer_wrap(data, len, (fy_dtype)dtype);
  if (!b) {
    if (deallocator) deallocator(data, len, deallocator_arg);
    fy_api_end(status, fy_fail_oom(err, sizeof *b));
    return NULL;
  }
  b->user_dealloc = deallocator;
  b->release_arg = deallocator_arg;
  fy_code code = handle_from_memory(fy_api_eager(ctx), device_name, (fy_dtype)dtype, dims, num_dims,
                                    b, &out, err);
  fy_buffer_release(b);
  fy_api_end(status, code);
  return fy_api_tfe_handle(out);
}
