// SPDX-License-Identifier: Apache-2.0
// eager_dlpack.c: tensors to and from other frameworks, without a copy (DLPack 0.x structures).

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/eager.h"
#include "base/alloc.h"
#include "devices/devices.h"
#include "devices/opencl/opencl.h"
#include "tensorflow/c/eager/dlpack.h"

// ---------------------------------------------------------------- DLPack's own structures
typedef struct dl_device {
  int32_t type;
  int32_t id;
} dl_device;

typedef struct dl_type {
  uint8_t code, bits;
  uint16_t lanes;
} dl_type;

typedef struct dl_tensor {
  void *data;
  dl_device device;
  int32_t ndim;
  dl_type dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} dl_tensor;

typedef struct dl_managed {
  dl_tensor tensor;
  void *context;
  void (*deleter)(struct dl_managed *self);
} dl_managed;

enum { DL_CPU = 1, DL_CUDA = 2, DL_CUDA_HOST = 3, DL_OPENCL = 4 };
enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_COMPLEX = 5, DL_BOOL = 6 };

static const struct {
  fy_dtype dtype;
  uint8_t code, bits;
} types[] = {
    {FY_HALF, DL_FLOAT, 16},        {FY_FLOAT, DL_FLOAT, 32},
    {FY_DOUBLE, DL_FLOAT, 64},      {FY_BFLOAT16, DL_BFLOAT, 16},
    {FY_INT8, DL_INT, 8},           {FY_INT16, DL_INT, 16},
    {FY_INT32, DL_INT, 32},         {FY_INT64, DL_INT, 64},
    {FY_UINT8, DL_UINT, 8},         {FY_UINT16, DL_UINT, 16},
    {FY_UINT32, DL_UINT, 32},       {FY_UINT64, DL_UINT, 64},
    {FY_COMPLEX64, DL_COMPLEX, 64}, {FY_COMPLEX128, DL_COMPLEX, 128},
    {FY_BOOL, DL_BOOL, 8},
};
enum { NUM_TYPES = sizeof types / sizeof types[0] };

// ---------------------------------------------------------------- out
static dl_device device_of(const fy_handle *h) {
  const fy_tensor *t = h->tensor;
  if (t->device) {
    const int32_t type = fy_opencl_is(t->device) ? DL_OPENCL : DL_CUDA;
    return (dl_device){type, t->device->index};
  }
  return (dl_device){DL_CPU, h->device ? h->device->index : 0};
}

void *TFE_GetDLDevice(TFE_TensorHandle *h, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  dl_device *d = NULL;
  fy_code code = fy_handle_wait(fy_api_handle(h), err);
  if (!code && !(d = malloc(sizeof *d))) code = fy_fail_oom(err, sizeof *d);  // freed with free()
  if (!code) *d = device_of(fy_api_handle(h));
  fy_api_end(status, code);
  return d;
}

typedef struct exported {
  dl_managed managed;
  fy_tensor *tensor;
  fy_device_set *set;  // of a tensor in device memory, which may outlive the context
  int64_t dims[];      // shape, then strides
} exported;

static void delete_exported(dl_managed *m) {
  exported *e = m->context;
  fy_tensor_release(e->tensor);
  fy_devices_unref(e->set);
  fy_free(e);
}

static fy_code to_dlpack(fy_handle *h, dl_managed **out, fy_error *err) {
  fy_tensor *t;
  FY_TRY(fy_handle_own_memory(h, &t, err));
  size_t i = 0, rank = (size_t)t->rank;
  while (i < NUM_TYPES && types[i].dtype != t->dtype) i++;
  if (i == NUM_TYPES)
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s is not supported by dlpack",
                   fy_dtype_enum_name(t->dtype));
  exported *e = fy_calloc(1, sizeof *e + 2 * rank * sizeof *e->dims);
  if (!e) return fy_fail_oom(err, sizeof *e);
  fy_tensor_retain(t);
  e->tensor = t;
  if (t->device) e->set = fy_devices_set_of(t->device);
  for (size_t k = rank; k-- > 0;) {
    e->dims[k] = t->dims[k];
    e->dims[rank + k] = k + 1 == rank ? 1 : e->dims[rank + k + 1] * t->dims[k + 1];
  }
  e->managed = (dl_managed){.tensor = {.data = t->data,
                                       .device = device_of(h),
                                       .ndim = t->rank,
                                       .dtype = {types[i].code, types[i].bits, 1},
                                       .shape = e->dims,
                                       .strides = rank ? e->dims + rank : NULL},
                            .context = e,
                            .deleter = delete_exported};
  // OpenCL has no addresses: the data is a cl_mem, and where in it the tensor begins.
  size_t offset = 0;
  if (t->device && t->data &&
      fy_opencl_export(t->device, t->data, &e->managed.tensor.data, &offset))
    e->managed.tensor.byte_offset = offset;
  *out = &e->managed;
  return FY_OK;
}

void *TFE_HandleToDLPack(TFE_TensorHandle *h, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  dl_managed *m = NULL;
  fy_api_end(status, to_dlpack(fy_api_handle(h), &m, err));
  return m;
}

void TFE_CallDLManagedTensorDeleter(void *dlm_ptr) {
  dl_managed *m = dlm_ptr;
  if (m->deleter) m->deleter(m);
}

// ---------------------------------------------------------------- in
static fy_code type_from(dl_type t, fy_dtype *out, fy_error *err) {
  static const char *const names[] = {"Int", "UInt", "Float", NULL, "BFloat", "Complex"};
  for (size_t i = 0; i < NUM_TYPES; i++) {
    if (types[i].code != t.code || types[i].bits != t.bits) continue;
    *out = types[i].dtype;
    return FY_OK;
  }
  if (t.code == DL_BOOL)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Only DLPack bools of bitwidth 8 are supported, got: %d", t.bits);
  if (t.code <= DL_COMPLEX && names[t.code])
    return fy_fail(err, FY_INVALID_ARGUMENT, "Unsupported %s bits: %d", names[t.code], t.bits);
  return fy_fail(err, FY_INVALID_ARGUMENT, "Unsupported Type Codes: %d", t.code);
}

static bool is_contiguous(const dl_tensor *t) {
  if (!t->strides) return true;
  int64_t expected = 1;
  for (int32_t i = t->ndim; i-- > 0;) {
    if (t->strides[i] != expected) return false;
    expected *= t->shape[i];
  }
  return true;
}

static void drop_imported(void *data, size_t len, void *arg) {
  (void)data;
  (void)len;
  TFE_CallDLManagedTensorDeleter(arg);
}

TFE_TensorHandle *TFE_HandleFromDLPack(void *dlm, TF_Status *status, TFE_Context *ctx) {
  fy_error *err = fy_api_begin(status);
  dl_managed *m = dlm;
  const dl_tensor *t = &m->tensor;
  char device[32] = "CPU:0";
  fy_dtype dtype = FY_INVALID;
  fy_code code = FY_OK;
  int64_t count = 0;
  void *data = (char *)t->data + t->byte_offset;
  if (t->device.type == DL_OPENCL) {
    snprintf(device, sizeof device, "GPU:%d", (int)t->device.id);
    fy_device *d = fy_devices_find(fy_eager_devices(fy_api_eager(ctx)), device);
    if (!d || !fy_opencl_import(d, t->data, t->byte_offset, &data))
      code = fy_fail(err, FY_INVALID_ARGUMENT,
                     "Unsupported Device Type: an OpenCL buffer that is not of %s", device);
  } else if (t->device.type == DL_CUDA)
    snprintf(device, sizeof device, "GPU:%d", (int)t->device.id);
  else if (t->device.type != DL_CPU && t->device.type != DL_CUDA_HOST)
    code = fy_fail(err, FY_INVALID_ARGUMENT, "Unsupported Device Type");
  if (!code) code = type_from(t->dtype, &dtype, err);
  if (!code && (t->ndim < 0 || t->ndim > FY_MAX_RANK || !fy_shape_count(t->ndim, t->shape, &count)))
    code = fy_fail(err, FY_INVALID_ARGUMENT, "Invalid shape from DLPack");
  if (!code && !is_contiguous(t))
    code = fy_fail(err, FY_INVALID_ARGUMENT, "Invalid strides array from DLPack");
  fy_api_end(status, code);
  if (code) return NULL;
  return TFE_NewTensorHandleFromDeviceMemory(ctx, device, (TF_DataType)dtype, t->shape, t->ndim,
                                             data, (size_t)count * fy_dtype_size(dtype),
                                             drop_imported, m, status);
}
